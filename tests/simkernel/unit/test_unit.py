"""Programs, events and kernel functions by themselves, with built objects and mocked helpers."""

from __future__ import annotations

from contextlib import closing

import pytest

import simkernel
from arch.abi.errno import EBADF, EFAULT
from simkernel.cc import CompileError, compiler
from simkernel.unit.build import BuildError
from simkernel.unit.calls import CallError
from simkernel.unit.mocks import MockError
from tests.kconfig import typed

try:
    compiler()
except CompileError:
    pytestmark = pytest.mark.skip(reason="needs clang or ziglang")

# Without libbpf's headers, so that the test needs only a compiler: what they would define is written out.
PROGRAM = """
#include "vmlinux.h"
#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
static long (*probe_read)(void *, u32, const void *) = (void *)113;
static u64 (*ktime)(void) = (void *)5;
static u64 (*pid_tgid)(void) = (void *)14;
static u32 (*this_cpu)(void) = (void *)8;
static void *(*lookup)(void *, const void *) = (void *)1;
static long (*update)(void *, const void *, const void *, u64) = (void *)2;
char LICENSE[] SEC("license") = "GPL";
int exited, switches, failed, cpu;
u64 first, last;
char name[16];
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1); __type(key, u32); __type(value, u64); } seen SEC(".maps");

SEC("tp_btf/sched_process_exit") int on_exit(u64 *ctx)
{
    struct task_struct *p = (void *)ctx[0];
    exited = p->pid;
    return 0;
}
SEC("raw_tp/sched_switch") int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
    switches++;
    cpu = this_cpu();
    return 0;
}
SEC("kprobe/vfs_write") int on_write(struct pt_regs *ctx)
{
    struct file *file = (void *)ARG1;
    struct dentry *dentry;
    const unsigned char *text;
    u32 key = pid_tgid() >> 32;
    u64 now = ktime(), *v = lookup(&seen, &key);
    if (!first)
        first = now;
    last = now;
    if (!v && update(&seen, &key, &now, BPF_ANY))
        failed++;
    if (probe_read(&dentry, sizeof(dentry), &file->f_path.dentry) || probe_read(&text, sizeof(text), &dentry->d_name.name) ||
    probe_read(name, sizeof(name), text)) {
        failed += 100;
        return 1;
    }
    return 7;
}
"""
ARG1 = {"x86_64": "ctx->di", "arm64": "ctx->regs[0]", "s390x": "ctx->gprs[2]"}


@pytest.fixture(params=["x86_64", "s390x"])
def m(request, tmp_path):
    with closing(simkernel.boot(arch=request.param, cpus=2, config=typed(request.param))) as machine:
        yield machine


@pytest.fixture
def source(m, tmp_path):
    path = tmp_path / "unit.bpf.c"
    path.write_text(PROGRAM.replace("ARG1", ARG1[m.kernel.arch.name]))
    return path


def test_an_event_with_a_built_task(m, source):
    obj = m.load(source)
    obj.attach()
    m.fire("sched:sched_process_exit", p=m.build.task(comm="victim", pid=4711))
    assert obj.bss.exited == 4711


def test_an_event_on_another_cpu_in_an_interrupt(m, source):
    obj = m.load(source)
    obj.attach()
    before = obj.bss.switches
    m.fire("sched_switch", cpu=1, context="hardirq", prev=m.build.task("a", 1), next=m.build.task("b", 2))
    assert obj.bss.switches > before  # the unit's own task is switched to, too
    text = m.trace_pipe()
    assert text == ""  # nobody turned the event on for the trace


def test_the_columns_of_the_trace_say_the_context(m):
    m.enable_event("sched:sched_process_exit")
    m.fire("sched:sched_process_exit", cpu=1, context="softirq", p=m.build.task("soft", 5))
    m.fire("sched:sched_process_exit", cpu=1, context="hardirq", p=m.build.task("hard", 6))
    lines = [line for line in m.trace_pipe().splitlines() if "comm=soft" in line or "comm=hard" in line]
    assert len(lines) == 2 and all("[001]" in line for line in lines)
    assert "comm=soft pid=5" in lines[0] and lines[0].split("[001] ")[1][2] == "s"
    assert "comm=hard pid=6" in lines[1] and lines[1].split("[001] ")[1][2] == "h"


def test_a_program_by_itself(m, source):
    obj = m.load(source)
    program = obj.programs["on_write"]
    file = m.build.file("/var/log/messages")
    assert m.run_program(program, m.build.pt_regs(file, 0, 12)) == 7
    assert obj.bss.name == "messages"
    assert m.run_program(program, m.build.pt_regs(0x7000_0000_0000_0000)) == 1 and obj.bss.failed % 1000 >= 100


def test_helpers_answer_what_the_test_says(m, source):
    clock = m.mocks.helper("bpf_ktime_get_ns", each=[1000, 2500])
    who = m.mocks.helper("bpf_get_current_pid_tgid", returns=77 << 32)
    obj = m.load(source)
    program, regs = obj.programs["on_write"], m.build.pt_regs(m.build.file("/x"))
    assert m.run_program(program, regs) == 7
    assert (obj.bss.first, obj.bss.last) == (1000, 1000)
    assert dict(obj.maps["seen"].items()) == {77: 1000}
    with m.mocks.helper("bpf_probe_read_kernel", fail=EFAULT, on_call=3) as reads:
        assert m.run_program(program, regs) == 1
        assert reads.calls == 3
    assert m.run_program(program, regs) == 7  # the helper is itself again
    assert obj.bss.last == 2500 and clock.calls == 3 and who.calls == 3
    who.returns = 78 << 32  # the map has room for one entry: E2BIG
    before = obj.bss.failed
    m.run_program(program, regs)
    assert obj.bss.failed == before + 1


def test_a_kernel_function_is_really_called(m, source):
    m.enable_event("p:probe ksys_write")
    assert m.call("ksys_write", 99, 0, 0) == -EBADF
    assert "probe: (ksys_write" in m.trace_pipe()


def test_a_function_can_be_entered_and_left_with_built_arguments(m, source):
    obj = m.load(source)
    obj.attach()
    m.enable_event("r:ret vfs_write got=$retval")
    assert m.call("vfs_write", m.build.file("/var/log/syslog"), 0, 12, 0, returns=-5) == -5
    assert obj.bss.name == "syslog"
    assert "got=0xfffffffffffffffb" in m.trace_pipe()
    m.enable_event("syscalls:sys_exit_write")  # and afterwards the function is itself again: the tool's own writes work


def test_objects_are_typed(m):
    build = m.build
    dentry = build.file("/etc/passwd", f_flags=0o2).f_path.dentry
    names = []
    for _ in range(2):
        view = m.kernel.view(dentry, "struct dentry")
        names.append(m.kernel.mem.read(view.d_name.name, view.d_name.len))
        dentry = view.d_parent
    assert names == [b"passwd", b"etc"]
    sock = build.sock(saddr="10.0.0.1", sport=1234, daddr="10.0.0.2", dport=80)
    number = m.kernel.types.getter("struct sock", "__sk_common.skc_num")
    assert number(m.kernel.mem, sock.addr) == 1234
    assert m.kernel.mem.read(sock.addr, 8) == bytes([10, 0, 0, 2, 10, 0, 0, 1])
    assert build.sk_buff(b"abcdef").len == 6
    length = m.kernel.types.getter("struct request", "__data_len")
    assert length(m.kernel.mem, build.request(sector=8, nbytes=4096).addr) == 4096
    assert build.struct("path", mnt=0).dentry == 0


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda m: m.build.task(comn="x"), "struct task_struct has no member 'comn' in Linux 6.1; near: comm"),
        (lambda m: m.build.task(comm="a name that is long"), "longer than 15 bytes"),
        (lambda m: m.build.struct("no_such"), "no type is named 'struct no_such'"),
        (lambda m: m.build.pt_regs(nothing=1), "has no register 'nothing'"),
        (lambda m: m.build.pt_regs(*range(9)), "arguments in registers, not 9"),
        (lambda m: m.fire("sched:sched_swich"), "no tracepoint is named sched:sched_swich; near: sched_switch"),
        (lambda m: m.fire("sched:sched_process_exit", task=1), "has no argument 'task'; it has p"),
        (lambda m: m.call("vfs_raed"), "no kernel function is named vfs_raed; near: vfs_read"),
        (lambda m: m.call("ksys_write", 0, 0, 0, cpu=7), "CPU 7: this machine has 2"),
        (lambda m: m.mocks.helper("bpf_ktime_get_n"), "no helper is named 'bpf_ktime_get_n'; near: bpf_ktime_get_ns"),
        (lambda m: m.mocks.helper("bpf_ktime_get_ns", returns=1, fail=2), "give one of returns, fail and each"),
        (lambda m: m.mocks.helper("bpf_ktime_get_ns", each=[]), "each: no answer"),
    ],
)
def test_mistakes_name_what_is_near(wrong, said):
    with closing(simkernel.boot(cpus=2)) as m, pytest.raises((BuildError, CallError, MockError), match=said):
        wrong(m)


def test_mocks_come_before_programs(m, source):
    m.load(source)
    with pytest.raises(MockError, match="before a BPF object is loaded"):
        m.mocks.helper("bpf_ktime_get_ns", returns=1)
