"""The binary page of the ftrace ring buffer, and the buffer's bookkeeping, by properties."""

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from arch.abi.limits import PAGE_SIZE
from tracing.buffer.ringbuffer import BUF_PAGE_SIZE, RingBuffer, decode_page, encode_page, event_size

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
    buffer = RingBuffer(cpus, 1, overwrite)
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
        assert all(page.used <= BUF_PAGE_SIZE for page in cpu.pages)
        assert len(cpu.pages) <= cpu.nr_pages


def test_event_sizes():
    assert event_size(112) == 116  # the longest length that fits the header
    assert event_size(113) == 124
    assert event_size(1) == 8
