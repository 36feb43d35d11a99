"""Ask a real kernel recorded programs again, and keep its answers as test data.

    python tests/oracle/reask.py CASES.json.gz --kernel 5.10 --every 4 --out tests/data/answers_5_10_suite.json.gz \\
        --asking 'COMMAND {cases} {level} {out}'

CASES is a file of the 6.1 format (bpf/testing/cases.py).  COMMAND is anything that boots the kernel, loads each program
of the JSON file {cases} with log level {level}, test-runs those that load, and writes the same rows to {out}, each with its
`answer`: `ret`, `log1` or `log2`, `runs` and `xlated`.  It is asked once for each level; nothing else is known about it here.

What is written has no programs, only answers by the case's id and the name of CASES beside it:
`simkernel verify --cases` reads both, and takes the kernel from the file.  With --whole the programs are written, too: that is
for random ones, which `python tests/oracle/programs.py NAME 100 --seed 7 >CASES` (and its neighbours) make, and which are in no other file.

What a program returned is kept where two boots of the kernel agree about it: addresses, time and chance are not the program's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LEVELS = (1, 2)
LONGEST = 20_000  # characters of a log that is kept


def ask(command: str, rows: list[Row], maps: Row, level: int) -> list[Row]:
    """The rows with their answers at one log level."""
    with tempfile.TemporaryDirectory() as folder:
        cases, out = Path(folder, "cases.json"), Path(folder, "answers.json")
        cases.write_text(json.dumps({"maps": maps, "cases": rows} if maps else rows))
        words = {"cases": str(cases), "level": str(level), "out": str(out)}
        done = subprocess.run([word.format(**words) for word in shlex.split(command)])
        if (
            not out.exists()
        ):  # a program without an answer is a failure of COMMAND, too, and no reason to lose the others'
            done.check_returncode()
        answered = json.loads(out.read_text())
    return list(answered["cases"] if isinstance(answered, dict) else answered)


def merged(answers: list[list[Row]], longest: int | None = LONGEST) -> dict[str, Row]:
    """One answer for each id, with the logs of all levels (up to `longest`); a program that took the kernel down has none."""
    found: dict[str, Row] = {}
    for rows in answers:
        for row in rows:
            if row["answer"] is not None:
                answer = found.setdefault(str(row["id"]), {})
                runs = agreed(answer.get("runs", row["answer"].get("runs") or []), row["answer"].get("runs") or [])
                answer.update(row["answer"], runs=runs)
    for answer in found.values():
        for level in LEVELS:
            if longest is not None and len(answer.get(f"log{level}") or "") > longest:
                del answer[f"log{level}"]
    return found


def agreed(first: list[Any], second: list[Any]) -> list[Any]:
    """The results of test runs, None for a value that two boots do not agree about."""
    return [a if a == b else [a[0], None] for a, b in zip(first, second)]


def save_whole(path: Path, rows: list[Row], maps: Row, answers: dict[str, Row]) -> None:
    """Programs and answers together, with the maps that the file defines."""
    kept = [{**row, "answer": answers[str(row["id"])]} for row in rows if str(row["id"]) in answers]
    content = {"maps": maps, "cases": kept} if maps else kept
    path.write_bytes(gzip.compress(json.dumps(content, sort_keys=True, separators=(",", ":")).encode(), mtime=0))


def save(path: Path, kernel: str, cases: str, answers: dict[str, Row]) -> None:
    """The same bytes for the same answers."""
    text = json.dumps({"kernel": kernel, "cases": cases, "answers": answers}, sort_keys=True, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def load(path: Path) -> tuple[list[Row], Row]:
    """Rows and maps of a case file."""
    data = path.read_bytes()
    content = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    rows, maps = (content["cases"], content.get("maps", {})) if isinstance(content, dict) else (content, {})
    for number, row in enumerate(rows):
        row.setdefault("id", number)
    return rows, maps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--kernel", required=True, help="its version, as simkernel says it: 5.10")
    parser.add_argument("--every", type=int, default=1, help="keep one case of so many")
    parser.add_argument("--asking", required=True, metavar="COMMAND", help="with {cases}, {level} and {out}")
    parser.add_argument("--whole", action="store_true", help="write the programs, too")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rows, maps = load(args.cases)
    wanted = [{key: value for key, value in row.items() if not key.startswith("answer")} for row in rows[:: args.every]]
    answers = merged([ask(args.asking, wanted, maps, level) for level in LEVELS])
    if args.whole:
        save_whole(args.out, wanted, maps, answers)
    else:
        save(args.out, args.kernel, os.path.relpath(args.cases, args.out.parent), answers)
    print(f"{len(answers)} of {len(wanted)} programs answered by {args.kernel}")


if __name__ == "__main__":
    main()
