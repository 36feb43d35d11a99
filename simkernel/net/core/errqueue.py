"""A socket's error queue: what MSG_ERRQUEUE reads.  net/core/skbuff.c: sock_queue_err_skb(), net/ipv4/ip_sockglue.c: ip_recv_error()."""

from __future__ import annotations

import struct

from arch.abi.errno import EAGAIN
from arch.abi.socket import MSG_ERRQUEUE, MSG_TRUNC
from arch.records import dataclass
from simkernel.kernel.face import Steps
from simkernel.net.core.message import Message
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import clone
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel

(
    SO_EE_ORIGIN_NONE,
    SO_EE_ORIGIN_LOCAL,
    SO_EE_ORIGIN_ICMP,
    SO_EE_ORIGIN_ICMP6,
    SO_EE_ORIGIN_TIMESTAMPING,
    SO_EE_ORIGIN_ZEROCOPY,
) = range(6)


@dataclass(eq=False, slots=True)
class SkError:
    """struct sock_exterr_skb: an error with the packet it is about."""

    k: NetKernel
    packet: Skb
    errno: int
    origin: int
    kind: int
    code: int
    info: int
    data: int
    name: bytes  # where the packet went, as a socket address; empty: not told
    offender: bytes  # who said so, as a socket address

    def release(self) -> None:
        """kfree_skb() where no function can be called."""
        skb = self.k.net.skbs.pop(self.packet.addr, None)
        if skb is not None:
            self.k.mem.free(skb.get("head"))
            self.k.mem.free(skb.addr)

    def extended(self, order: str) -> bytes:
        """struct sock_extended_err and the offender behind it."""
        head = struct.pack(order + "IBBBBII", self.errno, self.origin, self.kind, self.code, 0, self.info, self.data)
        return head + self.offender


def queue_error(k: NetKernel, sk: Sock, packet: Skb, made: SkError, copy: bool = True) -> Steps[None]:
    """sock_queue_err_skb() (`yield from`): dropped where the socket has no room."""
    kept = (yield from clone(k, packet)) if copy else packet
    if sk.rmem + kept.truesize >= sk.rcvbuf and copy:
        yield k.call("consume_skb", kept.addr)
        return
    kept.set_owner(sk)
    made.packet = kept
    sk.charge(kept.truesize)
    sk.error_queue.append(made)
    yield k.call("sk_error_report", sk.addr)


def receive_error(k: NetKernel, sk: Sock, message: Message, length: int, level: int, option: int) -> Steps[int]:
    """ip_recv_error(): the first of the queue, with its control message (`yield from`).  EAGAIN."""
    if not sk.error_queue:
        return -EAGAIN
    found = sk.error_queue.popleft()
    assert isinstance(found, SkError)
    packet = found.packet
    body = packet.packet()
    if len(body) > length:
        message.out_flags |= MSG_TRUNC
    message.source = found.name
    order = "<" if k.mem.byteorder == "little" else ">"
    message.put_control(level, option, found.extended(order))
    message.out_flags |= MSG_ERRQUEUE
    message.scatter(body[:length])
    sk.charge(-packet.truesize)
    yield k.call("consume_skb", packet.addr)
    following = sk.error_queue[0] if sk.error_queue else None
    assert following is None or isinstance(following, SkError)
    icmp = following is not None and following.origin in (SO_EE_ORIGIN_ICMP, SO_EE_ORIGIN_ICMP6)
    sk.err = following.errno if following is not None and icmp else 0
    sk.view.sk_err = sk.err
    return min(len(body), length)
