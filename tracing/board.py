"""What all parts of tracing know of their machine: facts that never change, and how addresses print.

A part takes the `Board` and, beside it, exactly the other parts that it works with; `tracing/system.py` makes them all.
The board itself knows no part: what an entry of the trace looks like, for one, whoever makes such entries says in
`lines` (register_trace_event() of kernel/trace/trace_output.c).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping

from arch.abi.errno import EINVAL
from arch.abi.limits import PAGE_SIZE, TASK_COMM_LEN
from arch.abi.time import TICK_NSEC
from arch.abi.version import KernelVersion, newest
from arch.errors import KernelError
from tracing import features as feature_table
from tracing.face import TraceHost
from tracing.text.addresses import Addresses

ERROR_LOG_ENTRIES = 8
PID_MAX_DEFAULT = 0x8000
PID_MASK = PID_MAX_DEFAULT - 1
SAVED_CMDLINES_DEFAULT = 128
SAVED_CMDLINES_BUFFER = 131_096  # bytes: struct saved_cmdlines_buffer of 64-bit kernels, with a number for each pid

# name, default, first version; kernel/trace/trace.h:TRACE_FLAGS and the order of trace_options
OPTIONS: tuple[tuple[str, bool, str | None], ...] = (
    ("print-parent", True, None), ("sym-offset", False, None), ("sym-addr", False, None), ("verbose", False, None),
    ("raw", False, None), ("hex", False, None), ("bin", False, None), ("block", False, None), ("fields", False, "6.4"),
    ("trace_printk", True, None), ("annotate", True, None), ("userstacktrace", False, None),
    ("sym-userobj", False, None), ("printk-msg-only", False, None), ("context-info", True, None),
    ("latency-format", False, None), ("record-cmd", True, None), ("record-tgid", False, None),
    ("overwrite", True, None), ("disable_on_free", False, None), ("irq-info", True, None), ("markers", True, None),
    ("event-fork", False, None), ("trace_printk_dest", True, "6.12"), ("copy_trace_marker", True, "6.16"),
    ("pause-on-trace", False, None), ("hash-ptr", True, "5.12"), ("bitmask-list", False, "7.0"),
    ("function-trace", True, None), ("function-fork", False, None), ("display-graph", False, None),
    ("stacktrace", False, None),
)  # fmt: skip
OPTIONS_4_1: tuple[tuple[str, bool], ...] = (
    ("print-parent", True), ("sym-offset", False), ("sym-addr", False), ("verbose", False), ("raw", False),
    ("hex", False), ("bin", False), ("block", False), ("stacktrace", False), ("trace_printk", True),
    ("annotate", True), ("userstacktrace", False), ("sym-userobj", False), ("printk-msg-only", False),
    ("context-info", True), ("latency-format", False), ("sleep-time", True), ("graph-time", True),
    ("record-cmd", True), ("overwrite", True), ("disable_on_free", False), ("irq-info", True), ("markers", True),
    ("function-trace", True),
)  # fmt: skip

Line = Callable[[bytes], str]  # an entry's bytes -> what `trace` prints of it behind the columns, with the newline


def options_of(version: KernelVersion) -> dict[str, bool]:
    """The trace options of a version, with their values at boot."""
    if version.before("5.0"):
        return dict(OPTIONS_4_1)
    return {name: value for name, value, since in OPTIONS if version.at_least(since)}


class Board:
    """One machine as its tracing knows it."""

    def __init__(self, host: TraceHost) -> None:
        self.host = host
        self.features = feature_table.features(host.version)
        self.user_stack_type, self.bputs_type, self.raw_data_type = newest(feature_table.ENTRY_TYPES, host.version)
        model = host.arch.model
        self.preempt_count = host.arch.traces.counts_preemption(host.version)
        self.depth_mask = (
            0xFF if self.preempt_count else 0xF0
        )  # of trace_entry.preempt_count: migration is counted by all
        self.syscall_depth = 0 if self.features.syscalls_preemptible else 1  # of what records system calls
        self.byteorder = host.arch.byteorder
        self.order = "<" if self.byteorder == "little" else ">"  # for struct
        self.word: int = model.word  # bytes of a long
        self.char_signed = model.char_signed and not self.features.unsigned_char
        self.layout = host.arch.pt_regs_for(host.version)
        self.options = options_of(host.version)
        self.printk_holder = self.options  # of the trace array that the kernel's own trace_printk() goes to
        self.addresses = Addresses(host.symbols, self.word, self.features.hashed_pointers, self.options)
        self.addresses.strings = host.constant_strings()
        self.addresses.trampoline = host.return_trampoline
        # 9a6944fee68e looks at strings before they are printed; asked of 6.1, of no later one
        self.addresses.loses_string = host.version.at_least("5.13") and host.version.before("6.2")
        self.lines: dict[int, Line] = {}  # trace_entry.type -> its line
        self.fields_line: Line = lambda data: ""  # the option `fields`: what it prints of an entry
        self.tasks = SavedTasks(self.features.large_cmdlines, host.nr_cpus)
        self.tick_ns = TICK_NSEC
        self.nop_options = {
            "test_nop_accept": False,
            "test_nop_refuse": False,
        }  # of the nop tracer, in all trace arrays
        self.trace_counter = 0  # of the clock "counter": one for all trace arrays
        self.expanded = False  # ring_buffer_expanded: buffers have their full size
        self.expand_first: Callable[[], None] = lambda: None  # what the machine's own trace array does for that
        self.errors = ErrorLog(host, self.features.error_log)
        self._header = struct.Struct(self.order + "HBBi")

    def print_as(self, options: Mapping[str, bool]) -> None:
        """Symbols print by these trace options from now on."""
        self.addresses.options = options

    def pack_header(self, kind: int, flags: int, preempt: int, pid: int) -> bytes:
        """struct trace_entry: type, flags, preempt_count, pid."""
        return self._header.pack(kind & 0xFFFF, flags & 0xFF, preempt, pid)

    def header_of(self, kind: int, flags: int = 0, preempt: int = 0) -> bytes:
        """struct trace_entry of what happens now; `flags` and `preempt` add to what the host says."""
        host = self.host
        preempt += host.preempt_count()
        return self.pack_header(kind, host.irq_flags() | flags, preempt & self.depth_mask, host.current_pid())

    def instruction_pointer(self, regs: int) -> int:
        """Of a struct pt_regs in kernel memory."""
        return int(self.layout.get(self.host.mem, regs, self.host.arch.instruction_pointer))


class SavedTasks:
    """Names and thread groups of tasks: saved_cmdlines and saved_tgids, of all trace arrays.  kernel/trace/trace.c.

    They are noted when a CPU that has written an entry switches tasks, and when such a task wakes another: so a task's name is that
    of its last switch, and one that has not been switched since it wrote is `<...>`.
    """

    def __init__(self, whole_blocks: bool, nr_cpus: int) -> None:
        self.whole_blocks = whole_blocks  # names fill up the pages they lie in
        self.size = self._room(SAVED_CMDLINES_DEFAULT)  # how many names are kept
        self.slot_of: dict[int, int] = {}  # by the low bits of a pid
        self.pids: dict[int, int] = {}  # by slot
        self.names: dict[int, str] = {}
        self.last = 0  # the slot given last
        self.tgids: dict[int, int] = {}
        self.fresh = (ctypes.c_uint64 * nr_cpus)()  # trace_taskinfo_save: an entry was written since tasks were noted
        self.cmdline_users = self.tgid_users = 0
        self.watch: Callable[[bool], None] = lambda on: None  # who notes tasks shall begin, or end

    def use(self, cmdline: int = 0, tgid: int = 0) -> None:
        """tracing_start_cmdline_record(), tracing_start_tgid_record() and their opposites: so many users more."""
        before = bool(self.cmdline_users or self.tgid_users)
        self.cmdline_users += cmdline
        self.tgid_users += tgid
        after = bool(self.cmdline_users or self.tgid_users)
        if before != after:
            self.watch(after)

    def remember(self, pid: int, comm: str, tgid: int) -> None:
        """tracing_record_taskinfo()."""
        if not pid:
            return
        if self.cmdline_users:
            slot = self.slot_of.get(pid & PID_MASK)
            if slot is None:
                slot = self.last = (self.last + 1) % self.size
                self.slot_of[pid & PID_MASK] = slot
            self.pids[slot], self.names[slot] = pid, comm
        if self.tgid_users:
            self.tgids[pid] = tgid

    def note(self, host: TraceHost) -> None:
        """The running task, if it has written something."""
        cpu = host.cpu_id()
        if self.fresh[cpu]:
            self.fresh[cpu] = False
            self.remember(host.current_pid(), host.current_comm(), host.current_tgid())

    def name(self, pid: int) -> str:
        """trace_find_cmdline()."""
        if pid <= 0:
            return "<XXX>" if pid else "<idle>"
        slot = self.slot_of.get(pid & PID_MASK)
        return self.names[slot] if slot is not None and self.pids[slot] == pid else "<...>"

    def lines(self) -> str:
        """The file saved_cmdlines: `pid name` a line, slot by slot."""
        return "".join(f"{self.pids[slot]} {self.name(self.pids[slot])}\n" for slot in sorted(self.pids))

    def _room(self, size: int) -> int:
        """allocate_cmdlines_buffer(): for how many names there is room when so many are asked for."""
        if not self.whole_blocks:
            return size
        pages = (SAVED_CMDLINES_BUFFER + size * TASK_COMM_LEN + PAGE_SIZE - 1) // PAGE_SIZE
        block = PAGE_SIZE << (pages - 1).bit_length()
        return (block - SAVED_CMDLINES_BUFFER) // (TASK_COMM_LEN + 4)

    def resize(self, size: int) -> None:
        """tracing_resize_saved_cmdlines(): all are forgotten.  EINVAL."""
        if not 0 < size <= PID_MAX_DEFAULT:
            raise KernelError(EINVAL, f"{size} names")
        self.size, self.last = self._room(size), 0
        self.slot_of, self.pids, self.names = {}, {}, {}


class ErrorLog:
    """The file error_log: the last eight refused commands, each with a caret.  kernel/trace/trace.c:tracing_log_err()."""

    def __init__(self, host: TraceHost, kept: bool) -> None:
        self.host = host
        self.kept = kept  # kernels before 5.2 have no such file
        self.entries: list[tuple[int, str, str, str, int]] = []  # time, place, command, message, position

    def add(self, place: str, command: str, message: str, position: int) -> None:
        """`position` is the caret's column in the command, from 0."""
        if self.kept:
            self.entries.append((self.host.now_ns(), place, command, message, position))
            del self.entries[:-ERROR_LOG_ENTRIES]

    def text(self) -> str:
        """What the file reads."""
        out = []
        for ts, place, command, message, position in self.entries:
            us = ts // 1000
            out.append(f"[{us // 1_000_000:5d}.{us % 1_000_000:06d}] {place}: error: {message}\n")
            out.append(f"  Command: {command}\n" + " " * (len("  Command: ") + position) + "^\n")
        return "".join(out)

    def clear(self) -> None:
        """Opened with O_TRUNC."""
        self.entries.clear()
