/* Devices that are tunnels, their keys from programs (collect metadata): what goes out of them, and what comes in.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include "tiny_routes.h"
#include "tiny_tunnels.h"

static void goes(int ethernet, int options)
{
	set_up("t", 0);
	shown("t");
	address("t", 2, ((const unsigned char[4]){ 10, 9, 0, 1 }), 24);
	if (ethernet)
		neighbour("t", 2, ((const unsigned char[4]){ 10, 9, 0, 2 }), "\2\0\0\0\0\x12", NUD_PERMANENT);
	clsact("t"), tap("t");
	memset(value, 0, sizeof(value));
	sends("no program");
	key(0x12345678, far, 4, 0, 0, 0, 0);
	classify("t", 0, gets(0, 64)), classify("t", 1, sets(44, 0, 0));
	sends("a key");
	back("and back", 0, 0, 0);
	back("cut", 20, 0, 0);
	key(0xabcd, far, 4, 0x14, 7, 0, 0);
	classify("t", 1, sets(44, BPF_F_DONT_FRAGMENT | BPF_F_ZERO_CSUM_TX, 0)), classify("t", 0, gets(16, 64));
	sends("a kind of service, not in pieces, without a sum");
	back("and back, with flags", 0, 0, 0);
	key(5, far, 4, 0, 64, 0, near);
	classify("t", 1, sets(44, BPF_F_SEQ_NUMBER | BPF_F_ZERO_CSUM_TX, 0));
	sends("in order");
	sends("in order");
	back("and back", 0, 0, 0);
	key(9, nowhere, 4, 0, 0, 0, 0);
	classify("t", 1, sets(44, 0, 0));
	sends("no way");
	key(9, far, 4, 0, 0, 0, ((const unsigned char[4]){ 10, 1, 0, 77 }));
	sends("from nobody");
	key(9, far, 4, 0, 0, 0, 0);
	int one = 1, none = 0;
	sys(__NR_setsockopt, udp, 1, 11, &one, 4);
	sends("no sum within");
	back("and back", 0, 0, 0);
	sys(__NR_setsockopt, udp, 1, 11, &none, 4);
	key(9, far6, 16, 0, 0, 0, 0);
	classify("t", 1, sets(44, BPF_F_TUNINFO_IPV6, 0)), classify("t", 0, gets(1, 64));
	sends("over IPv6");
	back("and back", 0, 0, 0);
	key(9, far6, 16, 0x14, 9, 0x12345, near6);
	classify("t", 1, sets(44, BPF_F_TUNINFO_IPV6 | BPF_F_ZERO_CSUM_TX, 0));
	sends("with a label");
	classify("t", 0, gets(0, 64));
	back("asked for the other family", 0, 0, 0);
	if (options) {
		key(3, far, 4, 0, 0, 0, 0);
		for (int size = 4; size <= 64; size *= 4) {
			memset(value + 128, 0, 64);
			value[128] = 1, value[129] = 2, value[130] = 0x83, value[131] = size / 4 - 1;
			for (int i = 4; i < size; i++)
				value[128 + i] = i;
			bpf_element(BPF_MAP_UPDATE_ELEM, values, 0, value);
			classify("t", 1, sets(44, 0, size));
			sends("options");
			back("and back", 0, 0, 0);
		}
		classify("t", 0, gets(0, 8));
		back("more than asked for", 0, 0, 0);
		classify("t", 1, sets(44, 0, 3)), sends("odd options");
	}
	counts("t");
	gone("t");
}

int main(int argc, char **argv)
{
	prepare();
	say("gretap\n"), begin_link("t", "gretap"), flag(IFLA_GRE_COLLECT_METADATA), end_link("made"), goes(1, 0);
	say("vxlan\n"), begin_link("t", "vxlan"), u8(IFLA_VXLAN_COLLECT_METADATA, 1), end_link("made"), goes(1, 0);
	say("geneve\n"), begin_link("t", "geneve"), flag(IFLA_GENEVE_COLLECT_METADATA), end_link("made"), goes(1, 1);
	say("gre\n"), begin_plain("t", "gre"), flag(IFLA_GRE_COLLECT_METADATA), end_link("made"), goes(0, 0);
	say("ipip\n"), begin_plain("t", "ipip"), flag(IFLA_IPTUN_COLLECT_METADATA), end_link("made"), goes(0, 0);
	return 0;
}
