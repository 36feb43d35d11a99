"""The functions behind maps' operations, in the kernel's text: what bpf(2) calls where somebody watches them.

A row of bpf/maps/functions.py each; all do what that module says.
"""

from __future__ import annotations

from bpf.maps import functions
from bpf.maps.functions import MAP_FUNCTIONS, MapFunctions
from bpf.maps.hash import HashMap
from simkernel.kernel.kfunc import kernel_function
from simkernel.observe.host import ObservedKernel

LONG = "6.4"  # d7ba4cc900bf: map operations answer a long


def _lookup(k: ObservedKernel, map: int, key: int) -> int:
    target = k.observer.bpf.map_at[map]
    return target.lookup(k.mem.read(key, target.key_size))


def _update(k: ObservedKernel, map: int, key: int, value: int, flags: int) -> int:
    return functions.update(k.observer, k.observer.bpf.map_at[map], key, value, flags)


def _delete(k: ObservedKernel, map: int, key: int) -> int:
    return functions.delete(k.observer, k.observer.bpf.map_at[map], key)


def _declare(row: MapFunctions) -> None:
    since = "4.11" if row.source.endswith("lpm_trie.c") else "4.10" if "_lru_" in row.lookup else None
    kernel_function(f"void *{row.lookup}(struct bpf_map *map, void *key)", source=row.source, since=since)(_lookup)
    for result, first, last in (("int", since, LONG), ("long", LONG, None)):
        kernel_function(
            f"{result} {row.update}(struct bpf_map *map, void *key, void *value, u64 map_flags)",
            source=row.source, since=first, until=last,
        )(_update)  # fmt: skip
        kernel_function(
            f"{result} {row.delete}(struct bpf_map *map, void *key)", source=row.source, since=first, until=last
        )(_delete)


for _row in MAP_FUNCTIONS:
    _declare(_row)


@kernel_function(
    "struct htab_elem *lookup_elem_raw(struct hlist_nulls_head *head, u32 hash, void *key, u32 key_size)",
    source="kernel/bpf/hashtab.c",
    since="4.4",
)
def lookup_elem_raw(k: ObservedKernel, head: int, hash: int, key: int, key_size: int) -> int:
    """The element of a bucket that has the key, or NULL."""
    for target in k.observer.bpf.map_at.values():
        if isinstance(target, HashMap) and target.place_of(raw := k.mem.read(key, key_size))[0] == head:
            return target.lookup_element(raw)
    return 0
