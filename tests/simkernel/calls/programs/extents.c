/* What calls write: which bytes of the place that they are given, by call, on each CPU. Values where they are the same everywhere. */
#include "tiny.h"

static unsigned char place[4096], second[512];
static void fresh(void) { memset(place, 0xa5, sizeof(place)); memset(second, 0xa5, sizeof(second)); }
static void tell(unsigned char *at, int size)
{
	int begun = -1, last = -1, any = 0;
	unsigned char other[1];
	for (int i = 0; i <= size; i++) {
		int changed = i < size && at[i] != 0xa5;
		(void)other;
		if (changed && begun < 0)
			begun = i;
		if (changed)
			last = i;
		if (begun >= 0 && i - last > 16) {
			say(" %d-%d", begun, last);
			begun = -1, any = 1;
		}
	}
	if (begun >= 0)
		say(" %d-%d", begun, last), any = 1;
	if (!any)
		say(" nothing");
}
#define W(name, ...) do { fresh(); long got = sys(__VA_ARGS__); say("%s: ", name); if (got < 0) say("%r", got); else say("%s", got ? "+" : "0"); tell(place, 2048); say("\n"); } while (0)
#define N(name, ...) do { fresh(); long got = sys(__VA_ARGS__); say("%s: %r", name, got); tell(place, 2048); say("\n"); } while (0)

int main(int argc, char **argv)
{
	int pair[2], size;
	long set, queue, segment, fd;

	W("getrusage", __NR_getrusage, 0, place);
	W("getrusage of children", __NR_getrusage, -1, place);
	W("times", __NR_times, place);
	W("sysinfo", __NR_sysinfo, place);
	W("uname", __NR_uname, place);
	W("getrlimit", __NR_getrlimit, 7, place);
	W("prlimit64", __NR_prlimit64, 0, 7, 0, place);
	W("sched_getparam", __NR_sched_getparam, 0, place);
	W("sched_getattr 48", __NR_sched_getattr, 0, place, 48, 0);
	W("sched_getattr 56", __NR_sched_getattr, 0, place, 56, 0);
	W("sched_getattr 100", __NR_sched_getattr, 0, place, 100, 0);
	W("getitimer", __NR_getitimer, 0, place);
	W("setitimer old", __NR_setitimer, 0, 0, place);
	W("sigaltstack old", __NR_sigaltstack, 0, place);
	W("rt_sigaction old", __NR_rt_sigaction, 10, 0, place, 8);
	W("rt_sigprocmask old", __NR_rt_sigprocmask, 0, 0, place, 8);
	W("rt_sigpending", __NR_rt_sigpending, place, 8);
	W("getcpu", __NR_getcpu, place, place + 100, 0);
	W("gettimeofday", __NR_gettimeofday, place, place + 100);
	W("clock_getres", __NR_clock_getres, 1, place);
	W("getresuid", __NR_getresuid, place, place + 100, place + 200);
	W("statx", __NR_statx, AT_FDCWD, "/proc/self/exe", 0, 0x7ff, place);
	W("newfstatat or stat64", 
#ifndef __i386__
	  __NR_newfstatat, AT_FDCWD, "/", place, 0);
#else
	  __NR_fstatat64, AT_FDCWD, "/", place, 0);
#endif
	W("stat", __NR_stat, "/proc", place);
	W("statfs", __NR_statfs, "/proc", place);
#ifdef __i386__ /* the others have one size of each */
	W("statfs64 84", __NR_statfs64, "/proc", 84, place);
	W("statfs64 88", __NR_statfs64, "/proc", 88, place);
	W("stat64", __NR_stat64, "/proc", place);
	W("ugetrlimit", __NR_ugetrlimit, 7, place);
	W("sigpending", __NR_sigpending, place);
	W("sigprocmask", __NR_sigprocmask, 0, 0, place);
	W("sigaction", __NR_sigaction, 10, 0, place);
	W("getresuid32", __NR_getresuid32, place, place + 100, place + 200);
	W("time", __NR_time, place);
#endif
	W("ustat of no device", __NR_ustat, 0, place);
	struct { unsigned version; int pid; } head = { 0x20080522, 0 };
	W("capget", __NR_capget, &head, place);
#ifndef __i386__
	W("sched_getaffinity 8", __NR_sched_getaffinity, 0, 8, place);
#endif
#ifndef __i386__
	W("sched_getaffinity 128", __NR_sched_getaffinity, 0, 128, place);
#endif
	N("sched_getaffinity 2", __NR_sched_getaffinity, 0, 2, place);
	W("get_robust_list", __NR_get_robust_list, 0, place, place + 100);
	W("prctl name", __NR_prctl, 16, place);
	W("prctl pdeathsig", __NR_prctl, 2, place);
	W("prctl subreaper", __NR_prctl, 37, place);
#ifndef __i386__
	W("prctl tid address", __NR_prctl, 40, place);
#endif
	W("sched_rr_get_interval", __NR_sched_rr_get_interval, 0, place);
	W("getgroups", __NR_getgroups, 0, 0);

	set = sys(__NR_semget, 0, 3, 0600), queue = sys(__NR_msgget, 0, 0600), segment = sys(__NR_shmget, 0, 5000, 0600);
	say("ipc %d\n", set >= 0 && queue >= 0 && segment >= 0);
#ifndef __i386__ /* whose answers a 64-bit kernel gives otherwise than one of 32 bits */
	W("semctl stat", __NR_semctl, set, 0, 2 | 0x100, place);
	W("semctl stat, old", __NR_semctl, set, 0, 2, place);
	W("semctl all", __NR_semctl, set, 0, 13 | 0x100, place);
	W("semctl info", __NR_semctl, 0, 0, 3 | 0x100, place);
	W("msgctl stat", __NR_msgctl, queue, 2 | 0x100, place);
	W("msgctl stat, old", __NR_msgctl, queue, 2, place);
	W("msgctl info", __NR_msgctl, 0, 3 | 0x100, place);
	W("shmctl stat", __NR_shmctl, segment, 2 | 0x100, place);
	W("shmctl stat, old", __NR_shmctl, segment, 2, place);
	W("shmctl info", __NR_shmctl, 0, 3 | 0x100, place);
	W("shmctl shm_info", __NR_shmctl, 0, 14 | 0x100, place);
#endif
	sys(__NR_semctl, set, 0, 0, 0), sys(__NR_msgctl, queue, 0, 0), sys(__NR_shmctl, segment, 0, 0);

	int timer = 0;
	W("timer_create", __NR_timer_create, 1, 0, place);
	sys(__NR_timer_create, 1, 0, &timer);
	W("timer_gettime", __NR_timer_gettime, timer, place);
	fd = sys(__NR_timerfd_create, 1, 0);
	W("timerfd_gettime", __NR_timerfd_gettime, fd, place);
	fd = sys(__NR_openat, AT_FDCWD, "/tmp/extents", O_RDWR | O_CREAT, 0600);
	place[0] = 0;
	fresh();
	memset(place, 0, 64);
	long got = sys(__NR_fcntl, fd, 5, place);
	say("fcntl getlk: %r", got);
	tell(place + 40, 100);
	say("\n");
	W("fcntl getown_ex", __NR_fcntl, fd, 16, place);
	W("fcntl getowner_uids", __NR_fcntl, fd, 17, place);
	W("fcntl get_rw_hint", __NR_fcntl, fd, 1035, place);
	W("ioctl getflags", __NR_ioctl, fd, sizeof(long) == 8 ? 0x80086601 : 0x80046601, place);
	W("ioctl fionread", __NR_ioctl, fd, 0x541b, place);
	sys(__NR_pipe2, pair, 0);
	sys(__NR_write, pair[1], "12345", 5);
	W("ioctl fionread of a pipe", __NR_ioctl, pair[0], 0x541b, place);
	fd = sys(__NR_openat, AT_FDCWD, "/dev/ptmx", O_RDWR, 0);
	W("ioctl tcgets", __NR_ioctl, fd, 0x5401, place);
	W("ioctl tcgets2", __NR_ioctl, fd, 0x802c542a, place);
	W("ioctl tcgeta", __NR_ioctl, fd, 0x5405, place);
	W("ioctl winsize", __NR_ioctl, fd, 0x5413, place);
	W("ioctl ptn", __NR_ioctl, fd, 0x80045430, place);
	fd = sys(__NR_openat, AT_FDCWD, "/proc/self", O_RDONLY | O_DIRECTORY, 0);
	say("getdents64 some: %d\n", sys(__NR_getdents64, fd, place, 2048) > 100);
	struct { unsigned length; int type; char handle[64]; } *handle = (void *)place;
	fresh();
	handle->length = 64;
	got = sys(__NR_name_to_handle_at, AT_FDCWD, "/tmp/extents", handle, second, 0);
	say("name_to_handle_at: %r length %d", got, handle->length);
	tell(second, 64);
	say("\n");

	sys(__NR_socketpair, 1, 1, 0, pair);
	static const struct { const char *name; int level, option; } options[] = {
		{ "type", 1, 3 }, { "linger", 1, 13 }, { "peercred", 1, 17 }, { "rcvtimeo", 1, 20 }, { "rcvtimeo_new", 1, 66 }, { "sndbuf", 1, 7 }, { "peername", 1, 28 }, { "peersec", 1, 31 },
		{ "cookie", 1, 57 }, { "meminfo", 1, 55 }, { "domain", 1, 39 }, { "peergroups", 1, 59 }, { "incoming cpu", 1, 49 }, { "bindtodevice", 1, 25 },
	};
	for (unsigned i = 0; i < sizeof(options) / sizeof(*options); i++) {
		fresh();
		size = 300;
		got = sys(__NR_getsockopt, pair[0], options[i].level, options[i].option, place, &size);
		say("getsockopt %s: %r size %d", options[i].name, got, size);
		tell(place, 400);
		say("\n");
	}
	fd = sys(__NR_socket, 2, 1, 0);
	static const struct { const char *name; int level, option; } tcp[] = { { "tcp info", 6, 11 }, { "tcp congestion", 6, 13 }, { "ip options", 0, 4 }, { "ip mtu", 0, 14 }, { "tcp maxseg", 6, 2 }, { "tcp cc info", 6, 26 } };
	for (unsigned i = 0; i < sizeof(tcp) / sizeof(*tcp); i++) {
		fresh();
		size = 300;
		got = sys(__NR_getsockopt, fd, tcp[i].level, tcp[i].option, place, &size);
		say("getsockopt %s: %r size %d", tcp[i].name, got, size);
		tell(place, 400);
		say("\n");
	}
	fresh();
	size = 100;
	got = sys(__NR_getsockname, fd, place, &size);
	say("getsockname: %r size %d", got, size);
	tell(place, 200);
	say("\n");

	long pid = fork();
	if (!pid)
		leave(3);
	fresh();
	got = sys(__NR_waitid, 1, pid, place, 4, second);
	say("waitid: %r", got);
	tell(place, 300);
	say(" usage");
	tell(second, 300);
	say("\n");
	pid = fork();
	if (!pid)
		leave(3);
	fresh();
	got = sys(__NR_wait4, pid, second, 0, place);
	say("wait4: %d", got == pid);
	tell(place, 300);
	say(" status");
	tell(second, 300);
	say("\n");
	fresh();
	struct __kernel_old_timespec zero = { 0, 0 };
	unsigned long bit[8 / sizeof(long)];
	memset(bit, 0, sizeof(bit));
	bit[0] = 1 << 9;
	block_signals(0, 1 << 9);
	sys(__NR_kill, sys(__NR_getpid), 10);
	got = sys(__NR_rt_sigtimedwait, bit, place, &zero, 8);
	say("rt_sigtimedwait: %r", got);
	tell(place, 300);
	say("\n");
	fd = sys(__NR_epoll_create1, 0);
	struct { unsigned events; unsigned long long data; } __attribute__((packed)) event = { 4, 0x1122334455667788ULL };
	struct { unsigned events; unsigned long long data; } plain = { 4, 0x1122334455667788ULL };
	sys(__NR_epoll_ctl, fd, 1, pair[0],
#ifdef __x86_64__
	    &event
#else
	    &plain
#endif
	    );
	(void)event, (void)plain;
	W("epoll_wait", __NR_epoll_wait, fd, place, 4, 0);
	struct { long flags, maxmsg, msgsize, curmsgs, pad[4]; } attr = { 0, 2, 16, 0 };
	fd = sys(__NR_mq_open, "extents", 0102, 0600, &attr);
	W("mq_getsetattr", __NR_mq_getsetattr, fd, 0, place);
	sys(__NR_mq_unlink, "extents");
	fd = sys(__NR_inotify_init1, 0);
	sys(__NR_inotify_add_watch, fd, "/tmp", 0x100);
	sys(__NR_unlinkat, AT_FDCWD, "/tmp/name", 0);
	spit("/tmp/name", "x");
	say("inotify: %d", (int)sys(__NR_read, fd, place, 2048));
	say("\n");
	fd = sys(__NR_signalfd4, -1, bit, 8, 0);
	sys(__NR_kill, sys(__NR_getpid), 10);
	W("signalfd", __NR_read, fd, place, 2048);
	fresh();
	memset(second, 0, 512);
	for (int i = 300; i >= 4; i--)
		second[i] = 0xa5;
	got = sys(__NR_adjtimex, second);
	say("adjtimex: %d", got >= 0);
	tell(second, 400);
	say("\n");
	return 0;
}
