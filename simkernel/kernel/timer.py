"""Timers that expire: from the tick to their functions.  kernel/time/timer.c."""

from __future__ import annotations

from arch.abi.time import INITIAL_JIFFIES
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.softirq import TIMER_SOFTIRQ


@kernel_function("void update_process_times(int user_tick)", source="kernel/time/timer.c")
def update_process_times(k: KernelFace, user_tick: int) -> Body:
    """The tick's work for whoever runs."""
    yield k.call("run_local_timers")
    return 0


@kernel_function("void run_local_timers(void)", source="kernel/time/timer.c", until="6.0")
def run_local_timers(k: KernelFace) -> int:
    """There are timers whose time has come."""
    k.softirqs.raise_softirq(TIMER_SOFTIRQ)
    return 0


@kernel_function("void run_timer_softirq(struct softirq_action *h)", source="kernel/time/timer.c")
def run_timer_softirq(k: KernelFace, h: int) -> Body:
    """Call what is due on this CPU."""
    cpu = k.cpus.id()
    while (timer := k.timers.take_due(cpu)) is not None:
        base = INITIAL_JIFFIES + timer.fires
        yield k.call("call_timer_fn", timer.addr, k.text.address_of(timer.function), base)
    return 0


@kernel_function(
    "void call_timer_fn(struct timer_list *timer, void *fn, unsigned long baseclk)", source="kernel/time/timer.c"
)
def call_timer_fn(k: KernelFace, timer: int, fn: int, baseclk: int) -> Body:
    """One function, between its tracepoints; it may free its own timer."""
    row = k.timers.by_address[timer]
    k.trace("timer_expire_entry", timer, baseclk)
    yield k.call(row.function, row.data if k.timers.with_data else timer)
    k.trace("timer_expire_exit", timer)
    return 0
