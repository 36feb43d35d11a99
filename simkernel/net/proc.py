"""/proc/net: interfaces, routes, neighbours and sockets as text.

net/core/net-procfs.c, net/ipv4/{fib_trie,arp,tcp_ipv4,udp,raw}.c, net/unix/af_unix.c, net/packet/af_packet.c.
Lines are as long as the kernel makes them: tools cut them by column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from arch.abi.errno import EACCES
from arch.abi.fcntl import O_ACCMODE, O_RDONLY
from arch.abi.inet import ETH_P_ALL, IPPROTO_TCP, IPPROTO_UDPLITE, TCP_ESTABLISHED, TCP_LISTEN
from arch.abi.rtnetlink import (
    NUD_NOARP,
    NUD_PERMANENT,
    RT_TABLE_MAIN,
    RTAX_ADVMSS,
    RTAX_RTT,
    RTAX_WINDOW,
    RTF_GATEWAY,
    RTF_HOST,
    RTF_REJECT,
    RTF_UP,
    RTN_BROADCAST,
    RTN_MULTICAST,
    RTN_PROHIBIT,
    RTN_UNREACHABLE,
)
from arch.abi.socket import AF_INET, SO_ACCEPTCON, SS_CONNECTED, SS_UNCONNECTED
from arch.abi.time import USER_TICK_NSEC
from arch.errors import KernelError
from simkernel.fs.nodes import Dir, OpenNode, PseudoFile
from simkernel.kernel.task import Task
from simkernel.net.core.fragments import IPV4
from simkernel.net.core.neighbour import NUD_VALID
from simkernel.net.core.netns import Net, NetDevice, Route
from simkernel.net.core.protocols import is_there
from simkernel.net.core.sock import Sock
from simkernel.net.core.taps import TapGroup
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_info import TIMEWAIT, columns, shown_port
from simkernel.net.netlink.sock import NetlinkSock, kernel_socks
from simkernel.net.proc6 import FILES6
from simkernel.net.proc_fib import fib_trie, fib_triestat
from simkernel.net.proc_snmp import SNMP_FILES
from simkernel.net.proc_tables import TABLE_FILES
from simkernel.net.unix.sock import UnixSock

UDP_CLOSED, UDP_CONNECTED = 7, 1


def _hex_address(k: NetKernel, address: bytes, port: int) -> str:
    """An IPv4 address as the number it is in memory, and a port."""
    return f"{int.from_bytes(address, k.mem.byteorder):08X}:{port:04X}"


def _inode_of(sk: Sock) -> int:
    file = sk.socket.file if sk.socket is not None else None
    return int(file.f_inode.i_ino) if file is not None else 0


def dev(k: NetKernel, net: Net) -> str:
    """/proc/net/dev."""
    out = [
        "Inter-|   Receive                                                |  Transmit\n",
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
        "compressed\n",
    ]
    for _, device in sorted(net.devices.items()):
        s = device.stats
        out.append(
            f"{device.name:>6}: {s['rx_bytes']:7d} {s['rx_packets']:7d} {s['rx_errors']:4d} "
            f"{s['rx_dropped']:4d} {0:4d} {0:5d} {0:10d} {s['multicast']:9d} {s['tx_bytes']:8d} "
            f"{s['tx_packets']:7d} {s['tx_errors']:4d} {s['tx_dropped']:4d} {0:4d} {0:5d} {0:7d} {0:10d}\n"
        )
    return "".join(out)


ROUTE_TYPES = {RTN_UNREACHABLE: RTF_REJECT, RTN_PROHIBIT: RTF_REJECT}


def route(k: NetKernel, net: Net) -> str:
    """/proc/net/route: the main table."""
    order = k.mem.byteorder

    def line(r: Route) -> str:
        way = r.nexthops[0] if r.nexthops else None
        gateway = way.gateway if way is not None and way.gateway and len(way.gateway) == 4 else bytes(4)
        flags = (
            RTF_UP
            | (RTF_GATEWAY if any(gateway) else 0)
            | (RTF_HOST if r.prefix == 32 else 0)
            | ROUTE_TYPES.get(r.kind, 0)
        )
        mask = 0xFFFFFFFF << (32 - r.prefix) & 0xFFFFFFFF
        name = way.dev.name if way is not None and way.dev is not None else "*"
        words = [int.from_bytes(part, order) for part in (r.dst, gateway, mask.to_bytes(4, "big"))]
        advmss = r.metrics.get(RTAX_ADVMSS, 0)
        text = (
            f"{name}\t{words[0]:08X}\t{words[1]:08X}\t{flags:04X}\t0\t0\t{r.priority}\t{words[2]:08X}\t"
            f"{advmss + 40 if advmss else 0}\t{r.metrics.get(RTAX_WINDOW, 0)}\t{r.metrics.get(RTAX_RTT, 0) >> 3}"
        )
        return text.ljust(127) + "\n"

    head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
    table = net.ipv4.tables.get(RT_TABLE_MAIN)
    rows = [r for r in (table.routes() if table is not None else []) if r.kind not in (RTN_BROADCAST, RTN_MULTICAST)]
    return head.ljust(127) + "\n" + "".join(line(r) for r in rows)


def arp(k: NetKernel, net: Net) -> str:
    """/proc/net/arp."""
    out = ["IP address       HW type     Flags       HW address            Mask     Device\n"]
    for n in net.ipv4.neighbours.values():
        if n.state & NUD_NOARP:
            continue
        flags = 6 if n.state & NUD_PERMANENT else 2 if n.state & NUD_VALID else 0
        mac = ":".join(f"{byte:02x}" for byte in n.mac)
        name = ".".join(map(str, n.key))
        out.append(f"{name:<16} 0x{1:<10x}0x{flags:<10x}{mac:<17}     *        {n.dev.name}\n")
    return "".join(out)


def _inet_line(k: NetKernel, number: int, sk: Sock, state: int, tail: str) -> str:
    local, remote = _hex_address(k, sk.laddr, shown_port(sk)), _hex_address(k, sk.raddr, sk.rport)
    return f"{number:4d}: {local} {remote} {state:02X} {columns(sk)} {_inode_of(sk)} {tail}"


def tcp(k: NetKernel, net: Net) -> str:
    """/proc/net/tcp: listening sockets, then connections, then the dying."""
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
    out = [head.ljust(149) + "\n"]
    for sk in (*k.net.in_order(net, k.net.tcp_listen), *k.net.connections(net)):
        if sk.family != AF_INET:
            continue
        tail = f"1 {sk.addr:x} 100 0 0 10 {0 if sk.state == TCP_LISTEN else -1}"
        out.append(_inet_line(k, len(out) - 1, sk, sk.state, tail).ljust(149) + "\n")
    for key in sorted((key for key in k.net.time_wait if key[0] is net), key=lambda key: key[1:]):
        _, laddr, lport, raddr, rport = key
        closed = k.net.time_wait[key]
        left = max(closed.ends_ns - k.clock.now_ns, 0) // USER_TICK_NSEC
        text = (
            f"{len(out) - 1:4d}: {_hex_address(k, laddr, lport)} {_hex_address(k, raddr, rport)} {closed.state:02X} "
            f"{0:08X}:{0:08X} {TIMEWAIT:02X}:{left:08X} {0:08X} {0:5d} {0:8d} 0 3 0"
        )
        out.append(text.ljust(149) + "\n")
    return "".join(out)


def _datagram_table(k: NetKernel, socks: Iterable[Sock]) -> str:
    head = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops"
    out = [head.ljust(127) + "\n"]
    for sk in socks:
        state = UDP_CONNECTED if sk.state == TCP_ESTABLISHED else UDP_CLOSED
        number = sk.lport & 0xFFFF
        out.append((" " + _inet_line(k, number, sk, state, f"2 {sk.addr:x} {sk.drops}")).ljust(127) + "\n")
    return "".join(out)


def udp(k: NetKernel, net: Net) -> str:
    """/proc/net/udp."""
    return _datagram_table(k, [sk for sk in k.net.in_order(net, k.net.udp) if sk.family == AF_INET])


def udplite(k: NetKernel, net: Net) -> str:
    """/proc/net/udplite."""
    return _datagram_table(k, [sk for sk in k.net.in_order(net, k.net.udplite) if sk.family == AF_INET])


def icmp(k: NetKernel, net: Net) -> str:
    """/proc/net/icmp: sockets of ping."""
    table = _datagram_table(k, [sk for sk in k.net.in_order(net, k.net.ping) if sk.family == AF_INET])
    return table.replace("   sl", "  sl", 1).replace("drops", "drops ", 1)


def raw(k: NetKernel, net: Net) -> str:
    """/proc/net/raw."""
    table = _datagram_table(k, [sk for sk in k.net.raw if sk.net is net and sk.family == AF_INET])
    first, _, rest = table.partition("\n")
    return first.strip().replace("sl ", "  sl ", 1) + "\n" + rest


def unix(k: NetKernel, net: Net) -> str:
    """/proc/net/unix: bound or connected, in the order in which they were made."""
    out = ["Num       RefCount Protocol Flags    Type St Inode Path\n"]
    for sk in k.net.socks.values():
        if not isinstance(sk, UnixSock) or sk.net is not net:
            continue
        flags = SO_ACCEPTCON if sk.state == TCP_LISTEN else 0
        state = SS_CONNECTED if sk.state == TCP_ESTABLISHED else SS_UNCONNECTED
        name = sk.name.rstrip(b"\0") if sk.name[:1] != b"\0" else b"@" + sk.name[1:]
        text = name.decode("utf-8", "surrogateescape")
        row = f"{sk.addr:016x}: {2 + (sk.peer is not None):08X} {0:08X} {flags:08X} {sk.type:04X} {state:02X} {_inode_of(sk):5d}"
        out.append(row + (f" {text}" if text else "") + "\n")
    return "".join(out)


def packet(k: NetKernel, net: Net) -> str:
    """/proc/net/packet."""
    out = ["sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"]
    for sk in k.net.packet:
        if sk.net is net:
            out.append(
                f"{sk.addr:016x} 3      {sk.type:<4d} {sk.protocol:04x}   {sk.bound_ifindex:<5d} 1 {sk.rmem:<6d} 0      {_inode_of(sk)}\n"
            )
    return "".join(out)


def netlink(k: NetKernel, net: Net) -> str:
    """/proc/net/netlink."""
    out = ["sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"]
    shown: list[object] = [*kernel_socks(k, net), *k.net.netlink]
    mine = [sk for sk in shown if isinstance(sk, NetlinkSock) and sk.net is net]
    for sk in sorted(mine, key=lambda sk: sk.protocol):
        out.append(
            f"{sk.addr:016x} {sk.protocol:<3d} {sk.portid:<10d} {sk.groups:08x} {sk.rmem:<8d} {0:<8d} {0:<5d} {2:<8d} "
            f"{sk.drops:<8d} {_inode_of(sk):<8d}\n"
        )
    return "".join(out)


def sockstat(k: NetKernel, net: Net) -> str:
    """/proc/net/sockstat."""
    mine = [sk for sk in k.net.socks.values() if sk.net is net]
    streams = sum(1 for sk in mine if sk.protocol == IPPROTO_TCP and sk.family == AF_INET)
    every = sum(sk.protocol == IPPROTO_TCP and sk.net is net for sk in k.net.socks.values())
    datagrams = sum(sk.family == AF_INET for sk in k.net.in_order(net, k.net.udp))
    light = sum(sk.family == AF_INET for sk in k.net.in_order(net, k.net.udplite))
    light_line = f"UDPLITE: inuse {light}\n" if is_there(k, IPPROTO_UDPLITE) else ""
    waiting = sum(key[0] is net for key in k.net.time_wait)
    raws = sum(sk.net is net for sk in k.net.raw)
    return (
        f"sockets: used {net.sockets}\nTCP: inuse {streams} orphan 0 tw {waiting} alloc {every} "
        f"mem 0\nUDP: inuse {datagrams} mem 0\n{light_line}RAW: inuse {raws}\n"
        f"FRAG: inuse {k.net.fragments.count(net, IPV4)} memory {k.net.fragments.memory.get((net, IPV4), 0)}\n"
    )


def dev_mcast(k: NetKernel, net: Net) -> str:
    """/proc/net/dev_mcast: link-layer groups."""
    out = []
    for _, device in sorted(net.devices.items()):
        for mac, users in device.mac_list.items():
            out.append(f"{device.ifindex:<4d} {device.name:<15} {users:<5d} {0:<5d} {mac.hex()}\n")
    return "".join(out)


def igmp(k: NetKernel, net: Net) -> str:
    """/proc/net/igmp."""
    out = ["Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n"]
    for _, device in sorted(net.devices.items()):
        groups = _groups(device)
        if not groups:
            continue
        out.append(f"{device.ifindex}\t{device.name:<10}: {len(groups):5d}      V3\n")
        for group, users in reversed(groups):
            out.append(f"\t\t\t\t{int.from_bytes(group, k.mem.byteorder):08X} {users:5d} 0:{0:08X}\t\t0\n")
    return "".join(out)


def _groups(device: NetDevice) -> list[tuple[bytes, int]]:
    return [(group, users) for group, users in device.groups.items() if len(group) == 4]


def ptype(k: NetKernel, net: Net) -> str:
    """/proc/net/ptype: who takes which frames."""
    out = ["Type Device      Function\n"]
    groups: set[TapGroup] = set()
    for sk in k.net.packet:
        if sk.net is net and sk.group not in groups:
            if sk.group is not None:
                groups.add(sk.group)
            hears = sk.hears if sk.group is None else "packet_rcv_fanout"
            found = net.devices.get(sk.bound_ifindex)
            kind = "ALL " if sk.protocol == ETH_P_ALL else f"{sk.protocol:04x}"
            out.append(f"{kind} {found.name if found is not None else '':<8} {hears}\n")
    for number, function in k.net.packet_types.items():
        out.append(f"{number:04x} {'':<8} {function}\n")
    return "".join(out)


Show = Callable[[NetKernel, Net], str]
FILES: list[tuple[str, Show]] = [
    ("arp", arp), ("dev", dev), ("dev_mcast", dev_mcast), ("fib_trie", fib_trie), ("fib_triestat", fib_triestat), ("icmp", icmp), ("igmp", igmp), ("netlink", netlink),
    ("packet", packet), ("ptype", ptype), ("raw", raw), ("route", route), ("sockstat", sockstat), ("tcp", tcp), ("udp", udp), ("udplite", udplite),
    ("unix", unix), *FILES6, *SNMP_FILES, *TABLE_FILES,
]  # fmt: skip


# Opened by single_open_net() or as a file of no namespace; the others are proc_create_net()'s.
SINGLE = {
    "fib_triestat",
    "netstat",
    "psched",
    "rt_cache",
    "snmp",
    "snmp6",
    "sockstat",
    "sockstat6",
    "softnet_stat",
    "xfrm_stat",
}


class NetFile(PseudoFile):
    """A file of proc_create_net(): nobody writes it."""

    def open(self, flags: int) -> OpenNode:
        """seq_open_net().  EACCES."""
        if flags & O_ACCMODE != O_RDONLY:
            raise KernelError(EACCES)
        return super().open(flags)


def _file(k: NetKernel, name: str, text: Callable[[], str]) -> PseudoFile:
    later = name not in SINGLE and k.version.at_least("4.18")
    return NetFile(text) if later else PseudoFile(text)


def _is_shown(k: NetKernel, name: str) -> bool:
    return not name.startswith("udplite") or is_there(k, IPPROTO_UDPLITE)


def install(k: NetKernel) -> None:
    """A directory for each namespace, made when it is first looked at."""
    made: dict[int, Dir] = {}

    def of(task: Task) -> Dir:
        net = k.net.of(task)
        found = made.get(net.cookie)
        if found is None:
            found = made[net.cookie] = Dir(
                {name: _file(k, name, partial(show, k, net)) for name, show in FILES if _is_shown(k, name)}
            )
        return found

    k.vfs.proc_net_of = of
