"""Files of tracing that give themselves to a pipe by pages.  kernel/trace/trace.c: tracing_buffers_splice_read(), tracing_splice_read_pipe()."""

from __future__ import annotations

from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File
from simkernel.fs.pipe import Pipe
from simkernel.fs.pseudo import handle_of, release_node
from simkernel.kernel.face import Body
from tracing.face import WouldBlock
from tracing.files.raw_pages import PagedFile


def paged(file: File) -> PagedFile | None:
    """What gives its pages, if it is such a file."""
    if file.f_op.release is not release_node:
        return None
    handle = handle_of(file)
    return handle if isinstance(handle, PagedFile) else None


def splice_pages(k: FsKernel, source: File, handle: PagedFile, pipe: Pipe, size: int, quick: bool) -> Body:
    """Take pages and put them into the pipe, which has room; bytes, or -errno.  The file's position goes on with them."""
    closed = False  # a descriptor of the file, while this slept
    while True:
        try:
            pages = handle.pages(size, pipe.slots - len(pipe.bufs), source.f_pos, quick)
            break
        except WouldBlock as blocked:
            if closed:
                return 0
            ret = yield k.wait(k.vfs.key_queue(blocked.key))
            if ret < 0 or handle.stopped():
                return 0 if handle.stopped() else ret
            closed = handle.flushed
        except KernelError as refused:
            return -refused.errno
    pipe.add_pages(pages)
    moved = sum(map(len, pages))
    if moved:
        k.vfs.mirror.set_pos(source, source.f_pos + moved)
        k.wake_up(pipe.rd_wait, 0)
    return moved
