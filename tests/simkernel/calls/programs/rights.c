/* Who may do what: filters of sockets, scheduling of others, limits, scripts by descriptor, tracing, mappings of maps.  not: s390x */
#include "tiny.h"
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/resource.h>

#ifndef __NR_setresuid32
#define __NR_setresuid32 __NR_setresuid
#endif

static void filtered(const char *what, int type, struct sock_filter *code, int n)
{
	int fds[2];
	char buf[32];
	struct sock_fprog prog = { n, code };
	say("%s: pair %r", what, sys(__NR_socketpair, 1, type, 0, fds));
	say(" attach %r", sys(__NR_setsockopt, fds[1], 1, 26, &prog, sizeof(prog)));
	say(" send %r %r", sys(__NR_sendto, fds[0], "hello", 5, 0, 0, 0), sys(__NR_sendto, fds[0], "other", 5, 0, 0, 0));
	for (int i = 0; i < 2; i++) {
		long got = sys(__NR_recvfrom, fds[1], buf, 32, 0x40, 0, 0);
		buf[got > 0 ? got : 0] = 0;
		say(" got %r %s", got, buf);
	}
	struct sock_filter back[8];
	int len = 8;
	long ret = sys(__NR_getsockopt, fds[1], 1, 26, back, &len);
	say(" filter %r len %d", ret, len);
	say(" detach %r", sys(__NR_setsockopt, fds[1], 1, 27, &len, 4));
	say(" again %r", sys(__NR_setsockopt, fds[1], 1, 27, &len, 4));
	say(" send %r", sys(__NR_sendto, fds[0], "after", 5, 0, 0, 0));
	say(" got %r\n", sys(__NR_recvfrom, fds[1], buf, 32, 0x40, 0, 0));
	sys(__NR_close, fds[0]);
	sys(__NR_close, fds[1]);
}

static void filters(void)
{
	struct sock_filter none[] = { { 6, 0, 0, 0 } };
	struct sock_filter three[] = { { 6, 0, 0, 3 } };
	struct sock_filter only_h[] = { { 0x30, 0, 0, 0 }, { 0x15, 0, 1, 'h' }, { 6, 0, 0, 100 }, { 6, 0, 0, 0 } };
	struct sock_filter length[] = { { 0x80, 0, 0, 0 }, { 0x16, 0, 0, 0 } };
	struct sock_filter bad[] = { { 0x15, 9, 9, 0 }, { 6, 0, 0, 0 } };
	filtered("dgram none", 2, none, 1);
	filtered("dgram three", 2, three, 1);
	filtered("dgram h", 2, only_h, 4);
	filtered("dgram length", 2, length, 2);
	filtered("stream none", 1, none, 1);
	filtered("stream three", 1, three, 1);
	filtered("seqpacket none", 5, none, 1);
	filtered("seqpacket three", 5, three, 1);
	filtered("bad", 2, bad, 2);
}

static void others(void)
{
	long parent = sys(__NR_getpid), mine;
	struct rlimit r = { 1048577, 1048577 };
	say("above nr_open %r", sys(__NR_setrlimit, 7, &r));
	r.rlim_cur = 1024, r.rlim_max = 1048576;
	say(" at %r\n", sys(__NR_setrlimit, 7, &r));
	long pid = fork();
	if (pid)
		return (void)wait_for(pid);
	sys(__NR_setresuid32, 1000, 1000, 1000);
	mine = sys(__NR_getpid);
	int zero = 0, one = 1;
	unsigned long long limit[2];
	long time[2] = { 1, 1 };
	ulong mask = 1;
	say("nice of root %r of me %r down %r\n", sys(__NR_setpriority, 0, parent, 5), sys(__NR_setpriority, 0, mine, 5), sys(__NR_setpriority, 0, mine, 4));
	say("policy of root %r of me batch %r fifo %r idle %r back %r\n", sys(__NR_sched_setscheduler, parent, 3, &zero), sys(__NR_sched_setscheduler, mine, 3, &zero),
	    sys(__NR_sched_setscheduler, mine, 1, &one), sys(__NR_sched_setscheduler, mine, 5, &zero), sys(__NR_sched_setscheduler, mine, 0, &zero));
	say("param of root %r affinity of root %r of me %r\n", sys(__NR_sched_setparam, parent, &zero), sys(__NR_sched_setaffinity, parent, sizeof(mask), &mask), sys(__NR_sched_setaffinity, mine, sizeof(mask), &mask));
	say("kill root %r 1 %r\n", sys(__NR_kill, parent, 0), sys(__NR_kill, 1, 10));
	say("limits of root %r of 1 %r own %r\n", sys(__NR_prlimit64, parent, 7, 0, limit), sys(__NR_prlimit64, 1, 7, 0, limit), sys(__NR_prlimit64, mine, 7, 0, limit));
	r.rlim_cur = 1024, r.rlim_max = 2048;
	say("lower %r", sys(__NR_setrlimit, 7, &r));
	r.rlim_max = 2049;
	say(" raise %r\n", sys(__NR_setrlimit, 7, &r));
	say("sethostname %r chroot %r mount %r reboot %r settime %r\n", sys(__NR_sethostname, "x", 1), sys(__NR_chroot, "/"), sys(__NR_mount, "none", "/tmp", "tmpfs", 0, 0), sys(__NR_reboot, 0xfee1dead, 0x28121969, 0, 0), sys(__NR_clock_settime, 0, time));
	say("setuid %r setgid %r setgroups %r vhangup %r acct %r swapon %r\n", sys(__NR_setuid, 0), sys(__NR_setgid, 0), sys(__NR_setgroups, 0, 0), sys(__NR_vhangup), sys(__NR_acct, 0), sys(__NR_swapon, "/x", 0));
	say("syslog %r unshare %r setns %r\n", sys(__NR_syslog, 3, &zero, 4), sys(__NR_unshare, 0x04000000), sys(__NR_setns, 0, 0));
	leave(0);
}

static void script(void)
{
	char *argv[] = { "x", 0 };
	spit("/script", "#!/rights script\n");
	sys(__NR_chmod, "/script", 0755);
	for (int cloexec = 0; cloexec < 2; cloexec++) {
		long fd = sys(__NR_openat, AT_FDCWD, "/script", O_RDONLY | (cloexec ? O_CLOEXEC : 0), 0);
		long pid = fork();
		if (!pid)
			leave(-sys(__NR_execveat, fd, "", argv, 0, 0x1000));
		say("script by descriptor%s: status %x\n", cloexec ? ", close on exec" : "", (long)wait_for(pid));
		sys(__NR_close, fd);
	}
	sys(__NR_unlink, "/script");
}

static void perf(void)
{
	struct perf_event_attr a = { .type = 1, .size = sizeof(a), .config = 0 };
	char text[256];
	for (int level = 4; level >= -1; level--) {
		char word[3] = { '-', '1', 0 };
		if (level >= 0)
			word[0] = '0' + level, word[1] = 0;
		say("paranoid %d: write %r", level, spit("/proc/sys/kernel/perf_event_paranoid", word));
		long pid = fork();
		if (!pid) {
			sys(__NR_setresuid32, 1000, 1000, 1000);
			a.exclude_kernel = a.exclude_hv = 0;
			say(" kernel %d", (int)(sys(__NR_perf_event_open, &a, 0, -1, -1, 0) < 0 ? -1 : 1));
			say(" %r", sys(__NR_close, 3));
			a.exclude_kernel = 1;
			say(" user %d", (int)(sys(__NR_perf_event_open, &a, 0, -1, -1, 0) < 0 ? -1 : 1));
			say(" %r", sys(__NR_close, 3));
			say(" cpu %r", sys(__NR_perf_event_open, &a, -1, 0, -1, 0));
			a.sample_period = 1000000, a.sample_type = 1 << 10;
			say(" raw %r", sys(__NR_perf_event_open, &a, 0, -1, -1, 0));
			a.sample_type = 0, a.exclude_kernel = 0, a.type = 2, a.config = 300, a.sample_period = 0;
			long point = sys(__NR_perf_event_open, &a, 0, -1, -1, 0);
			say(" tracepoint %r\n", point >= 0 ? 0 : point);
			leave(0);
		}
		wait_for(pid);
	}
	spit("/proc/sys/kernel/perf_event_paranoid", "3");
	long pid = fork();
	if (!pid) {
		sys(__NR_setresuid32, 1000, 1000, 1000);
		long fd = sys(__NR_openat, AT_FDCWD, "/proc/kallsyms", O_RDONLY, 0);
		long n = sys(__NR_read, fd, text, 8);
		text[n > 0 ? n : 0] = 0;
		say("kallsyms of a user %s\n", text);
		leave(0);
	}
	wait_for(pid);
}

static void maps(void)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.map_type = 2, a.key_size = 4, a.value_size = 4096, a.max_entries = 1, a.map_flags = BPF_F_MMAPABLE | BPF_F_RDONLY_PROG;
	long fd = sys(__NR_bpf, 0, &a, 72);
	say("map %d", (int)(fd >= 0));
	char *p = map(0, 4096, 1, 1, fd, 0);
	say(" read-only %d", !bad(p));
	say(" writable %r", sys(__NR_mprotect, p, 4096, 3));
	sys(__NR_munmap, p, 4096);
	memset(&a, 0, sizeof(a));
	a.map_fd = (int)fd;
	say(" freeze %r", sys(__NR_bpf, 22, &a, 72));
	p = map(0, 4096, 1, 1, fd, 0);
	say(" read-only %d", !bad(p));
	say(" writable %r", sys(__NR_mprotect, p, 4096, 3));
	say(" exec %r", sys(__NR_mprotect, p, 4096, 5));
	p = map(0, 4096, 3, 1, fd, 0);
	say(" map writable %r private %d\n", bad(p) ? (long)p : 1L, !bad(map(0, 4096, 3, 2, fd, 0)));
}

static volatile int alarms;
static void on_alarm(int sig, void *info, void *context) { alarms++; }
static void busy(void)
{
	/* a loop that waits by polling reaches its alarm, */
	long soon[4] = { 0, 0, 0, 20000 };
	on_signal(14, on_alarm, 0);
	sys(__NR_setitimer, 0, soon, 0);
	while (!alarms)
		sys(__NR_getppid);
	say("alarm %d\n", alarms);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		say("as a script: %d arguments\n", argc);
		return 7;
	}
	filters();
	others();
	script();
	perf();
	maps();
	busy();
	return 0;
}
