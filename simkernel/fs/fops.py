"""struct file_operations as data: which kernel functions serve a kind of file.  include/linux/fs.h.

`read`, `write`, `read_iter`, `write_iter` name kernel functions, which vfs_read() and vfs_write() call for real, so that
a stack trace shows them; mirror.py puts their addresses into a struct file_operations in kernel memory.  The others are
plain Python callables (their kernel functions would only be crossed, never seen at the end of a stack).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simkernel.fs.inode import File
    from simkernel.kernel.waitqueue import WaitQueue

# poll(k, file, queues) -> event mask; appends to `queues` (when not None) the wait queues that would announce a change
Poll = Callable[[Any, "File", "list[WaitQueue] | None"], int]
# ioctl(k, file, cmd, arg) -> int or a generator that returns one; KernelError(ENOTTY) for an unknown cmd
Ioctl = Callable[[Any, "File", int, int], Any]


@dataclass(eq=False, slots=True)
class FileOperations:
    """One struct file_operations; `name` is its symbol in the kernel."""

    name: str
    read: str | None = None
    write: str | None = None
    read_iter: str | None = None
    write_iter: str | None = None
    llseek: str = "default_llseek"  # no_llseek, noop_llseek, generic_file_llseek, dcache_dir_lseek ...
    poll: Poll | None = None
    ioctl: Ioctl | None = None
    mmap: Callable[[Any, File, Any], None] | None = None
    open: Callable[[Any, Any, File], Any] | None = None  # open(k, inode, file); may be a generator (fifo_open)
    flush: Callable[[Any, File], Any] | None = None  # at each close
    release: Callable[[Any, File], Any] | None = None  # at the last close; may be a generator
    fsync: Callable[[Any, File], int] | None = None
    iterate: bool = False  # a directory
    stream: bool = False  # stream_open(): no position at all
    splice: bool | None = None  # splice_read; None: where there is a read_iter
    setfl: Callable[[Any, File, int], None] | None = None  # check_flags
    extra: dict[str, str] = field(default_factory=dict)  # further members of the C struct: name -> kernel function


EMPTY_FOPS = FileOperations("def_file_fops", llseek="no_llseek")
