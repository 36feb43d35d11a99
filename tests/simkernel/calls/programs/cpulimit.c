/* RLIMIT_CPU: SIGXCPU at the soft limit and every second behind it, SIGKILL at the hard one; what a busy process is told. */
/* not: i386 */
/* not: s390x: it takes seconds of CPU time */
#include "tiny.h"
static volatile int told;
static void count(int sig, void *info, void *context) { told++; }
static void busy(void) { for (volatile int i = 0; i < 100000; i++) ; }
static long limit(ulong soft, ulong hard)
{
	ulong r[2] = { soft, hard };
	return sys(__NR_setrlimit, 0, r);
}
static void run(const char *what, ulong soft, ulong hard, int handled, int until)
{
	int fds[2], status = 0;
	sys(__NR_pipe, fds);
	long pid = sys(__NR_fork);
	if (!pid) {
		if (handled)
			on_signal(24, count, 0);
		if (handled == 2)
			block_signals(0, 1ull << 23);
		long r = limit(soft, hard);
		sys(__NR_write, fds[1], &r, sizeof(r));
		int last = -1;
		while (!until || told < until) {
			busy();
			if (told != last) {
				last = told;
				sys(__NR_write, fds[1], &last, sizeof(last));
			}
		}
		sys(__NR_exit, 7);
	}
	sys(__NR_close, fds[1]);
	long r = 0;
	int n = -1;
	sys(__NR_read, fds[0], &r, sizeof(r));
	say("%s: setrlimit %r,", what, r);
	while (sys(__NR_read, fds[0], &n, sizeof(n)) == sizeof(n))
		say(" %d", n);
	sys(__NR_wait4, pid, &status, 0, 0);
	sys(__NR_close, fds[0]);
	say(" told, status %d\n", status & 0xff ? -(status & 0x7f) : status >> 8);
}
int main(int argc, char **argv)
{
	run("default", 1, 4, 0, 0);
	run("handled", 1, 2, 1, 0);
	run("hard alone", 1, 1, 1, 0);
	say("soft above hard %r\n", limit(3, 2));
	return 0;
}
