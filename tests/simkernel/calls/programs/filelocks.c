/* /proc/locks: POSIX, flock, OFD locks, leases, and who waits for them. not: s390x (whose compiler evaluates arguments in another order) */
#include "tiny.h"
#include <asm/fcntl.h>
#define flock_ flock

static char text[8192];
static long first, second;

/* pids and inodes by name */
static void locks(const char *what)
{
	long n = slurp("/proc/locks", text, sizeof(text));
	say("%s\n", what);
	if (n < 0)
		say("  %r\n", n);
	for (char *at = text; *at;) {
		int word = 0;
		put(' ');
		put(' ');
		while (*at && *at != '\n') {
			char *end = at;
			while (*end && *end != ' ' && *end != '\n')
				end++;
			if (end > at && !(*at == '-' && at[1] == '>'))
				word++;
			if (end > at && word == 5 && *at != '-') {
				long pid = 0;
				for (char *d = at; d < end; d++)
					pid = pid * 10 + *d - '0';
				say(pid == first ? "first" : pid == second ? "second" : "somebody");
			} else if (end > at && word == 6) {
				int inode = 0;
				for (char *d = at; d < end; d++)
					inode += *d == ':';
				say("file%d", inode);
			} else
				for (char *d = at; d < end; d++)
					put(*d);
			for (at = end; *at == ' '; at++)
				put(' ');
		}
		put('\n');
		flush();
		if (*at)
			at++;
	}
}
static long lock(long fd, int cmd, int type, long start, long len)
{
	struct flock64_ { short type, whence; long long start, len; int pid; } __attribute__((unused)) f = { type, 0, start, len, 0 };
#ifdef __i386__
	struct __attribute__((packed)) { short type, whence; long long start, len; int pid; } g = { type, 0, start, len, 0 };
	return sys(__NR_fcntl64, fd, cmd == F_SETLK ? 13 : cmd == F_SETLKW ? 14 : cmd, &g);
#else
	return sys(__NR_fcntl, fd, cmd, &f);
#endif
}
static long opened(const char *path, int flags) { return sys(__NR_openat, AT_FDCWD, path, flags, 0644); }
static void dozed(void) { nap(50); }

int main(int argc, char **argv)
{
	ulong one = 1;
	sys(__NR_sched_setaffinity, 0, sizeof(one), &one); /* each CPU has a list */
	first = sys(__NR_getpid);
	sys(__NR_mkdir, "/tmp", 0755);
	long a = opened("/tmp/a", O_RDWR | O_CREAT), b = opened("/tmp/b", O_RDWR | O_CREAT), c = opened("/tmp/c", O_RDWR | O_CREAT);
	locks("none");
	say("%r %r %r\n", lock(a, F_SETLK, F_WRLCK, 0, 10), lock(a, F_SETLK, F_RDLCK, 20, 5), lock(a, F_SETLK, F_WRLCK, 100, 0));
	locks("three posix");
	say("%r %r\n", lock(b, F_OFD_SETLK, F_RDLCK, 3, 4), lock(b, F_OFD_SETLK, F_WRLCK, 50, 1));
	locks("and ofd");
	say("%r\n", sys(__NR_flock, c, 2));
	locks("and flock");
	say("%r\n", sys(__NR_flock, c, 1));
	locks("shared");
	second = fork();
	if (!second) {
		long own = opened("/tmp/a", O_RDWR);
		leave((int)lock(own, F_SETLKW, F_WRLCK, 5, 1));
	}
	dozed();
	locks("one waits");
	long third = fork();
	if (!third) {
		long own = opened("/tmp/c", O_RDWR);
		leave((int)sys(__NR_flock, own, 2));
	}
	dozed();
	locks("two wait");
	long fourth = fork();
	if (!fourth) {
		long own = opened("/tmp/b", O_RDWR);
		leave((int)lock(own, F_OFD_SETLKW, F_RDLCK, 50, 1));
	}
	dozed();
	locks("three wait");
	long fifth = fork();
	if (!fifth) {
		long own = opened("/tmp/a", O_RDWR);
		leave((int)lock(own, F_SETLKW, F_RDLCK, 0, 3));
	}
	dozed();
	locks("four wait");
	say("%r\n", lock(a, F_SETLK, F_UNLCK, 0, 10));
	dozed();
	locks("a part given");
	say("%r %r\n", sys(__NR_flock, c, 8), lock(b, F_OFD_SETLK, F_UNLCK, 0, 0));
	say("%d %d %d %d\n", wait_for(second), wait_for(third), wait_for(fourth), wait_for(fifth));
	locks("all waited for");
	long d = opened("/tmp/d", O_RDONLY | O_CREAT), e = opened("/tmp/e", O_RDWR | O_CREAT);
	say("%r %r\n", sys(__NR_fcntl, d, 1024, F_RDLCK), sys(__NR_fcntl, e, 1024, F_WRLCK));
	locks("leases");
	on_signal(29, (void *)1, 0);
	second = fork();
	if (!second)
		leave((int)opened("/tmp/d", O_WRONLY) < 0);
	dozed();
	locks("breaking");
	say("%r\n", sys(__NR_fcntl, d, 1024, F_UNLCK));
	say("%d\n", wait_for(second));
	locks("broken");
	second = fork();
	if (!second) {
		long own = opened("/tmp/a", O_RDWR);
		say("%r\n", lock(own, F_SETLK, F_RDLCK, 21, 2));
		say("%r\n", sys(__NR_flock, own, 6));
		locks("of the second");
		say("%r %r\n", lock(own, F_SETLK, F_UNLCK, 0, 0), sys(__NR_flock, own, 8));
		leave(0);
	}
	wait_for(second);
	locks("after it");
	say("%r\n", lock(b, F_SETLK, F_WRLCK, 0, 100));
	say("%r\n", lock(b, F_SETLK, F_WRLCK, 200, 100));
	say("%r\n", lock(b, F_SETLK, F_UNLCK, 40, 10));
	locks("halves");
	say("%r\n", lock(b, F_SETLK, F_RDLCK, 60, 10));
	locks("other kind inside");
	say("%r\n", lock(b, F_SETLK, F_WRLCK, 90, 130));
	locks("merged");
	say("%r\n", lock(b, F_SETLK, F_RDLCK, 0, 70));
	locks("changed");
	long children[4];
	for (int i = 0; i < 4; i++) {
		if (!(children[i] = fork())) {
			long own = opened("/tmp/b", O_RDWR);
			lock(own, F_SETLKW, i == 2 ? F_RDLCK : F_WRLCK, i == 3 ? 500 : 75 + i, i == 3 ? 0 : 10);
			leave(0);
		}
		dozed();
	}
	locks("behind each other");
	second = fork();
	if (!second) {
		long own = opened("/tmp/b", O_RDWR);
		lock(own, F_SETLKW, F_WRLCK, 80, 1);
		leave(0);
	}
	dozed();
	locks("and one more");
	sys(__NR_kill, children[0], 9);
	say("%d\n", wait_for(children[0]));
	dozed();
	locks("the first gave up");
	say("%r\n", lock(b, F_SETLK, F_UNLCK, 0, 0));
	for (int i = 1; i < 4; i++)
		wait_for(children[i]);
	wait_for(second);
	locks("the end");
	return 0;
}
