"""XDP before the stack: generic mode, on any device.  net/core/dev.c of Linux 6.1: do_xdp_generic(), generic_xdp_tx()."""

from __future__ import annotations

from arch.abi.inet import ETH_HLEN
from simkernel.kernel.face import Steps
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.programs import XdpAnswer
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_XDP, clone, drop
from simkernel.net.face import NetKernel


def do_xdp_generic(k: NetKernel, packet: Skb) -> Steps[bool]:
    """True: the frame goes on up the stack; else it is somebody else's by now (`yield from`)."""
    if packet.redirected:
        return True
    answer = k.net.programs.xdp(packet.device, packet)
    if answer is None or answer.passes:
        return True
    yield from send_on(k, packet, answer)
    return False


def send_on(k: NetKernel, packet: Skb, answer: XdpAnswer) -> Steps[None]:
    """What does not go up the stack: out of devices, or dropped (`yield from`)."""
    if answer.taken:
        return
    if answer.used:
        yield k.call("consume_skb", packet.addr)
        return
    if not answer.targets:
        yield drop(k, packet, SKB_DROP_REASON_XDP)
        return
    for dev in answer.targets[:-1]:
        copy = yield from clone(k, packet)
        yield from _transmit(k, copy, dev)
    yield from _transmit(k, packet, answer.targets[-1])


def _transmit(k: NetKernel, packet: Skb, dev: NetDevice) -> Steps[None]:
    """generic_xdp_tx(): straight to the driver."""
    packet.push(packet.data - packet.mac_header())
    packet.set_dev(dev)
    dev.stats["tx_packets"] += 1
    dev.stats["tx_bytes"] += packet.len
    yield k.call(dev.xmit, packet.addr, dev.addr)


def replace_frame(packet: Skb, frame: bytes) -> None:
    """The frame as a program left it, from the link header on; what it says of its protocol counts."""
    packet.push(packet.data - packet.mac_header())
    more = len(frame) - packet.len
    if more > packet.tailroom:
        packet.expand_head(0, more)
    if more >= 0:
        packet.put(more)
    else:
        packet.trim(len(frame))
    packet.mem.write(packet.data, frame)
    packet.reset_mac_header()
    packet.pull(ETH_HLEN)
    packet.reset_network_header()
    packet.set_protocol(int.from_bytes(frame[12:14], "big"))
