/* Calls with 64-bit times, which 32-bit machines have beside their own: clocks, timers, queues, semaphores, messages. not: x86_64 s390x */
#include "tiny.h"

struct t { long long sec, nsec; };
struct its { struct t interval, value; };
struct timex64 { unsigned modes; int pad; long long offset, freq, maxerror, esterror; int status, pad2; long long constant, precision, tolerance, sec, usec, tick; long long rest[12]; };
struct sembuf { unsigned short num; short op, flg; };
#define C(text, ...) do { long got = sys(__VA_ARGS__); say("%s: %r\n", text, got); } while (0)

int main(int argc, char **argv)
{
	struct t t = { 7, 7 }, past = { 1, 0 }, wrong = { 0, 1000000000 }, negative = { -1, 0 }, future = { 5000000000LL, 0 }, none = { 0, 0 };
	struct its its, old;
	struct timex64 x;

	C("clock_getres", __NR_clock_getres_time64, 1, &t);
	say(" %L.%L\n", t.sec, t.nsec);
	C("clock_getres of a coarse one", __NR_clock_getres_time64, 6, &t);
	say(" %L.%L\n", t.sec, t.nsec);
	C("clock_getres without a place", __NR_clock_getres_time64, 1, 0);
	C("clock_getres to nowhere", __NR_clock_getres_time64, 1, 16);
	C("clock_getres of none", __NR_clock_getres_time64, 77, &t);
	C("clock_settime", __NR_clock_settime64, 0, &future);
	C("clock_gettime", __NR_clock_gettime64, 0, &t);
	say(" past 2038: %d\n", t.sec >= 5000000000LL && t.sec < 5000000060LL);
	C("clock_settime to no time", __NR_clock_settime64, 0, &wrong);
	C("clock_settime below nothing", __NR_clock_settime64, 0, &negative);
	C("clock_settime of another", __NR_clock_settime64, 1, &t);
	C("clock_settime from nowhere", __NR_clock_settime64, 0, 16);
	memset(&x, 0, sizeof(x));
	long state = sys(__NR_clock_adjtime64, 0, &x);
	say("clock_adjtime: %d tick %L past 2038: %d tolerance %L\n", state >= 0, x.tick, x.sec >= 5000000000LL, x.tolerance);
	x.modes = 0x4000, x.tick = 1;
	C("clock_adjtime to no tick", __NR_clock_adjtime64, 0, &x);
	C("clock_adjtime of another", __NR_clock_adjtime64, 1, &x);
	C("clock_adjtime from nowhere", __NR_clock_adjtime64, 0, 16);
	t.sec = 1700000000;
	C("back", __NR_clock_settime64, 0, &t);

	int timer = -1;
	struct { long value; int sig, how, pad[16]; } event = { 0, 0, 1 };
	C("timer_create", __NR_timer_create, 1, &event, &timer);
	memset(&its, 0, sizeof(its));
	its.value.sec = 3000000000LL, its.interval.nsec = 5;
	C("timer_settime", __NR_timer_settime64, timer, 0, &its, &old);
	say(" was %L.%L\n", old.value.sec, old.value.nsec);
	C("timer_gettime", __NR_timer_gettime64, timer, &old);
	say(" %d interval %L.%L\n", old.value.sec >= 2999999900LL && old.value.sec <= 3000000000LL, old.interval.sec, old.interval.nsec);
	its.value.nsec = 1000000000;
	C("timer_settime to no time", __NR_timer_settime64, timer, 0, &its, 0);
	C("timer_settime to nothing", __NR_timer_settime64, timer, 0, 0, 0);
	C("timer_settime from nowhere", __NR_timer_settime64, timer, 0, 16, 0);
	C("timer_settime of none", __NR_timer_settime64, 99, 0, &old, 0);
	C("timer_gettime of none", __NR_timer_gettime64, 99, &old);
	C("timer_gettime to nowhere", __NR_timer_gettime64, timer, 16);

	C("sched_rr_get_interval", __NR_sched_rr_get_interval_time64, 0, &t);
	say(" %L seconds, some: %d\n", t.sec, t.nsec > 0);
	C("of nobody", __NR_sched_rr_get_interval_time64, 99999, &t);
	C("of nonsense", __NR_sched_rr_get_interval_time64, -1, &t);
	C("to nowhere", __NR_sched_rr_get_interval_time64, 0, 16);

	struct { long flags, maxmsg, msgsize, curmsgs, pad[4]; } attr = { 0, 1, 16, 0 };
	long queue = sys(__NR_mq_open, "times64", 0102, 0600, &attr);
	char text[64];
	unsigned priority = 0;
	say("mq_open %d\n", queue > 0);
	C("mq_timedsend", __NR_mq_timedsend_time64, queue, "one", 3, 7, &past);
	C("mq_timedsend when it is full", __NR_mq_timedsend_time64, queue, "two", 3, 7, &past);
	C("mq_timedsend to no time", __NR_mq_timedsend_time64, queue, "two", 3, 7, &wrong);
	C("mq_timedsend below nothing", __NR_mq_timedsend_time64, queue, "two", 3, 7, &negative);
	C("mq_timedsend from nowhere", __NR_mq_timedsend_time64, queue, "two", 3, 7, 16);
	C("mq_timedreceive", __NR_mq_timedreceive_time64, queue, text, 64, &priority, 0);
	say(" priority %d\n", priority);
	C("mq_timedreceive when it is empty", __NR_mq_timedreceive_time64, queue, text, 64, &priority, &past);
	C("mq_timedreceive to no time", __NR_mq_timedreceive_time64, queue, text, 64, &priority, &wrong);
	C("mq_timedreceive from nowhere", __NR_mq_timedreceive_time64, queue, text, 64, &priority, 16);
	sys(__NR_mq_unlink, "times64");

	long set = sys(__NR_semget, 0, 1, 0600);
	struct sembuf up = { 0, 1, 0 }, down = { 0, -1, 0 }, beyond = { 9, 1, 0 };
	C("semtimedop up", __NR_semtimedop_time64, set, &up, 1, &none);
	C("semtimedop down", __NR_semtimedop_time64, set, &down, 1, &none);
	C("semtimedop down again", __NR_semtimedop_time64, set, &down, 1, &none);
	C("semtimedop to no time", __NR_semtimedop_time64, set, &down, 1, &wrong);
	C("semtimedop below nothing", __NR_semtimedop_time64, set, &down, 1, &negative);
	C("semtimedop from nowhere", __NR_semtimedop_time64, set, &down, 1, 16);
	C("semtimedop of no semaphore", __NR_semtimedop_time64, set, &beyond, 1, &none);
	sys(__NR_semctl, set, 0, 0, 0);

	int pair[2];
	struct { void *base; ulong length; } in = { text, 64 };
	struct { struct { void *name; int namelen; void *iov; ulong iovlen; void *control; ulong controllen; int flags; } m; unsigned len; } two[2];
	memset(two, 0, sizeof(two));
	two[0].m.iov = two[1].m.iov = &in, two[0].m.iovlen = two[1].m.iovlen = 1;
	sys(__NR_socketpair, 1, 2, 0, pair);
	sys(__NR_write, pair[0], "one", 3);
	t.sec = t.nsec = 0;
	C("recvmmsg", __NR_recvmmsg_time64, pair[1], two, 2, 0, &t);
	say(" %d bytes, left %L.%L\n", two[0].len, t.sec, t.nsec);
	C("recvmmsg to no time", __NR_recvmmsg_time64, pair[1], two, 2, 0, &wrong);
	C("recvmmsg from nowhere", __NR_recvmmsg_time64, pair[1], two, 2, 0, 16);
	return 0;
}
