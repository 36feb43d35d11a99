"""The clsact queueing discipline: classifiers that are BPF programs, on what comes in and goes out.

net/sched/{sch_ingress,cls_api,cls_bpf}.c, net/core/dev.c: sch_handle_ingress(), sch_handle_egress() of Linux 6.1.
"""

from __future__ import annotations

from arch.abi.inet import (
    ETH_HLEN,
    ETH_P_IP,
    ETH_P_IPV6,
    TC_ACT_OK,
    TC_ACT_REDIRECT,
    TC_ACT_SHOT,
    TC_ACT_STOLEN,
    TC_ACT_TRAP,
    TC_ACT_UNSPEC,
)
from arch.abi.rtnetlink import RTN_LOCAL, RTN_UNICAST
from arch.abi.socket import AF_INET, AF_INET6
from arch.errors import KernelError
from simkernel.kernel.face import Steps
from simkernel.net.core.clsact import Classifier, Filter
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.programs import Redirected
from simkernel.net.core.skb import Dst, Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_TC_EGRESS, SKB_DROP_REASON_TC_INGRESS, clone, drop
from simkernel.net.core.xdp import replace_frame
from simkernel.net.face import NetKernel

OPCODES = (TC_ACT_OK, TC_ACT_SHOT, TC_ACT_STOLEN, TC_ACT_TRAP, TC_ACT_REDIRECT, TC_ACT_UNSPEC)
TCX_ACTIONS = (TC_ACT_OK, TC_ACT_SHOT, TC_ACT_REDIRECT)


def _classify(k: NetKernel, filters: list[Filter], packet: Skb, ingress: bool) -> Steps[int]:
    """tcf_classify() and cls_bpf_classify() (`yield from`)."""
    for each in filters:
        answer = yield from _ask(k, each.classifier, packet, ingress)
        if each.direct:
            if answer in OPCODES and answer != TC_ACT_UNSPEC:
                return answer
        elif answer:
            return TC_ACT_OK
    return TC_ACT_UNSPEC


def _ask(k: NetKernel, program: Classifier, packet: Skb, ingress: bool) -> Steps[int]:
    """What a program says of a packet; the copies that it made go (`yield from`)."""
    answer = program.run(packet, ingress)
    for copy in k.net.programs.take_copies():
        yield from _send_copy(k, packet, copy)
    if ingress and (chosen := k.net.socks.get(packet.get("sk"))) is not None and chosen is not packet.sk:
        packet.assigned = chosen
    return answer


def _tcx_run(k: NetKernel, programs: list[Classifier], packet: Skb, ingress: bool) -> Steps[int]:
    """tcx_run(): up to the first that does not ask for the next one; what it says is an action, or asks for filters (`yield from`)."""
    answer = TC_ACT_UNSPEC
    for each in programs:
        answer = yield from _ask(k, each, packet, ingress)
        if answer != TC_ACT_UNSPEC:
            break
    return answer if answer in TCX_ACTIONS else TC_ACT_UNSPEC


def _run(k: NetKernel, packet: Skb, ingress: bool) -> Steps[int]:
    """Programs of bpf(2), then filters (`yield from`)."""
    address, action = packet.device.addr, TC_ACT_UNSPEC
    programs, found = k.net.tcx.get((address, ingress)), k.net.clsact.get(address)
    if programs:
        action = yield from _tcx_run(k, programs, packet, ingress)
    if action == TC_ACT_UNSPEC and found is not None and found.way(ingress):
        action = yield from _classify(k, found.way(ingress), packet, ingress)
    return action


def handle_ingress(k: NetKernel, packet: Skb) -> Steps[bool | None]:
    """sch_handle_ingress(): True if the packet goes on up the stack, None if it begins anew by another device (`yield from`)."""
    action = yield from _run(k, packet, True)
    return (yield from _act(k, packet, action, SKB_DROP_REASON_TC_INGRESS))


def handle_egress(k: NetKernel, packet: Skb) -> Steps[bool]:
    """sch_handle_egress(): True if the packet goes on to its device (`yield from`)."""
    action = yield from _run(k, packet, False)
    return bool((yield from _act(k, packet, action, SKB_DROP_REASON_TC_EGRESS)))


def _act(k: NetKernel, packet: Skb, action: int, reason: int) -> Steps[bool | None]:
    if action == TC_ACT_SHOT:
        yield drop(k, packet, reason)
    elif action in (TC_ACT_STOLEN, TC_ACT_TRAP):
        yield k.call("consume_skb", packet.addr)
    elif action == TC_ACT_REDIRECT:
        return (yield from redirect(k, packet, reason))
    else:
        return True
    return False


def redirect(k: NetKernel, packet: Skb, reason: int) -> Steps[bool | None]:
    """skb_do_redirect(): out of another device, in by it, to a neighbour there, or in at the other end of a veth pair."""
    way = k.net.programs.take_redirect()
    dev: NetDevice | None = packet.device.net.devices.get(way.ifindex)
    if dev is not None and way.peer:
        peer = dev.peer
        if reason == SKB_DROP_REASON_TC_INGRESS and peer is not None and peer.up and peer.net is not packet.device.net:
            packet.set_dev(peer)
            return None
        dev = None
    if dev is None or (way.neighbour and not _has_way(k, packet, dev, way.more)):
        yield drop(k, packet, reason)
    elif way.neighbour:
        yield k.call(
            "ip_finish_output2" if packet.protocol() == ETH_P_IP else "ip6_finish_output2", dev.net.addr, 0, packet.addr
        )
    else:
        yield from _send(k, packet, dev, way.ingress)
    return False


def _has_way(k: NetKernel, packet: Skb, dev: NetDevice, told: bytes) -> bool:
    """__bpf_redirect_neigh_v4(), _v6() up to the neighbour: the next hop that a program tells, or the route's."""
    family = int.from_bytes(told[:4], k.mem.byteorder)
    six = packet.protocol() == ETH_P_IPV6
    if not six and packet.protocol() != ETH_P_IP:
        return False
    packet.pull(max(packet.network_header() - packet.data, 0))
    header = packet.packet()[:40]
    if len(header) < (40 if six else 20):
        return False
    source, destination = (header[8:24], header[24:40]) if six else (header[12:16], header[16:20])
    packet.set_owner(None)
    if told:
        gateway = told[4:8] if family == AF_INET else told[4:20]
        packet.dst = Dst(dev, RTN_UNICAST, source, gateway, destination, dev.mtu)
        return family in (AF_INET, AF_INET6)
    try:
        found = k.net.ways[len(source)](dev, source, destination, packet.get("mark"))
    except KernelError:
        return False
    packet.dst = found
    return found.kind in (RTN_UNICAST, RTN_LOCAL)


def _send(k: NetKernel, packet: Skb, dev: NetDevice, ingress: bool) -> Steps[None]:
    """__bpf_redirect(): what has no link header goes nowhere."""
    if packet.get("mac_header") >= packet.get("network_header") or not packet.len:
        yield drop(k, packet)
        return
    if packet.data > packet.mac_header():
        packet.push(packet.data - packet.mac_header())
    if ingress:
        if not (yield k.call("__dev_forward_skb", dev.addr, packet.addr)):
            packet.set_owner(None)
            yield k.call("__netif_rx", packet.addr)
        return
    packet.set_dev(dev)
    yield k.call("__dev_queue_xmit", packet.addr, 0)


def _send_copy(k: NetKernel, packet: Skb, copy: Redirected) -> Steps[None]:
    """bpf_clone_redirect(): the frame as it was."""
    dev = packet.device.net.devices.get(copy.ifindex)
    if dev is None:
        return
    made = yield from clone(k, packet)
    made.dst = None
    if made.data > made.mac_header():
        made.push(made.data - made.mac_header())
    if made.packet() != copy.more:
        replace_frame(made, copy.more)
        made.push(ETH_HLEN)
    yield from _send(k, made, dev, copy.ingress)
