"""Fields of instructions that have to be zero, checked before any path is walked since 7.1.

check_insn_fields() of kernel/bpf/verifier.c, Linux 7.2; before, the walk checks what it comes to.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EINVAL
from bpf.isa.insn import (
    BPF_ABS,
    BPF_ADDR_SPACE_CAST,
    BPF_ALU,
    BPF_ALU64,
    BPF_ATOMIC,
    BPF_CALL,
    BPF_DIV,
    BPF_DW,
    BPF_END,
    BPF_EXIT,
    BPF_IMM,
    BPF_IND,
    BPF_JA,
    BPF_JCOND,
    BPF_JMP,
    BPF_JMP32,
    BPF_LD,
    BPF_LDX,
    BPF_MAY_GOTO,
    BPF_MEM,
    BPF_MEMSX,
    BPF_MOD,
    BPF_MOV,
    BPF_NEG,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_ST,
    BPF_STX,
    BPF_X,
    Insn,
)
from bpf.verifier.env import Env


def _reserved(class_: int, from_reg: bool) -> tuple[int, int, int]:
    """Masks of source register, offset and number: where nothing of an instruction is under them, it is as most are."""
    if class_ in (BPF_ALU, BPF_ALU64):
        return (0, -1, -1) if from_reg else (-1, -1, 0)
    return (0, 0, -1) if class_ in (BPF_LDX, BPF_STX) or (class_ != BPF_ST and from_reg) else (-1, 0, 0)


def _is_usual(insn: Insn) -> bool:
    """Its opcode has no words or rules of its own."""
    if insn.cls in (BPF_ALU, BPF_ALU64):
        return insn.op not in (BPF_NEG, BPF_END)
    if insn.cls in (BPF_JMP, BPF_JMP32):
        return insn.op not in (BPF_CALL, BPF_JCOND, BPF_JA, BPF_EXIT)
    return insn.cls in (BPF_LDX, BPF_STX, BPF_ST) and insn.mode == BPF_MEM


# Most instructions are usual ones; the others are looked at one by one.
_USUAL: Final = tuple(
    _reserved(insn.cls, insn.src_kind == BPF_X) if _is_usual(insn) else None for insn in map(Insn, range(256))
)


def check_fields(env: Env, insn: Insn) -> None:
    """EINVAL, and the name of the instruction whose reserved fields are used."""
    masks = _USUAL[insn.code]
    if masks is not None and not (insn.src_reg & masks[0] | insn.off & masks[1] | insn.imm & masks[2]):
        return
    text = _strange(insn)
    if text:
        env.reject(EINVAL, text)
    name = _misused(insn)
    if name:
        env.reject(EINVAL, f"{name} uses reserved fields")


def _strange(insn: Insn) -> str:
    """What is wrong with an instruction that has words of its own."""
    if insn.op == BPF_JCOND and insn.cls in (BPF_JMP, BPF_JMP32):
        wrong = insn.code != BPF_JMP | BPF_JCOND or insn.src_reg != BPF_MAY_GOTO or insn.dst_reg or insn.imm
        return f"invalid may_goto imm {insn.imm}" if wrong else ""
    if insn.code == BPF_ALU64 | BPF_MOV | BPF_X and insn.off == BPF_ADDR_SPACE_CAST and insn.imm not in (1, 1 << 16):
        return "addr_space_cast insn can only convert between address space 1 and 0"
    return ""


def _misused(insn: Insn) -> str:
    class_ = insn.cls
    if class_ in (BPF_ALU, BPF_ALU64):
        return _misused_alu(insn)
    if class_ in (BPF_JMP, BPF_JMP32):
        return _misused_jump(insn)
    if class_ == BPF_LDX:
        return "BPF_LDX" if insn.mode not in (BPF_MEM, BPF_MEMSX) or insn.imm else ""
    if class_ == BPF_STX:
        return "BPF_STX" if insn.mode != BPF_ATOMIC and (insn.mode != BPF_MEM or insn.imm) else ""
    if class_ == BPF_ST:
        return "BPF_ST" if insn.mode != BPF_MEM or insn.src_reg else ""
    if class_ == BPF_LD and insn.mode in (BPF_ABS, BPF_IND):
        used = insn.dst_reg or insn.off or insn.size == BPF_DW or (insn.mode == BPF_ABS and insn.src_reg)
        return "BPF_LD_[ABS|IND]" if used else ""
    assert insn.mode == BPF_IMM
    return ""


def _misused_alu(insn: Insn) -> str:
    op, from_reg = insn.op, insn.src_kind == BPF_X
    if op == BPF_NEG:
        return "BPF_NEG" if from_reg or insn.src_reg or insn.off or insn.imm else ""
    if op == BPF_END:
        wrong = insn.src_reg or insn.off or insn.imm not in (16, 32, 64) or (insn.cls == BPF_ALU64 and from_reg)
        return "BPF_END" if wrong else ""
    if op == BPF_MOV:
        if insn.cls == BPF_ALU64 and from_reg and insn.off == BPF_ADDR_SPACE_CAST:
            return ""
        widths = (0, 8, 16) if insn.cls == BPF_ALU else (0, 8, 16, 32)
        wrong = (insn.off not in widths or insn.imm) if from_reg else (insn.src_reg or insn.off)
        return "BPF_MOV" if wrong else ""
    signed = insn.off == 1 and op in (BPF_DIV, BPF_MOD)
    wrong = (insn.imm if from_reg else insn.src_reg) or (insn.off and not signed)
    return "BPF_ALU" if wrong else ""


def _misused_jump(insn: Insn) -> str:
    op, from_reg, narrow = insn.op, insn.src_kind == BPF_X, insn.cls == BPF_JMP32
    if op == BPF_CALL:
        kinds = (0, BPF_PSEUDO_CALL, BPF_PSEUDO_KFUNC_CALL)
        offset = insn.off and insn.src_reg != BPF_PSEUDO_KFUNC_CALL
        return "BPF_CALL" if from_reg or offset or insn.src_reg not in kinds or insn.dst_reg or narrow else ""
    if op == BPF_JCOND:
        return ""
    if op == BPF_JA:
        if from_reg:
            return "BPF_JA|BPF_X" if insn.src_reg or insn.imm or insn.off else ""
        return "BPF_JA" if insn.src_reg or insn.dst_reg or (insn.off if narrow else insn.imm) else ""
    if op == BPF_EXIT:
        return "BPF_EXIT" if from_reg or insn.imm or insn.src_reg or insn.dst_reg or narrow else ""
    return "BPF_JMP/JMP32" if (insn.imm if from_reg else insn.src_reg) else ""
