"""Random BPF programs for asking real kernels and comparing: each function takes a `random.Random` and returns a case.

A case is a row of the 6.1 format without an answer (bpf/testing/case_files.py).  Programs are written as text and
assembled, so that what a real kernel was asked can be read.

    python tests/oracle/programs.py new_instructions 100 --seed 7 >CASES.json
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bpf.isa.asm import assemble
from bpf.isa.insn import encode

Row = dict[str, Any]
SOCKET_FILTER, SCHED_CLS = 1, 3
NUMBERS = (
    0,
    1,
    2,
    7,
    8,
    31,
    63,
    127,
    128,
    255,
    256,
    32767,
    32768,
    0x7FFFFFFF,
    -1,
    -2,
    -8,
    -128,
    -129,
    -32769,
    -(1 << 31),
)


def case(lines: list[str], prog_type: int, maps: dict[str, list[int]] | None = None, **more: Any) -> Row:
    """The row of a program text; `MAP name` lines load the address of one of the suite's maps into the register named."""
    found: dict[str, list[int]] = {}
    position, text = 0, []
    for line in lines:
        words = line.split()
        if words[0] == "MAP":
            found.setdefault(words[2], []).append(position)
            line = f"{words[1]} = map[0]"
            position += 1
        if not line.endswith(":"):
            position += 1
            text.append(line)
        else:
            text.append(line)
    row: Row = {"prog_type": prog_type, "insns": encode(assemble("\n".join(text))).hex(), **more}
    if maps or found:
        row["maps"] = maps or found
    return row


def _value_of_map(rng: random.Random) -> list[str]:
    """r7 = some number nobody knows, from the map's value; r6 points to the value."""
    size = rng.choice(("u8", "u16", "u32", "u64"))
    return [
        "*(u64 *)(r10 -8) = 0",
        "r2 = r10",
        "r2 += -8",
        "MAP r1 fixup_map_array_48b",
        "call 1",
        "if r0 != 0 goto pc+1",
        "exit",
        "r6 = r0",
        f"r7 = *({size} *)(r6 +0)",
    ]


def _new_insn(rng: random.Random, left: int) -> list[str]:
    """One instruction of those since 6.6, or an old one beside them."""
    regs = (0, 1, 2, 3, 7, 8, 9)
    a, b = rng.choice(regs), rng.choice(regs)
    w = rng.choice("rw")
    number = rng.choice(NUMBERS)
    bits = rng.choice((8, 16, 32) if w == "r" else (8, 16))
    slot = rng.choice((-16, -24, -32))
    size = rng.choice(("8", "16", "32"))
    narrow = rng.choice(("8", "16", "32", "64"))
    kinds: list[list[str]] = [
        [f"{w}{a} = (s{bits}){w}{b}"],
        [f"{w}{a} = (s{bits}){w}{b}", f"{w}{b} = {w}{a}"],
        [f"r{a} = *(s{size} *)(r10 {slot:+d})"],
        [f"*(u64 *)(r10 {slot:+d}) = r{b}", f"r{a} = *(s{size} *)(r10 {slot:+d})"],
        [f"*(u{size} *)(r10 {slot:+d}) = {number}", f"r{a} = *(s{size} *)(r10 {slot:+d})"],
        [f"r{a} = *(s{size} *)(r6 +{rng.choice((0, 8, 16, 40, 46))})"],
        [f"r{a} = bswap{rng.choice((16, 32, 64))} r{a}"],
        [f"r{a} = {rng.choice(('be', 'le'))}{rng.choice((16, 32, 64))} r{a}"],
        [f"{w}{a} s/= {w}{b}"],
        [f"{w}{a} s%= {w}{b}"],
        [f"{w}{a} s/= {number}"],
        [f"{w}{a} s%= {number}"],
        [f"{w}{a} /= {number}"],
        [f"{w}{a} %= {w}{b}"],
        [f"{w}{a} = -{w}{a}"],
        [f"{w}{a} {rng.choice(('+=', '-=', '&=', '|=', '^=', '*='))} {number}"],
        [f"{w}{a} {rng.choice(('+=', '-=', '&=', '|=', '^=', '*=', '='))} {w}{b}"],
        [f"{w}{a} {rng.choice(('<<=', '>>=', 's>>='))} {rng.choice((0, 1, 7, 8, 16, 31))}"],
        [f"r{a} = load_acquire((u{narrow} *)(r10 {slot:+d}))"],
        [f"store_release((u{narrow} *)(r10 {slot:+d}), r{a})"],
        [f"store_release((u{narrow} *)(r6 +8), r{a})"],
        [f"r{a} = {number}"],
    ]
    if left > 2:
        jump = rng.choice(("==", "!=", ">", ">=", "<", "<=", "s>", "s>=", "s<", "s<=", "&"))
        off = rng.randint(1, min(left - 1, 5))
        operand = f"{w}{b}" if rng.random() < 0.4 else str(number)
        kinds += [[f"if {w}{a} {jump} {operand} goto pc+{off}"]] * 4
        kinds += [[f"gotol pc+{rng.randint(1, min(left - 1, 2))}"], [f"may_goto pc+{off}"]]
    return rng.choice(kinds)


def new_instructions(rng: random.Random) -> Row:
    """Numbers and the instructions since 6.6, some of them used to reach into a map's value."""
    lines = _value_of_map(rng)
    lines += [f"r{r} = {rng.choice(NUMBERS)}" for r in (0, 1, 2, 3, 8, 9)]
    lines += [f"*(u64 *)(r10 {slot:+d}) = {rng.choice(NUMBERS)}" for slot in (-16, -24, -32)]
    length = rng.randint(3, 14)
    body: list[str] = []
    while len(body) < length:
        body += _new_insn(rng, length - len(body))
    lines += body
    lines += ["r1 = 0"] * 5  # jumps end here
    if rng.random() < 0.5:
        limit = rng.choice((8, 40, 47, 48, 64))
        lines += [f"if r7 {rng.choice(('>', 's>', '>='))} {limit} goto pc+4", "if r7 s< 0 goto pc+3", "r6 += r7"]
        lines += ["r0 = *(u8 *)(r6 +0)", "r0 = 0"]
    elif rng.random() < 0.3:
        lines += ["if r7 == 0 goto pc+1", "r0 = r7"]
    lines.append("exit")
    return case(lines, SOCKET_FILTER, runs=[{"data": bytes(64).hex()}])


KINDS = {"new_instructions": new_instructions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    json.dump([{"id": number, **KINDS[args.kind](rng)} for number in range(args.count)], sys.stdout)


if __name__ == "__main__":
    main()
