"""Tests of a connection tracer (connect.bpf.c): what it reports, a late reader, a failing helper, calls that nest."""

import ipaddress

import pytest

from arch.abi.errno import EFAULT


def prepare(machine):
    machine.mocks.enable()
    machine.load(__file__.replace("test_connect.py", "connect.bpf.c")).attach()


pytestmark = pytest.mark.simkernel(kernel=["5.10", "6.1", "6.12"], arch=["x86_64", "arm64"], cpus=2, setup=prepare)


@pytest.fixture
def obj(machine):
    return machine.session.objects[0]


def connect(machine, daddr, dport, returns=0, cpu=0):
    machine.call("tcp_v4_connect", machine.build.sock(daddr=daddr, dport=dport), 0, 0, returns=returns, cpu=cpu)


def address(number):
    return str(ipaddress.IPv4Address(number.to_bytes(4, "little")))


def test_a_connection_is_reported(machine, obj):
    events = machine.records(obj, "events", "struct event")
    with machine.mocks.current(pid=77, comm="curl"):
        connect(machine, "10.0.0.7", 443, returns=-111)
    (event,) = events.read()
    assert (event["pid"], event["comm"], event["dport"], event["result"]) == (77, "curl", 443, -111)
    assert address(event["daddr"]) == "10.0.0.7"


def test_a_reader_that_is_late_misses_what_the_tool_counts(machine, obj):
    events = machine.records(obj, "events", "struct event")
    for _ in range(120):
        connect(machine, "10.0.0.8", 80)
    assert obj.bss.dropped == machine.losses()["ringbuf_refused"]["events"] > 0
    assert len(events.read()) == 120 - obj.bss.dropped


def test_memory_that_cannot_be_read_leaves_no_half_event(machine, obj):
    events = machine.records(obj, "events", "struct event")
    with machine.mocks.helper("bpf_probe_read_kernel", fail=EFAULT, on_call=2):
        connect(machine, "10.0.0.9", 80)
        connect(machine, "10.0.0.10", 80)
    assert obj.bss.unread == 1
    assert [address(event["daddr"]) for event in events.read()] == ["10.0.0.10"]


def test_calls_on_two_cpus_do_not_mix(machine, obj):
    """While one connection ends on CPU 0 another one begins and ends on CPU 1."""
    events = machine.records(obj, "events", "struct event")
    other = machine.build.sock(daddr="10.0.0.12", dport=22)

    def meanwhile(moment):
        moment.enter("tcp_v4_connect", other, cpu=1, context="task")

    with machine.at(obj.programs["ends"], meanwhile, line="bpf_map_delete_elem", times=1):
        connect(machine, "10.0.0.11", 80)
    assert {(address(event["daddr"]), event["dport"]) for event in events.read()} == {
        ("10.0.0.11", 80),
        ("10.0.0.12", 22),
    }
    assert machine.losses().total("nmissed") == machine.losses().total("kretprobe_nmissed") == 0


def test_a_connection_in_an_interrupt_of_the_tool_is_missed_and_counted(machine, obj):
    events = machine.records(obj, "events", "struct event")

    def arrives(moment):
        moment.interrupt(handler=lambda: moment.enter("tcp_v4_connect", machine.build.sock(), 0, 0))

    with machine.at(obj.programs["begins"], arrives, insn=0, times=1):
        connect(machine, "10.0.0.13", 80)
    assert len(events.read()) == 1
    assert machine.losses()["nmissed"]["tcp_v4_connect"] >= 1
