"""The state of one kernel's network.

Addresses are 4 bytes in network order, ports plain ints; sizes are in bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import chain
from random import Random

from simkernel.net.core.clsact import Clsact
from simkernel.net.core.message import Message
from simkernel.net.core.netdevice import NetDevice, Qdisc
from simkernel.net.core.programs import NetPrograms
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Filter, NetTables, Sock, TimeWait


class Net(NetTables):
    """What net/ keeps in global variables and in struct net (init_net)."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random
        self.devices: dict[int, NetDevice] = {}  # by ifindex
        self.skbs: dict[int, Skb] = {}  # live sk_buffs by kernel address
        self.messages: dict[int, Message] = {}  # by the address of struct msghdr
        self.backlog: deque[Skb] = deque()  # softnet_data.input_pkt_queue
        self.udp: dict[int, list[Sock]] = {}  # bound UDP socks by port
        self.tcp_bound: dict[int, list[Sock]] = {}
        self.tcp_listen: dict[int, list[Sock]] = {}
        self.tcp_established: dict[tuple[bytes, int, bytes, int], Sock] = {}
        self.time_wait: dict[tuple[bytes, int, bytes, int], TimeWait] = {}
        self.qdiscs: dict[int, Qdisc] = {}  # by address
        self.output_queue: list[Qdisc] = []  # softnet_data.output_queue
        self.raw: list[Sock] = []
        self.packet: list[Sock] = []
        self.unix: dict[object, Sock] = {}  # bound unix socks, by inode or abstract name
        self.ip_id = 0
        self.programs = NetPrograms()
        self.clsact: dict[int, Clsact] = {}  # by ifindex
        self.attach_filter: Callable[[int], Filter] | None = None  # the program behind a descriptor, where there is BPF
        # The machine's own count of what happened, to compare observers with: see docs.
        self.counters: dict[str, int] = {"dropped": 0, "received": 0, "transmitted": 0, "bytes_sent": 0}

    def ephemeral_port(self, taken: dict[int, list[Sock]]) -> int:
        """A free local port from net.ipv4.ip_local_port_range, chosen by the machine's seeded randomness."""
        low, high = 32768, 60999
        start = self.random.randrange(low, high + 1)
        for port in chain(range(start, high + 1), range(low, start)):
            if not taken.get(port):
                return port
        return 0
