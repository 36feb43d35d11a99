"""Which files may be executed, and what opening one for that leaves.  fs/exec.c:do_open_execat(), fs/namei.c:may_open()."""

from __future__ import annotations

from arch.abi.errno import EACCES, EINVAL, ETXTBSY
from arch.abi.fcntl import AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, O_RDONLY
from arch.abi.mount import MS_NOEXEC
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.fsnotify import FS_OPEN, FS_OPEN_EXEC, FsNotify
from simkernel.fs.inode import Cred, File, Path
from simkernel.fs.landlock_access import check_open
from simkernel.fs.namei import LOOKUP_FOLLOW, may_open
from simkernel.kernel.face import KernelFace
from simkernel.kernel.security import tell_subject


def lookup_flags(flags: int) -> int:
    """LOOKUP_* for the AT_* of execveat(2).  EINVAL for others than it knows."""
    if flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
        raise KernelError(EINVAL, "unknown flags")
    return 0 if flags & AT_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW


def may_execute(where: Path, cred: Cred) -> None:
    """EACCES unless an executable regular file on a mount that allows it; ETXTBSY while somebody writes it."""
    may_open(where, c.MAY_EXEC, O_RDONLY, cred)
    inode = where.dentry.inode
    if not inode.is_reg or where.mnt.mnt_flags & MS_NOEXEC:
        raise KernelError(EACCES, "not executable")
    if inode.i_writecount > 0:
        raise KernelError(ETXTBSY, "open for writing")


def make_executed(k: KernelFace, file: File) -> None:
    """Its modes; nobody may write it until it is released (deny_write_access()).  EACCES, and the file is put, by Landlock."""
    file.f_mode |= c.FMODE_OPENED | c.FMODE_CAN_READ | c.FMODE_LSEEK | c.FMODE_PREAD | c.FMODE_EXEC
    file.f_inode.i_writecount -= 1
    if k.current.cred.domain is not None:
        try:
            check_open(k, file)
        except KernelError:
            file.put()
            raise


def tell_opened(k: KernelFace, file: File, fsnotify: FsNotify, watched: bool) -> None:
    """ima_file_check(), and those who watch the file."""
    if watched:
        tell_subject(k)
    if fsnotify.active:
        fsnotify.file(file, FS_OPEN | FS_OPEN_EXEC)
