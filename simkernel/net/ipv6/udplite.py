"""UDP-Lite's ways in by IPv6: UDP's with another table of ports.  net/ipv6/udplite.c."""

from __future__ import annotations

from arch.abi.inet import IPPROTO_UDPLITE
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.face import NetKernel
from simkernel.net.ipv6.udp import error_came


@kernel_function("int udplitev6_rcv(struct sk_buff *skb)", source="net/ipv6/udplite.c", until="7.2")
def udplitev6_rcv(k: NetKernel, skb: int) -> Body:
    """A datagram arrives."""
    return (yield k.call("__udp6_lib_rcv", skb, 0, IPPROTO_UDPLITE))


@kernel_function(
    "int udplitev6_err(struct sk_buff *skb, struct inet6_skb_parm *opt, u8 type, u8 code, int offset, __be32 info)",
    source="net/ipv6/udplite.c",
    until="7.2",
)
def udplitev6_err(k: NetKernel, skb: int, opt: int, type_: int, code: int, offset: int, info: int) -> Body:
    """An error about a datagram."""
    return (yield from error_came(k, skb, (type_, code, offset, info), IPPROTO_UDPLITE))
