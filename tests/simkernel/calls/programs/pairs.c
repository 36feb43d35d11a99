/* socketpair(2) of every family, type and protocol, and signals for one thread beyond RLIMIT_SIGPENDING. */
/* not: i386 */
#include "tiny.h"
#include <asm/signal.h>
#include <linux/resource.h>

static void pairs(void)
{
	static const int families[] = { -1, 0, 1, 2, 10, 16, 17, 99 }, protocols[] = { 0, 1, 6, 17, 58, 255, -1, 300 };
	for (unsigned f = 0; f < sizeof(families) / sizeof(*families); f++)
		for (int type = 0; type <= 11; type++) {
			if (type == 10) /* SOCK_PACKET */
				continue;
			say("%d %d:", families[f], type);
			for (unsigned p = 0; p < sizeof(protocols) / sizeof(*protocols); p++) {
				int fds[2] = { -7, -7 };
				long ret = sys(__NR_socketpair, families[f], type, protocols[p], fds);
				if (!ret)
					sys(__NR_close, fds[0]), sys(__NR_close, fds[1]);
				say(" %r", ret);
			}
			say("\n");
		}
}

static void signals(void)
{
	unsigned long blocked = 1UL << (SIGRTMIN - 1) | 1UL << (SIGUSR1 - 1), none[2] = { 0, 0 };
	long pid = sys(__NR_getpid);
	sys(__NR_rt_sigprocmask, SIG_BLOCK, &blocked, 0, 8);
	say("room: %r\n", sys(__NR_tgkill, pid, pid, SIGRTMIN));
	say("limit: %r\n", sys(__NR_setrlimit, RLIMIT_SIGPENDING, none));
	say("tgkill, real-time: %r\n", sys(__NR_tgkill, pid, pid, SIGRTMIN));
	say("tkill, real-time: %r\n", sys(__NR_tkill, pid, SIGRTMIN + 1));
	say("tkill, not queued: %r\n", sys(__NR_tkill, pid, SIGUSR1));
	say("kill, real-time: %r\n", sys(__NR_kill, pid, SIGRTMIN));
	say("no signal: %r\n", sys(__NR_tgkill, pid, pid, 0));
}

int main(int argc, char **argv)
{
	pairs();
	signals();
	flush();
	return 0;
}
