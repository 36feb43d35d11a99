"""AF_UNIX: stream, datagram and seqpacket sockets between tasks of one machine.  net/unix/af_unix.c, net/unix/garbage.c.

What is sent lies in the receiver's queue as `Parcel`s (bytes, the sender's name, passed files), which are charged to the sender
like the packets that Linux makes; sending blocks while more is on its way than SO_SNDBUF says.  No sk_buff is made: network
tracepoints do not see these sockets.
"""

from __future__ import annotations

from collections import deque

from arch.abi.errno import EPROTONOSUPPORT, ESOCKTNOSUPPORT
from arch.abi.inet import TCP_CLOSE, TCP_LISTEN
from arch.abi.poll import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI, POLLRDHUP, POLLRDNORM, POLLWRBAND, POLLWRNORM
from arch.abi.socket import AF_UNIX, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_STREAM
from simkernel.fs.inode import File, Inode, Path
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.security import ask
from simkernel.kernel.task import WaitQueue
from simkernel.kernel.user import User
from simkernel.net.core.netns import Net
from simkernel.net.core.sock import RCV_SHUTDOWN, SHUTDOWN_MASK, ProtoOps, Sock, Socket, SockKernel
from simkernel.net.face import NetKernel

UNIX_STREAM = ProtoOps("unix_stream_ops", "unix_stream_sendmsg", "unix_stream_recvmsg")
UNIX_DGRAM = ProtoOps("unix_dgram_ops", "unix_dgram_sendmsg", "unix_dgram_recvmsg")
UNIX_SEQPACKET = ProtoOps("unix_seqpacket_ops", "unix_dgram_sendmsg", "unix_dgram_recvmsg")
_OPS = {SOCK_STREAM: UNIX_STREAM, SOCK_DGRAM: UNIX_DGRAM, SOCK_SEQPACKET: UNIX_SEQPACKET}


Ucred = tuple[int, int, int]  # struct ucred: pid, uid, gid


class Parcel:
    """A packet: bytes, who sent it and is charged for it, and files that travel with its first byte."""

    __slots__ = ("cred", "data", "files", "sender", "source", "truesize", "user")

    def __init__(
        self, data: bytes, sender: UnixSock, truesize: int, files: list[File], cred: Ucred | None = None
    ) -> None:
        self.sender, self.truesize = sender, truesize
        self.cred = cred
        self.data = data
        self.source = sender.address
        self.files = files
        self.user: User | None = None  # in whose count they are, while it lies in a queue

    def free(self) -> None:
        """consume_skb(): the sender may have room again.  sock_wfree(), unix_write_space()."""
        sender = self.sender
        sender.k.mm.charge(-self.truesize)
        if not sender.dead:
            sender.charge_send(-self.truesize)
            if sender.writable:
                sender.k.wake_up(sender.wq, 0)


class UnixSock(Sock):
    """struct unix_sock."""

    def __init__(self, k: SockKernel, net: Net, type_: int) -> None:
        super().__init__(k, net, AF_UNIX, type_, 0)
        self._name = b""
        self._unix_address = 0  # of its struct unix_address
        self.inode: Inode | None = None
        self.path: Path | None = None  # of that
        self.peer: UnixSock | None = None
        self.parcels: deque[Parcel] = deque()
        self.max_dgram_qlen = int(net.sysctl["unix.max_dgram_qlen"])
        self.view.sk_max_ack_backlog = self.max_dgram_qlen
        self.queued = 0  # bytes in parcels
        self.oob: Parcel | None = None  # the urgent byte, while nobody has read it
        self.pending: list[UnixSock] = []  # connections waiting for accept()
        self.peer_cred: Ucred = (0, 0xFFFFFFFF, 0xFFFFFFFF)  # SO_PEERCRED: who listened, connected or made the pair
        self.peer_groups: list[int] | None = None  # SO_PEERGROUPS

    @property
    def name(self) -> bytes:
        """sun_path: a path with its NUL, or an abstract name that begins with NUL."""
        return self._name

    @name.setter
    def name(self, name: bytes) -> None:
        self._name = name
        mem, size = self.k.mem, self.k.types.sizeof("struct unix_address")
        at = mem.alloc(size + len(self.address))
        view = self.k.view(at, "struct unix_address")
        view.refcnt.refs.counter, view.len = 1, len(self.address)
        mem.write(at + size, self.address)
        self.k.types.setter("struct unix_sock", "addr")(mem, self.addr, at)
        self._unix_address = at

    def free(self) -> None:
        super().free()
        address, self._unix_address = self._unix_address, 0
        if address:
            self.k.mem.free(address)

    @property
    def address(self) -> bytes:
        """struct sockaddr_un."""
        return AF_UNIX.to_bytes(2, self.k.mem.byteorder) + self.name

    def set_state(self, state: int) -> None:
        """sk_state, in both places."""
        self.state = state
        self.view["__sk_common"].skc_state = state

    @property
    def writable(self) -> bool:
        """unix_writable(): a quarter of the send buffer wakes those who wait for room."""
        return self.state != TCP_LISTEN and self.wmem << 2 <= self.sndbuf

    def refuses(self, sender: UnixSock) -> bool:
        """A datagram socket's queue is full, for all but itself and the one that it is connected to: unix_recvq_full()."""
        mine = sender is self or self.peer is sender
        return self.type != SOCK_STREAM and not mine and len(self.parcels) > self.max_dgram_qlen

    def put(self, parcel: Parcel) -> None:
        """Queue and wake the reader.  KernelError(ENOMEM)."""
        self.k.mm.charge(parcel.truesize)
        parcel.sender.charge_send(parcel.truesize)
        self.parcels.append(parcel)
        self.queued += len(parcel.data)
        self.k.trace("sk_data_ready", self.addr)
        self.k.wake_up(self.wq)

    def take(self, parcel: Parcel) -> None:
        """The first was received."""
        self.parcels.popleft()
        parcel.free()


def unix_sock(k: NetKernel, socket: int) -> UnixSock:
    """The UnixSock of a struct socket."""
    sk = k.net.sockets[socket].sk
    assert isinstance(sk, UnixSock)
    return sk


@kernel_function(
    "struct socket *unix_create(struct net *net, int type, int protocol, int kern)", source="net/unix/af_unix.c"
)
def unix_create(k: NetKernel, net: int, type_: int, protocol: int, kern: int) -> int:
    """A new socket; EPROTONOSUPPORT, ESOCKTNOSUPPORT."""
    if protocol not in (0, AF_UNIX):
        return -EPROTONOSUPPORT
    if type_ == 3:  # SOCK_RAW: "believe it or not, BSD has AF_UNIX, SOCK_RAW though nothing uses it"
        type_ = SOCK_DGRAM
    if type_ not in _OPS:
        return -ESOCKTNOSUPPORT
    return int(Socket(k, AF_UNIX, type_, _OPS[type_], UnixSock(k, k.net.spaces[net], type_)).addr)


def unix_poll(k: NetKernel, sk: UnixSock, queues: list[WaitQueue] | None) -> int:
    """unix_poll(), unix_dgram_poll()."""
    if queues is not None:
        queues.append(sk.wq)
        if sk.peer is not None:
            queues.append(sk.peer.wq)
    mask = POLLERR if sk.err else 0
    if sk.shutdown == SHUTDOWN_MASK:
        mask |= POLLHUP
    if sk.shutdown & RCV_SHUTDOWN:
        mask |= POLLRDHUP | POLLIN | POLLRDNORM
    if sk.parcels or sk.pending or sk.judged:
        mask |= POLLIN | POLLRDNORM
    if sk.oob is not None:
        mask |= POLLPRI
    if sk.type != SOCK_DGRAM and sk.state == TCP_CLOSE:
        mask |= POLLHUP
    full = sk.type != SOCK_STREAM and sk.peer is not None and sk.peer.refuses(sk)
    if sk.writable and not full:
        mask |= POLLOUT | POLLWRNORM | POLLWRBAND
    return mask


def readable_bytes(sk: UnixSock) -> int:
    """SIOCINQ: of what is connected everything, of datagrams the first."""
    if sk.type != SOCK_DGRAM:
        return sk.queued
    return len(sk.parcels[0].data) if sk.parcels else 0


def may_send(k: NetKernel, sk: UnixSock, other: UnixSock) -> None:
    """security_unix_may_send() of datagrams.  KernelError."""
    if sk.type == SOCK_DGRAM and sk.socket is not None:
        ask(k, "unix_may_send", sk.socket.addr, other.socket.addr if other.socket is not None else 0)
