/* Programs on what is sent, editing it: bytes put in, taken out and pulled together; verdicts on parts and on what is kept.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_tcp.h"
#include "tiny_bpf.h"

#define STEPS 7
#define WORD(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define KEEP(o) I(BPF_STX | BPF_MEM | BPF_W, 7, 0, o, 0)
#define UNLESS(i, o) I(BPF_JMP | BPF_JNE | BPF_K, 8, 0, o, i)
enum { NOTHING, PUSH, POP, PULL, APPLY, CORK, MARK };

static struct {
	struct { unsigned what, a, b, flags; } step[STEPS];
	unsigned pad[3], verdict; /* 0 drop, 1 pass, 2 out of the target, 3 into it */
	struct { int ret, seen, size, pad; } result[STEPS];
	unsigned pad2[3], runs;
} orders;

static long table, target;

/* Does what the table says, step by step, and keeps what it saw. */
static long program(void)
{
	static struct bpf_insn code[400];
	int n = 0;
#define E(...) (code[n++] = (__VA_ARGS__))
	E(MOV(6, 1));
	E(I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0)), E(MOV(2, 10)), E(ADD(2, -4));
	E(I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, table)), E(I(0, 0, 0, 0, 0));
	E(CALL(BPF_FUNC_map_lookup_elem)), E(I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0)), E(EXIT);
	E(MOV(7, 0)), E(WORD(1, 7, 252)), E(ADD(1, 1)), E(I(BPF_STX | BPF_MEM | BPF_W, 7, 1, 252, 0));
	for (int k = 0; k < STEPS; k++) {
		static const int calls[] = { 90, 91, 63, 61, 62 };
		E(WORD(8, 7, 16 * k)), E(MOV(1, 6)), E(WORD(2, 7, 16 * k + 4)), E(WORD(3, 7, 16 * k + 8)), E(WORD(4, 7, 16 * k + 12)), E(SET(0, 0));
		for (int c = 0; c < 5; c++)
			E(UNLESS(PUSH + c, 2)), E(CALL(calls[c])), E(I(BPF_JMP | BPF_JA, 0, 0, 3 * (4 - c) + 7, 0));
		E(UNLESS(MARK, 6)), E(MOV(5, 2)), E(LOAD(2, 6, 0)), E(LOAD(3, 6, 8)), E(MOV(4, 2)), E(ADD(4, 1));
		E(I(BPF_JMP | BPF_JLE | BPF_X, 4, 3, 1, 0)), E(I(BPF_JMP | BPF_JA, 0, 0, 1, 0)), E(I(BPF_STX | BPF_MEM | BPF_B, 2, 5, 0, 0));
		code[n - 9].off = 8;
		for (int c = 0; c < 5; c++)
			code[n - 9 - 3 * (5 - c) + 2].off = 9 + 3 * (4 - c);
		E(KEEP(128 + 16 * k));
		E(LOAD(1, 6, 0)), E(LOAD(0, 6, 8)), E(I(BPF_ALU64 | BPF_SUB | BPF_X, 0, 1, 0, 0)), E(KEEP(132 + 16 * k));
		E(WORD(0, 6, 68)), E(KEEP(136 + 16 * k));
	}
	E(WORD(0, 7, 124)), E(I(BPF_JMP | BPF_JGT | BPF_K, 0, 0, 1, 1)), E(EXIT);
	E(MOV(1, 6)), E(SET(4, 0)), E(I(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1, 2)), E(SET(4, 1));
	E(I(BPF_LD | BPF_DW | BPF_IMM, 2, BPF_PSEUDO_MAP_FD, 0, target)), E(I(0, 0, 0, 0, 0)), E(SET(3, 0)), E(CALL(60)), E(EXIT);
	return bpf_program(BPF_PROG_TYPE_SK_MSG, code, n);
}

static char big[100000];

static void heard(const char *who, int fd)
{
	nap(40);
	long n = sys(__NR_recvfrom, fd, big, sizeof(big), 0x40, 0, 0);
	if (n < 0)
		return;
	say("    %s %l ", who, n);
	for (long i = 0; i < n && i < 60; i++)
		say(big[i] >= 32 ? "%s" : ".", (char[]){ big[i], 0 });
	say("\n");
}

/* A message to be sent, with what is done to it: "+START,BYTES" put in, "-" take out, "^START,END" pull, "a" apply, "k" keep, "=CHAR" mark. */
static unsigned number(const char **at)
{
	unsigned n = 0;
	while (**at >= '0' && **at <= '9')
		n = 10 * n + *(*at)++ - '0';
	return n;
}

static void orders_of(const char *at, int verdict)
{
	static const char signs[] = "?+-^ak=";
	memset(&orders, 0, sizeof(orders));
	for (int k = 0; *at; k++) {
		for (int i = 1; i < 7; i++)
			if (*at == signs[i])
				orders.step[k].what = i;
		at++;
		orders.step[k].a = orders.step[k].what == MARK ? *at++ : number(&at);
		if (*at == ',')
			at++, orders.step[k].b = number(&at);
		if (*at == '!')
			at++, orders.step[k].flags = 1;
		if (*at == ' ')
			at++;
	}
	orders.verdict = verdict;
	bpf_element(BPF_MAP_UPDATE_ELEM, table, 0, &orders);
}

static int a[2], b[2];

static void begin_with(void)
{
	target = bpf_map(BPF_MAP_TYPE_SOCKMAP, 4, 4, 2, 0);
	table = bpf_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(orders), 1, 0);
	long map = bpf_map(BPF_MAP_TYPE_SOCKMAP, 4, 4, 2, 0), prog = program();
	if (prog < 0)
		say("program %r\n", prog);
	connection(a);
	connection(b);
	attr.target_fd = map, attr.attach_bpf_fd = prog, attr.attach_type = BPF_SK_MSG_VERDICT;
	bpf(BPF_PROG_ATTACH);
	bpf_element(BPF_MAP_UPDATE_ELEM, map, 0, &a[0]);
	bpf_element(BPF_MAP_UPDATE_ELEM, target, 0, &b[0]);
}

static void end_with(void)
{
	for (int n = 3; n < 20; n++)
		sys(__NR_close, n);
}

static void sends(const char *what, int verdict, const char *text, long size)
{
	orders_of(what, verdict);
	long n = sys(__NR_sendto, a[0], text, size, 0x4040, 0, 0);
	say("  %s: %r", what, n);
	bpf_element(BPF_MAP_LOOKUP_ELEM, table, 0, &orders);
	say(" runs %d", orders.runs);
	for (int k = 0; k < STEPS && orders.step[k].what && orders.runs; k++)
		say(" | %r sees %d of %d", (long)orders.result[k].ret, orders.result[k].seen, orders.result[k].size);
	say("\n");
	heard("its reader", a[1]);
	heard("the target", b[0]);
	heard("its peer", b[1]);
}

int main(int argc, char **argv)
{
	static const char *edits[] = {
		"=X", "+0,3", "+0,3 =X", "+4,3", "+10,3", "+11,3", "+3,0", "+99,0", "+0,3!", "+0,0!", "+0,5000000", "+0,9999", "+5,2 +5,2 +5,2 +0,1",
		"-0,1", "-3,4", "-0,10", "-0,11", "-9,1", "-10,1", "-9,2", "-3,0", "-10,0", "-3,4294967295", "-2,1!", "-0,10 +0,2 =X", "-0,10 +1,2", "-0,10 -0,1", "-0,10 ^0,1",
		"^0,10", "^0,1", "^4,6 =X", "^9,10", "^9,11", "^10,11", "^5,5", "^6,5", "^0,1!", "+4,3 ^0,13 =X", "+4,3 ^3,5 =X", "+4,3 ^5,6 =X", "+4,3 ^8,9 =X", "+4,3 +9,2 ^6,10 =X",
		"-3,2 ^0,8", "-3,2 -2,2", "-3,2 ^3,4 =X", "-3,2 -0,3", "-3,2 -2,6", "-3,2 -1,7", "-3,2 -0,8", "+2,2 -1,4 +5,1", "+2,2 -0,3 +5,1",
		"+1,1 +3,1 +5,1 +7,1 +9,1 +11,1 +13,1", "+1,1 +3,1 +5,1 +7,1 +9,1 -3,5 ^0,9 =X", "^2,4 +0,1", "^2,4 -0,1", "a3 -0,2", "a3 +0,2", "k4", 0
	};
	for (const char **e = edits; *e; e++) {
		begin_with();
		sends(*e, 1, "0123456789", 10);
		end_with();
	}
	say("-- on the way to others\n");
	for (int verdict = 0; verdict < 4; verdict++) {
		static const char *others[] = { "", "+2,2", "-2,2", "-0,10", "+0,4", "a4", "a4 -0,2", "a4 +0,2", "a40 +0,2", "a3 k5", 0 };
		for (const char **e = others; *e; e++) {
			if (verdict == 3 && streq(*e, "a3 k5")) /* the ring of pieces is broken then */
				continue;
			begin_with();
			say("%d", verdict);
			sends(*e, verdict, "0123456789", 10);
			sends("", 1, "abc", 3);
			sends("", 1, "def", 3);
			end_with();
		}
	}
	say("-- kept until there is more\n");
	for (int verdict = 0; verdict < 4; verdict++) {
		static const char *kept[] = { "k12", "k12 +0,1", "k12 +12,1", "k12 +10,1", "k12 -9,1", "k12 -0,1", "k12 -4,2", "k20 +0,10", "a2 k12", "k13 a12", "k10", "k11", 0 };
		for (const char **e = kept; *e; e++) {
			begin_with();
			say("%d", verdict);
			sends(*e, verdict, "0123456789", 10);
			sends("=X", verdict, "abc", 3);
			sends("=Y", verdict, "def", 3);
			sends("k0", verdict, "ghi", 3);
			sends("", 1, "jkl", 3);
			end_with();
		}
	}
	say("-- much\n");
	for (long i = 0; i < (long)sizeof(big); i++)
		big[i] = 'a' + i % 26;
	begin_with();
	sends("^0,1", 1, big, 30000);
	sends("^0,30000", 1, big, 30000);
	end_with();
	return 0;
}
