"""Announcements as messages to groups: what `ip monitor` prints.  net/core/rtnetlink.c: rtmsg_ifinfo(), rtnl_notify() and their like."""

from __future__ import annotations

from arch.abi.ethtool_netlink import ETHTOOL_MCGRP_MONITOR
from arch.abi.netlink import NETLINK_GENERIC, NETLINK_ROUTE, NLM_F_REPLACE
from arch.abi.nexthop import RTM_DELNEXTHOP, RTM_NEWNEXTHOP, RTM_NEWNEXTHOPBUCKET, RTNLGRP_NEXTHOP
from arch.abi.rtnetlink import (
    NETCONFA_IFINDEX,
    RTM_DELADDR,
    RTM_DELLINK,
    RTM_DELNEIGH,
    RTM_DELNETCONF,
    RTM_DELNSID,
    RTM_DELROUTE,
    RTM_DELRULE,
    RTM_NEWADDR,
    RTM_NEWLINK,
    RTM_NEWNEIGH,
    RTM_NEWNETCONF,
    RTM_NEWNSID,
    RTM_NEWROUTE,
    RTM_NEWRULE,
    RTNLGRP_IPV4_IFADDR,
    RTNLGRP_IPV4_NETCONF,
    RTNLGRP_IPV4_ROUTE,
    RTNLGRP_IPV4_RULE,
    RTNLGRP_IPV6_IFADDR,
    RTNLGRP_IPV6_NETCONF,
    RTNLGRP_IPV6_ROUTE,
    RTNLGRP_IPV6_RULE,
    RTNLGRP_LINK,
    RTNLGRP_NEIGH,
    RTNLGRP_NSID,
)
from arch.abi.socket import AF_INET
from simkernel.net.core.announce import Announcements
from simkernel.net.core.netns import Ifaddr, Neighbour, Net, NetDevice, NexthopObject, Route, Rule
from simkernel.net.face import NetKernel
from simkernel.net.netlink import addr, addr6, ethnl, neigh, nexthop, nsid, route, route6, rule
from simkernel.net.netlink.link_fill import link
from simkernel.net.netlink.message import Wire
from simkernel.net.netlink.sock import broadcast, listeners

SUBJECTS = (addr, addr6, neigh, nexthop, nsid, route, route6, rule)  # each registers who answers its requests


class Announcer(Announcements):
    """Messages are made only where somebody listens."""

    def __init__(self, k: NetKernel) -> None:
        super().__init__()
        self.k, self.wire = k, Wire(k.mem.byteorder)

    def _heard(self, net: Net, group: int) -> bool:
        return bool(self.k.net.netlink) and bool(listeners(self.k, net, NETLINK_ROUTE, group))

    def _tell(self, net: Net, group: int, kind: int, body: bytes, flags: int = 0, mine: bool = True) -> None:
        """rtnl_notify(): with the number of the request that brought it about."""
        seq, portid = (self.seq, self.portid) if mine else (0, 0)
        broadcast(self.k, net, NETLINK_ROUTE, group, self.wire.message(kind, flags, seq, portid, body))

    def link(self, dev: NetDevice, change: int, event: int) -> None:
        if self._heard(dev.net, RTNLGRP_LINK):
            self._tell(
                dev.net, RTNLGRP_LINK, RTM_NEWLINK, link(self.k, self.wire, dev, change=change, event=event), mine=False
            )

    def prepare_gone(self, dev: NetDevice, to: Net | None = None, index: int = 0) -> bytes:
        if not self._heard(dev.net, RTNLGRP_LINK):
            return b""
        return link(self.k, self.wire, dev, change=0xFFFFFFFF, gone_to=to, new_index=index)

    def gone(self, dev: NetDevice, message: bytes) -> None:
        if message:
            self._tell(dev.net, RTNLGRP_LINK, RTM_DELLINK, message, mine=False)

    def address(self, net: Net, address: Ifaddr, gone: bool = False) -> None:
        four = len(address.local) == 4
        group = RTNLGRP_IPV4_IFADDR if four else RTNLGRP_IPV6_IFADDR
        if self._heard(net, group):
            body = addr.FILL[len(address.local)](self.k, self.wire, address)
            self._tell(net, group, RTM_DELADDR if gone else RTM_NEWADDR, body, mine=four)

    def route(self, net: Net, route_: Route, gone: bool = False, flags: int = 0, mine: bool = True) -> None:
        group = RTNLGRP_IPV4_ROUTE if len(route_.dst) == 4 else RTNLGRP_IPV6_ROUTE
        if self._heard(net, group):
            body = route.FILL[len(route_.dst)](self.k, self.wire, route_)
            self._tell(net, group, RTM_DELROUTE if gone else RTM_NEWROUTE, body, flags, mine)

    def nexthop(self, nh: NexthopObject, gone: bool = False, flags: int = 0) -> None:
        if self._heard(nh.net, RTNLGRP_NEXTHOP):
            body = nexthop.fill(self.k, self.wire, nh)
            self._tell(nh.net, RTNLGRP_NEXTHOP, RTM_DELNEXTHOP if gone else RTM_NEWNEXTHOP, body, flags)

    def features(self, dev: NetDevice) -> None:
        group = ETHTOOL_MCGRP_MONITOR
        if self.k.net.netlink and listeners(self.k, dev.net, NETLINK_GENERIC, group):
            self.k.net.ethnl_seq += 1
            said = ethnl.features_notification(self.k, self.wire, dev, self.k.net.ethnl_seq)
            broadcast(self.k, dev.net, NETLINK_GENERIC, group, said)

    def bucket(self, nh: NexthopObject, index: int) -> None:
        if self._heard(nh.net, RTNLGRP_NEXTHOP):
            body = nexthop.fill_bucket(self.k, self.wire, nh, index)
            self._tell(nh.net, RTNLGRP_NEXTHOP, RTM_NEWNEXTHOPBUCKET, body, NLM_F_REPLACE, mine=False)

    def neighbour(self, neighbour: Neighbour, gone: bool = False) -> None:
        net = neighbour.dev.net
        if self._heard(net, RTNLGRP_NEIGH):
            body = neigh.fill(self.k, self.wire, neighbour)
            self._tell(net, RTNLGRP_NEIGH, RTM_DELNEIGH if gone else RTM_NEWNEIGH, body, mine=False)

    def rule(self, net: Net, family: int, rule_: Rule, gone: bool = False) -> None:
        group = RTNLGRP_IPV4_RULE if family == AF_INET else RTNLGRP_IPV6_RULE
        if self._heard(net, group):
            self._tell(net, group, RTM_DELRULE if gone else RTM_NEWRULE, rule.fill(self.wire, family, rule_))

    def netconf(self, net: Net, family: int, index: int, kind: int, gone: bool = False, value: int = 0) -> None:
        group = RTNLGRP_IPV4_NETCONF if family == AF_INET else RTNLGRP_IPV6_NETCONF
        if self._heard(net, group):
            body = self.wire.pack("Bxxx", family) + self.wire.u32(NETCONFA_IFINDEX, index)
            body += self.wire.u32(kind, value) if kind else b""
            self._tell(net, group, RTM_DELNETCONF if gone else RTM_NEWNETCONF, body, mine=False)

    def namespace_id(self, net: Net, number: int, gone: bool = False) -> None:
        if self._heard(net, RTNLGRP_NSID):
            self._tell(
                net, RTNLGRP_NSID, RTM_DELNSID if gone else RTM_NEWNSID, nsid.fill(self.wire, number), mine=False
            )
