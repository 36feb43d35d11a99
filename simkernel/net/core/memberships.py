"""The multicast groups that a socket has joined.  include/linux/igmp.h: struct ip_mc_socklist, struct ipv6_mc_socklist."""

from __future__ import annotations

from arch.records import dataclass, field
from simkernel.net.core.netns import NetDevice


@dataclass(eq=False, slots=True)
class Membership:
    """One group on one device."""

    dev: NetDevice
    group: bytes
    include: bool = False  # only the sources in `sources`; else all but those
    sources: list[bytes] = field(default_factory=list)

    def hears(self, source: bytes) -> bool:
        """ip_mc_sf_allow(), of one group."""
        return (source in self.sources) == self.include
