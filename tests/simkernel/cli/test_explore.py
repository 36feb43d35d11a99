"""`simkernel run --explore`: seeds are tried until one fails, and the command that repeats it is told."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from simkernel.cli.explore import without_seeds
from simkernel.cli.run import run
from tests.tools.warm import warm_server

needs_busybox = pytest.mark.skipif(not shutil.which("busybox"), reason="needs Debian's busybox-static")


def test_only_the_words_about_seeds_go() -> None:
    words = ["--cpus", "2", "--explore", "5", "--quiet", "--seed=3", "--", "prog", "--seed", "9"]
    assert without_seeds(words, run.params) == ["--cpus", "2", "--quiet", "--", "prog", "--seed", "9"]
    assert without_seeds(["--explore=5", "prog", "--explore"], run.params) == ["prog", "--explore"]


def explore(*words: str) -> subprocess.CompletedProcess[str]:
    command = warm_server().command("run", "--explore", "2", *words)
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@needs_busybox
def test_the_first_seed_that_fails_is_told_with_its_command() -> None:
    # /dev/urandom differs by seed: seed 1 stands for a schedule in which something goes wrong
    script = "v=$(od -An -N1 -tu1 /dev/urandom); "
    first = subprocess.run(
        warm_server().command("run", "--", "busybox", "sh", "-c", script + "echo $v"),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    ran = explore("--", "busybox", "sh", "-c", f"{script}test $v -eq {int(first.stdout)} || {{ echo lost; exit 7; }}")
    assert ran.returncode == 7 and ran.stdout == "lost\n", ran.stderr
    assert (
        "seed 1 fails with status 7; 1 of 2 seeds before it were well.  To repeat:\n  simkernel run --seed 1 -- busybox sh -c"
        in ran.stderr
    )
    well = explore("--", "busybox", "true")
    assert (well.returncode, well.stdout) == (0, "seeds 0 to 1: none fails\n")
    refused = explore("--out", "x", "--", "busybox", "true")
    assert refused.returncode == 2 and "leave --out and --coverage" in refused.stderr
