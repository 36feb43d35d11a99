/* Owners and signals of files, leases, directories that tell, pipe sizes, descriptors.  not: i386, s390x */
#include "tiny.h"
#include <linux/socket.h>
#include <asm/siginfo.h>
#define O_ASYNC 020000
#ifndef F_SETOWN_EX
#endif
struct own { int type, pid; };
static volatile int got, code, fd_, band;
static void handler(int sig, void *info, void *ctx) { siginfo_t *i = info; got = sig; code = i->si_code; fd_ = i->si_fd; band = i->si_band; }
static void told(const char *what) { say("%s: signal %d code %d fd %d band %x\n", what, got, code, fd_, (long)band); got = code = fd_ = band = 0; }
#define F(...) T(__NR_fcntl, __VA_ARGS__)
static void owner(int fd)
{
	struct own o = { 99, 99 };
	say("own %d\n", sys(__NR_fcntl, fd, F_GETOWN) == sys(__NR_getpid));
	long r = sys(__NR_fcntl, fd, F_GETOWN_EX, &o);
	say("ex %r type %d own %d\n", r, o.type, o.pid == sys(__NR_getpid) ? -7 : o.pid);
}
int main(int argc, char **argv)
{
	int p[2], s[2];
	long pid = sys(__NR_getpid);
	struct own o;
	for (int i = 1; i < 64; i++)
		if (i == 29 || i == 10 || i == 35)
			on_signal(i, handler, 4);
	T(__NR_pipe2, p, 0);
	T(__NR_socketpair, 1, 1, 0, s);
	F(p[0], F_GETOWN); F(p[0], F_GETSIG);
	F(p[0], F_SETSIG, 65); F(p[0], F_SETSIG, -1); F(p[0], F_SETSIG, 64); F(p[0], F_GETSIG); F(p[0], F_SETSIG, 0);
	F(p[0], F_SETOWN, 0x7ffffff); F(p[0], F_SETOWN, -0x7ffffff); F(p[0], F_SETOWN, 1L << 31); F(p[0], F_SETOWN, 0); owner(p[0]);
	o = (struct own){ 0, pid }; F(p[0], F_SETOWN_EX, &o); owner(p[0]);
	o = (struct own){ 1, pid }; F(p[0], F_SETOWN_EX, &o); owner(p[0]);
	o = (struct own){ 3, pid }; F(p[0], F_SETOWN_EX, &o);
	o = (struct own){ 2, 0x7ffffff }; F(p[0], F_SETOWN_EX, &o);
	F(p[0], F_SETOWN_EX, 1); F(p[0], F_GETOWN_EX, 1);
	F(p[0], F_SETOWN, pid);
	F(p[0], F_SETFL, O_ASYNC); F(p[0], F_GETFL);
	T(__NR_write, p[1], "x", 1); told("pipe written");
	F(p[0], F_SETSIG, 10);
	T(__NR_write, p[1], "x", 1); told("pipe written, signal 10");
	F(p[1], F_SETSIG, 35); F(p[1], F_SETOWN, pid); F(p[1], F_SETFL, O_ASYNC | O_NONBLOCK);
	{ char b[8]; T(__NR_read, p[0], b, 8); told("pipe read"); }
	F(p[0], F_SETFL, 0);
	T(__NR_close, p[0]); told("pipe's reader closed");
	F(s[0], F_SETOWN, pid); F(s[0], F_SETSIG, 35); F(s[0], F_SETFL, O_ASYNC);
	T(__NR_write, s[1], "x", 1); told("socket written");
	{ char b[8]; T(__NR_read, s[0], b, 8); told("socket read"); }
	T(__NR_shutdown, s[1], 1); told("socket shut");
	T(__NR_close, s[1]); told("socket closed");
	/* FIOASYNC */
	{ int on = 1; T(__NR_ioctl, s[0], 0x5452, &on); on = 0; T(__NR_ioctl, s[0], 0x5452, &on); F(s[0], F_GETFL); }
	{ int v = 0; T(__NR_ioctl, s[0], 0x8903, &v); say("FIOGETOWN %d\n", v == pid); v = -1; T(__NR_ioctl, s[0], 0x8902, &v); T(__NR_ioctl, s[0], 0x8901, &v); v = 0; T(__NR_ioctl, s[0], 0x8904, &v); }
	long f = sys(__NR_open, "/tmp/owned", O_RDWR | O_CREAT, 0644);
	F(f, F_SETFL, O_ASYNC); F(f, F_GETFL);
	F(f, F_SETFL, O_APPEND | O_NOATIME | O_DIRECT); F(f, F_GETFL);
	F(f, F_SETFL, 0);
	/* leases */
	F(f, F_GETLEASE); F(f, F_SETLEASE, F_RDLCK); F(f, F_SETLEASE, F_WRLCK); F(f, F_GETLEASE); F(f, F_SETLEASE, 9); F(f, F_GETFL); F(f, F_SETLEASE, F_UNLCK); F(f, F_GETFL); F(f, F_SETLEASE, F_UNLCK);
	long f2 = sys(__NR_open, "/tmp/owned", O_RDONLY);
	F(f2, F_SETLEASE, F_RDLCK); F(f, F_SETLEASE, F_WRLCK);
	T(__NR_close, f); F(f2, F_SETLEASE, F_RDLCK); F(f2, F_GETLEASE);
	T(__NR_open, "/tmp/owned", O_WRONLY | O_NONBLOCK); told("lease broken"); F(f2, F_GETLEASE);
	F(f2, F_SETSIG, 35);
	T(__NR_open, "/tmp/owned", O_RDWR | O_NONBLOCK); told("again");
	F(f2, F_SETLEASE, F_UNLCK);
	F(f2, F_SETLEASE, F_WRLCK); T(__NR_open, "/tmp/owned", O_RDONLY | O_NONBLOCK); told("write lease broken by reader"); F(f2, F_GETLEASE);
	F(f2, F_SETLEASE, F_RDLCK); F(f2, F_GETLEASE);
	T(__NR_truncate, "/tmp/owned", 0);
	F(f2, F_SETLEASE, F_UNLCK);
	F(s[0], F_SETLEASE, F_RDLCK); F(p[1], F_SETLEASE, F_RDLCK);
	long d = sys(__NR_open, "/tmp", O_RDONLY | O_DIRECTORY);
	F(d, F_SETLEASE, F_RDLCK);
	/* dnotify */
	F(f2, F_NOTIFY, 1); F(d, F_NOTIFY, 0); F(d, F_NOTIFY, 0x80000000 | 0x3f); F(d, F_SETSIG, 35); 
	T(__NR_close, sys(__NR_open, "/tmp/dn", O_RDWR | O_CREAT, 0644)); told("created");
	T(__NR_rename, "/tmp/dn", "/tmp/dn2"); told("renamed");
	T(__NR_chmod, "/tmp/dn2", 0600); told("changed");
	T(__NR_unlink, "/tmp/dn2"); told("removed");
	F(d, F_NOTIFY, 0x100); F(d, F_NOTIFY, 0); T(__NR_unlink, "/tmp/dn2"); told("nothing");
	F(d, F_NOTIFY, 4); T(__NR_close, sys(__NR_open, "/tmp/dn", O_RDWR | O_CREAT, 0644)); told("once"); T(__NR_unlink, "/tmp/dn"); told("no more");
	/* pipe sizes */
	T(__NR_pipe2, p, 0); F(p[0], F_GETPIPE_SZ); F(p[0], F_SETPIPE_SZ, 1); F(p[0], F_SETPIPE_SZ, 0); F(p[0], F_SETPIPE_SZ, 5000); F(p[1], F_SETPIPE_SZ, 1 << 20); F(p[1], F_SETPIPE_SZ, (1 << 20) + 1);
	F(p[1], F_SETPIPE_SZ, 1U << 31); F(p[1], F_SETPIPE_SZ, 0xffffffff); F(f2, F_GETPIPE_SZ); F(f2, F_SETPIPE_SZ, 4096); F(s[0], F_GETPIPE_SZ);
	{ static char b[9000]; F(p[1], F_SETPIPE_SZ, 16384); T(__NR_write, p[1], b, 9000); F(p[1], F_SETPIPE_SZ, 4096); F(p[1], F_SETPIPE_SZ, 8192); int n; T(__NR_ioctl, p[0], 0x541b, &n); say("FIONREAD %d\n", n); }
	/* descriptors */
	F(p[0], F_DUPFD, -1); F(p[0], F_DUPFD, 1 << 20); F(p[0], F_DUPFD, 100); F(p[0], F_DUPFD, 100); F(p[0], F_DUPFD_CLOEXEC, 100); F(102, F_GETFD); F(100, F_SETFD, 0xff); F(100, F_GETFD); F(100, F_SETFD, 2); F(100, F_GETFD);
	T(__NR_dup2, 100, 100); T(__NR_dup3, 100, 100, 0); T(__NR_dup3, 100, 103, 1); T(__NR_dup2, 100, -1); T(__NR_dup2, 99, 99); T(__NR_dup2, 100, 1 << 20); T(__NR_dup, -1);
	F(100, 1029); F(100, 1028); F(100, 9999); F(-1, F_GETFL);
	{ long path = sys(__NR_open, "/tmp", O_PATH); F(path, F_GETFL); F(path, F_SETFL, 0); F(path, F_GETOWN); F(path, F_SETLEASE, 0); F(path, F_GETFD); F(path, F_DUPFD, 50); unsigned char l[32] = { 0 }; F(path, F_GETLK, l); T(__NR_fchmod, path, 0777); T(__NR_read, path, l, 1); T(__NR_ioctl, path, 0x541b, l); T(__NR_fsync, path); T(__NR_lseek, path, 0, 0); T(__NR_mmap, 0, 4096, 1, 1, path, 0); T(__NR_fgetxattr, path, "user.x", l, 1); T(__NR_getdents64, path, l, 32); T(__NR_fchdir, path); T(__NR_fstat, path, line); }
	/* hints of a file's life */
	{ unsigned long long h = 99; F(f2, 1035, &h); say("hint %L\n", (long long)h); h = 3; F(f2, 1036, &h); h = 9; F(f2, 1036, &h); F(f2, 1035, &h); say("hint %L\n", (long long)h); F(f2, 1037, &h); F(f2, 1038, &h); F(p[0], 1035, &h); F(f2, 1035, 1); }
	/* owner whose ids may not signal us */
	return 0;
}
