/* Stack traces that programs take: every flag, skips, depths, numbers that are taken, maps that are full, other tasks.
 * not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/perf_event.h>

#define ADDRESS(r, fd, kind) I(BPF_LD | BPF_DW, r, kind, 0, fd), I(0, 0, 0, 0, 0)
#define UNLESS(r, i, o) I(BPF_JMP | BPF_JNE | BPF_K, r, 0, o, i)

/* Where the programs and this one meet: one value of an array. */
enum { WHAT, FLAGS, SIZE, RESULT, BUFFER = 32, VALUE = 4096 };
static long shared[VALUE / 8];
static long array, event;
#define FRAMES __attribute__((noinline, optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")))

static char verifier[65536];
static long load(int type, int attach, int btf_id, struct bpf_insn *insns, int count)
{
	attr.expected_attach_type = attach;
	attr.attach_btf_id = btf_id;
	attr.log_buf = (ulong)verifier;
	attr.log_size = sizeof(verifier);
	attr.log_level = 1;
	return bpf_program(type, insns, count);
}
#define LOADED(type, attach, id, insns) load(type, attach, id, insns, sizeof(insns) / sizeof(insns[0]))

/* Innermost first. */
static int signalled; /* the event is that of a signal, which has registers of the kernel */
FRAMES static long first(void) { return signalled ? sys(__NR_kill, sys(__NR_getpid), 17) : sys(__NR_getppid); }
FRAMES static long second(void) { return first() + 1; }
FRAMES __attribute__((used)) long third(void) { return second() + 1; }
FRAMES __attribute__((used)) long other(void) { return first() + 2; }
#define WITHOUT_CALLER(name) __asm__ volatile("push %%rbp\n xor %%ebp,%%ebp\n call " name "\n pop %%rbp" \
	::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory")

static long ask(int what, long flags, long size, int deep)
{
	memset(shared, 0x55, sizeof(shared));
	shared[WHAT] = what;
	shared[FLAGS] = flags;
	shared[SIZE] = size;
	shared[RESULT] = -1000;
	bpf_element(BPF_MAP_UPDATE_ELEM, array, 0, shared);
	if (deep)
		WITHOUT_CALLER("third");
	else
		WITHOUT_CALLER("other");
	bpf_element(BPF_MAP_LOOKUP_ELEM, array, 0, shared);
	return (long)(int)shared[RESULT];
}

static void attach(long program)
{
	static char text[64];
	struct perf_event_attr it;

	slurp(signalled ? "/sys/kernel/tracing/events/signal/signal_generate/id" : "/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id",
	      text, sizeof(text));
	memset(&it, 0, sizeof(it));
	it.type = PERF_TYPE_TRACEPOINT;
	it.size = sizeof(it);
	for (char *at = text; *at >= '0' && *at <= '9'; at++)
		it.config = it.config * 10 + *at - '0';
	event = sys(__NR_perf_event_open, &it, 0, -1, -1, 0);
	long set = sys(__NR_ioctl, event, PERF_EVENT_IOC_SET_BPF, program), on = sys(__NR_ioctl, event, PERF_EVENT_IOC_ENABLE, 0);
	if (event < 0 || program < 0 || set || on)
		say("event %r program %r set %r on %r\n%s", event < 0 ? event : 0, program < 0 ? program : 0, set, on, program < 0 ? verifier : "");
}

static void detach(long program)
{
	sys(__NR_close, event);
	sys(__NR_close, program);
}

/* One that puts stacks into a map. */
static long putter(long stacks)
{
	struct bpf_insn insns[] = {
		MOV(7, 1), ADDRESS(6, array, BPF_PSEUDO_MAP_VALUE), ADDRESS(2, stacks, BPF_PSEUDO_MAP_FD), LOAD(3, 6, FLAGS * 8),
		MOV(1, 7), CALL(BPF_FUNC_get_stackid), STORE(6, 0, RESULT * 8), SET(0, 0), EXIT,
	};
	return LOADED(BPF_PROG_TYPE_TRACEPOINT, 0, 0, insns);
}

/* One that takes them into a buffer; of the current task if WHAT says so. */
static long taker(void)
{
	struct bpf_insn insns[] = {
		MOV(7, 1), ADDRESS(6, array, BPF_PSEUDO_MAP_VALUE), LOAD(1, 6, WHAT * 8), UNLESS(1, 0, 8),
		MOV(1, 7), MOV(2, 6), ADD(2, BUFFER * 8), LOAD(3, 6, SIZE * 8), AND(3, 1023), LOAD(4, 6, FLAGS * 8),
		CALL(BPF_FUNC_get_stack), I(BPF_JMP | BPF_JA, 0, 0, 8, 0),
		CALL(BPF_FUNC_get_current_task_btf), MOV(1, 0), MOV(2, 6), ADD(2, BUFFER * 8), LOAD(3, 6, SIZE * 8), AND(3, 1023),
		LOAD(4, 6, FLAGS * 8), CALL(BPF_FUNC_get_task_stack), STORE(6, 0, RESULT * 8), SET(0, 0), EXIT,
	};
	return LOADED(BPF_PROG_TYPE_TRACEPOINT, 0, 0, insns);
}

static void entries(const unsigned char *at, long n, int size)
{
	for (long i = 0; i < n; i++) {
		const unsigned char *one = at + i * size;
		if (size == 32) {
			say(" %d", *(int *)one);
			one += 24;
		}
		say(" %x", *(long *)one);
	}
}

static void stored(const char *name, int value_size, int max, int flags)
{
	static const long bits[] = { 0, 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1L << 13, 1L << 32, 1L << 63, 3 << 8, 7 << 8, 0xf00, 0x500 };
	static unsigned char value[1024];
	long stacks = bpf_map(BPF_MAP_TYPE_STACK_TRACE, 4, value_size, max, flags), program, got;

	say("-- %s%s: %d bytes, %d entries %r\n", name, signalled ? " at a signal" : "", value_size, max, stacks < 0 ? stacks : 0);
	if (stacks < 0)
		return;
	program = putter(stacks);
	attach(program);
	for (unsigned i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		got = ask(0, bits[i], 0, 1);
		if (bits[i] & 1 << 8 || got <= 0)
			say("flags %x: %r", bits[i], got);
		else
			say("flags %x: stored", bits[i]);
		if (got >= 0) {
			memset(value, 0x77, sizeof(value));
			say(" lookup %r", bpf_element(BPF_MAP_LOOKUP_ELEM, stacks, got, value));
			if (bits[i] & 1 << 8)
				entries(value, value_size / (flags ? 32 : 8) < 8 ? value_size / (flags ? 32 : 8) : 8, flags ? 32 : 8);
			else
				say(" of the kernel %d", *(long *)(value + (flags ? 24 : 0)) < 0);
			if (bits[i] & 1 << 8)
				say(" and again %d", ask(0, bits[i], 0, 1) == got);
			say(" delete %r", bpf_element(BPF_MAP_DELETE_ELEM, stacks, got, 0));
			say(" %r", bpf_element(BPF_MAP_DELETE_ELEM, stacks, got, 0));
		}
		say("\n");
	}
	for (int skip = 0; skip < 8; skip++) {
		got = ask(0, 0x100 | skip, 0, 1);
		say("skip %d: %r", skip, got);
		if (got >= 0) {
			memset(value, 0x77, sizeof(value));
			bpf_element(BPF_MAP_LOOKUP_ELEM, stacks, got, value);
			entries(value, value_size / (flags ? 32 : 8) < 8 ? value_size / (flags ? 32 : 8) : 8, flags ? 32 : 8);
		}
		say("\n");
	}
	say("skip more: %r", ask(0, 0x17f, 0, 1));
	say(" %r", ask(0, 0x1ff, 0, 1));
	say(" %r\n", ask(0, 0xff, 0, 1));
	detach(program);
	sys(__NR_close, stacks);
}

/* Different stacks where there is room for few. */
static void crowded(int max, int flags)
{
	long stacks = bpf_map(BPF_MAP_TYPE_STACK_TRACE, 4, 32, max, flags), program = putter(stacks);
	static const long more[] = { 0, 1 << 9, 1 << 10, 3 << 9 };
	unsigned next = 0, key = 0;

	say("-- room for %d%s\n", max, flags ? ", build ids" : "");
	attach(program);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 4; i++) {
			say("flags %x:", more[i]);
			for (int skip = 0; skip < 4; skip++)
				say(" %r", ask(0, 0x100 | more[i] | skip, 0, skip != 3));
			for (int deep = 0; deep < 2; deep++)
				say(" %r", ask(0, 0x100 | more[i], 0, deep));
			say("\n");
		}
		say("keys:");
		for (long got = 0, first = 1; first || !got; first = 0, key = next) {
			attr.map_fd = stacks;
			attr.key = first ? 0 : (ulong)&key;
			attr.next_key = (ulong)&next;
			got = bpf(BPF_MAP_GET_NEXT_KEY);
			if (got)
				break;
			say(" %d", (int)next);
		}
		say(" delete %r\n", bpf_element(BPF_MAP_DELETE_ELEM, stacks, next, 0));
	}
	say("out of it: lookup %r delete %r update %r\n", bpf_element(BPF_MAP_LOOKUP_ELEM, stacks, 1000000, shared),
	    bpf_element(BPF_MAP_DELETE_ELEM, stacks, 1000000, 0), bpf_element(BPF_MAP_UPDATE_ELEM, stacks, 0, shared));
	detach(program);
	sys(__NR_close, stacks);
}

static void taken(void)
{
	static const long bits[] = { 0, 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1L << 32, 9 << 8, 0x102, 0x902, 0x107, 0x1ff, 0xff };
	static const int sizes[] = { 0, 1, 7, 8, 16, 24, 32, 40, 64, 96, 256, 1016 };
	long program = taker();

	attach(program);
	for (int what = 0; what < 2; what++) {
		say("-- %s, %s\n", what ? "of the current task" : "of the event", signalled ? "at a signal" : "at a call");
		for (unsigned i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
			for (unsigned j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
				long got = ask(what, bits[i], sizes[j], 1), n = sizes[j];
				unsigned char *buffer = (unsigned char *)(shared + BUFFER);

				say("flags %x size %d: ", bits[i], sizes[j]);
				if (!(bits[i] & 1 << 8) && got > 0) {
					if (n > 8)
						say("some, of the kernel %d\n", *(long *)buffer < 0);
					else
						say("%r, of the kernel %d\n", got, *(long *)buffer < 0);
					continue;
				}
				say("%r", got);
				if (got > 0)
					entries(buffer, got / (bits[i] & 1 << 11 ? 32 : 8), bits[i] & 1 << 11 ? 32 : 8);
				long zeros = 0;
				for (long k = got > 0 ? got : 0; k < n; k++)
					zeros += !buffer[k];
				say(" zeros %l behind %x\n", zeros, (long)buffer[n]);
			}
		}
	}
	detach(program);
}

/* ---- other tasks ---- */

static char types[8 << 20];
static long btf_id(const char *name)
{
	long id = 1;
	slurp("/sys/kernel/btf/vmlinux", types, sizeof(types));
	unsigned *header = (unsigned *)types, *at = (unsigned *)(types + header[1] + header[2]);
	unsigned *end = (unsigned *)((char *)at + header[3]);
	const char *strings = types + header[1] + header[4];

	for (; at < end; id++) {
		unsigned kind = at[1] >> 24 & 31, members = at[1] & 0xffff, extra = 0;

		if (kind == 12 && streq(strings + at[0], name)) /* a function */
			return id;
		switch (kind) {
		case 1: case 14: case 17: extra = 1; break;
		case 3: extra = 3; break;
		case 4: case 5: case 19: case 15: extra = 3 * members; break;
		case 6: case 13: extra = 2 * members; break;
		}
		at += 3 + extra;
	}
	return 0;
}

static void tasks(void)
{
	static const long bits[] = { 0, 1 << 8, 9 << 8, 1 << 11, 1 << 9, 0xff, 0x1ff };
	static const int sizes[] = { 0, 4, 8, 64 };
	struct bpf_insn insns[] = { /* the iterator's context: meta, task */
		ADDRESS(6, array, BPF_PSEUDO_MAP_VALUE), LOAD(7, 1, 8), I(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 9, 0), MOV(1, 7), MOV(2, 6), ADD(2, BUFFER * 8), LOAD(3, 6, SIZE * 8), AND(3, 1023),
		LOAD(4, 6, FLAGS * 8), CALL(BPF_FUNC_get_task_stack), STORE(6, 0, RESULT * 8), SET(0, 0), SET(0, 0), EXIT,
	};
	long id = btf_id("bpf_iter_task"), program = LOADED(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, id, insns), link, fd, child;
	int pipes[2];
	char byte;

	if (program < 0)
		say("%r %s\n", program, verifier);
	sys(__NR_pipe2, pipes, 0);
	child = fork();
	if (!child) {
		sys(__NR_read, pipes[0], &byte, 1);
		leave(0);
	}
	nap(20);
	long who[] = { 2, child, sys(__NR_getpid) };
	static const char *const names[] = { "a kernel thread", "a task that waits", "the one that asks" };
	for (int i = 0; i < 3; i++) {
		struct { unsigned tid, pid, pid_fd, pad; } of = { who[i], 0, 0, 0 };

		attr.link_create.prog_fd = program;
		attr.link_create.attach_type = BPF_TRACE_ITER;
		attr.link_create.iter_info = (ulong)&of;
		attr.link_create.iter_info_len = 12;
		link = bpf(BPF_LINK_CREATE);
		say("-- %s %r\n", names[i], link < 0 ? link : 0);
		for (unsigned j = 0; j < 7; j++) {
			for (unsigned k = 0; k < 4; k++) {
				memset(shared, 0x55, sizeof(shared));
				shared[FLAGS] = bits[j];
				shared[SIZE] = sizes[k];
				bpf_element(BPF_MAP_UPDATE_ELEM, array, 0, shared);
				attr.iter_create.link_fd = link;
				fd = bpf(BPF_ITER_CREATE);
				long got = sys(__NR_read, fd, types, 100);
				bpf_element(BPF_MAP_LOOKUP_ELEM, array, 0, shared);
				long result = (int)shared[RESULT], first = shared[BUFFER];
				say("flags %x size %d: read %r", bits[j], sizes[k], got);
				if (result > 8)
					say(" some");
				else
					say(" %r", result);
				say(" first %s\n", first == 0x5555555555555555 ? "untouched" : first < 0 ? "of the kernel" : first ? "of the user" : "0");
				sys(__NR_close, fd);
			}
		}
		sys(__NR_close, link);
	}
	sys(__NR_write, pipes[1], "x", 1);
	wait_for(child);
}

int main(int argc, char **argv)
{
	array = bpf_map(BPF_MAP_TYPE_ARRAY, 4, VALUE, 1, 0);
	stored("addresses", 64, 100, 0);
	stored("one address", 8, 100, 0);
	stored("three addresses", 24, 1, 0);
	stored("deep", 127 * 8, 16, 0);
	stored("too deep", 128 * 8, 16, 0);
	stored("build ids", 128, 100, BPF_F_STACK_BUILD_ID);
	stored("odd build ids", 40, 100, BPF_F_STACK_BUILD_ID);
	crowded(1, 0);
	crowded(2, 0);
	crowded(3, 0);
	crowded(4, 0);
	crowded(1, BPF_F_STACK_BUILD_ID);
	crowded(3, BPF_F_STACK_BUILD_ID);
	taken();
	signalled = 1;
	stored("addresses", 64, 100, 0);
	stored("build ids", 128, 100, BPF_F_STACK_BUILD_ID);
	taken();
	tasks();
	return 0;
}
