"""Arguments of a call that an event of its return shows: they are kept from its entry on.  trace_probe.c: store_trace_entry_data()."""

from __future__ import annotations

from collections.abc import Sequence

from arch.errors import Fault
from tracing.board import Board
from tracing.probes.args import ProbeArg
from tracing.probes.kprobes import Kprobes, Kretprobe, KretprobeInstance


class EntryData:
    """The entry handler of a return probe that keeps what its event shows."""

    def __init__(self, board: Board, args: Sequence[ProbeArg]) -> None:
        self.host = board.host
        self.layout = board.layout
        self.indexes = frozenset(op.param for arg in args for op in arg.ops if op.op == "edata")
        self.count = max(self.indexes, default=-1) + 1  # so many of the call's first arguments

    def keep(self, instance: KretprobeInstance, regs: int) -> None:
        """A call begins.  What lies beyond the stack is 0: regs_get_kernel_stack_nth()."""
        arch, mem = self.host.arch, self.host.mem
        kept = [0] * self.count
        for index in self.indexes:
            try:
                kept[index] = arch.argument(mem, regs, index, self.layout)
            except Fault:
                continue
        instance.data = tuple(kept)

    @staticmethod
    def of(instance: KretprobeInstance) -> Sequence[int]:
        """What was kept of the call that returns."""
        return instance.data if isinstance(instance.data, tuple) else ()

    def attach(self, kprobes: Kprobes, rp: Kretprobe) -> None:
        """Before the probe is registered."""
        if self.count:
            rp.entry_handler = self.keep
            rp.noted = self.count if self.count <= kprobes.returns.can_note() else 0

    def compile(self, kprobes: Kprobes, rp: Kretprobe) -> None:
        """Once it is."""
        if rp.noted:
            kprobes.note_natively(rp, kprobes.returns.is_native)
