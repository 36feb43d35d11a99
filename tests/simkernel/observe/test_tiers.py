"""What programs see, count and print does not depend on whether Python or compiled code runs them."""

import os

import pytest

import simkernel
from simkernel.kernel.clock import Clock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
RUNS = (("writes", ["writer"]), ("functions", ["server", "40"]), ("sizes", ["writer"]))
CASES = [
    (arch, name, argv)
    for arch in ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
    for name, argv in RUNS
    if os.path.exists(os.path.join(ROOT, "samples", "obj", arch, f"{name}.bpf.o"))
]


def told(monkeypatch, tier, arch, name, argv):
    """Everything that can be seen of a run with a sample's programs attached."""
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    machine = simkernel.boot(arch=arch, binds=[(os.path.join(ROOT, "samples", "bin", arch), "/samples", False)])
    obj = machine.load(os.path.join(ROOT, "samples", "obj", arch, f"{name}.bpf.o"))
    obj.attach()
    programs = list(machine.kernel.observer.bpf.progs.objects.values())
    result = machine.run([f"/samples/{argv[0]}", *argv[1:]])
    clock: Clock = machine.kernel.clock
    seen = {
        "output": result.stdout + result.stderr,
        "now": clock.now_ns,
        "maps": {name: _content(found) for name, found in obj.maps.items()},
        "trace": machine.trace_pipe(),
        "programs": [(prog.name, prog.run_cnt, prog.recursion_misses) for prog in programs],
        "memory": machine.kernel.mem.live_objects,
    }
    compiled = [prog.name for prog in programs if prog.native is not None]
    machine.close()
    return seen, compiled


def _content(found):
    try:
        return [(repr(key), repr(value)) for key, value in found.items()]
    except Exception as error:  # a map that has no keys
        return type(error).__name__


@pytest.mark.parametrize(("arch", "name", "argv"), CASES)
def test_samples(monkeypatch, arch, name, argv):
    python, compiled = told(monkeypatch, "python", arch, name, argv)
    assert compiled == []
    native, compiled = told(monkeypatch, "native", arch, name, argv)
    assert native == python
    assert compiled
