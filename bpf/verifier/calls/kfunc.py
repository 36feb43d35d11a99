"""Calls of kernel functions: add_kfunc_call() and check_kfunc_call() of kernel/bpf/verifier.c."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from arch.abi.errno import E2BIG, EACCES, EINVAL, ENOENT, ENOTSUPP, EPROTO
from bpf.btf.codec import COMPOSITES, BtfType, Kind
from bpf.isa.insn import BPF_REG_0, Insn
from bpf.verifier.access.regs import mark_insn_zext, mark_not_init, mark_reg_read, mark_unknown, release_reference
from bpf.verifier.calls import kfunc_since_6_2
from bpf.verifier.calls.kfunc_meta import KfuncCall
from bpf.verifier.calls.kfuncs import KF_ACQUIRE, KF_DESTRUCTIVE, KF_ITER_NEXT, KF_RET_NULL, kfunc_flags
from bpf.verifier.context.btf_walk import is_scalar, type_by_id, type_text
from bpf.verifier.domain.state import (
    DEF_NOT_SUBREG,
    REG_LIVE_READ32,
    REG_LIVE_READ64,
    REG_LIVE_WRITTEN,
    Value,
    known_zero,
)
from bpf.verifier.domain.types import MEM_RDONLY, PTR_MAYBE_NULL, PTR_TO_BTF_ID, PTR_TO_MEM
from bpf.verifier.env import Env

if TYPE_CHECKING:
    from bpf.verifier.calls.arg_match import KfuncMeta

MAX_KFUNC_DESCS: Final = 256


@dataclass(frozen=True, slots=True)
class KfuncDesc:
    """A kernel function the program calls: bpf_kfunc_desc."""

    func_id: int
    offset: int
    name: str
    proto: BtfType
    allowed: bool  # in programs of this kind
    arguments: int  # those that the verifier gives included (KF_IMPLICIT_ARGS: the prototype of NAME_impl), 5 at most


def add_kfunc_call(env: Env, func_id: int, offset: int) -> None:
    """Before anything else: the function is there."""
    btf = env.vmlinux
    if not env.kfuncs:
        if btf is None:
            env.reject(ENOTSUPP, "calling kernel function is not supported without CONFIG_DEBUG_INFO_BTF")
        if not env.request.jit_requested:
            env.reject(ENOTSUPP, "JIT is required for calling kernel function")
        if not env.request.gpl_compatible:
            env.reject(EINVAL, "cannot call kernel function from non-GPL compatible program")
    if not func_id and not offset:
        return  # libbpf's mark for a weak function that is not there: fine in dead code
    if offset:
        _reject_module_function(env, offset)
    if (func_id, offset) in env.kfuncs:
        return
    if len(env.kfuncs) == MAX_KFUNC_DESCS:
        env.reject(E2BIG, "too many different kernel function calls")
    func = type_by_id(btf, func_id)
    if func is None or func.kind is not Kind.FUNC:
        env.reject(EINVAL, f"kernel btf_id {func_id & 0xFFFFFFFF} is not a function")
    proto = type_by_id(btf, func.type)
    if proto is None or proto.kind is not Kind.FUNC_PROTO:
        env.reject(EINVAL, f"kernel function btf_id {func_id & 0xFFFFFFFF} does not have a valid func_proto")
    symbol = env.request.kernel_symbol
    if symbol is not None and not symbol(func.name):
        env.reject(EINVAL, f"cannot find address for kernel function {func.name}")
    whole = btf.find(func.name + "_impl", Kind.FUNC)
    params = btf[btf[whole].type].params if whole else proto.params
    allowed = kfunc_flags(func.name, env.prog_type, env.version, env.expected_attach_type) is not None
    env.kfuncs[func_id, offset] = KfuncDesc(func_id, offset, func.name, proto, allowed, min(len(params), 5))


def _reject_module_function(env: Env, offset: int) -> None:
    """Functions of modules; no module here has BTF."""
    if offset < 0:
        env.verbose("negative offset disallowed for kernel module function call\n")
        env.reject(EINVAL, "failed to find BTF for kernel function")
    if env.request.fd_array is None:
        env.verbose("kfunc offset > 0 without fd_array is invalid\n")
        env.reject(EPROTO, "failed to find BTF for kernel function")
    env.verbose("invalid module BTF fd specified\n")
    env.reject(ENOENT, "failed to find BTF for kernel function")


def asks_iterator(env: Env, insn: Insn) -> bool:
    """A call that asks an iterator for its next thing: is_iter_next_kfunc()."""
    desc = env.look_up_kfunc(insn)
    if desc is None:
        return False
    flags = kfunc_flags(desc.name, env.prog_type, env.version, env.expected_attach_type)
    return flags is not None and bool(flags & KF_ITER_NEXT)


def check_kfunc_call(env: Env, insn: Insn) -> None:
    """One call on one path."""
    from bpf.verifier.calls.arg_match import KfuncMeta, check_kfunc_args

    if not insn.imm:  # removed with the dead code, or refused there
        if env.rules.trusted_pointers:
            env.scratched_regs |= 1 << BPF_REG_0
        return
    desc: KfuncDesc = env.kfuncs[insn.imm, insn.off]
    flags = kfunc_flags(desc.name, env.prog_type, env.version, env.expected_attach_type)
    if flags is None:
        env.reject(EACCES, f"calling kernel function {desc.name} is not allowed")
    if env.rules.trusted_pointers:
        _call_since_6_2(env, desc, flags)
        return
    if flags & KF_DESTRUCTIVE and "sys_boot" not in env.caps:
        env.reject(EACCES, "destructive kfunc calls require CAP_SYS_BOOT capabilities")
    meta = KfuncMeta(flags)
    released = check_kfunc_args(env, env.vmlinux, insn.imm, meta)
    if released and not release_reference(env, env.regs[released].value.ref_obj_id):
        env.reject(EINVAL, f"kfunc {desc.name}#{desc.func_id} reference has not been acquired before")
    for reg in env.regs[:6]:
        mark_not_init(env, reg)
    _set_result(env, desc, flags, meta)
    _mark_arguments(env, desc.proto)


def _call_since_6_2(env: Env, desc: KfuncDesc, flags: int) -> None:
    call = KfuncCall(desc.name, desc.func_id, desc.proto, flags)
    env.scratched_regs |= 1 << BPF_REG_0
    env.aux[env.insn_idx].iter_next = call.has(KF_ITER_NEXT)
    kfunc_since_6_2.check_call(env, call)
    size = kfunc_since_6_2.set_result(env, call)
    if size:
        _mark_func_reg_size(env, BPF_REG_0, size)
    _mark_arguments(env, desc.proto)
    kfunc_since_6_2.finish_call(env, call)


def _mark_arguments(env: Env, proto: BtfType) -> None:
    for i, param in enumerate(proto.params):
        t = env.vmlinux.resolved(param.type)
        _mark_func_reg_size(env, i + 1, 8 if t.kind is Kind.PTR else t.size)


def _set_result(env: Env, desc: KfuncDesc, flags: int, meta: KfuncMeta) -> None:
    btf = env.vmlinux
    r0 = env.regs[BPF_REG_0]
    t = btf.resolved(desc.proto.type)
    acquires = bool(flags & KF_ACQUIRE)
    if acquires and not (t.kind is Kind.PTR and btf.resolved(t.type).kind in COMPOSITES):
        env.reject(EINVAL, "acquire kernel function does not return PTR_TO_BTF_ID")
    if is_scalar(t):
        mark_unknown(env, r0)
        _mark_func_reg_size(env, BPF_REG_0, t.size)
        return
    if t.kind is not Kind.PTR:
        return
    value = _returned_pointer(env, desc, t, meta)
    if flags & KF_RET_NULL:
        value.type |= PTR_MAYBE_NULL
        value.id = env.new_id()
    r0.value = value
    _mark_func_reg_size(env, BPF_REG_0, 8)
    if acquires:
        value.id = value.ref_obj_id = env.acquire_reference(env.insn_idx)


def _returned_pointer(env: Env, desc: KfuncDesc, t: BtfType, meta: KfuncMeta) -> Value:
    btf = env.vmlinux
    target_id = btf.skip(t.type)
    target = btf[target_id]
    if target.kind in COMPOSITES:
        return known_zero(PTR_TO_BTF_ID, btf, target_id)
    if not meta.r0_size:
        env.reject(
            EINVAL,
            f"kernel function {desc.name} returns pointer type {type_text(target)} is not supported",
        )
    value = known_zero(PTR_TO_MEM | (MEM_RDONLY if meta.r0_rdonly else 0), meta.r0_size)
    if meta.ref_obj_id:
        value.ref_obj_id = meta.ref_obj_id
    return value


def _mark_func_reg_size(env: Env, regno: int, size: int) -> None:
    """mark_btf_func_reg_size(): liveness of arguments and result by their C types."""
    reg = env.regs[regno]
    if regno == BPF_REG_0:
        reg.live |= REG_LIVE_WRITTEN
        reg.subreg_def = DEF_NOT_SUBREG if size == 8 else env.insn_idx + 1
    elif size == 8:
        mark_insn_zext(env, reg)
        mark_reg_read(env, reg, reg.parent, REG_LIVE_READ64)
    else:
        mark_reg_read(env, reg, reg.parent, REG_LIVE_READ32)
