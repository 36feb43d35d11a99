/* Futexes with an owner and waiting for several; time limits and options of sockets. */
#include "tiny.h"
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <linux/net.h>
#include <linux/un.h>

#ifdef __NR_futex_time64
#define FUTEX __NR_futex_time64
#else
#define FUTEX __NR_futex
#endif
#define SHARED(n) (((unsigned *)page)[n])
static void *page;

static void now(struct __kernel_timespec *t, int clock, long ms)
{
#ifdef __NR_clock_gettime64
	sys(__NR_clock_gettime64, clock, t);
#else
	sys(__NR_clock_gettime, clock, t);
#endif
	t->tv_nsec += ms * 1000000;
	if (t->tv_nsec >= 1000000000)
		t->tv_nsec -= 1000000000, t->tv_sec++;
}

static const char *word(unsigned v, int me)
{
	static char text[32];
	char *p = text;
	*p++ = (v & FUTEX_TID_MASK) == (unsigned)me ? 'm' : v & FUTEX_TID_MASK ? 'o' : '-';
	if (v & FUTEX_WAITERS)
		*p++ = 'W';
	if (v & FUTEX_OWNER_DIED)
		*p++ = 'D';
	*p = 0;
	return text;
}

static void owners(void)
{
	int me = sys(__NR_gettid);
	struct __kernel_timespec t;
	long pid;
	SHARED(0) = 0;
	say("lock %r", sys(FUTEX, &SHARED(0), FUTEX_LOCK_PI, 0, 0, 0, 0));
	say(" %s", word(SHARED(0), me));
	say(" again %r", sys(FUTEX, &SHARED(0), FUTEX_LOCK_PI, 0, 0, 0, 0));
	say(" try %r", sys(FUTEX, &SHARED(0), FUTEX_TRYLOCK_PI, 0, 0, 0, 0));
	say(" unlock %r", sys(FUTEX, &SHARED(0), FUTEX_UNLOCK_PI, 0, 0, 0, 0));
	say(" %s", word(SHARED(0), me));
	say(" again %r\n", sys(FUTEX, &SHARED(0), FUTEX_UNLOCK_PI, 0, 0, 0, 0));
	SHARED(0) = 0x3ffffff0;
	say("nobody %r", sys(FUTEX, &SHARED(0), FUTEX_LOCK_PI, 0, 0, 0, 0));
	say(" unaligned %r\n", sys(FUTEX, (char *)page + 1, FUTEX_LOCK_PI, 0, 0, 0, 0));
	SHARED(0) = 0;
	sys(FUTEX, &SHARED(0), FUTEX_LOCK_PI, 0, 0, 0, 0);
	pid = fork();
	if (!pid) {
		int own = sys(__NR_gettid);
		say("child try %r", sys(FUTEX, &SHARED(0), FUTEX_TRYLOCK_PI, 0, 0, 0, 0));
		say(" unlock %r", sys(FUTEX, &SHARED(0), FUTEX_UNLOCK_PI, 0, 0, 0, 0));
		now(&t, 0, 30);
		say(" timed %r\n", sys(FUTEX, &SHARED(0), FUTEX_LOCK_PI, 0, &t, 0, 0));
		now(&t, 1, 30);
		say("monotonic %r\n", sys(FUTEX, &SHARED(0), 13, 0, &t, 0, 0));
		SHARED(1) = 1;
		say("got %r", sys(FUTEX, &SHARED(0), FUTEX_LOCK_PI, 0, 0, 0, 0));
		say(" %s\n", word(SHARED(0), own));
		leave(0);
	}
	while (!*(volatile unsigned *)&SHARED(1))
		nap(5);
	nap(30);
	say("waited for %s", word(SHARED(0), me));
	say(" unlock %r\n", sys(FUTEX, &SHARED(0), FUTEX_UNLOCK_PI, 0, 0, 0, 0));
	say("ended %x\n", (long)wait_for(pid));
	pid = fork();
	if (!pid) {
		int own = sys(__NR_gettid);
		SHARED(0) = 0;
		sys(FUTEX, &SHARED(0), FUTEX_LOCK_PI, 0, 0, 0, 0);
		SHARED(2) = 1;
		(void)own;
		nap(60);
		leave(0);
	}
	while (!*(volatile unsigned *)&SHARED(2))
		nap(5);
	say("inherited %r", sys(FUTEX, &SHARED(0), FUTEX_LOCK_PI, 0, 0, 0, 0));
	say(" %s\n", word(SHARED(0), me));
	wait_for(pid);
}

struct waitv { unsigned long long val, uaddr; unsigned flags, reserved; };
static void several(void)
{
	struct waitv w[3] = { { 7, (ulong)&SHARED(8), 2, 0 }, { 8, (ulong)&SHARED(9), 2, 0 }, { 9, (ulong)&SHARED(10), 2, 0 } };
	struct __kernel_timespec t;
	long pid;
	SHARED(8) = 7, SHARED(9) = 8, SHARED(10) = 9;
	say("none %r many %r flags %r\n", sys(449, w, 0, 0, 0, 0), sys(449, w, 129, 0, 0, 0), sys(449, w, 3, 1, 0, 0));
	w[1].flags = 1;
	say("size %r", sys(449, w, 3, 0, 0, 0));
	w[1].flags = 2, w[1].val = 3;
	say(" value %r", sys(449, w, 3, 0, 0, 0));
	w[1].val = 8;
	now(&t, 1, 20);
	say(" clock %r time %r\n", sys(449, w, 3, 0, &t, 7), sys(449, w, 3, 0, &t, 1));
	pid = fork();
	if (!pid) {
		nap(30);
		leave(sys(FUTEX, &SHARED(10), FUTEX_WAKE, 1, 0, 0, 0));
	}
	say("woken %r\n", sys(449, w, 3, 0, 0, 0));
	say("wakes %x\n", (long)wait_for(pid));
}

static void option(const char *what, long fd, int level, int name, int value)
{
	int got = -9, size = 4;
	say("%s %r", what, sys(__NR_setsockopt, fd, level, name, &value, 4));
	say(" %r", sys(__NR_getsockopt, fd, level, name, &got, &size));
	say(" %d %d\n", got, size);
}

static void patience(void)
{
	int pair[2], linger[2] = { 1, 5 }, size = 8;
	long fd, bad[2] = { 0, 1000000 }, time[2] = { 0, 50000 }, got[2] = { 0, 0 };
	char byte[16];
	struct __kernel_timespec a, b;
	sys(__NR_socketpair, 1, 1, 0, pair);
	say("bad %r", sys(__NR_setsockopt, pair[0], 1, 20, bad, sizeof(bad)));
	say(" short %r", sys(__NR_setsockopt, pair[0], 1, 20, time, 4));
	say(" set %r", sys(__NR_setsockopt, pair[0], 1, 20, time, sizeof(time)));
	size = sizeof(got);
	sys(__NR_getsockopt, pair[0], 1, 20, got, &size);
	say(" %l %l\n", got[0], got[1] >= 50000 && got[1] < 60000);
	now(&a, 1, 0);
	say("recv %r", sys(__NR_recvfrom, pair[0], byte, 1, 0, 0, 0));
	say(" read %r", sys(__NR_read, pair[0], byte, 1));
	now(&b, 1, 0);
	say(" in time %d\n", (long)(b.tv_sec - a.tv_sec) * 1000 + (long)(b.tv_nsec - a.tv_nsec) / 1000000 >= 99);
	size = 8;
	say("linger %r", sys(__NR_setsockopt, pair[0], 1, 13, linger, 8));
	linger[0] = linger[1] = 9;
	say(" %r", sys(__NR_getsockopt, pair[0], 1, 13, linger, &size));
	say(" %d %d\n", linger[0], linger[1]);
	fd = sys(__NR_socket, 2, 2, 0);
	sys(__NR_setsockopt, fd, 1, 20, time, sizeof(time));
	say("udp %r\n", sys(__NR_recvfrom, fd, byte, 1, 0, 0, 0));
	option("reuse", fd, 1, 2, 5);
	option("priority", fd, 1, 12, 3);
	option("mark", fd, 1, 36, 17);
	option("lowat", fd, 1, 18, 0);
	option("oob inline", fd, 1, 10, 1);
	option("type", fd, 1, 3, 1);
	option("peek off", fd, 1, 42, 4);
	option("peek off", pair[0], 1, 42, 4);
	option("timestamp ns", fd, 1, 35, 1);
	option("force", fd, 1, 33, 4000);
	option("unknown", fd, 1, 999, 1);
}

int main(int argc, char **argv)
{
	page = map(0, 4096, 3, 0x21, -1, 0);
	owners();
	several();
	patience();
	return 0;
}
