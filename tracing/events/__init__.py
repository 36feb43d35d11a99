"""The tracepoints the kernel declares, group by group.  include/trace/events/.

One module per kernel header (small ones share); each holds the rows of 6.1, whose `format` files are compared with the
real ones.  `older` holds the rows of earlier versions and SINCE says when an event appeared.
"""

from __future__ import annotations

from tracing.declare import TraceEventDecl, Version
from tracing.events import block, inet, irq, kmem, net, raw_syscalls, sched, signal, task, timer
from tracing.events.older import OLDER

NEWEST: tuple[TraceEventDecl, ...] = (
    *raw_syscalls.EVENTS, *irq.EVENTS, *task.EVENTS, *sched.EVENTS, *signal.EVENTS, *timer.EVENTS, *kmem.EVENTS,
    *block.EVENTS, *net.EVENTS, *inet.EVENTS,
)  # fmt: skip

# First kernel that has the event; those not named are older than 4.1.
SINCE: dict[str, Version] = {
    "sched_waking": (4, 3),
    "block_rq_merge": (5, 11),
    "block_rq_error": (5, 18),
    "net_dev_start_xmit": (3, 18),
    "inet_sock_set_state": (4, 16),
    "sock_rcvqueue_full": (3, 0),
    "tcp_retransmit_skb": (4, 15),
    "tcp_send_reset": (4, 15),
    "tcp_receive_reset": (4, 15),
    "tcp_destroy_sock": (4, 15),
    "tcp_rcv_space_adjust": (4, 18),
    "tcp_probe": (4, 16),
    "napi_gro_receive_exit": (4, 21),
    "netif_receive_skb_exit": (4, 21),
    "netif_rx_exit": (4, 21),
    "tasklet_entry": (6, 1),  # with the backports of its stable branch
    "tasklet_exit": (6, 1),
    "suspend_resume": (3, 16),
}


def declarations(version: Version) -> dict[str, TraceEventDecl]:
    """The row of each event that a kernel of this version has, in registration order."""
    version = tuple(version)
    old = {row.name: row for row in OLDER if row.holds(version)}
    return {row.name: old.get(row.name, row) for row in NEWEST if version >= SINCE.get(row.name, (0,))}


FIRED_WITH: dict[str, TraceEventDecl] = {row.name: row for row in NEWEST}
