/* Files that send signals: leases, F_NOTIFY, O_ASYNC with F_SETOWN and F_SETSIG. */
#include "tiny.h"
#include <linux/poll.h>

#ifdef __NR_fcntl64
#define FCNTL __NR_fcntl64
#else
#define FCNTL __NR_fcntl
#endif
#define SA_SIGINFO 4
#define LEASE 1024
#define GETLEASE 1025
#define NOTIFY 1026
static long me;

struct info { int signo, err, code; };
static struct { int signo, code; long band; int fd; } got[16];
static int count;
static void handler(int sig, void *info, void *context)
{
	struct info *i = info;
	long *band = (long *)((char *)info + (sizeof(long) == 8 ? 16 : 12));
	if (count < 16) {
		got[count].signo = sig, got[count].code = i->code, got[count].band = band[0];
		got[count++].fd = *(int *)(band + 1);
	}
}
static void heard(void)
{
	for (int i = 0; i < count; i++) {
		say(" [%d code %d", got[i].signo, got[i].code);
		if (got[i].code > 0 && got[i].code < 128)
			say(" band %x fd %d", got[i].band, got[i].fd);
		say("]");
	}
	say(count ? "\n" : " silence\n");
	count = 0;
}
static long op(const char *path, int flags) { return sys(__NR_openat, AT_FDCWD, path, flags, 0644); }
static long fc(long fd, int cmd, long arg) { return sys(FCNTL, fd, cmd, arg); }

static void leases(void)
{
	long fd = op("/l/file", O_RDWR | O_CREAT), other, pid;
	int status;
	say("get %r", fc(fd, GETLEASE, 0));
	say(" read of a writer %r", fc(fd, LEASE, F_RDLCK));
	say(" write %r", fc(fd, LEASE, F_WRLCK));
	say(" get %r", fc(fd, GETLEASE, 0));
	say(" unlock %r", fc(fd, LEASE, F_UNLCK));
	say(" again %r", fc(fd, LEASE, F_UNLCK));
	say(" bad %r\n", fc(fd, LEASE, 7));
	other = op("/l/file", O_RDONLY);
	say("opened twice: write %r", fc(fd, LEASE, F_WRLCK));
	sys(__NR_close, fd);
	say(" read %r", fc(other, LEASE, F_RDLCK));
	say(" write, alone %r", fc(other, LEASE, F_WRLCK));
	say(" back %r", fc(other, LEASE, F_RDLCK));
	fd = op("/l/file", O_RDONLY);
	say(" second reader %r", fc(fd, LEASE, F_RDLCK));
	say(" first wants more %r\n", fc(other, LEASE, F_WRLCK));
	sys(__NR_close, fd);
	fd = op("/l", O_RDONLY | O_DIRECTORY);
	say("directory %r", fc(fd, LEASE, F_RDLCK));
	sys(__NR_close, fd);
	int pipes[2];
	sys(__NR_pipe2, pipes, 0);
	say(" pipe %r\n", fc(pipes[0], LEASE, F_RDLCK));
	sys(__NR_close, pipes[0]), sys(__NR_close, pipes[1]);
	say("a reader opens"); sys(__NR_close, op("/l/file", O_RDONLY | O_NONBLOCK)); heard();
	say("a writer %r", op("/l/file", O_WRONLY | O_NONBLOCK)); heard();
	say("becomes %r", fc(other, GETLEASE, 0));
	fd = op("/l/file", O_RDONLY | O_NONBLOCK);
	say(" a reader now %r", fd > 0); heard();
	sys(__NR_close, fd);
	say("taken back %r", fc(other, LEASE, F_UNLCK));
	say(" cut %r", sys(__NR_truncate, "/l/file", 0)); heard();
	sys(__NR_close, other);
	/* a child waits until the parent gives way */
	fd = op("/l/file", O_RDWR);
	say("with a signal %r", fc(fd, F_SETSIG, 40));
	say(" lease %r\n", fc(fd, LEASE, F_WRLCK));
	pid = fork();
	if (!pid) {
		sys(__NR_close, fd);
		long r = op("/l/file", O_RDONLY);
		leave(r < 0 ? 1 : 0);
	}
	for (int i = 0; i < 500 && !count; i++)
		nap(10);
	say("heard"); heard();
	say("becomes %r", fc(fd, GETLEASE, 0));
	say(" child waits %r", sys(__NR_wait4, pid, &status, 1, 0));
	say(" down to a reader's %r", fc(fd, LEASE, F_RDLCK));
	say(" child %d", wait_for(pid));
	say(" get %r\n", fc(fd, GETLEASE, 0));
	sys(__NR_close, fd);
	count = 0;
	fd = op("/l/file", O_RDONLY);
	say("before the time is up %r", spit("/proc/sys/fs/lease-break-time", "1") > 0 ? 0 : -1);
	say(" lease %r", fc(fd, LEASE, F_RDLCK));
	pid = fork();
	if (!pid) {
		sys(__NR_close, fd);
		leave(op("/l/file", O_WRONLY) < 0);
	}
	say(" child %d", wait_for(pid));
	say(" get %r", fc(fd, GETLEASE, 0)); heard();
	sys(__NR_close, fd);
	spit("/proc/sys/fs/lease-break-time", "45");
	sys(__NR_fchownat, AT_FDCWD, "/l/file", 0, 0, 0);
	if (!(pid = fork())) {
		sys(__NR_fchmodat, AT_FDCWD, "/l/file", 0666);
#ifdef __NR_setuid32
		sys(__NR_setuid32, 1000);
#else
		sys(__NR_setuid, 1000);
#endif
		fd = op("/l/file", O_RDONLY);
		say("of another's file %r\n", fc(fd, LEASE, F_RDLCK));
		leave(0);
	}
	wait_for(pid);
}

static void notes(void)
{
	long fd = op("/l", O_RDONLY | O_DIRECTORY), file = op("/l/file", O_RDWR), f2;
	say("nothing %r", fc(fd, NOTIFY, 0));
	say(" bad %r", fc(fd, NOTIFY, 0x100));
	say(" file %r", fc(file, NOTIFY, 1));
	say(" once %r", fc(fd, NOTIFY, 2));
	say(" write %r", sys(__NR_write, file, "x", 1));
	say(" again %r", sys(__NR_write, file, "x", 1)); heard();
	fc(fd, F_SETSIG, 41);
	say("many %r\n", fc(fd, NOTIFY, 0x80000000 | 4 | 8));
	say("create"); f2 = op("/l/new", O_CREAT | O_RDWR); heard();
	say("write"); sys(__NR_write, f2, "x", 1); heard();
	say("rename"); sys(__NR_renameat2, AT_FDCWD, "/l/new", AT_FDCWD, "/l/neu", 0); heard();
	say("unlink"); sys(__NR_unlinkat, AT_FDCWD, "/l/neu", 0); heard();
	say("more %r", fc(fd, NOTIFY, 0x80000000 | 16 | 32));
	sys(__NR_close, f2); f2 = op("/l/new", O_CREAT | O_RDWR); heard();
	say("rename"); sys(__NR_renameat2, AT_FDCWD, "/l/new", AT_FDCWD, "/l/neu", 0); heard();
	say("chmod"); sys(__NR_fchmodat, AT_FDCWD, "/l/neu", 0600); heard();
	say("chmod of the directory"); sys(__NR_fchmodat, AT_FDCWD, "/l", 0700); heard();
	say("owner %r", fc(fd, F_GETOWN, 0) == me);
	say(" off %r", fc(fd, NOTIFY, 0)); sys(__NR_unlinkat, AT_FDCWD, "/l/neu", 0); heard();
	fc(fd, NOTIFY, 0x80000000 | 8);
	sys(__NR_close, fd); sys(__NR_close, f2); f2 = op("/l/new", O_CREAT | O_RDWR);
	say("closed"); sys(__NR_unlinkat, AT_FDCWD, "/l/new", 0); heard();
	sys(__NR_close, file); sys(__NR_close, f2);
}

static void owners(void)
{
	int p[2], ex[2] = { 9, 9 };
	unsigned uids[2] = { 7, 7 };
	long pid = me;
	sys(__NR_pipe2, p, 0);
	say("owner %r", fc(p[0], F_GETOWN, 0));
	say(" set %r", fc(p[0], F_SETOWN, pid));
	say(" is me %d", fc(p[0], F_GETOWN, 0) == pid);
	say(" nobody %r", fc(p[0], F_SETOWN, 32000));
	say(" still me %d", fc(p[0], F_GETOWN, 0) == pid);
	say(" least %r\n", fc(p[0], F_SETOWN, -2147483647L - 1));
	say("ex %r", fc(p[0], F_GETOWN_EX, (long)ex));
	say(" %d %d", ex[0], ex[1] == pid);
	ex[0] = 0, ex[1] = pid;
	say(" thread %r", fc(p[0], F_SETOWN_EX, (long)ex));
	say(" old way %d", fc(p[0], F_GETOWN, 0) == pid);
	ex[0] = 5;
	say(" kind 5 %r", fc(p[0], F_SETOWN_EX, (long)ex));
	ex[0] = 1, ex[1] = -4;
	say(" -4 %r", fc(p[0], F_SETOWN_EX, (long)ex));
	say(" nowhere %r", fc(p[0], F_SETOWN_EX, 8));
	say(" uids %r", fc(p[0], F_GETOWNER_UIDS, (long)uids));
	say(" %d %d\n", uids[0], uids[1]);
	say("signal %r", fc(p[0], F_GETSIG, 0));
	say(" 65 %r", fc(p[0], F_SETSIG, 65));
	say(" 64 %r", fc(p[0], F_SETSIG, 64));
	say(" %r", fc(p[0], F_GETSIG, 0));
	fc(p[0], F_SETSIG, 0);
	ex[0] = 1, ex[1] = pid;
	fc(p[0], F_SETOWN_EX, (long)ex);
	say(" async %r", fc(p[0], F_SETFL, 020000));
	say(" flags %x\n", fc(p[0], F_GETFL, 0) & 020000);
	char c;
	say("pipe write"); sys(__NR_write, p[1], "a", 1); heard();
	say("another"); sys(__NR_write, p[1], "a", 1); heard();
	fc(p[0], F_SETSIG, 42);
	say("numbered"); sys(__NR_write, p[1], "a", 1); heard();
	say("read"); sys(__NR_read, p[0], &c, 1); heard();
	fc(p[1], F_SETOWN, pid), fc(p[1], F_SETSIG, 43), fc(p[1], F_SETFL, 020000);
	say("emptied"); sys(__NR_read, p[0], &c, 1), sys(__NR_read, p[0], &c, 1); heard();
	say("off %r", fc(p[0], F_SETFL, 0)); sys(__NR_write, p[1], "a", 1); heard();
	say("writer gone"); fc(p[0], F_SETFL, 020000); sys(__NR_close, p[1]); heard();
	sys(__NR_close, p[0]);
}

int main(int argc, char **argv)
{
	me = sys(__NR_getpid);
	sys(__NR_mkdirat, AT_FDCWD, "/l", 0755);
	sys(__NR_mount, "l", "/l", "tmpfs", 0, 0);
	for (int s = 40; s <= 43; s++)
		on_signal(s, handler, SA_SIGINFO);
	on_signal(64, handler, SA_SIGINFO);
	on_signal(29, handler, SA_SIGINFO);
	leases();
	notes();
	owners();
	return 0;
}
