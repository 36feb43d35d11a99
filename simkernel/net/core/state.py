"""The state of one kernel's network: what all its namespaces share.

Addresses are bytes in network order, ports plain ints; sizes are in bytes.  As in Linux, sockets of all namespaces lie in one
table, and the namespace is part of the key.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from itertools import chain
from random import Random

from arch.abi.inet import IPPROTO_UDPLITE
from simkernel.fs.inode import File
from simkernel.kernel.task import Task
from simkernel.net.core.announce import Announcements
from simkernel.net.core.charges import Charges
from simkernel.net.core.clsact import Classifier, Clsact
from simkernel.net.core.families import Reply, Solicitor
from simkernel.net.core.fragments import Fragments
from simkernel.net.core.message import Message
from simkernel.net.core.netns import Event, Ifaddr, LinkKind, Neighbour, Net, NetDevice, NexthopObject, Qdisc
from simkernel.net.core.programs import NetPrograms
from simkernel.net.core.skb import Dst, Skb
from simkernel.net.core.sock import Filter, NetTables, PortTable, Sock, TimeWait
from simkernel.net.core.taps import Tap, TapGroup

Flow = tuple[Net, bytes, int, bytes, int]  # namespace, own address and port, the other's

Way = Callable[
    [NetDevice, bytes, bytes, int], Dst
]  # out of a device, from an address to another, with a mark.  KernelError

WayOut = Callable[
    [Net, bytes, bytes, int, int, int], Dst
]  # from an address to another, by a device or 0, with tos and mark
WayIn = Callable[[NetDevice, bytes, bytes, int, int], Dst]  # the same of what came by a device


class Network(NetTables):
    """What net/ keeps in global variables."""

    init: Net  # init_net

    def __init__(self, random: Random, seed: int, charges: Charges) -> None:
        super().__init__()
        self.charges = charges
        self.random = random
        self.own_random = Random(
            f"net {seed}"
        )  # addresses of devices, delays of protocols: others get the same numbers as without
        self.spaces: dict[int, Net] = {}  # net_namespace_list, by the address of struct net
        self.last_cookie = 0
        self.sysctl: dict[str, int | str] = {}  # what is not a namespace's, by dotted name behind "net."
        self.devices: dict[int, NetDevice] = {}  # of all namespaces, by the address of struct net_device
        self.skbs: dict[int, Skb] = {}  # live sk_buffs by kernel address
        self.messages: dict[int, Message] = {}  # by the address of struct msghdr
        self.tx_result = 0  # *ret of dev_hard_start_xmit(): what the driver said of the last frame
        self.backlog: deque[Skb] = deque()  # softnet_data.input_pkt_queue
        self.backlog_napi = 0  # &softnet_data.backlog: the struct napi_struct that polls it, of no device
        self.udp: PortTable = {}  # bound UDP socks by port
        self.udplite: PortTable = {}
        self.tcp_bound: PortTable = {}
        self.tcp_listen: PortTable = {}
        self.tcp_established: dict[Flow, Sock] = {}
        self.time_wait: dict[Flow, TimeWait] = {}
        self.qdiscs: dict[int, Qdisc] = {}  # by address
        self.output_queue: list[Qdisc] = []  # softnet_data.output_queue
        self.ping: PortTable = {}  # by identifier
        self.ethnl_seq = 0  # ethnl_bcast_seq
        self.resilient: dict[int, NexthopObject] = {}  # groups whose buckets a timer moves, by that
        self.netlink: list[Sock] = []
        self.raw: list[Sock] = []
        self.fragments = Fragments()  # packets of which pieces have come
        self.packet: list[Tap] = []
        self.fanouts: dict[int, TapGroup] = {}  # groups of packet socks by address
        self.next_fanout = 0  # fanout_next_id
        self.ring_timers: dict[int, Tap] = {}  # whose ring of blocks a timer is for
        self.xsk_queues: dict[tuple[int, int], object] = {}  # who has a queue of a device: xdp/pool.py
        self.locked_pages: Counter[int] = Counter()  # user_struct.locked_vm, by uid
        self.unix: dict[object, Sock] = {}  # bound unix socks, by inode or by (namespace, abstract name)
        self.inflight: dict[Sock, int] = {}  # unix socks that were sent and not yet received: how often
        self.tot_inflight = 0  # and in all
        self.gc_in_progress = False
        self.falling: deque[File] = deque()  # files that unix socks had and drop
        self.files_fall = False
        self.last_autobind = -1
        self.packet_types: dict[int, str] = {}  # ptype_base: Ethernet type -> kernel function
        self.tunnel_protocols: dict[int, str] = {}  # inet_protos[] of modules: protocol of IPv4 -> kernel function
        self.programs = NetPrograms()
        self.announce = Announcements()
        self.netdev_chain: list[Callable[[NetDevice, Event], None]] = []  # who is told of devices
        self.departure_chain: list[Callable[[Net], None]] = []  # who has something on one that goes
        self.namespace_chain: list[Callable[[Net], None]] = []  # who adds to a new namespace
        self.linkwatch: list[NetDevice] = []  # whose carrier came or went
        self.lifetimes: dict[int, Ifaddr] = {}  # addresses that end, by the address of their timers
        self.neighbours: dict[int, Neighbour] = {}  # by address
        self.neighbour_tables: dict[int, int] = {}  # address family -> struct neigh_table
        self.solicitors: dict[int, Solicitor] = {}  # by address family
        self.ways: dict[int, Way] = {}  # by the length of an address
        self.ways_out: dict[int, WayOut] = {}  # by the length of an address
        self.ways_in: dict[int, WayIn] = {}
        self.lwt_depth = 0  # tunnels of routes that a packet is in, one within another
        self.replies: dict[int, Reply] = {}  # by the length of an address
        self.kinds: dict[str, LinkKind] = {}  # of devices that can be made
        self.clsact: dict[int, Clsact] = {}  # by the address of struct net_device
        # programs of bpf(2), by that address and whether they are on the way in; since 6.6
        self.tcx: dict[tuple[int, bool], list[Classifier]] = {}
        self.attach_filter: Callable[[int], Filter] | None = None  # the program behind a descriptor, where there is BPF
        # The machine's own count of what happened, to compare observers with: see docs.
        self.counters: dict[str, int] = {"dropped": 0, "received": 0, "transmitted": 0, "bytes_sent": 0}

    def of(self, task: Task) -> Net:
        """task->nsproxy->net_ns."""
        found = task.namespaces.get("net")
        if found is None:
            return self.init
        assert isinstance(found.state, Net)
        return found.state

    def ephemeral_port(self, net: Net, taken: PortTable) -> int:
        """A free local port from net.ipv4.ip_local_port_range, chosen by the machine's seeded randomness."""
        low, high = map(int, str(net.sysctl["ipv4.ip_local_port_range"]).split())
        start = self.random.randrange(low, high + 1)
        for port in chain(range(start, high + 1), range(low, start)):
            if not taken.get((net, port)):
                return port
        return 0

    def datagrams(self, protocol: int) -> PortTable:
        """sk->sk_prot->h.udp_table: UDP and UDP-Lite have ports of their own."""
        return self.udplite if protocol == IPPROTO_UDPLITE else self.udp

    def in_order(self, net: Net, table: PortTable) -> list[Sock]:
        """The socks of a namespace by port."""
        keys = sorted((key for key in table if key[0] is net), key=lambda key: key[1])
        return [sk for key in keys for sk in table[key]]

    def connections(self, net: Net) -> list[Sock]:
        """Those of a namespace, by their addresses."""
        keys = sorted((key for key in self.tcp_established if key[0] is net), key=lambda key: key[1:])
        return [self.tcp_established[key] for key in keys]
