// A connection tracer: who connects where, and how it ended, through a ring buffer.
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct event {
	u32 pid;
	u32 daddr; /* network order */
	u16 dport; /* host order */
	int result;
	char comm[16];
};
const struct event *unused_event __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u64);
	__type(value, struct sock *);
} connecting SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

u64 dropped, unread;

SEC("kprobe/tcp_v4_connect")
int BPF_KPROBE(begins, struct sock *sk)
{
	u64 id = bpf_get_current_pid_tgid();

	bpf_map_update_elem(&connecting, &id, &sk, BPF_ANY);
	return 0;
}

SEC("kretprobe/tcp_v4_connect")
int BPF_KRETPROBE(ends, int result)
{
	u64 id = bpf_get_current_pid_tgid();
	struct sock **found = bpf_map_lookup_elem(&connecting, &id), *sk;
	struct event *e;
	u16 port = 0;

	if (!found)
		return 0;
	sk = *found;
	bpf_map_delete_elem(&connecting, &id);
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&dropped, 1);
		return 0;
	}
	e->pid = id >> 32;
	e->result = result;
	bpf_get_current_comm(&e->comm, sizeof(e->comm));
	if (bpf_core_read(&e->daddr, sizeof(e->daddr), &sk->__sk_common.skc_daddr) ||
	    bpf_core_read(&port, sizeof(port), &sk->__sk_common.skc_dport)) {
		__sync_fetch_and_add(&unread, 1);
		bpf_ringbuf_discard(e, 0);
		return 0;
	}
	e->dport = (u16)(port << 8 | port >> 8);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
