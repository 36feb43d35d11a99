"""Objects of the kernel's that live in stack slots since 6.3: where they are, and what a store on top of one does.

stack_slot_obj_get_spi(), destroy_if_dynptr_stack_slot() of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EINVAL
from bpf.verifier.access.regs import forget_reg, mark_not_init
from bpf.verifier.domain.bounds import s32, s64
from bpf.verifier.domain.state import (
    BPF_REG_SIZE,
    INVALID_SLOT,
    REG_LIVE_WRITTEN,
    STACK_DYNPTR,
    FuncState,
    StackSlot,
    Value,
)
from bpf.verifier.domain.types import PTR_MAYBE_NULL, PTR_TO_MEM, base_type
from bpf.verifier.env import Env

NO_SLOT: Final = -1  # the message has been written
BEYOND: Final = -2  # the stack in use does not reach so far

# enum bpf_dynptr_type
DYNPTR_INVALID, DYNPTR_LOCAL, DYNPTR_RINGBUF, DYNPTR_SKB, DYNPTR_XDP, DYNPTR_SKB_META, DYNPTR_FILE = range(7)
REFCOUNTED: Final = (DYNPTR_RINGBUF, DYNPTR_FILE)


def frame_of(env: Env, v: Value) -> FuncState:
    """The call frame a stack pointer points into."""
    return env.cur.frames[v.frameno]


def shown_argument(env: Env, regno: int) -> str:
    """An argument in messages, from its register."""
    return f"R{regno}" if env.rules.arguments_by_register else f"arg #{regno - env.rules.slot_args_from_0}"


def shown_first(env: Env, regno: int) -> str:
    """The same where it is the first word."""
    return f"R{regno}" if env.rules.arguments_by_register else f"arg#{regno - 1}"


def slot_of(off: int) -> int:
    """__get_spi(), with C's division."""
    number = -off - 1
    return number // BPF_REG_SIZE if number >= 0 else -(-number // BPF_REG_SIZE)


def find_slot(env: Env, v: Value, what: str, count: int) -> int:
    """The first (highest) slot of an object of `count` slots; NO_SLOT or BEYOND: there can be none."""
    if v.var_off[1]:
        env.verbose(f"{what} has to be at a constant offset\n")
        return NO_SLOT
    off = s32(v.off + s64(v.var_off[0]))
    spi = slot_of(off)
    if off % BPF_REG_SIZE or spi + 1 < count:
        env.verbose(f"cannot pass in {what} at an offset={off}\n")
        return NO_SLOT
    return spi if spi - count + 1 >= 0 and spi < len(frame_of(env, v).stack) else BEYOND


def forget_slot(env: Env, slot: StackSlot) -> None:
    """Nothing is here any more, and that is this path's own doing."""
    slot.kinds = INVALID_SLOT
    mark_not_init(env, slot)
    slot.live |= REG_LIVE_WRITTEN


def forget_slices(env: Env, number: int) -> None:
    """The dynptr with this id is gone, and with it what points into its memory."""
    for reg in env.cur.each_reg():
        word = reg.value.type
        if env.rules.dynptr_parents:
            is_memory = base_type(word) == PTR_TO_MEM
        else:
            is_memory = word in (PTR_TO_MEM, PTR_TO_MEM | PTR_MAYBE_NULL)
        if is_memory and reg.value.raw2 == number:
            forget_reg(env, reg)


def _is_shared(env: Env, reference: int) -> bool:
    """Another dynptr can give back what this one holds: dynptr_ref_cnt()."""
    slots = [slot for frame in env.cur.frames for slot in frame.stack if slot.kinds[0] == STACK_DYNPTR]
    return sum(slot.value.raw2 != 0 and slot.value.ref_obj_id == reference for slot in slots) > 1


def destroy_if_dynptr(env: Env, frame: FuncState, spi: int) -> None:
    """A store into a dynptr ends it, unless it holds a reference; slices of it are worthless then."""
    slot = frame.stack[spi]
    if slot.kinds[0] != STACK_DYNPTR:
        return
    if not slot.value.raw2:
        spi += 1
        slot = frame.stack[spi]
    parents = env.rules.dynptr_parents
    if slot.value.raw1 in REFCOUNTED and not (parents and _is_shared(env, slot.value.ref_obj_id)):
        env.reject(EINVAL, "cannot overwrite referenced dynptr")
    env.scratched_stack_slots |= 3 << spi - 1
    number = slot.value.id
    slot.kinds = frame.stack[spi - 1].kinds = INVALID_SLOT
    forget_slices(env, number)
    forget_slot(env, slot)
    forget_slot(env, frame.stack[spi - 1])
