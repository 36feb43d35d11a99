"""How many instructions a second the modern verifier walks, and how much memory a million of them take.

Run: python -m bench.verifier_steps.  Targets: 50,000 a second; the largest programs within a minute and 1 GiB.
"""

from __future__ import annotations

import resource
import time

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


PROGRAMS = {
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


def main() -> None:
    for name, make in PROGRAMS.items():
        insns = list(make())
        for level in (0, 1):
            request = VerifyRequest(insns, uapi.BPF_PROG_TYPE_SCHED_CLS, log_level=level, log_size=None)
            start = time.process_time()
            verdict = verify(request)
            seconds = time.process_time() - start
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            print(
                f"{name:28} level {level}: {verdict.insn_processed:9,} instructions, {seconds:5.1f} s, "
                f"{verdict.insn_processed / seconds:9,.0f}/s, peak {peak} MiB, answer {verdict.ret}"
            )


if __name__ == "__main__":
    main()
