"""Every story ten ways: nothing that can be seen differs.  `make determinism`.

Hash seeds, one or two cores of the host, a cold and a warm cache, each tier, a busy host: what is compared is one digest of each
story's trace, output, maps, perf ring and counters (stories.py).
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.simkernel.stories import STORIES

ROOT = Path(__file__).parents[2]
RUNS = 10


def ways(count: int, cold: str) -> list[tuple[str, dict[str, str], list[str]]]:
    """(name, environment, words before the command)."""
    cores = sorted(os.sched_getaffinity(0))
    out = []
    for number in range(count):
        tier = ("", "python", "native")[number % 3]
        pinned = number % 2
        environment = {"PYTHONHASHSEED": str(number * 1_000_003 % 4_294_967_295), "SIMKERNEL_TIER": tier}
        if number in (1, 2):
            environment["XDG_CACHE_HOME"] = f"{cold}/{number}"  # empty
        where = cores[number // 2 % len(cores)] if pinned else None
        words = [] if where is None else ["taskset", "-c", str(where)]
        name = f"hash {number}, tier {tier or 'as usual'}, {'one core' if pinned else 'all cores'}"
        out.append((name + (", cold cache" if number in (1, 2) else ""), environment, words))
    return out


def digest(story: str, environment: dict[str, str], words: list[str]) -> str:
    """One run in a process of its own."""
    command = [*words, sys.executable, "-m", "tests.simkernel.stories", story]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=3600
    )
    return done.stdout.strip() if done.returncode == 0 else f"failed:\n{done.stderr[-2000:]}"


def differences(stories: list[str], count: int = RUNS) -> list[str]:
    """A line for each run that is not like the first."""
    out = []
    with tempfile.TemporaryDirectory() as cold:
        for story in stories:
            first = ""
            for (name, environment, words), number in zip(ways(count, f"{cold}/{story}"), itertools.count()):
                found = digest(story, environment, words)
                first = first or found
                if found != first or found.startswith("failed"):
                    out.append(f"{story}, run {number} ({name}): {found}; the first: {first}")
    return out


if __name__ == "__main__":
    lines = differences(sys.argv[1:] or list(STORIES))
    print("\n".join(lines) or f"{len(STORIES)} stories, {RUNS} runs each: identical")
    raise SystemExit(bool(lines))
