"""Descriptors as such: dup, fcntl, flock, ioctl.  fs/file.c, fs/fcntl.c, fs/ioctl.c, fs/locks.c."""

from __future__ import annotations

from arch.abi.capability import CAP_FOWNER
from arch.abi.errno import EBADF, EBUSY, EINVAL, ENOTTY, EPERM, ESPIPE
from arch.abi.fcntl import (
    F_ADD_SEALS,
    F_DUPFD,
    F_DUPFD_CLOEXEC,
    F_GET_RW_HINT,
    F_GET_SEALS,
    F_GETFD,
    F_GETFL,
    F_GETLEASE,
    F_GETLK,
    F_GETLK64,
    F_GETOWN,
    F_GETOWN_EX,
    F_GETOWNER_UIDS,
    F_GETPIPE_SZ,
    F_GETSIG,
    F_NOTIFY,
    F_OFD_GETLK,
    F_OFD_SETLK,
    F_OFD_SETLKW,
    F_SEAL_SEAL,
    F_SEAL_WRITE,
    F_SET_RW_HINT,
    F_SETFD,
    F_SETFL,
    F_SETLEASE,
    F_SETLK,
    F_SETLK64,
    F_SETLKW,
    F_SETLKW64,
    F_SETOWN,
    F_SETOWN_EX,
    F_SETPIPE_SZ,
    F_SETSIG,
    FASYNC,
    FD_CLOEXEC,
    LOCK_EX,
    LOCK_MAND,
    LOCK_NB,
    LOCK_SH,
    LOCK_UN,
    O_APPEND,
    O_CLOEXEC,
    O_DIRECT,
    O_NOATIME,
    O_NONBLOCK,
)
from arch.abi.ioctl import FIGETBSZ, FIOASYNC, FIOCLEX, FIONBIO, FIONCLEX, FIONREAD, FIOQSIZE
from arch.abi.mman import PROT_WRITE
from arch.abi.stat import TMPFS_MAGIC
from simkernel.fs import constants as c
from simkernel.fs.dnotify import fcntl_dirnotify
from simkernel.fs.face import FsKernel
from simkernel.fs.fasync import fasync, get_owner, owner_ex, owner_of, owner_uids, set_owner, set_signal
from simkernel.fs.fdtable import files_of
from simkernel.fs.fileattr import check_changeable, file_ioctl
from simkernel.fs.inode import File, Inode
from simkernel.fs.leases import get_lease, set_lease
from simkernel.fs.locks import fcntl_getlk, fcntl_setlk, flock_file
from simkernel.fs.pipe import pipe_of
from simkernel.fs.pseudo import tell_flags
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.security import ask

SETFL_MASK = O_APPEND | O_NONBLOCK | O_DIRECT | O_NOATIME
RWH_WRITE_LIFE_EXTREME = 5  # the last of how long data will live


@syscall("dup", "unsigned int fildes", source="fs/file.c")
def sys_dup(k: FsKernel, fildes: int) -> int:
    """dup(2)."""
    return _dup_from(k, fildes, 0, False)


def _dup_from(k: FsKernel, fd: int, start: int, cloexec: bool) -> int:
    file = k.vfs.file_of(k, k.current, fd)
    files = files_of(k.current)
    new: int = files.get_unused_fd(cloexec, start)
    files.install(new, file.get())
    return new


@kernel_function(
    "int ksys_dup3(unsigned int oldfd, unsigned int newfd, int flags)", source="fs/file.c", since="4.17", jumps=True
)
def ksys_dup3(k: FsKernel, oldfd: int, newfd: int, flags: int) -> Body:
    """dup3(2): EINVAL, EBADF."""
    if flags & ~O_CLOEXEC or oldfd == newfd:
        return -EINVAL
    files = files_of(k.current)
    file = files.fds.get(oldfd)
    if file is None or newfd >= files.limit():
        return -EBADF
    return (yield k.call("do_dup2", files.addr, file.addr, newfd, flags))


@kernel_function(
    "int do_dup2(struct files_struct *files, struct file *file, unsigned int fd, unsigned int flags)",
    source="fs/file.c", since="4.17",
)  # fmt: skip
def do_dup2(k: FsKernel, files_addr: int, file_addr: int, newfd: int, flags: int) -> Body:
    """Install; close what was there."""
    files = files_of(k.current)
    file = k.vfs.files[file_addr].get()
    old = files.remove(newfd)
    files.install(newfd, file)
    files.set_cloexec(newfd, bool(flags & O_CLOEXEC))
    if old is not None:
        yield k.call("filp_close", old.addr, files_addr)
    return newfd


@syscall("dup2", "unsigned int oldfd, unsigned int newfd", source="fs/file.c")
def sys_dup2(k: FsKernel, oldfd: int, newfd: int) -> Body:
    """dup2(2)."""
    if oldfd == newfd:
        k.vfs.file_of(k, k.current, oldfd)
        return newfd
    return (yield k.call("ksys_dup3", oldfd, newfd, 0))


@syscall("dup3", "unsigned int oldfd, unsigned int newfd, int flags", source="fs/file.c")
def sys_dup3(k: FsKernel, oldfd: int, newfd: int, flags: int) -> Body:
    """dup3(2)."""
    return (yield k.call("ksys_dup3", oldfd, newfd, flags))


def _setfl(k: FsKernel, fd: int, file: File, arg: int) -> int:
    """setfl(): O_APPEND, O_NONBLOCK and a few more can change."""
    arg = k.vfs.abi.flags_from_user(arg)
    if (arg ^ file.f_flags) & O_NOATIME and arg & O_NOATIME:
        cred = k.vfs.cred()
        if cred.fsuid != file.f_inode.i_uid and not cred.capable(CAP_FOWNER, file.f_inode):
            return -EPERM
    if (arg ^ file.f_flags) & O_APPEND and file.f_inode.i_flags & c.S_APPEND:
        return -EPERM
    if arg & O_DIRECT and file.f_inode.i_pipe is None:
        return -EINVAL
    if file.f_op.setfl is not None:
        file.f_op.setfl(k, file, arg)
    if (arg ^ file.f_flags) & FASYNC and file.f_op.fasync:
        fasync(k, fd, file, bool(arg & FASYNC))
    file.f_flags = arg & SETFL_MASK | file.f_flags & ~SETFL_MASK
    tell_flags(file)
    k.vfs.mirror.file_flags(file)
    return 0


def _mapped_writable(k: FsKernel, inode: Inode) -> bool:
    """mapping_deny_writable() fails: somebody has a shared mapping that may be, or become, writable."""
    spaces = {id(t.mm): t.mm for t in k.tasks.by_pid.values() if t.mm is not None}
    areas = (vma for mm in spaces.values() for vma in mm.vmas)
    return any(v.shared and v.may & PROT_WRITE and v.file is not None and v.file.inode is inode for v in areas)


def _seals(k: FsKernel, file: File, add: int | None) -> int:
    inode = file.f_inode
    if add is not None and not file.f_mode & c.FMODE_WRITE:
        return -EPERM
    if add is not None and add & ~0x1F:
        return -EINVAL
    if inode.i_sb.s_magic != TMPFS_MAGIC or not inode.is_reg:
        return -EINVAL
    if add is None:
        return inode.seals
    if inode.seals & F_SEAL_SEAL:
        return -EPERM
    if add & F_SEAL_WRITE and not inode.seals & F_SEAL_WRITE and _mapped_writable(k, inode):
        return -EBUSY
    inode.seals |= add
    return 0


def _rw_hint(k: FsKernel, inode: Inode, arg: int, store: bool) -> int:
    """fcntl_rw_hint(): how long what is written will live.  EFAULT, EINVAL."""
    if not store:
        k.usercopy.put_user(arg, 8, inode.rw_hint)
        return 0
    hint = k.usercopy.get_user(arg, 8) & 0xFFFFFFFF
    check_changeable(inode, touched=True)
    if hint > RWH_WRITE_LIFE_EXTREME:
        return -EINVAL
    inode.rw_hint = hint
    return 0


def do_fcntl(k: FsKernel, fd: int, cmd: int, arg: int) -> Body:
    """do_fcntl(): by command."""
    file: File = k.vfs.file_of(k, k.current, fd)
    files = files_of(k.current)
    if file.f_mode & c.FMODE_PATH and cmd not in (F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL):
        return -EBADF
    ask(k, "file_fcntl", file.addr, cmd, arg)
    if cmd in (F_DUPFD, F_DUPFD_CLOEXEC):
        if arg >= files.limit():
            return -EINVAL
        return _dup_from(k, fd, arg & 0xFFFFFFFF, cmd == F_DUPFD_CLOEXEC)
    if cmd == F_GETFD:
        return FD_CLOEXEC if fd in files.close_on_exec else 0
    if cmd == F_SETFD:
        files.set_cloexec(fd, bool(arg & FD_CLOEXEC))
        return 0
    if cmd == F_GETFL:
        return k.vfs.abi.flags_to_user(file.f_flags)
    if cmd == F_SETFL:
        return _setfl(k, fd, file, arg)
    if cmd in (F_GETLK, F_OFD_GETLK) or (cmd == F_GETLK64 and k.vfs.abi.flock64 is not None):
        return fcntl_getlk(k, file, cmd, arg)
    if cmd in (F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW) or (
        cmd in (F_SETLK64, F_SETLKW64) and k.vfs.abi.flock64 is not None
    ):
        return (yield from fcntl_setlk(k, file, cmd, arg))
    if cmd in (F_GETOWN, F_SETOWN):
        return get_owner(k, file) if cmd == F_GETOWN else set_owner(k, file, arg)
    if cmd in (F_GETOWN_EX, F_SETOWN_EX):
        return owner_ex(k, file, arg, cmd == F_SETOWN_EX)
    if cmd == F_GETOWNER_UIDS:
        return owner_uids(k, file, arg)
    if cmd in (F_GETSIG, F_SETSIG):
        return owner_of(file).signum if cmd == F_GETSIG else set_signal(file, arg)
    if cmd in (F_GETLEASE, F_SETLEASE):
        kind = (arg & 0xFFFFFFFF) - (1 << 32) if arg & 0x80000000 else arg & 0xFFFFFFFF
        return get_lease(k, file) if cmd == F_GETLEASE else set_lease(k, fd, file, kind)
    if cmd == F_NOTIFY:
        return fcntl_dirnotify(k, fd, file, arg & 0xFFFFFFFF)
    if cmd in (F_GETPIPE_SZ, F_SETPIPE_SZ):
        if file.f_inode.i_pipe is None:
            return -EBADF
        pipe = pipe_of(file.f_inode)
        return pipe.size if cmd == F_GETPIPE_SZ else pipe.resize(k, arg)
    if cmd in (F_ADD_SEALS, F_GET_SEALS):
        return _seals(k, file, arg if cmd == F_ADD_SEALS else None)
    if cmd in (F_GET_RW_HINT, F_SET_RW_HINT) and not k.version.before("4.13"):
        return _rw_hint(k, file.f_inode, arg, cmd == F_SET_RW_HINT)
    return -EINVAL


@syscall("fcntl", "unsigned int fd, unsigned int cmd, unsigned long arg", source="fs/fcntl.c")
def sys_fcntl(k: FsKernel, fd: int, cmd: int, arg: int) -> Body:
    """fcntl(2)."""
    return (yield from do_fcntl(k, fd, cmd, arg))


@syscall("flock", "unsigned int fd, unsigned int cmd", source="fs/locks.c")
def sys_flock(k: FsKernel, fd: int, cmd: int) -> Body:
    """flock(2)."""
    if cmd & LOCK_MAND:  # a mandatory lock is granted and means nothing
        return 0
    kind = cmd & ~LOCK_NB
    if kind not in (LOCK_SH, LOCK_EX, LOCK_UN):
        return -EINVAL
    return (yield from flock_file(k, k.vfs.fget(fd), cmd))


# --- ioctl ---


@kernel_function(
    "long vfs_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)", source="fs/ioctl.c", until="7.0"
)
def vfs_ioctl(k: FsKernel, file_addr: int, cmd: int, arg: int) -> Body:
    """The file's own ioctl; ENOTTY when it has none or does not know the command."""
    file = k.vfs.files[file_addr]
    if file.f_op.ioctl is None:
        return -ENOTTY
    ret = file.f_op.ioctl(k, file, cmd, arg)
    if not isinstance(ret, int):
        ret = yield from ret
    return ret


def _fionread(k: FsKernel, file: File, arg: int) -> int | None:
    if cmd_on_regular(k, file):
        k.usercopy.put_user(arg, 4, max(0, file.f_inode.i_size - file.f_pos))
        return 0
    return None


def cmd_on_regular(k: FsKernel, file: File) -> bool:
    """file_ioctl() is for regular files that a file system has."""
    anonymous = file.f_inode.i_sb.fs_name == "secretmem" and k.vfs.names.anon_files_have_no_fionread
    return file.f_inode.is_reg and not anonymous


@syscall("ioctl", "unsigned int fd, unsigned int cmd, unsigned long arg", source="fs/ioctl.c")
def sys_ioctl(k: FsKernel, fd: int, cmd: int, arg: int) -> Body:
    """ioctl(2): a few commands are for every file, the rest is the file's."""
    file: File = k.vfs.fget(fd)
    ask(k, "file_ioctl", file.addr, cmd, arg)
    files = files_of(k.current)
    if cmd in (FIOCLEX, FIONCLEX):
        files.set_cloexec(fd, cmd == FIOCLEX)
        return 0
    if cmd == FIONBIO:
        on = k.usercopy.get_user(arg, 4)
        file.f_flags = file.f_flags | O_NONBLOCK if on else file.f_flags & ~O_NONBLOCK
        tell_flags(file)
        k.vfs.mirror.file_flags(file)
        return 0
    if cmd == FIOASYNC:
        flag = FASYNC if k.usercopy.get_user(arg, 4) else 0
        if flag != file.f_flags & FASYNC:
            if not file.f_op.fasync:
                return -ENOTTY
            fasync(k, fd, file, bool(flag))
        return 0
    if cmd == FIGETBSZ:
        k.usercopy.put_user(arg, 4, file.f_inode.i_sb.s_blocksize)
        return 0
    if cmd == FIOQSIZE:
        if not (file.f_inode.is_reg or file.f_inode.is_dir or file.f_inode.is_link):
            return -ENOTTY
        k.usercopy.put_user(arg, 8, file.f_inode.i_size)
        return 0
    if cmd == FIONREAD:
        done = _fionread(k, file, arg)
        if done is not None:
            return done
    answer = file_ioctl(k, file, cmd, arg)
    if answer is not None:
        return answer
    return (yield k.call("vfs_ioctl", file.addr, cmd, arg))


# --- advice that changes nothing ---


@syscall("fadvise64", "int fd, loff_t offset, size_t len, int advice", source="mm/fadvise.c")
def sys_fadvise64(k: FsKernel, fd: int, offset: int, length: int, advice: int) -> int:
    """posix_fadvise(2)."""
    file = k.vfs.fget(fd)
    if file.f_inode.i_pipe is not None:
        return -ESPIPE
    signed = length - (1 << 64) if length >> 63 else length
    return 0 if 0 <= advice <= 5 and signed >= 0 else -EINVAL


@syscall("readahead", "int fd, loff_t offset, size_t count", source="mm/readahead.c")
def sys_readahead(k: FsKernel, fd: int, offset: int, count: int) -> int:
    """readahead(2)."""
    file = k.vfs.fget(fd)
    if not file.f_mode & c.FMODE_READ:
        return -EBADF
    return 0 if file.f_inode.is_reg else -EINVAL
