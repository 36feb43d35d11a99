"""What programs on packets call: bytes, checksums, headers, redirection.  net/core/filter.c of Linux 6.1.

Each function is the kernel function of that name, `f(rt, r1, ..., r5)`: registers as unsigned 64-bit numbers in,
a number (or -errno) out.  Packets are linear (bpf/packet/skbuff.py), there is no tunnel, no IPsec state and no socket but the
packet's own; what asks for one gets the kernel's answer for "there is none".
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from arch.abi.errno import (
    E2BIG,
    EACCES,
    EAFNOSUPPORT,
    EAGAIN,
    EBADMSG,
    EFAULT,
    EINVAL,
    ENODEV,
    ENOENT,
    ENOMEM,
    ENOTSUPP,
    EOPNOTSUPP,
)
from arch.abi.inet import ETH_HLEN, ETH_P_8021AD, ETH_P_8021Q, ETH_P_IP, ETH_P_IPV6, PACKET_OTHERHOST, VLAN_HLEN
from arch.abi.limits import INT_MAX, U16_MAX, U32_MAX
from arch.abi.socket import AF_INET, AF_INET6
from bpf.helpers import Runtime, helper
from bpf.packet.checksum import (
    csum_add,
    csum_partial,
    csum_replace2,
    csum_replace4,
    csum_replace_by_diff,
)
from bpf.packet.skbuff import (
    CHECKSUM_COMPLETE,
    CHECKSUM_NONE,
    CHECKSUM_PARTIAL,
    CHECKSUM_UNNECESSARY,
    KernelStruct,
    NetDevice,
    SkBuff,
    Sock,
    XdpBuff,
    shinfo_room,
)

Helper = Callable[[Any, int, int, int, int, int], int]

SKB_HELPERS: dict[str, Helper] = {}

SKF_NET_OFF, SKF_LL_OFF = -0x100000, -0x200000
BPF_SKB_MAX_LEN = (4 << 12) - 320  # SKB_MAX_ALLOC: four pages without struct skb_shared_info
MAX_BPF_STACK = 512
XDP_FRAME_SIZE = 40

BPF_F_RECOMPUTE_CSUM, BPF_F_INVALIDATE_HASH = 1, 2
BPF_F_HDR_FIELD_MASK, BPF_F_PSEUDO_HDR, BPF_F_MARK_MANGLED_0, BPF_F_MARK_ENFORCE, BPF_F_IPV6 = 0xF, 16, 32, 64, 128
CSUM_MANGLED_0 = 0xFFFF
BPF_F_INGRESS = 1
BPF_HDR_START_MAC, BPF_HDR_START_NET = 0, 1
TC_ACT_SHOT, TC_ACT_REDIRECT = 2, 7
XDP_ABORTED, XDP_REDIRECT = 0, 4
SK_DROP, SK_PASS = 0, 1
BPF_CSUM_LEVEL_QUERY, BPF_CSUM_LEVEL_INC, BPF_CSUM_LEVEL_DEC, BPF_CSUM_LEVEL_RESET = range(4)
SKB_MAX_CSUM_LEVEL = 3
BPF_ADJ_ROOM_NET, BPF_ADJ_ROOM_MAC = 0, 1
BPF_F_ADJ_ROOM_FIXED_GSO, BPF_F_ADJ_ROOM_NO_CSUM_RESET = 1, 32
BPF_F_ADJ_ROOM_MASK = 0xFF00000000000000 | 0x5F
BPF_FIB_LOOKUP_PARAMS_SIZE = 64
BPF_FIB_LKUP_RET_FWD_DISABLED = 5
BPF_MTU_CHK_RET_SUCCESS, BPF_MTU_CHK_RET_FRAG_NEEDED = 0, 1


def _add(name: str, function: Helper) -> None:
    """Make a function known under the kernel's name, with all five registers."""
    SKB_HELPERS[name] = function

    def call(rt: Runtime, r1: int, r2: int, r3: int, r4: int, r5: int) -> int:
        return function(rt, r1, r2, r3, r4, r5)

    helper(name)(call)


def _kernel(function: Helper) -> Helper:
    _add(function.__name__, function)
    return function


def _s32(value: int) -> int:
    value &= U32_MAX
    return value - (1 << 32) if value & 0x80000000 else value


def _fill(host: Any, to: int, length: int, error: int) -> int:
    """A helper that fills memory clears it when it fails."""
    if length & U32_MAX:
        host.mem.write(to, bytes(length & U32_MAX))
    return -error


# -- bytes of a packet ---------------------------------------------------------------------------------


@_kernel
def bpf_skb_load_bytes(host: Any, skb_at: int, offset: int, to: int, length: int, _: int) -> int:
    """Copy bytes out of the packet.  EFAULT beyond its end."""
    skb, offset, length = SkBuff(host.host, skb_at), offset & U32_MAX, length & U32_MAX
    if offset > INT_MAX or offset + length > skb.len:
        return _fill(host, to, length, EFAULT)
    host.mem.write(to, bytes(host.mem.read(skb.data + offset, length)))
    return 0


@_kernel
def bpf_skb_load_bytes_relative(host: Any, skb_at: int, offset: int, to: int, length: int, start: int) -> int:
    """Copy bytes, counted from the link-layer or network header."""
    skb, offset, length = SkBuff(host.host, skb_at), offset & U32_MAX, length & U32_MAX
    start &= U32_MAX
    has_mac = skb.get("mac_header") != U16_MAX
    if offset > U16_MAX or start > BPF_HDR_START_NET or (start == BPF_HDR_START_MAC and not has_mac):
        return _fill(host, to, length, EFAULT)
    at = (skb.mac_header() if start == BPF_HDR_START_MAC else skb.network_header()) + offset
    if at + length > skb.get("head") + skb.get("tail"):
        return _fill(host, to, length, EFAULT)
    host.mem.write(to, bytes(host.mem.read(at, length)))
    return 0


def _writable(skb: SkBuff, length: int) -> bool:
    """bpf_try_make_writable(): the packet is that long; data pointers are computed anew."""
    skb.set("cloned", 0)
    skb.compute_data_pointers()
    return length <= skb.len


@_kernel
def bpf_skb_store_bytes(host: Any, skb_at: int, offset: int, source: int, length: int, flags: int) -> int:
    """Copy bytes into the packet."""
    skb, offset, length = SkBuff(host.host, skb_at), offset & U32_MAX, length & U32_MAX
    if flags & ~(BPF_F_RECOMPUTE_CSUM | BPF_F_INVALIDATE_HASH):
        return -EINVAL
    if offset > INT_MAX or not _writable(skb, (offset + length) & U32_MAX):
        return -EFAULT
    at, fresh = skb.data + offset, bytes(host.mem.read(source, length)) if length else b""
    if flags & BPF_F_RECOMPUTE_CSUM and skb.ip_summed() == CHECKSUM_COMPLETE:
        old = csum_partial(_aligned(bytes(host.mem.read(at, length)), offset), 0)
        new = csum_partial(_aligned(fresh, offset), 0)
        skb.set("csum", csum_add(csum_add(skb.get("csum"), ~old & U32_MAX), new))
    if fresh:
        host.mem.write(at, fresh)
    if flags & BPF_F_INVALIDATE_HASH:
        _clear_hash(skb)
    return 0


def _aligned(data: bytes, offset: int) -> bytes:
    return (b"\0" + data) if offset & 1 else data


@_kernel
def bpf_skb_pull_data(host: Any, skb_at: int, length: int, *_: int) -> int:
    """Make the first bytes directly accessible: all of them are."""
    skb = SkBuff(host.host, skb_at)
    return 0 if _writable(skb, length & U32_MAX or skb.headlen) else -ENOMEM


@_kernel
def sk_skb_pull_data(host: Any, skb_at: int, length: int, *_: int) -> int:
    """The same for stream parsers."""
    return bpf_skb_pull_data(host, skb_at, length, 0, 0, 0)


def _load(host: Any, skb_at: int, offset: int, size: int) -> int:
    """A load of classic BPF: big-endian, negative offsets from the headers."""
    skb, offset = SkBuff(host.host, skb_at), _s32(offset)
    if offset < 0:
        if offset >= SKF_NET_OFF:
            offset += -SKF_NET_OFF + skb.network_header() - skb.data
        elif offset >= SKF_LL_OFF and skb.get("mac_header") != U16_MAX:
            offset += -SKF_LL_OFF + skb.mac_header() - skb.data
        else:
            return -EFAULT
    if offset + size > skb.len or skb.data + offset < skb.get("head"):
        return -EFAULT
    return int.from_bytes(bytes(host.mem.read(skb.data + offset, size)), "big")


@_kernel
def bpf_skb_load_helper_8_no_cache(host: Any, skb_at: int, offset: int, *_: int) -> int:
    """One byte."""
    return _load(host, skb_at, offset, 1)


@_kernel
def bpf_skb_load_helper_16_no_cache(host: Any, skb_at: int, offset: int, *_: int) -> int:
    """Two bytes."""
    return _load(host, skb_at, offset, 2)


@_kernel
def bpf_skb_load_helper_32_no_cache(host: Any, skb_at: int, offset: int, *_: int) -> int:
    """Four bytes, as an int: a word with the top bit set is negative, and ends the program like an error."""
    return _s32(_load(host, skb_at, offset, 4))


@_kernel
def bpf_flow_dissector_load_bytes(host: Any, ctx: int, offset: int, to: int, length: int, _: int) -> int:
    """Copy bytes of the packet under dissection, if there is a packet."""
    skb_at = KernelStruct(host.host, ctx).read(ctx, "bpf_flow_dissector.skb")
    if offset & U32_MAX > U16_MAX or not skb_at:
        return _fill(host, to, length, EFAULT)
    return bpf_skb_load_bytes(host, skb_at, offset, to, length, 0)


@_kernel
def sk_reuseport_load_bytes(host: Any, ctx: int, offset: int, to: int, length: int, _: int) -> int:
    """Copy bytes of the packet for which a socket is chosen."""
    skb_at = KernelStruct(host.host, ctx).read(ctx, "sk_reuseport_kern.skb")
    return bpf_skb_load_bytes(host, skb_at, offset, to, length, 0)


@_kernel
def sk_reuseport_load_bytes_relative(host: Any, ctx: int, offset: int, to: int, length: int, start: int) -> int:
    """The same, counted from a header."""
    skb_at = KernelStruct(host.host, ctx).read(ctx, "sk_reuseport_kern.skb")
    return bpf_skb_load_bytes_relative(host, skb_at, offset, to, length, start)


# -- checksums -----------------------------------------------------------------------------------------


@_kernel
def bpf_csum_diff(host: Any, source: int, source_size: int, to: int, to_size: int, seed: int) -> int:
    """The sum that replacing one block by another adds."""
    source_size, to_size = source_size & U32_MAX, to_size & U32_MAX
    if (source_size | to_size) & 3 or source_size + to_size > MAX_BPF_STACK:
        return -EINVAL
    old = bytes(host.mem.read(source, source_size)) if source_size else b""
    new = bytes(host.mem.read(to, to_size)) if to_size else b""
    return csum_partial(bytes(~b & 0xFF for b in old) + new, seed & U32_MAX)


@_kernel
def bpf_csum_update(host: Any, skb_at: int, csum: int, *_: int) -> int:
    """Add to the packet's own sum, if it has one."""
    skb = SkBuff(host.host, skb_at)
    if skb.ip_summed() != CHECKSUM_COMPLETE:
        return -ENOTSUPP
    total = csum_add(skb.get("csum"), csum & U32_MAX)
    skb.set("csum", total)
    return total


def _csum_level(skb: SkBuff) -> int:
    return skb.get("csum_level")


def _set_csum_level(skb: SkBuff, level: int) -> None:
    skb.set("csum_level", level)


def _reset_checksum_unnecessary(skb: SkBuff) -> None:
    if skb.ip_summed() == CHECKSUM_UNNECESSARY:
        skb.set_ip_summed(CHECKSUM_NONE)
        _set_csum_level(skb, 0)


@_kernel
def bpf_csum_level(host: Any, skb_at: int, level: int, *_: int) -> int:
    """How many checksums of the packet are known to be right."""
    skb = SkBuff(host.host, skb_at)
    unnecessary, have = skb.ip_summed() == CHECKSUM_UNNECESSARY, _csum_level(skb)
    if level == BPF_CSUM_LEVEL_QUERY:
        return have if unnecessary else -EACCES
    if level == BPF_CSUM_LEVEL_INC:
        if unnecessary:
            _set_csum_level(skb, min(have + 1, SKB_MAX_CSUM_LEVEL))
        elif skb.ip_summed() == CHECKSUM_NONE:
            skb.set_ip_summed(CHECKSUM_UNNECESSARY)
            _set_csum_level(skb, 0)
    elif level == BPF_CSUM_LEVEL_DEC:
        if unnecessary and have:
            _set_csum_level(skb, have - 1)
        else:
            _reset_checksum_unnecessary(skb)
    elif level == BPF_CSUM_LEVEL_RESET:
        _reset_checksum_unnecessary(skb)
    else:
        return -EINVAL
    return 0


def _replaced(check: int, old: int, new: int, size: int) -> int | None:
    """A checksum field after a field of `size` bytes changed; None: no such size."""
    if size == 0:
        return None if old else csum_replace_by_diff(check, new & U32_MAX)
    if size == 2:
        return csum_replace2(check, old & U16_MAX, new & U16_MAX)
    return csum_replace4(check, old & U32_MAX, new & U32_MAX) if size == 4 else None


@_kernel
def bpf_l3_csum_replace(host: Any, skb_at: int, offset: int, old: int, new: int, flags: int) -> int:
    """Correct the checksum of an IP header."""
    skb, offset = SkBuff(host.host, skb_at), offset & U32_MAX
    if flags & ~BPF_F_HDR_FIELD_MASK:
        return -EINVAL
    if offset > U16_MAX or offset & 1 or not _writable(skb, offset + 2):
        return -EFAULT
    check = _replaced(host.mem.read_uint(skb.data + offset, 2), old, new, flags)
    if check is None:
        return -EINVAL
    host.mem.write_uint(skb.data + offset, 2, check)
    return 0


@_kernel
def bpf_l4_csum_replace(host: Any, skb_at: int, offset: int, old: int, new: int, flags: int) -> int:
    """Correct the checksum of TCP, UDP or ICMP, and the packet's own sum with it."""
    skb, offset, size = SkBuff(host.host, skb_at), offset & U32_MAX, flags & BPF_F_HDR_FIELD_MASK
    known = BPF_F_MARK_MANGLED_0 | BPF_F_MARK_ENFORCE | BPF_F_PSEUDO_HDR | BPF_F_HDR_FIELD_MASK | BPF_F_IPV6
    if flags & ~known:
        return -EINVAL
    if offset > U16_MAX or offset & 1 or not _writable(skb, offset + 2):
        return -EFAULT
    at = skb.data + offset
    check = host.mem.read_uint(at, 2)
    if flags & BPF_F_MARK_MANGLED_0 and not flags & BPF_F_MARK_ENFORCE and not check:
        return 0
    fresh = _replaced(check, old, new, size)
    if fresh is None:
        return -EINVAL
    if skb.ip_summed() == CHECKSUM_PARTIAL:
        fresh = check  # the device will sum; only the pseudo header counts
        if flags & BPF_F_PSEUDO_HDR:
            inverted = _replaced(~check & U16_MAX, old, new, size)
            fresh = ~inverted & U16_MAX if inverted is not None else check
    host.mem.write_uint(at, 2, CSUM_MANGLED_0 if flags & BPF_F_MARK_MANGLED_0 and not fresh else fresh)
    return 0


# -- hash, type, time ----------------------------------------------------------------------------------


def _clear_hash(skb: SkBuff) -> None:
    skb.set("hash", 0)
    skb.set("l4_hash", 0)
    skb.set("sw_hash", 0)


@_kernel
def bpf_get_hash_recalc(host: Any, skb_at: int, *_: int) -> int:
    """The packet's hash, computed from its headers if it has none."""
    skb = SkBuff(host.host, skb_at)
    if not skb.get("hash"):
        skb.set("hash", zlib.crc32(skb.packet()[:64]) | 1)
    return skb.get("hash")


@_kernel
def bpf_set_hash(host: Any, skb_at: int, value: int, *_: int) -> int:
    """Give the packet a hash."""
    SkBuff(host.host, skb_at).set("hash", value & U32_MAX)
    return 0


@_kernel
def bpf_set_hash_invalid(host: Any, skb_at: int, *_: int) -> int:
    """Forget the hash."""
    _clear_hash(SkBuff(host.host, skb_at))
    return 0


@_kernel
def bpf_skb_change_type(host: Any, skb_at: int, kind: int, *_: int) -> int:
    """PACKET_HOST and its like."""
    skb, kind = SkBuff(host.host, skb_at), kind & U32_MAX
    if kind > PACKET_OTHERHOST or skb.pkt_type() > PACKET_OTHERHOST:
        return -EINVAL
    skb.set_pkt_type(kind)
    return 0


@_kernel
def bpf_skb_set_tstamp(host: Any, skb_at: int, tstamp: int, kind: int, *_: int) -> int:
    """Set the time of delivery."""
    skb, kind = SkBuff(host.host, skb_at), kind & U32_MAX
    if skb.protocol() not in (ETH_P_IP, ETH_P_IPV6):
        return -EOPNOTSUPP
    if kind > 1 or bool(kind) != bool(tstamp):
        return -EINVAL
    skb.set("tstamp", tstamp)
    skb.set("mono_delivery_time", kind)
    return 0


# -- length and headers --------------------------------------------------------------------------------


def _make_headroom(skb: SkBuff, count: int) -> None:
    if skb.headroom < count:
        skb.expand_head(count - skb.headroom, 0)


def _min_len(skb: SkBuff) -> int:
    shortest = max(skb.network_header() - skb.data, 0)
    if skb.get("transport_header") != U16_MAX:
        offset = skb.get("head") + skb.get("transport_header") - skb.data
        shortest = offset if offset > 0 else shortest
    return shortest


@_kernel
def bpf_skb_change_tail(host: Any, skb_at: int, length: int, flags: int, *_: int) -> int:
    """Make the packet longer, with zeros, or shorter."""
    skb, length = SkBuff(host.host, skb_at), length & U32_MAX
    result = 0
    if flags or not _min_len(skb) <= length <= BPF_SKB_MAX_LEN:
        result = -EINVAL
    elif length > skb.len:
        grow = length - skb.len
        if skb.tailroom < grow:
            skb.expand_head(0, grow)
        host.mem.write(skb.data + skb.len, bytes(grow))
        skb.put(grow)
    elif length < skb.len:
        skb.trim(length)
    if not result and skb.is_gso:
        for member in ("gso_size", "gso_segs", "gso_type"):
            skb.set_shared(member, 0)
    skb.compute_data_pointers()
    return result


@_kernel
def bpf_skb_change_head(host: Any, skb_at: int, room: int, flags: int, *_: int) -> int:
    """Make room for a link-layer header."""
    skb, room = SkBuff(host.host, skb_at), room & U32_MAX
    result = 0
    if flags or skb.len + room > U32_MAX or (skb.len + room > BPF_SKB_MAX_LEN and not skb.is_gso):
        result = -EINVAL
    else:
        _make_headroom(skb, room)
        skb.push(room)
        host.mem.write(skb.data, bytes(room)) if room else None
        skb.reset_mac_header()
        skb.set("mac_len", skb.get("network_header") - skb.get("mac_header"))
    skb.compute_data_pointers()
    return result


def _move_headers(skb: SkBuff, by: int) -> None:
    same = skb.get("transport_header") == skb.get("network_header")
    skb.set("mac_header", skb.get("mac_header") + by)
    skb.set("network_header", skb.get("network_header") + by)
    if same:
        skb.set("transport_header", skb.get("network_header"))


def _header_push(skb: SkBuff, offset: int, count: int) -> None:
    """Insert zeros after the first `offset` bytes.  bpf_skb_net_hdr_push()."""
    _make_headroom(skb, count)
    front = bytes(skb.mem.read(skb.data, offset)) if offset else b""
    skb.push(count)
    skb.mem.write(skb.data, front + bytes(count))
    _move_headers(skb, -count)


def _header_pop(skb: SkBuff, offset: int, count: int) -> int:
    """Take bytes out after the first `offset`.  bpf_skb_net_hdr_pop()."""
    if offset + count > skb.len:
        return -ENOMEM
    front = bytes(skb.mem.read(skb.data, offset)) if offset else b""
    skb.pull(count)
    if front:
        skb.mem.write(skb.data, front)
    _move_headers(skb, count)
    return 0


def _mac_header_len(skb: SkBuff) -> int:
    return skb.get("network_header") - skb.get("mac_header")


def _base_len(skb: SkBuff) -> int:
    return {ETH_P_IP: 20, ETH_P_IPV6: 40}[skb.protocol()]


@_kernel
def bpf_skb_adjust_room(host: Any, skb_at: int, diff: int, mode: int, flags: int, _: int) -> int:
    """Grow or shrink at the network header, without encapsulation flags."""
    skb, diff, mode = SkBuff(host.host, skb_at), _s32(diff), mode & U32_MAX
    if flags & ~(BPF_F_ADJ_ROOM_MASK | BPF_F_ADJ_ROOM_NO_CSUM_RESET):
        return -EINVAL
    if abs(diff) > 0xFFF:
        return -EFAULT
    if skb.protocol() not in (ETH_P_IP, ETH_P_IPV6) or mode > BPF_ADJ_ROOM_MAC:
        return -ENOTSUPP
    base = _base_len(skb)
    offset = _mac_header_len(skb) + (base if mode == BPF_ADJ_ROOM_NET else 0)
    current = skb.len - (skb.network_header() - skb.data)
    too_small = -diff >= current or current + diff < base
    if (diff < 0 and too_small) or (diff >= 0 and skb.len + diff > BPF_SKB_MAX_LEN and not skb.is_gso):
        return -ENOTSUPP
    result = _shrink(skb, offset, -diff, flags) if diff < 0 else _grow(skb, offset, diff, flags)
    if not result and not flags & BPF_F_ADJ_ROOM_NO_CSUM_RESET:
        _reset_checksum_unnecessary(skb)
    skb.compute_data_pointers()
    return result


def _shrink(skb: SkBuff, offset: int, count: int, flags: int) -> int:
    if flags & ~(BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET):
        return -EINVAL
    if skb.is_gso:
        return -ENOTSUPP  # neither TCP nor UDP segments
    return _header_pop(skb, offset, count)


def _grow(skb: SkBuff, offset: int, count: int, flags: int) -> int:
    """Encapsulation as far as lengths and headers show it."""
    ipv4, ipv6, gre, udp = (bool(flags & bit) for bit in (2, 4, 8, 16))
    if skb.is_gso:
        return -ENOTSUPP  # neither TCP nor UDP segments
    encap = ipv4 or ipv6
    if encap:
        inner_mac_len = flags >> 56
        if (ipv4 and ipv6) or (gre and udp) or (flags & 64 and inner_mac_len < ETH_HLEN) or inner_mac_len > count:
            return -EINVAL
    mac_len = _mac_header_len(skb)
    _header_push(skb, offset, count)
    if encap:
        skb.set("network_header", skb.headroom + mac_len)
        if gre or udp:
            skb.set("transport_header", skb.headroom + mac_len + (40 if ipv6 else 20))
        skb.mem.write(skb.at("protocol"), (ETH_P_IPV6 if ipv6 else ETH_P_IP).to_bytes(2, "big"))
    return 0


@_kernel
def bpf_skb_change_proto(host: Any, skb_at: int, proto: int, flags: int, *_: int) -> int:
    """Exchange an IPv4 header for room of an IPv6 header, or the other way round."""
    skb = SkBuff(host.host, skb_at)
    if flags:
        return -EINVAL
    wanted = int.from_bytes((proto & U16_MAX).to_bytes(2, host.mem.byteorder), "big")
    change = (skb.protocol(), wanted)
    result = 0
    if change == (ETH_P_IP, ETH_P_IPV6):
        _header_push(skb, _mac_header_len(skb), 20)
    elif change == (ETH_P_IPV6, ETH_P_IP):
        result = _header_pop(skb, _mac_header_len(skb), 20)
    else:
        result = -ENOTSUPP
    if not result:
        skb.mem.write(skb.at("protocol"), wanted.to_bytes(2, "big"))
        _clear_hash(skb)
    skb.compute_data_pointers()
    return result


# -- VLAN ----------------------------------------------------------------------------------------------


def _put_tag(skb: SkBuff, proto: bytes, tci: int) -> None:
    skb.mem.write(skb.at("vlan_proto"), proto)
    skb.set("vlan_tci", tci)
    skb.set("vlan_present", 1)


@_kernel
def bpf_skb_vlan_push(host: Any, skb_at: int, proto: int, tci: int, *_: int) -> int:
    """Give the packet a VLAN tag; a tag it has already goes into the packet."""
    skb, mem = SkBuff(host.host, skb_at), host.mem
    tag = (proto & U16_MAX).to_bytes(2, mem.byteorder)
    if int.from_bytes(tag, "big") not in (ETH_P_8021Q, ETH_P_8021AD):
        tag = ETH_P_8021Q.to_bytes(2, "big")
    result = 0
    if skb.get("vlan_present"):
        if skb.data != skb.mac_header():
            result = -EINVAL
        else:
            _insert_tag(skb)
    if not result:
        _put_tag(skb, tag, tci & U16_MAX)
    skb.compute_data_pointers()
    return result


def _insert_tag(skb: SkBuff) -> None:
    """Write the tag beside the packet into it, after the addresses."""
    proto, tci = bytes(skb.mem.read(skb.at("vlan_proto"), 2)), skb.get("vlan_tci")
    _make_headroom(skb, VLAN_HLEN)
    addresses = bytes(skb.mem.read(skb.data, 12))
    skb.push(VLAN_HLEN)
    skb.mem.write(skb.data, addresses + proto + tci.to_bytes(2, "big"))
    skb.set("mac_header", skb.get("mac_header") - VLAN_HLEN)
    skb.mem.write(skb.at("protocol"), proto)
    skb.set("mac_len", skb.get("mac_len") + VLAN_HLEN)


@_kernel
def bpf_skb_vlan_pop(host: Any, skb_at: int, *_: int) -> int:
    """Take the VLAN tag off; one in the packet takes its place.  skb_vlan_pop()."""
    skb = SkBuff(host.host, skb_at)
    result = _vlan_pop(skb)
    skb.compute_data_pointers()
    return result


def _is_vlan(skb: SkBuff) -> bool:
    return skb.protocol() in (ETH_P_8021Q, ETH_P_8021AD)


def _vlan_pop(skb: SkBuff) -> int:
    if skb.get("vlan_present"):
        skb.set("vlan_present", 0)
    elif not _is_vlan(skb):
        return 0
    elif (tci := _extract_tag(skb)) < 0:
        return tci
    if not _is_vlan(skb):
        return 0
    proto = bytes(skb.mem.read(skb.at("protocol"), 2))
    if (tci := _extract_tag(skb)) < 0:
        return tci
    _put_tag(skb, proto, tci)
    return 0


def _extract_tag(skb: SkBuff) -> int:
    """Take the outermost tag out of the packet; its TCI, or -errno.  __skb_vlan_pop()."""
    if skb.data != skb.mac_header():
        return -EINVAL
    if skb.len < ETH_HLEN + VLAN_HLEN:
        return -ENOMEM
    header = bytes(skb.mem.read(skb.data, ETH_HLEN + VLAN_HLEN))
    kind = int.from_bytes(header[16:18], "big")
    skb.set_protocol(kind if kind >= 0x0600 else skb.kind_of_802_3(skb.data + 18))
    skb.mem.write(skb.data + VLAN_HLEN, header[:12])
    skb.pull(VLAN_HLEN)
    skb.set("mac_header", skb.get("mac_header") + VLAN_HLEN)
    if skb.network_header() - skb.data < ETH_HLEN:
        skb.set("network_header", skb.headroom + ETH_HLEN)
    skb.set("mac_len", skb.get("network_header") - skb.get("mac_header"))
    return int.from_bytes(header[14:16], "big")


# -- redirection ---------------------------------------------------------------------------------------


@_kernel
def bpf_redirect(host: Any, ifindex: int, flags: int, *_: int) -> int:
    """Send the packet elsewhere when the program ends."""
    return TC_ACT_SHOT if flags & ~BPF_F_INGRESS else TC_ACT_REDIRECT


@_kernel
def bpf_redirect_peer(host: Any, ifindex: int, flags: int, *_: int) -> int:
    """The same, to the other end of a veth pair."""
    return TC_ACT_SHOT if flags else TC_ACT_REDIRECT


@_kernel
def bpf_redirect_neigh(host: Any, ifindex: int, params: int, size: int, flags: int, _: int) -> int:
    """The same, with the neighbour's address filled in."""
    return TC_ACT_SHOT if (size & U32_MAX and _s32(size) < 20) or flags else TC_ACT_REDIRECT


@_kernel
def bpf_clone_redirect(host: Any, skb_at: int, ifindex: int, flags: int, *_: int) -> int:
    """Send a copy elsewhere now: it reaches the loopback device, and there its end."""
    skb = SkBuff(host.host, skb_at)
    if flags & ~BPF_F_INGRESS:
        return -EINVAL
    if skb.is_gso and not skb.shared("gso_type"):
        return -EBADMSG
    known = NetDevice(host.host, skb.get("dev")).get("ifindex") if skb.get("dev") else 0
    return 0 if ifindex & U32_MAX == known else -EINVAL


@_kernel
def bpf_xdp_redirect(host: Any, ifindex: int, flags: int, *_: int) -> int:
    """Send the frame elsewhere when the program ends."""
    return XDP_ABORTED if flags else XDP_REDIRECT


# -- the packet's surroundings ---------------------------------------------------------------------------


def _none(name: str, answer: int) -> None:
    """A question about something that is never there."""

    def function(host: Any, *_: int) -> int:
        return answer

    function.__name__ = name
    function.__doc__ = f"{name}(): always {answer} here."
    _add(name, function)


for _name, _answer in {
    "bpf_get_cgroup_classid": 0,
    "bpf_get_cgroup_classid_curr": 0,
    "bpf_skb_cgroup_classid": 0,
    "bpf_get_route_realm": 0,
    "bpf_skb_cgroup_id": 0,
    "bpf_skb_ancestor_cgroup_id": 0,
    "bpf_sk_cgroup_id": 0,
    "bpf_sk_ancestor_cgroup_id": 0,
    "bpf_get_socket_uid": 0,
    "bpf_get_netns_cookie_sock": 1,
    "bpf_get_netns_cookie_sock_addr": 1,
    "bpf_get_netns_cookie_sock_ops": 1,
    "bpf_get_netns_cookie_sk_msg": 1,
    "bpf_get_netns_cookie_sockopt": 1,
    "bpf_tcp_sock": 0,
    "bpf_get_listener_sock": 0,
    "bpf_sk_release": 0,
    "bpf_skb_set_tunnel_key": -EINVAL,
    "bpf_skb_set_tunnel_opt": -EINVAL,
    "bpf_tcp_check_syncookie": -EINVAL,
    "bpf_tcp_gen_syncookie": -EINVAL,
    "bpf_lwt_in_push_encap": -EINVAL,
    "bpf_lwt_xmit_push_encap": -EINVAL,
    "bpf_lwt_seg6_store_bytes": -EINVAL,
    "bpf_lwt_seg6_adjust_srh": -EINVAL,
    "bpf_lwt_seg6_action": -EINVAL,
    "bpf_bind": -EAFNOSUPPORT,
}.items():
    _none(_name, _answer)

for _name in (
    *(f"bpf_{where}sk_lookup_{proto}" for where in ("", "tc_", "xdp_", "sock_addr_") for proto in ("tcp", "udp")),
    *(f"bpf_{where}skc_lookup_tcp" for where in ("", "tc_", "xdp_", "sock_addr_")),
):
    _none(_name, 0)


@_kernel
def bpf_skb_under_cgroup(host: Any, skb_at: int, map_at: int, index: int, *_: int) -> int:
    """Whether the packet's socket is in a control group of the map: no map holds one."""
    if not SkBuff(host.host, skb_at).get("sk"):
        return -ENOENT
    return -E2BIG if index & U32_MAX >= host.mem.read_uint(map_at + 36, 4) else -EAGAIN


def _full_sock(host: Any, sk: int) -> bool:
    """Not a request, not in TIME_WAIT.  sk_fullsock()."""
    state = host.mem.read_uint(Sock(host.host, sk).common_at("skc_state"), 1)
    return state not in (6, 12)


@_kernel
def bpf_sk_fullsock(host: Any, sk: int, *_: int) -> int:
    """The socket, if it is a full one."""
    return sk if _full_sock(host, sk) else 0


def _no_metadata(name: str, to_at: int, size_at: int) -> None:
    """Tunnel and IPsec data of a packet that has none."""

    def function(host: Any, *registers: int) -> int:
        return _fill(host, registers[to_at], registers[size_at], EINVAL)

    function.__name__ = name
    function.__doc__ = f"{name}(): cleared memory and EINVAL, for there is no such metadata."
    _add(name, function)


_no_metadata("bpf_skb_get_tunnel_key", 1, 2)
_no_metadata("bpf_skb_get_tunnel_opt", 1, 2)
_no_metadata("bpf_skb_get_xfrm_state", 2, 3)


def _fib_lookup(host: Any, params: int, size: int, flags: int) -> int:
    """No device forwards."""
    if _s32(size) < BPF_FIB_LOOKUP_PARAMS_SIZE or flags & U32_MAX & ~3:
        return -EINVAL
    if host.mem.read_uint(params, 1) not in (AF_INET, AF_INET6):
        return -EAFNOSUPPORT
    ifindex = host.mem.read_uint(params + 8, 4)
    return BPF_FIB_LKUP_RET_FWD_DISABLED if ifindex == 1 else -ENODEV


@_kernel
def bpf_skb_fib_lookup(host: Any, skb_at: int, params: int, size: int, flags: int, _: int) -> int:
    """Ask the routing table."""
    return _fib_lookup(host, params, size, flags)


@_kernel
def bpf_xdp_fib_lookup(host: Any, xdp_at: int, params: int, size: int, flags: int, _: int) -> int:
    """Ask the routing table."""
    return _fib_lookup(host, params, size, flags)


def _check_mtu(host: Any, device: int, ifindex: int, mtu_at: int, length: int, diff: int) -> int:
    dev, mtu, result = NetDevice(host.host, device), 0, -ENODEV
    if device and ifindex & U32_MAX in (0, dev.get("ifindex")):
        mtu = dev.get("mtu")
        given = host.mem.read_uint(mtu_at, 4)
        size = (given + ETH_HLEN if given else length) + _s32(diff)
        result = BPF_MTU_CHK_RET_SUCCESS if size <= mtu + ETH_HLEN else BPF_MTU_CHK_RET_FRAG_NEEDED
    host.mem.write_uint(mtu_at, 4, mtu)
    return result


@_kernel
def bpf_skb_check_mtu(host: Any, skb_at: int, ifindex: int, mtu_at: int, diff: int, flags: int) -> int:
    """Whether the packet fits through a device."""
    skb = SkBuff(host.host, skb_at)
    if flags & ~1 or (flags & 1 and (_s32(diff) or host.mem.read_uint(mtu_at, 4))):
        host.mem.write_uint(mtu_at, 4, 0)
        return -EINVAL
    result = _check_mtu(host, skb.get("dev"), ifindex, mtu_at, skb.len, diff)
    if result == BPF_MTU_CHK_RET_FRAG_NEEDED and skb.is_gso:
        return -EINVAL if flags & 1 and skb.get("transport_header") == U16_MAX else BPF_MTU_CHK_RET_SUCCESS
    return result


@_kernel
def bpf_xdp_check_mtu(host: Any, xdp_at: int, ifindex: int, mtu_at: int, diff: int, flags: int) -> int:
    """Whether the frame fits through a device."""
    xdp = XdpBuff(host.host, xdp_at)
    if flags:
        host.mem.write_uint(mtu_at, 4, 0)
        return -EINVAL
    device = xdp.read(xdp.get("rxq"), "xdp_rxq_info.dev")
    return _check_mtu(host, device, ifindex, mtu_at, xdp.get("data_end") - xdp.get("data"), diff)


def _protocol_behind_vlan(skb: SkBuff) -> int:
    """The EtherType after all VLAN tags in the packet; 0 if it ends before.  vlan_get_protocol()."""
    kind, depth = skb.protocol(), max(skb.get("mac_len") - VLAN_HLEN, 0) if skb.get("mac_len") else ETH_HLEN
    for _ in range(7):  # VLAN_MAX_DEPTH
        if kind not in (ETH_P_8021Q, ETH_P_8021AD):
            return kind
        if depth + VLAN_HLEN > skb.len:
            return 0
        kind = int.from_bytes(bytes(skb.mem.read(skb.data + depth + 2, 2)), "big")
        depth += VLAN_HLEN
    return 0


def _swap16(value: int) -> int:
    return (value & 0xFF) << 8 | value >> 8 & 0xFF


def _ipv4_set_ce(skb: SkBuff, at: int) -> int:
    """IP_ECN_set_ce(), with the checksum corrected in its way."""
    mem, ecn = skb.mem, (skb.mem.read_uint(at + 1, 1) + 1) & 3
    if not ecn & 2:
        return int(ecn == 0)
    check = mem.read_uint(at + 10, 2) + _swap16(0xFFFB) + _swap16(ecn)
    mem.write_uint(at + 10, 2, (check + (check >= 0xFFFF)) & U16_MAX)
    mem.write_uint(at + 1, 1, mem.read_uint(at + 1, 1) | 3)
    return 1


def _ipv6_set_ce(skb: SkBuff, at: int) -> int:
    """IP6_ECN_set_ce()."""
    flow = skb.mem.read_uint(at + 1, 1)
    if not flow >> 4 & 3:
        return 0
    skb.mem.write_uint(at + 1, 1, flow | 3 << 4)
    return 1


@_kernel
def bpf_skb_ecn_set_ce(host: Any, skb_at: int, *_: int) -> int:
    """Mark the packet "congestion experienced", if its ends understand that; 1 if it is marked then."""
    skb = SkBuff(host.host, skb_at)
    kind, at, end = _protocol_behind_vlan(skb), skb.network_header(), skb.data + skb.len
    if kind == ETH_P_IP and skb.headlen >= 20 and at + 20 <= end:
        return _ipv4_set_ce(skb, at)
    if kind == ETH_P_IPV6 and skb.headlen >= 40 and at + 40 <= end:
        return _ipv6_set_ce(skb, at)
    return 0


# -- XDP -----------------------------------------------------------------------------------------------


@_kernel
def bpf_xdp_get_buff_len(host: Any, xdp_at: int, *_: int) -> int:
    """Length of the frame."""
    return XdpBuff(host.host, xdp_at).buff_len()


def _meta_len(xdp: XdpBuff) -> int:
    meta, data = xdp.get("data_meta"), xdp.get("data")
    return 0 if meta > data else data - meta


@_kernel
def bpf_xdp_adjust_head(host: Any, xdp_at: int, offset: int, *_: int) -> int:
    """Move the beginning of the frame; metadata moves with it."""
    xdp, offset = XdpBuff(host.host, xdp_at), _s32(offset)
    meta_len, data = _meta_len(xdp), xdp.get("data") + offset
    lowest = xdp.get("data_hard_start") + XDP_FRAME_SIZE + meta_len
    if data < lowest or data > xdp.get("data_end") - ETH_HLEN:
        return -EINVAL
    if meta_len:
        meta = bytes(host.mem.read(xdp.get("data_meta"), meta_len))
        host.mem.write(xdp.get("data_meta") + offset, meta)
    xdp.set("data_meta", xdp.get("data_meta") + offset)
    xdp.set("data", data)
    return 0


@_kernel
def bpf_xdp_adjust_tail(host: Any, xdp_at: int, offset: int, *_: int) -> int:
    """Move the end of the frame; new bytes are zero."""
    xdp, offset = XdpBuff(host.host, xdp_at), _s32(offset)
    if xdp.has_frags:
        return _shrink_frags(xdp, -offset) if offset < 0 else _grow_frag(xdp, offset)
    hard_end = xdp.get("data_hard_start") + xdp.get("frame_sz") - shinfo_room(xdp.kernel)
    end = xdp.get("data_end") + offset
    if end > hard_end or end < xdp.get("data") + ETH_HLEN:
        return -EINVAL
    if offset > 0:
        host.mem.write(xdp.get("data_end"), bytes(offset))
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


@_kernel
def bpf_xdp_adjust_meta(host: Any, xdp_at: int, offset: int, *_: int) -> int:
    """Move the beginning of the metadata before the frame."""
    xdp = XdpBuff(host.host, xdp_at)
    data, meta = xdp.get("data"), xdp.get("data_meta") + _s32(offset)
    if xdp.get("data_meta") > data:
        return -ENOTSUPP
    if meta < xdp.get("data_hard_start") + XDP_FRAME_SIZE or meta > data:
        return -EINVAL
    if (data - meta) & 3 or data - meta > 32:
        return -EACCES
    xdp.set("data_meta", meta)
    return 0


def _xdp_pieces(xdp: XdpBuff, offset: int, length: int) -> list[tuple[int, int]] | int:
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


@_kernel
def bpf_xdp_load_bytes(host: Any, xdp_at: int, offset: int, to: int, length: int, _: int) -> int:
    """Copy bytes out of the frame."""
    pieces = _xdp_pieces(XdpBuff(host.host, xdp_at), offset & U32_MAX, length & U32_MAX)
    if isinstance(pieces, int):
        return pieces
    host.mem.write(to, b"".join(bytes(host.mem.read(at, size)) for at, size in pieces))
    return 0


@_kernel
def bpf_xdp_store_bytes(host: Any, xdp_at: int, offset: int, source: int, length: int, _: int) -> int:
    """Copy bytes into the frame."""
    pieces = _xdp_pieces(XdpBuff(host.host, xdp_at), offset & U32_MAX, length & U32_MAX)
    if isinstance(pieces, int):
        return pieces
    for at, size in pieces:
        host.mem.write(at, bytes(host.mem.read(source, size)))
        source += size
    return 0


# -- sk_skb forms, the same under other names --------------------------------------------------------------

for _name in ("change_tail", "change_head", "adjust_room"):
    _add(f"sk_skb_{_name}", SKB_HELPERS[f"bpf_skb_{_name}"])
