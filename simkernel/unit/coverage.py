"""Coverage of BPF programs: which instructions and which source lines ran, and how often.

    cov = m.coverage()                      before the object is loaded
    obj = m.load("tool.bpf.o"); ...
    cov.lines()["tool.bpf.c"][41]           how often line 41 ran
    cov.write("coverage")                   coverage/lcov.info and coverage/index.html

What is counted are the instructions that the kernel runs, after the verifier's rewriting; which line each belongs to says the
line_info that the object brought (clang -g).  A line ran as often as the first instruction of the most often run of its pieces:
what follows a piece without a row of its own (a register filled where two paths meet) may belong to no line, and must not
make one that was jumped over look as if it had run.  A line whose instructions the verifier took out because no path leads to
them stays, with 0.  The interpreter and compiled programs count alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

from arch.records import dataclass, field
from bpf.board import Bpf
from bpf.core.program import BpfProg
from bpf.face import Prog
from bpf.isa.disasm import insn_line
from bpf.isa.insn import BPF_LD_IMM64
from simkernel.unit.coverage_html import page


class CoverageError(ValueError):
    """Coverage that cannot be had: a sentence for a person."""


class InsnRow(TypedDict):
    """One instruction of a program."""

    index: int
    text: str
    count: int
    line: int  # of `file`; 0 where no line is known
    file: str


class ProgramRow(TypedDict):
    """One program, as often as it was loaded."""

    name: str
    insns: list[InsnRow]


class FunctionRow(TypedDict):
    """One function of a source file."""

    line: int
    count: int


@dataclass
class Report:
    """Counts by source, which can be added up over machines and processes."""

    lines: dict[str, dict[int, int]] = field(default_factory=dict)
    texts: dict[str, dict[int, str]] = field(default_factory=dict)  # source lines as BTF has them
    functions: dict[str, dict[str, FunctionRow]] = field(default_factory=dict)
    programs: dict[str, ProgramRow] = field(default_factory=dict)  # by name and tag

    def add(self, other: Report) -> None:
        """The counts of another one on top of these."""
        for file, counts in other.lines.items():
            mine = self.lines.setdefault(file, {})
            for line, count in counts.items():
                mine[line] = mine.get(line, 0) + count
        for file, texts in other.texts.items():
            self.texts.setdefault(file, {}).update(texts)
        for file, functions in other.functions.items():
            known = self.functions.setdefault(file, {})
            for name, row in functions.items():
                before = known.setdefault(name, {"line": row["line"], "count": 0})
                before["count"] += row["count"]
        for key, program in other.programs.items():
            there = self.programs.get(key)
            if there is None:
                self.programs[key] = {"name": program["name"], "insns": [{**insn} for insn in program["insns"]]}
                continue
            for old, new in zip(there["insns"], program["insns"], strict=True):
                old["count"] += new["count"]

    def percent(self) -> float:
        """Of all source lines that have instructions, how many ran; of all instructions where no line is known."""
        counts = [count for lines in self.lines.values() for count in lines.values()]
        counts = counts or [insn["count"] for program in self.programs.values() for insn in program["insns"]]
        return 100 * sum(count > 0 for count in counts) / len(counts) if counts else 0.0

    def lcov(self) -> str:
        """A tracefile as lcov's geninfo(1) describes it."""
        out = []
        for file, counts in sorted(self.lines.items()):
            out += ["TN:", f"SF:{located(file)}"]
            functions = sorted(self.functions.get(file, {}).items(), key=lambda row: (row[1]["line"], row[0]))
            out += [f"FN:{row['line']},{name}" for name, row in functions]
            out += [f"FNDA:{row['count']},{name}" for name, row in functions]
            out += [f"FNF:{len(functions)}", f"FNH:{sum(row['count'] > 0 for _, row in functions)}"]
            out += [f"DA:{line},{count}" for line, count in sorted(counts.items())]
            out += [f"LF:{len(counts)}", f"LH:{sum(count > 0 for count in counts.values())}", "end_of_record"]
        return "".join(line + "\n" for line in out)

    def text(self) -> str:
        """A line for each file, and one for each program."""
        rows = []
        for file, counts in sorted(self.lines.items()):
            missed = [line for line, count in sorted(counts.items()) if not count]
            rows.append((file, len(counts) - len(missed), len(counts), spans(missed)))
        for program in sorted(self.programs.values(), key=lambda each: each["name"]):
            ran = sum(insn["count"] > 0 for insn in program["insns"])
            rows.append((f"program {program['name']}", ran, len(program["insns"]), ""))
        width = max((len(row[0]) for row in rows), default=0)
        lines = []
        for name, ran, of, missing in rows:
            share = 100 * ran / of if of else 0
            what = "insns" if name.startswith("program ") else "lines"
            note = f"   not: {missing}" if missing else ""
            lines.append(f"{name:<{width}} {ran:6d} of {of:5d} {what} {share:4.0f} %{note}\n")
        return "".join(lines)

    def html(self) -> str:
        """One page that needs nothing else."""
        files = [(file, source_of(file, self.texts.get(file, {})), self.lines[file]) for file in sorted(self.lines)]
        programs = [
            (p["name"], [(i["index"], i["text"], i["count"], i["line"]) for i in p["insns"]])
            for p in sorted(self.programs.values(), key=lambda each: each["name"])
        ]
        return page(self.percent(), files, programs)

    def write(self, directory: str | Path) -> Path:
        """lcov.info and index.html into a directory, which is made; gives it."""
        out = Path(directory)
        out.mkdir(parents=True, exist_ok=True)
        (out / "lcov.info").write_text(self.lcov())
        (out / "index.html").write_text(self.html())
        return out


class Coverage:
    """`m.coverage()`: the programs that a machine has loaded since."""

    def __init__(self, bpf: Bpf) -> None:
        if bpf.progs.objects:
            raise CoverageError("ask for coverage before a BPF object is loaded")
        self.bpf = bpf
        self.loaded: list[BpfProg] = []
        bpf.counting = True
        bpf.on_loaded.append(self._loaded)

    def _loaded(self, prog: Prog) -> None:
        if isinstance(prog, BpfProg):
            self.loaded.append(prog)

    def report(self) -> Report:
        """What has run until now.  What a loader loads to find out about the kernel is left out."""
        out = Report()
        for prog in self.loaded:
            if prog.orig_line_info or prog.id in self.bpf.progs.objects:
                out.add(of_program(prog))
        return out

    def lines(self) -> dict[str, dict[int, int]]:
        """By file and line, how often it ran."""
        return self.report().lines

    def insns(self, name: str) -> list[tuple[str, int]]:
        """(instruction, how often it ran) of a program, as it was rewritten for running."""
        programs = [row for row in self.report().programs.values() if row["name"] == name]
        if not programs:
            raise CoverageError(f"no program named {name} was loaded since m.coverage()")
        return [(insn["text"], insn["count"]) for insn in programs[-1]["insns"]]

    def percent(self) -> float:
        """Of all source lines that have instructions."""
        return self.report().percent()

    def text(self) -> str:
        """A summary."""
        return self.report().text()

    def lcov(self) -> str:
        """A tracefile for lcov, genhtml and the services that read it."""
        return self.report().lcov()

    def html(self) -> str:
        """One page that needs nothing else."""
        return self.report().html()

    def write(self, directory: str | Path) -> Path:
        """lcov.info and index.html."""
        return self.report().write(directory)


def of_program(prog: BpfProg) -> Report:
    """The counts of one loaded program."""
    assert prog.counts is not None
    out = Report()
    btf = prog.btf
    rows = sorted(prog.verdict.line_info)
    starts = prog.verdict.subprog_starts or (0,)
    insns: list[InsnRow] = []
    at, index, skip = -1, 0, False
    for index, insn in enumerate(prog.insns):
        if skip:
            skip = False
            continue
        while at + 1 < len(rows) and rows[at + 1][0] <= index:
            at += 1
        file, line = "", 0
        if btf is not None and at >= 0:
            file, line = btf.string(rows[at][1]), rows[at][3] >> 10
        skip = insn.code == BPF_LD_IMM64
        text = insn_line(insn, prog.insns[index + 1].imm if skip else 0)
        count = prog.counts[index]
        insns.append({"index": index, "text": text, "count": count, "line": line, "file": file})
    out.programs[f"{prog.name} {prog.tag.hex()} {len(insns)}"] = {"name": full_name(prog), "insns": insns}
    if btf is not None:
        for _, file_off, line_off, line_col in (*prog.orig_line_info, *rows):
            if line_col >> 10:  # 0: the compiler's own
                out.lines.setdefault(btf.string(file_off), {}).setdefault(line_col >> 10, 0)
                out.texts.setdefault(btf.string(file_off), {})[line_col >> 10] = btf.string(line_off)
        for first, file_off, _, line_col in rows:
            if line_col >> 10:
                counts = out.lines[btf.string(file_off)]
                counts[line_col >> 10] = max(counts[line_col >> 10], prog.counts[first])
    by_index = {insn["index"]: insn for insn in insns}
    for start, name in zip(starts, prog.function_names(len(starts))):
        begin = by_index.get(start)
        if name and begin is not None and begin["line"]:
            out.functions.setdefault(begin["file"], {})[name] = {"line": begin["line"], "count": begin["count"]}
    return out


def full_name(prog: BpfProg) -> str:
    """The function's name, where BTF has it: a program's own is cut to 15 bytes."""
    names = prog.function_names(len(prog.verdict.subprog_starts or (0,)))
    return names[0] or prog.name or prog.tag.hex()


def located(file: str) -> str:
    """A path that readers of a tracefile find: absolute where the file is here."""
    path = Path(file)
    return str(path.resolve()) if path.is_file() else file.removeprefix("./")


def source_of(file: str, texts: dict[int, str]) -> dict[int, str]:
    """The file's lines; of a file that is not here, or another by now, those that BTF has."""
    try:
        lines = dict(enumerate(Path(file).read_text(errors="replace").splitlines(), 1))
    except OSError:
        return texts
    return lines if all(lines.get(number, "").strip() == text.strip() for number, text in texts.items()) else texts


def spans(numbers: Iterable[int]) -> str:
    """`3-5,9`"""
    out: list[list[int]] = []
    for number in numbers:
        if out and out[-1][1] == number - 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in out)
