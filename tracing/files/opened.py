"""Open files of tracefs that keep something: trace_pipe, an event's filter, free_buffer."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from arch.abi.errno import EBADF, EINVAL
from arch.abi.poll import EPOLLIN, EPOLLRDNORM
from arch.errors import KernelError
from tracing.buffer.trace import PIPE_KEY, TraceArray, TracePipe
from tracing.face import FilterProgram
from tracing.files.nodes import File, OpenFile
from tracing.record import filter as event_filter
from tracing.record.event import EventRegistry, TraceEvent
from tracing.text.strings import kstrto

# (event, text without blanks, token of the open file) -> the program that the text names
FilterHook = Callable[[TraceEvent, str, OpenFile], FilterProgram]


class PipeFile(OpenFile):
    """trace_pipe."""

    def __init__(self, file: File, flags: int, pipe: TracePipe) -> None:
        super().__init__(file, flags)
        self.pipe = pipe

    def read(self, size: int, pos: int) -> bytes:
        """Consumes; the position means nothing.  EAGAIN, WouldBlock."""
        return self.pipe.read(size, self.nonblock)

    def write(self, data: bytes, pos: int) -> int:
        """EBADF."""
        raise KernelError(EBADF, "trace_pipe is read only")

    @property
    def poll_key(self) -> Hashable:
        return PIPE_KEY

    def poll(self) -> int:
        """Readable once there is an entry; until then the next one wakes."""
        if self.pipe.ready():
            return EPOLLIN | EPOLLRDNORM
        self.pipe.array.pipe_waiters = True
        return 0

    def release(self) -> None:
        """The pipe may be opened by others."""
        self.pipe.release()


class FilterFile(OpenFile):
    """events/*/*/filter.  With the 3.20-rfc profile, closing it detaches a program."""

    def __init__(
        self, file: File, flags: int, events: EventRegistry, event: TraceEvent, hook: Callable[[], FilterHook | None]
    ) -> None:
        super().__init__(file, flags)
        self.events = events
        self.event = event
        self.hook = hook

    def write(self, data: bytes, pos: int) -> int:
        """A filter, or `bpf-N` with 3.20-rfc.  EINVAL, ENODEV, and what the program's descriptor says."""
        event = self.event
        text = event_filter.written_text(data)
        stripped = text.strip(" \t\n\v\f\r")
        if event.board.features.filter_programs and stripped.startswith("bpf") and len(stripped) >= 5:
            attach_program(self.hook(), event, stripped, self)
            return len(data)
        event_filter.apply_event_filter(self.events, event, text)
        drop_program(event)
        return len(data)

    def release(self) -> None:
        """Any close of the file detaches, as that patch set had it."""
        if self.event.filter_program is not None:
            self.event.set_enabled(False)
            drop_program(self.event)
            self.event.filter, self.event.filter_text = None, None


class FreeBuffer(OpenFile):
    """free_buffer: closing it gives the buffer's memory back, and may stop recording."""

    def __init__(self, file: File, flags: int, array: TraceArray) -> None:
        super().__init__(file, flags)
        self.array = array

    def release(self) -> None:
        """The buffer shrinks to its least; recording stops with the option disable_on_free."""
        if self.array.options["disable_on_free"]:
            self.array.buffer.recording = False
        self.array.expanded = True
        self.array.buffer.resize(0)


def attach_program(hook: FilterHook | None, event: TraceEvent, text: str, token: OpenFile) -> None:
    """`bpf-123`: the fourth character is any separator, the rest a descriptor of the writer.  EINVAL, ERANGE, EBADF."""
    kstrto(text[4:], 0, 31, False)
    if hook is None:
        raise KernelError(EINVAL, "no programs on this machine")
    program = hook(event, text, token)
    old, event.filter_program = event.filter_program, program
    event.users_changed()
    event.users_changed()
    if old is not None:
        old.release()
    event.filter, event.filter_text = None, text
    event.set_enabled(True)


def drop_program(event: TraceEvent) -> None:
    """The event's filter file holds no program any more."""
    program, event.filter_program = event.filter_program, None
    event.users_changed()
    event.users_changed()
    if program is not None:
        program.release()
