"""The pages of a ring buffer, in words of the host: what writes a record is a native function, for Python and for compiled hits.

kernel/trace/ring_buffer.c.  A page is accounted as the kernel's is (4080 bytes of data, events with headers of 4 or 8 bytes, time
extends), so what fits and what is lost agree with it.  Its records lie in a piece of its own, each behind two
words, its time and its length.  One page more is the reader's: it changes places with the oldest of the ring, and who writes to
that goes on there until it is full.
"""

from __future__ import annotations

from functools import cache

from arch.abi.limits import PAGE_SIZE
from arch.native.library import Library
from arch.native.subset import Bytes, Words, decline, fill, native

BUF_PAGE_HEADER = 16  # u64 time_stamp, local_t commit
BUF_PAGE_SIZE = PAGE_SIZE - BUF_PAGE_HEADER
RB_ALIGNMENT = 4
TYPE_LEN_MAX = 28  # enum ring_buffer_type: data lengths up to 28 words are in the header itself
SHORT_DATA = TYPE_LEN_MAX * RB_ALIGNMENT
MAX_DELTA = 1 << 27
EXTEND_SIZE = 8  # of a time extend

# The smallest event takes 8 bytes of a page, and 24 here.
RECORD_HEAD = 16
STORE_SHARE = 3

# Words of one CPU's buffer: how many pages it may have; the numbers of the oldest and the newest, which only grow; bytes of
# a page; how many pages there is memory for, where their rows are, and the row of the page that is written to; the counters; the time of the last record.
NR_PAGES, OLDEST, NEWEST, ROOM, CAPACITY, ROWS_AT, TAIL = range(7)
ENTRIES, BYTES, OVERRUN, DROPPED, TAKEN, LOST, LAST_TS, CPU_WORDS = range(7, 15)
# A page's row: bytes used, events that nobody has taken, where the first of them and the end are, the time of its first, bytes of
# those that were taken, whether somebody found it full before it was left (its padding counts), where its records lie.  Behind the rows of the ring is that of the reader's page.
USED, COUNT, BEGIN, END, STAMP, READ, WHOLE, PLACE, PAGE_ROW = range(9)
# Words of a buffer: whether it records, how many readers have stopped it, whether old pages are overwritten; words of each CPU's.
RECORDING, STOPPED, OVERWRITE, FIRST_CPU = range(4)


@native
def event_span(length: int) -> int:
    """Bytes an event takes on a page; rb_calculate_event_length()."""
    if not length:
        length = 1
    if length > SHORT_DATA:
        length += 4
    return length + 4 + RB_ALIGNMENT - 1 & ~(RB_ALIGNMENT - 1)


@native
def row_of(b: Words, number: int) -> int:
    return b[ROWS_AT] + number % b[CAPACITY] * (8 * PAGE_ROW)


@native
def get_word(m: Words, index: int) -> int:
    return m[index]


@native
def clear_page(page: Words) -> int:
    page[USED] = 0
    page[COUNT] = 0
    page[BEGIN] = 0
    page[END] = 0
    page[READ] = 0
    page[WHOLE] = 0
    return 0


@native
def fill_up(b: Words, page: Words) -> int:
    """Padding at the page's end."""
    if page[USED] == b[ROOM]:
        page[WHOLE] = 1
    b[BYTES] += b[ROOM] - page[USED]
    page[USED] = b[ROOM]
    return 0


@native
def drop_oldest(b: Words, page: Words) -> int:
    """The oldest page goes, with what nobody has read."""
    b[OVERRUN] += page[COUNT]
    b[LOST] += page[COUNT]
    b[ENTRIES] -= page[COUNT]
    b[BYTES] -= page[USED] - page[READ]
    b[OLDEST] += 1
    return 0


@native
def append(b: Words, page: Words, store: int, ts: int, length: int, span: int) -> int:
    """Room for a record on a page that has it: where it goes."""
    if not page[USED]:
        page[STAMP] = ts
    at = store + page[END]
    page[END] += RECORD_HEAD + (length + 7 & ~7)
    page[USED] += span
    page[COUNT] += 1
    b[LAST_TS] = ts
    b[ENTRIES] += 1
    b[BYTES] += span
    head(at, ts, length)
    return at + RECORD_HEAD


@native
def head(record: Words, ts: int, length: int) -> int:
    record[0] = ts
    record[1] = length
    return 0


@native
def rb_reserve(b: Words, ts: int, length: int, overwrite: int) -> int:
    """Where so many bytes go; 0 if they are lost: too many, or the buffer is full and keeps its oldest."""
    if not b[CAPACITY]:
        decline()  # there is no memory yet
    span = event_span(length)
    page = b[TAIL]
    if get_word(page, USED) and ts >= b[LAST_TS] and ts - b[LAST_TS] >= MAX_DELTA:
        span += EXTEND_SIZE
    if span > b[ROOM]:
        return 0
    if get_word(page, USED) + span > b[ROOM]:
        if b[NEWEST] - b[OLDEST] + 1 >= b[NR_PAGES]:
            if not overwrite:
                b[DROPPED] += 1
                fill_up(b, page)
                return 0
            drop_oldest(b, row_of(b, b[OLDEST]))
        fill_up(b, page)
        b[NEWEST] += 1
        page = row_of(b, b[NEWEST])
        b[TAIL] = page
        clear_page(page)
    return append(b, page, get_word(page, PLACE), ts, length, span)


@native
def rb_write(b: Words, ts: int, data: Bytes, length: int, overwrite: int) -> int:
    """A record of Python's; 0 if it is lost."""
    at = rb_reserve(b, ts, length, overwrite)
    if at:
        fill(at, data, length)
    return at


@cache
def library() -> Library:
    """Compiled when the first record is written; the host's byte order is the only one here."""
    return Library((rb_write,), False)
