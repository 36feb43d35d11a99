/* process_madvise(2), process_mrelease(2), remap_file_pages(2). */
#include "tiny.h"
#include <linux/mman.h>
#include <linux/stat.h>
#ifndef MREMAP_MAYMOVE
#define MREMAP_MAYMOVE 1
#endif
struct vec { void *base; size_t len; };

static void content(const char *what, char *at, int pages)
{
	say("%s:", what);
	for (int i = 0; i < pages; i++)
		say(" %d", at[i * 4096]);
	say("\n");
}

int main(int argc, char **argv)
{
	long me = sys(__NR_getpid);
	char *m = map(0, 8 * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 8; i++)
		m[i * 4096] = i + 1;
	long self = sys(__NR_pidfd_open, me, 0);
	struct vec v[3] = { { m, 4096 }, { m + 3 * 4096, 8192 }, { m + 7 * 4096, 4096 } };
	say("advice of its own\n");
	for (int advice = -1; advice < 30; advice++)
		say(" %d: %r\n", advice, sys(__NR_process_madvise, self, v, 3, advice, 0));
	content("kept", m, 8);
	say("bad\n");
	say(" flags %r\n", sys(__NR_process_madvise, self, v, 3, 3, 1));
	say(" fd %r %r\n", sys(__NR_process_madvise, -1, v, 3, 3, 0), sys(__NR_process_madvise, 1, v, 3, 3, 0));
	say(" none %r\n", sys(__NR_process_madvise, self, v, 0, 3, 0));
	say(" many %r\n", sys(__NR_process_madvise, self, v, 1025, 3, 0));
	say(" nowhere %r\n", sys(__NR_process_madvise, self, 8, 1, 3, 0));
	v[1].base = m + 5;
	say(" unaligned second %r\n", sys(__NR_process_madvise, self, v, 3, 3, 0));
	v[1].base = 0;
	say(" hole second %r\n", sys(__NR_process_madvise, self, v, 3, 3, 0));
	v[0].base = 0;
	say(" hole first %r\n", sys(__NR_process_madvise, self, v, 3, 3, 0));
	v[0].base = m, v[0].len = 0, v[1].base = m + 4096, v[1].len = 5000;
	say(" odd lengths %r\n", sys(__NR_process_madvise, self, v, 2, 3, 0));
	long child = fork();
	if (!child) {
		nap(2000);
		leave(0);
	}
	long other = sys(__NR_pidfd_open, child, 0);
	v[0].len = 4096;
	say("advice of another\n");
	for (int advice = -1; advice < 30; advice++)
		say(" %d: %r\n", advice, sys(__NR_process_madvise, other, v, 2, advice, 0));
	say("released\n");
	say(" bad fd %r %r\n", sys(__NR_process_mrelease, -1, 0), sys(__NR_process_mrelease, 1, 0));
	say(" flags %r %r\n", sys(__NR_process_mrelease, other, 1), sys(__NR_process_mrelease, -1, 1));
	say(" alive %r\n", sys(__NR_process_mrelease, other, 0));
	say(" itself %r\n", sys(__NR_process_mrelease, self, 0));
	long thread = fork();
	if (!thread) {
		if (sys(__NR_setresuid, 1000, 1000, 1000))
			leave(2);
		say("as another\n");
		say(" %r %r %r\n", sys(__NR_process_madvise, other, v, 2, 3, 0), sys(__NR_process_mrelease, other, 0), sys(__NR_process_madvise, self, v, 2, 20, 0));
		leave(0);
	}
	wait_for(thread);
	sys(__NR_kill, child, 9);
	nap(50);
	say(" zombie %r\n", sys(__NR_process_mrelease, other, 0));
	say(" zombie advice %r\n", sys(__NR_process_madvise, other, v, 2, 20, 0));
	say("ended %d\n", wait_for(child));
	say(" gone %r\n", sys(__NR_process_mrelease, other, 0));
	say(" gone advice %r\n", sys(__NR_process_madvise, other, v, 2, 20, 0));

	say("remap_file_pages\n");
	long fd = sys(__NR_memfd_create, "x", 0);
	sys(__NR_ftruncate, fd, 8 * 4096);
	char *s = map(0, 8 * 4096, 3, MAP_SHARED, fd, 0);
	for (int i = 0; i < 8; i++)
		s[i * 4096] = i + 1;
	say(" private %r\n", sys(__NR_remap_file_pages, m, 4096, 0, 1, 0));
	say(" nowhere %r\n", sys(__NR_remap_file_pages, 0, 4096, 0, 1, 0));
	say(" prot %r\n", sys(__NR_remap_file_pages, s, 4096, 1, 1, 0));
	say(" size %r\n", sys(__NR_remap_file_pages, s, 0, 0, 1, 0));
	say(" wrap %r\n", sys(__NR_remap_file_pages, s, -4096L, 0, 1, 0));
	say(" far %r\n", sys(__NR_remap_file_pages, s, 4096, 0, -1L, 0));
	say(" moved %r\n", sys(__NR_remap_file_pages, s, 4096, 0, 7, 0));
	content("one", s, 8);
	say(" moved %r\n", sys(__NR_remap_file_pages, s + 4096 + 9, 8192 + 100, 0, 4, 0));
	content("two", s, 8);
	say(" across %r\n", sys(__NR_remap_file_pages, s, 3 * 4096, 0, 0, 0));
	content("across", s, 8);
	say(" long %r\n", sys(__NR_remap_file_pages, s + 7 * 4096, 2 * 4096, 0, 0, 0));
	say(" behind %r\n", sys(__NR_remap_file_pages, s + 7 * 4096, 4096, 0, 0, 0x10000));
	content("behind", s, 8);
	say(" flags %r\n", sys(__NR_remap_file_pages, s + 6 * 4096, 4096, 0, 0, -1L));
	content("flags", s, 8);
	((volatile char *)s)[6 * 4096] = 77;
	say(" written %d\n", ((volatile char *)s)[7 * 4096]);
	return 0;
}
