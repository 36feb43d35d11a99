"""AF_UNIX: stream, datagram and seqpacket sockets between tasks of one machine.  net/unix/af_unix.c, net/unix/garbage.c.

A bound path is an inode of kind socket, found again by that inode; an abstract name is a key of its own.  What is sent
lies in the receiver's queue as `Parcel`s (bytes, the sender's name, passed files); sending blocks while the receiver has
more than its buffer holds.  No sk_buff is made: network tracepoints do not see these sockets.
"""

from __future__ import annotations

from typing import Any

from arch.abi.errno import (
    EADDRINUSE,
    EAFNOSUPPORT,
    EAGAIN,
    ECONNREFUSED,
    ECONNRESET,
    EINVAL,
    EISCONN,
    EMSGSIZE,
    ENOTCONN,
    EOPNOTSUPP,
    EPIPE,
    EPROTONOSUPPORT,
    EPROTOTYPE,
    ESOCKTNOSUPPORT,
)
from arch.abi.fcntl import AT_FDCWD, O_NONBLOCK
from arch.abi.inet import TCP_CLOSE, TCP_ESTABLISHED, TCP_LISTEN
from arch.abi.poll import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDHUP, POLLRDNORM, POLLWRNORM
from arch.abi.socket import (
    AF_UNIX,
    MSG_CMSG_CLOEXEC,
    MSG_CTRUNC,
    MSG_DONTWAIT,
    MSG_PEEK,
    MSG_TRUNC,
    SCM_RIGHTS,
    SOCK_CLOEXEC,
    SOCK_DGRAM,
    SOCK_NONBLOCK,
    SOCK_SEQPACKET,
    SOCK_STREAM,
    SOL_SOCKET,
    UNIX_PATH_MAX,
)
from arch.abi.stat import S_IFMT, S_IFSOCK
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.inode import File, Inode, inode_permission, to_str
from simkernel.fs.namei import lookup_create
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.net.sock import Sock
from simkernel.net.socket import ProtoOps, Socket, new_socket_fd
from simkernel.net.state import RCV_SHUTDOWN, SEND_SHUTDOWN, SHUTDOWN_MASK

MAX_DGRAM_QLEN = 10  # net.unix.max_dgram_qlen
SCM_MAX_FD = 253
AUTOBIND_NAMES = 0x100000

UNIX_STREAM = ProtoOps("unix_stream_ops", "unix_stream_sendmsg", "unix_stream_recvmsg")
UNIX_DGRAM = ProtoOps("unix_dgram_ops", "unix_dgram_sendmsg", "unix_dgram_recvmsg")
UNIX_SEQPACKET = ProtoOps("unix_seqpacket_ops", "unix_dgram_sendmsg", "unix_dgram_recvmsg")
_OPS = {SOCK_STREAM: UNIX_STREAM, SOCK_DGRAM: UNIX_DGRAM, SOCK_SEQPACKET: UNIX_SEQPACKET}


class Parcel:
    """What one send brought: bytes, who sent it, and files that travel with its first byte."""

    __slots__ = ("data", "files", "source")

    def __init__(self, data: bytes, source: bytes, files: list[File]) -> None:
        self.data = data
        self.source = source
        self.files = files


class UnixSock(Sock):
    """struct unix_sock."""

    def __init__(self, k: Any, type_: int) -> None:
        super().__init__(k, AF_UNIX, type_, 0)
        self.name = b""  # sun_path: a path with its NUL, or an abstract name that begins with NUL
        self.inode: Inode | None = None
        self.peer: UnixSock | None = None
        self.parcels: list[Parcel] = []
        self.queued = 0  # bytes in parcels
        self.pending: list[UnixSock] = []  # connections waiting for accept()
        self.peer_pid = 0

    @property
    def address(self) -> bytes:
        """struct sockaddr_un."""
        return AF_UNIX.to_bytes(2, self.k.mem.byteorder) + self.name

    def set_state(self, state: int) -> None:
        """sk_state, in both places."""
        self.state = state
        self.view["__sk_common"].skc_state = state

    def has_room(self, size: int) -> bool:
        """May a sender add `size` bytes?"""
        if self.type == SOCK_STREAM:
            return self.queued < self.rcvbuf
        return len(self.parcels) <= MAX_DGRAM_QLEN and (not self.parcels or self.queued + size <= self.rcvbuf)

    def put(self, parcel: Parcel) -> None:
        """Queue and wake the reader."""
        self.parcels.append(parcel)
        self.queued += len(parcel.data)
        self.k.wake_up(self.wq)


def unix_sock(k: Any, socket: int) -> UnixSock:
    """The UnixSock of a struct socket."""
    sk = k.net.sockets[socket].sk
    assert isinstance(sk, UnixSock)
    return sk


def table(k: Any) -> dict[Any, UnixSock]:
    """Bound sockets by name: inode, or abstract bytes."""
    found: dict[Any, UnixSock] = k.net.__dict__.setdefault("unix", {})
    return found


# --- making, binding ---


@kernel_function(
    "struct socket *unix_create(struct net *net, int type, int protocol, int kern)", source="net/unix/af_unix.c"
)
def unix_create(k: Any, net: int, type_: int, protocol: int, kern: int) -> int:
    """A new socket; EPROTONOSUPPORT, ESOCKTNOSUPPORT."""
    if protocol not in (0, AF_UNIX):
        return -EPROTONOSUPPORT
    if type_ == 3:  # SOCK_RAW: "believe it or not, BSD has AF_UNIX, SOCK_RAW though nothing uses it"
        type_ = SOCK_DGRAM
    if type_ not in _OPS:
        return -ESOCKTNOSUPPORT
    return int(Socket(k, AF_UNIX, type_, _OPS[type_], UnixSock(k, type_)).addr)


def parse_address(k: Any, raw: bytes) -> bytes:
    """unix_validate_addr(): sun_path as it identifies the socket."""
    if len(raw) <= 2 or len(raw) > 2 + UNIX_PATH_MAX:
        raise KernelError(EINVAL, "length of the address")
    if int.from_bytes(raw[:2], k.mem.byteorder) != AF_UNIX:
        raise KernelError(EINVAL, "address family")
    path = raw[2:]
    return path if path[0] == 0 else path.split(b"\0")[0] + b"\0"


@kernel_function(
    "int unix_bind(struct socket *sock, struct sockaddr *uaddr, int addr_len)", source="net/unix/af_unix.c"
)
def unix_bind(k: Any, sock: int, uaddr: int, addr_len: int) -> int:
    """Give it a name: an inode of the file system, or an abstract one; EADDRINUSE, EINVAL when it has one."""
    sk = unix_sock(k, sock)
    raw = bytes(k.mem.read(uaddr, max(addr_len, 0)))
    if addr_len == 2 and int.from_bytes(raw, k.mem.byteorder) == AF_UNIX:
        autobind(k, sk)
        return 0
    name = parse_address(k, raw)
    if name[0] == 0:
        if sk.name:
            return -EINVAL
        if name in table(k):
            return -EADDRINUSE
        table(k)[name] = sk
    else:
        inode = _make_inode(k, to_str(name[:-1]), bool(sk.name))
        if sk.name:
            return -EINVAL
        sk.inode = inode
        table(k)[inode] = sk
    sk.name = name
    return 0


def _make_inode(k: Any, path: str, only_check: bool) -> Inode:
    vfs = k.vfs
    nd = vfs.nameidata(AT_FDCWD, path)
    try:
        parent = lookup_create(nd, path, False)
    except KernelError as error:
        raise KernelError(EADDRINUSE if error.errno == 17 else error.errno, str(error)) from None
    inode_permission(parent.inode, c.MAY_WRITE | c.MAY_EXEC, nd.cred)
    if only_check:
        return parent.inode
    made = parent.inode.mknod(parent, nd.last, S_IFSOCK | 0o777 & ~k.current.fs.umask, 0, nd.cred)
    inode: Inode = made.inode
    return inode


def autobind(k: Any, sk: UnixSock) -> None:
    """unix_autobind(): an abstract name of five hexadecimal digits, the first that is free."""
    if sk.name:
        return
    names = table(k)
    for number in range(AUTOBIND_NAMES):
        name = b"\0%05x" % number
        if name not in names:
            sk.name = name
            names[name] = sk
            return
    raise KernelError(EADDRINUSE, "no abstract name is free")


def find_other(k: Any, name: bytes, type_: int) -> UnixSock:
    """unix_find_other(): ECONNREFUSED, EPROTOTYPE, and what the path walk says."""
    if name[0] == 0:
        found = table(k).get(name)
    else:
        path = k.vfs.user_path(AT_FDCWD, to_str(name[:-1]))
        inode = path.dentry.inode
        inode_permission(inode, c.MAY_WRITE, k.vfs.cred())
        if inode.i_mode & S_IFMT != S_IFSOCK:
            raise KernelError(ECONNREFUSED, "not a socket")
        found = table(k).get(inode)
    if found is None:
        raise KernelError(ECONNREFUSED, "nobody is bound there")
    if found.type != type_:
        raise KernelError(EPROTOTYPE, "another type of socket")
    return found


# --- connecting ---


@kernel_function("int unix_listen(struct socket *sock, int backlog)", source="net/unix/af_unix.c")
def unix_listen(k: Any, sock: int, backlog: int) -> int:
    """EINVAL without a name, EOPNOTSUPP for datagrams."""
    sk = unix_sock(k, sock)
    if sk.type == SOCK_DGRAM:
        return -EOPNOTSUPP
    if not sk.name or sk.state not in (TCP_CLOSE, TCP_LISTEN):
        return -EINVAL
    sk.backlog = backlog
    sk.view.sk_max_ack_backlog = backlog
    sk.peer_pid = k.current.tgid
    sk.set_state(TCP_LISTEN)
    return 0


@kernel_function(
    "int unix_stream_connect(struct socket *sock, struct sockaddr *uaddr, int addr_len, int flags)",
    source="net/unix/af_unix.c",
)
def unix_stream_connect(k: Any, sock: int, uaddr: int, addr_len: int, flags: int) -> Any:
    """Queue a connection at the listener; waits while its backlog is full."""
    sk = unix_sock(k, sock)
    name = parse_address(k, bytes(k.mem.read(uaddr, max(addr_len, 0))))
    while True:
        other = find_other(k, name, sk.type)
        if other.state != TCP_LISTEN or other.shutdown & RCV_SHUTDOWN:
            return -ECONNREFUSED
        if sk.state != TCP_CLOSE:
            return -EISCONN if sk.state == TCP_ESTABLISHED else -EINVAL
        if len(other.pending) <= other.backlog:
            break
        if flags & O_NONBLOCK:
            return -EAGAIN
        ret = yield k.wait(other.wq)
        if ret < 0:
            return ret
    server = UnixSock(k, sk.type)
    server.name = other.name
    join(sk, server)
    sk.peer_pid, server.peer_pid = other.peer_pid, k.current.tgid
    other.pending.append(server)
    yield k.wake(other.wq)
    return 0


def join(one: UnixSock, two: UnixSock) -> None:
    """Make two socks each other's peer."""
    one.peer, two.peer = two, one
    for sk in (one, two):
        sk.set_state(TCP_ESTABLISHED)


@kernel_function(
    "int unix_dgram_connect(struct socket *sock, struct sockaddr *addr, int alen, int flags)",
    source="net/unix/af_unix.c",
)
def unix_dgram_connect(k: Any, sock: int, addr: int, alen: int, flags: int) -> int:
    """Remember where datagrams go; AF_UNSPEC forgets it."""
    sk = unix_sock(k, sock)
    raw = bytes(k.mem.read(addr, max(alen, 0)))
    if len(raw) < 2:
        return -EINVAL
    if int.from_bytes(raw[:2], k.mem.byteorder) == 0:
        sk.peer = None
        sk.set_state(TCP_CLOSE)
        return 0
    sk.peer = find_other(k, parse_address(k, raw), sk.type)
    sk.set_state(TCP_ESTABLISHED)
    return 0


@kernel_function(
    "int unix_accept(struct socket *sock, struct socket *newsock, int flags, bool kern)", source="net/unix/af_unix.c"
)
def unix_accept(k: Any, sock: int, newsock: int, flags: int, kern: int) -> Any:
    """Wait for a connection; 0 when one is there."""
    sk = unix_sock(k, sock)
    if sk.type == SOCK_DGRAM:
        return -EOPNOTSUPP
    if sk.state != TCP_LISTEN:
        return -EINVAL
    while not sk.pending:
        if sk.shutdown & RCV_SHUTDOWN:
            return -EINVAL
        if flags & O_NONBLOCK:
            return -EAGAIN
        ret = yield k.wait(sk.wq, exclusive=True)
        if ret < 0:
            return ret
    return 0


def accept(k: Any, listener: Socket, flags: int) -> Any:
    """accept4(2) of a unix socket: (descriptor or -errno, the peer's address)."""
    ret = yield k.call("unix_accept", listener.addr, 0, listener.file.flags, 0)
    if ret < 0:
        return ret, b""
    sk = listener.sk
    assert isinstance(sk, UnixSock)
    child = sk.pending.pop(0)
    k.wake_up(sk.wq, 0)
    fd = new_socket_fd(k, Socket(k, AF_UNIX, child.type, _OPS[child.type], child), flags)
    return fd, child.peer.address if child.peer is not None else AF_UNIX.to_bytes(2, k.mem.byteorder)


@syscall("socketpair", "int family, int type, int protocol, int *usockvec", source="net/socket.c")
def socketpair(k: Any, family: int, type_: int, protocol: int, usockvec: int) -> Any:
    """Two sockets connected to each other."""
    flags = type_ & ~0xF
    if flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK):
        return -EINVAL
    if family != AF_UNIX:
        return -EOPNOTSUPP if family in (2, 10, 16, 17) else -EAFNOSUPPORT
    ends = []
    for _ in range(2):
        address = yield k.call("unix_create", k.net.init_net, type_ & 0xF, protocol, 0)
        if k.is_err(address):
            return k.ptr_err(address)
        ends.append(k.net.sockets[address])
    yield k.call("unix_socketpair", ends[0].addr, ends[1].addr)
    first, second = (new_socket_fd(k, end, flags) for end in ends)
    order = k.mem.byteorder
    try:
        k.copy_to_user(usockvec, first.to_bytes(4, order) + second.to_bytes(4, order))
    except KernelError:
        for fd in (first, second):
            yield k.call("filp_close", k.current.files.remove(fd).addr, k.current.files.addr)
        raise
    return 0


@kernel_function("int unix_socketpair(struct socket *socka, struct socket *sockb)", source="net/unix/af_unix.c")
def unix_socketpair(k: Any, socka: int, sockb: int) -> int:
    """Connect two new sockets."""
    one, two = unix_sock(k, socka), unix_sock(k, sockb)
    join(one, two)
    one.peer_pid = two.peer_pid = k.current.tgid
    return 0


# --- sending ---


def _send_refusal(sk: UnixSock, peer: UnixSock | None) -> int:
    """Why a connected sender cannot send."""
    if peer is None or sk.shutdown & SEND_SHUTDOWN or peer.dead or peer.shutdown & RCV_SHUTDOWN:
        return -EPIPE
    return 0


@kernel_function(
    "int unix_stream_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)", source="net/unix/af_unix.c"
)
def unix_stream_sendmsg(k: Any, sock: int, msg: int, length: int) -> Any:
    """Everything, in pieces that fit the peer's buffer; EPIPE, ENOTCONN, EISCONN with an address."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    if message.name:
        return -EISCONN if sk.state == TCP_ESTABLISHED else -EOPNOTSUPP
    peer = sk.peer
    if peer is None:
        return -ENOTCONN
    files = take_files(k, message)
    done = 0
    while done < length or not length:
        refusal = _send_refusal(sk, peer)
        if refusal:
            drop_files(k, files)
            return done or refusal
        if not peer.has_room(1):
            if message.flags & MSG_DONTWAIT:
                drop_files(k, files)
                return done or -EAGAIN
            ret = yield k.wait(peer.wq)
            if ret < 0:
                drop_files(k, files)
                return done or ret
            continue
        step = min(length - done, peer.rcvbuf - peer.queued)
        if step or files:
            peer.put(Parcel(message.data[done : done + step], sk.address, files))
            files = []
        done += step
        if not length:
            break
    return done


@kernel_function(
    "int unix_dgram_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)", source="net/unix/af_unix.c"
)
def unix_dgram_sendmsg(k: Any, sock: int, msg: int, length: int) -> Any:
    """One datagram to the peer or to a name; EMSGSIZE, ENOTCONN, ECONNREFUSED."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    if length > sk.sndbuf - 32:
        return -EMSGSIZE
    if sk.type == SOCK_SEQPACKET and sk.state != TCP_ESTABLISHED:
        return -ENOTCONN
    files = take_files(k, message)
    while True:
        named = bool(message.name) and sk.type == SOCK_DGRAM
        peer = find_other(k, parse_address(k, message.name), SOCK_DGRAM) if named else sk.peer
        refusal = 0
        if peer is None:
            refusal = -ENOTCONN
        elif sk.shutdown & SEND_SHUTDOWN or peer.shutdown & RCV_SHUTDOWN:
            refusal = -EPIPE
        elif peer.dead:
            refusal = -ECONNREFUSED if sk.type == SOCK_DGRAM else -EPIPE
            sk.peer = None if sk.type == SOCK_DGRAM else sk.peer
        elif peer.peer not in (None, sk) and sk.type == SOCK_DGRAM:
            refusal = -1  # EPERM: it talks to someone else
        if refusal:
            drop_files(k, files)
            return refusal
        assert peer is not None
        if peer.has_room(length):
            peer.put(Parcel(message.data, sk.address, files))
            return length
        if message.flags & MSG_DONTWAIT:
            drop_files(k, files)
            return -EAGAIN
        ret = yield k.wait(peer.wq)
        if ret < 0:
            drop_files(k, files)
            return ret


# --- receiving ---


def _wait_parcel(k: Any, sk: UnixSock, flags: int) -> Any:
    """The first parcel, 0 at the end, or -errno (`yield from`)."""
    while not sk.parcels:
        if sk.err:
            return -sk.take_error()
        if sk.shutdown & RCV_SHUTDOWN:
            return 0
        if flags & MSG_DONTWAIT:
            return -EAGAIN
        ret = yield k.wait(sk.wq, exclusive=True)
        if ret < 0:
            return ret
    return sk.parcels[0]


def _taken(sk: UnixSock, size: int) -> None:
    sk.queued -= size
    sk.k.wake_up(sk.wq, 0)


@kernel_function(
    "int unix_stream_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)",
    source="net/unix/af_unix.c",
)
def unix_stream_recvmsg(k: Any, sock: int, msg: int, size: int, flags: int) -> Any:
    """Bytes as they come; parcels with files are not joined with what is before them."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    if sk.state != TCP_ESTABLISHED:
        return -EINVAL
    first = yield from _wait_parcel(k, sk, flags | message.flags)
    if not isinstance(first, Parcel):
        return first
    out = bytearray()
    index = 0
    while index < len(sk.parcels) and len(out) < size:
        parcel = sk.parcels[index]
        if parcel.files and out:
            break
        room = size - len(out)
        out += parcel.data[:room]
        if flags & MSG_PEEK:
            index += 1
            continue
        if parcel.files:
            give_files(k, message, parcel, flags)
        if room >= len(parcel.data):
            sk.parcels.pop(0)
        else:
            parcel.data = parcel.data[room:]
    message.scatter(bytes(out))
    if not flags & MSG_PEEK:
        _taken(sk, len(out))
    return len(out)


@kernel_function(
    "int unix_dgram_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)",
    source="net/unix/af_unix.c",
)
def unix_dgram_recvmsg(k: Any, sock: int, msg: int, size: int, flags: int) -> Any:
    """One datagram; what does not fit is lost."""
    sk, message = unix_sock(k, sock), k.net.messages[msg]
    if sk.type == SOCK_SEQPACKET and sk.state != TCP_ESTABLISHED:
        return -ENOTCONN
    parcel = yield from _wait_parcel(k, sk, flags | message.flags)
    if not isinstance(parcel, Parcel):
        return parcel
    if not flags & MSG_PEEK:
        sk.parcels.pop(0)
        _taken(sk, len(parcel.data))
        give_files(k, message, parcel, flags)
    message.source = parcel.source if len(parcel.source) > 2 else b""
    if len(parcel.data) > size:
        message.out_flags |= MSG_TRUNC
    message.scatter(parcel.data[:size])
    return len(parcel.data) if flags & MSG_TRUNC else min(size, len(parcel.data))


# --- passed descriptors: SCM_RIGHTS ---


def take_files(k: Any, message: Any) -> list[File]:
    """scm_fp_copy(): the files named in the control message, each with a reference."""
    control: bytes = getattr(message, "control", b"")
    word = k.arch.model.word
    order = k.mem.byteorder
    head = word + 8
    files: list[File] = []
    at = 0
    while at + head <= len(control):
        length = int.from_bytes(control[at : at + word], order)
        level = int.from_bytes(control[at + word : at + word + 4], order)
        kind = int.from_bytes(control[at + word + 4 : at + word + 8], order)
        if length < head or at + length > len(control):
            raise KernelError(EINVAL, "control message length")
        if level == SOL_SOCKET and kind == SCM_RIGHTS:
            data = control[at + head : at + length]
            fds = [int.from_bytes(data[i : i + 4], order, signed=True) for i in range(0, len(data) & ~3, 4)]
            if len(fds) > SCM_MAX_FD:
                raise KernelError(EINVAL, "too many descriptors")
            files += [k.vfs.file_of(k, k.current, fd) for fd in fds]
        at += (length + word - 1) & -word
    return [file.get() for file in files]


def drop_files(k: Any, files: list[File]) -> None:
    """Files that nobody received."""
    for file in files:
        k.vfs.put_file(file)


def give_files(k: Any, message: Any, parcel: Parcel, flags: int) -> None:
    """scm_detach_fds(): install what fits into the control buffer; the rest is closed and MSG_CTRUNC says so."""
    files, parcel.files = parcel.files, []
    if not files:
        return
    word = k.arch.model.word
    head = word + 8
    room = max(0, getattr(message, "control_room", 0) - head) // 4
    fds = []
    for file in files[:room]:
        fd = k.current.files.get_unused_fd(bool(flags & MSG_CMSG_CLOEXEC))
        k.current.files.install(fd, file)
        fds.append(fd)
    if len(files) > len(fds):
        message.out_flags |= MSG_CTRUNC
        drop_files(k, files[len(fds) :])
    if fds:
        order = k.mem.byteorder
        body = b"".join(fd.to_bytes(4, order) for fd in fds)
        head_bytes = (
            (head + len(body)).to_bytes(word, order) + SOL_SOCKET.to_bytes(4, order) + SCM_RIGHTS.to_bytes(4, order)
        )
        message.control_out = (head_bytes + body).ljust((head + len(body) + word - 1) & -word, b"\0")
        message.control_out = message.control_out[: message.control_room]


# --- the rest ---


@kernel_function("int unix_shutdown(struct socket *sock, int mode)", source="net/unix/af_unix.c")
def unix_shutdown(k: Any, sock: int, mode: int) -> int:
    """Close one or both directions, and the peer's other ones."""
    if not 0 <= mode <= 2:
        return -EINVAL
    sk = unix_sock(k, sock)
    bits = mode + 1
    sk.set_shutdown(bits)
    peer = sk.peer
    if peer is not None and sk.type != SOCK_DGRAM:
        peer.set_shutdown((SEND_SHUTDOWN if bits & RCV_SHUTDOWN else 0) | (RCV_SHUTDOWN if bits & SEND_SHUTDOWN else 0))
        k.wake_up(peer.wq, 0)
    k.wake_up(sk.wq, 0)
    return 0


def close_sock(k: Any, sk: UnixSock) -> None:
    """unix_release_sock()."""
    sk.dead = True
    sk.socket = None
    key: Any = sk.inode if sk.inode is not None else sk.name
    if table(k).get(key) is sk:
        del table(k)[key]
    unread = bool(sk.parcels)
    for parcel in sk.parcels:
        drop_files(k, parcel.files)
    sk.parcels.clear()
    for child in sk.pending:
        close_sock(k, child)
    sk.pending.clear()
    peer = sk.peer
    if peer is not None and sk.type != SOCK_DGRAM and peer.peer is sk:
        peer.set_shutdown(SHUTDOWN_MASK)
        if unread or sk.state == TCP_LISTEN or sk.k.net.socks.get(sk.addr) is not sk:
            peer.err = ECONNRESET
    if peer is not None:
        k.wake_up(peer.wq, 0)
    sk.peer = None
    sk.set_state(TCP_CLOSE)
    k.wake_up(sk.wq, 0)
    sk.free()


@kernel_function("int unix_release(struct socket *sock)", source="net/unix/af_unix.c")
def unix_release(k: Any, sock: int) -> int:
    """The last descriptor is gone: tell the peer, forget the name, close what was passed and not received."""
    close_sock(k, unix_sock(k, sock))
    return 0


def poll(k: Any, sk: UnixSock, queues: list[Any] | None) -> int:
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
    if sk.parcels or sk.pending:
        mask |= POLLIN | POLLRDNORM
    if sk.type != SOCK_DGRAM and sk.state == TCP_CLOSE:
        mask |= POLLHUP
    if sk.state != TCP_LISTEN and (sk.peer is None or sk.peer.has_room(1)):
        mask |= POLLOUT | POLLWRNORM
    return mask


def readable_bytes(sk: UnixSock) -> int:
    """SIOCINQ: of a stream everything, of datagrams the first."""
    if sk.type == SOCK_STREAM:
        return sk.queued
    return len(sk.parcels[0].data) if sk.parcels else 0
