"""The `format` files of the declared events equal those of the real Linux 6.1 but for the numbers."""

import re
from pathlib import Path

import pytest

from arch.abi.version import KernelVersion
from tests.tracing.fakes import machine
from tracing.events import declarations, newest
from tracing.events.tracepoints import split_arguments
from tracing.record.assign import compile_assign, compile_record
from tracing.record.print_fmt import compile_print_fmt

DATA = Path(__file__).parent.parent / "data" / "tracing" / "formats_6_1.txt"
RECORDED = dict(block.split("\n", 1) for block in DATA.read_text().split("@@@ ")[1:])
EVENTS = [name for name in RECORDED if not name.startswith("syscalls/")]
SYSCALLS = [name for name in RECORDED if name.startswith("syscalls/sys_enter_")]


@pytest.fixture(scope="module")
def tracing():
    return machine()


def without_id(text):
    return re.sub(r"ID: \d+", "ID: 0", text).rstrip("\n")


@pytest.mark.parametrize("name", EVENTS)
def test_event_format(tracing, name):
    event = tracing.events.get(*name.split("/"))
    assert without_id(event.format) == without_id(RECORDED[name])


def test_every_declared_event_was_recorded():
    assert set(newest()) == {name.split("/")[1] for name in EVENTS}


@pytest.mark.parametrize("name", SYSCALLS)
def test_syscall_formats(name):
    """Declared as the kernel's SYSCALL_DEFINE has it, enter and exit files come out the same."""
    call = name.removeprefix("syscalls/sys_enter_")
    fields = re.findall(r"field:(.*?) ?(\w+);\toffset", RECORDED[name])[5:]
    tracing = machine()
    tracing.declare_syscalls([(call, fields)])
    for side in ("enter", "exit"):
        recorded = RECORDED[f"syscalls/sys_{side}_{call}"]
        assert without_id(tracing.events.get("syscalls", f"sys_{side}_{call}").format) == without_id(recorded)


@pytest.mark.parametrize(
    "version", [KernelVersion.parse(text) for text in ("3.20-rfc", "4.1", "4.9", "4.14", "5.10", "5.15", "6.1")]
)
def test_every_print_fmt_compiles_in_every_version(version):
    tracing = machine(version)
    assert len(declarations(version)) > 80
    for event in tracing.events:
        compile_print_fmt(event.print_fmt, event.fields, "little", 8)


def test_layout_follows_the_data_model():
    """s390x: same offsets, big endian; char is unsigned there and on arm64 and riscv64."""
    for arch, signed in (("x86_64", True), ("s390x", False), ("arm64", False), ("riscv64", False)):
        field = machine(arch=arch).events.get("sched", "sched_switch").find_field("prev_comm")
        assert (field.offset, field.size, field.signed) == (8, 16, signed)


def test_versions_differ_where_the_table_says_so():
    assert [f.name for f in machine(KernelVersion.parse("4.1")).events.get("sched", "sched_wakeup").fields][-2:] == [
        "success",
        "target_cpu",
    ]
    assert machine(KernelVersion.parse("4.1")).events.get("sched", "sched_waking") is None
    assert [n for _, n in machine(KernelVersion.parse("4.1")).tracepoints["sched_switch"].params] == ["prev", "next"]
    assert [n for _, n in machine(KernelVersion.parse("5.10")).tracepoints["kfree_skb"].params] == ["skb", "location"]
    assert "reason" in [n for _, n in machine(KernelVersion.parse("6.1")).tracepoints["kfree_skb"].params]


@pytest.mark.parametrize("arch", ["x86_64", "s390x", "i386"])
@pytest.mark.parametrize("version", [KernelVersion.parse(text) for text in ("4.1", "5.10", "6.1")])
def test_every_assignment_compiles_against_the_kernels_types(version, arch):
    """Each right-hand side of a declaration names types and members that this version's headers have."""
    tracing = machine(version, arch)
    for name, point in tracing.tracepoints.items():
        event = tracing.events.get(point.decl.system, name)
        entry = [(field, source) for field, (_, source) in zip(event.fields, point.decl.entry)]
        compile_record(entry, point.decl.proto, tracing.host, tracing.byteorder)
        sources = point.decl.args or ", ".join(param for _, param in point.params)
        compile_assign(split_arguments(sources), point.fired_with.proto, tracing.host)
