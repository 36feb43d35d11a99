/* What calls of memory refuse. not: s390x i386 (they have no protection keys) */
#include "tiny.h"
#include <linux/mman.h>
static char buf[8192];

static void memory(void)
{
	char *p = map(0, 16384, 3, 0x22, -1, 0);
	long fd = sys(__NR_openat, AT_FDCWD, "/tmp/pr", O_RDWR | O_CREAT, 0644);
	say("mmap len0 %r type0 %r fd %r\n", (long)map(0, 0, 3, 0x22, -1, 0), (long)map(0, 4096, 3, 0x20, -1, 0), (long)map(0, 4096, 3, 2, -1, 0));
	say("noreplace %r validate %r\n", (long)map(p, 4096, 3, 0x100022, -1, 0), (long)map(0, 4096, 3, 0x80003, fd, 0));
	say("mprotect unal %r hole %r bits %r grows %r\n", sys(__NR_mprotect, p + 1, 4096, 1), sys(__NR_mprotect, 0x10000, 4096, 1), sys(__NR_mprotect, p, 4096, 0x100), sys(__NR_mprotect, p, 4096, 0x03000000));
	say("munmap unal %r zero %r\n", sys(__NR_munmap, p + 1, 4096), sys(__NR_munmap, p, 0));
	say("msync %r both %r hole %r bits %r\n", sys(__NR_msync, p, 4096, 4), sys(__NR_msync, p, 4096, 5), sys(__NR_msync, 0x10000, 4096, 4), sys(__NR_msync, p, 4096, 16));
	say("mincore %r unal %r hole %r fault %r\n", sys(__NR_mincore, p, 16384, buf), sys(__NR_mincore, p + 1, 10, buf), sys(__NR_mincore, 0x10000, 4096, buf), sys(__NR_mincore, p, 4096, 8));
	say("madvise %r unal %r bad %r hole %r\n", sys(__NR_madvise, p, 4096, 4), sys(__NR_madvise, p + 1, 4096, 4), sys(__NR_madvise, p, 4096, 99), sys(__NR_madvise, 0x10000, 4096, 4));
	say("mremap shrink %s grow0 %r flags %r bad %r\n", sys(__NR_mremap, p, 16384, 8192, 0) == (long)p ? "same" : "?", sys(__NR_mremap, p, 4096, 0, 0), sys(__NR_mremap, p, 4096, 8192, 8), sys(__NR_mremap, 0x10000, 4096, 8192, 1));
	say("flock mandatory %r %r unknown %r\n", sys(__NR_flock, fd, 32), sys(__NR_flock, fd, 99), sys(__NR_flock, fd, 16));
	say("brk %d\n", sys(__NR_brk, 0) > 0);
	say("pkey alloc %r mprotect %r free %r\n", sys(__NR_pkey_alloc, 1, 0), sys(__NR_pkey_mprotect, p, 4096, 3, -1), sys(__NR_pkey_free, 99));
}


int main(int argc, char **argv)
{
	memory();
	return 0;
}
