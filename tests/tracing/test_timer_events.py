"""High-resolution timers: the lines that 6.1 shows for each of their users (addresses, times and pids as patterns)."""

import re
import struct

import pytest

import simkernel
from tests.tracing.trace_lines import from_here_on

EVENTS = "/sys/kernel/tracing/events"
TIMERS = ("hrtimer_init", "hrtimer_start", "hrtimer_cancel", "hrtimer_expire_entry", "hrtimer_expire_exit",
          "itimer_state", "itimer_expire")  # fmt: skip
START = r"hrtimer_start: hrtimer=T function={} expires=(\d+) softexpires=(\d+) mode={} was_armed=0"
ENTRY = r"hrtimer_expire_entry: hrtimer=T function={} now=\d+"
EXIT = "hrtimer_expire_exit: hrtimer=T"


@pytest.fixture(scope="module")
def machine():
    machine = simkernel.boot()
    for name in TIMERS:
        machine.session.write_file(f"{EVENTS}/timer/{name}/enable", "1")
    yield machine
    machine.close()


@pytest.fixture
def lines(machine):
    """What happens from here on, one timer's address as T."""

    new = from_here_on(machine)

    def look():
        out = [text for _, text in new()]
        assert len({match for line in out for match in re.findall(r"hrtimer=(\w+)", line)}) == 1
        return [re.sub(r"hrtimer=\w+", "hrtimer=T", line) for line in out]

    return look


def matched(found, wanted):
    assert len(found) == len(wanted), found
    return [
        re.fullmatch(pattern, line) or pytest.fail(f"{line!r} is not {pattern!r}")
        for pattern, line in zip(wanted, found)
    ]


def spec(*ns):
    return struct.pack(f"<{2 * len(ns)}q", *(part for value in ns for part in divmod(value, 10**9)))


def test_a_sleep(machine, lines):
    task = machine.session.task
    with task.memory() as memory:
        task.call("clock_nanosleep", 0, 0, memory.put(spec(5_000_000)), 0)
    found = matched(lines(), (
        "hrtimer_init: hrtimer=T clockid=CLOCK_REALTIME mode=REL", START.format("hrtimer_wakeup", "REL"),
        ENTRY.format("hrtimer_wakeup"), EXIT,
    ))  # fmt: skip
    assert int(found[1][1]) - int(found[1][2]) == 50_000  # the slack of an ordinary task


@pytest.mark.parametrize("call", ["poll", "epoll"])
def test_a_wait_with_an_end(machine, lines, call):
    task = machine.session.task
    if call == "poll":
        task.call("poll", 0, 0, 100)
    else:
        fd = task.call("epoll_create1", 0)
        with task.memory() as memory:
            task.call("epoll_wait", fd, memory.put(bytes(12)), 1, 100)
        task.call("close", fd)
    found = matched(lines(), (
        "hrtimer_init: hrtimer=T clockid=CLOCK_MONOTONIC mode=ABS", START.format("hrtimer_wakeup", "ABS"),
        ENTRY.format("hrtimer_wakeup"), EXIT,
    ))  # fmt: skip
    assert int(found[1][1]) - int(found[1][2]) == 100_000  # a thousandth of what is waited


def test_a_timer_of_a_descriptor(machine, lines):
    task = machine.session.task
    fd = task.call("timerfd_create", 1, 0)
    with task.memory() as memory:
        task.call("timerfd_settime", fd, 0, memory.put(spec(0, 1_000_000)), 0)
        task.call("read", fd, memory.put(bytes(8)), 8)
        task.call("timerfd_settime", fd, 0, memory.put(spec(0, 10**9)), 0)
    task.call("close", fd)
    init = "hrtimer_init: hrtimer=T clockid=CLOCK_MONOTONIC mode="
    start = START.format("timerfd_tmrproc", "REL")
    matched(lines(), (init + "ABS", init + "REL", start, ENTRY.format("timerfd_tmrproc"), EXIT, init + "REL", start,
                      "hrtimer_cancel: hrtimer=T"))  # fmt: skip


def test_a_timer_of_a_process(machine, lines):
    task = machine.session.task
    with task.memory() as memory:
        event = memory.put(struct.pack("<qii48x", 0, 10, 0))  # SIGEV_SIGNAL, SIGUSR1
        where = memory.put(bytes(4))
        task.call("timer_create", 1, event, where)
        task.call("timer_settime", 0, 0, memory.put(spec(0, 10**9)), 0)
        task.call("timer_delete", 0)
    init = "hrtimer_init: hrtimer=T clockid=CLOCK_MONOTONIC mode="
    matched(lines(), (init + "ABS", init + "REL", START.format("posix_timer_fn", "ABS"), "hrtimer_cancel: hrtimer=T"))


def test_a_timer_of_a_process_that_sends_nothing_is_not_started(machine, lines):
    task = machine.session.task
    with task.memory() as memory:
        where = memory.put(bytes(4))
        task.call("timer_create", 1, memory.put(struct.pack("<qii48x", 0, 0, 1)), where)  # SIGEV_NONE
        number = int.from_bytes(machine.session.syscalls.read(where, 4), "little")
        task.call("timer_settime", number, 0, memory.put(spec(0, 10**9)), 0)
        task.call("timer_delete", number)
    init = "hrtimer_init: hrtimer=T clockid=CLOCK_MONOTONIC mode="
    matched(lines(), (init + "ABS", init + "REL"))


def test_an_interval_timer(machine, lines):
    task = machine.session.task
    with task.memory() as memory:
        task.call("setitimer", 0, memory.put(struct.pack("<4q", 0, 0, 1, 500_000)), 0)
        task.call("setitimer", 0, memory.put(bytes(32)), 0)
    matched(lines(), (
        START.format("it_real_fn", "REL"), "itimer_state: which=0 expires=0 it_value=1.500000 it_interval=0.000000",
        "hrtimer_cancel: hrtimer=T", "itimer_state: which=0 expires=0 it_value=0.000000 it_interval=0.000000",
    ))  # fmt: skip
