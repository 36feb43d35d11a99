"""A command that is asked to end at a random moment ends: soon, with what it has, and without a traceback.

The command runs in a child of this process, which has everything imported; how much CPU time it has used when the signal comes is
random.  It has GRACE_S of CPU time to end.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import NoReturn

from simkernel.cli import main

ROOT = Path(__file__).parents[2]
BIN, OBJ = ROOT / "samples" / "bin" / "x86_64", ROOT / "samples" / "obj" / "x86_64"
SIGNALS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_S = 0.75  # CPU time: half a second to end, and what is printed then
LOST_S = 60.0  # of real time, on a loaded machine, until a signal counts as lost
ASLEEP = 2000  # looks at a command that uses no time
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
LOOPS = (
    "while :; do :; done", "while :; do /bin/busybox true; done", "yes", "cat /dev/zero >/dev/null", "while :; do echo x >/tmp/a; cat /tmp/a; done",
    "while :; do (sleep 1 & wait); done", "while :; do ls -lR /proc >/dev/null; done", "dd if=/dev/urandom of=/tmp/big bs=64k", "sleep 1000",
    "i=0; while :; do i=$((i+1)); mkdir /tmp/$i; done", "yes | head -c 9999999 | sort | uniq -c", "kill -STOP $$",
)  # fmt: skip


def commands(rng: random.Random, out: str) -> list[str]:
    """A command that takes long, or not so long."""
    loop = ["--", "busybox", "sh", "-c", rng.choice(LOOPS)]
    options = [
        *rng.choice(([], ["--cpus", "2"], ["--cpus", "4", "--seed", "3"])),
        *rng.choice(([], ["--event", "sched:sched_switch"], ["--event", "syscalls:sys_enter_write"], ["--event", "p:vfs_read"], ["--strace"])),
        *rng.choice(([], ["--bpf", str(OBJ / "writes.bpf.o")], ["--bpf", str(OBJ / "tasks.bpf.o")])),
        *rng.choice(([], ["--out", out], ["--json"], ["--stats"], ["--host-timeout", "1000"])),
    ]  # fmt: skip
    return rng.choice((
        ["run", *options, *loop], ["run", *options, *loop], ["run", *options, *loop], ["run", *options, *loop],
        ["verify", *map(str, sorted(OBJ.glob("*.o")))], ["explain", str(OBJ / "tasks.bpf.o")], ["demo"], ["btf", "dump", "--format", "c"],
        ["matrix", "-j", "1", "--kernel", "4.1,5.10,6.1,6.12", *map(str, sorted(OBJ.glob("*.o")))], ["diff", "5.10", "6.1"], ["feature", "probe"], ["list", "functions"],
    ))  # fmt: skip


def begin(argv: list[str], folder: Path) -> int:
    """The child's number; its output goes into files of the folder."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Not before the child is a command: this process may have handlers, and one that raises there would end up here again.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    pid = os.fork()
    if not pid:
        _become(argv, folder)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    return pid


def _become(argv: list[str], folder: Path) -> NoReturn:
    os.setsid()
    signal.alarm(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(0, closefd=False),
        os.fdopen(1, "w", closefd=False),
        os.fdopen(2, "w", 1, closefd=False),
    )
    # SIGINT as simkernel/own_command.py leaves it; whoever runs this in the background ignores some
    for asks in SIGNALS:
        signal.signal(asks, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    os.chdir(folder)
    sys.argv = ["simkernel", *argv]
    status = 1
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        os._exit(status)


def cpu_s(pid: int) -> float:
    """CPU time of a process, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def attempt(rng: random.Random) -> str:
    """How one command ended; AssertionError when it did not as it should."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top)
        argv = commands(rng, str(folder / "out"))
        moment, number = rng.random() * rng.choice((0.05, 0.4, 1.5)), rng.choice(SIGNALS)
        pid = begin(argv, folder)
        end, sent_at, used = time.monotonic() + LOST_S, None, 0.0
        for look in count():
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                break
            used = cpu_s(pid)
            if sent_at is None and (used >= moment or look > ASLEEP):
                os.kill(pid, number)
                sent_at = used
            if time.monotonic() > end or (sent_at is not None and used - sent_at > 8 * GRACE_S):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                said = (folder / "stderr").read_text(errors="replace")
                raise AssertionError(f"the signal is lost after {moment:.3f} s of {argv[:9]}: {said[-900:]!r}")
            time.sleep(0.002)
        said = (folder / "stderr").read_text(errors="replace")
        code = os.waitstatus_to_exitcode(status)
        about = f"{signal.Signals(number).name} after {moment:.3f} s of {argv}: status {code}, {said[-700:]!r}"
        assert "Traceback" not in said and "Exception ignored" not in said, about
        if sent_at is None:
            return "had ended"
        assert used - sent_at < GRACE_S, f"took {used - sent_at:.2f} s: {about}"
        stuck = code == 124 and "waits for what cannot come" in said  # it had ended, and its trace was being read
        assert stuck or code in (128 + number, -number, 0, 1), about
        if "--out" in argv and (folder / "out").exists():
            whole = (folder / "out" / "result.json").exists()
            assert whole or (folder / "out" / "INCOMPLETE").exists() or not list((folder / "out").iterdir()), about
        return "was ending" if stuck or code in (0, 1) else "ended"
