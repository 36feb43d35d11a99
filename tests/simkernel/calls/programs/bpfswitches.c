/*
 * What /proc/sys/kernel/unprivileged_bpf_disabled, bpf_stats_enabled and net/core/bpf_jit_* change: who may load what, what
 * the verifier says to the unprivileged, what programs are made into, what is counted.
 */
/* not: i386: no compiler; s390x: another code */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/filter.h>

#define ADDX(d, s) I(BPF_ALU64 | BPF_ADD | BPF_X, d, s, 0, 0)
#define SUBX(d, s) I(BPF_ALU64 | BPF_SUB | BPF_X, d, s, 0, 0)
#define NEG(d) I(BPF_ALU64 | BPF_NEG, d, 0, 0, 0)
#define STORE_ZERO(d, o) I(BPF_ST | BPF_MEM | BPF_DW, d, 0, o, 0)
#define LOAD_W(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define LOCAL(o) I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, o)
#define JEQ(d, i, o) I(BPF_JMP | BPF_JEQ | BPF_K, d, 0, o, i)
#define JGT(d, i, o) I(BPF_JMP | BPF_JGT | BPF_K, d, 0, o, i)
#define MAP(d, fd) I(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd), I(0, 0, 0, 0, 0)
#define COUNT(a) (int)(sizeof(a) / sizeof(*(a)))

static char text[65536], log_text[65536];
static long array, hash, tails;

static long load(int type, struct bpf_insn *insns, int count, int level)
{
	if (level) {
		attr.log_level = level;
		attr.log_buf = (ulong)log_text;
		attr.log_size = sizeof(log_text);
		log_text[0] = 0;
	}
	return bpf_program(type, insns, count);
}

static void shut(long fd) { if (fd >= 0) sys(__NR_close, fd); }
static const char *made(long fd) { return fd < 0 ? error_name(-fd) : "made"; }

static void set(const char *path, const char *value)
{
	long n = spit(path, value);

	text[slurp(path, text, sizeof(text)) - 1] = 0;
	say("%s <- %s: %r, %s\n", path + strlen("/proc/sys/"), value, n, text);
}

static void logged(const char *what, struct bpf_insn *insns, int count, int level)
{
	long fd = load(BPF_PROG_TYPE_SOCKET_FILTER, insns, count, level);

	say("  %s: %s\n%s", what, made(fd), log_text);
	shut(fd);
}

/* What the caller may do, whoever that is now. */
static void tries(int level)
{
	static struct bpf_insn many[4200];
	struct bpf_insn none[] = { SET(0, 0), EXIT };
	struct bpf_insn leaks[] = { MOV(0, 1), EXIT };
	struct bpf_insn stores[] = { STORE(10, 1, -8), LOAD(0, 10, -8), SET(0, 0), EXIT };
	struct bpf_insn negates[] = { NEG(1), SET(0, 0), EXIT };
	struct bpf_insn compares[] = { SET(0, 0), JEQ(1, 0, 1), SET(0, 1), EXIT };
	struct bpf_insn half[] = { STORE(10, 1, -8), LOAD_W(0, 10, -8), EXIT };
	struct bpf_insn variable[] = { STORE_ZERO(10, -8), LOAD_W(2, 1, 0), I(BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, 4), ADD(2, -8), ADDX(2, 10), LOAD_W(0, 2, 0), EXIT };
	struct bpf_insn scalar_first[] = { SET(0, 1), SUBX(0, 1), EXIT };
	struct bpf_insn loops[] = { SET(0, 0), ADD(0, 1), JGT(0, 3, 1), I(BPF_JMP | BPF_JA, 0, 0, -3, 0), EXIT };
	struct bpf_insn calls[] = { LOCAL(1), EXIT, SET(0, 7), EXIT };
	struct bpf_insn uninit[] = { LOAD(0, 10, -8), EXIT };
	struct bpf_insn prints[] = { STORE_ZERO(10, -8), MOV(1, 10), ADD(1, -8), SET(2, 8), CALL(BPF_FUNC_trace_printk), SET(0, 0), EXIT };
	struct bpf_insn looks[] = { STORE_ZERO(10, -8), MOV(2, 10), ADD(2, -8), MAP(1, array), CALL(BPF_FUNC_map_lookup_elem), JEQ(0, 0, 2),
				    LOAD(1, 0, 0), STORE(0, 10, 0), SET(0, 0), EXIT };
	struct bpf_insn masked[] = { STORE_ZERO(10, -8), MOV(2, 10), ADD(2, -8), MAP(1, array), CALL(BPF_FUNC_map_lookup_elem), JEQ(0, 0, 4),
				     LOAD(1, 0, 0), JGT(1, 8, 2), ADDX(0, 1), LOAD(0, 0, 0), SET(0, 0), EXIT };
	static const int types[] = { BPF_PROG_TYPE_CGROUP_SKB, BPF_PROG_TYPE_KPROBE, BPF_PROG_TYPE_XDP, BPF_PROG_TYPE_SCHED_CLS, BPF_PROG_TYPE_PERF_EVENT };
	static const int maps[] = { BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_PROG_ARRAY, BPF_MAP_TYPE_PERF_EVENT_ARRAY, BPF_MAP_TYPE_PERCPU_HASH,
				    BPF_MAP_TYPE_LRU_HASH, BPF_MAP_TYPE_LPM_TRIE, BPF_MAP_TYPE_STACK_TRACE, BPF_MAP_TYPE_QUEUE };
	long fd = load(BPF_PROG_TYPE_SOCKET_FILTER, none, COUNT(none), 0);
	int i;

	say(" filter %s;", made(fd));
	shut(fd);
	for (i = 0; i < COUNT(types); i++) {
		fd = load(types[i], none, COUNT(none), 0);
		say(" type %d %s;", types[i], made(fd));
		shut(fd);
	}
	say("\n maps");
	for (i = 0; i < COUNT(maps); i++) {
		fd = maps[i] == BPF_MAP_TYPE_QUEUE ? bpf_map(maps[i], 0, 8, 4, 0) : bpf_map(maps[i], 4, maps[i] == BPF_MAP_TYPE_STACK_TRACE ? 80 : maps[i] == BPF_MAP_TYPE_PROG_ARRAY || maps[i] == BPF_MAP_TYPE_PERF_EVENT_ARRAY ? 4 : 8, 4, 0);
		say(" %d %s", maps[i], made(fd));
		shut(fd);
	}
	for (i = 0; i < COUNT(many); i++)
		many[i] = SET(0, 0);
	many[COUNT(many) - 1] = EXIT;
	fd = load(BPF_PROG_TYPE_SOCKET_FILTER, many, COUNT(many), 0);
	say("; 4200 instructions %s", made(fd));
	shut(fd);
	say("; next id %r", bpf(BPF_PROG_GET_NEXT_ID));
	attr.map_fd = array;
	attr.key = (ulong)&i;
	attr.value = (ulong)log_text;
	i = 0;
	say(", lookup %r\n", bpf(BPF_MAP_LOOKUP_ELEM));
	if (!level)
		return;
	logged("none", none, COUNT(none), level);
	logged("leaks", leaks, COUNT(leaks), level);
	logged("stores", stores, COUNT(stores), level);
	logged("negates", negates, COUNT(negates), level);
	logged("compares", compares, COUNT(compares), level);
	logged("half", half, COUNT(half), level);
	logged("variable", variable, COUNT(variable), level);
	logged("scalar first", scalar_first, COUNT(scalar_first), level);
	logged("loops", loops, COUNT(loops), level);
	logged("calls", calls, COUNT(calls), level);
	logged("uninitialized", uninit, COUNT(uninit), level);
	logged("prints", prints, COUNT(prints), level);
	logged("stores a pointer", looks, COUNT(looks), level);
	logged("masked", masked, COUNT(masked), level);
}

static void run(long fd, int times)
{
	static char packet[64];
	long result;

	attr.test.prog_fd = fd;
	attr.test.data_in = (ulong)packet;
	attr.test.data_size_in = sizeof(packet);
	attr.test.repeat = times;
	result = sys(__NR_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr));
	say(" run %r, %d;", result, (int)attr.test.retval);
	memset(&attr, 0, sizeof(attr));
}

static long symbols(void)
{
	long fd = sys(__NR_openat, AT_FDCWD, "/proc/kallsyms", O_RDONLY, 0), n, found = 0;
	static const char name[] = "\t[bpf]\n";
	int at = 0;

	while ((n = sys(__NR_read, fd, text, sizeof(text))) > 0)
		for (long i = 0; i < n; i++) {
			at = text[i] == name[at] ? at + 1 : text[i] == name[0];
			if (at == COUNT(name) - 1)
				found++, at = 0;
		}
	sys(__NR_close, fd);
	return found;
}

static void shape(const char *what, struct bpf_insn *insns, int count, int blinded)
{
	struct bpf_prog_info info;
	long before = symbols(), fd = load(BPF_PROG_TYPE_SCHED_CLS, insns, count, 0);

	say(" %s: %s;", what, made(fd));
	if (fd >= 0) {
		run(fd, 1);
		info = bpf_info(fd);
		if (!blinded) /* with constants in parts it is longer */
			say(" rewritten %d,", (int)info.xlated_prog_len);
		say(" code %s, functions %d, names %l", info.jited_prog_len ? "yes" : "no", (int)info.nr_jited_ksyms, symbols() - before);
	}
	say("\n");
	shut(fd);
}

static void shapes(int blinded)
{
	struct bpf_insn none[] = { SET(0, 3), EXIT };
	struct bpf_insn calls[] = { LOCAL(1), EXIT, SET(0, 7), EXIT };
	struct bpf_insn looks[] = { STORE_ZERO(10, -8), MOV(2, 10), ADD(2, -8), MAP(1, array), CALL(BPF_FUNC_map_lookup_elem), MOV(1, 0),
				    SET(0, 5), JEQ(1, 0, 1), SET(0, 6), EXIT };
	struct bpf_insn hashes[] = { STORE_ZERO(10, -8), MOV(2, 10), ADD(2, -8), MAP(1, hash), CALL(BPF_FUNC_map_lookup_elem), MOV(1, 0),
				     SET(0, 5), JEQ(1, 0, 1), SET(0, 6), EXIT };
	struct bpf_insn tail[] = { MAP(2, tails), SET(3, 1), CALL(BPF_FUNC_tail_call), SET(0, 9), EXIT };
	struct bpf_insn jiffies[] = { CALL(BPF_FUNC_jiffies64), SET(0, 1), EXIT };

	shape("none", none, COUNT(none), blinded);
	shape("calls", calls, COUNT(calls), blinded);
	shape("array", looks, COUNT(looks), blinded);
	shape("hash", hashes, COUNT(hashes), blinded);
	shape("tail call", tail, COUNT(tail), blinded);
	shape("jiffies", jiffies, COUNT(jiffies), blinded);
}

static void counts(long fd)
{
	struct bpf_prog_info info;

	run(fd, 5);
	info = bpf_info(fd);
	say(" run_cnt %l, time %s\n", (long)info.run_cnt, info.run_time_ns ? "yes" : "no");
}

int main(int argc, char **argv)
{
	struct bpf_insn none[] = { SET(0, 3), EXIT };
	long fd, pid;

	array = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 16, 4, 0);
	hash = bpf_map(BPF_MAP_TYPE_HASH, 4, 16, 4, 0);
	tails = bpf_map(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4, 0);
	for (int value = 2; value >= 0; value -= 2) {
		set("/proc/sys/kernel/unprivileged_bpf_disabled", value ? "2" : "0");
		tries(0);
		pid = fork();
		if (!pid) {
			sys(__NR_setresuid, 65534, 65534, 65534);
			say("nobody:");
			tries(value ? 0 : 2);
			leave(0);
		}
		wait_for(pid);
	}
	shapes(0);
	set("/proc/sys/net/core/bpf_jit_harden", "2");
	shapes(1);
	set("/proc/sys/net/core/bpf_jit_harden", "1");
	shapes(0);
	set("/proc/sys/net/core/bpf_jit_harden", "0");
	set("/proc/sys/net/core/bpf_jit_kallsyms", "0");
	shapes(0);
	set("/proc/sys/net/core/bpf_jit_kallsyms", "1");
	fd = load(BPF_PROG_TYPE_SCHED_CLS, none, COUNT(none), 0);
	set("/proc/sys/net/core/bpf_jit_enable", "0");
	shapes(0);
	set("/proc/sys/net/core/bpf_jit_enable", "1");
	counts(fd);
	set("/proc/sys/kernel/bpf_stats_enabled", "1");
	counts(fd);
	set("/proc/sys/kernel/bpf_stats_enabled", "1");
	counts(fd);
	set("/proc/sys/kernel/bpf_stats_enabled", "0");
	counts(fd);
	set("/proc/sys/kernel/unprivileged_bpf_disabled", "1");
	set("/proc/sys/kernel/unprivileged_bpf_disabled", "0");
	return 0;
}
