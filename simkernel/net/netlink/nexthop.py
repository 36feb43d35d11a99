"""Objects for next hops over NETLINK_ROUTE: `ip nexthop`.  net/ipv4/nexthop.c."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator

from arch.abi.errno import EINVAL, ENETDOWN, ENOENT
from arch.abi.inet import IN6_ADDR_SIZE, IN_ADDR_SIZE
from arch.abi.limits import S32_MAX
from arch.abi.netlink import NLM_F_REPLACE, NLMSG_HDRLEN
from arch.abi.nexthop import (
    NEXTHOP_GRP_TYPE_MPATH,
    NEXTHOP_GRP_TYPE_RES,
    NHA_BLACKHOLE,
    NHA_ENCAP,
    NHA_ENCAP_TYPE,
    NHA_FDB,
    NHA_GATEWAY,
    NHA_GROUP,
    NHA_GROUP_TYPE,
    NHA_GROUPS,
    NHA_ID,
    NHA_MASTER,
    NHA_OIF,
    NHA_RES_BUCKET,
    NHA_RES_BUCKET_IDLE_TIME,
    NHA_RES_BUCKET_INDEX,
    NHA_RES_BUCKET_NH_ID,
    NHA_RES_GROUP,
    NHA_RES_GROUP_BUCKETS,
    NHA_RES_GROUP_IDLE_TIMER,
    NHA_RES_GROUP_UNBALANCED_TIME,
    NHA_RES_GROUP_UNBALANCED_TIMER,
    RTM_DELNEXTHOP,
    RTM_GETNEXTHOP,
    RTM_GETNEXTHOPBUCKET,
    RTM_NEWNEXTHOP,
    RTM_NEWNEXTHOPBUCKET,
)
from arch.abi.rtnetlink import (
    RT_SCOPE_LINK,
    RT_SCOPE_UNIVERSE,
    RT_TABLE_MAIN,
    RTA_ENCAP,
    RTA_ENCAP_TYPE,
    RTN_UNICAST,
    RTNH_F_ONLINK,
)
from arch.abi.socket import AF_INET, AF_INET6, AF_UNSPEC
from arch.abi.time import HZ, USER_HZ
from arch.errors import KernelError
from simkernel.net import nexthop
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Bucket, BucketTable, Net, NetDevice, Nexthop, NexthopObject, Route
from simkernel.net.face import NetKernel
from simkernel.net.ipv4 import fib
from simkernel.net.ipv6 import ip6_fib
from simkernel.net.netlink import policy
from simkernel.net.netlink.lwtunnel import asked_for, check_type, tunnel
from simkernel.net.netlink.message import Request, Wire
from simkernel.net.netlink.rtnetlink import Row, register

NHMSG = "4BI"
NHMSG_SIZE = 8  # struct nhmsg
GROUP_ROW = 8  # struct nexthop_grp
MOST_WEIGHT = 0xFFFE  # less one, as it is in messages; before weights had 16 bits it was 254
IDLE_TIMER = 120 * HZ  # NH_RES_DEFAULT_IDLE_TIMER
GATEWAY_SIZE = {AF_INET: IN_ADDR_SIZE, AF_INET6: IN6_ADDR_SIZE}
SHOWN = ((NHA_ENCAP_TYPE, RTA_ENCAP_TYPE), (NHA_ENCAP, RTA_ENCAP))


def _clock_t(jiffies: int) -> int:
    return jiffies * USER_HZ // HZ


# -- showing -----------------------------------------------------------------------------------------------------------


def fill(k: NetKernel, wire: Wire, nh: NexthopObject) -> bytes:
    """nh_fill_node()."""
    way = nh.way
    scope = way.scope if way is not None and not nh.reject else 0
    out = wire.pack(NHMSG, nh.family, scope, nh.protocol, 0, nh.flags) + wire.u32(NHA_ID, nh.id)
    if nh.is_group:
        out += wire.attribute(NHA_FDB, b"") if nh.fdb else b""
        out += wire.u16(NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_MPATH if nh.buckets is None else NEXTHOP_GRP_TYPE_RES)
        rows = b"".join(
            wire.pack("IBBH", member.id, weight - 1 & 0xFF, weight - 1 >> 8, 0) for member, weight in nh.members
        )
        return out + wire.attribute(NHA_GROUP, rows) + _fill_table(k, wire, nh.buckets)
    assert way is not None
    if nh.reject:
        return out + wire.attribute(NHA_BLACKHOLE, b"")
    if nh.fdb:
        out += wire.attribute(NHA_FDB, b"")
    elif way.dev is not None:
        out += wire.u32(NHA_OIF, way.dev.ifindex)
    out += wire.attribute(NHA_GATEWAY, way.gateway) if way.gateway is not None else b""
    return out + tunnel(wire, way.lwt, NHA_ENCAP, NHA_ENCAP_TYPE)


def _fill_table(k: NetKernel, wire: Wire, table: BucketTable | None) -> bytes:
    """nla_put_nh_group_res()."""
    if table is None:
        return b""
    since = nexthop.now(k) - table.unbalanced_since if table.under else 0
    return wire.nested(
        NHA_RES_GROUP,
        wire.u16(NHA_RES_GROUP_BUCKETS, len(table.buckets))
        + wire.u32(NHA_RES_GROUP_IDLE_TIMER, _clock_t(table.idle_timer))
        + wire.u32(NHA_RES_GROUP_UNBALANCED_TIMER, _clock_t(table.unbalanced_timer))
        + wire.u64(NHA_RES_GROUP_UNBALANCED_TIME, _clock_t(since)),
    )


def fill_bucket(k: NetKernel, wire: Wire, nh: NexthopObject, index: int) -> bytes:
    """nh_fill_res_bucket()."""
    assert nh.buckets is not None
    bucket = nh.buckets.buckets[index]
    return (
        wire.pack(NHMSG, AF_UNSPEC, 0, nh.protocol, 0, 0)
        + wire.u32(NHA_ID, nh.id)
        + wire.nested(
            NHA_RES_BUCKET,
            wire.u16(NHA_RES_BUCKET_INDEX, index)
            + wire.u32(NHA_RES_BUCKET_NH_ID, bucket.member.id)
            + wire.u64(NHA_RES_BUCKET_IDLE_TIME, _clock_t(nexthop.now(k) - bucket.used)),
        )
    )


# -- making ------------------------------------------------------------------------------------------------------------


def _new(k: NetKernel, wire: Wire, request: Request) -> None:
    """rtm_new_nexthop().  EINVAL, ENETDOWN, EEXIST, ENOENT and those of ways."""
    given = policy.parse_strict(k, wire, request.body, NHMSG_SIZE, policy.NHA_NEW, NHA_RES_GROUP)
    family, scope, protocol, reserved = request.body[:4]
    flags = wire.number(request.body[4:8])
    if reserved or scope:
        raise Refusal(EINVAL, "Invalid values in ancillary header")
    if flags & ~RTNH_F_ONLINK:
        raise Refusal(EINVAL, "Invalid nexthop flags in ancillary header")
    if family not in GATEWAY_SIZE and not (family == AF_UNSPEC and NHA_GROUP in given):
        raise Refusal(EINVAL, "Invalid address family")
    made = NexthopObject(request.net, wire.number(given.get(NHA_ID)), family, protocol, flags)
    said: frozenset[str] = frozenset()
    if NHA_FDB in given:
        if any(kind in given for kind in (NHA_OIF, NHA_BLACKHOLE, NHA_ENCAP, NHA_ENCAP_TYPE)):
            raise Refusal(EINVAL, "Fdb attribute can not be used with encap, oif or blackhole")
        if flags:
            raise Refusal(EINVAL, "Unsupported nexthop flags in ancillary header")
        made.fdb = True
    if NHA_GROUP in given:
        if family != AF_UNSPEC:
            raise Refusal(EINVAL, "Invalid family for group")
        made.flags = 0
        said = _read_group(k, wire, request, made, given)
    else:
        _read_one(k, wire, request, made, given)
    if request.flags & NLM_F_REPLACE and not made.id:
        raise Refusal(EINVAL, "Replace requires nexthop id")
    made.id = made.id or nexthop.free_id(request.net)
    if made.way is not None:
        _check_way(k, made, made.way)
    try:
        nexthop.insert(k, made, request.flags, said)
    except KernelError:
        if made.way is not None:
            made.way.drop_tunnel()
        raise


def _read_one(k: NetKernel, wire: Wire, request: Request, made: NexthopObject, given: dict[int, bytes]) -> None:
    """rtm_to_nh_config() of a single way.  EINVAL, ENETDOWN."""
    if NHA_BLACKHOLE in given:
        if any(kind in given for kind in (NHA_GATEWAY, NHA_OIF, NHA_ENCAP, NHA_ENCAP_TYPE, NHA_FDB)):
            raise Refusal(EINVAL, "Blackhole attribute can not be used with gateway, oif, encap or fdb")
        made.reject, made.way = True, Nexthop(request.net.loopback, scope=RT_SCOPE_LINK)
        return
    if not made.fdb and NHA_OIF not in given:
        raise Refusal(EINVAL, "Device attribute required for non-blackhole and non-fdb nexthops")
    dev = None if made.fdb else _device(request.net, wire.number(given[NHA_OIF]))
    gateway = given.get(NHA_GATEWAY)
    if gateway is not None:
        if len(gateway) != GATEWAY_SIZE[made.family]:
            raise Refusal(EINVAL, "Invalid gateway")
    elif made.flags & RTNH_F_ONLINK:
        raise Refusal(EINVAL, "ONLINK flag can not be set for nexthop without a gateway")
    if NHA_ENCAP in given:
        if NHA_ENCAP_TYPE not in given:
            raise Refusal(EINVAL, "LWT encapsulation type is missing")
        check_type(wire, given, NHA_ENCAP_TYPE)
    elif NHA_ENCAP_TYPE in given:
        raise Refusal(EINVAL, "LWT encapsulation attribute is missing")
    made.way = Nexthop(dev, gateway if gateway is not None and any(gateway) else None, 1, made.flags, RT_SCOPE_LINK)
    made.way.wanted = asked_for(
        k, wire, {to: given[kind] for kind, to in SHOWN if kind in given}, request.body, NHMSG_SIZE
    )


def _device(net: Net, index: int) -> NetDevice:
    """EINVAL, ENETDOWN."""
    dev = net.devices.get(index)
    if dev is None:
        raise Refusal(EINVAL, "Invalid device index")
    if not dev.up:
        raise Refusal(ENETDOWN, "Nexthop device is not up")
    if not dev.carrier:
        raise Refusal(ENETDOWN, "Carrier for nexthop device is down")
    return dev


def _check_way(k: NetKernel, made: NexthopObject, way: Nexthop) -> None:
    """nh_create_ipv4(), nh_create_ipv6(): those of ways."""
    if made.fdb:
        return
    if made.family == AF_INET:
        way.make_tunnel()
        try:
            fib.check_nexthop(made.net, way, RT_TABLE_MAIN, RT_SCOPE_UNIVERSE)
        except KernelError:
            way.drop_tunnel()
            raise
    else:
        ip6_fib.check_way(made.net, Route(bytes(IN6_ADDR_SIZE), 0, 0, RTN_UNICAST), way)
    made.flags = way.flags


def _read_group(
    k: NetKernel, wire: Wire, request: Request, made: NexthopObject, given: dict[int, bytes]
) -> frozenset[str]:  # fmt: skip
    """nh_check_attr_group(), nexthop_create_group(): what is said of buckets.  EINVAL."""
    kind = wire.number(given.get(NHA_GROUP_TYPE), 2, NEXTHOP_GRP_TYPE_MPATH)
    if kind > NEXTHOP_GRP_TYPE_RES:
        raise Refusal(EINVAL, "Invalid group type")
    made.members = _members(wire, request, made, given[NHA_GROUP])
    allowed = {NHA_FDB, NHA_RES_GROUP} if kind == NEXTHOP_GRP_TYPE_RES else {NHA_FDB}
    if any(each > NHA_GROUP_TYPE and each not in allowed for each in given):
        raise Refusal(EINVAL, "No other attributes can be set in nexthop groups")
    return _read_buckets(k, wire, request, made, given) if kind == NEXTHOP_GRP_TYPE_RES else frozenset()


def _members(wire: Wire, request: Request, made: NexthopObject, raw: bytes) -> list[tuple[NexthopObject, int]]:
    """EINVAL."""
    if not raw or len(raw) % GROUP_ROW:
        raise Refusal(EINVAL, "Invalid length for nexthop group attribute")
    rows = [
        (number, low | high << 8, reserved)
        for number, low, high, reserved in struct.iter_unpack(wire.order + "IBBH", raw)
    ]
    later = Counter(number for number, *_ in rows)
    for number, weight, reserved in rows:
        if reserved:
            raise Refusal(EINVAL, "Reserved fields in nexthop_grp must be 0")
        if weight > MOST_WEIGHT:
            raise Refusal(EINVAL, "Invalid value for weight")
        later[number] -= 1
        if later[number]:
            raise Refusal(EINVAL, "Nexthop id can not be used twice in a group")
    found: list[tuple[NexthopObject, int]] = []
    for number, weight, *_ in rows:
        member = request.net.nexthops.get(number)
        if member is None:
            raise Refusal(EINVAL, "Invalid nexthop id")
        _check_member(made, member, len(rows), found)
        found.append((member, weight + 1))
    return found


def _check_member(
    made: NexthopObject, member: NexthopObject, many: int, before: list[tuple[NexthopObject, int]]
) -> None:  # fmt: skip
    """valid_group_nh(), nh_check_attr_fdb_group().  EINVAL."""
    if member.is_group:
        what = "Hash-threshold" if member.buckets is None else "Resilient"
        raise Refusal(EINVAL, f"{what} group can not be a nexthop within a group")
    if member.reject and many > 1:
        raise Refusal(EINVAL, "Blackhole nexthop can not be used in a group with more than 1 path")
    if made.fdb and not member.fdb:
        raise Refusal(EINVAL, "FDB nexthop group can only have fdb nexthops")
    if made.fdb and before and before[0][0].family != member.family:
        raise Refusal(EINVAL, "FDB nexthop group cannot have mixed family nexthops")
    if not made.fdb and member.fdb:
        raise Refusal(EINVAL, "Non FDB nexthop group cannot have fdb nexthops")


def _nested(k: NetKernel, wire: Wire, request: Request, kind: int, rules: policy.Policy, last: int) -> dict[int, bytes]:
    """nla_parse_nested() of an attribute of the message, empty where it has none.  EINVAL, ERANGE."""
    for found, value, at in wire.walk(request.body[NHMSG_SIZE:]):
        if found == kind:
            return policy.nested_strict(k, wire, value, rules, last, NLMSG_HDRLEN + NHMSG_SIZE + at + 4)
    return {}


def _read_buckets(
    k: NetKernel, wire: Wire, request: Request, made: NexthopObject, given: dict[int, bytes]
) -> frozenset[str]:  # fmt: skip
    """rtm_to_nh_config_grp_res(), nexthop_res_table_alloc().  EINVAL."""
    inner = _nested(k, wire, request, NHA_RES_GROUP, policy.NHA_RES, NHA_RES_GROUP_UNBALANCED_TIMER)
    count = wire.number(inner.get(NHA_RES_GROUP_BUCKETS), 2)
    if NHA_RES_GROUP_BUCKETS in inner and not count:
        raise Refusal(EINVAL, "Number of buckets needs to be non-0")
    names = {
        NHA_RES_GROUP_BUCKETS: "count",
        NHA_RES_GROUP_IDLE_TIMER: "idle",
        NHA_RES_GROUP_UNBALANCED_TIMER: "unbalanced",
    }
    idle, unbalanced = (
        wire.number(inner[kind]) * HZ // USER_HZ if kind in inner else default
        for kind, default in ((NHA_RES_GROUP_IDLE_TIMER, IDLE_TIMER), (NHA_RES_GROUP_UNBALANCED_TIMER, 0))
    )
    buckets = [Bucket(made.members[0][0]) for _ in range(count)]
    made.buckets = BucketTable(buckets, idle, unbalanced)
    return frozenset(names[kind] for kind in inner)


# -- asking and removing -----------------------------------------------------------------------------------------------


def _number(wire: Wire, request: Request, given: dict[int, bytes]) -> int:
    """__nh_valid_get_del_req().  EINVAL."""
    if any(request.body[1:NHMSG_SIZE]):
        raise Refusal(EINVAL, "Invalid values in header")
    if NHA_ID not in given:
        raise Refusal(EINVAL, "Nexthop id is missing")
    number = wire.number(given[NHA_ID])
    if not number:
        raise Refusal(EINVAL, "Invalid nexthop id")
    return number


def _find(k: NetKernel, wire: Wire, request: Request) -> NexthopObject:
    """EINVAL, ENOENT."""
    number = _number(wire, request, policy.parse_strict(k, wire, request.body, NHMSG_SIZE, policy.NHA_GET, NHA_ID))
    found = request.net.nexthops.get(number)
    if found is None:
        raise KernelError(ENOENT)
    return found


def _delete(k: NetKernel, wire: Wire, request: Request) -> None:
    """rtm_del_nexthop()."""
    nexthop.remove(k, _find(k, wire, request), request.flags)


def _get(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """rtm_get_nexthop()."""
    return [fill(k, wire, _find(k, wire, request))]


def _filtered(wire: Wire, request: Request, given: dict[int, bytes], nh: NexthopObject) -> bool:
    """nh_dump_filtered(): does the dump leave it out?"""
    dev, master, family = wire.number(given.get(NHA_OIF)), wire.number(given.get(NHA_MASTER)), request.body[0]
    if NHA_GROUPS in given and not nh.is_group:
        return True
    if not dev and not master and not family:
        return False
    if nh.is_group or (family and nh.family != family):
        return True
    own = nh.way.dev if nh.way is not None else None
    # a device with a master is not there
    return bool(master or (dev and (own is None or own.ifindex != dev)))


def _check_dump(wire: Wire, request: Request, given: dict[int, bytes]) -> None:
    """__nh_valid_dump_req().  EINVAL."""
    for kind, what in ((NHA_OIF, "device"), (NHA_MASTER, "master device")):
        if wire.number(given.get(kind)) > S32_MAX:
            raise Refusal(EINVAL, f"Invalid {what} index")
    if any(request.body[1:NHMSG_SIZE]):
        raise Refusal(EINVAL, "Invalid values in header for nexthop dump request")


def _dump(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """rtm_dump_nexthop()."""
    given = policy.parse_strict(k, wire, request.body, NHMSG_SIZE, policy.NHA_DUMP, NHA_FDB)
    _check_dump(wire, request, given)
    for _, nh in sorted(request.net.nexthops.items()):
        if not _filtered(wire, request, given, nh):
            yield fill(k, wire, nh)


# -- buckets -----------------------------------------------------------------------------------------------------------


def _resilient(request: Request, number: int) -> NexthopObject:
    """nexthop_find_group_resilient().  ENOENT, EINVAL."""
    found = request.net.nexthops.get(number)
    if found is None:
        raise KernelError(ENOENT)
    if not found.is_group:
        raise Refusal(EINVAL, "Not a nexthop group")
    if found.buckets is None:
        raise Refusal(EINVAL, "Nexthop group not of type resilient")
    return found


def _wanted(wire: Wire, raw: bytes | None) -> int:
    """nh_valid_dump_nhid(); 0: any.  EINVAL."""
    if raw is not None and not wire.number(raw):
        raise Refusal(EINVAL, "Invalid nexthop id")
    return wire.number(raw)


def _dump_buckets(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """rtm_dump_nexthop_bucket()."""
    given = policy.parse_strict(k, wire, request.body, NHMSG_SIZE, policy.NHA_DUMP_BUCKET, NHA_RES_BUCKET)
    number = _wanted(wire, given.get(NHA_ID))
    inner = _nested(k, wire, request, NHA_RES_BUCKET, policy.NHA_RES_DUMP, NHA_RES_BUCKET_NH_ID)
    member = _wanted(wire, inner.get(NHA_RES_BUCKET_NH_ID))
    _check_dump(wire, request, given)
    groups = [_resilient(request, number)] if number else [nh for _, nh in sorted(request.net.nexthops.items())]
    for nh in groups:
        for index, bucket in enumerate(nh.buckets.buckets if nh.buckets is not None else ()):
            if not _filtered(wire, request, given, bucket.member) and member in (0, bucket.member.id):
                yield fill_bucket(k, wire, nh, index)


def _get_bucket(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """rtm_get_nexthop_bucket()."""
    given = policy.parse_strict(k, wire, request.body, NHMSG_SIZE, policy.NHA_GET_BUCKET, NHA_RES_BUCKET)
    number = _number(wire, request, given)
    if NHA_RES_BUCKET not in given:
        raise Refusal(EINVAL, "Bucket information is missing")
    inner = _nested(k, wire, request, NHA_RES_BUCKET, policy.NHA_RES_GET, NHA_RES_BUCKET_INDEX)
    if NHA_RES_BUCKET_INDEX not in inner:
        raise Refusal(EINVAL, "Bucket index is missing")
    nh, index = _resilient(request, number), wire.number(inner[NHA_RES_BUCKET_INDEX], 2)
    assert nh.buckets is not None
    if index >= len(nh.buckets.buckets):
        raise Refusal(ENOENT, "Bucket index out of bounds")
    return [fill_bucket(k, wire, nh, index)]


register(RTM_NEWNEXTHOP, Row(RTM_NEWNEXTHOP, change=_new, since="5.3"))
register(RTM_DELNEXTHOP, Row(RTM_NEWNEXTHOP, change=_delete, since="5.3"))
register(RTM_GETNEXTHOP, Row(RTM_NEWNEXTHOP, dump=_dump, one=_get, since="5.3"))
register(RTM_GETNEXTHOPBUCKET, Row(RTM_NEWNEXTHOPBUCKET, dump=_dump_buckets, one=_get_bucket, since="5.13"))
