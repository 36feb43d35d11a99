"""An open trace_pipe: text that is consumed.  kernel/trace/trace.c:tracing_read_pipe()."""

from __future__ import annotations

from arch.abi.errno import EAGAIN, EFAULT
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from tracing.buffer.ringbuffer import Event
from tracing.buffer.trace import ENTRY_WAITERS, PIPE_KEY, TraceArray
from tracing.face import WouldBlock


class TracePipe:
    """One reader of one buffer, or of all of an array's."""

    def __init__(self, array: TraceArray, cpu: int | None) -> None:
        array.claim_pipe(cpu)
        self.array = array
        self.cpu = cpu
        self.left = b""
        self.following: Event | None = (
            None  # the entry behind the one that was printed last, which may have been printed with it
        )
        self.read_something = False
        self.first = True

    def read(self, size: int, nonblock: bool) -> bytes:
        """At most `size` bytes of whole lines; EAGAIN or WouldBlock where there are none."""
        if self.left:
            data, self.left = self.left[:size], self.left[size:]
            return data
        if not self._wait(nonblock):
            return b""
        data = self._lines(min(size, PAGE_SIZE - 1))
        self.read_something = True
        data, self.left = data[:size], data[size:]
        return data

    def _wait(self, nonblock: bool) -> bool:
        """Is there an entry?  Not where recording has ended.  EAGAIN, WouldBlock.  tracing_wait_pipe()"""
        array = self.array
        if not array.buffer.empty(self.cpu):
            return True
        if not array.buffer.recording and self.read_something:
            return False
        if nonblock:
            raise KernelError(EAGAIN)
        array.pipe_waiters |= ENTRY_WAITERS
        raise WouldBlock(PIPE_KEY)

    def pages(self, size: int, slots: int, nonblock: bool) -> list[bytes]:
        """The lines that fit, at most a page of them each: what a splice gets.  EAGAIN, EFAULT, WouldBlock.  tracing_splice_read_pipe()"""
        if not self.left and not self._wait(nonblock):
            raise KernelError(EFAULT)
        out: list[bytes] = []
        while len(out) < slots and size:
            page, self.left = bytearray(self.left), b""  # what a read has left counts for nothing
            while (line := self._line()) is not None:
                if len(line) > size or len(page) + len(line) >= PAGE_SIZE:
                    break
                self._take()
                page += line
                size -= len(line)
            self.read_something = True
            if not page:
                break
            out.append(bytes(page))
        return out

    def _line(self) -> bytes | None:
        """The oldest entry as text, with what stands before the first; it is still in the buffer."""
        array = self.array
        head = array.current.pipe_header(array) if self.first else ""
        mine = array.buffer.oldest(self.cpu)
        event = mine.peek() if mine is not None else None
        if mine is None or event is None:
            self.first = False
            return head.encode("latin-1") or None
        lost = f"CPU:{event.cpu} [LOST {mine.page_lost} EVENTS]\n" if mine.page_lost else ""
        self.following = following = mine.second() if array.current.looks_ahead else None
        return (head + lost + array.line(event, following)).encode("latin-1", "replace")

    def _take(self) -> None:
        """What _line() said is read."""
        array = self.array
        event = array.buffer.consume(self.cpu)
        if event is None:
            return
        self.first = False
        following, self.following = self.following, None
        if following is not None and array.current.took(following):
            array.buffer.consume(event.cpu)

    def _lines(self, room: int) -> bytes:
        """Whole lines until so many bytes are there; one that does not fit on the page stays in the buffer."""
        out = bytearray()
        while len(out) < room and (line := self._line()) is not None:
            if out and len(out) + len(line) >= PAGE_SIZE:
                break
            self._take()
            out += line
        return bytes(out)

    def ready(self) -> bool:
        """There is something to read."""
        return bool(self.left) or not self.array.buffer.empty(self.cpu)

    def release(self) -> None:
        """Closed: somebody else may open it."""
        self.array.pipe_open.discard(self.cpu)
