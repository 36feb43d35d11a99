"""The function tracer: every call of the chosen functions in the trace.  kernel/trace/trace_functions.c, ftrace.c.

`echo function > current_tracer` arms the first instruction of each function that set_ftrace_filter allows and
set_ftrace_notrace does not forbid; a hit writes which function was entered and from where.  Functions with commands are
armed whatever the tracer is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from arch.abi.errno import EINVAL
from arch.cstring import c_string, kstrto
from arch.errors import KernelError
from tracing.board import Board
from tracing.buffer.columns import TRACE_FN, TRACE_STACK
from tracing.buffer.tasks import TaskSet
from tracing.buffer.trace import TraceArray
from tracing.buffer.tracer import Array, Tracer
from tracing.probes.kprobes import Kprobe, Kprobes
from tracing.record.event import TraceEvent
from tracing.record.registry import EventRegistry
from tracing.record.stack import frames_of
from tracing.text.function_args import FunctionArgs
from tracing.tracers.commands import FunctionCommands
from tracing.tracers.functions import Functions, FunctionSet
from tracing.tracers.recorded import INVALID_PREFIX

ALL_ENABLED, NONE_DISABLED, NO_PID = (
    "#### all functions enabled ####\n",
    "#### no functions disabled ####\n",
    "no pid\n",
)
PID_LIMIT = 1 << 30
PID_MAX_LIMIT = 1 << 22


class FunctionTracer(Tracer):
    """Which functions of one trace array, and the probes on them while the tracer runs."""

    name = "function"

    def __init__(
        self, board: Board, array: TraceArray, functions: Functions, kprobes: Kprobes, events: EventRegistry,
        options: dict[str, bool],
    ) -> None:  # fmt: skip
        super().__init__()
        self.options = options
        self.board = board
        self.host = board.host
        self.array = array
        self.functions = functions
        self.kprobes = kprobes
        self.chosen = FunctionSet(functions, ALL_ENABLED, self.update)
        self.forbidden = FunctionSet(functions, NONE_DISABLED, self.update)
        self.commands = FunctionCommands(array, events, functions, self.update)
        self.pids = TaskSet()
        self.no_pids = TaskSet()
        self.running = False
        self.listeners: list[Callable[[], None]] = []  # others that trace the same functions
        self.others: list[Callable[[], Iterable[str]]] = []  # and which they trace now
        self.other_users: list[Callable[[str], Sequence[str]]] = []  # what of theirs is called at a function's entry
        self.probes: dict[str, Kprobe] = {}
        self.touched: set[str] = set()  # functions that were ever traced
        self.repeats: tuple[int, int, int] = (0, 0, 0)  # func-no-repeats: ip, parent, how often again
        self.entry = struct.Struct(board.order + ("QQ" if board.word == 8 else "II"))
        self.args = FunctionArgs(board)
        functions.watchers.append(self.update)
        functions.users.append(self.all_users)
        array.add_tracer(self)
        board.lines[TRACE_FN] = self.entry_line

    def filter_text(self) -> str:
        """The file set_ftrace_filter: functions, then modules, then commands."""
        extra = self.commands.text(bool(self.chosen.names))
        if self.commands.modules.waiting and not self.chosen.names:
            return extra
        return self.chosen.text() + extra

    def notrace_text(self) -> str:
        """The file set_ftrace_notrace: functions, then modules."""
        return self.forbidden.text() + "".join(self.commands.forbidden_modules.text())

    def wants(self, name: str) -> bool:
        """Chosen and not forbidden."""
        chosen = self.chosen.names
        if not chosen and self.commands.modules.waiting:
            return False
        return (not chosen or name in chosen) and name not in self.forbidden.names

    def traces_task(self) -> bool:
        """By set_ftrace_pid and set_ftrace_notrace_pid."""
        if not self.pids.on and not self.no_pids.on:
            return True
        pid = self.host.current_pid()
        return (not self.pids.on or pid in self.pids) and pid not in self.no_pids

    # Running

    def start(self, array: Array) -> None:
        """current_tracer became `function`."""
        array.reset()
        self.board.tasks.use(1)
        self.running = True
        self.update()

    def stop(self, array: Array) -> None:
        """Something else."""
        self.board.tasks.use(-1)
        self.running = False
        self.update()

    def update(self) -> None:
        """Arm and disarm so that exactly the wanted functions are traced."""
        wanted: dict[str, int] = {}
        with_commands = self.commands.names
        if self.running or with_commands:
            wanted = {
                name: address
                for name, address in self.functions.traceable().items()
                if name in with_commands or (self.running and self.wants(name))
            }
        for name in [name for name in self.probes if name not in wanted]:
            self.kprobes.unregister(self.probes.pop(name))
        for name, address in wanted.items():
            if name not in self.probes:
                probe = Kprobe(self._hit_closure(name, address), symbol=name)
                probe.users = partial(self.users, name)
                self.kprobes.register(probe)
                self.probes[name] = probe
        for listener in self.listeners:
            listener()
        self.touched |= self.traced()

    def users(self, name: str) -> list[str]:
        """The functions of its struct ftrace_ops that are called at a function's entry: those of commands, and the tracer's."""
        found = ["function_trace_probe_call"] * self.commands.count(name)
        if self.running and self.wants(name):
            found.append(self.caller())
        return found

    def all_users(self, name: str) -> list[str]:
        """With those of the others."""
        return [*self.users(name), *(user for other in self.other_users for user in other(name))]

    def caller(self) -> str:
        """select_trace_function(), and ftrace_pid_func() before it where only some tasks are traced."""
        if self.pids.on or self.no_pids.on:
            return "ftrace_pid_func"
        stack = "stack_" if self.options["func_stack_trace"] else ""
        repeats = "no_repeats_" if self.options.get("func-no-repeats") else ""
        return f"function_{stack}{repeats}trace_call"

    def release(self) -> None:
        """The trace array goes."""
        self.functions.watchers.remove(self.update)
        self.functions.users.remove(self.all_users)
        self.running = False
        for known in list(self.commands.sets):
            self.commands.unregister("*", known.name, known.counted)
        self.update()

    def _hit_closure(self, name: str, address: int) -> Callable[[int], None]:
        """function_trace_call() for one function."""
        host, pack = self.host, self.entry.pack
        array, kprobes, header_of = self.array, self.kprobes, self.board.header_of
        arch, mem, layout = host.arch, host.mem, self.board.layout
        options = self.options
        sites = kprobes.sites  # several at one place are called by arch_ftrace_ops_list_func(), which holds preemption

        def hit(regs: int) -> None:
            traced = self.running and self.wants(name)
            commands = self.commands.count(name) if self.commands.sets else 0
            here = sites.get(address, [])
            listed = len(here) - 1 + commands + traced > 1 and len(users_of(here)) > 1
            if commands:
                self.commands.hit(name, lambda: self._stack(regs, address, listed))
            if not traced or not self.traces_task():
                return
            parent = arch.return_address(mem, regs, layout)
            if parent == host.return_trampoline:
                parent = kprobes.real_return_address(host.current_task()) or parent
            parent = host.caller_of(address, parent, regs)
            args = self.args.take(regs) if options.get("func-args") else b""
            array.write(header_of(TRACE_FN, 0, listed) + pack(address, parent) + args)
            if options["func_stack_trace"]:
                self._stack(regs, address, listed)

        return hit

    def _stack(self, regs: int, address: int, listed: bool) -> None:
        """function_stack_trace_call(): with what calls tracers on top."""
        host, frames = self.host, frames_of(self.board)
        above: tuple[str, ...] = ()
        if frames is not None:
            above = frames.function
            if listed and frames.function_list:
                saved = SAVES_REGS.intersection(users_of(self.kprobes.sites.get(address, [])))
                above = (*frames.function_list, "ftrace_regs_call" if saved else "ftrace_call")
        header = self.board.header_of(TRACE_STACK, 0, listed)
        self.array.stack_entry([*map(host.frame, above), *host.stack_trace(regs)], header)

    def entry_line(self, data: bytes) -> str:
        """`vfs_write <-ksys_write`; the parent only with the print-parent option."""
        ip, parent = self.entry.unpack_from(data, 8)
        addresses = self.board.addresses
        args = data[8 + self.entry.size :]
        text = addresses.ip(ip) + (self.args.text(ip, args) if args else "")
        if addresses.options["print-parent"] and parent:
            text += f" <-{addresses.ip(parent)}"
        return text + "\n"

    def enabled_text(self) -> str:
        """enabled_functions: by how many each function is traced, `R` with all registers, and who that is."""
        functions, sites, frames = self.functions, self.kprobes.sites, frames_of(self.board)
        ends = frames.users if frames is not None else {}
        width = 11 if self.board.features.touched_functions else 6  # of the flags, two letters more
        own, lines = functions.own(), []
        for name in functions.names():
            if name in own:
                users = users_of(sites.get(own[name], []))
            elif functions.enabled and not name.startswith(
                INVALID_PREFIX
            ):  # the machine never calls it, so nobody has a probe there
                users = [user for ask in functions.users for user in ask(name)]
            else:
                continue
            if users:
                lines.append(enabled_line(name, users, ends, width))
        return "".join(lines)

    def traced(self) -> set[str]:
        """What is traced now, by this tracer or by those that follow it."""
        return {*self.probes, *(name for others in self.others for name in others())}

    def touched_text(self) -> str:
        """touched_functions: those that are traced now, and those that once were."""
        now = self.traced()
        names = [name for name in self.functions.own() if name in self.touched]
        return "".join(f"{name} ({int(name in now)}){' ' * 11}\n" for name in names)


class PerfFunctions:
    """ftrace:function of perf: every function that can be traced counts.  kernel/trace/trace_event_perf.c"""

    def __init__(self, tracer: FunctionTracer, event: TraceEvent) -> None:
        self.tracer, self.event = tracer, event
        self.probes: list[Kprobe] = []

    def set(self, on: bool) -> None:
        """The first perf event came, or the last went."""
        kprobes, users = self.tracer.kprobes, self.tracer.functions.users
        if on:
            users.append(self.users)
        elif self.users in users:
            users.remove(self.users)
        while self.probes:
            kprobes.unregister(self.probes.pop())
        for name, address in self.tracer.functions.traceable().items() if on else ():
            probe = Kprobe(self._entered(address), symbol=name)
            probe.users = partial(self.users, name)
            kprobes.register(probe)
            self.probes.append(probe)

    def users(self, name: str) -> tuple[str, ...]:
        """What is called at a function's entry."""
        return ("perf_ftrace_function_call",)

    def _entered(self, address: int) -> Callable[[int], None]:
        """perf_ftrace_function_call()"""
        tracer, event = self.tracer, self.event
        host, board = tracer.host, tracer.board

        def entered(regs: int) -> None:
            parent = host.arch.return_address(host.mem, regs, board.layout)
            record = board.header_of(TRACE_FN, 0, False) + tracer.entry.pack(address, parent)
            for known in tuple(event.perf_events):
                known.receive(record, regs, address)

        return entered


SAVES_REGS = frozenset(("kprobe_ftrace_handler", "fprobe_handler"))  # FTRACE_OPS_FL_SAVE_REGS


def users_of(probes: list[Kprobe]) -> list[str]:
    """Of a function's first instruction: all kprobes there are one user of it, each tracer others."""
    armed = [probe for probe in probes if not probe.disabled or probe.stays]
    users = [user for probe in armed if probe.users is not None for user in probe.users()]
    if any(probe.users is None for probe in armed):
        users.append("kprobe_ftrace_handler")
    return users


def enabled_line(name: str, users: list[str], ends: Mapping[str, str], width: int) -> str:
    """t_show()"""
    end = ends.get(users[0] if len(users) == 1 else "", "")
    return f"{name} ({len(users)}){' R' if SAVES_REGS.intersection(users) else '':{width}}{end}\n"


def parse_pids(data: bytes, known: TaskSet, beyond: int) -> set[int]:
    """trace_pid_write(): the pids known and those of this write, all or none.  EINVAL; `beyond` for one beyond all pids."""
    pids = set(known.pids)
    for word in c_string(data).split():
        try:
            pid = kstrto(word, 0, 64, False) & 0xFFFFFFFF
        except KernelError:
            raise KernelError(EINVAL, f"not a pid: {word}") from None
        if pid >= PID_LIMIT:
            raise KernelError(beyond, f"no such pid: {word}")
        pids.add(pid)
    return pids


def pids_text(pids: TaskSet, nothing: str = "") -> str:
    """One pid a line, ascending.  Where a file has a word for none, Linux shows it for PID_MAX_LIMIT, too."""
    return "".join(nothing if nothing and pid == PID_MAX_LIMIT else f"{pid}\n" for pid in pids) or (
        "" if pids.on else nothing
    )
