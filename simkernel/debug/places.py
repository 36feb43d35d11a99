"""Places in a run, why it stops there, and what a run is asked to do.  All of it travels between processes.

A *tick* is one instruction: of the CPU, or of a BPF program.  A stop at tick n is before the n-th instruction.  What happens
while an instruction of the kernel is executed (an event fires, a map changes) is its first, second, ... *hit*.
"""

from __future__ import annotations

import enum
from dataclasses import replace

from arch.records import dataclass, field
from simkernel.debug.breaks import Break


@dataclass(frozen=True, order=True)
class Place:
    """A moment of a run.  A machine of the same recipe is at the same place in the same state."""

    tick: int
    hit: int = 0

    def __str__(self) -> str:
        return f"{self.tick}.{self.hit}" if self.hit else str(self.tick)


class Kind(enum.Enum):
    """What comes next at a stop."""

    CPU = "cpu"  # an instruction of the CPU
    BPF = "bpf"  # an instruction of a BPF program
    HIT = "hit"  # the kernel is inside of an instruction: something happened
    END = "end"  # nothing: the run is over


@dataclass(frozen=True)
class BpfPlace:
    """Where a BPF program is."""

    program: str
    id: int
    insn: int
    depth: int  # functions of the program entered, and programs that ran inside
    run: int  # tick at which this run of the program began


@dataclass(frozen=True)
class Stop:
    """The machine stands still."""

    place: Place
    kind: Kind
    reason: str  # for a person: `breakpoint 2, vfs_read`
    number: int  # of the breakpoint; 0: none
    pc: int
    sp: int
    in_kernel: bool
    previous: int  # tick of the CPU's instruction before this place; 0: there is none
    time_ns: int
    cpu: int
    pid: int
    comm: str
    task: int  # address of the current struct task_struct
    bpf: BpfPlace | None = None
    breaks: tuple[Break, ...] = ()  # by which hits were counted

    def because(self, other: Stop) -> Stop:
        """This stop, with the reason of another."""
        return replace(self, reason=other.reason, number=other.number)


@dataclass(frozen=True)
class Rule:
    """The step that a run shall take: it ends at the first tick for which all of this is true."""

    kind: Kind | None = None
    pc: int | None = None
    min_sp: int = 0  # the stack has not grown below this
    task: int | None = None  # in this task only
    low: int = 0  # from this address ...
    high: int = 0  # ... to before this one; 0: anywhere
    max_depth: int | None = None  # of BPF functions ...
    run: int | None = None  # ... in this run of a program; any tick, when the run is over


class Mode(enum.Enum):
    """What breakpoints do."""

    STOP = "stop"
    NOTE = "note"  # the run goes on, and says at its end which was last
    PASS = "pass"  # they only count


@dataclass(frozen=True)
class Run:
    """Go on."""

    breaks: tuple[Break, ...] = ()
    mode: Mode = Mode.STOP
    until: Place | None = None  # at the latest
    rule: Rule | None = None
    keep: bool = True  # make checkpoints on the way


@dataclass(frozen=True)
class Noted:
    """The end of a run in Mode.NOTE: the last place where something stopped it."""

    last: Stop | None


@dataclass(frozen=True)
class Keep:
    """Make a checkpoint here."""


@dataclass(frozen=True)
class Kept:
    """A checkpoint was made; its link comes with this message."""

    place: Place
    pid: int  # of the process that goes on


@dataclass(frozen=True)
class Wake:
    """To a checkpoint: make a machine that goes on from here; its link comes with this message."""


@dataclass(frozen=True)
class Interrupt:
    """Stop soon."""


@dataclass(frozen=True)
class Answer:
    """What a question gave: a pickle made by simkernel.copies."""

    data: bytes = field(repr=False)
