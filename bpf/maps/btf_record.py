"""Special members of the values of maps since 6.2: one record, by BTF.  map_check_btf() of kernel/bpf/syscall.c, Linux 6.12."""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EACCES, EOPNOTSUPP, EPERM
from arch.errors import KernelError
from bpf import uapi
from bpf.btf import Btf, BtfType
from bpf.btf import record as fields
from bpf.maps.base import BpfMap
from bpf.maps.info import kptr_field
from bpf.maps.rows import MAP_TYPES
from bpf.versions.kptr_destructors import kptr_destructors

RECORDS_SINCE: Final = "6.2"  # aa3496accc41, db559117828d
_ANYWHERE_SINCE: Final = "6.4"  # 6d5689f7ef08: kernel pointers in local storage and hashes by processor
_KPTRS_LATER: Final = frozenset({
    uapi.BPF_MAP_TYPE_PERCPU_HASH, uapi.BPF_MAP_TYPE_LRU_PERCPU_HASH, uapi.BPF_MAP_TYPE_SK_STORAGE,
    uapi.BPF_MAP_TYPE_INODE_STORAGE, uapi.BPF_MAP_TYPE_TASK_STORAGE, uapi.BPF_MAP_TYPE_CGRP_STORAGE,
})  # fmt: skip
_KPTRS: Final = fields.KPTRS | {fields.REFCOUNT}


def check_record(new: BpfMap, btf: Btf, value_type: BtfType, vmlinux: Btf | None) -> None:
    """What is special in the value is understood, and this type of map may hold it.  A type that is not understood has no record."""
    version = new.bpf.version
    new.spin_lock_off = new.timer_off = -1
    reader = fields.Reader(btf, vmlinux, version, kptr_destructors(version))
    try:
        record = reader.parse(value_type, fields.IN_MAPS, new.value_size)
    except KernelError:
        return
    if record is None:
        return
    if not new.bpf.capable("bpf"):
        raise KernelError(EPERM)
    if new.map_flags & (uapi.BPF_F_RDONLY_PROG | uapi.BPF_F_WRONLY_PROG):
        raise KernelError(EACCES)
    for one in record.fields:
        if not _may_hold(new, one.kind):
            raise KernelError(EOPNOTSUPP)
    reader.check(record)
    new.record = record
    new.spin_lock_off = record.offset_of(fields.SPIN_LOCK)
    new.timer_off = record.offset_of(fields.TIMER)
    new.kptrs = tuple(kptr_field(one, btf, vmlinux) for one in record.fields if one.kind in fields.KPTRS)
    known = fields.KPTRS | {fields.SPIN_LOCK, fields.TIMER}
    new.closed = tuple((one.shown, one.offset, one.size) for one in record.fields if one.kind not in known)


def _may_hold(new: BpfMap, kind: str) -> bool:
    row = MAP_TYPES[new.map_type]
    if kind in (fields.SPIN_LOCK, fields.RES_SPIN_LOCK):
        return row.lock
    if kind in _KPTRS:
        return row.kptr or (new.map_type in _KPTRS_LATER and new.bpf.version.at_least(_ANYWHERE_SINCE))
    return row.timer  # timers, work queues, lists and trees
