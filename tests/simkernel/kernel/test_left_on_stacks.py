"""What nobody has written of a kernel stack is the same whoever ran there before: text, or native code in its place."""

import re

import pytest

import simkernel
from tests.simkernel.kernel.test_shortcuts import ARCHES, PROGRAMS

BEFORE = ("ksys_write", "ksys_read", "vfs_read", "path_openat", "do_sys_openat2")  # their probes leave registers there


def told(monkeypatch, tier, arch, function):
    """The words above the stack pointer at each call of a function."""
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    with simkernel.boot(arch=arch) as machine:
        tracing = machine.kernel.observer.tracing
        words = " ".join(f"s{i}=$stack{i}" for i in range(24))
        events = [("a", f"{function} {words}"), *((f"b{i}", other) for i, other in enumerate(BEFORE))]
        for name, what in events:
            tracing.probe_events.run(f"p:{name} {what}", "kprobe")
            tracing.events.get("kprobes", name).set_enabled(True)
        machine.run([machine.install(PROGRAMS / arch / "calls"), "5", "300"])
        return [re.findall(r"s\d+=(\S+)", line) for line in machine.trace_pipe().splitlines() if " a: " in line]


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("function", ["vfs_write", "__fput"])
def test_of_all_tiers(monkeypatch, arch, function):
    python = told(monkeypatch, "python", arch, function)
    assert len(python) >= 8 and all(len(words) == 24 for words in python)
    assert told(monkeypatch, "native", arch, function) == python
