"""The kernel's own C selftests of system calls in the simulated machine, compared with the real 6.1 result by result.

    python tests/tools/kselftests.py                        # all of them, two machines at a time
    python tests/tools/kselftests.py pidfd/ timers/nanosleep -v   # some of them, with what they print
    python tests/tools/kselftests.py --page                 # write docs/kselftests.md from what the runs so far have said
    python tests/tools/kselftests.py --record BOOT_COMMAND  # ask a real kernel; twice, what differs is left out

Debian's package linux-source-6.1 is unpacked into the user's cache, never into the project, and built there, statically.  Needs
Debian's packages make, gcc, rsync, libcap-dev, libcap-ng-dev, libpopt-dev and libnuma-dev.  BOOT_COMMAND boots the kernel with busybox as its
only program: `BOOT_COMMAND -f FILE... -o OUT COMMAND` puts the files into /, runs the shell command as root and stores what the
guest's /tmp/out holds.

What a run finds is kept (tests/data/kselftests_here.json.xz): a run over a part of the programs replaces what was known of these.

Each program runs alone in a machine of its own, as root, with standard input at its end and standard output in a file.  A result is a
line of TAP (`ok 3 text`), a line with a verdict in brackets (`[OK]`), or else the program's exit status; numbers and addresses in texts
do not count.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from foreign_packages import cache, fresh_make, unpack
from kselftests_rows import ALONE, ARGUMENTS, HELPERS, NOT_RUN, REASONS, SUITES

SOURCE = "linux-source-6.1"
PARTS = "Makefile scripts tools include arch/x86 usr/include mm/gup_test.h lib/test_hmm_uapi.h"
SELFTESTS = "tools/testing/selftests"
DATA = Path(__file__).parents[1] / "data/kselftests_6_1.json.xz"
HERE = Path(__file__).parents[1] / "data/kselftests_here.json.xz"
PAGE = Path(__file__).parents[2] / "docs/kselftests.md"
SECONDS = 45  # of the guest's time for one program, as the kernel's own runner has it
HOST_SECONDS = 240
KILLED = 137  # by timeout(1)
STATIC = "CC=gcc -static"

# ---- fetching and building ----


def suite() -> Path:
    """The built selftests; fetched and built when they are not there."""
    root = cache() / f"{SOURCE}-kselftests"
    tests = root / SELFTESTS
    if not (root / ".complete").exists():
        if not list(root.glob("usr/src/*.tar.xz")):
            unpack(root, SOURCE)
        (packed,) = root.glob("usr/src/*.tar.xz")
        names = [f"{SOURCE}/{part}" for part in PARTS.split()]
        subprocess.run(["tar", "xJf", packed, "-C", root, "--strip-components=1", *names], check=True)
        packed.unlink()
        with (root / "build.log").open("w") as log:
            env = fresh_make()
            subprocess.run(["make", "headers"], cwd=root, stdout=log, stderr=log, check=True, env=env)
            for row in SUITES:
                words = ["make", "-k", "-C", row.name, STATIC, *row.make]
                subprocess.run(
                    words, cwd=tests, stdout=log, stderr=log, check=False, env=env
                )  # what does not build statically is left out
                for command in row.build:
                    subprocess.run(command, cwd=tests / row.name, shell=True, stdout=log, stderr=log, check=False)
        (root / ".complete").touch()
    return tests


def is_program(path: Path) -> bool:
    """A static ELF program."""
    if not path.is_file() or path.is_symlink() or not os.access(path, os.X_OK):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def programs(tests: Path) -> list[str]:
    """`suite/program` of all that are to be run, with arguments where they have some."""
    found = []
    for row in SUITES:
        for path in sorted((tests / row.name).iterdir()):
            name = f"{row.name}/{path.name}"
            if is_program(path) and name not in NOT_RUN and name not in HELPERS:
                found += [f"{name} {words}".strip() for words in ARGUMENTS.get(name, ("",))]
    return found


def files_of(tests: Path, program: str) -> list[Path]:
    """What goes into the guest: the program, and what lies beside it that is no source."""
    path = tests / program.split()[0]
    others = [
        p for p in sorted(path.parent.iterdir())
        if p.suffix not in (".c", ".h", ".S", ".o", ".so", ".d") and p.name != "Makefile" and (not is_program(p) or f"{path.parent.relative_to(tests)}/{p.name}" in HELPERS)
    ]  # fmt: skip
    return [path, *(p for p in others if p != path)]


# ---- what a program says ----


class Ran(NamedTuple):
    """One program's run."""

    status: int
    text: str


TAP = re.compile(r"^\s*(ok|not ok) \d+\s*-?\s*(.*)$")
BRACKETS = re.compile(r"\[\s*(OK|PASS|PASSED|FAIL|FAILED|SKIP|XFAIL)\s*\]")
SUMMARY = re.compile(r"^(# )?\s*(Pass|Totals|Planned)|^\[==|^\[  (PASSED|FAILED)  \]|^# (PASSED|FAILED):")


def results(ran: Ran) -> list[tuple[str, str]]:
    """(text without numbers, verdict) of each result; of a program without any its exit status alone."""
    found: list[tuple[str, str]] = []
    numbered: set[str] = set()
    plans: set[str] = set()
    for line in ran.text.splitlines():
        if re.match(r"1\.\.\d+", line) and line not in plans:  # another series, counted from 1 again
            plans.add(line)
            numbered.clear()
        if SUMMARY.match(line) or line in numbered:  # a child prints again what its parent had not yet written
            continue
        if match := TAP.match(line):
            numbered.add(line)
            skip = re.search(r"#\s*SKIP", match[2], re.IGNORECASE)
            found.append(
                (plain(re.sub(r"#\s*SKIP.*", "", match[2], flags=re.IGNORECASE)), "skip" if skip else match[1])
            )
        elif match := BRACKETS.search(line):
            verdict = "not ok" if match[1].startswith("FAIL") else "skip" if match[1] == "SKIP" else "ok"
            found.append((plain(line.replace(match[0], "")), verdict))
    if ran.status == KILLED:  # a slow machine is no answer
        return found
    return [*found, ("exit", str(ran.status) if not found or not ran.status else "not 0")]


def plain(text: str) -> str:
    """Without numbers and addresses, which may differ from run to run."""
    return re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+|\d+", "N", text)).strip()[:120]


def agreement(
    expected: Iterable[tuple[str, str]], found: Iterable[tuple[str, str]]
) -> list[tuple[str, str, str | None]]:
    """(text, verdict there, verdict here) for each result of the real kernel; the n-th of one text is compared with the n-th here."""
    ours: dict[tuple[str, int], str] = {}
    seen: Counter[str] = Counter()
    for text, verdict in found:
        ours[text, seen[text]] = verdict
        seen[text] += 1
    seen.clear()
    rows = []
    for text, verdict in expected:
        rows.append((text, verdict, ours.get((text, seen[text]))))
        seen[text] += 1
    return rows


# ---- running ----

SCRIPT = """exec </dev/null
mkdir -p /dev/pts /dev/shm /etc /home /mnt
grep -q ' /dev/pts ' /proc/mounts || mount -t devpts devpts /dev/pts
grep -q ' /dev/shm ' /proc/mounts || mount -t tmpfs tmpfs /dev/shm
grep -q ' /tmp ' /proc/mounts || mount -t tmpfs tmpfs /tmp
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
grep -q nobody /etc/passwd 2>/dev/null || printf 'root:x:0:0::/:/bin/sh\\nnobody:x:65534:65534::/:/bin/sh\\n' > /etc/passwd
ifconfig lo 127.0.0.1 up 2>/dev/null
ulimit -l 8192; ulimit -n 1024; ulimit -u 4096; ulimit -i 4096
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/ LD_LIBRARY_PATH=
cd /ks/{folder}
busybox timeout -s KILL {seconds} ./{command} > /ks.out 2>&1
echo "@@@ $?" >> /ks.out
"""


def script(program: str) -> str:
    folder, _, command = program.partition(" ")[0].rpartition("/")
    words = program.split()[1:]
    return SCRIPT.format(folder=folder, command=" ".join([command, *words]), seconds=SECONDS)


def ended(raw: bytes) -> Ran:
    """Text and status of what the script left."""
    text = raw.decode("utf-8", "replace")
    before, mark, status = text.rpartition("@@@ ")
    return Ran(int(status), before) if mark and status.strip().isdigit() else Ran(-1, text)


def inside(tests: Path, program: str) -> Ran:
    """In a machine of its own."""
    import simkernel
    from simkernel.fs.rootfs import add_bytes_lazily, add_host_file, add_link, make_directory

    with closing(simkernel.boot(cpus=2, memory=512 << 20)) as machine:
        vfs = machine.kernel.vfs
        folder = program.partition(" ")[0].rpartition("/")[0]
        for path in files_of(tests, program):
            name = f"/ks/{folder}/{path.name}"
            if path.is_symlink():
                add_link(vfs, name, os.readlink(path))
            elif path.is_dir():
                make_directory(vfs, name)
            else:
                add_host_file(vfs, str(path), name, path.stat().st_mode & 0o777)
        add_bytes_lazily(vfs, "/ks.sh", script(program).encode())
        try:
            ran = machine.run(
                [machine.install("busybox"), "sh", "/ks.sh"],
                timeout_host_s=HOST_SECONDS,
                timeout_virtual_ns=200 * 10**9,
            )
            late = f"\n(no end: {ran.timed_out})\n" if ran.timed_out else ""
        except Exception as error:  # a bug of ours is a result, too, and the next program wants to run
            return Ran(-2, f"{type(error).__name__}: {error}")
        out = vfs.resolve("/ks.out")
        raw = bytes(out.inode.i_mapping.read(0, out.inode.i_size)) if out is not None else b""
        return ended(raw + late.encode())


def _inside(job: tuple[Path, str]) -> tuple[str, Ran]:
    return job[1], inside(*job)


def run_inside(tests: Path, names: list[str], jobs: int) -> Iterator[tuple[str, Ran]]:
    """Each in a process of its own: one that takes the process with it is one result."""
    with get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        yield from pool.imap(_inside, [(tests, name) for name in names])


# ---- the real kernel's answers ----


def ask(boot: list[str], tests: Path, names: list[str]) -> dict[str, Ran]:
    """What the programs of one folder say on the real kernel, one after the other, or one alone."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        with tarfile.open(work / "ks.tar", "w") as tar:
            for path in {path for program in names for path in files_of(tests, program)}:
                tar.add(path, f"ks/{path.relative_to(tests)}", recursive=False)
        lines = ["cd /; tar xf /ks.tar; rm /ks.tar"]
        for program in names:
            lines += [
                f"sh -c {shlex.quote(script(program))}",
                f"echo {shlex.quote('@@@@ ' + program)} >> /out; cat /ks.out >> /out",
            ]
        uncover = (
            "while [ $(grep -c ' /tmp ' /proc/mounts) -gt 1 ]; do umount -l /tmp; done"  # what a test left mounted
        )
        (work / "all.sh").write_text("\n".join([*lines, uncover, "cp /out /tmp/out"]))
        out = work / "out"
        limit = str(120 + (SECONDS + 5) * len(names))
        command = [
            *boot,
            "-t",
            limit,
            "-f",
            str(work / "ks.tar"),
            "-f",
            str(work / "all.sh"),
            "-o",
            str(out),
            "sh /all.sh",
        ]
        subprocess.run(command, check=False, capture_output=True, timeout=int(limit) + 120)
        text = out.read_bytes() if out.exists() else b""
    answers = {}
    for block in text.split(b"@@@@ ")[1:]:
        program, _, rest = block.partition(b"\n")
        answers[program.decode()] = ended(rest)
    return answers


def record(boot: list[str], tests: Path, names: list[str]) -> None:
    """Each folder in one boot, twice; a result that is not the same both times is no answer."""
    recorded = load()
    folders: dict[str, list[str]] = {}
    for name in names:
        folder = name.partition(" ")[0].rpartition("/")[0]
        folders.setdefault(name if name in ALONE or folder in ALONE else folder, []).append(name)
    for members in folders.values():
        first, second = (
            {name: results(ran) for name, ran in ask(boot, tests, members).items() if ran.status >= 0} for _ in range(2)
        )
        for name in members:
            both = agreement(first.get(name, ()), second.get(name, ()))
            recorded[name] = [(text, there) for text, there, again in both if there == again]
            print(f"{name}: {len(recorded[name])} of {len(both)} results the same twice", flush=True)
        save(recorded)


def load(data: Path = DATA) -> dict[str, list[tuple[str, str]]]:
    """program -> results, of the real kernel or of the machine (HERE)."""
    if not data.exists():
        return {}
    raw = json.loads(lzma.decompress(data.read_bytes()))
    return {name: [(text, verdict) for text, verdict in rows] for name, rows in raw.items()}


def save(recorded: dict[str, list[tuple[str, str]]], data: Path = DATA) -> None:
    text = json.dumps(dict(sorted(recorded.items())), separators=(",", ":"))
    data.write_bytes(lzma.compress(text.encode(), preset=9))


# ---- the page ----

HEAD = """# The kernel's selftests of system calls

Made by `make test-kselftests`: the C programs of `tools/testing/selftests` (Debian's linux-source-6.1) that can be linked statically, each as
root in a machine of its own (x86-64, two CPUs), compared result by result with what the same program says on Debian's real 6.1. A result is a line of
TAP, a line with a verdict in brackets, or else the program's exit status; what the real kernel does not answer the same way twice is left out.
A program that does not end within 240 s of the host counts as different.

{agree} of {total} results are the real kernel's ({percent:.1f} %).

| suite | programs | results that agree | of | what differs |
|---|---|---|---|---|
"""


class Row(NamedTuple):
    """One program and its results: (text, there, here)."""

    name: str
    rows: list[tuple[str, str, str | None]]

    @property
    def differs(self) -> list[tuple[str, str, str | None]]:
        return [row for row in self.rows if row[1] != row[2]]


def kept_rows() -> list[Row]:
    """What the runs so far have said, beside the real kernel's answers."""
    recorded, here = load(), load(HERE)
    return [Row(name, agreement(recorded[name], here[name])) for name in recorded if name in here and recorded[name]]


def page(found: list[Row]) -> str:
    """docs/kselftests.md."""
    total = sum(len(row.rows) for row in found)
    agree = total - sum(len(row.differs) for row in found)
    text = HEAD.format(agree=agree, total=total, percent=100 * agree / max(total, 1))
    for suite_row in SUITES:
        rows = [row for row in found if row.name.partition(" ")[0].rpartition("/")[0] == suite_row.name and row.rows]
        if not rows:
            continue
        count, wrong = sum(len(row.rows) for row in rows), sum(len(row.differs) for row in rows)
        causes: dict[str, int] = {}
        for row in rows:
            if row.differs:
                why = f"{row.name.rpartition('/')[2]}: {REASONS.get(row.name, 'not known')}"
                causes[why] = causes.get(why, 0) + len(row.differs)
        note = "; ".join(f"{why} ({number})" for why, number in causes.items())
        text += f"| {suite_row.name} | {len(rows)} | {count - wrong} | {count} | {note} |\n"
    answered = {name for name, rows in load().items() if rows}
    left = sorted(answered - {row.name for row in found} - NOT_RUN.keys() - HELPERS)
    if left:
        text += "\nNot run for this table: " + ", ".join(f"`{name}`" for name in left) + ".\n"
    text += "\nNot run: " + "; ".join(f"`{name}` ({why})" for name, why in sorted(NOT_RUN.items())) + ".\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only programs whose name holds one of these")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what those that differ print")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--page", action="store_true", help="write docs/kselftests.md from what is kept")
    parser.add_argument("--record", metavar="BOOT_COMMAND", help="boots the real kernel; becomes the answers")
    parser.add_argument("--list", action="store_true", help="names only")
    args = parser.parse_args()
    tests = suite()
    names = [n for n in programs(tests) if not args.words or any(word in n for word in args.words)]
    if args.list:
        print("\n".join(names))
        return 0
    if args.record:
        record(shlex.split(args.record), tests, names)
        return 0
    if args.page:
        PAGE.write_text(page(kept_rows()))
        return 0
    recorded = load()
    found: list[Row] = []
    for name, ran in run_inside(tests, [n for n in names if recorded.get(n)], args.jobs):
        here = load(HERE)
        here[name] = results(ran)
        save(here, HERE)
        row = Row(name, agreement(recorded[name], here[name]))
        found.append(row)
        print(
            f"{'  ' if not row.differs else '!='} {len(row.rows) - len(row.differs):4} of {len(row.rows):4}  {name}",
            flush=True,
        )
        for text, there, ours in row.differs[:60] if args.verbose else row.differs[:3]:
            print(f"          {text or '-'}: {there} there, {ours or 'nothing'} here", flush=True)
        if args.verbose and row.differs:
            print(ran.text[-6000:], flush=True)
    total = sum(len(row.rows) for row in found)
    agree = total - sum(len(row.differs) for row in found)
    print(f"{agree} of {total} results as on the real 6.1")
    return 0


if __name__ == "__main__":
    sys.exit(main())
