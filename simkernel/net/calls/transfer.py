"""System calls that move data: sendto, recvfrom, sendmsg, recvmsg, and read and write of sockets.  net/socket.c.

sendto -> __sys_sendto -> sock_sendmsg -> inet_sendmsg -> udp_sendmsg.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from arch.abi.errno import EAGAIN, EFAULT, EINVAL, EMSGSIZE, ENODATA, EPIPE
from arch.abi.fcntl import O_NONBLOCK
from arch.abi.inet import TCP_ESTABLISHED
from arch.abi.limits import IOV_MAX, MAX_RW_COUNT
from arch.abi.signal import SIGPIPE
from arch.abi.socket import (
    MSG_CMSG_CLOEXEC,
    MSG_CMSG_COMPAT,
    MSG_DONTWAIT,
    MSG_NOSIGNAL,
    MSG_OOB,
    MSG_WAITFORONE,
    SOCK_STREAM,
)
from arch.abi.time import NSEC_PER_SEC
from arch.errors import KernelError
from simkernel.fs.uio import ITER_IOVEC, ITER_UBUF
from simkernel.kernel.calls.time import read_timespec
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.security import may
from simkernel.net.core.message import Message, read_address, write_address
from simkernel.net.core.sock import Socket
from simkernel.net.face import NetKernel
from simkernel.net.files import socket_of
from simkernel.net.ipv4.tcp_sock import TcpSock


@contextmanager
def on_its_way(k: NetKernel, message: Message) -> Iterator[None]:
    """The layers find the message by the address of its struct msghdr, as long as the call lasts."""
    k.net.messages[message.addr] = message
    try:
        yield
    finally:
        del k.net.messages[message.addr]
        message.free()


def send(k: NetKernel, socket_: Socket, data: bytes, name: bytes, flags: int, control: bytes = b"",
         source: Sequence[tuple[int, int]] = (), kind: int = ITER_IOVEC) -> Body:  # fmt: skip
    """sock_sendmsg() around one message (`yield from`): bytes sent or -errno; EPIPE comes with SIGPIPE."""
    if socket_.flags & O_NONBLOCK:
        flags |= MSG_DONTWAIT
    message = Message(k, data, name, flags, source=source, kind=kind)
    message.control = control
    with on_its_way(k, message):
        ret = yield k.call("sock_sendmsg", socket_.addr, message.addr)
    if ret == -EPIPE and not flags & MSG_NOSIGNAL and socket_.type == SOCK_STREAM:
        k.signals.send(k.current, SIGPIPE)
    return ret


def receive(
    k: NetKernel, socket_: Socket, segments: Sequence[tuple[int, int]], flags: int, control_room: int = 0
) -> Steps[tuple[int, Message]]:
    """sock_recvmsg() around one message (`yield from`): (bytes or -errno, the message's twin, freed)."""
    if socket_.flags & O_NONBLOCK:
        flags |= MSG_DONTWAIT
    message = Message(k, flags=flags, segments=segments)
    message.control_room = control_room
    with on_its_way(k, message):
        ret = yield k.call("sock_recvmsg", socket_.addr, message.addr, flags)
    return ret, message


@kernel_function(
    "int sock_sendmsg(struct socket *sock, struct msghdr *msg)",
    source="net/socket.c",
    names={None: "sock_sendmsg", "5.10": "__sock_sendmsg"},
)
def sock_sendmsg(k: NetKernel, sock: int, msg: int) -> Body:
    """Through proto_ops."""
    size = len(k.net.messages[msg].data)
    refused = yield from may(k, "security_socket_sendmsg", sock, msg, size)
    if refused:
        return refused
    socket_ = k.net.sockets[sock]
    sk = socket_.sk.addr
    ret = yield k.call(socket_.ops.sendmsg, sock, msg, size)
    k.trace("sock_send_length", sk, ret, 0)
    return ret


@kernel_function("int sock_recvmsg(struct socket *sock, struct msghdr *msg, int flags)", source="net/socket.c")
def sock_recvmsg(k: NetKernel, sock: int, msg: int, flags: int) -> Body:
    """Through proto_ops."""
    size = sum(length for _, length in k.net.messages[msg].segments)
    refused = yield from may(k, "security_socket_recvmsg", sock, msg, size, flags)
    if refused:
        return refused
    socket_ = k.net.sockets[sock]
    sk = socket_.sk.addr
    ret = yield k.call(socket_.ops.recvmsg, sock, msg, size, flags)
    k.trace("sock_recv_length", sk, ret, flags)
    return ret


def _single_range(k: NetKernel, address: int, length: int) -> int:
    """import_single_range(): how many bytes, at most MAX_RW_COUNT.  EFAULT."""
    length = min(length, MAX_RW_COUNT)
    if address + length > k.arch.map.user_end:
        raise KernelError(EFAULT, "not user memory")
    return length


def _no_compat(flags: int) -> None:
    """Programs may not say that they are of 32 bits.  EINVAL."""
    if flags & MSG_CMSG_COMPAT:
        raise KernelError(EINVAL)


@syscall(
    "sendto",
    "int fd, void *buff, size_t len, unsigned int flags, struct sockaddr *addr, int addr_len",
    source="net/socket.c",
)
def sendto(k: NetKernel, fd: int, buff: int, length: int, flags: int, addr: int, addr_len: int) -> Body:
    """Send, optionally to an address."""
    return (yield k.call("__sys_sendto", fd, buff, length, flags, addr, addr_len))


@kernel_function(
    "int __sys_sendto(int fd, void *buff, size_t len, unsigned int flags, struct sockaddr *addr, int addr_len)",
    source="net/socket.c",
    since="4.17",
)
def __sys_sendto(k: NetKernel, fd: int, buff: int, length: int, flags: int, addr: int, addr_len: int) -> Body:
    """The work of sendto."""
    length = _single_range(k, buff, length)
    socket_ = socket_of(k, fd)
    name = read_address(k, addr, addr_len) if addr else b""
    if addr and not addr_len and socket_.sk.is_udp and not flags & MSG_OOB:
        return -EINVAL
    if name and isinstance(socket_.sk, TcpSock) and socket_.sk.state == TCP_ESTABLISHED:
        name = b""
    data = k.usercopy.copy_from_user(buff, length) if length else b""
    return (yield from send(k, socket_, data, name, flags, source=[(buff, length)]))


@syscall(
    "recvfrom",
    "int fd, void *ubuf, size_t size, unsigned int flags, struct sockaddr *addr, int *addr_len",
    source="net/socket.c",
)
def recvfrom(k: NetKernel, fd: int, ubuf: int, size: int, flags: int, addr: int, addr_len: int) -> Body:
    """Receive, and learn from whom."""
    return (yield k.call("__sys_recvfrom", fd, ubuf, size, flags, addr, addr_len))


@kernel_function(
    "int __sys_recvfrom(int fd, void *ubuf, size_t size, unsigned int flags, struct sockaddr *addr, int *addr_len)",
    source="net/socket.c",
    since="4.17",
)
def __sys_recvfrom(k: NetKernel, fd: int, ubuf: int, size: int, flags: int, addr: int, addr_len: int) -> Body:
    """The work of recvfrom."""
    size = _single_range(k, ubuf, size)
    ret, message = yield from receive(k, socket_of(k, fd), [(ubuf, size)], flags)
    if ret >= 0 and addr:
        write_address(k, message.source, addr, addr_len)
    return ret


def read_msghdr(k: NetKernel, address: int) -> tuple[dict[str, int], list[tuple[int, int]]]:
    """struct user_msghdr and its iovec; EFAULT, EMSGSIZE."""
    word = k.arch.model.word
    names = ("name", "namelen", "iov", "iovlen", "control", "controllen")
    fields = {
        name: k.usercopy.get_user(address + i * word, 4 if name == "namelen" else word) for i, name in enumerate(names)
    }
    if fields["iovlen"] > IOV_MAX:
        raise KernelError(EMSGSIZE, "too many iovecs")
    segments = [
        (
            k.usercopy.get_user(fields["iov"] + 2 * i * word, word),
            k.usercopy.get_user(fields["iov"] + (2 * i + 1) * word, word),
        )
        for i in range(fields["iovlen"])
    ]
    return fields, segments


@syscall("sendmsg", "int fd, struct user_msghdr *msg, unsigned int flags", source="net/socket.c")
def sendmsg(k: NetKernel, fd: int, msg: int, flags: int) -> Body:
    """Gather and send."""
    _no_compat(flags)
    return (yield from ___sys_sendmsg(k, socket_of(k, fd), msg, flags))


@syscall(
    "sendmmsg", "int fd, struct mmsghdr *mmsg, unsigned int vlen, unsigned int flags", source="net/socket.c"
)  # fmt: skip
def sendmmsg(k: NetKernel, fd: int, mmsg: int, vlen: int, flags: int) -> Body:
    """Several messages; how many went.  An error counts only when none did."""
    _no_compat(flags)
    socket_ = socket_of(k, fd)
    word, done = k.arch.model.word, 0
    for done in range(min(vlen, IOV_MAX)):
        where = mmsg + done * 8 * word
        try:
            ret = yield from ___sys_sendmsg(k, socket_, where, flags)
        except KernelError as error:
            ret = -error.errno
        if ret < 0:
            return done or ret
        k.usercopy.put_user(where + 7 * word, 4, ret)
    return min(vlen, IOV_MAX)


@syscall(
    "recvmmsg",
    "int fd, struct mmsghdr *mmsg, unsigned int vlen, unsigned int flags, struct __kernel_timespec *timeout",
    source="net/socket.c",
)
def recvmmsg(k: NetKernel, fd: int, mmsg: int, vlen: int, flags: int, timeout: int) -> Body:
    """Several messages; how many came."""
    return (yield from _recvmmsg(k, fd, mmsg, vlen, flags, timeout, k.arch.model.word))


@syscall(
    "recvmmsg_time64",
    "int fd, struct mmsghdr *mmsg, unsigned int vlen, unsigned int flags, struct __kernel_timespec *timeout",
    source="net/socket.c",
    since="5.1",
)
def recvmmsg_time64(k: NetKernel, fd: int, mmsg: int, vlen: int, flags: int, timeout: int) -> Body:
    """The same with 64-bit times on 32-bit machines."""
    return (yield from _recvmmsg(k, fd, mmsg, vlen, flags, timeout, 8))


def _recvmmsg(k: NetKernel, fd: int, mmsg: int, vlen: int, flags: int, timeout: int, size: int) -> Body:
    """__sys_recvmmsg(): the time, in words of `size`, is looked at after each message only (`yield from`)."""
    _no_compat(flags)
    until = None
    word = k.arch.model.word
    if timeout:
        left = read_timespec(k, timeout, size)
        until = k.clock.now_ns + left
    socket_ = socket_of(k, fd)
    if socket_.sk.err:
        return -socket_.sk.take_error()
    done = 0
    while done < vlen:
        where = mmsg + done * 8 * word
        try:
            ret = yield from ___sys_recvmsg(k, socket_, where, flags & ~MSG_WAITFORONE)
        except KernelError as error:
            ret = -error.errno
        if ret < 0:
            if done and ret != -EAGAIN:
                socket_.sk.err = -ret  # told by the next call
            return done or ret
        k.usercopy.put_user(where + 7 * word, 4, ret)
        done += 1
        if flags & MSG_WAITFORONE:
            flags |= MSG_DONTWAIT
        if until is not None and k.clock.now_ns >= until:
            break
    if until is not None:
        rest = max(0, until - k.clock.now_ns)
        k.usercopy.put_user(timeout, size, rest // NSEC_PER_SEC)
        k.usercopy.put_user(timeout + size, size, rest % NSEC_PER_SEC)
    return done


def ___sys_sendmsg(
    k: NetKernel, socket_: Socket, msg: int, flags: int, of: Sequence[tuple[int, int]] | None = None
) -> Body:
    """One struct user_msghdr to be sent; `of`: other data than it says."""
    fields, segments = read_msghdr(k, msg)
    segments = segments if of is None else list(of)
    name = read_address(k, fields["name"], fields["namelen"]) if fields["name"] else b""
    data = b"".join(k.usercopy.copy_from_user(address, length) for address, length in segments if length)
    control = b""
    if fields["control"] and fields["controllen"]:
        control = k.usercopy.copy_from_user(fields["control"], min(fields["controllen"], 65536))
    return (yield from send(k, socket_, data, name, flags, control, segments))


@syscall("recvmsg", "int fd, struct user_msghdr *msg, unsigned int flags", source="net/socket.c")
def recvmsg(k: NetKernel, fd: int, msg: int, flags: int) -> Body:
    """Receive and scatter."""
    _no_compat(flags)
    return (yield from ___sys_recvmsg(k, socket_of(k, fd), msg, flags))


def ___sys_recvmsg(
    k: NetKernel, socket_: Socket, msg: int, flags: int, into: Sequence[tuple[int, int]] | None = None
) -> Body:
    """One struct user_msghdr to be filled; `into`: its data elsewhere than it says."""
    fields, own = read_msghdr(k, msg)
    segments = own if into is None else into
    room = fields["controllen"] if fields["control"] else 0
    ret, message = yield from receive(k, socket_, segments, flags, room)
    if ret < 0:
        return ret
    if message.control_out:
        k.usercopy.copy_to_user(fields["control"], message.control_out)
    word = k.arch.model.word
    if fields["name"]:
        write_address(k, message.source, fields["name"], msg + word)
    k.usercopy.put_user(msg + 5 * word, word, len(message.control_out))
    k.usercopy.put_user(msg + 6 * word, 4, message.out_flags | flags & MSG_CMSG_CLOEXEC)
    return ret


@kernel_function("ssize_t sock_read_iter(struct kiocb *iocb, struct iov_iter *to)", source="net/socket.c")
def sock_read_iter(k: NetKernel, iocb: int, to: int) -> Body:
    """read() of a socket."""
    request = k.vfs.kiocbs[iocb]
    if not request.it.count:
        return 0
    ret, _ = yield from receive(k, request.file.private_data, list(request.it.segments), 0)
    return ret


@kernel_function("ssize_t sock_write_iter(struct kiocb *iocb, struct iov_iter *from)", source="net/socket.c")
def sock_write_iter(k: NetKernel, iocb: int, from_: int) -> Body:
    """write() to a socket."""
    request = k.vfs.kiocbs[iocb]
    wanted = request.it.count
    segments = list(request.it.segments)
    data = request.it.copy_from(wanted)
    ret = yield from send(k, request.file.private_data, data, b"", 0, source=segments, kind=ITER_UBUF)
    return -EFAULT if wanted and not data and ret in (0, -ENODATA) else ret  # nothing could be read
