/* Moves between control groups: the rights of who has opened cgroup.procs and cgroup.threads, and of who forks into a group. */
#include "tiny.h"

#ifndef __NR_setresuid32
#define __NR_setresuid32 __NR_setresuid
#endif
#ifndef __NR_fchownat
#error
#endif
static const char *const root = "/sys/fs/cgroup";
static char path[128];
static const char *at(const char *group, const char *file)
{
	int n = 0;
	for (const char *parts[] = { root, group, file }, **p = parts; p < parts + 3; p++)
		for (const char *s = *p; *s; s++)
			path[n++] = *s;
	path[n] = 0;
	return path;
}
static long make(const char *group) { return sys(__NR_mkdirat, AT_FDCWD, at(group, ""), 0755); }
static long drop(const char *group) { return sys(__NR_unlinkat, AT_FDCWD, at(group, ""), AT_REMOVEDIR); }
static long own(const char *group, const char *file, int uid) { return sys(__NR_fchownat, AT_FDCWD, at(group, file), uid, -1, 0); }
static long euid(int uid) { return sys(__NR_setresuid32, -1, uid, -1); }
static long enter(const char *group) { return spit(at(group, "/cgroup.procs"), "0"); }
static const char *where(void)
{
	static char text[256];
	slurp("/proc/self/cgroup", text, sizeof(text));
	for (char *s = text; *s; s++)
		if (*s == '\n')
			*s = 0;
	return text;
}

/* opened by one, written by another */
static void as(const char *from, const char *to, const char *file, int opener, int writer, const char *what)
{
	say("%s to %s%s, opened by %d, written by %d: enter %r", from, to, file, opener, writer, enter(from));
	euid(opener);
	long fd = sys(__NR_openat, AT_FDCWD, at(to, file), O_RDWR, 0);
	euid(0);
	euid(writer);
	say(" open %r write %r", fd < 0 ? fd : 0, fd < 0 ? 0 : sys(__NR_write, fd, what, strlen(what)));
	euid(0);
	say(" now in %s\n", where());
	sys(__NR_close, fd);
	enter("");
}

struct args { __u64 flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup; };
static void into(const char *from, long fd, int uid, const char *what)
{
	struct args a;
	memset(&a, 0, sizeof(a));
	a.flags = 0x200000000ULL, a.exit_signal = 17, a.cgroup = fd;
	say("fork of %s into %s as %d: enter %r", from, what, uid, enter(from));
	euid(uid);
	long pid = sys(__NR_clone3, &a, sizeof(a));
	if (!pid) {
		say(" child in %s", where());
		leave(0);
	}
	if (pid > 0)
		wait_for(pid);
	euid(0);
	say(" %r\n", pid < 0 ? pid : 0);
	enter("");
}
static long opened(const char *group) { return sys(__NR_openat, AT_FDCWD, at(group, ""), O_PATH | O_DIRECTORY, 0); }

int main(int argc, char **argv)
{
	static const char *const files[] = { "/cgroup.procs", "/cgroup.threads" };
	static const char *const words[] = { "", "x", "-1", "999999", "1 2", " 0", "0\n", "0x0", "+0", "99999999999" };
	enter("");
	say("make %r", make("/p")), say(" %r", make("/p/x")), say(" %r", make("/p/y")), say(" %r", make("/q")), say(" %r", make("/gone"));
	say(" %r\n", make("/p/x/z"));
	for (int i = 0; i < 2; i++)
		own("/p/x", files[i], 1000), own("/p/y", files[i], 1000), own("/q", files[i], 1000), own("/p/x/z", files[i], 1000);
	for (int delegated = 0; delegated < 2; delegated++) {
		say("the group above is %s\n", delegated ? "theirs" : "root's");
		if (delegated)
			own("/p", files[0], 1000);
		for (int i = 0; i < 2; i++)
			for (int who = 0; who < 4; who++) {
				int opener = who & 1 ? 1000 : 0, writer = who & 2 ? 1000 : 0;
				as("/p/x", "/p/y", files[i], opener, writer, "0");
				as("/p/x", "/p/x/z", files[i], opener, writer, "0");
				as("/p/x/z", "/p/x", files[i], opener, writer, "0");
				as("", "/p/y", files[i], opener, writer, "0");
				as("/q", "/p/y", files[i], opener, writer, "0");
				as("/p/x", "/p/x", files[i], opener, writer, "0");
				as("/p/x", "", files[i], opener, writer, "0");
			}
		for (int uid = 0; uid <= 1000; uid += 1000) {
			long y = opened("/p/y"), x = opened("/p/x"), q = opened("/q");
			into("/p/x", y, uid, "/p/y"), into("/p/x", x, uid, "/p/x"), into("", y, uid, "/p/y"), into("/q", y, uid, "/p/y");
			into("/p/x", q, uid, "/q");
			sys(__NR_close, x), sys(__NR_close, y), sys(__NR_close, q);
		}
	}
	for (int i = 0; i < 10; i++)
		as("/p/x", "/p/y", "/cgroup.procs", 0, 0, words[i]), as("/p/x", "/p/y", "/cgroup.procs", 1000, 0, words[i]);
	long gone = opened("/gone"), procs = sys(__NR_openat, AT_FDCWD, at("/gone", "/cgroup.procs"), O_RDWR, 0), file = sys(__NR_openat, AT_FDCWD, at("/q", "/cgroup.procs"), O_RDONLY, 0);
	long other = sys(__NR_openat, AT_FDCWD, "/proc", O_PATH, 0);
	into("", gone, 0, "a group that will go");
	say("remove %r\n", drop("/gone"));
	into("", gone, 0, "a group that is gone"), into("", gone, 1000, "a group that is gone");
	say("write %r", sys(__NR_write, procs, "0", 1)), say(" read %r poll %d\n", sys(__NR_read, procs, path, 10), polled(procs, 7));
	into("", file, 0, "a file"), into("", other, 0, "another directory"), into("", 99, 0, "nothing");
	say("remove %r", drop("/p/x")), say(" %r", drop("/p/x/z")), say(" %r", drop("/p/x")), say(" %r", drop("/p/y"));
	say(" %r", drop("/p")), say(" %r\n", drop("/q"));
	return 0;
}
