"""Loads and stores through every kind of pointer, by instructions and by helpers.

check_mem_access(), check_helper_mem_access(), check_mem_size_reg(), check_*_access() of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EACCES, EINVAL, ENOTSUPP, EPERM
from arch.abi.internal import READ, WRITE
from arch.abi.limits import U16_MAX
from bpf import uapi
from bpf.btf.codec import Kind
from bpf.maps.types import row_of
from bpf.verifier.access import ctx_place
from bpf.verifier.access.btf_access import check_place, check_ptr_to_btf_access
from bpf.verifier.access.map_access import (
    check_map_access,
    check_map_access_type,
    check_map_kptr_access,
    check_mem_region_access,
    is_jump_table,
    kptr_at,
    load_jump,
    map_is_rdonly,
)
from bpf.verifier.access.precision import mark_chain_precision
from bpf.verifier.access.regs import is_pointer_value, mark_unknown
from bpf.verifier.access.stack import (
    check_stack_access_within_bounds,
    check_stack_range_initialized,
    check_stack_read,
    check_stack_write,
    note_stack_depth,
)
from bpf.verifier.context import ctx, ctx_net
from bpf.verifier.context.btf_walk import btf_struct_access
from bpf.verifier.context.ctx_rule import AccessInfo
from bpf.verifier.context.struct_ops import struct_access
from bpf.verifier.domain.bounds import coerce_reg_to_size, reg_bounds_sync, s64
from bpf.verifier.domain.call_meta import CallMeta
from bpf.verifier.domain.null import not_null
from bpf.verifier.domain.scalar import with_fixed_offset
from bpf.verifier.domain.sign_extend import extend64
from bpf.verifier.domain.state import DEF_NOT_SUBREG, UNKNOWN, Reg, Value, known_scalar, known_zero
from bpf.verifier.domain.tnum import tnum_add, tnum_const, tnum_is_aligned, tnum_text
from bpf.verifier.domain.types import (
    CONST_PTR_TO_MAP,
    MEM_RDONLY,
    NOT_INIT,
    PTR_MAYBE_NULL,
    PTR_TO_ARENA,
    PTR_TO_BTF_ID,
    PTR_TO_BUF,
    PTR_TO_CTX,
    PTR_TO_FLOW_KEYS,
    PTR_TO_MAP_KEY,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    PTR_TO_PACKET,
    PTR_TO_PACKET_META,
    PTR_TO_SOCK_COMMON,
    PTR_TO_SOCKET,
    PTR_TO_STACK,
    PTR_TO_TCP_SOCK,
    PTR_TO_TP_BUFFER,
    PTR_TO_XDP_SOCK,
    PTR_UNTRUSTED,
    SCALAR_VALUE,
    base_type,
)
from bpf.verifier.env import BPF_MAX_VAR_SIZ, Env
from bpf.verifier.lines.source import verbose_linfo
from bpf.verifier.log.since_6_8 import constant_text
from bpf.verifier.protos import attach_rules
from bpf.verifier.protos.attach_rules import lsm_result_range

SIZES: Final = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}  # bytes, by the size field of an opcode
_FLOW_KEYS_SIZE: Final = 56  # sizeof(struct bpf_flow_keys)

PACKETS: Final = (PTR_TO_PACKET, PTR_TO_PACKET_META)
SOCKETS: Final = (PTR_TO_SOCKET, PTR_TO_SOCK_COMMON, PTR_TO_TCP_SOCK, PTR_TO_XDP_SOCK)

_POINTER_NAMES: Final = {
    PTR_TO_FLOW_KEYS: "flow keys ",
    PTR_TO_MAP_KEY: "key ",
    PTR_TO_MAP_VALUE: "value ",
    PTR_TO_CTX: "context ",
    PTR_TO_STACK: "stack ",
    PTR_TO_SOCKET: "sock ",
    PTR_TO_SOCK_COMMON: "sock_common ",
    PTR_TO_TCP_SOCK: "tcp_sock ",
    PTR_TO_XDP_SOCK: "xdp_sock ",
}

_READS_PACKET: Final = attach_rules.PACKET_READ_ONLY_PROG_TYPES
_WRITES_PACKET: Final = attach_rules.PACKET_READ_WRITE_PROG_TYPES


def may_access_direct_pkt_data(env: Env, meta: CallMeta | None, access: int) -> bool:
    """This type of program, or this helper called from it, may touch packet bytes."""
    kind = env.prog_type
    if kind in _READS_PACKET and access == WRITE:
        return False
    if kind in _READS_PACKET or kind in _WRITES_PACKET:
        if meta is not None:
            return meta.pkt_access
        env.seen_direct_write = True
        return True
    if kind == uapi.BPF_PROG_TYPE_CGROUP_SOCKOPT:
        if access == WRITE:
            env.seen_direct_write = True
        return True
    return False


# ---- alignment ----


def check_ptr_alignment(env: Env, v: Value, off: int, size: int, strict_once: bool) -> None:
    """The access is aligned, where that is asked for; on the stack it always is."""
    if v.type == PTR_TO_ARENA:
        return
    strict = env.strict_alignment or strict_once or v.type == PTR_TO_STACK or is_jump_table(v)
    if not strict or size == 1:
        return
    if env.rules.offsets_in_bounds:
        v = with_fixed_offset(v)
    fixed = "" if env.rules.offsets_in_bounds else f"+{v.off}"
    where = tnum_text(v.var_off) if v.var_off[1] or not env.rules.offsets_in_bounds else constant_text(v.var_off[0])
    if v.type in PACKETS:
        ip_align = 2  # the kernel assumes NET_IP_ALIGN of the least fortunate architecture
        if not tnum_is_aligned(tnum_add(v.var_off, tnum_const(ip_align + v.off + off)), size):
            env.reject(EACCES, f"misaligned packet access off {ip_align}+{where}{fixed}+{off} size {size}")
        return
    if not tnum_is_aligned(tnum_add(v.var_off, tnum_const(v.off + off)), size):
        name = _POINTER_NAMES.get(v.type, "")
        env.reject(EACCES, f"misaligned {name}access off {where}{fixed}+{off} size {size}")


# ---- kinds of memory ----


def _cannot_write(env: Env, regno: int, word: int) -> None:
    env.reject(EACCES, f"R{regno} cannot write into {env.type_name(word)}")


def _check_no_leak(env: Env, access: int, value_regno: int, where: str) -> None:
    if access == WRITE and value_regno >= 0 and is_pointer_value(env, env.regs[value_regno].value):
        env.reject(EACCES, f"R{value_regno} leaks addr into {where}")


def _loaded(env: Env, value_regno: int, happened: bool = True) -> None:
    if happened and value_regno >= 0:
        mark_unknown(env, env.regs[value_regno])


def _access_map_key(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    if access == WRITE:
        env.reject(EACCES, f"write to change key R{regno} not allowed")
    check_mem_region_access(env, regno, off, size, env.regs[regno].value.map.key_size, False)
    _loaded(env, value_regno)


def _access_map_value(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    v = env.regs[regno].value
    m = v.map
    _check_no_leak(env, access, value_regno, "map")
    check_map_access_type(env, regno, off, size, access)
    check_map_access(env, regno, off, size, False, direct=True)
    at = off + s64(v.var_off[0])
    field = kptr_at(m, at) if not v.var_off[1] else None
    if field is not None:
        check_map_kptr_access(env, value_regno, insn, field)
    elif access == READ and value_regno >= 0 and m.jumps is not None:
        load_jump(env, v, off, size, env.regs[value_regno])
    elif access == READ and value_regno >= 0:
        if not v.var_off[1] and map_is_rdonly(m) and m.value_read is not None:
            # the value can never change: it is a constant of the program
            if m.max_entries != 1:
                env.reject(ENOTSUPP)  # array_map_direct_value_addr()
            env.regs[value_regno].value = known_scalar(m.value_read(at, size))
        else:
            mark_unknown(env, env.regs[value_regno])


def _access_mem(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    v = env.regs[regno].value
    rdonly = bool(v.type & MEM_RDONLY)
    if v.type & PTR_MAYBE_NULL:
        env.reject(EACCES, f"R{regno} invalid mem access '{env.type_name(v.type)}'")
    if access == WRITE and rdonly:
        _cannot_write(env, regno, v.type)
    _check_no_leak(env, access, value_regno, "mem")
    if not (rdonly and v.type & PTR_UNTRUSTED):  # what may not be there is read as such, wherever it is
        check_mem_region_access(env, regno, off, size, v.raw1, False)
    _loaded(env, value_regno, access == READ or rdonly)


def _access_ctx(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    _check_no_leak(env, access, value_regno, "ctx")
    off = ctx_place.offset(env, regno, off, size)
    info = AccessInfo(log=env.verbose)
    if not ctx.is_valid_access(env, off, size, access, info):
        env.verbose(f"invalid bpf_context access off={off} size={size}\n")
        verbose_linfo(env, insn, "; ")
        env.reject(EACCES)
    env.facts.writes_registers |= info.writes_registers
    word = info.reg_type
    if base_type(word) != PTR_TO_BTF_ID:
        env.aux[insn].ctx_field_size = info.ctx_field_size
    env.facts.max_ctx_offset = max(env.facts.max_ctx_offset, off + size)
    if access != READ or value_regno < 0:
        return
    reg = env.regs[value_regno]
    if word == SCALAR_VALUE:
        mark_unknown(env, reg)
        if info.is_retval:
            reg.value = _returned_by_hook(env)
        return
    value = known_zero(word)
    if word & PTR_MAYBE_NULL:
        value.id = env.new_id()
    if base_type(word) == PTR_TO_BTF_ID:
        value.raw1, value.raw2 = info.btf, info.btf_id
    reg.value = value
    reg.subreg_def = DEF_NOT_SUBREG


def _returned_by_hook(env: Env) -> Value:
    """What the security hook returned before: __mark_reg_s32_range()."""
    v = UNKNOWN.copy()
    v.smin, v.smax = v.s32_min, v.s32_max = lsm_result_range(env.facts.attach_func_name)
    reg_bounds_sync(v)
    return v


def _access_arena(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    _loaded(env, value_regno, access == READ)  # where nothing is, a load gives 0 and a store does nothing


def _access_stack(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    check_stack_access_within_bounds(env, regno, off, size, False, access)
    if not env.rules.stack_grows_when_checked:
        note_stack_depth(env, env.cur.frames[env.regs[regno].value.frameno], off)
    if access == READ:
        check_stack_read(env, regno, off, size, value_regno)
    else:
        check_stack_write(env, regno, off, size, value_regno, insn)


def check_packet_access(env: Env, regno: int, off: int, size: int, zero_size_ok: bool) -> None:
    """The bytes were found to be before the packet's end."""
    v = env.regs[regno].value
    if env.rules.offsets_in_bounds:
        if v.raw1 < 0:
            env.reject(EINVAL, f"R{regno} offset is outside of the packet")
        check_mem_region_access(env, regno, off, size, v.raw1, zero_size_ok)
        _note_packet_reach(env, v, off, size)
        return
    if v.smin < 0:
        env.reject(
            EACCES,
            f"R{regno} min value is negative, either use unsigned index or do a if (index >=0) check.",
        )
    text = f"R{regno} offset is outside of the packet\n"
    if v.raw1 < 0:
        env.verbose(text)
        env.reject(EINVAL)
    if not (off >= 0 and (size > 0 or (size == 0 and zero_size_ok)) and off + size <= v.raw1):
        env.verbose(f"invalid access to packet, off={off} size={size}, R{regno}(id={v.id},off={off},r={v.raw1})\n")
        env.verbose(text)
        env.reject(EACCES)
    _note_packet_reach(env, v, off, size)


def _note_packet_reach(env: Env, v: Value, off: int, size: int) -> None:
    reach = (off + v.umax + size - 1) & 0xFFFFFFFF
    env.facts.max_pkt_offset = max(env.facts.max_pkt_offset, reach)


def _access_packet(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    if access == WRITE and not may_access_direct_pkt_data(env, None, access):
        env.reject(EACCES, "cannot write into packet")
    _check_no_leak(env, access, value_regno, "packet")
    check_packet_access(env, regno, off, size, False)
    _loaded(env, value_regno, access == READ)


def _access_flow_keys(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    _check_no_leak(env, access, value_regno, "flow keys")
    if off < 0 or off + size > _FLOW_KEYS_SIZE:
        env.reject(EACCES, f"invalid access to flow keys off={off} size={size}")
    _loaded(env, value_regno, access == READ)


_SOCK_CHECKS: Final = {
    PTR_TO_SOCK_COMMON: ctx_net.sock_common_is_valid_access,
    PTR_TO_SOCKET: ctx_net.sock_is_valid_access,
    PTR_TO_TCP_SOCK: ctx_net.tcp_sock_is_valid_access,
    PTR_TO_XDP_SOCK: ctx_net.xdp_sock_is_valid_access,
}


def _access_sock(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    v = env.regs[regno].value
    if access == WRITE:
        _cannot_write(env, regno, v.type)
    if v.smin < 0:
        env.reject(
            EACCES,
            f"R{regno} min value is negative, either use unsigned index or do a if (index >=0) check.",
        )
    info = AccessInfo(reg_type=0)
    if not _SOCK_CHECKS[v.type](env, off, size, access, info):
        env.reject(EACCES, f"R{regno} invalid {env.type_name(v.type)} access off={off} size={size}")
    env.aux[insn].ctx_field_size = info.ctx_field_size
    _loaded(env, value_regno)


def _check_buffer(env: Env, kind: str, v: Value, regno: int, off: int, size: int) -> None:
    """__check_buffer_access(): the size is only known when the program is attached."""
    fixed = v.off if env.rules.offsets_in_bounds else 0
    off -= fixed
    if off < 0:
        env.reject(EACCES, f"R{regno} invalid {kind} buffer access: off={off}, size={size}")
    if v.var_off != (0, 0):
        where = tnum_text(v.var_off)
        env.reject(EACCES, f"R{regno} invalid variable buffer offset: off={off}, var_off={where}")
    if fixed < 0:
        env.reject(EACCES, f"R{regno} invalid negative {kind} buffer offset: off={off}, var_off={fixed}")


def _access_tp_buffer(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    _check_buffer(env, "tracepoint", env.regs[regno].value, regno, off, size)
    env.facts.max_tp_access = max(env.facts.max_tp_access, off + size)
    _loaded(env, value_regno, access == READ)


def _check_buffer_access(env: Env, v: Value, regno: int, off: int, size: int) -> None:
    rdonly = bool(v.type & MEM_RDONLY)
    _check_buffer(env, "rdonly" if rdonly else "rdwr", v, regno, off, size)
    facts = env.facts
    if rdonly:
        facts.max_rdonly_access = max(facts.max_rdonly_access, off + size)
    else:
        facts.max_rdwr_access = max(facts.max_rdwr_access, off + size)


def _access_buffer(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    v = env.regs[regno].value
    rdonly = bool(v.type & MEM_RDONLY)
    if rdonly and access == WRITE:
        _cannot_write(env, regno, v.type)
    _check_buffer_access(env, v, regno, off, size)
    _loaded(env, value_regno, rdonly or access == READ)


def _mark_btf_load(env: Env, value_regno: int, loaded: tuple[int, int, int], btf: object, flags: int) -> None:
    """mark_btf_ld_reg()."""
    word, type_id, _ = loaded
    reg = env.regs[value_regno]
    if word == SCALAR_VALUE:
        mark_unknown(env, reg)
    else:
        reg.value = known_zero(PTR_TO_BTF_ID | flags, btf, type_id)


def _access_btf(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    if env.rules.trusted_pointers:
        check_ptr_to_btf_access(env, regno, off, size, access, value_regno)
        return
    v = env.regs[regno].value
    check_place(env, regno, off)
    if env.struct_ops:
        loaded = struct_access(env, v.raw1, v.raw2, off, size, access)
    else:
        if access != READ:
            _refuse_btf_write(env)
        loaded = btf_struct_access(env, v.raw1, v.raw2, off, size)
    flags = loaded[2] | (v.type & PTR_UNTRUSTED)
    if access == READ and value_regno >= 0:
        _mark_btf_load(env, value_regno, loaded, v.raw1, flags)


def _refuse_btf_write(env: Env) -> None:
    """Nothing of the kernel may be written; connection tracking, a module, would have its say for some types."""
    if env.prog_type in (uapi.BPF_PROG_TYPE_SCHED_CLS, uapi.BPF_PROG_TYPE_SCHED_ACT, uapi.BPF_PROG_TYPE_XDP):
        env.reject(EACCES)
    env.reject(EACCES, "only read is supported")


def _access_map_ptr(env: Env, regno: int, off: int, size: int, access: int, value_regno: int, insn: int) -> None:
    m = env.regs[regno].value.map
    name = row_of(m.map_type).struct
    if env.vmlinux is None:
        env.reject(ENOTSUPP, "map_ptr access not supported without CONFIG_DEBUG_INFO_BTF")
    type_id = env.vmlinux.find(name, Kind.STRUCT) if name else 0
    if not type_id:
        env.reject(ENOTSUPP, f"map_ptr access not supported for map type {m.map_type}")
    if not env.allow_ptr_to_map_access:
        shown = f"'struct {name}'" if env.rules.map_struct_quoted else name
        env.reject(EPERM, f"{shown} access is allowed only to CAP_PERFMON and CAP_SYS_ADMIN")
    if off < 0:
        env.reject(EACCES, f"R{regno} is {name} invalid negative access: off={off}")
    if access != READ:
        env.reject(EACCES, f"only read from {name} is supported")
    loaded = btf_struct_access(env, env.vmlinux, type_id, off, size)
    if value_regno >= 0:
        _mark_btf_load(env, value_regno, loaded, env.vmlinux, loaded[2])


_EXACT: Final = {
    PTR_TO_MAP_KEY: _access_map_key,
    PTR_TO_MAP_VALUE: _access_map_value,
    PTR_TO_CTX: _access_ctx,
    PTR_TO_STACK: _access_stack,
    PTR_TO_PACKET: _access_packet,
    PTR_TO_PACKET_META: _access_packet,
    PTR_TO_FLOW_KEYS: _access_flow_keys,
    PTR_TO_SOCKET: _access_sock,
    PTR_TO_SOCK_COMMON: _access_sock,
    PTR_TO_TCP_SOCK: _access_sock,
    PTR_TO_XDP_SOCK: _access_sock,
    PTR_TO_TP_BUFFER: _access_tp_buffer,
    CONST_PTR_TO_MAP: _access_map_ptr,
    PTR_TO_ARENA: _access_arena,
}
_WITH_FLAGS: Final = {PTR_TO_BTF_ID: _access_btf, PTR_TO_BUF: _access_buffer}


def check_mem_access(
    env: Env,
    insn_idx: int,
    regno: int,
    off: int,
    size_code: int,
    access: int,
    value_regno: int,
    strict_once: bool = False,
    *,
    signed: bool = False,
) -> None:
    """One load into, or store of, register `value_regno` (-1: none) at regno + off."""
    v = env.regs[regno].value
    size = SIZES[size_code]
    check_ptr_alignment(env, v, off, size, strict_once)
    off += v.off
    handler = _EXACT.get(v.type)
    if handler is None:
        base = base_type(v.type)
        if base == PTR_TO_MEM:
            handler = _access_mem
        elif not v.type & PTR_MAYBE_NULL:
            handler = _WITH_FLAGS.get(base)
    if handler is None:
        env.reject(EACCES, f"R{regno} invalid mem access '{env.type_name(v.type)}'")
    handler(env, regno, off, size, access, value_regno, insn_idx)
    if size < 8 and value_regno >= 0 and access == READ:
        reg = env.regs[value_regno]
        if signed:
            _extend_sign(env, reg, size)
        elif reg.value is UNKNOWN:
            reg.value = _UNKNOWN_OF_SIZE[size]
        elif reg.value.type == SCALAR_VALUE:
            reg.value = reg.value.copy()
            coerce_reg_to_size(reg.value, size)


def _extend_sign(env: Env, reg: Reg, size: int) -> None:
    if reg.value.type == SCALAR_VALUE:
        changes = reg.value.umax >> 8 * size - 1
        v = reg.value.without_id() if changes and env.rules.signed_fills_unlinked else reg.value
        reg.value = v.copy()
        extend64(reg.value, size)


def _unknown_of_size(size: int) -> Value:
    v = UNKNOWN.copy()
    coerce_reg_to_size(v, size)
    return v


_UNKNOWN_OF_SIZE: Final = {size: _unknown_of_size(size) for size in (1, 2, 4)}


# ---- memory given to helpers ----


def check_helper_mem_access(
    env: Env, regno: int, size: int, access: int, zero_size_ok: bool, meta: CallMeta | None
) -> None:
    """A helper reads or writes `size` bytes where the register points."""
    v = env.regs[regno].value
    base = base_type(v.type)
    if not env.rules.access_of_argument:
        access = WRITE if meta is not None and meta.raw_mode else READ
    if v.type & PTR_MAYBE_NULL and not env.rules.composed_types:
        base = NOT_INIT  # a type of its own then, which is no memory
    if base in PACKETS:
        check_packet_access(env, regno, v.off, size, zero_size_ok)
    elif base == PTR_TO_MAP_KEY:
        if access == WRITE:
            _cannot_write(env, regno, v.type)
        check_mem_region_access(env, regno, v.off, size, v.map.key_size, False)
    elif base == PTR_TO_MAP_VALUE:
        check_map_access_type(env, regno, v.off, size, access)
        check_map_access(env, regno, v.off, size, zero_size_ok, direct=False)
    elif base == PTR_TO_MEM:
        if v.type & MEM_RDONLY and access == WRITE:
            _cannot_write(env, regno, v.type)
        check_mem_region_access(env, regno, v.off, size, v.raw1, zero_size_ok)
    elif base == PTR_TO_BUF:
        if v.type & MEM_RDONLY and access == WRITE:
            if not env.rules.composed_types:
                env.reject(EACCES)
            _cannot_write(env, regno, v.type)
        _check_buffer_access(env, v, regno, v.off, size)
    elif base == PTR_TO_STACK:
        check_stack_range_initialized(env, regno, v.off, size, zero_size_ok, True, meta, access)
    elif base == PTR_TO_BTF_ID and env.rules.memory_for_keys:
        check_ptr_to_btf_access(env, regno, v.off, size, READ, -1)
    elif base == PTR_TO_CTX and ctx_place.offsets_vary(env):
        check_mem_region_access(env, regno, v.off, size, U16_MAX, zero_size_ok)
        env.facts.max_ctx_offset = max(env.facts.max_ctx_offset, v.off + v.umax + size)
    elif base == PTR_TO_CTX and ctx_place.is_memory(env):
        # the context is plain memory: any of it will do, up to its last byte
        if size == 0:
            if zero_size_ok:
                return
            env.reject(EACCES)
        check_mem_access(env, env.insn_idx, regno, size - 1, 0x10, access, -1)
    elif not (zero_size_ok and size == 0 and v.is_null):
        env.reject(EACCES, f"R{regno} type={env.type_name(v.type)} expected=fp")


def check_mem_size_reg(env: Env, regno: int, access: int, zero_size_ok: bool, meta: CallMeta | None) -> None:
    """Register `regno` has the size of the memory that register regno - 1 points to."""
    v = env.regs[regno].value
    if meta is not None:
        meta.msize_max_value = v.umax
    if v.var_off[1]:
        # of an unknown number of bytes, none may be uninitialised
        meta = None
    if v.smin < 0:
        env.reject(EACCES, f"R{regno} min value is negative, either use unsigned or 'var &= const'")
    if v.umin == 0 and env.rules.zero_size_named:
        if not zero_size_ok:
            env.reject(EACCES, f"R{regno} invalid zero-sized read: u64=[{s64(v.umin)},{s64(v.umax)}]")
    elif v.umin == 0:
        check_helper_mem_access(env, regno - 1, 0, access, zero_size_ok, meta)
    if v.umax >= BPF_MAX_VAR_SIZ:
        env.reject(EACCES, f"R{regno} unbounded memory access, use 'var &= const' or 'if (var < const)'")
    check_helper_mem_access(env, regno - 1, v.umax, access, zero_size_ok, meta)
    mark_chain_precision(env, regno)


def check_mem_reg(env: Env, regno: int, size: int) -> None:
    """An argument of a global or kernel function points to `size` bytes, or is NULL."""
    reg = env.regs[regno]
    saved = reg.value
    if saved.is_null:
        return
    if saved.type & PTR_MAYBE_NULL:
        reg.value = not_null(saved)
    size *= -1 if base_type(saved.type) == PTR_TO_STACK else 1  # negative: what was forgotten there will do
    try:
        for access in (READ, WRITE):
            check_helper_mem_access(env, regno, size, access, True, None)
    finally:
        reg.value = saved


def check_kfunc_mem_size_reg(env: Env, regno: int) -> None:
    """A pair of pointer and size given to a kernel function."""
    reg = env.regs[regno - 1]
    saved = reg.value
    if saved.type & PTR_MAYBE_NULL:
        reg.value = not_null(saved)
    meta = CallMeta()
    try:
        for access in (READ, WRITE):
            check_mem_size_reg(env, regno, access, True, meta)
    finally:
        reg.value = saved
