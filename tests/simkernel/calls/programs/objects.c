/* Timers in values, rings that user space fills: programs with callbacks.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/btf.h>

static long btf;
static long types(void)
{
	static const char names[] = "\0int\0main\0cb\0long\0bpf_timer\0a\0b\0value\0t\0n";
	enum { INT = 1, MAIN = 5, CB = 10, LONG = 13, TIMER = 18, A = 28, B = 30, VALUE = 32, T = 38, N = 40 };
	static const unsigned rows[] = {
		INT, BTF_KIND_INT << 24, 4, BTF_INT_SIGNED << 24 | 32,	  /* 1 */
		0, BTF_KIND_FUNC_PROTO << 24, 1,			  /* 2 */
		MAIN, BTF_KIND_FUNC << 24 | 1, 2,			  /* 3 */
		CB, BTF_KIND_FUNC << 24, 2,				  /* 4 */
		LONG, BTF_KIND_INT << 24, 8, 64,			  /* 5 */
		TIMER, BTF_KIND_STRUCT << 24 | 2, 16, A, 5, 0, B, 5, 64,  /* 6 */
		VALUE, BTF_KIND_STRUCT << 24 | 2, 24, T, 6, 0, N, 5, 128, /* 7 */
	};
	static struct { struct btf_header h; unsigned types[sizeof(rows) / 4]; char text[sizeof(names)]; } all;
	all.h = (struct btf_header){ 0xeb9f, 1, 0, sizeof(all.h), 0, sizeof(rows), sizeof(all.types), sizeof(names) };
	memcpy(all.types, rows, sizeof(rows));
	memcpy(all.text, names, sizeof(names));
	attr.btf = (ulong)&all, attr.btf_size = sizeof(all.h) + sizeof(all.types) + sizeof(names);
	return bpf(BPF_BTF_LOAD);
}

static struct bpf_insn code[256];
static int count, calls[8], called;
static void emit(struct bpf_insn insn) { code[count++] = insn; }
static void map_in(int reg, long map) { emit(I(BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_MAP_FD, 0, map)); emit(I(0, 0, 0, 0, 0)); }
static void callback_in(int reg) { calls[called++] = count; emit(I(BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_FUNC, 0, 0)); emit(I(0, 0, 0, 0, 0)); }
static void value_in(int reg, long map, int key)
{
	emit(I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, key)), emit(MOV(2, 10)), emit(ADD(2, -4)), map_in(1, map), emit(CALL(BPF_FUNC_map_lookup_elem));
	emit(I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0)), emit(SET(0, 0)), emit(EXIT), emit(MOV(reg, 0));
}
static void begin_code(void) { count = called = 0; }
static long finish(const struct bpf_insn *callback, int length, int type)
{
	struct { unsigned at, type; } functions[2] = { { 0, 3 }, { 0, 4 } };
	emit(SET(0, 0)), emit(EXIT);
	for (int i = 0; i < called; i++)
		code[calls[i]].imm = count - calls[i] - 1;
	functions[1].at = count;
	for (int i = 0; i < length; i++)
		emit(callback[i]);
	attr.prog_type = type, attr.insns = (ulong)code, attr.insn_cnt = count, attr.license = (ulong)"GPL";
	attr.prog_btf_fd = btf, attr.func_info_rec_size = 8, attr.func_info = (ulong)functions, attr.func_info_cnt = called ? 2 : 1;
	if (!called)
		attr.insn_cnt = functions[1].at;
	long fd = bpf(BPF_PROG_LOAD);
	if (fd < 0)
		say("load %r\n", fd);
	return fd;
}

static unsigned char packet[64];
static unsigned long long noted[16];
static long notes;
static long run(long prog)
{
	attr.test.prog_fd = prog, attr.test.data_in = (ulong)packet, attr.test.data_size_in = 64;
	return bpf(BPF_PROG_TEST_RUN);
}
static void show(const char *what, int n)
{
	unsigned key = 0;
	attr.map_fd = notes, attr.key = (ulong)&key, attr.value = (ulong)noted;
	bpf(BPF_MAP_LOOKUP_ELEM);
	say("%s:", what);
	for (int i = 0; i < n; i++)
		say(" %r", (long)noted[i]);
	say("\n");
}

static void timers(const char *steps, int map_type, int wait)
{
	static const struct bpf_insn fired[] = { LOAD(1, 3, 16), ADD(1, 1), STORE(3, 1, 16), SET(0, 0), EXIT };
	attr.map_type = map_type, attr.key_size = 4, attr.value_size = 24, attr.max_entries = 1, attr.btf_fd = btf, attr.btf_key_type_id = 1, attr.btf_value_type_id = 7;
	long map = bpf(BPF_MAP_CREATE);
	if (map < 0) {
		say("%s: map %d %r\n", steps, map_type, map);
		return;
	}
	static unsigned long long value[3];
	unsigned key = 0;
	memset(value, 0, sizeof(value));
	attr.map_fd = map, attr.key = (ulong)&key, attr.value = (ulong)value;
	bpf(BPF_MAP_UPDATE_ELEM);
	begin_code();
	value_in(6, notes, 0), value_in(7, map, 0);
	int n = 0;
	for (const char *s = steps; *s; s++, n++) {
		emit(MOV(1, 7));
		switch (*s) {
		case 'i': map_in(2, map), emit(SET(3, 1)), emit(CALL(BPF_FUNC_timer_init)); break; /* CLOCK_MONOTONIC */
		case 'r': map_in(2, map), emit(SET(3, 0)), emit(CALL(BPF_FUNC_timer_init)); break;
		case 'k': map_in(2, map), emit(SET(3, 3)), emit(CALL(BPF_FUNC_timer_init)); break; /* no such clock */
		case 'g': map_in(2, map), emit(SET(3, 17)), emit(CALL(BPF_FUNC_timer_init)); break;
		case 'c': callback_in(2), emit(CALL(BPF_FUNC_timer_set_callback)); break;
		case 's': emit(SET(2, 10000000)), emit(SET(3, 0)), emit(CALL(BPF_FUNC_timer_start)); break;
		case 'S': emit(SET(2, 2000000000)), emit(SET(3, 0)), emit(CALL(BPF_FUNC_timer_start)); break;
		case 'f': emit(SET(2, 1000000)), emit(SET(3, 4)), emit(CALL(BPF_FUNC_timer_start)); break;
		case 'x': emit(CALL(BPF_FUNC_timer_cancel)); break;
		}
		emit(STORE(6, 0, 8 * n));
	}
	long prog = finish(fired, 5, BPF_PROG_TYPE_SCHED_CLS);
	if (prog < 0)
		return;
	say("type %d ", map_type);
	run(prog);
	show(steps, n);
	if (wait == 2) {
		attr.map_fd = map, attr.key = (ulong)&key;
		say("  deleted %r\n", bpf(BPF_MAP_DELETE_ELEM));
	}
	if (wait == 3)
		sys(__NR_close, prog);
	nap(wait ? 30 : 1);
	memset(value, 0, sizeof(value));
	attr.map_fd = map, attr.key = (ulong)&key, attr.value = (ulong)value;
	say("  fired %r", bpf(BPF_MAP_LOOKUP_ELEM));
	say(" %l timer %l %l\n", (long)value[2], (long)value[0], (long)value[1]);
	sys(__NR_close, map);
}

static void ring(void)
{
	static const struct bpf_insn taken[] = { LOAD(1, 2, 0), ADD(1, 1), STORE(2, 1, 0), SET(0, 0), EXIT };
	static const struct bpf_insn stops[] = { LOAD(1, 2, 0), ADD(1, 1), STORE(2, 1, 0), SET(0, 1), EXIT };
	static const struct bpf_insn wrong[] = { LOAD(1, 2, 0), ADD(1, 1), STORE(2, 1, 0), SET(0, 2), EXIT };
	static const struct bpf_insn reads[] = {
		I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0), MOV(6, 2), MOV(3, 1), MOV(1, 10), ADD(1, -16), SET(2, 8), SET(4, 0), SET(5, 0), CALL(BPF_FUNC_dynptr_read), STORE(6, 0, 0), LOAD(1, 10, -16), STORE(6, 1, 8), SET(0, 0), EXIT,
	};
	attr.map_type = BPF_MAP_TYPE_USER_RINGBUF, attr.max_entries = 4096;
	long map_fd = bpf(BPF_MAP_CREATE);
	unsigned long long *consumer = map(0, 4096, 1, 1, map_fd, 0), *producer = map(0, 3 * 4096, 3, 1, map_fd, 4096);
	char *data = (char *)producer + 4096;
	say("ring %d %d %d\n", map_fd >= 0, !bad(consumer), !bad(producer));
	long progs[6];
	for (int i = 0; i < 6; i++) {
		begin_code();
		value_in(6, notes, 0);
		emit(I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0)), emit(I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0));
		map_in(1, map_fd), callback_in(2), emit(MOV(3, 10)), emit(ADD(3, -16));
		emit(SET(4, i == 3 ? 1 : i == 4 ? 2 : i == 5 ? 4 : 0)), emit(CALL(BPF_FUNC_user_ringbuf_drain));
		emit(STORE(6, 0, 0)), emit(LOAD(1, 10, -16)), emit(STORE(6, 1, 8)), emit(LOAD(1, 10, -8)), emit(STORE(6, 1, 16));
		progs[i] = i == 1 ? finish(stops, 5, BPF_PROG_TYPE_SCHED_CLS) : i == 2 ? finish(reads, 14, BPF_PROG_TYPE_SCHED_CLS) : finish(taken, 5, BPF_PROG_TYPE_SCHED_CLS);
	}
	begin_code();
	value_in(6, notes, 0);
	emit(I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0));
	map_in(1, map_fd), callback_in(2), emit(MOV(3, 10)), emit(ADD(3, -16)), emit(SET(4, 0)), emit(CALL(BPF_FUNC_user_ringbuf_drain));
	say("a callback that answers 2: %d\n", finish(wrong, 5, BPF_PROG_TYPE_SCHED_CLS) >= 0);
	unsigned long long at = 0;
#define POST(length, flags) do { *(unsigned *)(data + (at & 4095)) = (length) | (flags), *(unsigned *)(data + (at & 4095) + 4) = 0; \
	*(unsigned long long *)(data + (at & 4095) + 8) = 0x1111111111111111ULL * (1 + at / 16); at += ((length) + 15) & ~7ull; producer[0] = at; } while (0)
#define DRAIN(i, what) do { if (progs[i] >= 0) { run(progs[i]); show(what, 3); say("  consumer %l\n", (long)consumer[0]); } } while (0)
	DRAIN(0, "empty");
	POST(8, 0); DRAIN(0, "one");
	POST(8, 0); POST(8, 0); POST(4, 0); DRAIN(0, "three");
	POST(8, 0); POST(8, 0); DRAIN(1, "stops");
	DRAIN(0, "the rest");
	POST(8, 0); DRAIN(2, "read");
	POST(8, 0x40000000); POST(8, 0); DRAIN(0, "a discarded one first");
	POST(8, 0x80000000); DRAIN(0, "a busy one");
	*(unsigned *)(data + ((at - 16) & 4095)) = 8; DRAIN(0, "busy no more");
	POST(8, 0); DRAIN(3, "without waking");
	POST(8, 0); DRAIN(4, "waking");
	POST(8, 0); DRAIN(5, "a flag"); DRAIN(0, "then");
	POST(0, 0); DRAIN(0, "an empty one"); DRAIN(2, "read of nothing");
	POST(4, 0); DRAIN(2, "read of too little");
	*(unsigned *)(data + (at & 4095)) = 5000; producer[0] = at + 16; DRAIN(0, "longer than what is there");
	producer[0] = at + 4; DRAIN(0, "a position in the midst");
	producer[0] = at + 8192; DRAIN(0, "a position too far");
	producer[0] = at; DRAIN(0, "as it was");
}

int main(int argc, char **argv)
{
	btf = types();
	say("types %r\n", btf < 0 ? btf : 0);
	attr.map_type = BPF_MAP_TYPE_ARRAY, attr.key_size = 4, attr.value_size = sizeof(noted), attr.max_entries = 1;
	notes = bpf(BPF_MAP_CREATE);
	static const int kinds[] = { BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_LRU_HASH, BPF_MAP_TYPE_PERCPU_ARRAY, BPF_MAP_TYPE_LPM_TRIE };
	for (int k = 0; k < 5; k++) {
		timers("xscfi", kinds[k], 0);
		timers("iicsx", kinds[k], 0);
		timers("ics", kinds[k], 1);
		timers("icSx", kinds[k], 1);
	}
	timers("kgr", BPF_MAP_TYPE_ARRAY, 0);
	timers("is", BPF_MAP_TYPE_ARRAY, 1);
	timers("icf", BPF_MAP_TYPE_ARRAY, 1);
	timers("iccsss", BPF_MAP_TYPE_ARRAY, 1);
	timers("icsxxs", BPF_MAP_TYPE_ARRAY, 1);
	timers("icS", BPF_MAP_TYPE_HASH, 2);
	timers("ics", BPF_MAP_TYPE_HASH, 2);
	timers("ics", BPF_MAP_TYPE_ARRAY, 3);
	ring();
	return 0;
}
