/* Sockets and packets. include/net/sock.h, inet_sock.h, tcp_sock; include/linux/skbuff.h, netdevice.h, net.h, tcp.h, socket.h. */

enum sock_flags {
	SOCK_DEAD,
	SOCK_DONE,
	SOCK_URGINLINE,
	SOCK_KEEPOPEN,
	SOCK_LINGER,
	SOCK_DESTROY,
	SOCK_BROADCAST,
	SOCK_TIMESTAMP,
	SOCK_ZAPPED,
	SOCK_USE_WRITE_QUEUE,
	SOCK_DBG,
	SOCK_RCVTSTAMP,
	SOCK_RCVTSTAMPNS,
	SOCK_LOCALROUTE,
	SOCK_MEMALLOC,
	SOCK_TIMESTAMPING_RX_SOFTWARE,
	SOCK_FASYNC,
	SOCK_RXQ_OVFL,
	SOCK_ZEROCOPY,
	SOCK_WIFI_STATUS,
	SOCK_NOFCS,
	SOCK_FILTER_LOCKED,
	SOCK_SELECT_ERR_QUEUE,
	SOCK_RCU_FREE,
	SOCK_TXTIME,
	SOCK_XDP,
	SOCK_TSTAMP_NEW,
	SOCK_RCVMARK,
};
/* Socket states, include/net/tcp_states.h. */
enum tcp_state {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT,
	TCP_SYN_RECV,
	TCP_FIN_WAIT1,
	TCP_FIN_WAIT2,
	TCP_TIME_WAIT,
	TCP_CLOSE,
	TCP_CLOSE_WAIT,
	TCP_LAST_ACK,
	TCP_LISTEN,
	TCP_CLOSING,
	TCP_NEW_SYN_RECV,
	TCP_MAX_STATES,
};
enum sock_type {
	SOCK_STREAM = 1,
	SOCK_DGRAM,
	SOCK_RAW,
	SOCK_RDM,
	SOCK_SEQPACKET,
	SOCK_DCCP,
	SOCK_PACKET = 10,
};
typedef enum {
	SS_FREE = 0,
	SS_UNCONNECTED,
	SS_CONNECTING,
	SS_CONNECTED,
	SS_DISCONNECTING,
} socket_state;
struct sockaddr {
	sa_family_t sa_family;
	union {
		char sa_data_min[14];
		struct {
			struct {
			} __empty_sa_data;
			char sa_data[];
		};
	};
};
struct in_addr {
	__be32 s_addr;
};
struct in6_addr {
	union {
		__u8 u6_addr8[16];
		__be16 u6_addr16[8];
		__be32 u6_addr32[4];
	} in6_u;
};
struct sockaddr_in {
	__kernel_sa_family_t sin_family;
	__be16 sin_port;
	struct in_addr sin_addr;
	unsigned char __pad[8];
};
struct sockaddr_in6 {
	unsigned short sin6_family;
	__be16 sin6_port;
	__be32 sin6_flowinfo;
	struct in6_addr sin6_addr;
	__u32 sin6_scope_id;
};
struct sockaddr_un {
	__kernel_sa_family_t sun_family;
	char sun_path[108];
};
struct __kernel_sockaddr_storage {
	union {
		struct {
			__kernel_sa_family_t ss_family;
			char __data[126];
		};
		void *__align;
	};
};
struct msghdr {
	void *msg_name;
	int msg_namelen;
	int msg_inq;
	struct iov_iter msg_iter;
	union {
		void *msg_control;
		void *msg_control_user;
	};
	bool msg_control_is_user : 1;
	bool msg_get_inq : 1;
	unsigned int msg_flags;
	__kernel_size_t msg_controllen;
	struct kiocb *msg_iocb;
	struct ubuf_info *msg_ubuf;
	int (*sg_from_iter)(struct sock *, struct sk_buff *, struct iov_iter *, size_t);
};
struct user_msghdr {
	void *msg_name;
	int msg_namelen;
	struct iovec *msg_iov;
	__kernel_size_t msg_iovlen;
	void *msg_control;
	__kernel_size_t msg_controllen;
	unsigned int msg_flags;
};
struct cmsghdr {
	__kernel_size_t cmsg_len;
	int cmsg_level;
	int cmsg_type;
};
struct ethhdr {
	unsigned char h_dest[6];
	unsigned char h_source[6];
	__be16 h_proto;
};
struct iphdr {
	__u8 ihl : 4;
	__u8 version : 4;
	__u8 tos;
	__be16 tot_len;
	__be16 id;
	__be16 frag_off;
	__u8 ttl;
	__u8 protocol;
	__sum16 check;
	union {
		struct {
			__be32 saddr;
			__be32 daddr;
		};
		struct {
			__be32 saddr;
			__be32 daddr;
		} addrs;
	};
};
struct ipv6hdr {
	__u8 priority : 4;
	__u8 version : 4;
	__u8 flow_lbl[3];
	__be16 payload_len;
	__u8 nexthdr;
	__u8 hop_limit;
	union {
		struct {
			struct in6_addr saddr;
			struct in6_addr daddr;
		};
		struct {
			struct in6_addr saddr;
			struct in6_addr daddr;
		} addrs;
	};
};
struct tcphdr {
	__be16 source;
	__be16 dest;
	__be32 seq;
	__be32 ack_seq;
	__u16 res1 : 4;
	__u16 doff : 4;
	__u16 fin : 1;
	__u16 syn : 1;
	__u16 rst : 1;
	__u16 psh : 1;
	__u16 ack : 1;
	__u16 urg : 1;
	__u16 ece : 1;
	__u16 cwr : 1;
	__be16 window;
	__sum16 check;
	__be16 urg_ptr;
};
struct udphdr {
	__be16 source;
	__be16 dest;
	__be16 len;
	__sum16 check;
};

typedef __u32 __portpair;
typedef __u64 __addrpair;
typedef struct {
	struct net *net;
} possible_net_t;
typedef struct {
	union {
		void *kernel;
		void *user;
	};
	bool is_kernel : 1;
} sockptr_t;
typedef __u64 netdev_features_t;
typedef unsigned int sk_buff_data_t;
struct sock_common {
	union {
		__addrpair skc_addrpair;
		struct {
			__be32 skc_daddr;
			__be32 skc_rcv_saddr;
		};
	};
	union {
		unsigned int skc_hash;
		__u16 skc_u16hashes[2];
	};
	union {
		__portpair skc_portpair;
		struct {
			__be16 skc_dport;
			__u16 skc_num;
		};
	};
	unsigned short skc_family;
	volatile unsigned char skc_state;
	unsigned char skc_reuse : 4;
	unsigned char skc_reuseport : 1;
	unsigned char skc_ipv6only : 1;
	unsigned char skc_net_refcnt : 1;
	int skc_bound_dev_if;
	union {
		struct hlist_node skc_bind_node;
		struct hlist_node skc_portaddr_node;
	};
	struct proto *skc_prot;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
	union {
		unsigned long skc_flags;
		struct sock *skc_listener;
		struct inet_timewait_death_row *skc_tw_dr;
	};
	int skc_dontcopy_begin[];
	union {
		struct hlist_node skc_node;
		struct hlist_nulls_node skc_nulls_node;
	};
	unsigned short skc_tx_queue_mapping;
	unsigned short skc_rx_queue_mapping;
	union {
		int skc_incoming_cpu;
		u32 skc_rcv_wnd;
		u32 skc_tw_rcv_nxt;
	};
	refcount_t skc_refcnt;
	int skc_dontcopy_end[];
	union {
		u32 skc_rxhash;
		u32 skc_window_clamp;
		u32 skc_tw_snd_nxt;
	};
};
typedef struct {
	spinlock_t slock;
	int owned;
	wait_queue_head_t wq;
} socket_lock_t;
struct sk_buff_list {
	struct sk_buff *next;
	struct sk_buff *prev;
};
struct sk_buff_head {
	union {
		struct {
			struct sk_buff *next;
			struct sk_buff *prev;
		};
		struct sk_buff_list list;
	};
	__u32 qlen;
	spinlock_t lock;
};
struct sk_buff {
	union {
		struct {
			struct sk_buff *next;
			struct sk_buff *prev;
			union {
				struct net_device *dev;
				unsigned long dev_scratch;
			};
		};
		struct rb_node rbnode;
		struct list_head list;
		struct llist_node ll_node;
	};
	struct sock *sk;
	union {
		ktime_t tstamp;
		u64 skb_mstamp_ns;
	};
	char cb[48];
	union {
		struct {
			unsigned long _skb_refdst;
			void (*destructor)(struct sk_buff *);
		};
		struct list_head tcp_tsorted_anchor;
		unsigned long _sk_redir;
	};
	unsigned long _nfct;
	unsigned int len;
	unsigned int data_len;
	__u16 mac_len;
	__u16 hdr_len;
	__u16 queue_mapping;
	__u8 cloned : 1;
	__u8 nohdr : 1;
	__u8 fclone : 2;
	__u8 peeked : 1;
	__u8 head_frag : 1;
	__u8 pfmemalloc : 1;
	__u8 pp_recycle : 1; /* since 5.14 */
	__u8 active_extensions;
	union {
		struct {
			__u8 __pkt_type_offset[];
			__u8 pkt_type : 3;
			__u8 ignore_df : 1;
			__u8 nf_trace : 1;
			__u8 ip_summed : 2;
			__u8 ooo_okay : 1;
			__u8 l4_hash : 1;
			__u8 sw_hash : 1;
			__u8 wifi_acked_valid : 1;
			__u8 wifi_acked : 1;
			__u8 no_fcs : 1;
			__u8 encapsulation : 1;
			__u8 encap_hdr_csum : 1;
			__u8 csum_valid : 1;
			__u8 __pkt_vlan_present_offset[];
			__u8 vlan_present : 1; /* until 6.2 */
			__u8 csum_complete_sw : 1;
			__u8 csum_level : 2;
			__u8 dst_pending_confirm : 1;
			__u8 mono_delivery_time : 1; /* since 5.18 */
			__u8 tc_skip_classify : 1;
			__u8 tc_at_ingress : 1;
			__u8 ndisc_nodetype : 2;
			__u8 ipvs_property : 1;
			__u8 inner_protocol_type : 1;
			__u8 remcsum_offload : 1;
			__u8 offload_fwd_mark : 1;
			__u8 offload_l3_fwd_mark : 1;
			__u8 redirected : 1;
			__u8 from_ingress : 1;
			__u8 nf_skip_egress : 1;
			__u8 decrypted : 1;
			__u8 slow_gro : 1; /* since 5.15 */
			__u8 csum_not_inet : 1;
			__u8 scm_io_uring : 1;
			__u16 tc_index;
			union {
				__wsum csum;
				struct {
					__u16 csum_start;
					__u16 csum_offset;
				};
			};
			__u32 priority;
			int skb_iif;
			__u32 hash;
			union {
				__u32 vlan_all; /* since 6.2 */
				struct {
					__be16 vlan_proto;
					__u16 vlan_tci;
				};
			};
			union {
				unsigned int napi_id;
				unsigned int sender_cpu;
			};
			u16 alloc_cpu; /* since 6.1 */
			__u32 secmark;
			union {
				__u32 mark;
				__u32 reserved_tailroom;
			};
			union {
				__be16 inner_protocol;
				__u8 inner_ipproto;
			};
			__u16 inner_transport_header;
			__u16 inner_network_header;
			__u16 inner_mac_header;
			__be16 protocol;
			__u16 transport_header;
			__u16 network_header;
			__u16 mac_header;
		};
		struct {
			__u8 __pkt_type_offset[];
			__u8 pkt_type : 3;
			__u8 ignore_df : 1;
			__u8 nf_trace : 1;
			__u8 ip_summed : 2;
			__u8 ooo_okay : 1;
			__u8 l4_hash : 1;
			__u8 sw_hash : 1;
			__u8 wifi_acked_valid : 1;
			__u8 wifi_acked : 1;
			__u8 no_fcs : 1;
			__u8 encapsulation : 1;
			__u8 encap_hdr_csum : 1;
			__u8 csum_valid : 1;
			__u8 __pkt_vlan_present_offset[];
			__u8 vlan_present : 1; /* until 6.2 */
			__u8 csum_complete_sw : 1;
			__u8 csum_level : 2;
			__u8 dst_pending_confirm : 1;
			__u8 mono_delivery_time : 1;
			__u8 tc_skip_classify : 1;
			__u8 tc_at_ingress : 1;
			__u8 ndisc_nodetype : 2;
			__u8 ipvs_property : 1;
			__u8 inner_protocol_type : 1;
			__u8 remcsum_offload : 1;
			__u8 offload_fwd_mark : 1;
			__u8 offload_l3_fwd_mark : 1;
			__u8 redirected : 1;
			__u8 from_ingress : 1;
			__u8 nf_skip_egress : 1;
			__u8 decrypted : 1;
			__u8 slow_gro : 1;
			__u8 csum_not_inet : 1;
			__u8 scm_io_uring : 1;
			__u16 tc_index;
			union {
				__wsum csum;
				struct {
					__u16 csum_start;
					__u16 csum_offset;
				};
			};
			__u32 priority;
			int skb_iif;
			__u32 hash;
			union {
				__u32 vlan_all; /* since 6.2 */
				struct {
					__be16 vlan_proto;
					__u16 vlan_tci;
				};
			};
			union {
				unsigned int napi_id;
				unsigned int sender_cpu;
			};
			u16 alloc_cpu;
			__u32 secmark;
			union {
				__u32 mark;
				__u32 reserved_tailroom;
			};
			union {
				__be16 inner_protocol;
				__u8 inner_ipproto;
			};
			__u16 inner_transport_header;
			__u16 inner_network_header;
			__u16 inner_mac_header;
			__be16 protocol;
			__u16 transport_header;
			__u16 network_header;
			__u16 mac_header;
		} headers;
	};
	sk_buff_data_t tail;
	sk_buff_data_t end;
	unsigned char *head;
	unsigned char *data;
	unsigned int truesize;
	refcount_t users;
	struct skb_ext *extensions;
};
typedef struct bio_vec skb_frag_t;
struct skb_shared_info {
	__u8 flags;
	__u8 meta_len;
	__u8 nr_frags;
	__u8 tx_flags;
	unsigned short gso_size;
	unsigned short gso_segs;
	struct sk_buff *frag_list;
	struct skb_shared_hwtstamps hwtstamps;
	unsigned int gso_type;
	u32 tskey;
	atomic_t dataref;
	unsigned int xdp_frags_size; /* since 5.18 */
	void *destructor_arg;
	skb_frag_t frags[17];
};
struct skb_shared_hwtstamps {
	union {
		ktime_t hwtstamp;
		void *netdev_data;
	};
};
enum skb_drop_reason {
	SKB_NOT_DROPPED_YET,
	SKB_DROP_REASON_NOT_SPECIFIED,
	SKB_DROP_REASON_NO_SOCKET,
	SKB_DROP_REASON_PKT_TOO_SMALL,
	SKB_DROP_REASON_TCP_CSUM,
	SKB_DROP_REASON_SOCKET_FILTER,
	SKB_DROP_REASON_UDP_CSUM,
	SKB_DROP_REASON_NETFILTER_DROP,
	SKB_DROP_REASON_OTHERHOST,
	SKB_DROP_REASON_IP_CSUM,
	SKB_DROP_REASON_IP_INHDR,
	SKB_DROP_REASON_IP_RPFILTER,
	SKB_DROP_REASON_UNICAST_IN_L2_MULTICAST,
	SKB_DROP_REASON_XFRM_POLICY,
	SKB_DROP_REASON_IP_NOPROTO,
	SKB_DROP_REASON_SOCKET_RCVBUFF,
	SKB_DROP_REASON_PROTO_MEM,
	SKB_DROP_REASON_TCP_MD5NOTFOUND,
	SKB_DROP_REASON_TCP_MD5UNEXPECTED,
	SKB_DROP_REASON_TCP_MD5FAILURE,
	SKB_DROP_REASON_SOCKET_BACKLOG,
	SKB_DROP_REASON_TCP_FLAGS,
	SKB_DROP_REASON_TCP_ZEROWINDOW,
	SKB_DROP_REASON_TCP_OLD_DATA,
	SKB_DROP_REASON_TCP_OVERWINDOW,
	SKB_DROP_REASON_TCP_OFOMERGE,
	SKB_DROP_REASON_TCP_RFC7323_PAWS,
	SKB_DROP_REASON_TCP_INVALID_SEQUENCE,
	SKB_DROP_REASON_TCP_RESET,
	SKB_DROP_REASON_TCP_INVALID_SYN,
	SKB_DROP_REASON_TCP_CLOSE,
	SKB_DROP_REASON_TCP_FASTOPEN,
	SKB_DROP_REASON_TCP_OLD_ACK,
	SKB_DROP_REASON_TCP_TOO_OLD_ACK,
	SKB_DROP_REASON_TCP_ACK_UNSENT_DATA,
	SKB_DROP_REASON_TCP_OFO_QUEUE_PRUNE,
	SKB_DROP_REASON_TCP_OFO_DROP,
	SKB_DROP_REASON_IP_OUTNOROUTES,
	SKB_DROP_REASON_BPF_CGROUP_EGRESS,
	SKB_DROP_REASON_IPV6DISABLED,
	SKB_DROP_REASON_NEIGH_CREATEFAIL,
	SKB_DROP_REASON_NEIGH_FAILED,
	SKB_DROP_REASON_NEIGH_QUEUEFULL,
	SKB_DROP_REASON_NEIGH_DEAD,
	SKB_DROP_REASON_TC_EGRESS,
	SKB_DROP_REASON_QDISC_DROP,
	SKB_DROP_REASON_CPU_BACKLOG,
	SKB_DROP_REASON_XDP,
	SKB_DROP_REASON_TC_INGRESS,
	SKB_DROP_REASON_UNHANDLED_PROTO,
	SKB_DROP_REASON_SKB_CSUM,
	SKB_DROP_REASON_SKB_GSO_SEG,
	SKB_DROP_REASON_SKB_UCOPY_FAULT,
	SKB_DROP_REASON_DEV_HDR,
	SKB_DROP_REASON_DEV_READY,
	SKB_DROP_REASON_FULL_RING,
	SKB_DROP_REASON_NOMEM,
	SKB_DROP_REASON_HDR_TRUNC,
	SKB_DROP_REASON_TAP_FILTER,
	SKB_DROP_REASON_TAP_TXFILTER,
	SKB_DROP_REASON_ICMP_CSUM,
	SKB_DROP_REASON_INVALID_PROTO,
	SKB_DROP_REASON_IP_INADDRERRORS,
	SKB_DROP_REASON_IP_INNOROUTES,
	SKB_DROP_REASON_PKT_TOO_BIG,
	SKB_DROP_REASON_TC_CHAIN_NOTFOUND,
	SKB_DROP_REASON_MAX,
};
struct sock_cgroup_data {
	struct cgroup *cgroup;
	u32 classid;
	u16 prioidx;
};
struct page_frag {
	struct page *page;
	__u32 offset;
	__u32 size;
};
struct sock {
	struct sock_common __sk_common;
	struct dst_entry *sk_rx_dst;
	int sk_rx_dst_ifindex;
	u32 sk_rx_dst_cookie;
	socket_lock_t sk_lock;
	atomic_t sk_drops;
	int sk_rcvlowat;
	struct sk_buff_head sk_error_queue;
	struct sk_buff_head sk_receive_queue;
	struct {
		atomic_t rmem_alloc;
		int len;
		struct sk_buff *head;
		struct sk_buff *tail;
	} sk_backlog;
	int sk_forward_alloc;
	u32 sk_reserved_mem;
	unsigned int sk_ll_usec;
	unsigned int sk_napi_id;
	int sk_rcvbuf;
	int sk_disconnects; /* since 6.1 */
	struct sk_filter *sk_filter;
	union {
		struct socket_wq *sk_wq;
		struct socket_wq *sk_wq_raw;
	};
	struct xfrm_policy *sk_policy[2];
	struct dst_entry *sk_dst_cache;
	atomic_t sk_omem_alloc;
	int sk_sndbuf;
	int sk_wmem_queued;
	refcount_t sk_wmem_alloc;
	unsigned long sk_tsq_flags;
	union {
		struct sk_buff *sk_send_head;
		struct rb_root tcp_rtx_queue;
	};
	struct sk_buff_head sk_write_queue;
	__s32 sk_peek_off;
	int sk_write_pending;
	__u32 sk_dst_pending_confirm;
	u32 sk_pacing_status;
	long sk_sndtimeo;
	union {
		struct timer_list sk_timer;
		struct timer_list mptcp_retransmit_timer;
	};
	__u32 sk_priority;
	__u32 sk_mark;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	struct page_frag sk_frag;
	netdev_features_t sk_route_caps;
	int sk_gso_type;
	unsigned int sk_gso_max_size;
	gfp_t sk_allocation;
	__u32 sk_txhash;
	u8 sk_gso_disabled : 1;
	u8 sk_kern_sock : 1;
	u8 sk_no_check_tx : 1;
	u8 sk_no_check_rx : 1;
	u8 sk_userlocks : 4;
	u8 sk_pacing_shift;
	u16 sk_type;
	u16 sk_protocol;
	u16 sk_gso_max_segs;
	unsigned long sk_lingertime;
	struct proto *sk_prot_creator;
	rwlock_t sk_callback_lock;
	int sk_err;
	int sk_err_soft;
	u32 sk_ack_backlog;
	u32 sk_max_ack_backlog;
	kuid_t sk_uid;
	u8 sk_txrehash;
	u8 sk_prefer_busy_poll; /* since 5.11 */
	u16 sk_busy_poll_budget; /* since 5.11 */
	spinlock_t sk_peer_lock;
	int sk_bind_phc;
	struct pid *sk_peer_pid;
	const struct cred *sk_peer_cred;
	long sk_rcvtimeo;
	ktime_t sk_stamp;
	u16 sk_tsflags;
	u8 sk_shutdown;
	atomic_t sk_tskey;
	atomic_t sk_zckey;
	u8 sk_clockid;
	u8 sk_txtime_deadline_mode : 1;
	u8 sk_txtime_report_errors : 1;
	u8 sk_txtime_unused : 6;
	bool sk_use_task_frag; /* since 6.1 */
	struct socket *sk_socket;
	void *sk_user_data;
	void *sk_security;
	struct sock_cgroup_data sk_cgrp_data;
	struct mem_cgroup *sk_memcg;
	void (*sk_state_change)(struct sock *);
	void (*sk_data_ready)(struct sock *);
	void (*sk_write_space)(struct sock *);
	void (*sk_error_report)(struct sock *);
	int (*sk_backlog_rcv)(struct sock *, struct sk_buff *);
	struct sk_buff *(*sk_validate_xmit_skb)(struct sock *, struct net_device *, struct sk_buff *);
	void (*sk_destruct)(struct sock *);
	struct sock_reuseport *sk_reuseport_cb;
	struct bpf_local_storage *sk_bpf_storage;
	struct callback_head sk_rcu;
	struct hlist_node sk_bind2_node; /* since 6.1 */
};
struct ip_options_rcu;
struct inet_cork {
	unsigned int flags;
	__be32 addr;
	struct ip_options *opt;
	unsigned int fragsize;
	int length;
	struct dst_entry *dst;
	u8 tx_flags;
	__u8 ttl;
	__s16 tos;
	char priority;
	__u16 gso_size;
	u64 transmit_time;
	u32 mark;
};
struct inet_cork_full {
	struct inet_cork base;
	u64 fl[11]; /* a struct flowi */
};
struct inet_sock {
	struct sock sk;
	struct ipv6_pinfo *pinet6;
	__be32 inet_saddr;
	__s16 uc_ttl;
	__u16 cmsg_flags;
	struct ip_options_rcu *inet_opt;
	atomic_t inet_id;
	__be16 inet_sport;
	__u8 tos;
	__u8 min_ttl;
	__u8 mc_ttl;
	__u8 pmtudisc;
	__u8 recverr : 1;
	__u8 is_icsk : 1;
	__u8 freebind : 1;
	__u8 hdrincl : 1;
	__u8 mc_loop : 1;
	__u8 transparent : 1;
	__u8 mc_all : 1;
	__u8 nodefrag : 1;
	__u8 bind_address_no_port : 1;
	__u8 recverr_rfc4884 : 1;
	__u8 defer_connect : 1;
	__u8 rcv_tos;
	__u8 convert_csum;
	int uc_index;
	int mc_index;
	__be32 mc_addr;
	struct ip_mc_socklist *mc_list;
	struct inet_cork_full cork;
	struct {
		__u16 lo;
		__u16 hi;
	} local_port_range; /* since 6.1 */
};
struct ipv6_pinfo {
	struct in6_addr saddr;
	struct in6_pktinfo sticky_pktinfo;
	const struct in6_addr *daddr_cache;
	__be32 flow_label;
	__u32 frag_size;
};
struct in6_pktinfo {
	struct in6_addr ipi6_addr;
	int ipi6_ifindex;
};
struct fastopen_queue {
	struct request_sock *rskq_rst_head;
	struct request_sock *rskq_rst_tail;
	spinlock_t lock;
	int qlen;
	int max_qlen;
	struct tcp_fastopen_context *ctx;
};
struct request_sock_queue {
	spinlock_t rskq_lock;
	u8 rskq_defer_accept;
	u32 synflood_warned;
	atomic_t qlen;
	atomic_t young;
	struct request_sock *rskq_accept_head;
	struct request_sock *rskq_accept_tail;
	struct fastopen_queue fastopenq;
};
struct inet_bind_bucket {
	possible_net_t ib_net;
	int l3mdev;
	unsigned short port;
	signed char fastreuse;
	signed char fastreuseport;
	struct hlist_head owners;
};
struct inet_connection_sock {
	struct inet_sock icsk_inet;
	struct request_sock_queue icsk_accept_queue;
	struct inet_bind_bucket *icsk_bind_hash;
	struct inet_bind2_bucket *icsk_bind2_hash; /* since 6.1 */
	unsigned long icsk_timeout;
	struct timer_list icsk_retransmit_timer;
	struct timer_list icsk_delack_timer;
	union {
		struct timer_list icsk_keepalive_timer;
		struct timer_list mptcp_tout_timer;
	};
	__u32 icsk_rto;
	__u32 icsk_rto_min; /* since 5.11 */
	__u32 icsk_delack_max; /* since 5.11 */
	__u32 icsk_pmtu_cookie;
	const struct tcp_congestion_ops *icsk_ca_ops;
	const struct inet_connection_sock_af_ops *icsk_af_ops;
	const struct tcp_ulp_ops *icsk_ulp_ops;
	void *icsk_ulp_data;
	void (*icsk_clean_acked)(struct sock *, u32);
	unsigned int (*icsk_sync_mss)(struct sock *, u32);
	__u8 icsk_ca_state : 5;
	__u8 icsk_ca_initialized : 1;
	__u8 icsk_ca_setsockopt : 1;
	__u8 icsk_ca_dst_locked : 1;
	__u8 icsk_retransmits;
	__u8 icsk_pending;
	__u8 icsk_backoff;
	__u8 icsk_syn_retries;
	__u8 icsk_probes_out;
	__u16 icsk_ext_hdr_len;
	struct {
		__u8 pending;
		__u8 quick;
		__u8 pingpong;
		__u8 retry;
		__u32 ato;
		unsigned long timeout;
		__u32 lrcvtime;
		__u16 last_seg_size;
		__u16 rcv_mss;
	} icsk_ack;
	struct {
		int search_high;
		int search_low;
		u32 probe_size : 31;
		u32 enabled : 1;
		u32 probe_timestamp;
	} icsk_mtup;
	u32 icsk_probes_tstamp; /* since 5.11 */
	u32 icsk_user_timeout;
	u64 icsk_ca_priv[13];
};
struct tcp_options_received {
	int ts_recent_stamp;
	u32 ts_recent;
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u16 saw_tstamp : 1;
	u16 tstamp_ok : 1;
	u16 dsack : 1;
	u16 wscale_ok : 1;
	u16 sack_ok : 3;
	u16 smc_ok : 1;
	u16 snd_wscale : 4;
	u16 rcv_wscale : 4;
	u8 saw_unknown : 1;
	u8 unused : 7;
	u8 num_sacks;
	u16 user_mss;
	u16 mss_clamp;
};
struct minmax_sample {
	u32 t;
	u32 v;
};
struct minmax {
	struct minmax_sample s[3];
};
struct tcp_rack {
	u64 mstamp;
	u32 rtt_us;
	u32 end_seq;
	u32 last_delivered;
	u8 reo_wnd_steps;
	u8 reo_wnd_persist : 5;
	u8 dsack_seen : 1;
	u8 advanced : 1;
};
struct tcp_sack_block {
	u32 start_seq;
	u32 end_seq;
};
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u16 tcp_header_len;
	u16 gso_segs;
	__be32 pred_flags;
	u64 bytes_received;
	u32 segs_in;
	u32 data_segs_in;
	u32 rcv_nxt;
	u32 copied_seq;
	u32 rcv_wup;
	u32 snd_nxt;
	u32 segs_out;
	u32 data_segs_out;
	u64 bytes_sent; /* since 4.19 */
	u64 bytes_acked;
	u32 dsack_dups; /* since 4.19 */
	u32 snd_una;
	u32 snd_sml;
	u32 rcv_tstamp;
	u32 lsndtime;
	u32 last_oow_ack_time;
	u32 compressed_ack_rcv_nxt;
	u32 tsoffset;
	struct list_head tsq_node;
	struct list_head tsorted_sent_queue;
	u32 snd_wl1;
	u32 snd_wnd;
	u32 max_window;
	u32 mss_cache;
	u32 window_clamp;
	u32 rcv_ssthresh;
	struct tcp_rack rack;
	u16 advmss;
	u8 compressed_ack;
	u8 dup_ack_counter : 2;
	u8 tlp_retrans : 1;
	u8 unused : 5;
	u32 chrono_start;
	u32 chrono_stat[3];
	u8 chrono_type : 2;
	u8 rate_app_limited : 1;
	u8 fastopen_connect : 1;
	u8 fastopen_no_cookie : 1;
	u8 is_sack_reneg : 1;
	u8 fastopen_client_fail : 2;
	u8 nonagle : 4;
	u8 thin_lto : 1;
	u8 recvmsg_inq : 1;
	u8 repair : 1;
	u8 frto : 1;
	u8 repair_queue;
	u8 save_syn : 2;
	u8 syn_data : 1;
	u8 syn_fastopen : 1;
	u8 syn_fastopen_exp : 1;
	u8 syn_fastopen_ch : 1;
	u8 syn_data_acked : 1;
	u8 is_cwnd_limited : 1;
	u32 tlp_high_seq;
	u32 tcp_tx_delay;
	u64 tcp_wstamp_ns;
	u64 tcp_clock_cache;
	u64 tcp_mstamp;
	u32 srtt_us;
	u32 mdev_us;
	u32 mdev_max_us;
	u32 rttvar_us;
	u32 rtt_seq;
	struct minmax rtt_min;
	u32 packets_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 cwnd_usage_seq;
	u16 urg_data;
	u8 ecn_flags;
	u8 keepalive_probes;
	u32 reordering;
	u32 reord_seen; /* since 4.19 */
	u32 snd_up;
	struct tcp_options_received rx_opt;
	u32 snd_ssthresh;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_cwnd_used;
	u32 snd_cwnd_stamp;
	u32 prior_cwnd;
	u32 prr_delivered;
	u32 prr_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 app_limited;
	u64 first_tx_mstamp;
	u64 delivered_mstamp;
	u32 rate_delivered;
	u32 rate_interval_us;
	u32 rcv_wnd;
	u32 write_seq;
	u32 notsent_lowat;
	u32 pushed_seq;
	u32 lost_out;
	u32 sacked_out;
	struct hrtimer pacing_timer;
	struct hrtimer compressed_ack_timer;
	struct sk_buff *lost_skb_hint;
	struct sk_buff *retransmit_skb_hint;
	struct rb_root out_of_order_queue;
	struct sk_buff *ooo_last_skb;
	struct tcp_sack_block duplicate_sack[1];
	struct tcp_sack_block selective_acks[4];
	struct tcp_sack_block recv_sack_cache[4];
	struct sk_buff *highest_sack;
	int lost_cnt_hint;
	u32 prior_ssthresh;
	u32 high_seq;
	u32 retrans_stamp;
	u32 undo_marker;
	int undo_retrans;
	u64 bytes_retrans; /* since 4.19 */
	u32 total_retrans;
	u32 urg_seq;
	unsigned int keepalive_time;
	unsigned int keepalive_intvl;
	int linger2;
	u8 bpf_sock_ops_cb_flags;
	u8 bpf_chg_cc_inprogress : 1;
	u16 timeout_rehash;
	u32 rcv_ooopack;
	u32 rcv_rtt_last_tsecr;
	struct {
		u32 rtt_us;
		u32 seq;
		u64 time;
	} rcv_rtt_est;
	struct {
		u32 space;
		u32 seq;
		u64 time;
	} rcvq_space;
	struct {
		u32 probe_seq_start;
		u32 probe_seq_end;
	} mtu_probe;
	u32 mtu_info;
	bool is_mptcp;
	bool (*smc_hs_congested)(const struct sock *);
	bool syn_smc;
	const struct tcp_sock_af_ops *af_specific;
	struct tcp_md5sig_info *md5sig_info;
	struct tcp_fastopen_request *fastopen_req;
	struct request_sock *fastopen_rsk;
	struct saved_syn *saved_syn;
};
struct udp_sock {
	struct inet_sock inet;
	int pending;
	__u8 encap_type;
	__u8 pcflag;
	__u16 len;
	__u16 gso_size;
	int forward_deficit; /* since 4.10 */
};
struct unix_address {
	refcount_t refcnt;
	int len;
	struct sockaddr_un name[];
};
struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct path path;
	struct mutex iolock;
	struct sock *peer;
	spinlock_t lock;
};
struct request_sock {
	struct sock_common __req_common;
	struct request_sock *dl_next;
	u16 mss;
	u8 num_retrans;
	u8 syncookie : 1;
	u8 num_timeout : 7;
	u32 ts_recent;
	struct timer_list rsk_timer;
	const struct request_sock_ops *rsk_ops;
	struct sock *sk;
	struct saved_syn *saved_syn;
	u32 secid;
	u32 peer_secid;
	u32 timeout;
};
struct request_sock_ops {
	int family;
	unsigned int obj_size;
	char *slab_name;
};
struct inet_request_sock {
	struct request_sock req;
	u16 snd_wscale : 4;
	u16 rcv_wscale : 4;
	u16 tstamp_ok : 1;
	u16 sack_ok : 1;
	u16 wscale_ok : 1;
	u16 ecn_ok : 1;
	u16 acked : 1;
	u16 no_srccheck : 1;
	u16 smc_ok : 1;
	u32 ir_mark;
	union {
		struct ip_options_rcu *ireq_opt;
		struct {
			struct ipv6_txoptions *ipv6_opt;
			struct sk_buff *pktopts;
		};
	};
};
struct tcp_request_sock {
	struct inet_request_sock req;
	const struct tcp_request_sock_ops *af_specific;
	u64 snt_synack;
	bool tfo_listener;
	bool is_mptcp;
	bool drop_req;
	u32 txhash;
	u32 rcv_isn;
	u32 snt_isn;
	u32 ts_off;
	u32 last_oow_ack_time;
	u32 rcv_nxt;
	u8 syn_tos;
};
struct inet_timewait_sock {
	struct sock_common __tw_common;
	__u32 tw_mark;
	volatile unsigned char tw_substate;
	unsigned char tw_rcv_wscale;
	__be16 tw_sport;
	struct timer_list tw_timer;
};
struct socket_wq {
	wait_queue_head_t wait;
	struct fasync_struct *fasync_list;
	unsigned long flags;
	struct callback_head rcu;
};
struct socket {
	socket_state state;
	short type;
	unsigned long flags;
	struct file *file;
	struct sock *sk;
	const struct proto_ops *ops;
	struct socket_wq wq;
};
struct proto_ops {
	int family;
	int (*release)(struct socket *);
	int (*bind)(struct socket *, struct sockaddr *, int);
	int (*connect)(struct socket *, struct sockaddr *, int, int);
	int (*socketpair)(struct socket *, struct socket *);
	int (*accept)(struct socket *, struct socket *, int, bool);
	int (*getname)(struct socket *, struct sockaddr *, int);
	__poll_t (*poll)(struct file *, struct socket *, struct poll_table_struct *);
	int (*ioctl)(struct socket *, unsigned int, unsigned long);
	int (*listen)(struct socket *, int);
	int (*shutdown)(struct socket *, int);
	int (*setsockopt)(struct socket *, int, int, sockptr_t, unsigned int);
	int (*getsockopt)(struct socket *, int, int, char *, int *);
	int (*sendmsg)(struct socket *, struct msghdr *, size_t);
	int (*recvmsg)(struct socket *, struct msghdr *, size_t, int);
	int (*mmap)(struct file *, struct socket *, struct vm_area_struct *);
	ssize_t (*sendpage)(struct socket *, struct page *, int, size_t, int);
};
struct proto {
	void (*close)(struct sock *, long);
	int (*connect)(struct sock *, struct sockaddr *, int);
	int (*disconnect)(struct sock *, int);
	struct sock *(*accept)(struct sock *, int, int *, bool);
	int (*ioctl)(struct sock *, int, unsigned long);
	int (*init)(struct sock *);
	void (*destroy)(struct sock *);
	void (*shutdown)(struct sock *, int);
	int (*setsockopt)(struct sock *, int, int, sockptr_t, unsigned int);
	int (*getsockopt)(struct sock *, int, int, char *, int *);
	int (*sendmsg)(struct sock *, struct msghdr *, size_t);
	int (*recvmsg)(struct sock *, struct msghdr *, size_t, int, int *);
	int (*bind)(struct sock *, struct sockaddr *, int);
	int (*backlog_rcv)(struct sock *, struct sk_buff *);
	int (*hash)(struct sock *);
	void (*unhash)(struct sock *);
	int (*get_port)(struct sock *, unsigned short);
	atomic_long_t *memory_allocated;
	struct percpu_counter *sockets_allocated;
	struct kmem_cache *slab;
	unsigned int obj_size;
	slab_flags_t slab_flags;
	char name[32];
	struct list_head node;
};

/* Devices and network namespaces. */
struct net_device_stats {
	union {
		unsigned long rx_packets;
		atomic_long_t __rx_packets;
	};
	union {
		unsigned long tx_packets;
		atomic_long_t __tx_packets;
	};
	union {
		unsigned long rx_bytes;
		atomic_long_t __rx_bytes;
	};
	union {
		unsigned long tx_bytes;
		atomic_long_t __tx_bytes;
	};
	union {
		unsigned long rx_errors;
		atomic_long_t __rx_errors;
	};
	union {
		unsigned long tx_errors;
		atomic_long_t __tx_errors;
	};
	union {
		unsigned long rx_dropped;
		atomic_long_t __rx_dropped;
	};
	union {
		unsigned long tx_dropped;
		atomic_long_t __tx_dropped;
	};
	union {
		unsigned long multicast;
		atomic_long_t __multicast;
	};
	union {
		unsigned long collisions;
		atomic_long_t __collisions;
	};
	union {
		unsigned long rx_length_errors;
		atomic_long_t __rx_length_errors;
	};
	union {
		unsigned long rx_over_errors;
		atomic_long_t __rx_over_errors;
	};
	union {
		unsigned long rx_crc_errors;
		atomic_long_t __rx_crc_errors;
	};
	union {
		unsigned long rx_frame_errors;
		atomic_long_t __rx_frame_errors;
	};
	union {
		unsigned long rx_fifo_errors;
		atomic_long_t __rx_fifo_errors;
	};
	union {
		unsigned long rx_missed_errors;
		atomic_long_t __rx_missed_errors;
	};
	union {
		unsigned long tx_aborted_errors;
		atomic_long_t __tx_aborted_errors;
	};
	union {
		unsigned long tx_carrier_errors;
		atomic_long_t __tx_carrier_errors;
	};
	union {
		unsigned long tx_fifo_errors;
		atomic_long_t __tx_fifo_errors;
	};
	union {
		unsigned long tx_heartbeat_errors;
		atomic_long_t __tx_heartbeat_errors;
	};
	union {
		unsigned long tx_window_errors;
		atomic_long_t __tx_window_errors;
	};
	union {
		unsigned long rx_compressed;
		atomic_long_t __rx_compressed;
	};
	union {
		unsigned long tx_compressed;
		atomic_long_t __tx_compressed;
	};
};
struct net_device {
	char name[16];
	struct netdev_name_node *name_node;
	struct dev_ifalias *ifalias;
	unsigned long mem_end;
	unsigned long mem_start;
	unsigned long base_addr;
	unsigned long state;
	struct list_head dev_list;
	struct list_head napi_list;
	struct list_head unreg_list;
	struct list_head close_list;
	struct list_head ptype_all;
	struct list_head ptype_specific;
	struct {
		struct list_head upper;
		struct list_head lower;
	} adj_list;
	unsigned int flags;
	unsigned long long priv_flags;
	const struct net_device_ops *netdev_ops;
	int ifindex;
	unsigned short gflags;
	unsigned short hard_header_len;
	unsigned int mtu;
	unsigned short needed_headroom;
	unsigned short needed_tailroom;
	netdev_features_t features;
	netdev_features_t hw_features;
	netdev_features_t wanted_features;
	unsigned int min_mtu;
	unsigned int max_mtu;
	unsigned short type;
	unsigned char min_header_len;
	unsigned char name_assign_type;
	int group;
	struct net_device_stats stats;
	const struct ethtool_ops *ethtool_ops;
	const struct header_ops *header_ops;
	unsigned char operstate;
	unsigned char link_mode;
	unsigned char if_port;
	unsigned char dma;
	unsigned char addr_len;
	const unsigned char *dev_addr;
	unsigned int num_rx_queues;
	unsigned int real_num_rx_queues;
	unsigned int gro_max_size;
	unsigned int gso_max_size;
	unsigned int gso_max_segs;
	unsigned char broadcast[32];
	unsigned int num_tx_queues;
	unsigned int real_num_tx_queues;
	unsigned int tx_queue_len;
	int watchdog_timeo;
	u8 reg_state;
	possible_net_t nd_net;
	struct device dev;
};
struct netns_ipv4 {
	u8 sysctl_tcp_shrink_window;
	u8 sysctl_icmp_echo_ignore_all;
	u8 sysctl_icmp_echo_enable_probe;
	u8 sysctl_icmp_echo_ignore_broadcasts;
	u8 sysctl_icmp_ignore_bogus_error_responses;
	u8 sysctl_icmp_errors_use_inbound_ifaddr;
	int sysctl_icmp_ratelimit;
	int sysctl_icmp_ratemask;
	int sysctl_icmp_msgs_per_sec;
	int sysctl_icmp_msgs_burst;
	u8 sysctl_tcp_ecn;
	u8 sysctl_tcp_ecn_fallback;
	u8 sysctl_ip_default_ttl;
	u8 sysctl_ip_no_pmtu_disc;
	u8 sysctl_ip_fwd_use_pmtu;
	u8 sysctl_ip_fwd_update_priority;
	u8 sysctl_ip_nonlocal_bind;
	u8 sysctl_ip_autobind_reuse;
	u8 sysctl_ip_dynaddr;
	u8 sysctl_ip_early_demux;
	u8 sysctl_raw_l3mdev_accept;
	u8 sysctl_tcp_early_demux;
	u8 sysctl_udp_early_demux;
	u8 sysctl_nexthop_compat_mode;
	u8 sysctl_fwmark_reflect;
	u8 sysctl_tcp_fwmark_accept;
	u8 sysctl_tcp_l3mdev_accept;
	u8 sysctl_tcp_mtu_probing;
	int sysctl_tcp_mtu_probe_floor;
	int sysctl_tcp_base_mss;
	int sysctl_tcp_min_snd_mss;
	int sysctl_tcp_probe_threshold;
	u32 sysctl_tcp_probe_interval;
	int sysctl_tcp_keepalive_time;
	int sysctl_tcp_keepalive_intvl;
	u8 sysctl_tcp_keepalive_probes;
	u8 sysctl_tcp_syn_retries;
	u8 sysctl_tcp_synack_retries;
	u8 sysctl_tcp_syncookies;
	u8 sysctl_tcp_migrate_req;
	u8 sysctl_tcp_comp_sack_nr;
	int sysctl_tcp_reordering;
	u8 sysctl_tcp_retries1;
	u8 sysctl_tcp_retries2;
	u8 sysctl_tcp_orphan_retries;
	u8 sysctl_tcp_tw_reuse;
	int sysctl_tcp_fin_timeout;
	unsigned int sysctl_tcp_notsent_lowat;
	u8 sysctl_tcp_sack;
	u8 sysctl_tcp_window_scaling;
	u8 sysctl_tcp_timestamps;
	u8 sysctl_tcp_early_retrans;
	u8 sysctl_tcp_recovery;
	u8 sysctl_tcp_thin_linear_timeouts;
	u8 sysctl_tcp_slow_start_after_idle;
	u8 sysctl_tcp_retrans_collapse;
	u8 sysctl_tcp_stdurg;
	u8 sysctl_tcp_rfc1337;
	u8 sysctl_tcp_abort_on_overflow;
	u8 sysctl_tcp_fack;
	int sysctl_tcp_max_reordering;
	int sysctl_tcp_adv_win_scale;
	u8 sysctl_tcp_dsack;
	u8 sysctl_tcp_app_win;
	u8 sysctl_tcp_frto;
	u8 sysctl_tcp_nometrics_save;
	u8 sysctl_tcp_no_ssthresh_metrics_save;
	u8 sysctl_tcp_moderate_rcvbuf;
	u8 sysctl_tcp_tso_win_divisor;
	u8 sysctl_tcp_workaround_signed_windows;
	int sysctl_tcp_limit_output_bytes;
	int sysctl_tcp_challenge_ack_limit;
	int sysctl_tcp_min_rtt_wlen;
	u8 sysctl_tcp_min_tso_segs;
	u8 sysctl_tcp_tso_rtt_log;
	u8 sysctl_tcp_autocorking;
	u8 sysctl_tcp_reflect_tos;
	int sysctl_tcp_invalid_ratelimit;
	int sysctl_tcp_pacing_ss_ratio;
	int sysctl_tcp_pacing_ca_ratio;
	int sysctl_tcp_wmem[3];
	int sysctl_tcp_rmem[3];
	unsigned int sysctl_tcp_child_ehash_entries;
	unsigned long sysctl_tcp_comp_sack_delay_ns;
	unsigned long sysctl_tcp_comp_sack_slack_ns;
	int sysctl_max_syn_backlog;
	int sysctl_tcp_fastopen;
	unsigned int sysctl_tcp_fastopen_blackhole_timeout;
	int sysctl_udp_wmem_min;
	int sysctl_udp_rmem_min;
	u8 sysctl_fib_notify_on_flag_change;
	u8 sysctl_udp_l3mdev_accept;
	u8 sysctl_igmp_llm_reports;
	int sysctl_igmp_max_memberships;
	int sysctl_igmp_max_msf;
	int sysctl_igmp_qrv;
	int sysctl_ip_prot_sock;
	u32 sysctl_fib_multipath_hash_fields;
	u8 sysctl_fib_multipath_use_neigh;
	u8 sysctl_fib_multipath_hash_policy;
};
struct net {
	refcount_t passive;
	atomic_t dev_unreg_count;
	unsigned int dev_base_seq;
	int ifindex;
	struct list_head list;
	struct list_head exit_list;
	struct user_namespace *user_ns;
	struct ucounts *ucounts;
	struct idr netns_ids;
	struct ns_common ns;
	struct list_head dev_base_head;
	struct proc_dir_entry *proc_net;
	struct sock *rtnl;
	struct hlist_head *dev_name_head;
	struct hlist_head *dev_index_head;
	u32 hash_mix;
	struct net_device *loopback_dev;
	struct net_generic *gen;
	struct netns_ipv4 ipv4;
	u64 net_cookie;
};
struct dst_entry {
	union {
		struct net_device *dev;
		struct net_device *dev_rcu;
	};
	struct dst_ops *ops;
	unsigned long _metrics;
	unsigned long expires;
	struct xfrm_state *xfrm;
	int (*input)(struct sk_buff *);
	int (*output)(struct net *, struct sock *, struct sk_buff *);
	unsigned short flags;
	short obsolete;
	unsigned short header_len;
	unsigned short trailer_len;
	atomic_t __refcnt;
	int __use;
	unsigned long lastuse;
	short error;
	short __pad;
	__u32 tclassid;
};
struct neigh_parms;
struct neigh_ops {
	int family;
	void (*solicit)(struct neighbour *, struct sk_buff *);
	void (*error_report)(struct neighbour *, struct sk_buff *);
	int (*output)(struct neighbour *, struct sk_buff *);
	int (*connected_output)(struct neighbour *, struct sk_buff *);
};
struct neigh_table {
	int family;
	unsigned int entry_size;
	unsigned int key_len;
	__be16 protocol;
	char *id;
	atomic_t entries;
	atomic_t gc_entries;
	unsigned long last_flush;
};
struct neighbour {
	struct neighbour *next;
	struct neigh_table *tbl;
	struct neigh_parms *parms;
	unsigned long confirmed;
	unsigned long updated;
	rwlock_t lock;
	refcount_t refcnt;
	unsigned int arp_queue_len_bytes;
	struct sk_buff_head arp_queue;
	struct timer_list timer;
	unsigned long used;
	atomic_t probes;
	u8 nud_state;
	u8 type;
	u8 dead;
	u8 protocol;
	u32 flags;
	seqlock_t ha_lock;
	unsigned char ha[32];
	int (*output)(struct neighbour *, struct sk_buff *);
	const struct neigh_ops *ops;
	struct net_device *dev;
	u8 primary_key[];
};
struct scm_creds {
	u32 pid;
	kuid_t uid;
	kgid_t gid;
};
struct scm_cookie {
	struct pid *pid;
	struct scm_fp_list *fp;
	struct scm_creds creds;
	u32 secid;
};
struct flowi;
struct napi_struct {
	struct list_head poll_list;
	unsigned long state;
	int weight;
	struct net_device *dev;
	unsigned int napi_id;
};
struct softnet_data {
	struct list_head poll_list;
	unsigned int processed;
	unsigned int time_squeeze;
	unsigned int received_rps;
};
struct xdp_buff {
	void *data;
	void *data_end;
	void *data_meta;
	void *data_hard_start;
	struct xdp_rxq_info *rxq;
	struct xdp_txq_info *txq;
	u32 frame_sz;
	u32 flags;
};
struct xdp_mem_info {
	u32 type;
	u32 id;
};
struct xdp_rxq_info {
	struct net_device *dev;
	u32 queue_index;
	u32 reg_state;
	struct xdp_mem_info mem;
	unsigned int napi_id;
	u32 frag_size;
};
struct xdp_txq_info {
	struct net_device *dev;
};
struct xdp_sock {
	struct sock sk;
	struct xsk_queue *rx __attribute__((aligned(64)));
	struct net_device *dev;
	struct xdp_umem *umem;
	struct list_head flush_node;
	struct xsk_buff_pool *pool;
	u16 queue_id;
	bool zc;
};
/* What sk_buff.cb holds, by who has the packet: include/net/sch_generic.h, linux/filter.h, linux/skmsg.h, net/tcp.h. */
struct qdisc_skb_cb {
	struct {
		unsigned int pkt_len;
		u16 slave_dev_queue_mapping;
		u16 tc_classid;
	};
	unsigned char data[20];
};
struct bpf_skb_data_end {
	struct qdisc_skb_cb qdisc_cb;
	void *data_meta;
	void *data_end;
};
struct sk_skb_cb {
	unsigned char data[20];
	unsigned char pad[4];
	u32 strp[3]; /* a struct _strp_msg */
	u8 tls; /* a struct tls_msg */
	u64 temp_reg;
};
struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
	union {
		__u32 tcp_tw_isn;
		struct {
			u16 tcp_gso_segs;
			u16 tcp_gso_size;
		};
	};
	__u8 tcp_flags;
	__u8 sacked;
	__u8 ip_dsfield;
	__u8 txstamp_ack : 1;
	__u8 eor : 1;
	__u8 has_rxtstamp : 1;
	__u8 unused : 5;
	__u32 ack_seq;
	struct {
		__u32 flags;
		struct sock *sk_redir;
		void *data_end;
	} bpf; /* until 5.13 */
};
enum netdev_tx {
	__NETDEV_TX_MIN = -2147483648,
	NETDEV_TX_OK = 0,
	NETDEV_TX_BUSY = 16,
};
typedef enum netdev_tx netdev_tx_t;
