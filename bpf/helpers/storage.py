"""Local storage.  kernel/bpf/bpf_task_storage.c, bpf_inode_storage.c, bpf_cgrp_storage.c, net/core/bpf_sk_storage.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from bpf.helpers import Runtime, kernel_name, prototype
from bpf.maps.storage import LocalStorageMap


@prototype(
    "task_storage_get",
    156,
    "5.11",
    returns="PTR_TO_MAP_VALUE_OR_NULL",
    args="CONST_MAP_PTR PTR_TO_BTF_ID:task_struct PTR_TO_MAP_VALUE_OR_NULL ANYTHING",
    given="bpf_tracing",
    maps="TASK_STORAGE",
)
@prototype(
    "cgrp_storage_get",
    210,
    "6.2",
    returns="PTR_TO_MAP_VALUE_OR_NULL",
    args="CONST_MAP_PTR PTR_TO_BTF_ID_OR_NULL:cgroup PTR_TO_MAP_VALUE_OR_NULL ANYTHING",
    given="base_bpf",
    maps="CGRP_STORAGE",
)
@prototype(
    "inode_storage_get",
    145,
    "5.10",
    returns="PTR_TO_MAP_VALUE_OR_NULL",
    args="CONST_MAP_PTR PTR_TO_BTF_ID:inode PTR_TO_MAP_VALUE_OR_NULL ANYTHING",
    given="bpf_lsm",
    maps="INODE_STORAGE",
)
@prototype(
    "sk_storage_get",
    107,
    "5.2",
    returns="PTR_TO_MAP_VALUE_OR_NULL",
    args="CONST_MAP_PTR PTR_TO_BTF_ID_SOCK_COMMON PTR_TO_MAP_VALUE_OR_NULL ANYTHING",
    given="bpf_lsm cg_sockopt sock_addr cg_skb tc_cls_act sock_ops sk_msg bpf_tcp_ca_get",
    maps="SK_STORAGE",
)
@prototype(
    "sk_storage_get",
    returns="PTR_TO_MAP_VALUE_OR_NULL",
    args="CONST_MAP_PTR PTR_TO_CTX PTR_TO_MAP_VALUE_OR_NULL ANYTHING",
    proto="bpf_sk_storage_get_cg_sock_proto",
    given="sock_filter",
)
@prototype(
    "sk_storage_get",
    returns="PTR_TO_MAP_VALUE_OR_NULL",
    args="CONST_MAP_PTR PTR_TO_BTF_ID:sock_common PTR_TO_MAP_VALUE_OR_NULL ANYTHING",
    func="bpf_sk_storage_get_tracing",
    proto="bpf_sk_storage_get_tracing_proto",
    given="tracing_prog",
    allowed="sk_storage_tracing",
)
@kernel_name("bpf_task_storage_get_recur", "bpf_sk_storage_get_cg_sock")
def storage_get(rt: Runtime, map_ptr: int, owner: int, value: int, flags: int) -> int:
    """The owner's value, made from `value` (or zeros) if BPF_LOCAL_STORAGE_GET_F_CREATE asks for it; or NULL."""
    found = rt.map_of(map_ptr, LocalStorageMap)
    initial = bytes(rt.mem.read(value, found.value_size)) if value else None
    return int(found.storage_get(owner, initial, flags))


@prototype(
    "task_storage_delete",
    157,
    "5.11",
    args="CONST_MAP_PTR PTR_TO_BTF_ID:task_struct",
    given="bpf_tracing",
    maps="TASK_STORAGE",
)
@prototype(
    "cgrp_storage_delete",
    211,
    "6.2",
    args="CONST_MAP_PTR PTR_TO_BTF_ID_OR_NULL:cgroup",
    given="base_bpf",
    maps="CGRP_STORAGE",
)
@prototype(
    "inode_storage_delete",
    146,
    "5.10",
    args="CONST_MAP_PTR PTR_TO_BTF_ID:inode",
    given="bpf_lsm",
    maps="INODE_STORAGE",
)
@prototype(
    "sk_storage_delete",
    108,
    "5.2",
    args="CONST_MAP_PTR PTR_TO_BTF_ID_SOCK_COMMON",
    given="bpf_lsm cg_sockopt sock_addr cg_skb tc_cls_act sock_ops sk_msg bpf_tcp_ca_get",
    maps="SK_STORAGE",
)
@prototype(
    "sk_storage_delete",
    args="CONST_MAP_PTR PTR_TO_BTF_ID:sock_common",
    func="bpf_sk_storage_delete_tracing",
    proto="bpf_sk_storage_delete_tracing_proto",
    given="tracing_prog",
    allowed="sk_storage_tracing",
)
@kernel_name("bpf_task_storage_delete_recur")
def storage_delete(rt: Runtime, map_ptr: int, owner: int) -> int:
    if not owner:
        return -EINVAL
    rt.map_of(map_ptr, LocalStorageMap).storage_delete(owner)
    return 0
