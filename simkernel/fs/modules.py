"""Modules and areas to swap to, which this machine has none of: what the calls refuse before it comes to that.

kernel/module/main.c, mm/swapfile.c, fs/open.c:vhangup().
"""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_ADMIN, CAP_SYS_MODULE, CAP_SYS_TTY_CONFIG
from arch.abi.errno import EBADF, EINVAL, EISDIR, ENOENT, ENOEXEC, ENOMEM, ENOSYS, EPERM, ETXTBSY
from arch.abi.fcntl import AT_FDCWD
from arch.abi.stat import S_IFBLK, S_IFMT
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.copy import kernel_read
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import Inode
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.open_walk import get_path_name
from simkernel.fs.tty.tty import TtyEnd
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import syscall

MODULE_INIT_FLAGS = 0x7  # MODULE_INIT_*: include/uapi/linux/module.h
SWAP_FLAGS_VALID = 0x7FFFF  # include/linux/swap.h
SIGNATURE_AT, SWAP_SIGNATURE = 4086, b"SWAPSPACE2"  # what mkswap writes
ELF_HEADER, MODULE_NAME_LEN = 64, 56  # bytes


def _allowed(k: FsKernel, cap: int) -> None:
    if not k.capable(cap):
        raise KernelError(EPERM)


def _load(head: bytes) -> int:
    """What is no module is told so; one that is cannot be run.  ENOEXEC, ENOSYS."""
    raise KernelError(ENOSYS if head.startswith(b"\x7fELF") and len(head) >= ELF_HEADER else ENOEXEC)


@syscall("init_module", "void *umod, unsigned long len, const char *uargs", source="kernel/module/main.c")
def sys_init_module(k: FsKernel, umod: int, length: int, uargs: int) -> int:
    """EPERM, ENOEXEC, ENOMEM, EFAULT, ENOSYS."""
    _allowed(k, CAP_SYS_MODULE)
    if length < ELF_HEADER:
        raise KernelError(ENOEXEC)
    if length > k.mm.total_ram_pages * 4096:
        raise KernelError(ENOMEM)
    return _load(k.usercopy.copy_from_user(umod, length)[:ELF_HEADER])


@syscall("finit_module", "int fd, const char *uargs, int flags", source="kernel/module/main.c")
def sys_finit_module(k: FsKernel, fd: int, uargs: int, flags: int) -> Body:
    """EPERM, EINVAL, EBADF, ETXTBSY, ENOEXEC, ENOSYS."""
    _allowed(k, CAP_SYS_MODULE)
    if flags & ~MODULE_INIT_FLAGS:
        raise KernelError(EINVAL)
    file = k.vfs.fget(fd)
    if not file.f_mode & c.FMODE_READ:
        raise KernelError(EBADF)
    inode = file.f_inode
    if not inode.is_reg:
        raise KernelError(EINVAL)
    if inode.i_writecount > 0:
        raise KernelError(ETXTBSY)
    if not inode.i_size:
        raise KernelError(EINVAL)
    head = yield from kernel_read(k, file, 0, ELF_HEADER)
    return head if isinstance(head, int) else _load(head)


@syscall("delete_module", "const char *name_user, unsigned int flags", source="kernel/module/main.c")
def sys_delete_module(k: FsKernel, name_user: int, flags: int) -> int:
    """EPERM, EFAULT, ENOENT: there are no modules."""
    _allowed(k, CAP_SYS_MODULE)
    k.usercopy.strncpy_from_user(name_user, MODULE_NAME_LEN)
    raise KernelError(ENOENT)


def _area(k: FsKernel, specialfile: int) -> Inode:
    return k.vfs.user_path(AT_FDCWD, get_path_name(k, specialfile), LOOKUP_FOLLOW).dentry.inode


@syscall("swapon", "const char *specialfile, int swap_flags", source="mm/swapfile.c")
def sys_swapon(k: FsKernel, specialfile: int, swap_flags: int) -> int:
    """EINVAL: bad flags, or no area to swap to; EPERM, EISDIR, ENOSYS."""
    if swap_flags & ~SWAP_FLAGS_VALID:
        raise KernelError(EINVAL)
    _allowed(k, CAP_SYS_ADMIN)
    inode = _area(k, specialfile)
    if inode.is_dir:
        raise KernelError(EISDIR)
    block = inode.i_mode & S_IFMT == S_IFBLK
    signed = inode.is_reg and inode.i_mapping is not None and inode.i_mapping.read(SIGNATURE_AT, 10) == SWAP_SIGNATURE
    raise KernelError(ENOSYS if block or signed else EINVAL)


@syscall("swapoff", "const char *specialfile", source="mm/swapfile.c")
def sys_swapoff(k: FsKernel, specialfile: int) -> int:
    """EPERM, EINVAL: nothing is swapped to it."""
    _allowed(k, CAP_SYS_ADMIN)
    _area(k, specialfile)
    raise KernelError(EINVAL)


@syscall("vhangup", "", source="fs/open.c")
def sys_vhangup(k: FsKernel) -> int:
    """The controlling terminal hangs up.  EPERM."""
    _allowed(k, CAP_SYS_TTY_CONFIG)
    tty = k.current.signal.tty
    if isinstance(tty, TtyEnd):
        tty.hangup()
    return 0
