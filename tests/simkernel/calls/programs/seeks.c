/* Positions of files that have none.  not: i386, s390x */
#include "tiny.h"
#include <linux/eventpoll.h>
#include <linux/perf_event.h>
static void show(const char *w, long fd) { char b[8]; say("%s %d: set %r cur %r end %r five %r bad %r pread %r pwrite %r flags %x\n", w, fd >= 0, sys(__NR_lseek, fd, 0, 0), sys(__NR_lseek, fd, 0, 1), sys(__NR_lseek, fd, 0, 2), sys(__NR_lseek, fd, 5, 0), sys(__NR_lseek, fd, 0, 9), sys(__NR_pread64, fd, b, 0, 0), sys(__NR_pwrite64, fd, b, 0, 0), sys(__NR_fcntl, fd, F_GETFL)); }
int main(int argc, char **argv)
{
	int p[2]; unsigned long long m = 0;
	show("eventfd", sys(__NR_eventfd2, 0, 04000)); show("epoll", sys(__NR_epoll_create1, 0)); show("signalfd", sys(__NR_signalfd4, -1, &m, 8, 04000)); show("timerfd", sys(__NR_timerfd_create, 1, 04000)); show("inotify", sys(__NR_inotify_init1, 04000)); show("fanotify", sys(__NR_fanotify_init, 2, 0)); show("pidfd", sys(__NR_pidfd_open, sys(__NR_getpid), 0)); show("userfaultfd", sys(__NR_userfaultfd, 04000)); show("socket", sys(__NR_socket, 1, 1, 0)); sys(__NR_pipe2, p, 04000); show("pipe", p[0]); show("pipe end", p[1]); show("memfd", sys(__NR_memfd_create, "x", 0));
	struct perf_event_attr a; memset(&a, 0, sizeof a); a.type = 1; a.size = sizeof a; show("perf", sys(__NR_perf_event_open, &a, 0, -1, -1, 0));
	char params[120]; memset(params, 0, 120); show("io_uring", sys(__NR_io_uring_setup, 4, params));
	show("mqueue", sys(__NR_mq_open, "seeks", O_RDWR | O_CREAT, 0600, 0));
	const char *names[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/proc/self/stat", "/proc/self/mem", "/proc/self/maps", "/proc", "/proc/self/ns/mnt", "/sys", "/sys/kernel/mm/transparent_hugepage/enabled", "/proc/sys/kernel/pid_max", "/sys/kernel/tracing/trace", "/sys/kernel/tracing/trace_pipe", "/sys/kernel/tracing/tracing_on", "/sys/kernel/tracing/set_event", "/tmp", "/proc/mounts", "/proc/self/fdinfo/0", "/proc/self/environ", "/proc/self/pagemap" };
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) show(names[i], sys(__NR_open, names[i], O_RDONLY | O_NONBLOCK));
	{ struct { int t, k, v, m, f; } attr = { 2, 4, 8, 1, 0 }; char big[128]; memset(big, 0, 128); memcpy(big, &attr, sizeof attr); show("bpf map", sys(__NR_bpf, 0, big, 72)); }
	return 0;
}
