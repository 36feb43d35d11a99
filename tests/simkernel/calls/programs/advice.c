/* madvise(2): what is kept of it, what it refuses; smaps' flags, pagemap and clear_refs.  not: i386 */
#include "tiny.h"
#include <linux/mman.h>

#define P 4096l
#define AT 0x20000000l
static char buffer[65536];

static long area(long at, long size, int prot, int flags)
{
#ifdef __s390x__
	long args[6] = { at, size, prot, flags | MAP_FIXED, -1, 0 };
	return sys(__NR_mmap, args);
#else
	return sys(__NR_mmap, at, size, prot, flags | MAP_FIXED, -1, 0);
#endif
}

static long advise(long at, long size, int advice) { return sys(__NR_madvise, at, size, advice); }

static void flags_of(long from, long to)
{
	long fd = sys(__NR_open, "/proc/self/smaps", 0), got, size = 0;
	while ((got = sys(__NR_read, fd, buffer + size, sizeof(buffer) - size - 1)) > 0)
		size += got;
	sys(__NR_close, fd);
	buffer[size] = 0;
	int inside = 0;
	for (char *p = buffer; *p;) {
		char *end = p;
		while (*end && *end != '\n')
			end++;
		if ((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f')) {
			long at = 0;
			for (char *q = p; *q != '-'; q++)
				at = at * 16 + (*q <= '9' ? *q - '0' : *q - 'a' + 10);
			inside = at >= from && at < to;
			if (inside)
				say("%x ", at);
		} else if (inside && !memcmp(p, "VmFlags:", 8)) {
			*end = 0;
			say("%s\n", p + 9);
			*end = '\n';
		}
		p = *end ? end + 1 : end;
	}
}

static void pages(const char *what)
{
	unsigned long entry[4];
	long fd = sys(__NR_open, "/proc/self/pagemap", 0);
	long got = sys(__NR_pread64, fd, entry, sizeof(entry), AT / P * 8);
	say("%s %r:", what, got);
	for (int i = 0; i < 4; i++)
		say(" %d%d%d", (long)(entry[i] >> 63), (long)(entry[i] >> 61 & 1), (long)(entry[i] >> 55 & 1));
	say("\n");
	sys(__NR_close, fd);
}

static long clear(const char *text)
{
	long fd = sys(__NR_open, "/proc/self/clear_refs", 1), size = 0;
	while (text[size])
		size++;
	long ret = sys(__NR_write, fd, text, size);
	sys(__NR_close, fd);
	return ret;
}

int main(int argc, char **argv)
{
	volatile char *p = (char *)AT;
	area(AT, 8 * P, 3, MAP_PRIVATE | MAP_ANONYMOUS);
	area(AT + 16 * P, 2 * P, 3, MAP_SHARED | MAP_ANONYMOUS);
	area(AT + 32 * P, 2 * P, 1, MAP_PRIVATE | MAP_ANONYMOUS);
	static const int kept[] = { 1, 2, 10, 12, 14, 15, 16, 18 };
	for (int i = 0; i < 8; i++)
		say("%d: %r shared %r\n", (long)kept[i], advise(AT + i * P, P, kept[i]), advise(AT + 16 * P, P, kept[i]));
	flags_of(AT, AT + 40 * P);
	static const int undone[] = { 0, 0, 11, 13, 15, 14, 17, 19 };
	for (int i = 0; i < 8; i++)
		say("%r ", advise(AT + i * P, P, undone[i]));
	say("\n");
	flags_of(AT, AT + 8 * P);
	say("bad %r %r %r %r", advise(AT + 1, P, 0), advise(AT, P, 5), advise(AT, P, 26), advise(AT, -P, 0));
	say(" nothing %r hole %r", advise(AT, 0, 4), advise(AT, 20 * P, 4));
	say(" free shared %r", advise(AT + 16 * P, P, 8));
	sys(__NR_mlock, AT + 32 * P, P);
	say(" locked %r anyway %r\n", advise(AT + 32 * P, P, 4), advise(AT + 32 * P, P, 24));
	say("bring %r %r", advise(AT + 32 * P, P, 22), advise(AT + 32 * P, P, 23));
	say(" hole %r %r\n", advise(AT, 9 * P, 22), advise(AT + 9 * P, P, 23));

	advise(AT, 8 * P, 4);
	pages("none");
	p[0] = 1;
	pages("written");
	say("clear %r %r %r %r\n", clear("4"), clear("0"), clear("6"), clear("x"));
	pages("cleared");
	p[1] = 1;
	p[P] = 1;
	pages("two written");
	advise(AT, P, 4);
	pages("dropped");
	clear("4\n");
	char other = p[P];
	pages("read");
	long pid = fork();
	if (!pid) {
		pages("child");
		p[P] = other;
		pages("child wrote");
		leave(0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
	pages("parent");
	long fd = sys(__NR_open, "/proc/self/pagemap", 0);
	say("odd %r %r far %r\n", sys(__NR_pread64, fd, buffer, 7, 0), sys(__NR_pread64, fd, buffer, 8, 4),
	    sys(__NR_pread64, fd, buffer, 8, 1l << 60));
	advise(AT + 4 * P, P, 18);
	p[4 * P] = 5;
	pid = fork();
	if (!pid)
		leave(p[4 * P]);
	int status = 0;
	sys(__NR_wait4, pid, &status, 0, 0);
	say("wiped %x\n", (long)status);
	leave(0);
}
