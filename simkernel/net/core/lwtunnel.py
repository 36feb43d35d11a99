"""Packets of routes with programs: on the way in, out, and to the device.  net/core/{lwtunnel,lwt_bpf}.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import EAFNOSUPPORT, EINVAL, ENETDOWN, EPERM
from arch.abi.inet import ETH_P_IP, ETH_P_IPV6, IN6_ADDR_SIZE, IN_ADDR_SIZE
from arch.abi.lwtunnel import LWT_BPF_IN, LWT_BPF_OUT, LWT_BPF_XMIT
from arch.abi.rtnetlink import RTN_BROADCAST, RTN_LOCAL, RTN_MULTICAST
from arch.errors import KernelError
from bpf import uapi
from simkernel.kernel.body import Call
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.skb import Dst, Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_NOT_SPECIFIED, drop
from simkernel.net.core.tc import redirect
from simkernel.net.face import NetKernel

LWTUNNEL_XMIT_DONE, LWTUNNEL_XMIT_CONTINUE = 0, 0x100
XMIT_RECURSION_LIMIT = 8
TO_GROUPS = (RTN_MULTICAST, RTN_BROADCAST)


def _original_output(way: Dst) -> str:
    """dst->output, were there no tunnel."""
    if len(way.destination) == IN6_ADDR_SIZE:
        return "ip6_output"
    return "ip_mc_output" if way.kind in TO_GROUPS and not way.input else "ip_output"


def _original_input(way: Dst) -> str:
    """dst->input, were there no tunnel."""
    if len(way.destination) == IN6_ADDR_SIZE:
        return {RTN_MULTICAST: "ip6_mc_input", RTN_LOCAL: "ip6_input"}.get(way.kind, "ip6_forward")
    return "ip_local_deliver" if way.kind in (RTN_LOCAL, *TO_GROUPS) else "ip_forward"


def _has(way: Dst, kind: int) -> bool:
    return way.lwt is not None and kind in way.lwt.programs


def dst_output(k: NetKernel, net: int, sk: int, packet: Skb) -> Call:
    """dst_output(): to be yielded at once."""
    way = packet.dst
    assert way is not None
    name = "lwtunnel_output" if _has(way, LWT_BPF_OUT) else _original_output(way)
    return k.call(name, net, sk, packet.addr)


def dst_input(k: NetKernel, packet: Skb) -> Call:
    """dst_input(): to be yielded at once."""
    way = packet.dst
    assert way is not None
    return k.call("lwtunnel_input" if _has(way, LWT_BPF_IN) else _original_input(way), packet.addr)


def before_neighbour(k: NetKernel, packet: Skb, way: Dst) -> Steps[int]:
    """lwtunnel_xmit() of a route that has one: LWTUNNEL_XMIT_CONTINUE, or the packet is somebody else's (`yield from`)."""
    if not _has(way, LWT_BPF_XMIT):
        return LWTUNNEL_XMIT_CONTINUE
    ret = yield k.call("lwtunnel_xmit", packet.addr)
    return ret


def _deeper(k: NetKernel, skb: int, name: str) -> Steps[int]:
    """One tunnel within another, as often as the kernel bears it (`yield from`).  ENETDOWN."""
    if k.net.lwt_depth > XMIT_RECURSION_LIMIT:
        yield drop(k, k.net.skbs[skb])
        return -ENETDOWN
    k.net.lwt_depth += 1
    try:
        ret = yield k.call(name, skb)
    finally:
        k.net.lwt_depth -= 1
    return ret


@kernel_function(
    "int lwtunnel_output(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/core/lwtunnel.c"
)
def lwtunnel_output(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """The route's tunnel has a say on what goes out."""
    return (yield k.call("bpf_output", net, sk, skb))


@kernel_function("int lwtunnel_xmit(struct sk_buff *skb)", source="net/core/lwtunnel.c")
def lwtunnel_xmit(k: NetKernel, skb: int) -> Body:
    """The same right before the neighbour."""
    return (yield from _deeper(k, skb, "bpf_xmit"))


@kernel_function("int lwtunnel_input(struct sk_buff *skb)", source="net/core/lwtunnel.c")
def lwtunnel_input(k: NetKernel, skb: int) -> Body:
    """The same on what comes in."""
    return (yield from _deeper(k, skb, "bpf_input"))


def _run(k: NetKernel, packet: Skb, kind: int) -> Steps[int]:
    """run_lwt_bpf(): an answer that lets the packet live, or -errno (`yield from`)."""
    assert packet.dst is not None and packet.dst.lwt is not None
    answer = packet.dst.lwt.programs[kind].run(packet)
    if answer in (uapi.BPF_OK, uapi.BPF_LWT_REROUTE):
        return answer
    if answer != uapi.BPF_REDIRECT:
        yield drop(k, packet)
        return -EPERM if answer == uapi.BPF_DROP else -EINVAL
    if kind != LWT_BPF_XMIT:
        return uapi.BPF_OK
    packet.reset_mac_header()
    yield from redirect(k, packet, SKB_DROP_REASON_NOT_SPECIFIED)
    if k.softirqs.due():  # local_bh_enable()
        yield k.call("do_softirq")
    return uapi.BPF_REDIRECT


@kernel_function("int bpf_output(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/core/lwt_bpf.c")
def bpf_output(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """A program lets the packet go out, or not."""
    packet = k.net.skbs[skb]
    answer = yield from _run(k, packet, LWT_BPF_OUT)
    if answer < 0:
        return answer
    assert packet.dst is not None
    return (yield k.call(_original_output(packet.dst), net, sk, skb))


@kernel_function("int bpf_input(struct sk_buff *skb)", source="net/core/lwt_bpf.c")
def bpf_input(k: NetKernel, skb: int) -> Body:
    """A program lets the packet in, or wants it routed anew."""
    packet = k.net.skbs[skb]
    assert packet.dst is not None
    original = _original_input(packet.dst)  # a program may have given it another way
    answer = yield from _run(k, packet, LWT_BPF_IN)
    if answer < 0:
        return answer
    if answer == uapi.BPF_LWT_REROUTE:
        return (yield from _reroute_input(k, packet))
    return (yield k.call(original, skb))


@kernel_function("int bpf_xmit(struct sk_buff *skb)", source="net/core/lwt_bpf.c")
def bpf_xmit(k: NetKernel, skb: int) -> Body:
    """A program lets the packet go to the neighbour, sends it elsewhere, or wants it routed anew."""
    packet = k.net.skbs[skb]
    protocol = packet.protocol()
    answer = yield from _run(k, packet, LWT_BPF_XMIT)
    if answer < 0:
        return answer
    if answer == uapi.BPF_REDIRECT:
        return LWTUNNEL_XMIT_DONE
    if answer == uapi.BPF_LWT_REROUTE:
        return (yield from _reroute_output(k, packet))
    if packet.protocol() != protocol:
        yield drop(k, packet)
        return -EINVAL
    return LWTUNNEL_XMIT_CONTINUE


def _addresses(packet: Skb) -> tuple[bytes, bytes, int]:
    """Source, destination and type of service of the header in front now.  EAFNOSUPPORT."""
    size = {ETH_P_IP: IN_ADDR_SIZE, ETH_P_IPV6: IN6_ADDR_SIZE}.get(packet.protocol())
    if size is None:
        raise KernelError(EAFNOSUPPORT)
    head = bytes(packet.mem.read(packet.network_header(), 40))
    at = 12 if size == IN_ADDR_SIZE else 8
    return head[at : at + size], head[at + size : at + 2 * size], head[1] & 0x1C if size == IN_ADDR_SIZE else 0


def _reroute_input(k: NetKernel, packet: Skb) -> Body:
    """bpf_lwt_input_reroute() (`yield from`)."""
    assert packet.dst is not None
    try:
        source, to, tos = _addresses(packet)
        packet.dst = k.net.ways_in[len(to)](packet.dst.dev, source, to, tos, packet.get("mark"))
    except KernelError as error:
        yield drop(k, packet)
        return -error.errno
    return (yield dst_input(k, packet))


def _reroute_output(k: NetKernel, packet: Skb) -> Body:
    """bpf_lwt_xmit_reroute() (`yield from`)."""
    assert packet.dst is not None
    net, sk = packet.dst.dev.net, k.net.socks.get(packet.get("sk"))
    try:
        source, to, tos = _addresses(packet)
        oif = sk.bound_ifindex if sk is not None else 0
        packet.dst = k.net.ways_out[len(to)](net, source, to, oif, tos, packet.get("mark"))
    except KernelError as error:
        yield drop(k, packet)
        return -error.errno
    yield dst_output(k, net.addr, packet.get("sk"), packet)
    return LWTUNNEL_XMIT_DONE
