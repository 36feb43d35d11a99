/* Control groups with odd arguments: files written with rubbish, rules of delegation, threads, limits that end programs. not: s390x i386 */
#include "tiny.h"
#define AT_REMOVEDIR 0x200
#define ROOT "/sys/fs/cgroup/"
static char text[4096], path[128];
static const char *at(const char *group, const char *file)
{
	char *p = path;
	for (const char *s = ROOT; *s;) *p++ = *s++;
	for (; *group;) *p++ = *group++;
	if (*file) *p++ = '/';
	for (; *file;) *p++ = *file++;
	*p = 0;
	return path;
}
static long put_(const char *g, const char *f, const char *value)
{
	long fd = sys(__NR_openat, AT_FDCWD, at(g, f), O_WRONLY, 0);
	if (fd < 0)
		return fd;
	long n = sys(__NR_write, fd, value, strlen(value));
	sys(__NR_close, fd);
	return n;
}
static void w(const char *g, const char *f, const char *v) { say("%s/%s < '%s': %r\n", g, f, v, put_(g, f, v)); }
static void r(const char *g, const char *f)
{
	long n = slurp(at(g, f), text, sizeof(text));
	if (n < 0)
		say("%s/%s: %r\n", g, f, n);
	else {
		say("%s/%s:", g, f);
		for (long i = 0; i < n; i++)
			put(text[i] == '\n' ? '|' : text[i]);
		say("\n");
	}
}
static void mk(const char *g) { say("mkdir %s %r\n", g, sys(__NR_mkdir, at(g, ""), 0755)); }
static void rm(const char *g) { say("rmdir %s %r\n", g, sys(__NR_rmdir, at(g, ""))); }
static void try(const char *g, const char *f, const char *const *values)
{
	say("%s/%s:", g, f);
	for (; *values; values++) {
		say(" '%s' %r", *values, put_(g, f, *values));
		long n = slurp(at(g, f), text, 40);
		for (long i = 0; i < n; i++)
			if (text[i] == '\n')
				text[i] = 0;
		say("=%s", n < 0 ? error_name(-n) : text);
	}
	say("\n");
}
static int thread(void *arg) { for (;;) nap(1000); return 0; }
static char stack[8192] __attribute__((aligned(16)));

int main(int argc, char **argv)
{
	static const char *const numbers[] = { "max", "0", "-1", "5", "5 ", " 7", "x", "", "4k", "1M", "1G", "12abc", "max max", "18446744073709551615", "99999999999999999999", "0x100", "+3", "007", 0 };
	static const char *const cpu[] = { "max", "max 100000", "50000", "50000 200000", "999", "1000", "1000 1000", "1000 999", "1000 1000001", "max 5", "x", "50000 x", "-5", "", 0 };
	static const char *const weights[] = { "1", "0", "10000", "10001", "x", "100", "-3", "idle", 0 };
	static const char *const nice[] = { "-20", "-21", "19", "20", "0", "x", 0 };
	static const char *const bits[] = { "1", "0", "2", "-1", "x", "", "01", 0 };
	static const char *const controllers[] = { "+pids", "+pids +memory", "-pids", "pids", "+x", "+pids -pids", "-pids +pids", "", " ", "+", "+cpu+memory", "  +cpu   -cpu ", "-memory", 0 };
	static const char *const types[] = { "threaded", "domain", "threaded ", "x", "", 0 };
	static const char *const depths[] = { "max", "0", "-1", "3", "x", "max ", "2147483648", 0 };
	static const char *const pids[] = { "0 ", "-1", "x", "999999", "", "0x", 0 };
	sys(__NR_alarm, 60);
	put_("", "cgroup.subtree_control", "+cpu +memory +pids");
	mk("A"), mk("A"), mk("A/B"), mk("A/B/C"), mk("nothing/there"), mk("A/cgroup.procs"), mk("A/x\ny");
	r("A", "cgroup.controllers"), r("A/B", "cgroup.controllers"), r("A", "cgroup.type"), r("A", "cgroup.events"), r("A", "cgroup.stat");
	try("A", "cgroup.subtree_control", controllers);
	w("A", "cgroup.subtree_control", "+cpu +memory +pids");
	try("A/B", "pids.max", numbers), try("A/B", "memory.max", numbers), try("A/B", "memory.high", numbers), try("A/B", "memory.low", numbers);
	try("A/B", "cpu.max", cpu), try("A/B", "cpu.weight", weights), try("A/B", "cpu.weight.nice", nice), try("A/B", "cpu.idle", bits);
	try("A/B", "cgroup.freeze", bits), try("A/B", "cgroup.max.depth", depths), try("A/B", "cgroup.max.descendants", depths);
	try("A/B", "memory.oom.group", bits), try("A/B", "cgroup.kill", bits);
	w("A/B", "cgroup.events", "1"), w("A/B", "cgroup.controllers", "+pids"), w("A/B", "pids.current", "1"), r("A/B", "cgroup.kill"), w("A/B", "memory.peak", "0"), r("A/B", "memory.reclaim"), w("A/B", "memory.reclaim", "1M"), w("A/B", "memory.reclaim", "x");
	put_("A/B", "cgroup.max.depth", "max"), put_("A/B", "cgroup.max.descendants", "max"), put_("A/B", "memory.max", "max"), put_("A/B", "memory.high", "max"), put_("A/B", "pids.max", "max"), put_("A/B", "cgroup.freeze", "0");
	put_("A/B", "cpu.idle", "0");
	for (int i = 0; pids[i]; i++)
		w("A/B", "cgroup.procs", pids[i]);
	try("A/B/C", "cgroup.type", types), r("A/B", "cgroup.type"), r("A", "cgroup.type");
	mk("T"), mk("T/a"), mk("T/a/b"), w("T/a", "cgroup.type", "threaded"), r("T", "cgroup.type"), r("T/a", "cgroup.type"), r("T/a/b", "cgroup.type");
	w("T/a/b", "cgroup.procs", "0"), w("T/a/b", "cgroup.type", "threaded"), r("T/a", "cgroup.controllers"), w("T", "cgroup.subtree_control", "+memory"), w("T", "cgroup.subtree_control", "+cpu"), w("T", "cgroup.subtree_control", "+pids");
	r("T/a", "cgroup.controllers"), w("T/a", "cgroup.subtree_control", "+pids");
	long pid = fork(), tid;
	if (!pid) {
		w("T", "cgroup.procs", "0");
		tid = start_thread(thread, 0, 0x10f00, stack + sizeof(stack));
		char number[16];
		int n = 0;
		for (long v = 1000000; v; v /= 10)
			if (tid >= v || n)
				number[n++] = '0' + tid / v % 10;
		number[n] = 0;
		say("thread to a %d\n", put_("T/a", "cgroup.threads", number) == n);
		say("thread to T/a/b by procs %d\n", put_("T/a/b", "cgroup.procs", number) == n);
		say("thread to A %r\n", put_("A/B/C", "cgroup.threads", number));
		r("T", "cgroup.events"), r("T/a", "cgroup.events"), r("T/a/b", "cgroup.events");
		say("procs of a %r\n", slurp(at("T/a", "cgroup.procs"), text, 100));
		say("threads of a/b %d\n", slurp(at("T/a/b", "cgroup.threads"), text, 100) > 0);
		slurp("/proc/self/cgroup", text, 200), say("self %s", text);
		w("T", "cgroup.type", "threaded"), w("T/a", "cgroup.kill", "1"), w("", "cgroup.procs", "0");
		leave(0);
	}
	wait_for(pid);
	mk("P"), w("P", "pids.max", "2"), pid = fork();
	if (!pid) {
		w("P", "cgroup.procs", "0");
		long one = fork();
		if (!one) {
			say("grandchild forks %r\n", fork());
			leave(0);
		}
		wait_for(one), r("P", "pids.current"), r("P", "pids.events"), r("P", "pids.peak");
		w("P", "pids.max", "0"), say("fork %r\n", fork()), r("P", "pids.events");
		w("A/B", "cgroup.procs", "0");
		w("A/B/C", "cgroup.procs", "0");
		w("A/B", "cgroup.subtree_control", "+pids");
		mk("A/B/C/D"), w("A/B/C", "cgroup.subtree_control", "+pids"), w("A", "cgroup.procs", "0");
		rm("A/B/C");
		leave(0);
	}
	wait_for(pid);
	mk("M"), w("M", "memory.max", "2M"), pid = fork();
	if (!pid) {
		w("M", "cgroup.procs", "0");
		char *m = map(0, 64 << 20, 3, 0x22, -1, 0);
		for (long i = 0; i < 64 << 20; i += 4096)
			m[i] = 1;
		say("got it all\n");
		leave(0);
	}
	say("hungry %x\n", (long)wait_for(pid));
	r("M", "cgroup.events"), r("M", "memory.current"), say("oom killed\n");
	mk("F"), w("F", "cgroup.freeze", "1"), pid = fork();
	if (!pid) {
		w("F", "cgroup.procs", "0");
		leave(7);
	}
	nap(400), r("F", "cgroup.events"), say("waits %r\n", sys(__NR_wait4, pid, 0, 1, 0)), rm("F"), w("F", "cgroup.kill", "1"), say("killed %x\n", (long)wait_for(pid)), r("F", "cgroup.events");
	say("xattr %r", sys(__NR_setxattr, at("F", ""), "user.x", "12", 2, 0)), say(" %r", sys(__NR_getxattr, at("F", ""), "user.x", text, 100)), say(" trusted %r", sys(__NR_setxattr, at("F", ""), "trusted.y", "1", 1, 0));
	say(" security %r file %r", sys(__NR_setxattr, at("F", ""), "security.z", "1", 1, 0), sys(__NR_setxattr, at("F", "cgroup.procs"), "user.x", "1", 1, 0)), say(" list %r\n", sys(__NR_listxattr, at("F", ""), text, 100));
	say("rename %r unlink %r create %r link %r chmod %r chown %r truncate %r\n", sys(__NR_rename, ROOT "F", ROOT "G"), sys(__NR_unlink, at("F", "cgroup.procs")), sys(__NR_openat, AT_FDCWD, at("F", "new"), O_CREAT | O_RDWR, 0644), sys(__NR_link, ROOT "F/cgroup.procs", ROOT "F/x"),
	    sys(__NR_chmod, at("F", "cgroup.procs"), 0600), sys(__NR_chown, at("F", "cgroup.procs"), 1000, 1000), sys(__NR_truncate, at("F", "pids.max"), 0));
	sys(__NR_chown, at("A/B", ""), 1000, 1000), sys(__NR_chown, at("A/B", "cgroup.procs"), 1000, 1000), sys(__NR_chown, at("A/B", "cgroup.subtree_control"), 1000, 1000);
	pid = fork();
	if (!pid) {
		sys(__NR_setresgid, 1000, 1000, 1000), sys(__NR_setresuid, 1000, 1000, 1000);
		mk("A/B/mine"), mk("A/not"), w("A/B/mine", "cgroup.procs", "0"), w("A/B", "pids.max", "3"), w("A/B/mine", "pids.max", "3"), w("A/B", "cgroup.subtree_control", "+pids"), rm("A/B/mine"), w("A/B", "cgroup.freeze", "1");
		leave(0);
	}
	wait_for(pid);
	r("", "cgroup.type"), r("", "cgroup.events"), r("", "pids.max"), w("", "cgroup.subtree_control", "-nothing"), w("", "cgroup.max.depth", "1");
	rm("A"), rm("A/B/C/D"), rm("A/B/C"), rm("A/B"), rm("A"), rm("T/a/b"), rm("T/a"), rm("T"), rm("P"), rm("M"), rm("F"), rm("F");
	return 0;
}
