"""Unix sockets: connecting and parting.  net/unix/af_unix.c."""

from __future__ import annotations

from arch.abi.errno import EAGAIN, ECONNREFUSED, ECONNRESET, EINVAL, EISCONN, EOPNOTSUPP, EPERM
from arch.abi.fcntl import O_NONBLOCK
from arch.abi.inet import TCP_CLOSE, TCP_ESTABLISHED, TCP_LISTEN
from arch.abi.socket import AF_UNIX, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_NONBLOCK
from arch.errors import KernelError
from bpf import uapi
from simkernel.fs.fdtable import files_of
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.security import ask, may
from simkernel.net.core.sock import RCV_SHUTDOWN, SEND_SHUTDOWN, SHUTDOWN_MASK, Socket, sleep, until
from simkernel.net.face import NetKernel, current_net
from simkernel.net.files import sock_map_fd
from simkernel.net.unix.garbage import drop_parcel
from simkernel.net.unix.names import find_other, parse_address, shown_name
from simkernel.net.unix.rights import current_cred
from simkernel.net.unix.sock import _OPS, UnixSock, may_send, unix_sock


@kernel_function("int unix_listen(struct socket *sock, int backlog)", source="net/unix/af_unix.c")
def unix_listen(k: NetKernel, sock: int, backlog: int) -> int:
    """EINVAL without a name, EOPNOTSUPP for datagrams."""
    sk = unix_sock(k, sock)
    if sk.type == SOCK_DGRAM:
        return -EOPNOTSUPP
    if not sk.name or sk.state not in (TCP_CLOSE, TCP_LISTEN):
        return -EINVAL
    sk.backlog = backlog
    sk.view.sk_max_ack_backlog = backlog
    sk.peer_cred, sk.peer_groups = current_cred(k), list(k.current.cred.groups)
    sk.set_state(TCP_LISTEN)
    return 0


@kernel_function(
    "int unix_stream_connect(struct socket *sock, struct sockaddr *uaddr, int addr_len, int flags)",
    source="net/unix/af_unix.c",
)
def unix_stream_connect(k: NetKernel, sock: int, uaddr: int, addr_len: int, flags: int) -> Body:
    """Queue a connection at the listener; waits while its backlog is full."""
    sk = unix_sock(k, sock)
    raw = bytes(k.mem.read(uaddr, max(addr_len, 0)))
    parse_address(k, raw)
    refused, raw, _ = k.net.programs.sock_addr(sk, raw, uapi.BPF_CGROUP_UNIX_CONNECT)
    if refused:
        return refused
    name = parse_address(k, raw)
    end = until(sk, sending=True)
    while True:
        other = find_other(k, sk.net, name, sk.type)
        if other.state != TCP_LISTEN or other.shutdown & RCV_SHUTDOWN:
            return -ECONNREFUSED
        if len(other.pending) <= other.backlog:
            break
        if flags & O_NONBLOCK:
            return -EAGAIN
        ret = yield from sleep(k, other.wq, end)
        if ret < 0:
            return ret
    if sk.state != TCP_CLOSE:
        return -EISCONN if sk.state == TCP_ESTABLISHED else -EINVAL
    server = UnixSock(k, other.net, sk.type)
    ask(k, "unix_stream_connect", sk.addr, other.addr, server.addr)
    server.name = other.name
    join(sk, server)
    sk.peer_cred, server.peer_cred = other.peer_cred, current_cred(k)
    sk.peer_groups, server.peer_groups = other.peer_groups, list(k.current.cred.groups)
    server.options.update(other.options)
    other.pending.append(server)
    k.trace("sk_data_ready", other.addr)
    yield k.wake(other.wq)
    return 0


def join(one: UnixSock, two: UnixSock) -> None:
    """Make two socks each other's peer."""
    one.peer, two.peer = two, one
    for sk in (one, two):
        sk.set_state(TCP_ESTABLISHED)
        if sk.socket is not None:
            sk.socket.connected()


@kernel_function(
    "int unix_dgram_connect(struct socket *sock, struct sockaddr *addr, int alen, int flags)",
    source="net/unix/af_unix.c",
)
def unix_dgram_connect(k: NetKernel, sock: int, addr: int, alen: int, flags: int) -> Body:
    """Remember where datagrams go; AF_UNSPEC forgets it.  EPERM where someone else is listened to."""
    sk = unix_sock(k, sock)
    raw = bytes(k.mem.read(addr, max(alen, 0)))
    if len(raw) < 2:
        return -EINVAL
    if int.from_bytes(raw[:2], k.mem.byteorder) == 0:
        before, sk.peer = sk.peer, None
        sk.set_state(TCP_CLOSE)
        yield from _disconnected(k, sk, before)
        return 0
    parse_address(k, raw)
    refused, raw, _ = k.net.programs.sock_addr(sk, raw, uapi.BPF_CGROUP_UNIX_CONNECT)
    if refused:
        return refused
    found = find_other(k, sk.net, parse_address(k, raw), sk.type)
    if found.peer not in (None, sk):
        return -EPERM
    may_send(k, sk, found)
    before, sk.peer = sk.peer, found
    if before is not found:
        yield from _disconnected(k, sk, before)
    sk.set_state(TCP_ESTABLISHED)
    return 0


def _disconnected(k: NetKernel, sk: UnixSock, before: UnixSock | None) -> Steps[None]:
    """unix_dgram_disconnected(): what the one before had sent is lost, and it learns of that."""
    if before is None or not sk.parcels:
        return
    while sk.parcels:
        parcel = sk.parcels.popleft()
        sk.queued -= len(parcel.data)
        yield from drop_parcel(k, parcel)
    k.wake_up(sk.wq, 0)
    if not before.dead and before.peer is sk:
        before.err = ECONNRESET


@kernel_function(
    "int unix_accept(struct socket *sock, struct socket *newsock, int flags, bool kern)", source="net/unix/af_unix.c"
)
def unix_accept(k: NetKernel, sock: int, newsock: int, flags: int, kern: int) -> Body:
    """Wait for a connection; 0 when one is there."""
    sk = unix_sock(k, sock)
    if sk.type == SOCK_DGRAM:
        return -EOPNOTSUPP
    if sk.state != TCP_LISTEN:
        return -EINVAL
    end = until(sk)
    while not sk.pending:
        if sk.shutdown & RCV_SHUTDOWN:
            return -EINVAL
        if flags & O_NONBLOCK:
            return -EAGAIN
        ret = yield from sleep(k, sk.wq, end, exclusive=True)
        if ret < 0:
            return ret
    return 0


def accept_connection(k: NetKernel, listener: Socket, flags: int) -> Steps[tuple[int, bytes]]:
    """accept4(2) of a unix socket: (descriptor or -errno, the peer's address)."""
    ret = yield k.call("unix_accept", listener.addr, 0, listener.flags, 0)
    if ret < 0:
        return ret, b""
    sk = listener.sk
    assert isinstance(sk, UnixSock)
    child = sk.pending.pop(0)
    k.wake_up(sk.wq, 0)
    made = Socket(k, AF_UNIX, child.type, _OPS[child.type], child)
    made.connected()
    ask(k, "sock_graft", child.addr, made.addr)
    fd = yield from sock_map_fd(k, made, flags)
    if child.peer is None:
        return fd, AF_UNIX.to_bytes(2, k.mem.byteorder)
    return fd, shown_name(k, child, child.peer, uapi.BPF_CGROUP_UNIX_GETPEERNAME)


@syscall("socketpair", "int family, int type, int protocol, int *usockvec", source="net/socket.c")
def socketpair(k: NetKernel, family: int, type_: int, protocol: int, usockvec: int) -> Body:
    """Two sockets connected to each other."""
    flags = type_ & ~0xF
    if flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK):
        return -EINVAL
    k.usercopy.copy_to_user(usockvec, k.usercopy.copy_from_user(usockvec, 8))  # the numbers are written before all else
    ends: list[Socket] = []
    for _ in range(2):
        address = yield k.call("__sock_create", current_net(k).addr, family, type_ & 0xF, protocol, 0, 0)
        if k.regs.is_err(address):
            for end in ends:
                yield k.call("__sock_release", end.addr, 0)
            return k.regs.ptr_err(address)
        ends.append(k.net.sockets[address])
    refused = yield from may(k, "security_socket_socketpair", ends[0].addr, ends[1].addr)
    if not refused and family != AF_UNIX:
        refused = -EOPNOTSUPP
    if refused:
        for end in ends:
            yield k.call("__sock_release", end.addr, 0)
        return refused
    yield k.call("unix_socketpair", ends[0].addr, ends[1].addr)
    files = files_of(k.current)
    try:
        first = yield from sock_map_fd(k, ends[0], flags)
    except KernelError:
        yield k.call("__sock_release", ends[1].addr, 0)
        raise
    try:
        second = yield from sock_map_fd(k, ends[1], flags)
    except KernelError:
        file = files.remove(first)
        if file is not None:
            yield k.call("filp_close", file.addr, files.addr)
        raise
    order = k.mem.byteorder
    try:
        k.usercopy.copy_to_user(usockvec, first.to_bytes(4, order) + second.to_bytes(4, order))
    except KernelError:
        for fd in (first, second):
            file = files_of(k.current).remove(fd)
            if file is not None:
                yield k.call("filp_close", file.addr, files_of(k.current).addr)
        raise
    return 0


@kernel_function("int unix_socketpair(struct socket *socka, struct socket *sockb)", source="net/unix/af_unix.c")
def unix_socketpair(k: NetKernel, socka: int, sockb: int) -> int:
    """Connect two new sockets."""
    one, two = unix_sock(k, socka), unix_sock(k, sockb)
    join(one, two)
    one.peer_cred = two.peer_cred = current_cred(k)
    one.peer_groups = two.peer_groups = list(k.current.cred.groups)
    return 0


@kernel_function("int unix_shutdown(struct socket *sock, int mode)", source="net/unix/af_unix.c")
def unix_shutdown(k: NetKernel, sock: int, mode: int) -> int:
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


def close_sock(k: NetKernel, sk: UnixSock) -> Steps[None]:
    """`yield from`: unix_release_sock()."""
    sk.dead = True
    sk.socket = None
    key: object = sk.inode if sk.inode is not None else (sk.net, sk.name, sk.type)
    if k.net.unix.get(key) is sk:
        del k.net.unix[key]
    unread = bool(sk.parcels)
    while sk.parcels:
        yield from drop_parcel(k, sk.parcels.popleft())
    while sk.pending:
        yield from close_sock(k, sk.pending.pop(0))
    peer = sk.peer
    if peer is not None and sk.type != SOCK_DGRAM and peer.peer is sk:
        peer.set_shutdown(SHUTDOWN_MASK)
        if unread or sk.state == TCP_LISTEN or k.net.socks.get(sk.addr) is not sk:
            peer.err = ECONNRESET
    if peer is not None:
        k.wake_up(peer.wq, 0)
    sk.peer = None
    sk.set_state(TCP_CLOSE)
    k.wake_up(sk.wq, 0)
    sk.free()


@kernel_function("int unix_release(struct socket *sock)", source="net/unix/af_unix.c")
def unix_release(k: NetKernel, sock: int) -> Body:
    """The last descriptor is gone: tell the peer, forget the name, close what was passed and not received."""
    yield from close_sock(k, unix_sock(k, sock))
    if k.net.tot_inflight:
        yield k.call("unix_gc")
    return 0
