"""Hash maps that make room by themselves: the element used least recently goes.  kernel/bpf/hashtab.c, bpf_lru_list.c."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from arch.abi.errno import ENOENT, ENOMEM
from arch.abi.limits import U32_MAX
from arch.errors import CorruptMemory, KernelError
from bpf import uapi
from bpf.maps import htab, lru
from bpf.maps.base import (
    check_update_flags,
    refuse,
    round_up,
)
from bpf.maps.hash import HashMap, PercpuHashMap
from bpf.maps.htab import KEY_AT, REF_AT
from bpf.maps.lru import library as lru_library
from bpf.maps.rows import map_type

PERCPU_ELEMENTS_AT_ONCE = 16  # of lists of its own, from which a CPU takes one at a time


class _Lru(HashMap):
    """Least recently used: when all elements are taken, some that were not used lately make room (lru.py)."""

    lru = True
    changes = "lru_update_bytes"
    library = staticmethod(lru_library)

    def alloc(self) -> None:
        """With a list per CPU the number of elements is a multiple of the CPUs."""
        cpus = self.host.nr_cpus
        own_lists = bool(self.map_flags & uapi.BPF_F_NO_COMMON_LRU)
        if own_lists:
            rounded = round_up(self.max_entries, cpus)
            self.max_entries = rounded if rounded <= U32_MAX else rounded - cpus
        self.word_count = lru.words_of(cpus)
        super().alloc()
        self._pop_element, self._push_free, self._add = (
            self._bound(name) for name in ("lru_pop", "lru_push_free", "lru_add")
        )
        words, lists = self.words, cpus if own_lists else 1
        self._heads = heads = self.allocate(lru.heads_of(cpus))
        words[lru.CPUS], words[lru.OWN_LISTS], words[lru.HEADS] = cpus, own_lists, heads
        words[lru.LOCAL_HEADS] = heads + lists * 3 * lru.HEAD_SIZE
        init = self._bound("lru_init")
        for at in range(heads, heads + lru.heads_of(cpus), lru.HEAD_SIZE):
            init(at)
        for number in range(lists):
            at = lru.LISTS + lru.LIST_WORDS * number
            words[at + lru.UNUSED] = self.max_entries // lists
            words[at + lru.ROTATION] = heads + (3 * number + lru.INACTIVE) * lru.HEAD_SIZE
        for cpu in range(cpus):
            words[lru.LISTS + lru.LIST_WORDS * cpus + cpu] = cpu  # each begins to steal from itself

    def more_elements(self) -> None:
        """Elements that were not needed so far, as many as are taken at once.  ENOMEM."""
        number = self.host.cpu_id() if self.words[lru.OWN_LISTS] else 0
        at = lru.LISTS + lru.LIST_WORDS * number
        wanted = PERCPU_ELEMENTS_AT_ONCE if self.words[lru.OWN_LISTS] else lru.LOCAL_FREE_TARGET
        for _ in range(min(wanted - self.words[at + lru.FREE], self.words[at + lru.UNUSED])):
            element = self._make_element()
            self._owned.append(element)
            self._add(element, number)

    def _pop(self, key: bytes) -> int:
        """prealloc_lru_pop(): ENOMEM if nothing can be taken."""
        words = self.words
        words[lru.KEEPS_DELETED], words[lru.DELETED] = bool(self.special), 0
        cpu = self.host.cpu_id()
        element = self._pop_element(cpu)
        if element == htab.NO_ELEMENT:
            self.more_elements()
            element = self._pop_element(cpu)
        if self.special:
            self._clear_deleted()
        if not element:
            raise refuse(ENOMEM)
        self.mem.write(element + KEY_AT, key)
        return element

    def _clear_deleted(self) -> None:
        """Special members of what made room, in the order in which it went."""
        found: list[int] = []
        element = self.words[lru.DELETED]
        while element:
            if len(found) > self.max_entries:
                raise CorruptMemory(f"the deleted elements of map {self.id} go in a circle")
            found.append(element)
            element = self.mem.read_uint(element + htab.FREE_AT, 8)
        for element in reversed(found):
            self.clear_special(element + self.value_at)

    def free_element(self, element: int) -> None:
        """htab_lru_push_free()."""
        if self.special:
            self.clear_special(element + self.value_at)
        self._push_free(element)

    def _mark(self, element: int) -> None:
        self.mem.write_uint(element + REF_AT, 1, 1)

    def free_elements(self) -> None:
        super().free_elements()
        self.mem.free(self._heads)


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

    natives: ClassVar[dict[str, str]] = {
        "lookup": "htab_lookup_lru",
        "element": "htab_find",
        "update": "lru_update_or_decline",
        "delete": "lru_delete",
    }
    commands: ClassVar[dict[str, str]] = {
        "lookup": "htab_lookup",  # does not mark
        "update": "lru_update_or_decline",
        "delete": "lru_delete",
        "next_key": "htab_next_key",
    }

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
        """htab_lru_map_update_elem()."""
        if not self._changes_natively():
            self._update_here(key, value, flags)
            return
        cpu = self.host.cpu_id()
        answer = self._native_update(key, value, flags, cpu)
        if answer == htab.NO_ELEMENT:
            self.more_elements()
            answer = self._native_update(key, value, flags, cpu)
        if answer:
            raise refuse(-answer)

    def _update_here(self, key: bytes, value: bytes, flags: int) -> None:
        """The same where values have special members: room is made before the flags are looked at."""
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
