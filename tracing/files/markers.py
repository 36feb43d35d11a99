"""trace_marker and trace_marker_raw: what programs write into the trace.  trace.c:tracing_mark_write(), tracing_mark_raw_write()."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EBADF, EINVAL
from arch.errors import KernelError
from tracing.buffer.columns import TRACE_PRINT
from tracing.buffer.trace import TraceArray
from tracing.files.nodes import File, OpenFile
from tracing.record.event import TraceEvent
from tracing.record.fields import COMMON_SIZE

TRACE_BUF_SIZE = 1024
TRACE_MARKER_MAX_SIZE = 4096
RAW_DATA_MAX_SIZE = 3 * 1024
RAW_FAULT_ID = 0xFFFFFFFF
ID_SIZE = 4
WRITER = "tracing_mark_write"
WRITING_OFFSET = 0x18  # where in it an entry is said to come from (_THIS_IP_)
DATA_ALIGNMENT = 4  # the ring buffer's: what prints a record sees its size so
FAULTED = b"<faulted>"


class MarkerFile(OpenFile):
    """An open one: memory of the writer that is not there leaves a word in the trace."""

    def __init__(self, file: File, flags: int, faulted: Callable[[int], None]) -> None:
        super().__init__(file, flags)
        self.faulted = faulted  # what a write of so many bytes leaves whose memory is not there


class Markers:
    """Both files of one trace array.  EINVAL while its option is off, EBADF while nothing is recorded and where there is no room."""

    def __init__(self, array: TraceArray, event: TraceEvent) -> None:
        self.array = array
        self.board = array.board
        self.event = event  # ftrace:print
        writer = array.board.host.symbols.address(WRITER)
        self.ip = 0 if writer is None else writer + WRITING_OFFSET

    def nodes(self, mode: int) -> list[File]:
        """The files."""
        nodes = [self._file("trace_marker", mode, self.text, self.text_faulted)]
        if self.board.features.raw_markers:
            nodes.append(self._file("trace_marker_raw", mode, self.raw, self.raw_faulted))
        return nodes

    def _file(self, name: str, mode: int, store: Callable[[bytes], int], faulted: Callable[[int], None]) -> File:
        return File(
            name, mode, None, store, users=self.array, opener=lambda file, flags: MarkerFile(file, flags, faulted)
        )

    @property
    def room(self) -> int:
        """ring_buffer_max_event_size()."""
        return self.array.buffer.subbuf_size - (COMMON_SIZE + self.board.word) - 2 * DATA_ALIGNMENT

    def _begin(self) -> None:
        if not self.array.options["markers"]:
            raise KernelError(EINVAL, "markers are off")

    # Texts

    def text(self, data: bytes) -> int:
        """How much of a text fits; it ends in a line feed."""
        self._begin()
        limit = TRACE_BUF_SIZE
        if self.board.features.long_markers:
            limit = min(TRACE_MARKER_MAX_SIZE, self.room - self._text_size(0))
        data = data[:limit]
        self._put_text(data, self._text_size(max(len(data), len(FAULTED))))
        return len(data)

    def text_faulted(self, count: int) -> None:
        """The same, of a text that cannot be read."""
        self._begin()
        if self.board.features.raw_markers:
            self._put_text(FAULTED, self._text_size(max(min(count, TRACE_BUF_SIZE), len(FAULTED))))

    def _text_size(self, count: int) -> int:
        return COMMON_SIZE + self.board.word + count + 2  # a line feed and a NUL

    def _put_text(self, text: bytes, size: int) -> None:
        array, board, buffer = self.array, self.board, self.array.buffer
        if not buffer.recording:
            raise KernelError(EBADF, "the buffer is not recording")
        head = board.header_of(TRACE_PRINT) + self.ip.to_bytes(board.word, board.byteorder)
        file = self.event.file(array)
        later = file.call_triggers(head + text + b"\0", 0) if file.triggers else []
        line = text if text.endswith(b"\n") else text + b"\n"
        if not array.write(padded(head + line, size), buffer):
            raise KernelError(EBADF, "the buffer is not recording")
        for trigger in later:
            trigger.run(b"", 0)

    # Numbers and data

    def raw(self, data: bytes) -> int:
        """A u32 and data."""
        self._begin()
        long = self.board.features.long_markers
        if len(data) < ID_SIZE or len(data) > (self.room - COMMON_SIZE if long else RAW_DATA_MAX_SIZE):
            raise KernelError(EINVAL, "an id and data")
        if not long:
            data = data[:TRACE_BUF_SIZE]
        self._put_raw(data, len(data))
        return len(data)

    def raw_faulted(self, count: int) -> None:
        """Of what cannot be read: a number that nobody writes."""
        self._begin()
        self._put_raw(RAW_FAULT_ID.to_bytes(ID_SIZE, self.board.byteorder) + FAULTED, min(count, TRACE_BUF_SIZE))

    def _put_raw(self, data: bytes, count: int) -> None:
        size = (
            COMMON_SIZE + ID_SIZE + max(count, len(FAULTED) + ID_SIZE)
        )  # struct raw_data_entry counts its number, too
        if not self.array.write(padded(self.board.header_of(self.board.raw_data_type) + data, size)):
            raise KernelError(EBADF, "the buffer is not recording")


def padded(record: bytes, size: int) -> bytes:
    """As large as the ring buffer makes it."""
    return record.ljust(-(-size // DATA_ALIGNMENT) * DATA_ALIGNMENT, b"\0")
