"""An open trace_pipe: text that is consumed.  kernel/trace/trace.c:tracing_read_pipe()."""

from __future__ import annotations

from arch.abi.errno import EAGAIN, EFAULT
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from tracing.buffer.trace import ENTRY_WAITERS, PIPE_KEY, TraceArray
from tracing.face import WouldBlock


class TracePipe:
    """One reader of one buffer, or of all of an array's."""

    def __init__(self, array: TraceArray, cpu: int | None) -> None:
        array.claim_pipe(cpu)
        self.array = array
        self.cpu = cpu
        self.left = b""
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
        if len(data) > size:
            data, self.left = data[:size], data[size:] + self.left
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
            page = bytearray()
            while (line := self.left or self._line()) is not None:
                self.left = b""
                if len(line) > size or len(page) + len(line) >= PAGE_SIZE:
                    self.left = line
                    break
                page += line
                size -= len(line)
            self.read_something = True
            if not page:
                break
            out.append(bytes(page))
        return out

    def _line(self) -> bytes | None:
        """The oldest entry as text, taken, with what stands before the first."""
        array = self.array
        head = array.current.pipe_header(array) if self.first else ""
        self.first = False
        event = array.buffer.consume(self.cpu)
        if event is None:
            return head.encode("latin-1") or None
        lost = f"CPU:{event.cpu} [LOST {event.lost} EVENTS]\n" if event.lost else ""
        following = array.buffer.cpus[event.cpu].peek() if array.current.looks_ahead else None
        text = array.line(event, following)
        if following is not None and array.current.took(following):
            array.buffer.consume(event.cpu)
        return (head + lost + text).encode("latin-1", "replace")

    def _lines(self, room: int) -> bytes:
        """Whole lines, at least one, as many as fit; one that does not is kept for the next read."""
        out = bytearray()
        while (line := self._line()) is not None:
            if out and len(out) + len(line) > room:
                self.left = line
                break
            out += line
        return bytes(out)

    def ready(self) -> bool:
        """There is something to read."""
        return bool(self.left) or not self.array.buffer.empty(self.cpu)

    def release(self) -> None:
        """Closed: somebody else may open it."""
        self.array.pipe_open.discard(self.cpu)
