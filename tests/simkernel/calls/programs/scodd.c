/* seccomp with odd arguments: filters that are none, flags, actions and their order, threads, notifications with files. not: s390x i386 */
#include "tiny.h"
#include <asm/ioctl.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <linux/audit.h>
#include <linux/ptrace.h>
#include <linux/prctl.h>
#define FILTER(...) ({ static struct sock_filter code_[] = { __VA_ARGS__ }; static struct sock_fprog prog_; prog_.len = sizeof(code_) / 8; prog_.filter = code_; &prog_; })
#define LOAD(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, n)
#define RET(v) BPF_STMT(BPF_RET | BPF_K, v)
#define ONLY(nr, v) FILTER(LOAD(0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), RET(v), RET(SECCOMP_RET_ALLOW))
static long set(long op, long flags, void *p) { return sys(__NR_seccomp, op, flags, p); }
static char stack[16384] __attribute__((aligned(16)));
static int status(void)
{
	static char text[4096];
	long n = slurp("/proc/self/status", text, sizeof(text));
	for (long i = 0; i < n; i++)
		if (!memcmp(text + i, "Seccomp:\t", 9))
			return text[i + 9] - '0';
	return -1;
}
static void in_child(const char *what, void (*body)(void))
{
	long pid = fork();
	if (!pid)
		sys(__NR_alarm, 10), body(), leave(0);
	say("%s -> %x\n", what, (long)wait_for(pid));
}
static void arguments(void)
{
	unsigned action;
	static const unsigned actions[] = { SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO, SECCOMP_RET_USER_NOTIF, SECCOMP_RET_TRACE, SECCOMP_RET_LOG, SECCOMP_RET_ALLOW, 0x12340000, 1, SECCOMP_RET_ERRNO | 5 };
	struct seccomp_notif_sizes sizes = { 0 };
	say("odd operation %r flags %r strict with args %r with flags %r\n", set(9, 0, 0), set(SECCOMP_SET_MODE_FILTER, 1 << 20, FILTER(RET(SECCOMP_RET_ALLOW))), set(SECCOMP_SET_MODE_STRICT, 0, &action), set(SECCOMP_SET_MODE_STRICT, 1, 0));
	for (unsigned i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		action = actions[i], say("action %x %r\n", (long)action, set(SECCOMP_GET_ACTION_AVAIL, 0, &action));
	say("actions flags %r nowhere %r", set(SECCOMP_GET_ACTION_AVAIL, 1, &action), set(SECCOMP_GET_ACTION_AVAIL, 0, (void *)8)), say(" sizes %r", set(SECCOMP_GET_NOTIF_SIZES, 0, &sizes)), say(" %d %d %d flags %r\n", sizes.seccomp_notif, sizes.seccomp_notif_resp, sizes.seccomp_data, set(SECCOMP_GET_NOTIF_SIZES, 1, &sizes));
	say("flags: tsync and listener %r", set(1, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_NEW_LISTENER, FILTER(RET(SECCOMP_RET_ALLOW)))), say(" wait alone %r", set(1, 1 << 5, FILTER(RET(SECCOMP_RET_ALLOW)))), say(" esrch alone %r\n", set(1, 1 << 4, FILTER(RET(SECCOMP_RET_ALLOW))));
	struct sock_fprog none = { 0, 0 }, nowhere = { 1, (void *)8 }, large = { 5000, (void *)8 };
	say("none %r nowhere %r large %r prog nowhere %r\n", set(1, 0, &none), set(1, 0, &nowhere), set(1, 0, &large), set(1, 0, (void *)8));
	say("no return %r", set(1, 0, FILTER(LOAD(0)))), say(" word beyond %r", set(1, 0, FILTER(LOAD(64), RET(0x7fff0000)))), say(" unaligned %r", set(1, 0, FILTER(LOAD(2), RET(0x7fff0000)))), say(" byte %r", set(1, 0, FILTER(BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), RET(0x7fff0000)))), say(" indirect %r", set(1, 0, FILTER(BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0), RET(0x7fff0000))));
	say(" length %r", set(1, 0, FILTER(BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), RET(0x7fff0000)))), say(" divide by 0 %r", set(1, 0, FILTER(BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), RET(0x7fff0000)))), say(" jump out %r", set(1, 0, FILTER(BPF_STMT(BPF_JMP | BPF_JA, 9), RET(0x7fff0000)))), say(" modulo %r", set(1, 0, FILTER(BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, 3), RET(0x7fff0000)))), say(" slot unset %r\n", set(1, 0, FILTER(BPF_STMT(BPF_LD | BPF_MEM, 3), RET(0x7fff0000))));
	say("status %d prctl %r strict by prctl %r odd %r\n", status(), sys(__NR_prctl, PR_GET_SECCOMP), sys(__NR_prctl, PR_SET_SECCOMP, 3, 0), sys(__NR_prctl, PR_SET_SECCOMP, 2, 0));
}
static void unprivileged(void)
{
	sys(__NR_setresuid, 1000, 1000, 1000);
	say("without no_new_privs %r", set(1, 0, FILTER(RET(SECCOMP_RET_ALLOW)))), say(" set %r", sys(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)), say(" then %r status %d\n", set(1, 0, FILTER(RET(SECCOMP_RET_ALLOW))), status());
	say("strict after a filter %r\n", set(0, 0, 0));
}
static void order(void) /* the strictest of several wins, whoever came first */
{
	set(1, 0, ONLY(__NR_getppid, SECCOMP_RET_ERRNO | 7)), say("one %r\n", sys(__NR_getppid) > 0 ? 0 : sys(__NR_getppid));
	set(1, 0, ONLY(__NR_getppid, SECCOMP_RET_ERRNO | 11)), say("two of a kind %r\n", sys(__NR_getppid));
	set(1, 0, ONLY(__NR_getppid, SECCOMP_RET_LOG)), say("and log %r\n", sys(__NR_getppid));
	set(1, 0, ONLY(__NR_getppid, SECCOMP_RET_TRACE | 3)), say("and trace %r\n", sys(__NR_getppid));
	set(1, 0, ONLY(__NR_getpgid, SECCOMP_RET_TRACE | 3)), say("trace alone %r\n", sys(__NR_getpgid, 0));
	set(1, 0, ONLY(__NR_getsid, SECCOMP_RET_ERRNO | 5000)), say("errno 5000 %r\n", sys(__NR_getsid, 0));
	set(1, 0, ONLY(__NR_getuid, SECCOMP_RET_ERRNO)), say("errno 0 %r\n", sys(__NR_getuid));
	set(1, 0, ONLY(__NR_getgid, 0x12345678)), say("odd action kills\n"), sys(__NR_getgid), say("not reached\n");
}
static volatile struct { int signo, errno_, code, pad; ulong addr; int call; unsigned arch; } seen;
static void handler(int sig, void *info, void *context) { memcpy((void *)&seen, info, sizeof(seen)); }
static void trap(void)
{
	on_signal(31, handler, 0x40000000);
	set(1, 0, ONLY(__NR_getppid, SECCOMP_RET_TRAP | 99));
	long ret = sys(__NR_getppid, 1, 2, 3);
	say("trap %r signo %d errno %d code %d call %d arch %x\n", ret == __NR_getppid ? -1 : ret, seen.signo, seen.errno_, seen.code, seen.call, (long)seen.arch);
	block_signals(0, SIGBIT(31)), say("blocked\n"), sys(__NR_getppid), say("not reached\n");
}
static void strict(void) { say("strict %r\n", set(0, 0, 0)), sys(__NR_getpid), say("not reached\n"); }
static void strict_exit(void) { set(0, 0, 0), sys(__NR_write, 1, "written\n", 8), sys(__NR_exit, 5); }
static void x32(void) { set(1, 0, ONLY(0x40000000 + __NR_getppid, SECCOMP_RET_ERRNO | 9)), say("x32 number %r none %r\n", sys(0x40000000 + __NR_getppid), sys(9999)); }
static void skip(void) { set(1, 0, FILTER(LOAD(0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)-1, 0, 1), RET(SECCOMP_RET_ERRNO | 6), RET(SECCOMP_RET_ALLOW))), say("number -1 %r 600 %r\n", sys(-1), sys(600)); }
static volatile int go, result;
static int thread(void *arg)
{
	while (!go)
		nap(1);
	result = sys(__NR_getppid) == -7 ? 7 : 1;
	for (;;)
		nap(1000);
	return 0;
}
static int diverge(void *arg)
{
	set(1, 0, FILTER(RET(SECCOMP_RET_ALLOW)));
	go = 1;
	for (;;)
		nap(1000);
	return 0;
}
static void tsync(void)
{
	start_thread(thread, 0, 0x10f00, stack + sizeof(stack)), nap(10);
	say("tsync %r\n", set(1, SECCOMP_FILTER_FLAG_TSYNC, ONLY(__NR_getppid, SECCOMP_RET_ERRNO | 7)));
	go = 1;
	for (int i = 0; i < 100 && !result; i++)
		nap(5);
	say("thread got %d\n", result);
}
static void tsync_fails(void)
{
	long tid = start_thread(diverge, 0, 0x10f00, stack + sizeof(stack)), ret;
	while (!go)
		nap(1);
	ret = set(1, SECCOMP_FILTER_FLAG_TSYNC, ONLY(__NR_getppid, SECCOMP_RET_ERRNO | 7));
	say("diverged: %s", ret == tid ? "its number" : error_name(-ret)), say(" with esrch %r", set(1, SECCOMP_FILTER_FLAG_TSYNC | (1 << 4), ONLY(__NR_getppid, SECCOMP_RET_ERRNO | 7))), say(" mode %d\n", status());
}
static void notify(void)
{
	long fd = set(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, ONLY(__NR_getppid, SECCOMP_RET_USER_NOTIF)), pid;
	struct seccomp_notif n;
	struct seccomp_notif_resp r;
	struct seccomp_notif_addfd a;
	say("listener %d another %r", fd > 0, set(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, ONLY(__NR_getppid, SECCOMP_RET_USER_NOTIF))), say(" poll %x read %r\n", (long)polled(fd, 5), sys(__NR_read, fd, &n, 8));
	for (int round = 0; round < 6; round++) {
		pid = fork();
		if (!pid) {
			sys(__NR_close, fd);
			long got = sys(__NR_getppid, 11, 22, 33);
			leave(got < 0 ? -got : got & 127);
		}
		memset(&n, 0, sizeof(n)), n.flags = round == 1;
		if (round == 1)
			say(" dirty %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_RECV, &n)), memset(&n, 0, sizeof(n));
		say(" receive %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_RECV, &n)), say(" call %d arguments %L %L %L flags %x theirs %d valid %r other %r poll %x\n", n.data.nr - __NR_getppid, (long long)n.data.args[0], (long long)n.data.args[1], (long long)n.data.args[2], (long)n.flags, n.pid == pid,
		    sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &n.id), (n.id++, sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &n.id)), (long)polled(fd, 5));
		n.id--;
		memset(&r, 0, sizeof(r)), r.id = n.id, memset(&a, 0, sizeof(a)), a.id = n.id, a.srcfd = 1;
		if (round == 0)
			r.val = 1234;
		else if (round == 1)
			r.error = -13, r.val = 5;
		else if (round == 2) {
			r.flags = 2, say(" odd flags %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_SEND, &r));
			r.flags = 1, r.val = 3, say(" continue with a value %r\n", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_SEND, &r));
			r.val = 0, r.flags = 0, r.error = 5;
		} else if (round == 3) {
			a.flags = 9, say(" add: flags %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, &a)), a.flags = 0, a.newfd = 77, say(" number %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, &a)), a.newfd = 0, a.newfd_flags = 5, say(" file flags %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, &a)), a.newfd_flags = 0;
			a.srcfd = 99, say(" no file %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, &a)), a.srcfd = 1, a.id++, say(" no call %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, &a)), a.id--, a.flags = SECCOMP_ADDFD_FLAG_SETFD, a.newfd = 33, say(" set %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, &a)), a.flags = 0, a.newfd = 0, say(" any %r\n", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, &a));
			r.error = -1;
		} else if (round == 4) {
			a.flags = SECCOMP_ADDFD_FLAG_SEND, say(" add and send %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, &a)), say(" again %r\n", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, &a));
		} else
			sys(__NR_kill, pid, 9), nap(50);
		say(" send %r\n", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_SEND, &r));
		say(" ends %x\n", (long)wait_for(pid));
	}
	say(" poll at the end %x\n", (long)polled(fd, 5));
	pid = fork();
	if (!pid) {
		sys(__NR_close, fd);
		say(" nobody listens %r\n", (nap(50), sys(__NR_getppid)));
		leave(0);
	}
	sys(__NR_close, fd), wait_for(pid);
}
int main(int argc, char **argv)
{
	in_child("arguments", arguments), in_child("unprivileged", unprivileged), in_child("order", order), in_child("trap", trap), in_child("strict", strict), in_child("strict exit", strict_exit), in_child("x32", x32), in_child("skip", skip);
	in_child("tsync", tsync), go = result = 0, in_child("tsync fails", tsync_fails), in_child("notify", notify);
	return 0;
}
