/* What was wrong: signals, scheduling, privileges, memory. */
#include "tiny.h"
#include <linux/capability.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <linux/resource.h>
#include <linux/memfd.h>
#include <linux/prctl.h>

struct stack { void *sp; int flags; size_t size; };
static char alt[16384];
static struct stack inside;
static void handler(int sig, void *info, void *context)
{
	sys(__NR_sigaltstack, 0, &inside);
	struct stack other = { alt + 8192, 0, 8192 };
	say("in handler: flags %x, change %r\n", (long)(unsigned)inside.flags, sys(__NR_sigaltstack, &other, 0));
}

static void autodisarm(void)
{
	struct stack st = { alt, (int)0x80000000, sizeof(alt) }, now;
	say("autodisarm %r\n", sys(__NR_sigaltstack, &st, 0));
	on_signal(10, handler, 0x08000000);
	sys(__NR_kill, sys(__NR_getpid), 10);
	sys(__NR_sigaltstack, 0, &now);
	say("after: same %d flags %x\n", now.sp == alt, (long)(unsigned)now.flags);
	st.flags = 0;
	sys(__NR_sigaltstack, &st, 0);
	sys(__NR_kill, sys(__NR_getpid), 10);
	st.flags = 2;
	sys(__NR_sigaltstack, &st, 0);
	st.flags = 4;
	say("bad flags %r\n", sys(__NR_sigaltstack, &st, 0));
	st.flags = 0, st.size = 100;
	say("small %r\n", sys(__NR_sigaltstack, &st, 0));
}

static void reset_on_fork(void)
{
	int param = 10;
	say("fifo|reset %r\n", sys(__NR_sched_setscheduler, 0, 1 | 0x40000000, &param));
	say("policy %x\n", sys(__NR_sched_getscheduler, 0));
	long pid = fork();
	if (!pid) {
		sys(__NR_sched_getparam, 0, &param);
		say("child policy %x prio %d nice %l\n", sys(__NR_sched_getscheduler, 0), param, sys(__NR_getpriority, 0, 0));
		leave(0);
	}
	wait_for(pid);
	param = 0;
	say("other|reset %r\n", sys(__NR_sched_setscheduler, 0, 0x40000000, &param));
	sys(__NR_setpriority, 0, 0, -5);
	pid = fork();
	if (!pid) {
		say("child policy %x nice %l\n", sys(__NR_sched_getscheduler, 0), sys(__NR_getpriority, 0, 0));
		leave(0);
	}
	wait_for(pid);
	say("drop reset %r\n", sys(__NR_sched_setscheduler, 0, 0, &param));
	sys(__NR_setpriority, 0, 0, 0);
	param = 1;
	say("other with prio %r\n", sys(__NR_sched_setscheduler, 0, 0, &param));
	say("policy 4 %r, 7 %r, 6 %r\n", sys(__NR_sched_setscheduler, 0, 4, &param), sys(__NR_sched_setscheduler, 0, 7, &param), sys(__NR_sched_setscheduler, 0, 6, &param));
	say("max %r %r %r %r min %r %r\n", sys(__NR_sched_get_priority_max, 1), sys(__NR_sched_get_priority_max, 0), sys(__NR_sched_get_priority_max, 6), sys(__NR_sched_get_priority_max, 4), sys(__NR_sched_get_priority_min, 2), sys(__NR_sched_get_priority_min, 9));
}

static void attributes(void)
{
	struct sched_attr a = { sizeof(a) };
	say("getattr %r", sys(__NR_sched_getattr, 0, &a, sizeof(a), 0));
	say(" size %d policy %d nice %d flags %L\n", (int)a.size, (int)a.sched_policy, (int)a.sched_nice, (long long)a.sched_flags);
	a.sched_nice = 3;
	say("setattr %r", sys(__NR_sched_setattr, 0, &a, 0));
	say(" nice %l\n", sys(__NR_getpriority, 0, 0));
	a.sched_policy = 1, a.sched_priority = 5, a.sched_nice = 0, a.sched_flags = 1;
	say("setattr fifo %r", sys(__NR_sched_setattr, 0, &a, 0));
	say(" policy %x\n", sys(__NR_sched_getscheduler, 0));
	memset(&a, 0, sizeof(a));
	say("getattr again %r", sys(__NR_sched_getattr, 0, &a, sizeof(a), 0));
	say(" policy %d prio %d flags %L\n", (int)a.sched_policy, (int)a.sched_priority, (long long)a.sched_flags);
	a.sched_flags = 1 << 20;
	say("unknown flag %r\n", sys(__NR_sched_setattr, 0, &a, 0));
	a.sched_flags = 0, a.sched_policy = 6, a.sched_priority = 0, a.sched_runtime = 20, a.sched_period = 10, a.sched_deadline = 10;
	say("bad deadline %r\n", sys(__NR_sched_setattr, 0, &a, 0));
	a.sched_runtime = 10000000, a.sched_deadline = 30000000, a.sched_period = 100000000;
	say("deadline %r", sys(__NR_sched_setattr, 0, &a, 0));
	say(" policy %x\n", sys(__NR_sched_getscheduler, 0));
	a.sched_runtime = 0;
	say("get deadline %r", sys(__NR_sched_getattr, 0, &a, sizeof(a), 0));
	say(" runtime %L deadline %L period %L\n", (long long)a.sched_runtime, (long long)a.sched_deadline, (long long)a.sched_period);
	memset(&a, 0, sizeof(a));
	a.size = sizeof(a);
	say("back %r\n", sys(__NR_sched_setattr, 0, &a, 0));
	say("null %r flags %r nobody %r small %r\n", sys(__NR_sched_setattr, 0, 0, 0), sys(__NR_sched_setattr, 0, &a, 1), sys(__NR_sched_setattr, 99999, &a, 0), sys(__NR_sched_getattr, 0, &a, 20, 0));
	a.size = 10;
	long ret = sys(__NR_sched_setattr, 0, &a, 0);
	say("size 10 %r, told %d\n", ret, (int)a.size);
}

static void capabilities(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };
	say("capget %r\n", sys(__NR_capget, &h, d));
	d[0].effective &= ~(1 << CAP_CHOWN), d[0].inheritable = 1 << CAP_KILL;
	say("subset %r\n", sys(__NR_capset, &h, d));
	sys(__NR_capget, &h, d);
	say("chown %d kill %d\n", !!(d[0].effective & 1), !!(d[0].inheritable & 1 << CAP_KILL));
	d[0].effective |= 1 << CAP_CHOWN;
	say("again %r\n", sys(__NR_capset, &h, d));
	h.pid = 1;
	say("of another %r\n", sys(__NR_capset, &h, d));
	h.pid = sys(__NR_getpid);
	say("of me %r\n", sys(__NR_capset, &h, d));
	h.version = 5;
	long ret = sys(__NR_capset, &h, d);
	say("version %r, told %x\n", ret, (long)h.version);
	h.version = _LINUX_CAPABILITY_VERSION_3, h.pid = 0;
	long pid = fork();
	if (!pid) {
		d[0].permitted = 0, d[0].effective = 0, d[0].inheritable = 0, d[1] = d[0];
		say("drop %r\n", sys(__NR_capset, &h, d));
		d[0].permitted = 1;
		say("raise %r\n", sys(__NR_capset, &h, d));
		d[0].permitted = 0, d[0].effective = 1;
		say("effective %r\n", sys(__NR_capset, &h, d));
		d[0].effective = 0, d[0].inheritable = 2;
		say("inheritable %r\n", sys(__NR_capset, &h, d));
		leave(0);
	}
	wait_for(pid);
}

static void memory(void)
{
	char *p = map(0, 8192, 3, 0x22, -1, 0);
	p[0] = 'a';
	char *q = (char *)sys(__NR_mremap, p, 8192, 8192, 5, 0);
	say("dontunmap moved %d new %d old %d\n", q != p, q[0], p[0]);
	say("grow %r nomove %r\n", sys(__NR_mremap, p, 4096, 8192, 5, 0), sys(__NR_mremap, p, 8192, 8192, 4, 0));
	long fd = sys(__NR_memfd_create, "x", MFD_ALLOW_SEALING);
	sys(__NR_ftruncate, fd, 4096);
	say("no seals %r\n", sys(__NR_fcntl, fd, 1034, 0));
	char *m = map(0, 4096, 1, 1, fd, 0);
	say("seal while mapped shared %r\n", sys(__NR_fcntl, fd, 1033, 8));
	sys(__NR_munmap, m, 4096);
	say("seal write %r\n", sys(__NR_fcntl, fd, 1033, 8));
	m = map(0, 4096, 1, 1, fd, 0);
	if ((long)m < 0 && (long)m > -4096)
		say("map sealed %r\n", (long)m);
	else
		say("mapped, make writable %r\n", sys(__NR_mprotect, m, 4096, 3));
	say("write %r shrink %r grow %r\n", sys(__NR_write, fd, "x", 1), sys(__NR_ftruncate, fd, 0), sys(__NR_ftruncate, fd, 8192));
}

static void limits(void)
{
	struct rlimit r = { 0, 0 };
	sys(__NR_setrlimit, 8, &r);
	sys(__NR_setresuid, 1000, 1000, 1000);
	static char area[8192];
	say("mlock %r mlockall %r munlock %r\n", sys(__NR_mlock, area, 4096), sys(__NR_mlockall, 1), sys(__NR_munlock, area, 4096));
	say("mlock2 %r\n", sys(__NR_mlock2, area, 4096, 2));
	r.rlim_cur = r.rlim_max = 1;
	sys(__NR_setrlimit, 6, &r);
	long pid = fork();
	if (!pid) {
		long again = fork();
		if (!again)
			leave(0);
		say("second %r\n", again > 0 ? 1L : again);
		leave(0);
	}
	if (pid > 0)
		wait_for(pid);
	else
		say("first %r\n", pid);
	r.rlim_cur = 5, r.rlim_max = 4;
	say("cur > max %r bad %r\n", sys(__NR_setrlimit, 6, &r), sys(__NR_setrlimit, 16, &r));
}


int main(int argc, char **argv)
{
	autodisarm();
	reset_on_fork();
	attributes();
	capabilities();
	memory();
	limits();
	return 0;
}
