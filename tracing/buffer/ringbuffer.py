"""The ftrace ring buffer: one per CPU, pages of events, oldest overwritten.  kernel/trace/ring_buffer.c.

Sizes are accounted as on the kernel's pages (pages.py), so that what fits, what is lost and what `stats` prints agree with the
real thing.  `encode_page` and `decode_page` are the binary layout of such a page as trace_pipe_raw gives it.

Times are nanoseconds of virtual time.  Sizes are bytes.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from arch.abi.limits import PAGE_SIZE
from arch.hostmap import HostMapping
from arch.memory import ByteOrder
from arch.native import Block
from arch.records import dataclass
from tracing.buffer import pages
from tracing.buffer.pages import BUF_PAGE_HEADER, BUF_PAGE_SIZE, MAX_DELTA, RB_ALIGNMENT, SHORT_DATA

HEAD = struct.Struct("=QQ")  # of a record: time and length

TYPE_PADDING, TYPE_TIME_EXTEND, TYPE_TIME_STAMP = 29, 30, 31
MIN_PAGES = 2


@dataclass(slots=True)
class Event:
    """One event: when, and the record (trace_entry header and fields)."""

    ts: int
    data: bytes
    cpu: int = 0
    lost: int = 0  # events lost on this CPU right before this one, known when it is consumed


def event_size(data_length: int) -> int:
    """Bytes an event takes on a page; ring_buffer.c:rb_calculate_event_length()."""
    length = max(data_length, 1)
    if length > SHORT_DATA:
        length += 4
    return (length + 4 + RB_ALIGNMENT - 1) // RB_ALIGNMENT * RB_ALIGNMENT


class PageCopies(NamedTuple):
    """Pages of one CPU as they were at one moment: cheap to take, and taken apart when somebody asks."""

    cpu: int
    since: int  # ns; earlier records on the first page are left out
    pages: list[tuple[bytes, int]]  # records, and how many they are

    def events(self) -> list[Event]:
        """The records, oldest first."""
        out: list[Event] = []
        for page, count in self.pages:
            at = 0
            for _ in range(count):
                ts, length = HEAD.unpack_from(page, at)
                at += pages.RECORD_HEAD
                if ts >= self.since:
                    out.append(Event(ts, page[at : at + length], self.cpu))
                at += length + 7 & ~7
        return out


class SharedWord:
    """A number that native code shares."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __get__(self, owner: Shared, kind: type | None = None) -> int:
        return owner.words[self.index]

    def __set__(self, owner: Shared, value: int) -> None:
        owner.words[self.index] = value


class Shared:
    """What has words."""

    def __init__(self, count: int) -> None:
        array = (ctypes.c_uint64 * count)()
        self.address = ctypes.addressof(array)
        self.words = memoryview(array).cast("B").cast("Q")


class CpuBuffer(Shared):
    """The pages of one CPU and its counters (struct ring_buffer_per_cpu)."""

    entries = SharedWord(pages.ENTRIES)  # now in the buffer
    size_bytes = SharedWord(pages.BYTES)
    overrun = SharedWord(pages.OVERRUN)  # overwritten, never read
    dropped = SharedWord(pages.DROPPED)  # refused because overwrite is off
    read = SharedWord(pages.TAKEN)
    room = SharedWord(pages.ROOM)  # of a page without its header
    lost = SharedWord(pages.LOST)  # overwritten since a reader took a page

    def __init__(self, cpu: int, nr_pages: int, block: Block) -> None:
        super().__init__(pages.CPU_WORDS)
        self.cpu = cpu
        self.block = block
        self.page_lost = 0  # events lost before the reader's page, which no reader was told of
        self._rows = Shared(0)
        self._store: HostMapping | None = None  # made when the first record comes
        self._write: Callable[[int, int, bytes, int, int], int] | None = None
        self.words[pages.ROOM] = BUF_PAGE_SIZE
        self.nr_pages = nr_pages

    def change_pages(self, nr_pages: int, room: int) -> None:
        """Pages of another size; nothing is in them."""
        self._store = self._write = None
        self.words[pages.CAPACITY] = 0
        self.words[pages.ROOM] = room
        self.nr_pages = nr_pages
        self.reset()

    @property
    def nr_pages(self) -> int:
        """How many pages it may have."""
        return self.words[pages.NR_PAGES]

    @nr_pages.setter
    def nr_pages(self, count: int) -> None:
        """At once there are not more: the oldest go."""
        self.words[pages.NR_PAGES] = count
        if self._store is None:
            return
        while self.in_use > count:
            self._drop_oldest_page()
        if count > self.words[pages.CAPACITY]:
            self._make_room()

    @property
    def in_use(self) -> int:
        """How many pages of the ring there are; none while the reader's page is written to."""
        return self.words[pages.NEWEST] - self.words[pages.OLDEST] + 1

    def _make_room(self) -> None:
        """Rows and bytes for all pages and the reader's, with what there is now."""
        words, count, old = self.words, self.nr_pages, self._rows.words
        size, before = pages.STORE_SHARE * self.room, words[pages.CAPACITY]
        rows, store = Shared((count + 1) * pages.PAGE_ROW), HostMapping((count + 1) * size)
        for index in range(count + 1):
            rows.words[index * pages.PAGE_ROW + pages.PLACE] = store.address + index * size
        on_reader = self._store is not None and self.tail_of_reader
        if self._store is not None:
            moved = [
                (number % before, number % count) for number in range(words[pages.OLDEST], words[pages.NEWEST] + 1)
            ]
            for source, target in [*moved, (before, count)]:
                here, there = source * pages.PAGE_ROW, target * pages.PAGE_ROW
                rows.words[there : there + pages.PLACE] = old[here : here + pages.PLACE]
                ctypes.memmove(rows.words[there + pages.PLACE], old[here + pages.PLACE], old[here + pages.END])
        self._rows, self._store = rows, store
        words[pages.CAPACITY], words[pages.ROWS_AT] = count, rows.address
        tail = self._reader if on_reader else self._row(words[pages.NEWEST])
        words[pages.TAIL] = rows.address + 8 * tail

    def ready(self) -> None:
        """There is memory for records; what is compiled needs it before its first."""
        if self._store is None:
            self._make_room()

    def reset(self) -> None:
        """Empty, with all counters at 0."""
        words = self.words
        for index in (pages.OLDEST, pages.NEWEST, *range(pages.ENTRIES, pages.CPU_WORDS)):
            words[index] = 0
        self.page_lost = 0
        if self._store is not None:
            for row in (self._row(0), self._reader):
                self._clear(row)
            words[pages.TAIL] = words[pages.ROWS_AT] + 8 * self._row(0)

    def _clear(self, row: int) -> None:
        """Nothing is on that page."""
        for index in range(pages.PLACE):
            self._rows.words[row + index] = 0

    def _row(self, number: int) -> int:
        """Where the row of a page of the ring begins."""
        return number % self.words[pages.CAPACITY] * pages.PAGE_ROW

    @property
    def _reader(self) -> int:
        """Where the row of the reader's page begins."""
        return self.words[pages.CAPACITY] * pages.PAGE_ROW

    @property
    def tail_of_reader(self) -> bool:
        """The reader's page is the one that is written to."""
        return self.words[pages.TAIL] == self.words[pages.ROWS_AT] + 8 * self._reader

    def write(self, ts: int, data: bytes, overwrite: bool) -> bool:
        """One record at time `ts` (ns).  False if it found no room: too big, or the buffer is full and keeps its oldest."""
        write = self._write
        if write is None:
            self.ready()
            write = self._write = pages.library().builtin("rb_write", self.block)
        return bool(write(self.address, ts, data, len(data), overwrite))

    def _drop_oldest_page(self) -> None:
        row = self._row(self.words[pages.OLDEST])
        count = self._rows.words[row + pages.COUNT]
        self.overrun += count
        self.lost += count
        self.entries -= count
        self._leave_oldest_page()

    def _leave_oldest_page(self) -> None:
        """What it has beside events that were taken is no longer in the buffer."""
        words, rows, row = self.words, self._rows.words, self._row(self.words[pages.OLDEST])
        self.size_bytes -= rows[row + pages.USED] - rows[row + pages.READ]
        words[pages.OLDEST] += 1

    def _take_page(self) -> bool:
        """rb_get_reader_page(): is there an event on the reader's page?  One that is read to its end changes places with the oldest of the
        ring, unless it is still written to."""
        words = self.words
        if not words[pages.ENTRIES]:
            return False
        rows, mine = self._rows.words, self._reader
        while not rows[mine + pages.COUNT]:
            if self.tail_of_reader:
                return False
            self.size_bytes -= rows[mine + pages.USED] - rows[mine + pages.READ]
            self._clear(mine)
            other, newest = self._row(words[pages.OLDEST]), words[pages.OLDEST] == words[pages.NEWEST]
            for index in range(pages.PAGE_ROW):
                rows[mine + index], rows[other + index] = rows[other + index], rows[mine + index]
            if newest:
                words[pages.TAIL] = words[pages.ROWS_AT] + 8 * mine
            words[pages.OLDEST] += 1
            self.page_lost, self.lost = self.lost, 0
        return True

    def _at(self, row: int, offset: int) -> tuple[Event, int]:
        """The event at an offset of a page, and where the next one is."""
        assert self._store is not None
        buf = self._store.buf
        start = self._rows.words[row + pages.PLACE] - self._store.address + offset
        ts, length = HEAD.unpack_from(buf, start)
        start += pages.RECORD_HEAD
        following = offset + pages.RECORD_HEAD + (length + 7 & ~7)
        return Event(ts, buf[start : start + length], self.cpu), following

    def _in_order(self) -> list[int]:
        """The rows of all pages, the reader's first."""
        return [self._reader, *map(self._row, range(self.words[pages.OLDEST], self.words[pages.NEWEST] + 1))]

    def copied(self, ts: int) -> PageCopies:
        """The pages with records from a time on, which is soon reached from the end; nobody has taken them."""
        out = PageCopies(self.cpu, ts, [])
        if self._store is None:
            return out
        rows, buf, order = self._rows.words, self._store.buf, self._in_order()
        first = len(order) - 1
        while first and rows[order[first] + pages.STAMP] >= ts:
            first -= 1
        for row in order[first:]:
            start = rows[row + pages.PLACE] - self._store.address
            begin, end = rows[row + pages.BEGIN], rows[row + pages.END]
            out.pages.append((bytes(buf[start + begin : start + end]), rows[row + pages.COUNT]))
        return out

    def since(self, ts: int) -> list[Event]:
        """Those from a time on."""
        return self.copied(ts).events()

    def events(self) -> Iterator[Event]:
        """All that nobody has taken, oldest first."""
        if self._store is None:
            return
        for row in self._in_order():
            at = self._rows.words[row + pages.BEGIN]
            for _ in range(self._rows.words[row + pages.COUNT]):
                event, at = self._at(row, at)
                yield event

    def peek(self) -> Event | None:
        """The oldest event, left where it is, on the reader's page; None if there is none."""
        return self._at(self._reader, self._rows.words[self._reader + pages.BEGIN])[0] if self._take_page() else None

    def second(self) -> Event | None:
        """The one behind the oldest; None if there is none."""
        return next(islice(self.events(), 1, None), None) if self.words[pages.ENTRIES] > 1 else None

    def consume(self) -> Event | None:
        """Take the oldest event; it carries how many were lost before it."""
        if not self._take_page():
            return None
        row, rows = self._reader, self._rows.words
        event, rows[row + pages.BEGIN] = self._at(row, rows[row + pages.BEGIN])
        rows[row + pages.COUNT] -= 1
        event.lost, self.page_lost = self.page_lost, 0
        self.entries -= 1
        self.size_bytes -= event_size(len(event.data))
        rows[row + pages.READ] += event_size(len(event.data))
        self.read += 1
        if not self.entries:
            self.size_bytes = 0
            rows[row + pages.READ] = rows[row + pages.USED]
        return event

    def oldest_page(self) -> tuple[int, bool]:
        """Of the reader's page, and there are events: bytes of it that were taken; is it the one that is written to?"""
        self._take_page()
        return self._rows.words[self._reader + pages.READ], self.tail_of_reader

    def padding_counts(self) -> bool:
        """Does the reader's page, which is read to its end, have its padding?  A page that changes hands in one piece ends before it,
        unless somebody found it full.  rb_reset_tail(): real_end."""
        row, rows, newest = self._reader, self._rows.words, self.tail_of_reader
        return rows[row + pages.USED] == self.room and bool(rows[row + pages.WHOLE] or newest)

    def left_on_page(self) -> int:
        """Events of the reader's page that nobody has taken."""
        return int(self._rows.words[self._reader + pages.COUNT])

    def consume_page(self, room: int = 0) -> tuple[list[tuple[int, bytes]], int]:
        """Take all of the oldest page that has events, or as many as take so much room: (times and records, how many were lost before
        them)."""
        out: list[tuple[int, bytes]] = []
        if not self._take_page():
            return out, self.page_lost
        lost, room = self.page_lost, room or self.room
        for _ in range(self.left_on_page()):
            following = self.peek()
            assert following is not None
            extended = bool(out) and following.ts - out[-1][0] >= MAX_DELTA
            room -= event_size(len(following.data)) + (pages.EXTEND_SIZE if extended else 0)
            if room < 0:
                break
            event = self.consume()
            assert event is not None
            out.append((event.ts, event.data))
        row, rows = self._reader, self._rows.words
        if not rows[row + pages.COUNT] and not self.tail_of_reader:  # the padding at its end is read, too
            self.size_bytes -= rows[row + pages.USED] - rows[row + pages.READ]
            rows[row + pages.READ] = rows[row + pages.USED]
        return out, lost

    def filled(self, percent: int) -> bool:
        """Are so many of the pages in use?  ring_buffer.c:full_hit()."""
        return not percent or max(1, self.in_use) * 100 >= percent * self.nr_pages

    def oldest_ts(self) -> int:
        """When the first event was, in ns, that came to the oldest page of the ring, or to the reader's while it is written to (0: none
        has).  ring_buffer.c:ring_buffer_oldest_event_ts()."""
        if self._store is None:
            return 0
        row = self._reader if self.tail_of_reader else self._row(self.words[pages.OLDEST])
        return int(self._rows.words[row + pages.STAMP])


class RingBuffer(Shared):
    """All CPUs' buffers (struct trace_buffer)."""

    recording = SharedWord(pages.RECORDING)
    stopped = SharedWord(pages.STOPPED)  # open readers that stop it meanwhile (pause-on-trace)
    overwrite = SharedWord(pages.OVERWRITE)

    def __init__(self, nr_cpus: int, block: Block, size_kb: int = 1408, overwrite: int = True) -> None:
        super().__init__(pages.FIRST_CPU + nr_cpus)
        self.overwrite = overwrite
        self.recording = True
        self.subbuf_order = 0  # a page of the buffer is so many of the machine's, as a power of two
        self.cpus = [CpuBuffer(cpu, self._pages(size_kb), block) for cpu in range(nr_cpus)]
        for buffer in self.cpus:
            self.words[pages.FIRST_CPU + buffer.cpu] = buffer.address

    @property
    def subbuf_size(self) -> int:
        """Bytes of a page of the buffer, its header included."""
        return PAGE_SIZE << self.subbuf_order

    def _pages(self, size_kb: int) -> int:
        return max(MIN_PAGES, -(-size_kb * 1024 // (self.subbuf_size - BUF_PAGE_HEADER)))

    def set_subbuf_order(self, order: int) -> None:
        """Larger or smaller pages, about as much room; what is in the buffer goes.  ring_buffer_subbuf_order_set()."""
        old, self.subbuf_order = self.subbuf_size, order
        for buffer in self.cpus:
            pages_now = max(MIN_PAGES, old * buffer.nr_pages // self.subbuf_size)
            buffer.change_pages(pages_now, self.subbuf_size - BUF_PAGE_HEADER)

    def exchange(self, other: RingBuffer, cpu: int) -> None:
        """The buffers of one CPU change places."""
        self.cpus[cpu], other.cpus[cpu] = other.cpus[cpu], self.cpus[cpu]
        for buffer in (self, other):
            buffer.words[pages.FIRST_CPU + cpu] = buffer.cpus[cpu].address

    def resize(self, size_kb: int, cpu: int | None = None) -> None:
        """Set the size, rounded up to whole pages, two at least; contents are dropped where pages have to go."""
        for index in range(len(self.cpus)) if cpu is None else (cpu,):
            self.cpus[index].nr_pages = self._pages(size_kb)

    def changes(self, size_kb: int, cpu: int | None) -> bool:
        """Would that be another size?"""
        some = self.cpus if cpu is None else [self.cpus[cpu]]
        return any(buffer.nr_pages != self._pages(size_kb) for buffer in some)

    @property
    def size_kb(self) -> list[int]:
        """Per CPU, as buffer_size_kb shows it: whole pages without their headers."""
        return [buffer.nr_pages * buffer.room >> 10 for buffer in self.cpus]

    def write(self, cpu: int, ts: int, data: bytes) -> bool:
        """One record into a CPU's buffer; False if it is lost."""
        return bool(self.recording) and not self.stopped and self.cpus[cpu].write(ts, data, bool(self.overwrite))

    def reset(self, cpu: int | None = None) -> None:
        """Empty one CPU's buffer, or all."""
        for buffer in self.cpus if cpu is None else (self.cpus[cpu],):
            buffer.reset()

    def merged(self, cpu: int | None = None) -> Iterator[Event]:
        """All events in order of time, CPUs merged, nothing consumed."""
        events = [event for buffer in (self.cpus if cpu is None else (self.cpus[cpu],)) for event in buffer.events()]
        events.sort(key=lambda event: event.ts)  # stable: equal times keep CPU order
        return iter(events)

    def consume(self, cpu: int | None = None) -> Event | None:
        """Take the oldest event of one CPU, or of all."""
        best = self.oldest(cpu)
        return best.consume() if best is not None else None

    def oldest(self, cpu: int | None = None) -> CpuBuffer | None:
        """Where the oldest event is: on this CPU, or on any; None if there is none."""
        if cpu is not None:
            return self.cpus[cpu]
        best: CpuBuffer | None = None
        best_ts = 0
        for buffer in self.cpus:
            event = buffer.peek()
            if event is not None and (best is None or event.ts < best_ts):
                best, best_ts = buffer, event.ts
        return best

    def empty(self, cpu: int | None = None) -> bool:
        """Nothing to read on one CPU, or on all."""
        return not any(buffer.entries for buffer in (self.cpus if cpu is None else (self.cpus[cpu],)))

    @property
    def entries(self) -> int:
        """Events in the buffers now."""
        return sum(buffer.entries for buffer in self.cpus)

    @property
    def written(self) -> int:
        """Entries that were ever written: in the buffer, overwritten or read."""
        return sum(each.entries + each.overrun + each.read for each in self.cpus)

    @property
    def overruns(self) -> int:
        """Events that were overwritten before anybody read them."""
        return sum(buffer.overrun for buffer in self.cpus)

    def stats(self, cpu: int, now_ns: int, in_ns: bool = True) -> str:
        """per_cpu/cpuN/stats; trace.c:tracing_stats_read()."""
        buffer = self.cpus[cpu]
        rows = [
            f"entries: {buffer.entries}",
            f"overrun: {buffer.overrun}",
            "commit overrun: 0",
            f"bytes: {buffer.size_bytes}",
            f"oldest event ts: {_seconds(buffer.oldest_ts(), 5) if in_ns else buffer.oldest_ts()}",
            f"now ts: {_seconds(now_ns, 5) if in_ns else now_ns}",
            f"dropped events: {buffer.dropped}",
            f"read events: {buffer.read}",
        ]
        return "\n".join(rows) + "\n"


def _seconds(ns: int, width: int) -> str:
    us = (ns + 500) // 1000
    return f"{us // 1_000_000:{width}d}.{us % 1_000_000:06d}"


# The binary page, as trace_pipe_raw gives it.


def event_header(type_len: int, delta: int, byteorder: ByteOrder) -> bytes:
    """u32 type_len:5, time_delta:27; bit-fields fill from the least significant bit on little endian only."""
    word = type_len | delta << 5 if byteorder == "little" else type_len << 27 | delta
    return word.to_bytes(4, byteorder)


def encode_page(
    events: list[tuple[int, bytes]], byteorder: ByteOrder = "little", word: int = 8, size: int = PAGE_SIZE
) -> bytes:
    """One buffer_data_page of `size` bytes with these (time, record) events; ValueError if they do not fit."""
    order = byteorder
    body = bytearray()
    base = events[0][0] if events else 0
    last = base
    for ts, data in events:
        delta = ts - last
        if delta >= MAX_DELTA:
            body += event_header(TYPE_TIME_EXTEND, delta & (MAX_DELTA - 1), order)
            body += (delta >> 27).to_bytes(4, order)
            delta = 0
        padded = data + bytes(-len(data) % 4)
        if len(padded) > SHORT_DATA or not padded:
            body += event_header(0, delta, order) + (len(padded) + 4).to_bytes(4, order) + padded
        else:
            body += event_header(len(padded) // 4, delta, order) + padded
        last = ts
    if len(body) > size - BUF_PAGE_HEADER:
        raise ValueError("events do not fit on a page")
    head = base.to_bytes(8, order) + len(body).to_bytes(word, order)
    return bytes(head + bytes(BUF_PAGE_HEADER - len(head)) + body).ljust(size, b"\0")


def decode_page(page: bytes, byteorder: ByteOrder = "little", word: int = 8) -> list[tuple[int, bytes]]:
    """The events of such a page; records keep their padding to 4 bytes."""
    order = byteorder
    ts = int.from_bytes(page[:8], order)
    commit = int.from_bytes(page[8 : 8 + word], order) & 0xFFFFF
    position, end = BUF_PAGE_HEADER, BUF_PAGE_HEADER + commit
    if end > len(page):
        raise ValueError("commit beyond the page")
    out: list[tuple[int, bytes]] = []
    while position < end:
        value = int.from_bytes(page[position : position + 4], order)
        type_len, delta = (value & 31, value >> 5) if order == "little" else (value >> 27, value & (MAX_DELTA - 1))
        position += 4
        if type_len == TYPE_PADDING and not delta:
            break
        if type_len in (TYPE_TIME_EXTEND, TYPE_TIME_STAMP, TYPE_PADDING, 0):
            array = int.from_bytes(page[position : position + 4], order)
            if type_len == TYPE_TIME_EXTEND:
                ts += delta | array << 27
                position += 4
                continue
            if type_len == TYPE_TIME_STAMP:
                ts = delta | array << 27
                position += 4
                continue
            if type_len == TYPE_PADDING:
                ts += delta
                position += array
                continue
            length = array - 4
            position += 4
        else:
            length = type_len * 4
        if length < 0 or position + length > end:
            raise ValueError("event beyond the committed part")
        ts += delta
        out.append((ts, page[position : position + length]))
        position += length
    return out
