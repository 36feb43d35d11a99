/* Programs that come by themselves again: which are not run, and where that is counted (recursion_misses); runs that are counted.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/btf.h>
#include <linux/perf_event.h>

static struct bpf_insn code[60];
static int n;
static long notes, hash;
#define EMIT(...) (code[n++] = __VA_ARGS__)
#define MAP(reg, map) (EMIT(I(BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_MAP_FD, 0, map)), EMIT(I(0, 0, 0, 0, 0)))

/* One more in a row of the notes. */
static void note(int row)
{
	EMIT(I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_VALUE, 0, notes)), EMIT(I(0, 0, 0, 0, 0));
	EMIT(LOAD(2, 1, 8 * row)), EMIT(ADD(2, 1)), EMIT(STORE(1, 2, 8 * row));
}

static void delete(int key)
{
	EMIT(I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, key)), MAP(1, hash), EMIT(MOV(2, 10)), EMIT(ADD(2, -4));
	EMIT(CALL(BPF_FUNC_map_delete_elem));
}

static void update(int key)
{
	EMIT(I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, key)), MAP(1, hash), EMIT(MOV(2, 10)), EMIT(ADD(2, -4)), EMIT(MOV(3, 2)), EMIT(SET(4, 0));
	EMIT(CALL(BPF_FUNC_map_update_elem));
}

static void print(void)
{
	EMIT(I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -8, 'h' | 'i' << 8)), EMIT(MOV(1, 10)), EMIT(ADD(1, -8)), EMIT(SET(2, 3)), EMIT(CALL(BPF_FUNC_trace_printk));
}

static long load(int type, int attach, unsigned target)
{
	static char log[9000];
	EMIT(SET(0, 0)), EMIT(EXIT);
	attr.expected_attach_type = attach, attr.attach_btf_id = target;
	attr.log_level = 1, attr.log_buf = (ulong)log, attr.log_size = sizeof(log);
	long prog = bpf_program(type, code, n);
	if (prog < 0)
		say("%r %s\n", prog, log);
	n = 0;
	return prog;
}

static long traced(int attach, const char *function) { return load(BPF_PROG_TYPE_TRACING, attach, btf_id(function, BTF_KIND_FUNC)); }

static long attached(long prog, const char *name)
{
	attr.raw_tracepoint.prog_fd = prog, attr.raw_tracepoint.name = (ulong)name;
	return bpf(BPF_RAW_TRACEPOINT_OPEN);
}

static void told(const char *what, long prog)
{
	struct bpf_prog_info info = bpf_info(prog);
	say("  %s: %d runs, %d missed, time %d\n", what, (int)info.run_cnt, (int)info.recursion_misses, info.run_time_ns > 0);
}

static void noted(void)
{
	unsigned long long rows[4];
	bpf_element(BPF_MAP_LOOKUP_ELEM, notes, 0, rows);
	say("  noted %d %d %d %d\n", (int)rows[0], (int)rows[1], (int)rows[2], (int)rows[3]);
	memset(rows, 0, sizeof(rows));
	bpf_element(BPF_MAP_UPDATE_ELEM, notes, 0, rows);
}

static void change(int times)
{
	for (int i = 0; i < times; i++) {
		int value = i;
		bpf_element(BPF_MAP_UPDATE_ELEM, hash, i, &value);
		bpf_element(BPF_MAP_DELETE_ELEM, hash, i, 0);
	}
}

static void own_path(int attach, const char *name)
{
	say("%s on deletion, which deletes\n", name);
	note(0), delete(1);
	long prog = traced(attach, "htab_map_delete_elem"), link = attached(prog, 0);
	say("  link %d\n", link >= 0);
	change(3), noted(), told("deletes", prog);
	say("%s deletes twice\n", name);
	note(1), delete(1), delete(2);
	long twice = traced(attach, "htab_map_delete_elem"), second = attached(twice, 0);
	change(2), noted(), told("deletes", prog), told("twice", twice);
	sys(__NR_close, second), sys(__NR_close, link), sys(__NR_close, twice), sys(__NR_close, prog);
	say("%s: deletion updates, updating deletes\n", name);
	note(0), update(5);
	prog = traced(attach, "htab_map_delete_elem"), link = attached(prog, 0);
	note(1), delete(6);
	twice = traced(attach, "htab_map_update_elem"), second = attached(twice, 0);
	change(1), noted(), told("on deletion", prog), told("on updating", twice);
	change(4), noted(), told("on deletion", prog), told("on updating", twice);
	sys(__NR_close, second), sys(__NR_close, link), sys(__NR_close, twice), sys(__NR_close, prog);
}

static void both_ways(void)
{
	say("fentry and fexit on deletion, each deletes\n");
	note(0), delete(1);
	long entry = traced(BPF_TRACE_FENTRY, "htab_map_delete_elem"), first = attached(entry, 0);
	note(1), delete(1);
	long exit = traced(BPF_TRACE_FEXIT, "htab_map_delete_elem"), second = attached(exit, 0);
	change(1), noted(), told("fentry", entry), told("fexit", exit);
	change(2), noted(), told("fentry", entry), told("fexit", exit);
	sys(__NR_close, second), sys(__NR_close, first), sys(__NR_close, exit), sys(__NR_close, entry);
}

static long printer(void) { print(); return load(BPF_PROG_TYPE_SOCKET_FILTER, 0, 0); }

static void printing(void)
{
	char packet[64];
	memset(packet, 0, sizeof(packet));
	long filter = printer();
	say("raw tracepoint of printing, which prints\n");
	note(0), print();
	long prog = load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0), link = attached(prog, "bpf_trace_printk");
	say("  link %d\n", link >= 0);
	for (int round = 0; round < 2; round++) {
		attr.test.prog_fd = filter, attr.test.data_in = (ulong)packet, attr.test.data_size_in = sizeof(packet), attr.test.repeat = 1 + round;
		say("  run %r\n", bpf(BPF_PROG_TEST_RUN));
		noted(), told("prints", prog), told("filter", filter);
	}
	say("and another beside it\n");
	note(1), print();
	long other = load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0), second = attached(other, "bpf_trace_printk");
	attr.test.prog_fd = filter, attr.test.data_in = (ulong)packet, attr.test.data_size_in = sizeof(packet);
	bpf(BPF_PROG_TEST_RUN), noted(), told("prints", prog), told("other", other);
	sys(__NR_close, second), sys(__NR_close, link), sys(__NR_close, prog), sys(__NR_close, other);

	char text[32];
	memset(text, 0, sizeof(text));
	slurp("/sys/kernel/tracing/events/bpf_trace/bpf_trace_printk/id", text, sizeof(text));
	struct perf_event_attr event;
	memset(&event, 0, sizeof(event));
	event.type = PERF_TYPE_TRACEPOINT, event.size = sizeof(event), event.sample_period = 1;
	for (char *at = text; *at >= '0' && *at <= '9'; at++)
		event.config = event.config * 10 + *at - '0';
	say("program of the event of printing, which prints\n");
	note(0), print();
	prog = load(BPF_PROG_TYPE_TRACEPOINT, 0, 0);
	long fd = sys(__NR_perf_event_open, &event, -1, 0, -1, 0);
	say("  set %r\n", sys(__NR_ioctl, fd, PERF_EVENT_IOC_SET_BPF, prog));
	attr.test.prog_fd = filter, attr.test.data_in = (ulong)packet, attr.test.data_size_in = sizeof(packet), attr.test.repeat = 3;
	bpf(BPF_PROG_TEST_RUN), noted(), told("prints", prog), told("filter", filter);
	say("and a raw tracepoint\n");
	note(1), print();
	other = load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0), second = attached(other, "bpf_trace_printk");
	attr.test.prog_fd = filter, attr.test.data_in = (ulong)packet, attr.test.data_size_in = sizeof(packet);
	bpf(BPF_PROG_TEST_RUN), noted(), told("prints", prog), told("other", other);
	sys(__NR_close, second), sys(__NR_close, fd), sys(__NR_close, prog), sys(__NR_close, other), sys(__NR_close, filter);
}

int main(int argc, char **argv)
{
	attr.enable_stats.type = BPF_STATS_RUN_TIME;
	long stats = bpf(BPF_ENABLE_STATS);
	notes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 32, 1, 0), hash = bpf_map(BPF_MAP_TYPE_HASH, 4, 4, 16, 0);
	say("stats %d\n", stats >= 0);
	own_path(BPF_TRACE_FENTRY, "fentry"), own_path(BPF_TRACE_FEXIT, "fexit");
	both_ways();
	printing();
	sys(__NR_close, stats);
	flush();
	return 0;
}
