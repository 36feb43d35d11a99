"""Descriptors that a thread has in x86's global table: struct user_desc in and out.  arch/x86/kernel/tls.c.

No task and no CPU is known here: whose descriptors they are, callers say.
"""

from __future__ import annotations

from arch.abi import ldt
from arch.abi.errno import EINVAL, ESRCH
from arch.errors import KernelError
from arch.support import SegmentFacts
from simkernel.kernel.usercopy import UserCopy


def _okay(info: ldt.UserDesc) -> bool:
    """tls_desc_okay(): nothing, or data of 32 bits that is there."""
    if info.is_empty or info.is_zero:
        return True
    return bool(info.seg_32bit) and info.contents < ldt.CONTENTS_CODE and not info.seg_not_present


def _free(tls: bytes) -> int:
    """get_free_idx().  ESRCH."""
    for i in range(ldt.TLS_ENTRIES):
        if tls[8 * i : 8 * i + 8] == ldt.NO_DESCRIPTOR:
            return i
    raise KernelError(ESRCH)


def set_thread_area(
    usercopy: UserCopy, facts: SegmentFacts, tls: bytes, idx: int, u_info: int, free_in: bytes | None
) -> tuple[bytes, int]:
    """do_set_thread_area(): the descriptors with that one, and its number; idx -1: the number is in the structure, and -1 there asks
    for one that is free in `free_in`.  EFAULT, EINVAL, ESRCH.
    """
    info = ldt.UserDesc.unpack(usercopy.copy_from_user(u_info, ldt.USER_DESC_SIZE))
    if not _okay(info):
        raise KernelError(EINVAL)
    if idx == -1:
        idx = info.entry_number
        if idx == 0xFFFFFFFF and free_in is not None:
            idx = facts.first_tls + _free(free_in)
            usercopy.put_user(u_info, 4, idx)
    at = _place(facts, idx)
    raw = ldt.NO_DESCRIPTOR if info.is_empty or info.is_zero else info.descriptor()
    return tls[:at] + raw + tls[at + 8 :], idx


def get_thread_area(usercopy: UserCopy, facts: SegmentFacts, tls: bytes, idx: int, u_info: int) -> None:
    """do_get_thread_area().  EFAULT, EINVAL."""
    if idx == -1:
        idx = usercopy.get_user(u_info, 4)
    at = _place(facts, idx)
    info = ldt.user_desc(idx, tls[at : at + 8], bool(facts.bases))
    usercopy.copy_to_user(u_info, info.pack())


def _place(facts: SegmentFacts, idx: int) -> int:
    """Where a descriptor lies among the thread's.  EINVAL."""
    if not facts.first_tls <= idx < facts.first_tls + ldt.TLS_ENTRIES:
        raise KernelError(EINVAL)
    return ldt.LDT_ENTRY_SIZE * (idx - facts.first_tls)
