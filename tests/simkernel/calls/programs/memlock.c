/* What maps and programs are said to take (fdinfo's memlock): every type of map, sizes at the edges, programs of one page and more, runs that were missed.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/btf.h>

/* The row of fdinfo that is called so, or -1. */
static long long row(long fd, const char *name)
{
	static char text[4096];
	char path[64] = "/proc/self/fdinfo/", digits[8], *p = path + 18;
	int n = 0;
	do digits[n++] = '0' + fd % 10; while (fd /= 10);
	while (n) *p++ = digits[--n];
	*p = 0;
	slurp(path, text, sizeof(text));
	for (char *at = text; *at;) {
		if (!memcmp(at, name, strlen(name)) && at[strlen(name)] == ':') {
			long long value = 0;
			for (at += strlen(name) + 2; *at >= '0' && *at <= '9'; at++)
				value = value * 10 + *at - '0';
			return value;
		}
		while (*at && *at != '\n') at++;
		at += *at != 0;
	}
	return -1;
}

static void charge(int type, int key, int value, int entries, int flags)
{
	static long inner;
	if (!inner)
		inner = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	attr.inner_map_fd = type == BPF_MAP_TYPE_ARRAY_OF_MAPS || type == BPF_MAP_TYPE_HASH_OF_MAPS ? inner : 0;
	long fd = bpf_map(type, key, value, entries, flags);
	say("type %d key %d value %d entries %d flags %x: ", type, key, value, entries, (long)flags);
	if (fd < 0) {
		say("%r\n", fd);
		return;
	}
	say("%L\n", row(fd, "memlock"));
	sys(__NR_close, fd);
}

static void maps(void)
{
	static const int sizes[][3] = { { 4, 4, 1 }, { 4, 8, 1 }, { 4, 1, 512 }, { 4, 1, 513 }, { 4, 4, 512 }, { 4, 4, 513 }, { 1, 1, 512 }, { 8, 9, 100 }, { 4, 300, 77 }, { 12, 5, 4096 } };
	for (int type = 1; type <= BPF_MAP_TYPE_USER_RINGBUF; type++)
		for (int i = 0; i < (int)(sizeof(sizes) / sizeof(*sizes)); i++)
			charge(type, sizes[i][0], sizes[i][1], sizes[i][2], 0);
	charge(BPF_MAP_TYPE_HASH, 4, 4, 1000, BPF_F_NO_PREALLOC);
	charge(BPF_MAP_TYPE_PERCPU_HASH, 4, 4, 1000, BPF_F_NO_PREALLOC);
	charge(BPF_MAP_TYPE_HASH_OF_MAPS, 4, 4, 1000, BPF_F_NO_PREALLOC);
	charge(BPF_MAP_TYPE_LRU_HASH, 4, 4, 1000, BPF_F_NO_COMMON_LRU);
	charge(BPF_MAP_TYPE_LRU_PERCPU_HASH, 4, 4, 1000, BPF_F_NO_COMMON_LRU);
	charge(BPF_MAP_TYPE_LPM_TRIE, 5, 4, 1000, BPF_F_NO_PREALLOC);
	charge(BPF_MAP_TYPE_LPM_TRIE, 8, 9, 1000, BPF_F_NO_PREALLOC);
	charge(BPF_MAP_TYPE_ARRAY, 4, 5, 1000, BPF_F_MMAPABLE);
	charge(BPF_MAP_TYPE_ARRAY, 4, 4096, 1000, BPF_F_MMAPABLE);
	charge(BPF_MAP_TYPE_ARRAY, 4, 5, 1000, BPF_F_INNER_MAP);
	charge(BPF_MAP_TYPE_QUEUE, 0, 5, 1000, 0);
	charge(BPF_MAP_TYPE_STACK, 0, 5, 1000, 0);
	charge(BPF_MAP_TYPE_BLOOM_FILTER, 0, 5, 1000, 0);
	charge(BPF_MAP_TYPE_RINGBUF, 0, 0, 4096, 0);
	charge(BPF_MAP_TYPE_RINGBUF, 0, 0, 65536, 0);
	charge(BPF_MAP_TYPE_USER_RINGBUF, 0, 0, 8192, 0);
	charge(BPF_MAP_TYPE_STACK_TRACE, 4, 8 * 127, 1000, 0);
	charge(BPF_MAP_TYPE_STACK_TRACE, 4, 8, 1001, 0);
	charge(BPF_MAP_TYPE_DEVMAP, 4, 8, 100, 0);
	charge(BPF_MAP_TYPE_DEVMAP_HASH, 4, 8, 1000, 0);
	charge(BPF_MAP_TYPE_CPUMAP, 4, 8, 600, 0);
	charge(BPF_MAP_TYPE_CGROUP_STORAGE, 8, 40, 0, 0);
	charge(BPF_MAP_TYPE_CGROUP_STORAGE, 16, 40, 0, 0);
	charge(BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE, 16, 40, 0, 0);
	charge(BPF_MAP_TYPE_REUSEPORT_SOCKARRAY, 4, 8, 1000, 0);
}

/* A program of so many instructions, of which `wide` are calls that are rewritten into more, and `dead` never run. */
static void program(int count, int wide, int dead)
{
	static struct bpf_insn code[5000];
	int n = 0;
	if (dead) {
		code[n++] = SET(0, 0), code[n++] = I(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, dead, 0);
		for (int i = 0; i < dead; i++)
			code[n++] = SET(0, 1);
	}
	for (int i = 0; i < wide; i++)
		code[n++] = CALL(BPF_FUNC_jiffies64);
	while (n < count - 1)
		code[n++] = SET(0, 0);
	code[n++] = EXIT;
	long fd = bpf_program(BPF_PROG_TYPE_SOCKET_FILTER, code, n);
	say("%d instructions, %d calls, %d dead: ", count, wide, dead);
	if (fd < 0)
		say("%r\n", fd);
	else {
		say("memlock %L verified %L", row(fd, "memlock"), row(fd, "verified_insns"));
		struct bpf_prog_info info = bpf_info(fd);
		say(" length %d\n", info.xlated_prog_len);
		sys(__NR_close, fd);
	}
}

static void programs(void)
{
	static const int counts[] = { 2, 400, 501, 502, 503, 504, 505, 510, 511, 512, 513, 1013, 1014, 1015, 1016, 1017, 1024, 1025, 4000, 4096 };
	for (int i = 0; i < (int)(sizeof(counts) / sizeof(*counts)); i++)
		program(counts[i], 0, 0);
	program(400, 51, 0), program(400, 52, 0), program(400, 120, 0), program(500, 2, 0);
	program(503, 0, 10), program(504, 0, 10), program(1015, 0, 600), program(1016, 0, 1000);
}

int main(int argc, char **argv)
{
	maps();
	programs();
	flush();
	return 0;
}
