/* Static probes: how many requests does each route of the server get, and how long do they take? */
#include "usdt.h"

struct route {
	char name[16];
};

struct {
	number(type, HASH);
	number(max_entries, 64);
	type_of(key, struct route);
	type_of(value, u64);
} requests SEC(".maps");

struct {
	number(type, HASH);
	number(max_entries, 1024);
	type_of(key, u64); /* number of the request */
	type_of(value, u64); /* when it began */
} begun SEC(".maps");

struct {
	number(type, ARRAY);
	number(max_entries, 40);
	type_of(key, u32); /* log2 of nanoseconds */
	type_of(value, u64);
} latency SEC(".maps");

u64 missing;

SEC("usdt//samples/server:server:request")
int request(struct pt_regs *ctx)
{
	u64 number_of_request = usdt_argument(ctx, 0), now = ktime_ns(), one = 1, *count;
	struct route route = {};

	probe_read_user_str(route.name, sizeof(route.name), (void *)usdt_argument(ctx, 1));
	count = map_lookup(&requests, &route);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		map_update(&requests, &route, &one, ANY);
	map_update(&begun, &number_of_request, &now, ANY);
	return 0;
}

SEC("usdt//samples/server:server:answer")
int answered(struct pt_regs *ctx)
{
	u64 number_of_request = usdt_argument(ctx, 0), now = ktime_ns(), *begin, *count;
	u32 slot;

	if (usdt_argument(ctx, 2) == 404)
		__sync_fetch_and_add(&missing, 1);
	begin = map_lookup(&begun, &number_of_request);
	if (!begin)
		return 0;
	slot = log2_of(now - *begin);
	map_delete(&begun, &number_of_request);
	count = map_lookup(&latency, &slot);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
