/* What a user may make the kernel keep: pipes, message queues, queued signals, timers, epoll, files in flight. */
#include "tiny.h"
#include <asm/siginfo.h>
#include <linux/eventpoll.h>
#include <linux/mqueue.h>
#include <linux/resource.h>
#include <linux/socket.h>

#ifdef __NR_setuid32
#define setuid(n) sys(__NR_setuid32, n)
#else
#define setuid(n) sys(__NR_setuid, n)
#endif
#define RTMIN 34

static long limit(int which, long soft)
{
	struct { __u64 soft, hard; } l = { soft, soft };
	return sys(__NR_prlimit64, 0, which, &l, 0);
}

static long timer_id(int timer)
{
	return sys(__NR_timer_delete, timer) ? -1 : timer;
}

static long queue(const char *name, long most, long size)
{
	struct { long flags, maxmsg, msgsize, now, rest[4]; } a = { 0, most, size };
	return sys(__NR_mq_open, name, O_CREAT | O_RDWR, 0600, &a);
}

static void queues(const char *who)
{
	char name[] = "a";
	long fd = 0, first = 0;
	int n = 0;
	limit(RLIMIT_MSGQUEUE, 819200);
	for (; n < 20 && (fd = queue(name, 10, 8192)) >= 0; n++, name[0]++)
		first = first ? first : fd;
	say("%s: %d queues of 10 times 8192, then %r\n", who, n, fd);
	say("one of 1 times 1 %r", queue("z", 1, 1));
	sys(__NR_mq_unlink, "a");
	say(" unlinked %r", queue("b1", 10, 8192) > 0 ? 0L : -EMFILE);
	sys(__NR_close, first);
	say(" closed %r\n", (fd = queue("b2", 10, 8192)) > 0 ? 0L : fd);
	for (name[0] = 'a'; name[0] <= 'z'; name[0]++)
		sys(__NR_mq_unlink, name);
	sys(__NR_mq_unlink, "b1"), sys(__NR_mq_unlink, "b2");
	for (int i = 3; i < 40; i++)
		sys(__NR_close, i);
	if (who[0] == 'u')
		return; /* the limit can only sink */
	/* exactly what one queue costs: messages, their heads (struct msg_msg), and a tree node for each up to 32768 */
	long low = 0, high = 100000;
	while (high - low > 1) {
		long middle = low + (high - low) / 2;
		limit(RLIMIT_MSGQUEUE, middle);
		fd = queue("c", 3, 100);
		if (fd >= 0)
			sys(__NR_close, fd), sys(__NR_mq_unlink, "c"), high = middle;
		else
			low = middle;
	}
	say("3 times 100 needs %s\n", high == 300 + 3 * (sizeof(long) == 8 ? 48 + 48 : 24 + 24) ? "text, heads and nodes" : "something else");
	if (sizeof(long) == 8 && high != 588)
		say("%l\n", high);
}

static void pipes(const char *who)
{
	static int fds[1100][2];
	int n, at[4], shrunk = -1;
	for (n = 0; n < 1100; n++) {
		long ret = sys(__NR_pipe2, fds[n], 0);
		if (ret < 0) {
			say("%s: pipe %d %r\n", who, n, ret);
			break;
		}
		if (shrunk < 0 && sys(__NR_fcntl, fds[n][0], F_GETPIPE_SZ) != 65536)
			shrunk = n;
	}
	at[0] = shrunk;
	say("%s: %d pipes, the first small one %d", who, n, at[0]);
	if (shrunk >= 0)
		say(" with %l bytes", sys(__NR_fcntl, fds[shrunk][0], F_GETPIPE_SZ)),
		say(" grows %r", sys(__NR_fcntl, fds[shrunk][0], F_SETPIPE_SZ, 65536)),
		say(" others shrink %r", sys(__NR_fcntl, fds[0][0], F_SETPIPE_SZ, 4096));
	say(" to 1 MiB %r", sys(__NR_fcntl, fds[1][0], F_SETPIPE_SZ, 1 << 20));
	say(" more %r\n", sys(__NR_fcntl, fds[1][0], F_SETPIPE_SZ, 2 << 20));
	for (int i = 0; i < n; i++)
		sys(__NR_close, fds[i][0]), sys(__NR_close, fds[i][1]);
}

static void signals(const char *who)
{
	ulong mask[2] = { 0, 0 };
	int n = 0;
	long ret = 0;
	char info[128];
	struct { int signo, error, code; } *i = (void *)info;
	mask[(RTMIN - 1) / (8 * sizeof(long))] |= 1UL << (RTMIN - 1) % (8 * sizeof(long));
	mask[0] |= 1UL << (10 - 1) | 1UL << (12 - 1);
	sys(__NR_rt_sigprocmask, 0, mask, 0, 8);
	say("%s: %r", who, limit(RLIMIT_SIGPENDING, 5));
	memset(info, 0, sizeof(info));
	i->signo = RTMIN, i->code = SI_QUEUE;
	for (; n < 20 && !(ret = sys(__NR_rt_sigqueueinfo, sys(__NR_getpid), RTMIN, info)); n++)
		;
	say(" %d signals, then %r", n, ret);
	say(" kill %r", sys(__NR_kill, sys(__NR_getpid), RTMIN));
	i->signo = 10;
	say(" SIGUSR1 %r", sys(__NR_rt_sigqueueinfo, sys(__NR_getpid), 10, info));
	say(" kill SIGUSR2 %r", sys(__NR_kill, sys(__NR_getpid), 12));
	struct { long value; int signo, notify, rest[14]; } e = { 0, 10, 0 };
	int timer;
	say(" timer %r", sys(__NR_timer_create, 1, &e, &timer));
	e.notify = 1;
	say(" none %r\n", sys(__NR_timer_create, 1, &e, &timer));
	char *text = map(0, 65536, 3, 0x22, -1, 0);
	slurp("/proc/self/status", text, 65536);
	for (char *p = text; *p; p++)
		if (!memcmp(p, "SigQ:", 5) || !memcmp(p, "SigPnd:", 7) || !memcmp(p, "ShdPnd:", 7)) {
			while (*p != '\n')
				put(*p++);
			put(' ');
		}
	put('\n');
	struct __kernel_timespec now = { 0, 0 };
	for (n = 0;; n++) {
		memset(info, 0, sizeof(info));
#ifdef __NR_rt_sigtimedwait_time64
		ret = sys(__NR_rt_sigtimedwait_time64, mask, info, &now, 8);
#else
		ret = sys(__NR_rt_sigtimedwait, mask, info, &now, 8);
#endif
		if (ret < 0)
			break;
		say("  %r code %d pid %s\n", ret, i->code, ((int *)info)[3 + (sizeof(long) == 8)] ? "said" : "0");
	}
	if (ret != -EAGAIN)
		say("  %r\n", ret);
	say("  %d taken, then timer %r\n", n, (e.notify = 0, sys(__NR_timer_create, 1, &e, &timer)));
	say("  numbers %r", timer_id(timer));
	sys(__NR_timer_create, 1, &e, &timer);
	say(" %r", timer_id(timer));
	sys(__NR_timer_create, 1, 0, &timer);
	say(" %r\n", timer_id(timer));
}

static void polls(const char *who)
{
	int n = 0;
	long ret = 0, ep = sys(__NR_epoll_create1, 0), other = sys(__NR_epoll_create1, 0);
	struct epoll_event e = { EPOLLIN, 0 };
	long fds[10];
	for (int i = 0; i < 10; i++)
		fds[i] = sys(__NR_eventfd2, 0, 0);
	for (; n < 10 && !(ret = sys(__NR_epoll_ctl, ep, EPOLL_CTL_ADD, fds[n], &e)); n++)
		;
	say("%s: %d watched, then %r", who, n, ret);
	say(" by another %r", sys(__NR_epoll_ctl, other, EPOLL_CTL_ADD, fds[0], &e));
	say(" after one less %r", (sys(__NR_epoll_ctl, ep, EPOLL_CTL_DEL, fds[0], 0), sys(__NR_epoll_ctl, other, EPOLL_CTL_ADD, fds[0], &e)));
	sys(__NR_close, fds[1]);
	say(" after a close %r\n", sys(__NR_epoll_ctl, ep, EPOLL_CTL_ADD, fds[9], &e));
	sys(__NR_close, ep), sys(__NR_close, other);
	for (int i = 0; i < 10; i++)
		sys(__NR_close, fds[i]);
}

static long send_fd(int to, int fd, int count)
{
	struct { size_t len; int level, type, fds[16]; } c = { 0, 1, 1 };
	struct { void *base; size_t len; } v = { "x", 1 };
	struct { void *name; int namelen; void *iov; size_t iovlen; void *control; size_t controllen; unsigned flags; } m = { 0, 0, &v, 1, &c, 0, 0 };
	for (int i = 0; i < count; i++)
		c.fds[i] = fd;
	m.controllen = c.len = offsetof(typeof(c), fds) + 4 * count;
	return sys(__NR_sendmsg, to, &m, 0x40);
}

static void flights(const char *who)
{
	int pair[2], pipe[2], n = 0;
	long ret = 0;
	sys(__NR_socketpair, 1, 1, 0, pair);
	sys(__NR_pipe2, pipe, 0);
	say("%s: %r", who, limit(RLIMIT_NOFILE, 20));
	for (; n < 100 && (ret = send_fd(pair[0], n & 1 ? pair[1] : pipe[0], 3)) == 1; n++)
		;
	say(" %d times 3 sent, then %r\n", n, ret);
	limit(RLIMIT_NOFILE, 1024);
	sys(__NR_close, pair[0]), sys(__NR_close, pair[1]), sys(__NR_close, pipe[0]), sys(__NR_close, pipe[1]);
}

static void as_user(void (*story)(const char *))
{
	long pid = fork();
	if (!pid) {
		setuid(1000);
		story("user");
		leave(0);
	}
	wait_for(pid);
}

int main(int argc, char **argv)
{
	static const char *const shown[] = { "pipe-user-pages-soft", "pipe-user-pages-hard", "pipe-max-size" };
	char text[64];
	for (int i = 0; i < 3; i++) {
		char path[64] = "/proc/sys/fs/";
		memcpy(path + 13, shown[i], strlen(shown[i]) + 1);
		say("%s %l: %s", shown[i], slurp(path, text, 64), text);
	}
	as_user(queues);
	queues("root");
	limit(RLIMIT_NOFILE, 4096);
	pipes("root");
	as_user(pipes);
	say("soft 32 %r\n", spit("/proc/sys/fs/pipe-user-pages-soft", "32\n"));
	as_user(pipes);
	say("soft 16384, hard 64 %r", spit("/proc/sys/fs/pipe-user-pages-soft", "16384\n"));
	say(" %r\n", spit("/proc/sys/fs/pipe-user-pages-hard", "64\n"));
	as_user(pipes);
	pipes("root");
	say("hard 0 %r", spit("/proc/sys/fs/pipe-user-pages-hard", "0\n"));
	say(" max 5000 %r", spit("/proc/sys/fs/pipe-max-size", "5000\n"));
	slurp("/proc/sys/fs/pipe-max-size", text, 64);
	say(" %s", text);
	as_user(pipes);
	say("max 0 %r", spit("/proc/sys/fs/pipe-max-size", "0\n"));
	slurp("/proc/sys/fs/pipe-max-size", text, 64);
	say(" %s", text);
	spit("/proc/sys/fs/pipe-max-size", "1048576\n");
	as_user(signals);
	signals("root");
	say("three %r\n", spit("/proc/sys/fs/epoll/max_user_watches", "3\n"));
	polls("root");
	as_user(polls);
	as_user(flights);
	flights("root");
	return 0;
}
