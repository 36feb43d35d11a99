/* ptrace: stops, memory, registers, events, seizing. */
#include "tiny.h"
#include <linux/ptrace.h>
#include <linux/uio.h>
#include <linux/sched.h>

#define PT(req, pid, addr, data) sys(__NR_ptrace, req, pid, addr, data)
#define __WALL 0x40000000

static long word = 0x12345678;
static int handled;
static void handler(int sig, void *info, void *context) { handled = sig; }

static void show(const char *what, long pid)
{
	int status = -1;
	long got = sys(__NR_wait4, pid, &status, __WALL, 0);
	say("%s:", what);
	if (got < 0)
		say(" %r\n", got);
	else if ((status & 0x7f) == 0x7f)
		say(" stop %x\n", (long)status >> 8);
	else
		say(" end %x\n", (long)status);
}

static void basics(void)
{
	long pid = fork(), value = 0, ret;
	if (!pid) {
		say("traceme %r\n", PT(PTRACE_TRACEME, 0, 0, 0));
		say("again %r\n", PT(PTRACE_TRACEME, 0, 0, 0));
		on_signal(10, handler, 0);
		sys(__NR_kill, sys(__NR_getpid), 19);
		sys(__NR_kill, sys(__NR_getpid), 10);
		leave(handled + (word == 99 ? 100 : 0));
	}
	show("stopped", pid);
	ret = PT(PTRACE_PEEKDATA, pid, &word, &value);
	say("peek %r %x\n", ret, value);
	say("poke %r\n", PT(PTRACE_POKEDATA, pid, &word, 99));
	say("peek nowhere %r\n", PT(PTRACE_PEEKDATA, pid, 8, &value));
	say("no such request %r\n", PT(0x3333, pid, 0, 0));
	say("bad signal %r\n", PT(PTRACE_CONT, pid, 0, 100));
	say("nobody %r not mine %r\n", PT(PTRACE_CONT, 99999, 0, 0), PT(PTRACE_CONT, 1, 0, 0));
	unsigned long set[40], size;
	struct iovec v = { set, sizeof(set) };
	ret = PT(PTRACE_GETREGSET, pid, 1, &v);
	size = v.iov_len;
	say("registers %r some %d\n", ret, size > 60);
	say("set %r no such set %r\n", PT(PTRACE_SETREGSET, pid, 1, &v), PT(PTRACE_GETREGSET, pid, 0x9999, &v));
	int info[32] = { 0 };
	ret = PT(PTRACE_GETSIGINFO, pid, 0, info);
	say("siginfo %r %d %d\n", ret, info[0], info[2]);
	say("options %r bad %r\n", PT(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD), PT(PTRACE_SETOPTIONS, pid, 0, 1 << 25));
	say("syscall %r\n", PT(PTRACE_SYSCALL, pid, 0, 0));
	for (int i = 0; i < 4; i++) {
		struct ptrace_syscall_info s;
		memset(&s, 0, sizeof(s));
		show("syscall stop", pid);
		ret = PT(PTRACE_GET_SYSCALL_INFO, pid, sizeof(s), &s);
		say("info %r op %d", ret, s.op);
		if (s.op == 1)
			say(" %s arg %L", s.entry.nr == __NR_getpid ? "getpid" : s.entry.nr == __NR_kill ? "kill" : "other", s.entry.nr == __NR_kill ? (long long)s.entry.args[1] : 0LL);
		if (s.op == 2)
			say(" error %d", s.exit.is_error);
		say("\n");
		PT(PTRACE_SYSCALL, pid, 0, 0);
	}
	show("signal", pid);
	say("running %r\n", (PT(PTRACE_CONT, pid, 0, 10), PT(PTRACE_CONT, pid, 0, 0)));
	show("end", pid);
	show("gone", pid);
}

static void events(char *self)
{
	long pid = fork(), child = 0, ret, message = 0;
	if (!pid) {
		PT(PTRACE_TRACEME, 0, 0, 0);
		sys(__NR_kill, sys(__NR_getpid), 19);
		long inner = fork();
		if (!inner)
			leave(7);
		wait_for(inner);
		char *argv[] = { self, "exit", 0 };
		sys(__NR_execve, self, argv, 0);
		leave(1);
	}
	show("stopped", pid);
	PT(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT);
	PT(PTRACE_CONT, pid, 0, 0);
	show("fork", pid);
	ret = PT(PTRACE_GETEVENTMSG, pid, 0, &child);
	say("message %r is a pid %d\n", ret, child > pid);
	show("child", child);
	PT(PTRACE_CONT, child, 0, 0);
	PT(PTRACE_CONT, pid, 0, 0);
	show("child exits", child);
	PT(PTRACE_GETEVENTMSG, child, 0, &message);
	say("message %x\n", message);
	PT(PTRACE_CONT, child, 0, 0);
	show("child ends", child);
	show("sigchld", pid);
	PT(PTRACE_CONT, pid, 0, 17);
	show("exec", pid);
	PT(PTRACE_GETEVENTMSG, pid, 0, &message);
	say("message is its pid %d\n", message == pid);
	PT(PTRACE_CONT, pid, 0, 0);
	show("exits", pid);
	PT(PTRACE_GETEVENTMSG, pid, 0, &message);
	say("message %x\n", message);
	PT(PTRACE_DETACH, pid, 0, 0);
	show("end", pid);
}

static void plain_exec(char *self)
{
	long pid = fork();
	if (!pid) {
		PT(PTRACE_TRACEME, 0, 0, 0);
		char *argv[] = { self, "exit", 0 };
		sys(__NR_execve, self, argv, 0);
		leave(1);
	}
	show("exec without options", pid);
	PT(PTRACE_CONT, pid, 0, 0);
	show("end", pid);
}

static void seizing(void)
{
	long pid = fork();
	if (!pid)
		for (;;)
			nap(1000);
	nap(20);
	say("address %r options %r\n", PT(PTRACE_SEIZE, pid, 1, 0), PT(PTRACE_SEIZE, pid, 0, 1 << 25));
	say("seize %r\n", PT(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD));
	say("again %r\n", PT(PTRACE_SEIZE, pid, 0, 0));
	say("runs %r\n", PT(PTRACE_CONT, pid, 0, 0));
	say("interrupt %r\n", PT(PTRACE_INTERRUPT, pid, 0, 0));
	show("interrupted", pid);
	say("listen %r\n", PT(PTRACE_CONT, pid, 0, 0));
	sys(__NR_kill, pid, 19);
	show("signal", pid);
	PT(PTRACE_CONT, pid, 0, 19);
	show("group", pid);
	say("listen %r\n", PT(PTRACE_LISTEN, pid, 0, 0));
	sys(__NR_kill, pid, 18);
	show("continued", pid);
	PT(PTRACE_CONT, pid, 0, 0);
	show("signal", pid);
	PT(PTRACE_CONT, pid, 0, 0);
	sys(__NR_kill, pid, 9);
	show("killed", pid);
}

static void attaching(void)
{
	long pid = fork(), value;
	if (!pid)
		for (;;)
			nap(1000);
	nap(20);
	say("self %r\n", PT(PTRACE_ATTACH, sys(__NR_getpid), 0, 0));
	say("attach %r\n", PT(PTRACE_ATTACH, pid, 0, 0));
	show("stop", pid);
	say("interrupt %r listen %r\n", PT(PTRACE_INTERRUPT, pid, 0, 0), PT(PTRACE_LISTEN, pid, 0, 0));
	value = PT(PTRACE_DETACH, pid, 0, 99);
	say("detach %r", value);
	say(" %r\n", PT(PTRACE_DETACH, pid, 0, 0));
	say("detached %r\n", PT(PTRACE_CONT, pid, 0, 0));
	sys(__NR_kill, pid, 9);
	show("killed", pid);
	pid = fork();
	if (!pid) {
		PT(PTRACE_TRACEME, 0, 0, 0);
		sys(__NR_kill, sys(__NR_getpid), 12);
		leave(0);
	}
	show("signal", pid);
	PT(PTRACE_CONT, pid, 0, 0);
	show("dropped", pid);
	pid = fork();
	if (!pid) {
		PT(PTRACE_TRACEME, 0, 0, 0);
		sys(__NR_kill, sys(__NR_getpid), 12);
		leave(0);
	}
	show("signal", pid);
	PT(PTRACE_CONT, pid, 0, 15);
	show("another", pid);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return 42;
	basics();
	events(argv[0]);
	plain_exec(argv[0]);
	seizing();
	attaching();
	return 0;
}
