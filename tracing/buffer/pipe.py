"""An open trace_pipe: text that is consumed.  kernel/trace/trace.c:tracing_read_pipe()."""

from __future__ import annotations

from arch.abi.errno import EAGAIN
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from tracing.buffer.trace import PIPE_KEY, TraceArray
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
        array = self.array
        if array.buffer.empty(self.cpu):
            if not array.buffer.recording and self.read_something:
                return b""
            if nonblock:
                raise KernelError(EAGAIN)
            array.pipe_waiters = True
            raise WouldBlock(PIPE_KEY)
        data = self._lines(min(size, PAGE_SIZE - 1))
        self.read_something = True
        if len(data) > size:
            data, self.left = data[:size], data[size:] + self.left
        return data

    def _lines(self, room: int) -> bytes:
        """Whole lines, at least one, as many as fit; one that does not is kept for the next read."""
        out = bytearray()
        array = self.array
        if self.first:
            self.first = False
            out += array.current.pipe_header(array).encode("latin-1")
        while (event := array.buffer.consume(self.cpu)) is not None:
            text = f"CPU:{event.cpu} [LOST {event.lost} EVENTS]\n" if event.lost else ""
            line = (text + array.line(event)).encode("latin-1", "replace")
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
