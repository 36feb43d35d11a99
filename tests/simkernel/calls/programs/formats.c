/* What bpf_trace_vprintk(), bpf_snprintf() and bpf_seq_printf() make of formats: each conversion, widths, what is refused,
 * texts that cannot be read, buffers that are too small.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

#define ADDRESS(r, fd, kind, off) I(BPF_LD | BPF_DW, r, kind, 0, fd), I(0, 0, 0, 0, off)

/* What programs and this one share: one value of an array. */
enum { FORMAT = 0, ARGS = 256, LENGTH = 352, RESULT = 360, SIZE = 368, BASE = 376, TEXTS = 512, OUT = 1536, VALUE = 8192 };
static char shared[VALUE], text[65536];
static long array, base, handler, sequence;

static long element(int cmd, long fd, void *value) { return bpf_element(cmd, fd, 0, value); }

static long load(int type, int attach, int btf_id, struct bpf_insn *insns, int count)
{
	attr.expected_attach_type = attach;
	attr.attach_btf_id = btf_id;
	attr.prog_flags = type == BPF_PROG_TYPE_SYSCALL ? BPF_F_SLEEPABLE : 0;
	return bpf_program(type, insns, count);
}
#define LOADED(type, attach, id, insns) load(type, attach, id, insns, sizeof(insns) / sizeof(insns[0]))

static long run(long fd)
{
	attr.test.prog_fd = fd;
	return bpf(BPF_PROG_TEST_RUN);
}

/* ---- what a case prints ---- */

static void shown(const char *s, long n)
{
	int same = 1;

	put('"');
	for (long i = 0; i < n; i++) {
		unsigned char c = s[i];

		same = i && s[i] == s[i - 1] ? same + 1 : 1;
		if (same > 20) {
			if (i + 1 == n || s[i + 1] != s[i]) {
				put('*');
				put_number(same - 20, 10);
			}
			continue;
		}
		if (c >= 32 && c < 127 && c != '\\') {
			put(c);
		} else {
			put('\\');
			put("0123456789abcdef"[c >> 4]);
			put("0123456789abcdef"[c & 15]);
		}
	}
	put('"');
	flush();
}

static long traced = -1;
static void show_trace(void)
{
	static const char mark[] = "bpf_trace_printk: ";
	long n = sys(__NR_read, traced, text, sizeof(text) - 1), i;

	if (n <= 0) {
		say("nothing");
		return;
	}
	for (i = 0; i + (long)sizeof(mark) - 1 < n && memcmp(text + i, mark, sizeof(mark) - 1); i++)
		;
	i += sizeof(mark) - 1;
	shown(text + i, n - 1 - i);
}

static long number(long value) { return (long)(int)value; }

static void vprintk(void)
{
	run(handler);
	element(BPF_MAP_LOOKUP_ELEM, array, shared);
	say("  trace %r ", number(*(long *)(shared + RESULT)));
	if (number(*(long *)(shared + RESULT)) >= 0)
		show_trace();
}

static void snprintf(long size)
{
	long format = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 256, 1, BPF_F_RDONLY_PROG), fd;

	element(BPF_MAP_UPDATE_ELEM, format, shared + FORMAT);
	attr.map_fd = format;
	bpf(BPF_MAP_FREEZE);
	{
		struct bpf_insn insns[] = {
			ADDRESS(6, array, BPF_PSEUDO_MAP_VALUE, 0), LOAD(2, 6, SIZE),
			I(BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, 4095), MOV(1, 6), ADD(1, OUT),
			ADDRESS(3, format, BPF_PSEUDO_MAP_VALUE, 0), MOV(4, 6), ADD(4, ARGS),
			SET(5, *(long *)(shared + LENGTH)), CALL(BPF_FUNC_snprintf), STORE(6, 0, RESULT), SET(0, 0), EXIT,
		};
		fd = LOADED(BPF_PROG_TYPE_SYSCALL, 0, 0, insns);
	}
	if (fd < 0) {
		say("  load %r", fd);
	} else {
		*(long *)(shared + SIZE) = size;
		memset(shared + OUT, '#', 2048);
		element(BPF_MAP_UPDATE_ELEM, array, shared);
		run(fd);
		element(BPF_MAP_LOOKUP_ELEM, array, shared);
		long got = number(*(long *)(shared + RESULT));
		say("  snprintf(%l) %r ", size, got);
		if (got >= 0)
			shown(shared + OUT, got < size ? got : size + 1);
		sys(__NR_close, fd);
	}
	sys(__NR_close, format);
}

static void seq_printf(void)
{
	long fd, n;

	attr.iter_create.link_fd = sequence;
	fd = bpf(BPF_ITER_CREATE);
	n = sys(__NR_read, fd, text, sizeof(text) - 1);
	element(BPF_MAP_LOOKUP_ELEM, array, shared);
	say("  seq %r ", number(*(long *)(shared + RESULT)));
	if (n < 0)
		say("read %r", n);
	else
		shown(text, n);
	sys(__NR_close, fd);
}

/* An argument below TEXT_END that is marked is a place in the shared value. */
#define AT(offset) (0x5151000000000000L + (offset))
static void with(const char *format, int count, const long *args)
{
	memset(shared, 0, TEXTS);
	memcpy(shared + FORMAT, format, strlen(format));
	for (int i = 0; i < count; i++) {
		long arg = args[i];
		((long *)(shared + ARGS))[i] = (ulong)arg >> 48 == 0x5151 ? base + (arg & 0xffffffff) : arg;
	}
	*(long *)(shared + LENGTH) = count * 8;
	element(BPF_MAP_UPDATE_ELEM, array, shared);
}

static void try(const char *format, int count, const long *args)
{
	shown(format, strlen(format));
	with(format, count, args);
	vprintk();
	snprintf(1000);
	say("\n");
}

static void all(const char *format, int count, const long *args)
{
	static const int sizes[] = { 0, 1, 2, 5, 9, 17, 30 };

	shown(format, strlen(format));
	say("\n");
	with(format, count, args);
	vprintk();
	say("\n");
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(sizes[i]);
		say("\n");
	}
	seq_printf();
	say("\n");
}
#define TRY(format, ...) do { long args[] = { __VA_ARGS__ }; try(format, sizeof(args) / sizeof(long), args); } while (0)
#define ALL(format, ...) do { long args[] = { __VA_ARGS__ }; all(format, sizeof(args) / sizeof(long), args); } while (0)

/* ---- the kernel's own names ---- */

static char types[8 << 20];
static long btf_id(const char *name)
{
	long size = slurp("/sys/kernel/btf/vmlinux", types, sizeof(types)), id = 1;
	unsigned *header = (unsigned *)types, *at = (unsigned *)(types + header[1] + header[2]);
	unsigned *end = (unsigned *)((char *)at + header[3]);
	const char *strings = types + header[1] + header[4];

	if (size <= 0)
		return size;
	for (; at < end; id++) {
		unsigned kind = at[1] >> 24 & 31, members = at[1] & 0xffff, extra = 0;

		if (kind == 12 && streq(strings + at[0], name)) /* a function */
			return id;
		switch (kind) {
		case 1: case 14: case 17: extra = 1; break;
		case 3: extra = 3; break;
		case 4: case 5: case 19: extra = 3 * members; break;
		case 6: case 13: extra = 2 * members; break;
		case 15: extra = 3 * members; break;
		}
		at += 3 + extra;
	}
	return 0;
}

static long symbol(const char *name)
{
	static char symbols[8 << 20];
	long n = slurp("/proc/kallsyms", symbols, sizeof(symbols));

	for (char *at = symbols; at < symbols + n;) {
		long address = 0, length = strlen(name);
		char *next = at;

		while (*next && *next != '\n')
			next++;
		for (int i = 0; i < 16; i++)
			address = address << 4 | (at[i] <= '9' ? at[i] - '0' : at[i] - 'a' + 10);
		if (!memcmp(at + 19, name, length) && (at[19 + length] == '\n' || at[19 + length] == '\t'))
			return address;
		at = next + 1;
	}
	return 0;
}

static int begins(void)
{
	array = bpf_map(BPF_MAP_TYPE_ARRAY, 4, VALUE, 1, 0);
	traced = sys(__NR_openat, AT_FDCWD, "/sys/kernel/tracing/trace_pipe", O_RDONLY | O_NONBLOCK, 0);
	struct bpf_insn print[] = {
		ADDRESS(6, array, BPF_PSEUDO_MAP_VALUE, 0), STORE(6, 6, BASE), MOV(1, 6), SET(2, 256), MOV(3, 6), ADD(3, ARGS),
		LOAD(4, 6, LENGTH), I(BPF_ALU64 | BPF_AND | BPF_K, 4, 0, 0, 127), CALL(BPF_FUNC_trace_vprintk), STORE(6, 0, RESULT),
		SET(0, 0), EXIT,
	};
	handler = LOADED(BPF_PROG_TYPE_SYSCALL, 0, 0, print);
	struct bpf_insn show[] = {
		ADDRESS(6, array, BPF_PSEUDO_MAP_VALUE, 0), LOAD(2, 1, 8),
		I(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 13, 0), /* the end */
		LOAD(1, 1, 0), LOAD(2, 1, 16), I(BPF_JMP | BPF_JNE | BPF_K, 2, 0, 10, 0), LOAD(1, 1, 0), MOV(2, 6), SET(3, 256), MOV(4, 6), ADD(4, ARGS),
		LOAD(5, 6, LENGTH), I(BPF_ALU64 | BPF_AND | BPF_K, 5, 0, 0, 127), CALL(BPF_FUNC_seq_printf), STORE(6, 0, RESULT),
		SET(0, 0), SET(0, 0), EXIT,
	};
	long target = LOADED(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, btf_id("bpf_iter_bpf_map"), show);
	attr.link_create.prog_fd = target;
	attr.link_create.attach_type = BPF_TRACE_ITER;
	sequence = bpf(BPF_LINK_CREATE);
	say("map %r pipe %r programs %r %r link %r\n", array < 0 ? array : 0, traced < 0 ? traced : 0, handler < 0 ? handler : 0,
	    target < 0 ? target : 0, sequence < 0 ? sequence : 0);
	run(handler);
	element(BPF_MAP_LOOKUP_ELEM, array, shared);
	base = *(long *)(shared + BASE);
	sys(__NR_read, traced, text, sizeof(text));
	return array >= 0 && traced >= 0 && handler >= 0 && sequence >= 0;
}

/* %p and %pK of an address: 32 bits that are the same each time, and not the address. */
static void hashes(void)
{
	static const char *const formats[] = { "%p", "%pK", "%24p|", "%-24pK|" };
	char first[16] = "";

	for (int i = 0; i < 4; i++) {
		with(formats[i], 1, (long[]){ AT(0) });
		element(BPF_MAP_UPDATE_ELEM, array, shared);
		run(handler);
		element(BPF_MAP_LOOKUP_ELEM, array, shared);
		long n = sys(__NR_read, traced, text, sizeof(text) - 1), at = 0, from = i == 2 ? 16 : i == 3 ? 0 : 8;
		while (at < n - 19 && memcmp(text + at, "bpf_trace_printk: ", 18))
			at++;
		char *said = text + at + 18;
		if (!i)
			memcpy(first, said + 8, 8);
		long zeros = 0;
		while (i == 3 && zeros < 8 && first[zeros] == '0')
			zeros++;
		say(" %r", number(*(long *)(shared + RESULT)));
		if (i < 2)
			say(" zeros before %d", !memcmp(said, "00000000", 8));
		say(" same %d", !memcmp(said + from, first + zeros, 8 - zeros));
	}
	say("\n");
}

int main(int argc, char **argv)
{
	static const char *const whole[] = {
		"d", "i", "u", "x", "X", "o", "ld", "li", "lu", "lx", "lX", "lld", "lli", "llu", "llx", "llX", "hd", "hhd", "hx", "hhx", "zd", "qd",
		"jd", "td", "Ld", "lld", "llld", "c", "lc", "s", "ls", "hs", "n", "f", "e", "a", "g", "b",
	};
	static const char *const flags[] = {
		"", "8", "08", "-8", "+", "+8", " ", " 8", "0", "-", "-08", "0-8", "+08", "+-8", " -8", " +", "+ ", "00008", "--8", "#", "#8", "0#8",
		"1", "2", "20", "020", ".3", "8.3", "*", "'", "1000", "8+", "80", "-+0 12", "0 9",
	};
	static const long numbers[] = { 0, 1, -1, 42, -42, 0x7fffffff, 0x80000000, 0xffffffff, 0x123456789abcdef0, 1L << 63, ~(1L << 63) };
	static const char *const pointers[] = {
		"p", "px", "pK", "ps", "pS", "pB", "pI4", "pi4", "pI6", "pi6", "pks", "pus", "pF", "pf", "pI", "pi", "pIS", "pI6c", "pI4h", "pI4n",
		"pi6x", "pM", "pm", "pU", "pV", "pN", "pNF", "pd", "pD", "pg", "pG", "pGp", "pt", "pC", "pO", "ph", "pE", "pe", "pR", "pr", "pa",
		"pb", "pk", "pu", "pk ", "pBb", "psx", "pxx", "pKK", "pSR", "pSb", "pksx", "pusx", "sx", "cx", "p1", "p_", "pA",
	};
	char format[300];
	struct { char *at; } to;
	long name = symbol("vfs_read"), one;
#define BEGIN (to.at = format)
#define WORD(s) (memcpy(to.at, s, strlen(s)), to.at += strlen(s), *to.at = 0)

	if (!begins())
		return 1;
	memcpy(shared + TEXTS, "kernel text", 12);
	memset(shared + TEXTS + 64, 'y', 700);
	memcpy(shared + TEXTS + 16, "\300\250\0\1\xfe\x80\0\0\0\0\0\0\0\0\xab\xcd", 16);
	memcpy(shared + TEXTS + 40, "a\0b", 3);

	say("-- conversions\n");
	for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		BEGIN, WORD("a%"), WORD(whole[i]), WORD("b");
		TRY(format, 0x4142434445464748);
	}
	for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		if (streq(whole[i], "s"))
			continue;
		BEGIN, WORD("%"), WORD(whole[i]);
		for (unsigned j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++)
			if (i < 15 && (j & 1))
				TRY(format, numbers[j]);
		BEGIN, WORD("%"), WORD(whole[i]), WORD(" %"), WORD(whole[i]), WORD(",%"), WORD(whole[i]);
		TRY(format, 65, -66, 0x10000000043);
	}
	say("-- flags and widths\n");
	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		for (unsigned j = 0; j < 6; j++) {
			static const char *const kinds[] = { "d", "lx", "u", "llX", "s", "c" };
			BEGIN, WORD("["), WORD("%"), WORD(flags[i]), WORD(kinds[j]), WORD("] [%"), WORD(flags[i]), WORD(kinds[j]), WORD("]");
			if (j < 4)
				TRY(format, 42, -42);
			else
				TRY(format, j == 4 ? AT(TEXTS) : 65, j == 4 ? AT(TEXTS + 40) : 66);
		}
	}
	say("-- pointers\n");
	for (unsigned i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
		BEGIN, WORD("%"), WORD(pointers[i]);
		TRY(format, 0);
		TRY(format, -1);
		TRY(format, -4095);
		if (i > 2 && (i < 6 || i > 9 || 1)) {
			BEGIN, WORD("["), WORD("%"), WORD(pointers[i]), WORD("]");
			if (i >= 6 && !streq(pointers[i], "p_") && !streq(pointers[i], "pKK"))
				TRY(format, pointers[i][1] == 'k' || pointers[i][1] == 'u' || i <= 11 ? AT(TEXTS + 16 * (i <= 9)) : 0x1234);
			BEGIN, WORD("["), WORD("%24"), WORD(pointers[i]), WORD("] [%-24"), WORD(pointers[i]), WORD("] %d");
			if (!(i > 2 && i < 6))
				TRY(format, i < 6 || i > 11 ? 5L - 5 - 5 : 0, 0L, 7);
		}
	}
	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		BEGIN, WORD("[%"), WORD(flags[i]), WORD("px] [%"), WORD(flags[i]), WORD("p] [%"), WORD(flags[i]), WORD("pI4] [%"), WORD(flags[i]), WORD("pks]");
		TRY(format, 0x1234abcd, 0, AT(TEXTS + 16), AT(TEXTS));
		BEGIN, WORD("[%"), WORD(flags[i]), WORD("ps] [%"), WORD(flags[i]), WORD("pS] [%"), WORD(flags[i]), WORD("pB]");
		TRY(format, 0x1234, 0x1234, 0x1234);
		BEGIN, WORD("[%"), WORD(flags[i]), WORD("ps]");
		TRY(format, name);
	}
	TRY("%ps %ps", name, name + 1);
	TRY("%px\303\244 %px\244\303 %psA\327B", 0x1234, 0x1234, 0x1234);
	TRY("%p\253 %s\277 %pks\367 %p\300", 0, 0, 0, 0);
	TRY("%p\253 %s\277 %pks\367 %s\240", 0, 0, 0, 0);
	shown("hashed", 6);
	hashes();
	TRY("%psabc %pxabc %pKabc,%pI4abc!%pksabc", 0x1234, 0x1234, 0, AT(TEXTS + 16), AT(TEXTS));
	TRY("%psabc %pxabc1 %pKab_c,%pI4abc!", 0x1234, 0x1234, 0, AT(TEXTS + 16));
	TRY("%p%p %d", 0, 0, 7);
	TRY("%p%d", 0, 7);
	TRY("%p%%d %d", 0, 7, 8);
	TRY("%p-%d", 0, 7);
	TRY("%s%s %d", AT(TEXTS), AT(TEXTS), 7);
	TRY("%pks%pus%%%d", AT(TEXTS), 0, 7);
	TRY("%c%c%c", 0, 65, 66);
	TRY("x%cy %d", 0, 3);
	TRY("%c%s %c%d %c%llx", 65, AT(TEXTS), 66, 5, 67, 0x123456789);

	say("-- text\n");
	TRY("", 1);
	TRY("%%", 1);
	TRY("100%% %d%%", 1);
	TRY("%", 1);
	TRY("%d %", 1);
	TRY("%d %", 1, 2);
	TRY("%5", 1);
	TRY("%l", 1);
	TRY("%-", 1);
	TRY("% ", 1);
	TRY("%d %d", 1);
	TRY("%d", 1, 2, 3);
	TRY("no conversion", 1, 2);
	TRY("tab\tline\nreturn\rfeed\f\v %d", 1);
	TRY("bell\a %d", 1);
	TRY("del\177 %d", 1);
	TRY("\303\244 %d", 1);
	TRY("%\303\244", 1);
	TRY("%5\303\244", 1);
	TRY("%d\303\244 %p\303\244", 1, 0);
	TRY("%p\240", 0);
	TRY("%s\303\244", AT(TEXTS));
	TRY("escape\033[0m %d", 1);
	TRY("%1$d", 1);
	TRY("%d %d %d %d %d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
	TRY("%8388607d", 1);
	TRY("%8388608d", 1);
	TRY("%99999999999d|", 1);
	TRY("%2147483647s|", AT(TEXTS));
	TRY("%300d|%300s|%300llx|%300px|", 1, AT(TEXTS), 2, 3);

	say("-- texts that cannot be read, and long ones\n");
	char *page = map(0, 8192, 3, 0x22, -1, 0);
	sys(__NR_munmap, page + 4096, 4096);
	memcpy(page + 4096 - 6, "edges", 6);
	TRY("[%pus] [%s] [%pks]", (long)page + 4096 - 6, (long)page + 4096 - 6, (long)page + 4096 - 6);
	memcpy(page + 4096 - 6, "edges!", 6);
	TRY("[%pus] [%s] [%pks]", (long)page + 4096 - 6, (long)page + 4096 - 6, (long)page + 4096 - 6);
	TRY("[%pus] [%s] [%pks]", AT(TEXTS), AT(TEXTS), AT(TEXTS));
	TRY("[%s] [%s] [%s] [%pus]", 0, -1, 0x1234567812345678, -5);
	TRY("[%pI4] [%pi6] [%pI6]", 0, -1, (long)page);
	TRY("%s|%d", AT(TEXTS + 64), 3);
	TRY("%s|%s", AT(TEXTS + 64), AT(TEXTS));
	TRY("%d|%s", 3, AT(TEXTS + 64));
	TRY("%s|%s|%d", AT(TEXTS + 64 + 300), AT(TEXTS + 64 + 400), 3);
	TRY("%s|%c", AT(TEXTS + 64), 65);
	TRY("%s|%pI4", AT(TEXTS + 64 + 200), AT(TEXTS + 16));
	TRY("%s|%pI6", AT(TEXTS + 64 + 195), AT(TEXTS + 16));
	TRY("%s|%pI6", AT(TEXTS + 64 + 210), AT(TEXTS + 16));
	TRY("%s|%pI4|", AT(TEXTS + 64 + 195), AT(TEXTS + 16));
	TRY("%s|%llx", AT(TEXTS + 64 + 194), 0x123456789abcdef);
	TRY("%s|%llx", AT(TEXTS + 64 + 198), 0x123456789abcdef);
	TRY("%s|%d", AT(TEXTS + 64 + 190), 5);
	TRY("%s|%600d|%600d", AT(TEXTS + 64 + 400), 5, 6);

	say("-- small buffers\n");
	ALL("%d %s %x", 42, AT(TEXTS), 0xab);
	ALL("%pI4 %pI4 %d", AT(TEXTS + 16), AT(TEXTS + 16), 7);
	ALL("%pi6", AT(TEXTS + 16));
	ALL("%pks, %pks, %d %pks", AT(TEXTS), AT(TEXTS), 7, AT(TEXTS));
	ALL("%c%c%5c%-5c|", 65, 66, 67, 68);
	ALL("%12s|%-12s|", AT(TEXTS), AT(TEXTS));
	ALL("%ps|%012px|%px", 0x1234, 0x1234, 0x1234);
	ALL("plain text without any conversion", 1);
	ALL("%d %d", 1);
	ALL("%40000d", 1);

	say("-- lengths of arguments\n");
	for (one = 0; one < 112; one += one < 16 ? 3 : 8) {
		with("%d", 1, (long[]){ 9 });
		*(long *)(shared + LENGTH) = one;
		element(BPF_MAP_UPDATE_ELEM, array, shared);
		say("%l:", one);
		vprintk();
		snprintf(100);
		with("%d", 1, (long[]){ 9 });
		*(long *)(shared + LENGTH) = one;
		element(BPF_MAP_UPDATE_ELEM, array, shared);
		seq_printf();
		say("\n");
	}
	memset(shared, 'x', 256);
	element(BPF_MAP_UPDATE_ELEM, array, shared);
	say("no end:");
	vprintk();
	snprintf(100);
	seq_printf();
	say("\n");
	return 0;
}
