/* Devices that are tunnels: made over rtnetlink, packets into them, what comes out below them and back; programs that set and get keys. */
#include <linux/pkt_cls.h>

enum { IFLA_GRE_LINK = 1, IFLA_GRE_IFLAGS, IFLA_GRE_OFLAGS, IFLA_GRE_IKEY, IFLA_GRE_OKEY, IFLA_GRE_LOCAL, IFLA_GRE_REMOTE, IFLA_GRE_TTL, IFLA_GRE_TOS, IFLA_GRE_PMTUDISC, IFLA_GRE_COLLECT_METADATA = 18 };
enum { IFLA_IPTUN_LINK = 1, IFLA_IPTUN_LOCAL, IFLA_IPTUN_REMOTE, IFLA_IPTUN_TTL, IFLA_IPTUN_TOS, IFLA_IPTUN_PROTO = 9, IFLA_IPTUN_PMTUDISC, IFLA_IPTUN_COLLECT_METADATA = 19 };
static long values;
#define MAPFD(reg, map) I(BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_MAP_FD, 0, (int)(map)), I(0, 0, 0, 0, 0)
#define VALUE(reg, at) I(BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_MAP_VALUE, 0, (int)values), I(0, 0, 0, 0, at)

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
	sys(__NR_close, prog);
}

/* The value: results, then the key that is set (at 64), options to set (at 128), the key that was got (at 192), options got (at 256). */
static unsigned char value[512];
static long sets(int key, int flags, int options)
{
	if (!options)
		return PROGRAM(BPF_PROG_TYPE_SCHED_CLS, MOV(6, 1), VALUE(2, 64), SET(3, key), SET(4, flags), CALL(BPF_FUNC_skb_set_tunnel_key),
			VALUE(1, 0), STORE(1, 0, 0), SET(0, TC_ACT_OK), EXIT);
	return PROGRAM(BPF_PROG_TYPE_SCHED_CLS, MOV(6, 1), VALUE(2, 64), SET(3, key), SET(4, flags), CALL(BPF_FUNC_skb_set_tunnel_key),
		VALUE(1, 0), STORE(1, 0, 0), MOV(1, 6), VALUE(2, 128), SET(3, options), CALL(BPF_FUNC_skb_set_tunnel_opt), VALUE(1, 0), STORE(1, 0, 8),
		SET(0, TC_ACT_OK), EXIT);
}
static long gets(int flags, int options)
{
	return PROGRAM(BPF_PROG_TYPE_SCHED_CLS, MOV(6, 1), VALUE(2, 192), SET(3, 44), SET(4, flags), CALL(BPF_FUNC_skb_get_tunnel_key),
		VALUE(1, 0), STORE(1, 0, 16), MOV(1, 6), VALUE(2, 256), SET(3, options), CALL(BPF_FUNC_skb_get_tunnel_opt), VALUE(1, 0), STORE(1, 0, 24),
		LDW(2, 6, 0), STORE(1, 2, 32), LDW(2, 6, 16), STORE(1, 2, 40), LDW(2, 6, 4), STORE(1, 2, 48), SET(0, TC_ACT_OK), EXIT);
}

static void hex(const void *what, int size)
{
	const unsigned char *p = what;
	for (int i = 0; i < size; i++)
		put("0123456789abcdef"[p[i] >> 4]), put("0123456789abcdef"[p[i] & 15]);
}
static void kept(int out)
{
	bpf_element(BPF_MAP_LOOKUP_ELEM, values, 0, value);
	long *r = (long *)value;
	if (out)
		say("  set %r, options %r\n", r[0], r[1]);
	else if (r[4])
		say("  got %r, options %r, len %d, protocol %x, kind %d\n   key ", r[2], r[3], (int)r[4], (int)r[5], (int)r[6]), hex(value + 192, 44), say("\n   options "), hex(value + 256, r[3] > 0 ? r[3] : 4), say("\n");
	memset(value, 0, 64), memset(value + 192, 0, 128);
	bpf_element(BPF_MAP_UPDATE_ELEM, values, 0, value);
}
static void key(unsigned id, const void *remote, int width, int tos, int ttl, unsigned label, const void *local)
{
	memset(value, 0, sizeof(value));
	memcpy(value + 64, &id, 4);
	for (int i = 0; i < width; i++) /* the kernel has addresses of IPv4 as numbers here */
		value[68 + i] = ((unsigned char *)remote)[width == 4 ? 3 - i : i];
	value[84] = tos, value[85] = ttl;
	memcpy(value + 88, &label, 4);
	for (int i = 0; local && i < width; i++)
		value[92 + i] = ((unsigned char *)local)[width == 4 ? 3 - i : i];
	for (int i = 0; i < 64; i++)
		value[128 + i] = i * 3 + 1;
	bpf_element(BPF_MAP_UPDATE_ELEM, values, 0, value);
}

static unsigned char last[400];
static int last_size, keeping; /* the last frame that was sent */
/* Frames, without what is chosen at random: numbers of datagrams, ports that are hashes, sums of both. */
static void frames(void)
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
				continue;
			if (keeping && streq(taps[i].name, "vb") && from.kind != 4)
				memcpy(last, frame, got < 400 ? got : 400), last_size = got;
			say("  %s kind %d type %d %x, %d: ", taps[i].name, from.kind, from.type, from.protocol, (int)got);
			if (streq(taps[i].name, "vb")) {
				int four = frame[12] == 8 && !frame[13], next = four ? frame[23] : frame[20], at = four ? 34 : 54;
				if (four)
					frame[18] = frame[19] = frame[24] = frame[25] = 0;
				if (next == 1) /* an error with its quote */
					frame[36] = frame[37] = frame[46] = frame[47] = frame[52] = frame[53] = 0;
				if (next == 17)
					frame[at] = frame[at + 1] = 0, frame[at + 6] = frame[at + 6] || frame[at + 7], frame[at + 7] = 0;
			}
			hex(frame, got < 180 ? got : 180);
			say("\n");
		}
}

static unsigned sum(const unsigned char *p, int n, unsigned s)
{
	for (; n > 1; n -= 2, p += 2)
		s += p[0] << 8 | p[1];
	if (n)
		s += *p << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}
static void swap(unsigned char *a, unsigned char *b, int n)
{
	for (; n--; a++, b++) {
		unsigned char c = *a;
		*a = *b, *b = c;
	}
}
static void store(unsigned char *at, unsigned v) { at[0] = v >> 8, at[1] = v; }
/* A datagram of the other way, with its sum, if it had one; its header is at p. */
static void turn(unsigned char *p, int size, int ports)
{
	int four = p[0] >> 4 == 4;
	unsigned char *u = p + (four ? 20 : 40), *from = p + (four ? 12 : 8);
	swap(from, from + (four ? 4 : 16), four ? 4 : 16);
	if (four)
		store(p + 10, 0), store(p + 10, ~sum(p, 20, 0));
	if ((four ? p[9] : p[6]) != 17)
		return;
	size -= u - p;
	if (ports)
		swap(u, u + 2, 2);
	if (u[6] | u[7])
		store(u + 6, 0), store(u + 6, ~sum(u, size, sum(from, four ? 8 : 32, 17 + size)));
}

static long raw, udp;
/* The last frame comes back: from the other end, for the inner one's sender. */
static void back(const char *what, int cut, int at, int with)
{
	static unsigned char frame[400];
	struct link_address where = { 17, last[12] == 8 ? 0x0008 : 0xdd86, ifindex("vb") };
	memcpy(frame, last, 400);
	swap(frame, frame + 6, 6);
	unsigned char *p = frame + 14, *in = p + (p[0] >> 4 == 4 ? 20 : 40), *gre = 0, *end = frame + last_size;
	switch (p[0] >> 4 == 4 ? p[9] : p[6]) {
	case 47:
		gre = in, in += 4 + (gre[0] >> 5 & 4) + (gre[0] >> 3 & 4) + (gre[0] >> 2 & 4);
		if (gre[2] == 0x65)
			swap(in, in + 6, 6), in += 14;
		break;
	case 17:
		in += 16 + (in[2] == 0x17 ? (in[8] & 63) * 4 : 0) + 14, swap(in - 14, in - 8, 6);
	}
	if (at)
		p[at] = with;
	turn(in, end - in, 1);
	if (gre && gre[0] & 0x80)
		store(gre + 4, 0), store(gre + 4, ~sum(gre, end - gre, 0));
	turn(p, end - p, 0);
	say("%s: put in %r\n", what, sys(__NR_sendto, raw, frame, last_size - cut, 0, &where, sizeof(where)));
	frames();
	kept(0);
	unsigned char from[16];
	unsigned size = 16;
	long got = sys(__NR_recvfrom, udp, frame, 400, 0x40, from, &size);
	say("  received %r", got);
	if (got >= 0)
		say(" from %d.%d.%d.%d port %d", from[4], from[5], from[6], from[7], from[2] << 8 | from[3]);
	say("\n");
}

static unsigned char to[28];
static void sends(const char *what)
{
	say("%s: sent %r\n", what, sys(__NR_sendto, udp, "abcdefgh", 8, 0, to, 16));
	keeping = 1, frames(), keeping = 0;
	kept(1);
}

static void begin_link(const char *name, const char *kind)
{
	begin_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg));
	attribute(IFLA_IFNAME, name, strlen(name) + 1);
	attribute(IFLA_ADDRESS, "\2\0\0\0\0\x11", 6);
	open_nest(IFLA_LINKINFO);
	attribute(IFLA_INFO_KIND, kind, strlen(kind) + 1);
	open_nest(IFLA_INFO_DATA);
}
static void begin_plain(const char *name, const char *kind) /* without an address */
{
	begin_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg));
	attribute(IFLA_IFNAME, name, strlen(name) + 1);
	open_nest(IFLA_LINKINFO);
	attribute(IFLA_INFO_KIND, kind, strlen(kind) + 1);
	open_nest(IFLA_INFO_DATA);
}
static void end_link(const char *what) { close_nest(), close_nest(), ask(what); }
static void u8(int type, unsigned char v) { attribute(type, &v, 1); }
static void u16(int type, unsigned short v) { attribute(type, &v, 2); }
static void u32(int type, unsigned v) { attribute(type, &v, 4); }
static void port(int type, unsigned short v) { v = v << 8 | v >> 8, attribute(type, &v, 2); }
static void flag(int type) { attribute(type, 0, 0); }

static void shown(const char *name)
{
	static char text[8192];
	struct ifinfomsg *m = begin_message(RTM_GETLINK, 0, sizeof(*m));
	message.head.nlmsg_flags &= ~NLM_F_ACK;
	m->ifi_index = ifindex(name);
	sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	long got = sys(__NR_recvfrom, netlink, text, sizeof(text), 0, 0, 0);
	struct nlmsghdr *h = (void *)text;
	if (got < (long)sizeof(*h) || h->nlmsg_type == NLMSG_ERROR) {
		say("  %s is not there\n", name);
		return;
	}
	struct ifinfomsg *i = NLMSG_DATA(h);
	say("  %s: type %d flags %x", name, i->ifi_type, i->ifi_flags);
	int left = IFLA_PAYLOAD(h);
	for (struct rtattr *a = IFLA_RTA(i); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		int t = a->rta_type;
		if (t == IFLA_MTU || t == IFLA_MIN_MTU || t == IFLA_MAX_MTU || t == IFLA_TXQLEN || t == IFLA_LINK || t == IFLA_CARRIER_CHANGES || t == IFLA_NUM_TX_QUEUES)
			say(" %d=%d", t, *(int *)RTA_DATA(a));
		else if (t == IFLA_OPERSTATE || t == IFLA_CARRIER || t == IFLA_LINKMODE)
			say(" %d=%d", t, *(char *)RTA_DATA(a));
		else if (t == IFLA_QDISC)
			say(" %s", (char *)RTA_DATA(a));
		else if ((t == IFLA_ADDRESS && (a->rta_len != 10 || ((char *)RTA_DATA(a))[5] == 0x11)) || t == IFLA_BROADCAST)
			say(" %d=", t), hex(RTA_DATA(a), RTA_PAYLOAD(a));
	}
	say("\n");
	left = IFLA_PAYLOAD(h);
	for (struct rtattr *a = IFLA_RTA(i); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_LINKINFO) {
			int rest = RTA_PAYLOAD(a);
			for (struct rtattr *b = RTA_DATA(a); RTA_OK(b, rest); b = RTA_NEXT(b, rest)) {
				if (b->rta_type == IFLA_INFO_KIND)
					say("   %s:", (char *)RTA_DATA(b));
				if (b->rta_type != IFLA_INFO_DATA)
					continue;
				int more = RTA_PAYLOAD(b);
				for (struct rtattr *c = RTA_DATA(b); RTA_OK(c, more); c = RTA_NEXT(c, more))
					say(" %d=", c->rta_type), hex(RTA_DATA(c), RTA_PAYLOAD(c));
			}
			say("\n");
		}
}

static void counts(const char *name)
{
	static const char *const which[] = { "rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "multicast", "collisions", "length", "over", "crc", "frame", "fifo", "missed", "aborted", "carrier" };
	static char text[8192];
	struct ifinfomsg *m = begin_message(RTM_GETLINK, 0, sizeof(*m));
	message.head.nlmsg_flags &= ~NLM_F_ACK;
	m->ifi_index = ifindex(name);
	sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	sys(__NR_recvfrom, netlink, text, sizeof(text), 0, 0, 0);
	struct nlmsghdr *h = (void *)text;
	struct ifinfomsg *i = NLMSG_DATA(h);
	int left = IFLA_PAYLOAD(h);
	for (struct rtattr *a = IFLA_RTA(i); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_STATS64) {
			say("  %s", name);
			for (int n = 0; n < 18; n++)
				say(" %s %d", which[n], (int)((unsigned long long *)RTA_DATA(a))[n]);
			say("\n");
		}
}

static void gone(const char *name)
{
	struct ifinfomsg *m = begin_message(RTM_DELLINK, 0, sizeof(*m));
	m->ifi_index = ifindex(name);
	send_message("gone");
	sys(__NR_close, taps[--tapped].fd);
}

static const unsigned char far[4] = { 10, 1, 0, 2 }, near[4] = { 10, 1, 0, 1 }, nowhere[4] = { 10, 99, 0, 1 };
static const unsigned char far6[16] = "\375\1\0\0\0\0\0\0\0\0\0\0\0\0\0\2", near6[16] = "\375\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1";

static void prepare(void)
{
	int one = 1;
	spit("/proc/sys/net/core/fb_tunnels_only_for_init_net", "2"); /* no others beside those that are made */
	sys(__NR_unshare, 0x40000000);
	netlink = sys(__NR_socket, 16, 3, 0);
	sys(__NR_setsockopt, netlink, 270, 11, &one, 4), sys(__NR_setsockopt, netlink, 270, 10, &one, 4);
	spit("/proc/sys/net/ipv6/conf/all/accept_dad", "0"), spit("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
	spit("/proc/sys/net/ipv6/conf/default/router_solicitations", "0"), spit("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
	spit("/proc/sys/net/ipv4/icmp_ratelimit", "0"), spit("/proc/sys/net/ipv6/icmp/ratelimit", "0");
	values = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 512, 1, 0);
	set_up("lo", 0);
	veth("va", "vb", "\2\0\0\0\0\1");
	set_up("va", 0), set_up("vb", 0);
	nap(50);
	address("va", 2, near, 24), address("va", 10, near6, 64);
	neighbour("va", 2, far, "\2\0\0\0\0\x22", NUD_PERMANENT);
	neighbour("va", 2, ((const unsigned char[4]){ 10, 1, 0, 9 }), "\2\0\0\0\0\x29", NUD_PERMANENT);
	neighbour("va", 10, far6, "\2\0\0\0\0\x62", NUD_PERMANENT);
	struct ifinfomsg *m = begin_message(RTM_NEWLINK, 0, sizeof(*m));
	m->ifi_index = ifindex("vb");
	attribute(IFLA_ADDRESS, "\2\0\0\0\0\x22", 6);
	send_message("address");
	raw = sys(__NR_socket, 17, 3, 0);
	udp = sys(__NR_socket, 2, 2, 0);
	int always = 2;
	unsigned char here[16] = { 2, 0, 0x10 };
	sys(__NR_setsockopt, udp, 0, 10, &always, 4), sys(__NR_bind, udp, here, 16);
	memcpy(to, "\2\0\x20\0\12\11\0\2", 8);
	nap(100);
	tap("vb");
	frames();
}
