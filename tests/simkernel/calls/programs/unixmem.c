/* How much a unix socket holds before its sender waits, when it may be written again; what becomes of sockets that hang in each other. not: i386 (its packets are smaller) */
#include "tiny.h"
#include <linux/socket.h>
#define send(fd, p, n) sys(__NR_sendto, fd, p, n, 0x4040, 0, 0)
static char bytes[300000];

static void fill(const char *what, int type, int size)
{
	int pair[2], n = 0, left = 0;
	long sent = 0, ret;
	sys(__NR_socketpair, 1, type, 0, pair);
	while ((ret = send(pair[0], bytes, size)) > 0)
		n++, sent += ret;
	say("%s %d: %d times, %l bytes, then %r, poll %d", what, size, n, sent, ret, polled(pair[0], POLLOUT));
	while (!(polled(pair[0], POLLOUT) & POLLOUT) && left < 2000)
		left++, sys(__NR_recvfrom, pair[1], bytes, size, 0, 0, 0);
	say(" writable after %d", left);
	for (n = 0; (ret = send(pair[0], bytes, size)) > 0; n++)
		;
	say(" for %d more\n", n);
	sys(__NR_close, pair[0]), sys(__NR_close, pair[1]);
}

static void names(void)
{
	struct { unsigned short family; char path[12]; } a = { 1, "\0there" };
	int to = sys(__NR_socket, 1, 2, 0), from = sys(__NR_socket, 1, 2, 0), n = 0;
	long ret = sys(__NR_bind, to, &a, 8);
	say("bind %r connect %r:", ret, sys(__NR_connect, from, &a, 8));
	while ((ret = send(from, bytes, 10)) > 0)
		n++;
	say(" %d times, then %r, poll %d", n, ret, polled(from, POLLOUT));
	sys(__NR_recvfrom, to, bytes, 100, 0, 0, 0);
	say(" after one %d", polled(from, POLLOUT));
	say(" to itself");
	sys(__NR_connect, to, &a, 8);
	for (n = 0; (ret = send(to, bytes, 10)) > 0; n++)
		;
	say(" %d\n", n);
	sys(__NR_close, to), sys(__NR_close, from);
}

static long pass(int to, int fd)
{
	struct { size_t len; int level, type, fds[2]; } c = { offsetof(typeof(c), fds) + 4, 1, 1, { fd } };
	struct { void *base; size_t len; } v = { "x", 1 };
	struct { void *name; int namelen; void *iov; size_t iovlen; void *control; size_t controllen; unsigned flags; } m = { 0, 0, &v, 1, &c, sizeof(c), 0 };
	m.controllen = c.len;
	return sys(__NR_sendmsg, to, &m, 0x4040);
}

/* the write end of a pipe hangs in the cycle: its reader sees the end when the cycle is gone */
static int ended(int fd)
{
	char c;
	return sys(__NR_read, fd, &c, 1) == 0;
}

static void cycle(int count, int type, const char *what)
{
	int pairs[3][2], p[2];
	sys(__NR_pipe2, p, 04000);
	for (int i = 0; i < count; i++)
		sys(__NR_socketpair, 1, type, 0, pairs[i]);
	say("%s %d:", what, count);
	say(" pipe %r", pass(pairs[0][0], p[1]));
	for (int i = 0; i < count; i++) /* what was sent by [0] lies in [1]: each [1] into the next one */
		say(" %r", pass(pairs[(i + 1) % count][0], pairs[i][1]));
	sys(__NR_close, p[1]);
	say(" open %d", ended(p[0]));
	for (int i = 0; i < count; i++)
		sys(__NR_close, pairs[i][1]);
	say(" half %d", ended(p[0]));
	for (int i = 0; i < count; i++)
		sys(__NR_close, pairs[i][0]);
	/* since 6.10 a worker collects */
	for (int i = 0; i < 50 && !ended(p[0]); i++) {
		int other[2];
		sys(__NR_socketpair, 1, 1, 0, other);
		sys(__NR_close, other[0]), sys(__NR_close, other[1]);
		nap(2);
	}
	say(" closed %d\n", ended(p[0]));
	sys(__NR_close, p[0]);
}

static void reachable(void)
{
	int a[2], b[2], p[2];
	char control[64], c;
	sys(__NR_pipe2, p, 04000);
	sys(__NR_socketpair, 1, 1, 0, a);
	sys(__NR_socketpair, 1, 1, 0, b);
	pass(b[0], p[1]);
	pass(b[0], b[1]); /* a cycle of one ... */
	pass(a[0], b[1]); /* ... that can be had through another */
	sys(__NR_close, p[1]), sys(__NR_close, b[0]), sys(__NR_close, b[1]);
	for (int i = 0; i < 3; i++) {
		int other[2];
		sys(__NR_socketpair, 1, 1, 0, other);
		sys(__NR_close, other[0]), sys(__NR_close, other[1]);
	}
	say("reachable: %d", ended(p[0]));
	struct { void *base; size_t len; } v = { &c, 1 };
	struct { void *name; int namelen; void *iov; size_t iovlen; void *control; size_t controllen; unsigned flags; } m = { 0, 0, &v, 1, control, sizeof(control), 0 };
	say(" received %r", sys(__NR_recvmsg, a[1], &m, 0));
	int got = *(int *)(control + sizeof(size_t) + 8);
	say(" then %r", sys(__NR_recvmsg, got, (m.controllen = sizeof(control), &m), 0));
	int writer = *(int *)(control + sizeof(size_t) + 8);
	say(" its pipe %r\n", sys(__NR_write, writer, "y", 1));
	sys(__NR_close, writer), sys(__NR_close, got), sys(__NR_close, a[0]), sys(__NR_close, a[1]), sys(__NR_close, p[0]);
}

static void chain(int length)
{
	int p[2], pair[2], last;
	sys(__NR_pipe2, p, 04000);
	last = p[1];
	for (int i = 0; i < length; i++) {
		sys(__NR_socketpair, 1, 1, 0, pair);
		pass(pair[0], last);
		sys(__NR_close, last), sys(__NR_close, pair[0]);
		last = pair[1];
	}
	say("chain of %d: %d", length, ended(p[0]));
	sys(__NR_close, last);
	for (int i = 0; i < 50 && !ended(p[0]); i++)
		nap(2);
	say(" closed %d\n", ended(p[0]));
	sys(__NR_close, p[0]);
}

static void pending(void)
{
	struct { unsigned short family; char path[12]; } a = { 1, "\0cycle" };
	int listener = sys(__NR_socket, 1, 1, 0), client = sys(__NR_socket, 1, 1, 0), p[2];
	sys(__NR_pipe2, p, 04000);
	sys(__NR_bind, listener, &a, 8), sys(__NR_listen, listener, 5);
	say("not accepted: %r", sys(__NR_connect, client, &a, 8));
	say(" %r %r", pass(client, p[1]), pass(client, listener));
	sys(__NR_close, p[1]), sys(__NR_close, listener);
	say(" open %d", ended(p[0]));
	sys(__NR_close, client);
	for (int i = 0; i < 50 && !ended(p[0]); i++)
		nap(2);
	say(" closed %d\n", ended(p[0]));
	sys(__NR_close, p[0]);
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 1, 100, 1000, 4096, 20000, 70000 };
	static const struct { const char *name; int type; } types[] = { { "stream", 1 }, { "dgram", 2 }, { "seqpacket", 5 } };
	for (int t = 0; t < 3; t++)
		for (int i = 0; i < 6; i++)
			fill(types[t].name, types[t].type, sizes[i]);
	names();
	for (int n = 1; n < 4; n++) {
		cycle(n, 1, "stream");
		cycle(n, 2, "dgram");
	}
	reachable();
	chain(100);
	pending();
	return 0;
}
