"""The binary page of the ftrace ring buffer, and the buffer's bookkeeping, by properties."""

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from arch.abi.limits import PAGE_SIZE
from arch.native import Block
from tracing.buffer.ringbuffer import (
    BUF_PAGE_SIZE,
    MAX_DELTA,
    CpuBuffer,
    RingBuffer,
    decode_page,
    encode_page,
    event_size,
)

records = st.lists(st.tuples(st.integers(0, 1 << 40), st.binary(min_size=1, max_size=150)), max_size=20)


@settings(max_examples=200, deadline=None)
@given(deltas=records, byteorder=st.sampled_from(["little", "big"]), word=st.sampled_from([4, 8]))
def test_page_round_trip(deltas, byteorder, word):
    now, events = 1000, []
    for delta, data in deltas:
        now += delta
        events.append((now, data))
    page = encode_page(events, byteorder, word)
    assert len(page) == PAGE_SIZE
    padded = [(ts, data + bytes(-len(data) % 4)) for ts, data in events]
    assert decode_page(page, byteorder, word) == padded


@settings(max_examples=100, deadline=None)
@given(page=st.binary(min_size=64, max_size=300))
def test_decoding_garbage_never_escapes(page):
    with contextlib.suppress(ValueError):
        decode_page(page)


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.one_of(st.binary(min_size=8, max_size=900), st.none()), max_size=120),
    overwrite=st.booleans(),
    cpus=st.integers(1, 3),
)
def test_nothing_is_lost_uncounted(steps, overwrite, cpus):
    """Written = read + still there + overwritten + dropped, per CPU; reading gives what was written, in order."""
    buffer = RingBuffer(cpus, Block(0, 0, 0), 1, overwrite)
    written, dropped, got, lost = 0, 0, [], 0
    for index, step in enumerate(steps):
        if step is None:
            event = buffer.consume()
            if event is not None:
                got.append(event.ts)
                lost += event.lost
        elif buffer.write(index % cpus, index, step):
            written += 1
        else:
            dropped += 1
    remaining = [event.ts for event in buffer.merged()]
    overrun = buffer.overruns
    assert written == len(got) + len(remaining) + overrun
    assert sum(cpu.dropped for cpu in buffer.cpus) == dropped
    assert remaining == sorted(remaining)
    assert lost <= overrun
    if overwrite:
        assert not dropped
    for cpu in buffer.cpus:
        assert cpu.size_bytes <= (1 + cpu.in_use) * BUF_PAGE_SIZE
        assert cpu.in_use <= cpu.nr_pages


def test_event_sizes():
    assert event_size(112) == 116  # the longest length that fits the header
    assert event_size(113) == 124
    assert event_size(1) == 8


class Model:
    """One CPU's pages, plainly: [bytes used, records, bytes of records taken] oldest first."""

    def __init__(self, nr_pages):
        self.nr_pages, self.pages, self.last = nr_pages, [[0, [], 0]], 0
        self.reader, self.tail, self.page_lost = [0, [], 0], self.pages[0], 0
        self.entries = self.size_bytes = self.overrun = self.dropped = self.read = self.lost = 0

    def drop(self):
        used, events, taken = self.pages.pop(0)
        self.size_bytes -= used - taken
        self.overrun += len(events)
        self.lost += len(events)
        self.entries -= len(events)

    def write(self, ts, data, overwrite):
        page = self.tail
        size = event_size(len(data)) + (8 if ts - self.last >= MAX_DELTA and page[0] else 0)
        if size > BUF_PAGE_SIZE:
            return False
        if page[0] + size > BUF_PAGE_SIZE:
            full = len(self.pages) >= self.nr_pages
            if full and overwrite:
                self.drop()
            self.dropped += full and not overwrite
            self.size_bytes += BUF_PAGE_SIZE - page[0]
            page[0] = BUF_PAGE_SIZE
            if full and not overwrite:
                return False
            page = self.tail = [0, [], 0]
            self.pages.append(page)
        page[0] += size
        page[1].append((ts, data))
        self.last = ts
        self.entries += 1
        self.size_bytes += size
        return True

    def take(self):
        """The reader's page changes places with the oldest once it is read to its end and no longer written to."""
        while self.entries and not self.reader[1]:
            assert self.tail is not self.reader
            self.size_bytes -= self.reader[0] - self.reader[2]
            self.reader = self.pages.pop(0)
            self.page_lost, self.lost = self.lost, 0

    def consume(self):
        self.take()
        if not self.entries:
            return None
        ts, data = self.reader[1].pop(0)
        self.reader[2] += event_size(len(data))
        lost, self.page_lost = self.page_lost, 0
        self.entries -= 1
        self.read += 1
        self.size_bytes = self.size_bytes - event_size(len(data)) if self.entries else 0
        if not self.entries:
            self.reader[2] = self.reader[0]
        return ts, data, lost

    def consume_page(self):
        """All of the reader's page, with the padding at its end."""
        self.take()
        taken = [self.consume()[:2] for _ in tuple(self.reader[1])]
        if taken and self.tail is not self.reader:
            self.size_bytes -= self.reader[0] - self.reader[2]
            self.reader[2] = self.reader[0]
        return taken

    def resize(self, count):
        self.nr_pages = count
        while len(self.pages) > count:
            self.drop()


STEP = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 300), st.integers(0, 4100)),
    st.tuples(st.just("write"), st.just(MAX_DELTA), st.integers(0, 120)),
    st.tuples(st.just("consume"), st.integers(0, 5), st.just(0)),
    st.tuples(st.just("page"), st.just(0), st.just(0)),
    st.tuples(st.just("resize"), st.integers(2, 6), st.just(0)),
)


@settings(max_examples=150, deadline=None)
@given(steps=st.lists(STEP, max_size=80), overwrite=st.booleans())
def test_pages_are_as_a_plain_model_of_them(steps, overwrite):
    buffer, now = CpuBuffer(0, 2, Block(0, 0, 0)), 0
    model = Model(2)
    for kind, number, size in steps:
        match kind:
            case "write":
                now += number
                data = bytes(i * 7 + now & 255 for i in range(size))
                assert buffer.write(now, data, overwrite) == model.write(now, data, overwrite)
            case "consume":
                for _ in range(number):
                    event = buffer.consume()
                    assert (event and (event.ts, event.data, event.lost)) == model.consume()
            case "page":
                events, _ = buffer.consume_page()
                assert events == model.consume_page()
            case "resize":
                buffer.nr_pages = number
                model.resize(number)
        counters = ("entries", "size_bytes", "overrun", "dropped", "read", "lost")
        assert [getattr(buffer, name) for name in counters] == [getattr(model, name) for name in counters]
        events = [event for _, page, _ in [model.reader, *model.pages] for event in page]
        assert [(event.ts, event.data) for event in buffer.events()] == events
        assert [event.ts for event in buffer.since(now - 200)] == [ts for ts, _ in events if ts >= now - 200]


def test_bytes_of_what_was_taken_are_not_taken_again():
    """A page that a reader has begun is overwritten: the buffer's bytes are those of what is left."""
    buffer = CpuBuffer(0, 2, Block(0, 0, 0))
    for size in (1053, 3009, 725):
        assert buffer.write(0, bytes(size), True)
    buffer.consume_page()
    assert buffer.write(0, bytes(317), True)
    assert buffer.size_bytes > 0
    left = [len(data) for _ in range(2) for _, data in buffer.consume_page()[0]]
    assert left == [3009, 725, 317]
    assert (buffer.entries, buffer.size_bytes) == (0, 0)
