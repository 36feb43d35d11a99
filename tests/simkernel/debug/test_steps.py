"""Forwards and backwards: the state after n steps and m back is that of a run of n - m steps, bit for bit."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import simkernel
from arch.architecture import OURS
from arch.errors import Fault
from simkernel.copies import Template
from simkernel.debug import look
from simkernel.debug.breaks import AtAddress, BreakError, MapChange, OnSyscall, parse
from simkernel.debug.commands import Commands
from simkernel.debug.debugger import DebugError, Debugger
from simkernel.debug.places import Kind, Place
from simkernel.machine import Machine

SAMPLES = Path(__file__).parents[3] / "samples"
WRITER = SAMPLES / "bin/x86_64/writer"


def drive(machine: Machine) -> int:
    """A few system calls of a task, and how long they took."""
    task = machine.user_task()
    fd = task.syscall("openat", 0xFFFFFF9C, "/tmp/x", 0o102, 0o644)
    task.syscall("write", fd, "hello", 5)
    task.syscall("close", fd)
    return machine.kernel.clock.now_ns


@pytest.mark.parametrize("arch", OURS)
def test_back_is_where_a_fresh_run_would_be(arch: str) -> None:
    machine = simkernel.boot(arch=arch, cpus=2)
    with machine.debugger(drive) as d:
        d.add("vfs_write")
        there = d.go().place
        assert d.stack()[0].symbol == "vfs_write"
        ahead = d.step(90)
        assert ahead.place == Place(there.tick + 90)
        back = d.back(57)
        state = d.ask(look.digest), d.registers(), d.stop.pc
        assert d.go_back().place == there
        d.breaks.clear()
        assert d.go().kind is Kind.END
        result = d.result
    with machine.debugger(drive) as fresh:
        fresh.step(back.place.tick - 1)
        assert (fresh.ask(look.digest), fresh.registers(), fresh.stop.pc) == state
    assert result == Template(machine).run(drive), "a debugger changes nothing that can be seen"


@pytest.fixture(scope="module")
def machine() -> Machine:
    """With programs on vfs_write; it never runs itself: debuggers work on copies."""
    machine = simkernel.boot()
    machine.install(str(WRITER))
    machine.load(SAMPLES / "obj/x86_64/writes.bpf.o").attach()
    return machine


@pytest.fixture
def d(machine: Machine) -> Iterator[Debugger]:
    with machine.debugger(["/bin/writer"]) as debugger:
        yield debugger


def test_every_kind_of_breakpoint_forwards_and_backwards(d: Debugger) -> None:
    for where in (
        "vfs_write", "vfs_write+5", "bpf write_begins:3", "line writes.bpf.c:53", "map asked", "syscall write",
        "sysret write", "event sched:sched_process_exit", "event syscalls:sys_enter_exit", "time 30us",
    ):  # fmt: skip
        d.add(where)
    seen = []
    while d.go().kind is not Kind.END:
        seen.append((d.stop.place, d.stop.number))
        if d.stop.number in (5, 7) and len(seen) > 20:  # enough of the loop of the program
            for number in (1, 2, 3, 4, 5, 6, 7):
                d.breaks.pop(number, None)
    assert {number for _, number in seen} == set(range(1, 11))
    assert [number for _, number in seen][:8] == [6, 1, 3, 5, 2, 4, 5, 7]
    at_time = next(place for place, number in seen if number == 10)
    for place, number in reversed(seen[-3:]):
        assert (d.go_back().place, d.stop.number) == (place, number)
    assert d.goto(at_time).time_ns >= 30_000
    assert d.back().time_ns < 30_000


def test_a_program_is_stepped_through(d: Debugger) -> None:
    d.add("bpf write_begins")
    first = d.go()
    assert (first.kind, first.bpf and first.bpf.insn) == (Kind.BPF, 0)
    view = d.bpf()
    assert view is not None and view.source == "int write_begins(struct pt_regs *ctx)"
    d.step(2)
    stepped = d.bpf()
    assert stepped is not None and stepped.registers[0] & 0xFFFFFFFF == first.pid  # bpf_get_current_pid_tgid()
    assert d.back(2).place == first.place
    assert d.bpf() == view
    over = d.finish()
    assert over.kind is Kind.CPU and look_symbol(d) == "vfs_write+0x5"
    assert d.back_cpu().place == Place(first.place.tick - 1), "the probed instruction"
    assert [(each.name, each.entries) for each in d.maps() if each.name == "asked"] == [("asked", [])]


def look_symbol(d: Debugger) -> str:
    return d.disassembly(1)[0].symbol


def test_next_and_finish_pass_calls_both_ways(d: Debugger) -> None:
    d.add("ksys_write")
    d.go()
    symbols = []
    for _ in range(14):
        symbols.append((d.stop.place, look_symbol(d)))
        d.next()
        if not look_symbol(d).startswith("ksys_write"):
            break
    assert len(symbols) > 8 and {name.partition("+")[0] for _, name in symbols} == {"ksys_write"}
    called = [(a, b) for a, b in pairwise(symbols) if b[0].tick > a[0].tick + 5]
    assert called, "vfs_write was passed"
    d.goto(called[0][1][0])
    assert d.back_next().place == called[0][0][0]
    d.breaks.clear()
    d.add("vfs_write")
    inside = d.go()
    assert d.finish().place > inside.place and look_symbol(d).startswith("ksys_write")
    d.goto(inside.place)
    assert d.back_finish().place == called[0][0][0]


def test_a_write_holds_forwards_and_is_undone_backwards(d: Debugger) -> None:
    d.add("vfs_write")
    here = d.go()
    buffer = d.registers()["rsi"]
    before = d.memory(buffer, 1)
    assert before != b"#"
    d.write_memory(buffer, b"#")
    d.write_register("r15", 42)
    d.step(3)
    d.back(2)
    assert d.memory(buffer, 1) == b"#" and d.registers()["r15"] == 42
    d.goto(Place(here.place.tick - 1))
    assert d.memory(buffer, 1) == before
    with pytest.raises(Fault):
        d.memory(16, 4)


def test_what_a_body_calls_without_the_cpu_is_found(d: Debugger) -> None:
    d.add("write_null")
    stop = d.go()
    assert stop.number == 1 and stop.kind is Kind.HIT
    assert look_symbol(d).startswith("vfs_")
    before = d.back()
    assert before.place == Place(stop.place.tick) and before.kind is Kind.CPU
    assert d.go().place == stop.place


def test_the_end_and_the_beginning(d: Debugger) -> None:
    with pytest.raises(DebugError):
        d.result  # noqa: B018
    end = d.go()
    assert d.ended and d.result.status == 0 and d.output() == d.result.stdout
    assert d.step().place == d.go().place == end.place
    assert d.back().kind is Kind.CPU
    assert d.go_back().place == Place(1) == d.back(5).place
    assert d.checkpoints[0] == Place(1)


def test_mistakes_are_sentences(d: Debugger) -> None:
    for wrong in (
        "",
        "nothing_here",
        "event no:such",
        "syscall nosuch",
        "map nosuch",
        "*0x10",
        "time x",
        "bpf",
        "line 3",
    ):
        with pytest.raises(BreakError):
            d.add(wrong)
    assert not d.breaks
    with pytest.raises(BreakError):
        d.remove(1)


def test_breakpoints_as_they_are_written() -> None:
    known = {"vfs_read": 0x1000}.get
    assert parse("vfs_read+4", 1, known) == AtAddress(1, 0x1004, text="vfs_read+4")
    assert parse("user *0x400000", 2, known) == AtAddress(2, 0x400000, user=True)
    assert parse("map counts 01000000", 3, known) == MapChange(3, "counts", b"\1\0\0\0")
    assert parse("sysret openat", 4, known) == OnSyscall(4, "openat", leaving=True)
    assert str(parse("time 1.5ms", 5, known)) == "time 1500000"


def test_no_process_is_left(machine: Machine) -> None:
    with machine.debugger(["/bin/writer"]) as d:
        d.step(3000)
        d.back(100)
        pids = {d.ask(pid_of)}
        first = d._processes.first
    for pid in (*pids, first):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def pid_of(debuggee: object) -> int:
    return os.getpid()


def test_ctrl_c_ends_a_movement_of_many_steps(machine: Machine, busybox: str) -> None:
    machine.install(busybox)
    with machine.debugger(["/bin/busybox", "sh", "-c", "while :; do :; done"]) as d:
        commands = Commands(d)
        for line in ("stepi 100000000", "next 100000000", "reverse-stepi 100000000"):
            timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
            timer.start()
            begin = time.monotonic()
            assert len(list(commands.execute(line))) == 1
            assert time.monotonic() - begin < 30 and not d.ended
            timer.join()


def test_a_machine_that_is_killed_is_told(machine: Machine) -> None:
    with machine.debugger(["/bin/writer"]) as debugger:
        debugger.step(10)
        os.kill(debugger._processes.running, signal.SIGKILL)
        commands = Commands(debugger)
        for line in ("step", "where", "registers", "write %rax 0", "stepi 5", "continue", "break vfs_read"):
            said = list(commands.execute(line))
            assert all("ended" in text for text in said) or line == "where", (line, said)


def test_a_time_beyond_all_numbers_is_refused() -> None:
    with pytest.raises(BreakError, match="write it as"):
        parse("time " + "9" * 400, 1, lambda name: None)
