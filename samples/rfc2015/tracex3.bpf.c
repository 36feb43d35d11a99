/*
 * How long do block requests take?  The first hundred tell the average; from then on latencies from 0 to twice the average
 * are counted in 32 slots, and what is longer is noted as missed, so that the user side may move the range.
 */
#include "bpf2015.h"

enum { SLOTS = 32, SAMPLES = 100 };

struct globals {
	u64 lat_ave; /* microseconds; 0 while learning */
	u64 lat_sum;
	u64 missed;
	u64 max_lat;
	int num_samples;
};

struct bpf_map_def SEC("maps") started = { HASH, sizeof(long), sizeof(u64), 4096 };
struct bpf_map_def SEC("maps") globals = { ARRAY, sizeof(u32), sizeof(struct globals), 1 };
struct bpf_map_def SEC("maps") cells = { ARRAY, sizeof(u32), sizeof(u64), SLOTS };

SEC("events/block/block_rq_issue")
int issue(struct bpf_context *ctx)
{
	long request = ctx->arg2;
	u64 now = ktime_2015();

	map_update(&started, &request, &now, ANY);
	return 0;
}

SEC("events/block/block_rq_complete")
int complete(struct bpf_context *ctx)
{
	long request = ctx->arg2;
	u64 now = ktime_2015(), *begin, *count, delta;
	struct globals *g;
	u32 zero = 0, slot;

	begin = map_lookup(&started, &request);
	if (!begin)
		return 0;
	delta = (now - *begin) / 1000;
	map_delete(&started, &request);
	g = map_lookup(&globals, &zero);
	if (!g)
		return 0;
	if (g->lat_ave == 0) {
		g->num_samples++;
		g->lat_sum += delta;
		if (g->num_samples >= SAMPLES)
			g->lat_ave = g->lat_sum / SAMPLES;
		return 0;
	}
	if (delta > 2 * g->lat_ave) {
		g->missed++;
		if (delta > g->max_lat)
			g->max_lat = delta;
		return 0;
	}
	slot = delta * SLOTS / (2 * g->lat_ave);
	count = map_lookup(&cells, &slot);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char _license[] SEC("license") = "GPL";
