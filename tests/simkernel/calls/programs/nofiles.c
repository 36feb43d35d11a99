/* fs.file-max: every call that makes a file is ENFILE to those without privilege, and takes no descriptor.  not: i386 not: s390x */
#include "tiny.h"
#include <linux/memfd.h>


static void number(const char *file, long value)
{
	char digits[24];
	int at = sizeof(digits) - 1;

	digits[at] = 0;
	do
		digits[--at] = '0' + value % 10;
	while (value /= 10);
	spit(file, digits + at);
}

static void tried(const char *name, long result)
{
	long lowest = sys(__NR_fcntl, 0, F_DUPFD, 0);

	say("%s %r, the next %l\n", name, result, lowest);
	sys(__NR_close, lowest);
	if (result > 2)
		sys(__NR_close, result);
}

static void all(void)
{
	int two[2] = { -1, -1 };
	unsigned long mask = 0;

	tried("open", sys(__NR_openat, AT_FDCWD, "/proc/self/status", 0, 0));
	tried("O_PATH", sys(__NR_openat, AT_FDCWD, "/", 0x200000, 0));
	tried("socket", sys(__NR_socket, 1, 1, 0));
	tried("inet", sys(__NR_socket, 2, 2, 0));
	tried("socketpair", sys(__NR_socketpair, 1, 1, 0, two));
	sys(__NR_close, two[0]);
	sys(__NR_close, two[1]);
	tried("pipe", sys(__NR_pipe2, two, 0));
	sys(__NR_close, two[0]);
	sys(__NR_close, two[1]);
	tried("eventfd", sys(__NR_eventfd2, 0, 0));
	tried("epoll", sys(__NR_epoll_create1, 0));
	tried("timerfd", sys(__NR_timerfd_create, 1, 0));
	tried("signalfd", sys(__NR_signalfd4, -1, &mask, 8, 0));
	tried("inotify", sys(__NR_inotify_init1, 0));
	tried("memfd", sys(__NR_memfd_create, "name", 0));
	tried("pidfd", sys(__NR_pidfd_open, sys(__NR_getpid), 0));
	tried("open_tree", sys(428, AT_FDCWD, "/", 0));
	tried("dup", sys(__NR_dup, 0));
}

int main(int argc, char **argv)
{
	static char before[64];


	slurp("/proc/sys/fs/file-max", before, sizeof(before));
	for (int i = 0; i < 400; i++) /* the kernel counts by dozens */
		sys(__NR_eventfd2, 0, 0);
	number("/proc/sys/fs/file-max", 1);
	say("root\n");
	all();
	long pid = fork();
	if (!pid) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		say("somebody\n");
		all();
		for (int i = 0; i < 2000; i++) {
			int two[2];
			sys(__NR_pipe2, two, 0);
			sys(__NR_memfd_create, "name", 0);
		}
		all();
		leave(0);
	}
	wait_for(pid);
	spit("/proc/sys/fs/file-max", before);
	pid = fork();
	if (!pid) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		say("enough again\n");
		all();
		leave(0);
	}
	wait_for(pid);
	return 0;
}
