/* TCP heard from a peer that says whatever it likes: options of SYNs and of their answers, segments out of order, old timestamps, small windows.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_net.h"

typedef unsigned char u8;
static unsigned short net16(int v) { return (unsigned short)((v & 255) << 8 | (v >> 8 & 255)); }
static unsigned get32(const u8 *p) { return (unsigned)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }
static int get16(const u8 *p) { return p[0] << 8 | p[1]; }
static void put32(u8 *p, unsigned v) { p[0] = v >> 24, p[1] = v >> 16, p[2] = v >> 8, p[3] = v; }
static void put16(u8 *p, int v) { p[0] = v >> 8, p[1] = v; }

static long wire;
static int device, peer_port, own_port;
static unsigned peer_first = 1000, own_first, own_clock; /* sequence numbers begin there */
static const u8 own_mac[6] = { 2, 0, 0, 0, 0, 1 }, peer_mac[6] = { 2, 0, 0, 0, 0, 2 };

static unsigned sum(const u8 *p, int n)
{
	unsigned total = 0;
	for (int i = 0; i < n; i += 2)
		total += p[i] << 8 | (i + 1 < n ? p[i + 1] : 0);
	return total;
}
static int folded(unsigned v) { while (v >> 16) v = (v & 0xffff) + (v >> 16); return ~v & 0xffff; }

/* a segment of the peer's: sequence numbers are distances from the first */
static void segment(int flags, int seq, int ack, int window, const u8 *options, int size, const char *data)
{
	static u8 f[2000];
	int length = strlen(data), padded = (size + 3) & ~3;
	memset(f, 0, sizeof(f));
	memcpy(f, own_mac, 6), memcpy(f + 6, peer_mac, 6), f[12] = 8;
	u8 *ip = f + 14, *t = ip + 20;
	ip[0] = 0x45, put16(ip + 2, 40 + padded + length), ip[8] = 64, ip[9] = 6;
	ip[12] = 10, ip[13] = 1, ip[14] = 1, ip[15] = 2, ip[16] = 10, ip[17] = 1, ip[18] = 1, ip[19] = 1;
	put16(ip + 10, folded(sum(ip, 20)));
	put16(t, peer_port), put16(t + 2, own_port), put32(t + 4, peer_first + seq);
	put32(t + 8, flags & 16 ? own_first + ack : 0);
	t[12] = (20 + padded) / 4 << 4, t[13] = flags, put16(t + 14, window);
	memcpy(t + 20, options, size), memcpy(t + 20 + padded, data, length);
	put16(t + 16, folded(sum(ip + 12, 8) + 6 + 20 + padded + length + sum(t, 20 + padded + length)));
	struct link_address to = { 17, 8, device, 0, 0, 6 };
	memcpy(to.mac, own_mac, 6);
	sys(__NR_sendto, wire, f, 14 + 40 + padded + length, 0, &to, sizeof(to));
	nap(15);
}

static void heard(void)
{
	static u8 buf[2000];
	for (;;) {
		struct link_address from;
		int size = sizeof(from);
		long n = sys(__NR_recvfrom, wire, buf, sizeof(buf), 0x40 | 0x20, &from, &size);
		if (n < 0)
			break;
		u8 *ip = buf + 14, *t = ip + 20;
		if (from.kind == 4 || get16(buf + 12) != 0x800 || ip[9] != 6)
			continue;
		int total = get16(ip + 2), head = (t[12] >> 4) * 4;
		own_port = get16(t), peer_port = get16(t + 2);
		if (t[13] & 2)
			own_first = get32(t + 4);
		say("  seq %d ack %d", get32(t + 4) - own_first, t[13] & 16 ? (int)(get32(t + 8) - peer_first) : -1);
		say(" flags %x window %d", (long)t[13], get16(t + 14));
		for (u8 *o = t + 20; o < t + head;) {
			if (*o <= 1) {
				say(" %s", *o ? "nop" : "end");
				o++;
				continue;
			}
			switch (*o) {
			case 2: say(" mss %d", get16(o + 2)); break;
			case 3: say(" scale %d", o[2]); break;
			case 4: say(" sackok"); break;
			case 5:
				say(" sack");
				for (int i = 2; i < o[1]; i += 8)
					say(" %d-%d", get32(o + i) - peer_first, get32(o + i + 4) - peer_first);
				break;
			case 8: own_clock = get32(o + 2), say(" ts echo %x", (long)get32(o + 6)); break;
			default: say(" %d(%d)", o[0], o[1]);
			}
			if (o[1] < 2)
				break;
			o += o[1];
		}
		say(" data %d\n", total - 20 - head);
	}
}

static void told(long fd)
{
	static u8 info[232];
	unsigned *w = (unsigned *)(info + 8);
	int size = sizeof(info), mss = -1, four = 4;
	memset(info, 0, sizeof(info));
	sys(__NR_getsockopt, fd, 6, 11, info, &size);
	sys(__NR_getsockopt, fd, 6, 2, &mss, &four);
	say("  state %d options %d scales %x snd_mss %d rcv_mss %d", info[0], info[5], (long)info[6], w[2], w[3]);
	say(" rcv_ssthresh %d advmss %d rcv_space %d snd_wnd %d maxseg %d\n", w[14], w[19], w[22], w[55], mss);
}

static long listener;
#define OPTIONS(...) (const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ })
#define STAMP(v, e) 1, 1, 8, 10, (v) >> 24 & 255, (v) >> 16 & 255, (v) >> 8 & 255, (v) & 255, (u8)((e) >> 24), (u8)((e) >> 16), (u8)((e) >> 8), (u8)(e)
#define NONE (const u8 *)"", 0

/* the peer connects: what it is told, what the kernel knows then */
static long asks(const char *what, int window, const u8 *options, int size)
{
	static int port = 2000;
	say("%s\n", what);
	peer_port = port++, own_port = 80;
	segment(2, 0, 0, window, options, size, "");
	heard();
	if (size >= 10 && options[size - 10] == 8)
		segment(16, 1, 1, 500, OPTIONS(STAMP(0x11223344, own_clock)), "");
	else
		segment(16, 1, 1, 500, NONE, "");
	heard();
	long fd = sys(__NR_accept4, listener, 0, 0, 04000);
	if (fd < 0)
		say("  accept %r\n", fd);
	else
		told(fd);
	return fd;
}

static void over(long fd)
{
	segment(4, 1, 1, 0, NONE, "");
	segment(4, 31, 1, 0, NONE, "");
	sys(__NR_close, fd);
	heard();
}

/* the kernel connects: what it asks, what it makes of the answer */
static long answers(const char *what, int window, const u8 *options, int size, int stamped)
{
	struct { unsigned short family, port; u8 address[4], pad[8]; } to = { 2, net16(81), { 10, 1, 1, 2 } };
	u8 all[60];
	say("%s\n", what);
	long fd = sys(__NR_socket, 2, 1 | 04000, 0);
	sys(__NR_connect, fd, &to, sizeof(to));
	nap(10);
	heard();
	memcpy(all, options, size);
	if (stamped) {
		u8 more[12] = { STAMP(0x5000, own_clock) };
		memcpy(all + size, more, 12), size += 12;
	}
	segment(18, 0, 1, window, all, size, "");
	heard();
	told(fd);
	return fd;
}

int main(int argc, char **argv)
{
	static const u8 own[4] = { 10, 1, 1, 1 }, other[4] = { 10, 1, 1, 2 };
	static char text[4000];
	struct { unsigned short family, port; u8 address[4], pad[8]; } at = { 2, net16(80), { 10, 1, 1, 1 } };
	struct link_address where = { 17, 0x0300 };
	long fd;
	sys(__NR_unshare, 0x40000000);
	netlink = sys(__NR_socket, 16, 3, 0);
	veth("a", "b", (const char *)own_mac);
	set_up("a", 0), set_up("b", 0);
	address("a", 2, own, 24);
	neighbour("a", 2, other, (const char *)peer_mac, 0x80);
	wire = sys(__NR_socket, 17, 3, 0x0300);
	where.index = device = ifindex("b");
	sys(__NR_bind, wire, &where, sizeof(where));
	listener = sys(__NR_socket, 2, 1 | 04000, 0);
	sys(__NR_bind, listener, &at, sizeof(at));
	say("listen %r\n", sys(__NR_listen, listener, 10));

	over(asks("no options", 5000, NONE));
	over(asks("segments of 536", 5000, OPTIONS(2, 4, 2, 24)));
	over(asks("segments of 100", 5000, OPTIONS(2, 4, 0, 100)));
	over(asks("segments of 20", 5000, OPTIONS(2, 4, 0, 20)));
	over(asks("segments of 0", 5000, OPTIONS(2, 4, 0, 0)));
	over(asks("segments of 9000", 5000, OPTIONS(2, 4, 35, 40)));
	over(asks("SACK", 5000, OPTIONS(4, 2, 1, 1)));
	over(asks("SACK of a wrong length", 5000, OPTIONS(4, 3, 0, 1)));
	over(asks("scale 14", 5000, OPTIONS(1, 3, 3, 14)));
	over(asks("scale 15", 5000, OPTIONS(1, 3, 3, 15)));
	over(asks("scale twice", 5000, OPTIONS(3, 3, 2, 3, 3, 5, 1, 1)));
	over(asks("scale behind the end", 5000, OPTIONS(0, 3, 3, 5)));
	over(asks("scale without its value", 5000, OPTIONS(1, 1, 1, 3)));
	over(asks("an option too long", 5000, OPTIONS(253, 9, 3, 3, 5, 1, 1, 1)));
	over(asks("an unknown one before", 5000, OPTIONS(253, 4, 1, 1, 1, 3, 3, 5)));
	over(asks("timestamps", 5000, OPTIONS(STAMP(0x11223344, 0))));
	over(asks("timestamps that are 0", 5000, OPTIONS(STAMP(0, 0))));
	over(asks("all", 5000, OPTIONS(2, 4, 5, 0xb4, 4, 2, 1, 3, 3, 7, 1, 1, STAMP(0x11223344, 0))));
	over(asks("all, window 0", 0, OPTIONS(2, 4, 5, 0xb4, 4, 2, 1, 3, 3, 7, 1, 1, STAMP(0x11223344, 0))));

	fd = asks("out of order", 5000, OPTIONS(2, 4, 5, 0xb4, 1, 1, 4, 2));
	segment(24, 11, 1, 500, NONE, "0123456789"), heard();
	segment(24, 31, 1, 500, NONE, "0123456789"), heard();
	segment(24, 51, 1, 500, NONE, "0123456789"), heard();
	segment(24, 71, 1, 500, NONE, "0123456789"), heard();
	segment(24, 91, 1, 500, NONE, "0123456789"), heard();
	segment(24, 31, 1, 500, NONE, "0123456789"), heard();
	segment(24, 41, 1, 500, NONE, "0123456789"), heard();
	segment(24, 1, 1, 500, NONE, "0123456789"), heard();
	segment(24, 1, 1, 500, NONE, "0123456789"), heard();
	segment(24, 16, 1, 500, NONE, "01234567890123456789"), heard();
	segment(24, 61, 1, 500, NONE, "01234567890123456789012345678901234567890"), heard();
	say("  read %r\n", sys(__NR_read, fd, text, 1000));
	told(fd);
	segment(20, 102, 1, 0, NONE, ""), sys(__NR_close, fd), heard();

	fd = asks("out of order, with timestamps", 5000, OPTIONS(4, 2, 1, 1, STAMP(0x11223344, 0)));
	segment(24, 11, 1, 500, OPTIONS(STAMP(0x11223350, own_clock)), "0123456789"), heard();
	segment(24, 31, 1, 500, OPTIONS(STAMP(0x11223351, own_clock)), "0123456789"), heard();
	segment(24, 51, 1, 500, OPTIONS(STAMP(0x11223352, own_clock)), "0123456789"), heard();
	segment(24, 71, 1, 500, OPTIONS(STAMP(0x11223353, own_clock)), "0123456789"), heard();
	segment(24, 1, 1, 500, OPTIONS(STAMP(0x11223354, own_clock)), "0123456789"), heard();
	segment(24, 1, 1, 500, OPTIONS(STAMP(0x11223355, own_clock)), "0123456789"), heard();
	segment(24, 21, 1, 500, OPTIONS(STAMP(0x11223356, own_clock)), "0123456789"), heard();
	say("an old timestamp\n");
	segment(24, 41, 1, 500, OPTIONS(STAMP(0x11220000, own_clock)), "0123456789"), heard();
	say("none\n");
	segment(24, 41, 1, 500, NONE, "0123456789"), heard();
	say("the right one\n");
	segment(24, 61, 1, 500, OPTIONS(STAMP(0x11223360, own_clock)), "0123456789"), heard();
	say("  read %r\n", sys(__NR_read, fd, text, 1000));
	segment(20, 81, 1, 0, NONE, ""), sys(__NR_close, fd), heard();

	fd = asks("windows that are small", 5000, OPTIONS(2, 4, 5, 0xb4));
	segment(16, 1, 1, 100, NONE, "");
	told(fd);
	say("  write %r\n", sys(__NR_write, fd, text, 1000)), nap(10), heard();
	segment(16, 1, 101, 30, NONE, ""), heard();
	segment(16, 1, 101, 2000, NONE, ""), heard();
	told(fd);
	segment(16, 1, 1001, 2000, NONE, ""), heard();
	segment(20, 1, 1001, 0, NONE, ""), sys(__NR_close, fd), heard();

	fd = asks("windows that are scaled", 5000, OPTIONS(1, 3, 3, 3));
	segment(16, 1, 1, 100, NONE, "");
	told(fd);
	say("  write %r\n", sys(__NR_write, fd, text, 500)), nap(10), heard();
	segment(16, 1, 501, 2000, NONE, ""), heard();
	told(fd);
	segment(20, 1, 501, 0, NONE, ""), sys(__NR_close, fd), heard();

	over(answers("an answer without options", 4000, NONE, 0));
	over(answers("SACK", 4000, OPTIONS(4, 2, 1, 1), 0));
	over(answers("scale", 4000, OPTIONS(3, 3, 4, 1), 0));
	over(answers("timestamps", 4000, NONE, 1));
	over(answers("segments of 1000", 4000, OPTIONS(2, 4, 3, 0xe8), 0));
	over(answers("segments of 1000, timestamps, scale 2", 4000, OPTIONS(2, 4, 3, 0xe8, 3, 3, 2, 1), 1));
	fd = answers("all", 65535, OPTIONS(2, 4, 5, 0xb4, 4, 2, 1, 1, 1, 3, 3, 7), 1);
	say("  write %r\n", sys(__NR_write, fd, text, 100)), nap(10), heard();
	segment(16, 1, 101, 501, OPTIONS(STAMP(0x5001, own_clock)), ""), heard();
	segment(24, 1, 101, 501, OPTIONS(STAMP(0x5002, own_clock)), "0123456789"), heard();
	told(fd);
	over(fd);
	return 0;
}
