"""Stack traces by number.  kernel/bpf/stackmap.c."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence

from arch.abi.errno import E2BIG, EEXIST, EFAULT, EINVAL, ENOENT, ENOMEM, EOPNOTSUPP, EPERM
from arch.abi.perf_event import PERF_MAX_STACK_DEPTH
from bpf import uapi
from bpf.face import BpfHost
from bpf.maps.base import BpfMap, refuse
from bpf.maps.jhash import jhash2
from bpf.maps.rows import Probe, map_type
from bpf.maps.sizes import roundup_pow_of_two
from bpf.maps.stack_memo import StackMemo

STACK_CREATE_FLAGS = uapi.BPF_F_NUMA_NODE | uapi.BPF_F_RDONLY | uapi.BPF_F_WRONLY | uapi.BPF_F_STACK_BUILD_ID
BUILD_ID_ENTRY = 32  # sizeof(struct bpf_stack_build_id)


def build_ids(host: BpfHost, ips: Iterable[int]) -> bytes:
    """struct bpf_stack_build_id of each address; BPF_STACK_BUILD_ID_IP where no file with a build id is mapped."""
    order, out = host.mem.byteorder, []
    for ip in ips:
        found = host.build_id(ip)
        status = uapi.BPF_STACK_BUILD_ID_VALID if found else uapi.BPF_STACK_BUILD_ID_IP
        name, place = found or (bytes(20), ip)
        out.append(status.to_bytes(4, order) + name + place.to_bytes(8, order))
    return b"".join(out)


@map_type(
    7,
    "STACK_TRACE",
    since="4.6",
    commit="d5a3b1f69186",
    struct="bpf_stack_map",
    helpers="get_stackid",
    btf="none",
    loader_btf=False,
    probe=Probe(value_size=8),
)
class StackTraceMap(BpfMap):
    """BPF_MAP_TYPE_STACK_TRACE: programs put stacks in by their hash, user space reads them."""

    can_be_inner = True

    def alloc(self) -> None:
        """stack_map_alloc()."""
        attr = self.attr
        if not self.bpf.capable("bpf"):
            raise refuse(EPERM)
        if attr.map_flags & ~STACK_CREATE_FLAGS:
            raise refuse(EINVAL)
        if attr.max_entries == 0 or attr.key_size != 4 or attr.value_size < 8 or attr.value_size % 8:
            raise refuse(EINVAL)
        entry = self.entry_size
        if attr.value_size % entry or attr.value_size // entry > PERF_MAX_STACK_DEPTH:
            raise refuse(EINVAL)
        if attr.max_entries > 1 << 31:
            raise refuse(E2BIG)
        self.n_buckets = roundup_pow_of_two(attr.max_entries)
        if self.n_buckets * 8 + attr.max_entries * attr.value_size > self.bpf.memory_limit:
            raise refuse(ENOMEM)
        super().alloc()
        self.stacks: dict[int, tuple[int, bytes]] = {}  # id -> (hash, trace)
        self.memo: StackMemo | None = None  # there once a compiled program uses the map

    @property
    def entry_size(self) -> int:
        """stack_map_data_size()."""
        return BUILD_ID_ENTRY if self.map_flags & uapi.BPF_F_STACK_BUILD_ID else 8

    def store(self, trace: Sequence[int], flags: int) -> int:
        """__bpf_get_stackid(): the number of this stack; `trace` is innermost first, before skipping."""
        skip = flags & uapi.BPF_F_SKIP_FIELD_MASK
        if len(trace) <= skip:
            raise refuse(EFAULT)
        depth = min(self.value_size // self.entry_size + skip, PERF_MAX_STACK_DEPTH)
        ips = trace[skip : max(depth, skip)]
        order = self.mem.byteorder
        raw = b"".join(ip.to_bytes(8, order) for ip in ips)
        digest = jhash2(raw, 0, order)
        number = digest & (self.n_buckets - 1)
        old = self.stacks.get(number)
        if old is not None and old[0] == digest and flags & uapi.BPF_F_FAST_STACK_CMP:
            return number
        is_full = len(self.stacks) >= self.max_entries  # an element is taken before the old one goes back
        if is_full and self.entry_size == BUILD_ID_ENTRY:
            raise refuse(ENOMEM)
        data = self._data(ips, raw)
        if old is not None and old == (digest, data):
            return number
        if old is not None and not flags & uapi.BPF_F_REUSE_STACKID:
            raise refuse(EEXIST)
        if is_full:
            raise refuse(ENOMEM)
        if old is not None:
            self._forget()
        self.stacks[number] = (digest, data)
        return number

    def _data(self, ips: Sequence[int], raw: bytes) -> bytes:
        """The trace as it is kept: addresses, or entries with build ids."""
        return build_ids(self.host, ips) if self.map_flags & uapi.BPF_F_STACK_BUILD_ID else raw

    def _forget(self) -> None:
        if self.memo is not None:
            self.memo.forget()

    def native_operation(self, operation: str) -> int:
        arch = self.host.arch
        if operation != "stack" or arch is None or not StackMemo.serves(arch):
            return 0
        if self.memo is None:
            self.memo = StackMemo(arch, self.bpf.version, self.host.block)
        return self.memo.address

    @property
    def native_words(self) -> int:
        return 0 if self.memo is None else ctypes.addressof(self.memo.words)

    def lookup(self, key: bytes) -> int:
        raise refuse(EOPNOTSUPP)

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """bpf_stackmap_copy()."""
        found = self.stacks.get(int.from_bytes(key[:4], self.mem.byteorder))
        if found is None:
            raise refuse(ENOENT)
        return found[1].ljust(self.value_size, b"\0")

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        raise refuse(EINVAL)

    def delete(self, key: bytes) -> None:
        number = int.from_bytes(key[:4], self.mem.byteorder)
        if number >= self.n_buckets:
            raise refuse(E2BIG)
        if self.stacks.pop(number, None) is None:
            raise refuse(ENOENT)
        self._forget()

    def next_key(self, key: bytes | None) -> bytes:
        """stack_map_get_next_key()."""
        first = 0
        if key is not None:
            number = int.from_bytes(key[:4], self.mem.byteorder)
            first = number + 1 if number in self.stacks else 0
        later = [number for number in self.stacks if number >= first]
        if not later:
            raise refuse(ENOENT)
        return min(later).to_bytes(4, self.mem.byteorder)
