/* Kernel pointers in maps, what programs of functions ask about their call, answers instead of a function's, names of addresses, test runs that a signal ends.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/btf.h>

static struct bpf_insn code[100];
static int n;
static long notes;
#define EMIT(...) (code[n++] = __VA_ARGS__)
#define VALUE(reg) (EMIT(I(BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_MAP_VALUE, 0, notes)), EMIT(I(0, 0, 0, 0, 0)))

static unsigned long long seen[32];
static void look(void) { bpf_element(BPF_MAP_LOOKUP_ELEM, notes, 0, seen); }
static void forget(void) { memset(seen, 0, sizeof(seen)); bpf_element(BPF_MAP_UPDATE_ELEM, notes, 0, seen); }

static long load(int type, int attach, unsigned target, int flags)
{
	static char log[9000];
	attr.expected_attach_type = attach, attr.attach_btf_id = target, attr.prog_flags = flags;
	attr.log_level = 1, attr.log_buf = (ulong)log, attr.log_size = sizeof(log);
	long prog = bpf_program(type, code, n);
	if (prog < 0)
		say("%s\n", log);
	n = 0;
	return prog;
}

static union bpf_attr ran;
static long run(long prog, void *data, int size, void *ctx, int ctx_size, unsigned repeat)
{
	memset(&ran, 0, sizeof(ran));
	ran.test.prog_fd = prog, ran.test.data_in = (ulong)data, ran.test.data_size_in = size, ran.test.repeat = repeat;
	ran.test.ctx_in = (ulong)ctx, ran.test.ctx_size_in = ctx_size;
	return sys(__NR_bpf, BPF_PROG_TEST_RUN, &ran, sizeof(ran));
}

static long attached(long prog)
{
	attr.raw_tracepoint.prog_fd = prog;
	return bpf(BPF_RAW_TRACEPOINT_OPEN);
}

/* ---- a struct prog_test_ref_kfunc * in a map ---- */

static long types(const char *tag)
{
	static char blob[400], names[80] = "\0int\0prog_test_ref_kfunc\0v\0p";
	int length = 29;
	memcpy(names + length, tag, strlen(tag) + 1);
	unsigned rows[] = {
		1, BTF_KIND_INT << 24, 4, BTF_INT_SIGNED << 24 | 32, /* 1 */
		5, BTF_KIND_STRUCT << 24, 8,			      /* 2 */
		length, BTF_KIND_TYPE_TAG << 24, 2,		      /* 3 */
		0, BTF_KIND_PTR << 24, 3,			      /* 4 */
		25, BTF_KIND_STRUCT << 24 | 1, 8, 27, 4, 0,	      /* 5 struct v { ... *p; } */
	};
	struct btf_header header = { 0xeb9f, 1, 0, sizeof(header), 0, sizeof(rows), sizeof(rows), length + strlen(tag) + 1 };
	memcpy(blob, &header, sizeof(header)), memcpy(blob + sizeof(header), rows, sizeof(rows)), memcpy(blob + sizeof(header) + sizeof(rows), names, header.str_len);
	attr.btf = (ulong)blob, attr.btf_size = sizeof(header) + sizeof(rows) + header.str_len;
	return bpf(BPF_BTF_LOAD);
}

static void pointers(void)
{
	static const char *const tags[] = { "kptr_ref", "kptr", "kptr_nothing" };
	for (int t = 0; t < 3; t++) {
		long btf = types(tags[t]);
		say("%s: types %r", tags[t], btf < 0 ? btf : 0);
		static const int kinds[] = { BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_PERCPU_ARRAY, BPF_MAP_TYPE_LRU_HASH };
		long map = -1;
		for (int i = 3; i >= 0; i--) {
			attr.map_type = kinds[i], attr.key_size = 4, attr.value_size = 8, attr.max_entries = 1, attr.btf_fd = btf, attr.btf_key_type_id = 1, attr.btf_value_type_id = 5;
			map = bpf(BPF_MAP_CREATE);
			say(" map %d %r", kinds[i], map < 0 ? map : 0);
		}
		say("\n");
		if (map < 0 || t)
			continue;
		unsigned acquire = btf_id("bpf_kfunc_call_test_acquire", BTF_KIND_FUNC), release = btf_id("bpf_kfunc_call_test_release", BTF_KIND_FUNC);
		forget();
		/* r6: what was acquired; r7: what was in the map before; notes: was there something, its first number */
		EMIT(I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0)), EMIT(MOV(1, 10)), EMIT(ADD(1, -8));
		EMIT(I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, acquire));
		int none = n;
		EMIT(I(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0)), EMIT(MOV(2, 0));
		EMIT(I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_VALUE, 0, map)), EMIT(I(0, 0, 0, 0, 0)), EMIT(CALL(BPF_FUNC_kptr_xchg));
		VALUE(3);
		int before = n;
		EMIT(I(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0));
		EMIT(I(BPF_LDX | BPF_MEM | BPF_W, 4, 0, 0, 0)), EMIT(STORE(3, 4, 0)), EMIT(LOAD(4, 3, 8)), EMIT(ADD(4, 1)), EMIT(STORE(3, 4, 8));
		EMIT(MOV(1, 0)), EMIT(I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, release));
		code[before].off = n - before - 1, code[none].off = n - none - 1;
		EMIT(SET(0, 0)), EMIT(EXIT);
		long prog = load(BPF_PROG_TYPE_SCHED_CLS, 0, 0, 0);
		char packet[64];
		memset(packet, 0, sizeof(packet));
		for (int i = 0; i < 3; i++) {
			long ret = run(prog, packet, sizeof(packet), 0, 0, 1);
			look();
			say("  run %r: number %d, %d found\n", ret, (int)seen[0], (int)seen[1]);
		}
		unsigned long long value = 99;
		say("  look %r", bpf_element(BPF_MAP_LOOKUP_ELEM, map, 0, &value));
		say(" %d", (int)value);
		value = 5;
		say(" update %r", bpf_element(BPF_MAP_UPDATE_ELEM, map, 0, &value));
		say(" run %r", run(prog, packet, sizeof(packet), 0, 0, 1));
		look();
		say(" %d found\n", (int)seen[1]);
		sys(__NR_close, map), sys(__NR_close, prog);
	}
}

/* ---- what a program asks about the call it is at ---- */

static void calls(void)
{
	static const int attach[] = { BPF_TRACE_FENTRY, BPF_TRACE_FEXIT };
	unsigned target = btf_id("bpf_fentry_test2", BTF_KIND_FUNC), other = btf_id("bpf_fentry_test1", BTF_KIND_FUNC);
	for (int a = 0; a < 2; a++) {
		forget();
		EMIT(MOV(6, 1)), VALUE(7);
		EMIT(MOV(1, 6)), EMIT(CALL(BPF_FUNC_get_func_arg_cnt)), EMIT(STORE(7, 0, 0));
		for (int i = 0; i < 4; i++) {
			EMIT(I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 77)), EMIT(MOV(1, 6)), EMIT(SET(2, i == 3 ? -1 : i)), EMIT(MOV(3, 10)), EMIT(ADD(3, -8));
			EMIT(CALL(BPF_FUNC_get_func_arg)), EMIT(STORE(7, 0, 8 + 16 * i)), EMIT(LOAD(0, 10, -8)), EMIT(STORE(7, 0, 16 + 16 * i));
		}
		if (a) {
			EMIT(MOV(1, 6)), EMIT(MOV(2, 10)), EMIT(ADD(2, -8)), EMIT(CALL(BPF_FUNC_get_func_ret));
			EMIT(STORE(7, 0, 72)), EMIT(LOAD(0, 10, -8)), EMIT(STORE(7, 0, 80));
		}
		EMIT(MOV(1, 6)), EMIT(CALL(BPF_FUNC_get_func_ip)), EMIT(STORE(7, 0, 88));
		EMIT(MOV(1, 6)), EMIT(CALL(BPF_FUNC_get_attach_cookie)), EMIT(STORE(7, 0, 96)), EMIT(SET(0, 0)), EMIT(EXIT);
		long prog = load(BPF_PROG_TYPE_TRACING, attach[a], target, 0);
		EMIT(SET(0, 0)), EMIT(EXIT);
		long runs = load(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, other, 0);
		attr.link_create.prog_fd = prog, attr.link_create.attach_type = attach[a], attr.link_create.tracing.cookie = 4711;
		long link = bpf(BPF_LINK_CREATE);
		say("%s: load %r link %r", a ? "fexit" : "fentry", prog < 0 ? prog : 0, link < 0 ? link : 0);
		say(" run %r:", run(runs, 0, 0, 0, 0, 0));
		look();
		for (int i = 0; i < 11; i++)
			say(" %L", (long long)seen[i]);
		say(" address %d cookie %L\n", seen[11] >> 63 ? 1 : 0, (long long)seen[12]);
		sys(__NR_close, link), sys(__NR_close, prog), sys(__NR_close, runs);
	}
}

/* ---- an answer instead of a function's ---- */

static void instead(void)
{
	unsigned target = btf_id("security_file_open", BTF_KIND_FUNC);
	int answers[] = { 0, -1, -2, -13 };
	for (int i = 0; i < 4; i++) {
		EMIT(CALL(BPF_FUNC_get_current_pid_tgid)), EMIT(I(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32));
		EMIT(I(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, sys(__NR_getpid))), EMIT(SET(0, 0)), EMIT(EXIT), EMIT(SET(0, answers[i])), EMIT(EXIT);
		long prog = load(BPF_PROG_TYPE_TRACING, BPF_MODIFY_RETURN, target, 0), link = attached(prog);
		long fd = sys(__NR_open, "/proc/version", O_RDONLY);
		say("instead of security_file_open %d: %r %r, open %r\n", answers[i], prog < 0 ? prog : 0, link < 0 ? link : 0, fd < 0 ? fd : 0);
		sys(__NR_close, link), sys(__NR_close, prog), sys(__NR_close, fd);
		nap(100);
	}
}

/* ---- descriptors that programs close; names of addresses ---- */

static void closes(void)
{
	EMIT(I(BPF_LDX | BPF_MEM | BPF_W, 1, 1, 0, 0)), EMIT(CALL(BPF_FUNC_sys_close)), EMIT(EXIT);
	long prog = load(BPF_PROG_TYPE_SYSCALL, 0, 0, BPF_F_SLEEPABLE);
	unsigned fd = sys(__NR_open, "/proc/version", O_RDONLY);
	say("close: %r", run(prog, 0, 0, &fd, 4, 0));
	say(" answer %d, then %r", (int)ran.test.retval, sys(__NR_fcntl, fd, 1));
	say(" again %r", run(prog, 0, 0, &fd, 4, 0));
	say(" answer %d\n", (int)ran.test.retval);
}

static void names(void)
{
	static const char *const formats[] = { "%pS", "%ps", "%pB", "%pS %ps", "%20ps|", "%-20ps|" };
	static const char symbol[] = "vfs_read";
	long text = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 64, 1, BPF_F_RDONLY_PROG);
	sys(__NR_close, text);
	for (int f = 0; f < 6; f++)
		for (int off = 0; off < 3; off++) {
			char room[64];
			text = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 64, 1, BPF_F_RDONLY_PROG);
			memset(room, 0, sizeof(room)), memcpy(room, formats[f], strlen(formats[f]));
			bpf_element(BPF_MAP_UPDATE_ELEM, text, 0, room);
			attr.map_fd = text;
			bpf(BPF_MAP_FREEZE);
			forget();
			unsigned w[2];
			memcpy(w, symbol, 8);
			EMIT(I(BPF_LD | BPF_DW | BPF_IMM, 1, 0, 0, w[0])), EMIT(I(0, 0, 0, 0, w[1])), EMIT(STORE(10, 1, -24)), EMIT(I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0));
			EMIT(I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0)), EMIT(MOV(1, 10)), EMIT(ADD(1, -24)), EMIT(SET(2, 9)), EMIT(SET(3, 0)), EMIT(MOV(4, 10)), EMIT(ADD(4, -8));
			EMIT(CALL(BPF_FUNC_kallsyms_lookup_name)), EMIT(LOAD(1, 10, -8)), EMIT(off == 2 ? SET(1, 0x1234) : ADD(1, off)), EMIT(STORE(10, 1, -8)), EMIT(STORE(10, 1, -16));
			VALUE(1);
			EMIT(SET(2, 200)), EMIT(I(BPF_LD | BPF_DW | BPF_IMM, 3, BPF_PSEUDO_MAP_VALUE, 0, text)), EMIT(I(0, 0, 0, 0, 0)), EMIT(MOV(4, 10)), EMIT(ADD(4, -16)), EMIT(SET(5, f == 3 ? 16 : 8));
			EMIT(CALL(BPF_FUNC_snprintf)), EMIT(EXIT);
			long prog = load(BPF_PROG_TYPE_SYSCALL, 0, 0, BPF_F_SLEEPABLE);
			say("'%s' of %s: load %r run %r", formats[f], off == 2 ? "a number" : off ? "vfs_read and one" : "vfs_read", prog < 0 ? prog : 0, run(prog, 0, 0, 0, 0, 0));
			look();
			char *c = (char *)seen;
			if (f == 2 && !off) /* of the function before */
				*c = 0;
			char *to = c;
			for (char *from = c; *from; from++) /* without how long a function is */
				if (*from != '/')
					*to++ = *from;
				else
					while (from[1] && from[1] != ' ') from++;
			*to = 0;
			say(" '%s'\n", c);
			sys(__NR_close, prog), sys(__NR_close, text);
		}
}

/* ---- test runs that a signal ends ---- */

static void rung(int sig, void *info, void *context) { }

static void interrupted(void)
{
	EMIT(SET(0, 0)), EMIT(EXIT);
	long prog = load(BPF_PROG_TYPE_SOCKET_FILTER, 0, 0, 0);
	char packet[64];
	memset(packet, 0, sizeof(packet));
	on_signal(14, rung, 0);
	long timer[4] = { 0, 0, 0, 5000 };
	sys(__NR_setitimer, 0, timer, 0);
	say("a run without end: %r\n", run(prog, packet, sizeof(packet), 0, 0, 0xffffffff));
}

int main(int argc, char **argv)
{
	notes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 256, 1, 0);
	pointers();
	calls();
	instead();
	closes();
	names();
	interrupted();
	return 0;
}
