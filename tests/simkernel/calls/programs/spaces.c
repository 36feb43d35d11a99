/* Namespaces of users, pids and time: numbers inside and outside, maps, capabilities, /proc, the end of an init, pivot_root. */
#include "tiny.h"
#include <linux/sched.h>
#include <linux/capability.h>
#include <linux/mount.h>

#define NS_GET_USERNS 0xb701
#define NS_GET_PARENT 0xb702
#define NS_GET_NSTYPE 0xb703
#define NS_GET_OWNER_UID 0xb704
#ifdef __NR_getuid32
#define GETUID __NR_getuid32
#define GETGID __NR_getgid32
#define SETUID __NR_setuid32
#define SETRESUID __NR_setresuid32
#define SETRESGID __NR_setresgid32
#define SETGROUPS __NR_setgroups32
#define CHOWN __NR_chown32
#else
#define GETUID __NR_getuid
#define GETGID __NR_getgid
#define SETUID __NR_setuid
#define SETRESUID __NR_setresuid
#define SETRESGID __NR_setresgid
#define SETGROUPS __NR_setgroups
#define CHOWN __NR_chown
#endif

static void caps(const char *what)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	sys(__NR_capget, &h, d);
	say("%s: eff %d perm %d inh %d\n", what, d[0].effective != 0, d[0].permitted != 0, d[0].inheritable != 0);
}

static void show(const char *path, const char *until)
{
	static char text[8192];
	long n = slurp(path, text, sizeof(text));
	if (n < 0) {
		say("%s %r\n", path, n);
		return;
	}
	for (char *p = text, *e; *p; p = e + (*e == '\n')) {
		for (e = p; *e && *e != '\n'; e++)
			;
		size_t len = strlen(until);
		if (!len || ((size_t)(e - p) > len && !memcmp(p, until, len))) {
			while (p < e)
				put(*p++);
			put('\n');
		}
	}
	flush();
}

static long write_to(const char *path, const char *text)
{
	long fd = sys(__NR_openat, AT_FDCWD, path, O_WRONLY, 0), n;
	if (fd < 0)
		return fd;
	n = sys(__NR_write, fd, text, strlen(text));
	sys(__NR_close, fd);
	return n;
}

static long new_child(long flags) { 
#if defined(__s390x__)
	return sys(__NR_clone, 0, flags | 17, 0, 0, 0);
#else
	return sys(__NR_clone, flags | 17, 0, 0, 0, 0);
#endif
}

static void users(void)
{
	long pid, fd, up;
	int uid = -1;
	pid = new_child(CLONE_NEWUSER);
	if (!pid) {
		say("inside uid %d gid %d\n", (int)sys(GETUID), (int)sys(GETGID));
		caps("new");
		show("/proc/self/uid_map", "");
		show("/proc/self/setgroups", "");
		say("setuid %r", sys(SETUID, 0));
		say(" setgroups %r\n", sys(SETGROUPS, 0, 0));
		say("sethostname %r", sys(__NR_sethostname, "x", 1));
		say(" unshare %r\n", sys(__NR_unshare, CLONE_NEWUTS));
		say("sethostname %r\n", sys(__NR_sethostname, "x", 1));
		say("bad map %r", write_to("/proc/self/uid_map", "0 0"));
		say(" overlap %r", write_to("/proc/self/uid_map", "0 0 5\n3 100 5\n"));
		say(" empty %r", write_to("/proc/self/uid_map", "0 0 0\n"));
		say(" map %r", write_to("/proc/self/uid_map", "0 0 1\n5 1000 10\n"));
		say(" again %r\n", write_to("/proc/self/uid_map", "0 0 1\n"));
		say("map gid %r", write_to("/proc/self/gid_map", "0 0 1\n"));
		say(" deny late %r\n", write_to("/proc/self/setgroups", "deny"));
		say("uid %d\n", (int)sys(GETUID));
		show("/proc/self/uid_map", "");
		show("/proc/self/status", "Uid:");
		say("setresuid 7 %r", sys(SETRESUID, 7, 7, 7));
		say(" 77 %r\n", sys(SETRESUID, 77, 77, 77));
		caps("after");
		show("/proc/self/status", "Uid:");
		leave(0);
	}
	say("ended %x\n", (long)wait_for(pid));
	pid = fork();
	if (!pid) {
		sys(SETRESGID, 1000, 1000, 1000);
		sys(SETRESUID, 1000, 1000, 1000);
		caps("plain");
		say("not dumpable %r", write_to("/proc/self/uid_map", "x"));
		say(" %r\n", sys(__NR_prctl, 4, 1));
		say("unshare %r\n", sys(__NR_unshare, CLONE_NEWUSER));
		caps("own");
		say("root map %r", write_to("/proc/self/uid_map", "0 0 1\n"));
		say(" two %r", write_to("/proc/self/uid_map", "0 1000 2\n"));
		say(" one %r\n", write_to("/proc/self/uid_map", "0 1000 1\n"));
		say("gid %r", write_to("/proc/self/gid_map", "0 1000 1\n"));
		say(" deny %r", write_to("/proc/self/setgroups", "deny\n"));
		say(" gid %r", write_to("/proc/self/gid_map", "0 1000 1\n"));
		say(" allow %r\n", write_to("/proc/self/setgroups", "allow"));
		show("/proc/self/setgroups", "");
		say("uid %d gid %d\n", (int)sys(GETUID), (int)sys(GETGID));
		say("setgroups %r\n", sys(SETGROUPS, 0, 0));
		say("mount %r", sys(__NR_mount, "none", "/tmp", "tmpfs", 0, 0));
		say(" unshare %r", sys(__NR_unshare, CLONE_NEWNS));
		say(" mount %r\n", sys(__NR_mount, "none", "/tmp", "tmpfs", 0, 0));
		say("mknod %r", sys(__NR_mknodat, AT_FDCWD, "/tmp/null", 0020666, 0x103));
		say(" chown root's %r", sys(CHOWN, "/bin", 0, 0));
		say(" own %r\n", spit("/tmp/own", "x"));
		say("chown own %r", sys(CHOWN, "/tmp/own", 0, 0));
		say(" nobody %r\n", sys(CHOWN, "/tmp/own", 5, -1));
		fd = sys(__NR_openat, AT_FDCWD, "/proc/self/ns/uts", O_RDONLY, 0);
		up = sys(__NR_ioctl, fd, NS_GET_USERNS, 0);
		say("type %x userns %d parent %r\n", sys(__NR_ioctl, fd, NS_GET_NSTYPE, 0), up > 0, sys(__NR_ioctl, fd, NS_GET_PARENT, 0));
		fd = sys(__NR_openat, AT_FDCWD, "/proc/self/ns/user", O_RDONLY, 0);
		say("parent %r", sys(__NR_ioctl, fd, NS_GET_PARENT, 0));
		say(" owner %r", sys(__NR_ioctl, fd, NS_GET_OWNER_UID, &uid));
		say(" %d", (int)uid);
		say(" enter own %r\n", sys(__NR_setns, fd, 0));
		say("nested %r", sys(__NR_unshare, CLONE_NEWUSER));
		say(" uid %d\n", (int)sys(GETUID));
		leave(0);
	}
	say("ended %x\n", (long)wait_for(pid));
	say("unshare thread flags %r\n", sys(__NR_unshare, 0x12));
}

static volatile int seen[65];
static volatile int from = -1;
static void note(int sig, void *info, void *context)
{
	seen[sig]++;
	from = ((int *)info)[sizeof(long) == 8 ? 4 : 3];
}

static void pids(void)
{
	long pid, inner;
	int status = -1, pair[2];
	char byte;
	sys(__NR_pipe2, pair, 0);
	on_signal(10, note, 0);
	pid = new_child(CLONE_NEWPID | CLONE_NEWNS);
	if (!pid) {
		say("init %d parent %d group %d session %d\n", (int)sys(__NR_getpid), (int)sys(__NR_getppid), (int)sys(__NR_getpgid, 0), (int)sys(__NR_getsid, 0));
		sys(__NR_mount, "none", "/", 0, MS_REC | MS_PRIVATE, 0);
		say("proc %r\n", sys(__NR_mount, "proc", "/proc", "proc", 0, 0));
		show("/proc/self/status", "NSpid:");
		show("/proc/1/status", "PPid:");
		say("setsid %r", sys(__NR_setsid));
		say(" kill 1 %r\n", sys(__NR_kill, 1, 9));
		say("no such %r\n", sys(__NR_kill, 400, 0));
		sys(__NR_kill, sys(__NR_getpid), 15);
		on_signal(12, note, 0x10000000);
		pid = fork();
		if (!pid) {
			say("second %d parent %d\n", (int)sys(__NR_getpid), (int)sys(__NR_getppid));
			show("/proc/self/status", "NSpid:");
			sys(__NR_kill, 1, 12);
			inner = fork();
			if (!inner) {
				nap(30);
				say("orphan's parent %d\n", (int)sys(__NR_getppid));
				leave(7);
			}
			leave(3);
		}
		say("forked %d\n", (int)pid);
		say("waited %d", (int)sys(__NR_wait4, -1, &status, 0, 0));
		say(" %x\n", (long)status);
		say("from %d\n", from);
		say("adopted %d", (int)sys(__NR_wait4, -1, &status, 0, 0));
		say(" %x\n", (long)status);
		pid = fork();
		if (!pid) {
			for (;;)
				nap(1000);
		}
		say("leaving\n");
		sys(__NR_kill, pid, 0);
		sys(__NR_read, pair[0], &byte, 1);
		leave(5);
	}
	nap(200);
	say("outside %d\n", pid > 1);
	sys(__NR_kill, pid, 15);
	nap(10);
	say("still there %r\n", sys(__NR_kill, pid, 0));
	sys(__NR_write, pair[1], "x", 1);
	say("ended %x\n", (long)wait_for(pid));
	pid = new_child(CLONE_NEWPID);
	if (!pid) {
		fork();
		for (;;)
			nap(1000);
	}
	sys(__NR_kill, pid, 9);
	say("killed %x\n", (long)wait_for(pid));
	pid = fork();
	if (!pid) {
		long first, second;
		say("unshare %r", sys(__NR_unshare, CLONE_NEWPID));
		say(" again %r", sys(__NR_unshare, CLONE_NEWPID));
		say(" pid %d\n", sys(__NR_getpid) > 1);
		say("thread %r\n", new_child(CLONE_VM | CLONE_THREAD | CLONE_SIGHAND));
		first = fork();
		if (!first) {
			say("first %d\n", (int)sys(__NR_getpid));
			leave(1);
		}
		wait_for(first);
		second = fork();
		if (!second)
			leave(2);
		say("after the init %r\n", second);
		leave(0);
	}
	wait_for(pid);
}

static void times(void)
{
	struct __kernel_timespec before, now;
	long pid = fork();
#ifdef __NR_clock_gettime64
	int call = __NR_clock_gettime64;
#else
	int call = __NR_clock_gettime;
#endif
	if (!pid) {
		say("early %r\n", write_to("/proc/self/timens_offsets", "monotonic 1000 0\n"));
		say("unshare %r\n", sys(__NR_unshare, CLONE_NEWTIME));
		say("bad %r", write_to("/proc/self/timens_offsets", "realtime 1 0\n"));
		say(" past %r", write_to("/proc/self/timens_offsets", "monotonic -100000 0\n"));
		say(" set %r\n", write_to("/proc/self/timens_offsets", "monotonic 1000 0\nboottime 2000 500\n"));
		show("/proc/self/timens_offsets", "");
		sys(call, 1, &before);
		pid = fork();
		if (!pid) {
			sys(call, 1, &now);
			say("monotonic later %d", now.tv_sec - before.tv_sec >= 1000 && now.tv_sec - before.tv_sec < 1010);
			sys(call, 7, &now);
			say(" boottime %d\n", now.tv_sec - before.tv_sec >= 2000 && now.tv_sec - before.tv_sec < 2010);
			show("/proc/self/timens_offsets", "");
			leave(0);
		}
		wait_for(pid);
		say("late %r\n", write_to("/proc/self/timens_offsets", "monotonic 5 0\n"));
		leave(0);
	}
	wait_for(pid);
}

static void roots(void)
{
	long pid = new_child(CLONE_NEWNS);
	if (!pid) {
		char where[64];
		sys(__NR_mount, "none", "/", 0, MS_REC | MS_PRIVATE, 0);
		sys(__NR_mkdirat, AT_FDCWD, "/new", 0755);
		say("roots");
		say(" no %r", sys(__NR_pivot_root, "/none", "/tmp"));
		sys(__NR_mount, "none", "/new", "tmpfs", 0, 0);
		sys(__NR_mkdirat, AT_FDCWD, "/new/old", 0755);
		say(" file %r\n", sys(__NR_pivot_root, "/new", "/proc/version"));
		say("outside %r\n", sys(__NR_pivot_root, "/new", "/proc"));
		say("from rootfs %r\n", sys(__NR_pivot_root, "/new", "/new/old"));
		sys(__NR_chroot, "/new");
		sys(__NR_chdir, "/");
		say("chrooted %r\n", sys(__NR_unshare, CLONE_NEWUSER));
		say("cwd %r\n", sys(__NR_getcwd, where, sizeof(where)));
		sys(__NR_mkdirat, AT_FDCWD, "/a", 0755);
		sys(__NR_mount, "none", "/a", "tmpfs", 0, 0);
		sys(__NR_mkdirat, AT_FDCWD, "/a/old", 0755);
		say("pivot %r", sys(__NR_pivot_root, "/a", "/a/old"));
		say(" old there %r", sys(__NR_faccessat, AT_FDCWD, "/old/a", 0));
		say(" umount %r\n", sys(__NR_umount2, "/old", 2));
		leave(0);
	}
	say("ended %x\n", (long)wait_for(pid));
}

int main(int argc, char **argv)
{
	users();
	pids();
	times();
	roots();
	return 0;
}
