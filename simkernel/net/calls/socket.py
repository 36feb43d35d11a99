"""System calls that set a socket up: socket, bind, listen, accept, connect, shutdown.  net/socket.c.

A system call finds the struct socket behind its descriptor and calls through the protocol's operations, by the names
that Linux gives them: connect -> __sys_connect -> inet_stream_connect -> tcp_v4_connect.
"""

from __future__ import annotations

from arch.abi.capability import CAP_NET_RAW
from arch.abi.errno import (
    EAFNOSUPPORT,
    ECONNABORTED,
    EINVAL,
    ENFILE,
    ENOTCONN,
    EOPNOTSUPP,
    EPERM,
    EPROTONOSUPPORT,
    ESOCKTNOSUPPORT,
)
from arch.abi.fcntl import O_NONBLOCK
from arch.abi.inet import TCP_CLOSE, TCP_LISTEN, TCP_SYN_SENT
from arch.abi.socket import (
    AF_ALG,
    AF_INET,
    AF_INET6,
    AF_NETLINK,
    AF_PACKET,
    AF_UNIX,
    AF_XDP,
    MSG_DONTWAIT,
    SOCK_CLOEXEC,
    SOCK_DGRAM,
    SOCK_NONBLOCK,
    SOCK_RAW,
    SOCK_SEQPACKET,
    SOCK_STREAM,
)
from bpf import uapi
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.security import ask, hook_probed, may
from simkernel.kernel.user_namespace import ns_address
from simkernel.net.alg import ALG, accept_hash
from simkernel.net.alg import create as alg_create
from simkernel.net.core.message import read_address, sockaddr, write_address
from simkernel.net.core.sock import INET, Sock, Socket
from simkernel.net.face import NetKernel, current_net
from simkernel.net.files import sock_map_fd, socket_inode, socket_of
from simkernel.net.ipv4.af_inet import INET_STREAM
from simkernel.net.ipv6.af_inet6 import INET6_STREAM
from simkernel.net.netlink.sock import NetlinkSock
from simkernel.net.packet.af_packet import PACKET
from simkernel.net.packet.sock import PacketSock
from simkernel.net.unix.connect import accept_connection
from simkernel.net.unix.names import shown_name
from simkernel.net.unix.sock import UnixSock
from simkernel.net.xdp.xsk import xdp_create

STREAMS = (INET_STREAM, INET6_STREAM)


@syscall("socket", "int family, int type, int protocol", source="net/socket.c")
def socket(k: NetKernel, family: int, type_: int, protocol: int) -> Body:
    """A new socket; EAFNOSUPPORT, ESOCKTNOSUPPORT, EPROTONOSUPPORT, EPERM, EINVAL."""
    return (yield k.call("__sys_socket", family, type_, protocol))


NPROTO, SOCK_MAX = 46, 11  # include/linux/socket.h, net.h: families and kinds


@kernel_function("int __sys_socket(int family, int type, int protocol)", source="net/socket.c", since="4.17")
def __sys_socket(k: NetKernel, family: int, type_: int, protocol: int) -> Body:
    """Create by family, then the descriptor."""
    flags = type_ & ~0xF
    if flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK):
        return -EINVAL
    address = yield k.call("__sock_create", current_net(k).addr, family, type_ & 0xF, protocol, 0, 0)
    if k.regs.is_err(address):
        return k.regs.ptr_err(address)
    return (yield from sock_map_fd(k, k.net.sockets[address], flags))


@kernel_function(
    "struct socket *__sock_create(struct net *net, int family, int type, int protocol, struct socket **res, int kern)",
    source="net/socket.c",
)
def __sock_create(k: NetKernel, net: int, family: int, type_: int, protocol: int, res: int, kern: int) -> Body:
    """The families: IPv4, IPv6, netlink, packet, unix and hashes; the security modules are asked before and after."""
    if not 0 <= family < NPROTO:
        return -EAFNOSUPPORT
    if type_ >= SOCK_MAX:
        return -EINVAL
    refused = yield from may(k, "security_socket_create", family, type_, protocol, kern)
    if refused:
        return refused
    inode = socket_inode(k) if "inode_alloc_security" in k.security_hooks.watched else None
    if inode is not None:
        k.vfs.security.alloc_inode(inode, ENFILE)
    made = yield from _by_family(k, net, family, type_, protocol, kern)
    if k.regs.is_err(made):
        return made
    k.net.sockets[made].inode = inode
    refused = yield from may(k, "security_socket_post_create", made, family, type_, protocol, kern)
    if refused:
        yield k.call("__sock_release", made, 0)
        return refused
    return made


def _by_family(k: NetKernel, net: int, family: int, type_: int, protocol: int, kern: int) -> Body:
    if family == AF_UNIX:
        return (yield k.call("unix_create", net, type_, protocol, kern))
    if family == AF_INET:
        return (yield k.call("inet_create", net, type_, protocol, kern))
    if family == AF_INET6:
        return (yield k.call("inet6_create", net, type_, protocol, kern))
    if family == AF_NETLINK:
        return (yield k.call("netlink_create", net, type_, protocol, kern))
    if family == AF_PACKET:
        if not (yield k.call("ns_capable", ns_address(k, current_net(k).namespace.owner), CAP_NET_RAW)):
            return -EPERM
        if type_ not in (SOCK_RAW, SOCK_DGRAM):
            return -ESOCKTNOSUPPORT
        sk = PacketSock(k, current_net(k), type_, protocol)
        if sk.running:
            k.net.packet.append(sk)
        return Socket(k, family, type_, PACKET, sk).addr
    if family == AF_ALG:
        if type_ != SOCK_SEQPACKET:
            return -ESOCKTNOSUPPORT
        return -EPROTONOSUPPORT if protocol else alg_create(k, current_net(k)).addr
    if family == AF_XDP:
        return (yield from xdp_create(k, type_, protocol))
    return -EAFNOSUPPORT


BIND = {
    AF_INET: "inet_bind", AF_INET6: "inet6_bind", AF_UNIX: "unix_bind", AF_NETLINK: "netlink_bind",
    AF_PACKET: "packet_bind", AF_ALG: "alg_bind", AF_XDP: "xsk_bind",
}  # fmt: skip


@syscall("bind", "int fd, struct sockaddr *umyaddr, int addrlen", source="net/socket.c")
def bind(k: NetKernel, fd: int, umyaddr: int, addrlen: int) -> Body:
    """Give a socket its local address."""
    socket_ = socket_of(k, fd)
    raw = read_address(k, umyaddr, addrlen)
    kernel_copy = k.mem.alloc(128)
    k.mem.write(kernel_copy, raw)
    try:
        refused = yield from may(k, "security_socket_bind", socket_.addr, kernel_copy, addrlen)
        if refused:
            return refused
        if socket_.family == AF_ALG and socket_.ops is not ALG:
            return -EOPNOTSUPP
        return (yield k.call(BIND[socket_.family], socket_.addr, kernel_copy, addrlen))
    finally:
        k.mem.free(kernel_copy)


@syscall("listen", "int fd, int backlog", source="net/socket.c")
def listen(k: NetKernel, fd: int, backlog: int) -> Body:
    """Wait for connections."""
    socket_ = socket_of(k, fd)
    refused = yield from may(k, "security_socket_listen", socket_.addr, min(backlog & 0xFFFFFFFF, 4096))
    if refused:
        return refused
    if socket_.family == AF_UNIX:
        return (yield k.call("unix_listen", socket_.addr, min(backlog & 0xFFFFFFFF, 4096)))
    if socket_.ops not in STREAMS:
        return -EOPNOTSUPP
    return (yield k.call("inet_listen", socket_.addr, min(backlog & 0xFFFFFFFF, 4096)))


@syscall("accept", "int fd, struct sockaddr *upeer_sockaddr, int *upeer_addrlen", source="net/socket.c")
def accept(k: NetKernel, fd: int, upeer_sockaddr: int, upeer_addrlen: int) -> Body:
    """The next connection."""
    return (yield k.call("__sys_accept4", fd, upeer_sockaddr, upeer_addrlen, 0))


@syscall("accept4", "int fd, struct sockaddr *upeer_sockaddr, int *upeer_addrlen, int flags", source="net/socket.c")
def accept4(k: NetKernel, fd: int, upeer_sockaddr: int, upeer_addrlen: int, flags: int) -> Body:
    """The next connection, with flags for its descriptor."""
    return (yield k.call("__sys_accept4", fd, upeer_sockaddr, upeer_addrlen, flags))


@kernel_function(
    "int __sys_accept4(int fd, struct sockaddr *upeer_sockaddr, int *upeer_addrlen, int flags)",
    source="net/socket.c",
    since="4.17",
)
def __sys_accept4(k: NetKernel, fd: int, upeer_sockaddr: int, upeer_addrlen: int, flags: int) -> Body:
    """Wait in inet_csk_accept, then make the new socket."""
    k.vfs.fget(fd)
    if flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK):
        return -EINVAL
    listener = socket_of(k, fd)
    refused = yield from _may_accept(k, listener)
    if refused:
        return refused
    if listener.family == AF_UNIX:
        new_fd, peer = yield from accept_connection(k, listener, flags)
        if new_fd >= 0 and upeer_sockaddr:
            write_address(k, peer, upeer_sockaddr, upeer_addrlen)
        return new_fd
    if listener.family == AF_ALG:
        hashing = accept_hash(k, listener)
        if isinstance(hashing, int):
            return hashing
        if upeer_sockaddr:  # which has no address
            yield k.call("__sock_release", hashing.addr, 0)
            return -ECONNABORTED
        return (yield from sock_map_fd(k, hashing, flags))
    if listener.ops not in STREAMS:
        return -EOPNOTSUPP
    if listener.sk.state != TCP_LISTEN:
        return -EINVAL
    nonblocking = MSG_DONTWAIT if listener.flags & O_NONBLOCK else 0
    child = yield k.call("inet_csk_accept", listener.sk.addr, nonblocking, 0, 0)
    if k.regs.is_err(child):
        return k.regs.ptr_err(child)
    sk = k.net.socks[child]
    connection = Socket(k, listener.family, SOCK_STREAM, listener.ops, sk)
    connection.connected()
    ask(k, "sock_graft", sk.addr, connection.addr)
    new_fd = yield from sock_map_fd(k, connection, flags)
    if upeer_sockaddr:
        write_address(k, _peer_name(k, sk), upeer_sockaddr, upeer_addrlen)
    return new_fd


def _peer_name(k: NetKernel, sk: Sock) -> bytes:
    """inet_getname() of the peer, as programs leave it."""
    asked = uapi.BPF_CGROUP_INET4_GETPEERNAME if sk.family == AF_INET else uapi.BPF_CGROUP_INET6_GETPEERNAME
    return k.net.programs.sock_addr(sk, sockaddr(k, sk, sk.raddr, sk.rport, sk.bound_ifindex), asked)[1]


def _may_accept(k: NetKernel, listener: Socket) -> Body:
    """security_socket_accept(): the new struct socket has its type, as yet no sock (`yield from`)."""
    if not hook_probed(k, "security_socket_accept"):
        return 0
    fresh = k.new("struct socket")
    fresh.type = listener.type
    refused = yield from may(k, "security_socket_accept", listener.addr, fresh.addr)
    k.mem.free(fresh.addr)
    return refused


# family -> (connection-oriented, datagrams)
CONNECT = {
    AF_INET: ("inet_stream_connect", "inet_dgram_connect"),
    AF_INET6: ("inet_stream_connect", "inet_dgram_connect"),
    AF_UNIX: ("unix_stream_connect", "unix_dgram_connect"),
    AF_NETLINK: ("netlink_connect", "netlink_connect"),
}


@syscall("connect", "int fd, struct sockaddr *uservaddr, int addrlen", source="net/socket.c")
def connect(k: NetKernel, fd: int, uservaddr: int, addrlen: int) -> Body:
    """Connect a socket."""
    return (yield k.call("__sys_connect", fd, uservaddr, addrlen))


@kernel_function(
    "int __sys_connect(int fd, struct sockaddr *uservaddr, int addrlen)", source="net/socket.c", since="4.17"
)
def __sys_connect(k: NetKernel, fd: int, uservaddr: int, addrlen: int) -> Body:
    """Copy the address in and connect by protocol."""
    k.vfs.fget(fd)
    raw = read_address(k, uservaddr, addrlen)
    socket_ = socket_of(k, fd)
    if socket_.family not in CONNECT:
        return -EOPNOTSUPP
    kernel_copy = k.mem.alloc(128)
    k.mem.write(kernel_copy, raw)
    try:
        refused = yield from may(k, "security_socket_connect", socket_.addr, kernel_copy, addrlen)
        if refused:
            return refused
        name = CONNECT[socket_.family][socket_.type in (SOCK_DGRAM, SOCK_RAW)]
        return (yield k.call(name, socket_.addr, kernel_copy, addrlen, socket_.flags))
    finally:
        k.mem.free(kernel_copy)


@syscall("shutdown", "int fd, int how", source="net/socket.c")
def shutdown(k: NetKernel, fd: int, how: int) -> Body:
    """Close one or both directions; ENOTCONN, EINVAL."""
    socket_ = socket_of(k, fd)
    refused = yield from may(k, "security_socket_shutdown", socket_.addr, how)
    if refused:
        return refused
    if socket_.family == AF_UNIX:
        return (yield k.call("unix_shutdown", socket_.addr, how))
    if socket_.family not in INET:
        return -EOPNOTSUPP
    return (yield k.call("inet_shutdown", socket_.addr, how))


@syscall("getsockname", "int fd, struct sockaddr *usockaddr, int *usockaddr_len", source="net/socket.c")
def getsockname(k: NetKernel, fd: int, usockaddr: int, usockaddr_len: int) -> Body:
    """The local address."""
    socket_ = socket_of(k, fd)
    refused = yield from may(k, "security_socket_getsockname", socket_.addr)
    if refused:
        return refused
    sk = socket_.sk
    if isinstance(sk, UnixSock):
        write_address(k, shown_name(k, sk, sk, uapi.BPF_CGROUP_UNIX_GETSOCKNAME), usockaddr, usockaddr_len)
        return 0
    if isinstance(sk, NetlinkSock):
        write_address(k, sk.address(sk.portid, sk.groups), usockaddr, usockaddr_len)
        return 0
    if sk.family in (AF_ALG, AF_XDP):
        return -EOPNOTSUPP
    name = sockaddr(k, sk, sk.laddr, sk.lport, sk.bound_ifindex)
    asked = uapi.BPF_CGROUP_INET4_GETSOCKNAME if sk.family == AF_INET else uapi.BPF_CGROUP_INET6_GETSOCKNAME
    _, name, _ = k.net.programs.sock_addr(sk, name, asked)
    write_address(k, name, usockaddr, usockaddr_len)
    return 0


@syscall("getpeername", "int fd, struct sockaddr *usockaddr, int *usockaddr_len", source="net/socket.c")
def getpeername(k: NetKernel, fd: int, usockaddr: int, usockaddr_len: int) -> Body:
    """The peer's address; ENOTCONN."""
    socket_ = socket_of(k, fd)
    refused = yield from may(k, "security_socket_getpeername", socket_.addr)
    if refused:
        return refused
    sk = socket_.sk
    if isinstance(sk, NetlinkSock):
        write_address(k, sk.address(sk.rport), usockaddr, usockaddr_len)
        return 0
    if sk.family in (AF_ALG, AF_PACKET, AF_XDP):
        return -EOPNOTSUPP
    if isinstance(sk, UnixSock):
        if sk.peer is None:
            return -ENOTCONN
        write_address(k, shown_name(k, sk, sk.peer, uapi.BPF_CGROUP_UNIX_GETPEERNAME), usockaddr, usockaddr_len)
        return 0
    if not sk.rport or sk.state in (TCP_CLOSE, TCP_SYN_SENT):
        return -ENOTCONN
    write_address(k, _peer_name(k, sk), usockaddr, usockaddr_len)
    return 0
