/* Record locks: random walks of POSIX locks, locks of open files and flock over one file, by two processes and three descriptors of it. */
#include "tiny.h"

static unsigned seed = 12345;
static unsigned rnd(unsigned n) { seed = seed * 1103515245u + 12345u; return (seed >> 16) % n; }
static int fds[6]; /* two opened to read and write, one read-only, one write-only, a duplicate, another file */
#if defined(__i386__)
#define SET F_SETLK64
#define GET F_GETLK64
typedef struct flock64 lock;
#define FCNTL __NR_fcntl64
#else
#define SET F_SETLK
#define GET F_GETLK
typedef struct flock lock;
#define FCNTL __NR_fcntl
#endif
#define BIG 0x7fffffffffffffffLL

static void tell(const lock *l, long parent, long me)
{
	if (l->l_type == F_UNLCK)
		say(" free");
	else
		say(" %s %L+%L by %s", l->l_type == F_RDLCK ? "read" : "write", (long long)l->l_start, (long long)l->l_len,
		    l->l_pid == me ? "me" : l->l_pid == parent ? "parent" : l->l_pid == -1 ? "a file" : "other");
}

static void step(const char *who, long parent, long me)
{
	static const long long starts[] = { 0, 1, 5, 10, 20, 30, 100, -1, BIG - 1, BIG }, lengths[] = { 0, 1, 5, 10, 40, -1, -5, -10, BIG };
	lock l = { 0 };
	int fd = rnd(6), what = rnd(10);
	l.l_type = rnd(8) ? rnd(3) : 7;
	l.l_whence = rnd(6) ? 0 : rnd(4);
	l.l_start = starts[rnd(rnd(3) ? 7 : 10)];
	l.l_len = lengths[rnd(rnd(3) ? 5 : 9)];
	say("%s %d ", who, fd);
	if (what == 0) {
		static const int ops[] = { 1, 2, 8, 0, 3, 32 };
		int op = ops[rnd(6)];
		say("flock %d %r\n", op, sys(__NR_flock, fds[fd], op | 4));
	} else if (what == 1 && !rnd(3)) {
		say("dup and close %r\n", sys(__NR_close, sys(__NR_dup, fds[fd])));
	} else if (what < 4) {
		int ofd = rnd(2);
		l.l_pid = rnd(5) ? 0 : 1;
		say("%s %d %d %L+%L pid %d", ofd ? "ofd get" : "get", l.l_type, l.l_whence, (long long)l.l_start, (long long)l.l_len, l.l_pid);
		long r = sys(FCNTL, fds[fd], ofd ? F_OFD_GETLK : GET, &l);
		say(" %r", r);
		if (!r)
			tell(&l, parent, me);
		say("\n");
	} else {
		int ofd = rnd(2);
		l.l_pid = rnd(9) ? 0 : 1;
		say("%s %d %d %L+%L pid %d %r\n", ofd ? "ofd set" : "set", l.l_type, l.l_whence, (long long)l.l_start, (long long)l.l_len, l.l_pid,
		    sys(FCNTL, fds[fd], ofd ? F_OFD_SETLK : SET, &l));
	}
}

int main(int argc, char **argv)
{
	int turns[2][2];
	char c;
	long parent = sys(__NR_getpid), child;
	sys(__NR_mkdir, "/tmp", 0777);
	for (unsigned walk = 0; walk < 4; walk++) {
		sys(__NR_unlink, "/tmp/lockwalk");
		fds[0] = sys(__NR_open, "/tmp/lockwalk", O_RDWR | O_CREAT, 0600);
		sys(__NR_ftruncate, fds[0], 50);
		fds[1] = sys(__NR_open, "/tmp/lockwalk", O_RDWR);
		fds[2] = sys(__NR_open, "/tmp/lockwalk", O_RDONLY);
		fds[3] = sys(__NR_open, "/tmp/lockwalk", O_WRONLY);
		fds[4] = sys(__NR_dup, fds[0]);
		fds[5] = sys(__NR_open, "/tmp", O_RDONLY | O_DIRECTORY);
		sys(__NR_lseek, fds[1], 7, 0);
		sys(__NR_pipe, turns[0]), sys(__NR_pipe, turns[1]);
		say("walk %d\n", walk);
		child = fork();
		if (!child) {
			long me = sys(__NR_getpid);
			seed = 777 + walk;
			for (int i = 0; i < 70; i++) {
				sys(__NR_read, turns[0][0], &c, 1);
				step("child", parent, me);
				sys(__NR_write, turns[1][1], "x", 1);
			}
			leave(0);
		}
		seed = 4242 + walk;
		for (int i = 0; i < 70; i++) {
			step("parent", parent, parent);
			sys(__NR_write, turns[0][1], "x", 1);
			sys(__NR_read, turns[1][0], &c, 1);
		}
		wait_for(child);
		for (int i = 0; i < 10; i++)
			step("alone", parent, parent);
		for (int i = 0; i < 6; i++)
			sys(__NR_close, fds[i]);
		for (int i = 0; i < 4; i++)
			sys(__NR_close, turns[i / 2][i % 2]);
	}
	return 0;
}
