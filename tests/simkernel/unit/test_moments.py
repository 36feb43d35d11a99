"""Interrupts, NMIs and other tasks while a program stands at an instruction; schedules by seed; what is missed is counted."""

from __future__ import annotations

from contextlib import closing

import pytest

import simkernel
from simkernel.cc import CompileError, compiler
from simkernel.unit.calls import CallError

try:
    compiler()
except CompileError:
    pytestmark = pytest.mark.skip(reason="needs clang or ziglang")

PROGRAM = """
#include "vmlinux.h"
#define SEC(name) __attribute__((section(name), used))
static u64 (*ktime)(void) = (void *)5;
static u32 (*this_cpu)(void) = (void *)8;
char LICENSE[] SEC("license") = "GPL";
u64 writes, reads, wakeups, switches, entries, cpu;

SEC("kprobe/vfs_write") int on_write(void *ctx)
{
    u64 before = writes;
    ktime();                        /* between the load and the store */
    writes = before + 1;
    return 0;
}
SEC("kprobe/vfs_read") int on_read(void *ctx)
{
    reads++;
    cpu = this_cpu();
    return 0;
}
SEC("tracepoint/sched/sched_wakeup") int on_wakeup(void *ctx)
{
    wakeups += *(int *)(ctx + 24) == 7;     /* pid */
    return 0;
}
SEC("raw_tp/sched_switch") int on_switch(void *ctx)
{
    switches++;
    return 0;
}
SEC("fentry/vfs_fsync") int on_fsync(void *ctx)
{
    u64 before = entries;
    ktime();                        /* may be preempted */
    entries = before + 1;
    return 0;
}
"""


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    path = tmp_path_factory.mktemp("moments") / "tool.bpf.c"
    path.write_text(PROGRAM)
    out = {}
    for arch in ("x86_64", "arm64"):
        with closing(simkernel.boot(arch=arch)) as machine:
            out[arch] = machine.compile(path)
    return out


@pytest.fixture(params=["x86_64", "arm64"])
def m(request):
    with closing(simkernel.boot(arch=request.param, cpus=2)) as machine:
        yield machine


@pytest.fixture
def obj(m, objects):
    loaded = m.session.load(objects[m.kernel.arch.name], "tool.bpf.o")
    loaded.attach()
    return loaded


def write(m) -> None:
    m.call("vfs_write", 0, 0, 12, 0, returns=12)


def test_an_interrupt_arrives_while_a_program_stands_at_an_instruction(m, obj) -> None:
    task = m.build.task(comm="woken", pid=7)
    seen = []

    def arrives(moment) -> None:
        seen.append((moment.cpu, moment.count))

        def handler() -> None:
            moment.enter("vfs_read", cpu=cpu)
            moment.fire("sched:sched_wakeup", p=task)

        moment.interrupt(irq=40, cpu=cpu, handler=handler)

    m.session.trace_chunk()
    m.enable_event("irq:irq_handler_entry")
    obj.bss.reads = obj.bss.writes = 0  # the tool's own
    for cpu in (1, 0):
        with m.at(obj.programs["on_write"], arrives, line="ktime()") as stop:
            write(m)
            assert stop.count == 1
        if cpu == 1:  # another CPU: both programs run there as if nothing else did
            assert (obj.bss.reads, obj.bss.cpu, obj.bss.wakeups) == (1, 1, 1) and not m.losses().total("nmissed")
            before = m.losses().total("bpf_prog_active")
    assert seen == [(0, 1), (0, 1)]
    # This CPU: a kprobe within a kprobe is missed, and so is a program while another one's bpf_prog_active is up.
    losses = m.losses()
    assert losses["nmissed"] == {"vfs_read": 1} and losses.total("bpf_prog_active") == before + 1
    assert not losses.total("recursion_misses")  # of which Linux tells since 6.7
    assert (obj.bss.writes, obj.bss.reads, obj.bss.wakeups) == (2, 1, 1)
    assert m.kernel.irqs.counts[40] == [1, 1]
    assert m.trace_pipe().count("irq_handler_entry: irq=40 name=test40") == 2
    writes = obj.bss.writes
    write(m)
    assert obj.bss.writes == writes + 1 and m.losses() == losses  # after the block nothing happens any more


def test_a_race_between_load_and_store_loses_a_count(m, obj) -> None:
    with m.at(obj.programs["on_write"], lambda moment: moment.enter("vfs_write", cpu=1), line="ktime()", times=1):
        write(m)
    assert obj.bss.writes == 1  # two calls, both stored 0 + 1


def test_an_nmi_shows_in_the_trace_and_raw_tracepoints_nest(m, obj) -> None:
    m.enable_event("sched:sched_wakeup")
    task = m.build.task(comm="woken", pid=7)

    def arrives(moment) -> None:
        moment.nmi(lambda: moment.fire("sched:sched_wakeup", p=task))
        moment.fire("sched:sched_switch", prev=task, next=task)

    before = obj.bss.switches
    with m.at(obj.programs["on_write"], arrives, insn=0):
        write(m)
    (line,) = [line for line in m.trace_pipe().splitlines() if "comm=woken" in line]
    assert "d.z" in line  # irqs off, in an NMI
    assert obj.bss.switches > before
    assert m.losses().total("bpf_prog_active") == 1


def test_only_what_linux_preempts_is_preempted(m, obj) -> None:
    init = m.kernel.tasks.init
    m.enable_event("sched:sched_switch")
    with (
        m.at(obj.programs["on_write"], lambda moment: moment.preempt(init, lambda: None), insn=0),
        pytest.raises(CallError, match=r"on_write cannot be preempted: it runs with preemption off in Linux 6\.1"),
    ):
        write(m)

    def preempt(moment) -> None:
        assert m.kernel.current is not init
        moment.preempt(init, lambda: moment.enter("vfs_fsync", m.build.file(), 0))

    with m.at(obj.programs["on_fsync"], preempt, line="ktime()"):
        m.call("vfs_fsync", m.build.file(), 0, returns=0)
    assert obj.bss.entries == 1 and m.losses()["recursion_misses"]["on_fsync"] == 1
    assert "next_comm=init" in m.trace_pipe()


def test_what_cannot_be_is_a_sentence(m, obj) -> None:
    program = obj.programs["on_write"]
    with pytest.raises(CallError, match="no instruction of 'nowhere'"):
        m.at(program, print, line="nowhere")
    with pytest.raises(CallError, match="has instructions 0 to"):
        m.at(program, print, insn=99)
    with pytest.raises(CallError, match="either insn= or line="):
        m.at(program, print)
    with (
        m.at(program, lambda moment: moment.enter("vfs_raed"), insn=0),
        pytest.raises(CallError, match="near: vfs_read"),
    ):
        write(m)
    with m.at(program, lambda moment: moment.interrupt(cpu=5), insn=0), pytest.raises(CallError, match="CPU 5"):
        write(m)


def sleeper(u):
    spec = u.alloc(16)
    u.write_memory(spec, (0).to_bytes(8, "little") + (5_000_000).to_bytes(8, "little"))
    yield u.clock_nanosleep(1, 0, spec, 0)


def test_return_probes_that_run_out_are_counted() -> None:
    with closing(simkernel.boot()) as m:
        m.enable_event("r2:slow hrtimer_nanosleep ret=$retval")
        for _ in range(5):
            m.workload(sleeper)
        m.run_until_idle()
        assert m.losses()["kretprobe_nmissed"] == {"hrtimer_nanosleep": 3}
        assert m.trace_pipe().count("slow:") == 2
        assert "3\n" in m.session.read_file("/sys/kernel/tracing/kprobe_profile").decode()


def switches(seed: int, order: tuple[int, ...] = ()) -> str:
    def busy(u):
        for _ in range(40):
            yield u.getppid()
            yield u.sched_yield()

    with closing(simkernel.boot(cpus=2, seed=seed)) as m:
        m.enable_event("sched:sched_switch")
        with m.cpu_order(*order):
            for _ in range(4):
                m.workload(busy)
                m.workload(sleeper)
            m.run_until_idle()
        return m.trace_pipe()


def test_a_seed_is_a_schedule() -> None:
    runs = {seed: switches(seed) for seed in range(4)}
    assert len(set(runs.values())) == 4
    assert switches(2) == runs[2]
    assert switches(0, (1, 0)) != switches(0, (0, 1)) == switches(0, (0, 1))


@pytest.mark.parametrize(("kernel", "misses"), [("6.6", 0), ("6.7", 1)])
def test_nested_tracepoint_programs_are_told_of_since_6_7(objects, kernel: str, misses: int) -> None:
    with closing(simkernel.boot(kernel=kernel)) as m:
        obj = m.session.load(objects["x86_64"], "tool.bpf.o")
        for name in ("on_write", "on_wakeup"):
            obj.programs[name].autoattach = True
        obj.attach()
        with m.at(
            obj.programs["on_write"], lambda moment: moment.fire("sched:sched_wakeup", p=m.build.task(pid=7)), insn=0
        ):
            write(m)
        assert m.losses()["recursion_misses"]["on_wakeup"] == misses and m.losses().total("bpf_prog_active") == 1
