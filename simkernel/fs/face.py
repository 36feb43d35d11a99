"""What the kernel core asks of the file systems (simkernel/fs/), and what they may rely on.

`simkernel.fs.install(k)` is called once at boot: it mounts the root, sets `k.vfs`, and returns.  The core reaches files
through these small protocols, and through the kernel functions of fs/file.c and fs/fs_struct.c, which fs/ declares:

    int copy_files(unsigned long clone_flags, struct task_struct *tsk)    tsk->files from current's
    int copy_fs(unsigned long clone_flags, struct task_struct *tsk)
    void exit_files(struct task_struct *tsk)        closes what only this task had open
    void exit_fs(struct task_struct *tsk)
    void do_close_on_exec(struct files_struct *files)

`task.files` and `task.fs` are attributes of Task that belong to fs/: the core never looks inside them.  They also set
the members `files` and `fs` of the struct task_struct in kernel memory.  `k.tasks.at(addr)` gives the Task of an address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from simkernel.kernel.areas import Vma
    from simkernel.kernel.kernel import Kernel
    from simkernel.kernel.task import Task


class Inode(Protocol):
    """What mmap and exec need of an inode."""

    ino: int
    dev: int  # kernel dev_t, MKDEV(major, minor)
    size: int
    mode: int
    uid: int
    gid: int

    def get_page(self, index: int) -> int:
        """Physical address of page `index` of the page cache (the same page for everyone; filled on first use).

        KernelError(EFAULT) beyond the end of the file: the core answers with SIGBUS.  The page stays owned by the page
        cache; the core takes its own references with `k.mm.frames.get_page(phys)` / `put_page(phys)`.
        """
        ...


class File(Protocol):
    """The host-side twin of a struct file."""

    addr: int  # kernel address of its struct file
    inode: Any  # Inode
    flags: int  # f_flags
    pos: int

    @property
    def path(self) -> str:
        """As /proc/PID/maps shows it."""
        ...

    def read_at(self, pos: int, size: int) -> bytes:
        """kernel_read(): at most `size` bytes from `pos`; shorter at the end of the file."""
        ...

    def mmap(self, vma: Vma) -> None:
        """f_op->mmap: check and prepare; KernelError(ENODEV) when it cannot be mapped.

        May set `vma.fault = fn(vma, pgoff) -> physical address` for pages that are not the page cache's.
        """
        ...

    def get(self) -> None:
        """get_file(): one more reference."""
        ...

    def put(self, k: Kernel) -> None:
        """fput() from plain code: one reference less; may release."""
        ...


class Vfs(Protocol):
    """`k.vfs`."""

    def open_exec(self, k: Kernel, task: Task, path: bytes, dfd: int = -100, flags: int = 0) -> Any:
        """do_open_execat(): a File opened for execution, or ENOENT, EACCES, ENOTDIR, ELOOP..."""
        ...

    def file_of(self, k: Kernel, task: Task, fd: int) -> Any:
        """The File behind a descriptor, or KernelError(EBADF)."""
        ...

    def anon_inode_getfd(self, k: Kernel, name: str, ops: Any, private: Any, flags: int) -> int:
        """A new descriptor of the current task on an anonymous inode (perf events, bpf, timerfd...)."""
        ...

    def setup_init_files(self, k: Kernel, task: Task) -> None:
        """Give the first task its files, root and working directory."""
        ...

    def install_stdio(self, k: Kernel, task: Task, stdin: Any, stdout: Any, stderr: Any) -> None:
        """Descriptors 0, 1, 2 on host ends: each a `HostInput` or `HostOutput` (simkernel/kernel/hostio.py)."""
        ...
