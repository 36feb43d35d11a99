"""A verdict told: what failed where, how the register came to what it was, which rule that breaks and what satisfies it."""

from __future__ import annotations

import re
import textwrap
from collections import Counter

from arch.records import dataclass, field
from bpf.explain.path import COPIES, Step, Trail, history, read_log
from bpf.explain.rules import Rule, find

LINE_WIDTH = 100
LOG_LINES = 12  # of the kernel's own log, beside the explanation
HOT_SPOTS = 5
HISTORY = 12  # steps of a register's history
REGISTER = re.compile(r"\bR(\d+)\b")
BASE = re.compile(r"\(r(\d+) [+-]\d+\)")  # of a memory operand
PROCESSED = re.compile(
    r"processed (\d+) insns(?: \(limit (\d+)\))?"
    r"(?: max_states_per_insn (\d+) total_states (\d+) peak_states (\d+) mark_read (\d+))?"
)


@dataclass(frozen=True)
class Moment:
    """One step in the history of a register."""

    insn: int
    text: str
    source: str
    value: str  # what the verifier knew of the register afterwards


@dataclass
class Cost:
    """Where the verifier's work on a program went."""

    insns: int = 0  # processed
    limit: int = 1_000_000
    max_states: int = 0  # of one instruction
    total_states: int = 0
    peak_states: int = 0
    hot: list[tuple[int, str, str]] = field(default_factory=list)  # (visits, instruction, source line)


@dataclass
class Explanation:
    """All that can be said about one program."""

    message: str  # the verifier's last words; "" for an accepted program
    rule: Rule | None
    step: Step | None
    register: str  # "R0", or "" where the message is not about one
    value: str
    history: list[Moment]
    cost: Cost
    log: str

    @property
    def origin(self) -> str:
        """Where the failing value comes from, in a few words; "" where it is not known."""
        if not self.register:
            return f"instruction {self.step.insn}" if self.step is not None else "the program as a whole"
        if self.history:
            return f"instruction {self.history[0].insn}"
        return "the entry" if self.step is not None else ""


def explain(log: str) -> Explanation:
    """From a log (level 2, or what there is of it)."""
    trail = read_log(log)
    step = trail.last if trail.message else None
    number = failing_register(trail)
    moments: list[Moment] = []
    value = ""
    if step is not None and number is not None:
        name = f"R{number}"
        value = step.before.get(name, "")
        moments = [moment(each, step, number) for each in history(step.way()[:-1], number)][:HISTORY][::-1]
    register = "" if number is None else f"R{number}"
    rule = find(trail.message) if trail.message else None
    return Explanation(trail.message, rule, step, register, value, moments, cost(trail), log)


def failing_register(trail: Trail) -> int | None:
    """The register that the message is about, else the one that the failing instruction reads memory through."""
    if not trail.message:
        return None
    if match := REGISTER.search(trail.message):
        return int(match[1])
    if trail.last is not None and (match := BASE.search(trail.last.text)):
        return int(match[1])
    return None


def moment(each: Step, failing: Step, register: int) -> Moment:
    """A step of a history, with what became of the register whose value it was."""
    written = re.match(r"[rw](\d+) ", each.text)
    number = int(written[1]) if written else 0 if each.text.startswith("call ") else register
    value = each.after.get(f"R{number}", "")
    if COPIES.match(each.text) and not value:
        value = "a copy"
    return Moment(each.insn, each.text, each.source, value)


def cost(trail: Trail) -> Cost:
    """The last line of statistics, and the source lines that were gone over most."""
    out = Cost()
    for line in trail.statistics:
        if match := PROCESSED.search(line):
            numbers = [int(part) if part else 0 for part in match.groups()]
            out.insns, out.limit = numbers[0], numbers[1] or out.limit
            out.max_states, out.total_states, out.peak_states = numbers[2:5]
    texts = {step.insn: (step.text, step.source) for step in trail.steps}
    for insn, count in Counter(trail.visits()).most_common(HOT_SPOTS):
        out.hot.append((count, f"{insn}: {texts[insn][0]}", texts[insn][1]))
    return out


# -- text --------------------------------------------------------------------------------------------------------------


def paragraphs(text: str) -> list[str]:
    """Wrapped lines, indented."""
    return textwrap.wrap(text, LINE_WIDTH, initial_indent="  ", subsequent_indent="  ")


def rejected_text(found: Explanation) -> list[str]:
    """Lines for a rejected program."""
    out = [f"  {found.message or 'the verifier said nothing'}"]
    if found.step is not None:
        out.append(f"  at instruction {found.step.insn}: {found.step.text}")
        if found.step.source:
            out.append(f"      {found.step.source}")
    if found.register:
        out += ["", f"How {found.register} came to be {found.value or 'without a value'}"]
        out += history_lines(found)
    out += ["", "What the kernel demands"]
    if found.rule is None:
        out += paragraphs("This message has no explanation here yet; the kernel's log below is all there is.")
    else:
        out += paragraphs(found.rule.rule) + ["", "What satisfies it"] + paragraphs(found.rule.fix)
        out += [f"      {line}" for line in found.rule.example.split("\n") if line]
    return (
        out
        + ["", "The end of the kernel's log"]
        + [f"  {line}" for line in found.log.rstrip("\n").split("\n")[-LOG_LINES:]]
    )


def history_lines(found: Explanation) -> list[str]:
    """A register's history, oldest first."""
    if not found.history:
        where = (
            "it has held that since the program's entry"
            if found.value
            else "no instruction on this path has written it"
        )
        return [f"  {where}"]
    out, source = [], ""
    for each in found.history:
        if each.source and each.source != source:
            source = each.source
            out.append(f"  ; {source}")
        out.append(f"  {each.insn:>4}: {each.text:<40} {each.value}".rstrip())
    return out


def accepted_text(found: Explanation) -> list[str]:
    """Lines for an accepted program."""
    spent = found.cost
    share = 100 * spent.insns / spent.limit if spent.limit else 0
    out = [
        f"  the verifier went over {spent.insns} instructions ({share:.2g} % of its limit), kept {spent.total_states} states "
        f"(at most {spent.peak_states} at once, {spent.max_states} for one instruction)"
    ]
    if spent.hot and spent.hot[0][0] > 1:
        out.append("  gone over most often:")
        out += [f"  {count:>8} x {text:<44} {source}".rstrip() for count, text, source in spent.hot if count > 1]
    return out
