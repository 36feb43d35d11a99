"""Where in a context an access may go, and whose contexts are memory for helpers.  check_ctx_access(), kernel/bpf/verifier.c."""

from __future__ import annotations

from arch.abi.limits import U16_MAX
from bpf import uapi
from bpf.verifier.access.map_access import check_mem_region_access, check_ptr_off_reg
from bpf.verifier.context import ctx
from bpf.verifier.env import Env


def offsets_vary(env: Env) -> bool:
    """The context is any memory of the caller's: is_var_ctx_off_allowed()."""
    return env.rules.ctx_offsets and env.prog_type == uapi.BPF_PROG_TYPE_SYSCALL


def offset(env: Env, regno: int, off: int, size: int) -> int:
    """The last place that the access may start at; the register's offset has to be one that may be there."""
    v = env.regs[regno].value
    if offsets_vary(env):
        check_mem_region_access(env, regno, off, size, U16_MAX, False)
        return off + v.umax
    check_ptr_off_reg(env, v, regno, env.rules.ctx_offsets and env.prog_type not in ctx.HAS_CONVERT_CTX_ACCESS)
    return off


def is_memory(env: Env) -> bool:
    """Contexts that no access of is rewritten, until they were memory of syscall programs only."""
    return env.rules.ctx_as_memory and not env.rules.ctx_offsets and env.prog_type not in ctx.HAS_CONVERT_CTX_ACCESS
