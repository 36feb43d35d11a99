"""IPv6 sockets: the protocols they may have, and what a socket's operations do before the protocol.  net/ipv6/af_inet6.c."""

from __future__ import annotations

from arch.abi.capability import CAP_NET_BIND_SERVICE
from arch.abi.errno import (
    EACCES,
    EADDRNOTAVAIL,
    EAFNOSUPPORT,
    EINVAL,
    ENETUNREACH,
    ENODEV,
)
from arch.abi.in6 import SIN6_LEN_RFC2133
from arch.abi.inet import (
    IN6ADDR_ANY,
    IN6ADDR_LOOPBACK,
    INADDR_ANY,
    IPPROTO_ICMPV6,
    IPPROTO_IP,
    IPPROTO_MAX,
    IPPROTO_TCP,
    IPPROTO_UDP,
    IPPROTO_UDPLITE,
    TCP_CLOSE,
    TCP_ESTABLISHED,
)
from arch.abi.rtnetlink import RTN_LOCAL, RTN_MULTICAST
from arch.abi.socket import AF_INET, AF_INET6, SOCK_DGRAM, SOCK_RAW, SOCK_STREAM
from arch.errors import KernelError
from bpf import uapi
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.message import parse_sockaddr_in, parse_sockaddr_in6
from simkernel.net.core.programs import rewrite_address
from simkernel.net.core.security import classify_flow
from simkernel.net.core.sock import ProtoOps, Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.af_inet import (
    BIND_FROM_BPF,
    BIND_NO_CAP_NET_BIND_SERVICE,
    BPF_RET_BIND_NO_CAP_NET_BIND_SERVICE,
    Inetsw,
    autobind,
    claim_port,
    create_socket,
)
from simkernel.net.ipv4.fib import address_type
from simkernel.net.ipv4.ip_output import source_for
from simkernel.net.ipv4.ping import get_port
from simkernel.net.ipv6.addr import is_group, is_link_local
from simkernel.net.ipv6.ip6_fib import local_device
from simkernel.net.ipv6.ipv6_sockglue import bind_to_scope, leave_all
from simkernel.net.ipv6.route import route_output

INET6_STREAM = ProtoOps("inet6_stream_ops", "inet6_sendmsg", "inet6_recvmsg", "tcp_sendmsg", "tcp_recvmsg")
INET6_DGRAM = ProtoOps("inet6_dgram_ops", "inet6_sendmsg", "inet6_recvmsg", "udpv6_sendmsg", "udpv6_recvmsg")
INET6_PING = ProtoOps("inet6_sockraw_ops", "inet_sendmsg", "inet_recvmsg", "ping_v6_sendmsg", "ping_recvmsg")
INET6_RAW = ProtoOps("inet6_sockraw_ops", "inet_sendmsg", "inet_recvmsg", "rawv6_sendmsg", "rawv6_recvmsg")
#         (type, protocol, operations).  inetsw6
INETSW6: Inetsw = (
    (SOCK_STREAM, IPPROTO_TCP, INET6_STREAM),
    (SOCK_DGRAM, IPPROTO_UDP, INET6_DGRAM),
    (SOCK_DGRAM, IPPROTO_UDPLITE, INET6_DGRAM),
    (SOCK_DGRAM, IPPROTO_ICMPV6, INET6_PING),
    (SOCK_RAW, IPPROTO_IP, INET6_RAW),
)


@kernel_function(
    "struct socket *inet6_create(struct net *net, int type, int protocol, int kern)", source="net/ipv6/af_inet6.c"
)
def inet6_create(k: NetKernel, net: int, type_: int, protocol: int, kern: int) -> Body:
    """Find the protocol in inetsw6.  EINVAL, ESOCKTNOSUPPORT, EPROTONOSUPPORT, EPERM, EACCES."""
    if not 0 <= protocol < IPPROTO_MAX:
        return -EINVAL
    return (yield from create_socket(k, AF_INET6, INETSW6, type_, protocol, kern))


@kernel_function(
    "int inet6_bind(struct socket *sock, struct sockaddr *uaddr, int addr_len)", source="net/ipv6/af_inet6.c"
)
def inet6_bind(k: NetKernel, sock: int, uaddr: int, addr_len: int) -> Body:
    """EINVAL when bound already, EADDRNOTAVAIL for a foreign address, EADDRINUSE, EACCES below port 1024."""
    sk, flags = k.net.sockets[sock].sk, 0
    if addr_len < SIN6_LEN_RFC2133:
        return -EINVAL
    error, said = rewrite_address(k.net.programs, sk, uaddr, addr_len, uapi.BPF_CGROUP_INET6_BIND)
    if error:
        return error
    flags = BIND_NO_CAP_NET_BIND_SERVICE if said & BPF_RET_BIND_NO_CAP_NET_BIND_SERVICE else 0
    return (yield k.call("__inet6_bind", sk.addr, uaddr, addr_len, flags))


@kernel_function(
    "int __inet6_bind(struct sock *sk, struct sockaddr *uaddr, int addr_len, u32 flags)",
    source="net/ipv6/af_inet6.c",
    since="4.17",
)
def __inet6_bind(k: NetKernel, sk: int, uaddr: int, addr_len: int, flags: int) -> int:
    """The work of bind."""
    return bind_inet6(k, k.net.socks[sk], bytes(k.mem.read(uaddr, max(addr_len, 0))), flags)


def bind_inet6(k: NetKernel, sock: Sock, raw: bytes, flags: int) -> int:
    """The same for those who have the address as bytes."""
    address, port, scope_id = parse_sockaddr_in6(k, raw)
    if is_group(address) and sock.type == SOCK_STREAM:
        return -EINVAL
    asked = not flags & BIND_NO_CAP_NET_BIND_SERVICE and sock.type != SOCK_RAW
    low = 0 < port < int(sock.net.sysctl["ipv4.ip_unprivileged_port_start"])
    if low and asked and not sock.capable(k, CAP_NET_BIND_SERVICE):
        return -EACCES
    if sock.lport or sock.state != TCP_CLOSE:
        return -EINVAL
    wrong = _foreign(k, sock, address, scope_id)
    if wrong:
        return wrong
    if sock.type == SOCK_RAW:
        sock.laddr = address
        sock.sync_addresses()
        return 0
    if sock.protocol == IPPROTO_ICMPV6:
        sock.laddr = address
        get_port(k, sock, port)
        return 0
    post = 0 if flags & BIND_FROM_BPF else uapi.BPF_CGROUP_INET6_POST_BIND
    before = sock.v6only
    if len(address) == len(IN6ADDR_ANY) and address != IN6ADDR_ANY:
        sock.set_v6only(True)  # whoever is bound to an address of IPv6 hears nothing else
    wrong = claim_port(k, sock, address, port, post)
    if wrong:
        sock.set_v6only(before)
    return wrong


def _foreign(k: NetKernel, sk: Sock, address: bytes, scope_id: int) -> int:
    """May the address be used?  EINVAL, ENODEV, EADDRNOTAVAIL."""
    free = sk.freebind or sk.transparent or bool(sk.net.sysctl["ipv6.ip_nonlocal_bind"])
    if len(address) == len(INADDR_ANY):
        if sk.v6only:
            return -EINVAL
        known = address == INADDR_ANY or address_type(sk.net, address) in (RTN_LOCAL, RTN_MULTICAST)
        return 0 if known or free else -EADDRNOTAVAIL
    if address == IN6ADDR_ANY:
        return 0
    if is_link_local(address):
        if scope_id:
            sk.bound_ifindex = scope_id
        if not sk.bound_ifindex:
            return -EINVAL
        if sk.bound_ifindex not in sk.net.devices:
            return -ENODEV
    if is_group(address) or free:
        return 0
    dev = sk.net.devices.get(sk.bound_ifindex) if is_link_local(address) else None
    return 0 if local_device(sk.net, address, dev) is not None else -EADDRNOTAVAIL


@kernel_function("int ip6_datagram_connect(struct sock *sk, struct sockaddr *uaddr, int addr_len)", source="net/ipv6/datagram.c")  # fmt: skip
def ip6_datagram_connect(k: NetKernel, sk: int, uaddr: int, addr_len: int) -> int:
    """Datagrams: remember the peer.  EINVAL, EAFNOSUPPORT, ENETUNREACH."""
    sock = k.net.socks[sk]
    raw = bytes(k.mem.read(uaddr, max(addr_len, 0)))
    family = int.from_bytes(raw[:2], k.mem.byteorder)
    if family == AF_INET:
        if sock.v6only:
            return -EAFNOSUPPORT
        address, port = parse_sockaddr_in(k, raw)
        scope_id = 0
        address = address if address != INADDR_ANY else bytes((127, 0, 0, 1))
    else:
        address, port, scope_id = parse_sockaddr_in6(k, raw)
        if address == IN6ADDR_ANY:
            address = IN6ADDR_LOOPBACK if len(sock.laddr) == len(IN6ADDR_ANY) else bytes((127, 0, 0, 1))
    if len(address) == len(INADDR_ANY):
        if sock.v6only:
            return -ENETUNREACH
        autobind(k, sock)
        own = sock.laddr if len(sock.laddr) == len(INADDR_ANY) and any(sock.laddr) else None
        if own is None and sock.laddr != IN6ADDR_ANY and any(sock.laddr):
            return -EINVAL
        sock.laddr = own or source_for(k, sock.net, address, sock.route_device(address))
        classify_flow(k, sock)
    else:
        if not bind_to_scope(sock, address, scope_id):
            return -EINVAL
        oif = sock.route_device(address)
        classify_flow(k, sock)
        try:
            way = route_output(k, sock.net, address, sock.laddr, oif, sock.mark, bool(sock.bound_ifindex))
        except KernelError as error:
            return -error.errno
        autobind(k, sock)
        sock.laddr = way.source if sock.laddr == IN6ADDR_ANY else sock.laddr
    sock.raddr, sock.rport, sock.state = address, port, TCP_ESTABLISHED
    sock.view["__sk_common"].skc_state = sock.state
    sock.sync_addresses()
    return 0


@kernel_function(
    "int inet6_sendmsg(struct socket *sock, struct msghdr *msg, size_t size)", source="net/ipv6/af_inet6.c"
)
def inet6_sendmsg(k: NetKernel, sock: int, msg: int, size: int) -> Body:
    """Through struct proto."""
    return (yield k.call("inet_sendmsg", sock, msg, size))


@kernel_function(
    "int inet6_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)", source="net/ipv6/af_inet6.c"
)
def inet6_recvmsg(k: NetKernel, sock: int, msg: int, size: int, flags: int) -> Body:
    """Through struct proto."""
    return (yield k.call("inet_recvmsg", sock, msg, size, flags))


@kernel_function("int inet6_release(struct socket *sock)", source="net/ipv6/af_inet6.c")
def inet6_release(k: NetKernel, sock: int) -> Body:
    """Close an IPv6 socket."""
    leave_all(k, k.net.sockets[sock].sk)
    return (yield k.call("inet_release", sock))
