/* not: i386 s390x */
/* POSIX timers and timerfd at their ends: every clock and notification, edge times, absolute times, overruns, ticks, what a read or an exec makes of them. */
#include "tiny.h"
#ifndef __NR_setresuid32
#define __NR_setresuid32 __NR_setresuid
#endif
#ifdef __NR_timer_settime64
#define SETTIME __NR_timer_settime64
#define GETTIME __NR_timer_gettime64
#define FDSET __NR_timerfd_settime64
#define FDGET __NR_timerfd_gettime64
#define CLOCK __NR_clock_gettime64
#else
#define SETTIME __NR_timer_settime
#define GETTIME __NR_timer_gettime
#define FDSET __NR_timerfd_settime
#define FDGET __NR_timerfd_gettime
#define CLOCK __NR_clock_gettime
#endif
struct ts { long long s, n; };
struct its { struct ts interval, value; };
struct event { long value; int signo, notify; int tid; int rest[12]; };
static long sign(long v) { return v < 0 ? v : 0; }
static int hits, last_code, last_value;
static long overrun;
static void handler(int sig, void *info, void *ctx) { int *w = info; hits++, last_code = w[2]; (void)overrun; last_value = w[sizeof(long) == 8 ? 6 : 5]; }
static const long long edges[][2] = { { 0, 0 }, { 0, 1 }, { 0, 999999999 }, { 0, 1000000000 }, { 0, -1 }, { -1, 0 }, { -1, 999999999 }, { 1, 0 }, { 9223372035LL, 0 }, { 9223372036LL, 854775807 }, { 9223372036LL, 854775808 }, { 9223372037LL, 0 }, { 0x7fffffffffffffffLL, 999999999 }, { 0x7fffffffffffffffLL, 0 } };
static void left(const char *what, struct its *t)
{
	say(" %s:", what);
	if (t->value.s > 1000000) say(" %L", t->value.s / 1000 == 9223372 ? 9223372LL : 1LL);
	else say(" %L", t->value.s + (t->value.n > 500000000)); /* CPU time passes meanwhile, but not half a second */
	say("/%L.%L", t->interval.s, t->interval.n);
}
int main(int argc, char **argv)
{
	int id = -1;
	struct event ev;
	struct its t, old;
	on_signal(14, handler, 4), on_signal(10, handler, 4), on_signal(34, handler, 4);
	for (int c = -20; c < 16; c++) {
		id = -1;
		long r = sys(__NR_timer_create, c, 0, &id);
		say("clock %d: timer %r id %d", c, r, r ? id : 0);
		if (!r) say(" delete %r", sys(__NR_timer_delete, id));
		long f = sys(__NR_timerfd_create, c, 0);
		say(" timerfd %r\n", sign(f)), sys(__NR_close, f);
	}
	for (int n = -1; n < 8; n++)
		for (int s = -1; s < 66; s += s == -1 || s == 63 || s == 64 ? 1 : s == 0 ? 10 : s == 10 ? 53 : 1) {
			memset(&ev, 0, sizeof(ev)), ev.notify = n, ev.signo = s, ev.tid = (int)sys(__NR_gettid);
			long r = sys(__NR_timer_create, 1, &ev, &id);
			say("notify %d signal %d: %r\n", n, s, r);
			if (!r) sys(__NR_timer_delete, id);
		}
	ev.notify = 4, ev.signo = 10;
	static const int tids[] = { 0, -1, 1, 999999 };
	for (int i = 0; i < 4; i++) ev.tid = tids[i], say("thread %d: %r\n", tids[i], sys(__NR_timer_create, 1, &ev, &id));
	say("null id %r bad event %r delete none %r -1 %r get none %r overrun none %r set none %r\n", sys(__NR_timer_create, 1, 0, 0), sys(__NR_timer_create, 1, 8, &id), sys(__NR_timer_delete, 9999), sys(__NR_timer_delete, -1), sys(GETTIME, 9999, &t), sys(__NR_timer_getoverrun, 9999), sys(SETTIME, 9999, 0, &t, 0));
	memset(&ev, 0, sizeof(ev)), ev.signo = 10;
	static const int clocks[] = { 0, 1, 2, 3, 7, 11 };
	for (int c = 0; c < 6; c++) {
		sys(__NR_timer_create, clocks[c], &ev, &id);
		for (int i = 0; i < 14; i++) {
			memset(&t, 0, sizeof(t)), memset(&old, 0, sizeof(old));
			t.value.s = edges[i][0], t.value.n = edges[i][1];
			if (clocks[c] == 2 || clocks[c] == 3) { if (i == 1) continue; }
			long r = sys(SETTIME, id, 0, &t, &old);
			say("clock %d edge %d: %r", clocks[c], i, r);
			if (i != 1) sys(GETTIME, id, &old), left("left", &old);
			memset(&t, 0, sizeof(t)), t.value.s = 1000, t.interval.s = edges[i][0], t.interval.n = edges[i][1];
			say(" interval %r", sys(SETTIME, id, 0, &t, 0)), sys(GETTIME, id, &old), left("left", &old);
			memset(&t, 0, sizeof(t));
			sys(SETTIME, id, 0, &t, &old), left("old", &old), sys(GETTIME, id, &old), left("off", &old);
			say("\n");
		}
		for (int f = 0; f < 6; f++) memset(&t, 0, sizeof(t)), t.value.s = 5000000000LL, say(" flags %d %r", f, sys(SETTIME, id, f, &t, 0));
		say(" null %r bad %r old bad %r\n", sys(SETTIME, id, 0, 0, 0), sys(SETTIME, id, 0, 8, 0), sys(SETTIME, id, 0, &t, 8));
		sys(__NR_timer_delete, id);
	}
	/* they fire */
	hits = 0;
	ev.value = 77;
	sys(__NR_timer_create, 1, &ev, &id);
	memset(&t, 0, sizeof(t)), t.value.n = 1;
	sys(SETTIME, id, 0, &t, 0), nap(5);
	say("fired %d code %d value %d\n", hits, last_code, last_value);
	struct ts now;
	sys(CLOCK, 1, &now);
	t.value = now, hits = 0;
	say("absolute now %r", sys(SETTIME, id, 1, &t, 0)), nap(5), say(" hits %d", hits);
	t.value.s = 0, t.value.n = 1, hits = 0;
	say(" long ago %r", sys(SETTIME, id, 1, &t, 0)), nap(5), sys(GETTIME, id, &old), say(" hits %d", hits), left("left", &old);
	t.value.s = 0, t.value.n = 0;
	say(" zero %r", sys(SETTIME, id, 1, &t, 0)), sys(GETTIME, id, &old), left("left", &old);
	block_signals(0, SIGBIT(10)), hits = 0;
	t.value.n = 1, t.interval.n = 1000000;
	sys(SETTIME, id, 0, &t, 0), nap(60);
	say(" overrun before %r", sys(__NR_timer_getoverrun, id));
	sys(GETTIME, id, &old), say(" running %d", old.value.n > 0 && old.value.n <= 1000000);
	block_signals(1, SIGBIT(10));
	memset(&t, 0, sizeof(t)), sys(SETTIME, id, 0, &t, 0);
	say(" hits %d overruns many %d\n", hits > 0, sys(__NR_timer_getoverrun, id) > 20);
	block_signals(0, SIGBIT(10)), hits = 0, t.value.n = 1, sys(SETTIME, id, 0, &t, 0), nap(5);
	say("pending then deleted %r", sys(__NR_timer_delete, id)), block_signals(1, SIGBIT(10)), say(" hits %d", hits);
	/* tiny interval: overruns saturate */
	sys(__NR_timer_create, 1, &ev, &id);
	block_signals(0, SIGBIT(10)), hits = 0, memset(&t, 0, sizeof(t)), t.value.s = 1, t.value.n = 0, t.interval.n = 1;
	sys(SETTIME, id, 1, &t, 0), nap(5), block_signals(1, SIGBIT(10));
	memset(&t, 0, sizeof(t)), sys(SETTIME, id, 0, &t, 0);
	say(" saturated %d", sys(__NR_timer_getoverrun, id) == 0x7fffffff || sys(__NR_timer_getoverrun, id) > 1000000000), sys(__NR_timer_delete, id);
	long pid = fork();
	if (!pid) {
		say(" a child has none %r\n", sys(__NR_timer_delete, 0));
		struct { long cur, max; } lim = { 3, 3 };
		sys(__NR_prlimit64, 0, 11, &lim, 0);
		long long l64[2] = { 3, 3 };
		sys(__NR_prlimit64, 0, 11, l64, 0);
		int made = 0;
		sys(__NR_setresuid32, 1000, 1000, 1000);
		while (made < 20 && !sys(__NR_timer_create, 1, 0, &id)) made++;
		say("timers with RLIMIT_SIGPENDING 3: %d then %r\n", made, sys(__NR_timer_create, 1, 0, &id));
		leave(0);
	}
	wait_for(pid);
	/* timerfd */
	for (int b = 0; b < 32; b++) {
		long r = sys(__NR_timerfd_create, 1, 1L << b);
		if (r != -EINVAL) say("timerfd flag %x: %r fl %x fd %r\n", 1L << b, sign(r), sys(__NR_fcntl, r, 3, 0), sys(__NR_fcntl, r, 1, 0)), sys(__NR_close, r);
	}
	static const int fdclocks[] = { 0, 1, 7, 8, 9 };
	for (int c = 0; c < 5; c++) {
		long f = sys(__NR_timerfd_create, fdclocks[c], O_NONBLOCK);
		if (f < 0) continue;
		long long ticks = 0;
		for (int i = 0; i < 14; i++) {
			memset(&t, 0, sizeof(t)), t.value.s = edges[i][0], t.value.n = edges[i][1];
			say("timerfd %d edge %d: %r", fdclocks[c], i, sys(FDSET, f, 0, &t, &old));
			if (i != 1) sys(FDGET, f, &old), left("left", &old);
			t.value.s = 1000, t.value.n = 0, t.interval.s = edges[i][0], t.interval.n = edges[i][1];
			say(" interval %r absolute %r\n", sys(FDSET, f, 0, &t, 0), (t.interval.s = 0, t.interval.n = 0, t.value.s = edges[i][0], t.value.n = edges[i][1], sys(FDSET, f, 1, &t, 0)));
		}
		for (int fl = 0; fl < 9; fl++) memset(&t, 0, sizeof(t)), t.value.s = 5000000000LL, say(" flags %d %r", fl, sys(FDSET, f, fl, &t, 0));
		say(" null %r bad %r old bad %r get bad %r read %r poll %x", sys(FDSET, f, 0, 0, 0), sys(FDSET, f, 0, 8, 0), sys(FDSET, f, 0, &t, 8), sys(FDGET, f, 8), sys(__NR_read, f, &ticks, 8), (long)polled((int)f, 0xffff));
		memset(&t, 0, sizeof(t)), t.value.n = 1, sys(FDSET, f, 0, &t, 0), nap(5);
		say(" short read %r poll %x", sys(__NR_read, f, &ticks, 7), (long)polled((int)f, 0xffff));
		say(" bad read %r", sys(__NR_read, f, 8, 8));
		long got = sys(__NR_read, f, &ticks, 100);
		say(" then %r %L again %r\n", got, ticks, sys(__NR_read, f, &ticks, 8));
		t.value.n = 1, sys(FDSET, f, 0, &t, 0), nap(5), sys(FDGET, f, &old), left(" unread", &old), say(" set anew clears it"), t.value.s = 100, sys(FDSET, f, 0, &t, 0), say(" %r", sys(__NR_read, f, &ticks, 8));
		long long set = 5;
		say(" TFD_IOC_SET_TICKS %r", sys(__NR_ioctl, f, 0x40085400, &set));
		set = 0;
		say(" 0 %r read %r", sys(__NR_ioctl, f, 0x40085400, &set), sys(__NR_read, f, &ticks, 8));
		say(" ticks %L write %r lseek %r other ioctl %r\n", ticks, sys(__NR_write, f, &ticks, 8), sys(__NR_lseek, f, 0, 0), sys(__NR_ioctl, f, 0x5401, &ticks));
		memset(&t, 0, sizeof(t)), t.value.n = 50000000, t.interval.n = 50000000, sys(FDSET, f, 0, &t, 0), nap(510), ticks = 0, sys(__NR_read, f, &ticks, 8);
		say(" periodic %d", ticks > 5 && ticks < 30);
		sys(FDGET, f, &old), say(" %L.%L left %d\n", old.interval.s, old.interval.n, old.value.n > 0 && old.value.n <= 50000000);
		sys(__NR_close, f);
	}
	say("not one: set %r get %r -1 %r %r\n", sys(FDSET, 1, 0, &t, 0), sys(FDGET, 1, &t), sys(FDSET, -1, 0, &t, 0), sys(FDGET, -1, &t));
	/* the clock is set */
	long f = sys(__NR_timerfd_create, 0, O_NONBLOCK), plain = sys(__NR_timerfd_create, 0, O_NONBLOCK);
	long long ticks;
	sys(CLOCK, 0, &now);
	memset(&t, 0, sizeof(t)), t.value.s = now.s + 1000;
	say("cancel on set %r alone %r", sys(FDSET, f, 3, &t, 0), sys(FDSET, plain, 2, &t, 0));
#ifdef __NR_clock_settime64
	sys(__NR_clock_settime64, 0, &now);
#else
	sys(__NR_clock_settime, 0, &now);
#endif
	say(" poll %x read %r", (long)polled((int)f, 0xffff), sys(__NR_read, f, &ticks, 8));
	say(" again %r plain %r", sys(__NR_read, f, &ticks, 8), sys(__NR_read, plain, &ticks, 8));
	sys(FDGET, f, &old), left("left", &old);
	say("\n");
	return 0;
}
