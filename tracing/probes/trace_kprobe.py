"""Probe events in kernel text.  kernel/trace/trace_kprobe.c."""

from __future__ import annotations

import ctypes

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from arch.tracefacts import EventFrames, Names
from tracing.board import Board
from tracing.face import TRACE_FLAG_IRQS_OFF
from tracing.probes import compiled
from tracing.probes.args import ProbeArg
from tracing.probes.entry_data import EntryData
from tracing.probes.event import ProbeEvent, TraceProbe
from tracing.probes.kprobes import Kprobe, Kprobes, Kretprobe, KretprobeInstance
from tracing.probes.returns import LAST_RET
from tracing.record.fields import COMMON_SIZE
from tracing.record.recorder import Recorder
from tracing.record.stack import Reader


def flags_of_handler(board: Board, is_return: bool) -> int:
    """TRACE_FLAG_* of an event of a probe, beside those of what it interrupted."""
    traps = board.host.arch.traces.kprobe_traps and not is_return
    return TRACE_FLAG_IRQS_OFF if traps or not board.features.irqs_on_in_ftrace_probes else 0


class KprobeEvent(ProbeEvent):
    """Printed as `NAME: (SYM+OFF/SIZE) a=...`, a return as `NAME: (CALLER+OFF/SIZE <- FUNC) ...`."""

    program_kind = "kprobe"

    def __init__(self, recorder: Recorder, group: str, name: str, args: list[ProbeArg], is_return: bool) -> None:
        super().__init__(recorder, group, name, args, is_return)
        self.handler_flags = flags_of_handler(self.board, is_return)

    def above(self, frames: EventFrames) -> Names:
        """From the probed instruction, or the return, to the event."""
        if self.is_return:
            return (*frames.commit, *frames.kretprobe)
        several = any(probe.shares_its_place for probe in self.probes if isinstance(probe, TraceKprobe))
        return (*frames.commit, *frames.kprobe, *(("aggr_pre_handler",) if several else ()), *frames.kprobe_trap)

    def stack(self, regs: int, reader: Reader) -> list[int]:
        """The option begins with the probe's registers."""
        return self.host.stack_trace(regs) if reader is Reader.OPTION else super().stack(regs, reader)

    def line(self, record: bytes) -> str:
        """The whole event part of its trace line."""
        addresses = self.board.addresses
        heads = self.heads.unpack_from(record, COMMON_SIZE)
        if self.is_return:
            func, ret_ip = heads
            found = self.host.symbols.lookup(func)
            where = f"{addresses.traced(ret_ip, True)} <- {found[0] if found else ''}"
        else:
            where = addresses.traced(heads[0], True)
        return f"{self.name}: ({where}){self.args_text(record)}\n"


class TraceKprobe(TraceProbe):
    """struct trace_kprobe."""

    kind = "kprobe"

    def __init__(
        self, recorder: Recorder, kprobes: Kprobes, args: list[ProbeArg], is_return: bool, symbol: str, offset: int,
        addr: int, maxactive: int,
    ) -> None:  # fmt: skip
        super().__init__(recorder, args, is_return)
        self.kprobes = kprobes
        self.symbol = symbol
        self.offset = offset
        self.addr = addr
        self.waits_for_module = False
        self.held_flags = flags_of_handler(self.board, is_return)
        self.rp: Kretprobe | None = None
        self.entry_data = EntryData(self.board, args if is_return else ())
        if is_return:
            self.rp = Kretprobe(self.returned, symbol or None, addr, maxactive, disabled=True)
            self.entry_data.attach(kprobes, self.rp)
            self.kp = self.rp.kp
            self.kp.offset = offset
        else:
            self.kp = Kprobe(self.hit, symbol or None, offset, addr, disabled=True)
            self.kp.neighbours_changed = self.neighbours_changed

    def neighbours_changed(self) -> None:
        """Others came to its function, or left it: ftrace calls it with preemption held, or alone."""
        depth = int(self.kprobes.on_ftrace(self.kp) and self.kprobes.listed(self.kp.addr))
        if depth != self.held_depth:
            self.held_depth = depth
            self.users_changed()

    def users_changed(self) -> None:
        """The compiled form of hit(), where there is one."""
        if self.rp is None:
            after = self.kprobes.guarded(self.kp, self.after_programs)
            self.kprobes.set_native(self.kp, self.native_handler(after, self.counts))
        else:
            native = self.native_handler(self.after_programs, self.counts)
            self.kprobes.set_native_return(self.rp, native, self.after_return)

    def native_place(self) -> compiled.Place | None:
        """The probed address, and at a return where the newest return address is kept."""
        return_at = ctypes.addressof(self.kprobes.returns.words) + 8 * LAST_RET if self.is_return else 0
        return compiled.Place(self.kp.addr, return_at, True, self.board.word, self.event.head + self.event.body.size)

    def after_programs(self, regs: int) -> object:
        """What hit() does after its programs, in compiled form, have let the event through, or failed."""
        self.raise_failure()
        self.deliver(regs, (self.kp.addr,), self.held_flags)
        return None

    def after_return(self, regs: int, ret_addr: int) -> object:
        """The same for returned()."""
        self.raise_failure()
        self.deliver(regs, (self.kp.addr, ret_addr), self.held_flags)
        return None

    def hit(self, regs: int) -> object:
        """kprobe_dispatcher()."""
        return self.dispatch(regs, (self.kp.addr,), self.held_flags)

    def returned(self, instance: KretprobeInstance, regs: int) -> object:
        """kretprobe_dispatcher()."""
        self.context.entry = self.entry_data.of(instance)
        return self.dispatch(regs, (self.kp.addr, instance.ret_addr), self.held_flags)

    @property
    def shares_its_place(self) -> bool:
        """Other probes are registered at its address."""
        return len(self.kprobes.sites.get(self.kp.addr, ())) > 1

    @property
    def nmissed(self) -> int:
        """What kprobe_profile shows; 6.1 adds a return probe's own misses."""
        own = self.rp.nmissed if self.rp is not None and self.board.features.dynamic_events else 0
        return self.kp.nmissed + own

    def register(self) -> None:
        """__register_trace_kprobe().  EINVAL, ENOENT, EILSEQ."""
        self.check_traced()
        if self.rp is not None:
            self.kprobes.register_kretprobe(self.rp)
            self.entry_data.compile(self.kprobes, self.rp)
        else:
            self.kprobes.register(self.kp)

    def check_traced(self) -> None:
        """within_notrace_func(): where no tracer may be, no event's probe may, either.  EINVAL."""
        start = self.addr if not self.symbol else self.host.symbols.address(self.symbol)
        found = self.host.symbols.lookup(start + self.offset) if start is not None else None
        name = found[0] if found is not None else self.symbol
        if self.kprobes.refused(name):
            if not self.kprobes.traced(name):
                self.host.pr(4, f"trace_kprobe: Could not probe notrace function {name}")
            raise KernelError(EINVAL, f"{name} is not for probes")

    def unregister(self) -> None:
        """__unregister_trace_kprobe()."""
        self.kprobes.unregister(self.kp)

    def arm(self, kind: str) -> None:
        """enable_trace_kprobe()."""
        self.users.add(kind)
        if self.kp.registered:
            self.kprobes.enable(self.kp)

    def disarm(self, kind: str) -> None:
        """disable_trace_kprobe()."""
        self.users.discard(kind)
        if not self.users and self.kp.registered:
            self.kprobes.disable(self.kp)

    def point(self) -> str:
        """SYM+OFF, or the address."""
        if not self.symbol:
            return f"0x{self.board.addresses.pointer(self.addr)}"
        return f"{self.symbol}+{self.offset}" if self.offset else self.symbol

    def show(self) -> str:
        """trace_kprobe_show(): its line of kprobe_events."""
        letter = "r" if self.is_return else "p"
        if self.rp is not None and self.board.features.maxactive and self.rp.maxactive:
            letter += str(self.rp.maxactive)
        return f"{letter}:{self.event.system}/{self.event.name} {self.point()}{self.args_show()}\n"

    def profile(self) -> str:
        """Its line of kprobe_profile: name, hits, misses."""
        return f"  {self.event.name:<44} {self.nhit:15d} {self.nmissed:15d}\n"
