"""A program's record into the buffer of a perf event, as native code.  kernel/events/ring_buffer.c; see PerfEvent.bpf_output().

Events and buffers stay objects of Python's, whose slots are read and set here.  A buffer that is written backward, overwritten or
paused, records that were lost before, samples with more than numbers, and who sleeps until a record comes are Python's.
"""

from __future__ import annotations

import ctypes
from functools import cache

from arch.abi.errno import EINVAL, EOPNOTSUPP
from arch.abi.limits import PAGE_SIZE
from arch.abi.perf_event import (
    PERF_RECORD_MISC_KERNEL,
    PERF_RECORD_MISC_USER,
    PERF_RECORD_SAMPLE,
    PERF_SAMPLE_ADDR,
    PERF_SAMPLE_CPU,
    PERF_SAMPLE_ID,
    PERF_SAMPLE_IDENTIFIER,
    PERF_SAMPLE_PERIOD,
    PERF_SAMPLE_RAW,
    PERF_SAMPLE_STREAM_ID,
    PERF_SAMPLE_TIME,
)
from arch.abi.poll import EPOLLIN
from arch.native.block import Word
from arch.native.library import Library
from arch.native.slots import LENGTH, slot_offset
from arch.native.state import time_now, word_at
from arch.native.subset import (
    Errno,
    Words,
    as_uint,
    copy,
    decline,
    load32,
    load64,
    native,
    set_uint,
    shared,
    store16,
    store32,
    store64,
    zero,
)
from arch.native.walk import in_direct_map
from tracing.perf.ring import OFF_DATA_HEAD, OFF_DATA_TAIL, PerfBuffer

HEAD, MARK, EVENTS, POLL = (slot_offset(PerfBuffer, name) for name in ("head", "wakeup_mark", "events", "poll"))
LOST, PAUSED, OVERWRITE = (slot_offset(PerfBuffer, name) for name in ("lost", "paused", "overwrite"))
BACKWARD, BASE, SIZE = (slot_offset(PerfBuffer, name) for name in ("backward", "base", "size"))
WATERMARK, ON_WAKEUP = slot_offset(PerfBuffer, "watermark"), slot_offset(PerfBuffer, "on_wakeup")

# Words of an event: the functions output() and guard(); places of its slots; who sleeps on it, and who is told; is it one that takes
# records, and may their form be made here; the sample's parts, its number, after how many records somebody is woken (0: by the
# buffer's watermark); None; where and how wide the instruction pointer is in struct pt_regs.
(
    OUTPUT, GUARD, CPU, ENABLED, BUFFER, LOST_SAMPLES, OUTPUT_TO, SLEEPERS, TOLD, TAKES, KNOWN, TYPE, ID, WAKEUP, NONE, IP, IP_SIZE,
    EVENT_WORDS,
) = range(18)  # fmt: skip

NUMBERS = (
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU
    | PERF_SAMPLE_PERIOD
)  # fmt: skip
KNOWN_PARTS = NUMBERS | PERF_SAMPLE_RAW
RECORD_HEADER = 8  # struct perf_event_header
LARGEST_RECORD = 60_000  # bytes of a record: its size is a u16


@native
def value_of(place: int) -> int:
    """An int in a slot."""
    return as_uint(word_at(place, 0))


@native
def event_watched(e: Words) -> int:
    """Is there somebody who would be woken?"""
    found = word_at(word_at(e[SLEEPERS], 0) + LENGTH, 0) + word_at(word_at(e[TOLD], 0) + LENGTH, 0)
    return found + word_at(word_at(e[OUTPUT_TO], 0) + LENGTH, 0)


@native
def put_next(buffer: int, at: int, value: int) -> int:
    """A number of eight bytes at a position of the buffer; the position behind it."""
    store64(value_of(buffer + BASE) + PAGE_SIZE + (at & value_of(buffer + SIZE) - 1), value)
    return at + 8


@native
def put_pair_next(buffer: int, at: int, first: int, second: int) -> int:
    """Two of four bytes."""
    place = value_of(buffer + BASE) + PAGE_SIZE + (at & value_of(buffer + SIZE) - 1)
    store32(place, first)
    store32(place + 4, second)
    return at + 8


@native
def put_raw(buffer: int, at: int, data: int, size: int, room: int) -> int:
    """u32 size and the data, up to a multiple of eight; `room` bytes in all."""
    start = value_of(buffer + BASE) + PAGE_SIZE
    total = value_of(buffer + SIZE)
    place = at & total - 1
    last = at + room - 8 & total - 1
    zero(start + last, 8)
    store32(start + place, room - 4)
    place = place + 4 & total - 1
    first = total - place
    if first > size:
        first = size
    copy(start + place, data, first)
    copy(start, data + first, size - first)
    return at + room


@native
def output(e: Words, regs: int, data: int, size: int) -> Errno:
    """PerfEvent.bpf_output(): 1, or 0 where the record is lost."""
    if not e[TAKES]:
        return -EINVAL
    if value_of(e[CPU]) != shared[Word.CPU] or not value_of(e[ENABLED]):
        return -EOPNOTSUPP
    buffer = word_at(e[BUFFER], 0)
    if buffer == e[NONE]:
        return 0
    if not e[KNOWN] or not in_direct_map(data, size) or size > LARGEST_RECORD:
        decline()
    if (
        value_of(buffer + PAUSED)
        or value_of(buffer + OVERWRITE)
        or value_of(buffer + BACKWARD)
        or value_of(buffer + LOST)
    ):
        decline()
    parts = e[TYPE]
    raw = (size + 4 + 7 & ~7) if parts & PERF_SAMPLE_RAW else 0
    length = RECORD_HEADER + raw
    rest = parts & NUMBERS
    while rest:
        length += 8
        rest &= rest - 1
    head = value_of(buffer + HEAD)
    total = value_of(buffer + SIZE)
    if length > total or length > (load64(value_of(buffer + BASE) + OFF_DATA_TAIL) - head - 1 & total - 1):
        set_uint(buffer + LOST, 1)
        set_uint(e[LOST_SAMPLES], value_of(e[LOST_SAMPLES]) + 1)
        return 0
    mark = value_of(buffer + MARK)
    marked = head + length - mark > value_of(buffer + WATERMARK)
    events = value_of(buffer + EVENTS) + 1
    counted = e[WAKEUP] and events >= e[WAKEUP]
    if (marked or counted) and (event_watched(e) or word_at(word_at(buffer + ON_WAKEUP, 0) + LENGTH, 0) != 1):
        decline()
    now = time_now() if parts & PERF_SAMPLE_TIME else 0
    ip = 0
    if regs:
        ip = load64(regs + e[IP]) if e[IP_SIZE] == 8 else load32(regs + e[IP])
    at = head + RECORD_HEADER
    if parts & PERF_SAMPLE_IDENTIFIER:
        at = put_next(buffer, at, e[ID])
    if parts & PERF_SAMPLE_TIME:
        at = put_next(buffer, at, now)
    if parts & PERF_SAMPLE_ADDR:
        at = put_next(buffer, at, 0)
    if parts & PERF_SAMPLE_ID:
        at = put_next(buffer, at, e[ID])
    if parts & PERF_SAMPLE_STREAM_ID:
        at = put_next(buffer, at, e[ID])
    if parts & PERF_SAMPLE_CPU:
        at = put_pair_next(buffer, at, shared[Word.CPU], 0)
    if parts & PERF_SAMPLE_PERIOD:
        at = put_next(buffer, at, 0)
    if raw:
        put_raw(buffer, at, data, size, raw)
    place = value_of(buffer + BASE) + PAGE_SIZE + (head & total - 1)
    store32(place, PERF_RECORD_SAMPLE)
    store16(place + 4, PERF_RECORD_MISC_USER if ip and not ip >> 63 else PERF_RECORD_MISC_KERNEL)
    store16(place + 6, length)
    set_uint(buffer + HEAD, head + length)
    if marked:
        set_uint(buffer + MARK, mark + value_of(buffer + WATERMARK))
    store64(value_of(buffer + BASE) + OFF_DATA_HEAD, head + length)
    if e[WAKEUP]:
        set_uint(buffer + EVENTS, events - e[WAKEUP] if counted else events)
    if marked or counted:
        set_uint(buffer + POLL, EPOLLIN)
    return 1


@native
def guard(e: Words) -> int:
    """May a record wake somebody?"""
    return event_watched(e)


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first such event is put into a map."""
    return Library([output, guard], big_endian)


def words() -> ctypes.Array[ctypes.c_uint64]:
    """Of an event, to be filled."""
    return (ctypes.c_uint64 * EVENT_WORDS)()
