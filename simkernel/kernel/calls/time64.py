"""Clocks and timers with 64-bit times on 32-bit machines, in calls of their own since 5.1.  kernel/time/posix-timers.c, kernel/sched/core.c."""

from __future__ import annotations

from simkernel.kernel.calls.adjtimex import clock_adjtime
from simkernel.kernel.calls.posix_timers import timer_gettime, timer_settime
from simkernel.kernel.calls.sched import rr_get_interval
from simkernel.kernel.calls.time import clock_getres, clock_settime
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall

TIME64 = 8  # bytes of the fields of struct __kernel_timespec
TIMERS = "kernel/time/posix-timers.c"


@syscall("clock_settime64", "clockid_t which_clock, const struct __kernel_timespec *tp", source=TIMERS, since="5.1")
def sys_clock_settime64(k: KernelFace, which: int, tp: int) -> int:
    """clock_settime(2)."""
    return clock_settime(k, which, tp, TIME64)


@syscall("clock_getres_time64", "clockid_t which_clock, struct __kernel_timespec *tp", source=TIMERS, since="5.1")
def sys_clock_getres_time64(k: KernelFace, which: int, tp: int) -> int:
    """clock_getres(2)."""
    return clock_getres(k, which, tp, TIME64)


@syscall("clock_adjtime64", "clockid_t which_clock, struct __kernel_timex *utx", source=TIMERS, since="5.1")
def sys_clock_adjtime64(k: KernelFace, which: int, txc: int) -> int:
    """clock_adjtime(2)."""
    return clock_adjtime(k, which, txc, TIME64)


@syscall("timer_gettime64", "timer_t timer_id, struct __kernel_itimerspec *setting", source=TIMERS, since="5.1")
def sys_timer_gettime64(k: KernelFace, number: int, setting: int) -> int:
    """timer_gettime(2)."""
    return timer_gettime(k, number, setting, TIME64)


@syscall(
    "timer_settime64",
    "timer_t timer_id, int flags, const struct __kernel_itimerspec *new_setting, struct __kernel_itimerspec *old_setting",
    source=TIMERS,
    since="5.1",
)
def sys_timer_settime64(k: KernelFace, number: int, flags: int, new: int, old: int) -> int:
    """timer_settime(2)."""
    return timer_settime(k, number, flags, new, old, TIME64)


@syscall(
    "sched_rr_get_interval_time64",
    "pid_t pid, struct __kernel_timespec *interval",
    source="kernel/sched/core.c",
    since="5.1",
)
def sys_sched_rr_get_interval_time64(k: KernelFace, pid: int, interval: int) -> int:
    """sched_rr_get_interval(2)."""
    return rr_get_interval(k, pid, interval, TIME64)
