"""The stories of stories.py, twice each in processes that differ in all that may not matter; ten ways: make determinism."""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import simkernel
from arch.abi.signal import SIGILL
from simkernel.fs.rootfs import add_bytes_lazily
from tests.simkernel.determinism import differences, digest
from tests.simkernel.stories import STORIES

QUICK = ("network", "sampling")
SAMPLES = Path(__file__).parents[2] / "samples" / "bin"
CALLS = Path(__file__).parent / "calls" / "programs" / "bin"


@pytest.mark.parametrize("story", [pytest.param(s, marks=() if s in QUICK else pytest.mark.slow) for s in STORIES])
def test_another_process_shows_the_same_bytes(story: str) -> None:
    if not shutil.which("busybox"):
        pytest.skip("busybox-static is not installed")
    assert differences([story], 2) == []


def test_a_difference_would_be_seen() -> None:
    """Another story is another digest, and one that cannot run says why."""
    assert digest("nothing", {}, []).startswith("failed:\nTraceback")


@pytest.mark.parametrize("arch", ["x86_64", "i386"])
def test_the_time_stamp_counter_is_the_machines(monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    said = []
    for tier in ("native", "native", "python"):
        monkeypatch.setenv("SIMKERNEL_TIER", tier)
        with simkernel.boot(arch=arch, cpus=2) as machine:
            result = machine.run([machine.install(CALLS / arch / "cycles"), "raw"])
            said.append(result.text)
    before, after = map(int, said[0].splitlines()[-1].split())
    assert 10_000_000 < after - before < 100_000_000  # it slept in between
    assert said == said[:1] * 3


@pytest.mark.parametrize("arch", ["x86_64", "i386"])
@pytest.mark.parametrize("code", [b"\x0f\xc7\xf0", b"\x0f\xc7\xf8"], ids=["rdrand", "rdseed"])
def test_no_cpu_has_the_hosts_random_numbers(arch: str, code: bytes) -> None:
    program = bytearray((SAMPLES / arch / "hello").read_bytes())
    elf = ELFFile(BytesIO(program))
    (entry,) = elf.address_offsets(elf["e_entry"])
    program[entry : entry + len(code)] = code
    with simkernel.boot(arch=arch) as machine:
        add_bytes_lazily(machine.kernel.vfs, "/random", bytes(program))
        assert machine.run(["/random"]).signal == SIGILL
