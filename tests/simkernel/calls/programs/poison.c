/* MADV_HWPOISON and MADV_SOFT_OFFLINE: pages that are said to be broken, and what the next look at them is. not: s390x i386 */
#include "tiny.h"
#include <linux/mman.h>
#define P 4096UL
struct info { int signo, errno_, code, pad; ulong addr; short lsb; };
static volatile struct info seen;
static volatile int hits;
static ulong jump[4];
static char *area;

static void handler(int sig, void *info, void *context)
{
	memcpy((void *)&seen, info, sizeof(seen));
	hits++;
	if (seen.code == 5)
		return;
	ulong *regs = (ulong *)((char *)context + 40); /* uc_mcontext */
	regs[16] = jump[0], regs[15] = jump[1], regs[10] = jump[2]; /* rip, rsp, rbp */
}
static int touch(volatile char *at, int write) /* 1: a signal */
{
	int before = hits;
	__asm__ volatile("lea 1f(%%rip), %%rax\n mov %%rax, (%0)\n mov %%rsp, 8(%0)\n mov %%rbp, 16(%0)\n"
			 "test %2, %2\n jz 2f\n movb $7, (%1)\n jmp 1f\n2: movb (%1), %%al\n1:\n" : : "r"(jump), "r"(at), "r"(write)
			 : "rax", "rbx", "r12", "r13", "r14", "r15", "memory", "rcx", "rdx", "r8", "r9", "r10", "r11");
	return hits != before;
}
static void look(const char *what, char *at, int write)
{
	int hit = touch(at, write);
	say("%s: %s", what, hit ? "signal" : "fine");
	if (hit)
		say(" %d code %d errno %d page %l offset %l lsb %d", seen.signo, seen.code, seen.errno_, (long)(seen.addr - (ulong)area) >> 12, (long)(seen.addr & 4095), seen.lsb);
	say("\n");
}
static long field(const char *file, const char *name)
{
	static char text[16384];
	long n = slurp(file, text, sizeof(text)), v = 0;
	for (long i = 0; i < n; i++)
		if ((i == 0 || text[i - 1] == '\n') && !memcmp(text + i, name, strlen(name))) {
			for (i += strlen(name); text[i] < '0' || text[i] > '9'; i++)
				;
			for (; text[i] >= '0' && text[i] <= '9'; i++)
				v = v * 10 + text[i] - '0';
			return v;
		}
	return -1;
}
static void corrupted(void) { say("HardwareCorrupted %l kB\n", field("/proc/meminfo", "HardwareCorrupted:")); }
static void pagemap(const char *what, char *at)
{
	unsigned long long entry = 0;
	long fd = sys(__NR_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY, 0);
	sys(__NR_pread64, fd, &entry, 8, (ulong)at / P * 8);
	sys(__NR_close, fd);
	say("%s: present %d swap %d file %d dirty %d\n", what, (int)(entry >> 63), (int)(entry >> 62 & 1), (int)(entry >> 61 & 1), (int)(entry >> 55 & 1));
	unsigned char in = 9;
	say(" mincore %r", sys(__NR_mincore, at, P, &in));
	say(" %d\n", in);
}
static char *fresh(int pages, int flags)
{
	char *m = map(0, pages * P, 3, flags | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < pages; i++)
		m[i * P] = 'a' + i;
	return area = m;
}
static long advise(char *at, long n, int how) { return sys(__NR_madvise, at, n, how); }

int main(int argc, char **argv)
{
	char buf[16];
	int p[2];
	sys(__NR_alarm, 30);
	on_signal(7, handler, 0x40000000), on_signal(11, handler, 0x40000000);
	corrupted();
	char *m = fresh(8, MAP_PRIVATE);
	say("nothing there %r", advise((char *)0x10000, P, 100)), say(" %r", advise((char *)0x10000, P, 101));
	say(" odd %r empty %r", advise(m + 1, P, 100), advise(m, 0, 100)), say(" half %r\n", advise(m + 7 * P, 100, 101));
	look("after soft", m + 7 * P, 0), say(" %d\n", m[7 * P]);
	pagemap("after soft", m + 7 * P);
	say("poison one %r\n", advise(m + P, P, 100));
	pagemap("poisoned", m + P), corrupted();
	look("read", m + P, 0), look("write", m + P + 5, 1), look("beside", m, 1), look("behind", m + 2 * P, 0);
	sys(__NR_pipe2, p, O_NONBLOCK), sys(__NR_write, p[1], "xy", 2);
	say("write(2) from it %r\n", sys(__NR_write, p[1], m + P, 4));
	say("from before into it %r\n", sys(__NR_write, p[1], m + P - 4, 8));
	say("read into it %r\n", sys(__NR_read, p[0], m + P, 2));
	say("again %r soft %r\n", advise(m + P, P, 100), advise(m + P, P, 101));
	say("mprotect %r", sys(__NR_mprotect, m + P, P, 1)), look(" then", m + P, 0);
	say("lock %r\n", sys(__NR_mlock, m, 3 * P)), sys(__NR_munlock, m, 3 * P);
	say("populate %r\n", advise(m + P, P, 22));
	say("willneed %r free %r", advise(m + P, P, 3), advise(m + P, P, 8));
	sys(__NR_mprotect, m + P, P, 3);
	look("after free", m + P, 0);
	long pid = fork();
	if (!pid) {
		look("child", m + P, 0), look("child beside", m, 0);
		leave(0);
	}
	say("child %x\n", (long)wait_for(pid));
	say("moved %d", (m = (char *)sys(__NR_mremap, m, 8 * P, 8 * P, 3, m + 64 * P), !bad(m)));
	area = m, look(" there", m + P, 0);
	say("dropped %r", advise(m + P, P, 4)), look(" then", m + P, 0), say(" is %d\n", m[P]), pagemap("new", m + P);
	corrupted();
	say("two %r", advise(m + 2 * P, 2 * P, 100)), look(" first", m + 2 * P, 0), look(" second", m + 3 * P, 1);
	say("mapped anew %d", !bad(map(m + 2 * P, P, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0))), look(" then", m + 2 * P, 1);
	say("over a hole %r\n", (sys(__NR_munmap, m + 5 * P, P), advise(m + 4 * P, 3 * P, 100)));
	look(" before it", m + 4 * P, 0), look(" behind it", m + 6 * P, 0);
	corrupted();
	char *u = map(0, 2 * P, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	area = u, say("untouched %r", advise(u, P, 100)), look(" then", u, 0), look(" next", u + P, 0);
	u = map(0, P, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("no rights %r %r\n", advise(u, P, 100), advise(u, P, 101));
	m = fresh(2, MAP_SHARED);
	say("shared %r", advise(m, P, 100)), look(" then", m, 0), look(" again", m, 1), look(" next", m + P, 0);
	pid = fork();
	if (!pid) {
		look("shared in the child", m, 0);
		say("child poisons %r\n", advise(m + P, P, 100));
		leave(0);
	}
	wait_for(pid), look("what the child has poisoned", m + P, 0);
	m = fresh(2, MAP_PRIVATE);
	pid = fork();
	if (!pid) {
		say("child poisons a page of both %r", advise(m, P, 100)), look(" sees", m, 0);
		m[P] = 'z', say("child poisons its own %r", advise(m + P, P, 100)), look(" sees", m + P, 0);
		leave(0);
	}
	wait_for(pid), look("parent", m, 0), look("parent's other", m + P, 0);
	long fd = sys(__NR_openat, AT_FDCWD, "/tmp", 0x410000 | O_RDWR, 0600);
	if (fd < 0)
		fd = sys(__NR_memfd_create, "f", 0);
	sys(__NR_ftruncate, fd, 4 * P), sys(__NR_pwrite64, fd, "hello", 5, 0), sys(__NR_pwrite64, fd, "there", 5, P);
	m = area = map(0, 4 * P, 3, MAP_SHARED, fd, 0);
	m[0] = m[P] = 'T';
	say("page of a file %r", advise(m, P, 100)), look(" then", m, 0);
	say("dirty page %r", advise(m + P, P, 100)), look(" then", m + P, 0);
	say("read(2) %r", sys(__NR_pread64, fd, buf, 5, 0)), say(" %r", sys(__NR_pread64, fd, buf, 5, P)), say(" over both %r", sys(__NR_pread64, fd, buf, 8, P - 4)), say(" beside %r\n", sys(__NR_pread64, fd, buf, 5, 2 * P));
	say("write(2) %r\n", sys(__NR_pwrite64, fd, "new", 3, P));
	say("fsync %r\n", sys(__NR_fsync, fd));
	char *w = map(0, 4 * P, 1, MAP_SHARED, fd, 0);
	area = w, look("another look", w, 0), look("of the dirty one", w + P, 0);
	say("truncate %r", sys(__NR_ftruncate, fd, 0)), sys(__NR_ftruncate, fd, 4 * P), look(" then", w, 0), look(" dirty", w + P, 0);
	say("hole punched %r", sys(__NR_fallocate, fd, 3, P, P)), look(" then", w + P, 0);
	m = fresh(2, MAP_PRIVATE);
	say("soft %r", advise(m, 2 * P, 101)), look(" then", m, 0), say(" is %d %d\n", m[0], m[P]);
	for (int policy = 0; policy < 3; policy++) {
		pid = fork();
		if (!pid) {
			m = fresh(1, MAP_PRIVATE), hits = 0;
			say("policy %d %r", policy, sys(__NR_prctl, 33, 1, policy, 0, 0)), say(" poison %r", advise(m, P, 100));
			say(" told %d code %d offset %l lsb %d\n", hits, hits ? seen.code : 0, hits ? (long)(seen.addr - (ulong)area) : 0, hits ? seen.lsb : 0);
			look(" then", m, 0);
			leave(0);
		}
		wait_for(pid);
	}
	say("unprivileged"), sys(__NR_setresuid, 1000, 1000, 1000), say(" %r", advise(m, P, 100)), say(" %r", advise(m, P, 101)), say(" odd %r\n", advise(m + 1, P, 100));
	return 0;
}
