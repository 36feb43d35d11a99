"""What has a value for a record: keys, values, variables, expressions.  struct hist_field of trace_events_hist.c."""

from __future__ import annotations

from collections.abc import Callable
from enum import Flag, auto

from arch.memory import ByteOrder
from arch.records import dataclass
from tracing.record.fields import FILTER_DYN_STRING, FILTER_STATIC_STRING, Field

VALUE_MASK = (1 << 64) - 1
DIV_SHIFT = 20  # divisions by a constant: multiplied by its reciprocal
HIST_STACKTRACE_DEPTH = 16

Value = int | bytes | tuple[int, ...]  # a u64, a string, a stack


class Fl(Flag):
    """HIST_FIELD_FL_*."""

    HITCOUNT = auto()
    KEY = auto()
    STRING = auto()
    HEX = auto()
    SYM = auto()
    SYM_OFFSET = auto()
    EXECNAME = auto()
    SYSCALL = auto()
    STACKTRACE = auto()
    LOG2 = auto()
    TIMESTAMP = auto()
    TIMESTAMP_USECS = auto()
    VAR = auto()
    EXPR = auto()
    VAR_REF = auto()
    CPU = auto()
    ALIAS = auto()
    BUCKET = auto()
    CONST = auto()
    PERCENT = auto()
    GRAPH = auto()
    COMM = auto()


NONE = Fl(0)
MODIFIER_NAMES = (
    (Fl.HEX, "hex"), (Fl.SYM, "sym"), (Fl.SYM_OFFSET, "sym-offset"), (Fl.EXECNAME, "execname"), (Fl.SYSCALL, "syscall"),
    (Fl.LOG2, "log2"), (Fl.BUCKET, "buckets"), (Fl.TIMESTAMP_USECS, "usecs"), (Fl.PERCENT, "percent"), (Fl.GRAPH, "graph"),
)  # fmt: skip


# What is no field of the record, and how it is called.
NAMES = (
    (Fl.CPU, "common_cpu"), (Fl.COMM, "common_comm"), (Fl.HITCOUNT, "hitcount"), (Fl.STACKTRACE, "common_stacktrace"),
    (Fl.TIMESTAMP, "common_timestamp"),
)  # fmt: skip


class Owner:
    """The histogram that a variable belongs to."""

    def find_own_var(self, name: str) -> HistField | None:
        """find_var_field(): one of its variables."""
        raise NotImplementedError


@dataclass
class Hit:
    """What a record's values are taken from."""

    record: bytes
    ts: int  # of the event, by the trace clock
    cpu: int
    comm: str  # of the entry of the table: the task that made it
    refs: list[Value]  # values of the variables that are referred to
    stack: tuple[int, ...]  # where the event fired


@dataclass(eq=False)
class HistField:
    """One of them."""

    owner: Owner
    flags: Fl = NONE
    field: Field | None = None
    type: str = ""
    size: int = 0  # bytes
    signed: bool = False
    offset: int = 0  # of a key, in the compound key
    buckets: int = 0
    operands: tuple[HistField, ...] = ()
    operator: str = ""  # + - * / or u for unary minus
    name: str | None = None  # of expressions and references
    var_name: str | None = None
    var_index: int = -1
    var_owner: Owner | None = None
    ref_index: int = -1
    read_once: bool = False
    system: str | None = None
    event_name: str | None = None
    constant: int = 0
    value: Callable[[Hit], Value] | None = None  # None: nothing (a stack trace)

    def get(self, hit: Hit) -> Value:
        """hist_fn_call()."""
        return self.value(hit) if self.value is not None else 0

    def number(self, hit: Hit) -> int:
        """The same, where a string counts as nothing."""
        value = self.get(hit)
        return value if isinstance(value, int) else 0

    @property
    def modifier(self) -> str | None:
        """get_hist_field_flags()."""
        return next((name for flag, name in MODIFIER_NAMES if flag in self.flags), None)

    @property
    def is_var(self) -> bool:
        """Defines a variable."""
        return Fl.VAR in self.flags

    def uses_vars(self, level: int = 0) -> bool:
        """field_has_hist_vars()."""
        if level > 3:
            return False
        if Fl.VAR in self.flags or Fl.VAR_REF in self.flags:
            return True
        return any(operand.uses_vars(level + 1) for operand in self.operands)


def field_name(field: HistField, level: int = 0) -> str:
    """hist_field_name()."""
    if level > 1:
        return ""
    flags = field.flags
    if field.field is not None:
        return field.field.name
    if flags & (Fl.LOG2 | Fl.ALIAS | Fl.BUCKET):
        return field_name(field.operands[0], level + 1)
    if flags & (Fl.EXPR | Fl.VAR_REF):
        if field.system:
            return f"{field.system}.{field.event_name}.{field.name}"
        return field.name or ""
    for flag, name in NAMES:
        if flag in flags:
            return name
    return ""


def operand_text(field: HistField) -> str:
    """expr_field_str()."""
    text = "$" if Fl.VAR_REF in field.flags else str(field.constant) if Fl.CONST in field.flags else ""
    text += field_name(field)
    if field.flags and Fl.VAR_REF not in field.flags and field.modifier:
        text += f".{field.modifier}"
    return text


def expression_text(field: HistField, level: int = 0) -> str | None:
    """expr_str(): an expression as it was written, parentheses lost."""
    if level > 1:
        return None
    if not field.operands:
        return operand_text(field)
    if field.operator == "u":
        inner = expression_text(field.operands[0], level + 1)
        return None if inner is None else f"-({inner})"
    return operand_text(field.operands[0]) + field.operator + operand_text(field.operands[1])


# Values of plain fields


def reader_of(field: Field, order: ByteOrder) -> Callable[[Hit], Value] | None:
    """The function for a field of the record; None for a size that has none."""
    offset = field.offset
    if field.filter_type == FILTER_STATIC_STRING:
        end = offset + field.size
        return lambda hit: hit.record[offset:end].split(b"\0", 1)[0]
    if field.filter_type == FILTER_DYN_STRING:

        def dynamic(hit: Hit) -> bytes:
            loc = int.from_bytes(hit.record[offset : offset + 4], order)
            return hit.record[loc & 0xFFFF :].split(b"\0", 1)[0]

        return dynamic
    if field.size not in (1, 2, 4, 8):
        return None
    end, signed = offset + field.size, field.signed
    return lambda hit: int.from_bytes(hit.record[offset:end], order, signed=signed) & VALUE_MASK


def log2_of(value: int) -> int:
    """order_base_2(): the next power of two's exponent."""
    return (value - 1).bit_length() if value > 1 else 0


def divide(a: int, b: int) -> int:
    """hist_field_div()."""
    return a // b if b else VALUE_MASK


def divide_by_constant(divisor: int) -> Callable[[int], int]:
    """hist_field_get_div_fn(): a shift, a multiplication with a rounded reciprocal, or a division."""
    if not divisor & (divisor - 1):
        shift = divisor.bit_length() - 1
        return lambda value: value >> shift
    if divisor > 1 << DIV_SHIFT:
        return lambda value: value // divisor
    multiplier = (1 << DIV_SHIFT) // divisor

    def scaled(value: int) -> int:
        if value < 1 << DIV_SHIFT:
            return (value * multiplier + ((1 << DIV_SHIFT) - 1)) >> DIV_SHIFT
        return value // divisor

    return scaled


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: (a + b) & VALUE_MASK,
    "-": lambda a, b: (a - b) & VALUE_MASK,
    "*": lambda a, b: (a * b) & VALUE_MASK,
    "/": divide,
}
