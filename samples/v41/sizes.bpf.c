/* How large are writes?  The smallest kprobe program that depends on struct pt_regs, for all six architectures. */
#include "bpf41.h"

struct bpf_map_def SEC("maps") sizes = { ARRAY, sizeof(u32), sizeof(long), 64 };

SEC("kprobe/vfs_write")
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
