"""Events that are another or new since 6.1: the lines of the same program here and on Debian's kernels (programs/late_events.c).

    python -m tests.tracing.test_late_events VERSION BOOT_COMMAND...      # asks the real kernel and writes programs/late_events.VERSION.out

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
PROGRAM = PROGRAMS / "bin/x86_64/late_events"
BUSYBOX = shutil.which("busybox")
STEPS = "locks resets fullness rseqs caps execs pages sockets dumps merging timers"
VERSIONS = {"6.1": STEPS, "6.12": STEPS, "7.2": f"{STEPS} leases"}
LINE = re.compile(r" *(?P<comm>.*)-\d+ +\[\d+\] \S+ +[\d.]+: (?P<text>.*)")
# What the machine does of its own, and by its speed
OF_THE_MACHINE = re.compile(r"function=(tick_|hrtick|dl_task|pm_suspend)|hrtimer_cancel")
CHANGING = (
    (r"\b(0x)?(?!0{16})[0-9a-f]{12,16}\b(?<!9223372036854775807)", "ADDRESS"), (r"dev=\w+:\w+", "dev=D"), (r"\bino=\w+", "ino=N"),
    (r"pid=\d+", "pid=PID"), (r"port=(?!78)\d+|(?<=127\.0\.0\.1:)(?!7[89])\d+", "PORT"), (r"expires=\d+", "expires=T"),
    (r"comm=\S+", "comm=C"),
)  # fmt: skip


def steps_of(text: str) -> dict[str, list[str]]:
    """What each step says, without what differs from run to run; the same event over and over is one."""
    out: dict[str, list[str]] = {"": []}
    said = out[""]
    for line in text.splitlines():
        found = LINE.fullmatch(line)
        line = found["text"] if found else line.strip()
        if line.startswith("== "):
            said = out[line[3:]] = []
            continue
        if OF_THE_MACHINE.search(line):
            continue
        for pattern, word in CHANGING:
            line = re.sub(pattern, word, line)
        if not line.startswith("rseq_update") or line not in said:
            said.append(line)
    return out


@pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_lines_as_on_linux(version):
    machine = simkernel.boot(kernel=version)
    program = machine.install(str(PROGRAM))
    machine.install(str(BUSYBOX))
    command = f"cp {program} /late_events; cd /; /late_events {VERSIONS[version]} 2>&1"
    ours = steps_of(machine.run(["/bin/busybox", "sh", "-c", command], timeout_host_s=150).text)
    real = steps_of((PROGRAMS / f"late_events.{version}.out").read_text())
    assert ours.keys() == real.keys()
    for step, lines in real.items():
        assert "\n".join(ours[step]) == "\n".join(lines), step


if __name__ == "__main__":
    version, *boot = sys.argv[1:]
    asked = [*boot, "-f", str(PROGRAM), f"cd /; ulimit -c 0; ifconfig lo up; /late_events {VERSIONS[version]} 2>&1"]
    answer = subprocess.run(asked, capture_output=True, text=True).stdout
    (PROGRAMS / f"late_events.{version}.out").write_text(answer)
