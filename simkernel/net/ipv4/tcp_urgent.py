"""Urgent data of TCP: one byte that its reader is told of before the bytes in front of it.  net/ipv4/tcp_input.c:tcp_urg(), tcp.c.

The byte stays in the stream, where a reader passes over it (or meets it, with SO_OOBINLINE); `urg_data` is a copy of it and what
has become of it, `urg_seq` its place.  A read never goes across that place: it ends in front of it, at the mark.
"""

from __future__ import annotations

from arch.abi.errno import EAGAIN, EINVAL, ENOTCONN
from arch.abi.inet import TCP_CLOSE, TCP_SYN_RECV, TCP_SYN_SENT
from arch.abi.limits import U32_MAX
from arch.abi.socket import MSG_OOB, MSG_PEEK, MSG_TRUNC, SO_OOBINLINE, SOL_SOCKET
from simkernel.fs.fasync import send_sigurg
from simkernel.kernel.face import Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.message import Message
from simkernel.net.core.sock import RCV_SHUTDOWN, Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_sock import SYN, Segment, TcpSock, before

TCP_URG_VALID, TCP_URG_NOTYET, TCP_URG_READ = 0x100, 0x200, 0x400  # include/net/tcp.h


def is_inline(sk: Sock) -> bool:
    """sock_flag(sk, SOCK_URGINLINE)."""
    return bool(sk.options.get((SOL_SOCKET, SO_OOBINLINE)))


@kernel_function("void sk_send_sigurg(struct sock *sk)", source="net/core/sock.c")
def sk_send_sigurg(k: NetKernel, sk: int) -> int:
    """SIGURG to the owner of the socket's file."""
    socket = k.net.socks[sk].socket
    if socket is not None and socket.file is not None:
        send_sigurg(k, socket.file)
    return 0


# -- the sender ----------------------------------------------------------------------------------------------------


def mark_urgent(sk: TcpSock) -> None:
    """tcp_mark_urg(): what was written last is urgent."""
    sk.snd_up = (sk.snd_nxt + len(sk.unsent)) & U32_MAX


# -- the receiver --------------------------------------------------------------------------------------------------


def copied_seq(sk: Sock) -> int:
    """The sequence number that is read next."""
    return (sk.rcv_nxt - sk.fin_queued - sum(packet.len for packet in sk.receive_queue)) & U32_MAX


def show_copied(k: NetKernel, sk: Sock) -> None:
    """tp->copied_seq."""
    k.mirror.set_field(sk.addr, "tcp_sock", "copied_seq", copied_seq(sk))


def take_urgent(k: NetKernel, sk: TcpSock, segment: Segment) -> Steps[None]:
    """tcp_urg() (`yield from`): a segment may tell where the urgent byte is, or bring it."""
    if segment.urgent is not None:
        yield from _check(k, sk, segment)
    if sk.urg_data == TCP_URG_NOTYET and not segment.flags & SYN:
        at = (sk.urg_seq - segment.seq) & U32_MAX
        if at < len(segment.data):
            sk.urg_data = TCP_URG_VALID | segment.data[at]
            yield k.call("sock_def_readable", sk.addr)


def _check(k: NetKernel, sk: TcpSock, segment: Segment) -> Steps[None]:
    """tcp_check_urg(): a pointer to behind the byte, or (net.ipv4.tcp_stdurg) to it."""
    assert segment.urgent is not None
    pointer = segment.urgent
    if pointer and not sk.net.sysctl["ipv4.tcp_stdurg"]:
        pointer -= 1
    place, read = (segment.seq + pointer) & U32_MAX, copied_seq(sk)
    if before(place, read) or before(place, sk.rcv_nxt) or (sk.urg_data and not before(sk.urg_seq, place)):
        return
    yield k.call("sk_send_sigurg", sk.addr)
    if sk.urg_seq == read and sk.urg_data and not is_inline(sk) and read != sk.rcv_nxt:
        yield from pass_over(k, sk)  # nobody took the last one
    sk.urg_data, sk.urg_seq = TCP_URG_NOTYET, place
    sk.store()


def pass_over(k: NetKernel, sk: Sock) -> Steps[None]:
    """The first byte of the queue is nobody's."""
    packet = sk.receive_queue[0]
    packet.pull(1)
    if not packet.len:
        sk.receive_queue.popleft()
        sk.charge(-packet.truesize)
        yield k.call("consume_skb", packet.addr)
    show_copied(k, sk)


def to_the_mark(sk: TcpSock) -> int | None:
    """How many bytes are in front of the urgent one; None when there is no mark ahead."""
    if not sk.urg_data:
        return None
    distance = (sk.urg_seq - copied_seq(sk)) & U32_MAX
    return None if distance & 0x80000000 else distance


def readable(sk: TcpSock) -> bool:
    """tcp_stream_is_readable(): at the mark one byte more is needed."""
    passes = to_the_mark(sk) == 0 and not is_inline(sk)
    return sum(packet.len for packet in sk.receive_queue) > passes if passes else bool(sk.receive_queue)


def readable_bytes(sk: TcpSock) -> int:
    """tcp_inq(): up to the mark."""
    if sk.state in (TCP_SYN_SENT, TCP_SYN_RECV):
        return 0
    mark = to_the_mark(sk) if not is_inline(sk) and before(sk.urg_seq, sk.rcv_nxt) else None
    return sum(packet.len for packet in sk.receive_queue) if mark is None else mark


def receive_urgent(sk: TcpSock, message: Message, length: int, flags: int) -> int:
    """tcp_recv_urg(): the byte itself.  EINVAL without one, EAGAIN while it is on its way."""
    if is_inline(sk) or not sk.urg_data or sk.urg_data == TCP_URG_READ:
        return -EINVAL
    if sk.state == TCP_CLOSE and not sk.rport:
        return -ENOTCONN
    if sk.urg_data & TCP_URG_VALID:
        byte = bytes((sk.urg_data & 0xFF,))
        if not flags & MSG_PEEK:
            sk.urg_data = TCP_URG_READ
        message.out_flags |= MSG_OOB
        if not length:
            message.out_flags |= MSG_TRUNC
            return 0
        if not flags & MSG_TRUNC:
            message.scatter(byte)
        return 1
    if sk.state == TCP_CLOSE or sk.shutdown & RCV_SHUTDOWN:
        return 0
    return -EAGAIN
