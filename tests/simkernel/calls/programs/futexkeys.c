/* Private futexes and shared ones do not meet. not: i386 s390x */
#include "tiny.h"
#include <linux/futex.h>
#include <linux/sched.h>
static unsigned word; static char stack[2][8192]; static volatile int said[2];
static int sleeper(void *arg) { int private = (long)arg; struct __kernel_timespec t = { 0, 200000000 }; said[private] = sys(__NR_futex, &word, FUTEX_WAIT | (private ? 128 : 0), 0, &t); sys(__NR_exit, 0); return 0; }
static unsigned *shared;
int main(int argc, char **argv)
{
	for (int i = 0; i < 2; i++) start_thread(sleeper, (void *)(long)i, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, stack[i] + 8192);
	nap(50);
	say("requeue private %r\n", sys(__NR_futex, &word, FUTEX_REQUEUE | 128, 0, 0, &word));
	say("private %r", sys(__NR_futex, &word, FUTEX_WAKE | 128, 9)); say(" again %r shared %r\n", sys(__NR_futex, &word, FUTEX_WAKE | 128, 9), sys(__NR_futex, &word, FUTEX_WAKE, 9));
	nap(300);
	say("said %r %r\n", (long)said[0], (long)said[1]);
	shared = map(0, 4096, 3, 0x21, -1, 0);
	if (!fork()) { nap(50); say("private first %r shared %r\n", sys(__NR_futex, shared, FUTEX_WAKE | 128, 9), (long)0); sys(__NR_futex, shared, FUTEX_WAKE, 9); leave(0); }
	{ struct __kernel_timespec t = { 0, 200000000 }; say(" wait %r\n", sys(__NR_futex, shared, FUTEX_WAIT, 0, &t)); }
	return 0;
}
