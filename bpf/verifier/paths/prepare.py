"""Before the walk: the program's BTF, and what its ld_imm64 instructions mean.

check_btf_info(), resolve_pseudo_ldimm64(), check_pseudo_btf_id() and check_map_prog_compatibility() of
kernel/bpf/verifier.c.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from arch.abi.errno import E2BIG, EBADF, EBUSY, EFAULT, EINVAL, ENOENT, ENOTSUPP, EOPNOTSUPP, EPERM, EPROTO, ERANGE
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from bpf import uapi
from bpf.btf.codec import COMPOSITES, Btf, BtfError, Kind
from bpf.btf.ext import CoreRelo
from bpf.btf.record import GRAPH_ROOTS, RES_SPIN_LOCK, WORKQUEUE
from bpf.isa.insn import (
    BPF_ATOMIC,
    BPF_GOTOX,
    BPF_JMP32,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_MEM,
    BPF_PSEUDO_BTF_ID,
    BPF_PSEUDO_FUNC,
    BPF_PSEUDO_MAP_FD,
    BPF_PSEUDO_MAP_IDX,
    BPF_PSEUDO_MAP_IDX_VALUE,
    BPF_PSEUDO_MAP_VALUE,
    BPF_STX,
    MAX_BPF_REG,
    Insn,
    signed32,
)
from bpf.isa.opcodes import opcodes
from bpf.loader.core import Relocator
from bpf.loader.errors import LoadError
from bpf.maps.info import JumpTable
from bpf.maps.types import row_of
from bpf.verifier.api import MapInfo
from bpf.verifier.context.btf_walk import is_any_enum, is_small_int, resolve_size, type_by_id
from bpf.verifier.domain.types import MEM_PERCPU, MEM_RDONLY, PTR_TO_BTF_ID, PTR_TO_FUNC, PTR_TO_MEM
from bpf.verifier.env import BPF_MAX_VAR_OFF, MAX_USED_MAPS, Env
from bpf.verifier.paths.fields import check_fields
from bpf.versions.program_types import types_where

_TRACING: Final = types_where(lambda row: "perf" in row.traits)  # is_tracing_prog_type()
_ASKED: Final = (BPF_LDX, BPF_STX, BPF_JMP32)  # classes whose instructions need more than a known opcode
_NONE: Final[frozenset[int]] = frozenset()
_HASHES: Final = (uapi.BPF_MAP_TYPE_HASH, uapi.BPF_MAP_TYPE_PERCPU_HASH, uapi.BPF_MAP_TYPE_HASH_OF_MAPS)
_CGROUP_STORAGE: Final = (uapi.BPF_MAP_TYPE_CGROUP_STORAGE, uapi.BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE)


# ---- BTF of the program ----


def check_btf_info(env: Env) -> None:
    """func_info and line_info fit the program."""
    request = env.request
    if not request.func_info and not request.line_info:
        _check_abnormal_return(env)
        return
    if request.prog_btf is None:
        env.reject(EBADF)
    if request.func_info:
        _check_btf_func(env)
    else:
        _check_abnormal_return(env)
    if request.line_info:
        _check_btf_line(env)
    if request.core_relos:
        _check_core_relo(env)


def _check_core_relo(env: Env) -> None:
    """The kernel's half of CO-RE: light skeletons leave it to the kernel.  kernel/bpf/btf.c:bpf_core_apply()."""
    local = env.request.prog_btf
    assert local is not None
    messages: list[str] = []
    relocator = Relocator(local, [env.vmlinux] if env.vmlinux is not None else [], messages)
    for number, (offset, type_id, access, kind) in enumerate(env.request.core_relos):
        if offset % 8 or offset // 8 >= len(env.insns):
            text = f"Invalid core_relo[{number}].insn_off:{offset} prog->len:{len(env.insns)}"
            env.reject(EINVAL, text)
        try:
            relo = CoreRelo(offset, type_id, local.string(access), kind)
            relocator.apply(env.insns, env.request.name or "(null)", number, relo, offset // 8)
        except (LoadError, BtfError) as refused:
            env.reject(refused.errno if isinstance(refused, LoadError) else EINVAL, str(refused))


def _check_abnormal_return(env: Env) -> None:
    """A function without known type can not return early with a number."""
    for subprog in env.subprogs[1:-1]:
        if subprog.has_ld_abs:
            env.reject(EINVAL, "LD_ABS is not allowed in subprogs without BTF")
        if subprog.has_tail_call:
            env.reject(EINVAL, "tail_call is not allowed in subprogs without BTF")


def _check_btf_func(env: Env) -> None:
    records = env.request.func_info
    if len(records) != env.subprog_cnt:
        env.reject(EINVAL, "number of funcs in func_info doesn't match number of subprogs")
    previous = 0
    for i, (insn_off, type_id) in enumerate(records):
        if i == 0:
            if insn_off:
                env.verbose(f"nonzero insn_off {insn_off} for the first func info record")
                env.reject(EINVAL)
        elif insn_off <= previous:
            env.verbose(f"same or smaller insn offset ({insn_off}) than previous func info record ({previous})")
            env.reject(EINVAL)
        if env.subprogs[i].start != insn_off:
            env.reject(EINVAL, "func_info BTF section doesn't match subprog layout in BPF program")
        _check_func_type(env, env.btf, i, type_id)
        previous = insn_off
    env.has_func_info = True


def _check_func_type(env: Env, btf: Btf, i: int, type_id: int) -> None:
    func = type_by_id(btf, type_id)
    if func is None or func.kind is not Kind.FUNC:
        env.verbose(f"invalid type id {type_id} in func info")
        env.reject(EINVAL)
    subprog = env.subprogs[i]
    subprog.type_id = type_id
    subprog.linkage = func.linkage
    proto = type_by_id(btf, func.type)
    if proto is None or proto.kind is not Kind.FUNC_PROTO:
        env.reject(EINVAL)
    ret = btf.resolved(proto.type)
    if i and not (is_small_int(ret) or is_any_enum(ret)):
        if subprog.has_ld_abs:
            env.reject(EINVAL, "LD_ABS is only allowed in functions that return 'int'.")
        if subprog.has_tail_call:
            env.reject(EINVAL, "tail_call is only allowed in functions that return 'int'.")


def _check_btf_line(env: Env) -> None:
    previous, number = 0, 0
    starts = [subprog.start for subprog in env.subprogs[:-1]]
    for i, (insn_off, file_name, line, _) in enumerate(env.request.line_info):
        if (i and insn_off <= previous) or insn_off >= len(env.insns):
            env.reject(
                EINVAL,
                f"Invalid line_info[{i}].insn_off:{insn_off} (prev_offset:{previous} prog->len:{len(env.insns)})",
            )
        if not env.insns[insn_off].code:
            env.reject(EINVAL, f"Invalid insn code at line_info[{i}].insn_off")
        try:
            env.btf.string(line)
            env.btf.string(file_name)
        except BtfError:
            env.reject(EINVAL, f"Invalid line_info[{i}].line_off or .file_name_off")
        if number < len(starts):
            if insn_off == starts[number]:
                env.subprogs[number].linfo_idx = i
                number += 1
            elif starts[number] < insn_off:
                env.reject(EINVAL, f"missing bpf_line_info for func#{number}")
        previous = insn_off
    if number != len(starts):
        env.reject(EINVAL, f"missing bpf_line_info for {len(starts) - number} funcs starting from func#{number}")


# ---- ld_imm64 ----


@cache
def _plain(version: KernelVersion) -> frozenset[int]:
    return frozenset(code for code in opcodes(version) if code & 7 not in _ASKED and code != BPF_LD_IMM64)


def resolve_pseudo_ldimm64(env: Env) -> None:
    """Look up maps and variables, and refuse opcodes that do not exist."""
    insns = env.insns
    early = env.rules.checked_before_walk
    known = opcodes(env.version)
    # of most instructions nothing is asked here but whether there is such an opcode
    plain = _NONE if early else _plain(env.version)
    looked_at = [i for i, insn in enumerate(insns) if insn.code not in plain]
    high = -1  # second half of the last ld_imm64
    for i in looked_at:
        if i == high:
            continue
        insn = insns[i]
        for regno in (insn.dst_reg, insn.src_reg) if early else ():
            if regno >= MAX_BPF_REG:
                env.reject(EINVAL, f"R{regno} is invalid")
        if insn.cls == BPF_LDX and not early and (insn.mode not in env.load_modes or insn.imm):
            env.reject(EINVAL, "BPF_LDX uses reserved fields")
        if insn.cls == BPF_STX and not env.rules.atomics and (insn.mode not in (BPF_MEM, BPF_ATOMIC) or insn.imm):
            env.reject(EINVAL, "BPF_STX uses reserved fields")
        if insn.code == BPF_LD_IMM64:
            _resolve(env, i, insn)
            high = i + 1
        elif insn.code not in known or (insn.cls == BPF_JMP32 and not env.rules.jmp32):
            if insn.code != BPF_GOTOX or not env.rules.indirect_jumps_named:
                env.reject(EINVAL, f"unknown opcode {insn.code:02x}")
            if insn.src_reg or insn.imm or insn.off:
                env.reject(EINVAL, "BPF_JA|BPF_X uses reserved fields")
        elif early:
            check_fields(env, insn)


def _resolve(env: Env, i: int, insn: Insn) -> None:
    high = env.insns[i + 1] if i + 1 < len(env.insns) else None
    if high is None or high.code or high.dst_reg or high.src_reg or high.off:
        env.reject(EINVAL, "invalid bpf_ld_imm64 insn")
    kind = insn.src_reg
    if insn.off and env.rules.checked_before_walk:
        env.reject(EINVAL, "BPF_LD_IMM64 uses reserved fields")
    if kind == 0:
        return
    if kind not in env.load_kinds:
        env.reject(EINVAL, "unrecognized bpf_ld_imm64 insn")
    if kind == BPF_PSEUDO_BTF_ID:
        _check_pseudo_btf_id(env, i, insn, high)
        return
    if kind == BPF_PSEUDO_FUNC:
        env.aux[i].ptr_type = PTR_TO_FUNC
        return
    value = kind in (BPF_PSEUDO_MAP_VALUE, BPF_PSEUDO_MAP_IDX_VALUE)
    if not value and not (kind in (BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_IDX) and high.imm == 0):
        env.reject(EINVAL, "unrecognized bpf_ld_imm64 insn")
    m = _find_map(env, insn)
    check_map_prog_compatibility(env, m)
    if m.jumps is not None and m.jumps not in env.jump_tables:
        _use_jump_table(env, m.jumps)
    address = _value_address(env, i, m, high.imm & 0xFFFFFFFF) if value else m.address
    _set_address(env, i, address)
    _use_map(env, i, m)


def _use_jump_table(env: Env, table: JumpTable) -> None:
    """No other program uses it, and nobody changes it any more."""
    try:
        table.begin(env.insns)
    except KernelError as refused:
        env.reject(refused.errno, "Failed to properly initialize insn array")
    env.jump_tables.append(table)


def _set_address(env: Env, i: int, address: int) -> None:
    env.insns[i] = env.insns[i].replace(imm=signed32(address))
    env.insns[i + 1] = env.insns[i + 1].replace(imm=signed32(address >> 32))


def _find_map(env: Env, insn: Insn) -> MapInfo:
    fd = insn.imm
    if insn.src_reg in (BPF_PSEUDO_MAP_IDX, BPF_PSEUDO_MAP_IDX_VALUE):
        fds = env.request.fd_array
        if fds is None:
            env.reject(EPROTO, "fd_idx without fd_array is invalid")
        if not 0 <= insn.imm < len(fds):
            env.reject(EFAULT)
        fd = fds[insn.imm]
    resolve = env.request.resolve_map
    try:
        if resolve is None:
            raise KernelError(EBADF, "no maps")
        return resolve(fd)
    except KernelError as refused:
        env.reject(refused.errno, f"fd {fd} is not pointing to valid bpf_map")


def _value_address(env: Env, i: int, m: MapInfo, off: int) -> int:
    """Address of a byte in the only value of an array."""
    if off >= BPF_MAX_VAR_OFF and not env.rules.checked_before_walk:
        env.reject(EINVAL, f"direct value offset of {off} is not allowed")
    if m.area is None and m.jumps is None and (m.map_type != uapi.BPF_MAP_TYPE_ARRAY or m.value_address is None):
        env.reject(EINVAL, "no direct value access support for this map type")
    text = f"invalid access to map value pointer, value_size={m.value_size} off={off}"
    if m.area is not None:
        start, end = m.area()
        if start + off + env.rules.arena_ends_before_size > end:
            env.reject(ERANGE, text)
        return start + off
    assert m.value_address is not None
    if m.jumps is None and m.max_entries != 1:
        env.reject(ENOTSUPP, text)
    if m.jumps is None and off >= m.value_size:
        env.reject(EINVAL, text)
    try:
        address = m.value_address(off)
    except KernelError as refused:
        env.reject(refused.errno, text)
    env.aux[i].map_off = off
    return address


def _use_map(env: Env, i: int, m: MapInfo) -> None:
    for number, used in enumerate(env.used_maps):
        if used is m:
            env.aux[i].map_index = number
            return
    if len(env.used_maps) >= MAX_USED_MAPS:
        env.reject(E2BIG)
    env.aux[i].map_index = len(env.used_maps)
    env.used_maps.append(m)
    if m.map_type in _CGROUP_STORAGE and any(used is not m and used.map_type == m.map_type for used in env.used_maps):
        env.reject(EBUSY, "only one cgroup storage of each type is allowed")
    if m.area is not None:
        _use_arena(env, m)


def _use_arena(env: Env, m: MapInfo) -> None:
    """A program has one at most, and user space has to have said where it is."""
    assert m.area is not None
    if env.arena is not None:
        env.reject(EBUSY, "Only one arena per program")
    if not env.allow_ptr_leaks or not env.bpf_capable:
        env.reject(EPERM, "CAP_BPF and CAP_PERFMON are required to use arena")
    if not env.request.jit_requested:
        env.reject(EOPNOTSUPP, "JIT is required to use arena")
    if env.word_size != 8:
        env.reject(EOPNOTSUPP, "JIT doesn't support arena")
    env.arena = m
    if not m.area()[0]:
        env.reject(EINVAL, "arena's user address must be set via map_extra or mmap()")


def check_map_prog_compatibility(env: Env, m: MapInfo) -> None:
    """Programs of this type may use such a map."""
    rules = env.rules
    tracing = env.prog_type in _TRACING
    if env.prog_type == uapi.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE:
        tracing = rules.writable_tp_is_tracing
    if not rules.tracing_any_map and tracing and not _is_preallocated(m):
        if env.prog_type == uapi.BPF_PROG_TYPE_PERF_EVENT:
            env.reject(EINVAL, "perf_event programs can only use preallocated hash map")
        env.verbose(
            "trace type programs with run-time allocated hash maps are unsafe. Switch to preallocated hash maps.\n"
        )
    if tracing and m.record is not None and m.record.has(*GRAPH_ROOTS):
        env.reject(EINVAL, "tracing progs cannot use bpf_{list_head,rb_root} yet")
    if m.spin_lock_off >= 0 or (m.record is not None and m.record.has(RES_SPIN_LOCK)):
        if env.prog_type == uapi.BPF_PROG_TYPE_SOCKET_FILTER:
            kind = "socket filter" if rules.socket_spin_lock else "tracing"
            env.reject(EINVAL, f"{kind} progs cannot use bpf_spin_lock yet")
        if tracing:
            env.reject(EINVAL, "tracing progs cannot use bpf_spin_lock yet")
        if env.sleepable and rules.socket_spin_lock and not rules.sleepable_spin_lock:
            env.reject(EINVAL, "sleepable progs cannot use bpf_spin_lock yet")
    if m.timer_off >= 0 and tracing and not rules.timers_in_tracing:
        env.reject(EINVAL, "tracing progs cannot use bpf_timer yet")
    if tracing and not rules.timers_in_tracing and m.record is not None and m.record.has(WORKQUEUE):
        env.reject(EINVAL, "tracing progs cannot use bpf_wq yet")
    if m.map_type == uapi.BPF_MAP_TYPE_STRUCT_OPS:
        env.reject(EINVAL, "bpf_struct_ops map cannot be used in prog")
    if env.sleepable and not rules.sleepable_any_map:
        _check_sleepable_map_before_5_12(env, m)
    elif env.sleepable:
        since = row_of(m.map_type).sleepable
        if not since or env.version.before(since):
            kinds = (
                "array, hash, ringbuf and local storage"
                if rules.sleepable_storage_named
                else "array, hash, and ringbuf"
            )
            env.reject(EINVAL, f"Sleepable programs can only use {kinds} maps")


def _is_preallocated(m: MapInfo) -> bool:
    """Updates never allocate, of its inner maps neither."""
    if m.inner is not None and not _is_preallocated(m.inner):
        return False
    return m.map_type not in _HASHES or not m.map_flags & uapi.BPF_F_NO_PREALLOC


def _check_sleepable_map_before_5_12(env: Env, m: MapInfo) -> None:
    if m.map_type not in (uapi.BPF_MAP_TYPE_HASH, uapi.BPF_MAP_TYPE_LRU_HASH, uapi.BPF_MAP_TYPE_ARRAY):
        env.reject(EINVAL, "Sleepable programs can only use array and hash maps")
    if not _is_preallocated(m):
        env.reject(EINVAL, "Sleepable programs can only use preallocated hash maps")


def _check_pseudo_btf_id(env: Env, i: int, insn: Insn, high: Insn) -> None:
    """The address of a variable of the kernel."""
    if high.imm:
        if not env.rules.fd_array:
            env.reject(EINVAL, "reserved field (insn[1].imm) is used in pseudo_btf_id ldimm64 insn.")
        env.reject(EINVAL, "invalid module BTF object FD specified.")
    btf = env.vmlinux
    if btf is None:
        env.reject(EINVAL, "kernel is missing BTF, make sure CONFIG_DEBUG_INFO_BTF=y is specified in Kconfig.")
    var = type_by_id(btf, insn.imm)
    if var is None:
        env.reject(ENOENT, f"ldimm64 insn specifies invalid btf_id {insn.imm}.")
    functions = env.rules.address_of_function
    if var.kind is not Kind.VAR and not (functions and var.kind is Kind.FUNC):
        kinds = "KIND_VAR or KIND_FUNC" if functions else "KIND_VAR."
        env.reject(EINVAL, f"pseudo btf_id {insn.imm} in ldimm64 isn't {kinds}")
    symbol = env.request.kernel_symbol
    address = symbol(var.name) if symbol is not None else None
    if not address:
        env.reject(ENOENT, f"ldimm64 failed to find the address for kernel symbol '{var.name}'.")
    _set_address(env, i, address)
    aux = env.aux[i]
    if var.kind is Kind.FUNC:
        aux.btf_var_type, aux.btf_var_size = PTR_TO_MEM | MEM_RDONLY, 0
        return
    t = btf.resolved(var.type)
    if _is_percpu(btf, insn.imm):
        aux.btf_var_type = PTR_TO_BTF_ID | MEM_PERCPU
        aux.btf_var_btf, aux.btf_var_id = btf, var.type
    elif t.kind not in COMPOSITES:
        resolved = resolve_size(btf, btf.skip(var.type))
        if resolved is None:
            env.reject(EINVAL, f"ldimm64 unable to resolve the size of type '{t.name}': {-EINVAL}")
        aux.btf_var_type = PTR_TO_MEM | (MEM_RDONLY if env.rules.rdonly_memory else 0)
        aux.btf_var_size = resolved.size
    else:
        aux.btf_var_type = PTR_TO_BTF_ID
        aux.btf_var_btf, aux.btf_var_id = btf, var.type


def _is_percpu(btf: Btf, type_id: int) -> bool:
    section = btf.find(".data..percpu", Kind.DATASEC)
    return bool(section) and any(row.type == type_id for row in btf[section].secinfos)
