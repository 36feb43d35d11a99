"""Which instructions and lines of BPF programs ran; what they sent; what was lost; what mocks of states answer."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

import simkernel
from simkernel.cc import CompileError, compiler
from simkernel.unit.coverage import CoverageError
from simkernel.unit.records import RecordError

try:
    compiler()
except CompileError:
    pytestmark = pytest.mark.skip(reason="needs clang or ziglang")

PROGRAM = """
#include "vmlinux.h"
#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
static long (*probe_read_user)(void *, u32, const void *) = (void *)112;
static u64 (*ktime)(void) = (void *)5;
static u32 (*rnd)(void) = (void *)7;
static u32 (*this_cpu)(void) = (void *)8;
static u64 (*pid_tgid)(void) = (void *)14;
static u64 (*uid_gid)(void) = (void *)15;
static long (*comm)(void *, u32) = (void *)16;
static long (*update)(void *, const void *, const void *, u64) = (void *)2;
static long (*perf_output)(void *, void *, u64, void *, u64) = (void *)25;
static void *(*reserve)(void *, u64, u64) = (void *)131;
static void (*submit)(void *, u64) = (void *)132;
char LICENSE[] SEC("license") = "GPL";
struct event { u32 pid, cpu; u64 when; char comm[16]; };
const struct event *unused __attribute__((unused));
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 8); __type(key, u32); __type(value, u64); } seen SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } ring SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY); __uint(key_size, 4); __uint(value_size, 4); } rings SEC(".maps");
int no_user, full, no_room, random, uid;

static __attribute__((noinline)) int fill(struct event *e)
{
    e->pid = pid_tgid();
    e->cpu = this_cpu();
    e->when = ktime();
    return comm(e->comm, sizeof(e->comm));
}

SEC("kprobe/vfs_write") int on_write(struct pt_regs *ctx)
{
    struct event mine = {}, *e;
    u32 key = pid_tgid();
    u64 one = 1;
    char byte;
    if (probe_read_user(&byte, 1, (void *)0x1000))
        no_user++;                                  /* LINE missing */
    if (update(&seen, &key, &one, 0))
        full++;                                     /* LINE full */
    fill(&mine);
    perf_output(ctx, &rings, 0xffffffffull, &mine, sizeof(mine));
    e = reserve(&ring, sizeof(*e), 0);
    if (!e) {
        no_room++;                                  /* LINE no_room */
        return 0;
    }
    _Pragma("clang loop unroll(disable)")
    for (int i = 0; i < 3; i++)
        random += rnd();                            /* LINE loop */
    uid = uid_gid();                                /* LINE end */
    *e = mine;
    submit(e, 0);
    return 0;
}
"""
LINES = {
    match[1]: number for number, line in enumerate(PROGRAM.split("\n"), 1) if (match := re.search(r"LINE (\w+)", line))
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("coverage") / "tool.bpf.c"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def compiled(source):
    with closing(simkernel.boot()) as machine:
        return machine.compile(source)


def write(m, times: int = 1) -> None:
    for _ in range(times):
        m.call("vfs_write", 0, 0, 12, 0, returns=12)


def load(m, compiled):
    obj = m.session.load(compiled, "tool.bpf.o")
    obj.attach()
    return obj


def covered(compiled, source, tier: str, monkeypatch, times: int):
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    with closing(simkernel.boot()) as m:
        cov = m.coverage()
        load(m, compiled)
        write(m, times)
        report = cov.report()
        return report, cov.insns("on_write")


def test_both_tiers_count_the_same_lines_and_instructions(compiled, source, monkeypatch, tmp_path) -> None:
    report, insns = covered(compiled, source, "python", monkeypatch, 3)
    native, native_insns = covered(compiled, source, "native", monkeypatch, 3)
    assert report == native and insns == native_insns
    (lines,) = [counts for file, counts in report.lines.items() if file.endswith("tool.bpf.c")]
    assert [lines[LINES[name]] for name in ("missing", "full", "no_room", "loop", "end")] == [3, 0, 0, 9, 3]
    assert insns[0][1] == 3 and 0 in {count for _, count in insns}
    (functions,) = report.functions.values()
    assert {name: row["count"] for name, row in functions.items()} == {"on_write": 3, "fill": 3}
    out = report.write(tmp_path / "out")
    lcov = (out / "lcov.info").read_text()
    assert f"SF:{source}\n" in lcov and f"DA:{LINES['loop']},9\n" in lcov and f"DA:{LINES['full']},0\n" in lcov
    assert "FNDA:3,fill\n" in lcov and lcov.endswith("end_of_record\n")
    html = (out / "index.html").read_text()
    assert "/* LINE no_room */" in html and "<script" not in html and "http" not in html
    assert f"not: {LINES['full']}" in report.text()
    report.add(native)
    assert report.lines[str(source)][LINES["end"]] == 6


def test_nothing_is_counted_unless_asked_and_asking_is_in_time(compiled) -> None:
    with closing(simkernel.boot()) as m:
        load(m, compiled)
        assert all(prog.counts is None for prog in m.kernel.observer.bpf.progs.objects.values())
        with pytest.raises(CoverageError, match="before a BPF object is loaded"):
            m.coverage()


def test_records_are_values_of_the_objects_types(compiled) -> None:
    with closing(simkernel.boot(cpus=2)) as m:
        obj = load(m, compiled)
        ring, perf = m.records(obj, "ring", "struct event"), m.records(obj, "rings", "struct event", pages=1)
        m.call("vfs_write", 0, 0, 12, 0, returns=12, cpu=1)
        (one,), (other,) = ring.read(), perf.read()
        assert one["comm"] == "unit/1" and one["cpu"] == 1 and one.cpu is None
        assert other.value == one.value and other.cpu == 1
        assert ring.read() == [] and m.losses().total() == 0
        with pytest.raises(RecordError, match="no type 'struct evnt'; near: event"):
            m.records(obj, "ring", "struct evnt")
        with pytest.raises(RecordError, match="map seen is of type hash"):
            m.records(obj, "seen", "struct event")
        # A reader that is late: each drop is counted where the kernel counts it.
        write(m, 120)
        losses = m.losses()
        assert obj.bss.no_room == losses["ringbuf_refused"]["ring"] > 0
        in_ring = 120 - obj.bss.no_room
        assert len(ring.read()) == in_ring
        read = len(perf.read())
        write(m)
        read += len(perf.read())
        assert read + perf.lost == 121 and perf.lost == losses.total("perf_lost") > 0


def test_states_of_the_machine_are_mocked(compiled) -> None:
    with closing(simkernel.boot()) as m:
        m.mocks.enable()
        obj = load(m, compiled)
        events = m.records(obj, "ring", "struct event")
        task = m.build.task(comm="victim", pid=4711)
        with m.mocks.clock(at=1000, step=10), m.mocks.cpu(7), m.mocks.random(1, 2), m.mocks.current(task=task, uid=33):
            write(m, 2)
        first, second = events.read()
        assert first.value == {"pid": 4711, "cpu": 7, "when": 1000, "comm": "victim"} and second["when"] == 1010
        assert obj.bss.random == 1 + 2 * 5 and obj.bss.uid == 33
        assert dict(obj.maps["seen"].items()) == {4711: 1}
        with m.mocks.map_full("seen") as full:
            write(m)
            assert obj.bss.full == 1 and full.calls == 1
            with m.mocks.current(pid=4711):
                write(m)
            assert obj.bss.full == 1  # what is there can be changed
        with m.mocks.ring_full("ring"):
            write(m)
        assert obj.bss.no_room == 1 and m.losses().total() == 0
        assert obj.bss.no_user == 5
        with m.mocks.helper("bpf_probe_read_user", returns=0):
            write(m)
            assert obj.bss.no_user == 5
            with m.mocks.no_user_memory(at=0x2000, size=16):
                write(m)
            assert (
                obj.bss.no_user == 6
            )  # the mock is in place of the one before; and what it does not mean is really read
