/* Holes punched into files that are mapped: by fallocate, by MADV_REMOVE; what each mapping then reads. */
/* not: s390x: mmap takes a block of arguments */
#include "tiny.h"
#if defined(__x86_64__)
#define MMAP __NR_mmap
#else
#define MMAP __NR_mmap2
#endif
enum { P = 4096 };
static void look(const char *what, volatile unsigned char *at, int pages)
{
	say("%s:", what);
	for (int i = 0; i < pages; i++)
		say(" %d", at[i * P]);
	say("\n");
}
static void fill(volatile unsigned char *at, int pages)
{
	for (int i = 0; i < pages; i++)
		at[i * P] = i + 1;
}
static long hole(long fd, int mode, long at, long length)
{
#if defined(__x86_64__) || defined(__s390x__)
	return sys(__NR_fallocate, fd, mode, at, length);
#else
	return sys(__NR_fallocate, fd, mode, at, 0, length, 0);
#endif
}
static void blocks(const char *what, long fd)
{
	unsigned char st[512];
	sys(__NR_statx, fd, "", 0x1000, 0x7ff, st);
	say("%s: %d bytes, %d blocks\n", what, (int)*(unsigned long long *)(st + 0x28), (int)*(unsigned long long *)(st + 0x30));
}
int main(int argc, char **argv)
{
	long fd = sys(__NR_memfd_create, "x", 0);
	sys(__NR_ftruncate, fd, 6 * P);
	volatile unsigned char *a = (void *)sys(MMAP, 0, 6 * P, 3, 1, fd, 0), *own;
	fill(a, 6);
	own = (void *)sys(MMAP, 0, 6 * P, 3, 2, fd, 0);
	own[2 * P] = 77;
	look("filled", a, 6), look("private", own, 6);
	say("punch %r\n", hole(fd, 3, P, 2 * P));
	look("shared", a, 6), look("private", own, 6);
	blocks("file", fd);
	a[P] = 9;
	look("written", a, 6), look("private", own, 6);
	say("part %r\n", hole(fd, 3, 3 * P + 10, P));
	look("shared", a, 6);
	say("byte %d %d %d\n", a[3 * P + 9], a[3 * P + 10], a[4 * P]);
	say("whole and part %r\n", hole(fd, 3, 4 * P - 1, P + 2));
	look("shared", a, 6);
	say("remove %r\n", sys(__NR_madvise, a + 5 * P, P, 9));
	look("shared", a, 6);
	say("remove of private %r\n", sys(__NR_madvise, own, P, 9));
	volatile unsigned char *anonymous = (void *)sys(MMAP, 0, 2 * P, 3, 0x21, -1, 0), *plain = (void *)sys(MMAP, 0, 2 * P, 3, 0x22, -1, 0);
	fill(anonymous, 2), fill(plain, 2);
	say("remove of shared memory %r\n", sys(__NR_madvise, anonymous, P, 9));
	look("shared memory", anonymous, 2);
	say("remove of a process's own %r\n", sys(__NR_madvise, plain, P, 9));
	look("own", plain, 2);
	blocks("file", fd);
	say("without keep size %r\n", hole(fd, 2, 0, P));
	say("past the end %r\n", hole(fd, 3, 10 * P, P));
	say("nothing %r\n", hole(fd, 3, 0, 0));
	say("zero range %r\n", hole(fd, 0x10, 0, P));
	say("collapse %r\n", hole(fd, 8, 0, P));
	sys(__NR_ftruncate, fd, 3 * P);
	sys(__NR_ftruncate, fd, 6 * P);
	look("cut and grown", a, 6), look("private", own, 6);
	return 0;
}
