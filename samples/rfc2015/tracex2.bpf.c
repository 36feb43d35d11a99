/* Where are packets dropped, and how large are writes?  A tracepoint and a system call. */
#include "bpf2015.h"

struct bpf_map_def SEC("maps") drops = { HASH, sizeof(long), sizeof(long), 1024 };
struct bpf_map_def SEC("maps") sizes = { ARRAY, sizeof(u32), sizeof(long), 64 };

SEC("events/skb/kfree_skb")
int drop(struct bpf_context *ctx)
{
	long place = ctx->arg2, one = 1, *count;

	count = map_lookup(&drops, &place);
	if (count)
		*count += 1;
	else
		map_update(&drops, &place, &one, ANY);
	return 0;
}

SEC("events/syscalls/sys_enter_write")
int size(struct bpf_context *ctx)
{
	u32 slot = log2_of(ctx->arg3);
	long *count = map_lookup(&sizes, &slot);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char _license[] SEC("license") = "GPL";
