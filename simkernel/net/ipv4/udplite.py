"""UDP-Lite's ways in: UDP's with another table of ports.  net/ipv4/udplite.c."""

from __future__ import annotations

from arch.abi.inet import IPPROTO_UDPLITE
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.udp import error_came


@kernel_function("int udplite_rcv(struct sk_buff *skb)", source="net/ipv4/udplite.c", until="7.2", jumps=True)
def udplite_rcv(k: NetKernel, skb: int) -> Body:
    """A datagram arrives."""
    return (yield k.call("__udp4_lib_rcv", skb, 0, IPPROTO_UDPLITE))


@kernel_function("int udplite_err(struct sk_buff *skb, u32 info)", source="net/ipv4/udplite.c", until="7.2")
def udplite_err(k: NetKernel, skb: int, info: int) -> Body:
    """An ICMP error about a datagram."""
    return (yield from error_came(k, skb, info, IPPROTO_UDPLITE))
