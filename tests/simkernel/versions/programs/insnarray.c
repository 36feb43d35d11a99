/* Places in a program (BPF_MAP_TYPE_INSN_ARRAY, since 6.19) and jumps to them: what the maps can be made with, what commands make of
 * them, who may use them, what the verifier says of programs that jump through them, and where the jumps lead. */
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
typedef struct bpf_insn I;
enum { ARRAY = 2, OF_MAPS = 12, INSN_ARRAY = 34, FILTER = 1, KPROBE = 2, CLS = 3, XDP = 6, SYSCALL = 31 };
struct place { unsigned orig, xlated, jitted, rest; };
static union { union bpf_attr a; char bytes[256]; } u;
static char text[1 << 16];

#define OP(c, d, s, o, i) ((I){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i })
#define MOV(d, i) OP(0xb7, d, 0, 0, i)
#define MOVX(d, s) OP(0xbf, d, s, 0, 0)
#define ADD(d, i) OP(0x07, d, 0, 0, i)
#define ADDX(d, s) OP(0x0f, d, s, 0, 0)
#define AND(d, i) OP(0x57, d, 0, 0, i)
#define SHL(d, i) OP(0x67, d, 0, 0, i)
#define JGT(d, i, o) OP(0x25, d, 0, o, i)
#define JEQ(d, i, o) OP(0x15, d, 0, o, i)
#define JA(o) OP(0x05, 0, 0, o, 0)
#define LDW(d, s, o) OP(0x61, d, s, o, 0)
#define LD(d, s, o) OP(0x79, d, s, o, 0)
#define ST(d, s, o) OP(0x7b, d, s, o, 0)
#define STI(d, o, i) OP(0x7a, d, 0, o, i)
#define CALL(i) OP(0x85, 0, 0, 0, i)
#define CALLF(i) OP(0x85, 0, 1, 0, i)
#define GOTOX(d) OP(0x0d, d, 0, 0, 0)
#define EXIT OP(0x95, 0, 0, 0, 0)
#define PLACES(d, fd, off) OP(0x18, d, 2, 0, fd), OP(0, 0, 0, 0, off)
#define MAPFD(d, fd) OP(0x18, d, 1, 0, fd), OP(0, 0, 0, 0, 0)

static int bpf(int cmd, int size) { int r = syscall(SYS_bpf, cmd, &u, size); return r < 0 ? -errno : r; }
static u64 at(const void *p) { return (u64)(unsigned long)p; }
static int make(int type, int key, int value, unsigned max, unsigned flags)
{
	memset(&u, 0, sizeof(u));
	u.a.map_type = type, u.a.key_size = key, u.a.value_size = value, u.a.max_entries = max, u.a.map_flags = flags;
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
static int freeze(int fd)
{
	memset(&u, 0, sizeof(u)), u.a.map_fd = fd;
	return bpf(BPF_MAP_FREEZE, 4);
}
static int places(int n, const unsigned *where)
{
	int fd = make(INSN_ARRAY, 4, 16, n, 0);
	for (int i = 0; i < n; i++) {
		struct place p = { where[i] };
		op(BPF_MAP_UPDATE_ELEM, fd, &i, &p, 0);
	}
	return fd;
}
static int table(int n, const unsigned *where) { int fd = places(n, where); freeze(fd); return fd; }
static int load(int type, int flags, int level, int n, const I *insns)
{
	memset(&u, 0, sizeof(u)), text[0] = 0;
	u.a.prog_type = type, u.a.insn_cnt = n, u.a.insns = at(insns), u.a.license = at("GPL"), u.a.prog_flags = flags;
	if (level)
		u.a.log_level = level, u.a.log_buf = at(text), u.a.log_size = sizeof(text);
	return bpf(BPF_PROG_LOAD, 144);
}
static const char *masked(void)  /* addresses of the kernel */
{
	for (char *p = text; (p = strstr(p, "0xffff")); )
		for (p += 2; strchr("0123456789abcdef", *p) && *p; p++)
			*p = 'x';
	return text;
}
static int run(int fd, int first)
{
	unsigned char data[64] = { first };
	memset(&u, 0, sizeof(u));
	u.a.test.prog_fd = fd, u.a.test.data_in = at(data), u.a.test.data_size_in = 64;
	int r = bpf(BPF_PROG_TEST_RUN, 80);
	return r ? r : u.a.test.retval;
}
static void show(int fd)
{
	struct place p;
	for (int i = 0;; i++) {
		int r = op(BPF_MAP_LOOKUP_ELEM, fd, &i, &p, 0);
		if (r) {
			printf(" (%d)\n", r);
			return;
		}
		printf(" %d>%d%s", p.orig, p.xlated, p.jitted ? "+" : "-");
	}
}
#define TRY(what, type, level, fd, ...) do { \
	I prog[] = { __VA_ARGS__ }; \
	int p = load(type, 0, level, sizeof(prog) / 8, prog); \
	printf("-- %s: %d\n%s", what, p > 0 ? 1 : p, masked()); \
	if (p > 0) { \
		printf("runs:"); \
		for (int k = 0; k < 6; k++) printf(" %d", run(p, k)); \
		printf("\nplaces:"), show(fd), close(p); \
	} \
	close(fd); } while (0)
#define T(n, ...) table(n, (unsigned[]){ __VA_ARGS__ })

static void making(void)
{
	int i, sizes[] = { 0, 1, 3, 4, 5, 8, 16, 17, 24 };
	unsigned most[] = { 0, 1, 2, 4096, 100000 };
	for (i = 0; i < 9; i++) made("key", sizes[i], make(INSN_ARRAY, sizes[i], 16, 2, 0));
	for (i = 0; i < 9; i++) made("value", sizes[i], make(INSN_ARRAY, 4, sizes[i], 2, 0));
	for (i = 0; i < 5; i++) made("entries", most[i], make(INSN_ARRAY, 4, 16, most[i], 0));
	for (i = 0; i < 20; i++) made("flag", 1u << i, make(INSN_ARRAY, 4, 16, 2, 1u << i));
	memset(&u, 0, sizeof(u)), u.a.map_type = OF_MAPS, u.a.key_size = u.a.value_size = 4, u.a.max_entries = 1;
	int inner = u.a.inner_map_fd = make(INSN_ARRAY, 4, 16, 2, 0);
	memset(&u, 0, sizeof(u)), u.a.map_type = OF_MAPS, u.a.key_size = u.a.value_size = 4, u.a.max_entries = 1, u.a.inner_map_fd = inner;
	made("inner", 0, bpf(BPF_MAP_CREATE, 72));
}

static void using(void)
{
	int fd = make(INSN_ARRAY, 4, 16, 3, 0), k, r;
	unsigned next;
	struct place p = { 7 };
	for (k = 0; k < 5; k++) printf("update %d: %d\n", k, op(BPF_MAP_UPDATE_ELEM, fd, &k, &p, 0));
	for (u64 f = 0; f < 9; f++) k = 0, printf("flags %llx: %d\n", f, op(BPF_MAP_UPDATE_ELEM, fd, &k, &p, f));
	k = 9, printf("far and new: %d\n", op(BPF_MAP_UPDATE_ELEM, fd, &k, &p, 1)), k = 1;
	p.xlated = 1, printf("xlated: %d\n", op(BPF_MAP_UPDATE_ELEM, fd, &k, &p, 0)), p.xlated = 0;
	p.jitted = 1, printf("jitted: %d\n", op(BPF_MAP_UPDATE_ELEM, fd, &k, &p, 0)), p.jitted = 0;
	p.rest = 1, p.orig = 8, printf("rest: %d\n", op(BPF_MAP_UPDATE_ELEM, fd, &k, &p, 0));
	for (k = 0; k < 4; k++) {
		memset(&p, 0x55, 16), r = op(BPF_MAP_LOOKUP_ELEM, fd, &k, &p, 0);
		printf("look up %d: %d, %x %x %x %x\n", k, r, p.orig, p.xlated, p.jitted, p.rest);
	}
	k = 0, printf("delete: %d, both: %d\n", op(BPF_MAP_DELETE_ELEM, fd, &k, 0, 0), op(BPF_MAP_LOOKUP_AND_DELETE_ELEM, fd, &k, &p, 0));
	r = op(BPF_MAP_GET_NEXT_KEY, fd, 0, &next, 0), printf("first: %d %u\n", r, next);
	for (k = 0; k < 4; k++) r = op(BPF_MAP_GET_NEXT_KEY, fd, &k, &next, 0), printf("after %d: %d %u\n", k, r, next);
	struct bpf_map_info info = { 0 };
	memset(&u, 0, sizeof(u)), u.a.info.bpf_fd = fd, u.a.info.info_len = 88, u.a.info.info = at(&info);
	r = bpf(BPF_OBJ_GET_INFO_BY_FD, 16), printf("info: %d, type %u, flags %x, max %u, value %u\n", r, info.type, info.map_flags, info.max_entries, info.value_size);
	printf("mmap: %d\n", mmap(0, 4096, 1, 1, fd, 0) == MAP_FAILED ? -errno : 0);
	printf("freeze: %d", freeze(fd)), printf(", again: %d\n", freeze(fd));
	k = 0, p = (struct place){ 1 }, printf("update: %d, look up: %d\n", op(BPF_MAP_UPDATE_ELEM, fd, &k, &p, 0), op(BPF_MAP_LOOKUP_ELEM, fd, &k, &p, 0));
	char path[64], told[600];
	sprintf(path, "/proc/self/fdinfo/%d", fd);
	int f = open(path, O_RDONLY), got = read(f, told, sizeof(told) - 1);
	close(f), told[got < 0 ? 0 : got] = 0;
	char *from = strstr(told, "map_type"), *to = strstr(told, "map_id");
	printf("%.*s", (int)(to - from), from);
}

static void jumping(int level)
{
	int f;
	f = T(2, 5, 7);
	TRY("two ways", CLS, level, f, LDW(2, 1, 0), AND(2, 1), SHL(2, 3), PLACES(3, f, 0), ADDX(3, 2), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT);
	f = T(2, 8, 10);
	TRY("two ways that are there", CLS, level, f, LDW(2, 1, 0), AND(2, 1), SHL(2, 3), PLACES(3, f, 0), ADDX(3, 2), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(4, 13, 11, 15, 13);
	TRY("a byte of the packet", CLS, level, f, LDW(2, 1, 76), LDW(3, 1, 80), MOVX(4, 2), ADD(4, 1), OP(0x2d, 4, 3, 4, 0), OP(0x71, 5, 2, 0, 0), AND(5, 3), SHL(5, 3), JA(2),
	    MOV(0, 9), EXIT, PLACES(6, f, 0), ADDX(6, 5), LD(7, 6, 0), GOTOX(7), MOV(0, 1), EXIT);
	f = T(4, 15, 17, 19, 15);
	TRY("four ways by a byte", CLS, level, f, LDW(2, 1, 76), LDW(3, 1, 80), MOVX(4, 2), ADD(4, 1), OP(0x2d, 4, 3, 8, 0), OP(0x71, 5, 2, 0, 0), AND(5, 3), SHL(5, 3),
	    PLACES(6, f, 0), ADDX(6, 5), LD(7, 6, 0), GOTOX(7), MOV(0, 9), EXIT, MOV(0, 1), EXIT, MOV(0, 2), EXIT, MOV(0, 3), EXIT);
	f = T(2, 4, 6);
	TRY("one known place", CLS, level, f, PLACES(3, f, 8), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 4, 6);
	TRY("an offset of the load", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 8), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 3, 5);
	TRY("through a bare address", CLS, level, f, PLACES(3, f, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 2, 4);
	TRY("through a number", CLS, level, f, MOV(3, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 4, 6);
	TRY("through a number beside a table", CLS, level, f, PLACES(3, f, 0), MOV(3, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 3, 5);
	TRY("through nothing", CLS, level, f, PLACES(3, f, 0), GOTOX(5), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 3, 5);
	TRY("through the frame", CLS, level, f, PLACES(3, f, 0), GOTOX(10), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	int sizes[] = { 0x71, 0x69, 0x61 };
	for (int i = 0; i < 3; i++) {
		f = T(2, 4, 6);
		TRY("a narrow load", CLS, level, f, PLACES(3, f, 0), OP(sizes[i], 3, 3, 0, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	}
	f = T(2, 4, 6);
	TRY("a load between", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 4), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 4, 6);
	TRY("a load behind", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 16), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 4, 6);
	TRY("a load before", CLS, level, f, PLACES(3, f, 0), LD(3, 3, -8), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	for (int off = 4; off < 32; off += 4) {
		f = T(2, 4, 6);
		TRY("an address with an offset", CLS, level, f, PLACES(3, f, off), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	}
	f = T(2, 5, 7);
	TRY("a store", CLS, level, f, PLACES(3, f, 0), STI(3, 0, 1), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 5, 7);
	TRY("arithmetic on a place", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), ADD(3, 8), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 6, 8);
	TRY("a place on the stack", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), ST(10, 3, -8), LD(4, 10, -8), GOTOX(4), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 5, 7);
	TRY("a place is copied", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), MOVX(8, 3), GOTOX(8), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 6, 8);
	TRY("a place is compared", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), JEQ(3, 0, 1), GOTOX(3), EXIT, MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 7, 9);
	TRY("any index", CLS, level, f, LDW(2, 1, 0), SHL(2, 3), PLACES(3, f, 0), ADDX(3, 2), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(3, 8, 10, 8);
	TRY("one index too many", CLS, level, f, LDW(2, 1, 0), AND(2, 3), SHL(2, 3), PLACES(3, f, 0), ADDX(3, 2), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 1, 4);
	TRY("into the middle", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT);
	f = T(2, 4, 9);
	TRY("out of the program", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT);
	f = places(2, (unsigned[]){ 4, 4 });
	TRY("not frozen", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT);
	f = T(1, 0);
	TRY("for ever", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT);
	f = T(2, 1, 10);
	TRY("a loop that ends", CLS, level, f, MOV(6, 0), ADD(6, 1), MOV(2, 8), JEQ(6, 5, 1), MOV(2, 0), PLACES(3, f, 0), ADDX(3, 2), LD(3, 3, 0), GOTOX(3), MOVX(0, 6), EXIT);
	f = T(2, 5, 7);
	TRY("the end of the program", CLS, level, f, JA(3), MOV(0, 1), EXIT, MOV(0, 4), PLACES(3, f, 0), LD(3, 3, 0), GOTOX(3));
	f = T(2, 1, 3);
	TRY("the last instruction", CLS, level, f, JA(4), MOV(0, 1), EXIT, MOV(0, 2), EXIT, PLACES(3, f, 0), LD(3, 3, 8), GOTOX(3));
	f = T(1, 4);
	TRY("fields", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), OP(0x0d, 3, 1, 0, 0), MOV(0, 1), EXIT);
	f = T(1, 4);
	TRY("fields", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), OP(0x0d, 3, 0, 1, 0), MOV(0, 1), EXIT);
	f = T(1, 4);
	TRY("fields", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), OP(0x0d, 3, 0, 0, 1), MOV(0, 1), EXIT);
	f = T(1, 4);
	TRY("another width", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 0), OP(0x0e, 3, 0, 0, 0), MOV(0, 1), EXIT);
	f = T(1, 3);
	TRY("no jump at all", CLS, level, f, PLACES(3, f, 0), MOV(0, 1), EXIT);
	f = T(1, 5);
	TRY("a helper", CLS, level, f, MAPFD(1, f), STI(10, -8, 0), MOVX(2, 10), ADD(2, -8), CALL(1), MOV(0, 1), EXIT);
	f = T(1, 3);
	TRY("the map itself", CLS, level, f, MAPFD(1, f), MOV(0, 1), EXIT);
	f = T(1, 3);
	TRY("the map's members", CLS, level, f, MAPFD(1, f), LDW(0, 1, 28), EXIT);
	f = T(2, 6, 8);
	TRY("code that is changed", CLS, level, f, PLACES(3, f, 0), LD(3, 3, 8), LDW(4, 1, 128), GOTOX(3), EXIT, MOV(0, 1), EXIT, LDW(0, 1, 0), LDW(0, 1, 60), MOV(0, 2), EXIT);
	f = T(3, 7, 10, 4);
	TRY("code before that grows", XDP, level, f, LDW(4, 1, 0), LDW(5, 1, 4), PLACES(3, f, 0), LD(3, 3, 0), GOTOX(3), EXIT, MOV(0, 1), JA(0), EXIT, MOV(0, 2), EXIT);
	f = T(2, 9, 11);
	TRY("a function's own", CLS, level, f, CALLF(1), EXIT, LDW(2, 1, 0), AND(2, 1), SHL(2, 3), PLACES(3, f, 0), ADDX(3, 2), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 10, 12);
	TRY("a function's own, rightly", CLS, level, f, CALLF(1), EXIT, LDW(2, 1, 0), AND(2, 1), SHL(2, 3), PLACES(3, f, 0), ADDX(3, 2), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 1, 8);
	TRY("into two functions", CLS, level, f, CALLF(1), EXIT, PLACES(3, f, 0), LD(3, 3, 0), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 2, 7);
	TRY("into two functions, from the second", CLS, level, f, CALLF(1), EXIT, PLACES(3, f, 0), LD(3, 3, 8), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 0, 7);
	TRY("another function's", CLS, level, f, CALLF(1), EXIT, PLACES(3, f, 0), LD(3, 3, 8), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 4, 6);
	TRY("of a system call", SYSCALL, level, f, PLACES(3, f, 0), LD(3, 3, 8), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(2, 4, 6);
	TRY("of a probe", KPROBE, level, f, PLACES(3, f, 0), LD(3, 3, 8), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT);
	f = T(3, 15, 17, 19);
	TRY("precision", CLS, level, f, CALL(7), MOVX(6, 0), AND(6, 1), SHL(6, 3), PLACES(3, f, 0), ADDX(3, 6), LD(3, 3, 8), MOV(7, 0), JEQ(6, 0, 1), MOV(7, 1), GOTOX(3), MOV(0, 7), EXIT,
	    MOV(0, 8), MOVX(0, 7), EXIT, MOV(0, 1), EXIT, MOV(0, 2), EXIT);
}

static void sharing(void)
{
	int f = T(2, 4, 6), g = make(INSN_ARRAY, 4, 16, 2, 0);
	I good[] = { PLACES(3, f, 0), LD(3, 3, 8), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT };
	I bad[] = { PLACES(3, f, 0), LD(3, 3, 8), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), MOVX(0, 9), EXIT };
	int b = load(CLS, 0, 1, 8, bad), p = load(CLS, 0, 1, 8, good);
	printf("after one that was refused (%d): %d\n", b, p > 0);
	printf("again: %d\n%s", load(CLS, 0, 1, 8, good), text);
	close(p), usleep(100000);
	p = load(CLS, 0, 1, 8, good);
	printf("when it is gone: %d\n%s", p > 0 ? 1 : p, p > 0 ? "" : text);
	f = T(2, 6, 8);
	I twice[] = { PLACES(3, f, 0), PLACES(4, f, 8), LD(3, 3, 8), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT };
	printf("twice: %d\n", load(CLS, 0, 0, 10, twice) > 0);
	f = T(2, 6, 8), g = T(2, 8, 6);
	I two[] = { PLACES(3, f, 0), PLACES(4, g, 0), LD(3, 4, 8), GOTOX(3), MOV(0, 1), EXIT, MOV(0, 2), EXIT };
	printf("two: %d, ", p = load(CLS, 0, 0, 10, two)), printf("run %d\n", run(p, 0));
}

int main(int argc, char **argv)
{
	setvbuf(stdout, 0, _IONBF, 0);
	if (argc > 1)
		return jumping(atoi(argv[1])), 0;
	making(), using(), sharing();
	return 0;
}
