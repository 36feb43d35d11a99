/* Packet sockets: by protocol, who hears what is sent, statistics, what a device is told to hear, extra data of each packet. */
/* not: i386 */
#include "tiny.h"

struct ll { unsigned short family, protocol; int ifindex; unsigned short hatype; unsigned char kind, halen, addr[8]; };
struct iov { void *base; ulong len; };
struct msg { void *name; unsigned namelen; struct iov *iov; ulong iovlen; void *control; ulong controllen; unsigned flags; };
static unsigned short net16(int v) { unsigned char b[2] = { v >> 8, v }; unsigned short r; memcpy(&r, b, 2); return r; }

static void heard(const char *what, long fd)
{
	static unsigned char buf[2048];
	struct ll from;
	int size;
	long n;
	say("%s:", what);
	for (;;) {
		size = sizeof(from);
		n = sys(__NR_recvfrom, fd, buf, sizeof(buf), 0x40, &from, &size);
		if (n < 0)
			break;
		say(" %d(kind %d, protocol %d)", (int)n, from.kind, net16(from.protocol));
	}
	say(" %r\n", n);
}
static void send(void)
{
	long u = sys(__NR_socket, 2, 2, 0);
	unsigned char to[16] = { 0 };
	*(unsigned short *)to = 2;
	to[2] = 0x30, to[3] = 0x39, to[4] = 127, to[7] = 1;
	sys(__NR_sendto, u, "hello", 5, 0, to, 16);
	sys(__NR_close, u);
}
static void statistics(const char *what, long fd)
{
	unsigned v[2] = { 99, 99 };
	int size = 8;
	long r = sys(__NR_getsockopt, fd, 263, 6, v, &size);
	say("%s: statistics %r, %d bytes, %d packets, %d dropped\n", what, r, size, v[0], v[1]);
}
static int flags(void)
{
	char ifr[40] = "lo";
	long u = sys(__NR_socket, 2, 2, 0);
	sys(__NR_ioctl, u, 0x8913, ifr);
	sys(__NR_close, u);
	return *(short *)(ifr + 16);
}
int main(int argc, char **argv)
{
	char ifr[40] = "lo";
	sys(__NR_unshare, 0x40000000);
	long u = sys(__NR_socket, 2, 2, 0);
	*(short *)(ifr + 16) = 1;
	say("up %r\n", sys(__NR_ioctl, u, 0x8914, ifr));
	long all = sys(__NR_socket, 17, 3, net16(3)), ip = sys(__NR_socket, 17, 3, net16(0x800)), arp = sys(__NR_socket, 17, 3, net16(0x806));
	long cooked = sys(__NR_socket, 17, 2, net16(0x800)), none = sys(__NR_socket, 17, 3, 0), quiet = sys(__NR_socket, 17, 3, net16(3));
	int one = 1;
	say("ignore outgoing %r\n", sys(__NR_setsockopt, quiet, 263, 23, &one, 4));
	send();
	heard("all", all), heard("ip", ip), heard("arp", arp), heard("cooked", cooked), heard("none", none), heard("quiet", quiet);
	statistics("all", all), statistics("again", all), statistics("arp", arp);
	struct ll at = { 17, net16(0x800), 1 };
	say("bind %r\n", sys(__NR_bind, none, &at, 20));
	send();
	heard("bound", none);
	at.protocol = 0;
	say("bind %r\n", sys(__NR_bind, ip, &at, 20));
	send();
	heard("bound to its device", ip);
	/* its own packets it does not hear */
	heard("drained", all);
	static unsigned char frame[60];
	frame[12] = 8;
	struct ll to = { 17, net16(0x800), 1, 0, 0, 6 };
	say("send %r\n", sys(__NR_sendto, all, frame, 60, 0, &to, 20));
	heard("sender", all);
	heard("quiet", quiet);
	/* extra data */
	long aux = sys(__NR_socket, 17, 2, net16(3));
	say("auxdata %r\n", sys(__NR_setsockopt, aux, 263, 8, &one, 4));
	send();
	for (int i = 0; i < 3; i++) {
		static unsigned char buf[256], control[64];
		struct iov iov = { buf, sizeof(buf) };
		struct msg m = { 0, 0, &iov, 1, control, sizeof(control), 0 };
		long n = sys(__NR_recvmsg, aux, &m, 0x40);
		say("recvmsg %d", (int)n);
		if (n > 0) {
			unsigned *d = (unsigned *)(control + 16);
			say(" control %d: level %d type %d status %d length %d snap %d mac %d net %d tci %d", (int)m.controllen, *(int *)(control + 8), *(int *)(control + 12), d[0], d[1],
			    d[2], *(unsigned short *)&d[3], ((unsigned short *)&d[3])[1], (int)d[4]);
		}
		say("\n");
	}
	/* what the device is to hear */
	struct { int ifindex; unsigned short type, alen; unsigned char address[8]; } mreq = { 1, 1, 6 };
	say("flags %d\n", flags());
	say("promiscuous %r", sys(__NR_setsockopt, all, 263, 1, &mreq, 16));
	say(" %d\n", flags() & 0x100);
	say("again %r", sys(__NR_setsockopt, all, 263, 1, &mreq, 16));
	say(" %d\n", flags() & 0x100);
	say("drop %r", sys(__NR_setsockopt, all, 263, 2, &mreq, 16));
	say(" %d\n", flags() & 0x100);
	say("drop %r", sys(__NR_setsockopt, all, 263, 2, &mreq, 16));
	say(" %d\n", flags() & 0x100);
	say("drop %r", sys(__NR_setsockopt, all, 263, 2, &mreq, 16));
	say(" %d\n", flags() & 0x100);
	mreq.type = 2;
	say("all groups %r", sys(__NR_setsockopt, cooked, 263, 1, &mreq, 16));
	say(" %d\n", flags() & 0x200);
	sys(__NR_close, cooked);
	say("closed %d\n", flags() & 0x200);
	mreq.type = 9;
	say("kind 9 %r\n", sys(__NR_setsockopt, all, 263, 1, &mreq, 16));
	mreq.alen = 4;
	say("short address %r\n", sys(__NR_setsockopt, all, 263, 1, &mreq, 16));
	mreq.alen = 12;
	say("long address %r\n", sys(__NR_setsockopt, all, 263, 1, &mreq, 16));
	mreq.ifindex = 77, mreq.alen = 6;
	say("no device %r\n", sys(__NR_setsockopt, all, 263, 1, &mreq, 16));
	say("drop there %r\n", sys(__NR_setsockopt, all, 263, 2, &mreq, 16));
	return 0;
}
