"""Tunnels over UDP as rtnetlink makes, changes and shows them.  drivers/net/vxlan/vxlan_core.c, drivers/net/geneve.c."""

from __future__ import annotations

from arch.abi import if_tunnel as tun
from arch.abi.errno import EADDRNOTAVAIL, EBUSY, EEXIST, EINVAL, ENODEV, EOPNOTSUPP, EPERM, ERANGE
from arch.abi.inet import IFF_BROADCAST, IFF_MULTICAST, IN6ADDR_ANY, INADDR_ANY
from arch.abi.rtnetlink import IFLA_ADDRESS, IFLA_MTU
from arch.errors import KernelError
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import ETH_MAX_MTU, ETH_MIN_MTU, Net, NetDevice
from simkernel.net.core.registry import netdev_state_change, register_netdevice
from simkernel.net.face import NetKernel
from simkernel.net.ipv6.addr import is_group, is_link_local
from simkernel.net.netlink.link import CHANGERS, CHECKS, MAKERS, Wanted, prepare, valid_ether
from simkernel.net.netlink.link_fill import INFO
from simkernel.net.netlink.message import Wire
from simkernel.net.netlink.policy import ADDRESS4, ADDRESS6, FLAG, U8, U16, U32, Kind, Policy, Rule
from simkernel.net.tunnels import geneve, vxlan
from simkernel.net.tunnels.geneve import GENEVE6_HEADROOM, GENEVE_HEADROOM, GeneveConfig
from simkernel.net.tunnels.udp_tunnel import any_of, way_to
from simkernel.net.tunnels.vxlan import VXLAN6_HEADROOM, VXLAN_HEADROOM, VxlanConfig

VXLAN_POLICY: Policy = {
    tun.IFLA_VXLAN_ID: U32, tun.IFLA_VXLAN_GROUP: ADDRESS4, tun.IFLA_VXLAN_GROUP6: ADDRESS6, tun.IFLA_VXLAN_LINK: U32,
    tun.IFLA_VXLAN_LOCAL: ADDRESS4, tun.IFLA_VXLAN_LOCAL6: ADDRESS6, tun.IFLA_VXLAN_TOS: U8, tun.IFLA_VXLAN_TTL: U8,
    tun.IFLA_VXLAN_LABEL: U32, tun.IFLA_VXLAN_LEARNING: U8, tun.IFLA_VXLAN_AGEING: U32, tun.IFLA_VXLAN_LIMIT: U32,
    tun.IFLA_VXLAN_PORT_RANGE: Rule(Kind.LEAST, 4), tun.IFLA_VXLAN_PROXY: U8, tun.IFLA_VXLAN_RSC: U8, tun.IFLA_VXLAN_L2MISS: U8,
    tun.IFLA_VXLAN_L3MISS: U8, tun.IFLA_VXLAN_COLLECT_METADATA: U8, tun.IFLA_VXLAN_PORT: U16, tun.IFLA_VXLAN_UDP_CSUM: U8,
    tun.IFLA_VXLAN_UDP_ZERO_CSUM6_TX: U8, tun.IFLA_VXLAN_UDP_ZERO_CSUM6_RX: U8, tun.IFLA_VXLAN_REMCSUM_TX: U8,
    tun.IFLA_VXLAN_REMCSUM_RX: U8, tun.IFLA_VXLAN_GBP: FLAG, tun.IFLA_VXLAN_GPE: FLAG, tun.IFLA_VXLAN_REMCSUM_NOPARTIAL: FLAG,
    tun.IFLA_VXLAN_TTL_INHERIT: FLAG, tun.IFLA_VXLAN_DF: U8,
}  # fmt: skip
GENEVE_POLICY: Policy = {
    tun.IFLA_GENEVE_ID: U32, tun.IFLA_GENEVE_REMOTE: ADDRESS4, tun.IFLA_GENEVE_REMOTE6: ADDRESS6, tun.IFLA_GENEVE_TTL: U8,
    tun.IFLA_GENEVE_TOS: U8, tun.IFLA_GENEVE_LABEL: U32, tun.IFLA_GENEVE_PORT: U16, tun.IFLA_GENEVE_COLLECT_METADATA: FLAG,
    tun.IFLA_GENEVE_UDP_CSUM: U8, tun.IFLA_GENEVE_UDP_ZERO_CSUM6_TX: U8, tun.IFLA_GENEVE_UDP_ZERO_CSUM6_RX: U8,
    tun.IFLA_GENEVE_TTL_INHERIT: U8, tun.IFLA_GENEVE_DF: U8,
}  # fmt: skip
DF_MAX = 2


def _number(wanted: Wanted, name: int, size: int, default: int = 0) -> int:
    return wanted.wire.number(wanted.data.get(name), size, default)


def _big(wanted: Wanted, name: int, default: int) -> int:
    raw = wanted.data.get(name)
    return default if raw is None else int.from_bytes(raw[:2], "big")


def _refuse(wanted: Wanted, errno: int, text: str, name: int) -> Refusal:
    """NL_SET_ERR_MSG_ATTR()."""
    return Refusal(errno, text, wanted.places.get(name))


def _check_mac(wanted: Wanted) -> None:
    mac = wanted.attributes.get(IFLA_ADDRESS)
    if mac is not None and len(mac) != 6:
        raise Refusal(EINVAL, "Provided link layer address is not Ethernet")
    if mac is not None and not valid_ether(mac):
        raise Refusal(EADDRNOTAVAIL, "Provided Ethernet address is not unicast")


def _check_number(wanted: Wanted, name: int, text: str) -> None:
    if _number(wanted, name, 4) >= tun.VNI_ENDS:
        raise _refuse(wanted, ERANGE, text, name)


def _check_vxlan(wanted: Wanted) -> None:
    """vxlan_validate().  EINVAL, EADDRNOTAVAIL, ERANGE."""
    _check_mac(wanted)
    mtu = wanted.attributes.get(IFLA_MTU)
    if mtu is not None and not ETH_MIN_MTU <= wanted.wire.number(mtu) <= ETH_MAX_MTU:
        raise Refusal(EINVAL, "MTU must be between 68 and 65535")
    if not wanted.info:
        raise Refusal(EINVAL, "Required attributes not provided to perform the operation")
    _check_number(wanted, tun.IFLA_VXLAN_ID, "VXLAN ID must be lower than 16777216")
    ports = wanted.data.get(tun.IFLA_VXLAN_PORT_RANGE)
    if ports is not None and ports[2:4] < ports[:2]:
        raise _refuse(wanted, EINVAL, "Invalid source port range", tun.IFLA_VXLAN_PORT_RANGE)
    if _number(wanted, tun.IFLA_VXLAN_DF, 1) > DF_MAX:
        raise _refuse(wanted, EINVAL, "Invalid DF attribute", tun.IFLA_VXLAN_DF)


def _check_geneve(wanted: Wanted) -> None:
    """geneve_validate().  EINVAL, EADDRNOTAVAIL, ERANGE."""
    _check_mac(wanted)
    if not wanted.info:
        raise Refusal(EINVAL, "Not enough attributes provided to perform the operation")
    _check_number(wanted, tun.IFLA_GENEVE_ID, "Geneve ID must be lower than 16777216")
    if _number(wanted, tun.IFLA_GENEVE_DF, 1) > DF_MAX:
        raise _refuse(wanted, EINVAL, "Invalid DF attribute", tun.IFLA_GENEVE_DF)


# -- vxlan -------------------------------------------------------------------------------------------------------------


def _vxlan_config(wanted: Wanted, net: Net) -> VxlanConfig:
    """vxlan_nl2conf()."""
    data, own = wanted.data, VxlanConfig(net)
    own.vni, own.link = _number(wanted, tun.IFLA_VXLAN_ID, 4), _number(wanted, tun.IFLA_VXLAN_LINK, 4)
    six = tun.IFLA_VXLAN_GROUP6 in data or tun.IFLA_VXLAN_LOCAL6 in data
    nobody = IN6ADDR_ANY if six else INADDR_ANY
    own.remote = bytes(data.get(tun.IFLA_VXLAN_GROUP, data.get(tun.IFLA_VXLAN_GROUP6, nobody)))
    own.local = bytes(data.get(tun.IFLA_VXLAN_LOCAL, data.get(tun.IFLA_VXLAN_LOCAL6, nobody)))
    own.remote = own.remote[: 4 if tun.IFLA_VXLAN_GROUP in data else len(nobody)]
    own.local = own.local[: 4 if tun.IFLA_VXLAN_LOCAL in data else len(nobody)]
    own.ttl, own.tos = _number(wanted, tun.IFLA_VXLAN_TTL, 1), _number(wanted, tun.IFLA_VXLAN_TOS, 1)
    own.ttl_inherit = tun.IFLA_VXLAN_TTL_INHERIT in data
    own.label = int.from_bytes(data.get(tun.IFLA_VXLAN_LABEL, bytes(4))[:4], "big") & 0xFFFFF
    own.df, own.port = _number(wanted, tun.IFLA_VXLAN_DF, 1), _big(wanted, tun.IFLA_VXLAN_PORT, vxlan.VXLAN_UDP_PORT)
    ports = data.get(tun.IFLA_VXLAN_PORT_RANGE, bytes(4))
    own.port_range = int.from_bytes(ports[:2], "big"), int.from_bytes(ports[2:4], "big")
    own.ageing = _number(wanted, tun.IFLA_VXLAN_AGEING, 4, own.ageing)
    own.limit = _number(wanted, tun.IFLA_VXLAN_LIMIT, 4)
    own.learning = bool(_number(wanted, tun.IFLA_VXLAN_LEARNING, 1, 1))
    own.proxy, own.rsc, own.l2miss, own.l3miss, own.collects = (
        bool(_number(wanted, name, 1))
        for name in (
            tun.IFLA_VXLAN_PROXY, tun.IFLA_VXLAN_RSC, tun.IFLA_VXLAN_L2MISS, tun.IFLA_VXLAN_L3MISS, tun.IFLA_VXLAN_COLLECT_METADATA,
        )
    )  # fmt: skip
    own.udp_csum = bool(_number(wanted, tun.IFLA_VXLAN_UDP_CSUM, 1, 1))
    own.zero_csum6_tx = bool(_number(wanted, tun.IFLA_VXLAN_UDP_ZERO_CSUM6_TX, 1))
    own.zero_csum6_rx = bool(_number(wanted, tun.IFLA_VXLAN_UDP_ZERO_CSUM6_RX, 1))
    own.gbp = tun.IFLA_VXLAN_GBP in data
    return own


def _vxlan_below(wanted: Wanted, own: VxlanConfig) -> NetDevice | None:
    """vxlan_config_validate().  EINVAL, ENODEV, EEXIST."""
    if tun.IFLA_VXLAN_GPE in wanted.data:
        raise Refusal(EINVAL, "VXLAN GPE does not support this combination of attributes")
    if len(own.remote) != len(own.local):
        if any_of(own.remote) != own.remote and any_of(own.local) != own.local:
            raise Refusal(EINVAL, "Local and remote address must be from the same family")
    group = is_group(own.remote) if len(own.remote) == 16 else own.remote[0] & 0xF0 == 0xE0
    if group and not own.link:
        raise Refusal(EINVAL, "Local interface required for multicast remote destination")
    below = own.net.devices.get(own.link) if own.link else None
    if own.link and below is None:
        raise Refusal(ENODEV, "Invalid local interface, device not found")
    for dev in wanted.k.net.devices.values():
        if isinstance(dev.kind, vxlan.Vxlan) and dev.private is not None:
            other = vxlan.config(dev)
            same = other.net is own.net and (other.vni, other.port, other.six) == (own.vni, own.port, own.six)
            if same and other.collects == own.collects:
                raise Refusal(EEXIST, "A VXLAN device with the specified VNI already exists")
    return below


def _make_vxlan(wanted: Wanted) -> NetDevice:
    """vxlan_newlink()."""
    own = _vxlan_config(wanted, wanted.source)
    below = _vxlan_below(wanted, own)
    k = wanted.k
    dev = register_netdevice(
        k, wanted.net, wanted.name, k.net.kinds["vxlan"], flags=IFF_BROADCAST | IFF_MULTICAST, mtu=1500, mac=wanted.mac,
        ifindex=wanted.ifindex, limits=(ETH_MIN_MTU, ETH_MAX_MTU),
    )  # fmt: skip
    dev.private = own
    if below is not None:
        dev.mtu = max(below.mtu - (VXLAN6_HEADROOM if own.six else VXLAN_HEADROOM), ETH_MIN_MTU)
    prepare(wanted, dev)
    return dev


KEPT = (  # what cannot be another one later, with the kernel's word
    (tun.IFLA_VXLAN_PORT, "Cannot change port number"), (tun.IFLA_VXLAN_PORT_RANGE, "Cannot change port range"),
)  # fmt: skip


def _change_vxlan(wanted: Wanted, dev: NetDevice) -> None:
    """vxlan_changelink().  EOPNOTSUPP."""
    own, data = vxlan.config(dev), wanted.data
    if tun.IFLA_VXLAN_ID in data and _number(wanted, tun.IFLA_VXLAN_ID, 4) != own.vni:
        raise Refusal(EOPNOTSUPP, "Cannot change VNI")
    for name, text in KEPT:
        if name in data:
            raise Refusal(EOPNOTSUPP, text)
    for name in (tun.IFLA_VXLAN_GROUP, tun.IFLA_VXLAN_GROUP6):
        if name in data:
            if len(data[name]) != len(own.remote):
                raise Refusal(EOPNOTSUPP, "New group address family does not match old group")
            own.remote = bytes(data[name])
    own.ttl, own.tos = _number(wanted, tun.IFLA_VXLAN_TTL, 1, own.ttl), _number(wanted, tun.IFLA_VXLAN_TOS, 1, own.tos)
    own.learning = bool(_number(wanted, tun.IFLA_VXLAN_LEARNING, 1, int(own.learning)))
    own.ageing, own.limit = _number(wanted, tun.IFLA_VXLAN_AGEING, 4, own.ageing), _number(wanted, tun.IFLA_VXLAN_LIMIT, 4, own.limit)  # fmt: skip
    netdev_state_change(wanted.k, dev)


def _vxlan_info(k: NetKernel, wire: Wire, dev: NetDevice) -> bytes:
    """vxlan_fill_info()."""
    own = vxlan.config(dev)
    out = wire.u32(tun.IFLA_VXLAN_ID, own.vni)
    if own.remote != any_of(own.remote):
        out += wire.attribute(tun.IFLA_VXLAN_GROUP if len(own.remote) == 4 else tun.IFLA_VXLAN_GROUP6, own.remote)
    out += wire.u32(tun.IFLA_VXLAN_LINK, own.link) if own.link else b""
    if own.local != any_of(own.local):
        out += wire.attribute(tun.IFLA_VXLAN_LOCAL if len(own.local) == 4 else tun.IFLA_VXLAN_LOCAL6, own.local)
    out += wire.u8(tun.IFLA_VXLAN_TTL, own.ttl) + wire.u8(tun.IFLA_VXLAN_TTL_INHERIT, int(own.ttl_inherit))
    out += wire.u8(tun.IFLA_VXLAN_TOS, own.tos) + wire.u8(tun.IFLA_VXLAN_DF, own.df)
    out += wire.attribute(tun.IFLA_VXLAN_LABEL, own.label.to_bytes(4, "big"))
    for name, value in (
        (tun.IFLA_VXLAN_LEARNING, own.learning), (tun.IFLA_VXLAN_PROXY, own.proxy), (tun.IFLA_VXLAN_RSC, own.rsc),
        (tun.IFLA_VXLAN_L2MISS, own.l2miss), (tun.IFLA_VXLAN_L3MISS, own.l3miss), (tun.IFLA_VXLAN_COLLECT_METADATA, own.collects),
    ):  # fmt: skip
        out += wire.u8(name, int(value))
    out += wire.u32(tun.IFLA_VXLAN_AGEING, own.ageing) + wire.u32(tun.IFLA_VXLAN_LIMIT, own.limit)
    out += wire.attribute(tun.IFLA_VXLAN_PORT, own.port.to_bytes(2, "big"))
    for name, value in (
        (tun.IFLA_VXLAN_UDP_CSUM, own.udp_csum), (tun.IFLA_VXLAN_UDP_ZERO_CSUM6_TX, own.zero_csum6_tx),
        (tun.IFLA_VXLAN_UDP_ZERO_CSUM6_RX, own.zero_csum6_rx), (tun.IFLA_VXLAN_REMCSUM_TX, False),
        (tun.IFLA_VXLAN_REMCSUM_RX, False),
    ):  # fmt: skip
        out += wire.u8(name, int(value))
    ports = b"".join(port.to_bytes(2, "big") for port in own.port_range)
    out += wire.attribute(tun.IFLA_VXLAN_PORT_RANGE, ports)
    return out + (wire.attribute(tun.IFLA_VXLAN_GBP, b"") if own.gbp else b"")


# -- geneve ------------------------------------------------------------------------------------------------------------


def _geneve_config(wanted: Wanted, net: Net) -> GeneveConfig:
    """geneve_nl2info().  EINVAL."""
    data, own = wanted.data, GeneveConfig(net)
    four, six = data.get(tun.IFLA_GENEVE_REMOTE), data.get(tun.IFLA_GENEVE_REMOTE6)
    if four is not None and six is not None:
        raise Refusal(EINVAL, "Cannot specify both IPv4 and IPv6 Remote addresses")
    if four is not None:
        own.remote = bytes(four[:4])
        if own.remote[0] & 0xF0 == 0xE0:
            raise _refuse(wanted, EINVAL, "Remote IPv4 address cannot be Multicast", tun.IFLA_GENEVE_REMOTE)
    if six is not None:
        own.remote = bytes(six[:16])
        if is_link_local(own.remote):
            raise _refuse(wanted, EINVAL, "Remote IPv6 address cannot be link-local", tun.IFLA_GENEVE_REMOTE6)
        if is_group(own.remote):
            raise _refuse(wanted, EINVAL, "Remote IPv6 address cannot be Multicast", tun.IFLA_GENEVE_REMOTE6)
        own.csum, own.zero_csum6_rx = True, False
    own.vni = _number(wanted, tun.IFLA_GENEVE_ID, 4)
    own.ttl_inherit = bool(_number(wanted, tun.IFLA_GENEVE_TTL_INHERIT, 1))
    own.ttl = _number(wanted, tun.IFLA_GENEVE_TTL, 1)
    own.ttl_inherit = own.ttl_inherit and tun.IFLA_GENEVE_TTL not in data
    own.tos, own.df = _number(wanted, tun.IFLA_GENEVE_TOS, 1), _number(wanted, tun.IFLA_GENEVE_DF, 1)
    own.label = int.from_bytes(data.get(tun.IFLA_GENEVE_LABEL, bytes(4))[:4], "big") & 0xFFFFF
    own.port = _big(wanted, tun.IFLA_GENEVE_PORT, geneve.GENEVE_UDP_PORT)
    own.collects = tun.IFLA_GENEVE_COLLECT_METADATA in data
    if tun.IFLA_GENEVE_UDP_CSUM in data:
        own.csum = bool(_number(wanted, tun.IFLA_GENEVE_UDP_CSUM, 1))
    if _number(wanted, tun.IFLA_GENEVE_UDP_ZERO_CSUM6_TX, 1):
        own.csum = False
    if tun.IFLA_GENEVE_UDP_ZERO_CSUM6_RX in data:
        own.zero_csum6_rx = bool(_number(wanted, tun.IFLA_GENEVE_UDP_ZERO_CSUM6_RX, 1))
    return own


def _must_be_free(k: NetKernel, own: GeneveConfig, self: NetDevice | None = None) -> None:
    """geneve_configure().  EINVAL, EBUSY, EPERM."""
    told = own.vni or own.tos or own.ttl or own.label or own.csum or own.remote != any_of(own.remote)
    if own.collects and told:
        text = "Device is externally controlled, so attributes (VNI, Port, and so on) must not be specified"
        raise Refusal(EINVAL, text)
    others = [
        geneve.config(dev) for dev in k.net.devices.values()
        if isinstance(dev.kind, geneve.Geneve) and dev.private is not None and dev is not self
    ]  # fmt: skip
    near = [other for other in others if other.net is own.net and other.port == own.port]
    if any((other.vni, other.remote) == (own.vni, own.remote) for other in near):
        raise KernelError(EBUSY)
    if own.collects and near:
        raise Refusal(EPERM, "There can be only one externally controlled device on a destination port")
    if any(other.collects for other in near):
        raise Refusal(EPERM, "There already exists an externally controlled device on this destination port")


def _make_geneve(wanted: Wanted) -> NetDevice:
    """geneve_newlink(), geneve_link_config()."""
    k, own = wanted.k, _geneve_config(wanted, wanted.source)
    _must_be_free(k, own)
    six = len(own.remote) == 16
    room = GENEVE6_HEADROOM if six or own.collects else GENEVE_HEADROOM
    most = ETH_MAX_MTU - room
    dev = register_netdevice(
        k, wanted.net, wanted.name, k.net.kinds["geneve"], flags=IFF_BROADCAST | IFF_MULTICAST, mtu=most, mac=wanted.mac,
        ifindex=wanted.ifindex, limits=(ETH_MIN_MTU, most),
    )  # fmt: skip
    dev.private = own
    if not own.collects and own.remote != any_of(own.remote):
        try:
            dev.mtu = way_to(k, own.net, own.remote, any_of(own.remote), 0, 0).dev.mtu - room
        except KernelError:
            dev.mtu = most
    prepare(wanted, dev)
    return dev


def _geneve_info(k: NetKernel, wire: Wire, dev: NetDevice) -> bytes:
    """geneve_fill_info()."""
    own = geneve.config(dev)
    out = wire.u32(tun.IFLA_GENEVE_ID, own.vni)
    if not own.collects and len(own.remote) == 4:
        out += wire.attribute(tun.IFLA_GENEVE_REMOTE, own.remote) + wire.u8(tun.IFLA_GENEVE_UDP_CSUM, int(own.csum))
    elif not own.collects:
        out += wire.attribute(tun.IFLA_GENEVE_REMOTE6, own.remote)
        out += wire.u8(tun.IFLA_GENEVE_UDP_ZERO_CSUM6_TX, int(not own.csum))
    out += wire.u8(tun.IFLA_GENEVE_TTL, own.ttl) + wire.u8(tun.IFLA_GENEVE_TOS, own.tos)
    out += wire.attribute(tun.IFLA_GENEVE_LABEL, own.label.to_bytes(4, "big")) + wire.u8(tun.IFLA_GENEVE_DF, own.df)
    out += wire.attribute(tun.IFLA_GENEVE_PORT, own.port.to_bytes(2, "big"))
    out += wire.attribute(tun.IFLA_GENEVE_COLLECT_METADATA, b"") if own.collects else b""
    out += wire.u8(tun.IFLA_GENEVE_UDP_ZERO_CSUM6_RX, int(own.zero_csum6_rx))
    return out + wire.u8(tun.IFLA_GENEVE_TTL_INHERIT, int(own.ttl_inherit))


MAKERS["vxlan"], MAKERS["geneve"] = _make_vxlan, _make_geneve
CHANGERS["vxlan"] = _change_vxlan
CHECKS["vxlan"], CHECKS["geneve"] = (VXLAN_POLICY, _check_vxlan), (GENEVE_POLICY, _check_geneve)
INFO["vxlan"], INFO["geneve"] = _vxlan_info, _geneve_info
