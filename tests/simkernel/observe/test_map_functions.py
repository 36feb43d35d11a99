"""Programs on the functions that maps' operations are, and around what a test run does with its packet."""

from __future__ import annotations

import pytest

import simkernel
from arch.abi.errno import E2BIG, EBUSY
from arch.errors import KernelError
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from simkernel.machine import Machine
from tests.simkernel.observe.test_traced_functions import load

FENTRY, TRACING = uapi.BPF_TRACE_FENTRY, uapi.BPF_PROG_TYPE_TRACING
HASH, ARRAY = uapi.BPF_MAP_TYPE_HASH, uapi.BPF_MAP_TYPE_ARRAY
KEY = bytes(4)


def attached(m: Machine, name: str, source: str, kind: int = FENTRY) -> int:
    """A program on a function; its number among the programs."""
    fd = load(m, TRACING, kind, name, source)
    m.session.task.raw_tracepoint_open(None, fd)
    return max(m.kernel.observer.bpf.progs.objects)


def changing(fd: int, helper: int, result: int) -> str:
    """A program that changes element 0 of a map and keeps the answer in that of an array."""
    return f"""
        r1 = 0
        *(u64 *)(r10 -8) = r1
        r1 = map[{fd}]
        r2 = r10
        r2 += -8
        r3 = r2
        r4 = 0
        call {helper}
        r6 = r0
        r1 = map[{result}]
        r2 = r10
        r2 += -8
        call 1
        if r0 == 0 goto pc+1
        *(u64 *)(r0 +0) = r6
        r0 = 0
        exit
    """


def test_programs_run_around_what_bpf2_does_with_a_map() -> None:
    m = simkernel.boot()
    task = m.session.task
    bpf = m.kernel.observer.bpf
    names = {
        HASH: ("htab_map_update_elem", "htab_map_lookup_elem", "htab_map_delete_elem"),
        ARRAY: ("array_map_update_elem", "array_map_lookup_elem"),
    }
    progs = {name: attached(m, name, "r0 = 0\nexit", uapi.BPF_TRACE_FEXIT) for each in names.values() for name in each}
    bpf.stats_enabled = 1
    for kind in names:
        fd = task.map_create(kind, 4, 8, 4)
        task.map_update(fd, KEY, bytes(8), 0)
        assert task.map_lookup(fd, KEY, 8) == bytes(8)
        if kind == HASH:
            task.map_delete(fd, KEY)
    assert {name: bpf.progs.objects[number].run_cnt for name, number in progs.items()} == dict.fromkeys(progs, 1)


def test_a_map_is_locked_while_it_looks_for_an_element() -> None:
    """lookup_elem_raw() is called with the bucket locked: a program there that changes the map gets EBUSY."""
    m = simkernel.boot()
    task = m.session.task
    hashed, results = task.map_create(HASH, 4, 4, 1), task.map_create(ARRAY, 4, 8, 1)
    attached(m, "lookup_elem_raw", changing(hashed, 2, results))
    task.map_update(hashed, KEY, bytes(4), 0)
    answer = int.from_bytes(task.map_lookup(results, KEY, 8), "little")
    assert answer == (1 << 32) - EBUSY  # an int, whose upper half nobody fills


@pytest.mark.parametrize("tier", ["python", "native"])
@pytest.mark.parametrize(("kernel", "upper"), [("5.10", 0), ("6.1", 0), ("6.12", -1)])
def test_what_a_map_refuses_a_program_is_an_int(
    monkeypatch: pytest.MonkeyPatch, tier: str, kernel: str, upper: int
) -> None:
    """The calls of a map that the verifier knows are those of the map's own function; asked of 6.1."""
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    m = simkernel.boot(kernel=kernel)
    task, calls = m.session.task, m.session.syscalls
    full, results = task.map_create(HASH, 4, 4, 1), task.map_create(ARRAY, 4, 8, 1)
    task.map_update(full, (1).to_bytes(4, "little"), bytes(4), 0)
    source = changing(full, 2, results)
    fd, log = task.prog_load(uapi.BPF_PROG_TYPE_SCHED_CLS, encode(assemble(source)), log_level=1, log_size=9999)
    assert fd >= 0, log
    attr, packet = calls.alloc(80), calls.alloc(64)
    calls.write(attr, task.pack("IIIIQQ", fd, 0, 64, 0, packet, 0).ljust(80, b"\0"))
    assert calls.syscall("bpf", uapi.BPF_PROG_TEST_RUN, attr, 80) == 0
    answer = int.from_bytes(task.map_lookup(results, KEY, 8), "little", signed=True)
    assert answer == (upper << 32) + (1 << 32) - E2BIG


@pytest.mark.parametrize("kernel", ["5.10", "6.1", "6.12", "7.2"])
def test_system_calls_without_arguments_can_be_probed(kernel: str) -> None:
    """Their wrappers have several names, of which one is declared."""
    m = simkernel.boot(kernel=kernel)
    closed = {name for _, _, name in m.kernel.observer.probe_blacklist()}
    assert not closed & {"__x64_sys_getppid", "__ia32_sys_getppid", "__x64_sys_fork", "__do_sys_getppid"}
    m.session.write_file("/sys/kernel/tracing/kprobe_events", b"p:getting __x64_sys_getppid\n")


def test_a_program_that_deletes_within_its_own_function_is_a_miss() -> None:
    m = simkernel.boot()
    task = m.session.task
    hashed, results = task.map_create(HASH, 4, 4, 1), task.map_create(ARRAY, 4, 8, 1)
    number = attached(m, "htab_map_delete_elem", changing(hashed, 3, results))
    for _ in range(2):
        with pytest.raises(KernelError, match="ENOENT"):
            task.map_delete(hashed, KEY)
    assert m.kernel.observer.bpf.progs.objects[number].recursion_misses == 2


def test_a_test_run_passes_eth_type_trans_and_frees_its_packet() -> None:
    m = simkernel.boot()
    task, calls = m.session.task, m.session.syscalls
    length = "r1 = *(u64 *)(r1 +0)\nr0 = 0\nexit"
    watching = [attached(m, "eth_type_trans", length, kind) for kind in (FENTRY, uapi.BPF_TRACE_FEXIT)]
    m.enable_event("skb:kfree_skb")
    fd, log = task.prog_load(uapi.BPF_PROG_TYPE_SCHED_CLS, encode(assemble("r0 = 0\nexit")), log_level=1, log_size=9999)
    assert fd >= 0, log
    bpf = m.kernel.observer.bpf
    bpf.stats_enabled = 1
    attr, packet = calls.alloc(80), calls.alloc(64)
    calls.write(packet, bytes(12) + b"\x86\xdd" + bytes(50))
    calls.write(attr, task.pack("IIIIQQ", fd, 0, 64, 0, packet, 0).ljust(80, b"\0"))
    assert calls.syscall("bpf", uapi.BPF_PROG_TEST_RUN, attr, 80) == 0
    assert [bpf.progs.objects[number].run_cnt for number in watching] == [1, 1]
    (line,) = [line for line in m.trace_pipe().splitlines() if "kfree_skb" in line]
    assert "protocol=34525 " in line and line.endswith("reason: NOT_SPECIFIED")
