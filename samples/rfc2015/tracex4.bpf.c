/* How large are writes?  As tracex2, by a kprobe event: registers instead of arguments. */
#include "bpf2015.h"

struct bpf_map_def SEC("maps") sizes = { ARRAY, sizeof(u32), sizeof(long), 64 };

SEC("events/kprobes/sys_write")
int size(struct pt_regs *ctx)
{
	u64 count_written = arg3(ctx);
	u32 slot = count_written ? log2_of(count_written) : -1;
	long *count = map_lookup(&sizes, &slot);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char _license[] SEC("license") = "GPL";
