/* inotify: every mask bit alone, what each call tells, moves and their cookies, reads of every size, limits, one-shot, joined events, /proc. */
#include "tiny.h"
#include <linux/inotify.h>
#ifndef __NR_setresuid32
#define __NR_setresuid32 __NR_setresuid
#endif
static long sign(long v) { return v < 0 ? v : 0; }
static char buffer[65536], text[4096];
static long fd, wds[16];
static unsigned cookies[16];
static int number(long wd) { for (int i = 0; i < 16; i++) if (wds[i] == wd) return i; return -1; }
static int cookie(unsigned c)
{
	if (!c) return 0;
	for (int i = 0; i < 15; i++) {
		if (cookies[i] == c) return i + 1;
		if (!cookies[i]) { cookies[i] = c; return i + 1; }
	}
	return 99;
}
static void events(const char *what)
{
	long n = sys(__NR_read, fd, buffer, sizeof(buffer));
	say("%s:", what);
	if (n < 0) say(" %r", n);
	memset(cookies, 0, sizeof(cookies));
	for (long at = 0; at < n;) {
		struct inotify_event *e = (void *)(buffer + at);
		say(" [%d %x %d %s/%d]", number(e->wd), (long)e->mask, cookie(e->cookie), !e->len ? "" : e->name[0] == '#' ? "#" : e->name, (int)e->len);
		at += sizeof(*e) + e->len;
	}
	say("\n");
}
static void act(int i)
{
	long f;
	switch (i) {
	case 0: sys(__NR_close, sys(__NR_openat, AT_FDCWD, "/w/d/f", O_CREAT | O_RDWR, 0644)); break;
	case 1: spit("/w/d/f", "abc"); break;
	case 2: slurp("/w/d/f", text, 100); break;
	case 3: sys(__NR_fchmodat, AT_FDCWD, "/w/d/f", 0600); break;
	case 4: sys(__NR_truncate, "/w/d/f", 1); break;
	case 5: sys(__NR_linkat, AT_FDCWD, "/w/d/f", AT_FDCWD, "/w/d/l", 0); break;
	case 6: sys(__NR_renameat2, AT_FDCWD, "/w/d/f", AT_FDCWD, "/w/d/g", 0); break;
	case 7: sys(__NR_renameat2, AT_FDCWD, "/w/d/g", AT_FDCWD, "/w/e/g", 0); break;
	case 8: sys(__NR_renameat2, AT_FDCWD, "/w/e/g", AT_FDCWD, "/w/d/l", 0); break;
	case 9: sys(__NR_mkdirat, AT_FDCWD, "/w/d/s", 0755); break;
	case 10: sys(__NR_symlinkat, "l", AT_FDCWD, "/w/d/y"); break;
	case 11: f = sys(__NR_openat, AT_FDCWD, "/w/d", O_RDONLY | O_DIRECTORY, 0), sys(__NR_getdents64, f, text, 4096), sys(__NR_close, f); break;
	case 12: f = sys(__NR_openat, AT_FDCWD, "/w/d/l", O_RDWR, 0), sys(__NR_pwrite64, f, "z", 1, 0), sys(__NR_pread64, f, text, 1, 0), sys(__NR_ftruncate, f, 9), sys(__NR_fchmod, f, 0644), sys(__NR_close, f); break;
	case 13: sys(__NR_utimensat, AT_FDCWD, "/w/d/l", 0, 0); break;
	case 14: sys(__NR_renameat2, AT_FDCWD, "/w/d/l", AT_FDCWD, "/w/e/x", 2); break;
	case 15: sys(__NR_renameat2, AT_FDCWD, "/w/d/s", AT_FDCWD, "/w/e/s", 0); break;
	case 16: sys(__NR_mknodat, AT_FDCWD, "/w/d/p", 0010644, 0); break;
	case 17: f = sys(__NR_openat, AT_FDCWD, "/w/d/p", O_RDWR | O_NONBLOCK, 0), sys(__NR_write, f, "q", 1), sys(__NR_read, f, text, 1), sys(__NR_close, f); break;
	case 18: f = sys(__NR_openat, AT_FDCWD, "/w/d/l", O_PATH, 0), sys(__NR_close, f); break;
	case 19: f = sys(__NR_openat, AT_FDCWD, "/w/d/l", O_RDWR, 0); { char *m = map(0, 4096, 3, 1, f, 0); if (!bad(m)) m[0] = 1, sys(__NR_munmap, m, 4096); } sys(__NR_close, f); break;
	case 20: f = sys(__NR_openat, AT_FDCWD, "/w/d/l", O_RDWR, 0), sys(__NR_fallocate, f, 0, 0, 100), sys(__NR_fsync, f), sys(__NR_close, f); break;
	case 21: sys(__NR_unlinkat, AT_FDCWD, "/w/d/y", 0); break;
	case 22: sys(__NR_unlinkat, AT_FDCWD, "/w/d/p", 0); break;
	case 23: f = sys(__NR_openat, AT_FDCWD, "/w/d/l", O_RDWR, 0), sys(__NR_unlinkat, AT_FDCWD, "/w/d/l", 0), sys(__NR_write, f, "x", 1), sys(__NR_close, f); break;
	case 24: sys(__NR_setxattr, "/w/d", "trusted.a", "b", 1, 0); break;
	case 25: sys(__NR_fchmodat, AT_FDCWD, "/w/d", 0700); break;
	case 26: sys(__NR_renameat2, AT_FDCWD, "/w/d", AT_FDCWD, "/w/dd", 0), sys(__NR_renameat2, AT_FDCWD, "/w/dd", AT_FDCWD, "/w/d", 0); break;
	case 27: f = sys(__NR_openat, AT_FDCWD, "/w/d", 020200000 | O_RDWR, 0600), sys(__NR_write, f, "t", 1), sys(__NR_close, f); break;
	case 28: sys(__NR_faccessat, AT_FDCWD, "/w/d/none", 0), sys(__NR_openat, AT_FDCWD, "/w/d/none", 0, 0), sys(__NR_statx, AT_FDCWD, "/w/d", 0, 0, text); break;
	case 29: sys(__NR_unlinkat, AT_FDCWD, "/w/e/x", 0), sys(__NR_unlinkat, AT_FDCWD, "/w/e/s", 0x200); break;
	case 30: sys(__NR_unlinkat, AT_FDCWD, "/w/d", 0x200); break;
	}
}
static void tree(void)
{
	static const char *const gone[] = { "/w/d/f", "/w/d/g", "/w/d/l", "/w/d/y", "/w/d/p", "/w/e/g", "/w/e/x", "/w/e/l" };
	for (int i = 0; i < 8; i++) sys(__NR_unlinkat, AT_FDCWD, gone[i], 0);
	sys(__NR_unlinkat, AT_FDCWD, "/w/d/s", 0x200), sys(__NR_unlinkat, AT_FDCWD, "/w/e/s", 0x200);
	sys(__NR_mkdirat, AT_FDCWD, "/w", 0755), sys(__NR_mkdirat, AT_FDCWD, "/w/d", 0755), sys(__NR_mkdirat, AT_FDCWD, "/w/e", 0755), spit("/w/e/x", "other");
}
static void start_watch(void) { fd = sys(__NR_inotify_init1, O_NONBLOCK); memset(wds, 0xff, sizeof(wds)); }
int main(int argc, char **argv)
{
	char name[16];
	sys(__NR_mount, "t", "/mnt", "tmpfs", 0, 0);
	for (int b = 0; b < 32; b++) {
		long r = sys(__NR_inotify_init1, 1L << b);
		if (r != -EINVAL) say("init %x: %r fl %x fd %r\n", 1L << b, sign(r), sys(__NR_fcntl, r, 3, 0), sys(__NR_fcntl, r, 1, 0)), sys(__NR_close, r);
	}
	tree(), start_watch();
	spit("/w/d/f", "x");
	for (int b = 0; b < 32; b++) say("mask bit %d: directory %r file %r\n", b, sign(sys(__NR_inotify_add_watch, fd, "/w/d", 1U << b)), sign(sys(__NR_inotify_add_watch, fd, "/w/d/f", 1U << b)));
	say("none %r all %r onlydir file %r create again %r create and add %r only flags %r\n", sys(__NR_inotify_add_watch, fd, "/w/d", 0), sign(sys(__NR_inotify_add_watch, fd, "/w/d", 0xfff)), sys(__NR_inotify_add_watch, fd, "/w/d/f", 0x01000fff), sys(__NR_inotify_add_watch, fd, "/w/d", 0x10000fff), sys(__NR_inotify_add_watch, fd, "/w/d", 0x30000fff), sys(__NR_inotify_add_watch, fd, "/w/d", 0x80000000));
	say("missing %r null %r empty %r fd -1 %r stdout %r long %r loop %r nofollow %r\n", sys(__NR_inotify_add_watch, fd, "/w/none", 1), sys(__NR_inotify_add_watch, fd, 0, 1), sys(__NR_inotify_add_watch, fd, "", 1), sys(__NR_inotify_add_watch, -1, "/w", 1), sys(__NR_inotify_add_watch, 1, "/w", 1), (memset(text, 'a', 4095), text[4095] = 0, sys(__NR_inotify_add_watch, fd, text, 1)), (sys(__NR_symlinkat, "y", AT_FDCWD, "/w/d/y"), sys(__NR_inotify_add_watch, fd, "/w/d/y", 1)), sign(sys(__NR_inotify_add_watch, fd, "/w/d/y", 0x02000001)));
	say("rm: -1 %r 0 %r 999 %r fd -1 %r stdout %r", sys(__NR_inotify_rm_watch, fd, -1), sys(__NR_inotify_rm_watch, fd, 0), sys(__NR_inotify_rm_watch, fd, 999), sys(__NR_inotify_rm_watch, -1, 1), sys(__NR_inotify_rm_watch, 1, 1));
	say(" write %r lseek %r pread %r\n", sys(__NR_write, fd, "x", 1), sys(__NR_lseek, fd, 0, 0), sys(__NR_pread64, fd, text, 10, 0));
	sys(__NR_close, fd);
	/* everything, seen from the directory, the file, both */
	for (int way = 0; way < 4; way++) {
		tree(), start_watch();
		say("way %d\n", way);
		if (way != 1) wds[1] = sys(__NR_inotify_add_watch, fd, "/w/d", way == 3 ? 0x04000fff : 0xfff);
		if (way == 2) wds[2] = sys(__NR_inotify_add_watch, fd, "/w/e", 0xfff), wds[3] = sys(__NR_inotify_add_watch, fd, "/w", 0xfff);
		for (int i = 0; i < 31; i++) {
			act(i);
			if (i == 0 && way) wds[4] = sys(__NR_inotify_add_watch, fd, "/w/d/f", 0xfff);
			name[0] = 'a', name[1] = '0' + i / 10, name[2] = '0' + i % 10, name[3] = 0;
			events(name);
		}
		sys(__NR_close, fd);
	}
	/* one bit at a time */
	for (int b = 0; b < 12; b++) {
		tree(), start_watch();
		wds[1] = sys(__NR_inotify_add_watch, fd, "/w/d", 1 << b);
		for (int i = 0; i < 31; i++) act(i);
		name[0] = 'b', name[1] = '0' + b / 10, name[2] = '0' + b % 10, name[3] = 0;
		events(name);
		sys(__NR_close, fd);
	}
	/* reads */
	tree(), start_watch();
	spit("/w/d/f", "x");
	wds[1] = sys(__NR_inotify_add_watch, fd, "/w/d", 0x20), wds[2] = sys(__NR_inotify_add_watch, fd, "/w/d/f", 0x20);
	sys(__NR_close, sys(__NR_openat, AT_FDCWD, "/w/d/f", 0, 0)), sys(__NR_close, sys(__NR_openat, AT_FDCWD, "/w/d/f", 0, 0));
	int ready = -1;
	say("ready %r %d", sys(__NR_ioctl, fd, 0x541B, &ready), ready);
	static const int sizes[] = { 0, 1, 15, 16, 31, 32, 47, 48 };
	for (int i = 0; i < 8; i++) say(" %d %r", sizes[i], sys(__NR_read, fd, buffer, sizes[i]));
	say(" ready %r %d bad %r poll %x", sys(__NR_ioctl, fd, 0x541B, &ready), ready, sys(__NR_read, fd, 8, 100), (long)polled((int)fd, 0xffff));
	events(" rest");
	say("poll %x next watch %r 0 %r -1 %r", (long)polled((int)fd, 0xffff), sys(__NR_ioctl, fd, 0x40044900, 77), sys(__NR_ioctl, fd, 0x40044900, 0), sys(__NR_ioctl, fd, 0x40044900, -1));
	say(" same %d", sys(__NR_inotify_add_watch, fd, "/w/e", 1) == 77);
	say(" add to it %r", sign(sys(__NR_inotify_add_watch, fd, "/w/e", 0x20000002)));
	spit("/w/e/x", "y"), slurp("/w/e/x", text, 10);
	wds[5] = 77, events(" both");
	sys(__NR_inotify_add_watch, fd, "/w/e", 0x80000002);
	spit("/w/e/x", "y"), spit("/w/e/x", "y"), events("one shot");
	say("removed already %r rm %r", sys(__NR_inotify_rm_watch, fd, 77), sys(__NR_inotify_rm_watch, fd, wds[1])), events(" ignored");
	sys(__NR_close, fd);
	/* equal events in a row are one; the queue's end */
	start_watch();
	wds[1] = sys(__NR_inotify_add_watch, fd, "/w/d", 0xfff);
	for (int i = 0; i < 4; i++) sys(__NR_fchmodat, AT_FDCWD, "/w/d/f", 0600 + i);
	sys(__NR_fchmodat, AT_FDCWD, "/w/d", 0711), sys(__NR_fchmodat, AT_FDCWD, "/w/d/f", 0600);
	events("joined");
	spit("/proc/sys/fs/inotify/max_queued_events", "3");
	sys(__NR_close, fd), start_watch(), wds[1] = sys(__NR_inotify_add_watch, fd, "/w/d", 0xfff);
	for (int i = 0; i < 6; i++) act(0), act(3);
	events("overflow"), act(2), events("then");
	spit("/proc/sys/fs/inotify/max_queued_events", "16384");
	/* file systems that go */
	sys(__NR_mkdirat, AT_FDCWD, "/w/m", 0755), sys(__NR_mount, "t", "/w/m", "tmpfs", 0, 0), spit("/w/m/f", "x");
	wds[6] = sys(__NR_inotify_add_watch, fd, "/w/m/f", 0xfff), wds[7] = sys(__NR_inotify_add_watch, fd, "/w/m", 0xfff);
	say("umount %r", sys(__NR_umount2, "/w/m", 0)), events(" told");
	say("stale %r %r\n", sys(__NR_inotify_rm_watch, fd, wds[6]), sys(__NR_inotify_rm_watch, fd, wds[7]));
	static const char *const knobs[] = { "max_queued_events", "max_user_instances", "max_user_watches" };
	for (int i = 0; i < 2; i++) {
		memcpy(text, "/proc/sys/fs/inotify/", 21), memcpy(text + 21, knobs[i], strlen(knobs[i]) + 1);
		char path[64];
		memcpy(path, text, 64);
		slurp(path, text, 100);
		say("%s %s", knobs[i], text);
		say(" -1 %r 0 %r big %r word %r", spit(path, "-1"), spit(path, "0"), spit(path, "2147483648"), spit(path, "x"));
		long r = sys(__NR_inotify_init1, 0);
		say(" init %r", sign(r)), sys(__NR_close, r);
		say(" back %r\n", spit(path, i == 0 ? "16384" : "128"));
	}
	/* a user's limits */
	sys(__NR_mkdirat, AT_FDCWD, "/w/secret", 0700);
	long pid = fork();
	if (!pid) {
		int made = 0;
		spit("/proc/sys/fs/inotify/max_user_instances", "5");
		sys(__NR_setresuid32, 1000, 1000, 1000);
		while (sys(__NR_inotify_init1, 0) >= 0) made++;
		say("instances %d then %r not readable %r", made, sys(__NR_inotify_init1, 0), sys(__NR_inotify_add_watch, 4, "/w/secret", 1));
		say("\n");
		leave(0);
	}
	wait_for(pid);
	spit("/proc/sys/fs/inotify/max_user_instances", "128");
	sys(__NR_close, fd), start_watch();
	sys(__NR_inotify_add_watch, fd, "/w/d", 0xfff), sys(__NR_inotify_add_watch, fd, "/w/e", 0x85000002), sys(__NR_inotify_add_watch, fd, "/proc", 0x2000001);
	char path[40] = "/proc/self/fdinfo/";
	int n = 18;
	if (fd > 9) path[n++] = '0' + fd / 10;
	path[n++] = '0' + fd % 10, path[n] = 0;
	slurp(path, text, sizeof(text));
	for (char *p = text; *p;) {
		char *e = p;
		while (*e && *e != '\n') e++;
		*e = 0;
		if (!memcmp(p, "inotify", 7)) {
			for (char *q = p; *q;) {
				char *w = q;
				while (*q && *q != ' ') q++;
				char had = *q;
				*q = 0;
				if (memcmp(w, "ino:", 4) && memcmp(w, "sdev:", 5) && memcmp(w, "f_handle:", 9)) say("%s ", w);
				*q = had;
				while (*q == ' ') q++;
			}
			say("\n");
		}
		p = e + 1;
	}
	return 0;
}
