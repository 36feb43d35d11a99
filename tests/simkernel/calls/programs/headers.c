/* Options in TCP headers by programs: room, writing and finding them at every callback, on the saved SYN, too.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

#define WORD(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define KEEP(o) I(BPF_STX | BPF_MEM | BPF_W, 7, 0, o, 0)
enum { OP = 0, ARGS = 4, FULL = 72, SKB_DATA = 192, SKB_DATA_END = 200, SKB_FLAGS = 212 };

static struct { unsigned flags, reserve, reserve_flags, size; unsigned char option[16]; unsigned load_size, load_flags; unsigned char search[16]; unsigned pad[2]; } set;
struct seen { unsigned there, full, reserve, store, again, load, found[2], why, syn, syn_ip, syn_mac, pad[4]; };
static long settings, table;

static int lookup(struct bpf_insn *code, int n, long map)
{
#define E(...) (code[n++] = (__VA_ARGS__))
	E(MOV(2, 10)), E(ADD(2, -4)), E(I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map)), E(I(0, 0, 0, 0, 0));
	E(CALL(BPF_FUNC_map_lookup_elem)), E(I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0)), E(SET(0, 1)), E(EXIT);
	return n;
}

/* Does everything at every callback and keeps what was said, by operation and flags of the segment. */
static long program(void)
{
	static struct bpf_insn code[300];
	int n = 0;
	E(MOV(6, 1)), E(I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0));
	n = lookup(code, n, settings), E(MOV(8, 0));
	E(WORD(1, 6, OP)), E(I(BPF_ALU64 | BPF_LSH | BPF_K, 1, 0, 0, 8)), E(WORD(2, 6, SKB_FLAGS)), E(AND(2, 255)), E(I(BPF_ALU64 | BPF_OR | BPF_X, 1, 2, 0, 0));
	E(I(BPF_STX | BPF_MEM | BPF_W, 10, 1, -4, 0));
	n = lookup(code, n, table), E(MOV(7, 0));
	E(SET(0, 1)), E(KEEP(0)), E(WORD(0, 6, FULL)), E(KEEP(4)), E(WORD(0, 6, ARGS)), E(KEEP(32));
	E(MOV(1, 6)), E(WORD(2, 8, 4)), E(WORD(3, 8, 8)), E(CALL(BPF_FUNC_reserve_hdr_opt)), E(KEEP(8));
	for (int twice = 0; twice < 2; twice++)
		E(MOV(1, 6)), E(MOV(2, 8)), E(ADD(2, 16)), E(WORD(3, 8, 12)), E(AND(3, 15)), E(ADD(3, 1)), E(SET(4, 0)), E(CALL(BPF_FUNC_store_hdr_opt)), E(KEEP(12 + 4 * twice));
	E(LOAD(1, 8, 40)), E(STORE(10, 1, -32)), E(LOAD(1, 8, 48)), E(STORE(10, 1, -24));
	E(MOV(1, 6)), E(MOV(2, 10)), E(ADD(2, -32)), E(WORD(3, 8, 32)), E(AND(3, 15)), E(ADD(3, 1)), E(WORD(4, 8, 36)), E(CALL(BPF_FUNC_load_hdr_opt)), E(KEEP(20));
	E(WORD(0, 10, -32)), E(KEEP(24)), E(WORD(0, 10, -28)), E(KEEP(28));
	for (int which = 0; which < 3; which++) {
		E(MOV(1, 6)), E(SET(2, 6)), E(SET(3, 1005 + which)), E(MOV(4, 10)), E(ADD(4, -160)), E(SET(5, 120)), E(CALL(BPF_FUNC_getsockopt));
		E(I(BPF_ALU64 | BPF_LSH | BPF_K, 0, 0, 0, 32)), E(I(BPF_ALU64 | BPF_ARSH | BPF_K, 0, 0, 0, 32)), E(I(BPF_JMP | BPF_JSLE | BPF_K, 0, 0, 1, 0)), E(SET(0, 1)), E(KEEP(36 + 4 * which));
	}
	E(WORD(2, 8, 0)), E(WORD(1, 6, OP)), E(I(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 3, 3)), E(I(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 2, 11));
	E(SET(0, 1)), E(EXIT), E(MOV(1, 6)), E(CALL(BPF_FUNC_sock_ops_cb_flags_set)), E(SET(0, 1)), E(EXIT);
	return bpf_program(BPF_PROG_TYPE_SOCK_OPS, code, n);
}

static void talk(int family, int save)
{
	unsigned short address[14] = { family };
	int size = sizeof(address), length = family == 2 ? 16 : 28, one = 1;
	char text[16];
	if (family == 2)
		address[2] = 0x7f, address[3] = 0x0100;
	else
		address[11] = 0x0100;
	long listener = sys(__NR_socket, family, 1, 0);
	sys(__NR_setsockopt, listener, 6, 27, &save, 4);
	sys(__NR_bind, listener, address, length);
	sys(__NR_listen, listener, 4);
	sys(__NR_getsockname, listener, address, &size);
	long a = sys(__NR_socket, family, 1, 0);
	sys(__NR_setsockopt, a, 6, 1, &one, 4);
	say(" connect %r", sys(__NR_connect, a, address, length));
	long b = sys(__NR_accept, listener, 0, 0);
	say(" there %r", sys(__NR_sendto, a, "there", 5, 0, 0, 0));
	say(" %r", sys(__NR_recvfrom, b, text, 16, 0, 0, 0));
	say(" back %r", sys(__NR_sendto, b, "back", 4, 0, 0, 0));
	say(" %r\n", sys(__NR_recvfrom, a, text, 16, 0, 0, 0));
	nap(60);
	sys(__NR_close, a);
	nap(60);
	sys(__NR_close, b);
	nap(60);
	sys(__NR_close, listener);
}

static void told(void)
{
	static const int flags[] = { 0, 2, 0x12, 0x10, 0x18, 0x11, 0x19 };
	for (unsigned op = 1; op < 16; op++)
		for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
			struct seen s;
			bpf_element(BPF_MAP_LOOKUP_ELEM, table, op << 8 | flags[i], &s);
			if (!s.there)
				continue;
			say("  %d", op);
			say(" %x full %d why %d:", (long)flags[i], s.full, op > 12 ? s.why : 0);
			say(" reserve %r store %r again %r", (long)(int)s.reserve, (long)(int)s.store, (long)(int)s.again);
			say(" load %r %x %x", (long)(int)s.load, (long)s.found[0], (long)s.found[1]);
			say(" syn %r %r %r\n", (long)(int)s.syn, (long)(int)s.syn_ip, (long)(int)s.syn_mac);
			memset(&s, 0, sizeof(s));
			bpf_element(BPF_MAP_UPDATE_ELEM, table, op << 8 | flags[i], &s);
		}
}

static void with(const char *what, int family, int save, int flags, int reserve, const char *option, int size, const char *search, int load_size, int load_flags)
{
	memset(&set, 0, sizeof(set));
	set.flags = flags, set.reserve = reserve & 0xff, set.reserve_flags = reserve >> 8;
	set.size = size - 1, set.load_size = load_size - 1, set.load_flags = load_flags;
	memcpy(set.option, option, 8), memcpy(set.search, search, 8);
	bpf_element(BPF_MAP_UPDATE_ELEM, settings, 0, &set);
	say("-- %s:", what);
	talk(family, save);
	told();
}

#define PLAIN "\x99\4AB\0\0\0"
#define MAGIC "\xfe\6\xeb\x9f" "CD\0"
#define ALL 0x50
#define UNKNOWN 0x60

int main(int argc, char **argv)
{
	settings = bpf_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(set), 1, 0);
	table = bpf_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct seen), 4096, 0);
	long prog = program(), group = sys(__NR_openat, AT_FDCWD, "/sys/fs/cgroup", 0, 0);
	say("program %r", prog < 0 ? prog : 0);
	attr.target_fd = group, attr.attach_bpf_fd = prog, attr.attach_type = BPF_CGROUP_SOCK_OPS;
	say(" attach %r\n", bpf(BPF_PROG_ATTACH));
	for (int family = 2; family < 11; family += 8) {
		with("a kind", family, 0, ALL, 4, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 0);
		with("a magic number", family, 0, ALL, 6, MAGIC, 6, "\xfe\4\xeb\x9f\0\0\0", 8, 0);
		with("a longer magic number", family, 0, ALL, 6, MAGIC, 6, "\xfe\6\xeb\x9f" "CD\0", 8, 0);
		with("another magic number", family, 0, ALL, 6, MAGIC, 6, "\xfe\4\xeb\x9e\0\0\0", 8, 0);
		with("the SYN's", family, 1, ALL, 4, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 1);
		with("the SYN's with the device's", family, 2, ALL, 4, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 1);
		with("what is unknown", family, 0, UNKNOWN, 4, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 0);
		with("what is known", family, 0, UNKNOWN, 4, "\x22\4AB\0\0\0", 4, "\x99\0\0\0\0\0\0", 8, 0);
		with("all without writing", family, 0, 0x10, 4, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 0);
		with("nothing asked for", family, 0, 0, 4, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 0);
	}
	with("too little room", 2, 0, ALL, 1, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 0);
	with("too much room", 2, 0, ALL, 41, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 0);
	with("all the room", 2, 0, ALL, 20, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 0);
	with("odd room", 2, 0, ALL, 5, "\x99\5ABC\0\0", 5, "\x99\0\0\0\0\0\0", 8, 0);
	with("less room than written", 2, 0, ALL, 2, "\x99\5ABC\0\0", 5, "\x99\0\0\0\0\0\0", 8, 0);
	with("less written than room", 2, 0, ALL, 8, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 0);
	with("flags of room", 2, 0, ALL, 0x104, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 0);
	with("longer than given", 2, 0, ALL, 4, PLAIN, 3, "\x99\0\0\0\0\0\0", 8, 0);
	with("no operation", 2, 0, ALL, 4, "\1\4AB\0\0\0", 4, "\1\0\0\0\0\0\0", 8, 0);
	with("the end", 2, 0, ALL, 4, "\0\4AB\0\0\0", 4, "\0\0\0\0\0\0\0", 8, 0);
	with("a magic number too short", 2, 0, ALL, 4, "\xfe\3A\0\0\0\0", 4, "\xfe\3A\0\0\0\0", 8, 0);
	with("looked for with a length", 2, 0, ALL, 4, PLAIN, 4, "\x99\4\0\0\0\0\0", 8, 0);
	with("looked for in too little", 2, 0, ALL, 4, PLAIN, 4, "\x99\0\0\0\0\0\0", 1, 0);
	with("found in too little", 2, 0, ALL, 4, PLAIN, 4, "\x99\0\0\0\0\0\0", 2, 0);
	with("other flags", 2, 0, ALL, 4, PLAIN, 4, "\x99\0\0\0\0\0\0", 8, 2);
	with("broken", 2, 0, ALL, 4, "\x99\0AB\0\0\0", 4, "\x99\0\0\0\0\0\0", 8, 0);
	return 0;
}
