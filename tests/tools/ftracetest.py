"""Run the kernel's own ftrace selftests in the simulated machine and compare each result with the real 6.1's.

    python tests/tools/ftracetest.py                   # all of them
    python tests/tools/ftracetest.py trigger hist -v   # those whose path holds one of the words, with their logs
    python tests/tools/ftracetest.py --run FILE --page # one whole run, which goes on where FILE says it was stopped
    python tests/tools/ftracetest.py --record FILE     # FILE: what ftracetest printed on a real 6.1; becomes the answers

The suite comes from Debian's package linux-source-6.1 and is unpacked into the user's cache, never into the project
($SIMKERNEL_SELFTESTS names an unpacked `tools/testing/selftests`).  Every test runs in a machine of its own, with busybox
as its only program.  In a new machine no event has a trigger or a filter; the suite looks through those of all 1,500 events before
each test and in many of them (70,000 system calls).  Without --whole it looks through those that the test names.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from foreign_packages import cache, unpack

PACKAGE = "linux-source-6.1"
SUITE = "tools/testing/selftests/ftrace"
ANSWERS = Path(__file__).parents[1] / "data/tracing/ftracetest_6_1.json"
KEPT = Path(__file__).parents[1] / "data/tracing/ftracetest_here.json"  # path, name, result of the last run of each
WHOLE = Path(__file__).parents[1] / "data/tracing/ftracetest_whole.jsonl"
PAGE = Path(__file__).parents[2] / "docs/ftracetest.md"
HEAD = """# The kernel's ftrace selftests

Made by `python tests/tools/ftracetest.py --page`.  The shell tests of `{SUITE}` (Debian's linux-source-6.1), unmodified, each in a
machine of its own with busybox as the only program, and again in a trace instance where the test says so; *there* is what the
same run gave on Debian's real 6.1.

All of them are from one run.  The tests are as they come; of the suite's own `functions` the two that clear the triggers and filters of
all 1,500 events before each test are left out, since each machine is new.  With `--whole` they are not:
`tests/data/tracing/ftracetest_whole.jsonl` has their results: {whole}.

{equal} of {total} results are as on the real kernel.

| test | | here | there | why it differs |
|---|---|---|---|---|
""".replace("{SUITE}", SUITE)
REASONS: dict[str, str] = {}  # by path: why a result differs
RESULT = re.compile(r"^\[\d+\]( \(instance\) )?\s*(.*?)\t\[(\w+)\]$", re.MULTILINE)


def suite() -> Path:
    """The unpacked suite; fetched when it is not there."""
    given = os.environ.get("SIMKERNEL_SELFTESTS")
    if given:
        return Path(given) / "ftrace"
    root = cache() / PACKAGE
    if not (root / ".complete").exists():
        (packed,) = unpack(root, PACKAGE).glob("usr/src/*.tar.xz")
        subprocess.run(["tar", "xJf", packed, "-C", root, "--strip-components=1", f"{PACKAGE}/{SUITE}"], check=True)
        packed.unlink()
        (root / ".complete").touch()
    return root / SUITE


def without_resets(root: Path, test: Path, where: Path) -> Path:
    """A copy of the suite that removes triggers of those events only whose directories the test names, and none before it."""
    copy = where / test.name
    shutil.copytree(root, copy, symlinks=True)
    functions = copy / "test.d/functions"
    text = re.sub(r"^    reset_(trigger|events_filter)$", "    :", functions.read_text(), flags=re.MULTILINE)
    named = sorted(set(re.findall(r"events/(\w+)/", test.read_text())) - {"synthetic"})
    some = " ".join(f"events/{system}/*/trigger" for system in named)
    functions.write_text(
        text.replace("reset_trigger_file events/*/*/trigger", f"reset_trigger_file {some}" if some else ":")
    )
    return copy


def results(text: str) -> dict[str, str]:
    """`description` or `description (instance)` -> PASS, FAIL, ..., from what ftracetest prints."""
    return {
        re.sub(r"\s+", " ", match[2]).strip() + (" (instance)" if match[1] else ""): match[3]
        for match in RESULT.finditer(text)
    }


def description(test: Path) -> str:
    """What a test calls itself."""
    match = re.search(r"^#[ \t]*description:(.*)$", test.read_text(), re.MULTILINE)
    return re.sub(r"\s+", " ", match[1]).strip().replace("%%", "%") if match else ""  # printf prints it


def run_inside(root: Path, path: Path, seconds: float, verbose: bool) -> tuple[dict[str, str], str, float]:
    """(results, log, seconds) of one test in a machine of its own."""
    show = "tail -n 40 /tmp/logs/*-log*; dmesg" if verbose else ""
    script = f"cd /ftrace; sh ./ftracetest -l /tmp/logs {path}; {show}"
    command = [sys.executable, "-m", "simkernel", "run", "--bind", f"{root}:/ftrace", "--host-timeout", str(seconds),
               "busybox", "sh", "-c", script]  # fmt: skip
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds + 60)
        text = done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        text = "no end\n"
    return results(text), text, time.monotonic() - start


class Row(NamedTuple):
    """One result: of a test, or of its run in an instance."""

    path: str
    name: str
    found: str
    expected: str
    seconds: float

    @property
    def equal(self) -> bool:
        """As on the real kernel."""
        return self.found == self.expected

    def line(self) -> str:
        """For the terminal."""
        return f"{'  ' if self.equal else '!='} {self.found:12} {self.expected:12} {self.seconds:6.1f} s  {self.path}: {self.name}"


def rows_of(path: str, name: str, found: dict[str, str], expected: dict[str, str], seconds: float) -> list[Row]:
    """A test's result, and that of its run in an instance, where the real kernel has them."""
    keys = [key for key in (name, f"{name} (instance)") if key in expected]
    return [Row(path, key, found.get(key, "NO RESULT"), expected[key], seconds) for key in keys]


def keep(rows: list[Row], expected: dict[str, str]) -> list[Row]:
    """Beside what earlier runs of other tests kept; all of them, in order."""
    known: dict[str, list[list[str]]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for path in {row.path for row in rows}:
        known[path] = [[row.name, row.found] for row in rows if row.path == path]
    KEPT.write_text(json.dumps(dict(sorted(known.items())), indent=0) + "\n")
    return [Row(path, name, found, expected[name], 0) for path in sorted(known) for name, found in known[path]]


def told(run: Path) -> dict[str, tuple[dict[str, str], float]]:
    """By path what a run that was stopped has said so far."""
    lines: list[tuple[str, dict[str, str], float]] = (
        [json.loads(line) for line in run.read_text().splitlines()] if run.exists() else []
    )
    return {path: (found, took) for path, found, took in lines}


def whole_so_far() -> str:
    """How many results of the long run are known, and how many of them are as on the real kernel."""
    expected: dict[str, str] = json.loads(ANSWERS.read_text())
    found = {
        name: result
        for results_of, _ in told(WHOLE).values()
        for name, result in results_of.items()
        if name in expected
    }
    return f"{sum(expected[name] == result for name, result in found.items())} of {len(found)} as on the real kernel"


def write_page(rows: list[Row]) -> None:
    """docs/ftracetest.md."""
    equal = sum(row.equal for row in rows)
    text = HEAD.format(equal=equal, total=len(rows), whole=whole_so_far())
    for row in rows:
        instance = "in an instance" if row.name.endswith("(instance)") else ""
        note = "" if row.equal else REASONS.get(row.path, "not known")
        path = row.path.removeprefix("test.d/")
        text += f"| {path} | {instance} | {row.found} | {row.expected} | {note} |\n"
    PAGE.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only tests whose path holds one of these")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the logs of tests that differ")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--whole", action="store_true", help="with all that the suite does before each test")
    parser.add_argument(
        "--page", action="store_true", help="write docs/ftracetest.md: these results, and the last ones of the others"
    )
    parser.add_argument(
        "--run", type=Path, help="each result goes to this file at once; what it holds already is not run again"
    )
    parser.add_argument("--seconds", type=float, default=300, help="real time that one test may take")
    parser.add_argument("--record", type=Path, help="the console of a real kernel's run, to become the answers")
    args = parser.parse_args()
    if args.record:
        ANSWERS.write_text(json.dumps(results(args.record.read_text()), indent=0) + "\n")
        return 0
    expected: dict[str, str] = json.loads(ANSWERS.read_text())
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(args.jobs) as pool:
        root = suite()
        tests = sorted((root / "test.d").rglob("*.tc"))
        if args.words:
            tests = [test for test in tests if any(word in str(test.relative_to(root)) for word in args.words)]

        before = told(args.run) if args.run else {}

        def run(test: Path) -> tuple[dict[str, str], str, float]:
            path = str(test.relative_to(root))
            if path in before:
                return before[path][0], "", before[path][1]
            where = root if args.whole else without_resets(root, test, Path(folder))
            return run_inside(where, test.relative_to(root), args.seconds, args.verbose)

        runs = pool.map(run, tests)
        for test, (found, log, took) in zip(tests, runs):
            path = str(test.relative_to(root))
            if args.run and path not in before:
                with args.run.open("a") as file:
                    file.write(json.dumps((path, found, took)) + "\n")
            new = rows_of(path, description(test), found, expected, took)
            rows += new
            for row in new:
                print(row.line(), flush=True)
            if args.verbose and not all(row.equal for row in new):
                print(log, flush=True)
    equal = sum(row.equal for row in rows)
    print(f"{equal} of {len(rows)} results as on the real 6.1")
    if args.page:
        write_page(keep(rows, expected))
    return 0 if equal == len(rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
