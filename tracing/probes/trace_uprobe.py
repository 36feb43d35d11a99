"""Probe events in files that programs map.  kernel/trace/trace_uprobe.c."""

from __future__ import annotations

from collections.abc import Hashable

from arch.errors import KernelError
from arch.tracefacts import EventFrames, Names
from tracing.face import TRACE_FLAG_IRQS_OFF
from tracing.probes.args import ProbeArg
from tracing.probes.event import ProbeEvent, TraceProbe
from tracing.probes.programs import counter
from tracing.probes.uprobes import Uprobe, UprobeConsumer, Uprobes
from tracing.record.event import FTRACE
from tracing.record.fields import COMMON_SIZE
from tracing.record.recorder import Recorder

UNCOUNTED = counter()  # returns are counted at the call


class UprobeEvent(ProbeEvent):
    """Printed as `NAME: (0xADDR) a=...`, a return as `NAME: (0xCALLER <- 0xFUNC) ...`."""

    program_kind = "uprobe"

    def line(self, record: bytes) -> str:
        """The whole event part of its trace line."""
        heads = self.heads.unpack_from(record, COMMON_SIZE)
        where = f"0x{heads[1]:x} <- 0x{heads[0]:x}" if self.is_return else f"0x{heads[0]:x}"
        return f"{self.name}: ({where}){self.args_text(record)}\n"

    def above(self, frames: EventFrames) -> Names:
        """The whole way from the breakpoint."""
        return (*frames.commit, *(frames.uretprobe if self.is_return else frames.uprobe))

    def perf_changed(self) -> None:
        """A perf event came or went: the address spaces of interest may differ."""
        for probe in self.probes:
            if isinstance(probe, TraceUprobe) and probe.uprobe is not None:
                probe.uprobes.refresh(probe.uprobe)


class TraceUprobe(TraceProbe):
    """struct trace_uprobe."""

    kind = "uprobe"

    def __init__(
        self, recorder: Recorder, uprobes: Uprobes, args: list[ProbeArg], is_return: bool, path: str, inode: Hashable,
        offset: int, ref_ctr_offset: int,
    ) -> None:  # fmt: skip
        super().__init__(recorder, args, is_return)
        self.uprobes = uprobes
        self.path = path
        self.inode = inode
        self.offset = offset
        self.ref_ctr_offset = ref_ctr_offset
        self.uprobe: Uprobe | None = None
        handler, ret_handler = (self.count_call, self.returned) if is_return else (self.hit, None)
        self.consumer = UprobeConsumer(handler, ret_handler, self.wants)
        if is_return:
            self.consumer.counter = self.counts

    def wants(self, mm: Hashable) -> bool:
        """uprobe_perf_filter(): everything for ftrace and system-wide perf events, else the tasks of perf events."""
        event = self.event
        if FTRACE in self.users or not event.perf_events:
            return bool(self.users)
        return any(perf_event.wants_mm(mm) for perf_event in event.perf_events)

    def users_changed(self) -> None:
        """The compiled form of hit(), where there is one."""
        if self.is_return:
            native = self.native_handler(self.after_programs, UNCOUNTED)
            self.uprobes.set_native_return(self.uprobe, self.consumer, native, self.after_return)
        else:
            self.uprobes.set_native(self.uprobe, self.consumer, self.native_handler(self.after_programs, self.counts))

    def after_programs(self, regs: int) -> object:
        """What hit() does after its programs, in compiled form, have let the event through, or failed."""
        self.raise_failure()
        ip = self.board.instruction_pointer(regs)
        self.context.base = ip - self.offset
        self.deliver(regs, (ip,), 0)
        return None

    def after_return(self, func: int, regs: int) -> object:
        """The same for returned()."""
        self.raise_failure()
        self.context.base = func - self.offset
        self.deliver(regs, (func, self.board.instruction_pointer(regs)), 0)
        return None

    def hit(self, regs: int) -> object:
        """uprobe_dispatcher()."""
        ip = self.board.instruction_pointer(regs)
        self.context.base = ip - self.offset
        return self.dispatch(regs, (ip,))

    def entry_header(self, flags: int) -> bytes:
        """What 6.1 writes is one less than the context word: nobody has turned preemption off here."""
        board, host = self.board, self.host
        if board.features.gen_ctx_dec_in_uprobes:
            word = host.irq_flags() << 16 | host.preempt_count()
            word = (word - board.preempt_count) & 0xFFFFFFFF
        else:  # no context at all: flags as they would be with a register of zeroes
            off = not board.features.context_word and not host.arch.traces.zero_flags_irqs_on
            word = TRACE_FLAG_IRQS_OFF << 16 if off else 0
        return board.pack_header(self.event.id, word >> 16, word & 0xFF, host.current_pid())

    def count_call(self, regs: int) -> object:
        """A return probe's hits are its function's calls, whether they return or not."""
        self.nhit += 1
        return None

    def returned(self, func: int, regs: int) -> object:
        """uretprobe_dispatcher(): `func` is the address of the function that returns."""
        ip = self.board.instruction_pointer(regs)
        self.context.base = func - self.offset
        self.nhit -= 1  # counted at the call
        return self.dispatch(regs, (func, ip))

    def arm(self, kind: str) -> None:
        """probe_event_enable(): EIO, EINVAL from uprobe_register()."""
        self.users.add(kind)
        if self.uprobe is None:
            try:
                self.uprobe = self.uprobes.register(self.inode, self.offset, self.consumer, self.ref_ctr_offset)
            except KernelError:
                self.users.discard(kind)
                raise
        else:
            self.uprobes.refresh(self.uprobe)

    def disarm(self, kind: str) -> None:
        """probe_event_disable()."""
        self.users.discard(kind)
        if self.uprobe is None:
            return
        if self.users:
            self.uprobes.refresh(self.uprobe)
        else:
            self.uprobes.unregister(self.uprobe, self.consumer)
            self.uprobe = None

    def point(self) -> str:
        """PATH:OFFSET(REF), the offset as wide as a pointer."""
        digits = 2 * self.board.word
        text = f"{self.path}:0x{self.offset:0{digits}x}"
        return text + (f"(0x{self.ref_ctr_offset:x})" if self.ref_ctr_offset else "")

    def show(self) -> str:
        """trace_uprobe_show(): its line of uprobe_events."""
        letter = "r" if self.is_return else "p"
        return f"{letter}:{self.event.system}/{self.event.name} {self.point()}{self.args_show()}\n"

    def matches_point(self, word: str) -> bool:
        """With the reference counter or without."""
        return word in (f"{self.path}:0x{self.offset:0{2 * self.board.word}x}", self.point())

    def unregister(self) -> None:
        """Disarmed for all."""
        for kind in tuple(self.users):
            self.disarm(kind)

    def profile(self) -> str:
        """Its line of uprobe_profile: path, name, hits."""
        return f"  {self.path} {self.event.name:<44} {self.nhit:15d}\n"
