"""Atomic instructions: read, modify, write; loads that acquire, stores that release.  check_atomic() of kernel/bpf/verifier.c."""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EACCES, EINVAL
from arch.abi.internal import READ, WRITE
from bpf.isa.insn import (
    BPF_ADD,
    BPF_AND,
    BPF_CMPXCHG,
    BPF_DW,
    BPF_FETCH,
    BPF_LOAD_ACQ,
    BPF_OR,
    BPF_REG_0,
    BPF_STORE_REL,
    BPF_W,
    BPF_XCHG,
    BPF_XOR,
    Insn,
)
from bpf.verifier.access.memory import PACKETS, SOCKETS, check_mem_access
from bpf.verifier.access.regs import check_dst, check_src, is_pointer_value, mark_unknown, settle_bounds
from bpf.verifier.access.rewritten import note_pointer_type
from bpf.verifier.domain.types import PTR_TO_CTX, PTR_TO_FLOW_KEYS, base_type
from bpf.verifier.env import Env

_READ_MODIFY_WRITE: Final = frozenset(
    {op | fetch for op in (BPF_ADD, BPF_AND, BPF_OR, BPF_XOR) for fetch in (0, BPF_FETCH)} | {BPF_XCHG, BPF_CMPXCHG}
)
_NO_ATOMIC: Final = frozenset({PTR_TO_CTX, PTR_TO_FLOW_KEYS, *PACKETS, *SOCKETS})


def check_atomic(env: Env, insn: Insn) -> None:
    """By what the immediate says."""
    if insn.imm == BPF_LOAD_ACQ and env.rules.ordered_accesses:
        _check_load(env, insn)
    elif insn.imm == BPF_STORE_REL and env.rules.ordered_accesses:
        _check_store(env, insn)
    else:
        _check_read_modify_write(env, insn)


def _refuse_pointer(env: Env, regno: int, what: str) -> None:
    """Memory whose accesses are rewritten takes none: atomic_ptr_type_ok()."""
    word = env.regs[regno].value.type
    # packet pointers count with any flags, the rest without
    if word in _NO_ATOMIC or base_type(word) in PACKETS:
        env.reject(EACCES, f"{what} R{regno} {env.type_name(word)} is not allowed")


def _check_load(env: Env, insn: Insn) -> None:
    check_src(env, insn.src_reg)
    _refuse_pointer(env, insn.src_reg, "BPF_ATOMIC loads from")
    check_src(env, insn.src_reg)
    check_dst(env, insn.dst_reg)
    word = env.regs[insn.src_reg].value.type
    check_mem_access(env, env.insn_idx, insn.src_reg, insn.off, insn.size, READ, insn.dst_reg, True)
    note_pointer_type(env, word)
    settle_bounds(env, env.regs[insn.dst_reg], "atomic_load")


def _check_store(env: Env, insn: Insn) -> None:
    check_src(env, insn.src_reg)
    check_src(env, insn.dst_reg)
    word = env.regs[insn.dst_reg].value.type
    check_mem_access(env, env.insn_idx, insn.dst_reg, insn.off, insn.size, WRITE, insn.src_reg, True)
    note_pointer_type(env, word)
    _refuse_pointer(env, insn.dst_reg, "BPF_ATOMIC stores into")


def _check_read_modify_write(env: Env, insn: Insn) -> None:
    """A load and a store."""
    name = "BPF_ATOMIC" if env.rules.atomics else "BPF_XADD"
    if not env.rules.atomics and (insn.imm or insn.size not in (BPF_W, BPF_DW)):
        env.reject(EINVAL, "BPF_XADD uses reserved fields")
    if insn.imm not in _READ_MODIFY_WRITE:
        env.reject(EINVAL, f"BPF_ATOMIC uses invalid atomic opcode {insn.imm & 0xFFFFFFFF:02x}")
    size_code = insn.size
    if size_code not in (BPF_W, BPF_DW):
        env.reject(EINVAL, "invalid atomic operand size")
    check_src(env, insn.src_reg)
    check_src(env, insn.dst_reg)
    if insn.imm == BPF_CMPXCHG:
        check_src(env, BPF_REG_0)
        if is_pointer_value(env, env.regs[BPF_REG_0].value):
            env.reject(EACCES, "R0 leaks addr into mem")
    if is_pointer_value(env, env.regs[insn.src_reg].value):
        env.reject(EACCES, f"R{insn.src_reg} leaks addr into mem")
    _refuse_pointer(env, insn.dst_reg, f"{name} stores into")
    load_reg = -1
    if insn.imm & BPF_FETCH:
        load_reg = BPF_REG_0 if insn.imm == BPF_CMPXCHG else insn.src_reg
        mark_unknown(env, check_dst(env, load_reg))
    here, dst, off = env.insn_idx, insn.dst_reg, insn.off
    check_mem_access(env, here, dst, off, size_code, READ, -1, True)
    if load_reg >= 0:
        check_mem_access(env, here, dst, off, size_code, READ, load_reg, True)
    if env.rules.atomics_note_pointer:
        note_pointer_type(env, env.regs[dst].value.type)
    check_mem_access(env, here, dst, off, size_code, WRITE, -1, True)
