"""Records of system-call events that native code makes: the number, and words of struct pt_regs or the result.

kernel/trace/trace_syscalls.c, ftrace_syscall_enter() and ftrace_syscall_exit().
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

from arch.architecture import Row
from arch.native.library import Library
from arch.native.state import word_at
from arch.native.subset import Words, load32, load64, native, poke32, poke64
from tracing.record.compiled import E_RECORDER, NativeRecords, RecordFile, commit, put_header

NUMBER_AT = 8  # of the call's number in the record
NUMBER_END = 12
SYSCALL_DEPTH = 1  # preempt_count that the place holds
# Words of an event: bytes of a long, where the first is in the record, how many arguments, and where they are in struct pt_regs.
S_LONG, S_START, S_COUNT, S_ARGUMENTS = range(4)


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


@cache
def library(big_endian: bool) -> Library:
    """Compiled when such an event is often recorded."""
    return Library((record_enter, record_exit), big_endian)


def recorder(
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
