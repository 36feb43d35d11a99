"""Virtual time: a nanosecond clock moved by a declared cost model, and one queue of events.

kernel/time/{hrtimer,timekeeping}.c.  The host's clock is never read.  The wall clock starts at a fixed date, so that
two runs with the same seed show the same times.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

BOOT_REALTIME_NS = 1_700_000_000 * 1_000_000_000  # wall clock at boot: 2023-11-14 22:13:20 UTC


KTIME_MAX = (1 << 63) - 1  # include/linux/ktime.h: what is set to this time or later never comes
RATE = 10**6 << 16  # of a clock that is not steered: millions, with 16 bits behind the point as in struct timex
SPARE = 64  # cancelled events that may lie in the queue


class Event:
    """Something that happens when its time has come; a handle for cancel()."""

    __slots__ = ("fn",)

    def __init__(self, fn: Callable[[], object]) -> None:
        self.fn: Callable[[], object] | None = fn  # None: it has run, or was cancelled


# include/linux/hrtimer.h
HRTIMER_MODE_ABS, HRTIMER_MODE_REL, HRTIMER_MODE_PINNED, HRTIMER_MODE_SOFT, HRTIMER_MODE_HARD = 0, 1, 2, 4, 8


class HrTimer:
    """One struct hrtimer (hrtimers.py)."""

    __slots__ = ("addr", "armed", "clockid", "expires", "function", "mode", "slack", "soft")

    def __init__(self, addr: int, function: str, clockid: int, mode: int) -> None:
        self.addr, self.function, self.clockid, self.mode = addr, function, clockid, mode
        self.expires = self.soft = 0  # ns of CLOCK_MONOTONIC
        self.slack = 0  # of a sleep, ns
        self.armed = False


class Clock:
    """CLOCK_MONOTONIC in nanoseconds since boot, and the events waiting for it."""

    __slots__ = (
        "_cancelled",
        "_heap",
        "_now",
        "_order",
        "_rate",
        "_steered",
        "idle_ns",
        "next_event_ns",
        "realtime_offset_ns",
        "tai_offset",
        "when_set",
    )

    def __init__(self) -> None:
        self._now = 0
        self._heap: list[tuple[int, int, Event]] = []
        self._order = 0
        self._cancelled = 0  # events in the heap that were cancelled
        self.idle_ns = 0
        self.next_event_ns = KTIME_MAX
        self.realtime_offset_ns = BOOT_REALTIME_NS
        self.when_set: dict[Callable[[int], object], None] = {}  # told by how many ns the wall clock jumped
        self._rate = RATE  # of this clock, against the one that nobody steers
        self._steered = (0, 0)  # since when: what this clock and the other showed then
        self.tai_offset = 0  # seconds of CLOCK_TAI before CLOCK_REALTIME

    @property
    def now_ns(self) -> int:
        """Nanoseconds since boot (CLOCK_MONOTONIC)."""
        return self._now

    @property
    def realtime_ns(self) -> int:
        """CLOCK_REALTIME."""
        return self._now + self.realtime_offset_ns

    @property
    def raw_ns(self) -> int:
        """CLOCK_MONOTONIC_RAW: time goes by this machine's clock, so it is the other that is slower or faster when one steers."""
        then, raw = self._steered
        return raw + (self._now - then) * RATE // self._rate

    def steer(self, rate: int) -> None:
        """ntp_update_frequency(): the clock goes at this rate, in units of RATE."""
        self._steered, self._rate = (self._now, self.raw_ns), rate

    def set_realtime(self, ns: int) -> None:
        """clock_was_set(): the wall clock shows this from now on, and what goes by it hears of the jump."""
        jump = ns - self.realtime_ns
        self.realtime_offset_ns += jump
        for hear in list(self.when_set):
            hear(jump)

    def advance(self, ns: int) -> None:
        """Work was done that costs this much."""
        self._now += ns

    def add(self, when_ns: int, fn: Callable[[], object]) -> Event:
        """Run `fn()` when the clock reaches `when_ns`; events of one instant run in the order they were added."""
        self._order += 1
        event = Event(fn)
        heapq.heappush(self._heap, (when_ns, self._order, event))
        self.next_event_ns = self._heap[0][0]
        return event

    def cancel(self, event: Event | None) -> None:
        """Forget an event; harmless when it has run."""
        if event is not None:
            self._cancelled += event.fn is not None
            event.fn = None
            self._drop_cancelled()

    def _drop_cancelled(self) -> None:
        """Those on top at once, the others when they are the greater part: so they do not pile up."""
        heap = self._heap
        if self._cancelled > len(heap) // 2 + SPARE:
            heap[:] = [entry for entry in heap if entry[2].fn is not None]
            heapq.heapify(heap)
            self._cancelled = 0
        while heap and heap[0][2].fn is None:
            heapq.heappop(heap)
            self._cancelled -= 1
        self.next_event_ns = heap[0][0] if heap else KTIME_MAX

    def run_due(self) -> int:
        """Run every event whose time has come; says how many."""
        count = 0
        heap = self._heap
        while heap and (heap[0][0] <= self._now or heap[0][2].fn is None):
            event = heapq.heappop(heap)[2]
            fn, event.fn = event.fn, None
            if fn is None:
                self._cancelled -= 1
            else:
                fn()
                count += 1
        self.next_event_ns = heap[0][0] if heap else KTIME_MAX
        return count

    def skip_to_next(self, limit_ns: int | None = None) -> bool:
        """Idle: jump to the next event and run it, or to `limit_ns` where that is earlier; False when there is no event."""
        self._drop_cancelled()
        if not self._heap or self._heap[0][0] >= KTIME_MAX:
            return False
        when = self._heap[0][0]
        if limit_ns is not None and when > limit_ns:
            when = limit_ns
        if when > self._now:
            self.idle_ns += when - self._now
            self._now = when
        self.run_due()
        return True
