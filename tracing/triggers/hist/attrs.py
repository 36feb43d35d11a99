"""A hist trigger's line, taken apart.  trace_events_hist.c:parse_hist_trigger_attrs()."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.cstring import kstrto
from arch.errors import KernelError
from arch.records import dataclass, field
from tracing.record.event import EventFile
from tracing.triggers.hist import errors as why
from tracing.triggers.hist.errors import HistLog

VARS_MAX = 16  # TRACING_MAP_VARS_MAX
ACTIONS_MAX = 8
BITS_DEFAULT, BITS_MIN, BITS_MAX = 11, 7, 17
HANDLERS = ("onmatch(", "onmax(", "onchange(")


@dataclass
class Attrs:
    """struct hist_trigger_attrs."""

    keys: str | None = None
    vals: str | None = None
    sort: str | None = None
    name: str | None = None  # with its `name=`
    clock: str = "global"
    pause: bool = False
    cont: bool = False
    clear: bool = False
    nohitcount: bool = False
    ts_in_usecs: bool = False
    map_bits: int = BITS_DEFAULT
    assignments: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)


def parse_attrs(log: HistLog, file: EventFile, text: str) -> Attrs:
    """The pieces between colons.  EINVAL."""
    attrs = Attrs()
    for piece in text.split(":"):
        _, equals, rest = piece.partition("=")
        if equals:
            if not rest:
                raise log.fail(file, why.EMPTY_ASSIGNMENT, piece)
            parse_assignment(log, file, piece, attrs)
        elif piece == "pause":
            attrs.pause = True
        elif piece in ("cont", "continue"):
            attrs.cont = True
        elif piece == "clear":
            attrs.clear = True
        elif piece in ("nohitcount", "NOHC") and file.event.board.features.hist_hitcount:
            attrs.nohitcount = True
        elif piece.startswith(HANDLERS) and len(attrs.actions) < ACTIONS_MAX:
            attrs.actions.append(piece)
        else:
            raise KernelError(EINVAL, f"not of a hist trigger: {piece!r}")
    if attrs.keys is None:
        raise KernelError(EINVAL, "no keys")
    return attrs


def parse_assignment(log: HistLog, file: EventFile, piece: str, attrs: Attrs) -> None:
    """`NAME=VALUE`: one of the words known, or variables."""
    name, _, value = piece.partition("=")
    if name in ("key", "keys"):
        attrs.keys = value
    elif name in ("val", "vals", "values"):
        attrs.vals = value
    elif name == "sort":
        attrs.sort = value
    elif name == "name":
        attrs.name = piece
    elif name == "clock":
        attrs.clock = value.strip()
    elif name == "size":
        attrs.map_bits = map_bits(value)
    elif len(attrs.assignments) == VARS_MAX:
        raise log.fail(file, why.TOO_MANY_VARS, piece)
    else:
        attrs.assignments.append(piece)


def map_bits(text: str) -> int:
    """parse_map_size(): log2 of the next power of two.  EINVAL."""
    size = kstrto(text, 0, 64, False)
    bits = max(size - 1, 0).bit_length()
    if not BITS_MIN <= bits <= BITS_MAX:
        raise KernelError(EINVAL, "a table has between 2^7 and 2^17 entries")
    return bits
