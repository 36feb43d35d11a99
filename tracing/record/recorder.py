"""What the events of one machine share: the buffer they write to, and whose programs run on which CPU."""

from __future__ import annotations

import ctypes
from typing import Protocol
from weakref import WeakValueDictionary

from arch.native import Block, Word
from tracing.board import Board
from tracing.buffer.trace import TraceArray
from tracing.record.compiled import NativeRecords
from tracing.record.reader import Reader

CPU, FIRING = int(Word.CPU), int(Word.FIRING)
SCRATCH_SIZE = 8192  # PERF_MAX_TRACE_SIZE


class Firing(Protocol):
    """An event whose programs run: what its place in the kernel holds, for the columns of what they print."""

    held_flags: int  # TRACE_FLAG_*
    held_depth: int  # preempt_disable() depth
    handler_flags: int  # TRACE_FLAG_* of the probe's handler itself

    @property
    def programs_active(self) -> ctypes.Array[ctypes.c_uint64]: ...


def holds(event: Firing) -> int:
    """What a program's run adds to flags (from bit 8 on) and depth of what it prints.

    A kprobe's handler before 5.10: interrupts off, and one preempt_disable().
    """
    flags, depth = event.held_flags | event.handler_flags, event.held_depth + 1 + bool(event.handler_flags)
    return flags << 8 | depth


class Running:
    """Programs of the floor above that run now, one set of programs per CPU (bpf_prog_active)."""

    def __init__(self, nr_cpus: int, block: Block) -> None:
        self.active = (ctypes.c_uint64 * nr_cpus)()  # bpf(2) raises it, too, around updates of maps
        self.unguarded = (
            ctypes.c_uint64 * nr_cpus
        )()  # for programs of system calls that neither ask for it nor raise it
        self.event: list[Firing | None] = [None] * nr_cpus
        self.held = (ctypes.c_uint64 * nr_cpus)()  # holds() of those, for native code
        self.handlers: WeakValueDictionary[int, Firing] = WeakValueDictionary()  # by the words of compiled ones
        self.words = block.words
        self.misses = 0

    def begin(self, cpu: int, event: Firing | None) -> None:
        """Python starts the programs of an event there; None: they are done."""
        self.event[cpu] = event
        self.held[cpu] = 0 if event is None else holds(event)

    def firing(self, cpu: int) -> Firing | None:
        """The event whose programs run there, whoever started them."""
        event = self.event[cpu]
        if event is None and self.words[CPU] == cpu:
            return self.handlers.get(self.words[FIRING])
        return event


class Recorder:
    """Where records go, and where programs find their contexts."""

    def __init__(self, board: Board, array: TraceArray) -> None:
        self.board = board
        self.host = board.host
        self.array = array
        self.reader = Reader(board.host)
        self.running = Running(board.host.nr_cpus, board.host.block)
        self.native = NativeRecords(board)
        self._scratch: list[int] = []
        self._scratch_depth = 0

    def dump_stack(self, regs: int = 0) -> None:
        """A kernel stack trace into the buffer, from a probe's pt_regs or, where `regs` is 0, from here."""
        self.array.dump_stack(regs)

    def put_context(self, context: bytes) -> int:
        """Copy a program's context to kernel memory; its address, good until drop_context()."""
        addr = self.take_context()
        self.host.mem.write(addr, context + bytes(-len(context) % 8))
        return addr

    def take_context(self) -> int:
        """Where a program's context may be put until drop_context().  Contexts nest."""
        depth = self._scratch_depth
        if depth == len(self._scratch):
            self._scratch.append(self.host.mem.alloc(SCRATCH_SIZE))
        self._scratch_depth = depth + 1
        return self._scratch[depth]

    def first_context(self) -> int:
        """The one of a program that nothing surrounds."""
        if not self._scratch:
            self._scratch.append(self.host.mem.alloc(SCRATCH_SIZE))
        return self._scratch[0]

    def drop_context(self) -> None:
        """The program that got the newest context is done."""
        self._scratch_depth -= 1
