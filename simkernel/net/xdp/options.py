"""Options of SOL_XDP: memory, rings, statistics.  net/xdp/xsk.c: xsk_setsockopt(), xsk_getsockopt()."""

from __future__ import annotations

import struct

from arch.abi.errno import EBUSY, EINVAL, ENOPROTOOPT, EOPNOTSUPP
from arch.abi.if_xdp import (
    MMAP_OFFSETS_SIZE,
    MMAP_OFFSETS_V1,
    STATISTICS_SIZE,
    STATISTICS_V1,
    UMEM_REG_SIZE,
    UMEM_REG_V1,
    XDP_MMAP_OFFSETS,
    XDP_OPTIONS,
    XDP_OPTIONS_SIZE,
    XDP_RX_RING,
    XDP_STATISTICS,
    XDP_TX_RING,
    XDP_UMEM_COMPLETION_RING,
    XDP_UMEM_FILL_RING,
    XDP_UMEM_REG,
)
from arch.abi.socket import SOL_XDP
from simkernel.net.face import NetKernel
from simkernel.net.xdp.queue import RING_CONSUMER, RING_DESC, RING_FLAGS, RING_PRODUCER, XskQueue
from simkernel.net.xdp.umem import Umem
from simkernel.net.xdp.xsk import READY, XdpSock, needs_wakeup

RINGS = (XDP_RX_RING, XDP_TX_RING, XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING)


def unread(level: int, name: int, size: int) -> int:
    """The errno of an option that is refused before its value is looked at; 0: it is looked at."""
    if level != SOL_XDP or name not in (*RINGS, XDP_UMEM_REG):
        return ENOPROTOOPT
    return EINVAL if size < (UMEM_REG_V1 if name == XDP_UMEM_REG else 4) else 0


def set_xdp_option(k: NetKernel, sk: XdpSock, level: int, name: int, data: bytes) -> int:
    """ENOPROTOOPT, EINVAL, EBUSY: it is bound, or has memory; ENOBUFS, ENOMEM, EFAULT."""
    refused = unread(level, name, len(data))
    if refused:
        return -refused
    if sk.xsk != READY or (name == XDP_UMEM_REG and sk.umem is not None):
        return -EBUSY
    order = "<" if k.mem.byteorder == "little" else ">"
    if name == XDP_UMEM_REG:
        sk.umem = Umem(k, *struct.unpack(order + "QQIII", data[:UMEM_REG_SIZE].ljust(UMEM_REG_SIZE, b"\0")))
        return 0
    (entries,) = struct.unpack(order + "I", data[:4])
    if not entries or entries & entries - 1 or _ring(sk, name) is not None:
        return -EINVAL
    queue = XskQueue(k, entries, name in (XDP_RX_RING, XDP_TX_RING))
    if name == XDP_RX_RING:
        sk.rx = queue
    elif name == XDP_TX_RING:
        sk.tx = queue
        needs_wakeup(queue)
    elif name == XDP_UMEM_FILL_RING:
        sk.fq_tmp = queue
    else:
        sk.cq_tmp = queue
    return 0


def _ring(sk: XdpSock, name: int) -> XskQueue | None:
    return {XDP_RX_RING: sk.rx, XDP_TX_RING: sk.tx, XDP_UMEM_FILL_RING: sk.fq_tmp}.get(name, sk.cq_tmp)


def get_xdp_option(k: NetKernel, sk: XdpSock, level: int, name: int, room: int) -> bytes | int:
    """The value, or -errno: ENOPROTOOPT, EOPNOTSUPP, EINVAL for little room."""
    order = "<" if k.mem.byteorder == "little" else ">"
    if level != SOL_XDP:
        return -ENOPROTOOPT
    if name == XDP_STATISTICS:
        return _statistics(sk, room, order)
    if name == XDP_MMAP_OFFSETS:
        if room < MMAP_OFFSETS_V1:
            return -EINVAL
        places = (RING_PRODUCER, RING_CONSUMER, RING_DESC, RING_FLAGS)[: 4 if room >= MMAP_OFFSETS_SIZE else 3]
        return struct.pack(f"{order}{4 * len(places)}Q", *places * 4)
    if name == XDP_OPTIONS:
        return bytes(XDP_OPTIONS_SIZE) if room >= XDP_OPTIONS_SIZE else -EINVAL
    return -EOPNOTSUPP


def _statistics(sk: XdpSock, room: int, order: str) -> bytes | int:
    """struct xdp_statistics."""
    if room < STATISTICS_V1:
        return -EINVAL
    rx, tx, fill = sk.rx, sk.tx, sk.pool.fq if sk.pool is not None else None
    whole = room >= STATISTICS_SIZE
    dropped = sk.rx_dropped + (0 if whole else sk.rx_queue_full)
    words = [dropped, rx.invalid_descs if rx is not None else 0, tx.invalid_descs if tx is not None else 0]
    if whole:
        words += [
            sk.rx_queue_full,
            fill.queue_empty_descs if fill is not None else 0,
            tx.queue_empty_descs if tx is not None else 0,
        ]
    return struct.pack(f"{order}{len(words)}Q", *words)
