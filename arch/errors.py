"""The two expected kinds of failure, shared by every floor, and Linux's errno numbers.

`KernelError` is the kernel refusing; it becomes -errno where a kernel function returns.  `Fault` is an access to
an address where nothing (permitted) is mapped; it becomes -EFAULT or a signal.  Any other exception is our bug.
Numbers: include/uapi/asm-generic/errno-base.h and errno.h; every supported architecture shares them.
"""

from __future__ import annotations

EPERM, ENOENT, ESRCH, EINTR, EIO, ENXIO, E2BIG, ENOEXEC, EBADF, ECHILD = range(1, 11)
EAGAIN, ENOMEM, EACCES, EFAULT, ENOTBLK, EBUSY, EEXIST, EXDEV, ENODEV, ENOTDIR = range(11, 21)
EISDIR, EINVAL, ENFILE, EMFILE, ENOTTY, ETXTBSY, EFBIG, ENOSPC, ESPIPE, EROFS = range(21, 31)
EMLINK, EPIPE, EDOM, ERANGE, EDEADLK, ENAMETOOLONG, ENOLCK, ENOSYS, ENOTEMPTY, ELOOP = range(31, 41)
EWOULDBLOCK = EAGAIN
ENOMSG, EIDRM = 42, 43
ENODATA, ETIME, ENOLINK, EPROTO, EBADMSG, EOVERFLOW = 61, 62, 67, 71, 74, 75
EILSEQ, EUSERS, ENOTSOCK, EDESTADDRREQ, EMSGSIZE, EPROTOTYPE, ENOPROTOOPT = 84, 87, 88, 89, 90, 91, 92
EPROTONOSUPPORT, ESOCKTNOSUPPORT, EOPNOTSUPP, EPFNOSUPPORT, EAFNOSUPPORT = 93, 94, 95, 96, 97
EADDRINUSE, EADDRNOTAVAIL, ENETDOWN, ENETUNREACH, ENETRESET = 98, 99, 100, 101, 102
ECONNABORTED, ECONNRESET, ENOBUFS, EISCONN, ENOTCONN, ESHUTDOWN = 103, 104, 105, 106, 107, 108
ETIMEDOUT, ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, EALREADY, EINPROGRESS = 110, 111, 112, 113, 114, 115
ELIBACC, ELIBBAD = 79, 80
ESTALE, ECANCELED = 116, 125
# Kernel-internal, seen by user space only by accident (include/linux/errno.h).
ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ENOIOCTLCMD, ERESTART_RESTARTBLOCK = 512, 513, 514, 515, 516
EPROBE_DEFER, ENOTSUPP = 517, 524

ERRNO_NAMES: dict[int, str] = {
    value: name
    for name, value in sorted(globals().items())
    if name.startswith("E") and name.isupper() and isinstance(value, int) and name != "EWOULDBLOCK"
}


def errno_name(errno: int) -> str:
    """`13` -> `"EACCES"`; a number without a name is given as digits."""
    return ERRNO_NAMES.get(errno, str(errno))


class KernelError(Exception):
    """The kernel refuses: carries the (positive) errno and, for people, why."""

    def __init__(self, errno: int, why: str = "") -> None:
        super().__init__(errno, why)
        self.errno = errno
        self.why = why

    def __str__(self) -> str:
        return f"{errno_name(self.errno)}: {self.why}" if self.why else errno_name(self.errno)


class Fault(Exception):
    """An access to memory that is not mapped, or not for this kind of access."""

    def __init__(self, address: int, access: str = "read") -> None:
        super().__init__(address, access)
        self.address = address
        self.access = access  # "read", "write" or "exec"

    def __str__(self) -> str:
        return f"{self.access} fault at {self.address:#x}"
