/* Classifiers that send packets elsewhere: redirect, redirect_peer, redirect_neigh, clone_redirect, sk_assign.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>

#define LDW(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define STW(d, o, i) I(BPF_ST | BPF_MEM | BPF_W, d, 0, o, i)
static long control;
static long load(const struct bpf_insn *code, int count)
{
	attr.prog_type = BPF_PROG_TYPE_SCHED_CLS, attr.insns = (ulong)code, attr.insn_cnt = count, attr.license = (ulong)"GPL";
	long fd = bpf(BPF_PROG_LOAD);
	if (fd < 0)
		say("load %r\n", fd);
	return fd;
}
#define LOAD_OF(code) load(code, sizeof(code) / sizeof(*code))

static void clsact(const char *dev)
{
	struct tcmsg *m = begin_message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, sizeof(*m));
	m->tcm_ifindex = ifindex(dev), m->tcm_handle = 0xffff0000, m->tcm_parent = TC_H_CLSACT;
	attribute(TCA_KIND, "clsact", 7);
	send_message("clsact");
}

static void classify(const char *dev, int egress, long prog)
{
	struct tcmsg *m = begin_message(RTM_NEWTFILTER, NLM_F_CREATE, sizeof(*m));
	m->tcm_ifindex = ifindex(dev), m->tcm_parent = egress ? 0xfffffff3 : 0xfffffff2, m->tcm_info = 1 << 16 | 0x0300, m->tcm_handle = 1;
	attribute(TCA_KIND, "bpf", 4);
	open_nest(TCA_OPTIONS);
	unsigned fd = prog, direct = 1;
	attribute(TCA_BPF_FD, &fd, 4);
	attribute(TCA_BPF_NAME, "p", 2);
	attribute(TCA_BPF_FLAGS, &direct, 4);
	close_nest();
	message.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
	send_message("filter");
}

static void heard(const char *what)
{
	static unsigned char frame[2000];
	nap(30);
	say("%s\n", what);
	for (int i = 0; i < tapped; i++)
		for (;;) {
			struct link_address from;
			unsigned size = sizeof(from);
			long got = sys(__NR_recvfrom, taps[i].fd, frame, sizeof(frame), 0, &from, &size);
			if (got <= 0)
				break;
			if (got >= 14 && (frame[12] != 8 || frame[13]) && (frame[12] != 0x86 || frame[20] != 17))
				continue; /* what the devices say of themselves */
			say("  %s kind %d, %d: ", taps[i].name, from.kind, (int)got);
			for (int n = 0; n < 14; n++)
				put("0123456789abcdef"[frame[n] >> 4]), put("0123456789abcdef"[frame[n] & 15]);
			say(" ttl %d mark %x\n", frame[22], (long)frame[got - 1]);
		}
}

static unsigned char packet[60];
static long raw;
static void inject(void)
{
	struct link_address where = { 17, 0x0008, ifindex("vb") };
	say("sent %r\n", sys(__NR_sendto, raw, packet, sizeof(packet), 0, &where, sizeof(where)));
}

#define IP(a, b, c, d) ((const unsigned char[16]){ a, b, c, d })

static long redirecting(int helper, const char *dev, int flags)
{
	struct bpf_insn code[] = { SET(1, ifindex(dev)), SET(2, flags), SET(3, 0), SET(4, 0), CALL(helper), EXIT };
	if (helper == BPF_FUNC_redirect_neigh)
		code[1] = SET(2, 0);
	return LOAD_OF(code);
}
static long cloning(const char *dev, int flags, int answer)
{
	struct bpf_insn code[] = {
		MOV(6, 1), SET(2, ifindex(dev)), SET(3, flags), CALL(BPF_FUNC_clone_redirect), MOV(7, 0),
		STW(10, -4, 0x7a7a7a7a), MOV(1, 6), SET(2, 56), MOV(3, 10), ADD(3, -4), SET(4, 4), SET(5, 0), CALL(BPF_FUNC_skb_store_bytes),
		SET(0, answer), I(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 1, 0), SET(0, TC_ACT_SHOT), EXIT,
	};
	return LOAD_OF(code);
}
static long next_hop(const char *dev, const unsigned char *to)
{
	unsigned address;
	memcpy(&address, to, 4);
	struct bpf_insn code[] = {
		STW(10, -20, 2), STW(10, -16, (int)address), STW(10, -12, 0), STW(10, -8, 0), STW(10, -4, 0),
		SET(1, ifindex(dev)), MOV(2, 10), ADD(2, -20), SET(3, 20), SET(4, 0), CALL(BPF_FUNC_redirect_neigh), EXIT,
	};
	return LOAD_OF(code);
}

/* packets to port `from` are those of the socket at port `to` */
static long assigning(int helper, int from, int to, int flags, int sent)
{
	struct bpf_insn code[] = {
		MOV(6, 1), MOV(1, 6), SET(2, 36), MOV(3, 10), ADD(3, -16), SET(4, 2), CALL(BPF_FUNC_skb_load_bytes),
		I(BPF_LDX | BPF_MEM | BPF_H, 7, 10, -16, 0), I(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 2, (from & 255) << 8 | from >> 8), SET(0, 0), EXIT,
		MOV(1, 6), SET(2, 47), MOV(3, 10), ADD(3, -16), SET(4, 1), CALL(BPF_FUNC_skb_load_bytes), /* of TCP, SYNs alone */
		I(BPF_LDX | BPF_MEM | BPF_B, 7, 10, -16, 0),
		I(BPF_JMP | (helper == BPF_FUNC_sk_lookup_tcp ? BPF_JEQ : BPF_JNE) | BPF_K, 7, 0, 2, 2), SET(0, 0), EXIT,
		STW(10, -12, 0x0100007f), STW(10, -8, 0x0100007f), STW(10, -4, ((to & 255) << 8 | to >> 8) << 16 | 0x100),
		MOV(1, 6), MOV(2, 10), ADD(2, -12), SET(3, 12), SET(4, -1), SET(5, 0), CALL(helper),
		I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0), SET(0, sent), EXIT,
		MOV(7, 0), MOV(1, 6), MOV(2, 7), SET(3, flags), CALL(BPF_FUNC_sk_assign), MOV(8, 0), MOV(1, 7), CALL(BPF_FUNC_sk_release),
		SET(0, 0), I(BPF_JMP | BPF_JEQ | BPF_K, 8, 0, 1, 0), SET(0, sent), EXIT,
	};
	return LOAD_OF(code);
}

struct inet_address { unsigned short family, port; unsigned at, zero[2]; };
static long bound(int type, int port, int shared)
{
	struct inet_address a = { 2, (port & 255) << 8 | port >> 8, 0x0100007f };
	long s = sys(__NR_socket, 2, type, 0);
	sys(__NR_setsockopt, s, 1, 15, &shared, 4);
	sys(__NR_bind, s, &a, 16);
	if (type == 1)
		sys(__NR_listen, s, 5);
	static const long second[2] = { 0, 300000 };
	sys(__NR_setsockopt, s, 1, 20, second, 16);
	return s;
}

static void assigned(void)
{
	struct inet_address to = { 2, 0xb315, 0x0100007f }, who; /* port 5555 */
	unsigned size = sizeof(who);
	char text[32];
	long a = bound(2, 7000, 0), b = bound(2, 7002, 1), c = bound(2, 7003, 0), l = bound(1, 7001, 0);
	clsact("lo");
	sys(__NR_sendto, c, "one", 3, 0, &to, 16);
	say("nobody: %r\n", sys(__NR_recvfrom, a, text, 32, 0, 0, 0));
	classify("lo", 0, assigning(BPF_FUNC_sk_lookup_udp, 5555, 7000, 0, 2));
	sys(__NR_sendto, c, "two", 3, 0, &to, 16);
	say("given away: %r\n", sys(__NR_recvfrom, a, text, 32, 0, &who, &size));
	say("from %d\n", (who.port & 255) << 8 | who.port >> 8);
	classify("lo", 0, assigning(BPF_FUNC_sk_lookup_udp, 5555, 7000, 1, 2));
	sys(__NR_sendto, c, "three", 5, 0, &to, 16);
	say("a flag: %r\n", sys(__NR_recvfrom, a, text, 32, 0, 0, 0));
	classify("lo", 0, assigning(BPF_FUNC_sk_lookup_udp, 5555, 7002, 0, 2));
	sys(__NR_sendto, c, "four", 4, 0, &to, 16);
	say("one that shares its port: %r\n", sys(__NR_recvfrom, b, text, 32, 0, 0, 0));
	classify("lo", 1, assigning(BPF_FUNC_sk_lookup_udp, 5555, 7000, 0, 2));
	classify("lo", 0, assigning(BPF_FUNC_sk_lookup_udp, 9, 9, 0, 2));
	say("on the way out: %r\n", sys(__NR_sendto, c, "five", 4, 0, &to, 16));
	say("%r\n", sys(__NR_recvfrom, a, text, 32, 0, 0, 0));
	classify("lo", 1, assigning(BPF_FUNC_sk_lookup_udp, 9, 9, 0, 2));
	long s = sys(__NR_socket, 2, 1, 0);
	say("connect %r\n", sys(__NR_connect, s, &to, 16));
	sys(__NR_close, s);
	classify("lo", 0, assigning(BPF_FUNC_sk_lookup_tcp, 5555, 7001, 0, 2));
	s = sys(__NR_socket, 2, 1, 0);
	say("connect %r\n", sys(__NR_connect, s, &to, 16));
	long got = sys(__NR_accept, l, &who, &size);
	say("accept %r\n", got < 0 ? got : 0);
	size = sizeof(who);
	sys(__NR_getsockname, got, &who, &size);
	say("it has port %d\n", (who.port & 255) << 8 | who.port >> 8);
	classify("lo", 0, assigning(BPF_FUNC_sk_lookup_udp, 9, 9, 0, 2));
	say("send %r\n", sys(__NR_write, s, "hello", 5));
	say("receive %r\n", sys(__NR_read, got, text, 32));
}

int main(int argc, char **argv)
{
	static const unsigned char head[] = {
		2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0x65, 0xb8, 10, 1, 0, 2, 10, 2, 0, 9, 0x10, 0, 0x20, 0, 0, 26, 0, 0,
	};
	sys(__NR_unshare, 0x40000000);
	long far = sys(__NR_open, "/proc/self/ns/net", 0);
	sys(__NR_unshare, 0x40000000);
	long here = sys(__NR_open, "/proc/self/ns/net", 0);
	netlink = sys(__NR_socket, 16, 3, 0);
	spit("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
	spit("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	set_up("lo", 0);
	veth("va", "vb", "\2\0\0\0\0\1");
	veth("vc", "vd", "\2\0\0\0\0\3");
	veth("ve", "vf", "\2\0\0\0\0\5");
	struct ifinfomsg *info = begin_message(RTM_NEWLINK, 0, sizeof(*info));
	info->ifi_index = ifindex("vf");
	unsigned there = far;
	attribute(IFLA_NET_NS_FD, &there, 4);
	attribute(IFLA_ADDRESS, "\2\0\0\0\0\6", 6);
	send_message("away");
	set_up("va", 0), set_up("vb", 0), set_up("vc", 0), set_up("vd", 0), set_up("ve", 0);
	memcpy(packet, head, sizeof(head));
	address("va", 2, IP(10, 1, 0, 1), 24);
	address("vc", 2, IP(10, 2, 0, 1), 24);
	neighbour("vc", 2, IP(10, 2, 0, 9), "\2\0\0\0\0\x29", NUD_PERMANENT);
	neighbour("vc", 2, IP(10, 2, 0, 8), "\2\0\0\0\0\x28", NUD_PERMANENT);
	control = netlink;
	raw = sys(__NR_socket, 17, 3, 0);
	tap("va"), tap("vc"), tap("vd"), tap("ve");
	sys(__NR_setns, far, 0);
	netlink = sys(__NR_socket, 16, 3, 0);
	spit("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
	set_up("vf", 0);
	tap("vf");
	sys(__NR_setns, here, 0);
	netlink = control;
	nap(30);
	heard("nothing yet");
	clsact("va");
	inject(), heard("no program");
	sys(__NR_close, taps[0].fd), taps[0].fd = -1; /* it shares headers with what goes on */
	classify("va", 0, redirecting(BPF_FUNC_redirect, "vc", 0)), inject(), heard("redirect out");
	classify("va", 0, redirecting(BPF_FUNC_redirect, "vc", 1)), inject(), heard("redirect in");
	classify("va", 0, redirecting(BPF_FUNC_redirect, "vc", 2)), inject(), heard("redirect with a bad flag");
	classify("va", 0, redirecting(BPF_FUNC_redirect_peer, "ve", 0)), inject(), heard("to the peer");
	classify("va", 0, redirecting(BPF_FUNC_redirect_peer, "vc", 0)), inject(), heard("to a peer in this namespace");
	classify("va", 0, redirecting(BPF_FUNC_redirect_peer, "lo", 0)), inject(), heard("to no peer");
	classify("va", 0, redirecting(BPF_FUNC_redirect_peer, "ve", 1)), inject(), heard("to the peer with a flag");
	classify("va", 0, redirecting(BPF_FUNC_redirect_neigh, "vc", 0)), inject(), heard("to a neighbour by the route");
	classify("va", 0, redirecting(BPF_FUNC_redirect_neigh, "ve", 0)), inject(), heard("to a neighbour by no route");
	classify("va", 0, next_hop("vc", IP(10, 2, 0, 8))), inject(), heard("to a next hop");
	classify("va", 0, next_hop("vc", IP(10, 2, 0, 9))), inject(), heard("to another");
	classify("va", 0, cloning("vc", 0, TC_ACT_SHOT)), inject(), heard("a copy out");
	classify("va", 0, cloning("vc", 1, TC_ACT_OK)), inject(), heard("a copy in");
	classify("va", 0, cloning("ve", 0, TC_ACT_OK)), inject(), heard("a copy away");
	set_up("vb", 0);
	clsact("vb");
	classify("vb", 1, cloning("vc", 0, TC_ACT_OK));
	classify("va", 0, redirecting(BPF_FUNC_redirect, "ve", 0));
	inject(), heard("a copy on the way out, the packet elsewhere");
	classify("vb", 1, redirecting(BPF_FUNC_redirect_peer, "ve", 0)), inject(), heard("to a peer on the way out");
	classify("vb", 1, redirecting(BPF_FUNC_redirect_neigh, "vc", 0)), inject(), heard("to a neighbour on the way out");
	assigned();
	return 0;
}
