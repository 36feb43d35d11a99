"""Packet sockets (AF_PACKET): whole frames, before any protocol; where socket filters are at home.  net/packet/af_packet.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENODEV
from arch.abi.inet import ETH_HLEN, PACKET_OUTGOING
from arch.abi.socket import SOCK_DGRAM, SOCKADDR_LL_SIZE
from arch.errors import KernelError
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.control import receive_control
from simkernel.net.core.datagram import drain_and_free, queue_or_drop, wait_for_packet
from simkernel.net.core.skbuff import new_skb
from simkernel.net.core.sock import ProtoOps
from simkernel.net.face import NetKernel

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
    index = int.from_bytes(raw[4:8], k.mem.byteorder)
    if index and index not in sk.net.devices:
        return -ENODEV
    sk.bound_ifindex = index
    if sk not in k.net.packet:
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
    if sock.type == SOCK_DGRAM:
        packet.pull(ETH_HLEN)
    return (yield from queue_or_drop(k, sock, packet))


@kernel_function(
    "int packet_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)", source="net/packet/af_packet.c"
)
def packet_sendmsg(k: NetKernel, sock: int, msg: int, length: int) -> Body:
    """Send a frame as the caller built it."""
    sk, message = k.net.sockets[sock].sk, k.net.messages[msg]
    index = int.from_bytes(message.name[4:8], k.mem.byteorder) if len(message.name) >= 8 else sk.bound_ifindex
    dev = sk.net.devices.get(index)
    if dev is None:
        raise KernelError(ENODEV, f"no interface {index}")
    skb = yield from new_skb(k, length, sk)
    skb.put_data(message.data)
    skb.reset_mac_header()
    skb.set_dev(dev)
    if sk.type == SOCK_DGRAM:
        to = message.name[12:18] if len(message.name) >= 18 else dev.broadcast
        skb.reset_network_header()
        skb.set_protocol(int.from_bytes(message.name[2:4], "big") if message.name else sk.protocol)
        skb.push_header(to, dev.mac)
        ret = yield k.call("__dev_queue_xmit", skb.addr, 0)
        return length if ret >= 0 else ret
    skb.set_network_header(ETH_HLEN)
    skb.set_protocol(int.from_bytes(message.data[12:14], "big"))
    ret = yield k.call("__dev_queue_xmit", skb.addr, 0)
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
    return (yield from message.take_packet(sk, packet, packet.packet(), length, flags))


@kernel_function("int packet_release(struct socket *sock)", source="net/packet/af_packet.c")
def packet_release(k: NetKernel, sock: int) -> Body:
    """Close a packet socket."""
    sk = k.net.sockets[sock].sk
    if sk in k.net.packet:
        k.net.packet.remove(sk)
    yield from drain_and_free(k, sk)
    return 0
