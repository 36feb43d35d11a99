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
def test_a_ring_of_one_page_takes_85_of_300_records(tmp_path):
    binary = tmp_path / "ring"
    subprocess.run(["gcc", "-O1", "-w", "-static", "-o", str(binary), str(PROGRAMS / "one_page_ring.c")], check=True)
    with closing(simkernel.boot(kernel="6.1", binds=[(str(tmp_path), "/work", False)])) as machine:
        result = machine.run(["/work/ring"])
    assert result.text == (PROGRAMS / "one_page_ring.out").read_text()


@pytest.mark.skipif(BUSYBOX is None, reason="the host has no busybox")
def test_probes_and_histograms_from_a_shell():
    with closing(simkernel.boot(kernel="6.1")) as machine:
        machine.install(BUSYBOX)
        result = machine.run(["/bin/busybox", "sh", "-c", (PROGRAMS / "probes.sh").read_text()])
    assert result.text == (PROGRAMS / "probes.out").read_text()
