// A latency tool: how long woken tasks wait for a CPU, as a histogram by powers of two of microseconds.
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define SLOTS 20

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, u64);
} woken_at SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, u32);
	__type(value, u64);
} latency_hist SEC(".maps");

u64 lost; /* wake-ups that found no room in woken_at */

SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *p)
{
	u32 pid = p->pid;
	u64 now = bpf_ktime_get_ns();

	if (bpf_map_update_elem(&woken_at, &pid, &now, BPF_ANY))
		__sync_fetch_and_add(&lost, 1);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32 pid = next->pid, slot = 0;
	u64 *since = bpf_map_lookup_elem(&woken_at, &pid), us, *count;

	if (!since)
		return 0;
	us = (bpf_ktime_get_ns() - *since) / 1000;
	bpf_map_delete_elem(&woken_at, &pid);
	for (slot = 0; slot < SLOTS - 1 && us > 1; slot++)
		us >>= 1;
	count = bpf_map_lookup_elem(&latency_hist, &slot);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
