"""Pointers that carry their size.  struct bpf_dynptr_kern and bpf_dynptr_*() of kernel/bpf/helpers.c."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EINVAL
from arch.abi.limits import U32_MAX
from arch.memory import Memory
from bpf.helpers import Runtime, prototype
from bpf.helpers.skb_bytes import bpf_skb_load_bytes, bpf_skb_store_bytes
from bpf.helpers.xdp import bpf_xdp_load_bytes, bpf_xdp_store_bytes
from bpf.maps.ringbuf import DYNPTR_MAX_SIZE

DYNPTR_TYPE_SHIFT = 28
DYNPTR_LOCAL, DYNPTR_RINGBUF, DYNPTR_SKB, DYNPTR_XDP = range(1, 5)
DYNPTR_READ_ONLY = 1 << 31
PACKETS = (DYNPTR_SKB, DYNPTR_XDP)  # their data are a struct sk_buff or xdp_buff, not memory


def read_packet(rt: Runtime, ptr: int, at: int, dst: int, length: int) -> int:
    """Bytes of a packet, from `at` on, to memory."""
    load = bpf_skb_load_bytes if kind_of(rt, ptr) == DYNPTR_SKB else bpf_xdp_load_bytes
    return load(rt, int(rt.mem.read_uint(ptr, 8)), at, dst, length)


def write_packet(rt: Runtime, ptr: int, at: int, src: int, length: int, flags: int) -> int:
    """Bytes of memory into a packet.  EINVAL: it is only read, or there is none."""
    data = int(rt.mem.read_uint(ptr, 8))
    if not data or int(rt.mem.read_uint(ptr + 8, 4)) & DYNPTR_READ_ONLY:
        return -EINVAL
    if at < 0:
        return at
    if kind_of(rt, ptr) == DYNPTR_SKB:
        return bpf_skb_store_bytes(rt, data, at, src, length, flags)
    return -EINVAL if flags else bpf_xdp_store_bytes(rt, data, at, src, length)


def make_dynptr(mem: Memory, ptr: int, data: int, size: int, kind: int) -> None:
    """bpf_dynptr_init(): address, size with the type in its high bits, offset 0."""
    mem.write_uint(ptr, 8, data)
    mem.write_uint(ptr + 8, 4, size | kind << DYNPTR_TYPE_SHIFT)
    mem.write_uint(ptr + 12, 4, 0)


def clear_dynptr(mem: Memory, ptr: int) -> None:
    """bpf_dynptr_set_null()."""
    mem.write(ptr, bytes(16))


def dynptr_bytes(rt: Runtime, ptr: int) -> bytes:
    """All that it points to; nothing of one without data."""
    data = int(rt.mem.read_uint(ptr, 8))
    size = int(rt.mem.read_uint(ptr + 8, 4)) & DYNPTR_MAX_SIZE
    return bytes(rt.mem.read(data + int(rt.mem.read_uint(ptr + 12, 4)), size)) if data else b""


def kind_of(rt: Runtime, ptr: int) -> int:
    """DYNPTR_LOCAL and its like."""
    return (int(rt.mem.read_uint(ptr + 8, 4)) & ~DYNPTR_READ_ONLY) >> DYNPTR_TYPE_SHIFT


def inside(rt: Runtime, ptr: int, offset: int, length: int) -> int:
    """Where a piece lies in what it is made of, in bytes; -EINVAL without data, -E2BIG outside: bpf_dynptr_check_off_len()."""
    size = int(rt.mem.read_uint(ptr + 8, 4)) & DYNPTR_MAX_SIZE
    offset, length = offset & U32_MAX, length & U32_MAX
    if not rt.mem.read_uint(ptr, 8):
        return -EINVAL
    if length > size or offset > size - length:
        return -E2BIG
    return int(rt.mem.read_uint(ptr + 12, 4)) + offset


def _place(rt: Runtime, ptr: int, offset: int, length: int) -> int:
    """Address of a piece of it; 0 without data, -E2BIG outside."""
    data = int(rt.mem.read_uint(ptr, 8))
    size = int(rt.mem.read_uint(ptr + 8, 4)) & DYNPTR_MAX_SIZE
    offset, length = offset & 0xFFFFFFFF, length & 0xFFFFFFFF
    if not data:
        return 0
    if length > size or offset > size - length:
        return -E2BIG
    return data + int(rt.mem.read_uint(ptr + 12, 4)) + offset


@prototype(
    "dynptr_from_mem",
    197,
    "5.19",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING PTR_TO_DYNPTR|DYNPTR_TYPE_LOCAL|MEM_UNINIT|MEM_WRITE",
    given="base_bpf",
)
def dynptr_from_mem(rt: Runtime, data: int, size: int, flags: int, ptr: int) -> int:
    size &= 0xFFFFFFFF
    if size > DYNPTR_MAX_SIZE or flags:
        clear_dynptr(rt.mem, ptr)
        return -E2BIG if size > DYNPTR_MAX_SIZE else -EINVAL
    make_dynptr(rt.mem, ptr, data, size, DYNPTR_LOCAL)
    return 0


@prototype(
    "dynptr_read",
    201,
    "5.19",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO PTR_TO_DYNPTR ANYTHING ANYTHING",
    given="base_bpf",
)
def dynptr_read(rt: Runtime, dst: int, length: int, ptr: int, offset: int, flags: int) -> int:
    place = _place(rt, ptr, offset, length)
    if not place or flags:
        return -EINVAL
    if place < 0:
        return place
    if kind_of(rt, ptr) in PACKETS:
        return read_packet(rt, ptr, inside(rt, ptr, offset, length), dst, length & U32_MAX)
    rt.mem.write(dst, rt.mem.read(place, length & 0xFFFFFFFF))
    return 0


@prototype(
    "dynptr_write",
    202,
    "5.19",
    args="PTR_TO_DYNPTR ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO ANYTHING",
    given="base_bpf",
)
def dynptr_write(rt: Runtime, ptr: int, offset: int, src: int, length: int, flags: int) -> int:
    if kind_of(rt, ptr) in PACKETS:
        return write_packet(rt, ptr, inside(rt, ptr, offset, length), src, length & U32_MAX, flags)
    place = _place(rt, ptr, offset, length)
    if not place or flags or rt.mem.read_uint(ptr + 8, 4) & DYNPTR_READ_ONLY:
        return -EINVAL
    if place < 0:
        return place
    rt.mem.write(place, rt.mem.read(src, length & 0xFFFFFFFF))
    return 0


@prototype(
    "dynptr_data",
    203,
    "5.19",
    returns="PTR_TO_DYNPTR_MEM_OR_NULL",
    args="PTR_TO_DYNPTR ANYTHING CONST_ALLOC_SIZE_OR_ZERO",
    given="base_bpf",
)
def dynptr_data(rt: Runtime, ptr: int, offset: int, length: int) -> int:
    place = _place(rt, ptr, offset, length)
    return 0 if place < 0 or kind_of(rt, ptr) in PACKETS or rt.mem.read_uint(ptr + 8, 4) & DYNPTR_READ_ONLY else place
