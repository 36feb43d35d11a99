"""What verifiers before 6.1 did not have: the rules of 6.1, narrowed to an older version's abilities.

The abilities and their versions are rows of bpf/versions/data.py:ABILITIES.  What an older kernel would have refused for
lack of one is refused here with that kernel's errno and message; the log around it is 6.1's.  This is the second
of the two places where behaviour depends on the version; the other is the system call.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL
from bpf import uapi
from bpf.isa.insn import (
    BPF_CALL,
    BPF_JLE,
    BPF_JLT,
    BPF_JMP,
    BPF_JMP32,
    BPF_JSLE,
    BPF_JSLT,
    BPF_LD_IMM64,
    BPF_PSEUDO_BTF_ID,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_PSEUDO_MAP_IDX,
    BPF_PSEUDO_MAP_IDX_VALUE,
    BPF_PSEUDO_MAP_VALUE,
    Insn,
)
from bpf.verifier.env import Env
from bpf.versions.data import ABILITIES

_SINCE: dict[str, str] = {row.name: row.since for row in ABILITIES}

# Instructions a program may be walked for, newest first.  BPF_COMPLEXITY_LIMIT_INSNS of kernel/bpf/verifier.c.
_INSN_LIMITS: tuple[tuple[str, int], ...] = (
    ("5.2", 1_000_000),
    ("4.14", 131_072),
    ("4.12", 98_304),
    ("4.9", 65_536),
)

# What the source register of an ld_imm64 may say, by the ability that brought it.
_PSEUDO_LOADS = {
    BPF_PSEUDO_MAP_VALUE: "direct_map_value",
    BPF_PSEUDO_BTF_ID: "ksym",
    BPF_PSEUDO_FUNC: "callbacks",
    BPF_PSEUDO_MAP_IDX: "fd_array",
    BPF_PSEUDO_MAP_IDX_VALUE: "fd_array",
}
_PSEUDO_CALLS = {BPF_PSEUDO_CALL: "multi_function", BPF_PSEUDO_KFUNC_CALL: "kfunc"}

_BPF_STX_ATOMIC = (0xC3, 0xDB)  # of 32 and 64 bits
_NEW_JUMPS = (BPF_JLT, BPF_JLE, BPF_JSLT, BPF_JSLE)  # 92b31a9af73b, 4.14
_OPCODE_TABLE = "4.16"  # 5e581dad4fec: unknown opcodes are named before the program is walked


def has(env: Env, ability: str) -> bool:
    """Whether the version that verifies has an ability."""
    return env.version.at_least(_SINCE[ability])


def narrow(env: Env) -> None:
    """Take from the verifier what its version did not have yet."""
    env.allow_loops = env.bpf_capable and has(env, "bounded_loops")
    env.insn_limit = next((limit for since, limit in _INSN_LIMITS if env.version.at_least(since)), _INSN_LIMITS[-1][1])
    if env.version.before("6.1"):
        env.allow_uninit_stack = False  # 6715df8d5d24, 6.3, in stable releases of 6.1
    if not has(env, "cap_bpf") and "sys_admin" not in env.caps:
        _drop_new_capabilities(env)


def _drop_new_capabilities(env: Env) -> None:
    """CAP_BPF and CAP_PERFMON meant nothing before 5.8."""
    env.caps = env.caps - {"bpf", "perfmon"}
    env.bpf_capable = env.allow_loops = env.test_state_freq = False
    env.allow_ptr_leaks = env.allow_uninit_stack = env.allow_ptr_to_map_access = False
    env.bypass_spec_v1 = env.bypass_spec_v4 = False


def check_insns(env: Env) -> None:
    """Refuse instructions that came later."""
    if env.version.at_least("6.1"):
        return
    second = False
    for insn in env.insns:
        if not second:
            _check_insn(env, insn)
        second = insn.code == BPF_LD_IMM64 and not second
    if not has(env, "tail_call_in_function"):
        _check_tail_calls(env)


def _check_insn(env: Env, insn: Insn) -> None:
    code = insn.code
    if code == BPF_LD_IMM64:
        ability = _PSEUDO_LOADS.get(insn.src_reg)
        if ability is not None and not has(env, ability):
            env.reject(EINVAL, "unrecognized bpf_ld_imm64 insn")
    elif code == BPF_JMP | BPF_CALL:
        ability = _PSEUDO_CALLS.get(insn.src_reg)
        if ability is not None and not has(env, ability):
            env.reject(EINVAL, "BPF_CALL uses reserved fields")
    elif code in _BPF_STX_ATOMIC and insn.imm and not has(env, "atomics"):
        env.reject(EINVAL, "BPF_STX uses reserved fields")
    elif insn.cls == BPF_JMP32 and not has(env, "jmp32"):
        _unknown(env, code, f"unknown insn class {BPF_JMP32}")
    elif insn.cls == BPF_JMP and insn.op in _NEW_JUMPS and env.version.before("4.14"):
        env.reject(EINVAL, f"invalid BPF_JMP opcode {insn.op:x}")


def _unknown(env: Env, code: int, before: str) -> None:
    env.reject(EINVAL, f"unknown opcode {code:02x}" if env.version.at_least(_OPCODE_TABLE) else before)


def _check_tail_calls(env: Env) -> None:
    """No tail calls in programs of several functions.  check_map_func_compatibility() until 5.10."""
    calls = [insn for insn in env.insns if insn.code == BPF_JMP | BPF_CALL]
    several = any(insn.src_reg == BPF_PSEUDO_CALL for insn in calls)
    tail = any(insn.src_reg == 0 and insn.imm == uapi.BPF_FUNC_tail_call for insn in calls)
    if several and tail:
        env.reject(EINVAL, "tail_calls are not allowed in programs with bpf-to-bpf calls")


def forget_linkage(env: Env) -> None:
    """Before global functions, every function was verified at each of its calls."""
    if not has(env, "global_functions"):
        for subprog in env.subprogs:
            subprog.linkage = 0
