"""What compiled programs ask: of the attachment that started them, of variables; and how they are told where Python starts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arch.native import Block, Word
from bpf import uapi
from bpf.isa.insn import BPF_CALL, BPF_JMP, BPF_LD_IMM64, BPF_PSEUDO_BTF_ID, Insn

CHANGES_CALLER = "bpf_override_return"  # its registers
ASKING = {uapi.BPF_FUNC_get_attach_cookie, uapi.BPF_FUNC_get_func_ip, uapi.BPF_FUNC_tail_call}


def asks(insns: Sequence[Insn]) -> bool:
    """A program, or one that it jumps to, may ask."""
    return any(insn.code == BPF_JMP | BPF_CALL and not insn.src_reg and insn.imm in ASKING for insn in insns)


def names_variables(insns: Sequence[Insn]) -> bool:
    """It reads variables of the kernel's."""
    return any(insn.code == BPF_LD_IMM64 and insn.src_reg == BPF_PSEUDO_BTF_ID for insn in insns)


def run_told(run: Callable[[int, int], int], block: Block, ctx: int, top: int, cookie: int, entry_ip: int) -> int:
    """Run it so; who it interrupts finds what it was told."""
    words = block.words
    before = words[Word.COOKIE], words[Word.ENTRY_IP]
    words[Word.COOKIE], words[Word.ENTRY_IP] = cookie, entry_ip
    try:
        return run(ctx, top)
    finally:
        words[Word.COOKIE], words[Word.ENTRY_IP] = before
