"""System calls of time: clocks and sleeping.  kernel/time/*.c."""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_TIME
from arch.abi.errno import (
    EINVAL,
    EOPNOTSUPP,
    EPERM,
    ERESTART_RESTARTBLOCK,
    ERESTARTNOHAND,
    ETIME,
)
from arch.abi.limits import U32_MAX
from arch.abi.time import (
    CLOCK_BOOTTIME,
    CLOCK_BOOTTIME_ALARM,
    CLOCK_MONOTONIC,
    CLOCK_MONOTONIC_COARSE,
    CLOCK_MONOTONIC_RAW,
    CLOCK_REALTIME,
    CLOCK_REALTIME_ALARM,
    CLOCK_REALTIME_COARSE,
    CLOCK_TAI,
    CLOCK_THREAD_CPUTIME_ID,
    INITIAL_JIFFIES,
    NSEC_PER_SEC,
    TICK_NSEC,
    TIMER_ABSTIME,
    USER_TICK_NSEC,
)
from arch.errors import KernelError
from simkernel.kernel.calls.cpu_clocks import cpu_clock_now, cpu_nanosleep, is_cpu_clock
from simkernel.kernel.clock import HRTIMER_MODE_ABS, HRTIMER_MODE_REL, KTIME_MAX
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.namespaces import time_offsets
from simkernel.kernel.security import ask


class Times:
    """Reading and writing timespec and timeval.  32-bit machines have old (32-bit) and new (64-bit) forms."""

    def __init__(self, k: KernelFace) -> None:
        self.k = k


def read_pair(k: KernelFace, addr: int, size: int) -> tuple[int, int]:
    """Two signed integers of `size` bytes."""
    raw = k.usercopy.copy_from_user(addr, 2 * size)
    order = k.mem.byteorder
    return int.from_bytes(raw[:size], order, signed=True), int.from_bytes(raw[size:], order, signed=True)


def pair_bytes(k: KernelFace, first: int, second: int, size: int) -> bytes:
    """Two integers of `size` bytes."""
    mask = (1 << 8 * size) - 1
    return (first & mask).to_bytes(size, k.mem.byteorder) + (second & mask).to_bytes(size, k.mem.byteorder)


def read_timespec(k: KernelFace, addr: int, size: int | None = None) -> int:
    """Nanoseconds.  EINVAL for an impossible one."""
    seconds, ns = read_pair(k, addr, size or k.arch.word)
    if seconds < 0 or not 0 <= ns < NSEC_PER_SEC:
        raise KernelError(EINVAL)
    return min(seconds * NSEC_PER_SEC + ns, KTIME_MAX)


def relative_ns(k: KernelFace, which: int, ns: int) -> int:
    """ktime_add_safe(): how long until a relative time by a clock is over: its end is no later than the clock can say.

    Timers by CLOCK_REALTIME are by CLOCK_MONOTONIC where they are relative; those of alarms and of TAI are not.
    """
    base = clock_now(k, which) if which in (CLOCK_TAI, CLOCK_REALTIME_ALARM) else k.clock.now_ns
    return min(ns, KTIME_MAX - base)


def timespec64(k: KernelFace, addr: int, size: int) -> int:
    """get_timespec64() and its kin: the struct timespec64 in kernel memory that a kernel function is called with.  EFAULT."""
    return k.mirror.scratch(pair_bytes(k, *read_pair(k, addr, size), 8)) if addr else 0


def read_timespec64(k: KernelFace, addr: int) -> tuple[int, int]:
    """Seconds and nanoseconds of one."""
    raw, order = k.mem.read(addr, 16), k.mem.byteorder
    return int.from_bytes(raw[:8], order, signed=True), int.from_bytes(raw[8:], order, signed=True)


def write_timespec(k: KernelFace, addr: int, ns: int, size: int | None = None) -> None:
    """Store nanoseconds as a timespec."""
    k.usercopy.copy_to_user(addr, pair_bytes(k, *divmod(ns, NSEC_PER_SEC), size or k.arch.word))


def clock_now(k: KernelFace, which: int) -> int:
    """What a clock shows, in nanoseconds.  EINVAL for an unknown one."""
    k.cpus.charge_user()
    now = k.clock.now_ns
    if which in (CLOCK_REALTIME, CLOCK_REALTIME_ALARM):
        return k.clock.realtime_ns
    if which == CLOCK_TAI:
        return k.clock.realtime_ns + k.clock.tai_offset * NSEC_PER_SEC
    if which == CLOCK_REALTIME_COARSE:
        return k.clock.realtime_ns // TICK_NSEC * TICK_NSEC
    offsets = time_offsets(k.current.namespaces.get("time"))
    if which == CLOCK_MONOTONIC_COARSE:
        return now // TICK_NSEC * TICK_NSEC + offsets.monotonic
    if which == CLOCK_MONOTONIC:
        return now + offsets.monotonic
    if which == CLOCK_MONOTONIC_RAW:
        return k.clock.raw_ns + offsets.monotonic
    if which in (CLOCK_BOOTTIME, CLOCK_BOOTTIME_ALARM):
        return now + offsets.boottime
    if is_cpu_clock(which):
        return cpu_clock_now(k, which)
    raise KernelError(EINVAL)


def _gettime(k: KernelFace, which: int, tp: int, size: int | None) -> int:
    write_timespec(k, tp, clock_now(k, which), size)
    return 0


@syscall("clock_gettime", "clockid_t which_clock, struct timespec *tp", source="kernel/time/posix-timers.c")
def sys_clock_gettime(k: KernelFace, which: int, tp: int) -> int:
    """EINVAL, EFAULT."""
    return _gettime(k, which, tp, None)


@syscall("clock_gettime64", "clockid_t which_clock, struct timespec *tp", source="kernel/time/posix-timers.c")
def sys_clock_gettime64(k: KernelFace, which: int, tp: int) -> int:
    """The same with 64-bit times on 32-bit machines."""
    return _gettime(k, which, tp, 8)


@syscall("clock_getres", "clockid_t which_clock, struct timespec *tp", source="kernel/time/posix-timers.c")
def sys_clock_getres(k: KernelFace, which: int, tp: int) -> int:
    """EINVAL, EFAULT."""
    return clock_getres(k, which, tp, k.arch.word)


def clock_getres(k: KernelFace, which: int, tp: int, size: int) -> int:
    """The same with words of this size."""
    clock_now(k, which)
    if tp:
        write_timespec(k, tp, TICK_NSEC if which in (CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE) else 1, size)
    return 0


def _may_set_time(k: KernelFace, ns: int) -> None:
    """security_settime64(): to that time.  EPERM."""
    if not k.capable(CAP_SYS_TIME):
        raise KernelError(EPERM)
    if "settime" in k.security_hooks.watched:
        shown = k.new("struct timespec64")
        shown.tv_sec, shown.tv_nsec = divmod(ns, NSEC_PER_SEC)
        try:
            ask(k, "settime", shown.addr, 0)
        finally:
            k.mem.free(shown.addr)


@syscall("clock_settime", "clockid_t which_clock, const struct timespec *tp", source="kernel/time/posix-timers.c")
def sys_clock_settime(k: KernelFace, which: int, tp: int) -> int:
    """CLOCK_REALTIME; CPU time cannot be set.  EINVAL, EFAULT, EPERM."""
    return clock_settime(k, which, tp, k.arch.word)


def clock_settime(k: KernelFace, which: int, tp: int, size: int) -> int:
    """The same with words of this size."""
    if which > 0:
        raise KernelError(EINVAL)
    k.usercopy.copy_from_user(tp, 2 * size)
    if which < 0:  # posix_cpu_clock_set()
        clock_now(k, which)
        raise KernelError(EPERM)
    time = read_timespec(k, tp, size)
    _may_set_time(k, time)
    _set_time(k, time)
    return 0


def _set_time(k: KernelFace, ns: int) -> None:
    """do_settimeofday64().  EINVAL: before the machine was started."""
    if ns < k.clock.now_ns or ns > TIME_SETTOD_SEC_MAX * NSEC_PER_SEC:
        raise KernelError(EINVAL)
    k.clock.set_realtime(ns)


@syscall("gettimeofday", "struct timeval *tv, struct timezone *tz", source="kernel/time/time.c")
def sys_gettimeofday(k: KernelFace, tv: int, tz: int) -> int:
    """Wall clock in microseconds."""
    k.cpus.charge_user()
    if tv:
        seconds, ns = divmod(k.clock.realtime_ns, NSEC_PER_SEC)
        k.usercopy.copy_to_user(tv, pair_bytes(k, seconds, ns // 1000, k.arch.word))
    if tz:
        k.usercopy.copy_to_user(tz, bytes(8))
    return 0


@syscall("settimeofday", "struct timeval *tv, struct timezone *tz", source="kernel/time/time.c")
def sys_settimeofday(k: KernelFace, tv: int, tz: int) -> int:
    """Set the wall clock.  EINVAL, EFAULT, EPERM."""
    seconds, us = read_pair(k, tv, k.arch.word) if tv else (0, 0)
    if not 0 <= us <= 1_000_000:
        raise KernelError(EINVAL)
    zone = k.usercopy.copy_from_user(tz, 8) if tz else bytes(8)
    if seconds < 0 or us == 1_000_000:
        raise KernelError(EINVAL)
    _may_set_time(k, seconds * NSEC_PER_SEC + us * 1000)
    if abs(int.from_bytes(zone[:4], k.mem.byteorder, signed=True)) > 15 * 60:
        raise KernelError(EINVAL)
    if tv:
        _set_time(k, seconds * NSEC_PER_SEC + us * 1000)
    return 0


@syscall("time", "long *tloc", source="kernel/time/time.c")
def sys_time(k: KernelFace, tloc: int) -> int:
    """Seconds of the wall clock."""
    k.cpus.charge_user()
    value = k.clock.realtime_ns // NSEC_PER_SEC
    if tloc:
        k.usercopy.put_user(tloc, k.arch.word, value)
    return value


@syscall("times", "struct tms *tbuf", source="kernel/sys.c")
def sys_times(k: KernelFace, tbuf: int) -> int:
    """Clock ticks since the time from which jiffies count.  EFAULT."""
    k.cpus.charge_user()
    k.cpus.account()
    signal = k.current.signal
    if tbuf:
        own_u = sum(t.utime_ns for t in signal.threads) + signal.utime_ns
        own_s = sum(t.stime_ns for t in signal.threads) + signal.stime_ns
        values = (own_u, own_s, signal.cutime_ns, signal.cstime_ns)
        word, order = k.arch.word, k.mem.byteorder
        k.usercopy.copy_to_user(tbuf, b"".join((v // USER_TICK_NSEC).to_bytes(word, order) for v in values))
    ticks = INITIAL_JIFFIES * TICK_NSEC // USER_TICK_NSEC + k.clock.now_ns // USER_TICK_NSEC
    return ticks if k.arch.word == 8 else ticks & U32_MAX


# -- sleeping -----------------------------------------------------------------------------------------------------


WALL_CLOCKS = (CLOCK_REALTIME, CLOCK_REALTIME_ALARM, CLOCK_TAI)


@kernel_function(
    "long hrtimer_nanosleep(ktime_t rqtp, const int mode, const clockid_t clockid)", source="kernel/time/hrtimer.c"
)
def hrtimer_nanosleep(k: KernelFace, until: int, mode: int, clockid: int) -> Body:
    """Sleep until an absolute time of the monotonic clock; 0 or -ERESTART_RESTARTBLOCK when interrupted."""
    task = k.current
    task.sleep_clock = clockid
    task.sleeps_until = until

    def jumped(ns: int) -> None:
        task.sleeps_until -= ns
        k.cpus.wake_task(task)

    if clockid in WALL_CLOCKS and task.sleep_request[1] == HRTIMER_MODE_ABS:
        k.clock.when_set[jumped] = None
    try:
        while k.clock.now_ns < task.sleeps_until:
            result = yield k.call("do_nanosleep", 0, 0)
            if result:
                raise KernelError(ERESTART_RESTARTBLOCK)
    finally:
        k.clock.when_set.pop(jumped, None)
    return 0


@kernel_function("int do_nanosleep(struct hrtimer_sleeper *t, int mode)", source="kernel/time/hrtimer.c")
def do_nanosleep(k: KernelFace, t: int, mode: int) -> Body:
    """Sleep once; 1 when a signal came.  The time is the task's: a pointer of a 32-bit machine could not carry it."""
    if k.text.is_probed("hrtimer_start_range_ns"):
        expires, how = k.current.sleep_request
        yield k.call("hrtimer_start_range_ns", t, expires, k.current.timer_slack_ns, how)
    k.hrtimers.sleeper(k.current, k.current.sleep_clock, k.current.sleep_request[1])
    result = yield k.wait(None, timeout_ns=k.current.sleeps_until - k.clock.now_ns)
    return int(result not in (0, -ETIME))


@kernel_function(
    "void hrtimer_start_range_ns(struct hrtimer *timer, ktime_t tim, u64 delta_ns, const enum hrtimer_mode mode)",
    source="kernel/time/hrtimer.c",
)
def hrtimer_start_range_ns(k: KernelFace, timer: int, tim: int, delta_ns: int, mode: int) -> int:
    """Called for sleeps, where somebody looks; what wakes them is the wait's own time."""
    return 0


def _sleep(
    k: KernelFace, until: int, remaining: int, size: int | None, asked: int | None = None, which: int = CLOCK_MONOTONIC
) -> Body:
    k.current.sleep_request = (until, HRTIMER_MODE_ABS) if asked is None else (asked, HRTIMER_MODE_REL)
    result: int = yield k.call("hrtimer_nanosleep", until, 1, which)
    if result == -ERESTART_RESTARTBLOCK:
        if remaining:
            write_timespec(k, remaining, max(until - k.clock.now_ns, 0), size)
        k.current.restart = lambda: _sleep(k, until, remaining, size, None, which)
    return result


@syscall("nanosleep", "struct timespec *rqtp, struct timespec *rmtp", source="kernel/time/hrtimer.c")
def sys_nanosleep(k: KernelFace, rqtp: int, rmtp: int) -> Body:
    """EINVAL, EFAULT, EINTR."""
    k.cpus.charge_user()
    asked = read_timespec(k, rqtp)
    return (yield from _sleep(k, k.clock.now_ns + asked, rmtp, None, asked))


TIME_SETTOD_SEC_MAX = (
    (1 << 63) - 1
) // NSEC_PER_SEC - 30 * 365 * 24 * 3600  # include/linux/time64.h: thirty years of uptime
WITHOUT_SLEEP = (
    CLOCK_THREAD_CPUTIME_ID,
    CLOCK_MONOTONIC_RAW,
    CLOCK_MONOTONIC_COARSE,
    CLOCK_REALTIME_COARSE,
)  # no nsleep


def _clock_nanosleep(k: KernelFace, which: int, flags: int, rqtp: int, rmtp: int, size: int | None) -> Body:
    now = 0 if which < 0 else clock_now(k, which)
    if which in WITHOUT_SLEEP:
        raise KernelError(EOPNOTSUPP)
    want = read_timespec(k, rqtp, size)
    clock_now(k, which)
    if is_cpu_clock(which):

        def tell(left: int) -> None:
            if rmtp:
                write_timespec(k, rmtp, left, size)

        return (yield from cpu_nanosleep(k, which, flags, want, tell))
    if flags & TIMER_ABSTIME:
        until = k.clock.now_ns + want - now
        k.current.sleep_request = (want, HRTIMER_MODE_ABS)
        result: int = yield k.call("hrtimer_nanosleep", until, 0, which)
        return -ERESTARTNOHAND if result else 0
    return (yield from _sleep(k, k.clock.now_ns + want, rmtp, size, want, which))


@syscall(
    "clock_nanosleep",
    "clockid_t which_clock, int flags, const struct timespec *rqtp, struct timespec *rmtp",
    source="kernel/time/posix-timers.c",
)
def sys_clock_nanosleep(k: KernelFace, which: int, flags: int, rqtp: int, rmtp: int) -> Body:
    """EINVAL, EFAULT, EINTR."""
    return (yield from _clock_nanosleep(k, which, flags, rqtp, rmtp, None))


@syscall(
    "clock_nanosleep_time64",
    "clockid_t which_clock, int flags, const struct timespec *rqtp, struct timespec *rmtp",
    source="kernel/time/posix-timers.c",
)
def sys_clock_nanosleep_time64(k: KernelFace, which: int, flags: int, rqtp: int, rmtp: int) -> Body:
    """The same with 64-bit times on 32-bit machines."""
    return (yield from _clock_nanosleep(k, which, flags, rqtp, rmtp, 8))
