"""What stands in the trace does not depend on whether Python or compiled code made the records."""

import os
import random

import pytest

import simkernel
from arch.errors import KernelError
from arch.native.handler import Tier
from tracing.record.event import WARM_COMMITS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
TRACING = "/sys/kernel/tracing/"
REGISTERS = {
    "x86_64": ("di", "si", "dx"), "arm64": ("x0", "x1", "x2"), "riscv64": ("a0", "a1", "a2"), "s390x": ("r2", "r3", "r4"),
    "i386": ("ax", "dx", "cx"), "arm": ("r0", "r1", "r2"),
}  # fmt: skip
# What an argument may be, of ksys_write(unsigned int fd, const char *buf, size_t count) and vfs_write(struct file *, ...).
ARGUMENTS = (
    "%{0}", "%{1}:x64", "%{2}:u32", "%{2}:s8", "%{2}:b4@2/8", "$stack", "$stack2", "$stack1:x16", "+8(%{0}):x32",
    "+0(+32(%{0})):x64", "+0(%{1}):ustring", "+0(%{1}):string", "+u0(%{1}):x8", "+0(%{1}):x8[3]", "$comm", "\\7:u16",
    "+0(%{2}):x32", "+0(+0(%{0})):string", "@linux_banner:string", "+u1(%{1}):x32", "-8(%{0}):x16",
)  # fmt: skip
FILTERS = (
    "", "", "a0 != 3", "a0 & 0x4", "a1 > 100 || common_pid == 7", "!(a0 < 9 && CPU == 0)", "common_pid > 20", 'COMM == "writer"',
)  # fmt: skip
PLACES = ("ksys_write", "vfs_write", "do_sys_openat2", "ksys_read")
EVENTS = (
    "sched/sched_switch", "syscalls/sys_enter_write", "syscalls/sys_exit_write", "syscalls/sys_enter_openat",
    "syscalls/sys_exit_openat", "raw_syscalls/sys_exit", "sched/sched_process_exec", "raw_syscalls/sys_enter", "sched/sched_wakeup",
    "sched/sched_process_exit", "task/task_newtask", "timer/hrtimer_start", "task/task_rename", "signal/signal_generate",
)  # fmt: skip


def definitions(rng, arch):
    """Lines of kprobe_events."""
    for number in range(rng.randint(2, 4)):
        chosen = [text.format(*REGISTERS[arch]) for text in rng.sample(ARGUMENTS, rng.randint(0, 4))]
        place, kind = rng.choice(PLACES), "p"
        if rng.random() < 0.3:
            kind, chosen = "r", ["$retval", "$comm", "$stack1"][: rng.randint(0, 3)]
        words = " ".join(f"a{index}={text}" for index, text in enumerate(chosen))
        yield f"{kind}:e{number} {place} {words}".strip()


def told(monkeypatch, tier, arch, seed):
    """Everything that can be seen of a run whose hits are recorded."""
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    rng = random.Random(f"{arch} {seed}")
    binds = [(os.path.join(ROOT, "samples", "bin", arch), "/samples", False)]
    machine = simkernel.boot(arch=arch, cpus=rng.choice((1, 2)), binds=binds)
    write, read = machine.session.write_file, machine.session.read_file

    def attempt(name, text):
        try:
            write(TRACING + name, text)
        except KernelError as error:
            log.append((name, text, error.errno))

    log = []
    for line in definitions(rng, arch):
        attempt("kprobe_events", line)
    events = [f"kprobes/{event.name}" for event in machine.kernel.observer.tracing.events if event.dynamic]
    if rng.random() < 0.3:
        attempt("buffer_size_kb", "8")
        attempt("options/overwrite", rng.choice("01"))
    if rng.random() < 0.3:
        attempt("trace_clock", rng.choice(("counter", "uptime", "mono")))
    if rng.random() < 0.2:
        attempt("options/stacktrace", "1")
    if rng.random() < 0.2:
        attempt("options/record-cmd", "0")
    for event in (*events, *rng.sample(EVENTS, 7)):
        attempt(f"events/{event}/filter", rng.choice(FILTERS) or "0")
        if rng.random() < 0.15:
            attempt(
                f"events/{event}/trigger",
                rng.choice(("traceoff:5", "stacktrace:3", "snapshot:1", f"disable_event:{event.replace('/', ':')}:4")),
            )
        attempt(f"events/{event}/enable", "1")
    results = []
    for turn in range(2):
        result = machine.run(["/samples/writer"])
        results.append((result.status, result.stdout, result.stderr))
        if turn == 0 and rng.random() < 0.5:  # in the middle of it
            attempt(f"events/{rng.choice(events)}/filter", rng.choice(FILTERS) or "0")
            attempt("set_event_pid", rng.choice(("", "1", "2")))
            attempt("tracing_cpumask", rng.choice("13"))
    seen = {name: read(TRACING + name) for name in ("trace", "kprobe_profile", "saved_cmdlines", "per_cpu/cpu0/stats")}
    seen |= {"results": results, "log": log, "now": machine.kernel.clock.now_ns, "pipe": machine.trace_pipe()}
    tracing = machine.kernel.observer.tracing
    compiled = sum(
        probe.kp.native is not None or (probe.rp is not None and probe.rp.native is not None)
        for event in tracing.events
        if event.dynamic
        for probe in event.probes
    )
    compiled += sum(file.native is not None for event in tracing.events for file in event.listeners)
    machine.close()
    return seen, compiled


def compare(monkeypatch, arch, seeds):
    if not os.path.exists(os.path.join(ROOT, "samples", "bin", arch)):
        pytest.skip("no programs for this CPU")
    monkeypatch.setitem(WARM_COMMITS, Tier.AUTO, 5)
    known = 0
    for seed in seeds:
        python, compiled = told(monkeypatch, "python", arch, seed)
        assert compiled == 0
        for tier in ("native", ""):  # and from one to the other in the middle
            native, compiled = told(monkeypatch, tier, arch, seed)
            assert native == python, (tier, seed)
            known += compiled
    assert known


@pytest.mark.parametrize("arch", list(REGISTERS))
def test_random_events(monkeypatch, arch):
    compare(monkeypatch, arch, range(1))


@pytest.mark.slow
@pytest.mark.parametrize("arch", list(REGISTERS))
def test_many_random_events(monkeypatch, arch):
    compare(monkeypatch, arch, range(1, 21))
