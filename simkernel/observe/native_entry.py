"""Compiled fentry programs at a function's entry: arguments from registers to an array in kernel memory, without Python."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

from arch.architecture import Architecture, Layout
from arch.native import Block, Word
from arch.native.handler import READ_ONLY, NativeCode, NativeHandler
from arch.native.library import Library
from arch.native.subset import Words, invoke, load32, load64, native, store64

# Words: the context in kernel memory, the function's address, how many arguments it has and where in struct pt_regs
# they are, how wide they are there; then how many programs, and function and data of each.
CONTEXT, ENTRY, COUNT, ARGUMENTS, WIDTH, PROGRAMS, FIRST = 0, 1, 2, 3, 15, 16, 17


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
        invoke(d[FIRST + 2 * program], d[FIRST + 2 * program + 1], at + 16)
    return 0


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first such program is."""
    return Library([run_fentry], big_endian)


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
    flat = [word for code in compiled for word in (code.function, code.data)]
    places = [row.offset for row in rows] + [0] * (WIDTH - ARGUMENTS - count)
    data = (ctypes.c_uint64 * (FIRST + len(flat)))(context, entry, count, *places, *widths, len(compiled), *flat)

    def after(regs: int) -> None:
        block.words[Word.NATIVE_STATUS] = 0
        for code in compiled:
            code.failed()

    function = library(arch.byteorder == "big").address["run_fentry"]
    return NativeHandler(function, ctypes.addressof(data), after, (data, tuple(compiled)), READ_ONLY)
