"""The core of ring buffers, as native functions.  kernel/bpf/ringbuf.c; see htab.py for what that means.

A record has a header of eight bytes, its length with two bits of state and its page, and is as long as a multiple of eight.
Positions run freely; what programs and user space can write of them is only compared, never followed.
"""

from __future__ import annotations

import ctypes
from functools import cache

from arch.abi.errno import EAGAIN, EINVAL
from arch.abi.limits import PAGE_SIZE, U32_MAX
from arch.native.library import Library
from arch.native.slots import LENGTH
from arch.native.state import word_at
from arch.native.subset import (
    Errno,
    Words,
    copy,
    decline,
    load32,
    load64,
    native,
    store32,
    store64,
)
from arch.native.walk import in_direct_map
from bpf.uapi import (
    BPF_RB_AVAIL_DATA,
    BPF_RB_CONS_POS,
    BPF_RB_FORCE_WAKEUP,
    BPF_RB_NO_WAKEUP,
    BPF_RB_PROD_POS,
    BPF_RB_RING_SIZE,
    BPF_RINGBUF_BUSY_BIT,
    BPF_RINGBUF_DISCARD_BIT,
    BPF_RINGBUF_HDR_SZ,
)

MAX_RECORD_SIZE = U32_MAX // 4
META_PAGES = 3  # RINGBUF_PGOFF of 6.1 with its two position pages: 1 + 2

# Words of a ring: where its positions are and its data, bytes of data, the first record that may still be written to, and
# how many reservations found no room; references to who sleeps until there is a record, and to who is told (0: nobody knows).
CONSUMER, PRODUCER, DATA, SIZE, PENDING, REFUSED, SLEEPERS, TOLD, RING_WORDS = range(9)

# Words of all rings of a machine: how many; of each where its data begins, where the second piece ends, and its words.
RINGS, FIRST_RING = 0, 1
RING_ROW = 3
MAX_RINGS = 64


@native
def ring_span(size: int) -> int:
    """Bytes of a record with its header."""
    return size + BPF_RINGBUF_HDR_SZ + 7 & ~7


@native
def ring_take(m: Words, size: int) -> int:
    """__bpf_ringbuf_reserve(): address of so many bytes, 0 if there is no room."""
    if size > MAX_RECORD_SIZE or ring_span(size) > m[SIZE]:
        return 0
    mask = m[SIZE] - 1
    consumer = load64(m[CONSUMER])
    producer = load64(m[PRODUCER])
    while producer > m[PENDING]:
        header = load32(m[DATA] + (m[PENDING] & mask))
        if header & BPF_RINGBUF_BUSY_BIT:
            break
        m[PENDING] += ring_span(header & ~BPF_RINGBUF_DISCARD_BIT)
    following = producer + ring_span(size)
    if following - consumer > mask or following - m[PENDING] > mask:
        m[REFUSED] += 1
        return 0
    place = m[DATA] + (producer & mask)
    store32(place, size | BPF_RINGBUF_BUSY_BIT)
    store32(place + 4, META_PAGES + (place - m[DATA]) // PAGE_SIZE)
    store64(m[PRODUCER], following)
    return place + BPF_RINGBUF_HDR_SZ


@native
def ring_reserve(m: Words, size: int, flags: int) -> int:
    """bpf_ringbuf_reserve()."""
    return 0 if flags else ring_take(m, size)


@native
def ring_wakes(m: Words, sample: int, flags: int) -> int:
    """Has the consumer read all before this record?"""
    if flags & BPF_RB_FORCE_WAKEUP:
        return 1
    if flags & BPF_RB_NO_WAKEUP:
        return 0
    return load64(m[CONSUMER]) & m[SIZE] - 1 == sample - BPF_RINGBUF_HDR_SZ - m[DATA]


@native
def ring_watched(m: Words) -> int:
    """Is there somebody who would be woken?"""
    if not m[SLEEPERS]:
        return 1
    return word_at(word_at(m[SLEEPERS], 0) + LENGTH, 0) + word_at(word_at(m[TOLD], 0) + LENGTH, 0)


@native
def ring_guard(m: Words, forced: int) -> int:
    """May a record that comes now wake somebody?  `forced`: also one who has not read all before it."""
    if not ring_watched(m):
        return 0
    return forced or load64(m[PRODUCER]) - load64(m[CONSUMER]) - 1 >= m[SIZE]


@native
def ring_finish(m: Words, sample: int, discard: int) -> int:
    """The record is complete; what lies behind the end belongs at the front."""
    place = sample - BPF_RINGBUF_HDR_SZ
    length = load32(place) ^ BPF_RINGBUF_BUSY_BIT
    end = m[DATA] + m[SIZE]
    if place + length + BPF_RINGBUF_HDR_SZ > end:
        copy(m[DATA], end, place + length + BPF_RINGBUF_HDR_SZ - end)
    store32(place, length | discard)
    return 0


@native
def ring_commit(m: Words, sample: int, flags: int, discard: int) -> int:
    """bpf_ringbuf_commit(): whether somebody is to be woken."""
    ring_finish(m, sample, discard)
    return ring_wakes(m, sample, flags)


@native
def ring_output(m: Words, data: int, size: int, flags: int) -> Errno:
    """bpf_ringbuf_output(); waking is Python's."""
    if flags & ~(BPF_RB_NO_WAKEUP | BPF_RB_FORCE_WAKEUP):
        return -EINVAL
    if not in_direct_map(data, size):
        decline()
    if ring_wakes(m, m[DATA] + (load64(m[PRODUCER]) & m[SIZE] - 1) + BPF_RINGBUF_HDR_SZ, flags) and ring_watched(m):
        decline()
    sample = ring_take(m, size)
    if not sample:
        return -EAGAIN
    copy(sample, data, size)
    ring_finish(m, sample, 0)
    return 0


@native
def ring_query(m: Words, what: int) -> int:
    """bpf_ringbuf_query()."""
    if what == BPF_RB_AVAIL_DATA:
        return load64(m[PRODUCER]) - load64(m[CONSUMER])
    if what == BPF_RB_RING_SIZE:
        return m[SIZE]
    if what == BPF_RB_CONS_POS:
        return load64(m[CONSUMER])
    if what == BPF_RB_PROD_POS:
        return load64(m[PRODUCER])
    return 0


@native
def ring_of(rings: Words, sample: int) -> int:
    """The words of the ring that a record lies in."""
    for i in range(rings[RINGS]):
        row = FIRST_RING + RING_ROW * i
        if sample >= rings[row] and sample < rings[row + 1]:
            return rings[row + 2]
    decline()
    return 0


@native
def ring_close(m: Words, sample: int, flags: int, discard: int) -> int:
    if ring_wakes(m, sample, flags) and ring_watched(m):
        decline()
    return ring_finish(m, sample, discard)


@native
def ring_submit(rings: Words, sample: int, flags: int) -> int:
    """bpf_ringbuf_submit()."""
    return ring_close(ring_of(rings, sample), sample, flags, 0)


@native
def ring_discard(rings: Words, sample: int, flags: int) -> int:
    """bpf_ringbuf_discard()."""
    return ring_close(ring_of(rings, sample), sample, flags, BPF_RINGBUF_DISCARD_BIT)


FUNCTIONS = (ring_take, ring_reserve, ring_commit, ring_output, ring_query, ring_submit, ring_discard, ring_guard)


@cache
def library(big_endian: bool) -> Library:
    """Compiled for machines of one byte order, when the first ring buffer is made."""
    return Library(FUNCTIONS, big_endian)


class Rings:
    """The ring buffers of a machine, for who knows a record only."""

    def __init__(self) -> None:
        self.words = (ctypes.c_uint64 * (FIRST_RING + RING_ROW * MAX_RINGS))()

    def add(self, ring: ctypes.Array[ctypes.c_uint64]) -> None:
        """A new one; those beyond the room are found by Python alone."""
        count = self.words[RINGS]
        if count < MAX_RINGS:
            row = FIRST_RING + RING_ROW * count
            data = ring[DATA]
            self.words[row : row + RING_ROW] = [data, data + 2 * ring[SIZE], ctypes.addressof(ring)]
            self.words[RINGS] = count + 1

    def remove(self, ring: ctypes.Array[ctypes.c_uint64]) -> None:
        """It goes; the last one takes its row."""
        count, wanted = self.words[RINGS], ctypes.addressof(ring)
        for row in range(FIRST_RING, FIRST_RING + RING_ROW * count, RING_ROW):
            if self.words[row + 2] == wanted:
                last = FIRST_RING + RING_ROW * (count - 1)
                for i in range(RING_ROW):
                    self.words[row + i] = self.words[last + i]
                self.words[RINGS] = count - 1
                return
