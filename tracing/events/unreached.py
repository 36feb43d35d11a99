"""Tracepoints of places that this kernel never comes to: reclaim, writeback of inodes, control groups, the OOM killer.

They exist as in 6.1, so tools that attach to them work; nothing fires them.  include/trace/events/vmscan.h,
writeback.h, oom.h, cgroup.h, and what is left of net.h, sched.h, kmem.h, tcp.h.
"""

from __future__ import annotations

from tracing.events.declare import NEVER, TraceEventDecl

sched_kthread_work_execute_end = TraceEventDecl(
    "sched", "sched_kthread_work_execute_end",
    missing=NEVER,
    proto="struct kthread_work *work, kthread_work_func_t function",
    entry=(
        ("void * work", "work"),
        ("void * function", "function"),
    ),
    print='"work struct %p: function %ps", REC->work, REC->function',
)  # fmt: skip
sched_wake_idle_without_ipi = TraceEventDecl(
    "sched", "sched_wake_idle_without_ipi",
    missing=NEVER,
    proto="int cpu",
    entry=(
        ("int cpu", "cpu"),
    ),
    print='"cpu=%d", REC->cpu',
)  # fmt: skip
napi_gro_frags_entry = TraceEventDecl(
    "net", "napi_gro_frags_entry",
    missing=NEVER,
    until="7.2",
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
napi_gro_frags_exit = TraceEventDecl(
    "net", "napi_gro_frags_exit",
    missing=NEVER,
    since="5.0",
    proto="int ret",
    entry=(
        ("int ret", "ret"),
    ),
    print='"ret=%d", REC->ret',
)  # fmt: skip
netif_receive_skb_list_entry = napi_gro_frags_entry.like(
    "netif_receive_skb_list_entry", since="4.19", missing=NEVER, until="7.2"
)
netif_receive_skb_list_exit = napi_gro_frags_exit.like("netif_receive_skb_list_exit", since="5.0", missing=NEVER)
tcp_cong_state_set = TraceEventDecl(
    "tcp", "tcp_cong_state_set",
    since="5.19",
    proto="struct sock *sk, const u8 ca_state",
    entry=(
        ("const void * skaddr", "sk"),
        ("__u16 sport", "inet_sport(sk)"),
        ("__u16 dport", "inet_dport(sk)"),
        ("__u16 family", "sk->sk_family"),
        ("__u8 saddr[4]", "inet_saddr(sk)"),
        ("__u8 daddr[4]", "inet_daddr(sk)"),
        ("__u8 saddr_v6[16]", "inet_saddr_v6(sk)"),
        ("__u8 daddr_v6[16]", "inet_daddr_v6(sk)"),
        ("__u8 cong_state", "ca_state"),
    ),
    print=(
        '"family=%s sport=%hu dport=%hu saddr=%pI4 daddr=%pI4 saddrv6=%pI6c daddrv6=%pI6c cong_state=%u", '
        "show_family_name(REC->family), REC->sport, REC->dport, REC->saddr, REC->daddr, REC->saddr_v6, "
        "REC->daddr_v6, REC->cong_state"
    ),
)  # fmt: skip
mm_page_alloc_zone_locked = TraceEventDecl(
    "kmem", "mm_page_alloc_zone_locked",
    missing=NEVER,
    proto="struct page *page, unsigned int order, int migratetype, int percpu_refill",
    entry=(
        ("unsigned long pfn", "page ? page_to_pfn(page) : -1"),
        ("unsigned int order", "order"),
        ("int migratetype", "migratetype"),
        ("int percpu_refill", "percpu_refill"),
    ),
    print=(
        '"page=%p pfn=0x%lx order=%u migratetype=%d percpu_refill=%d", REC->pfn != -1UL ? (((struct page '
        "*)vmemmap_base) + (REC->pfn)) : ((void *)0), REC->pfn != -1UL ? REC->pfn : 0, REC->order, "
        "REC->migratetype, REC->percpu_refill"
    ),
)  # fmt: skip
mm_page_free_batched = TraceEventDecl(
    "kmem", "mm_page_free_batched",
    missing="only of pages of user space and of files",
    held=(0, 2),
    proto="struct page *page",
    entry=(
        ("unsigned long pfn", "page_to_pfn(page)"),
    ),
    print='"page=%p pfn=0x%lx order=0", (((struct page *)vmemmap_base) + (REC->pfn)), REC->pfn',
)  # fmt: skip
mm_page_pcpu_drain = TraceEventDecl(
    "kmem", "mm_page_pcpu_drain",
    missing=NEVER,
    proto="struct page *page, unsigned int order, int migratetype",
    entry=(
        ("unsigned long pfn", "page ? page_to_pfn(page) : -1"),
        ("unsigned int order", "order"),
        ("int migratetype", "migratetype"),
    ),
    print=(
        '"page=%p pfn=0x%lx order=%d migratetype=%d", (((struct page *)vmemmap_base) + (REC->pfn)), REC->pfn, '
        "REC->order, REC->migratetype"
    ),
)  # fmt: skip
sb_clear_inode_writeback = TraceEventDecl(
    "writeback", "sb_clear_inode_writeback",
    missing=NEVER,
    until="7.2",
    since="4.8",
    proto="struct inode *inode",
    entry=(
        ("dev_t dev", "inode->i_sb->s_dev"),
        ("ino_t ino", "inode->i_ino"),
        ("unsigned long state", "inode->i_state"),
        ("__u16 mode", "inode->i_mode"),
        ("unsigned long dirtied_when", "inode->dirtied_when"),
    ),
    print=(
        '"dev %d,%d ino %lu dirtied %lu state %s mode 0%o", MAJOR(REC->dev), MINOR(REC->dev), (unsigned '
        'long)REC->ino, REC->dirtied_when, __print_flags(REC->state, "|", {(1 << 0), "I_DIRTY_SYNC"}, {(1 << 1), '
        '"I_DIRTY_DATASYNC"}, {(1 << 2), "I_DIRTY_PAGES"}, {(1 << 3), "I_NEW"}, {(1 << 4), "I_WILL_FREE"}, {(1 << '
        '5), "I_FREEING"}, {(1 << 6), "I_CLEAR"}, {(1 << 7), "I_SYNC"}, {(1 << 11), "I_DIRTY_TIME"}, {(1 << 8), '
        '"I_REFERENCED"} ), REC->mode'
    ),
)  # fmt: skip
sb_mark_inode_writeback = sb_clear_inode_writeback.like(
    "sb_mark_inode_writeback", since="4.8", missing=NEVER, until="7.2"
)
writeback_dirty_inode_enqueue = sb_clear_inode_writeback.like(
    "writeback_dirty_inode_enqueue", missing=NEVER, until="7.2"
)
writeback_lazytime = sb_clear_inode_writeback.like("writeback_lazytime", missing=NEVER, until="7.2")
writeback_lazytime_iput = sb_clear_inode_writeback.like("writeback_lazytime_iput", missing=NEVER, until="7.2")
writeback_pages_written = TraceEventDecl(
    "writeback", "writeback_pages_written",
    missing=NEVER,
    proto="long pages_written",
    entry=(
        ("long pages", "pages_written"),
    ),
    print='"%ld", REC->pages',
)  # fmt: skip
finish_task_reaping = TraceEventDecl(
    "oom", "finish_task_reaping",
    missing=NEVER,
    since="4.14",
    proto="int pid",
    entry=(
        ("int pid", "pid"),
    ),
    print='"pid=%d", REC->pid',
)  # fmt: skip
skip_task_reaping = finish_task_reaping.like("skip_task_reaping", since="4.14", missing=NEVER)
start_task_reaping = finish_task_reaping.like("start_task_reaping", since="4.14", missing=NEVER)
wake_reaper = finish_task_reaping.like("wake_reaper", since="4.14", missing=NEVER)
mm_vmscan_direct_reclaim_begin = TraceEventDecl(
    "vmscan", "mm_vmscan_direct_reclaim_begin",
    missing=NEVER,
    until="7.2",
    proto="int order, gfp_t gfp_flags",
    entry=(
        ("int order", "order"),
        ("unsigned long gfp_flags", "gfp_flags"),
    ),
    print='"order=%d gfp_flags=%s", REC->order, show_gfp_flags(REC->gfp_flags)',
)  # fmt: skip
mm_vmscan_direct_reclaim_end = TraceEventDecl(
    "vmscan", "mm_vmscan_direct_reclaim_end",
    missing=NEVER,
    until="7.2",
    proto="unsigned long nr_reclaimed",
    entry=(
        ("unsigned long nr_reclaimed", "nr_reclaimed"),
    ),
    print='"nr_reclaimed=%lu", REC->nr_reclaimed',
)  # fmt: skip
mm_vmscan_kswapd_sleep = TraceEventDecl(
    "vmscan", "mm_vmscan_kswapd_sleep",
    missing=NEVER,
    proto="int nid",
    entry=(
        ("int nid", "nid"),
    ),
    print='"nid=%d", REC->nid',
)  # fmt: skip
mm_vmscan_kswapd_wake = TraceEventDecl(
    "vmscan", "mm_vmscan_kswapd_wake",
    missing=NEVER,
    proto="int nid, int zid, int order",
    entry=(
        ("int nid", "nid"),
        ("int zid", "zid"),
        ("int order", "order"),
    ),
    print='"nid=%d order=%d", REC->nid, REC->order',
)  # fmt: skip
mm_vmscan_memcg_reclaim_begin = mm_vmscan_direct_reclaim_begin.like(
    "mm_vmscan_memcg_reclaim_begin", missing=NEVER, until="7.2"
)
mm_vmscan_memcg_reclaim_end = mm_vmscan_direct_reclaim_end.like(
    "mm_vmscan_memcg_reclaim_end", missing=NEVER, until="7.2"
)
mm_vmscan_memcg_softlimit_reclaim_begin = mm_vmscan_direct_reclaim_begin.like(
    "mm_vmscan_memcg_softlimit_reclaim_begin", missing=NEVER, until="7.2"
)
mm_vmscan_memcg_softlimit_reclaim_end = mm_vmscan_direct_reclaim_end.like(
    "mm_vmscan_memcg_softlimit_reclaim_end", missing=NEVER, until="7.2"
)
mm_vmscan_node_reclaim_begin = TraceEventDecl(
    "vmscan", "mm_vmscan_node_reclaim_begin",
    missing=NEVER,
    since="5.2",
    proto="int nid, int order, gfp_t gfp_flags",
    entry=(
        ("int nid", "nid"),
        ("int order", "order"),
        ("unsigned long gfp_flags", "gfp_flags"),
    ),
    print='"nid=%d order=%d gfp_flags=%s", REC->nid, REC->order, show_gfp_flags(REC->gfp_flags)',
)  # fmt: skip
mm_vmscan_node_reclaim_end = mm_vmscan_direct_reclaim_end.like(
    "mm_vmscan_node_reclaim_end", since="5.2", missing=NEVER, until="7.2"
)
mm_vmscan_wakeup_kswapd = TraceEventDecl(
    "vmscan", "mm_vmscan_wakeup_kswapd",
    missing=NEVER,
    proto="int nid, int zid, int order, gfp_t gfp_flags",
    entry=(
        ("int nid", "nid"),
        ("int zid", "zid"),
        ("int order", "order"),
        ("unsigned long gfp_flags", "gfp_flags"),
    ),
    print='"nid=%d order=%d gfp_flags=%s", REC->nid, REC->order, show_gfp_flags(REC->gfp_flags)',
)  # fmt: skip
cgroup_destroy_root = TraceEventDecl(
    "cgroup", "cgroup_destroy_root",
    missing=NEVER,
    until="7.2",
    since="4.12",
    proto="struct cgroup_root *root",
    entry=(
        ("int root", "root->hierarchy_id"),
        ("u16 ss_mask", "root->subsys_mask"),
        ("__data_loc char[] name", "root->name"),
    ),
    print='"root=%d ss_mask=%#x name=%s", REC->root, REC->ss_mask, __get_str(name)',
)  # fmt: skip
cgroup_remount = cgroup_destroy_root.like("cgroup_remount", since="4.12", missing=NEVER, until="7.2")
cgroup_setup_root = cgroup_destroy_root.like("cgroup_setup_root", since="4.12", missing=NEVER, until="7.2")
