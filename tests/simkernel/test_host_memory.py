"""What a program can make a machine take of the host's memory, beside the memory that it simulates, is bounded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import simkernel

ROOT = Path(__file__).parents[2]
OVERHEAD_MIB = 256  # what SECURITY.md states


def sparse_file(u):
    fd = yield u.openat(-100, "/tmp/big", 0o102, 0o600)
    yield u.ftruncate(fd, 1 << 40)
    for i in range(2000):
        yield u.pwrite64(fd, b"x" * 10, i << 29)


def areas(u):
    for i in range(70_000):
        yield u.mmap(0, 4096, 1 + (i & 1), 0x22, -1, 0)


def files(u):
    for i in range(100_000):
        fd = yield u.openat(-100, f"/tmp/f{i}", 0o102, 0o600)
        yield u.close(fd)


def events(u):
    for _ in range(300_000):
        yield u.getppid()


STORIES = {story.__name__: story for story in (sparse_file, areas, files, events)}


def peak_mib() -> int:
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) >> 10


def grown(name: str) -> int:
    """MiB that a story adds to the process, the pages of the machine that it touches included."""
    with simkernel.boot() as m:
        m.session.read_file("/proc/uptime")
        if name == "events":
            m.enable_event("syscalls:sys_enter_getppid")
        before = peak_mib()
        m.wait(m.workload(STORIES[name]))
        return peak_mib() - before


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_a_program_takes_no_more_than_is_stated(name: str) -> None:
    """In a process of its own: the most that it ever had is what counts."""
    code = f"from tests.simkernel.test_host_memory import grown; print(grown({name!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < OVERHEAD_MIB
