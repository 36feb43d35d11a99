"""Network device and sk_buff events.  include/trace/events/net.h, skb.h, napi.h."""

from __future__ import annotations

from tracing.events.declare import BH, NEVER, TraceEventDecl

net_dev_start_xmit = TraceEventDecl(
    "net", "net_dev_start_xmit",
    held=(BH, 0),
    proto="const struct sk_buff *skb, const struct net_device *dev",
    entry=(
        ("__data_loc char[] name", "dev->name"),
        ("u16 queue_mapping", "skb->queue_mapping"),
        ("const void * skbaddr", "skb"),
        ("bool vlan_tagged", "skb->vlan_tci != 0"),
        ("u16 vlan_proto", "ntohs(skb->vlan_proto)"),
        ("u16 vlan_tci", "skb->vlan_tci"),
        ("u16 protocol", "ntohs(skb->protocol)"),
        ("u8 ip_summed", "skb->ip_summed"),
        ("unsigned int len", "skb->len"),
        ("unsigned int data_len", "skb->data_len"),
        ("int network_offset", "skb_network_offset(skb)"),
        ("bool transport_offset_valid", "skb_transport_header_was_set(skb)"),
        ("int transport_offset", "skb_transport_header_was_set(skb) ? skb_transport_offset(skb) : 0"),
        ("u8 tx_flags", "skb_shinfo(skb)->tx_flags"),
        ("u16 gso_size", "skb_shinfo(skb)->gso_size"),
        ("u16 gso_segs", "skb_shinfo(skb)->gso_segs"),
        ("u16 gso_type", "skb_shinfo(skb)->gso_type"),
    ),
    print=(
        '"dev=%s queue_mapping=%u skbaddr=%p vlan_tagged=%d vlan_proto=0x%04x vlan_tci=0x%04x protocol=0x%04x '
        "ip_summed=%d len=%u data_len=%u network_offset=%d transport_offset_valid=%d transport_offset=%d "
        'tx_flags=%d gso_size=%d gso_segs=%d gso_type=%#x", __get_str(name), REC->queue_mapping, REC->skbaddr, '
        "REC->vlan_tagged, REC->vlan_proto, REC->vlan_tci, REC->protocol, REC->ip_summed, REC->len, REC->data_len, "
        "REC->network_offset, REC->transport_offset_valid, REC->transport_offset, REC->tx_flags, REC->gso_size, "
        "REC->gso_segs, REC->gso_type"
    ),
)  # fmt: skip
net_dev_xmit = TraceEventDecl(
    "net", "net_dev_xmit",
    held=(BH, 0),
    proto="struct sk_buff *skb, int rc, struct net_device *dev, unsigned int skb_len",
    entry=(
        ("void * skbaddr", "skb"),
        ("unsigned int len", "skb_len"),
        ("int rc", "rc"),
        ("__data_loc char[] name", "dev->name"),
    ),
    print='"dev=%s skbaddr=%p len=%u rc=%d", __get_str(name), REC->skbaddr, REC->len, REC->rc',
)  # fmt: skip
net_dev_queue = TraceEventDecl(
    "net", "net_dev_queue",
    held=(BH, 0),
    proto="struct sk_buff *skb",
    entry=(
        ("void * skbaddr", "skb"),
        ("unsigned int len", "skb->len"),
        ("__data_loc char[] name", "skb->dev->name"),
    ),
    print='"dev=%s skbaddr=%p len=%u", __get_str(name), REC->skbaddr, REC->len',
)  # fmt: skip
netif_receive_skb = net_dev_queue.like("netif_receive_skb")
netif_rx = net_dev_queue.like("netif_rx", held=(BH, 0))
napi_gro_receive_entry = TraceEventDecl(
    "net", "napi_gro_receive_entry",
    missing=NEVER,
    proto="const struct sk_buff *skb",
    entry=(
        ("__data_loc char[] name", "skb->dev->name"),
        ("unsigned int napi_id", "skb->napi_id"),
        ("u16 queue_mapping", "skb->queue_mapping"),
        ("const void * skbaddr", "skb"),
        ("bool vlan_tagged", "skb->vlan_tci != 0"),
        ("u16 vlan_proto", "ntohs(skb->vlan_proto)"),
        ("u16 vlan_tci", "skb->vlan_tci"),
        ("u16 protocol", "ntohs(skb->protocol)"),
        ("u8 ip_summed", "skb->ip_summed"),
        ("u32 hash", "skb->hash"),
        ("bool l4_hash", "skb->l4_hash"),
        ("unsigned int len", "skb->len"),
        ("unsigned int data_len", "skb->data_len"),
        ("unsigned int truesize", "skb->truesize"),
        ("bool mac_header_valid", "skb_mac_header_was_set(skb)"),
        ("int mac_header", "skb_mac_offset(skb)"),
        ("unsigned char nr_frags", "skb_shinfo(skb)->nr_frags"),
        ("u16 gso_size", "skb_shinfo(skb)->gso_size"),
        ("u16 gso_type", "skb_shinfo(skb)->gso_type"),
    ),
    print=(
        '"dev=%s napi_id=%#x queue_mapping=%u skbaddr=%p vlan_tagged=%d vlan_proto=0x%04x vlan_tci=0x%04x '
        "protocol=0x%04x ip_summed=%d hash=0x%08x l4_hash=%d len=%u data_len=%u truesize=%u mac_header_valid=%d "
        'mac_header=%d nr_frags=%d gso_size=%d gso_type=%#x", __get_str(name), REC->napi_id, REC->queue_mapping, '
        "REC->skbaddr, REC->vlan_tagged, REC->vlan_proto, REC->vlan_tci, REC->protocol, REC->ip_summed, REC->hash, "
        "REC->l4_hash, REC->len, REC->data_len, REC->truesize, REC->mac_header_valid, REC->mac_header, "
        "REC->nr_frags, REC->gso_size, REC->gso_type"
    ),
)  # fmt: skip
netif_receive_skb_entry = napi_gro_receive_entry.like("netif_receive_skb_entry", missing=NEVER)
netif_rx_entry = napi_gro_receive_entry.like("netif_rx_entry", held=(BH, 0))
napi_gro_receive_exit = TraceEventDecl(
    "net", "napi_gro_receive_exit",
    missing=NEVER,
    since="5.0",
    proto="int ret",
    entry=(
        ("int ret", "ret"),
    ),
    print='"ret=%d", REC->ret',
)  # fmt: skip
netif_receive_skb_exit = napi_gro_receive_exit.like("netif_receive_skb_exit", since="5.0", missing=NEVER)
netif_rx_exit = napi_gro_receive_exit.like("netif_rx_exit", since="5.0", held=(BH, 0))
kfree_skb = TraceEventDecl(
    "skb", "kfree_skb",
    fired="struct sock *rx_sk",
    proto="struct sk_buff *skb, void *location, enum skb_drop_reason reason",
    entry=(
        ("void * skbaddr", "skb"),
        ("void * location", "location"),
        ("unsigned short protocol", "ntohs(skb->protocol)"),
        ("enum skb_drop_reason reason", "reason"),
    ),
    print=(
        '"skbaddr=%p protocol=%u location=%p reason: %s", REC->skbaddr, REC->protocol, REC->location, '
        "show_drop_reason(REC->reason)"
    ),
)  # fmt: skip
consume_skb = TraceEventDecl(
    "skb", "consume_skb",
    fired="void *location",
    proto="struct sk_buff *skb",
    entry=(
        ("void * skbaddr", "skb"),
    ),
    print='"skbaddr=%p", REC->skbaddr',
)  # fmt: skip
skb_copy_datagram_iovec = TraceEventDecl(
    "skb", "skb_copy_datagram_iovec",
    proto="const struct sk_buff *skb, int len",
    entry=(
        ("const void * skbaddr", "skb"),
        ("int len", "len"),
    ),
    print='"skbaddr=%p len=%d", REC->skbaddr, REC->len',
)  # fmt: skip
bpf_test_finish = TraceEventDecl(
    "bpf_test_run", "bpf_test_finish",
    since="5.2",
    proto="int *err",
    entry=(("int err", "*err"),),
    print='"bpf_test_finish with err=%d", REC->err',
    writable=4,
)  # fmt: skip
napi_poll = TraceEventDecl(
    "napi", "napi_poll",
    proto="struct napi_struct *napi, int work, int budget",
    entry=(
        ("struct napi_struct * napi", "napi"),
        ("__data_loc char[] dev_name", 'napi->dev ? napi->dev->name : "(no_device)"'),
        ("int work", "work"),
        ("int budget", "budget"),
    ),
    print=(
        '"napi poll on napi struct %p for device %s work %d budget %d", REC->napi, __get_str(dev_name), REC->work, '
        "REC->budget"
    ),
)  # fmt: skip
