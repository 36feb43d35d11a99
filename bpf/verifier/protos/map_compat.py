"""Which helpers go with which map types, both ways round: check_map_func_compatibility() of kernel/bpf/verifier.c."""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EINVAL
from bpf import uapi
from bpf.uapi import HELPER_NAMES
from bpf.verifier.api import MapInfo
from bpf.verifier.env import Env

_NUMBER_OF: Final = {name: number for number, name in HELPER_NAMES.items()}


def _helpers(names: str) -> frozenset[int]:
    return frozenset(_NUMBER_OF[name] for name in names.split())


_RINGBUF_HELPERS: Final = _helpers(
    "ringbuf_output ringbuf_reserve ringbuf_query ringbuf_reserve_dynptr ringbuf_submit_dynptr ringbuf_discard_dynptr"
)
_SOCKMAP_ANY: Final = "msg_redirect_{0} sk_redirect_{0} sk_select_reuseport map_lookup_elem"

# map type: the only helpers that take it
_ONLY: Final = {
    uapi.BPF_MAP_TYPE_PROG_ARRAY: _helpers("tail_call"),
    uapi.BPF_MAP_TYPE_PERF_EVENT_ARRAY: _helpers(
        "perf_event_read perf_event_output skb_output perf_event_read_value xdp_output"
    ),
    uapi.BPF_MAP_TYPE_RINGBUF: _RINGBUF_HELPERS,
    uapi.BPF_MAP_TYPE_USER_RINGBUF: _helpers("user_ringbuf_drain"),
    uapi.BPF_MAP_TYPE_STACK_TRACE: _helpers("get_stackid"),
    uapi.BPF_MAP_TYPE_CGROUP_ARRAY: _helpers("skb_under_cgroup current_task_under_cgroup"),
    uapi.BPF_MAP_TYPE_CGROUP_STORAGE: _helpers("get_local_storage"),
    uapi.BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE: _helpers("get_local_storage"),
    uapi.BPF_MAP_TYPE_DEVMAP: _helpers("redirect_map map_lookup_elem"),
    uapi.BPF_MAP_TYPE_DEVMAP_HASH: _helpers("redirect_map map_lookup_elem"),
    uapi.BPF_MAP_TYPE_CPUMAP: _helpers("redirect_map"),
    uapi.BPF_MAP_TYPE_XSKMAP: _helpers("redirect_map map_lookup_elem"),
    uapi.BPF_MAP_TYPE_ARRAY_OF_MAPS: _helpers("map_lookup_elem"),
    uapi.BPF_MAP_TYPE_HASH_OF_MAPS: _helpers("map_lookup_elem"),
    uapi.BPF_MAP_TYPE_SOCKMAP: _helpers(_SOCKMAP_ANY.format("map") + " sock_map_update"),
    uapi.BPF_MAP_TYPE_SOCKHASH: _helpers(_SOCKMAP_ANY.format("hash") + " sock_hash_update"),
    uapi.BPF_MAP_TYPE_REUSEPORT_SOCKARRAY: _helpers("sk_select_reuseport"),
    uapi.BPF_MAP_TYPE_QUEUE: _helpers("map_peek_elem map_pop_elem map_push_elem"),
    uapi.BPF_MAP_TYPE_STACK: _helpers("map_peek_elem map_pop_elem map_push_elem"),
    uapi.BPF_MAP_TYPE_SK_STORAGE: _helpers("sk_storage_get sk_storage_delete"),
    uapi.BPF_MAP_TYPE_INODE_STORAGE: _helpers("inode_storage_get inode_storage_delete"),
    uapi.BPF_MAP_TYPE_TASK_STORAGE: _helpers("task_storage_get task_storage_delete"),
    uapi.BPF_MAP_TYPE_BLOOM_FILTER: _helpers("map_peek_elem map_push_elem"),
}

_PERF: Final = frozenset({uapi.BPF_MAP_TYPE_PERF_EVENT_ARRAY})
_CGROUP: Final = frozenset({uapi.BPF_MAP_TYPE_CGROUP_ARRAY})
_SOCKMAP: Final = frozenset({uapi.BPF_MAP_TYPE_SOCKMAP})
_SOCKHASH: Final = frozenset({uapi.BPF_MAP_TYPE_SOCKHASH})
_QUEUES: Final = frozenset({uapi.BPF_MAP_TYPE_QUEUE, uapi.BPF_MAP_TYPE_STACK})

# helper: the only map types it takes
_TAKES: Final[dict[int, frozenset[int]]] = {
    _NUMBER_OF[name]: kinds
    for names, kinds in (
        ("tail_call", frozenset({uapi.BPF_MAP_TYPE_PROG_ARRAY})),
        ("perf_event_read perf_event_output perf_event_read_value skb_output xdp_output", _PERF),
        ("user_ringbuf_drain", frozenset({uapi.BPF_MAP_TYPE_USER_RINGBUF})),
        ("get_stackid", frozenset({uapi.BPF_MAP_TYPE_STACK_TRACE})),
        ("current_task_under_cgroup skb_under_cgroup", _CGROUP),
        (
            "redirect_map",
            frozenset(
                {
                    uapi.BPF_MAP_TYPE_DEVMAP,
                    uapi.BPF_MAP_TYPE_DEVMAP_HASH,
                    uapi.BPF_MAP_TYPE_CPUMAP,
                    uapi.BPF_MAP_TYPE_XSKMAP,
                }
            ),
        ),
        ("sk_redirect_map msg_redirect_map sock_map_update", _SOCKMAP),
        ("sk_redirect_hash msg_redirect_hash sock_hash_update", _SOCKHASH),
        (
            "get_local_storage",
            frozenset({uapi.BPF_MAP_TYPE_CGROUP_STORAGE, uapi.BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE}),
        ),
        ("sk_select_reuseport", _SOCKMAP | _SOCKHASH | {uapi.BPF_MAP_TYPE_REUSEPORT_SOCKARRAY}),
        ("map_pop_elem", _QUEUES),
        ("map_peek_elem map_push_elem", _QUEUES | {uapi.BPF_MAP_TYPE_BLOOM_FILTER}),
        (
            "map_lookup_percpu_elem",
            frozenset(
                {
                    uapi.BPF_MAP_TYPE_PERCPU_ARRAY,
                    uapi.BPF_MAP_TYPE_PERCPU_HASH,
                    uapi.BPF_MAP_TYPE_LRU_PERCPU_HASH,
                }
            ),
        ),
        ("sk_storage_get sk_storage_delete", frozenset({uapi.BPF_MAP_TYPE_SK_STORAGE})),
        ("inode_storage_get inode_storage_delete", frozenset({uapi.BPF_MAP_TYPE_INODE_STORAGE})),
        ("task_storage_get task_storage_delete", frozenset({uapi.BPF_MAP_TYPE_TASK_STORAGE})),
    )
    for name in names.split()
} | {number: frozenset({uapi.BPF_MAP_TYPE_RINGBUF}) for number in _RINGBUF_HELPERS}

_UPDATES_SOCKMAP: Final = frozenset(
    {
        uapi.BPF_PROG_TYPE_SOCKET_FILTER,
        uapi.BPF_PROG_TYPE_SCHED_CLS,
        uapi.BPF_PROG_TYPE_SCHED_ACT,
        uapi.BPF_PROG_TYPE_XDP,
        uapi.BPF_PROG_TYPE_SK_REUSEPORT,
        uapi.BPF_PROG_TYPE_FLOW_DISSECTOR,
        uapi.BPF_PROG_TYPE_SK_LOOKUP,
    }
)


def _may_update_sockmap(env: Env, func_id: int) -> bool:
    """Only contexts in which locking the socket is safe."""
    if func_id not in (uapi.BPF_FUNC_map_update_elem, uapi.BPF_FUNC_map_delete_elem):
        return False
    kind = env.prog_type
    if kind in _UPDATES_SOCKMAP:
        return True
    if kind == uapi.BPF_PROG_TYPE_TRACING and env.expected_attach_type == uapi.BPF_TRACE_ITER:
        return True
    if kind == uapi.BPF_PROG_TYPE_SOCK_OPS and func_id == uapi.BPF_FUNC_map_delete_elem:
        return True
    env.verbose("cannot update sockmap in this context\n")
    return False


def check_map_func_compatibility(env: Env, m: MapInfo | None, func_id: int) -> None:
    """The helper takes such a map, and the map such a helper."""
    if m is None:
        return
    only = _ONLY.get(m.map_type)
    fits = only is None or func_id in only
    if not fits and m.map_type in (uapi.BPF_MAP_TYPE_SOCKMAP, uapi.BPF_MAP_TYPE_SOCKHASH):
        fits = _may_update_sockmap(env, func_id)
    takes = _TAKES.get(func_id)
    if not fits or (takes is not None and m.map_type not in takes):
        name = HELPER_NAMES[func_id]
        env.reject(EINVAL, f"cannot pass map_type {m.map_type} into func bpf_{name}#{func_id}")
    if func_id == uapi.BPF_FUNC_tail_call and env.subprog_cnt > 1 and not env.request.jit_requested:
        env.reject(EINVAL, "tail_calls are not allowed in non-JITed programs with bpf-to-bpf calls")
