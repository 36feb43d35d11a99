/*
 * Functions that programs are attached to or call and that nothing here calls, and types that they read: prototypes and
 * members are those of Linux 6.1.  What no part of the machine fills is zero.
 */

__be16 eth_type_trans(struct sk_buff *skb, struct net_device *dev);
int __sys_getsockname(int fd, struct sockaddr *usockaddr, int *usockaddr_len);
int cgroup_attach_task(struct cgroup *dst_cgrp, struct task_struct *leader, bool threadgroup);
loff_t dcache_dir_lseek(struct file *file, loff_t offset, int whence);
loff_t default_llseek(struct file *file, loff_t offset, int whence);
loff_t generic_file_llseek(struct file *file, loff_t offset, int whence);
loff_t mem_lseek(struct file *file, loff_t offset, int orig);
loff_t no_llseek(struct file *file, loff_t offset, int whence); /* until 6.0 */
loff_t noop_llseek(struct file *file, loff_t offset, int whence);
loff_t null_lseek(struct file *file, loff_t offset, int orig);
loff_t seq_lseek(struct file *file, loff_t offset, int whence);
loff_t shmem_file_llseek(struct file *file, loff_t offset, int whence);
struct module *btf_try_get_module(const struct btf *btf); /* since 5.12 */
int do_init_module(struct module *mod);
void exit_creds(struct task_struct *tsk);
void hrtimer_start_range_ns(struct hrtimer *timer, ktime_t tim, u64 delta_ns, const enum hrtimer_mode mode);
struct bpf_local_storage_data *bpf_local_storage_lookup(struct bpf_local_storage *local_storage, struct bpf_local_storage_map *smap, bool cacheit_lockit); /* since 5.10 */
struct bpf_local_storage_data *bpf_local_storage_update(void *owner, struct bpf_local_storage_map *smap, void *value, u64 map_flags, gfp_t gfp_flags); /* since 5.18 */
void bpf_sk_storage_free(struct sock *sk); /* since 5.2 */
void bpf_rstat_flush(struct cgroup *cgrp, struct cgroup *parent, int cpu); /* since 6.1 */
void cgroup_rstat_flush(struct cgroup *cgrp); /* since 4.18 */
void cgroup_rstat_updated(struct cgroup *cgrp, int cpu); /* since 4.18 */
void rcu_tasks_trace_postgp(struct rcu_tasks *rtp); /* since 5.8 */
void rcu_tasks_trace_pregp_step(struct list_head *hop); /* since 5.8 */
void mptcp_pm_new_connection(struct mptcp_sock *msk, const struct sock *ssk, int server_side); /* since 5.7 */

struct cgroup_rstat_cpu {
	struct cgroup_base_stat bstat;
	struct cgroup_base_stat last_bstat;
	struct cgroup *updated_children;
	struct cgroup *updated_next;
};
struct dev_ifalias {
	struct callback_head rcuhead;
	char ifalias[];
};
struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};
struct netlink_sock {
	struct sock sk;
	unsigned long flags;
	u32 portid;
	u32 dst_portid;
	u32 dst_group;
	u32 subscriptions;
	u32 ngroups;
	unsigned long *groups;
	unsigned long state;
	size_t max_recvmsg_len;
	bool bound;
	bool cb_running;
	int dump_done_errno;
};
struct bpf_iter__netlink {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct netlink_sock *sk;
	};
};
struct bpf_iter__ipv6_route {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct fib6_info *rt;
	};
};
struct rt6key {
	struct in6_addr addr;
	int plen;
};
struct fib_nh_common {
	struct net_device *nhc_dev;
	int nhc_oif;
	unsigned char nhc_scope;
	u8 nhc_family;
	u8 nhc_gw_family;
	unsigned char nhc_flags;
	struct lwtunnel_state *nhc_lwtstate;
	union {
		__be32 ipv4;
		struct in6_addr ipv6;
	} nhc_gw;
	int nhc_weight;
	atomic_t nhc_upper_bound;
};
struct fib6_nh {
	struct fib_nh_common nh_common;
	unsigned long last_probe;
};
struct nh_info {
	struct hlist_node dev_hash;
	struct nexthop *nh_parent;
	u8 family;
	bool reject_nh;
	bool fdb_nh;
	union {
		struct fib_nh_common fib_nhc;
		struct fib6_nh fib6_nh;
	};
};
struct nexthop {
	struct list_head fi_list;
	struct list_head f6i_list;
	struct net *net;
	u32 id;
	u8 protocol;
	u8 nh_flags;
	bool is_group;
	refcount_t refcnt;
	union {
		struct nh_info *nh_info;
		struct nh_group *nh_grp;
	};
};
struct fib6_info {
	struct fib6_table *fib6_table;
	struct fib6_info *fib6_next;
	struct fib6_node *fib6_node;
	union {
		struct list_head fib6_siblings;
		struct list_head nh_list;
	};
	unsigned int fib6_nsiblings;
	refcount_t fib6_ref;
	unsigned long expires;
	struct dst_metrics *fib6_metrics;
	struct rt6key fib6_dst;
	u32 fib6_flags;
	struct rt6key fib6_src;
	struct rt6key fib6_prefsrc;
	u32 fib6_metric;
	u8 fib6_protocol;
	u8 fib6_type;
	u8 offload;
	u8 trap;
	u8 offload_failed;
	struct callback_head rcu;
	struct nexthop *nh;
	struct fib6_nh fib6_nh[];
};
struct module {
	int state;
	struct list_head list;
	char name[56];
};
struct btf {
	void *data;
	u32 nr_types;
	u32 types_size;
	u32 data_size;
	refcount_t refcnt;
	u32 id;
	struct btf *base_btf;
	char name[56];
	bool kernel_btf;
};
