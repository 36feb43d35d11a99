/* Mounts: propagation, the calls that take mounts apart (fsopen and its kin), what a user namespace may not change. */
#include "tiny.h"
#include <linux/mount.h>

static char text[16384];

/* The mounts whose place begins with this word: place, options, propagation (group numbers as letters), file system. */
static void show(const char *what, const char *prefix)
{
	say("%s:\n", what);
	slurp("/proc/self/mountinfo", text, sizeof text);
	for (char *l = text; *l;) {
		char *end = l;
		while (*end && *end != '\n')
			end++;
		char *f[16], *p = l;
		int n = 0;
		for (f[n++] = p; p < end && n < 16; p++)
			if (*p == ' ')
				*p = 0, f[n++] = p + 1;
		*end = 0;
		if (n > 8 && !memcmp(f[4], prefix, strlen(prefix))) {
			say("  %s %s", f[4], f[5]);
			for (int i = 6; f[i][0] != '-'; i++) {
				for (char *c = f[i]; *c && *c != ':'; c++)
					say("%s", (char[]){ c == f[i] ? ' ' : *c, c == f[i] ? *c : 0, 0 });
			}
			say(" on %s\n", f[3]);
		}
		l = end + 1;
	}
}

static long mnt(const char *dev, const char *where, const char *type, ulong flags, const char *data)
{
	return sys(__NR_mount, dev, where, type, flags, data);
}
static long md(const char *p) { return sys(__NR_mkdirat, AT_FDCWD, p, 0755); }

static void propagation(void)
{
	md("/mm"), md("/mm/a"), md("/mm/b"), md("/mm/c");
	say("tmpfs %r", mnt("t", "/mm/a", "tmpfs", 0, 0));
	say(" shared %r", mnt(0, "/mm/a", 0, MS_SHARED, 0));
	say(" two %r", mnt(0, "/mm/a", 0, MS_SHARED | MS_PRIVATE, 0));
	say(" no mount %r", mnt(0, "/mm/b", 0, MS_SHARED, 0));
	say(" bind %r", mnt("/mm/a", "/mm/b", 0, MS_BIND, 0));
	say(" another %r", mnt("/mm/a", "/mm/c", 0, MS_BIND, 0));
	say(" slave %r\n", mnt(0, "/mm/c", 0, MS_SLAVE, 0));
	md("/mm/a/x"), md("/mm/c/y");
	say("on a %r", mnt("t", "/mm/a/x", "tmpfs", MS_NOSUID, 0));
	say(" on c %r\n", mnt("t", "/mm/c/y", "tmpfs", MS_NODEV, 0));
	show("heard", "/mm");
	say("busy %r", sys(__NR_umount2, "/mm/a", 0));
	say(" umount b/x %r\n", sys(__NR_umount2, "/mm/b/x", 0));
	show("gone", "/mm");
	say("private %r", mnt(0, "/mm/a", 0, MS_PRIVATE, 0));
	say(" unbindable %r", mnt(0, "/mm/b", 0, MS_UNBINDABLE, 0));
	md("/mm/d");
	say(" bind it %r", mnt("/mm/b", "/mm/d", 0, MS_BIND, 0));
	say(" expire %r", sys(__NR_umount2, "/mm/c/y", 4));
	say(" again %r", sys(__NR_umount2, "/mm/c/y", 4));
	say(" with force %r\n", sys(__NR_umount2, "/mm/c", 5));
	show("kinds", "/mm");
	say("detach %r %r", sys(__NR_umount2, "/mm/c", 2), sys(__NR_umount2, "/mm/a", 2));
	say(" %r\n", sys(__NR_umount2, "/mm/b", 2));
}

static void pieces(void)
{
	char message[200];
	md("/n"), md("/n/a"), md("/n/b");
	long fs = sys(__NR_fsopen, "tmpfs", 1);
	say("fsopen %s", fs > 0 ? "yes" : "no");
	say(" unknown %r flags %r\n", sys(__NR_fsopen, "nofs", 0), sys(__NR_fsopen, "tmpfs", 8));
	say("mount too early %r", sys(__NR_fsmount, fs, 0, 0));
	say(" size %r", sys(__NR_fsconfig, fs, 1, "size", "64k", 0));
	say(" unknown %r", sys(__NR_fsconfig, fs, 1, "nonsense", "1", 0));
	long n = sys(__NR_read, fs, message, sizeof message - 1);
	message[n > 0 ? n : 0] = 0;
	say(" said %s", message);
	say("none left %r", sys(__NR_read, fs, message, sizeof message));
	say(" cmd %r", sys(__NR_fsconfig, fs, 99, 0, 0, 0));
	say(" flag with value %r string without %r\n", sys(__NR_fsconfig, fs, 0, "ro", "1", 0), sys(__NR_fsconfig, fs, 1, "size", 0, 0));
	say("source %r", sys(__NR_fsconfig, fs, 1, "source", "mine", 0));
	say(" twice %r", sys(__NR_fsconfig, fs, 1, "source", "mine", 0));
	say(" create %r", sys(__NR_fsconfig, fs, 6, 0, 0, 0));
	say(" again %r", sys(__NR_fsconfig, fs, 6, 0, 0, 0));
	say(" parameter %r", sys(__NR_fsconfig, fs, 1, "size", "64k", 0));
	say(" attr %r", sys(__NR_fsmount, fs, 0, 0x40000000));
	long m = sys(__NR_fsmount, fs, 1, 2 | 0x10);
	say(" fsmount %s again %r\n", m > 0 ? "yes" : "no", sys(__NR_fsmount, fs, 1, 0));
	say("file in it %r", sys(__NR_mkdirat, m, "in", 0755));
	say(" flags %r", sys(__NR_move_mount, m, "", AT_FDCWD, "/n/a", 0x800));
	say(" move %r", sys(__NR_move_mount, m, "", AT_FDCWD, "/n/a", 4));
	say(" onto itself %r\n", sys(__NR_move_mount, m, "", m, "in", 4));
	show("moved", "/n");
	long t = sys(__NR_open_tree, AT_FDCWD, "/n/a", 1 | 0x8000);
	say("tree %s flags %r recursive alone %r", t > 0 ? "yes" : "no", sys(__NR_open_tree, AT_FDCWD, "/n/a", 2), sys(__NR_open_tree, AT_FDCWD, "/n/a", 0x8000));
	struct mount_attr a = { 1, 0, 0, 0 };
	say(" ro %r", sys(__NR_mount_setattr, t, "", 0x1000, &a, sizeof a));
	say(" mkdir %r", sys(__NR_mkdirat, t, "there", 0755));
	say(" move %r\n", sys(__NR_move_mount, t, "", AT_FDCWD, "/n/b", 4));
	show("two", "/n");
	a = (struct mount_attr){ 0x20, 0x70 | 1, MS_SHARED, 0 };
	say("atime %r", sys(__NR_mount_setattr, AT_FDCWD, "/n/b", 0, &a, sizeof a));
	a = (struct mount_attr){ 0x10, 0, 0, 0 };
	say(" half %r", sys(__NR_mount_setattr, AT_FDCWD, "/n/b", 0, &a, sizeof a));
	a = (struct mount_attr){ 0, 0, MS_SHARED | MS_SLAVE, 0 };
	say(" two kinds %r size %r", sys(__NR_mount_setattr, AT_FDCWD, "/n/b", 0, &a, sizeof a), sys(__NR_mount_setattr, AT_FDCWD, "/n/b", 0, &a, 8));
	a = (struct mount_attr){ 0x100000, 0, 0, 1 };
	say(" idmap %r", sys(__NR_mount_setattr, AT_FDCWD, "/n/b", 0, &a, sizeof a));
	a = (struct mount_attr){ 1, 0, 0, 0 };
	say(" no mount %r flags %r\n", sys(__NR_mount_setattr, AT_FDCWD, "/n", 0, &a, sizeof a), sys(__NR_mount_setattr, AT_FDCWD, "/n/b", 0x40, &a, sizeof a));
	long p = sys(__NR_fspick, AT_FDCWD, "/n/b", 0);
	say("pick %s ro %r", p > 0 ? "yes" : "no", sys(__NR_fsconfig, p, 0, "ro", 0, 0));
	say(" reconfigure %r", sys(__NR_fsconfig, p, 7, 0, 0, 0));
	say(" mkdir %r directory %r\n", md("/n/a/new"), sys(__NR_fspick, AT_FDCWD, "/n/a/in", 0));
	show("end", "/n");
	say("umount %r %r\n", sys(__NR_umount2, "/n/b", 0), sys(__NR_umount2, "/n/a", 2));
}

static void less(void)
{
	md("/pp"), md("/pp/a"), md("/q");
	mnt("t", "/pp", "tmpfs", MS_NOSUID | MS_NOEXEC, 0);
	md("/pp/a");
	mnt("t", "/pp/a", "tmpfs", MS_RDONLY, 0);
	mnt(0, "/pp", 0, MS_SHARED, 0);
	long pid = fork();
	if (!pid) {
		say("unshare %r\n", sys(__NR_unshare, 0x10000000 | 0x20000));
		show("less", "/pp");
		say("rw %r", mnt(0, "/pp/a", 0, MS_REMOUNT | MS_BIND, 0));
		say(" exec %r", mnt(0, "/pp", 0, MS_REMOUNT | MS_BIND | MS_NOSUID, 0));
		say(" stricter %r", mnt(0, "/pp", 0, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NOEXEC | MS_NODEV, 0));
		say(" noatime %r", mnt(0, "/pp", 0, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NOEXEC | MS_NODEV | MS_NOATIME, 0));
		say(" umount %r", sys(__NR_umount2, "/pp/a", 0));
		say(" tmpfs %r", mnt("t", "/q", "tmpfs", 0, 0));
		say(" debugfs %r", mnt("t", "/q", "debugfs", 0, 0));
		say(" proc %r\n", mnt("t", "/q", "proc", 0, 0));
		show("after", "/q");
		leave(0);
	}
	wait_for(pid);
	show("outside", "/q");
	mnt("t", "/q", "tmpfs", 256, 0);
	sys(__NR_symlinkat, "/pp", AT_FDCWD, "/q/link");
	say("nosymfollow %r\n", sys(__NR_openat, AT_FDCWD, "/q/link/a", O_RDONLY, 0));
	show("flag", "/q");
}

int main(int argc, char **argv)
{
	propagation();
	pieces();
	less();
	return 0;
}
