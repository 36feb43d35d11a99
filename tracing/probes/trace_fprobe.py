"""Probe events at functions' entries and returns (`f:`) and at tracepoints (`t:`).  kernel/trace/trace_fprobe.c.

They are callbacks of ftrace, not breakpoints: debugfs kprobes/list does not have them, enabled_functions does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from tracing.events.tracepoints import Tracepoint
from tracing.probes import compiled
from tracing.probes.args import ProbeArg
from tracing.probes.entry_data import EntryData
from tracing.probes.event import TraceProbe
from tracing.probes.kprobes import Kprobe, Kprobes, Kretprobe, KretprobeInstance
from tracing.probes.returns import LAST_RET
from tracing.probes.trace_kprobe import KprobeEvent
from tracing.record.recorder import Recorder
from tracing.record.stack import Reader, frames_of

STUB, STUB_SITE = "__probestub_", 4  # the function that a tracepoint's probe is attached to, and where ftrace calls it


class FprobeEvent(KprobeEvent):
    """Printed as that of a kprobe."""

    program_kind = "fprobe"

    def stack(self, regs: int, reader: Reader) -> list[int]:
        """At a tracepoint from its stub on."""
        first = self.probes[0]
        if isinstance(first, TraceTprobe):
            return [*self.called(), first.site, *self.host.stack_trace(0)]
        stack = super().stack(regs, reader)
        return stack if self.is_return or reader is not Reader.OPTION else [*self.called(), *stack]

    def called(self) -> list[int]:
        """What ftrace calls on the way to the event, where a stack begins there."""
        frames = frames_of(self.board) if self.board.features.fprobes_by_graph else None
        return [] if frames is None else [self.host.frame(name) for name in frames.fprobe]


class TraceFprobe(TraceProbe):
    """struct trace_fprobe at one function, or at all that a pattern names."""

    kind = "fprobe"
    letter = "f"

    def __init__(
        self, recorder: Recorder, kprobes: Kprobes, args: list[ProbeArg], is_return: bool, symbol: str,
        names: Sequence[str], maxactive: int,
    ) -> None:  # fmt: skip
        super().__init__(recorder, args, is_return)
        self.kprobes = kprobes
        self.symbol = symbol
        self.names = names
        self.maxactive = maxactive
        self.own_depth = self.held_depth = int(is_return or self.board.features.fprobes_by_graph)
        self.stays = not self.board.features.fprobes_by_graph
        self.entry_data = EntryData(self.board, args if is_return else ())
        self.returns: list[Kretprobe] = []
        self.legs: list[Kprobe] = []

    def register(self) -> None:
        """register_fprobe(): off, but called by ftrace from now on.  EINVAL."""
        address_of = self.host.symbols.address
        addresses = [address for name in self.names if (address := address_of(name)) is not None]
        if not self.names:
            raise KernelError(EINVAL, "no such function")
        for address in addresses:
            if self.is_return:
                rp = Kretprobe(self.returned, addr=address, maxactive=self.maxactive, disabled=True)
                self.entry_data.attach(self.kprobes, rp)
                rp.kp.users, rp.kp.stays = self.ftrace_users, self.stays
                self.kprobes.register_kretprobe(rp)
                self.entry_data.compile(self.kprobes, rp)
                self.returns.append(rp)
                self.legs.append(rp.kp)
            else:
                self.add_entry(address)

    def add_entry(self, address: int) -> None:
        """One function."""
        kp = Kprobe(lambda regs: self.dispatch(regs, (address,)), addr=address, disabled=True)
        kp.users, kp.stays = self.ftrace_users, self.stays
        kp.neighbours_changed = self.neighbours_changed
        self.legs.append(kp)
        self.kprobes.register(kp)

    def neighbours_changed(self) -> None:
        """Others came to its function, or left it."""
        depth = self.own_depth + any(self.kprobes.listed(kp.addr) for kp in self.legs)
        if depth != self.held_depth:
            self.held_depth = depth
            self.users_changed()

    def ftrace_users(self) -> Sequence[str]:
        """The function of its struct ftrace_ops."""
        if not self.board.features.fprobes_by_graph:
            return ("fprobe_handler",)
        return ("ftrace_graph_func",) if self.is_return else ("fprobe_ftrace_entry",)

    def returned(self, instance: KretprobeInstance, regs: int) -> object:
        """fexit_dispatcher()."""
        self.context.entry = self.entry_data.of(instance)
        return self.dispatch(regs, (instance.rp.kp.addr, instance.ret_addr))

    def users_changed(self) -> None:
        """The compiled form of a hit, where there is one."""
        if len(self.legs) != 1:
            return
        if self.returns:
            native = self.native_handler(self.after_programs, self.counts)
            self.kprobes.set_native_return(self.returns[0], native, self.after_return)
        else:
            after = self.kprobes.guarded(self.legs[0], self.after_programs)
            self.kprobes.set_native(self.legs[0], self.native_handler(after, self.counts))

    def native_place(self) -> compiled.Place | None:
        """The function, and at a return where the newest return address is kept."""
        return_at = ctypes.addressof(self.kprobes.returns.words) + 8 * LAST_RET if self.is_return else 0
        address = self.legs[0].addr
        return compiled.Place(address, return_at, True, self.board.word, self.event.head + self.event.body.size)

    def after_programs(self, regs: int) -> object:
        """What a hit does after its programs, in compiled form, have let the event through, or failed."""
        self.raise_failure()
        self.deliver(regs, (self.legs[0].addr,))
        return None

    def after_return(self, regs: int, ret_addr: int) -> object:
        """The same of a return."""
        self.raise_failure()
        self.deliver(regs, (self.legs[0].addr, ret_addr))
        return None

    def unregister(self) -> None:
        """unregister_fprobe()."""
        for kp in self.legs:
            self.kprobes.unregister(kp)

    def arm(self, kind: str) -> None:
        """enable_trace_fprobe()."""
        self.users.add(kind)
        for kp in self.legs:
            self.kprobes.enable(kp)

    def disarm(self, kind: str) -> None:
        """disable_trace_fprobe()."""
        self.users.discard(kind)
        if not self.users:
            for kp in self.legs:
                self.kprobes.disable(kp)

    def point(self) -> str:
        """SYM, SYM%return."""
        return self.symbol + ("%return" if self.is_return else "")

    def show(self) -> str:
        """trace_fprobe_show(): its line of dynamic_events."""
        most = str(self.maxactive) if self.is_return and self.maxactive else ""
        return f"{self.letter}{most}:{self.event.system}/{self.event.name} {self.point()}{self.args_show()}\n"

    def profile(self) -> str:
        """No file shows it."""
        return ""


class TraceTprobe(TraceProbe):
    """struct trace_fprobe at a tracepoint."""

    kind = "fprobe"

    def __init__(self, recorder: Recorder, args: list[ProbeArg], symbol: str, tracepoint: Tracepoint | None) -> None:
        super().__init__(recorder, args, False)
        self.symbol = symbol
        self.tracepoint = tracepoint
        self.place_flags, depth = (0, 0) if tracepoint is None else tracepoint.fired_with.held
        self.held_depth = depth + 1  # as the place holds it, and once more
        self.blind = not any(op.op in ("stack", "stackp") for arg in args for op in arg.ops)
        self.site = 0

    def register(self) -> None:
        """The stub is there from now on."""
        stub = self.host.frame(STUB + self.symbol)
        found = self.host.symbols.lookup(stub)
        self.site = stub if found is None else stub - found[1] + STUB_SITE

    def fired(self, *values: int) -> None:
        """The tracepoint's callback."""
        self.context.entry = values
        self.dispatch(self.host.caller_regs(self.blind), (self.site,), self.place_flags)

    def unregister(self) -> None:
        """It is off already."""

    def arm(self, kind: str) -> None:
        """tracepoint_probe_register()."""
        if not self.users and self.tracepoint is not None:
            self.tracepoint.add(self.fired)
        self.users.add(kind)

    def disarm(self, kind: str) -> None:
        """tracepoint_probe_unregister()."""
        self.users.discard(kind)
        if not self.users and self.tracepoint is not None:
            self.tracepoint.remove(self.fired)

    def point(self) -> str:
        """Its name."""
        return self.symbol

    def show(self) -> str:
        """trace_fprobe_show()."""
        return f"t:{self.event.system}/{self.event.name} {self.symbol}{self.args_show()}\n"

    def profile(self) -> str:
        """No file shows it."""
        return ""
