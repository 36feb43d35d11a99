"""The files that bpf(2) makes: maps to map and poll, iterators to read.  kernel/bpf/syscall.c, bpf_map_fops."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import PROT_READ, PROT_WRITE
from arch.abi.poll import EPOLLIN, EPOLLOUT, EPOLLRDNORM, EPOLLWRNORM
from bpf.face import FdObject
from simkernel.fs.inode import File, FileOperations
from simkernel.kernel.areas import Vma
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue
from simkernel.observe.face import WatchedKernel
from simkernel.observe.fdinfo import bpf_fdinfo
from simkernel.observe.pages import show_pages


def bpf_poll(k: WatchedKernel, file: File, queues: list[WaitQueue] | None) -> int:
    """poll(2): ring buffers; anything else is always ready."""
    obj: FdObject = file.private_data
    bits: int | None = obj.poll()
    if bits is None:
        return EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM
    if queues is not None:
        queues.append(k.vfs.key_queue(obj.waiters))
    return bits


def bpf_mmap(k: WatchedKernel, file: File, vma: Vma) -> None:
    """bpf_map_mmap(): arrays made with BPF_F_MMAPABLE, and ring buffers."""
    obj: FdObject = file.private_data
    writable = bool(vma.prot & PROT_WRITE)
    obj.check_mmap(vma.shared, writable)
    show_pages(k, vma, obj.mmap_pages(vma.pgoff * PAGE_SIZE, (vma.end - vma.start) // PAGE_SIZE, writable))
    vma.dontexpand = True
    vma.may = PROT_READ
    if writable:
        vma.may |= PROT_WRITE
        vma.ops = WriterMapping(obj)
        vma.ops.opened()


class WriterMapping:
    """An area through which an object can be written; bpf_map_mmap_open(), bpf_map_mmap_close()."""

    def __init__(self, obj: FdObject) -> None:
        self.obj = obj

    def opened(self) -> None:
        """bpf_map_write_active_inc()."""
        self.obj.writers(1)

    def closed(self) -> None:
        """bpf_map_write_active_dec()."""
        self.obj.writers(-1)


def bpf_release(k: WatchedKernel, file: File) -> None:
    """The last descriptor is gone."""
    file.private_data.release()


BPF_FOPS = FileOperations(
    "bpf_map_fops", read="bpf_dummy_read", write="bpf_dummy_write", llseek="no_llseek", poll=bpf_poll, mmap=bpf_mmap,
    release=bpf_release, show_fdinfo=bpf_fdinfo,
)  # fmt: skip


@kernel_function(
    "ssize_t bpf_dummy_read(struct file *filp, char *buf, size_t siz, loff_t *ppos)", source="kernel/bpf/syscall.c"
)
def bpf_dummy_read(k: WatchedKernel, filp: int, buf: int, siz: int, ppos: int) -> int:
    """Maps and programs are not read."""
    return -EINVAL


ITER_FOPS = FileOperations("bpf_iter_fops", read="bpf_seq_read", llseek="no_llseek", release=bpf_release)


@kernel_function(
    "ssize_t bpf_seq_read(struct file *file, char *buf, size_t size, loff_t *ppos)", source="kernel/bpf/bpf_iter.c"
)
def bpf_seq_read(k: WatchedKernel, file: int, buf: int, size: int, ppos: int) -> int:
    """Iterators: reading runs the program."""
    data = k.vfs.files[file].private_data.read(size)
    k.usercopy.copy_to_user(buf, data)
    return len(data)


@kernel_function(
    "ssize_t bpf_dummy_write(struct file *filp, const char *buf, size_t siz, loff_t *ppos)",
    source="kernel/bpf/syscall.c",
)
def bpf_dummy_write(k: WatchedKernel, filp: int, buf: int, siz: int, ppos: int) -> int:
    """Nothing of BPF is written through write(2)."""
    return -EINVAL
