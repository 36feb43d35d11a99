"""Groups of socks that share a port (SO_REUSEPORT): which of them gets a packet.  net/core/sock_reuseport.c."""

from __future__ import annotations

from collections.abc import Sequence

from arch.abi.inet import TCP_ESTABLISHED
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel

Four = tuple[bytes, int, bytes, int]  # source and its port, destination and its port


def group_of(sk: Sock, socks: Sequence[Sock]) -> list[Sock]:
    """Those of its group: the same address, device and family rules."""
    return [
        other for other in socks
        if other.reuseport and other.laddr == sk.laddr and other.bound_ifindex == sk.bound_ifindex
        and other.v6only == sk.v6only and other.state != TCP_ESTABLISHED
    ]  # fmt: skip


def hash_of(four: Four) -> int:
    """inet_ehashfn(): some number of a connection, the same in every run."""
    source, sport, destination, dport = four
    number = int.from_bytes(source + destination, "big") ^ (sport << 16 | dport) * 0x9E3779B1
    return (number * 0x9E3779B97F4A7C15 >> 32) & 0xFFFFFFFF


def select(k: NetKernel, sk: Sock, socks: Sequence[Sock], four: Four, packet: Skb | None) -> Sock:
    """reuseport_select_sock(): as a program says, else by a hash."""
    group = group_of(sk, socks)
    number = hash_of(four)
    chosen = k.net.programs.reuseport(sk, group, packet, number) if packet is not None else None
    if chosen is not None:
        return chosen
    return group[number * len(group) >> 32] if group else sk
