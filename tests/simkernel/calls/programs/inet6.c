/* Sockets of AF_INET6: names, dual stack, binding, datagrams, streams, options, control messages, errors. */
/* not: i386 */
#include "tiny.h"

#define CALL(name, ...) sys(__NR_##name, __VA_ARGS__)
#define SAY(what, call) do { long r_ = (call); say("%s: %r\n", what, r_); } while (0)
enum { INET = 2, INET6 = 10, STREAM = 1, DGRAM = 2, RAW = 3, SOL_SOCKET = 1, IPV6 = 41, DONTWAIT = 0x40 };

struct in4 { unsigned short family; unsigned char port[2], addr[4], zero[8]; };
struct in6 { unsigned short family; unsigned char port[2], flow[4], addr[16]; unsigned scope; };
static char buffer[70000];

/* An address by its first and last bytes: ::, ::1, ::ffff:127.0.0.1 and the like. */
static struct in6 six(unsigned head, unsigned middle, unsigned tail, int port)
{
	struct in6 a = { INET6, { port >> 8, port } };
	for (int i = 0; i < 4; i++) {
		a.addr[i] = head >> 8 * (3 - i);
		a.addr[8 + i] = middle >> 8 * (3 - i);
		a.addr[12 + i] = tail >> 8 * (3 - i);
	}
	return a;
}
#define ANY(port) six(0, 0, 0, port)
#define ONE(port) six(0, 0, 1, port)
#define MAPPED(port) six(0, 0xffff, 0x7f000001, port)
#define FAR(port) six(0x20010db8, 0, 0x77, port)
static struct in4 four(unsigned addr, int port)
{
	struct in4 a = { INET, { port >> 8, port }, { addr >> 24, addr >> 16, addr >> 8, addr } };
	return a;
}
static void put_address(unsigned char *name, int size)
{
	unsigned short family = *(unsigned short *)name;
	int port = name[2] << 8 | name[3];
	say(" family %d len %d port %s ", (int)family, size, port >= 32768 ? "high" : port ? "low" : "0");
	for (int i = 0; family == INET6 && i < 16; i += 4)
		say("%x:", (ulong)(name[8 + i] << 24 | name[9 + i] << 16 | name[10 + i] << 8 | name[11 + i]) & 0xffffffff);
	if (family == INET)
		say("%d.%d", (int)name[4], (int)name[7]);
	say("\n");
}
static void show(const char *what, long fd, int peer)
{
	unsigned char name[32];
	int size = sizeof(name);
	long r = peer ? CALL(getpeername, fd, name, &size) : CALL(getsockname, fd, name, &size);
	say("%s: %r", what, r);
	if (r < 0) { say("\n"); return; }
	put_address(name, size);
}
static void option(long fd, int level, int number)
{
	int value = 0x5a5a5a5a, size = sizeof(value);
	long r = CALL(getsockopt, fd, level, number, &value, &size);
	if (r < 0)
		say(" get %r\n", r);
	else
		say(" get %d len %d\n", value, size);
}
static void set(long fd, int number, int value)
{
	say("  %d=%d: %r", number, value, CALL(setsockopt, fd, IPV6, number, &value, sizeof(value)));
	option(fd, IPV6, number);
}
#define SOCK(family, type, protocol) CALL(socket, family, type, protocol)

static void makes(void)
{
	static const int kinds[][2] = { { STREAM, 17 }, { DGRAM, 6 }, { DGRAM, 1 }, { RAW, 0 }, { RAW, 300 }, { 4, 0 }, { 5, 0 } };
	for (int i = 0; i < 7; i++)
		SAY("no socket", SOCK(INET6, kinds[i][0], kinds[i][1]));
}
static void binds(void)
{
	struct in6 any = ANY(7001), one = ONE(7001), mapped = MAPPED(7001), far = FAR(7001), group = six(0xff020000, 0, 0x77, 7001), local = six(0xfe800000, 0, 1, 7001);
	struct in4 v4 = four(0x7f000001, 7001), any4 = four(0, 7001);
	long a = SOCK(INET6, STREAM, 0), b = SOCK(INET, STREAM, 0), c = SOCK(INET6, STREAM, 0);
	int on = 1;
	SAY("short", CALL(bind, a, &any, 23));
	SAY("family", CALL(bind, a, &v4, sizeof(any)));
	SAY("foreign", CALL(bind, a, &far, sizeof(far)));
	SAY("group", CALL(bind, a, &group, sizeof(group)));
	SAY("link-local without device", CALL(bind, a, &local, sizeof(local)));
	show("fresh", a, 0);
	SAY("any", CALL(bind, a, &any, sizeof(any)));
	SAY("again", CALL(bind, a, &any, sizeof(any)));
	show("bound", a, 0);
	show("peer", a, 1);
	SAY("v4 beside any", CALL(bind, b, &v4, sizeof(v4)));
	SAY("any4 beside any", CALL(bind, b, &any4, sizeof(any4)));
	SAY("one beside any", CALL(bind, c, &one, sizeof(one)));
	CALL(close, a);
	SAY("one", CALL(bind, c, &one, sizeof(one)));
	SAY("v4 beside one", CALL(bind, b, &v4, sizeof(v4)));
	a = SOCK(INET6, STREAM, 0);
	SAY("mapped beside v4", CALL(bind, a, &mapped, sizeof(mapped)));
	SAY("only", CALL(setsockopt, a, IPV6, 26, &on, sizeof(on)));
	SAY("mapped when only", CALL(bind, a, &mapped, sizeof(mapped)));
	SAY("any beside one", CALL(bind, a, &any, sizeof(any)));
	CALL(close, c);
	SAY("any only beside v4", CALL(bind, a, &any, sizeof(any)));
	SAY("only, late", CALL(setsockopt, a, IPV6, 26, &on, sizeof(on)));
	CALL(close, a);
	CALL(close, b);
	a = SOCK(INET6, STREAM, 0);
	SAY("mapped", CALL(bind, a, &mapped, sizeof(mapped)));
	show("mapped", a, 0);
	CALL(close, a);
}
static void stream(const char *what, int lf, void *la, int ln, int cf, void *ca, int cn)
{
	long l = SOCK(lf, STREAM, 0), c = SOCK(cf, STREAM, 0), got = 0, r;
	unsigned char name[32];
	int size = sizeof(name), on = 1;
	CALL(setsockopt, l, SOL_SOCKET, 2, &on, sizeof(on));
	say("-- %s\n", what);
	SAY("bind", CALL(bind, l, la, ln));
	SAY("listen", CALL(listen, l, 5));
	r = CALL(connect, c, ca, cn);
	say("connect: %r\n", r);
	if (r >= 0) {
		show("client", c, 0);
		show("client's peer", c, 1);
		long a = CALL(accept4, l, name, &size, 0);
		say("accepted");
		put_address(name, size);
		show("server", a, 0);
		SAY("send", CALL(sendto, c, buffer, 5000, 0, 0, 0));
		while (got < 5000 && (r = CALL(recvfrom, a, buffer, sizeof(buffer), 0, 0, 0)) > 0)
			got += r;
		say("got %l\n", got);
		option(c, IPV6, 26);
		option(c, SOL_SOCKET, 39);
		option(c, IPV6, 24);
		SAY("shutdown", CALL(shutdown, c, 1));
		SAY("end", CALL(recvfrom, a, buffer, sizeof(buffer), 0, 0, 0));
		SAY("back", CALL(sendto, a, "hello", 5, 0, 0, 0));
		SAY("read", CALL(recvfrom, c, buffer, sizeof(buffer), 0, 0, 0));
		CALL(close, a);
	}
	CALL(close, c);
	CALL(close, l);
}
static void receive(long fd)
{
	ulong control[32];
	unsigned char name[32];
	struct { void *base; size_t len; } io = { buffer, sizeof(buffer) };
	struct { void *name; long namelen; void *iov; size_t iovlen; void *control; size_t controllen; long flags; } m = { name, sizeof(name), &io, 1, control, sizeof(control), 0 };
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	m.namelen <<= 32;
#endif
	long r = CALL(recvmsg, fd, &m, DONTWAIT);
	say("recvmsg: %r", r);
	if (r < 0) { say("\n"); return; }
	put_address(name, 28);
	for (size_t at = 0; at + 16 <= m.controllen;) {
		char *c = (char *)control + at;
		ulong length = *(ulong *)c;
		say("  %d %d len %l: %d\n", *(int *)(c + 8), *(int *)(c + 12), length, *(int *)(c + length - 4));
		at += (length + 7) & ~7UL;
	}
}
static void datagrams(void)
{
	struct in6 any = ANY(7002), one = ONE(7002), mapped = MAPPED(7002), nobody = ONE(7003), far = FAR(9), port0 = ONE(0);
	struct in4 v4 = four(0x7f000001, 7002);
	long r = SOCK(INET6, DGRAM, 0), t = SOCK(INET6, DGRAM, 0), f = SOCK(INET, DGRAM, 0);
	int on = 1, hops = 77, tclass = 0x28;
	unsigned short unspec[8] = { 0 }, local[14] = { 1 };
	SAY("bind", CALL(bind, r, &any, sizeof(any)));
	SAY("pktinfo", CALL(setsockopt, r, IPV6, 49, &on, sizeof(on)));
	SAY("hoplimit", CALL(setsockopt, r, IPV6, 51, &on, sizeof(on)));
	SAY("tclass", CALL(setsockopt, r, IPV6, 66, &on, sizeof(on)));
	CALL(setsockopt, t, IPV6, 16, &hops, sizeof(hops));
	CALL(setsockopt, t, IPV6, 67, &tclass, sizeof(tclass));
	SAY("to one", CALL(sendto, t, "six", 3, 0, &one, sizeof(one)));
	SAY("to any", CALL(sendto, t, "any", 3, 0, &any, sizeof(any)));
	SAY("to mapped", CALL(sendto, t, "mapped", 6, 0, &mapped, sizeof(mapped)));
	SAY("to v4", CALL(sendto, t, "four", 4, 0, &v4, sizeof(v4)));
	SAY("from v4", CALL(sendto, f, "true4", 5, 0, &v4, sizeof(v4)));
	SAY("empty", CALL(sendto, t, "", 0, 0, &one, sizeof(one)));
	SAY("port 0", CALL(sendto, t, "x", 1, 0, &port0, sizeof(port0)));
	SAY("short", CALL(sendto, t, "x", 1, 0, &one, 20));
	SAY("no address", CALL(sendto, t, "x", 1, 0, 0, 0));
	SAY("wrong family", CALL(sendto, t, "x", 1, 0, local, sizeof(local)));
	SAY("big", CALL(sendto, t, buffer, 65487, 0, &one, sizeof(one)));
	SAY("bigger", CALL(sendto, t, buffer, 65528, 0, &one, sizeof(one)));
	for (int i = 0; i < 8; i++)
		receive(r);
	SAY("connect", CALL(connect, t, &nobody, sizeof(nobody)));
	show("connected", t, 0);
	SAY("to nobody", CALL(sendto, t, "x", 1, 0, 0, 0));
	SAY("refused", CALL(sendto, t, "x", 1, 0, 0, 0));
	SAY("then", CALL(recvfrom, t, buffer, 10, DONTWAIT, 0, 0));
	SAY("recverr", CALL(setsockopt, t, IPV6, 25, &on, sizeof(on)));
	SAY("to nobody", CALL(sendto, t, "x", 1, 0, 0, 0));
	option(t, SOL_SOCKET, 4);
	SAY("disconnect", CALL(connect, t, unspec, sizeof(unspec)));
	show("disconnected", t, 0);
	SAY("connect mapped", CALL(connect, t, &mapped, sizeof(mapped)));
	show("connected mapped", t, 0);
	show("peer", t, 1);
	SAY("connect v4", CALL(connect, t, &v4, sizeof(v4)));
	CALL(close, t);
	t = SOCK(INET6, DGRAM, 0);
	SAY("no route", CALL(sendto, t, "x", 1, 0, &far, sizeof(far)));
	SAY("connect no route", CALL(connect, t, &far, sizeof(far)));
	CALL(close, t);
	t = SOCK(INET6, STREAM, 0);
	SAY("tcp no route", CALL(connect, t, &far, sizeof(far)));
	SAY("tcp nobody", CALL(connect, t, &nobody, sizeof(nobody)));
	SAY("tcp short", CALL(connect, t, &nobody, 20));
	CALL(close, t);
	CALL(close, r);
	CALL(close, f);
}
static void options(void)
{
	static const int known[] = { 26, 16, 18, 17, 19, 29, 25, 23, 67, 49, 51, 66, 62, 24, 7, 75, 78, 73, 70, 250 };
	static const int values[][2] = {
		{ 16, 5 }, { 16, -1 }, { 16, 256 }, { 16, 0 }, { 16, -2 }, { 18, 9 }, { 18, -1 }, { 18, 300 }, { 19, 0 }, { 19, 2 }, { 17, 1 },
		{ 17, 99 }, { 67, 7 }, { 67, -1 }, { 67, 300 }, { 23, 2 }, { 23, 9 }, { 25, 1 }, { 49, 5 }, { 26, 1 }, { 62, 1 }, { 7, 4 }, { 7, 3 },
		{ 73, 256 }, { 73, 9 },
	};
	static const int types[][2] = { { DGRAM, 0 }, { STREAM, 0 }, { RAW, 58 } };
	struct { unsigned char addr[16]; unsigned index; } m = { { 0xff, 2, [15] = 0x77 }, 1 };
	for (int i = 0; i < 3; i++) {
		long fd = SOCK(INET6, types[i][0], types[i][1]);
		say("-- type %d\n", types[i][0]);
		for (unsigned j = 0; j < sizeof(known) / sizeof(*known); j++) {
			say("  %d:", known[j]);
			option(fd, IPV6, known[j]);
		}
		for (unsigned j = 0; j < sizeof(values) / sizeof(*values); j++)
			set(fd, values[j][0], values[j][1]);
		say("  ttl");
		option(fd, 0, 2);
		SAY("byte", CALL(setsockopt, fd, IPV6, 16, "\1", 1));
		SAY("join", CALL(setsockopt, fd, IPV6, 20, &m, sizeof(m)));
		SAY("join again", CALL(setsockopt, fd, IPV6, 20, &m, sizeof(m)));
		SAY("leave", CALL(setsockopt, fd, IPV6, 21, &m, sizeof(m)));
		SAY("leave again", CALL(setsockopt, fd, IPV6, 21, &m, sizeof(m)));
		m.index = 55;
		SAY("join nowhere", CALL(setsockopt, fd, IPV6, 20, &m, sizeof(m)));
		m.index = 1, m.addr[0] = 0;
		SAY("join no group", CALL(setsockopt, fd, IPV6, 20, &m, sizeof(m)));
		m.addr[0] = 0xff;
		CALL(close, fd);
	}
}
int main(int argc, char **argv)
{
	struct in6 any = ANY(7100), one = ONE(7100), mapped = MAPPED(7100);
	struct in4 v4 = four(0x7f000001, 7100);
	makes();
	binds();
	stream("any, by one", INET6, &any, sizeof(any), INET6, &one, sizeof(one));
	any.port[1] = 90;
	stream("any, by any", INET6, &any, sizeof(any), INET6, &any, sizeof(any));
	any.port[1] = mapped.port[1] = 91;
	stream("any, by mapped", INET6, &any, sizeof(any), INET6, &mapped, sizeof(mapped));
	any.port[1] = v4.port[1] = 92;
	stream("any, by v4", INET6, &any, sizeof(any), INET, &v4, sizeof(v4));
	one.port[1] = v4.port[1] = 93;
	stream("one, by v4", INET6, &one, sizeof(one), INET, &v4, sizeof(v4));
	mapped.port[1] = v4.port[1] = 94;
	stream("v4, by mapped", INET, &v4, sizeof(v4), INET6, &mapped, sizeof(mapped));
	datagrams();
	options();
	return 0;
}
