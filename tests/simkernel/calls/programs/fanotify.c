/* fanotify: marks on files, mounts and file systems, events with descriptors and with handles, permission events. */
#include "tiny.h"
#include <linux/fanotify.h>
#include <linux/mount.h>
#define at(name, ...) sys(__NR_##name##at, AT_FDCWD, __VA_ARGS__)
static int fan;

static long init(long flags, long event) { return sys(__NR_fanotify_init, flags, event); }
static long mark(int fd, long flags, unsigned long long mask, int dfd, const char *path)
{
#if defined(__i386__)
	return sys(__NR_fanotify_mark, fd, flags, (unsigned long)mask, (unsigned long)(mask >> 32), dfd, path);
#else
	return sys(__NR_fanotify_mark, fd, flags, mask, dfd, path);
#endif
}

static void show(const char *what, int fd)
{
	static char buf[4096], name[128], link[40];
	long n = sys(__NR_read, fd, buf, sizeof(buf)), i = 0;
	say("%s:", what);
	if (n < 0)
		say(" %r", n);
	while (i < n) {
		struct fanotify_event_metadata *e = (void *)(buf + i);
		say(" [%x", (long)e->mask);
		if (e->vers != 3 || e->metadata_len != 24)
			say(" version %d %d", e->vers, e->metadata_len);
		if (e->pid != sys(__NR_getpid))
			say(" other");
		if (e->fd >= 0) {
			long len, at = 14;
			memcpy(link, "/proc/self/fd/", 14);
			if (e->fd > 9)
				link[at++] = '0' + e->fd / 10;
			link[at++] = '0' + e->fd % 10, link[at] = 0;
			len = sys(__NR_readlinkat, AT_FDCWD, link, name, sizeof(name) - 1);
			name[len > 0 ? len : 0] = 0;
			say(" %s %x", name, sys(__NR_fcntl, e->fd, 3) & 3);
			sys(__NR_close, e->fd);
		} else
			say(" fd %d", e->fd);
		for (long at = 24; at < e->event_len;) {
			struct fanotify_event_info_fid *r = (void *)(buf + i + at);
			struct { unsigned bytes; int type; unsigned words[3]; char name[]; } *h = (void *)r->handle;
			say(" {%d %d", r->hdr.info_type, r->hdr.len);
			if (r->hdr.info_type != FAN_EVENT_INFO_TYPE_PIDFD)
				say(" handle %d %d", h->bytes, h->type);
			else
				sys(__NR_close, ((int *)r)[1]);
			if (r->hdr.info_type == 2 || r->hdr.info_type >= 10)
				say(" %s", h->name);
			say("}");
			at += r->hdr.len;
		}
		say("]");
		i += e->event_len;
	}
	say("\n");
}

static void refusals(void)
{
	say("init %r %r %r %r", init(0x10000, 0), init(0, 3), init(FAN_CLASS_CONTENT | FAN_CLASS_PRE_CONTENT, 0), init(FAN_CLASS_CONTENT | FAN_REPORT_FID, 0));
	say(" %r %r %r %r\n", init(FAN_REPORT_NAME, 0), init(FAN_REPORT_TARGET_FID | FAN_REPORT_FID, 0), init(FAN_REPORT_PIDFD | FAN_REPORT_TID, 0), init(0, 0x40));
	say("mark %r %r", mark(fan, FAN_MARK_ADD, 0, AT_FDCWD, "/mnt/f"), mark(fan, 0, FAN_OPEN, AT_FDCWD, "/mnt/f"));
	say(" %r %r", mark(fan, FAN_MARK_ADD | FAN_MARK_REMOVE, FAN_OPEN, AT_FDCWD, "/mnt/f"), mark(fan, FAN_MARK_ADD, 1ULL << 40, AT_FDCWD, "/mnt/f"));
	say(" %r %r", mark(99, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, "/mnt/f"), mark(1, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, "/mnt/f"));
	say(" %r %r", mark(fan, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, "/mnt/f"), mark(fan, FAN_MARK_ADD, FAN_CREATE, AT_FDCWD, "/mnt/f"));
	say(" %r %r", mark(fan, FAN_MARK_ADD | FAN_MARK_ONLYDIR, FAN_OPEN, AT_FDCWD, "/mnt/f"), mark(fan, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, "/mnt/none"));
	say(" %r %r", mark(fan, FAN_MARK_REMOVE, FAN_OPEN, AT_FDCWD, "/mnt/f"), mark(fan, FAN_MARK_FLUSH | FAN_MARK_ADD, 0, AT_FDCWD, 0));
	say(" %r %r", mark(fan, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, 0), mark(fan, FAN_MARK_ADD | FAN_MARK_MOUNT | FAN_MARK_EVICTABLE, FAN_OPEN, AT_FDCWD, "/mnt"));
	say(" %r %r\n", mark(fan, FAN_MARK_ADD | FAN_MARK_IGNORE, FAN_OPEN, AT_FDCWD, "/mnt"), mark(fan, FAN_MARK_ADD | FAN_MARK_IGNORE | FAN_MARK_IGNORED_MASK, FAN_OPEN, AT_FDCWD, "/mnt/f"));
}

static void touch(const char *path, const char *text)
{
	static char buf[16];
	long fd = at(open, path, O_RDWR | O_CREAT, 0644);
	if (text) {
		sys(__NR_write, fd, text, strlen(text));
		sys(__NR_lseek, fd, 0, 0);
		sys(__NR_read, fd, buf, 4);
	}
	sys(__NR_close, fd);
}

static void descriptors(void)
{
	say("file %r\n", mark(fan, FAN_MARK_ADD, FAN_OPEN | FAN_CLOSE | FAN_MODIFY | FAN_ACCESS, AT_FDCWD, "/mnt/f"));
	show("empty", fan);
	touch("/mnt/f", "text");
	show("used", fan);
	touch("/mnt/f", 0), touch("/mnt/g", 0), touch("/mnt/f", "x");
	show("merged", fan);
	say("less %r", mark(fan, FAN_MARK_REMOVE, FAN_ACCESS | FAN_OPEN | FAN_CLOSE, AT_FDCWD, "/mnt/f"));
	touch("/mnt/f", "text");
	show("", fan);
	say("all gone %r", mark(fan, FAN_MARK_REMOVE, FAN_MODIFY, AT_FDCWD, "/mnt/f"));
	say(" again %r\n", mark(fan, FAN_MARK_REMOVE, FAN_MODIFY, AT_FDCWD, "/mnt/f"));
	say("directory %r\n", mark(fan, FAN_MARK_ADD, FAN_OPEN | FAN_EVENT_ON_CHILD, AT_FDCWD, "/mnt"));
	touch("/mnt/f", 0), touch("/mnt/d/in", 0);
	sys(__NR_close, at(open, "/mnt", O_RDONLY, 0));
	show("children", fan);
	mark(fan, FAN_MARK_ADD, FAN_ONDIR, AT_FDCWD, "/mnt");
	sys(__NR_close, at(open, "/mnt", O_RDONLY, 0));
	sys(__NR_close, at(open, "/mnt/d", O_RDONLY, 0));
	show("directories", fan);
	say("ignored %r", mark(fan, FAN_MARK_ADD | FAN_MARK_IGNORED_MASK, FAN_OPEN, AT_FDCWD, "/mnt/f"));
	touch("/mnt/f", 0), touch("/mnt/g", 0);
	show("", fan);
	touch("/mnt/f", "more"), touch("/mnt/f", 0);
	show("modified", fan);
	say("survives %r", mark(fan, FAN_MARK_ADD | FAN_MARK_IGNORED_MASK | FAN_MARK_IGNORED_SURV_MODIFY, FAN_OPEN, AT_FDCWD, "/mnt/f"));
	touch("/mnt/f", "more"), touch("/mnt/f", 0);
	show("", fan);
	say("flush %r", mark(fan, FAN_MARK_FLUSH, 0, AT_FDCWD, 0));
	touch("/mnt/f", 0);
	show("", fan);
	say("mount %r", mark(fan, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_CLOSE_WRITE | FAN_OPEN_EXEC, AT_FDCWD, "/mnt"));
	touch("/mnt/d/in", 0), touch("/tmp/out", 0);
	show("", fan);
	say("system %r", mark(fan, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN, AT_FDCWD, "/mnt/d"));
	touch("/mnt/d/in", 0), touch("/tmp/out", 0);
	show("", fan);
	mark(fan, FAN_MARK_FLUSH | FAN_MARK_MOUNT, 0, AT_FDCWD, 0);
	touch("/mnt/d/in", 0);
	show("without mount", fan);
	mark(fan, FAN_MARK_FLUSH | FAN_MARK_FILESYSTEM, 0, AT_FDCWD, 0);
	if (!fork()) {
		mark(fan, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, "/mnt/f");
		touch("/mnt/f", 0);
		leave(0);
	}
	wait_for(-1);
	touch("/mnt/f", 0);
	show("from two", fan);
	at(open, "/mnt/f", O_RDONLY, 0);
	{
		char small[20];
		say("too small %r\n", sys(__NR_read, fan, small, 20));
	}
	at(unlink, "/mnt/f", 0);
	show("unlinked", fan);
	say("write %r\n", sys(__NR_write, fan, "12345678", 8));
	sys(__NR_close, fan);
}

static void handles(long flags, const char *what)
{
	long fd = init(flags | FAN_NONBLOCK, 0);
	say("-- %s %s\n", what, fd > 2 ? "fd" : "none");
	say("mark %r", mark(fd, FAN_MARK_ADD, FAN_OPEN | FAN_CREATE | FAN_DELETE | FAN_MOVE | FAN_ATTRIB | FAN_DELETE_SELF | FAN_MOVE_SELF | FAN_ONDIR | FAN_EVENT_ON_CHILD, AT_FDCWD, "/mnt"));
	say(" rename %r mount %r\n", mark(fd, FAN_MARK_ADD, FAN_RENAME, AT_FDCWD, "/mnt"), mark(fd, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_CREATE, AT_FDCWD, "/mnt"));
	touch("/mnt/new", 0);
	show("create", fd);
	at(mkdir, "/mnt/newdir", 0755);
	show("mkdir", fd);
	sys(__NR_close, at(open, "/mnt", O_RDONLY, 0));
	sys(__NR_close, at(open, "/mnt/newdir", O_RDONLY, 0));
	show("open", fd);
	sys(__NR_fchmodat, AT_FDCWD, "/mnt/new", 0600);
	show("chmod", fd);
	at(rename, "/mnt/new", AT_FDCWD, "/mnt/moved");
	show("rename", fd);
	at(rename, "/mnt/moved", AT_FDCWD, "/mnt/newdir/moved");
	show("away", fd);
	at(unlink, "/mnt/newdir/moved", 0);
	at(unlink, "/mnt/newdir", 0x200);
	show("rmdir", fd);
	mark(fd, FAN_MARK_FLUSH, 0, AT_FDCWD, 0);
	at(mkdir, "/mnt/e", 0755), touch("/mnt/e/f", 0);
	mark(fd, FAN_MARK_ADD, FAN_OPEN | FAN_ATTRIB | FAN_DELETE_SELF | FAN_MOVE_SELF, AT_FDCWD, "/mnt/e/f");
	touch("/mnt/e/f", 0);
	show("of a file", fd);
	at(rename, "/mnt/e/f", AT_FDCWD, "/mnt/e/g");
	show("moved", fd);
	at(unlink, "/mnt/e/g", 0), at(unlink, "/mnt/e", 0x200);
	show("deleted", fd);
	sys(__NR_close, fd);
}

static void permission(void)
{
	static char buf[4096];
	long fd = init(FAN_CLASS_CONTENT, 0), child, n, got;
	touch("/mnt/p", "text"), touch("/mnt/q", "text");
	say("perm %r %r\n", mark(fd, FAN_MARK_ADD, FAN_OPEN_PERM | FAN_ACCESS_PERM, AT_FDCWD, "/mnt/p"), mark(fd, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, "/mnt/q"));
	child = fork();
	if (!child) {
		sys(__NR_close, fd);
		long p = at(open, "/mnt/p", O_RDONLY, 0), q;
		long one = sys(__NR_read, p, buf, 4), two = sys(__NR_read, p, buf, 4);
		q = at(open, "/mnt/q", O_RDONLY, 0);
		nap(50);
		say("child p %s read %r again %r q %r\n", p >= 0 ? "open" : error_name(-p), one, two, q);
		leave(0);
	}
	for (int i = 0; i < 4; i++) {
		struct { int fd; unsigned response; } answer;
		struct fanotify_event_metadata *e = (void *)buf;
		n = sys(__NR_read, fd, buf, sizeof(buf));
		answer.fd = e->fd, answer.response = i == 1 || i == 3 ? FAN_DENY : FAN_ALLOW;
		if (!i) {
			answer.response = 9;
			say("bad answer %r", sys(__NR_write, fd, &answer, 8));
			answer.response = FAN_ALLOW, answer.fd = 77;
			say(" of no event %r", sys(__NR_write, fd, &answer, 8));
			say(" short %r\n", sys(__NR_write, fd, &answer, 7));
			answer.fd = e->fd;
		}
		got = sys(__NR_write, fd, &answer, 8);
		say("asked %l %x %d answer %r\n", n, (long)e->mask, e->pid == child, got);
		sys(__NR_close, e->fd);
		nap(20);
	}
	wait_for(child);
	/* who closes the group lets all go on */
	child = fork();
	if (!child) {
		sys(__NR_close, fd);
		say("let go %d\n", at(open, "/mnt/q", O_RDONLY, 0) >= 0);
		leave(0);
	}
	nap(20);
	sys(__NR_close, fd);
	wait_for(child);
}

int main(int argc, char **argv)
{
	static char text[512];
	at(mkdir, "/mnt", 0755);
	say("mounted %r\n", sys(__NR_mount, "none", "/mnt", "tmpfs", 0, 0));
	at(mkdir, "/mnt/d", 0755);
	touch("/mnt/f", "text");
	fan = init(FAN_NONBLOCK, O_RDONLY);
	refusals();
	descriptors();
	handles(FAN_REPORT_FID, "fid");
	handles(FAN_REPORT_DFID_NAME, "dfid name");
	handles(FAN_REPORT_DIR_FID | FAN_REPORT_FID, "dfid and fid");
	handles(FAN_REPORT_DFID_NAME_TARGET, "all");
	permission();
	slurp("/proc/sys/fs/fanotify/max_queued_events", text, 512), say("%s", text);
	slurp("/proc/sys/fs/fanotify/max_user_groups", text, 512), say("%s", text);
	fan = init(FAN_REPORT_PIDFD | FAN_NONBLOCK, 0);
	mark(fan, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, "/mnt/p");
	touch("/mnt/p", 0);
	show("pidfd", fan);
	return 0;
}
