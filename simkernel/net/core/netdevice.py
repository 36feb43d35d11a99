"""struct net_device, and the machine's two interfaces.  include/linux/netdevice.h."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from arch.abi.inet import ARPHRD_ETHER, ARPHRD_LOOPBACK, IFF_BROADCAST, IFF_LOOPBACK, IFF_MULTICAST, IFF_RUNNING, IFF_UP
from simkernel.kernel.body import Body

STATISTICS = ("rx_packets", "rx_bytes", "rx_dropped", "tx_packets", "tx_bytes")


class Qdisc(Protocol):
    """struct Qdisc: a queueing discipline at the root of a device (net/sched/)."""

    addr: int
    handle: int
    kind: str
    dev: NetDevice

    def enqueue(self, skb: int) -> Body:
        """Take a packet, and send what may go (`yield from`)."""
        ...

    def destroy(self) -> None:
        """It is taken off."""


@dataclass
class NetDevice:
    """A struct net_device."""

    addr: int
    name: str
    ifindex: int
    mac: bytes
    address: bytes  # IPv4, network order
    prefix: int
    mtu: int
    flags: int
    xmit: str  # ndo_start_xmit: a kernel function
    stats: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATISTICS, 0))
    qdisc: Qdisc | None = None

    @property
    def hardware_type(self) -> int:
        """dev->type."""
        return ARPHRD_LOOPBACK if self.flags & IFF_LOOPBACK else ARPHRD_ETHER

    def on_link(self, address: bytes) -> bool:
        """Does this address belong to the device's network?"""
        shift = 32 - self.prefix
        return int.from_bytes(address, "big") >> shift == int.from_bytes(self.address, "big") >> shift


GATEWAY = bytes((10, 0, 2, 2))
GATEWAY_MAC = bytes.fromhex("525500010202")
#       name  ifindex  MAC              address            prefix  MTU    flags                                   xmit
DEVICES = (
    ("lo", 1, bytes(6), bytes((127, 0, 0, 1)), 8, 65536, IFF_UP | IFF_LOOPBACK | IFF_RUNNING, "loopback_xmit"),
    (
        "eth0", 2, bytes.fromhex("525400123456"), bytes((10, 0, 2, 15)), 24, 1500,
        IFF_UP | IFF_BROADCAST | IFF_RUNNING | IFF_MULTICAST, "sim_eth_xmit",
    ),
)  # fmt: skip
