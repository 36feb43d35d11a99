/* not: i386 s390x */
/* fanotify: every flag of a group and of a mark alone, who may, masks by kind of group, ignored masks, records with names and handles, permission, limits, /proc. */
#include "tiny.h"
#include <linux/fanotify.h>
static long sign(long v) { return v < 0 ? v : 0; }
static char buffer[65536], text[8192];
static long fd;
#define mark(flags, mask, dir, path) sys(__NR_fanotify_mark, fd, flags, mask, dir, path)
static void events(const char *what)
{
	long n = sys(__NR_read, fd, buffer, sizeof(buffer));
	say("%s:", what);
	if (n < 0) say(" %r", n);
	for (long at = 0; at < n;) {
		struct fanotify_event_metadata *m = (void *)(buffer + at);
		say(" [%x len %d vers %d meta %d fd %d pid %d", (long)m->mask, (int)m->event_len, m->vers, m->metadata_len, m->fd >= 0 ? 1 : m->fd, m->pid == sys(__NR_getpid));
		for (long i = at + m->metadata_len; i < at + m->event_len;) {
			struct fanotify_event_info_header *h = (void *)(buffer + i);
			say(" {%d pad %d len %d", h->info_type, h->pad, h->len);
			if (h->info_type == 1 || h->info_type == 2 || h->info_type == 3 || h->info_type == 10 || h->info_type == 12) {
				int *w = (int *)(h + 1);
				say(" handle %d/%x", w[2], (long)w[3]);
				if (h->info_type != 1 && h->info_type != 3) say(" %s", (char *)(w + 4) + w[2]);
			}
			if (h->info_type == 4) say(" pidfd %d", *(int *)(h + 1) >= 0);
			say("}");
			i += h->len;
			if (!h->len) break;
		}
		say("]");
		if (m->fd >= 0) {
			say("<%x>", sys(__NR_fcntl, m->fd, 3, 0));
			sys(__NR_close, m->fd);
		}
		at += m->event_len;
	}
	say("\n");
}
static void acts(void)
{
	long f;
	sys(__NR_close, sys(__NR_openat, AT_FDCWD, "/fw/d/f", O_CREAT | O_RDWR, 0644));
	spit("/fw/d/f", "abc"), slurp("/fw/d/f", text, 10);
	sys(__NR_fchmodat, AT_FDCWD, "/fw/d/f", 0600), sys(__NR_truncate, "/fw/d/f", 1);
	sys(__NR_linkat, AT_FDCWD, "/fw/d/f", AT_FDCWD, "/fw/d/l", 0), sys(__NR_renameat2, AT_FDCWD, "/fw/d/f", AT_FDCWD, "/fw/e/g", 0);
	sys(__NR_mkdirat, AT_FDCWD, "/fw/d/s", 0755), f = sys(__NR_openat, AT_FDCWD, "/fw/d/s", O_RDONLY | O_DIRECTORY, 0), sys(__NR_getdents64, f, text, 1000), sys(__NR_close, f);
	sys(__NR_unlinkat, AT_FDCWD, "/fw/d/l", 0), sys(__NR_unlinkat, AT_FDCWD, "/fw/e/g", 0), sys(__NR_unlinkat, AT_FDCWD, "/fw/d/s", 0x200);
}
int main(int argc, char **argv)
{
	sys(__NR_mkdirat, AT_FDCWD, "/fw", 0755), sys(__NR_mount, "t", "/fw", "tmpfs", 0, 0), sys(__NR_mkdirat, AT_FDCWD, "/fw/d", 0755), sys(__NR_mkdirat, AT_FDCWD, "/fw/e", 0755), spit("/fw/x", "x");
	for (int b = 0; b < 16; b++)
		for (int c = 0; c < 3; c++) {
			long r = sys(__NR_fanotify_init, 1 << b | c << 2, 2);
			say("init %x: %r fl %x fd %r\n", (long)(1 << b | c << 2), sign(r), r < 0 ? 0L : sys(__NR_fcntl, r, 3, 0), r < 0 ? 0L : sys(__NR_fcntl, r, 1, 0)), sys(__NR_close, r);
		}
	static const unsigned pairs[] = { 0xc, 0x280, 0x480, 0x600, 0xa00, 0xe00, 0x1e00, 0x1200, 0xc00, 0x300, 0x380, 0x204, 0x604, 0x10, 0x30, 0x40, 0xc3f, 0x1a00, 0x1600 };
	for (unsigned i = 0; i < sizeof(pairs) / 4; i++) { long r = sys(__NR_fanotify_init, pairs[i], 0); say("init %x: %r\n", (long)pairs[i], sign(r)), sys(__NR_close, r); }
	for (int b = -1; b < 25; b++) { long r = sys(__NR_fanotify_init, 0, b < 0 ? 3 : 1L << b); say("event flags %x: %r\n", b < 0 ? 3L : 1L << b, sign(r)), sys(__NR_close, r); }
	static const unsigned groups[] = { 0, 4, 8, 0x200, 0x600, 0xe00, 0x1e00, 0x80 };
	for (unsigned g = 0; g < 8; g++) {
		fd = sys(__NR_fanotify_init, groups[g] | 2, 0);
		say("group %x: %r\n", (long)groups[g], sign(fd));
		for (int b = 0; b < 32; b++) {
			say(" bit %x: dir %r file %r mount %r fs %r", 1L << b, mark(1, 1UL << b, AT_FDCWD, "/fw/d"), mark(1, 1UL << b, AT_FDCWD, "/fw/x"), mark(0x11, 1UL << b, AT_FDCWD, "/fw"), mark(0x101, 1UL << b, AT_FDCWD, "/fw"));
			say(" ondir %r child %r ignored %r\n", mark(1, 1UL << b | 0x40000000, AT_FDCWD, "/fw/d"), mark(1, 1UL << b | 0x8000000, AT_FDCWD, "/fw/x"), mark(0x21, 1UL << b, AT_FDCWD, "/fw/d"));
		}
		say(" none %r top %r flush %r %r %r\n", mark(1, 0, AT_FDCWD, "/fw/d"), mark(1, 1UL << 40, AT_FDCWD, "/fw/d"), mark(0x80, 0, AT_FDCWD, "/fw/d"), mark(0x90, 0, AT_FDCWD, 0), mark(0x180, 0, AT_FDCWD, 0));
		sys(__NR_close, fd);
	}
	fd = sys(__NR_fanotify_init, 2, 0);
	for (int b = 0; b < 14; b++) say("mark flags %x: alone %r with add %r with remove %r\n", 1L << b, mark(1 << b, 1, AT_FDCWD, "/fw/d"), mark(1 << b | 1, 1, AT_FDCWD, "/fw/d"), mark(1 << b | 2, 1, AT_FDCWD, "/fw/d"));
	say("add and remove %r mount and fs %r flush with mask %r flush and add %r\n", mark(3, 1, AT_FDCWD, "/fw/d"), mark(0x111, 1, AT_FDCWD, "/fw"), mark(0x80, 1, AT_FDCWD, "/fw/d"), mark(0x81, 1, AT_FDCWD, "/fw/d"));
	say("fd -1 %r stdout %r missing %r null %r only dir %r dirfd %r remove what is not %r\n", sys(__NR_fanotify_mark, -1, 1, 1, AT_FDCWD, "/fw"), sys(__NR_fanotify_mark, 1, 1, 1, AT_FDCWD, "/fw"), mark(1, 1, AT_FDCWD, "/none"), mark(1, 1, AT_FDCWD, 0), mark(9, 1, AT_FDCWD, "/fw/x"), mark(1, 1, 77, "d"), mark(2, 1, AT_FDCWD, "/fw/e"));
	say("pipes %r socket %r proc %r\n", ({ int p[2]; sys(__NR_pipe2, p, 0); mark(1, 1, p[0], 0); }), mark(1, 1, sys(__NR_socket, 1, 1, 0), 0), mark(1, 1, AT_FDCWD, "/proc/self/status"));
	sys(__NR_close, fd);
	static const struct { unsigned group, flags; unsigned long mask; const char *where; } ways[] = {
		{ 2, 1, 0xfff & 0x3b, "/fw/d" }, { 2, 1, 0x4800003b, "/fw/d" }, { 2, 0x11, 0x4000003b, "/fw" }, { 2, 0x101, 0x4000003b, "/fw" },
		{ 0x202, 0x101, 0x40000fff, "/fw" }, { 0x602, 0x101, 0x40000fff, "/fw" }, { 0xe02, 0x101, 0x40000fff, "/fw" }, { 0xe02, 0x101, 0x50000fff, "/fw" }, { 0xe02, 1, 0x48000fff, "/fw/d" }, { 0x1e02, 0x101, 0x50000fff, "/fw" }, { 0x602, 1, 0x48000fff, "/fw/d" }, { 0x202, 1, 0x48000fff, "/fw/d" }, { 0x82, 1, 0x4800003b, "/fw/d" }, { 0xc02, 1, 0x48000fff, "/fw/d" }, { 0x802, 1, 0x4800003b, "/fw/d" },
	};
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		fd = sys(__NR_fanotify_init, ways[i].group, 0);
		say("way %x %x %x: %r %r", (long)ways[i].group, (long)ways[i].flags, (long)ways[i].mask, sign(fd), mark(ways[i].flags, ways[i].mask, AT_FDCWD, ways[i].where));
		acts();
		events(" told");
		sys(__NR_close, fd);
	}
	/* ignored */
	fd = sys(__NR_fanotify_init, 2, 0);
	say("ignore: %r", mark(0x11, 0x3b, AT_FDCWD, "/fw"));
	say(" %r", mark(0x21, 0x20, AT_FDCWD, "/fw/x")), slurp("/fw/x", text, 10), events(" opened");
	spit("/fw/x", "y"), events("modified"), slurp("/fw/x", text, 10), events("forgotten");
	say("survives %r", mark(0x61, 0x20, AT_FDCWD, "/fw/x")), spit("/fw/x", "y"), events(" "), slurp("/fw/x", text, 10), events("still");
	say("new ignore %r with a plain one %r surviving %r", mark(0x401, 1, AT_FDCWD, "/fw/x"), mark(0x401 | 0x40, 1, AT_FDCWD, "/fw/x"), mark(0x402 | 0x40, 1, AT_FDCWD, "/fw/x"));
	say(" on another %r dir %r dir survives %r\n", mark(0x401, 1, AT_FDCWD, "/fw/d"), mark(0x401, 0x40000001, AT_FDCWD, "/fw/d"), mark(0x441, 0x40000001, AT_FDCWD, "/fw/d"));
	sys(__NR_close, fd);
	/* reads and writes */
	fd = sys(__NR_fanotify_init, 2, 0);
	mark(1, 0x3b, AT_FDCWD, "/fw/x"), slurp("/fw/x", text, 10);
	int ready = 0;
	say("ready %r %d", sys(__NR_ioctl, fd, 0x541B, &ready), ready);
	say(" short %r 23 %r write %r lseek %r ioctl %r poll %x bad %r", sys(__NR_read, fd, buffer, 10), sys(__NR_read, fd, buffer, 23), sys(__NR_write, fd, "xxxxxxxx", 8), sys(__NR_lseek, fd, 0, 0), sys(__NR_ioctl, fd, 0x5401, &ready), (long)polled((int)fd, 0xffff), 0L);
	events(" read");
	char name[40] = "/proc/self/fdinfo/";
	name[18] = '0' + (char)fd, name[19] = 0;
	if (fd > 9) name[18] = '0' + (char)(fd / 10), name[19] = '0' + (char)(fd % 10), name[20] = 0;
	mark(0x11, 0x3b, AT_FDCWD, "/fw"), mark(0x101, 0x20, AT_FDCWD, "/fw"), mark(0x61, 0x20, AT_FDCWD, "/fw/d"), mark(1, 0x48000003, AT_FDCWD, "/fw/e");
	slurp(name, text, sizeof(text));
	for (char *p = text; *p;) {
		char *e = p;
		while (*e && *e != '\n') e++;
		*e = 0;
		if (!memcmp(p, "fanotify", 8)) {
			for (char *q = p; *q;) {
				char *w = q;
				while (*q && *q != ' ') q++;
				char had = *q;
				*q = 0;
				if (memcmp(w, "ino:", 4) && memcmp(w, "sdev:", 5) && memcmp(w, "f_handle:", 9) && memcmp(w, "mnt_id:", 7)) say("%s ", w);
				*q = had;
				while (*q == ' ') q++;
			}
			say("\n");
		}
		p = e + 1;
	}
	sys(__NR_close, fd);
	/* permission */
	fd = sys(__NR_fanotify_init, 4 | 2 | 1, 2);
	say("permission %r", mark(1, 0x30000, AT_FDCWD, "/fw/x"));
	long *seen = map(0, 4096, 3, 0x21, -1, 0), count = 0, pid = fork();
	if (!pid) {
		for (int i = 0; i < 5; i++) {
			long f = sys(__NR_openat, AT_FDCWD, "/fw/x", O_RDWR, 0);
			seen[++count] = sign(f);
			if (f >= 0) seen[++count] = sys(__NR_read, f, text, 10), sys(__NR_close, f);
		}
		seen[0] = count;
		leave(0);
	}
	static const unsigned answers[] = { 1, 2, 0x11, 0x12, 3, 0, 0x21 };
	int at = 0;
	for (int round = 0; round < 200; round++) {
		struct fanotify_event_metadata *m = (void *)buffer;
		long n = sys(__NR_read, fd, buffer, 4096);
		if (n < 0) {
			if (sys(__NR_wait4, pid, 0, 1, 0)) break;
			nap(10);
			continue;
		}
		struct { int fd; unsigned answer; } r = { m->fd, answers[at % 7] };
		long w = sys(__NR_write, fd, &r, 8);
		say(" <%x answer %x %r", (long)m->mask, (long)answers[at % 7], w);
		at++;
		if (w < 0) r.answer = 1, say(" then %r twice %r", sys(__NR_write, fd, &r, 8), 0L);
		say(" again %r short %r>", sys(__NR_write, fd, &r, 8), sys(__NR_write, fd, &r, 4));
		sys(__NR_close, m->fd);
	}
	say("\nwhat the other got:");
	for (int i = 1; i <= seen[0]; i++) say(" %r", seen[i]);
	say("\n");
	sys(__NR_close, fd);
	/* a user */
	pid = fork();
	if (!pid) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		static const unsigned his[] = { 0, 4, 0x200, 0x600, 0xe00, 0x210, 0x220, 0x280, 0x300, 0x203 };
		for (int i = 0; i < 10; i++) {
			fd = sys(__NR_fanotify_init, his[i], 0);
			say("user init %x: %r", (long)his[i], sign(fd));
			if (fd >= 0) say(" inode %r mount %r fs %r permission %r own %r", mark(1, 0x48000fff & ~0x400, AT_FDCWD, "/fw"), mark(0x11, 0x20, AT_FDCWD, "/fw"), mark(0x101, 0x20, AT_FDCWD, "/fw"), mark(1, 0x10000, AT_FDCWD, "/fw"), mark(1, 0x20, AT_FDCWD, "/proc/self/status")), sys(__NR_close, fd);
			say("\n");
		}
		leave(0);
	}
	wait_for(pid);
	static const char *const knobs[] = { "max_queued_events", "max_user_groups", "max_user_marks" };
	for (int i = 0; i < 2; i++) {
		memcpy(name, "/proc/sys/fs/fanotify/", 22), memcpy(name + 22, knobs[i], strlen(knobs[i]) + 1);
		slurp(name, text, 100);
		say("%s %s", knobs[i], text);
		char was[32];
		memcpy(was, text, 32);
		say(" -1 %r 0 %r big %r word %r 3 %r", spit(name, "-1"), spit(name, "0"), spit(name, "2147483648"), spit(name, "x"), spit(name, "3"));
		int made = 0;
		long fds[8];
		while (made < 8 && (fds[made] = sys(__NR_fanotify_init, 2, 0)) >= 0) made++;
		say(" groups %d", made);
		if (i == 0) {
			fd = fds[0], mark(0x11, 0x4000003b, AT_FDCWD, "/fw"), acts(), events(" overflow");
		}
		while (made) sys(__NR_close, fds[--made]);
		say(" back %r\n", spit(name, was));
	}
	return 0;
}
