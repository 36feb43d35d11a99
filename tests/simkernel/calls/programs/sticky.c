/* Links and files of others in directories for all: fs.protected_hardlinks, fs.protected_symlinks, by owner and mode; settings that act. */
/* not: i386: no cross compiler beside it */
/* not: s390x: the same */
#include "tiny.h"

static long as(int uid, long (*what)(void))
{
	long result[2] = { -1, 0 };
	int ends[2];
	sys(__NR_pipe, ends);
	if (!fork()) {
		sys(__NR_setresgid, uid, uid, uid);
		sys(__NR_setresuid, uid, uid, uid);
		result[0] = what();
		sys(__NR_write, ends[1], result, sizeof(long));
		leave(0);
	}
	wait_for(-1);
	sys(__NR_read, ends[0], result, sizeof(long));
	sys(__NR_close, ends[0]);
	sys(__NR_close, ends[1]);
	return result[0];
}

static const char *path, *second;
static long open_it(void) { long fd = sys(__NR_open, path, O_RDONLY); return fd < 0 ? fd : 0; }
static long link_it(void) { long r = sys(__NR_link, path, second); sys(__NR_unlink, second); return r; }
static long stat_it(void) { char b[256]; return sys(__NR_readlink, path, b, sizeof(b)) > 0; }
static long through(void) { char b[8]; return slurp("/tmp/sticky/to_dir/in", b, sizeof(b)); }
static long dumpable(void) { return sys(__NR_prctl, 3); }

static void make(const char *name, int mode, int uid)
{
	long fd = sys(__NR_open, name, O_CREAT | O_RDWR, 0600);
	sys(__NR_close, fd);
	sys(__NR_chown, name, uid, uid);
	sys(__NR_chmod, name, mode);
}

static void both(const char *setting)
{
	for (int on = 1; on >= 0; on--) {
		say("%s %d: %r\n", setting, on, spit(setting, on ? "1" : "0"));
		static const char *const links[] = { "/tmp/sticky/of_1000", "/tmp/sticky/of_1001", "/tmp/sticky/of_root", "/tmp/plain/of_1001", 0 };
		for (int i = 0; links[i]; i++) {
			path = links[i];
			say("  follow %s: root %r 1000 %r 1001 %r, read it: 1000 %r\n", path, open_it(), as(1000, open_it), as(1001, open_it), as(1000, stat_it));
		}
		say("  on the way: root %r 1000 %r\n", through(), as(1000, through));
		static const char *const files[] = { "/tmp/plain/mine", "/tmp/plain/theirs", "/tmp/plain/for_all", "/tmp/plain/setuid", "/tmp/plain/setgid",
						     "/tmp/plain/locked", "/tmp/plain/fifo", 0 };
		second = "/tmp/plain/another";
		for (int i = 0; files[i]; i++) {
			path = files[i];
			say("  link %s: root %r 1000 %r\n", path, link_it(), as(1000, link_it));
		}
	}
	spit(setting, "1");
}

int main(int argc, char **argv)
{
	sys(__NR_umask, 0);
	sys(__NR_mkdir, "/tmp", 0777);
	sys(__NR_mkdir, "/tmp/sticky", 0777);
	sys(__NR_chmod, "/tmp/sticky", 01777);
	sys(__NR_mkdir, "/tmp/plain", 0777);
	sys(__NR_mkdir, "/tmp/dir", 0777);
	spit("/tmp/dir/in", "abc");
	make("/tmp/target", 0644, 0);
	static const struct { const char *name; int uid; } links[] = {
		{ "/tmp/sticky/of_1000", 1000 }, { "/tmp/sticky/of_1001", 1001 }, { "/tmp/sticky/of_root", 0 }, { "/tmp/plain/of_1001", 1001 },
	};
	for (unsigned i = 0; i < sizeof(links) / sizeof(*links); i++) {
		sys(__NR_symlink, "/tmp/target", links[i].name);
		sys(__NR_lchown, links[i].name, links[i].uid, links[i].uid);
	}
	sys(__NR_symlink, "/tmp/dir", "/tmp/sticky/to_dir");
	sys(__NR_lchown, "/tmp/sticky/to_dir", 1001, 1001);
	make("/tmp/plain/mine", 0600, 1000);
	make("/tmp/plain/theirs", 0644, 1001);
	make("/tmp/plain/for_all", 0666, 1001);
	make("/tmp/plain/setuid", 04777, 1001);
	make("/tmp/plain/setgid", 02777, 1001);
	make("/tmp/plain/locked", 02666, 1001);
	sys(__NR_mknod, "/tmp/plain/fifo", 0010666, 0);
	sys(__NR_chmod, "/tmp/plain/fifo", 0666);
	both("/proc/sys/fs/protected_symlinks");
	both("/proc/sys/fs/protected_hardlinks");
	for (int i = 0; i < 3; i++) {
		say("suid_dumpable %d: %r", i, spit("/proc/sys/fs/suid_dumpable", i == 0 ? "0" : i == 1 ? "1" : "2"));
		say(" dumpable %r\n", as(1000, dumpable));
	}
	spit("/proc/sys/fs/suid_dumpable", "0");
	long ts[2] = { 0 }, before[2];
	int priority = 1;
	sys(__NR_sched_setscheduler, 0, 2, &priority);
	sys(__NR_sched_rr_get_interval, 0, before);
	say("slice %r", spit("/proc/sys/kernel/sched_rr_timeslice_ms", "40"));
	sys(__NR_sched_rr_get_interval, 0, ts);
	say(" %l %l then %l %l\n", before[0], before[1], ts[0], ts[1]);
	spit("/proc/sys/kernel/sched_rr_timeslice_ms", "0");
	say("last pid %r", spit("/proc/sys/kernel/ns_last_pid", "3000"));
	long child = fork();
	if (!child)
		leave(0);
	wait_for(child);
	say(" next %l\n", child);
	return 0;
}
