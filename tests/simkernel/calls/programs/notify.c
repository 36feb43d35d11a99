/* seccomp's listener: every command, flag and size of it, who may have one, what interrupts it, polls, descriptors put in, filters on top. */
#include "tiny.h"
#include <linux/filter.h>
#include <linux/ioctl.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND 2
#endif
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV 32
#endif

#define RET(v) BPF_STMT(BPF_RET | BPF_K, v)
#define NR BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)
#define IF(nr, v) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), RET(v)
#define INSTALL(flags, ...) ({ struct sock_filter f[] = { __VA_ARGS__ }; struct sock_fprog p = { sizeof(f) / sizeof(*f), f }; sys(__NR_seccomp, 1, flags, &p); })
#define LISTEN 8
#define QUIET(n) ((n) == -ENOENT ? "ENOENT" : (n) == 0 ? "0" : "?")

static long listen_on(int nr, int flags) { return INSTALL(LISTEN | flags, NR, IF(nr, SECCOMP_RET_USER_NOTIF), RET(SECCOMP_RET_ALLOW)); }
static int handled;
static void handler(int sig, void *info, void *context) { handled++; }
static unsigned long long last;
static struct seccomp_notif req;
static long receive(long fd) { memset(&req, 0, sizeof(req)); long n = sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_RECV, &req); last = req.id; return n; }
static long answer(long fd, unsigned long long id, long long val, int error, unsigned flags)
{
	struct seccomp_notif_resp r = { id, val, error, flags };
	return sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_SEND, &r);
}
static long add(long fd, unsigned long long id, unsigned flags, unsigned src, unsigned new, unsigned newflags)
{
	struct seccomp_notif_addfd a = { id, flags, src, new, newflags };
	return sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, &a);
}
static long valid(long fd, unsigned long long id) { return sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id); }
static long child(void (*fn)(long), long fd)
{
	long pid = fork();
	if (!pid) {
		fn(fd);
		leave(0);
	}
	return pid;
}
static void ended(const char *what, long pid)
{
	int status = wait_for(pid);
	say("%s: %s %d\n", what, status & 0x7f ? "signal" : "exit", status & 0x7f ? status & 0x7f : status >> 8);
}

static void flags(void)
{
	static const unsigned sets[] = { 8, 9, 8 | 16, 9 | 16, 8 | 2, 8 | 4, 8 | 32, 32, 16, 17, 2, 4, 2 | 4, 64, 8 | 64, 128 };
	for (unsigned i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		long pid = fork();
		if (!pid) {
			long fd = INSTALL(sets[i], RET(SECCOMP_RET_ALLOW));
			say("flags %d: %s\n", (int)sets[i], fd >= 3 ? "a descriptor" : fd == 0 ? "0" : error_name(-fd));
			leave(0);
		}
		wait_for(pid);
	}
	struct sock_fprog none = { 0, 0 };
	say("get sizes flags %r action flags %r strict arg %r\n", sys(__NR_seccomp, 3, 1, &none), sys(__NR_seccomp, 2, 1, &none), sys(__NR_seccomp, 0, 0, &none));
	say("sizes to nowhere %r action nowhere %r\n", sys(__NR_seccomp, 3, 0, 8), sys(__NR_seccomp, 2, 0, 8));
	static const unsigned actions[] = { 0, 0x80000000, 0x30000, 0x50000, 0x7fc00000, 0x7ff00000, 0x7ffc0000, 0x7fff0000, 0x50001, 0x7fff0001, 0x10000, 0xffffffff };
	for (unsigned i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		say("action %x: %r\n", (long)actions[i], sys(__NR_seccomp, 2, 0, &actions[i]));
}

static void answers(long unused)
{
	long fd = listen_on(__NR_getppid, 0), second;
	say("descriptor %r cloexec %r getfl %r\n", fd, sys(__NR_fcntl, fd, F_GETFD), sys(__NR_fcntl, fd, F_GETFL));
	char text[64], path[] = "/proc/self/fd/0";
	path[14] = '0' + fd;
	long n = sys(__NR_readlinkat, AT_FDCWD, path, text, 63);
	text[n < 0 ? 0 : n] = 0;
	say("link %s\n", text);
	second = listen_on(__NR_getuid, 0);
	say("second %r\n", second);
	say("polled %d read %r write %r seek %r\n", polled(fd, POLLIN | POLLOUT), sys(__NR_read, fd, text, 8), sys(__NR_write, fd, text, 8), sys(__NR_lseek, fd, 0, 1));
	static const long values[][3] = { { 7, 0, 0 }, { 0, -EPERM, 0 }, { 5, -ENOENT, 0 }, { -3, 0, 0 }, { 0, 4095, 0 }, { 0, -4096, 0 }, { 0, 17, 0 }, { 0, 0, 1 } };
	for (unsigned i = 0; i < 8; i++) {
		long pid = fork();
		if (!pid) {
			long got = sys(__NR_getppid, 11, 22, 33, 44, 55, 66);
			nap(30);
			say("  caller %s %l\n", i == 7 ? got > 1 ? "parent" : "?" : "got", i == 7 ? 0 : got);
			leave(0);
		}
		long r = receive(fd);
		say("recv %r pid %s flags %d nr %s arch %s", r, req.pid == (unsigned)pid ? "same" : "other", req.flags, req.data.nr == __NR_getppid ? "same" : "other", req.data.arch ? "set" : "0");
		say(" args %L %L %L %L %L %L ip %s\n", req.data.args[0], req.data.args[1], req.data.args[2], req.data.args[3], req.data.args[4], req.data.args[5], req.data.instruction_pointer ? "set" : "0");
		say(" valid %r", valid(fd, last));
		say(" other %r polled %d\n", valid(fd, last + 5), polled(fd, POLLIN | POLLOUT));
		say(" bad flags %r bad id %r continue with value %r with error %r\n", answer(fd, last, 0, 0, 2), answer(fd, last + 9, 0, 0, 0), answer(fd, last, 1, 0, 1), answer(fd, last, 0, -1, 1));
		say(" send %r\n", answer(fd, last, values[i][0], values[i][1], values[i][2]));
		wait_for(pid);
		say(" again %r valid %r\n", answer(fd, last, 0, 0, 0), valid(fd, last));
	}
	say("dirty request ");
	memset(&req, 1, sizeof(req));
	say("%r nowhere %r\n", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_RECV, &req), sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_RECV, 8));
	say("send nowhere %r valid nowhere %r add nowhere %r\n", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_SEND, 8), sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ID_VALID, 8), sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, 8));
	say("unknown %r old direction %r tcgets %r fionread %r\n", sys(__NR_ioctl, fd, _IO('!', 9), 0), sys(__NR_ioctl, fd, _IOR('!', 2, __u64), &last), sys(__NR_ioctl, fd, 0x5401, text), sys(__NR_ioctl, fd, 0x541b, text));
	for (int size = 20; size <= 40; size += 4) {
		static char big[8192];
		say("addfd of %d: %r\n", size, sys(__NR_ioctl, fd, _IOC(_IOC_WRITE, '!', 3, size), big));
	}
	static char big[8192];
	big[30] = 1;
	say("addfd dirty tail %r", sys(__NR_ioctl, fd, _IOC(_IOC_WRITE, '!', 3, 32), big));
	say(" of a page %r more %r\n", sys(__NR_ioctl, fd, _IOC(_IOC_WRITE, '!', 3, 4096), big), sys(__NR_ioctl, fd, _IOC(_IOC_WRITE, '!', 3, 8192), big));
}

static void open_caller(long fd)
{
	long got = sys(__NR_getppid);
	nap(30);
	say("  caller got %r", got);
	if (got >= 0)
		say(" cloexec %r getfl %x", sys(__NR_fcntl, got, F_GETFD), sys(__NR_fcntl, got, F_GETFL) & 3);
	say("\n");
}
static void descriptors(long unused)
{
	long fd = listen_on(__NR_getppid, 0), file = sys(__NR_openat, AT_FDCWD, "/proc/self/status", O_RDONLY, 0), pid, n;
	say("before any %r\n", add(fd, 1, 0, file, 0, 0));
	pid = child(open_caller, fd);
	say("not received %r", add(fd, 0, 0, file, 0, 0));
	receive(fd);
	say(" flags %r newfd_flags %r newfd without flag %r bad source %r bad id %r\n", add(fd, last, 4, file, 0, 0), add(fd, last, 0, file, 0, 1), add(fd, last, 0, file, 9, 0), add(fd, last, 0, 99, 0, 0), add(fd, last + 3, 0, file, 0, 0));
	say("plain %r", add(fd, last, 0, file, 0, 0));
	say(" cloexec %r", add(fd, last, 0, file, 0, O_CLOEXEC));
	say(" at 20 %r", add(fd, last, 1, file, 20, O_CLOEXEC));
	say(" at 20 again %r", add(fd, last, 1, file, 20, 0));
	say(" at itself %r too far %r", add(fd, last, 1, fd, fd, 0), add(fd, last, 1, file, 5000000, 0));
	say(" at 0 %r\n", add(fd, last, 1, file, 0, 0));
	say("answer %r\n", answer(fd, last, 20, 0, 0));
	ended("caller", pid);
	pid = child(open_caller, fd);
	receive(fd);
	say("send with error source %r\n", add(fd, last, 2, 99, 0, 0));
	n = add(fd, last, 2, file, 0, O_CLOEXEC);
	say("add and send %r again %r answer %r\n", n, add(fd, last, 2, file, 0, 0), answer(fd, last, 0, 0, 0));
	ended("caller", pid);
	pid = child(open_caller, fd);
	receive(fd);
	n = add(fd, last, 3, file, 33, 0);
	say("set and send %r\n", n);
	ended("caller", pid);
}

static void getppid_once(long fd)
{
	long n = sys(__NR_getppid);
	nap(20);
	say("  caller %r\n", n);
}
static void getppid_handled(long fd)
{
	on_signal(10, handler, 0);
	long n = sys(__NR_getppid);
	nap(60);
	say("  caller %r handled %d\n", n, handled);
}
static void getppid_restarted(long fd)
{
	on_signal(10, handler, 0x10000000);
	long n = sys(__NR_getppid);
	nap(60);
	say("  caller %r handled %d\n", n, handled);
}
static void interrupts(int flags)
{
	long fd = listen_on(__NR_getppid, flags), pid;
	say("flags %d\n", flags);
	pid = child(getppid_handled, fd);
	nap(30);
	say("polled %d", polled(fd, POLLIN | POLLOUT));
	sys(__NR_kill, pid, 10);
	nap(30);
	say(" after the signal %d\n", polled(fd, POLLIN | POLLOUT));
	ended("interrupted before", pid);
	say("who asks now hears of a call that is gone: %r\n", receive(fd));
	pid = child(getppid_handled, fd);
	say("recv %r\n", receive(fd));
	nap(20);
	sys(__NR_kill, pid, 10);
	nap(30);
	say("valid %r", valid(fd, last));
	say(" answer %r\n", answer(fd, last, 4, 0, 0));
	if (!flags)
		say("polled %d\n", polled(fd, POLLIN));
	ended("interrupted after", pid);
	pid = child(getppid_restarted, fd);
	receive(fd);
	unsigned long long first = last;
	sys(__NR_kill, pid, 10);
	nap(30);
	say("polled %d", polled(fd, POLLIN));
	if (!flags) {
		say(" second %r", receive(fd));
		say(" id %L further answer to first %r", last - first, answer(fd, first, 1, 0, 0));
	}
	say(" answer %r\n", answer(fd, last, 6, 0, 0));
	ended("restarted", pid);
	pid = child(getppid_once, fd);
	receive(fd);
	sys(__NR_kill, pid, 9);
	ended("killed", pid);
	say("valid %r answer %r add %r polled %d\n", valid(fd, last), answer(fd, last, 0, 0, 0), add(fd, last, 0, 0, 0, 0), polled(fd, POLLIN | POLLOUT));
	sys(__NR_close, fd);
	say("nobody listens %r\n", sys(__NR_getppid));
}
static void interrupted(long x) { interrupts(0); }
static void killable(long x) { interrupts(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV); }

static void hangup(long unused)
{
	long ready[2], fd;
	int p[2];
	sys(__NR_pipe2, p, 0);
	long pid = fork();
	if (!pid) {
		fd = listen_on(__NR_getppid, 0);
		long got = fork();
		if (!got) { /* the listener's holder, under the same filter */
			nap(60);
			say("holder: polled %d", polled(fd, POLLIN | POLLOUT));
			long n = receive(fd);
			say(" recv %r", n);
			n = answer(fd, last, 12, 0, 0);
			say(" answer %r\n", n);
			nap(90);
			say("holder: polled %d\n", polled(fd, POLLIN | POLLOUT));
			leave(0);
		}
		sys(__NR_close, fd);
		long n = sys(__NR_getppid);
		nap(40);
		say("caller %r\n", n);
		wait_for(got);
		leave(0);
	}
	wait_for(pid);
	(void)ready;
}
static void waits_forever(long fd)
{
	on_signal(14, handler, 0);
	struct { long is, iu, vs, vu; } t = { 0, 0, 0, 20000 };
	sys(__NR_setitimer, 0, &t, 0);
	long n = receive(fd);
	say("recv interrupted %r handled %d\n", n, handled);
	leave(0);
}
static void several(long unused)
{
	long fd = listen_on(__NR_getppid, 0), pids[3];
	unsigned long long ids[3];
	for (int i = 0; i < 3; i++) {
		pids[i] = child(getppid_once, fd);
		nap(10);
	}
	for (int i = 0; i < 3; i++) {
		receive(fd);
		ids[i] = last;
		say("request %d of child %d, %L after the first\n", i, req.pid == (unsigned)pids[0] ? 0 : req.pid == (unsigned)pids[1] ? 1 : 2, ids[i] - ids[0]);
	}
	say("polled %d\n", polled(fd, POLLIN | POLLOUT));
	for (int i = 2; i >= 0; i--) {
		answer(fd, ids[i], 100 + i, 0, 0);
		wait_for(pids[i]);
	}
	long pid = child(waits_forever, fd);
	wait_for(pid);
	/* another filter below and above */
	say("above: errno %r", INSTALL(0, NR, IF(__NR_getppid, SECCOMP_RET_ERRNO | 9), RET(SECCOMP_RET_ALLOW)));
	say(" %r", sys(__NR_getppid));
	say(" trace %r", INSTALL(0, NR, IF(__NR_getuid, SECCOMP_RET_TRACE | 9), RET(SECCOMP_RET_ALLOW)));
	say(" getuid %r", sys(__NR_getuid));
	say(" notify without a listener %r", INSTALL(0, NR, IF(__NR_getgid, SECCOMP_RET_USER_NOTIF), RET(SECCOMP_RET_ALLOW)));
	say(" getgid %r\n", sys(__NR_getgid));
}
static void new_tasks(long fd)
{
	on_signal(10, handler, 0);
	say("unprivileged %r", sys(__NR_setresuid, 1000, 1000, 1000));
	say(" %r", listen_on(__NR_getppid, 0));
	say(" no_new_privs %r", sys(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	fd = listen_on(__NR_getppid, 0);
	say(" %s", fd >= 0 ? "a descriptor" : error_name(-fd));
	say(" getseccomp %r set strict %r\n", sys(__NR_prctl, PR_GET_SECCOMP, 0, 0, 0, 0), sys(__NR_seccomp, 0, 0, 0));
}
static void run(const char *what, void (*fn)(long)) { say("-- %s\n", what); ended(what, child(fn, 0)); }
int main(int argc, char **argv)
{
	flags();
	run("answers", answers);
	run("descriptors", descriptors);
	run("interrupted", interrupted);
	run("killable", killable);
	run("hang up", hangup);
	run("several", several);
	run("rights", new_tasks);
	return 0;
}
