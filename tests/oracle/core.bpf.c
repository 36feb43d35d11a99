/* Programs whose relocations, contexts and logs hang on the kernel's own types. tests/simkernel/cli/test_verify_btf.py */
#include <linux/types.h>
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common { unsigned inum; };
struct pid_namespace { struct ns_common ns; unsigned level; };
struct nsproxy { struct pid_namespace *pid_ns_for_children; };
struct mm_struct { unsigned long start_code; };
struct inode { unsigned long i_ino; unsigned i_mode; };
struct dentry { struct inode *d_inode; struct dentry *d_parent; };
struct path { struct dentry *dentry; };
struct file { struct path f_path; struct inode *f_inode; unsigned f_flags; };
struct task_struct {
	int pid, tgid; char comm[16]; struct task_struct *real_parent, *group_leader; struct nsproxy *nsproxy; struct mm_struct *mm;
	unsigned in_execve : 1; unsigned sched_reset_on_fork : 1;
};
struct task_struct___old { long state; };
struct task_struct___new { unsigned __state; };
struct sock_common { unsigned short skc_family; };
struct sock { struct sock_common __sk_common; __u8 sk_protocol; };
struct sk_buff { unsigned len; __u8 cloned : 1; __u8 pkt_type : 3; struct sock *sk; };
struct rq { unsigned nr_running; };
struct nothing_here { int n; };
struct request { int tag; unsigned cmd_flags; };
struct bpf_iter_meta { __u64 session_id; };
struct bpf_iter__task { struct bpf_iter_meta *meta; struct task_struct *task; };
struct cgroup;
struct linux_binprm { struct file *file; int argc; };
#pragma clang attribute pop
enum zone_type { ZONE_DMA, ZONE_NORMAL };
enum bpf_map_type___late { BPF_MAP_TYPE_ARENA___late };
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 8); __type(key, int); __type(value, __u64[4]); } seen SEC(".maps");
extern const struct rq runqueues __ksym __weak;
extern const void schedule __ksym;
extern int LINUX_KERNEL_VERSION __kconfig;
extern struct task_struct *bpf_task_acquire(struct task_struct *p) __ksym __weak;
extern void bpf_task_release(struct task_struct *p) __ksym __weak;
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;
__u64 out[8];
int number;

SEC("?raw_tp/sched_switch") int read_core(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *prev = (void *)ctx->args[1];
	int key = BPF_CORE_READ(prev, real_parent, group_leader, tgid);
	__u64 value[4] = { BPF_CORE_READ(prev, nsproxy, pid_ns_for_children, ns.inum), BPF_CORE_READ(prev, mm, start_code) };
	bpf_map_update_elem(&seen, &key, value, 0);
	return 0;
}
SEC("?raw_tp/sched_switch") int flavors(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *prev = (void *)ctx->args[1];
	struct task_struct___old *old = (void *)prev;
	struct task_struct___new *new = (void *)prev;
	if (bpf_core_field_exists(new->__state))
		out[0] = BPF_CORE_READ(new, __state);
	else
		out[0] = BPF_CORE_READ(old, state);
	out[1] = bpf_core_field_size(prev->comm);
	out[2] = bpf_core_field_offset(struct task_struct, mm);
	return 0;
}
SEC("?raw_tp/sched_switch") int facts(void *ctx)
{
	out[0] = bpf_core_type_exists(struct nothing_here);
	out[1] = bpf_core_type_size(struct task_struct);
	out[2] = bpf_core_type_id_kernel(struct task_struct);
	out[3] = bpf_core_type_id_local(struct task_struct);
	out[4] = bpf_core_enum_value(enum zone_type, ZONE_NORMAL);
	if (bpf_core_enum_value_exists(enum bpf_map_type___late, BPF_MAP_TYPE_ARENA___late))
		out[5] = 1;
	return 0;
}
SEC("?kprobe/x") int bits(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	out[0] = BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
	out[1] = BPF_CORE_READ_BITFIELD_PROBED(task, sched_reset_on_fork);
	return 0;
}
SEC("?tp_btf/sched_switch") int direct(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	out[0] = prev->real_parent->group_leader->tgid;
	out[1] = next->nsproxy->pid_ns_for_children->level;
	out[2] = next->mm->start_code;
	out[3] = next->in_execve + next->sched_reset_on_fork;
	return 0;
}
SEC("?tp_btf/sched_switch") int beyond(__u64 *ctx) { return *(char *)(ctx[1] + (1 << 16)); }
SEC("?tp_btf/sched_switch") int writes(__u64 *ctx) { ((struct task_struct *)ctx[1])->tgid = 1; return 0; }
SEC("?tp_btf/sched_switch") int added(__u64 *ctx) { return *(int *)(ctx[1] + (out[0] & 7)); }
SEC("?fentry/vfs_read") int BPF_PROG(entry, struct file *file) { out[0] = file->f_path.dentry->d_parent->d_inode->i_ino; return 0; }
SEC("?fexit/vfs_read") int BPF_PROG(leave, struct file *file, char *buf, unsigned long n, void *pos, long ret)
{
	out[0] = file->f_inode->i_mode + ret;
	return 0;
}
SEC("?fentry/vfs_read") int BPF_PROG(entry_sixth, struct file *file) { return ctx[5] != 0; }
SEC("?fentry/no_such_function") int BPF_PROG(entry_none) { return 0; }
SEC("?lsm/file_open") int BPF_PROG(module, struct file *file) { return file->f_flags & 1 ? -1 : 0; }
SEC("?lsm/file_open") int BPF_PROG(module_wrong, struct file *file) { return 7; }
SEC("?lsm.s/bprm_check_security") int BPF_PROG(module_sleeps, struct linux_binprm *bprm) { return bprm->file->f_inode->i_ino == 1 ? -1 : 0; }
SEC("?iter/task") int walk(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (task)
		out[0] += task->pid + ctx->meta->session_id;
	return 0;
}
SEC("?iter/task") int walk_maybe(struct bpf_iter__task *ctx) { return ctx->task->pid; }
SEC("?raw_tp/sched_switch") int variable(void *ctx)
{
	const struct rq *here = bpf_this_cpu_ptr(&runqueues), *first = bpf_per_cpu_ptr(&runqueues, number);
	out[0] = here->nr_running + (first ? first->nr_running : 0);
	return 0;
}
SEC("?raw_tp/sched_switch") int variable_maybe(void *ctx)
{
	const struct rq *first = bpf_per_cpu_ptr(&runqueues, number);
	return first->nr_running;
}
SEC("?raw_tp/sched_switch") int version(void *ctx) { return LINUX_KERNEL_VERSION >= 0x60000 ? (__u64)&schedule != 0 : 1; }
SEC("?tp_btf/task_newtask") int acquired(__u64 *ctx)
{
	if (!bpf_task_acquire || !bpf_task_release)
		return 0;
	struct task_struct *task = bpf_task_acquire((struct task_struct *)ctx[0]);
	if (task) {
		out[0] = task->pid;
		bpf_task_release(task);
	}
	return 0;
}
SEC("?tp_btf/task_newtask") int kept(__u64 *ctx) { return bpf_task_acquire && bpf_task_acquire((struct task_struct *)ctx[0]) != 0; }
SEC("?tp_btf/task_newtask") int read_section(__u64 *ctx)
{
	if (!bpf_rcu_read_lock || !bpf_rcu_read_unlock)
		return 0;
	bpf_rcu_read_lock();
	struct task_struct *task = ((struct task_struct *)ctx[0])->real_parent;
	out[0] = task->pid;
	bpf_rcu_read_unlock();
	out[1] = task->tgid;
	return 0;
}
SEC("?tp_btf/kfree_skb") int packet(__u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct sock *sk = skb->sk;
	out[0] = skb->len + skb->pkt_type;
	if (sk)
		out[1] = sk->__sk_common.skc_family + sk->sk_protocol;
	bpf_skb_output(skb, &seen, 0, &out, 8);
	return 0;
}
SEC("?tp_btf/sched_switch") int current(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	out[0] = task->group_leader->pid;
	bpf_d_path((struct path *)task, (char *)out, 8);
	return 0;
}
SEC("?tp_btf/no_such_event") int event_none(void *ctx) { return 0; }
SEC("?freplace/main") int replace(void *ctx) { return 0; }
SEC("?socket") int socket(struct __sk_buff *skb) { return skb->sk ? skb->sk->family : 0; }
char _license[] SEC("license") = "GPL";
