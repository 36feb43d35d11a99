"""Interval timers: setitimer(2), getitimer(2), alarm(2).  kernel/time/itimer.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.signal import SIGALRM, SIGPROF, SIGVTALRM
from arch.abi.time import MIN_DELTA_NS, NSEC_PER_SEC
from arch.errors import KernelError
from simkernel.kernel.calls.cpu_clocks import cpu_time, user_time
from simkernel.kernel.calls.time import pair_bytes, read_pair
from simkernel.kernel.clock import HRTIMER_MODE_REL, Event
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.process_timers import CpuEvent, IntervalTimer
from simkernel.kernel.task import Task

ITIMER_SIGNALS = (SIGALRM, SIGVTALRM, SIGPROF)


class RunningTimer:
    """One armed ITIMER_REAL, by the clock, or ITIMER_VIRTUAL and ITIMER_PROF, by CPU time."""

    def __init__(self, k: KernelFace, task: Task, which: int, value_ns: int, interval_ns: int) -> None:
        self.k, self.task, self.which, self.interval_ns = k, task, which, interval_ns
        self.event: Event | None = None
        self.cpu_event: CpuEvent | None = None
        self.expires = self.now() + value_ns
        self._arm()

    def now(self) -> int:
        """What it counts."""
        if not self.which:
            return self.k.clock.now_ns
        return user_time(self.task) if self.which == 1 else cpu_time(self.task)

    def _arm(self) -> None:
        if not self.which:
            self.event = self.k.clock.add(max(self.expires, self.k.clock.now_ns + MIN_DELTA_NS), self.expire)
            self.k.hrtimers.start(self.task.signal.real_timer, self.expires, HRTIMER_MODE_REL)
        else:
            self.cpu_event = CpuEvent(self.now, self.expires, self.fire)
            self.task.signal.cpu_events.append(self.cpu_event)

    def disarm(self) -> None:
        """It will not come."""
        self.k.clock.cancel(self.event)
        if not self.which:
            self.k.hrtimers.cancel(self.task.signal.real_timer)
        if self.cpu_event in self.task.signal.cpu_events:
            self.task.signal.cpu_events.remove(self.cpu_event)

    def expire(self) -> None:
        """hrtimer: it_real_fn()."""
        with self.k.hrtimers.expiring(self.task.signal.real_timer, self.now()):
            self.fire()

    def fire(self) -> None:
        """Send the signal; start again when periodic."""
        pid = self.k.tasks.pid_struct(self.task.tgid)
        self.k.trace("itimer_expire", self.which, pid, self.now() if self.which else 0)
        self.event = None
        self.k.signals.send(self.task, ITIMER_SIGNALS[self.which])
        if not self.interval_ns:
            self.task.signal.itimers[self.which] = None
        elif self.which:
            self.expires = max(self.expires + self.interval_ns, self.now() + 1)
            self._arm()

    def requeue(self) -> None:
        """dequeue_signal(): one that is periodic goes on when its SIGALRM is taken, and not before."""
        if self.interval_ns and not self.which and self.event is None:
            self.expires += ((self.now() - self.expires) // self.interval_ns + 1) * self.interval_ns
            self._arm()

    def left(self) -> int:
        """ns to its expiry; 0 of one whose signal waits to be taken."""
        return max(self.expires - self.now(), 1) if self.which or self.event is not None else 0


def _set_itimer(k: KernelFace, which: int, value_ns: int, interval_ns: int) -> tuple[int, int]:
    """Arm or disarm; gives (remaining, interval) of the old one."""
    k.cpus.charge_user()
    signal = k.current.signal
    old: IntervalTimer | None = signal.itimers[which]
    before = (0, 0)
    if old is not None:
        before = (old.left(), old.interval_ns)
        old.disarm()
    timer = RunningTimer(k, k.current.group_leader, which, value_ns, interval_ns) if value_ns else None
    signal.itimers[which] = timer
    if k.tracepoints.point("itimer_state").active:
        value = itimerspec64_bytes(k, interval_ns, value_ns)
        k.trace("itimer_state", which, k.mirror.scratch(value), timer.expires if timer is not None and which else 0)
    return before


def itimerspec64_bytes(k: KernelFace, interval_ns: int, value_ns: int) -> bytes:
    """struct itimerspec64."""
    return pair_bytes(k, *divmod(interval_ns, NSEC_PER_SEC), 8) + pair_bytes(k, *divmod(value_ns, NSEC_PER_SEC), 8)


def _itimer_bytes(k: KernelFace, value: tuple[int, int]) -> bytes:
    size = k.arch.word
    return b"".join(pair_bytes(k, ns // NSEC_PER_SEC, ns % NSEC_PER_SEC // 1000, size) for ns in (value[1], value[0]))


@syscall("setitimer", "int which, struct itimerval *value, struct itimerval *ovalue", source="kernel/time/itimer.c")
def sys_setitimer(k: KernelFace, which: int, value: int, ovalue: int) -> int:
    """EINVAL, EFAULT."""
    size = k.arch.word
    interval_ns = value_ns = 0
    if value:
        k.usercopy.copy_from_user(value, 4 * size)
        parts = []
        for at in (value, value + 2 * size):
            seconds, us = read_pair(k, at, size)
            if seconds < 0 or not 0 <= us < 1_000_000:
                raise KernelError(EINVAL)
            parts.append(seconds * NSEC_PER_SEC + us * 1000)
        interval_ns, value_ns = parts
    if which not in (0, 1, 2):
        raise KernelError(EINVAL)
    old = _set_itimer(k, which, value_ns, interval_ns)
    if ovalue:
        k.usercopy.copy_to_user(ovalue, _itimer_bytes(k, old))
    return 0


@syscall("getitimer", "int which, struct itimerval *value", source="kernel/time/itimer.c")
def sys_getitimer(k: KernelFace, which: int, value: int) -> int:
    """EINVAL, EFAULT."""
    if which not in (0, 1, 2):
        raise KernelError(EINVAL)
    timer: IntervalTimer | None = k.current.signal.itimers[which]
    now = (0, 0) if timer is None else (timer.left(), timer.interval_ns)
    k.usercopy.copy_to_user(value, _itimer_bytes(k, now))
    return 0


@syscall("alarm", "unsigned int seconds", source="kernel/time/itimer.c")
def sys_alarm(k: KernelFace, seconds: int) -> int:
    """SIGALRM after so many seconds; what was left of the old alarm, rounded."""
    old, _ = _set_itimer(k, 0, seconds * NSEC_PER_SEC, 0)
    whole, rest = divmod(old, NSEC_PER_SEC)
    return whole + (1 if rest >= NSEC_PER_SEC // 2 or (old and not whole) else 0)
