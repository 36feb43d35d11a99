/* Devices that are tunnels to one other end: how they are made, refused, changed, shown; their packets.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include "tiny_routes.h"
#include "tiny_tunnels.h"

static void address4(int type, int a, int b, int c, int d) { attribute(type, ((const unsigned char[4]){ a, b, c, d }), 4); }
static void be32(int type, unsigned v) { v = __builtin_bswap32(v), attribute(type, &v, 4); }
static void six(int type, const void *a) { attribute(type, a, 16); }

static void uses(const char *what, int ethernet)
{
	say("%s\n", what);
	set_up("t", 0);
	shown("t");
	address("t", 2, ((const unsigned char[4]){ 10, 9, 0, 1 }), 24);
	if (ethernet)
		neighbour("t", 2, ((const unsigned char[4]){ 10, 9, 0, 2 }), "\2\0\0\0\0\x12", NUD_PERMANENT);
	clsact("t"), tap("t"), classify("t", 0, gets(16, 64)), classify("t", 1, gets(16, 64));
	memset(last, 0, sizeof(last)), last_size = 0;
	sends("out");
	kept(0);
	if (last_size) {
		back("and back", 0, 0, 0);
		if (last[12] == 8)
			back("kind of service", 0, 1, 3);
		if (last[12] == 8 && last[23] != 17)
			back("another protocol", 0, 9, 200);
		back("from another", 0, last[12] == 8 ? 19 : 39, 9);
		last_size = 0;
		sends("out again");
	}
	counts("t");
	gone("t");
}
#define MADE(text, kind, ethernet, ...) (begin_link("t", kind), __VA_ARGS__, end_link(text), uses(text, ethernet))
#define PLAIN(text, kind, ...) (begin_plain("t", kind), __VA_ARGS__, end_link(text), uses(text, 0))
#define NOT(text, kind, ...) (begin_plain("t", kind), __VA_ARGS__, end_link(text), removed())
static void removed(void)
{
	if (!ifindex("t"))
		return;
	shown("t");
	struct ifinfomsg *m = begin_message(RTM_DELLINK, 0, sizeof(*m));
	m->ifi_index = ifindex("t");
	send_message("gone");
}

static void refused(const char *kind, int gre)
{
	say("%s\n", kind);
	NOT("nothing", kind, (void)0);
	NOT("an address with four bytes", kind, address4(gre ? IFLA_GRE_REMOTE : IFLA_IPTUN_REMOTE, 10, 1, 0, 2));
	begin_plain("t", kind), address4(gre ? IFLA_GRE_REMOTE : IFLA_IPTUN_REMOTE, 10, 1, 0, 2), end_link("one");
	begin_plain("u", kind), address4(gre ? IFLA_GRE_REMOTE : IFLA_IPTUN_REMOTE, 10, 1, 0, 2), end_link("the same"), removed();
	NOT("a group", kind, address4(gre ? IFLA_GRE_REMOTE : IFLA_IPTUN_REMOTE, 224, 1, 0, 2));
	NOT("hops without whole packets", kind, u8(gre ? IFLA_GRE_TTL : IFLA_IPTUN_TTL, 7), u8(gre ? IFLA_GRE_PMTUDISC : IFLA_IPTUN_PMTUDISC, 0));
	NOT("a short attribute", kind, attribute(gre ? IFLA_GRE_REMOTE : IFLA_IPTUN_REMOTE, "ab", 2));
	NOT("a link", kind, u32(1, ifindex("va")));
	NOT("a link that is not there", kind, u32(1, 77));
	NOT("kind of service", kind, u8(gre ? IFLA_GRE_TOS : IFLA_IPTUN_TOS, 0x10));
	begin_plain("t", kind), flag(gre ? IFLA_GRE_COLLECT_METADATA : IFLA_IPTUN_COLLECT_METADATA), end_link("keys from programs");
	begin_plain("u", kind), flag(gre ? IFLA_GRE_COLLECT_METADATA : IFLA_IPTUN_COLLECT_METADATA), end_link("twice"), removed();
}

int main(int argc, char **argv)
{
	prepare();
	MADE("gretap", "gretap", 1, address4(IFLA_GRE_LOCAL, 10, 1, 0, 1), address4(IFLA_GRE_REMOTE, 10, 1, 0, 2));
	MADE("gretap with keys", "gretap", 1, address4(IFLA_GRE_LOCAL, 10, 1, 0, 1), address4(IFLA_GRE_REMOTE, 10, 1, 0, 2), u16(IFLA_GRE_IFLAGS, 0x20), u16(IFLA_GRE_OFLAGS, 0x20), be32(IFLA_GRE_IKEY, 7), be32(IFLA_GRE_OKEY, 7));
	MADE("gretap with sums", "gretap", 1, address4(IFLA_GRE_REMOTE, 10, 1, 0, 2), u16(IFLA_GRE_IFLAGS, 0x80), u16(IFLA_GRE_OFLAGS, 0x80));
	MADE("gretap in order", "gretap", 1, address4(IFLA_GRE_REMOTE, 10, 1, 0, 2), u16(IFLA_GRE_IFLAGS, 0x10), u16(IFLA_GRE_OFLAGS, 0x10));
	MADE("gretap with hops", "gretap", 1, address4(IFLA_GRE_REMOTE, 10, 1, 0, 2), u8(IFLA_GRE_TTL, 9), u8(IFLA_GRE_TOS, 0x20));
	MADE("gretap in pieces", "gretap", 1, address4(IFLA_GRE_REMOTE, 10, 1, 0, 2), u8(IFLA_GRE_PMTUDISC, 0));
	MADE("gretap to nobody", "gretap", 1, address4(IFLA_GRE_LOCAL, 10, 1, 0, 1));
	MADE("gretap without a way", "gretap", 1, address4(IFLA_GRE_REMOTE, 10, 77, 0, 1));
	PLAIN("gre", "gre", address4(IFLA_GRE_LOCAL, 10, 1, 0, 1), address4(IFLA_GRE_REMOTE, 10, 1, 0, 2));
	PLAIN("gre with all", "gre", address4(IFLA_GRE_LOCAL, 10, 1, 0, 1), address4(IFLA_GRE_REMOTE, 10, 1, 0, 2), u16(IFLA_GRE_IFLAGS, 0xb0), u16(IFLA_GRE_OFLAGS, 0xb0), be32(IFLA_GRE_IKEY, 7), be32(IFLA_GRE_OKEY, 7));
	PLAIN("ipip", "ipip", address4(IFLA_IPTUN_LOCAL, 10, 1, 0, 1), address4(IFLA_IPTUN_REMOTE, 10, 1, 0, 2));
	PLAIN("ipip by a device", "ipip", address4(IFLA_IPTUN_REMOTE, 10, 1, 0, 2), u32(IFLA_IPTUN_LINK, ifindex("va")), u8(IFLA_IPTUN_TTL, 5), u8(IFLA_IPTUN_TOS, 1));
	PLAIN("sit", "sit", address4(IFLA_IPTUN_LOCAL, 10, 1, 0, 1), address4(IFLA_IPTUN_REMOTE, 10, 1, 0, 2), u8(IFLA_IPTUN_PROTO, 0));
	MADE("vxlan", "vxlan", 1, u32(IFLA_VXLAN_ID, 77), address4(IFLA_VXLAN_GROUP, 10, 1, 0, 2), port(IFLA_VXLAN_PORT, 4789));
	MADE("vxlan without learning", "vxlan", 1, u32(IFLA_VXLAN_ID, 77), address4(IFLA_VXLAN_GROUP, 10, 1, 0, 2), address4(IFLA_VXLAN_LOCAL, 10, 1, 0, 1), u8(IFLA_VXLAN_LEARNING, 0), u8(IFLA_VXLAN_TTL, 4), u8(IFLA_VXLAN_TOS, 0x30), u8(IFLA_VXLAN_UDP_CSUM, 0));
	MADE("vxlan over IPv6", "vxlan", 1, u32(IFLA_VXLAN_ID, 78), six(IFLA_VXLAN_GROUP6, far6), port(IFLA_VXLAN_PORT, 4789));
	MADE("vxlan to nobody", "vxlan", 1, u32(IFLA_VXLAN_ID, 78), port(IFLA_VXLAN_PORT, 4789));
	MADE("geneve", "geneve", 1, u32(IFLA_GENEVE_ID, 77), address4(IFLA_GENEVE_REMOTE, 10, 1, 0, 2));
	MADE("geneve with hops", "geneve", 1, u32(IFLA_GENEVE_ID, 78), address4(IFLA_GENEVE_REMOTE, 10, 1, 0, 2), u8(IFLA_GENEVE_TTL, 3), u8(IFLA_GENEVE_TOS, 0x30), u8(IFLA_GENEVE_UDP_CSUM, 1), port(IFLA_GENEVE_PORT, 999));
	MADE("geneve over IPv6", "geneve", 1, u32(IFLA_GENEVE_ID, 78), six(IFLA_GENEVE_REMOTE6, far6));
	refused("ipip", 0), refused("gre", 1), refused("gretap", 1), refused("sit", 0);
	say("vxlan\n");
	NOT("nothing", "vxlan", (void)0);
	NOT("too large a number", "vxlan", u32(IFLA_VXLAN_ID, 1 << 24));
	NOT("a number", "vxlan", u32(IFLA_VXLAN_ID, 5));
	NOT("two families", "vxlan", u32(IFLA_VXLAN_ID, 5), address4(IFLA_VXLAN_GROUP, 10, 1, 0, 2), six(IFLA_VXLAN_LOCAL6, near6));
	NOT("a group without a device", "vxlan", u32(IFLA_VXLAN_ID, 5), address4(IFLA_VXLAN_GROUP, 239, 1, 0, 2));
	NOT("a group", "vxlan", u32(IFLA_VXLAN_ID, 5), address4(IFLA_VXLAN_GROUP, 239, 1, 0, 2), u32(IFLA_VXLAN_LINK, ifindex("va")));
	NOT("no such device", "vxlan", u32(IFLA_VXLAN_ID, 5), u32(IFLA_VXLAN_LINK, 77));
	NOT("ports", "vxlan", u32(IFLA_VXLAN_ID, 5), attribute(IFLA_VXLAN_PORT_RANGE, "\20\0\20\1", 4));
	NOT("ports the wrong way", "vxlan", u32(IFLA_VXLAN_ID, 5), attribute(IFLA_VXLAN_PORT_RANGE, "\20\1\20\0", 4));
	NOT("keys from programs and a number", "vxlan", u32(IFLA_VXLAN_ID, 5), u8(IFLA_VXLAN_COLLECT_METADATA, 1));
	NOT("policies", "vxlan", u8(IFLA_VXLAN_COLLECT_METADATA, 1), flag(IFLA_VXLAN_GBP));
	NOT("other protocols", "vxlan", u8(IFLA_VXLAN_COLLECT_METADATA, 1), flag(IFLA_VXLAN_GPE));
	NOT("both", "vxlan", u8(IFLA_VXLAN_COLLECT_METADATA, 1), flag(IFLA_VXLAN_GPE), flag(IFLA_VXLAN_GBP));
	begin_plain("t", "vxlan"), u32(IFLA_VXLAN_ID, 5), end_link("one");
	begin_plain("u", "vxlan"), u32(IFLA_VXLAN_ID, 5), end_link("the same"), removed();
	begin_plain("t", "vxlan"), u32(IFLA_VXLAN_ID, 5), address4(IFLA_VXLAN_GROUP, 10, 1, 0, 2), end_link("one");
	set_up("t", 0);
	begin_message(RTM_NEWLINK, 0, sizeof(struct ifinfomsg));
	attribute(IFLA_IFNAME, "t", 2), open_nest(IFLA_LINKINFO), attribute(IFLA_INFO_KIND, "vxlan", 6), open_nest(IFLA_INFO_DATA);
	u32(IFLA_VXLAN_ID, 6), end_link("another number");
	begin_message(RTM_NEWLINK, 0, sizeof(struct ifinfomsg));
	attribute(IFLA_IFNAME, "t", 2), open_nest(IFLA_LINKINFO), attribute(IFLA_INFO_KIND, "vxlan", 6), open_nest(IFLA_INFO_DATA);
	address4(IFLA_VXLAN_GROUP, 10, 1, 0, 3), u8(IFLA_VXLAN_TTL, 8), end_link("another end"), shown("t");
	long other = sys(__NR_socket, 2, 2, 0);
	unsigned char at[16] = { 2, 0, 0x21, 0x18 };
	say("its port: %r\n", sys(__NR_bind, other, at, 16));
	removed();
	say("its port: %r\n", sys(__NR_bind, other, at, 16));
	begin_plain("t", "vxlan"), u32(IFLA_VXLAN_ID, 5), port(IFLA_VXLAN_PORT, 0x2118), end_link("a port that is taken"), set_up("t", 0), shown("t"), removed();
	say("geneve\n");
	NOT("nothing", "geneve", (void)0);
	NOT("too large a number", "geneve", u32(IFLA_GENEVE_ID, 1 << 24));
	NOT("a number", "geneve", u32(IFLA_GENEVE_ID, 5));
	NOT("two families", "geneve", u32(IFLA_GENEVE_ID, 5), address4(IFLA_GENEVE_REMOTE, 10, 1, 0, 2), six(IFLA_GENEVE_REMOTE6, far6));
	NOT("a group", "geneve", u32(IFLA_GENEVE_ID, 5), address4(IFLA_GENEVE_REMOTE, 239, 1, 0, 2));
	NOT("a link's address", "geneve", u32(IFLA_GENEVE_ID, 5), six(IFLA_GENEVE_REMOTE6, "\376\200\0\0\0\0\0\0\0\0\0\0\0\0\0\1"));
	NOT("keys from programs and a number", "geneve", u32(IFLA_GENEVE_ID, 5), flag(IFLA_GENEVE_COLLECT_METADATA));
	NOT("keys from programs and another port", "geneve", port(IFLA_GENEVE_PORT, 99), flag(IFLA_GENEVE_COLLECT_METADATA));
	begin_plain("t", "geneve"), u32(IFLA_GENEVE_ID, 5), address4(IFLA_GENEVE_REMOTE, 10, 1, 0, 2), end_link("one");
	begin_plain("u", "geneve"), u32(IFLA_GENEVE_ID, 5), address4(IFLA_GENEVE_REMOTE, 10, 1, 0, 2), end_link("the same");
	begin_plain("u", "geneve"), flag(IFLA_GENEVE_COLLECT_METADATA), end_link("beside one of programs"), removed();
	return 0;
}
