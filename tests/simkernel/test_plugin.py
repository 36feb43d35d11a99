"""The pytest plugin: one test per combination of the mark, other arguments handed to boot()."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest

@pytest.mark.simkernel(arch=["x86_64", "s390x"], kernel=["5.10", "6.1"], cpus=2)
def test_each(machine):
    assert machine.kernel.nr_cpus == 2

def test_plain(machine):
    assert machine.run([machine.install(HELLO)]).text == "hello, world\\n"
"""
ROOT = Path(__file__).parents[2]


def test_the_mark_makes_a_test_per_combination(tmp_path: Path) -> None:
    hello = ROOT / "samples" / "bin" / "x86_64" / "hello"
    (tmp_path / "test_tool.py").write_text(TESTS.replace("HELLO", repr(str(hello))))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "--strict-markers", "-p", "no:cacheprovider", "-p", "no:xdist", "."],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for name in ("x86_64-5.10", "x86_64-6.1", "s390x-5.10", "s390x-6.1"):
        assert f"test_each[{name}] PASSED" in ran.stdout
    assert "test_plain[x86_64-6.1] PASSED" in ran.stdout
