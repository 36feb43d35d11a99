/* How long do block requests take?  From start to completion, in a histogram of microseconds by powers of two. */
#include "bpf41.h"

struct bpf_map_def SEC("maps") started = { HASH, sizeof(long), sizeof(u64), 4096 };
struct bpf_map_def SEC("maps") latency = { ARRAY, sizeof(u32), sizeof(u64), 64 };

SEC("kprobe/blk_mq_start_request")
int start(struct pt_regs *ctx)
{
	long request = arg1(ctx);
	u64 now = ktime_ns();

	map_update(&started, &request, &now, ANY);
	return 0;
}

SEC("kprobe/blk_update_request")
int done(struct pt_regs *ctx)
{
	long request = arg1(ctx);
	u64 now = ktime_ns(), *begin, *count;
	u32 slot;

	begin = map_lookup(&started, &request);
	if (!begin)
		return 0;
	slot = log2_of((now - *begin) / 1000);
	map_delete(&started, &request);
	count = map_lookup(&latency, &slot);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char _license[] SEC("license") = "GPL";
u32 _version SEC("version") = VERSION_4_1;
