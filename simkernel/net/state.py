"""The state of one kernel's network, and the constants that its layers share.

Addresses are 4 bytes in network order, ports plain ints; sizes are in bytes.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simkernel.net.device import NetDevice
    from simkernel.net.skb import Skb
    from simkernel.net.sock import Sock

RCV_SHUTDOWN, SEND_SHUTDOWN, SHUTDOWN_MASK = 1, 2, 3

LOOPBACK = b"\x7f\0\0\1"


# enum skb_drop_reason of 6.1, include/net/dropreason.h: the ones that this network can have.
SKB_DROP_REASON_NOT_SPECIFIED = 1
SKB_DROP_REASON_NO_SOCKET = 2
SKB_DROP_REASON_TCP_CSUM = 4
SKB_DROP_REASON_SOCKET_FILTER = 5
SKB_DROP_REASON_OTHERHOST = 8
SKB_DROP_REASON_IP_INHDR = 10
SKB_DROP_REASON_IP_NOPROTO = 14
SKB_DROP_REASON_SOCKET_RCVBUFF = 15
SKB_DROP_REASON_UNHANDLED_PROTO = 49

SK_RCVBUF = SK_SNDBUF = 212992  # net.core.rmem_default, wmem_default
TCP_RCVBUF, TCP_SNDBUF = 131072, 2626560  # net.ipv4.tcp_rmem[1]; what a loopback connection autotunes to


class Net:
    """What net/ keeps in global variables and in struct net (init_net)."""

    def __init__(self, k: Any) -> None:
        self.k = k
        self.devices: dict[int, NetDevice] = {}  # by ifindex
        self.skbs: dict[int, Skb] = {}  # live sk_buffs by kernel address
        self.socks: dict[int, Sock] = {}  # live socks by kernel address
        self.messages: dict[int, Any] = {}  # struct msghdr address -> socket.Message
        self.sockets: dict[int, Any] = {}  # struct socket address -> socket.Socket
        self.backlog: deque[Skb] = deque()  # softnet_data.input_pkt_queue
        self.udp: dict[int, list[Sock]] = {}  # bound UDP socks by port
        self.tcp_bound: dict[int, list[Sock]] = {}
        self.tcp_listen: dict[int, list[Sock]] = {}
        self.tcp_established: dict[tuple[bytes, int, bytes, int], Sock] = {}
        self.time_wait: dict[tuple[bytes, int, bytes, int], int] = {}
        self.staged: dict[int, bytes] = {}  # data on its way from tcp_sendmsg to tcp_write_xmit
        self.raw: list[Sock] = []
        self.packet: list[Sock] = []
        self.init_net = 0  # kernel address of init_net
        self.ip_id = 0
        # The machine's own count of what happened, to compare observers with: see docs.
        self.counters: dict[str, int] = {"dropped": 0, "received": 0, "transmitted": 0, "bytes_sent": 0}

    def ephemeral_port(self, taken: dict[int, list[Sock]]) -> int:
        """A free local port from net.ipv4.ip_local_port_range, chosen by the machine's seeded randomness."""
        low, high = 32768, 60999
        start: int = self.k.random.randrange(low, high + 1)
        for port in (*range(start, high + 1), *range(low, start)):
            if not taken.get(port):
                return int(port)
        return 0


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of some bytes."""
    if len(data) & 1:
        data += b"\0"
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
