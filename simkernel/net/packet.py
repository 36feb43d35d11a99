"""Packet sockets (AF_PACKET): whole frames, before any protocol; where socket filters are at home.  net/packet/af_packet.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOBUFS, ENODEV, ENXIO
from arch.abi.inet import ETH_HLEN, ETH_P_IP, ETH_P_IPV6, PACKET_OUTGOING
from arch.abi.packet import (
    PACKET_AUXDATA,
    PACKET_QDISC_BYPASS,
    TP_STATUS_CSUM_VALID,
    TP_STATUS_CSUMNOTREADY,
    TP_STATUS_USER,
)
from arch.abi.socket import SOCK_DGRAM, SOCKADDR_LL_SIZE, SOL_PACKET
from arch.errors import KernelError
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.control import receive_control
from simkernel.net.core.datagram import drain_and_free, queue_or_drop, wait_for_packet
from simkernel.net.core.flow_dissector import probe_transport_header
from simkernel.net.core.programs import NET_XMIT_DROP
from simkernel.net.core.skb import CHECKSUM_PARTIAL, CHECKSUM_UNNECESSARY, Skb
from simkernel.net.core.skbuff import new_skb
from simkernel.net.core.sock import ProtoOps, Sock
from simkernel.net.face import NetKernel
from simkernel.net.packet_options import leave_all

PACKET = ProtoOps("packet_ops", "packet_sendmsg", "packet_recvmsg")


@kernel_function(
    "int packet_bind(struct socket *sock, struct sockaddr *uaddr, int addr_len)", source="net/packet/af_packet.c"
)
def packet_bind(k: NetKernel, sock: int, uaddr: int, addr_len: int) -> int:
    """Listen on one interface, for one protocol."""
    sk = k.net.sockets[sock].sk
    if addr_len < SOCKADDR_LL_SIZE:
        return -EINVAL
    raw = k.mem.read(uaddr, SOCKADDR_LL_SIZE)
    index, protocol = int.from_bytes(raw[4:8], k.mem.byteorder), int.from_bytes(raw[2:4], "big")
    if index and index not in sk.net.devices:
        return -ENODEV
    sk.bound_ifindex = index
    if protocol:
        sk.protocol = protocol
    if sk.protocol and sk not in k.net.packet:
        k.net.packet.append(sk)
    return 0


@kernel_function(
    "int packet_rcv(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt, struct net_device *orig_dev)",
    source="net/packet/af_packet.c",
)
def packet_rcv(k: NetKernel, skb: int, dev: int, pt: int, orig_dev: int) -> Body:
    """A copy of a frame for one packet sock (`pt` is that sock): frames begin at the link header, then the filter."""
    packet, sock = k.net.skbs[skb], k.net.socks[pt]
    if packet.data > packet.mac_header() and packet.pkt_type() != PACKET_OUTGOING:
        packet.push(packet.data - packet.mac_header())
    if sock.type == SOCK_DGRAM and packet.device.ethernet:
        packet.pull(ETH_HLEN)
    ret = yield from queue_or_drop(k, sock, packet)
    sock.packets_seen += bool(sock.receive_queue) and sock.receive_queue[-1] is packet
    return ret


@kernel_function(
    "int packet_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)", source="net/packet/af_packet.c"
)
def packet_sendmsg(k: NetKernel, sock: int, msg: int, length: int) -> Body:
    """Send a frame as the caller built it."""
    sk, message = k.net.sockets[sock].sk, k.net.messages[msg]
    index = int.from_bytes(message.name[4:8], k.mem.byteorder) if len(message.name) >= 8 else sk.bound_ifindex
    dev = sk.net.devices.get(index)
    if dev is None:
        raise KernelError(ENXIO, f"no interface {index}")
    skb = yield from new_skb(k, length, sk)
    skb.put_data(message.data)
    skb.reset_mac_header()
    skb.set_dev(dev)
    if sk.type == SOCK_DGRAM:
        to = message.name[12:18] if len(message.name) >= 18 else dev.broadcast
        skb.reset_network_header()
        skb.set_protocol(int.from_bytes(message.name[2:4], "big") if message.name else sk.protocol)
        if dev.ethernet:
            skb.push_header(to, dev.mac)
        return (yield from _transmit(k, sk, skb, length))
    if dev.ethernet:
        skb.set_network_header(ETH_HLEN)
        skb.set_protocol(int.from_bytes(message.data[12:14], "big"))
    else:  # packet_parse_headers(): what the sender says, or what the header in front looks like
        skb.reset_network_header()
        said = int.from_bytes(message.name[2:4], "big") if message.name else sk.protocol
        skb.set_protocol(said or {4: ETH_P_IP, 6: ETH_P_IPV6}.get(message.data[0] >> 4, 0))
    return (yield from _transmit(k, sk, skb, length))


def _transmit(k: NetKernel, sk: Sock, skb: Skb, length: int) -> Body:
    """packet_snd(): by the device's queueing discipline, or past it (PACKET_QDISC_BYPASS)."""
    probe_transport_header(k, skb)
    if sk.options.get((SOL_PACKET, PACKET_QDISC_BYPASS)):
        ret = yield k.call("__dev_direct_xmit", skb.addr, 0)
    else:
        ret = yield k.call("__dev_queue_xmit", skb.addr, 0)
    if ret == NET_XMIT_DROP:
        return -ENOBUFS
    return length if ret >= 0 else ret


@kernel_function(
    "int packet_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)",
    source="net/packet/af_packet.c",
)
def packet_recvmsg(k: NetKernel, sock: int, msg: int, length: int, flags: int) -> Body:
    """One frame in."""
    sk, message = k.net.sockets[sock].sk, k.net.messages[msg]
    packet = yield from wait_for_packet(k, sk, flags)
    if isinstance(packet, int):
        return packet
    message.set_link_source(packet)
    receive_control(k, message, sk, packet)
    if sk.options.get((SOL_PACKET, PACKET_AUXDATA)):
        message.put_control(SOL_PACKET, PACKET_AUXDATA, _auxdata(k, packet))
    return (yield from message.take_packet(sk, packet, packet.packet(), length, flags))


def _auxdata(k: NetKernel, packet: Skb) -> bytes:
    """struct tpacket_auxdata."""
    status, summed, order = TP_STATUS_USER, packet.ip_summed(), k.mem.byteorder
    if summed == CHECKSUM_PARTIAL:
        status |= TP_STATUS_CSUMNOTREADY
    elif summed == CHECKSUM_UNNECESSARY and packet.pkt_type() != PACKET_OUTGOING:
        status |= TP_STATUS_CSUM_VALID
    network = packet.network_header() - packet.data
    head = b"".join(word.to_bytes(4, order) for word in (status, packet.len, packet.len))
    return head + bytes(2) + max(network, 0).to_bytes(2, order) + bytes(4)


@kernel_function("int packet_release(struct socket *sock)", source="net/packet/af_packet.c")
def packet_release(k: NetKernel, sock: int) -> Body:
    """Close a packet socket."""
    sk = k.net.sockets[sock].sk
    if sk in k.net.packet:
        k.net.packet.remove(sk)
    leave_all(k, sk)
    yield from drain_and_free(k, sk)
    return 0
