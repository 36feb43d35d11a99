"""From records of the trace buffer to typed events.

The buffer is looked at, not consumed: trace_pipe prints afterwards what it would have printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from arch.cstring import c_string
from arch.hosttime import HOST_WORD
from arch.symbols import Symbols
from simkernel.recording.model import Events
from simkernel.recording.rows import Event, EventFormat, Frame, Stack, Value
from simkernel.recording.symbols import kernel_frames
from tracing.buffer.columns import TRACE_BPRINT, TRACE_PRINT, TRACE_STACK
from tracing.buffer.ringbuffer import Event as Record
from tracing.buffer.ringbuffer import PageCopies, RingBuffer
from tracing.buffer.trace import TraceArray
from tracing.record.event import TraceEvent
from tracing.record.fields import BASE_TYPES, Field, RecordReader
from tracing.system import Tracing

Symbolize = Callable[[int], Frame]


class Decoder:
    """The records of one machine's trace array."""

    def __init__(self, tracing: Tracing, kernel_frame: Symbolize) -> None:
        self.tracing = tracing
        self.array: TraceArray = tracing.trace_array
        self.board = tracing.board
        self.order = tracing.board.byteorder
        self.word = tracing.board.word
        self.frame = kernel_frame
        self._readers: dict[int, Callable[[bytes], dict[str, Value]]] = {}
        # Events by number as they are now: one that is defined anew later may get the number of another.
        self._events: dict[int, TraceEvent] = {}
        self._plain: set[int] = set()  # whose lines are their names and their texts
        self._internal = {event.id: event for event in tracing.events.internal.values()}

    def know(self, records: Iterable[Record]) -> None:
        """Remember whose records these are."""
        for number in {int.from_bytes(record.data[:2], self.order) for record in records}:
            event = self.tracing.events.by_id.get(number) or self._internal.get(number)
            if event is not None:
                self._events[number] = event
                if type(event).line is TraceEvent.line:
                    self._plain.add(number)

    def formats(self) -> dict[str, EventFormat]:
        """The format files of the events that were met."""
        known = sorted(self._events.values(), key=lambda event: event.id)
        return {f"{event.system}:{event.name}": EventFormat(event.id, event.format) for event in known}

    def events(self, records: list[Record], lost: dict[int, int]) -> list[Event]:
        """Typed; `lost` says how many each CPU lost before its first.  A stack goes to the event that it follows.

        When the host's time is up, what there is then: fewer events than records.
        """
        out: list[Event] = []
        last: dict[int, Event] = {}  # CPU -> the last event that was no stack
        for record in records:
            if HOST_WORD[0]:
                break
            event = self.event(record)
            event.lost = lost.pop(record.cpu, 0)
            out.append(event)
            kind = int.from_bytes(record.data[:2], self.order)
            before = last.get(record.cpu)
            if kind not in (TRACE_STACK, self.board.user_stack_type):
                last[record.cpu] = event
            elif before is not None and before.pid == event.pid:
                callers = event.fields["caller"]
                assert isinstance(callers, tuple)
                if kind == TRACE_STACK:
                    before.kernel_stack = self.stack(callers)
                else:
                    before.user_stack = tuple(Frame(ip) for ip in callers)
        return out

    def stack(self, callers: Iterable[int]) -> Stack:
        """Kernel addresses with their symbols."""
        return tuple(self.frame(ip) for ip in callers)

    def event(self, record: Record) -> Event:
        """One of them."""
        data = record.data
        kind = int.from_bytes(data[:2], self.order)
        pid = int.from_bytes(data[4:8], self.order, signed=True)
        known = self._events.get(kind)
        name = f"{known.system}:{known.name}" if known is not None else f"ftrace:{kind}"
        reader = self._readers.get(kind)
        if reader is None:
            reader = self._readers[kind] = self._reader(kind, known)
        array = self.array
        line = array.entry_text(data)
        if known is None or kind in self._internal:
            said = line.rstrip("\n")
        elif kind in self._plain:
            said = line[len(known.name) + 2 : -1]
        else:
            said = known.text(data)
        out = Event(
            record.ts,
            record.cpu,
            pid,
            array.comm(pid),
            name,
            reader(data),
            said,
            array.latency(data[2], data[3]),
            raw=data,
        )
        if line != out.printed:
            out.line = line
        return out

    # Fields

    def _reader(self, kind: int, event: TraceEvent | None) -> Callable[[bytes], dict[str, Value]]:
        word, order = self.word, self.order

        def numbers(data: bytes, start: int) -> tuple[int, ...]:
            return tuple(int.from_bytes(data[at : at + word], order) for at in range(start, len(data), word))

        def text(data: bytes) -> dict[str, Value]:
            return {"ip": int.from_bytes(data[8 : 8 + word], order), "buf": c_string(data[8 + word :])}

        def stack(data: bytes) -> dict[str, Value]:
            size = int.from_bytes(data[8:12], order)
            return {"size": size, "caller": numbers(data, 8 + word)[:size]}

        def user_stack(data: bytes) -> dict[str, Value]:
            callers = numbers(data, 8 + word)
            return {"tgid": int.from_bytes(data[8:12], order), "caller": tuple(ip for ip in callers if ip)}

        def raw_data(data: bytes) -> dict[str, Value]:
            return {"id": int.from_bytes(data[8:12], order), "buf": tuple(data[12:])}

        board = self.board
        if kind in (TRACE_PRINT, TRACE_BPRINT, board.bputs_type):
            return text
        special = {TRACE_STACK: stack, board.user_stack_type: user_stack, board.raw_data_type: raw_data}
        if kind in special:
            return special[kind]
        return self._by_format(event.fields) if event is not None else lambda data: {}

    def _by_format(self, fields: list[Field]) -> Callable[[bytes], dict[str, Value]]:
        fields = [each for each in fields if each.size]
        reader = RecordReader(fields, self.order)
        getters = [(each.name, self._getter(reader, each)) for each in fields]

        def read(data: bytes) -> dict[str, Value]:
            return {name: get(data) for name, get in getters}

        return read

    def _getter(self, reader: RecordReader, field: Field) -> Callable[[bytes], Value]:
        name = field.name
        if field.is_data_loc:
            return lambda data: self._located(field, data, reader.get(name, data))

        def get(data: bytes) -> Value:
            value = reader.get(name, data)
            if isinstance(value, bytes):
                return printable(value) if "char" in field.type else tuple(value)
            return value

        return get

    def _located(self, field: Field, data: bytes, where: int | bytes | tuple[int, ...]) -> Value:
        """What a __data_loc field points to: text, or the elements of an array."""
        assert isinstance(where, int)
        content = data[where & 0xFFFF : (where & 0xFFFF) + (where >> 16)]
        element = field.type.removeprefix("__data_loc").strip().rstrip("[]").strip()
        if "char" in element:
            return printable(content)
        size, signed = BASE_TYPES.get(element, (1, False))
        unit = size or self.word
        return tuple(
            int.from_bytes(content[at : at + unit], self.order, signed=signed) for at in range(0, len(content), unit)
        )


def printable(data: bytes) -> str:
    """A C string as text that every format can hold."""
    return data.split(b"\0", 1)[0].decode(errors="backslashreplace")


def buffered(copies: Iterable[PageCopies]) -> list[Record]:
    """The records of all CPUs in order of time."""
    found = [event for cpu in copies for event in cpu.events()]
    found.sort(key=lambda event: event.ts)  # stable: equal times keep the order of CPUs, as a reader takes them
    return found


def copied(buffer: RingBuffer, since: int = 0) -> list[PageCopies]:
    """What is in the buffer from a time on, consuming nothing."""
    return [cpu.copied(since) for cpu in buffer.cpus]


def lost_before(buffer: RingBuffer) -> dict[int, int]:
    """How many events of each CPU were overwritten or refused and not yet told of."""
    return {cpu.cpu: cpu.lost for cpu in buffer.cpus if cpu.lost}


def events_since(tracing: Tracing, symbols: Symbols, since: int) -> Events:
    """The events of a run that began then: the pages are copied now, and read when somebody looks."""
    copies = copied(tracing.trace_array.buffer, since)
    return Events(lambda: decoded(tracing, symbols, buffered(copies)))


def decoded(tracing: Tracing, symbols: Symbols, records: list[Record]) -> list[Event]:
    """Typed."""
    decoder = Decoder(tracing, kernel_frames(symbols))
    decoder.know(records)
    return decoder.events(records, {})
