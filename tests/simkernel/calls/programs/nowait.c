/* RWF_NOWAIT: which files can be read without waiting.  not: i386, s390x */
#include "tiny.h"
#include <linux/uio.h>
static void show(const char *n, long fd) { static char b[16]; struct iovec v = { b, 8 }; say("%s: ", n); if (fd < 0) { say("%r\n", fd); return; } say("read %r\n", sys(__NR_preadv2, fd, &v, 1, -1, -1, 8)); }
int main(int argc, char **argv)
{
	int p[2]; unsigned long long m = 0;
	show("eventfd", sys(__NR_eventfd2, 0, 0)); show("signalfd", sys(__NR_signalfd4, -1, &m, 8, 0)); show("timerfd", sys(__NR_timerfd_create, 1, 0)); show("inotify", sys(__NR_inotify_init1, 0)); show("socket", (sys(__NR_socketpair, 1, 1, 0, p), p[0])); show("udp", sys(__NR_socket, 2, 2, 0)); sys(__NR_pipe2, p, 0); show("pipe", p[0]); show("memfd", sys(__NR_memfd_create, "x", 0)); show("mqueue", sys(__NR_mq_open, "seeks", O_RDWR | O_CREAT, 0600, 0));
	const char *names[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random", "/dev/kmsg", "/dev/tty", "/dev/console", "/proc/self/stat", "/proc/self/mem", "/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled", "/proc/sys/kernel/pid_max", "/sys/kernel/tracing/trace_pipe", "/tmp" };
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) show(names[i], sys(__NR_open, names[i], O_RDONLY | O_NONBLOCK));
	return 0;
}
