"""VLAN tags.  net/core/filter.c, net/core/skbuff.c of Linux 6.1: skb_vlan_push(), skb_vlan_pop()."""

from __future__ import annotations

from arch.abi.errno import (
    EINVAL,
    ENOMEM,
)
from arch.abi.inet import ETH_HLEN, ETH_P_8021AD, ETH_P_8021Q, VLAN_HLEN
from arch.abi.limits import U16_MAX
from bpf.helpers import Runtime, prototype
from bpf.helpers.packet import make_headroom
from bpf.packet.skbuff import (
    SkBuff,
)


def _put_tag(skb: SkBuff, proto: bytes, tci: int) -> None:
    skb.mem.write(skb.at("vlan_proto"), proto)
    skb.set("vlan_tci", tci)
    skb.set_tagged(True)


@prototype(
    "skb_vlan_push",
    18,
    "4.3",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    flags="changes_pkt_data",
    given="tc_cls_act",
)
def bpf_skb_vlan_push(rt: Runtime, skb_at: int, proto: int, tci: int) -> int:
    """Give the packet a VLAN tag; a tag it has already goes into the packet."""
    skb, mem = SkBuff(rt.host, skb_at), rt.mem
    tag = (proto & U16_MAX).to_bytes(2, mem.byteorder)
    if int.from_bytes(tag, "big") not in (ETH_P_8021Q, ETH_P_8021AD):
        tag = ETH_P_8021Q.to_bytes(2, "big")
    result = 0
    if skb.tagged():
        if skb.data != skb.mac_header():
            result = -EINVAL
        else:
            _insert_tag(skb)
    if not result:
        _put_tag(skb, tag, tci & U16_MAX)
    skb.compute_data_pointers()
    return result


def _insert_tag(skb: SkBuff) -> None:
    """Write the tag beside the packet into it, after the addresses."""
    proto, tci = bytes(skb.mem.read(skb.at("vlan_proto"), 2)), skb.get("vlan_tci")
    make_headroom(skb, VLAN_HLEN)
    addresses = bytes(skb.mem.read(skb.data, 12))
    skb.push(VLAN_HLEN)
    skb.mem.write(skb.data, addresses + proto + tci.to_bytes(2, "big"))
    skb.set("mac_header", skb.get("mac_header") - VLAN_HLEN)
    skb.mem.write(skb.at("protocol"), proto)
    skb.set("mac_len", skb.get("mac_len") + VLAN_HLEN)


@prototype(
    "skb_vlan_pop",
    19,
    "4.3",
    args="PTR_TO_CTX",
    flags="changes_pkt_data",
    given="tc_cls_act",
)
def bpf_skb_vlan_pop(rt: Runtime, skb_at: int) -> int:
    """Take the VLAN tag off; one in the packet takes its place.  skb_vlan_pop()."""
    skb = SkBuff(rt.host, skb_at)
    result = _vlan_pop(skb)
    skb.compute_data_pointers()
    return result


def _is_vlan(skb: SkBuff) -> bool:
    return skb.protocol() in (ETH_P_8021Q, ETH_P_8021AD)


def _vlan_pop(skb: SkBuff) -> int:
    if skb.tagged():
        skb.set_tagged(False)
    elif not _is_vlan(skb):
        return 0
    elif (tci := _extract_tag(skb)) < 0:
        return tci
    if not _is_vlan(skb):
        return 0
    proto = bytes(skb.mem.read(skb.at("protocol"), 2))
    if (tci := _extract_tag(skb)) < 0:
        return tci
    _put_tag(skb, proto, tci)
    return 0


def _extract_tag(skb: SkBuff) -> int:
    """Take the outermost tag out of the packet; its TCI, or -errno.  __skb_vlan_pop()."""
    if skb.data != skb.mac_header():
        return -EINVAL
    if skb.len < ETH_HLEN + VLAN_HLEN:
        return -ENOMEM
    header = bytes(skb.mem.read(skb.data, ETH_HLEN + VLAN_HLEN))
    kind = int.from_bytes(header[16:18], "big")
    skb.set_protocol(kind if kind >= 0x0600 else skb.kind_of_802_3(skb.data + 18))
    skb.mem.write(skb.data + VLAN_HLEN, header[:12])
    skb.pull(VLAN_HLEN)
    skb.set("mac_header", skb.get("mac_header") + VLAN_HLEN)
    if skb.network_header() - skb.data < ETH_HLEN:
        skb.set("network_header", skb.headroom + ETH_HLEN)
    skb.set("mac_len", skb.get("network_header") - skb.get("mac_header"))
    return int.from_bytes(header[14:16], "big")
