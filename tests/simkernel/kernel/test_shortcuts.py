"""Hot system calls answered without kernel text and without Python: nobody can tell, whoever looks, wherever it begins."""

import sys
from collections import Counter
from pathlib import Path

import pytest

import simkernel
from arch.emulatorstate import Place
from arch.native.block import Word
from arch.native.handler import Tier
from simkernel.fs.pipe import Pipe
from simkernel.fs.pipe_bodies import PipeBodies
from simkernel.kernel import shortcuts
from simkernel.kernel.hook_wakes import HookWakes
from tracing.probes.kprobes import Kprobe

ARCHES = ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
PROGRAMS = Path(__file__).parent / "programs" / "bin"
ELEMENTS = Path(__file__).parents[1] / "calls/programs/bin/x86_64/elements"
COUNT = 400


def told(monkeypatch, tier, arch, seed, kernel="6.1", cpus=1, watch=None, program=None):
    """Everything that can be seen of a run."""
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    lines = []
    machine = simkernel.boot(arch=arch, kernel=kernel, cpus=cpus, strace=lines.append if watch == "strace" else None)
    kernel = machine.kernel
    hits, probe = [], None
    if watch is not None and watch != "strace":
        names = watch.split()
        probe = [Kprobe(lambda regs, name=name: hits.append((name, kernel.clock.now_ns)), name) for name in names]
        for one in probe:
            kernel.observer.tracing.kprobes.register(one)
    result = machine.run([machine.install(program or PROGRAMS / arch / "calls"), str(seed), str(COUNT)])
    seen = {
        "status": result.status,
        "output": result.stdout + result.stderr,
        "now": kernel.clock.now_ns,
        "counts": dict(kernel.syscalls.counts),
        "switches": kernel.cpus.nr_switches,
        "hits": hits,
        "strace": lines,
    }
    served = [name for name in kernel.shortcuts.used]
    machine.close()
    return seen, served


@pytest.mark.parametrize("arch", ARCHES)
def test_the_same_bytes(monkeypatch, arch):
    for cpus in (1, 2):
        python, served = told(monkeypatch, "python", arch, cpus, cpus=cpus)
        assert python["status"] == 0 and served == []
        native, served = told(monkeypatch, "native", arch, cpus, cpus=cpus)
        assert native == python
        assert bool(served) == (arch != "s390x")
    monkeypatch.setitem(shortcuts.HOT_CALLS, Tier.AUTO, 9)
    mixed, _ = told(monkeypatch, "", arch, 2, cpus=2)
    assert mixed == python


@pytest.mark.parametrize("arch", ["x86_64"])
def test_registers_of_an_emulator_that_keeps_them_elsewhere(monkeypatch, arch):
    machine = simkernel.boot(arch=arch)
    assert machine.kernel.cpu.words[Word.REGISTER_FILE]
    machine.close()
    there, _ = told(monkeypatch, "native", arch, 7)
    monkeypatch.setattr(Place, "find", lambda place, engine, known: 0)
    by_interface, _ = told(monkeypatch, "native", arch, 7)
    assert by_interface == there


@pytest.mark.parametrize("kernel", ["4.1", "4.18", "5.10", "6.12"])
def test_versions(monkeypatch, kernel):
    python, _ = told(monkeypatch, "python", "x86_64", 5, kernel)
    native, served = told(monkeypatch, "native", "x86_64", 5, kernel)
    assert native == python and served


@pytest.mark.parametrize(
    "watch", ["strace", "vfs_write", "write_null ksys_read", "__x64_sys_getppid __x64_sys_lseek", "vfs_open"]
)
def test_who_watches_sees_all(monkeypatch, watch):
    python, _ = told(monkeypatch, "python", "x86_64", 3, watch=watch)
    native, _ = told(monkeypatch, "native", "x86_64", 3, watch=watch)
    assert native == python
    assert python["hits"] or python["strace"]


@pytest.mark.parametrize(
    ("arch", "kernel", "cpus", "watch"),
    [
        ("x86_64", "6.1", 1, None),
        ("x86_64", "6.1", 2, None),
        ("x86_64", "4.1", 1, None),
        ("x86_64", "5.10", 1, None),
        ("x86_64", "7.2", 1, None),
        ("arm64", "6.1", 1, None),
        ("i386", "6.1", 2, None),
        ("x86_64", "6.1", 1, "strace"),
        ("x86_64", "6.1", 1, "pipe_write mutex_lock"),
        ("x86_64", "6.1", 1, "vfs_read"),
    ],
)
def test_pipes(monkeypatch, arch, kernel, cpus, watch):
    """Full and empty ones, packets, named ones, with sleepers and with somebody who polls, memory that is not there."""
    program = PROGRAMS / arch / "pipes"
    python, _ = told(monkeypatch, "python", arch, cpus, kernel, cpus, watch, program)
    native, served = told(monkeypatch, "native", arch, cpus, kernel, cpus, watch, program)
    assert native == python
    assert python["status"] == 0 and b"stream" in python["output"]
    assert {"read", "write"} <= set(served)
    assert bool(python["hits"] or python["strace"]) == (watch is not None)


@pytest.mark.parametrize("kernel", ["6.1", "5.10"])
def test_pipes_are_served_from_the_hook(monkeypatch, kernel):
    """And by the bodies as soon as any function has a probe, who then see their lock."""
    monkeypatch.setenv("SIMKERNEL_TIER", "native")
    with simkernel.boot(kernel=kernel) as machine:
        entered, path = [], machine.install(PROGRAMS / "x86_64" / "pipes")
        monkeypatch.setattr(Pipe, "take", _noted(Pipe.take, entered))
        machine.run([path, "1", "100"])
        assert min(entered.count("PipeBodies"), entered.count("_pipe_read")) > 20
        del entered[:]
        machine.kernel.observer.tracing.kprobes.register(Kprobe(lambda regs: None, "vfs_open"))
        machine.run([path, "1", "100"])
        assert "PipeBodies" not in entered and "_pipe_read" in entered


def _noted(function, entered):
    def noted(pipe, it):
        caller = sys._getframe(1)
        entered.append("PipeBodies" if isinstance(caller.f_locals.get("self"), PipeBodies) else caller.f_code.co_name)
        return function(pipe, it)

    return noted


BETWEEN_PROGRAMS = """
dd if=/dev/zero bs=4k count=300 | dd of=/dev/null bs=4k
dd if=/dev/zero bs=3000 count=200 | dd of=/dev/null bs=5000
{ dd if=/dev/zero bs=1k count=200 & dd if=/dev/zero bs=4k count=100; wait; } | { dd of=/dev/null bs=7k & dd of=/dev/null bs=512; wait; }
{ dd if=/dev/zero bs=100 count=900 & dd if=/dev/zero bs=9k count=60 & dd if=/dev/zero bs=64k count=9; wait; } | dd of=/dev/null bs=60000
cat /bin/busybox | md5sum
"""


@pytest.mark.parametrize(
    ("cpus", "kernel", "tell"),
    [(1, "6.1", ()), (2, "6.1", ()), (3, "5.10", ()), (2, "4.1", ()), (2, "6.1", ("sched/sched_switch", "sched/sched_waking")),
     (2, "7.2", ("raw_syscalls/sys_exit",))],
)  # fmt: skip
def test_pipes_between_programs(monkeypatch, busybox, cpus, kernel, tell):
    """Those who were woken and have not run since are still on the pipe's queues: what is written and read meanwhile wakes nobody."""
    seen, entered = [], []
    monkeypatch.setattr(Pipe, "take", _noted(Pipe.take, entered))
    for tier in ("python", "native"):
        del entered[:]
        monkeypatch.setenv("SIMKERNEL_TIER", tier)
        with simkernel.boot(kernel=kernel, cpus=cpus) as machine:
            for event in tell:
                machine.kernel.observer.tracing.events.get(*event.split("/")).set_enabled(True)
            result = machine.run([machine.install(busybox), "sh", "-c", BETWEEN_PROGRAMS])
            k = machine.kernel
            now, switches = k.clock.now_ns, k.cpus.nr_switches
            seen.append((result.stdout, result.stderr, now, switches, dict(k.syscalls.counts), machine.trace_pipe()))
    assert seen[0] == seen[1]
    assert bool(tell) == bool(seen[0][-1])
    # Who owes its first turn is stopped at each write.
    assert entered.count("PipeBodies") > 0.5 * entered.count("_pipe_read")


# Two programs that wake each other, of which now one has used more time than the other, now the other one.
IN_TURNS = """
mkfifo /tmp/a /tmp/b
busy() { i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; }
echoes() { busy $1; while read x; do echo $x; done < /tmp/a > /tmp/b; }
turns() { echoes $1 & exec 3> /tmp/a 4< /tmp/b; busy $2; n=0; while [ $n -lt 150 ]; do echo $n >&3; read y <&4; n=$((n+1)); done; exec 3>&- 4<&-; wait; echo $y; }
turns 1 1; turns 400 1; turns 900 300; turns 1 900
"""


@pytest.mark.parametrize(
    ("cpus", "kernel", "tell"),
    [(1, "6.1", None), (2, "6.1", None), (3, "5.10", None), (1, "4.1", None),
     (1, "7.2", None), (1, "6.1", "sched/sched_wakeup"),
     (2, "6.1", "raw_syscalls/sys_exit")],
)  # fmt: skip
def test_sleepers_are_woken_from_the_hook(monkeypatch, busybox, cpus, kernel, tell):
    """Where nothing follows that is the kernel's: who is woken does not run at once, and nobody hears of it."""
    asked, looks_anew = Counter(), HookWakes.looks_anew

    def noted(*args):
        answer = looks_anew(*args)
        asked[answer] += 1
        return answer

    monkeypatch.setattr(HookWakes, "looks_anew", noted)
    seen = []
    for tier in ("python", "native"):
        monkeypatch.setenv("SIMKERNEL_TIER", tier)
        with simkernel.boot(kernel=kernel, cpus=cpus) as machine:
            if tell:
                machine.kernel.observer.tracing.events.get(*tell.split("/")).set_enabled(True)
            result = machine.run([machine.install(busybox), "sh", "-c", IN_TURNS])
            k = machine.kernel
            now, switches = k.clock.now_ns, k.cpus.nr_switches
            seen.append((result.stdout, result.stderr, now, switches, dict(k.syscalls.counts), machine.trace_pipe()))
        assert tier == "native" or not asked
    assert seen[0] == seen[1]
    assert seen[0][0] == b"149\n" * 4
    if tell != "raw_syscalls/sys_exit":  # the call goes its whole way then
        assert asked[None if tell else cpus == 1] > 30  # of 600: who owes its first turn is mostly stopped
    if cpus == 1 and not tell:
        assert not asked[None]  # native code sees who would run at once


@pytest.mark.parametrize("tell", ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"])
def test_pipes_while_somebody_hears_of_calls(monkeypatch, tell):
    """The event's records have the times and the results of the bodies."""
    seen = []
    for tier in ("python", "native"):
        monkeypatch.setenv("SIMKERNEL_TIER", tier)
        with simkernel.boot() as machine:
            machine.kernel.observer.tracing.events.get(*tell.split("/")).set_enabled(True)
            result = machine.run([machine.install(PROGRAMS / "x86_64" / "pipes"), "3", "150"])
            seen.append((result.stdout, machine.kernel.clock.now_ns, machine.trace_pipe()))
    assert seen[0] == seen[1]
    assert len(seen[0][2]) > 5000


@pytest.mark.parametrize("watch", [None, "htab_map_update_elem", "security_bpf", "__sys_bpf"])
def test_elements_of_maps(monkeypatch, watch):
    python, _ = told(monkeypatch, "python", "x86_64", 1, watch=watch, program=ELEMENTS)
    native, served = told(monkeypatch, "native", "x86_64", 1, watch=watch, program=ELEMENTS)
    assert native == python and "bpf" in served
    assert bool(watch) == bool(python["hits"])


def test_probes_come_and_go(monkeypatch):
    """A row is out of use while a function on its way has a probe, and only then."""
    monkeypatch.setenv("SIMKERNEL_TIER", "native")
    with simkernel.boot() as machine:
        kernel = machine.kernel
        kprobes, numbers = kernel.observer.tracing.kprobes, kernel.abi.numbers
        path = machine.install(PROGRAMS / "x86_64" / "calls")
        machine.run([path, "1", "300"])

        def used(name):
            return bool(kernel.shortcuts.table[2 * numbers[name]])

        assert used("write") and used("getppid")
        probe = Kprobe(lambda regs: None, "vfs_write")
        kprobes.register(probe)
        assert not used("write") and used("getppid")
        kprobes.unregister(probe)
        assert used("write") and used("getppid")
        undo = kernel.text.replace("vfs_write", 0)
        assert not used("write")
        undo()
        assert used("write")


@pytest.mark.parametrize("kernel", ["6.1", "5.10"])
def test_files_of_the_host(monkeypatch, tmp_path, kernel):
    """What the page cache has is copied natively, what it has not is brought by the bodies."""
    (tmp_path / "data").write_bytes(bytes(range(251)) * 900)
    seen = []
    for tier in ("python", "native"):
        monkeypatch.setenv("SIMKERNEL_TIER", tier)
        with simkernel.boot(kernel=kernel, binds=[(str(tmp_path), "/host", False)]) as machine:
            script = "md5sum /host/data /host/data; cp /host/data /tmp/x; tail -c 5000 /tmp/x | md5sum; stat -c '%x %s' /tmp/x"
            result = machine.run([machine.install("busybox"), "sh", "-c", script])
            stat = dict(machine.kernel.syscalls.counts)
            seen.append((result.stdout, machine.kernel.clock.now_ns, stat, machine.kernel.mem.live_objects))
            served = set(machine.kernel.shortcuts.used)
    assert seen[0] == seen[1]
    assert "read" in served
