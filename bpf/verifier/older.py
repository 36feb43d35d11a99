"""The start of a verification in the manner of its version: limits, privileges, instructions that came later.

The rules and their versions are rows of bpf/versions/verifier_rules.py, which the verifier asks where they stand.  Here is
what is settled before the program is looked at, and what versions before the opcode table of 4.16 refused in other words.
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
    BPF_PSEUDO_CALL,
    Insn,
)
from bpf.verifier.domain import bounds
from bpf.verifier.env import Env

# Instructions a program may be walked for, newest first.  BPF_COMPLEXITY_LIMIT_INSNS of kernel/bpf/verifier.c.
_INSN_LIMITS: tuple[tuple[str, int], ...] = (
    ("5.2", 1_000_000),
    ("4.14", 131_072),
    ("4.12", 98_304),
    ("4.9", 65_536),
)

_NEW_JUMPS = (BPF_JLT, BPF_JLE, BPF_JSLT, BPF_JSLE)  # 92b31a9af73b, 4.14
_OPCODE_TABLE = "4.16"  # 5e581dad4fec: unknown opcodes are named before the program is walked


def narrow(env: Env) -> None:
    """Take from the verifier what its version did not have yet."""
    rules = env.rules
    bounds.follow(rules)
    env.allow_loops = env.bpf_capable and rules.bounded_loops
    env.insn_limit = next((limit for since, limit in _INSN_LIMITS if env.version.at_least(since)), _INSN_LIMITS[-1][1])
    if not rules.uninit_stack:
        env.allow_uninit_stack = False
    if not rules.cap_bpf and "sys_admin" not in env.caps:
        _drop_new_capabilities(env)


def _drop_new_capabilities(env: Env) -> None:
    """CAP_BPF and CAP_PERFMON meant nothing before 5.8."""
    env.caps = env.caps - {"bpf", "perfmon"}
    env.bpf_capable = env.allow_loops = env.test_state_freq = False
    env.allow_ptr_leaks = env.allow_uninit_stack = env.allow_ptr_to_map_access = False
    env.bypass_spec_v1 = env.bypass_spec_v4 = False


def check_insns(env: Env) -> None:
    """Refuse instructions that came later, where no table of opcodes does."""
    if env.rules.tail_call_in_function:
        return
    second = False
    for insn in env.insns:
        if not second:
            _check_insn(env, insn)
        second = insn.code == BPF_LD_IMM64 and not second
    _check_tail_calls(env)


def _check_insn(env: Env, insn: Insn) -> None:
    if insn.cls == BPF_JMP32 and not env.rules.jmp32 and env.version.before(_OPCODE_TABLE):
        env.reject(EINVAL, f"unknown insn class {BPF_JMP32}")
    elif insn.cls == BPF_JMP and insn.op in _NEW_JUMPS and env.version.before("4.14"):
        env.reject(EINVAL, f"invalid BPF_JMP opcode {insn.op:x}")


def _check_tail_calls(env: Env) -> None:
    """No tail calls in programs of several functions.  check_map_func_compatibility() until 5.10."""
    calls = [insn for insn in env.insns if insn.code == BPF_JMP | BPF_CALL]
    several = any(insn.src_reg == BPF_PSEUDO_CALL for insn in calls)
    tail = any(insn.src_reg == 0 and insn.imm == uapi.BPF_FUNC_tail_call for insn in calls)
    if several and tail:
        env.reject(EINVAL, "tail_calls are not allowed in programs with bpf-to-bpf calls")


def forget_linkage(env: Env) -> None:
    """Before global functions, every function was verified at each of its calls."""
    if not env.rules.global_functions:
        for subprog in env.subprogs:
            subprog.linkage = 0
