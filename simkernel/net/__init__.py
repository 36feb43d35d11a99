"""The network: sk_buff, net_device, IPv4 with UDP, TCP, ICMP and packet sockets, unix and netlink sockets, namespaces.  Mirrors net/.

Small but real: frames are bytes in kernel memory, every layer is a kernel function with its Linux name that a probe
can sit on, and the structures that BPF programs walk (sk_buff, sock, net_device, net) hold true values.  The machine begins with
`lo` and `eth0`, whose other end is a simulated host (devices/sim_eth.py); more devices and namespaces are made over netlink.  What is
missing answers with the kernel's errno.

Rooms: core/ (namespaces, packets, socks, devices, neighbours), sched/ (queueing disciplines), ipv4/, devices/, unix/, netlink/, and
calls/ with the system calls on top; each imports only from those before it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from arch.abi.inet import ETH_P_ARP, ETH_P_IP, ETH_P_IPV6, IFF_UP, IN6_ADDR_SIZE, IN_ADDR_SIZE
from arch.abi.netlink import NLM_F_CREATE
from arch.abi.rtnetlink import (
    IFA_F_PERMANENT,
    NUD_PERMANENT,
    RT_SCOPE_UNIVERSE,
    RT_TABLE_MAIN,
    RTN_UNICAST,
    RTPROT_BOOT,
)
from arch.abi.socket import AF_INET, AF_INET6
from bpf.layout import layout_of
from simkernel.kernel.namespaces import Namespace, initial_namespace
from simkernel.net import alg, nexthop, proc, sysctl, sysfs
from simkernel.net.calls import socket as socket_calls
from simkernel.net.calls import socketcall, sockopt, transfer
from simkernel.net.core import datagram, device, lwtunnel, neighbour
from simkernel.net.core.charges import Charges
from simkernel.net.core.device import NET_RX_SOFTIRQ, NET_TX_SOFTIRQ, NIC_IRQ
from simkernel.net.core.net_namespace import setup_net, sweep
from simkernel.net.core.netns import Event, Ifaddr, Net, NetDevice, Nexthop, Route
from simkernel.net.core.registry import dev_change_flags, run_linkwatch, store
from simkernel.net.core.rules import Flow
from simkernel.net.core.state import Network
from simkernel.net.devices import dummy, loopback, netkit, sim_eth, veth
from simkernel.net.devices.sim_eth import ETH0_ADDRESS, ETH0_PREFIX, GATEWAY, GATEWAY_MAC, inject
from simkernel.net.face import NetKernel
from simkernel.net.ipv4 import (
    af_inet,
    arp,
    devinet,
    fib,
    icmp,
    ip_forward,
    ip_fragment,
    ip_input,
    ip_output,
    ping,
    raw,
    tcp,
    tcp_abort,
    tcp_input,
    tcp_keepalive,
    tcp_timer,
    udp,
    udplite,
)
from simkernel.net.ipv4.route import route_input, route_output
from simkernel.net.ipv6 import (
    addrconf,
    af_inet6,
    dad,
    ip6_input,
    ip6_output,
    ndisc,
    reassembly,
    tcp_ipv6,
)
from simkernel.net.ipv6 import icmp as icmp6
from simkernel.net.ipv6 import ping as ping6
from simkernel.net.ipv6 import raw as raw6
from simkernel.net.ipv6 import udp as udp6
from simkernel.net.ipv6 import udplite as udplite6
from simkernel.net.ipv6.route import route_input as route_input6
from simkernel.net.ipv6.route import route_output as route_output6
from simkernel.net.netlink import genetlink, link_kinds, netkit_kind, sock_diag, tc, tunnel_kinds, udp_tunnel_kinds
from simkernel.net.netlink import sock as netlink_sock
from simkernel.net.netlink.announce import Announcer
from simkernel.net.packet import af_packet
from simkernel.net.packet import fanout as packet_fanout
from simkernel.net.packet import mapping as packet_mapping
from simkernel.net.packet import receive as packet_receive
from simkernel.net.sched import netem
from simkernel.net.tunnels import geneve, ip_gre, ip_tunnel, ipip, vxlan
from simkernel.net.unix import connect as unix_connect
from simkernel.net.unix import garbage as unix_garbage
from simkernel.net.unix import transfer as unix_transfer
from simkernel.net.xdp import xsk

# The modules whose kernel functions and system calls a kernel with a network has.
DECLARED = (
    device, datagram, lwtunnel, neighbour, loopback, veth, netkit, dummy, sim_eth, ip_input, ip_output, ip_fragment, ip_forward, icmp, arp, devinet, udp, udplite,
    raw, ping, tcp, tcp_abort, tcp_input, tcp_keepalive, tcp_timer, af_inet, af_packet, packet_fanout, packet_mapping, packet_receive, alg, unix_connect, unix_garbage, unix_transfer, socket_calls, transfer, sockopt, socketcall,
    nexthop, netlink_sock, link_kinds, netkit_kind, tc, netem, addrconf, dad, ndisc, ip6_input, ip6_output, reassembly, icmp6, ping6, raw6, udp6, udplite6, tcp_ipv6,
    af_inet6, ip_tunnel, ip_gre, ipip, vxlan, geneve, tunnel_kinds, udp_tunnel_kinds,
)  # fmt: skip

NETLINK = (sock_diag, genetlink)  # protocols of netlink that register themselves
Notified = Callable[[NetKernel, NetDevice, Event], None]

__all__ = ["DECLARED", "Net", "Network", "inject", "install"]


def install(k: NetKernel) -> None:
    """Create the network of a booting kernel: the first namespace with its devices, protocol tables, /proc/net."""
    k.net = Network(k.random, k.seed, Charges(layout_of(k.types), k.version))
    k.net.backlog_napi = k.new("struct napi_struct").addr
    k.net.packet_types = {ETH_P_IP: "ip_rcv", ETH_P_ARP: "arp_rcv", ETH_P_IPV6: "ipv6_rcv"}
    k.net.kinds = {
        "veth": veth.Veth(k),
        "dummy": dummy.Dummy(k),
        "netkit": netkit.Netkit(k),
        "vxlan": vxlan.Vxlan(k),
        "geneve": geneve.Geneve(k),
    }
    for kind, xmit, ethernet in ip_tunnel.KINDS:
        k.net.kinds[kind] = ip_tunnel.TunnelKind(kind, xmit, ethernet)
    k.net.solicitors = {AF_INET: arp.Arp(k), AF_INET6: ndisc.Ndisc(k)}
    k.net.ways = {
        IN_ADDR_SIZE: lambda dev, source, to, mark: route_output(k, dev.net, Flow(to, source, dev.ifindex, mark=mark)),
        IN6_ADDR_SIZE: lambda dev, source, to, mark: route_output6(k, dev.net, to, source, dev.ifindex, mark),
    }
    k.net.ways_out = {
        IN_ADDR_SIZE: lambda net, source, to, oif, tos, mark: route_output(
            k, net, Flow(to, source, oif, tos=tos, mark=mark)
        ),
        IN6_ADDR_SIZE: lambda net, source, to, oif, tos, mark: route_output6(k, net, to, source, oif, mark),
    }
    k.net.ways_in = {
        IN_ADDR_SIZE: lambda dev, source, to, tos, mark: route_input(k, dev, to, source, tos, mark),
        IN6_ADDR_SIZE: lambda dev, source, to, tos, mark: route_input6(k, dev, to, source, mark),
    }
    k.net.replies = {IN_ADDR_SIZE: partial(ip_output.reply, k), IN6_ADDR_SIZE: partial(ip6_output.reply, k)}
    k.softirqs.actions[NET_RX_SOFTIRQ] = "net_rx_action"
    k.softirqs.actions[NET_TX_SOFTIRQ] = "net_tx_action"
    k.irqs.request(NIC_IRQ, "eth0")
    for told in (
        nexthop.netdev_event, arp.netdev_event, devinet.netdev_event, fib.netdev_event, ndisc.netdev_event, addrconf.netdev_event,
        xsk.device_event,
    ):  # fmt: skip
        k.net.netdev_chain.append(_with(k, told))
    k.net.namespace_chain.append(lambda net: _loopback(k, net))
    k.net.announce = Announcer(k)
    k.vfs.uevents.hear = partial(netlink_sock.carry_uevent, k)
    namespace = initial_namespace(k.version, "net")
    k.net.init = setup_net(k, namespace)
    namespace.state = None  # k.net.init is what it keeps
    bring_up(k)
    k.symbols.add("init_net", k.net.init.addr, k.types.sizeof("struct net"), "B")
    k.vfs.proxies.structs["net"] = lambda namespace: _struct(k, namespace)
    for task in k.tasks.by_pid.values():
        k.vfs.proxies.publish(k, task)
    k.vfs.namespaces.make_net = lambda made: _new(k, made)
    k.vfs.namespaces.when_released.append(lambda: sweep(k))
    proc.install(k)
    sysctl.install(k)
    sysfs.install(k)


def _with(k: NetKernel, told: Notified) -> Callable[[NetDevice, Event], None]:
    return lambda dev, event: told(k, dev, event)


def _struct(k: NetKernel, namespace: Namespace | None) -> int:
    """Of the namespace that a task has, or the first."""
    net = namespace.state if namespace is not None else None
    return net.addr if isinstance(net, Net) else k.net.init.addr


def _new(k: NetKernel, made: Namespace) -> None:
    setup_net(k, made)


def _loopback(k: NetKernel, net: Net) -> None:
    dev = loopback.make(k, net)
    store(k, dev)


def bring_up(k: NetKernel) -> None:
    """What start-up scripts have done: both devices are up, eth0 has its address and the default route."""
    net = k.net.init
    eth0 = sim_eth.make(k, net)
    dev_change_flags(k, net.loopback, net.loopback.flags | IFF_UP)
    tries = eth0.conf["ipv6"]["accept_dad"]
    eth0.conf["ipv6"]["accept_dad"] = 0  # its address was tried long ago
    dev_change_flags(k, eth0, eth0.flags | IFF_UP)
    eth0.conf["ipv6"]["accept_dad"] = tries
    broadcast = ETH0_ADDRESS[:3] + b"\xff"
    devinet.insert_address(
        k, Ifaddr(eth0, ETH0_ADDRESS, ETH0_PREFIX, ETH0_ADDRESS, RT_SCOPE_UNIVERSE, IFA_F_PERMANENT, broadcast, "eth0")
    )
    default = Route(
        bytes(4), 0, RT_TABLE_MAIN, RTN_UNICAST, RT_SCOPE_UNIVERSE, RTPROT_BOOT, nexthops=[Nexthop(eth0, GATEWAY)]
    )
    fib.insert(k, net, default, NLM_F_CREATE)
    known = neighbour.create(k, eth0, GATEWAY)
    known.mac, known.state = GATEWAY_MAC, NUD_PERMANENT
    neighbour.store(k, known)
    run_linkwatch(k)
