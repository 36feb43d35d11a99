/* User probes: arguments and results of a function of the server, and how long each call takes. */
#include "bpf.h"

struct call {
	u64 request;
	u64 begin;
};

struct {
	number(type, HASH);
	number(max_entries, 256);
	type_of(key, u32); /* thread id */
	type_of(value, struct call);
} running SEC(".maps");

struct {
	number(type, HASH);
	number(max_entries, 256);
	type_of(key, u64); /* result: 200, 404 */
	type_of(value, u64);
} results SEC(".maps");

u64 calls, longest_ns, longest_request;

SEC("uprobe//samples/server:answer")
int answer_begins(struct pt_regs *ctx)
{
	u32 tid = current_pid_tgid();
	struct call call = { arg1(ctx), ktime_ns() };

	map_update(&running, &tid, &call, ANY);
	__sync_fetch_and_add(&calls, 1);
	return 0;
}

SEC("uretprobe//samples/server:answer")
int answer_ends(struct pt_regs *ctx)
{
	u64 status = result(ctx), one = 1, *count, took;
	u32 tid = current_pid_tgid();
	struct call *call = map_lookup(&running, &tid);

	count = map_lookup(&results, &status);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		map_update(&results, &status, &one, ANY);
	if (!call)
		return 0;
	took = ktime_ns() - call->begin;
	if (took > longest_ns) {
		longest_ns = took;
		longest_request = call->request;
	}
	map_delete(&running, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
