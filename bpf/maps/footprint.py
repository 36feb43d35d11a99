"""How much memory a map is said to take: "memlock" of its fdinfo.  kernel/bpf/syscall.c:bpf_map_show_fdinfo().

Three ages.  Before 5.11 what its maker was charged, in whole pages; then, until 6.3, a guess that is the same for all types; since 6.4
each type tells, down to the byte, and some count the elements that are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from arch.abi.limits import PAGE_SIZE
from arch.abi.version import newest
from arch.records import dataclass
from bpf import uapi
from bpf.face import BpfHost
from bpf.maps.rows import MAP_TYPES
from bpf.maps.sizes import round_up, roundup_pow_of_two

CHARGED_UNTIL: Final = "5.11"  # 80ee81e0403c
TOLD_SINCE: Final = "6.4"  # 90a5527d7686
CHARGED_ALIGN: Final = 64  # to which struct bpf_map is aligned as long as maps are charged
POINTER_BYTES: Final = 8
BUCKET: Final = 16  # a list's head and its lock
HASH_ELEMENT: Final = 48  # struct htab_elem, before key and value
HASH_LISTED: Final = 8  # of an element that is not there from the start: its place in the allocator's list
STACK_BUCKET: Final = 16  # struct stack_map_bucket
DEVICE_ENTRY: Final = 64  # struct bpf_dtab_netdev
SOCKET_ELEMENT: Final = 48  # struct bpf_shtab_elem, before the key
RING_HEAD_PAGES: Final = 3  # of a ring, before those of its data
# what a hash map's own struct has beside struct bpf_map; bytes of a node of a trie, before prefix and value
HASH_HEADS: Final = (("6.15", 608), (None, 680))  # 4fa8d68aa53e
TRIE_NODES: Final = (("6.13", 24), (None, 40))  # 3d8dc43eb2a3
# what the struct of local storage has beside struct bpf_map and its buckets
STORAGE_HEADS: Final = (("7.1", 16), (None, 184))
MAP_ELEMENTS_SPARED: Final = "7.2"  # a hash map of maps has no elements for updates beside those that may be there


class Sized(Protocol):
    """What is asked of a map."""

    host: BpfHost
    map_type: int
    key_size: int
    value_size: int
    max_entries: int
    map_flags: int

    @property
    def user_value_size(self) -> int:
        """Of a value in bpf(2)."""

    def elements_there(self) -> int:
        """How many elements there are."""

    def bits_there(self) -> int:
        """Of a filter."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """One type."""

    head: int  # bytes of its struct beside struct bpf_map
    told: Callable[[Sized], int]  # and what else it tells that it takes
    charged: Callable[[Sized], int] | None = None  # what is charged, where that is something else
    head_charged: bool = False  # the struct, too
    head_told: bool = True


def footprint(m: Sized) -> int:
    """Bytes."""
    version, row = m.host.version, _FOOTPRINTS.get(m.map_type)
    if row is not None and version.before(CHARGED_UNTIL):
        head = _struct(m, row) if row.head_charged else 0
        return round_up(max(head + (row.charged or row.told)(m), 1), PAGE_SIZE)
    if row is None or version.before(TOLD_SINCE):
        return round_up(m.max_entries * round_up(m.key_size + m.user_value_size, 8), PAGE_SIZE)
    return (_struct(m, row) if row.head_told else 0) + row.told(m)


def _struct(m: Sized, row: Footprint) -> int:
    size = m.host.structs.sizeof("bpf_map") + row.head
    return round_up(size, CHARGED_ALIGN) if m.host.version.before(CHARGED_UNTIL) else size


def _cpus(m: Sized) -> int:
    return m.host.nr_cpus


def _buckets(m: Sized) -> int:
    return roundup_pow_of_two(m.max_entries)


def _nothing(m: Sized) -> int:
    return 0


def _pointers(m: Sized) -> int:
    return m.max_entries * POINTER_BYTES


def _array(m: Sized) -> int:
    values = m.max_entries * round_up(m.value_size, 8)
    if not m.map_flags & uapi.BPF_F_MMAPABLE:
        return values
    return PAGE_SIZE + round_up(values, PAGE_SIZE) - _struct(m, _ARRAY)


def _percpu_array(m: Sized) -> int:
    return m.max_entries * (POINTER_BYTES + round_up(m.value_size, 8) * _cpus(m))


def _hash_element(m: Sized) -> int:
    percpu = MAP_TYPES[m.map_type].per_cpu
    return HASH_ELEMENT + round_up(m.key_size, 8) + (POINTER_BYTES if percpu else round_up(m.value_size, 8))


def _hash(m: Sized) -> int:
    """htab_map_mem_usage()."""
    version, percpu, lru = m.host.version, MAP_TYPES[m.map_type].per_cpu, m.map_type in _LRU
    found = newest(HASH_HEADS, version) + BUCKET * _buckets(m)
    values = round_up(m.value_size, 8) * _cpus(m) if percpu else 0
    if m.map_flags & uapi.BPF_F_NO_PREALLOC:
        listed = HASH_LISTED + (HASH_LISTED + POINTER_BYTES if percpu else 0)
        return found + m.elements_there() * (_hash_element(m) + listed + values)
    spared = m.map_type == uapi.BPF_MAP_TYPE_HASH_OF_MAPS and version.at_least(MAP_ELEMENTS_SPARED)
    extra = 0 if percpu or lru or spared else _cpus(m)
    found += _hash_element(m) * (m.max_entries + extra) + values * m.max_entries
    return found if percpu or lru else found + POINTER_BYTES * _cpus(m)


def _hash_charged(m: Sized) -> int:
    values = round_up(m.value_size, 8) * m.max_entries if MAP_TYPES[m.map_type].per_cpu else _hash_element(m)
    return BUCKET * _buckets(m) + _hash_element(m) * m.max_entries + values * _cpus(m)


def _trie_node(m: Sized) -> int:
    return newest(TRIE_NODES, m.host.version) + m.key_size - 4 + m.value_size


def _stacks(m: Sized) -> int:
    return _buckets(m) * POINTER_BYTES + m.max_entries * (STACK_BUCKET + m.value_size)


def _storage(m: Sized) -> int:
    return newest(STORAGE_HEADS, m.host.version) + BUCKET * max(2, roundup_pow_of_two(_cpus(m)))


def _ring(m: Sized) -> int:
    data = m.max_entries // PAGE_SIZE
    return (RING_HEAD_PAGES + data) * PAGE_SIZE + (RING_HEAD_PAGES + 2 * data) * POINTER_BYTES


def _ring_charged(m: Sized) -> int:
    return RING_HEAD_PAGES * PAGE_SIZE + m.max_entries


def _bloom(m: Sized) -> int:
    return round_up(m.bits_there() // 8, 8)


_ARRAY = Footprint(16, _array, head_charged=True)
_POINTERS = Footprint(16, _pointers, head_charged=True)
_HASH = Footprint(0, _hash, _hash_charged)
_QUEUE = Footprint(16, lambda m: (m.max_entries + 1) * m.value_size, head_charged=True)
_RING = Footprint(8, _ring, _ring_charged, head_charged=True)
_CGROUP_STORAGE = Footprint(32, _nothing, head_charged=True)
_STORAGE = Footprint(0, _storage, _nothing)
_LRU = (uapi.BPF_MAP_TYPE_LRU_HASH, uapi.BPF_MAP_TYPE_LRU_PERCPU_HASH)
_FOOTPRINTS: Final[dict[int, Footprint]] = {
    uapi.BPF_MAP_TYPE_HASH: _HASH,
    uapi.BPF_MAP_TYPE_ARRAY: _ARRAY,
    uapi.BPF_MAP_TYPE_PROG_ARRAY: _POINTERS,
    uapi.BPF_MAP_TYPE_PERF_EVENT_ARRAY: _POINTERS,
    uapi.BPF_MAP_TYPE_PERCPU_HASH: _HASH,
    uapi.BPF_MAP_TYPE_PERCPU_ARRAY: Footprint(16, _percpu_array, head_charged=True),
    uapi.BPF_MAP_TYPE_STACK_TRACE: Footprint(40, _stacks, head_charged=True),
    uapi.BPF_MAP_TYPE_CGROUP_ARRAY: _POINTERS,
    uapi.BPF_MAP_TYPE_LRU_HASH: _HASH,
    uapi.BPF_MAP_TYPE_LRU_PERCPU_HASH: _HASH,
    uapi.BPF_MAP_TYPE_LPM_TRIE: Footprint(
        0, lambda m: m.elements_there() * _trie_node(m), lambda m: m.max_entries * _trie_node(m), True, False
    ),
    uapi.BPF_MAP_TYPE_ARRAY_OF_MAPS: _POINTERS,
    uapi.BPF_MAP_TYPE_HASH_OF_MAPS: _HASH,
    uapi.BPF_MAP_TYPE_DEVMAP: Footprint(48, lambda m: _pointers(m) + m.elements_there() * DEVICE_ENTRY, _pointers),
    uapi.BPF_MAP_TYPE_SOCKMAP: Footprint(80, _pointers),
    uapi.BPF_MAP_TYPE_CPUMAP: Footprint(8, _pointers),
    uapi.BPF_MAP_TYPE_XSKMAP: Footprint(8, _pointers, head_charged=True),
    uapi.BPF_MAP_TYPE_SOCKHASH: Footprint(
        88,
        lambda m: _buckets(m) * BUCKET,
        lambda m: _buckets(m) * BUCKET + m.max_entries * (SOCKET_ELEMENT + round_up(m.key_size, 8)),
    ),
    uapi.BPF_MAP_TYPE_CGROUP_STORAGE: _CGROUP_STORAGE,
    uapi.BPF_MAP_TYPE_REUSEPORT_SOCKARRAY: Footprint(0, _pointers, head_charged=True),
    uapi.BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE: _CGROUP_STORAGE,
    uapi.BPF_MAP_TYPE_QUEUE: _QUEUE,
    uapi.BPF_MAP_TYPE_STACK: _QUEUE,
    uapi.BPF_MAP_TYPE_DEVMAP_HASH: Footprint(
        48,
        lambda m: _buckets(m) * POINTER_BYTES + m.elements_there() * DEVICE_ENTRY,
        lambda m: _buckets(m) * POINTER_BYTES,
    ),
    uapi.BPF_MAP_TYPE_RINGBUF: _RING,
    uapi.BPF_MAP_TYPE_BLOOM_FILTER: Footprint(16, _bloom),
    uapi.BPF_MAP_TYPE_USER_RINGBUF: _RING,
    uapi.BPF_MAP_TYPE_SK_STORAGE: _STORAGE,
    uapi.BPF_MAP_TYPE_INODE_STORAGE: _STORAGE,
    uapi.BPF_MAP_TYPE_TASK_STORAGE: _STORAGE,
    uapi.BPF_MAP_TYPE_CGRP_STORAGE: _STORAGE,
}
