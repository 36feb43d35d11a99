/* Programs of perf events: what they read of their event.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/perf_event.h>

static unsigned long long words[16];
int main(int argc, char **argv)
{
	attr.map_type = BPF_MAP_TYPE_ARRAY, attr.key_size = 4, attr.value_size = sizeof(words), attr.max_entries = 1;
	long notes = bpf(BPF_MAP_CREATE);
	struct bpf_insn code[] = {
		MOV(7, 1), I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0), MOV(2, 10), ADD(2, -4), I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, notes), { 0 },
		CALL(BPF_FUNC_map_lookup_elem), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), EXIT, MOV(6, 0),
		LOAD(1, 6, 0), ADD(1, 1), STORE(6, 1, 0),
		MOV(1, 7), MOV(2, 6), ADD(2, 16), SET(3, 24), CALL(BPF_FUNC_perf_prog_read_value), STORE(6, 0, 8),
		MOV(1, 7), MOV(2, 6), ADD(2, 40), SET(3, 16), CALL(BPF_FUNC_perf_prog_read_value), STORE(6, 0, 64),
		MOV(1, 7), MOV(2, 6), ADD(2, 72), SET(3, 32), CALL(BPF_FUNC_perf_prog_read_value), STORE(6, 0, 112),
		LOAD(1, 7, 168), STORE(6, 1, 104), /* sample_period */
		SET(0, 0), EXIT,
	};
	attr.prog_type = BPF_PROG_TYPE_PERF_EVENT, attr.insns = (ulong)code, attr.insn_cnt = sizeof(code) / sizeof(*code), attr.license = (ulong)"GPL";
	long prog = bpf(BPF_PROG_LOAD);
	say("load %r\n", prog < 0 ? prog : 0);
	static const struct { const char *name; int type, config, period; } events[] = {
		{ "task clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000000 }, { "page faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1 },
		{ "every third", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 3 },
	};
	for (int i = 0; i < 3; i++) {
		unsigned key = 0;
		memset(words, 0, sizeof(words));
		attr.map_fd = notes, attr.key = (ulong)&key, attr.value = (ulong)words;
		bpf(BPF_MAP_UPDATE_ELEM);
		struct perf_event_attr event = { .type = events[i].type, .size = sizeof(event), .config = events[i].config, .sample_period = events[i].period, .disabled = 1 };
		long e = sys(__NR_perf_event_open, &event, 0, -1, -1, 0);
		say("%s: %d", events[i].name, e >= 0);
		say(" program %r\n", sys(__NR_ioctl, e, 0x40042408, prog));
		char *pages = map(0, 9 * 4096, 3, 0x22, -1, 0);
		sys(__NR_ioctl, e, 0x2400, 0);
		if (i == 0)
			for (volatile long n = 0; n < 30000000; n++);
		for (int p = 0; p < 9; p++)
			pages[p * 4096] = 1;
		sys(__NR_ioctl, e, 0x2401, 0);
		attr.map_fd = notes, attr.key = (ulong)&key, attr.value = (ulong)words;
		bpf(BPF_MAP_LOOKUP_ELEM);
		say("  ran %d", words[0] > 0);
		if (i)
			say(" times %l, count %l", (long)words[0], (long)words[2]);
		say(" answers %r %r %r period %l, counted %d enabled %d running as long %d\n", (long)words[1], (long)words[8], (long)words[14], (long)words[13],
		    words[2] > 0, words[3] > 0, words[3] == words[4]);
		say("  cleared %l %l %l %l\n", (long)words[5], (long)words[6], (long)words[9], (long)words[12]);
		sys(__NR_close, e);
	}
	return 0;
}
