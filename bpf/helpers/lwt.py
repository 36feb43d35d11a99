"""Headers that programs of routes put around packets.  net/core/{filter,lwt_bpf}.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.inet import ETH_P_IP, ETH_P_IPV6
from arch.abi.lwtunnel import LWT_BPF_MAX_HEADROOM
from bpf import uapi
from bpf.helpers import Runtime, prototype
from bpf.helpers.packet import clear_hash
from bpf.packet.checksum import csum_fold, csum_partial
from bpf.packet.skbuff import SkBuff

SHORTEST = {4: 20, 6: 40}  # header of each version, bytes
LL_RESERVED_SPACE = 16  # of Ethernet


def _push(rt: Runtime, skb: SkBuff, header: bytes, room: int) -> int:
    """bpf_lwt_push_ip_encap(): an IP header, and what follows it there, before the packet, with `room` bytes left.  EINVAL."""
    version = header[0] >> 4 if len(header) >= SHORTEST[4] else 0
    four = version == 4
    least = (header[0] & 15) * 4 if four else SHORTEST[6]
    if version not in SHORTEST or not least <= len(header) <= LWT_BPF_MAX_HEADROOM:
        return -EINVAL
    missing = len(header) + room - skb.headroom
    if missing > 0:
        skb.expand_head(missing, 0)
    if four and header[10:12] == bytes(2):
        header = header[:10] + csum_fold(csum_partial(header[:least], 0)).to_bytes(2, "little") + header[12:]
    skb.push_data(header)
    skb.reset_network_header()
    skb.compute_data_pointers()
    clear_hash(skb)
    skb.set_protocol(ETH_P_IP if four else ETH_P_IPV6)
    return 0


@prototype(
    "lwt_push_encap",
    73,
    "4.18",
    args="PTR_TO_CTX ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    flags="changes_pkt_data",
    func="bpf_lwt_in_push_encap",
    proto="bpf_lwt_in_push_encap_proto",
    given="lwt_in",
    missing="segment routing",
)
def bpf_lwt_in_push_encap(rt: Runtime, skb_at: int, kind: int, header: int, length: int) -> int:
    """Around a packet that comes in.  EINVAL."""
    skb = SkBuff(rt.host, skb_at)
    if kind != uapi.BPF_LWT_ENCAP_IP:
        return -EINVAL
    return _push(rt, skb, bytes(rt.mem.read(header, length)), skb.get("mac_len"))


@prototype(
    "lwt_push_encap",
    args="PTR_TO_CTX ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    flags="changes_pkt_data",
    func="bpf_lwt_xmit_push_encap",
    proto="bpf_lwt_xmit_push_encap_proto",
    given="lwt_xmit",
)
def bpf_lwt_xmit_push_encap(rt: Runtime, skb_at: int, kind: int, header: int, length: int) -> int:
    """Around one that goes to a device.  EINVAL."""
    if kind != uapi.BPF_LWT_ENCAP_IP:
        return -EINVAL
    return _push(rt, SkBuff(rt.host, skb_at), bytes(rt.mem.read(header, length)), LL_RESERVED_SPACE)
