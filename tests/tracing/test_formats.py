"""The `format` files are those of the real kernels, number and all."""

import re

import pytest

from arch.abi.version import KernelVersion
from tests.tracing.fakes import machine
from tracing.events.recorded import FOLDER, Recording
from tracing.events.silent import SilentEvent
from tracing.events.tracepoints import TracepointEvent, split_arguments
from tracing.record.assign import compile_assign
from tracing.record.fields import COMMON_FIELDS, FieldLayout

ASKED = sorted(path.name.removesuffix(".index.z") for path in FOLDER.glob("*.index.z"))
COMMON = "".join(field.format_line() for field in COMMON_FIELDS)


def asked_machine(kernel):
    arch, version = kernel.split("-")
    return machine(version, arch)


@pytest.mark.parametrize("kernel", ASKED)
def test_every_format_is_the_real_kernels(kernel):
    """Names, numbers, fields and text of all events, and no event that the kernel does not have."""
    recording = Recording(kernel)
    tracing = asked_machine(kernel)
    real = {key: row for key, row in recording.events.items() if row.system != "ftrace"}
    assert len(real) > 1100
    assert {(event.system, event.name) for event in tracing.events} == set(real)
    for (system, name), row in real.items():
        text = f"name: {name}\nID: {row.number}\nformat:\n{COMMON}\n{recording.text(system, name)}"
        assert tracing.events.get(system, name).format == text

    for entry, number, text in [(e.name, e.id, e.format) for e in tracing.events.internal.values()]:
        common = f"name: {entry}\nID: {number}\nformat:\n{COMMON}\n"
        assert text == common + recording.text("ftrace", entry)


@pytest.mark.parametrize("kernel", ASKED)
def test_rows_lay_their_records_out_as_the_real_kernel(kernel):
    """Where a row says what its fields are made of, names and types are the recorded ones."""
    tracing = asked_machine(kernel)
    for event in tracing.events:
        if isinstance(event, TracepointEvent):
            layout = FieldLayout(tracing.host.arch.model, tracing.board.char_signed)
            for declaration, _ in event.decl.entry:
                layout.add(declaration)
            recorded = {field.name: re.sub(r"\[.*\]", "", field.type) for field in event.fields}
            declared = {field.name: re.sub(r"\[.*\]", "", field.type) for field in layout.fields}
            assert recorded.keys() <= declared.keys(), event
            if kernel.endswith("6.1"):  # smaller changes of types since are left to the recording
                assert recorded == declared, event


def test_numbers_of_probes_follow_those_of_the_kernel():
    tracing = machine()
    tracing.probe_events.write(b"p:one vfs_read\n", None)
    assert tracing.events.get("kprobes", "one").id == 1338  # as on 6.1


def test_who_has_not_been_asked_has_the_same_events_in_the_same_order():
    ours, real = machine(arch="riscv64"), machine()
    names = [(event.system, event.name) for event in real.events if event.system not in ("syscalls", "irq_vectors")]
    of_riscv = [(event.system, event.name) for event in ours.events]
    assert of_riscv == [name for name in names if name in set(of_riscv)]
    assert sorted(event.id for event in ours.events) == list(range(20, 20 + len(of_riscv)))
    assert ("exceptions", "page_fault_user") not in of_riscv
    word = machine(arch="i386").events.get("writeback", "writeback_mark_inode_dirty").find_field("ino")
    assert (word.offset, word.size) == (40, 4)


def test_silent_events_can_be_enabled_and_filtered():
    tracing = machine()
    event = tracing.events.get("compaction", "mm_compaction_begin")
    assert isinstance(event, SilentEvent)
    event.set_enabled(True)
    assert tracing.tracepoint("mm_compaction_begin").params[0][0] == "struct compact_control *"
    assert tracing.tracepoint("no_such_tracepoint") is None


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
def test_every_row_compiles_against_the_kernels_types(version, arch):
    """Each right-hand side of a declaration names types and members that this version's headers have."""
    tracing = machine(version, arch)
    for name, point in tracing.tracepoints.items():
        event = tracing.events.get(point.decl.system, name)
        if event is None:  # not on this CPU
            continue
        event.printer()
        if isinstance(event, TracepointEvent):  # bpf_trace_printk makes its records without a row
            event.make()
        sources = point.decl.args or ", ".join(param for _, param in point.params)
        compile_assign(split_arguments(sources), point.fired_with.fired_proto, tracing.host)


@pytest.mark.parametrize("kernel", ASKED)
def test_arguments_have_types_that_the_headers_know(kernel):
    """The kernel's BTF is made of them."""
    types = asked_machine(kernel).host.types
    for row in Recording(kernel).events.values():
        types.prototype(f"void f({row.arguments or 'void'})")
