/* userfaultfd: missing pages that a thread brings, pages that a write is told of. not: s390x (no thread of its own stack) */
#include "tiny.h"
#include <linux/mman.h>
#include <linux/ioctl.h>
#include <linux/userfaultfd.h>
#include <asm/ioctl.h>
#define P 4096UL
static int fd;
static char stack[16384] __attribute__((aligned(16)));
static char page[P] __attribute__((aligned(4096)));
static volatile int step, seen;

static long io(unsigned long cmd, void *arg) { return sys(__NR_ioctl, fd, cmd, arg); }
static long copy(volatile void *to, long len, int mode)
{
	struct uffdio_copy c = { (ulong)to, (ulong)page, len, mode, 0 };
	long ret = io(UFFDIO_COPY, &c);
	say("copy %r %r", ret, (long)c.copy);
	return ret;
}

static volatile char *volatile area;
static int toucher(void *arg)
{
	seen = area[10];
	step = 1;
	area[P + 5] = 'w';
	step = 2;
	seen = area[2 * P];
	step = 3;
	area[0] = 'p';
	step = 4;
	seen = area[3 * P];
	step = 5;
	return 0;
}

static void told(const char *what)
{
	struct uffd_msg m;
	long n;
	for (int i = 0; i < 50 && !(polled(fd, POLLIN) & 1); i++)
		nap(2);
	say("%s: poll %x", what, (long)polled(fd, POLLIN));
	n = sys(__NR_read, fd, &m, sizeof(m));
	if (n < 0) {
		say(" %r\n", n);
		return;
	}
	say(" read %r event %x flags %x page %d offset %x ptid %d\n", n, (long)m.event, (long)m.arg.pagefault.flags,
	    (int)((ulong)(m.arg.pagefault.address - (ulong)area) / P), (long)(m.arg.pagefault.address & (P - 1)), m.arg.pagefault.feat.ptid > 0);
}

static void until(int wanted)
{
	for (int i = 0; i < 100 && step < wanted; i++)
		nap(2);
	say("step %d seen %x\n", step, (long)seen);
}

int main(int argc, char **argv)
{
	struct uffdio_api api = { 0xAA, 1ULL << 60, 0 };
	struct uffdio_register r;
	struct uffdio_writeprotect wp;
	struct uffdio_zeropage z;
	struct uffdio_range range;
	char name[64], link[] = "/proc/self/fd/x";
	say("flags %r\n", sys(__NR_userfaultfd, 2));
	fd = sys(__NR_userfaultfd, O_NONBLOCK | O_CLOEXEC);
	link[14] = '0' + fd;
	name[sys(__NR_readlinkat, AT_FDCWD, link, name, 63)] = 0;
	say("%s poll %x read %r register %r\n", name, (long)polled(fd, POLLIN), sys(__NR_read, fd, page, 32), io(UFFDIO_REGISTER, &r));
	say("api %r", io(UFFDIO_API, &api));
	say(" %x", (long)api.api);
	api.api = 0xAB, api.features = 0;
	say(" %r", io(UFFDIO_API, &api));
	api.api = 0xAA, api.features = UFFD_FEATURE_THREAD_ID;
	say(" %r", io(UFFDIO_API, &api));
	say(" features %x ioctls %x", (long)api.features & 0x981, (long)api.ioctls & 3);
	say(" again %r\n", io(UFFDIO_API, &api));
	area = map(0, 8 * P, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	area[7 * P] = 'x';
	r.range.start = (ulong)area, r.range.len = 4 * P, r.mode = 0;
	say("mode %r", io(UFFDIO_REGISTER, &r));
	r.mode = 1, r.range.len = 100;
	say(" length %r", io(UFFDIO_REGISTER, &r));
	r.range.len = 0;
	say(" none %r", io(UFFDIO_REGISTER, &r));
	r.range.start = 0x10000, r.range.len = P;
	say(" hole %r", io(UFFDIO_REGISTER, &r));
	say("\n");
	r.range.start = (ulong)area, r.range.len = 4 * P, r.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
	say("register %r", io(UFFDIO_REGISTER, &r));
	say(" ioctls %x\n", (long)r.ioctls & 0x5f);
	memset(page, 'a', P);
	told("nothing");
	start_thread(toucher, 0, 0x50f00, stack + sizeof(stack));
	told("read");
	say("bad range "), copy(area + 1, P, 0), say("\nbad mode "), copy(area, P, 8), say("\nelsewhere "), copy(area + 5 * P, P, 0), say("\n");
	copy(area, P, 0), say("\n");
	until(1);
	say("there already "), copy(area, P, 0), say("\n");
	told("write");
	copy(area + P, P, UFFDIO_COPY_MODE_DONTWAKE), say("\n");
	say("asleep %d\n", step);
	range.start = (ulong)area + P, range.len = P;
	say("wake %r\n", io(UFFDIO_WAKE, &range));
	until(2);
	say("written %x%x\n", (long)area[P + 4], (long)area[P + 5]);
	wp.range.start = (ulong)area, wp.range.len = P, wp.mode = UFFDIO_WRITEPROTECT_MODE_WP;
	say("protect %r\n", io(UFFDIO_WRITEPROTECT, &wp));
	told("missing");
	z.range.start = (ulong)area + 2 * P, z.range.len = P, z.mode = 0;
	say("zero %r", io(UFFDIO_ZEROPAGE, &z));
	say(" %r\n", (long)z.zeropage);
	told("protected");
	wp.mode = 0;
	say("unprotect %r\n", io(UFFDIO_WRITEPROTECT, &wp));
	until(4);
	told("last");
	range.start = (ulong)area, range.len = 4 * P;
	say("unregister %r\n", io(UFFDIO_UNREGISTER, &range));
	until(5);
	say("not registered "), copy(area + 3 * P, P, 0), say("\n");
	r.range.len = 8 * P, r.mode = 1;
	say("more %r\n", io(UFFDIO_REGISTER, &r));
	say("two pages "), copy(area + 4 * P, 2 * P, 0), say("\n");
	say("into one that is there "), copy(area + 6 * P, 2 * P, 0), say("\n");
	say("%x %x %x\n", (long)area[4 * P], (long)area[6 * P], (long)area[7 * P]);
	sys(__NR_munmap, area, 8 * P);
	say("gone "), copy(area, P, 0), say("\n");
	sys(__NR_close, fd);
	fd = sys(__NR_userfaultfd, 1);
	api.api = 0xAA, api.features = 0;
	say("blocking %d api %r", fd > 2, io(UFFDIO_API, &api));
	say(" poll %x\n", (long)polled(fd, POLLIN));
	return 0;
}
