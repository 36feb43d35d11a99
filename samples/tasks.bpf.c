/*
 * CO-RE: who is switched to on each CPU, and whose child is it?  The structures name only the members we read; the loader
 * finds their places in the running kernel.  `state` became `__state` in 5.14: the program asks which one there is.
 */
#include "bpf.h"

#define relocatable __attribute__((preserve_access_index))

struct task_struct {
	int pid;
	int tgid;
	struct task_struct *real_parent;
	char comm[16];
	unsigned int __state;
} relocatable;

struct task_struct___before_5_14 {
	long state;
} relocatable;

static long (*const probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;

struct who {
	u32 pid;
	u32 parent;
	char comm[16];
};
struct counts {
	u64 switches;
	u64 preempted;
};

struct {
	number(type, HASH);
	number(max_entries, 1024);
	type_of(key, struct who);
	type_of(value, struct counts);
} switches SEC(".maps");

#define READ(to, from) probe_read_kernel(&(to), sizeof(to), __builtin_preserve_access_index(&(from)))

inlined u32 state_of(struct task_struct *task)
{
	if (__builtin_preserve_field_info(task->__state, 2)) {
		u32 state = 0;
		READ(state, task->__state);
		return state;
	} else {
		struct task_struct___before_5_14 *old = (void *)task;
		long state = 0;
		READ(state, old->state);
		return state;
	}
}

/* Arguments of the tracepoint: preempt, the task that goes, the task that comes. */
SEC("raw_tp/sched_switch")
int switched(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2], *parent = 0;
	struct counts fresh = {}, *counts;
	struct who who = {};

	READ(who.pid, next->pid);
	READ(parent, next->real_parent);
	READ(who.parent, parent->tgid);
	READ(who.comm, next->comm);
	counts = map_lookup(&switches, &who);
	if (!counts) {
		map_update(&switches, &who, &fresh, NOEXIST);
		counts = map_lookup(&switches, &who);
		if (!counts)
			return 0;
	}
	__sync_fetch_and_add(&counts->switches, 1);
	if (state_of(prev) == 0)
		__sync_fetch_and_add(&counts->preempted, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
