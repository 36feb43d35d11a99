/* Tunnels between two network namespaces: datagrams and streams of both families through each kind, with one other end and with keys from programs; addresses that the links have of themselves.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include "tiny_routes.h"
#include "tiny_tunnels.h"

static long spaces[2], links[2];
static void in(int which) { sys(__NR_setns, spaces[which], 0x40000000), netlink = links[which]; }
static void address4(int type, int d) { attribute(type, ((const unsigned char[4]){ 10, 1, 0, d }), 4); }
static void make_link(const char *kind) { begin_plain("t", kind); }
static char sent[60000], got[60000];

static void local_names(void)
{
	static char text[4096], name[40];
	long fd = sys(__NR_open, "/proc/net/if_inet6", 0, 0), size = sys(__NR_read, fd, text, sizeof(text) - 1);
	sys(__NR_close, fd);
	for (char *p = text, *end = text + (size > 0 ? size : 0); p < end;) {
		char *stop = p;
		while (stop < end && *stop != '\n')
			stop++;
		if (stop - p > 50 && stop[-1] == 't') {
			memcpy(name, p, 32), name[32] = 0;
			if (name[1] != 'e')
				; /* given */
			else if (!memcmp(name + 16, "0000", 4))
				say("   %s\n", name);
			else
				say("   %s\n", memcmp(name + 22, "fffe", 4) ? "at random" : "of its address");
		}
		p = stop + 1;
	}
}

static long bound(int family, int kind, int port)
{
	unsigned char here[28];
	memset(here, 0, 28);
	here[0] = family, here[2] = port >> 8, here[3] = port;
	long fd = sys(__NR_socket, family, kind, 0);
	long ret = sys(__NR_bind, fd, here, family == 2 ? 16 : 28);
	if (ret)
		say("bind %r\n", ret);
	return fd;
}

static unsigned char there[28];
static void to_other(int family, int port)
{
	memset(there, 0, 28);
	there[0] = family, there[2] = port >> 8, there[3] = port;
	if (family == 2)
		memcpy(there + 4, "\12\11\0\2", 4);
	else
		memcpy(there + 8, "\375\11\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 16);
}

static void datagram(int family, int size)
{
	in(1);
	long b = bound(family, 2 | 04000, 7000);
	in(0);
	long a = bound(family, 2 | 04000, 7001);
	to_other(family, 7000);
	say("  %s %d: sent %r", family == 2 ? "IPv4" : "IPv6", size, sys(__NR_sendto, a, sent, size, 0, there, family == 2 ? 16 : 28));
	nap(30);
	unsigned char from[28];
	unsigned length = 28;
	long n = sys(__NR_recvfrom, b, got, sizeof(got), 0, from, &length);
	say(" received %r", n);
	if (n > 0) {
		say(" %s", memcmp(sent, got, n) ? "other bytes" : "the same");
		sys(__NR_sendto, b, "back", 4, 0, from, length);
		nap(30);
		say(" answer %r", sys(__NR_recvfrom, a, got, sizeof(got), 0, 0, 0));
	}
	say("\n");
	sys(__NR_close, a), sys(__NR_close, b);
}

static void stream(int family)
{
	in(1);
	int one = 1;
	long l = sys(__NR_socket, family, 1, 0);
	unsigned char here[28] = { family, 0, 0x1b, 0x60 };
	sys(__NR_setsockopt, l, 1, 2, &one, 4);
	sys(__NR_bind, l, here, family == 2 ? 16 : 28), sys(__NR_listen, l, 1);
	in(0);
	long a = sys(__NR_socket, family, 1 | 04000, 0);
	to_other(family, 7008);
	sys(__NR_connect, a, there, family == 2 ? 16 : 28);
	nap(30);
	long b = sys(__NR_accept4, l, 0, 0, 04000, 0, 0);
	say("  %s stream: %r", family == 2 ? "IPv4" : "IPv6", b < 0 ? b : 0);
	long n = sys(__NR_sendto, a, sent, 20000, 0, 0, 0), all = 0;
	for (int i = 0; i < 20 && all < n; i++) {
		nap(20);
		long more = sys(__NR_recvfrom, b, got + all, sizeof(got) - all, 0, 0, 0);
		if (more > 0)
			all += more;
	}
	int size = 0;
	unsigned length = 4;
	sys(__NR_getsockopt, a, 6, 2, &size, &length);
	say(" sent %r received %r %s, segments of %d\n", n, all, all == n && !memcmp(sent, got, n) ? "the same" : "not the same", size);
	sys(__NR_close, a), sys(__NR_close, b), sys(__NR_close, l);
}

static void delete(void)
{
	for (int i = 0; i < 2; i++) {
		in(i);
		struct ifinfomsg *m = begin_message(RTM_DELLINK, 0, sizeof(*m));
		m->ifi_index = ifindex("t");
		send_message("gone");
	}
}

static void goes(int four, int six)
{
	for (int i = 0; i < 2; i++) {
		in(i);
		set_up("t", 0);
		if (four)
			address("t", 2, ((const unsigned char[4]){ 10, 9, 0, 1 + i }), 24);
		if (six) {
			unsigned char a[16] = "\375\11\0\0\0\0\0\0\0\0\0\0\0\0\0\1";
			a[15] = 1 + i;
			address("t", 10, a, 64);
		}
		nap(50);
		if (!i)
			local_names();
	}
	if (four)
		datagram(2, 100), datagram(2, 3000), stream(2);
	if (six)
		datagram(10, 100), datagram(10, 3000), stream(10);
	delete();
}

#define BOTH(what, kind, four, six, ...) do { \
	say("%s\n", what); \
	for (int i = 0; i < 2; i++) { \
		int me = 1 + i, other = 2 - i; \
		in(i), make_link(kind); \
		(void)me, (void)other; \
		__VA_ARGS__; \
		close_nest(), close_nest(), send_message("made"); \
	} \
	goes(four, six); \
} while (0)

static void keyed(int i, int flags, int six)
{
	clsact("t");
	if (six) {
		unsigned char a[16] = "\375\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1";
		a[15] = 2 - i;
		values = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 512, 1, 0), key(77, a, 16, 0, 64, 0, 0);
	} else
		values = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 512, 1, 0), key(77, ((const unsigned char[4]){ 10, 1, 0, 2 - i }), 4, 0, 64, 0, 0);
	classify("t", 1, sets(44, flags, 0));
}
/* One end is told by programs, the other has one other end. */
#define MIXED(what, kind, flags, over6, four, six, external, ...) do { \
	say("%s\n", what); \
	in(0), make_link(kind), external, close_nest(), close_nest(), send_message("made"), keyed(0, flags, over6); \
	in(1), make_link(kind), __VA_ARGS__, close_nest(), close_nest(), send_message("made"); \
	goes(four, six); \
} while (0)
static void be32(int type, unsigned v) { v = __builtin_bswap32(v), attribute(type, &v, 4); }

int main(int argc, char **argv)
{
	int one = 1;
	for (int i = 0; i < (int)sizeof(sent); i++)
		sent[i] = i * 7 + (i >> 8);
	spit("/proc/sys/net/core/fb_tunnels_only_for_init_net", "2");
	for (int i = 1; i >= 0; i--) {
		sys(__NR_unshare, 0x40000000);
		spaces[i] = sys(__NR_open, "/proc/self/ns/net", 0, 0);
		netlink = links[i] = sys(__NR_socket, 16, 3, 0);
		sys(__NR_setsockopt, netlink, 270, 11, &one, 4);
		spit("/proc/sys/net/ipv6/conf/all/accept_dad", "0"), spit("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
		spit("/proc/sys/net/ipv6/conf/default/router_solicitations", "0");
		set_up("lo", 0);
	}
	veth("va", "vb", "\2\0\0\0\0\1");
	struct ifinfomsg *m = begin_message(RTM_NEWLINK, 0, sizeof(*m));
	m->ifi_index = ifindex("vb");
	int fd = spaces[1];
	attribute(IFLA_NET_NS_FD, &fd, 4);
	send_message("moved");
	for (int i = 0; i < 2; i++) {
		unsigned char a[16] = "\375\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1";
		a[15] = 1 + i;
		in(i);
		set_up(i ? "vb" : "va", 0);
		address(i ? "vb" : "va", 2, ((const unsigned char[4]){ 10, 1, 0, 1 + i }), 24);
		address(i ? "vb" : "va", 10, a, 64);
	}
	nap(200);
	BOTH("ipip", "ipip", 1, 0, address4(IFLA_IPTUN_LOCAL, me), address4(IFLA_IPTUN_REMOTE, other));
	BOTH("sit", "sit", 0, 1, address4(IFLA_IPTUN_LOCAL, me), address4(IFLA_IPTUN_REMOTE, other));
	BOTH("sit of both", "sit", 1, 1, address4(IFLA_IPTUN_LOCAL, me), address4(IFLA_IPTUN_REMOTE, other), u8(IFLA_IPTUN_PROTO, 0));
	BOTH("gre", "gre", 1, 1, address4(IFLA_GRE_LOCAL, me), address4(IFLA_GRE_REMOTE, other));
	BOTH("gre with sums and numbers", "gre", 1, 1, address4(IFLA_GRE_LOCAL, me), address4(IFLA_GRE_REMOTE, other), u16(IFLA_GRE_IFLAGS, 0xb0), u16(IFLA_GRE_OFLAGS, 0xb0), be32(IFLA_GRE_IKEY, 3), be32(IFLA_GRE_OKEY, 3));
	BOTH("gretap", "gretap", 1, 1, address4(IFLA_GRE_LOCAL, me), address4(IFLA_GRE_REMOTE, other));
	BOTH("vxlan", "vxlan", 1, 1, u32(IFLA_VXLAN_ID, 42), address4(IFLA_VXLAN_GROUP, other));
	BOTH("vxlan over IPv6", "vxlan", 1, 1, u32(IFLA_VXLAN_ID, 42), attribute(IFLA_VXLAN_GROUP6, me == 1 ? far6 : near6, 16));
	BOTH("geneve", "geneve", 1, 1, u32(IFLA_GENEVE_ID, 42), address4(IFLA_GENEVE_REMOTE, other));
	BOTH("geneve over IPv6", "geneve", 1, 1, u32(IFLA_GENEVE_ID, 42), attribute(IFLA_GENEVE_REMOTE6, me == 1 ? far6 : near6, 16));
	MIXED("gretap and programs", "gretap", BPF_F_ZERO_CSUM_TX, 0, 1, 1, flag(IFLA_GRE_COLLECT_METADATA), address4(IFLA_GRE_LOCAL, 2), address4(IFLA_GRE_REMOTE, 1), u16(IFLA_GRE_IFLAGS, 0x20), u16(IFLA_GRE_OFLAGS, 0x20), be32(IFLA_GRE_IKEY, 77), be32(IFLA_GRE_OKEY, 77));
	MIXED("gre and programs", "gre", BPF_F_ZERO_CSUM_TX, 0, 1, 1, flag(IFLA_GRE_COLLECT_METADATA), address4(IFLA_GRE_LOCAL, 2), address4(IFLA_GRE_REMOTE, 1), u16(IFLA_GRE_IFLAGS, 0x20), u16(IFLA_GRE_OFLAGS, 0x20), be32(IFLA_GRE_IKEY, 77), be32(IFLA_GRE_OKEY, 77));
	MIXED("ipip and programs", "ipip", 0, 0, 1, 0, flag(IFLA_IPTUN_COLLECT_METADATA), address4(IFLA_IPTUN_LOCAL, 2), address4(IFLA_IPTUN_REMOTE, 1));
	MIXED("vxlan and programs", "vxlan", 0, 0, 1, 1, u8(IFLA_VXLAN_COLLECT_METADATA, 1), u32(IFLA_VXLAN_ID, 77), address4(IFLA_VXLAN_GROUP, 1));
	MIXED("vxlan and programs over IPv6", "vxlan", 1, 1, 1, 1, u8(IFLA_VXLAN_COLLECT_METADATA, 1), u32(IFLA_VXLAN_ID, 77), attribute(IFLA_VXLAN_GROUP6, near6, 16));
	MIXED("geneve and programs", "geneve", 0, 0, 1, 1, flag(IFLA_GENEVE_COLLECT_METADATA), u32(IFLA_GENEVE_ID, 77), address4(IFLA_GENEVE_REMOTE, 1));
	MIXED("geneve and programs over IPv6", "geneve", 1, 1, 1, 1, flag(IFLA_GENEVE_COLLECT_METADATA), u32(IFLA_GENEVE_ID, 77), attribute(IFLA_GENEVE_REMOTE6, near6, 16));
	return 0;
}
