"""Hot system calls answered without kernel text and without Python: nobody can tell, whoever looks, wherever it begins."""

from pathlib import Path

import pytest

import simkernel
from arch.native.handler import Tier
from simkernel.kernel import shortcuts
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


@pytest.mark.parametrize("kernel", ["4.1", "4.18", "5.10", "6.12"])
def test_versions(monkeypatch, kernel):
    python, _ = told(monkeypatch, "python", "x86_64", 5, kernel)
    native, served = told(monkeypatch, "native", "x86_64", 5, kernel)
    assert native == python and served


@pytest.mark.parametrize(
    "watch", ["strace", "vfs_write", "write_null ksys_read", "__x64_sys_getppid do_syscall_64", "vfs_open"]
)
def test_who_watches_sees_all(monkeypatch, watch):
    python, _ = told(monkeypatch, "python", "x86_64", 3, watch=watch)
    native, _ = told(monkeypatch, "native", "x86_64", 3, watch=watch)
    assert native == python
    assert python["hits"] or python["strace"]


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
