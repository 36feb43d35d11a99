"""Seen and lost together are what happened: every kind of buffer, map and reader, on one to four CPUs."""

from __future__ import annotations

import random
import re
import struct
from contextlib import closing
from pathlib import Path

import pytest

import simkernel
from simkernel.cc import CompileError, compiler

try:
    compiler()
except CompileError:
    pytestmark = pytest.mark.skip(reason="needs clang or ziglang")

PROGRAM = """
#include "vmlinux.h"
#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
static long (*update)(void *, const void *, const void *, u64) = (void *)2;
static long (*perf_output)(void *, void *, u64, void *, u64) = (void *)25;
static long (*stackid)(void *, void *, u64) = (void *)27;
static long (*output)(void *, void *, u64, u64) = (void *)130;
char LICENSE[] SEC("license") = "GPL";
struct event { u64 number; };
const struct event *unused __attribute__((unused));
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 32); __type(key, u64); __type(value, u64); } hash SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } ring SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY); __uint(key_size, 4); __uint(value_size, 4); } rings SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_STACK_TRACE); __uint(max_entries, 1); __uint(key_size, 4); __uint(value_size, 1016); } stacks SEC(".maps");
u64 fired, in_hash, hash_full, in_ring, ring_full, in_perf, perf_full, no_reader, in_stacks, stack_taken;

SEC("kprobe/vfs_write") int on_write(struct pt_regs *ctx)
{
    struct event mine = { __sync_fetch_and_add(&fired, 1) };
    u64 one = 1;
    long answer;

    __sync_fetch_and_add(update(&hash, &mine.number, &one, 0) ? &hash_full : &in_hash, 1);
    __sync_fetch_and_add(output(&ring, &mine, sizeof(mine), 0) ? &ring_full : &in_ring, 1);
    answer = perf_output(ctx, &rings, 0xffffffffull, &mine, sizeof(mine));
    __sync_fetch_and_add(!answer ? &in_perf : answer == -28 ? &perf_full : &no_reader, 1);
    __sync_fetch_and_add(stackid(ctx, &stacks, 0) < 0 ? &stack_taken : &in_stacks, 1);
    return 0;
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    path = tmp_path_factory.mktemp("lost") / "tool.bpf.c"
    path.write_text(PROGRAM)
    with closing(simkernel.boot()) as machine:
        return machine.compile(path)


def writer(count):
    def program(u):
        fd = yield u.openat(-100, "/dev/null", 1, 0)
        for _ in range(count):
            yield u.write(fd, b"x")

    return program


@pytest.mark.parametrize(("cpus", "seed"), [(1, 1), (2, 2), (3, 4), (4, 3)])
def test_seen_and_lost_are_what_happened(compiled, cpus: int, seed: int) -> None:
    rng = random.Random(seed)
    with closing(simkernel.boot(cpus=cpus, seed=seed)) as m:
        m.session.write_file("/sys/kernel/tracing/buffer_size_kb", "4")
        obj = m.session.load(compiled, "tool.bpf.o")
        obj.attach()
        ring, perf = m.records(obj, "ring", "struct event"), m.records(obj, "rings", "struct event", pages=1)
        m.enable_event("p:counted vfs_write")
        in_ring, in_perf, in_pipe, reads = [], [], 0, 0
        for _ in range(6):
            tasks = [m.workload(writer(rng.randrange(40, 150))) for _ in range(cpus + 1)]
            for task in tasks:
                if rng.random() < 0.3:  # killed anywhere
                    m.kernel.cpus.run(lambda: False, m.kernel.clock.now_ns + rng.randrange(1, 60) * 1000)
                    m.kernel.signals.send(task, 9)
                m.wait(task)
            if rng.random() < 0.2:
                in_ring += ring.read()
            if rng.random() < 0.2:
                in_perf += perf.read()
            if rng.random() < 0.2:
                in_pipe += m.trace_pipe().count("counted:")
                reads += 1
        m.session.write_file("/sys/kernel/tracing/events/kprobes/counted/enable", "0")
        bss = obj.bss
        fired = bss.fired
        assert fired > 500
        assert bss.in_hash + bss.hash_full == fired and bss.in_hash == len(list(obj.maps["hash"].items())) == 32
        in_ring += ring.read()
        assert bss.in_ring + bss.ring_full == fired and len(in_ring) == bss.in_ring
        assert m.losses()["ringbuf_refused"]["ring"] == bss.ring_full > 0
        in_perf += perf.read()
        assert bss.in_perf + bss.perf_full == fired and bss.no_reader == 0 and len(in_perf) == bss.in_perf
        assert m.losses().total("perf_lost") == bss.perf_full > 0
        assert bss.in_stacks + bss.stack_taken == fired
        overrun = sum(
            int(
                re.search(
                    r"overrun: (\d+)", m.session.read_file(f"/sys/kernel/tracing/per_cpu/cpu{cpu}/stats").decode()
                )[1]
            )
            for cpu in range(cpus)
        )
        in_pipe += m.trace_pipe().count("counted:")
        hits, misses = map(int, m.session.read_file("/sys/kernel/tracing/kprobe_profile").decode().split()[1:3])
        assert in_pipe + overrun + reads == hits and overrun > 0  # a reading switches tracing off, and on by a write
        assert fired - 8 <= hits + misses <= fired  # the tool's own writes to switch it on and off


HELLO = Path(__file__).parents[3] / "samples" / "bin" / "x86_64" / "hello"
PAGE = 4096
BPF_MAP_UPDATE_ELEM, BPF_MAP_GET_FD_BY_ID = 2, 14
HOWS = ("killed", "closes", "execs")
MOST_IN_A_RING = PAGE // 24  # records of 8 bytes: header, size, and what rounds it up


def ending(u, how: str, *fds: int):
    """The end of a reader that is not killed: in this order, or by becoming another program."""
    if how == "execs":
        yield u.execve("/bin/hello", 0, 0)
    for fd in fds:
        yield u.close(fd)


def by_id(u, number: int):
    """A descriptor of a map."""
    where = u.alloc(128)
    u.write_memory(where, struct.pack("<I", number))
    fd = yield u.bpf(BPF_MAP_GET_FD_BY_ID, where, 128)
    assert fd >= 0
    return fd


def pause(u, rng: random.Random):
    yield u.nanosleep(struct.pack("<QQ", 0, rng.randrange(20, 400) * 1000), 0)


def ring_reader(number: int, how: str, reads: int, rng: random.Random, seen: list[int]):
    """A reader of a BPF ring buffer, which it shares with others; looks and acknowledges in one moment."""

    def program(u):
        fd = yield from by_id(u, number)
        consumer = yield u.mmap(0, PAGE, 3, 1, fd, 0)
        producer = yield u.mmap(0, 3 * PAGE, 1, 1, fd, PAGE)
        left = reads
        while left or how == "killed":
            left -= 1
            (at,) = struct.unpack("<Q", u.read_memory(consumer, 8))
            (end,) = struct.unpack("<Q", u.read_memory(producer, 8))
            while at < end:
                header, event = struct.unpack("<I4xQ", u.read_memory(producer + PAGE + at % PAGE, 16))
                if header & 1 << 31:  # not committed yet
                    break
                assert header == 8
                seen.append(event)
                at += 16
            u.write_memory(consumer, struct.pack("<Q", at))
            yield from pause(u, rng)
        yield from ending(u, how, fd)

    return program


def perf_reader(number: int, cpu: int, how: str, reads: int, rng: random.Random, seen: list[int]):
    """A reader of a CPU's place in a perf event array: what it puts there goes with its descriptor of the map."""

    def program(u):
        fd = yield from by_id(u, number)
        attr = u.alloc(128)
        u.write_memory(attr, struct.pack("<IIQQQ", 1, 128, 10, 1, 1 << 10))  # PERF_COUNT_SW_BPF_OUTPUT, PERF_SAMPLE_RAW
        event = yield u.perf_event_open(attr, -1, cpu, -1, 0)
        ring = yield u.mmap(0, 2 * PAGE, 3, 1, event, 0)
        what = u.alloc(8)
        u.write_memory(what, struct.pack("<II", cpu, event))
        update = u.alloc(128)
        u.write_memory(update, struct.pack("<I4xQQQ", fd, what, what + 4, 0))
        assert (yield u.bpf(BPF_MAP_UPDATE_ELEM, update, 128)) == 0
        left = reads
        while left or how == "killed":
            left -= 1
            head, tail = struct.unpack("<QQ", u.read_memory(ring + 1024, 16))
            data = u.read_memory(ring + PAGE, PAGE) * 2
            while tail < head:
                kind, _, size = struct.unpack_from("<IHH", data, tail % PAGE)
                if kind == 9:  # PERF_RECORD_SAMPLE
                    seen.append(struct.unpack_from("<Q", data, tail % PAGE + 12)[0])
                tail += size
            u.write_memory(ring + 1032, struct.pack("<Q", tail))
            yield from pause(u, rng)
        yield u.munmap(ring, 2 * PAGE)  # what comes now finds no ring
        yield from pause(u, rng)
        yield from ending(u, how, *rng.choice(((fd, event), (event, fd))))

    return program


@pytest.mark.parametrize("cpus", [1, 2, 3, 4])
def test_readers_that_end_anyhow_leave_every_event_told(compiled, cpus: int) -> None:
    rng = random.Random(cpus)
    with closing(simkernel.boot(cpus=cpus, seed=cpus)) as m:
        m.install(HELLO)
        obj = m.session.load(compiled, "tool.bpf.o")
        obj.attach()
        ring, rings = (
            int(re.search(rb"map_id:\t(\d+)", m.session.read_file(f"/proc/self/fdinfo/{obj.maps[name].fd}"))[1])
            for name in ("ring", "rings")
        )
        in_ring: list[int] = []
        in_perf: list[int] = []
        alive, perf_readers = [], 0
        for _ in range(8):
            how, reads = rng.choice(HOWS), rng.randrange(1, 6)
            alive.append(m.workload(ring_reader(ring, how, reads, rng, in_ring)))
            for _ in range(2):
                how, reads, cpu = rng.choice(HOWS), rng.randrange(1, 6), rng.randrange(cpus)
                alive.append(m.workload(perf_reader(rings, cpu, how, reads, rng, in_perf)))
                perf_readers += 1
            alive += [m.workload(writer(rng.randrange(60, 200))) for _ in range(cpus + 1)]
            for _ in range(4):
                m.kernel.cpus.run(lambda: False, m.kernel.clock.now_ns + rng.randrange(1, 200) * 1000)
                if rng.random() < 0.7:
                    m.kernel.signals.send(rng.choice(alive), 9)
        for task in alive:
            m.kernel.signals.send(task, 9)
            m.wait(task)
        m.settle()
        m.wait(m.workload(ring_reader(ring, "closes", 1, rng, in_ring)))  # what the others have left
        before = obj.bss.no_reader
        m.wait(m.workload(writer(3)))
        bss = obj.bss
        assert bss.no_reader >= before + 3, "those that ended have left no place taken"
        m.wait(m.workload(ring_reader(ring, "closes", 1, rng, in_ring)))
        assert bss.in_ring + bss.ring_full == bss.fired > 500
        assert sorted(in_ring) == sorted(set(in_ring)) and len(in_ring) == bss.in_ring
        assert m.losses()["ringbuf_refused"].get("ring", 0) == bss.ring_full
        assert bss.in_perf + bss.perf_full + bss.no_reader == bss.fired
        assert len(set(in_perf)) == len(in_perf) > 0
        assert len(in_perf) <= bss.in_perf <= len(in_perf) + perf_readers * MOST_IN_A_RING
