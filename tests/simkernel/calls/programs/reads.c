/* What programs read of memory that may not be there: helpers for bytes and texts, at the edges of pages, of addresses that are none.
 * not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

#define ADDRESS(r, fd, kind) I(BPF_LD | BPF_DW, r, kind, 0, fd), I(0, 0, 0, 0, 0)

enum { SIZE, SOURCE, RESULT, BASE, TEXT = 32, BUFFER = 64, VALUE = 1024 };
static long shared[VALUE / 8];
static long array, base;
static char verifier[65536];

static long element(int cmd) { return bpf_element(cmd, array, 0, shared); }

static long load(struct bpf_insn *insns, int count, int type, int flags)
{
	attr.prog_flags = flags;
	attr.log_buf = (ulong)verifier;
	attr.log_size = sizeof(verifier);
	attr.log_level = 1;
	long fd = bpf_program(type, insns, count);
	if (fd < 0)
		say("%r: %s\n", fd, verifier);
	return fd;
}

static void run(long fd)
{
	attr.test.prog_fd = fd;
	bpf(BPF_PROG_TEST_RUN);
}

static const struct { const char *name; int number; int sleeps; } helpers[] = {
	{ "probe_read", BPF_FUNC_probe_read }, { "probe_read_str", BPF_FUNC_probe_read_str },
	{ "probe_read_kernel", BPF_FUNC_probe_read_kernel }, { "probe_read_kernel_str", BPF_FUNC_probe_read_kernel_str },
	{ "probe_read_user", BPF_FUNC_probe_read_user }, { "probe_read_user_str", BPF_FUNC_probe_read_user_str },
	{ "copy_from_user", BPF_FUNC_copy_from_user, 1 },
};
enum { HELPERS = sizeof(helpers) / sizeof(helpers[0]) };
static long programs[HELPERS];

static long reader(int number, int sleeps)
{
	struct bpf_insn insns[] = {
		ADDRESS(6, array, BPF_PSEUDO_MAP_VALUE), STORE(6, 6, BASE * 8), MOV(1, 6), ADD(1, BUFFER * 8), LOAD(2, 6, SIZE * 8), AND(2, 255),
		LOAD(3, 6, SOURCE * 8), CALL(number), STORE(6, 0, RESULT * 8), SET(0, 0), EXIT,
	};
	return load(insns, sizeof(insns) / sizeof(insns[0]), BPF_PROG_TYPE_SYSCALL, BPF_F_SLEEPABLE);
}

static void shown(const unsigned char *s, long n)
{
	for (long i = 0; i < n; i++) {
		long same = 1;

		while (i + same < n && s[i + same] == s[i])
			same++;
		if (s[i] > 32 && s[i] < 127)
			put(s[i]);
		else
			say("<%x>", (long)s[i]);
		if (same > 4) {
			say("*%l", same);
			i += same - 1;
		}
	}
}

static void one(int helper, const char *name, long from, long size)
{
	for (int i = BUFFER; i < VALUE / 8; i++)
		shared[i] = 0x2323232323232323;
	memset(shared + TEXT, 0, 64);
	memcpy(shared + TEXT, "of the kernel", 13);
	shared[SIZE] = size;
	shared[SOURCE] = from;
	element(BPF_MAP_UPDATE_ELEM);
	run(programs[helper]);
	element(BPF_MAP_LOOKUP_ELEM);
	say("%s %s %l: %r ", helpers[helper].name, name, size, shared[RESULT]);
	shown((unsigned char *)(shared + BUFFER), 80);
	say("\n");
}

static void all(const char *name, long from)
{
	static const int sizes[] = { 0, 1, 4, 5, 8, 9, 16, 64 };
	for (int i = 0; i < HELPERS; i++)
		for (unsigned j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++)
			one(i, name, from, sizes[j]);
}

static void few(const char *name, long from)
{
	for (int i = 0; i < HELPERS; i++) {
		one(i, name, from, 0);
		one(i, name, from, 8);
	}
}

static void numbers(void)
{
	static const char *const texts[] = {
		"42", "-42", " 42", "\t\n 7x", "+7", "0x1f", "0X1F", "0x", "0xg", "017", "08", "0", "00", "-0", "--1", "- 1", "-", "", " ", "ff", "7fffffffffffffff",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
		"0777777777777777777777", "000000000000000000000000000000000000000000000000000000000000000000000001", "1_0", "1.5", "12abc", "0b1", "0o7",
	};
	static const long flags[] = { 0, 8, 10, 16, 1, 2, 36, 32, 1L << 32, 0x110 };

	for (int which = 0; which < 2; which++) {
		struct bpf_insn insns[] = {
			ADDRESS(6, array, BPF_PSEUDO_MAP_VALUE), MOV(1, 6), ADD(1, TEXT * 8), LOAD(2, 6, SIZE * 8), AND(2, 127), ADD(2, 1), LOAD(3, 6, SOURCE * 8),
			MOV(4, 6), ADD(4, BUFFER * 8), CALL(which ? BPF_FUNC_strtoul : BPF_FUNC_strtol), STORE(6, 0, RESULT * 8), SET(0, 0), EXIT,
		};
		long program = load(insns, sizeof(insns) / sizeof(insns[0]), BPF_PROG_TYPE_SYSCALL, BPF_F_SLEEPABLE);

		if (program < 0)
			continue;
		for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
			say("%s %s:", which ? "strtoul" : "strtol", texts[i][0] == '\t' ? "(blanks)" : texts[i]);
			for (unsigned j = 0; j < sizeof(flags) / sizeof(flags[0]); j++) {
				for (int longer = 0; longer < 2; longer++) {
					memset(shared, 0, sizeof(shared));
					memcpy(shared + TEXT, texts[i], strlen(texts[i]));
					shared[SIZE] = strlen(texts[i]) + longer - 1; /* the program adds one */
					if (shared[SIZE] < 0)
						continue;
					shared[SOURCE] = flags[j];
					shared[BUFFER] = 77;
					element(BPF_MAP_UPDATE_ELEM);
					run(program);
					element(BPF_MAP_LOOKUP_ELEM);
					say(" %r=%x", shared[RESULT], shared[BUFFER]);
				}
			}
			say("\n");
		}
		sys(__NR_close, program);
	}
}

static void written(void)
{
	struct bpf_insn insns[] = {
		ADDRESS(6, array, BPF_PSEUDO_MAP_VALUE), LOAD(1, 6, SOURCE * 8), MOV(2, 6), ADD(2, TEXT * 8), LOAD(3, 6, SIZE * 8), AND(3, 127), ADD(3, 1),
		CALL(BPF_FUNC_probe_write_user), STORE(6, 0, RESULT * 8), SET(0, 0), EXIT,
	};
	long program = load(insns, sizeof(insns) / sizeof(insns[0]), BPF_PROG_TYPE_SYSCALL, BPF_F_SLEEPABLE);
	char *page = map(0, 16384, 3, 0x22, -1, 0);
	struct { const char *name; long to, size; } rows[] = {
		{ "a page", (long)page, 8 }, { "its end", (long)page + 4090, 6 }, { "over its end", (long)page + 4090, 16 }, { "not touched", (long)page + 8192, 8 },
		{ "read only", (long)page + 12288, 8 }, { "text", (long)&written, 8 }, { "zero", 0, 8 }, { "the kernel", base, 8 }, { "no address", 0x1234567812345678, 8 },
		{ "the limit", 0x7ffffffff000 - 4, 8 },
	};

	page[0] = page[12288] = 'a';
	sys(__NR_munmap, page + 4096, 4096);
	sys(__NR_mprotect, page + 12288, 4096, 1);
	for (unsigned i = 0; program >= 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(shared, 0, sizeof(shared));
		memcpy(shared + TEXT, "abcdefghijklmnop", 16);
		shared[SIZE] = rows[i].size - 1;
		shared[SOURCE] = rows[i].to;
		element(BPF_MAP_UPDATE_ELEM);
		run(program);
		element(BPF_MAP_LOOKUP_ELEM);
		say("write %s %r\n", rows[i].name, shared[RESULT]);
	}
	shown((unsigned char *)page, 10);
	shown((unsigned char *)page + 4088, 8);
	shown((unsigned char *)page + 8192, 10);
	say("\n");
}

int main(int argc, char **argv)
{
	char *page, *untouched, *closed;

	array = bpf_map(BPF_MAP_TYPE_ARRAY, 4, VALUE, 1, 0);
	for (int i = 0; i < HELPERS; i++)
		programs[i] = reader(helpers[i].number, helpers[i].sleeps);
	run(programs[0]);
	element(BPF_MAP_LOOKUP_ELEM);
	base = shared[BASE];

	page = map(0, 12288, 3, 0x22, -1, 0);
	for (int i = 0; i < 4096; i++)
		page[i] = 'a' + i % 26;
	memcpy(page + 100, "short", 6);
	memcpy(page + 203, "seven..", 8);
	page[4095] = 0;
	sys(__NR_munmap, page + 4096, 8192);
	all("words", (long)page + 26);
	all("a short text", (long)page + 100);
	all("an odd text", (long)page + 203);
	all("no text", (long)page + 105);
	all("the last text", (long)page + 4096 - 5);
	page[4095] = 'z';
	all("over the edge", (long)page + 4096 - 5);
	all("the last byte", (long)page + 4095);
	all("the kernel's text", base + TEXT * 8);
	untouched = map(0, 16384, 3, 0x22, -1, 0);
	few("never touched", (long)untouched);
	few("touched by that", (long)untouched);
	for (int i = 0; i < HELPERS; i++) {
		untouched[4096] = 'a';
		sys(__NR_munmap, untouched + 4096, 4096);
		map(untouched + 4096, 4096, 3, 0x32, -1, 0);
		memset(untouched, 'u', 4096);
		one(i, "into what was never touched", (long)untouched + 4092, 8);
	}
	closed = map(0, 4096, 3, 0x22, -1, 0);
	closed[0] = 'c';
	sys(__NR_mprotect, closed, 4096, 0);
	few("not to be read", (long)closed);
	sys(__NR_mprotect, closed, 4096, 1);
	few("to be read only", (long)closed);
	few("zero", 0);
	few("eight", 8);
	few("a page of zero", 4096);
	few("the limit", 0x7ffffffff000);
	few("no address", 0x1234567812345678);
	few("the kernel's half", 0xffff800000000000);
	few("vsyscall", 0xffffffffff600000);
	few("the last page", -4096);
	few("the last bytes", -8);
	few("minus one", -1);
	few("cut", 0x123400000000ffff);
	numbers();
	written();
	return 0;
}
