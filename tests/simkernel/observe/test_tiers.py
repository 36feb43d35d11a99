"""What programs see, count and print does not depend on whether Python or compiled code runs them."""

import os
import random
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

import simkernel
from arch.native.handler import Tier
from bpf import uapi
from bpf.core.load import LoadAttr, prog_load
from bpf.core.program import COLD_RUNS
from bpf.core.trampoline import FENTRY, FEXIT, MODIFY_RETURN
from bpf.face import RawTracepointAttach
from bpf.isa.asm import assemble
from bpf.maps.base import MapAttr
from bpf.maps.ringbuf import RingBufferMap
from simkernel.kernel.clock import Clock
from simkernel.observe.attach import Attached
from tests.simkernel.known_maps import answer_all, publish
from tracing.probes.returns import Instances
from tracing.probes.uprobes import Uprobes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
RETURNS = Path(ROOT) / "tests" / "simkernel" / "kernel" / "programs" / "bin"
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
# Maps of their own kinds: (kind, key, value, entries).
OTHERS = (("RINGBUF", 0, 0, 4096), ("STACK_TRACE", 4, 128, 64), ("RINGBUF", 0, 0, 8192))
# What a helper does in Python in the middle of a compiled run: records, the trace, stacks, events that other programs see.
IN_PYTHON = (
    "r1 = map[m6]\nr2 = r10\nr2 += -64\nr3 = 48\nr4 = {flags}\ncall bpf_ringbuf_output",
    "r1 = map[m8]\nr2 = 24\nr3 = 0\ncall bpf_ringbuf_reserve\nif r0 == 0 goto x{label}\nr1 = r0\nr2 = 7\n*(u64 *)(r1 +8) = r2\n"
    "r2 = {flags}\ncall bpf_ringbuf_{end}\nx{label}:\nr1 = map[m8]\nr2 = {query}\ncall bpf_ringbuf_query",
    "r1 = r6\nr2 = map[m7]\nr3 = {stack}\ncall bpf_get_stackid",
    "r1 = 0x0a642520\n*(u64 *)(r10 -72) = r1\nr1 = r10\nr1 += -72\nr2 = 5\nr3 = 77\ncall bpf_trace_printk",
    "r1 = r6\ncall bpf_get_attach_cookie",
)
PLACES = ("vfs_write", "ksys_write", "vfs_read", "do_sys_openat2", "__fput", "handle_mm_fault", "schedule")
POINTS = ("sys_enter", "sys_exit", "sched_switch", "sched_wakeup", "task_newtask", "sched_waking")
EVENTS = (
    "sched/sched_switch", "sched/sched_process_exit", "syscalls/sys_enter_write", "syscalls/sys_exit_write", "raw_syscalls/sys_enter",
    "raw_syscalls/sys_exit", "task/task_newtask", "sched/sched_process_exec",
)  # fmt: skip
CALLS = (
    "call bpf_get_current_pid_tgid", "call bpf_get_current_uid_gid", "call bpf_ktime_get_ns", "call bpf_get_current_task",
    "call bpf_get_smp_processor_id", "r1 = r10\nr1 += -64\nr2 = 16\ncall bpf_get_current_comm\nr0 = *(u64 *)(r10 -64)",
    "call bpf_get_current_task\nr3 = r0\nr1 = r10\nr1 += -64\nr2 = 24\ncall bpf_probe_read_kernel\nr0 = *(u64 *)(r10 -64)",
    "r0 = *(u64 *)(r6 +0)", "call bpf_get_prandom_u32", "call bpf_jiffies64",
)  # fmt: skip


def program_text(rng, context, cookie=False):
    """Some numbers, and what maps make of them."""
    lines = ["r6 = r1"] if context else []
    lines += [f"*(u64 *)(r10 {-8 * i}) = 0" for i in range(1, 10)]
    for label in range(rng.randint(2, 6)):
        number = rng.choice([call for call in (*CALLS, *IN_PYTHON) if context or "r6" not in call])
        if "get_attach_cookie" in number and not cookie:
            number = CALLS[0]
        words = {"flags": rng.choice([0, 1, 2]), "end": rng.choice(["submit", "discard"]), "query": rng.randrange(5)}
        number = number.format(label=label, stack=rng.choice([0, 256, 512 + 3]), **words)
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


def booted(monkeypatch, tier, arch):
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    return simkernel.boot(arch=arch, cpus=2, binds=[(os.path.join(ROOT, "samples", "bin", arch), "/samples", False)])


def told_of_random_programs(monkeypatch, tier, arch, seed):
    rng = random.Random(seed)
    machine = booted(monkeypatch, tier, arch)
    kernel = machine.kernel
    observer, bpf, tracing = kernel.observer, kernel.observer.bpf, kernel.observer.tracing
    maps = {}
    for i, (kind, key, value, entries) in enumerate((*((*kind, 8) for kind in KINDS), *OTHERS)):
        maps[f"m{i}"] = publish(observer, MapAttr(getattr(uapi, "BPF_MAP_TYPE_" + kind), key, value, entries))
    for ring in (maps["m6"], maps["m8"]):  # in the midst of a program others run: those of sched_waking
        kernel.vfs.key_queue(ring).on_wake[lambda: kernel.trace("sched_waking", kernel.current.addr)] = None
    fds = {name: number + 1000 for number, name in enumerate(maps)}
    answer_all(monkeypatch, observer, lambda fd: maps[f"m{fd - 1000}"])
    programs = []
    for place in (*PLACES, *PLACES[:3]):  # some places have several
        if rng.random() < 0.3 or observer.symbols.address(place) is None:
            continue
        text = program_text(rng, rng.random() < 0.5, True)
        attr = LoadAttr(uapi.BPF_PROG_TYPE_KPROBE, assemble(text, fds), license="GPL", log_level=1)
        verdict, prog = prog_load(bpf, attr)
        assert prog is not None, verdict.log
        programs.append(prog)
        observer._printk_wanted(prog)
        if rng.random() < 0.3:
            observer.multi._one(
                prog, observer.symbols.address(place), rng.choice([0, 5]), rng.random() < 0.3, Instances(64)
            )
            continue
        name = f"e{len(programs)}"
        tracing.probe_events.run(f"{rng.choice('ppr')}:{name} {place}", "kprobe")
        event = tracing.events.get("kprobes", name)
        event.perf_register()
        event.add_bpf(Attached(prog, rng.choice([0, 9])))
    for point in POINTS:
        if rng.random() < 0.5:
            attr = LoadAttr(uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, assemble(program_text(rng, True), fds), license="GPL")
            verdict, prog = prog_load(bpf, attr)
            assert prog is not None, verdict.log
            programs.append(prog)
            observer.attachments.attach_raw_tracepoint(prog, RawTracepointAttach(point))
    for place in EVENTS:
        if rng.random() < 0.5:
            text = program_text(rng, True).replace("(r6 +0)", "(r6 +8)")  # what lies before is not for programs
            verdict, prog = prog_load(bpf, LoadAttr(uapi.BPF_PROG_TYPE_TRACEPOINT, assemble(text, fds), license="GPL"))
            assert prog is not None, verdict.log
            programs.append(prog)
            event = tracing.events.get(*place.split("/"))
            event.perf_register()
            event.add_bpf(Attached(prog, 0))
    result = machine.run(["/samples/writer"])
    seen = {
        "output": result.stdout + result.stderr,
        "now": kernel.clock.now_ns,
        "maps": {name: [(key, found.user_lookup(key, 0)) for key in keys(found)] for name, found in maps.items()},
        "rings": [
            machine.kernel.mem.read(found.area + 4096, 4096 + found.size)
            for found in maps.values()
            if isinstance(found, RingBufferMap)
        ],
        "refused": [found.refused for found in maps.values() if isinstance(found, RingBufferMap)],
        "trace": machine.trace_pipe(),
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


@pytest.mark.parametrize(
    ("arch", "seed"),
    [
        ("x86_64", 210),  # a return's handlers walked a stack from which its instance was gone
        ("s390x", 322),  # a program that ran in the middle of another's hit changed what that one went back to
        ("arm64", 3056943261),  # a tracepoint's stack was that of registers of an earlier place
        ("riscv64", 138884386),  # the same at the end of a system call
    ],
)
def test_random_programs_that_once_differed(monkeypatch, arch, seed):
    python, _ = told_of_random_programs(monkeypatch, "python", arch, seed)
    native, _ = told_of_random_programs(monkeypatch, "native", arch, seed)
    assert native == python


# -- what runs before and after a function -----------------------------------------------------------------------------


def told_of_trampolines(monkeypatch, tier, arch, seed):
    """Programs of fentry, fexit and sometimes fmod_ret, which keep all that their context holds; return probes among them."""
    rng = random.Random(seed)
    machine = booted(monkeypatch, tier, arch)
    kernel = machine.kernel
    observer, bpf, tracing = kernel.observer, kernel.observer.bpf, kernel.observer.tracing
    seen = publish(observer, MapAttr(uapi.BPF_MAP_TYPE_HASH, 8, 8, 4096))
    answer_all(monkeypatch, observer, lambda fd: seen)
    programs, links, kinds = [], [], []
    for place in PLACES:
        if place not in kernel.text.functions or rng.random() < 0.2:
            continue
        count = len(kernel.text.functions[place][1].params)
        for _ in range(rng.randint(1, 4)):
            kind = rng.choice([FENTRY, FEXIT, FEXIT, FEXIT, MODIFY_RETURN])
            lines = ["r6 = r1", "call bpf_get_attach_cookie", "r7 = r0"]
            for i in range(count + (kind != FENTRY)):
                lines += [f"r8 = *(u64 *)(r6 +{8 * i})", "r7 *= 31", "r7 += r8"]
            if rng.random() < 0.3:  # Python in the middle, and events that others see
                lines += [
                    "r1 = 0x0a642520",
                    "*(u64 *)(r10 -72) = r1",
                    "r1 = r10",
                    "r1 += -72",
                    "r2 = 5",
                    "r3 = r7",
                    "call bpf_trace_printk",
                ]
            lines += [
                "*(u64 *)(r10 -8) = r7",
                "*(u64 *)(r10 -16) = r7",
                "r1 = map[m]",
                "r2 = r10",
                "r2 += -8",
                "r3 = r10",
                "r3 += -16",
            ]
            lines += ["r4 = 0", "call bpf_map_update_elem", "r0 = 0", "exit"]
            attr = LoadAttr(
                uapi.BPF_PROG_TYPE_KPROBE, assemble("\n".join(lines), {"m": 1000}), license="GPL", log_level=1
            )
            verdict, prog = prog_load(bpf, attr)
            assert prog is not None, verdict.log
            observer._printk_wanted(prog)
            programs.append(prog)
            kinds.append(kind)
            links.append(observer.attachments.trampoline(place).link(kind, prog, rng.choice([0, 9])))
        if rng.random() < 0.4:
            tracing.probe_events.run(f"{rng.choice('pr')}:e{len(programs)} {place}", "kprobe")
            machine.session.write_file(f"/sys/kernel/tracing/events/kprobes/e{len(programs)}/enable", "1")
    results = [machine.run(["/samples/writer"])]
    for at in sorted(rng.sample(range(len(links)), len(links) // 2), reverse=True):
        links[at]()  # the rest goes on alone
    results.append(machine.run(["/samples/writer"]))
    found = {
        "output": [result.stdout + result.stderr for result in results],
        "now": kernel.clock.now_ns,
        "map": [(key, seen.user_lookup(key, 0)) for key in keys(seen)],
        "trace": machine.trace_pipe(),
        "programs": [(prog.run_cnt, prog.recursion_misses) for prog in programs],
    }
    compiled = [kind for kind, prog in zip(kinds, programs, strict=True) if prog.native is not None]
    machine.close()
    return found, compiled


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "s390x", "riscv64", "i386", "arm"])
def test_trampolines(monkeypatch, arch):
    for seed in range(3):
        python, compiled = told_of_trampolines(monkeypatch, "python", arch, seed)
        assert compiled == []
        native, compiled = told_of_trampolines(monkeypatch, "native", arch, seed)
        assert native == python
        assert FEXIT in compiled
        monkeypatch.setitem(COLD_RUNS, Tier.AUTO, 7)
        mixed, _ = told_of_trampolines(monkeypatch, "", arch, seed)
        assert mixed == python


# -- returns of user functions -----------------------------------------------------------------------------------------

CALLED = ("plain", "deep", "jumped", "jumps", "leaves", "twice")
COUNTS_RETURNS = """
r6 = r1
*(u64 *)(r10 -48) = 0
*(u64 *)(r10 -40) = 0
*(u64 *)(r10 -32) = 0
r7 = *(u64 *)(r6 +{result})
*(u64 *)(r10 -8) = r7
*(u64 *)(r10 -16) = 1
r1 = map[m0]
r2 = r10
r2 += -8
call bpf_map_lookup_elem
if r0 == 0 goto new
r1 = *(u64 *)(r0 +0)
r1 += 1
*(u64 *)(r0 +0) = r1
goto out
new:
r1 = map[m0]
r2 = r10
r2 += -8
r3 = r10
r3 += -16
r4 = 0
call bpf_map_update_elem
out:
call bpf_ktime_get_ns
r7 = r0
r1 = r10
r1 += -48
r2 = {size}
r3 = *(u{word} *)(r6 +{sp})
r3 += {skip}
call bpf_probe_read_user{str}
*(u64 *)(r10 -24) = r0
r1 = map[m0]
r2 = r10
r2 += -48
r3 = r10
r3 += -24
r4 = 0
call bpf_map_update_elem
r7 &= {mask}
r0 = r7
exit
"""


def told_of_returns(monkeypatch, tier, arch, seed):
    """Calls of a program's functions and their returns, some with several probes."""
    rng = random.Random(seed)
    by_python, handler = [], Uprobes.return_handler
    monkeypatch.setattr(Uprobes, "return_handler", lambda self, regs: by_python.append(regs) or handler(self, regs))
    machine = booted(monkeypatch, tier, arch)
    observer, tracing = machine.kernel.observer, machine.kernel.observer.tracing
    path = machine.install(RETURNS / arch / "returns")
    places = offsets(RETURNS / arch / "returns")
    counts = publish(observer, MapAttr(uapi.BPF_MAP_TYPE_HASH, 8, 8, 1000))
    answer_all(monkeypatch, observer, lambda fd: counts)
    layout, facts = machine.kernel.cpu.layout, machine.kernel.arch
    programs, events = [], []
    for name in CALLED:
        for letter in rng.choice(("r", "r", "rp", "pr", "rr", "", "p")):
            sp = layout.fields[facts.stack_pointer]
            text = COUNTS_RETURNS.format(
                result=layout.fields[facts.return_value].offset & ~7, mask=rng.choice([0, 1, 3]), word=8 * sp.size,
                sp=sp.offset, size=rng.choice([0, 1, 7, 8, 9, 24]), str=rng.choice(["", "_str"]),
                skip=rng.choice([0, 1, 8, 33, 1 << 12, 1 << 20, -(1 << 30)]),
            )  # fmt: skip
            _, prog = prog_load(
                observer.bpf, LoadAttr(uapi.BPF_PROG_TYPE_KPROBE, assemble(text, {"m0": 1000}), license="GPL")
            )
            assert prog is not None
            programs.append(prog)
            tracing.probe_events.run(f"{letter}:e{len(programs)} {path}:{places[name]:#x}", "uprobe")
            events.append(tracing.events.get("uprobes", f"e{len(programs)}"))
            events[-1].perf_register()
            events[-1].add_bpf(Attached(prog, 0))
    result = machine.run([path, str(seed), "40"])
    monkeypatch.setattr(Uprobes, "return_handler", handler)
    seen = {
        "output": result.stdout + result.stderr,
        "status": result.status,
        "now": machine.kernel.clock.now_ns,
        "counts": [(key, counts.user_lookup(key, 0)) for key in keys(counts)],
        "runs": [prog.run_cnt for prog in programs],
        "hits": [event.probes[0].nhit for event in events],
        "under way": len(tracing.uprobes.rows),
    }
    machine.close()
    return seen, len(by_python)


def offsets(path):
    """Where in the file the functions are."""
    with open(path, "rb") as stream:
        elf = ELFFile(stream)
        found = {symbol.name: symbol["st_value"] for symbol in elf.get_section_by_name(".symtab").iter_symbols()}
        return {name: next(elf.address_offsets(found[name])) for name in CALLED}


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "i386", "s390x"])
def test_returns_of_user_functions(monkeypatch, arch):
    by_python = by_both = 0
    for seed in (1, 2, 3):
        python, returns = told_of_returns(monkeypatch, "python", arch, seed)
        assert python["status"] == 0 and len(python["counts"]) > 20 and not python["under way"]
        native, rare = told_of_returns(monkeypatch, "native", arch, seed)
        assert native == python
        by_python, by_both = by_python + returns, by_both + rare
        monkeypatch.setitem(COLD_RUNS, Tier.AUTO, 9)
        mixed, _ = told_of_returns(monkeypatch, "", arch, seed)
        assert mixed == python
    assert by_both < 0.7 * by_python, (by_both, by_python)
