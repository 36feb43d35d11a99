/* inotify, extended attributes, splice and its kin. */
#include "tiny.h"
#include <linux/inotify.h>
#include <linux/uio.h>

#define at(name, ...) sys(__NR_##name##at, AT_FDCWD, __VA_ARGS__)

static void show(const char *what, long fd)
{
	static char buf[4096];
	long n = sys(__NR_read, fd, buf, sizeof(buf)), i = 0;
	say("%s:", what);
	if (n < 0)
		say(" %r", n);
	while (i < n) {
		struct inotify_event *e = (void *)(buf + i);
		say(" [%d %x", e->wd, (long)e->mask);
		if (e->len)
			say(" %s %d", e->name, (int)e->len);
		if (e->cookie)
			say(" cookie");
		say("]");
		i += sizeof(*e) + e->len;
	}
	say("\n");
}

static void notifications(void)
{
	static char buf[4096];
	long fd = sys(__NR_inotify_init1, IN_NONBLOCK), file, wd;
	at(mkdir, "/tmp/w", 0755);
	wd = sys(__NR_inotify_add_watch, fd, "/tmp/w", IN_ALL_EVENTS);
	say("watch %r\n", wd);
	say("again %r\n", sys(__NR_inotify_add_watch, fd, "/tmp/w", IN_ALL_EVENTS));
	say("create %r\n", sys(__NR_inotify_add_watch, fd, "/tmp/w", IN_ALL_EVENTS | IN_MASK_CREATE));
	say("nothing %r none %r\n", sys(__NR_inotify_add_watch, fd, "/tmp/w", 0), sys(__NR_inotify_add_watch, fd, "/nowhere", IN_OPEN));
	show("empty", fd);
	file = at(open, "/tmp/w/file", O_CREAT | O_RDWR, 0644);
	show("create", fd);
	sys(__NR_write, file, "hello", 5);
	sys(__NR_write, file, "hello", 5);
	show("write twice", fd);
	sys(__NR_lseek, file, 0, 0);
	sys(__NR_read, file, buf, 5);
	show("read", fd);
	sys(__NR_ftruncate, file, 3);
	sys(__NR_fchmod, file, 0600);
	show("change", fd);
	say("own watch %r\n", sys(__NR_inotify_add_watch, fd, "/tmp/w/file", IN_ALL_EVENTS));
	sys(__NR_close, file);
	show("close", fd);
	at(rename, "/tmp/w/file", AT_FDCWD, "/tmp/w/other");
	show("rename", fd);
	at(link, "/tmp/w/other", AT_FDCWD, "/tmp/w/second", 0);
	show("link", fd);
	at(unlink, "/tmp/w/second", 0);
	show("unlink", fd);
	file = at(open, "/tmp/w/other", O_RDONLY, 0);
	at(unlink, "/tmp/w/other", 0);
	show("unlink open", fd);
	sys(__NR_close, file);
	show("close deleted", fd);
	at(mkdir, "/tmp/w/dir", 0755);
	at(symlink, "dir", AT_FDCWD, 0);
	sys(__NR_symlinkat, "dir", AT_FDCWD, "/tmp/w/sym");
	at(unlink, "/tmp/w/dir", 0x200);
	show("directories", fd);
	at(unlink, "/tmp/w/sym", 0);
	show("symlink", fd);
	say("small buffer");
	file = at(open, "/tmp/w/n", O_CREAT | O_WRONLY | O_TRUNC, 0644);
	say(" %r\n", sys(__NR_read, fd, buf, 10));
	int n = 0;
	say("ioctl %r", sys(__NR_ioctl, fd, 0x541B, &n));
	say(" %d\n", n);
	sys(__NR_close, file);
	show("all", fd);
	say("remove %r\n", sys(__NR_inotify_rm_watch, fd, wd));
	say("again %r\n", sys(__NR_inotify_rm_watch, fd, wd));
	show("removed", fd);
	wd = sys(__NR_inotify_add_watch, fd, "/tmp/w", IN_DELETE_SELF | IN_ONLYDIR);
	say("file %r\n", sys(__NR_inotify_add_watch, fd, "/tmp/w/n", IN_OPEN | IN_ONLYDIR));
	at(unlink, "/tmp/w/n", 0);
	at(unlink, "/tmp/w", 0x200);
	show("directory gone", fd);
	say("bad flags %r not one %r closed %r\n", sys(__NR_inotify_init1, 1), sys(__NR_inotify_rm_watch, 0, 1), sys(__NR_inotify_rm_watch, 99, 1));
	spit("/tmp/once", "x");
	sys(__NR_inotify_add_watch, fd, "/tmp/once", IN_OPEN | IN_ONESHOT);
	slurp("/tmp/once", buf, 100);
	slurp("/tmp/once", buf, 100);
	show("oneshot", fd);
	slurp("/proc/sys/fs/inotify/max_queued_events", buf, 100);
	say("queue %s", buf);
}

static void attributes(void)
{
	char buf[200];
	long n;
	sys(__NR_mkdirat, AT_FDCWD, "/tmp/t", 0755);
	say("mount %r\n", sys(__NR_mount, "none", "/tmp/t", "tmpfs", 0, 0));
	spit("/tmp/t/a", "x");
	say("set %r\n", sys(__NR_setxattr, "/tmp/t/a", "trusted.one", "1234", 4, 0));
	say("set %r\n", sys(__NR_setxattr, "/tmp/t/a", "security.two", "56", 2, 0));
	say("create %r\n", sys(__NR_setxattr, "/tmp/t/a", "trusted.one", "1", 1, 1));
	say("replace %r\n", sys(__NR_setxattr, "/tmp/t/a", "trusted.none", "1", 1, 2));
	say("user %r\n", sys(__NR_setxattr, "/tmp/t/a", "user.x", "1", 1, 0));
	say("kind %r\n", sys(__NR_setxattr, "/tmp/t/a", "what.x", "1", 1, 0));
	say("flags %r\n", sys(__NR_setxattr, "/tmp/t/a", "trusted.x", "1", 1, 4));
	say("bare %r empty %r\n", sys(__NR_setxattr, "/tmp/t/a", "trusted.", "1", 1, 0), sys(__NR_setxattr, "/tmp/t/a", "", "1", 1, 0));
	say("large %r\n", sys(__NR_setxattr, "/tmp/t/a", "trusted.x", buf, 70000, 0));
	memset(buf, 0, sizeof(buf));
	n = sys(__NR_getxattr, "/tmp/t/a", "trusted.one", buf, sizeof(buf));
	say("get %r '%s'\n", n, buf);
	say("size %r small %r missing %r\n", sys(__NR_getxattr, "/tmp/t/a", "trusted.one", 0, 0), sys(__NR_getxattr, "/tmp/t/a", "trusted.one", buf, 2), sys(__NR_getxattr, "/tmp/t/a", "trusted.none", buf, 2));
	n = sys(__NR_listxattr, "/tmp/t/a", buf, sizeof(buf));
	say("list %r:", n);
	for (long i = 0; i < n; i += strlen(buf + i) + 1)
		say(" %s", buf + i);
	say("\nlist small %r size %r\n", sys(__NR_listxattr, "/tmp/t/a", buf, 3), sys(__NR_listxattr, "/tmp/t/a", 0, 0));
	say("remove %r\n", sys(__NR_removexattr, "/tmp/t/a", "trusted.one"));
	say("again %r\n", sys(__NR_removexattr, "/tmp/t/a", "trusted.one"));
	long fd = sys(__NR_openat, AT_FDCWD, "/tmp/t/a", O_RDONLY, 0);
	say("by descriptor %r\n", sys(__NR_fgetxattr, fd, "security.two", buf, sizeof(buf)));
	long pid = fork();
	if (!pid) {
		sys(__NR_setxattr, "/tmp/t/a", "trusted.secret", "1", 1, 0);
		sys(__NR_setresuid, 1000, 1000, 1000);
		say("set %r\n", sys(__NR_setxattr, "/tmp/t/a", "trusted.one", "1", 1, 0));
		say("get %r\n", sys(__NR_getxattr, "/tmp/t/a", "trusted.secret", buf, 10));
		say("list %r\n", sys(__NR_listxattr, "/tmp/t/a", buf, 100));
		leave(0);
	}
	wait_for(pid);
}

static void pipes(void)
{
	static char buf[200];
	int a[2], b[2];
	struct iovec v[2] = { { "abc", 3 }, { "defg", 4 } };
	sys(__NR_pipe2, a, 0);
	sys(__NR_pipe2, b, 0);
	say("vmsplice %r\n", sys(__NR_vmsplice, a[1], v, 2, 0));
	say("tee %r\n", sys(__NR_tee, a[0], b[1], 5, 0));
	say("wrong ends %r\n", sys(__NR_tee, a[1], b[0], 5, 0));
	say("self %r flags %r none %r\n", sys(__NR_tee, a[0], a[1], 5, 0), sys(__NR_tee, a[0], b[1], 5, 16), sys(__NR_tee, a[0], b[1], 0, 0));
	say("splice %r\n", sys(__NR_splice, a[0], 0, b[1], 0, 2, 0));
	memset(buf, 0, sizeof(buf));
	say("read b %r", sys(__NR_read, b[0], buf, 100));
	say(" '%s'\n", buf);
	memset(buf, 0, sizeof(buf));
	v[0].iov_base = buf, v[0].iov_len = 100;
	say("vmsplice out %r", sys(__NR_vmsplice, a[0], v, 1, 0));
	say(" '%s'\n", buf);
	say("empty %r\n", sys(__NR_tee, a[0], b[1], 5, 2));
	say("empty %r\n", sys(__NR_splice, a[0], 0, b[1], 0, 5, 2));
	spit("/tmp/s", "0123456789");
	long fd = sys(__NR_openat, AT_FDCWD, "/tmp/s", O_RDWR, 0);
	long long off = 4;
	say("from file %r", sys(__NR_splice, fd, &off, a[1], 0, 3, 0));
	say(" off %L\n", off);
	say("offset of a pipe %r\n", sys(__NR_splice, a[0], &off, fd, 0, 3, 0));
	say("no pipe %r\n", sys(__NR_splice, fd, 0, fd, 0, 3, 0));
	off = 8;
	say("to file %r", sys(__NR_splice, a[0], 0, fd, &off, 100, 0));
	say(" off %L\n", off);
	slurp("/tmp/s", buf, 100);
	say("file '%s'\n", buf);
	sys(__NR_close, a[1]);
	say("end %r\n", sys(__NR_splice, a[0], 0, b[1], 0, 5, 0));
	say("vmsplice file %r closed %r\n", sys(__NR_vmsplice, fd, v, 1, 0), sys(__NR_vmsplice, 99, v, 1, 0));
}

int main(int argc, char **argv)
{
	sys(__NR_mkdirat, AT_FDCWD, "/tmp", 0777);
	notifications();
	attributes();
	pipes();
	return 0;
}
