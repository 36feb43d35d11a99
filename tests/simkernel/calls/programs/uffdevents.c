/* userfaultfd tells of what becomes of the memory that it watches: forks, moves, removals, unmapping; who does that waits until it is read.  not: s390x i386 */
#include "tiny.h"
#include <linux/ioctl.h>
#include <linux/mman.h>
#include <linux/userfaultfd.h>
#define PAGE 4096
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
static long uffd;
static int to[2], back[2];
static char *area;
enum { PAGES = 16 };

static const char *place(unsigned long a)
{
	static char text[4][32];
	static int turn;
	char *t = text[turn++ & 3], *p = t;
	long n = (long)(a - (unsigned long)area) / PAGE;
	if (n < 0 || n > 400)
		return "elsewhere";
	*p++ = '+';
	if (n >= 100) *p++ = '0' + n / 100 % 10;
	if (n >= 10) *p++ = '0' + n / 10 % 10;
	*p++ = '0' + n % 10, *p = 0;
	return t;
}

static void monitor(void)
{
	struct uffd_msg m;
	char c;
	sys(__NR_read, to[0], &c, 1);
	for (;;) {
		struct uffdio_zeropage zero = { .range = { (ulong)area + 15 * PAGE, PAGE } };
		struct pollfd p = { uffd, POLLIN };
		sys(__NR_ppoll, &p, 1, 0, 0, 0);
		long early = sys(__NR_ioctl, uffd, UFFDIO_ZEROPAGE, &zero);
		long got = sys(__NR_read, uffd, &m, sizeof(m));
		if (got < 0) {
			say("    read %r\n", got);
			leave(1);
		}
		say("    event %x early %r", (long)m.event, early == -EEXIST ? 0 : early);
		switch (m.event) {
		case UFFD_EVENT_FORK: {
			struct uffdio_api api = { UFFD_API, 0, 0 };
			say(" fork, new %d api %r", m.arg.fork.ufd > 2, sys(__NR_ioctl, m.arg.fork.ufd, UFFDIO_API, &api));
			say(" close %r", sys(__NR_close, m.arg.fork.ufd));
			break;
		}
		case UFFD_EVENT_REMAP: say(" from %s to %s len %d", place(m.arg.remap.from), m.arg.remap.to > (ulong)area + 300 * PAGE ? "far" : place(m.arg.remap.to), (int)m.arg.remap.len / PAGE); break;
		case UFFD_EVENT_REMOVE: case UFFD_EVENT_UNMAP: say(" %s to %s", place(m.arg.remove.start), place(m.arg.remove.end)); break;
		case UFFD_EVENT_PAGEFAULT: {
			struct uffdio_zeropage z = { .range = { m.arg.pagefault.address & -PAGE, PAGE } };
			say(" fault at %s", place(m.arg.pagefault.address));
			say(" %r", sys(__NR_ioctl, uffd, UFFDIO_ZEROPAGE, &z));
			break;
		}
		}
		say("\n");
		sys(__NR_write, back[1], "x", 1);
	}
}
static void acks(int n) { char c; while (n--) sys(__NR_read, back[0], &c, 1); }
#define DO(n, call) do { say("  %s\n", #call); long ret_ = call; acks(n); say("  = %r\n", ret_ > 4096 ? 1 : ret_); } while (0)

static long api(long features)
{
	struct uffdio_api a = { UFFD_API, features, 0 };
	long fd = sys(__NR_userfaultfd, 04000), ret = sys(__NR_ioctl, fd, UFFDIO_API, &a);
	say("api %x: %r, %x\n", features, ret, (long)a.features & 0x9cf);
	sys(__NR_close, fd);
	return ret;
}

int main(int argc, char **argv)
{
	enum { FORK = 2, REMAP = 4, REMOVE = 8, UNMAP = 0x40 };
	for (int i = 0, bits[] = { 0, FORK, REMAP, REMOVE, UNMAP, FORK | REMAP | REMOVE | UNMAP, 1 << 20 }; i < 7; i++)
		api(bits[i]);
	for (int round = 0; round < 2; round++) {
		say("-- %s\n", round ? "without events" : "events");
		area = map((void *)0x10000000, PAGES * PAGE, 3, ANON | MAP_FIXED, -1, 0);
		sys(__NR_pipe2, to, 0), sys(__NR_pipe2, back, 0);
		uffd = sys(__NR_userfaultfd, 04000);
		long pid = fork();
		if (!pid)
			monitor();
		struct uffdio_api a = { UFFD_API, round ? 0 : FORK | REMAP | REMOVE | UNMAP, 0 };
		struct uffdio_register r = { .range = { (ulong)area, PAGES * PAGE }, .mode = UFFDIO_REGISTER_MODE_MISSING };
		say("api %r\n", sys(__NR_ioctl, uffd, UFFDIO_API, &a));
		say("register %r\n", sys(__NR_ioctl, uffd, UFFDIO_REGISTER, &r));
		sys(__NR_write, to[1], "x", 1);
		int on = !round;
		DO(1, (area[0] = 1, 0L));
		DO(1, (area[PAGE] = 1, 0L));
		DO(on, sys(__NR_madvise, area, PAGE, MADV_DONTNEED));
		DO(on, sys(__NR_madvise, area + 4 * PAGE, 2 * PAGE, MADV_FREE));
		DO(0, sys(__NR_madvise, area, PAGE, MADV_WILLNEED));
		DO(0, sys(__NR_madvise, area, 0, MADV_DONTNEED));
		DO(0, sys(__NR_madvise, area + 1, PAGE, MADV_DONTNEED));
		DO(1, (area[0] = 2, 0L));
		DO(on, sys(__NR_munmap, area + 12 * PAGE, 2 * PAGE));
		DO(0, sys(__NR_munmap, area + 12 * PAGE, 2 * PAGE));
		DO(on, (long)map(area + 11 * PAGE, PAGE, 3, ANON | MAP_FIXED, -1, 0));
		DO(on, sys(__NR_mremap, area + 8 * PAGE, 2 * PAGE, PAGE, 0, 0));
		DO(2 * on, sys(__NR_mremap, area + 2 * PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, area + 100 * PAGE));
		DO(0, sys(__NR_mremap, area + 50 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE, 0));
		if (on)
			DO(1, (area[100 * PAGE] = 1, 0L));
		else
			DO(0, (area[100 * PAGE] = 1, 0L));
		DO(2 * on, sys(__NR_mremap, area + 100 * PAGE, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, area + 200 * PAGE));
		say("  fork\n");
		long child = fork();
		if (!child) {
			say("      child %d %d\n", area[0], area[PAGE]);
			area[7 * PAGE] = 3; /* of nobody any more */
			say("      child %d\n", area[7 * PAGE]);
			leave(0);
		}
		acks(on);
		say("  = %d\n", wait_for(child));
		DO(on, sys(__NR_munmap, area, PAGES * PAGE));
		DO(on, sys(__NR_munmap, area + 200 * PAGE, 4 * PAGE));
		sys(__NR_kill, pid, 9);
		wait_for(pid);
		sys(__NR_close, uffd);
	}
	say("-- nobody reads\n");
	area = map((void *)0x10000000, PAGES * PAGE, 3, ANON | MAP_FIXED, -1, 0);
	uffd = sys(__NR_userfaultfd, 04000);
	struct uffdio_api a = { UFFD_API, FORK | REMAP | REMOVE | UNMAP, 0 };
	struct uffdio_register r = { .range = { (ulong)area, PAGES * PAGE }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	long pid = fork();
	if (!pid) {
		nap(300);
		struct uffd_msg m;
		char text[300];
		memset(text, 0, sizeof(text));
		char path[] = "/proc/self/fdinfo/9";
		path[18] = '0' + uffd;
		slurp(path, text, sizeof(text));
		for (char *p = text; *p; p++)
			if (!memcmp(p, "API", 3))
				*p = 0, p--;
		say("    poll %x fdinfo %s", (long)polled(uffd, POLLIN), text + 0);
		say("    short read %r\n", sys(__NR_read, uffd, &m, 16));
		leave(0);
	}
	say("api %r\n", sys(__NR_ioctl, uffd, UFFDIO_API, &a));
	say("register %r\n", sys(__NR_ioctl, uffd, UFFDIO_REGISTER, &r));
	say("  wait %d\n", wait_for(pid));
	sys(__NR_close, uffd);
	say("  munmap %r\n", sys(__NR_munmap, area, PAGES * PAGE));
	T(__NR_setresuid, 1000, 1000, 1000);
	uffd = sys(__NR_userfaultfd, 04001);
	a.features = FORK;
	say("user only %d, forks %r\n", uffd > 0, sys(__NR_ioctl, uffd, UFFDIO_API, &a));
	return 0;
}
