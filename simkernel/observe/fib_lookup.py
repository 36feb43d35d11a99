"""Routes for programs: the way a packet would take through this machine.  net/core/filter.c of Linux 6.1: bpf_fib_lookup().

A look-up reads and fills a struct bpf_fib_lookup, which comes and goes as its 64 bytes.
"""

from __future__ import annotations

from arch.abi.errno import EACCES, EAFNOSUPPORT, EHOSTUNREACH, EINVAL, ENODEV
from arch.abi.rtnetlink import RT_TABLE_MAIN, RTAX_LOCK, RTAX_MTU, RTN_UNICAST
from arch.abi.socket import AF_INET, AF_INET6
from arch.errors import KernelError
from arch.records import dataclass
from bpf import uapi
from simkernel.net.core import neighbour
from simkernel.net.core.netns import Inet, Net, NetDevice, Nexthop, Route
from simkernel.net.core.rules import Flow, Found, Search, lookup
from simkernel.net.ipv4 import fib
from simkernel.net.ipv4.devinet import select_address
from simkernel.net.ipv4.route import forwarding
from simkernel.net.ipv6 import ip6_fib
from simkernel.net.ipv6.addr import needs_device
from simkernel.net.ipv6.route import source_for
from simkernel.observe.face import WatchedKernel

IPTOS_RT_MASK = 0x1C
# Where what is in struct bpf_fib_lookup; several members share a place.
AT_FAMILY, AT_PROTOCOL, AT_SPORT, AT_DPORT, AT_TOT_LEN, AT_IFINDEX, AT_TOS = 0, 1, 2, 4, 6, 8, 12
AT_SRC, AT_DST, AT_TBID, AT_SMAC, AT_DMAC = 16, 32, 48, 52, 58
REFUSALS = {EINVAL: uapi.BPF_FIB_LKUP_RET_BLACKHOLE, EHOSTUNREACH: uapi.BPF_FIB_LKUP_RET_UNREACHABLE,
            EACCES: uapi.BPF_FIB_LKUP_RET_PROHIBIT}  # fmt: skip


@dataclass(frozen=True)
class Family:
    """What differs between IPv4 and IPv6: how the tables are searched and what forwards."""

    number: int
    width: int  # bytes of an address
    search: Search


IPV4, IPV6 = Family(AF_INET, 4, fib.search), Family(AF_INET6, 16, ip6_fib.search)


class FibLookup:
    """One look-up in a namespace; `params` is the struct as it is filled."""

    def __init__(self, k: WatchedKernel, net: Net, params: bytes, flags: int) -> None:
        self.net, self.flags, self.order = net, flags, k.mem.byteorder
        self.params = bytearray(params)

    def number(self, at: int, size: int) -> int:
        return int.from_bytes(self.params[at : at + size], self.order)

    def store(self, at: int, size: int, value: int) -> None:
        self.params[at : at + size] = value.to_bytes(size, self.order)

    def answer(self) -> int:
        """One of BPF_FIB_LKUP_RET_ or -errno; a packet of tot_len has to fit."""
        family = {AF_INET: IPV4, AF_INET6: IPV6}.get(self.params[AT_FAMILY])
        if family is None:
            return -EAFNOSUPPORT
        source, destination = (bytes(self.params[at : at + family.width]) for at in (AT_SRC, AT_DST))
        if family is IPV6 and (needs_device(destination) or needs_device(source)):
            return uapi.BPF_FIB_LKUP_RET_NOT_FWDED
        dev = self.net.devices.get(self.number(AT_IFINDEX, 4))
        if dev is None:
            return -ENODEV
        if not self._forwards(family, dev):
            return uapi.BPF_FIB_LKUP_RET_FWD_DISABLED
        try:
            found = self._find(family, source, destination, dev)
        except KernelError as error:
            return REFUSALS.get(error.errno, uapi.BPF_FIB_LKUP_RET_NOT_FWDED)
        way = found.nexthop if found is not None else None
        if found is None or way is None or way.dev is None or found.route.kind != RTN_UNICAST:
            return uapi.BPF_FIB_LKUP_RET_NOT_FWDED
        return self._fill(family, found.route, way, way.dev, destination)

    def _forwards(self, family: Family, dev: NetDevice) -> bool:
        if family is IPV4:
            return dev.has_ipv4 and forwarding(dev)
        return dev.has_ipv6 and bool(dev.conf["ipv6"]["forwarding"])

    def _find(self, family: Family, source: bytes, destination: bytes, dev: NetDevice) -> Found | None:
        """fib_lookup(), or fib_table_lookup() of one table.  What routes and rules refuse with."""
        outward = bool(self.flags & uapi.BPF_FIB_LOOKUP_OUTPUT)
        sport, dport = (int.from_bytes(self.params[at : at + 2], "big") for at in (AT_SPORT, AT_DPORT))
        flow = Flow(
            destination, source, dev.ifindex if outward else 0, 1 if outward else dev.ifindex,
            self.params[AT_TOS] & IPTOS_RT_MASK if family is IPV4 else 0, protocol=self.params[AT_PROTOCOL], sport=sport, dport=dport,
        )  # fmt: skip
        inet: Inet = self.net.inet(8 * family.width)
        if not self.flags & uapi.BPF_FIB_LOOKUP_DIRECT:
            return lookup(self.net, inet, flow, family.search)
        number = RT_TABLE_MAIN
        if self.flags & uapi.BPF_FIB_LOOKUP_TBID:
            number = self.number(AT_TBID, 4)
            self.store(AT_TBID, 4, 0)
        table = inet.tables.get(number)
        return family.search(table, flow) if table is not None else None

    def _fill(self, family: Family, route: Route, way: Nexthop, dev: NetDevice, destination: bytes) -> int:
        length, mtu = self.number(AT_TOT_LEN, 2), self._mtu(family, route, dev)
        if length > mtu:
            self.store(AT_TOT_LEN, 2, mtu & 0xFFFF)
            return uapi.BPF_FIB_LKUP_RET_FRAG_NEEDED
        if way.lwt is not None:
            return uapi.BPF_FIB_LKUP_RET_UNSUPP_LWT
        self.store(AT_TOS, 4, route.priority)
        self.store(AT_IFINDEX, 4, dev.ifindex)
        if self.flags & uapi.BPF_FIB_LOOKUP_SRC:
            source = self._source(family, route, way, dev, destination)
            self.params[AT_SRC : AT_SRC + len(source)] = source
        next_hop = way.gateway or destination
        if way.gateway:
            self.params[AT_FAMILY] = AF_INET if len(way.gateway) == IPV4.width else AF_INET6
            self.params[AT_DST : AT_DST + len(next_hop)] = next_hop
        if not self.flags & uapi.BPF_FIB_LOOKUP_SKIP_NEIGH:
            if len(next_hop) == IPV4.width and dev.loopback:
                next_hop = bytes(IPV4.width)
            known = neighbour.find(dev, next_hop)
            if known is None or not known.state & neighbour.NUD_VALID:
                return uapi.BPF_FIB_LKUP_RET_NO_NEIGH
            self.params[AT_DMAC:64], self.params[AT_SMAC:AT_DMAC] = known.mac, dev.mac
        self.store(AT_TBID, 4, 0)  # h_vlan_proto and h_vlan_TCI
        self.store(AT_TOT_LEN, 2, mtu & 0xFFFF)
        return uapi.BPF_FIB_LKUP_RET_SUCCESS

    def _mtu(self, family: Family, route: Route, dev: NetDevice) -> int:
        """ip_mtu_from_fib_result(), ip6_mtu_from_fib6(): the route's where that is fixed, else the device's."""
        own = dev.mtu if family is IPV4 else dev.conf["ipv6"]["mtu"] or dev.mtu
        fixed = route.metrics.get(RTAX_LOCK, 0) & 1 << RTAX_MTU
        return route.metrics.get(RTAX_MTU) or own if fixed else own

    def _source(self, family: Family, route: Route, way: Nexthop, dev: NetDevice, destination: bytes) -> bytes:
        """fib_result_prefsrc(), ipv6_dev_get_saddr()."""
        if route.source:
            return route.source
        if family is IPV4:
            return select_address(self.net, dev, way.gateway or destination, route.scope)
        return source_for(self.net, dev, destination)
