"""Which helpers go with which map types, both ways round: check_map_func_compatibility() of kernel/bpf/verifier.c."""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EINVAL
from bpf import uapi
from bpf.helpers.table import ROWS
from bpf.maps.types import row_of
from bpf.verifier.api import MapInfo
from bpf.verifier.env import Env

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
    only = row_of(m.map_type).helpers
    fits = only is None or ROWS[func_id].name in only
    if not fits and m.map_type in (uapi.BPF_MAP_TYPE_SOCKMAP, uapi.BPF_MAP_TYPE_SOCKHASH):
        fits = _may_update_sockmap(env, func_id)
    name, takes = ROWS[func_id].name, ROWS[func_id].maps
    if not fits or (takes is not None and row_of(m.map_type).name not in takes):
        env.reject(EINVAL, f"cannot pass map_type {m.map_type} into func bpf_{name}#{func_id}")
    if func_id == uapi.BPF_FUNC_tail_call and env.subprog_cnt > 1 and not env.request.jit_requested:
        env.reject(EINVAL, "tail_calls are not allowed in non-JITed programs with bpf-to-bpf calls")
