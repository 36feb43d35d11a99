"""Hash maps: plain, per-CPU, least recently used, and of maps.  kernel/bpf/hashtab.c.

An element is a struct htab_elem in simulated memory (48 bytes, the key, the value).  Which bucket it is in matters only
to those who walk the map, so the hash of a key is computed when somebody first asks for an order: until then a
Python dictionary finds elements.  Within a bucket the newest element is first, as with the kernel's head insertion.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable

from arch.abi.errno import E2BIG, EEXIST, EINVAL, ENOENT, ENOMEM, ENOTSUPP, EPERM
from arch.abi.limits import U32_MAX
from bpf import uapi
from bpf.maps.base import (
    BPF_F_ACCESS_MASK,
    KMALLOC_MAX_SIZE,
    PCPU_MIN_UNIT_SIZE,
    Board,
    BpfMap,
    MapAttr,
    check_update_flags,
    flags_access_ok,
    inner_map_model,
    inner_map_of_fd,
    refuse,
    round_up,
    roundup_pow_of_two,
)
from bpf.maps.jhash import jhash
from bpf.maps.rows import Probe, map_type

HTAB_ELEM = 48  # offsetof(struct htab_elem, key)
BUCKET_SIZE = 16  # sizeof(struct bucket)
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
    sleepable=True,
    lock=True,
    timer=True,
    kptr=True,
    lookup_and_delete="5.14",
)
class HashMap(BpfMap):
    """BPF_MAP_TYPE_HASH."""

    lru = False

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        htab_alloc_check(bpf, attr)

    def alloc(self) -> None:
        """htab_map_alloc(); elements are taken when first needed, at most max_entries of them."""
        if self.max_entries > 1 << 31 or roundup_pow_of_two(self.max_entries) > U32_MAX // BUCKET_SIZE:
            raise refuse(E2BIG if self.bpf.version.at_least("4.6") else ENOMEM)
        self.classic = self.bpf.version.before("4.6")  # before preallocation: 4.1's order of checks
        self.n_buckets = roundup_pow_of_two(self.max_entries)
        self.prealloc = not self.classic and not self.map_flags & uapi.BPF_F_NO_PREALLOC
        self.value_at = HTAB_ELEM + round_up(self.key_size, 8)
        self.elem_size = self.value_at + round_up(self.stored_size, 8)
        cost = self.n_buckets * BUCKET_SIZE + (self.max_entries * self.elem_size if self.prealloc else 0)
        if cost > self.bpf.memory_limit:
            raise refuse(ENOMEM)
        seeded = self.bpf.version.at_least("4.20") and not self.map_flags & uapi.BPF_F_ZERO_SEED
        self.hashrnd = self.host.random_u32() if seeded else 0
        self.elements: dict[bytes, int] = {}  # key -> address of the element
        self.spare: list[int] = []  # preallocated elements not in use, last freed first
        self._order: list[tuple[int, int, bytes]] | None = None  # (bucket, -age, key), once asked for
        self._age: dict[bytes, int] = {}
        self._ages = 0
        super().alloc()

    @property
    def stored_size(self) -> int:
        """Bytes of a value within an element."""
        return self.value_size

    # ---- order ----

    def bucket(self, key: bytes) -> int:
        """Number of the bucket a key belongs to."""
        return jhash(key, self.hashrnd, self.mem.byteorder) & (self.n_buckets - 1)

    def ordered(self) -> list[tuple[int, int, bytes]]:
        """All elements as the kernel would walk over them."""
        if self._order is None:
            self._order = sorted((self.bucket(key), -age, key) for key, age in self._age.items())
        return self._order

    def _insert(self, key: bytes, element: int) -> None:
        """At the head of its bucket; a former element of this key is unlinked."""
        if self._order is not None:
            if key in self._age:
                self._unlink_order(key)
            bisect.insort(self._order, (self.bucket(key), -self._ages, key))
        self._age[key] = self._ages
        self._ages += 1
        self.elements[key] = element

    def _unlink_order(self, key: bytes) -> None:
        assert self._order is not None
        entry = (self.bucket(key), -self._age[key], key)
        del self._order[bisect.bisect_left(self._order, entry)]

    def _unlink(self, key: bytes) -> int:
        if self._order is not None:
            self._unlink_order(key)
        del self._age[key]
        return self.elements.pop(key)

    def next_key(self, key: bytes | None) -> bytes:
        """htab_map_get_next_key(): an unknown key gives the first one."""
        order = self.ordered()
        at = 0
        if key is not None and key in self._age:
            at = bisect.bisect_left(order, (self.bucket(key), -self._age[key], key)) + 1
        if at >= len(order):
            raise refuse(ENOENT)
        return order[at][2]

    # ---- elements ----

    def _new_element(self, key: bytes, replacing: bool) -> int:
        """alloc_htab_elem(): E2BIG when all are in use."""
        if not replacing and len(self.elements) >= self.max_entries:
            raise refuse(E2BIG)
        element = self.spare.pop() if self.spare else self.allocate(self.elem_size)
        self.mem.write(element + HTAB_ELEM, key)
        return element

    def _free_element(self, element: int) -> None:
        """Preallocated elements are used again at once, others after the programs now running."""
        if self.special:
            self.clear_special(element + self.value_at)
        if self.prealloc:
            self.spare.append(element)
        else:
            self.bpf.defer_free(self.mem, element)

    def lookup(self, key: bytes) -> int:
        element = self.elements.get(key)
        return element + self.value_at if element is not None else 0

    def lookup_element(self, key: bytes) -> int:
        """__htab_map_lookup_elem(): the element, for programs that were rewritten to call it."""
        return self.elements.get(key, 0)

    def _check_flags(self, old: int | None, flags: int) -> None:
        """check_flags()."""
        wanted = flags & ~uapi.BPF_F_LOCK
        if old is not None and wanted == uapi.BPF_NOEXIST:
            raise refuse(EEXIST)
        if old is None and wanted == uapi.BPF_EXIST:
            raise refuse(ENOENT)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """htab_map_update_elem()."""
        old = self.elements.get(key)
        if flags:
            lock = uapi.BPF_F_LOCK if self.bpf.version.at_least("5.1") else 0
            if flags & ~lock > uapi.BPF_EXIST:
                raise refuse(EINVAL)
            if flags & lock and not self.has_spin_lock():
                raise refuse(EINVAL)
            if self.classic and old is None and len(self.elements) >= self.max_entries:
                raise refuse(E2BIG)  # 4.1 looks at the room first
            self._check_flags(old, flags)
            if flags & lock and old is not None:
                self.copy_value(old + self.value_at, value)
                return
        element = self._new_element(key, old is not None)
        if self.special:
            self.mem.write(element + self.value_at, bytes(self.value_size))
        self.store(element, value)
        self._insert(key, element)
        if old is not None:
            self._free_element(old)

    def store(self, element: int, value: bytes) -> None:
        """Put a value into a new element."""
        self.copy_value(element + self.value_at, value)

    def delete(self, key: bytes) -> None:
        if key not in self.elements:
            raise refuse(ENOENT)
        self._free_element(self._unlink(key))

    def lookup_and_delete(self, key: bytes, flags: int) -> bytes:
        """__htab_map_lookup_and_delete_elem()."""
        if key not in self.elements:
            raise refuse(ENOENT)
        value = self.user_lookup(key, flags)
        self._free_element(self._unlink(key))
        return value

    def for_each(self, callback: Callable[[int, int], int]) -> int:
        """bpf_for_each_hash_elem(): in the order of the buckets."""
        count = 0
        for _, _, key in list(self.ordered()):
            element = self.elements.get(key)
            if element is None:
                continue
            count += 1
            if callback(element + HTAB_ELEM, self.lookup(key)):
                break
        return count

    def free_elements(self) -> None:
        for key in list(self.elements):
            element = self.elements.pop(key)
            if self.special:
                self.clear_special(element + self.value_at)
            self.mem.free(element)
        for element in self.spare:
            self.mem.free(element)
        self.spare, self._age, self._order = [], {}, None

    def release_users(self) -> None:
        """htab_map_free_timers()."""
        if self.timer_off >= 0:
            for element in self.elements.values():
                self.bpf.cancel_timer(element + self.value_at + self.timer_off)

    def direct_batch(self) -> Iterable[str]:
        return ("lookup", "lookup_and_delete", "update", "delete")

    def batch_buckets(self) -> tuple[int, Callable[[int], list[bytes]]]:
        """How many buckets there are, and the keys of one: what batch lookup walks over."""
        order = self.ordered()

        def keys(bucket: int) -> list[bytes]:
            first = bisect.bisect_left(order, (bucket,))
            last = bisect.bisect_left(order, (bucket + 1,))
            return [key for _, _, key in order[first:last]]

        return self.n_buckets, keys

    def next_bucket(self, bucket: int) -> int:
        """The first bucket from this one on that is not empty; n_buckets if there is none."""
        order = self.ordered()
        at = bisect.bisect_left(order, (bucket,))
        return order[at][0] if at < len(order) else self.n_buckets


@map_type(
    5,
    "PERCPU_HASH",
    since="4.6",
    commit="824bd0ce6c7c",
    struct="bpf_htab",
    for_each=True,
    sleepable=True,
    lookup_and_delete="5.14",
    per_cpu=True,
)
class PercpuHashMap(HashMap):
    """BPF_MAP_TYPE_PERCPU_HASH: the element holds a pointer to one value per CPU."""

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

    def _new_element(self, key: bytes, replacing: bool) -> int:
        element = super()._new_element(key, replacing)
        if not self.mem.read_uint(element + self.value_at, 8):
            values = self.allocate(self.cpu_value_size * self.host.nr_cpus)
            self.mem.write_uint(element + self.value_at, 8, values)
        return element

    def _free_element(self, element: int) -> None:
        if not self.prealloc:
            self.bpf.defer_free(self.mem, self.mem.read_uint(element + self.value_at, 8))
        super()._free_element(element)

    def free_elements(self) -> None:
        for element in [*self.elements.values(), *self.spare]:
            self.mem.free(self.mem.read_uint(element + self.value_at, 8))
        super().free_elements()

    def lookup(self, key: bytes) -> int:
        return self.lookup_percpu(key, self.host.cpu_id())

    def lookup_percpu(self, key: bytes, cpu: int) -> int:
        element = self.elements.get(key)
        if element is None or cpu >= self.host.nr_cpus:
            return 0
        return int(self.mem.read_uint(element + self.value_at, 8)) + cpu * self.cpu_value_size

    def _update(self, key: bytes, flags: int, fill: Callable[[bool], None]) -> None:
        """__htab_percpu_map_update_elem(): an element that is there is changed in place."""
        check_update_flags(flags)
        old = self.elements.get(key)
        self._check_flags(old, flags)
        if old is None:
            self._insert(key, self._new_element(key, False))
        fill(old is None)

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
        if key not in self.elements:
            raise refuse(ENOENT)
        return bytes(self.mem.read(self.lookup_percpu(key, 0), self.user_value_size))


@map_type(
    13,
    "HASH_OF_MAPS",
    since="4.12",
    commit="bcc6b1b7ebf8",
    struct="bpf_htab",
    helpers="map_lookup_elem",
    sleepable=True,
    btf="none",
    map_in_map=True,
    loader_btf=False,
    probe=Probe(needs="inner"),
)
class HashOfMaps(HashMap):
    """BPF_MAP_TYPE_HASH_OF_MAPS: a value is a pointer to a map."""

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
        element = self.elements.get(key)
        return self.objects[element].address if element is not None else 0

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """bpf_fd_htab_map_update_elem()."""
        inner = inner_map_of_fd(self, int.from_bytes(value[:4], self.mem.byteorder, signed=True))
        try:
            old = self.elements.get(key)
            check_update_flags(flags)
            self._check_flags(old, flags)
            element = self._new_element(key, old is not None)
        except Exception:
            inner.put()
            raise
        self.mem.write_uint(element + self.value_at, 8, inner.address)
        self.objects[element] = inner
        self._insert(key, element)
        if old is not None:
            self._free_element(old)

    def _free_element(self, element: int) -> None:
        self.objects.pop(element).put()
        super()._free_element(element)

    def free_elements(self) -> None:
        for inner in self.objects.values():
            inner.put()
        self.objects = {}
        super().free_elements()

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """bpf_fd_htab_map_lookup_elem(): the inner map's id."""
        element = self.elements.get(key)
        if element is None:
            raise refuse(ENOENT)
        return self.objects[element].id.to_bytes(4, self.mem.byteorder)

    def for_each(self, callback: Callable[[int, int], int]) -> int:
        return BpfMap.for_each(self, callback)
