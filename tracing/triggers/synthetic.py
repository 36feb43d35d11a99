"""Synthetic events: fields that a user names, filled in by histograms.  kernel/trace/trace_events_synth.c."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from arch.abi.errno import EBUSY, EEXIST, EINVAL, ENOENT
from arch.cstring import c_string, kstrto
from arch.errors import KernelError
from arch.records import dataclass
from tracing.record.event import TraceEvent
from tracing.record.fields import COMMON_SIZE, Field, data_loc, filter_assign_type
from tracing.record.recorder import Recorder
from tracing.record.registry import EventRegistry
from tracing.text.gfp import gfp_flag_names
from tracing.text.strings import is_good_name
from tracing.triggers.hist.fields import HIST_STACKTRACE_DEPTH

SYNTHETIC = "synthetic"
FIELDS_MAX = 64
STR_VAR_LEN_MAX = 256

BAD_NAME = "Illegal name"
INVALID_CMD = "Command must be of the form: <name> field[;field] ..."
INVALID_DYN_CMD = "Command must be of the form: s or -:[synthetic/]<name> field[;field] ..."
EVENT_EXISTS = "Event already exists"
TOO_MANY_FIELDS = "Too many fields"
INCOMPLETE_TYPE = "Incomplete type"
INVALID_TYPE = "Invalid type"
INVALID_FIELD = "Invalid field"
INVALID_ARRAY_SPEC = "Invalid array specification"

# C type -> (size in bytes; 0: a long, how it prints)
TYPES: dict[str, tuple[int, str]] = {
    "s64": (8, "%lld"), "u64": (8, "%llu"), "s32": (4, "%d"), "u32": (4, "%u"), "s16": (2, "%d"), "u16": (2, "%u"),
    "s8": (1, "%d"), "u8": (1, "%u"), "char": (1, "%d"), "unsigned char": (1, "%u"), "int": (4, "%d"),
    "unsigned int": (4, "%u"), "long": (0, "%ld"), "unsigned long": (0, "%lu"), "bool": (1, "%d"), "pid_t": (4, "%d"),
    "gfp_t": (4, "%x"),
}  # fmt: skip

Value = int | bytes | tuple[int, ...]  # a number, a string, a stack


@dataclass
class SynthField:
    """struct synth_field; `offset` in words of 64 bits."""

    type: str
    name: str
    size: int
    is_string: bool = False
    is_dynamic: bool = False
    is_stack: bool = False
    offset: int = 0

    @property
    def signed(self) -> bool:
        """synth_field_signed()."""
        return not self.type.startswith("u") and self.type != "gfp_t"

    @property
    def format(self) -> str:
        """synth_field_fmt()."""
        if self.type in TYPES:
            return TYPES[self.type][1]
        return "%s" if self.is_string or self.is_stack else "%llu"

    def show(self) -> str:
        """As synthetic_events lists it."""
        return f"{self.type.removeprefix('__data_loc ')} {self.name}"


class SynthEvent(TraceEvent):
    """One synthetic event; `uses` are the histograms that fire it or hang on it."""

    dynamic = True

    def __init__(self, recorder: Recorder, name: str, parts: Sequence[SynthField]) -> None:
        self.parts = list(parts)
        self.uses = 0
        fields: list[Field] = []
        position = 0
        for part in self.parts:
            part.offset = position
            kind = filter_assign_type(part.type)
            offset = COMMON_SIZE + 8 * position
            fields.append(Field(part.type, part.name, offset, part.size, part.signed, kind, length_shown=False))
            position += STR_VAR_LEN_MAX // 8 if part.is_string and not part.is_dynamic else 1
        self.words = position
        texts = [f"{part.name}={part.format}" for part in self.parts]
        values = [
            f"__get_str({part.name})"
            if part.is_string and part.is_dynamic
            else f"__get_stacktrace({part.name})"
            if part.is_stack
            else f"REC->{part.name}"
            for part in self.parts
        ]
        between = " " if recorder.board.features.synthetic_spaces else ", "
        print_fmt = f'"{between.join(texts)}"' + "".join(f", {value}" for value in values)
        super().__init__(recorder, SYNTHETIC, name, fields, print_fmt)

    def fire(self, values: Sequence[Value]) -> None:
        """trace_event_raw_event_synth(): one value per field."""
        if self.listeners:
            self.commit(self.header() + self.pack(values))

    def pack(self, values: Sequence[Value]) -> bytes:
        """The record behind its common fields."""
        order, word = self.board.byteorder, self.board.word
        fixed, dynamic = bytearray(8 * self.words), bytearray()
        base = COMMON_SIZE + 8 * self.words
        for part, value in zip(self.parts, values):
            start = 8 * part.offset
            if part.is_stack:
                stack = list(value)[:HIST_STACKTRACE_DEPTH] if isinstance(value, tuple) else []
                stack += [0] if len(stack) < HIST_STACKTRACE_DEPTH else []
                data = b"".join(address.to_bytes(word, order) for address in stack)
            else:
                data = value + b"\0" if isinstance(value, bytes) else b"\0"
            if part.is_dynamic:
                fixed[start : start + 4] = data_loc(len(data), base + len(dynamic)).to_bytes(4, order)
                dynamic += data
            elif part.is_string:
                fixed[start : start + len(data[:STR_VAR_LEN_MAX])] = data[:STR_VAR_LEN_MAX]
            elif isinstance(value, int):
                size = part.size if part.size in (1, 2, 4) else 8
                fixed[start : start + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, order)
        return bytes(fixed + dynamic)

    def text(self, record: bytes) -> str:
        """`lat=5 pid=1`; print_synth_event()."""
        pieces = []
        last = len(self.parts) - 1
        verbose = self.board.addresses.options.get("verbose", False)
        for index, part in enumerate(self.parts):
            text = f"{part.format} " if verbose else ""
            space = "" if index == last else " "
            start = COMMON_SIZE + 8 * part.offset
            if part.is_stack:
                pieces.append(f"{text}{part.name}=STACK:\n{self.stack_text(record, start)}")
                continue
            if part.is_string:
                shown = self.string(record, part, start)
            else:
                shown = self.number(record, part, start)
            pieces.append(f"{text}{part.name}={shown}{space}")
            if part.type == "gfp_t":
                pieces.append(f" ({gfp_flag_names(int(shown, 16))})")
        return "".join(pieces)

    def string(self, record: bytes, part: SynthField, start: int) -> str:
        """A string field's text."""
        if part.is_dynamic:
            at = int.from_bytes(record[start : start + 4], self.board.byteorder) & 0xFFFF
            data = record[at:]
        else:
            data = record[start : start + STR_VAR_LEN_MAX]
        return c_string(data)

    def number(self, record: bytes, part: SynthField, start: int) -> str:
        """A number as its format says: the value is passed unsigned, so `%d` of a short does not go below zero."""
        size = part.size if part.size in (1, 2, 4) else 8
        value = int.from_bytes(record[start : start + size], self.board.byteorder)
        if part.format == "%x":
            return f"{value:x}"
        bits = {"%d": 32, "%ld": 8 * self.board.word, "%lld": 64}.get(part.format)
        if bits is not None and value >> (bits - 1) & 1:
            value -= 1 << bits
        return str(value)

    def stack_text(self, record: bytes, start: int) -> str:
        """One address a line."""
        order, word = self.board.byteorder, self.board.word
        loc = int.from_bytes(record[start : start + 4], order)
        lines = []
        for at in range(loc & 0xFFFF, (loc & 0xFFFF) + (loc >> 16), word):
            address = int.from_bytes(record[at : at + word], order)
            if not address:
                break
            lines.append(f"=> {self.board.addresses.symbol_offset(address)}\n")
        return "".join(lines)

    # As one of dynamic_events

    kind = "synth"

    def show(self) -> str:
        """Its line of dynamic_events."""
        return f"s:{SYNTHETIC}/{self.fields_text()}"

    def fields_text(self) -> str:
        """Its line of synthetic_events."""
        return f"{self.name}\t{'; '.join(part.show() for part in self.parts)}\n"


class SynthEvents:
    """The synthetic events of a machine, and the file synthetic_events."""

    def __init__(self, recorder: Recorder, events: EventRegistry) -> None:
        self.recorder = recorder
        self.board = recorder.board
        self.events = events
        self.known: list[SynthEvent] = []
        self.last_command = ""

    def find(self, name: str) -> SynthEvent | None:
        """find_synth_event()."""
        return next((event for event in self.known if event.name == name), None)

    def fail(self, message: str, word: str | None = None, errno: int = EINVAL) -> KernelError:
        """Logged with a caret below the first place where the word stands."""
        position = self.last_command.find(word) if word else 0
        self.board.errors.add("synthetic_events", self.last_command, message, max(position, 0))
        return KernelError(errno, message)

    def text(self) -> str:
        """The file synthetic_events."""
        return "".join(event.fields_text() for event in self.known)

    def run(self, line: str) -> None:
        """One line of synthetic_events: create_or_delete_synth_event()."""
        command = line.lstrip(" \t\n\v\f\r\xa0")
        if not command:
            return
        self.last_command = command
        self.check(command)
        match = re.search(r"[ \t]", command)
        name = command[: match.start()] if match else command
        if name.startswith("!"):
            event = self.find(name[1:])
            if event is None:
                raise KernelError(ENOENT, f"no event {name[1:]}")
            self.remove(event)
            return
        if match is None:
            raise self.fail(INVALID_CMD)
        self.create(name, command[match.end() :].lstrip())

    def run_dynamic(self, line: str) -> bool:
        """One line of dynamic_events; False if it is not for a synthetic event."""
        command = line.lstrip(" \t\n\v\f\r\xa0")
        if not command.startswith("s:"):
            return False
        self.last_command = command
        match = re.search(r"[ \t]", command)
        if match is None:
            raise self.fail(INVALID_CMD)
        name = command[2:]
        if "/" in name:
            if not name.startswith(f"{SYNTHETIC}/"):
                raise self.fail(INVALID_DYN_CMD)
            name = name.removeprefix(f"{SYNTHETIC}/")
        self.check(name)
        self.create(re.split(r"[ \t]", name, maxsplit=1)[0], command[match.end() :].lstrip())
        return True

    def check(self, command: str) -> None:
        """check_command(): a name and at least a type and a field."""
        head = command.split(";", 1)[0]
        if not head.startswith("!") and len(head.split()) < 3:
            raise self.fail(INVALID_CMD)

    def create(self, name: str, text: str) -> None:
        """__create_synth_event().  EINVAL, EEXIST."""
        if not name:
            raise self.fail(INVALID_CMD)
        if not is_good_name(name):
            raise self.fail(BAD_NAME, name)
        if self.find(name) is not None:
            raise self.fail(EVENT_EXISTS, name, EEXIST)
        parts: list[SynthField] = []
        for piece in text.split(";"):
            words = piece.split()
            while words:
                part, used = self.parse_field(words)
                if len(parts) == FIELDS_MAX:
                    raise self.fail(TOO_MANY_FIELDS)
                parts.append(part)
                words = words[used:]
        if not parts:
            raise self.fail(INVALID_CMD)
        event = SynthEvent(self.recorder, name, parts)
        self.events.add(event)
        self.known.append(event)

    def parse_field(self, words: list[str]) -> tuple[SynthField, int]:
        """parse_synth_field(): the field, and how many words it took."""
        prefix, first, used = "", words[0], 2
        if first == "unsigned":
            if len(words) < 3:
                raise self.fail(INCOMPLETE_TYPE, first)
            prefix, first, used = "unsigned ", words[1], 3
        if len(words) < used:
            raise self.fail(INVALID_FIELD, first)
        declared = words[used - 1]
        name, bracket, rest = declared.partition("[")
        array = bracket + rest
        if not is_good_name(name):
            raise self.fail(BAD_NAME, declared)
        ctype = prefix + first + array
        size = self.size_of(ctype)
        if size is None:
            raise self.fail(INVALID_ARRAY_SPEC, declared) if array else self.fail(INVALID_TYPE, first)
        is_string, is_stack = "char[" in ctype, "long[" in ctype
        if size == 0:
            if not is_string and not is_stack:
                raise self.fail(INVALID_TYPE, first)
            return SynthField(f"__data_loc {ctype}", name, 8, is_string, True, is_stack and not is_string), used
        return SynthField(ctype, name, size, is_string), used

    def size_of(self, ctype: str) -> int | None:
        """synth_field_size(): bytes, 0 for an unknown type or data of any length, None for a bad array."""
        if ctype in TYPES:
            return TYPES[ctype][0] or self.board.word
        if "char[" in ctype:
            start = ctype.index("char[") + 5
            end = ctype.find("]")
            if end < start or end + 1 < len(ctype) or end - start > 3:
                return None
            if end == start:
                return 0
            try:
                size = kstrto(ctype[start:end], 0, 32, False)
            except KernelError:
                return None
            return size if size <= STR_VAR_LEN_MAX else None
        return 0

    def remove(self, event: SynthEvent) -> None:
        """synth_event_release().  EBUSY."""
        if event.uses or event.busy:
            raise KernelError(EBUSY, f"{event.name} is in use")
        self.events.remove(event)
        self.known.remove(event)

    @property
    def members(self) -> Sequence[SynthEvent]:
        """Oldest first."""
        return self.known

    def remove_named(self, group: str | None, name: str, words: list[str]) -> bool:
        """`-:NAME`; an empty name means all.  EBUSY."""
        if group not in (None, SYNTHETIC):
            return False
        found = [event for event in self.known if not name or event.name == name]
        for event in found:
            self.remove(event)
        return bool(found)

    def check_busy(self) -> None:
        """EBUSY while a histogram uses one."""
        if any(event.uses for event in self.known):
            raise KernelError(EBUSY, "a synthetic event is in use")

    def release_all(self) -> None:
        """synthetic_events opened with O_TRUNC."""
        self.check_busy()
        for event in list(self.known):
            self.remove(event)

    def releases(self) -> Sequence[tuple[SynthEvent, Callable[[], None]]]:
        """Each event, and how it goes."""
        return [(event, partial(self.remove, event)) for event in self.known]
