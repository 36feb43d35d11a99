"""One recorded run for all tests here: the writer under probes, a program with maps, and sampled CPUs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import simkernel
from simkernel.machine import Counter, Machine, Result
from simkernel.recording.model import Recording

ROOT = Path(__file__).parents[3]
WRITER = ROOT / "samples" / "bin" / "x86_64" / "writer"
WRITES = ROOT / "samples" / "obj" / "x86_64" / "writes.bpf.o"
EVENTS = (
    "sched:sched_switch", "sched:sched_wakeup", "sched:sched_process_exec", "syscalls:sys_enter_write",
    "syscalls:sys_exit_write", "p:entered vfs_write count=%dx", "r:returned vfs_write ret=$retval:s64",
)  # fmt: skip
HZ = 50_000


class Run(NamedTuple):
    """The run, what was recorded, and what the machine itself says."""

    machine: Machine
    result: Result
    recording: Recording
    trace: str  # of trace_pipe, read after the recording was taken
    counters: dict[str, Counter]


@pytest.fixture(scope="session")
def run() -> Run:
    machine = simkernel.boot(cpus=2, seed=7)
    machine.load(WRITES).attach()
    guest = machine.install(WRITER)
    for event in EVENTS:
        machine.enable_event(event)
    machine.record(HZ)
    result = machine.run([guest])
    recording = machine.recording([guest])
    return Run(machine, result, recording, machine.trace_pipe(), result.counters)
