"""AF_NETLINK sockets.  net/netlink/af_netlink.c."""

from __future__ import annotations

import struct

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import (
    EADDRINUSE,
    EAGAIN,
    ECONNREFUSED,
    EINVAL,
    EPERM,
    EPROTONOSUPPORT,
    ESOCKTNOSUPPORT,
)
from arch.abi.inet import TCP_CLOSE, TCP_ESTABLISHED
from arch.abi.poll import POLLERR, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM
from arch.abi.socket import AF_NETLINK, MSG_DONTWAIT, MSG_PEEK, MSG_TRUNC, SOCK_DGRAM, SOCK_RAW
from arch.errors import KernelError
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue
from simkernel.net.core.sock import ProtoOps, Sock, Socket, sleep, until
from simkernel.net.face import NetKernel
from simkernel.net.netlink.message import NLM_F_ACK, NLM_F_REQUEST, NLMSG_MIN_TYPE, Wire
from simkernel.net.netlink.route import rtnetlink_rcv_msg

NETLINK = ProtoOps("netlink_ops", "netlink_sendmsg", "netlink_recvmsg")
NETLINK_ROUTE, NETLINK_USERSOCK, NETLINK_KOBJECT_UEVENT = 0, 2, 15
PROTOCOLS = (NETLINK_ROUTE, NETLINK_USERSOCK, NETLINK_KOBJECT_UEVENT)
MAX_LINKS = 32
DUMP_ROOM = 8192  # bytes of answers that come in one datagram, where the reader has that much room


class NetlinkSock(Sock):
    """struct netlink_sock."""

    def __init__(self, k: NetKernel, type_: int, protocol: int) -> None:
        super().__init__(k, k.net, AF_NETLINK, type_, protocol)
        self.portid = 0
        self.groups = 0
        self.datagrams: list[tuple[bytes, int]] = []  # (messages, who sent them: 0 is the kernel)

    def address(self, portid: int, groups: int = 0) -> bytes:
        """struct sockaddr_nl."""
        order = "<" if self.k.mem.byteorder == "little" else ">"
        return struct.pack(order + "HHII", AF_NETLINK, 0, portid, groups)

    def put(self, data: bytes, sender: int = 0) -> None:
        """netlink_sendskb()."""
        self.datagrams.append((data, sender))
        self.k.wake_up(self.wq, 0)


def netlink_sock(k: NetKernel, sock: int) -> NetlinkSock:
    """The NetlinkSock of a struct socket."""
    sk = k.net.sockets[sock].sk
    assert isinstance(sk, NetlinkSock)
    return sk


def _others(k: NetKernel, protocol: int) -> dict[int, NetlinkSock]:
    found = (sk for sk in k.net.socks.values() if isinstance(sk, NetlinkSock) and sk.protocol == protocol)
    return {sk.portid: sk for sk in found if sk.portid}


@kernel_function(
    "struct socket *netlink_create(struct net *net, int type, int protocol, int kern)",
    source="net/netlink/af_netlink.c",
)
def netlink_create(k: NetKernel, net: int, type_: int, protocol: int, kern: int) -> int:
    """A new socket.  ESOCKTNOSUPPORT, EPROTONOSUPPORT."""
    if type_ not in (SOCK_RAW, SOCK_DGRAM):
        return -ESOCKTNOSUPPORT
    if not 0 <= protocol < MAX_LINKS or protocol not in PROTOCOLS:
        return -EPROTONOSUPPORT
    return int(Socket(k, AF_NETLINK, type_, NETLINK, NetlinkSock(k, type_, protocol)).addr)


def _read_name(k: NetKernel, raw: bytes) -> tuple[int, int]:
    """(port, groups) of a struct sockaddr_nl.  EINVAL."""
    order = "<" if k.mem.byteorder == "little" else ">"
    if len(raw) < 12 or struct.unpack_from(order + "H", raw)[0] != AF_NETLINK:
        raise KernelError(EINVAL)
    portid, groups = struct.unpack_from(order + "II", raw, 4)
    return portid, groups


def autobind(k: NetKernel, sk: NetlinkSock) -> None:
    """netlink_autobind(): the process's number, or one that nobody has."""
    taken = _others(k, sk.protocol)
    portid = k.current.tgid
    while portid in taken:
        portid = 0xFFFFFFFF - len(taken) - portid % 4096
    sk.portid = portid


@kernel_function(
    "int netlink_bind(struct socket *sock, struct sockaddr *addr, int addr_len)", source="net/netlink/af_netlink.c"
)
def netlink_bind(k: NetKernel, sock: int, addr: int, addr_len: int) -> int:
    """A port, and groups of announcements.  EINVAL, EADDRINUSE, EPERM."""
    sk = netlink_sock(k, sock)
    portid, groups = _read_name(k, bytes(k.mem.read(addr, max(addr_len, 0))))
    if groups and sk.protocol == NETLINK_USERSOCK and not k.capable(CAP_NET_ADMIN):
        raise KernelError(EPERM)
    if sk.portid:
        if portid and portid != sk.portid:
            return -EINVAL
    elif portid:
        if portid in _others(k, sk.protocol):
            return -EADDRINUSE
        sk.portid = portid
    else:
        autobind(k, sk)
    sk.groups = groups
    return 0


@kernel_function(
    "int netlink_connect(struct socket *sock, struct sockaddr *addr, int alen, int flags)",
    source="net/netlink/af_netlink.c",
)
def netlink_connect(k: NetKernel, sock: int, addr: int, alen: int, flags: int) -> int:
    """Where messages without an address go.  EINVAL."""
    sk = netlink_sock(k, sock)
    portid, _ = _read_name(k, bytes(k.mem.read(addr, max(alen, 0))))
    if not sk.portid:
        autobind(k, sk)
    sk.rport, sk.state = portid, TCP_ESTABLISHED
    return 0


@kernel_function(
    "int netlink_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)", source="net/netlink/af_netlink.c"
)
def netlink_sendmsg(k: NetKernel, sock: int, msg: int, length: int) -> Body:
    """To the kernel, which answers at once, or to another socket.  ECONNREFUSED, EPERM."""
    sk, message = netlink_sock(k, sock), k.net.messages[msg]
    portid = _read_name(k, message.name)[0] if message.name else sk.rport
    if not sk.portid:
        autobind(k, sk)
    if portid:
        other = _others(k, sk.protocol).get(portid)
        if other is None:
            return -ECONNREFUSED
        if sk.protocol != NETLINK_USERSOCK and not k.capable(CAP_NET_ADMIN):
            return -EPERM
        other.put(message.data, sk.portid)
        return length
    if sk.protocol == NETLINK_ROUTE:
        yield k.call("netlink_rcv_skb", sk.addr, msg)
    elif sk.protocol != NETLINK_KOBJECT_UEVENT:
        return -ECONNREFUSED
    return length


@kernel_function("int netlink_rcv_skb(struct sock *sk, struct msghdr *msg)", source="net/netlink/af_netlink.c")
def netlink_rcv_skb(k: NetKernel, addr: int, msg: int) -> int:
    """Each message of a datagram, and an acknowledgement where one is asked for or something went wrong."""
    sk = k.net.socks[addr]
    assert isinstance(sk, NetlinkSock)
    wire = Wire(k.mem.byteorder)
    for request in wire.requests(k.net.messages[msg].data):
        answers: list[bytes] = []
        errno, ended = 0, False
        if request.flags & NLM_F_REQUEST and request.kind >= NLMSG_MIN_TYPE:
            try:
                answers, ended = rtnetlink_rcv_msg(k, wire, request, sk.portid)
            except KernelError as error:
                errno = error.errno
        _queue(sk, answers)
        if not ended and (errno or request.flags & NLM_F_ACK):
            sk.put(wire.error(request, errno, sk.portid))
    return 0


def _queue(sk: NetlinkSock, answers: list[bytes]) -> None:
    """Rows of a dump share datagrams; its end has one of its own."""
    batch = b""
    for index, answer in enumerate(answers):
        last = index == len(answers) - 1
        if batch and (len(batch) + len(answer) > DUMP_ROOM or (last and len(answers) > 1)):
            sk.put(batch)
            batch = b""
        batch += answer
    if batch:
        sk.put(batch)


@kernel_function(
    "int netlink_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)",
    source="net/netlink/af_netlink.c",
)
def netlink_recvmsg(k: NetKernel, sock: int, msg: int, length: int, flags: int) -> Body:
    """One datagram; what does not fit is lost.  EAGAIN."""
    sk, message = netlink_sock(k, sock), k.net.messages[msg]
    end = until(sk)
    while not sk.datagrams:
        if (flags | message.flags) & MSG_DONTWAIT:
            return -EAGAIN
        ret = yield from sleep(k, sk.wq, end, exclusive=True)
        if ret < 0:
            return ret
    data, sender = sk.datagrams[0]
    if not flags & MSG_PEEK:
        sk.datagrams.pop(0)
    message.source = sk.address(sender)
    if len(data) > length:
        message.out_flags |= MSG_TRUNC
    message.scatter(data[:length])
    return len(data) if flags & MSG_TRUNC else min(length, len(data))


def netlink_poll(sk: NetlinkSock, queues: list[WaitQueue] | None) -> int:
    """datagram_poll()."""
    if queues is not None:
        queues.append(sk.wq)
    return (POLLERR if sk.err else 0) | (POLLIN | POLLRDNORM if sk.datagrams else 0) | POLLOUT | POLLWRNORM


@kernel_function("int netlink_release(struct socket *sock)", source="net/netlink/af_netlink.c")
def netlink_release(k: NetKernel, sock: int) -> int:
    """The last descriptor is gone."""
    sk = netlink_sock(k, sock)
    sk.state = TCP_CLOSE
    sk.free()
    return 0
