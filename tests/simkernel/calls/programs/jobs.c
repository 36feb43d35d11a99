/* Terminals and job control: who may read, write and change, orphaned groups, ends of sessions, every mode of a line. */
#include "tiny.h"
#include "tiny_tty.h"
#include <asm/termbits.h>
#include <asm/ioctls.h>
#include <linux/stat.h>
#include <linux/tty.h>

#define opened(path, flags) sys(__NR_openat, AT_FDCWD, path, flags, 0)
#define IO(fd, ...) sys(__NR_ioctl, fd, __VA_ARGS__)
#define READ(fd, p, n) sys(__NR_read, fd, p, n)
#define WRITE(fd, p, n) sys(__NR_write, fd, p, n)
enum { INT = 2, HUP = 1, CHLD = 17, CONT = 18, TSTP = 20, TTIN = 21, TTOU = 22, IOSIG = 29 };

static long master, slave;
static volatile int seen[65];
static void note(int sig, void *info, void *context) { seen[sig]++; }

static void type(long fd, const char *text) { WRITE(fd, text, strlen(text)); }
static char *named(const char *stem, int n) /* /dev/pts/N */
{
	static char path[32];
	char *p = path;
	for (const char *s = stem; *s; s++) *p++ = *s;
	*p++ = '0' + n;
	*p = 0;
	return path;
}

static void fresh(int session) /* another pair; the slave's reads do not wait */
{
	int n = -1, off = 0;
	if (master > 0) sys(__NR_close, slave), sys(__NR_close, master);
	master = opened("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
	IO(master, TIOCGPTN, &n);
	IO(master, TIOCSPTLCK, &off);
	slave = opened(named("/dev/pts/", n), O_RDWR | O_NONBLOCK | (session ? 0 : O_NOCTTY));
}
static struct termios t;
static void modes(unsigned iflag, unsigned oflag, unsigned lflag)
{
	IO(slave, TCGETS, &t);
	t.c_iflag = iflag, t.c_oflag = oflag, t.c_lflag = lflag;
	IO(slave, TCSETS, &t);
}
static void control(int which, int c) { IO(slave, TCGETS, &t); t.c_cc[which] = c; IO(slave, TCSETS, &t); }

/* -- what a line makes of characters --------------------------------------------------------------------------- */

static void line_of(const char *what, unsigned iflag, unsigned oflag, unsigned lflag, const char *typed)
{
	modes(iflag, oflag, lflag);
	type(master, typed);
	say("%s\n", what);
	take(" slave", slave);
	take(" master", master);
	IO(slave, TCFLSH, TCIOFLUSH);
}
static void writes(const char *what, unsigned oflag, const char *text)
{
	modes(0, oflag, ICANON);
	say("%s %r", what, WRITE(slave, text, strlen(text)));
	take("", master);
}
static void lines(void)
{
	const unsigned usual = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN;
	fresh(0);
	line_of("inlcr", INLCR, 0, ICANON | ECHO, "a\nb\r\004");
	line_of("igncr", IGNCR | ICRNL, 0, ICANON | ECHO, "a\rb\n");
	line_of("istrip", ISTRIP, 0, ICANON, "\341\342\n");
	line_of("iuclc", IUCLC, 0, ICANON | IEXTEN, "ABCd\n");
	line_of("iuclc without iexten", IUCLC, 0, ICANON, "ABCd\n");
	line_of("parmrk", PARMRK, 0, ICANON | ECHO, "a\377b\n");
	line_of("echoctl off", 0, 0, ICANON | ECHO, "\001x\n");
	line_of("echonl", 0, 0, ICANON | ECHONL, "ab\n");
	line_of("echoprt", 0, 0, ICANON | ECHO | ECHOE | ECHOPRT, "abc\177\177de\n");
	line_of("echoprt kill", 0, 0, (usual & ~ECHOKE) | ECHOPRT, "abc\025d\n");
	line_of("no echoe", 0, 0, ICANON | ECHO, "abc\177d\n");
	line_of("no echok", 0, 0, ICANON | ECHO, "abc\025d\n");
	line_of("echok", 0, 0, ICANON | ECHO | ECHOK, "abc\025d\n");
	line_of("no iexten", 0, 0, usual & ~IEXTEN, "one two\027\026\n");
	line_of("iutf8", IUTF8, 0, usual, "a\303\244\177b\n");
	line_of("no iutf8", 0, 0, usual, "a\303\244\177b\n");
	line_of("literal return", ICRNL, 0, usual, "a\026\rb\n");
	line_of("literal end", 0, 0, usual, "a\026\004b\n");
	line_of("tab erased", 0, OPOST | ONLCR, usual, "x\ty\177\177z\n");
	line_of("words", 0, 0, usual, "foo  bar,baz \027\027q\n");
	line_of("erase nothing", 0, 0, usual, "\177\025\027a\n");
	line_of("reprint", 0, OPOST | ONLCR, usual, "ab\022c\n");
	line_of("extproc", ICRNL, 0, usual | EXTPROC, "a\003\177\r");
	control(VEOL, 'E');
	control(VEOL2, 'F');
	line_of("eol", 0, 0, usual, "oneEtwoFthree\n");
	take("eol2", slave);
	take("and", slave);
	control(VEOL, 0);
	control(VEOL2, 0);
	line_of("two ends", 0, 0, usual, "ab\004\004cd\n");
	control(VERASE, 0);
	line_of("erase disabled", 0, 0, usual, "ab\177\n");
	control(VERASE, 127);
	line_of("ixany", IXON | IXANY, 0, usual, "\023x\n");
	line_of("ixon", IXON, 0, usual, "a\023b\021c\n");
	line_of("signals without a group", 0, 0, usual, "ab\003cd\n");
	line_of("noflsh", 0, 0, usual | NOFLSH, "ab\034cd\n");
	line_of("raw", 0, 0, 0, "\003\004\r\n\177");
	writes("onlcr", OPOST | ONLCR, "a\nb");
	writes("opost off", ONLCR, "a\nb");
	writes("ocrnl", OPOST | OCRNL, "a\rb");
	writes("onocr", OPOST | ONOCR, "\r");
	writes("onocr later", OPOST | ONOCR, "ab\r\r");
	writes("onlret", OPOST | ONLRET | ONOCR, "ab\n\rc");
	writes("olcuc", OPOST | OLCUC, "aZ1\344");
	writes("tabs", OPOST | XTABS, "\ta\tabcdefgh\t\b\t");
	writes("tab kept", OPOST, "a\tb");
}

/* -- reads by VMIN and VTIME ----------------------------------------------------------------------------------- */

static long tenths(void)
{
	struct __kernel_old_timespec now;
	sys(__NR_clock_gettime, 1, &now);
	return now.tv_sec * 10 + now.tv_nsec / 100000000;
}
static void patient(const char *what, int min, int time, int size, int nonblock, const char *before, const char *during)
{
	static char buf[64];
	long pid, begun, ret;
	modes(0, 0, 0);
	control(VMIN, min);
	control(VTIME, time);
	sys(__NR_fcntl, slave, F_SETFL, O_RDWR | (nonblock ? O_NONBLOCK : 0));
	IO(slave, TCFLSH, TCIOFLUSH);
	type(master, before);
	pid = fork();
	if (!pid) {
		for (const char *p = during; *p; p++)
			nap(100), WRITE(master, p, 1);
		leave(0);
	}
	begun = tenths();
	ret = READ(slave, buf, size);
	begun = tenths() - begun;
	say("%s after %s", what, begun < 1 ? "none" : begun < 8 ? "some" : begun < 20 ? "long" : "ages");
	bytes("", ret, buf);
	wait_for(pid);
}
static void patience(void)
{
	fresh(0);
	patient("min 3", 3, 0, 10, 0, "", "abc");
	patient("min 3 of 2", 3, 0, 2, 0, "", "abc");
	patient("min 3 there", 3, 0, 10, 0, "abcd", "");
	patient("time 10", 0, 10, 10, 0, "", "");
	patient("time 10 typed", 0, 10, 10, 0, "", "ab");
	patient("time there", 0, 10, 10, 0, "x", "");
	patient("between", 5, 10, 10, 0, "x", "y");
	patient("both zero", 0, 0, 10, 0, "", "");
	patient("both zero there", 0, 0, 10, 0, "xy", "");
	patient("nonblock", 1, 0, 10, 1, "", "");
	patient("nonblock of 5", 5, 0, 10, 1, "ab", "");
	patient("nonblock zero", 0, 0, 10, 1, "", "");
	patient("nonblock time", 0, 10, 10, 1, "", "");
	control(VMIN, 5);
	control(VTIME, 0);
	type(master, "ab");
	nap(20);
	say("poll of 5 %x", (long)polled(slave, POLLIN));
	control(VTIME, 1);
	say(" with time %x", (long)polled(slave, POLLIN));
	type(master, "cde");
	nap(20);
	control(VTIME, 0);
	say(" there %x\n", (long)polled(slave, POLLIN));
}

/* -- packet mode, exclusive use, calls that a terminal has or has not ------------------------------------------ */

static void packets(void)
{
	int on = 1, n = -1;
	char buf[16];
	fresh(0);
	say("pkt of a slave %r %r\n", IO(slave, TIOCPKT, &on), IO(slave, TIOCGPKT, &n));
	say("pkt %r", IO(master, TIOCPKT, &on));
	say(" is %r", IO(master, TIOCGPKT, &n));
	say(" %d\n", n);
	take("nothing", master);
	type(slave, "abc");
	nap(20);
	bytes("one byte", READ(master, buf, 1), buf);
	bytes("two bytes", READ(master, buf, 2), buf);
	take("the rest", master);
	IO(slave, TCGETS, &t);
	t.c_iflag &= ~IXON;
	IO(slave, TCSETS, &t);
	say("poll %x\n", (long)polled(master, POLLIN | POLLPRI | POLLOUT));
	take("no stop", master);
	t.c_iflag |= IXON;
	IO(slave, TCSETS, &t);
	take("do stop", master);
	t.c_cc[VSTOP] = 1;
	IO(slave, TCSETS, &t);
	take("other stop", master);
	t.c_cc[VSTOP] = 19;
	t.c_lflag |= EXTPROC;
	IO(slave, TCSETS, &t);
	take("extproc", master);
	t.c_cc[VINTR] = 9;
	IO(slave, TCSETS, &t);
	take("still extproc", master);
	t.c_lflag &= ~EXTPROC;
	IO(slave, TCSETS, &t);
	take("no extproc", master);
	IO(slave, TCSETS, &t);
	take("same", master);
	type(slave, "xy");
	IO(slave, TCFLSH, TCOFLUSH);
	take("output flushed", master);
	IO(slave, TCFLSH, TCIFLUSH);
	type(slave, "z");
	take("flushed then", master);
	take("data", master);
	type(master, "\023");
	nap(20);
	type(master, "\021");
	take("stopped and started", master);
	on = 0;
	IO(master, TIOCPKT, &on);
	type(slave, "q");
	take("off", master);
}

static void others(void)
{
	int n = -1, zero = 0;
	char c = 'i';
	unsigned short size[4];
	struct statx st;
	fresh(0);
	say("excl %r", IO(slave, TIOCEXCL, 0));
	say(" %r", IO(slave, TIOCGEXCL, &n));
	say(" %d", n);
	say(" root %d", opened(named("/dev/pts/", 0), O_RDWR | O_NOCTTY) > 0);
	if (!fork()) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		say(" other %r nobody's %r\n", opened(named("/dev/pts/", 0), O_RDWR | O_NOCTTY), opened("/dev/pts/ptmx", O_RDWR));
		leave(0);
	}
	wait_for(-1);
	say("nxcl %r\n", IO(slave, TIOCNXCL, 0));
	say("sti %r", IO(slave, TIOCSTI, &c));
	say(" %r\n", IO(slave, TIOCSTI, 8));
	T(__NR_ioctl, slave, TCGETS, 8);
	T(__NR_ioctl, slave, TCSETS, 8);
	T(__NR_ioctl, slave, TIOCGWINSZ, 8);
	T(__NR_ioctl, slave, TIOCSWINSZ, 8);
	T(__NR_ioctl, slave, TIOCGPGRP, 8);
	T(__NR_ioctl, slave, TIOCSPGRP, 8);
	T(__NR_ioctl, master, TIOCGPGRP, 8);
	T(__NR_ioctl, master, TIOCSPGRP, 8);
	T(__NR_ioctl, master, TIOCGSID, &n);
	T(__NR_ioctl, slave, FIONREAD, 8);
	T(__NR_ioctl, slave, TIOCSETD, &zero);
	n = 31;
	T(__NR_ioctl, slave, TIOCSETD, &n);
	T(__NR_ioctl, slave, TIOCSETD, 8);
	T(__NR_ioctl, slave, TCSBRK, 0);
	T(__NR_ioctl, slave, TCSBRK, 1);
	T(__NR_ioctl, slave, TCSBRKP, 1);
	T(__NR_ioctl, master, TCSBRK, 1);
	T(__NR_ioctl, slave, TIOCMSET, &zero);
	T(__NR_ioctl, slave, TIOCGICOUNT, 0);
	T(__NR_ioctl, slave, TIOCGSERIAL, 0);
	T(__NR_ioctl, slave, TIOCMIWAIT, 0);
	T(__NR_ioctl, slave, TIOCGRS485, 0);
	T(__NR_ioctl, slave, TIOCLINUX, &c);
	T(__NR_ioctl, slave, TIOCSSOFTCAR, &zero);
	T(__NR_ioctl, slave, TIOCGSOFTCAR, &n);
	T(__NR_ioctl, slave, TIOCGPTN, &n);
	T(__NR_ioctl, slave, TIOCSPTLCK, &zero);
	T(__NR_ioctl, slave, TIOCGPTPEER, O_RDWR);
	T(__NR_ioctl, slave, TIOCSIG, INT);
	T(__NR_ioctl, master, TIOCSIG, 0);
	T(__NR_ioctl, slave, TCXONC, 4);
	T(__NR_ioctl, slave, TCXONC, TCIOFF);
	take("ioff", master);
	T(__NR_ioctl, slave, TCXONC, TCION);
	take("ion", master);
	T(__NR_ioctl, slave, FIOQSIZE, &n);
	T(__NR_ioctl, slave, 2, &n); /* FIGETBSZ */
	T(__NR_lseek, slave, 0, 1);
	T(__NR_pread64, slave, &c, 1, 0);
	T(__NR_pwrite64, slave, &c, 1, 0);
	T(__NR_ftruncate, slave, 0);
	T(__NR_fsync, slave);
	T(__NR_read, slave, &c, 0);
	T(__NR_write, slave, &c, 0);
	T(__NR_read, slave, 8, 1);
	T(__NR_write, slave, 8, 1);
	say("mmap %r\n", (long)map(0, 4096, 1, 1, slave, 0));
	say("stat %r", sys(__NR_statx, slave, "", 0x1000, 0x7ff, &st));
	say(" %x %d %d rdev %d.%d dev size %d blocks %d\n", (long)st.stx_mode, st.stx_uid, st.stx_gid, st.stx_rdev_major, st.stx_rdev_minor, (int)st.stx_size, (int)st.stx_blocks);
	say("no such %r", opened("/dev/pts/99", O_RDWR));
	say(" mkdir %r", sys(__NR_mkdirat, AT_FDCWD, "/dev/pts/d", 0700));
	say(" create %r", opened("/dev/pts/f", O_RDWR | O_CREAT));
	say(" mknod %r", sys(__NR_mknodat, AT_FDCWD, "/dev/pts/m", 0020600, 0x8800));
	say(" rename %r", sys(__NR_renameat2, AT_FDCWD, "/dev/pts/0", AT_FDCWD, "/dev/pts/9", 0));
	say(" link %r\n", sys(__NR_linkat, AT_FDCWD, "/dev/pts/0", AT_FDCWD, "/dev/pts/9", 0));
	say("winch of nobody %r", IO(master, TIOCGWINSZ, size));
	say(" %d %d\n", size[0], size[1]);
	/* SIGIO */
	on_signal(IOSIG, note, 0x10000000);
	n = 1;
	sys(__NR_fcntl, slave, F_SETOWN, sys(__NR_getpid));
	say("async %r", IO(slave, FIOASYNC, &n));
	seen[IOSIG] = 0;
	type(master, "no line");
	nap(20);
	say(" %d", seen[IOSIG] > 0);
	seen[IOSIG] = 0;
	type(master, "\n");
	nap(20);
	say(" line %d", seen[IOSIG] > 0);
	seen[IOSIG] = 0;
	take(" read", slave);
	say(" output read %d\n", (READ(master, (char[64]){ 0 }, 64) > 0) && seen[IOSIG]);
	n = 0;
	IO(slave, FIOASYNC, &n);
}

/* -- sessions and groups --------------------------------------------------------------------------------------- */

static int sync_pipe[2];
static void ready(void) { WRITE(sync_pipe[1], "!", 1); }
static void until_ready(void) { char c; READ(sync_pipe[0], &c, 1); }

static void foreground(long group) { int g = group; block_signals(0, SIGBIT(TTOU)); IO(slave, TIOCSPGRP, &g); block_signals(1, SIGBIT(TTOU)); }

static void stop_of(const char *what, long pid)
{
	int status = -1;
	long got = sys(__NR_wait4, pid, &status, 2 | 8, 0);
	say("%s %s %x\n", what, got == pid ? "is" : "is not", (long)status);
}

/* a child in a group of its own, in the background */
#define BACKGROUND(...) ({ long pid_ = fork(); if (!pid_) { sys(__NR_setpgid, 0, 0); __VA_ARGS__; leave(0); } sys(__NR_setpgid, pid_, pid_); pid_; })

static void in_background(void)
{
	static char buf[64];
	long pid;
	int mine = sys(__NR_getpid), g;
	sys(__NR_fcntl, slave, F_SETFL, O_RDWR);
	pid = BACKGROUND(bytes("read", READ(slave, buf, 64), buf));
	stop_of("reader", pid);
	sys(__NR_kill, pid, CONT);
	stop_of("reader", pid);
	stop_of("reader again", pid);
	type(master, "hello\n");
	foreground(pid);
	sys(__NR_kill, -pid, CONT);
	stop_of("reader", pid);
	stop_of("reader", pid);
	foreground(mine);
	pid = BACKGROUND(on_signal(TTIN, (void *)1, 0); say("ignored read %r\n", READ(slave, buf, 1)));
	stop_of("ignoring", pid);
	pid = BACKGROUND(block_signals(0, SIGBIT(TTIN)); say("blocked read %r\n", READ(slave, buf, 1)));
	stop_of("blocking", pid);
	pid = BACKGROUND(on_signal(TTIN, note, 0); say("caught read %r", READ(slave, buf, 1)); say(" %d\n", seen[TTIN]));
	stop_of("catching", pid);
	pid = BACKGROUND(say("writes %r\n", WRITE(slave, "w", 1)));
	stop_of("writing", pid);
	IO(slave, TCGETS, &t);
	t.c_lflag |= TOSTOP;
	IO(slave, TCSETS, &t);
	pid = BACKGROUND(say("writes %r\n", WRITE(slave, "w", 1)));
	stop_of("tostop", pid);
	sys(__NR_kill, pid, 9);
	stop_of("tostop", pid);
	pid = BACKGROUND(on_signal(TTOU, (void *)1, 0); say("ignored write %r\n", WRITE(slave, "w", 1)));
	stop_of("ignoring", pid);
	pid = BACKGROUND(block_signals(0, SIGBIT(TTOU)); say("blocked write %r\n", WRITE(slave, "w", 1)));
	stop_of("blocking", pid);
	pid = BACKGROUND(on_signal(TTOU, note, 0); say("caught write %r", WRITE(slave, "w", 1)); say(" %d\n", seen[TTOU]));
	stop_of("catching", pid);
	t.c_lflag &= ~TOSTOP;
	IO(slave, TCSETS, &t);
	pid = BACKGROUND(on_signal(TTOU, note, 0);
			 say("changes: set %r", IO(slave, TCSETS, &t));
			 say(" of nothing %r", IO(slave, TCSETS, 8));
			 say(" flush %r", IO(slave, TCFLSH, TCIFLUSH));
			 say(" none %r", IO(slave, TCFLSH, 9));
			 say(" stop %r", IO(slave, TCXONC, TCOON));
			 say(" break %r", IO(slave, TCSBRK, 1));
			 say(" group %r", IO(slave, TIOCSPGRP, &mine));
			 say(" size %r", IO(slave, TIOCSWINSZ, buf));
			 say(" input %r", IO(slave, TIOCSTI, buf));
			 say(" get %r", IO(slave, TCGETS, &t));
			 say(" ldisc %r", IO(slave, TIOCSETD, &seen[60]));
			 say(" locks %r", IO(slave, TIOCSLCKTRMIOS, &t));
			 say(" %d\n", seen[TTOU]));
	stop_of("changing", pid);
	pid = BACKGROUND(say("tries %r\n", IO(slave, TCSETS, &t)));
	stop_of("changer", pid);
	sys(__NR_kill, pid, CONT);
	stop_of("changer", pid);
	stop_of("changer", pid);
	sys(__NR_kill, pid, 9);
	stop_of("changer", pid);
	pid = BACKGROUND(on_signal(TTOU, (void *)1, 0); say("ignoring set %r", IO(slave, TCSETS, &t)); g = sys(__NR_getpid);
			 say(" group %r\n", IO(slave, TIOCSPGRP, &g)));
	stop_of("setting", pid);
	foreground(mine);
	/* ^Z and the foreground group */
	pid = BACKGROUND(until_ready(); for (;;) nap(1000));
	foreground(pid);
	ready();
	nap(20);
	type(master, "\032");
	stop_of("suspended", pid);
	sys(__NR_kill, pid, CONT);
	stop_of("goes on", pid);
	type(master, "\003");
	stop_of("interrupted", pid);
	foreground(mine);
	/* a member of the session that is no leader gives it up */
	pid = BACKGROUND(say("notty %r", IO(slave, TIOCNOTTY, 0)); say(" %r read %r\n", opened("/dev/tty", O_RDWR), IO(slave, TIOCGPGRP, &g)));
	stop_of("gave up", pid);
	say("still mine %d\n", opened("/dev/tty", O_RDWR) > 0);
	take("left", master);
}

static void orphans(void)
{
	static char buf[64];
	long pid = fork();
	if (!pid) { /* a shell's job whose parent ends: its group is orphaned */
		long inner;
		sys(__NR_setpgid, 0, 0);
		inner = fork();
		if (!inner) {
			on_signal(HUP, note, 0);
			on_signal(CONT, note, 0);
			ready();
			sys(__NR_kill, sys(__NR_getpid), 19);
			say("went on: hup %d cont %d\n", seen[HUP], seen[CONT]);
			say("orphan reads %r", READ(slave, buf, 1));
			t.c_lflag |= TOSTOP;
			say(" sets %r", IO(slave, TCSETS, &t));
			say(" flushes %r", IO(slave, TCFLSH, TCIFLUSH));
			say(" groups %r\n", IO(slave, TIOCSPGRP, &seen[60]));
			sys(__NR_kill, sys(__NR_getpid), TSTP);
			sys(__NR_kill, sys(__NR_getpid), TTIN);
			say("not stopped\n");
			ready();
			leave(0);
		}
		until_ready();
		nap(50);
		leave(0);
	}
	wait_for(pid);
	until_ready();
	nap(20);
}

static void session(void)
{
	long pid = fork(), inner;
	if (!pid) {
		int n = -1, mine = sys(__NR_setsid);
		say("setsid again %r", sys(__NR_setsid));
		say(" setpgid %r", sys(__NR_setpgid, 0, 0));
		say(" negative %r", sys(__NR_setpgid, 0, -1));
		say(" of nobody %r", sys(__NR_setpgid, 99999, 0));
		say(" of a parent %r\n", sys(__NR_setpgid, sys(__NR_getppid), 0));
		say("getsid %d of 1 %r of nobody %r pgid %d %r\n", sys(__NR_getsid, 0) == mine, sys(__NR_getsid, 99999), sys(__NR_getsid, -1), sys(__NR_getpgid, 0) == mine, sys(__NR_getpgid, -5));
		inner = fork();
		if (!inner) {
			say("to no group %r", sys(__NR_setpgid, 0, 99998));
			say(" into another session %r", sys(__NR_setpgid, 0, 1));
			say(" sctty of a child %r\n", IO(slave, TIOCSCTTY, 0));
			leave(0);
		}
		wait_for(inner);
		sys(__NR_pipe2, sync_pipe, 0);
		fresh(1);
		say("mine %r", IO(slave, TIOCGSID, &n));
		say(" %d\n", n == mine);
		in_background();
		orphans();
		/* the end of a session */
		sys(__NR_fcntl, slave, F_SETFL, O_RDWR);
		inner = BACKGROUND(on_signal(HUP, note, 0); on_signal(CONT, note, 0); foreground(sys(__NR_getpid)); ready();
				   while (!seen[HUP]) nap(10); nap(200);
				   say("fore: hup %d cont %d", seen[HUP], seen[CONT]);
				   say(" tty %r", opened("/dev/tty", O_RDWR));
				   say(" read %r write %r", READ(slave, &n, 1), WRITE(slave, "x", 1));
				   say(" poll %x", (long)polled(slave, POLLIN | POLLOUT));
				   say(" ioctl %r %r\n", IO(slave, TCGETS, &t), IO(slave, TIOCGPGRP, &n)));
		until_ready();
		BACKGROUND(on_signal(HUP, note, 0); on_signal(CONT, note, 0); nap(600); say("back: hup %d cont %d\n", seen[HUP], seen[CONT]));
		nap(20);
		leave(5);
	}
	say("leader %x\n", (long)wait_for(pid));
	nap(1200);
	/* TIOCNOTTY of a leader, and whose terminal it is then */
	pid = fork();
	if (!pid) {
		int n, mine = sys(__NR_setsid);
		on_signal(HUP, note, 0);
		on_signal(CONT, note, 0);
		fresh(1);
		say("notty of a leader %r", IO(slave, TIOCNOTTY, 0));
		say(" hup %d cont %d", seen[HUP], seen[CONT]);
		say(" again %r", IO(slave, TIOCNOTTY, 0));
		say(" tty %r", opened("/dev/tty", O_RDWR));
		say(" write %r", WRITE(slave, "x", 1));
		say(" sctty %r", IO(slave, TIOCSCTTY, 0));
		say(" pgrp %r", IO(master, TIOCGPGRP, &n));
		say(" %d\n", n == mine);
		inner = fork();
		if (!inner) { /* another session wants it */
			sys(__NR_setsid);
			say("other's %r", IO(slave, TIOCSCTTY, 0));
			say(" stolen %r", IO(slave, TIOCSCTTY, 1));
			say(" group %r\n", IO(slave, TIOCGPGRP, &n));
			leave(0);
		}
		wait_for(inner);
		say("lost %r %r hup %d\n", opened("/dev/tty", O_RDWR), IO(slave, TIOCGPGRP, &n), seen[HUP]);
		say("back %r", IO(slave, TIOCSCTTY, 0));
		say(" vhangup %r", sys(__NR_vhangup));
		say(" hup %d read %r write %r\n", seen[HUP], READ(slave, &n, 1), WRITE(slave, "x", 1));
		take("master", master);
		say("poll %x %x\n", (long)polled(slave, POLLIN | POLLOUT), (long)polled(master, POLLIN | POLLOUT));
		IO(master, TIOCGPTN, &n);
		sys(__NR_close, slave);
		slave = opened(named("/dev/pts/", n), O_RDWR | O_NONBLOCK);
		type(slave, "anew");
		take("reopened", master);
		say("ioctl %r\n", IO(slave, TIOCVHANGUP, 0));
		say("hung up %r %r\n", READ(slave, &n, 1), WRITE(slave, "x", 1));
		leave(0);
	}
	say("leader %x\n", (long)wait_for(pid));
	/* write-only does not become one's own */
	pid = fork();
	if (!pid) {
		int n;
		sys(__NR_setsid);
		fresh(0);
		IO(master, TIOCGPTN, &n);
		slave = opened(named("/dev/pts/", n), O_WRONLY);
		say("write-only %r", opened("/dev/tty", O_RDWR));
		slave = opened(named("/dev/pts/", n), O_RDONLY);
		say(" read-only %d\n", opened("/dev/tty", O_RDWR) > 0);
		sys(__NR_close, master);
		leave(0);
	}
	say("leader %x\n", (long)wait_for(pid));
}

static void closing(void)
{
	static char buf[64];
	long second;
	int n;
	fresh(0);
	type(slave, "left");
	sys(__NR_close, slave);
	take("what was left", master);
	take("then", master);
	say("poll %x", (long)polled(master, POLLIN | POLLOUT));
	say(" write %r\n", WRITE(master, "for nobody\n", 11));
	second = IO(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_NONBLOCK);
	take("peer", second);
	take("peer again", second);
	say("bad flags %d", (int)(IO(master, TIOCGPTPEER, -1) > 0));
	n = 1;
	say(" lock %r", IO(master, TIOCSPTLCK, &n));
	IO(master, TIOCGPTN, &n);
	say(" locked %r peer %r\n", opened(named("/dev/pts/", n), O_RDWR | O_NOCTTY), IO(master, TIOCGPTPEER, O_RDWR | O_NOCTTY));
	sys(__NR_close, master);
	say("no master %r write %r poll %x\n", READ(second, buf, 1), WRITE(second, "x", 1), (long)polled(second, POLLIN | POLLOUT));
	say("ioctl %r %r open %r\n", IO(second, TCGETS, &t), IO(second, TIOCGPTN, &n), opened(named("/dev/pts/", n), O_RDWR));
	master = 0;
}

int main(int argc, char **argv)
{
	sys(__NR_mkdirat, AT_FDCWD, "/dev/pts", 0755), sys(__NR_mount, "devpts", "/dev/pts", "devpts", 0, "mode=600");
	on_signal(INT, 0, 0); /* a shell may have had it ignored */
	lines();
	patience();
	packets();
	others();
	session();
	closing();
	return 0;
}
