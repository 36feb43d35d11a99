"""Readers that are killed, become another program or close at random: what was written is what there is, was overwritten or was read."""

from __future__ import annotations

import random
import re
import struct
from collections import Counter
from pathlib import Path

import pytest

import simkernel
from simkernel.machine import Machine
from tracing.buffer.ringbuffer import decode_page

HELLO = Path(__file__).parents[3] / "samples" / "bin" / "x86_64" / "hello"
TRACING = "/sys/kernel/tracing"
O_RDONLY, O_WRONLY, O_NONBLOCK = 0, 1, 0o4000
SIGKILL = 9
PAGE = 4096
HOWS = ("killed", "closes", "execs")


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
            alive += [m.workload(reader(rng.choice(paths), rng.choice(HOWS), rng.randrange(1, 30))) for _ in range(2)]
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


def raw_reader(path: str, how: str, reads: int, size: int, pause_ns: int, got: list[bytes]):
    """The pages of a CPU's buffer, in pieces; what it has seen is in `got`, whatever becomes of it."""

    def program(u):
        fd = yield u.openat(-100, path, O_RDONLY | O_NONBLOCK, 0)
        buffer = yield u.mmap(0, 1 << 16, 3, 0x22, -1, 0)
        left = reads
        while left or how == "killed":
            left -= 1
            count = yield u.read(fd, buffer, size)
            if count > 0:
                got.append(u.read_memory(buffer, count))
            yield u.nanosleep(struct.pack("<QQ", 0, pause_ns), 0)
        if how == "closes":
            yield u.close(fd)
        elif how == "execs":
            yield u.execve("/bin/hello", 0, 0)

    return program


def missed(page: bytes) -> int:
    """What a page says was overwritten before it: behind its records, where it has the room."""
    (commit,) = struct.unpack_from("<Q", page, 8)
    assert not commit & 1 << 31 or commit & 1 << 30, "these pages all have room for the number"
    return struct.unpack_from("<Q", page, 16 + (commit & 0xFFFFF))[0] if commit & 1 << 31 else 0


def end_at_random(m: Machine, rng: random.Random, alive: list) -> None:
    for _ in range(4):
        m.kernel.cpus.run(lambda: False, m.kernel.clock.now_ns + rng.randrange(1, 200) * 1000)
        if rng.random() < 0.7:
            m.kernel.signals.send(rng.choice(alive), SIGKILL)


@pytest.mark.parametrize("cpus", [1, 2, 3, 4])
def test_pages_seen_and_overwritten_are_what_was_written(cpus: int) -> None:
    rng = random.Random(cpus)
    with simkernel.boot(cpus=cpus, seed=cpus) as m:
        m.install(HELLO)
        m.session.write_file(f"{TRACING}/buffer_size_kb", "8")
        m.enable_event("p:entered vfs_write count=%dx:u64")  # a record of 28 bytes: no page is quite full
        paths = [f"{TRACING}/per_cpu/cpu{cpu}/trace_pipe_raw" for cpu in range(cpus)]
        alive, readings = [], []
        for _ in range(8):
            for _ in range(2):
                got: list[bytes] = []
                readings.append(got)
                size = rng.choice((1000, PAGE, PAGE, 2 * PAGE))
                how, pause_ns = rng.choice(HOWS), rng.randrange(100, 4000) * 1000
                alive.append(m.workload(raw_reader(rng.choice(paths), how, rng.randrange(1, 9), size, pause_ns, got)))
            alive += [m.workload(writer(rng.randrange(100, 300))) for _ in range(cpus + 1)]
            end_at_random(m, rng, alive)
            if rng.random() < 0.5:  # nobody reads for a while
                for task in alive[: -cpus - 1]:
                    m.kernel.signals.send(task, SIGKILL)
        for task in alive:
            m.kernel.signals.send(task, SIGKILL)
            m.wait(task)
        m.settle()
        m.session.write_file(f"{TRACING}/events/kprobes/entered/enable", "0")
        for path in paths:  # what the others have left
            last: list[bytes] = []
            readings.append(last)
            m.wait(m.workload(raw_reader(path, "closes", 20, PAGE, 1000, last)))
        pages = [
            data[at : at + PAGE]
            for data in (b"".join(got) for got in readings)
            for at in range(0, len(data) // PAGE * PAGE, PAGE)
        ]
        unfinished = sum(1 for got in readings if got) + len(alive)  # one page in the hands of each that ended
        seen, told = sum(len(decode_page(page)) for page in pages), sum(map(missed, pages))
        hits = profile(m)["entered"]["hits"]
        rows = Counter[str]()
        for cpu in range(cpus):
            stats = m.session.read_file(f"{TRACING}/per_cpu/cpu{cpu}/stats").decode()
            rows.update({name: int(value) for name, value in re.findall(r"(.*): (\d+)$", stats, re.M)})
        assert hits > 500 and told > 0 and seen > 0
        assert written(m) == hits and rows["entries"] == 0
        assert rows["read events"] - unfinished * PAGE // 32 <= seen <= rows["read events"]
        assert told <= rows["overrun"] + rows["dropped events"]
        if seen == rows["read events"]:  # no page went with a reader
            assert told == rows["overrun"] + rows["dropped events"]


# struct perf_event_mmap_page
DATA_HEAD, DATA_TAIL = 1024, 1032
PERF_RECORD_LOST, PERF_RECORD_SAMPLE = 2, 9
PERF_FORMAT_LOST = 16


def drain(u, ring: int, got: Counter[str]) -> None:
    """All that is in a ring of one data page, in one moment."""
    head, tail = struct.unpack("<QQ", u.read_memory(ring + DATA_HEAD, 16))
    data = u.read_memory(ring + PAGE, PAGE) * 2
    while tail < head:
        kind, _, size = struct.unpack_from("<IHH", data, tail % PAGE)
        assert size >= 8
        if kind == PERF_RECORD_LOST:
            got["lost"] += struct.unpack_from("<Q", data, tail % PAGE + 16)[0]
        else:
            assert kind == PERF_RECORD_SAMPLE
            got["seen"] += 1
        tail += size
    u.write_memory(ring + DATA_TAIL, struct.pack("<Q", tail))


def perf_keeper(event: int, cpus: int, rings: list[int], got: Counter[str], done: list[int], values: list[int]):
    """Owns the events of all CPUs; at the end it drains what is left and reads the counts."""

    def program(u):
        attr = struct.pack("<IIQQQQ", 2, 128, event, 1, 1 << 10, PERF_FORMAT_LOST).ljust(128, b"\0")
        where = u.alloc(128)
        u.write_memory(where, attr)
        mapped = []
        for cpu in range(cpus):
            fd = yield u.perf_event_open(where, -1, cpu, -1, 0)
            assert fd >= 0
            mapped.append((yield u.mmap(0, 2 * PAGE, 3, 1, fd, 0)))
            rings.append(fd)
        while not done:
            yield u.nanosleep(struct.pack("<QQ", 0, 100_000), 0)
        for fd, ring in zip(rings, mapped, strict=True):
            drain(u, ring, got)
            yield u.read(fd, where, 16)
            values.extend(struct.unpack("<QQ", u.read_memory(where, 16)))

    return program


def perf_reader(keeper: int, fd: int, how: str, reads: int, got: Counter[str]):
    """Shares the ring of one event, and ends in one way or another."""

    def program(u):
        pidfd = yield u.pidfd_open(keeper, 0)
        mine = yield u.pidfd_getfd(pidfd, fd, 0)
        assert mine >= 0
        ring = yield u.mmap(0, 2 * PAGE, 3, 1, mine, 0)
        assert ring > 0
        left = reads
        while left or how == "killed":
            left -= 1
            drain(u, ring, got)
            yield u.nanosleep(struct.pack("<QQ", 0, 50_000), 0)
        if how == "closes":
            yield u.close(mine)
            yield u.munmap(ring, 2 * PAGE)
        elif how == "execs":
            yield u.execve("/bin/hello", 0, 0)

    return program


@pytest.mark.parametrize("cpus", [1, 2, 3, 4])
def test_samples_seen_and_lost_are_what_the_event_counted(cpus: int) -> None:
    rng = random.Random(cpus)
    with simkernel.boot(cpus=cpus, seed=cpus) as m:
        m.install(HELLO)
        m.session.write_file(f"{TRACING}/kprobe_events", "p:entered vfs_write\n", 0o2001)
        event = int(m.session.read_file(f"{TRACING}/events/kprobes/entered/id"))
        rings: list[int] = []
        done: list[int] = []
        values: list[int] = []
        got = Counter[str]()
        keeper = m.workload(perf_keeper(event, cpus, rings, got, done, values))
        while len(rings) < cpus:
            m.kernel.cpus.run(lambda: False, m.kernel.clock.now_ns + 100_000)
        alive = []
        for _ in range(8):
            alive += [
                m.workload(perf_reader(keeper.pid, rng.choice(rings), rng.choice(HOWS), rng.randrange(1, 9), got))
                for _ in range(2)
            ]
            alive += [m.workload(writer(rng.randrange(60, 200))) for _ in range(cpus + 1)]
            end_at_random(m, rng, alive)
        for task in alive:
            m.kernel.signals.send(task, SIGKILL)
            m.wait(task)
        done.append(1)
        assert m.wait(keeper).status == 0
        fired, lost = sum(values[::2]), sum(values[1::2])
        assert fired > 500 and lost > 0 and got["seen"] > 0
        assert got["seen"] + lost == fired
        assert got["lost"] <= lost, "a loss is told by the next record that fits"
        assert fired == profile(m)["entered"]["hits"]
