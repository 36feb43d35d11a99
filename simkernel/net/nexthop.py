"""Objects for next hops: how they come, are replaced and go, and what becomes of groups and routes then.  net/ipv4/nexthop.c."""

from __future__ import annotations

from arch.abi.errno import EEXIST, EINVAL, ENOENT
from arch.abi.inet import IFF_LOWER_UP, IFF_RUNNING
from arch.abi.netlink import NLM_F_CREATE, NLM_F_REPLACE
from arch.abi.time import TICK_NSEC
from arch.errors import KernelError
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import BucketTable, Event, Net, NetDevice, NexthopObject
from simkernel.net.core.nexthops import check_nexthop, check_nexthop6, compatible, migrate_all, rebalance, upkeep
from simkernel.net.core.registry import dev_get_flags
from simkernel.net.face import NetKernel
from simkernel.net.ipv4 import fib
from simkernel.net.ipv6 import ip6_fib

NH_MEMORY = 512  # bytes of memory, as the host's Python takes them
NH_BUCKET_MEMORY = 96
UPKEEP = "nh_res_table_upkeep_dw"


def now(k: NetKernel) -> int:
    """Jiffies since the machine's start."""
    return k.clock.now_ns // TICK_NSEC


def free_id(net: Net) -> int:
    """nh_find_unused_id()."""
    net.last_nexthop += 1
    while net.last_nexthop in net.nexthops:
        net.last_nexthop += 1
    return net.last_nexthop


def charge(nh: NexthopObject, sign: int) -> None:
    """Its memory.  ENOMEM."""
    size = NH_MEMORY * (1 + len(nh.members)) + NH_BUCKET_MEMORY * (len(nh.buckets.buckets) if nh.buckets else 0)
    nh.net.ipv4.charge(sign * size)


def insert(k: NetKernel, new: NexthopObject, flags: int, given: frozenset[str]) -> None:
    """insert_nexthop(): by the flags of the request; `given`: what it says of buckets.  EEXIST, ENOENT, EINVAL."""
    net, old = new.net, new.net.nexthops.get(new.id)
    if old is not None:
        if not flags & NLM_F_REPLACE:
            raise KernelError(EEXIST)
        _replace(k, old, new, given)
    else:
        if flags & NLM_F_REPLACE and not flags & NLM_F_CREATE:
            raise Refusal(ENOENT, "Replace specified without create and no entry exists")
        if new.buckets is not None and "count" not in given:
            raise Refusal(EINVAL, "Number of buckets not specified for nexthop group insertion")
        charge(new, 1)
        net.nexthops[new.id] = new
        for member, _ in new.members:
            member.groups.insert(0, new)
        if new.buckets is not None:
            rebalance(new, new.buckets, now(k))
            _upkeep(k, new, new.buckets, tell=False)
        new.sync()
    k.net.announce.nexthop(old or new, flags=flags)
    if old is not None and compatible(net):
        for changed in (old, *old.groups):
            _tell_routes(k, changed)


# -- replacing ---------------------------------------------------------------------------------------------------------


def _check_routes(nh: NexthopObject, new: NexthopObject) -> None:
    """fib_check_nh_list(), fib6_check_nh_list().  EINVAL."""
    for route in nh.routes:
        if len(route.dst) == 4:
            check_nexthop(new, route.scope)
    if any(len(route.dst) == 16 for route in nh.routes):
        check_nexthop6(new)


def _replace(k: NetKernel, old: NexthopObject, new: NexthopObject, given: frozenset[str]) -> None:
    """replace_nexthop().  EINVAL."""
    _check_routes(old, new)
    for group in old.groups:
        if new.reject and len(group.members) > 1:
            raise Refusal(EINVAL, "Blackhole nexthop can not be a member of a group with more than one path")
        _check_routes(group, new)
    if old.is_group:
        _replace_group(k, old, new, given)
    else:
        if new.is_group:
            raise Refusal(EINVAL, "Can not replace a nexthop with a nexthop group.")
        gone, old.way = old.way, new.way
        old.family, old.protocol, old.flags = new.family, new.protocol, new.flags
        old.reject, old.fdb = new.reject, new.fdb
        if gone is not None:
            gone.drop_tunnel()
    old.net.nexthops[old.id] = old.net.nexthops.pop(old.id)  # the newest of its device
    _changed(old)


def _replace_group(k: NetKernel, old: NexthopObject, new: NexthopObject, given: frozenset[str]) -> None:
    """replace_nexthop_grp().  EINVAL."""
    if not new.is_group:
        raise Refusal(EINVAL, "Can not replace a nexthop group with a nexthop.")
    if (new.buckets is None) != (old.buckets is None):
        raise Refusal(EINVAL, "Can not replace a nexthop group with one of a different type.")
    table = old.buckets
    if table is not None and new.buckets is not None:
        if "count" in given and len(new.buckets.buckets) != len(table.buckets):
            raise Refusal(EINVAL, "Can not change number of buckets of a resilient nexthop group.")
        if "idle" in given:
            table.idle_timer = new.buckets.idle_timer
        if "unbalanced" in given:
            table.unbalanced_timer = new.buckets.unbalanced_timer
    charge(new, 1)
    charge(old, -1)
    for member, _ in old.members:
        member.groups.remove(old)
    old.members = new.members
    for member, _ in old.members:
        member.groups.insert(0, old)
    _members_changed(k, old)


def _members_changed(k: NetKernel, group: NexthopObject) -> None:
    """replace_nexthop_grp_res()."""
    table = group.buckets
    if table is None:
        return
    since, under = table.unbalanced_since, bool(table.under)
    migrate_all(group, table)
    rebalance(group, table, now(k))
    if under and table.under:
        table.unbalanced_since = since
    _upkeep(k, group, table, tell=False)


def _changed(nh: NexthopObject) -> None:
    """nh_rt_cache_flush()."""
    nh.sync()
    nh.net.ipv4.changed()
    nh.net.ipv6.changed()


def _tell_routes(k: NetKernel, nh: NexthopObject) -> None:
    """__nexthop_replace_notify()."""
    rows = []
    for table in nh.net.ipv4.in_order():  # __fib_info_notify_update() goes through the trie from its end
        rows += sorted((r for r in table.routes() if r.nh is nh), key=lambda r: -int.from_bytes(r.dst, "big"))
    for route in rows + [route for route in nh.routes if len(route.dst) == 16]:
        k.net.announce.route(nh.net, route, flags=NLM_F_REPLACE)


# -- going -------------------------------------------------------------------------------------------------------------


def remove(k: NetKernel, nh: NexthopObject, flags: int | None = None) -> None:
    """remove_nexthop(); `flags`: of the request, of which is told; None: nobody is."""
    net = nh.net
    del net.nexthops[nh.id]
    if flags is not None:
        k.net.announce.nexthop(nh, gone=True, flags=flags)
    _remove_routes(k, nh)
    if nh.is_group:
        for member, _ in nh.members:
            member.groups.remove(nh)
        _forget_timer(k, nh)
    else:
        for group in list(nh.groups):
            _remove_member(k, group, nh, flags)
        if nh.way is not None:
            nh.way.drop_tunnel()
    charge(nh, -1)
    _changed(nh)


def _remove_routes(k: NetKernel, nh: NexthopObject) -> None:
    """__remove_nexthop_fib(): of IPv4 routes nobody is told."""
    if any(len(route.dst) == 4 for route in nh.routes):
        fib.flush(k, nh.net, lambda route: route.nh is nh)
    for route in list(nh.routes):
        ip6_fib.remove(k, nh.net, nh.net.ipv6.tables[route.table], route, not compatible(nh.net), mine=False)


def _remove_member(k: NetKernel, group: NexthopObject, nh: NexthopObject, flags: int | None) -> None:
    """remove_nh_grp_entry()."""
    if len(group.members) == 1:
        remove(k, group, flags)
        return
    charge(group, -1)
    group.members = [row for row in group.members if row[0] is not nh]
    charge(group, 1)
    nh.groups.remove(group)
    for member, _ in group.members:
        member.groups.remove(group)
        member.groups.insert(0, group)
    _members_changed(k, group)
    _changed(group)
    if flags is not None:
        k.net.announce.nexthop(group, flags=flags)


def netdev_event(k: NetKernel, dev: NetDevice, event: Event) -> None:
    """nh_netdev_event(): ways out of a device that is down go, and nobody is told."""
    down = event in (Event.DOWN, Event.UNREGISTER) or (
        event is Event.CHANGE and not dev_get_flags(dev) & (IFF_RUNNING | IFF_LOWER_UP)
    )
    if down:
        for nh in reversed(list(dev.net.nexthops.values())):
            leaves = nh.way is not None and nh.way.dev is dev and (event is Event.UNREGISTER or not nh.reject)
            if leaves and dev.net.nexthops.get(nh.id) is nh:
                remove(k, nh)


# -- resilient groups --------------------------------------------------------------------------------------------------


def _upkeep(k: NetKernel, nh: NexthopObject, table: BucketTable, tell: bool) -> None:
    """nh_res_table_upkeep()."""
    moved, deadline = upkeep(table, now(k))
    if tell:
        for index in moved:
            k.net.announce.bucket(nh, index)
    if deadline is None:
        _forget_timer(k, nh)
        return
    if not table.timer:
        table.timer = k.mem.alloc(k.types.sizeof("struct timer_list"))
        k.timers.setup(table.timer, UPKEEP, table.timer)
        k.net.resilient[table.timer] = nh
    k.timers.mod(table.timer, deadline * TICK_NSEC)


def _forget_timer(k: NetKernel, nh: NexthopObject) -> None:
    """nh_res_table_cancel_upkeep()."""
    table = nh.buckets
    if table is not None and table.timer:
        k.timers.forget(table.timer)
        k.mem.free(table.timer)
        del k.net.resilient[table.timer]
        table.timer = 0


@kernel_function("void nh_res_table_upkeep_dw(struct work_struct *work)", source="net/ipv4/nexthop.c", since="5.13")
def nh_res_table_upkeep_dw(k: NetKernel, work: int) -> Body:
    """Linux has it as delayed work, here it is the timer's own function."""
    yield from ()
    nh = k.net.resilient.get(work)
    if nh is not None and nh.buckets is not None:
        _upkeep(k, nh, nh.buckets, tell=True)
    return 0
