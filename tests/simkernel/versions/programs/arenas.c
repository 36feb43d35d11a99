/* Arenas: how they are made and mapped, what user space and programs see of their pages, what the verifier says. */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"

#define ARENA 33
#define MMAPABLE 1024
#define SEGV_ON_FAULT (1 << 17)
#define NO_USER_CONV (1 << 18)
#define START 0x100000000000ULL
#define CAST(d, s) I(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 1, 1)
#define CAST_USER(d, s) I(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 1, 1 << 16)
#define MAP(r, fd) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_FD, 0, fd), { 0 }
#define VALUE(r, fd, off) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_VALUE, 0, fd), { .imm = off }
#define KFUNC(id) I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, id)
#define ALLOC(fd, pages) MAP(1, fd), SET(2, 0), SET(3, pages), SET(4, -1), SET(5, 0), KFUNC(alloc)
#define ALU(op, d, s) I(BPF_ALU64 | op | BPF_X, d, s, 0, 0)
#define ALU32(op, d, s) I(BPF_ALU | op | BPF_X, d, s, 0, 0)
#define ALUK(op, d, i) I(BPF_ALU64 | op | BPF_K, d, 0, 0, i)
#define ALU32K(op, d, i) I(BPF_ALU | op | BPF_K, d, 0, 0, i)

static int alloc, release, level = 1;
static char text[60000];

static long arena(int key, int value, unsigned entries, int flags, unsigned long long extra)
{
	attr.map_extra = extra;
	return bpf_map(ARENA, key, value, entries, flags);
}
static void make(const char *what, int key, int value, unsigned entries, int flags, unsigned long long extra)
{
	long fd = arena(key, value, entries, flags, extra);
	say("%s: %r\n", what, fd < 0 ? fd : 0);
	if (fd >= 0)
		sys(__NR_close, fd);
}

/* The log without addresses of the kernel. */
static void tell(const char *log)
{
	for (const char *p = log; *p; p++) {
		if (!memcmp(p, "0xffff", 6) && p[10] != ';' && p[10] != ')' && p[10] != ',') {
			int n = 6;
			while ((p[n] >= '0' && p[n] <= '9') || (p[n] >= 'a' && p[n] <= 'f'))
				n++;
			if (n == 18) {
				say("ADDRESS");
				p += n - 1;
				continue;
			}
		}
		put(*p);
	}
}

static long load(int type, int flags, struct bpf_insn *code, int count, int level)
{
	memset(text, 0, sizeof(text));
	attr.prog_type = type, attr.prog_flags = flags, attr.insns = (ulong)code, attr.insn_cnt = count, attr.license = (ulong)"GPL";
	attr.log_level = level, attr.log_buf = level ? (ulong)text : 0, attr.log_size = level ? sizeof(text) : 0;
	return bpf(BPF_PROG_LOAD);
}

static void rewritten(long fd)
{
	static struct bpf_insn insns[128];
	struct bpf_prog_info info;
	memset(&info, 0, sizeof(info));
	memset(insns, 0, sizeof(insns));
	info.xlated_prog_len = sizeof(insns), info.xlated_prog_insns = (ulong)insns;
	attr.info.bpf_fd = fd, attr.info.info_len = sizeof(info), attr.info.info = (ulong)&info;
	bpf(BPF_OBJ_GET_INFO_BY_FD);
	say("  xlated");
	for (unsigned i = 0; i < info.xlated_prog_len / 8; i++)
		say(" %x:%d:%d", insns[i].code, insns[i].off, insns[i].code == 0x85 || insns[i].code == 0x18 || !insns[i].code ? 0 : insns[i].imm);
	say("\n");
}

static unsigned run(long fd)
{
	union bpf_attr test;
	memset(&test, 0, sizeof(test));
	test.test.prog_fd = fd;
	long ret = sys(__NR_bpf, BPF_PROG_TEST_RUN, &test, sizeof(test));
	return ret ? ret : test.test.retval;
}

static void try(const char *what, int type, int flags, struct bpf_insn *code, int count)
{
	long fd = load(type, flags, code, count, level);
	say("%s: %r\n", what, fd < 0 ? fd : 0);
	tell(text);
	if (fd < 0)
		return;
	sys(__NR_close, fd);
	fd = load(type, flags, code, count, 0);
	rewritten(fd);
	if (type == BPF_PROG_TYPE_SYSCALL)
		say("  returns %x\n", run(fd));
	sys(__NR_close, fd);
}
#define TRY(what, ...) do { struct bpf_insn code[] = { __VA_ARGS__ }; try(what, BPF_PROG_TYPE_SYSCALL, BPF_F_SLEEPABLE, code, sizeof(code) / sizeof(*code)); } while (0)

static void shown(const char *what, ulong addr, ulong len, int prot, int flags, long fd, ulong off)
{
	long at = sys(__NR_mmap, addr, len, prot, flags, fd, off);
	say("%s: %r\n", what, at < 0 && at > -4096 ? at : at == addr ? 1 : 2);
}

/* A program that asks for pages of an arena (or gives them back, or reserves them), and what it gets: the first one's number. */
static void pages(const char *what, int id, long fd, ulong place, int count)
{
	struct bpf_insn code[] = { MAP(1, fd), I(BPF_LD | BPF_DW | BPF_IMM, 2, 0, 0, (int)place), { .imm = place >> 32 }, SET(3, count), SET(4, -1), SET(5, 0), KFUNC(id), ALU32(BPF_MOV, 0, 0), EXIT };
	struct bpf_insn give[] = { MAP(1, fd), I(BPF_LD | BPF_DW | BPF_IMM, 2, 0, 0, (int)place), { .imm = place >> 32 }, SET(3, count), KFUNC(id), SET(0, 0), EXIT };
	long prog = id == release ? load(BPF_PROG_TYPE_SYSCALL, BPF_F_SLEEPABLE, give, sizeof(give) / sizeof(*give), 0) : load(BPF_PROG_TYPE_SYSCALL, BPF_F_SLEEPABLE, code, sizeof(code) / sizeof(*code), 0);
	say("%s %x %d: %x\n", what, (int)place, count, prog < 0 ? (int)prog : run(prog));
	sys(__NR_close, prog);
}

int main(int argc, char **argv)
{
	int p[2];
	long m, other, bare;
	char c = 0;

	if (argc > 1)
		level = *argv[1] - 48;
	unsigned value[4] = { 0 };

	make("good", 0, 0, 2, MMAPABLE, START);
	make("key", 4, 0, 2, MMAPABLE, START);
	make("value", 0, 4, 2, MMAPABLE, START);
	make("no entries", 0, 0, 0, MMAPABLE, START);
	make("not mmapable", 0, 0, 2, 0, START);
	make("segv on fault", 0, 0, 2, MMAPABLE | SEGV_ON_FAULT, START);
	make("no user conv", 0, 0, 2, MMAPABLE | NO_USER_CONV, START);
	make("no prealloc", 0, 0, 2, MMAPABLE | 1, START);
	make("read only of programs", 0, 0, 2, MMAPABLE | 128, START);
	make("zero seed", 0, 0, 2, MMAPABLE | 64, START);
	make("unaligned", 0, 0, 2, MMAPABLE, START + 8);
	make("no address", 0, 0, 2, MMAPABLE, 0);
	make("4 GB", 0, 0, 1 << 20, MMAPABLE, START);
	make("more", 0, 0, (1 << 20) + 1, MMAPABLE, START);
	make("over 4 GB", 0, 0, 2, MMAPABLE, START + 0xfffff000);
	make("up to 4 GB", 0, 0, 2, MMAPABLE, START + 0xffffe000);

	m = arena(0, 0, 4, MMAPABLE, START);
	other = arena(0, 0, 4, MMAPABLE | SEGV_ON_FAULT, START + 0x100000);
	bare = arena(0, 0, 3, MMAPABLE, 0);
	say("lookup %r update %r delete %r\n", bpf_element(BPF_MAP_LOOKUP_ELEM, m, 0, value), bpf_element(BPF_MAP_UPDATE_ELEM, m, 0, value), bpf_element(BPF_MAP_DELETE_ELEM, m, 0, value));
	attr.map_fd = m, attr.key = (ulong)value, attr.next_key = (ulong)value;
	say("next %r", bpf(BPF_MAP_GET_NEXT_KEY));
	attr.map_fd = m, attr.value = (ulong)value;
	say(" pop %r", bpf(BPF_MAP_LOOKUP_AND_DELETE_ELEM));
	attr.map_fd = bare;
	say(" freeze %r\n", bpf(BPF_MAP_FREEZE));
	bare = (sys(__NR_close, bare), arena(0, 0, 3, MMAPABLE, 0));

	alloc = btf_id("bpf_arena_alloc_pages", 12), release = btf_id("bpf_arena_free_pages", 12);
	TRY("no address yet", MAP(1, bare), SET(0, 0), EXIT);
	TRY("two arenas", MAP(1, m), MAP(2, other), SET(0, 0), EXIT);
	TRY("a cast without", MOV(2, 1), CAST(2, 2), SET(0, 0), EXIT);
	TRY("an odd cast", MAP(1, m), I(BPF_ALU64 | BPF_MOV | BPF_X, 2, 1, 1, 2), SET(0, 0), EXIT);
	TRY("a narrow cast", MAP(1, m), I(BPF_ALU | BPF_MOV | BPF_X, 2, 1, 1, 1), SET(0, 0), EXIT);
	TRY("a cast of a number", MAP(1, m), I(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 1, 1), SET(0, 0), EXIT);
	TRY("a cast of nothing", MAP(1, m), CAST(2, 3), SET(0, 0), EXIT);

	shown("private", START, 0x4000, 3, 0x12, m, 0);
	shown("elsewhere", START + 0x10000, 0x4000, 3, 0x11, m, 0);
	shown("anywhere", 0, 0x4000, 3, 1, m, 0);
	shown("short", START, 0x3000, 3, 0x11, m, 0);
	shown("long", START, 0x5000, 3, 0x11, m, 0);
	shown("behind", START, 0x4000, 3, 0x11, m, 0x1000);
	shown("right", START, 0x4000, 3, 0x11, m, 0);
	shown("again", START, 0x4000, 3, 0x11, m, 0);
	shown("for reading", START, 0x4000, 1, 0x11, m, 0);
	shown("right", START, 0x4000, 3, 0x11, m, 0);
	shown("the other", START + 0x100000, 0x4000, 3, 0x11, other, 0);
	long at = sys(__NR_mmap, 0, 0x3000, 3, 1, bare, 0);
	say("bare: %r\n", at < 0 && at > -4096 ? at : 0);
	shown("bare elsewhere", (at ^ 0x10000000), 0x3000, 3, 0x11, bare, 0);
	say("larger: %r\n", sys(__NR_mremap, START, 0x4000, 0x8000, 1) == START ? 0 : sys(__NR_mremap, START, 0x4000, 0x8000, 1));

	sys(__NR_pipe, p);
	volatile unsigned *page = (unsigned *)START;
	say("user: %x", page[1024]);
	page[1024] = 77;
	say(" %x; other: write %r\n", page[1024], sys(__NR_write, p[1], START + 0x100000, 1));

	TRY("a page", ALLOC(m, 1), MOV(6, 0), CAST(7, 0), I(BPF_ST | BPF_MEM | BPF_W, 7, 0, 8, 1234), I(BPF_LDX | BPF_MEM | BPF_W, 0, 7, 8, 0), EXIT);
	say("user sees %d %d %d\n", page[2], page[2 + 1024], page[2 + 2048]);
	TRY("what user space wrote", MAP(1, m), SET(2, 0x1000), CAST(2, 2), LOAD(0, 2, 0), EXIT);
	TRY("where nothing is", MAP(1, m), SET(2, 0x3000), CAST(2, 2), I(BPF_ST | BPF_MEM | BPF_DW, 2, 0, 0, 5), LOAD(0, 2, 0), ADD(0, 3), EXIT);
	TRY("far away", MAP(1, m), SET(2, -8), CAST(2, 2), I(BPF_ST | BPF_MEM | BPF_B, 2, 0, 32767, 5), LOAD(0, 2, 32000), LOAD(3, 2, -32768), ADD(0, 3), EXIT);
	TRY("over the end of a page", MAP(1, m), SET(2, 0x1ffc), CAST(2, 2), I(BPF_ST | BPF_MEM | BPF_DW, 2, 0, 0, -1), LOAD(0, 2, 0), ADD(0, 9), EXIT);
	TRY("four and more", ALLOC(m, 4), MOV(6, 0), ALLOC(m, 5), ALU(BPF_OR, 0, 6), EXIT);
	TRY("two", ALLOC(m, 2), MOV(6, 0), ALUK(BPF_RSH, 6, 32), MOV(0, 6), EXIT);
	TRY("two", ALLOC(m, 2), MOV(6, 0), ALU32(BPF_MOV, 0, 6), EXIT);
	TRY("at a place", MAP(1, m), I(BPF_LD | BPF_DW | BPF_IMM, 2, 0, 0, 0x2000), { .imm = START >> 32 }, SET(3, 1), SET(4, -1), SET(5, 0), KFUNC(alloc), MOV(0, 0), ALU32(BPF_MOV, 0, 0), EXIT);
	TRY("given back", MAP(1, m), SET(2, 0x2000), SET(3, 1), KFUNC(release), SET(2, 0x2000), CAST(2, 2), LOAD(0, 2, 0), ADD(0, 4), EXIT);
	TRY("at a place", MAP(1, m), I(BPF_LD | BPF_DW | BPF_IMM, 2, 0, 0, 0x2000), { .imm = START >> 32 }, SET(3, 1), SET(4, -1), SET(5, 0), KFUNC(alloc), ALU32(BPF_MOV, 0, 0), EXIT);
	TRY("at an odd place", MAP(1, m), I(BPF_LD | BPF_DW | BPF_IMM, 2, 0, 0, 0x2008), { .imm = START >> 32 }, SET(3, 1), SET(4, -1), SET(5, 0), KFUNC(alloc), ALU32(BPF_MOV, 0, 0), EXIT);
	TRY("beyond", MAP(1, m), I(BPF_LD | BPF_DW | BPF_IMM, 2, 0, 0, 0x4000), { .imm = START >> 32 }, SET(3, 1), SET(4, -1), SET(5, 0), KFUNC(alloc), ALU32(BPF_MOV, 0, 0), EXIT);
	TRY("with flags", MAP(1, m), SET(2, 0), SET(3, 1), SET(4, -1), SET(5, 1), KFUNC(alloc), EXIT);
	TRY("on node 5", MAP(1, m), SET(2, 0), SET(3, 1), SET(4, 5), SET(5, 0), KFUNC(alloc), EXIT);
	TRY("none", MAP(1, m), SET(2, 0), SET(3, 0), SET(4, -1), SET(5, 0), KFUNC(alloc), EXIT);
	TRY("all of it back", MAP(1, m), SET(2, 1), SET(3, 100), KFUNC(release), SET(0, 0), EXIT);
	TRY("back from below", MAP(1, other), SET(2, 1), SET(3, 100), KFUNC(release), SET(0, 0), EXIT);
	say("user: %x\n", page[1024]);
	TRY("a page of the other", ALLOC(other, 1), ALU32(BPF_MOV, 0, 0), EXIT);
	say("other: write %r %r\n", sys(__NR_write, p[1], START + 0x100000, 1), sys(__NR_write, p[1], START + 0x101000, 1));

	TRY("to user space", MAP(1, m), SET(2, 0x1008), CAST(3, 2), CAST_USER(4, 3), MOV(0, 4), ALUK(BPF_RSH, 0, 32), EXIT);
	TRY("NULL to user space", MAP(1, m), SET(2, 0), CAST_USER(4, 2), MOV(0, 4), EXIT);
	TRY("sums", MAP(1, m), SET(2, 0x1000), CAST(3, 2), ADD(3, 16), ALUK(BPF_SUB, 3, 8), ALUK(BPF_AND, 3, -8), ALUK(BPF_MUL, 3, 1), ALU32K(BPF_ADD, 3, 8), I(BPF_ST | BPF_MEM | BPF_H, 3, 0, 0, 0x1234), LOAD(0, 3, 0), EXIT);
	TRY("differences", MAP(1, m), SET(2, 0x1000), CAST(3, 2), MOV(4, 3), ADD(4, 24), ALU(BPF_SUB, 4, 3), LOAD(0, 4, 0), EXIT);
	TRY("number minus pointer", MAP(1, m), SET(2, 0x1000), CAST(3, 2), SET(4, 0x3000), ALU(BPF_SUB, 4, 3), ALU32(BPF_ADD, 4, 2), MOV(0, 4), EXIT);
	TRY("negated", MAP(1, m), SET(2, 0x1000), CAST(3, 2), I(BPF_ALU64 | BPF_NEG, 3, 0, 0, 0), SET(0, 0), EXIT);
	TRY("swapped", MAP(1, m), SET(2, 0x1000), CAST(3, 2), I(BPF_ALU | BPF_END, 3, 0, 0, 64), SET(0, 0), EXIT);
	TRY("a move of its half", MAP(1, m), SET(2, 0x1000), CAST(3, 2), ALU32(BPF_MOV, 4, 3), LOAD(0, 4, 0), EXIT);
	TRY("a move with its sign", MAP(1, m), SET(2, 0x1000), CAST(3, 2), I(BPF_ALU64 | BPF_MOV | BPF_X, 4, 3, 32, 0), SET(0, 0), EXIT);
	TRY("a load with a sign", MAP(1, m), SET(2, 0x1000), CAST(3, 2), I(BPF_ST | BPF_MEM | BPF_B, 3, 0, 0, -3), I(BPF_LDX | 0x80 | BPF_B, 0, 3, 0, 0), EXIT);
	TRY("atomics", MAP(1, m), SET(2, 0x1000), CAST(3, 2), I(BPF_ST | BPF_MEM | BPF_DW, 3, 0, 0, 40), SET(4, 2), I(BPF_STX | BPF_ATOMIC | BPF_DW, 3, 4, 0, BPF_ADD), I(BPF_STX | BPF_ATOMIC | BPF_W, 3, 4, 0, BPF_ADD | BPF_FETCH), LOAD(0, 3, 0), ALU(BPF_ADD, 0, 4), EXIT);
	TRY("exchanges", MAP(1, m), SET(2, 0x1000), CAST(3, 2), SET(0, 44), SET(4, 9), I(BPF_STX | BPF_ATOMIC | BPF_DW, 3, 4, 0, BPF_CMPXCHG), I(BPF_STX | BPF_ATOMIC | BPF_W, 3, 4, 0, BPF_XCHG), LOAD(0, 3, 0), ALU(BPF_ADD, 0, 4), EXIT);
	TRY("atomics where nothing is", MAP(1, m), SET(2, 0x3000), CAST(3, 2), SET(4, 2), I(BPF_STX | BPF_ATOMIC | BPF_DW, 3, 4, 0, BPF_ADD | BPF_FETCH), MOV(0, 4), EXIT);
	TRY("an exchange where nothing is", MAP(1, m), SET(2, 0x3000), CAST(3, 2), SET(4, 2), I(BPF_STX | BPF_ATOMIC | BPF_W, 3, 4, 0, BPF_XCHG), MOV(0, 4), EXIT);
	TRY("a comparison where nothing is", MAP(1, m), SET(2, 0x3000), CAST(3, 2), SET(4, 2), SET(0, 7), I(BPF_STX | BPF_ATOMIC | BPF_DW, 3, 4, 0, BPF_CMPXCHG), ALUK(BPF_LSH, 0, 4), ALU(BPF_OR, 0, 4), EXIT);
	TRY("not cast", MAP(1, m), SET(2, 0x1000), LOAD(0, 2, 0), EXIT);
	TRY("what came from the arena", MAP(1, m), SET(2, 0x1000), CAST(2, 2), LOAD(3, 2, 0), LOAD(0, 3, 0), EXIT);
	TRY("a list", MAP(1, m), SET(2, 0x1000), CAST(2, 2), I(BPF_ST | BPF_MEM | BPF_DW, 2, 0, 0, 0x1010), I(BPF_ST | BPF_MEM | BPF_DW, 2, 0, 16, 31), LOAD(3, 2, 0), CAST(3, 3), LOAD(0, 3, 0), EXIT);
	TRY("compared", MAP(1, m), SET(2, 0x1000), CAST(2, 2), I(BPF_JMP | BPF_JNE | BPF_K, 2, 0, 2, 0), SET(0, 1), EXIT, I(BPF_JMP | BPF_JGT | BPF_K, 2, 0, 2, 0x2000), SET(0, 2), EXIT, SET(0, 3), EXIT);
	TRY("compared with each other", MAP(1, m), SET(2, 0x1000), CAST(2, 2), MOV(3, 2), ADD(3, 8), I(BPF_JMP | BPF_JLT | BPF_X, 2, 3, 2, 0), SET(0, 1), EXIT, SET(0, 2), EXIT);
	TRY("kept on the stack", MAP(1, m), SET(2, 0x1000), CAST(2, 2), STORE(10, 2, -8), LOAD(3, 10, -8), LOAD(0, 3, 0), EXIT);
	TRY("kept in the arena", MAP(1, m), SET(2, 0x1000), CAST(2, 2), STORE(2, 2, 8), STORE(2, 10, 16), LOAD(0, 2, 8), EXIT);
	TRY("returned", MAP(1, m), SET(2, 0x1000), CAST(0, 2), EXIT);
	TRY("given to a helper", MAP(1, m), SET(2, 0x1000), CAST(1, 2), SET(2, 16), CALL(BPF_FUNC_get_current_comm), SET(0, 0), EXIT);
	TRY("given as a number", MAP(6, m), SET(2, 0x1000), CAST(3, 2), MOV(1, 10), ADD(1, -8), SET(2, 8), CALL(BPF_FUNC_probe_read_kernel), SET(0, 0), EXIT);
	TRY("another path", MAP(6, m), LOAD(3, 1, 0), SET(2, 0x1000), CAST(2, 2), I(BPF_JMP | BPF_JNE | BPF_K, 3, 0, 1, 0), MOV(2, 10), I(BPF_ST | BPF_MEM | BPF_DW, 2, 0, -8, 0), SET(0, 0), EXIT);
	TRY("the value's address", VALUE(2, m, 8), MOV(0, 2), EXIT);
	TRY("the last byte", VALUE(2, m, 0x4000), MOV(0, 2), EXIT);
	TRY("behind the last", VALUE(2, m, 0x4001), MOV(0, 2), EXIT);
	TRY("the value", VALUE(2, m, 0), CAST(2, 2), LOAD(0, 2, 0), EXIT);
	TRY("a helper for maps", MAP(1, m), MOV(2, 10), ADD(2, -8), I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0), CALL(BPF_FUNC_map_lookup_elem), SET(0, 0), EXIT);
	TRY("pages of a number", SET(1, 0), SET(2, 0), SET(3, 1), SET(4, -1), SET(5, 0), KFUNC(alloc), SET(0, 0), EXIT);
	TRY("pages of the context", SET(2, 0), SET(3, 1), SET(4, -1), SET(5, 0), KFUNC(alloc), SET(0, 0), EXIT);
	{
		struct bpf_insn code[] = { ALLOC(m, 1), SET(0, 0), EXIT }, cast[] = { MAP(1, m), SET(2, 0x1000), CAST(2, 2), LOAD(0, 2, 0), EXIT };
		try("a socket filter allocates", BPF_PROG_TYPE_SOCKET_FILTER, 0, code, sizeof(code) / sizeof(*code));
		try("a socket filter looks", BPF_PROG_TYPE_SOCKET_FILTER, 0, cast, sizeof(cast) / sizeof(*cast));
	}
	{
		long plain = arena(0, 0, 2, MMAPABLE | NO_USER_CONV, START + 0x200000);
		TRY("without conversion", MAP(1, plain), SET(2, 0x1008), CAST(3, 2), CAST_USER(4, 3), MOV(0, 4), EXIT);
	}
	struct bpf_map_info info;
	memset(&info, 0, sizeof(info));
	attr.info.bpf_fd = m, attr.info.info_len = sizeof(info), attr.info.info = (ulong)&info;
	bpf(BPF_OBJ_GET_INFO_BY_FD);
	say("info: %d %d %d %d %x %x\n", info.type, info.key_size, info.value_size, info.max_entries, info.map_flags, (int)(info.map_extra >> 32));
	c = sys(__NR_munmap, START, 0x4000);
	say("unmapped %d\n", c);
	TRY("after the mapping", MAP(1, m), SET(2, 0x1000), CAST(2, 2), LOAD(0, 2, 8), EXIT);
	shown("back", START, 0x4000, 3, 0x11, m, 0);
	say("user: %x\n", page[1024 + 2]);
	long big = arena(0, 0, 16, MMAPABLE, START + 0x400000);
	ulong at0 = START + 0x400000;
	int reserve = btf_id("bpf_arena_reserve_pages", 12);
	static const unsigned char first[] = { 3, 2, 1, 4 }, then[] = { 1, 2, 5, 1, 1, 1, 1 };
	for (int i = 0; i < 4; i++)
		pages("get", alloc, big, 0, first[i]);
	pages("give", release, big, at0 + 0x3000, 2);
	pages("give", release, big, at0, 1);
	pages("give", release, big, at0 + 0x6000, 1);
	for (int i = 0; i < 7; i++)
		pages("get", alloc, big, 0, then[i]);
	pages("give", release, big, at0 + 0x2000, 3);
	pages("give", release, big, at0 + 0x9000, 2);
	pages("give", release, big, at0 + 0x5000, 1);
	pages("get", alloc, big, at0 + 0x3000, 1);
	pages("get", alloc, big, at0 + 0x3000, 2);
	for (int i = 0; i < 4; i++)
		pages("get", alloc, big, 0, 1);
	if (reserve > 0) {
		pages("give", release, big, at0, 16);
		pages("reserve", reserve, big, at0 + 0x2000, 2);
		pages("reserve", reserve, big, at0 + 0x3000, 2);
		pages("reserve", reserve, big, at0 + 0x3008, 2);
		pages("reserve", reserve, big, at0 + 0xf000, 2);
		pages("reserve", reserve, big, at0 + 0x5000, 0);
		pages("get", alloc, big, at0 + 0x2000, 1);
		pages("get", alloc, big, 0, 13);
		pages("get", alloc, big, 0, 12);
		shown("its mapping", at0, 0x10000, 3, 0x11, big, 0);
		say("reserved: write %r\n", sys(__NR_write, p[1], at0 + 0x2000, 1));
	}
	return 0;
}
