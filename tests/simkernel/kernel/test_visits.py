"""Probes on the way of a system call that is answered in the hook: handlers run there see, count and write the same bytes."""

import random
from pathlib import Path

import pytest

import simkernel
from arch import architecture
from arch.errors import KernelError
from arch.native.handler import Tier
from arch.text import disassemble
from bpf import uapi
from bpf.core.load import LoadAttr, prog_load
from bpf.core.program import COLD_RUNS
from bpf.core.trampoline import FENTRY, FEXIT
from bpf.face import RawTracepointAttach
from bpf.isa.asm import assemble
from bpf.maps.base import MapAttr
from simkernel.kernel import shortcuts
from simkernel.observe.attach import Attached
from tests.simkernel.known_maps import answer_all, publish
from tracing.probes.returns import Instances

ARCHES = ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
PROGRAMS = Path(__file__).parent / "programs" / "bin"
PLACES = ("ksys_write", "vfs_write", "write_null", "ksys_read", "vfs_read", "read_null", "ksys_lseek", "vfs_open")
ENTRIES = ("el0_svc_common", "invoke_syscall")
CALLS = ("getppid", "write", "getuid", "clock_gettime", "read")
EVENTS = (
    "syscalls/sys_enter_getppid", "syscalls/sys_exit_getppid", "syscalls/sys_enter_write", "syscalls/sys_exit_write",
    "raw_syscalls/sys_enter", "raw_syscalls/sys_exit", "syscalls/sys_enter_openat",
)  # fmt: skip
NUMBERS = ("call bpf_ktime_get_ns", "call bpf_get_current_pid_tgid", "call bpf_get_smp_processor_id", "r0 = 3")


def program_text(rng, loads, read="", registers=False):
    """Notes numbers and what the context holds, by time."""
    lines = ["r6 = r1", "call bpf_ktime_get_ns", "*(u64 *)(r10 -8) = r0"]
    number = f"r0 = *(u64 *)(r6 +{rng.choice(loads)})" if loads and rng.random() < 0.7 else rng.choice(NUMBERS)
    if read and rng.random() < 0.4:  # memory of the kernel: the task, or the registers of the call
        start = "r3 = *(u64 *)(r6 +0)" if registers and rng.random() < 0.7 else "call bpf_get_current_task\nr3 = r0"
        number = (
            f"{start}\nr3 += {8 * rng.randrange(8)}\nr1 = r10\nr1 += -32\nr2 = 8\ncall {read}\nr0 = *(u64 *)(r10 -32)"
        )
    lines += [number, "*(u64 *)(r10 -16) = r0"]
    lines += ["r1 = map[m]", "r2 = r10", "r2 += -8", "r3 = r10", "r3 += -16", "r4 = 0", "call bpf_map_update_elem"]
    return "\n".join([*lines, f"r0 = {rng.choice([0, 0, 1])}", "exit"])


def may_be_probed(kprobes, address):
    try:
        kprobes.check_address(address)
    except KernelError:  # the second half of what ftrace patches
        return False
    return True


def told(monkeypatch, tier, arch, seed, kernel="6.1", listens=0.0, inside=0.0):
    """Everything that can be seen of random calls with probes on their ways."""
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    rng = random.Random(seed)
    machine = simkernel.boot(arch=arch, kernel=kernel, cpus=rng.choice([1, 1, 2]))
    k = machine.kernel
    observer, tracing, bpf = k.observer, k.observer.tracing, k.observer.bpf
    noted = publish(observer, MapAttr(uapi.BPF_MAP_TYPE_HASH, 8, 8, 8192))
    answer_all(monkeypatch, observer, lambda fd: noted)
    layout, facts = k.cpu.layout, k.arch
    arguments = [layout.fields[name].offset for name in facts.function_args[:3] if k.arch.word == 8]
    first, second, third = [
        f"%{name}" if arch == "x86_64" else f"$arg{i}" for i, name in enumerate(facts.function_args[:3], 1)
    ]
    wrappers = [k.syscalls.symbols[name] for name in CALLS if name in k.syscalls.symbols]
    places = [name for name in (*PLACES, *ENTRIES, *wrappers) if name in k.text.functions]
    programs, events, others = [], [], []
    read = "bpf_probe_read_kernel" if k.version.at_least("5.5") else "bpf_probe_read"

    def loaded(kind, text, **more):
        verdict, prog = prog_load(
            bpf, LoadAttr(kind, assemble(text, {"m": 1000}), license="GPL", kern_version=bpf.host.version_code, **more)
        )
        assert prog is not None, verdict.log
        programs.append(prog)
        return prog

    probed = rng.sample(places, rng.randint(0 if listens else 1, 4 - 2 * bool(listens)))
    for number, place in enumerate([*probed, *(probed if inside else ())]):
        returns = rng.random() < 0.4
        offset = 0
        if inside and rng.random() < inside:  # mostly before the function's body
            start = k.symbols.address(place)
            offsets = [at for at in k.text.image.boundaries(place) if may_be_probed(tracing.kprobes, start + at)]
            returns, offset = False, rng.choice(offsets[: rng.choice([3, 6, 6, len(offsets)])])
        match rng.choice(
            ["program", "event", "both"] if inside else ["program", "event", "both", "multi", "trampoline"]
        ):
            case "multi":
                loads = [layout.fields[facts.return_value].offset] if returns and k.arch.word == 8 else arguments
                prog = loaded(uapi.BPF_PROG_TYPE_KPROBE, program_text(rng, loads, read))
                observer.multi._one(prog, observer.symbols.address(place), rng.choice([0, 5]), returns, Instances(64))
            case "trampoline" if k.version.at_least("5.5") and place not in ENTRIES:
                loads = [0] if k.text.functions[place].prototype.params else []  # its context is numbers, too
                prog = loaded(uapi.BPF_PROG_TYPE_KPROBE, program_text(rng, loads, read))
                observer.attachments.trampoline(place).link(FEXIT if returns else FENTRY, prog, 0)
            case kind:
                name, args = f"e{number}", rng.choice(["", " a=$stack0", " c=$comm"][: 2 + k.version.at_least("4.15")])
                if arguments and not returns:
                    args = rng.choice(["", f" a={first} b={second}:u32 c={third}", f" a={second}", " s=$stack1"])
                    if inside and ("$stack" in args or (offset and "$arg" in args)):
                        args = ""  # what earlier calls left on the stack depends on the tier; arguments are an entry's
                elif returns:
                    args = rng.choice(["", " r=$retval"])
                tracing.probe_events.run(f"{'r' if returns else 'p'}:{name} {place}+{offset}{args}", "kprobe")
                event = tracing.events.get("kprobes", name)
                if kind in ("event", "both"):
                    event.set_enabled(True)
                if kind in ("program", "both"):
                    event.perf_register()
                    event.add_bpf(Attached(loaded(uapi.BPF_PROG_TYPE_KPROBE, program_text(rng, arguments, read)), 0))
                events.append(event)
    for point in ("sys_enter", "sys_exit"):
        if rng.random() < listens:
            prog = loaded(uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, program_text(rng, [0, 8], read, point == "sys_enter"))
            observer.attachments.attach_raw_tracepoint(prog, RawTracepointAttach(point))
    for name in EVENTS:
        if rng.random() < listens / 2 and tracing.events.get(*name.split("/")) is not None:
            event = tracing.events.get(*name.split("/"))
            if rng.random() < 0.7:
                event.set_enabled(True)
            if rng.random() < 0.7:
                event.perf_register()
                event.add_bpf(Attached(loaded(uapi.BPF_PROG_TYPE_TRACEPOINT, program_text(rng, [8, 16])), 0))
            others.append(event)
    result = machine.run([machine.install(PROGRAMS / arch / "calls"), str(seed), "300"])
    content, key = [], None
    while True:
        try:
            key = noted.next_key(key)
        except Exception:  # ENOENT after the last
            break
        content.append((key, noted.user_lookup(key, 0)))
    seen = {
        "output": (result.status, result.stdout, result.stderr),
        "now": k.clock.now_ns,
        "noted": content,
        "trace": machine.trace_pipe(),
        "counts": dict(k.syscalls.counts),
        "programs": [(prog.run_cnt, prog.recursion_misses) for prog in programs],
        "hits": [(event.probes[0].nhit, event.probes[0].nmissed) for event in events],
        "switches": k.cpus.nr_switches,
    }
    visited = any(words[shortcuts.WALK] for words in k.shortcuts.used.values())
    machine.close()
    return seen, visited


@pytest.mark.parametrize("arch", ARCHES)
def test_the_same_bytes(monkeypatch, arch):
    somewhere = False
    for seed in range(8 if arch == "x86_64" else 3):
        python, _ = told(monkeypatch, "python", arch, seed)
        native, visited = told(monkeypatch, "native", arch, seed)
        assert native == python, seed
        somewhere |= visited
    assert somewhere == (arch != "s390x")


@pytest.mark.parametrize("kernel", ["4.18", "5.10", "6.12"])
def test_versions(monkeypatch, kernel):
    for seed in range(20, 23):
        python, _ = told(monkeypatch, "python", "x86_64", seed, kernel)
        native, _ = told(monkeypatch, "native", "x86_64", seed, kernel)
        assert native == python, seed


@pytest.mark.parametrize("arch", ARCHES)
def test_inside_functions(monkeypatch, arch):
    """Several probes in a function, before its body and behind it."""
    somewhere = False
    for seed in range(60, 66 if arch == "x86_64" else 63):
        python, _ = told(monkeypatch, "python", arch, seed, inside=0.7)
        native, visited = told(monkeypatch, "native", arch, seed, inside=0.7)
        assert native == python, seed
        somewhere |= visited
    assert somewhere == (arch != "s390x")


@pytest.mark.parametrize("arch", ARCHES)
def test_until_the_hypercall(arch):
    """It is the first of each kind of function, and a probe there comes before the body."""
    facts = architecture.get(arch).support.text
    kinds = [facts.function, *([facts.jumping_function] if facts.jumping_function else [])]
    for kind in kinds:
        code = kind(3)
        insns = disassemble(architecture.get(arch), code, 0)
        first = next(insn for insn in insns if insn.mnemonic in ("int", "svc", "ecall"))
        assert first.address == facts.hypercall_at


@pytest.mark.parametrize("arch", ARCHES)
def test_listeners(monkeypatch, arch):
    """Tracepoints of system calls, and events on them."""
    for seed in range(40, 48 if arch == "x86_64" else 43):
        python, _ = told(monkeypatch, "python", arch, seed, listens=0.5)
        native, _ = told(monkeypatch, "native", arch, seed, listens=0.5)
        assert native == python, seed


def test_mixed(monkeypatch):
    monkeypatch.setitem(shortcuts.HOT_CALLS, Tier.AUTO, 9)
    monkeypatch.setitem(COLD_RUNS, Tier.AUTO, 7)
    for seed in range(30, 34):
        python, _ = told(monkeypatch, "python", "x86_64", seed, listens=0.3)
        mixed, _ = told(monkeypatch, "", "x86_64", seed, listens=0.3)
        assert mixed == python, seed
