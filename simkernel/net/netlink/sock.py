"""AF_NETLINK sockets.  net/netlink/af_netlink.c."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from arch.abi.capability import CAP_NET_ADMIN, CAP_NET_BROADCAST, CAP_SYS_ADMIN
from arch.abi.errno import (
    EADDRINUSE,
    EAGAIN,
    ECONNREFUSED,
    EINVAL,
    EMSGSIZE,
    ENOBUFS,
    ENODATA,
    ENOPROTOOPT,
    EOPNOTSUPP,
    EPERM,
    EPROTONOSUPPORT,
    ESOCKTNOSUPPORT,
)
from arch.abi.inet import TCP_CLOSE, TCP_ESTABLISHED
from arch.abi.netlink import (
    MAX_LINKS,
    NETLINK_ADD_MEMBERSHIP,
    NETLINK_AUDIT,
    NETLINK_BROADCAST_ERROR,
    NETLINK_CAP_ACK,
    NETLINK_CONNECTOR,
    NETLINK_DROP_MEMBERSHIP,
    NETLINK_EXT_ACK,
    NETLINK_FIB_LOOKUP,
    NETLINK_GENERIC,
    NETLINK_GET_STRICT_CHK,
    NETLINK_KOBJECT_UEVENT,
    NETLINK_LIST_MEMBERSHIPS,
    NETLINK_LISTEN_ALL_NSID,
    NETLINK_NO_ENOBUFS,
    NETLINK_PKTINFO,
    NETLINK_ROUTE,
    NETLINK_SELINUX,
    NETLINK_SOCK_DIAG,
    NETLINK_USERSOCK,
    NLM_F_ACK,
    NLM_F_REQUEST,
    NLMSG_MIN_TYPE,
    SOCKADDR_NL_SIZE,
)
from arch.abi.poll import POLLERR, POLLIN, POLLOUT, POLLRDNORM, POLLWRBAND, POLLWRNORM
from arch.abi.socket import (
    AF_NETLINK,
    MSG_DONTWAIT,
    MSG_OOB,
    MSG_PEEK,
    MSG_TRUNC,
    SCM_CREDENTIALS,
    SO_PASSCRED,
    SOCK_DGRAM,
    SOCK_RAW,
    SOL_NETLINK,
    SOL_SOCKET,
)
from arch.errors import KernelError
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue
from simkernel.kernel.user_namespace import ns_capable
from simkernel.net.core.datagram import kept_of
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import KernelSock, Net
from simkernel.net.core.security import about_data
from simkernel.net.core.sock import ProtoOps, Sock, Socket, sleep, until
from simkernel.net.face import NetKernel, current_net
from simkernel.net.netlink.message import Request, Wire
from simkernel.net.netlink.rtnetlink import rtnetlink_rcv_msg
from simkernel.net.unix.rights import current_cred

Who = tuple[int, int, int]
KERNEL: Who = (0, 0, 0)
NETLINK = ProtoOps("netlink_ops", "netlink_sendmsg", "netlink_recvmsg")
Answer = Callable[[NetKernel, Wire, Request], Steps[tuple[list[bytes], bool]]]
DUMP_ROOM = 8192  # bytes of answers that come in one datagram, where the reader has that much room
SKB_OVERHEAD = 768  # what a datagram is charged beside its bytes
FLAG_OPTIONS = (
    NETLINK_PKTINFO, NETLINK_BROADCAST_ERROR, NETLINK_NO_ENOBUFS, NETLINK_LISTEN_ALL_NSID, NETLINK_CAP_ACK, NETLINK_EXT_ACK,
    NETLINK_GET_STRICT_CHK,
)  # fmt: skip


class Protocol:
    """struct netlink_table: one protocol, by who answers it."""

    def __init__(self, groups: int, answer: Answer | None = None, anybody: bool = False) -> None:
        self.groups = groups  # how many there are
        self.answer = answer  # None: nobody in the kernel
        self.anybody = anybody  # NL_CFG_F_NONROOT_RECV: groups are for everybody


def carry_uevent(k: NetKernel, message: bytes, space: object | None) -> None:
    """kobject_uevent_net_broadcast(): to its namespace, or to all of the first user namespace."""
    if k.net.netlink:
        for net in list(k.net.spaces.values()):
            if net is space if space is not None else net.namespace.owner is None:
                broadcast(k, net, NETLINK_KOBJECT_UEVENT, 1, message)


def uevent_rcv_msg(k: NetKernel, wire: Wire, request: Request) -> Steps[tuple[list[bytes], bool]]:
    """uevent_net_rcv_skb(): who may administer tells all in the namespace, with the next number.  EPERM."""
    if not ns_capable(k.current, request.net.namespace.owner, CAP_SYS_ADMIN):
        raise KernelError(EPERM)
    k.vfs.uevents.seqnum += 1
    data = request.body + f"SEQNUM={k.vfs.uevents.seqnum}\0".encode()
    broadcast(k, request.net, NETLINK_KOBJECT_UEVENT, 1, data, who=current_cred(k))
    return [], False
    yield


PROTOCOLS: dict[int, Protocol] = {
    NETLINK_ROUTE: Protocol(36, rtnetlink_rcv_msg, anybody=True),
    NETLINK_USERSOCK: Protocol(32),
    NETLINK_KOBJECT_UEVENT: Protocol(1, uevent_rcv_msg, anybody=True),
}


class NetlinkSock(Sock):
    """struct netlink_sock."""

    def __init__(self, k: NetKernel, net: Net, type_: int, protocol: int) -> None:
        super().__init__(k, net, AF_NETLINK, type_, protocol)
        self.portid = 0
        self.memberships_: set[int] = set()
        self.has_groups = False  # netlink_realloc_groups(): a group was joined, perhaps left since
        self.peer_group = 0  # of connect()
        self.congested = self.released = False
        self.datagrams: list[
            tuple[bytes, int, int, Net, Who]
        ] = []  # (messages, who sent them: 0 is the kernel; group; where; pid, uid and gid of who sent them)
        k.net.netlink.append(self)

    @property
    def portid(self) -> int:
        """Its address; 0: none yet, or the kernel."""
        return self._portid

    @portid.setter
    def portid(self, value: int) -> None:
        self._portid = value
        self.k.view(self.addr, "struct netlink_sock").portid = value

    @property
    def groups(self) -> int:
        """The first 32 as bits."""
        return sum(1 << group - 1 for group in self.memberships_ if group <= 32)

    def flag(self, option: int) -> bool:
        """An option of SOL_NETLINK is on."""
        return bool(self.options.get((SOL_NETLINK, option)))

    def address(self, portid: int, groups: int = 0) -> bytes:
        """struct sockaddr_nl."""
        order = "<" if self.k.mem.byteorder == "little" else ">"
        return struct.pack(order + "HHII", AF_NETLINK, 0, portid, groups)

    def _ready(self) -> None:
        """sk->sk_data_ready()."""
        self.k.trace("sk_data_ready", self.addr)
        self.k.wake_up(self.wq, 0)

    def hand_over(self, data: bytes) -> None:
        """An answer that was asked for: it finds room."""
        kept = kept_of(self.k, self, data)
        if kept is None:
            return
        data = kept
        self.charge(len(data) + SKB_OVERHEAD)
        self.datagrams.append((data, 0, 0, self.net, KERNEL))
        self._ready()

    def put(self, data: bytes, sender: int = 0, group: int = 0, net: Net | None = None, who: Who = KERNEL) -> bool:
        """netlink_sendskb(): False where there is no room; ENOBUFS is told by the next call."""
        kept = kept_of(self.k, self, data)
        if kept is None:
            return True
        data = kept
        size = len(data) + SKB_OVERHEAD
        if self.datagrams and self.rmem + size > self.rcvbuf:
            self.dropped()
            if not self.flag(NETLINK_NO_ENOBUFS):
                self.err = ENOBUFS
            return False
        self.charge(size)
        self.datagrams.append((data, sender, group, net or self.net, who))
        self._ready()
        return True


def netlink_sock(k: NetKernel, sock: int) -> NetlinkSock:
    """The NetlinkSock of a struct socket."""
    sk = k.net.sockets[sock].sk
    assert isinstance(sk, NetlinkSock)
    return sk


def listeners(k: NetKernel, net: Net, protocol: int, group: int) -> list[NetlinkSock]:
    """Who has joined a group."""
    found = [sk for sk in k.net.netlink if isinstance(sk, NetlinkSock) and sk.protocol == protocol]
    return [sk for sk in found if group in sk.memberships_ and (sk.net is net or _hears_all(sk, net))]


def _hears_all(sk: NetlinkSock, net: Net) -> bool:
    """NETLINK_LISTEN_ALL_NSID: namespaces that have a number where it is."""
    return sk.flag(NETLINK_LISTEN_ALL_NSID) and net.addr in sk.net.peers


def broadcast(
    k: NetKernel, net: Net, protocol: int, group: int, data: bytes, sender: int = 0, but: int = 0, who: Who = KERNEL
) -> int:
    """netlink_broadcast(): how many heard it."""
    heard = 0
    for sk in listeners(k, net, protocol, group):
        if sk.portid != but or not but:
            heard += sk.put(data, sender, group, net, who)
    return heard


def _others(k: NetKernel, net: Net, protocol: int) -> dict[int, NetlinkSock]:
    found = (sk for sk in k.net.netlink if isinstance(sk, NetlinkSock) and sk.protocol == protocol and sk.net is net)
    return {sk.portid: sk for sk in found if sk.portid}


class KernelNetlinkSock(NetlinkSock):
    """What netlink_kernel_create() makes: messages to a protocol go to its handler, so nobody looks for it but to show it."""

    def __init__(self, k: NetKernel, net: Net, protocol: int) -> None:
        super().__init__(k, net, SOCK_DGRAM, protocol)
        k.net.netlink.remove(self)


OF_EVERY_NET = (
    NETLINK_ROUTE, NETLINK_SOCK_DIAG, NETLINK_AUDIT, NETLINK_FIB_LOOKUP,
    NETLINK_KOBJECT_UEVENT, NETLINK_GENERIC,
)  # fmt: skip
OF_THE_FIRST = tuple(sorted((*OF_EVERY_NET, NETLINK_SELINUX, NETLINK_CONNECTOR)))


def kernel_socks(k: NetKernel, net: Net) -> Sequence[KernelSock]:
    """The kernel's own sock of each protocol, which are made when somebody first asks."""
    if not net.kernel_socks:
        protocols = OF_THE_FIRST if net is k.net.init else OF_EVERY_NET
        net.kernel_socks += [KernelNetlinkSock(k, net, protocol) for protocol in protocols]
    return net.kernel_socks


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
    return int(Socket(k, AF_NETLINK, type_, NETLINK, NetlinkSock(k, current_net(k), type_, protocol)).addr)


def _read_name(k: NetKernel, raw: bytes) -> tuple[int, int]:
    """(port, groups) of a struct sockaddr_nl.  EINVAL."""
    order = "<" if k.mem.byteorder == "little" else ">"
    if len(raw) < SOCKADDR_NL_SIZE or struct.unpack_from(order + "H", raw)[0] != AF_NETLINK:
        raise KernelError(EINVAL)
    portid, groups = struct.unpack_from(order + "II", raw, 4)
    return portid, groups


def autobind(k: NetKernel, sk: NetlinkSock) -> None:
    """netlink_autobind(): the process's number, or one that nobody has."""
    taken = _others(k, sk.net, sk.protocol)
    portid = k.tasks.vnr(k.current.tgid)
    if portid in taken:
        portid = 0xFFFFFFFF - 4095 - len(taken)
        while portid in taken:
            portid -= 1
    sk.portid = portid


def _may_listen(k: NetKernel, sk: NetlinkSock) -> bool:
    """netlink_allowed(NL_CFG_F_NONROOT_RECV)."""
    return PROTOCOLS[sk.protocol].anybody or sk.capable(k, CAP_NET_ADMIN)


@kernel_function(
    "int netlink_bind(struct socket *sock, struct sockaddr *addr, int addr_len)", source="net/netlink/af_netlink.c"
)
def netlink_bind(k: NetKernel, sock: int, addr: int, addr_len: int) -> int:
    """A port, and groups of announcements.  EINVAL, EADDRINUSE, EPERM."""
    sk = netlink_sock(k, sock)
    portid, groups = _read_name(k, bytes(k.mem.read(addr, max(addr_len, 0))))
    if groups and not _may_listen(k, sk):
        raise KernelError(EPERM)
    if sk.portid:
        if portid != sk.portid:
            return -EINVAL
    elif portid:
        if portid in _others(k, sk.net, sk.protocol):
            return -EADDRINUSE
        sk.portid = portid
    else:
        autobind(k, sk)
    sk.has_groups = sk.has_groups or bool(groups)
    high = {group for group in sk.memberships_ if group > 32}
    known = min(PROTOCOLS[sk.protocol].groups, 32)
    sk.memberships_ = high | {bit + 1 for bit in range(known) if groups >> bit & 1}
    return 0


@kernel_function(
    "int netlink_connect(struct socket *sock, struct sockaddr *addr, int alen, int flags)",
    source="net/netlink/af_netlink.c",
)
def netlink_connect(k: NetKernel, sock: int, addr: int, alen: int, flags: int) -> int:
    """Where messages without an address go.  EINVAL, EPERM."""
    sk = netlink_sock(k, sock)
    raw = bytes(k.mem.read(addr, max(alen, 0)))
    if len(raw) >= 2 and not any(raw[:2]):
        sk.rport, sk.peer_group, sk.state = 0, 0, TCP_CLOSE
        return 0
    portid, groups = _read_name(k, raw)
    if (portid or groups) and sk.protocol != NETLINK_USERSOCK and not sk.capable(k, CAP_NET_ADMIN):
        return -EPERM
    if not sk.portid:
        autobind(k, sk)
    sk.rport, sk.peer_group, sk.state = portid, (groups & -groups).bit_length(), TCP_ESTABLISHED
    return 0


@kernel_function(
    "int netlink_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)", source="net/netlink/af_netlink.c"
)
def netlink_sendmsg(k: NetKernel, sock: int, msg: int, length: int) -> Body:
    """To the kernel, which answers at once, or to another socket.  ECONNREFUSED, EPERM, EMSGSIZE."""
    sk, message = netlink_sock(k, sock), k.net.messages[msg]
    if message.flags & MSG_OOB:
        return -EOPNOTSUPP
    if not length:
        return -ENODATA if k.version.at_least("6.1") else 0
    portid, group = sk.rport, sk.peer_group
    if message.name:
        portid, groups = _read_name(k, message.name)
        group = (groups & -groups).bit_length()
        if (portid or group) and sk.protocol != NETLINK_USERSOCK and not sk.capable(k, CAP_NET_ADMIN):
            return -EPERM
    if not sk.portid:
        autobind(k, sk)
    if length > sk.sndbuf - 32:
        return -EMSGSIZE
    about_data(k, "netlink_send", sk, message.data)
    if group:
        broadcast(k, sk.net, sk.protocol, group, message.data, sk.portid, sk.portid, current_cred(k))
    if portid:
        other = _others(k, sk.net, sk.protocol).get(portid)
        if other is None:
            return -ECONNREFUSED
        return (yield from _to_other(k, sk, other, message.data, message.flags))
    if PROTOCOLS[sk.protocol].answer is not None:
        yield k.call("netlink_rcv_skb", sk.addr, msg)
    else:
        return -ECONNREFUSED
    return length


def _to_other(k: NetKernel, sk: NetlinkSock, other: NetlinkSock, data: bytes, flags: int) -> Body:
    """netlink_unicast(): waits while the other has no room (`yield from`)."""
    end = until(sk, sending=True)
    while other.datagrams and other.rmem + len(data) + SKB_OVERHEAD > other.rcvbuf:
        if flags & MSG_DONTWAIT:
            return -EAGAIN
        ret = yield from sleep(k, other.wq, end)
        if ret < 0:
            return ret
    other.put(data, sk.portid, who=current_cred(k))
    return len(data)


@kernel_function("int netlink_rcv_skb(struct sock *sk, struct msghdr *msg)", source="net/netlink/af_netlink.c")
def netlink_rcv_skb(k: NetKernel, addr: int, msg: int) -> Body:
    """Each message of a datagram, and an acknowledgement where one is asked for or something went wrong."""
    sk = k.net.socks[addr]
    assert isinstance(sk, NetlinkSock)
    answer = PROTOCOLS[sk.protocol].answer
    wire = Wire(k.mem.byteorder)
    strict = sk.flag(NETLINK_GET_STRICT_CHK)
    for request in wire.requests(k.net.messages[msg].data, sk.net, strict, sk.portid, sk.flag(NETLINK_EXT_ACK)):
        answers: list[bytes] = []
        failed, ended = None, False
        if request.flags & NLM_F_REQUEST and request.kind >= NLMSG_MIN_TYPE and answer is not None:
            k.net.announce.portid, k.net.announce.seq = sk.portid, request.seq
            try:
                answers, ended = yield from answer(k, wire, request)
            except KernelError as error:
                failed = error
                if isinstance(error, Refusal) and error.text:
                    _tell(k, error.text)
            k.net.announce.portid = k.net.announce.seq = 0
        _queue(sk, answers)
        if not ended and (failed is not None or request.flags & NLM_F_ACK):
            sk.put(wire.error(request, failed, sk.portid, sk.flag(NETLINK_EXT_ACK), sk.flag(NETLINK_CAP_ACK)))
    return 0


def _tell(k: NetKernel, text: str) -> None:
    """do_trace_netlink_extack()."""
    if k.tracepoints.point("netlink_extack").active:
        at = k.mem.alloc(len(text) + 1)
        k.mem.write(at, text.encode() + b"\0")
        k.trace("netlink_extack", at)
        k.mem.free(at)


def _queue(sk: NetlinkSock, answers: list[bytes]) -> None:
    """Rows of a dump share datagrams; its end has one of its own."""
    batch = b""
    for index, answer in enumerate(answers):
        last = index == len(answers) - 1
        if batch and (len(batch) + len(answer) > DUMP_ROOM or (last and len(answers) > 1)):
            sk.hand_over(batch)
            batch = b""
        batch += answer
    if batch:
        sk.hand_over(batch)


@kernel_function(
    "int netlink_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)",
    source="net/netlink/af_netlink.c",
)
def netlink_recvmsg(k: NetKernel, sock: int, msg: int, length: int, flags: int) -> Body:
    """One datagram; what does not fit is lost.  EAGAIN, ENOBUFS."""
    sk, message = netlink_sock(k, sock), k.net.messages[msg]
    if flags & MSG_OOB:
        return -EOPNOTSUPP
    end = until(sk)
    while not sk.datagrams:
        if sk.err:
            return -sk.take_error()
        if (flags | message.flags) & MSG_DONTWAIT:
            return -EAGAIN
        ret = yield from sleep(k, sk.wq, end, exclusive=True)
        if ret < 0:
            return ret
    if sk.err:
        return -sk.take_error()
    data, sender, group, net, who = sk.datagrams[0]
    if not flags & MSG_PEEK:
        sk.datagrams.pop(0)
        sk.charge(-len(data) - SKB_OVERHEAD)
        k.wake_up(sk.wq, 0)
    message.source = sk.address(sender, 1 << group - 1 if 0 < group <= 32 else 0)
    if len(data) > length:
        message.out_flags |= MSG_TRUNC
    order = "<" if k.mem.byteorder == "little" else ">"
    if sk.flag(NETLINK_PKTINFO):
        message.put_control(SOL_NETLINK, NETLINK_PKTINFO, struct.pack(order + "I", group))
    if sk.flag(NETLINK_LISTEN_ALL_NSID) and net is not sk.net:
        message.put_control(SOL_NETLINK, NETLINK_LISTEN_ALL_NSID, struct.pack(order + "i", sk.net.peers[net.addr]))
    if sk.options.get((SOL_SOCKET, SO_PASSCRED)):
        message.put_control(SOL_SOCKET, SCM_CREDENTIALS, struct.pack(order + "iII", *who))
    message.scatter(data[:length])
    return len(data) if flags & MSG_TRUNC else min(length, len(data))


def netlink_poll(sk: NetlinkSock, queues: list[WaitQueue] | None) -> int:
    """datagram_poll()."""
    if queues is not None:
        queues.append(sk.wq)
    mask = (POLLERR if sk.err else 0) | (POLLIN | POLLRDNORM if sk.datagrams else 0)
    return mask | POLLOUT | POLLWRNORM | POLLWRBAND


@kernel_function("int netlink_release(struct socket *sock)", source="net/netlink/af_netlink.c")
def netlink_release(k: NetKernel, sock: int) -> int:
    """The last descriptor is gone."""
    sk = netlink_sock(k, sock)
    sk.state, sk.released = TCP_CLOSE, True
    k.net.netlink.remove(sk)
    sk.free()
    return 0


# -- options -----------------------------------------------------------------------------------------------------------


def set_netlink_option(k: NetKernel, sk: Sock, name: int, data: bytes) -> int:
    """netlink_setsockopt().  EINVAL, EPERM, ENOPROTOOPT."""
    if not isinstance(sk, NetlinkSock):
        return -ENOPROTOOPT
    value = int.from_bytes(data[:4], k.mem.byteorder) if len(data) >= 4 else 0
    if name in (NETLINK_ADD_MEMBERSHIP, NETLINK_DROP_MEMBERSHIP):
        if not _may_listen(k, sk):
            return -EPERM
        if not 0 < value <= max(PROTOCOLS[sk.protocol].groups, 32):
            return -EINVAL
        sk.has_groups = True
        (sk.memberships_.add if name == NETLINK_ADD_MEMBERSHIP else sk.memberships_.discard)(value)
        return 0
    if name not in FLAG_OPTIONS:
        return -ENOPROTOOPT
    if name == NETLINK_LISTEN_ALL_NSID and not sk.capable(k, CAP_NET_BROADCAST):
        return -EPERM
    sk.options[SOL_NETLINK, name] = int(bool(value))
    if name == NETLINK_NO_ENOBUFS and value:
        sk.err = 0
    return 0


def get_netlink_option(k: NetKernel, sk: Sock, name: int, room: int) -> bytes | int:
    """netlink_getsockopt()."""
    if not isinstance(sk, NetlinkSock):
        return -ENOPROTOOPT
    if name == NETLINK_LIST_MEMBERSHIPS and not sk.has_groups:
        return b""
    if name == NETLINK_LIST_MEMBERSHIPS:
        words = (max(PROTOCOLS[sk.protocol].groups, 32) + 31) // 32
        bits = sum(1 << group - 1 for group in sk.memberships_)
        return b"".join((bits >> 32 * i & 0xFFFFFFFF).to_bytes(4, k.mem.byteorder) for i in range(words))
    if name not in FLAG_OPTIONS or name == NETLINK_LISTEN_ALL_NSID:
        return -ENOPROTOOPT
    if room < 4:
        return -EINVAL
    return int(sk.flag(name)).to_bytes(4, k.mem.byteorder)
