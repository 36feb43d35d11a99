"""Helpers of programs on socket maps: where data goes, and how far a verdict reaches.  net/core/{sock_map,filter}.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOMEM
from arch.abi.limits import U32_MAX
from bpf import uapi
from bpf.helpers import Runtime, prototype
from bpf.maps.sock_map import SockMap
from bpf.packet.message import SkMsg
from bpf.packet.skbuff import SkBuff, Sock

MAX_PUSHED = 4 << 20  # bytes: the largest run of pages


def _target(rt: Runtime, map_ptr: int, key: bytes, flags: int) -> int:
    """The sock of the map that data may go to, 0 without."""
    if flags & ~uapi.BPF_F_INGRESS:
        return 0
    return rt.map_of(map_ptr, SockMap).redirect_target(key)


def _packet_to(rt: Runtime, skb: int, target: int, flags: int) -> int:
    """skb_bpf_set_redir()."""
    if not target:
        return uapi.SK_DROP
    at = SkBuff(rt.host, skb).redirect_at()
    rt.mem.write_uint(at, rt.host.structs.word, target | flags & uapi.BPF_F_INGRESS)
    return uapi.SK_PASS


def _message_to(rt: Runtime, msg: int, target: int, flags: int) -> int:
    if not target:
        return uapi.SK_DROP
    kern = Sock(rt.host, msg)
    kern.write(msg, "sk_msg.flags", flags)
    kern.write(msg, "sk_msg.sk_redir", target)
    return uapi.SK_PASS


def _index(rt: Runtime, key: int) -> bytes:
    return (key & 0xFFFFFFFF).to_bytes(4, rt.mem.byteorder)


@prototype(
    "sk_redirect_map", 52, "4.14", args="PTR_TO_CTX CONST_MAP_PTR ANYTHING ANYTHING", given="sk_skb", maps="SOCKMAP"
)
def sk_redirect_map(rt: Runtime, skb: int, map_ptr: int, key: int, flags: int) -> int:
    """A packet goes to the sock at an index."""
    return _packet_to(rt, skb, _target(rt, map_ptr, _index(rt, key), flags), flags)


@prototype(
    "sk_redirect_hash",
    72,
    "4.18",
    args="PTR_TO_CTX CONST_MAP_PTR PTR_TO_MAP_KEY ANYTHING",
    given="sk_skb",
    maps="SOCKHASH",
)
def sk_redirect_hash(rt: Runtime, skb: int, map_ptr: int, key: int, flags: int) -> int:
    """A packet goes to the sock of a key."""
    raw = bytes(rt.mem.read(key, rt.map_of(map_ptr, SockMap).key_size))
    return _packet_to(rt, skb, _target(rt, map_ptr, raw, flags), flags)


@prototype(
    "msg_redirect_map", 60, "4.17", args="PTR_TO_CTX CONST_MAP_PTR ANYTHING ANYTHING", given="sk_msg", maps="SOCKMAP"
)
def msg_redirect_map(rt: Runtime, msg: int, map_ptr: int, key: int, flags: int) -> int:
    """What is sent goes to the sock at an index instead."""
    return _message_to(rt, msg, _target(rt, map_ptr, _index(rt, key), flags), flags)


@prototype(
    "msg_redirect_hash",
    71,
    "4.18",
    args="PTR_TO_CTX CONST_MAP_PTR PTR_TO_MAP_KEY ANYTHING",
    given="sk_msg",
    maps="SOCKHASH",
)
def msg_redirect_hash(rt: Runtime, msg: int, map_ptr: int, key: int, flags: int) -> int:
    """What is sent goes to the sock of a key instead."""
    raw = bytes(rt.mem.read(key, rt.map_of(map_ptr, SockMap).key_size))
    return _message_to(rt, msg, _target(rt, map_ptr, raw, flags), flags)


@prototype("msg_apply_bytes", 61, "4.17", args="PTR_TO_CTX ANYTHING", given="sk_msg")
def msg_apply_bytes(rt: Runtime, msg: int, size: int) -> int:
    """The verdict holds for so many bytes, also of later messages."""
    Sock(rt.host, msg).write(msg, "sk_msg.apply_bytes", size & 0xFFFFFFFF)
    return 0


@prototype("msg_cork_bytes", 62, "4.17", args="PTR_TO_CTX ANYTHING", given="sk_msg")
def msg_cork_bytes(rt: Runtime, msg: int, size: int) -> int:
    """Ask again when there are so many bytes."""
    Sock(rt.host, msg).write(msg, "sk_msg.cork_bytes", size & 0xFFFFFFFF)
    return 0


def _edited(rt: Runtime, msg: int) -> SkMsg:
    return SkMsg(rt.host, msg, rt.bpf.message_pages)


@prototype(
    "msg_pull_data", 63, "4.17", args="PTR_TO_CTX ANYTHING ANYTHING ANYTHING", flags="changes_pkt_data", given="sk_msg"
)
def msg_pull_data(rt: Runtime, msg: int, start: int, end: int, flags: int) -> int:
    """data and data_end are those of a part, which lies in one piece then.  EINVAL."""
    return -EINVAL if flags else _edited(rt, msg).pull(start & U32_MAX, end & U32_MAX)


@prototype(
    "msg_push_data", 90, "4.20", args="PTR_TO_CTX ANYTHING ANYTHING ANYTHING", flags="changes_pkt_data", given="sk_msg"
)
def msg_push_data(rt: Runtime, msg: int, start: int, size: int, flags: int) -> int:
    """Room for so many bytes more at a place.  EINVAL, ENOMEM."""
    if size & U32_MAX > MAX_PUSHED:
        return -ENOMEM
    return -EINVAL if flags else _edited(rt, msg).push(start & U32_MAX, size & U32_MAX)


@prototype(
    "msg_pop_data", 91, "5.0", args="PTR_TO_CTX ANYTHING ANYTHING ANYTHING", flags="changes_pkt_data", given="sk_msg"
)
def msg_pop_data(rt: Runtime, msg: int, start: int, size: int, flags: int) -> int:
    """So many bytes from a place on go.  EINVAL."""
    return -EINVAL if flags else _edited(rt, msg).pop(start & U32_MAX, size & U32_MAX)
