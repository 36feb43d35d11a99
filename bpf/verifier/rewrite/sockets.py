"""Fields of the contexts that are about sockets: struct bpf_sock, bpf_tcp_sock, bpf_sock_addr, bpf_sock_ops, sk_msg_md,
sk_reuseport_md, bpf_sk_lookup, in terms of struct sock, tcp_sock and their like.

bpf_sock_convert_ctx_access() and its neighbours in net/core/filter.c, Linux 6.1.
"""

from __future__ import annotations

from bpf.isa.insn import BPF_JEQ, BPF_JNE
from bpf.packet.skbuff import NO_QUEUE_MAPPING
from bpf.verifier.context.ctx_layout import (
    BPF_SOCK_OPS,
    BPF_TCP_SOCK,
)
from bpf.verifier.rewrite.emit import (
    ja,
    jmp_imm,
    ldx,
    mov32_imm,
    mov64_imm,
    stx,
)
from bpf.verifier.rewrite.fields import (
    Made,
    Row,
    Use,
    field,
    follow,
    sized,
    temp,
    through,
    words_through,
)

# -- struct bpf_sock -----------------------------------------------------------------------------------


def _rx_queue_mapping(use: Use) -> Made:
    load = ldx(2, use.dst, use.src, use.kernel.offset("sock.sk_rx_queue_mapping"))
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
    return [ldx(4, use.dst, use.src, use.kernel.offset("tcp_sock.rtt_min") + 4)], 0


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

    def row(use: Use) -> Made:
        off, width, *_ = use.kernel.place(path)
        outer, word, *_ = use.kernel.place(f"bpf_sock_addr_kern.{pointer}")
        temp_off = use.kernel.offset("bpf_sock_addr_kern.tmp_reg")
        bytes_ = min(width, use.size) if size == 0 else (size or use.size)
        place = off + (use.at if width == 16 else 0)
        made = target if target is not None else width
        if not use.write:
            return [ldx(word, use.dst, use.src, outer), ldx(bytes_, use.dst, use.dst, place)], made
        reg = temp(use)
        return [
            stx(8, use.dst, reg, temp_off),
            ldx(word, reg, use.dst, outer),
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

    def row(use: Use) -> Made:
        temp_off, full_off = (
            use.kernel.offset("bpf_sock_ops_kern.temp"),
            use.kernel.offset("bpf_sock_ops_kern.is_fullsock"),
        )
        same, reg = use.dst == use.src, temp(use)
        full, skip = (reg if same else use.dst), (1 if path is None else 2) + (2 if same else 0)
        insns = [stx(8, use.src, reg, temp_off)] if same else []
        insns += [ldx(1, full, use.src, full_off), jmp_imm(BPF_JEQ, full, 0, skip)]
        if same:
            insns.append(ldx(8, reg, use.src, temp_off))
        insns.append(follow(use, _OPS_SK))
        if path is not None:
            insns.append(ldx(size or use.kernel.size(path), use.dst, use.dst, use.kernel.offset(path) + extra))
        if same:
            insns += [ja(2), ldx(8, reg, use.src, temp_off), mov64_imm(use.dst, 0)]
        return insns, 0

    return row


def _sk_txhash(use: Use) -> Made:
    """sk_txhash may also be written, with a borrowed register.  SOCK_OPS_SET_FIELD()."""
    if not use.write:
        return _full_sock("sock.sk_txhash")(use)
    reg, temp_off = temp(use), use.kernel.offset("bpf_sock_ops_kern.temp")
    return [
        stx(8, use.dst, reg, temp_off),
        ldx(1, reg, use.dst, use.kernel.offset("bpf_sock_ops_kern.is_fullsock")),
        jmp_imm(BPF_JEQ, reg, 0, 2),
        ldx(use.kernel.word, reg, use.dst, use.kernel.offset(_OPS_SK)),
        stx(4, reg, use.src, use.kernel.offset("sock.sk_txhash")),
        ldx(8, reg, use.dst, temp_off),
    ], 0


def _skb_tcp_flags(use: Use) -> Made:
    return [
        follow(use, _OPS_SKB),
        jmp_imm(BPF_JEQ, use.dst, 0, 1),
        ldx(1, use.dst, use.dst, use.kernel.offset("sk_buff.cb") + use.kernel.offset("tcp_skb_cb.tcp_flags")),
    ], 1


def _replylong(use: Use) -> Made:
    off = use.kernel.offset("bpf_sock_ops_kern.replylong") + use.at
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
    "remote_port": through(_OPS_SK, "sock_common.skc_dport", port=True, target=False),
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
    "remote_port": through(_MSG_SK, "sock_common.skc_dport", port=True, target=False),
    "local_port": through(_MSG_SK, "sock_common.skc_num", target=False),
    "size": field("sk_msg.sg.size", target=False),
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


def zero(use: Use) -> Made:
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
