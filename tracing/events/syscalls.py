"""sys_enter_* and sys_exit_* events, derived from the kernel's declared system calls.  kernel/trace/trace_syscalls.c.

They hang on the raw tracepoints sys_enter and sys_exit, which fire for every number; one callback looks the number up.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tracing.record.event import FTRACE, LazyEvent
from tracing.record.fields import Field, filter_assign_type

if TYPE_CHECKING:
    from tracing.system import Tracing


def field_type(ctype: str) -> str:
    """`const char __user *` -> `const char *`: blanks as the kernel's stringification leaves them."""
    text = re.sub(r"\s+", " ", re.sub(r"\s*\b__user\b", "", ctype)).strip()
    text = text.replace("**", "* *")
    return re.sub(r"(?<=\w)\*$", " *", text)


class SyscallEvent(LazyEvent):
    """Common part: which call it is."""

    is_syscall = True
    cap_any = True

    def __init__(self, tracing: Tracing, side: str, syscall: str) -> None:
        super().__init__(tracing, "syscalls", f"sys_{side}_{syscall}")
        self.syscall = syscall
        self.side = side
        self.start = -(-12 // tracing.word) * tracing.word  # of the first field after the number

    def nr_field(self) -> Field:
        name = "__syscall_nr" if self.tracing.features.syscall_nr_renamed else "nr"
        return Field("int", name, 8, 4, True)

    def packer(self, values: str) -> struct.Struct:
        """The number and then words: `values` in struct codes."""
        order = "<" if self.tracing.byteorder == "little" else ">"
        return struct.Struct(f"{order}i{self.start - 12}x{values}")

    def context_packer(self, values: str) -> struct.Struct:
        """What programs see: pt_regs pointer, number, words."""
        order = "<" if self.tracing.byteorder == "little" else ">"
        return struct.Struct(order + values)

    def reg(self, kind: str) -> None:
        self.tracing.syscalls.listen(self.side, kind, self, True)

    def unreg(self, kind: str) -> None:
        self.tracing.syscalls.listen(self.side, kind, self, False)


class SyscallEnterEvent(SyscallEvent):
    """sys_enter_NAME."""

    def __init__(self, tracing: Tracing, syscall: str, params: Sequence[tuple[str, str]]) -> None:
        self.params = list(params)
        super().__init__(tracing, "enter", syscall)

    def lay_out(self) -> tuple[list[Field], str]:
        word = self.tracing.word
        fields = [self.nr_field()]
        for index, (ctype, name) in enumerate(self.params):
            text = field_type(ctype)
            fields.append(Field(text, name, self.start + index * word, word, False, filter_assign_type(text)))
        texts = ", ".join(f"{name}: 0x%08lx" for _, name in self.params)
        values = "".join(f", ((unsigned long)(REC->{name}))" for _, name in self.params)
        return fields, f'"{texts}"{values}'

    @cached_property
    def layout(self) -> struct.Struct:
        return self.packer(f"{len(self.params)}{'Q' if self.tracing.word == 8 else 'I'}")

    @cached_property
    def context_layout(self) -> struct.Struct:
        return self.context_packer("8Q" if self.tracing.word == 8 else "8I")

    def record(self, nr: int, args: Sequence[int]) -> bytes:
        body: bytes = self.layout.pack(nr, *args[: len(self.params)])
        return self.header(1) + body

    def line(self, record: bytes) -> str:
        _, *args = self.layout.unpack_from(record, 8)
        pieces = (f"{name}: {value:x}" for (_, name), value in zip(self.params, args))
        return f"sys_{self.syscall}({', '.join(pieces)})\n"

    def trace(self, nr: int, args: Sequence[int], regs: int) -> None:
        if self.filter_program is not None and not self.filter_program.run_args(tuple(args[:6])):
            return
        if self.enabled or self.triggers:
            self.tracing.commit(self, self.record(nr, args))

    def perf_trace(self, nr: int, args: Sequence[int], regs: int) -> None:
        if self.bpf_programs:
            context = self.context_layout.pack(regs, nr, *(args[:6]))
            if not self.tracing.run_bpf_on_context(self, context):
                return
        if self.perf_events:
            self.tracing.perf_deliver(self, self.record(nr, args), regs)


class SyscallExitEvent(SyscallEvent):
    """sys_exit_NAME."""

    def __init__(self, tracing: Tracing, syscall: str) -> None:
        super().__init__(tracing, "exit", syscall)

    def lay_out(self) -> tuple[list[Field], str]:
        ret = Field("long", "ret", self.start, self.tracing.word, True)
        return [self.nr_field(), ret], '"0x%lx", REC->ret'

    @cached_property
    def layout(self) -> struct.Struct:
        return self.packer("q" if self.tracing.word == 8 else "i")

    @cached_property
    def context_layout(self) -> struct.Struct:
        return self.context_packer("QQq" if self.tracing.word == 8 else "IIi")

    def record(self, nr: int, ret: int) -> bytes:
        body: bytes = self.layout.pack(nr, ret)
        return self.header(1) + body

    def line(self, record: bytes) -> str:
        _, ret = self.layout.unpack_from(record, 8)
        mask = (1 << 8 * self.tracing.word) - 1
        return f"sys_{self.syscall} -> 0x{ret & mask:x}\n"

    def trace(self, nr: int, ret: int, regs: int) -> None:
        if self.filter_program is not None:
            if not self.filter_program.run_args((ret & 0xFFFFFFFFFFFFFFFF, 0, 0, 0, 0, 0)):
                return
        if self.enabled or self.triggers:
            self.tracing.commit(self, self.record(nr, ret))

    def perf_trace(self, nr: int, ret: int, regs: int) -> None:
        if self.bpf_programs:
            if not self.tracing.run_bpf_on_context(self, self.context_layout.pack(regs, nr, ret)):
                return
        if self.perf_events:
            self.tracing.perf_deliver(self, self.record(nr, ret), regs)


class SyscallTable:
    """Numbers to events, and the four callbacks on the raw tracepoints."""

    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing
        self.by_number: dict[int, tuple[SyscallEnterEvent, SyscallExitEvent]] = {}
        self.listeners: dict[tuple[str, str], dict[str, SyscallEvent]] = {}
        self.callbacks = {
            ("enter", FTRACE): self._enter,
            ("exit", FTRACE): self._exit,
            ("enter", "perf"): self._perf_enter,
            ("exit", "perf"): self._perf_exit,
        }

    def declare(self, calls: Sequence[tuple[str, Sequence[tuple[str, str]]]], numbers: dict[str, int]) -> None:
        """Make the events of the declared calls; exit before enter, as the linker lays their metadata out."""
        for name, params in calls:
            if self.tracing.events.get("syscalls", f"sys_exit_{name}") is not None:
                continue  # two numbers of one handler share its events
            exit_event = SyscallExitEvent(self.tracing, name)
            enter = SyscallEnterEvent(self.tracing, name, params)
            self.tracing.events.add(exit_event)
            self.tracing.events.add(enter)
            if name in numbers:
                self.by_number[numbers[name]] = (enter, exit_event)

    def listen(self, side: str, kind: str, event: SyscallEvent, on: bool) -> None:
        known = self.listeners.setdefault((side, kind), {})
        was = bool(known)
        if on:
            known[event.syscall] = event
        else:
            known.pop(event.syscall, None)
        tracepoint = self.tracing.tracepoints[f"sys_{side}"]
        if bool(known) != was:
            (tracepoint.add if known else tracepoint.remove)(self.callbacks[side, kind])

    def _args(self, regs: int) -> tuple[int, ...]:
        return self.tracing.reader.syscall_args(regs)

    def _enter(self, regs: int, nr: int) -> None:
        event = self._listening("enter", FTRACE, nr)
        if event is not None:
            event.trace(nr, self._args(regs), regs)  # type: ignore[attr-defined]

    def _perf_enter(self, regs: int, nr: int) -> None:
        event = self._listening("enter", "perf", nr)
        if event is not None:
            event.perf_trace(nr, self._args(regs), regs)  # type: ignore[attr-defined]

    def _exit(self, regs: int, ret: int) -> None:
        nr = self.tracing.reader.syscall_nr(regs)
        event = self._listening("exit", FTRACE, nr)
        if event is not None:
            event.trace(nr, ret, regs)  # type: ignore[attr-defined]

    def _perf_exit(self, regs: int, ret: int) -> None:
        nr = self.tracing.reader.syscall_nr(regs)
        event = self._listening("exit", "perf", nr)
        if event is not None:
            event.perf_trace(nr, ret, regs)  # type: ignore[attr-defined]

    def _listening(self, side: str, kind: str, nr: int) -> SyscallEvent | None:
        pair = self.by_number.get(nr)
        if pair is None:
            return None
        event = pair[0] if side == "enter" else pair[1]
        return event if event.syscall in self.listeners.get((side, kind), {}) else None
