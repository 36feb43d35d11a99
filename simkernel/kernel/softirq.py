"""Softirqs: work that interrupts leave for later, run on the way out of them.  kernel/softirq.c.

`k.softirqs.raise_softirq(nr)` marks a vector pending on this CPU; do_softirq() runs what is pending, lowest number first, at most
ten rounds.  Which function serves a vector is in `k.softirqs.actions`.
"""

from __future__ import annotations

from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function

# include/linux/interrupt.h
HI_SOFTIRQ, TIMER_SOFTIRQ, NET_TX_SOFTIRQ, NET_RX_SOFTIRQ, BLOCK_SOFTIRQ = range(5)
IRQ_POLL_SOFTIRQ, TASKLET_SOFTIRQ, SCHED_SOFTIRQ, HRTIMER_SOFTIRQ, RCU_SOFTIRQ = range(5, 10)
MAX_SOFTIRQ_RESTART = 10


@kernel_function("void do_softirq(void)", source="kernel/softirq.c")
def do_softirq(k: KernelFace) -> Body:
    """Run pending softirqs, unless this CPU is serving them already."""
    cpu = k.cpus.id()
    if k.softirqs.pending[cpu] and not k.softirqs.depth[cpu]:
        yield k.call("__do_softirq")
    return 0


@kernel_function("void __do_softirq(void)", source="kernel/softirq.c")
def __do_softirq(k: KernelFace) -> Body:
    """The vectors, lowest first, again while new ones come, ten times at most."""
    softirqs, cpu = k.softirqs, k.cpus.id()
    softirqs.depth[cpu] += 1
    try:
        for _ in range(MAX_SOFTIRQ_RESTART):
            pending, softirqs.pending[cpu] = softirqs.pending[cpu], 0
            if not pending:
                break
            for nr in range(10):
                if pending >> nr & 1 and nr in k.softirqs.actions:
                    softirqs.counts[nr][cpu] += 1
                    k.trace("softirq_entry", nr)
                    yield k.call(k.softirqs.actions[nr], 0)
                    k.trace("softirq_exit", nr)
    finally:
        softirqs.depth[cpu] -= 1
    return 0
