"""Hash maps that make room by themselves: the element used least recently goes.  kernel/bpf/hashtab.c, bpf_lru_list.c."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from arch.abi.errno import ENOENT, ENOMEM
from arch.abi.limits import U32_MAX
from arch.errors import KernelError
from bpf import uapi
from bpf.maps.base import (
    check_update_flags,
    refuse,
    round_up,
)
from bpf.maps.hash import HashMap, PercpuHashMap
from bpf.maps.htab import KEY_AT, REF_AT
from bpf.maps.lru import Lru, Node
from bpf.maps.rows import map_type


class _Lru(HashMap):
    """Least recently used: when all elements are taken, some that were not used lately make room (lru.py)."""

    lru = True

    def alloc(self) -> None:
        """With a list per CPU the number of elements is a multiple of the CPUs."""
        own_lists = bool(self.map_flags & uapi.BPF_F_NO_COMMON_LRU)
        if own_lists:
            rounded = round_up(self.max_entries, self.host.nr_cpus)
            self.max_entries = rounded if rounded <= U32_MAX else rounded - self.host.nr_cpus
        super().alloc()
        self.nodes: dict[int, Node] = {}  # element -> its node
        self.lists = Lru(
            self.max_entries, self.host.nr_cpus, own_lists, self._is_marked, self._clear_mark, self._delete_node
        )

    def _is_marked(self, node: Node) -> bool:
        return bool(self.mem.read_uint(node.element + REF_AT, 1))

    def _clear_mark(self, node: Node) -> None:
        if node.element:
            self.mem.write_uint(node.element + REF_AT, 1, 0)

    def _delete_node(self, node: Node) -> bool:
        """htab_lru_map_delete_node(): False if the element is not in the map (any more)."""
        key = self.key_of(node.element)
        if self._find(key) != node.element:
            return False
        self._unlink(key)
        if self.special:
            self.clear_special(node.element + self.value_at)
        return True

    def _pop(self, key: bytes) -> int:
        """prealloc_lru_pop(): ENOMEM if nothing can be taken."""
        node = self.lists.pop(self.host.cpu_id())
        if node is None:
            raise refuse(ENOMEM)
        if not node.element:
            node.element = self._make_element()
            self._owned.append(node.element)
            self.nodes[node.element] = node
        self.mem.write(node.element + KEY_AT, key)
        return node.element

    def free_element(self, element: int) -> None:
        """htab_lru_push_free()."""
        if self.special:
            self.clear_special(element + self.value_at)
        self.lists.push_free(self.nodes[element])

    def _mark(self, element: int) -> None:
        self.mem.write_uint(element + REF_AT, 1, 1)

    def free_elements(self) -> None:
        super().free_elements()
        self.nodes = {}


@map_type(
    9,
    "LRU_HASH",
    since="4.10",
    commit="29ba732acbee",
    struct="bpf_htab",
    for_each=True,
    sleepable="5.12",
    timer=True,
    kptr=True,
    lookup_and_delete="5.14",
    text="type",
)
class LruHashMap(_Lru):
    """BPF_MAP_TYPE_LRU_HASH."""

    natives: ClassVar[dict[str, str]] = {"lookup": "htab_lookup_lru", "element": "htab_find"}
    commands: ClassVar[dict[str, str]] = {"lookup": "htab_lookup", "next_key": "htab_next_key"}  # does not mark

    def lookup(self, key: bytes) -> int:
        """htab_lru_map_lookup_elem(): and marks the element."""
        element = self._find(key)
        if not element:
            return 0
        self._mark(element)
        return element + self.value_at

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """htab_lru_map_lookup_elem_sys(): does not mark."""
        address = HashMap.lookup(self, key)
        if not address:
            raise refuse(ENOENT)
        return self.read_value(address)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """htab_lru_map_update_elem(): room is made before the flags are looked at."""
        check_update_flags(flags)
        element = self._pop(key)
        self.copy_value(element + self.value_at, value)
        old = self._find(key)
        try:
            self.check(old, flags)
        except KernelError:
            self.free_element(element)
            raise
        if old:
            self._mark(element)
        self.put_in(key, element, old)


@map_type(
    10,
    "LRU_PERCPU_HASH",
    since="4.10",
    commit="8f8449384ec3",
    struct="bpf_htab",
    for_each=True,
    sleepable="5.12",
    lookup_and_delete="5.14",
    per_cpu=True,
    text="type",
)
class LruPercpuHashMap(_Lru, PercpuHashMap):
    """BPF_MAP_TYPE_LRU_PERCPU_HASH."""

    natives: ClassVar[dict[str, str]] = {"element": "htab_find"}

    def lookup(self, key: bytes) -> int:
        element = self._find(key)
        if not element:
            return 0
        self._mark(element)
        return self.lookup_percpu(key, self.host.cpu_id())

    def _update(self, key: bytes, flags: int, fill: Callable[[bool], None]) -> None:
        """__htab_lru_percpu_map_update_elem(): a node is taken even where the element is there already."""
        check_update_flags(flags)
        element = self._pop(key) if flags != uapi.BPF_EXIST else 0
        old = self._find(key)
        try:
            self.check(old, flags)
        except KernelError:
            if element:
                self.free_element(element)
            raise
        if old:
            self._mark(old)
            if element:
                self.free_element(element)
        else:
            self._link(element)
        fill(not old)
