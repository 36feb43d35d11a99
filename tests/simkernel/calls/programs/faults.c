/* Which pages of a file a read brings: mm/memory.c:do_fault_around(); what a child has after fork(); what wait4() counts. */
#include "tiny.h"
#include <linux/mman.h>
#include <linux/resource.h>
#define P 4096
#define BASE ((char *)0x40000000UL)

static long pm;
static struct rusage used_by;
static long faults(int who) { sys(__NR_getrusage, who, &used_by); return used_by.ru_minflt; }
static void bits(char *a, int n)
{
	static unsigned long long w[64];
	sys(__NR_pread64, pm, w, n * 8, (ulong)a / P * 8
#ifdef __i386__
			, 0
#endif
	);
	for (int k = 0; k < n; k++)
		put(w[k] >> 63 ? (w[k] >> 61 & 1 ? 'f' : 'a') : '.');
	put('\n');
}
static void show(const char *what, char *a, int n, long before)
{
	long more = faults(0) - before;
	say("%s: %d\n ", what, more);
	bits(a, n);
}
static long file(const char *name, int pages, int tail)
{
	static char page[P];
	long fd = sys(__NR_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	memset(page, 'x', P);
	for (int i = 0; i < pages; i++)
		sys(__NR_write, fd, page, P);
	if (tail)
		sys(__NR_write, fd, page, tail);
	return fd;
}
static char *at(ulong off, int pages, int prot, int flags, long fd, long pg) { return map(BASE + off, (long)pages * P, prot, flags | MAP_FIXED, fd, pg * P); }
#define munmap(a, n) sys(__NR_munmap, a, n)
#define mprotect(a, n, p) sys(__NR_mprotect, a, n, p)
#define madvise(a, n, p) sys(__NR_madvise, a, n, p)
#define mlock(a, n) sys(__NR_mlock, a, n)
volatile char sink;

int main(int argc, char **argv)
{
	pm = sys(__NR_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY, 0);
	long b; char *a;
	memset(line, 0, sizeof(line)); bits(BASE, 64); show("nothing", BASE, 8, faults(0)); used = 0;
	long fd = file("/tmp/around", 64, 0), sh = file("/tmp/short", 5, 100);
	a = at(0, 64, PROT_READ, MAP_PRIVATE, fd, 0); b = faults(0); sink = a[20 * P]; show("read 20", a, 64, b);
	b = faults(0); sink = a[0]; show("read 0", a, 64, b);
	b = faults(0); sink = a[63 * P]; show("read 63", a, 64, b);
	munmap(a, 64 * P);
	a = at(5 * P, 64, PROT_READ, MAP_PRIVATE, fd, 0); b = faults(0); sink = a[0]; show("at +5, read 0", a, 64, b);
	b = faults(0); sink = a[30 * P]; show("at +5, read 30", a, 64, b); munmap(a, 64 * P);
	a = at(0, 32, PROT_READ, MAP_PRIVATE, fd, 7); b = faults(0); sink = a[3 * P]; show("offset 7, read 3", a, 32, b); munmap(a, 32 * P);
	a = at(0, 16, PROT_READ, MAP_PRIVATE, sh, 0); b = faults(0); sink = a[0]; show("short file, read 0", a, 16, b); munmap(a, 16 * P);
	a = at(0x1f8000, 32, PROT_READ, MAP_PRIVATE, fd, 0); b = faults(0); sink = a[2 * P]; show("before 2 MiB", a, 32, b);
	b = faults(0); sink = a[9 * P]; show("after 2 MiB", a, 32, b); munmap(a, 32 * P);
	a = at(0x1fe000, 32, PROT_READ, MAP_PRIVATE, fd, 0); b = faults(0); sink = a[0]; show("two before 2 MiB", a, 32, b); munmap(a, 32 * P);
	a = at(0, 32, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0); b = faults(0); a[20 * P] = 1; show("private, write 20", a, 32, b);
	b = faults(0); sink = a[18 * P]; show("private, then read 18", a, 32, b);
	b = faults(0); a[19 * P] = 1; show("private, then write 19", a, 32, b); munmap(a, 32 * P);
	a = at(0, 32, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); b = faults(0); a[20 * P] = 1; show("shared, write 20", a, 32, b);
	b = faults(0); sink = a[18 * P]; show("shared, then read 18", a, 32, b);
	b = faults(0); a[19 * P] = 1; show("shared, then write 19", a, 32, b);
	b = faults(0); a[1 * P] = 1; show("shared, then write 1", a, 32, b);
	madvise(a + 16 * P, 4 * P, MADV_DONTNEED); b = faults(0); sink = a[17 * P]; show("after DONTNEED of four, read 17", a, 32, b); munmap(a, 32 * P);
	a = at(0, 32, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); b = faults(0); sink = a[3 * P]; show("shared anonymous, read 3", a, 32, b);
	b = faults(0); a[5 * P] = 1; a[6 * P] = 1; show("shared anonymous, write 5 6", a, 32, b);
	madvise(a, 32 * P, MADV_DONTNEED); b = faults(0); sink = a[1 * P]; show("after DONTNEED, read 1", a, 32, b); munmap(a, 32 * P);
	long hole = file("/tmp/hole", 0, 0); sys(__NR_ftruncate, hole, 32 * P); sys(__NR_lseek, hole, 3 * P, 0); sys(__NR_write, hole, "x", 1); sys(__NR_lseek, hole, 9 * P, 0); sys(__NR_write, hole, "x", 1);
	a = at(0, 32, PROT_READ, MAP_SHARED, hole, 0); b = faults(0); sink = a[0]; show("sparse, read hole 0", a, 32, b);
	b = faults(0); sink = a[20 * P]; show("sparse, read hole 20", a, 32, b); munmap(a, 32 * P);
	a = at(0, 32, PROT_READ, MAP_PRIVATE, fd, 0); mprotect(a + 18 * P, 2 * P, PROT_READ | PROT_WRITE); b = faults(0); sink = a[20 * P]; show("areas split at 18 and 20, read 20", a, 32, b); munmap(a, 32 * P);
	a = at(0, 32, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0); b = faults(0); sink = a[20 * P]; show("exec area, read 20", a, 32, b); munmap(a, 32 * P);
	a = at(0, 32, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0); show("populated", a, 32, faults(0)); munmap(a, 32 * P);
	a = at(0, 32, PROT_READ, MAP_PRIVATE, fd, 0); madvise(a, 32 * P, MADV_RANDOM); b = faults(0); sink = a[20 * P]; show("MADV_RANDOM, read 20", a, 32, b); munmap(a, 32 * P);
	a = at(0, 32, PROT_READ, MAP_PRIVATE, fd, 0); b = faults(0); sys(__NR_lseek, fd, 0, 0); sys(__NR_write, fd, a + 4 * P, 4); show("read by the kernel", a, 32, b); munmap(a, 32 * P);
	a = at(0, 32, PROT_READ, MAP_PRIVATE, fd, 0); b = faults(0); mlock(a, 4 * P); show("mlock of four", a, 32, b); munmap(a, 32 * P);
	char *f = at(0, 32, PROT_READ, MAP_PRIVATE, fd, 0), *s = at(0x100000, 32, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *c = at(0x200000, 32, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0), *n = at(0x300000, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sink = f[0]; s[1 * P] = 1; sink = s[17 * P]; c[2 * P] = 1; sink = c[20 * P]; n[P] = 1; sink = n[2 * P];
	flush();
	if (!fork()) {
		pm = sys(__NR_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY, 0);
		say("child: private, read only, shared, private with one written, anonymous\n "); bits(f, 32);
		put(' '); bits(s, 32); put(' '); bits(c, 32); put(' '); bits(n, 4); flush();
		return 0;
	}
	sys(__NR_wait4, -1, 0, 0, 0);
	long few = 0;
	for (int i = 0; i < 2; i++) {
		flush();
		long p = fork();
		if (!p) { for (int k = 0; i && k < 24; k++) c[k * P] = 2; sys(__NR_exit, 0); }
		sys(__NR_wait4, p, 0, 0, &used_by);
		if (i) say("faults of a child that writes 24 pages: %d more, major %d\n", used_by.ru_minflt - few, used_by.ru_majflt);
		few = used_by.ru_minflt;
	}
	faults(-1); say("of all children, more than of the last: %d\n", used_by.ru_minflt > few);
	a = at(0, 32, PROT_READ, MAP_PRIVATE, fd, 0); sink = a[0]; b = faults(0);
	mprotect(a, 8 * P, PROT_READ | PROT_EXEC); sink = a[0]; sink = a[7 * P]; show("after mprotect", a, 32, b);
	mprotect(a, 8 * P, PROT_NONE); mprotect(a, 8 * P, PROT_READ); b = faults(0); sink = a[0]; show("after PROT_NONE and back", a, 32, b);
	faults(0); say("majors %d\n", used_by.ru_majflt);
	flush();
	return 0;
}
