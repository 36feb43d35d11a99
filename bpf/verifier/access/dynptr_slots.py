"""Dynamic pointers since 6.3: two stack slots that every store respects, an id that slices of the memory refer to.

process_dynptr_func(), mark_stack_slots_dynptr(), unmark_stack_slots_dynptr() of kernel/bpf/verifier.c, Linux 6.12; before 6.3:
dynptr.py.  Of a slot's value `raw1` is the kind, `raw2` says which slot is the first, `id` is the dynptr's own number and
`ref_obj_id` the reference it holds.  A callback gets a register of type PTR_TO_DYNPTR with the same.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EFAULT, EINVAL
from arch.abi.internal import WRITE
from bpf.isa.insn import BPF_DW
from bpf.verifier.access.memory import check_mem_access
from bpf.verifier.access.regs import mark_reg_read, release_reference
from bpf.verifier.access.slot_objects import (
    BEYOND,
    DYNPTR_FILE,
    DYNPTR_INVALID,
    DYNPTR_LOCAL,
    DYNPTR_RINGBUF,
    DYNPTR_SKB,
    DYNPTR_SKB_META,
    DYNPTR_XDP,
    REFCOUNTED,
    destroy_if_dynptr,
    find_slot,
    forget_slices,
    forget_slot,
    frame_of,
    shown_argument,
    shown_first,
)
from bpf.verifier.domain.state import (
    DYNPTR_NAMES,
    DYNPTR_SLOT,
    REG_LIVE_READ64,
    REG_LIVE_WRITTEN,
    STACK_DYNPTR,
    FuncState,
    StackSlot,
    Value,
    known_zero,
)
from bpf.verifier.domain.types import (
    ARG_PTR_TO_DYNPTR,
    DYNPTR_TYPE_FILE,
    DYNPTR_TYPE_FLAG_MASK,
    DYNPTR_TYPE_LOCAL,
    DYNPTR_TYPE_RINGBUF,
    DYNPTR_TYPE_SKB,
    DYNPTR_TYPE_SKB_META,
    DYNPTR_TYPE_XDP,
    MEM_RDONLY,
    MEM_UNINIT,
    PTR_TO_DYNPTR,
    PTR_TO_STACK,
)
from bpf.verifier.env import Env

SLOTS: Final = 2
SIZE: Final = 16
FLAG_OF: Final = {
    DYNPTR_LOCAL: DYNPTR_TYPE_LOCAL,
    DYNPTR_RINGBUF: DYNPTR_TYPE_RINGBUF,
    DYNPTR_SKB: DYNPTR_TYPE_SKB,
    DYNPTR_XDP: DYNPTR_TYPE_XDP,
    DYNPTR_SKB_META: DYNPTR_TYPE_SKB_META,
    DYNPTR_FILE: DYNPTR_TYPE_FILE,
}
_KIND_OF: Final = {flag: kind for kind, flag in FLAG_OF.items()}


def kind_of(arg_type: int) -> int:
    """arg_to_dynptr_type()."""
    return _KIND_OF.get(arg_type & DYNPTR_TYPE_FLAG_MASK, DYNPTR_INVALID)


def dynptr_name(kind: int) -> str:
    """dynptr_type_str()."""
    return DYNPTR_NAMES.get(kind, "<invalid>" if kind == DYNPTR_INVALID else "<unknown>")


def dynptr_at(env: Env, v: Value) -> Value:
    """What is known of the dynptr a register leads to, which is one."""
    if v.type == PTR_TO_DYNPTR:
        return v
    return frame_of(env, v).stack[find_slot(env, v, "dynptr", SLOTS)].value


def holds_reference(env: Env, v: Value) -> bool:
    """The dynptr on the stack has to be given back."""
    spi = find_slot(env, v, "dynptr", SLOTS)
    return spi >= 0 and bool(frame_of(env, v).stack[spi].value.ref_obj_id)


def _mark(env: Env, slot: StackSlot, kind: int, first: bool, number: int, reference: int) -> None:
    v = known_zero(PTR_TO_DYNPTR, kind, int(first), number=number)
    v.ref_obj_id = reference
    slot.value = v
    slot.kinds = DYNPTR_SLOT
    slot.live |= REG_LIVE_WRITTEN


def make(env: Env, v: Value, arg_type: int, insn_idx: int, clone_of: int) -> None:
    """A helper or kernel function has made a dynptr here: mark_stack_slots_dynptr()."""
    spi = find_slot(env, v, "dynptr", SLOTS)
    if spi < 0:
        env.reject(EINVAL)
    frame = frame_of(env, v)
    destroy_if_dynptr(env, frame, spi)
    destroy_if_dynptr(env, frame, spi - 1)
    kind = kind_of(arg_type)
    if kind == DYNPTR_INVALID:
        env.reject(EINVAL)
    number = 0 if env.rules.dynptr_parents else env.new_id()
    reference = (clone_of or env.acquire_reference(insn_idx)) if kind in REFCOUNTED else 0
    number = number or env.new_id()
    _mark(env, frame.stack[spi], kind, True, number, reference)
    _mark(env, frame.stack[spi - 1], kind, False, number, reference)


def _invalidate(env: Env, frame: FuncState, spi: int) -> None:
    forget_slot(env, frame.stack[spi])
    forget_slot(env, frame.stack[spi - 1])


def release(env: Env, v: Value) -> bool:
    """A helper has given back what the dynptr here holds, so all clones of it are gone: unmark_stack_slots_dynptr()."""
    spi = find_slot(env, v, "dynptr", SLOTS)
    if spi < 0:
        return False
    frame = frame_of(env, v)
    known = frame.stack[spi].value
    if known.raw1 not in REFCOUNTED:
        _invalidate(env, frame, spi)
        return True
    number = known.ref_obj_id
    release_reference(env, number)
    for i in range(1, len(frame.stack)):
        slot = frame.stack[i]
        if slot.value.ref_obj_id != number:
            continue
        if slot.kinds[0] != STACK_DYNPTR:
            env.reject(EFAULT, "verifier internal error: misconfigured ref_obj_id")
        if slot.value.raw2:
            if env.rules.dynptr_parents:  # before, a slice that a kernel function gave outlived it
                forget_slices(env, slot.value.id)
            _invalidate(env, frame, i)
    return True


def _is_whole(env: Env, v: Value) -> bool:
    """is_dynptr_reg_valid_init()."""
    if v.type == PTR_TO_DYNPTR:
        return True
    spi = find_slot(env, v, "dynptr", SLOTS)
    if spi < 0:
        return False
    frame = frame_of(env, v)
    first, second = frame.stack[spi], frame.stack[spi - 1]
    return bool(first.value.raw2) and first.kinds == second.kinds == DYNPTR_SLOT


def _is_free(env: Env, v: Value) -> bool:
    """is_dynptr_reg_valid_uninit(): a dynptr that is here already is overwritten."""
    spi = find_slot(env, v, "dynptr", SLOTS)
    return v.type != PTR_TO_DYNPTR and (spi == BEYOND or spi >= 0)


def _is_expected(env: Env, v: Value, arg_type: int) -> bool:
    return arg_type == ARG_PTR_TO_DYNPTR or dynptr_at(env, v).raw1 == kind_of(arg_type)


def _mark_read(env: Env, v: Value) -> None:
    """Both slots are relied on: mark_dynptr_read()."""
    if v.type == PTR_TO_DYNPTR:
        return
    spi = find_slot(env, v, "dynptr", SLOTS)
    if spi < 0:
        env.reject(EINVAL)
    frame = frame_of(env, v)
    if env.rules.dynptr_parents:
        env.scratched_stack_slots |= 3 << spi - 1
    for slot in (frame.stack[spi], frame.stack[spi - 1]):
        mark_reg_read(env, slot, slot.parent, REG_LIVE_READ64)


def process(env: Env, regno: int, insn_idx: int, arg_type: int, clone_of: int = 0) -> None:
    """An argument that is a dynptr: process_dynptr_func()."""
    v = env.regs[regno].value
    if v.type not in (PTR_TO_STACK, PTR_TO_DYNPTR):
        env.reject(EINVAL, f"{shown_first(env, regno)} expected pointer to stack or const struct bpf_dynptr")
    if arg_type & MEM_UNINIT:
        if not _is_free(env, v):
            env.reject(EINVAL, "Dynptr has to be an uninitialized dynptr")
        for i in range(0, SIZE, 8):
            check_mem_access(env, insn_idx, regno, i, BPF_DW, WRITE, -1)
        make(env, env.regs[regno].value, arg_type, insn_idx, clone_of)
        return
    if v.type == PTR_TO_DYNPTR and not arg_type & MEM_RDONLY:
        env.reject(EINVAL, "cannot pass pointer to const bpf_dynptr, the helper mutates it")
    if not _is_whole(env, v):
        env.reject(EINVAL, f"Expected an initialized dynptr as {shown_argument(env, regno)}")
    if not _is_expected(env, v, arg_type & ~MEM_RDONLY):
        kind = dynptr_name(kind_of(arg_type))
        env.reject(EINVAL, f"Expected a dynptr of type {kind} as {shown_argument(env, regno)}")
    _mark_read(env, v)
