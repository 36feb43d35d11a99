"""The functions of the kernel's text that a map's operations are: struct bpf_map_ops by map type.

bpf(2) and helpers call them, so programs can be attached to them.  Maps work without a CPU, and a function that nobody
watches is not called: `BpfHost.any_watched()` says whether somebody does.  bpf(2) makes the CPU call it; a helper, in whose
midst the CPU cannot call anything, has what is attached run around the body (`BpfHost.around()`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from arch.abi.errno import EBUSY
from arch.errors import KernelError
from arch.records import dataclass
from bpf import uapi
from bpf.face import BpfHost
from bpf.isa.insn import signed32
from bpf.maps.base import BpfMap
from bpf.maps.hash import HashMap

LOOKUP_ELEM_RAW = "lookup_elem_raw"  # within update and delete of a hash map, its bucket locked


@dataclass(frozen=True, slots=True)
class MapFunctions:
    """map_lookup_elem, map_update_elem and map_delete_elem of one type."""

    map_type: int
    lookup: str
    update: str
    delete: str
    source: str


MAP_FUNCTIONS = (
    MapFunctions(
        uapi.BPF_MAP_TYPE_HASH,
        "htab_map_lookup_elem", "htab_map_update_elem", "htab_map_delete_elem", "kernel/bpf/hashtab.c",
    ),
    MapFunctions(
        uapi.BPF_MAP_TYPE_LRU_HASH,
        "htab_lru_map_lookup_elem", "htab_lru_map_update_elem", "htab_lru_map_delete_elem", "kernel/bpf/hashtab.c",
    ),
    MapFunctions(
        uapi.BPF_MAP_TYPE_ARRAY,
        "array_map_lookup_elem", "array_map_update_elem", "array_map_delete_elem", "kernel/bpf/arraymap.c",
    ),
    MapFunctions(
        uapi.BPF_MAP_TYPE_LPM_TRIE,
        "trie_lookup_elem", "trie_update_elem", "trie_delete_elem", "kernel/bpf/lpm_trie.c",
    ),
)  # fmt: skip
_BY_TYPE = {row.map_type: row for row in MAP_FUNCTIONS}


def watched(host: BpfHost, target: BpfMap, operation: str) -> str:
    """The function that an operation ("lookup", "update", "delete") is, if somebody watches it or what it calls; else ""."""
    row = _BY_TYPE.get(target.map_type)
    if row is None:
        return ""
    name = {"lookup": row.lookup, "update": row.update, "delete": row.delete}[operation]
    inner = (LOOKUP_ELEM_RAW,) if operation != "lookup" and target.map_type == uapi.BPF_MAP_TYPE_HASH else ()
    return name if host.any_watched((name, *inner)) else ""


_OF_MAPS = (uapi.BPF_MAP_TYPE_ARRAY_OF_MAPS, uapi.BPF_MAP_TYPE_HASH_OF_MAPS)


def any_watched(host: BpfHost, used: Iterable[BpfMap]) -> bool:
    """Somebody watches a function by which helpers change these maps, or what may be in them."""
    types = {each.map_type for each in used}
    rows = MAP_FUNCTIONS if types.intersection(_OF_MAPS) else [row for row in MAP_FUNCTIONS if row.map_type in types]
    names = [name for row in rows for name in (row.update, row.delete)]
    return bool(names) and host.any_watched((LOOKUP_ELEM_RAW, *names))


def delete(host: BpfHost, target: BpfMap, key_at: int) -> int:
    """The body of map_delete_elem: 0 or -errno."""
    key = target.mem.read(key_at, target.key_size)
    return _change(host, target, key_at, lambda: target.delete(key))


def update(host: BpfHost, target: BpfMap, key_at: int, value_at: int, flags: int) -> int:
    """The body of map_update_elem: 0 or -errno."""
    key, value = target.mem.read(key_at, target.key_size), target.mem.read(value_at, target.value_size)
    return _change(host, target, key_at, lambda: target.update(key, value, flags))


def _change(host: BpfHost, target: BpfMap, key_at: int, change: Callable[[], None]) -> int:
    try:
        if isinstance(target, HashMap) and target.map_type == uapi.BPF_MAP_TYPE_HASH:
            _look_for(host, target, key_at)
        change()
    except KernelError as error:
        return -error.errno
    return 0


def _look_for(host: BpfHost, target: HashMap, key_at: int) -> None:
    """lookup_elem_raw() with the bucket locked: EBUSY for who comes back to it on this CPU (htab_lock_bucket())."""
    cpu = host.cpu_id()
    if cpu in target.locked_by:
        raise KernelError(EBUSY, "the bucket is locked")
    key = target.mem.read(key_at, target.key_size)
    target.locked_by.add(cpu)
    try:
        arguments = (*target.place_of(bytes(key)), key_at, target.key_size)
        host.around(LOOKUP_ELEM_RAW, arguments, lambda: target.lookup_element(key))
    finally:
        target.locked_by.discard(cpu)


def delete_around(host: BpfHost, target: BpfMap, key_at: int) -> None:
    """A helper's target.delete()."""
    if name := watched(host, target, "delete"):
        answered(host.around(name, (target.address, key_at), lambda: delete(host, target, key_at)))
    else:
        target.delete(target.mem.read(key_at, target.key_size))


def update_around(host: BpfHost, target: BpfMap, key_at: int, value_at: int, flags: int) -> None:
    """A helper's target.update()."""
    if name := watched(host, target, "update"):
        arguments = (target.address, key_at, value_at, flags)
        answered(host.around(name, arguments, lambda: update(host, target, key_at, value_at, flags)))
    else:
        target.update(target.mem.read(key_at, target.key_size), target.mem.read(value_at, target.value_size), flags)


def answered(value: int) -> None:
    """KernelError of what a function returned."""
    if signed32(value) < 0:
        raise KernelError(-signed32(value))
