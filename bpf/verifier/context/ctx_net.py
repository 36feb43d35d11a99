"""Contexts of programs at packets, sockets, devices and cgroups, a table each, and of the sockets they get.

The is_valid_access() functions of net/core/filter.c and kernel/bpf/cgroup.c of Linux 6.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from arch.abi.internal import READ
from bpf import uapi
from bpf.btf import Kind
from bpf.verifier.context.ctx_layout import (
    BPF_CGROUP_DEV_CTX,
    BPF_SK_LOOKUP,
    BPF_SOCK,
    BPF_SOCK_ADDR,
    BPF_SOCK_OPS,
    BPF_SOCKOPT,
    BPF_SYSCTL,
    BPF_TCP_SOCK,
    BPF_XDP_SOCK,
    SK_BUFF,
    SK_MSG_MD,
    SK_REUSEPORT_MD,
    XDP_MD,
    CtxLayout,
)
from bpf.verifier.context.ctx_rule import (
    ANY_WITHIN,
    WIDE_READ,
    WIDE_WRITE,
    Access,
    AccessInfo,
    CtxTable,
    CtxUser,
    Padding,
    Rights,
    exact,
    narrow,
)
from bpf.verifier.domain import types as t

# -- struct __sk_buff ----------------------------------------------------------------------------------

_SKB_FIELDS = [field.name for field in SK_BUFF.fields]
_SKB_SOCKET = SK_BUFF.span("family", "local_port")
_SKB_PADDING = Padding(range(SK_BUFF["gso_size"].end, SK_BUFF["hwtstamp"].offset), "5.7", "5.16")  # f64c4acea51f
_SKB_WHOLE_WORD = {"remote_ip4", "local_ip4", "remote_ip6", "local_ip6", "data", "data_meta", "data_end"}


def _skb_read(name: str) -> Access | None:
    """bpf_skb_is_valid_access() for a load."""
    if name == "cb":
        return ANY_WITHIN
    if name in _SKB_WHOLE_WORD:
        return exact(4)
    if name in ("hwtstamp", "tstamp"):
        return exact(8)
    if name == "sk":
        return exact(8, t.PTR_TO_SOCK_COMMON_OR_NULL)
    return None if name in ("flow_keys", "tstamp_type") else narrow(4)


def _skb_write(name: str) -> Access:
    """bpf_skb_is_valid_access() for a store."""
    if name == "cb":
        return ANY_WITHIN
    return exact(8 if name == "tstamp" else 4)


def _skb(denied: Iterable[str], writable: str, packet: str = "", bpf_only: str = "") -> CtxTable:
    """An __sk_buff of which some fields are denied, some may be written, and some are packet pointers."""
    pointers = {"data": t.PTR_TO_PACKET, "data_end": t.PTR_TO_PACKET_END, "data_meta": t.PTR_TO_PACKET_META}
    forbidden, privileged = set(denied), bpf_only.split()
    read = {n: access for n in _SKB_FIELDS if n not in forbidden and (access := _skb_read(n))}
    write = {n: _skb_write(n) for n in writable.split()}
    for name in packet.split():
        read[name] = replace(read[name], reg_type=pointers[name])
    for name in privileged:
        read[name] = replace(read[name], needs_bpf=name in ("data", "data_end"))
        if name in write:
            write[name] = replace(write[name], needs_bpf=True)
    table = CtxTable(SK_BUFF, read, write)
    table.padding = _SKB_PADDING
    return table


SK_FILTER = _skb(
    ["tc_classid", "data", "data_meta", "data_end", *_SKB_SOCKET, "tstamp", "wire_len", "hwtstamp"], writable="cb"
)
CG_SKB = _skb(
    ["tc_classid", "data_meta", "wire_len"],
    writable="mark priority cb tstamp",
    packet="data data_end",
    bpf_only="data data_end tstamp",
)
LWT = _skb(
    ["tc_classid", *_SKB_SOCKET, "data_meta", "tstamp", "wire_len", "hwtstamp"],
    writable="mark priority cb",
    packet="data data_end",
)
TC_CLS_ACT = _skb(
    _SKB_SOCKET,
    writable="mark tc_index priority tc_classid cb tstamp queue_mapping",
    packet="data data_meta data_end",
)
TC_CLS_ACT.read[SK_BUFF.offsetof("tstamp_type")] = (
    SK_BUFF.offsetof("tstamp_type"),
    SK_BUFF["tstamp_type"].end,
    replace(exact(1), since="5.18"),
)
SK_SKB = _skb(
    ["tc_classid", "data_meta", "tstamp", "wire_len", "hwtstamp", "mark"],
    writable="tc_index priority",
    packet="data data_end",
)
FLOW_DISSECTOR = CtxTable(
    SK_BUFF,
    {
        "data": exact(4, t.PTR_TO_PACKET),
        "data_end": exact(4, t.PTR_TO_PACKET_END),
        "flow_keys": exact(8, t.PTR_TO_FLOW_KEYS),
    },
)

# -- struct xdp_md -------------------------------------------------------------------------------------

XDP = CtxTable(
    XDP_MD,
    {
        "data": exact(4, t.PTR_TO_PACKET),
        "data_end": exact(4, t.PTR_TO_PACKET_END),
        "data_meta": exact(4, t.PTR_TO_PACKET_META),
        "ingress_ifindex": exact(4),
        "rx_queue_index": exact(4),
        "egress_ifindex": replace(exact(4), attach=frozenset({uapi.BPF_XDP_DEVMAP})),
    },
)

# -- struct bpf_sock: as a context, and behind PTR_TO_SOCKET and PTR_TO_SOCK_COMMON ---------------------------

_SOCK_NARROW_AT_START = ("state", "family", "type", "protocol", "src_port", "rx_queue_mapping")
_SOCK_NARROW = ("src_ip4", "src_ip6", "dst_ip4", "dst_ip6")


def _sock_access(name: str) -> Access:
    """bpf_sock_is_valid_access(), the same for loads and stores."""
    if name in _SOCK_NARROW_AT_START:
        return replace(narrow(4), at_start=True)
    return narrow(4) if name in _SOCK_NARROW else exact(4)


_SOCK: Rights = {field.name: _sock_access(field.name) for field in BPF_SOCK.fields}
SOCK = CtxTable(BPF_SOCK, _SOCK, _SOCK)
_DST_PORT = BPF_SOCK["dst_port"]


def sock_is_valid_access(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """bpf_sock_is_valid_access(): any field; dst_port is two bytes that may also be read as four."""
    if _DST_PORT.offset <= off < _DST_PORT.end and off % size == 0 and off >= 0:
        info.ctx_field_size = 4 if size == 4 else 2
        return bool(size <= info.ctx_field_size)
    return SOCK.check(prog, off, size, access, info)


_SOCK_COMMON_HIDDEN = range(BPF_SOCK.offsetof("type"), BPF_SOCK["priority"].end)


def sock_common_is_valid_access(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """bpf_sock_common_is_valid_access(): what a request or timewait socket has too."""
    return off not in _SOCK_COMMON_HIDDEN and sock_is_valid_access(prog, off, size, access, info)


def _range(layout: CtxLayout, *names: str) -> set[int]:
    return {offset for name in names for offset in range(layout[name].offset, layout[name].end)}


_SOCK_SETUP = {BPF_SOCK.offsetof(name) for name in ("bound_dev_if", "mark", "priority")}
_SOCK_SETUP_ATTACH = (uapi.BPF_CGROUP_INET_SOCK_CREATE, uapi.BPF_CGROUP_INET_SOCK_RELEASE)
_SOCK_BOUND: tuple[tuple[set[int], tuple[int, ...]], ...] = (
    (_range(BPF_SOCK, "src_ip4"), (uapi.BPF_CGROUP_INET4_POST_BIND,)),
    (_range(BPF_SOCK, "src_ip6"), (uapi.BPF_CGROUP_INET6_POST_BIND,)),
    (_range(BPF_SOCK, "src_port"), (uapi.BPF_CGROUP_INET4_POST_BIND, uapi.BPF_CGROUP_INET6_POST_BIND)),
)


def sock_filter(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """CGROUP_SOCK: sock_filter_is_valid_access(), fields by attach type."""
    if not sock_is_valid_access(prog, off, size, access, info):
        return False
    attach = prog.expected_attach_type
    if off in _SOCK_SETUP:
        return attach in _SOCK_SETUP_ATTACH
    for offsets, attach_types in _SOCK_BOUND:
        if off in offsets and attach not in attach_types:
            return False
    return access == READ


def _all(layout: CtxLayout, wide: tuple[str, ...] = ()) -> CtxTable:
    return CtxTable(layout, {field.name: exact(8 if field.name in wide else 4) for field in layout.fields})


TCP_SOCK = _all(BPF_TCP_SOCK, ("bytes_received", "bytes_acked"))
XDP_SOCK = _all(BPF_XDP_SOCK)
_COUNTER_MIDDLES = {BPF_TCP_SOCK.offsetof(name) + 4 for name in ("bytes_received", "bytes_acked")}


def tcp_sock_is_valid_access(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """bpf_tcp_sock_is_valid_access(); the verifier lets nobody write there.

    The second half of a counter is let through, and refused when the access cannot be converted.
    """
    if off in _COUNTER_MIDDLES:
        return bool(size == 4)
    return TCP_SOCK.check(prog, off, size, READ, info)


def xdp_sock_is_valid_access(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """bpf_xdp_sock_is_valid_access(); the verifier lets nobody write there."""
    return XDP_SOCK.check(prog, off, size, READ, info)


# -- struct bpf_sock_addr ------------------------------------------------------------------------------

_ADDR4 = frozenset(
    {
        uapi.BPF_CGROUP_INET4_BIND,
        uapi.BPF_CGROUP_INET4_CONNECT,
        uapi.BPF_CGROUP_INET4_GETPEERNAME,
        uapi.BPF_CGROUP_INET4_GETSOCKNAME,
        uapi.BPF_CGROUP_UDP4_SENDMSG,
        uapi.BPF_CGROUP_UDP4_RECVMSG,
    }
)
_ADDR6 = frozenset(
    {
        uapi.BPF_CGROUP_INET6_BIND,
        uapi.BPF_CGROUP_INET6_CONNECT,
        uapi.BPF_CGROUP_INET6_GETPEERNAME,
        uapi.BPF_CGROUP_INET6_GETSOCKNAME,
        uapi.BPF_CGROUP_UDP6_SENDMSG,
        uapi.BPF_CGROUP_UDP6_RECVMSG,
    }
)
_SEND4 = frozenset({uapi.BPF_CGROUP_UDP4_SENDMSG})
_SEND6 = frozenset({uapi.BPF_CGROUP_UDP6_SENDMSG})

SOCK_ADDR = CtxTable(
    BPF_SOCK_ADDR,
    {
        "user_family": exact(4),
        "user_ip4": replace(narrow(4), attach=_ADDR4),
        "user_ip6": replace(WIDE_READ, attach=_ADDR6),
        "user_port": narrow(4),
        "family": exact(4),
        "type": exact(4),
        "protocol": exact(4),
        "msg_src_ip4": replace(narrow(4), attach=_SEND4),
        "msg_src_ip6": replace(WIDE_READ, attach=_SEND6),
        "sk": exact(8, t.PTR_TO_SOCKET),
    },
    {
        "user_ip4": replace(exact(4), attach=_ADDR4),
        "user_ip6": replace(WIDE_WRITE, attach=_ADDR6),
        "user_port": exact(4),
        "msg_src_ip4": replace(exact(4), attach=_SEND4),
        "msg_src_ip6": replace(WIDE_WRITE, attach=_SEND6),
    },
)

# -- struct bpf_sock_ops -------------------------------------------------------------------------------

SOCK_OPS = CtxTable(
    BPF_SOCK_OPS,
    {
        **{field.name: exact(4) for field in BPF_SOCK_OPS.fields},
        "bytes_received": exact(8),
        "bytes_acked": exact(8),
        "sk": exact(8, t.PTR_TO_SOCKET_OR_NULL),
        "skb_data": exact(8, t.PTR_TO_PACKET),
        "skb_data_end": exact(8, t.PTR_TO_PACKET_END),
        "skb_tcp_flags": replace(narrow(4), at_start=True),
    },
    {"args": replace(exact(4), at_start=True), "sk_txhash": exact(4)},
)

# -- sockets and messages ------------------------------------------------------------------------------

SK_MSG = CtxTable(
    SK_MSG_MD,
    {
        **{field.name: exact(4) for field in SK_MSG_MD.fields},
        "data": exact(8, t.PTR_TO_PACKET),
        "data_end": exact(8, t.PTR_TO_PACKET_END),
        "sk": exact(8, t.PTR_TO_SOCKET),
    },
)
SK_REUSEPORT = CtxTable(
    SK_REUSEPORT_MD,
    {
        "data": exact(8, t.PTR_TO_PACKET),
        "data_end": exact(8, t.PTR_TO_PACKET_END),
        "len": narrow(4),
        "eth_protocol": replace(narrow(4), sizes=frozenset({2, 4})),
        "ip_protocol": narrow(4),
        "bind_inany": narrow(4),
        "hash": exact(4),
        "sk": exact(8, t.PTR_TO_SOCKET),
        "migrating_sk": exact(8, t.PTR_TO_SOCK_COMMON_OR_NULL),
    },
)
SK_LOOKUP = CtxTable(
    BPF_SK_LOOKUP,
    {**{field.name: narrow(4) for field in BPF_SK_LOOKUP.fields}, "sk": exact(8, t.PTR_TO_SOCKET_OR_NULL)},
)
_REMOTE_PORT = BPF_SK_LOOKUP["remote_port"]


def sk_lookup(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """sk_lookup_is_valid_access(): the port is two bytes, read as four by old programs, padding included."""
    if _REMOTE_PORT.offset <= off < _REMOTE_PORT.offset + 4:
        if access != READ or off % size:
            return False
        if size == 4:
            return True
        info.ctx_field_size = 2
        return size <= 2
    return SK_LOOKUP.check(prog, off, size, access, info)


_NETFILTER = {0: "nf_hook_state", 8: "sk_buff"}  # struct bpf_nf_ctx: two pointers


def netfilter(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """nf_is_valid_access() of net/netfilter/nf_bpf_link.c: what the hook was called with, and the packet."""
    name = _NETFILTER.get(off)
    if access != READ or size != 8 or name is None or prog.vmlinux is None:
        return False
    info.reg_type, info.btf = t.PTR_TO_BTF_ID | t.PTR_TRUSTED, prog.vmlinux
    info.btf_id = prog.vmlinux.find(name, Kind.STRUCT)
    return info.btf_id > 0


# -- control groups ------------------------------------------------------------------------------------

CG_DEV = CtxTable(BPF_CGROUP_DEV_CTX, {"access_type": narrow(4), "major": exact(4), "minor": exact(4)})
SYSCTL = CtxTable(BPF_SYSCTL, {"write": narrow(4), "file_pos": narrow(4)}, {"file_pos": exact(4)})

_GETSOCKOPT = frozenset({uapi.BPF_CGROUP_GETSOCKOPT})
_SETSOCKOPT = frozenset({uapi.BPF_CGROUP_SETSOCKOPT})
CG_SOCKOPT = CtxTable(
    BPF_SOCKOPT,
    {
        "sk": exact(8, t.PTR_TO_SOCKET),
        "optval": exact(8, t.PTR_TO_PACKET),
        "optval_end": exact(8, t.PTR_TO_PACKET_END),
        "level": exact(4),
        "optname": exact(4),
        "optlen": exact(4),
        "retval": replace(exact(4), attach=_GETSOCKOPT),
    },
    {
        "level": replace(exact(4), attach=_SETSOCKOPT),
        "optname": replace(exact(4), attach=_SETSOCKOPT),
        "optlen": exact(4),
        "retval": replace(exact(4), attach=_GETSOCKOPT),
    },
)
