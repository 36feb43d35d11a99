/* Syscall user dispatch: what prctl refuses, selectors, ranges, signals, forks, threads, execs, /proc, seccomp beside it. not: i386 (its numbers are others) s390x */
#include "tiny.h"
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/sched.h>

static volatile char selector;
static int hits, codes[3], old_nr;
static unsigned arch;
static long result = 1234;
static void *at;
/* no call from here: the selector blocks until it lets go */
static void blocked(int sig, void *info, void *context)
{
	int *i = info;
	selector = 0;
	hits++, codes[0] = sig, codes[1] = i[1], codes[2] = i[2];
	at = *(void **)(i + 4), old_nr = i[6], arch = i[7];
	long *regs = (long *)((char *)context + 40); /* r8.. in struct sigcontext */
	regs[13] = result; /* rax */
}
static void report(const char *what, long got)
{
	selector = 0;
	say("%s: got %r hits %d signal %d errno %d code %d nr %d arch %x address %s selector %d\n", what, got, hits, codes[0], codes[1], codes[2], old_nr, (long)arch, at ? "set" : "0", selector);
	hits = codes[0] = codes[1] = codes[2] = old_nr = arch = 0, at = 0;
}
static long on(long offset, long len, volatile char *sel) { return sys(__NR_prctl, PR_SET_SYSCALL_USER_DISPATCH, 1, offset, len, sel); }
static void off(void) { selector = 0; sys(__NR_prctl, PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0); }
extern char restorer_end[];

static void run(const char *what, void (*fn)(void))
{
	long pid = fork();
	if (!pid) {
		fn();
		leave(0);
	}
	int status = wait_for(pid);
	say("%s: %s %d\n", what, status & 0x7f ? "signal" : "exit", status & 0x7f ? status & 0x7f : status >> 8);
}
static void refusals(void)
{
	static const struct { long mode, offset, len; int sel; } rows[] = {
		{ 0, 0, 0, 0 }, { 0, 1, 0, 0 }, { 0, 0, 1, 0 }, { 0, 0, 0, 1 }, { 2, 0, 0, 0 }, { 3, 0, 0, 1 }, { -1, 0, 0, 0 }, { 1, 0, 0, 0 }, { 0, 0, 0, 0 },
		{ 1, 0, 0, 1 }, { 1, 8, 0, 1 }, { 1, 0, -1, 1 }, { 1, 0, 8, 1 }, { 1, -1, 1, 1 }, { 1, -1, 2, 1 }, { 1, -8, 8, 1 }, { 1, -8, 7, 1 }, { 1, 1, -1, 1 }, { 1, 1, -2, 1 }, { 1, 0, 8, 2 }, { 1, 4096, 8, 3 }, { 1, 4096, 8, 4 }, { 0, 0, 0, 0 },
	};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (i && rows[i].mode == 1 && !rows[i].sel)
			continue; /* without a selector everything would be blocked */
		char *sel = rows[i].sel == 1 ? (char *)&selector : rows[i].sel == 2 ? (char *)8 : rows[i].sel == 3 ? (char *)-4096 : rows[i].sel == 4 ? (char *)0x7fffffffffff : 0;
		long pid = fork();
		if (!pid) {
			on_signal(31, blocked, 4);
			long n = sys(__NR_prctl, PR_SET_SYSCALL_USER_DISPATCH, rows[i].mode, rows[i].offset, rows[i].len, sel);
			selector = 0;
			say("mode %l offset %l len %l selector %d: %r\n", rows[i].mode, rows[i].offset, rows[i].len, rows[i].sel, n);
			leave(0);
		}
		int status = wait_for(pid);
		if (status)
			say("mode %l offset %l len %l selector %d: signal %d\n", rows[i].mode, rows[i].offset, rows[i].len, rows[i].sel, status & 0x7f);
	}
}
static void calls(void)
{
	long n;
	on_signal(31, blocked, 4);
	say("on %r\n", on(0, 0, &selector));
	report("allowed", sys(__NR_getppid) > 0);
	selector = 1, n = sys(__NR_getppid), report("blocked", n);
	selector = 1, n = sys(9999), report("no such call", n);
	selector = 1, n = sys(-1L), report("minus one", n);
	selector = 1, n = sys(__NR_write, 1, "never seen\n", 11), report("write", n);
	result = -38, selector = 1, n = sys(__NR_close, 99), report("another result", n), result = 1234;
	selector = 1, n = sys(__NR_prctl, PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0), report("prctl", n);
	off();
	selector = 1, n = sys(__NR_getppid) > 0, report("off", n);
	n = on(0x400000, 0x100000, &selector);
	selector = 1, n = sys(__NR_getuid), report("from inside the range", n);
	off();
	n = on(1, 64, &selector);
	selector = 1, n = sys(__NR_getuid), report("from outside the range", n);
	off();
}
static void wrong_selector(void) { on_signal(31, blocked, 4); on(0, 0, &selector); selector = 2; sys(__NR_getppid); selector = 0; say("not reached\n"); }
static void wrong_selector_255(void) { on_signal(31, blocked, 4); on(0, 0, &selector); selector = 255; sys(__NR_getppid); selector = 0; say("not reached\n"); }
static void selector_gone(void)
{
	char *page = map(0, 4096, 3, 34, -1, 0);
	on_signal(31, blocked, 4);
	on(0, 0, page);
	say("there\n");
	say("unmap %r\n", sys(__NR_munmap, page, 4096));
	say("not reached\n");
}
static void selector_protected(void)
{
	char *page = map(0, 4096, 3, 34, -1, 0);
	on(0, 0, page);
	say("protect %r\n", sys(__NR_mprotect, page, 4096, 1));
	say("read only is enough\n");
	sys(__NR_mprotect, page, 4096, 0);
	say("not reached\n");
}
static void no_handler(void) { on(0, 0, &selector); selector = 1; sys(__NR_getppid); }
static void ignored(void) { on_signal(31, (void *)1, 0); on(0, 0, &selector); selector = 1; sys(__NR_getppid); }
static void masked(void) { on_signal(31, blocked, 4); block_signals(0, SIGBIT(31)); on(0, 0, &selector); selector = 1; sys(__NR_getppid); }
static void no_selector(void) { on_signal(31, blocked, 4); say("all but the range %r\n", on(0x400000, 0x100000, 0)); say("still here\n"); }
static void no_selector_at_all(void) { on(0x10000, 16, 0); say("not reached\n"); }
static void forks(void)
{
	on_signal(31, blocked, 4);
	on(0, 0, &selector);
	long pid = fork();
	if (!pid) {
		selector = 1;
		long n = sys(__NR_getppid) > 0;
		report("child", n);
		leave(0);
	}
	wait_for(pid);
	selector = 1;
	long n = sys(__NR_getppid);
	report("parent", n);
}
static char stack[16384];
static volatile int done;
static int thread(void *arg)
{
	selector = 1;
	long n = sys(__NR_getuid);
	selector = 0;
	say("thread: getuid %l hits %d\n", n, hits);
	done = 1;
	return 0;
}
static void threads(void)
{
	on_signal(31, blocked, 4);
	on(0, 0, &selector);
	start_thread(thread, 0, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, stack + sizeof(stack));
	while (!done)
		sys(__NR_sched_yield);
	selector = 1;
	long n = sys(__NR_getppid);
	report("first thread", n);
}
static void filtered(void)
{
	struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getppid, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog p = { 4, f };
	on_signal(31, blocked, 4);
	say("filter %r", sys(__NR_seccomp, 1, 0, &p));
	say(" getppid %l\n", sys(__NR_getppid));
	on(0, 0, &selector);
	selector = 1;
	long n = sys(__NR_getppid);
	report("dispatched before the filter", n);
	say("filtered %l\n", sys(__NR_getppid));
}
static char **again;
static void execs(void)
{
	char *args[] = { again[0], "again", 0 };
	on_signal(31, blocked, 4);
	on(0, 0, &selector);
	say("exec %r\n", sys(__NR_execve, again[0], args, 0));
}
int main(int argc, char **argv)
{
	again = argv;
	if (argc > 1) {
		selector = 1;
		long n = sys(__NR_getppid) > 0;
		selector = 0;
		say("after exec: %l\n", n);
		return 0;
	}
	run("refusals", refusals);
	run("calls", calls);
	run("selector 2", wrong_selector);
	run("selector 255", wrong_selector_255);
	run("selector gone", selector_gone);
	run("selector protected", selector_protected);
	run("no handler", no_handler);
	run("ignored", ignored);
	run("masked", masked);
	run("no selector", no_selector);
	run("nothing allowed", no_selector_at_all);
	run("forks", forks);
	run("threads", threads);
	run("filtered", filtered);
	run("execs", execs);
	return 0;
}
