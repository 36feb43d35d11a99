"""Shell scripts that use tracefs as a user does, run whole here and on Debian's 6.1: the same lines.

    python -m tests.tracing.test_shell_programs BOOT_COMMAND...      # asks the real kernel and writes the programs/shell/*.out that are not there

BOOT_COMMAND as in tests/tools/record_tracefs.py.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import simkernel

PROGRAMS = Path(__file__).parent / "programs"
SCRIPTS = sorted((PROGRAMS / "shell").glob("*.sh"))
OTHERS = sorted((PROGRAMS / "shell").glob("*.[0-9]*.out"))  # NAME.KERNEL.out: what another kernel said
WORK = PROGRAMS / "bin/x86_64/w"
BUSYBOX = shutil.which("busybox")
# What differs from run to run: times, addresses, pids and the widths they have, where an offset in a function is, the stack.
CHANGING = (
    (r"(?m)^\[ *\d+\.\d{6}\]", "[TIME]"), (r"\d+\.\d{6}:", "TIME:"), (r"/s/(\w+\.sh)", r"/\1"), (r"\b(0x)?[0-9a-f]{10,}\b", "ADDRESS"),
    (r"\b(\w*pid|tgid)([=:] *)\d+", r"\1\2PID"), (r"(?m)^ +(\S+)-\d+ +\[", r"\1-PID ["), (r"(?m)^ +(?=[^ ^])", ""), (r" +TIME:", " TIME:"), (r" +PID", " PID"),
    (r"(?m)^(\S+-PID \[\d+\]) \S+", r"\1 FLAGS"), (r"(NR 110) = \d+", r"\1 = PID"),
)  # fmt: skip


def normal(text: str) -> list[str]:
    """Its lines, without what differs from run to run."""
    for pattern, word in CHANGING:
        text = re.sub(pattern, word, text)
    return text.splitlines()


def lines_of(script: Path, kernel: str) -> list[str]:
    """What the machine says."""
    machine = simkernel.boot(kernel=kernel, binds=[(str(script.parent), "/s", False)])
    machine.install(str(BUSYBOX))
    work = machine.install(str(WORK))
    command = f"cp {work} /w; cd /; sh /s/{script.name} 2>&1"
    return normal(machine.run(["/bin/busybox", "sh", "-c", command], timeout_host_s=300).text)


@pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_same_as_on_linux(script):
    assert lines_of(script, "6.1") == normal(script.with_suffix(".out").read_text())


@pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")
@pytest.mark.parametrize("answer", OTHERS, ids=lambda path: path.stem)
def test_the_same_as_on_other_kernels(answer):
    name, kernel = answer.stem.split(".", 1)
    assert lines_of(answer.with_name(f"{name}.sh"), kernel) == normal(answer.read_text())


def test_every_operation_on_files():
    """trace_files.c."""
    machine = simkernel.boot()
    text = machine.run([machine.install(str(PROGRAMS / "bin/x86_64/trace_files"))], timeout_host_s=100).text
    assert text.splitlines() == (PROGRAMS / "trace_files_6_1.out").read_text().splitlines()


@pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")
@pytest.mark.parametrize(
    "name",
    [
        "raw_pages", "raw_readers", "pipe_readers", "trace_writes", "ns_records", "perf_groups", "perf_cgroups", "perf_tasks", "perf_chains",
        "perf_rings", "perf_userpage", "perf_resets", "perf_periods", "perf_flow",
    ],
)  # fmt: skip
def test_programs(name):
    """raw_pages.c: pages of the ring buffer, and who waits for them how long.  ns_records.c: perf's records of namespaces.

    perf_groups.c: groups, inheritance, ioctls, mappings of perf events.  perf_cgroups.c: events of control groups.
    perf_tasks.c: its records of tasks, mappings and programs.
    perf_chains.c: where the kernel's part of a call chain begins, and who is on it.
    raw_readers.c, pipe_readers.c: which pages readers have beside a writer.  trace_writes.c: definitions written in pieces.
    perf_rings.c: full, read-only, backward and paused rings.  perf_userpage.c: what the control page tells of times.
    perf_resets.c: what a reset of inherited counts takes along.  perf_periods.c, perf_flow.c: periods and ioctls in turn.
    """
    machine = simkernel.boot()
    machine.install(str(BUSYBOX))
    work, program = machine.install(str(WORK)), machine.install(str(PROGRAMS / "bin/x86_64" / name))
    text = machine.run(["/bin/busybox", "sh", "-c", f"cp {work} /w; {program}"], timeout_host_s=100).text
    assert text.splitlines() == (PROGRAMS / f"{name}_6_1.out").read_text().splitlines()


TEN = "breakpoints child_counts formats lost sources ioctls frequency maps sigtrap stacks refused execs cgroup"


def test_perf_event_open_in_thirteen_ways():
    """perf_ten.c."""
    machine = simkernel.boot()
    program = machine.install(str(PROGRAMS / "bin/x86_64/perf_ten"))
    text = machine.run([program, *TEN.split()], timeout_host_s=100).text
    assert text.splitlines() == (PROGRAMS / "perf_ten_6_1.out").read_text().splitlines()


if __name__ == "__main__":
    for path in (path for path in SCRIPTS if not path.with_suffix(".out").exists()):
        command = [*sys.argv[1:], "-f", str(path), "-f", str(WORK), f"cd /; sh /{path.name} 2>&1"]
        done = subprocess.run(command, capture_output=True, text=True)
        path.with_suffix(".out").write_text(done.stdout)
