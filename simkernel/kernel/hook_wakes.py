"""A sleeper woken by a system call that is answered in the hook of its instruction.

The wake-up itself is the scheduler's own; what has to be known before is whether anything follows that only kernel text can do: that the
woken task runs at once, that somebody hears of it, that the time of the current one is up.  Where nothing does, the way back to user mode only
looks at the deadline anew, if the task waits for this very CPU.
"""

from __future__ import annotations

from arch.hosttime import HOST_WORD
from simkernel.kernel.cpus import SLICE_NS, WAKEUP_CREDIT_NS
from simkernel.kernel.engine import HYPERCALL_NS
from simkernel.kernel.face import KernelFace
from simkernel.kernel.runqueue import WAKEUP_PREEMPTS_NS
from simkernel.kernel.task import Task

HEARD = ("sched_waking", "sched_wakeup", "sched_migrate_task")
LEAVES = "exit_to_user_mode_loop"


class HookWakes:
    """Of one machine."""

    def __init__(self, k: KernelFace) -> None:
        self.k, self.points = k, k.tracepoints.points
        # exit_to_user_mode_loop() takes so long until its body, and in all; where its caller has it inside it takes nothing.
        called = k.text.is_called(LEAVES)
        self.enters, self.takes = (HYPERCALL_NS, HYPERCALL_NS + (HYPERCALL_NS >> 1)) if called else (0, 0)

    def looks_anew(self, task: Task, end_ns: int, sync: bool) -> bool | None:
        """Whether a call that wakes the task and else would be over at `end_ns` looks at the deadline then; None: it is the kernel's.

        `sync`: it is woken by somebody that will sleep soon, and does not preempt.
        """
        k, cpus, points = self.k, self.k.cpus, self.points
        if cpus.groups is not None or cpus.jitter is not None or HOST_WORD[0]:
            return None
        for name in HEARD:
            point = points.get(name)
            if point is not None and point.active:
                return None
        if task.on_rq or cpus.rqs[task.cpu].current is task:
            return None
        rq = cpus.select_rq(task)
        current, here = rq.current, rq is cpus.rq
        if current is rq.idle and not here:
            return False
        if not task.prio_class or not current.prio_class:
            return None
        rq.update_min_vruntime(current.vruntime)
        behind = max(task.vruntime, rq.min_vruntime - WAKEUP_CREDIT_NS) + WAKEUP_PREEMPTS_NS < current.vruntime
        if behind and not sync:
            return None
        if not here:
            return False
        leaves_ns = end_ns + self.enters
        if rq.need_resched or k.irqs.pending[rq.cpu]:
            return None
        if leaves_ns >= min(k.clock.next_event_ns, cpus.quantum_end, rq.slice_end_ns, rq.last_ns + SLICE_NS):
            return None
        return True

    def wake(self, task: Task, anew: bool, end_ns: int, sync: bool) -> None:
        """In the body, whose time it is: __wake_up(), try_to_wake_up(), and what looks_anew() has said."""
        k = self.k
        k.clock._now += 2 * HYPERCALL_NS
        k.cpus.activate(task, 0, sync)
        if anew:
            k.clock._now = end_ns + self.enters
            k.cpus.set_deadline()
