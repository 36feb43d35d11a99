"""How quick the BPF floor is: classic verifier, maps, interpreter, a whole probe program.

    python -m bench.bpf_speed [--json]

Nanoseconds of processor time: of a verified instruction, an interpreted one, an operation of a map, a run of the program.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from arch.abi.version import KernelVersion
from arch.memory import FlatMemory
from bench._rows import Row, report
from bpf.core.load import LoadAttr, prog_load
from bpf.isa.asm import assemble
from bpf.maps.base import MapAttr
from bpf.run.interpreter import Program, new_registers
from bpf.testing.host import TestHost
from bpf.verifier.api import VerifyRequest
from bpf.verifier.classic.verifier import verify

REPETITIONS = 3


def row(what: str, work: Callable[[], int]) -> Row:
    """`work` says how many operations it was."""
    samples = []
    for _ in range(REPETITIONS):
        start = time.process_time_ns()
        count = work()
        samples.append((time.process_time_ns() - start) / count)
    return Row(what, samples)


def many_paths() -> str:
    """A program with 2**15 paths that differ in what the stack holds: runs into the limit of 32,768 steps."""
    lines = ["r0 = 0"]
    for i in range(15):
        lines += ["r2 = *(u64 *)(r1 +0)", f"if r2 == 1 goto +1\n*(u64 *)(r10 -{8 * i + 8}) = r2"]
    return "\n".join([*lines, "exit"])


def classic_verifier(log_level: int) -> Callable[[], int]:
    insns = assemble(many_paths())

    def work() -> int:
        return verify(VerifyRequest(insns, 2, log_level=log_level, version=KernelVersion.parse("4.1"))).insn_processed

    return work


def interpreter(body: str, insns_per_turn: int, turns: int = 200_000) -> Callable[[], int]:
    mem = FlatMemory(size=1 << 16)
    top = mem.alloc(8192, 64) + 8192
    text = f"r0 = 0\nr1 = {turns}\nloop:\n{body}\nr1 -= 1\nif r1 != 0 goto loop\nexit"
    program = Program(assemble(text), mem, bind_call=lambda insn: lambda r: 0)

    def work() -> int:
        program.execute(new_registers(0, top))
        return turns * (insns_per_turn + 2)

    return work


def map_operations(kind: int, what: str, version: tuple[int, int]) -> Callable[[], int]:
    host = TestHost(version, memory_size=1 << 24)
    a_map = host.bpf.new_map(MapAttr(kind, 4, 8, 10_000))
    keys = [i.to_bytes(4, "little") for i in range(10_000)]
    value = bytes(8)
    for key in keys:
        a_map.update(key, value, 0)

    def look_up() -> int:
        for key in keys:
            a_map.lookup(key)
        return len(keys)

    def update() -> int:
        for key in keys:
            a_map.update(key, value, 0)
        return len(keys)

    def walk() -> int:
        key = None
        for _ in keys:
            key = a_map.next_key(key)
        return len(keys)

    return {"look up": look_up, "update": update, "walk": walk}[what]


COUNTER = """
    *(u64 *)(r10 -8) = 5
    r2 = r10
    r2 += -8
    r1 = map[counts]
    call 1
    if r0 == 0 goto out
    r1 = 1
    lock *(u64 *)(r0 +0) += r1
out:
    r0 = 0
    exit
"""


def probe(version: KernelVersion) -> Callable[[], int]:
    """A kprobe program that counts in a hash map."""
    host = TestHost(version)
    counts = host.bpf.new_map(MapAttr(1, 8, 8, 16))
    counts.get_user()
    host.bpf.publish_map(counts)
    counts.update((5).to_bytes(8, "little"), bytes(8), 0)
    fd = host.fd_install(counts, "bpf-map")
    kern_version = version.code
    attr = LoadAttr(2, assemble(COUNTER, {"counts": fd}), license="GPL", kern_version=kern_version)
    _, prog = prog_load(host.bpf, attr)
    assert prog is not None
    run = prog.run

    def work() -> int:
        for _ in range(20_000):
            run(0)
        return 20_000

    return work


def main() -> None:
    rows = [
        row("an instruction in the classic verifier (4.1)", classic_verifier(0)),
        row("... with its log", classic_verifier(1)),
        row("an interpreted instruction of arithmetic", interpreter("r0 += r1\nr2 = r0\nw3 = w2\nr2 ^= 5", 4)),
        row("... of the stack", interpreter("*(u64 *)(r10 -8) = r1\nr2 = *(u64 *)(r10 -8)", 2)),
    ]
    for version in (KernelVersion.parse("4.1"), KernelVersion.parse("6.1")):
        label = str(version)
        for kind, name in ((2, "array"), (1, "hash")):
            for what in ("look up", "update", "walk"):
                rows.append(row(f"{name} map of {label}, from Python: {what}", map_operations(kind, what, version)))
        rows.append(row(f"a run of a program that counts, {label}", probe(version)))
    report(rows)


if __name__ == "__main__":
    main()
