"""Put the value of a CO-RE relocation into its instruction.  tools/lib/bpf/relo_core.c: bpf_core_patch_insn()."""

from __future__ import annotations

from arch.abi.errno import ERANGE
from bpf.isa.insn import (
    BPF_ALU,
    BPF_ALU64,
    BPF_CALL,
    BPF_JMP,
    BPF_K,
    BPF_LD,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_ST,
    BPF_STX,
    SIZE_BYTES,
    Insn,
    signed32,
)
from bpf.loader.core_value import Result
from bpf.loader.errors import LoadError

BAD_RELO = 0xBAD2310
_SIZE_FIELD = {8: 0x18, 4: 0x00, 2: 0x08, 1: 0x10}


def poison(insns: list[Insn], index: int) -> None:
    """Make an instruction one that the verifier refuses if it is ever reached."""
    for at in range(index, index + (2 if insns[index].code == BPF_LD_IMM64 else 1)):
        insns[at] = Insn(BPF_JMP | BPF_CALL, 0, 0, 0, BAD_RELO)


def patch(insns: list[Insn], index: int, r: Result, program: str, number: int, messages: list[str]) -> None:
    """Put the value where the instruction has it.  bpf_core_patch_insn()."""
    insn = insns[index]
    head = f"prog '{program}': relo #{number}"
    kind = insn.cls
    if kind in (BPF_ALU, BPF_ALU64) and insn.src_kind == BPF_K:
        if r.poison:
            return poison(insns, index)
        if r.validate and insn.imm != signed32(r.original):
            raise _unexpected(head, index, "ALU/ALU64", insn.imm & 0xFFFFFFFF, r)
        insns[index] = insn.replace(imm=signed32(r.new))
    elif kind in (BPF_LDX, BPF_ST, BPF_STX):
        if r.poison:
            return poison(insns, index)
        if r.validate and insn.off != r.original:
            raise _unexpected(head, index, "LDX/ST/STX", insn.off & 0xFFFFFFFF, r)
        if r.new > 0x7FFF:
            raise LoadError(f"{head}: insn #{index} (LDX/ST/STX) value too big: {r.new}", ERANGE)
        if r.wrong_size:
            messages.append(
                f"{head}: insn #{index} (LDX/ST/STX) accesses field incorrectly. Make sure you are accessing "
                "pointers, unsigned integers, or fields of matching type and size."
            )
            return poison(insns, index)
        insns[index] = _resized(insn, index, r, head).replace(off=r.new)
    elif kind == BPF_LD:
        _patch_imm64(insns, index, r, head)
    else:
        text = f"code:{insn.code:#x}, src:{insn.src_reg:#x}, dst:{insn.dst_reg:#x}, off:{insn.off & 0xFFFF:#x}"
        text += f", imm:{insn.imm & 0xFFFFFFFF:#x}"
        raise LoadError(f"{head}: trying to relocate unrecognized insn #{index}, {text}")
    return None


def _resized(insn: Insn, index: int, r: Result, head: str) -> Insn:
    if r.original_size == r.new_size:
        return insn
    has = SIZE_BYTES[insn.size]
    if has != r.original_size:
        text = f"unexpected mem size: got {has}, exp {r.original_size}"
        raise LoadError(f"{head}: insn #{index} (LDX/ST/STX) {text}")
    if r.new_size not in _SIZE_FIELD:
        raise LoadError(f"{head}: insn #{index} (LDX/ST/STX) invalid new mem size: {r.new_size}")
    return insn.replace(code=insn.mode | _SIZE_FIELD[r.new_size] | insn.cls)


def _patch_imm64(insns: list[Insn], index: int, r: Result, head: str) -> None:
    low = insns[index]
    high = insns[index + 1] if index + 1 < len(insns) else Insn(0xFF)
    if low.code != BPF_LD_IMM64 or low.src_reg or low.off or (high.code, high.dst_reg, high.src_reg, high.off) != (
        0, 0, 0, 0,
    ):  # fmt: skip
        raise LoadError(f"{head}: insn #{index} (LDIMM64) has unexpected form")
    if r.poison:
        return poison(insns, index)
    has = (low.imm & 0xFFFFFFFF) | (high.imm & 0xFFFFFFFF) << 32
    if r.validate and has != r.original:
        raise _unexpected(head, index, "LDIMM64", has, r)
    insns[index] = low.replace(imm=signed32(r.new))
    insns[index + 1] = high.replace(imm=signed32(r.new >> 32))
    return None


def _unexpected(head: str, index: int, form: str, got: int, r: Result) -> LoadError:
    return LoadError(f"{head}: unexpected insn #{index} ({form}) value: got {got}, exp {r.original} -> {r.new}")
