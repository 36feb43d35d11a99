"""Tests of a file monitor (files.bpf.c): real removals, names that cannot be read, lost records, NMIs."""

import pytest

from arch.abi.errno import EFAULT


def prepare(machine):
    machine.mocks.enable()
    machine.load(__file__.replace("test_files.py", "files.bpf.c")).attach()


pytestmark = pytest.mark.simkernel(kernel=["5.10", "6.1", "6.12"], arch=["x86_64", "arm64"], cpus=2, setup=prepare)


@pytest.fixture
def obj(machine):
    return machine.session.objects[0]


def unlink(machine, name):
    """vfs_unlink(dir, dentry, ...), which since 5.12 has another argument in front."""
    first = (0,) if machine.kernel.version.at_least("5.12") else ()
    machine.call("vfs_unlink", *first, 0, machine.build.dentry(name), 0, returns=0)


def test_what_a_program_removes_is_reported(machine, obj, workload):
    events = machine.records(obj, "events", "struct event")

    def program(u):
        yield u.close((yield u.openat(-100, "/tmp/precious", 0o102, 0o600)))
        yield u.unlinkat(-100, "/tmp/precious", 0)

    assert workload(program).status == 0
    (event,) = events.read()
    assert event["name"] == "precious" and event["pid"] > 1


def test_a_long_name_is_cut(machine, obj):
    events = machine.records(obj, "events", "struct event")
    unlink(machine, "x" * 60)
    (event,) = events.read()
    assert event["name"] == "x" * 31


@pytest.mark.parametrize("helper", ["bpf_probe_read_kernel", "bpf_probe_read_kernel_str"])
def test_a_name_that_cannot_be_read_is_counted_and_the_event_is_still_sent(machine, obj, helper):
    events = machine.records(obj, "events", "struct event")
    with machine.mocks.helper(helper, fail=EFAULT):
        unlink(machine, "ghost")
    assert obj.bss.unread == 1
    assert [event["name"] for event in events.read()] == [""]


def test_a_late_reader_loses_records_and_is_told_how_many(machine, obj):
    events = machine.records(obj, "events", "struct event", pages=1)
    for number in range(100):
        unlink(machine, f"file{number}")
    lost = machine.losses().total("perf_lost")
    assert obj.bss.refused == lost > 0
    names = [event["name"] for event in events.read()]
    assert names == [f"file{number}" for number in range(100 - lost)]
    unlink(machine, "last")  # the next record that fits brings PERF_RECORD_LOST with it
    assert [event["name"] for event in events.read()] == ["last"] and events.lost == lost


def test_a_removal_on_another_cpu_comes_through_that_cpus_ring(machine, obj):
    events = machine.records(obj, "events", "struct event")
    first = (0,) if machine.kernel.version.at_least("5.12") else ()
    other = machine.build.dentry("other")

    def arrives(moment):
        moment.enter("vfs_unlink", *first, 0, other, 0, cpu=1, context="task")

    with machine.at(obj.programs["removes"], arrives, line="bpf_perf_event_output", times=1):
        unlink(machine, "mine")
    assert {(event["name"], event.cpu) for event in events.read()} == {("mine", 0), ("other", 1)}
