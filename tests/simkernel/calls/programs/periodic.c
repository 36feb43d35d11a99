/* Periodic timers: they go on when their signal is taken; what is told of those that came meanwhile. not: i386 (its timers take 32-bit times) */
#include "tiny.h"
#include <asm/siginfo.h>
#include <asm/signal.h>

struct its { struct __kernel_timespec interval, value; };
struct itv { long interval[2], value[2]; };
static volatile int came, over, code;
static void handler(int sig, void *info, void *context) { siginfo_t *i = info; came++; code = i->si_code; if (i->si_overrun > over) over = i->si_overrun; }

static int make(int clock, int how, int sig)
{
	struct sigevent e;
	int id = -1;

	memset(&e, 0, sizeof(e));
	e.sigev_notify = how;
	e.sigev_signo = sig;
	say("create %r\n", sys(__NR_timer_create, clock, &e, &id));
	return id;
}

static void set(int id, int flags, long long value, long long interval)
{
	struct its t = { { interval / 1000000000, interval % 1000000000 }, { value / 1000000000, value % 1000000000 } };
	long r = sys(__NR_timer_settime, id, flags, &t, 0);
	if (r)
		say("set %r\n", r);
}

static const char *size(long long n) { return n < 0 ? "negative" : !n ? "0" : n == 0x7fffffff ? "the most" : n < 10 ? "few" : n < 1000 ? "hundreds" : "many"; }

static void show(const char *what, int id)
{
	struct its t = { { 9, 9 }, { 9, 9 } };
	long long left;

	sys(__NR_timer_gettime, id, &t);
	left = t.value.tv_sec * 1000000000LL + t.value.tv_nsec;
	say("%s: left %s, interval %L, came %s, overrun %s, getoverrun %s\n", what, !left ? "0" : left == 1 ? "1 ns" : left <= t.interval.tv_nsec + t.interval.tv_sec * 1000000000LL ? "below its interval" : "more",
	    (long long)t.interval.tv_nsec, size(came), size(over), size(sys(__NR_timer_getoverrun, id)));
	came = over = 0;
}

static void spin(long ms)
{
	struct __kernel_timespec a, b;

	sys(__NR_clock_gettime, 1, &a);
	do
		sys(__NR_clock_gettime, 1, &b);
	while ((b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec < ms * 1000000LL);
}

static void real_timer(void)
{
	struct itv v = { { 0, 2000 }, { 0, 2000 } }, old;

	block_signals(0, SIGBIT(SIGALRM));
	sys(__NR_setitimer, 0, &v, 0);
	nap(50);
	sys(__NR_getitimer, 0, &old);
	say("blocked: interval %l left %s\n", old.interval[1], old.value[0] || old.value[1] ? "some" : "0");
	block_signals(1, SIGBIT(SIGALRM));
	say("taken: came %s\n", size(came));
	sys(__NR_getitimer, 0, &old);
	say("goes on: left %s\n", old.value[0] || old.value[1] ? "some" : "0");
	came = 0;
	spin(50);
	say("in 50 ms: %s\n", size(came));
	on_signal(SIGALRM, (void *)1, 0);
	spin(20);
	sys(__NR_getitimer, 0, &old);
	say("ignored: interval %l left %s\n", old.interval[1], old.value[0] || old.value[1] ? "some" : "0");
	on_signal(SIGALRM, handler, 4);
	came = 0;
	spin(50);
	say("handled again: %s\n", size(came));
	sys(__NR_kill, sys(__NR_getpid), SIGALRM);
	spin(50);
	say("after a kill: %s\n", size(came));
	v.interval[1] = v.value[1] = 0;
	sys(__NR_setitimer, 0, &v, 0);
}

int main(int argc, char **argv)
{
	int id;
	struct __kernel_timespec now;

	on_signal(SIGUSR1, handler, 4);
	on_signal(SIGALRM, handler, 4);
	id = make(1, SIGEV_SIGNAL, SIGUSR1);
	show("fresh", id);
	set(id, 0, 1000000, 0);
	nap(10);
	show("once", id);
	block_signals(0, SIGBIT(SIGUSR1));
	set(id, 0, 1000000, 2000000);
	nap(100);
	show("blocked", id);
	block_signals(1, SIGBIT(SIGUSR1));
	show("taken", id);
	block_signals(0, SIGBIT(SIGUSR1));
	set(id, 0, 0, 0);
	came = over = 0;
	set(id, 0, 1000000, 1);
	nap(100);
	show("each ns, blocked", id);
	nap(4000);
	block_signals(1, SIGBIT(SIGUSR1));
	set(id, 0, 0, 0);
	say("each ns, taken: overrun %s\n", size(over));
	came = over = 0;
	show("off", id);
	block_signals(0, SIGBIT(SIGUSR1));
	set(id, 0, 1000000, 0);
	nap(10);
	set(id, 0, 1000000, 50000000);
	nap(10);
	block_signals(1, SIGBIT(SIGUSR1));
	set(id, 0, 0, 0);
	show("set again while it waits", id);
	sys(__NR_clock_gettime, 1, &now);
	block_signals(0, SIGBIT(SIGUSR1));
	set(id, 1, now.tv_sec * 1000000000LL + now.tv_nsec - 1000000000LL, 10000000);
	nap(5);
	block_signals(1, SIGBIT(SIGUSR1));
	set(id, 0, 0, 0);
	show("a second ago, each 10 ms", id);
	on_signal(SIGUSR1, (void *)1, 0);
	set(id, 0, 1000000, 1000000);
	nap(20);
	show("ignored", id);
	on_signal(SIGUSR1, handler, 4);
	nap(20);
	set(id, 0, 0, 0);
	say("handled again: %s\n", size(came));
	id = make(1, SIGEV_NONE, 0);
	show("silent, fresh", id);
	set(id, 0, 1000000, 0);
	nap(10);
	show("silent, once, over", id);
	set(id, 0, 1000000000000LL, 0);
	show("silent, once, not yet", id);
	set(id, 0, 1000000, 2000000);
	nap(30);
	show("silent, periodic", id);
	id = make(2, SIGEV_SIGNAL, SIGUSR1);
	set(id, 0, 20000000, 20000000);
	spin(200);
	set(id, 0, 0, 0);
	say("CPU time: came %s\n", size(came));
	came = 0;
	real_timer();
	return 0;
}
