"""The debugger's panels, on textual: registers and code, the BPF program, maps, trace, call stack, and a line for commands.

Movements run in a thread, so that keys are read meanwhile; Escape stops a run that takes long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, Header, Input, RichLog, Static

from simkernel.debug import show
from simkernel.debug.commands import Commands
from simkernel.debug.debugger import Debugger
from simkernel.debug.look import BpfView, Caller, Line, MapView
from simkernel.debug.places import Stop

INSTRUCTIONS = 16  # of the CPU, from the next one on
BPF_AROUND = 9
TRACE_LINES = 30
Movement = Callable[[], Stop]


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


def register_text(view: View, before: View | None) -> Text:
    """Names and values; what the last movement has changed stands out."""
    out = Text(no_wrap=True, overflow="ellipsis")
    for place, (name, value) in enumerate(view.registers.items()):
        changed = before is not None and before.registers.get(name) != value
        out.append(f"{name:>6} ", style="dim")
        out.append(f"{value:0{2 * view.word}x}", style="bold yellow" if changed else "")
        out.append("\n" if place % 2 else "  ")
    return out


def code_text(view: View) -> Text:
    """Instructions of the CPU."""
    out = Text(no_wrap=True, overflow="ellipsis")
    for place, line in enumerate(view.code):
        text = f"{'=>' if not place else '  '} {line.symbol:<28} {line.text}\n"
        out.append(text, style="bold green" if not place else "")
    return out


def bpf_text(view: View) -> Text:
    """Registers and instructions of a BPF program."""
    out = Text(no_wrap=True, overflow="ellipsis")
    for line in show.bpf(view.bpf, BPF_AROUND, columns=2):
        style = "bold green" if line.startswith("=>") else "cyan" if line.lstrip().startswith(";") else ""
        out.append(line + "\n", style=style)
    return out


def plain(lines: list[str]) -> Text:
    """Lines as they are: brackets in them mean nothing."""
    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")


class Panels(App[None]):
    """`simkernel debug` on a terminal."""

    TITLE = "simkernel debug"
    CSS = """
    #head { height: 1; background: $boost; }
    .panel { border: round $primary; padding: 0 1; overflow-y: auto; text-wrap: nowrap; text-overflow: ellipsis; }
    #registers { height: auto; max-height: 50%; }
    #code, #bpf { height: 1fr; }
    #frame { height: 9; }
    #maps, #stack { height: 1fr; }
    #trace { height: 2fr; text-wrap: wrap; }
    #log { height: 7; border: round $secondary; }
    Input { height: 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "move('step')", "step"),
        Binding("S", "move('step_cpu')", "stepi"),
        Binding("n", "move('next')", "next"),
        Binding("f", "move('finish')", "finish"),
        Binding("c", "move('go')", "continue"),
        Binding("b", "move('back')", "back"),
        Binding("B", "move('back_cpu')", "backi"),
        Binding("p", "move('back_next')", "back next"),
        Binding("u", "move('back_finish')", "to caller"),
        Binding("r", "move('go_back')", "reverse"),
        Binding("colon", "command", ":command"),
        Binding("escape", "interrupt", "stop", show=False),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, debugger: Debugger) -> None:
        super().__init__()
        self.debugger = debugger
        self.commands = Commands(debugger)
        self.view: View | None = None
        self.busy = False

    def compose(self) -> ComposeResult:
        yield Header()
        yield Static(id="head")
        with Horizontal():
            with Vertical():
                yield self._panel("registers", "CPU")
                yield self._panel("code", "code")
            with Vertical():
                yield self._panel("bpf", "BPF program")
                yield self._panel("frame", "BPF stack")
            with Vertical():
                yield self._panel("stack", "call stack")
                yield self._panel("maps", "maps")
                yield self._panel("trace", "trace")
        yield RichLog(id="log")
        yield Input(placeholder="a command: help, break vfs_write, goto 573 ... (press : to write, Enter to do it)")
        yield Footer()

    @staticmethod
    def _panel(name: str, title: str) -> Static:
        panel = Static(id=name, classes="panel")
        panel.border_title = title
        return panel

    def on_mount(self) -> None:
        self.set_focus(None)
        self.redraw(View(self.debugger))

    def redraw(self, view: View) -> None:
        """Show a stop."""
        before, self.view = self.view, view
        parts = {
            "head": Text(view.head),
            "registers": register_text(view, before),
            "code": code_text(view),
            "bpf": bpf_text(view),
            "frame": plain(list(show.frame(view.bpf))),
            "stack": plain([f"#{number} {each.symbol}" for number, each in enumerate(view.stack)]),
            "maps": plain(list(show.maps(view.maps, []))),
            "trace": plain([line.strip() for line in view.trace]),
        }
        for name, content in parts.items():
            self.query_one(f"#{name}", Static).update(content)

    # -- keys ------------------------------------------------------------------------------------------------------------

    def action_move(self, name: str) -> None:
        """A movement of the debugger by its name."""
        moves: dict[str, Movement] = {
            "step": self.debugger.step, "step_cpu": self.debugger.step_cpu, "next": self.debugger.next,
            "finish": self.debugger.finish, "go": self.debugger.go, "back": self.debugger.back,
            "back_cpu": self.debugger.back_cpu, "back_next": self.debugger.back_next,
            "back_finish": self.debugger.back_finish, "go_back": self.debugger.go_back,
        }  # fmt: skip
        self._do(partial(self._move, moves[name]))

    def action_command(self) -> None:
        """To the line for commands."""
        self.query_one(Input).focus()

    def action_interrupt(self) -> None:
        """Stop a run, or leave the line."""
        if self.busy:
            self.debugger.interrupt()
        else:
            self.set_focus(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A command was written."""
        line, event.input.value = event.value, ""
        self.set_focus(None)
        self._do(partial(self._command, line))

    # -- work in a thread --------------------------------------------------------------------------------------------------

    def _do(self, work: Callable[[], list[str]]) -> None:
        if not self.busy:
            self.busy = True
            self._work(work)

    @work(thread=True)
    def _work(self, work: Callable[[], list[str]]) -> None:
        lines = work()
        view = View(self.debugger)
        self.call_from_thread(self._done, lines, view)

    def _done(self, lines: list[str], view: View) -> None:
        self.busy = False
        for line in lines:
            self.query_one(RichLog).write(Text(line))
        self.redraw(view)
        if self.commands.done:
            self.exit()

    def _move(self, move: Movement) -> list[str]:
        return self.commands.attempt(move)

    def _command(self, line: str) -> list[str]:
        return [f": {line}", *self.commands.execute(line)]
