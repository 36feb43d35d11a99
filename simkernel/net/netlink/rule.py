"""Routing rules over NETLINK_ROUTE.  net/core/fib_rules.c."""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.errno import EAFNOSUPPORT, EEXIST, EINVAL, ENOENT, EPERM
from arch.abi.netlink import NLM_F_EXCL
from arch.abi.rtnetlink import (
    FIB_RULE_INVERT,
    FIB_RULE_PERMANENT,
    FIB_RULE_UNRESOLVED,
    FR_ACT_GOTO,
    FR_ACT_TO_TBL,
    FRA_DPORT_RANGE,
    FRA_DST,
    FRA_FLOW,
    FRA_FWMARK,
    FRA_FWMASK,
    FRA_GOTO,
    FRA_IIFNAME,
    FRA_IP_PROTO,
    FRA_L3MDEV,
    FRA_OIFNAME,
    FRA_PRIORITY,
    FRA_PROTOCOL,
    FRA_SPORT_RANGE,
    FRA_SRC,
    FRA_SUPPRESS_IFGROUP,
    FRA_SUPPRESS_PREFIXLEN,
    FRA_TABLE,
    FRA_TUN_ID,
    FRA_UID_RANGE,
    RT_TABLE_COMPAT,
    RT_TABLE_UNSPEC,
    RTM_DELRULE,
    RTM_GETRULE,
    RTM_NEWRULE,
    RTPROT_UNSPEC,
)
from arch.abi.socket import AF_INET, AF_INET6, AF_UNSPEC
from arch.errors import KernelError
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import RULE_SIZE, Inet, Rule
from simkernel.net.core.rules import table_of, unmerge
from simkernel.net.face import NetKernel
from simkernel.net.netlink import policy, strict
from simkernel.net.netlink.message import Request, Wire, string
from simkernel.net.netlink.rtnetlink import Row, register

FIB_RULE_HDR_SIZE = 12  # struct fib_rule_hdr
BITS = {AF_INET: 32, AF_INET6: 128}
U32_NONE = 0xFFFFFFFF


def fill(wire: Wire, family: int, rule: Rule) -> bytes:
    """fib_nl_fill_rule()."""
    table = rule.table if rule.table < 256 else RT_TABLE_COMPAT
    lengths = (rule.destination[1] if rule.destination else 0, rule.source[1] if rule.source else 0)
    out = wire.pack("8BI", family, *lengths, rule.tos, table, 0, 0, rule.action, rule.flags)
    out += wire.u32(FRA_TABLE, rule.table) + wire.u32(FRA_SUPPRESS_PREFIXLEN, rule.suppress_prefix)
    out += wire.u8(FRA_PROTOCOL, rule.protocol)
    out += wire.text(FRA_IIFNAME, rule.iif) if rule.iif else b""
    out += wire.text(FRA_OIFNAME, rule.oif) if rule.oif else b""
    out += wire.u32(FRA_PRIORITY, rule.priority) if rule.priority else b""
    out += wire.u32(FRA_FWMARK, rule.mark) if rule.mark else b""
    out += wire.u32(FRA_FWMASK, rule.mark_mask) if rule.mark_mask or rule.mark else b""
    out += wire.u32(FRA_GOTO, rule.target) if rule.target else b""
    out += wire.u64(FRA_TUN_ID, rule.tun_id) if rule.tun_id else b""
    out += wire.u8(FRA_L3MDEV, 1) if rule.l3mdev else b""
    out += wire.attribute(FRA_UID_RANGE, wire.pack("II", *rule.uids)) if rule.uids is not None else b""
    out += wire.attribute(FRA_SPORT_RANGE, wire.pack("HH", *rule.sports)) if rule.sports is not None else b""
    out += wire.attribute(FRA_DPORT_RANGE, wire.pack("HH", *rule.dports)) if rule.dports is not None else b""
    out += wire.u8(FRA_IP_PROTO, rule.ip_proto) if rule.ip_proto else b""
    out += wire.u32(FRA_SUPPRESS_IFGROUP, rule.suppress_group) if rule.suppress_group != -1 else b""
    out += wire.attribute(FRA_DST, rule.destination[0]) if rule.destination else b""
    out += wire.attribute(FRA_SRC, rule.source[0]) if rule.source else b""
    return out + (wire.u32(FRA_FLOW, rule.flow) if rule.flow else b"")


def _dump(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """fib_nl_dumprule()."""
    wanted = request.body[0]
    if wanted not in (AF_UNSPEC, *BITS):
        raise KernelError(EAFNOSUPPORT)
    strict.RULE_DUMP.check(wire, request)
    for family, bits in BITS.items():
        if wanted in (AF_UNSPEC, family):
            for rule in request.net.inet(bits).rules:
                yield fill(wire, family, rule)


def _inet(request: Request) -> tuple[int, Inet]:
    """EINVAL, EAFNOSUPPORT."""
    if len(request.body) < FIB_RULE_HDR_SIZE:
        raise Refusal(EINVAL, "Invalid msg length")
    family = request.body[0]
    if family not in BITS:
        raise Refusal(EAFNOSUPPORT, "Rule family not supported")
    return family, request.net.inet(BITS[family])


def _attributes(k: NetKernel, wire: Wire, request: Request) -> dict[int, bytes]:
    """EINVAL, ERANGE."""
    try:
        return policy.parse(k, wire, request.body, FIB_RULE_HDR_SIZE, policy.FRA)
    except Refusal as refusal:
        refusal.text = "Error parsing msg"
        raise


def _prefix(given: dict[int, bytes], kind: int, length: int, bits: int) -> tuple[bytes, int] | None:
    """EINVAL."""
    if not length:
        return None
    raw = given.get(kind)
    if raw is None or length > bits or len(raw) != bits // 8:
        raise Refusal(EINVAL, "Invalid " + ("source" if kind == FRA_SRC else "dst") + " address")
    return raw, length


def _range(wire: Wire, raw: bytes | None, size: int, what: str) -> tuple[int, int] | None:
    """EINVAL."""
    if raw is None:
        return None
    low, high = wire.number(raw[:size], size), wire.number(raw[size : 2 * size], size)
    if low > high or (size == 2 and (not low or high == 0xFFFF)):
        raise Refusal(EINVAL, f"Invalid {what} range")
    return low, high


def _read(wire: Wire, request: Request, given: dict[int, bytes], bits: int) -> Rule:
    """fib_nl2rule()."""
    body = request.body
    rule = Rule(wire.number(given.get(FRA_PRIORITY), default=-1), action=body[7])
    rule.flags = wire.number(body[8:12]) & ~(FIB_RULE_UNRESOLVED | FIB_RULE_PERMANENT) & 0xFFFFFFFF
    rule.table = wire.number(given.get(FRA_TABLE), default=body[4])
    rule.destination = _prefix(given, FRA_DST, body[1], bits)
    rule.source = _prefix(given, FRA_SRC, body[2], bits)
    rule.tos = body[3]
    if bits == 32 and rule.tos & ~0x1C:
        raise Refusal(EINVAL, "Invalid dsfield (tos): ECN bits must be 0" if rule.tos & 3 else "Invalid tos")
    rule.mark = wire.number(given.get(FRA_FWMARK))
    rule.mark_mask = wire.number(given.get(FRA_FWMASK), default=U32_NONE if rule.mark else 0)
    rule.iif, rule.oif = string(given.get(FRA_IIFNAME)), string(given.get(FRA_OIFNAME))
    rule.target = wire.number(given.get(FRA_GOTO))
    rule.protocol = wire.number(given.get(FRA_PROTOCOL), 1, RTPROT_UNSPEC)
    rule.ip_proto = wire.number(given.get(FRA_IP_PROTO), 1)
    rule.uids = _range(wire, given.get(FRA_UID_RANGE), 4, "uid")
    rule.sports = _range(wire, given.get(FRA_SPORT_RANGE), 2, "sport")
    rule.dports = _range(wire, given.get(FRA_DPORT_RANGE), 2, "dport")
    rule.suppress_prefix = _signed(wire.number(given.get(FRA_SUPPRESS_PREFIXLEN), default=U32_NONE))
    rule.suppress_group = _signed(wire.number(given.get(FRA_SUPPRESS_IFGROUP), default=U32_NONE))
    rule.tun_id = int.from_bytes(given.get(FRA_TUN_ID, b""), "big")
    rule.flow = wire.number(given.get(FRA_FLOW)) if bits == BITS[AF_INET] else 0
    if FRA_L3MDEV in given:
        rule.l3mdev = wire.number(given[FRA_L3MDEV], 1) == 1
        if not rule.l3mdev:
            raise Refusal(EINVAL, "Invalid l3mdev attribute")
        if rule.table:
            raise Refusal(EINVAL, "l3mdev and table are mutually exclusive")
    if FRA_GOTO in given and rule.action != FR_ACT_GOTO:
        raise Refusal(EINVAL, "Unexpected goto")
    return rule


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def _default_priority(inet: Inet) -> int:
    """fib_default_rule_pref(): one before the second that is there."""
    if len(inet.rules) > 1 and inet.rules[1].priority:
        return inet.rules[1].priority - 1
    return 0


def _values(rule: Rule) -> list[object]:
    return [
        rule.priority, rule.table, rule.action, rule.source, rule.destination, rule.tos, rule.mark, rule.mark_mask, rule.iif,
        rule.oif, rule.target, rule.ip_proto, rule.uids, rule.sports, rule.dports, rule.suppress_prefix, rule.suppress_group,
        rule.tun_id, rule.l3mdev, rule.flow, rule.flags & FIB_RULE_INVERT,
    ]  # fmt: skip


def _new(k: NetKernel, wire: Wire, request: Request) -> None:
    """fib_nl_newrule().  EEXIST, EINVAL."""
    family, inet = _inet(request)
    given = _attributes(k, wire, request)
    rule = _read(wire, request, given, inet.bits)
    if rule.priority < 0:
        rule.priority = _default_priority(inet)
    if rule.action == FR_ACT_GOTO:
        if not rule.target:
            raise Refusal(
                EINVAL,
                "Goto target not specified" if k.version.at_least("6.13") else "Missing goto target for action goto",
            )
        if rule.target <= rule.priority:
            raise Refusal(EINVAL, "Backward goto not supported")
        if not any(r.priority == rule.target for r in inet.rules):
            rule.flags |= FIB_RULE_UNRESOLVED
    if request.flags & NLM_F_EXCL and any(_values(r) == _values(rule) for r in inet.rules):
        raise KernelError(EEXIST)
    if rule.action == FR_ACT_TO_TBL:
        if rule.table == RT_TABLE_UNSPEC and not rule.l3mdev:
            if family == AF_INET6:
                raise Refusal(EINVAL, "Invalid table")
            rule.table = _free_table(inet)
        table_of(inet, rule.table)
    unmerge(inet)
    at = next((i for i, r in enumerate(inet.rules) if r.priority > rule.priority), len(inet.rules))
    inet.charge(RULE_SIZE)
    inet.rules.insert(at, rule)
    _resolve(inet)
    inet.custom_rules = True
    inet.changed()
    k.net.announce.rule(request.net, family, rule)


def _free_table(inet: Inet) -> int:
    """fib_empty_table()."""
    return next(n for n in range(1, 256) if n not in inet.tables)


def _resolve(inet: Inet) -> None:
    """Goto rules know where they lead."""
    known = {r.priority for r in inet.rules}
    for rule in inet.rules:
        if rule.action == FR_ACT_GOTO:
            rule.flags = rule.flags & ~FIB_RULE_UNRESOLVED | (0 if rule.target in known else FIB_RULE_UNRESOLVED)


def _delete(k: NetKernel, wire: Wire, request: Request) -> None:
    """fib_nl_delrule(): the first that is as it is said.  ENOENT, EPERM."""
    family, inet = _inet(request)
    given = _attributes(k, wire, request)
    rule = _read(wire, request, given, inet.bits)
    action = request.body[7]
    for found in inet.rules:
        if _meant(found, rule, given, action):
            if found.flags & FIB_RULE_PERMANENT:
                raise KernelError(EPERM)
            inet.rules.remove(found)
            inet.charge(-RULE_SIZE)
            _resolve(inet)
            inet.changed()
            k.net.announce.rule(request.net, family, found, gone=True)
            return
    raise KernelError(ENOENT)


def _meant(found: Rule, rule: Rule, given: dict[int, bytes], action: int) -> bool:
    """rule_find(), fib4_rule_compare(): what is not said may be anything."""
    return not (
        (rule.priority >= 0 and found.priority != rule.priority)
        or (action and found.action != action)
        or (rule.table and found.table != rule.table)
        or (FRA_PROTOCOL in given and rule.protocol and found.protocol != rule.protocol)
        or (rule.iif and found.iif != rule.iif)
        or (rule.oif and found.oif != rule.oif)
        or (rule.mark and found.mark != rule.mark)
        or (rule.mark_mask and found.mark_mask != rule.mark_mask)
        or (rule.source is not None and found.source != rule.source)
        or (rule.destination is not None and found.destination != rule.destination)
        or (rule.tos and found.tos != rule.tos)
        or (rule.uids is not None and found.uids != rule.uids)
        or (rule.ip_proto and found.ip_proto != rule.ip_proto)
        or (rule.sports is not None and found.sports != rule.sports)
        or (rule.dports is not None and found.dports != rule.dports)
        or (rule.tun_id and found.tun_id != rule.tun_id)
        or (rule.flow and found.flow != rule.flow)
        or (rule.l3mdev and not found.l3mdev)
        or (FRA_SUPPRESS_PREFIXLEN in given and found.suppress_prefix != rule.suppress_prefix)
        or (FRA_SUPPRESS_IFGROUP in given and found.suppress_group != rule.suppress_group)
        or rule.flags & FIB_RULE_INVERT != found.flags & FIB_RULE_INVERT
    )


register(RTM_GETRULE, Row(RTM_NEWRULE, dump=_dump))
register(RTM_NEWRULE, Row(RTM_NEWRULE, change=_new))
register(RTM_DELRULE, Row(RTM_NEWRULE, change=_delete))
