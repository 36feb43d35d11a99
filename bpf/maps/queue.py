"""Queue, stack and bloom filter: maps without keys.  kernel/bpf/queue_stack_maps.c and bloom_filter.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import E2BIG, EINVAL, ENOENT, EOPNOTSUPP, EPERM
from arch.abi.limits import U32_MAX
from bpf import uapi
from bpf.btf import Btf
from bpf.maps.base import BPF_F_ACCESS_MASK, Board, BpfMap, MapAttr, check_value_size, flags_access_ok, refuse
from bpf.maps.jhash import jhash, jhash2
from bpf.maps.rows import Probe, map_type
from bpf.maps.sizes import roundup_pow_of_two

QUEUE_STACK_CREATE_FLAGS = uapi.BPF_F_NUMA_NODE | BPF_F_ACCESS_MASK
BLOOM_CREATE_FLAGS = uapi.BPF_F_NUMA_NODE | uapi.BPF_F_ZERO_SEED | BPF_F_ACCESS_MASK


class _Keyless(BpfMap):
    """lookup and delete with a key mean nothing here."""

    def check_btf(self, btf: Btf, key_type_id: int, value_type_id: int) -> None:
        """Only a void key."""
        if key_type_id:
            raise refuse(EINVAL)


@map_type(
    22,
    "QUEUE",
    since="4.20",
    commit="f1a2e44a3aec",
    struct="bpf_queue_stack",
    helpers="map_peek_elem map_pop_elem map_push_elem",
    lookup_and_delete="4.20",
    keyless=True,
    loader_btf=False,
    probe=Probe(key_size=0),
    sleepable="6.12",
)
class QueueMap(_Keyless):
    """BPF_MAP_TYPE_QUEUE: first in, first out.  One element of room more than max_entries, as in the kernel."""

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """queue_stack_map_alloc_check()."""
        if not bpf.capable("bpf"):
            raise refuse(EPERM)
        if (
            attr.max_entries == 0
            or attr.key_size != 0
            or attr.value_size == 0
            or attr.map_flags & ~QUEUE_STACK_CREATE_FLAGS
            or not flags_access_ok(attr.map_flags)
        ):
            raise refuse(EINVAL)
        check_value_size(attr.value_size)

    def alloc(self) -> None:
        super().alloc()
        self.size = self.max_entries + 1
        self.area = self.allocate(self.size * self.value_size)
        self.head = self.tail = 0

    def free_elements(self) -> None:
        self.mem.free(self.area)

    def _full(self) -> bool:
        return (self.head + 1) % self.size == self.tail

    def push(self, value: bytes, flags: int) -> None:
        """queue_stack_map_push_elem(); BPF_EXIST overwrites the oldest."""
        if flags & uapi.BPF_NOEXIST or flags > uapi.BPF_EXIST:
            raise refuse(EINVAL)
        if self._full():
            if not flags & uapi.BPF_EXIST:
                raise refuse(E2BIG)
            self.tail = (self.tail + 1) % self.size
        self.mem.write(self.area + self.head * self.value_size, value)
        self.head = (self.head + 1) % self.size

    def _get(self, remove: bool) -> bytes:
        if self.head == self.tail:
            raise refuse(ENOENT)
        value = bytes(self.mem.read(self.area + self.tail * self.value_size, self.value_size))
        if remove:
            self.tail = (self.tail + 1) % self.size
        return value

    def pop(self) -> bytes:
        return self._get(True)

    def peek(self, value: bytes | None = None) -> bytes:
        return self._get(False)

    def lookup(self, key: bytes) -> int:
        return 0

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        raise refuse(EINVAL)

    def delete(self, key: bytes) -> None:
        raise refuse(EINVAL)

    def next_key(self, key: bytes | None) -> bytes:
        raise refuse(EINVAL)

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        return self.peek()

    def user_update(self, key: bytes, value: bytes, flags: int) -> None:
        self.push(value, flags)

    def lookup_and_delete(self, key: bytes, flags: int) -> bytes:
        return self.pop()


@map_type(
    23,
    "STACK",
    since="4.20",
    commit="f1a2e44a3aec",
    struct="bpf_queue_stack",
    helpers="map_peek_elem map_pop_elem map_push_elem",
    lookup_and_delete="4.20",
    keyless=True,
    loader_btf=False,
    probe=Probe(key_size=0),
    sleepable="6.12",
)
class StackMap(QueueMap):
    """BPF_MAP_TYPE_STACK: last in, first out."""

    def _get(self, remove: bool) -> bytes:
        if self.head == self.tail:
            raise refuse(ENOENT)
        index = (self.head - 1) % self.size
        value = bytes(self.mem.read(self.area + index * self.value_size, self.value_size))
        if remove:
            self.head = index
        return value


@map_type(
    30,
    "BLOOM_FILTER",
    since="5.16",
    commit="9330986c0300",
    struct="bpf_bloom_filter",
    helpers="map_peek_elem map_push_elem",
    btf="keyless",
    map_extra=True,
    keyless=True,
    probe=Probe(key_size=0),
)
class BloomFilterMap(_Keyless):
    """BPF_MAP_TYPE_BLOOM_FILTER."""

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        check_value_size(attr.value_size)

    def alloc(self) -> None:
        """bloom_map_alloc()."""
        attr = self.attr
        if not self.bpf.capable("bpf"):
            raise refuse(EPERM)
        if (
            attr.key_size != 0
            or attr.value_size == 0
            or attr.max_entries == 0
            or attr.map_flags & ~BLOOM_CREATE_FLAGS
            or not flags_access_ok(attr.map_flags)
            or attr.map_extra & ~0xF
        ):
            raise refuse(EINVAL)
        self.nr_hash_funcs = attr.map_extra or 5
        self.bitset_mask = self._mask(attr.max_entries * self.nr_hash_funcs)
        super().alloc()
        self.bits = self.allocate((self.bitset_mask + 1) // 8)
        seeded = not self.map_flags & uapi.BPF_F_ZERO_SEED
        self.hash_seed = self.host.random_u32() if seeded else 0

    def bits_there(self) -> int:
        return self.bitset_mask + 1

    def _mask(self, product: int) -> int:
        """Seven fifths of entries times hash functions, to the next power of two, at least a long."""
        bits = product // 5 * 7
        if product > U32_MAX or bits > U32_MAX or bits > 1 << 31:
            return U32_MAX
        return roundup_pow_of_two(bits) - 1 if bits > 64 else 63

    def free_elements(self) -> None:
        self.mem.free(self.bits)

    def _positions(self, value: bytes) -> list[int]:
        function: Callable[..., int] = jhash if self.value_size % 4 else jhash2
        order = self.mem.byteorder
        return [function(value, self.hash_seed + i, order) & self.bitset_mask for i in range(self.nr_hash_funcs)]

    def push(self, value: bytes, flags: int) -> None:
        """bloom_map_push_elem()."""
        if flags != uapi.BPF_ANY:
            raise refuse(EINVAL)
        for bit in self._positions(value):
            byte = self.bits + bit // 8
            self.mem.write_uint(byte, 1, self.mem.read_uint(byte, 1) | 1 << bit % 8)

    def peek(self, value: bytes | None = None) -> bytes:
        """bloom_map_peek_elem(): ENOENT if the value was certainly never pushed."""
        assert value is not None
        for bit in self._positions(value):
            if not self.mem.read_uint(self.bits + bit // 8, 1) >> bit % 8 & 1:
                raise refuse(ENOENT)
        return value

    def pop(self) -> bytes:
        raise refuse(EOPNOTSUPP)

    def lookup(self, key: bytes) -> int:
        raise refuse(EINVAL)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        raise refuse(EINVAL)

    def delete(self, key: bytes) -> None:
        raise refuse(EOPNOTSUPP)

    def next_key(self, key: bytes | None) -> bytes:
        raise refuse(EOPNOTSUPP)

    def user_update(self, key: bytes, value: bytes, flags: int) -> None:
        self.push(value, flags)
