"""Run the kernel's own ftrace selftests in the simulated machine and compare each result with the real 6.1's.

    python tests/tools/ftracetest.py                   # all of them
    python tests/tools/ftracetest.py trigger hist -v   # those whose path holds one of the words, with their logs
    python tests/tools/ftracetest.py --record FILE     # FILE: what ftracetest printed on a real 6.1; becomes the answers

The suite comes from Debian's package linux-source-6.1 and is unpacked into the user's cache, never into the project
($SIMKERNEL_SELFTESTS names an unpacked `tools/testing/selftests`).  Every test runs in a machine of its own, with busybox
as its only program.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from foreign_packages import cache

PACKAGE = "linux-source-6.1"
SUITE = "tools/testing/selftests/ftrace"
ANSWERS = Path(__file__).parents[1] / "data/tracing/ftracetest_6_1.json"
RESULT = re.compile(r"^\[\d+\]( \(instance\) )?\s*(.*?)\t\[(\w+)\]$", re.MULTILINE)


def suite() -> Path:
    """The unpacked suite; fetched when it is not there."""
    given = os.environ.get("SIMKERNEL_SELFTESTS")
    if given:
        return Path(given) / "ftrace"
    root = cache() / PACKAGE
    if not (root / ".complete").exists():
        root.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "-qq", "download", PACKAGE], check=True, cwd=root, timeout=900)
        (archive,) = root.glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, root], check=True, timeout=300)
        archive.unlink()
        (packed,) = root.glob("usr/src/*.tar.xz")
        subprocess.run(["tar", "xJf", packed, "-C", root, "--strip-components=1", f"{PACKAGE}/{SUITE}"], check=True)
        packed.unlink()
        (root / ".complete").touch()
    return root / SUITE


def results(text: str) -> dict[str, str]:
    """`description` or `description (instance)` -> PASS, FAIL, ..., from what ftracetest prints."""
    return {
        re.sub(r"\s+", " ", match[2]).strip() + (" (instance)" if match[1] else ""): match[3]
        for match in RESULT.finditer(text)
    }


def description(test: Path) -> str:
    """What a test calls itself."""
    match = re.search(r"^#[ \t]*description:(.*)$", test.read_text(), re.MULTILINE)
    return re.sub(r"\s+", " ", match[1]).strip() if match else ""


def run_inside(root: Path, test: Path, seconds: float, verbose: bool) -> tuple[dict[str, str], str, float]:
    """(results, log, seconds) of one test in a machine of its own."""
    path = test.relative_to(root)
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only tests whose path holds one of these")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the logs of tests that differ")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300, help="real time that one test may take")
    parser.add_argument("--record", type=Path, help="the console of a real kernel's run, to become the answers")
    args = parser.parse_args()
    if args.record:
        ANSWERS.write_text(json.dumps(results(args.record.read_text()), indent=0) + "\n")
        return 0
    root = suite()
    tests = sorted((root / "test.d").rglob("*.tc"))
    if args.words:
        tests = [test for test in tests if any(word in str(test.relative_to(root)) for word in args.words)]
    expected: dict[str, str] = json.loads(ANSWERS.read_text())
    equal = total = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        runs = pool.map(lambda test: run_inside(root, test, args.seconds, args.verbose), tests)
        for test, (found, log, took) in zip(tests, runs):
            name = description(test)
            for key in (name, f"{name} (instance)"):
                if key not in expected:
                    continue
                total += 1
                got = found.get(key, "NO RESULT")
                equal += got == expected[key]
                mark = "  " if got == expected[key] else "!="
                print(f"{mark} {got:12} {expected[key]:12} {took:6.1f} s  {test.relative_to(root)}: {key}", flush=True)
            if args.verbose and any(found.get(k) != expected[k] for k in (name, f"{name} (instance)") if k in expected):
                print(log)
    print(f"{equal} of {total} results as on the real 6.1")
    return 0 if equal == total else 1


if __name__ == "__main__":
    raise SystemExit(main())
