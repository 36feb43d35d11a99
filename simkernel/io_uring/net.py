"""Requests about sockets.  io_uring/net.c."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

from arch.abi import io_uring as abi
from arch.abi.errno import EAGAIN, EFAULT, EINPROGRESS, ENOTSOCK, EOPNOTSUPP
from arch.abi.limits import U16_MAX
from arch.abi.socket import (
    AF_INET,
    AF_INET6,
    MSG_DONTWAIT,
    MSG_NOSIGNAL,
    MSG_WAITALL,
    SOCK_CLOEXEC,
    SOCK_NONBLOCK,
    SOCK_SEQPACKET,
    SOCK_STREAM,
)
from arch.errors import KernelError
from simkernel.io_uring.op import IN, OUT, Op, known, not_waiting, refuse, result_or_later, there
from simkernel.io_uring.request import APOLL_MAX_RETRY, PENDING, Request
from simkernel.io_uring.rsrc import import_fixed, into_slot, numbered
from simkernel.kernel.body import Body
from simkernel.net.calls.socket import shutdown, socket
from simkernel.net.calls.transfer import ___sys_recvmsg, ___sys_sendmsg, read_msghdr, receive, send
from simkernel.net.core.message import read_address
from simkernel.net.core.sock import Socket
from simkernel.net.face import NetKernel


def behind(pieces: Sequence[tuple[int, int]], done: int) -> list[tuple[int, int]]:
    """What is left of pieces of memory (address, bytes) behind so many bytes."""
    left = []
    for base, size in pieces:
        if size > done:
            left.append((base + done, size - done))
        done = max(0, done - size)
    return left


SOCK_TYPE_MASK = 0xF
RECVMSG_OUT = 16  # size of struct io_uring_recvmsg_out, in bytes


def _socket(request: Request) -> Socket:
    found = request.take_file().private_data
    if not isinstance(found, Socket):
        raise KernelError(ENOTSOCK)
    return found


def _name(k: NetKernel, request: Request) -> bytes:
    """io_send_prep_async(): to whom.  EINVAL, EFAULT."""
    if request.name is None:
        request.name = read_address(k, request.off, request.splice_fd_in & U16_MAX) if request.off else b""
    return request.name


def _send(k: NetKernel, request: Request) -> Body:
    """io_send(): to the other end, or since 6.1 to an address."""
    sock = _socket(request)
    start, size = request.addr + request.moved, request.len - request.moved
    if request.opcode == abi.IORING_OP_SEND_ZC and request.ioprio & abi.IORING_RECVSEND_FIXED_BUF:
        import_fixed(request)
    data = k.usercopy.copy_from_user(start, size) if size else b""
    ret = yield from send(k, sock, data, _name(k, request), request.op_flags | MSG_NOSIGNAL | MSG_DONTWAIT)
    return _result(request, sock, ret, size, OUT)


def _result(request: Request, sock: Socket, ret: int, asked: int, events: int) -> int:
    """io_net_retry(): of a stream that wants all (MSG_WAITALL) the rest is waited for; what had come before counts."""
    nowait = bool(request.op_flags & MSG_DONTWAIT)
    if request.op_flags & MSG_WAITALL and there(request.k, "6.0"):
        request.expected = request.moved + asked
        if 0 < ret < asked and sock.type in (SOCK_STREAM, SOCK_SEQPACKET):
            request.moved += ret
            request.retries = APOLL_MAX_RETRY
            ret = -EAGAIN
    if ret == -EAGAIN and not nowait:
        return request.arm(events)
    if ret < 0 and not request.moved:
        return result_or_later(request, ret, True, events)
    return max(ret, 0) + request.moved


def _recv(k: NetKernel, request: Request) -> Body:
    """io_recv(): once, or into one provided buffer after the other until there is nothing more."""
    sock = _socket(request)
    multi = bool(request.ioprio & abi.IORING_RECV_MULTISHOT)
    selects = bool(request.flags & abi.IOSQE_BUFFER_SELECT)
    if _polls_first(request):
        return request.arm(IN)
    while True:
        base, size = request.take_buffer() if selects else (request.addr, request.len)
        base, size = base + request.moved, size - request.moved
        ret, _ = yield from receive(k, sock, [(base, size)], request.op_flags | MSG_DONTWAIT)
        if ret <= 0 and selects:
            request.give_buffer_back()
        if not multi or ret <= 0 or not request.post_more(ret):
            return _result(request, sock, ret, size, IN)


def _polls_first(request: Request) -> bool:
    """IORING_RECVSEND_POLL_FIRST, and it has not waited yet."""
    return bool(request.ioprio & abi.IORING_RECVSEND_POLL_FIRST) and not request.events


def _check_send(request: Request) -> None:
    refuse(request.ioprio & ~known(request.k, abi.SEND_FLAGS))


def _check_recv(request: Request) -> None:
    """io_recvmsg_prep().  EINVAL."""
    refuse(request.ioprio & ~known(request.k, abi.RECV_FLAGS))
    if request.ioprio & abi.IORING_RECV_MULTISHOT:
        refuse(not request.flags & abi.IOSQE_BUFFER_SELECT or request.op_flags & MSG_WAITALL)
        refuse(request.opcode == abi.IORING_OP_RECV and request.len)


def _send_zc(k: NetKernel, request: Request) -> Body:
    """io_send_zc()."""
    return (yield from _zero_copy(k, request, _send))


def _zero_copy(k: NetKernel, request: Request, sends: Callable[[NetKernel, Request], Body]) -> Body:
    """The result, and behind it that the memory may be used again, which is told in any case."""
    sock = _socket(request)
    if sock.family not in (AF_INET, AF_INET6):
        request.notifies()
        return -EOPNOTSUPP
    try:
        ret = yield from sends(k, request)
    except KernelError as error:
        ret = -error.errno
    if ret != PENDING:
        request.notifies()
    return ret


def _check_send_zc(request: Request) -> None:
    """io_send_zc_prep().  EINVAL."""
    refuse(request.flags & abi.IOSQE_CQE_SKIP_SUCCESS)
    refuse(request.ioprio & ~(abi.IORING_RECVSEND_POLL_FIRST | abi.IORING_RECVSEND_FIXED_BUF))
    request.notifies()  # from here on it has its notification
    fixed = request.ioprio & abi.IORING_RECVSEND_FIXED_BUF
    refuse(fixed and request.buf_index >= len(request.ring.buffers or ()), EFAULT)
    refuse(request.opcode == abi.IORING_OP_SENDMSG_ZC and (fixed or request.off or request.splice_fd_in))
    request.notified = False


def _sendmsg_zc(k: NetKernel, request: Request) -> Body:
    """io_sendmsg_zc(): the message, as _send_zc() its bytes."""
    return (yield from _zero_copy(k, request, _sendmsg))


def _sendmsg(k: NetKernel, request: Request) -> Body:
    sock = _socket(request)
    pieces = behind(read_msghdr(k, request.addr)[1], request.moved)
    ret = yield from ___sys_sendmsg(k, sock, request.addr, request.op_flags | MSG_NOSIGNAL | MSG_DONTWAIT, pieces)
    return _result(request, sock, ret, sum(size for _, size in pieces), OUT)


def _recvmsg(k: NetKernel, request: Request) -> Body:
    """io_recvmsg(): into the message's own pieces or a provided buffer; of several, each buffer gets its message's header, too."""
    sock = _socket(request)
    flags = request.op_flags | MSG_DONTWAIT
    if _polls_first(request):
        return request.arm(IN)
    if not request.flags & abi.IOSQE_BUFFER_SELECT:
        pieces = behind(read_msghdr(k, request.addr)[1], request.moved)
        ret = yield from ___sys_recvmsg(k, sock, request.addr, flags, pieces)
        return _result(request, sock, ret, sum(size for _, size in pieces), IN)
    fields, pieces = read_msghdr(k, request.addr)
    refuse(len(pieces) > 1)
    request.len = pieces[0][1] if pieces else 0
    while request.ioprio & abi.IORING_RECV_MULTISHOT:
        ret = yield from _recv_framed(k, request, sock, fields, flags)
        if ret <= 0:
            request.give_buffer_back()
        if ret <= 0 or not request.post_more(ret):
            return _result(request, sock, ret, 0, IN)
    base, size = request.take_buffer()
    base, size = base + request.moved, size - request.moved
    ret = yield from ___sys_recvmsg(k, sock, request.addr, flags, [(base, size)])
    if ret <= 0:
        request.give_buffer_back()
    return _result(request, sock, ret, size, IN)


def _recv_framed(k: NetKernel, request: Request, sock: Socket, fields: Mapping[str, int], flags: int) -> Body:
    """One message behind a struct io_uring_recvmsg_out, room for its name and room for what comes beside it.  EFAULT, ENOBUFS."""
    address, size = request.take_buffer()
    name_room, control_room = fields["namelen"], fields["controllen"]
    head = RECVMSG_OUT + name_room + control_room
    refuse(size < head, EFAULT)
    ret, message = yield from receive(k, sock, [(address + head, size - head)], flags, control_room)
    if ret <= 0:
        return ret
    order = "<" if k.mem.byteorder == "little" else ">"
    out = struct.pack(order + "4I", len(message.source), len(message.control_out), ret, message.out_flags)
    k.usercopy.copy_to_user(address, out + message.source[:name_room])
    if message.control_out:
        k.usercopy.copy_to_user(address + RECVMSG_OUT + name_room, message.control_out)
    return head + min(ret, size - head)


def _accept(k: NetKernel, request: Request) -> Body:
    """io_accept(): one connection, or each that comes; into the descriptors or among the registered files."""
    file = request.take_file()
    refuse(not isinstance(file.private_data, Socket), ENOTSOCK)
    multi = bool(request.ioprio & abi.IORING_ACCEPT_MULTISHOT)
    while True:
        with not_waiting(file), numbered(request) as fd:
            ret = yield k.call("__sys_accept4", fd, request.addr, request.off, request.op_flags)
        if ret >= 0 and request.splice_fd_in:
            ret = into_slot(k, request, ret)
        if not multi or ret < 0 or not request.post_more(ret):
            return result_or_later(request, ret, False, IN)


def _check_accept(request: Request) -> None:
    """io_accept_prep().  EINVAL."""
    refuse(request.ioprio & ~known(request.k, abi.ACCEPT_FLAGS))
    slot = request.splice_fd_in
    refuse(slot and request.op_flags & SOCK_CLOEXEC)
    refuse(slot and request.ioprio & abi.IORING_ACCEPT_MULTISHOT and slot != abi.IORING_FILE_INDEX_ALLOC)
    refuse(request.op_flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))


def _make_socket(k: NetKernel, request: Request) -> Body:
    ret = yield from socket(k, request.fd, request.off, request.len)
    return into_slot(k, request, ret) if ret >= 0 and request.splice_fd_in else ret


def _check_socket(request: Request) -> None:
    """io_socket_prep().  EINVAL."""
    flags = request.off & ~SOCK_TYPE_MASK
    refuse((request.splice_fd_in and flags & SOCK_CLOEXEC) or flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))


def _connect(k: NetKernel, request: Request) -> Body:
    sock, file = _socket(request), request.take_file()
    if request.events:  # it was begun: what became of it
        if sock.sk.err:
            return -sock.sk.take_error()
        sock.sk.connecting = False
        return 0
    with not_waiting(file), numbered(request) as fd:
        ret = yield k.call("__sys_connect", fd, request.addr, request.off)
    return result_or_later(request, -EAGAIN if ret == -EINPROGRESS else ret, False, OUT)


NET_OPS: dict[int, Op] = {
    abi.IORING_OP_SENDMSG: Op("io_sendmsg", "5.3", "net.c", _sendmsg, ("addr3",), _check_send, ioprio=True),
    abi.IORING_OP_RECVMSG: Op("io_recvmsg", "5.3", "net.c", _recvmsg, ("off", "addr3"), _check_recv, selects=True, ioprio=True),
    abi.IORING_OP_ACCEPT: Op("io_accept", "5.5", "net.c", _accept, ("len", "buf_index"), _check_accept, ioprio=True),
    abi.IORING_OP_CONNECT: Op("io_connect", "5.5", "net.c", _connect, ("len", "buf_index", "op_flags", "splice_fd_in")),
    abi.IORING_OP_SEND: Op("io_send", "5.6", "net.c", _send, (), _check_send, _name, ioprio=True),
    abi.IORING_OP_RECV: Op("io_recv", "5.6", "net.c", _recv, ("off", "addr3"), _check_recv, selects=True, ioprio=True),
    abi.IORING_OP_SHUTDOWN: Op("io_shutdown", "5.11", "net.c", lambda k, r: shutdown(k, r.fd, r.len), ("off", "addr", "op_flags", "buf_index", "splice_fd_in")),
    abi.IORING_OP_SOCKET: Op("io_socket", "5.19", "net.c", _make_socket, ("addr", "op_flags", "buf_index"), _check_socket, has_file=False),
    abi.IORING_OP_SEND_ZC: Op("io_send_zc", "6.0", "net.c", _send_zc, ("addr3", "pad"), _check_send_zc, _name, ioprio=True),
    abi.IORING_OP_SENDMSG_ZC: Op("io_sendmsg_zc", "6.1", "net.c", _sendmsg_zc, ("addr3", "pad"), _check_send_zc, ioprio=True),
}  # fmt: skip
