"""The verifier's log at level 2, read back: every instruction it looked at, the state behind it, and how it got there.

Understood are the forms of 4.1 (`0: R1=ctx R10=fp`), 5.10 (`0: R1=ctx(id=0,off=0,imm=0) R10=fp0` on lines of their own) and of
6.1 and later (`3: (07) r2 += -4    ; R2_w=fp-4`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from arch.records import dataclass, field

INSN = re.compile(r"^(?:(\d+): )?\s*(\d+): \(([0-9a-f]{2})\) (.*?)(?:\s+; (.*))?$")
STATE = re.compile(r"^(\d+): ((?:frame\d+: )?(?:R\d+|fp-\d+|caller).*)$")
FROM = re.compile(r"^from (\d+) to (\d+)( \(speculative execution\))?: ?(.*)$")
SAFE = re.compile(r"^(?:from \d+ to )?\d+: safe$")
MARK = re.compile(
    r"^(?:last_idx |parent |regs=|mark_precise|propagating|\d+: \(propagat|frame\d+: (?:last_idx|regs=|parent))"
)
STATISTICS = re.compile(
    r"^(?:processed \d+ insns|verification time|stack depth|func#|max_states|caller:|callee:|\(unchanged\)|insns processed)"
)
TOKEN = re.compile(r"(R\d+|fp-\d+)(?:_[rwD]+)*=((?:[^\s(]|\([^()]*(?:\([^()]*\)[^()]*)*\))*)")
FRAME = re.compile(r"^frame(\d+): ")
CALL = re.compile(r"^call ")
WRITES = re.compile(r"^[rw](\d+) (?:=|[-+*/%&|^]=|<<=|>>=|s>>=)")
COPIES = re.compile(r"^[rw](\d+) = [rw](\d+)$")

State = Mapping[str, str]  # register or stack slot -> what the verifier knows of it


@dataclass
class Step:
    """One instruction as the verifier went over it."""

    insn: int
    opcode: int
    text: str
    source: str  # the line of the program's source, "" where unknown
    before: State = field(repr=False)
    after: dict[str, str]
    parent: Step | None = field(repr=False)
    taken: bool = True  # reached by falling through or jumping from the parent, not resumed later
    frame: int = 0
    line: int = 0  # of the log

    def way(self) -> list[Step]:
        """From the program's entry to this step."""
        out = [self]
        while out[-1].parent is not None:
            out.append(out[-1].parent)
        return out[::-1]


@dataclass
class Trail:
    """A whole log."""

    steps: list[Step] = field(default_factory=list)
    message: str = ""  # the verifier's last words, "" for an accepted program
    before_message: list[str] = field(default_factory=list)  # lines between the last instruction and it
    statistics: list[str] = field(default_factory=list)
    entry: dict[str, str] = field(default_factory=dict)

    @property
    def last(self) -> Step | None:
        """The instruction that failed."""
        return self.steps[-1] if self.steps else None

    def visits(self) -> dict[int, int]:
        """Instruction -> how often the verifier went over it."""
        out: dict[int, int] = {}
        for step in self.steps:
            out[step.insn] = out.get(step.insn, 0) + 1
        return out


def read_state(text: str, known: State | None = None) -> dict[str, str]:
    """`R0=inv0 R1=ctx(off=0,imm=0) fp-8=mmmm????` over what was known."""
    state = dict(known or {})
    for name, value in TOKEN.findall(FRAME.sub("", text)):
        state[name] = value
    return state


def frame_of(text: str) -> int:
    """Number of the call frame a state belongs to."""
    match = FRAME.match(text)
    return int(match[1]) if match else 0


def read_log(log: str) -> Trail:
    """The steps of a log, each with the step before it on its own path."""
    trail = Trail()
    at: Step | None = None  # the step that the next one follows
    state: dict[str, str] = {}
    source = ""
    resumed: dict[int, list[Step]] = {}  # instruction -> its visits that have not been resumed yet, last at the end
    words: list[str] = []
    for place, line in enumerate(log.split("\n")):
        line = line.rstrip()
        if not line.strip() or SAFE.match(line) or MARK.match(line):
            continue
        if line.startswith(";"):
            source = line[1:].strip() or source
        elif match := INSN.match(line):
            words = []
            step = Step(int(match[2]), int(match[3], 16), match[4].strip(), source, state, dict(state), at)
            if match[5]:
                step.after = state = read_state(match[5], clobbered(step, state))
                step.frame = frame_of(match[5])
            else:
                step.after = state = clobbered(step, state)
            step.line = place
            trail.steps.append(step)
            resumed.setdefault(step.insn, []).append(step)
            at = step
        elif match := FROM.match(line):
            words = []
            visits = resumed.get(int(match[1]), [])
            at = visits.pop() if len(visits) > 1 else visits[-1] if visits else at
            state = read_state(match[4])
        elif match := STATE.match(line):
            state = read_state(match[2])
            if at is not None and words == []:
                at.after = state
            elif at is None:
                trail.entry = state
        elif STATISTICS.match(line):
            trail.statistics.append(line)
        else:
            words.append(line)
    *trail.before_message, trail.message = words or [""]
    return trail


def clobbered(step: Step, state: State) -> dict[str, str]:
    """A state after an instruction, before what the log says of it: a call forgets the argument registers."""
    out = dict(state)
    if CALL.match(step.text):
        for number in range(6):
            out.pop(f"R{number}", None)
    return out


def written(step: Step) -> int | None:
    """The register that an instruction writes."""
    if CALL.match(step.text):
        return 0
    match = WRITES.match(step.text)
    return int(match[1]) if match else None


def history(way: list[Step], register: int) -> Iterator[Step]:
    """The steps on a path, last first, that made a register's value: its writes, and where copies came from."""
    wanted = register
    for step in reversed(way):
        if written(step) == wanted:
            yield step
            copy = COPIES.match(step.text)
            if copy is not None:
                wanted = int(copy[2])
            elif re.match(r"^[rw]\d+ = ", step.text) or CALL.match(step.text):
                return
        elif CALL.match(step.text) and 1 <= wanted <= 5:
            yield step  # the call forgot it
            return
