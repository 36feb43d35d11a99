"""A trace array: its buffer, snapshot, options, clock and tracer, and the text of `trace`.  kernel/trace/trace.c.

The machine has one, and each directory of `instances` is another.  Times are nanoseconds of virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from arch.abi.errno import EBUSY, EINVAL, ENODEV
from arch.errors import KernelError
from tracing.board import Board, ErrorLog
from tracing.buffer.columns import COUNTER_CLOCKS, TRACE_PRINT, TRACE_STACK, Columns, counted
from tracing.buffer.ringbuffer import MIN_PAGES, Event, RingBuffer, Shared, SharedWord
from tracing.buffer.tasks import TaskSet
from tracing.buffer.tracer import NopTracer, Tracer

CLOCKS_6_1 = ("local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai")
CLOCKS_4_1 = ("local", "global", "counter", "uptime", "perf", "mono")
PIPE_KEY = ("trace_pipe",)
ENTRY_WAITERS, FULL_WAITERS = 1, 2  # bits of `pipe_waiters`
USER_STACK_ENTRIES = 8  # FTRACE_STACK_ENTRIES
# What an instance does not have, and what it begins without.  trace.c:TOP_LEVEL_TRACE_FLAGS, ZEROED_TRACE_FLAGS
TOP_LEVEL_OPTIONS = ("trace_printk", "printk-msg-only", "record-cmd")
PRINTK_DEST = "trace_printk_dest"  # of all arrays one has it
ZEROED_OPTIONS = ("event-fork", "function-fork", PRINTK_DEST, "copy_trace_marker")
SYSCALL_USER_BUF = 63  # CONFIG_TRACE_SYSCALL_BUF_SIZE_DEFAULT
EMPTY_KB = 0  # two pages for each CPU

# Words of an array for native code: its buffer's, on which CPUs it records, whether something is set that only Python knows,
# whether somebody sleeps on trace_pipe.
A_BUFFER, A_CPUMASK, A_SPECIAL, A_WAITERS, ARRAY_WORDS = range(5)
CPUS_IN_A_WORD = 64
SPECIAL_OPTIONS = ("stacktrace", "userstacktrace")
SPECIAL_CLOCKS = ("counter", "uptime")
USER_TICK_NS = 10_000_000  # of jiffies_64_to_clock_t(): USER_HZ is 100


class TraceArray(Columns, Shared):
    """struct trace_array; `name` is the instance's, empty for the machine's own."""

    cpumask = SharedWord(A_CPUMASK)
    pipe_waiters = SharedWord(A_WAITERS)  # somebody sleeps on trace_pipe, or on a full page of trace_pipe_raw

    def __init__(self, board: Board, name: str = "", size_kb: int = 1408) -> None:
        options = board.options
        if name:
            options = {key: value and key not in ZEROED_OPTIONS for key, value in options.items()}
        Columns.__init__(self, board, options)
        Shared.__init__(self, ARRAY_WORDS)
        self.options: dict[str, bool] = options
        self.name = name
        # The machine's: two pages per CPU until an event is first enabled or a size is set; then `size_kb`.
        self.buffer = RingBuffer(self.host.nr_cpus, self.host.block, size_kb if name else EMPTY_KB)
        if not name:
            board.expand_first = lambda: self.buffer.resize(size_kb)
        self.snapshot: RingBuffer | None = None
        self.condition: object | None = None  # who alone takes snapshots: a hist trigger's snapshot() action
        self.cpumask = (1 << self.host.nr_cpus) - 1
        self.threshold_us = 0
        self.max_latency_us = 0
        self.buffer_percent = 50
        self.syscall_user_buf_size = SYSCALL_USER_BUF  # bytes of each piece of user memory in a system call's event
        self.clocks: tuple[str, ...] = CLOCKS_6_1 if board.features.dynamic_events else CLOCKS_4_1
        if not board.features.clock_tai:
            self.clocks = tuple(name for name in self.clocks if name != "tai")
        self.clocks += self.host.arch.traces.own_clocks
        self.clock = "local"
        self.full_waiters: dict[int, int] = {}  # by CPU: how much of the pages, in percent, the first of them waits for
        self.pipe_open: set[int | None] = set()  # readers of trace_pipe, None for the merged one
        self.errors = ErrorLog(board.host, board.features.error_log) if name else board.errors
        self.tracers: dict[str, Tracer] = {"nop": NopTracer(board.nop_options)}  # newest last
        self.current: Tracer = self.tracers["nop"]
        self.chooses_tasks = False  # somebody has to ask traces_pid()
        self.pids = TaskSet()  # set_event_pid
        self.no_pids = TaskSet()  # set_event_notrace_pid
        self.on_flag: dict[str, Callable[[bool], None]] = {}  # what else an option does
        self.readers = 0  # who has `trace` open for reading, and `snapshot`: their buffers keep their sizes
        self.snapshot_readers = 0
        self.opened = 0  # open files: an instance in use is not removed
        self._note()

    @property
    def buffer(self) -> RingBuffer:
        """Where records go now."""
        return self._buffer

    @buffer.setter
    def buffer(self, buffer: RingBuffer) -> None:
        self._buffer = buffer
        self.words[A_BUFFER] = buffer.address

    def _note(self) -> None:
        """For native code: what it has to do itself, and whether it can."""
        options = self.options
        self.words[A_SPECIAL] = (
            self.chooses_tasks
            or self.clock in SPECIAL_CLOCKS
            or any(options.get(name) for name in SPECIAL_OPTIONS)
            or self.host.nr_cpus > CPUS_IN_A_WORD
        )

    # Writing

    def now(self) -> int:
        """A record's time stamp by the chosen clock: ns, or a count."""
        if self.clock == "counter":
            self.board.trace_counter += 1
            return self.board.trace_counter
        now = self.host.now_ns()
        if self.clock == "uptime":
            return (now - now % self.board.tick_ns) // USER_TICK_NS
        return now

    @property
    def clock_in_ns(self) -> bool:
        """Not a counter."""
        return self.clock not in COUNTER_CLOCKS

    @property
    def expanded(self) -> bool:
        """ring_buffer_expanded: of the machine's own array, whose state the others showed before they had their own."""
        return self.board.expanded or (bool(self.name) and self.board.features.array_expands_itself)

    @expanded.setter
    def expanded(self, value: bool) -> None:
        if not self.name or not self.board.features.array_expands_itself:
            self.board.expanded = value

    def expand(self) -> None:
        """tracing_update_buffers(): the full size from the first use on."""
        if not self.expanded:
            self.expanded = True
            self.board.expand_first()

    def expand_itself(self) -> None:
        """tracing_set_tracer(): this buffer, and from then on all count as expanded."""
        if self.name:
            self.expanded = True
        else:
            self.expand()

    def write(self, data: bytes, reserved: RingBuffer | None = None) -> bool:
        """Put one record into this CPU's buffer and wake the readers of trace_pipe; False if that is not recording, or full.

        `reserved` is where the record began, if a trigger may have taken a snapshot since.
        """
        buffer, cpu = reserved or self.buffer, self.host.cpu_id()
        if not buffer.recording or buffer.stopped or not self.cpumask >> cpu & 1:
            return False
        found_room = buffer.write(cpu, self.now(), data)
        self.board.tasks.fresh[cpu] = True
        if self.pipe_waiters:
            self._wake_readers(cpu)
        return found_room

    def _wake_readers(self, cpu: int) -> None:
        """rb_wakeups(): of an entry, and of a buffer that is as full as they wait for."""
        if self.pipe_waiters & ENTRY_WAITERS:
            self.host.wake(PIPE_KEY)
        percent = self.full_waiters.get(cpu)
        if percent is not None:
            mine = self.buffer.cpus[cpu]
            if mine.entries and not mine.tail_of_reader and mine.filled(percent):
                del self.full_waiters[cpu]
                self.host.wake(self.full_key(cpu))
        self.pipe_waiters = FULL_WAITERS if self.full_waiters else 0

    def full_key(self, cpu: int) -> Hashable:
        """What who waits for pages of a CPU sleeps on."""
        return ("trace_pipe_raw", self.name, cpu)

    def wake_when_filled(self, cpu: int, percent: int) -> Hashable:
        """What to sleep on until so much of a CPU's buffer is filled (0: anything comes), with one page that is whole."""
        if not percent:
            self.pipe_waiters |= ENTRY_WAITERS
            return PIPE_KEY
        self.full_waiters[cpu] = min(percent, self.full_waiters.get(cpu, percent))
        self.pipe_waiters |= FULL_WAITERS
        return self.full_key(cpu)

    def wake_all_readers(self) -> None:
        """ring_buffer_wake_waiters()"""
        if self.pipe_waiters:
            self.pipe_waiters = 0
            self.host.wake(PIPE_KEY)
            for cpu in self.full_waiters:
                self.host.wake(self.full_key(cpu))
            self.full_waiters.clear()

    def print_entry(self, ip: int, text: str, kind: int = TRACE_PRINT, flags: int = 0, preempt: int = 0) -> bool:
        """A TRACE_PRINT entry; `ip` names the function shown before the text."""
        data = text.encode("latin-1", "replace") + b"\0"
        header = self.board.header_of(kind, flags, preempt)
        return self.write(header + ip.to_bytes(self.board.word, self.board.byteorder) + data)

    def stack_entry(self, addresses: list[int], event: bytes = b"") -> None:
        """A kernel stack trace (dump_stack, the stacktrace trigger and option); `event`: the record that it belongs to."""
        order, word = self.board.byteorder, self.board.word
        header = self.header_like(TRACE_STACK, event) + len(addresses).to_bytes(4, order)
        self.write(header.ljust(8 + word, b"\0") + b"".join(addr.to_bytes(word, order) for addr in addresses))

    def dump_stack(self, regs: int = 0) -> None:
        """A kernel stack trace, from a probe's pt_regs or, where `regs` is 0, from here."""
        self.stack_entry(self.host.stack_trace(regs))

    def header_like(self, kind: int, event: bytes) -> bytes:
        """struct trace_entry with the flags of an event's record; without one, of what happens now."""
        now = self.board.header_of(kind)
        return now[:2] + event[2:4] + now[4:] if event else now

    def user_stack_entry(self, event: bytes = b"") -> None:
        """ftrace_trace_userstack(): eight return addresses of the current task's program."""
        host, order, word = self.host, self.board.byteorder, self.board.word
        if host.user_mem() is None:
            return
        _, user = host.callchains(host.caller_regs(), USER_STACK_ENTRIES)
        chain = (user + [0] * USER_STACK_ENTRIES)[:USER_STACK_ENTRIES]
        head = self.header_like(self.board.user_stack_type, event) + host.current_tgid().to_bytes(4, order)
        self.write(head.ljust(8 + word, b"\0") + b"".join(addr.to_bytes(word, order) for addr in chain))

    # Which tasks' events

    def traces_pid(self, *others: int) -> bool:
        """trace_event_ignore_this_pid(), the other way round; a switch or a wakeup is also that of the `others`."""
        pids = (self.host.current_pid(), *others)
        wanted = not self.pids.on or any(pid in self.pids for pid in pids)
        return wanted and any(pid not in self.no_pids for pid in pids)

    def pids_changed(self) -> None:
        """set_event_pid or set_event_notrace_pid was written."""
        self.chooses_tasks = self.pids.on or self.no_pids.on
        self._note()

    # The trace file

    @property
    def tracer(self) -> str:
        """The file current_tracer."""
        return self.current.name

    def line(self, event: Event, following: Event | None = None) -> str:
        """The entry with its context columns, or as the tracer prints it."""
        self.board.print_as(self.options)
        text = self.current.line(self, event, following)
        return super().line(event, following) if text is None else text

    def render(self, cpu: int | None = None) -> Iterator[str]:
        """The whole `trace` file, line by line, consuming nothing."""
        return self.render_buffer(self.buffer, cpu)

    def render_buffer(self, buffer: RingBuffer, cpu: int | None) -> Iterator[str]:
        """The same of one of the two buffers."""
        self.tracer_name = self.tracer
        head = self.current.header(self)
        skipped = self.skipped(buffer)
        if head is None:
            yield self.header(buffer, cpu, skipped)
        else:
            yield f"# tracer: {self.tracer}\n#\n"
            if not self.options["latency-format"]:
                yield head
            elif (entries := counted(buffer, cpu, skipped))[0]:
                yield self.latency_title(*entries) + head
        annotate = self.options["annotate"] and buffer.overruns
        started: set[int] = set()
        events = (
            [event for event in buffer.merged(cpu) if event.ts >= self.start_of(buffer)]
            if skipped
            else list(buffer.merged(cpu))
        )
        for index, event in enumerate(events):
            self.printed = index
            if annotate and event.cpu not in started:
                started.add(event.cpu)
                if index:
                    yield f"##### CPU {event.cpu} buffer started ####\n"
            yield self.line(event, events[index + 1] if index + 1 < len(events) else None)

    def start_of(self, buffer: RingBuffer) -> int:
        """What is older than the last reset is not shown: a snapshot may bring it back.  ns."""
        if not self.clock_in_ns:
            return 0
        return self.time_start if buffer is self.buffer else self.snapshot_start

    def skipped(self, buffer: RingBuffer) -> list[int]:
        """tracing_iter_reset(): how many entries of each CPU that are; nothing when there are none."""
        start = self.start_of(buffer)
        counts = (
            [sum(event.ts < start for event in each.events()) for each in buffer.cpus]
            if self.snapshot is not None
            else []
        )
        return counts if any(counts) else []

    # Snapshots

    def allocate_snapshot(self) -> None:
        """tracing_alloc_snapshot_instance(): a second buffer of the same sizes.  EBUSY while somebody reads it."""
        sizes = [each.nr_pages for each in self.buffer.cpus]
        now = [MIN_PAGES] * len(sizes) if self.snapshot is None else [each.nr_pages for each in self.snapshot.cpus]
        if self.snapshot_readers and now != sizes:
            raise KernelError(EBUSY, "the snapshot is being read")
        if self.snapshot is None:
            self.snapshot = RingBuffer(self.host.nr_cpus, self.host.block, EMPTY_KB, self.buffer.overwrite)
        for mine, other in zip(self.snapshot.cpus, self.buffer.cpus):
            mine.nr_pages = other.nr_pages

    def kept_from(self, size_kb: int, cpu: int | None) -> bool:
        """May a buffer not have another size, as somebody reads it?  ring_buffer_resize(): EBUSY."""
        buffers = [self.buffer] if self.readers else []
        if self.snapshot is not None and self.snapshot_readers:
            buffers.append(self.snapshot)
        return any(buffer.changes(size_kb, cpu) for buffer in buffers)

    def take_snapshot(self) -> None:
        """tracing_snapshot(): the buffers change places; without a second one, tracing stops."""
        if self.snapshot is None:
            self.print_entry(0, "*** SNAPSHOT NOT ALLOCATED ***\n")
            self.print_entry(0, "*** stopping trace here!   ***\n")
            self.buffer.recording = False
            return
        if self.condition is None:
            self.swap()

    def swap(self, cpu: int | None = None) -> None:
        """update_max_tr(), or of one CPU update_max_tr_single()."""
        if self.snapshot is None or self.buffer.stopped:
            return
        self.snapshot_start = self.time_start
        if cpu is not None:
            self.buffer.exchange(self.snapshot, cpu)
            return
        self.snapshot.recording = self.buffer.recording
        self.buffer, self.snapshot = self.snapshot, self.buffer
        self.board.tasks.note(self.host)

    # trace_pipe

    def claim_pipe(self, cpu: int | None) -> None:
        """One reader per buffer: EBUSY while another has it open."""
        if cpu in self.pipe_open or (cpu is None and self.pipe_open) or None in self.pipe_open:
            raise KernelError(EBUSY, "trace_pipe is open already")
        self.pipe_open.add(cpu)

    # Options

    def set_option(self, text: str) -> None:
        """One word of trace_options: `name` or `noname`; also the current tracer's own.  EINVAL."""
        word = text.strip()
        name, on = (word[2:], False) if word.startswith("no") else (word, True)
        if name in self.options:
            self.set_flag(name, on)
        elif name in self.current.options:
            self.current.set_option(self, name, on)
        else:
            raise KernelError(EINVAL, f"no such option: {word}")

    def set_flag(self, name: str, on: bool) -> None:
        """set_tracer_flag()."""
        if self.options[name] == on:
            return
        if name == PRINTK_DEST:
            self.choose_printk(on)
            return
        self.options[name] = on
        self._note()
        if name in self.on_flag:
            self.on_flag[name](on)
        if name == "overwrite":
            self.buffer.overwrite = on
            if self.snapshot is not None:
                self.snapshot.overwrite = on

    def choose_printk(self, on: bool) -> None:
        """update_printk_trace(): it comes from the array that had it; who gives it up leaves it to the machine's own.

        EINVAL: the machine's own cannot give it up.
        """
        if not on and not self.name:
            raise KernelError(EINVAL, "only another trace array can take it away")
        board = self.board
        board.printk_holder[PRINTK_DEST] = False
        board.printk_holder = self.options if on else board.options
        board.printk_holder[PRINTK_DEST] = True

    def options_text(self) -> str:
        """The file trace_options: one `name` or `noname` a line."""
        flags = {**self.options, **self.current.options}
        return "".join(f"{'' if on else 'no'}{name}\n" for name, on in flags.items())

    def set_clock(self, name: str) -> None:
        """A word to trace_clock; the buffers are emptied.  EINVAL."""
        if name not in self.clocks:
            raise KernelError(EINVAL, f"no such clock: {name}")
        self.clock = name
        self._note()
        self.reset_all()

    def reset(self, cpu: int | None = None) -> None:
        """Writing to `trace` with O_TRUNC."""
        self.buffer.reset(cpu)
        if cpu is None:
            self.time_start = self.now()

    def reset_all(self) -> None:
        """The snapshot, too."""
        self.reset()
        self.snapshot_start = self.now() if self.board.features.snapshots else 0
        if self.snapshot is not None:
            self.snapshot.reset()

    def clock_text(self) -> str:
        """The file trace_clock: all clocks, the chosen one in brackets."""
        return " ".join(f"[{name}]" if name == self.clock else name for name in self.clocks) + "\n"

    def add_tracer(self, tracer: Tracer) -> None:
        """One more name for current_tracer."""
        self.tracers[tracer.name] = tracer

    def set_tracer(self, name: str) -> None:
        """A name to current_tracer.  EINVAL, EBUSY while a trace_pipe is open."""
        tracer = self.tracers.get(name)
        if tracer is None:
            raise KernelError(EINVAL, f"tracer {name} is not available")
        if tracer is self.current:
            return
        if self.pipe_open:
            raise KernelError(EBUSY, "trace_pipe is being read")
        self.current.stop(self)
        self.current = self.tracers["nop"]
        tracer.start(self)
        self.current = tracer

    def check_cpu(self, cpu: int) -> None:
        """ENODEV for a CPU that the machine has not."""
        if not 0 <= cpu < self.host.nr_cpus:
            raise KernelError(ENODEV, f"no CPU {cpu}")
