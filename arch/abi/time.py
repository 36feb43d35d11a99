"""Clocks and timers.  include/uapi/linux/{time,timerfd}.h, include/vdso/time64.h, include/linux/jiffies.h."""

from __future__ import annotations

(CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW,
 CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME, CLOCK_REALTIME_ALARM, CLOCK_BOOTTIME_ALARM,
 CLOCK_SGI_CYCLE, CLOCK_TAI) = range(12)  # fmt: skip
TIMER_ABSTIME = 1
TFD_TIMER_ABSTIME, TFD_TIMER_CANCEL_ON_SET = 1, 2

NSEC_PER_SEC = 1_000_000_000
NSEC_PER_MSEC = 1_000_000
NSEC_PER_USEC = 1_000
HZ = 250  # CONFIG_HZ of the machines here
TICK_NSEC = NSEC_PER_SEC // HZ  # one jiffy
MIN_DELTA_NS = 1000  # a clock event comes no sooner (struct clock_event_device of lapic-deadline)
USER_HZ = 100  # what times(2), AT_CLKTCK and /proc count in
USER_TICK_NSEC = NSEC_PER_SEC // USER_HZ
INITIAL_JIFFIES = -300 * HZ & 0xFFFFFFFF
