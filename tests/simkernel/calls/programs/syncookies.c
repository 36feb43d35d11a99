/* Connections from SYN cookies: net.ipv4.tcp_syncookies, cookies that come back, and what /proc/net/netstat counts.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"

static const char *const names[] = { "SyncookiesSent", "SyncookiesRecv", "SyncookiesFailed", "ListenOverflows", "ListenDrops", "TCPReqQFullDoCookies", "TCPReqQFullDrop" };
static long before[7];

static long counter(const char *text, const char *name) /* heads are on one line, numbers on the next */
{
	for (const char *line = text; *line;) {
		const char *next = line;
		while (*next && *next != '\n')
			next++;
		if (!*next || memcmp(line, "TcpExt:", 7)) {
			line = *next ? next + 1 : next;
			continue;
		}
		const char *head = line, *number = next + 1;
		for (;;) {
			while (*head != ' ' && *head != '\n')
				head++;
			while (*number != ' ' && *number != '\n')
				number++;
			if (*head == '\n')
				return -1;
			head++, number++;
			if (!memcmp(head, name, strlen(name)) && (head[strlen(name)] == ' ' || head[strlen(name)] == '\n'))
				break;
		}
		long value = 0;
		while (*number >= '0' && *number <= '9')
			value = value * 10 + *number++ - '0';
		return value;
	}
	return -1;
}

static void counted(void)
{
	static char text[32768];
	slurp("/proc/net/netstat", text, sizeof(text));
	say("  counted");
	for (int n = 0; n < 7; n++) {
		long now = counter(text, names[n]);
		if (now != before[n])
			say(" %s %l", names[n], now - before[n]);
		before[n] = now;
	}
	say("\n");
}

static unsigned char to[28];
static int length;
static void where(int family, int port)
{
	memset(to, 0, sizeof(to));
	to[0] = family, to[2] = port >> 8, to[3] = port;
	if (family == 2)
		to[4] = 127, to[7] = 1, length = 16;
	else
		to[23] = 1, length = 28;
}

static long listening(int family, int port, int backlog)
{
	long s = sys(__NR_socket, family, 1, 0);
	int one = 1;
	where(family, port);
	sys(__NR_setsockopt, s, 1, 2, &one, 4);
	say("bind %r", sys(__NR_bind, s, to, length));
	say(" listen %r\n", sys(__NR_listen, s, backlog));
	return s;
}

static void talks(long listener)
{
	char text[64];
	long s = sys(__NR_socket, to[0], 1, 0);
	unsigned char peer[28], mine[28];
	unsigned size = sizeof(peer);
	say("  connect %r", sys(__NR_connect, s, to, length));
	long got = sys(__NR_accept, listener, peer, &size);
	say(" accept %r", got < 0 ? got : 0);
	size = sizeof(mine);
	sys(__NR_getsockname, s, mine, &size);
	say(" peer %d", !memcmp(peer + 2, mine + 2, 2));
	say(" write %r", sys(__NR_write, s, "hello", 5));
	say(" read %r", sys(__NR_read, got, text, 64));
	say(" write %r", sys(__NR_write, got, "welcome", 7));
	say(" read %r", sys(__NR_read, s, text, 64));
	say(" shut %r", sys(__NR_shutdown, s, 1));
	say(" end %r", sys(__NR_read, got, text, 64));
	say(" close %r", sys(__NR_close, got));
	say(" end %r\n", sys(__NR_read, s, text, 64));
	sys(__NR_close, s);
	nap(20);
	counted();
}

/* A segment of nobody's connection: what is answered. */
static void alone(int family, int port, int flags, unsigned seq, unsigned ack)
{
	unsigned char segment[20] = { 0x30, 0x39, port >> 8, port, seq >> 24, seq >> 16, seq >> 8, seq, ack >> 24, ack >> 16, ack >> 8, ack, 0x50, flags, 0x10, 0 };
	unsigned sum = 0;
	long raw = sys(__NR_socket, family, 3, 6), hears = sys(__NR_socket, family, 3 | 04000, 6);
	where(family, 0);
	if (family == 2)
		sum = 0x7f00 + 1 + 0x7f00 + 1 + 6 + 20;
	else
		sum = 1 + 1 + 6 + 20;
	for (int n = 0; n < 20; n += 2)
		sum += segment[n] << 8 | segment[n + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	segment[16] = ~sum >> 8, segment[17] = ~sum;
	say("  alone %d: %r", flags, sys(__NR_sendto, raw, segment, 20, 0, to, length));
	nap(20);
	static unsigned char text[128];
	long got;
	while ((got = sys(__NR_recvfrom, hears, text, sizeof(text), 0x40, 0, 0)) > 0) {
		unsigned char *t = family == 2 ? text + 20 : text;
		if (t[2] == 0x30 && t[3] == 0x39)
			say(" answer %d", t[13]);
	}
	say("\n");
	sys(__NR_close, raw), sys(__NR_close, hears);
	counted();
}

int main(int argc, char **argv)
{
	static const char *const modes[] = { "0", "1", "2" };
	sys(__NR_unshare, 0x40000000);
	netlink = sys(__NR_socket, 16, 3, 0);
	set_up("lo", 0);
	nap(50);
	counted();
	int port = 7000;
	for (int mode = 0; mode < 3; mode++)
		for (int family = 2; family <= 10; family += 8) {
			say("mode %s family %d: %r\n", modes[mode], family, spit("/proc/sys/net/ipv4/tcp_syncookies", modes[mode]) > 0 ? 0 : -1);
			long l = listening(family, ++port, 4);
			alone(family, port, 16, 1000, 5000);
			where(family, port);
			talks(l);
			talks(l);
			alone(family, port, 16, 1000, 5000);
			alone(family, port, 4, 1000, 5000);
			alone(family, port, 20, 1000, 5000);
			alone(family, port, 1, 1000, 0);
			sys(__NR_close, l);
		}
	for (int mode = 0; mode < 3; mode++) {
		say("mode %s, full: %r\n", modes[mode], spit("/proc/sys/net/ipv4/tcp_syncookies", modes[mode]) > 0 ? 0 : -1);
		long l = listening(2, ++port, 0), s[3];
		for (int n = 0; n < 3; n++) {
			s[n] = sys(__NR_socket, 2, 1 | 04000, 0);
			say("  connect %r", sys(__NR_connect, s[n], to, length));
			nap(20);
			say(" %x\n", (long)polled(s[n], 0x45));
			counted();
		}
		for (int n = 0; n < 3; n++)
			sys(__NR_close, s[n]);
		sys(__NR_close, l);
		nap(20);
	}
	return 0;
}
