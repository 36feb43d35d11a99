"""Reading and writing registers: initialisation checks, liveness marks, zero-extension marks.

mark_reg_read(), check_reg_arg(), mark_insn_zext() and mark_reg_*() of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from arch.abi.errno import EACCES, EFAULT, EINVAL
from bpf.isa.insn import BPF_REG_FP, MAX_BPF_REG
from bpf.verifier.domain.since_6_8 import is_contradictory, violation_text
from bpf.verifier.domain.state import (
    DEF_NOT_SUBREG,
    REG_LIVE_DONE,
    REG_LIVE_READ,
    REG_LIVE_READ32,
    REG_LIVE_READ64,
    REG_LIVE_WRITTEN,
    UNKNOWN,
    UNREADABLE,
    Reg,
    Value,
)
from bpf.verifier.domain.types import NOT_INIT, SCALAR_VALUE
from bpf.verifier.env import Env, release_reference_state

CALLER_SAVED_REGS = 6  # r0 to r5


def mark_reg_read(env: Env, reg: Reg, parent: Reg | None, flag: int) -> None:
    """The register's value at earlier checkpoints matters, back to where it was written."""
    writes = parent is reg.parent
    count = 0
    while parent is not None:
        if writes and reg.live & REG_LIVE_WRITTEN:
            break
        live = parent.live
        if live & REG_LIVE_DONE:
            v = parent.value
            name = env.type_name(v.type)
            env.reject(EFAULT, f"verifier BUG type {name} var_off {v.var_off[0]} off {v.off}")
        if live & REG_LIVE_READ64 or live & REG_LIVE_READ == flag:
            break
        live |= flag
        if flag == REG_LIVE_READ64:
            live &= ~REG_LIVE_READ32
        parent.live = live
        reg = parent
        parent = reg.parent
        writes = True
        count += 1
    if env.longest_mark_read_walk < count:
        env.longest_mark_read_walk = count


def mark_insn_zext(env: Env, reg: Reg) -> None:
    """All 64 bits are used: the instruction that wrote the low half must clear the high one."""
    if reg.subreg_def != DEF_NOT_SUBREG:
        env.aux[reg.subreg_def - 1].zext_dst = True
        reg.subreg_def = DEF_NOT_SUBREG


def check_src(env: Env, regno: int) -> None:
    """The instruction reads this register: check_reg_arg() with SRC_OP."""
    if regno >= MAX_BPF_REG:
        env.reject(EINVAL, f"R{regno} is invalid")
    env.scratched_regs |= 1 << regno
    reg = env.regs[regno]
    kind = reg.value.type
    if kind == NOT_INIT:
        env.reject(EACCES, f"R{regno} !read_ok")
    if regno == BPF_REG_FP:
        return
    wide = env.wide_src[env.insn_idx]
    if wide is None:
        wide = kind != SCALAR_VALUE
    if wide:
        if reg.subreg_def:
            mark_insn_zext(env, reg)
    if reg.parent is not None:
        mark_reg_read(env, reg, reg.parent, REG_LIVE_READ64 if wide else REG_LIVE_READ32)


def check_dst(env: Env, regno: int) -> Reg:
    """The instruction writes this register: check_reg_arg() with DST_OP_NO_MARK."""
    if regno >= MAX_BPF_REG:
        env.reject(EINVAL, f"R{regno} is invalid")
    env.scratched_regs |= 1 << regno
    if regno == BPF_REG_FP:
        env.reject(EACCES, "frame pointer is read only")
    reg = env.regs[regno]
    reg.live |= REG_LIVE_WRITTEN
    reg.subreg_def = DEF_NOT_SUBREG if env.wide_dst[env.insn_idx] else env.insn_idx + 1
    return reg


def mark_unknown(env: Env, reg: Reg) -> None:
    """Any number may be here: mark_reg_unknown()."""
    reg.value = UNKNOWN
    reg.precise = not env.bpf_capable


def mark_not_init(env: Env, reg: Reg) -> None:
    """Nothing may be read from here: mark_reg_not_init()."""
    reg.value = UNREADABLE
    reg.precise = not env.bpf_capable


def clear_caller_saved_regs(env: Env, regs: list[Reg]) -> None:
    """A call destroys r0 to r5."""
    wide = env.wide_dst[env.insn_idx]
    precise = not env.bpf_capable
    definition = DEF_NOT_SUBREG if wide else env.insn_idx + 1
    for reg in regs[:CALLER_SAVED_REGS]:
        reg.value = UNREADABLE
        reg.precise = precise
    # check_reg_arg() works on the current frame, which is not always the one cleared
    for reg in env.regs[:CALLER_SAVED_REGS]:
        reg.live |= REG_LIVE_WRITTEN
        reg.subreg_def = definition
    env.scratched_regs |= (1 << CALLER_SAVED_REGS) - 1


def is_pointer_value(env: Env, v: Value) -> bool:
    """A pointer that this program must not leak: __is_pointer_value(env->allow_ptr_leaks)."""
    return not env.allow_ptr_leaks and v.type != SCALAR_VALUE


def release_reference(env: Env, number: int) -> bool:
    """Give an object back; every copy of its pointer becomes worthless.  False: not ours to release."""
    if not release_reference_state(env.frame, number, env.rules.references_in_order):
        return False
    for reg in env.cur.each_reg():
        if reg.value.ref_obj_id == number:
            forget_reg(env, reg)
    return True


def forget_reg(env: Env, reg: Reg) -> None:
    """What it pointed to is gone: mark_reg_invalid()."""
    if env.allow_ptr_leaks:
        mark_unknown(env, reg)
    else:
        mark_not_init(env, reg)


def settle_bounds(env: Env, reg: Reg, where: str) -> None:
    """Bounds that contradict each other are forgotten, and said to be wrong: reg_bounds_sanity_check()."""
    v = reg.value
    if v.type != SCALAR_VALUE or not is_contradictory(v):
        return
    env.verbose(f"REG INVARIANTS VIOLATION ({where}): {violation_text(v)}\n")
    reg.value = v.copy()
    reg.value.set_unbounded64()
    reg.value.set_unbounded32()
