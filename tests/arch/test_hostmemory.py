"""A machine that takes too much of the host's memory is ended, as one whose time is up; another run begins anew."""

from __future__ import annotations

from collections.abc import Generator

import pytest

import simkernel
from arch.hostmemory import HOST_MEMORY
from arch.hosttime import HOST, HostStop, Why
from simkernel.machine import Machine
from simkernel.usertask import Calls, Request


@pytest.fixture(scope="module")
def machine() -> Machine:
    m = simkernel.boot()
    assert m.session.read_file("/proc/uptime")
    return m


def grows(u: Calls) -> Generator[Request, int, object]:
    """For ever; what it takes is the test's to say."""
    while True:
        yield u.getppid()


def ends(u: Calls) -> Generator[Request, int, object]:
    yield u.getppid()


def test_a_run_ends_when_the_process_has_grown(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter(range(1 << 30, 1 << 60, 1 << 28))  # what a program takes that nobody counts
    monkeypatch.setattr("arch.hostmemory.resident", lambda: next(taken))
    monkeypatch.setattr(HOST_MEMORY, "allowed", 1 << 30)
    result = machine.wait(machine.workload(grows), timeout_host_s=60)
    assert (result.timed_out, result.signal) == ("memory", 9)
    assert HOST.why is Why.MEMORY
    monkeypatch.undo()
    assert machine.wait(machine.workload(ends)).timed_out == ""
    assert HOST.why is Why.NOTHING
    assert machine.session.read_file("/proc/uptime")


def test_what_the_host_does_not_give_is_no_bug(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """MemoryError anywhere in the simulated kernel: with `ulimit -v`, or on a full host."""

    def refused(*args: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr("simkernel.fs.uio.IovIter.copy_from", refused)
    task = machine.workload(lambda u: (yield u.write(1, b"x", 1)))
    assert machine.wait(task).timed_out in ("", "memory")
    fd = machine.session.syscalls.task.syscall("openat", -100, "/tmp/x", 0o102, 0o600)
    with pytest.raises(HostStop):
        machine.session.syscalls.task.syscall("write", fd, b"x", 1)
    monkeypatch.undo()
    assert machine.session.read_file("/proc/uptime")
    assert not any("kernel BUG" in line for line in machine.kernel.log.texts)
