"""The kernel's own BTF: its types, its functions, and its tracepoints with their records.

What scripts/link-vmlinux.sh gets from pahole: beside the types of simkernel/include and the functions the kernel
declares, each tracepoint gives `typedef void (*btf_trace_NAME)(void *, ...)` and each event class
`struct trace_event_raw_CLASS` (include/trace/stages/).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arch.abi.version import KernelVersion
from arch.ctype import CType, CTypeError, FuncDecl
from arch.typetable import TypeTable
from bpf.btf.build import kernel_btf
from bpf.btf.codec import Btf
from tracing.events import declarations
from tracing.events.declare import TraceEventDecl

# Events declared by DEFINE_EVENT share the record of their class; the others are a class of their own.
EVENT_CLASSES = {
    "sched_waking": "sched_wakeup_template",
    "sched_wakeup": "sched_wakeup_template",
    "sched_wakeup_new": "sched_wakeup_template",
    "sched_process_free": "sched_process_template",
    "sched_process_exit": "sched_process_template",
    "sched_wait_task": "sched_process_template",
    "sched_stat_wait": "sched_stat_template",
    "sched_stat_sleep": "sched_stat_template",
    "sched_stat_iowait": "sched_stat_template",
    "sched_stat_blocked": "sched_stat_template",
    "softirq_entry": "softirq",
    "softirq_exit": "softirq",
    "softirq_raise": "softirq",
    "tasklet_entry": "tasklet",
    "tasklet_exit": "tasklet",
    "timer_init": "timer_class",
    "timer_expire_exit": "timer_class",
    "timer_cancel": "timer_class",
    "hrtimer_expire_exit": "hrtimer_class",
    "hrtimer_cancel": "hrtimer_class",
    "block_touch_buffer": "block_buffer",
    "block_dirty_buffer": "block_buffer",
    "block_rq_complete": "block_rq_completion",
    "block_rq_error": "block_rq_completion",
    "block_rq_insert": "block_rq",
    "block_rq_issue": "block_rq",
    "block_rq_merge": "block_rq",
    "block_bio_bounce": "block_bio",
    "block_bio_backmerge": "block_bio",
    "block_bio_frontmerge": "block_bio",
    "block_bio_queue": "block_bio",
    "block_getrq": "block_bio",
    "net_dev_queue": "net_dev_template",
    "netif_receive_skb": "net_dev_template",
    "netif_rx": "net_dev_template",
    "napi_gro_receive_entry": "net_dev_rx_verbose_template",
    "netif_receive_skb_entry": "net_dev_rx_verbose_template",
    "netif_rx_entry": "net_dev_rx_verbose_template",
    "napi_gro_receive_exit": "net_dev_rx_exit_template",
    "netif_receive_skb_exit": "net_dev_rx_exit_template",
    "netif_rx_exit": "net_dev_rx_exit_template",
    "tcp_retransmit_skb": "tcp_event_sk_skb",
    "tcp_send_reset": "tcp_event_sk_skb",
    "tcp_receive_reset": "tcp_event_sk",
    "tcp_destroy_sock": "tcp_event_sk",
    "tcp_rcv_space_adjust": "tcp_event_sk",
    "cpu_frequency": "cpu",
    "cpu_idle": "cpu",
    "page_fault_user": "x86_exceptions",
    "cgroup_setup_root": "cgroup_root",
    "cgroup_destroy_root": "cgroup_root",
    "cgroup_remount": "cgroup_root",
    "mm_page_alloc_zone_locked": "mm_page",
    "mm_vmscan_direct_reclaim_begin": "mm_vmscan_direct_reclaim_begin_template",
    "mm_vmscan_memcg_reclaim_begin": "mm_vmscan_direct_reclaim_begin_template",
    "mm_vmscan_memcg_softlimit_reclaim_begin": "mm_vmscan_direct_reclaim_begin_template",
    "mm_vmscan_direct_reclaim_end": "mm_vmscan_direct_reclaim_end_template",
    "mm_vmscan_memcg_reclaim_end": "mm_vmscan_direct_reclaim_end_template",
    "mm_vmscan_memcg_softlimit_reclaim_end": "mm_vmscan_direct_reclaim_end_template",
    "mm_vmscan_node_reclaim_end": "mm_vmscan_direct_reclaim_end_template",
    "napi_gro_frags_entry": "net_dev_rx_verbose_template",
    "netif_receive_skb_list_entry": "net_dev_rx_verbose_template",
    "napi_gro_frags_exit": "net_dev_rx_exit_template",
    "netif_receive_skb_list_exit": "net_dev_rx_exit_template",
    "sb_clear_inode_writeback": "writeback_inode_template",
    "sb_mark_inode_writeback": "writeback_inode_template",
    "writeback_dirty_inode_enqueue": "writeback_inode_template",
    "writeback_lazytime": "writeback_inode_template",
    "writeback_lazytime_iput": "writeback_inode_template",
    "page_fault_kernel": "x86_exceptions",
}
# Before 5.18 the completion events were on their own (block_rq_error made a class of them).
_OLD_CLASSES = {"block_rq_complete": ("5.18", "block_rq_complete")}


def event_class(name: str, version: KernelVersion) -> str:
    if name in _OLD_CLASSES:
        until, old = _OLD_CLASSES[name]
        if version.before(until):
            return old
    return EVENT_CLASSES.get(name, name)


def record_text(decl: TraceEventDecl, name: str) -> str:
    """`struct trace_event_raw_NAME` as C."""
    rows = []
    for declaration, _ in decl.entry:
        if declaration.startswith("__data_loc"):
            rows.append(f"\tu32 __data_loc_{declaration.split()[-1]};")
        elif declaration.startswith("__rel_loc"):
            rows.append(f"\tu32 __rel_loc_{declaration.split()[-1]};")
        else:
            rows.append(f"\t{declaration};")
    return (
        f"struct trace_event_raw_{name} {{\n\tstruct trace_entry ent;\n" + "\n".join(rows) + "\n\tchar __data[];\n};\n"
    )


def add_events(table: TypeTable, events: Mapping[str, TraceEventDecl]) -> None:
    """Give the table the records of all event classes."""
    done: set[str] = set()
    for name, decl in events.items():
        record = event_class(name, table.version)
        if record not in done:
            done.add(record)
            table.parse(record_text(decl, record), f"<event {name}>")


def vmlinux(
    table: TypeTable,
    functions: Iterable[FuncDecl] = (),
    events: Mapping[str, TraceEventDecl] | None = None,
    percpu: Mapping[str, tuple[CType, int]] | None = None,
) -> Btf:
    """The BTF of the kernel whose types these are; `functions` are what it declares beyond the headers."""
    events = declarations(table.version) if events is None else events
    add_events(table, events)
    tracepoints: dict[str, tuple[tuple[str, CType], ...]] = {}
    for name, decl in events.items():
        try:
            tracepoints[name] = table.prototype(f"void fire({decl.proto or 'void'})").params
        except CTypeError as error:
            raise CTypeError(f"tracepoint {name}: {error}") from None
    return kernel_btf(table, functions, tracepoints, percpu)
