"""What is in r0 when the outermost function returns, or what it throws: check_return_code() of kernel/bpf/verifier.c."""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EACCES, EINVAL, ENOTSUPP
from arch.abi.limits import S64_MAX
from bpf import uapi
from bpf.isa.insn import BPF_REG_0
from bpf.verifier.access.precision import mark_chain_precision
from bpf.verifier.access.regs import check_src, is_pointer_value
from bpf.verifier.calls.subprog import verbose_invalid_scalar
from bpf.verifier.domain.state import S64_MIN, Value
from bpf.verifier.domain.tnum import TNUM_UNKNOWN, Tnum, tnum_const, tnum_in, tnum_range
from bpf.verifier.domain.types import SCALAR_VALUE
from bpf.verifier.env import Env
from bpf.verifier.protos.attach_rules import lsm_result_range
from bpf.versions.attach_groups import ALWAYS_ONE, AROUND_FUNCTIONS, is_session
from bpf.versions.features import has_attach_type


def _return_range(env: Env) -> tuple[Tnum, Tnum] | None:
    """(what a program of this type may return, what of that binds it to its attach type); None: anything."""
    kind, attach = env.prog_type, env.expected_attach_type
    boolean = tnum_range(0, 1)
    if kind == uapi.BPF_PROG_TYPE_CGROUP_SOCK_ADDR:
        if attach in ALWAYS_ONE:
            return tnum_range(1, 1), TNUM_UNKNOWN
        if attach in (uapi.BPF_CGROUP_INET4_BIND, uapi.BPF_CGROUP_INET6_BIND) and env.rules.bind_flags:
            return tnum_range(0, 3), TNUM_UNKNOWN
        return boolean, TNUM_UNKNOWN
    if kind == uapi.BPF_PROG_TYPE_CGROUP_SKB:
        if attach == uapi.BPF_CGROUP_INET_EGRESS:
            return tnum_range(0, 3), tnum_range(2, 3)
        return boolean, TNUM_UNKNOWN
    if kind in _BOOLEAN or kind == uapi.BPF_PROG_TYPE_SK_LOOKUP:
        return boolean, TNUM_UNKNOWN
    if kind == uapi.BPF_PROG_TYPE_RAW_TRACEPOINT:
        return (tnum_const(0), TNUM_UNKNOWN) if env.request.attach_btf_id else None
    if kind == uapi.BPF_PROG_TYPE_TRACING:
        if attach in AROUND_FUNCTIONS:
            return tnum_const(0), TNUM_UNKNOWN
        if attach in (uapi.BPF_TRACE_RAW_TP, uapi.BPF_MODIFY_RETURN):
            return None
        if attach == uapi.BPF_TRACE_ITER:
            return boolean, TNUM_UNKNOWN
        if attach == uapi.BPF_LSM_MAC and env.rules.tracing_hooks_return:
            return None
        env.reject(ENOTSUPP)
    if kind == uapi.BPF_PROG_TYPE_KPROBE and is_session(attach) and has_attach_type(env.version, attach):
        return boolean, TNUM_UNKNOWN
    if kind == uapi.BPF_PROG_TYPE_LSM and attach == uapi.BPF_LSM_CGROUP:
        return (tnum_range(1, 1) if env.facts.attached_to_void else boolean), TNUM_UNKNOWN
    return None


_BOOLEAN: Final = frozenset(
    {
        uapi.BPF_PROG_TYPE_CGROUP_SOCK,
        uapi.BPF_PROG_TYPE_SOCK_OPS,
        uapi.BPF_PROG_TYPE_CGROUP_DEVICE,
        uapi.BPF_PROG_TYPE_CGROUP_SYSCTL,
        uapi.BPF_PROG_TYPE_CGROUP_SOCKOPT,
        uapi.BPF_PROG_TYPE_NETFILTER,  # NF_DROP, NF_ACCEPT
    }
)


def check_return_code(env: Env, regno: int = BPF_REG_0) -> None:
    """check_return_code(): what is in r0 when the outermost function returns, or what it throws."""
    frame = env.cur.frames[0]
    is_subprog = bool(frame.subprogno) and not env.subprogs[frame.subprogno].is_exception_cb
    if not is_subprog and _returns_nothing(env):
        return
    check_src(env, regno)
    v = env.regs[regno].value
    if is_pointer_value(env, v):
        env.reject(EACCES, f"R{regno} leaks addr as return value")
    place, later = "program exit", frame.in_async_callback_fn
    if later and env.rules.return_ranges:
        place = "async callback return"
    elif later:
        if v.type != SCALAR_VALUE:
            name = env.type_name(v.type)
            env.reject(EINVAL, f"In async callback the register R{regno} is not a known value ({name})")
        if not tnum_in(tnum_const(0), v.var_off):
            verbose_invalid_scalar(env, v, tnum_const(0), "async callback", f"R{regno}")
            env.reject(EINVAL)
        return
    if is_subprog and not later:
        if v.type != SCALAR_VALUE:
            name = env.type_name(v.type)
            env.reject(EINVAL, f"At subprogram exit the register R{regno} is not a scalar value ({name})")
        return
    if env.rules.lsm_return_range and not later and env.prog_type == uapi.BPF_PROG_TYPE_LSM:
        _check_lsm_return(env, v, regno)
    allowed = (tnum_const(0), TNUM_UNKNOWN) if later else _return_range(env)
    if allowed is None:
        return
    wanted, binding = allowed
    if v.type != SCALAR_VALUE:
        name = env.type_name(v.type)
        env.reject(EINVAL, f"At {place} the register R{regno} is not a known value ({name})")
    if env.rules.return_ranges:
        mark_chain_precision(env, regno)
        low, high = wanted[0], wanted[0] | wanted[1]
        outside = not low <= v.smin <= v.smax <= high
    else:
        outside = not tnum_in(wanted, v.var_off)
    if outside:
        verbose_invalid_scalar(env, v, wanted, place, f"R{regno}")
        if env.prog_type == uapi.BPF_PROG_TYPE_LSM and env.facts.attached_to_void:
            env.verbose("Note, BPF_LSM_CGROUP that attach to void LSM hooks can't modify return value!\n")
        env.reject(EINVAL)
    if binding != TNUM_UNKNOWN and tnum_in(binding, v.var_off):
        env.facts.enforce_expected_attach_type = True


def _check_lsm_return(env: Env, v: Value, regno: int) -> None:
    """A security hook's program returns 0 or an errno, a few 0 or 1."""
    if env.expected_attach_type == uapi.BPF_LSM_CGROUP:
        return
    low, high = lsm_result_range(env.facts.attach_func_name)
    if v.type != SCALAR_VALUE:
        env.reject(EINVAL, f"At program exit the register R{regno} is not a known value ({env.type_name(v.type)})")
    mark_chain_precision(env, regno)
    if not low <= v.s32_min <= v.s32_max <= high:
        known = (f" smin={v.smin}" if v.smin > S64_MIN else "") + (f" smax={v.smax}" if v.smax < S64_MAX else "")
        known = known or " unknown scalar value"
        env.reject(EINVAL, f"At program exit the register R{regno} has{known} should have been in [{low}, {high}]")


def _returns_nothing(env: Env) -> bool:
    """The function attached to is void, and r0 does not matter."""
    if env.prog_type == uapi.BPF_PROG_TYPE_LSM and env.expected_attach_type == uapi.BPF_LSM_CGROUP:
        return False
    if env.prog_type in (uapi.BPF_PROG_TYPE_LSM, uapi.BPF_PROG_TYPE_STRUCT_OPS):
        return env.facts.attached_to_void
    return False
