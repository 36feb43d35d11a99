"""What compiled BPF programs cost beside the same C, compiled natively, and what an update of a map costs from a program.

    python -m bench.native_programs [--json]

Processor time of a turn of the program's loop, in rounds taken in turn. The C is compiled twice: for BPF (-O2), loaded as a program and
compiled by us, with a check of each access and of the budget; and by gcc -O2 for the host.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from arch.abi.version import KernelVersion
from arch.memory import FlatMemory
from bench._rows import Row, report, rounds
from bench.machine import WORK
from bpf.core.load import LoadAttr, prog_load
from bpf.isa.asm import assemble
from bpf.isa.insn import Insn, decode
from bpf.maps.base import MapAttr
from bpf.run.compiled import JitProgram
from bpf.run.interpreter import new_registers
from bpf.testing.host import TestHost

ROUNDS = 7
TURNS = 200_000
CELLS = 1024  # of 8 bytes: what a program's memory has
# What each does with its array `a` in `n` turns; what it returns must be the same twice.
PROGRAMS = {
    "arithmetic": "u64 x = a[0], y = a[1]; for (u64 i = 0; i < n; i++) { x = x * 31 + (y ^ i); y = (y << 7 | y >> 57) + x / 7; } return x ^ y;",
    "32-bit arithmetic": "u32 x = a[0], y = a[1]; for (u32 i = 0; i < n; i++) { x = x * 31 + (y ^ i); y = (y << 7 | y >> 25) - x; } return x ^ y;",
    "memory": "u64 x = 1; for (u64 i = 0; i < n; i++) { x = x * 1103515245 + 12345; a[x >> 16 & 1023] += i; x ^= a[x >> 32 & 1023]; } return x;",
    "memory, in order": "u64 x = 0; for (u64 i = 0; i < n; i++) { u64 *p = &a[i & 1023]; x += *p; *p = x ^ i; } return x;",
    "branches": "u64 x = 27, s = 0; for (u64 i = 0; i < n; i++) { if (x & 1) x = x * 3 + 1; else x >>= 1; if (x < 2) { x = i | 1; s++; } else if (x > 1u << 20) x &= 0xffff; } return s + x;",
}
SOURCE = "typedef unsigned long long u64; typedef unsigned u32; u64 run(u64 *a, u64 n) { %s }\n"


def native(name: str, body: str) -> Callable[[ctypes.Array[ctypes.c_uint64], int], int]:
    """By gcc, or what there is instead."""
    source, out = WORK / f"{name}.c", WORK / f"{name}.so"
    source.write_text(SOURCE % body)
    compiler = [shutil.which("gcc")] if shutil.which("gcc") else [sys.executable, "-m", "ziglang", "cc"]
    subprocess.run([*map(str, compiler), "-O2", "-shared", "-fPIC", "-o", str(out), str(source)], check=True)
    function = ctypes.CDLL(str(out)).run
    function.restype, function.argtypes = ctypes.c_uint64, (ctypes.c_void_p, ctypes.c_uint64)
    return lambda cells, count: int(function(ctypes.addressof(cells), count))


def program(name: str, body: str) -> list[Insn]:
    """The same as instructions of BPF."""
    source, out = WORK / f"{name}.c", WORK / f"{name}.bpf.o"
    source.write_text(SOURCE % body)
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "bpfel-freestanding", "-mcpu=v3", "-O2", "-c"]
    subprocess.run([*command, "-o", str(out), str(source)], check=True)
    return text_of(out)


def text_of(file: Path) -> list[Insn]:
    """Instructions of an object without relocations."""
    from elftools.elf.elffile import ELFFile

    with file.open("rb") as stream:
        return decode(ELFFile(stream).get_section_by_name(".text").data(), "little")


def compared(name: str, body: str) -> Row:
    """A row of one program."""
    cells = (ctypes.c_uint64 * CELLS)()
    run_native = native(name, body)
    memory = FlatMemory(size=1 << 16)
    at, top = memory.alloc(8 * CELLS, 64), memory.alloc(8192, 64) + 8192  # nothing but zeros, as the other's
    run = JitProgram(program(name, body), memory, warm=0, bind_call=lambda insn: lambda r: 0)

    def by_us() -> float:
        registers = new_registers(at, top)
        registers[2] = TURNS
        start = time.process_time_ns()
        run.execute(registers)
        answers.append(registers[0])
        return (time.process_time_ns() - start) / TURNS

    def by_gcc() -> float:
        start = time.process_time_ns()
        expected.append(run_native(cells, TURNS))
        return (time.process_time_ns() - start) / TURNS

    answers: list[int] = []
    expected: list[int] = []
    by_us()
    by_gcc()
    ours, theirs = rounds(ROUNDS, by_us, by_gcc)
    assert answers == expected and not run.unsupported
    return Row(f"a turn of {name}", ours, peers={"gcc -O2": theirs})


KEYS = 512
WARM = 20  # rounds after which all is compiled
LOOP = """
    *(u64 *)(r10 -16) = 1
    r6 = 0
again:
    *(u32 *)(r10 -4) = r6
    r2 = r10
    r2 += -4
    r3 = r10
    r3 += -16
    r4 = 0
    r1 = map[table]
    CALL
    r6 += 1
    if r6 < 512 goto again
    r0 = 0
    exit
"""


def map_calls(kind: int) -> dict[str, list[float]]:
    """ns of a look-up and of an update of a map by a program, in each round: of a loop with it, less one without."""
    host = TestHost(KernelVersion.parse("6.1"))
    table = host.bpf.new_map(MapAttr(kind, 4, 8, 2 * KEYS))
    table.get_user()
    host.bpf.publish_map(table)
    fd = host.fd_install(table, "bpf-map")

    def loop(call: str) -> Callable[[], float]:
        insns = assemble(LOOP.replace("CALL", call), {"table": fd})
        _, prog = prog_load(host.bpf, LoadAttr(1, insns, license="GPL"))
        assert prog is not None

        def turn() -> float:
            start = time.process_time_ns()
            for _ in range(400):
                prog.run(0)
            return (time.process_time_ns() - start) / 400 / KEYS

        for _ in range(WARM):
            turn()
        return turn

    alone, *samples = rounds(ROUNDS + 1, loop(""), loop("call 2"), loop("call 1"))
    names = ("update", "look up")
    return {name: [own - min(alone) for own in samples_of[1:]] for name, samples_of in zip(names, samples, strict=True)}


def main() -> None:
    """Print the rows."""
    WORK.mkdir(parents=True, exist_ok=True)
    rows = [compared(name, body) for name, body in PROGRAMS.items()]
    for name, kind in (("hash", 1), ("array", 2), ("per-CPU array", 6), ("per-CPU hash", 5), ("LRU hash", 9)):
        rows += [Row(f"{name} map, from a program: {what}", own) for what, own in map_calls(kind).items()]
    report(rows)


if __name__ == "__main__":
    main()
