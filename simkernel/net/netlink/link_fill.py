"""A device as a message: RTM_NEWLINK's attributes.  net/core/rtnetlink.c: rtnl_fill_ifinfo()."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.if_link import IFLA_XDP
from arch.abi.inet import IFF_UP
from arch.abi.rtnetlink import (
    IF_OPER_DOWN,
    IFLA_ADDRESS,
    IFLA_AF_SPEC,
    IFLA_ALLMULTI,
    IFLA_ALT_IFNAME,
    IFLA_BROADCAST,
    IFLA_CARRIER,
    IFLA_CARRIER_CHANGES,
    IFLA_CARRIER_DOWN_COUNT,
    IFLA_CARRIER_UP_COUNT,
    IFLA_EVENT,
    IFLA_GRO_MAX_SIZE,
    IFLA_GROUP,
    IFLA_GSO_MAX_SEGS,
    IFLA_GSO_MAX_SIZE,
    IFLA_IFALIAS,
    IFLA_IFNAME,
    IFLA_INET6_ADDR_GEN_MODE,
    IFLA_INET6_CACHEINFO,
    IFLA_INET6_CONF,
    IFLA_INET6_FLAGS,
    IFLA_INET6_RA_MTU,
    IFLA_INET6_TOKEN,
    IFLA_INET_CONF,
    IFLA_INFO_DATA,
    IFLA_INFO_KIND,
    IFLA_INFO_SLAVE_KIND,
    IFLA_LINK,
    IFLA_LINK_NETNSID,
    IFLA_LINKINFO,
    IFLA_LINKMODE,
    IFLA_MAP,
    IFLA_MASTER,
    IFLA_MAX_MTU,
    IFLA_MIN_MTU,
    IFLA_MTU,
    IFLA_NEW_IFINDEX,
    IFLA_NEW_NETNSID,
    IFLA_NUM_RX_QUEUES,
    IFLA_NUM_TX_QUEUES,
    IFLA_OPERSTATE,
    IFLA_PERM_ADDRESS,
    IFLA_PROMISCUITY,
    IFLA_PROP_LIST,
    IFLA_PROTINFO,
    IFLA_PROTO_DOWN,
    IFLA_QDISC,
    IFLA_STATS,
    IFLA_STATS64,
    IFLA_TSO_MAX_SEGS,
    IFLA_TSO_MAX_SIZE,
    IFLA_TXQLEN,
    RTEXT_FILTER_SKIP_STATS,
)
from arch.abi.socket import AF_INET, AF_INET6, AF_UNSPEC
from arch.abi.time import USER_TICK_NSEC
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.registry import dev_get_flags
from simkernel.net.face import NetKernel
from simkernel.net.netlink.message import Wire
from simkernel.net.netlink.nsid import id_of
from simkernel.net.netlink.xdp import xdp_attributes

IFINFOMSG = "BxHiII"
# IPV4_DEVCONF_, in the order of include/uapi/linux/ip.h
DEVCONF = (
    "forwarding", "mc_forwarding", "proxy_arp", "accept_redirects", "secure_redirects", "send_redirects", "shared_media",
    "rp_filter", "accept_source_route", "bootp_relay", "log_martians", "tag", "arp_filter", "medium_id", "disable_xfrm",
    "disable_policy", "force_igmp_version", "arp_announce", "arp_ignore", "promote_secondaries", "arp_accept", "arp_notify",
    "accept_local", "src_valid_mark", "proxy_arp_pvlan", "route_localnet", "igmpv2_unsolicited_report_interval",
    "igmpv3_unsolicited_report_interval", "ignore_routes_with_linkdown", "drop_unicast_in_l2_multicast",
    "drop_gratuitous_arp", "bc_forwarding", "arp_evict_nocarrier",
)  # fmt: skip
# DEVCONF_, include/uapi/linux/ipv6.h; times in s there are ms here
DEVCONF6 = (
    "forwarding", "hop_limit", "mtu", "accept_ra", "accept_redirects", "autoconf", "dad_transmits", "router_solicitations",
    "router_solicitation_interval", "router_solicitation_delay", "use_tempaddr", "temp_valid_lft", "temp_prefered_lft",
    "regen_max_retry", "max_desync_factor", "max_addresses", "force_mld_version", "accept_ra_defrtr", "accept_ra_pinfo",
    "accept_ra_rtr_pref", "router_probe_interval", "accept_ra_rt_info_max_plen", "proxy_ndp", "optimistic_dad",
    "accept_source_route", "mc_forwarding", "disable_ipv6", "accept_dad", "force_tllao", "ndisc_notify",
    "mldv1_unsolicited_report_interval", "mldv2_unsolicited_report_interval", "suppress_frag_ndisc", "accept_ra_from_local",
    "use_optimistic", "accept_ra_mtu", "", "use_oif_addrs_only", "accept_ra_min_hop_limit", "ignore_routes_with_linkdown",
    "drop_unicast_in_l2_multicast", "drop_unsolicited_na", "keep_addr_on_down", "router_solicitation_max_interval",
    "seg6_enabled", "seg6_require_hmac", "enhanced_dad", "addr_gen_mode", "disable_policy", "accept_ra_rt_info_min_plen",
    "ndisc_tclass", "rpl_seg_enabled", "ra_defrtr_metric", "ioam6_enabled", "ioam6_id", "ioam6_id_wide",
    "ndisc_evict_nocarrier", "accept_untracked_na", "accept_ra_min_lft",
)  # fmt: skip
SECONDS6 = (
    "router_solicitation_interval",
    "router_solicitation_delay",
    "router_probe_interval",
    "router_solicitation_max_interval",
)
IF_RA_MANAGED, IF_READY = 0x40, 0x80000000
TSO_MAX_SEGS = 65535
QDISC_LATE = "6.9"  # what is read under RCU stands last

Info = Callable[[NetKernel, Wire, NetDevice], bytes]
INFO: dict[str, Info] = {}  # kind -> what stands in IFLA_INFO_DATA


def qdisc_name(dev: NetDevice) -> str:
    """The discipline at the root: `noop` until it is first opened."""
    if dev.qdisc is not None:
        return dev.qdisc.kind
    return dev.kind.qdisc if dev.opened else "noop"


def statistics(dev: NetDevice) -> list[int]:
    """struct rtnl_link_stats64."""
    s = dev.stats
    values = [s[n] for n in ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors")]
    values += [
        s["rx_dropped"],
        s["tx_dropped"],
        s["multicast"],
        s["collisions"],
        s["rx_length_errors"],
        0,
        s["rx_crc_errors"],
        s["rx_frame_errors"],
    ]
    values += [s["rx_fifo_errors"], 0, s["tx_aborted_errors"], s["tx_carrier_errors"], s["tx_fifo_errors"]]
    return values + [0] * 6


def link(
    k: NetKernel, wire: Wire, dev: NetDevice, *, change: int = 0, event: int = 0, mask: int = 0, gone_to: Net | None = None,
    new_index: int = 0, down: bool = False,
) -> bytes:  # fmt: skip
    """struct ifinfomsg and its attributes."""
    flags, late = dev_get_flags(dev), k.version.at_least(QDISC_LATE)
    qdisc, places = wire.text(IFLA_QDISC, qdisc_name(dev)), wire.attribute(IFLA_MAP, bytes(24 + 8))
    head = wire.pack(IFINFOMSG, AF_UNSPEC, dev.hardware_type, dev.ifindex, flags, change)
    state = dev.operstate if flags & IFF_UP else IF_OPER_DOWN
    out = [
        wire.text(IFLA_IFNAME, dev.name), wire.u32(IFLA_TXQLEN, dev.tx_queue_len), wire.u8(IFLA_OPERSTATE, state),
        wire.u8(IFLA_LINKMODE, dev.link_mode), wire.u32(IFLA_MTU, dev.mtu), wire.u32(IFLA_MIN_MTU, dev.min_mtu),
        wire.u32(IFLA_MAX_MTU, dev.max_mtu), wire.u32(IFLA_GROUP, dev.group), wire.u32(IFLA_PROMISCUITY, dev.promiscuity),
        wire.u32(IFLA_ALLMULTI, dev.allmulti) if k.version.at_least("6.0") else b"",
        wire.u32(IFLA_NUM_TX_QUEUES, dev.queues[0]), wire.u32(IFLA_GSO_MAX_SEGS, dev.gso_max_segs),
        wire.u32(IFLA_GSO_MAX_SIZE, dev.gso_max_size),
        wire.u32(IFLA_GRO_MAX_SIZE, 65536) if k.version.at_least("5.19") else b"",
        wire.u32(IFLA_TSO_MAX_SIZE, dev.kind.tso_max_size) if k.version.at_least("5.19") else b"",
        wire.u32(IFLA_TSO_MAX_SEGS, TSO_MAX_SEGS) if k.version.at_least("5.19") else b"",
        wire.u32(IFLA_NUM_RX_QUEUES, dev.queues[1]),
        wire.u32(IFLA_MASTER, dev.master.ifindex) if dev.master is not None else b"",
        wire.u8(IFLA_CARRIER, int(dev.carrier)), b"" if late else qdisc,
        wire.text(IFLA_IFALIAS, dev.alias) if dev.alias else b"",
        wire.u32(IFLA_CARRIER_CHANGES, dev.carrier_changes), wire.u32(IFLA_CARRIER_UP_COUNT, dev.carrier_changes // 2),
        wire.u32(IFLA_CARRIER_DOWN_COUNT, (dev.carrier_changes + 1) // 2), wire.u8(IFLA_PROTO_DOWN, int(dev.proto_down)),
        wire.u32(IFLA_EVENT, event) if event else b"",
        b"" if late else places,
        wire.attribute(IFLA_ADDRESS, dev.mac), wire.attribute(IFLA_BROADCAST, dev.broadcast),
    ]  # fmt: skip
    if not mask & RTEXT_FILTER_SKIP_STATS:
        counts = statistics(dev)
        out.append(wire.attribute(IFLA_STATS64, wire.pack("25Q", *counts)))
        out.append(wire.attribute(IFLA_STATS, wire.pack("24I", *(c & 0xFFFFFFFF for c in counts[:24]))))
    out += [wire.attribute(IFLA_XDP, xdp_attributes(k, wire, dev)), _linkinfo(k, wire, dev)]
    if not late:
        out.append(_netns(k, wire, dev))
    if gone_to is not None:
        out += [wire.u32(IFLA_NEW_NETNSID, id_of(k, dev.net, gone_to)), wire.u32(IFLA_NEW_IFINDEX, new_index)]
    if dev.permanent_mac:
        out.append(wire.attribute(IFLA_PERM_ADDRESS, dev.permanent_mac))
    if late:
        out += [_netns(k, wire, dev), qdisc]
    out.append(wire.attribute(IFLA_AF_SPEC, af_spec(wire, k, dev)))
    if late:
        out.append(places)
    if dev.altnames:
        out.append(wire.nested(IFLA_PROP_LIST, b"".join(wire.text(IFLA_ALT_IFNAME, name) for name in dev.altnames)))
    return head + b"".join(out)


def link6(k: NetKernel, wire: Wire, dev: NetDevice) -> bytes:
    """inet6_fill_ifinfo(): of a device as IPv6 sees it."""
    state = dev.operstate if dev.up else IF_OPER_DOWN
    out = wire.pack(IFINFOMSG, AF_INET6, dev.hardware_type, dev.ifindex, dev_get_flags(dev), 0)
    out += wire.text(IFLA_IFNAME, dev.name) + wire.attribute(IFLA_ADDRESS, dev.mac) + wire.u32(IFLA_MTU, dev.mtu)
    if dev.peer is not None and dev.peer.ifindex != dev.ifindex:
        out += wire.u32(IFLA_LINK, dev.peer.ifindex)
    out += wire.u8(IFLA_OPERSTATE, state)
    return out + wire.nested(IFLA_PROTINFO, inet6(wire, k, dev))


def _linkinfo(k: NetKernel, wire: Wire, dev: NetDevice) -> bytes:
    """rtnl_link_fill()."""
    body = b""
    if dev.master is not None and dev.master.kind.kind:
        body += wire.text(IFLA_INFO_SLAVE_KIND, dev.master.kind.kind)
    if dev.kind.kind:
        body += wire.text(IFLA_INFO_KIND, dev.kind.kind)
        data = INFO[dev.kind.kind](k, wire, dev) if dev.kind.kind in INFO else b""
        body += wire.attribute(IFLA_INFO_DATA, data) if data else b""
    return wire.attribute(IFLA_LINKINFO, body) if body else b""


def _netns(k: NetKernel, wire: Wire, dev: NetDevice) -> bytes:
    """rtnl_fill_link_netnsid(): the other end, perhaps in another namespace."""
    below = dev.kind.iflink(dev)
    if dev.peer is None:
        return b"" if below is None else wire.u32(IFLA_LINK, below)
    number = b"" if dev.peer.net is dev.net else wire.u32(IFLA_LINK_NETNSID, id_of(k, dev.net, dev.peer.net))
    return number + wire.u32(IFLA_LINK, dev.peer.ifindex)


def af_spec(wire: Wire, k: NetKernel, dev: NetDevice) -> bytes:
    """rtnl_fill_link_af(): what the families have of it."""
    out = b""
    if dev.has_ipv4:
        conf = dev.conf["ipv4"]
        values = wire.pack(f"{len(DEVCONF)}I", *(conf[name] & 0xFFFFFFFF for name in DEVCONF))
        out += wire.nested(AF_INET, wire.attribute(IFLA_INET_CONF, values))
    if dev.has_ipv6:
        out += wire.nested(AF_INET6, inet6(wire, k, dev))
    return out


def inet6(wire: Wire, k: NetKernel, dev: NetDevice) -> bytes:
    """inet6_fill_ifla6_attrs()."""
    conf = dev.conf["ipv6"]
    values = [conf.get(n, 0) * (1000 if n in SECONDS6 else 1) & 0xFFFFFFFF for n in DEVCONF6]
    reachable = dev.neigh_conf["ipv6"].get("reachable_time_ms", dev.neigh_conf["ipv6"]["base_reachable_time_ms"])
    cache = wire.pack(
        "4I", 65535, dev.created_ns // USER_TICK_NSEC, reachable, dev.neigh_conf["ipv6"]["retrans_time_ms"]
    )
    return (
        wire.u32(IFLA_INET6_FLAGS, IF_READY if dev.ready6 else 0)
        + wire.attribute(IFLA_INET6_CACHEINFO, cache)
        + wire.attribute(IFLA_INET6_CONF, wire.pack(f"{len(values)}I", *values))
        + wire.attribute(IFLA_INET6_TOKEN, bytes(16))
        + wire.u8(IFLA_INET6_ADDR_GEN_MODE, conf["addr_gen_mode"])
        + (wire.u32(IFLA_INET6_RA_MTU, 0) if k.version.at_least("5.15") and dev.ra_mtu else b"")
    )
