"""The files that perf_event_open(2) makes: counters to read, buffers to map.  kernel/events/core.c, perf_fops."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import E2BIG, EBADF
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import PROT_WRITE
from arch.abi.perf_event import PERF_ATTR_SIZE_VER0
from arch.errors import KernelError
from simkernel.fs.inode import File, FileOperations
from simkernel.kernel.areas import VM_DONTDUMP, Vma, VmOperations
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.security import ask
from simkernel.kernel.task import WaitQueue
from simkernel.observe.face import WatchedKernel
from simkernel.observe.pages import show_pages
from tracing.perf import attr as perf_attr
from tracing.perf.event import PerfEvent

SIZE_AT = 4  # of `size` in struct perf_event_attr


def perf_poll(k: WatchedKernel, file: File, queues: list[WaitQueue] | None) -> int:
    """poll(2)."""
    event: PerfEvent = file.private_data
    if queues is not None:
        queues.append(k.vfs.key_queue(event.waiters))
    return event.poll()


def _ask(k: WatchedKernel, hook: str) -> None:
    """A security hook with a struct perf_event of which nothing is filled in."""
    if hook in k.security_hooks.watched:
        event = k.new("struct perf_event")
        try:
            ask(k, hook, event.addr)
        finally:
            k.mem.free(event.addr)


def perf_ioctl(k: WatchedKernel, file: File, cmd: int, arg: int) -> int:
    """ioctl(2)."""
    _ask(k, "perf_event_write")
    event: PerfEvent = file.private_data
    return event.ioctl(cmd, arg)


class PerfMapping(VmOperations):
    """The areas that show an event's buffer: perf_mmap_vmops."""

    def __init__(self, event: PerfEvent) -> None:
        self.event = event

    def opened(self) -> None:
        """perf_mmap_open(): one more, by a split or a move."""
        self.event.mapped_again()

    def closed(self) -> None:
        """perf_mmap_close()."""
        self.event.munmap()

    def splits(self) -> bool:
        """perf_mmap_may_split(): a buffer is shown whole or not at all."""
        return False


def perf_mmap(k: WatchedKernel, file: File, vma: Vma) -> None:
    """mmap(2): the control page, then the ring."""
    _ask(k, "perf_event_read")
    event: PerfEvent = file.private_data
    pages = event.mmap(vma.end - vma.start, bool(vma.prot & PROT_WRITE), vma.shared, vma.pgoff * PAGE_SIZE)
    show_pages(k, vma, pages)
    vma.ops = PerfMapping(event)
    vma.dontfork = vma.dontexpand = True
    vma.advice |= VM_DONTDUMP


def perf_release(k: WatchedKernel, file: File) -> None:
    """The last descriptor and mapping are gone."""
    file.private_data.release()


def perf_fasync(k: WatchedKernel, file: File, told: Callable[[bool], None] | None) -> None:
    """fcntl(F_SETFL, O_ASYNC): a signal at each overflow."""
    event: PerfEvent = file.private_data
    event.fasync = told


PERF_FOPS = FileOperations(
    "perf_fops",
    read="perf_read",
    llseek="no_llseek",
    poll=perf_poll,
    ioctl=perf_ioctl,
    mmap=perf_mmap,
    tell_owner=perf_fasync,
    release=perf_release,
    fasync=True,
)


@kernel_function(
    "ssize_t perf_read(struct file *file, char *buf, size_t count, loff_t *ppos)", source="kernel/events/core.c"
)
def perf_read(k: WatchedKernel, file: int, buf: int, count: int, ppos: int) -> int:
    """The counter, in the attr's read_format."""
    _ask(k, "perf_event_read")
    data = k.vfs.files[file].private_data.read(count)
    k.usercopy.copy_to_user(buf, data)
    return len(data)


def event_of_fd(k: WatchedKernel, fd: int) -> PerfEvent:
    """perf_fget_light(): EBADF for what is no perf event."""
    file = k.vfs.fget(fd)
    if not isinstance(file.private_data, PerfEvent):
        raise KernelError(EBADF, f"descriptor {fd} is no perf event")
    return file.private_data


def read_attr(k: WatchedKernel, address: int) -> bytes:
    """perf_copy_attr(): the attr's own size says how much there is; a wrong one is answered with the right one."""
    size = k.usercopy.get_user(address + SIZE_AT, 4) or PERF_ATTR_SIZE_VER0
    known = perf_attr.attr_size(k.version)
    if (
        perf_attr.has_unknown(k.usercopy.copy_from_user, address, size, known)
        or not PERF_ATTR_SIZE_VER0 <= size <= PAGE_SIZE
    ):
        k.usercopy.put_user(address + SIZE_AT, 4, known)
        raise KernelError(E2BIG, f"perf_event_attr of {size} bytes")
    return bytes(k.usercopy.copy_from_user(address, size))
