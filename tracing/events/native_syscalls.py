"""Records of system-call events that native code makes: the number, and words of struct pt_regs or the result.

kernel/trace/trace_syscalls.c, ftrace_syscall_enter() and ftrace_syscall_exit().
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

from arch.architecture import Row
from arch.errors import Fault
from arch.native import Word
from arch.native.library import Library
from arch.native.state import word_at
from arch.native.subset import Words, decline, load32, load64, native, poke32, poke64, shared, store32, store64
from tracing.probes.programs import NO_ANSWER, Runner, run_for_python
from tracing.record.compiled import E_RECORDER, NativeRecords, RecordFile, commit, put_header
from tracing.record.recorder import Recorder

NUMBER_AT = 8  # of the call's number in the record
NUMBER_END = 12
SYSCALL_DEPTH = 1  # preempt_count that the place holds
# Words of an event: bytes of a long, where the first is in the record, how many arguments, and where they are in struct pt_regs.
S_LONG, S_START, S_COUNT, S_ARGUMENTS = range(4)
# Of its programs: their words, bytes of a long, and of a word of struct pt_regs, of which there are so many, and where.
P_PROGRAMS, P_LONG, P_SIZE, P_COUNT, P_ARGUMENTS = range(5)


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


@cache
def library(big_endian: bool) -> Library:
    """Compiled when such an event is often recorded."""
    return Library((record_enter, record_exit, run_enter, run_exit), big_endian)


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
    event = records.event(file, number, 0, SYSCALL_DEPTH & records.board.depth_mask)
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
