"""Bounds of accesses to memory of known size, and to map values with their special fields.

__check_mem_access(), check_mem_region_access(), check_map_access*() and check_map_kptr_access() of
kernel/bpf/verifier.c.
"""

from __future__ import annotations

from typing import Final, NoReturn

from arch.abi.errno import EACCES, EINVAL
from arch.abi.internal import READ, WRITE
from arch.abi.limits import U64_MAX
from bpf import uapi
from bpf.isa.insn import BPF_LDX, BPF_MEM, BPF_ST, BPF_STX
from bpf.maps.base import KPTR_SIZE, SPIN_LOCK_SIZE, TIMER_SIZE
from bpf.maps.info import JUMP_SIZE
from bpf.verifier.access.trust import in_rcu_section
from bpf.verifier.api import KptrField, MapInfo
from bpf.verifier.context.btf_walk import btf_struct_ids_match
from bpf.verifier.domain.bounds import s32
from bpf.verifier.domain.scalar import with_fixed_offset
from bpf.verifier.domain.state import S64_MIN, Reg, Value, known_zero
from bpf.verifier.domain.tnum import tnum_text
from bpf.verifier.domain.types import (
    MEM_ALLOC,
    MEM_PERCPU,
    MEM_RCU,
    NON_OWN_REF,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_INSN,
    PTR_TO_MAP_KEY,
    PTR_TO_MAP_VALUE,
    PTR_TO_PACKET,
    PTR_TO_PACKET_END,
    PTR_TO_PACKET_META,
    PTR_TRUSTED,
    PTR_UNTRUSTED,
    base_type,
    type_flag,
)
from bpf.verifier.env import BPF_MAX_VAR_OFF, Env, Rejected
from bpf.verifier.lines.state import print_verifier_state


def check_in_region(env: Env, regno: int, off: int, size: int, mem_size: int, zero_size_ok: bool) -> None:
    """[off, off + size) lies in [0, mem_size): __check_mem_access()."""
    off = s32(off)
    size = s32(size)
    if off >= 0 and (size > 0 or (size == 0 and zero_size_ok)) and off + size <= mem_size:
        return
    v = env.regs[regno].value
    if v.type == PTR_TO_MAP_KEY:
        what = f"map key, key_size={mem_size} off={off} size={size}"
    elif v.type == PTR_TO_MAP_VALUE:
        what = f"map value, value_size={mem_size} off={off} size={size}"
    elif v.type in (PTR_TO_PACKET, PTR_TO_PACKET_META, PTR_TO_PACKET_END):
        what = f"packet, off={off} size={size}, R{regno}(id={v.id},off={off},r={mem_size})"
    else:
        what = f"memory, mem_size={mem_size} off={off} size={size}"
    env.reject(EACCES, f"invalid access to {what}")


def check_mem_region_access(env: Env, regno: int, off: int, size: int, mem_size: int, zero_size_ok: bool) -> None:
    """An access through a pointer with a variable offset stays inside, at both ends of its range."""
    v = env.regs[regno].value
    if env.level and not env.rules.state_after_insn:
        print_verifier_state(env, env.frame, True)
    if env.rules.offsets_in_bounds:
        off -= v.off
        v = with_fixed_offset(v)
    low = v.smin + off
    if v.smin < 0 and (v.smin == S64_MIN or low != s32(low) or low < 0):
        env.reject(
            EACCES,
            f"R{regno} min value is negative, either use unsigned index or do a if (index >=0) check.",
        )
    try:
        check_in_region(env, regno, low, size, mem_size, zero_size_ok)
    except Rejected:
        env.reject(EACCES, f"R{regno} min value is outside of the allowed memory range")
    if v.umax >= BPF_MAX_VAR_OFF:
        env.reject(EACCES, f"R{regno} unbounded memory access, make sure to bounds check any such access")
    try:
        check_in_region(env, regno, v.umax + off, size, mem_size, zero_size_ok)
    except Rejected:
        env.reject(EACCES, f"R{regno} max value is outside of the allowed memory range")


def check_map_access_type(env: Env, regno: int, off: int, size: int, access: int) -> None:
    """Programs may read and write this map: BPF_F_RDONLY_PROG, BPF_F_WRONLY_PROG."""
    m = env.regs[regno].value.map
    if access == WRITE and m.map_flags & uapi.BPF_F_RDONLY_PROG:
        env.reject(EACCES, f"write into map forbidden, value_size={m.value_size} off={off} size={size}")
    if access == READ and m.map_flags & uapi.BPF_F_WRONLY_PROG:
        env.reject(EACCES, f"read from map forbidden, value_size={m.value_size} off={off} size={size}")


def map_is_rdonly(m: MapInfo) -> bool:
    """Nobody can change the values any more: bpf_map_is_rdonly()."""
    return bool(m.map_flags & uapi.BPF_F_RDONLY_PROG) and m.frozen and not m.writecnt


def kptr_at(m: MapInfo, off: int) -> KptrField | None:
    """The kernel pointer kept at this offset: bpf_map_kptr_off_contains()."""
    for field in m.kptrs:
        if field.offset == off:
            return field
    return None


def map_mem_size(m: MapInfo) -> int:
    """Bytes behind a pointer to a value: of places in the program all their addresses."""
    return m.value_size if m.jumps is None else m.max_entries * JUMP_SIZE


def is_jump_table(v: Value) -> bool:
    """It points to addresses of instructions."""
    return v.type == PTR_TO_MAP_VALUE and v.map.jumps is not None


def load_jump(env: Env, v: Value, off: int, size: int, reg: Reg) -> None:
    """One of them becomes a place to jump to."""
    if size != JUMP_SIZE:
        env.reject(EACCES, f"Invalid read of {size} bytes from insn_array")
    reg.value = v.with_type(PTR_TO_INSN)
    reg.value.off = off


def check_map_access(env: Env, regno: int, off: int, size: int, zero_size_ok: bool, *, direct: bool) -> None:
    """An access to a map value is inside and does not touch locks, timers or (except as such) kernel pointers."""
    v = env.regs[regno].value
    m = v.map
    check_mem_region_access(env, regno, off, size, map_mem_size(m), zero_size_ok)
    low, high = v.smin + off, v.umax + off + size

    def touches(field: int, width: int) -> bool:
        return low < field + width and field < high

    if m.spin_lock_off >= 0 and touches(m.spin_lock_off, SPIN_LOCK_SIZE):
        env.reject(EACCES, "bpf_spin_lock cannot be accessed directly by load/store")
    if m.timer_off >= 0 and touches(m.timer_off, TIMER_SIZE):
        env.reject(EACCES, "bpf_timer cannot be accessed directly by load/store")
    for name, offset, width in m.closed:
        if touches(offset, width):
            env.reject(EACCES, f"{name} cannot be accessed directly by load/store")
    for field in m.kptrs:
        if touches(field.offset, KPTR_SIZE):
            _check_kptr_range(env, v, field, off, size, direct)
            break


def _check_kptr_range(env: Env, v: Value, field: KptrField, off: int, size: int, direct: bool) -> None:
    if not direct:
        env.reject(EACCES, "kptr cannot be accessed indirectly by helper")
    if v.var_off[1]:
        env.reject(EACCES, "kptr access cannot have variable offset")
    at = (off + v.var_off[0]) & U64_MAX
    if field.offset != at:
        env.reject(EACCES, f"kptr access misaligned expected={field.offset} off={at}")
    if size != KPTR_SIZE:
        env.reject(EACCES, "kptr access size must be BPF_DW")


def map_kptr_match_type(env: Env, field: KptrField, v: Value, regno: int) -> None:
    """The pointer may be stored in this field of a map value."""
    if env.rules.trusted_pointers:
        _match_since_6_2(env, field, v, regno)
        return
    allowed = PTR_MAYBE_NULL | (0 if field.referenced else PTR_UNTRUSTED)
    name = ""
    vmlinux = env.vmlinux
    if base_type(v.type) == PTR_TO_BTF_ID and not type_flag(v.type) & ~allowed:
        if v.raw1 is not vmlinux:
            env.reject(EINVAL, f"R{regno} must point to kernel BTF")
        name = v.raw1.name_of(v.raw2)
        check_ptr_off_reg(env, v, regno, True)
        if btf_struct_ids_match(env, v.raw1, v.raw2, v.off, vmlinux, field.btf_id, field.referenced):
            return
    _bad_kptr(env, field, v, regno, name)


def _match_since_6_2(env: Env, field: KptrField, v: Value, regno: int) -> None:
    """Kernel pointers, and objects of the program's own, in the fields that are for them."""
    if base_type(v.type) != PTR_TO_BTF_ID:
        _bad_kptr(env, field, v, regno, "")
    if v.raw1 is env.vmlinux:
        allowed = PTR_MAYBE_NULL | PTR_TRUSTED | MEM_RCU | (0 if field.referenced else PTR_UNTRUSTED)
    else:
        allowed = PTR_MAYBE_NULL | MEM_ALLOC | (MEM_PERCPU if field.percpu else 0)
    if type_flag(v.type) & ~allowed or field.percpu != bool(v.type & MEM_PERCPU):
        _bad_kptr(env, field, v, regno, "")
    check_ptr_off_reg(env, v, regno, True)
    walks = not v.type & MEM_ALLOC
    if not btf_struct_ids_match(
        env, v.raw1, v.raw2, v.off, field.btf or env.vmlinux, field.btf_id, field.referenced, walks
    ):
        _bad_kptr(env, field, v, regno, v.raw1.name_of(v.raw2))


def _bad_kptr(env: Env, field: KptrField, v: Value, regno: int, name: str) -> NoReturn:
    wanted = field.name or env.vmlinux.name_of(field.btf_id)
    text = f"invalid kptr access, R{regno} type={env.type_name(v.type)}{name} expected=ptr_{wanted}"
    if not field.referenced:
        text += f" or untrusted_ptr_{wanted}"
    env.reject(EINVAL, text)


def check_map_kptr_access(env: Env, value_regno: int, insn_idx: int, field: KptrField) -> None:
    """A load or store of a kernel pointer in a map value."""
    insn = env.insns[insn_idx]
    class_ = insn.cls
    if insn.mode != BPF_MEM:
        env.reject(EACCES, "kptr in map can only be accessed using BPF_MEM instruction mode")
    if class_ != BPF_LDX and field.referenced:
        env.reject(EACCES, "store to referenced kptr disallowed")
    if class_ == BPF_LDX:
        word = PTR_TO_BTF_ID | PTR_MAYBE_NULL | _loaded_kptr(env, field)
        env.regs[value_regno].value = known_zero(word, field.btf or env.vmlinux, field.btf_id, number=env.new_id())
    elif class_ == BPF_STX:
        v = env.regs[value_regno].value
        if not v.is_null:
            try:
                map_kptr_match_type(env, field, v, value_regno)
            except Rejected:
                env.reject(EACCES)
    elif class_ == BPF_ST:
        if insn.imm:
            env.reject(EACCES, f"BPF_ST imm must be 0 when storing to kptr at off={field.offset}")
    else:
        env.reject(EACCES, "kptr in map can only be accessed using BPF_LDX/BPF_STX/BPF_ST")


_RCU_PROTECTED: Final = ("prog_test_ref_kfunc", "cgroup", "task_struct", "bpf_cpumask", "bpf_crypto_ctx")


def _loaded_kptr(env: Env, field: KptrField) -> int:
    """What a pointer out of a map can be trusted with: btf_ld_kptr_type()."""
    protected = field.percpu or (field.referenced and (field.btf is not None or field.name in _RCU_PROTECTED))
    if not env.rules.trusted_pointers or not protected or not in_rcu_section(env):
        return PTR_UNTRUSTED
    flags = MEM_RCU | (MEM_PERCPU if field.percpu else MEM_ALLOC if field.btf is not None else 0)
    record = env.struct_meta(field.btf, field.btf_id) if field.btf is not None else None
    return flags | (NON_OWN_REF if record is not None and record.has("bpf_rb_node", "bpf_list_node") else 0)


def check_ptr_off_reg(env: Env, v: Value, regno: int, fixed_off_ok: bool = False) -> None:
    """The pointer has no variable offset, and (unless fixed_off_ok) no fixed one."""
    name = env.type_name(v.type)
    if v.off < 0 and env.rules.argument_offsets:
        env.reject(EACCES, f"negative offset {name} ptr R{regno} off={v.off} disallowed")
    if not fixed_off_ok and v.off:
        env.reject(EACCES, f"dereference of modified {name} ptr R{regno} off={v.off} disallowed")
    if v.var_off != (0, 0):
        env.reject(EACCES, f"variable {name} access var_off={tnum_text(v.var_off)} disallowed")
