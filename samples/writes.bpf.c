/*
 * How large are the writes?  A kprobe notes the size asked for, a kretprobe counts what was written, by powers of two.
 * The first failing write of each program is also printed to the trace.
 */
#include "bpf.h"

struct {
	number(type, HASH);
	number(max_entries, 1024);
	type_of(key, u32); /* thread id */
	type_of(value, u64); /* bytes asked for */
} asked SEC(".maps");

struct {
	number(type, ARRAY);
	number(max_entries, 32);
	type_of(key, u32); /* log2 of the size */
	type_of(value, u64); /* how often */
} sizes SEC(".maps");

struct totals {
	u64 writes;
	u64 bytes;
	u64 failed;
};

struct {
	number(type, HASH);
	number(max_entries, 256);
	type_of(key, u32); /* process id */
	type_of(value, struct totals);
} by_process SEC(".maps");

SEC("kprobe/vfs_write")
int write_begins(struct pt_regs *ctx)
{
	u32 tid = current_pid_tgid();
	u64 size = arg3(ctx);

	map_update(&asked, &tid, &size, ANY);
	return 0;
}

SEC("kretprobe/vfs_write")
int write_ends(struct pt_regs *ctx)
{
	u64 id = current_pid_tgid();
	u32 tid = id, pid = id >> 32, slot;
	s64 written = result(ctx);
	struct totals fresh = {}, *all;
	u64 *size, *count;

	size = map_lookup(&asked, &tid);
	if (!size)
		return 0;
	all = map_lookup(&by_process, &pid);
	if (!all) {
		map_update(&by_process, &pid, &fresh, NOEXIST);
		all = map_lookup(&by_process, &pid);
		if (!all)
			return 0;
	}
	__sync_fetch_and_add(&all->writes, 1);
	if (written < 0) {
		__sync_fetch_and_add(&all->failed, 1);
		print("write of %llu bytes: error %d", *size, (int)written);
	} else {
		__sync_fetch_and_add(&all->bytes, written);
		print("wrote %llu of %llu bytes", written, *size);
		slot = log2_of(written) & 31;
		count = map_lookup(&sizes, &slot);
		if (count)
			__sync_fetch_and_add(count, 1);
	}
	map_delete(&asked, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
