/* Which system calls does each program make, and how long do they take?  Two tracepoints and two hash maps. */
#include "bpf.h"

struct enter {
	u64 common;
	long id;
	unsigned long args[6];
};
struct leave {
	u64 common;
	long id;
	long ret;
};

struct call {
	u32 pid;
	u32 id;
};
struct cost {
	u64 count;
	u64 errors;
	u64 ns;
};

struct {
	number(type, HASH);
	number(max_entries, 4096);
	type_of(key, u32);
	type_of(value, u64);
} started SEC(".maps");

struct {
	number(type, HASH);
	number(max_entries, 4096);
	type_of(key, struct call);
	type_of(value, struct cost);
} calls SEC(".maps");

SEC("tracepoint/raw_syscalls/sys_enter")
int enters(struct enter *ctx)
{
	u32 tid = current_pid_tgid();
	u64 now = ktime_ns();

	map_update(&started, &tid, &now, ANY);
	return 0;
}

SEC("tracepoint/raw_syscalls/sys_exit")
int leaves(struct leave *ctx)
{
	u64 id = current_pid_tgid(), now = ktime_ns(), *begin;
	u32 tid = id;
	struct call key = { id >> 32, ctx->id };
	struct cost fresh = {}, *cost;

	begin = map_lookup(&started, &tid);
	if (!begin)
		return 0;
	cost = map_lookup(&calls, &key);
	if (!cost) {
		map_update(&calls, &key, &fresh, NOEXIST);
		cost = map_lookup(&calls, &key);
		if (!cost)
			return 0;
	}
	__sync_fetch_and_add(&cost->count, 1);
	__sync_fetch_and_add(&cost->ns, now - *begin);
	if (ctx->ret < 0)
		__sync_fetch_and_add(&cost->errors, 1);
	map_delete(&started, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
