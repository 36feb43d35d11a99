/* What mmap refuses, in which order, and what writing through a shared mapping does to a file's times. not: s390x i386 (64-bit offsets in one argument) */
#include "tiny.h"
#include <linux/mman.h>
#include <linux/stat.h>

static const char *outcome(void *p, ulong length)
{
	if (bad(p))
		return error_name((int)-(long)p);
	sys(__NR_munmap, p, length);
	return "mapped";
}

static void refusals(long fd)
{
	static const ulong lengths[] = { 0, 1, 4096, 0x7ffffffff000, 0x800000000000, 0x7fffffffffffffff, -4096UL, -4095UL };
	static const ulong offsets[] = { 0, 1, 0x7fffffffff000, 0x7ffffffffffff000, 0x8000000000000000, -4096UL };
	static const struct { int flags; const char *name; } kinds[] = {
		{ MAP_SHARED, "shared" }, { MAP_PRIVATE | MAP_ANONYMOUS, "anonymous" }, { MAP_SHARED_VALIDATE, "validate" },
		{ MAP_SHARED_VALIDATE | 0x100000 << 3, "validate unknown" }, { MAP_SHARED_VALIDATE | MAP_ANONYMOUS, "validate anonymous" },
		{ 0, "none" }, { MAP_PRIVATE | MAP_GROWSDOWN, "grows" },
	};

	for (unsigned kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++)
		for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
			say("%s %x:", kinds[kind].name, lengths[i]);
			for (unsigned j = 0; j < sizeof(offsets) / sizeof(*offsets); j++)
				say(" %s", outcome(map(0, lengths[i], 3, kinds[kind].flags, fd, offsets[j]), lengths[i]));
			say("\n");
		}
}

static void places(long fd, char *p)
{
	static const ulong at[] = { 0x1000, 0x10001, 0x7ffffffff000, 0x7ffffffff001, 0x7e0000000000, 0x800000000000, -4096UL, -1UL };
	static const int flags[] = { MAP_FIXED, MAP_FIXED_NOREPLACE, 0 };

	for (unsigned k = 0; k < 3; k++)
		for (unsigned i = 0; i < sizeof(at) / sizeof(*at); i++)
			say("at %x %d: %s, file far %s, none %s\n", at[i], flags[k],
			    outcome(map((void *)at[i], 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | flags[k], -1, 0), 4096),
			    outcome(map((void *)at[i], 4096, 3, MAP_SHARED | flags[k], fd, 0x7ffffffffffff000), 4096),
			    outcome(map((void *)at[i], 4096, 3, flags[k], fd, 0), 4096));
	say("taken: %s, file far %s, none %s, not aligned %s\n", outcome(map(p, 4096, 3, 0x100022, -1, 0), 0),
	    outcome(map(p, 4096, 3, 0x100001, fd, 0x7ffffffffffff000), 0), outcome(map(p, 4096, 3, 0x100000, fd, 0), 0),
	    outcome(map(p + 1, 4096, 3, 0x100022, -1, 0), 0));
}

static struct statx before;
static void times(const char *what, const char *path)
{
	struct statx now;

	sys(__NR_statx, AT_FDCWD, path, 0, STATX_BASIC_STATS, &now);
#define MOVED(t) (now.t.tv_sec != before.t.tv_sec || now.t.tv_nsec != before.t.tv_nsec)
	say("%s: a %d m %d c %d\n", what, MOVED(stx_atime), MOVED(stx_mtime), MOVED(stx_ctime));
	before = now;
	nap(20);
}

static void written(const char *path)
{
	long fd = sys(__NR_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0644);
	volatile char *p;

	sys(__NR_ftruncate, fd, 65536);
	times("made", path);
	p = map(0, 65536, 3, MAP_SHARED, fd, 0);
	times("mapped", path);
	p[0] = 1;
	times("written", path);
	p[1] = 1;
	times("the same page", path);
	p[4096] = 1;
	times("another page", path);
	(void)p[8192];
	times("read", path);
	p[8192] = 1;
	times("and written", path);
	sys(__NR_msync, p, 65536, 4);
	times("synced", path);
	p[0] = 2;
	times("written after that", path);
	sys(__NR_mprotect, p, 65536, 1);
	sys(__NR_mprotect, p, 65536, 3);
	p[0] = 3;
	times("protected and written", path);
	sys(__NR_madvise, p, 65536, 4);
	p[0] = 4;
	times("forgotten and written", path);
	p[32768] = 4;
	times("a far page", path);
	sys(__NR_munmap, p, 65536);
	p = map(0, 65536, 3, MAP_SHARED | MAP_POPULATE, fd, 0);
	times("populated", path);
	p[0] = 5;
	times("and written", path);
	p = map(0, 65536, 3, MAP_PRIVATE, fd, 0);
	p[0] = 5;
	times("a copy written", path);
	p = map(0, 65536, 3, MAP_SHARED, fd, 0);
	if (!fork()) {
		p[0] = 6;
		leave(0);
	}
	wait_for(-1);
	times("by a child", path);
	p[12288] = 6;
	times("by the parent", path);
	p = map(0, 65536, 3, MAP_SHARED, fd, 0);
	say("a call writes %r\n", sys(__NR_pread64, fd, p + 20480, 10, 0));
	times("written by a call", path);
	sys(__NR_close, fd);
}

int main(int argc, char **argv)
{
	say("mount %r\n", sys(__NR_mount, "t", "/tmp", "tmpfs", 0, 0));
	long fd = sys(__NR_openat, AT_FDCWD, "/tmp/mapped", O_RDWR | O_CREAT, 0644);

	refusals(fd);
	places(fd, map(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	written("/tmp/times");
	fd = sys(__NR_memfd_create, "m", 0);
	say("memfd %d\n", fd > 0);
	char path[32] = "/proc/self/fd/4";
	path[14] = '0' + fd;
	written(path);
	return 0;
}
