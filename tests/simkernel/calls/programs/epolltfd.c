/* kcmp of what an epoll watches; terminal settings that are locked. */
/* not: i386 */
/* not: s390x: another syscall table's ioctls */
#include "tiny.h"
int main(int argc, char **argv)
{
	int fds[2], other[2];
	sys(__NR_pipe, fds), sys(__NR_pipe, other);
	long ep = sys(__NR_epoll_create1, 0), me = sys(__NR_getpid);
	struct { unsigned events; unsigned long long data; } __attribute__((packed)) ev = { 1, 5 };
	say("add %r\n", sys(__NR_epoll_ctl, ep, 1, fds[0], &ev));
	unsigned slot[3] = { ep, fds[0], 0 };
	say("same %r\n", sys(__NR_kcmp, me, me, 7, fds[0], slot));
	say("other %d\n", sys(__NR_kcmp, me, me, 7, other[0], slot) > 0);
	slot[2] = 1;
	say("second %r\n", sys(__NR_kcmp, me, me, 7, fds[0], slot));
	slot[2] = 0, slot[1] = fds[1];
	say("not watched %r\n", sys(__NR_kcmp, me, me, 7, fds[0], slot));
	slot[0] = fds[0];
	say("no epoll %r\n", sys(__NR_kcmp, me, me, 7, fds[0], slot));
	slot[0] = 99;
	say("no file %r\n", sys(__NR_kcmp, me, me, 7, fds[0], slot));
	slot[0] = ep, slot[1] = fds[0];
	say("no first file %r\n", sys(__NR_kcmp, me, me, 7, 99, slot));
	say("no memory %r\n", sys(__NR_kcmp, me, me, 7, fds[0], 0));
	say("neither %r\n", sys(__NR_kcmp, me, me, 7, 99, 0));
	long dup = sys(__NR_dup, fds[0]);
	say("dup %r\n", sys(__NR_kcmp, me, me, 7, dup, slot));
	long m = sys(__NR_openat, AT_FDCWD, "/dev/ptmx", O_RDWR, 0);
	int zero = 0;
	sys(__NR_ioctl, m, 0x40045431, &zero);
	long s = sys(__NR_ioctl, m, 0x5441, O_RDWR | 0400);
	struct { unsigned i, o, c, l; unsigned char line, cc[19]; } t, lock;
	memset(&lock, 0xff, sizeof(lock));
	say("locks %r\n", sys(__NR_ioctl, s, 0x5456, &lock));
	say("%d %d %d %d %d %d\n", lock.i, lock.o, lock.c, lock.l, lock.line, lock.cc[2]);
	lock.l = 8, lock.cc[2] = 1; /* ECHO, VERASE */
	say("lock %r\n", sys(__NR_ioctl, s, 0x5457, &lock));
	memset(&lock, 0, sizeof(lock));
	say("told %r", sys(__NR_ioctl, m, 0x5456, &lock));
	say(" %d %d\n", lock.l, lock.cc[2]);
	sys(__NR_ioctl, s, 0x5401, &t);
	say("echo %d erase %d kill %d icanon %d\n", !!(t.l & 8), t.cc[2], t.cc[3], !!(t.l & 2));
	t.l = 0, t.cc[2] = 7, t.cc[3] = 9;
	say("set %r\n", sys(__NR_ioctl, s, 0x5402, &t));
	sys(__NR_ioctl, s, 0x5401, &t);
	say("echo %d erase %d kill %d icanon %d\n", !!(t.l & 8), t.cc[2], t.cc[3], !!(t.l & 2));
	sys(__NR_setresuid, 1000, 1000, 1000);
	say("lock %r\n", sys(__NR_ioctl, s, 0x5457, &lock));
	say("locks %r\n", sys(__NR_ioctl, s, 0x5456, &lock));
	return 0;
}
