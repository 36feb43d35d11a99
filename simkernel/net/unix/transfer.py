"""Unix sockets: sending and receiving.  net/unix/af_unix.c."""

from __future__ import annotations

from arch.abi.errno import EAGAIN, ECONNREFUSED, EINVAL, EISCONN, EMSGSIZE, ENOTCONN, EOPNOTSUPP, EPERM, EPIPE
from arch.abi.inet import TCP_ESTABLISHED
from arch.abi.socket import (
    MSG_DONTWAIT,
    MSG_OOB,
    MSG_PEEK,
    MSG_TRUNC,
    MSG_WAITALL,
    SO_OOBINLINE,
    SO_PEEK_OFF,
    SOCK_DGRAM,
    SOCK_SEQPACKET,
    SOL_SOCKET,
)
from arch.errors import KernelError
from bpf import uapi
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.datagram import hear_judged, kept_of
from simkernel.net.core.message import Message
from simkernel.net.core.security import about_data
from simkernel.net.core.sock import RCV_SHUTDOWN, SEND_SHUTDOWN, sleep, until
from simkernel.net.face import NetKernel
from simkernel.net.unix.garbage import drop_files, send_parcel, unix_detach_fds
from simkernel.net.unix.names import find_other, parse_address
from simkernel.net.unix.rights import Scm, parcel_cred, passes_cred, scm_recv, scm_send
from simkernel.net.unix.sock import Parcel, UnixSock, may_send, unix_sock


@kernel_function(
    "int unix_stream_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)", source="net/unix/af_unix.c"
)
def unix_stream_sendmsg(k: NetKernel, sock: int, msg: int, length: int) -> Body:
    """Everything, in pieces that fit the peer's buffer, the last byte alone if it is urgent; EPIPE, ENOTCONN, EISCONN with an address."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    urgent = bool(message.flags & MSG_OOB)
    if urgent and (not length or not k.version.at_least("5.15")):
        return -EOPNOTSUPP
    if message.name:
        return -EISCONN if sk.state == TCP_ESTABLISHED else -EOPNOTSUPP
    peer = sk.peer
    if peer is None:
        return -ENOTCONN
    yield k.call("wait_for_unix_gc")
    scm = scm_send(k, message)
    files, done, end = scm.files, 0, until(sk, sending=True)
    refusal = -EPIPE if sk.shutdown & SEND_SHUTDOWN else 0
    while done < length and not refusal:
        alone = urgent and done == length - 1
        refusal = yield from _wait_for_room(k, sk, message.flags, end)
        if refusal:
            break
        if peer.dead or peer.shutdown & RCV_SHUTDOWN:
            refusal = -EPIPE
            break
        step, truesize = k.net.charges.unix_stream(length - done - (urgent and not alone), sk.sndbuf)
        parcel = Parcel(message.data[done : done + step], sk, truesize, files, parcel_cred(k, scm, sk, peer))
        try:
            if alone:  # queue_oob()
                peer.oob = parcel
                yield k.call("sk_send_sigurg", peer.addr)
            send_parcel(k, peer, parcel)
        except KernelError as refused:
            refusal = -refused.errno
            break
        files = []
        done += step
        yield from _judge(k, peer)
    yield from drop_files(k, files)
    return done or refusal


def _wait_for_room(k: NetKernel, sk: UnixSock, flags: int, end: int | None) -> Body:
    """sock_alloc_send_pskb() (`yield from`): 0 once less is on its way than SO_SNDBUF; EPIPE, EAGAIN, the sock's error."""
    while True:
        if sk.err:
            return -sk.take_error()
        if sk.shutdown & SEND_SHUTDOWN:
            return -EPIPE
        if sk.wmem < sk.sndbuf:
            return 0
        if flags & MSG_DONTWAIT:
            return -EAGAIN
        ret = yield from sleep(k, sk.wq, end)
        if ret < 0:
            return ret


@kernel_function(
    "int unix_dgram_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)", source="net/unix/af_unix.c"
)
def unix_dgram_sendmsg(k: NetKernel, sock: int, msg: int, length: int) -> Body:
    """One datagram to the peer or to a name; EMSGSIZE, ENOTCONN, ECONNREFUSED."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    if message.flags & MSG_OOB:
        return -EOPNOTSUPP
    if sk.type == SOCK_SEQPACKET and sk.state != TCP_ESTABLISHED:
        return -ENOTCONN
    yield k.call("wait_for_unix_gc")
    scm = scm_send(k, message)
    ret: int = yield from _send_datagram(k, sk, message, scm)
    if ret < 0:
        yield from drop_files(k, scm.files)
    return ret


def _send_datagram(k: NetKernel, sk: UnixSock, message: Message, scm: Scm) -> Body:
    data, length, end = message.data, len(message.data), until(sk, sending=True)
    named = bool(message.name) and sk.type == SOCK_DGRAM
    name = parse_address(k, message.name) if named else b""
    if named:
        refused, changed, _ = k.net.programs.sock_addr(sk, message.name, uapi.BPF_CGROUP_UNIX_SENDMSG)
        if refused:
            return refused
        name = parse_address(k, changed)
    if not named and sk.peer is None:
        return -ENOTCONN
    if length > sk.sndbuf - 32:
        return -EMSGSIZE
    refusal: int = yield from _wait_for_room(k, sk, message.flags, end)
    while not refusal:
        peer = find_other(k, sk.net, name, SOCK_DGRAM) if named else sk.peer
        if peer is None:
            return -ENOTCONN  # it was disconnected while this one waited
        try:
            about_data(k, "socket_sock_rcv_skb", peer, data)
        except KernelError:
            kept = None
        else:
            kept = kept_of(k, peer, data)
        if kept is None:
            yield from drop_files(k, scm.files)
            return length
        if peer.peer not in (None, sk) and sk.type == SOCK_DGRAM:
            return -EPERM  # it talks to someone else
        if peer.dead:
            sk.peer = None if sk.type == SOCK_DGRAM else sk.peer
            return -ECONNREFUSED if sk.type == SOCK_DGRAM else -EPIPE
        if peer.shutdown & RCV_SHUTDOWN:
            return -EPIPE
        may_send(k, sk, peer)
        if not peer.refuses(sk):
            cred = parcel_cred(k, scm, sk, peer)
            try:
                send_parcel(k, peer, Parcel(kept, sk, k.net.charges.unix_datagram(length), scm.files, cred))
            except KernelError as refused:
                return -refused.errno
            yield from _judge(k, peer)
            return length
        refusal = -EAGAIN if message.flags & MSG_DONTWAIT else (yield from sleep(k, peer.wq, end))
    return refusal


def _judge(k: NetKernel, sk: UnixSock) -> Steps[None]:
    """unix_read_skb(): what lies there goes to the programs of the socket maps that the sock is in; files are nobody's."""
    while sk.judges_received and sk.parcels:
        parcel = sk.parcels[0]
        data, files = parcel.data, unix_detach_fds(k, parcel)
        sk.take(parcel)
        _taken(sk, len(data))
        yield from drop_files(k, files)
        yield from k.net.programs.judge_bytes(sk, data)


def _wait_parcel(k: NetKernel, sk: UnixSock, flags: int) -> Steps[Parcel | int]:
    """The first parcel, 0 at the end, or -errno (`yield from`)."""
    end = until(sk)
    while True:
        if sk.err:
            return -sk.take_error()
        parcel = _at_offset(sk, flags)
        if parcel is not None:
            return parcel
        if sk.judged:
            return 0
        if flags & MSG_DONTWAIT:
            return 0 if sk.type == SOCK_SEQPACKET and sk.shutdown & RCV_SHUTDOWN else -EAGAIN
        if sk.shutdown & RCV_SHUTDOWN:
            return 0
        ret = yield from sleep(k, sk.wq, end, exclusive=True)
        if ret < 0:
            return ret


def peek_offset(sk: UnixSock, flags: int) -> int:
    """sk_peek_offset(): how far in a peek begins, SO_PEEK_OFF."""
    return max(0, sk.options.get((SOL_SOCKET, SO_PEEK_OFF), -1)) if flags & MSG_PEEK else 0


def _move_offset(sk: UnixSock, flags: int, size: int) -> None:
    """sk_peek_offset_fwd() of what was peeked, sk_peek_offset_bwd() of what was taken."""
    offset = sk.options.get((SOL_SOCKET, SO_PEEK_OFF), -1)
    if offset >= 0:
        sk.options[SOL_SOCKET, SO_PEEK_OFF] = offset + size if flags & MSG_PEEK else max(0, offset - size)


def _at_offset(sk: UnixSock, flags: int) -> Parcel | None:
    """__skb_try_recv_from_queue(): the first datagram, or where a peek is to begin, that one."""
    left = peek_offset(sk, flags)
    for parcel in sk.parcels:
        if not left or left < len(parcel.data):
            return parcel
        left -= len(parcel.data)
    return None


def _taken(sk: UnixSock, size: int) -> None:
    sk.queued -= size
    sk.k.wake_up(sk.wq, 0)


def _manage_oob(sk: UnixSock, parcel: Parcel, flags: int, copied: bool) -> Parcel | None:
    """manage_oob(): what a reader of the stream does where the urgent byte is, or was; None where it has to stop."""
    if not parcel.data and not flags & MSG_PEEK:  # it was read by itself
        sk.take(parcel)
        return None
    if parcel is not sk.oob:
        return parcel
    if copied:
        return None
    if sk.options.get((SOL_SOCKET, SO_OOBINLINE)):
        if not flags & MSG_PEEK:
            sk.oob = None
        return parcel
    if flags & MSG_PEEK:
        return None
    sk.oob = None
    sk.queued -= len(parcel.data)
    sk.take(parcel)
    return sk.parcels[0] if sk.parcels else None


def _receive_urgent(sk: UnixSock, message: Message, flags: int) -> int:
    """unix_stream_recv_urg(): the urgent byte, out of its place.  EINVAL without one."""
    parcel = sk.oob
    if parcel is None or sk.options.get((SOL_SOCKET, SO_OOBINLINE)):
        return -EINVAL
    message.scatter(parcel.data)
    message.out_flags |= MSG_OOB
    if not flags & MSG_PEEK:
        sk.oob, parcel.data = None, b""
        sk.queued -= 1
    return 1


@kernel_function(
    "int unix_stream_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)",
    source="net/unix/af_unix.c",
)
def unix_stream_recvmsg(k: NetKernel, sock: int, msg: int, size: int, flags: int) -> Body:
    """Bytes as they come, all of them with MSG_WAITALL; nothing is joined with what is behind a parcel with files."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    if sk.state != TCP_ESTABLISHED:
        return -EINVAL
    flags |= message.flags
    if sk.judged:
        return -EOPNOTSUPP if flags & MSG_OOB else hear_judged(sk, message, size, flags)
    if flags & MSG_OOB:
        return _receive_urgent(sk, message, flags) if k.version.at_least("5.15") else -EOPNOTSUPP
    out, end, wanted = bytearray(), until(sk), (size if flags & MSG_WAITALL else 1) or 1
    first: Parcel | None = None
    holder: Parcel | None = None
    refusal = 0
    while not refusal:
        first, holder, passed = _take_stream(sk, out, first, size, flags)
        if len(out) >= wanted or holder is not None or (first is not None and not size):
            break
        if sk.parcels and (out or first is not None) and not flags & MSG_PEEK:
            break  # what is next is not to be joined
        if sk.err:
            refusal = -sk.take_error()
        elif sk.shutdown & RCV_SHUTDOWN:
            break
        elif flags & MSG_DONTWAIT:
            refusal = -EAGAIN
        elif not passed:
            refusal = yield from sleep(k, sk.wq, end, exclusive=True)
        if sk.judged and not out:
            return hear_judged(sk, message, size, flags)
    message.scatter(bytes(out))
    if first is not None:
        message.source = _source(k, sk, first)
        _move_offset(sk, flags, len(out))
        if not flags & MSG_PEEK:
            _taken(sk, len(out))
        yield from scm_recv(k, message, sk, first, flags, holder)
    return len(out) or (0 if first is not None else refusal)


def _take_stream(
    sk: UnixSock, out: bytearray, first: Parcel | None, size: int, flags: int
) -> tuple[Parcel | None, Parcel | None, bool]:
    """Add to `out` what may be joined with what it has; the parcel that began it, the last one if it has files, and
    whether it ended where an urgent byte was that somebody has read: before 6.12 that looked as the end of the queue.
    """
    if flags & MSG_PEEK:
        out.clear()
        first = None
    index, skip = 0, peek_offset(sk, flags)
    while index < len(sk.parcels):
        before = sk.parcels[index]
        if skip and skip >= len(before.data):
            skip -= len(before.data)
            index += 1
            continue
        parcel = _manage_oob(sk, before, flags, bool(out))
        if parcel is None:
            if flags & MSG_PEEK or before is sk.oob:
                break
            if not sk.k.version.at_least("6.12"):
                return first, None, True
            continue
        if first is not None and (len(out) >= size or (passes_cred(sk) and parcel.cred != first.cred)):
            break
        if first is None:
            first = parcel
        room = size - len(out)
        out += parcel.data[skip:][:room]
        if flags & MSG_PEEK:
            index, skip = index + 1, 0
        elif room >= len(parcel.data):
            sk.take(parcel)
        else:
            parcel.data = parcel.data[room:]
        if parcel.files:
            return first, parcel, False
    return first, None, False


def _source(k: NetKernel, sk: UnixSock, parcel: Parcel) -> bytes:
    """unix_copy_addr(): who sent it, as programs leave that."""
    source = parcel.source if len(parcel.source) > 2 else b""
    return k.net.programs.sock_addr(sk, source, uapi.BPF_CGROUP_UNIX_RECVMSG)[1]


@kernel_function(
    "int unix_dgram_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)",
    source="net/unix/af_unix.c",
)
def unix_dgram_recvmsg(k: NetKernel, sock: int, msg: int, size: int, flags: int) -> Body:
    """One datagram; what does not fit is lost."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    if sk.type == SOCK_SEQPACKET and sk.state != TCP_ESTABLISHED:
        return -ENOTCONN
    if flags & MSG_OOB:
        return -EOPNOTSUPP
    parcel = 0 if sk.judged else (yield from _wait_parcel(k, sk, flags | message.flags))
    if sk.judged:
        return hear_judged(sk, message, size, flags)
    if not isinstance(parcel, Parcel):
        return parcel
    data = parcel.data
    if flags & MSG_PEEK:
        skip = peek_offset(sk, flags)
        for before in sk.parcels:
            if before is parcel:
                break
            skip -= len(before.data)
        data = data[skip:]
    else:
        sk.take(parcel)
        _taken(sk, len(data))
    _move_offset(sk, flags, min(size, len(data)) if flags & MSG_PEEK else len(data))
    yield from scm_recv(k, message, sk, parcel, flags)
    message.source = _source(k, sk, parcel)
    if len(data) > size:
        message.out_flags |= MSG_TRUNC
    message.scatter(data[:size])
    return len(data) if flags & MSG_TRUNC else min(size, len(data))
