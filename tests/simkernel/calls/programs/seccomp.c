/* seccomp: strict, filters, what they refuse. */
#include "tiny.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/prctl.h>

#define RET(v) BPF_STMT(BPF_RET | BPF_K, v)
#define NR BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)
#define IF(nr, v) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), RET(v)

static long install(struct sock_filter *f, int n, int flags)
{
	struct sock_fprog p = { n, f };
	return sys(__NR_seccomp, 1, flags, &p);
}
#define INSTALL(...) ({ struct sock_filter f[] = { __VA_ARGS__ }; install(f, sizeof(f) / sizeof(*f), 0); })

static int seen[8];
static void trapped(int sig, void *info, void *context)
{
	int *i = info;
	seen[0] = sig, seen[1] = i[1], seen[2] = i[2], seen[3] = i[(sizeof(long) == 8 ? 6 : 4)];
}

static void child(const char *what, void (*fn)(void))
{
	long pid = fork();
	if (!pid) {
		fn();
		leave(0);
	}
	int status = wait_for(pid);
	say("%s: %s %d\n", what, status & 0x7f ? "signal" : "exit", status & 0x7f ? status & 0x7f : status >> 8);
}

static void strict(void)
{
	say("strict %r\n", sys(__NR_prctl, PR_SET_SECCOMP, 1, 0, 0, 0));
	sys(__NR_write, 1, "still\n", 6);
	sys(__NR_getpid);
}

static void strict_exit(void)
{
	sys(__NR_seccomp, 0, 0, 0);
	sys(__NR_exit, 9);
}

static void errors(void)
{
	say("install %r\n", INSTALL(NR, IF(__NR_getpid, SECCOMP_RET_ERRNO | 77), IF(__NR_getuid, SECCOMP_RET_ERRNO), IF(__NR_getppid, SECCOMP_RET_ERRNO | 0xffff), RET(SECCOMP_RET_ALLOW)));
	say("mode %r\n", sys(__NR_prctl, PR_GET_SECCOMP, 0, 0, 0, 0));
	say("getpid %l getuid %l getppid %l gettid ok %d\n", sys(__NR_getpid), sys(__NR_getuid), sys(__NR_getppid), sys(__NR_gettid) > 0);
	say("second %r\n", INSTALL(NR, IF(__NR_getpid, SECCOMP_RET_ALLOW), RET(SECCOMP_RET_ALLOW)));
	say("still %l\n", sys(__NR_getpid));
	say("third %r\n", INSTALL(NR, IF(__NR_getpid, SECCOMP_RET_TRAP | 5), RET(SECCOMP_RET_ALLOW)));
	on_signal(31, trapped, 4);
	sys(__NR_getpid);
	say("trap %d errno %d code %d nr %d\n", seen[0], seen[1], seen[2], seen[3] == __NR_getpid);
	long pid = fork();
	if (!pid) {
		say("inherited getuid %l\n", sys(__NR_getuid));
		leave(0);
	}
	wait_for(pid);
}

static void arguments(void)
{
	INSTALL(NR, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_close, 0, 4),
#ifdef __s390x__
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 20),
#else
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16),
#endif
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 50, 0, 1), RET(SECCOMP_RET_ERRNO | 22), RET(SECCOMP_RET_ALLOW));
	say("close 60 %r close 40 %r\n", sys(__NR_close, 60), sys(__NR_close, 40));
}

static void kill_process(void) { INSTALL(NR, IF(__NR_getpid, SECCOMP_RET_KILL_PROCESS), RET(SECCOMP_RET_ALLOW)); sys(__NR_getpid); }
static void kill_thread(void) { INSTALL(NR, IF(__NR_getpid, SECCOMP_RET_KILL_THREAD), RET(SECCOMP_RET_ALLOW)); sys(__NR_getpid); }
static void trap(void) { INSTALL(NR, IF(__NR_getpid, SECCOMP_RET_TRAP), RET(SECCOMP_RET_ALLOW)); sys(__NR_getpid); }
static void trace(void)
{
	INSTALL(NR, IF(__NR_getpid, SECCOMP_RET_TRACE), RET(SECCOMP_RET_ALLOW));
	say("trace %r\n", sys(__NR_getpid));
}

static void refusals(void)
{
	unsigned action = SECCOMP_RET_TRAP;
	unsigned short sizes[3];
	say("no ret %r\n", INSTALL(NR));
	say("far %r\n", INSTALL(BPF_JUMP(BPF_JMP | BPF_JA, 5, 0, 0), RET(0)));
	say("odd offset %r\n", INSTALL(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), RET(0)));
	say("beyond %r\n", INSTALL(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), RET(0)));
	say("byte %r\n", INSTALL(BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), RET(0)));
	say("by zero %r\n", INSTALL(BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), RET(0)));
	say("unwritten %r\n", INSTALL(BPF_STMT(BPF_LD | BPF_MEM, 3), RET(0)));
	say("mod %r\n", INSTALL(BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 3), RET(0)));
	say("empty %r\n", install(0, 0, 0));
	say("fault %r\n", sys(__NR_seccomp, 1, 0, 16));
	say("op %r flags %r strict flags %r\n", sys(__NR_seccomp, 9, 0, 0), sys(__NR_seccomp, 1, 1 << 20, 0), sys(__NR_seccomp, 0, 1, 0));
	long ret = sys(__NR_seccomp, 2, 0, &action);
	action = 0x12340000;
	say("action %r other %r\n", ret, sys(__NR_seccomp, 2, 0, &action));
	ret = sys(__NR_seccomp, 3, 0, sizes);
	say("sizes %r %d %d %d\n", ret, sizes[0], sizes[1], sizes[2]);
	say("prctl mode %r\n", sys(__NR_prctl, PR_SET_SECCOMP, 7, 0, 0, 0));
	sys(__NR_setresuid, 1000, 1000, 1000);
	say("unprivileged %r\n", INSTALL(RET(SECCOMP_RET_ALLOW)));
	say("no new privs %r", sys(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	say(" %r\n", INSTALL(RET(SECCOMP_RET_ALLOW)));
}

int main(int argc, char **argv)
{
	static char text[4096];
	child("strict", strict);
	child("strict exit", strict_exit);
	child("errors", errors);
	child("arguments", arguments);
	child("kill process", kill_process);
	child("kill thread", kill_thread);
	child("trap", trap);
	child("trace", trace);
	child("refusals", refusals);
	INSTALL(RET(SECCOMP_RET_ALLOW));
	slurp("/proc/self/status", text, sizeof(text));
	for (char *p = text; *p; p++)
		if (!memcmp(p, "\nSeccomp", 8)) {
			char *q = p + 1;
			while (*q && *q != '\n')
				q++;
			*q = 0;
			say("%s\n", p + 1);
			*q = '\n';
		}
	return 0;
}
