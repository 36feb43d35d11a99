"""`simkernel run --explore N`: the same run with N seeds, each a schedule of its own; the first that fails is shown.

A run fails whose exit status is not 0: the program's own answer, a crash, a time limit, a bug of the simulated kernel.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import click

OURS = ("--explore", "--seed")


def without_seeds(words: Sequence[str], options: Sequence[click.Parameter]) -> list[str]:
    """The words of a command line but those that say which seeds; what belongs to the program stays as it is."""
    flags = {name for option in options if isinstance(option, click.Option) and option.is_flag for name in option.opts}
    out: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or word == "--":
            return [*out, word, *rest]
        taken = [word] if word in flags or "=" in word else [word, *rest[:1]]
        del rest[: len(taken) - 1]
        if word.partition("=")[0] not in OURS:
            out += taken
    return out


def run_seed(words: Sequence[str], seed: int) -> subprocess.CompletedProcess[bytes]:
    """One run in a process of its own."""
    command = [sys.executable, "-m", "simkernel", "run", "--seed", str(seed), *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def explore(words: Sequence[str], first: int, count: int, as_json: bool = False) -> int:
    """Run `count` seeds from `first` on, several at a time; exit status of the first that fails, or 0."""
    seeds = range(first, first + count)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(partial(run_seed, words, seed)) for seed in seeds]
        for seed, future in zip(seeds, runs):
            ran = future.result()
            if not ran.returncode:
                continue
            for other in runs:
                other.cancel()
            repeat = f"simkernel run --seed {seed} {shlex.join(words)}"
            if as_json:
                sys.stderr.buffer.write(ran.stderr)
                print(json.dumps(document(seed - first + 1, seed, ran, repeat)))
                return ran.returncode
            sys.stdout.buffer.write(ran.stdout)
            sys.stdout.flush()
            sys.stderr.buffer.write(ran.stderr)
            good = f"{seed - first} of {count} seeds before it were well" if seed > first else "it is the first of them"
            print(
                f"simkernel run: seed {seed} fails with status {ran.returncode}; {good}.  To repeat:", file=sys.stderr
            )
            print(f"  {repeat}", file=sys.stderr)
            return ran.returncode
    if as_json:
        print(json.dumps(document(count, None, None, "")))
    else:
        print(f"seeds {first} to {first + count - 1}: none fails")
    return 0


def document(
    tried: int, failed: int | None, ran: subprocess.CompletedProcess[bytes] | None, repeat: str
) -> dict[str, object]:
    """For machines.  A run that did not begin left no document."""
    try:
        run = None if ran is None else json.loads(ran.stdout)
    except ValueError:
        run = None
    return {"seeds": tried, "failed": failed, "status": ran.returncode if ran else 0, "repeat": repeat, "run": run}
