"""Making the rings of a packet socket, and showing them in a program's memory.  net/packet/af_packet.c: packet_set_ring(), packet_mmap()."""

from __future__ import annotations

from arch.abi.errno import EBUSY, EINVAL
from arch.abi.limits import INT_MAX, PAGE_SIZE, U32_MAX
from arch.abi.packet import TPACKET_ALIGNMENT
from arch.errors import KernelError
from simkernel.kernel.areas import Vma, VmOperations
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.packet.blocks import DESC, Blocks, aligned
from simkernel.net.packet.headers import header
from simkernel.net.packet.ring import Pages, Request, Ring
from simkernel.net.packet.sock import PacketSock, packet_sk

V3 = 2  # TPACKET_V3
RING_REQUEST, RING_REQUEST3 = 16, 28  # bytes of struct tpacket_req and tpacket_req3


def set_ring(k: NetKernel, po: PacketSock, data: bytes, sends: bool) -> int:
    """PACKET_RX_RING, PACKET_TX_RING.  EINVAL, EBUSY: it is shown, or is there already."""
    size = RING_REQUEST3 if po.version == V3 else RING_REQUEST
    if len(data) < size:
        return -EINVAL
    asked = Request(*(int.from_bytes(data[at : at + 4], k.mem.byteorder) for at in range(0, size, 4)))
    if po.mapped:
        return -EBUSY
    if not asked.blocks:
        if asked.frames:
            return -EINVAL
        _replace(k, po, None, sends)
        return 0
    if (po.tx if sends else po.rx) is not None:
        return -EBUSY
    _check(k, po, asked)
    if po.version == V3 and not sends:
        _replace(k, po, Blocks(k, asked), sends)
        return 0
    if po.version == V3 and (asked.retire_ms or asked.private or asked.features):
        return -EINVAL
    _replace(k, po, Ring(k, asked, header(po.version, k.arch.model.word)), sends)
    return 0


def _check(k: NetKernel, po: PacketSock, asked: Request) -> None:
    """The sanity tests.  EINVAL."""
    least = header(po.version, k.arch.model.word).tp_hdrlen + po.reserve
    size = asked.block_size
    if not 0 < size <= INT_MAX or size % PAGE_SIZE:
        raise KernelError(EINVAL)
    if po.version == V3 and size < DESC + aligned(asked.private) + least:
        raise KernelError(EINVAL)
    if asked.frame_size < least or asked.frame_size % TPACKET_ALIGNMENT:
        raise KernelError(EINVAL)
    per_block = size // asked.frame_size
    if not per_block or per_block > U32_MAX // asked.blocks or per_block * asked.blocks != asked.frames:
        raise KernelError(EINVAL)


def _replace(k: NetKernel, po: PacketSock, new: Ring | Blocks | None, sends: bool) -> None:
    """Another ring, or none; what waited in the socket's queue of that direction is gone."""
    old: Pages | None
    if sends:
        assert not isinstance(new, Blocks)
        old, po.tx = po.tx, new
    else:
        old, po.rx = po.rx, new
        po.hears = "packet_rcv" if new is None else "tpacket_rcv"
        while po.receive_queue:
            packet = po.receive_queue.popleft()
            po.charge(-packet.truesize)
            k.net.skbs.pop(packet.addr)
            packet.orphan()
            k.mem.free(packet.get("head"))
            k.mem.free(packet.addr)
    if isinstance(old, Blocks):
        k.timers.delete(po.retire_timer)
        k.timers.forget(po.retire_timer)
        k.mem.free(po.retire_timer)
        del k.net.ring_timers[po.retire_timer]
        po.retire_timer = 0
    if old is not None:
        old.destroy()
    if isinstance(new, Blocks):
        po.retire_timer = k.mem.alloc(k.types.sizeof("struct timer_list"))
        k.timers.setup(po.retire_timer, "prb_retire_rx_blk_timer_expired", po.addr)
        k.net.ring_timers[po.retire_timer] = po
        rearm(k, po, new)


def rearm(k: NetKernel, po: PacketSock, ring: Blocks) -> None:
    """_prb_refresh_rx_retire_blk_timer()."""
    k.timers.mod(po.retire_timer, k.clock.now_ns + ring.retire_ns)


@kernel_function(
    "void prb_retire_rx_blk_timer_expired(struct timer_list *t)", source="net/packet/af_packet.c", since="4.15"
)
def prb_retire_rx_blk_timer_expired(k: NetKernel, t: int) -> Body:
    """The time of the open block is over."""
    return (yield from _expired(k, packet_sk(k.net.ring_timers[t])))


@kernel_function(
    "void prb_retire_rx_blk_timer_expired(unsigned long data)", source="net/packet/af_packet.c", until="4.15"
)
def prb_retire_rx_blk_timer_expired_data(k: NetKernel, data: int) -> Body:
    """Before 4.15 a timer's function got its data."""
    return (yield from _expired(k, packet_sk(k.net.socks[data])))


def _expired(k: NetKernel, po: PacketSock) -> Body:
    ring = po.rx
    assert isinstance(ring, Blocks)
    if ring.expired(po.lost > 0):
        yield k.call("sock_def_readable", po.addr)
    rearm(k, po, ring)
    return 0


def close_rings(k: NetKernel, po: PacketSock) -> None:
    """packet_release()."""
    for sends in (False, True):
        if (po.tx if sends else po.rx) is not None:
            _replace(k, po, None, sends)


class Shown(VmOperations):
    """packet_mmap_ops: how many areas show the rings."""

    def __init__(self, po: PacketSock) -> None:
        self.po = po
        po.mapped += 1

    def opened(self) -> None:
        """packet_mm_open()."""
        self.po.mapped += 1

    def closed(self) -> None:
        """packet_mm_close()."""
        self.po.mapped -= 1


def packet_mmap(k: NetKernel, sk: Sock, vma: Vma) -> None:
    """Both rings, one after the other, and as much as they are.  EINVAL."""
    po = packet_sk(sk)
    rings: list[Pages] = [ring for ring in (po.rx, po.tx) if ring is not None]
    if vma.pgoff or not rings or vma.end - vma.start != sum(ring.pages for ring in rings) * PAGE_SIZE:
        raise KernelError(EINVAL)

    def fault(vma: Vma, pgoff: int) -> int:
        for ring in rings:
            if pgoff < ring.pages:
                return k.mem.translate(ring.page(pgoff))
            pgoff -= ring.pages
        raise KernelError(EINVAL)

    vma.fault, vma.ops = fault, Shown(po)
