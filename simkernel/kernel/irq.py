"""Device interrupts: raised by a device, handled on a CPU at its next interruptible point.  kernel/irq/handle.c, kernel/softirq.c.

`k.irqs.raise_irq(nr, "handler", *args)` is what a device does (from a clock event).  The CPU takes the interrupt when it is
idle, or when user code is stopped because the event's time has come: generic_handle_irq() -> handle_irq_event() -> the
handler, all on the stack of the task that was interrupted; then irq_exit() runs the softirqs that became pending.
"""

from __future__ import annotations

from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.hrtimers import LOCAL_TIMER_VECTOR
from simkernel.kernel.interrupts import LOCAL_TIMER
from simkernel.kernel.kfunc import kernel_function

IRQ_NS = 400  # cost model: the way in and out


def take_interrupts(k: KernelFace) -> Steps[None]:
    """Handle everything that is pending on this CPU (`yield from`, at an interruptible point)."""
    cpu = k.cpus.rq.cpu
    pending = k.irqs.pending[cpu]
    while pending:
        k.irqs.current = pending.pop(0)
        k.clock._now += IRQ_NS
        if k.irqs.current[0] == LOCAL_TIMER:
            yield from local_timer(k, cpu)
        else:
            yield k.call("generic_handle_irq", k.irqs.current[0])
    if k.softirqs.pending[cpu]:
        yield k.call("do_softirq")


def local_timer(k: KernelFace, cpu: int) -> Steps[None]:
    """sysvec_apic_timer_interrupt() and its like (`yield from`)."""
    assert k.irqs.current is not None
    _, handler, args = k.irqs.current
    k.irqs.depth[cpu] += 1
    k.hrtimers.interrupts[cpu] += 1
    k.trace("local_timer_entry", LOCAL_TIMER_VECTOR)
    try:
        yield k.call(handler, *args)
    finally:
        k.trace("local_timer_exit", LOCAL_TIMER_VECTOR)
        k.irqs.depth[cpu] -= 1
    yield k.call("irq_exit_rcu")


@kernel_function("int generic_handle_irq(unsigned int irq)", source="kernel/irq/irqdesc.c")
def generic_handle_irq(k: KernelFace, irq: int) -> Body:
    """One interrupt, then the softirqs that it left."""
    cpu = k.cpus.rq.cpu
    k.irqs.counts.setdefault(irq, [0] * k.nr_cpus)[cpu] += 1
    k.irqs.depth[cpu] += 1
    try:
        yield k.call("handle_irq_event", irq)
    finally:
        k.irqs.depth[cpu] -= 1
    yield k.call("irq_exit_rcu")
    return 0


@kernel_function("irqreturn_t handle_irq_event(unsigned int irq)", source="kernel/irq/handle.c")
def handle_irq_event(k: KernelFace, irq: int) -> Body:
    """The actions of an interrupt line, between their tracepoints."""
    assert k.irqs.current is not None
    number, handler, args = k.irqs.current
    action = k.irqs.actions.get(number, 0)
    k.trace("irq_handler_entry", number, action)
    ret = yield k.call(handler, *args)
    k.trace("irq_handler_exit", number, action, ret)
    return ret


@kernel_function("void irq_exit_rcu(void)", source="kernel/softirq.c", names={None: "irq_exit", "5.8": "irq_exit_rcu"})
def irq_exit_rcu(k: KernelFace) -> Body:
    """Leaving hard interrupt context: softirqs run here."""
    if k.softirqs.due():
        yield k.call("__do_softirq")
    return 0
