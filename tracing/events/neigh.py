"""Neighbours: link-layer addresses.  include/trace/events/neigh.h."""

from __future__ import annotations

from tracing.events.declare import NEVER, TraceEventDecl

_STATES = (
    '{ 0x01, "incomplete" }, { 0x02, "reachable" }, { 0x04, "stale" }, { 0x08, "delay" }, { 0x10, "probe" }, '
    '{ 0x20, "failed" }, { 0x40, "noarp" }, { 0x80, "permanent"}'
)
_KNOWN = (
    ("u32 family", "n->tbl->family"),
    ("__data_loc char[] dev", "n->dev->name"),
    ("u8 lladdr[32]", "neigh_lladdr(n)"),
    ("u8 lladdr_len", "n->dev->addr_len"),
    ("u8 flags", "n->flags"),
    ("u8 nud_state", "n->nud_state"),
    ("u8 type", "n->type"),
    ("u8 dead", "n->dead"),
    ("int refcnt", "n->refcnt.refs.counter"),
    ("__u8 primary_key4[4]", "neigh_key4(n)"),
    ("__u8 primary_key6[16]", "neigh_key6(n)"),
    ("unsigned long confirmed", "n->confirmed"),
    ("unsigned long updated", "n->updated"),
    ("unsigned long used", "n->used"),
)
_TEXT = (
    '"family %d dev %s lladdr %s flags %02x nud_state %s type %02x dead %d refcnt %d primary_key4 %pI4 primary_key6 %pI6c '
    'confirmed %lu updated %lu used %lu {more}", REC->family, __get_str(dev), __print_hex_str(REC->lladdr, REC->lladdr_len), '
    "REC->flags, __print_symbolic(REC->nud_state, {states}), REC->type, REC->dead, REC->refcnt, REC->primary_key4, "
    "REC->primary_key6, REC->confirmed, REC->updated, REC->used, "
).replace("{states}", _STATES)

neigh_create = TraceEventDecl(
    "neigh", "neigh_create",
    since="5.2",
    proto="struct neigh_table *tbl, struct net_device *dev, const void *pkey, const struct neighbour *n, bool exempt_from_gc",
    entry=(
        ("u32 family", "tbl->family"),
        ("__data_loc char[] dev", "dev->name"),
        ("int entries", "tbl->gc_entries.counter"),
        ("u8 created", "n != 0"),
        ("u8 gc_exempt", "exempt_from_gc"),
        ("u8 primary_key4[4]", "neigh_asked4(tbl, pkey)"),
        ("u8 primary_key6[16]", "neigh_asked6(tbl, pkey)"),
    ),
    print=(
        '"family %d dev %s entries %d primary_key4 %pI4 primary_key6 %pI6c created %d gc_exempt %d", REC->family, '
        "__get_str(dev), REC->entries, REC->primary_key4, REC->primary_key6, REC->created, REC->gc_exempt"
    ),
)  # fmt: skip
neigh_update = TraceEventDecl(
    "neigh", "neigh_update",
    since="5.1",
    proto="struct neighbour *n, const u8 *lladdr, u8 new, u32 flags, u32 nlmsg_pid",
    entry=(
        *_KNOWN,
        ("u8 new_lladdr[32]", "neigh_told(n, lladdr)"),
        ("u8 new_state", "new"),
        ("u32 update_flags", "flags"),
        ("u32 pid", "nlmsg_pid"),
    ),
    print=(
        _TEXT.replace("{more}", "new_lladdr %s new_state %s update_flags %02x pid %d")
        + f"__print_hex_str(REC->new_lladdr, REC->lladdr_len), __print_symbolic(REC->new_state, {_STATES}), "
        "REC->update_flags, REC->pid"
    ),
)  # fmt: skip
neigh_update_done = TraceEventDecl(
    "neigh", "neigh_update_done",
    since="5.1",
    proto="struct neighbour *n, int err",
    entry=(*_KNOWN, ("u32 err", "err")),
    print=_TEXT.replace("{more}", "err %d") + "REC->err",
)  # fmt: skip
neigh_timer_handler = neigh_update_done.like("neigh_timer_handler", since="5.1")
neigh_event_send_done = neigh_update_done.like("neigh_event_send_done", since="5.1")
neigh_event_send_dead = neigh_update_done.like("neigh_event_send_dead", since="5.1", missing=NEVER)
neigh_cleanup_and_release = neigh_update_done.like("neigh_cleanup_and_release", since="5.1")
