"""Every allocation and every call of the host fails once, each in turn, over the main stories.

    python -m tests.fuzz.faults [STORY ...] [--every N] [--record]

A story is told once to count the calls of each place, in a copy of a booted machine; then once for each call, in a copy in
which this call fails.  A refusal is an answer, and so is a story that holds; anything else is a finding: an exception that
is no refusal, an oops, a signal, no end.  After it the machine must still answer.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import simkernel
from arch.abi.fcntl import O_CREAT, O_RDWR
from arch.errors import KernelError
from arch.memory import KernelMemory, OutOfMemory, PhysicalMemory
from bpf.loader import LoadError
from simkernel.copies import Template
from simkernel.machine import Machine, MachineError
from simkernel.packed import ChildError
from simkernel.program import ProgramError
from simkernel.usertask import Calls, Request

ROOT = Path(__file__).parents[2]
BIN, OBJ = ROOT / "samples" / "bin" / "x86_64", ROOT / "samples" / "obj" / "x86_64"
RECORD = Path(__file__).with_name("last_run.json")
REFUSALS = (KernelError, LoadError, MachineError, ProgramError, OSError)
STORY_CPU_S = 60  # until a story counts as hanging
ASLEEP_S = 1800  # of real time, on a loaded host, until it counts as asleep
LIMITS = {"timeout_virtual_ns": 10**9, "timeout_host_s": 20}

Story = Generator[Request, int, object]

Told = tuple[str, int]  # how it ended, and calls of the place that were counted


def program(m: Machine) -> None:
    m.run(["/bin/hello"], **LIMITS)


def counted_writes(m: Machine) -> None:
    obj = m.load(OBJ / "writes.bpf.o")
    obj.attach()
    m.run(["/bin/writer"], **LIMITS)
    assert all(list(each.items()) is not None for each in obj.maps.values())
    obj.close()


def static_probe(m: Machine) -> None:
    obj = m.load(OBJ / "requests.bpf.o")
    obj.attach()
    m.run(["/samples/server"], **LIMITS)
    obj.close()


def kprobe_event(m: Machine) -> None:
    m.enable_event("p:fault vfs_write count=%dx")
    m.enable_event("sched:sched_switch")
    m.run(["/bin/hello"], **LIMITS)
    m.trace_pipe()


def files(m: Machine) -> None:
    s = m.session
    s.write_file("/tmp/x", b"x" * 20000, O_RDWR | O_CREAT)
    s.read_file("/tmp/x")
    for name in ("/proc/self/maps", "/proc/self/status", "/proc/meminfo", "/sys/kernel/tracing/README"):
        s.read_file(name)


def bound_files(m: Machine) -> None:
    s = m.session
    s.write_file("/host/new", b"n" * 5000, O_RDWR | O_CREAT)
    s.read_file("/host/new")
    string = s.syscalls.task.string
    for name, *args in (("mkdirat", -100, "/host/sub", 0o755), ("renameat2", -100, "/host/new", -100, "/host/sub/b", 0),
                        ("symlinkat", "b", -100, "/host/sub/link"), ("fchmodat", -100, "/host/sub/b", 0o600),
                        ("truncate", "/host/sub/b", 10), ("unlinkat", -100, "/host/sub/b", 0)):  # fmt: skip
        s.task.call(name, *(string(each) if isinstance(each, str) else each for each in args))


def talking_tasks(m: Machine) -> None:
    """fork, a pipe, a socket pair, memory that is copied on write."""

    def child(u: Calls) -> Story:
        yield u.getppid()

    def story(u: Calls) -> Story:
        pid = yield u.fork(child)
        yield u.wait4(pid, 0, 0, 0)
        yield u.mmap(0, 1 << 16, 3, 0x22, -1, 0)

    m.wait(m.workload(story))


STORIES: dict[str, Callable[[Machine], None]] = {
    story.__name__: story
    for story in (program, counted_writes, static_probe, kprobe_event, files, bound_files, talking_tasks)
}
HOST_CALLS = (
    "open", "read", "pread", "write", "pwrite", "stat", "lstat", "fstat", "listdir", "scandir", "readlink", "mkdir", "rename", "symlink",
    "unlink", "chmod", "fchmod", "ftruncate", "truncate", "fstatvfs", "statvfs", "utime", "close", "dup", "lseek", "link", "rmdir", "memfd_create",
)  # fmt: skip
PLACES: dict[str, tuple[Any, tuple[str, ...], Callable[[], Exception]]] = {
    "pages": (PhysicalMemory, ("alloc_page", "alloc_pages"), OutOfMemory),
    "objects": (KernelMemory, ("alloc",), OutOfMemory),
    "host calls": (os, HOST_CALLS, lambda: OSError(5, "I/O error")),
    "disk full": (
        os,
        ("write", "pwrite", "mkdir", "symlink", "ftruncate", "truncate"),
        lambda: OSError(28, "No space"),
    ),
}


@contextmanager
def failing(place: str, at: int) -> Iterator[list[int]]:
    """Calls of a place are counted; number `at` (from 1; 0: none) fails."""
    owner, names, error = PLACES[place]
    count = [0]
    originals = {name: vars(owner)[name] for name in names if name in vars(owner)}

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            count[0] += 1
            if count[0] == at:
                raise error()
            return original(*args, **more)

        return call

    for name, original in originals.items():
        setattr(owner, name, wrapped(original))
    try:
        yield count
    finally:
        for name, original in originals.items():
            setattr(owner, name, original)


def tell(story: str, place: str, at: int) -> Callable[[Machine], Told]:
    """In a copy: the story with one failure."""

    def work(m: Machine) -> Told:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(ASLEEP_S)
        signal.setitimer(signal.ITIMER_PROF, STORY_CPU_S)
        ended = "held"
        with failing(place, at) as count:
            try:
                STORIES[story](m)
            except REFUSALS:
                ended = "refused"
            except simkernel.Oops as oops:
                cause = oops.__cause__
                return f"FINDING: oops: {type(cause).__name__}: {cause}", count[0]
            except Exception as error:
                return f"FINDING: {type(error).__name__}: {error}", count[0]
        if at:
            try:
                assert m.run(["/bin/hello"], **LIMITS).status == 0, "a program fails afterwards"
            except Exception as error:
                return f"FINDING: afterwards {type(error).__name__}: {error}", count[0]
        return ended, count[0]

    return work


def prepared(folder: str) -> Machine:
    """With what the stories run."""
    m = simkernel.boot(binds=[(folder, "/host", True)])
    for name in ("hello", "writer"):
        m.install(BIN / name)
    from simkernel.fs.rootfs import add_file

    add_file(m.kernel.vfs, "/samples/server", (BIN / "server").read_bytes(), 0o755)
    m.session  # noqa: B018  the tool's task is there
    return m


def sweep(stories: list[str], places: list[str], every: int, folder: str) -> tuple[Counter[str], list[str]]:
    """Outcomes, and findings with what repeats them."""
    outcomes: Counter[str] = Counter()
    findings = []
    with prepared(folder) as other:  # what is made once in a process, and never fails later, is made here
        for story in stories:
            clean(folder)
            STORIES[story](other)
    with Template(prepared(folder)) as template:
        for story in stories:
            for place in places:
                ended, calls = run(template, folder, story, place, 0)
                assert ended == "held", f"{story} without a failure: {ended}"
                for at in range(1, calls + 1, every):
                    ended, _ = run(template, folder, story, place, at)
                    if ended.startswith("FINDING"):
                        findings.append(f"{story}, {place} {at} of {calls}: {ended}")
                        print(findings[-1], flush=True)
                        ended = "finding"
                    outcomes[ended] += 1
                print(f"{story}, {place}: {calls} calls", flush=True)
    return outcomes, findings


def clean(folder: str) -> None:
    """The bound folder is as it was at first."""
    for path in sorted(Path(folder).rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


def run(template: Template, folder: str, story: str, place: str, at: int) -> Told:
    """One copy."""
    clean(folder)
    try:
        return template.run(tell(story, place, at))
    except ChildError as error:
        return f"FINDING: {error}", 0


def main() -> int:
    """Exit status 1 when there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stories", nargs="*", choices=[[], *STORIES], default=[])
    parser.add_argument("--every", type=int, default=1, help="only each N-th call")
    parser.add_argument(
        "--record", action="store_true", help=f"write {RECORD.name}, from which docs/reliability.md is made"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcomes, findings = sweep(options.stories or list(STORIES), list(PLACES), options.every, folder)
    print(f"{sum(outcomes.values())} failures, {len(findings)} findings; {dict(outcomes)}")
    if options.record:
        known = json.loads(RECORD.read_text())
        row = {
            "every": options.every,
            "tried": sum(outcomes.values()),
            "findings": findings,
            "outcomes": dict(sorted(outcomes.items())),
        }
        RECORD.write_text(json.dumps({**known, "faults in turn": row}, indent=1) + "\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
