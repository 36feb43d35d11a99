"""Numbers of include/uapi/linux/bpf.h, as of Linux 6.1, under the kernel's names.

Plain integers, so that they are quick to compare.  The enumerators come from simkernel/include/bpf.h (`python -m docs.uapi`
writes them); the `*_NAMES` tables at the end give a number's name back.  Which kernel version knows which of them is in
`bpf/versions/` and in the rows of map types and helpers.
"""

from __future__ import annotations

# ---- from simkernel/include/bpf.h by `python -m docs.uapi`; not to be edited here ----

# enum bpf_cmd
BPF_MAP_CREATE = 0
BPF_MAP_LOOKUP_ELEM = 1
BPF_MAP_UPDATE_ELEM = 2
BPF_MAP_DELETE_ELEM = 3
BPF_MAP_GET_NEXT_KEY = 4
BPF_PROG_LOAD = 5
BPF_OBJ_PIN = 6
BPF_OBJ_GET = 7
BPF_PROG_ATTACH = 8
BPF_PROG_DETACH = 9
BPF_PROG_TEST_RUN = 10
BPF_PROG_RUN = 10
BPF_PROG_GET_NEXT_ID = 11
BPF_MAP_GET_NEXT_ID = 12
BPF_PROG_GET_FD_BY_ID = 13
BPF_MAP_GET_FD_BY_ID = 14
BPF_OBJ_GET_INFO_BY_FD = 15
BPF_PROG_QUERY = 16
BPF_RAW_TRACEPOINT_OPEN = 17
BPF_BTF_LOAD = 18
BPF_BTF_GET_FD_BY_ID = 19
BPF_TASK_FD_QUERY = 20
BPF_MAP_LOOKUP_AND_DELETE_ELEM = 21
BPF_MAP_FREEZE = 22
BPF_BTF_GET_NEXT_ID = 23
BPF_MAP_LOOKUP_BATCH = 24
BPF_MAP_LOOKUP_AND_DELETE_BATCH = 25
BPF_MAP_UPDATE_BATCH = 26
BPF_MAP_DELETE_BATCH = 27
BPF_LINK_CREATE = 28
BPF_LINK_UPDATE = 29
BPF_LINK_GET_FD_BY_ID = 30
BPF_LINK_GET_NEXT_ID = 31
BPF_ENABLE_STATS = 32
BPF_ITER_CREATE = 33
BPF_LINK_DETACH = 34
BPF_PROG_BIND_MAP = 35
BPF_TOKEN_CREATE = 36

# enum bpf_map_type
BPF_MAP_TYPE_UNSPEC = 0
BPF_MAP_TYPE_HASH = 1
BPF_MAP_TYPE_ARRAY = 2
BPF_MAP_TYPE_PROG_ARRAY = 3
BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4
BPF_MAP_TYPE_PERCPU_HASH = 5
BPF_MAP_TYPE_PERCPU_ARRAY = 6
BPF_MAP_TYPE_STACK_TRACE = 7
BPF_MAP_TYPE_CGROUP_ARRAY = 8
BPF_MAP_TYPE_LRU_HASH = 9
BPF_MAP_TYPE_LRU_PERCPU_HASH = 10
BPF_MAP_TYPE_LPM_TRIE = 11
BPF_MAP_TYPE_ARRAY_OF_MAPS = 12
BPF_MAP_TYPE_HASH_OF_MAPS = 13
BPF_MAP_TYPE_DEVMAP = 14
BPF_MAP_TYPE_SOCKMAP = 15
BPF_MAP_TYPE_CPUMAP = 16
BPF_MAP_TYPE_XSKMAP = 17
BPF_MAP_TYPE_SOCKHASH = 18
BPF_MAP_TYPE_CGROUP_STORAGE = 19
BPF_MAP_TYPE_REUSEPORT_SOCKARRAY = 20
BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE = 21
BPF_MAP_TYPE_QUEUE = 22
BPF_MAP_TYPE_STACK = 23
BPF_MAP_TYPE_SK_STORAGE = 24
BPF_MAP_TYPE_DEVMAP_HASH = 25
BPF_MAP_TYPE_STRUCT_OPS = 26
BPF_MAP_TYPE_RINGBUF = 27
BPF_MAP_TYPE_INODE_STORAGE = 28
BPF_MAP_TYPE_TASK_STORAGE = 29
BPF_MAP_TYPE_BLOOM_FILTER = 30
BPF_MAP_TYPE_USER_RINGBUF = 31
BPF_MAP_TYPE_CGRP_STORAGE = 32
BPF_MAP_TYPE_ARENA = 33

# enum bpf_prog_type
BPF_PROG_TYPE_UNSPEC = 0
BPF_PROG_TYPE_SOCKET_FILTER = 1
BPF_PROG_TYPE_KPROBE = 2
BPF_PROG_TYPE_SCHED_CLS = 3
BPF_PROG_TYPE_SCHED_ACT = 4
BPF_PROG_TYPE_TRACEPOINT = 5
BPF_PROG_TYPE_XDP = 6
BPF_PROG_TYPE_PERF_EVENT = 7
BPF_PROG_TYPE_CGROUP_SKB = 8
BPF_PROG_TYPE_CGROUP_SOCK = 9
BPF_PROG_TYPE_LWT_IN = 10
BPF_PROG_TYPE_LWT_OUT = 11
BPF_PROG_TYPE_LWT_XMIT = 12
BPF_PROG_TYPE_SOCK_OPS = 13
BPF_PROG_TYPE_SK_SKB = 14
BPF_PROG_TYPE_CGROUP_DEVICE = 15
BPF_PROG_TYPE_SK_MSG = 16
BPF_PROG_TYPE_RAW_TRACEPOINT = 17
BPF_PROG_TYPE_CGROUP_SOCK_ADDR = 18
BPF_PROG_TYPE_LWT_SEG6LOCAL = 19
BPF_PROG_TYPE_LIRC_MODE2 = 20
BPF_PROG_TYPE_SK_REUSEPORT = 21
BPF_PROG_TYPE_FLOW_DISSECTOR = 22
BPF_PROG_TYPE_CGROUP_SYSCTL = 23
BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE = 24
BPF_PROG_TYPE_CGROUP_SOCKOPT = 25
BPF_PROG_TYPE_TRACING = 26
BPF_PROG_TYPE_STRUCT_OPS = 27
BPF_PROG_TYPE_EXT = 28
BPF_PROG_TYPE_LSM = 29
BPF_PROG_TYPE_SK_LOOKUP = 30
BPF_PROG_TYPE_SYSCALL = 31
BPF_PROG_TYPE_NETFILTER = 32

# enum bpf_attach_type
BPF_CGROUP_INET_INGRESS = 0
BPF_CGROUP_INET_EGRESS = 1
BPF_CGROUP_INET_SOCK_CREATE = 2
BPF_CGROUP_SOCK_OPS = 3
BPF_SK_SKB_STREAM_PARSER = 4
BPF_SK_SKB_STREAM_VERDICT = 5
BPF_CGROUP_DEVICE = 6
BPF_SK_MSG_VERDICT = 7
BPF_CGROUP_INET4_BIND = 8
BPF_CGROUP_INET6_BIND = 9
BPF_CGROUP_INET4_CONNECT = 10
BPF_CGROUP_INET6_CONNECT = 11
BPF_CGROUP_INET4_POST_BIND = 12
BPF_CGROUP_INET6_POST_BIND = 13
BPF_CGROUP_UDP4_SENDMSG = 14
BPF_CGROUP_UDP6_SENDMSG = 15
BPF_LIRC_MODE2 = 16
BPF_FLOW_DISSECTOR = 17
BPF_CGROUP_SYSCTL = 18
BPF_CGROUP_UDP4_RECVMSG = 19
BPF_CGROUP_UDP6_RECVMSG = 20
BPF_CGROUP_GETSOCKOPT = 21
BPF_CGROUP_SETSOCKOPT = 22
BPF_TRACE_RAW_TP = 23
BPF_TRACE_FENTRY = 24
BPF_TRACE_FEXIT = 25
BPF_MODIFY_RETURN = 26
BPF_LSM_MAC = 27
BPF_TRACE_ITER = 28
BPF_CGROUP_INET4_GETPEERNAME = 29
BPF_CGROUP_INET6_GETPEERNAME = 30
BPF_CGROUP_INET4_GETSOCKNAME = 31
BPF_CGROUP_INET6_GETSOCKNAME = 32
BPF_XDP_DEVMAP = 33
BPF_CGROUP_INET_SOCK_RELEASE = 34
BPF_XDP_CPUMAP = 35
BPF_SK_LOOKUP = 36
BPF_XDP = 37
BPF_SK_SKB_VERDICT = 38
BPF_SK_REUSEPORT_SELECT = 39
BPF_SK_REUSEPORT_SELECT_OR_MIGRATE = 40
BPF_PERF_EVENT = 41
BPF_TRACE_KPROBE_MULTI = 42
BPF_LSM_CGROUP = 43
BPF_STRUCT_OPS = 44
BPF_NETFILTER = 45
BPF_TRACE_UPROBE_MULTI = 48
BPF_TRACE_KPROBE_SESSION = 56
BPF_TRACE_UPROBE_SESSION = 57
BPF_TRACE_FSESSION = 58
BPF_TRACE_FENTRY_MULTI = 59
BPF_TRACE_FEXIT_MULTI = 60
BPF_TRACE_FSESSION_MULTI = 61
__MAX_BPF_ATTACH_TYPE = 62

# enum bpf_link_type
BPF_LINK_TYPE_UNSPEC = 0
BPF_LINK_TYPE_RAW_TRACEPOINT = 1
BPF_LINK_TYPE_TRACING = 2
BPF_LINK_TYPE_CGROUP = 3
BPF_LINK_TYPE_ITER = 4
BPF_LINK_TYPE_NETNS = 5
BPF_LINK_TYPE_XDP = 6
BPF_LINK_TYPE_PERF_EVENT = 7
BPF_LINK_TYPE_KPROBE_MULTI = 8
BPF_LINK_TYPE_STRUCT_OPS = 9
BPF_LINK_TYPE_UPROBE_MULTI = 12
BPF_LINK_TYPE_TRACING_MULTI = 15
MAX_BPF_LINK_TYPE = 16

# enum bpf_func_id
BPF_FUNC_unspec = 0
BPF_FUNC_map_lookup_elem = 1
BPF_FUNC_map_update_elem = 2
BPF_FUNC_map_delete_elem = 3
BPF_FUNC_probe_read = 4
BPF_FUNC_ktime_get_ns = 5
BPF_FUNC_trace_printk = 6
BPF_FUNC_get_prandom_u32 = 7
BPF_FUNC_get_smp_processor_id = 8
BPF_FUNC_skb_store_bytes = 9
BPF_FUNC_l3_csum_replace = 10
BPF_FUNC_l4_csum_replace = 11
BPF_FUNC_tail_call = 12
BPF_FUNC_clone_redirect = 13
BPF_FUNC_get_current_pid_tgid = 14
BPF_FUNC_get_current_uid_gid = 15
BPF_FUNC_get_current_comm = 16
BPF_FUNC_get_cgroup_classid = 17
BPF_FUNC_skb_vlan_push = 18
BPF_FUNC_skb_vlan_pop = 19
BPF_FUNC_skb_get_tunnel_key = 20
BPF_FUNC_skb_set_tunnel_key = 21
BPF_FUNC_perf_event_read = 22
BPF_FUNC_redirect = 23
BPF_FUNC_get_route_realm = 24
BPF_FUNC_perf_event_output = 25
BPF_FUNC_skb_load_bytes = 26
BPF_FUNC_get_stackid = 27
BPF_FUNC_csum_diff = 28
BPF_FUNC_skb_get_tunnel_opt = 29
BPF_FUNC_skb_set_tunnel_opt = 30
BPF_FUNC_skb_change_proto = 31
BPF_FUNC_skb_change_type = 32
BPF_FUNC_skb_under_cgroup = 33
BPF_FUNC_get_hash_recalc = 34
BPF_FUNC_get_current_task = 35
BPF_FUNC_probe_write_user = 36
BPF_FUNC_current_task_under_cgroup = 37
BPF_FUNC_skb_change_tail = 38
BPF_FUNC_skb_pull_data = 39
BPF_FUNC_csum_update = 40
BPF_FUNC_set_hash_invalid = 41
BPF_FUNC_get_numa_node_id = 42
BPF_FUNC_skb_change_head = 43
BPF_FUNC_xdp_adjust_head = 44
BPF_FUNC_probe_read_str = 45
BPF_FUNC_get_socket_cookie = 46
BPF_FUNC_get_socket_uid = 47
BPF_FUNC_set_hash = 48
BPF_FUNC_setsockopt = 49
BPF_FUNC_skb_adjust_room = 50
BPF_FUNC_redirect_map = 51
BPF_FUNC_sk_redirect_map = 52
BPF_FUNC_sock_map_update = 53
BPF_FUNC_xdp_adjust_meta = 54
BPF_FUNC_perf_event_read_value = 55
BPF_FUNC_perf_prog_read_value = 56
BPF_FUNC_getsockopt = 57
BPF_FUNC_override_return = 58
BPF_FUNC_sock_ops_cb_flags_set = 59
BPF_FUNC_msg_redirect_map = 60
BPF_FUNC_msg_apply_bytes = 61
BPF_FUNC_msg_cork_bytes = 62
BPF_FUNC_msg_pull_data = 63
BPF_FUNC_bind = 64
BPF_FUNC_xdp_adjust_tail = 65
BPF_FUNC_skb_get_xfrm_state = 66
BPF_FUNC_get_stack = 67
BPF_FUNC_skb_load_bytes_relative = 68
BPF_FUNC_fib_lookup = 69
BPF_FUNC_sock_hash_update = 70
BPF_FUNC_msg_redirect_hash = 71
BPF_FUNC_sk_redirect_hash = 72
BPF_FUNC_lwt_push_encap = 73
BPF_FUNC_lwt_seg6_store_bytes = 74
BPF_FUNC_lwt_seg6_adjust_srh = 75
BPF_FUNC_lwt_seg6_action = 76
BPF_FUNC_rc_repeat = 77
BPF_FUNC_rc_keydown = 78
BPF_FUNC_skb_cgroup_id = 79
BPF_FUNC_get_current_cgroup_id = 80
BPF_FUNC_get_local_storage = 81
BPF_FUNC_sk_select_reuseport = 82
BPF_FUNC_skb_ancestor_cgroup_id = 83
BPF_FUNC_sk_lookup_tcp = 84
BPF_FUNC_sk_lookup_udp = 85
BPF_FUNC_sk_release = 86
BPF_FUNC_map_push_elem = 87
BPF_FUNC_map_pop_elem = 88
BPF_FUNC_map_peek_elem = 89
BPF_FUNC_msg_push_data = 90
BPF_FUNC_msg_pop_data = 91
BPF_FUNC_rc_pointer_rel = 92
BPF_FUNC_spin_lock = 93
BPF_FUNC_spin_unlock = 94
BPF_FUNC_sk_fullsock = 95
BPF_FUNC_tcp_sock = 96
BPF_FUNC_skb_ecn_set_ce = 97
BPF_FUNC_get_listener_sock = 98
BPF_FUNC_skc_lookup_tcp = 99
BPF_FUNC_tcp_check_syncookie = 100
BPF_FUNC_sysctl_get_name = 101
BPF_FUNC_sysctl_get_current_value = 102
BPF_FUNC_sysctl_get_new_value = 103
BPF_FUNC_sysctl_set_new_value = 104
BPF_FUNC_strtol = 105
BPF_FUNC_strtoul = 106
BPF_FUNC_sk_storage_get = 107
BPF_FUNC_sk_storage_delete = 108
BPF_FUNC_send_signal = 109
BPF_FUNC_tcp_gen_syncookie = 110
BPF_FUNC_skb_output = 111
BPF_FUNC_probe_read_user = 112
BPF_FUNC_probe_read_kernel = 113
BPF_FUNC_probe_read_user_str = 114
BPF_FUNC_probe_read_kernel_str = 115
BPF_FUNC_tcp_send_ack = 116
BPF_FUNC_send_signal_thread = 117
BPF_FUNC_jiffies64 = 118
BPF_FUNC_read_branch_records = 119
BPF_FUNC_get_ns_current_pid_tgid = 120
BPF_FUNC_xdp_output = 121
BPF_FUNC_get_netns_cookie = 122
BPF_FUNC_get_current_ancestor_cgroup_id = 123
BPF_FUNC_sk_assign = 124
BPF_FUNC_ktime_get_boot_ns = 125
BPF_FUNC_seq_printf = 126
BPF_FUNC_seq_write = 127
BPF_FUNC_sk_cgroup_id = 128
BPF_FUNC_sk_ancestor_cgroup_id = 129
BPF_FUNC_ringbuf_output = 130
BPF_FUNC_ringbuf_reserve = 131
BPF_FUNC_ringbuf_submit = 132
BPF_FUNC_ringbuf_discard = 133
BPF_FUNC_ringbuf_query = 134
BPF_FUNC_csum_level = 135
BPF_FUNC_skc_to_tcp6_sock = 136
BPF_FUNC_skc_to_tcp_sock = 137
BPF_FUNC_skc_to_tcp_timewait_sock = 138
BPF_FUNC_skc_to_tcp_request_sock = 139
BPF_FUNC_skc_to_udp6_sock = 140
BPF_FUNC_get_task_stack = 141
BPF_FUNC_load_hdr_opt = 142
BPF_FUNC_store_hdr_opt = 143
BPF_FUNC_reserve_hdr_opt = 144
BPF_FUNC_inode_storage_get = 145
BPF_FUNC_inode_storage_delete = 146
BPF_FUNC_d_path = 147
BPF_FUNC_copy_from_user = 148
BPF_FUNC_snprintf_btf = 149
BPF_FUNC_seq_printf_btf = 150
BPF_FUNC_skb_cgroup_classid = 151
BPF_FUNC_redirect_neigh = 152
BPF_FUNC_per_cpu_ptr = 153
BPF_FUNC_this_cpu_ptr = 154
BPF_FUNC_redirect_peer = 155
BPF_FUNC_task_storage_get = 156
BPF_FUNC_task_storage_delete = 157
BPF_FUNC_get_current_task_btf = 158
BPF_FUNC_bprm_opts_set = 159
BPF_FUNC_ktime_get_coarse_ns = 160
BPF_FUNC_ima_inode_hash = 161
BPF_FUNC_sock_from_file = 162
BPF_FUNC_check_mtu = 163
BPF_FUNC_for_each_map_elem = 164
BPF_FUNC_snprintf = 165
BPF_FUNC_sys_bpf = 166
BPF_FUNC_btf_find_by_name_kind = 167
BPF_FUNC_sys_close = 168
BPF_FUNC_timer_init = 169
BPF_FUNC_timer_set_callback = 170
BPF_FUNC_timer_start = 171
BPF_FUNC_timer_cancel = 172
BPF_FUNC_get_func_ip = 173
BPF_FUNC_get_attach_cookie = 174
BPF_FUNC_task_pt_regs = 175
BPF_FUNC_get_branch_snapshot = 176
BPF_FUNC_trace_vprintk = 177
BPF_FUNC_skc_to_unix_sock = 178
BPF_FUNC_kallsyms_lookup_name = 179
BPF_FUNC_find_vma = 180
BPF_FUNC_loop = 181
BPF_FUNC_strncmp = 182
BPF_FUNC_get_func_arg = 183
BPF_FUNC_get_func_ret = 184
BPF_FUNC_get_func_arg_cnt = 185
BPF_FUNC_get_retval = 186
BPF_FUNC_set_retval = 187
BPF_FUNC_xdp_get_buff_len = 188
BPF_FUNC_xdp_load_bytes = 189
BPF_FUNC_xdp_store_bytes = 190
BPF_FUNC_copy_from_user_task = 191
BPF_FUNC_skb_set_tstamp = 192
BPF_FUNC_ima_file_hash = 193
BPF_FUNC_kptr_xchg = 194
BPF_FUNC_map_lookup_percpu_elem = 195
BPF_FUNC_skc_to_mptcp_sock = 196
BPF_FUNC_dynptr_from_mem = 197
BPF_FUNC_ringbuf_reserve_dynptr = 198
BPF_FUNC_ringbuf_submit_dynptr = 199
BPF_FUNC_ringbuf_discard_dynptr = 200
BPF_FUNC_dynptr_read = 201
BPF_FUNC_dynptr_write = 202
BPF_FUNC_dynptr_data = 203
BPF_FUNC_tcp_raw_gen_syncookie_ipv4 = 204
BPF_FUNC_tcp_raw_gen_syncookie_ipv6 = 205
BPF_FUNC_tcp_raw_check_syncookie_ipv4 = 206
BPF_FUNC_tcp_raw_check_syncookie_ipv6 = 207
BPF_FUNC_ktime_get_tai_ns = 208
BPF_FUNC_user_ringbuf_drain = 209
BPF_FUNC_cgrp_storage_get = 210
BPF_FUNC_cgrp_storage_delete = 211
__BPF_FUNC_MAX_ID = 212

# enum bpf_cgroup_iter_order
BPF_CGROUP_ITER_ORDER_UNSPEC = 0
BPF_CGROUP_ITER_SELF_ONLY = 1
BPF_CGROUP_ITER_DESCENDANTS_PRE = 2
BPF_CGROUP_ITER_DESCENDANTS_POST = 3
BPF_CGROUP_ITER_ANCESTORS_UP = 4

# enum bpf_iter_task_type
BPF_TASK_ITER_ALL = 0
BPF_TASK_ITER_TID = 1
BPF_TASK_ITER_TGID = 2

# enum bpf_ret_code
BPF_OK = 0
BPF_DROP = 2
BPF_REDIRECT = 7
BPF_LWT_REROUTE = 128
BPF_FLOW_DISSECTOR_CONTINUE = 129

# enum bpf_task_fd_type
BPF_FD_TYPE_RAW_TRACEPOINT = 0
BPF_FD_TYPE_TRACEPOINT = 1
BPF_FD_TYPE_KPROBE = 2
BPF_FD_TYPE_KRETPROBE = 3
BPF_FD_TYPE_UPROBE = 4
BPF_FD_TYPE_URETPROBE = 5

# enum bpf_perf_event_type
BPF_PERF_EVENT_UNSPEC = 0
BPF_PERF_EVENT_UPROBE = 1
BPF_PERF_EVENT_URETPROBE = 2
BPF_PERF_EVENT_KPROBE = 3
BPF_PERF_EVENT_KRETPROBE = 4
BPF_PERF_EVENT_TRACEPOINT = 5
BPF_PERF_EVENT_EVENT = 6

# enum bpf_stack_build_id_status
BPF_STACK_BUILD_ID_EMPTY = 0
BPF_STACK_BUILD_ID_VALID = 1
BPF_STACK_BUILD_ID_IP = 2

# enum xdp_action
XDP_ABORTED = 0
XDP_DROP = 1
XDP_PASS = 2
XDP_TX = 3
XDP_REDIRECT = 4

# enum bpf_core_relo_kind
BPF_CORE_FIELD_BYTE_OFFSET = 0
BPF_CORE_FIELD_BYTE_SIZE = 1
BPF_CORE_FIELD_EXISTS = 2
BPF_CORE_FIELD_SIGNED = 3
BPF_CORE_FIELD_LSHIFT_U64 = 4
BPF_CORE_FIELD_RSHIFT_U64 = 5
BPF_CORE_TYPE_ID_LOCAL = 6
BPF_CORE_TYPE_ID_TARGET = 7
BPF_CORE_TYPE_EXISTS = 8
BPF_CORE_TYPE_SIZE = 9
BPF_CORE_ENUMVAL_EXISTS = 10
BPF_CORE_ENUMVAL_VALUE = 11
BPF_CORE_TYPE_MATCHES = 12

# enum bpf_struct_ops_state
BPF_STRUCT_OPS_STATE_INIT = 0
BPF_STRUCT_OPS_STATE_INUSE = 1
BPF_STRUCT_OPS_STATE_TOBEFREE = 2

# ---- end of what comes from simkernel/include/bpf.h ----

MAX_BPF_ATTACH_TYPE = 44

# BPF_PROG_ATTACH flags
BPF_F_ALLOW_OVERRIDE = 1 << 0
BPF_F_ALLOW_MULTI = 1 << 1
BPF_F_REPLACE = 1 << 2

# BPF_PROG_LOAD prog_flags
BPF_F_STRICT_ALIGNMENT = 1 << 0
BPF_F_ANY_ALIGNMENT = 1 << 1
BPF_F_TEST_RND_HI32 = 1 << 2
BPF_F_TEST_STATE_FREQ = 1 << 3
BPF_F_SLEEPABLE = 1 << 4
BPF_F_XDP_HAS_FRAGS = 1 << 5

# link_create.kprobe_multi.flags
BPF_F_KPROBE_MULTI_RETURN = 1 << 0

# link_create.uprobe_multi.flags
BPF_F_UPROBE_MULTI_RETURN = 1 << 0
BPF_F_UPROBE_MULTI_PATH_FD = 1 << 1

# Map update flags
BPF_ANY = 0
BPF_NOEXIST = 1
BPF_EXIST = 2
BPF_F_LOCK = 4

# BPF_MAP_CREATE map_flags
BPF_F_NO_PREALLOC = 1 << 0
BPF_F_NO_COMMON_LRU = 1 << 1
BPF_F_NUMA_NODE = 1 << 2
BPF_F_RDONLY = 1 << 3
BPF_F_WRONLY = 1 << 4
BPF_F_STACK_BUILD_ID = 1 << 5
BPF_F_ZERO_SEED = 1 << 6
BPF_F_RDONLY_PROG = 1 << 7
BPF_F_WRONLY_PROG = 1 << 8
BPF_F_CLONE = 1 << 9
BPF_F_MMAPABLE = 1 << 10
BPF_F_PRESERVE_ELEMS = 1 << 11
BPF_F_INNER_MAP = 1 << 12
BPF_F_TOKEN_FD = 1 << 16  # of programs and BTF, too
BPF_F_SEGV_ON_FAULT = 1 << 17
BPF_F_NO_USER_CONV = 1 << 18

# BPF_PROG_QUERY, BPF_PROG_TEST_RUN, BPF_ENABLE_STATS
BPF_F_QUERY_EFFECTIVE = 1 << 0
BPF_F_TEST_RUN_ON_CPU = 1 << 0
BPF_F_TEST_XDP_LIVE_FRAMES = 1 << 1
BPF_F_TEST_SKB_CHECKSUM_COMPLETE = 1 << 2
BPF_STATS_RUN_TIME = 0

# Flags of helpers, in the order of the header
BPF_F_RECOMPUTE_CSUM = 1 << 0
BPF_F_INVALIDATE_HASH = 1 << 1
BPF_F_HDR_FIELD_MASK = 0xF
BPF_F_PSEUDO_HDR = 1 << 4
BPF_F_MARK_MANGLED_0 = 1 << 5
BPF_F_MARK_ENFORCE = 1 << 6
BPF_F_IPV6 = 1 << 7
BPF_F_TUNINFO_IPV6 = 1 << 0
BPF_F_SKIP_FIELD_MASK = 0xFF
BPF_F_USER_STACK = 1 << 8
BPF_F_FAST_STACK_CMP = 1 << 9
BPF_F_REUSE_STACKID = 1 << 10
BPF_F_USER_BUILD_ID = 1 << 11
BPF_F_ZERO_CSUM_TX = 1 << 1
BPF_F_DONT_FRAGMENT = 1 << 2
BPF_F_SEQ_NUMBER = 1 << 3
BPF_F_TUNINFO_FLAGS = 1 << 4
BPF_F_INDEX_MASK = 0xFFFFFFFF
BPF_F_CURRENT_CPU = BPF_F_INDEX_MASK
BPF_F_CTXLEN_MASK = 0xFFFFF << 32
BPF_F_CURRENT_NETNS = -1
BPF_CSUM_LEVEL_QUERY = 0
BPF_CSUM_LEVEL_INC = 1
BPF_CSUM_LEVEL_DEC = 2
BPF_CSUM_LEVEL_RESET = 3
BPF_F_ADJ_ROOM_FIXED_GSO = 1 << 0
BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 = 1 << 1
BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 = 1 << 2
BPF_F_ADJ_ROOM_ENCAP_L4_GRE = 1 << 3
BPF_F_ADJ_ROOM_ENCAP_L4_UDP = 1 << 4
BPF_F_ADJ_ROOM_NO_CSUM_RESET = 1 << 5
BPF_F_ADJ_ROOM_ENCAP_L2_ETH = 1 << 6
BPF_ADJ_ROOM_ENCAP_L2_MASK = 0xFF
BPF_ADJ_ROOM_ENCAP_L2_SHIFT = 56
BPF_F_SYSCTL_BASE_NAME = 1 << 0
BPF_LOCAL_STORAGE_GET_F_CREATE = 1 << 0
BPF_SK_STORAGE_GET_F_CREATE = BPF_LOCAL_STORAGE_GET_F_CREATE
BPF_F_GET_BRANCH_RECORDS_SIZE = 1 << 0
BPF_RB_NO_WAKEUP = 1 << 0
BPF_RB_FORCE_WAKEUP = 1 << 1
BPF_RB_AVAIL_DATA = 0
BPF_RB_RING_SIZE = 1
BPF_RB_CONS_POS = 2
BPF_RB_PROD_POS = 3
BPF_RINGBUF_BUSY_BIT = 1 << 31
BPF_RINGBUF_DISCARD_BIT = 1 << 30
BPF_RINGBUF_HDR_SZ = 8
BPF_SK_LOOKUP_F_REPLACE = 1 << 0
BPF_SK_LOOKUP_F_NO_REUSEPORT = 1 << 1
BPF_ADJ_ROOM_NET = 0
BPF_ADJ_ROOM_MAC = 1
BPF_HDR_START_MAC = 0
BPF_HDR_START_NET = 1
BPF_LWT_ENCAP_SEG6 = 0
BPF_LWT_ENCAP_SEG6_INLINE = 1
BPF_LWT_ENCAP_IP = 2
BPF_F_BPRM_SECUREEXEC = 1 << 0
BPF_F_INGRESS = 1 << 0
BPF_F_BROADCAST = 1 << 3
BPF_F_EXCLUDE_INGRESS = 1 << 4
BPF_SKB_TSTAMP_UNSPEC = 0
BPF_SKB_TSTAMP_DELIVERY_MONO = 1
SK_DROP = 0
SK_PASS = 1
BPF_SOCK_OPS_RTO_CB_FLAG = 1 << 0
BPF_SOCK_OPS_RETRANS_CB_FLAG = 1 << 1
BPF_SOCK_OPS_STATE_CB_FLAG = 1 << 2
BPF_SOCK_OPS_RTT_CB_FLAG = 1 << 3
BPF_SOCK_OPS_PARSE_ALL_HDR_OPT_CB_FLAG = 1 << 4
BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG = 1 << 5
BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG = 1 << 6
BPF_SOCK_OPS_ALL_CB_FLAGS = 0x7F
BPF_TCP_ESTABLISHED = 1
BPF_TCP_SYN_SENT = 2
BPF_TCP_SYN_RECV = 3
BPF_TCP_FIN_WAIT1 = 4
BPF_TCP_FIN_WAIT2 = 5
BPF_TCP_TIME_WAIT = 6
BPF_TCP_CLOSE = 7
BPF_TCP_CLOSE_WAIT = 8
BPF_TCP_LAST_ACK = 9
BPF_TCP_LISTEN = 10
BPF_TCP_CLOSING = 11
BPF_TCP_NEW_SYN_RECV = 12
BPF_TCP_MAX_STATES = 13
BPF_DEVCG_ACC_MKNOD = 1 << 0
BPF_DEVCG_ACC_READ = 1 << 1
BPF_DEVCG_ACC_WRITE = 1 << 2
BPF_DEVCG_DEV_BLOCK = 1 << 0
BPF_DEVCG_DEV_CHAR = 1 << 1
BPF_FIB_LOOKUP_DIRECT = 1 << 0
BPF_FIB_LOOKUP_OUTPUT = 1 << 1
BPF_FIB_LOOKUP_SKIP_NEIGH = 1 << 2
BPF_FIB_LOOKUP_TBID = 1 << 3
BPF_FIB_LOOKUP_SRC = 1 << 4
BPF_FIB_LKUP_RET_SUCCESS = 0
BPF_FIB_LKUP_RET_BLACKHOLE = 1
BPF_FIB_LKUP_RET_UNREACHABLE = 2
BPF_FIB_LKUP_RET_PROHIBIT = 3
BPF_FIB_LKUP_RET_NOT_FWDED = 4
BPF_FIB_LKUP_RET_FWD_DISABLED = 5
BPF_FIB_LKUP_RET_UNSUPP_LWT = 6
BPF_FIB_LKUP_RET_NO_NEIGH = 7
BPF_FIB_LKUP_RET_FRAG_NEEDED = 8
BPF_FIB_LKUP_RET_NO_SRC_ADDR = 9
BPF_MTU_CHK_RET_SUCCESS = 0
BPF_MTU_CHK_RET_FRAG_NEEDED = 1
BPF_MTU_CHK_RET_SEGS_TOOBIG = 2
BPF_FLOW_DISSECTOR_F_PARSE_1ST_FRAG = 1 << 0
BPF_FLOW_DISSECTOR_F_STOP_AT_FLOW_LABEL = 1 << 1
BPF_FLOW_DISSECTOR_F_STOP_AT_ENCAP = 1 << 2
BTF_F_COMPACT = 1 << 0
BTF_F_NONAME = 1 << 1
BTF_F_PTR_RAW = 1 << 2
BTF_F_ZERO = 1 << 3

# Sizes and limits of the same header and of include/linux/bpf.h, bpf_verifier.h, filter.h
BPF_OBJ_NAME_LEN = 16
BPF_TAG_SIZE = 8
BPF_BUILD_ID_SIZE = 20
XDP_PACKET_HEADROOM = 256
BPF_MAXINSNS = 4096  # what an unprivileged task may load (include/uapi/linux/bpf_common.h)
BPF_COMPLEXITY_LIMIT_INSNS = 1_000_000
MAX_BPF_STACK = 512  # bytes
MAX_USED_MAPS = 64
MAX_TAIL_CALL_CNT = 33
MAX_CALL_FRAMES = 8
MAX_BPF_FUNC_ARGS = 12
BPF_MAX_LOOPS = 8 << 20

HELPER_NAMES: dict[int, str] = {
    value: name.removeprefix("BPF_FUNC_") for name, value in list(globals().items()) if name.startswith("BPF_FUNC_")
}
MAP_TYPE_NAMES: dict[int, str] = {
    value: name.removeprefix("BPF_MAP_TYPE_")
    for name, value in list(globals().items())
    if name.startswith("BPF_MAP_TYPE_")
}
PROG_TYPE_NAMES: dict[int, str] = {
    value: name.removeprefix("BPF_PROG_TYPE_")
    for name, value in list(globals().items())
    if name.startswith("BPF_PROG_TYPE_")
}
ATTACH_TYPE_NAMES: dict[int, str] = {
    globals()[name]: name
    for name in list(globals())[
        list(globals()).index("BPF_CGROUP_INET_INGRESS") : list(globals()).index("__MAX_BPF_ATTACH_TYPE")
    ]
}
CMD_NAMES: dict[int, str] = {
    globals()[name]: name
    for name in list(globals())[list(globals()).index("BPF_MAP_CREATE") : list(globals()).index("BPF_MAP_TYPE_UNSPEC")]
    if name != "BPF_PROG_RUN"
}
