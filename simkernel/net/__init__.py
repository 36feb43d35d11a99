"""The network: sk_buff, net_device, IPv4 with UDP, TCP, ICMP and packet sockets.  Mirrors net/.

Small but real: frames are bytes in kernel memory, every layer is a kernel function with its Linux name that a probe
can sit on, and the structures that BPF programs walk (sk_buff, sock, net_device) hold true values.  The devices are
`lo` and `eth0`, whose other end is a simulated host (see device.py).  Loss, retransmission and routing beyond
these two interfaces are not modelled; what is missing answers with the kernel's errno.
"""

from __future__ import annotations

from typing import Any

from simkernel.net import device, inet, inet6, ipv4, packet, proc, raw, socket, sockopt, tcp, transfer, udp, unix
from simkernel.net.state import Net

__all__ = [
    "Net",
    "inet",
    "inet6",
    "install",
    "ipv4",
    "packet",
    "proc",
    "raw",
    "socket",
    "sockopt",
    "tcp",
    "transfer",
    "udp",
    "unix",
]


def install(k: Any) -> None:
    """Create the network of a booting kernel: devices, protocol tables, /proc/net."""
    k.net = Net(k)
    device.install(k)
    proc.install(k)
