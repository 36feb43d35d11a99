/* Programs of routes that put segment routing headers around packets (lwt_push_encap with BPF_LWT_ENCAP_SEG6).  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include <linux/lwtunnel.h>

#define STW(d, o, i) I(BPF_ST | BPF_MEM | BPF_W, d, 0, o, i)
#define LDW(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define PROGRAM(type, ...) ({ struct bpf_insn code[] = { __VA_ARGS__ }; long fd = bpf_program(type, code, sizeof(code) / sizeof(*code)); if (fd < 0) say("load %r\n", fd); fd; })
enum { IN = BPF_PROG_TYPE_LWT_IN, OUT = BPF_PROG_TYPE_LWT_OUT, XMIT = BPF_PROG_TYPE_LWT_XMIT };
static long notes;

static long answers(int type, int action) { return PROGRAM(type, SET(0, action), EXIT); }


/* puts a segment routing header of two segments around the packet, with one byte of it changed */
static long segments(int kind, int length, int at, int byte, int answer, int last)
{
	static const unsigned char plain[40] = { 0, 4, 4, 1, 1, 0, 0, 0, 0xfd, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0xfd, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9 };
	unsigned char header[40];
	unsigned w[10];
	memcpy(header, plain, 40), header[39] = last;
	if (at >= 0)
		header[at] = byte;
	memcpy(w, header, 40);
	struct bpf_insn code[60];
	int n = 0;
	code[n++] = MOV(6, 1);
	for (int i = 0; i < 12; i++)
		code[n++] = STW(10, -48 + 4 * i, i < 10 ? (int)w[i] : 0);
	code[n++] = SET(2, kind), code[n++] = MOV(3, 10), code[n++] = ADD(3, -48), code[n++] = SET(4, length), code[n++] = CALL(BPF_FUNC_lwt_push_encap), code[n++] = MOV(7, 0);
	code[n++] = STW(10, -52, 0), code[n++] = I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, (int)notes), code[n++] = I(0, 0, 0, 0, 0);
	code[n++] = MOV(2, 10), code[n++] = ADD(2, -52), code[n++] = CALL(BPF_FUNC_map_lookup_elem), code[n++] = I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), code[n++] = EXIT;
	code[n++] = STORE(0, 7, 0), code[n++] = LDW(1, 6, 0), code[n++] = STORE(0, 1, 8), code[n++] = LDW(1, 6, 16), code[n++] = STORE(0, 1, 16);
	code[n++] = SET(0, answer), code[n++] = I(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 1, 0), code[n++] = SET(0, 2), code[n++] = EXIT;
	long fd = bpf_program(IN, code, n);
	if (fd < 0)
		say("load %r\n", fd);
	return fd;
}

static void noted(int count)
{
	unsigned long long v[8];
	say("  noted");
	bpf_element(BPF_MAP_LOOKUP_ELEM, notes, 0, v);
	for (int i = 0; i < count; i++)
		if (v[i] >> 63)
			say(" %r", (long)v[i]);
		else
			say(" %x", (long)v[i]);
	say("\n");
	memset(v, 0, sizeof(v));
	bpf_element(BPF_MAP_UPDATE_ELEM, notes, 0, v);
}

static void ask(const char *what) /* the message, with what the kernel says beside the errno */
{
	struct { struct nlmsghdr head; struct nlmsgerr error; char rest[1024]; } answer;
	sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	sys(__NR_recvfrom, netlink, &answer, sizeof(answer), 0, 0, 0);
	say("%s: %r", what, (long)answer.error.error);
	if (answer.head.nlmsg_flags & 0x200) {
		char *at = (char *)&answer.error + sizeof(answer.error), *end = (char *)&answer + answer.head.nlmsg_len;
		if (!(answer.head.nlmsg_flags & 0x100))
			at += answer.error.msg.nlmsg_len - sizeof(struct nlmsghdr);
		while (at + 4 <= end) {
			struct rtattr *a = (void *)at;
			if (a->rta_type == 1)
				say(" \"%s\"", (char *)RTA_DATA(a));
			else if (a->rta_type == 2)
				say(" at %d", *(int *)RTA_DATA(a));
			at += RTA_ALIGN(a->rta_len);
		}
	}
	say("\n");
}

static const unsigned char *target;
static int family = 2;
static void begin_route(int type, int flags)
{
	struct rtmsg *m = begin_message(type, flags, sizeof(*m));
	m->rtm_family = family, m->rtm_dst_len = family == 2 ? 16 : 32, m->rtm_table = RT_TABLE_MAIN, m->rtm_protocol = RTPROT_BOOT, m->rtm_type = RTN_UNICAST;
	attribute(RTA_DST, target, width(family));
}
static void by(const char *dev, const void *gate)
{
	int index = ifindex(dev);
	attribute(RTA_GATEWAY, gate, width(family));
	attribute(RTA_OIF, &index, 4);
}
static void part(int kind, long fd, const char *name)
{
	unsigned number = fd;
	open_nest(kind);
	if (fd != -1)
		attribute(LWT_BPF_PROG_FD, &number, 4);
	if (name)
		attribute(LWT_BPF_PROG_NAME, name, strlen(name) + 1);
	close_nest();
}
static void encap_type(unsigned short type) { attribute(RTA_ENCAP_TYPE, &type, 2); }
#define ENCAP(...) (open_nest(RTA_ENCAP), __VA_ARGS__, close_nest(), encap_type(LWTUNNEL_ENCAP_BPF))
static const void *gate;
static void encapsulated(int flags, int kind, long prog, const char *name)
{
	begin_route(RTM_NEWROUTE, NLM_F_CREATE | flags);
	by("va", gate);
	ENCAP(part(kind, prog, name));
}
static void use(const char *what, int kind, long prog)
{
	static char name[] = "p00"; /* of equal names IPv4 keeps the first */
	if (++name[2] > '9')
		name[1]++, name[2] = '0';
	encapsulated(NLM_F_REPLACE, kind, prog, name);
	ask(what);
	sys(__NR_close, prog);
}

struct link_address { unsigned short family, protocol; int index; unsigned short type; unsigned char kind, length, mac[8]; };
static struct { const char *name; long fd; } taps[8];
static int tapped;
static void tap(const char *dev)
{
	long fd = sys(__NR_socket, 17, 3 | 04000, 0x0300);
	struct link_address where = { 17, 0x0300, ifindex(dev) };
	sys(__NR_bind, fd, &where, sizeof(where));
	taps[tapped].name = dev, taps[tapped++].fd = fd;
}
static void heard(void)
{
	static unsigned char frame[2000];
	nap(20);
	for (int i = 0; i < tapped; i++)
		for (;;) {
			struct link_address from;
			unsigned size = sizeof(from);
			long got = sys(__NR_recvfrom, taps[i].fd, frame, sizeof(frame), 0, &from, &size);
			if (got <= 0)
				break;
			if (frame[0] == 0x33)
				continue; /* what the devices say of themselves */
			say("  %s kind %d, %d: ", taps[i].name, from.kind, (int)got);
			for (int n = 0; n < got && n < 120; n++)
				put("0123456789abcdef"[frame[n] >> 4]), put("0123456789abcdef"[frame[n] & 15]);
			say("\n");
		}
}


static long raw;
static unsigned char packet[80];
static void injects(const char *what, int protocol, int size)
{
	struct link_address where = { 17, protocol, ifindex("vb") };
	say("%s: put in %r\n", what, sys(__NR_sendto, raw, packet, size, 0, &where, sizeof(where)));
	heard();
	noted(3);
}
static const unsigned char six[62] = {
	2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x62, 0x51, 0x23, 0x45, 0, 8, 59, 64, 0xfd, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
	0xfd, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h',
};
static const unsigned char four[42] = {
	2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 28, 0, 1, 0, 0, 64, 99, 0x66, 0x6e, 10, 1, 0, 2, 10, 5, 0, 9, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h',
};
#define SIX(what, ...) (use(what, LWT_BPF_IN, segments(__VA_ARGS__)), injects(what, 0xdd86, 62))
#define FOUR(what, ...) (use(what, LWT_BPF_IN, segments(__VA_ARGS__)), injects(what, 0x0008, 42))

int main(int argc, char **argv)
{
	sys(__NR_unshare, 0x40000000);
	netlink = sys(__NR_socket, 16, 3, 0);
	spit("/proc/sys/net/ipv6/conf/all/accept_dad", "0"), spit("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
	spit("/proc/sys/net/ipv6/conf/default/router_solicitations", "0"), spit("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
	spit("/proc/sys/net/ipv4/ip_forward", "1"), spit("/proc/sys/net/ipv6/conf/all/forwarding", "1");
	notes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 64, 1, 0);
	set_up("lo", 0);
	veth("va", "vb", "\2\0\0\0\0\1"), veth("vc", "vd", "\2\0\0\0\0\3");
	set_up("va", 0), set_up("vb", 0), set_up("vc", 0), set_up("vd", 0);
	nap(50);
	address("va", 2, ((const unsigned char[4]){ 10, 1, 0, 1 }), 24);
	address("va", 10, "\375\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 64), address("vc", 10, "\375\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 64);
	neighbour("va", 2, ((const unsigned char[4]){ 10, 1, 0, 2 }), "\2\0\0\0\0\x22", NUD_PERMANENT);
	neighbour("va", 10, "\375\1\0\0\0\0\0\0\0\0\0\0\0\0\0\2", "\2\0\0\0\0\x62", NUD_PERMANENT);
	neighbour("vc", 10, "\375\2\0\0\0\0\0\0\0\0\0\0\0\0\0\11", "\2\0\0\0\0\x69", NUD_PERMANENT);
	raw = sys(__NR_socket, 17, 3, 0);
	tap("va"), tap("vc");
	heard();
	family = 10, target = (const unsigned char *)"\375\5\0\0\0\0\0\0\0\0\0\0\0\0\0\0", gate = "\375\1\0\0\0\0\0\0\0\0\0\0\0\0\0\2";
	memcpy(packet, six, sizeof(six));
	SIX("around", 0, 40, -1, 0, 0, 9);
	SIX("around, answer 7", 0, 40, -1, 0, 7, 9);
	SIX("around, answer 128", 0, 40, -1, 0, 128, 9);
	SIX("within", 1, 40, -1, 0, 0, 9);
	SIX("within, answer 7", 1, 40, -1, 0, 7, 9);
	SIX("kind 3", 3, 40, -1, 0, 0, 9);
	SIX("another type", 0, 40, 2, 3, 0, 9);
	SIX("a length that is none", 0, 40, 1, 3, 0, 9);
	SIX("shorter", 0, 32, -1, 0, 0, 9);
	SIX("too many left", 0, 40, 3, 2, 0, 9);
	SIX("a first that is none", 0, 40, 4, 2, 0, 9);
	SIX("with an odd tail", 0, 48, 1, 5, 0, 9);
	SIX("one segment and a tail", 0, 40, 4, 0, 0, 9);
	SIX("to nowhere", 0, 40, 25, 9, 0, 9);
	SIX("within, to nowhere", 1, 40, 25, 9, 0, 9);
	SIX("tail of options", 0, 40, 4, 0, 0, 9);
	family = 2, target = (const unsigned char *)"\12\5\0\0", gate = "\12\1\0\2";
	memcpy(packet, four, sizeof(four));
	FOUR("IPv4 around, answer 128", 0, 40, -1, 0, 128, 9);
	FOUR("IPv4 within", 1, 40, -1, 0, 0, 9);
	return 0;
}
