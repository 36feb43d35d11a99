/* What a public test suite found: clones that fail late, polls of generated files, mincore of files, vmsplice, and others. not: s390x i386 (their clones and mmaps take other arguments) */
#include "tiny.h"
#include <linux/sched.h>
#include <linux/stat.h>
#include <linux/uio.h>
#include <linux/inotify.h>
#include <asm/signal.h>
#include <asm/siginfo.h>

static char buf[300000] __attribute__((aligned(4096)));
static volatile int heard[8], last_fd;
static void dnotified(int sig, void *info, void *context) { last_fd = ((siginfo_t *)info)->si_fd; heard[last_fd & 7]++; }

static void clones(void)
{
	struct clone_args a;
	int fd;

	for (int i = 0; i < 2; i++) {
		memset(&a, 0, sizeof(a));
		a.flags = CLONE_PIDFD;
		a.pidfd = 8;
		a.exit_signal = SIGCHLD;
		say("clone3 with a bad place for its pidfd: %r\n", sys(__NR_clone3, &a, sizeof(a)));
	}
	say("nobody to wait for: %r\n", sys(__NR_wait4, -1, 0, 1, 0));
	fd = sys(__NR_dup, 1);
	say("next descriptor %d\n", fd);
	sys(__NR_close, fd);
	sys(__NR_dup2, 1, 513);
	spit("/proc/sys/fs/nr_open", "512");
	a = (struct clone_args){ .flags = CLONE_FILES, .exit_signal = SIGCHLD };
	long pid = sys(__NR_clone3, &a, sizeof(a));
	if (!pid) {
		say("unshare of too many: %r, fork: %r\n", sys(__NR_unshare, CLONE_FILES), fork());
		leave(0);
	}
	wait_for(pid);
	say("dup2 beyond: %r, dup from 512: %r\n", sys(__NR_dup2, 1, 2000), sys(__NR_fcntl, 1, 0, 700));
	spit("/proc/sys/fs/nr_open", "1048576");
	sys(__NR_close, 513);
}

static void polls(void)
{
	static const char *const paths[] = {
		"/proc/self/maps", "/proc/self/status", "/proc/self/mounts", "/proc/self/mountinfo", "/proc/self/mountstats", "/proc/self/attr/current",
		"/proc/self/fdinfo/0", "/proc/mounts", "/proc/meminfo", "/proc/swaps", "/proc/sys/kernel/hostname", "/sys/kernel/uevent_seqnum", "/sys/class/net/lo/mtu",
		"/sys/fs/cgroup/cgroup.procs", "/dev/random", "/dev/urandom", "/dev/null",
	};

	for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		long fd = sys(__NR_openat, AT_FDCWD, paths[i], O_RDONLY, 0), e = sys(__NR_epoll_create1, 0);
		struct { unsigned events; unsigned long long data; } __attribute__((packed)) ev = { POLLIN, 0 };
		long r = sys(__NR_epoll_ctl, e, 1, fd, &ev), first = polled(fd, 0xffff);
		sys(__NR_read, fd, buf, 10);
		say("%s: epoll %r, poll %x, when read %x\n", paths[i], r, first, (long)polled(fd, 0xffff));
		sys(__NR_close, fd);
		sys(__NR_close, e);
	}
	long fd = sys(__NR_openat, AT_FDCWD, "/proc/self/mounts", O_RDONLY, 0);
	sys(__NR_mkdir, "/tmp/m", 0755);
	say("before %x", (long)polled(fd, 0xffff));
	say(" mount %r", sys(__NR_mount, "t", "/tmp/m", "tmpfs", 0, 0));
	say(" told %x", (long)polled(fd, 0xffff));
	say(" once %x", (long)polled(fd, 0xffff));
	sys(__NR_mount, 0, "/tmp/m", 0, 0x1020, 0);
	say(" remounted %x", (long)polled(fd, 0xffff));
	say(" umount %r", sys(__NR_umount2, "/tmp/m", 0));
	say(" told %x\n", (long)polled(fd, 0xffff));
	if (!fork()) {
		nap(20);
		sys(__NR_mount, "t", "/tmp/m", "tmpfs", 0, 0);
		leave(0);
	}
	struct pollfd p = { fd, POLLPRI };
	struct __kernel_timespec end = { 2, 0 };
	long r = sys(__NR_ppoll, &p, 1, &end, 0, 0);
	say("waited: %r %x\n", r, (long)p.revents);
	wait_for(-1);
	sys(__NR_umount2, "/tmp/m", 0);
}

static void memory(void)
{
	long fd = sys(__NR_openat, AT_FDCWD, "/tmp/f", O_RDWR | O_CREAT, 0600);
	unsigned char vec[4] = { 9, 9, 9, 9 };
	char *p, *shared;

	sys(__NR_ftruncate, fd, 16384);
	p = map(0, 16384, 3, 2, fd, 0);
	shared = map(0, 16384, 3, 0x21, -1, 0);
	sys(__NR_mincore, p, 16384, vec);
	say("of a file: %d%d%d%d", vec[0] & 1, vec[1] & 1, vec[2] & 1, vec[3] & 1);
	sys(__NR_mincore, shared, 16384, vec);
	say(" shared: %d%d%d%d\n", vec[0] & 1, vec[1] & 1, vec[2] & 1, vec[3] & 1);
	if (!fork()) {
		sys(__NR_pread64, fd, buf, 1, 4096);
		sys(__NR_pwrite64, fd, buf, 1, 8192);
		shared[4096] = 1;
		leave(0);
	}
	wait_for(-1);
	sys(__NR_mincore, p, 16384, vec);
	say("after a child: %d%d%d%d", vec[0] & 1, vec[1] & 1, vec[2] & 1, vec[3] & 1);
	sys(__NR_mincore, shared, 16384, vec);
	say(" shared: %d%d%d%d\n", vec[0] & 1, vec[1] & 1, vec[2] & 1, vec[3] & 1);
	int pipes[2];
	sys(__NR_pipe2, pipes, 0);
	struct iovec v = { buf, 131072 };
	say("vmsplice %r", sys(__NR_vmsplice, pipes[1], &v, 1, 0));
	say(" again, not waiting %r", sys(__NR_vmsplice, pipes[1], &v, 1, 2));
	say(" out %r\n", sys(__NR_vmsplice, pipes[0], &v, 1, 0));
}

static void told(void)
{
	long i = sys(__NR_inotify_init1, 0);
	char text[400], *at;

	sys(__NR_inotify_add_watch, i, "/tmp", IN_MODIFY | IN_ONESHOT);
	sys(__NR_inotify_add_watch, i, "/proc", IN_MODIFY | IN_EXCL_UNLINK);
	at = "/proc/self/fdinfo/00";
	memcpy(buf, at, 21);
	buf[18] = '0' + i, buf[19] = 0;
	slurp(buf, text, sizeof(text));
	for (at = text; *at; at++)
		if (!memcmp(at, "mask:", 5)) {
			at[5 + 8] = 0;
			for (char *q = at; *q; q++)
				if (*q == ' ')
					*q = 0;
			say("%s\n", at);
			at += 13;
		}
	sys(__NR_mkdir, "/tmp/a", 0755);
	sys(__NR_mkdir, "/tmp/a/b", 0755);
	spit("/tmp/a/x", "");
	long outer = sys(__NR_openat, AT_FDCWD, "/tmp/a", O_RDONLY, 0), inner = sys(__NR_openat, AT_FDCWD, "/tmp/a/b", O_RDONLY, 0);
	on_signal(40, dnotified, 4);
	for (int k = 0; k < 2; k++) {
		long fd = k ? inner : outer;
		sys(__NR_fcntl, fd, 10, 40);
		sys(__NR_fcntl, fd, 1026, 0x80000010UL);
	}
#define RENAME(from, to) do { heard[outer & 7] = heard[inner & 7] = 0; sys(__NR_rename, from, to); say(from " to " to ": %d %d\n", heard[outer & 7], heard[inner & 7]); } while (0)
	RENAME("/tmp/a/x", "/tmp/a/b/x");
	RENAME("/tmp/a/b/x", "/tmp/a/b/y");
	RENAME("/tmp/a/b/y", "/tmp/a/y");
	RENAME("/tmp/a/y", "/tmp/a/z");
}

static void names(void)
{
	long s = sys(__NR_socket, 2, 1, 0);
	int len = 16, zero = 0;

	say("getsockname nowhere: %r, of no length: %r, of length 0: %r, unaligned: %r\n", sys(__NR_getsockname, s, 0, &len), sys(__NR_getsockname, s, buf, 0),
	    sys(__NR_getsockname, s, 0, &zero), sys(__NR_getsockname, s, buf, 1));
}

static void left_over(void)
{
	struct { long s, us; } *t = map(0, 4096, 3, 0x22, -1, 0);
	long in = sys(__NR_openat, AT_FDCWD, "/tmp/in", O_RDWR | O_CREAT, 0600), out = sys(__NR_openat, AT_FDCWD, "/tmp/out", O_RDWR | O_CREAT, 0600), pid;

	t->s = 0, t->us = 2000;
	say("select %r", sys(__NR_select, 0, 0, 0, 0, t));
	say(" left %l\n", t->us);
	t->us = 2000;
	sys(__NR_personality, 0x4000000);
	say("sticky: select %r", sys(__NR_select, 0, 0, 0, 0, t));
	say(" left %l\n", t->us);
	sys(__NR_personality, 0);
	sys(__NR_mprotect, t, 4096, 1);
	say("read-only: select %r, ppoll %r, sendfile of nothing %r\n", sys(__NR_select, 0, 0, 0, 0, t), sys(__NR_ppoll, 0, 0, t, 0, 0), sys(__NR_sendfile, out, in, t, 1));
	pid = fork();
	if (!pid) {
		sys(__NR_kill, sys(__NR_getpid), SIGSTOP);
		leave(0);
	}
	int status;
	sys(__NR_wait4, pid, &status, 2, 0);
	say("stopped %x attach %r", (long)status, sys(__NR_ptrace, 16, pid, 0, 0));
	say(" at once: %r\n", sys(__NR_ptrace, 3, pid, 15 * 8, &status));
	sys(__NR_kill, pid, SIGKILL);
	say("killed %x\n", (long)wait_for(pid));
}

int main(int argc, char **argv)
{
	say("mount %r\n", sys(__NR_mount, "t", "/tmp", "tmpfs", 0, 0));
	clones();
	polls();
	memory();
	told();
	names();
	left_over();
	return 0;
}
