"""Which listener hears of a connection.  net/ipv4/inet_hashtables.c, net/ipv6/inet6_hashtables.c."""

from __future__ import annotations

from arch.abi.inet import IPPROTO_TCP
from arch.abi.socket import AF_INET
from simkernel.net.core.netns import Net
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Sock, is_any
from simkernel.net.face import NetKernel
from simkernel.net.reuseport import Four, choose, select


def lookup_listener(k: NetKernel, net: Net, four: Four, iif: int, packet: Skb | None = None) -> Sock | None:
    """__inet_lookup_listener(): the one that a program of the namespace chooses, or the best match, or one of its group."""
    source, sport, destination, dport = four
    chosen = k.net.programs.sk_lookup(net, IPPROTO_TCP, source, sport, destination, dport, iif)
    if chosen is not None:
        return choose(k, chosen, k.net.tcp_listen, four, packet)
    listeners = k.net.tcp_listen.get((net, dport), ())
    sk = max((s for s in listeners if fits(s, destination)), key=fitness, default=None)
    return select(k, sk, listeners, four, packet) if sk is not None and sk.reuseport else sk


def fits(sk: Sock, destination: bytes) -> bool:
    """Does a listener hear of what is sent to an address?"""
    if sk.laddr == destination:
        return True
    if not is_any(sk.laddr):
        return False
    return len(sk.laddr) == len(destination) or (len(sk.laddr) > len(destination) and not sk.v6only)


def fitness(sk: Sock) -> tuple[bool, bool]:
    """compute_score(): the very address before any, its own family before both."""
    return not is_any(sk.laddr), sk.family == AF_INET
