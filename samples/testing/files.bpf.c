// A file monitor: which names are removed, through a perf event array.
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct event {
	u32 pid;
	char name[32];
};
const struct event *unused_event __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
} events SEC(".maps");

/* Since 5.12 the mount's user namespace, or its idmap, stands before directory and name. */
extern int LINUX_KERNEL_VERSION __kconfig;
u64 unread, refused;

SEC("kprobe/vfs_unlink")
int BPF_KPROBE(removes, void *first, void *second, void *third)
{
	struct dentry *dentry;
	struct event e = {};
	const unsigned char *name;

	asm volatile("" : "+r"(second), "+r"(third)); /* both are read here, not through a computed pointer */
	dentry = LINUX_KERNEL_VERSION >= (5 << 16 | 12 << 8) ? third : second;
	e.pid = bpf_get_current_pid_tgid() >> 32;
	if (bpf_core_read(&name, sizeof(name), &dentry->d_name.name) ||
	    bpf_probe_read_kernel_str(&e.name, sizeof(e.name), name) < 0)
		__sync_fetch_and_add(&unread, 1);
	if (bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &e, sizeof(e)))
		__sync_fetch_and_add(&refused, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
