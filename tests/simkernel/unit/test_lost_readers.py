"""Readers that are killed, become another program or close at random: what was written is what is there, overwritten, dropped or read."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

import simkernel
from simkernel.machine import Machine

HELLO = Path(__file__).parents[3] / "samples" / "bin" / "x86_64" / "hello"
TRACING = "/sys/kernel/tracing"
O_RDONLY, O_WRONLY = 0, 1
SIGKILL = 9


def writer(count: int):
    """Writes that end at once, and then some that wait for ever in a pipe that nobody reads."""

    def program(u):
        null = yield u.openat(-100, "/dev/null", O_WRONLY, 0)
        for _ in range(count):
            yield u.write(null, b"x")
        ends = yield u.mmap(0, 1 << 17, 3, 0x22, -1, 0)
        yield u.pipe2(ends, 0)
        yield u.write(2, ends, 1 << 17)  # null is 0, the pipe 1 and 2
        yield u.write(2, ends, 1 << 17)  # null is 0, the pipe 1 and 2

    return program


def reader(path: str, how: str, reads: int):
    """Reads, and then ends in one way or another; killed ones read on."""

    def program(u):
        fd = yield u.openat(-100, path, O_RDONLY, 0)
        buffer = yield u.mmap(0, 1 << 16, 3, 0x22, -1, 0)
        left = reads
        while left or how == "killed":
            left -= 1
            yield u.read(fd, buffer, 4096)
        if how == "closes":
            yield u.close(fd)
        elif how == "execs":
            yield u.execve("/bin/hello", 0, 0)

    return program


def written(m: Machine) -> int:
    """Records of the buffer: those that are there, and those that went, by each way."""
    total = 0
    for cpu in range(m.kernel.nr_cpus):
        text = m.session.read_file(f"{TRACING}/per_cpu/cpu{cpu}/stats").decode()
        rows = dict(line.split(": ") for line in text.splitlines())
        total += sum(
            int(rows[name]) for name in ("entries", "overrun", "commit overrun", "dropped events", "read events")
        )
    return total


def profile(m: Machine) -> dict[str, Counter[str]]:
    """Hits and misses of each probe event."""
    rows = [line.split() for line in m.session.read_file(f"{TRACING}/kprobe_profile").decode().splitlines()]
    return {name: Counter(hits=int(hits), misses=int(misses)) for name, hits, misses in rows}


@pytest.mark.parametrize("cpus", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", [1, 2])
def test_readers_that_end_anyhow_lose_nothing_untold(cpus: int, seed: int) -> None:
    rng = random.Random(100 * cpus + seed)
    with simkernel.boot(cpus=cpus, seed=seed) as m:
        m.install(HELLO)
        m.session.write_file(f"{TRACING}/buffer_size_kb", "8")
        m.enable_event("p:entered vfs_write")
        m.session.write_file(f"{TRACING}/kprobe_events", "r1:left vfs_write\n", 0o2001)
        m.session.write_file(f"{TRACING}/events/kprobes/left/enable", "1")
        m.session.write_file(f"{TRACING}/trace", "")
        before, first = written(m), profile(m)
        alive = []
        for _ in range(8):
            paths = [f"{TRACING}/trace_pipe", *(f"{TRACING}/per_cpu/cpu{cpu}/trace_pipe" for cpu in range(cpus))]
            alive += [
                m.workload(reader(rng.choice(paths), rng.choice(("killed", "closes", "execs")), rng.randrange(1, 30)))
                for _ in range(2)
            ]
            alive += [m.workload(writer(rng.randrange(20, 120))) for _ in range(cpus + 1)]
            for _ in range(4):
                m.kernel.cpus.run(lambda: False, m.kernel.clock.now_ns + rng.randrange(1, 200) * 1000)
                victim = rng.choice(alive)
                if rng.random() < 0.7:
                    m.kernel.signals.send(victim, SIGKILL)
        for task in alive:
            m.kernel.signals.send(task, SIGKILL)
            m.wait(task)
        m.settle()
        last = profile(m)
        entered, left = last["entered"] - first["entered"], last["left"] - first["left"]
        assert entered["hits"] > 500 and left["misses"] > 0
        assert entered.total() == left.total(), "each call is left, or was missed"
        assert written(m) - before == entered["hits"] + left["hits"]
        m.enable_event("p:again vfs_write")
        hits = profile(m)["left"]
        m.wait(m.workload(lambda u: (yield u.write(99, b"x"))))
        assert m.wait(m.workload(one_write)).status == 0
        assert profile(m)["left"] - hits == Counter(hits=1), "those that were killed have given back what they held"


def one_write(u):
    null = yield u.openat(-100, "/dev/null", O_WRONLY, 0)
    yield u.write(null, b"x")
