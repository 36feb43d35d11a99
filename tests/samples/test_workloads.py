"""The ready workloads: they end, leave nothing behind, are the same twice, and do what they say."""

import random

import pytest

import simkernel
from arch.architecture import names
from simkernel import workloads
from simkernel.workloads import WORKLOADS


def run(name, **boot):
    lines = []
    machine = simkernel.boot(strace=lines.append, **boot)
    result = workloads.run(machine, name)
    return machine, result, lines


@pytest.mark.parametrize("name", WORKLOADS)
def test_each_ends_well_and_is_the_same_twice(name):
    machine, result, lines = run(name, cpus=2)
    assert result.status == 0 and not any("killed" in line for line in lines)
    assert not machine.kernel.net.skbs
    again = run(name, cpus=2)
    assert lines == again[2] and result.virtual_ns == again[1].virtual_ns
    assert WORKLOADS[name].__doc__.splitlines()[0].endswith(".")


def test_another_seed_gives_other_numbers():
    assert run("udp")[2] != run("udp", seed=1)[2]


@pytest.mark.parametrize("arch", names())
def test_on_every_architecture(arch):
    for name in ("ping", "forker", "tcp"):
        machine, result, lines = run(name, arch=arch, kernel="4.1")
        assert result.status == 0 and not any("killed" in line for line in lines), name
        if name == "forker":
            statuses = [line for line in lines if "+++ exited with" in line]
            assert len(statuses) == 21 and machine.kernel.tasks.nr_forks >= 20


def test_drops_and_completions():
    machine, _, _ = run("udp")
    assert machine.kernel.net.counters["dropped"] == 12
    machine, _, _ = run("disk")
    block = machine.kernel.block
    assert block.bytes_written >= 256 * 4096 and block.bytes_read >= 256 * 4096
    assert len(block.latencies_ns) > 150 and not block.requests


def test_an_interrupt_between_two_calls_skips_none():
    """A driven task may be interrupted in user mode before its next call has been executed."""
    machine = simkernel.boot()
    seen = []

    def busy(u):
        for number in range(3000):
            seen.append((number, (yield u.getppid())))

    tasks = [machine.workload(busy, f"busy{n}") for n in range(2)]
    calls = machine.kernel.syscalls.counts.get(machine.kernel.abi.numbers["getppid"], 0)
    workloads.wait(machine, tasks)
    assert machine.kernel.syscalls.counts[machine.kernel.abi.numbers["getppid"]] - calls == 6000
    assert len(seen) == 6000 and {ppid for _, ppid in seen} == {1}


def test_a_refused_call_is_told():
    machine = simkernel.boot()
    scene = workloads.scene(machine, "x")
    assert isinstance(scene.random, random.Random) and scene.random.random() == random.Random("0 x").random()
    with pytest.raises(workloads.Failed, match="open: error 2"):
        workloads.need(-2, "open")
