"""Machine code does what the interpreter does, bit for bit."""

import random
import time

import pytest

from arch import architecture
from arch.abi.errno import EINVAL
from arch.errors import Fault, KernelError
from arch.hosttime import HOST, HostStop
from arch.memory import FlatMemory, KernelMemory, PhysicalMemory
from bpf.isa.asm import assemble
from bpf.isa.insn import Insn
from bpf.run.compiled import JitProgram
from bpf.run.interpreter import BpfFault, BudgetExceeded, Program, new_registers

BASE = 0xFFFF888000000000


def both(insns, *, byteorder="little", registers=None, budget=1 << 30, **more):
    """Registers 0 and memory after the run, by interpreter and by machine code."""
    results = []
    insns = assemble(insns) if isinstance(insns, str) else insns
    for make, extra in ((Program, {}), (JitProgram, {"warm": 0})):
        mem = FlatMemory(BASE, 1 << 14, byteorder)
        top = mem.alloc(8192, 64) + 8192
        more.setdefault("bind_call", lambda insn: lambda r: 0)
        program = make(insns, mem, **more, **extra)
        r = new_registers(top - 512, top, budget)
        for number, value in (registers or {}).items():
            r[number] = value
        try:
            program.execute(r)
            outcome = r[0], r[12]
        except (BpfFault, BudgetExceeded, KernelError) as error:
            outcome = type(error), str(error)
        results.append((outcome, bytes(mem.data)))
        if make is JitProgram:
            assert not program.unsupported
    assert results[0] == results[1]
    return results[0][0]


ALU = [0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x90, 0xA0, 0xB0, 0xC0]
JUMPS = [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xA0, 0xB0, 0xC0, 0xD0]
SIZES = [0x00, 0x08, 0x10, 0x18]


def newer(rng, dst, src, off, imm):
    """An instruction since 6.6."""
    size, wide = rng.choice(SIZES), rng.choice([4, 7])
    return rng.choice([
        Insn(wide | rng.choice([0x30, 0x90]) | rng.choice([0, 8]), dst, src, 1, imm or 3),
        Insn(wide | 0xB8, dst, src, rng.choice([8, 16] if wide == 4 else [8, 16, 32])),
        Insn(0xD7, dst, 0, 0, rng.choice([16, 32, 64])),
        Insn(0x81 | rng.choice(SIZES[:3]), dst, 10, off),
        Insn(0xC3 | size, dst, 10, off, 0x100),
        Insn(0xC3 | size, 10, src, off, 0x110),
        Insn(0x06, 0, 0, 0, 0),
    ])  # fmt: skip


def random_program(rng):
    """Straight-line code with forward jumps, stack accesses and atomics; everything ends up in R0."""
    insns = [Insn(0xB7, reg, 0, 0, rng.randrange(-(1 << 31), 1 << 31)) for reg in range(10)]
    insns += [Insn(0x7B, 10, reg, -8 * (reg + 1), 0) for reg in range(8)]
    for _ in range(40):
        dst, src = rng.randrange(10), rng.randrange(10)
        imm, off = rng.choice([0, 1, -1, 7, 1 << 30, -(1 << 31), 12345]), -8 * rng.randrange(1, 9)
        kind = rng.randrange(9)
        if kind < 3:
            insns.append(Insn(rng.choice([4, 7]) | rng.choice(ALU) | rng.choice([0, 8]), dst, src, 0, imm))
        elif kind == 3:
            insns.append(Insn(rng.choice([0x84, 0x87]), dst))
            insns.append(Insn(rng.choice([0xD4, 0xDC]), dst, 0, 0, rng.choice([16, 32, 64])))
        elif kind == 4:
            insns.append(Insn(0x61 | rng.choice(SIZES), dst, 10, off))
        elif kind == 5:
            insns.append(Insn(rng.choice([0x62, 0x63]) | rng.choice(SIZES), 10, src, off, imm))
        elif kind == 6:
            op = rng.choice([0x00, 0x40, 0x50, 0xA0, 0x01, 0x41, 0x51, 0xA1, 0xE1, 0xF1])
            insns.append(Insn(rng.choice([0xC3, 0xDB]), 10, src, off, op))
        elif kind == 8:
            insns.append(newer(rng, dst, src, off, imm))
        else:
            insns.append(Insn(rng.choice([5, 6]) | rng.choice(JUMPS) | rng.choice([0, 8]), dst, src, 1, imm))
            insns.append(Insn(0x07, dst, 0, 0, 3))
    for reg in range(1, 10):
        insns += [Insn(0x27, 0, 0, 0, 31), Insn(0x0F, 0, reg)]
    return [*insns, Insn(0x95)]


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed, byteorder):
    both(random_program(random.Random(f"{seed}{byteorder}")), byteorder=byteorder)


@pytest.mark.parametrize(
    "text, result",
    [
        ("r0 = -7\nr0 s/= 2", -3),
        ("r0 = -7\nr0 s%= 2", -1),
        ("r0 = 7\nr1 = -2\nr0 s/= r1", -3),
        ("r0 = 7\nr1 = 0\nr0 s%= r1", 7),
        ("w0 = -2147483648\nw1 = -1\nw0 s/= w1", 1 << 31),
        ("r1 = 0x180\nr0 = (s8)r1", -128),
        ("r1 = 0x8000\nw0 = (s16)w1", 0xFFFF8000),
        ("r0 = 0x11223344\nr0 = bswap16 r0", 0x4433),
        ("*(u64 *)(r10 -8) = -2\nr0 = *(s8 *)(r10 -8)", -2),
        ("r1 = 0x1ff\nstore_release((u8 *)(r10 -8), r1)\nr0 = load_acquire((u8 *)(r10 -8))", 0xFF),
        ("gotol out\nr0 = 9\nout:", 0),
    ],
)
def test_instructions_since_6_6(text, result):
    assert both(f"r0 = 0\n{text}\nexit")[0] == result & (1 << 64) - 1


def test_loops_cost_budget():
    text = "r0 = 0\nr1 = 1000\nagain:\nr0 += r1\nr1 += -1\nif r1 != 0 goto again\nexit"
    assert both(text)[0] == 500500
    assert both(text, budget=100)[0] is BudgetExceeded


@pytest.mark.parametrize("make", [Program, JitProgram])
def test_the_hosts_time_ends_a_loop(make):
    """1 << 40 instructions: machine code has to come back to be asked."""
    mem = FlatMemory(BASE, 1 << 14, "little")
    more = {"warm": 0} if make is JitProgram else {}
    program = make(assemble("again:\nr0 += 1\ngoto again"), mem, bind_call=lambda insn: lambda r: 0, **more)
    begin = time.process_time()
    with pytest.raises(HostStop), HOST.limit(0.05):
        program.execute(new_registers(BASE, BASE + 8192))
    assert time.process_time() - begin < 0.5


def test_functions_of_the_program():
    text = """
        r6 = 7
        r1 = 3
        r2 = 4
        call pc+3
        r0 += r6
        exit
        exit
        *(u64 *)(r10 -8) = r1
        r6 = 100
        r0 = *(u64 *)(r10 -8)
        r0 += r2
        exit
    """
    assert both(text)[0] == 14


def test_faults_name_the_instruction():
    kind, text = both("r1 = 0\nr0 = *(u64 *)(r1 +8)\nexit")
    assert kind is BpfFault and "instruction 1" in text
    assert both("r1 = 0\n*(u32 *)(r1 +8) = 1\nexit")[0] is BpfFault
    probe = [Insn(0xB7, 1, 0, 0, 0), Insn(0x79 & ~0x60 | 0x20, 0, 1, 8), Insn(0x95)]
    assert both(probe)[0] == 0


def test_helpers_see_the_registers_and_may_raise():
    seen = []

    def bind(insn):
        def helper(r):
            seen.append(r[1:6])
            if r[1] == 13:
                raise KernelError(EINVAL, "unlucky")
            return -1 & ((1 << 64) - 1)

        return helper

    text = "r1 = 1\nr2 = 2\nr3 = 3\nr4 = 4\nr5 = 5\ncall 7\nexit"
    assert both(text, bind_call=bind)[0] == (1 << 64) - 1
    assert seen == [[1, 2, 3, 4, 5]] * 2
    assert both("r1 = 13\ncall 7\nexit", bind_call=bind)[0] is KernelError


def test_tail_calls():
    tail = [Insn(0xB7, 0, 0, 0, 1), Insn(0xF5), Insn(0x07, 0, 0, 0, 5), Insn(0x95)]

    def take_over(r):
        r[0] = 99
        return True

    assert both(tail)[0] == 6
    assert both(tail, tail_call=take_over)[0] == 99


def test_callbacks_run_natively_too():
    mem = FlatMemory(BASE, 1 << 14)
    top = mem.alloc(8192, 64) + 8192
    insns = assemble("call 7\nexit\nr0 = r1\nr0 += r2\nexit")
    insns = [Insn(0x18, 2, 4, 0, 3), Insn(0), *insns]
    program = None

    def bind(insn):
        return lambda r: program.call_back(r, 4, 20, 22)

    program = JitProgram(insns, mem, bind_call=bind, warm=0)
    r = new_registers(0, top)
    program.execute(r)
    assert r[0] == 42 and set(program._native) == {0, 4}


@pytest.mark.parametrize(
    ("source", "native"),
    [("r0 = 5\nl: r0 += -1\nif r0 != 0 goto l\nexit", True), ("r0 = 0\nexit", False), ("r0 = 0\n" * 41 + "exit", True)],
)
def test_compiled_when_warm_and_worth_it(source, native):
    mem = FlatMemory(BASE, 1 << 14)
    program = JitProgram(assemble(source), mem, bind_call=lambda insn: lambda r: 0, warm=100)
    for _ in range(40):
        r = new_registers(0, BASE + 4096, 1000)
        program.execute(r)
        assert r[0] == 0
    assert bool(program._native) is native


def test_memory_of_a_machine():
    mem = KernelMemory(PhysicalMemory(32 << 20), architecture.get("x86_64").map, "little")
    top = mem.alloc(4096, 64) + 4096
    far = mem.vmalloc(4096)
    insns = [Insn(0x18, 1, 0, 0, far & 0xFFFFFFFF), Insn(0, 0, 0, 0, far >> 32)]
    insns += assemble("*(u64 *)(r1 +16) = 77\nr0 = *(u64 *)(r1 +16)\n*(u64 *)(r10 -8) = r0\nexit")
    program = JitProgram(insns, mem, bind_call=lambda insn: lambda r: 0, warm=0)
    r = new_registers(0, top)
    program.execute(r)
    assert r[0] == 77 and mem.read_uint(far + 16, 8) == 77 and mem.read_uint(top - 8, 8) == 77


def test_what_it_cannot_do_it_interprets():
    mem = FlatMemory(BASE, 1 << 14)
    program = JitProgram(
        [Insn(0xB7, 0, 0, 0, 5), Insn(0x95), Insn(0xDF)], mem, bind_call=lambda insn: lambda r: 0, warm=0
    )
    r = new_registers(0, BASE + 4096)
    program.execute(r)
    assert r[0] == 5  # the unknown instruction is not reached, so not compiled either
    bad = JitProgram([Insn(0xDF), Insn(0x95)], mem, bind_call=lambda insn: lambda r: 0, warm=0)
    bad.execute(new_registers(0, BASE + 4096))
    assert bad.unsupported
    with pytest.raises(Fault):
        mem.read_uint(0, 8)


def alone(insns, mem, **more):
    program = JitProgram(insns, mem, warm=0, bind_call=lambda insn: lambda r: 0, **more)
    program.execute(new_registers(BASE + 64, BASE + 4096, 1 << 20))
    return program


def test_functions_without_end_do_not_use_up_the_hosts_stack():
    """Only the verifier sees that they call each other for ever."""
    insns = [Insn(0x85, 0, 1, 0, 1), Insn(0x95), Insn(0x85, 0, 1, 0, -1), Insn(0x95)]
    for make, more in ((Program, {}), (JitProgram, {"warm": 0})):
        program = make(insns, FlatMemory(BASE, 1 << 14), bind_call=lambda insn: lambda r: 0, **more)
        with pytest.raises(RecursionError):
            program.execute(new_registers(BASE + 64, BASE + 4096, 1 << 20))
    assert not program.unsupported


def test_sixty_functions_deep_is_fine():
    insns = [Insn(0x85, 0, 1, 0, 1) if i % 2 == 0 else Insn(0x95) for i in range(120)]
    assert not alone([*insns, Insn(0xB7, 0, 0, 0, 3), Insn(0x95)], FlatMemory(BASE, 1 << 16)).unsupported


def test_registers_that_are_not_there_are_left_to_the_interpreter():
    assert "register 13" in alone([Insn(0xB7, 13, 0, 0, 1), Insn(0x95)], FlatMemory(BASE, 1 << 14)).unsupported


@pytest.mark.parametrize("insn", [Insn(0x79, 0, 6), Insn(0x7B, 6, 0), Insn(0x39, 0, 6)])
def test_whatever_memory_raises_ends_the_program(insn):
    """Not only faults: an exception in a callback from native code would only be printed, and the run go on."""

    class Broken(FlatMemory):
        def read_uint(self, addr, size):
            raise KeyboardInterrupt

        def write_uint(self, addr, size, value):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        alone([Insn(0xB7, 6, 0, 0, 8), insn, Insn(0xB7, 0), Insn(0x95)], Broken(BASE, 1 << 14))


BAD_ADDRESSES = {
    "null": 0,
    "user": 0x7FFF12345678,
    "not canonical": 0x8000_0000_0000_0000,
    "last bytes": (1 << 64) - 4,
    "behind the end": BASE + (1 << 14),
    "half behind the end": BASE + (1 << 14) - 4,
}


@pytest.mark.parametrize("size", [0x00, 0x08, 0x10, 0x18])
@pytest.mark.parametrize("address", BAD_ADDRESSES.values(), ids=BAD_ADDRESSES)
def test_probe_loads_of_bad_addresses_give_0(address, size):
    """What a program reads through a BTF pointer may be gone: the load gives 0 and the program goes on."""
    bytes_read = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}[size]
    insns = [
        Insn(0x18, 1, 0, 0, address & 0xFFFFFFFF),
        Insn(0, 0, 0, 0, address >> 32),
        Insn(0xB7, 2, 0, 0, 77),
        Insn(0x21 | size, 2, 1, 0, 0),  # a load with BPF_PROBE_MEM
        Insn(0x21 | size, 3, 1, -16, 0),
        Insn(0xBF, 0, 2, 0, 0),
        Insn(0x95),
    ]
    inside = address + bytes_read <= BASE + (1 << 14) and address >= BASE
    assert both(insns)[0] == 0 or inside
    assert both([*insns[:3], Insn(0x61 | size, 2, 1, 0, 0), *insns[5:]])[0] is BpfFault or inside
