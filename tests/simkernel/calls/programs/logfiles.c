/* The kernel log: /dev/kmsg, /proc/kmsg, syslog(2) and how loud the console is.  not: i386 s390x */
#include "tiny.h"
#include <linux/uio.h>

static char buf[1 << 18];
static long rd, w;
static ulong first;
static int begun;

static ulong number(char **s) { ulong n = 0; while (**s >= '0' && **s <= '9') n = n * 10 + *(*s)++ - '0'; return n; }
static void show(const char *s, long n)
{
	for (; n-- > 0; s++) {
		if (*s == '\n') say("\\n");
		else if (*s == 'q' && n > 100 && s[1] == 'q') continue;
		else if (*s < 32 || *s > 126) say("{%x}", (long)(unsigned char)*s);
		else put(*s);
	}
	put('\n');
}
/* a record of /dev/kmsg: priority, number from the first one seen, flag and text, without the time */
static void record(char *s, long n)
{
	char *at = s;
	ulong priority = number(&at);
	at++;
	ulong seq = number(&at);
	at++;
	number(&at);
	if (!begun++)
		first = seq;
	say("  %l,+%l", priority, seq - first);
	if (n > 300) {
		while (*at++ != ';');
		say(" %l bytes\n", n - (at - s));
	} else
		show(at, n - (at - s));
}
static void drain(const char *what)
{
	say("%s:\n", what);
	for (int i = 0; i < 40; i++) {
		long n = sys(__NR_read, rd, buf, sizeof(buf));
		if (n > 0)
			record(buf, n);
		else {
			say("  %r\n", n);
			if (n != -EPIPE)
				break;
		}
	}
}
/* text of the log, without times */
static void text(char *s, long n)
{
	if (n <= 0) { say("  %r\n", n); return; }
	char *end = s + n;
	while (s < end) {
		char *stop = s, *open = 0, *close = 0;
		for (; stop < end && *stop != '\n'; stop++) {
			if (*stop == '[' && !open) open = stop;
			if (*stop == ']' && !close) close = stop;
		}
		say("    ");
		if (open && close && open - s < 6) { show(s, open - s); s = close + 1; say("    "); }
		show(s, stop - s);
		s = stop + 1;
	}
}
static long line_(const char *s) { return sys(__NR_write, w, s, strlen(s)); }
static void set(const char *name, const char *value)
{
	static char path[80], now[100];
	memcpy(path, "/proc/sys/kernel/", 17);
	memcpy(path + 17, name, strlen(name) + 1);
	if (value) { say("%s ", name); show(value, strlen(value)); say("  %r", spit(path, value)); }
	long n = slurp(path, now, sizeof(now));
	say(" %s: ", name);
	show(now, n < 0 ? 0 : n);
}
#define SYSLOG(t, b, n) sys(__NR_syslog, t, b, n)
static void as_nobody(void)
{
	long pid = fork();
	if (!pid) {
		sys(__NR_setresgid, 65534, 65534, 65534);
		sys(__NR_setresuid, 65534, 65534, 65534);
		say("nobody: all %r size %r read %r level %r proc %r", SYSLOG(3, buf, 0), SYSLOG(10, 0, 0), SYSLOG(2, buf, 0), SYSLOG(8, 0, 4),
			sys(__NR_openat, AT_FDCWD, "/proc/kmsg", 0));
		say(" dev %r to write %r\n", sys(__NR_openat, AT_FDCWD, "/dev/kmsg", 0) > 0 ? 1L : -EPERM, sys(__NR_openat, AT_FDCWD, "/dev/kmsg", 1));
		leave(0);
	}
	wait_for(pid);
}

int main(int argc, char **argv)
{
	static const char *const lines[] = { "plain", "<1>one", "<7>seven\n", "<9>user", "<13>user notice", "<191>local7", "<193>more", "<2047>2047", "<2049>2049",
		"<99999>big", "<4294967299>wrap", "<3", "<-1>minus", "<+3>plus", "< 3>space", "<3> lead", "<3>", "\n", "a\nb\n", "a\n\n", "tab\there",
		"bell\a esc\033 del\177 \303\244 \377", "back\\slash", "trail  \n", " SUBSYSTEM=x\n", "<03>octal", "<0x3>hex", "<3>\n", "<c>cont",
		"<4>[  1.0] stamp", "<6><3>two", "msg\n KEY=value\n", "\r\n" };
	static const int sizes[] = { 900, 976, 990, 991, 992, 993, 1025, 4096 };
	w = sys(__NR_openat, AT_FDCWD, "/dev/kmsg", O_WRONLY);
	set("printk", "1\n"), set("printk_devkmsg", 0), set("dmesg_restrict", 0);
	set("printk_devkmsg", "bad"), set("printk_devkmsg", "on"), set("printk_devkmsg", "off\n"), set("printk_devkmsg", "on\n");
	say("without newline %r\n", line_("x"));
	rd = sys(__NR_openat, AT_FDCWD, "/dev/kmsg", O_RDONLY | O_NONBLOCK);
	say("end %r\n", sys(__NR_lseek, rd, 0, 2));
	drain("not finished");
	for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (line_(lines[i]) != strlen(lines[i]))
			say("line %d\n", i);
	drain("lines");
	say("NUL %r empty %r fault %r", sys(__NR_write, w, "be\0fore", 7), sys(__NR_write, w, "", 0), sys(__NR_write, w, 8, 5));
	struct iovec v[3] = { { "<2>", 3 }, { "one ", 4 }, { "two\n", 4 } };
	say(" writev %r pwrite %r\n", sys(__NR_writev, w, v, 3), sys(__NR_pwrite64, w, "at 5", 4, 5));
	memset(buf, 'z', sizeof(buf));
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		say("%d bytes %r\n", sizes[i], sys(__NR_write, w, buf, sizes[i]));
	drain("long");
	line_("<5>first\n"), line_("<5>second\n"), line_("<5>third\n");
	say("poll %x", (long)polled(rd, 5));
	say(" small %r %r %r poll %x\n", sys(__NR_read, rd, buf, 10), sys(__NR_read, rd, buf, 0), sys(__NR_read, rd, 8, 500), (long)polled(rd, 5));
	drain("what had no room is lost");
	say("poll %x seeks %r %r %r %r %r %r\n", (long)polled(rd, 5), sys(__NR_lseek, rd, 1, 0), sys(__NR_lseek, rd, 0, 1), sys(__NR_lseek, rd, 5, 1), sys(__NR_lseek, rd, 0, 4),
		sys(__NR_lseek, rd, 0, 3), sys(__NR_lseek, rd, 0, 7));
	say("clear %r\n", SYSLOG(5, 0, 0));
	line_("<5>fourth\n"), line_("<6>fifth\n");
	sys(__NR_lseek, rd, 0, 3);
	drain("since clear");
	say("all\n"), text(buf, SYSLOG(3, buf, sizeof(buf))), say("25\n"), text(buf, SYSLOG(3, buf, 25)), say("40\n"), text(buf, SYSLOG(3, buf, 40));
	say("24\n"), text(buf, SYSLOG(3, buf, 24)), say("read and clear\n"), text(buf, SYSLOG(4, buf, sizeof(buf))), say("all\n"), text(buf, SYSLOG(3, buf, sizeof(buf)));
	for (int t = -1; t < 13; t++) {
		if (t == 2 || t == 9)
			continue;
		say("type %d: %r %r %r\n", t, SYSLOG(t, buf, t == 8 ? 9 : 0), SYSLOG(t, 0, 10), SYSLOG(t, buf, -1));
	}
	set("printk", 0), SYSLOG(8, 0, 8), set("printk", 0), SYSLOG(8, 0, 1), SYSLOG(6, 0, 0), SYSLOG(6, 0, 0), SYSLOG(7, 0, 0), set("printk", 0);
	SYSLOG(8, 0, 5), SYSLOG(6, 0, 0), set("printk", 0), SYSLOG(7, 0, 0), set("printk", 0), SYSLOG(6, 0, 0), SYSLOG(8, 0, 3), SYSLOG(7, 0, 0), set("printk", 0);
	SYSLOG(8, 0, 1);
	long pk = sys(__NR_openat, AT_FDCWD, "/proc/kmsg", O_RDONLY | O_NONBLOCK), n;
	while ((n = sys(__NR_read, pk, buf, 4000)) > 0);
	say("proc %r unread %r poll %x\n", n, SYSLOG(9, 0, 0), (long)polled(pk, 5));
	line_("<5>sixth\n"), line_("<14>seventh line\n");
	say("unread %r poll %x", SYSLOG(9, 0, 0), (long)polled(pk, 5));
	say(" part %r", SYSLOG(2, buf, 10)), say(" unread %r\n", SYSLOG(9, 0, 0));
	n = sys(__NR_read, pk, buf, sizeof(buf));
	char *at = buf;
	while (*at != ']') at++;
	text(at, n - (at - buf)), say("  %r\n", sys(__NR_read, pk, buf, 100));
	line_("<5>x\ny\n"), text(buf, sys(__NR_read, pk, buf, sizeof(buf)));
	line_("<5>eighth\n"), line_("<5>ninth\n");
	for (int i = 0; i < 3; i++)
		say("30\n"), text(buf, sys(__NR_read, pk, buf, 30));
	long both = sys(__NR_openat, AT_FDCWD, "/proc/kmsg", O_RDWR | O_NONBLOCK);
	say("seek %r pread %r another %r write %r\n", sys(__NR_lseek, pk, 0, 0), sys(__NR_pread64, pk, buf, 10, 0), sys(__NR_read, both, buf, 100), sys(__NR_write, both, "x", 1));
	sys(__NR_close, both);
	as_nobody(), set("dmesg_restrict", "0\n"), as_nobody(), set("dmesg_restrict", "1\n");
	long blocking = sys(__NR_openat, AT_FDCWD, "/dev/kmsg", O_RDONLY), pid;
	sys(__NR_lseek, blocking, 0, 2);
	if (!(pid = fork())) {
		n = sys(__NR_read, blocking, buf, 1000);
		say("woken\n"), record(buf, n);
		leave(0);
	}
	nap(50);
	line_("<5>wake\n");
	wait_for(pid);
	sys(__NR_lseek, rd, 0, 0);
	memset(buf, 'q', 900);
	for (int i = 0; i < 400; i++)
		sys(__NR_write, w, buf, 900);
	say("overrun poll %x read %r", (long)polled(rd, 7), sys(__NR_read, rd, buf, sizeof(buf)));
	say(" then %d poll %x\n", sys(__NR_read, rd, buf, sizeof(buf)) > 800, (long)polled(rd, 7));
	n = SYSLOG(3, buf, sizeof(buf));
	say("as much as there is room for %d unread %d\n", n > 60000 && n <= 131072, SYSLOG(9, 0, 0) > 60000);
	while ((n = sys(__NR_read, pk, buf, 4000)) > 0);
	set("printk_devkmsg", "ratelimit\n"), line_("<5>last\n"), sys(__NR_close, w), sys(__NR_lseek, rd, 0, 2);
	w = sys(__NR_openat, AT_FDCWD, "/dev/kmsg", O_WRONLY);
	for (int i = 0; i < 15; i++) {
		char l[] = "<5>n ?\n";
		l[5] = 'a' + i;
		if (line_(l) != 7)
			say("%d\n", i);
	}
	drain("ten"), nap(6000), line_("<5>later\n"), drain("later"), sys(__NR_close, w), drain("closed");
	w = sys(__NR_openat, AT_FDCWD, "/dev/kmsg", O_WRONLY);
	set("printk_devkmsg", "off\n");
	say("off %r open %r\n", line_("gone\n"), sys(__NR_openat, AT_FDCWD, "/dev/kmsg", O_WRONLY));
	drain("nothing");
	set("printk_devkmsg", "on "), set("printk_devkmsg", "ratelimit"), set("printk_devkmsg", "ratelimit\n");
	set("printk", "1 6\n"), line_("x\n"), set("printk", "1\t4\t1\t7\n"), line_("y\n");
	drain("level of what has none");
	return 0;
}
