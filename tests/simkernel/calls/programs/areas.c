/* Areas of memory at their edges not: i386 s390x */
#include "tiny.h"
#include <asm/signal.h>
#include <linux/mman.h>
#include <linux/uio.h>
#define RW 3
#define P 4096UL
static char text[60000];
static char *base;
static void maps(const char *what)
{
	int n = slurp("/proc/self/maps", text, sizeof(text)); say("%s:\n", what);
	for (char *at = text, *end; at < text + n; at = end + 1) {
		for (end = at; *end != '\n'; end++) ;
		*end = 0;
		ulong from = 0, to = 0; char *q = at;
		for (; *q != '-'; q++) from = from * 16 + (*q <= '9' ? *q - '0' : *q - 'a' + 10);
		for (q++; *q != ' '; q++) to = to * 16 + (*q <= '9' ? *q - '0' : *q - 'a' + 10);
		if (from < (ulong)base || from >= (ulong)base + 64 * P) continue;
		q[5] = 0; say("  %l+%l%s\n", (long)(from - (ulong)base) >> 12, (long)(to - from) >> 12, q);
	}
}
static void *anon(int at, int n, int prot, int flags) { return map(base + at * P, n * P, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | flags, -1, 0); }
int main(int argc, char **argv)
{
	base = map(0, 64 * P, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); sys(__NR_munmap, base, 64 * P);
	anon(0, 6, RW, 0); memset(base, 1, 6 * P); sys(__NR_mprotect, base + 2 * P, 2 * P, 1); maps("split"); sys(__NR_mprotect, base + 2 * P, 2 * P, 3); maps("together");
	sys(__NR_mprotect, base + 2 * P, 2 * P, 1);
	if (!fork()) { sys(__NR_mprotect, base + 2 * P, 2 * P, 3); maps("child together"); sys(__NR_mprotect, base + 2 * P, 2 * P, 1); memset(base, 2, P); memset(base + 5 * P, 2, P); sys(__NR_mprotect, base + 2 * P, 2 * P, 3); maps("child written"); 
		anon(6, 2, RW, 0); maps("new beside"); anon(10, 2, RW, 0); base[10 * P] = 1; anon(8, 2, RW, 0); maps("between"); base[8 * P] = 1; maps("touched"); anon(12, 2, RW, 0); base[12 * P] = 1; maps("after"); leave(0); }
	wait_for(-1);
	sys(__NR_munmap, base, 64 * P);
	/* two written areas that meet */
	anon(0, 1, RW, 0); anon(2, 1, RW, 0); base[0] = 1; base[2 * P] = 1; anon(1, 1, RW, 0); maps("gap filled"); base[P] = 1; maps("touched");
	sys(__NR_munmap, base, 64 * P);
	anon(0, 1, RW, 0); anon(1, 1, 1, 0); base[0] = 1; sys(__NR_mprotect, base + P, P, 3); maps("untouched beside"); sys(__NR_mprotect, base + P, P, 1); sys(__NR_mprotect, base + P, P, 3); base[P] = 2; sys(__NR_mprotect, base + P, P, 0); sys(__NR_mprotect, base + P, P, 3); maps("both touched");
	sys(__NR_munmap, base, 64 * P);
	anon(0, 2, RW, 0); anon(4, 2, RW, 0); base[0] = 1; base[4 * P] = 1; say("moved beside %d\n", sys(__NR_mremap, base + 4 * P, 2 * P, 2 * P, 3, base + 2 * P) == (long)base + 2 * P); maps("moved");
	sys(__NR_munmap, base, 64 * P);
	/* mremap */
	anon(0, 8, RW, 0);
	T(__NR_mremap, base + 1, P, P, 0, 0); T(__NR_mremap, base, P, 0, 0, 0); T(__NR_mremap, base, P, P, 8, 0); T(__NR_mremap, base, P, P, 2, base + 10 * P); T(__NR_mremap, base, P, 2 * P, 5, 0); T(__NR_mremap, base, 0, P, 0, 0); T(__NR_mremap, base, P, P, 3, base + 1); T(__NR_mremap, base, 2 * P, 2 * P, 3, base + P); say("shrunk over a hole %d\n", sys(__NR_mremap, base, 20 * P, P, 1, 0) == (long)base);
	anon(0, 8, RW, 0);
	T(__NR_mremap, base, 20 * P, 30 * P, 1, 0); T(__NR_mremap, base + 30 * P, P, 2 * P, 1, 0); T(__NR_mremap, base, 8 * P, ~0UL << 12, 1, 0); T(__NR_mremap, base, 2 * P, 3 * P, 0, 0);
	say("grow last %d\n", sys(__NR_mremap, base + 6 * P, 2 * P, 4 * P, 0, 0) == (long)base + 6 * P); maps("grown");
	say("dontunmap %d\n", sys(__NR_mremap, base, 2 * P, 2 * P, 7, base + 20 * P) == (long)base + 20 * P); maps("both"); T(__NR_mremap, base, 2 * P, 3 * P, 7, base + 30 * P);
	map(base + 40 * P, 2 * P, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0); base[40 * P] = 7;
	say("duplicate of shared %d", sys(__NR_mremap, base + 40 * P, 0, P, 3, base + 44 * P) == (long)base + 44 * P); say(" %d, dontunmap of shared %d\n", base[44 * P], sys(__NR_mremap, base + 40 * P, 2 * P, 2 * P, 7, base + 46 * P) == (long)base + 46 * P); maps("shared");
	sys(__NR_munmap, base, 64 * P);
	/* mprotect */
	T(__NR_mprotect, base, P, 3); T(__NR_mprotect, base + 1, P, 3); T(__NR_mprotect, base, 0, 3); anon(0, 4, RW, 0); T(__NR_mprotect, base, P, 0x10); T(__NR_mprotect, base, P, 0x01000000); T(__NR_mprotect, base, P, 0x03000000); T(__NR_mprotect, base, P, 0x02000000); T(__NR_mprotect, base + 2 * P, 4 * P, 1); maps("half done"); T(__NR_mprotect, base, ~0UL, 1); T(__NR_mprotect, base, -P, 1); T(__NR_mprotect, base, P, 8 | 3); 
	anon(8, 4, RW, MAP_GROWSDOWN); T(__NR_mprotect, base + 10 * P, P, 0x01000001); maps("growsdown");
	/* madvise */
	static const int advices[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 99, 100, 101, 102, -1 };
	for (int i = 0; i < 32; i++) { anon(0, 4, RW, 0); base[0] = 1; base[P] = 1; if (advices[i] == 100) continue; long r = sys(__NR_madvise, base, 2 * P, advices[i]); say("advice %d: %r unaligned %r hole %r zero %r, shared %r locked %r\n", advices[i], r, sys(__NR_madvise, base + 1, P, advices[i]), sys(__NR_madvise, base + 3 * P, 4 * P, advices[i]), sys(__NR_madvise, base, 0, advices[i]), (map(base + 20 * P, P, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0), sys(__NR_madvise, base + 20 * P, P, advices[i])), (sys(__NR_munmap, base, 4 * P), anon(0, 4, RW, 0), sys(__NR_mlock, base + 2 * P, P), sys(__NR_madvise, base + 2 * P, P, advices[i]))); }
	sys(__NR_munmap, base, 64 * P);
	/* mmap */
	T(__NR_mmap, 0, 0, 3, 0x22, -1, 0); T(__NR_mmap, 0, P, 3, 0x20, -1, 0); T(__NR_mmap, 0, P, 3, 0x23 | 0x20, -1, 0) ; T(__NR_mmap, 0, P, 3, 2, -1, 0); T(__NR_mmap, base + 1, P, 3, 0x32, -1, 0); T(__NR_mmap, 0, P, 3, 0x22, -1, 1); T(__NR_mmap, 0, ~0UL, 3, 0x22, -1, 0); T(__NR_mmap, 0x1000, P, 3, 0x32, -1, 0) ; T(__NR_mmap, -P, P, 3, 0x32, -1, 0); T(__NR_mmap, 1UL << 47, P, 3, 0x32, -1, 0);
	anon(0, 2, RW, 0); T(__NR_mmap, base + P, P, 3, 0x100022, -1, 0); T(__NR_mmap, base, P, 3, 0x100032, -1, 0);
	long fd = sys(__NR_openat, -100, "/tmp/f", 0102, 0600), ro = sys(__NR_openat, -100, "/tmp/f", 0, 0), wo = sys(__NR_openat, -100, "/tmp/f", 1, 0), dir = sys(__NR_openat, -100, "/tmp", 0, 0), pa = sys(__NR_openat, -100, "/tmp/f", 010000000, 0); sys(__NR_ftruncate, fd, 100);
	T(__NR_mmap, 0, P, 3, 1, ro, 0); T(__NR_mmap, 0, P, 1, 1, wo, 0); T(__NR_mmap, 0, P, 2, 2, wo, 0); T(__NR_mmap, 0, P, 1, 1, dir, 0); T(__NR_mmap, 0, P, 1, 1, pa, 0); T(__NR_mmap, 0, P, 1, 3 | 0x80000, fd, 0); T(__NR_mmap, 0, P, 1, 3 | 0x200000, fd, 0); T(__NR_mmap, 0, P, 1, 0, fd, 0); T(__NR_mmap, 0, P, 1, 2 | 0x100, fd, 0); T(__NR_mmap, 0, P, 1, 1, fd, -P); T(__NR_mmap, 0, P, 1, 1, fd, 0x7fffffffffffffffUL & -P); T(__NR_mmap, 0, P, 3, 0x22 | 0x40000, -1, 0);
	/* mlock msync mincore munmap */
	T(__NR_munmap, base, 0); T(__NR_munmap, base + 1, P); T(__NR_munmap, base, 1UL << 47); T(__NR_munmap, 1UL << 47, P); T(__NR_mlock, base + 40 * P, P); T(__NR_mlock, base, 3 * P); T(__NR_mlock, base, ~0UL); T(__NR_mlock2, base, P, 2); T(__NR_mlock2, base, P, 1); T(__NR_munlock, base, 3 * P); T(__NR_mlockall, 0); T(__NR_mlockall, 4); T(__NR_mlockall, 8); T(__NR_msync, base, 3 * P, 4); T(__NR_msync, base, P, 5); T(__NR_msync, base, P, 8); T(__NR_msync, base + 1, P, 4); T(__NR_msync, base, 0, 4); T(__NR_msync, base, -P, 4); T(__NR_mincore, base, 3 * P, text); T(__NR_mincore, base, P, 1); T(__NR_mincore, base + 1, P, text); T(__NR_mincore, 1UL << 47, P, text); T(__NR_mincore, base, 0, 1); T(__NR_remap_file_pages, base, P, 0, 0, 0);
	return 0;
}
