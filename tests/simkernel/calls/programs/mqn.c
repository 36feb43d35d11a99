/* POSIX queues: notifications, attributes, priorities, limits.  not: i386 */
#include "tiny.h"
#include <linux/mqueue.h>
#include <asm/siginfo.h>
#include <asm/signal.h>
static volatile int got, code, val, pid_, uid_;
static void handler(int sig, void *info, void *ctx) { siginfo_t *i = info; got = sig; code = i->si_code; val = i->si_int; pid_ = i->si_pid; uid_ = i->si_uid; }
static void told(const char *w) { say("%s: signal %d code %d value %d pid %d uid %d\n", w, got, code, val, pid_ == sys(__NR_getpid), uid_); got = code = val = pid_ = 0; }
static void attr(long q) { struct mq_attr a; long r = sys(__NR_mq_getsetattr, q, 0, &a); say("%r flags %x maxmsg %l msgsize %l cur %l\n", r, a.mq_flags, a.mq_maxmsg, a.mq_msgsize, a.mq_curmsgs); }
int main(int argc, char **argv)
{
	struct mq_attr a = { 0, 3, 16 }; char b[64]; unsigned prio;
	on_signal(10, handler, 4);
	T(__NR_mq_open, "q", O_RDWR, 0, 0); T(__NR_mq_open, "q/x", O_RDWR | O_CREAT, 0600, 0); T(__NR_mq_open, "", O_RDWR | O_CREAT, 0600, 0); T(__NR_mq_open, "/q", O_RDWR | O_CREAT, 0600, 0); T(__NR_mq_open, "..", O_RDWR | O_CREAT, 0600, 0);
	long q = sys(__NR_mq_open, "q", O_RDWR | O_CREAT | O_NONBLOCK, 0640, &a); attr(q);
	T(__NR_mq_open, "q", O_RDWR | O_CREAT | O_EXCL, 0600, 0);
	a.mq_maxmsg = 0; T(__NR_mq_open, "r", O_RDWR | O_CREAT, 0600, &a); a.mq_maxmsg = 11; T(__NR_mq_open, "r2", O_RDWR | O_CREAT, 0600, &a); a.mq_maxmsg = 70000; T(__NR_mq_open, "r3", O_RDWR | O_CREAT, 0600, &a); a.mq_maxmsg = 5; a.mq_msgsize = 8193; T(__NR_mq_open, "r4", O_RDWR | O_CREAT, 0600, &a); a.mq_msgsize = 1 << 25; T(__NR_mq_open, "r5", O_RDWR | O_CREAT, 0600, &a); a.mq_msgsize = -1; T(__NR_mq_open, "r5", O_RDWR | O_CREAT, 0600, &a);
	T(__NR_mq_open, "q", O_RDWR, 0, 1); T(__NR_mq_open, 1, O_RDWR);
	{ long d = sys(__NR_mq_open, "def", O_RDWR | O_CREAT, 0600, 0); attr(d); struct mq_attr n = { O_NONBLOCK, 99, 99, 99 }, o; T(__NR_mq_getsetattr, d, &n, &o); attr(d); n.mq_flags = O_APPEND; T(__NR_mq_getsetattr, d, &n, 0); T(__NR_mq_getsetattr, d, 0, 0); T(__NR_mq_getsetattr, 1, 0, &o); T(__NR_fcntl, d, F_GETFL); T(__NR_mq_unlink, "def"); T(__NR_mq_unlink, "def"); }
	/* order of priorities */
	T(__NR_mq_timedsend, q, "one", 3, 1, 0); T(__NR_mq_timedsend, q, "five", 4, 5, 0); T(__NR_mq_timedsend, q, "one again", 9, 1, 0); T(__NR_mq_timedsend, q, "full", 4, 0, 0); T(__NR_mq_timedsend, q, "x", 17, 0, 0); T(__NR_mq_timedsend, q, "x", 1, 32768, 0); T(__NR_mq_timedsend, 1, "x", 1, 0, 0);
	T(__NR_mq_timedsend, q, 1, 3, 0, 0);
	say("poll %x\n", (long)polled(q, 0xffff));
	T(__NR_mq_timedreceive, q, b, 15, &prio, 0);
	for (int i = 0; i < 4; i++) { memset(b, 0, 64); prio = 99; long r = sys(__NR_mq_timedreceive, q, b, 64, &prio, 0); say("%r %s %d\n", r, b, prio); }
	say("poll %x\n", (long)polled(q, 0xffff));
	T(__NR_mq_timedsend, q, "", 0, 0, 0); T(__NR_mq_timedreceive, q, b, 64, 0, 0);
	T(__NR_read, q, b, 0); { memset(b, 0, 64); T(__NR_lseek, q, 0, 0); T(__NR_mq_timedsend, q, "abc", 3, 2, 0); long r = sys(__NR_read, q, b, 63); say("read %r %s", r, b); T(__NR_read, q, b, 63); } T(__NR_write, q, b, 3);
	/* times */
	{ long w = sys(__NR_mq_open, "q", O_RDWR); struct __kernel_timespec t = { 0, 0 }; T(__NR_mq_timedreceive, w, b, 64, 0, &t); T(__NR_mq_timedreceive, w, b, 64, 0, &t); t.tv_nsec = -1; T(__NR_mq_timedreceive, w, b, 64, 0, &t); t.tv_nsec = 1000000000; T(__NR_mq_timedsend, w, b, 1, 0, &t); t.tv_sec = -1, t.tv_nsec = 0; T(__NR_mq_timedreceive, w, b, 64, 0, &t); T(__NR_mq_timedreceive, w, b, 64, 0, 1);
	  on_signal(14, handler, 4); struct { long a, b, c, d; } it = { 0, 0, 0, 10000 }; T(__NR_setitimer, 0, &it, 0); T(__NR_mq_timedreceive, w, b, 64, 0, 0); told("alarm"); }
	/* who is told */
	struct sigevent e; memset(&e, 0, sizeof e);
	e.sigev_notify = 99; T(__NR_mq_notify, q, &e); e.sigev_notify = SIGEV_SIGNAL; e.sigev_signo = 65; T(__NR_mq_notify, q, &e); e.sigev_signo = 0; T(__NR_mq_notify, q, &e); e.sigev_signo = -1; T(__NR_mq_notify, q, &e); e.sigev_signo = 10; e.sigev_value.sival_int = 77; T(__NR_mq_notify, 1, &e); T(__NR_mq_notify, -1, &e); T(__NR_mq_notify, q, 1); T(__NR_mq_notify, q, 0);
	T(__NR_mq_notify, q, &e); T(__NR_mq_notify, q, &e);
	{ long pid = fork(); if (!pid) { say("child %r %r\n", sys(__NR_mq_notify, q, &e), sys(__NR_mq_notify, q, 0)); sys(__NR_mq_timedsend, q, "n", 1, 3, 0); leave(0); } wait_for(pid); say("signal %d code %d value %d uid %d\n", got, code, val, uid_); got = 0; }
	T(__NR_mq_notify, q, &e); told("not empty"); T(__NR_mq_timedsend, q, "n", 1, 3, 0); told("still not empty"); sys(__NR_mq_timedreceive, q, b, 64, 0, 0); sys(__NR_mq_timedreceive, q, b, 64, 0, 0); T(__NR_mq_timedsend, q, "n", 1, 3, 0); told("was empty"); sys(__NR_mq_timedreceive, q, b, 64, 0, 0); T(__NR_mq_timedsend, q, "n", 1, 3, 0); told("once only");
	sys(__NR_mq_timedreceive, q, b, 64, 0, 0);
	T(__NR_mq_notify, q, &e); { long n = sys(__NR_mq_open, "q", O_RDONLY); T(__NR_close, n); } T(__NR_mq_timedsend, q, "n", 1, 3, 0); told("closing another removes it");
	sys(__NR_mq_timedreceive, q, b, 64, 0, 0);
	e.sigev_notify = SIGEV_NONE; T(__NR_mq_notify, q, &e); T(__NR_mq_timedsend, q, "n", 1, 3, 0); told("none"); T(__NR_mq_notify, q, &e); T(__NR_mq_notify, q, 0);
	/* a waiting receiver takes it first */
	sys(__NR_mq_timedreceive, q, b, 64, 0, 0); e.sigev_notify = SIGEV_SIGNAL; T(__NR_mq_notify, q, &e);
	{ long w = sys(__NR_mq_open, "q", O_RDWR); long pid = fork(); if (!pid) { say("receiver %r\n", sys(__NR_mq_timedreceive, w, b, 64, 0, 0)); leave(0); } nap(20); T(__NR_mq_timedsend, q, "n", 1, 3, 0); wait_for(pid); told("receiver first"); }
	/* two waiting senders by priority */
	{ long w = sys(__NR_mq_open, "q", O_RDWR); for (int i = 0; i < 3; i++) sys(__NR_mq_timedsend, w, "0", 1, 0, 0); for (int i = 1; i < 3; i++) { if (!fork()) { sys(__NR_mq_timedsend, w, i == 1 ? "A" : "B", 1, i, 0); leave(0); } nap(10); } for (int i = 0; i < 5; i++) { long r = sys(__NR_mq_timedreceive, w, b, 64, &prio, 0); say("%r %d %d\n", r, b[0], prio); nap(5); } wait_for(-1); wait_for(-1); }
	{ long n; T(__NR_mkdirat, AT_FDCWD, "/mq", 0755); T(__NR_mount, "none", "/mq", "mqueue", 0, 0); n = slurp("/mq/q", line + 4096, 1000); say("%r %s", n, line + 4096); T(__NR_mknodat, AT_FDCWD, "/mq/made", 0100600, 0); T(__NR_mq_open, "made", O_RDWR); T(__NR_unlinkat, AT_FDCWD, "/mq/made", 0); T(__NR_mkdirat, AT_FDCWD, "/mq/d", 0755); T(__NR_linkat, AT_FDCWD, "/mq/q", AT_FDCWD, "/mq/l", 0); T(__NR_renameat, AT_FDCWD, "/mq/q", AT_FDCWD, "/mq/l"); }
	{ static char st[144]; T(__NR_newfstatat, AT_FDCWD, "/mq/q", st, 0); say("mode %x size %l\n", (long)*(unsigned *)(st + 24), *(long *)(st + 48)); T(__NR_newfstatat, AT_FDCWD, "/mq", st, 0); say("mode %x size %l\n", (long)*(unsigned *)(st + 24), *(long *)(st + 48)); }
	{ sys(__NR_setuid, 1000); T(__NR_mq_open, "q", O_RDWR); T(__NR_mq_open, "q", O_RDONLY); T(__NR_mq_unlink, "q"); a = (struct mq_attr){ 0, 11, 16 }; T(__NR_mq_open, "u", O_RDWR | O_CREAT, 0600, &a); a = (struct mq_attr){ 0, 5, 8193 }; T(__NR_mq_open, "u", O_RDWR | O_CREAT, 0600, &a); a = (struct mq_attr){ 0, 10, 8192 }; for (int i = 0; i < 12; i++) { char n[3] = { 'u', 'a' + i, 0 }; say("%r ", sys(__NR_mq_open, n, O_RDWR | O_CREAT, 0600, &a)); } say("\n"); }
	return 0;
}
