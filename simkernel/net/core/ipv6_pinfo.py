"""What a socket of AF_INET6 has beside the rest: struct ipv6_pinfo.  include/linux/ipv6.h."""

from __future__ import annotations

from dataclasses import replace

from arch.abi.in6 import IPV6_DEFAULT_MCASTHOPS
from arch.abi.inet import IP_PMTUDISC_WANT
from arch.records import dataclass, field


@dataclass(slots=True)
class Ipv6Pinfo:
    """Options of IPPROTO_IPV6."""

    hop_limit: int = -1  # IPV6_UNICAST_HOPS; -1: the system's
    mcast_hops: int = IPV6_DEFAULT_MCASTHOPS
    mc_loop: bool = True
    mc_all: bool = True
    mc_index: int = 0  # IPV6_MULTICAST_IF
    uc_index: int = 0  # IPV6_UNICAST_IF
    tclass: int = 0
    flow_label: int = 0
    pmtudisc: int = IP_PMTUDISC_WANT
    recverr: bool = False
    dontfrag: bool = False
    min_hopcount: int = 0
    checksum_at: int = -1  # IPV6_CHECKSUM of a raw socket
    frag_size: int = 0  # IPV6_MTU; 0: the way's
    icmp_filter: int = 0  # bits of the types that a raw socket does not want
    pktinfo: tuple[bytes, int] | None = None  # IPV6_PKTINFO: the source and the device of what is sent
    scope_id: int = 0  # of the connected address
    received: set[int] = field(default_factory=set)  # what a receiver wants to know
    options: dict[int, int] = field(default_factory=dict)  # kept and shown

    def copy(self) -> Ipv6Pinfo:
        """Those of a new connection."""
        return replace(self, received=set(self.received), options=dict(self.options))
