"""net.FAMILY.conf and net.FAMILY.neigh: what a device begins with.  net/ipv4/devinet.c, net/ipv6/addrconf.c, net/core/neighbour.c."""

from __future__ import annotations

from simkernel.net.core.conf_rows import IPV4_CONF, IPV6_CONF, NEIGH, NEIGH_V6, PER_NET
from simkernel.net.core.netns import Net

NEIGH_GLOBAL = ("gc_interval", "gc_thresh1", "gc_thresh2", "gc_thresh3")  # of a table, not of a device
ROWS = {"ipv4": IPV4_CONF, "ipv6": IPV6_CONF}
ALL = {"ipv4": {"accept_source_route": 0}, "ipv6": {"accept_dad": 0}}  # where `all` differs from `default`


def _numbers(rows: dict[str, tuple[int | str, int]]) -> dict[str, int]:
    return {name: value for name, (value, _) in rows.items() if isinstance(value, int)}


def fresh(net: Net, first: Net | None) -> None:
    """devinet_init_net(), addrconf_init_net(), neigh: IPv4 begins as in the first namespace, IPv6 as at boot."""
    for family, rows in ROWS.items():
        plain = _numbers(rows)
        old = first if family == "ipv4" else None
        net.conf_default[family] = dict(old.conf_default[family] if old is not None else plain)
        net.conf_all[family] = dict(old.conf_all[family] if old is not None else plain | ALL[family])
        neigh = {n: v for n, v in _numbers(NEIGH).items() if n not in NEIGH_GLOBAL}
        source = first.neigh_default[family] if first is not None else neigh | (NEIGH_V6 if family == "ipv6" else {})
        net.neigh_default[family] = dict(source)
    net.sysctl = {name: value for name, (value, _) in PER_NET.items()}


def new_conf(net: Net, family: str) -> tuple[dict[str, int], dict[str, int]]:
    """What a new device begins with: conf and neigh."""
    return dict(net.conf_default[family]), dict(net.neigh_default[family])
