/* Urgent bytes of TCP and of unix sockets, SIGURG, the file of a unix socket, sleeps by CPU time. */
#include "tiny.h"
#include <linux/socket.h>
#define OOB 1
#define PEEK 2
#define DONTWAIT 0x40
#define send(fd, p, n, f) sys(__NR_sendto, fd, p, n, f, 0, 0)

static volatile int urged;
static void on_urg(int sig, void *info, void *context) { urged++; }

static void state(const char *what, int fd)
{
	int mark = -1, queued = -1;
	long ret = sys(__NR_ioctl, fd, 0x8905, &mark);
	nap(5);
	ret = sys(__NR_ioctl, fd, 0x8905, &mark);
	sys(__NR_ioctl, fd, 0x541b, &queued);
	say("%s: poll %x mark %r %d queued %d SIGURG %d\n", what, (long)polled(fd, 0x3ff), ret, mark, queued, urged);
	urged = 0;
}

static void got(const char *what, int fd, int size, int flags)
{
	static char buf[64];
	struct { void *base; size_t len; } v = { buf, size };
	struct { void *name; int namelen; void *iov; size_t iovlen; void *control; size_t controllen; unsigned flags; } m = { 0, 0, &v, 1 };
	long n = sys(__NR_recvmsg, fd, &m, flags | DONTWAIT);
	say("%s: %r", what, n);
	if (n >= 0) {
		buf[n] = 0;
		say(" '%s' flags %x", buf, (long)m.flags);
	}
	say("\n");
}

static void set_inline(int fd, int on) { sys(__NR_setsockopt, fd, 1, 10, &on, 4); }

static void story(const char *name, int a, int b)
{
	int me = sys(__NR_getpid);
	say("-- %s\n", name);
	say("own %r\n", sys(__NR_fcntl, b, 8, me));
	state("nothing", b);
	got("urgent of nothing", b, 10, OOB);
	say("send %r\n", send(a, "ab!", 3, OOB));
	state("ab!", b);
	got("peek", b, 10, PEEK);
	got("peek urgent", b, 10, OOB | PEEK);
	got("no room", b, 0, OOB);
	state("before", b);
	got("first", b, 10, 0);
	state("at the mark", b);
	got("urgent", b, 10, OOB);
	got("urgent again", b, 10, OOB);
	state("taken", b);
	send(a, "cd", 2, 0);
	state("cd", b);
	got("rest", b, 10, 0);
	state("empty", b);
	send(a, "e", 1, OOB);
	state("alone", b);
	got("peek alone", b, 10, PEEK);
	got("nothing before", b, 10, 0);
	got("urgent", b, 10, OOB);
	send(a, "f", 1, OOB);
	got("urgent first", b, 10, OOB);
	state("nothing left", b);
	got("nothing left", b, 10, 0);
	send(a, "one!", 4, OOB);
	send(a, "two?", 4, OOB);
	send(a, "three", 5, 0);
	state("two urgent", b);
	got("to the mark", b, 64, 0);
	got("behind", b, 64, 0);
	got("urgent", b, 10, OOB);
	got("behind that", b, 64, 0);
	send(a, "skip!", 5, OOB);
	send(a, "more", 4, 0);
	got("one by one", b, 2, 0), got("one by one", b, 2, 0), got("one by one", b, 2, 0);
	state("passed over", b);
	got("too late", b, 10, OOB);
	got("left", b, 64, 0);
	set_inline(b, 1);
	send(a, "in!", 3, OOB);
	send(a, "line", 4, 0);
	state("inline", b);
	got("urgent inline", b, 10, OOB);
	got("inline", b, 64, 0);
	state("at the mark", b);
	got("inline", b, 64, 0);
	got("inline", b, 64, 0);
	state("behind", b);
	set_inline(b, 0);
	send(a, "last!", 5, OOB);
	say("empty urgent %r\n", send(a, "", 0, OOB));
	sys(__NR_close, a);
	state("closed", b);
	got("last", b, 64, 0);
	got("urgent", b, 10, OOB);
	got("urgent", b, 10, OOB);
	got("end", b, 64, 0);
	state("end", b);
	sys(__NR_close, b);
}

static void tcp(void)
{
	struct { unsigned short family, port; unsigned addr; char zero[8]; } to;
	int listener = sys(__NR_socket, 2, 1, 0), a = sys(__NR_socket, 2, 1, 0), b, len = sizeof(to);
	memset(&to, 0, sizeof(to));
	to.family = 2, memcpy(&to.addr, "\x7f\0\0\1", 4);
	sys(__NR_bind, listener, &to, sizeof(to));
	sys(__NR_listen, listener, 5);
	sys(__NR_getsockname, listener, &to, &len);
	say("connect %r\n", sys(__NR_connect, a, &to, sizeof(to)));
	b = sys(__NR_accept4, listener, 0, 0, 0);
	story("tcp", a, b);
	sys(__NR_close, listener);
}

static void local(void)
{
	int pair[2];
	sys(__NR_socketpair, 1, 1, 0, pair);
	story("unix stream", pair[0], pair[1]);
	sys(__NR_socketpair, 1, 2, 0, pair);
	say("datagram %r %r\n", send(pair[0], "x", 1, OOB), sys(__NR_recvfrom, pair[1], line, 1, OOB | DONTWAIT, 0, 0));
	sys(__NR_socketpair, 1, 5, 0, pair);
	say("seqpacket %r %r\n", send(pair[0], "x", 1, OOB), sys(__NR_recvfrom, pair[1], line, 1, OOB | DONTWAIT, 0, 0));
}

static void file_of_socket(void)
{
	struct { unsigned short family; char path[20]; } a = { 1, "/tmp/of_socket" };
	int fd = sys(__NR_socket, 1, 1, 0), other;
	char buf[64];
	long got;
	say("unbound %r", sys(__NR_ioctl, fd, 0x89e0, 0));
	sys(__NR_unlinkat, AT_FDCWD, a.path, 0);
	sys(__NR_bind, fd, &a, sizeof(a));
	got = sys(__NR_ioctl, fd, 0x89e0, 0);
	say(" bound %s flags %x", got > 2 ? "fd" : "none", sys(__NR_fcntl, got, 1));
	say(" status %x read %r", sys(__NR_fcntl, got, 3) & 010000000, sys(__NR_read, got, buf, 1));
	static char link[40] = "/proc/self/fd/x";
	link[14] = '0' + got;
	buf[sys(__NR_readlinkat, AT_FDCWD, link, buf, 60)] = 0;
	say(" %s\n", buf);
	sys(__NR_close, got), sys(__NR_close, fd);
	other = sys(__NR_socket, 1, 2, 0);
	a.path[0] = 0;
	sys(__NR_bind, other, &a, 10);
	say("abstract %r\n", sys(__NR_ioctl, other, 0x89e0, 0));
	sys(__NR_close, other);
}

static volatile int stop;
static int burn(void *arg)
{
	while (!stop)
		for (volatile int i = 0; i < 1000; i++)
			;
	return 0;
}
#ifdef __NR_clock_nanosleep_time64
#define NANOSLEEP __NR_clock_nanosleep_time64
#define GETTIME __NR_clock_gettime64
#else
#define NANOSLEEP __NR_clock_nanosleep
#define GETTIME __NR_clock_gettime
#endif
static long long cpu_ms(int clock)
{
	struct __kernel_timespec t;
	sys(GETTIME, clock, &t);
	return (long)t.tv_sec * 1000 + (long)t.tv_nsec / 1000000;
}
static char stack[8192] __attribute__((aligned(16)));
static void sleeps(void)
{
	struct __kernel_timespec t = { 0, 50000000 }, left = { 7, 7 };
	long long before, wall;
	int child;
	on_signal(14, on_urg, 0);
	/* nobody works: an alarm ends it */
	struct { struct __kernel_old_timespec interval, value; } alarm = { { 0, 0 }, { 0, 30000 } };
	sys(__NR_setitimer, 0, &alarm, 0);
	say("idle %r", sys(NANOSLEEP, 2, 0, &t, &left));
	say(" left %d\n", left.tv_sec == 0 && (long)left.tv_nsec > 40000000);
	alarm.value.tv_nsec = 30000;
	sys(__NR_setitimer, 0, &alarm, 0);
	t.tv_sec = 100;
	say("idle until %r\n", sys(NANOSLEEP, 2, 1, &t, 0));
	t.tv_sec = 0;
	start_thread(burn, 0, 0x50f00, stack + sizeof(stack));
	before = cpu_ms(2);
	say("busy %r", sys(NANOSLEEP, 2, 0, &t, 0));
	before = cpu_ms(2) - before;
	say(" %d\n", before >= 49 && before < 200);
	before = (long)cpu_ms(2) + 60;
	t.tv_nsec = (long)before % 1000 * 1000000, t.tv_sec = (long)before / 1000;
	say("busy until %r", sys(NANOSLEEP, 2, 1, &t, 0));
	say(" %d\n", cpu_ms(2) >= before);
	t.tv_sec = 0;
	say("past %r", sys(NANOSLEEP, 2, 1, &t, 0));
	stop = 1;
	nap(5);
	say(" thread %r own %r nobody %r self %r\n", sys(NANOSLEEP, 3, 0, &t, 0), sys(NANOSLEEP, ~sys(__NR_gettid) << 3 | 6, 0, &t, 0),
	    sys(NANOSLEEP, ~999999 << 3 | 2, 0, &t, 0), sys(NANOSLEEP, ~0 << 3 | 6, 0, &t, 0));
	child = fork();
	if (!child)
		for (;;)
			;
	t.tv_nsec = 50000000;
	wall = cpu_ms(1);
	before = cpu_ms(~child << 3 | 2);
	say("child's %r", sys(NANOSLEEP, ~child << 3 | 2, 0, &t, 0));
	say(" %d %d\n", cpu_ms(~child << 3 | 2) - before >= 49, cpu_ms(1) - wall >= 40);
	sys(__NR_kill, child, 9);
	wait_for(child);
}

int main(int argc, char **argv)
{
	on_signal(23, on_urg, 0x10000000);
	static struct { char name[16]; short flags; char rest[22]; } lo = { "lo", 0x49 };
	sys(__NR_ioctl, sys(__NR_socket, 2, 2, 0), 0x8914, &lo);
	tcp();
	local();
	file_of_socket();
	sleeps();
	return 0;
}
