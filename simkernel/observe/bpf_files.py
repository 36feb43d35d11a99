"""The files that bpf(2) makes: maps to map and poll, iterators to read.  kernel/bpf/syscall.c, bpf_map_fops."""

from __future__ import annotations

from dataclasses import replace

from arch.abi.errno import EINVAL
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import PROT_READ, PROT_WRITE
from arch.abi.poll import EPOLLIN, EPOLLOUT, EPOLLRDNORM, EPOLLWRNORM
from bpf.board import BtfObject
from bpf.core.link import IterLink
from bpf.face import FdObject, Link, Prog
from bpf.maps.arena import ArenaMap
from bpf.maps.base import BpfMap
from bpf.maps.text import has_text, map_text
from simkernel.fs.bpffs import BPFFS_OBJ_FOPS, BpfInode
from simkernel.fs.inode import File, FileOperations, Inode
from simkernel.fs.nodes import PseudoFile
from simkernel.fs.pseudo import release_node
from simkernel.kernel.areas import Vma, VmOperations
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue
from simkernel.observe.arenas import map_arena
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
    obj.check_mmap(vma.shared and bool(vma.may & PROT_WRITE), writable)  # VM_SHARED: only where the file may be written
    if isinstance(obj, ArenaMap):
        map_arena(k, vma, obj)
        return
    show_pages(k, vma, obj.mmap_pages(vma.pgoff * PAGE_SIZE, (vma.end - vma.start) // PAGE_SIZE, writable))
    vma.dontexpand = True
    vma.may = PROT_READ
    if writable:
        vma.may |= PROT_WRITE
        vma.ops = WriterMapping(obj)
        vma.ops.opened()


class WriterMapping(VmOperations):
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


BPF_MAP_FOPS = FileOperations(
    "bpf_map_fops", read="bpf_dummy_read", write="bpf_dummy_write", llseek="no_llseek", poll=bpf_poll, mmap=bpf_mmap,
    release=bpf_release, show_fdinfo=bpf_fdinfo,
)  # fmt: skip
# The same without poll and mmap of their own: what these ask of such an object is answered there.
BPF_PROG_FOPS, BPF_LINK_FOPS, BTF_FOPS = (
    replace(BPF_MAP_FOPS, name=name) for name in ("bpf_prog_fops", "bpf_link_fops", "btf_fops")
)


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


def _open_pinned_iterator(k: WatchedKernel, inode: Inode, file: File) -> int:
    """iter_open(): the walk begins anew."""
    assert isinstance(inode, BpfInode) and isinstance(inode.obj, IterLink)
    file.private_data = inode.obj.bpf.host.iter_create(inode.obj)
    return 0


def _open_pinned_map(k: WatchedKernel, inode: Inode, file: File) -> int:
    """bpffs_map_open(): all elements as text."""
    assert isinstance(inode, BpfInode) and isinstance(inode.obj, BpfMap)
    found = inode.obj
    file.private_data = PseudoFile(lambda: map_text(found)).open(file.f_flags)
    return 0


PINNED_ITER_FOPS = replace(ITER_FOPS, open=_open_pinned_iterator)
PINNED_MAP_FOPS = FileOperations(
    "bpffs_map_fops", read="seq_read", llseek="no_llseek", open=_open_pinned_map, release=release_node
)  # fmt: skip


def opened_fops(obj: FdObject) -> FileOperations:
    """Those of the descriptors that bpf(2) gives."""
    if isinstance(obj, BpfMap):
        return BPF_MAP_FOPS
    if isinstance(obj, Prog):
        return BPF_PROG_FOPS
    if isinstance(obj, Link):
        return BPF_LINK_FOPS
    return BTF_FOPS if isinstance(obj, BtfObject) else ITER_FOPS


# What of these has a name in kallsyms, and with which letter.
SYMBOLS = {
    fops.name: (fops, "D" if fops in (BPF_MAP_FOPS, BPF_PROG_FOPS, ITER_FOPS, BTF_FOPS) else "d")
    for fops in (BPF_MAP_FOPS, BPF_PROG_FOPS, BPF_LINK_FOPS, BTF_FOPS, ITER_FOPS, BPFFS_OBJ_FOPS, PINNED_MAP_FOPS)
}


def pinned_fops(obj: FdObject) -> FileOperations:
    """bpf_mkmap(), bpf_mklink(): what open(2) does with the file that pins an object."""
    if isinstance(obj, IterLink):
        return PINNED_ITER_FOPS
    if isinstance(obj, BpfMap) and has_text(obj):
        return PINNED_MAP_FOPS
    return BPFFS_OBJ_FOPS


@kernel_function(
    "ssize_t bpf_dummy_write(struct file *filp, const char *buf, size_t siz, loff_t *ppos)",
    source="kernel/bpf/syscall.c",
)
def bpf_dummy_write(k: WatchedKernel, filp: int, buf: int, siz: int, ppos: int) -> int:
    """Nothing of BPF is written through write(2)."""
    return -EINVAL
