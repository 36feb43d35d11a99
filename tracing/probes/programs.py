"""Compiled programs on a probe: a hit that goes from the CPU to the programs without Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

from arch.abi.limits import U32_MAX
from arch.native import Word
from arch.native.handler import NO_FRAME, READ_ONLY, NativeCode, NativeHandler
from arch.native.library import Library
from arch.native.subset import Words, decline, invoke, native, shared
from tracing.record.recorder import Recorder

# Words of a handler: where the counter of hits is and who runs on which CPU, which bits of the answers matter, how many
# programs there are, and function and data of each.
COUNTER, ACTIVE, ANSWER, PROGRAMS, FIRST = range(5)


def counter() -> ctypes.Array[ctypes.c_uint64]:
    """A number that native code can count."""
    return (ctypes.c_uint64 * 1)()


@native
def count(m: Words) -> int:
    m[0] += 1
    return 0


@native
def at(m: Words, index: int) -> int:
    return m[index]


@native
def run_programs(d: Words, regs: int) -> int:
    """A hit, and trace_call_bpf(): all programs run, and their answers are and-ed."""
    if at(d[ACTIVE], shared[Word.CPU]):
        decline()
    count(d[COUNTER])
    answer = 1
    for i in range(d[PROGRAMS]):
        answer &= invoke(d[FIRST + 2 * i], d[FIRST + 2 * i + 1], regs)
    return answer & d[ANSWER]


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first program is."""
    return Library([run_programs], big_endian)


def handler(
    hits: ctypes.Array[ctypes.c_uint64],
    codes: Sequence[NativeCode | None],
    after: Callable[[int], object],
    recorder: Recorder,
    answer: bool = True,
) -> NativeHandler | None:
    """The compiled form of a hit that counts and runs these programs; None if one of them is not compiled.

    `answer`: something follows if they let the event through.
    """
    flat = [word for code in codes if code is not None for word in (code.function, code.data)]
    if not codes or len(flat) != 2 * len(codes):
        return None
    data = (ctypes.c_uint64 * (FIRST + len(flat)))(
        ctypes.addressof(hits), ctypes.addressof(recorder.running.active), U32_MAX if answer else 0, len(codes), *flat
    )  # fmt: skip
    function = library(recorder.host.mem.byteorder == "big").address["run_programs"]
    blind = all(code is not None and code.blind for code in codes)
    flags = READ_ONLY | (NO_FRAME if blind else 0)
    return NativeHandler(function, ctypes.addressof(data), after, (data, hits, tuple(codes)), flags)
