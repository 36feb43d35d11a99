/* What getrusage() and wait4() say of CPU time, user's and system's together, is what the clocks of CPU time show. */
#include "tiny.h"

struct usage { long user, user_us, system, system_us, rest[32]; };

static long us(struct usage *u) { return (u->user + u->system) * 1000000 + u->user_us + u->system_us; }
static long used_by(int who) { struct usage u; sys(__NR_getrusage, who, &u); return us(&u); }
static long clock_us(int id) { long t[2]; sys(__NR_clock_gettime, id, t); return t[0] * 1000000 + t[1] / 1000; }
static const char *word(int right) { return right ? "yes" : "no"; }

static void work(int rounds)
{
	static char page[4096];
	int p[2];
	while (rounds--) {
		sys(__NR_pipe2, p, 0);
		sys(__NR_write, p[1], page, sizeof(page));
		sys(__NR_read, p[0], page, sizeof(page));
		sys(__NR_close, p[0]);
		sys(__NR_close, p[1]);
	}
}

/* Each of two times was cut to whole us. */
static const char *between(int who, int clock)
{
	long before = clock_us(clock), sum = used_by(who), after = clock_us(clock);
	return word(before <= sum + 2 && sum <= after + 1);
}

static int steps_back(void)
{
	struct usage last = {0}, next;
	int back = 0;
	for (int i = 0; i < 200; i++) {
		work(i % 3);
		for (volatile int n = 0; n < i * 10; n++) {}
		sys(__NR_getrusage, 0, &next);
		back += next.user * 1000000 + next.user_us < last.user * 1000000 + last.user_us;
		back += next.system * 1000000 + next.system_us < last.system * 1000000 + last.system_us;
		last = next;
	}
	return back;
}

int main(int argc, char **argv)
{
	long at_first, child = 0;
	struct usage of;
	int p[2], status;
	say("own time is the clock's: %s\n", between(0, 2));
	at_first = used_by(0);
	work(500);
	say("and after calls: %s\n", between(0, 2));
	say("calls take time: %s\n", word(used_by(0) > at_first + 50));
	say("the thread's time is its clock's: %s\n", between(1, 3));
	say("steps back: %d\n", steps_back());
	say("children have none: %s\n", word(used_by(-1) == 0));
	flush();
	sys(__NR_pipe2, p, 0);
	if (!fork()) {
		work(500);
		child = clock_us(2);
		sys(__NR_write, p[1], &child, sizeof(child));
		leave(0);
	}
	sys(__NR_wait4, -1, &status, 0, &of);
	sys(__NR_read, p[0], &child, sizeof(child));
	say("a child's time is at least what it saw: %s\n", word(child > 50 && us(&of) + 2 >= child));
	child = used_by(-1) - us(&of);
	say("the children's time is the child's: %s\n", word(child <= 3 && child >= -3));
	return 0;
}
