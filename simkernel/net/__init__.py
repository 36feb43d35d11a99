"""The network: sk_buff, net_device, IPv4 with UDP, TCP, ICMP and packet sockets, unix sockets.  Mirrors net/.

Small but real: frames are bytes in kernel memory, every layer is a kernel function with its Linux name that a probe
can sit on, and the structures that BPF programs walk (sk_buff, sock, net_device) hold true values.  The devices are
`lo` and `eth0`, whose other end is a simulated host (sim_eth.py).  Routing beyond these two interfaces is not modelled; what is
missing answers with the kernel's errno.

Rooms: core/ (packets, socks, devices), sched/ (queueing disciplines), ipv4/, unix/, netlink/, and calls/ with the system calls on top; each imports only from
those before it.
"""

from __future__ import annotations

from simkernel.net import inet6, packet, proc, sim_eth
from simkernel.net.calls import socket as socket_calls
from simkernel.net.calls import sockopt, transfer
from simkernel.net.core import device
from simkernel.net.core.device import NET_TX_SOFTIRQ
from simkernel.net.core.state import Net
from simkernel.net.face import NetKernel
from simkernel.net.ipv4 import af_inet, icmp, ip_input, raw, tcp, tcp_input, tcp_timer, udp
from simkernel.net.netlink import sock as netlink_sock
from simkernel.net.sched import netem
from simkernel.net.sim_eth import inject
from simkernel.net.unix import connect as unix_connect
from simkernel.net.unix import transfer as unix_transfer

# The modules whose kernel functions and system calls a kernel with a network has.
DECLARED = (
    device, sim_eth, ip_input, icmp, udp, raw, tcp, tcp_input, tcp_timer, af_inet, packet, unix_connect, unix_transfer, inet6,
    socket_calls, transfer, sockopt, netlink_sock, netem,
)  # fmt: skip

__all__ = ["DECLARED", "Net", "inject", "install"]


def install(k: NetKernel) -> None:
    """Create the network of a booting kernel: devices, protocol tables, /proc/net."""
    k.net = Net(k.random)
    device.install(k)
    k.softirqs.actions[NET_TX_SOFTIRQ] = "net_tx_action"
    proc.install(k)
