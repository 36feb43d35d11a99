"""System calls that only 32-bit machines have: 64-bit sizes, times and user ids in calls of their own.

fs/stat.c, fs/open.c, fs/read_write.c, fs/select.c, fs/utimes.c, arch/arm/kernel/sys_oabi-compat.c.  The bodies are those
of the plain calls with other layouts (abi.py).  A loff_t takes two argument registers; the system-call entry joins them.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.fcntl import AT_FDCWD, AT_SYMLINK_NOFOLLOW, SEEK_HOLE
from simkernel.fs import timerfd
from simkernel.fs.attributes import sys_chown, sys_fchown, sys_lchown
from simkernel.fs.copy import sys_sendfile
from simkernel.fs.face import FsKernel
from simkernel.fs.fcntl import do_fcntl, sys_fadvise64
from simkernel.fs.namespace import sys_umount
from simkernel.fs.select import ppoll, pselect6, sys_select
from simkernel.fs.stat import stat_fd, stat_path, utimensat
from simkernel.fs.truncate import sys_ftruncate, sys_sync_file_range, sys_truncate
from simkernel.kernel.calls.time64 import TIME64
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import syscall


@syscall("stat64", "const char *filename, struct stat64 *statbuf", source="fs/stat.c")
def sys_stat64(k: FsKernel, filename: int, statbuf: int) -> Body:
    """stat64(2)."""
    return (yield from stat_path(k, AT_FDCWD, filename, statbuf, 0, k.vfs.abi.stat64))


@syscall("lstat64", "const char *filename, struct stat64 *statbuf", source="fs/stat.c")
def sys_lstat64(k: FsKernel, filename: int, statbuf: int) -> Body:
    """lstat64(2)."""
    return (yield from stat_path(k, AT_FDCWD, filename, statbuf, AT_SYMLINK_NOFOLLOW, k.vfs.abi.stat64))


@syscall("fstat64", "unsigned long fd, struct stat64 *statbuf", source="fs/stat.c")
def sys_fstat64(k: FsKernel, fd: int, statbuf: int) -> Body:
    """fstat64(2)."""
    return (yield from stat_fd(k, fd, statbuf, k.vfs.abi.stat64))


@syscall("fstatat64", "int dfd, const char *filename, struct stat64 *statbuf, int flag", source="fs/stat.c")
def sys_fstatat64(k: FsKernel, dfd: int, filename: int, statbuf: int, flag: int) -> Body:
    """fstatat64(2)."""
    return (yield from stat_path(k, dfd, filename, statbuf, flag, k.vfs.abi.stat64))


@syscall("truncate64", "const char *path, loff_t length", source="fs/open.c")
def sys_truncate64(k: FsKernel, path: int, length: int) -> Body:
    """truncate64(2)."""
    return (yield from sys_truncate(k, path, length))


@syscall("ftruncate64", "unsigned int fd, loff_t length", source="fs/open.c")
def sys_ftruncate64(k: FsKernel, fd: int, length: int) -> Body:
    """ftruncate64(2)."""
    return (yield from sys_ftruncate(k, fd, length))


@syscall(
    "_llseek",
    "unsigned int fd, unsigned long offset_high, unsigned long offset_low, loff_t *result, unsigned int whence",
    source="fs/read_write.c",
)
def sys_llseek(k: FsKernel, fd: int, offset_high: int, offset_low: int, result: int, whence: int) -> int:
    """_llseek(2): the new position goes to memory."""
    from simkernel.fs.lseek import llseek

    file = k.vfs.fget(fd)
    if whence > SEEK_HOLE:
        return -EINVAL
    offset = offset_high << 32 | offset_low
    position = llseek(k, file, offset - (1 << 64) if offset >> 63 else offset, whence)
    if position < 0:
        return position
    k.usercopy.put_user(result, 8, position)
    return 0


@syscall("fcntl64", "unsigned int fd, unsigned int cmd, unsigned long arg", source="fs/fcntl.c")
def sys_fcntl64(k: FsKernel, fd: int, cmd: int, arg: int) -> Body:
    """fcntl64(2): record locks with 64-bit offsets too."""
    return (yield from do_fcntl(k, fd, cmd, arg))


@syscall("sendfile64", "int out_fd, int in_fd, loff_t *offset, size_t count", source="fs/read_write.c")
def sys_sendfile64(k: FsKernel, out_fd: int, in_fd: int, offset: int, count: int) -> Body:
    """sendfile64(2)."""
    return (yield from sys_sendfile(k, out_fd, in_fd, offset, count, 8))


@syscall("fadvise64_64", "int fd, loff_t offset, loff_t len, int advice", source="mm/fadvise.c")
def sys_fadvise64_64(k: FsKernel, fd: int, offset: int, length: int, advice: int) -> int:
    """fadvise64_64(2)."""
    return sys_fadvise64(k, fd, offset, length, advice)


@syscall("arm_fadvise64_64", "int fd, int advice, loff_t offset, loff_t len", source="arch/arm/kernel/sys_arm.c")
def sys_arm_fadvise64_64(k: FsKernel, fd: int, advice: int, offset: int, length: int) -> int:
    """arm_fadvise64_64(2): the arguments in an order that fits into registers."""
    return sys_fadvise64(k, fd, offset, length, advice)


@syscall("arm_sync_file_range", "int fd, unsigned int flags, loff_t offset, loff_t nbytes", source="fs/sync.c")
def sys_arm_sync_file_range(k: FsKernel, fd: int, flags: int, offset: int, nbytes: int) -> int:
    """sync_file_range2(2)."""
    return sys_sync_file_range(k, fd, offset, nbytes, flags)


@syscall(
    "utimensat_time64", "int dfd, const char *filename, struct __kernel_timespec *utimes, int flags",
    source="fs/utimes.c", since="5.1",
)  # fmt: skip
def sys_utimensat_time64(k: FsKernel, dfd: int, filename: int, utimes: int, flags: int) -> int:
    """utimensat(2) with 64-bit times."""
    return utimensat(k, dfd, filename, utimes, flags, TIME64)


@syscall(
    "ppoll_time64",
    "struct pollfd *ufds, unsigned int nfds, struct __kernel_timespec *tsp, const sigset_t *sigmask, size_t sigsetsize",
    source="fs/select.c", since="5.1",
)  # fmt: skip
def sys_ppoll_time64(k: FsKernel, ufds: int, nfds: int, tsp: int, sigmask: int, sigsetsize: int) -> Body:
    """ppoll(2) with 64-bit times."""
    return (yield from ppoll(k, ufds, nfds, tsp, sigmask, sigsetsize, TIME64))


@syscall(
    "pselect6_time64", "int n, fd_set *inp, fd_set *outp, fd_set *exp, struct __kernel_timespec *tsp, void *sig",
    source="fs/select.c", since="5.1",
)  # fmt: skip
def sys_pselect6_time64(k: FsKernel, n: int, inp: int, outp: int, exp: int, tsp: int, sig: int) -> Body:
    """pselect(2) with 64-bit times."""
    return (yield from pselect6(k, n, inp, outp, exp, tsp, sig, TIME64))


@syscall(
    "_newselect", "int n, fd_set *inp, fd_set *outp, fd_set *exp, struct __kernel_old_timeval *tvp",
    source="fs/select.c",
)  # fmt: skip
def sys_newselect(k: FsKernel, n: int, inp: int, outp: int, exp: int, tvp: int) -> Body:
    """select(2); the old number takes a block of arguments, which nobody uses any more."""
    return (yield from sys_select(k, n, inp, outp, exp, tvp))


@syscall("timerfd_gettime64", "int ufd, struct __kernel_itimerspec *otmr", source="fs/timerfd.c", since="5.1")
def sys_timerfd_gettime64(k: FsKernel, ufd: int, otmr: int) -> int:
    """timerfd_gettime(2) with 64-bit times."""
    return timerfd.gettime(k, ufd, otmr, TIME64)


@syscall(
    "timerfd_settime64",
    "int ufd, int flags, const struct __kernel_itimerspec *utmr, struct __kernel_itimerspec *otmr",
    source="fs/timerfd.c", since="5.1",
)  # fmt: skip
def sys_timerfd_settime64(k: FsKernel, ufd: int, flags: int, utmr: int, otmr: int) -> int:
    """timerfd_settime(2) with 64-bit times."""
    return timerfd.settime(k, ufd, flags, utmr, otmr, TIME64)


@syscall("chown32", "const char *filename, uid_t user, gid_t group", source="fs/open.c")
def sys_chown32(k: FsKernel, filename: int, user: int, group: int) -> Body:
    """chown(2) with 32-bit ids."""
    return (yield from sys_chown(k, filename, user, group))


@syscall("lchown32", "const char *filename, uid_t user, gid_t group", source="fs/open.c")
def sys_lchown32(k: FsKernel, filename: int, user: int, group: int) -> Body:
    """lchown(2) with 32-bit ids."""
    return (yield from sys_lchown(k, filename, user, group))


@syscall("fchown32", "unsigned int fd, uid_t user, gid_t group", source="fs/open.c")
def sys_fchown32(k: FsKernel, fd: int, user: int, group: int) -> Body:
    """fchown(2) with 32-bit ids."""
    return (yield from sys_fchown(k, fd, user, group))


@syscall("umount", "char *name", source="fs/namespace.c")
def sys_oldumount(k: FsKernel, name: int) -> Body:
    """umount(2) without flags."""
    return (yield from sys_umount(k, name, 0))
