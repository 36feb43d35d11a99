"""How each field of each context is really read and written: struct __sk_buff in terms of struct sk_buff, and so on.

The convert_ctx_access() member of each bpf_verifier_ops: net/core/filter.c, kernel/bpf/cgroup.c,
kernel/trace/bpf_trace.c of Linux 6.1.  One table per context, one row per field; a row makes the instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bpf.isa.insn import BPF_ADD, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JNE, BPF_JSET, BPF_LSH, BPF_REG_AX, BPF_SUB, Insn
from bpf.verifier.context.ctx_layout import (
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
from bpf.verifier.rewrite.emit import (
    alu32_imm,
    alu64,
    ja,
    jmp32_imm,
    jmp_imm,
    ldx,
    mov32_imm,
    mov64,
    mov64_imm,
    stx,
)
from bpf.verifier.rewrite.kernel_offsets import (
    PKT_TYPE_MAX,
    SKB_MONO_DELIVERY_TIME_MASK,
    TC_AT_INGRESS_MASK,
    offsetof,
    sizeof_field,
)

NO_QUEUE_MAPPING = 0xFFFF  # USHRT_MAX
MIN_NAPI_ID = 8193  # NR_CPUS of Debian's kernel and one; include/net/busy_poll.h
VLAN_PRESENT = "sk_buff.vlan_present"


@dataclass(frozen=True, slots=True)
class Use:
    """One load or store of a context field."""

    write: bool
    dst: int
    src: int
    off: int  # of the (widened) access in the context
    size: int  # bytes
    at: int = 0  # bytes from the start of the field
    tstamp_type_access: bool = False  # the program also reads __sk_buff.tstamp_type


Made = tuple[list[Insn], int]  # the instructions, and how many bytes of the field they really access (0: all asked for)
Row = Callable[[Use], Made]


def _temp(use: Use) -> int:
    """A register that is neither operand: R9, R8 or R7."""
    reg = 9
    for _ in range(2):
        if reg in (use.src, use.dst):
            reg -= 1
    return reg


def field(path: str, target: bool = True) -> Row:
    """The member itself."""
    off, size = offsetof(path), sizeof_field(path)
    made = size if target else 0

    def row(use: Use) -> Made:
        return [(stx if use.write else ldx)(size, use.dst, use.src, off)], made

    return row


def sized(path: str, target: int = 0) -> Row:
    """The member, as many bytes of it as the program asks for."""
    off = offsetof(path)

    def row(use: Use) -> Made:
        return [(stx if use.write else ldx)(use.size, use.dst, use.src, off + use.at)], target

    return row


def through(pointer: str, path: str, *more: Callable[[int], Insn], null_ok: bool = False, target: bool = True) -> Row:
    """A member of what a pointer member points to; with `null_ok`, 0 if it points to nothing."""
    off, size = offsetof(path), sizeof_field(path)

    def row(use: Use) -> Made:
        insns = [ldx(8, use.dst, use.src, offsetof(pointer))]
        if null_ok:
            insns.append(jmp_imm(BPF_JEQ, use.dst, 0, 1))
        insns.append(ldx(size, use.dst, use.dst, off))
        return insns + [make(use.dst) for make in more], size if target else 0

    return row


def words_through(pointer: str, path: str, null_ok: bool = False, target: int = 0) -> Row:
    """One of the four words of an IPv6 address behind a pointer."""

    def row(use: Use) -> Made:
        insns = [ldx(8, use.dst, use.src, offsetof(pointer))]
        if null_ok:
            insns.append(jmp_imm(BPF_JEQ, use.dst, 0, 1))
        return [*insns, ldx(4, use.dst, use.dst, offsetof(path) + use.at)], target

    return row


def _port_to_32(reg: int) -> Insn:
    """A big-endian port in the upper half of a word, as the context shows it."""
    return alu32_imm(BPF_LSH, reg, 16)


# -- struct __sk_buff ----------------------------------------------------------------------------------


def _pkt_type(use: Use) -> Made:
    load = ldx(1, use.dst, use.src, offsetof("sk_buff.pkt_type"))
    return [load, alu32_imm(BPF_AND, use.dst, PKT_TYPE_MAX)], 1


def _queue_mapping(use: Use) -> Made:
    off = offsetof("sk_buff.queue_mapping")
    if use.write:
        return [jmp_imm(BPF_JGE, use.src, NO_QUEUE_MAPPING, 1), stx(2, use.dst, use.src, off)], 2
    return [ldx(2, use.dst, use.src, off)], 2


def _vlan_present(use: Use) -> Made:
    return [ldx(1, use.dst, use.src, offsetof(VLAN_PRESENT)), alu32_imm(BPF_AND, use.dst, 1)], 1


def _control_block(path: str, size: int | None = None, target: int = 0) -> Row:
    """A member of the private area sk_buff.cb."""
    off = offsetof("sk_buff.cb") + offsetof(path)

    def row(use: Use) -> Made:
        bytes_ = size or use.size
        at = 0 if size else use.at
        return [(stx if use.write else ldx)(bytes_, use.dst, use.src, off + at)], target

    return row


def _napi_id(use: Use) -> Made:
    load = ldx(4, use.dst, use.src, offsetof("sk_buff.napi_id"))
    return [load, jmp_imm(BPF_JGE, use.dst, MIN_NAPI_ID, 1), mov64_imm(use.dst, 0)], 4


def _shinfo(use: Use) -> list[Insn]:
    """dst = skb_shinfo(skb)"""
    return [
        ldx(4, BPF_REG_AX, use.src, offsetof("sk_buff.end")),
        ldx(8, use.dst, use.src, offsetof("sk_buff.head")),
        alu64(BPF_ADD, use.dst, BPF_REG_AX),
    ]


def _shared_info(path: str) -> Row:
    off, size = offsetof(path), sizeof_field(path)

    def row(use: Use) -> Made:
        return [*_shinfo(use), ldx(size, use.dst, use.dst, off)], size

    return row


def _tstamp_write(use: Use) -> list[Insn]:
    store = stx(8, use.dst, use.src, offsetof("sk_buff.tstamp"))
    if use.tstamp_type_access:
        return [store]
    flags = offsetof(VLAN_PRESENT)
    return [
        ldx(1, BPF_REG_AX, use.dst, flags),
        jmp32_imm(BPF_JSET, BPF_REG_AX, TC_AT_INGRESS_MASK, 1),
        ja(2),
        alu32_imm(BPF_AND, BPF_REG_AX, ~SKB_MONO_DELIVERY_TIME_MASK),
        stx(1, use.dst, BPF_REG_AX, flags),
        store,
    ]


def _tstamp_read(use: Use) -> list[Insn]:
    load = ldx(8, use.dst, use.src, offsetof("sk_buff.tstamp"))
    if use.tstamp_type_access:
        return [load]
    mask = TC_AT_INGRESS_MASK | SKB_MONO_DELIVERY_TIME_MASK
    return [
        ldx(1, BPF_REG_AX, use.src, offsetof(VLAN_PRESENT)),
        alu32_imm(BPF_AND, BPF_REG_AX, mask),
        jmp32_imm(BPF_JNE, BPF_REG_AX, mask, 2),
        mov64_imm(use.dst, 0),
        ja(1),
        load,
    ]


def _tstamp(use: Use) -> Made:
    return (_tstamp_write(use) if use.write else _tstamp_read(use)), 0


def _tstamp_type(use: Use) -> Made:
    return [
        ldx(1, BPF_REG_AX, use.src, offsetof(VLAN_PRESENT)),
        jmp32_imm(BPF_JSET, BPF_REG_AX, SKB_MONO_DELIVERY_TIME_MASK, 2),
        mov32_imm(use.dst, 0),
        ja(1),
        mov32_imm(use.dst, 1),
    ], 0


SKB: dict[str, Row] = {
    "len": field("sk_buff.len"),
    "pkt_type": _pkt_type,
    "mark": field("sk_buff.mark"),
    "queue_mapping": _queue_mapping,
    "protocol": field("sk_buff.protocol"),
    "vlan_present": _vlan_present,
    "vlan_tci": field("sk_buff.vlan_tci"),
    "vlan_proto": field("sk_buff.vlan_proto"),
    "priority": field("sk_buff.priority"),
    "ingress_ifindex": field("sk_buff.skb_iif"),
    "ifindex": through("sk_buff.dev", "net_device.ifindex", null_ok=True),
    "tc_index": field("sk_buff.tc_index"),
    "cb": _control_block("qdisc_skb_cb.data"),
    "hash": field("sk_buff.hash"),
    "tc_classid": _control_block("qdisc_skb_cb.tc_classid", 2, target=2),
    "data": field("sk_buff.data", target=False),
    "data_end": _control_block("bpf_skb_data_end.data_end", 8),
    "napi_id": _napi_id,
    "family": through("sk_buff.sk", "sock_common.skc_family"),
    "remote_ip4": through("sk_buff.sk", "sock_common.skc_daddr"),
    "local_ip4": through("sk_buff.sk", "sock_common.skc_rcv_saddr"),
    "remote_ip6": words_through("sk_buff.sk", "sock_common.skc_v6_daddr"),
    "local_ip6": words_through("sk_buff.sk", "sock_common.skc_v6_rcv_saddr"),
    "remote_port": through("sk_buff.sk", "sock_common.skc_dport", _port_to_32),
    "local_port": through("sk_buff.sk", "sock_common.skc_num"),
    "data_meta": _control_block("bpf_skb_data_end.data_meta", 8),
    "tstamp": _tstamp,
    "wire_len": _control_block("qdisc_skb_cb.pkt_len", 4, target=4),
    "gso_segs": _shared_info("skb_shared_info.gso_segs"),
    "sk": field("sk_buff.sk", target=False),
    "gso_size": _shared_info("skb_shared_info.gso_size"),
    "tstamp_type": _tstamp_type,
    "hwtstamp": _shared_info("skb_shared_info.hwtstamps"),
}

SKB_TC = {**SKB, "ifindex": through("sk_buff.dev", "net_device.ifindex")}


def _sk_skb_data_end(use: Use) -> Made:
    """data_end = data + headlen, computed where it is asked for.  bpf_convert_data_end_access()."""
    same, temp_off = use.src == use.dst, offsetof("sk_buff.cb") + offsetof("sk_skb_cb.temp_reg")
    reg = _temp(use) if same else use.dst
    insns = [stx(8, use.src, reg, temp_off)] if same else []
    insns += [
        ldx(8, reg, use.src, offsetof("sk_buff.data")),
        ldx(4, BPF_REG_AX, use.src, offsetof("sk_buff.len")),
        alu64(BPF_ADD, reg, BPF_REG_AX),
        ldx(4, BPF_REG_AX, use.src, offsetof("sk_buff.data_len")),
        alu64(BPF_SUB, reg, BPF_REG_AX),
    ]
    if same:
        insns += [mov64(BPF_REG_AX, use.src), mov64(use.dst, reg), ldx(8, reg, BPF_REG_AX, temp_off)]
    return insns, 0


SKB_STREAM = {**SKB, "data_end": _sk_skb_data_end, "cb": _control_block("sk_skb_cb.data")}

FLOW_DISSECTOR: dict[str, Row] = {
    name: field(f"bpf_flow_dissector.{name}", target=False) for name in ("data", "data_end", "flow_keys")
}

# -- struct xdp_md -------------------------------------------------------------------------------------


def _xdp_device(queue: str, info: str) -> Row:
    def row(use: Use) -> Made:
        return [
            ldx(8, use.dst, use.src, offsetof(f"xdp_buff.{queue}")),
            ldx(8, use.dst, use.dst, offsetof(f"{info}.dev")),
            ldx(4, use.dst, use.dst, offsetof("net_device.ifindex")),
        ], 0

    return row


XDP: dict[str, Row] = {
    "data": field("xdp_buff.data", target=False),
    "data_end": field("xdp_buff.data_end", target=False),
    "data_meta": field("xdp_buff.data_meta", target=False),
    "ingress_ifindex": _xdp_device("rxq", "xdp_rxq_info"),
    "rx_queue_index": through("xdp_buff.rxq", "xdp_rxq_info.queue_index", target=False),
    "egress_ifindex": _xdp_device("txq", "xdp_txq_info"),
}

# -- struct bpf_sock -----------------------------------------------------------------------------------


def _rx_queue_mapping(use: Use) -> Made:
    load = ldx(2, use.dst, use.src, offsetof("sock.sk_rx_queue_mapping"))
    return [load, jmp_imm(BPF_JNE, use.dst, NO_QUEUE_MAPPING, 1), mov32_imm(use.dst, -1)], 4


SOCK: dict[str, Row] = {
    "bound_dev_if": field("sock.sk_bound_dev_if", target=False),
    "family": field("sock_common.skc_family"),
    "type": field("sock.sk_type"),
    "protocol": field("sock.sk_protocol"),
    "mark": field("sock.sk_mark", target=False),
    "priority": field("sock.sk_priority", target=False),
    "src_ip4": sized("sock_common.skc_rcv_saddr", target=4),
    "src_ip6": sized("sock_common.skc_v6_rcv_saddr", target=4),
    "src_port": field("sock_common.skc_num"),
    "dst_port": field("sock_common.skc_dport"),
    "dst_ip4": sized("sock_common.skc_daddr", target=4),
    "dst_ip6": sized("sock_common.skc_v6_daddr", target=4),
    "state": field("sock_common.skc_state"),
    "rx_queue_mapping": _rx_queue_mapping,
}


def _rtt_min(use: Use) -> Made:
    """struct minmax: the newest of three samples, its value after its time."""
    return [ldx(4, use.dst, use.src, offsetof("tcp_sock.rtt_min") + 4)], 0


TCP_SOCK: dict[str, Row] = {
    **{
        entry.name: field(f"tcp_sock.{entry.name}", target=False)
        for entry in BPF_TCP_SOCK.fields
        if entry.name not in ("rtt_min", "icsk_retransmits")
    },
    "rtt_min": _rtt_min,
    "icsk_retransmits": field("inet_connection_sock.icsk_retransmits", target=False),
}

XDP_SOCK: dict[str, Row] = {"queue_id": field("xdp_sock.queue_id", target=False)}

# -- struct bpf_sock_addr ------------------------------------------------------------------------------


def _addr(pointer: str, path: str, size: int | None = None, target: int | None = None) -> Row:
    """A member of the socket address; a store borrows a register, kept in tmp_reg meanwhile."""
    off, width = offsetof(path), sizeof_field(path)
    outer, temp_off = offsetof(f"bpf_sock_addr_kern.{pointer}"), offsetof("bpf_sock_addr_kern.tmp_reg")

    def row(use: Use) -> Made:
        bytes_ = min(width, use.size) if size == 0 else (size or use.size)
        place = off + (use.at if width == 16 else 0)
        made = target if target is not None else width
        if not use.write:
            return [ldx(8, use.dst, use.src, outer), ldx(bytes_, use.dst, use.dst, place)], made
        reg = _temp(use)
        return [
            stx(8, use.dst, reg, temp_off),
            ldx(8, reg, use.dst, outer),
            stx(bytes_, reg, use.src, place),
            ldx(8, reg, use.dst, temp_off),
        ], made

    return row


SOCK_ADDR: dict[str, Row] = {
    "user_family": _addr("uaddr", "sockaddr.sa_family", 2),
    "user_ip4": _addr("uaddr", "sockaddr_in.sin_addr"),
    "user_ip6": _addr("uaddr", "sockaddr_in6.sin6_addr", target=4),
    "user_port": _addr("uaddr", "sockaddr_in6.sin6_port", 0),
    "family": _addr("sk", "sock.sk_family", 2),
    "type": _addr("sk", "sock.sk_type", 2),
    "protocol": _addr("sk", "sock.sk_protocol", 2),
    "msg_src_ip4": _addr("t_ctx", "in_addr.s_addr"),
    "msg_src_ip6": _addr("t_ctx", "in6_addr.s6_addr32", target=4),
    "sk": field("bpf_sock_addr_kern.sk", target=False),
}

# -- struct bpf_sock_ops -------------------------------------------------------------------------------

_OPS_SK, _OPS_SKB = "bpf_sock_ops_kern.sk", "bpf_sock_ops_kern.skb"


def _full_sock(path: str | None, extra: int = 0, size: int = 0) -> Row:
    """A member of the socket if it is a full one, else 0; without `path`, the socket itself."""
    temp_off, full_off = offsetof("bpf_sock_ops_kern.temp"), offsetof("bpf_sock_ops_kern.is_fullsock")

    def row(use: Use) -> Made:
        same, reg = use.dst == use.src, _temp(use)
        full, skip = (reg if same else use.dst), (1 if path is None else 2) + (2 if same else 0)
        insns = [stx(8, use.src, reg, temp_off)] if same else []
        insns += [ldx(1, full, use.src, full_off), jmp_imm(BPF_JEQ, full, 0, skip)]
        if same:
            insns.append(ldx(8, reg, use.src, temp_off))
        insns.append(ldx(8, use.dst, use.src, offsetof(_OPS_SK)))
        if path is not None:
            insns.append(ldx(size or sizeof_field(path), use.dst, use.dst, offsetof(path) + extra))
        if same:
            insns += [ja(2), ldx(8, reg, use.src, temp_off), mov64_imm(use.dst, 0)]
        return insns, 0

    return row


def _sk_txhash(use: Use) -> Made:
    """sk_txhash may also be written, with a borrowed register.  SOCK_OPS_SET_FIELD()."""
    if not use.write:
        return _full_sock("sock.sk_txhash")(use)
    reg, temp_off = _temp(use), offsetof("bpf_sock_ops_kern.temp")
    return [
        stx(8, use.dst, reg, temp_off),
        ldx(1, reg, use.dst, offsetof("bpf_sock_ops_kern.is_fullsock")),
        jmp_imm(BPF_JEQ, reg, 0, 2),
        ldx(8, reg, use.dst, offsetof(_OPS_SK)),
        stx(4, reg, use.src, offsetof("sock.sk_txhash")),
        ldx(8, reg, use.dst, temp_off),
    ], 0


def _skb_tcp_flags(use: Use) -> Made:
    return [
        ldx(8, use.dst, use.src, offsetof(_OPS_SKB)),
        jmp_imm(BPF_JEQ, use.dst, 0, 1),
        ldx(1, use.dst, use.dst, offsetof("sk_buff.cb") + offsetof("tcp_skb_cb.tcp_flags")),
    ], 1


def _replylong(use: Use) -> Made:
    off = offsetof("bpf_sock_ops_kern.replylong") + use.at
    return [(stx if use.write else ldx)(4, use.dst, use.src, off)], 0


_TCP_SOCK_FIELDS = [
    entry.name
    for entry in BPF_SOCK_OPS.fields
    if f"tcp_sock.{entry.name}" in TCP_SOCK or (entry.name in TCP_SOCK and entry.name != "rtt_min")
]

SOCK_OPS: dict[str, Row] = {
    **{name: _full_sock(f"tcp_sock.{name}") for name in _TCP_SOCK_FIELDS},
    "op": field("bpf_sock_ops_kern.op", target=False),
    "args": _replylong,
    "family": through(_OPS_SK, "sock_common.skc_family", target=False),
    "remote_ip4": through(_OPS_SK, "sock_common.skc_daddr", target=False),
    "local_ip4": through(_OPS_SK, "sock_common.skc_rcv_saddr", target=False),
    "remote_ip6": words_through(_OPS_SK, "sock_common.skc_v6_daddr"),
    "local_ip6": words_through(_OPS_SK, "sock_common.skc_v6_rcv_saddr"),
    "remote_port": through(_OPS_SK, "sock_common.skc_dport", _port_to_32, target=False),
    "local_port": through(_OPS_SK, "sock_common.skc_num", target=False),
    "is_fullsock": field("bpf_sock_ops_kern.is_fullsock", target=False),
    "state": through(_OPS_SK, "sock_common.skc_state", target=False),
    "rtt_min": _full_sock("tcp_sock.rtt_min", extra=4, size=4),
    "bpf_sock_ops_cb_flags": _full_sock("tcp_sock.bpf_sock_ops_cb_flags"),
    "sk_txhash": _sk_txhash,
    "sk": _full_sock(None),
    "skb_data_end": field("bpf_sock_ops_kern.skb_data_end", target=False),
    "skb_data": through(_OPS_SKB, "sk_buff.data", null_ok=True, target=False),
    "skb_len": through(_OPS_SKB, "sk_buff.len", null_ok=True, target=False),
    "skb_tcp_flags": _skb_tcp_flags,
}

# -- struct sk_msg_md, sk_reuseport_md, bpf_sk_lookup ---------------------------------------------------------

_MSG_SK = "sk_msg.sk"

SK_MSG: dict[str, Row] = {
    "data": field("sk_msg.data", target=False),
    "data_end": field("sk_msg.data_end", target=False),
    "family": through(_MSG_SK, "sock_common.skc_family", target=False),
    "remote_ip4": through(_MSG_SK, "sock_common.skc_daddr", target=False),
    "local_ip4": through(_MSG_SK, "sock_common.skc_rcv_saddr", target=False),
    "remote_ip6": words_through(_MSG_SK, "sock_common.skc_v6_daddr"),
    "local_ip6": words_through(_MSG_SK, "sock_common.skc_v6_rcv_saddr"),
    "remote_port": through(_MSG_SK, "sock_common.skc_dport", _port_to_32, target=False),
    "local_port": through(_MSG_SK, "sock_common.skc_num", target=False),
    "size": field("sk_msg_sg.size", target=False),
    "sk": field("sk_msg.sk", target=False),
}

SK_REUSEPORT: dict[str, Row] = {
    "data": through("sk_reuseport_kern.skb", "sk_buff.data"),
    "data_end": field("sk_reuseport_kern.data_end"),
    "len": through("sk_reuseport_kern.skb", "sk_buff.len"),
    "eth_protocol": through("sk_reuseport_kern.skb", "sk_buff.protocol"),
    "ip_protocol": through("sk_reuseport_kern.sk", "sock.sk_protocol"),
    "bind_inany": field("sk_reuseport_kern.bind_inany"),
    "hash": field("sk_reuseport_kern.hash"),
    "sk": field("sk_reuseport_kern.sk"),
    "migrating_sk": field("sk_reuseport_kern.migrating_sk"),
}


def _sk_lookup_words(pointer: str) -> Row:
    return words_through(f"bpf_sk_lookup_kern.{pointer}", "in6_addr.s6_addr32", null_ok=True, target=4)


def _zero(use: Use) -> Made:
    return [mov32_imm(use.dst, 0)], 2


SK_LOOKUP: dict[str, Row] = {
    "sk": field("bpf_sk_lookup_kern.selected_sk", target=False),
    "family": field("bpf_sk_lookup_kern.family"),
    "protocol": field("bpf_sk_lookup_kern.protocol"),
    "remote_ip4": field("bpf_sk_lookup_kern.v4.saddr"),
    "remote_ip6": _sk_lookup_words("v6.saddr"),
    "remote_port": field("bpf_sk_lookup_kern.sport"),
    "local_ip4": field("bpf_sk_lookup_kern.v4.daddr"),
    "local_ip6": _sk_lookup_words("v6.daddr"),
    "local_port": field("bpf_sk_lookup_kern.dport"),
    "ingress_ifindex": field("bpf_sk_lookup_kern.ingress_ifindex"),
}

# -- control groups ------------------------------------------------------------------------------------


def _file_pos(use: Use) -> Made:
    """*ppos, of which the program sees the low 32 bits."""
    ppos, temp_off = offsetof("bpf_sysctl_kern.ppos"), offsetof("bpf_sysctl_kern.tmp_reg")
    if not use.write:
        return [ldx(8, use.dst, use.src, ppos), ldx(use.size, use.dst, use.dst, 0)], 4
    reg = _temp(use)
    return [
        stx(8, use.dst, reg, temp_off),
        ldx(8, reg, use.dst, ppos),
        stx(4, reg, use.src, 0),
        ldx(8, reg, use.dst, temp_off),
    ], 4


SYSCTL: dict[str, Row] = {"write": sized("bpf_sysctl_kern.write", target=4), "file_pos": _file_pos}


def _sockopt_retval(use: Use) -> Made:
    """current->bpf_ctx->retval"""
    task, temp_off = offsetof("bpf_sockopt_kern.current_task"), offsetof("bpf_sockopt_kern.tmp_reg")
    ctx, retval = offsetof("task_struct.bpf_ctx"), offsetof("bpf_cg_run_ctx.retval")
    if not use.write:
        loads = [ldx(8, use.dst, use.src, task), ldx(8, use.dst, use.dst, ctx), ldx(4, use.dst, use.dst, retval)]
        return loads, 0
    reg = _temp(use)
    return [
        stx(8, use.dst, reg, temp_off),
        ldx(8, reg, use.dst, task),
        ldx(8, reg, reg, ctx),
        stx(4, reg, use.src, retval),
        ldx(8, reg, use.dst, temp_off),
    ], 0


SOCKOPT: dict[str, Row] = {
    **{entry.name: field(f"bpf_sockopt_kern.{entry.name}", target=False) for entry in BPF_SOCKOPT.fields[:6]},
    "retval": _sockopt_retval,
}

# -- struct bpf_perf_event_data --------------------------------------------------------------------------


def perf_event(use: Use, regs_size: int) -> Made:
    """Registers first; then sample_period and addr, which are in struct perf_sample_data."""
    if use.off >= regs_size:
        path = "perf_sample_data.period" if use.off < regs_size + 8 else "perf_sample_data.addr"
        return through("bpf_perf_event_data_kern.data", path)(use)
    load = ldx(8, use.dst, use.src, offsetof("bpf_perf_event_data_kern.regs"))
    return [load, ldx(8, use.dst, use.dst, use.off)], 0


# -- finding the row --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Converter:
    """A context's layout and its rows, by byte offset."""

    layout: CtxLayout
    rows: dict[str, Row]

    def __call__(self, use: Use) -> Made:
        """The instructions for one access; nothing if no field starts there."""
        for entry in self.layout.fields:
            if use.off == entry.offset or (entry.count > 1 and entry.offset < use.off < entry.end):
                row = self.rows.get(entry.name)
                return row(replace(use, at=use.off - entry.offset)) if row else ([], 0)
        return [], 0


def convert_sk_lookup(use: Use) -> Made:
    """As the table says, but the padding after the port reads as zero."""
    if use.off == BPF_SK_LOOKUP["remote_port"].end:
        return _zero(use)
    return _SK_LOOKUP(use)


_SK_LOOKUP = Converter(BPF_SK_LOOKUP, SK_LOOKUP)

CONVERT_SKB = Converter(SK_BUFF, SKB)
CONVERT_SKB_TC = Converter(SK_BUFF, SKB_TC)
CONVERT_SKB_STREAM = Converter(SK_BUFF, SKB_STREAM)
CONVERT_FLOW_DISSECTOR = Converter(SK_BUFF, FLOW_DISSECTOR)
CONVERT_XDP = Converter(XDP_MD, XDP)
CONVERT_SOCK = Converter(BPF_SOCK, SOCK)
CONVERT_TCP_SOCK = Converter(BPF_TCP_SOCK, TCP_SOCK)
CONVERT_XDP_SOCK = Converter(BPF_XDP_SOCK, XDP_SOCK)
CONVERT_SOCK_ADDR = Converter(BPF_SOCK_ADDR, SOCK_ADDR)
CONVERT_SOCK_OPS = Converter(BPF_SOCK_OPS, SOCK_OPS)
CONVERT_SK_MSG = Converter(SK_MSG_MD, SK_MSG)
CONVERT_SK_REUSEPORT = Converter(SK_REUSEPORT_MD, SK_REUSEPORT)
CONVERT_SYSCTL = Converter(BPF_SYSCTL, SYSCTL)
CONVERT_SOCKOPT = Converter(BPF_SOCKOPT, SOCKOPT)
