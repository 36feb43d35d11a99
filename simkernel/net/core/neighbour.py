"""Neighbours: which link-layer address an address has, and how long one may believe it.  net/core/neighbour.c.

One state machine for both families; how a question is asked is `Solicitor`'s (ipv4/arp.py, ipv6/ndisc.py).
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, EPERM
from arch.abi.inet import IFF_LOOPBACK, IFF_NOARP
from arch.abi.rtnetlink import (
    NTF_ROUTER,
    NUD_DELAY,
    NUD_FAILED,
    NUD_INCOMPLETE,
    NUD_NOARP,
    NUD_NONE,
    NUD_PERMANENT,
    NUD_PROBE,
    NUD_REACHABLE,
    NUD_STALE,
    RTN_BROADCAST,
    RTN_MULTICAST,
)
from arch.abi.socket import AF_INET, AF_INET6
from arch.abi.time import INITIAL_JIFFIES, NSEC_PER_SEC, TICK_NSEC
from arch.errors import KernelError
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.netns import Neighbour, NetDevice
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_NEIGH_FAILED, SKB_DROP_REASON_NEIGH_QUEUEFULL, drop
from simkernel.net.face import NetKernel

NUD_IN_TIMER = NUD_INCOMPLETE | NUD_REACHABLE | NUD_DELAY | NUD_PROBE
NUD_VALID = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY
NUD_CONNECTED = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE
UPDATE_OVERRIDE, UPDATE_WEAK_OVERRIDE, UPDATE_OVERRIDE_ISROUTER, UPDATE_ISROUTER, UPDATE_ADMIN = (
    0x1, 0x2, 0x4, 0x40000000, 0x80000000,
)  # fmt: skip
NS_PER_MS = 1_000_000


def family(key: bytes) -> int:
    """Of an address."""
    return AF_INET if len(key) == 4 else AF_INET6


def parameter(neighbour: Neighbour, name: str) -> int:
    """NEIGH_VAR()."""
    return neighbour.dev.neigh_conf["ipv4" if len(neighbour.key) == 4 else "ipv6"][name]


def _reachable_ns(neighbour: Neighbour) -> int:
    """neigh_rand_reach_time() of the device: between half and one and a half times the base."""
    conf = neighbour.dev.neigh_conf["ipv4" if len(neighbour.key) == 4 else "ipv6"]
    return conf.get("reachable_time_ms", conf["base_reachable_time_ms"]) * NS_PER_MS


def table(dev: NetDevice, key: bytes) -> dict[tuple[int, bytes], Neighbour]:
    """Of the device's namespace and the address's family."""
    return dev.net.inet(8 * len(key)).neighbours


def find(dev: NetDevice, key: bytes) -> Neighbour | None:
    """neigh_lookup()."""
    return table(dev, key).get((dev.ifindex, key))


def _table_struct(k: NetKernel, key: bytes) -> int:
    """arp_tbl or nd_tbl: the struct neigh_table of an address's family, made when the first address comes."""
    which = family(key)
    found = k.net.neighbour_tables.get(which)
    if found is None:
        view = k.new("struct neigh_table")
        view.family, view.key_len, view.entry_size = which, len(key), k.types.sizeof("struct neighbour") + len(key)
        found = k.net.neighbour_tables[which] = view.addr
    return found


def _count(k: NetKernel, key: bytes) -> int:
    """neigh_alloc(), neigh_destroy(), neigh_update_gc_list(): how many a table has, and how many may be thrown away."""
    address = _table_struct(k, key)
    view = k.view(address, "struct neigh_table")
    ours = [each for each in k.net.neighbours.values() if len(each.key) == len(key)]
    view.entries.counter = len(ours)
    view.gc_entries.counter = sum(not each.state & NUD_PERMANENT for each in ours)
    return address


def create(k: NetKernel, dev: NetDevice, key: bytes, exempt: bool = False) -> Neighbour:
    """__neigh_create(), arp_constructor(), ndisc_constructor()."""
    solicitor = k.net.solicitors[family(key)]
    kind = solicitor.kind(dev, key)
    size = k.types.sizeof("struct neighbour")
    view = k.view(k.mem.alloc(size + len(key)), "struct neighbour")
    made = Neighbour(view.addr, dev, key, NUD_NONE, kind=kind)
    if dev.flags & (IFF_NOARP | IFF_LOOPBACK):
        made.state, made.mac = NUD_NOARP, dev.mac
    elif kind == RTN_MULTICAST:
        made.state, made.mac = NUD_NOARP, solicitor.group_mac(key)
    elif kind == RTN_BROADCAST:
        made.state, made.mac = NUD_NOARP, dev.broadcast
    now = k.clock.now_ns
    made.updated_ns = made.used_ns = now
    made.confirmed_ns = (
        now - 2 * dev.neigh_conf["ipv4" if len(key) == 4 else "ipv6"]["base_reachable_time_ms"] * NS_PER_MS
    )
    made.timer = view.timer.addr
    k.mem.write(made.addr + k.types.offsetof("struct neighbour", "primary_key"), key)
    view.dev, view.tbl = dev.addr, _table_struct(k, key)
    table(dev, key)[dev.ifindex, key] = made
    k.net.neighbours[made.addr] = made
    k.timers.setup(made.timer, "neigh_timer_handler", made.addr)
    store(k, made)
    asked = made.addr + k.types.offsetof("struct neighbour", "primary_key")
    k.trace("neigh_create", _count(k, key), dev.addr, asked, made.addr, int(exempt))
    return made


def store(k: NetKernel, neighbour: Neighbour) -> None:
    """What programs read."""
    view = k.view(neighbour.addr, "struct neighbour")
    view.nud_state, view.type, view.flags, view.dead = neighbour.state, neighbour.kind, neighbour.flags, neighbour.dead
    view.protocol = neighbour.protocol
    view.confirmed = INITIAL_JIFFIES + neighbour.confirmed_ns // TICK_NSEC
    view.updated = INITIAL_JIFFIES + neighbour.updated_ns // TICK_NSEC
    view.used = INITIAL_JIFFIES + neighbour.used_ns // TICK_NSEC
    view.probes.counter = neighbour.probes
    view.refcnt.refs.counter = 1 + neighbour.refs + k.timers.by_address[neighbour.timer].pending
    k.mem.write(view.address_of("ha"), neighbour.mac)


def _tell(k: NetKernel, neighbour: Neighbour, name: str, *args: int, held: int = 1) -> None:
    """A tracepoint, to those who look: its caller has so many references."""
    if k.tracepoints.point(name).active:
        neighbour.refs += held
        store(k, neighbour)
        k.trace(name, neighbour.addr, *args)
        neighbour.refs -= held
        store(k, neighbour)


def _timer(k: NetKernel, neighbour: Neighbour, when_ns: int) -> None:
    """neigh_add_timer()."""
    k.timers.mod(neighbour.timer, when_ns)


def _retrans_ns(neighbour: Neighbour) -> int:
    return max(parameter(neighbour, "retrans_time_ms") * NS_PER_MS, 10 * NS_PER_MS)


def _notify(k: NetKernel, neighbour: Neighbour) -> None:
    """neigh_update_notify()."""
    store(k, neighbour)
    k.net.announce.neighbour(neighbour)


# -- sending -----------------------------------------------------------------------------------------------------------


def event_send(k: NetKernel, neighbour: Neighbour, packet: Skb | None) -> Steps[bool]:
    """neigh_event_send(): True: the packet may go; else it waits, or is gone (`yield from`)."""
    now = k.clock.now_ns
    neighbour.used_ns = now
    if neighbour.state & (NUD_CONNECTED | NUD_DELAY | NUD_PROBE):
        return True
    return not (yield k.call("__neigh_event_send", neighbour.addr, packet.addr if packet is not None else 0, 1))


@kernel_function(
    "int __neigh_event_send(struct neighbour *neigh, struct sk_buff *skb, const bool immediate_ok)",
    source="net/core/neighbour.c",
)
def __neigh_event_send(k: NetKernel, neigh: int, skb: int, immediate_ok: int) -> Body:
    """A packet for somebody whose address is not known, or doubtful: 1 if it waits or was dropped."""
    neighbour, packet, now = k.net.neighbours[neigh], k.net.skbs.get(skb), k.clock.now_ns
    ask = False
    if not neighbour.state & (NUD_STALE | NUD_INCOMPLETE):
        if parameter(neighbour, "mcast_solicit") + parameter(neighbour, "app_solicit"):
            neighbour.probes = parameter(neighbour, "ucast_solicit")
            neighbour.state, neighbour.updated_ns = NUD_INCOMPLETE, now
            _timer(k, neighbour, now + _retrans_ns(neighbour))
            ask = True
        else:
            neighbour.state, neighbour.updated_ns = NUD_FAILED, now
            if packet is not None:
                yield drop(k, packet, SKB_DROP_REASON_NEIGH_FAILED)
            return 1
    elif neighbour.state & NUD_STALE:
        neighbour.state, neighbour.updated_ns = NUD_DELAY, now
        _timer(k, neighbour, now + parameter(neighbour, "delay_first_probe_time") * NSEC_PER_SEC)
    waits = bool(neighbour.state & NUD_INCOMPLETE)
    if waits and packet is not None:
        room = parameter(neighbour, "unres_qlen_bytes")
        while neighbour.queue and sum(k.net.skbs[a].truesize for a in neighbour.queue) + packet.truesize > room:
            yield drop(k, k.net.skbs[neighbour.queue.popleft()], SKB_DROP_REASON_NEIGH_QUEUEFULL)
        neighbour.queue.append(packet.addr)
    store(k, neighbour)
    if ask and immediate_ok:
        yield from probe(k, neighbour)
    _tell(k, neighbour, "neigh_event_send_done", int(waits), held=0)
    return int(waits)


def probe(k: NetKernel, neighbour: Neighbour) -> Steps[None]:
    """neigh_probe()."""
    packet = k.net.skbs.get(neighbour.queue[-1]) if neighbour.queue else None
    yield from k.net.solicitors[family(neighbour.key)].solicit(neighbour, packet)
    neighbour.probes += 1


@kernel_function("void neigh_timer_handler(struct timer_list *t)", source="net/core/neighbour.c", since="4.15")
def neigh_timer_handler(k: NetKernel, t: int) -> Body:
    """What was believed is doubted, asked for again, or given up."""
    offset = k.types.offsetof("struct neighbour", "timer")
    return (yield from _expired(k, t - offset))


@kernel_function(
    "void neigh_timer_handler(unsigned long arg)", source="net/core/neighbour.c", until="4.15"
)  # fmt: skip
def neigh_timer_handler_data(k: NetKernel, arg: int) -> Body:
    """Before 4.15 a timer's function got its data."""
    return (yield from _expired(k, arg))


def _expired(k: NetKernel, address: int) -> Body:
    neighbour = k.net.neighbours.get(address)
    if neighbour is None or neighbour.dead or not neighbour.state & NUD_IN_TIMER:
        return 0
    now, state, tell = k.clock.now_ns, neighbour.state, False
    delay = parameter(neighbour, "delay_first_probe_time") * NSEC_PER_SEC
    when = now + _retrans_ns(neighbour)
    if state & NUD_REACHABLE:
        if now <= neighbour.confirmed_ns + _reachable_ns(neighbour):
            when = neighbour.confirmed_ns + _reachable_ns(neighbour)
        elif now <= neighbour.used_ns + delay:
            neighbour.state, neighbour.updated_ns, when = NUD_DELAY, now, now + delay
        else:
            neighbour.state, neighbour.updated_ns, tell = NUD_STALE, now, True
    elif state & NUD_DELAY:
        if now <= neighbour.confirmed_ns + delay:
            neighbour.state, neighbour.updated_ns, tell = NUD_REACHABLE, now, True
            when = neighbour.confirmed_ns + _reachable_ns(neighbour)
        else:
            neighbour.state, neighbour.updated_ns, neighbour.probes, tell = NUD_PROBE, now, 0, True
    if neighbour.state & (NUD_INCOMPLETE | NUD_PROBE) and neighbour.probes >= _max_probes(neighbour):
        neighbour.state, tell = NUD_FAILED, True
        yield from _invalidate(k, neighbour)
    if neighbour.state & NUD_IN_TIMER:
        _timer(k, neighbour, max(when, now + TICK_NSEC // 2))
    if neighbour.state & (NUD_INCOMPLETE | NUD_PROBE):
        yield from probe(k, neighbour)
    if tell:
        _notify(k, neighbour)
    _tell(k, neighbour, "neigh_timer_handler", 0)
    return 0


def _max_probes(neighbour: Neighbour) -> int:
    """neigh_max_probes()."""
    last = "mcast_resolicit" if neighbour.state & NUD_PROBE else "mcast_solicit"
    return sum(parameter(neighbour, name) for name in ("ucast_solicit", "app_solicit", last))


def _invalidate(k: NetKernel, neighbour: Neighbour) -> Steps[None]:
    """neigh_invalidate(): packets that waited are given back with an error."""
    neighbour.updated_ns = k.clock.now_ns
    while neighbour.state == NUD_FAILED and neighbour.queue:
        packet = k.net.skbs.get(neighbour.queue.popleft())
        if packet is not None:
            yield from k.net.solicitors[family(neighbour.key)].give_up(neighbour, packet)
            if k.net.skbs.get(packet.addr) is packet:
                yield drop(k, packet, SKB_DROP_REASON_NEIGH_FAILED)


# -- learning ----------------------------------------------------------------------------------------------------------


def update(k: NetKernel, neighbour: Neighbour, mac: bytes | None, new: int, flags: int, sender: int = 0) -> Steps[None]:
    """__neigh_update(): somebody said something of a neighbour (`yield from`).  EPERM, EINVAL."""
    if k.tracepoints.point("neigh_update").active:
        told = k.mem.alloc(len(mac)) if mac else 0
        if mac:
            k.mem.write(told, mac)
        _tell(k, neighbour, "neigh_update", told, new, flags, sender)
        if told:
            k.mem.free(told)
    old, now, tell = neighbour.state, k.clock.now_ns, False
    if not flags & UPDATE_ADMIN and old & (NUD_NOARP | NUD_PERMANENT):
        raise KernelError(EPERM)
    if neighbour.dead:
        raise KernelError(EINVAL)
    if flags & UPDATE_OVERRIDE_ISROUTER:
        router = NTF_ROUTER if flags & UPDATE_ISROUTER else 0
        tell = neighbour.flags & NTF_ROUTER != router
        neighbour.flags = neighbour.flags & ~NTF_ROUTER | router
    if not new & NUD_VALID:
        k.timers.delete(neighbour.timer)
        neighbour.state = new
        tell = tell or bool(old & NUD_VALID)
        if old & (NUD_INCOMPLETE | NUD_PROBE) and new & NUD_FAILED:
            yield from _invalidate(k, neighbour)
            tell = True
        _done(k, neighbour, tell)
        return
    if mac is None:
        if not old & NUD_VALID:
            raise KernelError(EINVAL, "no address")
        mac = neighbour.mac
    elif old & NUD_VALID and mac == neighbour.mac:
        mac = neighbour.mac
    if new & NUD_CONNECTED:
        neighbour.confirmed_ns = now
    weak = False
    if old & NUD_VALID:
        if mac != neighbour.mac and not flags & UPDATE_OVERRIDE:
            if not flags & UPDATE_WEAK_OVERRIDE or not old & NUD_CONNECTED:
                _done(k, neighbour, tell)
                return
            weak, mac, new = True, neighbour.mac, NUD_STALE
        elif mac == neighbour.mac and new == NUD_STALE and not flags & UPDATE_ADMIN:
            new = old
    if new != old or mac != neighbour.mac:
        neighbour.updated_ns = now
    if new != old:
        k.timers.delete(neighbour.timer)
        if new & NUD_PROBE:
            neighbour.probes = 0
        neighbour.state = new
        if new & NUD_IN_TIMER:
            _timer(k, neighbour, now + (_reachable_ns(neighbour) if new & NUD_REACHABLE else 0))
        tell = True
    if mac != neighbour.mac:
        neighbour.mac = mac
        if not new & NUD_CONNECTED:
            neighbour.confirmed_ns = now - 2 * parameter(neighbour, "base_reachable_time_ms") * NS_PER_MS
        tell = True
    _done(k, neighbour, tell or weak)
    if not old & NUD_VALID:
        while neighbour.state & NUD_VALID and neighbour.queue:
            packet = k.net.skbs.get(neighbour.queue.popleft())
            if packet is not None:
                yield k.call("neigh_resolve_output", neighbour.addr, packet.addr)


def _done(k: NetKernel, neighbour: Neighbour, tell: bool) -> None:
    store(k, neighbour)
    if tell:
        k.net.announce.neighbour(neighbour)
    _tell(k, neighbour, "neigh_update_done", 0)


def confirm(k: NetKernel, dev: NetDevice, key: bytes) -> None:
    """__ipv4_confirm_neigh(): what was sent there arrived."""
    found = find(dev, key)
    if found is not None:
        found.confirmed_ns = k.clock.now_ns


@kernel_function(
    "int neigh_resolve_output(struct neighbour *neigh, struct sk_buff *skb)", source="net/core/neighbour.c"
)
def neigh_resolve_output(k: NetKernel, neigh: int, skb: int) -> Body:
    """The slow path: ask for the address if need be, then the link header and the device."""
    neighbour, packet = k.net.neighbours[neigh], k.net.skbs[skb]
    if not (yield from event_send(k, neighbour, packet)):
        return 0
    packet.push_header(neighbour.mac, neighbour.dev.mac)
    return (yield k.call("__dev_queue_xmit", skb, 0))


# -- the end -----------------------------------------------------------------------------------------------------------


def forget(k: NetKernel, neighbour: Neighbour) -> None:
    """neigh_release() of the last: packets that wait for it are dropped without a word."""
    neighbour.dead = True
    table(neighbour.dev, neighbour.key).pop((neighbour.dev.ifindex, neighbour.key), None)
    k.net.neighbours.pop(neighbour.addr, None)
    k.timers.forget(neighbour.timer)
    for address in neighbour.queue:
        packet = k.net.skbs.pop(address, None)
        if packet is not None:
            k.mem.free(packet.get("head"))
            k.mem.free(packet.addr)
    k.trace("neigh_cleanup_and_release", neighbour.addr, 0)
    k.mem.free(neighbour.addr)


def delete(k: NetKernel, neighbour: Neighbour) -> None:
    """neigh_cleanup_and_release(): RTM_DELNEIGH."""
    neighbour.dead = True
    k.net.announce.neighbour(neighbour, gone=True)
    forget(k, neighbour)


def device_gone(k: NetKernel, dev: NetDevice, carrier_only: bool = False) -> None:
    """neigh_ifdown(), neigh_carrier_down(): all of a device but the permanent ones, or all."""
    for bits in (32, 128):
        for neighbour in list(dev.net.inet(bits).neighbours.values()):
            if neighbour.dev is dev and not (carrier_only and neighbour.state & NUD_PERMANENT):
                delete(k, neighbour)


def address_changed(k: NetKernel, dev: NetDevice) -> None:
    """neigh_changeaddr()."""
    device_gone(k, dev)
