"""What the debugger's panels show of a stop, fitted into the width and height that each has."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable

from rich.text import Text

from arch.records import dataclass
from simkernel.debug import show
from simkernel.debug.debugger import Debugger
from simkernel.debug.look import BpfView, Caller, Line, MapView

INSTRUCTIONS = 48  # of the CPU, from the next one on: as many as the tallest panel shows
TRACE_LINES = 60
REGISTER_NAME = 6  # columns
BPF_REGISTER = 22  # columns of a register of BPF and what is between two
HERE = ("=>", "bold green")


class View:
    """All that the panels show of one stop, asked for at once."""

    def __init__(self, debugger: Debugger) -> None:
        self.head = show.place(debugger, debugger.stop)
        self.registers: dict[str, int] = debugger.registers()
        self.code: list[Line] = debugger.disassembly(INSTRUCTIONS)
        self.stack: list[Caller] = debugger.stack()
        self.bpf: BpfView | None = debugger.bpf()
        self.maps: list[MapView] = debugger.maps()
        self.trace: list[str] = debugger.trace(TRACE_LINES)
        self.word: int = debugger.arch.word
        self.changed: set[str] = set()

    def after(self, before: View | None) -> View:
        """Remember which registers the last movement has changed."""
        if before is not None:
            self.changed = {name for name, value in self.registers.items() if before.registers.get(name) != value}
        return self


@dataclass(frozen=True)
class Room:
    """Columns and lines of a panel."""

    width: int
    height: int


def register_columns(view: View, width: int) -> int:
    """How many registers stand beside each other."""
    return max(1, (width + 2) // (REGISTER_NAME + 1 + 2 * view.word + 2))


def registers(view: View, room: Room) -> Text:
    """Names and values; what the last movement has changed stands out."""
    out = _text()
    columns = register_columns(view, room.width)
    for place, (name, value) in enumerate(view.registers.items()):
        out.append(f"{name:>{REGISTER_NAME}} ", style="dim")
        out.append(f"{value:0{2 * view.word}x}", style="bold yellow" if name in view.changed else "")
        out.append("\n" if (place + 1) % columns == 0 else "  ")
    return out


def code(view: View, room: Room) -> Text:
    """Instructions of the CPU, the next one first."""
    out = _text()
    symbols = min(28, max(16, room.width // 2))
    for place, line in enumerate(view.code[: room.height]):
        text = f"{HERE[0] if not place else '  '} {line.symbol:<{symbols}} {line.text}\n"
        out.append(text, style=HERE[1] if not place else "")
    return out


def bpf(view: View, room: Room) -> Text:
    """A BPF program: registers, and as many instructions around the next one as there is room for."""
    out = _text()
    columns = max(1, (room.width + 2) // BPF_REGISTER)
    lines = list(show.bpf(view.bpf, len(view.bpf.lines) if view.bpf else 0, columns))
    above = next((place for place, line in enumerate(lines) if not line.startswith("R") and place), len(lines))
    here = next((place for place, line in enumerate(lines) if line.startswith(HERE[0])), above)
    room_below = max(room.height - above, 1)
    first = max(above, min(here - room_below // 2, len(lines) - room_below))
    for line in lines[:above] + lines[first : first + room_below]:
        style = HERE[1] if line.startswith(HERE[0]) else "cyan" if line.lstrip().startswith(";") else ""
        out.append(line + "\n", style=style)
    return out


def frame(view: View, room: Room) -> Text:
    """The stack of the BPF program's function."""
    return _plain(_cut(list(show.frame(view.bpf)), room))


def stack(view: View, room: Room) -> Text:
    """Functions of the kernel under way, the innermost first."""
    return _plain(_cut(_folded((f"#{number} {each.symbol}" for number, each in enumerate(view.stack)), room), room))


def maps(view: View, room: Room) -> Text:
    """BPF maps."""
    return _plain(_cut(_folded(show.maps(view.maps, []), room), room))


def trace(view: View, room: Room) -> Text:
    """The end of the trace."""
    return _plain(_folded((line.strip() for line in view.trace), room)[-max(room.height, 1) :])


def _folded(lines: Iterable[str], room: Room) -> list[str]:
    """Long lines go on, indented, in the next one."""
    width = max(room.width, 16)
    return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="    ") or [""]]


def _cut(lines: list[str], room: Room) -> list[str]:
    """As many as fit, and how many do not."""
    if len(lines) <= room.height or room.height < 1:
        return lines
    shown = lines[: room.height - 1]
    return [*shown, f"... {len(lines) - len(shown)} more"]


def _text() -> Text:
    return Text(no_wrap=True, overflow="ellipsis")


def _plain(lines: Iterable[str]) -> Text:
    """Lines as they are: brackets in them mean nothing."""
    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")


@dataclass(frozen=True)
class Panel:
    """One of them: its name, its title, and how it is filled."""

    name: str
    title: str
    fill: Callable[[View, Room], Text]


# Three pages: beside each other where there is room for them, one at a time on a narrow terminal.
PAGES: dict[str, tuple[Panel, ...]] = {
    "cpu": (Panel("registers", "CPU", registers), Panel("code", "code", code)),
    "program": (Panel("bpf", "BPF program", bpf), Panel("frame", "BPF stack", frame)),
    "rest": (Panel("stack", "call stack", stack), Panel("maps", "maps", maps), Panel("trace", "trace", trace)),
}
