"""The functions of IPv6 sockets that tools attach to.  net/ipv6/{af_inet6,tcp_ipv6}.c.

The machine has no IPv6: socket(AF_INET6) answers EAFNOSUPPORT, as on a kernel started with ipv6.disable=1, so nothing
calls these.  Their symbols and types are there all the same, as they are there on such a kernel.
"""

from __future__ import annotations

from arch.abi.errno import EAFNOSUPPORT
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.face import NetKernel


@kernel_function(
    "int tcp_v6_connect(struct sock *sk, struct sockaddr *uaddr, int addr_len)", source="net/ipv6/tcp_ipv6.c"
)
def tcp_v6_connect(k: NetKernel, sk: int, uaddr: int, addr_len: int) -> int:
    """No address family."""
    return -EAFNOSUPPORT


@kernel_function(
    "int inet6_bind(struct socket *sock, struct sockaddr *uaddr, int addr_len)", source="net/ipv6/af_inet6.c"
)
def inet6_bind(k: NetKernel, sock: int, uaddr: int, addr_len: int) -> int:
    """No address family."""
    return -EAFNOSUPPORT


@kernel_function(
    "struct sock *tcp_v6_syn_recv_sock(const struct sock *sk, struct sk_buff *skb, struct request_sock *req, "
    "struct dst_entry *dst, struct request_sock *req_unhash, bool *own_req)",
    source="net/ipv6/tcp_ipv6.c",
    since="4.4",
)
def tcp_v6_syn_recv_sock(k: NetKernel, sk: int, skb: int, req: int, dst: int, req_unhash: int, own_req: int) -> int:
    """No connection."""
    return 0
