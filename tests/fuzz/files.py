"""Damaged files and words through the commands that a person types: an answer or a sentence, never a traceback."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from click.testing import CliRunner, Result

from simkernel.cli import cli

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
BIN, OBJ = SAMPLES / "bin", SAMPLES / "obj"
HELLO, WRITER = BIN / "x86_64" / "hello", BIN / "x86_64" / "writer"
SOON = ("--timeout", "0.005", "--host-timeout", "3")
FORMATS = ("trace", "perf-script", "folded", "flamegraph", "perfetto", "perf.data", "jsonl", "parquet")
WORDS = (
    "p:x vfs_read count=%dx", "r:a/y vfs_write ret=$retval:u32", "sched:sched_switch", "p:b vfs_open+4 a=+8(%di):string", "syscalls:sys_enter_*",
    "e:x/y sched.sched_switch next=$next_pid:u32", "p:uprobes/a /bin/sh:0x1000 %ax", "p:x do_sys_open $arg1 $stack2 $comm @jiffies",
    "lo:delay=10ms,loss=5%", "eth0:delay=1ms,jitter=2ms,reorder=20%,rate=1mbit", "/tmp:/x:rw", "/tmp/a:/tmp/b", "NAME=VALUE", "6.1", "4.19.1",
)  # fmt: skip
DEBUGGING = """break vfs_write
continue
step 3
reverse-step 2
stepi
registers
x %rsp 64
bt
disassemble vfs_read 5
write %rax 5
break bpf count:2
break time 30us
break map asked 01000000
break syscall write
break event sched:sched_switch
next
finish
bpf
maps
trace 5
tasks
goto 20
delete 1
continue
output
"""
EXPERIMENT = "GRID = {'loss': [0.0, 1.0], 'kernel': ['6.1']}\nSEEDS = range(2)\ndef experiment(machine, loss):\n    return {'x': loss}\n"
JOURNAL = '{"key": "experiment.py:experiment 0 {}", "outcome": {"parameters": {"a": 1}, "measured": {"x": 1.0}, "error": "", "command": ""}}\n'
CONFIG = '[run]\nkernel = "5.10"\ncpus = 2\nevent = ["sched:sched_switch"]\nseed = 3\nquiet = true\n\n[verify]\nkernel = "6.1"\n'

Mutant = Callable[[random.Random, bytes], bytes]


def simkernel(*words: object) -> Result:
    """The command in this process; anything but an end of its own is raised."""
    result = CliRunner().invoke(cli, list(map(str, words)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code == 70 or "Traceback" in result.output:
        raise AssertionError(f"{words}: {result.output[-600:]}")
    return result


@cache
def recording() -> Path:
    """A recorded run, made once in this process."""
    folder = Path(mkdtemp(prefix="fuzz-recording-"))
    options = (
        "--event",
        "sched:sched_switch",
        "--event",
        "p:x vfs_write count=%dx",
        "--bpf",
        OBJ / "x86_64" / "writes.bpf.o",
        "--stacks",
    )
    assert simkernel("run", "--out", folder / "run", *options, "--", WRITER).exit_code == 0
    return folder / "run"


def warm() -> None:
    """What a process makes once: whoever begins from here has it."""
    simkernel("report", "-o", os.devnull, recording())
    for version in ("4.19", "5.10", "6.1", "6.12"):
        simkernel("matrix", "-j", "1", "--attach", "--kernel", version, OBJ / "x86_64" / "writes.bpf.o")
    simkernel("diff", "--for", OBJ / "x86_64" / "writes.bpf.o", "5.10", "6.1")
    for arch in ("x86_64", "arm64", "s390x"):
        words = ("verify", "explain")
        for word in words:
            simkernel(word, "--arch", arch, OBJ / arch / "writes.bpf.o")


def damaged_recording(rng: random.Random, mutant: Mutant, folder: Path) -> Path:
    """A copy of the recording in which one file, or one line of it, is otherwise."""
    copy = folder / "run"
    shutil.copytree(recording(), copy)
    victim = rng.choice(sorted(path for path in copy.iterdir() if path.is_file()))
    data = victim.read_bytes()
    lines = data.splitlines(keepends=True)
    if len(lines) > 1 and rng.random() < 0.5:
        at = rng.randrange(len(lines))
        lines[at] = mutant(rng, lines[at])
        data = b"".join(lines)
    elif rng.random() < 0.1:
        victim.unlink()
        return copy
    else:
        data = mutant(rng, data)
    victim.write_bytes(data)
    return copy


def text(rng: random.Random, mutant: Mutant, words: str) -> str:
    """A word of the command line: what exec(2) can hand over."""
    out = bytearray(words.encode())
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        at = rng.randrange(len(out) + 1)
        out[at : at + rng.randrange(2)] = rng.choice(
            (b"", b":", b"/", b"%", b"(", b"+", b"9" * 30, b"$", b"=", b" ", b"\xff", b"-", b"0x", b"*")
        )
    return bytes(out).replace(b"\0", b"").decode("utf-8", "surrogateescape")


def attack(rng: random.Random, mutant: Mutant, folder: Path) -> str:
    """One damaged thing given to one command; the command and its exit status."""
    victim = folder / "given.bpf.o"
    arch = rng.choice(("x86_64", "x86_64", "arm64", "s390x"))
    what = rng.randrange(16)
    if what < 2:
        victim.write_bytes(mutant(rng, (BIN / arch / rng.choice(("hello", "writer"))).read_bytes()))
        victim.chmod(0o755)
        words: list[object] = ["run", *SOON, "--arch", arch, victim]
    elif what < 7:
        victim.write_bytes(mutant(rng, rng.choice(sorted((OBJ / arch).glob("*.bpf.o"))).read_bytes()))
        words = rng.choice((
            ["run", *SOON, "--arch", arch, "--bpf", victim, "--", BIN / arch / "hello"], ["verify", "--arch", arch, victim],
            ["explain", "--arch", arch, victim], ["diff", "--arch", arch, "--for", victim, "5.10", "6.1"],
            ["matrix", "-j", "1", "--arch", arch, "--kernel", rng.choice(("6.1", "4.19", "6.12")), *rng.choice(([], ["--attach"])), victim],
        ))  # fmt: skip
    elif what < 9:
        copy = damaged_recording(rng, mutant, folder)
        words = ["report", "-o", folder / "page.html", copy] if rng.random() < 0.3 else [
            "export", "-f", rng.choice(FORMATS), "-o", folder / "out", copy
        ]  # fmt: skip
    elif what < 10:
        (folder / "simkernel.toml").write_bytes(mutant(rng, CONFIG.encode()))
        here = os.getcwd()
        os.chdir(folder)
        try:
            result = simkernel("run", *SOON, HELLO)
        finally:
            os.chdir(here)
        return f"config {result.exit_code}"
    elif what < 11:
        victim.write_bytes(mutant(rng, (OBJ / "x86_64" / "writes.bpf.o").read_bytes()))
        words = ["verify", "--btf", victim, OBJ / "x86_64" / "tasks.bpf.o"]
    elif what < 12:
        script = folder / "commands"
        script.write_bytes(mutant(rng, DEBUGGING.encode()))
        words = [
            "debug",
            *rng.choice(([], ["--json"], ["--bpf", OBJ / "x86_64" / "writes.bpf.o"])),
            "--commands",
            script,
            "--",
            HELLO,
        ]
    elif what < 13:
        experiment, journal = folder / "experiment.py", folder / "journal"
        experiment.write_text(EXPERIMENT)
        journal.write_bytes(mutant(rng, JOURNAL.encode() * 3))
        words = [
            "sweep",
            experiment,
            "--journal",
            journal,
            "--seeds",
            text(rng, mutant, "0-1"),
            *rng.choice(([], ["--json"])),
        ]
    elif what < 14:
        words = rng.choice((["list", "functions"], ["list", "events"], ["disasm"]))
        words = [*words, text(rng, mutant, rng.choice(("vfs_*", "sched:*", "vfs_read", "[a-c]*")))]
    elif what < 15:
        victim.write_bytes(mutant(rng, rng.choice(sorted((OBJ / "x86_64").glob("*.bpf.o"))).read_bytes()))
        words = ["debug", "--verifier", victim, *rng.choice(([], ["--json"]))]
    else:
        option = rng.choice(
            (
                "--event",
                "--event",
                "--event",
                "--netem",
                "--bind",
                "--env",
                "--kernel",
                "--export",
                "--max-output",
                "--timeout",
            )
        )
        words = ["run", *SOON, option, text(rng, mutant, rng.choice(WORDS)), "--", HELLO]
    return f"{words[0]} {simkernel(*words).exit_code}"
