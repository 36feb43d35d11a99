/* Requeueing sleepers of a futex to a lock that has an owner: what is refused, and what ends a sleep. */
#include "tiny.h"
#include <linux/futex.h>

static volatile int cond, lock;

static long futex(volatile int *word, int op, long value, void *time, volatile int *second, long value3)
{
	return sys(__NR_futex, word, op | FUTEX_PRIVATE_FLAG, value, time, second, value3);
}

static long requeue(int wake, long more, int value) { return futex(&cond, FUTEX_CMP_REQUEUE_PI, wake, (void *)more, &lock, value); }

int main(int argc, char **argv)
{
	struct timespec soon = { 0, 1 };
	say("nobody %r two %r negative %r changed %r\n", requeue(1, 0, 0), requeue(2, 0, 0), requeue(1, -1, 0), requeue(1, 0, 5));
	say("itself %r %r\n", futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 0, &cond, 0), futex(&cond, FUTEX_WAIT_REQUEUE_PI, 0, 0, &cond, 0));
	say("value %r time %r real %r\n", futex(&cond, FUTEX_WAIT_REQUEUE_PI, 1, 0, &lock, 0),
	    futex(&cond, FUTEX_WAIT_REQUEUE_PI, 0, &soon, &lock, 0),
	    futex(&cond, FUTEX_WAIT_REQUEUE_PI | FUTEX_CLOCK_REALTIME, 0, &soon, &lock, 0));
	say("plain wait with the wall clock %r\n", futex(&cond, FUTEX_WAIT | FUTEX_CLOCK_REALTIME, 0, &soon, 0, 0));
	leave(0);
}
