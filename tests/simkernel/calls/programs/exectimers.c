/* Timers and the signals that wait, before and after execve: what a new program finds. not: i386 (its timers take 32-bit times) */
#include "tiny.h"
#include <asm/siginfo.h>
#include <asm/signal.h>

struct its { struct __kernel_timespec interval, value; };
struct itv { long interval[2], value[2]; };

static void show(const char *when)
{
	unsigned long set[8 / sizeof(long)] = { 0 };
	struct its t;
	struct itv v;

	sys(__NR_rt_sigpending, set, 8);
	say("%s: pending", when);
	for (int sig = 1; sig <= 64; sig++)
		if (set[0] >> (sig - 1) & 1)
			say(" %d", sig);
	say("\n");
	for (int i = 0; i < 4; i++) {
		long r = sys(__NR_timer_gettime, i, &t);
		say("timer %d: %r %s\n", i, r, r ? "" : t.value.tv_sec || t.value.tv_nsec ? "armed" : "idle");
	}
	for (int i = 0; i < 3; i++) {
		sys(__NR_getitimer, i, &v);
		say("itimer %d: %s\n", i, v.value[0] || v.value[1] ? "armed" : "idle");
	}
}

static int make(int clock, int sig, long sec, long nsec)
{
	struct sigevent e;
	struct its t = { { 0, 0 }, { sec, nsec } };
	int id = -1;

	memset(&e, 0, sizeof(e));
	e.sigev_notify = SIGEV_SIGNAL;
	e.sigev_signo = sig;
	say("create %r", sys(__NR_timer_create, clock, &e, &id));
	say(" set %r\n", sys(__NR_timer_settime, id, 0, &t, 0));
	return id;
}

static void take(void)
{
	unsigned long long all = ~0ULL;
	struct __kernel_timespec none = { 0, 0 };
	siginfo_t info;
	long sig;

	while ((sig = sys(__NR_rt_sigtimedwait, &all, &info, &none, 8)) > 0)
		say("took %l code %d\n", sig, info.si_code);
	say("no more: %r\n", sig);
}

static void queue(int sig)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_code = SI_QUEUE;
	say("queue %r\n", sys(__NR_rt_sigqueueinfo, sys(__NR_getpid), sig, &info));
}

int main(int argc, char **argv)
{
	struct itv v = { { 0, 0 }, { 50, 0 } };
	char *again[] = { "exectimers", "again", 0 };

	if (argc > 1) {
		show("after");
		take();
		say("new number %d\n", make(1, SIGUSR1, 100, 0));
		return 0;
	}
	block_signals(0, ~0ULL);
	make(1, SIGUSR1, 0, 1000000);
	make(0, 34, 0, 1000000);
	make(1, 36, 100, 0);
	make(2, 37, 0, 1);
	queue(34);
	queue(35);
	sys(__NR_kill, sys(__NR_getpid), SIGUSR2);
	for (int i = 0; i < 3; i++)
		sys(__NR_setitimer, i, &v, 0);
	for (volatile int i = 0; i < 10000000; i++)
		;
	nap(20);
	show("before");
	if (!fork()) {
		show("child");
		leave(0);
	}
	wait_for(-1);
	say("exec %r\n", sys(__NR_execve, "/proc/self/exe", again, 0));
	return 1;
}
