"""Entries as their fields alone: the option `fields`.  kernel/trace/trace_output.c:print_event_fields(), since 6.4."""

from __future__ import annotations

from arch.errors import Fault
from tracing.board import Board, Line
from tracing.record.fields import (
    FILTER_COMM,
    FILTER_CPU,
    FILTER_DYN_STRING,
    FILTER_OTHER,
    FILTER_PTR_STRING,
    FILTER_STATIC_STRING,
    Field,
)
from tracing.record.reader import read_string
from tracing.record.registry import EventRegistry

STATIC_FMT_BUF_SIZE = 128  # bytes: of a string elsewhere as much is looked at
LATIN1_PRINTABLE = 0xA0  # lib/ctype.c: from here on, too


def by_fields(board: Board, events: EventRegistry) -> Line:
    """What prints an entry so.  The tracers' own have no fields that it knows."""

    def line(data: bytes) -> str:
        kind = int.from_bytes(data[:2], board.byteorder)
        event = events.by_id.get(kind)
        if event is None:
            return f"UNKNOWN TYPE {kind}\n"
        return f"{event.name}:{''.join(f' {field.name}={value(board, field, data)}' for field in event.fields)}\n"

    return line


def value(board: Board, field: Field, data: bytes) -> str:
    """print_fields() of one."""
    raw = data[field.offset : field.offset + field.size]
    if len(raw) < field.size:
        return "<OVERFLOW>"
    kind = field.filter_type
    if kind in (FILTER_COMM, FILTER_STATIC_STRING):
        return raw.split(b"\0", 1)[0].decode("latin-1")
    if kind == FILTER_DYN_STRING:
        place = int.from_bytes(raw, board.byteorder)
        start, length = place & 0xFFFF, place >> 16
        return "<OVERFLOW>" if start + length > len(data) else _string(board, data[start : start + length])
    if kind == FILTER_PTR_STRING:
        return _pointed(board, int.from_bytes(raw, board.byteorder))
    return _number(board, field, raw) if kind in (FILTER_CPU, FILTER_OTHER) else "<INVALID-TYPE>"


def printable(byte: int) -> bool:
    """isprint()."""
    return 0x20 <= byte < 0x7F or byte >= LATIN1_PRINTABLE


def _string(board: Board, raw: bytes) -> str:
    text = raw.split(b"\0", 1)[0]
    if not board.features.fields_show_bytes or all(map(printable, text)):
        return text.decode("latin-1")
    shown = "".join(chr(byte) if printable(byte) else "." for byte in raw)
    return f"{shown} ({raw.hex(':')})"


def _pointed(board: Board, address: int) -> str:
    """A string elsewhere in the kernel's memory, if it is still there."""
    try:
        board.host.mem.read(address, 1)
    except Fault:
        return f"(0x{address:x})"
    text = read_string(board.host.mem, address, STATIC_FMT_BUF_SIZE)
    return f"(0x{address:x}:{text.decode('latin-1')})"


def _number(board: Board, field: Field, raw: bytes) -> str:
    if field.size not in (1, 2, 4, 8):
        return "<INVALID-SIZE>"
    number = int.from_bytes(raw, board.byteorder)
    if field.size == 1:
        return f"'{chr(number)}'({number})" if printable(number) else f"({number})"
    if field.size == 2:
        return f"0x{number:x} ({number})"
    signed = int.from_bytes(raw, board.byteorder, signed=True)
    if board.features.fields_name_functions and field.size == board.word and board.host.is_kernel_text(number):
        low = number & 0xFFFF_FFFF
        return f"{board.addresses.symbol_offset(number)} ({low - (low >> 31 << 32)})"
    return f"0x{number:x} ({signed})"
