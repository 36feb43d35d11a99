"""Hash maps: plain, per-CPU, least recently used, and of maps.  kernel/bpf/hashtab.c.

Elements and buckets lie in simulated memory, and native functions (htab.py) work on them, for these classes as for
compiled programs.  Here is what those do not do: making and freeing maps, elements that must be allocated, values with
locks, timers and kernel pointers, values behind pointers, and what bpf(2) asks for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from arch.abi.errno import E2BIG, EINVAL, ENOENT, ENOMEM, ENOTSUPP, EPERM
from arch.abi.limits import KMALLOC_MAX_SIZE, U32_MAX
from arch.errors import CorruptMemory
from bpf import uapi
from bpf.maps import htab
from bpf.maps.base import (
    BPF_F_ACCESS_MASK,
    PCPU_MIN_UNIT_SIZE,
    Board,
    BpfMap,
    MapAttr,
    check_update_flags,
    flags_access_ok,
    inner_map_model,
    inner_map_of_fd,
    refuse,
)
from bpf.maps.jhash import jhash
from bpf.maps.rows import Probe, map_type
from bpf.maps.sizes import round_up, roundup_pow_of_two

HTAB_ELEM = htab.KEY_AT
ELEMENTS_AT_ONCE = 16  # taken from memory when those that were taken so far are all in use
MOST_SPARE, KEPT_SPARE = (
    96,
    48,
)  # free elements that are not preallocated: with more than so many, so many are left (bpf_mem_alloc)
NO_LIMIT = 1 << 63
BUCKET_SIZE = 16  # sizeof(struct bucket)
PERCPU_COUNTER_BATCH = 32
MAX_KEY_SIZE_4_1 = 512

HTAB_CREATE_FLAGS = (
    uapi.BPF_F_NO_PREALLOC | uapi.BPF_F_NO_COMMON_LRU | uapi.BPF_F_NUMA_NODE | BPF_F_ACCESS_MASK | uapi.BPF_F_ZERO_SEED
)
_PERCPU = (uapi.BPF_MAP_TYPE_PERCPU_HASH, uapi.BPF_MAP_TYPE_LRU_PERCPU_HASH)
_LRU = (uapi.BPF_MAP_TYPE_LRU_HASH, uapi.BPF_MAP_TYPE_LRU_PERCPU_HASH)


def _alloc_check_4_1(attr: MapAttr) -> None:
    """htab_map_alloc() of 4.1."""
    if attr.max_entries == 0 or attr.key_size == 0 or attr.value_size == 0:
        raise refuse(EINVAL)
    if attr.key_size > MAX_KEY_SIZE_4_1:
        raise refuse(E2BIG)
    buckets = roundup_pow_of_two(attr.max_entries) & U32_MAX
    if buckets == 0 or buckets > U32_MAX // 8:
        raise refuse(ENOMEM)


def htab_alloc_check(bpf: Board, attr: MapAttr) -> None:
    """htab_map_alloc_check()."""
    if bpf.version.before("4.6"):
        _alloc_check_4_1(attr)
        return
    flags = attr.map_flags
    percpu, lru = attr.map_type in _PERCPU, attr.map_type in _LRU
    percpu_lru = bool(flags & uapi.BPF_F_NO_COMMON_LRU)
    if lru and not bpf.capable("bpf"):
        raise refuse(EPERM)
    if flags & uapi.BPF_F_ZERO_SEED and not bpf.capable("sys_admin"):
        raise refuse(EPERM)
    if flags & ~HTAB_CREATE_FLAGS or not flags_access_ok(flags):
        raise refuse(EINVAL)
    if not lru and percpu_lru:
        raise refuse(EINVAL)
    if lru and flags & uapi.BPF_F_NO_PREALLOC:
        raise refuse(ENOTSUPP)
    if flags & uapi.BPF_F_NUMA_NODE and (percpu or percpu_lru):
        raise refuse(EINVAL)
    if attr.max_entries == 0 or attr.key_size == 0 or attr.value_size == 0:
        raise refuse(EINVAL)
    if attr.key_size + attr.value_size >= KMALLOC_MAX_SIZE - HTAB_ELEM:
        raise refuse(E2BIG)
    if percpu and round_up(attr.value_size, 8) > PCPU_MIN_UNIT_SIZE:
        raise refuse(E2BIG)


@map_type(
    1,
    "HASH",
    since="3.19",
    commit="0f8e4bd8a1fc",
    struct="bpf_htab",
    for_each=True,
    sleepable="5.12",
    lock=True,
    timer=True,
    kptr=True,
    lookup_and_delete="5.14",
    text="type",
)
class HashMap(BpfMap):
    """BPF_MAP_TYPE_HASH."""

    lru = False
    in_place = False  # a value that is there is written over, always
    changes = "htab_update_bytes"  # the native function that gives a key its value
    word_count = htab.HTAB_WORDS
    library = staticmethod(htab.library)  # the native functions of this kind of map
    natives: ClassVar[dict[str, str]] = {
        "lookup": "htab_lookup",
        "element": "htab_find",
        "update": "htab_update_or_decline",
        "delete": "htab_delete",
    }
    commands: ClassVar[dict[str, str]] = {
        "lookup": "htab_lookup",
        "update": "htab_update_or_decline",
        "delete": "htab_delete",
        "next_key": "htab_next_key",
    }

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        htab_alloc_check(bpf, attr)

    def elements_there(self) -> int:
        return self.words[htab.COUNT]

    def alloc(self) -> None:
        """htab_map_alloc(); elements are taken when first needed, at most max_entries of them."""
        self.n_buckets = self.first_buckets()
        self.classic = self.bpf.version.before("4.6")  # before preallocation: 4.1's order of checks
        self.prealloc = not self.classic and not self.map_flags & uapi.BPF_F_NO_PREALLOC
        self.recycled = self.prealloc or self.bpf.version.at_least("6.1")  # a deleted element is used again at once
        self.value_at = HTAB_ELEM + round_up(self.key_size, 8)
        self.elem_size = self.value_at + round_up(self.stored_size, 8)
        cost = self.n_buckets * BUCKET_SIZE + (self.max_entries * self.elem_size if self.prealloc else 0)
        if cost > self.bpf.memory_limit:
            raise refuse(ENOMEM)
        seeded = self.bpf.version.at_least("4.20") and not self.map_flags & uapi.BPF_F_ZERO_SEED
        self.hashrnd = self.host.random_u32() if seeded else 0
        self._prepare()
        super().alloc()
        for member, size, value in (
            ("buckets", self.host.structs.word, self._buckets), ("n_buckets", 4, self.n_buckets), ("elem_size", 4, self.elem_size), ("hashrnd", 4, self.hashrnd),
        ):  # fmt: skip
            if at := self.member_at(member):
                self.mem.write_uint(at, size, value)
        # bpf_htab.count is used where elements are not preallocated and the map is small
        per_cpu = self.bpf.version.at_least("6.1") and self.max_entries // 2 > self.host.nr_cpus * PERCPU_COUNTER_BATCH
        self.count_at = 0 if self.prealloc or per_cpu else self.member_at("count")

    def first_buckets(self) -> int:
        """How many.  E2BIG, ENOMEM."""
        if self.max_entries > 1 << 31 or roundup_pow_of_two(self.max_entries) > U32_MAX // BUCKET_SIZE:
            raise refuse(E2BIG if self.bpf.version.at_least("4.6") else ENOMEM)
        return roundup_pow_of_two(self.max_entries)

    def _prepare(self) -> None:
        """Buckets, the words that the native functions work with, and these functions."""
        buckets = self.allocate(self.n_buckets * 8, 8)
        self._keys = self.allocate(self.key_size)
        self._values = self.allocate(self.stored_size)
        self.words = (ctypes.c_uint64 * self.word_count)(
            buckets, self.n_buckets - 1, self.key_size, self.value_size, self.value_at, self.max_entries, 0, 0,
            self.hashrnd, round_up(self.value_size, 8), self.classic, self._keys, self._values,
            0, NO_LIMIT if self.prealloc else MOST_SPARE,
        )  # fmt: skip
        self._buckets = buckets
        self._library = self.library(self.mem.byteorder == "big")
        bound = self._bound
        self._first = bound("htab_first")
        self._find, self._unlink = bound("htab_find_bytes"), bound("htab_unlink_bytes")
        self._after, self._link = bound("htab_after"), bound("htab_link")
        self._take, self._give, self._check = bound("htab_take"), bound("htab_give"), bound("htab_check")
        self._native_update = bound(self.changes)
        self.locked_by: set[int] = set()  # CPUs that are within a change of which somebody is told (functions.py)
        self._owned: list[int] = []  # the elements of a preallocated map, in use or not

    def _bound(self, name: str) -> Callable[..., int]:
        """A native function with this map's words."""
        return partial(self._library.builtin(name, self.host.block), self.native_words)

    @property
    def native_words(self) -> int:
        return ctypes.addressof(self.words)

    def native_operation(self, operation: str) -> int:
        if operation in ("update", "delete") and not self._changes_natively():
            return 0
        return self._library.address.get(self.natives.get(operation, ""), 0)

    def native_command(self, command: str) -> int:
        if self.special or (command in ("update", "delete") and not self._changes_natively()):
            return 0
        return self._library.address.get(self.commands.get(command, ""), 0)

    @property
    def command_scratch(self) -> tuple[int, int]:
        return self._keys, self._values

    def _changes_natively(self) -> bool:
        """Elements come from those that are free, and nothing in them or beside them is to be kept in order."""
        return self.recycled and not self.special and not self.count_at

    @property
    def stored_size(self) -> int:
        """Bytes of a value within an element."""
        return self.value_size

    # ---- order ----

    def bucket(self, key: bytes) -> int:
        """Number of the bucket a key belongs to."""
        return jhash(key, self.hashrnd, self.mem.byteorder) & (self.n_buckets - 1)

    def place_of(self, key: bytes) -> tuple[int, int]:
        """Address of the bucket's head, and the hash."""
        hashed = jhash(key, self.hashrnd, self.mem.byteorder)
        return self._buckets + (hashed & (self.n_buckets - 1)) * 8, hashed

    def key_of(self, element: int) -> bytes:
        """The key in an element."""
        return bytes(self.mem.read(element + htab.KEY_AT, self.key_size))

    def elements(self) -> list[int]:
        """All elements as the kernel would walk over them."""
        found, element = [], self._after(0)
        while element:
            found.append(element)
            if len(found) > self.words[htab.COUNT]:
                raise CorruptMemory(f"the elements of map {self.id} go in a circle")
            element = self._after(element)
        return found

    def next_key(self, key: bytes | None) -> bytes:
        """htab_map_get_next_key(): an unknown key gives the first one."""
        element = self._after(self._find(key) if key is not None else 0)
        if not element:
            raise refuse(ENOENT)
        return self.key_of(element)

    # ---- elements ----

    def new_element(self, key: bytes) -> int:
        """alloc_htab_elem(): one with this key that is in no bucket yet; there is room."""
        element = self._take()
        if not element:
            if self.recycled:
                self.more_elements()
                element = self._take()
            else:
                element = self.allocate(self.elem_size)
        self.mem.write(element + htab.KEY_AT, key)
        return element

    def more_elements(self) -> None:
        """Elements that were not needed so far: some of them, at least one.  ENOMEM."""
        used = len(self._owned) if self.prealloc else self.words[htab.COUNT]
        wanted = min(max(self.max_entries - used, 1), ELEMENTS_AT_ONCE)
        fresh: list[int] = []
        try:
            while len(fresh) < wanted:
                fresh.append(self._make_element())
        finally:
            if self.prealloc:
                self._owned += fresh
            for element in reversed(fresh):
                self._give(element)

    def _make_element(self) -> int:
        return self.allocate(self.elem_size)

    def free_element(self, element: int) -> None:
        """Used again at once; before 6.1 only where elements are preallocated, others go after the programs now running."""
        if self.special:
            self.clear_special(element + self.value_at)
        if not self.recycled:
            self.bpf.defer_free(self.mem, element)
            return
        self._give(element)
        if self.words[htab.SPARE] > self.words[htab.MOST_SPARE]:
            while self.words[htab.SPARE] > KEPT_SPARE:
                self.bpf.defer(partial(self.drop_element, self._take()))

    def lookup(self, key: bytes) -> int:
        element = self._find(key)
        return element + self.value_at if element else 0

    def lookup_element(self, key: bytes) -> int:
        """__htab_map_lookup_elem(): the element, for programs that were rewritten to call it."""
        return self._find(key)

    def check(self, old: int, flags: int) -> None:
        """Do the flags agree with what is there, and is there room?"""
        refused = self._check(old, flags & ~uapi.BPF_F_LOCK)
        if refused:
            raise refuse(-refused)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """htab_map_update_elem()."""
        if not self._changes_natively():
            self._update_here(key, value, flags)
            return
        answer = self._native_update(key, value, flags)
        if answer == htab.NO_ELEMENT:
            self.more_elements()
            answer = self._native_update(key, value, flags)
        if answer:
            raise refuse(-answer)

    def _update_here(self, key: bytes, value: bytes, flags: int) -> None:
        """The same where elements are allocated, or values have special members."""
        old = self._find(key)
        lock = uapi.BPF_F_LOCK if self.bpf.version.at_least("5.1") else 0
        if flags & ~lock > uapi.BPF_EXIST or (flags & lock and not self.has_spin_lock()):
            raise refuse(EINVAL)
        self.check(old, flags)
        if old and (self.in_place or flags & lock):
            self.copy_value(old + self.value_at, value)
            return
        element = self.new_element(key)
        if self.special:
            self.mem.write(element + self.value_at, bytes(self.value_size))
        self.copy_value(element + self.value_at, value)
        self.put_in(key, element, old)

    def put_in(self, key: bytes, element: int, old: int) -> None:
        """Into its bucket, in place of the element that had this key."""
        if old:
            self._unlink(key)
        self._link(element)
        if old:
            self.free_element(old)
        self.show_count()

    def show_count(self) -> None:
        """bpf_htab.count."""
        if self.count_at:
            self.mem.write_uint(self.count_at, 4, self.words[htab.COUNT])

    def delete(self, key: bytes) -> None:
        element = self._unlink(key)
        if not element:
            raise refuse(ENOENT)
        self.free_element(element)
        self.show_count()

    def lookup_and_delete(self, key: bytes, flags: int) -> bytes:
        """__htab_map_lookup_and_delete_elem()."""
        if not self._find(key):
            raise refuse(ENOENT)
        value = self.user_lookup(key, flags)
        self.delete(key)
        return value

    def for_each(self, callback: Callable[[int, int], int]) -> int:
        """bpf_for_each_hash_elem(): in the order of the buckets."""
        count = 0
        for element in self.elements():
            key = self.key_of(element)
            if self._find(key) != element:
                continue
            count += 1
            if callback(element + htab.KEY_AT, self.lookup(key)):
                break
        return count

    def free_elements(self) -> None:
        used = self.elements()
        for element in used:
            if self.special:
                self.clear_special(element + self.value_at)
        for element in self._owned if self.prealloc else used:
            self.drop_element(element)
        while self.words[htab.SPARE] and not self.prealloc:
            self.drop_element(self._take())
        for address in (self._buckets, self._keys, self._values):
            self.mem.free(address)

    def drop_element(self, element: int) -> None:
        """Its memory goes back."""
        self.mem.free(element)

    def release_users(self) -> None:
        """htab_map_free_timers()."""
        if self.timer_off >= 0:
            for element in self.elements():
                self.bpf.cancel_timer(element + self.value_at + self.timer_off)

    def direct_batch(self) -> Iterable[str]:
        return ("lookup", "lookup_and_delete", "update", "delete")

    def batch_buckets(self) -> tuple[int, Callable[[int], list[bytes]]]:
        """How many buckets there are, and the keys of one: what batch lookup walks over."""

        def keys(bucket: int) -> list[bytes]:
            found: list[bytes] = []
            element = int(self.mem.read_uint(self._buckets + 8 * bucket, 8))
            while element and len(found) <= self.words[htab.COUNT]:
                found.append(self.key_of(element))
                element = int(self.mem.read_uint(element, 8))
            return found

        return self.n_buckets, keys

    def next_bucket(self, bucket: int) -> int:
        """The first bucket from this one on that is not empty; n_buckets if there is none."""
        element = self._first(bucket)
        return self.bucket(self.key_of(element)) if element else self.n_buckets


@map_type(
    5,
    "PERCPU_HASH",
    since="4.6",
    commit="824bd0ce6c7c",
    struct="bpf_htab",
    for_each=True,
    sleepable="5.12",
    lookup_and_delete="5.14",
    per_cpu=True,
    text="type",
)
class PercpuHashMap(HashMap):
    """BPF_MAP_TYPE_PERCPU_HASH: the element holds a pointer to one value per CPU."""

    natives: ClassVar[dict[str, str]] = {
        "lookup": "htab_lookup_percpu",
        "element": "htab_find",
        "update": "htab_update_percpu",
        "delete": "htab_delete",
    }
    commands: ClassVar[dict[str, str]] = {"delete": "htab_delete", "next_key": "htab_next_key"}

    can_be_inner = True

    @property
    def stored_size(self) -> int:
        return 8

    @property
    def cpu_value_size(self) -> int:
        """Bytes from one CPU's value to the next."""
        return round_up(self.value_size, 8)

    @property
    def user_value_size(self) -> int:
        return int(self.cpu_value_size * self.host.nr_cpus)

    def _make_element(self) -> int:
        element = super()._make_element()
        self._give_values(element)
        return element

    def _give_values(self, element: int) -> None:
        values = self.allocate(self.cpu_value_size * self.host.nr_cpus)
        self.mem.write_uint(element + self.value_at, 8, values)

    def new_element(self, key: bytes) -> int:
        element = super().new_element(key)
        if not self.recycled:
            self._give_values(element)
        return element

    def free_element(self, element: int) -> None:
        if not self.recycled:
            self.bpf.defer_free(self.mem, self.mem.read_uint(element + self.value_at, 8))
        super().free_element(element)

    def drop_element(self, element: int) -> None:
        self.mem.free(self.mem.read_uint(element + self.value_at, 8))
        super().drop_element(element)

    def lookup(self, key: bytes) -> int:
        return self.lookup_percpu(key, self.host.cpu_id())

    def lookup_percpu(self, key: bytes, cpu: int) -> int:
        element = self._find(key)
        if not element or cpu >= self.host.nr_cpus:
            return 0
        return int(self.mem.read_uint(element + self.value_at, 8)) + cpu * self.cpu_value_size

    def _update(self, key: bytes, flags: int, fill: Callable[[bool], None]) -> None:
        """__htab_percpu_map_update_elem(): an element that is there is changed in place."""
        check_update_flags(flags)
        old = self._find(key)
        self.check(old, flags)
        if not old:
            self._link(self.new_element(key))
        fill(not old)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """From a program: this CPU's value; in a new element the others are 0."""

        def fill(new: bool) -> None:
            if new:
                for cpu in range(self.host.nr_cpus):
                    self.mem.write(self.lookup_percpu(key, cpu), bytes(self.cpu_value_size))
            self.mem.write(self.lookup(key), value)

        self._update(key, flags, fill)

    def user_update(self, key: bytes, value: bytes, flags: int) -> None:
        def fill(new: bool) -> None:
            self.mem.write(self.lookup_percpu(key, 0), value)

        self._update(key, flags, fill)

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """bpf_percpu_hash_copy()."""
        values = self.lookup_percpu(key, 0)
        if not values:
            raise refuse(ENOENT)
        return bytes(self.mem.read(values, self.user_value_size))


@map_type(
    13,
    "HASH_OF_MAPS",
    since="4.12",
    commit="bcc6b1b7ebf8",
    struct="bpf_htab",
    helpers="map_lookup_elem",
    sleepable="5.12",
    btf="none",
    map_in_map=True,
    loader_btf=False,
    probe=Probe(needs="inner"),
)
class HashOfMaps(HashMap):
    """BPF_MAP_TYPE_HASH_OF_MAPS: a value is a pointer to a map."""

    natives: ClassVar[dict[str, str]] = {"element": "htab_find"}

    can_be_inner = False
    holds_fds = True

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """fd_htab_map_alloc_check()."""
        if attr.value_size != 4:
            raise refuse(EINVAL)
        htab_alloc_check(bpf, attr)

    def alloc(self) -> None:
        self.inner_map_meta = inner_map_model(self.host, self.attr.inner_map_fd)
        self.inner = self.inner_map_meta.meta() if self.inner_map_meta else None
        self.objects: dict[int, BpfMap] = {}  # element -> the map in it
        super().alloc()

    @property
    def stored_size(self) -> int:
        return 8

    def lookup(self, key: bytes) -> int:
        """htab_of_map_lookup_elem(): the pointer itself."""
        element = self._find(key)
        return self.objects[element].address if element else 0

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """bpf_fd_htab_map_update_elem()."""
        inner = inner_map_of_fd(self, int.from_bytes(value[:4], self.mem.byteorder, signed=True))
        try:
            old = self._find(key)
            check_update_flags(flags)
            self.check(old, flags)
            element = self.new_element(key)
        except Exception:
            inner.put()
            raise
        self.mem.write_uint(element + self.value_at, 8, inner.address)
        self.objects[element] = inner
        self.put_in(key, element, old)

    def free_element(self, element: int) -> None:
        self.objects.pop(element).put()
        super().free_element(element)

    def free_elements(self) -> None:
        for inner in self.objects.values():
            inner.put()
        self.objects = {}
        super().free_elements()

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """bpf_fd_htab_map_lookup_elem(): the inner map's id."""
        element = self._find(key)
        if not element:
            raise refuse(ENOENT)
        return self.objects[element].id.to_bytes(4, self.mem.byteorder)

    def for_each(self, callback: Callable[[int, int], int]) -> int:
        return BpfMap.for_each(self, callback)
