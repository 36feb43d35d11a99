/* prctl's options, syscall user dispatch, seccomp's listeners. */
#include "tiny.h"
#include <linux/filter.h>
#include <linux/ioctl.h>
#include <linux/seccomp.h>
#include <linux/prctl.h>

static long pr(int o, ulong a, ulong b, ulong c, ulong d) { return sys(__NR_prctl, o, a, b, c, d); }

static void options(void)
{
	int out = 7;
	for (int o = 1; o <= 66; o++) {
		if (o == 5 || o == 6 || (o >= 9 && o <= 12) || o == 16 || o == 15 || o == 19 || o == 20 || o == 22 || o == 25 || o == 26 || o == 35 || o == 38 || o == 40 ||
		    o == 43 || o == 44 || o == 45 || o == 46 || o == 50 || o == 51 || o == 52 || o == 53 || (o >= 54 && o <= 56) || o == 59 || o == 61 || o == 62)
			continue;
		say("%d: %r", o, pr(o, 1, 2, 3, 4));
		say(" %r", pr(o, (ulong)&out, 0, 0, 0));
		say(" %r\n", pr(o, 0, 0, 0, 0));
	}
	say("dumpable %r %r keepcaps %r", pr(4, 2, 0, 0, 0), pr(3, 0, 0, 0, 0), pr(8, 1, 0, 0, 0));
	say(" %r", pr(7, 0, 0, 0, 0));
	say(" off %r\n", pr(8, 0, 0, 0, 0));
	say("securebits %r", pr(28, 0x2f, 0, 0, 0));
	say(" %x back %r unknown %r", pr(27, 0, 0, 0, 0), pr(28, 0, 0, 0, 0), pr(28, 0x12f, 0, 0, 0));
	say(" keepcaps %r\n", pr(8, 1, 0, 0, 0));
	say("ambient set? %r raise %r", pr(47, 1, 5, 0, 0), pr(47, 2, 5, 0, 0));
	say(" lower %r clear %r with more %r unknown %r cap %r\n", pr(47, 3, 5, 0, 0), pr(47, 4, 0, 0, 0), pr(47, 4, 5, 0, 0), pr(47, 9, 5, 0, 0), pr(47, 1, 64, 0, 0));
	say("bounding %r", pr(23, 12, 0, 0, 0));
	say(" drop %r", pr(24, 12, 0, 0, 0));
	say(" %r beyond %r %r\n", pr(23, 12, 0, 0, 0), pr(23, 99, 0, 0, 0), pr(24, 99, 0, 0, 0));
}

static volatile char selector;
static int caught[3];
static void dispatched(int sig, void *info, void *context)
{
	int *i = info;
	caught[0] = sig, caught[1] = i[2], caught[2] = i[sizeof(long) == 8 ? 6 : 4];
	selector = 0;
}

static void dispatch(void)
{
	say("on %r", pr(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, (ulong)&selector));
	say(" off with more %r mode %r range %r selector %r\n", pr(PR_SET_SYSCALL_USER_DISPATCH, 0, 1, 0, 0), pr(PR_SET_SYSCALL_USER_DISPATCH, 2, 0, 0, 0),
	    pr(PR_SET_SYSCALL_USER_DISPATCH, 1, -1UL, 2, 0), pr(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, -1UL << 12));
	on_signal(31, dispatched, 0);
	selector = 1;
	sys(__NR_getppid);
	say("caught %d code %d call %s\n", caught[0], caught[1], caught[2] == __NR_getppid ? "getppid" : "another");
	long pid = fork();
	if (!pid) {
		selector = 1;
		leave(sys(__NR_getppid) > 0 ? 3 : 4); /* a child is not under it */
	}
	say("child %d\n", wait_for(pid) >> 8);
	pid = fork();
	if (!pid) {
		pr(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, (ulong)&selector);
		selector = 7;
		sys(__NR_getppid);
		leave(1);
	}
	say("bad selector: signal %d\n", wait_for(pid) & 127);
	say("off %r\n", pr(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0));
}

static void listener(void)
{
	struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getppid, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0x7fc00000), BPF_STMT(BPF_RET | BPF_K, 0x7fff0000) };
	struct sock_fprog p = { 4, f };
	struct seccomp_notif n;
	struct seccomp_notif_resp r;
	long fd = sys(__NR_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p);
	say("listener %s second %r\n", fd > 2 ? "yes" : "no", sys(__NR_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p));
	say("send nothing %r valid %r", (memset(&r, 0, sizeof r), sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_SEND, &r)), sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &r.id));
	memset(&n, 1, sizeof n);
	say(" dirty %r unknown %r\n", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_RECV, &n), sys(__NR_ioctl, fd, 0x1234, 0));
	for (int round = 0; round < 4; round++) {
		long pid = fork();
		if (!pid) {
			long got = sys(__NR_getppid, 11, 22, 33, 44, 55, 66);
			leave(got == 4711 ? 1 : got == -EXDEV ? 2 : got > 0 && got < 100 ? 3 : got > 0 ? 4 : 5);
		}
		memset(&n, 0, sizeof n);
		say("recv %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_RECV, &n));
		say(" nr %s pid %s args %l %l flags %d", n.data.nr == __NR_getppid ? "ok" : "no", (long)n.pid == pid ? "ok" : "no", (long)n.data.args[0], (long)n.data.args[5], n.flags);
		memset(&r, 0, sizeof r);
		r.id = n.id;
		if (round == 0)
			r.val = 4711;
		else if (round == 1)
			r.error = -EXDEV;
		else if (round == 2)
			r.flags = 1;
		else {
			struct seccomp_notif_addfd a = { n.id, 2, 1, 0, 0 };
			say(" add %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD, &a));
		}
		if (round < 3) {
			say(" send %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_SEND, &r));
			nap(30);
			say(" again %r", sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_SEND, &r));
		}
		int status = wait_for(pid) >> 8;
		say(" exit %d\n", round == 2 && status == 4 ? 3 : status);
	}
	long pid = fork();
	if (!pid) {
		sys(__NR_close, fd);
		leave(sys(__NR_getppid) == -ENOSYS ? 6 : 7);
	}
	memset(&n, 0, sizeof n);
	sys(__NR_ioctl, fd, SECCOMP_IOCTL_NOTIF_RECV, &n);
	sys(__NR_close, fd);
	say("closed: exit %d\n", wait_for(pid) >> 8);
}

int main(int argc, char **argv)
{
	long pid = fork();
	if (!pid) {
		options();
		leave(0);
	}
	wait_for(pid);
	dispatch();
	listener();
	return 0;
}
