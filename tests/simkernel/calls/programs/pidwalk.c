/* Descriptors of processes: every flag, who may do what, waiting, signals, other processes' files, what /proc says. */
#include "tiny.h"
#ifndef __NR_setresuid32
#define __NR_setresuid32 __NR_setresuid
#endif
#define P_PIDFD 3
static long sign(long v) { return v < 0 ? v : 0; }
static char text[8192];
struct info { int signo, err, code, pad, pid, uid, status, rest[25]; };
static void fdinfo(const char *what, long fd)
{
	char name[40] = "/proc/self/fdinfo/";
	int n = 18;
	if (fd > 9) name[n++] = '0' + fd / 10;
	name[n++] = '0' + fd % 10, name[n] = 0;
	long got = slurp(name, text, sizeof(text));
	say("%s %r:", what, got < 0 ? got : 0L);
	int line = 0;
	for (char *p = text; got > 0 && *p; line++) {
		char *e = p;
		while (*e && *e != '\n') e++;
		*e = 0;
		int hide = !memcmp(p, "ino:", 4) || !memcmp(p, "mnt_id:", 7);
		if (!memcmp(p, "Pid:", 4) || !memcmp(p, "NSpid:", 6)) { /* numbers by sign */
			char *q = p;
			while (*q && *q != '\t') q++;
			char *v = q;
			*q++ = 0;
			say(" [%s %s]", p, *q == '-' ? q : *q == '0' ? "0" : "N"), (void)v;
		} else if (!hide)
			say(" [%s]", p);
		p = e + 1;
	}
	say("\n");
}
static int sleeper(void *arg) { nap(2000); return 0; }
int main(int argc, char **argv)
{
	long me = sys(__NR_getpid), child, fd;
	static const long pids[] = { 0, -1, 1, 999999, 0x7fffffff, -0x7fffffffL - 1 };
	for (int i = 0; i < 6; i++) say("open %l: %r flags 1 %r nonblock %r\n", pids[i], sign(sys(__NR_pidfd_open, pids[i], 0)), sys(__NR_pidfd_open, pids[i], 1), sign(sys(__NR_pidfd_open, pids[i], O_NONBLOCK)));
	for (int b = 0; b < 32; b++) {
		fd = sys(__NR_pidfd_open, me, 1L << b);
		if (fd != -EINVAL) say("flag %x: %r fl %x fd %r\n", 1L << b, sign(fd), sys(__NR_fcntl, fd, 3, 0), sys(__NR_fcntl, fd, 1, 0)), sys(__NR_close, fd);
	}
	for (int k = 3; k < 30; k++) sys(__NR_close, k);
	fd = sys(__NR_pidfd_open, me, 0);
	long l = sys(__NR_readlinkat, AT_FDCWD, "/proc/self/fd/3", text, 100);
	text[l > 0 ? l : 0] = 0;
	say("it is %s; fl %x cloexec %r read %r write %r lseek %r ioctl %r mmap %d poll %x\n", text, sys(__NR_fcntl, fd, 3, 0) & ~0x8000L, sys(__NR_fcntl, fd, 1, 0), sys(__NR_read, fd, text, 1), sys(__NR_write, fd, "x", 1), sys(__NR_lseek, fd, 0, 0), sys(__NR_ioctl, fd, 0x5401, text), bad(map(0, 4096, 1, 2, fd, 0)), (long)polled((int)fd, 0xffff));
	fdinfo("fdinfo of mine", fd);
	sys(__NR_setsid);
	/* signals */
	struct info si;
	memset(&si, 0, sizeof(si));
	for (int s = -1; s < 67; s += s == 0 ? 9 : s == 9 || s == 63 ? 1 : s < 0 ? 1 : s == 10 ? 53 : 1)
		if (s != 9 && s != 64) say("signal %d to oneself: %r\n", s, s > 0 && s < 64 ? 7L : sys(__NR_pidfd_send_signal, fd, s, 0, 0));
	say("flags %r %r fd -1 %r stdout %r info bad %r", sys(__NR_pidfd_send_signal, fd, 0, 0, 1), sys(__NR_pidfd_send_signal, fd, 0, 0, 2), sys(__NR_pidfd_send_signal, -1, 0, 0, 0), sys(__NR_pidfd_send_signal, 1, 0, 0, 0), sys(__NR_pidfd_send_signal, fd, 0, 8, 0));
	si.signo = 10;
	say(" info of another signal %r", sys(__NR_pidfd_send_signal, fd, 0, &si, 0));
	static const int codes[] = { 0, -1, -2, -3, -6, 1, 0x80, -60 };
	block_signals(0, SIGBIT(10));
	for (int i = 0; i < 8; i++) {
		si.signo = 10, si.code = codes[i];
		say(" code %d %r", codes[i], sys(__NR_pidfd_send_signal, fd, 10, &si, 0));
	}
	child = fork();
	if (!child) { nap(20000); leave(0); }
	long cfd = sys(__NR_pidfd_open, child, 0);
	say("\nto a child:");
	for (int i = 0; i < 8; i++) si.signo = 28, si.code = codes[i], say(" code %d %r", codes[i], sys(__NR_pidfd_send_signal, cfd, 28, &si, 0));
	long proc = sys(__NR_openat, AT_FDCWD, "/proc/self", O_RDONLY | O_DIRECTORY, 0);
	say("\nthrough /proc %r a file there %r\n", sys(__NR_pidfd_send_signal, proc, 0, 0, 0), sys(__NR_pidfd_send_signal, sys(__NR_openat, AT_FDCWD, "/proc/self/status", 0, 0), 0, 0, 0));
	/* files of another */
	long got = sys(__NR_pidfd_getfd, cfd, 1, 0);
	say("getfd %r cloexec %r same %r", sign(got), sys(__NR_fcntl, got, 1, 0), sys(__NR_kcmp, me, me, 0, got, 1));
	say(" flags %r none %r -1 %r pidfd -1 %r stdout %r of oneself %r\n", sys(__NR_pidfd_getfd, cfd, 1, 1), sys(__NR_pidfd_getfd, cfd, 900, 0), sys(__NR_pidfd_getfd, cfd, -1, 0), sys(__NR_pidfd_getfd, -1, 1, 0), sys(__NR_pidfd_getfd, 1, 1, 0), sign(sys(__NR_pidfd_getfd, fd, 1, 0)));
	/* waiting */
	static const int options[] = { 0, 1, 2, 4, 8, 0x1000000, 4 | 1, 4 | 0x1000001, 4 | 0x20000000, 4 | 0x40000001, 4 | 0x80000001, 0x10 };
	for (int i = 0; i < 12; i++) {
		if (options[i] == 4 || options[i] == (4 | 0x20000000) || options[i] == 2 || options[i] == 8 || options[i] == 0x1000000) { say("waitid options %x nohang: %r\n", (long)options[i], sys(__NR_waitid, P_PIDFD, cfd, &si, options[i] | 1, 0)); continue; }
		memset(&si, 0x55, sizeof(si));
		say("waitid options %x: %r pid %d\n", (long)options[i], sys(__NR_waitid, P_PIDFD, cfd, &si, options[i], 0), si.pid == 0x55555555 ? -1 : si.pid);
	}
	say("waitid fd -1 %r stdout %r self %r type 4 %r\n", sys(__NR_waitid, P_PIDFD, -1, &si, 5, 0), sys(__NR_waitid, P_PIDFD, 1, &si, 5, 0), sys(__NR_waitid, P_PIDFD, fd, &si, 5, 0), sys(__NR_waitid, 4, cfd, &si, 5, 0));
	sys(__NR_fcntl, cfd, 4, O_NONBLOCK);
	memset(&si, 0x55, sizeof(si));
	say("nonblocking: %r", sys(__NR_waitid, P_PIDFD, cfd, &si, 4, 0));
	say(" nohang %r pid %d\n", sys(__NR_waitid, P_PIDFD, cfd, &si, 5, 0), si.pid);
	say("stop %r", sys(__NR_pidfd_send_signal, cfd, 19, 0, 0));
	nap(50);
	memset(&si, 0, sizeof(si));
	say(" stopped %r code %d status %d pid %d", sys(__NR_waitid, P_PIDFD, cfd, &si, 3, 0), si.code, si.status, si.pid == child);
	say(" poll %x", (long)polled((int)cfd, 0xffff));
	say(" continue %r", sys(__NR_pidfd_send_signal, cfd, 18, 0, 0));
	nap(50);
	memset(&si, 0, sizeof(si));
	say(" continued %r code %d status %d\n", sys(__NR_waitid, P_PIDFD, cfd, &si, 9, 0), si.code, si.status);
	/* a stranger's */
	long pid = fork();
	if (!pid) {
		sys(__NR_setresuid32, 1000, 1000, 1000);
		say("user: open root's %r signal %r signal 0 %r getfd %r wait %r\n", sign(sys(__NR_pidfd_open, child, 0)), sys(__NR_pidfd_send_signal, cfd, 15, 0, 0), sys(__NR_pidfd_send_signal, cfd, 0, 0, 0), sys(__NR_pidfd_getfd, cfd, 1, 0), sys(__NR_waitid, P_PIDFD, cfd, &si, 5, 0));
		leave(0);
	}
	wait_for(pid);
	say("kill %r", sys(__NR_pidfd_send_signal, cfd, 9, 0, 0));
	nap(100);
	say(" zombie: poll %x signal %r getfd %r open again %r", (long)polled((int)cfd, 0xffff), sys(__NR_pidfd_send_signal, cfd, 0, 0, 0), sys(__NR_pidfd_getfd, cfd, 1, 0), sign(sys(__NR_pidfd_open, child, 0)));
	memset(&si, 0, sizeof(si));
	say(" look %r code %d status %d", sys(__NR_waitid, P_PIDFD, cfd, &si, 4 | 0x1000000, 0), si.code, si.status);
	memset(&si, 0, sizeof(si));
	say(" take %r signo %d code %d status %d uid %d", sys(__NR_waitid, P_PIDFD, cfd, &si, 4, 0), si.signo, si.code, si.status, si.uid);
	say(" again %r signal %r getfd %r open %r poll %x\n", sys(__NR_waitid, P_PIDFD, cfd, &si, 4, 0), sys(__NR_pidfd_send_signal, cfd, 0, 0, 0), sys(__NR_pidfd_getfd, cfd, 1, 0), sys(__NR_pidfd_open, child, 0), (long)polled((int)cfd, 0xffff));
	fdinfo("fdinfo of the dead", cfd);
	/* threads */
	static char stack[16384];
	long tid = start_thread(sleeper, 0, 0x10f00, stack + 16000);
	say("a thread %r nonblock %r\n", sign(sys(__NR_pidfd_open, tid, 0)), sys(__NR_pidfd_open, tid, O_NONBLOCK));
	/* clone's */
	struct { unsigned long long flags, pidfd, ctid, ptid, signal, stack, size, tls, set_tid, tid_size, cgroup; } ca;
	static const unsigned long long how[] = { 0x1000, 0x1000 | 0x10000, 0x1000 | 0x400000, 0x1000 | 0x100000 };
	for (int i = 0; i < 4; i++) {
		int out = -7;
		memset(&ca, 0, sizeof(ca));
		ca.flags = how[i], ca.pidfd = (ulong)&out, ca.signal = 17;
		if (i == 1) ca.flags |= 0x900, ca.signal = 0;
		if (i == 3) ca.ptid = (ulong)&out;
		pid = sys(__NR_clone3, &ca, 88);
		if (!pid) leave(3);
		say("clone3 %x: %r fd %d", (long)how[i], sign(pid), out == -7 ? -7 : out > 2);
		if (pid > 0) {
			nap(30);
			say(" cloexec %r poll %x", sys(__NR_fcntl, out, 1, 0), (long)polled(out, 0xffff));
			memset(&si, 0, sizeof(si));
			say(" wait %r status %d", sys(__NR_waitid, P_PIDFD, out, &si, 4, 0), si.status);
		}
		say("\n");
	}
	memset(&ca, 0, sizeof(ca));
	ca.flags = 0x1000, ca.pidfd = 8, ca.signal = 17;
	say("bad place %r\n", sign(sys(__NR_clone3, &ca, 88)));
	memset(text, 0, 64);
	say("madvise: pidfd -1 %r flags %r advice %r of oneself %r\n", sys(__NR_process_madvise, -1, text, 1, 4, 0), sys(__NR_process_madvise, fd, text, 0, 20, 1), sys(__NR_process_madvise, fd, text, 0, 4, 0), sys(__NR_process_madvise, fd, text, 0, 20, 0));
	say("mrelease %r flags %r -1 %r\n", sys(__NR_process_mrelease, fd, 0), sys(__NR_process_mrelease, fd, 1), sys(__NR_process_mrelease, -1, 0));
	static const long spaces[] = { 0, 0x20000, 0x4000000, 0x20000000, 0x40000000, 0x10000000, 0x80, 0x02000000, 0x26000000, 0x100 };
	for (int i = 0; i < 10; i++) say("setns %x: %r\n", spaces[i], sys(__NR_setns, fd, spaces[i]));
	return 0;
}
