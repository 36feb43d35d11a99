/* Areas of memory: random walks of mmap, munmap, mprotect, mremap, mlock2, madvise and msync in one stretch of addresses, and what /proc/self/smaps then shows of it. not: s390x i386 */
#include "tiny.h"
#include <linux/mman.h>
#define BASE 0x10000000UL
#define PAGES 24
static unsigned seed;
static unsigned rnd(unsigned n) { seed = seed * 1103515245u + 12345u; return (seed >> 16) % n; }
static char text[1 << 17];
static int fd, memfd;

static void show(void)
{
	long f = sys(__NR_open, "/proc/self/smaps", O_RDONLY), n = 0, r;
	while ((r = sys(__NR_read, f, text + n, sizeof(text) - 1 - n)) > 0)
		n += r;
	sys(__NR_close, f);
	text[n] = 0;
	int in = 0;
	for (char *s = text; *s;) {
		char *e = s;
		while (*e && *e != '\n') e++;
		int head = (s[0] >= '0' && s[0] <= '9') || (s[0] >= 'a' && s[0] <= 'f');
		if (head) {
			ulong at = 0;
			for (char *d = s; *d != '-'; d++)
				at = at * 16 + (*d <= '9' ? *d - '0' : *d - 'a' + 10);
			in = at >= BASE && at < BASE + 2 * PAGES * 4096;
			if (in) {
				say("  ");
				char *d = s;
				for (; *d != ' '; d++) put(*d);
				put(' ');
				for (int i = 1; i < 14; i++) put(d[i]);
				put(' ');
			}
		} else if (in && !memcmp(s, "VmFlags:", 8)) {
			for (char *d = s + 8; d < e; d++) put(*d);
			say("\n");
		}
		s = *e ? e + 1 : e;
	}
}

static void step(void)
{
	static const int prots[] = { 0, 1, 3, 3, 3, 5, 2 };
	static const int advices[] = { 0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 100 };
	ulong at = BASE + 4096 * rnd(PAGES), size = 4096 * (1 + rnd(6));
	if (!rnd(15))
		at += 1 + rnd(4095);
	if (!rnd(15))
		size -= rnd(4096);
	switch (rnd(12)) {
	case 0: case 1: {
		static const int kinds[] = { MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS, MAP_PRIVATE, MAP_SHARED, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, MAP_SHARED_VALIDATE };
		int flags = kinds[rnd(9)], prot = prots[rnd(7)], fixed = rnd(4) ? MAP_FIXED : MAP_FIXED_NOREPLACE;
		say("mmap %x %x %d %x: %x\n", at, size, prot, (long)(flags | fixed), sys(__NR_mmap, at, size, prot, flags | fixed, flags & MAP_ANONYMOUS ? -1 : rnd(2) ? fd : memfd, 4096 * rnd(3)));
		break;
	}
	case 2: say("munmap %x %x: %r\n", at, size, sys(__NR_munmap, at, size)); break;
	case 3: { int prot = prots[rnd(7)]; if (!rnd(10)) prot |= PROT_GROWSDOWN; say("mprotect %x %x %x: %r\n", at, size, (long)prot, sys(__NR_mprotect, at, size, prot)); break; }
	case 4: case 5: {
		ulong to = BASE + 4096 * rnd(2 * PAGES), new = 4096 * (1 + rnd(8));
		int flags = rnd(8);
		if (rnd(3)) flags |= 1;
		if (!(flags & 2)) to = 0;
		if (!rnd(12)) size = 0;
		if (!(flags & 3)) flags = 0;
		if ((flags & 1) && !(flags & 2)) flags = 0; /* elsewhere is where it likes */
		say("mremap %x %x %x %d %x: ", at, size, new, flags, to);
		long r = sys(__NR_mremap, at, size, new, flags, to);
		if (r < 0 && r > -4096) say("%r\n", r); else say("%x\n", r);
		break;
	}
	case 6: { int flags = rnd(4) ? rnd(2) : 2; say("mlock2 %x %x %d: %r\n", at, size, flags, sys(__NR_mlock2, at, size, flags)); break; }
	case 7: say("munlock %x %x: %r\n", at, size, sys(__NR_munlock, at, size)); break;
	case 8: case 9: { int advice = advices[rnd(25)]; if (advice == 100 || advice == 12 || advice == 21) advice = 4; say("madvise %x %x %d: %r\n", at, size, advice, sys(__NR_madvise, at, size, advice)); break; }
	case 10: { int flags = rnd(8); say("msync %x %x %d: %r\n", at, size, flags, sys(__NR_msync, at, size, flags)); break; }
	case 11: { /* touch, through the kernel */
		static char buf[4096];
		long p[2]; int q[2]; (void)p;
		sys(__NR_pipe, q);
		say("write from %x: %r", at, sys(__NR_write, q[1], at, 8));
		sys(__NR_write, q[1], buf, 8);
		say(", read to: %r\n", sys(__NR_read, q[0], at, 8));
		sys(__NR_close, q[0]), sys(__NR_close, q[1]);
		break;
	}
	}
}

int main(int argc, char **argv)
{
	static char page[4096];
	sys(__NR_mkdir, "/tmp", 0777);
	fd = sys(__NR_open, "/tmp/mmwalk", O_RDWR | O_CREAT, 0600);
	memfd = sys(__NR_memfd_create, "walk", 0);
	for (int i = 0; i < 6; i++)
		sys(__NR_write, fd, page, 4096), sys(__NR_write, memfd, page, 4096);
	static const int seeds[] = { 99, 100, 101, 103, 104 }; /* in none of them areas of a file grow together, which only anonymous ones do inside */
	for (int walk = 0; walk < 5; walk++) {
		seed = seeds[walk];
		sys(__NR_munmap, BASE, 3 * PAGES * 4096);
		say("walk %d\n", walk);
		for (int i = 0; i < 60; i++) {
			step();
			if (i % 3 == 2)
				show();
		}
	}
	return 0;
}
