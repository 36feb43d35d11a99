"""Socket, TCP and UDP events.  include/trace/events/sock.h, tcp.h, udp.h."""

from __future__ import annotations

from dataclasses import replace

from tracing.events.declare import BH, TraceEventDecl

sock_rcvqueue_full = TraceEventDecl(
    "sock", "sock_rcvqueue_full",
    proto="struct sock *sk, struct sk_buff *skb",
    entry=(
        ("int rmem_alloc", "sk->sk_backlog.rmem_alloc.counter"),
        ("unsigned int truesize", "skb->truesize"),
        ("int sk_rcvbuf", "sk->sk_rcvbuf"),
    ),
    print='"rmem_alloc=%d truesize=%u sk_rcvbuf=%d", REC->rmem_alloc, REC->truesize, REC->sk_rcvbuf',
)  # fmt: skip
inet_sock_set_state = TraceEventDecl(
    "sock", "inet_sock_set_state",
    since="4.16",
    proto="const struct sock *sk, const int oldstate, const int newstate",
    entry=(
        ("const void * skaddr", "sk"),
        ("int oldstate", "oldstate"),
        ("int newstate", "newstate"),
        ("__u16 sport", "inet_sport(sk)"),
        ("__u16 dport", "inet_dport(sk)"),
        ("__u16 family", "sk->sk_family"),
        ("__u16 protocol", "sk->sk_protocol"),
        ("__u8 saddr[4]", "inet_saddr(sk)"),
        ("__u8 daddr[4]", "inet_daddr(sk)"),
        ("__u8 saddr_v6[16]", "inet_saddr_v6(sk)"),
        ("__u8 daddr_v6[16]", "inet_daddr_v6(sk)"),
    ),
    print=(
        '"family=%s protocol=%s sport=%hu dport=%hu saddr=%pI4 daddr=%pI4 saddrv6=%pI6c daddrv6=%pI6c oldstate=%s '
        'newstate=%s", show_family_name(REC->family), show_inet_protocol_name(REC->protocol), REC->sport, '
        "REC->dport, REC->saddr, REC->daddr, REC->saddr_v6, REC->daddr_v6, show_tcp_state_name(REC->oldstate), "
        "show_tcp_state_name(REC->newstate)"
    ),
)  # fmt: skip
tcp_retransmit_skb = TraceEventDecl(
    "tcp", "tcp_retransmit_skb",
    fired="int err",
    since="4.15",
    proto="const struct sock *sk, const struct sk_buff *skb",
    entry=(
        ("const void * skbaddr", "skb"),
        ("const void * skaddr", "sk"),
        ("int state", "sk->sk_state"),
        ("__u16 sport", "inet_sport(sk)"),
        ("__u16 dport", "inet_dport(sk)"),
        ("__u16 family", "sk->sk_family"),
        ("__u8 saddr[4]", "inet_saddr(sk)"),
        ("__u8 daddr[4]", "inet_daddr(sk)"),
        ("__u8 saddr_v6[16]", "inet_saddr_v6(sk)"),
        ("__u8 daddr_v6[16]", "inet_daddr_v6(sk)"),
    ),
    print=(
        '"family=%s sport=%hu dport=%hu saddr=%pI4 daddr=%pI4 saddrv6=%pI6c daddrv6=%pI6c state=%s", '
        "show_family_name(REC->family), REC->sport, REC->dport, REC->saddr, REC->daddr, REC->saddr_v6, "
        "REC->daddr_v6, show_tcp_state_enum(REC->state)"
    ),
)  # fmt: skip
tcp_send_reset = replace(
    tcp_retransmit_skb.like("tcp_send_reset", since="4.15"), fired="const enum sk_rst_reason reason"
)
tcp_receive_reset = TraceEventDecl(
    "tcp", "tcp_receive_reset",
    since="4.15",
    proto="struct sock *sk",
    entry=(
        ("const void * skaddr", "sk"),
        ("__u16 sport", "inet_sport(sk)"),
        ("__u16 dport", "inet_dport(sk)"),
        ("__u16 family", "sk->sk_family"),
        ("__u8 saddr[4]", "inet_saddr(sk)"),
        ("__u8 daddr[4]", "inet_daddr(sk)"),
        ("__u8 saddr_v6[16]", "inet_saddr_v6(sk)"),
        ("__u8 daddr_v6[16]", "inet_daddr_v6(sk)"),
        ("__u64 sock_cookie", "sock_gen_cookie(sk)"),
    ),
    print=(
        '"family=%s sport=%hu dport=%hu saddr=%pI4 daddr=%pI4 saddrv6=%pI6c daddrv6=%pI6c sock_cookie=%llx", '
        "show_family_name(REC->family), REC->sport, REC->dport, REC->saddr, REC->daddr, REC->saddr_v6, "
        "REC->daddr_v6, REC->sock_cookie"
    ),
)  # fmt: skip
tcp_destroy_sock = tcp_receive_reset.like("tcp_destroy_sock", since="4.15", held=(BH, 1))
tcp_rcv_space_adjust = tcp_receive_reset.like("tcp_rcv_space_adjust", since="4.18")
tcp_probe = TraceEventDecl(
    "tcp", "tcp_probe",
    since="4.16",
    proto="struct sock *sk, struct sk_buff *skb",
    entry=(
        ("__u8 saddr[28]", "sockaddr_src(sk)"),
        ("__u8 daddr[28]", "sockaddr_dst(sk)"),
        ("__u16 sport", "inet_sport(sk)"),
        ("__u16 dport", "inet_dport(sk)"),
        ("__u16 family", "sk->sk_family"),
        ("__u32 mark", "skb->mark"),
        ("__u16 data_len", "tcp_data_len(skb)"),
        ("__u32 snd_nxt", "tcp_sk(sk)->snd_nxt"),
        ("__u32 snd_una", "tcp_sk(sk)->snd_una"),
        ("__u32 snd_cwnd", "tcp_sk(sk)->snd_cwnd"),
        ("__u32 ssthresh", "tcp_sk(sk)->snd_ssthresh"),
        ("__u32 snd_wnd", "tcp_sk(sk)->snd_wnd"),
        ("__u32 srtt", "tcp_sk(sk)->srtt_us >> 3"),
        ("__u32 rcv_wnd", "tcp_sk(sk)->rcv_wnd"),
        ("__u64 sock_cookie", "sock_gen_cookie(sk)"),
    ),
    print=(
        '"family=%s src=%pISpc dest=%pISpc mark=%#x data_len=%d snd_nxt=%#x snd_una=%#x snd_cwnd=%u ssthresh=%u '
        'snd_wnd=%u srtt=%u rcv_wnd=%u sock_cookie=%llx", show_family_name(REC->family), REC->saddr, REC->daddr, '
        "REC->mark, REC->data_len, REC->snd_nxt, REC->snd_una, REC->snd_cwnd, REC->ssthresh, REC->snd_wnd, "
        "REC->srtt, REC->rcv_wnd, REC->sock_cookie"
    ),
)  # fmt: skip
udp_fail_queue_rcv_skb = TraceEventDecl(
    "udp", "udp_fail_queue_rcv_skb",
    fired="struct sk_buff *skb", held=(0, 1),
    proto="int rc, struct sock *sk",
    entry=(
        ("int rc", "rc"),
        ("__u16 lport", "inet_sk(sk)->inet_num"),
    ),
    print='"rc=%d port=%hu", REC->rc, REC->lport',
)  # fmt: skip
inet_sk_error_report = TraceEventDecl(
    "sock", "inet_sk_error_report",
    since="5.15",
    proto="const struct sock *sk",
    entry=(
        ("int error", "sk->sk_err"),
        ("__u16 sport", "inet_sport(sk)"),
        ("__u16 dport", "inet_dport(sk)"),
        ("__u16 family", "sk->sk_family"),
        ("__u16 protocol", "sk->sk_protocol"),
        ("__u8 saddr[4]", "inet_saddr(sk)"),
        ("__u8 daddr[4]", "inet_daddr(sk)"),
        ("__u8 saddr_v6[16]", "inet_saddr_v6(sk)"),
        ("__u8 daddr_v6[16]", "inet_daddr_v6(sk)"),
    ),
    print=(
        '"family=%s protocol=%s sport=%hu dport=%hu saddr=%pI4 daddr=%pI4 saddrv6=%pI6c daddrv6=%pI6c error=%d", '
        "show_family_name(REC->family), show_inet_protocol_name(REC->protocol), REC->sport, REC->dport, REC->saddr,"
        " REC->daddr, REC->saddr_v6, REC->daddr_v6, REC->error"
    ),
)  # fmt: skip
sk_data_ready = TraceEventDecl(
    "sock", "sk_data_ready",
    since="6.3",
    proto="const struct sock *sk",
    entry=(
        ("const void * skaddr", "sk"),
        ("__u16 family", "sk->sk_family"),
        ("__u16 protocol", "sk->sk_protocol"),
        ("unsigned long ip", "sk->sk_data_ready"),
    ),
    print='"family=%u protocol=%u func=%ps", REC->family, REC->protocol, (void *)REC->ip',
)  # fmt: skip
sock_send_length = TraceEventDecl(
    "sock", "sock_send_length",
    since="6.3",
    proto="struct sock *sk, int ret, int flags",
    entry=(
        ("void * sk", "sk"),
        ("__u16 family", "sk->sk_family"),
        ("__u16 protocol", "sk->sk_protocol"),
        ("int ret", "ret"),
        ("int flags", "flags"),
    ),
    print=(
        '"sk address = %p, family = %s protocol = %s, length = %d, error = %d, flags = 0x%x", REC->sk, '
        "show_family_name(REC->family), show_inet_protocol_name(REC->protocol), "
        "!(REC->flags & 2) ? (REC->ret > 0 ? REC->ret : 0) : 0, REC->ret < 0 ? REC->ret : 0, REC->flags"
    ),
)  # fmt: skip
sock_recv_length = sock_send_length.like("sock_recv_length", since="6.3")
icmp_send = TraceEventDecl(
    "icmp", "icmp_send",
    since="6.1", held=(BH, 2),
    proto="const struct sk_buff *skb, int type, int code",
    entry=(
        ("const void * skbaddr", "skb"),
        ("int type", "type"),
        ("int code", "code"),
        ("__u8 saddr[4]", "ip_saddr(skb)"),
        ("__u8 daddr[4]", "ip_daddr(skb)"),
        ("__u16 sport", "udp_field(skb, 0)"),
        ("__u16 dport", "udp_field(skb, 2)"),
        ("unsigned short ulen", "udp_field(skb, 4)"),
    ),
    print=(
        '"icmp_send: type=%d, code=%d. From %pI4:%u to %pI4:%u ulen=%d skbaddr=%p", REC->type, REC->code, '
        "REC->saddr, REC->sport, REC->daddr, REC->dport, REC->ulen, REC->skbaddr"
    ),
)  # fmt: skip
netlink_extack = TraceEventDecl(
    "netlink", "netlink_extack",
    since="5.11",
    proto="const char *msg",
    entry=(
        ("__data_loc char[] msg", "msg"),
    ),
    print='"msg=%s", __get_str(msg)',
)  # fmt: skip
