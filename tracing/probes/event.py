"""Events that are defined by writing a line, and the probes behind them.  kernel/trace/trace_probe.c, trace_dynevent.c.

One event may have several probes (struct trace_probe_event): they share name, arguments and users, and differ in place.
What a place is, trace_kprobe.py and trace_uprobe.py know.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import replace

from arch.errors import KernelError
from arch.native import Word
from arch.native.handler import NativeHandler, Tier, chosen_tier
from tracing.probes import compiled, programs
from tracing.probes.args import ProbeArg
from tracing.probes.fetch import FetchContext, Value, compile_fetch, print_values
from tracing.record.event import WARM_COMMITS, TraceEvent
from tracing.record.fields import COMMON_SIZE, Field, data_loc, filter_assign_type
from tracing.record.recorder import Recorder


class ProbeEvent(TraceEvent):
    """The event of one or several probes with the same name and arguments (struct trace_probe_event)."""

    dynamic = True

    def __init__(self, recorder: Recorder, group: str, name: str, args: list[ProbeArg], is_return: bool) -> None:
        self.args = args
        self.is_return = is_return
        word = recorder.board.word
        heads = self.head_names(is_return)
        self.head = COMMON_SIZE + word * len(heads)
        fields = [Field("unsigned long", head, COMMON_SIZE + i * word, word, False) for i, head in enumerate(heads)]
        for arg in args:
            fields.append(
                Field(
                    arg.ctype,
                    arg.name,
                    self.head + arg.offset,
                    arg.size,
                    arg.type.signed,
                    filter_assign_type(arg.ctype),
                    length_shown=False,
                )
            )
        super().__init__(recorder, group, name, fields, probe_print_fmt(args, heads))
        self.heads = struct.Struct(self.board.order + ("Q" if word == 8 else "I") * len(heads))
        codes = {1: "B", 2: "H", 4: "I", 8: "Q"}
        self.body = struct.Struct(self.board.order + "".join(f"{arg.count or 1}{codes[arg.type.size]}" for arg in args))
        self.probes: list[TraceProbe] = []

    def head_names(self, is_return: bool) -> tuple[str, ...]:
        """The addresses in front of the arguments."""
        return ("__probe_func", "__probe_ret_ip") if is_return else ("__probe_ip",)

    def reg(self, kind: str) -> None:
        """Arm all probes; if one fails, none."""
        done: list[TraceProbe] = []
        try:
            for probe in self.probes:
                probe.arm(kind)
                done.append(probe)
        except KernelError:
            for probe in done:
                probe.disarm(kind)
            raise

    def unreg(self, kind: str) -> None:
        """Disarm all probes."""
        for probe in self.probes:
            probe.disarm(kind)

    def users_changed(self) -> None:
        for probe in self.probes:
            probe.users_changed()

    def pack(self, heads: tuple[int, ...], values: list[Value]) -> bytes:
        """A record: the fixed arguments packed without alignment, strings after them.

        A `symstr` is counted without its NUL, so the next string takes that's place.  fetch_store_symstring()
        """
        flat: list[Value] = []
        tail = b""
        spare = b""
        end = self.head + self.body.size
        index = 0
        for arg in self.args:
            if not arg.dynamic:
                for _ in range(arg.count or 1):
                    flat.append(values[index])
                    index += 1
                continue
            for slot in range(arg.count or 1):
                data = values[index]
                index += 1
                if isinstance(data, bytes):
                    if arg.store == "symstr":
                        data, spare = data[:-1], spare + b"\0"
                    flat.append(data_loc(len(data), end))
                    tail += data
                    end += len(data)
                else:
                    flat.append(data_loc(0, self.head + arg.offset + 4 * slot))
        return self.heads.pack(*heads) + self.body.pack(*flat) + tail + spare

    def values(self, record: bytes) -> list[list[Value]]:
        """Back from a record: per argument its values, strings as bytes, None for a fault."""
        flat = list(self.body.unpack_from(record, self.head))
        out: list[list[Value]] = []
        for arg in self.args:
            count = arg.count or 1
            part, flat = flat[:count], flat[count:]
            if arg.dynamic:
                part = [bytes(record[loc & 0xFFFF :]).partition(b"\0")[0] if loc >> 16 else None for loc in part]
            out.append(part)
        return out

    def args_text(self, record: bytes) -> str:
        """` a=1 b=0x2`, as the trace shows it."""
        addresses = self.board.addresses
        pairs = zip(self.args, self.values(record))
        return "".join(f" {arg.name}={print_values(arg, values, addresses)}" for arg, values in pairs)


def probe_print_fmt(args: list[ProbeArg], heads: tuple[str, ...]) -> str:
    """trace_probe.c:__set_print_fmt()."""
    fmt = f"({' <- '.join(['%lx'] * len(heads))})" if heads else ""
    values = "".join(f", REC->{head}" for head in heads)
    for arg in args:
        one = arg.type.fmt
        fmt += f" {arg.name}={{{','.join([one] * arg.count)}}}" if arg.count else f" {arg.name}={one}"
        for index in range(arg.count or 1):
            name = f"{arg.name}[{index}]" if arg.count else arg.name
            values += f", __get_str({name})" if arg.type.is_string else f", REC->{name}"
    return f'"{fmt}"{values}'


def compare_arg_types(new: list[ProbeArg], old: list[ProbeArg]) -> int:
    """trace_probe_compare_arg_type(): 0, or the number (from 1) of the first argument that differs."""
    if len(new) != len(old):
        return min(len(new), len(old)) + 1
    for index, (a, b) in enumerate(zip(new, old)):
        if (a.type.name, a.count, a.name) != (b.type.name, b.count, b.name):
            return index + 1
    return 0


class TraceProbe:
    """One probe of an event (struct trace_probe)."""

    kind = ""
    event: ProbeEvent
    held_flags = 0  # TRACE_FLAG_* that its records show beside the host's
    held_depth = 0  # of preemption, the same

    def __init__(self, recorder: Recorder, args: list[ProbeArg], is_return: bool) -> None:
        self.recorder = recorder
        self.board = recorder.board
        self.host = recorder.host
        self.args = args
        self.is_return = is_return
        self.users: set[str] = set()  # FTRACE, PERF
        self.counts = programs.counter()
        self.context = FetchContext(recorder.board, self.kind != "uprobe")
        self.fetch = [compile_fetch(arg, self.context) for arg in args]

    @property
    def nhit(self) -> int:
        """How often it was hit."""
        return self.counts[0]

    @nhit.setter
    def nhit(self, count: int) -> None:
        self.counts[0] = count

    def users_changed(self) -> None:
        """Who listens to the event, or what its programs do, is another."""

    def native_handler(
        self, after: Callable[[int], object], counts: ctypes.Array[ctypes.c_uint64]
    ) -> NativeHandler | None:
        """A hit in compiled form, counted there: where a record goes into one trace, and to compiled programs.

        `after`: see NativeHandler.
        """
        event = self.event
        if event.filter_program is not None or not (event.listeners or event.perf_users):
            return None
        run = None
        if event.perf_users:
            codes = [program.native for program in event.bpf_programs]
            run = programs.handler(counts, codes, after, self.recorder, event=event)
            if run is not None and any(user.sampling for user in event.perf_events):
                run = replace(run, sight=None)  # a sample shows where the CPU is
            if run is None or not event.listeners:
                return run
        return self._recording_handler(after, run)

    def _recording_handler(self, after: Callable[[int], object], run: NativeHandler | None) -> NativeHandler | None:
        event, records, place = self.event, self.recorder.native, self.native_place()
        if place is None or len(event.listeners) != 1 or self.nhit < WARM_COMMITS[chosen_tier()]:
            return None
        words = records.event(event.listeners[0], event.id, self.held_flags, self.held_depth)
        if words is None:
            return None
        arch, layout = self.host.arch, self.board.layout
        guards = records.guards(event.listeners[0])
        return compiled.handler(
            words, place, self.args, arch, layout, self.counts, run, after, guards, records.big_endian
        )

    def native_place(self) -> compiled.Place | None:
        """What its records begin with; None if that is Python's to know."""
        return None

    def raise_failure(self) -> None:
        """Raise what ended a compiled program, if one failed."""
        words = self.host.block.words
        if words[Word.NATIVE_STATUS]:
            words[Word.NATIVE_STATUS] = 0
            for program in self.event.bpf_programs:
                if program.native is not None:
                    program.native.failed()

    def recompile(self) -> None:
        """After symbols were resolved."""
        self.fetch = [compile_fetch(arg, self.context) for arg in self.args]

    def values(self, regs: int) -> list[Value]:
        """All arguments of a hit, one after the other."""
        return [value for fetch in self.fetch for value in fetch(regs)]

    def arm(self, kind: str) -> None:
        """A kind of user (FTRACE, PERF) wants the hits."""
        raise NotImplementedError

    def disarm(self, kind: str) -> None:
        """That kind of user wants them no more."""
        raise NotImplementedError

    def point(self) -> str:
        """The probed place, as definitions name it."""
        raise NotImplementedError

    def matches_point(self, word: str) -> bool:
        """Does `word` of a deletion name this place?"""
        return word == self.point()

    def unregister(self) -> None:
        """The probe goes for good."""
        raise NotImplementedError

    def profile(self) -> str:
        """The line of kprobe_profile or uprobe_profile."""
        raise NotImplementedError

    def show(self) -> str:
        """The line of kprobe_events or uprobe_events."""
        raise NotImplementedError

    def args_show(self) -> str:
        """The arguments as they were written."""
        return "".join(f" {arg.name}={arg.text}" for arg in self.args)

    def same_definition(self, other: TraceProbe) -> bool:
        """Same place, same arguments."""
        return self.point() == other.point() and [a.text for a in self.args] == [a.text for a in other.args]

    def dispatch(self, regs: int, heads: tuple[int, ...], flags: int = 0) -> object:
        """A hit: to ftrace and to perf, whichever use the event."""
        event = self.event
        self.nhit += 1
        if self.nhit == WARM_COMMITS[Tier.AUTO] and event.listeners:
            self.users_changed()
        if event.listeners or event.filter_program is not None:
            self.to_ftrace(regs, heads, flags)
        if event.perf_users:
            self.to_perf(regs, heads, flags)
        return None

    def to_ftrace(self, regs: int, heads: tuple[int, ...], flags: int) -> None:
        """Into the trace, unless a program in the filter file says no."""
        event = self.event
        if event.filter_program is not None and not event.filter_program.run_regs(regs):
            return
        if event.listeners:
            record = self.entry_header(flags) + event.pack(heads, self.values(regs))
            event.commit(record, regs)

    def entry_header(self, flags: int) -> bytes:
        """struct trace_entry of a hit in the trace."""
        return self.event.header(self.held_depth, flags)

    def to_perf(self, regs: int, heads: tuple[int, ...], flags: int) -> None:
        """Programs run first, on whatever CPU and task the hit is; then the perf events get a sample."""
        event = self.event
        if event.bpf_programs and not event.run_bpf(regs):
            return
        self.deliver(regs, heads, flags)

    def deliver(self, regs: int, heads: tuple[int, ...], flags: int = 0) -> None:
        """A sample for the perf events."""
        event = self.event
        if event.perf_events:
            record = event.header(self.held_depth, flags) + event.pack(heads, self.values(regs))
            event.deliver_to_perf(record, regs, heads[-1])
