/* IPV6_ADDRFORM: a socket of IPv6 that speaks IPv4 becomes one of IPv4. not: s390x i386 */
#include "tiny.h"
#include <linux/in6.h>
#include <linux/in.h>
#define AF_INET6 10
#define AF_INET 2
#define SOL_IPV6 41
#define IPV6_ADDRFORM 1
#define IPV6_V6ONLY 26
#define TCP_NODELAY 1
#define TCP_CONGESTION 13
struct six { unsigned short family, port; unsigned flow; unsigned char addr[16]; unsigned scope; };
static long set(long fd, int level, int name, int value) { return sys(__NR_setsockopt, fd, level, name, &value, 4); }
static long get(long fd, int level, int name)
{
	int value = -1, size = 4;
	long ret = sys(__NR_getsockopt, fd, level, name, &value, &size);
	return ret < 0 ? ret : value;
}
static struct six mapped(int port)
{
	struct six a = { AF_INET6, (unsigned short)(port << 8 | port >> 8), 0, { [10] = 0xff, 0xff, 127, 0, 0, 1 }, 0 };
	return a;
}
static struct six loop(int port)
{
	struct six a = { AF_INET6, (unsigned short)(port << 8 | port >> 8), 0, { [15] = 1 }, 0 };
	return a;
}
static void names(const char *what, long fd)
{
	for (int peer = 0; peer < 2; peer++) {
		unsigned char a[28];
		int size = 28;
		memset(a, 0, 28);
		long ret = sys(peer ? __NR_getpeername : __NR_getsockname, fd, a, &size);
		say("%s %s %r size %d family %d ip %d.%d.%d.%d", what, peer ? "peer" : "name", ret, size, a[0], a[4], a[5], a[6], a[7]);
		say(" %d.%d.%d.%d\n", a[20], a[21], a[22], a[23]);
	}
	say("%s domain %r type %r protocol %r\n", what, get(fd, 1, 39), get(fd, 1, 3), get(fd, 1, 38));
}
static void form(const char *what, long fd)
{
	say("%s: asked %r", what, get(fd, SOL_IPV6, IPV6_ADDRFORM));
	say(" to 10 %r to 0 %r", set(fd, SOL_IPV6, IPV6_ADDRFORM, AF_INET6), set(fd, SOL_IPV6, IPV6_ADDRFORM, 0));
	char byte = 2;
	say(" short %r", sys(__NR_setsockopt, fd, SOL_IPV6, IPV6_ADDRFORM, &byte, 1)), say(" to 2 %r", set(fd, SOL_IPV6, IPV6_ADDRFORM, AF_INET));
	say(" asked %r", get(fd, SOL_IPV6, IPV6_ADDRFORM)), say(" again %r\n", set(fd, SOL_IPV6, IPV6_ADDRFORM, AF_INET));
}

static void udp(void)
{
	long fd = sys(__NR_socket, AF_INET6, 2, 0), other = sys(__NR_socket, AF_INET, 2, 0);
	struct six a = mapped(4000), b = mapped(4001);
	unsigned char four[16] = { 2, 0, 4001 >> 8, 4001 & 255, 127, 0, 0, 1 }, text[64];
	sys(__NR_bind, other, four, 16);
	form("udp", fd);
	say("bind %r\n", sys(__NR_bind, fd, &a, 28));
	form("udp bound", fd);
	say("only %r connect %r\n", set(fd, SOL_IPV6, IPV6_V6ONLY, 1), sys(__NR_connect, fd, &b, 28));
	form("udp connected", fd);
	names("udp", fd);
	say("v6 option %r v4 option %r get v6 %r\n", set(fd, SOL_IPV6, 16, 5), set(fd, 0, 2, 7), get(fd, SOL_IPV6, 16));
	say("send %r", sys(__NR_sendto, fd, "hello", 5, 0, 0, 0));
	int size = 28;
	say(" arrived %r", sys(__NR_recvfrom, other, text, 64, 0x40, four, &size));
	say(" from family %d %d.%d\n", four[0], four[4], four[7]);
	say("back %r", sys(__NR_sendto, other, "hi", 2, 0, four, 16));
	size = 28;
	unsigned char who[28] = "";
	say(" %r", sys(__NR_recvfrom, fd, text, 64, 0x40, who, &size));
	say(" size %d family %d\n", size, who[0]);
	say("to v6 %r", sys(__NR_sendto, fd, "x", 1, 0, &b, 28));
	memcpy(four, "\2\0\17\241\177\0\0\1\0\0\0\0\0\0\0\0", 16);
	say(" to v4 %r again connect v6 %r v4 %r\n", sys(__NR_sendto, fd, "x", 1, 0, four, 16), sys(__NR_connect, fd, &b, 28), sys(__NR_connect, fd, four, 16));
	sys(__NR_close, fd), sys(__NR_close, other);
}

static void tcp(void)
{
	long server = sys(__NR_socket, AF_INET6, 1, 0), fd = sys(__NR_socket, AF_INET6, 1, 0), got, third;
	struct six a = mapped(4100), any = { AF_INET6, 4100 >> 8 | (4100 & 255) << 8 };
	char text[64];
	T(__NR_bind, server, &any, 28), T(__NR_listen, server, 5);
	form("listener", server);
	form("tcp fresh", fd);
	say("connect %r\n", sys(__NR_connect, fd, &a, 28));
	got = sys(__NR_accept, server, 0, 0);
	form("accepted", got);
	names("accepted", got);
	form("client", fd);
	names("client", fd);
	say("write %r", sys(__NR_write, fd, "abc", 3));
	say(" read %r", sys(__NR_read, got, text, 64));
	say(" back %r", sys(__NR_write, got, "wxyz", 4));
	say(" read %r\n", sys(__NR_read, fd, text, 64));
	say("nodelay %r congestion %r ttl %r hops %r\n", set(fd, 6, TCP_NODELAY, 1), sys(__NR_setsockopt, fd, 6, TCP_CONGESTION, "reno", 4), set(fd, 0, 2, 9), set(fd, SOL_IPV6, 16, 9));
	sys(__NR_close, fd);
	say("end %r\n", sys(__NR_read, got, text, 64));
	sys(__NR_close, got);
	a = loop(4100);
	fd = sys(__NR_socket, AF_INET6, 1, 0);
	say("connect by v6 %r\n", sys(__NR_connect, fd, &a, 28));
	third = sys(__NR_accept, server, 0, 0);
	form("by v6", fd);
	form("by v6 accepted", third);
	sys(__NR_close, fd), sys(__NR_close, third), sys(__NR_close, server);
}

int main(int argc, char **argv)
{
	sys(__NR_alarm, 20);
	udp();
	tcp();
	long fd = sys(__NR_socket, AF_INET6, 3, 58);
	struct six b = loop(0);
	form("raw", fd);
	say("connect %r\n", sys(__NR_connect, fd, &b, 28));
	form("raw connected", fd);
	fd = sys(__NR_socket, AF_INET6, 2, 136);
	b = mapped(4002);
	sys(__NR_connect, fd, &b, 28);
	form("udplite", fd);
	names("udplite", fd);
	fd = sys(__NR_socket, AF_INET, 2, 0);
	form("v4", fd);
	fd = sys(__NR_socket, AF_INET6, 2, 0);
	struct { unsigned char group[16]; int index; } m = { { 0xff, 2, [15] = 9 }, 1 };
	b = mapped(4003);
	say("join %r connect %r\n", sys(__NR_setsockopt, fd, SOL_IPV6, 20, &m, 20), sys(__NR_connect, fd, &b, 28));
	form("with a group", fd);
	names("with a group", fd);
	return 0;
}
