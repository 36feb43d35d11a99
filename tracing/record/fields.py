"""The fields of an event record: their C types, offsets, and the `format` file that describes them.

Mirrors struct ftrace_event_field and f_show() of kernel/trace/trace_events.c.  Offsets and sizes are bytes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence

from arch.datamodel import DataModel
from arch.records import dataclass

# enum of include/linux/trace_events.h (FILTER_*): how a field may be used in an event filter.
FILTER_OTHER, FILTER_STATIC_STRING, FILTER_DYN_STRING, FILTER_PTR_STRING = 0, 1, 2, 4
FILTER_COMM, FILTER_CPU, FILTER_CPUMASK, FILTER_STACKTRACE = 6, 7, 8, 9
STRING_FILTERS = (FILTER_STATIC_STRING, FILTER_DYN_STRING, FILTER_PTR_STRING, FILTER_COMM)

# C type -> (size, signed).  Size 0 is the word of the data model.
BASE_TYPES: dict[str, tuple[int, bool]] = {
    "char": (1, True), "signed char": (1, True), "unsigned char": (1, False), "bool": (1, False),
    "u8": (1, False), "__u8": (1, False), "s8": (1, True), "uint8_t": (1, False),
    "short": (2, True), "unsigned short": (2, False), "u16": (2, False), "__u16": (2, False), "s16": (2, True),
    "umode_t": (2, False), "uint16_t": (2, False), "__be16": (2, False), "unsigned short int": (2, False),
    "int": (4, True), "unsigned int": (4, False), "unsigned": (4, False), "u32": (4, False), "__u32": (4, False),
    "s32": (4, True), "uint32_t": (4, False), "__be32": (4, False), "pid_t": (4, True), "dev_t": (4, False),
    "gfp_t": (4, False), "fmode_t": (4, False), "uid_t": (4, False), "gid_t": (4, False),
    "long": (0, True), "unsigned long": (0, False), "size_t": (0, False), "ssize_t": (0, True), "ino_t": (0, False),
    "uintptr_t": (0, False), "unsigned long int": (0, False), "pgoff_t": (0, False), "clock_t": (0, True),
    "fl_owner_t": (0, False),  # include/linux/fs.h: void *
    "long long": (8, True), "unsigned long long": (8, False), "u64": (8, False), "__u64": (8, False),
    "s64": (8, True), "uint64_t": (8, False), "int64_t": (8, True), "sector_t": (8, False), "loff_t": (8, True),
    "ktime_t": (8, True), "atomic_t": (4, True), "clockid_t": (4, True), "errseq_t": (4, False), "key_t": (4, True),
    "timer_t": (4, True), "mqd_t": (4, True), "rwf_t": (4, True), "qid_t": (4, False), "key_serial_t": (4, True),
    "aio_context_t": (0, False), "__s32": (4, True), "__s64": (8, True), "old_time_t": (0, True), "time_t": (0, True),
}  # fmt: skip
UNSIGNED_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
SIGNED_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record.  `type` holds an array's brackets ("char[16]") as the kernel keeps it."""

    type: str
    name: str
    offset: int
    size: int
    signed: bool
    filter_type: int = FILTER_OTHER
    length_shown: bool = True  # probe events' arrays print as `name[]`

    @property
    def is_data_loc(self) -> bool:
        """The record holds where the data is, not the data."""
        return self.type.startswith("__data_loc")

    @property
    def is_array(self) -> bool:
        """An array in the record itself."""
        return "[" in self.type and not self.is_data_loc

    @property
    def array_length(self) -> int:
        """0 for a scalar; where C computes it, what the size says."""
        if not self.is_array:
            return 0
        element, _, count = self.type.rstrip("]").partition("[")
        return int(count) if count.isdigit() else self.size // max(BASE_TYPES.get(element, (1, False))[0], 1)

    @property
    def is_string(self) -> bool:
        """Filters compare it as text."""
        return self.filter_type in STRING_FILTERS

    def format_line(self) -> str:
        """`\tfield:char prev_comm[16];\toffset:8;...`; trace_events.c:f_show()."""
        kind, bracket = self.type, ""
        if "[" in kind and not kind.startswith("__data_loc"):
            kind, bracket = kind[: kind.index("[")], kind[kind.index("[") :]
            bracket = bracket if self.length_shown else "[]"
        return (
            f"\tfield:{kind} {self.name}{bracket};\toffset:{self.offset};\tsize:{self.size};\tsigned:{self.signed:d};\n"
        )


COMMON_FIELDS = (
    Field("unsigned short", "common_type", 0, 2, False),
    Field("unsigned char", "common_flags", 2, 1, False),
    Field("unsigned char", "common_preempt_count", 3, 1, False),
    Field("int", "common_pid", 4, 4, True),
)
COMMON_SIZE = 8


def filter_assign_type(ctype: str) -> int:
    """trace_events_filter.c:filter_assign_type()."""
    if "__data_loc" in ctype and "char" in ctype:
        return FILTER_DYN_STRING
    if "__data_loc" in ctype and "cpumask_t" in ctype:
        return FILTER_CPUMASK
    if "[" in ctype and "char" in ctype:
        return FILTER_STATIC_STRING
    if ctype in ("char *", "const char *"):
        return FILTER_PTR_STRING
    return FILTER_OTHER


def base_type(ctype: str, model: DataModel, char_signed: bool = True) -> tuple[int, bool]:
    """(size, signed) of a C type without brackets; structs by value must be given as arrays of bytes."""
    ctype = re.sub(r"^const ", "", ctype.strip())
    if ctype.endswith("*"):
        return model.word, False
    if ctype.startswith("enum "):
        return 4, False
    size, signed = BASE_TYPES[ctype]
    if ctype == "char":
        signed = char_signed
    return size or model.word, signed


DECLARATION = re.compile(r"^(?P<type>.*?[\s*])(?P<name>\w+)(?P<array>(\[\w+\])*)$")


def split_declaration(text: str) -> tuple[str, str]:
    """`char prev_comm[16]` -> ("char[16]", "prev_comm"); `const char * name` keeps its blanks."""
    match = DECLARATION.match(text.strip())
    if match is None:
        raise ValueError(f"not a field declaration: {text!r}")
    return match["type"].strip() + match["array"], match["name"]


class FieldLayout:
    """Places fields one after the other with natural alignment, as the C struct would be."""

    def __init__(self, model: DataModel, char_signed: bool = True, start: int = COMMON_SIZE) -> None:
        self.model = model
        self.char_signed = char_signed
        self.end = start
        self.fields: list[Field] = []

    def add(self, text: str, size: int = 0, align: int = 0, signed: bool | None = None) -> Field:
        """Place the next field; `size`, `align` (bytes) and `signed` override what its type says."""
        ctype, name = split_declaration(text)
        element, count = ctype, 1
        if ctype.startswith("__data_loc"):
            ctype = re.sub(r"\[\d*\]$", "[]", ctype)
            unit, is_signed = 4, base_type(ctype[11:-2], self.model, self.char_signed)[1]
        elif "[" in ctype:
            element, bracket = ctype.split("[", 1)
            count = int(bracket.rstrip("]"))
            unit, is_signed = (size // count, bool(signed)) if size else self._base(element)
        elif size:
            unit, is_signed = size, bool(signed)
        else:
            unit, is_signed = self._base(element)
        align = align or min(unit, self.model.long_long_align if unit == 8 else unit)
        self.end = -(-self.end // align) * align
        is_signed = is_signed if signed is None else signed
        field = Field(ctype, name, self.end, unit * count, is_signed, filter_assign_type(ctype))
        self.fields.append(field)
        self.end += unit * count
        return field

    def _base(self, ctype: str) -> tuple[int, bool]:
        return base_type(ctype, self.model, self.char_signed)

    @property
    def size(self) -> int:
        """Of the record without its dynamic part, padded to the largest alignment as sizeof() is."""
        align = max([4, *(min(f.size // max(f.array_length, 1), 8) for f in self.fields)])
        return -(-self.end // align) * align


def format_text(name: str, event_id: int, fields: Iterable[Field], print_fmt: str) -> str:
    """The whole `format` file."""
    lines = [f"name: {name}\nID: {event_id}\nformat:\n"]
    lines += [field.format_line() for field in COMMON_FIELDS]
    lines.append("\n")
    lines += [field.format_line() for field in fields]
    lines.append(f"\nprint fmt: {print_fmt}\n")
    return "".join(lines)


class RecordReader:
    """Unpacks the fields of a record: integers, bytes of char arrays, tuples of other arrays, u32 of __data_loc."""

    def __init__(self, fields: Sequence[Field], byteorder: str) -> None:
        self.order = "<" if byteorder == "little" else ">"
        self.getters = {field.name: self._code(field) for field in fields}

    def _code(self, field: Field) -> tuple[struct.Struct, int, bool]:
        if field.is_data_loc:
            return struct.Struct(self.order + "I"), field.offset, False
        if not field.is_array:
            codes = SIGNED_CODES if field.signed else UNSIGNED_CODES
            return struct.Struct(self.order + codes[field.size]), field.offset, False
        count = field.array_length
        unit = field.size // count if count else 1
        if "char" in field.type or unit not in UNSIGNED_CODES or field.type.startswith(("u8", "__u8")):
            return struct.Struct(f"{field.size}s"), field.offset, False
        codes = SIGNED_CODES if field.signed else UNSIGNED_CODES
        return struct.Struct(f"{self.order}{count}{codes[unit]}"), field.offset, True

    def get(self, name: str, record: bytes) -> int | bytes | tuple[int, ...]:
        """A field of a record, by name."""
        code, offset, is_tuple = self.getters[name]
        values = code.unpack_from(record, offset)
        return values if is_tuple else values[0]


def data_loc(length: int, offset: int) -> int:
    """A __data_loc word: length (with the NUL) and offset from the record's start."""
    return length << 16 | offset
