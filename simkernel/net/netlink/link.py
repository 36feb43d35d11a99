"""Links over NETLINK_ROUTE: asked for, made, changed, moved, deleted.  net/core/rtnetlink.c."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import (
    EADDRNOTAVAIL,
    EBUSY,
    EEXIST,
    EINVAL,
    ENODEV,
    EOPNOTSUPP,
    EPERM,
)
from arch.abi.if_link import IFLA_XDP
from arch.abi.inet import IFALIASZ
from arch.abi.netlink import NLA_HDRLEN, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLMSG_HDRLEN
from arch.abi.rtnetlink import (
    IF_OPER_DORMANT,
    IF_OPER_TESTING,
    IF_OPER_UNKNOWN,
    IF_OPER_UP,
    IFLA_ADDRESS,
    IFLA_AF_SPEC,
    IFLA_ALT_IFNAME,
    IFLA_BROADCAST,
    IFLA_CARRIER,
    IFLA_EVENT_NONE,
    IFLA_EXT_MASK,
    IFLA_GROUP,
    IFLA_GSO_MAX_SEGS,
    IFLA_GSO_MAX_SIZE,
    IFLA_IFALIAS,
    IFLA_IFNAME,
    IFLA_INET6_ADDR_GEN_MODE,
    IFLA_INFO_DATA,
    IFLA_INFO_KIND,
    IFLA_LINKINFO,
    IFLA_LINKMODE,
    IFLA_MASTER,
    IFLA_MTU,
    IFLA_NET_NS_FD,
    IFLA_NET_NS_PID,
    IFLA_NEW_IFINDEX,
    IFLA_OPERSTATE,
    IFLA_PORT_SELF,
    IFLA_PROP_LIST,
    IFLA_PROTO_DOWN,
    IFLA_PROTO_DOWN_REASON,
    IFLA_TARGET_NETNSID,
    IFLA_TXQLEN,
    IFLA_VF_PORTS,
    RTM_DELLINK,
    RTM_DELLINKPROP,
    RTM_GETLINK,
    RTM_NEWLINK,
    RTM_NEWLINKPROP,
    RTM_SETLINK,
)
from arch.abi.socket import AF_INET6
from arch.errors import KernelError
from arch.records import dataclass, field
from simkernel.kernel.user_namespace import may_in
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Event, Net, NetDevice
from simkernel.net.core.registry import (
    dev_change_flags,
    dev_change_name,
    dev_change_net_namespace,
    dev_change_tx_queue_len,
    dev_get_flags,
    dev_set_mac_address,
    dev_set_mtu,
    netdev_state_change,
    netif_carrier,
    notify,
    store,
    unregister_netdevices,
    valid_name,
)
from simkernel.net.face import NetKernel
from simkernel.net.netlink import policy, strict
from simkernel.net.netlink.link_fill import link, link6
from simkernel.net.netlink.message import LEFTOVER, Request, Wire, string
from simkernel.net.netlink.nsid import by_id, net_of_fd, net_of_pid
from simkernel.net.netlink.rtnetlink import Row, register
from simkernel.net.netlink.xdp import change_xdp

IFINFOMSG_SIZE = 16  # struct ifinfomsg


@dataclass(frozen=True)
class Wanted:
    """What a request says of a new device, for those who make one."""

    k: NetKernel
    wire: Wire
    net: Net  # where it is made
    source: Net  # where the caller is
    name: str
    ifindex: int
    flags: int
    change: int
    attributes: dict[int, bytes]
    data: dict[int, bytes]  # IFLA_INFO_DATA
    places: dict[int, int] = field(default_factory=dict)  # where its attributes stand in the message
    info: bool = False  # there is one

    @property
    def mac(self) -> bytes | None:
        """IFLA_ADDRESS.  EINVAL, EADDRNOTAVAIL."""
        raw = self.attributes.get(IFLA_ADDRESS)
        if raw is None:
            return None
        if len(raw) < 6:
            raise KernelError(EINVAL)
        if not valid_ether(raw[:6]):
            raise KernelError(EADDRNOTAVAIL)
        return raw[:6]


Maker = Callable[[Wanted], NetDevice]
Changer = Callable[[Wanted, NetDevice], None]
MAKERS: dict[str, Maker] = {}  # kind -> newlink(), which registers the device
CHANGERS: dict[str, Changer] = {}  # kind -> changelink()
KIND_SINCE: dict[str, str] = {}  # kinds that not all versions have
Check = Callable[[Wanted], None]
CHECKS: dict[str, tuple[policy.Policy, Check]] = {}  # kind -> policy and validate() of what is asked of it
MasterChange = Callable[[NetKernel, NetDevice, NetDevice | None], None]
MASTERS: dict[str, MasterChange] = {}  # kind -> ndo_add_slave(), ndo_del_slave() with None


def valid_ether(mac: bytes) -> bool:
    """is_valid_ether_addr()."""
    return not mac[0] & 1 and any(mac)


def _header(
    k: NetKernel, wire: Wire, body: bytes, short: str = "Invalid header length"
) -> tuple[int, int, int, dict[int, bytes]]:
    """(ifindex, flags, change, attributes).  EINVAL."""
    given = policy.parse(k, wire, body, IFINFOMSG_SIZE, policy.IFLA, short)
    index = int.from_bytes(body[4:8], "little" if wire.order == "<" else "big", signed=True)
    named = [kind for kind in (IFLA_NET_NS_PID, IFLA_NET_NS_FD, IFLA_TARGET_NETNSID) if kind in given]
    if len(named) > 1:
        raise Refusal(EINVAL, "multiple netns identifying attributes specified")
    return index, wire.number(body[8:12]), wire.number(body[12:16]), given


def find_device(net: Net, wire: Wire, index: int, attributes: dict[int, bytes]) -> NetDevice:
    """Which device a struct ifinfomsg means: by number, else by name.  EINVAL, ENODEV."""
    name = attributes.get(IFLA_IFNAME) or attributes.get(IFLA_ALT_IFNAME)
    if index > 0:
        found = net.devices.get(index)
    elif name is not None:
        found = net.named(string(name))
    else:
        raise KernelError(EINVAL)
    if found is None:
        raise KernelError(ENODEV)
    return found


def _get(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """rtnl_getlink().  EOPNOTSUPP and those of find_device()."""
    strict.LINK_GET.check(wire, request)
    index, _, _, attributes = _header(k, wire, request.body, "Invalid header for get link")
    strict.LINK_GET.check_attributes(wire, request)
    if IFLA_NET_NS_PID in attributes or IFLA_NET_NS_FD in attributes:
        raise Refusal(EOPNOTSUPP, "specified netns attribute not supported")
    dev = find_device(_target(k, wire, request.net, attributes), wire, index, attributes)
    return [link(k, wire, dev, mask=wire.number(attributes.get(IFLA_EXT_MASK)))]


def _dump(k: NetKernel, wire: Wire, request: Request) -> Iterable[bytes]:
    """rtnl_dump_ifinfo(): of a master's, or of one kind, where that is asked for."""
    body = request.body
    if body[0] == AF_INET6:
        yield from (link6(k, wire, dev) for _, dev in sorted(request.net.devices.items()) if dev.has_ipv6)
        return
    strict.LINK_DUMP.check(wire, request)
    if request.strict and any(body[4:8]):
        raise Refusal(EINVAL, "Filter by device index not supported for link dumps")
    strict.LINK_DUMP.check_attributes(wire, request)
    if wire.leftover(body[IFINFOMSG_SIZE:]):
        wire.said = LEFTOVER
    attributes = wire.attributes(body[IFINFOMSG_SIZE:]) if len(body) >= IFINFOMSG_SIZE else wire.attributes(body[4:])
    mask = wire.number(attributes.get(IFLA_EXT_MASK))
    master = wire.number(attributes.get(IFLA_MASTER))
    info = wire.attributes(attributes.get(IFLA_LINKINFO, b""))
    kind = string(info.get(IFLA_INFO_KIND))
    wire.rows_filtered = bool(master or (kind and kind in MAKERS))
    for _, dev in sorted(request.net.devices.items()):
        if master and (dev.master is None or dev.master.ifindex != master):
            continue
        if kind and dev.kind.kind != kind and kind in MAKERS:
            continue
        yield link(k, wire, dev, mask=mask)


# -- changes -----------------------------------------------------------------------------------------------------------


def _target(k: NetKernel, wire: Wire, net: Net, attributes: dict[int, bytes]) -> Net:
    """rtnl_link_get_net_capable(): where the device is to be.  EPERM and those of the reference."""
    found = net
    if IFLA_NET_NS_PID in attributes:
        found = net_of_pid(k, wire.number(attributes[IFLA_NET_NS_PID]))
    elif IFLA_NET_NS_FD in attributes:
        found = net_of_fd(k, wire.number(attributes[IFLA_NET_NS_FD]))
    elif IFLA_TARGET_NETNSID in attributes:
        by_number = by_id(k, net, wire.number(attributes[IFLA_TARGET_NETNSID]))
        if by_number is None:
            raise KernelError(EINVAL)
        found = by_number
    if found is not net and not may_in(k, found.namespace.owner, CAP_NET_ADMIN):
        raise KernelError(EPERM)
    return found


def combined(dev: NetDevice, flags: int, change: int) -> int:
    """rtnl_dev_combine_flags()."""
    return flags & change | dev_get_flags(dev) & ~change if change else flags


def do_setlink(
    k: NetKernel, wire: Wire, dev: NetDevice, index: int, flags: int, change: int, given: dict[int, bytes]
) -> None:
    """What is said of a device, in the kernel's order."""
    tell = False
    if IFLA_NET_NS_PID in given or IFLA_NET_NS_FD in given or IFLA_TARGET_NETNSID in given:
        net = _target(k, wire, dev.net, given)
        name = string(given.get(IFLA_IFNAME)) if index > 0 else ""
        dev_change_net_namespace(k, dev, net, name, wire.number(given.get(IFLA_NEW_IFINDEX)))
    if IFLA_ADDRESS in given:
        _set_address(k, dev, given[IFLA_ADDRESS])
        tell = True
    if IFLA_MTU in given:
        dev_set_mtu(k, dev, wire.number(given[IFLA_MTU]))
    if IFLA_GROUP in given:
        dev.group = wire.number(given[IFLA_GROUP])
        tell = True
    if index > 0 and string(given.get(IFLA_IFNAME)):
        dev_change_name(k, dev, string(given[IFLA_IFNAME]))
    if IFLA_IFALIAS in given:
        if len(given[IFLA_IFALIAS]) >= IFALIASZ:
            raise KernelError(EINVAL)
        dev.alias = string(given[IFLA_IFALIAS])
        tell = True
    if IFLA_BROADCAST in given:
        dev.broadcast = given[IFLA_BROADCAST][:6]
        notify(k, dev, Event.CHANGEADDR)
    if IFLA_MASTER in given:
        set_master(k, dev, wire.number(given[IFLA_MASTER]))
    if flags or change:
        dev_change_flags(k, dev, combined(dev, flags, change))
    if IFLA_CARRIER in given:
        _set_carrier(k, dev, wire.number(given[IFLA_CARRIER], 1))
    if IFLA_TXQLEN in given:
        tell = dev_change_tx_queue_len(k, dev, wire.number(given[IFLA_TXQLEN])) or tell
    if IFLA_GSO_MAX_SIZE in given:
        tell = _set_gso(k, dev, wire.number(given[IFLA_GSO_MAX_SIZE]), dev.gso_max_segs) or tell
    if IFLA_GSO_MAX_SEGS in given:
        tell = _set_gso(k, dev, dev.gso_max_size, wire.number(given[IFLA_GSO_MAX_SEGS])) or tell
    if IFLA_OPERSTATE in given:
        _set_operstate(dev, wire.number(given[IFLA_OPERSTATE], 1))
    if IFLA_LINKMODE in given:
        mode = wire.number(given[IFLA_LINKMODE], 1)
        tell, dev.link_mode = tell or mode != dev.link_mode, mode
    if IFLA_AF_SPEC in given:
        _set_families(k, wire, dev, wire.attributes(given[IFLA_AF_SPEC]))
        tell = True
    if IFLA_VF_PORTS in given or IFLA_PORT_SELF in given:
        raise KernelError(EOPNOTSUPP)
    if IFLA_PROTO_DOWN in given or IFLA_PROTO_DOWN_REASON in given:
        raise Refusal(EOPNOTSUPP, "Protodown not supported by device")
    if IFLA_XDP in given:
        change_xdp(k, wire, dev, given[IFLA_XDP])
        tell = True
    store(k, dev)
    if tell:
        netdev_state_change(k, dev)


def _set_operstate(dev: NetDevice, wanted: int) -> None:
    """set_operstate(): user space may only say how far up a link is that is up."""
    now, below = dev.operstate, {IF_OPER_UP, IF_OPER_UNKNOWN}
    if (wanted == IF_OPER_UP and now in (IF_OPER_DORMANT, IF_OPER_TESTING, IF_OPER_UNKNOWN)) or (
        wanted in (IF_OPER_DORMANT, IF_OPER_TESTING) and now in below
    ):
        dev.operstate = wanted


def _set_address(k: NetKernel, dev: NetDevice, raw: bytes) -> None:
    if len(raw) < 6:
        raise KernelError(EINVAL)
    if not dev.kind.kind and dev.up:
        raise KernelError(EBUSY)
    if not valid_ether(raw[:6]):
        raise KernelError(EADDRNOTAVAIL)
    dev_set_mac_address(k, dev, raw[:6])


def _set_carrier(k: NetKernel, dev: NetDevice, on: int) -> None:
    """dev_change_carrier(): of kinds that let user space say so."""
    if dev.kind.kind != "dummy":
        raise KernelError(EOPNOTSUPP)
    netif_carrier(k, dev, bool(on))


def _set_gso(k: NetKernel, dev: NetDevice, size: int, segments: int) -> bool:
    if size > dev.kind.tso_max_size or segments > 65535:
        raise KernelError(EINVAL)
    changed = (size, segments) != (dev.gso_max_size, dev.gso_max_segs)
    dev.gso_max_size, dev.gso_max_segs = size, segments
    return changed


def _set_families(k: NetKernel, wire: Wire, dev: NetDevice, families: dict[int, bytes]) -> None:
    """IFLA_AF_SPEC: how IPv6 makes its addresses."""
    inet6 = policy.parse_nested(k, wire, families.get(AF_INET6, b""), policy.INET6_AF)
    if IFLA_INET6_ADDR_GEN_MODE in inet6:
        mode = wire.number(inet6[IFLA_INET6_ADDR_GEN_MODE], 1)
        if mode > 3:
            raise KernelError(EINVAL)
        dev.conf["ipv6"]["addr_gen_mode"] = mode


def set_master(k: NetKernel, dev: NetDevice, index: int) -> None:
    """do_set_master().  EINVAL, EOPNOTSUPP."""
    if dev.master is not None:
        if dev.master.ifindex == index:
            return
        MASTERS[dev.master.kind.kind](k, dev, None)
    if index:
        master = dev.net.devices.get(index)
        if master is None:
            raise KernelError(EINVAL)
        if master.kind.kind not in MASTERS:
            raise KernelError(EOPNOTSUPP)
        MASTERS[master.kind.kind](k, dev, master)


def _check(attributes: dict[int, bytes]) -> None:
    """validate_linkmsg().  EINVAL."""
    if len(attributes.get(IFLA_ADDRESS, bytes(6))) < 6 or len(attributes.get(IFLA_BROADCAST, bytes(6))) < 6:
        raise KernelError(EINVAL)


def _set(k: NetKernel, wire: Wire, request: Request) -> None:
    """rtnl_setlink()."""
    index, flags, change, attributes = _header(k, wire, request.body)
    _check(attributes)
    dev = find_device(request.net, wire, index, attributes)
    do_setlink(k, wire, dev, index, flags, change, attributes)


def _new(k: NetKernel, wire: Wire, request: Request) -> None:
    """__rtnl_newlink(): one that is there is changed, else it is made."""
    index, flags, change, attributes = _header(k, wire, request.body)
    net, info = request.net, policy.parse_nested(k, wire, attributes.get(IFLA_LINKINFO, b""), policy.IFLA_INFO)
    kind, name = string(info.get(IFLA_INFO_KIND)), string(attributes.get(IFLA_IFNAME))
    named = name or string(attributes.get(IFLA_ALT_IFNAME))
    dev, specified = None, False
    if index > 0:
        dev, specified = net.devices.get(index), True
    elif index < 0:
        raise Refusal(EINVAL, "ifindex can't be negative" if k.version.at_least("6.1") else "")
    elif named:
        dev, specified = net.named(named), True
    if dev is not None:
        _check(attributes)
    data, places = _info_data(k, wire, request.body, info, kind)
    wanted = Wanted(
        k, wire, net, net, name, max(index, 0), flags, change, attributes, data, places, IFLA_INFO_DATA in info
    )
    if kind in CHECKS:
        CHECKS[kind][1](wanted)
    if dev is not None:
        if request.flags & NLM_F_EXCL:
            raise KernelError(EEXIST)
        if request.flags & NLM_F_REPLACE:
            raise KernelError(EOPNOTSUPP)
        if IFLA_LINKINFO in attributes and kind:
            if IFLA_INFO_DATA in info:
                if kind != dev.kind.kind or kind not in CHANGERS:
                    raise KernelError(EOPNOTSUPP)
                CHANGERS[kind](wanted, dev)
        _check(attributes)
        do_setlink(k, wire, dev, index, flags, change, attributes)
        return
    if not request.flags & NLM_F_CREATE:
        if specified or IFLA_GROUP not in attributes:
            raise KernelError(ENODEV)
        _change_group(k, wire, net, flags, change, attributes)
        return
    if kind not in MAKERS or k.version.before(KIND_SINCE.get(kind, "3.18")):
        raise Refusal(EOPNOTSUPP, "Unknown device type")
    _create(wanted, kind)


def _info_data(
    k: NetKernel, wire: Wire, body: bytes, info: dict[int, bytes], kind: str
) -> tuple[dict[int, bytes], dict[int, int]]:
    """IFLA_INFO_DATA as its kind's policy has it, with the places of the attributes.  EINVAL, ERANGE."""
    raw = info.get(IFLA_INFO_DATA, b"")
    if kind not in CHECKS:
        return wire.attributes(raw), {}
    start = NLMSG_HDRLEN + IFINFOMSG_SIZE
    for wanted in (IFLA_LINKINFO, IFLA_INFO_DATA):
        found = [(value, at) for number, value, at in wire.walk(body[start - NLMSG_HDRLEN :]) if number == wanted]
        if not found:
            break
        value, at = found[-1]
        start += at + NLA_HDRLEN
        body = body[: start - NLMSG_HDRLEN + len(value)]
    given = policy.parse_nested(k, wire, raw, CHECKS[kind][0], start)
    return given, {number: start + at for number, _, at in wire.walk(raw)}


def _change_group(k: NetKernel, wire: Wire, net: Net, flags: int, change: int, given: dict[int, bytes]) -> None:
    """rtnl_group_changelink()."""
    group = wire.number(given[IFLA_GROUP])
    rest = {key: value for key, value in given.items() if key != IFLA_GROUP}
    for dev in [d for d in net.devices.values() if d.group == group]:
        do_setlink(k, wire, dev, 0, flags, change, rest)


def _create(wanted: Wanted, kind: str) -> None:
    """rtnl_newlink_create()."""
    k, wire = wanted.k, wanted.wire
    _check(wanted.attributes)
    if wanted.name and not valid_name(wanted.name.replace("%d", "0")):
        raise KernelError(EINVAL)
    target = _target(k, wire, wanted.net, wanted.attributes)
    made = MAKERS[kind](replace(wanted, net=target, name=wanted.name or f"{kind}%d"))
    configure(wanted, made)
    if IFLA_MASTER in wanted.attributes:
        set_master(k, made, wire.number(wanted.attributes[IFLA_MASTER]))


def prepare(wanted: Wanted, dev: NetDevice) -> None:
    """rtnl_create_link(): what attributes say of a device that is just made."""
    wire, given = wanted.wire, wanted.attributes
    if IFLA_MTU in given:
        mtu = wire.number(given[IFLA_MTU])
        if mtu < dev.min_mtu or 0 < dev.max_mtu < mtu:
            unregister_netdevices(wanted.k, [dev])
            raise Refusal(EINVAL, f"mtu {'less' if mtu < dev.min_mtu else 'greater'} than device {'minimum' if mtu < dev.min_mtu else 'maximum'}")  # fmt: skip
        dev.mtu = mtu
    if IFLA_BROADCAST in given:
        dev.broadcast = given[IFLA_BROADCAST][:6]
    if IFLA_TXQLEN in given:
        dev.tx_queue_len = wire.number(given[IFLA_TXQLEN])
    if IFLA_OPERSTATE in given:
        dev.operstate = wire.number(given[IFLA_OPERSTATE], 1)
    if IFLA_GROUP in given:
        dev.group = wire.number(given[IFLA_GROUP])
    store(wanted.k, dev)


def configure(wanted: Wanted, dev: NetDevice) -> None:
    """rtnl_configure_link(): flags that are asked for at once, and everybody hears of it."""
    if wanted.flags or wanted.change:
        dev_change_flags(wanted.k, dev, combined(dev, wanted.flags, wanted.change))
    wanted.k.net.announce.link(dev, 0xFFFFFFFF, IFLA_EVENT_NONE)


def _delete(k: NetKernel, wire: Wire, request: Request) -> None:
    """rtnl_dellink().  ENODEV, EOPNOTSUPP."""
    index, _, _, attributes = _header(k, wire, request.body)
    if index > 0 or IFLA_IFNAME in attributes or IFLA_ALT_IFNAME in attributes:
        doomed = [find_device(request.net, wire, index, attributes)]
    elif IFLA_GROUP in attributes:
        group = wire.number(attributes[IFLA_GROUP])
        doomed = [d for d in request.net.devices.values() if d.group == group]
        if not group:
            raise KernelError(EPERM)
        if not doomed:
            raise KernelError(ENODEV)
    else:
        raise KernelError(EINVAL)
    if any(not d.kind.kind or not d.kind.removable for d in doomed):
        raise KernelError(EOPNOTSUPP)
    delete_links(k, doomed)


def delete_links(k: NetKernel, devices: list[NetDevice]) -> None:
    """rtnl_delete_link() of some, with what goes with them."""
    every: list[NetDevice] = []
    for dev in devices:
        every += [d for d in dev.kind.doomed(dev) if d not in every]
    unregister_netdevices(k, every)


def _properties(k: NetKernel, wire: Wire, request: Request) -> None:
    """rtnl_linkprop(): other names of a device.  EEXIST, ENODEV, EINVAL."""
    index, _, _, attributes = _header(k, wire, request.body)
    dev = find_device(request.net, wire, index, attributes)
    for kind, value, _ in wire.walk(attributes.get(IFLA_PROP_LIST, b"")):
        name = string(value)
        if kind != IFLA_ALT_IFNAME or not name:
            raise KernelError(EINVAL)
        if request.kind == RTM_NEWLINKPROP:
            if request.net.named(name) is not None:
                raise KernelError(EEXIST)
            dev.altnames.append(name)
        elif name in dev.altnames:
            dev.altnames.remove(name)
        else:
            raise KernelError(EINVAL)
    netdev_state_change(k, dev)


register(RTM_GETLINK, Row(RTM_NEWLINK, dump=_dump, one=_get))
register(RTM_NEWLINK, Row(RTM_NEWLINK, change=_new))
register(RTM_SETLINK, Row(RTM_NEWLINK, change=_set))
register(RTM_DELLINK, Row(RTM_NEWLINK, change=_delete))
register(RTM_NEWLINKPROP, Row(RTM_NEWLINK, change=_properties))
register(RTM_DELLINKPROP, Row(RTM_NEWLINK, change=_properties))
