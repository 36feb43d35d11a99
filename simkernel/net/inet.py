"""Socket system calls that set a socket up: socket, bind, listen, accept, connect, shutdown.  net/socket.c, net/ipv4/af_inet.c."""

from __future__ import annotations

from typing import Any

from arch.abi.capability import CAP_NET_RAW
from arch.abi.errno import (
    EADDRINUSE,
    EADDRNOTAVAIL,
    EAFNOSUPPORT,
    EINVAL,
    ENODEV,
    ENOTCONN,
    EOPNOTSUPP,
    EPERM,
    EPROTONOSUPPORT,
    ESOCKTNOSUPPORT,
)
from arch.abi.fcntl import O_NONBLOCK
from arch.abi.inet import INADDR_ANY, IPPROTO_IP, TCP_CLOSE, TCP_ESTABLISHED, TCP_LISTEN, TCP_SYN_SENT
from arch.abi.socket import (
    AF_INET,
    AF_PACKET,
    AF_UNIX,
    AF_UNSPEC,
    MSG_DONTWAIT,
    SHUT_RDWR,
    SOCK_CLOEXEC,
    SOCK_DGRAM,
    SOCK_NONBLOCK,
    SOCK_RAW,
    SOCK_STREAM,
    SOCKADDR_LL_SIZE,
)
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.net import tcp, unix
from simkernel.net.ipv4 import source_for
from simkernel.net.sock import Sock
from simkernel.net.socket import (
    INET_RAW,
    INET_STREAM,
    INETSW,
    PACKET,
    Socket,
    autobind,
    new_socket_fd,
    parse_sockaddr_in,
    read_address,
    sockaddr_in,
    socket_of,
    write_address,
)
from simkernel.net.state import RCV_SHUTDOWN


@syscall("socket", "int family, int type, int protocol", source="net/socket.c")
def socket(k: Any, family: int, type_: int, protocol: int) -> Any:
    """A new socket; EAFNOSUPPORT, ESOCKTNOSUPPORT, EPROTONOSUPPORT, EPERM, EINVAL."""
    return (yield k.call("__sys_socket", family, type_, protocol))


@kernel_function("int __sys_socket(int family, int type, int protocol)", source="net/socket.c", since="4.17")
def __sys_socket(k: Any, family: int, type_: int, protocol: int) -> Any:
    """Create by family, then the descriptor."""
    flags = type_ & ~0xF
    if flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK):
        return -EINVAL
    address = yield k.call("__sock_create", k.net.init_net, family, type_ & 0xF, protocol, 0, 0)
    if k.is_err(address):
        return k.ptr_err(address)
    return new_socket_fd(k, k.net.sockets[address], flags)


@kernel_function(
    "struct socket *__sock_create(struct net *net, int family, int type, int protocol, struct socket **res, int kern)",
    source="net/socket.c",
)
def __sock_create(k: Any, net: int, family: int, type_: int, protocol: int, res: int, kern: int) -> Any:
    """The families: IPv4, packet and unix."""
    if family == AF_UNIX:
        return (yield k.call("unix_create", net, type_, protocol, kern))
    if family == AF_INET:
        return (yield k.call("inet_create", net, type_, protocol, kern))
    if family == AF_PACKET:
        if not (yield k.call("ns_capable", k.vfs.init_user_ns, CAP_NET_RAW)):
            return -EPERM
        if type_ not in (SOCK_RAW, SOCK_DGRAM):
            return -ESOCKTNOSUPPORT
        sk = Sock(k, family, type_, protocol)
        if protocol:
            k.net.packet.append(sk)
        return Socket(k, family, type_, PACKET, sk).addr
    return -EAFNOSUPPORT


@kernel_function(
    "struct socket *inet_create(struct net *net, int type, int protocol, int kern)", source="net/ipv4/af_inet.c"
)
def inet_create(k: Any, net: int, type_: int, protocol: int, kern: int) -> Any:
    """Find the protocol in inetsw."""
    rows = [row for row in INETSW if row[0] == type_]
    if not rows:
        return -ESOCKTNOSUPPORT
    for _, known, ops in rows:
        wildcard = known == IPPROTO_IP
        if protocol in (known, IPPROTO_IP) or wildcard:
            if wildcard and protocol == IPPROTO_IP:
                return -EPROTONOSUPPORT
            if type_ == SOCK_RAW and not (yield k.call("ns_capable", k.vfs.init_user_ns, CAP_NET_RAW)):
                return -EPERM
            sk = Sock(k, AF_INET, type_, protocol or known)
            if ops is INET_RAW:
                k.net.raw.append(sk)
            return int(Socket(k, AF_INET, type_, ops, sk).addr)
    return -EPROTONOSUPPORT


@syscall("bind", "int fd, struct sockaddr *umyaddr, int addrlen", source="net/socket.c")
def bind(k: Any, fd: int, umyaddr: int, addrlen: int) -> Any:
    """Give a socket its local address."""
    socket_ = socket_of(k, fd)
    raw = read_address(k, umyaddr, addrlen)
    kernel_copy = k.mem.alloc(128)
    k.mem.write(kernel_copy, raw)
    try:
        name = {AF_INET: "inet_bind", AF_UNIX: "unix_bind"}.get(socket_.family, "packet_bind")
        return (yield k.call(name, socket_.addr, kernel_copy, addrlen))
    finally:
        k.mem.free(kernel_copy)


@kernel_function(
    "int inet_bind(struct socket *sock, struct sockaddr *uaddr, int addr_len)", source="net/ipv4/af_inet.c"
)
def inet_bind(k: Any, sock: int, uaddr: int, addr_len: int) -> Any:
    """EINVAL when bound already, EADDRNOTAVAIL for a foreign address, EADDRINUSE, EACCES below port 1024."""
    return (yield k.call("__inet_bind", k.net.sockets[sock].sk.addr, uaddr, addr_len, 0))


@kernel_function(
    "int __inet_bind(struct sock *sk, struct sockaddr *uaddr, int addr_len, u32 flags)",
    source="net/ipv4/af_inet.c",
    since="4.17",
)
def __inet_bind(k: Any, sk: int, uaddr: int, addr_len: int, flags: int) -> int:
    """The work of bind."""
    sock = k.net.socks[sk]
    address, port = parse_sockaddr_in(k, bytes(k.mem.read(uaddr, max(addr_len, 0))))
    if sock.lport:
        return -EINVAL
    if address != INADDR_ANY and address[0] != 127 and all(d.address != address for d in k.net.devices.values()):
        return -EADDRNOTAVAIL
    if sock.type != SOCK_RAW:
        table = k.net.tcp_bound if sock.type == SOCK_STREAM else k.net.udp
        port = port or k.net.ephemeral_port(table)
        reuse = sock.options.get((1, 2))
        for other in table.get(port, ()):
            clash = INADDR_ANY in (address, other.laddr) or address == other.laddr
            if clash and not (reuse and other.options.get((1, 2)) and other.state != TCP_LISTEN):
                return -EADDRINUSE
        sock.lport = port
        table.setdefault(port, []).append(sock)
    sock.laddr = address
    sock.sync_addresses()
    return 0


@kernel_function(
    "int packet_bind(struct socket *sock, struct sockaddr *uaddr, int addr_len)", source="net/packet/af_packet.c"
)
def packet_bind(k: Any, sock: int, uaddr: int, addr_len: int) -> int:
    """Listen on one interface, for one protocol."""
    sk = k.net.sockets[sock].sk
    if addr_len < SOCKADDR_LL_SIZE:
        return -EINVAL
    raw = k.mem.read(uaddr, SOCKADDR_LL_SIZE)
    index = int.from_bytes(raw[4:8], k.mem.byteorder)
    if index and index not in k.net.devices:
        return -ENODEV
    sk.bound_ifindex = index
    if sk not in k.net.packet:
        k.net.packet.append(sk)
    return 0


@syscall("listen", "int fd, int backlog", source="net/socket.c")
def listen(k: Any, fd: int, backlog: int) -> Any:
    """Wait for connections."""
    socket_ = socket_of(k, fd)
    if socket_.family == AF_UNIX:
        return (yield k.call("unix_listen", socket_.addr, min(backlog & 0xFFFFFFFF, 4096)))
    if socket_.ops is not INET_STREAM:
        return -EOPNOTSUPP
    return (yield k.call("inet_listen", socket_.addr, min(backlog & 0xFFFFFFFF, 4096)))


@kernel_function("int inet_listen(struct socket *sock, int backlog)", source="net/ipv4/af_inet.c")
def inet_listen(k: Any, sock: int, backlog: int) -> Any:
    """EINVAL unless the socket is unconnected."""
    sk = k.net.sockets[sock].sk
    if sk.state not in (TCP_CLOSE, TCP_LISTEN) or sk.rport:
        return -EINVAL
    sk.backlog = backlog
    sk.view.sk_max_ack_backlog = backlog
    if sk.state == TCP_CLOSE:
        if not sk.lport:
            sk.lport = k.net.ephemeral_port(k.net.tcp_bound)
            k.net.tcp_bound.setdefault(sk.lport, []).append(sk)
            sk.sync_addresses()
        yield k.call("tcp_set_state", sk.addr, TCP_LISTEN)
        k.net.tcp_listen.setdefault(sk.lport, []).append(sk)
    return 0


@syscall("accept", "int fd, struct sockaddr *upeer_sockaddr, int *upeer_addrlen", source="net/socket.c")
def accept(k: Any, fd: int, upeer_sockaddr: int, upeer_addrlen: int) -> Any:
    """The next connection."""
    return (yield k.call("__sys_accept4", fd, upeer_sockaddr, upeer_addrlen, 0))


@syscall("accept4", "int fd, struct sockaddr *upeer_sockaddr, int *upeer_addrlen, int flags", source="net/socket.c")
def accept4(k: Any, fd: int, upeer_sockaddr: int, upeer_addrlen: int, flags: int) -> Any:
    """The next connection, with flags for its descriptor."""
    return (yield k.call("__sys_accept4", fd, upeer_sockaddr, upeer_addrlen, flags))


@kernel_function(
    "int __sys_accept4(int fd, struct sockaddr *upeer_sockaddr, int *upeer_addrlen, int flags)",
    source="net/socket.c",
    since="4.17",
)
def __sys_accept4(k: Any, fd: int, upeer_sockaddr: int, upeer_addrlen: int, flags: int) -> Any:
    """Wait in inet_csk_accept, then make the new socket."""
    if flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK):
        return -EINVAL
    listener = socket_of(k, fd)
    if listener.family == AF_UNIX:
        new_fd, peer = yield from unix.accept(k, listener, flags)
        if new_fd >= 0:
            write_address(k, peer, upeer_sockaddr, upeer_addrlen)
        return new_fd
    if listener.ops is not INET_STREAM:
        return -EOPNOTSUPP
    if listener.sk.state != TCP_LISTEN:
        return -EINVAL
    nonblocking = MSG_DONTWAIT if listener.file.flags & O_NONBLOCK else 0
    child = yield k.call("inet_csk_accept", listener.sk.addr, nonblocking, 0, 0)
    if k.is_err(child):
        return k.ptr_err(child)
    sk = k.net.socks[child]
    connection = Socket(k, AF_INET, SOCK_STREAM, INET_STREAM, sk)
    new_fd = new_socket_fd(k, connection, flags)
    write_address(k, sockaddr_in(k, sk.raddr, sk.rport), upeer_sockaddr, upeer_addrlen)
    return new_fd


# family -> (connection-oriented, datagrams)
CONNECT = {
    AF_INET: ("inet_stream_connect", "inet_dgram_connect"),
    AF_UNIX: ("unix_stream_connect", "unix_dgram_connect"),
}


@syscall("connect", "int fd, struct sockaddr *uservaddr, int addrlen", source="net/socket.c")
def connect(k: Any, fd: int, uservaddr: int, addrlen: int) -> Any:
    """Connect a socket."""
    return (yield k.call("__sys_connect", fd, uservaddr, addrlen))


@kernel_function(
    "int __sys_connect(int fd, struct sockaddr *uservaddr, int addrlen)", source="net/socket.c", since="4.17"
)
def __sys_connect(k: Any, fd: int, uservaddr: int, addrlen: int) -> Any:
    """Copy the address in and connect by protocol."""
    socket_ = socket_of(k, fd)
    raw = read_address(k, uservaddr, addrlen)
    if socket_.family not in CONNECT:
        return -EOPNOTSUPP
    kernel_copy = k.mem.alloc(128)
    k.mem.write(kernel_copy, raw)
    try:
        name = CONNECT[socket_.family][socket_.type in (SOCK_DGRAM, SOCK_RAW)]
        return (yield k.call(name, socket_.addr, kernel_copy, addrlen, socket_.file.flags))
    finally:
        k.mem.free(kernel_copy)


@kernel_function(
    "int inet_stream_connect(struct socket *sock, struct sockaddr *uaddr, int addr_len, int flags)",
    source="net/ipv4/af_inet.c",
)
def inet_stream_connect(k: Any, sock: int, uaddr: int, addr_len: int, flags: int) -> Any:
    """TCP: send the SYN and wait."""
    sk = k.net.sockets[sock].sk
    parse_sockaddr_in(k, bytes(k.mem.read(uaddr, max(addr_len, 0))))
    if sk.state == TCP_LISTEN:
        return -EINVAL
    return (yield from tcp.connect_and_wait(k, sk, uaddr, addr_len, bool(flags & O_NONBLOCK)))


@kernel_function(
    "int inet_dgram_connect(struct socket *sock, struct sockaddr *uaddr, int addr_len, int flags)",
    source="net/ipv4/af_inet.c",
)
def inet_dgram_connect(k: Any, sock: int, uaddr: int, addr_len: int, flags: int) -> int:
    """Datagrams: remember the peer (AF_UNSPEC forgets it)."""
    sk = k.net.sockets[sock].sk
    raw = bytes(k.mem.read(uaddr, max(addr_len, 0)))
    if len(raw) >= 2 and int.from_bytes(raw[:2], k.mem.byteorder) == AF_UNSPEC:
        sk.raddr, sk.rport, sk.state = INADDR_ANY, 0, TCP_CLOSE
    else:
        sk.raddr, sk.rport = parse_sockaddr_in(k, raw)
        autobind(k, sk)
        if sk.laddr == INADDR_ANY:
            sk.laddr = source_for(k, sk.raddr)
        sk.state = TCP_ESTABLISHED
    sk.view["__sk_common"].skc_state = sk.state
    sk.sync_addresses()
    return 0


@syscall("shutdown", "int fd, int how", source="net/socket.c")
def shutdown(k: Any, fd: int, how: int) -> Any:
    """Close one or both directions; ENOTCONN, EINVAL."""
    socket_ = socket_of(k, fd)
    if socket_.family == AF_UNIX:
        return (yield k.call("unix_shutdown", socket_.addr, how))
    if socket_.family != AF_INET:
        return -EOPNOTSUPP
    return (yield k.call("inet_shutdown", socket_.addr, how))


@kernel_function("int inet_shutdown(struct socket *sock, int how)", source="net/ipv4/af_inet.c")
def inet_shutdown(k: Any, sock: int, how: int) -> Any:
    """The directions are bits: 1 receiving, 2 sending."""
    sk = k.net.sockets[sock].sk
    if not 0 <= how <= SHUT_RDWR:
        return -EINVAL
    bits = how + 1
    if sk.state == TCP_CLOSE and sk.type == SOCK_STREAM:
        return -ENOTCONN
    if sk.type != SOCK_STREAM and sk.state != TCP_ESTABLISHED:
        return -ENOTCONN
    if sk.state == TCP_LISTEN:
        return -ENOTCONN if not bits & RCV_SHUTDOWN else 0
    sk.set_shutdown(bits)
    if sk.type == SOCK_STREAM:
        yield k.call("tcp_shutdown", sk.addr, bits)
    yield k.wake(sk.wq)
    return 0


@syscall("getsockname", "int fd, struct sockaddr *usockaddr, int *usockaddr_len", source="net/socket.c")
def getsockname(k: Any, fd: int, usockaddr: int, usockaddr_len: int) -> int:
    """The local address."""
    sk = socket_of(k, fd).sk
    if isinstance(sk, unix.UnixSock):
        write_address(k, sk.address, usockaddr, usockaddr_len)
        return 0
    write_address(k, sockaddr_in(k, sk.laddr, sk.lport), usockaddr, usockaddr_len)
    return 0


@syscall("getpeername", "int fd, struct sockaddr *usockaddr, int *usockaddr_len", source="net/socket.c")
def getpeername(k: Any, fd: int, usockaddr: int, usockaddr_len: int) -> int:
    """The peer's address; ENOTCONN."""
    sk = socket_of(k, fd).sk
    if isinstance(sk, unix.UnixSock):
        if sk.peer is None:
            return -ENOTCONN
        write_address(k, sk.peer.address, usockaddr, usockaddr_len)
        return 0
    if not sk.rport or sk.state in (TCP_CLOSE, TCP_SYN_SENT):
        return -ENOTCONN
    write_address(k, sockaddr_in(k, sk.raddr, sk.rport), usockaddr, usockaddr_len)
    return 0
