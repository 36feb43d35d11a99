"""Numbers of stacks without Python: the same as with it, also when stacks are taken out or others come in their place."""

import pytest

from arch.errors import KernelError
from bpf import uapi
from bpf.core.load import LoadAttr, prog_load
from bpf.core.program import BpfProg
from bpf.isa.asm import assemble
from bpf.maps.base import MapAttr
from bpf.maps.stackmap import StackTraceMap
from simkernel.observe.attach import Attached
from tests.simkernel.kernel.test_shortcuts import PROGRAMS
from tests.simkernel.known_maps import answer_all, publish
from tests.simkernel.observe.test_tiers import booted

TEXT = """
r6 = r1
r2 = map[m0]
{asked}
*(u64 *)(r10 -8) = r0
r1 = map[m1]
r2 = r10
r2 += -8
r3 = r10
r3 += -8
r4 = 0
call bpf_map_update_elem
r0 = 0
exit
"""


def told(monkeypatch, tier, arch, flags, entries, kinds="p", asked="r3 = {flags}\ncall bpf_get_stackid"):
    machine = booted(monkeypatch, tier, arch)
    kernel = machine.kernel
    observer, tracing = kernel.observer, kernel.observer.tracing
    stacks = publish(observer, MapAttr(uapi.BPF_MAP_TYPE_STACK_TRACE, 4, 128, entries))
    numbers = publish(observer, MapAttr(uapi.BPF_MAP_TYPE_HASH, 8, 8, 4096))
    answer_all(monkeypatch, observer, lambda fd: (stacks, numbers)[fd - 1000])
    attr = LoadAttr(
        uapi.BPF_PROG_TYPE_KPROBE,
        assemble(TEXT.format(asked=asked.format(flags=flags)), {"m0": 1000, "m1": 1001}),
        license="GPL",
    )
    verdict, prog = prog_load(observer.bpf, attr)
    assert prog is not None, verdict.log
    for i, place in enumerate(("vfs_write", "ksys_read", "vfs_read", "schedule", "handle_mm_fault", "kmem_cache_free")):
        for kind in kinds:
            if observer.symbols.address(place) is not None:
                tracing.probe_events.run(f"{kind}:{kind}{i} {place}", "kprobe")
                event = tracing.events.get("kprobes", f"{kind}{i}")
                event.perf_register()
                event.add_bpf(Attached(prog, 3 + 7 * i, observer.symbols.address(place)))
    path = machine.install(PROGRAMS / arch / "calls")
    seen = []
    for _ in range(3):
        machine.run([path, "5", "200"])
        seen.append((sorted(stacks.stacks.items()), [numbers.user_lookup(key, 0) for key in each(numbers)]))
        for number in list(stacks.stacks)[::2]:
            stacks.delete(number.to_bytes(4, kernel.arch.byteorder))
    seen.append(kernel.clock.now_ns)
    machine.close()
    return seen


def each(found):
    key = None
    while True:
        try:
            key = found.next_key(key)
        except KernelError:
            return
        yield key


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "s390x", "riscv64"])
@pytest.mark.parametrize("flags", [0, 2, uapi.BPF_F_REUSE_STACKID])
def test_the_same_numbers(monkeypatch, arch, flags):
    asked, store = [], StackTraceMap.store
    monkeypatch.setattr(StackTraceMap, "store", lambda *args: asked.append(1) or store(*args))
    python = told(monkeypatch, "python", arch, flags, 2)
    runs = len(asked)
    assert runs > 400
    assert told(monkeypatch, "native", arch, flags, 2) == python
    if arch != "s390x" and not flags:  # where frames are found by the stack pointer Python walks
        del asked[:]
        told(monkeypatch, "native", arch, flags, 1024)
        assert len(asked) < runs / 5


def test_return_probes(monkeypatch):
    """Where they are on the stack it is another one each time."""
    python = told(monkeypatch, "python", "x86_64", 0, 64, "pr")
    assert told(monkeypatch, "native", "x86_64", 0, 64, "pr") == python


@pytest.mark.parametrize("helper", ["bpf_get_attach_cookie", "bpf_get_func_ip"])
def test_what_started_a_program(monkeypatch, helper):
    """Its cookie and the address of the probe, without Python."""
    python = told(monkeypatch, "python", "x86_64", 0, 2, "pr", f"r1 = r6\ncall {helper}")
    entered, body = [], BpfProg._in_native_run
    monkeypatch.setattr(BpfProg, "_in_native_run", lambda *args: entered.append(1) or body(*args))
    assert told(monkeypatch, "native", "x86_64", 0, 2, "pr", f"r1 = r6\ncall {helper}") == python
    assert len(python[0][1]) >= 5 and not entered
