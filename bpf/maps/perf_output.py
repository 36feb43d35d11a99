"""Records of programs for the events of an array, as native functions.  kernel/trace/bpf_trace.c:bpf_perf_event_output().

The event makes the record itself (tracing/perf/native_output.py).
"""

from __future__ import annotations

import ctypes
from functools import cache

from arch.abi.errno import E2BIG, EINVAL, ENOENT
from arch.native.block import Word
from arch.native.library import Library
from arch.native.state import word_at
from arch.native.subset import Errno, Words, decline, invoke, load64, native, shared
from bpf.uapi import BPF_F_CURRENT_CPU, BPF_F_INDEX_MASK

EVENTS_AT_MOST = 1024
# Words of an array: how many elements it has, what a record without room is for the program; by index: the words of an event, 0 where
# there is none, or PYTHONS_EVENT.
ENTRIES, NO_ROOM, ROWS = range(3)
PYTHONS_EVENT = 1


@native
def to_event(m: Words, regs: int, flags: int, data: int, size: int) -> Errno:
    """Into the event at the index in the low half of flags; all ones there mean this CPU's."""
    if flags & ~BPF_F_INDEX_MASK:
        return -EINVAL
    index = shared[Word.CPU] if flags == BPF_F_CURRENT_CPU else flags
    if index >= m[ENTRIES]:
        return -E2BIG
    event = m[ROWS + index]
    if not event:
        return -ENOENT
    if event == PYTHONS_EVENT:
        decline()
    answer = invoke(word_at(event, 0), event, regs, data, size)
    if answer == 1:
        return 0
    return answer if answer else m[NO_ROOM]


@native
def events_of_regs(m: Words, ctx: int, array: int, flags: int, data: int, size: int) -> Errno:
    """Of a kprobe, whose context is struct pt_regs."""
    return to_event(m, ctx, flags, data, size)


@native
def events_of_tracepoint(m: Words, ctx: int, array: int, flags: int, data: int, size: int) -> Errno:
    """Of a tracepoint, which begins with its address."""
    return to_event(m, load64(ctx), flags, data, size)


@native
def events_of_kernel(m: Words, ctx: int, array: int, flags: int, data: int, size: int) -> Errno:
    """Of a raw tracepoint: always in the kernel."""
    return to_event(m, 0, flags, data, size)


@native
def events_guard(m: Words, forced: int) -> int:
    """May a record wake somebody?"""
    for i in range(m[ENTRIES]):
        event = m[ROWS + i]
        if event == PYTHONS_EVENT:
            return 1
        if event and invoke(word_at(event, 1), event):
            return 1
    return 0


OPERATIONS = ("events_of_regs", "events_of_tracepoint", "events_of_kernel", "events_guard")


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first program with such an array is."""
    return Library([events_of_regs, events_of_tracepoint, events_of_kernel, events_guard], big_endian)


def words(entries: int, no_room: int) -> ctypes.Array[ctypes.c_uint64]:
    """Of a new array."""
    return (ctypes.c_uint64 * (ROWS + entries))(entries, no_room & (1 << 64) - 1)
