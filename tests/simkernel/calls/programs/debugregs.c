/* Debug registers by ptrace: what they take, what breaks where, what DR6 tells.  not: s390x */
#include "tiny.h"
#include <linux/ptrace.h>

#define PT(req, pid, addr, data) sys(__NR_ptrace, req, pid, addr, data)
#define __WALL 0x40000000
#ifdef __x86_64__
#define DEBUGREG 848
#define IP 128
#define FLAGS 144
#define KERNEL 0xffff888000000000ul
#else
#define DEBUGREG 252
#define IP 48
#define FLAGS 56
#define KERNEL 0xc1000000ul
#endif
#define W (long)sizeof(long)

static volatile long data[80];
static volatile int calls;
static long pid;

__attribute__((noinline)) static void target(void) { calls++; }

static long poke(int n, unsigned long value) { return PT(PTRACE_POKEUSR, pid, DEBUGREG + n * W, value); }
static unsigned long peek(long at)
{
	unsigned long value = 0;
	PT(PTRACE_PEEKUSR, pid, at, &value);
	return value;
}
static unsigned long reg(int n) { return peek(DEBUGREG + n * W); }

/* on: what DR7 says of register n */
static unsigned long on(int n, int kind, int len) { return 1ul << (2 * n) | (unsigned long)(kind | len << 2) << (16 + 4 * n); }

static int went(const char *what)
{
	int status = 0;
	union { int word[32]; unsigned long address[16]; } info = { { 0 } };
	sys(__NR_wait4, pid, &status, __WALL, 0);
	if ((status & 0x7f) != 0x7f) {
		say("%s: end %x\n", what, (long)status);
		return 0;
	}
	PT(PTRACE_GETSIGINFO, pid, 0, &info);
	unsigned long at = W == 8 ? info.address[2] : (unsigned long)info.word[3];
	say("%s: stop %x code %d at ip %d dr6 %x resume %d\n", what, (long)status >> 8, (long)info.word[2], (long)(at == peek(IP)),
	    reg(6), (long)(peek(FLAGS) >> 16 & 1));
	return 1;
}

static void go(const char *what) { PT(PTRACE_CONT, pid, 0, 0); went(what); }

static void child(void)
{
	PT(PTRACE_TRACEME, 0, 0, 0);
	sys(__NR_kill, sys(__NR_getpid), 19);
	data[0] = 1;                                  /* write */
	((volatile char *)data)[3] = 1;               /* a part of it */
	(void)data[1];                                /* a read nobody watches */
	(void)data[2];                                /* a read somebody watches */
	data[2]++;                                    /* both */
	target();
	target();
	__asm__ volatile("push %0\n pop %0" : : "r"(1l) : "memory");
	sys(__NR_kill, sys(__NR_getpid), 19);
	data[4] = 1;
	data[5] = 1;
	sys(__NR_kill, sys(__NR_getpid), 19);
	sys(__NR_pread64, -1, &data[4], 8, 0, 0);     /* nothing */
	sys(__NR_uname, (char *)&data[4] - 8);        /* the kernel's own writes */
	long own = sys(__NR_fork);
	if (!own) {
		data[4] = 3; /* another task's */
		leave(0);
	}
	sys(__NR_wait4, own, 0, 0, 0);
	sys(__NR_kill, sys(__NR_getpid), 19);
	char *args[] = { "/debugregs", "again", 0 };
	sys(__NR_execve, args[0], args, args + 2);
	leave(9);
}

static void rules(void)
{
	say("at first %x %x %x %x\n", reg(0), reg(3), reg(6), reg(7));
	say("4: %x %r 5: %x", reg(4), poke(4, 1), reg(5));
	say(" %r\n", poke(5, 1));
	say("misaligned %r\n", poke(0, (unsigned long)&data[0] + 1));
	say("byte %r", poke(1, (unsigned long)&data[0] + 1));
	say(" enable as long %r", poke(7, on(1, 1, 3)));
	say(" enable a new one %r", poke(7, on(3, 1, 3)));
	say(" dr7 %x\n", reg(7));
	say("kernel %r", poke(2, KERNEL));
	say(" and now %d\n", (long)(reg(2) == 0));
	say("port %r", poke(7, on(0, 2, 0)));
	say(" execute two bytes %r", poke(7, on(0, 0, 1)));
	say(" port off %r\n", poke(7, 2 << 16));
	say("reserved %r", poke(7, 0xfc00 | on(0, 1, 0)));
	say(" %x\n", reg(7));
	say("off %r %x\n", poke(7, 0), reg(7));
	say("dr6 %r", poke(6, 0x4001));
	say(" %x again %r\n", reg(6), poke(6, 0xffff0ff0));
	say("beyond %r\n", PT(PTRACE_POKEUSR, pid, 100000, 0));
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		data[4] = 1;
		leave(5);
	}
	pid = fork();
	if (!pid)
		child();
	went("begins");
	rules();
	say("set %r", poke(0, (unsigned long)&data[0]));
	say(" %r", poke(1, (unsigned long)target));
	say(" %r", poke(2, (unsigned long)&data[2]));
	say(" %r\n", poke(7, on(0, 1, 3) | on(1, 0, 0) | on(2, 3, 3)));
	go("write");
	go("a part");
	go("read");
	go("read and write");
	PT(PTRACE_SINGLESTEP, pid, 0, 0);
	went("step");
	go("rest");
	say("calls %d\n", (long)calls);
	go("second");
	PT(PTRACE_SINGLESTEP, pid, 0, 0);
	went("step off");
	say("only this %r\n", poke(7, 0));
	go("stop");
	say("two %r", poke(1, (unsigned long)&data[4]));
	say(" %r", poke(2, (unsigned long)&data[5]));
	say(" %r\n", poke(7, on(1, 1, 3) | on(2, 1, 3)));
	go("first");
	say("disable one %r\n", poke(7, on(1, 1, 3)));
	go("not the second");
	go("the kernel writes, a child writes");
	go("stop");
	say("dr7 %x\n", reg(7));
	go("exec");
	say("after exec %d %x\n", (long)(reg(1) == (unsigned long)&data[4]), reg(7));
	go("end");
	leave(0);
}
