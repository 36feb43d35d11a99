/* sched_setattr(2) and its older kin: every policy with odd flags, priorities and times, by root and by others; what sched_getattr(2) says afterwards. not: s390x i386 */
#include "tiny.h"
struct attr { unsigned size, policy; unsigned long long flags; int nice; unsigned prio; unsigned long long runtime, deadline, period; unsigned min, max; };
static unsigned seed = 5;
static unsigned rnd(unsigned n) { seed = seed * 1103515245u + 12345u; return (seed >> 16) % n; }
static void state(void)
{
	struct attr a;
	int p = -1;
	memset(&a, 0, sizeof(a));
	long r = sys(__NR_sched_getattr, 0, &a, sizeof(a), 0);
	say(" -> %r size %d policy %d flags %L nice %d prio %d %L %L %L util %d %d", r, a.size, a.policy, a.flags, a.nice, a.prio, a.runtime, a.deadline, a.period, a.min, a.max);
	say(" %r %r", sys(__NR_sched_getscheduler, 0), sys(__NR_sched_getparam, 0, &p));
	say(" %d getpriority %r\n", p, sys(__NR_getpriority, 0, 0));
}
static void one(void)
{
	static const unsigned long long flags[] = { 0, 0, 0, 1, 2, 4, 8, 0x10, 0x18, 0x20, 0x40, 0x60, 0x7f, 0x80, 3 }, times[] = { 0, 1, 1023, 1024, 100000, 1000000, 2000000, 10000000, 4000000000ULL, 5000000000ULL, 1ULL << 63, ~0ULL };
	static const unsigned sizes[] = { 0, 47, 48, 49, 56, 57, 64, 4096, 4097 }, prios[] = { 0, 0, 0, 1, 5, 99, 100, 0xffffffff };
	static const int nices[] = { 0, 0, 5, -5, 19, 20, -20, -21, 1000 };
	struct attr a[80] = { { 0 } };
	a->size = rnd(4) ? 48 : sizes[rnd(9)];
	a->policy = rnd(10) ? rnd(8) : rnd(2) ? 0x40000000 | rnd(7) : 0xffffffff;
	a->flags = flags[rnd(15)];
	a->nice = nices[rnd(9)];
	a->prio = prios[rnd(8)];
	a->runtime = times[rnd(12)];
	a->deadline = rnd(2) ? times[rnd(12)] : 10000000;
	a->period = rnd(2) ? 0 : times[rnd(12)];
	if (a->size > 48) a->min = rnd(3) ? 0 : 1000, a->max = rnd(3) ? 1024 : 2000;
	if (!rnd(6)) {
		int prio = a->prio;
		say("setscheduler %d %d: %r", (int)a->policy, prio, sys(__NR_sched_setscheduler, 0, a->policy, &prio));
	} else if (!rnd(8)) {
		int prio = a->prio;
		say("setparam %d: %r", prio, sys(__NR_sched_setparam, 0, &prio));
	} else if (!rnd(8))
		say("setpriority %d: %r", a->nice, sys(__NR_setpriority, 0, 0, a->nice));
	else {
		say("size %d policy %x flags %x nice %d prio %d %L %L %L:", a->size, (long)a->policy, (long)a->flags, a->nice, (int)a->prio, a->runtime, a->deadline, a->period);
		long r = sys(__NR_sched_setattr, 0, a, rnd(30) ? 0 : 1);
		say(" %r", r);
		if (a->size && r == -E2BIG) say(" size %d", a->size);
	}
	state();
}
int main(int argc, char **argv)
{
	for (int who = 0; who < 4; who++) {
		long p = fork();
		if (!p) {
			static unsigned long long rt[2] = { 10, 10 }, nice[2] = { 25, 25 };
			seed = 50 + who;
			if (who >= 2) {
				if (who == 3)
					sys(__NR_prlimit64, 0, 14, rt, 0), sys(__NR_prlimit64, 0, 13, nice, 0);
				sys(__NR_setuid, 1000);
			}
			say("%s\n", who < 2 ? "root" : who == 2 ? "nobody" : "nobody with limits");
			for (int i = 0; i < 120; i++)
				one();
			leave(0);
		}
		wait_for(p);
	}
	for (int i = -1; i < 8; i++)
		say("max %r min %r\n", sys(__NR_sched_get_priority_max, i), sys(__NR_sched_get_priority_min, i));
	static char big[5000];
	T(__NR_sched_getattr, 0, big, 47, 0);
	T(__NR_sched_getattr, 0, big, 48, 0);
	T(__NR_sched_getattr, 0, big, 4096, 0);
	T(__NR_sched_getattr, 0, big, 4097, 0);
	T(__NR_sched_getattr, 0, big, 48, 1);
	T(__NR_sched_getattr, -1, big, 48, 0);
	T(__NR_sched_getattr, 0, 0, 48, 0);
	T(__NR_sched_setattr, 0, 0, 0);
	T(__NR_sched_setattr, -1, big, 0);
	T(__NR_sched_setattr, 99999, big, 0);
	T(__NR_sched_setscheduler, -1, 0, big);
	T(__NR_sched_setscheduler, 0, -1, big);
	T(__NR_sched_setscheduler, 0, 0, 0);
	T(__NR_sched_setscheduler, 99999, 0, big);
	T(__NR_sched_getscheduler, -1);
	T(__NR_sched_getparam, 0, 0);
	T(__NR_sched_getparam, -1, big);
	T(__NR_sched_rr_get_interval, -1, big);
	T(__NR_sched_rr_get_interval, 99999, big);
	T(__NR_sched_rr_get_interval, 0, 1);
	T(__NR_sched_getaffinity, 0, 0, big);
	T(__NR_sched_getaffinity, 0, 7, big);
	T(__NR_sched_getaffinity, 0, 12, big);
	T(__NR_sched_setaffinity, 0, 0, big);
	T(__NR_sched_setaffinity, 0, 8, 0);
	T(__NR_sched_setaffinity, 99999, 8, big + 8);
	return 0;
}
