"""The tree of tracefs, and of debugfs kprobes/.  kernel/trace/trace.c, trace_events.c.

The floor above puts these nodes (files/nodes.py) into its file system.  What every trace array has is array_files.py's and
event_files.py's; here is what the machine has once, and instances/.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EBUSY, EEXIST, EINVAL, ENOENT
from arch.errors import KernelError
from arch.records import dataclass
from tracing.buffer.trace import TraceArray
from tracing.files.array_files import ArrayFiles, Modes
from tracing.files.event_files import EventFiles
from tracing.files.formats import FTRACE_ENTRIES, FtraceEntry
from tracing.files.nodes import Directory, File, FixedDirectory, Node, number, word
from tracing.files.opened import FilterHook
from tracing.files.readme import README
from tracing.files.recorded import recorded_text
from tracing.probes.kprobes import Kprobes
from tracing.probes.probe_events import ProbeEvents
from tracing.record.filter import sign_extend
from tracing.record.recorder import Recorder
from tracing.record.registry import EventRegistry
from tracing.tracers.follow import TaskFollower
from tracing.tracers.function import FunctionTracer, PerfFunctions
from tracing.tracers.functions import Functions
from tracing.tracers.graph import GraphTracer
from tracing.tracers.stack import StackTracer
from tracing.triggers.hist.trigger import HistTriggers
from tracing.triggers.synthetic import SynthEvents
from tracing.triggers.trigger import TriggerFiles

INSTANCE_SIZE = 128 << 10  # bytes: its files and what they are about
INSTANCE_NS = 10_000_000  # some ten thousand files are made, or removed


@dataclass(eq=False)
class Instance:
    """One trace array with its tracers and files."""

    array: TraceArray
    function: FunctionTracer
    files: ArrayFiles
    events: EventFiles
    follower: TaskFollower


@dataclass(frozen=True)
class Parts:
    """What the files are about."""

    recorder: Recorder
    events: EventRegistry
    kprobes: Kprobes
    probe_events: ProbeEvents
    functions: Functions
    triggers: TriggerFiles
    hists: HistTriggers
    synth: SynthEvents
    graph: GraphTracer
    stack: StackTracer
    make_function: Callable[[TraceArray], FunctionTracer]
    make_graph: Callable[[TraceArray, FunctionTracer], None]
    make_follower: Callable[[TraceArray, FunctionTracer], TaskFollower]


class TraceFs:
    """Builds the tree of a machine.  `root` is tracefs; `kprobes` goes to debugfs/kprobes."""

    def __init__(self, parts: Parts, function: FunctionTracer) -> None:
        self.parts = parts
        self.board = parts.recorder.board
        self.array = parts.recorder.array
        self.events = parts.events
        self.filter_hook: FilterHook | None = None  # of the floor above: `bpf-N` in a filter file (3.20-rfc)
        self.modes = Modes(self.board.features)
        for row in FTRACE_ENTRIES:
            if parts.recorder.host.version.at_least(row[3]):
                self.events.internal["ftrace", row[0]] = FtraceEntry(parts.recorder, row)
        self.top = self.instance(self.array, function)
        entry = self.events.internal["ftrace", "function"]
        assert isinstance(entry, FtraceEntry)
        entry.on_perf = PerfFunctions(function, entry).set
        self.instances: dict[str, tuple[Instance, Directory]] = {}
        self.generation = 0
        self.root = FixedDirectory("tracing", 0o700, self._top())
        self.kprobes = FixedDirectory("kprobes", 0o755, self._kprobes(parts.kprobes))

    def instance(self, array: TraceArray, function: FunctionTracer) -> Instance:
        """The files of a trace array."""
        parts = self.parts
        files = ArrayFiles(array, self.modes, function, self.events.internal["ftrace", "print"])
        events = EventFiles(array, self.modes, self.events, parts.triggers, parts.hists, lambda: self.filter_hook)
        return Instance(array, function, files, events, parts.make_follower(array, function))

    # Top directory

    def _top(self) -> list[Node]:
        array, features, parts, top = self.array, self.board.features, self.parts, self.top
        rw, ro = self.modes.rw, self.modes.ro
        probes, synth = parts.probe_events, parts.synth
        nodes: list[Node] = [
            *top.files.nodes(),
            *top.events.nodes(),
            File("README", ro, lambda: recorded_text("readme", self.board.host.version) or README),
            File("available_events", ro, self.available_events),
            File("available_filter_functions", ro, self.filter_functions),
            File("enabled_functions", ro, top.function.enabled_text),
            InstancesDirectory("instances", self.modes.dir, self),
            File("kprobe_events", rw, lambda: probes.text("kprobe"), lambda data: probes.write(data, "kprobe"),
                 lambda: probes.release_all("kprobe")),
            File("kprobe_profile", ro, lambda: probes.profile("kprobe")),
            File("printk_formats", ro, self.constant_strings),
            File("saved_cmdlines", ro, self.board.tasks.lines),
            File("saved_cmdlines_size", rw, lambda: f"{self.board.tasks.size}\n", self.set_cmdlines_size),
            File("tracing_thresh", rw, lambda: f"{array.threshold_us}\n", self.set_threshold),
            File("uprobe_events", rw, lambda: probes.text("uprobe"), lambda data: probes.write(data, "uprobe"),
                 lambda: probes.release_all("uprobe")),
            File("uprobe_profile", ro, lambda: probes.profile("uprobe")),
            *self._tracer_files(),
        ]  # fmt: skip
        if features.dynamic_events:
            nodes.append(
                File("dynamic_events", rw, lambda: probes.text(None), lambda data: probes.write(data, None),
                     lambda: probes.release_all(None))
            )  # fmt: skip
            nodes.append(File("saved_tgids", ro, self.saved_tgids))
        if features.synthetic_events:
            nodes.append(
                File("synthetic_events", rw, synth.text, lambda data: probes.lines(data, synth.run), synth.release_all)
            )
        if features.function_addresses:
            nodes.append(File("available_filter_functions_addrs", ro, self.filter_functions_addrs))
        if features.touched_functions:
            nodes.append(File("touched_functions", ro, top.function.touched_text))
        return sorted(nodes, key=lambda node: node.name)

    def _tracer_files(self) -> list[Node]:
        """Of function_graph and the stack tracer."""
        graph, stack, rw, ro = self.parts.graph, self.parts.stack, self.modes.rw, self.modes.ro

        def set_depth(data: bytes) -> None:
            graph.max_depth = number(data) & 0xFFFFFFFF

        files = self.top.files
        return [
            File("dyn_ftrace_total_info", ro, self.total_info),
            files.set_file("set_graph_function", graph.chosen),
            files.set_file("set_graph_notrace", graph.silent),
            File("max_graph_depth", rw, lambda: f"{sign_extend(graph.max_depth, 32)}\n", set_depth),
            File("stack_max_size", rw, lambda: f"{stack.max_size}\n", lambda data: stack.set_max_size(number(data))),
            File("stack_trace", ro, stack.text),
            files.set_file("stack_trace_filter", stack.chosen),
        ]

    def total_info(self) -> str:
        """dyn_ftrace_total_info: how many functions there are, and the pages of their records."""
        count = len(self.parts.functions.names())
        return f"{count} pages:{-(-count // 256)} groups: {3 if count > 256 else 1}\n"

    def available_events(self) -> str:
        """The file available_events: `system:event` a line."""
        return "".join(f"{event.system}:{event.name}\n" for event in self.top.events.newest_first())

    def constant_strings(self) -> str:
        """printk_formats: where the strings are that records point to."""
        host = self.board.host
        known = recorded_text("strings", host.version)
        if known is None:
            rows = list(self.board.addresses.strings.items())
        else:
            rows = [(host.constant_string(text), text) for text in known.splitlines()]
        return "".join(f'0x{addr:x} : "{text}"\n' for addr, text in rows)

    def filter_functions(self) -> str:
        """The functions of the kernel's text, in order of address, but for those in which no probe may be."""
        return "".join(f"{name}\n" for name in self.parts.functions.names())

    def filter_functions_addrs(self) -> str:
        """Those of them that this machine has, with their addresses."""
        own = self.parts.functions.own()
        return "".join(f"{own[name]:x} {name}\n" for name in self.parts.functions.names() if name in own)

    def set_threshold(self, data: bytes) -> None:
        """A number of us to tracing_thresh.  EINVAL."""
        self.array.threshold_us = number(data)

    def saved_tgids(self) -> str:
        """The file saved_tgids: `pid tgid` a line."""
        return "".join(f"{pid} {tgid}\n" for pid, tgid in sorted(self.board.tasks.tgids.items()) if tgid)

    def set_cmdlines_size(self, data: bytes) -> None:
        """A number to saved_cmdlines_size.  EINVAL."""
        self.board.tasks.resize(number(data))

    # instances/

    def make_instance(self, name: str) -> None:
        """mkdir: a trace array with its files.  EEXIST, ENOMEM."""
        if name in self.instances:
            raise KernelError(EEXIST, name)
        self.board.host.mem.charge(INSTANCE_SIZE)
        self.board.host.spend(INSTANCE_NS)
        array = TraceArray(self.board, name)
        array.cpumask = self.array.cpumask
        function = self.parts.make_function(array)
        self.parts.make_graph(array, function)
        instance = self.instance(array, function)
        nodes = [*instance.files.nodes(), *instance.events.nodes()]
        directory = FixedDirectory(name, self.modes.dir, sorted(nodes, key=lambda node: node.name))
        self.instances[name] = (instance, directory)
        self.generation += 1

    def remove_instance(self, name: str) -> None:
        """rmdir.  ENOENT, EBUSY while one of its files is open or others refer to its variables."""
        found = self.instances.get(name)
        if found is None:
            raise KernelError(ENOENT, name)
        instance, directory = found
        if instance.array.opened:
            raise KernelError(EBUSY, f"{name} is in use")
        self.board.host.spend(INSTANCE_NS)
        instance.follower.release()
        instance.array.set_tracer("nop")
        if self.board.printk_holder is instance.array.options:
            instance.array.choose_printk(False)
        instance.function.release()
        instance.events.release()
        del self.instances[name]
        directory.remove()
        self.board.host.mem.charge(-INSTANCE_SIZE)
        self.generation += 1

    # debugfs kprobes/

    def _kprobes(self, kprobes: Kprobes) -> list[Node]:
        def enable(data: bytes) -> None:
            text = word(data)
            if text[:1] not in ("0", "1", "n", "N", "y", "Y"):
                raise KernelError(EINVAL, "y or n")
            kprobes.set_all_armed(text[:1] in "1yY")

        return [
            File("blacklist", 0o400, lambda: "".join(kprobes.blacklist_lines())),
            File("enabled", 0o600, lambda: f"{kprobes.all_armed:d}\n", enable),
            File("list", 0o400, lambda: "".join(kprobes.list_lines())),
        ]


class InstancesDirectory(Directory):
    """instances/: mkdir makes a trace array, rmdir removes it."""

    def __init__(self, name: str, mode: int, tree: TraceFs) -> None:
        super().__init__(name, mode, self.directories, lambda: tree.generation)
        self.tree = tree

    def directories(self) -> list[Node]:
        """One for each."""
        return [directory for _, directory in self.tree.instances.values()]

    def mkdir(self, name: str) -> None:
        """EEXIST."""
        self.tree.make_instance(name)

    def rmdir(self, name: str) -> None:
        """ENOENT, EBUSY."""
        self.tree.remove_instance(name)
