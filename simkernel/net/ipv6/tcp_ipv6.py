"""TCP over IPv6: where it differs from IPv4's; the rest is ipv4/tcp*.py.  net/ipv6/tcp_ipv6.c."""

from __future__ import annotations

from arch.abi.errno import EAFNOSUPPORT, EINVAL, ENETUNREACH
from arch.abi.in6 import ICMPV6_PKT_TOOBIG
from arch.abi.inet import ETH_P_IP, IN6ADDR_ANY, IN6ADDR_LOOPBACK, TCP_SYN_RECV, TCP_SYN_SENT
from arch.errors import KernelError
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.message import parse_sockaddr_in6, sockaddr_in
from simkernel.net.core.security import classify_flow
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import ICMP_HEADER
from simkernel.net.ipv4.tcp import start_connect
from simkernel.net.ipv4.tcp_input import do_rcv, new_request, receive, request_done
from simkernel.net.ipv4.tcp_sock import tcp_sk
from simkernel.net.ipv6.addr import is_group
from simkernel.net.ipv6.icmp import verdict
from simkernel.net.ipv6.ipv6_sockglue import bind_to_scope
from simkernel.net.ipv6.route import route_output


@kernel_function(
    "int tcp_v6_connect(struct sock *sk, struct sockaddr *uaddr, int addr_len)", source="net/ipv6/tcp_ipv6.c"
)
def tcp_v6_connect(k: NetKernel, sk: int, uaddr: int, addr_len: int) -> Body:
    """Choose addresses and ports, send the SYN; to an address of IPv4 by IPv4.  EINVAL, EAFNOSUPPORT, ENETUNREACH."""
    sock = tcp_sk(k, sk)
    address, port, scope_id = parse_sockaddr_in6(k, bytes(k.mem.read(uaddr, max(addr_len, 0))))
    if address == IN6ADDR_ANY:
        address = IN6ADDR_LOOPBACK if len(sock.laddr) == len(IN6ADDR_ANY) else bytes((127, 0, 0, 1))
    if is_group(address):
        return -ENETUNREACH
    if len(address) != len(IN6ADDR_ANY):
        return (yield from _connect_mapped(k, sk, uaddr, address, port))
    if not bind_to_scope(sock, address, scope_id):
        return -EINVAL
    oif = sock.route_device(address)
    classify_flow(k, sock)
    try:
        way = route_output(k, sock.net, address, sock.laddr, oif, sock.mark, bool(sock.bound_ifindex))
    except KernelError as error:
        sock.net.ipv6.mib["OutNoRoutes"] += error.errno == ENETUNREACH
        return -error.errno
    sock.raddr, sock.rport = address, port
    if sock.laddr == IN6ADDR_ANY:
        sock.laddr = way.source
    return (yield from start_connect(k, sock))


def _connect_mapped(k: NetKernel, sk: int, uaddr: int, address: bytes, port: int) -> Body:
    """To an address of IPv4 (`yield from`)."""
    sock = tcp_sk(k, sk)
    if sock.v6only:
        return -ENETUNREACH
    if len(sock.laddr) == len(IN6ADDR_ANY):
        if sock.laddr != IN6ADDR_ANY:
            return -EAFNOSUPPORT
        sock.laddr = bytes(4)
    before = bytes(k.mem.read(uaddr, 28))
    k.mem.write(uaddr, sockaddr_in(k, address, port))
    ret = yield k.call("tcp_v4_connect", sk, uaddr, 16)
    k.mem.write(uaddr, before)
    return ret


@kernel_function("int tcp_v6_rcv(struct sk_buff *skb)", source="net/ipv6/tcp_ipv6.c")
def tcp_v6_rcv(k: NetKernel, skb: int) -> Body:
    """A segment arrives: find its connection or listener."""
    return (yield from receive(k, skb, "tcp_v6_do_rcv"))


@kernel_function("int tcp_v6_do_rcv(struct sock *sk, struct sk_buff *skb)", source="net/ipv6/tcp_ipv6.c")
def tcp_v6_do_rcv(k: NetKernel, sk: int, skb: int) -> Body:
    """The fast path for established connections, the state machine for all others."""
    if k.net.skbs[skb].protocol() == ETH_P_IP:
        return (yield k.call("tcp_v4_do_rcv", sk, skb))
    return (yield from do_rcv(k, sk, skb))


@kernel_function("int tcp_v6_conn_request(struct sock *sk, struct sk_buff *skb)", source="net/ipv6/tcp_ipv6.c")
def tcp_v6_conn_request(k: NetKernel, sk: int, skb: int) -> Body:
    """A SYN for a listener."""
    if k.net.skbs[skb].protocol() == ETH_P_IP:
        return (yield k.call("tcp_v4_conn_request", sk, skb))
    return (yield from new_request(k, sk, skb))


@kernel_function(
    "struct sock *tcp_v6_syn_recv_sock(const struct sock *sk, struct sk_buff *skb, struct request_sock *req, "
    "struct dst_entry *dst, struct request_sock *req_unhash, bool *own_req)",
    source="net/ipv6/tcp_ipv6.c",
    since="4.4",
)
def tcp_v6_syn_recv_sock(k: NetKernel, sk: int, skb: int, req: int, dst: int, req_unhash: int, own_req: int) -> Body:
    """The handshake is complete."""
    if k.net.skbs[skb].protocol() == ETH_P_IP:
        return (yield k.call("tcp_v4_syn_recv_sock", sk, skb, req))
    return (yield from request_done(k, sk, req, skb))


@kernel_function(
    "struct sock *tcp_v6_syn_recv_sock(struct sock *sk, struct sk_buff *skb, struct request_sock *req, struct dst_entry *dst)",
    source="net/ipv6/tcp_ipv6.c",
    until="4.4",
)
def tcp_v6_syn_recv_sock_4_3(k: NetKernel, sk: int, skb: int, req: int, dst: int) -> Body:
    """Before 4.4."""
    return (yield from request_done(k, sk, req, skb))


@kernel_function(
    "int tcp_v6_err(struct sk_buff *skb, struct inet6_skb_parm *opt, u8 type, u8 code, int offset, __be32 info)",
    source="net/ipv6/tcp_ipv6.c",
)
def tcp_v6_err(k: NetKernel, skb: int, opt: int, type_: int, code: int, offset: int, info: int) -> Body:
    """An error about a segment: one that begins a connection ends with it."""
    packet = k.net.skbs[skb]
    body = packet.packet()
    quote, ports = body[ICMP_HEADER:], body[offset : offset + 4].ljust(4, b"\0")
    net, sport, dport = packet.device.net, int.from_bytes(ports[:2], "big"), int.from_bytes(ports[2:], "big")
    sk = k.net.tcp_established.get((net, quote[8:24], sport, quote[24:40], dport))
    if sk is None or type_ == ICMPV6_PKT_TOOBIG:
        return 0
    errno, fatal = verdict(type_, code)
    if sk.state in (TCP_SYN_SENT, TCP_SYN_RECV):
        yield k.call("tcp_done", sk.addr)
        if k.net.socks.get(sk.addr) is sk:
            sk.set_error(errno)
    elif sk.np.recverr and fatal:
        sk.set_error(errno)
    return 0
