"""What routes may ask of objects for next hops, and the buckets of resilient groups.  net/ipv4/nexthop.c.

Their life is simkernel/net/nexthop.py's.
"""

from __future__ import annotations

from collections import Counter

from arch.abi.errno import EINVAL
from arch.abi.rtnetlink import RT_SCOPE_HOST, RT_SCOPE_LINK, RTNH_F_ONLINK
from arch.abi.socket import AF_INET
from arch.abi.time import HZ
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Bucket, BucketTable, Net, NexthopObject

UPKEEP_MINIMUM = HZ // 2  # NH_RES_UPKEEP_DW_MINIMUM_INTERVAL


def compatible(net: Net) -> bool:
    """net.ipv4.nexthop_compat_mode: routes show the ways of their objects, too."""
    return bool(net.sysctl["ipv4.nexthop_compat_mode"])


def check_nexthop(nh: NexthopObject, scope: int) -> None:
    """fib_check_nexthop(): may a route of IPv4 with this scope use it?  EINVAL."""
    if nh.fdb:
        raise Refusal(EINVAL, "Route cannot point to a fdb nexthop")
    if nh.is_group and scope == RT_SCOPE_HOST:
        raise Refusal(EINVAL, "Route with host scope can not have multiple nexthops")
    way = nh.singles[0].way
    assert way is not None
    if scope == RT_SCOPE_HOST and way.gateway is not None:
        raise Refusal(EINVAL, "Route with host scope can not have a gateway")
    if way.flags & RTNH_F_ONLINK and scope >= RT_SCOPE_LINK:
        raise Refusal(EINVAL, "Scope mismatch with nexthop")


def check_nexthop6(nh: NexthopObject) -> None:
    """fib6_check_nexthop(): may a route of IPv6 use it?  EINVAL."""
    if any(one.family == AF_INET for one in nh.singles):
        raise Refusal(EINVAL, "IPv6 routes can not use an IPv4 nexthop")
    if nh.fdb:
        raise Refusal(EINVAL, "Route cannot point to a fdb nexthop")


# -- buckets -----------------------------------------------------------------------------------------------------------


def rebalance(nh: NexthopObject, table: BucketTable, now: int) -> None:
    """nh_res_group_rebalance(): how many buckets each member should have, and who has too few."""
    count = Counter(bucket.member.id for bucket in table.buckets if bucket.occupied)
    total = sum(weight for _, weight in nh.members)
    table.wants, table.under = {}, []
    below = weights = 0
    for member, weight in nh.members:
        weights += weight
        upper = (len(table.buckets) * weights + total // 2) // total
        table.wants[member.id], below = upper - below, upper
        if count[member.id] < table.wants[member.id]:
            if not table.under:
                table.unbalanced_since = now
            table.under.insert(0, member)


def migrate_all(nh: NexthopObject, table: BucketTable) -> None:
    """nh_res_table_migrate_buckets(): those of who is no member any more are free."""
    members = {member.id for member, _ in nh.members}
    for bucket in table.buckets:
        bucket.occupied = bucket.member.id in members


def upkeep(table: BucketTable, now: int) -> tuple[list[int], int | None]:
    """nh_res_table_upkeep(): the buckets that have moved to another way, and when (in jiffies) to look again, if at all."""
    deadline = now + (table.unbalanced_timer or table.idle_timer)
    count = Counter(bucket.member.id for bucket in table.buckets if bucket.occupied)
    moved = []
    for index, bucket in enumerate(table.buckets):
        if bucket.occupied:
            if count[bucket.member.id] <= table.wants.get(bucket.member.id, 0):
                continue
            idle = now if bucket.used == bucket.migrated else bucket.used + table.idle_timer
            forced = table.unbalanced_since + table.unbalanced_timer if table.unbalanced_timer else None
            if now < idle and (forced is None or now <= forced):
                deadline = min(deadline, idle, forced if forced is not None else idle)
                continue
        if table.under:
            _migrate(table, bucket, count, now)
            moved.append(index)
    return moved, max(deadline, now + UPKEEP_MINIMUM) if table.under else None


def _migrate(table: BucketTable, bucket: Bucket, count: Counter[int], now: int) -> None:
    """nh_res_bucket_migrate()."""
    to = table.under[0]
    if bucket.occupied:
        count[bucket.member.id] -= 1
    bucket.member, bucket.occupied = to, True
    bucket.used = bucket.migrated = now
    count[to.id] += 1
    if count[to.id] == table.wants[to.id]:
        table.under.remove(to)
