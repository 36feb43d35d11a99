"""`Tracing`: all of tracing for one machine, put together.

The kernel makes one with its TraceHost, fires tracepoints through `tracepoints`, arms probes through `kprobes` and
`uprobes`, hands `tracefs` to its file system and `perf` to perf_event_open(2).  The floor above (BPF) attaches
callbacks: `event.add_bpf(...)`, `tracepoint.add(...)`, `filter_hook`, `perf.set_bpf_hook`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from arch.datamodel import CHAR_IS_UNSIGNED
from tracing import features as feature_table
from tracing.buffer.trace import IP_TRACE_PRINTK, TRACE_BPRINT, TraceArray
from tracing.events.syscalls import SyscallTable
from tracing.face import TRACE_FLAG_IRQS_OFF, TraceHost, UserSpaces
from tracing.files.tracefs import TraceFs
from tracing.perf.core import PerfCore
from tracing.probes.kprobes import Kprobes
from tracing.probes.probe_events import ProbeEvents
from tracing.probes.uprobes import Uprobes
from tracing.record.assign import Reader
from tracing.record.event import FIRST_TYPE, FIRST_TYPE_OLD, EventRegistry, TraceEvent, print_context_of
from tracing.record.fields import BASE_TYPES, Field
from tracing.record.tracepoints import Tracepoint, install
from tracing.tracers.function import FunctionTracer

SCRATCH_SIZE = 8192  # PERF_MAX_TRACE_SIZE
ERROR_LOG_ENTRIES = 8

# (event, text without blanks, token of the open file) -> a program object with run_args(args), run_regs(regs), release()
FilterHook = Callable[[TraceEvent, str, Any], Any]


class Tracing:
    """The tracing of one machine."""

    def __init__(self, host: TraceHost, spaces: UserSpaces | None = None) -> None:
        self.host = host
        self.features = feature_table.features(host.version, host.profile)
        self.release = getattr(host, "release", ".".join(map(str, host.version)))
        model = host.arch.model
        self.byteorder = model.byteorder
        self.word: int = model.word
        self.char_signed = host.arch.name not in CHAR_IS_UNSIGNED
        self._header = struct.Struct(("<" if self.byteorder == "little" else ">") + "HBBi")
        self.reader = Reader(host)
        self.print_context = print_context_of(self)
        self.events = EventRegistry(FIRST_TYPE if self.features.event_ids_from_20 else FIRST_TYPE_OLD)
        self.trace_array = TraceArray(self)
        self.pipe_waiters = False
        self.error_log: list[tuple[int, str, str, str, int]] = []  # time, place, command, message, position
        self.bpf_prog_active = [0] * host.nr_cpus  # shared with bpf(2), which raises it around map updates
        self.bpf_event: list[TraceEvent | None] = [None] * host.nr_cpus  # whose programs run
        self.bpf_misses = 0
        self.filter_hook: FilterHook | None = None
        self._scratch: list[int] = []
        self._scratch_depth = 0
        self.tracepoints: dict[str, Tracepoint] = install(self)
        self.syscalls = SyscallTable(self)
        self.kprobes = Kprobes(self)
        self.uprobes = Uprobes(self, spaces)
        self.probe_events = ProbeEvents(self)
        self.perf = PerfCore(self)
        self.function = FunctionTracer(self)
        self.event_pids: set[int] = set()  # set_event_pid
        if self.features.bpf_trace_event:
            self.bpf_trace_event = BpfTracePrintk(self)
            self.events.add(self.bpf_trace_event)
        self.tracefs = TraceFs(self)

    # For the kernel

    def trace(self, name: str, *args: int) -> None:
        """Fire a tracepoint by name; one this version lacks is nothing."""
        tracepoint = self.tracepoints.get(name)
        if tracepoint is not None and tracepoint.active:
            tracepoint.fire(*args)

    def declare_syscalls(
        self, calls: Sequence[tuple[str, Sequence[tuple[str, str]]]], numbers: dict[str, int] | None = None
    ) -> None:
        """At boot: (name, [(C type, argument)]) of every system call; numbers default to the architecture's."""
        self.syscalls.declare(calls, dict(numbers if numbers is not None else self.host.arch.syscalls))

    def task_exit(self, task: Any) -> None:
        """A task is gone: forget its return-probe instances."""
        self.kprobes.task_exit(task)
        self.uprobes.task_exit(task)
        self.perf.task_exit(task)

    # Records

    def pack_header(self, kind: int, flags: int, preempt: int, pid: int) -> bytes:
        return self._header.pack(kind & 0xFFFF, flags & 0xFF, preempt, pid)

    def header_of(self, kind: int, flags: int = 0, preempt: int = 0) -> bytes:
        host = self.host
        preempt += host.preempt_count()
        return self.pack_header(kind, host.irq_flags() | flags, preempt & 0xFF, host.current_pid())

    def commit(self, event: TraceEvent, record: bytes, regs: int = 0) -> None:
        """trace_event_buffer_commit(): triggers, filter, buffer.  `regs` is a probe's pt_regs, for stack traces."""
        if event.triggers:
            for trigger in tuple(event.triggers):
                trigger.run(record, regs)
        if self.event_pids and self.host.current_pid() not in self.event_pids:
            return
        if event.filter is not None and not event.filter.match(record):
            return
        if event.enabled:
            self.trace_array.write_event(record)
            if self.trace_array.options["stacktrace"]:
                self.dump_stack(regs)

    def dump_stack(self, regs: int = 0) -> None:
        """A kernel stack trace into the buffer, from a probe's pt_regs or from here, if the host can walk the stack."""
        addresses: list[int] = []
        if regs and hasattr(self.host, "callchain"):
            addresses = list(self.host.callchain(regs)[0])
        elif hasattr(self.host, "kernel_stack"):
            addresses = list(self.host.kernel_stack())
        self.trace_array.stack_entry(addresses)

    def size_of_type(self, ctype: str) -> int:
        """Size of a scalar C type as tracepoint prototypes name them; 0 for what is no scalar."""
        plain = ctype.replace("const ", "").strip()
        if plain.endswith("*"):
            return self.word
        if plain.startswith("enum "):
            return 4
        return (BASE_TYPES[plain][0] or self.word) if plain in BASE_TYPES else {"blk_status_t": 1}.get(plain, 8)

    # perf and programs

    def perf_wants(self, event: TraceEvent) -> bool:
        return bool(event.perf_events)

    def perf_deliver(self, event: TraceEvent, record: bytes, regs: int = 0, ip: int = 0) -> None:
        self.perf.tracepoint_event(event, record, regs, ip)

    def run_bpf_on_record(self, event: TraceEvent, record: bytes) -> int:
        """Programs of a tracepoint see the record with its first eight bytes replaced by the pt_regs pointer."""
        regs = self.caller_regs()
        head = regs.to_bytes(self.word, self.byteorder).ljust(8, b"\0")
        return self.run_bpf_on_context(event, head + record[8:])

    def run_bpf_on_context(self, event: TraceEvent, context: bytes) -> int:
        """Run the event's programs on these bytes, which live in kernel memory meanwhile."""
        depth = self._scratch_depth
        if depth == len(self._scratch):
            self._scratch.append(self.host.mem.alloc(SCRATCH_SIZE))
        addr = self._scratch[depth]
        self.host.mem.write(addr, context + bytes(-len(context) % 8))
        self._scratch_depth = depth + 1
        try:
            return event.run_bpf(addr)
        finally:
            self._scratch_depth = depth

    def caller_regs(self) -> int:
        """perf_fetch_caller_regs(): pt_regs of the place that fired, 0 if the host keeps none."""
        fetch = getattr(self.host, "caller_regs", None)
        return fetch() if fetch is not None else 0

    # Messages

    def bpf_trace_printk(self, text: str) -> None:
        """The sink of bpf_trace_printk(): an event since 5.9, a plain print entry before."""
        if self.features.bpf_trace_event:
            self.bpf_trace_event.trace(text)
        elif self.trace_array.options["trace_printk"]:
            self.trace_array.remember_task()  # recording began when the program was loaded
            self.trace_array.print_entry(IP_TRACE_PRINTK, text, TRACE_BPRINT, *self.printk_context())

    def printk_context(self) -> tuple[int, int]:
        """Flags and preempt count of bpf_trace_printk's line, from who runs the program and what the helper takes."""
        event, features = self.bpf_event[self.host.cpu_id()], self.features
        flags, depth = 0, 0
        if event is not None:
            flags, depth = event.held_flags, event.held_depth + 1
            held = next((getattr(probe, "held_flags", 0) for probe in getattr(event, "probes", ())), 0)
            if held:  # a kprobe's handler before 5.10: interrupts off, and one preempt_disable()
                flags, depth = flags | held, depth + 1
        if features.bpf_trace_event:
            depth += 1  # the helper's buffers
            if not features.printk_lock_gone:
                flags, depth = flags | TRACE_FLAG_IRQS_OFF, depth + 1
        return flags, (depth | 0x10) if features.migrate_disable_column else depth

    def log_error(self, place: str, command: str, message: str, position: int) -> None:
        """tracing_log_err(): the last eight errors with their caret."""
        if self.features.error_log:
            self.error_log.append((self.host.now_ns(), place, command, message, position))
            del self.error_log[:-ERROR_LOG_ENTRIES]

    def error_log_text(self) -> str:
        out = []
        for ts, place, command, message, position in self.error_log:
            us = ts // 1000
            out.append(f"[{us // 1_000_000:5d}.{us % 1_000_000:06d}] {place}: error: {message}\n")
            out.append(f"  Command: {command}\n" + " " * (len("  Command: ") + position) + "^\n")
        return "".join(out)


class BpfTracePrintk(TraceEvent):
    """bpf_trace:bpf_trace_printk, on while a loaded program may print.  kernel/trace/bpf_trace.h."""

    def __init__(self, tracing: Tracing) -> None:
        field = Field("__data_loc char[]", "bpf_string", 8, 4, tracing.char_signed, 2)
        super().__init__(tracing, "bpf_trace", "bpf_trace_printk", [field], '"%s", __get_str(bpf_string)')

    def trace(self, text: str) -> None:
        if not self.armed_for_ftrace:
            return
        data = text.encode("latin-1", "replace") + b"\0"
        loc = (len(data) << 16 | 12).to_bytes(4, self.tracing.byteorder)
        flags, preempt = self.tracing.printk_context()
        self.tracing.commit(self, self.header(preempt, flags) + loc + data)
