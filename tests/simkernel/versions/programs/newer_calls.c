/* System calls that came after 6.1: what each says to arguments good and bad.  newer_calls.VERSION is what real kernels said. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static const char *name_of(int e)
{
	static const struct { int number; const char *name; } names[] = {
		{EPERM, "EPERM"}, {ENOENT, "ENOENT"}, {EINTR, "EINTR"}, {E2BIG, "E2BIG"}, {EBADF, "EBADF"}, {EAGAIN, "EAGAIN"}, {ENOMEM, "ENOMEM"},
		{EFAULT, "EFAULT"}, {EEXIST, "EEXIST"}, {ENOTDIR, "ENOTDIR"}, {EINVAL, "EINVAL"}, {ENOSYS, "ENOSYS"}, {ENODATA, "ENODATA"},
		{ERANGE, "ERANGE"}, {ETIMEDOUT, "ETIMEDOUT"}, {EOPNOTSUPP, "EOPNOTSUPP"}, {EOVERFLOW, "EOVERFLOW"}, {ELOOP, "ELOOP"}, {ENOTTY, "ENOTTY"},
		{EACCES, "EACCES"}, {ENXIO, "ENXIO"}, {ENAMETOOLONG, "ENAMETOOLONG"}, {ESPIPE, "ESPIPE"}, {EROFS, "EROFS"},
	};
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].number == e) return names[i].name;
	return "?";
}
static long call(const char *what, long n, long a, long b, long c, long d, long e, long f)
{
	errno = 0;
	long r = syscall(n, a, b, c, d, e, f);
	if (r < 0) printf("%s: %s\n", what, errno < 200 ? name_of(errno) : "?");
	else printf("%s: %ld\n", what, r);
	return r;
}
#define CALL(what, n, ...) CALL7(what, n, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define CALL7(what, n, a, b, c, d, e, f, ...) call(what, n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

struct range { uint64_t off, len; };
struct stats { uint64_t cache, dirty, writeback, evicted, recent; };
struct xargs { uint64_t value; uint32_t size, flags; };

static void cachestat(void)
{
	struct range r = {0, 0};
	struct stats s;
	char page[4096] = "x";
	int fd = open("/tmp/cached", O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 5; i++) if (write(fd, page, sizeof page) != sizeof page) return;
	memset(&s, 9, sizeof s);
	if (CALL("cachestat", 451, fd, &r, &s, 0) == 0) printf("  %lu cached\n", s.cache);
	r = (struct range){4096, 8192};
	if (CALL("cachestat of two", 451, fd, &r, &s, 0) == 0) printf("  %lu cached\n", s.cache);
	r = (struct range){1, 4096};
	if (CALL("cachestat across", 451, fd, &r, &s, 0) == 0) printf("  %lu cached\n", s.cache);
	r = (struct range){1 << 20, 4096};
	if (CALL("cachestat beyond", 451, fd, &r, &s, 0) == 0) printf("  %lu cached\n", s.cache);
	CALL("cachestat flags", 451, fd, &r, &s, 1);
	CALL("cachestat no fd", 451, -1, &r, &s, 0);
	CALL("cachestat no range", 451, fd, 0, &s, 0);
	CALL("cachestat nowhere", 451, fd, &r, 0, 0);
	CALL("cachestat no fd, flags", 451, -1, &r, &s, 1);
	int p[2];
	if (pipe(p)) return;
	CALL("cachestat of a pipe", 451, p[0], &r, &s, 0);
	int d = open("/tmp", O_RDONLY);
	CALL("cachestat of a directory", 451, d, &r, &s, 0);
	int o = open("/tmp/cached", O_PATH);
	CALL("cachestat O_PATH", 451, o, &r, &s, 0);
	int z = open("/proc/version", O_RDONLY);
	CALL("cachestat proc", 451, z, &r, &s, 0);
	close(p[0]), close(p[1]), close(d), close(o), close(z), close(fd);
	unlink("/tmp/cached");
}
static void mode_of(const char *path)
{
	struct stat st;
	if (!lstat(path, &st)) printf("  %s %o\n", path, st.st_mode);
}
static void fchmodat2(void)
{
	close(open("/tmp/m", O_CREAT | O_RDWR, 0600));
	(void)!symlink("/tmp/m", "/tmp/l");
	CALL("fchmodat2", 452, AT_FDCWD, "/tmp/m", 0640, 0); mode_of("/tmp/m");
	CALL("fchmodat2 link", 452, AT_FDCWD, "/tmp/l", 0604, 0); mode_of("/tmp/m");
	CALL("fchmodat2 nofollow", 452, AT_FDCWD, "/tmp/l", 0777, AT_SYMLINK_NOFOLLOW); mode_of("/tmp/l");
	CALL("fchmodat2 nofollow file", 452, AT_FDCWD, "/tmp/m", 0777, AT_SYMLINK_NOFOLLOW); mode_of("/tmp/m");
	int fd = open("/tmp/m", O_RDONLY), o = open("/tmp/m", O_PATH);
	CALL("fchmodat2 empty", 452, fd, "", 0600, AT_EMPTY_PATH); mode_of("/tmp/m");
	CALL("fchmodat2 empty O_PATH", 452, o, "", 0611, AT_EMPTY_PATH); mode_of("/tmp/m");
	CALL("fchmodat2 empty without", 452, fd, "", 0600, 0);
	CALL("fchmodat2 flags", 452, AT_FDCWD, "/tmp/m", 0600, 0x10000);
	CALL("fchmodat2 nothing", 452, AT_FDCWD, "/tmp/none", 0600, 0);
	CALL("fchmodat2 fault", 452, AT_FDCWD, 8, 0600, 0);
	CALL("fchmodat2 fault, flags", 452, AT_FDCWD, 8, 0600, 1);
	CALL("fchmodat2 bad fd", 452, -1, "m", 0600, 0);
	close(fd), close(o), unlink("/tmp/m"), unlink("/tmp/l");
}
static void futexes(void)
{
	static uint32_t word = 5, other = 5;
	struct timespec soon = {0, 1000000}, bad = {0, -1};
	CALL("futex_wake", 454, &word, 1, 1, 2);
	CALL("futex_wake none", 454, &word, 1, 0, 2);
	CALL("futex_wake minus", 454, &word, 1, -1, 2);
	CALL("futex_wake mask 0", 454, &word, 0, 1, 2);
	CALL("futex_wake size 8", 454, &word, 1, 1, 0);
	CALL("futex_wake size 64", 454, &word, 1, 1, 3);
	CALL("futex_wake flags", 454, &word, 1, 1, 0x40);
	CALL("futex_wake private", 454, &word, 1, 1, 2 | 128);
	CALL("futex_wake numa", 454, &word, 1, 1, 2 | 4);
	CALL("futex_wake odd", 454, (char *)&word + 1, 1, 1, 2);
	CALL("futex_wake nowhere", 454, 4096, 1, 1, 2);
	CALL("futex_wake wide mask", 454, &word, 1L << 32, 1, 2);
	CALL("futex_wait other", 455, &word, 4, 1, 2, 0, 0);
	CALL("futex_wait soon", 455, &word, 5, 1, 2, &soon, CLOCK_MONOTONIC);
	CALL("futex_wait realtime", 455, &word, 5, 1, 2, &soon, CLOCK_REALTIME);
	CALL("futex_wait boottime", 455, &word, 5, 1, 2, &soon, CLOCK_BOOTTIME);
	CALL("futex_wait bad time", 455, &word, 5, 1, 2, &bad, CLOCK_MONOTONIC);
	CALL("futex_wait no time", 455, &word, 5, 1, 2, 8, CLOCK_MONOTONIC);
	CALL("futex_wait mask 0", 455, &word, 5, 0, 2, &soon, CLOCK_MONOTONIC);
	CALL("futex_wait flags", 455, &word, 5, 1, 0x100, &soon, CLOCK_MONOTONIC);
	CALL("futex_wait size 16", 455, &word, 5, 1, 1, &soon, CLOCK_MONOTONIC);
	CALL("futex_wait wide value", 455, &word, 5 | 1L << 32, 1, 2, &soon, CLOCK_MONOTONIC);
	CALL("futex_wait nowhere", 455, 4096, 5, 1, 2, &soon, CLOCK_MONOTONIC);
	struct waiter { uint64_t val, uaddr; uint32_t flags, reserved; } w[2] = {{5, (long)&word, 2, 0}, {0, (long)&other, 2, 0}};
	CALL("futex_requeue", 456, w, 0, 1, 1);
	CALL("futex_requeue flags", 456, w, 1, 1, 1);
	CALL("futex_requeue nothing", 456, 0, 0, 1, 1);
	CALL("futex_requeue nowhere", 456, 8, 0, 1, 1);
	w[0].val = 6;
	CALL("futex_requeue other", 456, w, 0, 1, 1);
	w[0].val = 5, w[1].flags = 2 | 128;
	CALL("futex_requeue mixed", 456, w, 0, 1, 1);
	w[1].flags = 1;
	CALL("futex_requeue sizes", 456, w, 0, 1, 1);
	w[1].flags = 2, w[1].reserved = 1;
	CALL("futex_requeue reserved", 456, w, 0, 1, 1);
	w[1].reserved = 0;
	CALL("futex_requeue minus", 456, w, 0, -1, 1);
	uint32_t *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int pid = fork();
	if (!pid) {
		long r = syscall(455, shared, 0L, 2L, 2L, 0L, 0L);
		_exit(r == 0 ? 7 : 8);
	}
	usleep(200000);
	CALL("futex_wake other mask", 454, shared, 1, 1, 2);
	CALL("futex_wake it", 454, shared, 3, 1, 2);
	int status;
	waitpid(pid, &status, 0);
	printf("  child %d\n", WEXITSTATUS(status));
}
static void seal(void)
{
	char *m = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CALL("mseal flags", 462, m, 4096, 1);
	CALL("mseal odd", 462, m + 1, 4096, 0);
	CALL("mseal nothing", 462, m, 0, 0);
	CALL("mseal overflow", 462, m, -1, 0);
	CALL("mseal nowhere", 462, 4096, 4096, 0);
	CALL("mseal", 462, m + 4096, 4096, 0);
	CALL("mseal again", 462, m + 4096, 4096, 0);
	CALL("munmap", SYS_munmap, m + 4096, 4096);
	CALL("munmap all", SYS_munmap, m, 4 * 4096);
	CALL("mprotect", SYS_mprotect, m + 4096, 4096, PROT_READ);
	CALL("mprotect beside", SYS_mprotect, m, 4096, PROT_READ);
	CALL("mremap", SYS_mremap, m + 4096, 4096, 8192, 1);
	if (syscall(462, m + 4096, 0L, 0L) == 0) CALL("mmap over", SYS_mmap, m + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
	CALL("madvise willneed", SYS_madvise, m + 4096, 4096, MADV_WILLNEED);
	CALL("madvise dontneed", SYS_madvise, m + 4096, 4096, MADV_DONTNEED);
	CALL("munmap beside", SYS_munmap, m, 4096);
	if (syscall(462, m + 4096, 0L, 0L)) return;
	m[4096] = 1;
	printf("  still %d\n", m[4096]);
}
static void attributes(void)
{
	char out[64] = "";
	close(open("/tmp/x", O_CREAT | O_RDWR, 0600));
	struct xargs a = {(long)"value", 5, 0};
	CALL("setxattrat", 463, AT_FDCWD, "/tmp/x", 0, "trusted.a", &a, sizeof a);
	a.flags = XATTR_CREATE;
	CALL("setxattrat create", 463, AT_FDCWD, "/tmp/x", 0, "trusted.a", &a, sizeof a);
	a.flags = XATTR_REPLACE;
	CALL("setxattrat replace", 463, AT_FDCWD, "/tmp/x", 0, "trusted.b", &a, sizeof a);
	a.flags = 4;
	CALL("setxattrat flags in", 463, AT_FDCWD, "/tmp/x", 0, "trusted.b", &a, sizeof a);
	a.flags = 0;
	CALL("setxattrat small", 463, AT_FDCWD, "/tmp/x", 0, "trusted.b", &a, sizeof a - 1);
	CALL("setxattrat huge", 463, AT_FDCWD, "/tmp/x", 0, "trusted.b", &a, 8192);
	CALL("setxattrat at", 463, AT_FDCWD, "/tmp/x", 1, "trusted.b", &a, sizeof a);
	CALL("setxattrat empty", 463, AT_FDCWD, "", 0, "trusted.b", &a, sizeof a);
	CALL("setxattrat fault", 463, AT_FDCWD, "/tmp/x", 0, "trusted.b", 8, sizeof a);
	struct xargs g = {(long)out, sizeof out, 0};
	CALL("getxattrat", 464, AT_FDCWD, "/tmp/x", 0, "trusted.a", &g, sizeof g);
	printf("  %s\n", out);
	g.size = 2;
	CALL("getxattrat short", 464, AT_FDCWD, "/tmp/x", 0, "trusted.a", &g, sizeof g);
	g.size = 0;
	CALL("getxattrat size", 464, AT_FDCWD, "/tmp/x", 0, "trusted.a", &g, sizeof g);
	g.flags = 1;
	CALL("getxattrat flags in", 464, AT_FDCWD, "/tmp/x", 0, "trusted.a", &g, sizeof g);
	g.flags = 0;
	CALL("getxattrat none", 464, AT_FDCWD, "/tmp/x", 0, "trusted.none", &g, sizeof g);
	int fd = open("/tmp/x", O_RDONLY), o = open("/tmp/x", O_PATH);
	CALL("getxattrat fd", 464, fd, "", AT_EMPTY_PATH, "trusted.a", &g, sizeof g);
	CALL("getxattrat O_PATH", 464, o, "", AT_EMPTY_PATH, "trusted.a", &g, sizeof g);
	CALL("getxattrat fd, no path", 464, fd, 0, AT_EMPTY_PATH, "trusted.a", &g, sizeof g);
	CALL("listxattrat", 465, AT_FDCWD, "/tmp/x", 0, out, sizeof out);
	CALL("listxattrat size", 465, AT_FDCWD, "/tmp/x", 0, 0, 0);
	CALL("listxattrat at", 465, AT_FDCWD, "/tmp/x", 2, 0, 0);
	CALL("listxattrat fd", 465, fd, "", AT_EMPTY_PATH, 0, 0);
	CALL("removexattrat", 466, AT_FDCWD, "/tmp/x", 0, "trusted.a");
	CALL("removexattrat again", 466, AT_FDCWD, "/tmp/x", 0, "trusted.a");
	CALL("removexattrat at", 466, AT_FDCWD, "/tmp/x", 0x4000, "trusted.a");
	CALL("removexattrat link", 466, AT_FDCWD, "/tmp/x", AT_SYMLINK_NOFOLLOW, "trusted.a");
	close(fd), close(o), unlink("/tmp/x");
}
static void modules(void)
{
	uint64_t ids[32];
	uint32_t size = sizeof ids;
	long n = CALL("lsm_list_modules", 461, ids, &size, 0);
	printf("  size %u:", size);
	for (long i = 0; i < n; i++) printf(" %lu", ids[i]);
	printf("\n");
	size = 8;
	CALL("lsm_list_modules small", 461, ids, &size, 0);
	printf("  size %u\n", size);
	size = 256;
	CALL("lsm_list_modules flags", 461, ids, &size, 1);
	CALL("lsm_list_modules no size", 461, ids, 0, 0);
	CALL("lsm_list_modules nowhere", 461, 8, &size, 0);
}
static void others(void)
{
	CALL("map_shadow_stack", 453, 0, 4096, 0);
	CALL("map_shadow_stack flags", 453, 0, 4096, 8);
	int pid = fork(), status;
	if (!pid) { syscall(335); _exit(1); }
	waitpid(pid, &status, 0);
	printf("uretprobe: %s %d\n", WIFSIGNALED(status) ? "signal" : "exit", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}
int main(int argc, char **argv)
{
	setvbuf(stdout, 0, _IOLBF, 0);
	cachestat(); fchmodat2(); futexes(); seal(); attributes(); modules(); others();
	return 0;
}
