"""/sys/class/net and /sys/devices/virtual/net: a directory for every device.  net/core/net-sysfs.c.

A sysfs shows the devices of the network namespace that it was mounted in: one super block for each namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import EINVAL, EOPNOTSUPP, EPERM
from arch.abi.inet import IFALIASZ
from arch.abi.limits import INT_MAX, U32_MAX
from arch.cstring import c_string, kstrto_within
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.fs.inode import SuperBlock
from simkernel.fs.nodes import Dir, Link, Node
from simkernel.fs.sysfs import AttrFile, sysfs_super
from simkernel.kernel.user_namespace import ns_capable
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.registry import (
    dev_change_flags,
    dev_change_tx_queue_len,
    dev_set_mtu,
    netif_carrier,
    run_linkwatch,
)
from simkernel.net.core.uevent import lines_of, path_of
from simkernel.net.face import NetKernel, current_net

VETH_SPEED = 10000  # Mbit/s
OPERSTATES = ("unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up")
# struct rtnl_link_stats64
STATISTICS = (
    "collisions", "multicast", "rx_bytes", "rx_compressed", "rx_crc_errors", "rx_dropped", "rx_errors", "rx_fifo_errors",
    "rx_frame_errors", "rx_length_errors", "rx_missed_errors", "rx_nohandler", "rx_over_errors", "rx_packets",
    "tx_aborted_errors", "tx_bytes", "tx_carrier_errors", "tx_compressed", "tx_dropped", "tx_errors", "tx_fifo_errors",
    "tx_heartbeat_errors", "tx_packets", "tx_window_errors",
)  # fmt: skip


@dataclass(frozen=True)
class Attribute:
    """A file of a device; one that can be written has a mode of 0644."""

    show: Callable[[NetDevice], object]
    store: Callable[[NetKernel, NetDevice, bytes], None] | None = None


def _running(value: Callable[[NetDevice], int]) -> Callable[[NetDevice], int]:
    """What only a device that is up tells.  EINVAL."""

    def show(dev: NetDevice) -> int:
        if not dev.up:
            raise KernelError(EINVAL, "it is down")
        return value(dev)

    return show


def _of_kind(values: dict[str, object]) -> Callable[[NetDevice], object]:
    """What the drivers of some kinds tell of a device that is up.  EINVAL."""

    def show(dev: NetDevice) -> object:
        if not dev.up or dev.kind.kind not in values:
            raise KernelError(EINVAL, "nobody knows")
        return values[dev.kind.kind]

    return show


def _unknown(dev: NetDevice) -> str:
    raise KernelError(EOPNOTSUPP, "no such port")


def _operstate(dev: NetDevice) -> str:
    return OPERSTATES[dev.operstate] if dev.up else "down"


def _alias(dev: NetDevice) -> str | None:
    return dev.alias or None


def _set_mtu(k: NetKernel, dev: NetDevice, data: bytes) -> None:
    dev_set_mtu(k, dev, kstrto_within(c_string(data)) & U32_MAX)


def _set_flags(k: NetKernel, dev: NetDevice, data: bytes) -> None:
    dev_change_flags(k, dev, kstrto_within(c_string(data)) & U32_MAX)


def _set_queue(k: NetKernel, dev: NetDevice, data: bytes) -> None:
    dev_change_tx_queue_len(k, dev, kstrto_within(c_string(data)))


def _set_group(k: NetKernel, dev: NetDevice, data: bytes) -> None:
    dev.group = kstrto_within(c_string(data)) & INT_MAX


def _set_alias(k: NetKernel, dev: NetDevice, data: bytes) -> None:
    text = data.removesuffix(b"\n")
    if len(text) >= IFALIASZ:
        raise KernelError(EINVAL, "longer than an alias may be")
    dev.alias = text.decode("latin-1")


def _set_carrier(k: NetKernel, dev: NetDevice, data: bytes) -> None:
    on = kstrto_within(c_string(data))
    if not dev.up:
        raise KernelError(EINVAL, "it is down")
    if dev.kind.kind != "dummy":
        raise KernelError(EOPNOTSUPP, "its driver says")
    netif_carrier(k, dev, bool(on))


def _announce(k: NetKernel, dev: NetDevice, data: bytes) -> None:
    """uevent_store().  EINVAL."""
    k.vfs.uevents.synthesize(data, path_of(dev), "net", lines_of(dev), dev.net)


ATTRIBUTES: dict[str, Attribute] = {
    "addr_assign_type": Attribute(lambda dev: dev.mac_assign_type),
    "addr_len": Attribute(lambda dev: len(dev.mac)),
    "address": Attribute(lambda dev: dev.mac.hex(":")),
    "broadcast": Attribute(lambda dev: dev.broadcast.hex(":")),
    "carrier": Attribute(_running(lambda dev: int(dev.carrier)), _set_carrier),
    "carrier_changes": Attribute(lambda dev: dev.carrier_changes),
    "carrier_down_count": Attribute(lambda dev: dev.carrier_changes // 2 + dev.carrier_changes % 2 * (not dev.carrier)),
    "carrier_up_count": Attribute(lambda dev: dev.carrier_changes // 2 + dev.carrier_changes % 2 * dev.carrier),
    "dev_id": Attribute(lambda dev: "0x0"),
    "dev_port": Attribute(lambda dev: 0),
    "dormant": Attribute(_running(lambda dev: 0)),
    "duplex": Attribute(_of_kind({"veth": "full"})),
    "flags": Attribute(lambda dev: f"{dev.flags:#x}", _set_flags),
    "gro_flush_timeout": Attribute(lambda dev: 0),
    "ifalias": Attribute(_alias, _set_alias),
    "ifindex": Attribute(lambda dev: dev.ifindex),
    "iflink": Attribute(lambda dev: dev.ifindex if dev.peer is None else dev.peer.ifindex),
    "link_mode": Attribute(lambda dev: dev.link_mode),
    "mtu": Attribute(lambda dev: dev.mtu, _set_mtu),
    "name_assign_type": Attribute(lambda dev: dev.assign_type),
    "napi_defer_hard_irqs": Attribute(lambda dev: 0),
    "netdev_group": Attribute(lambda dev: dev.group, _set_group),
    "operstate": Attribute(_operstate),
    "phys_port_id": Attribute(_unknown),
    "phys_port_name": Attribute(_unknown),
    "phys_switch_id": Attribute(_unknown),
    "proto_down": Attribute(lambda dev: int(dev.proto_down)),
    "speed": Attribute(_of_kind({"veth": VETH_SPEED})),
    "testing": Attribute(_running(lambda dev: 0)),
    "threaded": Attribute(lambda dev: 0),
    "tx_queue_len": Attribute(lambda dev: dev.tx_queue_len, _set_queue),
    "type": Attribute(lambda dev: dev.hardware_type),
    "uevent": Attribute(lambda dev: "\n".join(lines_of(dev)), _announce),
}


def _read(attribute: Attribute, dev: NetDevice) -> str:
    value = attribute.show(dev)
    return "" if value is None else f"{value}\n"


def _write(k: NetKernel, attribute: Attribute, dev: NetDevice, data: bytes) -> None:
    """netdev_store().  EPERM."""
    assert attribute.store is not None
    if not ns_capable(k.current, dev.net.namespace.owner, CAP_NET_ADMIN):
        raise KernelError(EPERM, "needs CAP_NET_ADMIN")
    attribute.store(k, dev, data)
    run_linkwatch(k)


def _files(k: NetKernel, dev: NetDevice) -> Dir:
    """The directory of a device."""
    files: dict[str, Node] = {}
    for name, row in ATTRIBUTES.items():
        store = partial(_write, k, row, dev) if row.store else None
        files[name] = AttrFile(partial(_read, row, dev), store)
    counts = {name: AttrFile(partial(lambda name: f"{dev.stats.get(name, 0)}\n", name)) for name in STATISTICS}
    files["statistics"] = Dir(counts, mode=0o755)
    files["subsystem"] = Link("../../../../class/net")
    return Dir(files, mode=0o755)


class Devices:
    """The directories of one namespace's devices."""

    def __init__(self, k: NetKernel, net: Net) -> None:
        self.k, self.net = k, net
        self.known: dict[NetDevice, tuple[Dir, Link]] = {}

    def nodes(self) -> Iterator[tuple[str, Dir, Link]]:
        """(name, directory, link to it), of the devices that are there now."""
        devices = list(self.net.devices.values())
        self.known = {dev: known for dev, known in self.known.items() if dev in devices}
        for dev in devices:
            found = self.known.get(dev)
            if found is None:
                link = Link(partial(lambda dev: f"../../devices/virtual/net/{dev.name}", dev))
                found = self.known[dev] = _files(self.k, dev), link
            yield dev.name, *found

    def directories(self) -> list[tuple[str, Node]]:
        """Of /sys/devices/virtual/net."""
        return [(name, directory) for name, directory, _ in self.nodes()]

    def links(self) -> list[tuple[str, Node]]:
        """Of /sys/class/net."""
        return [(name, link) for name, _, link in self.nodes()]


def _over(base: Dir, path: tuple[str, ...], leaf: Dir) -> Dir:
    """`base` with another directory at `path`; all else is the same, now and later."""
    name, *rest = path
    below = base.lookup(name)
    assert not rest or isinstance(below, Dir)
    inner = _over(below, tuple(rest), leaf) if rest and isinstance(below, Dir) else leaf
    return Dir({name: inner}, base.mode, provider=lambda: [row for row in base.entries().items() if row[0] != name])


def _tree(k: NetKernel, net: Net) -> Dir:
    """/sys as a namespace sees it."""
    devices = Devices(k, net)
    links = Dir(mode=0o755, provider=devices.links)
    tree = _over(k.vfs.sysfs_root, ("class", "net"), links)
    return _over(tree, ("devices", "virtual", "net"), Dir(mode=0o755, provider=devices.directories))


def _super_block(k: NetKernel, first: SuperBlock) -> SuperBlock:
    """sysfs_get_tree(): the instance of the caller's namespace."""
    net = current_net(k)
    if net is k.net.init:
        return first
    if net.sysfs is None:
        net.sysfs = sysfs_super(k.vfs, _tree(k, net))
    return net.sysfs


def install(k: NetKernel) -> None:
    """The devices of the first namespace, and the rule for the others."""
    devices = Devices(k, k.net.init)
    k.vfs.sysfs_root.subdir("class").add("net", Dir(mode=0o755, provider=devices.links))
    virtual = k.vfs.sysfs_root.subdir("devices").subdir("virtual")
    virtual.add("net", Dir(mode=0o755, provider=devices.directories))
    k.vfs.sysfs_of_namespace = partial(_super_block, k)
