/* KSM: equal pages that are one. not: s390x i386 */
#include "tiny.h"
#include <linux/mman.h>
#define P 4096UL
#define KSM "/sys/kernel/mm/ksm/"
static char text[8192];

static long number(const char *name)
{
	char path[64] = KSM;
	memcpy(path + strlen(KSM), name, strlen(name) + 1);
	long n = slurp(path, text, sizeof(text)), v = 0;
	if (n < 0)
		return n;
	for (char *p = text; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + *p - '0';
	return v;
}
static long set(const char *name, const char *value)
{
	char path[64] = KSM;
	memcpy(path + strlen(KSM), name, strlen(name) + 1);
	long fd = sys(__NR_openat, AT_FDCWD, path, O_WRONLY, 0);
	if (fd < 0)
		return fd;
	long ret = sys(__NR_write, fd, value, strlen(value));
	sys(__NR_close, fd);
	return ret;
}
static void counters(const char *what)
{
	say("%s: shared %l sharing %l unshared %l volatile %l\n", what, number("pages_shared"), number("pages_sharing"), number("pages_unshared"), number("pages_volatile"));
}
static void scans(int n) /* so many whole ones more */
{
	long until = number("full_scans") + n;
	for (int i = 0; i < 400 && number("full_scans") < until; i++)
		nap(20);
}
static char *fresh(int pages, int flags)
{
	char *m = map(0, pages * P, 3, flags | MAP_ANONYMOUS, -1, 0);
	return m;
}
static void fill(char *at, int pages, int what) { for (int i = 0; i < pages; i++) memset(at + i * P, what, P); }
static void own(void)
{
	long n = slurp("/proc/self/ksm_merging_pages", text, sizeof(text));
	say("own %s", n < 0 ? "none\n" : text);
	n = slurp("/proc/self/ksm_stat", text, sizeof(text));
	say("stat %s", n < 0 ? "none\n" : text);
}
static void flags(char *at) /* mg in VmFlags */
{
	long n = slurp("/proc/self/smaps", text, sizeof(text)), merges = 0;
	for (long i = 0; i < n; i++)
		merges += !memcmp(text + i, " mg", 3);
	say("areas that merge %l\n", merges);
	(void)at;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "full_scans", "max_page_sharing", "merge_across_nodes", "pages_shared", "pages_sharing", "pages_to_scan", "pages_unshared", "pages_volatile", "run", "sleep_millisecs",
		"stable_node_chains", "stable_node_chains_prune_millisecs", "stable_node_dups", "use_zero_pages" };
	sys(__NR_alarm, 60);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		say("%s %r\n", names[i], number(names[i]));
	static const char *const values[] = { "1", "0", "2", "3", "-1", "x", "4294967295", "4294967296", "", "7 ", " 7", "0x10" };
	static const char *const settings[] = { "run", "pages_to_scan", "sleep_millisecs", "merge_across_nodes", "max_page_sharing", "use_zero_pages", "stable_node_chains_prune_millisecs", "full_scans" };
	for (unsigned i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		say("%s:", settings[i]);
		for (unsigned j = 0; j < sizeof(values) / sizeof(*values); j++) {
			say(" %r", set(settings[i], values[j]));
			say("=%l", number(settings[i]));
		}
		say("\n");
	}
	set("run", "0"), set("pages_to_scan", "1000"), set("sleep_millisecs", "5"), set("merge_across_nodes", "1"), set("max_page_sharing", "256"), set("use_zero_pages", "0"),
		set("stable_node_chains_prune_millisecs", "2000");
	char *m = fresh(20, MAP_PRIVATE), *s = fresh(2, MAP_SHARED);
	say("merge %r", sys(__NR_madvise, m, 20 * P, 12)), say(" again %r shared %r hole %r odd %r", sys(__NR_madvise, m, 20 * P, 12), sys(__NR_madvise, s, 2 * P, 12), sys(__NR_madvise, 0x10000, P, 12), sys(__NR_madvise, m + 1, P, 12)), say("\n");
	flags(m), own();
	fill(m, 10, 'a'), fill(m + 10 * P, 5, 'b'), fill(m + 15 * P, 1, 'c'), fill(m + 16 * P, 1, 'd');
	counters("not running");
	say("run %r\n", set("run", "1"));
	scans(4);
	counters("merged"), own();
	say("bytes %d %d %d %d\n", m[0], m[9 * P + 5], m[14 * P], m[15 * P]);
	m[3 * P] = 'z', scans(3), counters("one written");
	say("bytes %d %d %d\n", m[2 * P], m[3 * P], m[3 * P + 1]);
	m[3 * P] = 'a', scans(4), counters("and back");
	long pid = fork();
	if (!pid) {
		scans(3), counters("child"), own();
		m[0] = 'y', m[11 * P] = 'y', scans(3), counters("child has written");
		leave(0);
	}
	wait_for(pid), scans(3), counters("child is gone");
	char *n = fresh(4, MAP_PRIVATE);
	sys(__NR_madvise, n, 4 * P, 12), fill(n, 4, 'a'), scans(4), counters("four more");
	say("unmerge part %r\n", sys(__NR_madvise, m, 5 * P, 13)), counters("at once"), scans(2), counters("later"), flags(m);
	say("unmap %r\n", sys(__NR_munmap, n, 4 * P)), scans(3), counters("unmapped");
	say("zero pages\n"), fill(m + 5 * P, 5, 0), scans(4), counters("zeros");
	say("stop %r\n", set("run", "0")), fill(m + 5 * P, 5, 'a'), counters("stopped");
	say("split all %r run %l\n", set("run", "2"), number("run")), counters("split");
	say("bytes %d %d %d\n", m[0], m[14 * P], m[16 * P]);
	set("run", "1"), scans(4), counters("again"), set("run", "0");
	say("drop %r\n", sys(__NR_madvise, m, 20 * P, 4)), counters("dropped");
	set("run", "1"), scans(4), counters("scanned"), set("run", "2"), set("run", "0");
	return 0;
}
