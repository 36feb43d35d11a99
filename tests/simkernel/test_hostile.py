"""Programs that no verifier would let pass reach nothing but the simulated machine: tests/simkernel/hostile.py."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def run(*options: str) -> dict:
    """A campaign in a process of its own; its count."""
    script = Path(__file__).with_name("hostile.py")
    done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = json.loads(done.stdout.splitlines()[-1])
    assert counted["violations"] == 0
    return counted


def test_a_hundred_programs() -> None:
    outcomes = run("--programs", "100", "--arch", "x86_64")["outcomes"]
    assert outcomes["goes on"] > 25
    assert outcomes["ends with CorruptMemory"] > 5  # they do hit what matters
    assert outcomes["ends with KernelCrash"] > 1


def test_some_on_each_architecture() -> None:
    assert run("--programs", "60")["programs"] == 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_ten_thousand_programs(seed: str) -> None:
    run("--programs", "10000", "--seed", seed)


@pytest.mark.parametrize(
    ("arch", "seed", "only"),
    [
        ("s390x", "5", "8"),  # a struct file that is none: once a KeyError
        ("s390x", "31", "38"),  # a function that is none: the same
        ("arm64", "281603", "74"),  # a system call's registers far from memory: once an OverflowError
    ],
)
def test_a_wild_address_is_memory_destroyed(arch: str, seed: str, only: str) -> None:
    script = Path(__file__).with_name("hostile.py")
    options = ["--arch", arch, "--tier", "compiled", "--seed", seed, "--only", only]
    done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, check=True)
    assert done.stdout == "ends with CorruptMemory False\n"
