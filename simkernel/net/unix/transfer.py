"""Unix sockets: sending and receiving.  net/unix/af_unix.c."""

from __future__ import annotations

from arch.abi.errno import EAGAIN, ECONNREFUSED, EINVAL, EISCONN, EMSGSIZE, ENOTCONN, EOPNOTSUPP, EPERM, EPIPE
from arch.abi.inet import TCP_ESTABLISHED
from arch.abi.socket import MSG_DONTWAIT, MSG_PEEK, MSG_TRUNC, SOCK_DGRAM, SOCK_SEQPACKET
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.datagram import filtered
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import RCV_SHUTDOWN, SEND_SHUTDOWN, sleep, until
from simkernel.net.face import NetKernel
from simkernel.net.unix.names import find_other, parse_address
from simkernel.net.unix.rights import drop_files, parcel_cred, passes_cred, scm_recv, scm_send
from simkernel.net.unix.sock import Parcel, UnixSock, unix_sock


def _send_refusal(sk: UnixSock, peer: UnixSock | None) -> int:
    """Why a connected sender cannot send."""
    if peer is None or sk.shutdown & SEND_SHUTDOWN or peer.dead or peer.shutdown & RCV_SHUTDOWN:
        return -EPIPE
    return 0


@kernel_function(
    "int unix_stream_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)", source="net/unix/af_unix.c"
)
def unix_stream_sendmsg(k: NetKernel, sock: int, msg: int, length: int) -> Body:
    """Everything, in pieces that fit the peer's buffer; EPIPE, ENOTCONN, EISCONN with an address."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    if message.name:
        return -EISCONN if sk.state == TCP_ESTABLISHED else -EOPNOTSUPP
    peer = sk.peer
    if peer is None:
        return -ENOTCONN
    scm = scm_send(k, message)
    files = scm.files
    done, end = 0, until(sk, sending=True)
    while done < length or not length:
        refusal = _send_refusal(sk, peer)
        if refusal:
            drop_files(k, files)
            return done or refusal
        if not peer.has_room(1):
            if message.flags & MSG_DONTWAIT:
                drop_files(k, files)
                return done or -EAGAIN
            ret = yield from sleep(k, peer.wq, end)
            if ret < 0:
                drop_files(k, files)
                return done or ret
            continue
        step = min(length - done, peer.rcvbuf - peer.queued)
        if step or files:
            cred = parcel_cred(k, scm, sk, peer)
            peer.put(Parcel(message.data[done : done + step], sk.address, files, cred))
            files = []
        done += step
        if not length:
            break
    return done


def _filtered(k: NetKernel, peer: UnixSock, data: bytes) -> bytes | None:
    """sk_filter(): what the receiver's program keeps of a datagram; None: it does not want it."""
    packet = Skb.alloc(k, len(data))
    try:
        packet.set_protocol(0)
        packet.set_owner(peer)
        packet.put_data(data)
        return None if filtered(peer, packet, 1) else packet.packet()
    finally:
        packet.release()


@kernel_function(
    "int unix_dgram_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)", source="net/unix/af_unix.c"
)
def unix_dgram_sendmsg(k: NetKernel, sock: int, msg: int, length: int) -> Body:
    """One datagram to the peer or to a name; EMSGSIZE, ENOTCONN, ECONNREFUSED."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    if length > sk.sndbuf - 32:
        return -EMSGSIZE
    if sk.type == SOCK_SEQPACKET and sk.state != TCP_ESTABLISHED:
        return -ENOTCONN
    scm = scm_send(k, message)
    files, end = scm.files, until(sk, sending=True)
    while True:
        named = bool(message.name) and sk.type == SOCK_DGRAM
        peer = find_other(k, sk.net, parse_address(k, message.name), SOCK_DGRAM) if named else sk.peer
        refusal = 0
        if peer is None:
            refusal = -ENOTCONN
        elif sk.shutdown & SEND_SHUTDOWN or peer.shutdown & RCV_SHUTDOWN:
            refusal = -EPIPE
        elif peer.dead:
            refusal = -ECONNREFUSED if sk.type == SOCK_DGRAM else -EPIPE
            sk.peer = None if sk.type == SOCK_DGRAM else sk.peer
        elif peer.peer not in (None, sk) and sk.type == SOCK_DGRAM:
            refusal = -EPERM  # it talks to someone else
        if refusal:
            drop_files(k, files)
            return refusal
        assert peer is not None
        if peer.has_room(length):
            data = message.data if peer.filter is None else _filtered(k, peer, message.data)
            if data is None:
                drop_files(k, files)
                return length
            peer.put(Parcel(data, sk.address, files, parcel_cred(k, scm, sk, peer)))
            return length
        if message.flags & MSG_DONTWAIT:
            drop_files(k, files)
            return -EAGAIN
        ret = yield from sleep(k, peer.wq, end)
        if ret < 0:
            drop_files(k, files)
            return ret


def _wait_parcel(k: NetKernel, sk: UnixSock, flags: int) -> Steps[Parcel | int]:
    """The first parcel, 0 at the end, or -errno (`yield from`)."""
    end = until(sk)
    while not sk.parcels:
        if sk.err:
            return -sk.take_error()
        if sk.shutdown & RCV_SHUTDOWN:
            return 0
        if flags & MSG_DONTWAIT:
            return -EAGAIN
        ret = yield from sleep(k, sk.wq, end, exclusive=True)
        if ret < 0:
            return ret
    return sk.parcels[0]


def _taken(sk: UnixSock, size: int) -> None:
    sk.queued -= size
    sk.k.wake_up(sk.wq, 0)


@kernel_function(
    "int unix_stream_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)",
    source="net/unix/af_unix.c",
)
def unix_stream_recvmsg(k: NetKernel, sock: int, msg: int, size: int, flags: int) -> Body:
    """Bytes as they come; parcels with files are not joined with what is before them."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    if sk.state != TCP_ESTABLISHED:
        return -EINVAL
    first = yield from _wait_parcel(k, sk, flags | message.flags)
    if not isinstance(first, Parcel):
        return first
    out = bytearray()
    index = 0
    while index < len(sk.parcels) and len(out) < size:
        parcel = sk.parcels[index]
        if out and (parcel.files or (passes_cred(sk) and parcel.cred != first.cred)):
            break
        room = size - len(out)
        out += parcel.data[:room]
        if flags & MSG_PEEK:
            index += 1
            continue
        if room >= len(parcel.data):
            sk.parcels.pop(0)
        else:
            parcel.data = parcel.data[room:]
    message.scatter(bytes(out))
    if not flags & MSG_PEEK:
        scm_recv(k, message, sk, first, flags)
        _taken(sk, len(out))
    return len(out)


@kernel_function(
    "int unix_dgram_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)",
    source="net/unix/af_unix.c",
)
def unix_dgram_recvmsg(k: NetKernel, sock: int, msg: int, size: int, flags: int) -> Body:
    """One datagram; what does not fit is lost."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    if sk.type == SOCK_SEQPACKET and sk.state != TCP_ESTABLISHED:
        return -ENOTCONN
    parcel = yield from _wait_parcel(k, sk, flags | message.flags)
    if not isinstance(parcel, Parcel):
        return parcel
    if not flags & MSG_PEEK:
        sk.parcels.pop(0)
        _taken(sk, len(parcel.data))
        scm_recv(k, message, sk, parcel, flags)
    message.source = parcel.source if len(parcel.source) > 2 else b""
    if len(parcel.data) > size:
        message.out_flags |= MSG_TRUNC
    message.scatter(parcel.data[:size])
    return len(parcel.data) if flags & MSG_TRUNC else min(size, len(parcel.data))
