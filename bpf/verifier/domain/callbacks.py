"""Helpers and kernel functions that call functions of the program."""

from __future__ import annotations

from typing import Final

from bpf import uapi
from bpf.isa.insn import BPF_CALL, BPF_JMP, BPF_PSEUDO_CALL, Insn

CALLBACK_CALLING_HELPERS: Final = frozenset(
    {
        uapi.BPF_FUNC_for_each_map_elem,
        uapi.BPF_FUNC_timer_set_callback,
        uapi.BPF_FUNC_find_vma,
        uapi.BPF_FUNC_loop,
        uapi.BPF_FUNC_user_ringbuf_drain,
    }
)
CALLBACK_CALLING_KFUNCS: Final = frozenset(
    {"bpf_rbtree_add_impl", "bpf_rbtree_add", "bpf_wq_set_callback_impl", "bpf_wq_set_callback"}
)
_LATER_KFUNCS: Final = frozenset({"bpf_wq_set_callback_impl", "bpf_wq_set_callback"})
_LATER: Final = frozenset({uapi.BPF_FUNC_timer_set_callback})  # after the helper has returned


_NOW: Final = CALLBACK_CALLING_HELPERS - _LATER
_NOW_KFUNCS: Final = CALLBACK_CALLING_KFUNCS - _LATER_KFUNCS


def calls_back_now(insn: Insn, kfunc: str) -> bool:
    """A call that calls a function of the program before it returns: is_sync_callback_calling_insn().

    `kfunc` is the name of the kernel function called, if it is one.
    """
    if insn.code != BPF_JMP | BPF_CALL or insn.src_reg == BPF_PSEUDO_CALL:
        return False
    return kfunc in _NOW_KFUNCS if insn.src_reg else insn.imm in _NOW


def calls_back_later(insn: Insn, kfunc: str) -> bool:
    """A call that leaves a function of the program to be called some time: is_async_callback_calling_insn()."""
    if insn.code != BPF_JMP | BPF_CALL or insn.src_reg == BPF_PSEUDO_CALL:
        return False
    return kfunc in _LATER_KFUNCS if insn.src_reg else insn.imm in _LATER
