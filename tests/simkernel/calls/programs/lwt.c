/* Routes with programs (encap bpf): how they are made, refused, shown, compared; what programs on the way in, out and to the device do.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include "tiny_routes.h"

/* notes what it is given; answers OK */
static long looks(int type)
{
	return PROGRAM(type, MOV(6, 1), STW(10, -4, 0), I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, (int)notes), I(0, 0, 0, 0, 0),
		MOV(2, 10), ADD(2, -4), CALL(BPF_FUNC_map_lookup_elem), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), EXIT,
		LDW(1, 6, 0), STORE(0, 1, 0), LDW(1, 6, 4), STORE(0, 1, 8), LDW(1, 6, 8), STORE(0, 1, 16), LDW(1, 6, 16), STORE(0, 1, 24),
		LDW(1, 6, 36), STORE(0, 1, 32), LDW(1, 6, 40), STORE(0, 1, 40),
		LDW(2, 6, 76), LDW(3, 6, 80), MOV(4, 2), ADD(4, 20), I(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 3, 0), LDW(1, 2, 0), STORE(0, 1, 48), LDW(1, 2, 12),
		STORE(0, 1, 56), SET(1, 0x77), I(BPF_STX | BPF_MEM | BPF_W, 6, 1, 8, 0), SET(0, 0), EXIT);
}

/* puts an IP header from 10.1.0.1 to `to` before the packet */
static const unsigned char outer[20] = { 0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 4, 0, 0, 10, 1, 0, 1, 10, 2, 0, 9 };
static long wraps(int type, int length, int last, int answer, int kind)
{
	unsigned w[5];
	memcpy(w, outer, 20);
	w[0] |= length << 24, w[4] = 0x0000020a | last << 24;
	return PROGRAM(type, MOV(6, 1), STW(10, -24, 0), STW(10, -20, w[0]), STW(10, -16, w[1]), STW(10, -12, w[2]), STW(10, -8, w[3]), STW(10, -4, w[4]),
		SET(2, kind), MOV(3, 10), ADD(3, -20), SET(4, 20), CALL(BPF_FUNC_lwt_push_encap), MOV(7, 0),
		STW(10, -28, 0), I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, (int)notes), I(0, 0, 0, 0, 0),
		MOV(2, 10), ADD(2, -28), CALL(BPF_FUNC_map_lookup_elem), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), EXIT,
		STORE(0, 7, 0), LDW(1, 6, 0), STORE(0, 1, 8), LDW(1, 6, 16), STORE(0, 1, 16), SET(0, answer), EXIT);
}

/* a link header from it to it before the packet, then out of another device */
static long heads(const char *dev, int flags, int room)
{
	return PROGRAM(XMIT, MOV(6, 1), SET(2, room), SET(3, 0), CALL(BPF_FUNC_skb_change_head), MOV(7, 0),
		STW(10, -16, 0x11111111), STW(10, -12, 0x22221111), STW(10, -8, 0x22222222), STW(10, -4, 8),
		MOV(1, 6), SET(2, 0), MOV(3, 10), ADD(3, -16), SET(4, 14), SET(5, 0), CALL(BPF_FUNC_skb_store_bytes),
		I(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 2, 0), SET(0, 2), EXIT,
		SET(1, ifindex(dev)), SET(2, flags), CALL(BPF_FUNC_redirect), EXIT);
}
static long redirects(const char *dev, int flags) { return PROGRAM(XMIT, SET(1, ifindex(dev)), SET(2, flags), CALL(BPF_FUNC_redirect), EXIT); }

static void show(int type, int flags, int cloned)
{
	static char text[16384];
	struct rtmsg *m = begin_message(type, flags, sizeof(*m));
	message.head.nlmsg_flags &= ~NLM_F_ACK;
	m->rtm_family = family, m->rtm_flags = cloned;
	if (!(flags & NLM_F_DUMP))
		m->rtm_dst_len = 8 * width(family), attribute(RTA_DST, target, width(family));
	sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	for (int more = 1; more;) {
		long got = sys(__NR_recvfrom, netlink, text, sizeof(text), 0, 0, 0);
		more = flags & NLM_F_DUMP;
		for (struct nlmsghdr *h = (void *)text; NLMSG_OK(h, got); h = NLMSG_NEXT(h, got)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
				more = 0;
				break;
			}
			struct rtmsg *r = NLMSG_DATA(h);
			int left = RTM_PAYLOAD(h), interesting = 0;
			struct rtattr *a;
			for (a = RTM_RTA(r); RTA_OK(a, left); a = RTA_NEXT(a, left))
				interesting |= a->rta_type == RTA_ENCAP || a->rta_type == RTA_ENCAP_TYPE || a->rta_type == RTA_MULTIPATH;
			if (!interesting)
				continue;
			say("  route /%d:", r->rtm_dst_len);
			left = RTM_PAYLOAD(h);
			for (a = RTM_RTA(r); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
				say(" %d", a->rta_type);
				if (a->rta_type == RTA_ENCAP || a->rta_type == RTA_ENCAP_TYPE || (a->rta_type & 0x7fff) == RTA_ENCAP || a->rta_type == RTA_MULTIPATH) {
					put('=');
					for (unsigned n = 0; n < RTA_PAYLOAD(a); n++)
						if (a->rta_type != RTA_MULTIPATH || n < 4 || n > 7)
							put("0123456789abcdef"[((unsigned char *)RTA_DATA(a))[n] >> 4]), put("0123456789abcdef"[((unsigned char *)RTA_DATA(a))[n] & 15]);
				}
			}
			say("\n");
		}
	}
}

static long udp;
static void opened(int of, int discover) /* nothing in its packets is chosen at random */
{
	static const unsigned char at[28] = { 0, 0, 0x10 };
	unsigned char here[28];
	int always = 2, never = 0;
	memcpy(here, at, 28), here[0] = of;
	udp = sys(__NR_socket, of, 2, 0);
	sys(__NR_setsockopt, udp, of == 2 ? 0 : 41, discover, &always, 4), sys(__NR_setsockopt, udp, 41, 70, &never, 4);
	sys(__NR_bind, udp, here, of == 2 ? 16 : 28);
}
static unsigned char to[28];
static void sends(const char *what)
{
	say("%s: sent %r\n", what, sys(__NR_sendto, udp, "abcdefgh", 8, 0, to, family == 2 ? 16 : 28));
	heard(62);
}

static long raw;
static unsigned char packet[60];
static void injects(const char *what)
{
	struct link_address where = { 17, 0x0008, ifindex("vb") };
	say("%s: put in %r\n", what, sys(__NR_sendto, raw, packet, 14 + 20 + 8 + 8, 0, &where, sizeof(where)));
	heard(62);
}

static void refused(void)
{
	char name[300];
	long out = answers(OUT, 0), xmit = answers(XMIT, 0), filter = PROGRAM(BPF_PROG_TYPE_SOCKET_FILTER, SET(0, 0), EXIT);
	unsigned headroom;
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), encap_type(LWTUNNEL_ENCAP_BPF), ask("a type alone");
	begin_route(RTM_DELROUTE, 0), ask("gone");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), open_nest(RTA_ENCAP), part(LWT_BPF_OUT, out, "o"), close_nest(), ask("no type");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), open_nest(RTA_ENCAP), part(LWT_BPF_OUT, out, "o"), close_nest(), encap_type(0), ask("type 0");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), open_nest(RTA_ENCAP), part(LWT_BPF_OUT, out, "o"), close_nest(), encap_type(11), ask("type 11");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), open_nest(RTA_ENCAP), close_nest(), encap_type(LWTUNNEL_ENCAP_BPF), ask("empty");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_OUT, -1, 0)), ask("an empty program");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_OUT, out, 0)), ask("no name");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_OUT, -1, "o")), ask("no program");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_OUT, 99, "o")), ask("no descriptor");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_OUT, udp, "o")), ask("a socket");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_OUT, xmit, "o")), ask("another type of program");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_IN, out, "o")), ask("out for in");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_XMIT, filter, "o")), ask("a socket filter");
	memset(name, 'n', 300), name[256] = 0;
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_OUT, out, name)), ask("256 characters");
	begin_route(RTM_DELROUTE, 0), ask("gone");
	name[256] = 'n', name[257] = 0;
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_OUT, out, name)), ask("257 characters");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(open_nest(LWT_BPF_OUT), attribute(LWT_BPF_PROG_FD, "ab", 2), attribute(LWT_BPF_PROG_NAME, "o", 2), close_nest()), ask("a short descriptor");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(open_nest(LWT_BPF_OUT), attribute(LWT_BPF_PROG_FD, &out, 4), attribute(LWT_BPF_PROG_NAME, "o", 1), close_nest()), ask("a name without an end");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(attribute(LWT_BPF_OUT, "ab", 2)), ask("no nest");
	headroom = 256;
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_XMIT, xmit, "x"), attribute(LWT_BPF_XMIT_HEADROOM, &headroom, 4)), ask("headroom 256");
	begin_route(RTM_DELROUTE, 0), ask("gone");
	headroom = 257;
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_XMIT, xmit, "x"), attribute(LWT_BPF_XMIT_HEADROOM, &headroom, 4)), ask("headroom 257");
	headroom = 5;
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(attribute(LWT_BPF_XMIT_HEADROOM, &headroom, 4)), ask("headroom alone");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_XMIT, xmit, "x"), attribute(LWT_BPF_XMIT_HEADROOM, &headroom, 2)), ask("a short headroom");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(9, xmit, "x"), part(LWT_BPF_OUT, out, "o")), ask("and something else");
	begin_route(RTM_DELROUTE, 0), ask("gone");

	encapsulated(0, LWT_BPF_OUT, out, "a"), ask("one");
	encapsulated(NLM_F_EXCL, LWT_BPF_OUT, out, "b"), ask("another, exclusively");
	encapsulated(0, LWT_BPF_OUT, out, "a"), ask("the same");
	encapsulated(NLM_F_APPEND, LWT_BPF_OUT, out, "b"), ask("another behind");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_APPEND), by("va", gate), ask("without");
	show(RTM_GETROUTE, NLM_F_DUMP, 0);
	begin_route(RTM_DELROUTE, 0), by("va", gate), ENCAP(part(LWT_BPF_OUT, out, "c")), ask("delete c");
	begin_route(RTM_DELROUTE, 0), by("va", gate), ENCAP(part(LWT_BPF_XMIT, xmit, "b")), ask("delete b to the device");
	begin_route(RTM_DELROUTE, 0), by("va", gate), ENCAP(part(LWT_BPF_OUT, out, "b")), ask("delete b");
	begin_route(RTM_DELROUTE, 0), by("va", gate), ENCAP(part(LWT_BPF_OUT, 99, "a")), ask("delete a without its program");
	show(RTM_GETROUTE, NLM_F_DUMP, 0);
	begin_route(RTM_DELROUTE, 0), ask("delete"), begin_route(RTM_DELROUTE, 0), ask("delete"), begin_route(RTM_DELROUTE, 0), ask("delete");

	begin_route(RTM_NEWROUTE, NLM_F_CREATE), by("va", gate), ENCAP(part(LWT_BPF_XMIT, xmit, "x"), part(LWT_BPF_OUT, out, "o"), attribute(LWT_BPF_XMIT_HEADROOM, &headroom, 4)), ask("two");
	show(RTM_GETROUTE, NLM_F_DUMP, 0), show(RTM_GETROUTE, 0, 0), show(RTM_GETROUTE, 0, RTM_F_FIB_MATCH);
	begin_route(RTM_DELROUTE, 0), ask("gone");
	begin_route(RTM_NEWROUTE, NLM_F_CREATE), open_nest(RTA_MULTIPATH);
	for (int i = 0; i < 2; i++) {
		struct rtnexthop *h = (void *)((char *)&message + message.head.nlmsg_len);
		memset(h, 0, sizeof(*h));
		int start = message.head.nlmsg_len;
		message.head.nlmsg_len += sizeof(*h);
		h->rtnh_ifindex = ifindex(i ? "vc" : "va");
		attribute(RTA_GATEWAY, i ? (family == 2 ? (const void *)"\12\2\0\11" : "\375\2\0\0\0\0\0\0\0\0\0\0\0\0\0\11") : gate, width(family));
		open_nest(RTA_ENCAP), part(LWT_BPF_OUT, out, i ? "second" : "first"), close_nest(), encap_type(LWTUNNEL_ENCAP_BPF);
		h->rtnh_len = message.head.nlmsg_len - start;
	}
	close_nest(), ask("two ways");
	show(RTM_GETROUTE, NLM_F_DUMP, 0);
	begin_route(RTM_DELROUTE, 0), ask("gone");
	sys(__NR_close, out), sys(__NR_close, xmit), sys(__NR_close, filter);
}

static void goes(void)
{
	static const int said[] = { 0, 1, 2, 3, 7, 128 };
	for (int kind = LWT_BPF_OUT; kind <= LWT_BPF_XMIT; kind++)
		for (int i = 0; i < 6; i++) {
			if (said[i] == 7 && kind == LWT_BPF_XMIT)
				continue;
			if (said[i] == 128 && kind == LWT_BPF_XMIT)
				continue; /* the way is the same again */
			use(kind == LWT_BPF_OUT ? "out" : "xmit", kind, answers(kind == LWT_BPF_OUT ? OUT : XMIT, said[i]));
			say("answer %d ", said[i]), sends("");
		}
	use("look out", LWT_BPF_OUT, looks(OUT)), sends("seen"), noted(8);
	use("look xmit", LWT_BPF_XMIT, looks(XMIT)), sends("seen"), noted(8);
	long drops = answers(XMIT, 2), lets = answers(XMIT, 0);
	encapsulated(NLM_F_REPLACE, LWT_BPF_XMIT, drops, "same"), ask("one that drops");
	encapsulated(NLM_F_REPLACE, LWT_BPF_XMIT, lets, "same"), ask("another of that name"), sends("which");
	sys(__NR_close, drops), sys(__NR_close, lets);
	use("to vc", LWT_BPF_XMIT, redirects("vc", 0)), sends("redirect without a link header");
	use("into vc", LWT_BPF_XMIT, redirects("vc", 1)), sends("redirect in without a link header");
	use("head to vc", LWT_BPF_XMIT, heads("vc", 0, 14)), sends("with one");
	use("head into vc", LWT_BPF_XMIT, heads("vc", 1, 14)), sends("in with one");
	use("a long head", LWT_BPF_XMIT, heads("vc", 0, 200)), sends("with more");
	use("to nobody", LWT_BPF_XMIT, redirects("none", 0)), sends("to no device");
	if (family == 2) {
		use("wrap", LWT_BPF_XMIT, wraps(XMIT, 0, 9, 0, BPF_LWT_ENCAP_IP)), sends("wrapped"), noted(3);
		use("wrap and route", LWT_BPF_XMIT, wraps(XMIT, 0, 9, 128, BPF_LWT_ENCAP_IP)), sends("wrapped and routed"), noted(3);
		use("wrap wrongly", LWT_BPF_XMIT, wraps(XMIT, 0, 9, 0, 7)), sends("another kind"), noted(3);
		use("wrap for segments", LWT_BPF_XMIT, wraps(XMIT, 0, 9, 0, BPF_LWT_ENCAP_SEG6)), sends("segments"), noted(3);
	}
}

static void comes(void)
{
	static const int said[] = { 0, 1, 2, 7 };
	for (int i = 0; i < 4; i++)
		use("in", LWT_BPF_IN, answers(IN, said[i])), say("answer %d ", said[i]), injects("");
	use("look in", LWT_BPF_IN, looks(IN)), injects("seen"), noted(8);
	use("look out", LWT_BPF_OUT, looks(OUT)), injects("seen"), noted(8);
	use("look xmit", LWT_BPF_XMIT, looks(XMIT)), injects("seen"), noted(8);
	use("wrap in", LWT_BPF_IN, wraps(IN, 0, 9, 0, BPF_LWT_ENCAP_IP)), injects("wrapped"), noted(3);
	use("wrap in and route", LWT_BPF_IN, wraps(IN, 0, 9, 128, BPF_LWT_ENCAP_IP)), injects("wrapped and routed"), noted(3);
	use("wrap in wrongly", LWT_BPF_IN, wraps(IN, 15, 9, 0, BPF_LWT_ENCAP_IP)), injects("a bad length"), noted(3);
	use("segments", LWT_BPF_IN, wraps(IN, 0, 9, 0, BPF_LWT_ENCAP_SEG6)), injects("segments"), noted(3);
	use("drop out", LWT_BPF_OUT, answers(OUT, 2)), injects("dropped");
	use("drop xmit", LWT_BPF_XMIT, answers(XMIT, 2)), injects("dropped");
}

static void loops(void) /* the way is the same again, and so is the program */
{
	use("loop", LWT_BPF_XMIT, answers(XMIT, 128)), sends("round and round");
	use("loop in", LWT_BPF_IN, answers(IN, 128)), injects("round and round");
}

int main(int argc, char **argv)
{
	static const unsigned char head[] = {
		2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 36, 0, 1, 0, 0, 64, 17, 0x66, 0xb8, 10, 1, 0, 2, 10, 5, 0, 9, 0x10, 0, 0x20, 0, 0, 16, 0, 0,
	};
	int one = 1;
	sys(__NR_unshare, 0x40000000);
	netlink = sys(__NR_socket, 16, 3, 0);
	sys(__NR_setsockopt, netlink, 270, 11, &one, 4), sys(__NR_setsockopt, netlink, 270, 10, &one, 4);
	spit("/proc/sys/net/ipv6/conf/all/accept_dad", "0"), spit("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
	spit("/proc/sys/net/ipv6/conf/default/router_solicitations", "0"), spit("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
	spit("/proc/sys/net/ipv4/ip_forward", "1"), spit("/proc/sys/net/ipv4/conf/all/send_redirects", "0"), spit("/proc/sys/net/ipv4/conf/default/send_redirects", "0");
	notes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 64, 1, 0);
	set_up("lo", 0);
	veth("va", "vb", "\2\0\0\0\0\1");
	veth("vc", "vd", "\2\0\0\0\0\3");
	set_up("va", 0), set_up("vb", 0), set_up("vc", 0), set_up("vd", 0);
	nap(50);
	address("va", 2, ((const unsigned char[4]){ 10, 1, 0, 1 }), 24), address("vc", 2, ((const unsigned char[4]){ 10, 2, 0, 1 }), 24);
	address("va", 10, "\375\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 64), address("vc", 10, "\375\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 64);
	neighbour("va", 2, ((const unsigned char[4]){ 10, 1, 0, 2 }), "\2\0\0\0\0\x22", NUD_PERMANENT);
	neighbour("vc", 2, ((const unsigned char[4]){ 10, 2, 0, 9 }), "\2\0\0\0\0\x29", NUD_PERMANENT);
	neighbour("va", 10, "\375\1\0\0\0\0\0\0\0\0\0\0\0\0\0\2", "\2\0\0\0\0\x62", NUD_PERMANENT);
	raw = sys(__NR_socket, 17, 3, 0);
	memcpy(packet, head, sizeof(head));
	memcpy(packet + 42, "abcdefgh", 8);

	target = (const unsigned char *)"\12\5\0\0", gate = ((const unsigned char[4]){ 10, 1, 0, 2 });
	opened(2, 10);
	refused();
	tap("va"), tap("vb"), tap("vc"), tap("vd");
	heard(62);
	memcpy(to, "\2\0\x20\0\12\5\0\11", 8);
	goes();
	comes();
	loops();
	long local = answers(IN, 2);
	struct rtmsg *m = begin_message(RTM_NEWROUTE, NLM_F_CREATE, sizeof(*m));
	m->rtm_family = 2, m->rtm_dst_len = 32, m->rtm_table = RT_TABLE_LOCAL, m->rtm_protocol = RTPROT_BOOT, m->rtm_type = RTN_LOCAL, m->rtm_scope = RT_SCOPE_HOST;
	attribute(RTA_DST, "\12\7\0\7", 4);
	int lo = ifindex("lo");
	attribute(RTA_OIF, &lo, 4);
	ENCAP(part(LWT_BPF_IN, local, "local"));
	ask("local");
	long u = sys(__NR_socket, 2, 2 | 04000, 0);
	unsigned char at[16] = { 2, 0, 0x30, 0, 10, 7, 0, 7 };
	say("bind %r\n", sys(__NR_bind, u, at, 16));
	say("sent %r\n", sys(__NR_sendto, udp, "abcdefgh", 8, 0, at, 16));
	say("received %r\n", sys(__NR_recvfrom, u, packet, 8, 0, 0, 0));

	family = 10;
	target = (const unsigned char *)"\375\5\0\0\0\0\0\0\0\0\0\0\0\0\0\0", gate = "\375\1\0\0\0\0\0\0\0\0\0\0\0\0\0\2";
	sys(__NR_close, udp), opened(10, 23);
	memcpy(to, "\12\0\x20\0\0\0\0\0\375\5\0\0\0\0\0\0\0\0\0\0\0\0\0\11", 24);
	say("IPv6\n");
	refused();
	goes();
	return 0;
}
