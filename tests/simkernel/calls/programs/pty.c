/* Pseudo-terminals: the pair, lines and their editing, control characters, job control, packet mode, hang-up. */
#include "tiny.h"
#include "tiny_tty.h"
#include <asm/termbits.h>
#include <asm/ioctls.h>
#include <linux/tty.h>

#define mount_pts() (sys(__NR_mkdirat, AT_FDCWD, "/dev/pts", 0755), sys(__NR_mount, "devpts", "/dev/pts", "devpts", 0, "mode=600"))
#define opened(path, flags) sys(__NR_openat, AT_FDCWD, path, flags, 0)

static void type(long fd, const char *text) { sys(__NR_write, fd, text, strlen(text)); }

static void poll_one(const char *what, long fd)
{
	say("%s %x\n", what, (long)polled(fd, POLLIN | POLLOUT | POLLPRI));
}

static long master, slave;

static void modes(const char *what, long fd)
{
	struct termios t;
	say("%s %r:", what, sys(__NR_ioctl, fd, TCGETS, &t));
	say(" %x %x %x %x %d cc", (long)t.c_iflag, (long)t.c_oflag, (long)t.c_cflag, (long)t.c_lflag, t.c_line);
	for (int i = 0; i < 17; i++)
		say(" %d", t.c_cc[i]);
	say("\n");
}

static void change(unsigned set, unsigned clear, int min, int time)
{
	struct termios t;
	sys(__NR_ioctl, slave, TCGETS, &t);
	t.c_lflag = (t.c_lflag | set) & ~clear;
	t.c_cc[VMIN] = min;
	t.c_cc[VTIME] = time;
	say("modes %r\n", sys(__NR_ioctl, slave, TCSETS, &t));
}

static void pair(void)
{
	int n = -1, on = 0, lock = -1;
	master = opened("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
	say("number %r", sys(__NR_ioctl, master, TIOCGPTN, &n));
	say(" %d\n", n);
	say("locked %r", opened("/dev/pts/0", O_RDWR | O_NOCTTY));
	sys(__NR_ioctl, master, TIOCGPTLCK, &lock);
	say(" %d", lock);
	say(" unlock %r\n", sys(__NR_ioctl, master, TIOCSPTLCK, &on));
	take("before", master);
	say("early %r\n", sys(__NR_write, master, "early\n", 6));
	take("its echo", master);
	slave = opened("/dev/pts/0", O_RDWR | O_NOCTTY);
	say("slave %d %r\n", slave > master, sys(__NR_ioctl, slave, TIOCGPTN, &n));
	modes("slave", slave);
	modes("master", master);
	sys(__NR_fcntl, slave, F_SETFL, O_RDWR | O_NONBLOCK);
	take("early line", slave);
	take("nothing", slave);
	poll_one("poll slave", slave);
	poll_one("poll master", master);
}

static void editing(void)
{
	int n;
	type(master, "hello\r");
	take("line", slave);
	take("echo", master);
	type(master, "ab\177\177xyz one  two\027three\n");
	take("erased", slave);
	take("echo", master);
	type(master, "kill me\025done\n\025");
	take("killed", slave);
	take("echo", master);
	type(master, "a\tb\t\177\177c\n");
	take("tabs", slave);
	take("echo", master);
	type(master, "\001\002\177x\026\003y\n");
	take("controls", slave);
	take("echo", master);
	type(master, "part");
	take("no line yet", slave);
	sys(__NR_ioctl, slave, FIONREAD, &n);
	say("waiting %d\n", n);
	type(master, "\022");
	take("reprint", master);
	type(master, "\004");
	sys(__NR_ioctl, slave, FIONREAD, &n);
	say("waiting %d\n", n);
	take("pushed", slave);
	type(master, "\004");
	take("end", slave);
	type(master, "one\ntwo\nthree\004");
	take("first", slave);
	take("second", slave);
	take("third", slave);
	take("echo", master);
	sys(__NR_write, slave, "a\nb\tc\rd\n", 8);
	take("output", master);
	{
		static char many[6000];
		memset(many, 'x', sizeof(many));
		change(0, ECHO, 1, 0);
		say("long %r\n", sys(__NR_write, master, many, 5000));
		type(master, "\n");
		nap(20);
		say("read %r", sys(__NR_read, slave, many, sizeof(many)));
		say(" then %r\n", sys(__NR_read, slave, many, sizeof(many)));
		change(ECHO, 0, 1, 0);
	}
}

static void raw(void)
{
	char buf[64];
	type(master, "keep");
	change(0, ICANON | ECHO, 1, 0);
	take("was typed", slave);
	type(master, "a\003b\n");
	take("isig", slave);
	change(0, ISIG, 1, 0);
	type(master, "a\003b\r\n");
	take("raw", slave);
	sys(__NR_fcntl, slave, F_SETFL, O_RDWR);
	change(0, 0, 0, 2);
	say("time %r\n", sys(__NR_read, slave, buf, 10));
	change(0, 0, 5, 1);
	type(master, "xyz");
	bytes("between", sys(__NR_read, slave, buf, 10), buf);
	change(0, 0, 0, 0);
	bytes("at once", sys(__NR_read, slave, buf, 10), buf);
	type(master, "again");
	change(ICANON | ECHO | ISIG, 0, 1, 0);
	sys(__NR_fcntl, slave, F_SETFL, O_RDWR | O_NONBLOCK);
	take("canonical", slave);
	take("rest", master);
}

static void flow(void)
{
	int n = 1;
	type(master, "\023");
	nap(20);
	say("stopped %r\n", sys(__NR_write, slave, "later\n", 6));
	take("held", master);
	type(master, "\021");
	take("nothing was", master);
	say("ooff %r\n", sys(__NR_ioctl, slave, TCXONC, TCOOFF));
	say("write %r\n", sys(__NR_write, slave, "x", 1));
	say("oon %r\n", sys(__NR_ioctl, slave, TCXONC, TCOON));
	say("write %r bad %r\n", sys(__NR_write, slave, "x", 1), sys(__NR_ioctl, slave, TCXONC, 9));
	take("x", master);
	type(master, "lost\n");
	nap(20);
	say("flush %r", sys(__NR_ioctl, slave, TCFLSH, TCIFLUSH));
	say(" bad %r\n", sys(__NR_ioctl, slave, TCFLSH, 7));
	take("flushed", slave);
	take("echo", master);
	say("packet %r\n", sys(__NR_ioctl, master, TIOCPKT, &n));
	sys(__NR_write, slave, "pkt", 3);
	take("data", master);
	sys(__NR_ioctl, slave, TCFLSH, TCIOFLUSH);
	poll_one("poll packet", master);
	take("flushes", master);
	sys(__NR_ioctl, slave, TCXONC, TCOOFF);
	take("stop", master);
	sys(__NR_ioctl, slave, TCXONC, TCOON);
	take("start", master);
	n = 0;
	sys(__NR_ioctl, master, TIOCPKT, &n);
	{
		unsigned short size[4] = { 11, 22, 33, 44 }, got[4] = { 0 };
		say("size %r", sys(__NR_ioctl, master, TIOCSWINSZ, size));
		say(" %r", sys(__NR_ioctl, slave, TIOCGWINSZ, got));
		say(" %d %d\n", got[0], got[3]);
	}
	n = -1;
	say("ldisc %r", sys(__NR_ioctl, slave, TIOCGETD, &n));
	say(" %d outq %r", n, sys(__NR_ioctl, slave, TIOCOUTQ, &n));
	say(" %d", n);
	say(" mget %r unknown %r pgrp %r sid %r\n", sys(__NR_ioctl, slave, TIOCMGET, &n), sys(__NR_ioctl, slave, 0x5499, &n),
	    sys(__NR_ioctl, slave, TIOCGPGRP, &n), sys(__NR_ioctl, slave, TIOCGSID, &n));
	say("seek %r master pgrp %r", sys(__NR_lseek, slave, 0, 0), sys(__NR_ioctl, master, TIOCGPGRP, &n));
	say(" %d\n", n);
}

static volatile int seen[65];
static void note(int sig, void *info, void *context) { seen[sig]++; }

static void session(void)
{
	long pid = fork();
	int status;
	if (!pid) {
		int mine, n = -1, group;
		char buf[16];
		say("no terminal %r\n", opened("/dev/tty", O_RDWR));
		sys(__NR_setsid);
		mine = sys(__NR_getpid);
		say("sctty %r", sys(__NR_ioctl, slave, TIOCSCTTY, 0));
		say(" again %r\n", sys(__NR_ioctl, slave, TIOCSCTTY, 0));
		say("pgrp %r", sys(__NR_ioctl, slave, TIOCGPGRP, &n));
		say(" %d", n == mine);
		n = -1;
		say(" sid %r", sys(__NR_ioctl, slave, TIOCGSID, &n));
		say(" %d", n == mine);
		n = -1;
		say(" master %r", sys(__NR_ioctl, master, TIOCGPGRP, &n));
		say(" %d\n", n == mine);
		on_signal(2, note, 0);
		on_signal(3, note, 0);
		on_signal(28, note, 0);
		type(master, "gone\003");
		nap(20);
		say("int %d", seen[2]);
		type(master, "\034");
		nap(20);
		say(" quit %d", seen[3]);
		unsigned short size[4] = { 1, 2, 3, 4 };
		sys(__NR_ioctl, master, TIOCSWINSZ, size);
		say(" winch %d", seen[28]);
		say(" sig %r", sys(__NR_ioctl, master, 0x40045436, 2));
		say(" %d", seen[2]);
		say(" %r\n", sys(__NR_ioctl, master, 0x40045436, 9));
		take("echoes", master);
		take("no line", slave);
		long own = opened("/dev/tty", O_RDWR);
		say("own %d\n", own > 2);
		type(own, "x");
		take("own", master);
		group = 0x7ffffff;
		say("no group %r", sys(__NR_ioctl, slave, TIOCSPGRP, &group));
		group = -1;
		say(" negative %r", sys(__NR_ioctl, slave, TIOCSPGRP, &group));
		group = 1;
		say(" other session %r\n", sys(__NR_ioctl, slave, TIOCSPGRP, &group));
		pid = fork();
		if (!pid) {
			sys(__NR_setpgid, 0, 0);
			on_signal(21, note, 0); /* SIGTTIN without SA_RESTART semantics: the call is restarted */
			block_signals(0, SIGBIT(22));
			group = sys(__NR_getpid);
			say("fg %r\n", sys(__NR_ioctl, slave, TIOCSPGRP, &group));
			block_signals(1, SIGBIT(22));
			sys(__NR_ioctl, slave, TIOCGPGRP, &n);
			say("is fg %d\n", n == group);
			group = sys(__NR_getpgid, sys(__NR_getppid));
			say("back %r\n", sys(__NR_ioctl, slave, TIOCSPGRP, &group));
			block_signals(0, SIGBIT(21));
			say("blocked ttin %r\n", sys(__NR_read, slave, buf, 10));
			block_signals(1, SIGBIT(21));
			say("background write %r\n", sys(__NR_write, slave, "bg", 2));
			change(TOSTOP, 0, 1, 0);
			leave(9);
		}
		status = -1;
		say("wait %d", sys(__NR_wait4, pid, &status, 2, 0) == pid);
		say(" stopped by %x\n", (long)status);
		sys(__NR_kill, pid, 9);
		wait_for(pid);
		take("bg", master);
		say("notty %r", sys(__NR_ioctl, slave, TIOCNOTTY, 0));
		say(" %r\n", opened("/dev/tty", O_RDWR));
		leave(0);
	}
	say("session ended %x\n", (long)wait_for(pid));
}

static void hangup(void)
{
	char buf[16];
	long second, pid, link[2];
	int n = 0, status;
	sys(__NR_close, slave);
	take("no slave", master);
	poll_one("poll", master);
	say("write %r\n", sys(__NR_write, master, "kept\n", 5));
	slave = opened("/dev/pts/0", O_RDWR | O_NOCTTY | O_NONBLOCK);
	take("again", slave);
	poll_one("poll", master);
	sys(__NR_pipe2, link, 0);
	second = opened("/dev/ptmx", O_RDWR | O_NOCTTY);
	sys(__NR_ioctl, second, TIOCSPTLCK, &n);
	sys(__NR_ioctl, second, TIOCGPTN, &n);
	pid = fork();
	if (!pid) {
		long fd;
		sys(__NR_close, second);
		sys(__NR_setsid);
		fd = opened("/dev/pts/1", O_RDWR);
		on_signal(1, note, 0);
		on_signal(18, note, 0);
		say("ready %d\n", fd > 2);
		while (!seen[1])
			nap(10);
		say("hup %d cont %d\n", seen[1], seen[18]);
		say("read %r write %r ioctl %r\n", sys(__NR_read, fd, buf, 4), sys(__NR_write, fd, "x", 1), sys(__NR_ioctl, fd, TIOCGPGRP, &n));
		poll_one("poll", fd);
		say("tty %r pts %r\n", opened("/dev/tty", O_RDWR), opened("/dev/pts/1", O_RDWR));
		leave(3);
	}
	nap(100);
	say("second %d\n", n);
	sys(__NR_close, second);
	status = wait_for(pid);
	say("child %x\n", (long)status);
	say("one more %d\n", sys(__NR_ioctl, opened("/dev/ptmx", O_RDWR), TIOCGPTN, &n) == 0 ? n : -1);
	{
		long peer = sys(__NR_ioctl, master, 0x5441, O_RDWR | O_NOCTTY);
		say("peer %d", peer > 2);
		say(" write %r\n", sys(__NR_write, peer, "p", 1));
		take("p", master);
	}
}

int main(int argc, char **argv)
{
	mount_pts();
	pair();
	editing();
	raw();
	flow();
	session();
	hangup();
	return 0;
}
