"""The function_graph tracer: calls and returns, drawn as a tree.  kernel/trace/trace_functions_graph.c, fgraph.c."""

from __future__ import annotations

import struct
from collections.abc import Hashable
from functools import partial
from typing import NamedTuple

from arch.cstring import c_string
from tracing.board import Board
from tracing.buffer.columns import TRACE_BPRINT, TRACE_GRAPH_ENT, TRACE_GRAPH_RET, TRACE_PRINT, mark_of
from tracing.buffer.ringbuffer import Event
from tracing.buffer.trace import TraceArray
from tracing.buffer.tracer import Array, Tracer
from tracing.probes.kprobes import Kprobes, Kretprobe, KretprobeInstance
from tracing.record.stack import frames_of
from tracing.text.function_args import FunctionArgs
from tracing.tracers.function import ALL_ENABLED, NONE_DISABLED, FunctionTracer
from tracing.tracers.functions import FunctionSet, GraphSet

INDENT = 2
DEPTH_MAX = 50  # FTRACE_RETFUNC_DEPTH
PROC_WIDTH = 14
MAXACTIVE = 4096
LATENCY_COLUMN = "||||   "
LATENCY_ROWS = (
    "  _-----=> irqs-off        ", " / _----=> need-resched    ", "| / _---=> hardirq/softirq ", "|| / _--=> preempt-depth   ",
    "||| /                      ",
)  # fmt: skip
RULE = " ------------------------------------------\n"


def options_of(board: Board) -> dict[str, bool]:
    """The tracer's own options, shared by all instances."""
    options = {
        "funcgraph-overrun": False, "funcgraph-cpu": True, "funcgraph-overhead": True, "funcgraph-proc": False,
        "funcgraph-duration": True, "funcgraph-abstime": False, "funcgraph-irqs": True, "funcgraph-tail": False,
    }  # fmt: skip
    if board.features.option_func_args:
        options["funcgraph-args"] = False
    options["sleep-time"] = True
    return options


class Task:
    """What is known of a task's calls that are under way."""

    def __init__(self) -> None:
        self.depth = 0
        self.chosen = 0  # calls of functions of set_graph_function that are under way
        self.silenced = False  # one of set_graph_notrace is: nothing below it is looked at


class Call(NamedTuple):
    """One of them."""

    depth: int
    begun: int  # ns
    chosen: bool = False  # by set_graph_function
    silences: bool = False  # by set_graph_notrace


class GraphTracer(Tracer):
    """Entries and exits of the functions that set_ftrace_filter, set_graph_function and their like choose."""

    name = "function_graph"
    looks_ahead = True

    def __init__(
        self,
        board: Board,
        array: TraceArray,
        function: FunctionTracer,
        kprobes: Kprobes,
        top: GraphTracer | None = None,
    ) -> None:
        super().__init__()
        self.options = top.options if top is not None else options_of(board)
        self.top = top or self  # of the machine's own array, where the files are that choose functions
        self.board = board
        self.host = board.host
        self.array = array
        self.function = function
        self.kprobes = kprobes
        self.max_depth = 0
        self.chosen: FunctionSet = (
            top.chosen if top is not None else GraphSet(function.functions, ALL_ENABLED, lambda: None)
        )
        self.silent: FunctionSet = (
            top.silent if top is not None else GraphSet(function.functions, NONE_DISABLED, lambda: None)
        )
        self.running = False
        self.probes: dict[str, Kretprobe] = {}
        self.tasks: dict[Hashable, Task] = {}
        word = "Q" if board.word == 8 else "I"
        self.entry = struct.Struct(board.order + word + (word if board.features.option_func_args else "i"))
        self.depth_last = not board.features.graph_depth_first
        self.exit = struct.Struct(board.order + (f"{word}{word}QQi" if self.depth_last else f"{word}iIQQ"))
        self.exit_held = int(board.features.graph_exit_held)
        self.args = FunctionArgs(board)
        self.last_pid: dict[int, int] = {}  # while a trace is printed: by CPU
        self.depth: dict[int, int] = {}
        self.entered: dict[tuple[int, int], int] = {}
        self.done: set[int] = set()  # exits that stand in their entry's line
        function.listeners.append(self.update)
        function.others.append(lambda: self.probes)
        function.other_users.append(self.users)
        array.add_tracer(self)

    # Running

    def start(self, array: Array) -> None:
        """current_tracer became `function_graph`."""
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
        """Return probes on exactly the wanted functions."""
        wanted: dict[str, int] = {}
        if self.running:
            traceable = self.function.functions.traceable()
            wanted = {name: address for name, address in traceable.items() if self.function.wants(name)}
        for name in [name for name in self.probes if name not in wanted]:
            self.kprobes.unregister(self.probes.pop(name).kp)
        for name, address in wanted.items():
            if name not in self.probes:
                self.probes[name] = self.probe(name, address)
        self.function.touched |= self.probes.keys()
        if not self.running:
            self.tasks.clear()

    def users(self, name: str) -> tuple[str, ...]:
        """What is called at the entry of a function."""
        if not self.running or not self.function.wants(name):
            return ()
        frames, function = frames_of(self.board), self.function
        limited = frames is not None and "fgraph_pid_func" in frames.users and (function.pids.on or function.no_pids.on)
        return ("fgraph_pid_func",) if limited else ("ftrace_graph_func",)

    def probe(self, name: str, address: int) -> Kretprobe:
        """trace_graph_entry() and trace_graph_return() for one function."""

        def entered(instance: KretprobeInstance, regs: int) -> bool:
            return self.enter(instance, name, address, regs)

        def returned(instance: KretprobeInstance, regs: int) -> None:
            self.leave(instance, name, address)

        made = Kretprobe(returned, name, maxactive=MAXACTIVE, entry_handler=entered)
        made.kp.users = partial(self.users, name)
        self.kprobes.register_kretprobe(made)
        return made

    def enter(self, instance: KretprobeInstance, name: str, address: int, regs: int) -> bool:
        """A call; True: it is not of interest, nor is its return."""
        task = self.tasks.setdefault(self.host.current_task(), Task())
        depth = task.depth
        if task.silenced:
            return True
        if name in self.silent.names:
            task.silenced = True
            instance.data = Call(depth, 0, silences=True)
            return False
        if not self.function.traces_task():
            return True
        chosen = name in self.chosen.names
        if self.chosen.names and not chosen and not task.chosen:
            return True
        if (self.top.max_depth and depth >= self.top.max_depth) or depth >= DEPTH_MAX:
            return True
        if not self.array.threshold_us:
            args = self.args.take(regs) if self.options.get("funcgraph-args") else b""
            record = self.board.header_of(TRACE_GRAPH_ENT, 0, 1) + self.entry.pack(address, depth) + args
            if not self.array.write(record):
                return True
        task.chosen += chosen
        task.depth += 1
        instance.data = Call(depth, self.array.now(), chosen=chosen)
        return False

    def leave(self, instance: KretprobeInstance, name: str, address: int) -> None:
        """Its return."""
        task, call = self.tasks.get(self.host.current_task()), instance.data
        if task is None or not isinstance(call, Call):
            return
        if call.silences:
            task.silenced = False
            return
        depth, begun = call.depth, call.begun
        task.depth = depth
        task.chosen -= call.chosen
        now = self.array.now()
        if now - begun < self.array.threshold_us * 1000:
            return
        values = (address, 0, begun, now, depth) if self.depth_last else (address, depth, 0, begun, now)
        self.array.write(self.board.header_of(TRACE_GRAPH_RET, 0, self.exit_held) + self.exit.pack(*values))

    def left(self, data: bytes) -> tuple[int, int, int, int, int]:
        """Function, depth, overruns, begin and end of a return."""
        values = self.exit.unpack_from(data, 8)
        func, depth, overrun, begun, ended = (values[0], values[4], *values[1:4]) if self.depth_last else values
        return func, depth, overrun, begun, ended

    # Printing

    def header(self, array: Array) -> str | None:
        """print_graph_headers()."""
        self.last_pid, self.depth, self.entered, self.done = {}, {}, {}, set()
        options = self.options
        if not array.options["context-info"]:
            return ""
        first, second, above_flags = "#", "#", 0
        for option, above, below in (
            ("funcgraph-abstime", "     TIME       ", "      |         "),
            ("funcgraph-cpu", " CPU", " |  "),
            ("funcgraph-proc", "  TASK/PID       ", "   |    |        "),
            ("funcgraph-duration", "  DURATION   ", "   |   |      "),
        ):
            if option == "funcgraph-duration" and array.options["latency-format"]:
                above_flags, first, second = len(first) - 1, first + LATENCY_COLUMN, second + LATENCY_COLUMN
            if options[option]:
                first, second = first + above, second + below
        flags = (
            "".join(f"#{' ' * above_flags}{row}\n" for row in LATENCY_ROWS) if array.options["latency-format"] else ""
        )
        return flags + first + "               FUNCTION CALLS\n" + second + "               |   |   |   |\n"

    def line(self, array: Array, event: Event, following: Event | None) -> str | None:
        """Entries, exits, and other events as comments between them."""
        kind = int.from_bytes(event.data[:2], self.board.byteorder)
        if kind == TRACE_GRAPH_ENT:
            return self.entry_line(array, event, following)
        if kind == TRACE_GRAPH_RET:
            return "" if id(event) in self.done else self.exit_line(array, event)
        text = self.board.lines[kind](event.data) if kind in self.board.lines else ""
        if kind in (TRACE_PRINT, TRACE_BPRINT):
            text = c_string(event.data[8 + self.board.word :])
        if not text:
            return None
        depth = self.depth.get(event.cpu, 0)
        indent = " " * ((depth + 1) * INDENT) if depth > 0 else ""
        text = text.removesuffix("\n")
        return f"{self.prologue(array, event)}{self.no_duration(array)}{indent}/* {text} */\n"

    def entry_line(self, array: Array, event: Event, following: Event | None) -> str:
        """`name() {`, or `name();` with its time when nothing happened in it."""
        func, depth = self.entry.unpack_from(event.data, 8)
        args = event.data[8 + self.entry.size :]
        name = self.board.addresses.symbol_name(func) + (self.args.text(func, args) if args else "()")
        head = self.prologue(array, event)
        indent = " " * (depth * INDENT)
        leaf = self.leaf_time(event, func, following)
        if leaf is not None:
            self.depth[event.cpu] = depth - 1
            self.entered.pop((event.cpu, depth), None)
            return f"{head}{self.duration(array, leaf)}{indent}{name};\n"
        self.depth[event.cpu] = depth
        self.entered[event.cpu, depth] = func
        return f"{head}{self.no_duration(array)}{indent}{name} {{\n"

    def took(self, following: Event) -> bool:
        """The return of a leaf: said with its entry."""
        known = id(following) in self.done
        self.done.discard(id(following))
        return known

    def leaf_time(self, event: Event, func: int, following: Event | None) -> int | None:
        """How long it took, in ns, if its return is the next thing that happened there."""
        if following is None or int.from_bytes(following.data[:2], self.board.byteorder) != TRACE_GRAPH_RET:
            return None
        returned, _, _, begun, ended = self.left(following.data)
        if returned != func or following.data[4:8] != event.data[4:8]:
            return None
        self.done.add(id(following))
        return int(ended - begun)

    def exit_line(self, array: Array, event: Event) -> str:
        """`}`; with the name where the entry is lost, or by the option funcgraph-tail."""
        func, depth, overrun, begun, ended = self.left(event.data)
        self.depth[event.cpu] = depth - 1
        matched = self.entered.pop((event.cpu, depth), func) == func
        name = self.board.addresses.symbol_name(func)
        tail = "}\n" if matched and not self.options["funcgraph-tail"] else f"}} /* {name} */\n"
        if self.options["funcgraph-overrun"]:
            tail += f" (Overruns: {overrun})\n"
        indent = " " * (depth * INDENT)
        return f"{self.prologue(array, event)}{self.duration(array, ended - begun)}{indent}{tail}"

    def prologue(self, array: Array, event: Event) -> str:
        """print_graph_prologue(): another task on this CPU, then the columns."""
        pid = int.from_bytes(event.data[4:8], self.board.byteorder, signed=True)
        text = ""
        last = self.last_pid.get(event.cpu)
        cpu = f" {event.cpu:{len(str(self.host.nr_cpus - 1))}d}) "
        if last is not None and last != pid:
            text = f"{RULE}{cpu}{self.process(last)} => {self.process(pid)}\n{RULE}\n"
        self.last_pid[event.cpu] = pid
        if not array.options["context-info"]:
            return text
        if self.options["funcgraph-abstime"]:
            us = event.ts // 1000
            text += f"{us // 1_000_000:5d}.{us % 1_000_000:06d} |  "
        if self.options["funcgraph-cpu"]:
            text += cpu
        if self.options["funcgraph-proc"]:
            text += f"{self.process(pid)} | "
        if array.options["latency-format"]:
            text += f" {array.latency(event.data[2], event.data[3])} | "
        return text

    def process(self, pid: int) -> str:
        """print_graph_proc(): name and pid in the middle of their column."""
        text = f"{self.board.tasks.name(pid)[:7]}-{pid}"
        spaces = max(PROC_WIDTH - len(text), 0)
        return " " * (spaces // 2) + text + " " * (spaces - spaces // 2)

    def no_duration(self, array: Array) -> str:
        """The empty column."""
        return "              |  " if self.options["funcgraph-duration"] and array.options["context-info"] else ""

    def duration(self, array: Array, ns: int) -> str:
        """print_graph_duration()."""
        if not self.options["funcgraph-duration"] or not array.options["context-info"]:
            return ""
        mark = mark_of(ns) if self.options["funcgraph-overhead"] else " "
        text = str(ns // 1000)
        if len(text) < 7:
            text += "." + f"{ns % 1000:03d}"[: min(4, 7 - len(text))]
        return f"{mark} {text} us ".ljust(2 + len(text) + 4 + max(8 - len(text), 0)) + "|  "
