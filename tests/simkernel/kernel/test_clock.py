"""Virtual time: events, the limit of an idle machine, the end of time."""

from __future__ import annotations

from simkernel.kernel.clock import KTIME_MAX, Clock
from simkernel.machine import boot

SECOND = 10**9


def test_idle_time_ends_at_the_limit() -> None:
    clock = Clock()
    ran: list[int] = []
    clock.add(9 * SECOND, lambda: ran.append(clock.now_ns))
    assert clock.skip_to_next(4 * SECOND) and (clock.now_ns, clock.idle_ns, ran) == (4 * SECOND, 4 * SECOND, [])
    assert clock.skip_to_next(20 * SECOND) and ran == [9 * SECOND] == [clock.now_ns]
    assert not clock.skip_to_next(20 * SECOND)


def test_what_is_set_to_the_end_of_time_never_comes() -> None:
    clock = Clock()
    for when in (KTIME_MAX, 1 << 63, 1 << 70):
        clock.add(when, lambda: None)
    assert not clock.skip_to_next() and clock.now_ns == 0


def test_a_machine_does_not_run_past_its_limit() -> None:
    """A timer of a hundred years was reached by an idle machine that had a second to run."""
    machine = boot()
    k = machine.kernel
    before = k.clock.now_ns
    k.clock.add(before + 100 * 365 * 86_400 * SECOND, lambda: None)
    assert not k.cpus.run(lambda: False, before + SECOND)
    assert before + SECOND <= k.clock.now_ns < before + 2 * SECOND
    machine.close()
