/* What ioctl(2) says of sockets: bytes that can be read, that are on their way, marks, owners, times, by kind and by state. */
/* not: i386: other sizes of what packets are charged with */
/* not: s390x: the same */
#include "tiny.h"

static char buf[3000];
static const int commands[] = { 0x541b, 0x5411, 0x8905, 0x8906, 0x8907, 0x894b, 0x8903, 0x8904, 0x8927, 0x8999 };
#define COMMANDS (sizeof(commands) / sizeof(*commands))

static void tell(const char *name, long fd)
{
	say("%s:", name);
	for (unsigned i = 0; i < COMMANDS; i++) {
		int v[16] = { -7 }, stamp = commands[i] == 0x8906 || commands[i] == 0x8907, device = commands[i] == 0x8927;
		if (device)
			memcpy(v, "lo", 3);
		long ret = sys(__NR_ioctl, fd, commands[i], v);
		say(" %x=%r", commands[i], ret);
		if (!ret && !stamp && !device)
			say("/%d", v[0]);
	}
	say("\n");
}

static long send_to(long fd, int size, const void *to, int length) { return sys(__NR_sendto, fd, buf, size, 0, to, length); }
static long get(long fd, int size) { return sys(__NR_recvfrom, fd, buf, size, 0x40, 0, 0); }

static void datagrams(int family, int type, int protocol, const char *name)
{
	unsigned char a[28] = { family, 0, 0x20, 1 };
	int length = family == 2 ? 16 : 28;
	if (family == 2)
		a[4] = 127, a[7] = 1;
	else
		a[23] = 1;
	long s = sys(__NR_socket, family, type, protocol);
	tell(name, s);
	if (type != 2 || protocol)
		return;
	sys(__NR_bind, s, a, length);
	send_to(s, 700, a, length);
	send_to(s, 70, a, length);
	tell("two there", s);
	get(s, 10);
	tell("one read", s);
	get(s, 10);
	tell("none left", s);
	s = sys(__NR_socket, family, 2, 0), a[3]++;
	sys(__NR_bind, s, a, length);
	send_to(s, 7, a, length);
	get(s, 10);
	tell("read before it was asked", s);
}

static void stream(void)
{
	static const unsigned char a[16] = { 2, 0, 0x20, 9, 127, 0, 0, 1 };
	long l = sys(__NR_socket, 2, 1, 0), c = sys(__NR_socket, 2, 1, 0);
	tell("tcp", l);
	sys(__NR_bind, l, a, 16);
	sys(__NR_listen, l, 3);
	tell("listens", l);
	sys(__NR_connect, c, a, 16);
	long d = sys(__NR_accept4, l, 0, 0, 0);
	send_to(c, 1000, 0, 0);
	tell("sender", c);
	tell("receiver", d);
	get(d, 400);
	tell("some read", d);
	sys(__NR_close, c);
	tell("closed", d);
}

static void pair(int type)
{
	static const char kinds[][8] = { "", "stream", "dgram", "", "", "seq" };
	int v[2];
	sys(__NR_socketpair, 1, type, 0, v);
	tell(kinds[type], v[0]);
	send_to(v[0], 700, 0, 0);
	send_to(v[0], 70, 0, 0);
	tell("sender", v[0]);
	tell("receiver", v[1]);
	get(v[1], 10);
	tell("some read", v[1]);
	tell("sender", v[0]);
	sys(__NR_close, v[1]);
	tell("other gone", v[0]);
}

static void owner(void)
{
	long s = sys(__NR_socket, 2, 2, 0);
	int values[] = { 1, -1, 0, 99999, -99999 }, set[] = { 0x8901, 0x8902 };
	for (int i = 0; i < 10; i++) {
		int now = 0;
		long ret = sys(__NR_ioctl, s, set[i & 1], &values[i >> 1]);
		sys(__NR_ioctl, s, 0x8903, &now);
		say("owner %d %r", values[i >> 1], ret);
		say(" %d %r\n", now, sys(__NR_fcntl, s, 9, 0));
	}
	say("bad %r", sys(__NR_ioctl, s, 0x8901, 8));
	say(" %r", sys(__NR_ioctl, s, 0x8903, 8));
	say(" %r", sys(__NR_ioctl, s, 0x541b, 8));
	say(" %r\n", sys(__NR_ioctl, s, 0x5411, 8));
}

static void stamps(void)
{
	unsigned char a[16] = { 2, 0, 0x20, 30, 127, 0, 0, 1 };
	long s = sys(__NR_socket, 2, 2, 0), first[2], second[2], now[2];
	sys(__NR_bind, s, a, 16);
	say("none %r\n", sys(__NR_ioctl, s, 0x8907, first));
	send_to(s, 7, a, 16);
	nap(30);
	get(s, 10);
	say("one %r", sys(__NR_ioctl, s, 0x8907, first));
	say(" again %r", sys(__NR_ioctl, s, 0x80108907, second));
	sys(__NR_clock_gettime, 0, now);
	long age = (now[0] - first[0]) * 1000 + (now[1] - first[1]) / 1000000;
	say(" same %d, from when it came %d", !memcmp(first, second, sizeof(first)), age >= 29);
	sys(__NR_ioctl, s, 0x8906, second);
	say(", in us %d\n", second[0] == first[0] && second[1] == first[1] / 1000);
}

int main(int argc, char **argv)
{
	struct { char name[16]; short flags; char rest[22]; } up = { "lo", 0x49 };
	sys(__NR_ioctl, sys(__NR_socket, 2, 2, 0), 0x8914, &up);
	datagrams(2, 2, 0, "udp");
	datagrams(10, 2, 0, "udp6");
	datagrams(2, 3, 1, "raw");
	datagrams(10, 3, 58, "raw6");
	datagrams(17, 3, 0x300, "packet");
	datagrams(16, 3, 0, "netlink");
	stream();
	pair(1);
	pair(2);
	pair(5);
	owner();
	stamps();
	return 0;
}
