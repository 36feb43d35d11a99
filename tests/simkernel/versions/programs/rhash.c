/* Resizable hashes (BPF_MAP_TYPE_RHASH, since 7.2): what they can be made with, what each command makes of them, batches, memory, and
 * a program that changes a value under its own pointer.  Their order is random, so keys are sorted. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef unsigned long long u64;
enum { HASH = 1, OF_MAPS = 12, RHASH = 35, NO_PREALLOC = 1 };
static union { union bpf_attr a; char bytes[256]; } u;

static int bpf(int cmd, int size) { int r = syscall(SYS_bpf, cmd, &u, size); return r < 0 ? -errno : r; }
static u64 at(const void *p) { return (u64)(unsigned long)p; }
static int make(int type, int key, int value, unsigned max, unsigned flags, u64 extra)
{
	memset(&u, 0, sizeof(u));
	u.a.map_type = type, u.a.key_size = key, u.a.value_size = value, u.a.max_entries = max, u.a.map_flags = flags;
	memcpy(u.bytes + 64, &extra, 8);
	return bpf(BPF_MAP_CREATE, 72);
}
static void made(const char *what, u64 n, int fd)
{
	printf("%s %llx: %d\n", what, n, fd > 0 ? 1 : fd);
	if (fd > 0)
		close(fd);
}
static int op(int cmd, int fd, const void *key, void *value, u64 flags)
{
	memset(&u, 0, sizeof(u));
	u.a.map_fd = fd, u.a.key = at(key), u.a.value = at(value), u.a.flags = flags;
	return bpf(cmd, 32);
}
static int batch(int cmd, int fd, void *in, void *out, void *keys, void *values, unsigned *n, u64 elem_flags, u64 flags)
{
	int r;
	memset(&u, 0, sizeof(u));
	u.a.batch.in_batch = at(in), u.a.batch.out_batch = at(out), u.a.batch.keys = at(keys), u.a.batch.values = at(values);
	u.a.batch.count = *n, u.a.batch.map_fd = fd, u.a.batch.elem_flags = elem_flags, u.a.batch.flags = flags;
	r = bpf(cmd, 56), *n = u.a.batch.count;
	return r;
}
static void memory(const char *what, int n, int fd)
{
	char path[64], text[600];
	sprintf(path, "/proc/self/fdinfo/%d", fd);
	int f = open(path, O_RDONLY), got = read(f, text, sizeof(text) - 1);
	close(f), text[got < 0 ? 0 : got] = 0;
	char *from = strstr(text, "map_type"), *to = strstr(text, "map_id");
	printf("%s %d: %.*s", what, n, (int)(to - from), from);
}
static int less(const void *a, const void *b) { return *(unsigned *)a > *(unsigned *)b ? 1 : -1; }
static void walk(int fd)
{
	static unsigned keys[20000];
	unsigned count = 0, next, sum = 0;
	int r = op(BPF_MAP_GET_NEXT_KEY, fd, 0, &next, 0);
	for (; !r && count < 20000; r = op(BPF_MAP_GET_NEXT_KEY, fd, &keys[count - 1], &next, 0))
		keys[count++] = next, sum += next;
	qsort(keys, count, 4, less);
	printf("walk: %d, %u keys, sum %u, from %u to %u\n", r, count, sum, count ? keys[0] : 0, count ? keys[count - 1] : 0);
}

static void making(void)
{
	int keys[] = { 0, 1, 8, 24, 512, 513, 4096, 65535, 65536, 1 << 20 }, i;
	int values[] = { 0, 1, 100, 4096, 1 << 20, 4194304 - 56, 4194304 - 52, 1 << 22, 1 << 23, 0x7fffffff, -1 };
	unsigned most[] = { 0, 1, 65536, 1u << 24, 1u << 30, 1u << 31, (1u << 31) + 1, 0xffffffff };
	u64 extra[] = { 1, 15, 16, 17, 256, 1024, 1025, 65535, 65536, 1ull << 31, 1ull << 32, -1ull };
	for (i = 0; i < 10; i++) made("key", keys[i], make(RHASH, keys[i], 8, 16, 1, 0));
	for (i = 0; i < 11; i++) made("value", values[i], make(RHASH, 4, values[i], 16, 1, 0));
	for (i = 0; i < 8; i++) made("entries", most[i], make(RHASH, 4, 8, most[i], 1, 0));
	for (i = 0; i < 24; i++) made("flag", 1u << i, make(RHASH, 4, 8, 16, 1u | 1u << i, 0));
	for (i = 0; i < 12; i++) made("extra", extra[i], make(RHASH, 4, 8, 1024, 1, extra[i]));
	made("preallocated", 0, make(RHASH, 4, 8, 16, 0, 0));
	made("both read and write only", 0, make(RHASH, 4, 8, 16, 1 | 8 | 16, 0));
	made("key first", 0, make(RHASH, 70000, 8, 0, 1, 0)), made("flags first", 0, make(RHASH, 70000, 8, 10, 0, 0));
	made("key before extra", 0, make(RHASH, 70000, 8, 10, 1, 100)), made("entries before extra", 0, make(RHASH, 4, 8, -1, 1, 70000));
	made("extra before value", 0, make(RHASH, 4, 1 << 23, 10, 1, 100));
}

static void using(void)
{
	int f = make(RHASH, 4, 8, 5, 1, 0), r;
	unsigned k = 1, next;
	u64 v = 10;
	memory("empty", 0, f);
	printf("nothing there: %d\n", op(BPF_MAP_LOOKUP_ELEM, f, &k, &v, 0));
	for (u64 flags = 0; flags < 8; flags++) {
		v = flags, k = 1, r = op(BPF_MAP_UPDATE_ELEM, f, &k, &v, flags);
		printf("update, flags %llu: %d", flags, r), r = op(BPF_MAP_LOOKUP_ELEM, f, &k, &v, 0), printf(", then %d %llu\n", r, v);
	}
	for (k = 2; k < 8; k++) v = k * 10, printf("new %u: %d\n", k, op(BPF_MAP_UPDATE_ELEM, f, &k, &v, 0));
	for (u64 flags = 0; flags < 3; flags++) {
		k = 3, r = op(BPF_MAP_UPDATE_ELEM, f, &k, &v, flags);
		k = 77, printf("full, flags %llu: there %d, new %d\n", flags, r, op(BPF_MAP_UPDATE_ELEM, f, &k, &v, flags));
	}
	memory("full", 5, f), walk(f);
	k = 999, printf("after one that is not there: %d\n", op(BPF_MAP_GET_NEXT_KEY, f, &k, &next, 0));
	k = 3, r = op(BPF_MAP_DELETE_ELEM, f, &k, 0, 0), printf("delete: %d, again %d\n", r, op(BPF_MAP_DELETE_ELEM, f, &k, 0, 0));
	k = 4, r = op(BPF_MAP_LOOKUP_AND_DELETE_ELEM, f, &k, &v, 0);
	printf("look up and delete: %d %llu, again %d\n", r, v, op(BPF_MAP_LOOKUP_AND_DELETE_ELEM, f, &k, &v, 0));
	k = 5, printf("flags of look-ups: %d %d\n", op(BPF_MAP_LOOKUP_ELEM, f, &k, &v, 1), op(BPF_MAP_LOOKUP_ELEM, f, &k, &v, 4));
	printf("mmap: %d\n", mmap(0, 4096, 3, MAP_SHARED, f, 0) == MAP_FAILED ? -errno : 1);
	memset(&u, 0, sizeof(u)), u.a.map_fd = f, printf("freeze: %d, ", bpf(BPF_MAP_FREEZE, 24));
	printf("then update %d\n", op(BPF_MAP_UPDATE_ELEM, f, &k, &v, 0));
	f = make(RHASH, 4, 8, 5, 1 | BPF_F_RDONLY, 0), printf("read only: %d %d\n", op(BPF_MAP_UPDATE_ELEM, f, &k, &v, 0), op(BPF_MAP_GET_NEXT_KEY, f, 0, &next, 0));
	f = make(RHASH, 4, 8, 5, 1, 0), memset(&u, 0, sizeof(u));
	u.a.map_type = OF_MAPS, u.a.key_size = u.a.value_size = 4, u.a.max_entries = 2, u.a.inner_map_fd = f;
	int outer = bpf(BPF_MAP_CREATE, 72), inner[] = { make(RHASH, 4, 8, 9, 1, 0), make(RHASH, 4, 8, 90, 1, 64), make(HASH, 4, 8, 5, 1, 0) };
	for (int i = 0; i < 3; i++) k = 0, printf("inner map: %d\n", op(BPF_MAP_UPDATE_ELEM, outer, &k, &inner[i], 0));
	struct bpf_map_info info = { 0 };
	memset(&u, 0, sizeof(u)), u.a.info.bpf_fd = inner[1], u.a.info.info_len = sizeof(info), u.a.info.info = at(&info);
	r = bpf(BPF_OBJ_GET_INFO_BY_FD, 16);
	printf("info: %d, %u %u %u %u %x %llu\n", r, info.type, info.key_size, info.value_size, info.max_entries, info.map_flags, info.map_extra);
}

static void growing(void)
{
	int keys[] = { 1, 5, 8, 9, 17, 100 }, values[] = { 1, 8, 9, 100 }, f;
	char key[128] = { 0 }, value[128] = { 0 };
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 4; j++)
			f = make(RHASH, keys[i], values[j], 100, 1, 0), op(BPF_MAP_UPDATE_ELEM, f, key, value, 0), memory("one of", keys[i], f), close(f);
	f = make(RHASH, 4, 8, 100000, 1, 0);
	for (unsigned k = 0, bad = 0; k < 5000; k++) {
		bad += op(BPF_MAP_UPDATE_ELEM, f, &k, value, 0) != 0;
		if (!(k & (k + 1)) || k == 4999) {
			unsigned found = 0; /* a walk sees keys twice, or not, while the table grows */
			for (unsigned old = 0; old <= k; old++)
				found += !op(BPF_MAP_LOOKUP_ELEM, f, &old, value, 0);
			printf("%u of %u refused, %u found\n", bad, k + 1, found);
		}
	}
	memory("many", 5000, f);
	for (unsigned k = 0; k < 5000; k++) op(BPF_MAP_DELETE_ELEM, f, &k, 0, 0);
	walk(f);
}

static void batches(void)
{
	unsigned keys[100] = { 0 }, n, in[2] = { 0 }, out[2] = { 0 }, k, from;
	u64 values[100] = { 0 };
	int f = make(RHASH, 4, 8, 20, 1, 0), r, first;
	for (k = 0; k < 5; k++) op(BPF_MAP_UPDATE_ELEM, f, &k, values, 0);
	for (from = 6; from; from--) {
		n = from - 1, out[0] = 7777, r = batch(BPF_MAP_LOOKUP_BATCH, f, 0, out, keys, values, &n, 0, 0);
		int known = 0;
		for (k = 0; k < n; k++) known |= keys[k] == out[0];
		printf("%u of 5: %d, %u, the next is one of them: %d, said: %d\n", from - 1, r, n, known, out[0] != 7777);
	}
	for (first = 1, r = 0; !r; first = 0)
		n = 2, r = batch(BPF_MAP_LOOKUP_BATCH, f, first ? 0 : in, out, keys, values, &n, 0, 0), in[0] = out[0], printf("two: %d %u\n", r, n);
	n = 9, r = batch(BPF_MAP_LOOKUP_AND_DELETE_BATCH, f, 0, out, keys, values, &n, 0, 0), printf("all, and delete: %d %u\n", r, n);
	n = 2, r = batch(BPF_MAP_LOOKUP_BATCH, f, 0, out, keys, values, &n, 0, 0), printf("empty: %d %u\n", r, n);
	for (k = 0; k < 18; k++) keys[k] = 100 + k;
	n = 18, r = batch(BPF_MAP_UPDATE_BATCH, f, 0, 0, keys, values, &n, 0, 0), printf("update: %d %u\n", r, n);
	n = 18, r = batch(BPF_MAP_UPDATE_BATCH, f, 0, 0, keys, values, &n, 0, 1), printf("update, flags: %d %u\n", r, n);
	for (k = 0; k < 18; k++) keys[k] = 200 + k;
	n = 18, r = batch(BPF_MAP_UPDATE_BATCH, f, 0, 0, keys, values, &n, 0, 0), printf("more than there is room for: %d %u\n", r, n);
	keys[0] = 100, keys[1] = 5555, n = 2, r = batch(BPF_MAP_DELETE_BATCH, f, 0, 0, keys, values, &n, 0, 0), printf("delete: %d %u\n", r, n);
	n = 3, r = batch(BPF_MAP_LOOKUP_BATCH, f, 0, 0, keys, values, &n, 0, 0), printf("nowhere for the next: %d %u\n", r, n);
	n = 3, r = batch(BPF_MAP_LOOKUP_BATCH, f, 0, out, 0, values, &n, 0, 0), printf("nowhere for keys: %d %u\n", r, n);
	n = 0, r = batch(BPF_MAP_LOOKUP_BATCH, f, 0, out, keys, values, &n, 0, 0), printf("none: %d %u\n", r, n);
	n = 5, r = batch(BPF_MAP_LOOKUP_BATCH, f, 0, out, keys, values, &n, 0, 1), printf("flags: %d %u\n", r, n);
	n = 5, r = batch(BPF_MAP_LOOKUP_BATCH, f, 0, out, keys, values, &n, 4, 0), printf("flags of elements: %d %u\n", r, n);
	in[0] = 99999, n = 5, r = batch(BPF_MAP_LOOKUP_BATCH, f, in, out, keys, values, &n, 0, 0), printf("from one that is gone: %d %u\n", r, n);
}

#define I(c, d, s, o, i) { .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i }
static void programs(int type)
{
	int f = make(type, 4, 8, 8, NO_PREALLOC, 0);
	struct bpf_insn code[] = {
		I(0x62, 10, 0, -4, 7), I(0x7a, 10, 0, -16, 41), /* key 7, value 41 */
		I(0x18, 1, 1, 0, f), I(0, 0, 0, 0, 0), I(0xbf, 2, 10, 0, 0), I(0x07, 2, 0, 0, -4), I(0xbf, 3, 10, 0, 0), I(0x07, 3, 0, 0, -16), I(0xb7, 4, 0, 0, 0),
		I(0x85, 0, 0, 0, 2),
		I(0x18, 1, 1, 0, f), I(0, 0, 0, 0, 0), I(0xbf, 2, 10, 0, 0), I(0x07, 2, 0, 0, -4), I(0x85, 0, 0, 0, 1),
		I(0x55, 0, 0, 2, 0), I(0xb7, 0, 0, 0, -1), I(0x95, 0, 0, 0, 0),
		I(0xbf, 6, 0, 0, 0), I(0x7a, 10, 0, -16, 42), /* update it, and look through the old pointer */
		I(0x18, 1, 1, 0, f), I(0, 0, 0, 0, 0), I(0xbf, 2, 10, 0, 0), I(0x07, 2, 0, 0, -4), I(0xbf, 3, 10, 0, 0), I(0x07, 3, 0, 0, -16), I(0xb7, 4, 0, 0, 0),
		I(0x85, 0, 0, 0, 2), I(0x79, 7, 6, 0, 0),
		I(0x18, 1, 1, 0, f), I(0, 0, 0, 0, 0), I(0xbf, 2, 10, 0, 0), I(0x07, 2, 0, 0, -4), I(0x85, 0, 0, 0, 3),
		I(0x67, 7, 0, 0, 8), I(0x4f, 7, 0, 0, 0), I(0xbf, 0, 7, 0, 0), I(0x95, 0, 0, 0, 0),
	};
	static char log[4096];
	memset(&u, 0, sizeof(u));
	u.a.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, u.a.insns = at(code), u.a.insn_cnt = sizeof(code) / 8, u.a.license = at("GPL");
	u.a.log_buf = at(log), u.a.log_size = sizeof(log), u.a.log_level = 1;
	int p = bpf(BPF_PROG_LOAD, 128);
	if (p < 0) {
		printf("map type %d: %d\n%s", type, p, log);
		return;
	}
	char packet[64] = { 0 };
	for (int turn = 0; turn < 2; turn++) {
		memset(&u, 0, sizeof(u)), u.a.test.prog_fd = p, u.a.test.data_in = at(packet), u.a.test.data_size_in = 64;
		int r = bpf(BPF_PROG_TEST_RUN, 80);
		printf("map type %d: %d, %x\n", type, r, u.a.test.retval);
	}
	walk(f);
}

int main(void)
{
	making(), using(), growing(), batches(), programs(HASH), programs(RHASH);
	return 0;
}
