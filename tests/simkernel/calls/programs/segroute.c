/* Programs of routes that put segment routing headers around packets (lwt_push_encap with BPF_LWT_ENCAP_SEG6).  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include "tiny_routes.h"

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

static long raw;
static unsigned char packet[80];
static void injects(const char *what, int protocol, int size)
{
	struct link_address where = { 17, protocol, ifindex("vb") };
	say("%s: put in %r\n", what, sys(__NR_sendto, raw, packet, size, 0, &where, sizeof(where)));
	heard(120);
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
	heard(120);
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
