/* TCP on the wire: what segments of a connection look like to a packet socket: sizes, windows, options, by sysctls and by socket options.  not: i386 not: s390x */
#include "tiny.h"

static unsigned short net16(int v) { return (unsigned short)((v & 255) << 8 | (v >> 8 & 255)); }
static unsigned get32(const unsigned char *p) { return (unsigned)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }
static int get16(const unsigned char *p) { return p[0] << 8 | p[1]; }
static long tap;
static unsigned first[2];
static int known[2];

static void heard(void)
{
	static unsigned char buf[200];
	for (;;) {
		unsigned char from[20];
		int size = sizeof(from);
		long n = sys(__NR_recvfrom, tap, buf, sizeof(buf), 0x40 | 0x20, from, &size);
		if (n < 0)
			break;
		if (from[10] != 4) /* PACKET_OUTGOING: each once */
			continue;
		unsigned char *ip = buf + 14, *t;
		int total, head;
		if ((ip[0] >> 4) == 4) {
			if (ip[9] != 6)
				continue;
			t = ip + (ip[0] & 15) * 4, total = get16(ip + 2), head = (ip[0] & 15) * 4;
		} else {
			if (ip[6] != 6)
				continue;
			t = ip + 40, total = get16(ip + 4) + 40, head = 40;
		}
		int client = get16(t) != 7777, size_of = (t[12] >> 4) * 4;
		unsigned seq = get32(t + 4), ack = get32(t + 8);
		if (t[13] & 2)
			first[client] = seq, known[client] = 1;
		say("  %s %d bytes, seq %d ack %d", client ? ">" : "<", total, seq - first[client], t[13] & 16 ? (int)(ack - first[!client]) : -1);
		say(" flags %x window %d options", (long)t[13], get16(t + 14));
		for (unsigned char *o = t + 20; o < t + size_of;) {
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
					say(" %d-%d", get32(o + i) - first[!client], get32(o + i + 4) - first[!client]);
				break;
			case 8: say(" ts %s", get32(o + 6) ? "+ echo" : ""); break;
			default: say(" %d(%d)", o[0], o[1]);
			}
			if (o[1] < 2)
				break;
			o += o[1];
		}
		say(", data %d\n", total - head - size_of);
	}
}

static void told(const char *who, long fd)
{
	static unsigned char info[232];
	unsigned *w = (unsigned *)(info + 8);
	int size = sizeof(info), mss = -1, four = 4, clamp = -1;
	memset(info, 0, sizeof(info));
	sys(__NR_getsockopt, fd, 6, 11, info, &size);
	sys(__NR_getsockopt, fd, 6, 2, &mss, &four);
	sys(__NR_getsockopt, fd, 6, 10, &clamp, &four);
	say(" %s: options %d scales %x snd_mss %d rcv_mss %d pmtu %d", who, info[5], (long)info[6], w[2], w[3], w[13]);
	say(" rcv_ssthresh %d advmss %d rcv_space %d snd_wnd %d maxseg %d clamp %d\n", w[14], w[19], w[22], w[57 - 2], mss, clamp);
}

static long option_listener[3], option_client[3]; /* level, name, value */
static void prepare(long fd, const long *o)
{
	int value = o[2];
	if (o[0])
		say(" setsockopt %r\n", sys(__NR_setsockopt, fd, (int)o[0], (int)o[1], &value, 4));
}

static void talk(const char *what, int family)
{
	static char text[100];
	unsigned short address[14] = { family };
	int length = family == 2 ? 16 : 28, one = 1;
	known[0] = known[1] = 0;
	say("%s\n", what);
	address[1] = net16(7777);
	if (family == 2)
		address[2] = 0x7f, address[3] = 0x0100;
	else
		address[11] = 0x0100;
	long listener = sys(__NR_socket, family, 1, 0);
	sys(__NR_setsockopt, listener, 1, 2, &one, 4);
	prepare(listener, option_listener);
	if (sys(__NR_bind, listener, address, length) < 0)
		say("bind!\n");
	sys(__NR_listen, listener, 4);
	long client = sys(__NR_socket, family, 1, 0);
	prepare(client, option_client);
	long r = sys(__NR_connect, client, address, length);
	long child = sys(__NR_accept, listener, 0, 0);
	heard();
	say(" connect %r\n", r);
	told("client", client), told("server", child);
	sys(__NR_write, client, "hello", 5);
	nap(60);
	sys(__NR_read, child, text, 100);
	sys(__NR_write, child, "hello yourself", 14);
	nap(60);
	sys(__NR_read, client, text, 100);
	nap(60);
	heard();
	told("client", client), told("server", child);
	sys(__NR_close, client);
	nap(60);
	sys(__NR_read, child, text, 1);
	sys(__NR_close, child);
	nap(60);
	heard();
	sys(__NR_close, listener);
	memset(option_listener, 0, sizeof(option_listener)), memset(option_client, 0, sizeof(option_client));
}

static void set(const char *name, const char *value)
{
	char path[100] = "/proc/sys/net/ipv4/";
	memcpy(path + strlen(path), name, strlen(name) + 1);
	long r = spit(path, value);
	say("%s = %s%s\n", name, value, r < 0 ? " failed" : "");
}

#define SERVER(l, n, v) (option_listener[0] = l, option_listener[1] = n, option_listener[2] = v)
#define CLIENT(l, n, v) (option_client[0] = l, option_client[1] = n, option_client[2] = v)

int main(int argc, char **argv)
{
	char ifr[40] = "lo";
	sys(__NR_unshare, 0x40000000);
	long u = sys(__NR_socket, 2, 2);
	*(short *)(ifr + 16) = 1;
	sys(__NR_ioctl, u, 0x8914, ifr);
	tap = sys(__NR_socket, 17, 3, net16(3));
	talk("usual", 2);
	talk("usual, IPv6", 10);
	set("tcp_timestamps", "0");
	talk("no timestamps", 2);
	talk("no timestamps, IPv6", 10);
	set("tcp_sack", "0");
	talk("neither SACK", 2);
	set("tcp_window_scaling", "0");
	talk("no options", 2);
	talk("no options, IPv6", 10);
	set("tcp_sack", "1");
	talk("SACK only", 2);
	set("tcp_timestamps", "1");
	talk("no scale", 2);
	set("tcp_sack", "0");
	talk("timestamps only", 2);
	set("tcp_window_scaling", "1"), set("tcp_sack", "1");
	CLIENT(6, 2, 1000), talk("client's TCP_MAXSEG", 2);
	SERVER(6, 2, 1000), talk("server's TCP_MAXSEG", 2);
	CLIENT(6, 2, 88), talk("client's least", 10);
	CLIENT(6, 10, 10000), talk("client's TCP_WINDOW_CLAMP", 2);
	SERVER(6, 10, 10000), talk("server's TCP_WINDOW_CLAMP", 2);
	CLIENT(1, 8, 4096), talk("client's SO_RCVBUF 4096", 2);
	SERVER(1, 8, 4096), talk("server's SO_RCVBUF 4096", 2);
	CLIENT(1, 8, 100000), talk("client's SO_RCVBUF 100000", 2);
	CLIENT(1, 33, 4000000), talk("client's SO_RCVBUFFORCE 4000000", 2);
	SERVER(1, 33, 4000000), talk("server's SO_RCVBUFFORCE 4000000", 2);
	*(int *)(ifr + 16) = 1500;
	sys(__NR_ioctl, u, 0x8922, ifr);
	talk("MTU 1500", 2);
	talk("MTU 1500, IPv6", 10);
	SERVER(6, 2, 1000), talk("MTU 1500, server's TCP_MAXSEG", 2);
	set("tcp_timestamps", "0");
	talk("MTU 1500, no timestamps", 2);
	set("tcp_timestamps", "1");
	*(int *)(ifr + 16) = 9000;
	sys(__NR_ioctl, u, 0x8922, ifr);
	talk("MTU 9000", 2);
	return 0;
}
