"""events/header_event, header_page, and events/ftrace: what has a format but is no event.  kernel/trace/trace_entries.h."""

from __future__ import annotations

from dataclasses import replace

from arch.abi.limits import PAGE_SIZE
from tracing.board import Board
from tracing.events.known import KnownEvents
from tracing.record.fields import FieldLayout, format_text

HEADER_EVENT = """# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"""

# events/ftrace: entries that are no events but have a format.  trace_entries.h.
_IP, _STACK_PRINT = "unsigned long ip", '"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n" "\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n" '
_STACK_PRINT += '"\\t=> %ps\\n\\t=> %ps\\n", ' + ", ".join(f"(void *)REC->caller[{index}]" for index in range(8))
FTRACE_ENTRIES: tuple[tuple[str, int, tuple[str, ...], str], ...] = (
    # name, id, fields (an array without length ends the entry), print fmt
    ("function", 1, (_IP, "unsigned long parent_ip"), '" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip'),
    ("kernel_stack", 4, ("int size", "unsigned long caller[8]"), _STACK_PRINT),
    ("print", 5, (_IP, "char buf[]"), '"%ps: %s", (void *)REC->ip, REC->buf'),
    ("bprint", 6, (_IP, "const char * fmt", "u32 buf[]"), '"%ps: %s", (void *)REC->ip, REC->fmt'),
    ("user_stack", 12, ("unsigned int tgid", "unsigned long caller[8]"), _STACK_PRINT),
    ("bputs", 14, (_IP, "const char * str"), '"%ps: %s", (void *)REC->ip, REC->str'),
    ("raw_data", 18, ("unsigned int id", "char buf[]"), '"id:%04x %08x", REC->id, (int)REC->buf[0]'),
)

WITH_NUMBER = ("function", "print")  # perf may open them


def ftrace_entries(board: Board) -> list[tuple[str, int, str]]:
    """Name, number and `format` of each: as this very kernel was recorded, or as declared above."""
    known = KnownEvents(board.host)
    if not known.exact or known.recording is None:
        return [(row[0], row[1], ftrace_format(board, *row)) for row in FTRACE_ENTRIES]
    out = []
    for row in known.recording.events.values():
        if row.system == "ftrace":
            fields, text = known.recording.format(row.system, row.name)
            out.append((row.name, row.number, format_text(row.name, row.number, fields, text)))
    return out


def ftrace_format(board: Board, name: str, number_: int, declarations: tuple[str, ...], print_fmt: str) -> str:
    """The `format` file of such an entry."""
    layout = FieldLayout(board.host.arch.model, board.char_signed)
    fields = []
    for declaration in declarations:
        if declaration.endswith("[]"):
            element = layout.add(declaration[:-2])
            fields.append(replace(element, type=f"{element.type}[]", size=0))
        else:
            fields.append(layout.add(declaration))
    return format_text(name, number_, fields, print_fmt)


def header_page(board: Board) -> str:
    """The header of a page of trace_pipe_raw."""
    return (
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        f"\tfield: local_t commit;\toffset:8;\tsize:{board.word};\tsigned:1;\n"
        "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
        f"\tfield: char data;\toffset:16;\tsize:{PAGE_SIZE - 16};\tsigned:{int(board.char_signed)};\n"
    )
