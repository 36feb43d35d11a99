"""Network namespaces come and go.  net/core/net_namespace.c."""

from __future__ import annotations

from simkernel.fs.nsproxy import in_use
from simkernel.kernel.namespaces import Namespace
from simkernel.kernel.user_namespace import ns_address
from simkernel.net.core import conf
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.netns_struct import store_sysctls
from simkernel.net.core.registry import (
    dev_change_net_namespace,
    run_linkwatch,
    unregister_netdevices,
)
from simkernel.net.core.rules import default_rules
from simkernel.net.face import NetKernel


def setup_net(k: NetKernel, namespace: Namespace) -> Net:
    """setup_net(): the struct, what every family begins with, and a loopback that is down."""
    view = k.new("struct net")
    k.net.last_cookie += 1
    net = Net(view.addr, namespace, k.net.last_cookie, k.mm.charge)
    for member, value in (
        ("ns.inum", namespace.ino), ("net_cookie", net.cookie), ("user_ns", ns_address(k, namespace.owner)),
        ("ns.count.refs.counter", 1), ("passive.refs.counter", 1), ("hash_mix", k.net.own_random.getrandbits(32)),
    ):  # fmt: skip
        if k.types.has_member("struct net", member):
            k.types.setter("struct net", member)(k.mem, net.addr, value)
    conf.fresh(net, k.net.init if k.net.spaces else None, conf.tables(k.version))
    store_sysctls(k, net)
    default_rules(net.ipv4)
    default_rules(net.ipv6)
    k.net.spaces[net.addr] = net
    namespace.state = net
    for each in k.net.namespace_chain:
        each(net)
    return net


def cleanup_net(k: NetKernel, net: Net) -> None:
    """cleanup_net(): devices that are the machine's go back to its first network, the others with this one."""
    net.gone = True
    for each in k.net.departure_chain:
        each(net)
    for dev in [d for d in net.devices.values() if not d.kind.kind and not d.kind.local]:
        taken = k.net.init.named(dev.name) is not None
        dev_change_net_namespace(k, dev, k.net.init, f"dev{dev.ifindex}" if taken else "")
    doomed: list[NetDevice] = []
    for dev in list(net.devices.values()):
        if dev.kind.local:
            continue
        doomed += [d for d in dev.kind.doomed(dev) if d not in doomed]
    unregister_netdevices(k, doomed)
    unregister_netdevices(k, list(net.devices.values()))
    run_linkwatch(k)
    for other in k.net.spaces.values():
        number = other.peers.pop(net.addr, None)
        if number is not None:
            k.net.announce.namespace_id(other, number, gone=True)
    for sk in net.kernel_socks:
        sk.free()
    net.ipv4.give_back()
    net.ipv6.give_back()
    del k.net.spaces[net.addr]
    k.mem.free(net.addr)


def unused(k: NetKernel, net: Net) -> bool:
    """Nobody is in it, has it open, has it mounted, or has a socket of it."""
    return not net.gone and net is not k.net.init and not net.sockets and not in_use(k, net.namespace)


def sweep(k: NetKernel) -> None:
    """put_net(): namespaces that nobody needs any more."""
    if len(k.net.spaces) > 1:
        for net in [n for n in k.net.spaces.values() if unused(k, n)]:
            cleanup_net(k, net)
