"""Pending interrupts and softirqs of every CPU: what devices raise and the CPUs take.  kernel/irq/, kernel/softirq.c.

`k.irqs.raise_irq(nr, "handler", *args)` is what a device does (from a clock event).  The CPU takes the interrupt when it
is idle, or when user code is stopped because the event's time has come (irq.py).  `k.softirqs.raise_softirq(nr)` marks a
vector pending on this CPU; do_softirq() runs what is pending (softirq.py).
"""

from __future__ import annotations

import ctypes
from functools import partial

from arch.cview import View
from arch.memory import KernelMemory
from arch.typetable import TypeTable
from simkernel.kernel.cpus import Cpus
from simkernel.kernel.jitter import INTERRUPT_NS
from simkernel.kernel.runqueue import RunQueue
from simkernel.kernel.tracepoints import Tracepoints

LOCAL_TIMER = -1  # no line of a device: the CPU's own timer
NR_SOFTIRQS = 10  # include/linux/interrupt.h
Pending = tuple[int, str, tuple[int, ...]]  # number, handler, its arguments


class Interrupts:
    """`k.irqs`."""

    def __init__(self, nr_cpus: int, cpus: Cpus, mem: KernelMemory, types: TypeTable) -> None:
        self.nr_cpus, self.cpus, self.mem, self.types = nr_cpus, cpus, mem, types
        self.pending: list[list[Pending]] = [[] for _ in range(nr_cpus)]
        self.depth = (ctypes.c_uint64 * nr_cpus)()  # native code reads this and the next
        self.nmi = (ctypes.c_uint64 * nr_cpus)()  # in_nmi(): only tests of programs make some
        self.due_ns: dict[int, int] = {}  # with jitter: when the last of each number arrives
        self.counts: dict[int, list[int]] = {}  # /proc/interrupts: by number, for each CPU
        self.names: dict[int, str] = {}
        self.actions: dict[int, int] = {}  # number -> struct irqaction
        self.current: Pending | None = None

    def request(self, irq: int, name: str) -> None:
        """request_irq(): a driver takes a line; `name` is what /proc/interrupts and tracepoints show."""
        text = self.mem.alloc(len(name) + 1)
        self.mem.write(text, name.encode() + b"\0")
        action_type = "struct irqaction"
        action = View(self.mem, self.mem.alloc(self.types.sizeof(action_type)), self.types.type(action_type))
        action.irq = irq
        action.name = text
        self.names[irq] = name
        self.actions[irq] = action.addr
        self.counts[irq] = [0] * self.nr_cpus

    def raise_irq(self, irq: int, handler: str, *args: int, cpu: int | None = None) -> None:
        """A device wants attention: `handler(*args)` will run on a CPU (by default the one that is running)."""
        target = self.cpus.rqs[self.cpus.rq.cpu if cpu is None else cpu]
        jitter, clock = self.cpus.jitter, self.cpus.clock
        if jitter is None:
            self._arrives(target, (irq, handler, args))
            return
        due_ns = max(
            clock._now + jitter.up_to(INTERRUPT_NS), self.due_ns.get(irq, 0)
        )  # those of one line stay in order
        self.due_ns[irq] = due_ns
        clock.add(due_ns, partial(self._arrives, target, (irq, handler, args)))

    def _arrives(self, target: RunQueue, pending: Pending) -> None:
        self.pending[target.cpu].append(pending)
        target.halted = False

    def raise_local_timer(self, cpu: int, handler: str, *args: int) -> None:
        """A CPU's own timer says that a time has come: `handler(*args)` will run there."""
        pending = self.pending[cpu]
        if (LOCAL_TIMER, handler, args) not in pending:
            pending.append((LOCAL_TIMER, handler, args))
        self.cpus.rqs[cpu].halted = False


class Softirqs:
    """`k.softirqs`: pending vectors and depth per CPU."""

    def __init__(self, nr_cpus: int, cpus: Cpus, irqs: Interrupts, tracepoints: Tracepoints) -> None:
        self.cpus, self.irqs, self.tracepoints = cpus, irqs, tracepoints
        self.pending = [0] * nr_cpus
        self.depth = (ctypes.c_uint64 * nr_cpus)()  # in_serving_softirq; native code reads it
        self.counts: dict[int, list[int]] = {nr: [0] * nr_cpus for nr in range(NR_SOFTIRQS)}  # /proc/softirqs
        self.actions: dict[int, str] = {}  # vector -> kernel function that serves it

    def raise_softirq(self, nr: int) -> None:
        """Mark a vector pending on this CPU."""
        self.tracepoints.trace("softirq_raise", nr)
        self.pending[self.cpus.rq.cpu] |= 1 << nr

    def due(self) -> bool:
        """Is there softirq work on this CPU that nobody is doing yet?"""
        cpu = self.cpus.rq.cpu
        return bool(self.pending[cpu]) and not self.depth[cpu] and not self.irqs.depth[cpu]
