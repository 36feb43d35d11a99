"""Tunnels over IPv4 as rtnetlink makes, changes and shows them: ipip, sit, gre and gretap.  net/ipv4/{ipip,ip_gre,ip_tunnel}.c, net/ipv6/sit.c."""

from __future__ import annotations

from functools import partial

from arch.abi import if_tunnel as tun
from arch.abi.errno import EADDRNOTAVAIL, EEXIST, EINVAL
from arch.abi.inet import (
    ARPHRD_ETHER,
    ARPHRD_IPGRE,
    ARPHRD_NONE,
    ARPHRD_SIT,
    ARPHRD_TUNNEL,
    IFF_BROADCAST,
    IFF_MULTICAST,
    IFF_NOARP,
    IFF_POINTOPOINT,
    INADDR_ANY,
    IP_DF,
    IPPROTO_GRE,
    IPPROTO_IPIP,
    IPPROTO_IPV6,
)
from arch.abi.rtnetlink import IFLA_ADDRESS, IFLA_MTU
from arch.errors import KernelError
from arch.records import dataclass
from bpf.packet.tunnel_info import TUNNEL_KEY
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.registry import netdev_state_change, register_netdevice, store
from simkernel.net.core.skb import IP_MAX_MTU
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import IP_HEADER
from simkernel.net.ipv4.route import simple_output
from simkernel.net.netlink.link import CHANGERS, CHECKS, MAKERS, Check, Wanted, prepare, valid_ether
from simkernel.net.netlink.link_fill import INFO
from simkernel.net.netlink.message import Wire
from simkernel.net.netlink.policy import ADDRESS4, FLAG, U8, U16, U32, Policy
from simkernel.net.tunnels.ip_gre import header_bytes, to_gre_flags, to_tunnel_flags
from simkernel.net.tunnels.ip_tunnel import ETHERNET_HEADER, IpTunnel, ip_tunnel

ETH_DATA_LEN, IPV4_MIN_MTU = 1500, 68
IPPROTO_MPLS = 137
GRE_POLICY: Policy = {
    tun.IFLA_GRE_LINK: U32, tun.IFLA_GRE_IFLAGS: U16, tun.IFLA_GRE_OFLAGS: U16, tun.IFLA_GRE_IKEY: U32, tun.IFLA_GRE_OKEY: U32,
    tun.IFLA_GRE_LOCAL: ADDRESS4, tun.IFLA_GRE_REMOTE: ADDRESS4, tun.IFLA_GRE_TTL: U8, tun.IFLA_GRE_TOS: U8,
    tun.IFLA_GRE_PMTUDISC: U8, tun.IFLA_GRE_ENCAP_TYPE: U16, tun.IFLA_GRE_ENCAP_FLAGS: U16, tun.IFLA_GRE_ENCAP_SPORT: U16,
    tun.IFLA_GRE_ENCAP_DPORT: U16, tun.IFLA_GRE_COLLECT_METADATA: FLAG, tun.IFLA_GRE_IGNORE_DF: U8, tun.IFLA_GRE_FWMARK: U32,
}  # fmt: skip
IPTUN_POLICY: Policy = {
    tun.IFLA_IPTUN_LINK: U32, tun.IFLA_IPTUN_LOCAL: U32, tun.IFLA_IPTUN_REMOTE: U32, tun.IFLA_IPTUN_TTL: U8, tun.IFLA_IPTUN_TOS: U8,
    tun.IFLA_IPTUN_PMTUDISC: U8, tun.IFLA_IPTUN_PROTO: U8, tun.IFLA_IPTUN_FLAGS: U16, tun.IFLA_IPTUN_ENCAP_TYPE: U16,
    tun.IFLA_IPTUN_ENCAP_FLAGS: U16, tun.IFLA_IPTUN_ENCAP_SPORT: U16, tun.IFLA_IPTUN_ENCAP_DPORT: U16,
    tun.IFLA_IPTUN_COLLECT_METADATA: FLAG, tun.IFLA_IPTUN_FWMARK: U32,
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """What a kind's devices are before anything is asked of them."""

    kind: str
    hardware_type: int
    limits: tuple[int, int] = (0, 0)
    protocol: int = 0
    ttl: int = 0
    receivers: tuple[tuple[int, str], ...] = ()  # protocols of IPv4 that its module hears

    @property
    def gre(self) -> bool:
        """Its attributes are IFLA_GRE_."""
        return self.kind.startswith("gre")


GRE, IPIP = ((IPPROTO_GRE, "gre_rcv"),), ((IPPROTO_IPIP, "tunnel4_rcv"),)
SHAPES = (
    Shape("gretap", ARPHRD_ETHER, (68, 0), receivers=GRE),
    Shape("gre", ARPHRD_IPGRE, receivers=GRE),
    Shape("ipip", ARPHRD_TUNNEL, protocol=IPPROTO_IPIP, receivers=IPIP),
    Shape("sit", ARPHRD_SIT, (1280, 65555), IPPROTO_IPV6, 64, (*IPIP, (IPPROTO_IPV6, "tunnel64_rcv"))),
)


# -- what is asked for -------------------------------------------------------------------------------------------------


def _check_gre(wanted: Wanted) -> None:
    """ipgre_tunnel_validate().  EINVAL."""
    flags = 0
    for name in (tun.IFLA_GRE_IFLAGS, tun.IFLA_GRE_OFLAGS):
        flags |= int.from_bytes(wanted.data.get(name, b"\0\0")[:2], "big")
    if flags & (tun.GRE_VERSION | 0x4000):  # GRE_ROUTING
        raise KernelError(EINVAL)


def _check_gretap(wanted: Wanted) -> None:
    """ipgre_tap_validate().  EINVAL, EADDRNOTAVAIL."""
    mac = wanted.attributes.get(IFLA_ADDRESS)
    if mac is not None and len(mac) != 6:
        raise KernelError(EINVAL)
    if mac is not None and not valid_ether(mac):
        raise KernelError(EADDRNOTAVAIL)
    if wanted.data.get(tun.IFLA_GRE_REMOTE) == INADDR_ANY:
        raise KernelError(EINVAL)
    _check_gre(wanted)


def _check_payload(*known: int) -> Check:
    """ipip_tunnel_validate(), ipip6_validate().  EINVAL."""

    def check(wanted: Wanted) -> None:
        raw = wanted.data.get(tun.IFLA_IPTUN_PROTO)
        if raw is not None and raw[0] not in known:
            raise KernelError(EINVAL)

    return check


def _number(wanted: Wanted, name: int, size: int, default: int = 0) -> int:
    return wanted.wire.number(wanted.data.get(name), size, default)


def _gre_parameters(wanted: Wanted, net: Net) -> IpTunnel:
    """ipgre_netlink_parms().  EINVAL."""
    data = wanted.data

    def big(name: int, size: int) -> int:
        return int.from_bytes(data.get(name, bytes(size))[:size], "big")

    made = IpTunnel(
        net, bytes(data.get(tun.IFLA_GRE_LOCAL, INADDR_ANY)[:4]), bytes(data.get(tun.IFLA_GRE_REMOTE, INADDR_ANY)[:4]),
        _number(wanted, tun.IFLA_GRE_LINK, 4), _number(wanted, tun.IFLA_GRE_TTL, 1), _number(wanted, tun.IFLA_GRE_TOS, 1), 0,
        to_tunnel_flags(big(tun.IFLA_GRE_IFLAGS, 2)), to_tunnel_flags(big(tun.IFLA_GRE_OFLAGS, 2)),
        big(tun.IFLA_GRE_IKEY, 4), big(tun.IFLA_GRE_OKEY, 4), fwmark=_number(wanted, tun.IFLA_GRE_FWMARK, 4),
    )  # fmt: skip
    made.ignore_df = bool(_number(wanted, tun.IFLA_GRE_IGNORE_DF, 1))
    if _number(wanted, tun.IFLA_GRE_PMTUDISC, 1, 1):
        if made.ignore_df:
            raise KernelError(EINVAL)
        made.df = IP_DF
    made.collects = tun.IFLA_GRE_COLLECT_METADATA in data
    made.hlen = header_bytes(made.o_flags)
    return made


def _iptun_parameters(wanted: Wanted, net: Net, shape: Shape) -> IpTunnel:
    """ip_tunnel_netlink_parms(), ipip6_netlink_parms()."""
    data = wanted.data
    ttl = _number(wanted, tun.IFLA_IPTUN_TTL, 1, shape.ttl)
    whole = _number(wanted, tun.IFLA_IPTUN_PMTUDISC, 1, 1) or (tun.IFLA_IPTUN_TTL in data and ttl)
    return IpTunnel(
        net, bytes(data.get(tun.IFLA_IPTUN_LOCAL, INADDR_ANY)[:4]), bytes(data.get(tun.IFLA_IPTUN_REMOTE, INADDR_ANY)[:4]),
        _number(wanted, tun.IFLA_IPTUN_LINK, 4), ttl, _number(wanted, tun.IFLA_IPTUN_TOS, 1), IP_DF if whole else 0,
        protocol=_number(wanted, tun.IFLA_IPTUN_PROTO, 1, shape.protocol), fwmark=_number(wanted, tun.IFLA_IPTUN_FWMARK, 4),
        collects=shape.kind == "ipip" and tun.IFLA_IPTUN_COLLECT_METADATA in data,
    )  # fmt: skip


def _parameters(wanted: Wanted, net: Net, shape: Shape) -> IpTunnel:
    return _gre_parameters(wanted, net) if shape.gre else _iptun_parameters(wanted, net, shape)


def _twin(k: NetKernel, net: Net, shape: Shape, asked: IpTunnel) -> NetDevice | None:
    """ip_tunnel_find(): a device of the same ends and key; or the one that has no ends at all."""
    for dev in k.net.devices.values():
        if dev.kind.kind != shape.kind or ip_tunnel(dev).net is not net:
            continue
        own = ip_tunnel(dev)
        if asked.collects or own.collects:
            if asked.collects and own.collects:
                return dev
            continue
        same_key = not (asked.i_flags | own.i_flags) & TUNNEL_KEY or (
            bool(asked.i_flags & own.i_flags & TUNNEL_KEY) and asked.i_key == own.i_key
        )
        if (own.local, own.remote, own.link) == (asked.local, asked.remote, asked.link) and same_key:
            return dev
    return None


def _bound_mtu(k: NetKernel, dev: NetDevice, tunnel: IpTunnel) -> int:
    """ip_tunnel_bind_dev()."""
    below: NetDevice | None = None
    if tunnel.remote != INADDR_ANY:
        try:
            way = simple_output(k, tunnel.net, tunnel.remote, tunnel.local, tunnel.link, tunnel.fwmark)
            below = way.dev
        except KernelError:
            below = None
    if below is None and tunnel.link:
        below = tunnel.net.devices.get(tunnel.link)
    mtu = min(below.mtu, IP_MAX_MTU) if below is not None else ETH_DATA_LEN
    mtu -= IP_HEADER + tunnel.hlen + (ETHERNET_HEADER if dev.ethernet else 0)
    return max(mtu, IPV4_MIN_MTU)


def _make(wanted: Wanted, shape: Shape) -> NetDevice:
    """ip_tunnel_newlink(), ipip6_newlink().  EEXIST, EINVAL."""
    k = wanted.k
    k.net.tunnel_protocols.update(shape.receivers)  # its module is there from now on
    tunnel = _parameters(wanted, wanted.source, shape)
    if _twin(k, wanted.source, shape, tunnel) is not None:
        raise KernelError(EEXIST)
    kind = k.net.kinds[shape.kind]
    if shape.kind == "gre" and tunnel.remote[0] & 0xF0 == 0xE0 and tunnel.local == INADDR_ANY:
        raise KernelError(EINVAL)
    flags, mac, broadcast = IFF_BROADCAST | IFF_MULTICAST, wanted.mac, b"\xff" * 6
    if not kind.ethernet:
        flags, mac, broadcast = IFF_NOARP, tunnel.local, tunnel.remote
        flags |= IFF_POINTOPOINT if tunnel.remote != INADDR_ANY else 0
    hardware = ARPHRD_NONE if shape.kind == "gre" and tunnel.collects else shape.hardware_type
    dev = register_netdevice(
        k, wanted.net, wanted.name, kind, flags=flags, mtu=ETH_DATA_LEN, mac=mac, hardware_type=hardware, ifindex=wanted.ifindex,
        limits=shape.limits, broadcast=broadcast,
    )  # fmt: skip
    dev.private = tunnel
    dev.mtu = _bound_mtu(k, dev, tunnel)
    prepare(wanted, dev)
    return dev


def _change(wanted: Wanted, dev: NetDevice, shape: Shape) -> None:
    """ip_tunnel_changelink().  EEXIST, EINVAL."""
    k, own = wanted.k, ip_tunnel(dev)
    asked = _parameters(wanted, own.net, shape)
    if own.collects or asked.collects:
        raise KernelError(EINVAL)
    found = _twin(k, own.net, shape, asked)
    if found is not None and found is not dev:
        raise KernelError(EEXIST)
    if not dev.ethernet:
        flags = IFF_POINTOPOINT if asked.remote != INADDR_ANY else 0
        if (dev.flags ^ flags) & (IFF_POINTOPOINT | IFF_BROADCAST):
            raise KernelError(EINVAL)
        dev.mac, dev.broadcast = asked.local, asked.remote
    asked.o_seqno, asked.i_seqno = own.o_seqno, own.i_seqno
    dev.private = asked
    if IFLA_MTU not in wanted.attributes:
        dev.mtu = _bound_mtu(k, dev, asked)
    store(k, dev)
    netdev_state_change(k, dev)


# -- what is shown -----------------------------------------------------------------------------------------------------


def _gre_info(k: NetKernel, wire: Wire, dev: NetDevice) -> bytes:
    """ipgre_fill_info()."""
    own = ip_tunnel(dev)
    out = wire.u32(tun.IFLA_GRE_LINK, own.link)
    for name, flags in ((tun.IFLA_GRE_IFLAGS, own.i_flags), (tun.IFLA_GRE_OFLAGS, own.o_flags)):
        out += wire.attribute(name, to_gre_flags(flags).to_bytes(2, "big"))
    for name, key in ((tun.IFLA_GRE_IKEY, own.i_key), (tun.IFLA_GRE_OKEY, own.o_key)):
        out += wire.attribute(name, key.to_bytes(4, "big"))
    out += wire.attribute(tun.IFLA_GRE_LOCAL, own.local) + wire.attribute(tun.IFLA_GRE_REMOTE, own.remote)
    out += wire.u8(tun.IFLA_GRE_TTL, own.ttl) + wire.u8(tun.IFLA_GRE_TOS, own.tos)
    out += wire.u8(tun.IFLA_GRE_PMTUDISC, int(bool(own.df))) + wire.u32(tun.IFLA_GRE_FWMARK, own.fwmark)
    for name in (tun.IFLA_GRE_ENCAP_TYPE, tun.IFLA_GRE_ENCAP_SPORT, tun.IFLA_GRE_ENCAP_DPORT, tun.IFLA_GRE_ENCAP_FLAGS):
        out += wire.u16(name, 0)
    out += wire.u8(tun.IFLA_GRE_IGNORE_DF, int(own.ignore_df))
    return out + (wire.attribute(tun.IFLA_GRE_COLLECT_METADATA, b"") if own.collects else b"")


def _ends(wire: Wire, own: IpTunnel) -> bytes:
    out = wire.u32(tun.IFLA_IPTUN_LINK, own.link)
    out += wire.attribute(tun.IFLA_IPTUN_LOCAL, own.local) + wire.attribute(tun.IFLA_IPTUN_REMOTE, own.remote)
    return out + wire.u8(tun.IFLA_IPTUN_TTL, own.ttl) + wire.u8(tun.IFLA_IPTUN_TOS, own.tos)


def _no_encap(wire: Wire) -> bytes:
    names = (
        tun.IFLA_IPTUN_ENCAP_TYPE, tun.IFLA_IPTUN_ENCAP_SPORT, tun.IFLA_IPTUN_ENCAP_DPORT, tun.IFLA_IPTUN_ENCAP_FLAGS,
    )  # fmt: skip
    return b"".join(wire.u16(name, 0) for name in names)


def _ipip_info(k: NetKernel, wire: Wire, dev: NetDevice) -> bytes:
    """ipip_fill_info()."""
    own = ip_tunnel(dev)
    out = _ends(wire, own) + wire.u8(tun.IFLA_IPTUN_PROTO, own.protocol)
    out += wire.u8(tun.IFLA_IPTUN_PMTUDISC, int(bool(own.df))) + wire.u32(tun.IFLA_IPTUN_FWMARK, own.fwmark)
    return out + _no_encap(wire) + (wire.attribute(tun.IFLA_IPTUN_COLLECT_METADATA, b"") if own.collects else b"")


def _sit_info(k: NetKernel, wire: Wire, dev: NetDevice) -> bytes:
    """ipip6_fill_info(): with the prefix of 6to4."""
    own = ip_tunnel(dev)
    out = _ends(wire, own) + wire.u8(tun.IFLA_IPTUN_PMTUDISC, int(bool(own.df)))
    out += wire.u8(tun.IFLA_IPTUN_PROTO, own.protocol) + wire.u16(tun.IFLA_IPTUN_FLAGS, 0)
    out += wire.u32(tun.IFLA_IPTUN_FWMARK, own.fwmark)
    out += wire.attribute(tun.IFLA_IPTUN_6RD_PREFIX, b"\x20\x02" + bytes(14))
    out += wire.u32(tun.IFLA_IPTUN_6RD_RELAY_PREFIX, 0) + wire.u16(tun.IFLA_IPTUN_6RD_PREFIXLEN, 16)
    return out + wire.u16(tun.IFLA_IPTUN_6RD_RELAY_PREFIXLEN, 0) + _no_encap(wire)


# -- the kinds ---------------------------------------------------------------------------------------------------------

FILLS = {"gretap": _gre_info, "gre": _gre_info, "ipip": _ipip_info, "sit": _sit_info}
VALIDATES = {
    "gretap": _check_gretap,
    "gre": _check_gre,
    "ipip": _check_payload(0, IPPROTO_IPIP, IPPROTO_MPLS),
    "sit": _check_payload(0, IPPROTO_IPIP, IPPROTO_IPV6, IPPROTO_MPLS),
}
for _shape in SHAPES:
    MAKERS[_shape.kind] = partial(_make, shape=_shape)
    CHANGERS[_shape.kind] = partial(_change, shape=_shape)
    CHECKS[_shape.kind] = (GRE_POLICY if _shape.gre else IPTUN_POLICY, VALIDATES[_shape.kind])
    INFO[_shape.kind] = FILLS[_shape.kind]
