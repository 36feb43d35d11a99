"""Device interrupts: raised by a device, handled on a CPU at its next interruptible point.  kernel/irq/handle.c, kernel/softirq.c.

`k.raise_irq(nr, "handler", *args)` is what a device does (from a clock event).  The CPU takes the interrupt when it is
idle, or when user code is stopped because the event's time has come: generic_handle_irq() -> handle_irq_event() -> the
handler, all on the stack of the task that was interrupted; then irq_exit() runs the softirqs that became pending.
"""

from __future__ import annotations

from typing import Any

from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.softirq import Softirqs

IRQ_NS = 400  # cost model: the way in and out


class Interrupts:
    """Pending interrupts, nesting and counts of every CPU."""

    def __init__(self, nr_cpus: int) -> None:
        self.pending: list[list[tuple[int, str, tuple[int, ...]]]] = [[] for _ in range(nr_cpus)]
        self.depth = [0] * nr_cpus
        self.counts: dict[int, list[int]] = {}  # /proc/interrupts: by number, for each CPU
        self.names: dict[int, str] = {}
        self.actions: dict[int, int] = {}  # number -> struct irqaction
        self.current: tuple[int, str, tuple[int, ...]] | None = None


class InterruptControl:
    """The part of the Kernel that devices use."""

    irqs: Interrupts
    softirqs: Softirqs
    softirq_action: dict[int, str]
    rqs: list[Any]
    rq: Any
    nr_cpus: int

    def init_interrupts(self) -> None:
        """At boot."""
        self.irqs = Interrupts(self.nr_cpus)
        self.softirqs = Softirqs(self.nr_cpus)
        self.softirq_action = {}

    def cpu_id(self) -> int:
        """smp_processor_id()."""
        return int(self.rq.cpu)

    def request_irq(self, irq: int, name: str) -> None:
        """A driver takes an interrupt line; `name` is what /proc/interrupts and tracepoints show."""
        k: Any = self
        text = k.mem.alloc(len(name) + 1)
        k.mem.write(text, name.encode() + b"\0")
        action = k.new("struct irqaction")
        action.irq = irq
        action.name = text
        self.irqs.names[irq] = name
        self.irqs.actions[irq] = action.addr
        self.irqs.counts[irq] = [0] * self.nr_cpus

    def raise_irq(self, irq: int, handler: str, *args: int, cpu: int | None = None) -> None:
        """A device wants attention: `handler(*args)` will run on a CPU (by default the one that is running)."""
        target = self.rqs[self.rq.cpu if cpu is None else cpu]
        self.irqs.pending[target.cpu].append((irq, handler, args))
        target.halted = False

    def raise_softirq(self, nr: int) -> None:
        """Mark a softirq pending on this CPU."""
        k: Any = self
        k.trace("softirq_raise", nr)
        self.softirqs.pending[self.rq.cpu] |= 1 << nr

    def softirq_pending(self) -> bool:
        """Is there softirq work on this CPU that nobody is doing yet?"""
        cpu = self.rq.cpu
        return bool(self.softirqs.pending[cpu]) and not self.softirqs.depth[cpu] and not self.irqs.depth[cpu]


def take_interrupts(k: Any) -> Any:
    """Handle everything that is pending on this CPU (`yield from`, at an interruptible point)."""
    cpu = k.rq.cpu
    pending = k.irqs.pending[cpu]
    while pending:
        k.irqs.current = pending.pop(0)
        k.clock._now += IRQ_NS
        yield k.call("generic_handle_irq", k.irqs.current[0])
    if k.softirqs.pending[cpu]:
        yield k.call("do_softirq")


@kernel_function("int generic_handle_irq(unsigned int irq)", source="kernel/irq/irqdesc.c")
def generic_handle_irq(k: Any, irq: int) -> Any:
    """One interrupt, then the softirqs that it left."""
    cpu = k.rq.cpu
    k.irqs.counts.setdefault(irq, [0] * k.nr_cpus)[cpu] += 1
    k.irqs.depth[cpu] += 1
    try:
        yield k.call("handle_irq_event", irq)
    finally:
        k.irqs.depth[cpu] -= 1
    yield k.call("irq_exit_rcu")
    return 0


@kernel_function("irqreturn_t handle_irq_event(unsigned int irq)", source="kernel/irq/handle.c")
def handle_irq_event(k: Any, irq: int) -> Any:
    """The actions of an interrupt line, between their tracepoints."""
    number, handler, args = k.irqs.current
    action = k.irqs.actions.get(number, 0)
    k.trace("irq_handler_entry", number, action)
    ret = yield k.call(handler, *args)
    k.trace("irq_handler_exit", number, action, ret)
    return ret


@kernel_function("void irq_exit_rcu(void)", source="kernel/softirq.c", names={None: "irq_exit", "5.8": "irq_exit_rcu"})
def irq_exit_rcu(k: Any) -> Any:
    """Leaving hard interrupt context: softirqs run here."""
    if k.softirq_pending():
        yield k.call("__do_softirq")
    return 0
