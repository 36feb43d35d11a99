"""Who stands between a function and the one that calls it here, on Debian's 6.1 for x86-64.

INLINED_6_1: functions with a symbol that none of their callers here calls.  Recorded with the function tracer's stacks beside one workload.  `callee < caller: functions`, innermost first; `.` is the
caller itself, which is not there where its call is a jump or its name another.  `*` is every callee without a row of its own.
`@event < function: functions`: where the event fires that fires here in that function, in any for `*`.
"""

from __future__ import annotations

_ROWS = """
* < __do_softirq: handle_softirqs
__do_softirq < __dev_queue_xmit: do_softirq.part.0 __local_bh_enable_ip .
process_backlog < net_rx_action: __napi_poll .
enqueue_to_backlog < __netif_rx: netif_rx_internal .
__netif_receive_skb_core.constprop.0 < __netif_receive_skb: __netif_receive_skb_one_core
ip_rcv < __netif_receive_skb_core.constprop.0:
ip_local_deliver < ip_rcv:
ip_protocol_deliver_rcu < ip_local_deliver: ip_local_deliver_finish
__alloc_skb < tcp_rcv_established: __tcp_send_ack.part.0 .
__alloc_skb < tcp_rcv_state_process: __tcp_send_ack.part.0 .
__alloc_skb < tcp_fin: __tcp_send_ack.part.0 .
__alloc_skb < tcp_connect: tcp_stream_alloc_skb .
tcp_write_xmit < tcp_sendmsg_locked: __tcp_push_pending_frames .
tcp_cleanup_rbuf < tcp_recvmsg: tcp_recvmsg_locked .
tcp_fin < tcp_rcv_established: tcp_data_queue .
tcp_fin < tcp_rcv_state_process: tcp_data_queue .
sock_def_readable < tcp_rcv_established: tcp_data_queue .
tcp_send_fin < tcp_shutdown:
tcp_set_state < tcp_close: __tcp_close .
tcp_v4_conn_request < tcp_v6_conn_request:
tcp_sendmsg < inet_sendmsg:
udp_sendmsg < inet_sendmsg:
inet_recvmsg < sock_recvmsg:
inet6_recvmsg < sock_recvmsg:
inet_release < inet6_release:
__inet6_bind < inet6_bind:
security_capable < __inet6_bind: ns_capable .
__sock_release < __fput: sock_close .
* < inet_stream_connect: __inet_stream_connect .
__release_sock < inet_stream_connect: release_sock __inet_stream_connect .
security_socket_connect < __sys_connect: __sys_connect_file .
inet_csk_accept < __sys_accept4: inet_accept do_accept .
security_socket_accept < __sys_accept4: do_accept .
schedule < inet_csk_accept: schedule_timeout .
* < __x64_sys_bind: __sys_bind .
* < __x64_sys_listen: __sys_listen .
* < __x64_sys_shutdown: __sys_shutdown .
* < __x64_sys_setsockopt: __sys_setsockopt .
* < __x64_sys_link: do_linkat .
* < __x64_sys_linkat: do_linkat .
* < __x64_sys_mknod: do_mknodat .
* < __x64_sys_mknodat: do_mknodat .
* < __x64_sys_rename: do_renameat2 .
* < __x64_sys_renameat: do_renameat2 .
* < __x64_sys_renameat2: do_renameat2 .
* < __x64_sys_symlink: do_symlinkat .
* < __x64_sys_symlinkat: do_symlinkat .
* < __x64_sys_chmod: do_fchmodat .
* < __x64_sys_fchmodat: do_fchmodat .
* < __x64_sys_chown: do_fchownat .
* < __x64_sys_lchown: do_fchownat .
* < __x64_sys_fchownat: do_fchownat .
* < __x64_sys_getdents64: iterate_dir .
* < __x64_sys_munmap: __vm_munmap .
vm_mmap_pgoff < __x64_sys_mmap:
ns_capable < __x64_sys_umount: path_umount .
kill_pid_info < __x64_sys_kill: kill_something_info .
hrtimer_nanosleep < __x64_sys_clock_nanosleep: common_nsleep .
* < __x64_sys_sendfile64: do_sendfile .
shmem_file_read_iter < __x64_sys_sendfile64: generic_file_splice_read splice_direct_to_actor do_splice_direct do_sendfile .
generic_file_write_iter < __x64_sys_sendfile64: do_iter_readv_writev do_iter_write iter_file_splice_write direct_splice_actor splice_direct_to_actor do_splice_direct do_sendfile .
seq_read_iter < proc_reg_read_iter:
security_file_permission < bprm_execve: kernel_read .
schedule < do_dentry_open: wait_for_partner fifo_open .
schedule < do_sys_poll: schedule_hrtimeout_range_clock .
schedule < kernel_clone: schedule_timeout __wait_for_common wait_for_completion_state .
release_task < do_wait: wait_consider_task .
do_group_exit < arch_do_signal_or_restart: get_signal .
down_read_trylock < exc_page_fault: lock_mm_and_find_vma .
exit_to_user_mode_prepare < do_syscall_64: syscall_exit_to_user_mode .
exit_to_user_mode_prepare < exc_page_fault: irqentry_exit_to_user_mode
exit_to_user_mode_prepare < sysvec_apic_timer_interrupt: irqentry_exit_to_user_mode
* < do_idle: . cpu_startup_entry rest_init arch_call_rest_init start_kernel secondary_startup_64_no_verify
@sched_waking < default_idle_call: try_to_wake_up hrtimer_wakeup __hrtimer_run_queues hrtimer_interrupt __sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt native_safe_halt amd_e400_idle .
@sched_wakeup < default_idle_call: ttwu_do_wakeup try_to_wake_up hrtimer_wakeup __hrtimer_run_queues hrtimer_interrupt __sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt native_safe_halt amd_e400_idle .
@sched_wakeup < try_to_wake_up: ttwu_do_wakeup .
try_to_wake_up < __wake_up: autoremove_wake_function .
@sched_stat_runtime < __schedule: update_curr dequeue_entity dequeue_task_fair .
@rcu_utilization < __schedule: rcu_note_context_switch .
@local_timer_entry < default_idle_call: __sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt native_safe_halt amd_e400_idle .
@local_timer_exit < default_idle_call: __sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt native_safe_halt amd_e400_idle .
@hrtimer_expire_entry < default_idle_call: __hrtimer_run_queues hrtimer_interrupt __sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt native_safe_halt amd_e400_idle .
@hrtimer_expire_exit < default_idle_call: __hrtimer_run_queues hrtimer_interrupt __sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt native_safe_halt amd_e400_idle .
@hrtimer_start < *: enqueue_hrtimer hrtimer_start_range_ns .
@hrtimer_init < copy_process: hrtimer_init init_dl_task_timer __sched_fork sched_fork .
@signal_generate < kill_pid_info: __send_signal_locked send_signal_locked do_send_sig_info .
@signal_generate < do_notify_parent: __send_signal_locked .
@signal_deliver < arch_do_signal_or_restart: get_signal .
@mm_page_alloc < handle_mm_fault: __alloc_pages __folio_alloc vma_alloc_folio __handle_mm_fault .
@mm_page_free < begin_new_exec: free_pcp_prepare free_unref_page_list release_pages tlb_batch_pages_flush tlb_finish_mmu exit_mmap __mmput .
@mm_page_free < do_exit: free_pcp_prepare free_unref_page_list release_pages tlb_batch_pages_flush tlb_finish_mmu exit_mmap __mmput .
@exit_mmap < begin_new_exec: exit_mmap __mmput .
@exit_mmap < do_exit: exit_mmap __mmput .
@kfree < *: kfree .
@kmem_cache_alloc < *: kmem_cache_alloc .
@kmem_cache_free < *: kmem_cache_free .
@rss_stat < copy_process: copy_page_range dup_mmap .
@page_fault_kernel < schedule_tail: exc_page_fault asm_exc_page_fault __put_user_nocheck_4 .
@mm_filemap_delete_from_page_cache < vfs_unlink: __filemap_remove_folio filemap_remove_folio truncate_inode_folio shmem_undo_range shmem_evict_inode evict
@writeback_mark_inode_dirty < *: __mark_inode_dirty .
@writeback_dirty_inode_start < *: __mark_inode_dirty .
@writeback_dirty_inode < *: __mark_inode_dirty .
@mmap_lock_start_locking < *: __mmap_lock_do_trace_start_locking .
@mmap_lock_acquire_returned < *: __mmap_lock_do_trace_acquire_returned .
@mmap_lock_released < *: __mmap_lock_do_trace_released .
@cgroup_mkdir < vfs_mkdir: cgroup_mkdir kernfs_iop_mkdir .
@cgroup_rmdir < vfs_rmdir: cgroup_rmdir kernfs_iop_rmdir .
@cgroup_attach_task < kernfs_fop_write_iter: cgroup_attach_task __cgroup_procs_write cgroup_procs_write .
@oom_score_adj_update < oom_score_adj_write: __set_oom_adj.isra.0 .
"""

INLINED_6_1 = frozenset(["__tcp_send_ack", "do_softirq", "ip_rcv_finish", "vfs_getattr", "vfs_ioctl"])


def _parsed() -> dict[tuple[str, str], tuple[str, ...]]:
    table = {}
    for row in _ROWS.strip().splitlines():
        pair, _, names = row.partition(":")
        callee, caller = pair.split(" < ")
        table[callee, caller] = tuple("" if name == "." else name for name in names.split())
    return table


CALLERS_6_1 = _parsed()
