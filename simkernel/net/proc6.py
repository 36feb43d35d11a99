"""/proc/net of IPv6.  net/ipv6/{addrconf,route,mcast,proc,tcp_ipv6,datagram}.c."""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.in6 import NDISC_NEIGHBOUR_SOLICITATION
from arch.abi.inet import IPPROTO_TCP, IPPROTO_UDPLITE, TCP_ESTABLISHED, TCP_LISTEN
from arch.abi.rtnetlink import (
    RT_TABLE_LOCAL,
    RT_TABLE_MAIN,
    RTF_GATEWAY,
    RTF_LOCAL,
    RTF_NONEXTHOP,
    RTF_REJECT,
    RTF_UP,
    RTN_ANYCAST,
    RTN_LOCAL,
)
from arch.abi.socket import AF_INET6
from simkernel.net.core.fragments import IPV6
from simkernel.net.core.netns import Net, Nexthop, Route
from simkernel.net.core.protocols import is_there
from simkernel.net.core.sock import Sock, mapped
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_info import columns, shown_port
from simkernel.net.ipv6 import mcast
from simkernel.net.ipv6.addr import ALL_NODES, ALL_NODES_HERE, SCOPE_LINK, SCOPE_NODE, SCOPE_SITE, scope
from simkernel.net.ipv6.ip6_fib import REFUSALS, in_order

SCOPES = {SCOPE_NODE: 0x10, SCOPE_LINK: 0x20, SCOPE_SITE: 0x40}
UNREACHED = "0" * 32 + " 00 " + "0" * 32 + " 00 " + "0" * 32 + " ffffffff 00000001 00000000 00200200 "


def if_inet6(k: NetKernel, net: Net) -> str:
    """/proc/net/if_inet6."""
    return "".join(
        f"{a.local.hex()} {d.ifindex:02x} {a.prefix:02x} {SCOPES.get(scope(a.local), 0):02x} {a.flags & 0xFF:02x} {d.name:>8}\n"
        for _, d in sorted(net.devices.items()) for a in d.addresses6
    )  # fmt: skip


def ipv6_route(k: NetKernel, net: Net) -> str:
    """/proc/net/ipv6_route: ways one by one, then the route of those who have none."""
    refused = UNREACHED + f"{net.loopback.name:>8}\n"
    return "".join(refused if found is None else _route_line(*found) for found in all_routes(net))


def all_routes(net: Net) -> Iterator[tuple[Route, Nexthop] | None]:
    """As fib6_walk() comes to them; None is fib6_null_entry, the root of a table without a route for all."""
    tables = net.ipv6.tables
    for number in sorted({RT_TABLE_MAIN, RT_TABLE_LOCAL, *tables}, key=lambda n: (n & 255, n)):
        routes = in_order(tables[number]) if number in tables else []
        for route in routes:
            for way in route.nexthops:
                yield route, way
        if not any(route.prefix == 0 for route in routes):
            yield None


def route_flags(route: Route, way: Nexthop) -> int:
    """RTF_ of one way."""
    flags = RTF_UP | (RTF_GATEWAY if way.gateway is not None else 0)
    if route.kind in (RTN_LOCAL, RTN_ANYCAST):
        flags |= RTF_LOCAL | RTF_NONEXTHOP
    if route.kind in REFUSALS:
        flags = RTF_REJECT | RTF_NONEXTHOP
    return flags


def _route_line(route: Route, way: Nexthop) -> str:
    flags = route_flags(route, way)
    gateway = (way.gateway or bytes(16)).hex()
    name = way.dev.name if way.dev is not None else ""
    return f"{route.dst.hex()} {route.prefix:02x} {'0' * 32} 00 {gateway} {route.priority:08x} 00000001 00000000 {flags:08x} {name:>8}\n"


def igmp6(k: NetKernel, net: Net) -> str:
    """/proc/net/igmp6."""
    flags = {ALL_NODES: 0xC, ALL_NODES_HERE: 8}
    return "".join(
        f"{d.ifindex:<4d} {d.name:<15} {group.hex()} {d.groups[group]:5d} {flags.get(group, 4):08X} 0\n"
        for _, d in sorted(net.devices.items()) for group in mcast.groups(d)
    )  # fmt: skip


IP6 = (
    "InReceives", "InHdrErrors", "InTooBigErrors", "InNoRoutes", "InAddrErrors", "InUnknownProtos", "InTruncatedPkts",
    "InDiscards", "InDelivers", "OutForwDatagrams", "OutRequests", "OutDiscards", "OutNoRoutes", "ReasmTimeout", "ReasmReqds",
    "ReasmOKs", "ReasmFails", "FragOKs", "FragFails", "FragCreates", "InMcastPkts", "OutMcastPkts", "InOctets", "OutOctets",
    "InMcastOctets", "OutMcastOctets", "InBcastOctets", "OutBcastOctets", "InNoECTPkts", "InECT1Pkts", "InECT0Pkts", "InCEPkts",
)  # fmt: skip
ICMP6 = ("InMsgs", "InErrors", "OutMsgs", "OutErrors", "InCsumErrors", "OutRateLimitHost")
# icmp6type2name[]
TYPES = {
    1: "DestUnreachs", 2: "PktTooBigs", 3: "TimeExcds", 4: "ParmProblems", 128: "Echos", 129: "EchoReplies",
    130: "GroupMembQueries", 131: "GroupMembResponses", 132: "GroupMembReductions", 133: "RouterSolicits",
    134: "RouterAdvertisements", NDISC_NEIGHBOUR_SOLICITATION: "NeighborSolicits", 136: "NeighborAdvertisements", 137: "Redirects",
    143: "MLDv2Reports",
}  # fmt: skip
UDP6 = (
    "InDatagrams", "NoPorts", "InErrors", "OutDatagrams", "RcvbufErrors", "SndbufErrors", "InCsumErrors", "IgnoredMulti", "MemErrors",
)  # fmt: skip


def snmp6(k: NetKernel, net: Net) -> str:
    """/proc/net/snmp6."""
    mib = net.ipv6.mib
    rows = [(f"Ip6{name}", mib[name]) for name in IP6] + [(f"Icmp6{name}", mib[f"Icmp6{name}"]) for name in ICMP6]
    for way in ("In", "Out"):
        rows += [(f"Icmp6{way}{name}", mib[f"Icmp6{way}Type{kind}"]) for kind, name in TYPES.items()]
    for way in ("In", "Out"):
        seen = sorted(int(key[len(f"Icmp6{way}Type") :]) for key in mib if key.startswith(f"Icmp6{way}Type"))
        rows += [(f"Icmp6{way}Type{kind}", mib[f"Icmp6{way}Type{kind}"]) for kind in seen]
    rows += [(f"Udp6{name}", net.ipv4.mib[f"Udp6{name}"]) for name in UDP6]
    light = is_there(k, IPPROTO_UDPLITE)
    rows += [(f"UdpLite6{name}", net.ipv4.mib[f"UdpLite6{name}"]) for name in UDP6 if light and name != "IgnoredMulti"]
    return "".join(f"{name:<32}\t{value}\n" for name, value in rows)


def sockstat6(k: NetKernel, net: Net) -> str:
    """/proc/net/sockstat6."""
    mine = [sk for sk in k.net.socks.values() if sk.net is net and sk.family == AF_INET6]
    streams = sum(sk.protocol == IPPROTO_TCP for sk in mine)
    datagrams = sum(sk.family == AF_INET6 for sk in k.net.in_order(net, k.net.udp))
    light = sum(sk.family == AF_INET6 for sk in k.net.in_order(net, k.net.udplite))
    light_line = f"UDPLITE6: inuse {light}\n" if is_there(k, IPPROTO_UDPLITE) else ""
    raws = sum(sk.net is net and sk.family == AF_INET6 for sk in k.net.raw)
    fragments = k.net.fragments
    return (
        f"TCP6: inuse {streams}\nUDP6: inuse {datagrams}\n{light_line}RAW6: inuse {raws}\n"
        f"FRAG6: inuse {fragments.count(net, IPV6)} memory {fragments.memory.get((net, IPV6), 0)}\n"
    )


# -- sockets -----------------------------------------------------------------------------------------------------------

SOCKETS_HEAD = (
    "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt"
    "   uid  timeout inode"
)


def _name(k: NetKernel, address: bytes, port: int) -> str:
    raw, order = mapped(address), k.mem.byteorder
    return "".join(f"{int.from_bytes(raw[i : i + 4], order):08X}" for i in (0, 4, 8, 12)) + f":{port:04X}"


def _line(k: NetKernel, sk: Sock, state: int) -> str:
    file = sk.socket.file if sk.socket is not None else None
    inode = file.f_inode.i_ino if file is not None else 0
    return f"{_name(k, sk.laddr, shown_port(sk))} {_name(k, sk.raddr, sk.rport)} {state:02X} {columns(sk)} {inode}"


def tcp6(k: NetKernel, net: Net) -> str:
    """/proc/net/tcp6."""
    out = [SOCKETS_HEAD + "\n"]
    for sk in (*k.net.in_order(net, k.net.tcp_listen), *k.net.connections(net)):
        if sk.family == AF_INET6:
            listens = sk.state == TCP_LISTEN
            out.append(f"{len(out) - 1:4d}: {_line(k, sk, sk.state)} 1 {sk.addr:x} 100 0 0 10 {0 if listens else -1}\n")
    return "".join(out)


def _datagrams(k: NetKernel, socks: list[Sock]) -> str:
    out = [SOCKETS_HEAD + " ref pointer drops\n"]
    for sk in socks:
        if sk.family == AF_INET6:
            state = 1 if sk.state == TCP_ESTABLISHED else 7
            out.append(f"{sk.lport:5d}: {_line(k, sk, state)} 2 {sk.addr:x} {sk.drops}\n")
    return "".join(out)


def udp6(k: NetKernel, net: Net) -> str:
    """/proc/net/udp6."""
    return _datagrams(k, k.net.in_order(net, k.net.udp))


def udplite6(k: NetKernel, net: Net) -> str:
    """/proc/net/udplite6."""
    return _datagrams(k, k.net.in_order(net, k.net.udplite))


def icmp6(k: NetKernel, net: Net) -> str:
    """/proc/net/icmp6."""
    return _datagrams(k, k.net.in_order(net, k.net.ping))


def raw6(k: NetKernel, net: Net) -> str:
    """/proc/net/raw6."""
    return _datagrams(k, [sk for sk in k.net.raw if sk.net is net])


FILES6 = [
    ("icmp6", icmp6), ("if_inet6", if_inet6), ("igmp6", igmp6), ("ipv6_route", ipv6_route), ("raw6", raw6), ("snmp6", snmp6),
    ("sockstat6", sockstat6), ("tcp6", tcp6), ("udp6", udp6),
    ("udplite6", udplite6),
]  # fmt: skip
