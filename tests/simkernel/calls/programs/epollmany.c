/* Several that wait for one epoll instance: how many of them a write wakes, level- and edge-triggered, by what they ask for. */
#include "tiny.h"
#include <linux/eventpoll.h>

static volatile int *told;
static void add(long ep, long fd, unsigned events)
{
	struct epoll_event e = { events, (__u64)fd };
	sys(__NR_epoll_ctl, ep, 1, fd, &e);
}
static void scene(const char *what, unsigned events, int waiters, int watched, int limit, int writes, int reads, int exclusive)
{
	long ep = sys(__NR_epoll_create1, 0), eps[4];
	*told = 0;
	for (int i = 0; i < watched; i++)
		sys(__NR_pipe2, told + 4 + 2 * i, 0);
	if (!exclusive)
		for (int i = 0; i < watched; i++)
			add(ep, told[4 + 2 * i], events);
	for (int w = 0; w < waiters; w++) {
		eps[w] = ep;
		if (exclusive) {
			eps[w] = sys(__NR_epoll_create1, 0);
			add(eps[w], told[4], events | (exclusive == 2 ? 1U << 28 : 0));
		}
		if (!fork()) {
			struct epoll_event got[4];
			char c;
			int n = sys(__NR_epoll_pwait, eps[w], got, limit, 400, 0, 8);
			if (n > 0) {
				__sync_fetch_and_add(told, 1);
				__sync_fetch_and_add(told + 1, n);
				for (int i = 0; i < n && reads; i++)
					sys(__NR_read, (long)got[i].data, &c, 1);
			}
			leave(0);
		}
	}
	nap(100);
	for (int i = 0; i < writes; i++)
		sys(__NR_write, told[5 + 2 * (i % watched)], "x", 1);
	for (int w = 0; w < waiters; w++)
		sys(__NR_wait4, -1, 0, 0, 0);
	say("%s: %d waiters, %d watched, %d at most, %d writes, %s: %d told", what, waiters, watched, limit, writes, reads ? "reading" : "not reading", *told);
	say("%s\n", *told && told[1] >= *told ? "" : " none");
	told[1] = 0;
	for (int i = 0; i < watched; i++)
		sys(__NR_close, told[4 + 2 * i]), sys(__NR_close, told[5 + 2 * i]);
	for (int w = 0; exclusive && w < waiters; w++)
		sys(__NR_close, eps[w]);
	sys(__NR_close, ep);
}

int main(int argc, char **argv)
{
	told = map(0, 4096, 3, 0x21, -1, 0);
	for (int waiters = 1; waiters <= 4; waiters++) {
		scene("level", 1, waiters, 1, 1, 1, 0, 0);
		scene("edge", 1 | 1U << 31, waiters, 1, 1, 1, 0, 0);
		scene("edge", 1 | 1U << 31, waiters, 2, 1, 2, 0, 0);
		scene("edge", 1 | 1U << 31, waiters, 2, 4, 1, 0, 0);
		scene("oneshot", 1 | 1U << 30, waiters, 1, 1, 1, 0, 0);
		scene("oneshot", 1 | 1U << 30, waiters, 2, 1, 2, 0, 0);
		scene("level", 1, waiters, 2, 1, 1, 0, 0);
		scene("one each", 1, waiters, 1, 1, 1, 0, 1);
		scene("one each, exclusive, edge", 1 | 1U << 31, waiters, 1, 1, 1, 0, 2);
	}
	return 0;
}
