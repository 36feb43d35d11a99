"""/proc/sys/net: values of the machine and of each network namespace.  net/*/sysctl_net_*.c, net/ipv4/devinet.c, net/core/neighbour.c.

Which file shows what depends on who reads: the values of a namespace are those of the reader's.  Rows are core/conf_rows.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from arch.abi.capability import CAP_NET_ADMIN, CAP_SYS_ADMIN
from arch.abi.errno import EINVAL, EIO, ENOENT, EPERM
from arch.abi.limits import U32_MAX
from arch.abi.rtnetlink import NETCONFA_FORWARDING, NETCONFA_RP_FILTER
from arch.abi.socket import AF_INET
from arch.errors import KernelError
from simkernel.fs.nodes import Dir, Node
from simkernel.fs.proc_sys import SysctlFile
from simkernel.fs.sysctl_rows import Value, parse
from simkernel.kernel.task import Task
from simkernel.kernel.user_namespace import ns_capable
from simkernel.net.core.conf import NEIGH_GLOBAL
from simkernel.net.core.conf_rows import GLOBAL, IPV4_CONF, IPV6_CONF, NEIGH, PER_NET
from simkernel.net.core.netns import Net
from simkernel.net.core.netns_struct import store_sysctl
from simkernel.net.face import NetKernel, current_net
from simkernel.net.ipv6.addrconf import disable_ipv6

ROWS = {"ipv4": IPV4_CONF, "ipv6": IPV6_CONF}
NETCONF_ALL, NETCONF_DEFAULT = -1, -2  # of RTM_NEWNETCONF: no device
LOW, HIGH = -(1 << 31), (1 << 31) - 1
U8 = (0, 255)
# Ranges that the kernel checks, where they are not those of an int.
RANGES: dict[str, tuple[int, int]] = {
    "core.somaxconn": (0, HIGH), "core.rmem_max": (2304, HIGH), "core.wmem_max": (4608, HIGH), "core.rmem_default": (2304, HIGH),
    "core.wmem_default": (4608, HIGH), "core.txrehash": (0, 1), "core.netdev_budget": (LOW, HIGH),
    "ipv4.ip_default_ttl": (1, 255), "ipv4.ip_unprivileged_port_start": (0, 65535), "ipv4.tcp_syn_retries": (1, 127),
    "ipv4.tcp_ecn": (0, 2), "ipv4.tcp_timestamps": U8, "ipv4.tcp_sack": U8, "ipv4.tcp_window_scaling": U8, "ipv4.tcp_syncookies": U8,
    "ipv4.icmp_echo_ignore_all": (0, 1), "ipv4.icmp_echo_ignore_broadcasts": (0, 1), "ipv4.tcp_synack_retries": U8,
    "ipv4.tcp_retries1": U8, "ipv4.tcp_retries2": U8, "ipv4.tcp_orphan_retries": U8, "ipv4.tcp_tw_reuse": (0, 2),
    "ipv4.tcp_keepalive_probes": U8, "ipv4.ip_nonlocal_bind": U8, "ipv4.tcp_adv_win_scale": (-31, 31), "ipv4.tcp_notsent_lowat": (0, 0xFFFFFFFF),
    "ipv4.fib_multipath_hash_policy": (0, 3), "ipv4.tcp_dsack": U8, "ipv4.tcp_abort_on_overflow": U8, "ipv4.icmp_msgs_per_sec": (0, HIGH),
    "ipv6.ioam6_id_wide": (0, (1 << 56) - 1), "ipv6.bindv6only": U8, "ipv6.auto_flowlabels": (0, 3), "ipv6.flowlabel_reflect": (0, 7),
}  # fmt: skip


# Values that take a capability of whoever writes, root included: devinet_sysctl_forward(), set_default_qdisc(), proc_do_static_key().
ADMIN = {
    "core.default_qdisc": CAP_NET_ADMIN,
    "ipv4.ip_forward": CAP_NET_ADMIN,
    "core.high_order_alloc_disable": CAP_SYS_ADMIN,
}
ADMIN_CONF = {("ipv4", "forwarding"): CAP_NET_ADMIN}
CONF_RANGES = {("ipv6", "ioam6_id_wide"): (0, U32_MAX)}


def net_ctl_permissions(k: NetKernel, task: Task) -> bool:
    """Who may administer the network has what root has."""
    return ns_capable(task, current_net(k).namespace.owner, CAP_NET_ADMIN)


class NetFile(SysctlFile):
    """One value."""

    def __init__(self, k: NetKernel, name: str, mode: int, home: Callable[[], dict[str, Value]], key: str) -> None:
        readable, writable = mode & 0o444, mode & 0o222
        super().__init__(
            k.vfs.sysctl, f"net.{name}", self._show if readable else None, self._store if writable else None, mode
        )
        self.k, self.plain, self.home, self.key = k, name, home, key
        self.admin = ADMIN.get(name)
        self.range = RANGES.get(name, (LOW, HIGH))
        self.rooted = partial(net_ctl_permissions, k)

    def _show(self) -> str:
        reader = READERS.get(self.plain)
        return f"{reader(self.k) if reader is not None else self.home()[self.key]}\n"

    def _store(self, data: bytes) -> None:
        net, values = current_net(self.k), self.home()
        if self.admin is not None and not ns_capable(self.k.current, net.namespace.owner, self.admin):
            raise KernelError(EPERM)
        value = parse(data.decode("latin-1"), values.get(self.key, 0), *self.range)
        check = CHECKS.get(self.plain)
        if check is not None:
            check(self.k, value)
        old, values[self.key] = values.get(self.key), value
        if values is net.sysctl:
            store_sysctl(self.k, net, self.key)
        after = EFFECTS.get(self.plain)
        if after is not None:
            after(self.k, net, value)
        elif old != value:
            self.changed(net, value)

    def changed(self, net: Net, value: Value) -> None:
        """What was looked up may be otherwise now."""
        net.ipv4.changed()
        net.ipv6.changed()


class ConfFile(NetFile):
    """net.FAMILY.conf.WHOSE.KEY."""

    def __init__(self, k: NetKernel, family: str, whose: str, key: str, mode: int) -> None:
        super().__init__(k, f"{family}.conf.{whose}.{key}", mode, lambda: conf_of(current_net(k), family, whose), key)
        self.family, self.whose = family, whose
        self.admin = ADMIN_CONF.get((family, key))
        self.range = CONF_RANGES.get((family, key), (LOW, HIGH))

    def _show(self) -> str:
        if self.key == "stable_secret" and self.key not in self.home():
            raise KernelError(EIO, "no secret yet")
        return super()._show()

    def changed(self, net: Net, value: Value) -> None:
        """devinet_conf_proc(), addrconf_sysctl_forward() and their like."""
        net.ipv4.changed()
        net.ipv6.changed()
        hook = CONF_EFFECTS.get((self.family, self.key))
        if hook is not None:
            hook(self.k, net, self.whose, int(value))


class NeighFile(NetFile):
    """net.FAMILY.neigh.WHOSE.KEY: some values stand twice, in other units."""

    def __init__(self, k: NetKernel, family: str, whose: str, key: str, mode: int) -> None:
        super().__init__(
            k, f"{family}.neigh.{whose}.{key}", mode, lambda: neigh_of(k, current_net(k), family, whose), key
        )
        self.family, self.whose = family, whose

    def changed(self, net: Net, value: Value) -> None:
        """neigh_proc_base_reachable_time()."""
        values, number = self.home(), int(value)
        twins = {
            "base_reachable_time": ("base_reachable_time_ms", number * 1000),
            "base_reachable_time_ms": ("base_reachable_time", number // 1000),
            "retrans_time": ("retrans_time_ms", number * (10 if self.family == "ipv4" else 4)),
            "retrans_time_ms": ("retrans_time", number // (10 if self.family == "ipv4" else 4)),
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
    return numbers  # type: ignore[return-value]  # values of conf are ints, and stay so


def neigh_of(k: NetKernel, net: Net, family: str, whose: str) -> dict[str, Value]:
    """Those of a table's default, with the table's own, or of a device.  ENOENT."""
    if whose == "default":
        found = net.neigh_default[family]
        if net is k.net.init:
            for key in NEIGH_GLOBAL:
                found.setdefault(key, int(NEIGH[key][0]))
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

    def __init__(self, k: NetKernel, make: Callable[[str], Dir], fixed: tuple[str, ...]) -> None:
        self.k, self.make, self.fixed = k, make, fixed
        self.made: dict[tuple[int, str], Dir] = {}

    def lookup(self, name: str) -> Node | None:
        """One of them."""
        net = current_net(self.k)
        if name not in self.fixed and all(dev.name != name for dev in net.devices.values()):
            return None
        key = (net.cookie, name)
        if key not in self.made:
            self.made[key] = self.make(name)
        return self.made[key]

    def entries(self) -> Mapping[str, Node]:
        """`all` and `default`, then the devices."""
        names = [*self.fixed, *(dev.name for _, dev in sorted(current_net(self.k).devices.items()))]
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


def _known_congestion(k: NetKernel, value: Value) -> None:
    """proc_tcp_congestion_control().  ENOENT."""
    if value not in ("reno", "cubic", *k.net.programs.congestion_controls()):
        raise KernelError(ENOENT)


def _port_range(k: NetKernel, value: Value) -> None:
    """ipv4_local_port_range().  EINVAL."""
    low, high = map(int, str(value).split())
    if not 1 <= low <= high <= 65535 or low < int(current_net(k).sysctl["ipv4.ip_unprivileged_port_start"]):
        raise KernelError(EINVAL)


def _group_range(k: NetKernel, value: Value) -> None:
    """ipv4_ping_group_range(): an empty one is written as 1 0."""
    low, high = map(int, str(value).split())
    if low < 0 or high < 0:
        raise KernelError(EINVAL)


def _flush(k: NetKernel, net: Net, value: Value) -> None:
    net.ipv4.changed()
    net.ipv6.changed()


def _congestion_names(k: NetKernel) -> str:
    return " ".join(("reno", "cubic", *sorted(k.net.programs.congestion_controls())))


READERS: dict[str, Callable[[NetKernel], Value]] = {
    "ipv4.ip_forward": lambda k: current_net(k).conf_all["ipv4"]["forwarding"],
    "ipv4.tcp_available_congestion_control": _congestion_names,
}
CHECKS: dict[str, Callable[[NetKernel, Value], None]] = {
    "ipv4.tcp_congestion_control": _known_congestion,
    "core.default_qdisc": lambda k, value: None,
    "ipv4.ip_local_port_range": _port_range,
    "ipv4.ping_group_range": _group_range,
}
EFFECTS: dict[str, Callable[[NetKernel, Net, Value], None]] = {
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
    machine: dict[str, Value] = {name: value for name, (value, _) in GLOBAL.items()}
    k.net.sysctl = machine
    for rows, per_net in ((GLOBAL, False), (PER_NET, True)):
        for name, (_, mode) in rows.items():
            where = root
            *parts, last = name.split(".")
            for part in parts:
                where = where.space(part)
            home = (lambda: current_net(k).sysctl) if per_net else (lambda: machine)
            file = NetFile(k, name, mode, home, name)
            (where.own if per_net else where.machine)[last] = file
    if isinstance(old, Dir):
        core = old.own.get("core")
        if isinstance(core, Dir):
            root.space("core").machine |= core.own
            for node in core.own.values():
                if isinstance(node, SysctlFile):
                    node.rooted = partial(net_ctl_permissions, k)
    for family in ROWS:
        place = root.space(family)
        place.own["conf"] = Whose(k, _conf_dir(k, family), ("all", "default"))
        place.own["neigh"] = Whose(k, _neigh_dir(k, family), ("default",))
    sys.own["net"] = root


def _conf_dir(k: NetKernel, family: str) -> Callable[[str], Dir]:
    return lambda whose: Dir({key: ConfFile(k, family, whose, key, mode) for key, (_, mode) in ROWS[family].items()})


def _neigh_dir(k: NetKernel, family: str) -> Callable[[str], Dir]:
    def make(whose: str) -> Dir:
        shown = [
            key for key in NEIGH if key not in NEIGH_GLOBAL or (whose == "default" and current_net(k) is k.net.init)
        ]
        return Dir({key: NeighFile(k, family, whose, key, NEIGH[key][1]) for key in shown})

    return make
