/* Landlock: sizes and flags of its calls, each right alone, layers, links and renames between directories, truncation, inheritance, tracing, mounts. */
#include "tiny_landlock.h"
#ifndef __NR_setresuid32
#define __NR_setresuid32 __NR_setresuid
#endif
static long sign(long v) { return v < 0 ? v : 0; }
static char page[8192];
static long enforce(long set) { return sys(__NR_landlock_restrict_self, set, 0); }
static void closed(long fd) { if (fd >= 0) sys(__NR_close, fd); }
static long opened(const char *path, long flags) { long fd = sys(__NR_openat, AT_FDCWD, path, flags, 0644); closed(fd); return sign(fd); }

static void arguments(void)
{
	static const long sizes[] = { 0, 1, 4, 7, 8, 9, 12, 16, 24, 4096, 4097, -1 };
	for (int i = 0; i < 12; i++) {
		memset(page, 0, sizeof(page));
		page[0] = 1;
#ifdef __s390x__
		page[0] = 0, page[7] = 1;
#endif
		long fd = sys(__NR_landlock_create_ruleset, page, sizes[i], 0);
		say("size %l: %r", sizes[i], sign(fd)), closed(fd);
		page[20] = 1;
		fd = sys(__NR_landlock_create_ruleset, page, sizes[i], 0);
		say(" tail %r null %r bad %r", sign(fd), sys(__NR_landlock_create_ruleset, 0, sizes[i], 0), sys(__NR_landlock_create_ruleset, 8, sizes[i], 0)), closed(fd);
		for (int f = 1; f < 5; f++)
			if (f != 2) /* errata: a number of its own in each kernel */
				say(" flags %d %r/%r", f, sys(__NR_landlock_create_ruleset, page, sizes[i], f), sys(__NR_landlock_create_ruleset, 0, sizes[i], f));
		say("\n");
	}
	for (int bit = 0; bit < 18; bit++) {
		long fd = ruleset(1ULL << bit);
		say("handled bit %d: %r", bit, sign(fd)), closed(fd);
	}
	say(" all known %r top %r\n", sign(ruleset(0x3fff)), sign(ruleset(1ULL << 63)));
	long set = ruleset(0xff);
	sys(__NR_mkdirat, AT_FDCWD, "/ll", 0755), closed(sys(__NR_openat, AT_FDCWD, "/ll/f", O_CREAT | O_RDWR, 0644));
	for (int bit = 0; bit < 12; bit++)
		say("rule bit %d: directory %r file %r device %r proc %r\n", bit, rule(set, "/ll", 1ULL << bit), rule(set, "/ll/f", 1ULL << bit), rule(set, "/dev/null", 1ULL << bit), rule(set, "/proc/self/status", 1ULL << bit));
	struct landlock_path_beneath_attr b = { 0, -1 };
	for (int t = -1; t < 4; t++)
		say("type %d: %r flags %r null %r\n", t, sys(__NR_landlock_add_rule, set, t, &b, 0), sys(__NR_landlock_add_rule, set, t, &b, 1), sys(__NR_landlock_add_rule, set, t, 0, 0));
	b.allowed_access = 1;
	int pipe[2], sv[2];
	sys(__NR_pipe2, pipe, 0);
#ifdef __NR_socketpair
	sys(__NR_socketpair, 1, 1, 0, sv);
#else
	sv[0] = pipe[0];
#endif
	long fds[] = { -1, 999, pipe[0], sv[0], sys(__NR_openat, AT_FDCWD, "/ll", O_RDONLY, 0), sys(__NR_openat, AT_FDCWD, "/ll/f", O_RDWR, 0), sys(__NR_memfd_create, "m", 0), sys(__NR_openat, AT_FDCWD, "/proc/self/ns/mnt", O_RDONLY, 0), sys(__NR_epoll_create1, 0), set };
	for (int i = 0; i < 10; i++)
		b.parent_fd = (int)fds[i], say("parent %d: %r as ruleset %r/%r\n", i, sys(__NR_landlock_add_rule, set, 1, &b, 0), i == 9 ? 7L : sys(__NR_landlock_add_rule, fds[i], 1, &b, 0), i == 9 ? 7L : sys(__NR_landlock_restrict_self, fds[i], 0));
	say("write to the set %r read %r ioctl %r mmap %r lseek %r dup %r\n", sys(__NR_write, set, "x", 1), sys(__NR_read, set, page, 1), sys(__NR_ioctl, set, 0x5401, page), (long)bad(map(0, 4096, 1, 2, set, 0)), sys(__NR_lseek, set, 0, 0), sign(sys(__NR_dup, set)));
	char link[64], name[32] = "/proc/self/fd/";
	int n = 14;
	if (set > 9) name[n++] = '0' + set / 10;
	name[n++] = '0' + set % 10, name[n] = 0;
	long l = sys(__NR_readlinkat, AT_FDCWD, name, link, 63);
	link[l > 0 ? l : 0] = 0;
	say("%s cloexec %r flags %x\n", link, sys(__NR_fcntl, set, 1, 0), sys(__NR_fcntl, set, 3, 0) & ~0x8000);
	long pid = fork();
	if (!pid) {
		sys(__NR_setresuid32, 1000, 1000, 1000);
		say("user: flags %r fd %r not allowed %r", sys(__NR_landlock_restrict_self, set, 1), sys(__NR_landlock_restrict_self, -1, 0), enforce(set));
		say(" no new privileges %r %r\n", sys(__NR_prctl, 38, 1, 0, 0, 0), enforce(set));
		leave(0);
	}
	wait_for(pid);
}

/* one right handled and not given: what it keeps one from */
static void deeds(void)
{
	static char target[] = "/ll/work/";
	(void)target;
	say(" exec %r", (fork() ?: (leave(sign(sys(__NR_execve, "/ll/work/prog", 0, 0)) ? 13 : 0), 0L)) > 0 ? 0L : 1L);
	int status = -1;
	sys(__NR_wait4, -1, &status, 0, 0);
	say("/%d", status >> 8 & 255);
	say(" read %r write %r readdir %r append %r trunc %r path %r", opened("/ll/work/f", O_RDONLY), opened("/ll/work/f", O_WRONLY), opened("/ll/work", O_RDONLY | O_DIRECTORY), opened("/ll/work/f", O_WRONLY | O_APPEND), opened("/ll/work/f", O_RDONLY | O_TRUNC), opened("/ll/work/f", O_PATH));
	say(" truncate %r", sys(__NR_truncate, "/ll/work/f", 3));
	say(" create %r mkdir %r sock %r fifo %r blk %r chr %r sym %r", opened("/ll/work/new", O_CREAT | O_WRONLY), sys(__NR_mkdirat, AT_FDCWD, "/ll/work/nd", 0755), sys(__NR_mknodat, AT_FDCWD, "/ll/work/ns", 0140644, 0), sys(__NR_mknodat, AT_FDCWD, "/ll/work/nf", 0010644, 0), sys(__NR_mknodat, AT_FDCWD, "/ll/work/nb", 0060644, 0x700), sys(__NR_mknodat, AT_FDCWD, "/ll/work/nc", 0020644, 0x103), sys(__NR_symlinkat, "x", AT_FDCWD, "/ll/work/nl"));
	say(" reg %r tmpfile %r", sys(__NR_mknodat, AT_FDCWD, "/ll/work/nr", 0100644, 0), opened("/ll/work", 020200000 | O_RDWR));
	say(" link %r rename %r link out %r rename out %r exchange %r rename dir out %r", sys(__NR_linkat, AT_FDCWD, "/ll/work/f", AT_FDCWD, "/ll/work/f2", 0), sys(__NR_renameat2, AT_FDCWD, "/ll/work/g", AT_FDCWD, "/ll/work/g2", 0), sys(__NR_linkat, AT_FDCWD, "/ll/work/f", AT_FDCWD, "/ll/other/f", 0), sys(__NR_renameat2, AT_FDCWD, "/ll/work/h", AT_FDCWD, "/ll/other/h", 0),
	    sys(__NR_renameat2, AT_FDCWD, "/ll/work/f", AT_FDCWD, "/ll/other/o", 2), sys(__NR_renameat2, AT_FDCWD, "/ll/work/d2", AT_FDCWD, "/ll/other/d2", 0));
	say(" unlink %r rmdir %r", sys(__NR_unlinkat, AT_FDCWD, "/ll/work/i", 0), sys(__NR_unlinkat, AT_FDCWD, "/ll/work/d1", 0x200));
	say(" stat %r chmod %r chdir %r readlink %r access %r\n", sys(__NR_statx, AT_FDCWD, "/ll/work/f", 0, 0x7ff, page), sys(__NR_fchmodat, AT_FDCWD, "/ll/work/f", 0644), sys(__NR_chdir, "/ll/work"), sign(sys(__NR_readlinkat, AT_FDCWD, "/ll/work/l", page, 20)), sys(__NR_faccessat, AT_FDCWD, "/ll/work/f", 4));
	sys(__NR_chdir, "/");
}
static void prepare(void)
{
	static const char *const files[] = { "f", "g", "h", "i", "new", "f2", "g2", "ns", "nf", "nb", "nc", "nl", "nr", "l" };
	char name[32] = "/ll/work/";
	for (int k = 0; k < 2; k++) {
		memcpy(name, k ? "/ll/other/" : "/ll/work/", k ? 11 : 10);
		for (int i = 0; i < 14; i++) memcpy(name + (k ? 10 : 9), files[i], strlen(files[i]) + 1), sys(__NR_unlinkat, AT_FDCWD, name, 0);
		static const char *const dirs[] = { "d1", "d2", "nd" };
		for (int i = 0; i < 3; i++) memcpy(name + (k ? 10 : 9), dirs[i], 3), sys(__NR_unlinkat, AT_FDCWD, name, 0x200);
	}
	sys(__NR_mkdirat, AT_FDCWD, "/ll/work", 0755), sys(__NR_mkdirat, AT_FDCWD, "/ll/other", 0755);
	for (int i = 0; i < 4; i++) memcpy(name, "/ll/work/", 9), memcpy(name + 9, files[i], 2), spit(name, "some content");
	spit("/ll/other/o", "other");
	spit("/ll/work/prog", "#!/nothing\n"), sys(__NR_fchmodat, AT_FDCWD, "/ll/work/prog", 0755);
	sys(__NR_mkdirat, AT_FDCWD, "/ll/work/d1", 0755), sys(__NR_mkdirat, AT_FDCWD, "/ll/work/d2", 0755), sys(__NR_symlinkat, "x", AT_FDCWD, "/ll/work/l");
}
static void each(void)
{
	for (int bit = -1; bit < 15; bit++) {
		prepare();
		long pid = fork();
		if (!pid) {
			say("without bit %d:", bit);
			if (bit >= 0) {
				long set = ruleset(1ULL << bit);
				if (set >= 0) enforce(set);
			}
			deeds();
			leave(0);
		}
		wait_for(pid);
	}
	for (int bit = 0; bit < 15; bit++) {
		prepare();
		long pid = fork();
		if (!pid) {
			say("with bit %d alone:", bit);
			long set = ruleset(0x3fff);
			rule(set, "/ll/work", 1ULL << bit), rule(set, "/ll/other", bit == 13 ? 0x3fff : 0);
			enforce(set);
			deeds();
			leave(0);
		}
		wait_for(pid);
	}
}

static void layers(void)
{
	prepare();
	long pid = fork();
	if (!pid) {
		int n = 0;
		long r = 0;
		while (n < 20 && !r) {
			long set = ruleset(4);
			rule(set, "/ll/work", 4);
			r = enforce(set), n += !r, closed(set);
		}
		say("layers %d then %r read %r elsewhere %r", n, r, opened("/ll/work/f", O_RDONLY), opened("/ll/other/o", O_RDONLY));
		long child = fork();
		if (!child) {
			say(" child %r %r\n", opened("/ll/work/f", O_RDONLY), opened("/ll/other/o", O_RDONLY));
			leave(0);
		}
		wait_for(child);
		leave(0);
	}
	wait_for(pid);
	pid = fork();
	if (!pid) {
		long held = sys(__NR_openat, AT_FDCWD, "/ll/other/o", O_RDWR, 0), dir = sys(__NR_openat, AT_FDCWD, "/ll/other", O_RDONLY | O_DIRECTORY, 0);
		long one = ruleset(0x3fff), two = ruleset(4 | 2);
		rule(one, "/ll", 4 | 2 | 8), rule(one, "/", 4 | 8), rule(two, "/ll/work", 4);
		say("first %r", enforce(one));
		say(" read %r write %r outside %r", opened("/ll/other/o", O_RDONLY), opened("/ll/work/f", O_WRONLY), opened("/dev", O_RDONLY));
		rule(one, "/ll/other", 0x3fff); /* later rules change nothing */
		say(" late rule %r", opened("/ll/other/o2", O_CREAT | O_WRONLY));
		say(" second %r read %r write %r other %r", enforce(two), opened("/ll/work/f", O_RDONLY), opened("/ll/work/f", O_WRONLY), opened("/ll/other/o", O_RDONLY));
		say(" held: read %r write %r ftruncate %r fd again %r in it %r", sys(__NR_pread64, held, page, 1, 0), sys(__NR_pwrite64, held, "x", 1, 0), sys(__NR_ftruncate, held, 2), sys(__NR_fcntl, held, 1, 0), sign(sys(__NR_openat, dir, "o", O_RDONLY, 0)));
		char path[] = "/ll/work/../other/o", dots[] = "/ll/other/../work/f";
		say(" dots %r %r\n", opened(path, O_RDONLY), opened(dots, O_RDONLY));
		leave(0);
	}
	wait_for(pid);
	/* mounts, roots and tracing */
	pid = fork();
	if (!pid) {
		long outside = sys(__NR_getppid), set = ruleset(1), sibling = fork();
		if (!sibling) { nap(3000); leave(0); }
		say("restrict %r", enforce(set));
		say(" mount %r umount %r move %r pivot %r chroot %r unshare %r fsopen %r open_tree %r", sys(__NR_mount, "x", "/ll", "tmpfs", 0, 0), sys(__NR_umount2, "/proc", 0), sys(__NR_mount, "/proc", "/ll", 0, 8192, 0), sys(__NR_pivot_root, "/ll", "/ll"), sys(__NR_chroot, "/"), sys(__NR_unshare, 0x20000), sign(sys(__NR_fsopen, "tmpfs", 0)), sign(sys(__NR_open_tree, AT_FDCWD, "/ll", 1)));
		say(" remount %r bind %r propagate %r", sys(__NR_mount, 0, "/", 0, 32, 0), sys(__NR_mount, "/ll", "/ll", 0, 4096, 0), sys(__NR_mount, 0, "/", 0, 1 << 18, 0));
		say(" trace the parent %r", sys(__NR_ptrace, 16, outside, 0, 0));
		say(" a sibling from before %r", sys(__NR_ptrace, 16, sibling, 0, 0));
		say(" pidfd_getfd %r kcmp %r", sys(__NR_pidfd_getfd, sys(__NR_pidfd_open, sibling, 0), 0, 0), sys(__NR_kcmp, sibling, sibling, 0, 0, 0));
		say(" kill %r", sys(__NR_kill, sibling, 9));
		wait_for(sibling);
		long child = fork();
		if (!child) { nap(3000); leave(0); }
		say(" a child %r", sys(__NR_ptrace, 16, child, 0, 0));
		int st;
		sys(__NR_wait4, child, &st, 0x40000000, 0);
		sys(__NR_ptrace, 17, child, 0, 0), sys(__NR_kill, child, 9), wait_for(child);
		child = fork();
		if (!child) { /* deeper: may not trace its parent */
			long more = ruleset(2);
			enforce(more);
			say(" parent of less %r", sys(__NR_ptrace, 16, sys(__NR_getppid), 0, 0));
			say(" traceme %r\n", sys(__NR_ptrace, 0, 0, 0, 0));
			leave(0);
		}
		wait_for(child);
		leave(0);
	}
	wait_for(pid);
	/* a thread alone */
	prepare();
}
static int restricted(void *arg)
{
	long set = ruleset(4);
	*(long *)arg = enforce(set) ? 5 : opened("/ll/work/f", O_RDONLY) ? 1 : 2;
	return 0;
}
static void threads(void)
{
	static char stack[16384];
	static long done;
	start_thread(restricted, &done, 0x10f00, stack + 16000);
	for (int i = 0; i < 200 && !done; i++) nap(10);
	say("a thread restricted itself %l, the others read %r\n", done, opened("/ll/work/f", O_RDONLY));
}
int main(int argc, char **argv)
{
	arguments();
	each();
	layers();
	threads();
	return 0;
}
