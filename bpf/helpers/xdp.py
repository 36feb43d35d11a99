"""Frames of XDP programs.  net/core/filter.c of Linux 6.1: bpf_xdp_*()."""

from __future__ import annotations

from arch.abi.errno import (
    EACCES,
    EFAULT,
    EINVAL,
    ENOTSUPP,
)
from arch.abi.inet import ETH_HLEN
from arch.abi.limits import U16_MAX, U32_MAX
from bpf.helpers import Runtime, prototype
from bpf.helpers.packet import s32
from bpf.packet.skbuff import (
    XDP_FRAME_SIZE,
    XdpBuff,
    shinfo_room,
)


@prototype(
    "xdp_get_buff_len",
    188,
    "5.18",
    args="PTR_TO_CTX",
    given="xdp",
)
@prototype(
    "xdp_get_buff_len",
    args="PTR_TO_BTF_ID:xdp_buff",
    proto="bpf_xdp_get_buff_len_trace_proto",
    given="tracing_prog",
)
def bpf_xdp_get_buff_len(rt: Runtime, xdp_at: int) -> int:
    """Length of the frame."""
    return XdpBuff(rt.host, xdp_at).buff_len()


def _meta_len(xdp: XdpBuff) -> int:
    meta, data = xdp.get("data_meta"), xdp.get("data")
    return 0 if meta > data else data - meta


@prototype(
    "xdp_adjust_head",
    44,
    "4.10",
    args="PTR_TO_CTX ANYTHING",
    flags="changes_pkt_data",
    given="xdp",
)
def bpf_xdp_adjust_head(rt: Runtime, xdp_at: int, offset: int) -> int:
    """Move the beginning of the frame; metadata moves with it."""
    xdp, offset = XdpBuff(rt.host, xdp_at), s32(offset)
    meta_len, data = _meta_len(xdp), xdp.get("data") + offset
    lowest = xdp.get("data_hard_start") + XDP_FRAME_SIZE + meta_len
    if data < lowest or data > xdp.get("data_end") - ETH_HLEN:
        return -EINVAL
    if meta_len:
        meta = bytes(rt.mem.read(xdp.get("data_meta"), meta_len))
        rt.mem.write(xdp.get("data_meta") + offset, meta)
    xdp.set("data_meta", xdp.get("data_meta") + offset)
    xdp.set("data", data)
    return 0


@prototype(
    "xdp_adjust_tail",
    65,
    "4.18",
    args="PTR_TO_CTX ANYTHING",
    flags="changes_pkt_data",
    given="xdp",
)
def bpf_xdp_adjust_tail(rt: Runtime, xdp_at: int, offset: int) -> int:
    """Move the end of the frame; new bytes are zero."""
    xdp, offset = XdpBuff(rt.host, xdp_at), s32(offset)
    if xdp.has_frags:
        return _shrink_frags(xdp, -offset) if offset < 0 else _grow_frag(xdp, offset)
    hard_end = xdp.get("data_hard_start") + xdp.get("frame_sz") - shinfo_room(xdp.kernel)
    end = xdp.get("data_end") + offset
    if end > hard_end or end < xdp.get("data") + ETH_HLEN:
        return -EINVAL
    if offset > 0:
        rt.mem.write(xdp.get("data_end"), bytes(offset))
    xdp.set("data_end", end)
    return 0


def _shrink_frags(xdp: XdpBuff, count: int) -> int:
    """Cut bytes off the last fragments.  bpf_xdp_frags_shrink_tail()."""
    if count > xdp.buff_len() - ETH_HLEN:
        return -EINVAL
    frags, size = xdp.info("nr_frags"), xdp.info("xdp_frags_size")
    while frags and count:
        address, length = xdp.frag(frags - 1)
        cut = min(count, length)
        count, size = count - cut, size - cut
        xdp.set_frag(frags - 1, address, length - cut)
        if cut < length:
            break
        frags -= 1
    xdp.set_frags(frags, size)
    if not frags:
        xdp.set("data_end", xdp.get("data_end") - count)
    return 0


def _grow_frag(xdp: XdpBuff, count: int) -> int:
    """Zeros after the last fragment, as far as its page goes.  bpf_xdp_frags_increase_tail()."""
    last = xdp.info("nr_frags") - 1
    address, length = xdp.frag(last)
    if count > xdp.get("frame_sz") - length:
        return -EINVAL
    if count:
        xdp.mem.write(address + length, bytes(count))
    xdp.set_frag(last, address, length + count)
    xdp.set_frags(last + 1, xdp.info("xdp_frags_size") + count)
    return 0


@prototype(
    "xdp_adjust_meta",
    54,
    "4.15",
    args="PTR_TO_CTX ANYTHING",
    flags="changes_pkt_data",
    given="xdp",
)
def bpf_xdp_adjust_meta(rt: Runtime, xdp_at: int, offset: int) -> int:
    """Move the beginning of the metadata before the frame."""
    xdp = XdpBuff(rt.host, xdp_at)
    data, meta = xdp.get("data"), xdp.get("data_meta") + s32(offset)
    if xdp.get("data_meta") > data:
        return -ENOTSUPP
    if meta < xdp.get("data_hard_start") + XDP_FRAME_SIZE or meta > data:
        return -EINVAL
    if (data - meta) & 3 or data - meta > 32:
        return -EACCES
    xdp.set("data_meta", meta)
    return 0


def xdp_pieces(xdp: XdpBuff, offset: int, length: int) -> list[tuple[int, int]] | int:
    """Where these bytes are, piece by piece, or -errno.  bpf_xdp_pointer(), bpf_xdp_copy_buf()."""
    if offset > U16_MAX or length > U16_MAX:
        return -EFAULT
    if offset + length > xdp.buff_len():
        return -EINVAL
    pieces = []
    for address, size in xdp.parts():
        take = min(length, max(size - offset, 0))
        if take:
            pieces.append((address + offset, take))
        length, offset = length - take, max(offset - size, 0)
    return pieces


@prototype(
    "xdp_load_bytes",
    189,
    "5.18",
    args="PTR_TO_CTX ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE",
    given="xdp",
)
def bpf_xdp_load_bytes(rt: Runtime, xdp_at: int, offset: int, to: int, length: int) -> int:
    """Copy bytes out of the frame."""
    pieces = xdp_pieces(XdpBuff(rt.host, xdp_at), offset & U32_MAX, length & U32_MAX)
    if isinstance(pieces, int):
        return pieces
    rt.mem.write(to, b"".join(bytes(rt.mem.read(at, size)) for at, size in pieces))
    return 0


@prototype(
    "xdp_store_bytes",
    190,
    "5.18",
    args="PTR_TO_CTX ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    given="xdp",
)
def bpf_xdp_store_bytes(rt: Runtime, xdp_at: int, offset: int, source: int, length: int) -> int:
    """Copy bytes into the frame."""
    pieces = xdp_pieces(XdpBuff(rt.host, xdp_at), offset & U32_MAX, length & U32_MAX)
    if isinstance(pieces, int):
        return pieces
    for at, size in pieces:
        rt.mem.write(at, bytes(rt.mem.read(source, size)))
        source += size
    return 0
