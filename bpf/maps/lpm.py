"""Longest prefix match.  kernel/bpf/lpm_trie.c.

A key is a u32 prefix length of the machine and then bytes in network order.  The kernel keeps a binary tree; here
the prefixes are kept by length, and the order of a walk (more specific first, then by bits) is the tree's postorder.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable

from arch.abi.errno import EEXIST, EINVAL, ENOENT, ENOSPC, EPERM
from arch.abi.limits import KMALLOC_MAX_SIZE
from bpf import uapi
from bpf.btf import Btf
from bpf.maps.base import BPF_F_ACCESS_MASK, BpfMap, check_update_flags, flags_access_ok, refuse
from bpf.maps.btf import check_struct_key
from bpf.maps.rows import Probe, map_type

LPM_CREATE_FLAGS = uapi.BPF_F_NO_PREALLOC | uapi.BPF_F_NUMA_NODE | BPF_F_ACCESS_MASK
DATA_SIZE_MIN, DATA_SIZE_MAX = 1, 256
NODE_SIZE = 40  # offsetof(struct lpm_trie_node, data)
VALUE_SIZE_MAX = KMALLOC_MAX_SIZE - DATA_SIZE_MAX - NODE_SIZE


@map_type(
    11,
    "LPM_TRIE",
    since="4.11",
    commit="b95a5c4db09b",
    struct="lpm_trie",
    btf="keyless",
    probe=Probe(8, 8, map_flags=uapi.BPF_F_NO_PREALLOC),
    sleepable="7.1",
)
class LpmTrieMap(BpfMap):
    """BPF_MAP_TYPE_LPM_TRIE."""

    def alloc(self) -> None:
        """trie_alloc()."""
        attr = self.attr
        if not self.bpf.capable("bpf"):
            raise refuse(EPERM)
        if (
            attr.max_entries == 0
            or not attr.map_flags & uapi.BPF_F_NO_PREALLOC
            or attr.map_flags & ~LPM_CREATE_FLAGS
            or not flags_access_ok(attr.map_flags)
            or not 4 + DATA_SIZE_MIN <= attr.key_size <= 4 + DATA_SIZE_MAX
            or not 1 <= attr.value_size <= VALUE_SIZE_MAX
        ):
            raise refuse(EINVAL)
        super().alloc()
        self.data_size = self.key_size - 4
        self.max_prefixlen = self.data_size * 8
        self.nodes: dict[int, dict[int, int]] = {}  # prefix length -> prefix bits -> node
        self.order: list[str] = []  # of the stored prefixes, as text that sorts like the tree's postorder
        self.keys: dict[str, bytes] = {}

    def elements_there(self) -> int:
        return len(self.order)

    def _split(self, key: bytes) -> tuple[int, int]:
        """Prefix length, and all bits of the data as a number."""
        return int.from_bytes(key[:4], self.mem.byteorder), int.from_bytes(key[4 : self.key_size], "big")

    def _bits(self, length: int, data: int) -> int:
        return data >> (self.max_prefixlen - length)

    def _rank(self, length: int, bits: int) -> str:
        """Children come before their parent: `2` sorts after any further bit."""
        return (format(bits, f"0{length}b") if length else "") + "2"

    def _find(self, length: int, data: int) -> int:
        return self.nodes.get(length, {}).get(self._bits(length, data), 0)

    def lookup(self, key: bytes) -> int:
        """trie_lookup_elem(): the most specific prefix of the key."""
        length, data = self._split(key)
        if length > self.max_prefixlen:
            return 0
        for candidate in sorted(self.nodes, reverse=True):
            if candidate <= length:
                node = self._find(candidate, data)
                if node:
                    return node + NODE_SIZE + self.data_size
        return 0

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """trie_update_elem()."""
        check_update_flags(flags)
        length, data = self._split(key)
        if length > self.max_prefixlen:
            raise refuse(EINVAL)
        old = self._find(length, data)
        if old and flags == uapi.BPF_NOEXIST:
            raise refuse(EEXIST)
        if not old:
            if flags == uapi.BPF_EXIST:
                raise refuse(ENOENT)
            if len(self.order) >= self.max_entries:
                raise refuse(ENOSPC)
        node = self.allocate(NODE_SIZE + self.data_size + self.value_size)
        self.mem.write_uint(node + 32, 4, length)
        self.mem.write(node + NODE_SIZE, key[4 : self.key_size] + value)
        bits = self._bits(length, data)
        rank = self._rank(length, bits)
        self.nodes.setdefault(length, {})[bits] = node
        if old:
            self.bpf.defer_free(self.mem, old)
        else:
            bisect.insort(self.order, rank)
        self.keys[rank] = key[: self.key_size]

    def delete(self, key: bytes) -> None:
        length, data = self._split(key)
        if length > self.max_prefixlen:
            raise refuse(EINVAL)
        node = self._find(length, data)
        if not node:
            raise refuse(ENOENT)
        bits = self._bits(length, data)
        rank = self._rank(length, bits)
        del self.nodes[length][bits]
        if not self.nodes[length]:
            del self.nodes[length]
        del self.order[bisect.bisect_left(self.order, rank)]
        del self.keys[rank]
        self.bpf.defer_free(self.mem, node)

    def next_key(self, key: bytes | None) -> bytes:
        """trie_get_next_key()."""
        if not self.order:
            raise refuse(ENOENT)
        at = 0
        if key is not None:
            length, data = self._split(key)
            if length <= self.max_prefixlen and self._find(length, data):
                at = bisect.bisect_left(self.order, self._rank(length, self._bits(length, data))) + 1
        if at >= len(self.order):
            raise refuse(ENOENT)
        return self.keys[self.order[at]]

    def free_elements(self) -> None:
        for nodes in self.nodes.values():
            for node in nodes.values():
                self.mem.free(node)
        self.nodes = {}

    def check_btf(self, btf: Btf, key_type_id: int, value_type_id: int) -> None:
        """trie_check_btf(): a struct (the key begins with the prefix length)."""
        check_struct_key(btf, key_type_id)

    def direct_batch(self) -> Iterable[str]:
        return ("lookup", "update", "delete")
