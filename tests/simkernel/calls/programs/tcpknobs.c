/* What programs of sock_ops set of TCP alone (TCP_BPF_IW, _SNDCWND_CLAMP, _DELACK_MAX, _RTO_MIN): which values, when, what comes of them.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

#define WORD(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define KEEP(o) I(BPF_STX | BPF_MEM | BPF_W, 7, 0, o, 0)
#define E(...) (code[n++] = (__VA_ARGS__))
#define VALUE(reg, map) (E(I(BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_MAP_VALUE, 0, map)), E(I(0, 0, 0, 0, 0)))
enum { OP = 0, SK = 184, LISTEN = 11, CONNECT = 3, ACTIVE = 4, PASSIVE = 5 };
/* of Debian's 6.1: icsk_rto_min, icsk_delack_max, snd_ssthresh, snd_cwnd, snd_cwnd_clamp */
static const int members[] = { 1220, 1224, 1772, 1776, 1784 };
static struct { unsigned op, name, length, value; } set;
static struct { int there, set, get, got, before[5], after[5], child[5]; } seen;
static long settings, notes;

static int look(struct bpf_insn *code, int n, int to)
{
	E(MOV(1, 9)), E(CALL(BPF_FUNC_skc_to_tcp_sock)), E(I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0)), E(SET(0, 1)), E(EXIT), E(MOV(1, 0));
	for (int i = 0; i < 5; i++)
		E(WORD(0, 1, members[i])), E(KEEP(to + 4 * i));
	return n;
}

static long program(void)
{
	static struct bpf_insn code[200];
	static char log[9000];
	int n = 0;
	E(MOV(6, 1)), VALUE(7, notes), VALUE(8, settings);
	E(LOAD(9, 6, SK)), E(I(BPF_JMP | BPF_JNE | BPF_K, 9, 0, 2, 0)), E(SET(0, 1)), E(EXIT);
	E(WORD(1, 6, OP));
	int other = n;
	E(I(BPF_JMP | BPF_JNE | BPF_K, 1, 0, 0, PASSIVE)), n = look(code, n, 56), code[other].off = n - other - 1;
	E(WORD(1, 6, OP)), E(WORD(2, 8, 0)), E(I(BPF_JMP | BPF_JEQ | BPF_X, 1, 2, 2, 0)), E(SET(0, 1)), E(EXIT);
	E(SET(0, 1)), E(KEEP(0)), n = look(code, n, 16);
	E(WORD(1, 8, 12)), E(STORE(10, 1, -8)), E(I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0));
	E(MOV(1, 6)), E(SET(2, 6)), E(WORD(3, 8, 4)), E(MOV(4, 10)), E(ADD(4, -8)), E(WORD(5, 8, 8)), E(AND(5, 7)), E(ADD(5, 1)), E(CALL(BPF_FUNC_setsockopt)), E(KEEP(4));
	E(MOV(1, 6)), E(SET(2, 6)), E(WORD(3, 8, 4)), E(MOV(4, 10)), E(ADD(4, -16)), E(SET(5, 4)), E(CALL(BPF_FUNC_getsockopt)), E(KEEP(8)), E(WORD(0, 10, -16)), E(KEEP(12));
	n = look(code, n, 36);
	E(SET(0, 1)), E(EXIT);
	attr.log_level = 1, attr.log_buf = (ulong)log, attr.log_size = sizeof(log);
	long prog = bpf_program(BPF_PROG_TYPE_SOCK_OPS, code, n);
	if (prog < 0)
		say("%s\n", log);
	return prog;
}

static void talk(int family, int bytes)
{
	static char text[70000];
	unsigned short address[14] = { family };
	int size = sizeof(address), length = family == 2 ? 16 : 28;
	unsigned info[26];
	if (family == 2)
		address[2] = 0x7f, address[3] = 0x0100;
	else
		address[11] = 0x0100;
	long listener = sys(__NR_socket, family, 1, 0);
	sys(__NR_bind, listener, address, length);
	sys(__NR_listen, listener, 4);
	sys(__NR_getsockname, listener, address, &size);
	long a = sys(__NR_socket, family, 1, 0);
	sys(__NR_connect, a, address, length);
	long b = sys(__NR_accept, listener, 0, 0);
	if (bytes) {
		long sent = sys(__NR_sendto, a, text, bytes, 0x40, 0, 0), got = 0, more;
		while (got < sent && (more = sys(__NR_recvfrom, b, text, sizeof(text), 0, 0, 0)) > 0)
			got += more;
		nap(20);
		size = sizeof(info), sys(__NR_getsockopt, a, 6, 11, info, &size);
		say("  %d bytes: window %d, threshold %d, time-out is %s 100 ms", bytes, info[20], info[19] == 0x7fffffff ? -1 : (int)info[19], info[2] > 100000 ? "over" : "under");
		say(" got %l\n", got);
	}
	sys(__NR_close, a), sys(__NR_close, b), sys(__NR_close, listener);
}

static void with(int family, int op, int name, int length, unsigned value, int bytes)
{
	set.op = op, set.name = name, set.length = length - 1, set.value = value;
	bpf_element(BPF_MAP_UPDATE_ELEM, settings, 0, &set);
	memset(&seen, 0, sizeof(seen));
	bpf_element(BPF_MAP_UPDATE_ELEM, notes, 0, &seen);
	say("-- at %d, %d of %d bytes to %d\n", op, name, length, value);
	talk(family, bytes);
	bpf_element(BPF_MAP_LOOKUP_ELEM, notes, 0, &seen);
	say("  %d: set %r", seen.there, (long)seen.set);
	say(" get %r", (long)seen.get);
	say(" %d;", seen.got);
	static const char *const names[] = { "rto_min", "delack_max", "ssthresh", "cwnd", "clamp" };
	for (int i = 0; i < 5; i++)
		if (seen.after[i] != seen.before[i])
			say(" %s %d to %d", names[i], seen.before[i], seen.after[i]);
	if (op == LISTEN || op == PASSIVE)
		for (int i = 0; i < 5; i++)
			say(i ? " %d" : " child %d", seen.child[i]);
	say("\n");
}

int main(int argc, char **argv)
{
	static const unsigned times[] = { 0, 1, 3999, 4000, 4001, 8000, 8001, 12000, 100000, 196000, 199999, 200000, 200001, 204000, 1000000, 0x7fffffff, 0x80000000, -1 };
	static const unsigned windows[] = { 0, 1, 2, 5, 10, 100, 0x7fffffff, 0x80000000, -1 };
	settings = bpf_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(set), 1, 0), notes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(seen), 1, 0);
	long prog = program(), group = sys(__NR_openat, AT_FDCWD, "/sys/fs/cgroup", 0, 0);
	say("program %r", prog < 0 ? prog : 0);
	attr.target_fd = group, attr.attach_bpf_fd = prog, attr.attach_type = BPF_CGROUP_SOCK_OPS;
	say(" attach %r\n", bpf(BPF_PROG_ATTACH));
	for (int name = 1003; name <= 1004; name++)
		for (unsigned i = 0; i < sizeof(times) / sizeof(*times); i++)
			with(2, ACTIVE, name, 4, times[i], 0);
	for (int name = 1001; name <= 1002; name++)
		for (unsigned i = 0; i < sizeof(windows) / sizeof(*windows); i++)
			with(2, ACTIVE, name, 4, windows[i], 0);
	for (int name = 1000; name <= 1009; name++) {
		with(2, CONNECT, name, 4, 20000, 0), with(2, LISTEN, name, 4, 20000, 0), with(2, PASSIVE, name, 4, 20000, 0), with(10, ACTIVE, name, 4, 20000, 0);
		with(2, ACTIVE, name, 1, 20000, 0), with(2, ACTIVE, name, 3, 20000, 0), with(2, ACTIVE, name, 5, 20000, 0), with(2, ACTIVE, name, 8, 20000, 0);
	}
	with(2, ACTIVE, 1004, 4, 20000, 5000), with(2, CONNECT, 1004, 4, 20000, 5000), with(2, LISTEN, 1004, 4, 20000, 5000);
	with(2, ACTIVE, 1001, 4, 2, 5000), with(2, CONNECT, 1001, 4, 3, 5000), with(2, ACTIVE, 1002, 4, 5, 60000), with(2, CONNECT, 1002, 4, 5, 60000);
	flush();
	return 0;
}
