"""Routing rules of both families: which table is asked for which packet.  net/core/fib_rules.c, net/ipv4/fib_rules.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EACCES, EAGAIN, EINVAL, ENETUNREACH
from arch.abi.rtnetlink import (
    FIB_RULE_INVERT,
    FR_ACT_BLACKHOLE,
    FR_ACT_GOTO,
    FR_ACT_NOP,
    FR_ACT_PROHIBIT,
    FR_ACT_TO_TBL,
    FR_ACT_UNREACHABLE,
    RT_TABLE_DEFAULT,
    RT_TABLE_LOCAL,
    RT_TABLE_MAIN,
    RTPROT_KERNEL,
)
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.net.core.lc_trie import Trie
from simkernel.net.core.netns import RULE_SIZE, Inet, Net, Nexthop, Route, RouteTable, Rule, in_prefix


@dataclass(frozen=True, slots=True)
class Flow:
    """struct flowi: what routing looks at."""

    destination: bytes
    source: bytes  # zeros: not chosen yet
    oif: int = 0
    iif: int = 0
    tos: int = 0
    mark: int = 0
    uid: int = 0
    protocol: int = 0
    sport: int = 0
    dport: int = 0
    scope: int = 0  # a route's has to be at least this


@dataclass(frozen=True, slots=True)
class Found:
    """struct fib_result."""

    route: Route
    nexthop: Nexthop | None  # None: a route that refuses
    table: RouteTable


TRIE_BITS = 32  # of IPv4's addresses, whose routes lie in a trie of which /proc tells
Search = Callable[[RouteTable, Flow], Found | None]


def default_rules(inet: Inet) -> None:
    """fib_default_rules_init(), fib6_rules_net_init()."""
    rows = [(0, RT_TABLE_LOCAL), (32766, RT_TABLE_MAIN)]
    if inet.bits == 32:
        rows.append((32767, RT_TABLE_DEFAULT))
    inet.charge(RULE_SIZE * len(rows))
    inet.rules = [Rule(priority, table, protocol=RTPROT_KERNEL) for priority, table in rows]


def table_of(inet: Inet, number: int) -> RouteTable:
    """fib_new_table()."""
    found = inet.tables.get(number)
    if found is None:
        shared = inet.bits == TRIE_BITS and number == RT_TABLE_LOCAL and not inet.custom_rules
        trie = table_of(inet, RT_TABLE_MAIN).trie if shared else Trie() if inet.bits == TRIE_BITS else None
        found = inet.tables[number] = RouteTable(number, inet.bits, inet.charge, trie)
        found.shared = shared
    return found


def unmerge(inet: Inet) -> None:
    """fib_unmerge(): from the first rule that somebody adds, the local table has a trie of its own."""
    local, main = inet.tables.get(RT_TABLE_LOCAL), inet.tables.get(RT_TABLE_MAIN)
    if local is None or main is None or not local.shared or local.trie is None:
        return
    local.shared = False
    places = [(int.from_bytes(route.dst, "big"), route.prefix) for route in local.routes()]
    local.trie, shared = Trie(), local.trie
    for place in places:
        local.trie.insert(*place)
    shared.flush(places)


def _index(net: Net, name: str) -> int:
    dev = net.named(name)
    return dev.ifindex if dev is not None else -1


def _matches(net: Net, rule: Rule, flow: Flow) -> bool:
    """fib_rule_match()."""
    ok = not (
        (rule.iif and _index(net, rule.iif) != flow.iif)
        or (rule.oif and _index(net, rule.oif) != flow.oif)
        or (rule.mark ^ flow.mark) & rule.mark_mask
        or (rule.uids is not None and not rule.uids[0] <= flow.uid <= rule.uids[1])
        or (rule.tos and rule.tos != flow.tos)
        or (rule.ip_proto and rule.ip_proto != flow.protocol)
        or (rule.sports is not None and not rule.sports[0] <= flow.sport <= rule.sports[1])
        or (rule.dports is not None and not rule.dports[0] <= flow.dport <= rule.dports[1])
        or rule.tun_id
        or rule.l3mdev
        or (rule.source is not None and not in_prefix(flow.source, *rule.source))
        or (rule.destination is not None and not in_prefix(flow.destination, *rule.destination))
    )
    return not ok if rule.flags & FIB_RULE_INVERT else ok


REFUSALS = {FR_ACT_UNREACHABLE: ENETUNREACH, FR_ACT_PROHIBIT: EACCES, FR_ACT_BLACKHOLE: EINVAL}


def _suppressed(rule: Rule, found: Found) -> bool:
    """fib4_rule_suppress()."""
    if found.nexthop is None or found.nexthop.dev is None:
        return False
    dev = found.nexthop.dev
    return found.route.prefix <= rule.suppress_prefix or (
        rule.suppress_group != -1 and dev.group == rule.suppress_group
    )


def lookup(net: Net, inet: Inet, flow: Flow, search: Search) -> Found:
    """fib_rules_lookup(): the first table with an answer.  ENETUNREACH, and what rules and routes say."""
    index = 0
    rules = inet.rules
    while index < len(rules):
        rule = rules[index]
        index += 1
        if not _matches(net, rule, flow) or rule.action == FR_ACT_NOP:
            continue
        if rule.action == FR_ACT_GOTO:
            index = next((i for i, r in enumerate(rules) if r.priority == rule.target), len(rules))
            continue
        if rule.action != FR_ACT_TO_TBL:
            raise KernelError(REFUSALS.get(rule.action, EINVAL), "a rule says so")
        table = inet.tables.get(rule.table)
        if table is None:
            continue
        try:
            found = search(table, flow)
        except KernelError as error:
            if error.errno != EAGAIN:  # RTN_THROW
                raise
            continue
        if found is not None and not _suppressed(rule, found):
            return found
    raise KernelError(ENETUNREACH, "no route")
