/* Flow dissectors of a namespace: who asks them (packets that are sent raw, payload offsets of classic filters, hashes), and what counts of their answers.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include <linux/filter.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>

#define LDW(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define LDH(d, s, o) I(BPF_LDX | BPF_MEM | BPF_H, d, s, o, 0)
static long notes, hashes;

/* counts and notes what it is asked; sets the transport header to nhoff + `offset` and the protocol unless that is 0 */
static long dissects(int answer, int offset, int protocol, int fragment)
{
	struct bpf_insn code[] = {
		MOV(6, 1), I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0), I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, (int)notes), I(0, 0, 0, 0, 0),
		MOV(2, 10), ADD(2, -4), CALL(BPF_FUNC_map_lookup_elem), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), EXIT,
		LOAD(1, 0, 0), ADD(1, 1), STORE(0, 1, 0), LOAD(7, 6, 144), LDH(1, 7, 0), STORE(0, 1, 8), LDH(1, 7, 10), STORE(0, 1, 16),
		LDW(2, 6, 76), LDW(3, 6, 80), MOV(4, 3), I(BPF_ALU64 | BPF_SUB | BPF_X, 4, 2, 0, 0), STORE(0, 4, 24), LDW(1, 7, 48), STORE(0, 1, 32), LDH(1, 7, 2), STORE(0, 1, 40),
		SET(1, protocol), I(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 6, 0), I(BPF_STX | BPF_MEM | BPF_B, 7, 1, 9, 0),
		LDH(1, 7, 0), ADD(1, offset), I(BPF_STX | BPF_MEM | BPF_H, 7, 1, 2, 0), SET(1, fragment), I(BPF_STX | BPF_MEM | BPF_B, 7, 1, 6, 0),
		SET(0, answer), EXIT,
	};
	return bpf_program(BPF_PROG_TYPE_FLOW_DISSECTOR, code, sizeof(code) / sizeof(*code));
}

static void noted(void)
{
	unsigned long long v[8];
	bpf_element(BPF_MAP_LOOKUP_ELEM, notes, 0, v);
	say("  asked %d", (int)v[0]);
	if (v[0])
		say(": nhoff %d thoff %d proto %x length %d flags %x", (int)v[1], (int)v[5], (long)v[2], (int)v[3], (long)v[4]);
	say("\n");
	memset(v, 0, sizeof(v)), bpf_element(BPF_MAP_UPDATE_ELEM, notes, 0, v);
}

struct link_address { unsigned short family, protocol; int index; unsigned short type; unsigned char kind, length, mac[8]; };
static long raw, listening;
static unsigned char text[2000];
static struct sock_filter pay[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_PAY_OFFSET), BPF_STMT(BPF_RET | BPF_A, 0) };
static struct sock_fprog payload = { 2, pay };

static void injects(const char *what, const unsigned char *frame, int size)
{
	struct link_address where = { 17, 0x0008, ifindex("vb") };
	say("%s: %r", what, sys(__NR_sendto, raw, frame, size, 0, &where, sizeof(where)));
	nap(20);
	say(" payload at %r\n", sys(__NR_recvfrom, listening, text, sizeof(text), 0, 0, 0));
	noted();
}

#define IP4(length, fragment, protocol) 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, length, 0, 1, fragment, 64, protocol, 0, 0, 10, 1, 0, 2, 10, 2, 0, 9
static void frames(void)
{
	static const unsigned char udp[80] = { IP4(46, 0 << 5, 17), 0x10, 0, 0x20, 0, 0, 26 };
	static unsigned char frame[80];
#define FRAME(what, size, ...) do { static const unsigned char f[80] = { __VA_ARGS__ }; memcpy(frame, f, 80); injects(what, frame, size); } while (0)
#define V4(b, p, f1, f2) 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, b, 0, 0, 46, 0, 1, f1, f2, 64, p, 0, 0, 10, 1, 0, 2, 10, 2, 0, 9
	FRAME("udp", 60, V4(0x45, 17, 0, 0), 0x10, 0, 0x20, 0, 0, 26);
	FRAME("tcp", 60, V4(0x45, 6, 0, 0), 0x10, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x50);
	FRAME("tcp with options", 70, V4(0x45, 6, 0, 0), 0x10, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80);
	FRAME("tcp that lies", 60, V4(0x45, 6, 0, 0), 0x10, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10);
	FRAME("icmp", 60, V4(0x45, 1, 0, 0), 8);
	FRAME("igmp", 60, V4(0x45, 2, 0, 0), 8);
	FRAME("sctp", 60, V4(0x45, 132, 0, 0), 8);
	FRAME("another protocol", 60, V4(0x45, 99, 0, 0), 8);
	FRAME("with options", 60, V4(0x47, 17, 0, 0));
	FRAME("the first piece", 60, V4(0x45, 17, 0x20, 0), 0x10, 0, 0x20, 0, 0, 26);
	FRAME("a later piece", 60, V4(0x45, 17, 0, 4), 0x10, 0, 0x20, 0, 0, 26);
	FRAME("a short header", 60, V4(0x43, 17, 0, 0), 0x10, 0, 0x20, 0, 0, 26);
	FRAME("within another", 80, V4(0x45, 4, 0, 0), 0x45, 0, 0, 40, 0, 1, 0, 0, 64, 17, 0, 0, 10, 1, 0, 2, 10, 2, 0, 9, 0x10, 0, 0x20, 0, 0, 26);
	FRAME("cut off", 30, V4(0x45, 17, 0, 0));
	FRAME("arp", 60, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 6, 0, 1, 8, 0, 6, 4, 0, 9);
	FRAME("nobody's", 60, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, 1, 2, 3);
#define V6(p) 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, p, 64, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9
	FRAME("udp of IPv6", 74, V6(17), 0x10, 0, 0x20, 0, 0, 20);
	FRAME("icmp of IPv6", 74, V6(58), 128);
	FRAME("behind options of IPv6", 80, V6(0), 17, 0, 1, 4);
	FRAME("a first piece of IPv6", 80, V6(44), 17, 0, 0, 1);
	FRAME("a later piece of IPv6", 80, V6(44), 17, 0, 0, 9);
	(void)udp;
}

static void clsact(const char *dev)
{
	struct tcmsg *m = begin_message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, sizeof(*m));
	m->tcm_ifindex = ifindex(dev), m->tcm_handle = 0xffff0000, m->tcm_parent = TC_H_CLSACT;
	attribute(TCA_KIND, "clsact", 7);
	send_message("clsact");
}
static void classify(const char *dev)
{
	struct bpf_insn code[] = {
		CALL(BPF_FUNC_get_hash_recalc), MOV(7, 0), I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0), I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, (int)hashes), I(0, 0, 0, 0, 0),
		MOV(2, 10), ADD(2, -4), CALL(BPF_FUNC_map_lookup_elem), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0), SET(0, 0), EXIT, STORE(0, 7, 0), SET(0, 0), EXIT,
	};
	unsigned fd = bpf_program(BPF_PROG_TYPE_SCHED_CLS, code, sizeof(code) / sizeof(*code)), direct = 1;
	struct tcmsg *m = begin_message(RTM_NEWTFILTER, NLM_F_CREATE, sizeof(*m));
	m->tcm_ifindex = ifindex(dev), m->tcm_parent = 0xfffffff2, m->tcm_info = 1 << 16 | 0x0300, m->tcm_handle = 1;
	attribute(TCA_KIND, "bpf", 4);
	open_nest(TCA_OPTIONS);
	attribute(TCA_BPF_FD, &fd, 4), attribute(TCA_BPF_NAME, "p", 2), attribute(TCA_BPF_FLAGS, &direct, 4);
	close_nest();
	send_message("filter");
}
static long hash(int port, int id) /* of a packet to a port */
{
	static unsigned char frame[80] = { V4(0x45, 17, 0, 0), 0x10, 0, 0x20, 0, 0, 26 };
	struct link_address where = { 17, 0x0008, ifindex("vb") };
	unsigned long long v = 0;
	frame[37] = port, frame[19] = id;
	bpf_element(BPF_MAP_UPDATE_ELEM, hashes, 0, &v);
	sys(__NR_sendto, raw, frame, 60, 0, &where, sizeof(where));
	nap(20);
	bpf_element(BPF_MAP_LOOKUP_ELEM, hashes, 0, &v);
	return (long)v;
}
static void hashed(const char *what)
{
	long a = hash(1, 1), b = hash(1, 2), c = hash(2, 1);
	say("%s: a hash %d, of the flow %d, of another %d\n", what, a != 0, a == b, a == c);
	noted();
}

static long last;
static long attach(long prog)
{
	last = prog;
	attr.target_fd = 0, attr.attach_bpf_fd = prog, attr.attach_type = BPF_FLOW_DISSECTOR;
	return bpf(BPF_PROG_ATTACH);
}

int main(int argc, char **argv)
{
	sys(__NR_unshare, 0x40000000);
	netlink = sys(__NR_socket, 16, 3, 0);
	spit("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1"), spit("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	set_up("lo", 0), veth("va", "vb", "\2\0\0\0\0\1"), set_up("va", 0), set_up("vb", 0);
	notes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 64, 1, 0), hashes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	nap(30);
	raw = sys(__NR_socket, 17, 3, 0), listening = sys(__NR_socket, 17, 3 | 04000, 0x0300);
	struct link_address where = { 17, 0x0300, ifindex("va") };
	sys(__NR_bind, listening, &where, sizeof(where));
	say("filter %r\n", sys(__NR_setsockopt, listening, 1, 26, &payload, sizeof(payload)));
	frames();
	say("a program that says nothing: %r\n", attach(dissects(0, 0, 0, 0))), frames();
	say("that lets the kernel do it: %r\n", attach(dissects(129, 0, 0, 0))), frames();
	say("that drops: %r\n", attach(dissects(2, 20, 17, 0))), frames();
	say("that says udp: %r\n", attach(dissects(0, 20, 17, 0))), frames();
	say("that says a piece: %r\n", attach(dissects(0, 20, 17, 1))), frames();
	say("far away: %r\n", attach(dissects(0, 3000, 17, 0))), frames();
	struct { unsigned short f, p; unsigned a, z[2]; } to = { 2, 0x0020, 0x0100007f };
	long u = sys(__NR_socket, 2, 2, 0), s = sys(__NR_socket, 2, 2 | 04000, 0);
	sys(__NR_bind, s, &to, 16);
	sys(__NR_sendto, u, "abc", 3, 0, &to, 16), nap(10), say("udp over lo\n"), noted();
	sys(__NR_recvfrom, s, text, 64, 0, 0, 0);
	sys(__NR_setsockopt, s, 1, 26, &payload, sizeof(payload));
	say("that says udp: %r\n", attach(dissects(0, 20, 17, 0)));
	sys(__NR_sendto, u, "abcdefghijklmnop", 16, 0, &to, 16), nap(10), noted();
	say("received %r\n", sys(__NR_recvfrom, s, text, 64, 0, 0, 0));
	clsact("va"), classify("va");
	hashed("that says udp");
	attr.target_fd = 0, attr.attach_bpf_fd = last, attr.attach_type = BPF_FLOW_DISSECTOR;
	say("away %r\n", bpf(BPF_PROG_DETACH));
	hashed("nobody");
	return 0;
}
