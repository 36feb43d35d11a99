"""What a protocol family brings along, for those who serve all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from simkernel.kernel.body import Steps
from simkernel.kernel.face import Body
from simkernel.net.core.netns import Neighbour, Net, NetDevice
from simkernel.net.core.skb import Skb

# ip_send_unicast_reply() of a family: (namespace, source, destination, protocol, body, incoming device) (`yield from`)
Reply = Callable[[Net, bytes, bytes, int, bytes, int], Body]


class Solicitor(Protocol):
    """struct neigh_table of one family: what differs."""

    def kind(self, dev: NetDevice, key: bytes) -> int:
        """RTN_UNICAST, or what else an address is on a device."""
        ...

    def group_mac(self, key: bytes) -> bytes:
        """The link-layer address of a multicast group."""
        ...

    def solicit(self, neighbour: Neighbour, packet: Skb | None) -> Steps[None]:
        """Ask (`yield from`)."""
        ...

    def give_up(self, neighbour: Neighbour, packet: Skb) -> Steps[None]:
        """Nobody answered: the packet's sender is told (`yield from`)."""
        ...
