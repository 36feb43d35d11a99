/* Control groups: controllers and their files, limits of tasks, memory and time, freezing, threads, cloning into a group. */
#include "tiny.h"
#include <linux/sched.h>

#define ROOT "/sys/fs/cgroup/"
static char text[8192];

static long make(const char *name) { char p[128] = ROOT; memcpy(p + strlen(p), name, strlen(name) + 1); return sys(__NR_mkdirat, AT_FDCWD, p, 0755); }
static long drop(const char *name) { char p[128] = ROOT; memcpy(p + strlen(p), name, strlen(name) + 1); return sys(__NR_unlinkat, AT_FDCWD, p, 0x200); }
static long put_(const char *name, const char *what)
{
	char p[128] = ROOT;
	memcpy(p + strlen(p), name, strlen(name) + 1);
	long fd = sys(__NR_openat, AT_FDCWD, p, O_WRONLY), n;
	if (fd < 0)
		return fd;
	n = sys(__NR_write, fd, what, strlen(what));
	sys(__NR_close, fd);
	return n > 0 ? 0 : n;
}
static const char *get(const char *name)
{
	char p[128] = ROOT;
	memcpy(p + strlen(p), name, strlen(name) + 1);
	long n = slurp(p, text, sizeof text);
	if (n < 0)
		return error_name(-n);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = c[1] ? '|' : 0;
	return text;
}
static long value_of(const char *name, const char *key)
{
	get(name);
	for (char *c = text; *c; c++)
		if ((c == text || c[-1] == '|') && !memcmp(c, key, strlen(key)) && c[strlen(key)] == ' ') {
			long v = 0;
			for (c += strlen(key) + 1; *c >= '0' && *c <= '9'; c++)
				v = v * 10 + *c - '0';
			return v;
		}
	return -1;
}
static void ask(const char *file, const char *what) { say(" [%s] %r", what, put_(file, what)); say(" %s", get(file)); }

static void tree(void)
{
	say("give %r", put_("cgroup.subtree_control", "+memory +pids +cpu"));
	say(" a %r", make("a"));
	say(" has %s", get("a/cgroup.controllers"));
	say(" gives (%s)", get("a/cgroup.subtree_control"));
	say(" unknown %r", put_("a/cgroup.subtree_control", "+nothing"));
	say(" no sign %r", put_("a/cgroup.subtree_control", "pids"));
	say(" some %r", put_("a/cgroup.subtree_control", "+pids -cpu"));
	say(" b %r", make("a/b"));
	say(" has %s", get("a/b/cgroup.controllers"));
	say(" not given %r", put_("a/b/cgroup.subtree_control", "+memory"));
	say(" pids %r", put_("a/b/cgroup.subtree_control", "+pids"));
	say(" taken %r", put_("a/cgroup.subtree_control", "-pids"));
	say(" inside %r", put_("a/b/cgroup.procs", "0"));
	say(" back %r", put_("cgroup.procs", "0"));
	say(" domain too %r", put_("a/cgroup.subtree_control", "+memory"));
	say(" below %r", put_("a/b/cgroup.subtree_control", "+memory"));
	say(" inside %r", put_("a/b/cgroup.procs", "0"));
	say(" memory %r", put_("a/b/cgroup.subtree_control", "-memory -pids"));
	say(" inside %r", put_("a/b/cgroup.procs", "0"));
	say(" %s", get("a/b/cgroup.events"));
	say(" busy %r", drop("a/b"));
	say(" back %r", put_("cgroup.procs", "0"));
	say(" drop %r", drop("a/b"));
	say(" depth %r", put_("a/cgroup.max.depth", "0"));
	say(" b %r", make("a/b"));
	say(" descendants %r", put_("cgroup.max.descendants", "1"));
	say(" c %r", make("c"));
	say(" %r", put_("cgroup.max.descendants", "max"));
	say(" %s", get("cgroup.max.descendants"));
	say(" a %r\n", drop("a"));
}

static void words(void)
{
	make("w");
	say("pids"); ask("w/pids.max", "5"); ask("w/pids.max", "max"); ask("w/pids.max", "-1"); ask("w/pids.max", " 7 "); ask("w/pids.max", "1k");
	ask("w/pids.max", "4194305");
	say("\nmax"); ask("w/memory.max", "4097"); ask("w/memory.max", "1M"); ask("w/memory.max", "x"); ask("w/memory.max", "2g"); ask("w/memory.max", "max");
	ask("w/memory.low", "12288"); ask("w/memory.high", "0x10"); ask("w/memory.oom.group", "1"); ask("w/memory.oom.group", "2");
	say("\ncpu"); ask("w/cpu.max", "5000"); ask("w/cpu.max", "max 5000"); ask("w/cpu.max", "999"); ask("w/cpu.max", "2000 1000001"); ask("w/cpu.max", "30000 20000");
	say(" %s", get("w/cpu.max.burst")); ask("w/cpu.max.burst", "40000"); ask("w/cpu.max.burst", "1000");
	say("\nweight"); ask("w/cpu.weight", "1"); ask("w/cpu.weight", "10001"); ask("w/cpu.weight", "0"); ask("w/cpu.weight", " 5"); ask("w/cpu.weight.nice", "-20");
	say(" %s", get("w/cpu.weight")); ask("w/cpu.weight.nice", "5"); say(" %s", get("w/cpu.weight")); ask("w/cpu.idle", "1"); say(" %s", get("w/cpu.weight"));
	ask("w/cpu.weight", "7"); ask("w/cpu.idle", "0"); ask("w/cpu.idle", "2");
	say("\nusage %l", value_of("w/cpu.stat", "usage_usec"));
	say(" events %s\n", get("w/memory.events"));
	drop("w");
}

static void pids(void)
{
	long pid, inner;
	make("p");
	put_("p/pids.max", "2");
	if (!(pid = fork())) {
		put_("p/cgroup.procs", "0");
		say("alone %s", get("p/pids.current"));
		inner = fork();
		if (!inner)
			leave(0);
		nap(20); /* it is a zombie, and counts */
		say(" zombie %s", get("p/pids.current"));
		say(" fork %r", fork());
		say(" %s", get("p/pids.events"));
		wait_for(inner);
		say(" %s", get("p/pids.current"));
		inner = fork();
		if (!inner)
			leave(0);
		say(" fork %d", inner > 0);
		wait_for(inner);
		leave(0);
	}
	wait_for(pid);
	say(" after %s", get("p/pids.current"));
	say(" drop %r\n", drop("p"));
}

static void memory(void)
{
	long pid, size = 8 << 20;
	make("m");
	put_("m/memory.max", "4M"), put_("m/memory.swap.max", "0");
	for (int shared = 0; shared < 2; shared++) {
		if (!(pid = fork())) {
			put_("m/cgroup.procs", "0");
			char *p = map(0, size, 3, 0x20 | (shared ? 1 : 2), -1, 0);
			for (long i = 0; i < size; i += 4096)
				p[i] = 1;
			leave(1);
		}
		say("died of %d", wait_for(pid) & 0x7f);
	}
	say(" oom %d kill %d max %d", value_of("m/memory.events", "oom") >= 2, (int)value_of("m/memory.events", "oom_kill"), value_of("m/memory.events", "max") > 0);
	put_("m/memory.max", "64M");
	if (!(pid = fork())) {
		put_("m/cgroup.procs", "0");
		char *p = map(0, size, 3, 0x22, -1, 0);
		for (long i = 0; i < size; i += 4096)
			p[i] = 1;
		long anon = value_of("m/memory.stat", "anon");
		say("\ncharged %d", anon >= size && anon < size + (1 << 20));
		sys(__NR_munmap, p, size);
		anon = value_of("m/memory.stat", "anon");
		say(" back %d", anon < 1 << 20);
		leave(0);
	}
	wait_for(pid);
	/* all of a group go together */
	put_("m/memory.oom.group", "1"), put_("m/memory.max", "4M");
	long sleeper = fork();
	if (!sleeper) {
		put_("m/cgroup.procs", "0");
		nap(60000);
		leave(0);
	}
	nap(20);
	if (!(pid = fork())) {
		put_("m/cgroup.procs", "0");
		char *p = map(0, size, 3, 0x22, -1, 0);
		for (long i = 0; i < size; i += 4096)
			p[i] = 1;
		leave(1);
	}
	say(" together %d", wait_for(pid) & 0x7f);
	say(" %d", wait_for(sleeper) & 0x7f);
	say(" group kills %d", (int)value_of("m/memory.events", "oom_group_kill"));
	say(" drop %r\n", drop("m"));
}

static long long now(void)
{
	struct __kernel_timespec t;
#ifdef __NR_clock_gettime64
	sys(__NR_clock_gettime64, 1, &t);
#else
	sys(__NR_clock_gettime, 1, &t);
#endif
	return t.tv_sec * 1000LL + (unsigned)t.tv_nsec / 1000000;
}

static void timed(void)
{
	long pid;
	make("t");
	put_("t/cpu.max", "10000 100000");
	if (!(pid = fork())) {
		put_("t/cgroup.procs", "0");
		long long start = now();
		while (now() < start + 600)
			;
		leave(0);
	}
	wait_for(pid);
	long usage = value_of("t/cpu.stat", "usage_usec"), periods = value_of("t/cpu.stat", "nr_periods");
	long throttled = value_of("t/cpu.stat", "nr_throttled");
	say("usage %d periods %d throttled %d time %d", usage > 30000 && usage < 150000, periods >= 4 && periods < 20, throttled >= 3 && throttled <= periods,
	    value_of("t/cpu.stat", "throttled_usec") > 200000);
	say(" drop %r\n", drop("t"));
}

static void freeze(void)
{
	long pid, fd, n;
	struct pollfd p = { 0, POLLPRI, 0 };
	int page_;
	char c[256];
	volatile long *count = map(0, 4096, 3, 0x21, -1, 0);
	make("f");
	say("empty %r", put_("f/cgroup.freeze", "1"));
	say(" %s", get("f/cgroup.events"));
	say(" thaw %r", put_("f/cgroup.freeze", "0"));
	say(" bad %r\n", put_("f/cgroup.freeze", "2"));
	if (!(pid = fork())) {
		put_("f/cgroup.procs", "0");
		for (;;)
			(*count)++, nap(5);
	}
	for (int i = 0; i < 100 && *count < 3; i++)
		nap(5);
	fd = sys(__NR_openat, AT_FDCWD, ROOT "f/cgroup.events", O_RDONLY);
	sys(__NR_read, fd, c, sizeof c);
	p.fd = fd;
	struct __kernel_timespec zero = { 0, 0 }, wait = { 2, 0 };
#ifdef __NR_ppoll_time64
#define PPOLL __NR_ppoll_time64
#else
#define PPOLL __NR_ppoll
#endif
	say("quiet %r", sys(PPOLL, &p, 1, &zero, 0, 8));
	put_("f/cgroup.freeze", "1");
	say(" told %r", sys(PPOLL, &p, 1, &wait, 0, 8));
	say(" %x", (long)p.revents);
	for (int i = 0; i < 100 && value_of("f/cgroup.events", "frozen") != 1; i++)
		nap(5);
	say(" %s", get("f/cgroup.events"));
	n = *count;
	nap(50);
	say(" still %d", *count == n);
	say(" signal %r", sys(__NR_kill, pid, 10));
	nap(20);
	say(" waits %d", sys(__NR_wait4, pid, &page_, 1, 0) == pid);
	put_("f/cgroup.freeze", "0");
	say(" thawed: died of %d\n", wait_for(pid) & 0x7f);
	if (!(pid = fork())) {
		put_("f/cgroup.procs", "0");
		for (;;)
			(*count)++, nap(5);
	}
	nap(30);
	put_("f/cgroup.freeze", "1");
	nap(30);
	say("killed %r", put_("f/cgroup.kill", "1"));
	say(" died of %d", wait_for(pid) & 0x7f);
	say(" 2 %r", put_("f/cgroup.kill", "2"));
	say(" %s", get("f/cgroup.events"));
	say(" drop %r\n", drop("f"));
	sys(__NR_close, fd);
}

static void threads(void)
{
	make("d"), make("d/x"), make("d/y");
	say("type %s", get("d/x/cgroup.type"));
	say(" bad %r", put_("d/x/cgroup.type", "domain"));
	say(" threaded %r", put_("d/x/cgroup.type", "threaded"));
	say(" %s", get("d/x/cgroup.type"));
	say(", above %s", get("d/cgroup.type"));
	say(", beside %s", get("d/y/cgroup.type"));
	say(" enter %r", put_("d/y/cgroup.procs", "0"));
	say(" procs (%s)", get("d/x/cgroup.procs"));
	say(" thread from outside %r", put_("d/x/cgroup.threads", "0"));
	say(" process %r", put_("d/cgroup.procs", "0"));
	say(" thread %r", put_("d/x/cgroup.threads", "0"));
	slurp("/proc/self/cgroup", text, sizeof text);
	say(" %s", text);
	say("out %r", put_("cgroup.procs", "0"));
	say(" memory %r", put_("d/cgroup.subtree_control", "+memory"));
	say(" pids %r", put_("d/cgroup.subtree_control", "+pids"));
	drop("d/x"), drop("d/y");
	say(" drop %r\n", drop("d"));
}

static void into(void)
{
	struct clone_args a;
	long pid;
	make("i"), make("i/j");
	memset(&a, 0, sizeof a);
	a.flags = CLONE_INTO_CGROUP, a.exit_signal = 17;
	a.cgroup = sys(__NR_openat, AT_FDCWD, ROOT "i", O_RDONLY | O_DIRECTORY);
	pid = sys(__NR_clone3, &a, sizeof a);
	if (!pid) {
		slurp("/proc/self/cgroup", text, sizeof text);
		say("into %s", text);
		leave(0);
	}
	wait_for(pid);
	put_("i/cgroup.subtree_control", "+memory");
	say("with controllers below %r", sys(__NR_clone3, &a, sizeof a));
	a.cgroup = 0;
	say(" no directory %r", sys(__NR_clone3, &a, sizeof a));
	a.cgroup = 99;
	say(" nothing %r", sys(__NR_clone3, &a, sizeof a));
	drop("i/j");
	say(" drop %r\n", drop("i"));
}

int main(int argc, char **argv)
{
	tree();
	words();
	pids();
	memory();
	timed();
	freeze();
	threads();
	into();
	return 0;
}
