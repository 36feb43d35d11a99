"""Another kernel to go on with, of which there is none here: what is refused before it comes to that, and unloading.  kernel/kexec.c, kernel/kexec_file.c."""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_BOOT
from arch.abi.errno import EADDRNOTAVAIL, EBADF, EINVAL, ENOEXEC, ENOSYS, EPERM
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.copy import kernel_read
from simkernel.fs.face import FsKernel
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import syscall

KEXEC_ON_CRASH, KEXEC_PRESERVE_CONTEXT = 1, 2
KEXEC_FILE_UNLOAD, KEXEC_FILE_FLAGS = 1, 7
ARCH_SHIFT, SEGMENTS, SEGMENT_WORDS = 16, 16, 4
BOOT_SECTOR, HEADER_AT, BOOT_MAGIC = 0x210, 0x202, b"HdrS"  # of a bzImage


def _permitted(k: FsKernel) -> None:
    """kexec_load_permitted().  EPERM."""
    if not k.capable(CAP_SYS_BOOT):
        raise KernelError(EPERM)


def _segments(k: FsKernel, address: int, count: int) -> list[tuple[int, int, int, int]]:
    """struct kexec_segment: (buf, bufsz, mem, memsz) of each.  EFAULT."""
    word, order = k.arch.word, k.mem.byteorder
    raw = k.usercopy.copy_from_user(address, count * SEGMENT_WORDS * word)
    words = [int.from_bytes(raw[at : at + word], order) for at in range(0, len(raw), word)]
    return [(words[i], words[i + 1], words[i + 2], words[i + 3]) for i in range(0, len(words), SEGMENT_WORDS)]


def _check(segments: list[tuple[int, int, int, int]]) -> None:
    """sanity_check_segment_list().  EADDRNOTAVAIL, EINVAL."""
    if any(mem % PAGE_SIZE or (mem + size) % PAGE_SIZE for _, _, mem, size in segments):
        raise KernelError(EADDRNOTAVAIL)
    for i, (_, _, mem, size) in enumerate(segments):
        if any(mem < other + more and mem + size > other for _, _, other, more in segments[:i]):
            raise KernelError(EINVAL, "they overlap")
    if any(size > room for _, size, _, room in segments):
        raise KernelError(EINVAL, "more than its room")


@syscall(
    "kexec_load", "unsigned long entry, unsigned long nr_segments, void *segments, unsigned long flags", source="kernel/kexec.c"
)  # fmt: skip
def sys_kexec_load(k: FsKernel, entry: int, nr_segments: int, segments: int, flags: int) -> int:
    """EPERM, EINVAL, EFAULT, EADDRNOTAVAIL; ENOSYS for one that could be loaded."""
    _permitted(k)
    arch, kind = flags >> ARCH_SHIFT & 0xFFFF, flags & 0xFFFF
    if (
        kind & ~(KEXEC_ON_CRASH | KEXEC_PRESERVE_CONTEXT)
        or nr_segments > SEGMENTS
        or arch not in (0, k.arch.elf_machine)
    ):
        raise KernelError(EINVAL)
    if nr_segments:
        _check(_segments(k, segments, nr_segments))
        raise KernelError(ENOSYS, "no other kernel")
    return 0


@syscall(
    "kexec_file_load",
    "int kernel_fd, int initrd_fd, unsigned long cmdline_len, const char *cmdline_ptr, unsigned long flags",
    source="kernel/kexec_file.c",
)
def sys_kexec_file_load(k: FsKernel, kernel_fd: int, initrd_fd: int, length: int, cmdline: int, flags: int) -> Body:
    """EPERM, EINVAL, EBADF, ENOEXEC; ENOSYS for one that could be loaded."""
    _permitted(k)
    if flags & ~KEXEC_FILE_FLAGS:
        raise KernelError(EINVAL)
    if flags & KEXEC_FILE_UNLOAD:
        return 0
    file = k.vfs.fget(kernel_fd)
    if not file.f_mode & c.FMODE_READ:
        raise KernelError(EBADF)
    if not file.f_inode.is_reg or not file.f_inode.i_size:
        raise KernelError(EINVAL)
    head = yield from kernel_read(k, file, 0, BOOT_SECTOR)
    if isinstance(head, int):
        return head
    raise KernelError(ENOSYS if head[HEADER_AT : HEADER_AT + len(BOOT_MAGIC)] == BOOT_MAGIC else ENOEXEC)
