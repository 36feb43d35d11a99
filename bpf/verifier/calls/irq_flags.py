"""Interrupt flags that programs save on their stack and restore, since 6.14: process_irq_flag() of kernel/bpf/verifier.c.

What was saved last is restored first. A saved flag is a reference of its own kind; `Held.irq` has them in order.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EACCES, EINVAL
from arch.abi.internal import WRITE
from bpf.isa.insn import BPF_DW
from bpf.verifier.access.memory import check_mem_access
from bpf.verifier.access.regs import mark_reg_read
from bpf.verifier.access.slot_objects import BEYOND, NO_SLOT, find_slot, forget_slot, frame_of
from bpf.verifier.calls.kfunc_meta import KfuncCall, arg_name
from bpf.verifier.domain.bounds import s32, s64
from bpf.verifier.domain.state import BPF_REG_SIZE, REG_LIVE_READ64, REG_LIVE_WRITTEN, STACK_IRQ_FLAG, Value, known_zero
from bpf.verifier.domain.types import PTR_TO_STACK
from bpf.verifier.env import Env, release_reference_state

_SLOT: Final = bytes([STACK_IRQ_FLAG] * BPF_REG_SIZE)
_SAVES: Final = ("bpf_local_irq_save", "bpf_res_spin_lock_irqsave")
_CLASSES: Final = ("native", "lock")


def process_argument(env: Env, call: KfuncCall, i: int, v: Value) -> None:
    """The place of a flag, which the call fills or takes back."""
    if v.type != PTR_TO_STACK:
        env.reject(EINVAL, f"{arg_name(env, i)} doesn't point to an irq flag on stack")
    of_lock = int("spin" in call.name)
    if call.name in _SAVES:
        _save(env, i, v, of_lock)
    else:
        _restore(env, i, v, of_lock)


def _find(env: Env, v: Value) -> int:
    off = s32(v.off + s64(v.var_off[0]))
    if not v.var_off[1] and off >= 0:
        env.verbose(f"cannot pass in irq_flag at an offset={off}\n")
        return NO_SLOT
    return find_slot(env, v, "irq_flag", 1)


def _save(env: Env, i: int, v: Value, of_lock: int) -> None:
    spi = _find(env, v)
    if spi != BEYOND and (spi < 0 or STACK_IRQ_FLAG in frame_of(env, v).stack[spi].kinds):
        env.reject(EINVAL, f"expected uninitialized irq flag as {arg_name(env, i)}")
    check_mem_access(env, env.insn_idx, i + 1, 0, BPF_DW, WRITE, -1)
    spi = find_slot(env, v, "irq_flag", 1)
    slot = frame_of(env, v).stack[spi]
    number = env.acquire_reference(env.insn_idx)
    slot.value = known_zero(PTR_TO_STACK, None, of_lock)
    slot.value.ref_obj_id = number
    slot.kinds = _SLOT
    slot.live |= REG_LIVE_WRITTEN
    env.scratched_stack_slots |= 1 << spi
    held = env.cur.held
    env.cur.held = held._replace(irq=(*held.irq, (number, env.insn_idx)))


def _restore(env: Env, i: int, v: Value, of_lock: int) -> None:
    spi = _find(env, v)
    slot = frame_of(env, v).stack[spi] if spi >= 0 else None
    if slot is None or slot.kinds != _SLOT or not slot.value.ref_obj_id:
        env.reject(EINVAL, f"expected an initialized irq flag as {arg_name(env, i)}")
    mark_reg_read(env, slot, slot.parent, REG_LIVE_READ64)
    if slot.value.raw2 != of_lock:
        was, used = _CLASSES[slot.value.raw2], _CLASSES[of_lock]
        env.reject(EINVAL, f"irq flag acquired by {was} kfuncs cannot be restored with {used} kfuncs")
    held = env.cur.held
    number, insn_idx = held.irq[-1]
    if slot.value.ref_obj_id != number:
        text = f"cannot restore irq state out of order, expected id={number} acquired at insn_idx={insn_idx}"
        env.reject(EACCES, text)
    release_reference_state(env.frame, number, env.rules.references_in_order)
    env.cur.held = held._replace(irq=held.irq[:-1])
    forget_slot(env, slot)
    env.scratched_stack_slots |= 1 << spi
