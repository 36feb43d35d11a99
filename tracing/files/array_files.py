"""The files that each trace array has: the machine's own, and those below instances/.  trace.c:init_tracer_tracefs()."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EBUSY, EINVAL, ENOMEM, EPERM
from arch.abi.limits import PAGE_SIZE
from arch.cstring import kstrto
from arch.errors import KernelError
from tracing.buffer.pipe import TracePipe
from tracing.buffer.tasks import TaskSet
from tracing.buffer.trace import TOP_LEVEL_OPTIONS, TraceArray
from tracing.buffer.tracer import Tracer
from tracing.features import Features
from tracing.files.markers import Markers
from tracing.files.nodes import File, FixedDirectory, Node, number, word
from tracing.files.opened import FreeBuffer, FunctionSetFile, MaskFile, PipeFile, SnapshotFile, StatsFile, TraceFile
from tracing.files.raw_pages import RawFile
from tracing.record.event import TraceEvent
from tracing.text.masks import mask_text, parse_mask
from tracing.tracers.function import NO_PID, FunctionTracer, parse_pids, pids_text
from tracing.tracers.functions import FunctionSet

EXPANDED_KB = 1408  # trace_buf_size
SUBBUF_ORDER_MAX = 7
SYSCALL_USER_MAX = 165  # SYSCALL_FAULT_USER_MAX
MAIN_HELP = """# echo 0 > snapshot : Clears and frees snapshot buffer
# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.
#                      Takes a snapshot of the main buffer.
# echo 2 > snapshot : Clears snapshot buffer (but does not allocate or free)
#                      (Doesn't have to be '2' works with any number that
#                       is not a '0' or '1')
"""
SWAP_HELP = """# echo 0 > snapshot : Invalid for per_cpu snapshot file.
# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.
#                      Takes a snapshot of the main buffer for this cpu.
# echo 2 > snapshot : Clears this cpu's snapshot buffer (but does not allocate)
#                      (Doesn't have to be '2' works with any number that
#                       is not a '0' or '1')
"""
CPU_HELP = """# echo 0 > snapshot : Invalid for per_cpu snapshot file.
# echo 1 > snapshot : Not supported with this kernel.
#                     Must use main snapshot file to allocate.
# echo 2 > snapshot : Clears this cpu's snapshot buffer (but does not allocate)
#                      (Doesn't have to be '2' works with any number that
#                       is not a '0' or '1')
"""


class Modes:
    """Permissions by version."""

    def __init__(self, features: Features) -> None:
        self.rw, self.ro = (0o640, 0o440) if features.tracefs_files_0640 else (0o644, 0o444)
        self.wo, self.free = (0o220, 0o200) if features.tracefs_directories_0750 else (0o222, 0o222)
        self.part = self.rw if features.tracefs_files_0640 else self.ro  # of what began without a way to write it
        self.dir = 0o750 if features.tracefs_directories_0750 else 0o755
        self.event_dir = 0o755 if features.eventfs else self.dir


class ArrayFiles:
    """Makes the nodes of one trace array; events/ is event_files.py's."""

    def __init__(self, array: TraceArray, modes: Modes, function: FunctionTracer, marker_event: TraceEvent) -> None:
        self.array = array
        self.board = array.board
        self.modes = modes
        self.function = function
        self.markers = Markers(array, marker_event)

    def file(
        self, name: str, mode: int, show: Callable[[], str] | None = None,
        store: Callable[[bytes], object] | None = None, truncate: Callable[[], object] | None = None,
    ) -> File:  # fmt: skip
        """A file that keeps its trace array in use while it is open."""
        return File(name, mode, show, store, truncate, users=self.array)

    def nodes(self) -> list[Node]:
        """All but events/."""
        array, features = self.array, self.board.features
        rw, ro = self.modes.rw, self.modes.ro
        nodes: list[Node] = [
            self.file("available_tracers", ro, self.tracers_text),
            self.file("buffer_size_kb", rw, lambda: self.buffer_size(None), lambda data: self.set_buffer_size(data, None)),
            self.file("buffer_total_size_kb", ro, self.total_size),
            self.file("current_tracer", rw, lambda: f"{array.tracer}\n", self.set_tracer),
            File("free_buffer", self.modes.free, None, lambda data: None,
                 opener=lambda file, flags: FreeBuffer(file, flags, array), users=array),
            FixedDirectory("options", self.modes.dir, self.options()),
            FixedDirectory("per_cpu", self.modes.dir, [self.cpu(cpu) for cpu in range(array.host.nr_cpus)]),
            self.trace(None),
            self.file("trace_clock", rw, array.clock_text, lambda data: array.set_clock(word(data))),
            *self.markers.nodes(self.modes.wo),
            self.file("trace_options", rw, array.options_text, lambda data: array.set_option(word(data))),
            self.pipe(None),
            File("tracing_cpumask", rw, self.cpumask_text, self.set_cpumask, opener=MaskFile, users=self.array),
            self.file("tracing_on", rw, lambda: f"{array.buffer.recording:d}\n", self.set_recording),
            *self.function_files(),
        ]  # fmt: skip
        if features.snapshots:
            nodes.append(self.snapshot(None))
        if features.snapshots and not features.latency_on_demand:
            nodes.append(self.file("tracing_max_latency", rw, lambda: f"{array.max_latency_us}\n", self.set_latency))
        if features.subbuf_size:
            nodes.append(self.file("buffer_subbuf_size_kb", rw, self.subbuf_text, self.set_subbuf))
        if features.syscall_user_data:
            nodes.append(
                self.file("syscall_user_buf_size", rw, lambda: f"{array.syscall_user_buf_size}\n", self.set_user_buf)
            )
        if features.error_log:
            nodes.append(self.file("error_log", rw, array.errors.text, lambda data: None, array.errors.clear))
            nodes.append(self.file("timestamp_mode", ro, lambda: "[delta] absolute\n"))
            nodes.append(
                self.file("buffer_percent", self.modes.part, lambda: f"{array.buffer_percent}\n", self.set_percent)
            )
        return nodes

    # Sets of functions and of tasks

    def function_files(self) -> list[Node]:
        """set_ftrace_*, set_event_*pid."""
        array, function = self.array, self.function

        def event_pids(name: str, tasks: TaskSet) -> File:
            return self.pids_file(name, "", tasks, array.pids_changed, array.expand)

        def function_pids(name: str, tasks: TaskSet) -> File:
            return self.pids_file(name, NO_PID, tasks, lambda: None)

        nodes: list[Node] = [
            self.set_file("set_ftrace_filter", function.chosen, function.commands.run, function.filter_text,
                          lambda: function.commands.modules.waiting.clear()),
            self.set_file("set_ftrace_notrace", function.forbidden, function.commands.forbidden_modules.run,
                          function.notrace_text, lambda: function.commands.forbidden_modules.waiting.clear()),
            function_pids("set_ftrace_pid", function.pids),
            event_pids("set_event_pid", array.pids),
        ]  # fmt: skip
        if self.board.features.notrace_pids:
            nodes.append(function_pids("set_ftrace_notrace_pid", function.no_pids))
            nodes.append(event_pids("set_event_notrace_pid", array.no_pids))
        return nodes

    def pids_file(
        self,
        name: str,
        nothing: str,
        tasks: TaskSet,
        changed: Callable[[], None],
        first: Callable[[], None] | None = None,
    ) -> File:
        """A set of tasks; a write adds to it.  `first`: what any write does."""

        def write(data: bytes) -> None:
            if first is not None:
                first()
            store(parse_pids(data, tasks, EPERM if self.board.features.pid_chunks else EINVAL))

        def store(pids: set[int]) -> None:
            tasks.replace(pids)
            changed()

        return self.file(
            name, self.modes.rw, lambda: pids_text(tasks, nothing), write,
            lambda: store(set()),
        )  # fmt: skip

    def set_file(
        self, name: str, chosen: FunctionSet, command: Callable[[str, set[str]], None] | None = None,
        text: Callable[[], str] | None = None, truncate: Callable[[], object] | None = None,
    ) -> File:  # fmt: skip
        """A set of functions."""
        return File(name, self.modes.rw, text or chosen.text, None, truncate,
                    lambda file, flags: FunctionSetFile(file, flags, chosen, command), self.array)  # fmt: skip

    # Sizes

    def buffer_size(self, cpu: int | None) -> str:
        """buffer_size_kb of one CPU, or of all (X where they differ) and what they grow to at the first use."""
        sizes = self.array.buffer.size_kb
        if cpu is not None:
            return f"{sizes[cpu]}\n"
        later = "" if self.array.expanded else f" (expanded: {EXPANDED_KB})"
        return f"{sizes[0]}{later}\n" if len(set(sizes)) == 1 else "X\n"

    def total_size(self) -> str:
        """buffer_total_size_kb: the sum over the CPUs."""
        sizes = self.array.buffer.size_kb
        later = "" if self.array.expanded else f" (expanded: {EXPANDED_KB * len(sizes)})"
        return f"{sum(sizes)}{later}\n"

    def set_buffer_size(self, data: bytes, cpu: int | None) -> None:
        """A number of KiB to buffer_size_kb.  EINVAL; ENOMEM also while somebody reads `trace`."""
        size = number(data)
        if not size:
            raise KernelError(EINVAL, "a buffer has a size")
        if size > 1 << 22:
            raise KernelError(ENOMEM, "that much memory is not there")
        self.array.expanded = True
        if self.array.kept_from(size, cpu):
            raise KernelError(ENOMEM, "it is being read")
        self.array.buffer.resize(size, cpu)
        if self.array.snapshot is not None:
            self.array.snapshot.resize(size, cpu)

    def subbuf_text(self) -> str:
        """buffer_subbuf_size_kb."""
        return f"{self.array.buffer.subbuf_size >> 10}\n"

    def set_subbuf(self, data: bytes) -> None:
        """A number of KiB to buffer_subbuf_size_kb, rounded up to a power of two pages, 128 at most.  EINVAL."""
        pages = -(-kstrto(word(data), 10, 64, False) * 1024 // PAGE_SIZE)
        order = (pages - 1).bit_length()
        if not pages or order > SUBBUF_ORDER_MAX:
            raise KernelError(EINVAL, "one to 128 pages")
        array = self.array
        if order == array.buffer.subbuf_order:
            return
        array.buffer.set_subbuf_order(order)
        if array.snapshot is not None:
            array.snapshot.set_subbuf_order(order)

    def set_user_buf(self, data: bytes) -> None:
        """A number of bytes to syscall_user_buf_size; more than there are is all of them.  EINVAL."""
        self.array.syscall_user_buf_size = min(number(data), SYSCALL_USER_MAX)

    def set_percent(self, data: bytes) -> None:
        """buffer_percent: when a reader of trace_pipe_raw wakes.  EINVAL."""
        percent = number(data)
        if percent > 100:
            raise KernelError(EINVAL, "at most 100")
        self.array.buffer_percent = percent

    def set_latency(self, data: bytes) -> None:
        """A number of us to tracing_max_latency.  EINVAL."""
        self.array.max_latency_us = number(data)

    # What records, and how

    def tracers_text(self) -> str:
        """available_tracers, newest first."""
        return " ".join(reversed(self.array.tracers)) + "\n"

    def set_tracer(self, data: bytes) -> None:
        """A name to current_tracer.  EINVAL."""
        self.array.expand_itself()
        self.array.set_tracer(word(data[:100]))

    def cpumask_text(self) -> str:
        """The mask as %*pb prints it."""
        return mask_text(self.array.cpumask, self.array.host.nr_cpus) + "\n"

    def set_cpumask(self, data: bytes) -> None:
        """tracing_cpumask_write().  EINVAL, EOVERFLOW."""
        if not data:
            raise KernelError(EINVAL, "no mask")
        self.array.cpumask = parse_mask(
            data.replace(b"\0", b"\n").split(b"\n", 1)[0].decode("latin-1"), self.array.host.nr_cpus
        )

    def set_recording(self, data: bytes) -> None:
        """0 or 1 to tracing_on.  EINVAL."""
        on = bool(number(data))
        self.array.buffer.recording = on
        if not on:
            self.array.wake_all_readers()

    def options(self) -> list[Node]:
        """options/: the array's flags, and those of every tracer that it may have."""
        array = self.array
        hidden = TOP_LEVEL_OPTIONS if array.name else ()
        nodes: list[Node] = [self.flag(name) for name in array.options if name not in hidden]
        for tracer in array.tracers.values():
            nodes += [self.tracer_option(tracer, name) for name in tracer.options]
        return nodes

    def flag(self, name: str) -> File:
        """One flag."""
        array = self.array
        return self.file(f"{name}", self.modes.rw, lambda: f"{array.options[name]:d}\n",
                         lambda data: array.set_flag(name, zero_or_one(data)))  # fmt: skip

    def tracer_option(self, tracer: Tracer, name: str) -> File:
        """One option of a tracer."""

        def store(data: bytes) -> None:
            on = zero_or_one(data)
            if tracer.options[name] != on:
                tracer.set_option(self.array, name, on)

        return self.file(name, self.modes.rw, lambda: f"{tracer.options[name]:d}\n", store)

    # trace, trace_pipe, snapshot, per CPU

    def trace(self, cpu: int | None) -> File:
        """The text of the buffer."""
        array = self.array
        return File("trace", self.modes.rw, lambda: "".join(array.render(cpu)), lambda data: None,
                    lambda: array.reset(cpu), lambda file, flags: TraceFile(file, flags, array), array)  # fmt: skip

    def pipe(self, cpu: int | None) -> File:
        """The same, consumed."""
        array = self.array
        return File("trace_pipe", self.modes.ro, users=array,
                    opener=lambda file, flags: PipeFile(file, flags, TracePipe(array, cpu)))  # fmt: skip

    def snapshot(self, cpu: int | None) -> File:
        """The other buffer."""
        array = self.array
        return File("snapshot", self.modes.rw, lambda: self.snapshot_text(cpu), lambda data: self.set_snapshot(data, cpu), None,
                    lambda file, flags: SnapshotFile(file, flags, array), array)  # fmt: skip

    def snapshot_text(self, cpu: int | None) -> str:
        """Its text, or how to use the file."""
        array = self.array
        if array.snapshot is not None and not array.snapshot.empty(cpu):
            return "".join(array.render_buffer(array.snapshot, cpu))
        state = "allocated" if array.snapshot is not None else "freed"
        help_text = MAIN_HELP if cpu is None else CPU_HELP
        if cpu is not None and self.board.features.one_cpu_snapshots:
            help_text = SWAP_HELP
        return f"# tracer: {array.tracer}\n#\n#\n# * Snapshot is {state} *\n#\n# Snapshot commands:\n{help_text}"

    def set_snapshot(self, data: bytes, cpu: int | None) -> None:
        """tracing_snapshot_write().  EINVAL, EBUSY while a histogram takes the snapshots."""
        array = self.array
        array.expand()
        value = number(data)
        if array.condition is not None:
            raise KernelError(EBUSY, "a histogram takes the snapshots")
        if cpu is not None and value <= int(not self.board.features.one_cpu_snapshots):
            raise KernelError(EINVAL, "not of one CPU")
        if value == 0:
            array.snapshot = None
        elif value == 1:
            array.allocate_snapshot()
            array.swap(cpu)
        elif array.snapshot is not None:
            array.snapshot.reset(cpu)

    def cpu(self, cpu: int) -> Node:
        """per_cpu/cpuN."""
        array, ro = self.array, self.modes.ro

        def raw(name: str, snapshot: bool) -> File:
            return File(name, ro, users=array,
                        opener=lambda file, flags: RawFile(file, flags, array, cpu, snapshot))  # fmt: skip

        nodes: list[Node] = [
            self.file("buffer_size_kb", self.modes.part, lambda: self.buffer_size(cpu),
                      lambda data: self.set_buffer_size(data, cpu)),
            File("stats", ro, users=array, opener=lambda file, flags: StatsFile(file, flags, array, cpu)),
            self.trace(cpu),
            self.pipe(cpu),
            raw("trace_pipe_raw", False),
        ]  # fmt: skip
        if self.board.features.snapshots:
            nodes += [self.snapshot(cpu), raw("snapshot_raw", True)]
        return FixedDirectory(f"cpu{cpu}", self.modes.dir, nodes)


def zero_or_one(data: bytes) -> bool:
    """What an options file takes.  EINVAL."""
    value = number(data)
    if value > 1:
        raise KernelError(EINVAL, "0 or 1")
    return bool(value)
