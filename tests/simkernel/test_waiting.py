"""Waiting for what happens, instead of guessing how long it takes."""

from __future__ import annotations

import shutil
from contextlib import closing

import pytest

import simkernel
from simkernel.waiting import line_of

SECOND = 1_000_000_000


@pytest.fixture
def m():
    with closing(simkernel.boot()) as machine:
        yield machine


def sleeper(seconds, times=1):
    def program(u):
        for _ in range(times):
            spec = u.alloc(16)
            u.write_memory(spec, seconds.to_bytes(8, "little") + bytes(8))
            yield u.nanosleep(spec, 0)

    return program


def test_idle_is_when_sleepers_have_slept(m):
    task = m.workload(sleeper(3))
    m.run_until_idle()
    assert task.exit_state
    assert 3 * SECOND <= m.kernel.clock.now_ns < 4 * SECOND


def test_what_never_gets_idle_says_who_keeps_it_busy(m):
    m.workload(sleeper(1, times=100), "ticker")
    with pytest.raises(simkernel.NeverHappened, match=r"not idle after 2 s of virtual time; tasks: .*ticker\[\d+\]"):
        m.run_until_idle(2 * SECOND)


def test_an_event_and_its_lines(m):
    m.workload(sleeper(1, times=3), "ticker")
    lines = m.wait_for_event("syscalls:sys_enter_nanosleep", count=2)
    assert len(lines) == 2 and all("ticker-" in line and "sys_nanosleep(" in line for line in lines)
    assert SECOND <= m.kernel.clock.now_ns <= 2 * SECOND + SECOND // 100  # the second one begins after a second


def test_a_condition_may_use_the_machine(m):
    m.workload(sleeper(2))
    m.wait_until(lambda: float(m.session.read_file("/proc/uptime").split()[0]) >= 1)


def test_what_cannot_come_is_said_at_once(m):
    with pytest.raises(simkernel.NeverHappened, match="the moon cannot come any more: nothing is left to happen"):
        m.wait_until(lambda: False, what="the moon")


def test_what_does_not_come_in_time(m):
    m.workload(sleeper(1, times=50), "ticker")
    with pytest.raises(simkernel.NeverHappened, match=r"line number 1 with 'x' in the trace did not come within 1 s"):
        m.wait_for_line("x", limit_ns=SECOND)


def test_a_map_fills(m):
    obj = m.load("samples/obj/x86_64/writes.bpf.o")
    obj.attach()

    def writer(u):
        fd = yield u.openat(-100, "/tmp/x", 0o102, 0o600)
        yield u.write(fd, b"x" * 12, 12)

    m.workload(writer)
    assert len(m.wait_for_map(obj.maps["by_process"])) == 1


@pytest.mark.parametrize(
    "event, line",
    [
        ("sys_enter_read", "  cat-1  [000] .... 1.0: sys_read(fd: 0)"),
        ("sys_exit_read", "  cat-1  [000] .... 1.0: sys_read -> 0x0"),
        ("sched_switch", "  cat-1  [000] .... 1.0: sched_switch: prev_comm=cat"),
    ],
)
def test_the_lines_of_an_event(event, line):
    import re

    assert re.search(line_of(event), line)
    assert not re.search(line_of(event), line.replace("read", "write").replace("sched_switch", "sched_wakeup"))


def test_binds_may_be_text(tmp_path):
    (tmp_path / "file").write_text("data")
    with closing(simkernel.boot(binds=[f"{tmp_path}:/in"])) as m:
        assert m.session.read_file("/in/file") == b"data"
    with pytest.raises(ValueError, match="/nowhere:/in: /nowhere does not exist on the host"):
        simkernel.boot(binds=["/nowhere:/in"])


def test_a_misspelt_call_is_an_error_and_one_of_another_machine_is_enosys(m):
    task = m.user_task()
    with pytest.raises(ValueError, match="no system call is named 'opennat'; near: openat"):
        task.syscall("opennat")
    assert task.syscall("socketcall", 0, 0) == -38  # i386 has it

    def program(u):
        yield u.opennat(0)

    with pytest.raises(ValueError, match="opennat"):
        m.workload(program)
        m.run_until_idle()


@pytest.mark.skipif(not shutil.which("busybox"), reason="needs busybox-static")
def test_a_shell_that_sleeps_is_waited_for(m):
    task = m.spawn([m.install("busybox"), "sh", "-c", "sleep 5; echo done > /tmp/x"])
    m.run_until_idle()
    assert task.exit_state and m.session.read_file("/tmp/x") == b"done\n"
