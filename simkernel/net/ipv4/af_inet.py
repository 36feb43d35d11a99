"""IPv4 sockets: the protocols they may have, and what a socket's operations do before the protocol.  net/ipv4/af_inet.c."""

from __future__ import annotations

from arch.abi.capability import CAP_NET_BIND_SERVICE, CAP_NET_RAW
from arch.abi.errno import (
    EACCES,
    EADDRINUSE,
    EADDRNOTAVAIL,
    EAFNOSUPPORT,
    EINVAL,
    ENOTCONN,
    EPERM,
    EPIPE,
    EPROTONOSUPPORT,
    ESOCKTNOSUPPORT,
)
from arch.abi.fcntl import O_NONBLOCK
from arch.abi.inet import (
    INADDR_ANY,
    IPPROTO_ICMP,
    IPPROTO_ICMPV6,
    IPPROTO_IP,
    IPPROTO_MAX,
    IPPROTO_RAW,
    IPPROTO_TCP,
    IPPROTO_UDP,
    IPPROTO_UDPLITE,
    TCP_CLOSE,
    TCP_ESTABLISHED,
    TCP_LISTEN,
)
from arch.abi.rtnetlink import RTN_BROADCAST, RTN_LOCAL, RTN_MULTICAST
from arch.abi.socket import (
    AF_INET,
    AF_INET6,
    AF_UNSPEC,
    MSG_FASTOPEN,
    SHUT_RDWR,
    SOCK_DGRAM,
    SOCK_RAW,
    SOCK_STREAM,
    SOCKADDR_IN_SIZE,
)
from bpf import uapi
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.user_namespace import ns_address
from simkernel.net.core import protocols
from simkernel.net.core.datagram import drain_and_free
from simkernel.net.core.message import parse_sockaddr_in
from simkernel.net.core.programs import BPF_SOCK_OPS_TCP_LISTEN_CB, rewrite_address
from simkernel.net.core.security import classify_flow
from simkernel.net.core.sock import RCV_SHUTDOWN, ProtoOps, Sock, Socket, hash_port, is_any, unbind
from simkernel.net.face import NetKernel, current_net
from simkernel.net.ipv4.fib import address_type
from simkernel.net.ipv4.ip_groups import leave_all
from simkernel.net.ipv4.ip_output import source_for
from simkernel.net.ipv4.ping import get_port, may_ping
from simkernel.net.ipv4.tcp import connect_and_wait
from simkernel.net.ipv4.tcp_cong import Cubic
from simkernel.net.ipv4.tcp_sock import TcpSock
from simkernel.net.reuseport import leave_group

INET_STREAM = ProtoOps("inet_stream_ops", "inet_sendmsg", "inet_recvmsg", "tcp_sendmsg", "tcp_recvmsg")
INET_DGRAM = ProtoOps("inet_dgram_ops", "inet_sendmsg", "inet_recvmsg", "udp_sendmsg", "udp_recvmsg")
INET_PING = ProtoOps("inet_sockraw_ops", "inet_sendmsg", "inet_recvmsg", "ping_v4_sendmsg", "ping_recvmsg")
INET_RAW = ProtoOps("inet_sockraw_ops", "inet_sendmsg", "inet_recvmsg", "raw_sendmsg", "raw_recvmsg")
#         (type, protocol) -> (protocol used, operations).  net/ipv4/af_inet.c: inetsw_array
Inetsw = tuple[tuple[int, int, ProtoOps], ...]
INETSW: Inetsw = (
    (SOCK_STREAM, IPPROTO_TCP, INET_STREAM),
    (SOCK_DGRAM, IPPROTO_UDP, INET_DGRAM),
    (SOCK_DGRAM, IPPROTO_UDPLITE, INET_DGRAM),
    (SOCK_DGRAM, IPPROTO_ICMP, INET_PING),
    (SOCK_RAW, IPPROTO_IP, INET_RAW),
)

BIND_FROM_BPF, BIND_NO_CAP_NET_BIND_SERVICE = 1 << 1, 1 << 3  # include/net/inet_common.h
BPF_RET_BIND_NO_CAP_NET_BIND_SERVICE = 1 << 0
INADDR_LOOPBACK = bytes((127, 0, 0, 1))


@kernel_function(
    "struct socket *inet_create(struct net *net, int type, int protocol, int kern)", source="net/ipv4/af_inet.c"
)
def inet_create(k: NetKernel, net: int, type_: int, protocol: int, kern: int) -> Body:
    """Find the protocol in inetsw.  EINVAL, ESOCKTNOSUPPORT, EPROTONOSUPPORT, EPERM, EACCES."""
    if not 0 <= protocol < IPPROTO_MAX:
        return -EINVAL
    return (yield from create_socket(k, AF_INET, INETSW, type_, protocol, kern))


def create_socket(k: NetKernel, family: int, table: Inetsw, type_: int, protocol: int, kern: int) -> Body:
    """What both families do with their tables (`yield from`): a struct socket's address, or -errno."""
    rows = [row for row in table if row[0] == type_ and protocols.is_there(k, row[1])]
    if not rows:
        return -ESOCKTNOSUPPORT
    found = [row for row in rows if row[1] == IPPROTO_IP or protocol in (row[1], IPPROTO_IP)]
    if not found or (found[0][1] == IPPROTO_IP and protocol == IPPROTO_IP):
        return -EPROTONOSUPPORT
    _, known, ops = found[0]
    net = current_net(k)
    if type_ == SOCK_RAW and not (yield k.call("ns_capable", ns_address(k, net.namespace.owner), CAP_NET_RAW)):
        return -EPERM
    if type_ == SOCK_STREAM:
        sk: Sock = TcpSock(k, net, family, Cubic())
    else:
        sk = Sock(k, net, family, type_, protocol or known)
    if family == AF_INET6:
        sk.v6only = bool(net.sysctl["ipv6.bindv6only"])
    sk.hdrincl = type_ == SOCK_RAW and protocol == IPPROTO_RAW
    if known in (IPPROTO_ICMP, IPPROTO_ICMPV6):
        may_ping(k, net)
    error = 0 if kern else k.net.programs.sock(sk, uapi.BPF_CGROUP_INET_SOCK_CREATE)
    if error:
        sk.free()
        return error
    if type_ == SOCK_RAW:
        k.net.raw.append(sk)
    return int(Socket(k, family, type_, ops, sk).addr)


@kernel_function(
    "int inet_bind(struct socket *sock, struct sockaddr *uaddr, int addr_len)", source="net/ipv4/af_inet.c", jumps=True
)
def inet_bind(k: NetKernel, sock: int, uaddr: int, addr_len: int) -> Body:
    """EINVAL when bound already, EADDRNOTAVAIL for a foreign address, EADDRINUSE, EACCES below port 1024."""
    sk, flags = k.net.sockets[sock].sk, 0
    if sk.type != SOCK_RAW and addr_len >= SOCKADDR_IN_SIZE:
        error, said = rewrite_address(k.net.programs, sk, uaddr, addr_len, uapi.BPF_CGROUP_INET4_BIND)
        if error:
            return error
        flags = BIND_NO_CAP_NET_BIND_SERVICE if said & BPF_RET_BIND_NO_CAP_NET_BIND_SERVICE else 0
    return (yield k.call("__inet_bind", sk.addr, uaddr, addr_len, flags))


@kernel_function(
    "int __inet_bind(struct sock *sk, struct sockaddr *uaddr, int addr_len, u32 flags)",
    source="net/ipv4/af_inet.c",
    since="4.17",
)
def __inet_bind(k: NetKernel, sk: int, uaddr: int, addr_len: int, flags: int) -> int:
    """The work of bind."""
    return bind_inet(k, k.net.socks[sk], bytes(k.mem.read(uaddr, max(addr_len, 0))), flags)


def bind_inet(k: NetKernel, sock: Sock, raw: bytes, flags: int) -> int:
    """The same for those who have the address as bytes."""
    address, port = parse_sockaddr_in(k, raw)
    if int.from_bytes(raw[:2], k.mem.byteorder) == AF_UNSPEC and any(address):
        return -EAFNOSUPPORT  # tolerated of 0.0.0.0 alone
    if not _may_bind(sock, address):
        return -EADDRNOTAVAIL
    if sock.type != SOCK_RAW:
        asked = not flags & BIND_NO_CAP_NET_BIND_SERVICE
        if (
            0 < port < int(sock.net.sysctl["ipv4.ip_unprivileged_port_start"])
            and asked
            and not sock.capable(k, CAP_NET_BIND_SERVICE)
        ):
            return -EACCES
    if sock.lport:
        return -EINVAL
    if sock.type == SOCK_RAW:
        sock.laddr = address
        sock.sync_addresses()
        return 0
    if sock.protocol == IPPROTO_ICMP:
        return _bind_ping(k, sock, address, port)
    return claim_port(k, sock, address, port, 0 if flags & BIND_FROM_BPF else uapi.BPF_CGROUP_INET4_POST_BIND)


def claim_port(k: NetKernel, sock: Sock, address: bytes, port: int, post_bind: int) -> int:
    """sk->sk_prot->get_port(), and the programs that hear of it (0: none).  EADDRINUSE."""
    table = k.net.tcp_bound if sock.type == SOCK_STREAM else k.net.datagrams(sock.protocol)
    sock.port_locked = bool(port)
    port = port or k.net.ephemeral_port(sock.net, table)
    reuse = sock.options.get((1, 2))
    for other in table.get((sock.net, port), ()):
        shared = reuse and other.options.get((1, 2)) and other.state != TCP_LISTEN
        if rcv_saddr_equal(sock, address, other) and not shared and not (sock.reuseport and other.reuseport):
            return -EADDRINUSE
    sock.lport, sock.laddr = port, address
    sock.address_locked = not is_any(address)
    hash_port(table, sock)
    sock.sync_addresses()
    error = k.net.programs.sock(sock, post_bind) if post_bind else 0
    if error:
        unbind(table, sock)
        sock.laddr, sock.lport = sock.any_address, 0
        sock.sync_addresses()
    return error


def rcv_saddr_equal(sk: Sock, address: bytes, other: Sock) -> bool:
    """inet_rcv_saddr_equal(): would the two get the same packets?  The wildcard of IPv6 is IPv4's, too, unless it says otherwise."""
    if len(address) == len(other.laddr):
        return address == other.laddr or is_any(address) or is_any(other.laddr)
    mine, theirs = (address, other.laddr) if len(address) > len(other.laddr) else (other.laddr, address)
    only = sk.v6only if mine is address else other.v6only
    return is_any(mine) and not only and len(theirs) == len(INADDR_ANY)


def _may_bind(sk: Sock, address: bytes) -> bool:
    """inet_addr_valid_or_nonlocal()."""
    if address == INADDR_ANY or sk.freebind or sk.transparent or sk.net.sysctl["ipv4.ip_nonlocal_bind"]:
        return True
    return address_type(sk.net, address) in (RTN_LOCAL, RTN_MULTICAST, RTN_BROADCAST)


def _bind_ping(k: NetKernel, sk: Sock, address: bytes, port: int) -> int:
    """ping_bind()."""
    if sk.lport:
        return -EINVAL
    sk.laddr = address
    get_port(k, sk, port)
    return 0


@kernel_function("int inet_listen(struct socket *sock, int backlog)", source="net/ipv4/af_inet.c")
def inet_listen(k: NetKernel, sock: int, backlog: int) -> Body:
    """EINVAL unless the socket is unconnected."""
    sk = k.net.sockets[sock].sk
    if sk.state not in (TCP_CLOSE, TCP_LISTEN) or sk.rport:
        return -EINVAL
    sk.backlog = backlog
    sk.view.sk_max_ack_backlog = backlog
    if sk.state == TCP_CLOSE:
        args = () if k.version.at_least("5.17") else (backlog,)
        error = yield k.call("inet_csk_listen_start", sk.addr, *args)
        if error:
            return error
        k.net.programs.sock_ops(sk, BPF_SOCK_OPS_TCP_LISTEN_CB)
    return 0


@kernel_function(
    "int inet_csk_listen_start(struct sock *sk, int backlog)", source="net/ipv4/inet_connection_sock.c", until="5.17"
)
def inet_csk_listen_start_5_16(k: NetKernel, sk: int, backlog: int) -> int:
    """Before 5.17."""
    return _listen_start(k, sk)


@kernel_function("int inet_csk_listen_start(struct sock *sk)", source="net/ipv4/inet_connection_sock.c", since="5.17")
def inet_csk_listen_start(k: NetKernel, sk: int) -> int:
    """The sock hears of connections from now on, at a port that it has or is given."""
    return _listen_start(k, sk)


def _listen_start(k: NetKernel, sk: int) -> int:
    sock = k.net.socks[sk]
    k.trace("inet_sock_set_state", sk, sock.state, TCP_LISTEN)  # inet_sk_state_store()
    sock.state = sock.view["__sk_common"].skc_state = TCP_LISTEN
    if not sock.lport:
        sock.lport = k.net.ephemeral_port(sock.net, k.net.tcp_bound)
        hash_port(k.net.tcp_bound, sock)
        sock.sync_addresses()
    hash_port(k.net.tcp_listen, sock)
    return 0


@kernel_function(
    "int inet_stream_connect(struct socket *sock, struct sockaddr *uaddr, int addr_len, int flags)",
    source="net/ipv4/af_inet.c",
)
def inet_stream_connect(k: NetKernel, sock: int, uaddr: int, addr_len: int, flags: int) -> Body:
    """TCP: send the SYN and wait."""
    sk = k.net.sockets[sock].sk
    if sk.family == AF_INET:
        parse_sockaddr_in(k, bytes(k.mem.read(uaddr, max(addr_len, 0))))
    if sk.state == TCP_CLOSE and not sk.connecting:
        error, _ = rewrite_address(k.net.programs, sk, uaddr, addr_len, connect_type(sk))
        if error:
            return error
    return (yield from connect_and_wait(k, sk, uaddr, addr_len, bool(flags & O_NONBLOCK)))


def connect_type(sk: Sock) -> int:
    """The programs of a control group that are asked of connect()."""
    return uapi.BPF_CGROUP_INET4_CONNECT if sk.family == AF_INET else uapi.BPF_CGROUP_INET6_CONNECT


@kernel_function(
    "int inet_dgram_connect(struct socket *sock, struct sockaddr *uaddr, int addr_len, int flags)",
    source="net/ipv4/af_inet.c",
)
def inet_dgram_connect(k: NetKernel, sock: int, uaddr: int, addr_len: int, flags: int) -> Body:
    """Datagrams: remember the peer (AF_UNSPEC forgets it)."""
    sk = k.net.sockets[sock].sk
    raw = bytes(k.mem.read(uaddr, max(addr_len, 0)))
    if len(raw) >= 2 and int.from_bytes(raw[:2], k.mem.byteorder) == AF_UNSPEC:
        disconnect(k, sk)
    else:
        if sk.family == AF_INET:
            parse_sockaddr_in(k, raw)
        if sk.protocol == IPPROTO_UDP or (is_ping(sk) and k.version.at_least("6.1")):  # sk_prot->pre_connect
            error, _ = rewrite_address(k.net.programs, sk, uaddr, addr_len, connect_type(sk))
            if error:
                return error
        if sk.family != AF_INET:
            return (yield k.call("ip6_datagram_connect", sk.addr, uaddr, addr_len))
        sk.raddr, sk.rport = parse_sockaddr_in(k, bytes(k.mem.read(uaddr, addr_len)))
        if sk.raddr == INADDR_ANY:  # ip_route_connect(): this machine
            sk.raddr = INADDR_LOOPBACK
        autobind(k, sk)
        if sk.laddr == INADDR_ANY:
            sk.laddr = source_for(k, sk.net, sk.raddr, sk.route_device(sk.raddr))
        classify_flow(k, sk)
        sk.state = TCP_ESTABLISHED
    sk.view["__sk_common"].skc_state = sk.state
    sk.sync_addresses()
    return 0


def is_ping(sk: Sock) -> bool:
    """A socket for echo requests that needs no rights."""
    return sk.type == SOCK_DGRAM and sk.protocol in (IPPROTO_ICMP, IPPROTO_ICMPV6)


def disconnect(k: NetKernel, sk: Sock) -> None:
    """__udp_disconnect(): without a peer; what bind() did not choose is forgotten, too."""
    sk.raddr, sk.rport, sk.state = sk.any_address, 0, TCP_CLOSE
    if sk.ip6 is not None:
        sk.ip6.scope_id = 0
    if not sk.address_locked:
        sk.laddr = sk.any_address
    if not sk.port_locked and sk.is_udp:
        unbind(k.net.datagrams(sk.protocol), sk)
        sk.lport = 0


def autobind(k: NetKernel, sk: Sock) -> None:
    """inet_autobind(): a datagram socket gets a port when it first needs one."""
    if sk.is_udp and not sk.lport:
        table = k.net.datagrams(sk.protocol)
        sk.lport = k.net.ephemeral_port(sk.net, table)
        hash_port(table, sk)
        sk.sync_addresses()


@kernel_function("int inet_sendmsg(struct socket *sock, struct msghdr *msg, size_t size)", source="net/ipv4/af_inet.c")
def inet_sendmsg(k: NetKernel, sock: int, msg: int, size: int) -> Body:
    """Through struct proto."""
    socket_ = k.net.sockets[sock]
    sk = socket_.sk
    if sk.type == SOCK_STREAM and not sk.rport and not k.net.messages[msg].flags & MSG_FASTOPEN:
        return -EPIPE
    if sk.err and sk.type != SOCK_STREAM:
        if sk.is_udp and sk.family == AF_INET:
            k.net.messages[msg].destination(sk)  # what is wrong with the address is said first
        return -sk.take_error()
    if sk.type != SOCK_STREAM:
        autobind(k, sk)
    return (yield k.call(socket_.ops.prot_sendmsg, sk.addr, msg, size))


@kernel_function(
    "int inet_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)", source="net/ipv4/af_inet.c"
)
def inet_recvmsg(k: NetKernel, sock: int, msg: int, size: int, flags: int) -> Body:
    """Through struct proto."""
    socket_ = k.net.sockets[sock]
    return (yield k.call(socket_.ops.prot_recvmsg, socket_.sk.addr, msg, size, flags, 0))


@kernel_function("int inet_shutdown(struct socket *sock, int how)", source="net/ipv4/af_inet.c")
def inet_shutdown(k: NetKernel, sock: int, how: int) -> Body:
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
        if not bits & RCV_SHUTDOWN:
            return -ENOTCONN
        ret = yield k.call("tcp_disconnect", sk.addr, 0)
        yield k.wake(sk.wq)
        return ret
    sk.set_shutdown(bits)
    if sk.type == SOCK_STREAM:
        yield k.call("tcp_shutdown", sk.addr, bits)
    yield k.wake(sk.wq)
    return 0


@kernel_function("int inet_release(struct socket *sock)", source="net/ipv4/af_inet.c")
def inet_release(k: NetKernel, sock: int) -> Body:
    """Close an IPv4 socket."""
    sk = k.net.sockets[sock].sk
    k.net.programs.sock(sk, uapi.BPF_CGROUP_INET_SOCK_RELEASE)
    sk.socket = None
    k.net.programs.sock_closed(sk)
    leave_group(sk, k.net.tcp_listen if sk.type == SOCK_STREAM else k.net.datagrams(sk.protocol))
    if sk.type == SOCK_STREAM:
        yield k.call("tcp_close", sk.addr, 0)
        return 0
    unbind(k.net.datagrams(sk.protocol), sk)
    unbind(k.net.ping, sk)
    leave_all(k, sk)
    sk.drop_errors(k)
    if sk in k.net.raw:
        k.net.raw.remove(sk)
    yield from drain_and_free(k, sk)
    return 0
