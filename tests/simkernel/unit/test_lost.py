"""Seen and lost together are what happened: every kind of buffer, map and reader, on one to four CPUs."""

from __future__ import annotations

import random
import re
from contextlib import closing

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
