"""Routes and devices that programs ask for: bpf_fib_lookup(), bpf_check_mtu().  net/core/filter.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import EAFNOSUPPORT, EINVAL, ENODEV
from arch.abi.inet import ETH_HLEN, VLAN_HLEN
from arch.abi.limits import U16_MAX, U32_MAX
from arch.abi.socket import AF_INET, AF_INET6
from bpf import uapi
from bpf.helpers import Runtime, prototype
from bpf.helpers.packet import s32
from bpf.packet.skbuff import NetDevice, SkBuff, XdpBuff

BPF_FIB_LOOKUP_PARAMS_SIZE = 64
LOOKUP_TOT_LEN, LOOKUP_IFINDEX = 6, 8  # in struct bpf_fib_lookup
# The flags of struct bpf_fib_lookup: since when each is known.
FLAGS = ((uapi.BPF_FIB_LOOKUP_DIRECT, "4.18"), (uapi.BPF_FIB_LOOKUP_OUTPUT, "4.18"), (uapi.BPF_FIB_LOOKUP_SKIP_NEIGH, "6.1"),
         (uapi.BPF_FIB_LOOKUP_TBID, "6.1"), (uapi.BPF_FIB_LOOKUP_SRC, "6.1"))  # fmt: skip


def _fib_lookup(rt: Runtime, device: int, params: int, size: int, flags: int) -> int:
    """Where a packet would go, which has to fit if its length is told, and what the way takes; outside a machine no device forwards.  EINVAL, EAFNOSUPPORT, ENODEV."""
    known = sum(flag for flag, since in FLAGS if rt.bpf.version.at_least(since))
    if s32(size) < BPF_FIB_LOOKUP_PARAMS_SIZE or flags & U32_MAX & ~known:
        return -EINVAL
    if rt.host.sockets is None:
        if rt.mem.read_uint(params, 1) not in (AF_INET, AF_INET6):
            return -EAFNOSUPPORT
        return uapi.BPF_FIB_LKUP_RET_FWD_DISABLED if rt.mem.read_uint(params + LOOKUP_IFINDEX, 4) == 1 else -ENODEV
    net = NetDevice(rt.host, device).get("nd_net")
    given = bytes(rt.mem.read(params, BPF_FIB_LOOKUP_PARAMS_SIZE))
    answer, filled = rt.host.sockets.fib_lookup(net, given, flags)
    rt.mem.write(params, filled)
    return answer


@prototype(
    "fib_lookup",
    69,
    "4.18",
    args="PTR_TO_CTX PTR_TO_MEM CONST_SIZE ANYTHING",
    flags="gpl_only",
    func="bpf_skb_fib_lookup",
    proto="bpf_skb_fib_lookup_proto",
    given="tc_cls_act",
)
def bpf_skb_fib_lookup(rt: Runtime, skb_at: int, params: int, size: int, flags: int) -> int:
    """The device has to take the packet as it is where no length is told."""
    skb = SkBuff(rt.host, skb_at)
    checked = bool(rt.mem.read_uint(params + LOOKUP_TOT_LEN, 2))
    answer = _fib_lookup(rt, skb.get("dev"), params, size, flags)
    if answer == uapi.BPF_FIB_LKUP_RET_SUCCESS and not checked and not skb.is_gso:
        if skb.len > rt.mem.read_uint(params + LOOKUP_TOT_LEN, 2) + ETH_HLEN + VLAN_HLEN:
            return uapi.BPF_FIB_LKUP_RET_FRAG_NEEDED
    return answer


@prototype(
    "fib_lookup",
    args="PTR_TO_CTX PTR_TO_MEM CONST_SIZE ANYTHING",
    flags="gpl_only",
    func="bpf_xdp_fib_lookup",
    proto="bpf_xdp_fib_lookup_proto",
    given="xdp",
)
def bpf_xdp_fib_lookup(rt: Runtime, xdp_at: int, params: int, size: int, flags: int) -> int:
    """Frames of any length go where no length is told."""
    device = XdpBuff(rt.host, xdp_at).read(XdpBuff(rt.host, xdp_at).get("rxq"), "xdp_rxq_info.dev")
    return _fib_lookup(rt, device, params, size, flags)


def _check_mtu(rt: Runtime, device: int, ifindex: int, mtu_at: int, length: int, diff: int) -> int:
    dev, mtu, result = NetDevice(rt.host, device), 0, -ENODEV
    if device and ifindex & U32_MAX not in (0, dev.get("ifindex")):
        device = rt.host.net_device(ifindex & U32_MAX) or 0
        dev = NetDevice(rt.host, device)
    if device:
        mtu = dev.get("mtu")
        given = rt.mem.read_uint(mtu_at, 4)
        size = (given + ETH_HLEN if given else length) + s32(diff)
        result = uapi.BPF_MTU_CHK_RET_SUCCESS if size <= mtu + ETH_HLEN else uapi.BPF_MTU_CHK_RET_FRAG_NEEDED
    rt.mem.write_uint(mtu_at, 4, mtu)
    return result


@prototype(
    "check_mtu",
    163,
    "5.12",
    args="PTR_TO_CTX ANYTHING PTR_TO_FIXED_SIZE_MEM|MEM_UNINIT|MEM_WRITE|MEM_ALIGNED:4 ANYTHING ANYTHING",
    flags="gpl_only",
    func="bpf_skb_check_mtu",
    proto="bpf_skb_check_mtu_proto",
    given="tc_cls_act",
)
def bpf_skb_check_mtu(rt: Runtime, skb_at: int, ifindex: int, mtu_at: int, diff: int, flags: int) -> int:
    """Whether the packet fits through a device."""
    skb = SkBuff(rt.host, skb_at)
    if flags & ~1 or (flags & 1 and (s32(diff) or rt.mem.read_uint(mtu_at, 4))):
        rt.mem.write_uint(mtu_at, 4, 0)
        return -EINVAL
    result = _check_mtu(rt, skb.get("dev"), ifindex, mtu_at, skb.len, diff)
    if result == uapi.BPF_MTU_CHK_RET_FRAG_NEEDED and skb.is_gso:
        return -EINVAL if flags & 1 and skb.get("transport_header") == U16_MAX else uapi.BPF_MTU_CHK_RET_SUCCESS
    return result


@prototype(
    "check_mtu",
    args="PTR_TO_CTX ANYTHING PTR_TO_FIXED_SIZE_MEM|MEM_UNINIT|MEM_WRITE|MEM_ALIGNED:4 ANYTHING ANYTHING",
    flags="gpl_only",
    func="bpf_xdp_check_mtu",
    proto="bpf_xdp_check_mtu_proto",
    given="xdp",
)
def bpf_xdp_check_mtu(rt: Runtime, xdp_at: int, ifindex: int, mtu_at: int, diff: int, flags: int) -> int:
    """Whether the frame fits through a device."""
    xdp = XdpBuff(rt.host, xdp_at)
    if flags:
        rt.mem.write_uint(mtu_at, 4, 0)
        return -EINVAL
    device = xdp.read(xdp.get("rxq"), "xdp_rxq_info.dev")
    return _check_mtu(rt, device, ifindex, mtu_at, xdp.get("data_end") - xdp.get("data"), diff)
