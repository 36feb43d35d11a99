"""How much of what a real kernel says about programs is said here: asked afresh, compared, and the figures kept.

    python tests/oracle/agreement.py 6.12 'random, all kinds=mixed.json' 'its suite=tests/data/verifier_6_1_given.json.gz' \\
        --answers FOLDER --asking 'COMMAND {cases} {level} {out}' [--keep]

Each word is `LABEL=CASES`, a file of programs (reask.py says which files and what COMMAND does); `LABEL=CASES:COUNT` takes
the first so many.  Each file is asked at log level 1, every fourth program at level 2 too, in a second boot, which also tells
which results of test runs are the program's own.  The answers are put into FOLDER, where they are found the next time: without
--asking only they are compared.  --keep writes the figures to tests/data/agreement.json, one row for each label and kernel.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import reask

from arch.abi.version import KernelVersion
from bpf import board
from bpf.testing.case_files import CaseFile, check_row
from bpf.testing.cases import Options, Summary, compare, run_cases
from tests.tools.figures import keep

PART = 1000  # programs of one boot: one that takes the kernel down costs no more than that
OTHER_LEFTOVERS = (0x5A5A1234_0F0F4321, 0, (1 << 64) - 1, 0xFFFF8881_00000100)  # on stacks that nobody wrote
SECOND = 4  # one of so many is asked at level 2

Row = dict[str, Any]


def answered(kernel: str, label: str, cases: str, folder: Path, command: str | None) -> tuple[list[Row], Row]:
    """The programs with what the kernel said of them at both levels, and the maps that the file defines."""
    name, _, count = cases.partition(":")
    rows, maps = reask.load(Path(name))
    rows = [{key: value for key, value in row.items() if not key.startswith("answer")} for row in rows]
    rows = rows[: int(count)] if count else rows
    answers: Row = {}
    for start in range(0, len(rows), PART):
        kept = folder / f"{kernel}-{re.sub('[^a-z0-9]+', '_', label)}-{start}.json.gz"
        if not kept.exists():
            if command is None:
                sys.exit(f"{kept} is not there: --asking COMMAND")
            part = rows[start : start + PART]
            both = [reask.ask(command, part, maps, 1), reask.ask(command, part[::SECOND], maps, 2)]
            twice = {str(row["id"]) for row in both[1]}
            said = reask.merged(both, longest=None)
            for number, answer in said.items():  # what was left on the stack, addresses, time: two boots tell
                if number not in twice:
                    answer["runs"] = [[ret, None] for ret, _ in answer.get("runs") or []]
            kept.write_bytes(gzip.compress(json.dumps(said).encode(), 6, mtime=0))
        answers |= json.loads(gzip.decompress(kept.read_bytes()))
    return [{**row, "answer": answers[str(row["id"])]} for row in rows if str(row["id"]) in answers], maps


def held_against(kernel: str, rows: list[Row], maps: Row, jobs: int) -> tuple[Summary, Summary]:
    """The comparisons at level 1 (with test runs and rewriting) and, of those that were asked, at level 2."""
    file, few = (
        CaseFile("6.1", some, maps, kernel) for some in (rows, [row for row in rows if "log2" in row["answer"]])
    )
    for row in rows:
        check_row(row, "answers")
    first = Options(KernelVersion.parse(kernel), log_level=1, run=True, xlated=True)
    second = Options(KernelVersion.parse(kernel), log_level=2)
    ours = list(run_cases(file, first, jobs))
    leave_out_leftovers(file, first, ours)
    one = compare(file, first, ours)
    return one, compare(few, second, list(run_cases(few, second, jobs)))


def leave_out_leftovers(file: CaseFile, options: Options, ours: list[Row]) -> None:
    """A result that differs, and here is another one when other bytes were left on the stack, says nothing of the program."""
    suspects = [
        (row, mine)
        for row, mine in zip(file.rows, ours)
        if (row["answer"].get("runs") or []) != (mine.get("runs") or [])
    ]
    before = board.STACK_LEFTOVER
    others = []
    try:
        for board.STACK_LEFTOVER in OTHER_LEFTOVERS:
            others.append(
                list(run_cases(CaseFile("6.1", [row for row, _ in suspects], file.maps, file.kernel), options))
            )
    finally:
        board.STACK_LEFTOVER = before
    for other in others:
        for (row, mine), again in zip(suspects, other):
            said = row["answer"].get("runs") or []
            if said and len(said) == len(mine.get("runs", ())) == len(again.get("runs", ())):
                row["answer"]["runs"] = [
                    [ret, value if a == b else None] for (ret, value), a, b in zip(said, mine["runs"], again["runs"])
                ]


def figures(kernel: str, label: str, one: Summary, two: Summary) -> Row:
    """A row of the table."""
    return {
        "kernel": kernel,
        "what": label,
        "count": one.verdicts.compared,
        "unsound": len(one.wrongly_accepted),
        "verdict": one.verdicts.equal,
        "errno": one.errnos.equal,
        "log1": [one.logs.equal, one.logs.compared],
        "log2": [two.logs.equal, two.logs.compared],
        "runs": [one.runs.equal, one.runs.compared],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel")
    parser.add_argument("programs", nargs="+", metavar="LABEL=CASES")
    parser.add_argument("--answers", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--asking", metavar="COMMAND")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--shown", type=int, default=5, help="how many differences are printed")
    args = parser.parse_args()
    measured = []
    for word in args.programs:
        label, _, cases = word.partition("=")
        rows, maps = answered(args.kernel, label, cases, args.answers, args.asking)
        one, two = held_against(args.kernel, rows, maps, args.jobs)
        row = figures(args.kernel, label, one, two)
        measured.append(row)
        print(json.dumps(row), flush=True)
        for summary in (one, two):
            print("\n".join(summary.wrongly_accepted + summary.differences[: args.shown]), flush=True)
    if args.keep:
        keep("programs", measured)


if __name__ == "__main__":
    main()
