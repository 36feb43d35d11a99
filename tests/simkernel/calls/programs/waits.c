/* Waiting for children: every way, and what it says of them.  not: i386, s390x */
#include "tiny.h"
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <linux/resource.h>
#include <linux/wait.h>
static siginfo_t si; static struct rusage ru;
static void id(const char *w, int type, long who, int options) { memset(&si, 0x55, sizeof si); long r = sys(__NR_waitid, type, who, &si, options, &ru); say("%s: %r", w, r); if (!r) say(" signo %d code %d status %d pid %d uid %d", si.si_signo, si.si_code, si.si_status, si.si_pid != 0, si.si_uid); say("\n"); }
static long make(int how) { long pid = fork(); if (!pid) { if (how == 0) leave(7); if (how == 1) sys(__NR_kill, sys(__NR_getpid), 9); if (how == 2) { sys(__NR_kill, sys(__NR_getpid), 19); leave(3); } if (how == 3) for (;;) nap(1000); if (how == 4) leave(0x1ff); if (how == 6) { sys(__NR_kill, sys(__NR_getpid), 19); nap(40); leave(3); } if (how == 5) { *(volatile int *)8 = 1; } } return pid; }
static volatile int chld, chldcode, chldstatus; static void onchld(int s, void *i, void *c) { siginfo_t *x = i; chld++; chldcode = x->si_code; chldstatus = x->si_status; }
static int thread(void *a) { int st = -1; long r = sys(__NR_wait4, -1, &st, 0x20000000, 0); say("thread with WNOTHREAD %r\n", r); r = sys(__NR_wait4, -1, &st, 0, 0); say("thread without %d status %x\n", r > 0, (long)st); return 0; }
static char stack[16384];
int main(int argc, char **argv)
{
	int st; long pid, p2;
	id("none", P_ALL, 0, WEXITED); id("none nohang", P_ALL, 0, WEXITED | WNOHANG); id("no options", P_ALL, 0, 0); id("bad options", P_ALL, 0, WEXITED | 0x100); id("bad type", 9, 0, WEXITED); id("pid 0", P_PID, 0, WEXITED); id("pid -1", P_PID, -1, WEXITED); id("pgid -1", P_PGID, -1, WEXITED); id("pidfd -1", P_PIDFD, -1, WEXITED); id("pidfd 0", P_PIDFD, 0, WEXITED); id("pgid 0", P_PGID, 0, WEXITED); id("self", P_PID, sys(__NR_getpid), WEXITED);
	T(__NR_wait4, -1, &st, 0, 0); T(__NR_wait4, -1, &st, 0x100, 0); T(__NR_wait4, 0x80000000, &st, 0, 0); T(__NR_wait4, 0, &st, WNOHANG, 0); T(__NR_wait4, 99999, &st, 0, 0); T(__NR_wait4, -99999, &st, 0, 0); T(__NR_wait4, -1, &st, WEXITED, 0); T(__NR_wait4, -1, &st, WNOWAIT, 0);
	pid = make(0); id("nowait", P_PID, pid, WEXITED | WNOWAIT); id("again", P_PID, pid, WEXITED | WNOWAIT); id("take", P_PID, pid, WEXITED); id("gone", P_PID, pid, WEXITED);
	pid = make(1); id("killed", P_ALL, 0, WEXITED); pid = make(5); id("fault", P_ALL, 0, WEXITED); pid = make(4); id("exit 0x1ff", P_ALL, 0, WEXITED);
	pid = make(6); id("stopped", P_PID, pid, WSTOPPED); id("stopped again", P_PID, pid, WSTOPPED | WNOHANG); id("exited nohang", P_PID, pid, WEXITED | WNOHANG); T(__NR_kill, pid, SIGCONT); id("continued nowait", P_PID, pid, WCONTINUED | WNOWAIT); id("continued", P_PID, pid, WCONTINUED | WEXITED); id("exited", P_PID, pid, WEXITED | WSTOPPED | WCONTINUED);
	pid = make(6); st = 0; say("wait4 %d", sys(__NR_wait4, pid, &st, WUNTRACED, 0) == pid); say(" %x\n", (long)st); sys(__NR_kill, pid, SIGCONT); st = 0; say("wait4 %d", sys(__NR_wait4, pid, &st, WCONTINUED, 0) == pid); say(" %x\n", (long)st); st = 0; say("wait4 %d", sys(__NR_wait4, pid, &st, 0, 0) == pid); say(" %x\n", (long)st);
	pid = make(3); T(__NR_wait4, pid, &st, WNOHANG, &ru); T(__NR_wait4, 0, &st, WNOHANG, &ru); T(__NR_kill, pid, SIGSTOP); nap(5); T(__NR_kill, pid, SIGKILL); st = 0; say("stop then kill %d", sys(__NR_wait4, pid, &st, WUNTRACED, 0) == pid); say(" %x\n", (long)st);
	/* groups */
	pid = fork(); if (!pid) { sys(__NR_setpgid, 0, 0); leave(4); } nap(5); id("own group", P_PGID, 0, WEXITED | WNOHANG); id("its group", P_PGID, pid, WEXITED | WNOWAIT); st = 0; say("wait4 -pgid %d\n", sys(__NR_wait4, -pid, &st, 0, 0) == pid);
	/* pidfd */
	pid = make(0); long fd = sys(__NR_pidfd_open, pid, 0); id("pidfd", P_PIDFD, fd, WEXITED); id("pidfd gone", P_PIDFD, fd, WEXITED); id("pidfd nohang", P_PIDFD, fd, WEXITED | WNOHANG);
	pid = make(3); fd = sys(__NR_pidfd_open, pid, 04000); id("pidfd nonblock", P_PIDFD, fd, WEXITED); id("pidfd nohang", P_PIDFD, fd, WEXITED | WNOHANG); sys(__NR_kill, pid, 9); id("pidfd killed", P_PIDFD, sys(__NR_pidfd_open, pid, 0), WEXITED);
	/* clone children without a signal */
	{ long c = sys(__NR_clone, 0, 0, 0, 0, 0); if (!c) leave(5); nap(5); T(__NR_wait4, c, &st, 0, 0); T(__NR_wait4, -1, &st, WNOHANG, 0); st = 0; say("wclone %d %x\n", sys(__NR_wait4, c, &st, __WCLONE, 0) == c, (long)st); c = sys(__NR_clone, 10, 0, 0, 0, 0); if (!c) leave(6); on_signal(10, onchld, 0); nap(5); st = 0; say("wall %d %x\n", sys(__NR_wait4, -1, &st, __WALL, 0) == c, (long)st); c = sys(__NR_clone, 17, 0, 0, 0, 0); if (!c) leave(5); T(__NR_wait4, c, &st, __WCLONE, 0); id("wclone", P_PID, c, WEXITED | __WCLONE); id("wall", P_PID, c, WEXITED | __WALL); }
	/* SIGCHLD: what it says, SA_NOCLDSTOP, SA_NOCLDWAIT, ignored */
	on_signal(17, onchld, 4); chld = 0; pid = make(6); nap(20); say("stopped: %d code %d status %d\n", chld, chldcode, chldstatus); sys(__NR_kill, pid, SIGCONT); nap(20); say("then: %d code %d status %d\n", chld, chldcode, chldstatus); wait_for(pid); on_signal(17, onchld, 5); chld = 0; pid = make(6); nap(20); say("nocldstop: %d\n", chld); sys(__NR_kill, pid, 9); nap(20); say("killed: %d code %d status %d\n", chld, chldcode, chldstatus); wait_for(pid); on_signal(17, onchld, 6); chld = 0; pid = make(0); nap(20); say("nocldwait: %d\n", chld); T(__NR_wait4, -1, &st, 0, 0); on_signal(17, (void *)1, 0); pid = make(0); p2 = make(0); T(__NR_wait4, -1, &st, 0, 0); on_signal(17, 0, 0);
	/* interrupted */
	{ struct { long a, b, c, d; } it = { 0, 0, 0, 20000 }; on_signal(14, onchld, 0); pid = make(3); sys(__NR_setitimer, 0, &it, 0); T(__NR_wait4, pid, &st, 0, 0); sys(__NR_setitimer, 0, &it, 0); id("interrupted", P_PID, pid, WEXITED); sys(__NR_kill, pid, 9); T(__NR_wait4, pid, 1, 0, 0); T(__NR_wait4, pid, &st, 0, 0); pid = make(0); T(__NR_waitid, P_PID, pid, 1, WEXITED, 0); T(__NR_waitid, P_PID, pid, 0, WEXITED, 0); pid = make(0); say("null %d\n", sys(__NR_wait4, pid, 0, 0, 0) == pid); pid = make(0); T(__NR_waitid, P_PID, pid, 0, WEXITED, 0); pid = make(0); T(__NR_waitid, P_PID, pid, &si, WEXITED, 1); T(__NR_waitid, P_PID, pid, &si, WEXITED, 0); }
	/* usage */
	T(__NR_getrusage, 2, &ru); T(__NR_getrusage, 0, 1); T(__NR_getrusage, -2, &ru); T(__NR_getrusage, 1, &ru); T(__NR_getrusage, -1, &ru); say("children %d inblock %l swap %l idrss %l sig %l\n", ru.ru_minflt > 0, ru.ru_inblock, ru.ru_nswap, ru.ru_idrss, ru.ru_nsignals);
	/* orphans: a subreaper, a session leader's end */
	{ int p[2]; T(__NR_pipe2, p, 0); T(__NR_prctl, 36, 1); pid = fork(); if (!pid) { if (!fork()) { nap(20); int par = sys(__NR_getppid); sys(__NR_write, p[1], &par, 4); leave(9); } leave(0); } st = 0; sys(__NR_wait4, pid, &st, 0, 0); int par = 0; sys(__NR_read, p[0], &par, 4); say("reaper %d\n", par == sys(__NR_getpid)); st = 0; say("orphan %d", sys(__NR_wait4, -1, &st, 0, 0) > 0); say(" %x\n", (long)st); T(__NR_prctl, 37, &st); say("%d\n", st); }
	/* a stopped orphaned group gets SIGHUP and SIGCONT */
	{ int p[2]; sys(__NR_prctl, 36, 0); sys(__NR_pipe2, p, 0); pid = fork(); if (!pid) { sys(__NR_setpgid, 0, 0); long c = fork(); if (!c) { on_signal(1, (void *)1, 0); sys(__NR_kill, sys(__NR_getpid), 19); sys(__NR_write, p[1], "c", 1); leave(8); } nap(20); leave(0); } nap(400); char b = 0; T(__NR_fcntl, p[0], F_SETFL, O_NONBLOCK); T(__NR_read, p[0], &b, 1); wait_for(pid); }
	/* threads wait for children of others */
	{ pid = make(0); nap(5); start_thread(thread, 0, 0x10f00, stack + sizeof stack); nap(300); }
	return 0;
}
