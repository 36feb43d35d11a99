"""Packet sockets (AF_PACKET): whole frames, before any protocol; where socket filters are at home.  net/packet/af_packet.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENODEV
from arch.abi.packet import PACKET_AUXDATA, TP_STATUS_USER
from arch.abi.socket import MSG_PEEK, SOCKADDR_LL_SIZE, SOL_PACKET
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.control import receive_control
from simkernel.net.core.datagram import drain_and_free, queue_or_drop, wait_for_packet
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import ProtoOps
from simkernel.net.face import NetKernel
from simkernel.net.packet import fanout
from simkernel.net.packet.mapping import close_rings
from simkernel.net.packet.options import leave_all
from simkernel.net.packet.receive import begin, checksum_status
from simkernel.net.packet.room import try_clear_pressure
from simkernel.net.packet.send import packet_snd, tpacket_snd
from simkernel.net.packet.sock import packet_sk
from simkernel.net.packet.vnet import VNET_HDR, describe

PACKET = ProtoOps("packet_ops", "packet_sendmsg", "packet_recvmsg")


@kernel_function(
    "int packet_bind(struct socket *sock, struct sockaddr *uaddr, int addr_len)", source="net/packet/af_packet.c"
)
def packet_bind(k: NetKernel, sock: int, uaddr: int, addr_len: int) -> int:
    """Listen on one interface, for one protocol.  EINVAL, ENODEV."""
    sk = packet_sk(k.net.sockets[sock].sk)
    if addr_len < SOCKADDR_LL_SIZE:
        return -EINVAL
    raw = k.mem.read(uaddr, SOCKADDR_LL_SIZE)
    index, protocol = int.from_bytes(raw[4:8], k.mem.byteorder), int.from_bytes(raw[2:4], "big")
    if index and index not in sk.net.devices:
        return -ENODEV
    if sk.group is not None:
        return -EINVAL
    sk.bound_ifindex = index
    if protocol:
        sk.protocol = protocol
    if sk.running and sk not in k.net.packet:
        k.net.packet.append(sk)
    return 0


@kernel_function(
    "int packet_rcv(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt, struct net_device *orig_dev)",
    source="net/packet/af_packet.c",
)
def packet_rcv(k: NetKernel, skb: int, dev: int, pt: int, orig_dev: int) -> Body:
    """A copy of a frame for one packet sock (`pt` is that sock): frames begin at the link header, then the filter."""
    packet, sock = k.net.skbs[skb], packet_sk(k.net.socks[pt])
    begin(packet, sock)
    ret = yield from queue_or_drop(k, sock, packet)
    sock.packets_seen += bool(sock.receive_queue) and sock.receive_queue[-1] is packet
    return ret


@kernel_function(
    "int packet_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)", source="net/packet/af_packet.c"
)
def packet_sendmsg(k: NetKernel, sock: int, msg: int, length: int) -> Body:
    """Send a frame, or those in the ring.  ENXIO, ENETDOWN, EINVAL, EMSGSIZE, ENOBUFS."""
    po, message = packet_sk(k.net.sockets[sock].sk), k.net.messages[msg]
    if po.tx is not None:
        return (yield from tpacket_snd(k, po, message))
    return (yield from packet_snd(k, po, message))


@kernel_function(
    "int packet_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)",
    source="net/packet/af_packet.c",
)
def packet_recvmsg(k: NetKernel, sock: int, msg: int, length: int, flags: int) -> Body:
    """One frame in."""
    sk, message = packet_sk(k.net.sockets[sock].sk), k.net.messages[msg]
    packet = yield from wait_for_packet(k, sk, flags)
    try_clear_pressure(sk)
    if isinstance(packet, int):
        return packet
    frame = packet.packet()
    if sk.vnet:
        if length < VNET_HDR:
            sk.receive_queue.popleft()
            sk.charge(-packet.truesize)
            yield k.call("consume_skb", packet.addr)
            return -EINVAL
        frame = describe(k, packet) + frame
    message.set_link_source(packet)
    if packet.addr in sk.copies:
        message.source = message.source[:4].ljust(SOCKADDR_LL_SIZE, b"\0")
        if not flags & MSG_PEEK:
            sk.copies.remove(packet.addr)
    receive_control(k, message, sk, packet)
    if sk.options.get((SOL_PACKET, PACKET_AUXDATA)):
        message.put_control(SOL_PACKET, PACKET_AUXDATA, _auxdata(k, packet))
    return (yield from message.take_packet(sk, packet, frame, length, flags))


def _auxdata(k: NetKernel, packet: Skb) -> bytes:
    """struct tpacket_auxdata."""
    status, order = TP_STATUS_USER | checksum_status(packet), k.mem.byteorder
    network = packet.network_header() - packet.data
    head = b"".join(word.to_bytes(4, order) for word in (status, packet.len, packet.len))
    return head + bytes(2) + max(network, 0).to_bytes(2, order) + bytes(4)


@kernel_function("int packet_release(struct socket *sock)", source="net/packet/af_packet.c")
def packet_release(k: NetKernel, sock: int) -> Body:
    """Close a packet socket."""
    sk = packet_sk(k.net.sockets[sock].sk)
    if sk in k.net.packet:
        k.net.packet.remove(sk)
    leave_all(k, sk)
    close_rings(k, sk)
    fanout.release(k, sk)
    yield from drain_and_free(k, sk)
    return 0
