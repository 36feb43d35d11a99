/* Who drops packets, and how large are writes?  Two maps, two probes. */
#include "bpf41.h"

struct bpf_map_def SEC("maps") drops = { HASH, sizeof(long), sizeof(long), 1024 };
struct bpf_map_def SEC("maps") sizes = { ARRAY, sizeof(u32), sizeof(long), 64 };

SEC("kprobe/kfree_skb")
int drop(struct pt_regs *ctx)
{
	long place = caller(ctx), one = 1, *count;

	count = map_lookup(&drops, &place);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		map_update(&drops, &place, &one, ANY);
	return 0;
}

SEC("kprobe/sys_write")
int size(struct pt_regs *ctx)
{
	u32 slot = log2_of(arg3(ctx));
	long *count = map_lookup(&sizes, &slot);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char _license[] SEC("license") = "GPL";
u32 _version SEC("version") = VERSION_4_1;
