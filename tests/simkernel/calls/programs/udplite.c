/* UDP-Lite: options at both levels, checksums over a part of a packet, what is refused of what arrives, its counters and tables. */
/* not: i386 */
#include "tiny.h"

static struct { unsigned short family, port; unsigned char address[4], rest[8]; } four;
static struct { unsigned short family, port; unsigned flow; unsigned char address[16]; unsigned scope; } six;
static unsigned short big(unsigned v) { union { unsigned char b[2]; unsigned short s; } u = { { v >> 8, v } }; return u.s; }
static void *at(int family, int port, int *size)
{
	if (family == 2) {
		four.family = 2, four.port = big(port), memset(four.address, 0, 4), four.address[0] = 127, four.address[3] = 1;
		*size = sizeof(four);
		return &four;
	}
	six.family = 10, six.port = big(port), memset(six.address, 0, 16), six.address[15] = 1;
	*size = sizeof(six);
	return &six;
}
static long made(int family, int protocol) { return sys(__NR_socket, family, 2, protocol); }
static long bound(int family, int protocol, int port)
{
	int size;
	long fd = made(family, protocol);
	void *name = at(family, port, &size);
	long said = sys(__NR_bind, fd, name, size);
	if (said)
		say("bind %d %d %d: %r\n", family, protocol, port, said);
	return fd;
}
static long set(long fd, int level, int name, int value) { return sys(__NR_setsockopt, fd, level, name, &value, 4); }
static int get(long fd, int level, int name)
{
	int value = -77, size = 4;
	long said = sys(__NR_getsockopt, fd, level, name, &value, &size);
	return said < 0 ? (int)said : value;
}
static long send_to(long fd, int family, int port, const char *text, int n, int flags)
{
	int size;
	void *name = at(family, port, &size);
	return sys(__NR_sendto, fd, text, n, flags, name, size);
}

static void options(int family, int protocol)
{
	static const int names[] = { 0, 1, 2, 10, 11, 12, 100, 101, 102, 103, 104, 105 };
	static const int values[] = { 0, 1, 5, 7, 8, 9, 100, 65535, 65536, 70000, -1 };
	for (int level = 17; level <= 136; level += 119)
		for (int i = 0; i < 12; i++) {
			long fd = made(family, protocol);
			say("%d/%d level %d option %d: first %r;", family, protocol, level, names[i], (long)get(fd, level, names[i]));
			for (int v = 0; v < 11; v++)
				if (names[i] == 10 || names[i] == 11 || values[v] < 2)
					say(" %r", set(fd, level, names[i], values[v])), say("=%r", (long)get(fd, level, names[i]));
			int value = 0, size = 2;
			say("; short %r", sys(__NR_setsockopt, fd, level, names[i], &value, 3));
			say(" %r", sys(__NR_getsockopt, fd, level, names[i], &value, &size));
			say(" %d, none %r\n", size, sys(__NR_setsockopt, fd, level, names[i], 0, 4));
			sys(__NR_close, fd);
		}
}

static char text[71000];
/* the transport header of what a raw socket heard, and how long the packet was */
static void heard(long raw, int family)
{
	static unsigned char p[2048];
	long n = sys(__NR_recvfrom, raw, p, sizeof(p), 0x40, 0, 0);
	int skip = family == 2 ? 20 : 0;
	if (n < 0)
		say("  raw %r\n", n);
	else
		say("  raw %l: %d > %d len %d check %x\n", n - skip, p[skip] << 8 | p[skip + 1], p[skip + 2] << 8 | p[skip + 3],
		    p[skip + 4] << 8 | p[skip + 5], (long)(p[skip + 6] << 8 | p[skip + 7]));
}
static void drain(long fd, const char *what)
{
	static char into[600];
	long n;
	do {
		n = sys(__NR_recvfrom, fd, into, sizeof(into), 0x40, 0, 0);
		say("  %s %r\n", what, n);
	} while (n >= 0);
}

static void coverage(int family)
{
	static const int send[] = { -2, 0, 8, 9, 20, 107, 108, 109, 65535 };
	static const int recv[] = { -2, 0, 8, 20, 100, 108, 65535 };
	long raw = sys(__NR_socket, family, 3, 136);
	long to = bound(family, 136, 4001);
	for (int i = 0; i < 9; i++) {
		long from = bound(family, 136, 4000);
		if (send[i] != -2)
			set(from, 136, 10, send[i]);
		say("%d coverage %d: %r\n", family, send[i], send_to(from, family, 4001, text, 100, 0));
		heard(raw, family);
		drain(to, "got");
		sys(__NR_close, from);
	}
	sys(__NR_close, to);
	for (int r = 0; r < 7; r++) {
		to = bound(family, 136, 4001);
		if (recv[r] != -2)
			set(to, 136, 11, recv[r]);
		say("%d wants %d\n", family, recv[r]);
		for (int i = 0; i < 9; i++) {
			long from = bound(family, 136, 4000);
			if (send[i] != -2)
				set(from, 136, 10, send[i]);
			send_to(from, family, 4001, text, 100, 0);
			say("  of %d: %r\n", send[i], sys(__NR_recvfrom, to, text + 256, 200, 0x40, 0, 0));
			sys(__NR_close, from);
		}
		sys(__NR_close, to);
	}
	sys(__NR_close, raw);
}

static unsigned sum(const unsigned char *p, int n, unsigned s)
{
	for (int i = 0; i < n; i++)
		s += i & 1 ? p[i] : p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}
/* packets made by hand: field `len`, how much the sum is over (-1: no sum), which byte is wrong afterwards */
static void by_hand(int family)
{
	static const struct { int len, covered, wrong; } rows[] = {
		{ 48, 48, -1 }, { 0, 48, -1 }, { 8, 8, -1 }, { 8, 8, 20 }, { 8, 8, 3 }, { 20, 20, 19 }, { 20, 20, 20 }, { 1, 8, -1 }, { 7, 48, -1 },
		{ 49, 48, -1 }, { 48, -1, -1 }, { 0, -1, -1 }, { 8, -1, -1 }, { 48, 48, 40 }, { 0, 48, 40 }, { 20, 48, -1 }, { 65535, 48, -1 },
	};
	long raw = sys(__NR_socket, family, 3, 136), to = bound(family, 136, 4001);
	for (int i = 0; i < 17; i++) {
		unsigned char p[48], pseudo[40];
		int size, n = family == 2 ? 12 : 40;
		for (int j = 0; j < 48; j++)
			p[j] = j * 7;
		p[0] = 4000 >> 8, p[1] = 4000 & 255, p[2] = 4001 >> 8, p[3] = 4001 & 255;
		p[4] = rows[i].len >> 8, p[5] = rows[i].len, p[6] = p[7] = 0;
		memset(pseudo, 0, sizeof(pseudo));
		if (family == 2)
			pseudo[0] = pseudo[4] = 127, pseudo[3] = pseudo[7] = 1, pseudo[9] = 136, pseudo[11] = 48;
		else
			pseudo[15] = pseudo[31] = 1, pseudo[35] = 48, pseudo[39] = 136;
		if (rows[i].covered >= 0) {
			unsigned s = ~sum(p, rows[i].covered, sum(pseudo, n, 0)) & 0xffff;
			p[6] = s >> 8, p[7] = s;
		}
		if (rows[i].wrong >= 0)
			p[rows[i].wrong] ^= 0x40;
		void *name = at(family, 0, &size);
		if (family == 10 && !i)
			set(raw, 41, 7, -1);
		long sent = sys(__NR_sendto, raw, p, 48, 0, name, size);
		say("%d by hand len %d sum over %d wrong %d: %r, ", family, rows[i].len, rows[i].covered, rows[i].wrong, sent);
		say("%r\n", sys(__NR_recvfrom, to, text + 256, 200, 0x40, 0, 0));
	}
	sys(__NR_close, raw), sys(__NR_close, to);
}

static char file[32768];
/* lines of a file that begin with, or hold, a word; addresses and inodes of sockets aside */
static void lines(const char *path, const char *word, int from, int keep)
{
	long n = slurp(path, file, sizeof(file));
	if (n < 0)
		say("%s %r\n", path, n);
	for (char *p = file; n > 0 && *p;) {
		char *end = p, *q;
		while (*end && *end != '\n')
			end++;
		char old = *end;
		*end = 0;
		int found = !*word;
		if (end - p > 2 && end[-1] == '0' && end[-2] == '\t') /* a counter that nothing was counted by */
			found = -1;
		for (q = p; *q && !found; q++)
			found = !memcmp(q, word, strlen(word));
		if (found > 0) {
			int columns = 0, in = 0;
			say("%s: ", path);
			for (q = p; *q; q++) {
				if (*q != ' ' && !in)
					columns++, in = 1;
				else if (*q == ' ')
					in = 0;
				if (columns > from && (!keep || columns <= keep))
					say("%s", (char[]){ *q, 0 });
			}
			say("\n");
		}
		*end = old;
		p = old ? end + 1 : end;
	}
}
static void counters(void)
{
	lines("/proc/net/snmp", "UdpLite:", 0, 0);
	lines("/proc/net/snmp", "Udp:", 0, 0);
	lines("/proc/net/snmp6", "UdpLite6", 0, 0);
	lines("/proc/net/snmp6", "Udp6", 0, 0);
}
static void tables(void)
{
	lines("/proc/net/udplite", "", 3, 9);
	lines("/proc/net/udplite6", "", 3, 9);
	lines("/proc/net/sockstat", "UDP", 0, 0);
	lines("/proc/net/sockstat6", "UDP", 0, 0);
	lines("/proc/net/protocols", "UDP", 0, 0);
}

static void conversations(int family)
{
	int size;
	void *name;
	long a = bound(family, 136, 4010), b = bound(family, 136, 4012), u = bound(family, 17, 4010), c[2], d;
	say("%d same port again\n", family);
	sys(__NR_close, bound(family, 136, 4010));
	name = at(family, 4010, &size);
	T(__NR_connect, b, name, size);
	T(__NR_sendto, b, "hello", 5, 0, 0, 0);
	T(__NR_sendto, b, "wo", 2, 0x8000, 0, 0); /* MSG_MORE */
	T(__NR_sendto, b, "rld", 3, 0, 0, 0);
	T(__NR_sendto, b, 0, 0, 0, 0, 0);
	int inq = -1;
	T(__NR_ioctl, a, 0x541b, &inq);
	say("%d\n", inq);
	T(__NR_recvfrom, a, text, 3, 0x22, 0, 0); /* MSG_PEEK | MSG_TRUNC */
	T(__NR_recvfrom, a, text, 3, 0, 0, 0);
	drain(a, "got");
	drain(u, "udp got");
	T(__NR_sendto, u, "x", 1, 0, at(family, 4010, &size), size);
	drain(a, "got"), drain(u, "udp got");
	T(__NR_sendto, b, "x", 1, 1, 0, 0); /* MSG_OOB */
	T(__NR_sendto, b, text, 70000, 0, 0, 0);
	say("port 0 %r\n", send_to(a, family, 0, "x", 1, 0));
	say("family %r\n", sys(__NR_sendto, a, "x", 1, 0, &(char[16]){ 5 }, 16));
	tables();
	sys(__NR_close, a);
	say("nobody %r", sys(__NR_sendto, b, "x", 1, 0, 0, 0));
	say(" %r", sys(__NR_sendto, b, "x", 1, 0, 0, 0));
	say(" %d\n", get(b, 1, 4));
	set(b, family == 2 ? 0 : 41, family == 2 ? 11 : 25, 1);
	say("told %r", sys(__NR_sendto, b, "xyz", 3, 0, 0, 0));
	say(" %r", sys(__NR_recvfrom, b, text, 100, 0x2040, 0, 0)); /* MSG_ERRQUEUE */
	say(" %r\n", sys(__NR_recvfrom, b, text, 100, 0x2040, 0, 0));
	name = &(short[8]){ 0 };
	T(__NR_connect, b, name, 16);
	T(__NR_sendto, b, "x", 1, 0, 0, 0);
	/* groups of one port, cork, segments, no sums */
	for (int i = 0; i < 2; i++) {
		c[i] = made(family, 136);
		set(c[i], 1, 15, 1);
		name = at(family, 4020, &size);
		T(__NR_bind, c[i], name, size);
	}
	say("reused %r", send_to(b, family, 4020, "x", 1, 0));
	say(" %d\n", sys(__NR_recvfrom, c[0], text, 1, 0x40, 0, 0) + sys(__NR_recvfrom, c[1], text, 1, 0x40, 0, 0) == 1 - EAGAIN);
	sys(__NR_close, c[0]), sys(__NR_close, c[1]);
	set(b, 17, 1, 1);
	say("corked %r", send_to(b, family, 4020, "ab", 2, 0));
	say(" %r", send_to(b, family, 4020, "cde", 3, 0));
	say(" %r\n", set(b, 136, 1, 0));
	d = bound(family, 136, 4021);
	set(b, 17, 1, 0);
	say("segment %r", set(b, 17, 103, 10));
	say(" %r", send_to(b, family, 4021, text, 25, 0));
	drain(d, "got");
	set(b, 17, 103, 0);
	say("no sum %r", set(b, 1, 11, 1));
	say(" %r", set(b, 17, 101, 1));
	say(" %r\n", send_to(b, family, 4021, text, 25, 0));
	drain(d, "got");
	say("zero copy %r; protocol %d type %d domain %d\n", set(d, 1, 60, 1), get(d, 1, 38), get(d, 1, 3), get(d, 1, 39));
	sys(__NR_close, b), sys(__NR_close, d), sys(__NR_close, u);
}

static void both(void)
{
	/* a socket of IPv6 on any address hears IPv4, and owns the port */
	int size;
	long s = made(10, 136), f = made(2, 136), got;
	void *name = at(10, 4030, &size);
	memset(six.address, 0, 16);
	T(__NR_bind, s, name, size);
	say("mapped %r\n", send_to(f, 2, 4030, "abc", 3, 0));
	size = sizeof(six);
	got = sys(__NR_recvfrom, s, text, 100, 0x40, &six, &size);
	say("%r from %d.%d.%d.%d\n", got, six.address[10], six.address[12], six.address[13], six.address[15]);
	name = at(2, 4030, &size);
	T(__NR_bind, f, name, size);
	memset(&six, 0, sizeof(six));
	six.family = 10, six.port = big(4031), six.address[10] = six.address[11] = 255, six.address[12] = 127, six.address[15] = 1;
	T(__NR_connect, s, &six, sizeof(six));
	T(__NR_sendto, s, "x", 1, 0, 0, 0);
	say("%d\n", get(s, 1, 4));
	sys(__NR_close, s), sys(__NR_close, f);
	/* a group */
	struct { unsigned char group[4], address[4]; } join = { { 239, 1, 2, 3 }, { 127, 0, 0, 1 } };
	long m = made(2, 136), n = made(2, 136);
	set(m, 1, 2, 1), set(n, 1, 2, 1);
	at(2, 4040, &size);
	memset(four.address, 0, 4);
	say("%r", sys(__NR_bind, m, &four, size));
	say(" %r", sys(__NR_bind, n, &four, size));
	say(" %r", sys(__NR_setsockopt, m, 0, 35, &join, 8));
	say(" %r", sys(__NR_setsockopt, n, 0, 35, &join, 8));
	say(" %r", sys(__NR_setsockopt, m, 0, 32, join.address, 4));
	memcpy(four.address, join.group, 4);
	say(" %r\n", sys(__NR_sendto, m, "group", 5, 0, &four, size));
	drain(m, "got"), drain(n, "got");
	sys(__NR_close, m), sys(__NR_close, n);
}

int main(int argc, char **argv)
{
	struct { char name[16]; short flags; char more[22]; } lo = { "lo", 1 };
	long fd = sys(__NR_socket, 2, 2, 0);
	sys(__NR_ioctl, fd, 0x8914, &lo);
	sys(__NR_close, fd);
	nap(10);
	for (int i = 0; i < 256; i++)
		text[i] = i;
	for (int family = 2; family <= 10; family += 8)
		for (int type = 1; type <= 5; type++) {
			fd = sys(__NR_socket, family, type, 136);
			say("socket %d %d: %r\n", family, type, fd < 0 ? fd : 0);
			sys(__NR_close, fd);
		}
	for (int family = 2; family <= 10; family += 8)
		options(family, 17), options(family, 136);
	for (int family = 2; family <= 10; family += 8) {
		coverage(family), counters();
		by_hand(family), counters();
		conversations(family), counters();
	}
	both(), counters(), tables();
	return 0;
}
