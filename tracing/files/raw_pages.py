"""per_cpu/cpuN/trace_pipe_raw and snapshot_raw: pages as the ring buffer has them, to read(2) and to splice(2).

kernel/trace/trace.c: tracing_buffers_read(), tracing_buffers_splice_read().  A read takes what there is, a splice only pages
that nobody writes to any more; who waits in a splice is woken when the buffer is as full as buffer_percent says.
"""

from __future__ import annotations

from collections.abc import Hashable

from arch.abi.errno import EAGAIN, EINVAL
from arch.abi.limits import PAGE_SIZE
from arch.abi.poll import EPOLLIN, EPOLLRDNORM
from arch.errors import KernelError
from tracing.buffer.pages import BUF_PAGE_HEADER
from tracing.buffer.ringbuffer import TYPE_PADDING, CpuBuffer, RingBuffer, encode_page, event_header
from tracing.buffer.trace import PIPE_KEY, TraceArray
from tracing.face import WouldBlock
from tracing.files.nodes import File, OpenFile

MISSED_EVENTS, MISSED_STORED = (
    -1 << 31,
    1 << 30,
)  # RB_MISSED_EVENTS, an int's highest bit: as a long it has those above, too
SMALLEST_EVENT = 8  # RB_EVNT_MIN_SIZE


class PagedFile(OpenFile):
    """A file that gives itself to a pipe page by page (splice_read)."""

    flushed = False  # a descriptor was closed since the last wait began

    def pages(self, size: int, slots: int, pos: int, nonblock: bool) -> list[bytes]:
        """At most so many bytes and pages, taken.  EINVAL, EAGAIN, WouldBlock: sleep, then ask again unless it has `stopped`."""
        raise NotImplementedError

    def stopped(self) -> bool:
        """Nothing will come: who was woken goes home."""
        return False

    def flush(self) -> None:
        """A descriptor of it was closed."""


class RawFile(PagedFile):
    """One CPU's buffer, or its snapshot."""

    def __init__(self, file: File, flags: int, array: TraceArray, cpu: int, snapshot: bool) -> None:
        super().__init__(file, flags)
        self.array = array
        self.cpu = cpu
        self.snapshot = snapshot
        self.left = b""

    @property
    def buffer(self) -> RingBuffer | None:
        """The one that is read."""
        return self.array.snapshot if self.snapshot else self.array.buffer

    @property
    def mine(self) -> CpuBuffer | None:
        """This CPU's, if there is anything in it."""
        buffer = self.buffer
        return None if buffer is None or buffer.empty(self.cpu) else buffer.cpus[self.cpu]

    def read(self, size: int, pos: int) -> bytes:
        """The rest of a page that was begun, or a page with as many events as there is room for.  EAGAIN, WouldBlock."""
        if not size:
            return b""
        if not self.left:
            mine = self.mine
            if mine is None:
                raise self.wait(0, self.nonblock)
            self.left = self.next_page(mine, size - BUF_PAGE_HEADER, False) if size > BUF_PAGE_HEADER else b""
        data, self.left = self.left[:size], self.left[size:]
        return data

    def pages(self, size: int, slots: int, pos: int, nonblock: bool) -> list[bytes]:
        """Only whole ones, behind which others follow."""
        if pos % PAGE_SIZE or size < PAGE_SIZE:
            raise KernelError(EINVAL, "not whole pages")
        out: list[bytes] = []
        while len(out) < min(slots, size // PAGE_SIZE) and (mine := self.mine) is not None:
            page = self.next_page(mine, mine.room, True)
            if not page:
                break
            out.append(page)
        if not out:
            raise self.wait(0 if self.snapshot else self.array.buffer_percent, nonblock or self.nonblock)
        return out

    def next_page(self, mine: CpuBuffer, room: int, whole: bool) -> bytes:
        """Take what stands on the oldest page and has room; nothing where nothing has.  ring_buffer_read_page()"""
        begun, newest = mine.oldest_page()
        if whole and newest:
            return b""
        padded = (begun and not newest) or mine.padding_counts()
        there = mine.left_on_page()
        events, lost = mine.consume_page(room)
        if not events:
            return b""
        buffer, board = self.buffer, self.array.board
        assert buffer is not None
        order, word = board.byteorder, board.word
        page = bytearray(encode_page(events, order, word, buffer.subbuf_size))
        commit = int.from_bytes(page[8 : 8 + word], order)
        padding = mine.room - begun - commit
        if padded and len(events) == there and SMALLEST_EVENT <= padding <= room - commit:  # a copy has that, too
            at = BUF_PAGE_HEADER + commit
            page[at : at + 8] = event_header(TYPE_PADDING, 1, order) + (padding - 4).to_bytes(4, order)
            commit += padding
        if lost:
            flags = MISSED_EVENTS
            if commit + word <= mine.room:
                flags |= MISSED_STORED
                page[BUF_PAGE_HEADER + commit : BUF_PAGE_HEADER + commit + word] = lost.to_bytes(word, order)
            commit += flags
        page[8 : 8 + word] = (commit & (1 << 8 * word) - 1).to_bytes(word, order)
        return bytes(page)

    def wait(self, percent: int, nonblock: bool) -> Exception:
        """What to raise where there is nothing."""
        if nonblock:
            return KernelError(EAGAIN)
        self.flushed = False
        mine = self.mine
        key = self.array.wake_when_filled(self.cpu, percent if mine is not None or not percent else -1)
        return WouldBlock(key)

    def stopped(self) -> bool:
        """Recording has."""
        return not self.array.buffer.recording

    def flush(self) -> None:
        """Who waits goes home.  tracing_buffers_flush()"""
        self.flushed = True
        self.array.wake_all_readers()

    @property
    def poll_key(self) -> Hashable:
        """Who polls is woken at the same time as who waits: each entry would make others, if it is of a switch of tasks."""
        return self.array.full_key(self.cpu) if self.array.buffer_percent else PIPE_KEY

    def poll(self) -> int:
        """Readable once the buffer is as full as buffer_percent says."""
        if self.snapshot:
            return super().poll()
        buffer, percent = self.array.buffer, self.array.buffer_percent
        if buffer.cpus[self.cpu].filled(percent) and (percent or not buffer.empty(self.cpu)):
            return EPOLLIN | EPOLLRDNORM
        self.array.wake_when_filled(self.cpu, percent)
        return 0
