"""Instructions as the kernel prints them: in the form of 4.1, in that of 6.1, and what came since.

The 4.1 form is print_bpf_insn() of kernel/bpf/verifier.c as it was then; the others are kernel/bpf/disasm.c.  A line
is returned without its newline.  Names of called functions and constants of ld_imm64 can be supplied by the
caller, as the kernel's struct bpf_insn_cbs does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from arch.abi.version import KernelVersion
from bpf.isa import insn as isa
from bpf.isa.insn import (
    BPF_ABS,
    BPF_ADD,
    BPF_ADDR_PERCPU,
    BPF_ADDR_SPACE_CAST,
    BPF_ALU,
    BPF_ALU64,
    BPF_AND,
    BPF_ATOMIC,
    BPF_B,
    BPF_CALL,
    BPF_CMPXCHG,
    BPF_DIV,
    BPF_DW,
    BPF_END,
    BPF_EXIT,
    BPF_FETCH,
    BPF_GOTOX,
    BPF_H,
    BPF_IMM,
    BPF_IND,
    BPF_JA,
    BPF_JCOND,
    BPF_JMP,
    BPF_JMP32,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_LOAD_ACQ,
    BPF_MAY_GOTO,
    BPF_MEM,
    BPF_MEMSX,
    BPF_MOD,
    BPF_MOV,
    BPF_NEG,
    BPF_OR,
    BPF_PSEUDO_BTF_ID,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_PSEUDO_MAP_FD,
    BPF_PSEUDO_MAP_IDX,
    BPF_PSEUDO_MAP_IDX_VALUE,
    BPF_PSEUDO_MAP_VALUE,
    BPF_SIGNED,
    BPF_STORE_REL,
    BPF_STX,
    BPF_TO_BE,
    BPF_W,
    BPF_X,
    BPF_XCHG,
    BPF_XOR,
    Insn,
)
from bpf.uapi import HELPER_NAMES

CLASS_NAMES = ("ld", "ldx", "st", "stx", "alu", "jmp", "jmp32", "alu64")
SIZES = {BPF_W: "u32", BPF_H: "u16", BPF_B: "u8", BPF_DW: "u64"}
# By operation >> 4; what C prints for a missing string is "(null)".
ALU_OPS = ("+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=", "endian")
JMP_OPS = ("jmp", "==", ">", ">=", "&", "!=", "s>", "s>=", "call", "exit", "<", "<=", "s<", "s<=")
ATOMIC_OPS = {BPF_ADD: "add", BPF_AND: "and", BPF_OR: "or", BPF_XOR: "xor"}
_NULL = ("(null)", "(null)")
_ALU_61 = ALU_OPS + _NULL
_JMP_61 = JMP_OPS + _NULL

# What 4.1 prints for an operation beyond its string tables is whatever lies behind them in memory.
UNSPECIFIED = "<unspecified>"

_POINTER_KINDS = frozenset(
    (
        BPF_PSEUDO_MAP_FD,
        BPF_PSEUDO_MAP_VALUE,
        BPF_PSEUDO_MAP_IDX,
        BPF_PSEUDO_MAP_IDX_VALUE,
        BPF_PSEUDO_BTF_ID,
    )
)

CallName = Callable[[Insn], "str | None"]
ImmName = Callable[[Insn, int], str]


def line_4_1(insn: Insn) -> str:
    """One instruction in the form of Linux 4.1.  kernel/bpf/verifier.c:print_bpf_insn()."""
    code, dst, src, off, imm = insn.code, insn.dst_reg, insn.src_reg, insn.off, insn.imm
    match insn.cls:
        case isa.BPF_ALU64:
            if insn.op >> 4 >= len(ALU_OPS):
                return f"({code:02x}) {UNSPECIFIED}"
            return f"({code:02x}) r{dst} {ALU_OPS[insn.op >> 4]} " + (f"r{src}" if insn.src_kind == BPF_X else f"{imm}")
        case isa.BPF_ALU:
            if insn.op >> 4 >= len(ALU_OPS):
                return f"({code:02x}) {UNSPECIFIED}"
            operand = f"r{src}" if insn.src_kind == BPF_X else f"{imm}"
            return f"({code:02x}) (u32) r{dst} {ALU_OPS[insn.op >> 4]} (u32) {operand}"
        case isa.BPF_STX:
            if insn.mode == BPF_MEM:
                return f"({code:02x}) *({SIZES[insn.size]} *)(r{dst} {off:+d}) = r{src}"
            if insn.mode == BPF_ATOMIC:
                return f"({code:02x}) lock *({SIZES[insn.size]} *)(r{dst} {off:+d}) += r{src}"
            return f"BUG_{code:02x}"
        case isa.BPF_ST:
            if insn.mode == BPF_MEM:
                return f"({code:02x}) *({SIZES[insn.size]} *)(r{dst} {off:+d}) = {imm}"
            return f"BUG_st_{code:02x}"
        case isa.BPF_LDX:
            if insn.mode == BPF_MEM:
                return f"({code:02x}) r{dst} = *({SIZES[insn.size]} *)(r{src} {off:+d})"
            return f"BUG_ldx_{code:02x}"
        case isa.BPF_LD:
            return _load_4_1(insn)
        case isa.BPF_JMP:
            return _jump_4_1(insn)
    return f"({code:02x}) BUG"


def _load_4_1(insn: Insn) -> str:
    code, dst, src, imm = insn.code, insn.dst_reg, insn.src_reg, insn.imm
    mode = insn.mode
    if mode == BPF_ABS:
        return f"({code:02x}) r0 = *({SIZES[insn.size]} *)skb[{imm}]"
    if mode == BPF_IND:
        return f"({code:02x}) r0 = *({SIZES[insn.size]} *)skb[r{src} + {imm}]"
    if mode == BPF_IMM:
        return f"({code:02x}) r{dst} = 0x{imm & 0xFFFFFFFF:x}"
    return f"BUG_ld_{code:02x}"


def _jump_4_1(insn: Insn) -> str:
    code, dst, src, off, imm = insn.code, insn.dst_reg, insn.src_reg, insn.off, insn.imm
    if insn.op == BPF_CALL:
        return f"({code:02x}) call {imm}"
    if code == BPF_JMP | BPF_JA:
        return f"({code:02x}) goto pc{off:+d}"
    if code == BPF_JMP | BPF_EXIT:
        return f"({code:02x}) exit"
    if insn.op > BPF_EXIT:
        return f"({code:02x}) {UNSPECIFIED}"
    operand = f"r{src}" if insn.src_kind == BPF_X else f"0x{imm & 0xFFFFFFFF:x}"
    return f"({code:02x}) if r{dst} {JMP_OPS[insn.op >> 4]} {operand} goto pc{off:+d}"


def call_target(insn: Insn, call_name: CallName | None = None) -> str:
    """What a call calls: helper name, or what the callback says.  kernel/bpf/disasm.c:__func_get_name()."""
    if call_name is not None:
        name = call_name(insn)
        if name is not None:
            return name
    if insn.src_reg == 0 and insn.imm in HELPER_NAMES:
        return "bpf_" + HELPER_NAMES[insn.imm]
    if insn.src_reg == BPF_PSEUDO_CALL:
        return f"{insn.imm:+d}"
    if insn.src_reg == BPF_PSEUDO_KFUNC_CALL:
        return "kernel-function"
    return "unknown"


def line_6_1(
    insn: Insn,
    high: int = 0,
    *,
    call_name: CallName | None = None,
    imm_name: ImmName | None = None,
    allow_ptr_leaks: bool = True,
) -> str:
    """One instruction in the form of Linux 6.1; `high` is the immediate of an ld_imm64's second slot.

    kernel/bpf/disasm.c:print_bpf_insn().
    """
    code = insn.code
    match insn.cls:
        case isa.BPF_ALU | isa.BPF_ALU64:
            return _alu_6_1(insn)
        case isa.BPF_STX:
            return _stx_6_1(insn)
        case isa.BPF_ST:
            if insn.mode == BPF_MEM:
                return f"({code:02x}) *({SIZES[insn.size]} *)(r{insn.dst_reg} {insn.off:+d}) = {insn.imm}"
            return f"({code:02x}) nospec" if insn.mode == BPF_ATOMIC else f"BUG_st_{code:02x}"
        case isa.BPF_LDX:
            if insn.mode != BPF_MEM:
                return f"BUG_ldx_{code:02x}"
            return f"({code:02x}) r{insn.dst_reg} = *({SIZES[insn.size]} *)(r{insn.src_reg} {insn.off:+d})"
        case isa.BPF_LD:
            return _load_6_1(insn, high, imm_name, allow_ptr_leaks)
    return _jump_6_1(insn, call_name)


def _alu_6_1(insn: Insn) -> str:
    code, dst, src, imm = insn.code, insn.dst_reg, insn.src_reg, insn.imm
    wide = insn.cls == BPF_ALU64
    letter = "r" if wide else "w"
    op = insn.op
    if op == BPF_END:
        if wide:
            return f"BUG_alu64_{code:02x}"
        return f"({code:02x}) r{dst} = {'be' if insn.src_kind == BPF_TO_BE else 'le'}{imm} r{dst}"
    if op == BPF_NEG:
        return f"({code:02x}) {letter}{dst} = -{letter}{dst}"
    operand = f"{letter}{src}" if insn.src_kind == BPF_X else f"{imm}"
    return f"({code:02x}) {letter}{dst} {_ALU_61[op >> 4]} {operand}"


def _stx_6_1(insn: Insn) -> str:
    code, dst, src, off, imm = insn.code, insn.dst_reg, insn.src_reg, insn.off, insn.imm
    size = SIZES[insn.size]
    place = f"(r{dst} {off:+d})"
    if insn.mode == BPF_MEM:
        return f"({code:02x}) *({size} *){place} = r{src}"
    if insn.mode != BPF_ATOMIC:
        return f"BUG_{code:02x}"
    suffix = "64" if size == "u64" else ""
    if imm in ATOMIC_OPS:
        return f"({code:02x}) lock *({size} *){place} {ALU_OPS[imm >> 4]} r{src}"
    if imm & BPF_FETCH and imm & ~BPF_FETCH in ATOMIC_OPS:
        name = ATOMIC_OPS[imm & ~BPF_FETCH]
        return f"({code:02x}) r{src} = atomic{suffix}_fetch_{name}(({size} *){place}, r{src})"
    if imm == BPF_CMPXCHG:
        return f"({code:02x}) r0 = atomic{suffix}_cmpxchg(({size} *){place}, r0, r{src})"
    if imm == BPF_XCHG:
        return f"({code:02x}) r{src} = atomic{suffix}_xchg(({size} *){place}, r{src})"
    return f"BUG_{code:02x}"


def _load_6_1(insn: Insn, high: int, imm_name: ImmName | None, allow_ptr_leaks: bool) -> str:
    code, dst, src, imm = insn.code, insn.dst_reg, insn.src_reg, insn.imm
    if insn.mode == BPF_ABS:
        return f"({code:02x}) r0 = *({SIZES[insn.size]} *)skb[{imm}]"
    if insn.mode == BPF_IND:
        return f"({code:02x}) r0 = *({SIZES[insn.size]} *)skb[r{src} + {imm}]"
    if code != BPF_LD_IMM64:
        return f"BUG_ld_{code:02x}"
    full = (high & 0xFFFFFFFF) << 32 | (imm & 0xFFFFFFFF)
    if src in _POINTER_KINDS and not allow_ptr_leaks:
        full = 0
    return f"({code:02x}) r{dst} = " + (imm_name(insn, full) if imm_name else f"0x{full:x}")


def _jump_6_1(insn: Insn, call_name: CallName | None) -> str:
    code, dst, src, off, imm = insn.code, insn.dst_reg, insn.src_reg, insn.off, insn.imm
    op = insn.op
    if op == BPF_CALL:
        if src == BPF_PSEUDO_CALL:
            return f"({code:02x}) call pc{call_target(insn, call_name)}"
        return f"({code:02x}) call {call_target(insn, call_name)}#{imm}"
    if code == BPF_JMP | BPF_JA:
        return f"({code:02x}) goto pc{off:+d}"
    if code == BPF_JMP | BPF_EXIT:
        return f"({code:02x}) exit"
    letter = "w" if insn.cls == BPF_JMP32 else "r"
    operand = f"{letter}{src}" if insn.src_kind == BPF_X else f"0x{imm & 0xFFFFFFFF:x}"
    return f"({code:02x}) if {letter}{dst} {_JMP_61[op >> 4]} {operand} goto pc{off:+d}"


# ---- instructions since 6.6 ----

_NARROW_SIGNED = {8: "(s8)", 16: "(s16)", 32: "(s32)"}


def _sign_extending(insn: Insn) -> str | None:
    code, dst, src, off = insn.code, insn.dst_reg, insn.src_reg, insn.off
    if insn.cls == BPF_LDX and insn.mode == BPF_MEMSX:
        size = {BPF_W: "s32", BPF_H: "s16", BPF_B: "s8"}.get(insn.size, "(null)")
        return f"({code:02x}) r{dst} = *({size} *)(r{src} {off:+d})"
    if insn.cls in (BPF_ALU, BPF_ALU64) and insn.op == BPF_MOV and insn.src_kind == BPF_X and off in _NARROW_SIGNED:
        letter = "r" if insn.cls == BPF_ALU64 else "w"
        return f"({code:02x}) {letter}{dst} = {_NARROW_SIGNED[off]}{letter}{src}"
    return None


def _byte_swap(insn: Insn) -> str | None:
    if insn.cls != BPF_ALU64 or insn.op != BPF_END:
        return None
    return f"({insn.code:02x}) r{insn.dst_reg} = bswap{insn.imm} r{insn.dst_reg}"


def _signed_division(insn: Insn) -> str | None:
    if insn.cls not in (BPF_ALU, BPF_ALU64) or insn.op not in (BPF_DIV, BPF_MOD) or insn.off != BPF_SIGNED:
        return None
    letter = "r" if insn.cls == BPF_ALU64 else "w"
    operand = f"{letter}{insn.src_reg}" if insn.src_kind == BPF_X else f"{insn.imm}"
    return f"({insn.code:02x}) {letter}{insn.dst_reg} s{ALU_OPS[insn.op >> 4]} {operand}"


def _long_goto(insn: Insn) -> str | None:
    return f"({insn.code:02x}) gotol pc{insn.imm:+d}" if insn.code == BPF_JMP32 | BPF_JA else None


def _may_goto(insn: Insn) -> str | None:
    if insn.code != BPF_JMP | BPF_JCOND or insn.src_reg != BPF_MAY_GOTO:
        return None
    return f"({insn.code:02x}) may_goto pc{insn.off:+d}"


def _cast(insn: Insn) -> str | None:
    if insn.code != BPF_ALU64 | BPF_MOV | BPF_X or insn.off != BPF_ADDR_SPACE_CAST:
        return None
    spaces = f"{(insn.imm & 0xFFFFFFFF) >> 16}, {insn.imm & 0xFFFF}"
    return f"({insn.code:02x}) r{insn.dst_reg} = addr_space_cast(r{insn.src_reg}, {spaces})"


def _percpu(insn: Insn) -> str | None:
    if insn.code != BPF_ALU64 | BPF_MOV | BPF_X or insn.off != BPF_ADDR_PERCPU:
        return None
    return f"({insn.code:02x}) r{insn.dst_reg} = &(void __percpu *)(r{insn.src_reg})"


def _ordered_access(insn: Insn) -> str | None:
    if insn.cls != BPF_STX or insn.mode != BPF_ATOMIC or insn.imm not in (BPF_LOAD_ACQ, BPF_STORE_REL):
        return None
    code, dst, src, size = insn.code, insn.dst_reg, insn.src_reg, SIZES[insn.size]
    if insn.imm == BPF_LOAD_ACQ:
        return f"({code:02x}) r{dst} = load_acquire(({size} *)(r{src} {insn.off:+d}))"
    return f"({code:02x}) store_release(({size} *)(r{dst} {insn.off:+d}), r{src})"


def _goto_register(insn: Insn) -> str | None:
    return f"({insn.code:02x}) gotox r{insn.dst_reg}" if insn.code == BPF_GOTOX else None


_Newer = Callable[[Insn], "str | None"]
# what kernel/bpf/disasm.c learnt: (since, the change, the words)
_NEWER: tuple[tuple[str, str, _Newer], ...] = (
    ("6.6", "1f9a1ea821ff", _sign_extending),
    ("6.6", "0845c3db7bf5", _byte_swap),
    ("6.6", "ec0e2da95f72", _signed_division),
    ("6.6", "4cd58e9af8b9", _long_goto),
    ("6.9", "011832b97b31", _may_goto),
    ("6.9", "142fd4d2dcf5", _cast),
    ("6.10", "7bdbf7446305", _percpu),
    ("6.15", "880442305a39", _ordered_access),
    ("6.19", "-", _goto_register),
)


@cache
def _newer(version: KernelVersion | None) -> tuple[_Newer, ...]:
    return tuple(words for since, _, words in _NEWER if version is None or version.at_least(since))


def insn_line(
    insn: Insn,
    high: int = 0,
    *,
    version: KernelVersion | None = None,
    call_name: CallName | None = None,
    imm_name: ImmName | None = None,
    allow_ptr_leaks: bool = True,
) -> str:
    """One instruction as a version prints it, by default the newest."""
    for words in _newer(version):
        text = words(insn)
        if text is not None:
            return text
    return line_6_1(insn, high, call_name=call_name, imm_name=imm_name, allow_ptr_leaks=allow_ptr_leaks)


def listing(
    insns: Sequence[Insn],
    *,
    form: str = "newest",
    call_name: CallName | None = None,
    imm_name: ImmName | None = None,
) -> Iterator[tuple[int, str]]:
    """Index and text of every instruction; the second slot of an ld_imm64 is skipped."""
    index = 0
    while index < len(insns):
        insn = insns[index]
        wide = insn.code == BPF_LD_IMM64 and index + 1 < len(insns)
        if form == "4.1":
            yield index, line_4_1(insn)
        else:
            high = insns[index + 1].imm if wide else 0
            yield index, insn_line(insn, high, call_name=call_name, imm_name=imm_name)
        index += 2 if wide else 1


def disassemble(insns: Sequence[Insn], *, form: str = "newest") -> str:
    """A whole program, `N: (xx) text` per line."""
    return "".join(f"{index}: {text}\n" for index, text in listing(insns, form=form))
