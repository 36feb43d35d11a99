"""Sockets of AF_XDP: what they are told, what is bound, frames in and out.  net/xdp/xsk.c."""

from __future__ import annotations

from arch.abi.capability import CAP_NET_RAW
from arch.abi.errno import (
    EAGAIN,
    EBADF,
    EBUSY,
    EINVAL,
    ENETDOWN,
    ENOBUFS,
    ENODEV,
    ENOMEM,
    ENOPROTOOPT,
    ENOSPC,
    ENOTSOCK,
    ENXIO,
    EOPNOTSUPP,
    EPERM,
    EPROTONOSUPPORT,
    ESOCKTNOSUPPORT,
)
from arch.abi.if_xdp import (
    SOCKADDR_XDP_SIZE,
    XDP_COPY,
    XDP_PGOFF_RX_RING,
    XDP_PGOFF_TX_RING,
    XDP_RING_NEED_WAKEUP,
    XDP_SHARED_UMEM,
    XDP_UMEM_PGOFF_COMPLETION_RING,
    XDP_UMEM_PGOFF_FILL_RING,
    XDP_USE_NEED_WAKEUP,
    XDP_ZEROCOPY,
)
from arch.abi.limits import PAGE_SIZE
from arch.abi.poll import POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM
from arch.abi.socket import AF_XDP, MSG_DONTWAIT, SOCK_RAW
from arch.errors import KernelError
from bpf.frames import SocketMap
from simkernel.kernel.areas import Vma
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue
from simkernel.kernel.user_namespace import ns_address
from simkernel.net.core.netns import Event, NetDevice
from simkernel.net.core.programs import NET_XMIT_DROP
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import new_skb
from simkernel.net.core.sock import ProtoOps, Sock, Socket, SockKernel
from simkernel.net.face import NetKernel, current_net
from simkernel.net.xdp.pool import XskPool
from simkernel.net.xdp.queue import Desc, XskQueue
from simkernel.net.xdp.umem import Umem

XSK = ProtoOps("xsk_proto_ops", "xsk_sendmsg", "xsk_recvmsg")
TX_BATCH_SIZE = 32  # frames that one call sends
WORK_NS = 100_000  # until a worker gives back what the last socket had
READY, BOUND, UNBOUND = range(3)


def put_pool(k: SockKernel, pool: XskPool) -> None:
    """xp_put_pool()."""
    pool.users -= 1
    if not pool.users:
        k.clock.add(k.clock.now_ns + WORK_NS, pool.release)


class XdpSock(Sock):
    """struct xdp_sock."""

    def __init__(self, k: NetKernel) -> None:
        super().__init__(k, current_net(k), AF_XDP, SOCK_RAW, 0)
        self.xsk = READY
        self.rx: XskQueue | None = None
        self.tx: XskQueue | None = None
        self.fq_tmp: XskQueue | None = None  # until it is bound
        self.cq_tmp: XskQueue | None = None
        self.umem: Umem | None = None
        self.pool: XskPool | None = None
        self.dev: NetDevice | None = None
        self.queue_id = 0
        self.rx_dropped = self.rx_queue_full = 0
        self.places: list[tuple[SocketMap, int]] = []  # the maps that it is in, and where

    def check(self) -> int:
        """xsk_check_common(): the errno of a socket that nothing can go through."""
        if self.xsk != BOUND or self.dev is None:
            return ENXIO
        return 0 if self.dev.up else ENETDOWN

    @property
    def tx_writeable(self) -> bool:
        """xsk_tx_writeable()."""
        return self.tx is not None and self.tx.present <= self.tx.entries // 2

    # ---- frames in ----

    def receive(self, dev: int, frame: bytes, meta: bytes) -> int:
        """xsk_generic_rcv(): 0 or the errno; `dev` is the address of the device that it came by, whose queue is the first."""
        if self.xsk != BOUND or self.dev is None or self.pool is None:
            return ENXIO
        if self.dev.addr != dev or self.queue_id:
            return EINVAL
        error = self._copied(self.pool, frame, meta)
        if self.rx is not None:
            self.rx.submit()
        self.pool.fq.release()
        self.k.wake_up(self.wq, 0)
        return error

    def _copied(self, pool: XskPool, frame: bytes, meta: bytes) -> int:
        """__xsk_rcv()."""
        if len(frame) > pool.frame_size:
            self.rx_dropped += 1
            return ENOSPC
        chunk = pool.alloc()
        if chunk is None:
            self.rx_dropped += 1
            return ENOMEM
        at = pool.fill(chunk, frame, meta)
        if self.rx is None or not self.rx.reserve_desc(at, len(frame)):
            self.rx_queue_full += 1
            pool.free_list.append(chunk)
            return ENOBUFS
        return 0

    # ---- the end ----

    def unbind(self) -> None:
        """xsk_unbind_dev()."""
        if self.xsk == BOUND:
            self.xsk, self.dev = UNBOUND, None

    def close(self) -> None:
        """xsk_release(), xsk_destruct(): out of the maps, the rings go; a worker gives back what it had at its device."""
        for found, index in list(self.places):
            found.forget(index)
        self.unbind()
        for queue in (self.rx, self.tx, self.fq_tmp, self.cq_tmp):
            if queue is not None:
                queue.destroy()
        self.rx = self.tx = self.fq_tmp = self.cq_tmp = None
        if self.pool is not None:
            put_pool(self.k, self.pool)
        if self.umem is not None:
            self.k.clock.add(self.k.clock.now_ns + WORK_NS, self.umem.put)
        self.free()


def xdp_create(k: NetKernel, type_: int, protocol: int) -> Body:
    """xsk_create() (`yield from`): the address of a struct socket.  -EPERM, -ESOCKTNOSUPPORT, -EPROTONOSUPPORT."""
    if not (yield k.call("ns_capable", ns_address(k, current_net(k).namespace.owner), CAP_NET_RAW)):
        return -EPERM
    if type_ != SOCK_RAW:
        return -ESOCKTNOSUPPORT
    if protocol:
        return -EPROTONOSUPPORT
    return Socket(k, AF_XDP, type_, XSK, XdpSock(k)).addr


# -- binding -------------------------------------------------------------------------------------------------------------


@kernel_function("int xsk_bind(struct socket *sock, struct sockaddr *addr, int addr_len)", source="net/xdp/xsk.c")
def xsk_bind(k: NetKernel, sock: int, addr: int, addr_len: int) -> int:
    """To a queue of a device, with memory of its own or another socket's.  EINVAL, EBUSY, ENODEV, EOPNOTSUPP and the other's."""
    sk, order = k.net.sockets[sock].sk, k.mem.byteorder
    assert isinstance(sk, XdpSock)
    if addr_len < SOCKADDR_XDP_SIZE:
        return -EINVAL
    raw = k.mem.read(addr, SOCKADDR_XDP_SIZE)
    family, flags = (int.from_bytes(raw[at : at + 2], order) for at in (0, 2))
    index, queue_id, shared = (int.from_bytes(raw[at : at + 4], order) for at in (4, 8, 12))
    if family != AF_XDP or flags & ~(XDP_SHARED_UMEM | XDP_COPY | XDP_ZEROCOPY | XDP_USE_NEED_WAKEUP):
        return -EINVAL
    if sk.xsk != READY:
        return -EBUSY
    dev = sk.net.devices.get(index)
    if dev is None:
        return -ENODEV
    if sk.rx is None and sk.tx is None:
        return -EINVAL
    if flags & XDP_SHARED_UMEM:
        if flags & ~XDP_SHARED_UMEM or sk.umem is not None:
            return -EINVAL
        sk.pool = _shared_pool(k, sk, dev, queue_id, shared)
    else:
        sk.pool = _own_pool(k, sk, dev, queue_id, flags)
    sk.dev, sk.queue_id, sk.xsk = dev, queue_id, BOUND
    k.view(sk.addr, "struct xdp_sock").queue_id = queue_id
    return 0


def _new_pool(k: NetKernel, sk: XdpSock, umem: Umem, dev: NetDevice, queue_id: int) -> XskPool:
    """xp_create_and_assign_umem(), xp_assign_dev(), with the rings that the socket has made.  KernelError."""
    if sk.fq_tmp is None or sk.cq_tmp is None:
        raise KernelError(EINVAL, "no rings of memory")
    pool = XskPool(k, umem, sk.fq_tmp, sk.cq_tmp)
    try:
        pool.assign(dev, queue_id)
    except KernelError:
        umem.put()
        raise
    sk.fq_tmp = sk.cq_tmp = None
    return pool


def _own_pool(k: NetKernel, sk: XdpSock, dev: NetDevice, queue_id: int, flags: int) -> XskPool:
    if sk.umem is None or sk.fq_tmp is None or sk.cq_tmp is None:
        raise KernelError(EINVAL)
    if flags & XDP_COPY and flags & XDP_ZEROCOPY:
        raise KernelError(EINVAL)
    if flags & XDP_ZEROCOPY and (dev.addr, queue_id) not in k.net.xsk_queues and queue_id < max(dev.queues):
        raise KernelError(EOPNOTSUPP, "no driver here takes frames out of memory")
    return _new_pool(k, sk, sk.umem, dev, queue_id)


def _shared_pool(k: NetKernel, sk: XdpSock, dev: NetDevice, queue_id: int, fd: int) -> XskPool:
    """With another socket's memory, and with its rings of memory where it is the same queue."""
    try:
        found = k.vfs.fget(fd).private_data
    except KernelError:
        raise KernelError(ENOTSOCK) from None
    if not isinstance(found, Socket):
        raise KernelError(ENOTSOCK)
    other = found.sk
    if not isinstance(other, XdpSock):
        raise KernelError(ENOPROTOOPT)
    if other.xsk != BOUND or other.pool is None or other.umem is None:
        raise KernelError(EBADF)
    if (other.dev, other.queue_id) != (dev, queue_id):
        pool = _new_pool(k, sk, other.umem, dev, queue_id)
    elif sk.fq_tmp is not None or sk.cq_tmp is not None:
        raise KernelError(EINVAL, "rings of its own")
    else:
        pool = other.pool.get()
    sk.umem = other.umem.get()
    return pool


def device_event(k: NetKernel, dev: NetDevice, event: Event) -> None:
    """xsk_notifier(): a device goes."""
    if event is not Event.UNREGISTER:
        return
    for sk in list(k.net.socks.values()):
        if isinstance(sk, XdpSock) and sk.dev is dev:
            sk.set_error(ENETDOWN)
            sk.unbind()
            if sk.pool is not None:
                sk.pool.clear_device()


@kernel_function("int xsk_release(struct socket *sock)", source="net/xdp/xsk.c")
def xsk_release(k: NetKernel, sock: int) -> int:
    """The last descriptor and mapping is gone; a worker gives the memory back."""
    sk = k.net.sockets[sock].sk
    assert isinstance(sk, XdpSock)
    sk.close()
    return 0


# -- frames out ----------------------------------------------------------------------------------------------------------


@kernel_function("int xsk_sendmsg(struct socket *sock, struct msghdr *m, size_t total_len)", source="net/xdp/xsk.c")
def xsk_sendmsg(k: NetKernel, sock: int, m: int, total_len: int) -> Body:
    """Send what is in the ring; never waits.  ENXIO, ENETDOWN, EOPNOTSUPP, ENOBUFS, EAGAIN, EBUSY."""
    sk = k.net.sockets[sock].sk
    assert isinstance(sk, XdpSock)
    refused = sk.check()
    if refused:
        return -refused
    if not k.net.messages[m].flags & MSG_DONTWAIT:
        return -EOPNOTSUPP
    return (yield from transmit(k, sk)) if sk.tx is not None else -ENOBUFS


@kernel_function(
    "int xsk_recvmsg(struct socket *sock, struct msghdr *m, size_t len, int flags)", source="net/xdp/xsk.c"
)
def xsk_recvmsg(k: NetKernel, sock: int, m: int, length: int, flags: int) -> int:
    """Wakes a driver that sleeps, of which there is none."""
    sk = k.net.sockets[sock].sk
    assert isinstance(sk, XdpSock)
    refused = sk.check()
    if refused:
        return -refused
    if not flags & MSG_DONTWAIT:
        return -EOPNOTSUPP
    return 0 if sk.rx is not None else -ENOBUFS


def transmit(k: NetKernel, sk: XdpSock) -> Body:
    """__xsk_generic_xmit() (`yield from`): 0 or -errno."""
    pool, tx, dev = sk.pool, sk.tx, sk.dev
    assert pool is not None and tx is not None and dev is not None
    if sk.queue_id >= dev.queues[0]:
        return -ENXIO
    budget, sent, error = TX_BATCH_SIZE, False, 0
    while (desc := pool.next_desc(tx)) is not None:
        if not budget:
            error = -EAGAIN
            break
        budget -= 1
        if not pool.cq.reserve():
            break
        if sk.wmem >= sk.sndbuf:
            pool.cq.cancel()
            error = -EAGAIN
            break
        skb = yield from _build_skb(k, sk, pool, desc)
        answer = yield k.call("__dev_direct_xmit", skb.addr, sk.queue_id)
        tx.take()
        if answer == NET_XMIT_DROP:
            error = -EBUSY  # it is done, and was not sent
            break
        sent = True
    else:
        tx.queue_empty_descs += 1
    if sent and sk.tx_writeable:
        k.wake_up(sk.wq, 0)
    return error


def _build_skb(k: NetKernel, sk: XdpSock, pool: XskPool, desc: Desc) -> Steps[Skb]:
    """xsk_build_skb(): a copy; when that is freed, the program may have its chunk back (`yield from`)."""
    assert sk.dev is not None
    skb = yield from new_skb(k, desc.len, sk)
    skb.put_data(pool.umem.read(pool.place(desc), desc.len))
    skb.reset_mac_header()
    skb.set_protocol(0)
    skb.set_dev(sk.dev)
    charge = skb.truesize
    sk.charge_send(charge)
    pool.get()

    def destruct() -> None:
        """xsk_destruct_skb()."""
        pool.cq.submit_address(desc.addr)
        if sk.addr in k.net.socks:
            sk.charge_send(-charge)
        put_pool(k, pool)

    skb.destructor = destruct
    return skb


# -- its file ------------------------------------------------------------------------------------------------------------


def xsk_drive(k: NetKernel, sk: XdpSock) -> Steps[None]:
    """What poll(2) does first, as all sockets here send by copying (`yield from`)."""
    if not sk.check() and sk.tx is not None:
        yield from transmit(k, sk)


def xsk_poll(sk: XdpSock, queues: list[WaitQueue] | None) -> int:
    """xsk_poll()."""
    if queues is not None:
        queues.append(sk.wq)
    if sk.check():
        return 0
    mask = POLLIN | POLLRDNORM if sk.rx is not None and not sk.rx.empty else 0
    return mask | (POLLOUT | POLLWRNORM if sk.tx_writeable else 0)


def xsk_mmap(k: NetKernel, sk: XdpSock, vma: Vma) -> None:
    """One of its rings.  EBUSY: it is bound, EINVAL."""
    if sk.xsk != READY:
        raise KernelError(EBUSY)
    first = vma.pgoff
    queue = {
        XDP_PGOFF_RX_RING: sk.rx, XDP_PGOFF_TX_RING: sk.tx, XDP_UMEM_PGOFF_FILL_RING: sk.fq_tmp,
        XDP_UMEM_PGOFF_COMPLETION_RING: sk.cq_tmp,
    }.get(first * PAGE_SIZE)  # fmt: skip
    if queue is None or vma.end - vma.start > queue.pages * PAGE_SIZE:
        raise KernelError(EINVAL)
    ring = queue.ring
    vma.fault = lambda vma, pgoff: k.mem.translate(ring + (pgoff - first) * PAGE_SIZE)
    vma.dontexpand = True


def needs_wakeup(queue: XskQueue) -> None:
    """A ring for sending: it has to be told of what is there."""
    queue.set_flags(XDP_RING_NEED_WAKEUP)
