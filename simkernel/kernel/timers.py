"""Kernel timers: struct timer_list.  kernel/time/timer.c.

`k.timers.setup(address, "tcp_write_timer")`, then `mod(address, when_ns)`: the timer's tick comes, the CPU's local timer
interrupt raises TIMER_SOFTIRQ, and that calls the function with the timer's address (timer.py).  They go by jiffies, as Linux's
do: setting one anew for the jiffy that it is set for already does nothing.
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.time import INITIAL_JIFFIES, TICK_NSEC
from arch.cview import View
from arch.memory import KernelMemory
from arch.typetable import TypeTable
from simkernel.kernel.clock import Clock, Event
from simkernel.kernel.interrupts import Interrupts
from simkernel.kernel.tracepoints import Tracepoints

TIMER_ARRAYSHIFT = 22  # where in `flags` the bucket is
LEVEL_BITS, CLOCK_SHIFT, LEVELS = (
    6,
    3,
    9,
)  # buckets of a level; how much coarser each is than the one before; with HZ over 100


def wheel_place(expires: int, now: int) -> tuple[int, int]:
    """calc_wheel_index(): (bucket, jiffies at which it is emptied).  The further away, the coarser: at most an eighth late."""
    size = 1 << LEVEL_BITS
    expires = max(expires, now)
    delta = expires - now
    level = next((n for n in range(LEVELS - 1) if delta < (size - 1) << n * CLOCK_SHIFT), LEVELS - 1)
    shift = level * CLOCK_SHIFT
    expires = min(expires, now + ((size - 1) << (LEVELS - 1) * CLOCK_SHIFT)) + (1 << shift) >> shift
    return level * size + expires % size, expires << shift


class Functions(Protocol):
    """Where kernel functions are (text.py)."""

    def address_of(self, name: str) -> int:
        """By canonical name."""
        ...


class Timer:
    """One struct timer_list."""

    __slots__ = ("addr", "armed", "cpu", "data", "due", "expires", "fires", "function", "place", "view")

    def __init__(self, addr: int, view: View, function: str, data: int) -> None:
        self.addr, self.view, self.function, self.data = addr, view, function, data
        self.expires = self.fires = 0  # jiffies: what was asked for, and when its bucket of the wheel is emptied
        self.place = 0  # which bucket
        self.cpu = 0
        self.armed: Event | None = None  # of the clock
        self.due = False  # its tick has come; the softirq will call it

    @property
    def pending(self) -> bool:
        """timer_pending()."""
        return self.armed is not None or self.due


class Timers:
    """`k.timers`."""

    def __init__(
        self,
        mem: KernelMemory,
        types: TypeTable,
        clock: Clock,
        irqs: Interrupts,
        tracepoints: Tracepoints,
        text: Functions,
        with_data: bool,
    ) -> None:
        self.mem, self.types, self.clock, self.irqs, self.text = mem, types, clock, irqs, text
        self.trace = tracepoints.trace
        self.with_data = with_data  # before 4.15: a function gets `data`
        self.by_address: dict[int, Timer] = {}
        self.due: list[list[Timer]] = [[] for _ in range(irqs.nr_cpus)]

    def setup(self, addr: int, function: str, data: int = 0, *, told: bool = False) -> None:
        """timer_setup(): `data` is what the functions of kernels before 4.15 get; `told`: timer_init was seen already."""
        view = View(self.mem, addr, self.types.type("struct timer_list"))
        view.function = self.text.address_of(function)
        if self.with_data:
            view.data = data
        self.by_address[addr] = Timer(addr, view, function, data)
        if not told:
            self.trace("timer_init", addr)

    def mod(self, addr: int, when_ns: int) -> None:
        """mod_timer(): run so many jiffies after the last tick as it takes until `when_ns` (CLOCK_MONOTONIC)."""
        timer = self.by_address[addr]
        now = self.clock.now_ns
        tick = now // TICK_NSEC - (now - when_ns) // TICK_NSEC
        place, fires = wheel_place(INITIAL_JIFFIES + tick, INITIAL_JIFFIES + now // TICK_NSEC)
        if timer.armed is not None:
            if timer.expires == tick:
                return
            if timer.place == place:  # the same bucket of the wheel
                timer.expires = tick
                timer.view.expires = INITIAL_JIFFIES + tick
                return
            self.clock.cancel(timer.armed)
            self.trace("timer_cancel", addr)
        elif timer.due:
            self.due[timer.cpu].remove(timer)
            timer.due = False
            self.trace("timer_cancel", addr)
        timer.expires, timer.place, timer.cpu = tick, place, self.irqs.cpus.rq.cpu
        timer.fires = fires - INITIAL_JIFFIES
        timer.view.expires = INITIAL_JIFFIES + tick
        flags = timer.cpu | place << TIMER_ARRAYSHIFT
        timer.view.flags = flags
        self.trace("timer_start", addr, INITIAL_JIFFIES + tick, flags)
        timer.armed = self.clock.add(timer.fires * TICK_NSEC, lambda: self._expire(timer))

    def expires_ns(self, addr: int) -> int:
        """When it will run, if it is pending (CLOCK_MONOTONIC)."""
        return self.by_address[addr].expires * TICK_NSEC

    def pending(self, addr: int) -> bool:
        """timer_pending()."""
        return self.by_address[addr].pending

    def delete(self, addr: int) -> bool:
        """del_timer(); whether it was pending."""
        timer = self.by_address[addr]
        if not timer.pending:
            return False
        self._stop(timer)
        self.trace("timer_cancel", addr)
        return True

    def forget(self, addr: int) -> None:
        """The memory of a timer goes away."""
        timer = self.by_address.pop(addr, None)
        if timer is not None:
            self._stop(timer)

    def _stop(self, timer: Timer) -> None:
        if timer.armed is not None:
            self.clock.cancel(timer.armed)
            timer.armed = None
        if timer.due:
            self.due[timer.cpu].remove(timer)
            timer.due = False

    def _expire(self, timer: Timer) -> None:
        timer.armed, timer.due = None, True
        self.due[timer.cpu].append(timer)
        self.irqs.raise_local_timer(timer.cpu, "update_process_times", 0)

    def take_due(self, cpu: int) -> Timer | None:
        """The next one to be called on a CPU."""
        if not self.due[cpu]:
            return None
        timer = self.due[cpu].pop(0)
        timer.due = False
        self.trace("timer_cancel", timer.addr)  # detach_timer()
        return timer
