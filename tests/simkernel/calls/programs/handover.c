/* A thread that execs while others sleep, descriptors of what has ended, clocks that cannot be slept on, TAI. */
#include "tiny.h"
#include <linux/sched.h>
#include <linux/timex.h>

static char stack[2][8192];

static int __attribute__((noreturn)) sleeper(void *arg)
{
	for (;;)
		sys(__NR_pause);
}

static int execs(void *arg)
{
	char *args[] = { "/handover", "again", 0 };
	sys(__NR_execve, args[0], args, args + 2);
	leave(9);
	return 0;
}

static void sleeps(int clock)
{
#ifdef __NR_clock_nanosleep_time64
	struct __kernel_timespec t = { 0, 1000 };
	say(" %r", sys(__NR_clock_nanosleep_time64, clock, 0, &t, 0));
#else
	struct timespec t = { 0, 1000 };
	say(" %r", sys(__NR_clock_nanosleep, clock, 0, &t, 0));
#endif
}

int main(int argc, char **argv)
{
	int status = -1;
	if (argc > 1) {
		say("again %d\n", (long)(sys(__NR_getpid) == sys(__NR_gettid)));
		leave(7);
	}
	long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	long pid = fork();
	if (!pid) {
		start_thread(sleeper, 0, flags, stack[0] + 8192);
		start_thread(execs, 0, flags, stack[1] + 8192);
		sleeper(0);
	}
	long fd = sys(__NR_pidfd_open, pid, 0);
	say("open %d", (long)(fd > 2));
	sys(__NR_waitid, 1, pid, 0, 4 | 0x1000000, 0);
	say(" setns %r", sys(__NR_setns, fd, CLONE_NEWNET));
	say(" wait %d", (long)(sys(__NR_wait4, pid, &status, 0, 0) == pid));
	say(" status %x", (long)status);
	say(" setns %r\n", sys(__NR_setns, fd, CLONE_NEWNET));
	say("sleep:");
	for (int clock = 0; clock < 7; clock++)
		if (clock != 2) /* only another thread could use CPU time meanwhile */
			sleeps(clock);
	sleeps(11);
	sleeps(12);
	say("\n");
	struct timex t;
	memset(&t, 0, sizeof(t));
	t.modes = ADJ_TAI;
	t.constant = 37;
	sys(__NR_adjtimex, &t);
	memset(&t, 0, sizeof(t));
	say("state %d", sys(__NR_adjtimex, &t) >= 0);
	say(" tai %d", (long)t.tai);
	t.modes = ADJ_TAI;
	t.constant = 100001;
	say(" %d", sys(__NR_adjtimex, &t) >= 0);
	say(" %d", (long)t.tai);
	t.constant = 0;
	sys(__NR_adjtimex, &t);
	say(" %d\n", (long)t.tai);
	leave(0);
}
