"""sys_enter_* and sys_exit_* events, derived from the kernel's declared system calls.  kernel/trace/trace_syscalls.c.

They hang on the raw tracepoints sys_enter and sys_exit, which fire for every number; one callback looks the number up.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from arch.architecture import Row
from arch.native.handler import NativeHandler, chosen_tier
from arch.tracefacts import EventFrames, Names
from tracing.events import native_syscalls
from tracing.events.tracepoints import Tracepoint
from tracing.record.assigned import point_values
from tracing.record.event import FTRACE, PERF, WARM_COMMITS, LazyEvent
from tracing.record.fields import Field, filter_assign_type
from tracing.record.recorder import Recorder
from tracing.record.registry import EventRegistry

Params = Sequence[tuple[str, str]]  # (C type, name) of a call's arguments


def field_type(ctype: str) -> str:
    """`const char __user *` -> `const char *`: blanks as the kernel's stringification leaves them."""
    text = re.sub(r"\s+", " ", re.sub(r"\s*\b__user\b", "", ctype)).strip()
    text = text.replace("**", "* *")
    return re.sub(r"(?<=\w)\*$", " *", text)


def argument(ctype: str, name: str, value: int, plain: bool = False) -> str:
    """`fd: 1`, `buf: 0x7ffe...`: numbers below ten are themselves; `plain` (before 6.19): all hexadecimal without 0x."""
    shown = f"{value:x}" if plain else f"{value if value < 10 else hex(value)}"
    return f"{ctype + ' ' if ctype else ''}{name}: {shown}"


class KnownCalls(Protocol):
    """What a real kernel says of the events of system calls."""

    def calls(self, numbers: Mapping[str, int]) -> Collection[str]:
        """Those with events, of a CPU with these numbers; none where nobody asked."""

    def parameters(self, call: str) -> Params:
        """Of one of them."""


class SyscallEvent(LazyEvent):
    """Common part: which call it is."""

    program_kind = "syscall"
    cap_any = True

    def __init__(self, recorder: Recorder, table: SyscallTable, side: str, syscall: str) -> None:
        super().__init__(recorder, "syscalls", f"sys_{side}_{syscall}")
        self.table = table
        self.syscall = syscall
        self.side = side
        self.start = -(-12 // self.board.word) * self.board.word  # of the first field after the number
        self.calls = 0  # that Python recorded
        self._native: Callable[[int, int], bool] | None = None
        self.runs = 0  # that Python put contexts together for
        self.starter: Callable[..., int | None] | None = None  # runs programs; None: Python has to

    @property
    def programs_active(self) -> ctypes.Array[ctypes.c_uint64]:
        running = self.recorder.running
        return running.unguarded if self.board.features.faultable_programs else running.active

    def left(self, frames: EventFrames) -> Names:
        """The entry code calls tracing from where it is."""
        return frames.syscall_inside

    def users_changed(self) -> None:
        self.calls, self._native = 0, None
        self.runs, self.starter = 0, None
        self.table.tell(self.side)

    def point_form(self, kind: str) -> NativeHandler | None:
        """What native callers call at a hit; None: Python does it."""
        if kind == FTRACE:
            if self._native is None or self.filter_program is not None:
                return None
            return native_syscalls.point_tracer(
                self.recorder.native, self.listeners[0], self.id, self.board.word, self.start, self.arguments()
            )
        if self.starter is None or self._compiled is None or any(user.sampling for user in self.perf_events):
            return None
        arguments = self.table.reader.arguments if self.side == "enter" else None
        return native_syscalls.point_starter(self.recorder, self._compiled, arguments, self._after_programs)

    def arguments(self) -> Sequence[Row] | None:
        """Where the arguments that a record holds are in struct pt_regs; None: it holds the result."""
        raise NotImplementedError

    def _after_programs(self, values: int) -> None:
        """Compiled programs let the event through, or one of them did not end well."""
        assert self._compiled is not None
        self._compiled.failed()
        regs, result, nr = point_values(values)
        if self.perf_events:
            self.deliver_to_perf(self.perf_bytes(regs, result, nr), regs)

    def perf_bytes(self, regs: int, result: int, nr: int) -> bytes:
        """A record for perf events."""
        raise NotImplementedError

    @property
    def record_depth(self) -> int:
        """Its place in the kernel holds preemption, or not."""
        return self.board.syscall_depth

    def warm(self, arguments: Sequence[Row] | None) -> None:
        """Python runs the programs: after some times, native code does."""
        self.runs += 1
        if self.runs == WARM_COMMITS[chosen_tier()] + 1 and self._compiled is not None:
            self.starter = native_syscalls.starter(self.recorder, self._compiled, arguments)
            self.table.tell(self.side)

    def recorded(self, what: int, nr: int) -> bool:
        """Has native code made the record?  `what`: struct pt_regs at the begin, the result at the end."""
        if self.filter_program is not None:
            return False
        if self._native is not None:
            return self._native(what, nr)
        self.calls += 1
        if self.calls == WARM_COMMITS[chosen_tier()] + 1 and len(self.listeners) == 1:
            self._native = self.compiled()
            self.table.tell(self.side)
            return self.recorded(what, nr) if self._native is not None else False
        return False

    def compiled(self) -> Callable[[int, int], bool] | None:
        """What makes the records of one trace array; None where Python does."""
        raise NotImplementedError

    def nr_field(self) -> Field:
        """The number's field, `nr` before 4.6."""
        name = "__syscall_nr" if self.board.features.syscall_nr_renamed else "nr"
        return Field("int", name, 8, 4, True)

    def packer(self, values: str) -> struct.Struct:
        """The number and then words: `values` in struct codes."""
        return struct.Struct(f"{self.board.order}i{self.start - 12}x{values}")

    def context_packer(self, values: str) -> struct.Struct:
        """What programs see: pt_regs pointer, number, words."""
        return struct.Struct(self.board.order + values)

    def reg(self, kind: str) -> None:
        """Listen to the raw tracepoint for this call."""
        self.table.listen(self.side, kind, self, True)

    def unreg(self, kind: str) -> None:
        """Listen no more."""
        self.table.listen(self.side, kind, self, False)


class SyscallEnterEvent(SyscallEvent):
    """sys_enter_NAME."""

    def __init__(self, recorder: Recorder, table: SyscallTable, syscall: str) -> None:
        super().__init__(recorder, table, "enter", syscall)

    @cached_property
    def params(self) -> Params:
        """(C type, name) of each argument."""
        return self.table.parameters(self.syscall)

    def lay_out(self) -> tuple[list[Field], str]:
        """The number, and a word for each argument.  trace_syscalls.c:syscall_enter_define_fields()."""
        word = self.board.word
        fields = [self.nr_field()]
        for index, (ctype, name) in enumerate(self.params):
            text = field_type(ctype)
            fields.append(Field(text, name, self.start + index * word, word, False, filter_assign_type(text)))
        texts = ", ".join(f"{name}: 0x%08lx" for _, name in self.params)
        values = "".join(f", ((unsigned long)(REC->{name}))" for _, name in self.params)
        return fields, f'"{texts}"{values}'

    @cached_property
    def layout(self) -> struct.Struct:
        """Packs the number and the arguments behind the common fields."""
        return self.packer(f"{len(self.params)}{'Q' if self.board.word == 8 else 'I'}")

    @cached_property
    def context_layout(self) -> struct.Struct:
        """struct syscall_tp_t: the registers' address takes 64 bits everywhere."""
        return self.context_packer("8Q" if self.board.word == 8 else "Q7I")

    def arguments(self) -> Sequence[Row]:
        return self.table.reader.arguments[: len(self.params)]

    def perf_bytes(self, regs: int, result: int, nr: int) -> bytes:
        return self.perf_record(nr, self.table.reader.syscall_args(regs))

    def compiled(self) -> Callable[[int, int], bool] | None:
        """With the arguments."""
        arguments = self.table.reader.arguments[: len(self.params)]
        if len(arguments) != len(self.params):
            return None
        file, word = self.listeners[0], self.board.word
        return native_syscalls.tracer(self.recorder.native, file, self.id, word, self.start, arguments)

    def record(self, nr: int, args: Sequence[int]) -> bytes:
        """A record of a call that begins now."""
        body: bytes = self.layout.pack(nr, *args[: len(self.params)])
        return self.header(self.record_depth) + body

    def line(self, record: bytes) -> str:
        """`sys_write(fd: 1, buf: 7ffe..., count: 6)`, all numbers hexadecimal."""
        _, *args = self.layout.unpack_from(record, 8)
        plain, verbose = not self.board.features.syscall_user_data, self.board.options["verbose"]
        pieces = [
            argument(ctype if verbose else "", name, value, plain) for (ctype, name), value in zip(self.params, args)
        ]
        return f"sys_{self.syscall}({', '.join(pieces)})\n"

    def above(self, frames: EventFrames) -> Names:
        """The way into the call."""
        return (*frames.syscall_commit, "ftrace_syscall_enter", *frames.syscall_enter)

    def trace(self, nr: int, args: Sequence[int], regs: int) -> None:
        """ftrace_syscall_enter(): into the trace."""
        if self.filter_program is not None and not self.filter_program.run_args(tuple(args[:6])):
            return
        if self.listeners:
            self.commit(self.record(nr, args))

    def perf_trace(self, nr: int, args: Sequence[int], regs: int) -> None:
        """perf_syscall_enter(): to programs and perf events."""
        if self.bpf_programs:
            self.warm(self.table.reader.arguments)
            context = self.context_layout.pack(regs, nr, *(args[:6]))
            if not self.run_bpf_on_context(context):
                return
        if self.perf_events:
            self.deliver_to_perf(self.perf_record(nr, args), regs)

    def perf_record(self, nr: int, args: Sequence[int]) -> bytes:
        """The record as perf events get it."""
        return self.record(nr, args)


class SyscallExitEvent(SyscallEvent):
    """sys_exit_NAME."""

    def __init__(self, recorder: Recorder, table: SyscallTable, syscall: str) -> None:
        super().__init__(recorder, table, "exit", syscall)

    def lay_out(self) -> tuple[list[Field], str]:
        """The number and the return value.  trace_syscalls.c:syscall_exit_define_fields()."""
        ret = Field("long", "ret", self.start, self.board.word, True)
        return [self.nr_field(), ret], '"0x%lx", REC->ret'

    @cached_property
    def layout(self) -> struct.Struct:
        """Packs the number and the return value behind the common fields."""
        return self.packer("q" if self.board.word == 8 else "i")

    @cached_property
    def context_layout(self) -> struct.Struct:
        """The same for a return: registers, number, value."""
        return self.context_packer("QQq" if self.board.word == 8 else "QIi")

    def above(self, frames: EventFrames) -> Names:
        """The way out of the call."""
        return (*frames.syscall_commit, "ftrace_syscall_exit", *frames.syscall_exit)

    def arguments(self) -> None:
        return None

    def perf_bytes(self, regs: int, result: int, nr: int) -> bytes:
        return self.record(nr, result - (1 << 64) if result >> 63 else result)

    def compiled(self) -> Callable[[int, int], bool] | None:
        """With the result."""
        return native_syscalls.tracer(
            self.recorder.native, self.listeners[0], self.id, self.board.word, self.start, None
        )

    def record(self, nr: int, ret: int) -> bytes:
        """A record of a call that returns now."""
        body: bytes = self.layout.pack(nr, ret)
        return self.header(self.record_depth) + body

    def line(self, record: bytes) -> str:
        """`sys_write -> 0x6`."""
        _, ret = self.layout.unpack_from(record, 8)
        mask = (1 << 8 * self.board.word) - 1
        return f"sys_{self.syscall} -> 0x{ret & mask:x}\n"

    def trace(self, nr: int, ret: int, regs: int) -> None:
        """ftrace_syscall_exit(): into the trace."""
        if self.filter_program is not None:
            if not self.filter_program.run_args((ret & 0xFFFFFFFFFFFFFFFF, 0, 0, 0, 0, 0)):
                return
        if self.listeners:
            self.commit(self.record(nr, ret))

    def perf_trace(self, nr: int, ret: int, regs: int) -> None:
        """perf_syscall_exit(): to programs and perf events."""
        if self.bpf_programs:
            self.warm(None)
            if not self.run_bpf_on_context(self.context_layout.pack(regs, nr, ret)):
                return
        if self.perf_events:
            self.deliver_to_perf(self.record(nr, ret), regs)


class EnterEvent(Protocol):
    """Makes the event of a call's begin."""

    def __call__(self, recorder: Recorder, table: SyscallTable, syscall: str) -> SyscallEnterEvent:
        """By the call's name."""


class SyscallTable:
    """Numbers to events, and the four callbacks on the raw tracepoints."""

    def __init__(
        self, recorder: Recorder, events: EventRegistry, tracepoints: Mapping[str, Tracepoint], known: KnownCalls,
        enter_event: EnterEvent,
    ) -> None:  # fmt: skip
        self.recorder = recorder
        self.enter_event = enter_event
        self.reader = recorder.reader
        self.tracepoints = tracepoints
        self.known = known
        self.calls: dict[str, Params] = {}
        self.numbers: dict[str, int] = {}
        self.by_number: dict[int, tuple[SyscallEnterEvent, SyscallExitEvent]] = {}
        self.listeners: dict[tuple[str, str], dict[str, SyscallEvent]] = {}
        self.forms: dict[tuple[str, str], native_syscalls.ByNumber] = {}
        self.callbacks = {
            ("enter", FTRACE): self._enter,
            ("exit", FTRACE): self._exit,
            ("enter", PERF): self._perf_enter,
            ("exit", PERF): self._perf_exit,
        }
        events.declare(self._events)

    def declare(self, calls: Sequence[tuple[str, Params]], numbers: dict[str, int]) -> None:
        """At boot: the calls that the kernel has, and their numbers; two numbers of one handler share its events."""
        self.calls = dict(reversed(calls))
        self.numbers = numbers

    def _events(self) -> list[SyscallEvent]:
        """Exit before enter, as the linker lays their metadata out."""
        out: list[SyscallEvent] = []
        for name in (*self.calls, *(name for name in self.known.calls(self.numbers) if name not in self.calls)):
            exit_event = SyscallExitEvent(self.recorder, self, name)
            enter = self.enter_event(self.recorder, self, name)
            out += (exit_event, enter)
            if name in self.numbers:
                self.by_number[self.numbers[name]] = (enter, exit_event)
        return out

    def parameters(self, call: str) -> Params:
        """As a real kernel shows them, or as the call is declared here."""
        return self.known.parameters(call) or self.calls.get(call, ())

    def name_of(self, nr: int) -> str | None:
        """get_syscall_name(): `sys_newfstat`."""
        pair = self.by_number.get(nr)
        return f"sys_{pair[0].syscall}" if pair is not None else None

    def listen(self, side: str, kind: str, event: SyscallEvent, on: bool) -> None:
        """A kind of user (FTRACE, PERF) wants an event, or wants it no more; the first and last (un)hook the raw tracepoint."""
        known = self.listeners.setdefault((side, kind), {})
        was = bool(known)
        if on:
            known[event.syscall] = event
        else:
            known.pop(event.syscall, None)
        tracepoint = self.tracepoints[f"sys_{side}"]
        if bool(known) != was:
            (tracepoint.add if known else tracepoint.remove)(self.callbacks[side, kind])
        self.tell(side)

    def tell(self, side: str) -> None:
        """Who listens to a side of calls has changed, or its compiled form has."""
        if not self.recorder.native.possible:
            return
        for kind in (FTRACE, PERF):
            known = self.listeners.get((side, kind))
            point = self.tracepoints[f"sys_{side}"]
            if not known:
                point.set_native(self.callbacks[side, kind], None)
                continue
            form = self.forms.get((side, kind))
            if form is None:
                form = self.forms[side, kind] = native_syscalls.ByNumber(self.recorder.native.big_endian)
            numbers = {
                self.numbers[name]: event.point_form(kind) for name, event in known.items() if name in self.numbers
            }
            form.listen(numbers, side == "exit")
            point.set_native(self.callbacks[side, kind], form.handler)

    def _args(self, regs: int) -> tuple[int, ...]:
        return self.reader.syscall_args(regs)

    def _enter(self, regs: int, nr: int) -> None:
        event = self._entered(FTRACE, nr)
        if event is not None and not event.recorded(regs, nr):
            event.trace(nr, self._args(regs), regs)

    def _perf_enter(self, regs: int, nr: int) -> None:
        event = self._entered(PERF, nr)
        if event is None:
            return
        answer = event.starter(regs, nr) if event.starter is not None else None
        if answer is None:
            event.perf_trace(nr, self._args(regs), regs)
        elif answer and event.perf_events:
            event.deliver_to_perf(event.perf_record(nr, self._args(regs)), regs)

    def _exit(self, regs: int, ret: int) -> None:
        nr = self.reader.syscall_nr(regs)
        event = self._left(FTRACE, nr)
        if event is not None and not event.recorded(ret, nr):
            event.trace(nr, ret, regs)

    def _perf_exit(self, regs: int, ret: int) -> None:
        nr = self.reader.syscall_nr(regs)
        event = self._left(PERF, nr)
        if event is None:
            return
        answer = event.starter(regs, nr, ret) if event.starter is not None else None
        if answer is None:
            event.perf_trace(nr, ret, regs)
        elif answer and event.perf_events:
            event.deliver_to_perf(event.record(nr, ret), regs)

    def _entered(self, kind: str, nr: int) -> SyscallEnterEvent | None:
        """The event of call `nr`, if that kind of user listens to it."""
        pair = self.by_number.get(nr)
        return pair[0] if pair is not None and pair[0].syscall in self.listeners.get(("enter", kind), {}) else None

    def _left(self, kind: str, nr: int) -> SyscallExitEvent | None:
        pair = self.by_number.get(nr)
        return pair[1] if pair is not None and pair[1].syscall in self.listeners.get(("exit", kind), {}) else None
