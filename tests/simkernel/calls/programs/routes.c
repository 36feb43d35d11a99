/* What bpf_fib_lookup, bpf_check_mtu and bpf_redirect_neigh say of routes, neighbours and devices.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"

/* -- programs -------------------------------------------------------------------------------------------------- */

struct noted { struct bpf_fib_lookup params; unsigned mtu, flags; int size, diff, ifindex, answer; };
static long notes, progs[4];
static unsigned char packet[2000];

static long program(int type, int helper)
{
	struct bpf_insn code[40];
	int n = 0;
#define E(x) code[n++] = (x)
	E(MOV(6, 1)), E(I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0)), E(MOV(2, 10)), E(ADD(2, -4));
	E(I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, notes)), E(I(0, 0, 0, 0, 0)), E(CALL(BPF_FUNC_map_lookup_elem));
	E(I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0)), E(EXIT), E(MOV(7, 0)), E(MOV(1, 6));
	if (helper == BPF_FUNC_fib_lookup) {
		E(MOV(2, 7)), E(SET(3, 64)), E(I(BPF_LDX | BPF_MEM | BPF_W, 4, 7, offsetof(struct noted, flags), 0));
	} else {
		E(I(BPF_LDX | BPF_MEM | BPF_W, 2, 7, offsetof(struct noted, ifindex), 0)), E(MOV(3, 7)), E(ADD(3, offsetof(struct noted, mtu)));
		E(I(BPF_LDX | BPF_MEM | BPF_W, 4, 7, offsetof(struct noted, diff), 0));
		E(I(BPF_LDX | BPF_MEM | BPF_W, 5, 7, offsetof(struct noted, flags), 0));
	}
	E(CALL(helper)), E(I(BPF_STX | BPF_MEM | BPF_W, 7, 0, offsetof(struct noted, answer), 0)), E(SET(0, 2)), E(EXIT);
	attr.prog_type = type, attr.insns = (ulong)code, attr.insn_cnt = n, attr.license = (ulong)"GPL";
	return bpf(BPF_PROG_LOAD);
}

static struct noted seen;
static long run(long prog, struct noted *in, int size)
{
	unsigned key = 0;
	attr.map_fd = notes, attr.key = (ulong)&key, attr.value = (ulong)in;
	bpf(BPF_MAP_UPDATE_ELEM);
	attr.test.prog_fd = prog, attr.test.data_in = (ulong)packet, attr.test.data_size_in = size;
	long ret = bpf(BPF_PROG_TEST_RUN);
	attr.map_fd = notes, attr.key = (ulong)&key, attr.value = (ulong)&seen;
	bpf(BPF_MAP_LOOKUP_ELEM);
	return ret;
}

static const char *device(int index)
{
	static const char *const names[] = { "lo", "va", "vb", "vc", "vd" };
	for (int i = 0; i < 5; i++)
		if (index && index == ifindex(names[i]))
			return names[i];
	return index ? "?" : "0";
}
static void put_bytes(const void *p, int n)
{
	for (const unsigned char *q = p; n--; q++)
		put("0123456789abcdef"[*q >> 4]), put("0123456789abcdef"[*q & 15]);
}

static void look(const char *what, int family, const void *from, const void *to, const char *dev, unsigned flags, int length)
{
	struct noted in;
	memset(&in, 0, sizeof(in));
	in.params.family = family, in.params.tot_len = length, in.params.ifindex = *dev == '0' ? 0 : *dev == '9' ? 999 : ifindex(dev);
	memcpy(in.params.ipv6_src, from, width(family)), memcpy(in.params.ipv6_dst, to, width(family));
	in.params.h_vlan_proto = 0x1111, in.params.h_vlan_TCI = 0x2222;
	memset(in.params.smac, 0xaa, 6), memset(in.params.dmac, 0xbb, 6);
	in.flags = flags;
	for (int i = 0; i < 2; i++) {
		run(progs[i], &in, 1450);
		say("%s %s flags %x len %d: %d", i ? "xdp" : what, dev, (long)flags, length, seen.answer);
		say(" dev %s fam %d len %d metric %d", device(seen.params.ifindex), seen.params.family, seen.params.tot_len, seen.params.rt_metric);
		if (memcmp(seen.params.ipv6_dst, in.params.ipv6_dst, 16))
			say(" dst "), put_bytes(seen.params.ipv6_dst, 16);
		if (memcmp(seen.params.ipv6_src, in.params.ipv6_src, 16))
			say(" src "), put_bytes(seen.params.ipv6_src, 16);
		if (memcmp(seen.params.smac, in.params.smac, 12) || seen.params.h_vlan_proto != 0x1111 || seen.params.h_vlan_TCI != 0x2222)
			say(" macs "), put_bytes(&seen.params.h_vlan_proto, 16);
		say("\n");
	}
}

static void mtu(const char *dev, unsigned given, int diff, unsigned flags, int size)
{
	struct noted in;
	memset(&in, 0, sizeof(in));
	in.mtu = given, in.diff = diff, in.flags = flags, in.ifindex = *dev == '0' ? 0 : ifindex(dev);
	for (int i = 0; i < 2; i++) {
		run(progs[2 + i], &in, size);
		say("mtu %s %d %s given %d diff %d flags %d: %d, %d\n", i ? "xdp" : "cls", size, dev, given, diff, flags, seen.answer, seen.mtu);
	}
}

#define IP(a, b, c, d) ((const unsigned char[16]){ a, b, c, d })
#define IP6(x, y) ((const unsigned char[16]){ 0xfd, 0, 0, x, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, y })

int main(int argc, char **argv)
{
	packet[12] = 8, packet[14] = 0x45;
	sys(__NR_unshare, 0x40000000);
	netlink = sys(__NR_socket, 16, 3, 0);
	set_up("lo", 0);
	veth("va", "vb", "\2\0\0\0\0\1");
	veth("vc", "vd", "\2\0\0\0\0\3");
	set_up("va", 0), set_up("vb", 0), set_up("vc", 1400), set_up("vd", 0);
	address("va", 2, IP(10, 1, 0, 1), 24);
	address("vc", 2, IP(10, 2, 0, 1), 24);
	address("va", 10, IP6(1, 1), 64);
	address("vc", 10, IP6(2, 1), 64);
	route(2, RTN_UNICAST, IP(20, 0, 0, 0), 8, IP(10, 2, 0, 9), "vc", 77, 254, 0, 0);
	route(2, RTN_UNICAST, IP(20, 1, 0, 0), 16, IP(10, 2, 0, 8), "vc", 0, 254, 300, IP(10, 1, 0, 1));
	route(2, RTN_BLACKHOLE, IP(21, 0, 0, 0), 8, 0, 0, 0, 254, 0, 0);
	route(2, RTN_UNREACHABLE, IP(22, 0, 0, 0), 8, 0, 0, 0, 254, 0, 0);
	route(2, RTN_PROHIBIT, IP(23, 0, 0, 0), 8, 0, 0, 0, 254, 0, 0);
	route(2, RTN_THROW, IP(24, 0, 0, 0), 8, 0, 0, 0, 254, 0, 0);
	route(2, RTN_UNICAST, IP(25, 0, 0, 0), 8, IP(10, 1, 0, 7), "va", 0, 100, 0, 0);
	route(10, RTN_UNICAST, IP6(3, 0), 64, IP6(2, 9), "vc", 88, 254, 0, 0);
	route(10, RTN_UNICAST, IP6(4, 0), 64, IP6(2, 8), "vc", 0, 254, 1300, 0);
	route(10, RTN_BLACKHOLE, IP6(5, 0), 64, 0, 0, 0, 254, 0, 0);
	route(10, RTN_UNREACHABLE, IP6(6, 0), 64, 0, 0, 0, 254, 0, 0);
	route(10, RTN_PROHIBIT, IP6(7, 0), 64, 0, 0, 0, 254, 0, 0);
	neighbour("vc", 2, IP(10, 2, 0, 9), "\2\0\0\0\0\x29", NUD_PERMANENT);
	neighbour("vc", 2, IP(10, 2, 0, 8), "\2\0\0\0\0\x28", NUD_STALE);
	neighbour("vc", 2, IP(10, 2, 0, 7), 0, NUD_FAILED);
	neighbour("vc", 2, IP(10, 2, 0, 6), "\2\0\0\0\0\x26", NUD_REACHABLE);
	neighbour("vc", 10, IP6(2, 9), "\2\0\0\0\0\x69", NUD_PERMANENT);
	neighbour("vc", 10, IP6(2, 8), "\2\0\0\0\0\x68", NUD_STALE);
	attr.map_type = BPF_MAP_TYPE_ARRAY, attr.key_size = 4, attr.value_size = sizeof(struct noted), attr.max_entries = 1;
	notes = bpf(BPF_MAP_CREATE);
	static long more[4];
	more[0] = program(BPF_PROG_TYPE_SCHED_CLS, BPF_FUNC_fib_lookup), more[1] = program(BPF_PROG_TYPE_XDP, BPF_FUNC_fib_lookup);
	more[2] = program(BPF_PROG_TYPE_SCHED_CLS, BPF_FUNC_check_mtu), more[3] = program(BPF_PROG_TYPE_XDP, BPF_FUNC_check_mtu);
	memcpy(progs, more, sizeof(progs));
	progs[2] = more[2], progs[3] = more[3];

	for (int forward = 0; forward < 2; forward++) {
		if (forward) {
			spit("/proc/sys/net/ipv4/ip_forward", "1");
			spit("/proc/sys/net/ipv6/conf/all/forwarding", "1");
		}
		say("forwarding %d\n", forward);
		look("v4", 2, IP(10, 1, 0, 5), IP(20, 0, 0, 5), "va", 0, 0);
		look("v6", 10, IP6(1, 5), IP6(3, 5), "va", 0, 0);
		look("v4", 2, IP(10, 1, 0, 5), IP(20, 0, 0, 5), "vc", BPF_FIB_LOOKUP_OUTPUT, 0);
		look("v4", 2, IP(10, 1, 0, 5), IP(20, 0, 0, 5), "0", 0, 0);
		look("v4", 2, IP(10, 1, 0, 5), IP(20, 0, 0, 5), "9", 0, 0);
		look("v6", 10, IP6(1, 5), IP6(3, 5), "9", 0, 0);
	}
	static const int flags[] = { 0, 1, 2, 3, 4, 5, 8, 9, 16, 20, 32, 64, 128 };
	for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		look("v4", 2, IP(10, 1, 0, 5), IP(20, 0, 0, 5), flags[i] & 2 ? "vc" : "va", flags[i], 100);
		look("v4 src", 2, IP(10, 1, 0, 5), IP(20, 1, 0, 5), "va", flags[i], 0);
		look("v6", 10, IP6(1, 5), IP6(3, 5), flags[i] & 2 ? "vc" : "va", flags[i], 100);
	}
	for (int to = 21; to < 27; to++)
		for (int f = 0; f < 2; f++)
			look("kind", 2, IP(10, 1, 0, 5), IP(to, 0, 0, 1), "va", f, 0);
	for (int to = 5; to < 9; to++)
		for (int f = 0; f < 2; f++)
			look("kind", 10, IP6(1, 5), IP6(to, 1), "va", f, 0);
	look("link local", 10, IP6(1, 5), "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", "va", 0, 0);
	look("from link local", 10, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1", IP6(3, 5), "9", 0, 0);
	look("group", 10, IP6(1, 5), "\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\1", "va", 0, 0);
	look("group", 2, IP(10, 1, 0, 5), IP(224, 0, 0, 1), "va", 0, 0);
	look("own", 2, IP(10, 1, 0, 5), IP(10, 2, 0, 1), "va", 0, 0);
	look("own", 10, IP6(1, 5), IP6(2, 1), "va", 0, 0);
	look("broadcast", 2, IP(10, 1, 0, 5), IP(10, 2, 0, 255), "va", 0, 0);
	look("nobody", 2, IP(10, 1, 0, 5), IP(10, 2, 0, 44), "va", 0, 0);
	look("failed", 2, IP(10, 1, 0, 5), IP(10, 2, 0, 7), "va", 0, 0);
	look("reachable", 2, IP(10, 1, 0, 5), IP(10, 2, 0, 6), "va", 0, 0);
	look("stale", 2, IP(10, 1, 0, 5), IP(20, 1, 0, 1), "va", 0, 0);
	look("back", 2, IP(10, 2, 0, 5), IP(10, 1, 0, 6), "vc", 0, 0);
	look("through lo", 2, IP(10, 2, 0, 5), IP(10, 2, 0, 6), "lo", 0, 0);
	look("nobody", 10, IP6(1, 5), IP6(2, 44), "va", 0, 0);
	look("stale", 10, IP6(1, 5), IP6(4, 4), "va", 0, 0);
	static const int lengths[] = { 1, 300, 301, 1300, 1301, 1400, 1401, 65535 };
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		look("long", 2, IP(10, 1, 0, 5), IP(20, 0, 0, 5), "va", 0, lengths[i]);
		look("long, by the route", 2, IP(10, 1, 0, 5), IP(20, 1, 0, 5), "va", 0, lengths[i]);
		look("long", 10, IP6(1, 5), IP6(3, 5), "va", 0, lengths[i]);
		look("long, by the route", 10, IP6(1, 5), IP6(4, 5), "va", 0, lengths[i]);
	}
	static const char *const devices[] = { "0", "lo", "va", "vc", "9" };
	for (unsigned i = 0; i < 5; i++) {
		mtu(devices[i], 0, 0, 0, 1000);
		mtu(devices[i], 1400, 0, 0, 1000);
		mtu(devices[i], 1401, 0, 0, 100);
		mtu(devices[i], 0, 500, 0, 1000);
		mtu(devices[i], 0, 501, 0, 1000);
		mtu(devices[i], 0, -400, 0, 1000);
		mtu(devices[i], 0, 414, 0, 1000);
		mtu(devices[i], 0, 415, 0, 1000);
		mtu(devices[i], 0, 0, 1, 1000);
		mtu(devices[i], 0, 0, 2, 1000);
	}
	return 0;
}
