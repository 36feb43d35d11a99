"""Frames on the way of XDP programs.  include/trace/events/xdp.h."""

from __future__ import annotations

from tracing.events.declare import BH, TraceEventDecl

_ACTION = (
    '__print_symbolic(REC->act, { 0, "ABORTED" }, { 1, "DROP" }, { 2, "PASS" }, { 3, "TX" }, { 4, "REDIRECT" }, '
    "{ -1, ((void *)0) })"
)
xdp_exception = TraceEventDecl(
    "xdp", "xdp_exception",
    held=(BH, 0),
    since="4.11",
    proto="const struct net_device *dev, const struct bpf_prog *xdp, u32 act",
    entry=(
        ("int prog_id", "xdp->aux->id"),
        ("u32 act", "act"),
        ("int ifindex", "dev->ifindex"),
    ),
    print=f'"prog_id=%d action=%s ifindex=%d", REC->prog_id, {_ACTION}, REC->ifindex',
)  # fmt: skip
xdp_redirect = TraceEventDecl(
    "xdp", "xdp_redirect",
    held=(BH, 0),
    since="5.9",
    proto=(
        "const struct net_device *dev, const struct bpf_prog *xdp, const void *tgt, int err, enum bpf_map_type map_type, "
        "u32 map_id, u32 index"
    ),
    entry=(
        ("int prog_id", "xdp->aux->id"),
        ("u32 act", "4"),
        ("int ifindex", "dev->ifindex"),
        ("int err", "err"),
        ("int to_ifindex", "xdp_to_ifindex(tgt, map_type, map_id, index)"),
        ("u32 map_id", "map_id"),
        ("int map_index", "xdp_map_index(map_type, map_id, index)"),
    ),
    print=(
        f'"prog_id=%d action=%s ifindex=%d to_ifindex=%d err=%d map_id=%d map_index=%d", REC->prog_id, {_ACTION}, '
        "REC->ifindex, REC->to_ifindex, REC->err, REC->map_id, REC->map_index"
    ),
)  # fmt: skip
xdp_redirect_err = TraceEventDecl(
    "xdp", "xdp_redirect_err",
    held=(BH, 0),
    since="5.9",
    proto=xdp_redirect.proto,
    entry=xdp_redirect.entry,
    print=xdp_redirect.print,
)  # fmt: skip
xdp_cpumap_kthread = TraceEventDecl(
    "xdp", "xdp_cpumap_kthread",
    held=(BH, 0),
    since="5.9",
    proto=(
        "int map_id, unsigned int processed, unsigned int drops, int sched, struct xdp_cpumap_stats *xdp_stats"
    ),
    entry=(
        ("int map_id", "map_id"),
        ("u32 act", "4"),
        ("int cpu", "smp_processor_id()"),
        ("unsigned int drops", "drops"),
        ("unsigned int processed", "processed"),
        ("int sched", "sched"),
        ("unsigned int xdp_pass", "xdp_stats->pass"),
        ("unsigned int xdp_drop", "xdp_stats->drop"),
        ("unsigned int xdp_redirect", "xdp_stats->redirect"),
    ),
    print=(
        f'"kthread cpu=%d map_id=%d action=%s processed=%u drops=%u sched=%d xdp_pass=%u xdp_drop=%u xdp_redirect=%u", '
        f"REC->cpu, REC->map_id, {_ACTION}, REC->processed, REC->drops, REC->sched, REC->xdp_pass, REC->xdp_drop, "
        "REC->xdp_redirect"
    ),
)  # fmt: skip
xdp_cpumap_enqueue = TraceEventDecl(
    "xdp", "xdp_cpumap_enqueue",
    held=(BH, 0),
    since="4.15",
    proto="int map_id, unsigned int processed, unsigned int drops, int to_cpu",
    entry=(
        ("int map_id", "map_id"),
        ("u32 act", "4"),
        ("int cpu", "smp_processor_id()"),
        ("unsigned int drops", "drops"),
        ("unsigned int processed", "processed"),
        ("int to_cpu", "to_cpu"),
    ),
    print=(
        f'"enqueue cpu=%d map_id=%d action=%s processed=%u drops=%u to_cpu=%d", REC->cpu, REC->map_id, {_ACTION}, '
        "REC->processed, REC->drops, REC->to_cpu"
    ),
)  # fmt: skip
