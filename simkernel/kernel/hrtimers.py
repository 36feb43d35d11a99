"""High-resolution timers as tracing sees them: struct hrtimer.  kernel/time/hrtimer.c.

What comes at its time is an event of the clock; this is the structure that stands for it in kernel memory, and its tracepoints.
The structure of a timer lies in what owns it (signal_struct), that of a sleep on the sleeper's stack, as in Linux.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from arch.abi.time import CLOCK_MONOTONIC, NSEC_PER_SEC
from arch.memory import KernelMemory
from arch.symbols import Symbols
from simkernel.kernel.clock import HRTIMER_MODE_HARD, HRTIMER_MODE_REL, HrTimer
from simkernel.kernel.mirror import Mirror
from simkernel.kernel.task import Task
from simkernel.kernel.tracepoints import Tracepoints

LOCAL_TIMER_VECTOR = 0xEC  # arch/x86/include/asm/irq_vectors.h; other CPUs have no such event
SETUP_SINCE = "6.15"  # hrtimer_init() and its tracepoint have another name
ON_STACK = 256  # a sleeper's place from the low end of a kernel stack, where no frame comes


class HrTimers:
    """`k.hrtimers`."""

    def __init__(
        self,
        mem: KernelMemory,
        mirror: Mirror,
        symbols: Symbols,
        tracepoints: Tracepoints,
        depth: ctypes.Array[ctypes.c_uint64],
        cpu: Callable[[], int],
    ) -> None:
        self.mem, self.mirror, self.symbols = mem, mirror, symbols
        self.depth, self.cpu = depth, cpu  # how deep in interrupts each CPU is; the one that runs
        self.interrupts = [0] * len(depth)  # of each CPU's own timer
        self.point, self.trace = tracepoints.point, tracepoints.trace
        self.now = mem.alloc(8)
        self.made = "hrtimer_setup" if mirror.version.at_least(SETUP_SINCE) else "hrtimer_init"

    def make(self, function: str, clockid: int, mode: int) -> HrTimer:
        """A timer in memory of its own (free() gives it back)."""
        timer = HrTimer(self.mem.alloc(self.mirror.size_of("struct hrtimer")), function, clockid, mode)
        self.init(timer)
        return timer

    def free(self, timer: HrTimer) -> None:
        """Its owner goes."""
        self.cancel(timer)
        self.mem.free(timer.addr)

    @property
    def told_of_new(self) -> bool:
        """Somebody listens to what is made."""
        return self.point(self.made).active

    def init(self, timer: HrTimer) -> None:
        """hrtimer_init(), hrtimer_setup()."""
        self._fire(self.made, timer, timer.clockid, timer.mode)

    def start(self, timer: HrTimer, expires_ns: int, mode: int, slack_ns: int = 0) -> None:
        """hrtimer_start_range_ns()."""
        again = timer.armed
        if again:
            self.cancel(timer)
        timer.armed, timer.soft, timer.expires = True, expires_ns, expires_ns + slack_ns
        self._fire("hrtimer_start", timer, mode, int(again))

    def cancel(self, timer: HrTimer | None) -> None:
        """hrtimer_cancel(); nothing where it is not set."""
        if timer is not None and timer.armed:
            timer.armed = False
            self._fire("hrtimer_cancel", timer)

    @contextmanager
    def expiring(self, timer: HrTimer | None, now_ns: int) -> Iterator[None]:
        """__run_hrtimer() in the timer's interrupt: its function runs inside.  Nothing around what is no hrtimer."""
        if timer is None:
            yield
            return
        timer.armed = False
        cpu = self.cpu()
        self.depth[cpu] += 1
        self.interrupts[cpu] += 1
        try:
            self.trace("local_timer_entry", LOCAL_TIMER_VECTOR)
            self.mem.write_uint(self.now, 8, now_ns)
            self._fire("hrtimer_expire_entry", timer, self.now)
            yield
            self._fire("hrtimer_expire_exit", timer)
            self.trace("local_timer_exit", LOCAL_TIMER_VECTOR)
        finally:
            self.depth[cpu] -= 1

    def of_new_task(self, task: Task, leads: bool) -> None:
        """__sched_fork(): its deadline timers; copy_signal(): ITIMER_REAL."""
        if self.told_of_new:
            for member, function in (("dl.dl_timer", "dl_task_timer"), ("dl.inactive_timer", "inactive_task_timer")):
                at = self.mirror.offset_of("struct task_struct", member)
                if at >= 0:
                    self.init(HrTimer(task.addr + at, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL | HRTIMER_MODE_HARD))
            if leads:
                self.init(task.signal.real_timer)

    def sleeper(self, task: Task, clockid: int, mode: int, slack_ns: int | None = None) -> None:
        """hrtimer_init_sleeper_on_stack(): for the next wait of a task that has an end."""
        timer = HrTimer(task.stack + ON_STACK, "hrtimer_wakeup", clockid, mode)
        timer.slack = task.timer_slack_ns if slack_ns is None else slack_ns
        task.sleeper = timer
        self.init(timer)

    def sleeps(self, task: Task, end_ns: int) -> None:
        """The wait begins."""
        if task.sleeper is not None:
            self.start(task.sleeper, end_ns, task.sleeper.mode, task.sleeper.slack)

    def wakes(self, task: Task) -> None:
        """It is over."""
        self.cancel(task.sleeper)
        task.sleeper = None

    def _fire(self, name: str, timer: HrTimer, *rest: int) -> None:
        point = self.point(name)
        if point.active:
            put = self.mirror.set_field
            put(timer.addr, "hrtimer", "function", self.symbols.address(timer.function) or 0)
            put(timer.addr, "hrtimer", "node.expires", timer.expires)
            put(timer.addr, "hrtimer", "_softexpires", timer.soft)
            point.fire(timer.addr, *rest)


def poll_slack(timeout_ns: int, own_ns: int) -> int:
    """select_estimate_accuracy(): how much later poll(2) and its like may wake."""
    return max(min(timeout_ns // 1000, NSEC_PER_SEC // 10), own_ns)
