"""The function tracer: every call of the chosen functions in the trace.  kernel/trace/trace_functions.c, ftrace.c.

`echo function > current_tracer` arms the first instruction of each function that set_ftrace_filter allows and
set_ftrace_notrace does not forbid; a hit writes which function was entered and from where.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from tracing.board import Board
from tracing.buffer.trace import TRACE_FN, TraceArray
from tracing.probes.kprobes import Kprobe, Kprobes
from tracing.record.filter import glob_match

ALL_ENABLED, NONE_DISABLED, NO_PID = (
    "#### all functions enabled ####\n",
    "#### no functions disabled ####\n",
    "no pid\n",
)


class FunctionTracer:
    """Which functions, and the probes on them while the tracer runs."""

    def __init__(self, board: Board, array: TraceArray, kprobes: Kprobes) -> None:
        self.board = board
        self.host = board.host
        self.array = array
        self.kprobes = kprobes
        self.chosen: set[str] = set()  # empty: all
        self.forbidden: set[str] = set()
        self.pids: set[int] = set()
        self.running = False
        self.probes: dict[str, Kprobe] = {}
        self.entry = struct.Struct(board.order + ("QQ" if board.word == 8 else "II"))
        array.tracers["function"] = self.set_running
        board.lines[TRACE_FN] = self.line

    def functions(self) -> dict[str, int]:
        """Name -> address of all functions that can be traced, in order of address."""
        kprobes, host = self.kprobes, self.host
        return {
            symbol.name: symbol.address
            for symbol in host.symbols
            if symbol.kind in "tT" and host.is_kernel_text(symbol.address) and not kprobes.blacklisted(symbol.address)
        }

    # set_ftrace_filter, set_ftrace_notrace

    def text(self, names: set[str], nothing: str) -> str:
        """The file: the functions in `names`, or what it says when there are none."""
        return "".join(f"{name}\n" for name in self.functions() if name in names) or nothing

    def write(self, names: set[str], data: bytes) -> None:
        """Words: function names or globs, `!` takes away; EINVAL for one that matches nothing."""
        known = self.functions()
        for word in data.decode("latin-1").split():
            remove = word.startswith("!")
            pattern = word.lstrip("!").encode("latin-1")
            found = {name for name in known if glob_match(pattern, name.encode("latin-1"))}
            if not found:
                raise KernelError(EINVAL, f"no function {word}")
            if remove:
                names -= found
            else:
                names |= found
        self.update()

    def clear(self, names: set[str]) -> None:
        """Opened with O_TRUNC."""
        names.clear()
        self.update()

    # Running

    def set_running(self, on: bool) -> None:
        """current_tracer became `function`, or something else."""
        self.running = on
        self.update()

    def update(self) -> None:
        """Arm and disarm so that exactly the wanted functions are traced."""
        wanted: dict[str, int] = {}
        if self.running:
            wanted = {
                name: address
                for name, address in self.functions().items()
                if (not self.chosen or name in self.chosen) and name not in self.forbidden
            }
        for name in [name for name in self.probes if name not in wanted]:
            self.kprobes.unregister(self.probes.pop(name))
        for name, address in wanted.items():
            if name not in self.probes:
                probe = Kprobe(self._hit_closure(address), symbol=name)
                probe.kind = "f"
                self.kprobes.register(probe)
                self.probes[name] = probe

    def _hit_closure(self, address: int) -> Callable[[int], None]:
        """function_trace_call() for one function."""
        host, pack, pids = self.host, self.entry.pack, self.pids
        array, kprobes, header_of = self.array, self.kprobes, self.board.header_of
        arch, mem, layout = host.arch, host.mem, self.board.layout

        def hit(regs: int) -> None:
            if pids and host.current_pid() not in pids:
                return
            parent = arch.return_address(mem, regs, layout)
            if parent == host.return_trampoline:
                parent = kprobes.real_return_address(host.current_task()) or parent
            array.write_event(header_of(TRACE_FN) + pack(address, parent))

        return hit

    def line(self, data: bytes) -> str:
        """`vfs_write <-ksys_write`; the parent only with the print-parent option."""
        ip, parent = self.entry.unpack_from(data, 8)
        addresses = self.board.addresses
        text = addresses.symbol_name(ip)
        if self.board.options["print-parent"] and parent:
            text += f" <-{addresses.symbol_name(parent)}"
        return text + "\n"

    def enabled_text(self) -> str:
        """enabled_functions, without the names of trampolines that do not exist here."""
        return "".join(f"{name} (1)\n" for name in self.functions() if name in self.probes)


def parse_pids(pids: set[int], data: bytes) -> None:
    """set_ftrace_pid, set_event_pid: numbers; EINVAL."""
    for word in data.decode("latin-1").split():
        if not word.isdigit():
            raise KernelError(EINVAL, f"not a pid: {word}")
        pids.add(int(word))


def pids_text(pids: set[int], nothing: str = "") -> str:
    """One pid a line, ascending."""
    return "".join(f"{pid}\n" for pid in sorted(pids)) or nothing
