"""samples/testing and the GitHub action that runs such tests: one kernel and CPU here, all of them in `make test-samples`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from simkernel.cc import CompileError, compiler

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "test-bpf" / "action.yml"
SUITES = ROOT / "samples" / "testing"

try:
    compiler()
except CompileError:
    pytestmark = pytest.mark.skip(reason="needs clang or ziglang")
if not Path("/usr/include/bpf/bpf_helpers.h").exists():
    pytestmark = pytest.mark.skip(reason="needs libbpf's headers (libbpf-dev)")


def step(name: str) -> str:
    """The shell script of one step."""
    text = ACTION.read_text().partition(f"- name: {name}\n")[2].partition("run: |\n")[2]
    lines = []
    for line in text.splitlines():
        if line and not line.startswith(" " * 8):
            break
        lines.append(line[8:])
    return "\n".join(lines)


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_the_action_runs_the_samples_suites_with_reports(tmp_path: Path) -> None:
    environment = {
        **os.environ, "TESTS": str(SUITES / "test_files.py"), "KERNELS": "6.1", "ARCHES": "x86_64", "EXPLORE": "",
        "OPTIONS": "-p no:cacheprovider", "REPORT": "report", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    environment.pop("PYTEST_XDIST_WORKER", None)
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step("Test").replace("-n auto", "-n 0")],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    suite = ElementTree.parse(tmp_path / "report" / "junit.xml").getroot()[0]
    assert int(suite.attrib["tests"]) == 6 and suite.attrib["failures"] == suite.attrib["skipped"] == "0"
    assert "files.bpf.c" in (tmp_path / "report" / "coverage" / "lcov.info").read_text()


def test_every_input_of_the_action_is_used() -> None:
    text = ACTION.read_text()
    names = re.findall(r"^  (\w+):$", text.partition("inputs:\n")[2].partition("runs:\n")[0], re.M)
    assert len(names) == 8 and all(f"inputs.{name} " in text for name in names)
    assert subprocess.run(["bash", "-n", "-c", step("Install")]).returncode == 0
