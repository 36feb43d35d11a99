/* Areas that may not be cut (a perf event's buffer), areas that grow together again, memory files sealed against what is written later. not: s390x i386 (the addresses) */
#include "tiny.h"
#include <linux/mman.h>
#include <linux/memfd.h>
#include <linux/perf_event.h>
static char text[16384];

/* The areas within a range, by their pages from its start. */
static void areas(const char *what, char *from, int pages)
{
	int fd = sys(__NR_openat, -100, "/proc/self/maps", O_RDONLY, 0), n = 0, got;
	while ((got = sys(__NR_read, fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += got;
	text[n] = 0;
	sys(__NR_close, fd);
	say("%s:", what);
	for (char *s = text; *s; s++) {
		ulong ends[2] = { 0, 0 };
		for (int i = 0; i < 2; i++, s++)
			for (; *s != '-' && *s != ' '; s++)
				ends[i] = ends[i] << 4 | (*s <= '9' ? *s - '0' : *s - 'a' + 10);
		if (ends[1] > (ulong)from && ends[0] < (ulong)from + pages * 4096UL) {
			say(" %l-%l ", (long)(ends[0] - (ulong)from) / 4096, (long)(ends[1] - (ulong)from) / 4096);
			for (int i = 0; i < 4; i++)
				put(s[i]);
		}
		while (*s != '\n')
			s++;
	}
	say("\n");
}
static void rings(void)
{
	struct perf_event_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_SOFTWARE, attr.size = sizeof(attr), attr.disabled = 1;
	int fd = sys(__NR_perf_event_open, &attr, 0, -1, -1, 0);
	char *room = map(0, 16 * 4096, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("event %s map %s\n", fd < 0 ? "refused" : "there", bad(map(room + 4096, 3 * 4096, 3, MAP_SHARED | MAP_FIXED, fd, 0)) ? "refused" : "there");
	char *ring = room + 4096;
	areas("at first", room, 16);
	say("unmap: the first page %r", sys(__NR_munmap, ring, 4096));
	say(" the middle %r", sys(__NR_munmap, ring + 4096, 4096));
	say(" the last %r", sys(__NR_munmap, ring + 8192, 4096));
	say(" from before %r", sys(__NR_munmap, room, 2 * 4096));
	say(" to behind %r\n", sys(__NR_munmap, ring + 8192, 2 * 4096));
	areas("then", room, 16);
	say("protect: a page %r", sys(__NR_mprotect, ring + 4096, 4096, 1));
	say(" all %r", sys(__NR_mprotect, ring, 3 * 4096, 1));
	say(" back %r\n", sys(__NR_mprotect, ring, 3 * 4096, 3));
	say("map over: a page %r", (long)map(ring + 4096, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	say(" not replacing %r\n", (long)map(ring + 4096, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | 0x100000, -1, 0));
	say("advise a page: dontdump %r", sys(__NR_madvise, ring, 4096, 16));
	say(" dodump %r", sys(__NR_madvise, ring, 4096, 17));
	say(" dontfork %r", sys(__NR_madvise, ring, 4096, 10));
	say(" free %r", sys(__NR_madvise, ring, 4096, 8));
	say(" lock a page %r", sys(__NR_mlock, ring, 4096));
	say(" unlock %r", sys(__NR_munlock, ring + 4096, 4096));
	say(" nothing of that kind %r\n", sys(__NR_madvise, ring, 4096, 12345));
	areas("then", room, 16);
	say("remap: smaller %r", sys(__NR_mremap, ring, 3 * 4096, 4096, 1));
	say(" larger %r", sys(__NR_mremap, ring, 3 * 4096, 4 * 4096, 1));
	say(" a piece %r", sys(__NR_mremap, ring + 4096, 2 * 4096, 2 * 4096, 3, room + 12 * 4096));
	char *moved = (char *)sys(__NR_mremap, ring, 3 * 4096, 3 * 4096, 3, room + 12 * 4096);
	say(" all of it %s\n", moved == room + 12 * 4096 ? "there" : "refused");
	areas("at last", room, 16);
	say("unmap all %r\n", sys(__NR_munmap, room, 16 * 4096));
	sys(__NR_close, fd);
}
static void together(void)
{
	char *at = map(0, 6 * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sys(__NR_munmap, at + 4096, 4096);
	areas("a hole", at, 6);
	say("grow into it %s\n", (char *)sys(__NR_mremap, at, 4096, 8192, 0) == at ? "in place" : "not");
	areas("one", at, 6);
	sys(__NR_munmap, at + 4096, 2 * 4096);
	say("grow a page %s\n", (char *)sys(__NR_mremap, at, 4096, 8192, 0) == at ? "in place" : "not");
	areas("two", at, 6);
	sys(__NR_mprotect, at + 3 * 4096, 4096, 1);
	say("grow to another kind %s\n", (char *)sys(__NR_mremap, at, 8192, 3 * 4096, 0) == at ? "in place" : "not");
	areas("three", at, 6);
	say("further %r\n", sys(__NR_mremap, at, 3 * 4096, 4 * 4096, 0));
	sys(__NR_munmap, at, 6 * 4096);
}
static void seals(void)
{
	for (int seal = 8; seal <= 16; seal += 8) {
		int fd = sys(__NR_memfd_create, "x", MFD_ALLOW_SEALING);
		sys(__NR_ftruncate, fd, 8192);
		char *before = map(0, 8192, 3, MAP_SHARED, fd, 0);
		if (seal == 8)
			sys(__NR_munmap, before, 8192);
		say("seal %d: %r", seal, sys(__NR_fcntl, fd, F_ADD_SEALS, seal));
		say(" write %r", sys(__NR_write, fd, "data", 4));
		say(" pwrite behind %r", sys(__NR_pwrite64, fd, "data", 4, 9000));
		say(" empty %r", sys(__NR_write, fd, "data", 0));
		say(" punch %r", sys(__NR_fallocate, fd, 3, 0, 4096));
		say(" allocate %r", sys(__NR_fallocate, fd, 0, 0, 16384));
		say(" longer %r", sys(__NR_ftruncate, fd, 32768));
		say(" map to write %s", bad(map(0, 4096, 3, MAP_SHARED, fd, 0)) ? "refused" : "there");
		char *read = map(0, 4096, 1, MAP_SHARED, fd, 0);
		say(" to read %s", bad(read) ? "refused" : "there");
		say(" made writable %r", sys(__NR_mprotect, read, 4096, 3));
		say(" private %s", bad(map(0, 4096, 3, MAP_PRIVATE, fd, 0)) ? "refused" : "there");
		if (seal == 16)
			before[0] = 'x', say(" the mapping of before shows %s", read[0] == 'x' ? "itself" : "nothing");
		say("\n");
		sys(__NR_close, fd);
	}
}
int main(int argc, char **argv)
{
	rings();
	together();
	seals();
	return 0;
}
