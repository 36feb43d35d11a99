"""Never run what is not safe: random programs, and every accepted one is run with all checks on.

    python tests/bpf/soundness.py [--programs 20000] [--seed 1] [--version 6.1]

Half of the programs are mutations of the recorded cases: fields changed, instructions moved, copied and dropped, two programs
spliced.  The others call helpers and read contexts, over all types of programs: networking, cgroup and tracing ones
(tests/oracle/helper_programs.py).  An accepted program runs on random packets, contexts and map values, if its type has test runs; a load
or store outside what is its own, a register read before it was written, or an endless run is a violation, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from contextlib import suppress
from pathlib import Path

from arch.abi.version import KernelVersion
from arch.errors import KernelError
from bpf.isa.insn import Insn, decode, encode, signed16, signed32
from bpf.run.interpreter import BpfFault, BudgetExceeded
from bpf.testing.case_files import read_cases
from bpf.testing.cases import MAPS_FILE, CaseMachine, Options
from bpf.testing.checked import CheckedProgram, Violation

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracle.helper_programs import MAPS, helper_calls

DATA = Path(__file__).parents[1] / "data"
RUNS = 3
PROG_TYPES = (1, 3, 4, 6, 8, 10, 11, 12, 19)  # sockets, tc, XDP, cgroup skb, lwt: they have test runs on packets
RAW_TRACEPOINT, SYSCALL, SK_LOOKUP = 17, 31, 30
CONSTANTS = (0, 1, -1, 2, 4, 8, 7, 15, 31, 32, 63, 64, 255, 256, 1 << 31, -(1 << 31), 0x7FFFFFFF, -8, -16, -512, 48, 22)


def seeds(rng: random.Random) -> list[dict]:
    """The recorded cases that can be mutated."""
    rows = [
        row for name in ("verifier_6_1_given.json.gz", "fuzz_6_1_given.json.gz") for row in read_cases(DATA / name).rows
    ]
    usable = [row for row in rows if row["prog_type"] in PROG_TYPES and not row.get("kfuncs") and not row.get("attach")]
    rng.shuffle(usable)
    return usable


def change(rng: random.Random, insns: list[Insn], fixed: set[int]) -> None:
    """One change of one instruction, in place; loads of maps stay as they are."""
    free = [i for i in range(len(insns)) if i not in fixed and i - 1 not in fixed]
    if not free:
        return
    i = rng.choice(free)
    insn = insns[i]
    kind = rng.randrange(8)
    if kind == 0:
        insn = insn.replace(imm=signed32(rng.choice(CONSTANTS)))
    elif kind == 1:
        insn = insn.replace(off=signed16(insn.off + rng.choice((-8, -4, -2, -1, 1, 2, 4, 8))))
    elif kind == 2:
        insn = insn.replace(dst_reg=rng.randrange(11))
    elif kind == 3:
        insn = insn.replace(src_reg=rng.randrange(11))
    elif kind == 4:
        insn = insn.replace(code=insn.code ^ rng.choice((0x08, 0x10, 0x20, 0x40, 0x80, 0x03, 0x01)))
    elif kind == 5:
        insn = insns[rng.choice(free)]
    elif kind == 6:
        insn = insn.replace(imm=signed32(insn.imm + rng.choice((-1, 1, 8, -8))))
    else:
        operation = rng.choice((0x07, 0x0F, 0x17, 0x1F, 0x57, 0x67, 0x77, 0xBF, 0xBC, 0x54, 0xC7, 0x04, 0x0C))
        source = rng.randrange(11) if operation & 8 else 0
        insn = Insn(operation, rng.randrange(10), source, 0, 0 if operation & 8 else rng.choice((0, 1, 3, 4, 8, 31)))
    insns[i] = insn


def mutate(rng: random.Random, pool: list[dict]) -> dict:
    """A new case."""
    row = dict(rng.choice(pool))
    insns = decode(bytes.fromhex(row["insns"]))
    maps = {name: list(places) for name, places in row.get("maps", {}).items()}
    fixed = {i for places in maps.values() for i in places}
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        change(rng, insns, fixed)
    row["insns"], row["maps"] = encode(insns).hex(), maps
    row.pop("answer", None)
    return row


class Suspect(CaseMachine):
    """A machine whose programs run checked, on random data."""

    def __init__(self, row, options, definitions, rng):
        super().__init__(row, options, definitions)
        self.bpf.prog_class = CheckedProgram
        self.rng = rng

    def _runs(self, prog):
        from bpf.syscall.test_run import test_run

        self.accepted = True
        for _ in range(RUNS):
            for target in prog.used_maps:
                self._scramble(target)
            with suppress(KernelError):
                test_run(self.bpf, prog, self._request(prog.type))
        return []

    def _request(self, prog_type):
        """Random bytes where the type has them."""
        from bpf.syscall.test_request import TestRequest

        data = self.rng.randbytes(64)
        if prog_type in (RAW_TRACEPOINT, SYSCALL):
            return TestRequest(ctx_in=data)
        if prog_type == SK_LOOKUP:
            family = self.rng.choice((2, 10)).to_bytes(4, "little")
            return TestRequest(ctx_in=bytes(8) + family + data[:4] + bytes(48))
        return TestRequest.of(bytes(14) + data[14:], b"", 1)

    def _scramble(self, target):
        """Other values, where a value is only data."""
        with suppress(KernelError):
            if not target.special and not target.holds_fds and target.value_size <= 64:
                value = bytes(self.rng.choice((0, 1, 0x7F, 0x80, 0xFF)) for _ in range(target.user_value_size))
                target.user_update(bytes(target.key_size), value, 0)


def check(row, options, definitions, rng):
    """(accepted, what went wrong)."""
    suspect = Suspect(row, options, definitions, rng)
    suspect.accepted = False
    try:
        suspect.answer(0)
    except (Violation, BpfFault, BudgetExceeded) as wrong:
        return True, f"{type(wrong).__name__}: {wrong}"
    return suspect.accepted, None


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--version", default="6.1", help="whose rules: 5.10, 6.1, 6.12, 7.2")
    parser.add_argument("--out", type=Path, help="write the violating programs as cases")
    args = parser.parse_args(arguments)
    rng = random.Random(args.seed)
    pool, definitions = seeds(rng), json.loads(MAPS_FILE.read_text())["maps"]
    version = KernelVersion.parse(args.version)
    options = Options(version, run=True)
    definitions |= MAPS
    accepted, bad, start = 0, [], time.monotonic()
    for number in range(args.programs):
        row = {**(mutate(rng, pool) if number % 2 else helper_calls(rng, version)), "id": number}
        good, wrong = check(row, options, definitions, rng)
        accepted += good
        if wrong:
            bad.append({**row, "wrong": wrong})
            print(f"program {number}: {wrong}", file=sys.stderr)
    seconds = time.monotonic() - start
    print(f"{args.programs} programs, {accepted} accepted and run, {len(bad)} violations, {seconds:.0f} s")
    if args.out and bad:
        args.out.write_text(json.dumps(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
