/* eBPF. include/uapi/linux/bpf.h, include/linux/bpf.h, filter.h, btf.h. */

enum bpf_cmd {
	BPF_MAP_CREATE,
	BPF_MAP_LOOKUP_ELEM,
	BPF_MAP_UPDATE_ELEM,
	BPF_MAP_DELETE_ELEM,
	BPF_MAP_GET_NEXT_KEY,
	BPF_PROG_LOAD,
	BPF_OBJ_PIN,
	BPF_OBJ_GET,
	BPF_PROG_ATTACH,
	BPF_PROG_DETACH,
	BPF_PROG_TEST_RUN,
	BPF_PROG_RUN = 10,
	BPF_PROG_GET_NEXT_ID,
	BPF_MAP_GET_NEXT_ID,
	BPF_PROG_GET_FD_BY_ID,
	BPF_MAP_GET_FD_BY_ID,
	BPF_OBJ_GET_INFO_BY_FD,
	BPF_PROG_QUERY,
	BPF_RAW_TRACEPOINT_OPEN,
	BPF_BTF_LOAD,
	BPF_BTF_GET_FD_BY_ID,
	BPF_TASK_FD_QUERY,
	BPF_MAP_LOOKUP_AND_DELETE_ELEM,
	BPF_MAP_FREEZE,
	BPF_BTF_GET_NEXT_ID,
	BPF_MAP_LOOKUP_BATCH,
	BPF_MAP_LOOKUP_AND_DELETE_BATCH,
	BPF_MAP_UPDATE_BATCH,
	BPF_MAP_DELETE_BATCH,
	BPF_LINK_CREATE,
	BPF_LINK_UPDATE,
	BPF_LINK_GET_FD_BY_ID,
	BPF_LINK_GET_NEXT_ID,
	BPF_ENABLE_STATS,
	BPF_ITER_CREATE,
	BPF_LINK_DETACH,
	BPF_PROG_BIND_MAP,
	BPF_TOKEN_CREATE, /* since 6.9 */
};
enum bpf_map_type {
	BPF_MAP_TYPE_UNSPEC,
	BPF_MAP_TYPE_HASH,
	BPF_MAP_TYPE_ARRAY,
	BPF_MAP_TYPE_PROG_ARRAY,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY,
	BPF_MAP_TYPE_PERCPU_HASH,
	BPF_MAP_TYPE_PERCPU_ARRAY,
	BPF_MAP_TYPE_STACK_TRACE,
	BPF_MAP_TYPE_CGROUP_ARRAY,
	BPF_MAP_TYPE_LRU_HASH,
	BPF_MAP_TYPE_LRU_PERCPU_HASH,
	BPF_MAP_TYPE_LPM_TRIE,
	BPF_MAP_TYPE_ARRAY_OF_MAPS,
	BPF_MAP_TYPE_HASH_OF_MAPS,
	BPF_MAP_TYPE_DEVMAP,
	BPF_MAP_TYPE_SOCKMAP,
	BPF_MAP_TYPE_CPUMAP,
	BPF_MAP_TYPE_XSKMAP,
	BPF_MAP_TYPE_SOCKHASH,
	BPF_MAP_TYPE_CGROUP_STORAGE,
	BPF_MAP_TYPE_REUSEPORT_SOCKARRAY,
	BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE,
	BPF_MAP_TYPE_QUEUE,
	BPF_MAP_TYPE_STACK,
	BPF_MAP_TYPE_SK_STORAGE,
	BPF_MAP_TYPE_DEVMAP_HASH,
	BPF_MAP_TYPE_STRUCT_OPS,
	BPF_MAP_TYPE_RINGBUF,
	BPF_MAP_TYPE_INODE_STORAGE,
	BPF_MAP_TYPE_TASK_STORAGE,
	BPF_MAP_TYPE_BLOOM_FILTER,
	BPF_MAP_TYPE_USER_RINGBUF,
	BPF_MAP_TYPE_CGRP_STORAGE, /* since 6.2 */
	BPF_MAP_TYPE_ARENA, /* since 6.9 */
	BPF_MAP_TYPE_INSN_ARRAY, /* since 6.19 */
	BPF_MAP_TYPE_RHASH, /* since 7.2 */
};
enum bpf_prog_type {
	BPF_PROG_TYPE_UNSPEC,
	BPF_PROG_TYPE_SOCKET_FILTER,
	BPF_PROG_TYPE_KPROBE,
	BPF_PROG_TYPE_SCHED_CLS,
	BPF_PROG_TYPE_SCHED_ACT,
	BPF_PROG_TYPE_TRACEPOINT,
	BPF_PROG_TYPE_XDP,
	BPF_PROG_TYPE_PERF_EVENT,
	BPF_PROG_TYPE_CGROUP_SKB,
	BPF_PROG_TYPE_CGROUP_SOCK,
	BPF_PROG_TYPE_LWT_IN,
	BPF_PROG_TYPE_LWT_OUT,
	BPF_PROG_TYPE_LWT_XMIT,
	BPF_PROG_TYPE_SOCK_OPS,
	BPF_PROG_TYPE_SK_SKB,
	BPF_PROG_TYPE_CGROUP_DEVICE,
	BPF_PROG_TYPE_SK_MSG,
	BPF_PROG_TYPE_RAW_TRACEPOINT,
	BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
	BPF_PROG_TYPE_LWT_SEG6LOCAL,
	BPF_PROG_TYPE_LIRC_MODE2,
	BPF_PROG_TYPE_SK_REUSEPORT,
	BPF_PROG_TYPE_FLOW_DISSECTOR,
	BPF_PROG_TYPE_CGROUP_SYSCTL,
	BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE,
	BPF_PROG_TYPE_CGROUP_SOCKOPT,
	BPF_PROG_TYPE_TRACING,
	BPF_PROG_TYPE_STRUCT_OPS,
	BPF_PROG_TYPE_EXT,
	BPF_PROG_TYPE_LSM,
	BPF_PROG_TYPE_SK_LOOKUP,
	BPF_PROG_TYPE_SYSCALL,
	BPF_PROG_TYPE_NETFILTER, /* since 6.4 */
};
enum bpf_attach_type {
	BPF_CGROUP_INET_INGRESS,
	BPF_CGROUP_INET_EGRESS,
	BPF_CGROUP_INET_SOCK_CREATE,
	BPF_CGROUP_SOCK_OPS,
	BPF_SK_SKB_STREAM_PARSER,
	BPF_SK_SKB_STREAM_VERDICT,
	BPF_CGROUP_DEVICE,
	BPF_SK_MSG_VERDICT,
	BPF_CGROUP_INET4_BIND,
	BPF_CGROUP_INET6_BIND,
	BPF_CGROUP_INET4_CONNECT,
	BPF_CGROUP_INET6_CONNECT,
	BPF_CGROUP_INET4_POST_BIND,
	BPF_CGROUP_INET6_POST_BIND,
	BPF_CGROUP_UDP4_SENDMSG,
	BPF_CGROUP_UDP6_SENDMSG,
	BPF_LIRC_MODE2,
	BPF_FLOW_DISSECTOR,
	BPF_CGROUP_SYSCTL,
	BPF_CGROUP_UDP4_RECVMSG,
	BPF_CGROUP_UDP6_RECVMSG,
	BPF_CGROUP_GETSOCKOPT,
	BPF_CGROUP_SETSOCKOPT,
	BPF_TRACE_RAW_TP,
	BPF_TRACE_FENTRY,
	BPF_TRACE_FEXIT,
	BPF_MODIFY_RETURN,
	BPF_LSM_MAC,
	BPF_TRACE_ITER,
	BPF_CGROUP_INET4_GETPEERNAME,
	BPF_CGROUP_INET6_GETPEERNAME,
	BPF_CGROUP_INET4_GETSOCKNAME,
	BPF_CGROUP_INET6_GETSOCKNAME,
	BPF_XDP_DEVMAP,
	BPF_CGROUP_INET_SOCK_RELEASE,
	BPF_XDP_CPUMAP,
	BPF_SK_LOOKUP,
	BPF_XDP,
	BPF_SK_SKB_VERDICT,
	BPF_SK_REUSEPORT_SELECT,
	BPF_SK_REUSEPORT_SELECT_OR_MIGRATE,
	BPF_PERF_EVENT,
	BPF_TRACE_KPROBE_MULTI,
	BPF_LSM_CGROUP,
	BPF_STRUCT_OPS, /* since 6.4 */
	BPF_NETFILTER, /* since 6.4 */
	BPF_TCX_INGRESS, /* since 6.6 */
	BPF_TCX_EGRESS, /* since 6.6 */
	BPF_TRACE_UPROBE_MULTI = 48,
	BPF_CGROUP_UNIX_CONNECT = 49, /* since 6.7 */
	BPF_CGROUP_UNIX_SENDMSG, /* since 6.7 */
	BPF_CGROUP_UNIX_RECVMSG, /* since 6.7 */
	BPF_CGROUP_UNIX_GETPEERNAME, /* since 6.7 */
	BPF_CGROUP_UNIX_GETSOCKNAME, /* since 6.7 */
	BPF_NETKIT_PRIMARY, /* since 6.7 */
	BPF_NETKIT_PEER, /* since 6.7 */
	BPF_TRACE_KPROBE_SESSION = 56,
	BPF_TRACE_UPROBE_SESSION = 57,
	BPF_TRACE_FSESSION = 58,
	BPF_TRACE_FENTRY_MULTI = 59,
	BPF_TRACE_FEXIT_MULTI = 60,
	BPF_TRACE_FSESSION_MULTI = 61,
	__MAX_BPF_ATTACH_TYPE,
};
enum bpf_link_type {
	BPF_LINK_TYPE_UNSPEC,
	BPF_LINK_TYPE_RAW_TRACEPOINT,
	BPF_LINK_TYPE_TRACING,
	BPF_LINK_TYPE_CGROUP,
	BPF_LINK_TYPE_ITER,
	BPF_LINK_TYPE_NETNS,
	BPF_LINK_TYPE_XDP,
	BPF_LINK_TYPE_PERF_EVENT,
	BPF_LINK_TYPE_KPROBE_MULTI,
	BPF_LINK_TYPE_STRUCT_OPS,
	BPF_LINK_TYPE_TCX = 11, /* since 6.6 */
	BPF_LINK_TYPE_UPROBE_MULTI = 12,
	BPF_LINK_TYPE_NETKIT = 13, /* since 6.7 */
	BPF_LINK_TYPE_TRACING_MULTI = 15,
	MAX_BPF_LINK_TYPE,
};
enum bpf_func_id {
	BPF_FUNC_unspec,
	BPF_FUNC_map_lookup_elem,
	BPF_FUNC_map_update_elem,
	BPF_FUNC_map_delete_elem,
	BPF_FUNC_probe_read,
	BPF_FUNC_ktime_get_ns,
	BPF_FUNC_trace_printk,
	BPF_FUNC_get_prandom_u32,
	BPF_FUNC_get_smp_processor_id,
	BPF_FUNC_skb_store_bytes,
	BPF_FUNC_l3_csum_replace,
	BPF_FUNC_l4_csum_replace,
	BPF_FUNC_tail_call,
	BPF_FUNC_clone_redirect,
	BPF_FUNC_get_current_pid_tgid,
	BPF_FUNC_get_current_uid_gid,
	BPF_FUNC_get_current_comm,
	BPF_FUNC_get_cgroup_classid,
	BPF_FUNC_skb_vlan_push,
	BPF_FUNC_skb_vlan_pop,
	BPF_FUNC_skb_get_tunnel_key,
	BPF_FUNC_skb_set_tunnel_key,
	BPF_FUNC_perf_event_read,
	BPF_FUNC_redirect,
	BPF_FUNC_get_route_realm,
	BPF_FUNC_perf_event_output,
	BPF_FUNC_skb_load_bytes,
	BPF_FUNC_get_stackid,
	BPF_FUNC_csum_diff,
	BPF_FUNC_skb_get_tunnel_opt,
	BPF_FUNC_skb_set_tunnel_opt,
	BPF_FUNC_skb_change_proto,
	BPF_FUNC_skb_change_type,
	BPF_FUNC_skb_under_cgroup,
	BPF_FUNC_get_hash_recalc,
	BPF_FUNC_get_current_task,
	BPF_FUNC_probe_write_user,
	BPF_FUNC_current_task_under_cgroup,
	BPF_FUNC_skb_change_tail,
	BPF_FUNC_skb_pull_data,
	BPF_FUNC_csum_update,
	BPF_FUNC_set_hash_invalid,
	BPF_FUNC_get_numa_node_id,
	BPF_FUNC_skb_change_head,
	BPF_FUNC_xdp_adjust_head,
	BPF_FUNC_probe_read_str,
	BPF_FUNC_get_socket_cookie,
	BPF_FUNC_get_socket_uid,
	BPF_FUNC_set_hash,
	BPF_FUNC_setsockopt,
	BPF_FUNC_skb_adjust_room,
	BPF_FUNC_redirect_map,
	BPF_FUNC_sk_redirect_map,
	BPF_FUNC_sock_map_update,
	BPF_FUNC_xdp_adjust_meta,
	BPF_FUNC_perf_event_read_value,
	BPF_FUNC_perf_prog_read_value,
	BPF_FUNC_getsockopt,
	BPF_FUNC_override_return,
	BPF_FUNC_sock_ops_cb_flags_set,
	BPF_FUNC_msg_redirect_map,
	BPF_FUNC_msg_apply_bytes,
	BPF_FUNC_msg_cork_bytes,
	BPF_FUNC_msg_pull_data,
	BPF_FUNC_bind,
	BPF_FUNC_xdp_adjust_tail,
	BPF_FUNC_skb_get_xfrm_state,
	BPF_FUNC_get_stack,
	BPF_FUNC_skb_load_bytes_relative,
	BPF_FUNC_fib_lookup,
	BPF_FUNC_sock_hash_update,
	BPF_FUNC_msg_redirect_hash,
	BPF_FUNC_sk_redirect_hash,
	BPF_FUNC_lwt_push_encap,
	BPF_FUNC_lwt_seg6_store_bytes,
	BPF_FUNC_lwt_seg6_adjust_srh,
	BPF_FUNC_lwt_seg6_action,
	BPF_FUNC_rc_repeat,
	BPF_FUNC_rc_keydown,
	BPF_FUNC_skb_cgroup_id,
	BPF_FUNC_get_current_cgroup_id,
	BPF_FUNC_get_local_storage,
	BPF_FUNC_sk_select_reuseport,
	BPF_FUNC_skb_ancestor_cgroup_id,
	BPF_FUNC_sk_lookup_tcp,
	BPF_FUNC_sk_lookup_udp,
	BPF_FUNC_sk_release,
	BPF_FUNC_map_push_elem,
	BPF_FUNC_map_pop_elem,
	BPF_FUNC_map_peek_elem,
	BPF_FUNC_msg_push_data,
	BPF_FUNC_msg_pop_data,
	BPF_FUNC_rc_pointer_rel,
	BPF_FUNC_spin_lock,
	BPF_FUNC_spin_unlock,
	BPF_FUNC_sk_fullsock,
	BPF_FUNC_tcp_sock,
	BPF_FUNC_skb_ecn_set_ce,
	BPF_FUNC_get_listener_sock,
	BPF_FUNC_skc_lookup_tcp,
	BPF_FUNC_tcp_check_syncookie,
	BPF_FUNC_sysctl_get_name,
	BPF_FUNC_sysctl_get_current_value,
	BPF_FUNC_sysctl_get_new_value,
	BPF_FUNC_sysctl_set_new_value,
	BPF_FUNC_strtol,
	BPF_FUNC_strtoul,
	BPF_FUNC_sk_storage_get,
	BPF_FUNC_sk_storage_delete,
	BPF_FUNC_send_signal,
	BPF_FUNC_tcp_gen_syncookie,
	BPF_FUNC_skb_output,
	BPF_FUNC_probe_read_user,
	BPF_FUNC_probe_read_kernel,
	BPF_FUNC_probe_read_user_str,
	BPF_FUNC_probe_read_kernel_str,
	BPF_FUNC_tcp_send_ack,
	BPF_FUNC_send_signal_thread,
	BPF_FUNC_jiffies64,
	BPF_FUNC_read_branch_records,
	BPF_FUNC_get_ns_current_pid_tgid,
	BPF_FUNC_xdp_output,
	BPF_FUNC_get_netns_cookie,
	BPF_FUNC_get_current_ancestor_cgroup_id,
	BPF_FUNC_sk_assign,
	BPF_FUNC_ktime_get_boot_ns,
	BPF_FUNC_seq_printf,
	BPF_FUNC_seq_write,
	BPF_FUNC_sk_cgroup_id,
	BPF_FUNC_sk_ancestor_cgroup_id,
	BPF_FUNC_ringbuf_output,
	BPF_FUNC_ringbuf_reserve,
	BPF_FUNC_ringbuf_submit,
	BPF_FUNC_ringbuf_discard,
	BPF_FUNC_ringbuf_query,
	BPF_FUNC_csum_level,
	BPF_FUNC_skc_to_tcp6_sock,
	BPF_FUNC_skc_to_tcp_sock,
	BPF_FUNC_skc_to_tcp_timewait_sock,
	BPF_FUNC_skc_to_tcp_request_sock,
	BPF_FUNC_skc_to_udp6_sock,
	BPF_FUNC_get_task_stack,
	BPF_FUNC_load_hdr_opt,
	BPF_FUNC_store_hdr_opt,
	BPF_FUNC_reserve_hdr_opt,
	BPF_FUNC_inode_storage_get,
	BPF_FUNC_inode_storage_delete,
	BPF_FUNC_d_path,
	BPF_FUNC_copy_from_user,
	BPF_FUNC_snprintf_btf,
	BPF_FUNC_seq_printf_btf,
	BPF_FUNC_skb_cgroup_classid,
	BPF_FUNC_redirect_neigh,
	BPF_FUNC_per_cpu_ptr,
	BPF_FUNC_this_cpu_ptr,
	BPF_FUNC_redirect_peer,
	BPF_FUNC_task_storage_get,
	BPF_FUNC_task_storage_delete,
	BPF_FUNC_get_current_task_btf,
	BPF_FUNC_bprm_opts_set,
	BPF_FUNC_ktime_get_coarse_ns,
	BPF_FUNC_ima_inode_hash,
	BPF_FUNC_sock_from_file,
	BPF_FUNC_check_mtu,
	BPF_FUNC_for_each_map_elem,
	BPF_FUNC_snprintf,
	BPF_FUNC_sys_bpf,
	BPF_FUNC_btf_find_by_name_kind,
	BPF_FUNC_sys_close,
	BPF_FUNC_timer_init,
	BPF_FUNC_timer_set_callback,
	BPF_FUNC_timer_start,
	BPF_FUNC_timer_cancel,
	BPF_FUNC_get_func_ip,
	BPF_FUNC_get_attach_cookie,
	BPF_FUNC_task_pt_regs,
	BPF_FUNC_get_branch_snapshot,
	BPF_FUNC_trace_vprintk,
	BPF_FUNC_skc_to_unix_sock,
	BPF_FUNC_kallsyms_lookup_name,
	BPF_FUNC_find_vma,
	BPF_FUNC_loop,
	BPF_FUNC_strncmp,
	BPF_FUNC_get_func_arg,
	BPF_FUNC_get_func_ret,
	BPF_FUNC_get_func_arg_cnt,
	BPF_FUNC_get_retval,
	BPF_FUNC_set_retval,
	BPF_FUNC_xdp_get_buff_len,
	BPF_FUNC_xdp_load_bytes,
	BPF_FUNC_xdp_store_bytes,
	BPF_FUNC_copy_from_user_task,
	BPF_FUNC_skb_set_tstamp,
	BPF_FUNC_ima_file_hash,
	BPF_FUNC_kptr_xchg,
	BPF_FUNC_map_lookup_percpu_elem,
	BPF_FUNC_skc_to_mptcp_sock,
	BPF_FUNC_dynptr_from_mem,
	BPF_FUNC_ringbuf_reserve_dynptr,
	BPF_FUNC_ringbuf_submit_dynptr,
	BPF_FUNC_ringbuf_discard_dynptr,
	BPF_FUNC_dynptr_read,
	BPF_FUNC_dynptr_write,
	BPF_FUNC_dynptr_data,
	BPF_FUNC_tcp_raw_gen_syncookie_ipv4,
	BPF_FUNC_tcp_raw_gen_syncookie_ipv6,
	BPF_FUNC_tcp_raw_check_syncookie_ipv4,
	BPF_FUNC_tcp_raw_check_syncookie_ipv6,
	BPF_FUNC_ktime_get_tai_ns,
	BPF_FUNC_user_ringbuf_drain,
	BPF_FUNC_cgrp_storage_get, /* since 6.2 */
	BPF_FUNC_cgrp_storage_delete, /* since 6.2 */
	__BPF_FUNC_MAX_ID,
};
enum bpf_cgroup_iter_order {
	BPF_CGROUP_ITER_ORDER_UNSPEC,
	BPF_CGROUP_ITER_SELF_ONLY,
	BPF_CGROUP_ITER_DESCENDANTS_PRE,
	BPF_CGROUP_ITER_DESCENDANTS_POST,
	BPF_CGROUP_ITER_ANCESTORS_UP,
};
enum bpf_iter_task_type {
	BPF_TASK_ITER_ALL,
	BPF_TASK_ITER_TID,
	BPF_TASK_ITER_TGID,
};
enum bpf_ret_code {
	BPF_OK,
	BPF_DROP = 2,
	BPF_REDIRECT = 7,
	BPF_LWT_REROUTE = 128,
	BPF_FLOW_DISSECTOR_CONTINUE,
};
enum bpf_task_fd_type {
	BPF_FD_TYPE_RAW_TRACEPOINT,
	BPF_FD_TYPE_TRACEPOINT,
	BPF_FD_TYPE_KPROBE,
	BPF_FD_TYPE_KRETPROBE,
	BPF_FD_TYPE_UPROBE,
	BPF_FD_TYPE_URETPROBE,
};
enum bpf_perf_event_type {
	BPF_PERF_EVENT_UNSPEC,
	BPF_PERF_EVENT_UPROBE,
	BPF_PERF_EVENT_URETPROBE,
	BPF_PERF_EVENT_KPROBE,
	BPF_PERF_EVENT_KRETPROBE,
	BPF_PERF_EVENT_TRACEPOINT,
	BPF_PERF_EVENT_EVENT,
};
enum bpf_stack_build_id_status {
	BPF_STACK_BUILD_ID_EMPTY,
	BPF_STACK_BUILD_ID_VALID,
	BPF_STACK_BUILD_ID_IP,
};
/* Unnamed in the kernel's header. */
struct bpf_insn {
	__u8 code;
	__u8 dst_reg : 4;
	__u8 src_reg : 4;
	__s16 off;
	__s32 imm;
};
struct bpf_lpm_trie_key {
	__u32 prefixlen;
	__u8 data[];
};
struct bpf_cgroup_storage_key {
	__u64 cgroup_inode_id;
	__u32 attach_type;
};
union bpf_iter_link_info {
	struct {
		__u32 map_fd;
	} map;
	struct {
		enum bpf_cgroup_iter_order order;
		__u32 cgroup_fd;
		__u64 cgroup_id;
	} cgroup;
	struct {
		__u32 tid;
		__u32 pid;
		__u32 pid_fd;
	} task;
};
union bpf_attr {
	struct {
		__u32 map_type;
		__u32 key_size;
		__u32 value_size;
		__u32 max_entries;
		__u32 map_flags;
		__u32 inner_map_fd;
		__u32 numa_node;
		char map_name[16];
		__u32 map_ifindex;
		__u32 btf_fd;
		__u32 btf_key_type_id;
		__u32 btf_value_type_id;
		__u32 btf_vmlinux_value_type_id;
		__u64 map_extra;
	};
	struct {
		__u32 map_fd;
		__u64 key;
		union {
			__u64 value;
			__u64 next_key;
		};
		__u64 flags;
	};
	struct {
		__u64 in_batch;
		__u64 out_batch;
		__u64 keys;
		__u64 values;
		__u32 count;
		__u32 map_fd;
		__u64 elem_flags;
		__u64 flags;
	} batch;
	struct {
		__u32 prog_type;
		__u32 insn_cnt;
		__u64 insns;
		__u64 license;
		__u32 log_level;
		__u32 log_size;
		__u64 log_buf;
		__u32 kern_version;
		__u32 prog_flags;
		char prog_name[16];
		__u32 prog_ifindex;
		__u32 expected_attach_type;
		__u32 prog_btf_fd;
		__u32 func_info_rec_size;
		__u64 func_info;
		__u32 func_info_cnt;
		__u32 line_info_rec_size;
		__u64 line_info;
		__u32 line_info_cnt;
		__u32 attach_btf_id;
		union {
			__u32 attach_prog_fd;
			__u32 attach_btf_obj_fd;
		};
		__u32 core_relo_cnt;
		__u64 fd_array;
		__u64 core_relos;
		__u32 core_relo_rec_size;
	};
	struct {
		__u64 pathname;
		__u32 bpf_fd;
		__u32 file_flags;
	};
	struct {
		__u32 target_fd;
		__u32 attach_bpf_fd;
		__u32 attach_type;
		__u32 attach_flags;
		__u32 replace_bpf_fd;
	};
	struct {
		__u32 prog_fd;
		__u32 retval;
		__u32 data_size_in;
		__u32 data_size_out;
		__u64 data_in;
		__u64 data_out;
		__u32 repeat;
		__u32 duration;
		__u32 ctx_size_in;
		__u32 ctx_size_out;
		__u64 ctx_in;
		__u64 ctx_out;
		__u32 flags;
		__u32 cpu;
		__u32 batch_size;
	} test;
	struct {
		union {
			__u32 start_id;
			__u32 prog_id;
			__u32 map_id;
			__u32 btf_id;
			__u32 link_id;
		};
		__u32 next_id;
		__u32 open_flags;
	};
	struct {
		__u32 bpf_fd;
		__u32 info_len;
		__u64 info;
	} info;
	struct {
		__u32 target_fd;
		__u32 attach_type;
		__u32 query_flags;
		__u32 attach_flags;
		__u64 prog_ids;
		__u32 prog_cnt;
		__u64 prog_attach_flags;
	} query;
	struct {
		__u64 name;
		__u32 prog_fd;
	} raw_tracepoint;
	struct {
		__u64 btf;
		__u64 btf_log_buf;
		__u32 btf_size;
		__u32 btf_log_size;
		__u32 btf_log_level;
	};
	struct {
		__u32 pid;
		__u32 fd;
		__u32 flags;
		__u32 buf_len;
		__u64 buf;
		__u32 prog_id;
		__u32 fd_type;
		__u64 probe_offset;
		__u64 probe_addr;
	} task_fd_query;
	struct {
		__u32 prog_fd;
		union {
			__u32 target_fd;
			__u32 target_ifindex;
		};
		__u32 attach_type;
		__u32 flags;
		union {
			__u32 target_btf_id;
			struct {
				__u64 iter_info;
				__u32 iter_info_len;
			};
			struct {
				__u64 bpf_cookie;
			} perf_event;
			struct {
				__u32 flags;
				__u32 cnt;
				__u64 syms;
				__u64 addrs;
				__u64 cookies;
			} kprobe_multi;
			struct {
				__u32 target_btf_id;
				__u64 cookie;
			} tracing;
		};
	} link_create;
	struct {
		__u32 link_fd;
		__u32 new_prog_fd;
		__u32 flags;
		__u32 old_prog_fd;
	} link_update;
	struct {
		__u32 link_fd;
	} link_detach;
	struct {
		__u32 type;
	} enable_stats;
	struct {
		__u32 link_fd;
		__u32 flags;
	} iter_create;
	struct {
		__u32 prog_fd;
		__u32 map_fd;
		__u32 flags;
	} prog_bind_map;
};
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;
	__u32 vlan_present;
	__u32 vlan_tci;
	__u32 vlan_proto;
	__u32 priority;
	__u32 ingress_ifindex;
	__u32 ifindex;
	__u32 tc_index;
	__u32 cb[5];
	__u32 hash;
	__u32 tc_classid;
	__u32 data;
	__u32 data_end;
	__u32 napi_id;
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port;
	__u32 data_meta;
	union {
		struct bpf_flow_keys *flow_keys;
	};
	__u64 tstamp;
	__u32 wire_len;
	__u32 gso_segs;
	union {
		struct bpf_sock *sk;
	};
	__u32 gso_size;
	__u8 tstamp_type;
	__u64 hwtstamp;
};
struct bpf_tunnel_key {
	__u32 tunnel_id;
	union {
		__u32 remote_ipv4;
		__u32 remote_ipv6[4];
	};
	__u8 tunnel_tos;
	__u8 tunnel_ttl;
	union {
		__u16 tunnel_ext;
		__be16 tunnel_flags;
	};
	__u32 tunnel_label;
	union {
		__u32 local_ipv4;
		__u32 local_ipv6[4];
	};
};
struct bpf_xfrm_state {
	__u32 reqid;
	__u32 spi;
	__u16 family;
	__u16 ext;
	union {
		__u32 remote_ipv4;
		__u32 remote_ipv6[4];
	};
};
struct bpf_sock {
	__u32 bound_dev_if;
	__u32 family;
	__u32 type;
	__u32 protocol;
	__u32 mark;
	__u32 priority;
	__u32 src_ip4;
	__u32 src_ip6[4];
	__u32 src_port;
	__be16 dst_port;
	__u32 dst_ip4;
	__u32 dst_ip6[4];
	__u32 state;
	__s32 rx_queue_mapping;
};
struct bpf_tcp_sock {
	__u32 snd_cwnd;
	__u32 srtt_us;
	__u32 rtt_min;
	__u32 snd_ssthresh;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 mss_cache;
	__u32 ecn_flags;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 total_retrans;
	__u32 segs_in;
	__u32 data_segs_in;
	__u32 segs_out;
	__u32 data_segs_out;
	__u32 lost_out;
	__u32 sacked_out;
	__u64 bytes_received;
	__u64 bytes_acked;
	__u32 dsack_dups;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 icsk_retransmits;
};
struct bpf_sock_tuple {
	union {
		struct {
			__be32 saddr;
			__be32 daddr;
			__be16 sport;
			__be16 dport;
		} ipv4;
		struct {
			__be32 saddr[4];
			__be32 daddr[4];
			__be16 sport;
			__be16 dport;
		} ipv6;
	};
};
struct bpf_xdp_sock {
	__u32 queue_id;
};
enum xdp_action {
	XDP_ABORTED,
	XDP_DROP,
	XDP_PASS,
	XDP_TX,
	XDP_REDIRECT,
};
struct xdp_md {
	__u32 data;
	__u32 data_end;
	__u32 data_meta;
	__u32 ingress_ifindex;
	__u32 rx_queue_index;
	__u32 egress_ifindex;
};
struct sk_msg_md {
	union {
		void *data;
	};
	union {
		void *data_end;
	};
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port;
	__u32 size;
	union {
		struct bpf_sock *sk;
	};
};
struct sk_reuseport_md {
	union {
		void *data;
	};
	union {
		void *data_end;
	};
	__u32 len;
	__u32 eth_protocol;
	__u32 ip_protocol;
	__u32 bind_inany;
	__u32 hash;
	union {
		struct bpf_sock *sk;
	};
	union {
		struct bpf_sock *migrating_sk;
	};
};
struct bpf_prog_info {
	__u32 type;
	__u32 id;
	__u8 tag[8];
	__u32 jited_prog_len;
	__u32 xlated_prog_len;
	__u64 jited_prog_insns;
	__u64 xlated_prog_insns;
	__u64 load_time;
	__u32 created_by_uid;
	__u32 nr_map_ids;
	__u64 map_ids;
	char name[16];
	__u32 ifindex;
	__u32 gpl_compatible : 1;
	__u64 netns_dev;
	__u64 netns_ino;
	__u32 nr_jited_ksyms;
	__u32 nr_jited_func_lens;
	__u64 jited_ksyms;
	__u64 jited_func_lens;
	__u32 btf_id;
	__u32 func_info_rec_size;
	__u64 func_info;
	__u32 nr_func_info;
	__u32 nr_line_info;
	__u64 line_info;
	__u64 jited_line_info;
	__u32 nr_jited_line_info;
	__u32 line_info_rec_size;
	__u32 jited_line_info_rec_size;
	__u32 nr_prog_tags;
	__u64 prog_tags;
	__u64 run_time_ns;
	__u64 run_cnt;
	__u64 recursion_misses;
	__u32 verified_insns;
	__u32 attach_btf_obj_id;
	__u32 attach_btf_id;
};
struct bpf_map_info {
	__u32 type;
	__u32 id;
	__u32 key_size;
	__u32 value_size;
	__u32 max_entries;
	__u32 map_flags;
	char name[16];
	__u32 ifindex;
	__u32 btf_vmlinux_value_type_id;
	__u64 netns_dev;
	__u64 netns_ino;
	__u32 btf_id;
	__u32 btf_key_type_id;
	__u32 btf_value_type_id;
	__u64 map_extra;
};
struct bpf_btf_info {
	__u64 btf;
	__u32 btf_size;
	__u32 id;
	__u64 name;
	__u32 name_len;
	__u32 kernel_btf;
};
struct bpf_link_info {
	__u32 type;
	__u32 id;
	__u32 prog_id;
	union {
		struct {
			__u64 tp_name;
			__u32 tp_name_len;
		} raw_tracepoint;
		struct {
			__u32 attach_type;
			__u32 target_obj_id;
			__u32 target_btf_id;
		} tracing;
		struct {
			__u64 cgroup_id;
			__u32 attach_type;
		} cgroup;
		struct {
			__u64 target_name;
			__u32 target_name_len;
			union {
				struct {
					__u32 map_id;
				} map;
			};
			union {
				struct {
					__u64 cgroup_id;
					__u32 order;
				} cgroup;
				struct {
					__u32 tid;
					__u32 pid;
				} task;
			};
		} iter;
		struct {
			__u32 netns_ino;
			__u32 attach_type;
		} netns;
		struct {
			__u32 ifindex;
		} xdp;
	};
};
struct bpf_sock_addr {
	__u32 user_family;
	__u32 user_ip4;
	__u32 user_ip6[4];
	__u32 user_port;
	__u32 family;
	__u32 type;
	__u32 protocol;
	__u32 msg_src_ip4;
	__u32 msg_src_ip6[4];
	union {
		struct bpf_sock *sk;
	};
};
struct bpf_sock_ops {
	__u32 op;
	union {
		__u32 args[4];
		__u32 reply;
		__u32 replylong[4];
	};
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port;
	__u32 is_fullsock;
	__u32 snd_cwnd;
	__u32 srtt_us;
	__u32 bpf_sock_ops_cb_flags;
	__u32 state;
	__u32 rtt_min;
	__u32 snd_ssthresh;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 mss_cache;
	__u32 ecn_flags;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 total_retrans;
	__u32 segs_in;
	__u32 data_segs_in;
	__u32 segs_out;
	__u32 data_segs_out;
	__u32 lost_out;
	__u32 sacked_out;
	__u32 sk_txhash;
	__u64 bytes_received;
	__u64 bytes_acked;
	union {
		struct bpf_sock *sk;
	};
	union {
		void *skb_data;
	};
	union {
		void *skb_data_end;
	};
	__u32 skb_len;
	__u32 skb_tcp_flags;
};
struct bpf_perf_event_value {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};
struct bpf_cgroup_dev_ctx {
	__u32 access_type;
	__u32 major;
	__u32 minor;
};
struct bpf_raw_tracepoint_args {
	__u64 args[];
};
struct bpf_fib_lookup {
	__u8 family;
	__u8 l4_protocol;
	__be16 sport;
	__be16 dport;
	union {
		__u16 tot_len;
		__u16 mtu_result;
	};
	__u32 ifindex;
	union {
		__u8 tos;
		__be32 flowinfo;
		__u32 rt_metric;
	};
	union {
		__be32 ipv4_src;
		__u32 ipv6_src[4];
	};
	union {
		__be32 ipv4_dst;
		__u32 ipv6_dst[4];
	};
	union {
		struct {
			__be16 h_vlan_proto;
			__be16 h_vlan_TCI;
		};
		__u32 tbid;
	};
	__u8 smac[6];
	__u8 dmac[6];
};
struct bpf_func_info {
	__u32 insn_off;
	__u32 type_id;
};
struct bpf_line_info {
	__u32 insn_off;
	__u32 file_name_off;
	__u32 line_off;
	__u32 line_col;
};
struct bpf_spin_lock {
	__u32 val;
};
struct bpf_timer {
	__u64 : 64;
	__u64 : 64;
} __attribute__((aligned(8)));
struct bpf_dynptr {
	__u64 : 64;
	__u64 : 64;
} __attribute__((aligned(8)));
struct bpf_sysctl {
	__u32 write;
	__u32 file_pos;
};
struct bpf_sockopt {
	union {
		struct bpf_sock *sk;
	};
	union {
		void *optval;
	};
	union {
		void *optval_end;
	};
	__s32 level;
	__s32 optname;
	__s32 optlen;
	__s32 retval;
};
struct bpf_pidns_info {
	__u32 pid;
	__u32 tgid;
};
struct bpf_sk_lookup {
	union {
		union {
			struct bpf_sock *sk;
		};
		__u64 cookie;
	};
	__u32 family;
	__u32 protocol;
	__u32 remote_ip4;
	__u32 remote_ip6[4];
	__be16 remote_port;
	__u32 local_ip4;
	__u32 local_ip6[4];
	__u32 local_port;
	__u32 ingress_ifindex;
};
struct btf_ptr {
	void *ptr;
	__u32 type_id;
	__u32 flags;
};
struct bpf_stack_build_id {
	__s32 status;
	unsigned char build_id[20];
	union {
		__u64 offset;
		__u64 ip;
	};
};
enum bpf_core_relo_kind {
	BPF_CORE_FIELD_BYTE_OFFSET,
	BPF_CORE_FIELD_BYTE_SIZE,
	BPF_CORE_FIELD_EXISTS,
	BPF_CORE_FIELD_SIGNED,
	BPF_CORE_FIELD_LSHIFT_U64,
	BPF_CORE_FIELD_RSHIFT_U64,
	BPF_CORE_TYPE_ID_LOCAL,
	BPF_CORE_TYPE_ID_TARGET,
	BPF_CORE_TYPE_EXISTS,
	BPF_CORE_TYPE_SIZE,
	BPF_CORE_ENUMVAL_EXISTS,
	BPF_CORE_ENUMVAL_VALUE,
	BPF_CORE_TYPE_MATCHES,
};
struct bpf_core_relo {
	__u32 insn_off;
	__u32 type_id;
	__u32 access_str_off;
	enum bpf_core_relo_kind kind;
};
struct sock_filter {
	__u16 code;
	__u8 jt;
	__u8 jf;
	__u32 k;
};
struct sock_fprog {
	unsigned short len;
	struct sock_filter *filter;
};
struct sock_fprog_kern {
	u16 len;
	struct sock_filter *filter;
};

/* Inside the kernel. */
struct bpf_map {
	const struct bpf_map_ops *ops;
	struct bpf_map *inner_map_meta;
	void *security;
	enum bpf_map_type map_type;
	u32 key_size;
	u32 value_size;
	u32 max_entries;
	u64 map_extra; /* since 5.16 */
	u32 map_flags;
	int spin_lock_off;
	struct bpf_map_value_off *kptr_off_tab; /* since 5.19 */
	int timer_off;
	u32 id;
	int numa_node;
	u32 btf_key_type_id;
	u32 btf_value_type_id;
	u32 btf_vmlinux_value_type_id;
	struct btf *btf;
	struct obj_cgroup *objcg;
	char name[16];
	struct bpf_map_off_arr *off_arr; /* since 6.0 */
	atomic64_t refcnt;
	atomic64_t usercnt;
	union {
		struct work_struct work;
		struct callback_head rcu;
	};
	struct mutex freeze_mutex;
	atomic64_t writecnt;
	spinlock_t owner_lock;
	struct bpf_map_owner *owner;
	bool bypass_spec_v1;
	bool frozen;
	bool free_after_mult_rcu_gp;
	s64 *elem_count;
	u64 cookie;
};
struct bpf_map_ops {
	int (*map_alloc_check)(union bpf_attr *);
	struct bpf_map *(*map_alloc)(union bpf_attr *);
	void (*map_release)(struct bpf_map *, struct file *);
	void (*map_free)(struct bpf_map *);
	int (*map_get_next_key)(struct bpf_map *, void *, void *);
	void *(*map_lookup_elem)(struct bpf_map *, void *);
	int (*map_update_elem)(struct bpf_map *, void *, void *, u64);
	int (*map_delete_elem)(struct bpf_map *, void *);
	int (*map_push_elem)(struct bpf_map *, void *, u64);
	int (*map_pop_elem)(struct bpf_map *, void *);
	int (*map_peek_elem)(struct bpf_map *, void *);
	void *(*map_lookup_percpu_elem)(struct bpf_map *, void *, u32);
};
struct bpf_insn_array_value { /* since 6.19 */
	u32 orig_off;
	u32 xlated_off;
	u32 jitted_off;
	u32 : 32;
}; /* since 6.19 */
struct bpf_insn_array { /* since 6.19 */
	struct bpf_map map;
	atomic_t used;
	long *ips;
	struct bpf_insn_array_value values[0];
}; /* since 6.19 */
struct bpf_array {
	struct bpf_map map;
	u32 elem_size;
	u32 index_mask;
	struct bpf_array_aux *aux;
	union {
		char value[];
		void *ptrs[];
		void *pptrs[];
	};
};
struct bpf_lru_node {
	struct list_head list;
	u16 cpu;
	u8 type;
	u8 ref;
};
struct pcpu_freelist_node {
	struct pcpu_freelist_node *next;
};
struct htab_elem {
	union {
		struct hlist_nulls_node hash_node;
		struct {
			void *padding;
			union {
				struct pcpu_freelist_node fnode;
				struct htab_elem *batch_flink;
			};
		};
	};
	union {
		void *ptr_to_pptr;
		struct bpf_lru_node lru_node;
	};
	u32 hash;
	char key[] __attribute__((aligned(8)));
};
struct bpf_htab {
	struct bpf_map map;
	struct bucket *buckets;
	void *elems;
	atomic_t count;
	u32 n_buckets;
	u32 elem_size;
	u32 hashrnd;
};
struct bpf_ringbuf_map {
	struct bpf_map map;
	struct bpf_ringbuf *rb;
};
struct bpf_ringbuf {
	wait_queue_head_t waitq;
	u64 mask;
	struct page **pages;
	int nr_pages;
	unsigned long consumer_pos;
	unsigned long producer_pos;
	char data[];
};
struct bpf_stack_map {
	struct bpf_map map;
	void *elems;
	u32 n_buckets;
	struct stack_map_bucket *buckets[];
};
struct bpf_queue_stack {
	struct bpf_map map;
	raw_spinlock_t lock;
	u32 head;
	u32 tail;
	u32 size;
	char elements[];
};
struct lpm_trie {
	struct bpf_map map;
	struct lpm_trie_node *root;
	size_t n_entries;
	size_t max_prefixlen;
	size_t data_size;
	spinlock_t lock;
};
struct lpm_trie_node;
struct bpf_local_storage_map {
	struct bpf_map map;
	struct bpf_local_storage_map_bucket *buckets;
	u32 bucket_log;
	u16 elem_size;
	u16 cache_idx;
};
struct bpf_local_storage_map_bucket;
struct bpf_shtab {
	struct bpf_map map;
	struct bpf_shtab_bucket *buckets;
	u32 buckets_num;
	u32 elem_size;
	struct sk_psock_progs progs;
	atomic_t count;
};
struct bpf_dtab {
	struct bpf_map map;
};
struct bpf_stab {
	struct bpf_map map;
	struct sock **sks;
};
struct bpf_cpu_map {
	struct bpf_map map;
	struct bpf_cpu_map_entry **cpu_map;
};
struct xdp_cpumap_stats { /* since 5.9 */
	unsigned int redirect;
	unsigned int pass;
	unsigned int drop;
};
struct xsk_map {
	struct bpf_map map;
	spinlock_t lock;
	struct xdp_sock *xsk_map[];
};
struct bpf_struct_ops_map {
	struct bpf_map map;
};
struct reuseport_array {
	struct bpf_map map;
	struct sock *ptrs[];
};
struct bpf_cgroup_storage_map {
	struct bpf_map map;
	spinlock_t lock;
	struct rb_root root;
	struct list_head list;
};
struct bpf_bloom_filter {
	struct bpf_map map;
	u32 bitset_mask;
	u32 hash_seed;
	u32 nr_hash_funcs;
};
struct bpf_offloaded_map {
	struct bpf_map map;
};
struct bpf_prog {
	u16 pages;
	u16 jited : 1;
	u16 jit_requested : 1;
	u16 gpl_compatible : 1;
	u16 cb_access : 1;
	u16 dst_needed : 1;
	u16 blinding_requested : 1;
	u16 blinded : 1;
	u16 is_func : 1;
	u16 kprobe_override : 1;
	u16 has_callchain_buf : 1;
	u16 enforce_expected_attach_type : 1;
	u16 call_get_stack : 1;
	u16 call_get_func_ip : 1;
	u16 tstamp_type_access : 1;
	enum bpf_prog_type type;
	enum bpf_attach_type expected_attach_type;
	u32 len;
	u32 jited_len;
	u8 tag[8];
	struct bpf_prog_stats *stats;
	int *active;
	unsigned int (*bpf_func)(const void *, const struct bpf_insn *);
	struct bpf_prog_aux *aux;
	struct sock_fprog_kern *orig_prog;
	union {
		struct {
			struct {
			} __empty_insns;
			struct sock_filter insns[];
		};
		struct {
			struct {
			} __empty_insnsi;
			struct bpf_insn insnsi[];
		};
	};
};
struct bpf_ksym {
	unsigned long start;
	unsigned long end;
	char name[512];
	struct list_head lnode;
	bool prog;
};
struct bpf_prog_aux {
	atomic64_t refcnt;
	u32 used_map_cnt;
	u32 used_btf_cnt;
	u32 max_ctx_offset;
	u32 max_pkt_offset;
	u32 max_tp_access;
	u32 stack_depth;
	u32 id;
	u32 func_cnt;
	u32 func_idx;
	u32 attach_btf_id;
	u32 ctx_arg_info_size;
	u32 max_rdonly_access;
	u32 max_rdwr_access;
	struct btf *attach_btf;
	struct bpf_prog *dst_prog;
	enum bpf_prog_type saved_dst_prog_type;
	enum bpf_attach_type saved_dst_attach_type;
	bool verifier_zext;
	bool offload_requested;
	bool attach_btf_trace;
	bool func_proto_unreliable;
	bool sleepable;
	bool tail_call_reachable;
	bool xdp_has_frags;
	const struct btf_type *attach_func_proto;
	const char *attach_func_name;
	struct bpf_prog **func;
	struct bpf_ksym ksym;
	struct bpf_map **used_maps;
	struct bpf_prog *prog;
	struct user_struct *user;
	u64 load_time;
	u32 verified_insns; /* since 5.16 */
	char name[16];
	struct btf *btf;
	struct bpf_func_info *func_info;
	struct bpf_func_info_aux *func_info_aux;
	struct bpf_line_info *linfo;
	u32 func_info_cnt;
	u32 nr_linfo;
	u32 linfo_idx;
	u32 num_exentries;
};
struct bpf_prog_stats {
	u64_stats_t cnt;
	u64_stats_t nsecs;
	u64_stats_t misses;
};
struct bpf_link {
	atomic64_t refcnt;
	u32 id;
	enum bpf_link_type type;
	const struct bpf_link_ops *ops;
	struct bpf_prog *prog;
	union {
		struct callback_head rcu;
		struct work_struct work;
	};
};
struct bpf_link_ops {
	void (*release)(struct bpf_link *);
	void (*dealloc)(struct bpf_link *);
	void (*dealloc_deferred)(struct bpf_link *);
	int (*detach)(struct bpf_link *);
	int (*update_prog)(struct bpf_link *, struct bpf_prog *, struct bpf_prog *);
	void (*show_fdinfo)(const struct bpf_link *, struct seq_file *);
	int (*fill_link_info)(const struct bpf_link *, struct bpf_link_info *);
};
struct bpf_trace_run_ctx {
	struct bpf_run_ctx run_ctx;
	u64 bpf_cookie;
};
struct bpf_run_ctx {
};
struct bpf_tramp_run_ctx {
	struct bpf_run_ctx run_ctx;
	u64 bpf_cookie;
	struct bpf_run_ctx *saved_run_ctx;
};
struct bpf_dynptr_kern {
	void *data;
	u32 size;
	u32 offset;
};
struct bpf_key {
	struct key *key;
	bool has_ref;
};
struct bpf_iter_meta {
	union {
		struct seq_file *seq;
	};
	u64 session_id;
	u64 seq_num;
};
struct bpf_iter_seq_task_common {
	struct pid_namespace *ns;
	enum bpf_iter_task_type type;
	u32 pid;
	u32 pid_visiting;
};
struct bpf_iter__task {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct task_struct *task;
	};
};
struct bpf_iter__task_file {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct task_struct *task;
	};
	u32 fd;
	union {
		struct file *file;
	};
};
struct bpf_iter__task_vma {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct task_struct *task;
	};
	union {
		struct vm_area_struct *vma;
	};
};
struct bpf_iter__bpf_map {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct bpf_map *map;
	};
};
struct bpf_iter__bpf_map_elem {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct bpf_map *map;
	};
	union {
		void *key;
	};
	union {
		void *value;
	};
};
struct bpf_iter__bpf_prog {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct bpf_prog *prog;
	};
};
struct bpf_iter__bpf_link {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct bpf_link *link;
	};
};
struct bpf_iter__ksym {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct kallsym_iter *ksym;
	};
};
struct bpf_iter__kmem_cache {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct kmem_cache *s;
	};
};
struct bpf_iter__dmabuf {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct dma_buf *dmabuf;
	};
};
struct bpf_iter__cgroup {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct cgroup *cgroup;
	};
};
struct bpf_iter__tcp {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct sock_common *sk_common;
	};
	uid_t uid;
};
struct bpf_iter__udp {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct udp_sock *udp_sk;
	};
	uid_t uid __attribute__((aligned(8)));
	int bucket __attribute__((aligned(8)));
};
struct bpf_iter__unix {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct unix_sock *unix_sk;
	};
	uid_t uid;
};
struct bpf_iter__sockmap {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct bpf_map *map;
	};
	union {
		void *key;
	};
	union {
		struct sock *sk;
	};
};
struct bpf_iter__bpf_sk_storage_map {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct bpf_map *map;
	};
	union {
		struct sock *sk;
	};
	union {
		void *value;
	};
};
struct kallsym_iter {
	loff_t pos;
	loff_t pos_arch_end;
	loff_t pos_mod_end;
	loff_t pos_ftrace_mod_end;
	loff_t pos_bpf_end;
	unsigned long value;
	unsigned int nameoff;
	char type;
	char name[512];
	char module_name[56];
	int exported;
	int show_value;
};
struct bpf_flow_dissector {
	struct bpf_flow_keys *flow_keys;
	const struct sk_buff *skb;
	const void *data;
	const void *data_end;
};
struct bpf_cg_run_ctx {
	struct bpf_run_ctx run_ctx;
	const struct bpf_prog_array_item *prog_item;
	int retval;
};
struct bpf_sk_lookup_kern {
	u16 family;
	u16 protocol;
	__be16 sport;
	u16 dport;
	struct {
		__be32 saddr;
		__be32 daddr;
	} v4;
	struct {
		const struct in6_addr *saddr;
		const struct in6_addr *daddr;
	} v6;
	struct sock *selected_sk;
	u32 ingress_ifindex;
	bool no_reuseport;
};
struct bpf_sysctl_kern {
	struct ctl_table_header *head;
	struct ctl_table *table;
	void *cur_val;
	size_t cur_len;
	void *new_val;
	size_t new_len;
	int new_updated;
	int write;
	loff_t *ppos;
	u64 tmp_reg;
};
struct bpf_sockopt_kern {
	struct sock *sk;
	u8 *optval;
	u8 *optval_end;
	s32 level;
	s32 optname;
	s32 optlen;
	s32 retval; /* until 5.18 */
	struct task_struct *current_task; /* since 5.18 */
	u64 tmp_reg; /* since 5.18 */
};
struct bpf_sock_ops_kern {
	struct sock *sk;
	union {
		u32 args[4];
		u32 reply;
		u32 replylong[4];
	};
	struct sk_buff *syn_skb;
	struct sk_buff *skb;
	void *skb_data_end;
	u8 op;
	u8 is_fullsock;
	u8 remaining_opt_len;
	u64 temp;
};
struct bpf_sock_addr_kern {
	struct sock *sk;
	struct sockaddr *uaddr;
	u64 tmp_reg;
	void *t_ctx;
	u32 uaddrlen; /* since 6.7 */
};
struct sk_psock_progs {
	struct bpf_prog *msg_parser;
	struct bpf_prog *stream_parser;
	struct bpf_prog *stream_verdict;
	struct bpf_prog *skb_verdict;
};
struct sk_msg {
	struct sk_msg_sg sg;
	void *data;
	void *data_end;
	u32 apply_bytes;
	u32 cork_bytes;
	u32 flags;
	struct sk_buff *skb;
	struct sock *sk_redir;
	struct sock *sk;
	struct list_head list;
};
struct sk_msg_sg {
	u32 start;
	u32 curr;
	u32 end;
	u32 size;
	u32 copybreak;
	unsigned long copy[1];
	struct scatterlist data[19];
};
struct sk_reuseport_kern {
	struct sk_buff *skb;
	struct sock *sk;
	struct sock *selected_sk;
	struct sock *migrating_sk;
	void *data_end;
	u32 hash;
	u32 reuseport_id;
	bool bind_inany;
};
struct bpf_cgroup_storage {
	union {
		struct bpf_storage_buffer *buf;
		void *percpu_buf;
	};
	struct bpf_cgroup_storage_map *map;
	struct bpf_cgroup_storage_key key;
	struct list_head list_map;
	struct list_head list_cg;
	struct rb_node node;
	struct callback_head rcu;
};
struct bpf_storage_buffer {
	struct callback_head rcu;
	char data[];
};
struct bpf_nh_params {
	u32 nh_family;
	union {
		u32 ipv4_nh;
		struct in6_addr ipv6_nh;
	};
};
struct bpf_redir_neigh {
	__u32 nh_family;
	union {
		__be32 ipv4_nh;
		__u32 ipv6_nh[4];
	};
};
struct mptcp_sock {
	struct inet_connection_sock sk;
	u64 write_seq;
	u64 snd_nxt;
	u32 token;
};
struct tcp6_sock {
	struct tcp_sock tcp;
	struct ipv6_pinfo inet6;
};
struct tcp_timewait_sock {
	struct inet_timewait_sock tw_sk;
};
struct udp6_sock {
	struct udp_sock udp;
	struct ipv6_pinfo inet6;
};
struct icmp6_filter {
	__u32 data[8];
};
struct raw6_sock {
	struct inet_sock inet;
	__u32 checksum;
	__u32 offset;
	struct icmp6_filter filter;
	__u32 ip6mr_table;
	struct ipv6_pinfo inet6;
};
struct btf_id_set8 {
	u32 cnt;
	u32 flags;
	struct {
		u32 id;
		u32 flags;
	} pairs[];
};
struct btf_header {
	__u16 magic;
	__u8 version;
	__u8 flags;
	__u32 hdr_len;
	__u32 type_off;
	__u32 type_len;
	__u32 str_off;
	__u32 str_len;
};
struct btf_type {
	__u32 name_off;
	__u32 info;
	union {
		__u32 size;
		__u32 type;
	};
};
struct btf_enum {
	__u32 name_off;
	__s32 val;
};
struct btf_array {
	__u32 type;
	__u32 index_type;
	__u32 nelems;
};
struct btf_member {
	__u32 name_off;
	__u32 type;
	__u32 offset;
};
struct btf_param {
	__u32 name_off;
	__u32 type;
};
struct btf_var {
	__u32 linkage;
};
struct btf_var_secinfo {
	__u32 type;
	__u32 offset;
	__u32 size;
};
struct btf_decl_tag {
	__s32 component_idx;
};
struct btf_enum64 {
	__u32 name_off;
	__u32 val_lo32;
	__u32 val_hi32;
};
struct scatterlist {
	unsigned long page_link;
	unsigned int offset;
	unsigned int length;
	dma_addr_t dma_address;
	unsigned int dma_length;
};
/* Test functions, net/bpf/test_run.c. */
struct prog_test_member1 {
	int a;
};
struct prog_test_member {
	struct prog_test_member1 m;
	int c;
};
struct prog_test_ref_kfunc {
	int a;
	int b;
	struct prog_test_member memb;
	struct prog_test_ref_kfunc *next;
	refcount_t cnt;
};
struct bpf_fentry_test_t {
	struct bpf_fentry_test_t *a;
};
struct prog_test_pass1 {
	int x0;
	struct {
		int x1;
		struct {
			int x2;
			struct {
				int x3;
			};
		};
	};
};
struct prog_test_pass2 {
	int len;
	short arr1[4];
	struct {
		char arr2[4];
		unsigned long arr3[8];
	} x;
};
struct prog_test_fail1 {
	void *p;
	int x;
};
struct prog_test_fail2 {
	int x8;
	struct prog_test_pass1 x;
};
struct prog_test_fail3 {
	int len;
	char arr1[2];
	char arr2[];
};
struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};
enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};
struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	u32 prior_delivered_ce; /* since 5.17 */
	s32 delivered;
	s32 delivered_ce; /* since 5.17 */
	long interval_us;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq; /* since 5.17 */
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
};
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *);
	void (*cong_avoid)(struct sock *, u32, u32);
	void (*set_state)(struct sock *, u8);
	void (*cwnd_event)(struct sock *, enum tcp_ca_event);
	void (*in_ack_event)(struct sock *, u32);
	void (*pkts_acked)(struct sock *, const struct ack_sample *);
	u32 (*min_tso_segs)(struct sock *);
	void (*cong_control)(struct sock *, const struct rate_sample *);
	u32 (*undo_cwnd)(struct sock *);
	u32 (*sndbuf_expand)(struct sock *);
	size_t (*get_info)(struct sock *, u32, int *, union tcp_cc_info *);
	char name[16];
	struct module *owner;
	struct list_head list;
	u32 key;
	u32 flags;
	void (*init)(struct sock *);
	void (*release)(struct sock *);
};
enum bpf_struct_ops_state {
	BPF_STRUCT_OPS_STATE_INIT,
	BPF_STRUCT_OPS_STATE_INUSE,
	BPF_STRUCT_OPS_STATE_TOBEFREE,
};
struct bpf_dummy_ops_state {
	int val;
};
struct bpf_dummy_ops {
	int (*test_1)(struct bpf_dummy_ops_state *);
	int (*test_2)(struct bpf_dummy_ops_state *, int, unsigned short, char, unsigned long);
};
struct bpf_struct_ops_bpf_dummy_ops {
	refcount_t refcnt;
	enum bpf_struct_ops_state state;
	struct bpf_dummy_ops data __attribute__((aligned(64)));
};
struct bpf_struct_ops_tcp_congestion_ops {
	refcount_t refcnt;
	enum bpf_struct_ops_state state;
	struct tcp_congestion_ops data __attribute__((aligned(64)));
};
