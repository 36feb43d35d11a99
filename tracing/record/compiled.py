"""Records that native code makes, and the way of every record into the trace: filter, buffer.

kernel/trace/trace_events.c, trace_event_buffer_commit(), as far as an array and an event are plain: no triggers, stacks, chosen
tasks, counters for clocks.  What is not is Python's; a native function declines before it has changed anything.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

from arch.abi.limits import U64_MAX
from arch.native import Word
from arch.native.handler import Guards, Tier, chosen_tier
from arch.native.library import Library
from arch.native.state import current_task, time_now, word_at
from arch.native.subset import (
    Bytes,
    Words,
    decline,
    fill,
    load32,
    native,
    peek8,
    peek16,
    peek32,
    peek64,
    poke8,
    poke16,
    poke32,
    shared,
)
from tracing.board import Board
from tracing.buffer.pages import FIRST_CPU, OVERWRITE, RECORDING, STOPPED, rb_reserve
from tracing.buffer.trace import A_BUFFER, A_CPUMASK, A_SPECIAL, A_WAITERS, TraceArray
from tracing.face import (
    TRACE_FLAG_HARDIRQ,
    TRACE_FLAG_IRQS_OFF,
    TRACE_FLAG_NMI,
    TRACE_FLAG_SOFTIRQ,
)
from tracing.record.numbers import CpuTest, NumberTest

MAX_NATIVE_RECORD = 3072  # bytes that native code puts together; longer ones are Python's

# Words of a machine's records: what TraceHost.native_flags is, members of struct task_struct, on which CPU something was written, where a record
# is put together.
R_FLAGS, R_PID, R_COMM, R_FRESH, R_SCRATCH, RECORDER_WORDS = range(6)
# Words of an event in an array: those of the machine, those of the array, the event's id, what its place holds, its filter.
E_RECORDER, E_ARRAY, E_ID, E_HELD, E_PREEMPT, E_FILTER, EVENT_WORDS = range(7)
# TraceHost.native_flags: what True is, and what shows a need for a switch; then of each CPU where it keeps its need for a switch, and its depths.
F_TRUE, F_NEEDED, F_FIRST = range(3)
F_RESCHED, F_HARDIRQ, F_SOFTIRQ, F_NMI, F_ROW = range(5)
# Of a filter: where to go on and how it ends; what is compared, how, with what.
T_KIND, T_OFFSET, T_SIZE, T_OP, T_VALUE, T_WHEN, T_TARGET, T_ROW = range(8)
ANSWER, NUMBER, SIGNED_NUMBER, CPU_NUMBER = range(4)
OPERATIONS = ("==", "!=", "<", "<=", ">", ">=", "&")
EQ, NE, LT, LE, GT, GE, BAND = range(7)
SIGN = 1 << 63


@native
def irq_flags(f: Words) -> int:
    """TraceHost.irq_flags()."""
    row = F_FIRST + F_ROW * shared[Word.CPU]
    flags = f[F_NEEDED] if word_at(f[row + F_RESCHED], 0) == f[F_TRUE] else 0
    if word_at(f[row + F_HARDIRQ], 0):
        flags |= TRACE_FLAG_HARDIRQ | TRACE_FLAG_IRQS_OFF
    if word_at(f[row + F_SOFTIRQ], 0):
        flags |= TRACE_FLAG_SOFTIRQ
    if word_at(f[row + F_NMI], 0):
        flags |= TRACE_FLAG_NMI | TRACE_FLAG_IRQS_OFF
    return flags


@native
def current_pid(r: Words) -> int:
    return load32(current_task() + r[R_PID])


@native
def put_header(r: Words, e: Words) -> int:
    """struct trace_entry of an event that fires now; where the record is put together."""
    at = r[R_SCRATCH]
    poke16(at, e[E_ID])
    poke8(at + 2, irq_flags(r[R_FLAGS]) | e[E_HELD])
    poke8(at + 3, e[E_PREEMPT])
    poke32(at + 4, current_pid(r))
    return at


@native
def note_fresh(fresh: Words) -> int:
    """SavedTasks.fresh: this CPU has written an entry."""
    fresh[shared[Word.CPU]] = 1
    return 0


@native
def field_value(at: int, size: int, signed: int) -> int:
    """A number of a record, 64 bits wide."""
    if size == 8:
        return peek64(at)
    value = peek8(at) if size == 1 else peek16(at) if size == 2 else peek32(at)
    if signed and value >> 8 * size - 1:
        value |= 0 - (1 << 8 * size)
    return value


@native
def holds(op: int, signed: int, a: int, b: int) -> int:
    """a OP b"""
    if op == EQ:
        return a == b
    if op == NE:
        return a != b
    if op == BAND:
        return (a & b) != 0
    if signed:
        a ^= SIGN
        b ^= SIGN
    if op == LT:
        return a < b
    if op == LE:
        return a <= b
    if op == GT:
        return a > b
    return a >= b


@native
def passes(t: Words, record: int) -> int:
    """filter_match_preds()."""
    index = 0
    for _ in range(t[0]):
        row = 1 + T_ROW * index
        kind = t[row + T_KIND]
        if kind == ANSWER:
            return t[row + T_TARGET]
        signed = kind != NUMBER
        if kind == CPU_NUMBER:
            value = shared[Word.CPU]
        else:
            value = field_value(record + t[row + T_OFFSET], t[row + T_SIZE], signed)
        if holds(t[row + T_OP], signed, value, t[row + T_VALUE]) == t[row + T_WHEN]:
            index = t[row + T_TARGET]
        index += 1
    return 0


@native
def copy_words(to: Words, source: Words, length: int) -> int:
    for i in range(length + 7 >> 3):
        to[i] = source[i]
    return 0


@native
def ring_write(buffer: Words, record: int, length: int) -> int:
    """Into this CPU's pages."""
    at = rb_reserve(buffer[FIRST_CPU + shared[Word.CPU]], time_now(), length, buffer[OVERWRITE])
    if at:
        copy_words(at, record, length)
    return 0


@native
def array_write(r: Words, a: Words, record: int, length: int) -> int:
    """TraceArray.write(), of an array without anything special."""
    if not a[A_CPUMASK] >> shared[Word.CPU] & 1 or not word_at(a[A_BUFFER], RECORDING) or word_at(a[A_BUFFER], STOPPED):
        return 0
    if a[A_WAITERS]:
        decline()
    ring_write(a[A_BUFFER], record, length)
    note_fresh(r[R_FRESH])
    return 0


@native
def commit(e: Words, length: int) -> int:
    """The record that was put together goes where it belongs."""
    if word_at(e[E_ARRAY], A_SPECIAL):
        decline()
    record = word_at(e[E_RECORDER], R_SCRATCH)
    if e[E_FILTER] and not passes(e[E_FILTER], record):
        return 0
    return array_write(e[E_RECORDER], e[E_ARRAY], record, length)


@native
def commit_bytes(e: Words, data: Bytes, length: int) -> int:
    """A record that Python made."""
    if length > MAX_NATIVE_RECORD:
        decline()
    fill(word_at(e[E_RECORDER], R_SCRATCH), data, length)
    return commit(e, length)


@native
def array_is_busy(a: Words, number: int) -> int:
    """A record into it may wake a reader, or is Python's to make."""
    return a[A_WAITERS] | a[A_SPECIAL]


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first event is enabled that native code may commit."""
    return Library((commit_bytes, array_is_busy), big_endian)


Words64 = ctypes.Array[ctypes.c_uint64]


def filter_words(rows: Sequence[tuple[object, int, bool]]) -> Words64 | None:
    """A filter's entries (test or None, target, when to branch) for passes(); None if a test is more than numbers."""
    flat: list[int] = [len(rows)]
    for test, target, when in rows:
        match test:
            case None:
                row = (ANSWER, 0, 0, 0, 0)
            case NumberTest():
                kind = SIGNED_NUMBER if test.signed else NUMBER
                row = (kind, test.offset, test.end - test.offset, OPERATIONS.index(test.op), test.value)
            case CpuTest():
                row = (CPU_NUMBER, 0, 0, OPERATIONS.index(test.op), test.value)
            case _:
                return None
        flat += [*row, when, target]
    return (ctypes.c_uint64 * len(flat))(*(word & U64_MAX for word in flat))


class RecordFilter(Protocol):
    """A filter as native code takes it."""

    def rows(self) -> Sequence[tuple[object, int, bool]]:
        """Its entries: test or None, target, when to branch."""


class RecordFile(Protocol):
    """An event in an array."""

    array: TraceArray

    @property
    def plain(self) -> bool:
        """Records go through a filter at most."""

    @property
    def filter(self) -> RecordFilter | None:
        """Which are wanted."""


class EventWords:
    """The words of an event in an array, with what they point at."""

    def __init__(self, words: Sequence[int], *keep: object) -> None:
        self.words = (ctypes.c_uint64 * len(words))(*words)
        self.address = ctypes.addressof(self.words)
        self.keep = keep


class NativeRecords:
    """Records of one machine's events that native code writes."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._words: Words64 | None = None
        self._scratch: Words64 | None = None

    @property
    def possible(self) -> bool:
        """There is a machine with tasks in memory, and native code is wanted."""
        return bool(self.board.host.native_flags) and chosen_tier() is not Tier.PYTHON

    @property
    def big_endian(self) -> bool:
        """The machine's byte order."""
        return self.board.byteorder == "big"

    def words(self) -> Words64:
        """What all events share."""
        if self._words is None:
            types, task = self.board.host.types, "struct task_struct"
            self._scratch = (ctypes.c_uint64 * (MAX_NATIVE_RECORD // 8 + 8))()
            self._words = (ctypes.c_uint64 * RECORDER_WORDS)(
                self.board.host.native_flags, types.offsetof(task, "pid"), types.offsetof(task, "comm"),
                ctypes.addressof(self.board.tasks.fresh), ctypes.addressof(self._scratch),
            )  # fmt: skip
        return self._words

    def event(self, file: RecordFile, number: int = 0, held: int = 0, preempt: int = 0) -> EventWords | None:
        """The words of an event in an array; None where its records are Python's."""
        if not file.plain or not self.possible:
            return None
        test = None
        if file.filter is not None:
            test = filter_words(file.filter.rows())
            if test is None:
                return None
        at = 0 if test is None else ctypes.addressof(test)
        words = self.words()
        return EventWords((ctypes.addressof(words), file.array.address, number, held, preempt, at), words, test)

    def guards(self, file: RecordFile) -> Guards:
        """Who tells that a record of an event would not simply go into the array."""
        return frozenset(((library(self.big_endian).address["array_is_busy"], file.array.address, 0),))

    def committer(self, file: RecordFile) -> Callable[[bytes], bool] | None:
        """What brings a record of Python's into the trace, or says False: Python has to."""
        event = self.event(file)
        if event is None:
            return None
        call = library(self.big_endian).builtin("commit_bytes", self.board.host.block)

        def commit(record: bytes) -> bool:
            return call(event.address, record, len(record)) is not None

        return commit
