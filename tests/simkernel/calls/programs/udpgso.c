/* UDP_SEGMENT and UDP_GRO: options, control messages, sizes at the edges, what arrives, what is refused and in which order.
 * not: i386 */
#include "tiny.h"
#include <linux/in.h>
#include <linux/socket.h>
#include <linux/udp.h>
#include <linux/uio.h>

#define SOL_UDP 17
#define AF_INET 2
struct msg { void *name; int namelen; struct iovec *iov; ulong iovlen; void *control; ulong controllen; int flags; };
static unsigned char data[70000], in[70000];
static struct { ulong len; int level, type; unsigned short size; char rest[6]; } note;

static long send_segments(long fd, long length, int segment, int type, int bytes, int flags)
{
	struct iovec v = { data, length };
	struct msg m = { 0, 0, &v, 1, 0, 0, 0 };
	if (segment >= 0) {
		note.len = 16 + bytes, note.level = SOL_UDP, note.type = type, note.size = segment;
		m.control = &note, m.controllen = sizeof(note);
	}
	return sys(__NR_sendmsg, fd, &m, flags);
}
static void arrivals(long fd)
{
	long got;
	int n = 0, last = -1;
	while ((got = sys(__NR_recvfrom, fd, in, sizeof(in), 0x40, 0, 0)) >= 0) {
		if (got == last) {
			n++;
			continue;
		}
		if (n)
			say(" %d of %d", n, last);
		last = got, n = 1;
	}
	say(n ? " %d of %d: %r\n" : " none%s\n", n ? (long)n : (long)"", last, got);
}
static long pair(long *to, int family)
{
	struct sockaddr_in a = { AF_INET };
	int size = sizeof(a);
	memcpy(&a.sin_addr, "\x7f\0\0\1", 4);
	*to = sys(__NR_socket, family, 2, 0);
	sys(__NR_bind, *to, &a, size);
	sys(__NR_getsockname, *to, &a, &size);
	long from = sys(__NR_socket, family, 2, 0);
	sys(__NR_connect, from, &a, size);
	return from;
}
static long pair6(long *to)
{
	struct { unsigned short family, port; int flow; unsigned char address[16]; int scope; } a = { 10 };
	int size = sizeof(a);
	a.address[15] = 1;
	*to = sys(__NR_socket, 10, 2, 0);
	sys(__NR_bind, *to, &a, size);
	sys(__NR_getsockname, *to, &a, &size);
	long from = sys(__NR_socket, 10, 2, 0);
	sys(__NR_connect, from, &a, size);
	return from;
}
int main(int argc, char **argv)
{
	long to, from = pair(&to, AF_INET);
	int v, size = 4;

	for (long i = 0; i < (long)sizeof(data); i++)
		data[i] = i;
	sys(__NR_getsockopt, from, SOL_UDP, UDP_SEGMENT, &v, &size);
	say("segment at first %d\n", v);
	static const int tries[] = { -1, 0, 1, 1000, 65535, 65536, 100000 };
	for (int i = 0; i < 7; i++) {
		v = tries[i];
		say("set segment %d: %r", v, sys(__NR_setsockopt, from, SOL_UDP, UDP_SEGMENT, &v, 4));
		sys(__NR_getsockopt, from, SOL_UDP, UDP_SEGMENT, &v, &size);
		say(" is %d\n", v);
	}
	T(__NR_setsockopt, from, SOL_UDP, UDP_SEGMENT, &v, 3);
	T(__NR_setsockopt, from, SOL_UDP, UDP_SEGMENT, 1, 4);
	v = 0;
	sys(__NR_setsockopt, from, SOL_UDP, UDP_SEGMENT, &v, 4);
	static const struct { int length, segment; } rows[] = {
		{ 0, 10 }, { 5, 10 }, { 10, 10 }, { 11, 10 }, { 100, 10 }, { 640, 10 }, { 641, 10 }, { 650, 10 }, { 64, 1 }, { 65, 1 }, { 4000, 1472 }, { 3000, 0 },
		{ 65507, 1472 }, { 65507, 65507 }, { 65508, 1472 }, { 65535, 1472 }, { 65536, 1472 }, { 60000, 30000 }, { 60000, 65507 }, { 60000, 65508 }, { 60000, 65535 }, { 1000, 65535 },
	};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		say("send %d by %d: %r;", rows[i].length, rows[i].segment, send_segments(from, rows[i].length, rows[i].segment, UDP_SEGMENT, 2, 0));
		arrivals(to);
	}
	say("too short a note: %r\n", send_segments(from, 100, 10, UDP_SEGMENT, 1, 0));
	say("too long a note: %r\n", send_segments(from, 100, 10, UDP_SEGMENT, 4, 0));
	say("another note: %r\n", send_segments(from, 100, 10, UDP_GRO, 2, 0));
	say("none: %r\n", send_segments(from, 100, 10, 77, 2, 0));
	arrivals(to);
	v = 100;
	T(__NR_setsockopt, from, SOL_UDP, UDP_SEGMENT, &v, 4);
	say("by the socket's: %r;", send_segments(from, 250, -1, 0, 0, 0));
	arrivals(to);
	say("by a note of 0: %r;", send_segments(from, 250, 0, UDP_SEGMENT, 2, 0));
	arrivals(to);
	say("by a note of 60: %r;", send_segments(from, 250, 60, UDP_SEGMENT, 2, 0));
	arrivals(to);
	T(__NR_write, from, data, 250);
	arrivals(to);
	T(__NR_sendto, from, data, 120, 0x8000); /* MSG_MORE */
	T(__NR_sendto, from, data, 120, 0);
	arrivals(to);
	v = 1;
	T(__NR_setsockopt, to, SOL_UDP, UDP_GRO, &v, 4);
	struct iovec iv = { in, sizeof(in) };
	char control[64];
	struct msg m = { 0, 0, &iv, 1, control, 64, 0 };
	say("to one that takes many: %r\n", send_segments(from, 950, 100, UDP_SEGMENT, 2, 0));
	say("took %r", sys(__NR_recvmsg, to, &m, 0x40));
	say(" control %l flags %x", (long)m.controllen, (long)m.flags);
	if (m.controllen >= 20)
		say(" level %d type %d value %d", ((int *)control)[2], ((int *)control)[3], ((int *)control)[4]);
	say("\n");
	arrivals(to);
	sys(__NR_getsockopt, to, SOL_UDP, UDP_GRO, &v, &size);
	say("gro is %d\n", v);
	v = 1;
	T(__NR_setsockopt, from, 1, 11, &v, 4); /* SO_NO_CHECK */
	say("without checksums: %r;", send_segments(from, 250, 60, UDP_SEGMENT, 2, 0));
	arrivals(to);
	say("one piece without checksums: %r;", send_segments(from, 50, 60, UDP_SEGMENT, 2, 0));
	arrivals(to);
	v = 0;
	T(__NR_setsockopt, from, 1, 11, &v, 4);
	v = 3; /* IP_PMTUDISC_PROBE */
	T(__NR_setsockopt, from, 0, 10, &v, 4);
	say("more than the device takes: %r;", send_segments(from, 65507, 65507, UDP_SEGMENT, 2, 0));
	arrivals(to);
	struct { char name[16]; int mtu; char rest[20]; } r = { "lo", 1500 };
	T(__NR_ioctl, from, 0x8922, &r);
	from = pair(&to, AF_INET);
	static const struct { int length, segment; } small[] = { { 4000, 1472 }, { 4000, 1473 }, { 1000, 1473 }, { 1473, 1473 }, { 1472, 2000 }, { 4000, 100 }, { 4000, 0 } };
	for (unsigned i = 0; i < sizeof(small) / sizeof(*small); i++) {
		say("on a way of 1500, %d by %d: %r;", small[i].length, small[i].segment, send_segments(from, small[i].length, small[i].segment, UDP_SEGMENT, 2, 0));
		arrivals(to);
	}
	from = pair6(&to);
	for (unsigned i = 0; i < sizeof(small) / sizeof(*small); i++) {
		say("IPv6, %d by %d: %r;", small[i].length, small[i].segment, send_segments(from, small[i].length, small[i].segment, UDP_SEGMENT, 2, 0));
		arrivals(to);
	}
	v = 1;
	T(__NR_setsockopt, to, SOL_UDP, UDP_GRO, &v, 4);
	say("IPv6, to one that takes many: %r\n", send_segments(from, 2000, 300, UDP_SEGMENT, 2, 0));
	m.controllen = 64, m.control = control, m.flags = 0;
	say("took %r", sys(__NR_recvmsg, to, &m, 0x40));
	say(" control %l", (long)m.controllen);
	if (m.controllen >= 20)
		say(" level %d type %d value %d", ((int *)control)[2], ((int *)control)[3], ((int *)control)[4]);
	say("\n");
	long lite = sys(__NR_socket, AF_INET, 2, 136);
	v = 100;
	T(__NR_setsockopt, lite, 136, UDP_SEGMENT, &v, 4);
	struct sockaddr_in a = { AF_INET, 8080 };
	memcpy(&a.sin_addr, "\x7f\0\0\1", 4);
	T(__NR_sendto, lite, data, 50, 0, &a, sizeof(a));
	T(__NR_sendto, lite, data, 500, 0, &a, sizeof(a));
	r.mtu = 65536;
	T(__NR_ioctl, from, 0x8922, &r);
	return 0;
}
