/* Arguments at the edge of what is taken: growing areas, moving without unmapping, names of memory files, lone waiters of epoll, classes of I/O. */
#include "tiny.h"
#include <linux/eventpoll.h>
int main(int argc, char **argv)
{
	char name[260];
	memset(name, 'm', sizeof name);
	static const int kinds[] = { 0x101, 0x102, 0x103, 0x121, 0x122, 0x123 };
	long fd = sys(__NR_memfd_create, "grows", 0);
	sys(__NR_ftruncate, fd, 4096);
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		void *p = map(0, 4096, 3, kinds[i], kinds[i] & 0x20 ? -1 : fd, 0);
		say("map %x: %r\n", (long)kinds[i], bad(p) ? (long)p : 0L);
	}
	char *p = map(0, 8192, 3, 0x22, -1, 0);
	for (int flags = 4; flags < 8; flags++)
		for (int at = 0; at < 4; at++) {
			static const unsigned long places[] = { 0, 8, 0x10000000, ~0xfffUL };
			long r = sys(__NR_mremap, p, 4096, 4096, flags, places[at]);
			say("move %d to %d: %r\n", flags, at, r < 0 && r > -4096 ? r : 0L);
		}
	long r = sys(__NR_mremap, p, 8192, 8192, 5, p + 4096);
	say("onto itself: %r\n", r < 0 && r > -4096 ? r : 0L);
	for (int size = 247; size < 253; size++) {
		name[size] = 0;
		say("name of %d: %d\n", size, (int)sys(__NR_memfd_create, name, 0) >= 0 ? 0 : 1);
		say("%r\n", size > 249 ? sys(__NR_memfd_create, name, 0) : 0L);
		name[size] = 'm';
	}
	long ep = sys(__NR_epoll_create1, 0), e = sys(__NR_eventfd2, 0, 0);
	static const unsigned masks[] = { 1u << 28 | 1, 1u << 28 | 1u << 30, 1u << 28 | 1u << 31 | 4, 1u << 28 | 2, 1u << 28 | 0x2000, 1u << 28 | 1u << 29 | 0x18 };
	for (unsigned i = 0; i < sizeof masks / sizeof *masks; i++) {
		struct epoll_event event = { masks[i], 0 };
		say("alone %x: %r", (long)masks[i], sys(__NR_epoll_ctl, ep, 1, e, &event));
		say(" %r", sys(__NR_epoll_ctl, ep, 3, e, &event));
		say(" %r\n", sys(__NR_epoll_ctl, ep, 2, e, &event));
	}
	for (int kind = 0; kind < 17; kind++)
		say("class %d: %r", kind, sys(__NR_ioprio_set, 1, 0, kind << 13 | 2)), say(" %r\n", sys(__NR_ioprio_get, 1, 0));
	return 0;
}
