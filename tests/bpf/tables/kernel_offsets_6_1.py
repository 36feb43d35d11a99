"""Where Linux 6.1 keeps what a context access really reads: offsets in struct sk_buff, sock and their like.

x86-64, Debian's configuration, from the kernel's own BTF; bytes.  A word is `member:offset/size`; a bit field's
offset is that of the byte that holds it.
"""

from __future__ import annotations

_STRUCTS: dict[str, tuple[int, str]] = {
    "sk_buff": (
        232,
        """
        dev:16/8 sk:24/8 tstamp:32/8 cb:40/48 len:112/4 data_len:116/4 mac_len:120/2 hdr_len:122/2
        queue_mapping:124/2 cloned:126/1 pkt_type:128/1 ip_summed:128/1 vlan_present:130/1 tc_at_ingress:130/1
        mono_delivery_time:130/1 csum_level:130/1 tc_index:134/2 csum:136/4 csum_start:136/2 csum_offset:138/2
        priority:140/4 skb_iif:144/4 hash:148/4 vlan_proto:152/2 vlan_tci:154/2 napi_id:156/4 mark:168/4
        protocol:180/2 transport_header:182/2 network_header:184/2 mac_header:186/2 tail:188/4 end:192/4 head:200/8
        data:208/8 truesize:216/4 users:220/4
        """,
    ),
    "net_device": (
        2432,
        """
        ifindex:216/4 mtu:224/4
        """,
    ),
    "skb_shared_info": (
        320,
        """
        nr_frags:2/1 gso_size:4/2 gso_segs:6/2 hwtstamps:16/8 gso_type:24/4 xdp_frags_size:36/4 frags:48/272
        """,
    ),
    "qdisc_skb_cb": (
        28,
        """
        pkt_len:0/4 tc_classid:6/2 data:8/20
        """,
    ),
    "bpf_skb_data_end": (
        48,
        """
        data_meta:32/8 data_end:40/8
        """,
    ),
    "sk_skb_cb": (
        48,
        """
        data:0/20 temp_reg:40/8
        """,
    ),
    "tcp_skb_cb": (
        48,
        """
        tcp_flags:12/1
        """,
    ),
    "sock_common": (
        136,
        """
        skc_daddr:0/4 skc_rcv_saddr:4/4 skc_dport:12/2 skc_num:14/2 skc_family:16/2 skc_state:18/1
        skc_bound_dev_if:20/4 skc_v6_daddr:56/16 skc_v6_rcv_saddr:72/16 skc_refcnt:128/4
        """,
    ),
    "sock": (
        776,
        """
        sk_family:16/2 sk_bound_dev_if:20/4 sk_priority:448/4 sk_mark:452/4 sk_txhash:508/4 sk_rx_queue_mapping:122/2 sk_type:514/2
        sk_protocol:516/2
        """,
    ),
    "tcp_sock": (
        2280,
        """
        bytes_received:1448/8 segs_in:1456/4 data_segs_in:1460/4 rcv_nxt:1464/4 snd_nxt:1476/4 segs_out:1480/4
        data_segs_out:1484/4 bytes_acked:1496/8 dsack_dups:1504/4 snd_una:1508/4 mss_cache:1580/4 srtt_us:1672/4
        rtt_min:1692/24 packets_out:1716/4 retrans_out:1720/4 ecn_flags:1734/1 snd_ssthresh:1772/4 snd_cwnd:1776/4
        delivered:1808/4 delivered_ce:1812/4 rate_delivered:1840/4 rate_interval_us:1844/4 lost_out:1864/4
        sacked_out:1868/4 total_retrans:2144/4 bpf_sock_ops_cb_flags:2164/1
        """,
    ),
    "inet_connection_sock": (
        1440,
        """
        icsk_retransmits:1281/1
        """,
    ),
    "xdp_buff": (
        56,
        """
        data:0/8 data_end:8/8 data_meta:16/8 data_hard_start:24/8 rxq:32/8 txq:40/8 frame_sz:48/4 flags:52/4
        """,
    ),
    "xdp_rxq_info": (
        64,
        """
        dev:0/8 queue_index:8/4
        """,
    ),
    "xdp_txq_info": (
        8,
        """
        dev:0/8
        """,
    ),
    "xdp_sock": (
        1024,
        """
        queue_id:880/2
        """,
    ),
    "bpf_sock_addr_kern": (
        32,
        """
        sk:0/8 uaddr:8/8 tmp_reg:16/8 t_ctx:24/8
        """,
    ),
    "sockaddr": (
        16,
        """
        sa_family:0/2
        """,
    ),
    "sockaddr_in": (
        16,
        """
        sin_addr:4/4
        """,
    ),
    "sockaddr_in6": (
        28,
        """
        sin6_port:2/2 sin6_addr:8/16
        """,
    ),
    "in_addr": (4, "s_addr:0/4"),
    "in6_addr": (16, "s6_addr32:0/16"),
    "bpf_sock_ops_kern": (
        64,
        """
        sk:0/8 args:8/16 reply:8/4 replylong:8/16 skb:32/8 skb_data_end:40/8 op:48/1 is_fullsock:49/1 temp:56/8
        """,
    ),
    "sk_msg": (
        712,
        """
        sg:0/640 data:640/8 data_end:648/8 sk:688/8
        """,
    ),
    "sk_msg_sg": (
        640,
        """
        size:12/4
        """,
    ),
    "bpf_flow_dissector": (
        32,
        """
        flow_keys:0/8 skb:8/8 data:16/8 data_end:24/8
        """,
    ),
    "sk_reuseport_kern": (
        56,
        """
        skb:0/8 sk:8/8 selected_sk:16/8 migrating_sk:24/8 data_end:32/8 hash:40/4 reuseport_id:44/4 bind_inany:48/1
        """,
    ),
    "bpf_sk_lookup_kern": (
        48,
        """
        family:0/2 protocol:2/2 sport:4/2 dport:6/2 v4.saddr:8/4 v4.daddr:12/4 v6.saddr:16/8 v6.daddr:24/8
        selected_sk:32/8 ingress_ifindex:40/4 no_reuseport:44/1
        """,
    ),
    "bpf_perf_event_data_kern": (
        24,
        """
        regs:0/8 data:8/8 event:16/8
        """,
    ),
    "perf_sample_data": (
        256,
        """
        period:8/8 addr:48/8
        """,
    ),
    "bpf_sysctl_kern": (
        72,
        """
        head:0/8 write:52/4 ppos:56/8 tmp_reg:64/8
        """,
    ),
    "bpf_sockopt_kern": (
        56,
        """
        sk:0/8 optval:8/8 optval_end:16/8 level:24/4 optname:28/4 optlen:32/4 current_task:40/8 tmp_reg:48/8
        """,
    ),
    "task_struct": (
        9792,
        """
        bpf_ctx:5232/8
        """,
    ),
    "bpf_cg_run_ctx": (
        16,
        """
        retval:8/4
        """,
    ),
    "bpf_array": (
        320,
        """
        elem_size:256/4 index_mask:260/4 value:272/0
        """,
    ),
    "htab_elem": (
        48,
        """
        lru_node:16/24 key:48/0
        """,
    ),
    "bpf_lru_node": (
        24,
        """
        ref:19/1
        """,
    ),
    "xsk_map": (
        320,
        """
        xsk_map:264/0
        """,
    ),
}


def _table() -> tuple[dict[str, tuple[int, int]], dict[str, int]]:
    offsets, sizes = {}, {}
    for struct, (size, text) in _STRUCTS.items():
        sizes[struct] = size
        for word in text.split():
            member, _, place = word.partition(":")
            offset, _, width = place.partition("/")
            assert int(offset) + int(width) <= size, (struct, word)
            offsets[f"{struct}.{member}"] = (int(offset), int(width))
    return offsets, sizes


# "sk_buff.len" -> (offset, size)
OFFSETS, SIZEOF = _table()
