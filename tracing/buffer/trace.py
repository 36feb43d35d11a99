"""The trace: its buffer, options, clock, and the text of `trace` and `trace_pipe`.  kernel/trace/trace.c, trace_output.c.

One TraceArray, the global one (no instances).  Times are nanoseconds of virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from arch.abi.errno import EAGAIN, EBUSY, EINVAL, ENODEV
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
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
    WouldBlock,
)
from tracing.text.strings import c_string

# enum trace_type: entries that are no events
TRACE_FN, TRACE_CTX, TRACE_WAKE, TRACE_STACK, TRACE_PRINT, TRACE_BPRINT = 1, 2, 3, 4, 5, 6
TRACE_USER_STACK, TRACE_BPUTS, TRACE_RAW_DATA = 12, 14, 18

CLOCKS_6_1 = ("local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai", "x86-tsc")
CLOCKS_4_1 = ("local", "global", "counter", "uptime", "perf", "mono", "x86-tsc")
COUNTER_CLOCKS = ("counter", "x86-tsc")
PIPE_KEY = ("trace_pipe",)


class TraceArray:
    """The global trace array."""

    def __init__(self, board: Board, size_kb: int = 1408) -> None:
        self.board = board
        self.host = board.host
        self.features = board.features
        self.options = board.options
        # Two pages per CPU until an event is first enabled or a size is set; then `size_kb`.
        self.buffer = RingBuffer(self.host.nr_cpus, 0)
        self.full_size_kb = size_kb
        self.expanded = False
        self.cpumask = (1 << self.host.nr_cpus) - 1
        self.threshold_us = 0
        self.time_start = 0  # of the latency format
        self.clocks = CLOCKS_6_1 if board.features.dynamic_events else CLOCKS_4_1
        self.clock = "local"
        self.count = 0  # of the counter clock
        self.cmdlines: dict[int, str] = {}
        self.tgids: dict[int, int] = {}
        self.cmdlines_size = self.cmdlines_floor = 6552 if board.features.hash_ptr_option else 128
        self.pipe_open: set[int | None] = set()  # readers of trace_pipe, None for the merged one
        self.pipe_waiters = False  # somebody sleeps on trace_pipe
        self.tracer = "nop"
        self.tracers: dict[str, Callable[[bool], None]] = {"nop": lambda on: None}  # name -> start or stop

    # Writing

    def now(self) -> int:
        """A record's time stamp by the chosen clock: ns, or a count."""
        if self.clock == "counter":
            self.count += 1
            return self.count
        return self.host.now_ns()

    def expand(self) -> None:
        """tracing_update_buffers(): the full size from the first use on."""
        if not self.expanded:
            self.expanded = True
            self.buffer.resize(self.full_size_kb)

    def write(self, data: bytes) -> bool:
        """Put one record into this CPU's buffer and wake the readers of trace_pipe; False if it is not recording."""
        buffer, cpu = self.buffer, self.host.cpu_id()
        if not buffer.recording or not self.cpumask >> cpu & 1:
            return False
        buffer.write(cpu, self.now(), data)
        if self.pipe_waiters:
            self.pipe_waiters = False
            self.host.wake(PIPE_KEY)
        return True

    def write_event(self, data: bytes) -> bool:
        """The same for an event, which also remembers the task's name."""
        self.remember_task()
        return self.write(data)

    def remember_task(self) -> None:
        """tracing_record_taskinfo(): names of tasks, while events or programs that print are on."""
        pid = self.host.current_pid()
        if pid and self.options["record-cmd"]:
            self.cmdlines[pid] = self.host.current_comm()
        if self.options.get("record-tgid"):
            self.tgids[pid] = self.host.current_tgid()

    def print_entry(self, ip: int, text: str, kind: int = TRACE_PRINT, flags: int = 0, preempt: int = 0) -> bool:
        """A TRACE_PRINT entry; `ip` names the function shown before the text."""
        data = text.encode("latin-1", "replace") + b"\0"
        header = self.board.header_of(kind, flags, preempt)
        return self.write(header + ip.to_bytes(self.board.word, self.board.byteorder) + data)

    def stack_entry(self, addresses: list[int]) -> None:
        """A kernel stack trace (dump_stack, the stacktrace trigger and option)."""
        order, word = self.board.byteorder, self.board.word
        header = self.board.header_of(TRACE_STACK) + len(addresses).to_bytes(4, order)
        self.write(header.ljust(8 + word, b"\0") + b"".join(addr.to_bytes(word, order) for addr in addresses))

    # Text of one entry

    def line(self, event: Event, following: Event | None = None) -> str:
        """The entry with its context columns; several lines for a stack."""
        if self.options["printk-msg-only"] and int.from_bytes(event.data[:2], self.board.byteorder) == TRACE_PRINT:
            return self.entry_text(event.data)
        return self.context(event, following) + self.entry_text(event.data)

    def entry_text(self, data: bytes) -> str:
        """An entry behind its columns, with the newline; what its type's line function says."""
        kind = int.from_bytes(data[:2], self.board.byteorder)
        line = self.board.lines.get(kind)
        if line is not None:
            return line(data)
        if kind in (TRACE_PRINT, TRACE_BPRINT, TRACE_BPUTS):
            return self._print_text(data, kind)
        if kind == TRACE_STACK:
            return self._stack_text(data)
        if kind == TRACE_RAW_DATA:
            number = int.from_bytes(data[8:12], self.board.byteorder)
            return f"# {number:x} buf:" + "".join(f" {byte:02x}" for byte in data[12:]) + "\n"
        return f"Unknown type {kind}\n"

    def _print_text(self, data: bytes, kind: int) -> str:
        word = self.board.word
        ip = int.from_bytes(data[8 : 8 + word], self.board.byteorder)
        text = c_string(data[8 + word :])
        if self.options["printk-msg-only"]:
            return text
        found = self.host.symbols.lookup(ip)
        name = found[0] if found else PSEUDO_SYMBOLS.get(ip, "")
        newline = "" if text.endswith("\n") or kind == TRACE_BPRINT else "\n"
        return f"{name}: {text}{newline}"

    def _stack_text(self, data: bytes) -> str:
        order, word = self.board.byteorder, self.board.word
        count = int.from_bytes(data[8:12], order)
        start = 8 + word
        lines = ["<stack trace>\n"]
        for index in range(count):
            addr = int.from_bytes(data[start + index * word : start + (index + 1) * word], order)
            lines.append(f" => {self.board.addresses.symbol_name(addr)}\n")
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
            us = (event.ts - self.time_start) // 1000
            gap = (following.ts - event.ts) // 1000 if following is not None else 0
            mark = "!" if gap > 100 else "+" if gap > 1 else " "
            return f"{comm[:8]:>8}-{pid:<7d} {event.cpu:3d}{self.latency(flags, preempt)} {us:4d}us{mark}: "
        width = 7 if self.features.wide_pid else 5
        text = f"{comm:>16}-{pid:<{width}d} "
        if self.options.get("record-tgid"):
            tgid = self.tgids.get(pid)
            text += f"({tgid:7d}) " if tgid else "(-------) "
        text += f"[{event.cpu:03d}] "
        if self.options["irq-info"]:
            text += self.latency(flags, preempt)
        if self.clock in COUNTER_CLOCKS:
            return text + f" {event.ts:12d}: "
        us = (event.ts + 500) // 1000  # ns2usecs() rounds
        return text + f" {us // 1_000_000:5d}.{us % 1_000_000:06d}: "

    def comm(self, pid: int) -> str:
        """The remembered name of a task; <idle> for 0, <...> for one that was not remembered."""
        if not pid:
            return "<idle>"
        if pid < 0:
            return "<XXX>"
        return self.cmdlines.get(pid, "<...>")

    def latency(self, flags: int, preempt: int) -> str:
        """The four or five characters; trace_output.c:trace_print_lat_fmt()."""
        bh_off = flags & TRACE_FLAG_BH_OFF and self.features.bh_disabled
        if flags & TRACE_FLAG_IRQS_OFF:
            irqs = "D" if bh_off else "d"
        elif bh_off:
            irqs = "b"
        else:
            irqs = "X" if flags & TRACE_FLAG_IRQS_NOSUPPORT else "."
        need, preempt_need = flags & TRACE_FLAG_NEED_RESCHED, flags & TRACE_FLAG_PREEMPT_RESCHED
        resched = "N" if need and preempt_need else "n" if need else "p" if preempt_need else "."
        if flags & TRACE_FLAG_NMI:
            context = "Z" if flags & TRACE_FLAG_HARDIRQ else "z"
        else:
            hard, soft = flags & TRACE_FLAG_HARDIRQ, flags & TRACE_FLAG_SOFTIRQ
            context = "H" if hard and soft else "h" if hard else "s" if soft else "."
        text = irqs + resched + context + (f"{preempt & 0xF:x}" if preempt & 0xF else ".")
        if self.features.migrate_disable_column:
            text += f"{preempt >> 4:x}" if preempt >> 4 else "."
        return text

    # The trace file

    def header(self, cpu: int | None = None) -> str:
        """The comment lines above the trace.  trace.c:print_trace_header()."""
        buffers = self.buffer.cpus if cpu is None else [self.buffer.cpus[cpu]]
        entries = sum(buffer.entries for buffer in buffers)
        total = entries + sum(buffer.overrun for buffer in buffers)
        text = f"# tracer: {self.tracer}\n#\n"
        if not self.options["context-info"]:
            return text
        if self.options["latency-format"]:
            return text + (self._latency_header(entries, total) if entries else "")
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

    def _latency_header(self, entries: int, total: int) -> str:
        lines = (
            f"# {self.tracer} latency trace v1.1.5 on {self.host.release}\n"
            "# --------------------------------------------------------------------\n"
            f"# latency: 0 us, #{entries}/{total}, CPU#0 | (M:desktop VP:0, KP:0, SP:0 HP:0 #P:{self.host.nr_cpus})\n"
            "#    -----------------\n"
            "#    | task: -0 (uid:0 nice:0 policy:0 rt_prio:0)\n"
            "#    -----------------\n"
            "#\n"
        )
        return lines + "".join(f"#{line}\n" for line in LATENCY_COLUMNS)

    def render(self, cpu: int | None = None) -> Iterator[str]:
        """The whole `trace` file, line by line, consuming nothing."""
        yield self.header(cpu)
        annotate = self.options["annotate"] and self.buffer.overruns
        started: set[int] = set()
        events = list(self.buffer.merged(cpu))
        for index, event in enumerate(events):
            if annotate and event.cpu not in started:
                started.add(event.cpu)
                if index:
                    yield f"##### CPU {event.cpu} buffer started ####\n"
            yield self.line(event, events[index + 1] if index + 1 < len(events) else None)

    # trace_pipe

    def open_pipe(self, cpu: int | None) -> TracePipe:
        """One reader per buffer: EBUSY while another has it open."""
        if cpu in self.pipe_open or (cpu is None and self.pipe_open) or None in self.pipe_open:
            raise KernelError(EBUSY, "trace_pipe is open already")
        self.pipe_open.add(cpu)
        return TracePipe(self, cpu)

    # Options

    def set_option(self, text: str) -> None:
        """One word of trace_options: `name` or `noname`."""
        word = text.strip()
        name, on = (word[2:], False) if word.startswith("no") and word not in self.options else (word, True)
        if name not in self.options:
            raise KernelError(EINVAL, f"no such option: {word}")
        if name == "test_nop_refuse":
            raise KernelError(EINVAL, "the nop tracer refuses this one")
        self.options[name] = on
        if name == "overwrite":
            self.buffer.overwrite = on

    def options_text(self) -> str:
        """The file trace_options: one `name` or `noname` a line."""
        hidden = () if self.features.hash_ptr_option else ("hash-ptr",)
        return "".join(f"{'' if on else 'no'}{name}\n" for name, on in self.options.items() if name not in hidden)

    def set_clock(self, name: str) -> None:
        """A word to trace_clock; the buffer is emptied.  EINVAL."""
        if name not in self.clocks:
            raise KernelError(EINVAL, f"no such clock: {name}")
        self.clock = name
        self.reset()

    def reset(self, cpu: int | None = None) -> None:
        """Writing to `trace` with O_TRUNC."""
        self.buffer.reset(cpu)
        self.time_start = self.host.now_ns()

    def clock_text(self) -> str:
        """The file trace_clock: all clocks, the chosen one in brackets."""
        return " ".join(f"[{name}]" if name == self.clock else name for name in self.clocks) + "\n"

    def set_tracer(self, name: str) -> None:
        """nop or function; changing the tracer clears the buffer."""
        if name not in self.tracers:
            raise KernelError(EINVAL, f"tracer {name} is not available")
        self.expand()
        if name == self.tracer:
            return
        self.tracers[self.tracer](False)
        self.tracers[name](True)
        self.tracer = name
        self.reset()

    def check_cpu(self, cpu: int) -> None:
        """ENODEV for a CPU that the machine has not."""
        if not 0 <= cpu < self.host.nr_cpus:
            raise KernelError(ENODEV, f"no CPU {cpu}")


class TracePipe:
    """An open trace_pipe: consuming, blocking.  trace.c:tracing_read_pipe()."""

    def __init__(self, array: TraceArray, cpu: int | None) -> None:
        self.array = array
        self.cpu = cpu
        self.left = b""
        self.read_something = False

    def read(self, size: int, nonblock: bool) -> bytes:
        """At most `size` bytes of whole lines; EAGAIN or WouldBlock where there are none."""
        if self.left:
            data, self.left = self.left[:size], self.left[size:]
            return data
        array = self.array
        if array.buffer.empty(self.cpu):
            if not array.buffer.recording and self.read_something:
                return b""
            if nonblock:
                raise KernelError(EAGAIN)
            array.pipe_waiters = True
            raise WouldBlock(PIPE_KEY)
        data = self._lines(min(size, PAGE_SIZE - 1))
        self.read_something = True
        if len(data) > size:
            data, self.left = data[:size], data[size:] + self.left
        return data

    def _lines(self, room: int) -> bytes:
        """Whole lines, at least one, as many as fit; one that does not is kept for the next read."""
        out = bytearray()
        array = self.array
        while (event := array.buffer.consume(self.cpu)) is not None:
            text = f"CPU:{event.cpu} [LOST {event.lost} EVENTS]\n" if event.lost else ""
            line = (text + array.line(event)).encode("latin-1", "replace")
            if out and len(out) + len(line) > room:
                self.left = line
                break
            out += line
        return bytes(out)

    def ready(self) -> bool:
        """There is something to read."""
        return bool(self.left) or not self.array.buffer.empty(self.cpu)

    def release(self) -> None:
        """Closed: somebody else may open it."""
        self.array.pipe_open.discard(self.cpu)


# Names shown for the ips of writers that are no kernel function here.
IP_TRACE_PRINTK, IP_MARKER = 1, 2
PSEUDO_SYMBOLS = {IP_TRACE_PRINTK: "", IP_MARKER: "tracing_mark_write"}

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
