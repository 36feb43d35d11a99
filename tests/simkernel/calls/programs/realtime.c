/* Who runs when: real-time tasks on one CPU, by priority, turn and change of policy; wake-ups by priority. */
#include "tiny.h"
#include <linux/futex.h>
#include <linux/sched.h>

static volatile int *shared; /* how many marks there are, words to sleep on; from byte 1024 on the marks */

static void mark(int c) { ((volatile char *)(shared + 256))[__sync_fetch_and_add(&shared[0], 1)] = c; }

static void show(const char *what)
{
	int i;

	((volatile char *)(shared + 256))[shared[0]] = 0;
	say("%s: %s\n", what, (const char *)(shared + 256));
	for (i = 0; i < 64; i++)
		shared[i] = 0;
}

static long policy(long pid, int which, int priority) { return sys(__NR_sched_setscheduler, pid, which, &priority); }

static long now_ms(void)
{
	struct __kernel_old_timespec t;

	sys(__NR_clock_gettime, 1, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void spin(long ms) { long end = now_ms() + ms; while (now_ms() < end); }
static void sleep_on(int i) { sys(__NR_futex, &shared[i], FUTEX_WAIT, 0, 0); }
static void wake(int i, int n) { shared[i] = 1; sys(__NR_futex, &shared[i], FUTEX_WAKE, n); }
static void all_end(void) { while (wait_for(-1) != -1); }

/* Children with these priorities (0: a normal one) that sleep on word 1, mark themselves and, if they spin, their end. */
static void sleepers(const int *priorities, int n, long ms)
{
	int i;

	for (i = 0; i < n; i++)
		if (!fork()) {
			policy(0, priorities[i] ? SCHED_FIFO : SCHED_NORMAL, priorities[i]);
			sleep_on(1);
			mark('a' + i);
			if (ms) {
				spin(ms);
				mark('A' + i);
			}
			leave(0);
		}
	nap(20);
}

static void two_that_spin(int which, long ms)
{
	int i, j;

	for (i = 0; i < 2; i++)
		if (!fork()) {
			policy(0, which, 40);
			sleep_on(1);
			for (j = 0; j < 3; j++) {
				mark('a' + i);
				spin(ms);
			}
			leave(0);
		}
	nap(20);
	wake(1, 9);
}

static void stat_fields(void)
{
	char text[2000], *at = text;
	int field = 2, i;

	slurp("/proc/self/stat", text, sizeof(text) - 1);
	for (i = 0; text[i]; i++)
		if (text[i] == ')')
			at = text + i + 2;
	while (*at) {
		field++;
		if (field == 18 || field == 19 || field == 40 || field == 41) {
			say("field %d ", field);
			while (*at && *at != ' ')
				put(*at++);
			put('\n');
		}
		while (*at && *at != ' ')
			at++;
		if (*at)
			at++;
	}
}

int main(int argc, char **argv)
{
	ulong mask = 1;
	int i, child, ends[2], priority;
	char byte;

	sys(__NR_sched_setaffinity, 0, sizeof(mask), &mask);
	shared = map(0, 65536, 3, 0x21, -1, 0);
	say("own %r\n", policy(0, SCHED_FIFO, 50));
	if (!fork()) {
		mark('c');
		leave(0);
	}
	mark('p');
	sys(__NR_sched_yield);
	mark('q');
	all_end();
	show("forked, then a yield");

	for (i = 60; i >= 40; i -= 20) {
		child = fork();
		if (!child) {
			mark('c');
			leave(0);
		}
		mark('p');
		policy(child, SCHED_FIFO, i);
		mark('q');
		sys(__NR_sched_yield);
		mark('r');
		all_end();
		show(i == 60 ? "raised" : "lowered");
	}
	child = fork();
	if (!child) {
		mark('c');
		leave(0);
	}
	mark('p');
	policy(0, SCHED_FIFO, 45);
	mark('q');
	policy(0, SCHED_FIFO, 50);
	mark('r');
	all_end();
	show("own lowered");

	sleepers((int[]){ 40, 40, 45 }, 3, 2);
	mark('<');
	wake(1, 9);
	mark('>');
	all_end();
	show("woken below us");
	sleepers((int[]){ 51, 53, 52, 53 }, 4, 0);
	mark('<');
	wake(1, 9);
	mark('>');
	all_end();
	show("woken above us");
	sleepers((int[]){ 51, 0, 52, 53 }, 4, 0);
	for (i = 0; i < 4; i++) {
		mark('0' + i);
		wake(1, 1);
	}
	all_end();
	show("woken one by one");

	two_that_spin(SCHED_FIFO, 30);
	for (i = 0; i < 4; i++) {
		nap(26);
		mark('.');
	}
	all_end();
	show("preempted goes in front");
	two_that_spin(SCHED_RR, 70);
	all_end();
	show("in turn");

	if (!fork()) {
		policy(0, SCHED_NORMAL, 0);
		for (i = 0; i < 50; i++) {
			mark('n');
			spin(5);
		}
		leave(0);
	}
	nap(20);
	shared[0] = 0;
	spin(100);
	mark('|');
	say("beside a busy one: %d\n", shared[0]);
	all_end();
	shared[0] = 0;

	for (priority = 40; priority <= 60; priority += 20) {
		sys(__NR_pipe2, ends, 0);
		if (!fork()) {
			policy(0, SCHED_FIFO, priority);
			sys(__NR_read, ends[0], &byte, 1);
			mark('r');
			leave(0);
		}
		nap(20);
		mark('<');
		sys(__NR_write, ends[1], "x", 1);
		mark('>');
		all_end();
		show(priority == 40 ? "reader below us" : "reader above us");
	}
	say("nice %r", sys(__NR_setpriority, 0, 0, -5));
	sys(__NR_sched_getparam, 0, &priority);
	say(", still %r %d", sys(__NR_sched_getscheduler, 0), priority);
	policy(0, SCHED_NORMAL, 0);
	say(", then %r\n", sys(__NR_getpriority, 0, 0));
	policy(0, SCHED_FIFO, 7);
	stat_fields();
	flush();
	return 0;
}
