/* Namespaces with odd arguments: unshare, setns, ioctls of nsfs, maps of ids, the death of an init. not: s390x i386 */
#include "tiny.h"
#include <linux/sched.h>
#include <linux/nsfs.h>
#include <asm/stat.h>
static char text[4096];
static void w(const char *f, const char *v)
{
	long fd = sys(__NR_openat, AT_FDCWD, f, O_WRONLY, 0);
	say("%s < '", f);
	for (const char *p = v; *p; p++)
		put(*p == '\n' ? '|' : *p);
	say("': %r\n", fd < 0 ? fd : sys(__NR_write, fd, v, strlen(v)));
	sys(__NR_close, fd);
}
static void r(const char *f)
{
	long n = slurp(f, text, sizeof(text));
	say("%s:", f);
	if (n < 0)
		say(" %r", n);
	for (long i = 0; i < n; i++)
		put(text[i] == '\n' ? '|' : text[i]);
	say("\n");
}
static ulong ino(const char *f)
{
	struct stat st;
	return sys(__NR_stat, f, &st) < 0 ? 0 : st.st_ino;
}
static const char *const kinds[] = { "cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "time_for_children", "user", "uts" };
static ulong before[10];
static const char *link(int i)
{
	static char path[64] = "/proc/self/ns/";
	memcpy(path + 14, kinds[i], strlen(kinds[i]) + 1);
	return path;
}
static void note(void) { for (int i = 0; i < 10; i++) before[i] = ino(link(i)); }
static void changed(const char *what)
{
	say("%s:", what);
	for (int i = 0; i < 10; i++)
		if (ino(link(i)) != before[i])
			say(" %s", kinds[i]);
	say("\n"), note();
}
static long open_ns(const char *f) { return sys(__NR_openat, AT_FDCWD, f, O_RDONLY, 0); }
static void child(void (*body)(void))
{
	long pid = fork();
	if (!pid)
		note(), body(), leave(0);
	say("-> %x\n", (long)wait_for(pid));
}
static void flags(void)
{
	static const ulong odd[] = { 0, 1, CLONE_VM, CLONE_SIGHAND, CLONE_THREAD, CLONE_FS, CLONE_FILES, CLONE_SYSVSEM, CLONE_NEWNS | CLONE_FS, 0x80, CLONE_NEWTIME, CLONE_PARENT, CLONE_VFORK, 1UL << 32, 1UL << 33, CLONE_NEWUTS | 0x800 };
	for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		say("unshare %x: %r\n", odd[i], sys(__NR_unshare, odd[i])), changed(" ");
	T(__NR_unshare, CLONE_NEWNS), changed("mounts"), T(__NR_unshare, CLONE_NEWUTS | CLONE_NEWIPC), changed("both"), T(__NR_unshare, CLONE_NEWPID), changed("pid"), T(__NR_unshare, CLONE_NEWPID), changed("again");
	T(__NR_unshare, CLONE_NEWTIME), changed("time"), T(__NR_unshare, CLONE_NEWNET | CLONE_NEWCGROUP), changed("net");
}
static void links(void)
{
	long n;
	for (int i = 0; i < 10; i++) {
		n = sys(__NR_readlink, link(i), text, 100);
		text[n < 0 ? 0 : n] = 0;
		for (char *p = text; *p; p++)
			if (*p >= '0' && *p <= '9')
				*p = 'N';
		long fd = open_ns(link(i));
		say("%s -> %s type %x parent %r user %s owner %r odd %r\n", kinds[i], text, sys(__NR_ioctl, fd, NS_GET_NSTYPE), sys(__NR_ioctl, fd, NS_GET_PARENT), sys(__NR_ioctl, fd, NS_GET_USERNS) < 0 ? "no" : "yes",
		    sys(__NR_ioctl, fd, NS_GET_OWNER_UID, text), sys(__NR_ioctl, fd, _IO(NSIO, 9)));
		say(" setns 0 %r own %r", sys(__NR_setns, fd, 0), sys(__NR_setns, fd, sys(__NR_ioctl, fd, NS_GET_NSTYPE))), say(" wrong %r odd %r\n", sys(__NR_setns, fd, CLONE_NEWUTS | CLONE_NEWNET), sys(__NR_setns, fd, 1));
		say(" write %r read %r map %r poll %x\n", sys(__NR_openat, AT_FDCWD, link(i), O_RDWR, 0), sys(__NR_read, fd, text, 4), (long)map(0, 4096, 1, 2, fd, 0), (long)polled(fd, 5));
		for (int j = 3; j < 30; j++)
			sys(__NR_close, j);
	}
	say("setns -1 %r stdin %r\n", sys(__NR_setns, -1, 0), sys(__NR_setns, 0, 0));
	long fd = open_ns("/proc/self/status");
	say("of a file %r ioctl %r\n", sys(__NR_setns, fd, 0), sys(__NR_ioctl, fd, NS_GET_NSTYPE));
	fd = sys(__NR_pidfd_open, sys(__NR_getpid), 0);
	say("pidfd: 0 %r user %r uts %r all %r odd %r\n", sys(__NR_setns, fd, 0), sys(__NR_setns, fd, CLONE_NEWUSER), sys(__NR_setns, fd, CLONE_NEWUTS), sys(__NR_setns, fd, CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC), sys(__NR_setns, fd, 5));
}
static void maps(void)
{
	r("/proc/self/uid_map"), w("/proc/self/uid_map", "0 0 1"), r("/proc/self/setgroups"), w("/proc/self/setgroups", "deny");
	T(__NR_unshare, CLONE_NEWUSER), changed("user");
	say("ids %r %r overflow\n", sys(__NR_getuid), sys(__NR_getgid)), r("/proc/self/uid_map"), r("/proc/self/setgroups");
	T(__NR_setuid, 0), T(__NR_setuid, 65534), T(__NR_setresuid, -1, -1, -1);
	static const char *const bad[] = { "", "x", "0", "0 0", "0 0 0", "0 0 1 1", "-1 0 1", "0 -1 1", "0 0 4294967295", "0 0 4294967296", "4294967295 0 1", "4294967294 0 2", "0 0 1\n0 5 1", "0 0 2\n1 5 1", "0 0 2\n5 1 1", "0x0 0 1", " 0  0   1 \n", 0 };
	for (int i = 0; bad[i]; i++)
		w("/proc/self/uid_map", bad[i]);
	w("/proc/self/uid_map", "5 5 1"), r("/proc/self/uid_map");
	w("/proc/self/setgroups", "x"), w("/proc/self/setgroups", "allow"), w("/proc/self/setgroups", "deny\n"), w("/proc/self/setgroups", "allow"), r("/proc/self/setgroups"), w("/proc/self/gid_map", "0 0 1\n"), w("/proc/self/setgroups", "deny"), r("/proc/self/gid_map");
	say("ids %r %r groups %r\n", sys(__NR_getuid), sys(__NR_getgid), sys(__NR_setgroups, 0, 0));
	T(__NR_sethostname, "x", 1), T(__NR_unshare, CLONE_NEWUTS), T(__NR_sethostname, "inside", 6), T(__NR_sethostname, text, 65), T(__NR_sethostname, text, -1), T(__NR_setdomainname, "d", 1);
	T(__NR_mount, "t", "/tmp", "tmpfs", 0, 0), T(__NR_unshare, CLONE_NEWNS), T(__NR_chroot, "/"), T(__NR_mknod, "/tmp/node", 0020600, 0x103), T(__NR_unshare, CLONE_NEWUSER), T(__NR_unshare, CLONE_NEWNS), changed("two");
	long fd = open_ns("/proc/self/ns/user"), up = sys(__NR_ioctl, fd, NS_GET_PARENT), top = sys(__NR_ioctl, up, NS_GET_PARENT);
	say("parent %d its %r owner %r", up > 0, top > 0 ? 1 : top, sys(__NR_ioctl, fd, NS_GET_OWNER_UID, text)), say(" %d join it %r own %r\n", *(int *)text, sys(__NR_setns, up, CLONE_NEWUSER), sys(__NR_setns, fd, CLONE_NEWUSER));
}
static void nobody(void)
{
	T(__NR_setresgid, 1000, 1000, 1000), T(__NR_setresuid, 1000, 1000, 1000);
	T(__NR_unshare, CLONE_NEWNS), T(__NR_unshare, CLONE_NEWNET), T(__NR_unshare, CLONE_NEWUTS), T(__NR_unshare, CLONE_NEWPID), T(__NR_unshare, CLONE_NEWTIME), T(__NR_unshare, CLONE_NEWCGROUP);
	long fd = open_ns("/proc/self/ns/uts");
	say("join %r\n", sys(__NR_setns, fd, 0));
	T(__NR_unshare, CLONE_NEWUSER | CLONE_NEWNS), changed("now");
	w("/proc/self/gid_map", "0 1000 1"), w("/proc/self/uid_map", "0 0 1"), w("/proc/self/uid_map", "0 1000 2"), w("/proc/self/setgroups", "deny"), w("/proc/self/gid_map", "0 1000 1"), w("/proc/self/uid_map", "0 1000 1");
	say("ids %r %r\n", sys(__NR_getuid), sys(__NR_getgid)), r("/proc/self/uid_map");
	T(__NR_setgroups, 0, 0), T(__NR_setuid, 1), T(__NR_mount, "t", "/tmp", "tmpfs", 0, 0), T(__NR_mount, "p", "/proc", "proc", 0, 0), T(__NR_mount, "s", "/sys", "sysfs", 0, 0);
}
static void spaces(void)
{
	T(__NR_unshare, CLONE_NEWPID);
	long pid = fork();
	if (!pid) {
		say("init is %r of %r\n", sys(__NR_getpid), sys(__NR_getppid));
		long a = fork();
		if (!a) {
			if (!fork())
				for (;;) nap(1000);
			nap(20);
			leave(3);
		}
		say("child %r", a), say(" ends %x\n", (long)wait_for(a));
		say("signals to init: term %r kill %r stop %r\n", sys(__NR_kill, 1, 15), sys(__NR_kill, 1, 9), sys(__NR_kill, 1, 19));
		say("all %r group %r none %r\n", sys(__NR_kill, -1, 0), sys(__NR_kill, 0, 0), sys(__NR_kill, 77, 0));
		say("session %r is %r\n", sys(__NR_setsid), sys(__NR_getsid, 0));
		long orphan = sys(__NR_wait4, -1, 0, 1, 0);
		say("orphan %r clone thread of other space %r\n", orphan, sys(__NR_unshare, CLONE_NEWPID));
		say("fork %r", (a = fork()) ? a : 0);
		if (!a)
			say(" I am %r\n", sys(__NR_getpid)), leave(0);
		wait_for(a), say(" then %r\n", fork());
		leave(5);
	}
	say("init ends %x\n", (long)wait_for(pid)), say("after its end: fork %r\n", fork()), say(" again %r unshare %r\n", fork(), sys(__NR_unshare, CLONE_NEWPID));
}
static void times(void)
{
	T(__NR_unshare, CLONE_NEWTIME), r("/proc/self/timens_offsets");
	static const char *const bad[] = { "monotonic 10 0", "boottime -1000000000 0", "boottime 1000 1000000000", "realtime 1 0", "7 5 0", "1 2 3\n7 4 5", "x", "monotonic 1", "monotonic 1 0 0", "monotonic 9999999999 0", 0 };
	for (int i = 0; bad[i]; i++)
		w("/proc/self/timens_offsets", bad[i]);
	r("/proc/self/timens_offsets");
	long pid = fork();
	if (!pid)
		w("/proc/self/timens_offsets", "monotonic 1 0"), r("/proc/self/timens_offsets"), leave(0);
	wait_for(pid), w("/proc/self/timens_offsets", "monotonic 1 0");
}
int main(int argc, char **argv)
{
	sys(__NR_alarm, 60);
	child(flags), child(links), child(maps), child(nobody), child(spaces), child(times);
	return 0;
}
