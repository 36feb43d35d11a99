"""Records of probe events whose calls are answered in the hook: the same bytes as when the CPU goes the whole way."""

import shutil
from pathlib import Path

import pytest

import simkernel
from simkernel.fs.pipe_bodies import PipeBodies
from tests.simkernel.kernel.test_shortcuts import ARCHES, PROGRAMS

ROOT = Path(__file__).parents[3]
EVENTS = "/sys/kernel/tracing/kprobe_events"
TRACE = "/sys/kernel/tracing/"
DEFINED = {
    "a result": ("r:b/a ksys_write r=$retval",),
    "a caller within": ("r:b/a vfs_write r=$retval:s32 z=\\7",),
    "a caller behind a jump": ("r:b/a vfs_read r=$retval", "r:b/c ksys_read r=$retval"),
    "arguments": ("p:b/a ksys_write a=$arg1 b=$arg2 c=$arg3",),
    "both": ("p:b/a ksys_write a=$arg1", "r:b/c ksys_write r=$retval"),
    "two of one place": ("r:b/a ksys_write r=$retval", "r:b/c ksys_write s=$retval:u8"),
}


def told(monkeypatch, tier, arch, lines, kernel="6.1", filtered=""):
    """The trace, the output and the time; how many calls were visited in the hook."""
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    with simkernel.boot(arch=arch, kernel=kernel) as machine:
        path = machine.install(PROGRAMS / arch / "calls")
        for line in lines:
            machine.session.write_file(EVENTS, line)
            event = f"{TRACE}events/{line.split()[0][2:]}/"
            if filtered:
                machine.session.write_file(event + "filter", filtered)
            machine.session.write_file(event + "enable", "1")
        result = machine.run([path, "7", "300"])
        assert result.status == 0
        profile = machine.session.read_file(TRACE + "kprobe_profile")
        visits = sum(walk.visits for walks in machine.kernel.shortcuts.walks.values() for walk in walks)
        return (machine.trace_pipe(), result.stdout, machine.kernel.clock.now_ns, profile), visits


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", DEFINED)
def test_the_same_records(monkeypatch, arch, name):
    python, visits = told(monkeypatch, "python", arch, DEFINED[name])
    assert visits == 0
    assert len(python[0]) > 1000
    native, visits = told(monkeypatch, "native", arch, DEFINED[name])
    assert native == python
    if arch != "s390x" and name != "two of one place":
        assert visits > 20


@pytest.mark.parametrize("kernel", ["4.1", "4.18", "5.10", "6.12"])
def test_versions(monkeypatch, kernel):
    lines = ("r:b/a sys_write r=$retval", "r:b/c vfs_write r=$retval") if kernel == "4.1" else DEFINED["a result"]
    python, _ = told(monkeypatch, "python", "x86_64", lines, kernel, "r > 0 || r == 0")
    native, _ = told(monkeypatch, "native", "x86_64", lines, kernel, "r > 0 || r == 0")
    assert native == python


@pytest.mark.skipif(shutil.which("busybox") is None, reason="needs a static busybox on this host")
def test_a_sleeping_reader_is_woken_where_the_function_ends(monkeypatch):
    """And not in the hook: who runs next, and when, is as it would be."""
    script = (
        f"echo 'r:b/a ksys_write r=$retval' > {EVENTS}; echo 'r == 2' > {TRACE}events/b/a/filter; echo 1 > {TRACE}events/b/a/enable; "
        f"timeout 0.2 cat {TRACE}trace_pipe > /tmp/out & i=0; "
        "while [ $i -lt 150 ]; do echo x > /dev/null; i=$((i+1)); done; wait; cat /tmp/out"
    )
    seen = []
    for tier in ("python", "native"):
        monkeypatch.setenv("SIMKERNEL_TIER", tier)
        with simkernel.boot() as machine:
            result = machine.run([machine.install("busybox"), "sh", "-c", script])
            seen.append((result.stdout, machine.kernel.clock.now_ns, machine.kernel.cpus.nr_switches))
    assert seen[0] == seen[1]
    assert seen[0][0].count(b"<- ksys_write") == 150


def test_pipes_are_served_from_the_hook_again_when_the_last_probe_is_gone(monkeypatch):
    """A function that had a probe is not one that has none yet: nothing of it may stay."""
    monkeypatch.setenv("SIMKERNEL_TIER", "native")
    moved = []
    monkeypatch.setattr(
        PipeBodies, "read", lambda self, address, was=PipeBodies.read: (moved.append(1), was(self, address))[1]
    )
    with simkernel.boot() as machine:
        path = machine.install(PROGRAMS / "x86_64" / "pipes")
        machine.session.write_file(EVENTS, "p:b/a vfs_open")
        machine.session.write_file(TRACE + "events/b/a/enable", "1")
        machine.run([path, "1", "100"])
        assert not moved
        machine.session.write_file(TRACE + "events/b/a/enable", "0")
        machine.run([path, "1", "100"])
        assert len(moved) > 20
        assert not machine.kernel.text.probed


def test_run_queues_are_kept_while_a_program_can_look(monkeypatch):
    """And not for ever after."""
    with simkernel.boot() as machine:
        queue = machine.kernel.cpus.rqs[0]
        assert queue.told is None
        obj = machine.load(ROOT / "samples/obj/x86_64/writes.bpf.o")
        assert queue.told is not None
        obj.close()
        machine.settle()
        assert queue.told is None
