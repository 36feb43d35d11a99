"""Clocks of CPU time: whose they are, what they show, and sleeping by them.  kernel/time/posix-cpu-timers.c.

A negative clock is `~pid << 3 | per thread << 2 | which of the three`; the two with a name are pid 0's, the caller's own.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL, ERESTART_RESTARTBLOCK, ERESTARTNOHAND
from arch.abi.time import CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, TIMER_ABSTIME
from arch.errors import KernelError
from simkernel.kernel.body import Body
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.process_timers import CpuEvent
from simkernel.kernel.task import Task, WaitQueue

CPUCLOCK_PROF, CPUCLOCK_VIRT, CPUCLOCK_SCHED, CPUCLOCK_MAX = range(4)
CPUCLOCK_PERTHREAD_MASK = 4
NAMED = {CLOCK_PROCESS_CPUTIME_ID: ~0 << 3 | CPUCLOCK_SCHED, CLOCK_THREAD_CPUTIME_ID: ~0 << 3 | CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED}  # fmt: skip
Used = Callable[[], int]


def cpu_time(task: Task) -> int:
    """CPUCLOCK_PROF of a process, ns."""
    return sum(t.sum_exec_ns for t in task.signal.threads) + task.signal.utime_ns + task.signal.stime_ns


def user_time(task: Task) -> int:
    """CPUCLOCK_VIRT of a process, ns."""
    return sum(t.utime_ns for t in task.signal.threads) + task.signal.utime_ns


def is_cpu_clock(which: int) -> bool:
    """A clock of CPU time, by its name or by its owner."""
    return which in NAMED or which < 0


def owner_of_clock(k: KernelFace, which: int, reading: bool = False) -> Task:
    """pid_for_clock(): who uses the time.  EINVAL; who only reads may name its own process by any of its threads."""
    which = NAMED.get(which, which)
    pid, me = ~(which >> 3), k.current
    if which & 3 >= CPUCLOCK_MAX:
        raise KernelError(EINVAL)
    if not pid:
        return me if which & CPUCLOCK_PERTHREAD_MASK else me.group_leader
    task = k.tasks.find(pid)
    if task is None:
        raise KernelError(EINVAL)
    if which & CPUCLOCK_PERTHREAD_MASK:
        if task.tgid != me.tgid:
            raise KernelError(EINVAL)
        return task
    if task is not task.group_leader and not (reading and task is me):
        raise KernelError(EINVAL)
    return task.group_leader


def used_by(which: int, task: Task) -> Used:
    """What a clock of a task shows, in ns."""
    which = NAMED.get(which, which)
    if which & CPUCLOCK_PERTHREAD_MASK:
        return (lambda: task.utime_ns) if which & 3 == CPUCLOCK_VIRT else (lambda: task.sum_exec_ns)
    return (lambda: user_time(task)) if which & 3 == CPUCLOCK_VIRT else (lambda: cpu_time(task))


def cpu_clock_now(k: KernelFace, which: int) -> int:
    """posix_cpu_clock_get(): ns.  EINVAL."""
    k.cpus.account()
    return used_by(which, owner_of_clock(k, which, reading=True))()


class CpuSleep:
    """Whom a sleeper waits for, and until when."""

    def __init__(self, k: KernelFace, which: int, task: Task, expires: int) -> None:
        self.k, self.task, self.which = k, task, which
        self.used = used_by(which, task)
        self.expires = expires
        self.queue = WaitQueue("cpu_timer")

    def left(self) -> int:
        """ns of CPU time; 0 when it is over."""
        return max(self.expires - self.used(), 0)

    def wait(self) -> Body:
        """Until the time is used up (`yield from`): 0, or -ERESTARTSYS when a signal came first."""
        while self.left():
            event = CpuEvent(self.used, self.expires, lambda: self.k.wake_up(self.queue, 0))
            events = self.task.signal.cpu_events
            events.append(event)
            ret = yield self.k.wait(self.queue)
            if event in events:
                events.remove(event)
            if ret < 0:
                return ret
        return 0


@kernel_function(
    "int do_cpu_nanosleep(const clockid_t which_clock, int flags, const struct timespec64 *rqtp)",
    source="kernel/time/posix-cpu-timers.c",
)
def do_cpu_nanosleep(k: KernelFace, which: int, flags: int, rqtp: int) -> Body:
    """Sleep until `sleeps_until` of a clock is used up.  ERESTART_RESTARTBLOCK when a signal came."""
    sleep = CpuSleep(k, which, owner_of_clock(k, which), k.current.sleeps_until)
    return -ERESTART_RESTARTBLOCK if (yield from sleep.wait()) else 0


def cpu_nanosleep(k: KernelFace, which: int, flags: int, want: int, tell: Callable[[int], None]) -> Body:
    """posix_cpu_nsleep() (`yield from`): `want` ns more, or until so many; `tell` hears what was left when a signal came.  EINVAL."""
    if which < 0 and which & CPUCLOCK_PERTHREAD_MASK and ~(which >> 3) in (0, k.tasks.vnr(k.current.pid)):
        raise KernelError(EINVAL, "it would never wake")
    k.cpus.account()
    used = used_by(which, owner_of_clock(k, which))
    until = want if flags & TIMER_ABSTIME else used() + want
    return (yield from _sleep(k, which, flags, until, tell))


def _sleep(k: KernelFace, which: int, flags: int, until: int, tell: Callable[[int], None]) -> Body:
    k.current.sleeps_until = until
    ret: int = yield k.call("do_cpu_nanosleep", which, flags, 0)
    if ret != -ERESTART_RESTARTBLOCK:
        return ret
    if flags & TIMER_ABSTIME:
        return -ERESTARTNOHAND
    tell(max(until - used_by(which, owner_of_clock(k, which))(), 0))
    k.current.restart = lambda: _sleep(k, which, flags, until, tell)
    return ret
