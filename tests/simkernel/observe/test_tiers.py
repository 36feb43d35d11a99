"""What programs see, count and print does not depend on whether Python or compiled code runs them."""

import os
import random

import pytest

import simkernel
from arch.native.handler import Tier
from bpf import uapi
from bpf.core.load import LoadAttr, prog_load
from bpf.core.program import COLD_RUNS
from bpf.face import RawTracepointAttach
from bpf.isa.asm import assemble
from bpf.maps.base import MapAttr
from simkernel.kernel.clock import Clock
from simkernel.observe.attach import Attached

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
    monkeypatch.setitem(COLD_RUNS, Tier.AUTO, 7)
    mixed, compiled = told(monkeypatch, "", arch, name, argv)  # from one tier to the other in the middle
    assert mixed == python
    assert compiled


# -- random programs at random places ----------------------------------------------------------------------------------

KINDS = (
    ("HASH", 4, 16),
    ("HASH", 8, 8),
    ("PERCPU_HASH", 4, 8),
    ("LRU_HASH", 4, 8),
    ("ARRAY", 4, 8),
    ("PERCPU_ARRAY", 4, 8),
)
PLACES = ("vfs_write", "ksys_write", "vfs_read", "do_sys_openat2", "__fput", "handle_mm_fault", "schedule")
POINTS = ("sys_enter", "sys_exit", "sched_switch", "sched_wakeup", "task_newtask")
CALLS = (
    "call bpf_get_current_pid_tgid", "call bpf_get_current_uid_gid", "call bpf_ktime_get_ns", "call bpf_get_current_task",
    "call bpf_get_smp_processor_id", "r1 = r10\nr1 += -64\nr2 = 16\ncall bpf_get_current_comm\nr0 = *(u64 *)(r10 -64)",
    "call bpf_get_current_task\nr3 = r0\nr1 = r10\nr1 += -64\nr2 = 24\ncall bpf_probe_read_kernel\nr0 = *(u64 *)(r10 -64)",
    "r0 = *(u64 *)(r6 +0)", "call bpf_get_prandom_u32", "call bpf_jiffies64",
)  # fmt: skip


def program_text(rng, context):
    """Some numbers, and what maps make of them."""
    lines = ["r6 = r1"] if context else []
    lines += [f"*(u64 *)(r10 {-8 * i}) = 0" for i in range(1, 9)]
    for label in range(rng.randint(2, 6)):
        number = rng.choice([call for call in CALLS if context or "r6" not in call])
        _, key, _ = KINDS[table := rng.randrange(len(KINDS))]
        lines += [*number.split("\n"), f"r0 >>= {rng.choice([0, 0, 3, 32])}", f"r0 &= {rng.choice([3, 15, 0xFFFF])}"]
        lines += ["*(u64 *)(r10 -8) = r0", "*(u64 *)(r10 -16) = r0", f"*(u{8 * key} *)(r10 -24) = r0"]
        lines += [f"r1 = map[m{table}]", "r2 = r10", "r2 += -24"]
        match rng.choice(["lookup", "update", "update", "delete", "add"]):
            case "lookup" | "add":
                lines += ["call bpf_map_lookup_elem", f"if r0 == 0 goto l{label}", "r1 = *(u64 *)(r0 +0)", "r1 += 1"]
                lines += ["*(u64 *)(r0 +0) = r1", f"l{label}:"]
            case "update":
                flags = rng.choice([0, 0, 0, 1, 2, 3])
                lines += ["r3 = r10", "r3 += -16", f"r4 = {flags}", "call bpf_map_update_elem"]
            case "delete":
                lines += ["call bpf_map_delete_elem"]
    return "\n".join([*lines, f"r0 = {rng.choice([0, 0, 1])}", "exit"])


def told_of_random_programs(monkeypatch, tier, arch, seed):
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    rng = random.Random(seed)
    machine = simkernel.boot(arch=arch, cpus=2, binds=[(os.path.join(ROOT, "samples", "bin", arch), "/samples", False)])
    kernel = machine.kernel
    observer, bpf, tracing = kernel.observer, kernel.observer.bpf, kernel.observer.tracing
    maps = {}
    for i, (kind, key, value) in enumerate(KINDS):
        new = bpf.new_map(MapAttr(getattr(uapi, "BPF_MAP_TYPE_" + kind), key, value, 8))
        new.get_user()
        bpf.publish_map(new)
        maps[f"m{i}"] = new
    fds = {name: number + 1000 for number, name in enumerate(maps)}
    monkeypatch.setattr(observer, "fd_get", lambda fd: maps[f"m{fd - 1000}"], raising=False)
    monkeypatch.setattr(observer, "capable", lambda capability: True, raising=False)
    programs = []
    for place in (*PLACES, *PLACES[:3]):  # some places have several
        if rng.random() < 0.3 or observer.symbols.address(place) is None:
            continue
        text = program_text(rng, rng.random() < 0.5)
        attr = LoadAttr(uapi.BPF_PROG_TYPE_KPROBE, assemble(text, fds), license="GPL", log_level=1)
        verdict, prog = prog_load(bpf, attr)
        assert prog is not None, verdict.log
        programs.append(prog)
        if rng.random() < 0.3:
            observer.attachments._multi(prog, observer.symbols.address(place), 0, rng.random() < 0.3)
            continue
        name = f"e{len(programs)}"
        tracing.probe_events.run(f"{rng.choice('ppr')}:{name} {place}", "kprobe")
        event = tracing.events.get("kprobes", name)
        event.perf_register()
        event.add_bpf(Attached(prog))
    for point in POINTS:
        if rng.random() < 0.5:
            attr = LoadAttr(uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, assemble(program_text(rng, True), fds), license="GPL")
            verdict, prog = prog_load(bpf, attr)
            assert prog is not None, verdict.log
            programs.append(prog)
            observer.attachments.attach_raw_tracepoint(prog, RawTracepointAttach(point))
    result = machine.run(["/samples/writer"])
    seen = {
        "output": result.stdout + result.stderr,
        "now": kernel.clock.now_ns,
        "maps": {name: [(key, found.user_lookup(key, 0)) for key in keys(found)] for name, found in maps.items()},
        "programs": [(prog.run_cnt, prog.recursion_misses) for prog in programs],
        "hits": [
            (event.name, event.probes[0].nhit, event.probes[0].nmissed) for event in tracing.events if event.dynamic
        ],
    }
    compiled = sum(prog.native is not None for prog in programs)
    machine.close()
    return seen, compiled


def keys(found):
    out, key = [], None
    while True:
        try:
            key = found.next_key(key)
        except Exception:  # ENOENT after the last
            return out
        out.append(key)


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "s390x", "riscv64"])
def test_random_programs(monkeypatch, arch):
    for seed in range(2):
        python, compiled = told_of_random_programs(monkeypatch, "python", arch, seed)
        assert compiled == 0
        native, compiled = told_of_random_programs(monkeypatch, "native", arch, seed)
        assert native == python
        assert compiled
