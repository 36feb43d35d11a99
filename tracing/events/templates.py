"""DECLARE_EVENT_CLASS: events that share one function trace_event_raw_event_TEMPLATE(), by template.

An event that is not named here is a class of its own, whose function has its name.
"""

from __future__ import annotations

TEMPLATES: dict[str, str] = {
    "block_bio": "block_bio_bounce block_bio_backmerge block_bio_frontmerge block_bio_queue block_getrq",
    "block_buffer": "block_touch_buffer block_dirty_buffer",
    "block_rq": "block_rq_insert block_rq_issue block_rq_merge",
    "block_rq_completion": "block_rq_complete block_rq_error",
    "cgroup": "cgroup_mkdir cgroup_rmdir cgroup_release cgroup_rename cgroup_freeze cgroup_unfreeze",
    "cgroup_event": "cgroup_notify_populated cgroup_notify_frozen",
    "cgroup_migrate": "cgroup_attach_task cgroup_transfer_tasks",
    "cgroup_root": "cgroup_destroy_root cgroup_remount cgroup_setup_root",
    "clock": "clock_enable clock_disable clock_set_rate",
    "cpu": "cpu_idle cpu_frequency",
    "hrtimer_class": "hrtimer_expire_exit hrtimer_cancel",
    "mm_filemap_op_page_cache": "mm_filemap_delete_from_page_cache mm_filemap_add_to_page_cache",
    "mm_page": "mm_page_alloc_zone_locked",
    "mm_vmscan_direct_reclaim_begin_template": "mm_vmscan_direct_reclaim_begin mm_vmscan_memcg_reclaim_begin "
    "mm_vmscan_memcg_softlimit_reclaim_begin",
    "mm_vmscan_direct_reclaim_end_template": "mm_vmscan_direct_reclaim_end mm_vmscan_memcg_reclaim_end "
    "mm_vmscan_memcg_softlimit_reclaim_end mm_vmscan_node_reclaim_end",
    "mmap_lock": "mmap_lock_start_locking mmap_lock_released",
    "neigh__update": "neigh_update_done neigh_timer_handler neigh_event_send_done neigh_event_send_dead neigh_cleanup_and_release",
    "net_dev_rx_exit_template": "napi_gro_frags_exit napi_gro_receive_exit netif_receive_skb_exit netif_rx_exit "
    "netif_receive_skb_list_exit",
    "net_dev_rx_verbose_template": "napi_gro_frags_entry napi_gro_receive_entry netif_receive_skb_entry netif_rx_entry "
    "netif_receive_skb_list_entry",
    "net_dev_template": "net_dev_queue netif_receive_skb netif_rx",
    "sched_process_template": "sched_process_free sched_process_exit sched_wait_task",
    "sched_stat_template": "sched_stat_wait sched_stat_sleep sched_stat_iowait sched_stat_blocked",
    "sched_wakeup_template": "sched_waking sched_wakeup sched_wakeup_new",
    "softirq": "softirq_entry softirq_exit softirq_raise",
    "tasklet": "tasklet_entry tasklet_exit",
    "tcp_event_sk": "tcp_destroy_sock tcp_rcv_space_adjust tcp_receive_reset",
    "tcp_event_sk_skb": "tcp_retransmit_skb tcp_send_reset",
    "timer_class": "timer_init timer_expire_exit timer_cancel",
    "writeback_class": "writeback_wake_background",
    "writeback_dirty_inode_template": "writeback_mark_inode_dirty writeback_dirty_inode_start writeback_dirty_inode",
    "writeback_folio_template": "writeback_dirty_folio folio_wait_writeback",
    "writeback_inode_template": "writeback_lazytime writeback_lazytime_iput writeback_dirty_inode_enqueue "
    "sb_mark_inode_writeback sb_clear_inode_writeback",
    "writeback_single_inode_template": "writeback_single_inode_start writeback_single_inode",
    "writeback_work_class": "writeback_queue writeback_exec writeback_start writeback_written writeback_wait",
    "writeback_write_inode_template": "writeback_write_inode_start writeback_write_inode",
    "x86_exceptions": "page_fault_user page_fault_kernel",
    "x86_fpu": "x86_fpu_before_save x86_fpu_after_save x86_fpu_before_restore x86_fpu_after_restore x86_fpu_regs_activated "
    "x86_fpu_regs_deactivated x86_fpu_init_state x86_fpu_dropped x86_fpu_copy_src x86_fpu_copy_dst x86_fpu_xstate_check_failed",
    "x86_irq_vector": "local_timer_entry local_timer_exit reschedule_entry reschedule_exit call_function_entry "
    "call_function_exit call_function_single_entry call_function_single_exit irq_work_entry irq_work_exit "
    "spurious_apic_entry spurious_apic_exit error_apic_entry error_apic_exit x86_platform_ipi_entry x86_platform_ipi_exit",
}
_OF = {event: template for template, events in TEMPLATES.items() for event in events.split()}


def template_of(event: str) -> str:
    """The class of an event."""
    return _OF.get(event, event)
