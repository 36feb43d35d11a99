"""net.FAMILY.conf and net.FAMILY.neigh: what a device begins with.  net/ipv4/devinet.c, net/ipv6/addrconf.c, net/core/neighbour.c."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from arch.abi.version import KernelVersion
from arch.records import dataclass
from simkernel.fs.sysctl_rows import Value
from simkernel.net.core.conf_row import Home, Row
from simkernel.net.core.conf_rows import ROWS
from simkernel.net.core.device_conf_rows import IPV4_CONF, IPV6_CONF, NEIGH, NEIGH_V6
from simkernel.net.core.netns import Net

NEIGH_GLOBAL = ("gc_interval", "gc_thresh1", "gc_thresh2", "gc_thresh3")  # of a table, not of a device
CONF = {"ipv4": IPV4_CONF, "ipv6": IPV6_CONF}
NEIGHS = {
    "ipv4": (*NEIGH,),
    "ipv6": (*(row for row in NEIGH if row.name not in {v6.name for v6 in NEIGH_V6}), *NEIGH_V6),
}
ALL = {"ipv4": {"accept_source_route": 0}, "ipv6": {"accept_dad": 0}}  # where `all` differs from `default`


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of one kernel by name, and the values of all: code reads what this kernel has no file for, too."""

    plain: Mapping[str, Row]
    conf: Mapping[str, Mapping[str, Row]]  # by family
    neigh: Mapping[str, Mapping[str, Row]]
    values: Mapping[str, Value]  # of `plain`
    conf_values: Mapping[str, dict[str, int]]
    neigh_values: Mapping[str, dict[str, int]]


def _of(rows: tuple[Row, ...], version: KernelVersion) -> dict[str, Row]:
    found = {row.name: row for row in rows if version.within(row.since, row.until)}
    return {name: found[name] for name in sorted(found)}


@cache
def tables(version: KernelVersion) -> Tables:
    """What this kernel has."""
    plain = _of(ROWS, version)
    conf = {family: _of(rows, version) for family, rows in CONF.items()}
    neigh = {family: _of(rows, version) for family, rows in NEIGHS.items()}
    return Tables(
        plain,
        conf,
        neigh,
        _values(ROWS, plain),
        {family: _numbers(_values(CONF[family], rows)) for family, rows in conf.items()},
        {family: _numbers(_values(NEIGHS[family], rows)) for family, rows in neigh.items()},
    )


def _values(rows: tuple[Row, ...], own: Mapping[str, Row]) -> dict[str, Value]:
    return {row.name: row.value for row in reversed(rows)} | {name: row.value for name, row in own.items()}


def _numbers(values: Mapping[str, Value]) -> dict[str, int]:
    return {name: value for name, value in values.items() if isinstance(value, int)}


def fresh(net: Net, first: Net | None, rows: Tables) -> None:
    """devinet_init_net(), addrconf_init_net(), neigh: IPv4 begins as in the first namespace, IPv6 as at boot."""
    for family in CONF:
        plain = rows.conf_values[family]
        old = first if family == "ipv4" else None
        net.conf_default[family] = dict(old.conf_default[family] if old is not None else plain)
        net.conf_all[family] = dict(old.conf_all[family] if old is not None else plain | ALL[family])
        neigh = {n: v for n, v in rows.neigh_values[family].items() if n not in NEIGH_GLOBAL}
        net.neigh_default[family] = dict(first.neigh_default[family] if first is not None else neigh)
    net.sysctl = {
        name: value
        for name, value in rows.values.items()
        if name not in rows.plain or rows.plain[name].home is Home.NET
    }


def new_conf(net: Net, family: str) -> tuple[dict[str, int], dict[str, int]]:
    """What a new device begins with: conf and neigh."""
    return dict(net.conf_default[family]), dict(net.neigh_default[family])
