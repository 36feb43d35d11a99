"""struct socket and struct sock: what a descriptor refers to, and the protocol's view of it.  include/linux/net.h, include/net/sock.h.

One host-side `Sock` per struct sock.  The struct in kernel memory is a tcp_sock, udp_sock or raw_sock (all begin
with an inet_sock, which begins with a sock), so that programs may cast as they do on Linux.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from arch.abi.errno import EAGAIN, EINTR, ENOBUFS, ENOMEM, ERESTARTSYS, ETIME
from arch.abi.inet import (
    IN6ADDR_ANY,
    INADDR_ANY,
    IP_DF,
    IP_MULTICAST_ALL,
    IP_PMTUDISC_DO,
    IP_PMTUDISC_PROBE,
    IP_PMTUDISC_WANT,
    IPPROTO_ICMP,
    IPPROTO_ICMPV6,
    IPPROTO_TCP,
    IPPROTO_UDP,
    IPPROTO_UDPLITE,
    TCP_CLOSE,
)
from arch.abi.internal import GFP_KERNEL, GFP_KERNEL_ACCOUNT, GFP_ZERO
from arch.abi.rtnetlink import RTN_MULTICAST
from arch.abi.socket import (
    AF_INET,
    AF_INET6,
    AF_NETLINK,
    AF_PACKET,
    AF_UNIX,
    AF_XDP,
    SOCK_DGRAM,
    SOCK_RAW,
    SOCK_STREAM,
    SOL_IP,
    SS_CONNECTED,
    SS_UNCONNECTED,
)
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.fs.cgroup import Cgroup
from simkernel.fs.inode import File, Inode
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.security import ask
from simkernel.kernel.task import WaitQueue
from simkernel.kernel.user_namespace import ns_address, ns_capable
from simkernel.net.core.ipv6_pinfo import Ipv6Pinfo
from simkernel.net.core.memberships import Membership
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.skb import Skb

RCV_SHUTDOWN, SEND_SHUTDOWN, SHUTDOWN_MASK = 1, 2, 3
SOCK_MIN_RCVBUF = 2304  # bytes
ICMPV6_CHECKSUM_AT = 2  # bytes into its header
SK_RCVBUF = SK_SNDBUF = 212992  # net.core.rmem_default, wmem_default
TCP_RCVBUF, TCP_WMEM, TCP_SNDBUF = (
    131072,
    16384,
    2626560,
)  # net.ipv4.tcp_rmem[1], tcp_wmem[1]; what a loopback connection autotunes to
# The C type that a protocol allocates (struct proto .obj_size).
OBJECT_TYPE = {IPPROTO_TCP: "struct tcp_sock", IPPROTO_UDP: "struct udp_sock", IPPROTO_UDPLITE: "struct udp_sock"}
OBJECT_TYPE6 = {IPPROTO_TCP: "struct tcp6_sock", IPPROTO_UDP: "struct udp6_sock", IPPROTO_UDPLITE: "struct udp6_sock"}
INET = (AF_INET, AF_INET6)


OBJECT_TYPES = {AF_UNIX: "struct unix_sock", AF_NETLINK: "struct netlink_sock", AF_XDP: "struct xdp_sock"}


def object_type(family: int, protocol: int) -> str:
    """The C type of a sock."""
    if family == AF_INET6:
        return OBJECT_TYPE6.get(protocol, "struct raw6_sock")
    if family == AF_INET:
        return OBJECT_TYPE.get(protocol, "struct inet_sock")
    return OBJECT_TYPES.get(family, "struct sock")


V4MAPPED = bytes(10) + b"\xff\xff"
LOOPBACK4_IPV6 = bytes((127, 0, 0, 6))


class NetTables:
    """The live socks and sockets by their kernel addresses."""

    def __init__(self) -> None:
        self.socks: dict[int, Sock] = {}
        self.sockets: dict[int, Socket] = {}
        self.stampers: set[int] = set()  # socks that want packets stamped as they come, by address
        self.sock_gone: Callable[[int], None] = lambda address: None  # told of each struct sock that is freed
        self.cookies: dict[int, int] = {}  # sock_gen_cookie(), by the address of struct sock
        self.cgroup_of_maker: Callable[[], Cgroup | None] = lambda: None

    def new_cookie(self) -> int:
        """sock_gen_cookie() of what has no struct sock: a minisock."""
        number = len(self.cookies) + 1
        self.cookies[-number] = number
        return number


class SockKernel(KernelFace):
    """A kernel in which there are socks."""

    net: NetTables


class Queued(Protocol):
    """An entry of a sock's error queue (errqueue.py)."""

    def release(self) -> None:
        """Its packet is thrown away."""
        ...


class Filter(Protocol):
    """A program on a socket (SO_ATTACH_BPF)."""

    def __call__(self, skb: Skb, /) -> int:
        """How many bytes of a packet to keep; 0 drops it."""
        ...

    def share(self) -> Filter:
        """Another socket has it, too."""
        ...

    def release(self) -> None:
        """Replaced, detached, or the socket is gone."""
        ...


# What a connection has from its listener: attributes, and members of struct sock that programs read.
INHERITED = (
    "mark", "tos", "uc_ttl", "mc_ttl", "mc_loop", "mc_index", "mc_addr", "pmtudisc", "uc_index", "recverr", "reuse", "reuseport",
    "freebind", "transparent", "v6only", "rcvbuf", "sndbuf", "rcvbuf_locked", "sndbuf_locked", "rcvtimeo",
    "sndtimeo", "linger", "congestion_name", "cgroup",
)  # fmt: skip
INHERITED_MEMBERS = ("sk_priority", "sk_mark", "sk_rcvlowat", "sk_rcvbuf", "sk_sndbuf")


class Sock:
    """A struct sock: addresses, queues, state, and for TCP the sequence numbers."""

    def __init__(self, k: SockKernel, net: Net, family: int, type_: int, protocol: int) -> None:
        self.k, self.net = k, net
        self.tables = k.net
        self.family, self.type, self.protocol = family, type_, protocol
        ctype = object_type(family, protocol)
        self.addr = k.mem.alloc(k.types.sizeof(ctype))  # a struct may have a member of that name
        self.view = k.view(self.addr, "struct sock")
        self.inet = k.view(self.addr, "struct inet_sock") if family in INET else None
        self.ip6: Ipv6Pinfo | None = None
        if family == AF_INET6:
            assert self.inet is not None
            self.ip6 = Ipv6Pinfo()
            if (type_, protocol) == (SOCK_RAW, IPPROTO_ICMPV6):
                self.ip6.checksum_at = ICMPV6_CHECKSUM_AT
            self.inet.pinet6 = self.addr + k.types.offsetof(ctype, "inet6")
        self.socket: Socket | None = None
        self.laddr = self.raddr = self.any_address
        self.lport = self.rport = 0
        self._bound_ifindex = 0
        self.err = 0  # sk_err: reported once by the next call
        self.shutdown = 0
        self.receive_queue: deque[Skb] = deque()
        self.rmem = 0
        self.judges_received = self.judges_sent = False  # programs of the socket maps that it is in
        self.judged: deque[bytes] = deque()  # what those let through to a socket that is not TCP's
        self.wmem = 0  # of packets of AF_UNIX that nobody has read
        stream = type_ == SOCK_STREAM
        self.rcvbuf, self.sndbuf = (TCP_RCVBUF, TCP_WMEM) if stream and family in INET else (SK_RCVBUF, SK_SNDBUF)
        self.sndbuf_locked = self.rcvbuf_locked = False  # SOCK_SNDBUF_LOCK, SOCK_RCVBUF_LOCK
        self.options: dict[tuple[int, int], int] = {}
        self.structs: dict[tuple[int, int], bytes] = {}  # options that are structs
        self.filter: Filter | None = None
        self.reuseport_prog: Filter | None = None  # of its group
        self.group_port = 0  # of a listener that has stopped: where its group is, which takes its requests over
        self.congestion_name = "cubic"  # TCP_CONGESTION
        self.cgroup = self.tables.cgroup_of_maker()  # sk_cgrp_data
        self.rcvtimeo: int | None = None  # SO_RCVTIMEO in ns; None waits for ever
        self.sndtimeo: int | None = None
        self.linger: int | None = None  # SO_LINGER: seconds
        self.wq = WaitQueue("sk_sleep")
        self.drops = 0
        self.dead = False
        # struct inet_sock
        self.mark = 0
        self.tos = 0
        self.uc_ttl = -1  # IP_TTL; -1: the system's
        self.mc_ttl = 1
        self.mc_loop = True
        self.mc_index = 0  # IP_MULTICAST_IF
        self.mc_addr = INADDR_ANY
        self.pmtudisc = IP_PMTUDISC_WANT
        self.inet_id = 0
        self.uc_index = 0  # IP_UNICAST_IF
        self.hdrincl = False
        self.recverr = False
        self.icmp_filter = 0  # bits of the types that a raw sock does not want
        self.cmsg_flags: set[int] = set()  # of IPPROTO_IP: what a receiver wants to know
        self.controls: set[int] = set()  # of SOL_SOCKET: the same
        self.stamping = False  # SOCK_TIMESTAMP
        self.last_stamp_ns: int | None = None  # sk_stamp: of the packet received last, as a wall clock time
        self.memberships: list[Membership] = []
        self.encap_rcv = ""  # the kernel function that has what comes: its sock is the kernel's own
        self.no_check6_rx = False  # over IPv6, too, it takes what has no sum
        self.corked: tuple[bytes, bytes, int, int, int, int, bytes, int] | None = (
            None  # a datagram that is not sent yet
        )
        self.error_queue: deque[Queued] = deque()
        self.reuse = self.reuseport = False
        self.freebind = self.transparent = False
        self.v6only = False
        self.address_locked = self.port_locked = False  # SOCK_BINDADDR_LOCK, SOCK_BINDPORT_LOCK: bind() chose them
        # TCP
        self.state = TCP_CLOSE
        self.connecting = False  # its struct socket is SS_CONNECTING: connect(2) has not told the end yet
        # sk_backlog: (function, packet) of what came while connect(2) owned the socket; None: nobody owns it
        self.held: list[tuple[str, int]] | None = None
        self.snd_nxt = self.snd_una = self.rcv_nxt = self.snd_wnd = self.iss = 0
        self.accept_queue: deque[Sock] = deque()
        self.backlog = 0
        self.listener: Sock | None = None
        self.fin_queued = False  # the peer's FIN was received
        self.tables.socks[self.addr] = self
        if k.tracepoints.point("timer_init").active:  # sock_init_data()
            k.trace("timer_init", self.addr + k.types.offsetof("struct sock", "sk_timer"))
        common = self.view["__sk_common"]
        common.skc_family = family
        common.skc_refcnt.refs.counter = 1
        common.skc_state = TCP_CLOSE
        common.skc_net.net = net.addr
        prot = k.mirror.static(proto_name(family, type_, protocol))
        common.skc_prot = prot
        everything = (1 << 8 * k.arch.word) - 1
        for member, value in (
            ("sk_prot_creator", prot), ("sk_pacing_rate", everything), ("sk_max_pacing_rate", everything), ("sk_pacing_shift", 10),
            ("sk_peek_off", -1), ("sk_allocation", GFP_KERNEL_ACCOUNT if family == AF_UNIX else GFP_KERNEL), ("sk_wmem_alloc.refs.counter", 1), ("sk_data_ready", k.symbols.address("sock_def_readable") or 0),
        ):  # fmt: skip
            k.mirror.set_field(self.addr, "sock", member, value)
        if self.cgroup is not None:
            k.mirror.set_field(self.addr, "sock", "sk_cgrp_data.cgroup", self.cgroup.addr)
        self.view.sk_protocol = protocol
        self.view.sk_type = type_
        forever = (1 << 8 * k.arch.word - 1) - 1  # MAX_SCHEDULE_TIMEOUT
        for member, value in (("sk_rcvlowat", 1), ("sk_rcvtimeo", forever), ("sk_sndtimeo", forever)):
            self.view[member] = value
        if self.inet is not None and k.types.has_member("struct inet_sock", "uc_ttl"):
            self.inet.uc_ttl, self.inet.mc_ttl, self.inet.pmtudisc = self.uc_ttl, self.mc_ttl, self.pmtudisc
        self.view.sk_rcvbuf = self.rcvbuf
        self.view.sk_sndbuf = self.sndbuf
        if "sk_alloc_security" in k.security_hooks.watched:
            try:
                ask(k, "sk_alloc_security", self.addr, family, GFP_KERNEL | GFP_ZERO)
            except KernelError:
                Sock.free(self)  # what is derived from it is not there yet
                raise KernelError(ENOBUFS if family in (AF_INET6, AF_PACKET) else ENOMEM) from None

    def inherit(self, listener: Sock) -> None:
        """sk_clone_lock(): options of the listener are those of its connections, too."""
        theirs, mine = vars(listener), vars(self)
        for name in INHERITED:
            mine[name] = theirs[name]
        self.bound_ifindex = listener.bound_ifindex
        self.options, self.controls = dict(listener.options), set(listener.controls)
        self.cmsg_flags = set(listener.cmsg_flags)
        if self.ip6 is not None and listener.ip6 is not None:
            self.ip6 = listener.ip6.copy()
        for member in INHERITED_MEMBERS:
            if self.k.types.has_member("struct sock", member):
                self.view[member] = listener.view[member]

    @property
    def bound_ifindex(self) -> int:
        """sk_bound_dev_if: the one device that it has to do with, or 0."""
        return self._bound_ifindex

    @bound_ifindex.setter
    def bound_ifindex(self, ifindex: int) -> None:
        self._bound_ifindex = self.view["__sk_common"].skc_bound_dev_if = ifindex

    @property
    def any_address(self) -> bytes:
        """The wildcard address of its family."""
        return INADDR_ANY if self.family != AF_INET6 else IN6ADDR_ANY

    @property
    def is_udp(self) -> bool:
        """UDP's or UDP-Lite's (udp_prot, udplite_prot)."""
        return self.family in INET and self.type == SOCK_DGRAM and self.protocol in (IPPROTO_UDP, IPPROTO_UDPLITE)

    def dropped(self) -> None:
        """sk_drops_add()."""
        self.drops += 1
        self.view.sk_drops.counter = self.drops

    def capable(self, k: KernelFace, cap: int) -> bool:
        """sk_ns_capable(): the current task, over the namespace of the sock."""
        owner = self.net.namespace.owner
        allowed = ns_capable(k.current, owner, cap)
        if k.capable_watched:
            k.capable_seen(ns_address(k, owner), cap, 0, allowed)
        return allowed and k.granted(ns_address(k, owner), cap)

    def route_device(self, destination: bytes) -> int:
        """Out of which device, if the sock says so."""
        if self.bound_ifindex:
            return self.bound_ifindex
        if len(destination) == 16:
            return self.np.mc_index if destination[0] == 0xFF else self.np.uc_index
        return self.mc_index if 224 <= destination[0] <= 239 else self.uc_index

    def joined(self, group: bytes, source: bytes, dev: NetDevice) -> bool:
        """ip_mc_sf_allow(): what came to a group is for this sock."""
        for member in self.memberships:
            if member.group == group and member.dev is dev:
                return member.hears(source)
        if len(group) == 16:
            return self.np.mc_all
        return bool(self.options.get((SOL_IP, IP_MULTICAST_ALL), 1))

    def drop_errors(self, k: KernelFace) -> None:
        """skb_queue_purge(&sk->sk_error_queue)."""
        while self.error_queue:
            self.error_queue.popleft().release()

    def ttl(self, kind: int) -> int:
        """Of a packet to somebody, or to a group."""
        if kind == RTN_MULTICAST:
            return self.mc_ttl
        return self.uc_ttl if self.uc_ttl >= 0 else int(self.net.sysctl["ipv4.ip_default_ttl"])

    def may_fragment(self, usual: int, whole: bool) -> int:
        """ip_dont_fragment(): the field of the header, where it is usually that."""
        if self.pmtudisc in (IP_PMTUDISC_DO, IP_PMTUDISC_PROBE):
            return IP_DF
        return usual if self.pmtudisc == IP_PMTUDISC_WANT else 0

    @property
    def np(self) -> Ipv6Pinfo:
        """inet6_sk(): of a sock of AF_INET6."""
        assert self.ip6 is not None
        return self.ip6

    def sync_addresses(self) -> None:
        """Write the four-tuple into sock_common and inet_sock: addresses and dport in network order, num in host order."""
        order = self.k.mem.byteorder
        common = self.view["__sk_common"]
        laddr, raddr = self.laddr, self.raddr
        if self.ip6 is not None:
            self._sync_addresses6()
            laddr, raddr = _for_ipv4(laddr), _for_ipv4(raddr)
        common.skc_rcv_saddr = int.from_bytes(laddr, order)
        common.skc_daddr = int.from_bytes(raddr, order)
        common.skc_num = self.lport
        common.skc_dport = int.from_bytes(self.rport.to_bytes(2, "big"), order)
        if self.inet is not None:
            self.inet.inet_saddr = int.from_bytes(laddr, order)
            self.inet.inet_sport = int.from_bytes(self.lport.to_bytes(2, "big"), order)

    def _sync_addresses6(self) -> None:
        """sk_v6_rcv_saddr, sk_v6_daddr, np->saddr: IPv4's in their mapped form."""
        mem, common = self.k.mem, self.view["__sk_common"]
        mem.write(common.address_of("skc_v6_rcv_saddr"), mapped(self.laddr))
        mem.write(common.address_of("skc_v6_daddr"), mapped(self.raddr))
        assert self.inet is not None
        mem.write(self.inet.pinet6 + self.k.types.offsetof("struct ipv6_pinfo", "saddr"), mapped(self.laddr))

    def become_inet(self, ops: ProtoOps) -> None:
        """IPV6_ADDRFORM: a sock of AF_INET6 that speaks IPv4 is one of AF_INET from now on, with these operations."""
        assert self.socket is not None and self.inet is not None
        self.family = self.socket.family = AF_INET
        self.ip6, self.inet.pinet6 = None, 0
        common = self.view["__sk_common"]
        common.skc_family = AF_INET
        common.skc_prot = self.k.mirror.static(proto_name(AF_INET, self.type, self.protocol))
        self.socket.ops = ops
        self.k.mirror.set_field(self.socket.addr, "socket", "ops", self.k.mirror.static(ops.name))
        self.sync_addresses()

    def queue(self, skb: Skb) -> None:
        """Charge a packet to the receive buffer and queue it."""
        skb.set_owner(self)
        self.receive_queue.append(skb)
        self.charge(skb.truesize)

    def charge(self, amount: int) -> None:
        """sk_rmem_alloc."""
        self.rmem += amount
        self.view.sk_backlog.rmem_alloc.counter = self.rmem

    def charge_send(self, amount: int) -> None:
        """sk_wmem_alloc, which is one more than what is charged."""
        self.wmem += amount
        self.view.sk_wmem_alloc.refs.counter = self.wmem + 1

    def take_error(self) -> int:
        """sock_error(): the pending error, once."""
        err, self.err = self.err, 0
        self.view.sk_err = 0
        return err

    def set_v6only(self, only: bool) -> None:
        """sk_ipv6only: no packets of IPv4."""
        self.v6only = only
        self.view["__sk_common"].skc_ipv6only = int(only)

    def set_error(self, err: int) -> None:
        """Record an error and wake who waits."""
        self.err = err
        self.view.sk_err = err
        self.k.wake_up(self.wq, 0)

    def drop_reuseport(self) -> None:
        """The program of its group goes."""
        prog, self.reuseport_prog = self.reuseport_prog, None
        if prog is not None:
            prog.release()

    def set_shutdown(self, bits: int) -> None:
        """sk_shutdown |= bits."""
        self.shutdown |= bits
        self.view.sk_shutdown = self.shutdown

    def free(self) -> None:
        """sk_free(): the struct goes away with its last reference."""
        if self.tables.socks.pop(self.addr, None) is not None:
            ask(self.k, "sk_free_security", self.addr)
            self.tables.sock_gone(self.addr)
            self.tables.stampers.discard(self.addr)
            self.k.mem.free(self.addr)
            if self.filter is not None:
                self.filter.release()
                self.filter = None


@dataclass(slots=True)
class TimeWait:
    """struct tcp_timewait_sock: what an old segment of a closed connection is answered with."""

    snd_nxt: int
    rcv_nxt: int
    ends_ns: int
    window: int  # as it is written in a header
    options: Callable[[int], bytes]  # of a segment at a time in ns
    state: int  # tw_substate: TCP_FIN_WAIT2 until the peer's FIN has come, then TCP_TIME_WAIT
    cookie: int = 0  # sock_gen_cookie(), since somebody asked for it


def until(sk: Sock, sending: bool = False) -> int | None:
    """sock_rcvtimeo(), sock_sndtimeo(): when the patience of a call that begins now ends."""
    patience = sk.sndtimeo if sending else sk.rcvtimeo
    return None if patience is None else sk.k.clock.now_ns + patience


def sleep(k: KernelFace, queue: WaitQueue, end: int | None, exclusive: bool = False) -> Body:
    """Wait on a socket's queue until then: 0, -EAGAIN when the time is over; a signal is -EINTR where there was an end."""
    if end is None:
        return (yield k.wait(queue, exclusive=exclusive))
    ret: int = yield k.wait(queue, exclusive=exclusive, timeout_ns=end - k.clock.now_ns)
    return {-ETIME: -EAGAIN, -ERESTARTSYS: -EINTR}.get(ret, ret)


def mapped(address: bytes) -> bytes:
    """ipv6_addr_set_v4mapped(): an address as a sock of AF_INET6 shows it."""
    return address if len(address) == len(IN6ADDR_ANY) else V4MAPPED + address


def unmapped(address: bytes) -> bytes:
    """An IPv4 address in its mapped form as IPv4's; others as they are."""
    return address[12:] if address[:12] == V4MAPPED else address


def _for_ipv4(address: bytes) -> bytes:
    """What inet_sock has of an IPv6 address: LOOPBACK4_IPV6, or nothing."""
    return address if len(address) == len(INADDR_ANY) else INADDR_ANY if address == IN6ADDR_ANY else LOOPBACK4_IPV6


def is_any(address: bytes) -> bool:
    """The wildcard address of either family."""
    return address in (INADDR_ANY, IN6ADDR_ANY)


PortTable = dict[tuple[Net, int], list[Sock]]


def hash_port(table: PortTable, sk: Sock) -> None:
    """Put a sock into a table by its namespace and port."""
    table.setdefault((sk.net, sk.lport), []).append(sk)


def unbind(table: PortTable, sk: Sock) -> None:
    """Take a sock out of a table by port; ports without socks leave no trace."""
    owners = table.get((sk.net, sk.lport))
    if owners and sk in owners:
        owners.remove(sk)
        if not owners:
            del table[sk.net, sk.lport]


@dataclass(frozen=True)
class ProtoOps:
    """struct proto_ops and struct proto of one kind of socket: kernel function names."""

    name: str
    sendmsg: str  # proto_ops.sendmsg
    recvmsg: str
    prot_sendmsg: str = ""  # proto.sendmsg, called by inet_sendmsg
    prot_recvmsg: str = ""


def proto_name(family: int, type_: int, protocol: int) -> str:
    """Which struct proto a sock has; "" for a family without one of ours."""
    if family in INET:
        six = "v6" if family == AF_INET6 else ""
        if type_ == SOCK_DGRAM:
            kind = {IPPROTO_UDPLITE: "udplite", IPPROTO_ICMP: "ping", IPPROTO_ICMPV6: "ping"}.get(protocol, "udp")
        else:
            kind = "tcp" if type_ == SOCK_STREAM else "raw"
        return f"{kind}{six}_prot"
    if family == AF_UNIX:
        return "unix_stream_proto" if type_ == SOCK_STREAM else "unix_dgram_proto"
    return {AF_NETLINK: "netlink_proto", AF_PACKET: "packet_proto"}.get(family, "")


class Socket:
    """A struct socket: what a descriptor refers to."""

    def __init__(self, k: SockKernel, family: int, type_: int, ops: ProtoOps, sk: Sock) -> None:
        self.family, self.type, self.ops, self.sk = family, type_, ops, sk
        view = k.new("struct socket")
        self.addr = view.addr
        view.type = type_
        view.sk = sk.addr
        view.ops = k.mirror.static(ops.name)
        view.state = SS_UNCONNECTED
        sk.socket = self
        sk.net.sockets += 1
        sk.view.sk_socket = view.addr
        wq = k.mirror.offset_of("struct socket", "wq")
        k.mirror.set_field(sk.addr, "sock", "sk_wq", view.addr + wq)
        self.file: File | None = None
        self.inode: Inode | None = None  # made before the file, for who watches how
        k.net.sockets[self.addr] = self

    def connected(self) -> None:
        """sock->state: connect(2), accept(2) or socketpair(2) has given it another end."""
        self.sk.k.mirror.set_field(self.addr, "socket", "state", SS_CONNECTED)

    @property
    def flags(self) -> int:
        """f_flags of its open file."""
        assert self.file is not None
        return self.file.f_flags
