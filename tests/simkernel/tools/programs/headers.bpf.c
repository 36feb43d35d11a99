#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <bpf/usdt.bpf.h>

/* One program for each way of attaching, written with libbpf's own headers as Debian ships them. */
u64 entered, left, bytes, raw, btf_switches, multi, ksys, samples, modified, uses, returned, arg_count, cookie;
long got[4];
char comm[16], route_name[16], file_name[16];
SEC("fentry/vfs_write") int BPF_PROG(on_entry, struct file *file, const char *buf, size_t count)
{
	entered++; bytes += count;
	bpf_get_current_comm(comm, sizeof(comm));
	bpf_probe_read_kernel_str(file_name, sizeof(file_name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return 0;
}
SEC("fexit/vfs_write") int BPF_PROG(on_exit, struct file *file, const char *buf, size_t count, loff_t *pos, ssize_t ret)
{
	if (ret > 0) left += ret;
	return 0;
}
SEC("raw_tp/sched_process_exit") int BPF_PROG(on_raw, struct task_struct *task) { raw++; return 0; }
SEC("tp_btf/sched_switch") int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (prev->pid != next->pid) btf_switches++;
	return 0;
}
SEC("kprobe.multi/vfs_wri*") int BPF_KPROBE(on_multi) { multi++; return 0; }
SEC("ksyscall/write") int BPF_KSYSCALL(on_ksyscall, unsigned int fd, const char *buf, size_t count) { if (fd == 1) ksys += count; return 0; }
SEC("usdt//samples/server:server:answer") int BPF_USDT(on_answer, long request, const char *route, long status)
{
	uses++; got[0] = request; got[1] = status; arg_count = bpf_usdt_arg_cnt(ctx); cookie = bpf_usdt_cookie(ctx);
	bpf_probe_read_user_str(route_name, sizeof(route_name), route);
	return 0;
}
SEC("uretprobe//samples/server:answer") int BPF_KRETPROBE(on_return, long ret) { returned += ret; return 0; }
SEC("fmod_ret/security_file_open") int BPF_PROG(on_open, struct file *file, int ret) { modified++; return ret; }
SEC("perf_event") int on_sample(struct bpf_perf_event_data *ctx) { samples++; return 0; }
SEC("iter/task") int dump(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (task) BPF_SEQ_PRINTF(ctx->meta->seq, "%d %s\n", task->pid, task->comm);
	return 0;
}
char LICENSE[] SEC("license") = "GPL";
