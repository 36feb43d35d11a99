"""Functions that exist to be traced or called by programs: each has an address, and attached programs act."""

from __future__ import annotations

import pytest

import simkernel
from arch.abi.errno import EACCES
from arch.errors import KernelError
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.isa.insn import BPF_CALL, BPF_JMP, BPF_PSEUDO_KFUNC_CALL, Insn, decode, encode
from simkernel.machine import Machine
from tests.kconfig import typed


def load(m: Machine, kind: int, attach_type: int, name: str, source: str = "r0 = 0\nexit", **more: int) -> int:
    task = m.session.task
    btf = m.kernel.observer.vmlinux_btf
    assert btf is not None
    insns = encode(assemble(source), task.byteorder)
    fd, log = task.prog_load(
        kind, insns, log_level=1, log_size=9999, expected_attach_type=attach_type, attach_btf_id=btf.find(name), **more
    )
    assert fd >= 0, log
    return fd


def test_run(m: Machine, fd: int) -> tuple[int, int]:
    """(0 or -errno, retval) of BPF_PROG_TEST_RUN."""
    calls = m.session.syscalls
    attr = calls.alloc(80)
    calls.write(attr, m.session.task.pack("II", fd, 0).ljust(80, b"\0"))
    ret = calls.syscall("bpf", uapi.BPF_PROG_TEST_RUN, attr, 80)
    return ret, int.from_bytes(calls.read(attr + 4, 4), m.kernel.arch.byteorder)


test_run.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("arch", ["x86_64", "s390x"])
def test_fentry_programs_run_when_the_test_functions_are_called(arch: str) -> None:
    m = simkernel.boot(arch=arch, config=typed(arch))
    task = m.session.task
    progs = {}
    for kind in (uapi.BPF_TRACE_FENTRY, uapi.BPF_TRACE_FEXIT):
        for n in range(1, 9):
            progs[kind, n] = load(m, uapi.BPF_PROG_TYPE_TRACING, kind, f"bpf_fentry_test{n}")
            task.raw_tracepoint_open(None, progs[kind, n])
    bpf = m.kernel.observer.bpf
    bpf.stats_enabled = 1
    assert test_run(m, progs[uapi.BPF_TRACE_FENTRY, 1]) == (0, 0)
    assert [prog.run_cnt for prog in bpf.progs.objects.values()] == [1] * 16


def test_an_lsm_program_decides() -> None:
    m = simkernel.boot()
    task = m.session.task
    source = f"r0 = -{EACCES}\nexit"
    link = task.raw_tracepoint_open(
        None, load(m, uapi.BPF_PROG_TYPE_LSM, uapi.BPF_LSM_MAC, "bpf_lsm_file_open", source)
    )
    with pytest.raises(KernelError) as refused:
        task.read_file("/etc/hostname")
    assert refused.value.errno == EACCES
    task.call("close", link)
    assert task.read_file("/etc/hostname") == b"simkernel\n"


def test_every_declared_function_is_a_symbol() -> None:
    m = simkernel.boot()
    lines = m.session.task.read_file("/proc/kallsyms").decode().split("\n")
    rows = {words[2]: int(words[0], 16) for words in map(str.split, lines) if len(words) >= 3}
    for name in ("bpf_lsm_file_open", "bpf_lsm_task_alloc", "bpf_kfunc_call_test1", "bpf_fentry_test8"):
        assert rows["_stext"] < rows[name] < rows["_etext"]
        assert m.kernel.symbols.find(rows[name]).name == name


def test_a_call_of_a_kernel_function_is_shown_by_its_distance() -> None:
    m = simkernel.boot()
    task, name = m.session.task, "bpf_kfunc_call_test_mem_len_pass1"
    btf = m.kernel.observer.vmlinux_btf
    assert btf is not None
    before = assemble("r1 = r10\nr1 += -8\nr2 = 0\n*(u64 *)(r10 -8) = r2\nr2 = 8")
    call = Insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, btf.find(name))
    source = encode([*before, call, *assemble("r0 = 0\nexit")], task.byteorder)
    fd, log = task.prog_load(uapi.BPF_PROG_TYPE_SCHED_CLS, source, log_level=1, log_size=9999)
    assert fd >= 0, log
    room = m.session.syscalls.alloc(8 * 8)
    info = task.pack("II8xIIQQ", 0, 0, 0, 64, 0, room).ljust(232, b"\0")
    shown = xlated(m, fd, info, room)
    symbols = m.kernel.symbols
    assert shown[5].imm == symbols.address(name) - symbols.address("__bpf_call_base")


def test_a_call_of_a_helper_is_shown_by_the_distance_of_what_does_the_work() -> None:
    """A helper that a type has a form of its own of; one for a map that is known is the map's own function."""
    m = simkernel.boot()
    task = m.session.task
    fd = task.map_create(uapi.BPF_MAP_TYPE_HASH, 4, 4, 1)
    text = """r6 = r1\n*(u32 *)(r10 -4) = 1\nr1 = map[h]\nr2 = r10\nr2 += -4\ncall 3\nr1 = r6\nr2 = map[s]
              r3 = 0\ncall 27\nr0 = 0\nexit"""
    names = ("htab_map_delete_elem", "bpf_get_stackid_tp")
    stacks = task.map_create(uapi.BPF_MAP_TYPE_STACK_TRACE, 4, 8, 1)
    insns = assemble(text, maps={"h": fd, "s": stacks})
    prog, log = task.prog_load(uapi.BPF_PROG_TYPE_TRACEPOINT, encode(insns, task.byteorder), log_level=1, log_size=9999)
    assert prog >= 0, log
    room = m.session.syscalls.alloc(8 * 14)
    info = task.pack("II8xIIQQ", 0, 0, 0, 8 * 14, 0, room).ljust(232, b"\0")
    shown = [insn.imm for insn in xlated(m, prog, info, room, 8 * 14) if insn.code == BPF_JMP | BPF_CALL]
    lines = task.read_file("/proc/kallsyms").decode().split("\n")
    places = {words[2]: int(words[0], 16) for words in map(str.split, lines) if len(words) >= 3}
    assert shown == [places[name] - places["__bpf_call_base"] for name in names]
    assert min(map(abs, shown)) > max(uapi.HELPER_NAMES)  # tools take such numbers for helpers


def xlated(m: Machine, fd: int, info: bytes, room: int, size: int = 64) -> list[Insn]:
    """The rewritten program of a descriptor."""
    calls, task = m.session.syscalls, m.session.task
    at, attr = calls.alloc(len(info)), calls.alloc(16)
    calls.write(at, info)
    calls.write(attr, task.pack("IIQ", fd, len(info), at))
    assert calls.syscall("bpf", uapi.BPF_OBJ_GET_INFO_BY_FD, attr, 16) == 0
    return decode(calls.read(room, size), task.byteorder)
