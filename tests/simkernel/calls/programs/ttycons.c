/* TIOCCONS: who may have what is written to the console, and until when. */
#include "tiny.h"
#include "tiny_tty.h"
#include <asm/ioctls.h>
#include <asm/termbits.h>

static long master, slave, console;

static void pair(void)
{
	int zero = 0, number = -1;
	struct termios raw;
	char path[] = "/dev/pts/0";
	master = sys(__NR_open, "/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
	sys(__NR_ioctl, master, TIOCSPTLCK, &zero);
	sys(__NR_ioctl, master, TIOCGPTN, &number);
	path[9] = '0' + number;
	slave = sys(__NR_open, path, O_RDWR | O_NOCTTY);
	sys(__NR_ioctl, slave, TCGETS, &raw);
	raw.c_oflag &= ~OPOST;
	sys(__NR_ioctl, slave, TCSETS, &raw);
	say("pair %d %d\n", master >= 0, slave >= 0);
}
static void ask(const char *what, long fd) { say("%s: %r\n", what, sys(__NR_ioctl, fd, TIOCCONS, 0)); }
static void to_console(const char *text, const char *what)
{
	say("written: %r\n", sys(__NR_write, console, text, strlen(text)));
	take(what, master);
}

int main(int argc, char **argv)
{
	long p, readonly, file;
	sys(__NR_mkdir, "/dev/pts", 0755);
	sys(__NR_mount, "devpts", "/dev/pts", "devpts", 0, "ptmxmode=666");
	pair();
	console = sys(__NR_open, "/dev/console", O_RDWR | O_NOCTTY);
	ask("master", master);
	ask("slave", slave);
	ask("slave again", slave);
	ask("master while it is taken", master);
	to_console("one\n", "the master reads");
	ask("the console takes back", console);
	ask("and again", console);
	ask("slave", slave);
	to_console("two\n", "the master reads");
	sys(__NR_close, slave);
	to_console("three\n", "without a descriptor of the slave");
	sys(__NR_close, master);
	pair();
	ask("another, when the first master is closed", slave);
	to_console("four\n", "the other master reads");
	say("hung up: %r\n", sys(__NR_ioctl, slave, TIOCVHANGUP, 0));
	ask("a slave that was hung up", slave);
	pair();
	ask("a third", slave);
	to_console("five\n", "the third master reads");
	ask("taken back", console);
	readonly = sys(__NR_open, "/dev/pts/1", O_RDONLY | O_NOCTTY);
	if (readonly < 0)
		readonly = sys(__NR_open, "/dev/pts/2", O_RDONLY | O_NOCTTY);
	say("read-only %d\n", readonly >= 0);
	ask("read-only", readonly);
	file = sys(__NR_open, "/tmp/ttycons", O_CREAT | O_RDWR, 0600);
	ask("a file", file);
	p = fork();
	if (!p) {
		sys(__NR_setuid, 1000);
		ask("another user, slave", slave);
		ask("another user, console", console);
		ask("another user, master", master);
		leave(0);
	}
	wait_for(p);
	return 0;
}
