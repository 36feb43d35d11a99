"""Open files of tracefs that keep something: pipes, traces, filters, sets of functions, free_buffer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable

from arch.abi.errno import EINVAL
from arch.abi.fcntl import O_ACCMODE, O_RDWR, O_TRUNC, O_WRONLY
from arch.abi.poll import EPOLLIN, EPOLLRDNORM
from arch.cstring import kstrto
from arch.errors import KernelError
from tracing.buffer.pipe import TracePipe
from tracing.buffer.trace import ENTRY_WAITERS, PIPE_KEY, TraceArray
from tracing.face import FilterProgram
from tracing.files.nodes import File, OpenFile
from tracing.files.raw_pages import PagedFile
from tracing.record import filter as event_filter
from tracing.record.event import EventFile, TraceEvent
from tracing.record.registry import EventRegistry
from tracing.tracers.functions import FunctionSet, Words

# (event, text without blanks, token of the open file) -> the program that the text names
FilterHook = Callable[[TraceEvent, str, OpenFile], FilterProgram]


class PipeFile(PagedFile):
    """trace_pipe."""

    def __init__(self, file: File, flags: int, pipe: TracePipe) -> None:
        super().__init__(file, flags)
        self.pipe = pipe

    def read(self, size: int, pos: int) -> bytes:
        """Consumes; the position means nothing.  EAGAIN, WouldBlock."""
        return self.pipe.read(size, self.nonblock) if size else b""

    def pages(self, size: int, slots: int, pos: int, nonblock: bool) -> list[bytes]:
        """Whole lines, as many as fit on each."""
        return self.pipe.pages(size, slots, self.nonblock)

    @property
    def poll_key(self) -> Hashable:
        return PIPE_KEY

    def poll(self) -> int:
        """Readable once there is an entry; until then the next one wakes."""
        if self.pipe.ready():
            return EPOLLIN | EPOLLRDNORM
        self.pipe.array.pipe_waiters |= ENTRY_WAITERS
        return 0

    def release(self) -> None:
        """The pipe may be opened by others."""
        super().release()
        self.pipe.release()


class TraceFile(OpenFile):
    """trace: with the option pause-on-trace, nothing is recorded while it is open for reading."""

    def __init__(self, file: File, flags: int, array: TraceArray) -> None:
        super().__init__(file, flags)
        self.array = array
        self.pauses = not flags & O_WRONLY and array.options.get("pause-on-trace", False)
        self.buffer = array.buffer
        self.reads = (flags & O_ACCMODE) != O_WRONLY
        array.readers += self.reads
        if self.pauses:
            self.buffer.stopped += 1

    def release(self) -> None:
        """Recording goes on."""
        super().release()
        self.array.readers -= self.reads
        if self.pauses:
            self.buffer.stopped -= 1


class SnapshotFile(OpenFile):
    """snapshot: who has it open for reading keeps its size."""

    def __init__(self, file: File, flags: int, array: TraceArray) -> None:
        super().__init__(file, flags)
        self.array = array
        self.reads = (flags & O_ACCMODE) != O_WRONLY
        array.snapshot_readers += self.reads

    def release(self) -> None:
        """Its size may change."""
        super().release()
        self.array.snapshot_readers -= self.reads


class StatsFile(OpenFile):
    """per_cpu/cpuN/stats: made anew by each read, which looks at the clock.  tracing_stats_read()"""

    def __init__(self, file: File, flags: int, array: TraceArray, cpu: int) -> None:
        super().__init__(file, flags)
        self.array = array
        self.cpu = cpu

    def read(self, size: int, pos: int) -> bytes:
        """Counters are shown as they are when the clock counts."""
        text = self.array.buffer.stats(self.cpu, self.array.now(), self.array.clock_in_ns)
        return text.encode()[pos : pos + size]


class MaskFile(OpenFile):
    """tracing_cpumask: who reads has to have room for all of it, and more.  tracing_cpumask_read()"""

    def read(self, size: int, pos: int) -> bytes:
        """EINVAL."""
        if self.file.show is not None and len(self.file.show()) >= size:
            raise KernelError(EINVAL, "no room for the mask")
        return super().read(size, pos)


class FunctionSetFile(OpenFile):
    """set_ftrace_filter and its like: the functions written take effect when the file is closed."""

    def __init__(
        self, file: File, flags: int, chosen: FunctionSet, command: Callable[[str, set[str]], None] | None
    ) -> None:  # fmt: skip
        super().__init__(file, flags)
        self.chosen = chosen
        self.command = command  # for a word with a colon
        self.words = Words()
        self.writes = bool(flags & (O_WRONLY | O_RDWR))
        self.names = set() if flags & O_TRUNC else set(chosen.names)

    def write(self, data: bytes, pos: int) -> int:
        """One word; how much of the write it took.  EINVAL, ENODEV."""
        taken, word = self.words.take(data)
        if word is not None:
            self.run(word)
        return taken

    def run(self, word: str) -> None:
        """A function, or a command."""
        if ":" in word:
            if self.command is None:
                raise KernelError(EINVAL, "no commands here")
            self.command(word, self.names)
        else:
            self.chosen.add(self.names, word)

    def release(self) -> None:
        """A word without a blank behind it counts, too; its errors are nobody's."""
        super().release()
        word = self.words.rest()
        if word is not None:
            with contextlib.suppress(KernelError):
                self.run(word)
        if self.writes:
            self.chosen.replace(self.names)


class FilterFile(OpenFile):
    """events/*/*/filter.  With the 3.20-rfc profile, closing it detaches a program."""

    def __init__(
        self, file: File, flags: int, events: EventRegistry, target: EventFile, hook: Callable[[], FilterHook | None]
    ) -> None:
        super().__init__(file, flags)
        self.events = events
        self.target = target
        self.event = target.event
        self.hook = hook

    def write(self, data: bytes, pos: int) -> int:
        """A filter, or `bpf-N` with 3.20-rfc.  EINVAL, ENODEV, and what the program's descriptor says."""
        event = self.event
        text = event_filter.written_text(data)
        stripped = text.strip(" \t\n\v\f\r")
        if event.board.features.filter_programs and stripped.startswith("bpf") and len(stripped) >= 5:
            attach_program(self.hook(), self.target, stripped, self)
            return len(data)
        event_filter.apply_event_filter(self.events, self.target, text)
        drop_program(event)
        return len(data)

    def release(self) -> None:
        """Any close of the file detaches, as that patch set had it."""
        super().release()
        if self.event.filter_program is not None:
            self.target.set_enabled(False)
            drop_program(self.event)
            self.target.filter, self.target.filter_text = None, None


class FreeBuffer(OpenFile):
    """free_buffer: closing it gives the buffer's memory back, and may stop recording."""

    def __init__(self, file: File, flags: int, array: TraceArray) -> None:
        super().__init__(file, flags)
        self.array = array

    def release(self) -> None:
        """The buffer shrinks to its least; recording stops with the option disable_on_free."""
        super().release()
        if self.array.options["disable_on_free"]:
            self.array.buffer.recording = False
        self.array.expanded = True
        self.array.buffer.resize(0)


def attach_program(hook: FilterHook | None, target: EventFile, text: str, token: OpenFile) -> None:
    """`bpf-123`: the fourth character is any separator, the rest a descriptor of the writer.  EINVAL, ERANGE, EBADF."""
    kstrto(text[4:], 0, 31, False)
    if hook is None:
        raise KernelError(EINVAL, "no programs on this machine")
    event = target.event
    program = hook(event, text, token)
    old, event.filter_program = event.filter_program, program
    event.users_changed()
    event.users_changed()
    if old is not None:
        old.release()
    target.filter, target.filter_text = None, text
    target.set_enabled(True)


def drop_program(event: TraceEvent) -> None:
    """The event's filter file holds no program any more."""
    program, event.filter_program = event.filter_program, None
    event.users_changed()
    event.users_changed()
    if program is not None:
        program.release()
