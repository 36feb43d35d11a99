"""The clsact queueing discipline: classifiers that are BPF programs, on what comes in and goes out.

net/sched/{sch_ingress,cls_api,cls_bpf}.c, net/core/dev.c: sch_handle_ingress(), sch_handle_egress() of Linux 6.1.
"""

from __future__ import annotations

from arch.abi.inet import (
    ETH_HLEN,
    TC_ACT_OK,
    TC_ACT_REDIRECT,
    TC_ACT_SHOT,
    TC_ACT_STOLEN,
    TC_ACT_TRAP,
    TC_ACT_UNSPEC,
)
from bpf.uapi import BPF_F_INGRESS
from simkernel.kernel.face import Steps
from simkernel.net.core.clsact import Filter
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_TC_EGRESS, SKB_DROP_REASON_TC_INGRESS, drop
from simkernel.net.face import NetKernel

OPCODES = (TC_ACT_OK, TC_ACT_SHOT, TC_ACT_STOLEN, TC_ACT_TRAP, TC_ACT_REDIRECT, TC_ACT_UNSPEC)


def _classify(filters: list[Filter], packet: Skb, ingress: bool) -> int:
    """tcf_classify() and cls_bpf_classify()."""
    for each in filters:
        answer = each.classifier.run(packet, ingress)
        if each.direct:
            if answer in OPCODES and answer != TC_ACT_UNSPEC:
                return answer
        elif answer:
            return TC_ACT_OK
    return TC_ACT_UNSPEC


def handle_ingress(k: NetKernel, packet: Skb) -> Steps[bool]:
    """sch_handle_ingress(): True if the packet goes on up the stack (`yield from`)."""
    found = k.net.clsact.get(packet.device.addr)
    if found is None or not found.ingress:
        return True
    return (yield from _act(k, packet, _classify(found.ingress, packet, True), SKB_DROP_REASON_TC_INGRESS))


def handle_egress(k: NetKernel, packet: Skb) -> Steps[bool]:
    """sch_handle_egress(): True if the packet goes on to its device (`yield from`)."""
    found = k.net.clsact.get(packet.device.addr)
    if found is None or not found.egress:
        return True
    return (yield from _act(k, packet, _classify(found.egress, packet, False), SKB_DROP_REASON_TC_EGRESS))


def _act(k: NetKernel, packet: Skb, action: int, reason: int) -> Steps[bool]:
    if action == TC_ACT_SHOT:
        yield drop(k, packet, reason)
    elif action in (TC_ACT_STOLEN, TC_ACT_TRAP):
        yield k.call("consume_skb", packet.addr)
    elif action == TC_ACT_REDIRECT:
        yield from _redirect(k, packet, reason)
    else:
        return True
    return False


def _redirect(k: NetKernel, packet: Skb, reason: int) -> Steps[None]:
    """skb_do_redirect(): out of another device, or in by it."""
    ifindex, flags = k.net.programs.take_redirect()
    dev: NetDevice | None = packet.device.net.devices.get(ifindex)
    if dev is None:
        yield drop(k, packet, reason)
        return
    if packet.data > packet.mac_header():
        packet.push(packet.data - packet.mac_header())
    packet.set_dev(dev)
    if flags & BPF_F_INGRESS:
        packet.set_owner(None)
        packet.pull(ETH_HLEN)
        yield k.call("__netif_rx", packet.addr)
    else:
        yield k.call("__dev_queue_xmit", packet.addr, 0)
