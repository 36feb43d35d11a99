"""What an instruction costs the modern verifier, by itself and as other kernels have it, and how much memory a million of them take.

    python -m bench.verifier_steps [--json]

Nanoseconds of processor time, and MiB.  Rows of another kernel have the usual one's rules as peer, in the same rounds; a kernel's
rules may walk more or fewer steps of a program, so it is the step that is compared.  The other peer is the same verifier as machine code (SIMKERNEL_COMPILED=1, hatch_build.py):
SIMKERNEL_BENCH_COMPILED is a Python that has it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import time
from collections.abc import Callable
from functools import partial

from arch.abi.version import KernelVersion
from bench._rows import ROOT, Row, report, rounds
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.isa.insn import Insn
from bpf.verifier.api import VerifyRequest
from bpf.verifier.modern import verify

JUMPS = 8192


def straight(length: int) -> list[Insn]:
    """8,192 conditional jumps, spills into every stack slot, then moves up to a million instructions."""
    insns = list(assemble("r6 = r1"))
    for number in range(1, JUMPS + 1):
        slot = -8 * (number % 64 + 1)
        insns += assemble(f"call 7\nif r0 == {number % 97} goto +2\nr1 = r10\n*(u64 *)(r1 {slot:+d}) = r6")
    move, end = assemble("r0 = 42"), assemble("exit")
    return insns + list(move) * (length - len(insns) - 1) + list(end)


PROGRAMS: dict[str, Callable[[], list[Insn]]] = {
    "straight, 8,192 jumps": lambda: straight(1_000_000 - 4 * JUMPS),
    "loop of 250,000 turns": lambda: assemble(
        "r0 = 0\nr1 = 0\nr1 += 1\nr2 = r1\nr2 &= 7\nif r1 < 250000 goto -4\nexit"
    ),
    "endless loop, to the limit": lambda: assemble("r0 = 0\nr1 = 0\nr1 += 1\nif r1 < 2000000 goto -2\nexit"),
    "unknown values, many paths": lambda: assemble(
        "r7 = 0\nr8 = 0\ncall 7\nif r0 > 100 goto +1\nr7 += 1\ncall 7\nif r0 == 5 goto +1\nr7 += 2\n"
        "r7 &= 255\nr8 += 1\nif r8 < 30000 goto -9\nr0 = 0\nexit"
    ),
}


SHORT = """r6 = r1
r7 = *(u32 *)(r6 +0)
r8 = 4
r7 &= 7
r8 += r7
*(u64 *)(r10 -8) = r8
r2 = r10
r2 += -8
r9 = *(u64 *)(r2 +0)
if r9 > 9 goto +2
r9 <<= 1
r7 = r9
r0 = r7
r0 += r8
r0 &= 1
exit"""
USUAL, OTHERS = "6.1", ("5.10", "6.12", "7.2")
BY_KERNEL: dict[str, tuple[Callable[[], list[Insn]], int]] = {  # name: (program, how often)
    "loop of 50,000 turns": (lambda: assemble("r0 = 0\nr1 = 0\nr1 += 1\nr2 = r1\nr2 &= 7\nif r1 < 50000 goto -4\nexit"), 1),
    "unknown values, many paths": (PROGRAMS["unknown values, many paths"], 2),
    "16 instructions": (lambda: assemble(SHORT), 300),
}  # fmt: skip


def step_ns(insns: list[Insn], kernel: str, times: int) -> float:
    """What a step of a program takes with the rules of a kernel."""
    request = VerifyRequest(insns, uapi.BPF_PROG_TYPE_SCHED_CLS, log_size=None, version=KernelVersion.parse(kernel))
    start = time.process_time_ns()
    steps = sum(verify(request).insn_processed for _ in range(times))
    return (time.process_time_ns() - start) / steps


def by_kernel() -> list[Row]:
    """The rows of other kernels' rules beside the usual ones'."""
    rows = []
    for name, (make, times) in BY_KERNEL.items():
        insns = list(make())
        kernels = (USUAL, *OTHERS)
        usual, *others = rounds(3, *(partial(step_ns, insns, kernel, times) for kernel in kernels))
        rows += [
            Row(f"{name}, rules of {kernel}", own, peers={f"{USUAL}'s": usual}) for kernel, own in zip(OTHERS, others)
        ]
    return rows


def compiled() -> dict[str, list[float]]:
    """The rows of a Python that has the verifier as machine code; nothing where there is none."""
    python = os.environ.get("SIMKERNEL_BENCH_COMPILED")
    if not python:
        return {}
    source = (
        f"import sys; sys.path.append({str(ROOT)!r}); import runpy; runpy.run_path({__file__!r}, run_name='__main__')"
    )
    environment = {name: value for name, value in os.environ.items() if name != "SIMKERNEL_BENCH_COMPILED"}
    command = [python, "-I", "-c", source, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd="/", env=environment)
    return {row["name"]: row["samples"] for row in json.loads(done.stdout)}


def main() -> None:
    """Print the rows."""
    peers = compiled()
    rows = []
    for name, make in PROGRAMS.items():
        insns = list(make())
        for level in (0, 1):
            request = VerifyRequest(insns, uapi.BPF_PROG_TYPE_SCHED_CLS, log_level=level, log_size=None)
            start = time.process_time_ns()
            verdict = verify(request)
            took = (time.process_time_ns() - start) / verdict.insn_processed
            rows.append(Row(f"{name}, log level {level}", [took]))
    rows += by_kernel()
    rows.append(Row("most memory of all", [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024], "MiB"))
    for row in rows:
        if row.name in peers:
            row.peers["machine code"] = peers[row.name]
    report(rows)


if __name__ == "__main__":
    main()
