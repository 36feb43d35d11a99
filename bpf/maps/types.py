"""All map types, and making a map: bpf_map_types and find_and_alloc_map() of kernel/bpf/syscall.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, EOPNOTSUPP
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from bpf import uapi
from bpf.maps import (
    arena,
    array,
    hash,
    insn_array,
    lpm,
    lru_hash,
    net,
    queue,
    rhash,
    ringbuf,
    sock_map,
    stackmap,
    storage,
    struct_ops,
)
from bpf.maps.base import Board, BpfMap, MapAttr
from bpf.maps.rows import MAP_TYPES, MapType

__all__ = ["MAP_TYPES", "MapType", "create_map", "has_map_type", "map_types", "row_of"]

MODULES = (  # each import declares rows
    arena, array, hash, insn_array, lpm, lru_hash, net, queue, rhash, ringbuf, sock_map, stackmap, storage, struct_ops,
)  # fmt: skip


def has_map_type(version: KernelVersion, number: int) -> bool:
    """A map of this type can be made."""
    row = MAP_TYPES.get(number)
    return row is not None and version.at_least(row.since)


UNKNOWN = MapType(0, "UNSPEC", object, "6.1", "", "")


def row_of(number: int) -> MapType:
    """The row of a type; for a number that no kernel here knows one that allows what a plain map may."""
    return MAP_TYPES.get(number, UNKNOWN)


def map_types() -> list[MapType]:
    """All rows by number."""
    return [row for _, row in sorted(MAP_TYPES.items())]


def create_map(bpf: Board, attr: MapAttr) -> BpfMap:
    """A new map in the machine's memory; KernelError as the type's checks say."""
    row = MAP_TYPES.get(attr.map_type)
    if row is None:
        raise KernelError(EINVAL, f"no map type {attr.map_type}")
    kind: type[BpfMap] = row.cls
    kind.alloc_check(bpf, attr)
    if attr.map_ifindex:  # bpf_map_offload_map_alloc(): no device here takes maps
        offloaded = attr.map_type in (uapi.BPF_MAP_TYPE_ARRAY, uapi.BPF_MAP_TYPE_HASH)
        known = offloaded and bpf.host.net_device(attr.map_ifindex) is not None
        raise KernelError(EOPNOTSUPP if known else EINVAL, "a map on a device")
    new = kind(bpf, attr)
    new.alloc()
    return new
