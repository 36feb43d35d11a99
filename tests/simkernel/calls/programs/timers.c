/* Timers by CPU time, and what is told of expirations that nobody took. */
#include "tiny.h"
#include <linux/signal.h>

static volatile int seen[65], overrun = -1;
static void note(int sig, void *info, void *context)
{
	seen[sig]++;
	overrun = ((int *)info)[sizeof(long) == 8 ? 5 : 4];
}

struct spec { struct __kernel_old_timespec interval, value; };
struct val { long is, iu, vs, vu; };
struct event { long value; int signo, notify, tid, pad[16]; };

static void spin(void) { for (volatile long i = 0; i < 3000; i++); }

static long create(int clock, int notify, int sig, int *id)
{
	struct event e = { 5, sig, notify, 0, { 0 } };
	return sys(__NR_timer_create, clock, &e, id);
}

int main(int argc, char **argv)
{
	int id = -1, other;
	struct spec s = { { 0, 0 }, { 0, 20000000 } }, left;
	struct val v = { 0, 0, 0, 30000 }, got;
	on_signal(10, note, 0);
	on_signal(26, note, 0);
	on_signal(27, note, 0);
	say("raw %r", create(4, 0, 10, &id));
	say(" coarse %r notify %r signal %r thread %r\n", create(6, 0, 10, &id), create(1, 9, 10, &id), create(1, 0, 65, &id), create(1, 4, 10, &id));
	say("cpu %r", create(2, 0, 10, &id));
	say(" set %r\n", sys(__NR_timer_settime, id, 0, &s, 0));
	nap(50);
	say("asleep %d\n", seen[10]);
	while (!seen[10])
		spin();
	say("busy %d\n", seen[10]);
	sys(__NR_timer_gettime, id, &left);
	say("left %l %l overrun %r\n", (long)left.value.tv_sec, (long)left.value.tv_nsec, sys(__NR_timer_getoverrun, id));
	sys(__NR_timer_delete, id);
	say("virtual %r", sys(__NR_setitimer, 1, &v, 0));
	nap(60);
	say(" asleep %d", seen[26]);
	say(" get %r", sys(__NR_getitimer, 1, &got));
	say(" %d\n", got.vu > 0 && got.vu <= 40000);
	while (!seen[26])
		spin();
	v.iu = 20000;
	v.vu = 20000;
	say("prof %r\n", sys(__NR_setitimer, 2, &v, 0));
	while (seen[27] < 3)
		spin();
	v.vu = v.iu = 0;
	say("off %r\n", sys(__NR_setitimer, 2, &v, 0));
	say("real time %r", create(1, 0, 10, &other));
	s.interval.tv_nsec = 10000000;
	s.value.tv_nsec = 10000000;
	block_signals(0, SIGBIT(10));
	seen[10] = 0;
	say(" %r\n", sys(__NR_timer_settime, other, 0, &s, 0));
	nap(105);
	block_signals(1, SIGBIT(10));
	s.interval.tv_nsec = s.value.tv_nsec = 0;
	say("once %d overrun %d same %d\n", seen[10], overrun >= 8 && overrun <= 12, (int)sys(__NR_timer_getoverrun, other) == overrun || seen[10] > 1);
	say("none %r deleted %r again %r\n", create(1, 1, 0, &id), sys(__NR_timer_delete, other), sys(__NR_timer_getoverrun, 99));
	{
		int raw[32] = { 0 };
		raw[2] = -1;
		say("queue %r", sys(__NR_rt_tgsigqueueinfo, sys(__NR_getpid), sys(__NR_gettid), 10, raw));
		say(" nobody %r", sys(__NR_rt_tgsigqueueinfo, sys(__NR_getpid), 0x7ffffff, 10, raw));
		raw[2] = 0;
		say(" zero %r", sys(__NR_rt_tgsigqueueinfo, 1, 1, 10, raw));
		say(" negative %r\n", sys(__NR_rt_tgsigqueueinfo, -1, 1, 10, raw));
	}
	return 0;
}
