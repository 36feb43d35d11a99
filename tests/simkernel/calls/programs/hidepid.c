/* A proc mounted with hidepid: what a user sees of root's processes, of his own and of those that he may not trace. */
#include "tiny.h"
#include <linux/prctl.h>
#include <linux/stat.h>

static char path[96];
static const char *of(long pid, const char *rest)
{
	char digits[24];
	int n = 0, d = 0;
	for (const char *s = "/hide/"; *s; s++) path[n++] = *s;
	if (pid) {
		do digits[d++] = '0' + (unsigned)pid % 10; while ((pid = (unsigned)pid / 10));
		while (d) path[n++] = digits[--d];
	} else
		for (const char *s = "self"; *s; s++) path[n++] = *s;
	for (const char *s = rest; *s; s++) path[n++] = *s;
	path[n] = 0;
	return path;
}
static int listed(long pid)
{
	static char buf[8192];
	long fd = sys(__NR_open, "/hide", O_RDONLY | O_DIRECTORY), n;
	int found = 0;
	of(pid, "");
	while ((n = sys(__NR_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n; at += *(unsigned short *)(buf + at + 16))
			found += streq(buf + at + 19, path + 6);
	sys(__NR_close, fd);
	return found;
}
static void look(const char *who, long pid)
{
	struct statx st;
	long fd;
	say("  %s: listed %d, statx %r, access %r, stat %r", who, listed(pid), sys(__NR_statx, -100, of(pid, ""), 0, 1, &st),
	    sys(__NR_access, of(pid, ""), 4), sys(__NR_access, of(pid, "/stat"), 4));
	fd = sys(__NR_open, of(pid, "/status"), O_RDONLY);
	say(", status %r", fd < 0 ? fd : 0);
	sys(__NR_close, fd);
	fd = sys(__NR_open, of(pid, ""), O_RDONLY | O_DIRECTORY);
	say(", directory %r", fd < 0 ? fd : 0);
	sys(__NR_close, fd);
	fd = sys(__NR_open, of(pid, "/task"), O_RDONLY | O_DIRECTORY);
	say(", task %r", fd < 0 ? fd : 0);
	sys(__NR_close, fd);
	fd = sys(__NR_open, of(pid, "/environ"), O_RDONLY);
	say(", environ %r\n", fd < 0 ? fd : 0);
	sys(__NR_close, fd);
}
static long sleeper(int uid, int dumpable)
{
	long p = fork();
	if (!p) {
		sys(__NR_setgid, uid);
		sys(__NR_setuid, uid);
		sys(__NR_prctl, PR_SET_DUMPABLE, dumpable);
		for (;;)
			nap(10000);
	}
	nap(30);
	return p;
}

int main(int argc, char **argv)
{
	static const char *const options[] = { "", "hidepid=1", "hidepid=2", "hidepid=4", "hidepid=2,gid=70", "hidepid=4,gid=70", "hidepid=1,subset=pid" };
	long pids[5] = { sleeper(0, 1), sleeper(1000, 1), sleeper(1000, 0), sleeper(1001, 1), 0 };
	static const char *const names[] = { "root's", "own", "own undumpable", "another's", "self" };
	sys(__NR_mkdir, "/hide", 0755);
	for (unsigned o = 0; o < sizeof(options) / sizeof(*options); o++) {
		say("%s: %r\n", options[o], sys(__NR_mount, "proc", "/hide", "proc", 0, options[o]));
		for (int gid = 1000; gid; gid = gid == 1000 ? 70 : 0) {
			long p = fork();
			if (!p) {
				sys(__NR_setgid, gid);
				sys(__NR_setuid, 1000);
				sys(__NR_prctl, PR_SET_DUMPABLE, 1);
				say(" group %d\n", gid);
				for (int i = 0; i < 5; i++)
					look(names[i], pids[i]);
				leave(0);
			}
			wait_for(p);
		}
		say(" root\n");
		look(names[0], pids[0]);
		look(names[3], pids[3]);
		say("umount %r\n", sys(__NR_umount2, "/hide", 0));
	}
	for (int i = 0; i < 4; i++)
		sys(__NR_kill, pids[i], 9);
	return 0;
}
