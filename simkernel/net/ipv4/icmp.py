"""ICMP: echo replies, and errors about packets.  net/ipv4/icmp.c."""

from __future__ import annotations

from arch.abi.errno import ECONNREFUSED
from arch.abi.inet import ICMP_DEST_UNREACH, ICMP_ECHO, ICMP_PORT_UNREACH, IPPROTO_ICMP
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import IP_HEADER, addresses, checksum, icmp_reply
from simkernel.net.ipv4.ip_output import ip_send


@kernel_function("int icmp_rcv(struct sk_buff *skb)", source="net/ipv4/icmp.c")
def icmp_rcv(k: NetKernel, skb: int) -> Body:
    """Answer echo requests; tell a UDP socket that nobody listens at its destination."""
    packet = k.net.skbs[skb]
    body = packet.packet()
    _source, _destination = addresses(packet)
    if body and body[0] == ICMP_ECHO:
        yield k.call("icmp_echo", skb)
    elif body[:2] == bytes((ICMP_DEST_UNREACH, ICMP_PORT_UNREACH)):
        inner = body[8:]
        port = int.from_bytes(inner[20:22], "big")
        for sk in k.net.udp.get(port, ()):
            if sk.rport == int.from_bytes(inner[22:24], "big"):
                sk.set_error(ECONNREFUSED)
    yield k.call("consume_skb", skb)
    return 0


@kernel_function("bool icmp_echo(struct sk_buff *skb)", source="net/ipv4/icmp.c")
def icmp_echo(k: NetKernel, skb: int) -> Body:
    """An echo request: send its reply."""
    packet = k.net.skbs[skb]
    source, destination = addresses(packet)
    yield from ip_send(k, destination, source, IPPROTO_ICMP, icmp_reply(packet.packet()))
    return 1


@kernel_function("void __icmp_send(struct sk_buff *skb_in, int type, int code, u32 info)", source="net/ipv4/icmp.c")
def __icmp_send(k: NetKernel, skb_in: int, type_: int, code: int, info: int) -> Body:
    """An ICMP error about a packet, quoting its header and eight bytes."""
    packet = k.net.skbs[skb_in]
    source, destination = addresses(packet)
    quote = packet.mem.read(packet.network_header(), IP_HEADER + 8)
    body = bytes((type_, code)) + b"\0\0" + info.to_bytes(4, "big") + quote
    body = body[:2] + checksum(body).to_bytes(2, "big") + body[4:]
    yield from ip_send(k, destination, source, IPPROTO_ICMP, body)
    return 0
