"""How entries of a trace print: the columns before them, and the comment lines above.  kernel/trace/trace_output.c, trace.c.

What stands behind the columns, the entry's type says (`Board.lines`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arch.cstring import c_string
from tracing.board import Board
from tracing.buffer.ringbuffer import Event, RingBuffer
from tracing.face import (
    TRACE_FLAG_BH_OFF,
    TRACE_FLAG_HARDIRQ,
    TRACE_FLAG_IRQS_NOSUPPORT,
    TRACE_FLAG_IRQS_OFF,
    TRACE_FLAG_NEED_RESCHED,
    TRACE_FLAG_NMI,
    TRACE_FLAG_PREEMPT_RESCHED,
    TRACE_FLAG_SOFTIRQ,
)

# enum trace_type: entries that are no events
TRACE_FN, TRACE_CTX, TRACE_WAKE, TRACE_STACK, TRACE_PRINT, TRACE_BPRINT = 1, 2, 3, 4, 5, 6
TRACE_GRAPH_RET, TRACE_GRAPH_ENT = 10, 11  # what follows differs by version: Board

COUNTER_CLOCKS = ("counter", "uptime", "x86-tsc")

IP_TRACE_PRINTK = 1  # of a line that no function of the kernel has written: no name is shown
# By what is set: the task's flag (1), the CPU's (2), the task's for later (4).
RESCHED = ".npNlbLB"
MARKS = (
    (1_000_000_000, "$"),
    (100_000_000, "@"),
    (10_000_000, "*"),
    (1_000_000, "#"),
    (100_000, "!"),
    (10_000, "+"),
)  # above so many ns


class Columns:
    """Prints the entries of one trace array."""

    tracer_name = "nop"
    clock = "local"
    printed = 0  # how many entries the reader that prints has had before this one

    def __init__(self, board: Board, options: Mapping[str, bool]) -> None:
        self.board = board
        self.host = board.host
        self.features = board.features
        self.options = options
        self.time_start = 0  # ns, when it was last reset
        self.snapshot_start = 0  # and what is now the snapshot

    # Text of one entry

    def line(self, event: Event, following: Event | None = None) -> str:
        """The entry with its context columns; several lines for a stack."""
        options = self.options
        kind = int.from_bytes(event.data[:2], self.board.byteorder)
        if (
            options["printk-msg-only"]
            and options["trace_printk"]
            and kind in (TRACE_PRINT, TRACE_BPRINT, self.board.bputs_type)
        ):
            return self.entry_text(event.data)
        if options["bin"] or options["hex"] or options["raw"]:
            return self.undecoded(event, kind)
        return self.context(event, following) + self.entry_text(event.data)

    def undecoded(self, event: Event, kind: int) -> str:
        """The options bin, hex and raw: print_bin_fmt(), print_hex_fmt(), print_raw_fmt()."""
        options, data, order, word = self.options, event.data, self.board.byteorder, self.board.word
        pid = int.from_bytes(data[4:8], order, signed=True)
        with_context = options["context-info"]
        if options["raw"] and not options["hex"] and not options["bin"]:
            head = f"{pid} {event.cpu} {event.ts} " if with_context else ""
            ip = int.from_bytes(data[8 : 8 + word], order)
            if kind == TRACE_FN:
                return f"{head}{ip:x} {int.from_bytes(data[8 + word : 8 + 2 * word], order):x}\n"
            if kind == TRACE_PRINT:
                return f"{head}# {ip:x} {c_string(data[8 + word :])}"
            if kind == TRACE_BPRINT:
                return f"{head}: {ip:x} : {c_string(data[8 + word :])}"
            return f"{head}type: {kind}\n"
        fields = [pid.to_bytes(4, order, signed=True), event.cpu.to_bytes(4, order), event.ts.to_bytes(8, order)]
        if kind == TRACE_FN:
            values = [data[8 : 8 + word], data[8 + word : 8 + 2 * word]]
        else:
            values = []
        if options["bin"]:
            head = b"".join(fields).decode("latin-1") if with_context else ""
            return head + (b"".join(values).decode("latin-1") if values else f"type: {kind}\n")
        flip = -1 if order == "little" else 1
        head = "".join(field[::flip].hex() + " " for field in fields) if with_context else ""
        return head + ("".join(value[::flip].hex() + " " for value in values) if values else f"type: {kind}\n") + "\n"

    def entry_text(self, data: bytes) -> str:
        """An entry behind its columns, with the newline; what its type's line function says."""
        if self.options.get("fields"):
            return self.board.fields_line(data)
        kind = int.from_bytes(data[:2], self.board.byteorder)
        line = self.board.lines.get(kind)
        if line is not None:
            return line(data)
        if kind in (TRACE_PRINT, TRACE_BPRINT, self.board.bputs_type):
            return self._print_text(data)
        if kind == TRACE_STACK:
            return self._stack_text(data)
        if kind == self.board.user_stack_type:
            return self._user_stack_text(data)
        if kind == self.board.raw_data_type:
            number = int.from_bytes(data[8:12], self.board.byteorder)
            return f"# {number:x} buf:" + "".join(f" {byte:02x}" for byte in data[12:]) + "\n"
        return f"Unknown type {kind}\n"

    def _print_text(self, data: bytes) -> str:
        word = self.board.word
        ip = int.from_bytes(data[8 : 8 + word], self.board.byteorder)
        text = c_string(data[8 + word :])
        if self.options["printk-msg-only"]:
            return text
        name = "" if ip == IP_TRACE_PRINTK else self.board.addresses.ip(ip)
        return f"{name}: {text}"

    def _stack_text(self, data: bytes) -> str:
        order, word = self.board.byteorder, self.board.word
        count = int.from_bytes(data[8:12], order)
        start = 8 + word
        lines = ["<stack trace>\n"]
        for index in range(count):
            addr = int.from_bytes(data[start + index * word : start + (index + 1) * word], order)
            lines.append(f" => {self.board.addresses.ip(addr)}\n")
        return "".join(lines)

    def _user_stack_text(self, data: bytes) -> str:
        """trace_output.c:trace_user_stack_print()."""
        order, word = self.board.byteorder, self.board.word
        lines = ["<user stack trace>\n"]
        for start in range(8 + word, len(data), word):
            ip = int.from_bytes(data[start : start + word], order)
            if not ip or ip == (1 << 8 * word) - 1:
                break
            lines.append(f" =>  <{ip:0{2 * word}x}>\n")
        return "".join(lines)

    def context(self, event: Event, following: Event | None = None) -> str:
        """The columns before an entry: task, CPU, flags, time.  trace_output.c:trace_print_context()."""
        if not self.options["context-info"]:
            return ""
        data = event.data
        order = self.board.byteorder
        flags, preempt = data[2], data[3]
        pid = int.from_bytes(data[4:8], order, signed=True)
        comm = self.comm(pid)
        if self.options["latency-format"]:
            since, gap = event.ts - self.time_start, following.ts - event.ts if following is not None else 0
            if self.options["verbose"]:
                head = f"{comm:>16} {pid:7d} {event.cpu:3d} {flags} {preempt:08x} {self.printed:08x} "
                return head + self.verbose_time(event.ts, since, gap)
            head = f"{comm[:8]:>8}-{pid:<7d} {event.cpu:3d}{self.latency(flags, preempt)} "
            return head + (f"{since:4d}: " if self.clock in COUNTER_CLOCKS else f"{since // 1000:4d}us{mark_of(gap)}: ")
        width = 7 if self.features.wide_pid else 5
        text = f"{comm:>16}-{pid:<{width}d} "
        if self.options.get("record-tgid"):
            tgid = self.board.tasks.tgids.get(pid)
            text += f"({tgid:7d}) " if tgid else "(-------) "
        text += f"[{event.cpu:03d}] "
        if self.options["irq-info"]:
            text += self.latency(flags, preempt)
        if self.clock in COUNTER_CLOCKS:
            return text + f" {event.ts:12d}: "
        us = (event.ts + 500) // 1000  # ns2usecs() rounds
        return text + f" {us // 1_000_000:5d}.{us % 1_000_000:06d}: "

    def verbose_time(self, ts: int, since: int, gap: int) -> str:
        """lat_print_timestamp() with the option verbose: when, since the trace's beginning, and until the next entry."""
        if self.clock in COUNTER_CLOCKS:
            return f"[{ts:016x}] {since} (+{gap}): "
        us, since, gap = ts // 1000, since // 1000, gap // 1000
        return f"[{us:08x}] {since // 1000}.{since % 1000:03d}ms (+{gap // 1000}.{gap % 1000:03d}ms): "

    def dumped(self, event: Event) -> str:
        """The entry as ftrace_dump() writes it: latency format, the time since boot."""
        data, order = event.data, self.board.byteorder
        pid = int.from_bytes(data[4:8], order, signed=True)
        head = f"{self.comm(pid)[:8]:>8}-{pid:<7d} {event.cpu:3d}{self.latency(data[2], data[3])} {event.ts // 1000:4d}us : "
        return head + self.entry_text(data)

    def comm(self, pid: int) -> str:
        """The remembered name of a task; <idle> for 0, <...> for one that was not remembered."""
        return self.board.tasks.name(pid)

    def latency(self, flags: int, preempt: int) -> str:
        """The four or five characters; trace_output.c:trace_print_lat_fmt()."""
        bh_off = flags & TRACE_FLAG_BH_OFF and self.features.bh_disabled
        if flags & TRACE_FLAG_IRQS_OFF:
            irqs = "D" if bh_off else "d"
        elif bh_off:
            irqs = "b"
        else:
            irqs = "X" if flags & TRACE_FLAG_IRQS_NOSUPPORT and not self.features.lazy_resched else "."
        need, preempt_need = flags & TRACE_FLAG_NEED_RESCHED, flags & TRACE_FLAG_PREEMPT_RESCHED
        lazy = flags & TRACE_FLAG_IRQS_NOSUPPORT if self.features.lazy_resched else 0
        resched = RESCHED[bool(need) + 2 * bool(preempt_need) + 4 * bool(lazy)]
        if flags & TRACE_FLAG_NMI:
            context = "Z" if flags & TRACE_FLAG_HARDIRQ else "z"
        else:
            hard, soft = flags & TRACE_FLAG_HARDIRQ, flags & TRACE_FLAG_SOFTIRQ
            context = "H" if hard and soft else "h" if hard else "s" if soft else "."
        text = irqs + resched + context + (f"{preempt & 0xF:x}" if preempt & 0xF else ".")
        if self.features.migrate_disable_column:
            text += f"{preempt >> 4:x}" if preempt >> 4 else "."
        return text

    # The header of a trace file

    def header(self, buffer: RingBuffer, cpu: int | None = None, skipped: Sequence[int] = ()) -> str:
        """The comment lines above the trace; `skipped`: how many entries of each CPU are too old.  trace.c:print_trace_header()."""
        entries, total = counted(buffer, cpu, skipped)
        text = f"# tracer: {self.tracer_name}\n#\n"
        if not self.options["context-info"]:
            return text
        if self.options["latency-format"]:
            columns = "" if self.options["verbose"] else "".join(f"#{line}\n" for line in LATENCY_COLUMNS)
            return text + (self.latency_title(entries, total) + columns if entries else "")
        if self.options["verbose"]:
            return text
        text += f"# entries-in-buffer/entries-written: {entries}/{total}   #P:{self.host.nr_cpus}\n#\n"
        return text + "".join(f"#{line}\n" for line in self._columns())

    def _columns(self) -> tuple[str, ...]:
        features = self.features
        if not self.options["irq-info"]:
            return HEADER_NO_IRQ_WIDE if features.wide_pid else HEADER_NO_IRQ
        if self.options.get("record-tgid"):
            return HEADER_BH_TGID
        if features.bh_disabled:
            return HEADER_BH
        if features.migrate_disable_column:
            return tuple(line.replace("/BH-disabled", "") for line in HEADER_BH)
        return HEADER_WIDE if features.wide_pid else HEADER_4_1

    def latency_title(self, entries: int, total: int) -> str:
        """print_trace_header(): what stands above the columns of the latency format."""
        model = "PREEMPT(lazy)" if self.features.lazy_model else "desktop"
        return (
            f"# {self.tracer_name} latency trace v1.1.5 on {self.host.release}\n"
            "# --------------------------------------------------------------------\n"
            f"# latency: 0 us, #{entries}/{total}, CPU#0 | (M:{model} VP:0, KP:0, SP:0 HP:0 #P:{self.host.nr_cpus})\n"
            "#    -----------------\n"
            "#    | task: -0 (uid:0 nice:0 policy:0 rt_prio:0)\n"
            "#    -----------------\n"
            "#\n"
        )


def mark_of(ns: int) -> str:
    """trace_find_mark(): how long something took, at a glance."""
    return next((mark for limit, mark in MARKS if ns > limit), " ")


def counted(buffer: RingBuffer, cpu: int | None, skipped: Sequence[int]) -> tuple[int, int]:
    """Entries that are there and that were written; `skipped`: how many of each CPU are too old."""
    entries = total = 0
    for number in range(len(buffer.cpus)) if cpu is None else (cpu,):
        old = skipped[number] if skipped else 0
        entries += buffer.cpus[number].entries - old
        total += buffer.cpus[number].entries - old + (0 if old else buffer.cpus[number].overrun)
    return entries, total


HEADER_BH = (
    "                                _-----=> irqs-off/BH-disabled",
    "                               / _----=> need-resched",
    "                              | / _---=> hardirq/softirq",
    "                              || / _--=> preempt-depth",
    "                              ||| / _-=> migrate-disable",
    "                              |||| /     delay",
    "           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION",
    "              | |         |   |||||     |         |",
)
HEADER_BH_TGID = (
    "                                          _-----=> irqs-off/BH-disabled",
    "                                         / _----=> need-resched",
    "                                        | / _---=> hardirq/softirq",
    "                                        || / _--=> preempt-depth",
    "                                        ||| / _-=> migrate-disable",
    "                                        |||| /     delay",
    "           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION",
    "              | |           |       |   |||||     |         |",
)
HEADER_WIDE = (
    "                                _-----=> irqs-off",
    "                               / _----=> need-resched",
    "                              | / _---=> hardirq/softirq",
    "                              || / _--=> preempt-depth",
    "                              ||| /     delay",
    "           TASK-PID     CPU#  ||||   TIMESTAMP  FUNCTION",
    "              | |         |   ||||      |         |",
)
HEADER_4_1 = (
    "                              _-----=> irqs-off",
    "                             / _----=> need-resched",
    "                            | / _---=> hardirq/softirq",
    "                            || / _--=> preempt-depth",
    "                            ||| /     delay",
    "           TASK-PID   CPU#  ||||    TIMESTAMP  FUNCTION",
    "              | |       |   ||||       |         |",
)
HEADER_NO_IRQ_WIDE = (
    "           TASK-PID     CPU#     TIMESTAMP  FUNCTION",
    "              | |         |         |         |",
)
HEADER_NO_IRQ = (
    "           TASK-PID   CPU#      TIMESTAMP  FUNCTION",
    "              | |       |          |         |",
)
LATENCY_COLUMNS = (
    "                    _------=> CPU#            ",
    "                   / _-----=> irqs-off/BH-disabled",
    "                  | / _----=> need-resched    ",
    "                  || / _---=> hardirq/softirq ",
    "                  ||| / _--=> preempt-depth   ",
    "                  |||| / _-=> migrate-disable ",
    "                  ||||| /     delay           ",
    "  cmd     pid     |||||| time  |   caller     ",
    "     \\   /        ||||||  \\    |    /       ",
)
