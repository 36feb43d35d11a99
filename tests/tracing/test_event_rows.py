"""The rows of tracing/events/ are all there is to say of a tracepoint: what is derived from them follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from arch.abi.version import KernelVersion
from docs.events_page import PAGE, lines
from tests.tracing.fakes import cat, echo, machine
from tracing.events import newest, older, rows
from tracing.events.declare import IRQS, NEVER, TraceEventDecl

ROOT = Path(__file__).parents[2]
KERNEL = "\n".join(
    path.read_text() for folder in ("bpf/syscall", "simkernel") for path in sorted((ROOT / folder).rglob("*.py"))
)


def test_the_page_is_what_the_rows_say() -> None:
    assert PAGE.read_text() == "\n".join(lines(newest()))


def test_what_never_fires_is_named_nowhere_in_the_kernel_and_the_rest_is() -> None:
    never = {name for name, row in newest().items() if row.missing == NEVER}
    assert never == {name for name in newest() if f'"{name}"' not in KERNEL}


def test_every_older_shape_is_of_an_event_and_no_two_hold_at_once() -> None:
    shapes: dict[str, list[TraceEventDecl]] = {}
    for row in rows(older):
        assert row.name in newest()
        shapes.setdefault(row.name, []).append(row)
    versions = [KernelVersion(4, minor) for minor in range(1, 21)] + [KernelVersion(5, minor) for minor in range(20)]
    for known in shapes.values():
        for version in versions:
            assert sum(row.holds(version) for row in known) <= 1


def test_an_event_of_the_same_class_has_a_place_and_a_version_of_its_own() -> None:
    row = TraceEventDecl("sched", "a", "int x", (("int x", "x"),), '"x=%d", REC->x', since="5.1", held=(IRQS, 2))
    like = row.like("b")
    assert (like.name, like.entry, like.print) == ("b", row.entry, row.print)
    assert (like.since, like.held) == (None, (0, 0))


@pytest.mark.parametrize(("version", "there"), [("5.9", False), ("5.10", True), ("6.1", True)])
def test_since_says_when_an_event_appears(version: str, there: bool) -> None:
    assert (machine(version).events.get("block", "block_rq_merge") is not None) is there


@pytest.mark.parametrize(("version", "shown"), [("4.7", "0xff"), ("4.8", "255"), ("5.0", "255"), ("5.1", "255")])
def test_numbers_of_probe_events_are_decimal_since_4_8(version: str, shown: str) -> None:
    """And x8 ... x64 are there for the other way."""
    tracing = machine(version)
    extra = " b=@linux_banner:x8" if version != "4.7" else ""
    echo(tracing, "kprobe_events", f"p:a vfs_read a=$stack0:u8{extra}")
    probe = tracing.events.get("kprobes", "a")
    assert probe is not None
    assert probe.args[0].type.print % 255 == shown
    assert cat(tracing, "kprobe_events") == f"p:kprobes/a vfs_read a=$stack0:u8{extra}\n"
