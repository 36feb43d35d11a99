"""The verifier's walk over a program, event by event: the state behind each instruction, where a path was taken up again, where
one was cut and what it was compared with, and which registers had to be known precisely.

The walk is read from the kernel's own log at level 2; what a cut path was compared with, which no kernel tells, the verifier says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from arch.abi.errno import errno_name
from arch.abi.version import KernelVersion
from arch.records import dataclass, field
from bpf.explain.path import FROM, MARK, SAFE, Step, read_log, read_state
from bpf.verifier.api import OnPrune
from bpf.verifier.log.log import BPF_LOG_LEVEL2
from simkernel.verify_object import ObjectError, verify_object

Compared = list[tuple[list[str], str, str]]  # see bpf/verifier/api.py:OnPrune
_NUMBER = re.compile(r"^(?:inv|scalar|-?\d|0x)")
_EXACT = re.compile(r"^(?:inv)?P")
_CUT = re.compile(r"^(?:from (\d+) to )?(\d+): safe$")
_BEFORE = re.compile(r"before (\d+): ")


@dataclass(frozen=True)
class Went:
    """The verifier went over an instruction."""

    step: Step

    @property
    def insn(self) -> int:
        return self.step.insn

    def lines(self) -> Iterator[str]:
        step = self.step
        changed = [f"{name}={value}" for name, value in step.after.items() if step.before.get(name) != value]
        gone = [name for name in step.before if name not in step.after]
        yield f"{step.insn:>4}: {step.text}" + (f"    ; {' '.join(changed)}" if changed else "")
        if gone:
            yield f"      forgets {' '.join(gone)}"


@dataclass(frozen=True)
class TakenUp:
    """A branch that was put off is walked now."""

    origin: int
    insn: int
    speculative: bool

    def lines(self) -> Iterator[str]:
        what = "as a CPU might that guesses wrong" if self.speculative else "the branch that was put off"
        yield f"from {self.origin} to {self.insn}: {what}"


@dataclass(frozen=True)
class Cut:
    """A path ends: from here on it can do nothing that an explored one did not."""

    insn: int
    compared: Compared | None

    def lines(self) -> Iterator[str]:
        yield f"{self.insn:>4}: cut here, what follows has been found safe"
        if self.compared is not None and not any(names for names, _, _ in self.compared):
            yield "      nothing that was set before is read further on"
        for frame, (names, old, new) in enumerate(self.compared or ()):
            before, after = read_state(old), read_state(new)
            prefix = f"frame {frame}: " if len(self.compared or ()) > 1 else ""
            for name in names:
                yield f"      {prefix}{name} is read further on: {covered(before.get(name, '?'), after.get(name, '?'))}"


def covered(then: str, now: str) -> str:
    """Why a value of this path is covered by the explored one."""
    if then == now:
        return f"{now}, as then"
    if _EXACT.match(then):
        return f"{now} lies within {then}"
    if _NUMBER.match(then):
        return f"{now} now, {then} then: it was not needed precisely, so any number does"
    return f"{now} now, {then} then"


@dataclass
class Precise:
    """A number has to be known exactly: the verifier goes back over the path and marks what it came from."""

    insn: int  # where that was found
    log: list[str] = field(default_factory=list)

    def marked(self) -> list[int]:
        """The instructions it went back over."""
        return [int(match[1]) for line in self.log if (match := _BEFORE.search(line))]

    def lines(self) -> Iterator[str]:
        yield f"{self.insn:>4}: a number has to be precise here; back over " + (
            ", ".join(map(str, self.marked())) or "no instruction"
        )
        yield from (f"      {line}" for line in self.log)


Event = Went | TakenUp | Cut | Precise
NAMES: dict[type[Event], str] = {Went: "went", TakenUp: "taken_up", Cut: "cut", Precise: "precise"}


@dataclass
class Walk:
    """One program's."""

    name: str
    section: str
    ret: int
    events: list[Event]
    message: str
    statistics: list[str]

    def head(self) -> str:
        verdict = "accepted" if self.ret == 0 else f"rejected, {errno_name(-self.ret)}"
        return f"{self.name} ({self.section}): {verdict}"

    def lines(self) -> Iterator[str]:
        """The whole walk."""
        yield self.head()
        source = ""
        for event in self.events:
            if isinstance(event, Went) and event.step.source != source:
                source = event.step.source
                yield f"      ; {source}"
            yield from event.lines()
        if self.message:
            yield self.message
        yield from self.statistics

    def document(self) -> dict[str, object]:
        """The same for machines."""
        return {
            "name": self.name,
            "section": self.section,
            "ret": self.ret,
            "message": self.message,
            "statistics": self.statistics,
            "events": [
                {"event": NAMES[type(each)], "insn": each.insn, "lines": list(each.lines())} for each in self.events
            ],
        }


def walk_of(row: dict[str, object], compared: list[tuple[int, Compared]]) -> Walk:
    """From an answer of verify_object()."""
    log = str(row["log"] or "")
    trail = read_log(log)
    by_line = {step.line: step for step in trail.steps}
    cuts = iter(compared)
    events: list[Event] = []
    for place, line in enumerate(log.split("\n")):
        line = line.rstrip()
        if place in by_line:
            events.append(Went(by_line[place]))
        elif match := _CUT.match(line) if SAFE.match(line) else None:
            found = next(cuts, None)
            events.append(Cut(int(match[2]), found[1] if found is not None and found[0] == int(match[2]) else None))
        elif match := FROM.match(line):
            events.append(TakenUp(int(match[1]), int(match[2]), bool(match[3])))
        elif MARK.match(line):
            last = events[-1] if events else None
            if isinstance(last, Precise):
                last.log.append(line)
            else:
                events.append(Precise(last.insn if last is not None else 0, [line]))
    ret = row["ret"]
    assert isinstance(ret, int)
    return Walk(str(row["name"]), str(row["section"]), ret, events, trail.message if ret else "", trail.statistics)


def walks(path: Path, version: KernelVersion, arch: str) -> list[Walk]:
    """Of every program of an object.  ObjectError."""
    compared: dict[str, list[tuple[int, Compared]]] = {}

    def watch(name: str) -> OnPrune:
        rows = compared.setdefault(name, [])
        return lambda insn, found: rows.append((insn, found))

    rows = verify_object(path, version, arch, BPF_LOG_LEVEL2, on_prune=watch)
    return [walk_of(row, compared[row["name"]]) for row in rows]


class WalkCommands:
    """Step through a walk by commands, as through a program."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.at = 0
        self.done = False

    @property
    def number(self) -> int | None:
        """Of the event where it stands, from 1 on."""
        return self.at + 1 if self.walk.events else None

    def execute(self, line: str) -> Iterator[str]:
        """What a line gives."""
        words = line.split()
        if not words:
            return
        name, number = words[0], int(words[1]) if len(words) > 1 and words[1].isdigit() else None
        events = self.walk.events
        count = 1 if number is None else number
        match name:
            case "next" | "n" | "step" | "s":
                self.at = min(self.at + count, len(events) - 1)
            case "back" | "b":
                self.at = max(self.at - count, 0)
            case "goto":
                self._seek(range(len(events)), number)
            case "cut":
                self._seek_kind(Cut)
            case "precise":
                self._seek_kind(Precise)
            case "end":
                self.at = len(events) - 1
            case "state":
                yield from self._state()
                return
            case "way":
                yield from self._way()
                return
            case "quit" | "q":
                self.done = True
                return
            case "where" | "w":
                pass
            case _:
                yield "next [N], back [N], goto INSN, cut, precise, end, where, state, way, quit"
                return
        if not events:
            yield "the verifier has gone over no instruction"
            return
        yield f"[{self.at + 1} of {len(events)}]"
        yield from events[self.at].lines()

    def _seek(self, places: range, insn: int | None) -> None:
        """The first event at an instruction."""
        self.at = next((place for place in places if self.walk.events[place].insn == insn), self.at)

    def _seek_kind(self, kind: type[Cut] | type[Precise]) -> None:
        """The next event of a kind."""
        later = range(self.at + 1, len(self.walk.events))
        self.at = next((place for place in later if isinstance(self.walk.events[place], kind)), self.at)

    def _step(self) -> Step | None:
        """The last instruction that was gone over."""
        for event in reversed(self.walk.events[: self.at + 1]):
            if isinstance(event, Went):
                return event.step
        return None

    def _state(self) -> Iterator[str]:
        step = self._step()
        for name, value in (step.after if step is not None else {}).items():
            yield f"  {name}={value}"

    def _way(self) -> Iterator[str]:
        """The instructions of this path from the program's entry on."""
        step = self._step()
        yield " ".join(str(each.insn) for each in step.way()) if step is not None else ""


__all__ = ["Cut", "Event", "ObjectError", "Precise", "TakenUp", "Walk", "WalkCommands", "Went", "walk_of", "walks"]
