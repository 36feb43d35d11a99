/* Timers: where they tell, how often they ran over, what they refuse.  not: i386 */
#include "tiny.h"
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <linux/timerfd.h>
struct its { struct __kernel_timespec interval, value; };
static volatile int got, code, val, over, who; static volatile int count;
static void handler(int sig, void *info, void *ctx) { siginfo_t *i = info; got = sig; code = i->si_code; val = i->si_int; over = i->si_overrun; who = sys(__NR_gettid); count++; }
static void told(const char *w) { say("%s: signal %d code %d value %d overrun %d count %d\n", w, got, code, val, over, count); got = code = val = over = count = 0; }
static void left(int t) { struct its v; long r = sys(__NR_timer_gettime, t, &v); say("%r interval %L.%L value %d\n", r, (long long)v.interval.tv_sec, (long long)v.interval.tv_nsec, v.value.tv_sec || v.value.tv_nsec); }
static volatile int stop, tid;
static int thread(void *arg) { tid = sys(__NR_gettid); while (!stop) nap(5); return 0; }
static char stack[16384];
int main(int argc, char **argv)
{
	struct sigevent e; int t = -1, t2; struct its v, o; long pid = sys(__NR_getpid);
	on_signal(10, handler, 4); on_signal(14, handler, 4); on_signal(35, handler, 4);
	memset(&e, 0, sizeof e);
	T(__NR_timer_create, 0, 0, &t); say("id %d\n", t); T(__NR_timer_create, 99, 0, &t); T(__NR_timer_create, 0, 0, 1); T(__NR_timer_create, 0, 1, &t); T(__NR_timer_create, 4, 0, &t); T(__NR_timer_create, 5, 0, &t); T(__NR_timer_create, 6, 0, &t); T(__NR_timer_create, 7, 0, &t); T(__NR_timer_create, 8, 0, &t); T(__NR_timer_create, 11, 0, &t); T(__NR_timer_create, 2, 0, &t); T(__NR_timer_create, 3, 0, &t);
	for (int i = 0; i < 9; i++)
		say("%d ", (int)sys(__NR_timer_delete, i));
	say("\n");
	e.sigev_notify = 77; T(__NR_timer_create, 0, &e, &t); e.sigev_notify = SIGEV_SIGNAL; e.sigev_signo = 0; T(__NR_timer_create, 0, &e, &t); e.sigev_signo = 65; T(__NR_timer_create, 0, &e, &t); e.sigev_signo = 64; T(__NR_timer_create, 0, &e, &t);
	e.sigev_notify = SIGEV_SIGNAL | SIGEV_THREAD_ID; e.sigev_signo = 35; e._sigev_un._tid = 0; T(__NR_timer_create, 0, &e, &t); e._sigev_un._tid = 1; T(__NR_timer_create, 0, &e, &t); e._sigev_un._tid = pid; T(__NR_timer_create, 0, &e, &t); e.sigev_notify = SIGEV_NONE; e.sigev_signo = 99; T(__NR_timer_create, 0, &e, &t); e.sigev_notify = SIGEV_THREAD | SIGEV_THREAD_ID; T(__NR_timer_create, 0, &e, &t); e.sigev_notify = SIGEV_THREAD; T(__NR_timer_create, 0, &e, &t); e.sigev_signo = 10; T(__NR_timer_create, 0, &e, &t);
	e.sigev_notify = SIGEV_SIGNAL; e.sigev_signo = 10; e.sigev_value.sival_int = 55; T(__NR_timer_create, 1, &e, &t);
	v = (struct its){ { 0, 0 }, { 0, 1000000000 } }; T(__NR_timer_settime, t, 0, &v, 0); v.value.tv_nsec = -1; T(__NR_timer_settime, t, 0, &v, 0); v.value.tv_sec = -1, v.value.tv_nsec = 0; T(__NR_timer_settime, t, 0, &v, 0); T(__NR_timer_settime, t, 0, 0, 0); T(__NR_timer_settime, t, 0, 1, 0); T(__NR_timer_settime, 999, 0, &v, 0); v.value.tv_sec = 0; v.interval.tv_nsec = 2000000000; T(__NR_timer_settime, t, 0, &v, 0); v.value.tv_nsec = 5; T(__NR_timer_settime, t, 0, &v, 0);
	T(__NR_timer_gettime, t, 1); T(__NR_timer_gettime, -1, &v); T(__NR_timer_getoverrun, -1); T(__NR_timer_getoverrun, t); T(__NR_timer_delete, -1);
	left(t); v = (struct its){ { 0, 0 }, { 0, 5000000 } }; T(__NR_timer_settime, t, 0, &v, &o); nap(20); told("once"); left(t);
	v = (struct its){ { 3, 0 }, { 100, 0 } }; T(__NR_timer_settime, t, 0, &v, &o); left(t); v = (struct its){ { 0, 0 }, { 0, 0 } }; T(__NR_timer_settime, t, 0, &v, &o); say("old %L %L %d\n", (long long)o.interval.tv_sec, (long long)o.interval.tv_nsec, o.value.tv_sec > 90); left(t);
	/* over */
	block_signals(0, SIGBIT(10)); v = (struct its){ { 0, 1000000 }, { 0, 1000000 } }; T(__NR_timer_settime, t, 0, &v, 0); nap(50); v = (struct its){ { 0, 0 }, { 0, 0 } }; T(__NR_timer_settime, t, 0, &v, 0); block_signals(1, SIGBIT(10)); say("count %d overrun %d\n", count, over > 20); count = got = 0; say("overrun %d\n", sys(__NR_timer_getoverrun, t) > 20);
	/* delete with a pending signal */
	block_signals(0, SIGBIT(10)); v = (struct its){ { 0, 0 }, { 0, 1000000 } }; T(__NR_timer_settime, t, 0, &v, 0); nap(5); T(__NR_timer_delete, t); block_signals(1, SIGBIT(10)); told("deleted");
	/* absolute, in the past */
	T(__NR_timer_create, 1, &e, &t); v = (struct its){ { 0, 0 }, { 0, 1 } }; T(__NR_timer_settime, t, 1, &v, 0); nap(1); told("past"); v = (struct its){ { 0, 400000000 }, { 0, 1 } }; T(__NR_timer_settime, t, 1, &v, 0); nap(1); say("signal %d overrun %d\n", got, over >= 0); left(t); T(__NR_timer_settime, t, 2, &v, 0); T(__NR_timer_delete, t);
	/* to a thread */
	{ struct its w = { { 0, 0 }, { 0, 2000000 } }; long c = start_thread(thread, 0, 0x10f00, stack + sizeof stack); while (!tid) nap(1); e.sigev_notify = SIGEV_SIGNAL | SIGEV_THREAD_ID; e._sigev_un._tid = tid; e.sigev_signo = 35; T(__NR_timer_create, 1, &e, &t); T(__NR_timer_settime, t, 0, &w, 0); nap(20); say("in thread %d\n", who == tid && c == tid); got = count = 0; stop = 1; nap(20); T(__NR_timer_settime, t, 0, &w, 0); nap(10); told("thread gone"); T(__NR_timer_delete, t); }
	/* none */
	e.sigev_notify = SIGEV_NONE; T(__NR_timer_create, 1, &e, &t); v = (struct its){ { 0, 0 }, { 0, 1000000 } }; T(__NR_timer_settime, t, 0, &v, 0); nap(3); left(t); v = (struct its){ { 1, 0 }, { 0, 1000000 } }; T(__NR_timer_settime, t, 0, &v, 0); nap(3); left(t); T(__NR_timer_getoverrun, t);
	/* across exec and fork: not inherited */
	{ long c = fork(); if (!c) { say("child %r\n", sys(__NR_timer_gettime, t, &v)); leave(0); } wait_for(c); }
	/* setitimer */
	{ struct { long is, iu, vs, vu; } i = { 0, 0, 0, 1000000 }, j; T(__NR_setitimer, 0, &i, 0); i.vu = -1; T(__NR_setitimer, 0, &i, 0); i.vs = -1, i.vu = 0; T(__NR_setitimer, 0, &i, 0); i.vs = 0; i.iu = 1000000; T(__NR_setitimer, 0, &i, 0); T(__NR_setitimer, 3, &i, 0); T(__NR_setitimer, 0, 1, 0); i = (typeof(i)){ 0, 0, 100, 0 }; T(__NR_setitimer, 0, &i, &j); T(__NR_getitimer, 0, &j); say("%l %d\n", j.is, j.vs >= 99); T(__NR_alarm, 50); T(__NR_alarm, 0); T(__NR_getitimer, 0, &j); say("%l %l\n", j.vs, j.vu); T(__NR_setitimer, 0, 0, &j); T(__NR_getitimer, 5, &j); T(__NR_getitimer, 0, 1); i = (typeof(i)){ 0, 0, 0, 1 }; T(__NR_setitimer, 0, &i, 0); nap(5); told("real"); }
	/* sleeping */
	{ struct __kernel_timespec ts = { 0, 0 }, rem = { 7, 7 }; T(__NR_clock_nanosleep, 0, 0, &ts, &rem); T(__NR_clock_nanosleep, 2, 0, &ts, &rem); T(__NR_clock_nanosleep, 3, 0, &ts, &rem); T(__NR_clock_nanosleep, 4, 0, &ts, &rem); T(__NR_clock_nanosleep, 5, 0, &ts, &rem); T(__NR_clock_nanosleep, 7, 0, &ts, &rem); T(__NR_clock_nanosleep, 8, 0, &ts, &rem); T(__NR_clock_nanosleep, 99, 0, &ts, &rem); T(__NR_clock_nanosleep, 1, 0, 1, 0); ts.tv_nsec = 1000000000; T(__NR_clock_nanosleep, 1, 0, &ts, 0); ts.tv_sec = -1, ts.tv_nsec = 0; T(__NR_clock_nanosleep, 1, 0, &ts, 0); T(__NR_clock_nanosleep, 1, 1, &ts, 0); ts.tv_sec = 0; T(__NR_clock_nanosleep, 1, 1, &ts, 0); ts.tv_sec = 100; T(__NR_alarm, 1); T(__NR_clock_nanosleep, 1, 0, &ts, &rem); say("rem %d\n", rem.tv_sec >= 98 && rem.tv_sec < 100); T(__NR_alarm, 1); T(__NR_nanosleep, &ts, 1); rem.tv_sec = 5; struct __kernel_timespec now; sys(__NR_clock_gettime, 1, &now); now.tv_sec += 100; T(__NR_alarm, 1); T(__NR_clock_nanosleep, 1, 1, &now, &rem); say("rem %L\n", (long long)rem.tv_sec); }
	/* clocks */
	{ struct __kernel_timespec ts; for (int c = -3; c < 13; c++) say("%d:%r/%r ", c, sys(__NR_clock_gettime, c, &ts), sys(__NR_clock_getres, c, 0)); say("\n"); T(__NR_clock_gettime, ~pid << 3 | 2, &ts); T(__NR_clock_gettime, ~pid << 3 | 6, &ts); T(__NR_clock_gettime, ~1L << 3 | 2, &ts); T(__NR_clock_gettime, ~1L << 3 | 6, &ts); T(__NR_clock_gettime, ~0x7ffffL << 3 | 2, &ts); T(__NR_clock_gettime, ~pid << 3 | 3, &ts); T(__NR_clock_settime, 1, &ts); T(__NR_clock_settime, 2, &ts); T(__NR_clock_settime, 99, &ts); ts.tv_nsec = 1000000000; T(__NR_clock_settime, 0, &ts); ts = (struct __kernel_timespec){ -1, 0 }; T(__NR_clock_settime, 0, &ts); T(__NR_clock_gettime, 0, 1); T(__NR_clock_getres, 0, 1); for (int c = 0; c < 12; c++) { ts.tv_nsec = -1; sys(__NR_clock_getres, c, &ts); say("%L ", (long long)ts.tv_nsec); } say("\n"); }
	/* timerfd */
	{ struct its i; unsigned long long n; T(__NR_timerfd_create, 99, 0); T(__NR_timerfd_create, 2, 0); T(__NR_timerfd_create, 1, 1); T(__NR_timerfd_create, 8, 0); T(__NR_timerfd_create, 9, 0); long f = sys(__NR_timerfd_create, 1, 04000); T(__NR_read, f, &n, 8); T(__NR_read, f, &n, 7); T(__NR_write, f, &n, 8); i = (struct its){ { 0, 0 }, { 0, 1000000000 } }; T(__NR_timerfd_settime, f, 0, &i, 0); i.value.tv_nsec = 1; T(__NR_timerfd_settime, f, 4, &i, 0); T(__NR_timerfd_settime, 1, 0, &i, 0); T(__NR_timerfd_settime, f, 2, &i, 0); T(__NR_timerfd_settime, f, 1, &i, 0); nap(1); n = 0; T(__NR_read, f, &n, 100); say("%L\n", (long long)n); i = (struct its){ { 0, 1000000 }, { 0, 1000000 } }; T(__NR_timerfd_settime, f, 0, &i, 0); nap(20); T(__NR_read, f, &n, 8); say("%d\n", n > 10); i = (struct its){ { 0, 0 }, { 0, 0 } }; T(__NR_timerfd_settime, f, 0, &i, &i); say("%L\n", (long long)i.interval.tv_nsec); T(__NR_timerfd_gettime, f, &i); say("%L %L\n", (long long)i.interval.tv_nsec, (long long)i.value.tv_nsec); T(__NR_timerfd_gettime, 1, &i); n = 5; T(__NR_ioctl, f, 0x40085400, &n); T(__NR_read, f, &n, 8); say("%L\n", (long long)n); n = 0; T(__NR_ioctl, f, 0x40085400, &n); T(__NR_lseek, f, 0, 0); T(__NR_pread64, f, &n, 8, 0); T(__NR_ftruncate, f, 0);
	  long r = sys(__NR_timerfd_create, 0, 04000); i = (struct its){ { 0, 0 }, { 2000000000, 0 } }; T(__NR_timerfd_settime, r, 3, &i, 0); struct __kernel_timespec ts; sys(__NR_clock_gettime, 0, &ts); T(__NR_clock_settime, 0, &ts); T(__NR_read, r, &n, 8); T(__NR_read, r, &n, 8); }
	/* the clock is set while others wait for a time of it */
	{ struct __kernel_timespec now, then; struct its i; memset(&e, 0, sizeof e); e.sigev_notify = SIGEV_SIGNAL; e.sigev_signo = 10; sys(__NR_timer_create, 0, &e, &t);
	  sys(__NR_clock_gettime, 0, &now); i = (struct its){ { 0, 0 }, { now.tv_sec + 1000, 0 } }; T(__NR_timer_settime, t, 1, &i, 0); long f = sys(__NR_timerfd_create, 0, 04000); T(__NR_timerfd_settime, f, 1, &i, 0);
	  long c = fork(); if (!c) { then = (struct __kernel_timespec){ now.tv_sec + 1000, 0 }; say("slept %r\n", sys(__NR_clock_nanosleep, 0, 1, &then, 0)); leave(0); }
	  nap(20); now.tv_sec += 2000; T(__NR_clock_settime, 0, &now); wait_for(c); nap(10); told("wall"); unsigned long long n = 0; T(__NR_read, f, &n, 8); now.tv_sec -= 4000; T(__NR_clock_settime, 0, &now); }
	T(__NR_timer_create, 1, 0, &t2);
	return 0;
}
