/* Which maps programs of probes may use, programs that print by types, storages, counters read by programs.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/btf.h>
#include <linux/perf_event.h>

/* int; struct bpf_spin_lock { int val; }; struct { struct bpf_spin_lock; int; }; u64; struct bpf_timer { u64; u64 } as 16 bytes; struct { bpf_timer } */
static long types(void)
{
	static const char names[] = "\0int\0bpf_spin_lock\0val\0bpf_timer\0long\0a\0b\0lock\0t";
	static struct { struct btf_header h; unsigned types[38]; char text[sizeof(names)]; } btf;
	static const unsigned rows[] = {
		1, BTF_KIND_INT << 24, 4, 32,					       /* 1 int */
		5, BTF_KIND_STRUCT << 24 | 1, 4, 19, 1, 0,			       /* 2 bpf_spin_lock */
		0, BTF_KIND_STRUCT << 24 | 2, 8, 42, 2, 0, 40, 1, 32,		       /* 3 */
		33, BTF_KIND_INT << 24, 8, 64,					       /* 4 long */
		23, BTF_KIND_STRUCT << 24 | 2, 16, 38, 4, 0, 40, 4, 64,		       /* 5 bpf_timer */
		0, BTF_KIND_STRUCT << 24 | 1, 16, 47, 5, 0,			       /* 6 */
	};
	btf.h = (struct btf_header){ 0xeb9f, 1, 0, sizeof(btf.h), 0, sizeof(rows), sizeof(btf.types), sizeof(names) };
	memcpy(btf.types, rows, sizeof(rows));
	memcpy(btf.text, names, sizeof(names));
	attr.btf = (ulong)&btf, attr.btf_size = sizeof(btf.h) + sizeof(btf.types) + sizeof(names);
	return bpf(BPF_BTF_LOAD);
}

static long load(int type, const struct bpf_insn *code, int count, int attach, int flags)
{
	attr.prog_type = type, attr.expected_attach_type = attach, attr.prog_flags = flags;
	attr.insns = (ulong)code, attr.insn_cnt = count, attr.license = (ulong)"GPL";
	return bpf(BPF_PROG_LOAD);
}

static void forbidden(void)
{
	long btf = types();
	say("types %r\n", btf < 0 ? btf : 0);
	static const int values[] = { 1, 3, 6 }, sizes[] = { 4, 8, 16 };
	for (int i = 0; i < 3; i++)
		for (int map_type = 1; map_type < 32; map_type++) {
			attr.map_type = map_type, attr.key_size = 4, attr.value_size = sizes[i], attr.max_entries = 1;
			attr.map_flags = map_type == BPF_MAP_TYPE_LPM_TRIE || (map_type > 23 && map_type < 30) ? 1 : 0;
			if (map_type == 27 || map_type == 31)
				attr.key_size = attr.value_size = attr.map_flags = 0, attr.max_entries = 4096;
			else if (map_type == 22 || map_type == 23 || map_type == 30)
				attr.key_size = 0;
			if (map_type == 19 || map_type == 21)
				attr.key_size = 16, attr.max_entries = 0;
			if (map_type == 24 || map_type == 28 || map_type == 29)
				attr.max_entries = 0;
			attr.btf_fd = btf, attr.btf_key_type_id = 1, attr.btf_value_type_id = values[i];
			if (!attr.key_size || map_type == 19 || map_type == 21 || map_type == 11)
				attr.btf_fd = attr.btf_key_type_id = attr.btf_value_type_id = 0;
			long map = bpf(BPF_MAP_CREATE);
			say("value %d map %d: %r", i, map_type, map < 0 ? map : 0);
			if (map >= 0) {
				struct bpf_insn code[] = { I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map), { 0 }, SET(0, 0), EXIT };
				for (int type = 1; type < 33; type++) {
					long prog = load(type, code, 4, 0, type == 31 ? BPF_F_SLEEPABLE : 0);
					if (type == 26 || type == 27 || type == 28 || type == 29)
						continue; /* these want a target */
					say(" %r", prog < 0 ? prog : 0);
					if (prog >= 0)
						sys(__NR_close, prog);
				}
				sys(__NR_close, map);
			}
			say("\n");
		}
}

static long map_of(int type, int key, int value, int entries)
{
	attr.map_type = type, attr.key_size = key, attr.value_size = value, attr.max_entries = entries;
	return bpf(BPF_MAP_CREATE);
}

static unsigned long long words[8];
static void look(long map, const char *what, int show)
{
	unsigned key = 0;
	attr.map_fd = map, attr.key = (ulong)&key, attr.value = (ulong)words;
	bpf(BPF_MAP_LOOKUP_ELEM);
	say("%s:", what);
	for (int i = 0; i < show; i++)
		say(" %r", (long)words[i]);
	say("\n");
}

/* perf_event_read and perf_event_read_value of counters of the machine's own making */
static void counters(void)
{
	long events = map_of(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 4), notes = map_of(BPF_MAP_TYPE_ARRAY, 4, 64, 1);
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(event), .config = PERF_COUNT_SW_DUMMY };
	long dummy = sys(__NR_perf_event_open, &event, -1, 0, -1, 0);
	event.config = PERF_COUNT_SW_CPU_CLOCK;
	long clock = sys(__NR_perf_event_open, &event, -1, 0, -1, 0);
	event.config = PERF_COUNT_SW_BPF_OUTPUT;
	long output = sys(__NR_perf_event_open, &event, -1, 0, -1, 0);
	event.config = PERF_COUNT_SW_DUMMY;
	long mine = sys(__NR_perf_event_open, &event, 0, -1, -1, 0);
	event.type = PERF_TYPE_TRACEPOINT, event.config = 1;
	static char number[16];
	slurp("/sys/kernel/tracing/events/sched/sched_switch/id", number, 16);
	event.config = 0;
	for (char *c = number; *c >= '0' && *c <= '9'; c++)
		event.config = event.config * 10 + *c - '0';
	long point = sys(__NR_perf_event_open, &event, -1, 0, -1, 0);
	long fds[] = { dummy, clock, output, mine, point };
	static const char *const names[] = { "dummy", "clock", "output", "of a task", "tracepoint" };
	for (int i = 0; i < 5; i++) {
		unsigned key = 0, fd = fds[i];
		attr.map_fd = events, attr.key = (ulong)&key, attr.value = (ulong)&fd;
		say("%s: event %d, map %r\n", names[i], fds[i] >= 0, bpf(BPF_MAP_UPDATE_ELEM));
		struct bpf_insn code[] = {
			I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0), MOV(2, 10), ADD(2, -4), I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, notes), { 0 },
			CALL(BPF_FUNC_map_lookup_elem), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), EXIT, MOV(6, 0),
			I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, events), { 0 }, SET(2, 0), CALL(BPF_FUNC_perf_event_read), STORE(6, 0, 0),
			I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, events), { 0 }, SET(2, 0), MOV(3, 6), ADD(3, 16), SET(4, 24),
			CALL(BPF_FUNC_perf_event_read_value), STORE(6, 0, 8), SET(0, 0), EXIT,
		};
		long prog = load(BPF_PROG_TYPE_RAW_TRACEPOINT, code, sizeof(code) / sizeof(*code), 0, 0);
		nap(20);
		attr.test.prog_fd = prog;
		say("run %r\n", prog < 0 ? prog : bpf(BPF_PROG_TEST_RUN));
		look(notes, names[i], 0);
		long read = words[0], value = words[1];
		say("  read %r, value %r, count %s, enabled %s, running %s\n", read > 0 ? 1 : read, value, words[2] ? "some" : "0",
		    words[3] ? "some" : "0", words[4] == words[3] ? "as long" : "less");
	}
}

/* a kprobe attached to what cannot be, and raw tracepoints attached twice */
static void attached(void)
{
	static const struct bpf_insn none[] = { SET(0, 0), EXIT };
	long prog = load(BPF_PROG_TYPE_RAW_TRACEPOINT, none, 2, 0, 0);
	for (int i = 0; i < 3; i++) {
		attr.raw_tracepoint.name = (ulong)(i == 2 ? "sched_wakeup" : "sched_switch"), attr.raw_tracepoint.prog_fd = prog;
		long link = bpf(BPF_RAW_TRACEPOINT_OPEN);
		say("raw %d %r\n", i, link < 0 ? link : 0);
	}
	static const char *const wrong[] = { "nothing_of_it", "", "sys_enter_open" };
	for (int i = 0; i < 3; i++) {
		attr.raw_tracepoint.name = (ulong)wrong[i], attr.raw_tracepoint.prog_fd = prog;
		say("raw '%s' %r\n", wrong[i], bpf(BPF_RAW_TRACEPOINT_OPEN));
	}
	static const struct bpf_insn reads[] = { LOAD(0, 1, 24), SET(0, 0), EXIT };
	for (int i = 0; i < 2; i++) {
		struct bpf_insn code[3];
		memcpy(code, reads, sizeof(code));
		code[0].off = 24 + 8 * i;
		prog = load(BPF_PROG_TYPE_RAW_TRACEPOINT, code, 3, 0, 0);
		attr.raw_tracepoint.name = (ulong)"sched_switch", attr.raw_tracepoint.prog_fd = prog;
		long link = bpf(BPF_RAW_TRACEPOINT_OPEN);
		say("reads argument %d: %r\n", 3 + i, link < 0 ? link : 0);
	}
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(event), .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1000000000 };
	static const int kinds[] = { BPF_PROG_TYPE_KPROBE, BPF_PROG_TYPE_TRACEPOINT, BPF_PROG_TYPE_PERF_EVENT, BPF_PROG_TYPE_SOCKET_FILTER, BPF_PROG_TYPE_XDP };
	for (int i = 0; i < 5; i++) {
		prog = load(kinds[i], none, 2, 0, 0);
		long e = sys(__NR_perf_event_open, &event, -1, 0, -1, 0);
		say("type %d on a clock: %r", kinds[i], sys(__NR_ioctl, e, 0x40042408, prog));
		say(" again %r", sys(__NR_ioctl, e, 0x40042408, prog));
		attr.link_create.prog_fd = prog, attr.link_create.target_fd = e, attr.link_create.attach_type = BPF_PERF_EVENT;
		say(" link %r\n", bpf(BPF_LINK_CREATE));
		sys(__NR_close, e), sys(__NR_close, prog);
	}
	prog = load(BPF_PROG_TYPE_KPROBE, none, 2, 0, BPF_F_SLEEPABLE);
	say("kprobe that sleeps %r\n", prog < 0 ? prog : 0);
	if (prog >= 0) {
		event.type = 6, event.config = 0, event.config1 = (ulong)"do_sys_openat2", event.sample_period = 1;
		long e = sys(__NR_perf_event_open, &event, -1, 0, -1, 0);
		say("event %d", e >= 0);
		say(" on a kprobe %r\n", sys(__NR_ioctl, e, 0x40042408, prog));
	}
	prog = load(BPF_PROG_TYPE_KPROBE, none, 2, BPF_TRACE_KPROBE_MULTI, 0);
	static const char *const symbols[] = { "do_sys_openat2" };
	attr.link_create.prog_fd = prog, attr.link_create.attach_type = BPF_TRACE_KPROBE_MULTI, attr.link_create.kprobe_multi.cnt = 1;
	attr.link_create.kprobe_multi.syms = (ulong)symbols;
	say("kprobe_multi %r\n", bpf(BPF_LINK_CREATE));
}

static void memory(void)
{
	attr.map_type = BPF_MAP_TYPE_RINGBUF, attr.max_entries = 8192;
	long ring = bpf(BPF_MAP_CREATE);
	char *page = map(0, 4096, 3, 1, ring, 0);
	say("consumer page %d\n", !bad(page));
	long grown = sys(__NR_mremap, page, 4096, 8192, 1, 0);
	say("grows %r\n", grown < 0 && grown > -4096 ? grown : 0);
	say("executed %r\n", sys(__NR_mprotect, page, 4096, 7));
	char *data = map(0, 4096, 1, 1, ring, 4096);
	say("producer page %d", !bad(data));
	say(" written %r\n", sys(__NR_mprotect, data, 4096, 3));
	long b = (long)map(0, 4096, 3, 1, ring, 4096);
	say("producer page for writing %r\n", b);
	b = (long)map(0, 8192, 3, 1, ring, 0);
	say("both for writing %r\n", b);
	b = (long)map(0, 5 * 4096 + 4096, 1, 1, ring, 4096);
	say("more than twice %r\n", b);
	attr.map_type = BPF_MAP_TYPE_ARRAY, attr.key_size = 4, attr.value_size = 8, attr.max_entries = 1, attr.map_flags = BPF_F_MMAPABLE;
	long array = bpf(BPF_MAP_CREATE);
	char *area = map(0, 4096, 3, 1, array, 0);
	attr.map_fd = array;
	say("frozen while mapped %r\n", bpf(BPF_MAP_FREEZE));
	say("forked %r", sys(__NR_madvise, area, 4096, 10));
	sys(__NR_munmap, area, 4096);
	attr.map_fd = array;
	say(" frozen %r", bpf(BPF_MAP_FREEZE));
	attr.map_fd = array;
	say(" again %r\n", bpf(BPF_MAP_FREEZE));
	say("mapped for writing %r\n", (long)map(0, 4096, 3, 1, array, 0));
	area = map(0, 4096, 1, 1, array, 0);
	say("for reading %d, then for writing %r\n", !bad(area), sys(__NR_mprotect, area, 4096, 3));
	attr.map_type = BPF_MAP_TYPE_ARRAY, attr.key_size = 4, attr.value_size = 8, attr.max_entries = 1;
	attr.map_flags = BPF_F_MMAPABLE | BPF_F_RDONLY_PROG;
	array = bpf(BPF_MAP_CREATE);
	say("only read by programs %r\n", (long)map(0, 4096, 3, 1, array, 0));
}

int main(int argc, char **argv)
{
	memory();
	attached();
	counters();
	forbidden();
	return 0;
}
