"""One call for all of sockets, by number and a block of words (i386, s390x), and two that other CPUs have as calls of their own.  net/socket.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import syscall
from simkernel.net.calls import socket as setup
from simkernel.net.calls import sockopt, transfer
from simkernel.net.face import NetKernel
from simkernel.net.unix.connect import socketpair


@syscall("send", "int fd, void *buff, size_t len, unsigned int flags", source="net/socket.c")
def send(k: NetKernel, fd: int, buff: int, length: int, flags: int) -> Body:
    """send(2)."""
    return (yield from transfer.sendto(k, fd, buff, length, flags, 0, 0))


@syscall("recv", "int fd, void *ubuf, size_t size, unsigned int flags", source="net/socket.c")
def recv(k: NetKernel, fd: int, ubuf: int, size: int, flags: int) -> Body:
    """recv(2)."""
    return (yield from transfer.recvfrom(k, fd, ubuf, size, flags, 0, 0))


# include/uapi/linux/net.h, from 1: the call, and its arguments (i int, u unsigned int, w a word).
CALLS: tuple[tuple[Callable[..., Body], str], ...] = (
    (setup.socket, "iii"), (setup.bind, "iwi"), (setup.connect, "iwi"), (setup.listen, "ii"), (setup.accept, "iww"),
    (setup.getsockname, "iww"), (setup.getpeername, "iww"), (socketpair, "iiiw"), (send, "iwwu"), (recv, "iwwu"),
    (transfer.sendto, "iwwuwi"), (transfer.recvfrom, "iwwuww"), (setup.shutdown, "ii"), (sockopt.setsockopt, "iiiwi"),
    (sockopt.getsockopt, "iiiww"), (transfer.sendmsg, "iwu"), (transfer.recvmsg, "iwu"), (setup.accept4, "iwwi"),
    (transfer.recvmmsg, "iwuuw"), (transfer.sendmmsg, "iwuu"),
)  # fmt: skip


@syscall("socketcall", "int call, unsigned long *args", source="net/socket.c")
def socketcall(k: NetKernel, call: int, args: int) -> Body:
    """The call of that number.  EINVAL, EFAULT."""
    if not 1 <= call <= len(CALLS):
        return -EINVAL
    body, kinds = CALLS[call - 1]
    word, order = k.arch.model.word, k.mem.byteorder
    raw = k.usercopy.copy_from_user(args, word * len(kinds))
    values = [int.from_bytes(raw[i : i + word], order) for i in range(0, len(raw), word)]
    low = {"i": 0xFFFFFFFF, "u": 0xFFFFFFFF, "w": (1 << 8 * word) - 1}
    values = [value & low[kind] for value, kind in zip(values, kinds, strict=True)]
    signed = [v - (1 << 32) if kind == "i" and v >> 31 else v for v, kind in zip(values, kinds, strict=True)]
    return (yield from body(k, *signed))
