/* Who runs first on one CPU: a new task owes a turn, so its parent runs on; who is woken; who yields; sched_child_runs_first. */
#include "turns.h"

static void *thread(void *x)
{
	say("t");
	return 0;
}

static void child(const char *what)
{
	if (!fork()) {
		say(what);
		_exit(0);
	}
}

static void waits(void)
{
	child("c");
	say("p");
	wait(0);
}

static void works(void)
{
	child("c");
	work(20000);
	say("p");
	wait(0);
}

static void three(void)
{
	child("1");
	child("2");
	child("3");
	say("p");
	while (wait(0) > 0)
		;
}

static void woken_parent(void)
{
	int q[2];
	char c;
	pipe(q);
	if (!fork()) {
		say("c");
		write(q[1], "x", 1);
		say("d");
		_exit(0);
	}
	say("p");
	read(q[0], &c, 1);
	say("r");
	wait(0);
	close(q[0]);
	close(q[1]);
}

static void woken_child(void)
{
	int q[2];
	char c;
	pipe(q);
	if (!fork()) {
		say("c");
		read(q[0], &c, 1);
		say("d");
		_exit(0);
	}
	say("p");
	usleep(2000);
	write(q[1], "x", 1);
	say("w");
	wait(0);
	close(q[0]);
	close(q[1]);
}

static void threads(void)
{
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	say("p");
	pthread_join(t, 0);
}

static void grandchild(void)
{
	if (!fork()) {
		say("c");
		child("g");
		say("C");
		wait(0);
		_exit(0);
	}
	say("p");
	wait(0);
}

static void yields(void)
{
	child("c");
	say("p");
	sched_yield();
	say("y");
	wait(0);
}

static void vforks(void)
{
	if (!vfork()) {
		say("c");
		_exit(0);
	}
	say("p");
	wait(0);
}

static void nicer(void)
{
	if (!fork()) {
		nice(19);
		say("c");
		child("1");
		child("2");
		say("C");
		while (wait(0) > 0)
			;
		_exit(0);
	}
	say("p");
	wait(0);
}

#define ROW(f) { #f, f }
static const struct {
	const char *name;
	void (*run)(void);
} rows[] = {
	ROW(waits), ROW(works), ROW(three), ROW(woken_parent), ROW(woken_child), ROW(threads), ROW(yields), ROW(vforks), ROW(grandchild), ROW(nicer),
};

static void all(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		char seen[256];
		for (int round = 0; round < 4; round++) {
			usleep(10000);
			rows[i].run();
			say(".");
			if (!round)  /* everything has been used once */
				read(told[0], seen, sizeof seen);
		}
		seen[read(told[0], seen, sizeof seen - 1)] = 0;
		printf("%-14s %s\n", rows[i].name, seen);
		fflush(stdout);
	}
}

int main(void)
{
	pipe(told);
	all(10);
	FILE *first = fopen("/proc/sys/kernel/sched_child_runs_first", "w");
	fputs("1", first);
	fclose(first);
	printf("children run first\n");
	fflush(stdout);
	all(8); /* of children's children the real kernel does not say the same twice */
	return 0;
}
