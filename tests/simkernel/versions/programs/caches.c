/* Iterators over the slab's caches, in a file and opened by a program; over buffers of devices, of which there are none; the cache of an object. */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"

#define KFUNC(id) I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, id)
#define PUT(off, i) I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, off, i)
#define JEQ0(r, n) I(BPF_JMP | BPF_JEQ | BPF_K, r, 0, n, 0)
#define JNE0(r, n) I(BPF_JMP | BPF_JNE | BPF_K, r, 0, n, 0)
#define JA(n) I(BPF_JMP | BPF_JA, 0, 0, n, 0)
#define LOAD4(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define NAME 88 /* struct kmem_cache of 7.2: name, object_size */
#define OBJECT_SIZE 28
static char text[60000];

static long load(int type, int attach, unsigned target, int flags, int level, struct bpf_insn *code, int n)
{
	memset(text, 0, sizeof(text));
	attr.prog_type = type, attr.expected_attach_type = attach, attr.attach_btf_id = target, attr.prog_flags = flags, attr.insns = (ulong)code, attr.insn_cnt = n, attr.license = (ulong)"GPL";
	attr.log_level = level, attr.log_buf = (ulong)text, attr.log_size = sizeof(text);
	return bpf(BPF_PROG_LOAD);
}
#define ITER(target, flags, ...) ({ struct bpf_insn code[] = { __VA_ARGS__, EXIT }; load(BPF_PROG_TYPE_TRACING, 28, target, flags, 1, code, sizeof(code) / sizeof(*code)); })
#define CALLED(...) ({ struct bpf_insn code[] = { __VA_ARGS__, EXIT }; load(BPF_PROG_TYPE_SYSCALL, 0, 0, BPF_F_SLEEPABLE, 1, code, sizeof(code) / sizeof(*code)); })

static unsigned run(long fd)
{
	union bpf_attr test;
	memset(&test, 0, sizeof(test));
	test.test.prog_fd = fd;
	long err = sys(__NR_bpf, BPF_PROG_TEST_RUN, &test, sizeof(test));
	sys(__NR_close, fd);
	return err ? (unsigned)err : test.test.retval;
}
static void told(const char *what, long fd)
{
	say("%s: %r\n%s", what, fd < 0 ? fd : 0, text);
	if (fd >= 0)
		sys(__NR_close, fd);
}

/* Writes what is at fp-OFF of that many bytes; R6: context. */
#define WRITE(off, bytes) LOAD(1, 6, 0), LOAD(1, 1, 0), MOV(2, 10), ADD(2, -off), SET(3, bytes), CALL(BPF_FUNC_seq_write)

static void fdinfo(long fd)
{
	char path[40] = "/proc/self/fdinfo/";
	char *p = path + 18;
	if (fd >= 10) *p++ = '0' + fd / 10;
	*p++ = '0' + fd % 10, *p = 0;
	memset(text, 0, sizeof(text));
	long n = slurp(path, text, sizeof(text));
	for (char *line = text; n > 0 && *line;) {
		char *end = line;
		while (*end && *end != '\n') end++;
		char was = *end; *end = 0;
		if (memcmp(line, "pos", 3) && memcmp(line, "flags", 5) && memcmp(line, "mnt_id", 6) && memcmp(line, "ino", 3) && memcmp(line, "link_id", 7) && memcmp(line, "prog_", 5))
			say("  | %s\n", line);
		if (!was) break;
		line = end + 1;
	}
}

static long opened(long prog)
{
	attr.link_create.prog_fd = prog, attr.link_create.attach_type = 28;
	long link = bpf(BPF_LINK_CREATE);
	if (link < 0) {
		say(" link %r\n", link);
		return link;
	}
	fdinfo(link);
	attr.iter_create.link_fd = link;
	return bpf(BPF_ITER_CREATE);
}

/* rows of 48 bytes: name, size; a row of zeros at the end */
struct row { char name[40]; unsigned long long size; };
static void rows(const char *what, long prog, int all)
{
	static const char *const known[] = { "task_struct", "filp", "dentry", "TCP", "mm_struct", "kmalloc-8", "no such", "" };
	long it = opened(prog), n, got = 0;
	if (it < 0)
		return;
	memset(text, 0, sizeof(text));
	while ((n = sys(__NR_read, it, text + got, sizeof(text) - 1 - got)) > 0)
		got += n;
	struct row *row = (struct row *)text;
	long count = got / sizeof(*row);
	say("%s: read %r, whole rows %d, many %d\n", what, n, got % sizeof(*row) == 0, count > 20);
	for (int i = 0; i < 8; i++) {
		int found = 0;
		for (int r = 0; r < count; r++)
			found += streq(row[r].name, known[i]);
		say("  '%s' %d\n", known[i], found);
	}
	say("  the last '%s' %d\n", count ? row[count - 1].name : "-", (int)row[count - 1].size);
	for (int r = 0; all && r < count; r++)
		say("%s %d\n", row[r].name, (int)row[r].size);
	sys(__NR_close, it);
}

int main(int argc, char **argv)
{
	unsigned caches = btf_id("bpf_iter_kmem_cache", 12), bufs = btf_id("bpf_iter_dmabuf", 12);
	unsigned new = btf_id("bpf_iter_kmem_cache_new", 12), next = btf_id("bpf_iter_kmem_cache_next", 12), destroy = btf_id("bpf_iter_kmem_cache_destroy", 12), of = btf_id("bpf_get_kmem_cache", 12);
	unsigned bnew = btf_id("bpf_iter_dmabuf_new", 12), bnext = btf_id("bpf_iter_dmabuf_next", 12), bdestroy = btf_id("bpf_iter_dmabuf_destroy", 12);
	say("types %d %d %d %d\n", caches > 0, bufs > 0, new > 0, of > 0);
	told("nothing", ITER(caches, 0, SET(0, 0)));
	told("looks at a cache", ITER(caches, 0, LOAD(2, 1, 8), LOAD4(0, 2, OBJECT_SIZE), SET(0, 0)));
	told("after a check", ITER(caches, 0, LOAD(2, 1, 8), JEQ0(2, 1), LOAD4(0, 2, OBJECT_SIZE), SET(0, 0)));
	told("its name", ITER(caches, 0, LOAD(2, 1, 8), JEQ0(2, 1), LOAD(0, 2, NAME), SET(0, 0)));
	told("behind it", ITER(caches, 0, LOAD(2, 1, 16), SET(0, 0)));
	told("changes it", ITER(caches, 0, LOAD(2, 1, 8), JEQ0(2, 1), I(BPF_ST | BPF_MEM | BPF_W, 2, 0, 24, 1), SET(0, 0)));
	told("returns 2", ITER(caches, 0, SET(0, 2)));
	long prog = ITER(caches, BPF_F_SLEEPABLE, SET(0, 0));
	told("that may sleep", prog);
	prog = ITER(caches, BPF_F_SLEEPABLE, SET(0, 0));
	long it = opened(prog);
	say("  created %r\n", it < 0 ? it : 0), sys(__NR_close, it), sys(__NR_close, prog);
	prog = ITER(caches, 0, MOV(6, 1), PUT(-48, 0), PUT(-40, 0), PUT(-32, 0), PUT(-24, 0), PUT(-16, 0), PUT(-8, 0), LOAD(7, 6, 8), JEQ0(7, 7),
		LOAD4(1, 7, OBJECT_SIZE), STORE(10, 1, -8), LOAD(3, 7, NAME), MOV(1, 10), ADD(1, -48), SET(2, 40), CALL(BPF_FUNC_probe_read_kernel_str), WRITE(48, 48), SET(0, 0));
	if (prog < 0)
		say("%s", text);
	rows("caches", prog, argc > 1);
	sys(__NR_close, prog);
	told("a buffer without a check", ITER(bufs, 0, LOAD(2, 1, 8), LOAD(0, 2, 0), SET(0, 0)));
	told("a buffer", ITER(bufs, 0, LOAD(2, 1, 8), JEQ0(2, 1), LOAD(0, 2, 0), SET(0, 0)));
	prog = ITER(bufs, BPF_F_SLEEPABLE, SET(0, 0));
	it = opened(prog), say("  created %r\n", it < 0 ? it : 0), sys(__NR_close, it), sys(__NR_close, prog);
	prog = ITER(bufs, 0, MOV(6, 1), PUT(-48, 0), PUT(-40, 0), PUT(-32, 0), PUT(-24, 0), PUT(-16, 0), PUT(-8, 0), LOAD(7, 6, 8), JEQ0(7, 1), PUT(-48, 'b'), WRITE(48, 48), SET(0, 0));
	rows("buffers", prog, 0);
	sys(__NR_close, prog);
	/* up to fifteen */
	prog = CALLED(MOV(1, 10), ADD(1, -8), KFUNC(new), SET(6, 0), MOV(1, 10), ADD(1, -8), KFUNC(next), JEQ0(0, 2), ADD(6, 1), I(BPF_JMP | BPF_JLT | BPF_K, 6, 0, -6, 15), MOV(1, 10), ADD(1, -8), KFUNC(destroy), SET(0, 0), I(BPF_JMP | BPF_JLT | BPF_K, 6, 0, 1, 15), SET(0, 1));
	say("opened by a program: %r\n%s", prog < 0 ? prog : 0, text);
	if (prog >= 0)
		say("  fifteen: %d\n", run(prog));
	prog = CALLED(MOV(1, 10), ADD(1, -8), KFUNC(new), MOV(1, 10), ADD(1, -8), KFUNC(next), SET(6, 0), JEQ0(0, 1), LOAD4(6, 0, OBJECT_SIZE), MOV(1, 10), ADD(1, -8), KFUNC(destroy), SET(0, 0), JEQ0(6, 1), SET(0, 1));
	say("its first: %r\n%s", prog < 0 ? prog : 0, text);
	if (prog >= 0)
		say("  has a size %d\n", run(prog));
	prog = CALLED(MOV(1, 10), ADD(1, -8), KFUNC(bnew), MOV(1, 10), ADD(1, -8), KFUNC(bnext), SET(6, 0), JEQ0(0, 1), SET(6, 1), MOV(1, 10), ADD(1, -8), KFUNC(bdestroy), MOV(0, 6));
	say("buffers: %r\n%s", prog < 0 ? prog : 0, text);
	if (prog >= 0)
		say("  there are %d\n", run(prog));
	prog = CALLED(CALL(BPF_FUNC_get_current_task), MOV(1, 0), KFUNC(of), JNE0(0, 2), SET(0, 99), EXIT, LOAD(3, 0, NAME), PUT(-16, 0), PUT(-8, 0), MOV(1, 10), ADD(1, -16), SET(2, 16), CALL(BPF_FUNC_probe_read_kernel_str), LOAD4(0, 10, -16));
	say("of a task: %r\n%s", prog < 0 ? prog : 0, text);
	if (prog >= 0) {
		unsigned got = run(prog);
		say("  named %d\n", !memcmp(&got, "task", 4));
	}
	static const unsigned long long places[] = { 0, 1, 0x1000, 0xffffffff81000000ULL };
	for (int i = 0; i < 4; i++) {
		prog = CALLED(I(BPF_LD | BPF_DW | BPF_IMM, 1, 0, 0, (int)places[i]), I(0, 0, 0, 0, (int)(places[i] >> 32)), KFUNC(of), JNE0(0, 2), SET(0, 99), EXIT, SET(0, 1));
		say("of %x: %d\n", (long)places[i], prog < 0 ? (int)prog : (int)run(prog));
	}
	prog = CALLED(MOV(1, 10), KFUNC(of), SET(0, 1));
	told("of the stack", prog);
	prog = ITER(caches, 0, LOAD(1, 1, 8), KFUNC(of), SET(0, 0));
	told("of a cache", prog);
	return 0;
}
