"""Fields of struct __sk_buff in terms of struct sk_buff, and of struct xdp_md in terms of struct xdp_buff.

bpf_convert_ctx_access(), tc_cls_act_convert_ctx_access(), sk_skb_convert_ctx_access(), xdp_convert_ctx_access() of
net/core/filter.c, Linux 6.1.
"""

from __future__ import annotations

from bpf.isa.insn import (
    BPF_ADD,
    BPF_AND,
    BPF_JEQ,
    BPF_JGE,
    BPF_JNE,
    BPF_JSET,
    BPF_MOV,
    BPF_REG_AX,
    BPF_RSH,
    BPF_SUB,
    Insn,
)
from bpf.packet.skbuff import NO_QUEUE_MAPPING
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
from bpf.verifier.rewrite.fields import (
    Made,
    Row,
    Use,
    field,
    follow,
    temp,
    through,
    words_through,
)

MIN_NAPI_ID = 8193  # NR_CPUS of Debian's kernel and one; include/net/busy_poll.h
VLAN_ALL = "sk_buff.vlan_all"  # since 6.2: no bit says that there is a tag
MONO_DELIVERY_TIME = "sk_buff.mono_delivery_time"  # since 5.18
AT_INGRESS = "sk_buff.tc_at_ingress"

# -- struct __sk_buff ----------------------------------------------------------------------------------


def _pkt_type(use: Use) -> Made:
    place = use.kernel.place("sk_buff.pkt_type")
    insns = [ldx(1, use.dst, use.src, place.offset), alu32_imm(BPF_AND, use.dst, place.mask)]
    if place.shift:
        insns.append(alu32_imm(BPF_RSH, use.dst, place.shift))
    return insns, 1


def _queue_mapping(use: Use) -> Made:
    off = use.kernel.offset("sk_buff.queue_mapping")
    if use.write:
        return [jmp_imm(BPF_JGE, use.src, NO_QUEUE_MAPPING, 1), stx(2, use.dst, use.src, off)], 2
    return [ldx(2, use.dst, use.src, off)], 2


def _vlan_present(use: Use) -> Made:
    if use.kernel.has(VLAN_ALL):
        load = ldx(4, use.dst, use.src, use.kernel.offset(VLAN_ALL))
        return [load, jmp_imm(BPF_JEQ, use.dst, 0, 1), alu32_imm(BPF_MOV, use.dst, 1)], 1
    place = use.kernel.place("sk_buff.vlan_present")
    insns = [ldx(1, use.dst, use.src, place.offset)]
    if place.shift:
        insns.append(alu32_imm(BPF_RSH, use.dst, place.shift))
    if place.shift < 7:
        insns.append(alu32_imm(BPF_AND, use.dst, 1))
    return insns, 1


def _control_block(path: str, target: int = 0, whole: bool = True) -> Row:
    """A member of the private area sk_buff.cb; not `whole`: as many bytes of it as the program asks for."""

    def row(use: Use) -> Made:
        off, size, *_ = use.kernel.place(path)
        off += use.kernel.offset("sk_buff.cb")
        if not whole:
            off, size = off + use.at, use.size
        return [(stx if use.write else ldx)(size, use.dst, use.src, off)], target

    return row


def _napi_id(use: Use) -> Made:
    load = ldx(4, use.dst, use.src, use.kernel.offset("sk_buff.napi_id"))
    return [load, jmp_imm(BPF_JGE, use.dst, MIN_NAPI_ID, 1), mov64_imm(use.dst, 0)], 4


def _shinfo(use: Use) -> list[Insn]:
    """dst = skb_shinfo(skb); 32-bit machines keep the address itself"""
    if use.kernel.word == 4:
        return [follow(use, "sk_buff.end")]
    return [
        ldx(4, BPF_REG_AX, use.src, use.kernel.offset("sk_buff.end")),
        follow(use, "sk_buff.head"),
        alu64(BPF_ADD, use.dst, BPF_REG_AX),
    ]


def _shared_info(path: str) -> Row:

    def row(use: Use) -> Made:
        off, size, *_ = use.kernel.place(path)
        return [*_shinfo(use), ldx(size, use.dst, use.dst, off)], size

    return row


def _tstamp_write(use: Use) -> list[Insn]:
    store = stx(8, use.dst, use.src, use.kernel.offset("sk_buff.tstamp"))
    if use.tstamp_type_access or not use.kernel.has(MONO_DELIVERY_TIME):
        return [store]
    flags, _, mono, _ = use.kernel.place(MONO_DELIVERY_TIME)
    return [
        ldx(1, BPF_REG_AX, use.dst, flags),
        jmp32_imm(BPF_JSET, BPF_REG_AX, use.kernel.place(AT_INGRESS).mask, 1),
        ja(2),
        alu32_imm(BPF_AND, BPF_REG_AX, ~mono),
        stx(1, use.dst, BPF_REG_AX, flags),
        store,
    ]


def _tstamp_read(use: Use) -> list[Insn]:
    load = ldx(8, use.dst, use.src, use.kernel.offset("sk_buff.tstamp"))
    if use.tstamp_type_access or not use.kernel.has(MONO_DELIVERY_TIME):
        return [load]
    flags, _, mono, _ = use.kernel.place(MONO_DELIVERY_TIME)
    mask = use.kernel.place(AT_INGRESS).mask | mono
    return [
        ldx(1, BPF_REG_AX, use.src, flags),
        alu32_imm(BPF_AND, BPF_REG_AX, mask),
        jmp32_imm(BPF_JNE, BPF_REG_AX, mask, 2),
        mov64_imm(use.dst, 0),
        ja(1),
        load,
    ]


def _tstamp(use: Use) -> Made:
    return (_tstamp_write(use) if use.write else _tstamp_read(use)), 0


def _tstamp_type(use: Use) -> Made:
    if not use.kernel.has(MONO_DELIVERY_TIME):
        return [], 0  # padding, in a context of older kernels
    flags, _, mono, _ = use.kernel.place(MONO_DELIVERY_TIME)
    return [
        ldx(1, BPF_REG_AX, use.src, flags),
        jmp32_imm(BPF_JSET, BPF_REG_AX, mono, 2),
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
    "cb": _control_block("qdisc_skb_cb.data", whole=False),
    "hash": field("sk_buff.hash"),
    "tc_classid": _control_block("qdisc_skb_cb.tc_classid", target=2),
    "data": field("sk_buff.data", target=False),
    "data_end": _control_block("bpf_skb_data_end.data_end"),
    "napi_id": _napi_id,
    "family": through("sk_buff.sk", "sock_common.skc_family"),
    "remote_ip4": through("sk_buff.sk", "sock_common.skc_daddr"),
    "local_ip4": through("sk_buff.sk", "sock_common.skc_rcv_saddr"),
    "remote_ip6": words_through("sk_buff.sk", "sock_common.skc_v6_daddr"),
    "local_ip6": words_through("sk_buff.sk", "sock_common.skc_v6_rcv_saddr"),
    "remote_port": through("sk_buff.sk", "sock_common.skc_dport", port=True),
    "local_port": through("sk_buff.sk", "sock_common.skc_num"),
    "data_meta": _control_block("bpf_skb_data_end.data_meta"),
    "tstamp": _tstamp,
    "wire_len": _control_block("qdisc_skb_cb.pkt_len", target=4),
    "gso_segs": _shared_info("skb_shared_info.gso_segs"),
    "sk": field("sk_buff.sk", target=False),
    "gso_size": _shared_info("skb_shared_info.gso_size"),
    "tstamp_type": _tstamp_type,
    "hwtstamp": _shared_info("skb_shared_info.hwtstamps"),
}

SKB_TC = {**SKB, "ifindex": through("sk_buff.dev", "net_device.ifindex")}


def _sk_skb_data_end(use: Use) -> Made:
    """data_end = data + headlen, computed where it is asked for.  bpf_convert_data_end_access()."""
    room = "sk_skb_cb.temp_reg" if use.kernel.has("sk_skb_cb.temp_reg") else "tcp_skb_cb.bpf.data_end"
    same, temp_off = use.src == use.dst, use.kernel.offset("sk_buff.cb") + use.kernel.offset(room)
    reg = temp(use) if same else use.dst
    insns = [stx(8, use.src, reg, temp_off)] if same else []
    insns += [
        ldx(use.kernel.word, reg, use.src, use.kernel.offset("sk_buff.data")),
        ldx(4, BPF_REG_AX, use.src, use.kernel.offset("sk_buff.len")),
        alu64(BPF_ADD, reg, BPF_REG_AX),
        ldx(4, BPF_REG_AX, use.src, use.kernel.offset("sk_buff.data_len")),
        alu64(BPF_SUB, reg, BPF_REG_AX),
    ]
    if same:
        insns += [mov64(BPF_REG_AX, use.src), mov64(use.dst, reg), ldx(8, reg, BPF_REG_AX, temp_off)]
    return insns, 0


SKB_STREAM = {**SKB, "data_end": _sk_skb_data_end, "cb": _control_block("sk_skb_cb.data", whole=False)}

FLOW_DISSECTOR: dict[str, Row] = {
    name: field(f"bpf_flow_dissector.{name}", target=False) for name in ("data", "data_end", "flow_keys")
}

# -- struct xdp_md -------------------------------------------------------------------------------------


def _xdp_device(queue: str, info: str) -> Row:
    def row(use: Use) -> Made:
        return [
            follow(use, f"xdp_buff.{queue}"),
            ldx(use.kernel.word, use.dst, use.dst, use.kernel.offset(f"{info}.dev")),
            ldx(4, use.dst, use.dst, use.kernel.offset("net_device.ifindex")),
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
