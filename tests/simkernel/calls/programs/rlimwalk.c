/* Limits of resources: each with every pair of values, by root and by others, one's own and of another process. not: i386 s390x */
#include "tiny.h"
#include <linux/resource.h>
static const unsigned long long values[] = { 0, 1, 4096, 100000, 1048576, 1073741824, 0x7fffffffffffffffULL, ~0ULL - 1, ~0ULL };
struct pair { unsigned long long cur, max; };
static void ask(long pid, int res)
{
	struct pair old = { 7, 7 }, now = { 7, 7 };
	for (unsigned i = 0; i < 9; i++)
		for (unsigned j = 0; j < 9; j++) {
			struct pair p = { values[i], values[j] };
			long r = sys(__NR_prlimit64, pid, res, &p, &old);
			sys(__NR_prlimit64, pid, res, 0, &now);
			say(" %r", r);
			if (now.cur != p.cur || now.max != p.max)
				say("(%L %L)", now.cur, now.max);
		}
	say("\n");
}
int main(int argc, char **argv)
{
	for (int who = 0; who < 3; who++)
		for (int res = -1; res < 18; res++) {
			if (res == RLIMIT_FSIZE)
				continue;
			if (res == RLIMIT_STACK || res == RLIMIT_AS || res == RLIMIT_DATA || res == RLIMIT_CPU) /* one may not live */
				continue;
			long p = fork();
			if (!p) {
				if (who == 1)
					sys(__NR_setuid, 1000);
				say("%s %d:", who == 0 ? "root" : who == 1 ? "nobody" : "another's", res);
				if (who == 2) {
					long q = fork();
					if (!q) { for (;;) sys(__NR_pause); }
					ask(q, res);
					sys(__NR_kill, q, 9);
				} else
					ask(0, res);
				leave(0);
			}
			wait_for(p);
		}
	long p = fork();
	if (!p) {
		long q = fork();
		struct pair v = { 5, 5 };
		if (!q) { for (;;) sys(__NR_pause); }
		sys(__NR_setuid, 1000);
		for (int res = 0; res < 16; res++)
			say("other's %d: %r %r\n", res, sys(__NR_prlimit64, q, res, 0, &v), sys(__NR_prlimit64, q, res, &v, 0));
		T(__NR_prlimit64, 99999, 0, 0, 0);
		T(__NR_prlimit64, -1, 0, 0, 0);
		T(__NR_prlimit64, 0, 0, 1, 0);
		T(__NR_prlimit64, 0, 0, 0, 1);
		T(__NR_prlimit64, 0, 16, 0, 1);
		T(__NR_prlimit64, 0, 16, 1, 0);
		T(__NR_getrlimit, 0, 1);
		T(__NR_setrlimit, 0, 1);
		T(__NR_getrlimit, 16, 1);
		T(__NR_getrusage, 0, 1);
		T(__NR_getrusage, 2, 0);
		T(__NR_getrusage, 1, 0);
		T(__NR_getrusage, -2, 0);
		leave(0);
	}
	wait_for(p);
	return 0;
}
