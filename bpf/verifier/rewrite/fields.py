"""One access of a context field, and the usual ways to serve it: the member itself, a member behind a pointer.

A row makes the instructions for one field, from the layout of the kernel the program is loaded into.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.records import dataclass
from bpf.isa.insn import BPF_JEQ, BPF_LSH, Insn
from bpf.layout import KernelLayout
from bpf.verifier.rewrite.emit import (
    alu32_imm,
    jmp_imm,
    ldx,
    stx,
)


@dataclass(frozen=True, slots=True)
class Use:
    """One load or store of a context field."""

    write: bool
    dst: int
    src: int
    off: int  # of the (widened) access in the context
    size: int  # bytes
    kernel: KernelLayout
    at: int = 0  # bytes from the start of the field
    tstamp_type_access: bool = False  # the program also reads __sk_buff.tstamp_type


Made = tuple[list[Insn], int]  # the instructions, and how many bytes of the field they really access (0: all asked for)
Row = Callable[[Use], Made]


def temp(use: Use) -> int:
    """A register that is neither operand: R9, R8 or R7."""
    reg = 9
    for _ in range(2):
        if reg in (use.src, use.dst):
            reg -= 1
    return reg


def follow(use: Use, pointer: str) -> Insn:
    """dst = the pointer member of what src points to"""
    off, size, *_ = use.kernel.place(pointer)
    return ldx(size, use.dst, use.src, off)


def field(path: str, target: bool = True) -> Row:
    """The member itself."""

    def row(use: Use) -> Made:
        off, size, *_ = use.kernel.place(path)
        return [(stx if use.write else ldx)(size, use.dst, use.src, off)], size if target else 0

    return row


def sized(path: str, target: int = 0) -> Row:
    """The member, as many bytes of it as the program asks for."""

    def row(use: Use) -> Made:
        at = use.kernel.offset(path) + use.at
        return [(stx if use.write else ldx)(use.size, use.dst, use.src, at)], target

    return row


def through(pointer: str, path: str, *, null_ok: bool = False, target: bool = True, port: bool = False) -> Row:
    """A member of what a pointer member points to; with `null_ok`, 0 if it points to nothing.

    A port is shown in the bytes where a word in the order of the network has it.
    """

    def row(use: Use) -> Made:
        off, size, *_ = use.kernel.place(path)
        insns = [follow(use, pointer)]
        if null_ok:
            insns.append(jmp_imm(BPF_JEQ, use.dst, 0, 1))
        insns.append(ldx(size, use.dst, use.dst, off))
        if port and use.kernel.byteorder == "little":
            insns.append(alu32_imm(BPF_LSH, use.dst, 16))
        return insns, size if target else 0

    return row


def words_through(pointer: str, path: str, null_ok: bool = False, target: int = 0) -> Row:
    """One of the four words of an IPv6 address behind a pointer."""

    def row(use: Use) -> Made:
        insns = [follow(use, pointer)]
        if null_ok:
            insns.append(jmp_imm(BPF_JEQ, use.dst, 0, 1))
        return [*insns, ldx(4, use.dst, use.dst, use.kernel.offset(path) + use.at)], target

    return row
