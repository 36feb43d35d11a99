"""Which kernel pointers a program may rely on, since 6.2: trusted ones, and those that a read section protects.

is_trusted_reg(), in_rcu_cs(), type_is_rcu(), type_is_trusted() of kernel/bpf/verifier.c; btf_nested_type_is_trusted() of
kernel/bpf/btf.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from arch.abi.version import KernelVersion
from bpf.verifier.domain.state import STACK_ITER, Value
from bpf.verifier.domain.types import (
    BPF_REG_TRUSTED_MODIFIERS,
    CONST_PTR_TO_MAP,
    MEM_ALLOC,
    MEM_RCU,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_MAP_VALUE,
    PTR_TO_SOCK_COMMON,
    PTR_TO_SOCKET,
    PTR_TO_TCP_SOCK,
    PTR_UNTRUSTED,
    base_type,
    has_unsafe_modifiers,
)
from bpf.verifier.env import Env

# struct that a pointer of another type is in the kernel: reg2btf_ids
STRUCT_OF: Final = {PTR_TO_SOCKET: "sock", PTR_TO_SOCK_COMMON: "sock_common", PTR_TO_TCP_SOCK: "tcp_sock"}
STRUCT_OF_6_6: Final = STRUCT_OF | {CONST_PTR_TO_MAP: "bpf_map"}

PASSES_RCU, PASSES_RCU_OR_NULL, PASSES_TRUST, PASSES_TRUST_OR_NULL = "rcu", "rcu_or_null", "trusted", "trusted_or_null"


@dataclass(frozen=True, slots=True)
class SafeField:
    """A member through which trust is passed on: BTF_TYPE_SAFE_RCU() and its like."""

    how: str
    struct: str
    member: str
    since: str
    commit: str = "-"
    until: str | None = None


SAFE_FIELDS: Final = (
    SafeField(PASSES_RCU, "task_struct", "cpus_ptr", "6.4", "6fcd486b3a0a"),
    SafeField(PASSES_RCU, "task_struct", "cgroups", "6.4", "6fcd486b3a0a"),
    SafeField(PASSES_RCU, "task_struct", "real_parent", "6.4", "6fcd486b3a0a"),
    SafeField(PASSES_RCU, "task_struct", "group_leader", "6.4", "6fcd486b3a0a"),
    SafeField(PASSES_RCU, "cgroup", "kn", "6.4", "32527cf6adf0"),
    SafeField(PASSES_RCU, "css_set", "dfl_cgrp", "6.4", "6fcd486b3a0a"),
    SafeField(PASSES_RCU, "cgroup_subsys_state", "cgroup", "6.16"),
    SafeField(PASSES_RCU_OR_NULL, "mm_struct", "exe_file", "6.4", "30ee9821f943"),
    SafeField(PASSES_RCU_OR_NULL, "mm_struct", "owner", "6.16"),
    SafeField(PASSES_RCU_OR_NULL, "sk_buff", "sk", "6.4", "30ee9821f943"),
    SafeField(PASSES_RCU_OR_NULL, "request_sock", "sk", "6.4", "30ee9821f943"),
    SafeField(PASSES_TRUST, "bpf_iter_meta", "seq", "6.3", "57539b1c0ac2"),
    SafeField(PASSES_TRUST, "bpf_iter__task", "meta", "6.3", "57539b1c0ac2"),
    SafeField(PASSES_TRUST, "bpf_iter__task", "task", "6.3", "57539b1c0ac2"),
    SafeField(PASSES_TRUST, "linux_binprm", "file", "6.3", "57539b1c0ac2"),
    SafeField(PASSES_TRUST, "file", "f_inode", "6.3", "57539b1c0ac2"),
    SafeField(PASSES_TRUST, "dentry", "d_inode", "6.4", "91571a515d1b", until="7.0"),
    SafeField(PASSES_TRUST_OR_NULL, "dentry", "d_inode", "7.0"),
    SafeField(PASSES_TRUST_OR_NULL, "socket", "sk", "6.4", "b63cbc490e18"),
    SafeField(PASSES_TRUST_OR_NULL, "vm_area_struct", "vm_mm", "6.17"),
    SafeField(PASSES_TRUST_OR_NULL, "vm_area_struct", "vm_file", "6.17"),
)


@cache
def _safe(version: KernelVersion) -> dict[tuple[str, str], frozenset[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for row in SAFE_FIELDS:
        if version.within(row.since, row.until):
            found.setdefault((row.struct, row.member), set()).add(row.how)
    return {key: frozenset(value) for key, value in found.items()}


def passes_trust(env: Env, v: Value, member: str) -> frozenset[str]:
    """How the member of the struct a register points to is trusted."""
    return _safe(env.version).get((v.raw1[v.raw1.skip(v.raw2)].name, member), frozenset())


def in_sleepable(env: Env) -> bool:
    """The program may sleep here."""
    return env.sleepable or env.cur.held.sleepable


def in_rcu_section(env: Env) -> bool:
    """What PASSES_RCU protects does not go away: in_rcu_cs()."""
    held = env.cur.held
    return bool(held.rcu) or held.lock is not None or not in_sleepable(env)


def leave_rcu_section(env: Env) -> None:
    """What the read section protected cannot be relied on any more."""
    for frame in env.cur.frames:
        slots = [slot for slot in frame.stack if slot.is_spilled_reg or STACK_ITER in slot.kinds]
        for reg in (*frame.regs, *slots):
            if reg.value.type & MEM_RCU:
                reg.value = reg.value.with_type(reg.value.type & ~(MEM_RCU | PTR_MAYBE_NULL) | PTR_UNTRUSTED)


def struct_of(env: Env, word: int) -> str | None:
    """The kernel's struct behind a pointer that is none of a kernel struct by itself."""
    table = STRUCT_OF_6_6 if env.rules.maps_are_structs else STRUCT_OF
    return table.get(base_type(word))


def is_trusted(env: Env, v: Value) -> bool:
    """is_trusted_reg()."""
    if v.ref_obj_id:
        return True
    if struct_of(env, v.type) and not has_unsafe_modifiers(v.type):
        return True
    return bool(v.type & BPF_REG_TRUSTED_MODIFIERS) and not has_unsafe_modifiers(v.type)


def is_rcu(v: Value) -> bool:
    """is_rcu_reg()."""
    return bool(v.type & MEM_RCU)


def may_hold_lock(env: Env, v: Value) -> bool:
    """reg_may_point_to_spin_lock()."""
    if v.type == PTR_TO_MAP_VALUE:
        return v.map.spin_lock_off >= 0
    if v.type != PTR_TO_BTF_ID | MEM_ALLOC:
        return False
    record = env.struct_meta(v.raw1, v.raw2)
    return record is not None and record.has("bpf_spin_lock", "bpf_res_spin_lock")
