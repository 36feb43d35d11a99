"""Native code makes the records of tracepoints from their arguments as Python does, to the byte."""

from __future__ import annotations

import ctypes
import random

import pytest

import simkernel
from arch.errors import Fault
from arch.native.library import Library
from tracing.events.tracepoints import TracepointEvent
from tracing.record.assign import AssignError
from tracing.record.assigned import put_context
from tracing.record.compiled import MAX_NATIVE_RECORD

AREA = 1 << 16
REGS = 0x1234
MACHINES = (
    ("x86_64", "6.1"), ("x86_64", "4.1"), ("arm64", "5.10"), ("s390x", "6.1"), ("riscv64", "6.12"), ("i386", "6.1"), ("arm", "4.19"),
)  # fmt: skip


def wild_memory(rng: random.Random, base: int, word: int, byteorder: str) -> bytes:
    """Words that are pointers to others of them, small numbers, text, and anything."""
    out = bytearray()
    while len(out) < AREA:
        kind = rng.random()
        if kind < 0.6:
            value = base + word * rng.randrange(AREA // 2 // word)
        else:
            value = rng.choice((0, 1, 10, 0x402, rng.getrandbits(8 * word)))
        out += rng.randbytes(word) if kind > 0.95 else value.to_bytes(word, byteorder)  # type: ignore[arg-type]
    return bytes(out)


@pytest.mark.parametrize(("arch", "version"), MACHINES)
def test_every_event_with_wild_arguments(arch: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMKERNEL_TIER", "native")
    rng = random.Random(f"{arch} {version}")
    m = simkernel.boot(arch=arch, kernel=version)
    k, tracing = m.kernel, m.kernel.observer.tracing
    word = k.arch.word
    base, context = k.mem.alloc(AREA), k.mem.alloc(8192)
    make = Library([put_context], k.mem.byteorder == "big").builtin("put_context", k.cpu.block)
    rows = compared = declined = 0
    k.mem.write(base, wild_memory(rng, base, word, k.mem.byteorder))
    for event in tracing.events:
        if not isinstance(event, TracepointEvent):
            continue
        try:
            assignment = event.assignment()
        except AssignError:
            continue  # of a structure that this kernel lacks
        if assignment is None:
            continue
        rows += 1
        words = assignment.words(None, ctypes.addressof(event.recorder.native.words()), 0)
        for _ in range(6):
            args = tuple(
                base + word * rng.randrange(AREA // 4 // word) if ctype.endswith("*") and rng.random() < 0.97
                else rng.choice((0, 1, -1, -2, rng.getrandbits(8), rng.getrandbits(31), -rng.getrandbits(15), rng.getrandbits(63)))
                for ctype, _ in event.decl.params
            )  # fmt: skip
            try:
                expected: bytes | None = event.record(args)
            except (Fault, ValueError, OverflowError):
                expected = None
            if expected is not None and len(expected) > MAX_NATIVE_RECORD:
                expected = None
            k.mem.write(context, b"\xaa" * 4096)
            try:
                length = make(ctypes.addressof(words), context, REGS, *assignment.arguments(args))
            except (Fault, ValueError, OverflowError):
                length = None
            if length is None:
                declined += expected is not None
                continue
            assert expected is not None, (event.name, args)
            wanted = REGS.to_bytes(8, k.mem.byteorder) + expected[8:]
            assert k.mem.read(context, length) == wanted + bytes(-len(wanted) % 8), (event.name, args)
            compared += 1
    assert rows > 60 and compared > 4 * rows
    assert declined < compared // 5
    m.close()


def test_a_switch_is_recorded_without_python() -> None:
    """Every state that the task which leaves may be in."""
    with simkernel.boot() as m:
        k = m.kernel
        event = k.observer.tracing.events.get("sched", "sched_switch")
        assert isinstance(event, TracepointEvent)
        assignment = event.assignment()
        assert assignment is not None and assignment.extras is None
        make = Library([put_context], False).builtin("put_context", k.cpu.block)
        words = assignment.words(None, ctypes.addressof(event.recorder.native.words()), 0)
        context, task, seen = k.mem.alloc(4096), k.current.addr, set()
        for exit_state in (0, 0x10, 0x20):
            k.mirror.set_field(task, "task_struct", "exit_state", exit_state)
            for state in (0, 1, 2, 4, 8, 0x40, 0x80, 0x100, 0x102, 0x400, 0x402, 0x500, 0x1001, 0x2002, 1 << 40):
                for preempt in (0, 1):
                    args = (preempt, task, task, state)
                    length = make(ctypes.addressof(words), context, REGS, *assignment.arguments(args))
                    expected = event.record(args)[8:]
                    assert k.mem.read(context + 8, length - 8) == expected + bytes(-len(expected) % 8)
                    seen.add(expected)
        assert len(seen) > 8
