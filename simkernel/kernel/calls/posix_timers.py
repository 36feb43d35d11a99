"""Timers that a process makes: timer_create(2) and its kin.  kernel/time/posix-timers.c; by CPU time posix-cpu-timers.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import (
    EAGAIN,
    EINVAL,
    EOPNOTSUPP,
)
from arch.abi.limits import INT_MAX
from arch.abi.signal import (
    NSIG,
    SI_TIMER,
    SIGALRM,
    SIGEV_NONE,
    SIGEV_SIGNAL,
    SIGEV_THREAD,
    SIGEV_THREAD_ID,
)
from arch.abi.time import (
    CLOCK_MONOTONIC_COARSE,
    CLOCK_MONOTONIC_RAW,
    CLOCK_REALTIME_COARSE,
    MIN_DELTA_NS,
    NSEC_PER_SEC,
    TICK_NSEC,
    TIMER_ABSTIME,
)
from arch.errors import KernelError
from simkernel.kernel.calls.cpu_clocks import is_cpu_clock, owner_of_clock, used_by
from simkernel.kernel.calls.time import WALL_CLOCKS, clock_now, pair_bytes, read_timespec, relative_ns
from simkernel.kernel.clock import HRTIMER_MODE_ABS, HRTIMER_MODE_REL
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.process_timers import CpuEvent
from simkernel.kernel.sigpending import SIGQUEUE_SIZE, SigInfo
from simkernel.kernel.task import PosixTimer, Task

CLOCKFD, CLOCKFD_MASK = 3, 7  # a clock that a descriptor stands for
SIGEVENT_SIZE = 64  # sizeof(struct sigevent)


@syscall(
    "timer_create",
    "clockid_t which_clock, struct sigevent *timer_event_spec, timer_t *created_timer_id",
    source="kernel/time/posix-timers.c",
)
def sys_timer_create(k: KernelFace, which: int, spec: int, out: int) -> int:
    """SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD_ID.  EINVAL, EFAULT."""
    if spec:
        k.usercopy.copy_from_user(spec, SIGEVENT_SIZE)
    if which >= 0:
        clock_now(k, which)
    if which in WITHOUT_TIMERS or (which < 0 and which & CLOCKFD_MASK == CLOCKFD):
        raise KernelError(EOPNOTSUPP)
    signal = k.current.signal
    timers = signal.posix_timers
    number = signal.posix_timer_id
    while number in timers:
        number = (number + 1) & 0x7FFFFFFF
    sig, value, notify, tid = SIGALRM, number, 0, 0
    if spec:
        word = k.arch.word
        raw = k.usercopy.copy_from_user(spec, word + 12)
        order = k.mem.byteorder
        value = int.from_bytes(raw[:word], order)
        sig = int.from_bytes(raw[word : word + 4], order)
        notify = int.from_bytes(raw[word + 4 : word + 8], order)
        tid = int.from_bytes(raw[word + 8 : word + 12], order)
        if notify not in (SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD, SIGEV_THREAD_ID):
            raise KernelError(EINVAL)
        if notify != SIGEV_NONE and not 1 <= sig <= NSIG:
            raise KernelError(EINVAL)
        if notify == SIGEV_THREAD_ID:
            target = k.tasks.find(tid)
            if target is None or target.tgid != k.current.tgid:
                raise KernelError(EINVAL)
            tid = target.pid
    timer = PosixTimer(which, sig, value, tid, notify)
    timer.user = k.signals.count(k.current)
    if timer.user is None:
        raise KernelError(EAGAIN)
    timers[number] = timer
    signal.posix_timer_id = (number + 1) & 0x7FFFFFFF  # the next one gets another, also when this one is gone
    try:
        k.usercopy.put_user(out, 4, number)
        if is_cpu_clock(which):
            timer.counts = owner_of_clock(k, which)
        else:
            timer.hrtimer = k.hrtimers.make("posix_timer_fn", which, HRTIMER_MODE_ABS)
    except KernelError:
        del timers[number]
        _free(k, timer)
        raise
    return 0


def _posix_timer(k: KernelFace, number: int) -> PosixTimer:
    timer: PosixTimer | None = k.current.signal.posix_timers.get(number)
    if timer is None:
        raise KernelError(EINVAL)
    return timer


WITHOUT_TIMERS = (CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME_COARSE)


def _fire(k: KernelFace, task: Task, number: int, timer: PosixTimer) -> None:
    """posix_timer_fn(), cpu_timer_fire(): a periodic one goes on when its signal is taken, at once where that is ignored."""
    timer.event = timer.cpu_event = None
    target = k.tasks.by_pid.get(timer.tid) if timer.notify == SIGEV_THREAD_ID else None
    gone = timer.notify == SIGEV_THREAD_ID and (target is None or bool(target.exit_state))
    if timer.notify == SIGEV_NONE or gone:
        return
    sent = True
    if timer.sigqueue.queued:
        timer.sigqueue.uid += 1  # one of before timer_settime(2) waits: this one is counted with it
    else:
        timer.sigqueue = SigInfo(timer.sig, SI_TIMER, number)
        timer.sigqueue.value = timer.value
        sent = k.signals.send_sigqueue(target or task, timer.sigqueue, target is None)
    if not timer.interval_ns:
        return
    if sent:
        timer.requeue = lambda info: _requeue(k, task, number, timer, info)
    else:  # not more often than the machine ticks
        wait = TICK_NSEC if timer.counts is None and timer.interval_ns < TICK_NSEC else 0
        timer.count += _forward(timer, _now(k, timer) + wait)
        _arm(k, task, number, timer)


def _now(k: KernelFace, timer: PosixTimer) -> int:
    used = _counts(timer)
    return k.clock.now_ns if used is None else used()


def _forward(timer: PosixTimer, now: int) -> int:
    """hrtimer_forward(): how many intervals lead behind `now`; the time to expire is that many later."""
    passed = (now - timer.expires) // timer.interval_ns + 1 if now >= timer.expires else 0
    timer.expires += passed * timer.interval_ns
    return passed


def _requeue(k: KernelFace, task: Task, number: int, timer: PosixTimer, info: SigInfo) -> None:
    """posixtimer_rearm(): its signal is taken, and tells how often it would have come since."""
    timer.requeue = None
    timer.count += _forward(timer, _now(k, timer))
    _arm(k, task, number, timer)
    timer.overrun, timer.count = timer.count, -1
    info.uid = min(timer.overrun + info.uid, INT_MAX)


def _expire(k: KernelFace, task: Task, number: int, timer: PosixTimer) -> None:
    assert timer.hrtimer is not None
    with k.hrtimers.expiring(timer.hrtimer, k.clock.now_ns):
        _fire(k, task, number, timer)


def _counts(timer: PosixTimer) -> Callable[[], int] | None:
    """What a timer by CPU time counts; None for one by a clock."""
    return used_by(timer.clock, timer.counts) if timer.counts is not None else None


def _arm(k: KernelFace, task: Task, number: int, timer: PosixTimer) -> None:
    used = _counts(timer)
    if used is None or timer.counts is None:
        timer.event = k.clock.add(
            max(timer.expires, k.clock.now_ns + MIN_DELTA_NS), lambda: _expire(k, task, number, timer)
        )
        if timer.hrtimer is not None:
            k.hrtimers.start(timer.hrtimer, timer.expires, HRTIMER_MODE_ABS)
    else:
        timer.cpu_event = CpuEvent(used, timer.expires, lambda: _fire(k, task, number, timer))
        timer.counts.signal.cpu_events.append(timer.cpu_event)


def _follow(k: KernelFace, task: Task, number: int, timer: PosixTimer) -> None:
    """An absolute time of the wall clock comes sooner or later when that is set."""

    def jumped(ns: int) -> None:
        if timer.event is not None:
            k.clock.cancel(timer.event)
            timer.expires = max(timer.expires - ns, k.clock.now_ns)
            _arm(k, task, number, timer)

    timer.jumped = jumped
    k.clock.when_set[jumped] = None


def _disarm(k: KernelFace, timer: PosixTimer) -> None:
    if timer.jumped is not None:
        k.clock.when_set.pop(timer.jumped, None)
        timer.jumped = None
    k.clock.cancel(timer.event)
    if timer.hrtimer is not None:
        k.hrtimers.cancel(timer.hrtimer)
    if timer.counts is not None and timer.cpu_event in timer.counts.signal.cpu_events:
        timer.counts.signal.cpu_events.remove(timer.cpu_event)
    timer.event = timer.cpu_event = None


def _itimerspec(k: KernelFace, timer: PosixTimer, size: int) -> bytes:
    """common_timer_get(): the interval, and what is left: at least 1 ns of one that has a signal to send."""
    silent = timer.notify == SIGEV_NONE
    armed = timer.event is not None or timer.cpu_event is not None
    left = 0
    if timer.set and (timer.interval_ns or armed or silent):
        now = _now(k, timer)
        if timer.interval_ns and (silent or timer.requeue is not None):
            timer.count += _forward(timer, now)
        left = max(timer.expires - now, 0 if silent else 1)
    return pair_bytes(k, *divmod(timer.interval_ns, NSEC_PER_SEC), size) + pair_bytes(
        k, *divmod(left, NSEC_PER_SEC), size
    )


@syscall(
    "timer_settime",
    "timer_t timer_id, int flags, const struct itimerspec *new_setting, struct itimerspec *old_setting",
    source="kernel/time/posix-timers.c",
)
def sys_timer_settime(k: KernelFace, number: int, flags: int, new: int, old: int) -> int:
    """EINVAL, EFAULT."""
    return timer_settime(k, number, flags, new, old, k.arch.word)


def timer_settime(k: KernelFace, number: int, flags: int, new: int, old: int, size: int) -> int:
    """The same with words of this size."""
    k.cpus.charge_user()
    if not new:
        raise KernelError(EINVAL)
    k.usercopy.copy_from_user(new, 4 * size)
    interval, value = read_timespec(k, new, size), read_timespec(k, new + 2 * size, size)
    timer = _posix_timer(k, number)
    before = _itimerspec(k, timer, size)
    _disarm(k, timer)
    timer.interval_ns, timer.count, timer.overrun, timer.requeue, timer.set = (
        interval if value else 0,
        -1,
        0,
        None,
        bool(value),
    )
    if value:
        if timer.hrtimer is not None:
            timer.hrtimer.mode = HRTIMER_MODE_ABS if flags & TIMER_ABSTIME else HRTIMER_MODE_REL
            k.hrtimers.init(timer.hrtimer)
        base = value - clock_now(k, timer.clock) if flags & TIMER_ABSTIME else value
        if timer.counts is None and not flags & TIMER_ABSTIME:
            base = relative_ns(k, timer.clock, value)
        used = _counts(timer)
        timer.expires = (k.clock.now_ns if used is None else used()) + base
        if flags & TIMER_ABSTIME and timer.clock in WALL_CLOCKS:
            _follow(k, k.current.group_leader, number, timer)
        if timer.notify != SIGEV_NONE:
            _arm(k, k.current.group_leader, number, timer)
    if old:
        k.usercopy.copy_to_user(old, before)
    return 0


@syscall("timer_gettime", "timer_t timer_id, struct itimerspec *setting", source="kernel/time/posix-timers.c")
def sys_timer_gettime(k: KernelFace, number: int, setting: int) -> int:
    """EINVAL, EFAULT."""
    return timer_gettime(k, number, setting, k.arch.word)


def timer_gettime(k: KernelFace, number: int, setting: int, size: int) -> int:
    """The same with words of this size."""
    k.usercopy.copy_to_user(setting, _itimerspec(k, _posix_timer(k, number), size))
    return 0


@syscall("timer_getoverrun", "timer_t timer_id", source="kernel/time/posix-timers.c")
def sys_timer_getoverrun(k: KernelFace, number: int) -> int:
    """EINVAL."""
    return min(_posix_timer(k, number).overrun, INT_MAX)


@syscall("timer_delete", "timer_t timer_id", source="kernel/time/posix-timers.c")
def sys_timer_delete(k: KernelFace, number: int) -> int:
    """EINVAL."""
    timer = _posix_timer(k, number)
    _disarm(k, timer)
    _free(k, timer)
    del k.current.signal.posix_timers[number]
    return 0


def _free(k: KernelFace, timer: PosixTimer) -> None:
    if timer.hrtimer is not None:
        k.hrtimers.free(timer.hrtimer)
    if timer.user is not None:
        timer.user.sigpending -= 1
        timer.user.charge(-SIGQUEUE_SIZE)
        timer.user = None


def exit_itimers(k: KernelFace, task: Task) -> None:
    """A new program and a dead process have no POSIX timers, and signals of theirs that wait are gone too.

    The second is flush_itimer_signals().
    """
    for posix in task.signal.posix_timers.values():
        _disarm(k, posix)
        _free(k, posix)
    task.signal.posix_timers.clear()
    for pending in (task.pending, task.signal.pending):
        pending.flush_code(SI_TIMER)


def cancel_timers(k: KernelFace, task: Task) -> None:
    """A dead process has no timers of any kind."""
    for which, timer in enumerate(task.signal.itimers):
        if timer is not None:
            timer.disarm()
            task.signal.itimers[which] = None
    exit_itimers(k, task)
    task.signal.cpu_events.clear()
