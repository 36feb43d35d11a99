"""What the signal frames of all architectures share.  kernel/signal.c, include/linux/signal.h.

`k` is the kernel: regs_get/regs_set on the user's struct pt_regs, copy_to_user/copy_from_user, siginfo, altstack_bytes,
save_fp/restore_fp (the CPU's FP image at a user address) and vdso (address of the signal trampoline page).
"""

from __future__ import annotations

from typing import Any

from arch.abi.signal import SA_RESTORER, SS_DISABLE


def choose_stack(task: Any, sp: int, on_altstack: bool) -> int:
    """sigsp(): the alternate stack if asked for and not already on it."""
    if on_altstack and task.sas_size and not task.sas_sp < sp <= task.sas_sp + task.sas_size:
        return int(task.sas_sp + task.sas_size)
    return sp


def restore_altstack(k: Any, raw: bytes) -> None:
    """restore_altstack(): the stack_t in the handler's frame."""
    word, order = k.arch.word, k.arch.byteorder
    if not int.from_bytes(raw[word : word + 4], order) & SS_DISABLE:
        k.current.sas_sp = int.from_bytes(raw[:word], order)
        k.current.sas_size = int.from_bytes(raw[2 * word : 3 * word], order)


def restorer(k: Any, action: Any) -> int:
    """Where the handler returns to: libc's SA_RESTORER, else the kernel's trampoline."""
    return int(action.restorer if action.flags & SA_RESTORER else k.vdso_address())
