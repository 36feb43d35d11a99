"""Hash maps whose table grows with what is in it.  kernel/bpf/hashtab.c: rhtab_*(), lib/rhashtable.c.

The buckets are those of other hash maps; there are more of them before they are three quarters full.  A value that is there
is written over, where others get a new element.
"""

from __future__ import annotations

from typing import ClassVar

from arch.abi.errno import E2BIG, EAGAIN, EINVAL
from arch.abi.limits import KMALLOC_MAX_SIZE, U16_MAX, U32_MAX
from bpf import uapi
from bpf.maps import htab
from bpf.maps.base import BPF_F_ACCESS_MASK, Board, MapAttr, flags_access_ok, refuse
from bpf.maps.hash import HTAB_ELEM, HashMap
from bpf.maps.rows import Probe, map_type
from bpf.maps.sizes import round_up, roundup_pow_of_two

CREATE_FLAGS = uapi.BPF_F_NO_PREALLOC | uapi.BPF_F_NUMA_NODE | BPF_F_ACCESS_MASK
HASH_DEFAULT_SIZE = 64  # buckets
EMPTY_SIZE = 536  # bytes that an empty map is said to take: sizeof(struct bpf_rhtab)
RHASH_HEAD = 8


@map_type(
    35, "RHASH", since="7.2", commit="16b4d3e2fb24", struct="bpf_rhtab", for_each=True, sleepable="7.2", lock=True, timer=True,
    kptr=True, lookup_and_delete="7.2", map_extra=True, text="type", probe=Probe(map_flags=uapi.BPF_F_NO_PREALLOC),
)  # fmt: skip
class ResizableHashMap(HashMap):
    """BPF_MAP_TYPE_RHASH; map_extra says how many elements there may soon be."""

    in_place = True
    changes = "htab_write_bytes"
    natives: ClassVar[dict[str, str]] = HashMap.natives | {"update": "htab_write_or_decline"}
    commands: ClassVar[dict[str, str]] = HashMap.commands | {"update": "htab_write_or_decline"}

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """rhtab_map_alloc_check().  EINVAL, E2BIG."""
        flags = attr.map_flags
        if flags & ~CREATE_FLAGS or not flags & uapi.BPF_F_NO_PREALLOC or not flags_access_ok(flags):
            raise refuse(EINVAL)
        if attr.map_extra > U32_MAX:
            raise refuse(EINVAL)
        if attr.key_size > U16_MAX or attr.max_entries > 1 << 31 or attr.map_extra > U16_MAX:
            raise refuse(E2BIG)
        if not attr.max_entries or not attr.key_size or not attr.value_size or attr.map_extra > attr.max_entries:
            raise refuse(EINVAL)
        if attr.key_size + attr.value_size >= KMALLOC_MAX_SIZE - HTAB_ELEM:
            raise refuse(E2BIG)

    def first_buckets(self) -> int:
        """rounded_hashtable_size()."""
        return roundup_pow_of_two(self.map_extra * 4 // 3) if self.map_extra else HASH_DEFAULT_SIZE

    def more_elements(self) -> None:
        """rhashtable_insert_rehash(): and more buckets, if three of four are full."""
        if self.words[htab.COUNT] > self.n_buckets * 3 // 4:
            self._grow()
        super().more_elements()

    def _grow(self) -> None:
        """rht_deferred_worker(): twice as many buckets."""
        elements, old = self.elements(), self._buckets
        self._buckets = self.allocate(2 * self.n_buckets * 8, 8)
        self.n_buckets *= 2
        self.words[htab.BUCKETS], self.words[htab.BUCKET_MASK], self.words[htab.COUNT] = (
            self._buckets,
            self.n_buckets - 1,
            0,
        )
        for element in reversed(elements):
            self._link(element)
        self.mem.free(old)

    def check_cursor(self, key: bytes) -> None:
        """A batch begins at a key, which is gone: EAGAIN."""
        if not self._find(key):
            raise refuse(EAGAIN)

    def memory(self) -> int:
        """rhtab_map_mem_usage()."""
        element = RHASH_HEAD + round_up(self.key_size, 8) + round_up(self.value_size, 8)
        return EMPTY_SIZE + self.elements_there() * element
