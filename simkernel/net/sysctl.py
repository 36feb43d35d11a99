"""/proc/sys/net: values of the machine and of each network namespace.  net/*/sysctl_net_*.c, net/ipv4/devinet.c, net/core/neighbour.c.

Which file shows what depends on who reads: the values of a namespace are those of the reader's.  Rows are core/conf_rows.py's and core/device_conf_rows.py's.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from arch.abi.capability import CAP_NET_ADMIN, CAP_SYS_ADMIN
from arch.abi.errno import EBUSY, EINVAL, EIO, ENOENT, EPERM
from arch.abi.limits import U32_MAX
from arch.abi.rtnetlink import IN6_ADDR_GEN_MODE_STABLE_PRIVACY, NETCONFA_FORWARDING, NETCONFA_RP_FILTER
from arch.abi.socket import AF_INET
from arch.errors import KernelError
from simkernel.fs.nodes import Dir, Node
from simkernel.fs.proc_sys import SysctlFile
from simkernel.fs.sysctl_rows import Value
from simkernel.kernel.task import Task
from simkernel.kernel.user_namespace import ns_capable
from simkernel.net.core.conf import CONF, NEIGH_GLOBAL, tables
from simkernel.net.core.conf_row import Home, Row
from simkernel.net.core.conf_rows import LOGGERS
from simkernel.net.core.netns import Net
from simkernel.net.core.netns_struct import store_sysctl
from simkernel.net.face import NetKernel, current_net
from simkernel.net.ipv6.addrconf import disable_ipv6
from tracing.text.masks import mask_text, parse_mask

NETCONF_ALL, NETCONF_DEFAULT = -1, -2  # of RTM_NEWNETCONF: no device
# Values that take a capability of whoever writes, root included: devinet_sysctl_forward(), set_default_qdisc(), proc_do_static_key().
ADMIN = {
    "core.default_qdisc": CAP_NET_ADMIN,
    "ipv4.ip_forward": CAP_NET_ADMIN,
    "core.high_order_alloc_disable": CAP_SYS_ADMIN,
}
Check = Callable[[NetKernel, Value], Value]  # what is kept of a value, if it may be
FASTOPEN_KEY = re.compile(r"[0-9a-f]{1,8}(-[0-9a-f]{1,8}){3}", re.IGNORECASE)
FRAME_TRUESIZE = 2090  # SKB_TRUESIZE(ETH_FRAME_LEN)
ADMIN_CONF = {("ipv4", "forwarding"): CAP_NET_ADMIN}


def net_ctl_permissions(k: NetKernel, task: Task) -> bool:
    """Who may administer the network has what root has."""
    return ns_capable(task, current_net(k).namespace.owner, CAP_NET_ADMIN)


class NetFile(SysctlFile):
    """One value."""

    def __init__(self, k: NetKernel, name: str, row: Row, home: Callable[[], dict[str, Value]]) -> None:
        readable, writable = row.mode & 0o444, row.mode & 0o222
        super().__init__(
            k.vfs.sysctl, f"net.{name}", self._show if readable else None, self._store if writable else None, row.mode
        )
        self.k, self.plain, self.home, self.key, self.row = k, name, home, row.name, row
        self.admin = ADMIN.get(name)
        self.in_pieces = row.is_text
        self.rooted = partial(net_ctl_permissions, k)

    def _show(self) -> str:
        reader = READERS.get(self.plain)
        return f"{reader(self.k) if reader is not None else self.home()[self.key]}\n"

    def _store(self, data: bytes) -> int:
        net, values = current_net(self.k), self.home()
        if self.admin is not None and not ns_capable(self.k.current, net.namespace.owner, self.admin):
            raise KernelError(EPERM)
        value, taken = self.row.take(data, values.get(self.key, 0))
        check = CHECKS.get(self.plain)
        if check is not None:
            value = check(self.k, value)
        old, values[self.key] = values.get(self.key), value
        if values is net.sysctl:
            store_sysctl(self.k, net, self.key)
        after = EFFECTS.get(self.plain)
        if after is not None:
            after(self.k, net, value)
        elif old != value:
            self.changed(net, value)
        return taken

    def changed(self, net: Net, value: Value) -> None:
        """What was looked up may be otherwise now."""
        net.ipv4.changed()
        net.ipv6.changed()


class ConfFile(NetFile):
    """net.FAMILY.conf.WHOSE.KEY."""

    def __init__(self, k: NetKernel, family: str, whose: str, row: Row) -> None:
        super().__init__(k, f"{family}.conf.{whose}.{row.name}", row, lambda: conf_of(current_net(k), family, whose))
        self.family, self.whose = family, whose
        self.admin = ADMIN_CONF.get((family, row.name))

    def _show(self) -> str:
        if self.key == "stable_secret" and self.key not in self.home():
            raise KernelError(EIO, "no secret yet")
        return super()._show()

    def _store(self, data: bytes) -> int:
        """Of IPv6, addrconf_sysctl_addr_gen_mode() and addrconf_sysctl_stable_secret() look first.  EINVAL, EIO."""
        if self.key == "stable_secret":
            return self._store_secret(data)
        if self.key == "addr_gen_mode" and self.whose not in ("all", "default"):
            value, _ = self.row.take(data, 0)
            if value == IN6_ADDR_GEN_MODE_STABLE_PRIVACY and "stable_secret" not in self.home():
                raise KernelError(EINVAL, "no secret yet")
        return super()._store(data)

    def _store_secret(self, data: bytes) -> int:
        try:
            secret = ipaddress.IPv6Address(data.decode("latin-1").strip())
        except ValueError:
            raise KernelError(EIO, "no address") from None
        self.home()["stable_secret"] = secret.exploded
        return len(data)

    def changed(self, net: Net, value: Value) -> None:
        """devinet_conf_proc(), addrconf_sysctl_forward() and their like."""
        net.ipv4.changed()
        net.ipv6.changed()
        hook = CONF_EFFECTS.get((self.family, self.key))
        if hook is not None:
            hook(self.k, net, self.whose, int(value))


class NeighFile(NetFile):
    """net.FAMILY.neigh.WHOSE.KEY: some values stand twice, in other units."""

    def __init__(self, k: NetKernel, family: str, whose: str, row: Row) -> None:
        super().__init__(
            k, f"{family}.neigh.{whose}.{row.name}", row, lambda: neigh_of(k, current_net(k), family, whose)
        )
        self.family, self.whose = family, whose

    def _store(self, data: bytes) -> int:
        """proc_dointvec_ms_jiffies_minmax().  EINVAL."""
        if self.key == "interval_probe_time_ms" and self.row.take(data, 0)[0] == 0:
            raise KernelError(EINVAL, "out of range")
        return super()._store(data)

    def changed(self, net: Net, value: Value) -> None:
        """neigh_proc_base_reachable_time()."""
        values, number = self.home(), int(value)
        twins = {
            "base_reachable_time": ("base_reachable_time_ms", number * 1000),
            "base_reachable_time_ms": ("base_reachable_time", number // 1000),
            "retrans_time": ("retrans_time_ms", number * (10 if self.family == "ipv4" else 4)),
            "retrans_time_ms": ("retrans_time", number // (10 if self.family == "ipv4" else 4)),
            "unres_qlen": ("unres_qlen_bytes", number * FRAME_TRUESIZE),
            "unres_qlen_bytes": ("unres_qlen", number // FRAME_TRUESIZE),
        }
        if self.key in twins:
            other, twin = twins[self.key]
            values[other] = twin
        values.pop("reachable_time_ms", None)


def conf_of(net: Net, family: str, whose: str) -> dict[str, Value]:
    """`all`, `default`, or those of a device.  ENOENT."""
    if whose in ("all", "default"):
        return _values((net.conf_all if whose == "all" else net.conf_default)[family])
    dev = net.named(whose)
    if dev is None or family not in dev.conf:
        raise KernelError(ENOENT)
    return _values(dev.conf[family])


def _values(numbers: dict[str, int]) -> dict[str, Value]:
    return numbers  # type: ignore[return-value]  # values of conf are ints, but for stable_secret, which only its file reads


def neigh_of(k: NetKernel, net: Net, family: str, whose: str) -> dict[str, Value]:
    """Those of a table's default, with the table's own, or of a device.  ENOENT."""
    if whose == "default":
        found = net.neigh_default[family]
        if net is k.net.init:
            for key in NEIGH_GLOBAL:
                found.setdefault(key, int(tables(k.version).neigh[family][key].value))
        return _values(found)
    dev = net.named(whose)
    if dev is None:
        raise KernelError(ENOENT)
    return _values(dev.neigh_conf[family])


class Whose(Node):
    """net/FAMILY/conf and net/FAMILY/neigh: one directory for each device of the reader's namespace."""

    is_dir = True
    dynamic = True
    mode = 0o555

    def __init__(self, k: NetKernel, family: str, make: Callable[[str], Dir], fixed: tuple[str, ...]) -> None:
        self.k, self.family, self.make, self.fixed = k, family, make, fixed
        self.made: dict[tuple[int, str], Dir] = {}

    def _devices(self) -> list[str]:
        """Those that the family knows."""
        devices = [dev for _, dev in sorted(current_net(self.k).devices.items())]
        return [dev.name for dev in devices if (dev.has_ipv4 if self.family == "ipv4" else dev.has_ipv6)]

    def lookup(self, name: str) -> Node | None:
        """One of them."""
        net = current_net(self.k)
        if name not in self.fixed and name not in self._devices():
            return None
        key = (net.cookie, name)
        if key not in self.made:
            self.made[key] = self.make(name)
        return self.made[key]

    def entries(self) -> Mapping[str, Node]:
        """`all` and `default`, then the devices."""
        names = [*self.fixed, *self._devices()]
        return {name: node for name in names if (node := self.lookup(name)) is not None}


class Space(Dir):
    """A directory whose machine-wide values only the first namespace sees."""

    def __init__(self, k: NetKernel) -> None:
        super().__init__()
        self.k, self.dynamic = k, True
        self.machine: dict[str, Node] = {}

    def entries(self) -> Mapping[str, Node]:
        """By name."""
        found = {**self.own, **self.machine} if current_net(self.k) is self.k.net.init else self.own
        return {name: found[name] for name in sorted(found)}

    def lookup(self, name: str) -> Node | None:
        """One node."""
        return self.entries().get(name)

    def space(self, name: str) -> Space:
        """The directory of this name, made if it is not there."""
        found = self.own.get(name)
        if not isinstance(found, Space):
            found = self.own[name] = Space(self.k)
        return found


# -- what values do ----------------------------------------------------------------------------------------------------


def forward_change(k: NetKernel, net: Net, on: int) -> None:
    """inet_forward_change(): all devices, and those to come."""
    net.conf_all["ipv4"]["forwarding"] = net.conf_default["ipv4"]["forwarding"] = on
    net.sysctl["ipv4.ip_forward"] = on
    net.conf_all["ipv4"]["accept_redirects"] = int(not on)
    for index in (NETCONF_ALL, NETCONF_DEFAULT):
        k.net.announce.netconf(net, AF_INET, index, NETCONFA_FORWARDING, value=on)
    for _, dev in sorted(net.devices.items()):
        if dev.has_ipv4:
            dev.conf["ipv4"]["forwarding"] = on
            k.net.announce.netconf(net, AF_INET, dev.ifindex, NETCONFA_FORWARDING, value=on)
    net.ipv4.changed()


def _forwarding(k: NetKernel, net: Net, whose: str, on: int) -> None:
    """devinet_sysctl_forward()."""
    if whose == "all":
        forward_change(k, net, on)
    else:
        dev = net.named(whose)
        index = dev.ifindex if dev is not None else NETCONF_DEFAULT
        k.net.announce.netconf(net, AF_INET, index, NETCONFA_FORWARDING, value=on)


def _rp_filter(k: NetKernel, net: Net, whose: str, value: int) -> None:
    dev = net.named(whose)
    index = NETCONF_ALL if whose == "all" else NETCONF_DEFAULT if dev is None else dev.ifindex
    k.net.announce.netconf(net, AF_INET, index, NETCONFA_RP_FILTER, value=value)


def _known_congestion(k: NetKernel, value: Value) -> Value:
    """proc_tcp_congestion_control().  ENOENT."""
    if value not in _congestion_names(k).split():
        raise KernelError(ENOENT)
    return value


def _known_congestions(k: NetKernel, value: Value) -> Value:
    """proc_allowed_congestion_control().  ENOENT."""
    if not set(str(value).split()) <= set(_congestion_names(k).split()):
        raise KernelError(ENOENT)
    return " ".join(str(value).split())


def _port_range(k: NetKernel, value: Value) -> Value:
    """ipv4_local_port_range().  EINVAL."""
    low, high = map(int, str(value).split())
    if not 1 <= low <= high <= 65535 or low < int(current_net(k).sysctl["ipv4.ip_unprivileged_port_start"]):
        raise KernelError(EINVAL)
    return value


def _first_open_port(k: NetKernel, value: Value) -> Value:
    """ipv4_privileged_ports(): not into the range of ports that are given.  EINVAL."""
    if int(value) > int(str(current_net(k).sysctl["ipv4.ip_local_port_range"]).split()[0]):
        raise KernelError(EINVAL)
    return value


def _group_range(k: NetKernel, value: Value) -> Value:
    """ipv4_ping_group_range(): an empty one is 1 0."""
    low, high = map(int, str(value).split())
    return f"{low}\t{high}" if low <= high else "1\t0"


def _above_low(name: str) -> Check:
    """high_thresh: not below low_thresh.  EINVAL."""

    def check(k: NetKernel, value: Value) -> Value:
        if int(value) < int(current_net(k).sysctl[f"{name}_low_thresh"]):
            raise KernelError(EINVAL)
        return value

    return check


def _below_high(name: str) -> Check:
    """low_thresh: not above high_thresh.  EINVAL."""

    def check(k: NetKernel, value: Value) -> Value:
        if int(value) > int(current_net(k).sysctl[f"{name}_high_thresh"]):
            raise KernelError(EINVAL)
        return value

    return check


def _power(k: NetKernel, value: Value) -> Value:
    """flow_limit_table_len_sysctl(): a power of two.  EINVAL."""
    if (int(value) & U32_MAX).bit_count() != 1:
        raise KernelError(EINVAL)
    return value


def _round_up(k: NetKernel, value: Value) -> Value:
    """rps_sock_flow_sysctl()."""
    return 1 << (int(value) - 1).bit_length() if int(value) else 0


def _fastopen_key(k: NetKernel, value: Value) -> Value:
    """proc_tcp_fastopen_key(): one or two of four words.  EINVAL."""
    keys = str(value).split(",")
    if len(keys) > 2 or not all(FASTOPEN_KEY.fullmatch(key.strip()) for key in keys):
        raise KernelError(EINVAL)
    return ",".join("-".join(f"{int(word, 16):08x}" for word in key.strip().split("-")) for key in keys)


def _cpu_mask(k: NetKernel, value: Value) -> Value:
    """flow_limit_cpu_sysctl(), rps_default_mask_sysctl(): a set of CPUs.  EINVAL, EOVERFLOW."""
    return mask_text(parse_mask(str(value), k.nr_cpus), k.nr_cpus)


def _one_of(*names: str) -> Check:
    """Something that is looked up by name.  ENOENT."""

    def check(k: NetKernel, value: Value) -> Value:
        if value not in names:
            raise KernelError(ENOENT)
        return value

    return check


def _only_on(name: str) -> Check:
    """nf_hooks_lwtunnel_sysctl_handler(): never off again.  EBUSY."""

    def check(k: NetKernel, value: Value) -> Value:
        if int(value) < int(current_net(k).sysctl[name]):
            raise KernelError(EBUSY)
        return value

    return check


def _flush(k: NetKernel, net: Net, value: Value) -> None:
    net.ipv4.changed()
    net.ipv6.changed()


def _congestion_names(k: NetKernel) -> str:
    return " ".join(("reno", "cubic", *sorted(k.net.programs.congestion_controls())))


def _mask_shown(k: NetKernel, mask: Value) -> Value:
    """%*pb: as many digits as the machine has CPUs."""
    return mask_text(parse_mask(str(mask), k.nr_cpus), k.nr_cpus)


READERS: dict[str, Callable[[NetKernel], Value]] = {
    "core.flow_limit_cpu_bitmap": lambda k: _mask_shown(k, k.net.sysctl["core.flow_limit_cpu_bitmap"]),
    "core.rps_default_mask": lambda k: _mask_shown(k, current_net(k).sysctl["core.rps_default_mask"]),
    "ipv4.ip_forward": lambda k: current_net(k).conf_all["ipv4"]["forwarding"],
    "ipv4.tcp_available_congestion_control": _congestion_names,
}
CHECKS: dict[str, Check] = {
    "core.default_qdisc": _one_of("pfifo", "bfifo", "pfifo_fast", "pfifo_head_drop", "mq", "noqueue", "fq_codel"),
    "core.flow_limit_cpu_bitmap": _cpu_mask,
    "core.flow_limit_table_len": _power,
    "core.rps_default_mask": _cpu_mask,
    "core.rps_sock_flow_entries": _round_up,
    "ipv4.ip_local_port_range": _port_range,
    "ipv4.ip_unprivileged_port_start": _first_open_port,
    "ipv4.ipfrag_high_thresh": _above_low("ipv4.ipfrag"),
    "ipv4.ipfrag_low_thresh": _below_high("ipv4.ipfrag"),
    "ipv4.ping_group_range": _group_range,
    "ipv4.tcp_allowed_congestion_control": _known_congestions,
    "ipv4.tcp_congestion_control": _known_congestion,
    "ipv4.tcp_fastopen_key": _fastopen_key,
    "ipv6.ip6frag_high_thresh": _above_low("ipv6.ip6frag"),
    "ipv6.ip6frag_low_thresh": _below_high("ipv6.ip6frag"),
    "mptcp.path_manager": _one_of("kernel", "userspace"),
    "mptcp.scheduler": _one_of("default"),
    "netfilter.nf_hooks_lwtunnel": _only_on("netfilter.nf_hooks_lwtunnel"),
    **{row.name: _one_of("NONE") for row in LOGGERS},
}


def _gc_interval(other: str, up: int, down: int) -> Callable[[NetKernel, Net, Value], None]:
    """One value in seconds and in milliseconds."""

    def effect(k: NetKernel, net: Net, value: Value) -> None:
        home = net.sysctl if other in net.sysctl else k.net.sysctl
        home[other] = int(value) * up // down

    return effect


EFFECTS: dict[str, Callable[[NetKernel, Net, Value], None]] = {
    "ipv4.route.gc_min_interval": _gc_interval("ipv4.route.gc_min_interval_ms", 1000, 1),
    "ipv4.route.gc_min_interval_ms": _gc_interval("ipv4.route.gc_min_interval", 1, 1000),
    "ipv6.route.gc_min_interval": _gc_interval("ipv6.route.gc_min_interval_ms", 1000, 1),
    "ipv6.route.gc_min_interval_ms": _gc_interval("ipv6.route.gc_min_interval", 1, 1000),
    "ipv4.ip_forward": lambda k, net, value: forward_change(k, net, int(value)),
    "ipv4.route.flush": _flush,
    "ipv6.route.flush": _flush,
}


def _disable_ipv6(k: NetKernel, net: Net, whose: str, value: int) -> None:
    """addrconf_disable_ipv6(): of all devices, or of one."""
    if whose == "all":
        net.conf_default["ipv6"]["disable_ipv6"] = value
    for _, dev in sorted(net.devices.items()):
        if whose in ("all", dev.name):
            dev.conf["ipv6"]["disable_ipv6"] = value
            disable_ipv6(k, dev, bool(value))


def _forwarding6(k: NetKernel, net: Net, whose: str, value: int) -> None:
    """addrconf_fixup_forwarding()."""
    if whose == "all":
        net.conf_default["ipv6"]["forwarding"] = value
        for dev in net.devices.values():
            if dev.has_ipv6:
                dev.conf["ipv6"]["forwarding"] = value


CONF_EFFECTS: dict[tuple[str, str], Callable[[NetKernel, Net, str, int], None]] = {
    ("ipv4", "forwarding"): _forwarding,
    ("ipv4", "rp_filter"): _rp_filter,
    ("ipv6", "disable_ipv6"): _disable_ipv6,
    ("ipv6", "forwarding"): _forwarding6,
}


def install(k: NetKernel) -> None:
    """The tree, beside what the core has there."""
    sys = k.vfs.proc_root.own["sys"]
    assert isinstance(sys, Dir)
    old = sys.own.get("net")
    root = Space(k)
    rows = tables(k.version)
    machine: dict[str, Value] = {
        name: value
        for name, value in rows.values.items()
        if name not in rows.plain or rows.plain[name].home is not Home.NET
    }
    k.net.sysctl = machine
    for name, row in rows.plain.items():
        where = root
        *parts, last = name.split(".")
        for part in parts:
            where = where.space(part)
        home = (lambda: current_net(k).sysctl) if row.home is Home.NET else (lambda: machine)
        if row.home is Home.NET:
            where.own[last] = NetFile(k, name, row, home)
        else:
            where.machine[last] = NetFile(k, name, row, home)
        if row.home is Home.SHOWN:
            where.own[last] = NetFile(k, name, replace(row, mode=row.mode & 0o444), home)
    if isinstance(old, Dir):
        core = old.own.get("core")
        if isinstance(core, Dir):
            root.space("core").machine |= core.own
            for node in core.own.values():
                if isinstance(node, SysctlFile):
                    node.rooted = partial(net_ctl_permissions, k)
    for family in CONF:
        place = root.space(family)
        place.own["conf"] = Whose(k, family, _conf_dir(k, family), ("all", "default"))
        place.own["neigh"] = Whose(k, family, _neigh_dir(k, family), ("default",))
    sys.own["net"] = root


def _conf_dir(k: NetKernel, family: str) -> Callable[[str], Dir]:
    rows = tables(k.version).conf[family]
    return lambda whose: Dir({name: ConfFile(k, family, whose, row) for name, row in rows.items()})


def _neigh_dir(k: NetKernel, family: str) -> Callable[[str], Dir]:
    def make(whose: str) -> Dir:
        whole = whose == "default" and current_net(k) is k.net.init
        rows = tables(k.version).neigh[family]
        return Dir({n: NeighFile(k, family, whose, row) for n, row in rows.items() if whole or n not in NEIGH_GLOBAL})

    return make
