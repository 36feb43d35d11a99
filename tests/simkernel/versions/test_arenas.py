"""Arenas: programs/arenas.c prints here what it printed on 6.12 (with the log of each whole walk) and on 7.2 (with that of what is refused)."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bpf.maps.free_ranges import BestFit, FirstFit
from simkernel.machine import boot

PROGRAM = Path(__file__).parent / "programs/arenas.c"
FLAGS = ["-nostdlib", "-static", "-Os", "-fno-pie", "-no-pie", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
         "-fno-builtin", "-w", "-s", "-Wl,--build-id=none", "-Wl,-z,noseparate-code", "-Wl,-z,noexecstack"]  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Linked without a C library."""
    built = tmp_path_factory.mktemp("built") / "arenas"
    subprocess.run(["gcc", *FLAGS, "-o", built, PROGRAM], check=True)
    return built


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler on this host")
@pytest.mark.parametrize("kernel, level", [("6.12", "2"), ("7.2", "1")])
def test_what_the_real_kernel_said(program, kernel, level):
    machine = boot(kernel=kernel)
    result = machine.run([machine.install(program), level], timeout_host_s=120)
    machine.close()
    assert result.crash is None
    assert result.text == PROGRAM.with_suffix(f".{kernel}").read_text()


def test_free_pages_are_found_as_each_version_finds_them():
    first, best = FirstFit(16), BestFit(16)
    for free in (first, best):
        assert [free.take(count, 16) for count in (3, 2, 1, 4)] == [0, 3, 5, 6]
        free.give(3, 2)
        free.give(0, 1)
        assert not free.take_at(0, 2) and free.take_at(3, 2)
        free.give(3, 2)
    assert first.take(2, 16) == 3 and best.take(2, 16) == 3
    assert first.take(1, 16) == 0 and best.take(7, 16) is None
    first.give(0, 16)
    assert first.ranges == [(0, 15)]
