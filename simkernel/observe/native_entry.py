"""Compiled fentry and fexit programs: arguments from registers to an array in kernel memory, without Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

from arch.architecture import Architecture, Layout, Row
from arch.native import Block, Word
from arch.native.handler import NO_GUARDS, READ_ONLY, NativeCode, NativeHandler, all_guards
from arch.native.library import Library
from arch.native.subset import Words, attempt, load32, load64, native, shared, store64
from tracing.probes.returns import ARGUMENTS as NOTED_AT
from tracing.probes.returns import LAST_ROW, word_of

# Words: the context in kernel memory, the function's address, how many arguments it has and where in struct pt_regs
# they are, how wide they are there; then how many programs, and function, data and cookie of each.
CONTEXT, ENTRY, COUNT, ARGUMENTS, WIDTH, PROGRAMS, FIRST = 0, 1, 2, 3, 15, 16, 17
PROGRAM = 3  # of a raw tracepoint, which has one: function and data behind the first three
RAW_ARGUMENTS = 6
# Of an end: the context, the function's address, how many arguments, the rows of calls under way (tracing/probes/returns.py), where
# in struct pt_regs the result is and how wide, and the programs as above.
ROWS_AT, RESULT, RESULT_WIDTH, ENDS, FIRST_END = 3, 4, 5, 6, 7

RawRun = Callable[[tuple[int, ...]], None]


@native
def run_fentry(d: Words, regs: int) -> int:
    """The arguments are read once; each program gets them afresh, for the context is the program's to write."""
    for program in range(d[PROGRAMS]):
        at = d[CONTEXT]
        store64(at, d[ENTRY])
        store64(at + 8, d[COUNT])
        for i in range(d[COUNT]):
            place = regs + d[ARGUMENTS + i]
            store64(at + 16 + 8 * i, load64(place) if d[WIDTH] == 8 else load32(place))
        shared[Word.COOKIE] = d[FIRST + 3 * program + 2]
        shared[Word.ENTRY_IP] = d[ENTRY]
        shared[Word.CONTEXT_TAKEN] = 1
        attempt(d[FIRST + 3 * program], d[FIRST + 3 * program + 1], at + 16)
        shared[Word.CONTEXT_TAKEN] = 0
        if shared[Word.NATIVE_STATUS]:
            return 0
    return 0


@native
def run_fexit(d: Words, regs: int) -> int:
    """The arguments are those of the entry; the result follows them."""
    row = word_of(d[ROWS_AT], LAST_ROW) + NOTED_AT
    for program in range(d[ENDS]):
        at = d[CONTEXT]
        store64(at, d[ENTRY])
        store64(at + 8, d[COUNT])
        for i in range(d[COUNT]):
            store64(at + 16 + 8 * i, word_of(d[ROWS_AT], row + i))
        place = regs + d[RESULT]
        store64(at + 16 + 8 * d[COUNT], load64(place) if d[RESULT_WIDTH] == 8 else load32(place))
        shared[Word.COOKIE] = d[FIRST_END + 3 * program + 2]
        shared[Word.ENTRY_IP] = d[ENTRY]
        shared[Word.CONTEXT_TAKEN] = 1
        attempt(d[FIRST_END + 3 * program], d[FIRST_END + 3 * program + 1], at + 16)
        shared[Word.CONTEXT_TAKEN] = 0
        if shared[Word.NATIVE_STATUS]:
            return 0
    return 0


@native
def run_raw(d: Words, a: int, b: int, c: int, e: int, f: int, g: int) -> int:
    """bpf_trace_run1() to 6: not 0 where the program did not end well."""
    at = d[CONTEXT]
    store64(at, 0)
    store64(at + 8, d[COUNT])
    store64(at + 16, a)
    if d[COUNT] > 1:
        store64(at + 24, b)
    if d[COUNT] > 2:
        store64(at + 32, c)
    if d[COUNT] > 3:
        store64(at + 40, e)
    if d[COUNT] > 4:
        store64(at + 48, f)
    if d[COUNT] > 5:
        store64(at + 56, g)
    shared[Word.COOKIE] = 0
    shared[Word.ENTRY_IP] = 0
    shared[Word.CONTEXT_TAKEN] = 1
    attempt(d[PROGRAM], d[PROGRAM + 1], at + 16)
    shared[Word.CONTEXT_TAKEN] = 0
    status = shared[Word.NATIVE_STATUS]
    shared[Word.NATIVE_STATUS] = 0
    return status


@native
def run_point(d: Words, v: Words) -> int:
    """run_raw() for native callers: see Tracepoint.set_native()."""
    return run_raw(d, v[0], v[1], 0, 0, 0, 0)


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first such program is."""
    return Library([run_fentry, run_fexit, run_raw, run_point], big_endian)


def raw_tracepoint(code: NativeCode | None, block: Block, big_endian: bool, context: int, count: int) -> RawRun | None:
    """What runs a compiled program on a tracepoint's `count` arguments; None if there are more than it can take."""
    if code is None or not 0 < count <= RAW_ARGUMENTS:
        return None
    data = (ctypes.c_uint64 * (PROGRAM + 2))(context, 0, count, code.function, code.data)
    address, call = ctypes.addressof(data), library(big_endian).builtin("run_raw", block)
    rest = (0,) * (RAW_ARGUMENTS - count)

    def run(args: tuple[int, ...]) -> None:
        if call(address, *args, *rest):
            code.failed()
        assert data is not None  # it lives as long as this function

    return run


def raw_point(
    code: NativeCode | None, block: Block, big_endian: bool, context: int, count: int
) -> NativeHandler | None:
    """The same for native callers on a system call's way."""
    if code is None or code.guards is None or count != 2:
        return None
    data = (ctypes.c_uint64 * (PROGRAM + 2))(context, 0, count, code.function, code.data)

    def after(values: int) -> None:
        code.failed()

    function, sight = (
        library(big_endian).address["run_point"],
        None if code.sight is None or code.elsewhere else frozenset[tuple[int, int]](),
    )
    return NativeHandler(function, ctypes.addressof(data), after, (data, code), sight=sight, guards=code.guards)


def fentry_handler(
    codes: Sequence[NativeCode | None],
    arch: Architecture,
    layout: Layout,
    block: Block,
    context: int,
    entry: int,
    count: int,
) -> NativeHandler | None:
    """The compiled form of a trampoline's entry; None if a program is not compiled, or an argument is on the stack."""
    compiled = [code for code in codes if code is not None]
    if not codes or len(compiled) != len(codes) or count > len(arch.function_args):
        return None
    rows = [layout.fields[name] for name in arch.function_args[:count]]
    widths = {row.size for row in rows} or {8}
    if len(widths) != 1 or not widths <= {4, 8}:
        return None
    flat = [word for code in compiled for word in (code.function, code.data, code.cookie)]
    places = [row.offset for row in rows] + [0] * (WIDTH - ARGUMENTS - count)
    data = (ctypes.c_uint64 * (FIRST + len(flat)))(context, entry, count, *places, *widths, len(compiled), *flat)

    return _handler("run_fentry", data, compiled, arch, block, rows)


def fexit_handler(
    codes: Sequence[NativeCode | None],
    arch: Architecture,
    layout: Layout,
    block: Block,
    context: int,
    rows: int,
    entry: int,
    count: int,
) -> NativeHandler | None:
    """The compiled form of a trampoline's end, whose rows note `count` arguments; None if a program is not compiled."""
    compiled = [code for code in codes if code is not None]
    if not codes or len(compiled) != len(codes):
        return None
    result = layout.fields[arch.return_value]
    flat = [word for code in compiled for word in (code.function, code.data, code.cookie)]
    data = (ctypes.c_uint64 * (FIRST_END + len(flat)))(
        context, entry, count, rows, result.offset, result.size, len(compiled), *flat
    )
    return _handler("run_fexit", data, compiled, arch, block, [result])


def _handler(
    name: str,
    data: ctypes.Array[ctypes.c_uint64],
    compiled: Sequence[NativeCode],
    arch: Architecture,
    block: Block,
    read: Sequence[Row],
) -> NativeHandler:
    def after(regs: int) -> None:
        block.words[Word.NATIVE_STATUS] = 0
        for code in compiled:
            code.failed()

    function = library(arch.byteorder == "big").address[name]
    guards, elsewhere = all_guards(code.guards for code in compiled), any(code.elsewhere for code in compiled)
    known = guards is not None and all(code.sight is not None for code in compiled)
    sight = frozenset((row.offset, row.size) for row in read) if known else None
    keep = (data, tuple(compiled))
    return NativeHandler(
        function, ctypes.addressof(data), after, keep, READ_ONLY, sight, elsewhere, guards=guards or NO_GUARDS
    )
