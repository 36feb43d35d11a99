"""What is told to those who listen on netlink groups: the places where the network says it.  net/core/rtnetlink.c: rtmsg_ifinfo() and its like.

Nobody listens here; netlink/announce.py puts a class that does in the place of this one.
"""

from __future__ import annotations

from simkernel.net.core.netns import Ifaddr, Neighbour, Net, NetDevice, NexthopObject, Route, Rule


class Announcements:
    """Silence."""

    def __init__(self) -> None:
        self.portid = self.seq = 0  # of the request that is being answered

    def link(self, dev: NetDevice, change: int, event: int) -> None:
        """RTM_NEWLINK: it is new (all bits of `change`), or something of it is."""

    def prepare_gone(self, dev: NetDevice, to: Net | None = None, index: int = 0) -> bytes:
        """RTM_DELLINK as it will be told when the addresses are gone; `to`: it moves there."""
        return b""

    def gone(self, dev: NetDevice, message: bytes) -> None:
        """What was prepared."""

    def address(self, net: Net, address: Ifaddr, gone: bool = False) -> None:
        """RTM_NEWADDR, RTM_DELADDR."""

    def route(self, net: Net, route: Route, gone: bool = False, flags: int = 0, mine: bool = True) -> None:
        """RTM_NEWROUTE, RTM_DELROUTE; `mine`: with the number of the request."""

    def nexthop(self, nh: NexthopObject, gone: bool = False, flags: int = 0) -> None:
        """RTM_NEWNEXTHOP, RTM_DELNEXTHOP."""

    def features(self, dev: NetDevice) -> None:
        """ETHTOOL_MSG_FEATURES_NTF."""

    def bucket(self, nh: NexthopObject, index: int) -> None:
        """RTM_NEWNEXTHOPBUCKET: it has moved to another way."""

    def neighbour(self, neighbour: Neighbour, gone: bool = False) -> None:
        """RTM_NEWNEIGH, RTM_DELNEIGH."""

    def rule(self, net: Net, family: int, rule: Rule, gone: bool = False) -> None:
        """RTM_NEWRULE, RTM_DELRULE."""

    def netconf(self, net: Net, family: int, index: int, kind: int, gone: bool = False, value: int = 0) -> None:
        """RTM_NEWNETCONF: a value of net.ipv4.conf or net.ipv6.conf."""

    def prefix(self, dev: NetDevice, prefix: bytes) -> None:
        """RTM_NEWPREFIX: a router said it."""

    def namespace_id(self, net: Net, number: int, gone: bool = False) -> None:
        """RTM_NEWNSID, RTM_DELNSID."""
