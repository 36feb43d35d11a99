"""IPv4: headers, output, input, and ICMP echo.  net/ipv4/ip_output.c, ip_input.c, icmp.c."""

from __future__ import annotations

from typing import Any

from arch.abi.errno import ECONNREFUSED, ENETUNREACH
from arch.abi.inet import (
    ICMP_DEST_UNREACH,
    ICMP_ECHO,
    ICMP_PORT_UNREACH,
    IPPROTO_ICMP,
    IPPROTO_TCP,
    IPPROTO_UDP,
)
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.device import route, send_frame
from simkernel.net.skb import Skb, drop, new_skb
from simkernel.net.state import (
    SKB_DROP_REASON_IP_INHDR,
    SKB_DROP_REASON_IP_NOPROTO,
    SKB_DROP_REASON_OTHERHOST,
    checksum,
)

IP_HEADER = 20
# inet_protos[]: who receives which protocol.
PROTOCOLS = {IPPROTO_ICMP: "icmp_rcv", IPPROTO_TCP: "tcp_v4_rcv", IPPROTO_UDP: "udp_rcv"}


def ip_header(source: bytes, destination: bytes, protocol: int, length: int, ident: int, ttl: int = 64) -> bytes:
    """A 20-byte IPv4 header with its checksum for `length` bytes of payload."""
    head = bytes((0x45, 0)) + (IP_HEADER + length).to_bytes(2, "big") + ident.to_bytes(2, "big") + b"\x40\0"
    head += bytes((ttl, protocol))
    full = head + b"\0\0" + source + destination
    return head + checksum(full).to_bytes(2, "big") + source + destination


def source_for(k: Any, destination: bytes) -> bytes:
    """The local address that a packet to `destination` leaves from; KernelError-free: None becomes ENETUNREACH above."""
    dev = route(k, destination)
    if dev is None:
        return bytes(4)
    return destination if dev.ifindex == 1 and destination[0] != 127 else dev.address


def ip_send(k: Any, source: bytes, destination: bytes, protocol: int, body: bytes, sk: Any = None) -> Any:
    """Build one packet around a transport segment and send it (`yield from`); 0 or -errno."""
    skb = yield from new_skb(k, len(body), sk)
    skb.put(body)
    return (yield from ip_queue(k, skb, source, destination, protocol))


def ip_queue(k: Any, skb: Skb, source: bytes, destination: bytes, protocol: int) -> Any:
    """Put the IP header before a transport segment and send the packet (`yield from`); 0 or -errno."""
    dev = route(k, destination)
    if dev is None:
        yield drop(k, skb)
        return -ENETUNREACH
    length = skb.len
    skb.transport = skb.data
    k.net.ip_id = (k.net.ip_id + 1) & 0xFFFF
    skb.push(ip_header(source, destination, protocol, length, k.net.ip_id))
    skb.network = skb.data
    skb.set_dev(dev)
    skb.sync()
    k.net.counters["bytes_sent"] += length
    return (yield k.call("ip_local_out", k.net.init_net, skb.sk.addr if skb.sk else 0, skb.addr))


@kernel_function(
    "int ip_local_out(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_output.c"
)
def ip_local_out(k: Any, net: int, sk: int, skb: int) -> Any:
    """A packet of this machine enters the output path."""
    return (yield k.call("ip_output", net, sk, skb))


@kernel_function("int ip_output(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_output.c")
def ip_output(k: Any, net: int, sk: int, skb: int) -> Any:
    """Choose the device, then finish."""
    return (yield k.call("ip_finish_output2", net, sk, skb))


@kernel_function(
    "int ip_finish_output2(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_output.c"
)
def ip_finish_output2(k: Any, net: int, sk: int, skb: int) -> Any:
    """Link layer header and the device queue."""
    packet = k.net.skbs[skb]
    return (yield from send_frame(k, packet, packet.dev))


# -------------------------------------------------------------------------------------------------------------- input


@kernel_function(
    "int ip_rcv(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt, struct net_device *orig_dev)",
    source="net/ipv4/ip_input.c",
)
def ip_rcv(k: Any, skb: int, dev: int, pt: int, orig_dev: int) -> Any:
    """Check the header; packets for this machine go on, others are dropped (no forwarding)."""
    packet = k.net.skbs[skb]
    packet.network = packet.data
    header = packet.payload[:IP_HEADER]
    length = int.from_bytes(header[2:4], "big")
    if len(header) < IP_HEADER or header[0] != 0x45 or checksum(header) != 0 or length > packet.len:
        yield drop(k, packet, SKB_DROP_REASON_IP_INHDR)
        return 1
    packet.len = length  # trims Ethernet padding
    destination = header[16:20]
    if destination[0] != 127 and all(d.address != destination for d in k.net.devices.values()):
        yield drop(k, packet, SKB_DROP_REASON_OTHERHOST)
        return 1
    return (yield k.call("ip_local_deliver", skb))


@kernel_function("int ip_local_deliver(struct sk_buff *skb)", source="net/ipv4/ip_input.c")
def ip_local_deliver(k: Any, skb: int) -> Any:
    """Strip the header."""
    packet = k.net.skbs[skb]
    protocol = packet.read(packet.network + 9, 1)[0]
    packet.pull(IP_HEADER)
    packet.transport = packet.data
    packet.sync()
    yield k.call("ip_protocol_deliver_rcu", k.net.init_net, skb, protocol)
    return 0


@kernel_function(
    "void ip_protocol_deliver_rcu(struct net *net, struct sk_buff *skb, int protocol)", source="net/ipv4/ip_input.c"
)
def ip_protocol_deliver_rcu(k: Any, net: int, skb: int, protocol: int) -> Any:
    """Raw sockets get a copy, then the protocol's handler the packet."""
    from simkernel.net.raw import raw_deliver

    packet = k.net.skbs[skb]
    taken = yield from raw_deliver(k, packet, protocol)
    handler = PROTOCOLS.get(protocol)
    if handler:
        yield k.call(handler, skb)
    elif taken:
        yield k.call("consume_skb", skb)
    else:
        yield drop(k, packet, SKB_DROP_REASON_IP_NOPROTO)
    return 0


def addresses(packet: Any) -> tuple[bytes, bytes]:
    """(source, destination) of a received packet."""
    header = packet.read(packet.network + 12, 8)
    return header[:4], header[4:]


# --------------------------------------------------------------------------------------------------------------- ICMP


@kernel_function("int icmp_rcv(struct sk_buff *skb)", source="net/ipv4/icmp.c")
def icmp_rcv(k: Any, skb: int) -> Any:
    """Answer echo requests; tell a UDP socket that nobody listens at its destination."""
    packet = k.net.skbs[skb]
    body = packet.payload
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
def icmp_echo(k: Any, skb: int) -> Any:
    """An echo request: send its reply."""
    from simkernel.net.device import icmp_reply

    packet = k.net.skbs[skb]
    source, destination = addresses(packet)
    yield from ip_send(k, destination, source, IPPROTO_ICMP, icmp_reply(packet.payload))
    return 1


@kernel_function("void __icmp_send(struct sk_buff *skb_in, int type, int code, u32 info)", source="net/ipv4/icmp.c")
def __icmp_send(k: Any, skb_in: int, type_: int, code: int, info: int) -> Any:
    """An ICMP error about a packet, quoting its header and eight bytes."""
    packet = k.net.skbs[skb_in]
    source, destination = addresses(packet)
    quote = packet.read(packet.network, IP_HEADER + 8)
    body = bytes((type_, code)) + b"\0\0" + info.to_bytes(4, "big") + quote
    body = body[:2] + checksum(body).to_bytes(2, "big") + body[4:]
    yield from ip_send(k, destination, source, IPPROTO_ICMP, body)
    return 0
