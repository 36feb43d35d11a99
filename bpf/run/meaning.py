"""What each operation means, as text over x (the destination), y (the operand): one row each.

bpf/run/interpreter.py puts rows together into Python functions.
"""

from __future__ import annotations

from bpf.isa.insn import (
    BPF_ADD,
    BPF_AND,
    BPF_ARSH,
    BPF_DIV,
    BPF_JEQ,
    BPF_JGE,
    BPF_JGT,
    BPF_JLE,
    BPF_JLT,
    BPF_JNE,
    BPF_JSET,
    BPF_JSGE,
    BPF_JSGT,
    BPF_JSLE,
    BPF_JSLT,
    BPF_LSH,
    BPF_MOD,
    BPF_MOV,
    BPF_MUL,
    BPF_NEG,
    BPF_OR,
    BPF_RSH,
    BPF_SUB,
    BPF_XOR,
)

# x is the destination's value, y the operand; 64 bits.  The 32-bit form is the same on the low halves.
ALU_MEANING = {
    BPF_ADD: "(x + y) & M",
    BPF_SUB: "(x - y) & M",
    BPF_MUL: "(x * y) & M",
    BPF_DIV: "x // y if y else 0",
    BPF_OR: "x | y",
    BPF_AND: "x & y",
    BPF_LSH: "(x << (y & W)) & M",
    BPF_RSH: "x >> (y & W)",
    BPF_NEG: "-x & M",
    BPF_MOD: "x % y if y else x",
    BPF_XOR: "x ^ y",
    BPF_MOV: "y",
    BPF_ARSH: "(((x ^ S) - S) >> (y & W)) & M",
}

# The same with off == 1: signed, towards zero; the rest has the dividend's sign.
SIGNED_MEANING = {
    BPF_DIV: "sdiv( x , y , S ) & M",
    BPF_MOD: "smod( x , y , S ) & M",
}

# Signed comparison: flipping the sign bits makes it an unsigned one.
JMP_MEANING = {
    BPF_JEQ: "x == y",
    BPF_JGT: "x > y",
    BPF_JGE: "x >= y",
    BPF_JSET: "x & y",
    BPF_JNE: "x != y",
    BPF_JSGT: "(x ^ S) > (y ^ S)",
    BPF_JSGE: "(x ^ S) >= (y ^ S)",
    BPF_JLT: "x < y",
    BPF_JLE: "x <= y",
    BPF_JSLT: "(x ^ S) < (y ^ S)",
    BPF_JSLE: "(x ^ S) <= (y ^ S)",
}

ATOMIC_MEANING = {BPF_ADD: "old + y", BPF_OR: "old | y", BPF_AND: "old & y", BPF_XOR: "old ^ y"}
CLASSIC_JUMPS = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET, BPF_JNE, BPF_JSGT, BPF_JSGE}


def signed(x: int, sign: int) -> int:
    """A number of as many bits as `sign` has as a signed one."""
    return (x ^ sign) - sign


def sdiv(x: int, y: int, sign: int) -> int:
    """Towards zero; by zero it is 0."""
    if not y:
        return 0
    a, b = signed(x, sign), signed(y, sign)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def smod(x: int, y: int, sign: int) -> int:
    """What sdiv() leaves; by zero all of it."""
    return signed(x, sign) - sdiv(x, y, sign) * signed(y, sign) if y else x


def expand(meaning: str, x: str, y: str, wide: bool) -> str:
    """The row for these operands; 32-bit operands are cut, and masks and sign bits are those of 32 bits."""
    names = {"x": x, "y": y, "M": "M", "S": "S", "W": "63"}
    if not wide:
        names = {"x": f"({x} & M32)", "y": y, "M": "M32", "S": "S32", "W": "31"}
    out = []
    for word in meaning.replace("(", " ( ").replace(")", " ) ").replace("-x", "- x").split():
        out.append(names.get(word, word))
    return " ".join(out)


def sign_extended(value: str, bits: int) -> str:
    """The low bits of a number, the highest of them its sign."""
    sign = 1 << bits - 1
    return f"((({value} & {(1 << bits) - 1}) ^ {sign}) - {sign})"


class CpuException(Exception):
    """The instruction makes the CPU trap: in Linux 4.1 a 32-bit division whose divisor's low half only is 0."""
