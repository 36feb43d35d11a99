/* signalfd, descriptors of processes, clone3, kcmp, process_vm_readv. */
#include "tiny.h"
#include <linux/sched.h>
#include <linux/signalfd.h>
#include <linux/uio.h>

static int kill_with_value(long pid, int sig, int value)
{
	union { char raw[128]; int words[32]; } info = { { 0 } };
	info.words[0] = sig;
	info.words[2] = -1;
	info.words[sizeof(long) == 8 ? 4 : 3] = sys(__NR_getpid);
	*(void **)(info.raw + (sizeof(long) == 8 ? 24 : 20)) = (void *)(long)value;
	return sys(__NR_rt_sigqueueinfo, pid, sig, &info);
}

static short ready(long fd)
{
	struct pollfd p = { fd, POLLIN, 0 };
	struct __kernel_old_timespec zero = { 0, 0 };
#ifdef __NR_poll
	sys(__NR_poll, &p, 1, 0);
#else
	sys(__NR_ppoll, &p, 1, &zero, 0, 8);
#endif
	(void)zero;
	return p.revents;
}

static void signal_descriptors(void)
{
	unsigned long mask[2] = { 1UL << 9 | 1UL << 11, 0 };
	struct signalfd_siginfo info[2];
	block_signals(0, SIGBIT(10) | SIGBIT(12));
	long fd = sys(__NR_signalfd4, -1, mask, 8, 02000 | O_NONBLOCK);
	if (fd < 0)
		fd = sys(__NR_signalfd4, -1, mask, 8, O_NONBLOCK);
	say("empty %r\n", sys(__NR_read, fd, info, sizeof(info)));
	say("small %r\n", sys(__NR_read, fd, info, 100));
	say("ready %d\n", ready(fd));
	sys(__NR_kill, sys(__NR_getpid), 12);
	kill_with_value(sys(__NR_getpid), 10, 77);
	say("ready %d\n", ready(fd));
	say("both %r\n", sys(__NR_read, fd, info, sizeof(info)));
	say("first %d code %d mine %d int %d\n", info[0].ssi_signo, info[0].ssi_code, info[0].ssi_pid == sys(__NR_getpid), info[0].ssi_int);
	say("second %d code %d\n", info[1].ssi_signo, info[1].ssi_code);
	say("size %r\n", sys(__NR_signalfd4, -1, mask, 4, 0));
	say("flags %r\n", sys(__NR_signalfd4, -1, mask, 8, 1));
	say("not one %r\n", sys(__NR_signalfd4, 0, mask, 8, 0));
	say("closed %r\n", sys(__NR_signalfd4, 99, mask, 8, 0));
	mask[0] = 0;
	say("other mask %d\n", sys(__NR_signalfd4, fd, mask, 8, 0) == fd);
	sys(__NR_kill, sys(__NR_getpid), 12);
	say("not taken %r\n", sys(__NR_read, fd, info, sizeof(info)));
	sys(__NR_close, fd);
	mask[0] = 1UL << 11;
	fd = sys(__NR_signalfd4, -1, mask, 8, 0);
	say("taken %r\n", sys(__NR_read, fd, info, sizeof(info)));
	long pid = fork();
	if (!pid) {
		nap(30);
		sys(__NR_kill, sys(__NR_getppid), 12);
		leave(0);
	}
	say("waited %r", sys(__NR_read, fd, info, sizeof(info)));
	say(" by child %d\n", info[0].ssi_pid == pid);
	wait_for(pid);
}

static void process_descriptors(void)
{
	long pid = fork();
	if (!pid) {
		nap(2000);
		leave(3);
	}
	long fd = sys(__NR_pidfd_open, pid, 0);
	say("open %d flags %r\n", fd > 2, sys(__NR_pidfd_open, pid, 1));
	say("nobody %r\n", sys(__NR_pidfd_open, 99999, 0));
	say("zero %r\n", sys(__NR_pidfd_open, 0, 0));
	say("cloexec %r\n", sys(__NR_fcntl, fd, 1, 0));
	say("ready %d\n", ready(fd));
	say("signal 0 %r\n", sys(__NR_pidfd_send_signal, fd, 0, 0, 0));
	say("flags %r\n", sys(__NR_pidfd_send_signal, fd, 0, 0, 1));
	say("not one %r\n", sys(__NR_pidfd_send_signal, 1, 0, 0, 0));
	say("bad signal %r\n", sys(__NR_pidfd_send_signal, fd, 99, 0, 0));
	long copy = sys(__NR_pidfd_getfd, fd, 1, 0);
	say("getfd %d\n", copy > 2);
	say("same file %r\n", sys(__NR_kcmp, sys(__NR_getpid), sys(__NR_getpid), 0, copy, 1));
	say("getfd closed %r\n", sys(__NR_pidfd_getfd, fd, 99, 0));
	say("terminate %r\n", sys(__NR_pidfd_send_signal, fd, 15, 0, 0));
	int info[32] = { 0 };
	say("waitid %r", sys(__NR_waitid, 3, fd, info, 4, 0));
	say(" signo %d code %d status %d\n", info[0], info[2], info[sizeof(long) == 8 ? 6 : 5]);
	say("again %r\n", sys(__NR_waitid, 3, fd, info, 4, 0));
	say("ready %d\n", ready(fd));
	say("gone %r\n", sys(__NR_pidfd_send_signal, fd, 0, 0, 0));
	say("not a pidfd %r\n", sys(__NR_waitid, 3, 1, info, 4, 0));
}

static void clones(void)
{
	int fd = -1, status;
	struct clone_args a;
	memset(&a, 0, sizeof(a));
	a.flags = CLONE_PIDFD;
	a.pidfd = (ulong)&fd;
	a.exit_signal = 17;
	long pid = sys(__NR_clone3, &a, sizeof(a));
	if (!pid)
		leave(5);
	say("clone3 %d pidfd %d\n", pid > 0, fd > 2);
	status = wait_for(pid);
	say("status %x\n", (long)status);
	a.exit_signal = 65;
	say("signal 65 %r\n", sys(__NR_clone3, &a, sizeof(a)));
	a.exit_signal = 17, a.flags = 1ULL << 40;
	say("unknown flag %r\n", sys(__NR_clone3, &a, sizeof(a)));
	a.flags = CLONE_CLEAR_SIGHAND | CLONE_SIGHAND | CLONE_VM;
	say("clear and share %r\n", sys(__NR_clone3, &a, sizeof(a)));
	a.flags = CLONE_PIDFD | CLONE_DETACHED;
	say("detached %r\n", sys(__NR_clone3, &a, sizeof(a)));
	a.flags = 0;
	say("small %r\n", sys(__NR_clone3, &a, 40));
	say("large %r\n", sys(__NR_clone3, &a, 5000));
	a.stack = 4096;
	say("stack without size %r\n", sys(__NR_clone3, &a, sizeof(a)));
	a.stack = 0;
	int wanted = 4242;
	a.set_tid = (ulong)&wanted, a.set_tid_size = 1;
	pid = sys(__NR_clone3, &a, sizeof(a));
	if (!pid)
		leave(0);
	say("set_tid %r\n", pid);
	wait_for(pid);
	wanted = 1;
	say("taken %r\n", sys(__NR_clone3, &a, sizeof(a)));
	wanted = -1;
	say("negative %r\n", sys(__NR_clone3, &a, sizeof(a)));
	a.set_tid_size = 40;
	say("too deep %r\n", sys(__NR_clone3, &a, sizeof(a)));
	a.set_tid = 0, a.set_tid_size = 0, a.flags = CLONE_CLEAR_SIGHAND;
	on_signal(10, (void *)1, 0);
	pid = sys(__NR_clone3, &a, sizeof(a));
	if (!pid)
		leave(0);
	say("clear %x\n", (long)wait_for(pid));
}

static void others(void)
{
	static char text[16] = "hello from here";
	char mine[32] = { 0 };
	long pid = fork();
	if (!pid) {
		memcpy(text, "child", 5);
		nap(300);
		leave(text[0]);
	}
	nap(50);
	struct iovec to = { mine, 15 }, from = { text, 15 };
	say("read %r", sys(__NR_process_vm_readv, pid, &to, 1, &from, 1, 0));
	say(" '%s'\n", mine);
	memcpy(mine, "X", 1);
	to.iov_len = from.iov_len = 1;
	say("write %r\n", sys(__NR_process_vm_writev, pid, &to, 1, &from, 1, 0));
	from.iov_base = (void *)16;
	say("bad address %r\n", sys(__NR_process_vm_readv, pid, &to, 1, &from, 1, 0));
	say("flags %r\n", sys(__NR_process_vm_readv, pid, &to, 1, &from, 1, 1));
	say("nobody %r\n", sys(__NR_process_vm_readv, 99999, &to, 1, &from, 1, 0));
	say("too many %r\n", sys(__NR_process_vm_readv, pid, &to, 2000, &from, 1, 0));
	long me = sys(__NR_getpid);
	say("vm %d files %d\n", sys(__NR_kcmp, me, pid, 1, 0, 0) != 0, sys(__NR_kcmp, me, pid, 2, 0, 0) != 0);
	say("self %r file %r\n", sys(__NR_kcmp, me, me, 1, 0, 0), sys(__NR_kcmp, me, pid, 0, 1, 1));
	say("type %r nobody %r closed %r\n", sys(__NR_kcmp, me, me, 99, 0, 0), sys(__NR_kcmp, me, 99999, 0, 0, 0), sys(__NR_kcmp, me, me, 0, 1, 99));
	say("status %x\n", (long)wait_for(pid));
}

int main(int argc, char **argv)
{
	signal_descriptors();
	process_descriptors();
	clones();
	others();
	return 0;
}
