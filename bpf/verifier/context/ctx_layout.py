"""The context structures that programs see.  include/uapi/linux/bpf.h, Linux 6.1; offsets and sizes in bytes.

A layout is written as `field:size` words in the order of the header; `field:size*count` is an array, `_:n` is
padding, `@5.16` the version that added the field.  Offsets follow from natural alignment, and each structure's
size is written down beside it and checked at import.
"""

from __future__ import annotations

from arch.records import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """One member: bytes [offset, end), elements of `unit` bytes."""

    name: str
    offset: int
    unit: int
    count: int
    since: str | None

    @property
    def end(self) -> int:
        """First byte after the member."""
        return self.offset + self.unit * self.count


@dataclass(frozen=True, slots=True)
class CtxLayout:
    """One context structure."""

    name: str
    size: int
    fields: tuple[Field, ...]

    def __getitem__(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"{self.name}.{name}")

    def offsetof(self, name: str) -> int:
        """Offset of a member."""
        return self[name].offset

    def span(self, first: str, last: str) -> list[str]:
        """Names of all members from `first` to `last`."""
        names = [field.name for field in self.fields]
        return names[names.index(first) : names.index(last) + 1]


def _word(word: str, offset: int) -> Field:
    body, _, since = word.partition("@")
    name, _, shape = body.partition(":")
    unit_text, _, count_text = shape.partition("*")
    unit = int(unit_text)
    offset = -(-offset // unit) * unit if name != "_" else offset
    return Field(name, offset, unit, int(count_text or 1), since or None)


def _layout(name: str, size: int, text: str) -> CtxLayout:
    offset, fields = 0, []
    for word in text.split():
        field = _word(word, offset)
        offset = field.end
        fields.append(field)
    assert -(-offset // 8) * 8 == -(-size // 8) * 8 and offset <= size, (name, offset, size)
    return CtxLayout(name, size, tuple(field for field in fields if field.name != "_"))


SK_BUFF = _layout(
    "__sk_buff",
    192,
    """
    len:4 pkt_type:4 mark:4 queue_mapping:4 protocol:4 vlan_present:4 vlan_tci:4 vlan_proto:4 priority:4
    ingress_ifindex:4@4.2 ifindex:4@4.2 tc_index:4@4.2 cb:4*5@4.2 hash:4@4.3 tc_classid:4@4.4 data:4@4.7 data_end:4@4.7
    napi_id:4@4.12 family:4@4.14 remote_ip4:4@4.14 local_ip4:4@4.14 remote_ip6:4*4@4.14 local_ip6:4*4@4.14
    remote_port:4@4.14 local_port:4@4.14 data_meta:4@4.15 flow_keys:8@4.20 tstamp:8@5.0 wire_len:4@5.0 gso_segs:4@5.1
    sk:8@5.1 gso_size:4@5.7 tstamp_type:1@5.18 _:3 hwtstamp:8@5.16
    """,
)
XDP_MD = _layout(
    "xdp_md",
    24,
    "data:4 data_end:4 data_meta:4@4.15 ingress_ifindex:4@4.16 rx_queue_index:4@4.16 egress_ifindex:4@5.8",
)
BPF_SOCK = _layout(
    "bpf_sock",
    80,
    """
    bound_dev_if:4 family:4 type:4 protocol:4 mark:4@4.14 priority:4@4.14 src_ip4:4@4.17 src_ip6:4*4@4.17
    src_port:4@4.17 dst_port:2@5.1 _:2 dst_ip4:4@5.1 dst_ip6:4*4@5.1 state:4@5.1 rx_queue_mapping:4@5.8
    """,
)
BPF_SOCK_ADDR = _layout(
    "bpf_sock_addr",
    72,
    """
    user_family:4 user_ip4:4 user_ip6:4*4 user_port:4 family:4 type:4 protocol:4 msg_src_ip4:4@4.18
    msg_src_ip6:4*4@4.18 sk:8@5.3
    """,
)
BPF_SOCK_OPS = _layout(
    "bpf_sock_ops",
    216,
    """
    op:4 args:4*4 family:4 remote_ip4:4 local_ip4:4 remote_ip6:4*4 local_ip6:4*4 remote_port:4 local_port:4
    is_fullsock:4@4.16 snd_cwnd:4@4.16 srtt_us:4@4.16 bpf_sock_ops_cb_flags:4@4.16 state:4@4.16 rtt_min:4@4.16
    snd_ssthresh:4@4.16 rcv_nxt:4@4.16 snd_nxt:4@4.16 snd_una:4@4.16 mss_cache:4@4.16 ecn_flags:4@4.16
    rate_delivered:4@4.16 rate_interval_us:4@4.16 packets_out:4@4.16 retrans_out:4@4.16 total_retrans:4@4.16
    segs_in:4@4.16 data_segs_in:4@4.16 segs_out:4@4.16 data_segs_out:4@4.16 lost_out:4@4.16 sacked_out:4@4.16
    sk_txhash:4@4.16 bytes_received:8@4.16 bytes_acked:8@4.16 sk:8@5.3 skb_data:8@5.10 skb_data_end:8@5.10
    skb_len:4@5.10 skb_tcp_flags:4@5.10
    """,
)
SK_MSG_MD = _layout(
    "sk_msg_md",
    80,
    """
    data:8 data_end:8 family:4@4.18 remote_ip4:4@4.18 local_ip4:4@4.18 remote_ip6:4*4@4.18 local_ip6:4*4@4.18
    remote_port:4@4.18 local_port:4@4.18 size:4@5.0 sk:8@5.8
    """,
)
SK_REUSEPORT_MD = _layout(
    "sk_reuseport_md",
    56,
    "data:8 data_end:8 len:4 eth_protocol:4 ip_protocol:4 bind_inany:4 hash:4 sk:8@5.14 migrating_sk:8@5.14",
)
BPF_SK_LOOKUP = _layout(
    "bpf_sk_lookup",
    72,
    """
    sk:8 family:4 protocol:4 remote_ip4:4 remote_ip6:4*4 remote_port:2 _:2 local_ip4:4 local_ip6:4*4 local_port:4
    ingress_ifindex:4@5.17
    """,
)
BPF_TCP_SOCK = _layout(
    "bpf_tcp_sock",
    112,
    """
    snd_cwnd:4 srtt_us:4 rtt_min:4 snd_ssthresh:4 rcv_nxt:4 snd_nxt:4 snd_una:4 mss_cache:4 ecn_flags:4
    rate_delivered:4 rate_interval_us:4 packets_out:4 retrans_out:4 total_retrans:4 segs_in:4 data_segs_in:4
    segs_out:4 data_segs_out:4 lost_out:4 sacked_out:4 bytes_received:8 bytes_acked:8 dsack_dups:4@5.3
    delivered:4@5.3 delivered_ce:4@5.3 icsk_retransmits:4@5.3
    """,
)
BPF_XDP_SOCK = _layout("bpf_xdp_sock", 4, "queue_id:4")
BPF_SYSCTL = _layout("bpf_sysctl", 8, "write:4 file_pos:4")
BPF_SOCKOPT = _layout("bpf_sockopt", 40, "sk:8 optval:8 optval_end:8 level:4 optname:4 optlen:4 retval:4")
BPF_CGROUP_DEV_CTX = _layout("bpf_cgroup_dev_ctx", 12, "access_type:4 major:4 minor:4")
BPF_FLOW_KEYS = _layout(
    "bpf_flow_keys",
    56,
    """
    nhoff:2 thoff:2 addr_proto:2 is_frag:1 is_first_frag:1 is_encap:1 ip_proto:1 n_proto:2 sport:2 dport:2
    ip_src:4*4 ip_dst:4*4 flags:4 flow_label:4
    """,
)
