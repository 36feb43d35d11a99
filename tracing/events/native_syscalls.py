"""Records of system-call events that native code makes: the number, and words of struct pt_regs or the result.

kernel/trace/trace_syscalls.c, ftrace_syscall_enter() and ftrace_syscall_exit().
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from arch.architecture import Row
from arch.errors import Fault
from arch.native import Word
from arch.native.handler import NO_GUARDS, NativeHandler
from arch.native.library import Library
from arch.native.state import word_at
from arch.native.subset import Words, attempt, decline, load32, load64, native, poke32, poke64, shared, store32, store64
from tracing.probes.programs import NO_ANSWER, Runner, run_for_python
from tracing.record.assigned import nothing_left, point_values
from tracing.record.compiled import E_RECORDER, NativeRecords, RecordFile, commit, put_header
from tracing.record.recorder import Recorder

NUMBER_AT = 8  # of the call's number in the record
NUMBER_END = 12
# Words of an event: bytes of a long, where the first is in the record, how many arguments, and where they are in struct pt_regs.
S_LONG, S_START, S_COUNT, S_ARGUMENTS = range(4)
# Of its programs: their words, bytes of a long, and of a word of struct pt_regs, of which there are so many, and where.
P_PROGRAMS, P_LONG, P_SIZE, P_COUNT, P_ARGUMENTS = range(5)
# What native callers give.
REGS_VALUE, RESULT_VALUE, NUMBER_VALUE = range(3)
CALLS = 512  # numbers that are looked at without Python
IN_PYTHON = 1  # instead of a function's address


@native
def put_long(at: int, width: int, value: int) -> int:
    return poke64(at, value) if width == 8 else poke32(at, value)


@native
def begin_record(e: Words, s: Words, nr: int) -> int:
    """The header and the number; where the record is."""
    at = put_header(word_at(e, E_RECORDER), e)
    poke32(at + NUMBER_AT, nr)
    if s[S_START] > NUMBER_END:
        poke32(at + NUMBER_END, 0)
    return at


@native
def record_enter(e: Words, s: Words, regs: int, nr: int) -> int:
    """A call begins."""
    at = begin_record(e, s, nr) + s[S_START]
    for i in range(s[S_COUNT]):
        place = regs + s[S_ARGUMENTS + i]
        put_long(at + i * s[S_LONG], s[S_LONG], load64(place) if s[S_LONG] == 8 else load32(place))
    return commit(e, s[S_START] + s[S_COUNT] * s[S_LONG])


@native
def record_exit(e: Words, s: Words, ret: int, nr: int) -> int:
    """A call is done."""
    put_long(begin_record(e, s, nr) + s[S_START], s[S_LONG], ret)
    return commit(e, s[S_START] + s[S_LONG])


@native
def store_long(at: int, width: int, value: int) -> int:
    return store64(at, value) if width == 8 else store32(at, value)


@native
def run_enter(p: Words, context: int, regs: int, nr: int) -> int:
    """struct syscall_tp_t of a call that begins, and the programs."""
    if shared[Word.FALLBACK]:
        decline()
    width = p[P_LONG]
    store64(context, regs)
    store_long(context + 8, width, nr)
    for i in range(p[P_COUNT]):
        place = regs + p[P_ARGUMENTS + i]
        store_long(context + 8 + (i + 1) * width, width, load64(place) if p[P_SIZE] == 8 else load32(place))
    if width == 4:
        store32(context + 12 + 4 * p[P_COUNT], 0)  # up to a multiple of eight bytes
    return run_for_python(p[P_PROGRAMS], context)


@native
def run_exit(p: Words, context: int, regs: int, nr: int, ret: int) -> int:
    """The same of one that is done."""
    if shared[Word.FALLBACK]:
        decline()
    width = p[P_LONG]
    store64(context, regs)
    store_long(context + 8, width, nr)
    store_long(context + 8 + width, width, ret)
    return run_for_python(p[P_PROGRAMS], context)


# The same for native callers (Tracepoint.set_native()): d is what goes before what they give.


@native
def enter_recorded(d: Words, v: Words) -> int:
    return record_enter(d[0], d[1], v[REGS_VALUE], v[NUMBER_VALUE])


@native
def exit_recorded(d: Words, v: Words) -> int:
    return record_exit(d[0], d[1], v[RESULT_VALUE], v[NUMBER_VALUE])


@native
def enter_run(d: Words, v: Words) -> int:
    return run_enter(d[0], d[1], v[REGS_VALUE], v[NUMBER_VALUE])


@native
def exit_run(d: Words, v: Words) -> int:
    return run_exit(d[0], d[1], v[REGS_VALUE], v[NUMBER_VALUE], v[RESULT_VALUE])


@native
def by_number(d: Words, v: Words) -> int:
    """Whoever listens to this call: function and data by its number; 0: nobody, 1: Python has to."""
    number = v[NUMBER_VALUE]
    if number >= d[0]:
        decline()
    function = d[1 + 2 * number]
    if function == 0:
        return 0
    if function == IN_PYTHON:
        decline()
    return attempt(function, d[2 + 2 * number], v)


@cache
def library(big_endian: bool) -> Library:
    """Compiled when such an event is often recorded."""
    points = (enter_recorded, exit_recorded, enter_run, exit_run, by_number)
    return Library((record_enter, record_exit, run_enter, run_exit, *points), big_endian)


NOBODY: frozenset[int] = frozenset()


class ByNumber:
    """The compiled form of a callback on all system calls."""

    def __init__(self, big_endian: bool) -> None:
        self.words = (ctypes.c_uint64 * (1 + 2 * CALLS))(CALLS)
        self.known: dict[int, NativeHandler] = {}
        function = library(big_endian).address["by_number"]
        self.handler = NativeHandler(function, ctypes.addressof(self.words), self._after, self.words)

    def _after(self, values: int) -> None:
        number = point_values(values)[NUMBER_VALUE]
        self.known[number].after(values)

    def listen(self, forms: Mapping[int, NativeHandler | None], at_exit: bool) -> None:
        """Those that listen, by number; None: Python does it."""
        for number in {*self.known, *(n for n in range(CALLS) if self.words[1 + 2 * n])} - forms.keys():
            self.words[1 + 2 * number] = 0
        for number, form in forms.items():
            if form is not None and number < CALLS:
                self.known[number] = form
                self.words[2 + 2 * number] = form.data
            if number < CALLS:
                self.words[1 + 2 * number] = IN_PYTHON if form is None else form.function
        guards = NO_GUARDS.union(*(form.guards for form in forms.values() if form is not None))
        by_python = frozenset(number for number, form in forms.items() if form is None) if at_exit else NOBODY
        if (guards, by_python) != (self.handler.guards, self.handler.by_python):
            self.handler = replace(self.handler, guards=guards, by_python=by_python)


def point_starter(
    recorder: Recorder, programs: Runner, arguments: Sequence[Row] | None, after: Callable[[int], object]
) -> NativeHandler | None:
    """The same as starter() for native callers."""
    rows = arguments or ()
    size = rows[0].size if rows else 8
    if programs.guards is None or any(row.size != size for row in rows):
        return None
    records = recorder.native
    words = (ctypes.c_uint64 * (P_ARGUMENTS + len(rows)))(
        programs.data, records.board.word, size, len(rows), *(row.offset for row in rows)
    )
    data = (ctypes.c_uint64 * 2)(ctypes.addressof(words), recorder.first_context())
    function = library(records.big_endian).address["exit_run" if arguments is None else "enter_run"]
    return NativeHandler(function, ctypes.addressof(data), after, (words, data, programs), guards=programs.guards)


def point_tracer(
    records: NativeRecords, file: RecordFile, number: int, long: int, start: int, arguments: Sequence[Row] | None
) -> NativeHandler | None:
    """The same as tracer()."""
    event = records.event(file, number, 0, records.board.syscall_depth & records.board.depth_mask)
    if event is None or any(row.size != long for row in arguments or ()):
        return None
    places = [row.offset for row in arguments or ()]
    words = (ctypes.c_uint64 * (S_ARGUMENTS + len(places)))(long, start, len(places), *places)
    data = (ctypes.c_uint64 * 2)(event.address, ctypes.addressof(words))
    function = library(records.big_endian).address["exit_recorded" if arguments is None else "enter_recorded"]
    guards = (
        records.guards(file) if arguments is None else NO_GUARDS
    )  # at a call's end nothing can be declined any more
    return NativeHandler(function, ctypes.addressof(data), nothing_left, (event, words, data), guards=guards)


def starter(recorder: Recorder, programs: Runner, arguments: Sequence[Row] | None) -> Callable[..., int | None] | None:
    """What runs programs on a call's struct pt_regs and number (and, where there are no arguments, its result).

    It says None where Python has to.
    """
    rows = arguments or ()
    size = rows[0].size if rows else 8
    if not recorder.native.possible or any(row.size != size for row in rows):
        return None
    records = recorder.native
    words = (ctypes.c_uint64 * (P_ARGUMENTS + len(rows)))(
        programs.data, records.board.word, size, len(rows), *(row.offset for row in rows)
    )
    at = ctypes.addressof(words)
    call = library(records.big_endian).builtin(
        "run_exit" if arguments is None else "run_enter", records.board.host.block
    )

    def run(*what: int) -> int | None:
        try:
            answer = call(at, recorder.take_context(), *what)
        except Fault:
            answer = None
        finally:
            recorder.drop_context()
        if answer == NO_ANSWER and words is not None:
            programs.failed()
        return answer

    return run


def tracer(
    records: NativeRecords, file: RecordFile, number: int, long: int, start: int, arguments: Sequence[Row] | None
) -> Callable[[int, int], bool] | None:
    """What records a call from struct pt_regs (or, where there are no arguments, its result) and its number, or says False.

    None: it is Python's.
    """
    event = records.event(file, number, 0, records.board.syscall_depth & records.board.depth_mask)
    if event is None or any(row.size != long for row in arguments or ()):
        return None
    places = [row.offset for row in arguments or ()]
    words = (ctypes.c_uint64 * (S_ARGUMENTS + len(places)))(long, start, len(places), *places)
    at = ctypes.addressof(words)
    call = library(records.big_endian).builtin(
        "record_exit" if arguments is None else "record_enter", records.board.host.block
    )

    def record(what: int, nr: int) -> bool:
        return call(event.address, at, what, nr) is not None and words is not None

    return record
