"""What attributes have to look like before anybody reads them.  lib/nlattr.c, and the `nla_policy` tables of each protocol.

A message's attributes are checked one after the other; the first that does not fit refuses the message.  A type without a
row, and one that the version does not know, is not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from arch.abi import nexthop as nh
from arch.abi import rtnetlink as rt
from arch.abi.errno import EINVAL, ERANGE
from arch.abi.if_link import IFLA_XDP
from arch.abi.limits import S32_MAX, U32_MAX
from arch.abi.lwtunnel import (
    LWT_BPF_IN,
    LWT_BPF_OUT,
    LWT_BPF_PROG_FD,
    LWT_BPF_PROG_NAME,
    LWT_BPF_XMIT,
    LWT_BPF_XMIT_HEADROOM,
)
from arch.abi.netlink import NLA_F_NESTED, NLA_HDRLEN, NLMSG_HDRLEN
from arch.records import dataclass
from simkernel.net.core.extack import Refusal
from simkernel.net.face import NetKernel
from simkernel.net.netlink.message import LEFTOVER, Wire

RESERVED_BIT = "reserved bit set"
WRONG_FORM = "Attribute failed policy validation"


class Kind(IntEnum):
    """NLA_...: what a value is.  The numbers are NL_ATTR_TYPE_..., which user space hears of a refusal."""

    REJECT = 0
    FLAG = 1
    U8 = 2
    U16 = 3
    U32 = 4
    U64 = 5
    S32 = 8
    BINARY = 10  # at most `size` bytes
    STRING = 11  # at most `size` characters
    NUL_STRING = 12
    NESTED = 13
    LEAST = -1  # NLA_UNSPEC with a length: at least `size` bytes


WIDTH = {Kind.U8: 1, Kind.U16: 2, Kind.U32: 4, Kind.U64: 8, Kind.S32: 4}  # bytes
# enum netlink_policy_type_attr
TYPE_ATTR_TYPE, MIN_VALUE_S, MAX_VALUE_S, MIN_VALUE_U, MAX_VALUE_U, MAX_LENGTH = 1, 2, 3, 4, 5, 7


@dataclass(frozen=True, slots=True)
class Rule:
    """struct nla_policy: one attribute's row."""

    kind: Kind
    size: int = 0
    least: int = 0  # NLA_POLICY_MIN(): the smallest value
    most: int = U32_MAX
    mask: int = 0  # NLA_POLICY_MASK(): the bits that may be set; 0: any
    strict: bool = False  # strict_start_type: exactly as long as its kind
    since: str = ""  # the version that has the row


Policy = Mapping[int, Rule]


def parse(
    k: NetKernel, wire: Wire, body: bytes, header: int, policy: Policy, short: str = "Invalid header length"
) -> dict[int, bytes]:
    """nlmsg_parse_deprecated(): the attributes behind a fixed part of `header` bytes, the last of each type.  EINVAL, ERANGE."""
    if len(body) < header:
        raise Refusal(EINVAL, short if k.version.at_least("5.2") else "")
    return _checked(k, wire, body[header:], policy, NLMSG_HDRLEN + header)


def parse_nested(k: NetKernel, wire: Wire, raw: bytes, policy: Policy, start: int | None = None) -> dict[int, bytes]:
    """nla_parse_nested_deprecated(): those within another, which are at `start` of the message.  EINVAL, ERANGE."""
    return _checked(k, wire, raw, policy, start)


def _checked(k: NetKernel, wire: Wire, raw: bytes, policy: Policy, start: int | None) -> dict[int, bytes]:
    given: dict[int, bytes] = {}
    for kind, value, at in wire.walk(raw):
        rule = policy.get(kind)
        if rule is not None and (not rule.since or k.version.at_least(rule.since)):
            wrong = _wrong(wire, rule, value)
            if wrong is not None:
                shown = _shown(wire, rule) if k.version.at_least("5.10") else b""
                raise Refusal(*wrong, None if start is None else start + at, policy=shown)
        given[kind] = value
    if start is not None and wire.leftover(raw):
        wire.said = LEFTOVER
    return given


def parse_strict(k: NetKernel, wire: Wire, body: bytes, header: int, policy: Policy, last: int) -> dict[int, bytes]:
    """nlmsg_parse(): as above, and nothing but the policy's attributes, up to the type `last`, each as long as it has to be.  EINVAL, ERANGE."""
    if len(body) < header:
        raise Refusal(EINVAL, "Invalid header length")
    return nested_strict(k, wire, body[header:], policy, last, NLMSG_HDRLEN + header)


def nested_strict(
    k: NetKernel, wire: Wire, raw: bytes, policy: Policy, last: int, start: int
) -> dict[int, bytes]:  # fmt: skip
    """nla_parse() with NL_VALIDATE_STRICT of attributes that begin at `start` of the message.  EINVAL, ERANGE."""
    given: dict[int, bytes] = {}
    for kind, value, at in wire.walk(raw):
        rule = policy.get(kind, UNSUPPORTED)
        nested = bool(wire.number(raw[at + 2 : at + 4], 2) & NLA_F_NESTED)
        if not 0 < kind <= last:
            raise Refusal(EINVAL, "Unknown attribute type", start + at)
        width = WIDTH.get(rule.kind, 0)
        if width and len(value) != width:
            raise Refusal(EINVAL, "invalid attribute length", start + at, policy=_shown(wire, rule))
        if rule.kind is Kind.NESTED and not nested:
            raise Refusal(EINVAL, "NLA_F_NESTED is missing", start + at, policy=_shown(wire, rule))
        if rule is UNSUPPORTED:
            raise Refusal(EINVAL, "Unsupported attribute", start + at)
        if rule.kind is not Kind.NESTED and nested:
            raise Refusal(EINVAL, "NLA_F_NESTED not expected", start + at, policy=_shown(wire, rule))
        wrong = _wrong(wire, rule, value)
        if wrong is not None:
            raise Refusal(*wrong, start + at, policy=b"" if rule.mask else _shown(wire, rule))
        given[kind] = value
    if wire.leftover(raw):
        raise Refusal(EINVAL, LEFTOVER)
    return given


def _wrong(wire: Wire, rule: Rule, value: bytes) -> tuple[int, str] | None:
    """validate_nla(): the errno and its sentence."""
    size, kind, width = len(value), rule.kind, WIDTH.get(rule.kind, 0)
    if kind is Kind.REJECT or (kind is Kind.NUL_STRING and b"\0" not in value[: rule.size + 1 if rule.size else None]):
        return EINVAL, WRONG_FORM
    if rule.strict and size != width:
        return EINVAL, "invalid attribute length"
    if (
        size < width
        or (kind is Kind.FLAG and size)
        or (kind in (Kind.STRING, Kind.NUL_STRING) and _too_long(value, rule.size))
        or (kind is Kind.BINARY and rule.size and size > rule.size)
        or (kind is Kind.LEAST and size < rule.size)
        or (kind is Kind.NESTED and 0 < size < NLA_HDRLEN)
    ):
        return ERANGE, WRONG_FORM
    if rule.mask and wire.number(value, width) & ~rule.mask:
        return EINVAL, RESERVED_BIT
    if (rule.least or rule.most != U32_MAX) and not rule.least <= wire.number(value, width) <= rule.most:
        return ERANGE, "integer out of range"
    return None


def _shown(wire: Wire, rule: Rule) -> bytes:
    """netlink_policy_dump_write_attr(): what the attribute should have been."""
    if rule.kind in (Kind.REJECT, Kind.LEAST):
        return b""
    out, width = b"", WIDTH.get(rule.kind)
    if rule.kind is Kind.S32:
        least = rule.least or -S32_MAX - 1
        out = wire.attribute(MIN_VALUE_S, wire.pack("q", least)) + wire.attribute(MAX_VALUE_S, wire.pack("q", S32_MAX))
    elif width is not None:
        out = wire.u64(MIN_VALUE_U, rule.least) + wire.u64(
            MAX_VALUE_U, rule.most if rule.most != U32_MAX else (1 << 8 * width) - 1
        )
    elif rule.size:
        out = wire.u32(MAX_LENGTH, rule.size)
    return out + wire.u32(TYPE_ATTR_TYPE, rule.kind)


def _too_long(value: bytes, size: int) -> bool:
    """NLA_STRING: it has a character or a NUL, and one NUL at its end is not counted."""
    length = len(value) - value.endswith(b"\0")
    return not value or bool(size and length > size)


UNSUPPORTED = Rule(Kind.LEAST)  # of a type that a strict policy has no row for
U8, U16, U32, U64, S32 = Rule(Kind.U8), Rule(Kind.U16), Rule(Kind.U32), Rule(Kind.U64), Rule(Kind.S32)
ADDRESS4, ADDRESS6 = Rule(Kind.LEAST, 4), Rule(Kind.LEAST, 16)
NESTED, FLAG = Rule(Kind.NESTED), Rule(Kind.FLAG)
IN6 = Rule(Kind.LEAST, 16)
HARDWARE = Rule(Kind.BINARY, 32)  # MAX_ADDR_LEN
IFNAME = Rule(Kind.STRING, 15)
CACHEINFO = Rule(Kind.LEAST, 16)
NEXTHOP_ID = Rule(Kind.U32, strict=True, since="5.3")

_ROUTE: dict[int, Rule] = {  # what both families have
    rt.RTA_IIF: U32, rt.RTA_OIF: U32, rt.RTA_PRIORITY: U32, rt.RTA_METRICS: NESTED, rt.RTA_MULTIPATH: Rule(Kind.LEAST, 8),
    rt.RTA_TABLE: U32, rt.RTA_MARK: U32, rt.RTA_ENCAP_TYPE: U16, rt.RTA_ENCAP: NESTED, rt.RTA_UID: U32,
    rt.RTA_IP_PROTO: U8, rt.RTA_SPORT: U16, rt.RTA_DPORT: U16, rt.RTA_NH_ID: NEXTHOP_ID,
}  # fmt: skip
RTM_IPV4: Policy = _ROUTE | {  # net/ipv4/fib_frontend.c
    rt.RTA_DST: U32, rt.RTA_SRC: U32, rt.RTA_GATEWAY: U32, rt.RTA_PREFSRC: U32, rt.RTA_FLOW: U32,
}  # fmt: skip
RTM_IPV6: Policy = _ROUTE | {  # net/ipv6/route.c
    rt.RTA_GATEWAY: IN6, rt.RTA_PREFSRC: IN6, rt.RTA_PREF: U8, rt.RTA_EXPIRES: U32,
}  # fmt: skip
_IFA: dict[int, Rule] = {
    rt.IFA_CACHEINFO: CACHEINFO, rt.IFA_FLAGS: U32, rt.IFA_RT_PRIORITY: U32, rt.IFA_TARGET_NETNSID: S32,
    rt.IFA_PROTO: Rule(Kind.U8, since="5.18"),
}  # fmt: skip
IFA_IPV4: Policy = _IFA | {  # net/ipv4/devinet.c
    rt.IFA_LOCAL: U32, rt.IFA_ADDRESS: U32, rt.IFA_BROADCAST: U32, rt.IFA_LABEL: IFNAME,
}  # fmt: skip
IFA_IPV6: Policy = _IFA | {rt.IFA_LOCAL: IN6, rt.IFA_ADDRESS: IN6}  # net/ipv6/addrconf.c
NDA: Policy = {  # net/core/neighbour.c
    rt.NDA_DST: HARDWARE, rt.NDA_LLADDR: HARDWARE, rt.NDA_CACHEINFO: CACHEINFO, rt.NDA_PROBES: U32, rt.NDA_VLAN: U16,
    rt.NDA_PORT: U16, rt.NDA_VNI: U32, rt.NDA_IFINDEX: U32, rt.NDA_MASTER: U32, rt.NDA_PROTOCOL: U8,
    rt.NDA_NH_ID: NEXTHOP_ID, rt.NDA_FLAGS_EXT: Rule(Kind.U32, strict=True, since="5.16"),
}  # fmt: skip
FRA: Policy = {  # net/core/fib_rules.c
    rt.FRA_IIFNAME: IFNAME, rt.FRA_OIFNAME: IFNAME, rt.FRA_PRIORITY: U32, rt.FRA_FWMARK: U32, rt.FRA_FWMASK: U32,
    rt.FRA_FLOW: U32, rt.FRA_TUN_ID: U64, rt.FRA_TABLE: U32, rt.FRA_SUPPRESS_PREFIXLEN: U32, rt.FRA_SUPPRESS_IFGROUP: U32,
    rt.FRA_GOTO: U32, rt.FRA_L3MDEV: U8, rt.FRA_UID_RANGE: Rule(Kind.LEAST, 8), rt.FRA_PROTOCOL: U8, rt.FRA_IP_PROTO: U8,
    rt.FRA_SPORT_RANGE: Rule(Kind.LEAST, 4), rt.FRA_DPORT_RANGE: Rule(Kind.LEAST, 4),
}  # fmt: skip
TCA: Policy = {  # net/sched/sch_api.c
    rt.TCA_KIND: Rule(Kind.STRING), rt.TCA_RATE: Rule(Kind.BINARY, 2), rt.TCA_STAB: NESTED, rt.TCA_DUMP_INVISIBLE: FLAG,
    rt.TCA_CHAIN: U32, rt.TCA_INGRESS_BLOCK: U32, rt.TCA_EGRESS_BLOCK: U32,
}  # fmt: skip
IFLA: Policy = {  # net/core/rtnetlink.c
    rt.IFLA_IFNAME: IFNAME, rt.IFLA_ADDRESS: HARDWARE, rt.IFLA_BROADCAST: HARDWARE, rt.IFLA_MAP: Rule(Kind.LEAST, 32),
    rt.IFLA_MTU: U32, rt.IFLA_LINK: U32, rt.IFLA_MASTER: U32, rt.IFLA_CARRIER: U8, rt.IFLA_TXQLEN: U32, rt.IFLA_WEIGHT: U32,
    rt.IFLA_OPERSTATE: U8, rt.IFLA_LINKMODE: U8, rt.IFLA_LINKINFO: NESTED, rt.IFLA_NET_NS_PID: U32, rt.IFLA_NET_NS_FD: U32,
    rt.IFLA_IFALIAS: Rule(Kind.BINARY, 255), rt.IFLA_VFINFO_LIST: NESTED, rt.IFLA_VF_PORTS: NESTED, rt.IFLA_PORT_SELF: NESTED,
    rt.IFLA_AF_SPEC: NESTED, rt.IFLA_EXT_MASK: U32, rt.IFLA_PROMISCUITY: U32, rt.IFLA_NUM_TX_QUEUES: U32,
    rt.IFLA_NUM_RX_QUEUES: U32, rt.IFLA_GSO_MAX_SEGS: U32, rt.IFLA_GSO_MAX_SIZE: Rule(Kind.U32, least=321, since="5.14"), rt.IFLA_PHYS_PORT_ID: HARDWARE,
    rt.IFLA_CARRIER_CHANGES: U32, rt.IFLA_PHYS_SWITCH_ID: HARDWARE, rt.IFLA_LINK_NETNSID: S32, rt.IFLA_PROTO_DOWN: U8,
    IFLA_XDP: NESTED, rt.IFLA_EVENT: U32, rt.IFLA_GROUP: U32, rt.IFLA_TARGET_NETNSID: S32, rt.IFLA_CARRIER_UP_COUNT: U32,
    rt.IFLA_CARRIER_DOWN_COUNT: U32, rt.IFLA_MIN_MTU: U32, rt.IFLA_MAX_MTU: U32, rt.IFLA_PROP_LIST: NESTED,
    rt.IFLA_NEW_IFINDEX: Rule(Kind.S32, least=1, most=S32_MAX, since="5.13"), rt.IFLA_ALT_IFNAME: Rule(Kind.STRING, 127, since="5.5"),
    rt.IFLA_PERM_ADDRESS: Rule(Kind.REJECT, since="5.6"), rt.IFLA_PROTO_DOWN_REASON: NESTED,
    rt.IFLA_PARENT_DEV_NAME: Rule(Kind.NUL_STRING, since="5.14"), rt.IFLA_GRO_MAX_SIZE: Rule(Kind.U32, since="5.18"),
    rt.IFLA_TSO_MAX_SIZE: Rule(Kind.REJECT, since="5.19"), rt.IFLA_TSO_MAX_SEGS: Rule(Kind.REJECT, since="5.19"),
    rt.IFLA_ALLMULTI: Rule(Kind.REJECT, since="6.0"),
}  # fmt: skip
IFLA_INFO: Policy = {  # net/core/rtnetlink.c: ifla_info_policy
    rt.IFLA_INFO_KIND: Rule(Kind.STRING), rt.IFLA_INFO_DATA: NESTED, rt.IFLA_INFO_SLAVE_KIND: Rule(Kind.STRING),
    rt.IFLA_INFO_SLAVE_DATA: NESTED,
}  # fmt: skip
INET6_AF: Policy = {  # net/ipv6/addrconf.c: inet6_af_policy
    rt.IFLA_INET6_ADDR_GEN_MODE: U8, rt.IFLA_INET6_TOKEN: IN6, rt.IFLA_INET6_RA_MTU: Rule(Kind.REJECT, since="5.15"),
}  # fmt: skip
LWT_BPF: Policy = {
    LWT_BPF_IN: NESTED,
    LWT_BPF_OUT: NESTED,
    LWT_BPF_XMIT: NESTED,
    LWT_BPF_XMIT_HEADROOM: U32,
}  # net/core/lwt_bpf.c
LWT_BPF_PROG: Policy = {LWT_BPF_PROG_FD: U32, LWT_BPF_PROG_NAME: Rule(Kind.NUL_STRING, 256)}
NHA_RES: Policy = {
    nh.NHA_RES_GROUP_BUCKETS: U16, nh.NHA_RES_GROUP_IDLE_TIMER: U32, nh.NHA_RES_GROUP_UNBALANCED_TIMER: U32,
}  # fmt: skip
NHA_NEW: Policy = {  # net/ipv4/nexthop.c: rtm_nh_policy_new and the others
    nh.NHA_ID: U32, nh.NHA_GROUP: Rule(Kind.BINARY), nh.NHA_GROUP_TYPE: U16, nh.NHA_BLACKHOLE: FLAG, nh.NHA_OIF: U32,
    nh.NHA_GATEWAY: Rule(Kind.BINARY), nh.NHA_ENCAP_TYPE: U16, nh.NHA_ENCAP: NESTED, nh.NHA_FDB: FLAG, nh.NHA_RES_GROUP: NESTED,
}  # fmt: skip
NHA_GET: Policy = {nh.NHA_ID: U32}
NHA_DUMP: Policy = {nh.NHA_OIF: U32, nh.NHA_GROUPS: FLAG, nh.NHA_MASTER: U32, nh.NHA_FDB: FLAG}
NHA_DUMP_BUCKET: Policy = {nh.NHA_ID: U32, nh.NHA_OIF: U32, nh.NHA_MASTER: U32, nh.NHA_RES_BUCKET: NESTED}
NHA_RES_DUMP: Policy = {nh.NHA_RES_BUCKET_NH_ID: U32}
NHA_GET_BUCKET: Policy = {nh.NHA_ID: U32, nh.NHA_RES_BUCKET: NESTED}
NHA_RES_GET: Policy = {nh.NHA_RES_BUCKET_INDEX: U16}
_ETHNL_HEADER: dict[int, Rule] = {
    1: U32,
    2: Rule(Kind.NUL_STRING, 127),
    3: Rule(Kind.U32, mask=3),
}  # net/ethtool/netlink.c
ETHNL_HEADER: Policy = _ETHNL_HEADER
ETHNL_HEADER_STATS: Policy = _ETHNL_HEADER | {3: Rule(Kind.U32, mask=7)}
ETHNL_HEAD: dict[int, Rule] = {1: NESTED}
STRSET: Policy = {1: NESTED, 2: NESTED, 3: FLAG}
STRINGSETS: Policy = {1: NESTED}
STRINGSET: Policy = {1: U32}
STATS: Policy = {2: NESTED, 3: NESTED}
MODULE_EEPROM: Policy = ETHNL_HEAD | {
    2: U32, 3: Rule(Kind.U32, least=1, most=128), 4: U8, 5: U8, 6: Rule(Kind.U8, most=127),
}  # fmt: skip
BITSET: Policy = {
    1: FLAG,
    2: Rule(Kind.U32),
    3: NESTED,
    4: Rule(Kind.BINARY),
    5: Rule(Kind.BINARY),
}  # net/ethtool/bitset.c
BITSET_BIT: Policy = {1: U32, 2: Rule(Kind.NUL_STRING), 3: FLAG}
NETNSA: dict[int, Rule] = {rt.NETNSA_NSID: S32, rt.NETNSA_PID: U32, rt.NETNSA_FD: U32}  # net/core/net_namespace.c
NETNSA_DUMP: Policy = NETNSA | {rt.NETNSA_TARGET_NSID: S32}
