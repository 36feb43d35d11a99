/* Every helper that a test run can call, with arguments at the edges: result, stack and packet afterwards.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

#define FN(name) #name
static const char *const helpers[] = { __BPF_FUNC_MAPPER(FN) };
#undef FN

enum { SLOTS = 8, STACK = 24 }; /* results of calls, then words of the stack */
static unsigned long long noted[SLOTS + STACK];
static struct bpf_insn code[512];
static int count;
static unsigned char packet[96], after[512];
static char text[64] = "some text of user space";
static long maps[26], notes;

static void emit(struct bpf_insn insn) { code[count++] = insn; }
static void wide(int reg, int src, unsigned long long value)
{
	emit(I(BPF_LD | BPF_DW | BPF_IMM, reg, src, 0, (int)value));
	emit(I(0, 0, 0, 0, (int)(value >> 32)));
}

static const char *at;
static int logging;
static int word(char *to)
{
	int n = 0;
	while (*at == ' ')
		at++;
	while (*at && *at != ' ' && *at != ';' && n < 30)
		to[n++] = *at++;
	to[n] = 0;
	return n;
}
static long long number(const char *s)
{
	int minus = *s == '-', base = 10;
	unsigned long long v = 0;
	s += minus;
	if (s[0] == '0' && s[1] == 'x')
		base = 16, s += 2;
	for (; *s; s++)
		v = v * base + (*s > '9' ? *s - 'a' + 10 : *s - '0');
	return minus ? -v : v;
}

/* c context, sN stack, mX map, p what the last call gave, u user text, v value of the notes' map, else a number */
static void argument(int reg, const char *s)
{
	switch (*s) {
	case 'c': emit(MOV(reg, 6)); break;
	case 's': emit(MOV(reg, 10)); emit(ADD(reg, -number(s + 1))); break;
	case 'm': wide(reg, BPF_PSEUDO_MAP_FD, maps[s[1] - 'a']); break;
	case 'p': emit(MOV(reg, 7)); break;
	case 'q': emit(MOV(reg, 9)); break;
	case 'u': wide(reg, 0, (ulong)text + number(s + 1)); break;
	case 'v': emit(MOV(reg, 8)); emit(ADD(reg, number(s + 1))); break;
	default: wide(reg, 0, number(s));
	}
}

static const struct { const char *name; int type, attach, flags; } kinds[] = {
	{ "filter", BPF_PROG_TYPE_SOCKET_FILTER }, { "cls", BPF_PROG_TYPE_SCHED_CLS }, { "act", BPF_PROG_TYPE_SCHED_ACT },
	{ "xdp", BPF_PROG_TYPE_XDP }, { "cgskb", BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS }, { "lwtin", BPF_PROG_TYPE_LWT_IN },
	{ "lwtout", BPF_PROG_TYPE_LWT_OUT }, { "lwtxmit", BPF_PROG_TYPE_LWT_XMIT }, { "seg6", BPF_PROG_TYPE_LWT_SEG6LOCAL },
	{ "raw", BPF_PROG_TYPE_RAW_TRACEPOINT }, { "syscall", BPF_PROG_TYPE_SYSCALL, 0, BPF_F_SLEEPABLE },
	{ "sklookup", BPF_PROG_TYPE_SK_LOOKUP, BPF_SK_LOOKUP }, { "flow", BPF_PROG_TYPE_FLOW_DISSECTOR, BPF_FLOW_DISSECTOR },
};

static void put_hex(const unsigned char *p, int n)
{
	for (int i = 0; i < n; i++)
		put("0123456789abcdef"[p[i] >> 4]), put("0123456789abcdef"[p[i] & 15]);
}

static void ask(const char *row)
{
	char name[32], arg[32];
	int kind = 0, call, calls = 0, secret = 0, exits[16], outs = 0;
	at = row;
	if (*at == '?') /* the numbers are nobody's business: told is the sign */
		secret = 1, at++;
	word(name);
	while (!streq(kinds[kind].name, name))
		kind++;
	count = 0;
	emit(MOV(6, 1));
	emit(SET(9, 0));
	emit(MOV(2, 10));
	emit(ADD(2, -8));
	emit(I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0));
	wide(1, BPF_PSEUDO_MAP_FD, notes);
	emit(CALL(BPF_FUNC_map_lookup_elem));
	emit(I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0));
	emit(EXIT);
	emit(MOV(8, 0));
	for (int i = 1; i <= STACK; i++)
		emit(I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8 * i, i * 0x01010101));
	for (;;) {
		while (*at == ' ' || *at == ';')
			at++;
		if (!*at)
			break;
		word(name);
		if (streq(name, "set")) { /* set N VALUE: eight bytes at the stack's N */
			word(arg);
			int off = number(arg);
			word(arg);
			if (*arg == 's')
				argument(1, arg);
			else
				wide(1, arg[0] == 'u' ? 0 : 0, arg[0] == 'u' ? (ulong)text + number(arg + 1) : number(arg));
			emit(STORE(10, 1, -off));
			continue;
		}
		if (streq(name, "keep")) {
			emit(MOV(9, 7));
			continue;
		}
		if (streq(name, "there")) { /* on with what is not null */
			emit(I(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 0, 0));
			exits[outs++] = count - 1;
			continue;
		}
		int nothing = *name == '!'; /* it gives nothing */
		for (call = 0; call < (int)(sizeof(helpers) / sizeof(*helpers)) && !streq(helpers[call], name + nothing);)
			call++;
		for (int reg = 1; word(arg); reg++)
			argument(reg, arg);
		emit(CALL(call));
		if (nothing)
			continue;
		emit(MOV(7, 0));
		emit(STORE(8, 0, 8 * calls++));
	}
	for (int i = 0; i < outs; i++)
		code[exits[i]].off = count - exits[i] - 1;
	for (int i = 0; i < STACK; i++) {
		emit(LOAD(1, 10, -8 * STACK + 8 * i));
		emit(STORE(8, 1, 8 * (SLOTS + i)));
	}
	emit(SET(0, 1));
	emit(EXIT);

	unsigned long long zero = 0, context[16] = { 0 };
	for (int i = 0; i < SLOTS + STACK; i++)
		noted[i] = 0xbadbadbad;
	attr.map_fd = notes, attr.key = (ulong)&zero, attr.value = (ulong)noted;
	bpf(BPF_MAP_UPDATE_ELEM);
	attr.prog_type = kinds[kind].type, attr.expected_attach_type = kinds[kind].attach, attr.prog_flags = kinds[kind].flags;
	attr.insns = (ulong)code, attr.insn_cnt = count, attr.license = (ulong)"GPL";
	static char log[20000];
	if (logging)
		attr.log_buf = (ulong)log, attr.log_size = sizeof(log), attr.log_level = 1;
	long fd = bpf(BPF_PROG_LOAD);
	say("%s:", row);
	if (fd < 0) {
		say(" load %r\n%s", fd, log);
		return;
	}
	log[0] = 0;
	attr.test.prog_fd = fd;
	if (streq(kinds[kind].name, "raw") || streq(kinds[kind].name, "syscall"))
		attr.test.ctx_in = (ulong)context, attr.test.ctx_size_in = 32;
	else if (streq(kinds[kind].name, "sklookup")) {
		((unsigned *)context)[2] = 2;
		attr.test.ctx_in = (ulong)context, attr.test.ctx_size_in = 72;
	} else {
		attr.test.data_in = (ulong)packet, attr.test.data_size_in = sizeof(packet);
		attr.test.data_out = (ulong)after, attr.test.data_size_out = sizeof(after);
	}
	memset(after, 0, sizeof(after));
	union bpf_attr run = attr;
	memset(&attr, 0, sizeof(attr));
	long ran = sys(__NR_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run));
	sys(__NR_close, fd);
	if (ran)
		say(" run %r", ran);
	attr.map_fd = notes, attr.key = (ulong)&zero, attr.value = (ulong)noted;
	bpf(BPF_MAP_LOOKUP_ELEM);
	for (int i = 0; i < calls; i++) {
		if (noted[i] == 0xbadbadbad)
			say(" -");
		else if (secret)
			say(" %s", noted[i] ? (long long)noted[i] < 0 && (long long)noted[i] > -4096 ? error_name(-(long long)noted[i]) : "some" : "0");
		else
			say(" %r", (long)noted[i]);
	}
	if (!secret && noted[SLOTS] != 0xbadbadbad)
		for (int i = STACK; i > 0; i--) {
			unsigned long long was = 0x0101010101010101ULL * 0 + (unsigned)(i * 0x01010101), is = noted[SLOTS + STACK - i];
			if (is != was)
				say(" [-%d]", i * 8), put_hex((void *)&is, 8);
		}
	if (run.test.data_out && !ran) {
		unsigned size = run.test.data_size_out, first = 0, last = 0;
		if (size != sizeof(packet))
			say(" size %d", size);
		for (unsigned i = 0; i < sizeof(packet) && i < size; i++)
			if (after[i] != packet[i])
				first = last ? first : i, last = i + 1;
		if (last)
			say(" packet[%d]", first), put_hex(after + first, last - first);
	}
	say("\n");
}

static long make(int type, int key, int value, int entries, int flags)
{
	attr.map_type = type, attr.key_size = key, attr.value_size = value, attr.max_entries = entries, attr.map_flags = flags;
	return bpf(BPF_MAP_CREATE);
}

static const char *const rows[] = {
#include "helpers_rows.h"
};

int main(int argc, char **argv)
{
	logging = argc > 1;
	static const unsigned char headers[] = {
		0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 8, 0,
		0x45, 0x12, 0, 82, 0, 1, 0x40, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 2,
		0x30, 0x39, 0, 80, 0, 0, 0, 9, 0, 0, 0, 0, 0x50, 2, 0x10, 0, 0, 0, 0, 0,
	};
	for (int i = 0; i < (int)sizeof(packet); i++)
		packet[i] = i;
	memcpy(packet, headers, sizeof(headers));
	struct { char name[16]; short flags; char rest[22]; } request = { "lo", 1 };
	long s = sys(__NR_socket, 2, 2, 0);
	sys(__NR_ioctl, s, 0x8914, &request);
	notes = make(BPF_MAP_TYPE_ARRAY, 4, sizeof(noted), 1, 0);
	maps['a' - 'a'] = make(BPF_MAP_TYPE_ARRAY, 4, 16, 4, 0);
	maps['h' - 'a'] = make(BPF_MAP_TYPE_HASH, 8, 16, 2, 0);
	maps['n' - 'a'] = make(BPF_MAP_TYPE_HASH, 8, 16, 2, BPF_F_NO_PREALLOC);
	maps['l' - 'a'] = make(BPF_MAP_TYPE_LRU_HASH, 8, 16, 2, 0);
	maps['b' - 'a'] = make(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 16, 4, 0);
	maps['d' - 'a'] = make(BPF_MAP_TYPE_PERCPU_HASH, 8, 16, 2, 0);
	maps['q' - 'a'] = make(BPF_MAP_TYPE_QUEUE, 0, 8, 2, 0);
	maps['s' - 'a'] = make(BPF_MAP_TYPE_STACK, 0, 8, 2, 0);
	maps['f' - 'a'] = make(BPF_MAP_TYPE_BLOOM_FILTER, 0, 8, 100, 0);
	maps['t' - 'a'] = make(BPF_MAP_TYPE_LPM_TRIE, 8, 16, 4, BPF_F_NO_PREALLOC);
	maps['r' - 'a'] = make(BPF_MAP_TYPE_RINGBUF, 0, 0, 4096, 0);
	maps['e' - 'a'] = make(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 4, 0);
	maps['k' - 'a'] = make(BPF_MAP_TYPE_STACK_TRACE, 4, 64, 4096, 0);
	maps['g' - 'a'] = make(BPF_MAP_TYPE_CGROUP_ARRAY, 4, 4, 2, 0);
	maps['v' - 'a'] = make(BPF_MAP_TYPE_DEVMAP, 4, 4, 4, 0);
	maps['c' - 'a'] = make(BPF_MAP_TYPE_CPUMAP, 4, 4, 4, 0);
	maps['w' - 'a'] = make(BPF_MAP_TYPE_DEVMAP_HASH, 4, 4, 4, 0);
	maps['x' - 'a'] = make(BPF_MAP_TYPE_XSKMAP, 4, 4, 4, 0);
	maps['o' - 'a'] = make(BPF_MAP_TYPE_SOCKMAP, 4, 4, 4, 0);
	maps['p' - 'a'] = make(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4, 0);
	maps['u' - 'a'] = make(BPF_MAP_TYPE_USER_RINGBUF, 0, 0, 4096, 0);
	unsigned long long key = 0;
	unsigned lo = 1;
	attr.map_fd = maps['v' - 'a'], attr.key = (ulong)&key, attr.value = (ulong)&lo;
	say("devmap %r\n", bpf(BPF_MAP_UPDATE_ELEM));
	long cgroup = sys(__NR_openat, AT_FDCWD, "/sys/fs/cgroup", O_RDONLY, 0);
	lo = cgroup;
	attr.map_fd = maps['g' - 'a'], attr.key = (ulong)&key, attr.value = (ulong)&lo;
	say("cgroup %d\n", bpf(BPF_MAP_UPDATE_ELEM) == 0);
	for (int i = 0; i < (int)(sizeof(rows) / sizeof(*rows)); i++)
		ask(rows[i]);
	return 0;
}
