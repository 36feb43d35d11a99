/* What packets are charged to sockets: full receive buffers of UDP, full send buffers of AF_UNIX, pieces of packets, by size. */
/* not: i386: other sizes of struct sk_buff */
/* not: s390x: the same */
#include "tiny.h"

static char buf[60000];
static const int sizes[] = { 0, 1, 128, 133, 134, 500, 700, 1600, 4000, 8000, 16000, 30000, 60000 };
#define SIZES (sizeof(sizes) / sizeof(*sizes))

static long send_to(long fd, const void *p, long size, const void *to, int length)
{
	return sys(__NR_sendto, fd, p, size, 0, to, length);
}

static void tell(const char *what, long fd)
{
	unsigned m[9] = { 0 };
	int length = sizeof(m);
	sys(__NR_getsockopt, fd, 1, 55, m, &length);
	say(" %s rmem %d wmem %d drops %d", what, m[0], m[2], m[8]);
}

static void datagrams(int family)
{
	for (unsigned i = 0; i < SIZES; i++) {
		long s = sys(__NR_socket, family, 2, 0), r = sys(__NR_socket, family, 2, 0);
		unsigned char a[28] = { family, 0, 0x20, i };
		int length = family == 2 ? 16 : 28, got = 0;
		if (family == 2)
			a[4] = 127, a[7] = 1;
		else
			a[23] = 1;
		say("%d: %d %r", family, sizes[i], sys(__NR_bind, r, a, length));
		say(" %r", send_to(s, buf, sizes[i], a, length));
		tell("one", r);
		for (int n = 0; n < 300; n++)
			send_to(s, buf, sizes[i], a, length);
		tell("full", r);
		while (sys(__NR_recvfrom, r, buf, sizeof(buf), 0x40, 0, 0) >= 0)
			got++;
		say(" %d\n", got);
		sys(__NR_close, s);
		sys(__NR_close, r);
	}
}

static void pairs(int type)
{
	for (unsigned i = type == 1; i < SIZES; i++) {
		int v[2], sent = 0;
		long n, sum = 0;
		struct { int fd; short events, got; } p;
		sys(__NR_socketpair, 1, type, 0, v);
		while ((n = sys(__NR_sendto, v[0], buf, sizes[i], 0x40, 0, 0)) >= 0)
			sent++, sum += n;
		say("unix %d: %d %r %d times %d", type, sizes[i], n, sent, sum);
		tell("", v[0]);
		p.fd = v[0], p.events = 4; /* when is there room again? */
		for (n = 0; p.got = 0, sys(__NR_poll, &p, 1, 0) == 0; n++)
			sys(__NR_recvfrom, v[1], buf, sizes[i] ? sizes[i] : 1, 0x40, 0, 0);
		say(" writable after %d", n);
		tell("", v[0]);
		say("\n");
		sys(__NR_close, v[0]);
		sys(__NR_close, v[1]);
	}
}

static void named(void) /* nobody's peer: ten may wait, and one more */
{
	long r = sys(__NR_socket, 1, 2, 0), s = sys(__NR_socket, 1, 2, 0), n;
	char name[8] = { 1, 0, 0, 'c', 'h' };
	int sent = 0;
	say("bind %r", sys(__NR_bind, r, name, 5));
	say(" connect %r\n", sys(__NR_connect, s, name, 5));
	while ((n = sys(__NR_sendto, s, buf, 10, 0x40, 0, 0)) >= 0)
		sent++;
	say("named %d %r", sent, n);
	tell("", s);
	say("\n");
	sys(__NR_close, r);
	n = sys(__NR_sendto, s, buf, 10, 0x40, 0, 0);
	say("after close %r", n);
	tell("", s);
	n = sys(__NR_sendto, s, buf, 10, 0x40, 0, 0);
	say(" again %r\n", n);
}

static void fragments(void)
{
	static char text[4096];
	static const unsigned char to[16] = { 2, 0, 0, 0, 127, 0, 0, 1 };
	long s = sys(__NR_socket, 2, 3, 255);
	for (int i = 0; i < 2000; i++) {
		int size = 20 + (i < 4 ? i * 400 + 8 : 1400);
		unsigned char p[20] = { 0x45, 0, size >> 8, size, 1 + (i >> 8), i, 0x20, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1 };
		memcpy(buf, p, 20);
		long n = send_to(s, buf, size, to, 16);
		if (i < 4 || i % 500 == 499) {
			long end = slurp("/proc/net/sockstat", text, sizeof(text) - 1);
			text[end] = 0;
			char *last = text + end - 1;
			while (last > text && last[-1] != '\n')
				last--;
			say("%d %r %s", i, n, last);
		}
	}
}

int main(int argc, char **argv)
{
	struct { char name[16]; short flags; char rest[22]; } up = { "lo", 0x49 };
	sys(__NR_ioctl, sys(__NR_socket, 2, 2, 0), 0x8914, &up);
	datagrams(2);
	datagrams(10);
	pairs(1);
	pairs(2);
	named();
	fragments();
	return 0;
}
