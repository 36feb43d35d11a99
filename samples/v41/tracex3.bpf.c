/*
 * How long do block requests take?  From start to update, on a logarithmic scale of about ten slots per power of ten:
 * the power of two and 64ths of the way to the next, times 3/64 (ten times log10(2) is 3.01).
 */
#include "bpf41.h"

enum { SLOTS = 100 };

struct bpf_map_def SEC("maps") started = { HASH, sizeof(long), sizeof(u64), 4096 };
struct bpf_map_def SEC("maps") cells = { ARRAY, sizeof(u32), sizeof(u64), SLOTS };

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
	u64 now = ktime_ns(), *begin, *count, delta, power;
	u32 slot;

	begin = map_lookup(&started, &request);
	if (!begin)
		return 0;
	delta = now - *begin;
	power = log2_of(delta);
	slot = (power * 64 + ((delta - (1ull << power)) * 64 >> power)) * 3 / 64;
	if (slot >= SLOTS)
		slot = SLOTS - 1;
	count = map_lookup(&cells, &slot);
	if (count)
		__sync_fetch_and_add(count, 1);
	map_delete(&started, &request);
	return 0;
}

char _license[] SEC("license") = "GPL";
u32 _version SEC("version") = VERSION_4_1;
