"""Loads and stores through pointers to kernel structs and to the program's own objects, since 6.2.

check_ptr_to_btf_access() of kernel/bpf/verifier.c, btf_struct_access() of kernel/bpf/btf.c; before 6.2: memory.py.
"""

from __future__ import annotations

from arch.abi.errno import EACCES, EFAULT, EINVAL, EPERM
from arch.abi.internal import READ
from bpf import uapi
from bpf.btf import Btf
from bpf.verifier.access.regs import mark_unknown
from bpf.verifier.access.trust import (
    PASSES_RCU,
    PASSES_RCU_OR_NULL,
    PASSES_TRUST,
    PASSES_TRUST_OR_NULL,
    in_rcu_section,
    is_rcu,
    is_trusted,
    passes_trust,
)
from bpf.verifier.context.btf_walk import WALK_PTR, WALK_PTR_UNTRUSTED, WALK_SCALAR, Step, find_member
from bpf.verifier.context.struct_ops import struct_access
from bpf.verifier.domain.state import Value, known_zero
from bpf.verifier.domain.tnum import tnum_text
from bpf.verifier.domain.types import (
    BPF_REG_TRUSTED_MODIFIERS,
    MEM_PERCPU,
    MEM_RCU,
    MEM_RDONLY,
    MEM_USER,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_MEM,
    PTR_TRUSTED,
    PTR_UNTRUSTED,
    SCALAR_VALUE,
    is_alloc,
    is_non_owning_ref,
    is_ptr_alloc_obj,
)
from bpf.verifier.env import Env, Rejected

_TRUST_FLAGS = BPF_REG_TRUSTED_MODIFIERS | MEM_RCU
_OWN_WRITES = (uapi.BPF_PROG_TYPE_SCHED_CLS, uapi.BPF_PROG_TYPE_SCHED_ACT, uapi.BPF_PROG_TYPE_XDP)


def check_place(env: Env, regno: int, off: int) -> None:
    """Where every version lets nobody look: before it, at an unknown place, in another address space."""
    v = env.regs[regno].value
    name = v.raw1.name_of(v.raw2)
    if off < 0 and (v.var_off == (0, 0) or not env.rules.offsets_in_bounds):
        env.reject(EACCES, f"R{regno} is ptr_{name} invalid negative access: off={off}")
    if v.var_off != (0, 0):
        where = tnum_text(v.var_off)
        env.reject(EACCES, f"R{regno} is ptr_{name} invalid variable offset: off={off}, var_off={where}")
    if v.type & MEM_USER:
        env.reject(EACCES, f"R{regno} is ptr_{name} access user memory: off={off}")
    if v.type & MEM_PERCPU:
        env.reject(EACCES, f"R{regno} is ptr_{name} access percpu memory: off={off}")


def check_ptr_to_btf_access(env: Env, regno: int, off: int, size: int, access: int, value_regno: int) -> None:
    """One access at `off`, the register's fixed offset included."""
    v = env.regs[regno].value
    _check_allowed(env, v, v.raw1.name_of(v.raw2))
    check_place(env, regno, off)
    if access != READ and v.type & PTR_UNTRUSTED:
        env.reject(EACCES, "only read is supported")
    step = _find(env, v, regno, off, size, access)
    flag = _inherited(env, v, step) if step.result == WALK_PTR else 0
    if access != READ or value_regno < 0:
        return
    if step.result == WALK_PTR_UNTRUSTED:
        env.regs[value_regno].value = known_zero(PTR_TO_MEM | MEM_RDONLY | PTR_UNTRUSTED)
        return
    word = PTR_TO_BTF_ID if step.result == WALK_PTR else SCALAR_VALUE
    mark_btf_load(env, value_regno, word, v.raw1, step.type_id, flag)


def _check_allowed(env: Env, v: Value, name: str) -> None:
    if not env.allow_ptr_leaks:
        env.reject(EPERM, f"'struct {name}' access is allowed only to CAP_PERFMON and CAP_SYS_ADMIN")
    if not env.request.gpl_compatible and v.raw1 is not env.btf:
        env.reject(EINVAL, f"Cannot access kernel 'struct {name}' from non-GPL compatible program")


def _find(env: Env, v: Value, regno: int, off: int, size: int, access: int) -> Step:
    own = is_alloc(v.type)
    words = f"R{regno} cannot write into ptr_{v.raw1.name_of(v.raw2)} at off={off} size={size}"
    if access != READ and not own and env.struct_ops:
        try:
            struct_access(env, v.raw1, v.raw2, off, size, access)
        except Rejected:
            if env.rules.refused_writes_told:
                env.verbose(words + "\n")
            raise
        return Step(WALK_SCALAR)
    if access != READ and not own and env.prog_type in _OWN_WRITES:
        # connection tracking, a module, would have its say for some types
        env.reject(EACCES, words if env.rules.refused_writes_told else "")
    if access != READ and not is_ptr_alloc_obj(v.type):
        env.reject(EACCES, "only read is supported")
    if own and not is_non_owning_ref(v.type) and not v.type & MEM_RCU and not v.ref_obj_id:
        env.reject(EFAULT, "verifier internal error: ref_obj_id for allocated object must be non-zero")
    if own:
        record = env.struct_meta(v.raw1, v.raw2)
        for field in record.fields if record is not None else ():
            if off < field.offset + field.size and field.offset < off + size:
                env.reject(EACCES, f"direct access to {field.shown} is disallowed")
    step = find_member(env, v.raw1, v.raw2, off, size, not own)
    # what an object of the program's own points to is a number
    return Step(WALK_SCALAR) if own and step.result == WALK_PTR else step


def _inherited(env: Env, v: Value, step: Step) -> int:
    """How far a pointer that was read can be trusted."""
    flag = step.flag
    if v.type & PTR_UNTRUSTED:
        return PTR_UNTRUSTED
    if not (is_trusted(env, v) or is_rcu(v)):
        return flag & ~_TRUST_FLAGS
    how = passes_trust(env, v, step.member)
    if PASSES_TRUST in how:
        return flag | PTR_TRUSTED
    if PASSES_TRUST_OR_NULL in how:
        return flag | PTR_TRUSTED | PTR_MAYBE_NULL
    if not in_rcu_section(env) or v.type & PTR_MAYBE_NULL:
        return PTR_UNTRUSTED
    if PASSES_RCU in how:
        return flag | MEM_RCU
    if flag & MEM_RCU or PASSES_RCU_OR_NULL in how:
        flag |= MEM_RCU | PTR_MAYBE_NULL
        return flag & ~PTR_UNTRUSTED if PASSES_RCU_OR_NULL in how else flag
    if flag & (MEM_PERCPU | MEM_USER):
        return flag
    return flag & ~_TRUST_FLAGS


def mark_btf_load(env: Env, value_regno: int, word: int, btf: Btf, type_id: int, flag: int) -> None:
    """mark_btf_ld_reg()."""
    reg = env.regs[value_regno]
    if word == SCALAR_VALUE:
        mark_unknown(env, reg)
        return
    reg.value = known_zero(PTR_TO_BTF_ID | flag, btf, type_id)
    if flag & PTR_MAYBE_NULL:
        reg.value.id = env.new_id()
