"""Local storage.  kernel/bpf/bpf_task_storage.c, bpf_inode_storage.c, net/core/bpf_sk_storage.c."""

from __future__ import annotations

from bpf.helpers import Runtime, helper
from bpf.maps.storage import LocalStorageMap


@helper(
    "bpf_task_storage_get",
    "bpf_task_storage_get_recur",
    "bpf_inode_storage_get",
    "bpf_sk_storage_get",
    "bpf_sk_storage_get_tracing",
    "bpf_sk_storage_get_cg_sock",
)
def storage_get(rt: Runtime, map_ptr: int, owner: int, value: int, flags: int) -> int:
    """The owner's value, made from `value` (or zeros) if BPF_LOCAL_STORAGE_GET_F_CREATE asks for it; or NULL."""
    found = rt.map_of(map_ptr, LocalStorageMap)
    initial = bytes(rt.mem.read(value, found.value_size)) if value else None
    return int(found.storage_get(owner, initial, flags))


@helper(
    "bpf_task_storage_delete",
    "bpf_task_storage_delete_recur",
    "bpf_inode_storage_delete",
    "bpf_sk_storage_delete",
    "bpf_sk_storage_delete_tracing",
)
def storage_delete(rt: Runtime, map_ptr: int, owner: int) -> int:
    if not owner:
        return -22
    rt.map_of(map_ptr, LocalStorageMap).storage_delete(owner)
    return 0
