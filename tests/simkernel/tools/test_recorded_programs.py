"""Programs of our own whose every line a real 6.1 was asked for (programs/*.out)."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

import simkernel

PROGRAMS = Path(__file__).parent / "programs"
BUSYBOX = shutil.which("busybox")


@pytest.mark.skipif(not shutil.which("gcc"), reason="the host has no gcc")
@pytest.mark.parametrize("name", ["one_page_ring", "perf_groups"])
def test_a_program_prints_what_it_does_on_6_1(tmp_path, name):
    subprocess.run(["gcc", "-O1", "-w", "-static", "-o", str(tmp_path / "it"), str(PROGRAMS / f"{name}.c")], check=True)
    with closing(simkernel.boot(kernel="6.1", binds=[(str(tmp_path), "/work", False)])) as machine:
        result = machine.run(["/work/it"])
    assert result.text == (PROGRAMS / f"{name}.out").read_text()


@pytest.mark.skipif(BUSYBOX is None, reason="the host has no busybox")
def test_probes_and_histograms_from_a_shell():
    with closing(simkernel.boot(kernel="6.1")) as machine:
        machine.install(BUSYBOX)
        result = machine.run(["/bin/busybox", "sh", "-c", (PROGRAMS / "probes.sh").read_text()])
    assert result.text == (PROGRAMS / "probes.out").read_text()
