"""errno values.  include/uapi/asm-generic/errno-base.h, errno.h; include/linux/errno.h for the kernel's own (512 on).

Every supported architecture shares them.
"""

from __future__ import annotations

EPERM, ENOENT, ESRCH, EINTR, EIO, ENXIO, E2BIG, ENOEXEC, EBADF, ECHILD = range(1, 11)
EAGAIN, ENOMEM, EACCES, EFAULT, ENOTBLK, EBUSY, EEXIST, EXDEV, ENODEV, ENOTDIR = range(11, 21)
EISDIR, EINVAL, ENFILE, EMFILE, ENOTTY, ETXTBSY, EFBIG, ENOSPC, ESPIPE, EROFS = range(21, 31)
EMLINK, EPIPE, EDOM, ERANGE, EDEADLK, ENAMETOOLONG, ENOLCK, ENOSYS, ENOTEMPTY, ELOOP = range(31, 41)
EWOULDBLOCK = EAGAIN
ENOMSG, EIDRM = 42, 43
ENODATA, ETIME, ENONET, ENOLINK, EPROTO, EBADMSG, EOVERFLOW, EBADFD = 61, 62, 64, 67, 71, 74, 75, 77
ELIBACC, ELIBBAD = 79, 80
EILSEQ, EUSERS, ENOTSOCK, EDESTADDRREQ, EMSGSIZE, EPROTOTYPE, ENOPROTOOPT = 84, 87, 88, 89, 90, 91, 92
EPROTONOSUPPORT, ESOCKTNOSUPPORT, EOPNOTSUPP, EPFNOSUPPORT, EAFNOSUPPORT = 93, 94, 95, 96, 97
ENOTSUP = EOPNOTSUPP  # libc's other name
EADDRINUSE, EADDRNOTAVAIL, ENETDOWN, ENETUNREACH, ENETRESET = 98, 99, 100, 101, 102
ECONNABORTED, ECONNRESET, ENOBUFS, EISCONN, ENOTCONN, ESHUTDOWN = 103, 104, 105, 106, 107, 108
ETOOMANYREFS, ETIMEDOUT, ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, EALREADY, EINPROGRESS = (
    109,
    110,
    111,
    112,
    113,
    114,
    115,
)
ESTALE, EDQUOT, ECANCELED, ENOKEY, EKEYEXPIRED, EKEYREVOKED = 116, 122, 125, 126, 127, 128
EOWNERDEAD, EHWPOISON = 130, 133
# Kernel-internal, seen by user space only by accident.
ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ENOIOCTLCMD, ERESTART_RESTARTBLOCK = 512, 513, 514, 515, 516
EPROBE_DEFER, ENOTSUPP = 517, 524

MAX_ERRNO = 4095  # include/linux/err.h: the highest that -errno or an error pointer can carry

_ALIASES = ("EWOULDBLOCK", "ENOTSUP")
ERRNO_NAMES: dict[int, str] = {
    value: name
    for name, value in sorted(globals().items())
    if name.startswith("E") and name.isupper() and isinstance(value, int) and name not in _ALIASES
}


def errno_name(errno: int) -> str:
    """`13` -> `"EACCES"`; a number without a name is given as digits."""
    return ERRNO_NAMES.get(errno, str(errno))
