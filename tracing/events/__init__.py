"""The tracepoints the kernel declares, group by group.  include/trace/events/.

One module per kernel header (small ones share); each holds the rows of 6.1, whose `format` files are compared with the
real ones.  `older` holds the rows of earlier versions and SINCE says when an event appeared.
"""

from __future__ import annotations

from arch.abi.version import KernelVersion
from tracing.events import block, inet, irq, kmem, net, raw_syscalls, sched, signal, task, timer, unreached
from tracing.events.declare import TraceEventDecl
from tracing.events.older import OLDER
from tracing.face import TRACE_FLAG_BH_OFF, TRACE_FLAG_IRQS_OFF

NEWEST: tuple[TraceEventDecl, ...] = (
    *raw_syscalls.EVENTS, *irq.EVENTS, *task.EVENTS, *sched.EVENTS, *signal.EVENTS, *timer.EVENTS, *kmem.EVENTS,
    *block.EVENTS, *net.EVENTS, *inet.EVENTS, *unreached.EVENTS,
)  # fmt: skip

# First kernel that has the event; those not named are older than 4.1.
SINCE: dict[str, str] = {
    "sched_waking": "4.3",
    "block_rq_merge": "5.11",
    "block_rq_error": "5.18",
    "net_dev_start_xmit": "3.18",
    "inet_sock_set_state": "4.16",
    "sock_rcvqueue_full": "3.0",
    "tcp_retransmit_skb": "4.15",
    "tcp_send_reset": "4.15",
    "tcp_receive_reset": "4.15",
    "tcp_destroy_sock": "4.15",
    "tcp_rcv_space_adjust": "4.18",
    "tcp_probe": "4.16",
    "napi_gro_receive_exit": "5.0",
    "netif_receive_skb_exit": "5.0",
    "netif_rx_exit": "5.0",
    "tasklet_entry": "6.1",  # with the backports of its stable branch
    "tasklet_exit": "6.1",
    "suspend_resume": "3.16",
    "napi_gro_frags_exit": "5.0",
    "netif_receive_skb_list_entry": "4.19",
    "netif_receive_skb_list_exit": "5.0",
    "inet_sk_error_report": "5.15",
    "tcp_cong_state_set": "5.19",
    "sb_clear_inode_writeback": "4.8",
    "sb_mark_inode_writeback": "4.8",
    "finish_task_reaping": "4.14",
    "skip_task_reaping": "4.14",
    "start_task_reaping": "4.14",
    "wake_reaper": "4.14",
    "xdp_exception": "4.11",
    "mm_vmscan_node_reclaim_begin": "5.2",
    "mm_vmscan_node_reclaim_end": "5.2",
    "cgroup_destroy_root": "4.12",
    "cgroup_remount": "4.12",
    "cgroup_setup_root": "4.12",
}


# What the callers of a tracepoint hold in the real kernel, which the latency columns show: (trace flags, preempt depth).
# Recorded from 6.1 in process context; interrupt context comes from where the machine is.
IRQS, BH = TRACE_FLAG_IRQS_OFF, TRACE_FLAG_BH_OFF
HELD: dict[str, tuple[int, int]] = {
    "sched_switch": (IRQS, 2),  # rq lock, and __schedule's own
    "sched_waking": (IRQS, 2),  # wait queue lock, pi_lock
    "sched_wakeup": (IRQS, 3),  # and rq lock
    "sched_wakeup_new": (IRQS, 2),
    "sched_migrate_task": (IRQS, 2),
    "sched_stat_runtime": (IRQS, 2),
    "signal_generate": (IRQS, 1),  # siglock
    "signal_deliver": (IRQS, 1),
    "task_rename": (0, 1),
    "page_fault_user": (IRQS, 0),
    "page_fault_kernel": (IRQS, 0),
    "console": (IRQS, 0),
    "cpu_idle": (IRQS, 1),
    "tick_stop": (IRQS, 1),
    "irq_handler_entry": (IRQS, 1),
    "irq_handler_exit": (IRQS, 1),
    "softirq_raise": (IRQS, 0),
    "hrtimer_start": (IRQS, 2),
    "hrtimer_cancel": (IRQS, 1),
    "hrtimer_expire_entry": (IRQS, 1),
    "hrtimer_expire_exit": (IRQS, 1),
    "itimer_state": (IRQS, 1),
    "itimer_expire": (IRQS, 1),
    "timer_start": (IRQS, 1),
    "timer_cancel": (IRQS, 1),
    "workqueue_queue_work": (IRQS, 1),
    "workqueue_activate_work": (IRQS, 1),
    "net_dev_queue": (BH, 0),
    "net_dev_start_xmit": (BH, 0),
    "net_dev_xmit": (BH, 0),
    "netif_rx": (BH, 0),
    "netif_rx_entry": (BH, 0),
    "netif_rx_exit": (BH, 0),
    "tcp_destroy_sock": (BH, 1),
}


def declarations(version: KernelVersion) -> dict[str, TraceEventDecl]:
    """The row of each event that a kernel of this version has, in registration order."""
    old = {row.name: row for row in OLDER if row.holds(version)}
    return {row.name: old.get(row.name, row) for row in NEWEST if version.at_least(SINCE.get(row.name))}


FIRED_WITH: dict[str, TraceEventDecl] = {row.name: row for row in NEWEST}
