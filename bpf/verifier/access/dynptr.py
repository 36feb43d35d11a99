"""Dynamic pointers, which live in two stack slots and are made and destroyed by helpers only.

*_dynptr*() of kernel/bpf/verifier.c.  `raw1` of the slots' values is the kind of dynptr, `raw2` says which slot is
the first one, `id` is the reference that a ring buffer's dynptr holds.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EINVAL
from bpf.verifier.access.regs import release_reference
from bpf.verifier.domain.state import BPF_REG_SIZE, DYNPTR_SLOT, INVALID_SLOT, STACK_DYNPTR, FuncState, StackSlot, Value
from bpf.verifier.domain.types import ARG_PTR_TO_DYNPTR, DYNPTR_TYPE_FLAG_MASK, DYNPTR_TYPE_LOCAL, DYNPTR_TYPE_RINGBUF
from bpf.verifier.env import Env

BPF_DYNPTR_SIZE: Final = 16
BPF_DYNPTR_NR_SLOTS: Final = 2

# enum bpf_dynptr_type
_INVALID: Final = 0
_LOCAL: Final = 1
_RINGBUF: Final = 2

_KIND_OF_FLAG: Final = {DYNPTR_TYPE_LOCAL: _LOCAL, DYNPTR_TYPE_RINGBUF: _RINGBUF}


def get_spi(off: int) -> int:
    """Slot of a stack offset, with C's division."""
    number = -off - 1
    return number // BPF_REG_SIZE if number >= 0 else -(-number // BPF_REG_SIZE)


def spi_is_valid(frame: FuncState, spi: int) -> bool:
    """A dynptr that begins in this slot fits the stack in use: is_spi_bounds_valid()."""
    return spi - BPF_DYNPTR_NR_SLOTS + 1 >= 0 and spi < len(frame.stack)


def _frame(env: Env, v: Value) -> FuncState:
    return env.cur.frames[v.frameno]


def _kind_of(arg_type: int) -> int:
    return _KIND_OF_FLAG.get(arg_type & DYNPTR_TYPE_FLAG_MASK, _INVALID)


def _set(slot: StackSlot, kind: int, first: bool, number: int) -> None:
    v = slot.value.copy()
    v.raw1, v.raw2 = kind, int(first)
    v.id = number
    slot.value = v


def mark_stack_slots_dynptr(env: Env, v: Value, arg_type: int, insn_idx: int) -> None:
    """A helper has made a dynptr here."""
    frame = _frame(env, v)
    spi = get_spi(v.off)
    if not spi_is_valid(frame, spi):
        env.reject(EINVAL)
    first, second = frame.stack[spi], frame.stack[spi - 1]
    first.kinds = second.kinds = DYNPTR_SLOT
    kind = _kind_of(arg_type)
    if kind == _INVALID:
        env.reject(EINVAL)
    refcounted = kind == _RINGBUF
    number = env.acquire_reference(insn_idx) if refcounted else 0
    _set(first, kind, True, number or first.value.id)
    _set(second, kind, bool(second.value.raw2), number or second.value.id)


def unmark_stack_slots_dynptr(env: Env, v: Value) -> bool:
    """A helper has destroyed the dynptr here; False if there can be none."""
    frame = _frame(env, v)
    spi = get_spi(v.off)
    if not spi_is_valid(frame, spi):
        return False
    first, second = frame.stack[spi], frame.stack[spi - 1]
    first.kinds = second.kinds = INVALID_SLOT
    first_id, second_id = first.value.id, second.value.id
    if first.value.raw1 == _RINGBUF:
        release_reference(env, first_id)
        first_id = second_id = 0
    _set(first, _INVALID, False, first_id)
    _set(second, _INVALID, bool(second.value.raw2), second_id)
    return True


def is_dynptr_uninit(env: Env, v: Value) -> bool:
    """No part of a dynptr is here yet: is_dynptr_reg_valid_uninit()."""
    frame = _frame(env, v)
    spi = get_spi(v.off)
    if not spi_is_valid(frame, spi):
        return True
    return STACK_DYNPTR not in frame.stack[spi].kinds + frame.stack[spi - 1].kinds


def is_dynptr_init(env: Env, v: Value) -> bool:
    """A whole dynptr is here: is_dynptr_reg_valid_init()."""
    frame = _frame(env, v)
    spi = get_spi(v.off)
    if not spi_is_valid(frame, spi):
        return False
    first, second = frame.stack[spi], frame.stack[spi - 1]
    if first.value.raw2 != 1:
        return False
    return first.kinds == DYNPTR_SLOT and second.kinds == DYNPTR_SLOT


def is_dynptr_type_expected(env: Env, v: Value, arg_type: int) -> bool:
    """It is of the kind the argument wants."""
    if arg_type == ARG_PTR_TO_DYNPTR:
        return True
    return bool(_frame(env, v).stack[get_spi(v.off)].value.raw1 == _kind_of(arg_type))


def stack_slot_get_id(env: Env, v: Value) -> int:
    """The reference a dynptr holds."""
    return _frame(env, v).stack[get_spi(v.off)].value.id
