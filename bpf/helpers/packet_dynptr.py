"""Dynptrs of packets: bpf_dynptr_from_skb() and bpf_dynptr_from_xdp() of net/core/filter.c, and their slices."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from bpf.helpers import Runtime, kernel_name
from bpf.helpers.dynptr import (
    DYNPTR_READ_ONLY,
    DYNPTR_SKB,
    DYNPTR_XDP,
    clear_dynptr,
    kind_of,
    make_dynptr,
    read_packet,
)
from bpf.helpers.xdp import xdp_pieces
from bpf.packet.skbuff import SkBuff, XdpBuff
from bpf.versions.program_types import types_where

_WRITERS = types_where(lambda row: row.packets == "write")


@kernel_name("bpf_dynptr_from_skb")
def bpf_dynptr_from_skb(rt: Runtime, skb_at: int, flags: int, ptr: int) -> int:
    """The whole packet; programs that may not write it may not through this."""
    if flags:
        clear_dynptr(rt.mem, ptr)
        return -EINVAL
    make_dynptr(rt.mem, ptr, skb_at, SkBuff(rt.host, skb_at).len, DYNPTR_SKB)
    if rt.prog.type not in _WRITERS:
        rt.mem.write_uint(ptr + 8, 4, int(rt.mem.read_uint(ptr + 8, 4)) | DYNPTR_READ_ONLY)
    return 0


@kernel_name("bpf_dynptr_from_xdp")
def bpf_dynptr_from_xdp(rt: Runtime, xdp_at: int, flags: int, ptr: int) -> int:
    """The whole frame, all pieces of it."""
    if flags:
        clear_dynptr(rt.mem, ptr)
        return -EINVAL
    make_dynptr(rt.mem, ptr, xdp_at, XdpBuff(rt.host, xdp_at).buff_len(), DYNPTR_XDP)
    return 0


def slice_of_packet(rt: Runtime, ptr: int, at: int, buffer: int, length: int) -> int:
    """Where bytes of a packet lie; if not in one piece, a copy in the buffer, 0 without one."""
    data = int(rt.mem.read_uint(ptr, 8))
    if kind_of(rt, ptr) == DYNPTR_SKB:
        skb = SkBuff(rt.host, data)
        if at + length <= skb.headlen:
            return skb.data + at
    else:
        pieces = xdp_pieces(XdpBuff(rt.host, data), at, length)
        if not isinstance(pieces, int) and len(pieces) == 1:
            return pieces[0][0]
    if not buffer or read_packet(rt, ptr, at, buffer, length):
        return 0
    return buffer
