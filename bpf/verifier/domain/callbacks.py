"""Helpers that call functions of the program."""

from __future__ import annotations

from typing import Final

from bpf import uapi
from bpf.isa.insn import BPF_CALL, BPF_JMP, Insn

CALLBACK_CALLING_HELPERS: Final = frozenset(
    {
        uapi.BPF_FUNC_for_each_map_elem,
        uapi.BPF_FUNC_timer_set_callback,
        uapi.BPF_FUNC_find_vma,
        uapi.BPF_FUNC_loop,
        uapi.BPF_FUNC_user_ringbuf_drain,
    }
)
_LATER: Final = frozenset({uapi.BPF_FUNC_timer_set_callback})  # after the helper has returned


def calls_back_now(insn: Insn) -> bool:
    """A call of a helper that calls a function of the program before it returns: is_sync_callback_calling_insn()."""
    if insn.code != BPF_JMP | BPF_CALL or insn.src_reg:
        return False
    return insn.imm in CALLBACK_CALLING_HELPERS - _LATER
