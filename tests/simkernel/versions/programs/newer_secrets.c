/* memfd_secret(2): memory that only who maps it reads; listns(2).  newer_secrets.VERSION is what real kernels said. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *name_of(int e)
{
	static const struct { int number; const char *name; } names[] = {
		{EPERM, "EPERM"}, {ENOENT, "ENOENT"}, {E2BIG, "E2BIG"}, {EBADF, "EBADF"}, {EAGAIN, "EAGAIN"}, {ENOMEM, "ENOMEM"}, {EIO, "EIO"},
		{EFAULT, "EFAULT"}, {EEXIST, "EEXIST"}, {ENOTDIR, "ENOTDIR"}, {EINVAL, "EINVAL"}, {ENOSYS, "ENOSYS"}, {ENODATA, "ENODATA"},
		{ERANGE, "ERANGE"}, {EOPNOTSUPP, "EOPNOTSUPP"}, {EOVERFLOW, "EOVERFLOW"}, {ENOTTY, "ENOTTY"}, {EACCES, "EACCES"}, {ENXIO, "ENXIO"},
		{ESPIPE, "ESPIPE"}, {ENAMETOOLONG, "ENAMETOOLONG"}, {ESRCH, "ESRCH"}, {EMFILE, "EMFILE"}, {ENODEV, "ENODEV"},
	};
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].number == e) return names[i].name;
	return "?";
}
static const char *said(long r)
{
	static char text[40];
	if (r < 0) return name_of(errno);
	sprintf(text, "%ld", r);
	return text;
}

static void of_area(const char *what, void *p)
{
	printf("%s:\n", what);
	FILE *f = fopen("/proc/self/smaps", "r");
	char row[400]; int here = 0; unsigned long at;
	while (fgets(row, sizeof(row), f)) {
		char after;
		if (sscanf(row, "%lx-%*x %c", &at, &after) == 2 && strchr(row, '-') && row[0] != 'V') {
			here = at == (unsigned long)p;
			char *mode = strchr(row, ' ');
			if (here) printf("  %.5s %s", mode + 1, strrchr(row, '/') ? strrchr(row, '/') : "\n");
		}
		if (here && (!strncmp(row, "VmFlags", 7) || !strncmp(row, "Locked", 6) || !strncmp(row, "Rss", 3) || !strncmp(row, "Pss:", 4) || !strncmp(row, "Anonymous", 9))) printf("  %s", row);
	}
	fclose(f);
	f = fopen("/proc/self/status", "r");
	while (fgets(row, sizeof(row), f))
		if (!strncmp(row, "VmLck", 5)) printf("  %s", row);
	fclose(f);
	fflush(stdout);
}
static sigjmp_buf back;
static void on_signal(int number) { siglongjmp(back, number); }
static void touch(const char *what, char *p)
{
	int number = sigsetjmp(back, 1);
	if (!number) printf("%s: %d\n", what, *(volatile char *)p);
	else printf("%s: %s\n", what, number == SIGBUS ? "SIGBUS" : number == SIGSEGV ? "SIGSEGV" : "?");
}
static void secrets(void)
{
	errno = 0;
	static const unsigned flags[] = { 1, 2, O_CLOEXEC | 1, -1 };
	for (unsigned i = 0; i < 4; i++) { long r = syscall(447, flags[i]); printf("secret flags %x: %s\n", flags[i], r < 0 ? said(r) : "made"); if (r >= 0) close(r); }
	long fd = syscall(447, O_CLOEXEC);
	printf("secret: %s", fd < 0 ? said(fd) : "made\n");
	if (fd < 0) { printf("\n"); return; }
	char text[100] = "", name[40];
	struct stat st; struct statfs fs;
	sprintf(name, "/proc/self/fd/%ld", fd);
	readlink(name, text, sizeof(text) - 1);
	fstat(fd, &st);
	printf("%s mode %o size %ld links %d flags %x fd %x seals %s\n", text, st.st_mode, (long)st.st_size, (int)st.st_nlink, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), said(fcntl(fd, F_GET_SEALS)));
	printf("owner %d:%d blocks %ld of %ld\n", st.st_uid, st.st_gid, (long)st.st_blocks, (long)st.st_blksize);
	printf("statfs %s", said(fstatfs(fd, &fs))); printf(" type %lx bsize %ld namelen %ld flags %lx\n", (long)fs.f_type, (long)fs.f_bsize, (long)fs.f_namelen, (long)fs.f_flags);
	sprintf(text, "/proc/self/fdinfo/%ld", fd);
	FILE *info = fopen(text, "r");
	char row[200];
	while (fgets(row, sizeof(row), info)) if (strncmp(row, "mnt_id", 6) && strncmp(row, "ino", 3)) printf("  %s", row);
	fclose(info);
	printf("write %s", said(write(fd, "x", 1))); printf(" read %s", said(read(fd, text, 1))); printf(" pread %s", said(pread(fd, text, 1, 0))); printf(" seek %s\n", said(lseek(fd, 0, SEEK_END)));
	printf("fallocate %s", said(fallocate(fd, 0, 0, 4096))); printf(" sync %s", said(fsync(fd))); printf(" chmod %s", said(fchmod(fd, 0644))); printf(" chown %s", said(fchown(fd, 5, 6))); printf(" ioctl %s\n", said(ioctl(fd, FIONREAD, &flags)));
	fstat(fd, &st);
	printf("mode %o owner %d:%d\n", st.st_mode, st.st_uid, st.st_gid);
	void *p = mmap(0, 8192, 3, MAP_SHARED, fd, 0);
	printf("map of nothing %s\n", p == MAP_FAILED ? name_of(errno) : "done");
	touch("it", p);
	munmap(p, 8192);
	printf("truncate %s", said(ftruncate(fd, 8192))); printf(" again %s", said(ftruncate(fd, 4096))); printf(" to the same %s\n", said(ftruncate(fd, 8192)));
	p = mmap(0, 8192, 3, MAP_PRIVATE, fd, 0);
	printf("private %s\n", p == MAP_FAILED ? name_of(errno) : "done");
	p = mmap(0, 8192, 3, MAP_SHARED, fd, 0);
	printf("shared %s\n", p == MAP_FAILED ? name_of(errno) : "done");
	if (p == MAP_FAILED) return;
	of_area("untouched", p);
	strcpy(p, "a secret");
	of_area("written", p);
	int pipes[2];
	pipe(pipes);
	printf("to a pipe: %s\n", said(write(pipes[1], p, 8)));
	read(pipes[0], p, 5);
	printf("munlock %s", said(munlock(p, 8192))); printf(" %s\n", (char *)p);
	of_area("unlocked", p);
	printf("mlock %s\n", said(mlock(p, 8192)));
	of_area("locked", p);
	printf("advice: cold %s", said(madvise(p, 8192, MADV_COLD))); printf(" dodump %s", said(madvise(p, 8192, MADV_DODUMP))); printf(" dontneed %s", said(madvise(p, 8192, MADV_DONTNEED))); printf(" remove %s\n", said(madvise(p, 4096, MADV_REMOVE)));
	fflush(stdout);
	if (!fork()) { printf("in a child: %s\n", (char *)p); strcpy(p, "another"); of_area("child", p); _exit(0); }
	wait(0);
	printf("then %s\n", (char *)p);
	struct { void *base; size_t len; } here_[1] = {{ text, 8 }}, there[1] = {{ p, 8 }};
	printf("by process_vm_readv: %s", said(syscall(310, getpid(), here_, 1L, there, 1L, 0L)));
	printf(", writev: %s\n", said(syscall(311, getpid(), here_, 1L, there, 1L, 0L)));
	int mem = open("/proc/self/mem", O_RDWR);
	printf("by /proc/self/mem: %s", said(pread(mem, text, 8, (off_t)p))); printf(", written: %s\n", said(pwrite(mem, text, 8, (off_t)p)));
	char *q = mmap(0, 16384, 1, MAP_SHARED, fd, 4096);
	printf("beyond: %s\n", q == MAP_FAILED ? name_of(errno) : "done");
	touch("the last page", q), touch("the next", q + 4096);
	printf("writable: %s\n", mprotect(q, 4096, 3) ? name_of(errno) : "done");
	printf("execute: %s\n", mprotect(p, 4096, 7) ? name_of(errno) : "done");
	q = mmap(0, 8192, 5, MAP_SHARED, fd, 0);
	printf("executed: %s\n", q == MAP_FAILED ? name_of(errno) : "done");
	printf("moved: %s\n", mremap(p, 8192, 16384, MREMAP_MAYMOVE) == MAP_FAILED ? name_of(errno) : "done");
	sprintf(name, "/proc/self/fd/%ld", fd);
	printf("opened again: %s", said(open(name, O_RDWR) < 0 ? -1 : 0));
	printf(", truncated: %s\n", said(truncate(name, 5)));
	/* what may be locked */
	fflush(stdout);
	if (!fork()) {
		struct rlimit limit = { 8192, 8192 };
		setrlimit(RLIMIT_MEMLOCK, &limit), setgid(1000), setuid(1000);
		long mine = syscall(447, 0);
		printf("another user: fd %x", fcntl(mine, F_GETFD)); printf(" truncate %s\n", said(ftruncate(mine, 1 << 20)));
		fstat(mine, &st), printf("owner %d:%d size %ld\n", st.st_uid, st.st_gid, (long)st.st_size);
		char *a = mmap(0, 16384, 3, MAP_SHARED, mine, 0);
		printf("over the limit %s\n", a == MAP_FAILED ? name_of(errno) : "done");
		a = mmap(0, 8192, 3, MAP_SHARED, mine, 0);
		printf("at the limit %s\n", a == MAP_FAILED ? name_of(errno) : "done");
		char *b = mmap(0, 4096, 3, MAP_SHARED, mine, 0);
		printf("one more %s\n", b == MAP_FAILED ? name_of(errno) : "done");
		limit.rlim_cur = 0, setrlimit(RLIMIT_MEMLOCK, &limit);
		b = mmap(0, 4096, 3, MAP_SHARED, mine, 0);
		printf("none %s\n", b == MAP_FAILED ? name_of(errno) : "done");
		fflush(stdout), _exit(0);
	}
	wait(0);
}

struct nsreq { uint32_t size, spare; uint64_t ns_id; uint32_t type, spare2; uint64_t user_ns; char more[16]; };
static struct nsreq r;
static uint64_t found[256], all[256];
static long list(unsigned type, size_t n) { memset(&r, 0, sizeof(r)), r.size = 32, r.type = type, errno = 0; return syscall(470, &r, found, n, 0L); }
static long since(uint64_t id, unsigned type) { list(type, 0), r.ns_id = id, errno = 0; return syscall(470, &r, found, 256L, 0L); }
/* How many of a kind there are is the boot's: how many more than at first */
static const unsigned types[] = { CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP, 0x80 };
static long first[8];
static uint64_t id_of(const char *path)
{
	uint64_t id = 0;
	int fd = open(path, O_RDONLY);
	long n = ioctl(fd, 0x8008b70dUL, &id);
	if (n < 0) printf("(%s) ", name_of(errno));
	close(fd);
	return id;
}
static int in_list(uint64_t id, long n) { for (long i = 0; i < n; i++) if (found[i] == id) return i + 1; return 0; }
static void more(const char *what)
{
	printf("%s: mine %d,", what, in_list(id_of("/proc/self/ns/mnt"), list(CLONE_NEWNS, 256)) != 0); /* the kernel has one of its own */
	for (int i = 1; i < 8; i++) printf(" %ld", list(types[i], 256) - first[i]);
	printf(" in all as many: %d\n", list(0, 256) == ({ long n = 0; for (int i = 0; i < 8; i++) n += list(types[i], 256); n; }));
	fflush(stdout);
}
static void namespaces(void)
{
	static const unsigned odd[] = { 1, CLONE_NEWUTS | CLONE_NEWIPC, CLONE_NEWUTS | 1, CLONE_NEWUTS | CLONE_NEWUSER | 0x80, -1 };
	if (list(0, 256) < 0) { printf("namespaces: %s\n", said(-1)); return; }
	for (unsigned i = 0; i < 5; i++) printf("kinds %x: %s\n", odd[i], list(odd[i], 256) < 0 ? said(-1) : list(odd[i], 256) ? "some" : "none");
	for (int i = 0; i < 8; i++) first[i] = list(types[i], 256);
	for (int i = 0; i < 8; i++) printf(" %x", (unsigned)types[i]), list(types[i], 1), printf(" first %lx;", (long)found[0]);
	printf("\n");
	long n = list(0, 256);
	for (int i = 1; i < n; i++) if (found[i] <= found[i - 1]) printf("in disorder\n");
	uint64_t mine = id_of("/proc/self/ns/uts");
	printf("my own: id %lx, place %d\n", (long)mine, in_list(mine, n));
	printf("flags: %s\n", said(syscall(470, &r, found, 256L, 1L)));
	unshare(CLONE_NEWUTS);
	more("a namespace of names");
	uint64_t next = id_of("/proc/self/ns/uts");
	n = list(CLONE_NEWUTS, 256);
	printf("it is higher: %d, the last: %d\n", next > mine, in_list(next, n) == n);
	int fd = open("/proc/self/ns/uts", O_RDONLY);
	unshare(CLONE_NEWUTS);
	more("another, the first held open");
	printf("after the first: %s", said(since(mine, CLONE_NEWUTS))); printf(" the second: %s", said(since(next, CLONE_NEWUTS))); printf(" of all kinds: %d\n", since(next, 0) > 0);
	close(fd);
	more("and closed");
	printf("after one that is gone: %s\n", said(since(next, CLONE_NEWUTS)));
	printf("after one of another kind: %s\n", said(since(id_of("/proc/self/ns/ipc"), CLONE_NEWUTS)));
	printf("after one that is none: %s\n", said(since(1 << 30, CLONE_NEWUTS)));
	list(CLONE_NEWUTS, 0), r.user_ns = -1ULL, n = syscall(470, &r, found, 256L, 0L);
	printf("of this user namespace: %d\n", n == list(CLONE_NEWUTS, 256));
	list(CLONE_NEWUTS, 0), r.user_ns = id_of("/proc/self/ns/user"), n = syscall(470, &r, found, 256L, 0L);
	printf("by its number: %d\n", n == list(CLONE_NEWUTS, 256));
	list(CLONE_NEWUTS, 0), r.user_ns = 12345, printf("of one that is none: %s\n", said(syscall(470, &r, found, 256L, 0L)));
	list(CLONE_NEWUTS, 0), r.user_ns = id_of("/proc/self/ns/uts"), printf("of one of names: %s\n", said(syscall(470, &r, found, 256L, 0L)));
	static const unsigned sizes[] = { 0, 8, 24, 28, 32, 36, 40, 48, 4096, 4097 };
	for (unsigned i = 0; i < 10; i++) {
		list(CLONE_NEWUTS, 0), r.size = sizes[i];
		printf("request of %u: %s\n", sizes[i], syscall(470, &r, found, 256L, 0L) < 0 ? name_of(errno) : "some");
	}
	list(CLONE_NEWUTS, 0), r.spare = 1, printf("spare: %s\n", said(syscall(470, &r, found, 256L, 0L)));
	list(CLONE_NEWUTS, 0), r.spare2 = 1, printf("spare behind: %s\n", syscall(470, &r, found, 256L, 0L) < 0 ? name_of(errno) : "some");
	list(CLONE_NEWUTS, 0), printf("too many: %s", said(syscall(470, &r, found, 1UL << 30, 0L))); printf(" %s", said(syscall(470, &r, found, 1000001UL, 0L))); printf(" %d\n", syscall(470, &r, found, 1000000UL, 0L) > 0);
	printf("none: %s\n", said(list(CLONE_NEWUTS, 0)));
	printf("one of all: %s\n", said(list(0, 1)));
	printf("nowhere: %s\n", said(syscall(470, 16L, found, 8L, 0L)));
	list(CLONE_NEWUTS, 0), printf("to nowhere: %s\n", said(syscall(470, &r, 16L, 8L, 0L)));
	list(CLONE_NEWUTS, 0), found[1] = 77, n = syscall(470, &r, found, 1L, 0L), printf("no more than asked: %s %ld\n", said(n), (long)found[1]);
	fflush(stdout);
	if (!fork()) {
		unshare(CLONE_NEWUSER), more("a user namespace");
		unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWCGROUP), more("and others");
		list(0, 0), r.user_ns = -1ULL, printf("its own: %s\n", said(syscall(470, &r, found, 256L, 0L)));
		list(CLONE_NEWUSER, 0), r.user_ns = -1ULL, printf("user namespaces of it: %s\n", said(syscall(470, &r, found, 256L, 0L)));
		fflush(stdout), _exit(0);
	}
	wait(0);
	more("back");
	if (!fork()) {
		setgid(1000), setuid(1000);
		printf("another user: %s", said(list(CLONE_NEWUTS, 256))); printf(" %s", said(list(CLONE_NEWUSER, 256))); printf(" in all %s\n", said(list(0, 256)));
		for (int i = 0; i < 8; i++) printf(" %s", said(list(types[i], 256)));
		list(CLONE_NEWUTS, 0), r.user_ns = -1ULL, printf("\nof mine: %s\n", said(syscall(470, &r, found, 256L, 0L)));
		printf("after another's: %s\n", said(since(mine, CLONE_NEWUTS)));
		fflush(stdout), _exit(0);
	}
	wait(0);
	if (!fork()) {
		unshare(CLONE_NEWPID);
		if (!fork()) { more("in a namespace of processes"); _exit(0); }
		wait(0), more("it is empty"), _exit(0);
	}
	wait(0);
	more("back");
}

int main(void)
{
	signal(SIGBUS, on_signal), signal(SIGSEGV, on_signal);
	secrets();
	namespaces();
	return 0;
}
