"""Devices come, change, move between namespaces and go; who wants to know is told.  net/core/dev.c, the half without packets.

`k.net.netdev_chain` are the notifiers, called in their order with an event; what user space hears over netlink goes through
`k.net.announce`.
"""

from __future__ import annotations

from arch.abi.errno import EBUSY, EEXIST, EINVAL, ENETDOWN, ENFILE, EOVERFLOW, ERANGE
from arch.abi.inet import (
    ARPHRD_ETHER,
    IFF_ALLMULTI,
    IFF_AUTOMEDIA,
    IFF_DEBUG,
    IFF_DORMANT,
    IFF_DYNAMIC,
    IFF_LOWER_UP,
    IFF_MULTICAST,
    IFF_NOARP,
    IFF_NOTRAILERS,
    IFF_PORTSEL,
    IFF_PROMISC,
    IFF_RUNNING,
    IFF_UP,
    IFF_VOLATILE,
    IFNAMSIZ,
)
from arch.abi.kern_levels import KERN_INFO
from arch.abi.rtnetlink import (
    IF_OPER_DOWN,
    IF_OPER_LOWERLAYERDOWN,
    IF_OPER_UNKNOWN,
    IF_OPER_UP,
    IFLA_EVENT_NONE,
)
from arch.errors import KernelError
from simkernel.net.core import uevent
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Event, LinkKind, Net, NetDevice
from simkernel.net.face import NetKernel

DEV_MAX_TX_QUEUE_LEN = 32767

ETH_ALEN = 6
NET_NAME_ENUM, NET_NAME_PREDICTABLE, NET_NAME_USER, NET_NAME_RENAMED = 1, 2, 3, 4
NET_ADDR_PERM, NET_ADDR_RANDOM, NET_ADDR_SET = 0, 1, 3


def notify(k: NetKernel, dev: NetDevice, event: Event) -> None:
    """call_netdevice_notifiers()."""
    for each in k.net.netdev_chain:
        each(dev, event)


def random_mac(k: NetKernel) -> bytes:
    """eth_random_addr(): locally administered, not a group."""
    raw = bytearray(k.net.own_random.randbytes(ETH_ALEN))
    raw[0] = raw[0] & 0xFE | 0x02
    return bytes(raw)


GRO_MAX_SIZE = 65536
LINK_STATE_PRESENT = 2  # __LINK_STATE_START is 1


def store(k: NetKernel, dev: NetDevice) -> None:
    """What programs read of a device, into its struct."""
    view = k.view(dev.addr, "struct net_device")
    k.mem.write(view.address_of("name"), dev.name.encode("latin-1").ljust(IFNAMSIZ, b"\0"))
    k.mem.write(view.dev_addr, dev.mac)
    k.mem.write(view.address_of("broadcast"), dev.broadcast)
    for member, value in (
        ("ifindex", dev.ifindex), ("mtu", dev.mtu), ("flags", dev.flags), ("type", dev.hardware_type),
        ("min_mtu", dev.min_mtu), ("max_mtu", dev.max_mtu), ("addr_len", dev.kind.addr_len), ("group", dev.group),
        ("operstate", dev.operstate), ("link_mode", dev.link_mode), ("num_tx_queues", dev.queues[0]),
        ("num_rx_queues", dev.queues[1]), ("real_num_tx_queues", dev.queues[0]), ("real_num_rx_queues", dev.queues[1]),
        ("tx_queue_len", dev.tx_queue_len), ("hard_header_len", dev.kind.hard_header_len), ("min_header_len", dev.kind.hard_header_len), ("gflags", dev.gflags),
        ("name_assign_type", dev.assign_type), ("reg_state", 1), ("nd_net.net", dev.net.addr), ("features", dev.features),
        ("hw_features", dev.hw_features), ("wanted_features", dev.wanted_features), ("gso_max_size", dev.gso_max_size),
        ("gso_max_segs", dev.gso_max_segs), ("gro_max_size", GRO_MAX_SIZE), ("state", LINK_STATE_PRESENT | bool(dev.flags & IFF_UP)),
    ):  # fmt: skip
        if k.types.has_member("struct net_device", member):
            k.types.setter("struct net_device", member)(k.mem, dev.addr, value)


def valid_name(name: str) -> bool:
    """dev_valid_name()."""
    return bool(name) and len(name.encode()) < IFNAMSIZ and name not in (".", "..") and not any(
        c in "/:" or c.isspace() for c in name
    )  # fmt: skip


def _free_name(k: NetKernel, net: Net, name: str) -> str:
    """dev_get_valid_name(): `%d` becomes the first number that is free.  EINVAL, EEXIST, ENFILE."""
    if not valid_name(name):
        raise KernelError(EINVAL, "not a name")
    if "%" in name:
        place = name.find("%")
        if name[place + 1 : place + 2] != "d" or "%" in name[place + 2 :]:
            raise KernelError(EINVAL, "a pattern has one %d")
        for number in range(8 * 4096):
            found = name.replace("%d", str(number))
            if net.named(found) is None and len(found) < IFNAMSIZ:
                return found
        raise KernelError(ENFILE, "no number is free")
    if net.named(name) is not None:
        raise KernelError(EEXIST, "there is such a device")
    return name


def new_index(net: Net) -> int:
    """dev_new_index()."""
    while True:
        net.last_ifindex += 1
        if net.last_ifindex not in net.devices:
            return net.last_ifindex


def set_features(dev: NetDevice, features: int, switched: int) -> None:
    """What a new device does, and what of that may be switched."""
    dev.features, dev.hw_features, dev.wanted_features = features, switched, features & switched


def register_netdevice(
    k: NetKernel,
    net: Net,
    name: str,
    kind: LinkKind,
    *,
    flags: int,
    mtu: int,
    mac: bytes | None = None,
    hardware_type: int = ARPHRD_ETHER,
    ifindex: int = 0,
    limits: tuple[int, int] = (68, 65535),
    broadcast: bytes = b"\xff" * ETH_ALEN,
) -> NetDevice:
    """A device in a namespace, down.  EINVAL, EEXIST, EBUSY."""
    name = _free_name(k, net, name)
    if ifindex and ifindex in net.devices:
        raise KernelError(EBUSY, "the number is taken")
    view = k.new("struct net_device")
    view.dev_addr = k.mem.alloc(32)
    dev = NetDevice(
        view.addr, net, name, ifindex or new_index(net), kind, mac or random_mac(k), broadcast, mtu, flags,
        hardware_type, *limits,
    )  # fmt: skip
    set_features(dev, *kind.features)
    dev.mac_assign_type = NET_ADDR_PERM if mac else NET_ADDR_RANDOM
    dev.created_ns = k.clock.now_ns
    net.devices[dev.ifindex] = dev
    k.net.devices[dev.addr] = dev
    if dev.ifindex == 1:
        k.view(net.addr, "struct net").loopback_dev = dev.addr
    dev.operstate = IF_OPER_UNKNOWN
    _changed_list(k, net)
    store(k, dev)
    uevent.added(k, dev)
    notify(k, dev, Event.REGISTER)
    return dev


def _changed_list(k: NetKernel, net: Net) -> None:
    """dev_base_seq_inc()."""
    net.dev_base_seq = net.dev_base_seq + 1 & 0xFFFFFFFF or 1
    k.view(net.addr, "struct net").dev_base_seq = net.dev_base_seq


# -- state -------------------------------------------------------------------------------------------------------------


def netif_oper_up(dev: NetDevice) -> bool:
    """IF_OPER_UP, or nobody knows."""
    return dev.operstate in (IF_OPER_UP, IF_OPER_UNKNOWN)


def dev_get_flags(dev: NetDevice) -> int:
    """The flags that user space sees."""
    flags = dev.flags & ~(IFF_PROMISC | IFF_ALLMULTI | IFF_RUNNING | IFF_LOWER_UP | IFF_DORMANT)
    flags |= dev.gflags & (IFF_PROMISC | IFF_ALLMULTI)
    if dev.up:
        flags |= (IFF_RUNNING if netif_oper_up(dev) else 0) | (IFF_LOWER_UP if dev.carrier else 0)
    return flags


def linkwatch(k: NetKernel, dev: NetDevice) -> None:
    """linkwatch_do_dev(), rfc2863_policy(): the operational state follows the carrier, and everybody hears of it."""
    below = IF_OPER_LOWERLAYERDOWN if dev.peer is not None else IF_OPER_DOWN
    dev.operstate = IF_OPER_UP if dev.carrier else below
    netdev_state_change(k, dev)
    store(k, dev)


def netif_carrier(k: NetKernel, dev: NetDevice, on: bool) -> None:
    """netif_carrier_on(), netif_carrier_off(): looked at when the current change is done."""
    if dev.carrier != on:
        dev.carrier = on
        dev.carrier_changes += 1
        if dev not in k.net.linkwatch:
            k.net.linkwatch.append(dev)


def run_linkwatch(k: NetKernel) -> None:
    """linkwatch_event(): a work item of Linux, here at the end of what changed something."""
    while k.net.linkwatch:
        dev = k.net.linkwatch.pop(0)
        if dev.registered:
            linkwatch(k, dev)


def netdev_state_change(k: NetKernel, dev: NetDevice) -> None:
    """Notifiers, and RTM_NEWLINK."""
    if dev.up:
        notify(k, dev, Event.CHANGE)
        k.net.announce.link(dev, 0, IFLA_EVENT_NONE)


def dev_open(k: NetKernel, dev: NetDevice) -> None:
    """__dev_open()."""
    dev.flags |= IFF_UP
    try:
        dev.kind.opened(dev)
    except KernelError:
        dev.flags &= ~IFF_UP
        raise
    dev.opened = True


def dev_close(k: NetKernel, dev: NetDevice) -> None:
    """__dev_close_many()."""
    for inet in (dev.net.ipv4, dev.net.ipv6):
        inet.forget_pmtus(dev)
    notify(k, dev, Event.GOING_DOWN)
    dev.kind.stopped(dev)
    dev.flags &= ~IFF_UP


SETTABLE = IFF_DEBUG | IFF_NOTRAILERS | IFF_NOARP | IFF_DYNAMIC | IFF_MULTICAST | IFF_PORTSEL | IFF_AUTOMEDIA


def dev_change_flags(k: NetKernel, dev: NetDevice, flags: int) -> None:
    """Flags as user space wants them.  What __dev_change_flags() and __dev_notify_flags() do."""
    old = dev.flags
    dev.flags = flags & SETTABLE | dev.flags & (IFF_UP | IFF_VOLATILE | IFF_PROMISC | IFF_ALLMULTI)
    if (old ^ flags) & IFF_UP:
        if flags & IFF_UP:
            dev_open(k, dev)
        else:
            dev_close(k, dev)
    if (flags ^ dev.gflags) & IFF_PROMISC:
        dev.gflags ^= IFF_PROMISC
        set_promiscuity(k, dev, 1 if flags & IFF_PROMISC else -1, quiet=True)
    if (flags ^ dev.gflags) & IFF_ALLMULTI:
        dev.gflags ^= IFF_ALLMULTI
        set_allmulti(k, dev, 1 if flags & IFF_ALLMULTI else -1, quiet=True)
    store(k, dev)
    changes = (old ^ dev.flags) | (old ^ dev.flags) & IFF_UP
    if changes:
        k.net.announce.link(dev, changes, IFLA_EVENT_NONE)
    if changes & IFF_UP:
        notify(k, dev, Event.UP if dev.up else Event.DOWN)
    if dev.up and changes & ~(IFF_UP | IFF_PROMISC | IFF_ALLMULTI | IFF_VOLATILE):
        notify(k, dev, Event.CHANGE)


def set_promiscuity(k: NetKernel, dev: NetDevice, change: int, quiet: bool = False) -> None:
    """dev_set_promiscuity().  EOVERFLOW."""
    old = dev.flags
    dev.promiscuity += change
    if dev.promiscuity < 0:
        dev.promiscuity = 0
        raise KernelError(EOVERFLOW)
    dev.flags = dev.flags | IFF_PROMISC if dev.promiscuity else dev.flags & ~IFF_PROMISC
    if dev.flags != old:
        store(k, dev)
        word = "entered" if dev.flags & IFF_PROMISC else "left"
        k.printk(f"{'device ' if k.version.before('6.3') else ''}{dev.name} {word} promiscuous mode", KERN_INFO)
        if not quiet:
            k.net.announce.link(dev, IFF_PROMISC, IFLA_EVENT_NONE)


def set_allmulti(k: NetKernel, dev: NetDevice, change: int, quiet: bool = False) -> None:
    """dev_set_allmulti()."""
    old = dev.flags
    dev.allmulti = max(dev.allmulti + change, 0)
    dev.flags = dev.flags | IFF_ALLMULTI if dev.allmulti else dev.flags & ~IFF_ALLMULTI
    if dev.flags != old:
        store(k, dev)
        if not quiet:
            k.net.announce.link(dev, IFF_ALLMULTI, IFLA_EVENT_NONE)


def dev_set_mtu(k: NetKernel, dev: NetDevice, mtu: int) -> None:
    """dev_set_mtu_ext().  EINVAL with a word for user space."""
    if mtu == dev.mtu:
        return
    if mtu < 0 or mtu < dev.min_mtu:
        raise Refusal(EINVAL, "mtu less than device minimum")
    if 0 < dev.max_mtu < mtu:
        raise Refusal(EINVAL, "mtu greater than device maximum")
    dev.mtu = mtu
    dev.kind.mtu_changed(dev)
    store(k, dev)
    notify(k, dev, Event.CHANGEMTU)


def dev_change_tx_queue_len(k: NetKernel, dev: NetDevice, length: int) -> bool:
    """Whether it is another one now.  ERANGE."""
    if length > DEV_MAX_TX_QUEUE_LEN and k.version.at_least("6.1"):
        raise KernelError(ERANGE)
    if length == dev.tx_queue_len:
        return False
    dev.tx_queue_len = length
    notify(k, dev, Event.CHANGE_TX_QUEUE_LEN)
    store(k, dev)
    return True


def dev_set_mac_address(k: NetKernel, dev: NetDevice, mac: bytes) -> None:
    """eth_mac_addr().  EADDRNOTAVAIL is the caller's to find."""
    dev.mac, dev.mac_assign_type = mac, NET_ADDR_SET
    store(k, dev)
    notify(k, dev, Event.CHANGEADDR)


def dev_change_name(k: NetKernel, dev: NetDevice, name: str) -> None:
    """EBUSY of a device that is up, EEXIST, EINVAL."""
    if name == dev.name:
        return
    if dev.up and k.version.before("6.2"):
        raise KernelError(EBUSY, "it is up")
    old = uevent.path_of(dev)
    dev.name = _free_name(k, dev.net, name)
    dev.assign_type = NET_NAME_RENAMED
    store(k, dev)
    uevent.renamed(k, dev, old)
    notify(k, dev, Event.CHANGENAME)


# -- the end, and moving -----------------------------------------------------------------------------------------------


def unregister_netdevices(k: NetKernel, devices: list[NetDevice]) -> None:
    """unregister_netdevice_many(): down, then off the lists, and everything of theirs goes."""
    for dev in devices:
        if dev.up:
            dev_close(k, dev)
            k.net.announce.link(dev, IFF_UP, IFLA_EVENT_NONE)
            notify(k, dev, Event.DOWN)
    for dev in devices:
        dev.registered = False
        k.net.programs.device_gone(dev)
        message = k.net.announce.prepare_gone(dev)
        notify(k, dev, Event.UNREGISTER)
        if dev.qdisc is not None:
            old, dev.qdisc = dev.qdisc, None
            old.destroy()
        k.net.announce.gone(dev, message)
        uevent.removed(k, dev)
    for dev in devices:
        del dev.net.devices[dev.ifindex]
        _changed_list(k, dev.net)
        _free(k, dev)


def _free(k: NetKernel, dev: NetDevice) -> None:
    """free_netdev(): packets that are on their way from it keep the struct."""
    stood = k.net.clsact.pop(dev.addr, None)
    if stood is not None:
        stood.clear()
    k.net.devices.pop(dev.addr, None)
    dev.peer = dev.master = None
    if not any(packet.dev is dev for packet in k.net.skbs.values()):
        k.mem.free(k.view(dev.addr, "struct net_device").dev_addr)
        k.mem.free(dev.addr)


def dev_change_net_namespace(k: NetKernel, dev: NetDevice, net: Net, name: str = "", index: int = 0) -> None:
    """It leaves one namespace as if it were gone, and comes into another.  EINVAL, EEXIST, EBUSY."""
    if dev.kind.local:
        raise Refusal(EINVAL, "The interface netns is immutable" if k.version.at_least("6.12") else "")
    if net is dev.net:
        return
    wanted = dev.name
    if net.named(wanted) is not None:  # only then is the other name of use
        if not name:
            raise KernelError(EEXIST)
        wanted = _free_name(k, net, name)
    if index and index in net.devices:
        raise KernelError(EBUSY)
    if dev.up:
        dev_close(k, dev)
        k.net.announce.link(dev, IFF_UP, IFLA_EVENT_NONE)
        notify(k, dev, Event.DOWN)
    new = index or (dev.ifindex if dev.ifindex not in net.devices else new_index(net))
    message = k.net.announce.prepare_gone(dev, net, new)
    dev.registered = False
    notify(k, dev, Event.UNREGISTER)
    k.net.announce.gone(dev, message)
    if dev.master is not None:
        raise KernelError(EBUSY)
    uevent.leaves(k, dev)
    del dev.net.devices[dev.ifindex]
    _changed_list(k, dev.net)
    old = uevent.path_of(dev)
    dev.net, dev.ifindex, dev.name, dev.registered, dev.opened = net, new, wanted, True, False
    net.devices[new] = dev
    net.last_ifindex = max(net.last_ifindex, new) if index else net.last_ifindex
    _changed_list(k, net)
    store(k, dev)
    uevent.comes(k, dev, old)
    notify(k, dev, Event.REGISTER)
    k.net.announce.link(dev, 0xFFFFFFFF, IFLA_EVENT_NONE)


def must_be_up(dev: NetDevice) -> None:
    """ENETDOWN."""
    if not dev.up:
        raise KernelError(ENETDOWN, f"{dev.name} is down")
