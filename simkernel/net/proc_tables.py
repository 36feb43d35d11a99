"""Files of /proc/net about what most machines have none of, and about the protocols themselves.  net/core/{sock,net-procfs}.c, net/sched/sch_api.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.inet import IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE
from arch.abi.socket import AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_UNIX, AF_XDP, SOCK_DGRAM, SOCK_RAW, SOCK_STREAM
from simkernel.net.core.netns import Net
from simkernel.net.core.protocols import is_there
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel

PSCHED = "000003e8 00000040 000f4240 3b9aca00\n"  # ns of a tick, ticks of a second, and the timer's
RT_CACHE = (
    "Iface\tDestination\tGateway \tFlags\t\tRefCnt\tUse\tMetric\tSource\t\tMTU\tWindow\tIRTT\tTOS\tHHRef\tHHUptod\tSpecDst".ljust(
        127
    )
    + "\n"
)
MCFILTER = "Idx Device        MCA        SRC    INC    EXC\n"
MCFILTER6 = "Idx Device                Multicast Address                   Source Address    INC    EXC\n"
WIRELESS = (
    "Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE\n"
    " face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22\n"
)
IP_MR_VIF = "Interface      BytesIn  PktsIn  BytesOut PktsOut Flags Local    Remote\n"
IP_MR_CACHE = "Group    Origin   Iif     Pkts    Bytes    Wrong Oifs\n"
IP6_MR_VIF = "Interface      BytesIn  PktsIn  BytesOut PktsOut Flags\n"
IP6_MR_CACHE = (
    "Group                            Origin                           Iif      Pkts  Bytes     Wrong  Oifs\n"
)
IP6_FLOWLABEL = "Label S Owner  Users  Linger Expires  Dst                              Opt\n"
XFRM_STAT_NAMES = """
    InError InBufferError InHdrError InNoStates InStateProtoError InStateModeError InStateSeqError InStateExpired InStateMismatch
    InStateInvalid InTmplMismatch InNoPols InPolBlock InPolError OutError OutBundleGenError OutBundleCheckError OutNoStates
    OutStateProtoError OutStateModeError OutStateSeqError OutStateExpired OutPolBlock OutPolDead OutPolError FwdHdrError OutStateInvalid
    AcquireError
"""
XFRM_STAT = XFRM_STAT_NAMES.split()
PROTOCOLS_HEAD = "protocol  size sockets  memory press maxhdr  slab module     cl co di ac io in de sh ss gs se re sp bi br ha uh gp em\n"
# struct proto of 6.1: name, size, memory, pressure, header, slab, which of its functions there are; and whose sockets it has
PROTOCOLS = (
    ("PACKET", 1600, -1, "NI", 0, "no", "nnnnnnnnnnnnnnnnnnn", (AF_PACKET, None, None)),
    ("PINGv6", 1200, -1, "NI", 0, "yes", "yyynnynnyyyynyyyyyn", (AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6)),
    ("RAWv6", 1200, -1, "NI", 0, "yes", "yyynyyynyyyynyyyynn", (AF_INET6, SOCK_RAW, None)),
    ("UDPLITEv6", 1344, 0, "NI", 0, "yes", "yyynyyynyyyynnnyyyn", (AF_INET6, SOCK_DGRAM, IPPROTO_UDPLITE)),
    ("UDPv6", 1344, 0, "NI", 0, "yes", "yyynyyynyyyynnnyyyn", (AF_INET6, SOCK_DGRAM, IPPROTO_UDP)),
    ("TCPv6", 2440, 0, "no", 320, "yes", "yyyyyyyyyyyyynyyyyy", (AF_INET6, SOCK_STREAM, IPPROTO_TCP)),
    ("XDP", 1024, -1, "NI", 0, "no", "nnnnnnnnnnnnnnnnnnn", (AF_XDP, None, None)),
    ("UNIX-STREAM", 1024, -1, "NI", 0, "yes", "ynnnnnnnnnnnnnnnynn", (AF_UNIX, SOCK_STREAM, None)),
    ("UNIX", 1024, -1, "NI", 0, "yes", "ynnnnnnnnnnnnnnnnnn", (AF_UNIX, None, None)),
    ("PING", 992, -1, "NI", 0, "yes", "yyynnynnyyyynyyyyyn", (AF_INET, SOCK_DGRAM, IPPROTO_ICMP)),
    ("RAW", 1000, -1, "NI", 0, "yes", "yyynyyynyyyynyyyynn", (AF_INET, SOCK_RAW, None)),
    ("UDP-Lite", 1152, 0, "NI", 0, "yes", "yyynyyynyyyyynnyyyn", (AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE)),
    ("UDP", 1152, 0, "NI", 0, "yes", "yyynyyynyyyyynnyyyn", (AF_INET, SOCK_DGRAM, IPPROTO_UDP)),
    ("TCP", 2280, 0, "no", 320, "yes", "yyyyyyyyyyyyynyyyyy", (AF_INET, SOCK_STREAM, IPPROTO_TCP)),
    ("NETLINK", 1088, -1, "NI", 0, "no", "nnnnnnnnnnnnnnnnnnn", (AF_NETLINK, None, None)),
)  # fmt: skip
Show = Callable[[NetKernel, Net], str]
Kind = tuple[int, int | None, int | None]  # family, type, protocol; None: any


def _is(sk: Sock, kind: Kind) -> bool:
    family, type_, protocol = kind
    if family == AF_UNIX and type_ is None and sk.type == SOCK_STREAM:
        return False
    return sk.family == family and type_ in (None, sk.type) and protocol in (None, sk.protocol)


def protocols(k: NetKernel, net: Net) -> str:
    """/proc/net/protocols."""
    mine = [sk for sk in k.net.socks.values() if sk.net is net]
    out = PROTOCOLS_HEAD
    for name, size, memory, pressure, header, slab, functions, kind in PROTOCOLS:
        if kind[2] is not None and not is_there(k, kind[2]):
            continue
        count = sum(1 for sk in mine if _is(sk, kind))
        has = "".join(f"{letter:>3}" for letter in functions)
        out += f"{name:<9} {size:4d} {count:6d}  {memory:6d}   {pressure:<3} {header:6d}   {slab:<4} kernel     {has[1:]}\n"
    return out


def softnet_stat(k: NetKernel, net: Net) -> str:
    """/proc/net/softnet_stat: all packets are told of as the first CPU's."""
    out = ""
    for cpu in range(k.nr_cpus):
        words = [k.net.counters["received"], k.net.counters["dropped"]] if cpu == 0 else [0, 0]
        out += " ".join(f"{word:08x}" for word in (*words, *[0] * 10, cpu)) + "\n"
    return out


def mcfilter(k: NetKernel, net: Net) -> str:
    """/proc/net/mcfilter: the sources that sockets hear, or do not, in groups of IPv4."""
    return MCFILTER + _sources(k, net, 4, 6, lambda address: f"0x{address.hex()}")


def mcfilter6(k: NetKernel, net: Net) -> str:
    """/proc/net/mcfilter6."""
    return MCFILTER6 + _sources(k, net, 16, 6, bytes.hex)


def _sources(k: NetKernel, net: Net, size: int, width: int, text: Callable[[bytes], str]) -> str:
    counted: dict[tuple[int, str, bytes, bytes], list[int]] = {}
    for sk in k.net.socks.values():
        for member in sk.memberships if sk.net is net else ():
            for source in member.sources if len(member.group) == size else ():
                row = counted.setdefault((member.dev.ifindex, member.dev.name, member.group, source), [0, 0])
                row[not member.include] += 1
    return "".join(
        f"{index:3d} {name:>{width}.{width}} {text(group)} {text(source)} {include:6d} {exclude:6d}\n"
        for (index, name, group, source), (include, exclude) in sorted(counted.items())
    )


def xfrm_stat(k: NetKernel, net: Net) -> str:
    """/proc/net/xfrm_stat: there is no IPsec."""
    return "".join(f"{'Xfrm' + name:<24}\t0\n" for name in XFRM_STAT)


def _fixed(text: str) -> Show:
    return lambda k, net: text


TABLE_FILES: list[tuple[str, Show]] = [
    ("protocols", protocols), ("softnet_stat", softnet_stat), ("mcfilter", mcfilter), ("mcfilter6", mcfilter6), ("xfrm_stat", xfrm_stat),
    ("psched", _fixed(PSCHED)), ("rt_cache", _fixed(RT_CACHE)),
    ("wireless", _fixed(WIRELESS)), ("ip_mr_vif", _fixed(IP_MR_VIF)), ("ip_mr_cache", _fixed(IP_MR_CACHE)),
    ("ip6_mr_vif", _fixed(IP6_MR_VIF)), ("ip6_mr_cache", _fixed(IP6_MR_CACHE)), ("ip6_flowlabel", _fixed(IP6_FLOWLABEL)),
    ("anycast6", _fixed("")),
]  # fmt: skip
