"""TCP segments on the way out.  net/ipv4/tcp_output.c."""

from __future__ import annotations

from arch.abi.inet import IPPROTO_TCP
from arch.abi.limits import U32_MAX
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import new_skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv4.ip_output import ip_send
from simkernel.net.ipv4.tcp_sock import ACK, FIN, PSH, RST, SYN, header


def transmit(k: NetKernel, sk: Sock, flags: int, data: bytes = b"") -> Body:
    """`yield from`: one segment at snd_nxt through __tcp_transmit_skb."""
    skb = yield from new_skb(k, len(data), sk)
    skb.put_data(data)
    skb.push_data(header(sk, flags, sk.snd_nxt))
    sk.snd_nxt = (sk.snd_nxt + len(data) + bool(flags & (SYN | FIN))) & U32_MAX
    return (yield k.call("__tcp_transmit_skb", sk.addr, skb.addr, 1, 0, sk.rcv_nxt))


@kernel_function(
    "int __tcp_transmit_skb(struct sock *sk, struct sk_buff *skb, int clone_it, gfp_t gfp_mask, u32 rcv_nxt)",
    source="net/ipv4/tcp_output.c",
    names={None: "tcp_transmit_skb", "4.15": "__tcp_transmit_skb"},
)
def __tcp_transmit_skb(k: NetKernel, sk: int, skb: int, clone_it: int, gfp_mask: int, rcv_nxt: int) -> Body:
    """Hand a segment to IP."""
    return (yield k.call("__ip_queue_xmit", sk, skb, 0, 0))


@kernel_function("int tcp_connect(struct sock *sk)", source="net/ipv4/tcp_output.c")
def tcp_connect(k: NetKernel, sk: int) -> Body:
    """Send the SYN."""
    yield from transmit(k, k.net.socks[sk], SYN)
    return 0


@kernel_function(
    "bool tcp_write_xmit(struct sock *sk, unsigned int mss_now, int nonagle, int push_one, gfp_t gfp, unsigned long data)",
    source="net/ipv4/tcp_output.c",
)
def tcp_write_xmit(k: NetKernel, sk: int, mss_now: int, nonagle: int, push_one: int, gfp: int, data: int) -> Body:
    """Send one segment of staged data."""
    yield from transmit(k, k.net.socks[sk], ACK | PSH, k.net.staged.pop(data))
    return 0


@kernel_function(
    "void __tcp_send_ack(struct sock *sk, u32 rcv_nxt)",
    source="net/ipv4/tcp_output.c",
    names={None: "tcp_send_ack", "4.18": "__tcp_send_ack"},
)
def __tcp_send_ack(k: NetKernel, sk: int, rcv_nxt: int) -> Body:
    """Acknowledge, and tell the window."""
    if sk in k.net.socks:  # the answer to the packet before may have ended it
        yield from transmit(k, k.net.socks[sk], ACK)
    return 0


@kernel_function("void tcp_send_fin(struct sock *sk)", source="net/ipv4/tcp_output.c")
def tcp_send_fin(k: NetKernel, sk: int) -> Body:
    """No more data from this side."""
    yield from transmit(k, k.net.socks[sk], FIN | ACK)
    return 0


def send_reset(k: NetKernel, packet: Skb) -> Steps[None]:
    """tcp_v4_send_reset(): refuse a segment that belongs to no connection."""
    body = packet.packet()
    flags = body[13]
    if flags & RST:
        return
    source, destination = addresses(packet)
    seq = body[8:12] if flags & ACK else bytes(4)
    length = len(body) - (body[12] >> 4) * 4 + bool(flags & SYN) + bool(flags & FIN)
    ack = (int.from_bytes(body[4:8], "big") + length) & U32_MAX
    answer = body[2:4] + body[0:2] + seq + (bytes(4) if flags & ACK else ack.to_bytes(4, "big"))
    answer += bytes((5 << 4, RST if flags & ACK else RST | ACK)) + bytes(6)
    yield from ip_send(k, destination, source, IPPROTO_TCP, answer)
