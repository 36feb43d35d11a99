"""A program gives the same whether Python or machine code runs it: random programs that the verifier accepts, run by both.

    python tests/bpf/two_tiers.py [--programs 20000] [--seed 1] [--arch s390x] [--version 6.1]

The programs are those of soundness.py: mutations of recorded cases that a real kernel accepted, and calls of helpers over all types of
programs.  Each goes through the verifier of a version and of a CPU's machine, taken in turn, until so many were accepted and run: three
times, on random packets, contexts and map values, on a machine for each tier.  All that can be seen is compared: answers of the runs, all 64
bits of R0, elements of maps, records and lines that were written, signals, who was woken, the clock, errors, and the memory that is in use,
byte for byte.  Exit status 1 after a difference.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from arch.abi.version import KernelVersion
from arch.errors import KernelError
from arch.native.handler import Tier
from bpf import uapi
from bpf.core.program import STACK_BYTES, BpfProg
from bpf.run.compiled import JitProgram
from bpf.run.interpreter import BpfFault, BudgetExceeded
from bpf.syscall.test_run import test_run
from bpf.testing.cases import MAPS_FILE, CaseMachine, Options
from bpf.testing.host import TestHost
from tests.bpf.soundness import RUNS, Suspect, mutate, seeds
from tests.oracle.helper_programs import MAPS, helper_calls

ARCHS = ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
VERSIONS = ("6.1", "5.10", "6.12", "7.2")
NOT_ACCEPTED, INTERPRETED, COMPILED = "not accepted", "interpreted by both", "compiled"
# Types without test runs whose context the program reads as it stands: here, random bytes.
PLAIN_CONTEXT = (uapi.BPF_PROG_TYPE_KPROBE, uapi.BPF_PROG_TYPE_TRACEPOINT, uapi.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE)
CONTEXT_BYTES = 512


class Told(Suspect):
    """A machine of one tier that tells what its program did."""

    def __init__(self, row: dict, options: Options, definitions: dict, seed: str, tier: Tier) -> None:
        CaseMachine.__init__(self, row, options, definitions)
        self.rng = random.Random(seed)
        self.bpf.tier = tier
        self.seen: dict[str, Any] = {"ends": [], "r0": []}
        self.became = NOT_ACCEPTED

    def _runs(self, prog: BpfProg) -> list[list[int | None]]:
        made, host = prog.run64, self.host

        def run64(*args: int) -> int:
            self.seen["r0"].append(made(*args))
            return int(self.seen["r0"][-1])

        prog.run64 = run64  # type: ignore[method-assign]
        for _ in range(RUNS):
            for target in prog.used_maps:
                self._scramble(target)
            try:
                self.seen["ends"].append(self._once(prog))
            except (KernelError, BpfFault, BudgetExceeded) as error:
                self.seen["ends"].append(f"{type(error).__name__}: {error}")
        native = isinstance(prog.program, JitProgram) and bool(prog.program.code)
        self.became = COMPILED if native else INTERPRETED
        self.seen |= {
            "maps": [elements(target) for target in prog.used_maps],
            "runs": (prog.run_cnt, prog.recursion_misses),
            "time": host.time_ns,
            "printed": host.printed,
            "samples": [data for _, data in host.perf_samples],
            "signals": host.signals,
            "woken": len(host.woken),
            "memory": in_use(host),
        }
        return []

    def _once(self, prog: BpfProg) -> str:
        """One run, and what a caller gets."""
        if prog.type not in PLAIN_CONTEXT:
            return repr(test_run(self.bpf, prog, self._request(prog.type)))
        mem = self.host.mem
        at = mem.alloc(CONTEXT_BYTES)
        try:
            mem.write(at, self.rng.randbytes(CONTEXT_BYTES))
            return f"{prog.run(at)} {mem.read(at, CONTEXT_BYTES).hex()}"
        finally:
            mem.free(at)


def in_use(host: TestHost) -> str:
    """All of memory in a word, but what was borrowed and given back, stacks of no program, and where Python lays keys for native functions."""
    mem = host.mem
    data = bytearray(mem.data)
    places = [(at, size) for size, free in mem._free.items() for at in free]
    places += [(top - STACK_BYTES, STACK_BYTES) for top in host.bpf.idle_stacks]
    for target in host.bpf.map_at.values():
        places += zip(target.command_scratch, (target.key_size, target.value_size), strict=True)
    for at, size in places:
        if at:
            data[at - mem.base : at - mem.base + size] = bytes(size)
    return hashlib.sha256(data).hexdigest()


def elements(target: Any) -> Any:
    """Keys and values as user space reads them, in their order; or why it cannot."""
    found, key = [], None
    try:
        while len(found) < 64:
            key = target.next_key(key)
            found.append((key, target.user_lookup(key, 0)))
    except (KernelError, NotImplementedError) as error:
        found.append(str(error))
    return found


def compare(row: dict, options: Options, definitions: dict, seed: str) -> tuple[str, str]:
    """(how the program ran, what differs between the tiers)."""
    python = Told(row, options, definitions, seed, Tier.PYTHON)
    answer = python.answer(0)
    if python.became == NOT_ACCEPTED:
        return NOT_ACCEPTED, ""
    native = Told(row, options, definitions, seed, Tier.NATIVE)
    both = python.seen | {"answer": answer}, native.seen | {"answer": native.answer(0)}
    return native.became, ", ".join(
        name for name in both[0] if both[0][name] != native.seen.get(name, both[1].get(name))
    )


def made(seed: int, number: int, pool: list[dict], only: argparse.Namespace) -> tuple[dict, Options]:
    """Program `number` of a seed, and for whom it is."""
    rng = random.Random(f"{seed} {number}")
    arch = only.arch or ARCHS[number // 2 % len(ARCHS)]
    version = KernelVersion.parse(only.version or rng.choice(VERSIONS))
    row = mutate(rng, pool) if number % 2 else helper_calls(rng, version)
    return {**row, "id": number}, Options(version, run=True, arch=arch)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=int, default=20_000, help="that are accepted and run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--arch", choices=ARCHS, help="of this machine only")
    parser.add_argument("--version", choices=VERSIONS, help="of this version only")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no longer than so")
    args = parser.parse_args(arguments)
    definitions = json.loads(MAPS_FILE.read_text())["maps"] | MAPS
    pool = [row for row in seeds(random.Random(args.seed)) if not row["answer"]["ret"]]
    became: Counter[str] = Counter()
    bad, number, start = 0, args.first, time.monotonic()
    while became.total() - became[NOT_ACCEPTED] < args.programs and time.monotonic() - start < args.seconds:
        row, options = made(args.seed, number, pool, args)
        how, differ = compare(row, options, definitions, f"{args.seed} {number}")
        became[f"{how}, {options.arch}" if how == COMPILED else how] += 1
        if differ:
            bad += 1
            print(
                f"--seed {args.seed} --first {number} --programs 1: {differ} on {options.arch} {options.version}",
                flush=True,
            )
        number += 1
    ran = became.total() - became[NOT_ACCEPTED]
    print(f"{ran} programs ran, {bad} differ, {time.monotonic() - start:.0f} s; {dict(became.most_common())}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
