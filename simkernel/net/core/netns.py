"""struct net, and what hangs on it: devices with their addresses, tables of routes, rules, neighbours.

include/net/net_namespace.h, net/netns/*.h, linux/netdevice.h, inetdevice.h, net/{ip_fib,if_inet6,neighbour,fib_rules}.h.
Data only: who changes it is in the protocols' folders.  Addresses are bytes in network order, 4 or 16 of them; what of this
programs read lies in kernel memory too (`NetDevice.addr`, `Net.addr`) and follows.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

from arch.abi.inet import ARPHRD_LOOPBACK, IFF_LOOPBACK, IFF_UP
from arch.records import dataclass, field
from simkernel.fs.inode import SuperBlock
from simkernel.kernel.body import Body
from simkernel.kernel.namespaces import Namespace
from simkernel.net.core.lc_trie import Trie
from simkernel.net.core.lwtstate import LwtState

STATISTICS = (
    "rx_packets", "rx_bytes", "rx_errors", "rx_dropped", "multicast", "tx_packets", "tx_bytes", "tx_errors", "tx_dropped",
    "collisions", "rx_length_errors", "rx_crc_errors", "rx_frame_errors", "rx_fifo_errors", "tx_aborted_errors", "tx_carrier_errors", "tx_fifo_errors",
)  # fmt: skip
ETH_MIN_MTU, ETH_MAX_MTU = 68, 65535
TX_QUEUE_LEN = 1000


class Qdisc(Protocol):
    """struct Qdisc: a queueing discipline at the root of a device (net/sched/)."""

    addr: int
    handle: int
    kind: str
    dev: NetDevice

    def enqueue(self, skb: int) -> Body:
        """Take a packet, and send what may go (`yield from`)."""
        ...

    def destroy(self) -> None:
        """It is taken off."""


class KernelSock(Protocol):
    """A sock that the kernel has made for itself (sock.py's Sock)."""

    addr: int

    def free(self) -> None:
        """The namespace ends."""
        ...


class Event(Enum):
    """enum netdev_cmd."""

    UP = auto()
    DOWN = auto()
    GOING_DOWN = auto()
    CHANGE = auto()
    REGISTER = auto()
    UNREGISTER = auto()
    CHANGEMTU = auto()
    CHANGEADDR = auto()
    CHANGENAME = auto()
    CHANGE_TX_QUEUE_LEN = auto()
    CHANGEUPPER = auto()


class LinkKind:
    """struct rtnl_link_ops with net_device_ops: a kind of device (devices/)."""

    kind = ""  # IFLA_INFO_KIND; "" where `ip link` shows none
    xmit = ""  # ndo_start_xmit: a kernel function
    tso_max_size = 65536
    qdisc = "noqueue"  # what an up device has at its root
    local = False  # NETIF_F_NETNS_LOCAL: stays in its namespace
    removable = True  # `ip link del`
    native_xdp = False  # ndo_bpf()
    stamps_sent = False  # get_ts_info(): what is sent gets a time
    reports_link = True  # get_link()
    driver_version = ""  # get_drvinfo()
    speed = 0  # get_link_ksettings(): in Mb/s, full duplex; 0: none
    channels = False  # get_channels(), set_channels(): its queues
    features = 1 << 14, 0xA << 56 | 1 << 14 | 1 << 11  # NETIF_F_*: what it does, and what of that may be switched
    ethernet = True  # its frames have an Ethernet header, else none at all
    addr_len = 6  # bytes of a link-layer address
    hard_header_len = 14

    def statistics(self, dev: NetDevice) -> dict[str, int]:
        """get_ethtool_stats(): the driver's own, by name."""
        return {}

    def opened(self, dev: NetDevice) -> None:
        """ndo_open().  KernelError."""

    def stopped(self, dev: NetDevice) -> None:
        """ndo_stop()."""

    def iflink(self, dev: NetDevice) -> int | None:
        """ndo_get_iflink(): the device below, 0 for none; None: it is its own."""
        return None

    def mtu_changed(self, dev: NetDevice) -> None:
        """ndo_change_mtu(), when it is done."""

    def doomed(self, dev: NetDevice) -> list[NetDevice]:
        """dellink(): the devices that go with this one, it first."""
        return [dev]


@dataclass(eq=False, slots=True)
class Ifaddr:
    """struct in_ifaddr and struct inet6_ifaddr."""

    dev: NetDevice
    local: bytes
    prefix: int
    address: bytes  # of the other end, else `local`
    scope: int
    flags: int = 0  # IFA_F_
    broadcast: bytes | None = None
    label: str = ""
    proto: int = 0
    metric: int = 0  # rt_priority
    valid: int = 0xFFFFFFFF  # lifetimes in s
    preferred: int = 0xFFFFFFFF
    created_ns: int = 0
    updated_ns: int = 0
    probes: int = 0  # of duplicate address detection, still to be sent
    timer: int = 0  # struct timer_list


@dataclass(eq=False, slots=True)
class Nexthop:
    """struct fib_nh_common: one way that a route takes."""

    dev: NetDevice | None
    gateway: bytes | None = None
    weight: int = 1
    flags: int = 0  # RTNH_F_
    scope: int = 0
    lwt: LwtState | None = None  # its tunnel
    wanted: Callable[[], LwtState] | None = None  # makes that, as asked for over netlink.  KernelError

    def make_tunnel(self) -> None:
        """lwtunnel_build_state()."""
        if self.wanted is not None:
            self.lwt, self.wanted = self.wanted(), None

    def drop_tunnel(self) -> None:
        """The way is of no use any more."""
        if self.lwt is not None:
            self.lwt.put()
            self.lwt = None


@dataclass(eq=False, slots=True)
class Route:
    """struct fib_alias with its fib_info, and struct fib6_info."""

    dst: bytes
    prefix: int
    table: int
    kind: int  # RTN_
    scope: int = 0
    protocol: int = 0
    priority: int = 0
    tos: int = 0
    nexthops: list[Nexthop] = field(default_factory=list)
    source: bytes | None = None  # prefsrc
    metrics: dict[int, int] = field(default_factory=dict)  # RTAX_
    flags: int = 0  # RTM_F_, and RTF_ of IPv6
    pref: int = 0  # IPv6 router preference
    expires_ns: int | None = None
    congestion: str = ""  # RTAX_CC_ALGO
    addr: int = 0  # struct fib6_info, made for programs that walk it
    charged: int = 0  # bytes of memory
    nh: NexthopObject | None = None  # its ways are then that one's

    @property
    def dev(self) -> NetDevice | None:
        """Of its first way."""
        return self.nexthops[0].dev if self.nexthops else None

    def drop_tunnels(self) -> None:
        """Its ways are of no use any more; those of an object are that one's."""
        if self.nh is None:
            for way in self.nexthops:
                way.drop_tunnel()


@dataclass(eq=False, slots=True)
class NexthopObject:
    """struct nexthop: a way, or a group of others, that routes name by its number."""

    net: Net
    id: int
    family: int  # 0: a group
    protocol: int = 0
    flags: int = 0  # RTNH_F_
    reject: bool = False  # what goes there is dropped
    fdb: bool = False  # of entries in a forwarding table, not of routes
    way: Nexthop | None = None  # of one
    members: list[tuple[NexthopObject, int]] = field(default_factory=list)  # of a group, with their weights
    buckets: BucketTable | None = None  # of a resilient group
    ways: list[Nexthop] = field(default_factory=list)  # what its routes have: always the same list
    routes: list[Route] = field(default_factory=list)  # fi_list and f6i_list, the newest first
    groups: list[NexthopObject] = field(default_factory=list)  # grp_list: those that it is in, the newest first

    @property
    def is_group(self) -> bool:
        """It has members."""
        return bool(self.members)

    @property
    def singles(self) -> list[NexthopObject]:
        """The ways that it stands for, as objects."""
        return [member for member, _ in self.members] or [self]

    @property
    def blackhole(self) -> bool:
        """nexthop_is_blackhole()."""
        singles = self.singles
        return len(singles) == 1 and singles[0].reject

    def sync(self) -> None:
        """Its routes, and those of the groups that it is in, see what it is now."""
        rows = self.members or [(self, 1)]
        self.ways[:] = [
            Nexthop(one.way.dev, one.way.gateway, weight, one.way.flags, one.way.scope, one.way.lwt)
            for one, weight in rows
            if one.way is not None
        ]
        for group in self.groups:
            group.sync()


@dataclass(eq=False, slots=True)
class Bucket:
    """struct nh_res_bucket."""

    member: NexthopObject
    occupied: bool = False
    used: int = 0  # in jiffies
    migrated: int = 0


@dataclass(eq=False, slots=True)
class BucketTable:
    """struct nh_res_table: which packets take which way, kept while that is possible.  Times in jiffies."""

    buckets: list[Bucket]
    idle_timer: int
    unbalanced_timer: int
    unbalanced_since: int = 0
    wants: dict[int, int] = field(default_factory=dict)  # buckets, by the member's number
    under: list[NexthopObject] = field(default_factory=list)  # uw_nh_entries
    timer: int = 0  # struct timer_list


# Bytes of memory, as the host's Python takes them: more than the kernel's slabs.
ROUTE_SIZE = 512
NEXTHOP_SIZE = 192
RULE_SIZE = 384


def _place(route: Route) -> tuple[int, int]:
    return int.from_bytes(route.dst, "big"), route.prefix


class RouteTable:
    """struct fib_table, struct fib6_table: routes by prefix."""

    def __init__(self, number: int, bits: int, charge: Callable[[int], None], trie: Trie | None = None) -> None:
        self.number, self.bits, self.charge = number, bits, charge
        self.trie = trie  # what /proc/net/fib_trie shows; of IPv6 there is none
        self.shared = False  # the local table in the main one's trie, as long as nobody has added a rule
        self.by_length: dict[int, dict[int, list[Route]]] = {}
        self.lengths: tuple[int, ...] = ()  # longest first

    def at(self, dst: bytes, prefix: int) -> list[Route]:
        """The routes of one prefix, in the order in which they are looked at; not to be changed."""
        key = int.from_bytes(dst, "big") >> self.bits - prefix
        return self.by_length.get(prefix, {}).get(key, [])

    def insert(self, route: Route, position: int) -> None:
        """Put a route among those of its prefix.  KernelError(ENOMEM)."""
        size = ROUTE_SIZE + NEXTHOP_SIZE * len(route.nexthops)
        self.charge(size)
        route.charged = size
        if route.nh is not None:
            route.nh.routes.insert(0, route)
        if self.trie is not None:
            self.trie.insert(*_place(route))
        rows = self.by_length.setdefault(route.prefix, {})
        rows.setdefault(int.from_bytes(route.dst, "big") >> self.bits - route.prefix, []).insert(position, route)
        self.lengths = tuple(sorted(self.by_length, reverse=True))

    def remove(self, route: Route) -> None:
        """Take a route out."""
        if self.trie is not None:
            self.trie.remove(*_place(route))
        self._take_out(route)

    def flush(self, dead: list[Route]) -> None:
        """Take many out: fib_table_flush()."""
        if self.trie is not None:
            self.trie.flush(map(_place, dead))
        for route in dead:
            self._take_out(route)

    def _take_out(self, route: Route) -> None:
        self.charge(-route.charged)
        route.drop_tunnels()
        if route.nh is not None:
            route.nh.routes.remove(route)
        rows = self.by_length[route.prefix]
        key = int.from_bytes(route.dst, "big") >> self.bits - route.prefix
        rows[key].remove(route)
        if not rows[key]:
            del rows[key]
        if not rows:
            del self.by_length[route.prefix]
            self.lengths = tuple(sorted(self.by_length, reverse=True))

    def matches(self, address: bytes) -> list[list[Route]]:
        """The routes of every prefix that an address has, the longest first."""
        number, bits, found = int.from_bytes(address, "big"), self.bits, []
        for length in self.lengths:
            rows = self.by_length[length].get(number >> bits - length)
            if rows:
                found.append(rows)
        return found

    def routes(self) -> list[Route]:
        """All of them, by address, the longer prefix first."""
        out: list[Route] = []
        keys = [(key << self.bits - length, -length, rows) for length, by in self.by_length.items() for key, rows in by.items()]  # fmt: skip
        for _, _, rows in sorted(keys, key=lambda row: row[:2]):
            out += rows
        return out


@dataclass(eq=False, slots=True)
class Rule:
    """struct fib_rule."""

    priority: int
    table: int = 0
    action: int = 1  # FR_ACT_TO_TBL
    source: tuple[bytes, int] | None = None
    destination: tuple[bytes, int] | None = None
    tos: int = 0
    mark: int = 0
    mark_mask: int = 0
    iif: str = ""
    oif: str = ""
    flags: int = 0  # FIB_RULE_INVERT and others
    target: int = 0  # FRA_GOTO
    protocol: int = 0
    ip_proto: int = 0
    uids: tuple[int, int] | None = None
    sports: tuple[int, int] | None = None
    dports: tuple[int, int] | None = None
    suppress_prefix: int = -1
    suppress_group: int = -1
    tun_id: int = 0
    l3mdev: bool = False
    flow: int = 0  # FRA_FLOW, of IPv4: tclassid


@dataclass(eq=False)
class Neighbour:
    """struct neighbour."""

    addr: int  # in kernel memory
    dev: NetDevice
    key: bytes
    state: int  # NUD_
    mac: bytes = bytes(6)
    flags: int = 0  # NTF_
    kind: int = 1  # RTN_
    protocol: int = 0
    probes: int = 0
    confirmed_ns: int = 0
    updated_ns: int = 0
    used_ns: int = 0
    refs: int = 0
    timer: int = 0  # struct timer_list
    queue: deque[int] = field(default_factory=deque)  # packets that wait for the address, by their addresses
    dead: bool = False


@dataclass
class Inet:
    """struct netns_ipv4, struct netns_ipv6: what one protocol family has in one namespace."""

    bits: int
    charge: Callable[[int], None]  # kmalloc(), kfree() of so many bytes.  KernelError(ENOMEM)
    tables: dict[int, RouteTable] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)  # by priority
    custom_rules: bool = False
    generation: int = 0  # rt_genid, fib_seq
    cache: dict[tuple[object, ...], object] = field(
        default_factory=dict
    )  # results of look-ups, until something changes
    neighbours: dict[tuple[int, bytes], Neighbour] = field(default_factory=dict)  # by (ifindex, address)
    local: Counter[bytes] = field(default_factory=Counter)  # how often an address is one of ours
    path_mtus: dict[tuple[NetDevice, bytes], int] = field(
        default_factory=dict
    )  # exceptions of routes: what a way is said to hold
    ident: int = 0
    mib: Counter[str] = field(default_factory=Counter)

    def give_back(self) -> None:
        """The namespace ends: what devices did not take with them."""
        for table in self.tables.values():
            for route in table.routes():
                table.remove(route)
        self.charge(-RULE_SIZE * len(self.rules))
        self.rules = []

    def update_pmtu(self, dev: NetDevice, to: bytes, mtu: int) -> None:
        """ip_rt_update_pmtu(), rt6_do_update_pmtu(): packets to somebody by a device have to be shorter from now on."""
        if mtu < self.path_mtus.get((dev, to), 1 << 32):
            self.path_mtus[dev, to] = mtu
            self.changed()

    def forget_pmtus(self, dev: NetDevice) -> None:
        """The routes by a device go, and what was learnt of them."""
        self.path_mtus = {key: mtu for key, mtu in self.path_mtus.items() if key[0] is not dev}

    def in_order(self) -> list[RouteTable]:
        """Tables as the hash has them that they are in."""
        return [self.tables[number] for number in sorted(self.tables, key=lambda n: (n & 255, n))]

    def changed(self) -> None:
        """rt_cache_flush(): what was looked up holds no longer."""
        self.generation += 1
        self.cache.clear()


class Net:
    """struct net: a network namespace."""

    def __init__(self, addr: int, namespace: Namespace, cookie: int, charge: Callable[[int], None]) -> None:
        self.addr = addr
        self.namespace, self.cookie = namespace, cookie
        self.devices: dict[int, NetDevice] = {}  # by ifindex
        self.last_ifindex = 0
        self.sysctl: dict[str, int | str] = {}  # by dotted name, behind "net."
        self.ipv4, self.ipv6 = Inet(32, charge), Inet(128, charge)
        self.nexthops: dict[int, NexthopObject] = {}  # by number
        self.last_nexthop = 0
        self.peers: dict[int, int] = {}  # netns_ids: the address of a struct net -> its number here
        self.conf_all: dict[str, dict[str, int]] = {}  # family -> net.FAMILY.conf.all
        self.conf_default: dict[str, dict[str, int]] = {}
        self.neigh_default: dict[str, dict[str, int]] = {}
        self.sockets = 0  # that keep it
        self.kernel_socks: list[KernelSock] = []  # of netlink, once they were looked at
        self.sysfs: SuperBlock | None = None  # what a sysfs mounted in it is, but for the first namespace
        self.gone = False
        self.dev_base_seq = 1
        self.mib: Counter[str] = Counter()  # TcpExt, IpExt

    @property
    def loopback(self) -> NetDevice:
        """net->loopback_dev."""
        return self.devices[1]

    def named(self, name: str) -> NetDevice | None:
        """__dev_get_by_name(): other names count too."""
        return next((dev for dev in self.devices.values() if dev.name == name or name in dev.altnames), None)

    def inet(self, bits: int) -> Inet:
        """Of the family whose addresses have so many bits."""
        return self.ipv4 if bits == 32 else self.ipv6

    def __repr__(self) -> str:
        return f"Net({self.namespace.ino})"


@dataclass(eq=False)
class NetDevice:
    """A struct net_device."""

    addr: int
    net: Net
    name: str
    ifindex: int
    kind: LinkKind
    mac: bytes
    broadcast: bytes
    mtu: int
    flags: int  # dev->flags
    hardware_type: int  # dev->type
    min_mtu: int = 0
    max_mtu: int = 0
    stats: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATISTICS, 0))
    qdisc: Qdisc | None = None
    tx_queue_len: int = TX_QUEUE_LEN
    carrier: bool = True
    operstate: int = 0  # IF_OPER_
    link_mode: int = 0
    gflags: int = 0  # IFF_PROMISC and IFF_ALLMULTI as user space asked for them
    group: int = 0
    alias: str = ""
    altnames: list[str] = field(default_factory=list)
    promiscuity: int = 0
    allmulti: int = 0
    carrier_changes: int = 0
    peer: NetDevice | None = None  # the other end of a veth, or the device below a VLAN
    master: NetDevice | None = None
    permanent_mac: bytes = b""
    assign_type: int = 0  # NET_NAME_
    mac_assign_type: int = 0  # NET_ADDR_
    queues: tuple[int, int] = (1, 1)  # for sending, for receiving
    gso_max_size: int = 65536
    gso_max_segs: int = 65535
    features: int = 0  # NETIF_F_*: what it does, and what of that may be switched
    hw_features: int = 0
    wanted_features: int = 0  # of those
    proto_down: bool = False
    registered: bool = True
    addresses: list[Ifaddr] = field(default_factory=list)  # in_dev->ifa_list
    addresses6: list[Ifaddr] = field(default_factory=list)  # idev->addr_list
    has_ipv4: bool = False  # there is an in_device
    has_ipv6: bool = False  # there is an inet6_dev
    conf: dict[str, dict[str, int]] = field(default_factory=dict)  # family -> net.FAMILY.conf.NAME
    neigh_conf: dict[str, dict[str, int]] = field(default_factory=dict)  # family -> net.FAMILY.neigh.NAME
    groups: dict[bytes, int] = field(default_factory=dict)  # multicast addresses of both families: users
    heard6: set[bytes] = field(default_factory=set)  # groups of IPv6 that are in mac_list
    mac_list: Counter[bytes] = field(default_factory=Counter)  # dev_mc_add()
    mib6: Counter[str] = field(default_factory=Counter)
    ready6: bool = False  # IF_READY
    ra_mtu: int = 0
    opened: bool = False  # it has been up at some time
    created_ns: int = 0
    rs_probes: int = 0
    private: object = None  # netdev_priv()
    receiver: Callable[[int], Body] | None = None  # rx_handler

    @property
    def up(self) -> bool:
        """IFF_UP."""
        return bool(self.flags & IFF_UP)

    @property
    def loopback(self) -> bool:
        """IFF_LOOPBACK."""
        return bool(self.flags & IFF_LOOPBACK)

    @property
    def xmit(self) -> str:
        """ndo_start_xmit."""
        return self.kind.xmit

    @property
    def ethernet(self) -> bool:
        """Its frames have an Ethernet header."""
        return self.kind.ethernet

    def __repr__(self) -> str:
        return f"NetDevice({self.name!r})"


def in_prefix(address: bytes, network: bytes, prefix: int) -> bool:
    """Do the first bits of two addresses agree?"""
    shift = 8 * len(address) - prefix
    return (
        len(address) == len(network)
        and int.from_bytes(address, "big") >> shift == int.from_bytes(network, "big") >> shift
    )


def masked(address: bytes, prefix: int) -> bytes:
    """An address with the bits behind the prefix cleared."""
    shift = 8 * len(address) - prefix
    return (int.from_bytes(address, "big") >> shift << shift).to_bytes(len(address), "big")


def is_loopback_type(dev: NetDevice) -> bool:
    """ARPHRD_LOOPBACK."""
    return dev.hardware_type == ARPHRD_LOOPBACK
