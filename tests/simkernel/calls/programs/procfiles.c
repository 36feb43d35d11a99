/* Files of /proc about memory, terminals and protocols: what does not depend on the machine. */
/* not: i386 */
/* not: s390x: the names of counters are a configuration's */
#include "tiny.h"
static char text[65536];
static void whole(const char *path)
{
	long n = slurp(path, text, sizeof(text));
	say("== %s %d\n", path, (int)n);
	if (n > 0)
		say("%s", text);
}
/* the first word of each line */
static void names(const char *path, char end)
{
	long n = slurp(path, text, sizeof(text));
	say("== %s\n", path);
	int skip = 0;
	char *from = text;
	for (long i = 0; i < n; i++) {
		if (text[i] == end && !skip) {
			text[i] = 0;
			if (memcmp(from, "DirectMap", 9))
				say("%s\n", from);
			skip = 1;
		} else if (text[i] == '\n')
			skip = 0, from = text + i + 1;
	}
}
static void lines(const char *path, int count)
{
	long n = slurp(path, text, sizeof(text));
	say("== %s %d\n", path, n > 0);
	for (char *at = text; count-- > 0 && *at;) {
		char *end = at;
		while (*end && *end != '\n')
			end++;
		*end = 0;
		say("%s\n", at);
		at = end + 1;
	}
}
static unsigned long long word(const char *path, unsigned long long number)
{
	unsigned long long v = 0;
	long fd = sys(__NR_openat, AT_FDCWD, path, O_RDONLY, 0);
	sys(__NR_pread64, fd, &v, 8, number * 8);
	sys(__NR_close, fd);
	return v;
}
static void page(const char *what, volatile char *at)
{
	unsigned long long pfn = word("/proc/self/pagemap", (ulong)at / 4096) & ((1ull << 55) - 1);
	say("%s: count %d, mapped %d, anonymous %d, free %d\n", what, (int)word("/proc/kpagecount", pfn), (int)(word("/proc/kpageflags", pfn) >> 11 & 1),
	    (int)(word("/proc/kpageflags", pfn) >> 12 & 1), (int)(word("/proc/kpageflags", pfn) >> 10 & 1));
}
int main(int argc, char **argv)
{
	static const char *files[] = { "psched", "rt_cache", "mcfilter", "mcfilter6", "anycast6", "ip6_flowlabel", "udplite", "udplite6", "wireless", "xfrm_stat", "ip_mr_vif",
		"ip_mr_cache", "ip6_mr_vif", "ip6_mr_cache" };
	char path[64] = "/proc/net/";
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++) {
		memcpy(path + 10, files[i], strlen(files[i]) + 1);
		whole(path);
	}
	whole("/proc/tty/ldiscs");
	names("/proc/vmstat", ' ');
	names("/proc/meminfo", ':');
	lines("/proc/pagetypeinfo", 4);
	lines("/proc/slabinfo", 2);
	lines("/proc/net/protocols", 1);
	long fd = sys(__NR_openat, AT_FDCWD, "/proc/kpagecount", O_RDONLY, 0);
	say("odd read %r\n", sys(__NR_pread64, fd, text, 7, 0));
	say("odd place %r\n", sys(__NR_pread64, fd, text, 8, 3));
	say("write %r\n", sys(__NR_write, fd, text, 8));
	volatile char *own = (void *)sys(__NR_mmap, 0, 8192, 3, 0x22, -1, 0), *both = (void *)sys(__NR_mmap, 0, 4096, 3, 0x21, -1, 0);
	own[0] = both[0] = 1;
	page("own", own);
	page("shared", both);
	int fds[2];
	sys(__NR_pipe, fds);
	long pid = sys(__NR_fork);
	if (!pid) {
		char c = both[0] + own[0];
		sys(__NR_read, fds[0], &c, 1);
		sys(__NR_exit, 0);
	}
	struct timespec ts = { 0, 50000000 };
	sys(__NR_nanosleep, &ts, 0);
	page("own and a child's", own);
	page("shared with a child", both);
	own[0] = 2;
	page("written again", own);
	sys(__NR_write, fds[1], "x", 1);
	sys(__NR_wait4, pid, 0, 0, 0);
	page("alone again", own);
	static const char *const written[] = { "dev", "tcp", "udp6", "unix", "route", "netlink", "ptype", "snmp", "sockstat", "rt_cache", "softnet_stat" };
	for (unsigned n = 0; n < sizeof(written) / sizeof(*written); n++) {
		char path[40] = "/proc/net/";
		memcpy(path + 10, written[n], strlen(written[n]) + 1);
		long fd = sys(__NR_openat, AT_FDCWD, path, O_WRONLY, 0);
		say("%s for writing %r\n", path, fd < 0 ? fd : 0L);
	}
	return 0;
}
