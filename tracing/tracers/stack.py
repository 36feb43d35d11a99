"""The stack tracer: the deepest kernel stack that was seen at the entry of a function.  kernel/trace/trace_stack.c."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from arch.errors import Fault
from tracing.board import Board
from tracing.probes.kprobes import Kprobe, Kprobes
from tracing.tracers.function import ALL_ENABLED
from tracing.tracers.functions import Functions, FunctionSet

DISABLED = """#
#  Stack tracer disabled
#
# To enable the stack tracer, either add 'stacktrace' to the
# kernel command line
# or 'echo 1 > /proc/sys/kernel/stack_tracer_enabled'
#
"""


class StackTracer:
    """On while the sysctl kernel.stack_tracer_enabled is not 0."""

    def __init__(self, board: Board, functions: Functions, kprobes: Kprobes) -> None:
        self.board = board
        self.host = board.host
        self.functions = functions
        self.kprobes = kprobes
        self.chosen = FunctionSet(functions, ALL_ENABLED, self.update)
        self.enabled = False
        self.max_size = 0
        self.entries: list[tuple[int, int]] = []  # (depth in bytes, address), innermost first
        self.probes: dict[str, Kprobe] = {}
        functions.watchers.append(self.update)
        functions.users.append(self.users)

    def set_enabled(self, on: bool) -> None:
        """The sysctl."""
        self.enabled = on
        self.update()

    def set_max_size(self, size: int) -> None:
        """stack_max_size: only deeper stacks are noted."""
        self.max_size = size

    def update(self) -> None:
        """Arm and disarm."""
        wanted: dict[str, int] = {}
        if self.enabled:
            names = self.chosen.names
            wanted = {name: at for name, at in self.functions.traceable().items() if not names or name in names}
        for name in [name for name in self.probes if name not in wanted]:
            self.kprobes.unregister(self.probes.pop(name))
        for name, address in wanted.items():
            if name not in self.probes:
                probe = Kprobe(self._entered(address), symbol=name)
                probe.users = partial(self.users, name)
                self.kprobes.register(probe)
                self.probes[name] = probe

    def users(self, name: str) -> tuple[str, ...]:
        """What is called at the entry of a function."""
        names = self.chosen.names
        return ("stack_trace_call",) if self.enabled and (not names or name in names) else ()

    def _entered(self, address: int) -> Callable[[int], None]:
        arch, mem, layout = self.host.arch, self.host.mem, self.board.layout

        def entered(regs: int) -> None:
            self.check(address, layout.get(mem, regs, arch.stack_pointer), regs)

        return entered

    def check(self, address: int, stack: int, regs: int) -> None:
        """check_stack(): is this one deeper?"""
        top = (stack | (self.host.arch.map.stack_size - 1)) + 1
        if top - stack <= self.max_size:
            return
        self.max_size = top - stack
        word, order = self.board.word, self.board.byteorder
        chain = [address, *(known for known in self.host.stack_trace(regs) if known != address)]
        entries = [(top - stack, address)]
        at = stack
        for wanted in chain[1:]:
            place = at
            try:
                while place < top and int.from_bytes(self.host.mem.read(place, word), order) != wanted:
                    place += word
            except Fault:
                break
            if place < top:
                entries.append((top - place, wanted))
                at = place + word
        self.entries = entries

    def text(self) -> str:
        """The file stack_trace."""
        entries = self.entries
        text = f"        Depth    Size   Location    ({len(entries)} entries)\n        -----    ----   --------\n"
        if not self.enabled and not self.max_size:
            return text + DISABLED
        for index, (depth, address) in enumerate(entries):
            size = depth - (entries[index + 1][0] if index + 1 < len(entries) else 0)
            text += f"{index:3d}) {depth:8d}   {size:5d}   {self.board.addresses.symbol_offset(address)}\n"
        return text
