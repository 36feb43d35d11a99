"""The debugger's panels, on textual: registers and code, the BPF program, maps, trace, call stack, and a line for commands.

Movements run in a thread, so that keys are read meanwhile: what they ask for waits for its turn.  Escape stops a run that
takes long, and forgets what waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Resize
from textual.widgets import Footer, Input, RichLog, Static

from simkernel.debug.commands import Commands
from simkernel.debug.debugger import Debugger
from simkernel.debug.panels import PAGES, Panel, Room, View
from simkernel.debug.places import Kind, Stop

MOST_WAITING = 64  # movements and commands: a key that is held down asks faster than a machine moves
NARROW_COLUMNS, WIDE_COLUMNS = (
    100,
    160,
)  # columns: below the first there is one page at a time, from the second on all stand side by side
LOW_LINES = 32  # lines
Movement = Callable[[], Stop]


class Box(Static):
    """A panel, filled anew when there is another stop and when it has another size."""

    def __init__(self, row: Panel) -> None:
        super().__init__(id=row.name, classes="panel")
        self.row = row
        self.border_title = row.title
        self.view: View | None = None

    def fill(self) -> None:
        """What fits."""
        if self.view is not None and self.size:
            self.update(self.row.fill(self.view, Room(*self.content_size)))

    def on_resize(self) -> None:
        """Only now is it known how much fits."""
        self.fill()


class Panels(App[None]):
    """`simkernel debug` on a terminal."""

    TITLE = "simkernel debug"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #head { height: auto; max-height: 2; background: $boost; }
    #pages { height: 1fr; layout: grid; grid-size: 2 2; grid-rows: 2fr 1fr; }
    #rest { column-span: 2; layout: horizontal; }
    .panel { border: round $primary; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; height: 1fr; width: 1fr;
             border-title-color: $text; }
    #registers { height: auto; max-height: 60%; }
    #trace { width: 2fr; }
    #frame { height: 7; }
    Input > .input--placeholder { color: $text 75%; }
    #log { height: 6; border: round $secondary; padding: 0 1; scrollbar-size: 1 1; }
    #narrow-keys { display: none; height: 1; background: $boost; }
    .wide #pages { layout: horizontal; }
    .wide #rest { layout: vertical; }
    .wide #trace, .narrow #trace { height: 2fr; width: 1fr; }
    .wide #frame { height: 12; }
    .narrow #pages { layout: vertical; }
    .narrow #rest { layout: vertical; }
    .narrow #pages > Container { display: none; }
    .narrow #pages > .chosen { display: block; }
    .narrow Footer { display: none; }
    .narrow #narrow-keys { display: block; }
    .low #log { height: 3; border: none; padding: 0 2; background: $boost; }
    .low #frame { height: 6; }
    """
    KEYS = "s/b step n/p next S/B stepi f finish u caller c/r continue 1-3 page :command q"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "move('step')", "step"),
        Binding("S", "move('step_cpu')", "stepi"),
        Binding("n", "move('next')", "next"),
        Binding("f", "move('finish')", "finish"),
        Binding("c", "move('go')", "continue"),
        Binding("b", "move('back')", "back"),
        Binding("B", "move('back_cpu')", "backi"),
        Binding("p", "move('back_next')", "previous"),
        Binding("u", "move('back_finish')", "caller"),
        Binding("r", "move('go_back')", "reverse"),
        Binding("colon", "command", "command"),
        Binding("escape", "interrupt", "stop", show=False),
        Binding("q", "quit", "quit"),
        *(Binding(str(number), f"page('{name}')", show=False) for number, name in enumerate(PAGES, 1)),
    ]

    def __init__(self, debugger: Debugger) -> None:
        super().__init__()
        self.debugger = debugger
        self.commands = Commands(debugger)
        self.view: View | None = None
        self.busy = False
        self.waiting: deque[Callable[[], list[str]]] = deque()

    def compose(self) -> ComposeResult:
        yield Static(id="head")
        with Container(id="pages"):
            for name, panels in PAGES.items():
                with Container(id=name):
                    for each in panels:
                        yield Box(each)
        yield RichLog(id="log", wrap=True)
        yield Input(placeholder="a command, after a colon: help, break vfs_write, goto 573 ...", compact=True)
        yield Footer(compact=True)
        yield Static(self.KEYS, id="narrow-keys")

    def on_mount(self) -> None:
        self.set_focus(None)
        self.show(View(self.debugger))

    def on_resize(self, event: Resize) -> None:
        """Other panels are beside each other, and what is in them is cut elsewhere."""
        width, height = event.size
        self.screen.set_class(width < NARROW_COLUMNS, "narrow")
        self.screen.set_class(width >= WIDE_COLUMNS, "wide")
        self.screen.set_class(height < LOW_LINES, "low")
        self.redraw()

    def show(self, view: View) -> None:
        """A stop: on a narrow terminal with the page of what runs."""
        self.view = view.after(self.view)
        self.action_page("program" if self.debugger.stop.kind is Kind.BPF else "cpu")

    def action_page(self, name: str) -> None:
        """This page, where there is room for one only."""
        for each in PAGES:
            self.query_one(f"#{each}").set_class(each == name, "chosen")
        self.redraw()

    def redraw(self) -> None:
        """Into every panel."""
        if self.view is None:
            return
        self.query_one("#head", Static).update(Text(self.view.head))
        for box in self.query(Box):
            box.view = self.view
            box.fill()

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
        """Stop a run and forget what was to come, or leave the line."""
        self.waiting.clear()
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
        """Now, or after what is under way."""
        if self.busy:
            if len(self.waiting) < MOST_WAITING:
                self.waiting.append(work)
        else:
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
        self.show(view)
        if self.commands.done:
            self.exit()
        elif self.waiting:
            self._do(self.waiting.popleft())

    def _move(self, move: Movement) -> list[str]:
        return self.commands.attempt(move)

    def _command(self, line: str) -> list[str]:
        return [f": {line}", *self.commands.execute(line)]
