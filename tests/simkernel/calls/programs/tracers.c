/* ptrace: every option and event, seized tasks, whom one may trace, who waits for whom, what is told of calls and signals. */
#include "tiny.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/uio.h>
#include <linux/wait.h>

#define PT(req, pid, addr, data) sys(__NR_ptrace, req, pid, addr, data)
enum { HUP = 1, TRAP = 5, KILL = 9, USR1 = 10, USR2 = 12, TERM = 15, CHLD = 17, CONT = 18, STOP = 19, TSTP = 20 };
static char *self;
static volatile int seen[65];
static void note(int sig, void *info, void *context) { seen[sig]++; }
#define ME sys(__NR_getpid)
#define TRACED(...) ({ long pid_ = fork(); if (!pid_) { __VA_ARGS__; leave(0); } pid_; })
#define RUN(pid, sig) PT(PTRACE_CONT, pid, 0, sig)

static int status_of(const char *what, long pid, int options)
{
	int status = 0;
	long got = sys(__NR_wait4, pid, &status, options, 0);
	say("%s:", what);
	if (got <= 0)
		say(" %r\n", got);
	else if ((status & 0x7f) == 0x7f)
		say(" stop %x\n", (long)status >> 8);
	else
		say(" %s %x\n", status == 0xffff ? "continued" : "end", (long)status);
	return got > 0 ? status : -1;
}
static int show(const char *what, long pid) { return status_of(what, pid, __WALL); }
static void gone(long pid) { sys(__NR_kill, pid, KILL); while (sys(__NR_wait4, pid, 0, __WALL, 0) > 0) ; }

static unsigned long message(long pid)
{
	unsigned long m = 77;
	long ret = PT(PTRACE_GETEVENTMSG, pid, 0, &m);
	if (ret < 0)
		say(" (message %r)", ret);
	return m;
}
static void siginfo(const char *what, long pid)
{
	int info[32] = { 0 };
	long ret = PT(PTRACE_GETSIGINFO, pid, 0, info);
	say("%s siginfo %r", what, ret);
	if (ret >= 0)
		say(" %d %d %x", info[0], info[1], (long)info[2]);
	say("\n");
}
static int thread_exit(void *arg) { return 3; }
static char stack[16384] __attribute__((aligned(16))), other_stack[16384] __attribute__((aligned(16)));
#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)

/* -- options and their events ---------------------------------------------------------------------------------- */

static int vforked(void *arg) { return 4; }
static int execs(void *arg)
{
	char *argv[] = { self, "exit", 0 };
	nap(50);
	sys(__NR_execve, self, argv, 0);
	return 1;
}

static void option(const char *name, unsigned long options)
{
	long child = 0, other, pid = TRACED(
		PT(PTRACE_TRACEME, 0, 0, 0);
		sys(__NR_kill, ME, STOP);
		wait_for(fork() ?: (leave(7), 0));
		wait_for(start_thread(vforked, 0, CLONE_VM | CLONE_VFORK | CHLD, other_stack + sizeof(other_stack)));
		start_thread(thread_exit, 0, THREAD, stack + sizeof(stack));
		nap(50);
		execs(0));
	int status, rounds = 0;
	say("== %s\n", name);
	show("stopped", pid);
	say("set %r\n", PT(PTRACE_SETOPTIONS, pid, 0, options));
	RUN(pid, 0);
	while (rounds++ < 40 && (other = sys(__NR_wait4, -1, &status, __WALL, 0)) > 0) {
		say("%s ", other == pid ? "it" : other == child ? "child" : "other");
		if ((status & 0x7f) != 0x7f) {
			say("end %x\n", (long)status);
			continue;
		}
		say("stop %x", (long)status >> 8);
		if (status >> 16) {
			unsigned long m = message(other);
			if (status >> 16 == PTRACE_EVENT_EXIT || status >> 16 == PTRACE_EVENT_SECCOMP)
				say(" message %x", (long)m);
			else if (status >> 16 != PTRACE_EVENT_STOP)
				say(" message %s", m == pid ? "it" : m > pid ? "a child" : m ? "?" : "0");
			if (status >> 16 <= 3)
				child = m;
		}
		say(" ");
		siginfo("", other);
		RUN(other, (status >> 8) == CHLD ? CHLD : 0);
	}
}

static void bad_options(long pid)
{
	say("options: bit 8 %r bit 19 %r 22 %r all %r none %r\n", PT(PTRACE_SETOPTIONS, pid, 0, 1 << 8), PT(PTRACE_SETOPTIONS, pid, 0, 1 << 19),
	    PT(PTRACE_SETOPTIONS, pid, 0, 1 << 22), PT(PTRACE_SETOPTIONS, pid, 0, 0x1000ff), PT(PTRACE_SETOPTIONS, pid, 0, 0));
	say("suspend seccomp %r\n", PT(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_SUSPEND_SECCOMP));
}

/* -- seized tasks -------------------------------------------------------------------------------------------------- */

static void seized(void)
{
	long pid = TRACED(sys(__NR_setpgid, 0, 0); on_signal(USR1, note, 0); for (;;) nap(1000)), child;
	say("== seized\n");
	nap(20);
	say("seize %r\n", PT(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEFORK));
	say("cont %r listen %r detach %r peek %r setoptions %r\n", RUN(pid, 0), PT(PTRACE_LISTEN, pid, 0, 0), PT(PTRACE_DETACH, pid, 0, 0), PT(PTRACE_PEEKDATA, pid, seen, seen), PT(PTRACE_SETOPTIONS, pid, 0, 0));
	say("interrupt %r twice %r\n", PT(PTRACE_INTERRUPT, pid, 0, 0), PT(PTRACE_INTERRUPT, pid, 0, 0));
	show("interrupted", pid);
	siginfo("interrupted", pid);
	say("listen %r", PT(PTRACE_LISTEN, pid, 0, 0));
	say(" again %r\n", PT(PTRACE_LISTEN, pid, 0, 0));
	status_of("after listen", pid, __WALL | WNOHANG);
	say("cont of a listener %r\n", RUN(pid, 0));
	say("interrupt %r\n", PT(PTRACE_INTERRUPT, pid, 0, 0));
	show("interrupted", pid);
	say("interrupt of a stopped one %r\n", PT(PTRACE_INTERRUPT, pid, 0, 0));
	RUN(pid, 0);
	show("at once", pid);
	RUN(pid, 0);
	sys(__NR_kill, pid, USR1);
	show("signal", pid);
	siginfo("signal", pid);
	say("listen in a signal's stop %r\n", PT(PTRACE_LISTEN, pid, 0, 0));
	RUN(pid, USR1);
	sys(__NR_kill, pid, TSTP);
	show("tstp", pid);
	RUN(pid, TSTP);
	show("group stop", pid);
	siginfo("group stop", pid);
	RUN(pid, 0);
	status_of("runs in a stopped group", pid, __WALL | WNOHANG);
	sys(__NR_kill, pid, CONT);
	show("cont", pid);
	siginfo("cont", pid);
	RUN(pid, 0);
	show("cont's signal", pid);
	RUN(pid, CONT);
	sys(__NR_kill, pid, STOP);
	show("stop", pid);
	RUN(pid, STOP);
	show("group stop", pid);
	say("listen %r\n", PT(PTRACE_LISTEN, pid, 0, 0));
	sys(__NR_kill, pid, USR1);
	nap(20);
	status_of("signal to a listener", pid, __WALL | WNOHANG);
	sys(__NR_kill, pid, CONT);
	show("continued", pid);
	RUN(pid, 0);
	sys(__NR_wait4, pid, 0, __WALL, 0); /* either of the two that wait */
	RUN(pid, 0);
	sys(__NR_wait4, pid, 0, __WALL, 0);
	say("detach with a signal %r\n", PT(PTRACE_DETACH, pid, 0, TERM));
	show("terminated", pid);
	pid = TRACED(nap(50); wait_for(fork() ?: (leave(6), 0)); nap(20));
	say("seize %r\n", PT(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXIT));
	show("fork", pid);
	child = message(pid);
	RUN(pid, 0);
	show("the child", child);
	siginfo("the child", child);
	RUN(child, 0);
	show("its exit", child);
	RUN(child, 0);
	show("its end", child);
	show("sigchld", pid);
	RUN(pid, CHLD);
	show("exit", pid);
	say("interrupt in exit %r\n", PT(PTRACE_INTERRUPT, pid, 0, 0));
	RUN(pid, 0);
	show("end", pid);
	say("seize of a zombie's number %r\n", PT(PTRACE_SEIZE, pid, 0, 0));
	pid = TRACED(for (;;) nap(1000));
	sys(__NR_kill, pid, STOP);
	status_of("stopped", pid, WUNTRACED);
	say("seize a stopped one %r\n", PT(PTRACE_SEIZE, pid, 0, 0));
	show("its stop", pid);
	siginfo("its stop", pid);
	gone(pid);
	pid = TRACED(for (;;) nap(1000));
	sys(__NR_kill, pid, STOP);
	status_of("stopped", pid, WUNTRACED);
	say("attach to a stopped one %r\n", PT(PTRACE_ATTACH, pid, 0, 0));
	show("its stop", pid);
	siginfo("its stop", pid);
	say("cont %r\n", RUN(pid, 0));
	nap(20);
	status_of("runs", pid, __WALL | WNOHANG);
	siginfo("its stop", pid);
	RUN(pid, 0);
	nap(20);
	status_of("runs", pid, __WALL | WNOHANG);
	sys(__NR_kill, pid, CONT);
	show("cont", pid);
	say("detach %r\n", PT(PTRACE_DETACH, pid, 0, 0));
	gone(pid);
}

/* -- stops of a group under PTRACE_ATTACH ---------------------------------------------------------------------- */

static void groups(void)
{
	long pid = TRACED(PT(PTRACE_TRACEME, 0, 0, 0); on_signal(USR1, note, 0); sys(__NR_kill, ME, USR1); leave(seen[USR1]));
	int info[32] = { 0 };
	say("== groups\n");
	show("signal", pid);
	siginfo("signal", pid);
	PT(PTRACE_GETSIGINFO, pid, 0, info);
	info[0] = USR2;
	say("setsiginfo %r nowhere %r\n", PT(PTRACE_SETSIGINFO, pid, 0, info), PT(PTRACE_SETSIGINFO, pid, 0, 8));
	siginfo("changed", pid);
	RUN(pid, STOP);
	show("stopped by what was put in", pid);
	siginfo("group stop", pid);
	say("setsiginfo in it %r\n", PT(PTRACE_SETSIGINFO, pid, 0, info));
	say("regs there %r\n", PT(PTRACE_PEEKDATA, pid, seen, info));
	RUN(pid, 0);
	show("end", pid);
	pid = TRACED(PT(PTRACE_TRACEME, 0, 0, 0); block_signals(0, SIGBIT(USR1)); sys(__NR_kill, ME, USR2); block_signals(1, SIGBIT(USR1)); leave(9));
	show("signal", pid);
	RUN(pid, USR1);
	show("one that was blocked", pid);
	siginfo("it", pid);
	RUN(pid, 0);
	show("end", pid);
	pid = TRACED(PT(PTRACE_TRACEME, 0, 0, 0); sys(__NR_kill, ME, STOP); sys(__NR_kill, ME, CONT); sys(__NR_kill, ME, KILL));
	show("stop", pid);
	RUN(pid, 0);
	show("cont", pid);
	RUN(pid, CONT);
	show("kill", pid);
	pid = TRACED(PT(PTRACE_TRACEME, 0, 0, 0); on_signal(USR1, (void *)1, 0); sys(__NR_kill, ME, USR1); sys(__NR_kill, ME, CHLD); leave(1));
	show("ignored", pid);
	RUN(pid, USR1);
	show("by default ignored", pid);
	RUN(pid, 0);
	show("end", pid);
	/* waitid(2) */
	pid = TRACED(PT(PTRACE_TRACEME, 0, 0, 0); sys(__NR_kill, ME, STOP); leave(5));
	for (int i = 0; i < 3; i++) {
		long ret = sys(__NR_waitid, P_PID, pid, info, i == 0 ? WSTOPPED | WNOWAIT : i == 1 ? WSTOPPED : WSTOPPED | WNOHANG, 0);
		say("waitid %r %d %d status %d\n", ret, info[0], info[2], i < 2 ? info[sizeof(long) == 8 ? 6 : 5] : 0);
		memset(info, 0, sizeof(info));
	}
	say("only ends %r\n", sys(__NR_waitid, P_PID, pid, info, WEXITED | WNOHANG, 0));
	say("kill request %r\n", PT(PTRACE_KILL, pid, 0, 0));
	show("killed", pid);
	say("kill nobody %r\n", PT(PTRACE_KILL, pid, 0, 0));
}

/* -- calls --------------------------------------------------------------------------------------------------------- */

static void call_info(const char *what, long pid)
{
	struct ptrace_syscall_info s;
	long ret;
	memset(&s, 0, sizeof(s));
	ret = PT(PTRACE_GET_SYSCALL_INFO, pid, sizeof(s), &s);
	say("%s info %r op %d", what, ret, s.op);
	if (s.op == PTRACE_SYSCALL_INFO_ENTRY || s.op == PTRACE_SYSCALL_INFO_SECCOMP) {
		int nr = s.op == PTRACE_SYSCALL_INFO_ENTRY ? s.entry.nr : s.seccomp.nr;
		say(" %s", nr == __NR_getpid ? "getpid" : nr == __NR_nanosleep ? "nanosleep" : nr == __NR_restart_syscall ? "restart_syscall" : nr == __NR_rt_sigreturn ? "sigreturn" : nr == __NR_close ? "close" : "other");
		if (s.op == PTRACE_SYSCALL_INFO_SECCOMP)
			say(" data %d", s.seccomp.ret_data);
	}
	if (s.op == PTRACE_SYSCALL_INFO_EXIT)
		say(" %d %s", s.exit.is_error, s.exit.is_error ? "" : "fine"), s.exit.is_error ? say(" %d", (int)s.exit.rval) : (void)0;
	say("\n");
}
static void calls(void)
{
	char room[128];
	long pid = TRACED(PT(PTRACE_TRACEME, 0, 0, 0); sys(__NR_kill, ME, STOP); sys(__NR_getpid); nap(300); sys(__NR_close, 77));
	say("== calls\n");
	show("stop", pid);
	call_info("none", pid);
	for (int i = 0; i < 5; i++) {
		static const int sizes[] = { 0, 1, 24, 33, 128 };
		say("%d bytes: %r\n", sizes[i], PT(PTRACE_GET_SYSCALL_INFO, pid, sizes[i], room));
	}
	say("nowhere %r\n", PT(PTRACE_GET_SYSCALL_INFO, pid, 64, 8));
	on_signal(USR1, note, 0);
	for (int i = 0; i < 11; i++) {
		PT(PTRACE_SYSCALL, pid, 0, 0);
		if (i == 3 || i == 6)
			nap(50), sys(__NR_kill, pid, i == 3 ? CHLD : USR2);
		show("call", pid);
		call_info("call", pid);
		if (i == 1)
			say("with sysgood %r\n", PT(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD));
		siginfo("call", pid);
	}
	gone(pid);
	/* a filter that asks the tracer */
	pid = TRACED(
		struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_close, 0, 1),
					   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | 42), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
		struct sock_fprog p = { 4, f };
		PT(PTRACE_TRACEME, 0, 0, 0);
		sys(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		say("filter %r\n", sys(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p));
		say("nobody asks: close %r\n", sys(__NR_close, 99));
		sys(__NR_kill, ME, STOP);
		say("close %r\n", sys(__NR_close, 99));
		say("close %r\n", sys(__NR_close, 98));
		leave(0));
	show("stop", pid);
	say("options %r\n", PT(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD));
	RUN(pid, 0);
	show("seccomp", pid);
	say("message %l\n", message(pid));
	call_info("seccomp", pid);
	siginfo("seccomp", pid);
	PT(PTRACE_SYSCALL, pid, 0, 0);
	show("then", pid);
	call_info("then", pid);
	PT(PTRACE_SYSCALL, pid, 0, 0);
	show("then", pid);
	call_info("then", pid);
	PT(PTRACE_SYSCALL, pid, 0, 0);
	show("then", pid);
	call_info("then", pid);
	PT(PTRACE_SYSCALL, pid, 0, 0);
	show("then", pid);
	call_info("then", pid);
	PT(PTRACE_SYSCALL, pid, 0, 0);
	show("then", pid);
	RUN(pid, 0);
	show("then", pid);
	gone(pid);
}

/* -- memory, registers, masks ------------------------------------------------------------------------------------ */

static const char constant[64] = "constant";
static void peeks(void)
{
	char *area = map(0, 3 * 4096, 3, 0x22, -1, 0);
	unsigned long words[200], value = 0;
	struct iovec v;
	struct ptrace_peeksiginfo_args peek = { 0, 0, 10 };
	char infos[128 * 10];
	unsigned long long mask = 0;
	long pid;
	sys(__NR_munmap, area + 8192, 4096);
	sys(__NR_mprotect, area, 4096, 0);
	pid = TRACED(PT(PTRACE_TRACEME, 0, 0, 0); block_signals(0, SIGBIT(USR1) | SIGBIT(34) | SIGBIT(TERM)); sys(__NR_kill, ME, USR1);
		     sys(__NR_kill, ME, 34); sys(__NR_kill, ME, 34); sys(__NR_tgkill, ME, ME, TERM); sys(__NR_kill, ME, STOP); leave(constant[0]));
	say("== memory\n");
	show("stop", pid);
	say("peek of none %r", PT(PTRACE_PEEKDATA, pid, area, &value));
	say(" across %r", PT(PTRACE_PEEKDATA, pid, area + 4096 - 2, &value));
	say(" past %r", PT(PTRACE_PEEKDATA, pid, area + 8192 - 2, &value));
	say(" to nowhere %r", PT(PTRACE_PEEKDATA, pid, area, 8));
	say(" poke of none %r", PT(PTRACE_POKEDATA, pid, area, 5));
	say(" past %r", PT(PTRACE_POKEDATA, pid, area + 8192 - 2, 5));
	say(" constant %r", PT(PTRACE_POKETEXT, pid, constant, -1L));
	say(" of null %r\n", PT(PTRACE_PEEKTEXT, pid, 0, &value));
	say("user: odd %r far %r negative %r read nowhere %r", PT(PTRACE_PEEKUSR, pid, 1, &value), PT(PTRACE_PEEKUSR, pid, 100000, &value), PT(PTRACE_PEEKUSR, pid, -8, &value), PT(PTRACE_PEEKUSR, pid, 0, 8));
	say(" write odd %r far %r\n", PT(PTRACE_POKEUSR, pid, 1, 0), PT(PTRACE_POKEUSR, pid, 100000, 0));
	v.iov_base = words, v.iov_len = sizeof(words);
	PT(PTRACE_GETREGSET, pid, 1, &v);
	value = v.iov_len;
	static const int lengths[] = { 0, 1, sizeof(long), 2 * sizeof(long), 4 * sizeof(long) + sizeof(long) / 2, 5 * sizeof(long) - 1 };
	for (int i = 0; i < 6; i++) {
		v.iov_len = lengths[i];
		say("regset of %s %r", i == 1 ? "1" : i == 5 ? "odd" : "some", PT(PTRACE_GETREGSET, pid, 1, &v));
		say(" length %d", (int)v.iov_len - lengths[i]);
		v.iov_len = lengths[i];
		say(" set %r %d\n", PT(PTRACE_SETREGSET, pid, 1, &v), (int)v.iov_len - lengths[i]);
	}
	v.iov_base = (void *)8, v.iov_len = 4096;
	say("regset nowhere %r vector nowhere %r no set %r", PT(PTRACE_GETREGSET, pid, 1, &v), PT(PTRACE_GETREGSET, pid, 1, 8), PT(PTRACE_GETREGSET, pid, 0, &v));
	say(" fp %r big %r\n", (v.iov_base = words, PT(PTRACE_GETREGSET, pid, 2, &v)), PT(PTRACE_GETREGSET, pid, 0x7fffffff, &v));
	say("mask %r of 4 %r of 16 %r nowhere %r", PT(PTRACE_GETSIGMASK, pid, 8, &mask), PT(PTRACE_GETSIGMASK, pid, 4, &mask), PT(PTRACE_GETSIGMASK, pid, 16, &mask), PT(PTRACE_GETSIGMASK, pid, 8, 8));
	say(" set of 4 %r\n", PT(PTRACE_SETSIGMASK, pid, 4, &mask));
	say("pending: shared %r", (peek.flags = 1, PT(PTRACE_PEEKSIGINFO, pid, &peek, infos)));
	for (int i = 0; i < 3; i++)
		say(" %d", *(int *)(infos + 128 * i));
	say(" own %r", (peek.flags = 0, PT(PTRACE_PEEKSIGINFO, pid, &peek, infos)));
	say(" %d", *(int *)infos);
	say(" from 2 %r", (peek.flags = 1, peek.off = 2, PT(PTRACE_PEEKSIGINFO, pid, &peek, infos)));
	say(" from far %r", (peek.off = 99, PT(PTRACE_PEEKSIGINFO, pid, &peek, infos)));
	say(" flag 2 %r", (peek.flags = 2, PT(PTRACE_PEEKSIGINFO, pid, &peek, infos)));
	say(" negative %r", (peek.flags = 0, peek.nr = -1, PT(PTRACE_PEEKSIGINFO, pid, &peek, infos)));
	say(" none %r", (peek.off = 0, peek.nr = 0, PT(PTRACE_PEEKSIGINFO, pid, &peek, infos)));
	say(" nowhere %r", PT(PTRACE_PEEKSIGINFO, pid, 8, infos));
	say(" into nowhere %r\n", (peek.nr = 1, PT(PTRACE_PEEKSIGINFO, pid, &peek, 8)));
	mask = 0;
	say("set mask %r\n", PT(PTRACE_SETSIGMASK, pid, 8, &mask));
	say("requests: 0x4210 %r 0x420f %r 99 %r -1 %r\n", PT(0x4210, pid, 0, 0), PT(0x420f, pid, 0, words), PT(99, pid, 0, 0), PT(-1, pid, 0, 0));
	say("signals: cont 65 %r cont -1 %r detach 65 %r\n", RUN(pid, 65), RUN(pid, -1), PT(PTRACE_DETACH, pid, 0, 65));
	bad_options(pid);
	RUN(pid, 0);
	for (int i = 0; i < 4; i++) {
		show("pending", pid);
		RUN(pid, 0);
	}
	show("end", pid);
}

/* -- who may, and who waits ---------------------------------------------------------------------------------------- */

static volatile int go;
static int attaches_leader(void *arg)
{
	say("to the leader of one's group %r", PT(PTRACE_ATTACH, ME, 0, 0));
	say(" seize %r\n", PT(PTRACE_SEIZE, ME, 0, 0));
	go = 1;
	return 0;
}
static int waits_too(void *arg)
{
	long pid = (long)arg;
	int status;
	say("another thread: cont %r", RUN(pid, 0));
	say(" waits %r", sys(__NR_wait4, pid, &status, __WALL | WNOHANG, 0));
	say(" its own only %r\n", sys(__NR_wait4, pid, &status, __WALL | WNOHANG | __WNOTHREAD, 0));
	go = 1;
	return 0;
}

static void who(void)
{
	long pid, inner, boss = ME, parent = sys(__NR_getppid);
	int link[2], status = 0;
	char c;
	say("== who\n");
	say("init %r a kernel thread %r oneself %r nobody %r zero %r negative %r\n", PT(PTRACE_CONT, 1, 0, 0), PT(PTRACE_ATTACH, 2, 0, 0), PT(PTRACE_ATTACH, boss, 0, 0), PT(PTRACE_ATTACH, 99999, 0, 0), PT(PTRACE_ATTACH, 0, 0, 0), PT(PTRACE_SEIZE, -1, 0, 0));
	start_thread(attaches_leader, 0, THREAD, stack + sizeof(stack));
	while (!go) nap(10);
	pid = TRACED(leave(0));
	nap(30);
	say("a zombie %r seize %r\n", PT(PTRACE_ATTACH, pid, 0, 0), PT(PTRACE_SEIZE, pid, 0, 0));
	wait_for(pid);
	pid = TRACED(for (;;) nap(1000));
	inner = TRACED(sys(__NR_setresuid, 1000, 1000, 1000); say("root's %r", PT(PTRACE_ATTACH, pid, 0, 0)); say(" seize %r", PT(PTRACE_SEIZE, pid, 0, 0)); say(" bad seize %r\n", PT(PTRACE_SEIZE, pid, 1, 0)));
	wait_for(inner);
	say("mine %r\n", PT(PTRACE_ATTACH, pid, 0, 0));
	show("stop", pid);
	inner = TRACED(say("other's %r seize %r cont %r detach %r\n", PT(PTRACE_ATTACH, pid, 0, 0), PT(PTRACE_SEIZE, pid, 0, 0), RUN(pid, 0), PT(PTRACE_DETACH, pid, 0, 0)));
	wait_for(inner);
	go = 0;
	start_thread(waits_too, (void *)pid, THREAD, stack + sizeof(stack));
	while (!go) nap(10);
	gone(pid);
	pid = TRACED(sys(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0); for (;;) nap(1000));
	nap(20);
	inner = TRACED(sys(__NR_setresuid, 0, 0, 0); say("not dumpable, by root %r\n", PT(PTRACE_ATTACH, pid, 0, 0)); show("stop", pid));
	wait_for(inner);
	gone(pid);
	pid = TRACED(sys(__NR_setresuid, 1000, 1000, 1000); nap(300));
	inner = TRACED(sys(__NR_setresuid, 1000, 1000, 1000); nap(20); say("changed its user %r\n", PT(PTRACE_ATTACH, pid, 0, 0)));
	wait_for(inner);
	gone(pid);
	/* a child of ours that another traces */
	sys(__NR_pipe2, link, 0);
	pid = TRACED(for (;;) nap(1000));
	inner = TRACED(PT(PTRACE_SEIZE, pid, 0, 0); sys(__NR_write, link[1], "x", 1); show("tracer sees", pid);
		       nap(50); RUN(pid, TERM); show("tracer sees", pid); sys(__NR_write, link[1], "x", 1); nap(50));
	sys(__NR_read, link[0], &c, 1);
	sys(__NR_kill, pid, USR1);
	nap(20);
	say("parent waits %r", sys(__NR_wait4, pid, &status, WNOHANG | WUNTRACED | WCONTINUED, 0));
	sys(__NR_read, link[0], &c, 1);
	nap(10);
	status = 0;
	say(" then %d", (int)sys(__NR_wait4, pid, &status, 0, 0) == (int)pid);
	say(" %x\n", (long)status);
	wait_for(inner);
	/* the tracer ends: who was stopped goes on */
	pid = TRACED(on_signal(USR1, note, 0); while (!seen[USR1]) nap(10); leave(8));
	inner = TRACED(PT(PTRACE_ATTACH, pid, 0, 0); show("attached", pid); sys(__NR_kill, pid, USR1));
	wait_for(inner);
	show("went on", pid);
	pid = TRACED(for (;;) nap(1000));
	inner = TRACED(PT(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL));
	wait_for(inner);
	show("exitkill", pid);
	pid = TRACED(for (;;) nap(1000));
	inner = TRACED(PT(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL); PT(PTRACE_INTERRUPT, pid, 0, 0); show("interrupted", pid); say("options %r\n", PT(PTRACE_SETOPTIONS, pid, 0, 0)));
	wait_for(inner);
	nap(20);
	status_of("no longer", pid, WNOHANG);
	gone(pid);
	/* a child traces its parent */
	pid = TRACED(
		inner = TRACED(say("the parent %r\n", PT(PTRACE_ATTACH, sys(__NR_getppid), 0, 0)); show("stop", sys(__NR_getppid)); leave(3));
		nap(100);
		say("went on: %r", (long)((int)sys(__NR_wait4, inner, &status, 0, 0) == (int)inner)); say(" %x\n", (long)status);
		inner = TRACED(PT(PTRACE_ATTACH, sys(__NR_getppid), 0, 0); show("stop", sys(__NR_getppid)); RUN(sys(__NR_getppid), 0); nap(50); leave(4));
		say("went on: %x\n", (long)wait_for(inner));
		inner = TRACED(PT(PTRACE_SEIZE, sys(__NR_getppid), 0, 0); PT(PTRACE_INTERRUPT, sys(__NR_getppid), 0, 0); show("stop", sys(__NR_getppid)); say("detach %r\n", PT(PTRACE_DETACH, sys(__NR_getppid), 0, 0)); leave(5));
		say("went on: %x\n", (long)wait_for(inner)));
	status_of("parent", pid, WUNTRACED);
	gone(pid);
	say("our own %d\n", sys(__NR_getppid) == parent);
	/* who is traced by whom, as files tell */
	static char text[4096];
	pid = TRACED(PT(PTRACE_TRACEME, 0, 0, 0); slurp("/proc/self/status", text, sizeof(text));
		     for (char *p = text; *p; p++) if (!memcmp(p, "TracerPid:\t", 11)) { say("tracer %s\n", p[11] == '0' ? "none" : "some"); break; }
		     sys(__NR_kill, ME, STOP));
	show("stop", pid);
	slurp("/proc/self/status", text, sizeof(text));
	for (char *p = text; *p; p++)
		if (!memcmp(p, "TracerPid:\t", 11)) { say("mine %s\n", p[11] == '0' ? "none" : "some"); break; }
	gone(pid);
}

/* -- threads and exec --------------------------------------------------------------------------------------------- */

static void threads(void)
{
	long pid, thread, old;
	int status;
	say("== threads\n");
	pid = TRACED(PT(PTRACE_TRACEME, 0, 0, 0); sys(__NR_kill, ME, STOP); start_thread(execs, 0, THREAD, stack + sizeof(stack)); for (;;) nap(1000));
	show("stop", pid);
	PT(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT);
	RUN(pid, 0);
	show("clone", pid);
	thread = message(pid);
	say("a thread's wait without __WALL %r\n", sys(__NR_wait4, thread, &status, WNOHANG, 0));
	show("thread", thread);
	siginfo("thread", thread);
	RUN(thread, 0);
	RUN(pid, 0);
	show("the leader ends", pid);
	say("message %x\n", (long)message(pid));
	RUN(pid, 0);
	show("exec", pid);
	old = message(pid);
	say("old number %s, gone %r\n", old == thread ? "the thread's" : old == pid ? "its own" : "?", RUN(thread, 0));
	RUN(pid, 0);
	show("exit", pid);
	RUN(pid, 0);
	show("end", pid);
	pid = TRACED(PT(PTRACE_TRACEME, 0, 0, 0); sys(__NR_kill, ME, STOP); start_thread(thread_exit, 0, THREAD, stack + sizeof(stack)); nap(100); leave(2));
	show("stop", pid);
	PT(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACECLONE);
	RUN(pid, 0);
	show("clone", pid);
	thread = message(pid);
	show("thread", thread);
	sys(__NR_kill, pid, KILL);
	show("killed thread", thread);
	show("killed", pid);
	pid = TRACED(PT(PTRACE_TRACEME, 0, 0, 0); sys(__NR_kill, ME, STOP); execs(0));
	show("stop", pid);
	PT(PTRACE_SYSCALL, pid, 0, 0);
	for (int i = 0; i < 7; i++) {
		show("around exec", pid);
		call_info("around exec", pid);
		PT(PTRACE_SYSCALL, pid, 0, 0);
	}
	gone(pid);
	pid = TRACED(execs(0));
	PT(PTRACE_SEIZE, pid, 0, 0);
	show("a seized one's exec is silent", pid);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return 42;
	self = argv[0];
	option("no options", 0);
	option("fork", PTRACE_O_TRACEFORK);
	option("vfork", PTRACE_O_TRACEVFORK);
	option("vfork done", PTRACE_O_TRACEVFORKDONE);
	option("clone", PTRACE_O_TRACECLONE);
	option("exec", PTRACE_O_TRACEEXEC);
	option("exit", PTRACE_O_TRACEEXIT);
	option("all but clone", PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT);
	seized();
	groups();
	calls();
	peeks();
	who();
	threads();
	return 0;
}
