/* Programs of socket maps on connections: attaching, verdicts, parsers, messages.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_tcp.h"
#include <linux/bpf.h>

#define I(c, d, s, o, i) (struct bpf_insn){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i }
#define MAP(r, fd) I(BPF_LD | BPF_DW, r, BPF_PSEUDO_MAP_FD, 0, fd), I(0, 0, 0, 0, 0)
#define MOV(d, i) I(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define COPY(d, s) I(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define EXIT I(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define CALL(n) I(BPF_JMP | BPF_CALL, 0, 0, 0, n)
#define LOAD(insns, type) load(insns, sizeof(insns) / sizeof(insns[0]), type)

static long bpf(int cmd, union bpf_attr *attr) { return sys(__NR_bpf, cmd, attr, sizeof(*attr)); }

static long map_of(int type, int entries)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.map_type = type;
	a.key_size = 4;
	a.value_size = 4;
	a.max_entries = entries;
	return bpf(BPF_MAP_CREATE, &a);
}

static long load(struct bpf_insn *insns, int count, int type)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.prog_type = type;
	a.insns = (ulong)insns;
	a.insn_cnt = count;
	a.license = (ulong)"GPL";
	return bpf(BPF_PROG_LOAD, &a);
}

static long attach(int cmd, long map, long prog, int type)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.target_fd = map;
	a.attach_bpf_fd = prog;
	a.attach_type = type;
	return bpf(cmd, &a);
}

static long change(int cmd, long map, int key, int value, long flags)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.map_fd = map;
	a.key = (ulong)&key;
	a.value = cmd == BPF_MAP_DELETE_ELEM ? 0 : (ulong)&value;
	a.flags = flags;
	return bpf(cmd, &a);
}
#define put_in(map, key, fd) change(BPF_MAP_UPDATE_ELEM, map, key, fd, 0)
#define take_out(map, key) change(BPF_MAP_DELETE_ELEM, map, key, 0, 0)

static void heard(const char *who, int fd)
{
	char text[64];
	nap(30);
	long n = sys(__NR_recvfrom, fd, text, sizeof(text) - 1, 0x40, 0, 0);
	text[n > 0 ? n : 0] = 0;
	say("  %s %r %s\n", who, n, text);
}

static long said(int fd, const char *text) { return sys(__NR_sendto, fd, text, strlen(text), 0x4000, 0, 0); }

/* Pulls so many bytes to where it can see them, and goes by the first: d drop, p pass, e out of the socket at 0, i into its queue, others into an empty place. */
static long verdict(long map, int pull)
{
	struct bpf_insn code[] = {
		COPY(6, 1), MOV(2, pull), I(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1, 0), CALL(39), COPY(1, 6),
		I(BPF_LDX | BPF_MEM | BPF_W, 2, 1, 76, 0), I(BPF_LDX | BPF_MEM | BPF_W, 3, 1, 80, 0),
		MOV(0, 1), COPY(4, 2), I(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, 1), I(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 11, 0),
		I(BPF_LDX | BPF_MEM | BPF_B, 5, 2, 0, 0), I(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 9, 'p'),
		MOV(0, 0), I(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 7, 'd'), MOV(3, 0), MOV(4, 0),
		I(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 3, 'e'), MOV(4, 1), I(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 1, 'i'), MOV(3, 3),
		I(BPF_JMP | BPF_JA, 0, 0, 1, 0), EXIT, COPY(1, 6), MAP(2, map), CALL(52), EXIT,
	};
	return LOAD(code, BPF_PROG_TYPE_SK_SKB);
}

/* A message is as long as its second byte says, after '0'. */
static long parser(void)
{
	struct bpf_insn code[] = {
		COPY(6, 1), MOV(2, 2), CALL(39), COPY(1, 6),
		I(BPF_LDX | BPF_MEM | BPF_W, 2, 1, 76, 0), I(BPF_LDX | BPF_MEM | BPF_W, 3, 1, 80, 0), MOV(0, 0), COPY(4, 2),
		I(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, 2), I(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 2, 0),
		I(BPF_LDX | BPF_MEM | BPF_B, 0, 2, 1, 0), I(BPF_ALU64 | BPF_SUB | BPF_K, 0, 0, 0, '0'), EXIT,
	};
	return LOAD(code, BPF_PROG_TYPE_SK_SKB);
}

/* The same on what is sent; c waits for 6 bytes, a drops 2 and then asks again. */
static long on_message(long map)
{
	struct bpf_insn code[] = {
		COPY(6, 1), I(BPF_LDX | BPF_MEM | BPF_DW, 2, 1, 0, 0), I(BPF_LDX | BPF_MEM | BPF_DW, 3, 1, 8, 0),
		MOV(0, 1), COPY(4, 2), I(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, 1), I(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 25, 0),
		I(BPF_LDX | BPF_MEM | BPF_B, 5, 2, 0, 0), I(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 23, 'p'),
		MOV(0, 0), I(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 21, 'd'),
		I(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 12, 'c'), I(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 15, 'a'), MOV(3, 0), MOV(4, 0),
		I(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 3, 'e'), MOV(4, 1), I(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 1, 'i'), MOV(3, 3),
		COPY(1, 6), MAP(2, map), CALL(60), EXIT,
		MOV(2, 6), CALL(62), MOV(0, 1), EXIT,
		COPY(1, 6), MOV(2, 2), CALL(61), MOV(0, 0), EXIT,
	};
	return LOAD(code, BPF_PROG_TYPE_SK_MSG);
}

static void attaching(void)
{
	long map = map_of(BPF_MAP_TYPE_SOCKMAP, 4), array = map_of(BPF_MAP_TYPE_ARRAY, 4), other = map_of(BPF_MAP_TYPE_SOCKMAP, 4);
	long v = verdict(map, 1), p = parser(), m = on_message(map);
	int fd[2];
	say("load %r", v < 0 ? v : 0);
	say(" %r", p < 0 ? p : 0);
	say(" %r\n", m < 0 ? m : 0);
	say("no program %r", attach(BPF_PROG_ATTACH, map, -1, BPF_SK_SKB_STREAM_PARSER));
	say(" no map %r", attach(BPF_PROG_ATTACH, array, p, BPF_SK_SKB_STREAM_PARSER));
	say(" no descriptor %r", attach(BPF_PROG_ATTACH, -1, p, BPF_SK_SKB_STREAM_PARSER));
	say(" another type %r", attach(BPF_PROG_ATTACH, map, m, BPF_SK_SKB_STREAM_PARSER));
	say(" detach nothing %r", attach(BPF_PROG_DETACH, map, v, BPF_SK_SKB_STREAM_VERDICT));
	say(" detach no program %r\n", attach(BPF_PROG_DETACH, map, 0, BPF_SK_SKB_STREAM_VERDICT));
	say("parser %r", attach(BPF_PROG_ATTACH, map, p, BPF_SK_SKB_STREAM_PARSER));
	say(" again %r", attach(BPF_PROG_ATTACH, map, p, BPF_SK_SKB_STREAM_PARSER));
	say(" verdict %r", attach(BPF_PROG_ATTACH, map, v, BPF_SK_SKB_STREAM_VERDICT));
	say(" another verdict %r", attach(BPF_PROG_ATTACH, map, v, BPF_SK_SKB_VERDICT));
	say(" messages %r", attach(BPF_PROG_ATTACH, map, m, BPF_SK_MSG_VERDICT));
	say(" detach another %r", attach(BPF_PROG_DETACH, map, p, BPF_SK_SKB_STREAM_VERDICT));
	unsigned id = 77;
	union bpf_attr q;
	memset(&q, 0, sizeof(q));
	q.query.target_fd = map;
	q.query.attach_type = BPF_SK_SKB_STREAM_VERDICT;
	q.query.prog_ids = (ulong)&id;
	q.query.prog_cnt = 1;
	say(" query %r", bpf(BPF_PROG_QUERY, &q));
	say(" %d %d", q.query.prog_cnt, id != 77);
	q.query.attach_type = BPF_SK_SKB_VERDICT;
	say(" %r", bpf(BPF_PROG_QUERY, &q));
	say(" %d\n", q.query.prog_cnt);
	connection(fd);
	say("in %r", put_in(map, 0, fd[0]));
	say(" again %r", put_in(map, 0, fd[0]));
	say(" elsewhere %r", put_in(map, 1, fd[0]));
	say(" another map %r", put_in(other, 0, fd[0]));
	attach(BPF_PROG_ATTACH, other, v, BPF_SK_SKB_VERDICT);
	say(" and one with a program %r", put_in(other, 1, fd[0]));
	say(" out %r", take_out(map, 0));
	say(" again %r", take_out(map, 0));
	say(" with a program now %r", put_in(other, 1, fd[0]));
	say(" detach %r\n", attach(BPF_PROG_DETACH, other, v, BPF_SK_SKB_VERDICT));
	for (int n = 3; n < 20; n++)
		sys(__NR_close, n);
}

static const char *unseen[] = { "pass", "drop", "into", 0 };

static void verdicts(int type, int parsing, const char **text)
{
	long in = map_of(BPF_MAP_TYPE_SOCKMAP, 4);
	long targets = map_of(BPF_MAP_TYPE_SOCKMAP, 4);
	int a[2], b[2];
	connection(a);
	connection(b);
	if (parsing)
		attach(BPF_PROG_ATTACH, in, parser(), BPF_SK_SKB_STREAM_PARSER);
	say("attach %r", attach(BPF_PROG_ATTACH, in, type == BPF_SK_MSG_VERDICT ? on_message(targets) : verdict(targets, text != unseen), type));
	say(" in %r", put_in(in, 0, type == BPF_SK_MSG_VERDICT ? a[0] : a[1]));
	say(" target %r\n", put_in(targets, 0, b[0]));
	for (; *text; text++) {
		say(" %s %r\n", *text, said(a[0], *text));
		heard("its reader", a[1]);
		heard("the target", b[0]);
		heard("its peer", b[1]);
	}
	say("out %r", take_out(in, 0));
	say(" %r\n", said(a[0], "drop"));
	heard("its reader", a[1]);
	for (int n = 3; n < 20; n++)
		sys(__NR_close, n);
}

int main(int argc, char **argv)
{
	static const char *plain[] = { "pass", "drop", "else", "into", "nobody", "pass again", 0 };
	static const char *cut[] = { "p4xxd3yp5", "zzz", "i3xe4abp2", "p", "3u", 0 };
	static const char *messages[][5] = {
		{ "pass", "drop", "pass", 0 }, { "else", "into", "pass", "nobody", 0 }, { "cut", "tip", "pass", 0 },
		{ "cut and more", "into", 0 }, { "aapass", "papa", 0 }, { "pass", "it", "end", 0 },
	};
	attaching();
	say("-- a verdict that sees nothing\n");
	verdicts(BPF_SK_SKB_VERDICT, 0, unseen);
	say("-- a verdict\n");
	verdicts(BPF_SK_SKB_VERDICT, 0, plain);
	say("-- of a stream\n");
	verdicts(BPF_SK_SKB_STREAM_VERDICT, 0, plain);
	say("-- with a parser\n");
	verdicts(BPF_SK_SKB_STREAM_VERDICT, 1, cut);
	for (int n = 0; n < 6; n++) {
		say("-- messages\n");
		verdicts(BPF_SK_MSG_VERDICT, 0, messages[n]);
	}
	return 0;
}
