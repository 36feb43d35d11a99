"""The ftrace ring buffer: one per CPU, pages of events, oldest overwritten.  kernel/trace/ring_buffer.c.

Events live as Python bytes; sizes are accounted as on the kernel's pages (4080 bytes of data, a 4-byte event header,
time extends), so that what fits, what is lost and what `stats` prints agree with the real thing.  `encode_page` and
`decode_page` are the binary layout of such a page as trace_pipe_raw gives it.

Times are nanoseconds of virtual time.  Sizes are bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from arch.abi.limits import PAGE_SIZE
from arch.memory import ByteOrder

BUF_PAGE_HEADER = 16  # u64 time_stamp, local_t commit
BUF_PAGE_SIZE = PAGE_SIZE - BUF_PAGE_HEADER
RB_ALIGNMENT = 4
TYPE_LEN_MAX = 28  # enum ring_buffer_type: data lengths up to 28 words are in the header itself
TYPE_PADDING, TYPE_TIME_EXTEND, TYPE_TIME_STAMP = 29, 30, 31
MAX_DELTA = 1 << 27
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
    if length > TYPE_LEN_MAX * RB_ALIGNMENT:
        length += 4
    return (length + 4 + RB_ALIGNMENT - 1) // RB_ALIGNMENT * RB_ALIGNMENT


@dataclass(slots=True)
class Page:
    """One page of the buffer."""

    time_stamp: int = 0
    used: int = 0
    events: deque[Event] = field(default_factory=deque)


class CpuBuffer:
    """The pages of one CPU and its counters (struct ring_buffer_per_cpu)."""

    def __init__(self, cpu: int, nr_pages: int) -> None:
        self.cpu = cpu
        self.nr_pages = nr_pages
        self.room = BUF_PAGE_SIZE  # of a page without its header
        self.reset()

    def reset(self) -> None:
        """Empty, with all counters at 0."""
        self.pages: deque[Page] = deque([Page()])
        self.entries = 0  # now in the buffer
        self.bytes = 0
        self.overrun = 0  # overwritten, never read
        self.dropped = 0  # refused because overwrite is off
        self.read = 0
        self.lost = 0  # overwritten or dropped since the last consuming read
        self.last_ts = 0

    def write(self, ts: int, data: bytes, overwrite: bool) -> bool:
        """One record at time `ts` (ns).  False if it found no room: too big, or the buffer is full and keeps its oldest."""
        size = event_size(len(data))
        page = self.pages[-1]
        if ts - self.last_ts >= MAX_DELTA and page.used:
            size += 8
        if size > self.room:
            return False
        if page.used + size > self.room:
            if len(self.pages) >= self.nr_pages:
                if not overwrite:
                    self.dropped += 1
                    self.bytes += self.room - page.used
                    page.used = self.room
                    return False
                self._drop_oldest_page()
            self.bytes += self.room - page.used  # padding at the page's end
            page.used = self.room
            page = Page()
            self.pages.append(page)
        if not page.used:
            page.time_stamp = ts
        page.events.append(Event(ts, data, self.cpu))
        page.used += size
        self.last_ts = ts
        self.entries += 1
        self.bytes += size
        return True

    def _drop_oldest_page(self) -> None:
        page = self.pages.popleft()
        self.overrun += len(page.events)
        self.lost += len(page.events)
        self.entries -= len(page.events)
        self.bytes -= page.used

    def peek(self) -> Event | None:
        """The oldest event, left where it is; None if there is none."""
        for page in self.pages:
            if page.events:
                return page.events[0]
        return None

    def consume(self) -> Event | None:
        """Take the oldest event; it carries how many were lost before it."""
        while self.pages:
            page = self.pages[0]
            if page.events:
                event = page.events.popleft()
                event.lost, self.lost = self.lost, 0
                self.entries -= 1
                self.bytes -= event_size(len(event.data))
                self.read += 1
                if not page.events and len(self.pages) == 1:
                    page.used = 0
                if not self.entries:
                    self.bytes = 0
                return event
            if len(self.pages) == 1:
                return None
            self.pages.popleft()
        return None

    def consume_page(self) -> tuple[list[tuple[int, bytes]], int]:
        """Take all of the oldest page that has events: (times and records, how many were lost before them)."""
        while len(self.pages) > 1 and not self.pages[0].events:
            self.pages.popleft()
        out: list[tuple[int, bytes]] = []
        lost, page = self.lost, self.pages[0]
        while self.pages and self.pages[0] is page and page.events:
            event = self.consume()
            assert event is not None
            out.append((event.ts, event.data))
        return out, lost

    def filled(self, percent: int) -> bool:
        """Is there something to read, and are so many of the pages in use?  ring_buffer.c:full_hit()."""
        if self.peek() is None:
            return False
        return not percent or len(self.pages) * 100 >= percent * self.nr_pages

    def oldest_ts(self) -> int:
        """When the oldest event was, in ns; 0 if there is none."""
        event = self.peek()
        return event.ts if event is not None else 0


class RingBuffer:
    """All CPUs' buffers (struct trace_buffer)."""

    def __init__(self, nr_cpus: int, size_kb: int = 1408, overwrite: bool = True) -> None:
        self.overwrite = overwrite
        self.recording = True
        self.stopped = 0  # open readers that stop it meanwhile (pause-on-trace)
        self.subbuf_order = 0  # a page of the buffer is so many of the machine's, as a power of two
        self.cpus = [CpuBuffer(cpu, self._pages(size_kb)) for cpu in range(nr_cpus)]

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
            buffer.nr_pages = max(MIN_PAGES, old * buffer.nr_pages // self.subbuf_size)
            buffer.room = self.subbuf_size - BUF_PAGE_HEADER
            buffer.reset()

    def resize(self, size_kb: int, cpu: int | None = None) -> None:
        """Set the size, rounded up to whole pages, two at least; contents are dropped where pages have to go."""
        for index in range(len(self.cpus)) if cpu is None else (cpu,):
            buffer = self.cpus[index]
            buffer.nr_pages = self._pages(size_kb)
            while len(buffer.pages) > buffer.nr_pages:
                buffer._drop_oldest_page()

    @property
    def size_kb(self) -> list[int]:
        """Per CPU, as buffer_size_kb shows it: whole pages without their headers."""
        return [buffer.nr_pages * buffer.room >> 10 for buffer in self.cpus]

    def write(self, cpu: int, ts: int, data: bytes) -> bool:
        """One record into a CPU's buffer; False if it is lost."""
        return self.recording and not self.stopped and self.cpus[cpu].write(ts, data, self.overwrite)

    def reset(self, cpu: int | None = None) -> None:
        """Empty one CPU's buffer, or all."""
        for buffer in self.cpus if cpu is None else (self.cpus[cpu],):
            buffer.reset()

    def merged(self, cpu: int | None = None) -> Iterator[Event]:
        """All events in order of time, CPUs merged, nothing consumed."""
        lists = [
            [event for page in buffer.pages for event in page.events]
            for buffer in (self.cpus if cpu is None else (self.cpus[cpu],))
        ]
        events = [event for events in lists for event in events]
        events.sort(key=lambda event: event.ts)  # stable: equal times keep CPU order
        return iter(events)

    def consume(self, cpu: int | None = None) -> Event | None:
        """Take the oldest event of one CPU, or of all."""
        if cpu is not None:
            return self.cpus[cpu].consume()
        best: CpuBuffer | None = None
        best_ts = 0
        for buffer in self.cpus:
            event = buffer.peek()
            if event is not None and (best is None or event.ts < best_ts):
                best, best_ts = buffer, event.ts
        return best.consume() if best is not None else None

    def empty(self, cpu: int | None = None) -> bool:
        """Nothing to read on one CPU, or on all."""
        return all(buffer.peek() is None for buffer in (self.cpus if cpu is None else (self.cpus[cpu],)))

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
            f"bytes: {buffer.bytes}",
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


def _header(type_len: int, delta: int, byteorder: ByteOrder) -> bytes:
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
            body += _header(TYPE_TIME_EXTEND, delta & (MAX_DELTA - 1), order)
            body += (delta >> 27).to_bytes(4, order)
            delta = 0
        padded = data + bytes(-len(data) % 4)
        if len(padded) > TYPE_LEN_MAX * 4 or not padded:
            body += _header(0, delta, order) + (len(padded) + 4).to_bytes(4, order) + padded
        else:
            body += _header(len(padded) // 4, delta, order) + padded
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
