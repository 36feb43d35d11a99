/* RLIMIT_FSIZE: writes, truncation and reservation past the limit: EFBIG and SIGXFSZ. */
#include "tiny.h"
static volatile int told;
static void count(int sig, void *info, void *context) { told++; }
static void did(const char *what, long r)
{
	say("%s %r, %d signals\n", what, r, told);
	told = 0;
}
#if defined(__x86_64__)
static long reserve(long fd, int mode, long at, long length) { return sys(__NR_fallocate, fd, mode, at, length); }
static long place(long fd, const void *from, long n, long at) { return sys(__NR_pwrite64, fd, from, n, at); }
#elif defined(__s390x__)
static long reserve(long fd, int mode, long at, long length) { return sys(__NR_fallocate, fd, mode, at, length); }
static long place(long fd, const void *from, long n, long at) { return sys(__NR_pwrite64, fd, from, n, at); }
#else
static long reserve(long fd, int mode, long at, long length) { return sys(__NR_fallocate, fd, mode, at, 0, length, 0); }
static long place(long fd, const void *from, long n, long at) { return sys(__NR_pwrite64, fd, from, n, at, 0); }
#endif
int main(int argc, char **argv)
{
	static char buf[8192];
	ulong limit[2] = { 8192, 65536 };
	on_signal(25, count, 0);
	long fd = sys(__NR_memfd_create, "x", 0);
	did("limit", sys(__NR_setrlimit, 1, limit));
	did("write 4096", place(fd, buf, 4096, 0));
	did("write across", place(fd, buf, 8192, 4096));
	did("write at the limit", place(fd, buf, 1, 8192));
	did("nothing at the limit", place(fd, buf, 0, 8192));
	did("write past", place(fd, buf, 1, 10000));
	did("truncate to the limit", sys(__NR_ftruncate, fd, 8192));
	did("truncate past", sys(__NR_ftruncate, fd, 8193));
	did("reserve to the limit", reserve(fd, 0, 0, 8192));
	did("reserve past", reserve(fd, 0, 8000, 4096));
	did("reserve past, size kept", reserve(fd, 1, 8192, 4096));
	did("hole past", reserve(fd, 3, 8192, 4096));
	limit[0] = 4096;
	did("lower", sys(__NR_setrlimit, 1, limit));
	did("write inside", place(fd, buf, 10, 0));
	did("write behind the limit, inside the file", place(fd, buf, 10, 5000));
	did("truncate shorter, past the limit", sys(__NR_ftruncate, fd, 6000));
	did("reserve inside the file, past the limit", reserve(fd, 0, 4096, 1000));
	did("truncate inside", sys(__NR_ftruncate, fd, 100));
	did("grow past", sys(__NR_ftruncate, fd, 5000));
	long file = sys(__NR_openat, AT_FDCWD, "/tmp/fsize", O_RDWR | O_CREAT | O_TRUNC, 0600);
	did("file", place(file, buf, 4097, 0));
	did("file at the limit", place(file, buf, 1, 4096));
	did("truncate by name", sys(__NR_truncate, "/tmp/fsize", 4097));
	sys(__NR_unlinkat, AT_FDCWD, "/tmp/fsize", 0);
	int fds[2];
	sys(__NR_pipe, fds);
	did("pipe", sys(__NR_write, fds[1], buf, 8000));
	return 0;
}
