"""BTF of map keys and values: what fits, and where the special members are.

kernel/bpf/syscall.c:map_check_btf(), kernel/bpf/btf.c:btf_find_spin_lock(), btf_find_timer(), btf_parse_kptrs(),
and the map_check_btf members of the map types.
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EACCES, EINVAL, ENOENT, ENOTSUPP, EOPNOTSUPP, EPERM
from arch.errors import KernelError
from bpf import uapi
from bpf.btf import Btf, BtfError, BtfType, Kind
from bpf.maps.base import KPTR_SIZE, SPIN_LOCK_SIZE, TIMER_SIZE, BpfMap
from bpf.maps.btf_record import RECORDS_SINCE, check_record
from bpf.maps.info import KptrField
from bpf.maps.rows import MAP_TYPES

KPTRS_MAX = 8  # BPF_MAP_VALUE_OFF_MAX
# The only objects of the kernel that a map may own: the kptr_ref of the test kernel functions.
DTORS = {
    "prog_test_ref_kfunc": "bpf_kfunc_call_test_release",
    "prog_test_member": "bpf_kfunc_call_memb_release",
}


def _sized(btf: Btf, type_id: int) -> tuple[BtfType, int]:
    """btf_type_id_size(): the type behind typedefs and qualifiers, and its size; EINVAL."""
    try:
        return btf.resolved(type_id), btf.size_of(type_id)
    except BtfError:
        raise KernelError(EINVAL) from None


def check_map_btf(new: BpfMap, btf: Btf, key_id: int, value_id: int, vmlinux: Btf | None) -> None:
    """map_check_btf(): sizes agree; locks, timers and kernel pointers only where they may be."""
    row = MAP_TYPES[new.map_type]
    if key_id:
        if _sized(btf, key_id)[1] != new.key_size:
            raise KernelError(EINVAL)
    elif row.btf == "key":
        raise KernelError(EINVAL)
    value_type, size = _sized(btf, value_id)
    if size != new.value_size:
        raise KernelError(EINVAL)
    if new.bpf.version.at_least(RECORDS_SINCE):
        check_record(new, btf, value_type, vmlinux)
    else:
        _check_members_before_6_2(new, btf, value_type, vmlinux)
    if row.btf == "none":
        raise KernelError(ENOTSUPP)
    if row.btf == "keyless":
        new.check_btf(btf, key_id, value_id)


def _check_members_before_6_2(new: BpfMap, btf: Btf, value_type: BtfType, vmlinux: Btf | None) -> None:
    """Each kind of special member is looked for by itself."""
    row = MAP_TYPES[new.map_type]
    read_only = new.map_flags & uapi.BPF_F_RDONLY_PROG
    new.spin_lock_off = find_special(btf, value_type, "bpf_spin_lock", SPIN_LOCK_SIZE, 4)
    if new.spin_lock_off >= 0:
        if read_only:
            raise KernelError(EACCES)
        if not row.lock:
            raise KernelError(ENOTSUPP)
    new.timer_off = find_special(btf, value_type, "bpf_timer", TIMER_SIZE, 8)
    if new.timer_off >= 0:
        if read_only:
            raise KernelError(EACCES)
        if not row.timer:
            raise KernelError(EOPNOTSUPP)
    _check_kptrs(new, btf, value_type, vmlinux)


def _check_kptrs(new: BpfMap, btf: Btf, value_type: BtfType, vmlinux: Btf | None) -> None:
    try:
        kptrs = find_kptrs(btf, value_type, vmlinux)
    except KernelError:  # IS_ERR_OR_NULL(map->kptr_off_tab): as if there were none
        return
    if not kptrs:
        return
    if not new.bpf.capable("bpf"):
        raise KernelError(EPERM)
    if new.map_flags & (uapi.BPF_F_RDONLY_PROG | uapi.BPF_F_WRONLY_PROG):
        raise KernelError(EACCES)
    if not MAP_TYPES[new.map_type].kptr:
        raise KernelError(EOPNOTSUPP)
    new.kptrs = tuple(kptrs)


def _places(btf: Btf, value_type: BtfType) -> list[tuple[int, int]]:
    """(byte offset, type id) of the members of a struct or the variables of a section."""
    if value_type.kind in (Kind.STRUCT, Kind.UNION):
        return [(member.bit_offset, member.type) for member in value_type.members]
    if value_type.kind is Kind.DATASEC:
        return [(info.offset * 8, btf[info.type].type) for info in value_type.secinfos]
    return []


def find_special(btf: Btf, value_type: BtfType, name: str, size: int, align: int) -> int:
    """btf_find_spin_lock(), btf_find_timer(): offset in bytes, or a negative errno.  Only at the top level."""
    if value_type.kind not in (Kind.STRUCT, Kind.UNION, Kind.DATASEC):
        return -EINVAL
    found = -ENOENT
    for bits, type_id in _places(btf, value_type):
        member = btf[type_id]
        if member.kind not in (Kind.STRUCT, Kind.UNION) or member.name != name or member.size != size:
            continue
        if bits % 8 or bits // 8 % align:
            return -EINVAL
        if found >= 0:
            return -E2BIG
        found = bits // 8
    return found


def find_kptrs(btf: Btf, value_type: BtfType, vmlinux: Btf | None) -> list[KptrField]:
    """btf_parse_kptrs(): pointers tagged kptr or kptr_ref; KernelError."""
    found: list[KptrField] = []
    for bits, type_id in _places(btf, value_type):
        pointer = btf[type_id]
        while pointer.kind in (Kind.TYPEDEF, Kind.CONST, Kind.VOLATILE):
            pointer = btf[pointer.type]
        tag = btf[pointer.type] if pointer.kind is Kind.PTR else None
        if tag is None or tag.kind is not Kind.TYPE_TAG:
            continue
        if bits % 64 or btf[tag.type].kind is Kind.TYPE_TAG or tag.name not in ("kptr", "kptr_ref"):
            raise KernelError(EINVAL)
        target = btf.resolved(tag.type)
        if target.kind not in (Kind.STRUCT, Kind.UNION):
            raise KernelError(EINVAL)
        if len(found) >= KPTRS_MAX:
            raise KernelError(E2BIG)
        found.append(_kptr(bits // 8, tag.name == "kptr_ref", target, vmlinux))
    return found


def _kptr(offset: int, referenced: bool, target: BtfType, vmlinux: Btf | None) -> KptrField:
    btf_id = vmlinux.find(target.name, target.kind) if vmlinux is not None else 0
    if not btf_id or vmlinux is None:
        raise KernelError(ENOENT)
    dtor = 0
    if referenced:
        dtor = vmlinux.find(DTORS.get(target.name, ""), Kind.FUNC)
        if not dtor:
            raise KernelError(ENOENT)
    return KptrField(offset, btf_id, referenced, target.name, dtor)


def _int_of(btf: Btf, type_id: int, bits: int) -> bool:
    key = btf.resolved(type_id)
    return bool(key.kind is Kind.INT and key.bits == bits and key.bit_offset == 0)


def check_int_key(checked: BpfMap, btf: Btf, key_type_id: int) -> None:
    """array_map_check_btf(): an int of 32 bits; no key at all only for the one value of a data section."""
    if not key_type_id:
        single = checked.map_type == uapi.BPF_MAP_TYPE_ARRAY and checked.max_entries == 1
        if not single or btf.resolved(checked.btf_value_type_id).kind is not Kind.DATASEC:
            raise KernelError(EINVAL)
    elif not _int_of(btf, key_type_id, 32):
        raise KernelError(EINVAL)


def check_struct_key(btf: Btf, key_type_id: int) -> None:
    """trie_check_btf()."""
    if btf.resolved(key_type_id).kind is not Kind.STRUCT:
        raise KernelError(EINVAL)


def check_cgroup_key(checked: BpfMap, btf: Btf, key_type_id: int) -> None:
    """cgroup_storage_check_btf(): struct bpf_cgroup_storage_key, or a u64 by itself."""
    if checked.key_size == KPTR_SIZE:
        if not _int_of(btf, key_type_id, 64):
            raise KernelError(EINVAL)
        return
    key = btf.resolved(key_type_id)
    if key.kind is not Kind.STRUCT or len(key.members) != 2:
        raise KernelError(EINVAL)
    first, second = key.members
    if first.bit_offset or not _int_of(btf, first.type, 64):
        raise KernelError(EINVAL)
    if second.bit_offset != 64 or not _int_of(btf, second.type, 32):
        raise KernelError(EINVAL)
