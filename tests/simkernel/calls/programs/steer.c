/* The clock's steering and the classes of the scheduler: what is taken, what is told. not: i386 (whose struct timex is another) */
#include "tiny.h"
#include <linux/timex.h>
static void adjust(const char *what, unsigned modes, long a, long b)
{
	struct __kernel_timex t;
	memset(&t, 0, sizeof t);
	t.modes = modes, t.offset = t.freq = t.maxerror = t.esterror = t.constant = t.tick = t.time.tv_sec = a, t.status = a, t.time.tv_usec = b;
	long r = sys(__NR_clock_adjtime, 0, &t);
	say("%s: %r offset %L freq %L esterror %L status %x constant %L tick %L tai %d\n", what, r, t.offset, t.freq, t.esterror, (long)t.status, t.constant, t.tick, t.tai);
}
struct attr { unsigned size, policy; unsigned long long flags; int nice; unsigned prio; unsigned long long run, dead, period; unsigned min, max; };
static void set(const char *what, unsigned policy, unsigned long long flags, int nice, unsigned prio, unsigned long long run, unsigned long long dead, unsigned long long period)
{
	struct attr a = { 48, policy, flags, nice, prio, run, dead, period }, b;
	struct __kernel_timespec slice = { 0, -1 };
	long r = sys(__NR_sched_setattr, 0, &a, 0);
	memset(&b, 0, sizeof b);
	sys(__NR_sched_getattr, 0, &b, sizeof b, 0);
	sys(__NR_sched_rr_get_interval, 0, &slice);
	say("%s: %r policy %d flags %x nice %d prio %d %l %l %l slice %L\n", what, r, b.policy, (long)b.flags, b.nice, b.prio, (long)b.run, (long)b.dead, (long)b.period, slice.tv_nsec);
}
int main(int argc, char **argv)
{
	adjust("untouched", 0, 0, 0), adjust("offset without a loop", 1, 100, 0), adjust("loop", 0x10, 1, 0), adjust("offset", 1, 100, 0), adjust("far", 1, 600000, 0), adjust("read", 0, 0, 0);
	adjust("in ns", 0x2000, 0, 0), adjust("offset", 1, 400000000, 0), adjust("back", 1, -400000000, 0), adjust("in us", 0x1000, 0, 0), adjust("constant", 0x20, 7, 0), adjust("below", 0x20, -1, 0), adjust("above", 0x20, 20, 0);
	adjust("error", 8, 0x7fffffff, 0), adjust("no error", 8, -1, 0), adjust("leap", 0x10, 0x11, 0), adjust("no loop", 0x10, 0x10, 0), adjust("jump", 0x100, 0, 0), adjust("no jump", 0x100, 0, 1000000), adjust("clean", 0x10, 0, 0);
	set("batch", 3, 0, 1, 0, 0, 0, 0), set("idle", 5, 0, 0, 0, 0, 0, 0), set("idle, nice", 5, 0, 7, 0, 0, 0, 0), set("fifo", 1, 0, 0, 9, 0, 0, 0), set("other", 0, 0, 3, 0, 0, 0, 0);
	set("deadline", 6, 0, 0, 0, 10000000, 20000000, 30000000), set("all of a CPU", 6, 0, 0, 0, 30000000, 30000000, 30000000), set("more than is left", 6, 0, 0, 0, 96000000, 100000000, 100000000);
	set("nearly", 6, 0, 0, 0, 94000000, 100000000, 100000000), set("reclaims", 6, 2, 0, 0, 10000000, 20000000, 0), set("overrun", 6, 6, 0, 0, 10000000, 20000000, 30000000), set("keeps", 6, 0x18, 0, 0, 0, 0, 0);
	unsigned long one = 1, none = 0;
	T(__NR_sched_setaffinity, 0, 8, &none), T(__NR_sched_setaffinity, 0, 8, &one);
	say("%d\n", spit("/proc/sys/kernel/sched_rt_runtime_us", "-1") > 0);
	set("no limit", 6, 0, 0, 0, 30000000, 30000000, 30000000);
	set("over", 0, 0, 0, 0, 0, 0, 0);
	say("%d\n", spit("/proc/sys/kernel/sched_rt_runtime_us", "950000") > 0);
	T(__NR_setuid, 1000);
	set("nicer", 0, 0, 4, 0, 0, 0, 0), set("less nice", 0, 0, 0, 0, 0, 0, 0), set("idle", 5, 0, 0, 0, 0, 0, 0), set("out of idle", 0, 0, 4, 0, 0, 0, 0), set("deadline", 6, 0, 0, 0, 10000000, 20000000, 30000000);
	return 0;
}
