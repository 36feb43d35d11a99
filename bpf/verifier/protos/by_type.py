"""Which helper prototype each kind of program gets, as tables.  Linux 6.1.

One table per *_func_proto() function of the kernel, named after it.  A word is a helper; its prototype is
bpf_<helper>_proto, unless the word says `helper=prototype`.  Answers that depend on more than the helper, and
which table is asked next, are in protos.py.
"""

from __future__ import annotations

from bpf.verifier.protos.proto import FuncProto
from bpf.verifier.protos.table import PROTOS


def _table(words: str) -> dict[str, FuncProto]:
    table = {}
    for word in words.split():
        helper, _, proto = word.partition("=")
        table[helper] = PROTOS[proto or f"bpf_{helper}_proto"]
    return table


# kernel/bpf/helpers.c ---------------------------------------------------------------------------
BASE_ANYONE = _table("""
    map_lookup_elem map_update_elem map_delete_elem map_push_elem map_pop_elem map_peek_elem
    map_lookup_percpu_elem get_prandom_u32 get_smp_processor_id=bpf_get_raw_smp_processor_id_proto
    get_numa_node_id tail_call ktime_get_ns ktime_get_boot_ns ktime_get_tai_ns ringbuf_output
    ringbuf_reserve ringbuf_submit ringbuf_discard ringbuf_query strncmp strtol strtoul
""")

BASE_BPF = _table("""
    spin_lock spin_unlock jiffies64 per_cpu_ptr this_cpu_ptr timer_init timer_set_callback timer_start
    timer_cancel kptr_xchg for_each_map_elem loop user_ringbuf_drain ringbuf_reserve_dynptr
    ringbuf_submit_dynptr ringbuf_discard_dynptr dynptr_from_mem dynptr_read dynptr_write dynptr_data
""")

BASE_PERFMON = _table("""
    get_current_task get_current_task_btf probe_read_user probe_read_user_str snprintf_btf snprintf
    task_pt_regs trace_printk trace_vprintk probe_read_kernel probe_read_kernel_str
""")

# kernel/trace/bpf_trace.c -----------------------------------------------------------------------
BPF_TRACING = _table("""
    map_lookup_elem map_update_elem map_delete_elem map_push_elem map_pop_elem map_peek_elem
    map_lookup_percpu_elem ktime_get_ns ktime_get_boot_ns tail_call get_current_pid_tgid
    get_current_task get_current_task_btf task_pt_regs get_current_uid_gid get_current_comm
    get_smp_processor_id get_numa_node_id perf_event_read current_task_under_cgroup get_prandom_u32
    probe_read_user probe_read_user_str get_current_cgroup_id get_current_ancestor_cgroup_id send_signal
    send_signal_thread perf_event_read_value get_ns_current_pid_tgid ringbuf_output ringbuf_reserve
    ringbuf_submit ringbuf_discard ringbuf_query jiffies64 get_task_stack copy_from_user
    copy_from_user_task snprintf_btf per_cpu_ptr this_cpu_ptr task_storage_get task_storage_delete
    for_each_map_elem snprintf get_func_ip=bpf_get_func_ip_proto_tracing get_branch_snapshot find_vma
    probe_read_kernel probe_read_kernel_str trace_printk trace_vprintk probe_write_user
    probe_read=bpf_probe_read_compat_proto probe_read_str=bpf_probe_read_compat_str_proto
""")

KPROBE_PROG = _table("""
    perf_event_output get_stackid get_stack override_return
""")

TP_PROG = _table("""
    perf_event_output=bpf_perf_event_output_proto_tp get_stackid=bpf_get_stackid_proto_tp
    get_stack=bpf_get_stack_proto_tp get_attach_cookie=bpf_get_attach_cookie_proto_trace
""")

PE_PROG = _table("""
    perf_event_output=bpf_perf_event_output_proto_tp get_stackid=bpf_get_stackid_proto_pe
    get_stack=bpf_get_stack_proto_pe perf_prog_read_value read_branch_records
    get_attach_cookie=bpf_get_attach_cookie_proto_pe
""")

RAW_TP_PROG = _table("""
    perf_event_output=bpf_perf_event_output_proto_raw_tp get_stackid=bpf_get_stackid_proto_raw_tp
    get_stack=bpf_get_stack_proto_raw_tp
""")

TRACING_PROG = _table("""
    skb_output xdp_output skc_to_tcp6_sock skc_to_tcp_sock skc_to_tcp_timewait_sock
    skc_to_tcp_request_sock skc_to_udp6_sock skc_to_unix_sock skc_to_mptcp_sock
    sk_storage_get=bpf_sk_storage_get_tracing_proto
    sk_storage_delete=bpf_sk_storage_delete_tracing_proto sock_from_file
    get_socket_cookie=bpf_get_socket_ptr_cookie_proto xdp_get_buff_len=bpf_xdp_get_buff_len_trace_proto
    d_path
""")

# kernel/bpf/bpf_lsm.c ---------------------------------------------------------------------------
BPF_LSM = _table("""
    inode_storage_get inode_storage_delete sk_storage_get sk_storage_delete spin_lock spin_unlock
    bprm_opts_set ima_inode_hash ima_file_hash
""")

# kernel/bpf/syscall.c ---------------------------------------------------------------------------
SYSCALL_PROG = _table("""
    btf_find_by_name_kind sys_close kallsyms_lookup_name
""")

# kernel/bpf/cgroup.c ----------------------------------------------------------------------------
CGROUP_DEV = _table("""
    perf_event_output=bpf_event_output_data_proto
""")

SYSCTL = _table("""
    sysctl_get_name sysctl_get_current_value sysctl_get_new_value sysctl_set_new_value
    ktime_get_coarse_ns perf_event_output=bpf_event_output_data_proto
""")

CG_SOCKOPT = _table("""
    get_netns_cookie=bpf_get_netns_cookie_sockopt_proto sk_storage_get sk_storage_delete tcp_sock
    perf_event_output=bpf_event_output_data_proto
""")

CGROUP_COMMON = _table("""
    get_local_storage
""")

CGROUP_CURRENT = _table("""
    get_current_uid_gid get_current_pid_tgid get_current_comm get_current_cgroup_id
    get_current_ancestor_cgroup_id get_cgroup_classid=bpf_get_cgroup_classid_curr_proto
""")

# net/core/filter.c ------------------------------------------------------------------------------
SOCK_FILTER = _table("""
    get_socket_cookie=bpf_get_socket_cookie_sock_proto get_netns_cookie=bpf_get_netns_cookie_sock_proto
    perf_event_output=bpf_event_output_data_proto sk_storage_get=bpf_sk_storage_get_cg_sock_proto
    ktime_get_coarse_ns
""")

SOCK_ADDR = _table("""
    get_socket_cookie=bpf_get_socket_cookie_sock_addr_proto
    get_netns_cookie=bpf_get_netns_cookie_sock_addr_proto perf_event_output=bpf_event_output_data_proto
    sk_lookup_tcp=bpf_sock_addr_sk_lookup_tcp_proto sk_lookup_udp=bpf_sock_addr_sk_lookup_udp_proto
    sk_release skc_lookup_tcp=bpf_sock_addr_skc_lookup_tcp_proto sk_storage_get sk_storage_delete
""")

SK_FILTER = _table("""
    skb_load_bytes skb_load_bytes_relative get_socket_cookie get_socket_uid
    perf_event_output=bpf_skb_event_output_proto
""")

CG_SKB = _table("""
    sk_fullsock sk_storage_get sk_storage_delete perf_event_output=bpf_skb_event_output_proto
    skb_cgroup_id skb_ancestor_cgroup_id sk_cgroup_id sk_ancestor_cgroup_id sk_lookup_tcp sk_lookup_udp
    sk_release skc_lookup_tcp tcp_sock get_listener_sock skb_ecn_set_ce
""")

TC_CLS_ACT = _table("""
    skb_store_bytes skb_load_bytes skb_load_bytes_relative skb_pull_data csum_diff csum_update
    csum_level l3_csum_replace l4_csum_replace clone_redirect get_cgroup_classid skb_vlan_push
    skb_vlan_pop skb_change_proto skb_change_type skb_adjust_room skb_change_tail skb_change_head
    skb_get_tunnel_key skb_get_tunnel_opt redirect redirect_neigh redirect_peer get_route_realm
    get_hash_recalc set_hash_invalid set_hash perf_event_output=bpf_skb_event_output_proto
    get_smp_processor_id skb_under_cgroup get_socket_cookie get_socket_uid
    fib_lookup=bpf_skb_fib_lookup_proto check_mtu=bpf_skb_check_mtu_proto sk_fullsock sk_storage_get
    sk_storage_delete skb_get_xfrm_state skb_cgroup_classid skb_cgroup_id skb_ancestor_cgroup_id
    sk_lookup_tcp=bpf_tc_sk_lookup_tcp_proto sk_lookup_udp=bpf_tc_sk_lookup_udp_proto sk_release
    tcp_sock get_listener_sock skc_lookup_tcp=bpf_tc_skc_lookup_tcp_proto tcp_check_syncookie
    skb_ecn_set_ce tcp_gen_syncookie sk_assign skb_set_tstamp tcp_raw_gen_syncookie_ipv4
    tcp_raw_gen_syncookie_ipv6 tcp_raw_check_syncookie_ipv4 tcp_raw_check_syncookie_ipv6
    skb_set_tunnel_key skb_set_tunnel_opt
""")

XDP = _table("""
    perf_event_output=bpf_xdp_event_output_proto get_smp_processor_id csum_diff xdp_adjust_head
    xdp_adjust_meta redirect=bpf_xdp_redirect_proto redirect_map=bpf_xdp_redirect_map_proto
    xdp_adjust_tail xdp_get_buff_len xdp_load_bytes xdp_store_bytes fib_lookup=bpf_xdp_fib_lookup_proto
    check_mtu=bpf_xdp_check_mtu_proto sk_lookup_udp=bpf_xdp_sk_lookup_udp_proto
    sk_lookup_tcp=bpf_xdp_sk_lookup_tcp_proto sk_release skc_lookup_tcp=bpf_xdp_skc_lookup_tcp_proto
    tcp_check_syncookie tcp_gen_syncookie tcp_raw_gen_syncookie_ipv4 tcp_raw_gen_syncookie_ipv6
    tcp_raw_check_syncookie_ipv4 tcp_raw_check_syncookie_ipv6
""")

SOCK_OPS = _table("""
    setsockopt=bpf_sock_ops_setsockopt_proto getsockopt=bpf_sock_ops_getsockopt_proto
    sock_ops_cb_flags_set sock_map_update sock_hash_update
    get_socket_cookie=bpf_get_socket_cookie_sock_ops_proto perf_event_output=bpf_event_output_data_proto
    sk_storage_get sk_storage_delete get_netns_cookie=bpf_get_netns_cookie_sock_ops_proto
    load_hdr_opt=bpf_sock_ops_load_hdr_opt_proto store_hdr_opt=bpf_sock_ops_store_hdr_opt_proto
    reserve_hdr_opt=bpf_sock_ops_reserve_hdr_opt_proto tcp_sock
""")

SK_MSG = _table("""
    msg_redirect_map msg_redirect_hash msg_apply_bytes msg_cork_bytes msg_pull_data msg_push_data
    msg_pop_data perf_event_output=bpf_event_output_data_proto get_current_uid_gid get_current_pid_tgid
    sk_storage_get sk_storage_delete get_netns_cookie=bpf_get_netns_cookie_sk_msg_proto
    get_current_cgroup_id get_current_ancestor_cgroup_id
    get_cgroup_classid=bpf_get_cgroup_classid_curr_proto
""")

SK_SKB = _table("""
    skb_store_bytes skb_load_bytes skb_pull_data=sk_skb_pull_data_proto
    skb_change_tail=sk_skb_change_tail_proto skb_change_head=sk_skb_change_head_proto
    skb_adjust_room=sk_skb_adjust_room_proto get_socket_cookie get_socket_uid sk_redirect_map
    sk_redirect_hash perf_event_output=bpf_skb_event_output_proto sk_lookup_tcp sk_lookup_udp sk_release
    skc_lookup_tcp
""")

FLOW_DISSECTOR = _table("""
    skb_load_bytes=bpf_flow_dissector_load_bytes_proto
""")

LWT_OUT = _table("""
    skb_load_bytes skb_pull_data csum_diff get_cgroup_classid get_route_realm get_hash_recalc
    perf_event_output=bpf_skb_event_output_proto get_smp_processor_id skb_under_cgroup
""")

LWT_IN = _table("""
    lwt_push_encap=bpf_lwt_in_push_encap_proto
""")

LWT_XMIT = _table("""
    skb_get_tunnel_key skb_get_tunnel_opt redirect clone_redirect skb_change_tail skb_change_head
    skb_store_bytes csum_update csum_level l3_csum_replace l4_csum_replace set_hash_invalid
    lwt_push_encap=bpf_lwt_xmit_push_encap_proto skb_set_tunnel_key skb_set_tunnel_opt
""")

LWT_SEG6LOCAL = _table("""
    lwt_seg6_store_bytes lwt_seg6_action lwt_seg6_adjust_srh
""")

SK_REUSEPORT = _table("""
    sk_select_reuseport=sk_select_reuseport_proto skb_load_bytes=sk_reuseport_load_bytes_proto
    skb_load_bytes_relative=sk_reuseport_load_bytes_relative_proto
    get_socket_cookie=bpf_get_socket_ptr_cookie_proto ktime_get_coarse_ns
""")

SK_LOOKUP = _table("""
    perf_event_output=bpf_event_output_data_proto sk_assign=bpf_sk_lookup_assign_proto sk_release
""")

BPF_SK_BASE = _table("""
    skc_to_tcp6_sock skc_to_tcp_sock skc_to_tcp_timewait_sock skc_to_tcp_request_sock skc_to_udp6_sock
    skc_to_unix_sock skc_to_mptcp_sock ktime_get_coarse_ns
""")

# net/unix/af_unix.c -----------------------------------------------------------------------------
BPF_ITER_UNIX_GET = _table("""
    setsockopt=bpf_sk_setsockopt_proto getsockopt=bpf_sk_getsockopt_proto
""")

# net/ipv4/tcp_ipv4.c ----------------------------------------------------------------------------
BPF_ITER_TCP_GET = _table("""
    setsockopt=bpf_sk_setsockopt_proto getsockopt=bpf_sk_getsockopt_proto
""")

# net/ipv4/bpf_tcp_ca.c --------------------------------------------------------------------------
BPF_TCP_CA_GET = _table("""
    tcp_send_ack sk_storage_get sk_storage_delete ktime_get_coarse_ns
""")

# drivers/media/rc/bpf-lirc.c --------------------------------------------------------------------
LIRC_MODE2 = _table("""
    rc_repeat=rc_repeat_proto rc_keydown=rc_keydown_proto rc_pointer_rel=rc_pointer_rel_proto
    map_lookup_elem map_update_elem map_delete_elem map_push_elem map_pop_elem map_peek_elem
    ktime_get_ns ktime_get_boot_ns tail_call get_prandom_u32
""")
