"""Sockets that programs look for.  net/core/filter.c of Linux 6.1: bpf_sk_lookup() and its like.

What is found is the program's until it gives it back; no sock of this machine goes away while a program runs.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.inet import IPPROTO_TCP, IPPROTO_UDP, TCP_LISTEN, TCP_NEW_SYN_RECV, TCP_SYN_RECV, TCP_TIME_WAIT
from arch.abi.limits import S32_MAX, U32_MAX
from arch.records import dataclass
from bpf.helpers import Runtime, prototype
from bpf.packet.skbuff import NetDevice, SkBuff, Sock, XdpBuff

ADDRESSES = {12: 4, 36: 16}  # bytes of a struct bpf_sock_tuple, and of an address in it


@dataclass(frozen=True)
class Place:
    """Where a look-up begins: the namespace, and the device by which a packet came."""

    net: int
    ifindex: int = 0


def _of_device(rt: Runtime, device: int) -> Place:
    dev = NetDevice(rt.host, device)
    return Place(dev.get("nd_net"), dev.get("ifindex"))


def _of_sock(rt: Runtime, sk: int) -> Place:
    return Place(Sock(rt.host, sk).read(sk, "sock_common.skc_net"))


def _of_skb(rt: Runtime, ctx: int) -> Place:
    """Of its device, or of its sock where it has none."""
    skb = SkBuff(rt.host, ctx)
    device = skb.get("dev")
    return _of_device(rt, device) if device else _of_sock(rt, skb.get("sk"))


def _of_xdp(rt: Runtime, ctx: int) -> Place:
    rxq = XdpBuff(rt.host, ctx).get("rxq")
    return _of_device(rt, XdpBuff(rt.host, ctx).read(rxq, "xdp_rxq_info.dev"))


def _of_sock_addr(rt: Runtime, ctx: int) -> Place:
    return _of_sock(rt, Sock(rt.host, ctx).read(ctx, "bpf_sock_addr_kern.sk"))


def _lookup(rt: Runtime, protocol: int, place: Place, address: int, size: int, netns: int, flags: int) -> int:
    """__bpf_skc_lookup(): the sock, also one that is no full sock; 0 without."""
    width, sockets, netns = ADDRESSES.get(size), rt.host.sockets, netns & ((1 << 64) - 1)
    signed_id = netns & U32_MAX
    wrong = flags or not (signed_id > S32_MAX or netns <= S32_MAX)
    if width is None or sockets is None or wrong:
        return 0
    raw = bytes(rt.mem.read(address, size))
    source, destination = raw[:width], raw[width : 2 * width]
    sport, dport = (int.from_bytes(raw[at : at + 2], "big") for at in (2 * width, 2 * width + 2))
    nsid = None if signed_id > S32_MAX else signed_id
    return sockets.lookup(place.net, nsid, protocol, (source, sport, destination, dport), place.ifindex)


def _full(rt: Runtime, sk: int) -> int:
    """sk_to_full_sk(): of a request its listener; of what is left of a connection, nothing."""
    if not sk or rt.host.sockets is None:
        return 0
    state = Sock(rt.host, sk).read(sk, "sock_common.skc_state")
    if state in (TCP_SYN_RECV, TCP_NEW_SYN_RECV):
        return rt.host.sockets.listener(sk)
    return 0 if state == TCP_TIME_WAIT else sk


@prototype(
    "get_listener_sock",
    98,
    "5.1",
    returns="PTR_TO_SOCKET_OR_NULL",
    args="PTR_TO_SOCK_COMMON",
    given="cg_skb tc_cls_act",
)
def bpf_get_listener_sock(rt: Runtime, sk: int) -> int:
    """The listener of a request, or the sock if it listens."""
    full = _full(rt, sk)
    return full if full and Sock(rt.host, full).read(full, "sock_common.skc_state") == TCP_LISTEN else 0


@prototype(
    "sk_release",
    86,
    "4.20",
    args="PTR_TO_BTF_ID_SOCK_COMMON|OBJ_RELEASE",
    given="sock_addr cg_skb tc_cls_act xdp sk_skb sk_lookup",
)
def bpf_sk_release(rt: Runtime, sk: int) -> int:
    """Give back what was found."""
    return 0


@dataclass(frozen=True)
class Finder:
    """A helper that looks for socks: its name, number and version, what it looks for, and whether a request will do."""

    name: str
    number: int
    since: str
    protocol: int
    only_full: bool


FINDERS = (
    Finder("sk_lookup_tcp", 84, "4.20", IPPROTO_TCP, only_full=True),
    Finder("sk_lookup_udp", 85, "4.20", IPPROTO_UDP, only_full=True),
    Finder("skc_lookup_tcp", 99, "5.2", IPPROTO_TCP, only_full=False),
)


@dataclass(frozen=True)
class Variant:
    """The kernel has a copy of each for every kind of context: between bpf_ and the helper's name, whose, how it begins."""

    infix: str
    given: str
    place: Callable[[Runtime, int], Place]
    flags: str = "pkt_access"


VARIANTS = (
    Variant("", "cg_skb sk_skb", _of_skb),
    Variant("tc_", "tc_cls_act", _of_skb),
    Variant("xdp_", "xdp", _of_xdp),
    Variant("sock_addr_", "sock_addr", _of_sock_addr, flags=""),
)


def _finder(finder: Finder, variant: Variant) -> Callable[..., int]:
    def find(rt: Runtime, ctx: int, tuple_: int, size: int, netns: int, flags: int) -> int:
        """A sock in the namespace of the context's device or socket, or in the one with that number."""
        sk = _lookup(rt, finder.protocol, variant.place(rt, ctx), tuple_, size, netns, flags)
        return _full(rt, sk) if finder.only_full else sk

    return find


for _one in FINDERS:
    for _variant in VARIANTS:
        _func = f"bpf_{_variant.infix}{_one.name}"
        prototype(
            _one.name,
            0 if _variant.infix else _one.number,
            "" if _variant.infix else _one.since,
            returns="PTR_TO_SOCKET_OR_NULL" if _one.only_full else "PTR_TO_SOCK_COMMON_OR_NULL",
            args="PTR_TO_CTX PTR_TO_MEM|MEM_RDONLY CONST_SIZE ANYTHING ANYTHING",
            flags=_variant.flags,
            func=_func,
            proto=f"{_func}_proto",
            given=_variant.given,
        )(_finder(_one, _variant))
