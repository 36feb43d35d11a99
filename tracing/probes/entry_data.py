"""Arguments of a call that an event of its return shows: they are kept from its entry on.  trace_probe.c: store_trace_entry_data()."""

from __future__ import annotations

from collections.abc import Sequence

from tracing.board import Board
from tracing.probes.args import ProbeArg
from tracing.probes.kprobes import Kprobes, Kretprobe, KretprobeInstance


def entry_arguments(args: Sequence[ProbeArg]) -> int:
    """How many of the call's first arguments are to be kept."""
    return max((op.param + 1 for arg in args for op in arg.ops if op.op == "edata"), default=0)


class EntryData:
    """The entry handler of a return probe that keeps so many."""

    def __init__(self, board: Board, count: int) -> None:
        self.host = board.host
        self.layout = board.layout
        self.count = count

    def keep(self, instance: KretprobeInstance, regs: int) -> None:
        """A call begins."""
        arch, mem = self.host.arch, self.host.mem
        instance.data = tuple(arch.argument(mem, regs, index, self.layout) for index in range(self.count))

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
