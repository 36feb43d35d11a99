/* Objects for next hops: what is made, refused, shown, replaced and removed, groups of them, routes of both families
 * through them, and what listeners hear.  not: s390x i386 (attributes are shown as bytes) */
#include "tiny.h"
#include "tiny_net.h"
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/sched.h>

#define CREATE (NLM_F_CREATE | NLM_F_EXCL)
#define REPLACE (NLM_F_CREATE | NLM_F_REPLACE)
static char buf[32768];
static long ear;

static void bytes(const unsigned char *p, int n)
{
	for (int i = 0; i < n; i++)
		say("%s%s%x", i ? "." : "", p[i] < 16 ? "0" : "", (long)p[i]);
}

static void attributes(int type, char *at, int left)
{
	while (left >= 4) {
		struct rtattr *a = (void *)at;
		int n = a->rta_len - 4, kind = a->rta_type & ~NLA_F_NESTED;
		if (n < 0)
			break;
		int nh = type >= RTM_NEWNEXTHOP && type <= RTM_GETNEXTHOP + 4;
		if (nh && (kind == NHA_RES_GROUP || kind == NHA_RES_BUCKET)) {
			say(" %d{", kind);
			for (char *in = at + 4; in < at + a->rta_len; in += RTA_ALIGN(*(unsigned short *)in)) {
				struct rtattr *b = (void *)in;
				say(" %d=", b->rta_type);
				if (b->rta_len == 12) /* times */
					say("t");
				else
					bytes((void *)(in + 4), b->rta_len - 4);
			}
			say(" }");
		} else if (nh || kind != RTA_CACHEINFO) {
			say(" %d%s=", kind, a->rta_type & NLA_F_NESTED ? "n" : "");
			bytes((void *)(at + 4), n);
		}
		at += RTA_ALIGN(a->rta_len), left -= RTA_ALIGN(a->rta_len);
	}
}

static int buckets; /* only their number is told */
static void told(long fd, const char *prefix)
{
	long n;
	int many = 0;
	while ((n = sys(__NR_recvfrom, fd, buf, sizeof(buf), 0x40, 0, 0)) > 0) {
		struct nlmsghdr *h = (void *)buf;
		for (; n >= (long)sizeof(*h) && n >= (long)h->nlmsg_len; n -= NLMSG_ALIGN(h->nlmsg_len), h = (void *)((char *)h + NLMSG_ALIGN(h->nlmsg_len))) {
			char *body = (char *)h + 16;
			int left = h->nlmsg_len - 16;
			if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE) {
				say("%s%s %r flags %x", prefix, h->nlmsg_type == NLMSG_DONE ? "done" : "error", (long)*(int *)body, (long)h->nlmsg_flags);
				if (h->nlmsg_flags & NLM_F_ACK_TLVS) {
					int skip = 4;
					if (h->nlmsg_type == NLMSG_ERROR)
						skip += h->nlmsg_flags & NLM_F_CAPPED ? 16 : (int)NLMSG_ALIGN(*(int *)(body + 4));
					for (char *at = body + skip; at < body + left; at += RTA_ALIGN(*(unsigned short *)at)) {
						struct rtattr *a = (void *)at;
						if (a->rta_type == 1)
							say(" '%s'", at + 4);
						else if (a->rta_type == 2)
							say(" at %d", *(int *)(at + 4));
						else
							say(" [%d/%d]", a->rta_type, a->rta_len);
					}
				}
				say("\n");
				continue;
			}
			if (h->nlmsg_type == RTM_NEWNEXTHOPBUCKET && buckets) {
				many++;
				continue;
			}
			int size = h->nlmsg_type >= RTM_NEWNEXTHOP ? 8 : sizeof(struct rtmsg);
			say("%s%d flags %x seq %d ", prefix, h->nlmsg_type, (long)h->nlmsg_flags, h->nlmsg_seq);
			bytes((void *)body, size);
			attributes(h->nlmsg_type, body + size, left - size);
			say("\n");
		}
	}
	if (many)
		say("%s%d buckets\n", prefix, many);
}

static int number_of;
static void ask(const char *what)
{
	message.head.nlmsg_seq = ++number_of;
	say("%d %s\n", number_of, what);
	long sent = sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	if (sent < 0)
		say("  sent %r\n", sent);
	told(netlink, "  ");
	told(ear, "  heard ");
}

static struct nhmsg *hop(int type, int flags, int family)
{
	struct nhmsg *m = begin_message(type, flags, sizeof(*m));
	m->nh_family = family;
	return m;
}
static void num(int kind, unsigned v) { attribute(kind, &v, 4); }
static void half(int kind, unsigned short v) { attribute(kind, &v, 2); }
static void flag(int kind) { attribute(kind, 0, 0); }
static unsigned v0, v1, w0;
static const unsigned char G2[4] = { 10, 0, 0, 2 }, G3[4] = { 10, 0, 0, 3 }, FAR[4] = { 192, 0, 2, 1 }, LOCAL[4] = { 10, 0, 0, 1 };
static const unsigned char H2[16] = { 0xfd, [15] = 2 }, H3[16] = { 0xfd, [15] = 3 }, HFAR[16] = { 0xfe, 0xc0, [15] = 9 }, HLL[16] = { 0xfe, 0x80, [15] = 7 }, ZERO[16], H1[16] = { 0xfd, [15] = 1 };

#define NEW(what, flags, family, ...) do { struct nhmsg *m = hop(RTM_NEWNEXTHOP, flags, family); (void)m; __VA_ARGS__; ask(what); } while (0)
#define DEL(what, ...) do { struct nhmsg *m = hop(RTM_DELNEXTHOP, 0, 0); (void)m; __VA_ARGS__; ask(what); } while (0)
#define GET(what, ...) do { struct nhmsg *m = hop(RTM_GETNEXTHOP, 0, 0); (void)m; __VA_ARGS__; ask(what); } while (0)
#define DUMP(what, family, ...) do { struct nhmsg *m = hop(RTM_GETNEXTHOP, NLM_F_DUMP, family); (void)m; __VA_ARGS__; ask(what); } while (0)
#define BUCKET(what, flags, ...) do { struct nhmsg *m = hop(RTM_GETNEXTHOP + 4, flags, 0); (void)m; __VA_ARGS__; ask(what); } while (0)
#define GW4(g) attribute(NHA_GATEWAY, g, 4)
#define GW6(g) attribute(NHA_GATEWAY, g, 16)
#define SIMPLE(id) num(NHA_ID, id), num(NHA_OIF, v0), GW4(G2)

static void group(const unsigned *rows, int n) /* ids with weights, less one */
{
	struct nexthop_grp g[8];
	memset(g, 0, sizeof(g));
	for (int i = 0; i < n; i++)
		g[i].id = rows[2 * i], g[i].weight = rows[2 * i + 1];
	attribute(NHA_GROUP, g, n * sizeof(*g));
}
#define GROUP(...) group((const unsigned[]){ __VA_ARGS__ }, sizeof((const unsigned[]){ __VA_ARGS__ }) / 8)

static struct rtmsg *way(int type, int flags, int family, const void *to, int prefix)
{
	struct rtmsg *m = begin_message(type, flags, sizeof(*m));
	m->rtm_family = family, m->rtm_dst_len = prefix, m->rtm_table = type == RTM_GETROUTE ? 0 : 254, m->rtm_protocol = type == RTM_NEWROUTE ? RTPROT_STATIC : 0;
	m->rtm_type = type == RTM_NEWROUTE ? RTN_UNICAST : 0;
	m->rtm_scope = type == RTM_DELROUTE ? RT_SCOPE_NOWHERE : 0;
	if (to)
		attribute(RTA_DST, to, width(family));
	return m;
}
#define ROUTE(what, flags, family, to, prefix, ...) do { struct rtmsg *m = way(RTM_NEWROUTE, flags, family, to, prefix); (void)m; __VA_ARGS__; ask(what); } while (0)
#define UNROUTE(what, family, to, prefix, ...) do { struct rtmsg *m = way(RTM_DELROUTE, 0, family, to, prefix); (void)m; __VA_ARGS__; ask(what); } while (0)
#define LOOK(what, family, to, ...) do { struct rtmsg *m = way(RTM_GETROUTE, 0, family, to, family == 2 ? 32 : 128); (void)m; __VA_ARGS__; ask(what); } while (0)
static void routes(const char *what, int family)
{
	struct rtmsg *m = begin_message(RTM_GETROUTE, NLM_F_DUMP, sizeof(*m));
	m->rtm_family = family, m->rtm_protocol = RTPROT_STATIC;
	ask(what);
}

static void write_to(const char *path, const char *text)
{
	long fd = sys(__NR_open, path, 1, 0);
	say("%s to %s: %r\n", text, path, sys(__NR_write, fd, text, strlen(text)));
	sys(__NR_close, fd);
}

static void down(const char *name, int up)
{
	struct ifinfomsg *info = begin_message(RTM_NEWLINK, 0, sizeof(*info));
	info->ifi_index = ifindex(name), info->ifi_flags = up, info->ifi_change = 1;
	ask(up ? "device up" : "device down");
}

static const unsigned char D1[4] = { 172, 16, 1, 0 }, D2[4] = { 172, 16, 2, 0 }, D3[4] = { 172, 16, 3, 0 }, D4[4] = { 172, 16, 4, 0 };
static const unsigned char E1[16] = { 0xfd, 1 }, E2[16] = { 0xfd, 2 }, E3[16] = { 0xfd, 3 };

static void making(void)
{
	say("-- making and refusing\n");
	NEW("nothing", CREATE, 2, (void)0);
	NEW("no family", CREATE, 0, num(NHA_ID, 1));
	NEW("a wrong family", CREATE, 17, num(NHA_ID, 1));
	NEW("scope", CREATE, 2, m->nh_scope = 1, SIMPLE(1));
	NEW("reserved", CREATE, 2, m->resvd = 1, SIMPLE(1));
	NEW("flags", CREATE, 2, m->nh_flags = RTNH_F_DEAD, SIMPLE(1));
	NEW("linkdown", CREATE, 2, m->nh_flags = RTNH_F_LINKDOWN, SIMPLE(1));
	NEW("device 0", CREATE, 2, num(NHA_ID, 1), num(NHA_OIF, 0));
	NEW("device 99", CREATE, 2, num(NHA_ID, 1), num(NHA_OIF, 99));
	NEW("device that is down", CREATE, 2, num(NHA_ID, 1), num(NHA_OIF, w0));
	NEW("short id", CREATE, 2, half(NHA_ID, 1));
	NEW("long id", CREATE, 2, attribute(NHA_ID, H2, 8));
	NEW("short device", CREATE, 2, num(NHA_ID, 1), half(NHA_OIF, v0));
	NEW("short gateway", CREATE, 2, num(NHA_ID, 1), num(NHA_OIF, v0), attribute(NHA_GATEWAY, G2, 2));
	NEW("gateway of the other family", CREATE, 2, num(NHA_ID, 1), num(NHA_OIF, v0), GW6(H2));
	NEW("and the other way", CREATE, 10, num(NHA_ID, 1), num(NHA_OIF, v0), GW4(G2));
	NEW("gateway without device", CREATE, 2, num(NHA_ID, 1), GW4(G2));
	NEW("unreachable gateway", CREATE, 2, num(NHA_ID, 1), num(NHA_OIF, v0), GW4(FAR));
	NEW("local gateway", CREATE, 2, num(NHA_ID, 90), num(NHA_OIF, v0), GW4(LOCAL));
	NEW("unreachable gateway of 6", CREATE, 10, num(NHA_ID, 1), num(NHA_OIF, v0), GW6(HFAR));
	NEW("local gateway of 6", CREATE, 10, num(NHA_ID, 1), num(NHA_OIF, v0), GW6(H1));
	NEW("onlink without gateway", CREATE, 2, m->nh_flags = RTNH_F_ONLINK, num(NHA_ID, 1), num(NHA_OIF, v0));
	NEW("unknown attribute", CREATE, 2, SIMPLE(1), num(30, 1));
	NEW("attribute of dumps", CREATE, 2, SIMPLE(1), num(NHA_MASTER, 1));
	NEW("groups", CREATE, 2, SIMPLE(1), flag(NHA_GROUPS));
	NEW("blackhole with device", CREATE, 2, num(NHA_ID, 1), num(NHA_OIF, v0), flag(NHA_BLACKHOLE));
	NEW("blackhole with gateway", CREATE, 2, num(NHA_ID, 1), GW4(G2), flag(NHA_BLACKHOLE));
	NEW("blackhole with a value", CREATE, 2, num(NHA_ID, 1), num(NHA_BLACKHOLE, 1));
	NEW("fdb with device", CREATE, 2, num(NHA_ID, 1), num(NHA_OIF, v0), flag(NHA_FDB));
	NEW("fdb onlink", CREATE, 2, m->nh_flags = RTNH_F_ONLINK, num(NHA_ID, 1), GW4(G2), flag(NHA_FDB));
	NEW("fdb and blackhole", CREATE, 2, num(NHA_ID, 1), flag(NHA_BLACKHOLE), flag(NHA_FDB));
	NEW("encap without type", CREATE, 2, SIMPLE(1), open_nest(NHA_ENCAP | NLA_F_NESTED), close_nest());
	NEW("encap type alone", CREATE, 2, SIMPLE(1), half(NHA_ENCAP_TYPE, 1));
	NEW("encap of no type", CREATE, 2, SIMPLE(1), half(NHA_ENCAP_TYPE, 77), open_nest(NHA_ENCAP | NLA_F_NESTED), num(1, 1), close_nest());
	NEW("encap unnested", CREATE, 2, SIMPLE(1), half(NHA_ENCAP_TYPE, 77), open_nest(NHA_ENCAP), num(1, 1), close_nest());
	NEW("replace without id", NLM_F_REPLACE, 2, num(NHA_OIF, v0), GW4(G2));
	NEW("replace of nothing", NLM_F_REPLACE, 2, SIMPLE(7));
	NEW("one", CREATE, 2, m->nh_protocol = RTPROT_STATIC, SIMPLE(1));
	NEW("the same", CREATE, 2, SIMPLE(1));
	NEW("the same without excl", NLM_F_CREATE, 2, SIMPLE(1));
	NEW("without flags", 0, 2, SIMPLE(2));
	NEW("any id", CREATE, 2, num(NHA_OIF, v0), GW4(G3));
	NEW("any id again", CREATE, 2, num(NHA_ID, 0), num(NHA_OIF, v0), GW4(G3));
	NEW("device alone", CREATE, 2, num(NHA_ID, 10), num(NHA_OIF, v0));
	NEW("onlink", CREATE, 2, m->nh_flags = RTNH_F_ONLINK, num(NHA_ID, 11), num(NHA_OIF, v0), GW4(FAR));
	NEW("zero gateway", CREATE, 2, num(NHA_ID, 12), num(NHA_OIF, v0), attribute(NHA_GATEWAY, ZERO, 4));
	NEW("blackhole", CREATE, 2, num(NHA_ID, 13), flag(NHA_BLACKHOLE));
	NEW("six", CREATE, 10, num(NHA_ID, 20), num(NHA_OIF, v0), GW6(H2));
	NEW("six, link local", CREATE, 10, num(NHA_ID, 21), num(NHA_OIF, v0), GW6(HLL));
	NEW("six, device", CREATE, 10, num(NHA_ID, 22), num(NHA_OIF, v0));
	NEW("six, onlink", CREATE, 10, m->nh_flags = RTNH_F_ONLINK, num(NHA_ID, 23), num(NHA_OIF, v0), GW6(HFAR));
	NEW("six, blackhole", CREATE, 10, num(NHA_ID, 24), flag(NHA_BLACKHOLE));
	NEW("six, zero gateway", CREATE, 10, num(NHA_ID, 25), num(NHA_OIF, v0), GW6(ZERO));
	NEW("six", CREATE, 10, num(NHA_ID, 26), num(NHA_OIF, v0), GW6(H3));
	NEW("fdb", CREATE, 2, num(NHA_ID, 30), GW4(FAR), flag(NHA_FDB));
	NEW("fdb of six", CREATE, 10, num(NHA_ID, 31), GW6(HFAR), flag(NHA_FDB));
	NEW("fdb, nothing", CREATE, 2, num(NHA_ID, 32), flag(NHA_FDB));
	NEW("by v1", CREATE, 2, num(NHA_ID, 40), num(NHA_OIF, v1));
}

static void asking(void)
{
	say("-- asking\n");
	DUMP("all", 0, (void)0);
	DUMP("inet", 2, (void)0);
	DUMP("inet6", 10, (void)0);
	DUMP("another family", 17, (void)0);
	DUMP("of a device", 0, num(NHA_OIF, v1));
	DUMP("of no device", 0, num(NHA_OIF, 77));
	DUMP("of a wrong device", 0, num(NHA_OIF, 0x80000000));
	DUMP("of a master", 0, num(NHA_MASTER, 1));
	DUMP("of a wrong master", 0, num(NHA_MASTER, 0xffffffff));
	DUMP("of an id", 0, num(NHA_ID, 1));
	DUMP("fdb", 0, flag(NHA_FDB));
	DUMP("groups", 0, flag(NHA_GROUPS));
	DUMP("with flags", 0, m->nh_flags = 1);
	DUMP("with a protocol", 0, m->nh_protocol = 1);
	message.head.nlmsg_len = 0;
	begin_message(RTM_GETNEXTHOP, NLM_F_DUMP, 4), ask("short dump");
	GET("one", num(NHA_ID, 1));
	GET("one that is not", num(NHA_ID, 999));
	GET("none", num(NHA_ID, 0));
	GET("without id", (void)0);
	GET("with flags", m->nh_flags = 4, num(NHA_ID, 1));
	GET("with scope", m->nh_scope = 4, num(NHA_ID, 1));
	GET("with family", m->nh_family = 2, num(NHA_ID, 1));
	GET("with device", num(NHA_ID, 1), num(NHA_OIF, v0));
	begin_message(RTM_GETNEXTHOP, 0, 4), ask("short");
	DEL("one that is not", num(NHA_ID, 999));
	DEL("none", num(NHA_ID, 0));
	DEL("without id", (void)0);
	DEL("with family", m->nh_family = 17, num(NHA_ID, 12));
	DEL("with a device", num(NHA_ID, 10), num(NHA_OIF, v0));
	begin_message(RTM_DELNEXTHOP, NLM_F_BULK, 8), ask("many");
	DEL("of inet", m->nh_family = 2, num(NHA_ID, 10));
}

static void groups(void)
{
	say("-- groups\n");
	NEW("with family", CREATE, 2, num(NHA_ID, 100), GROUP(1, 0));
	NEW("empty", CREATE, 0, num(NHA_ID, 100), attribute(NHA_GROUP, 0, 0));
	NEW("half", CREATE, 0, num(NHA_ID, 100), attribute(NHA_GROUP, G2, 4));
	NEW("of none", CREATE, 0, num(NHA_ID, 100), GROUP(999, 0));
	NEW("twice", CREATE, 0, num(NHA_ID, 100), GROUP(1, 0, 1, 1));
	NEW("heavy", CREATE, 0, num(NHA_ID, 100), GROUP(1, 255));
	NEW("blackhole and another", CREATE, 0, num(NHA_ID, 100), GROUP(13, 0, 1, 0));
	NEW("fdb and another", CREATE, 0, num(NHA_ID, 100), GROUP(30, 0, 1, 0));
	NEW("fdb group of others", CREATE, 0, num(NHA_ID, 100), GROUP(1, 0), flag(NHA_FDB));
	NEW("fdb group of both families", CREATE, 0, num(NHA_ID, 100), GROUP(30, 0, 31, 0), flag(NHA_FDB));
	NEW("with a device", CREATE, 0, num(NHA_ID, 100), GROUP(1, 0), num(NHA_OIF, v0));
	NEW("with buckets", CREATE, 0, num(NHA_ID, 100), GROUP(1, 0), open_nest(NHA_RES_GROUP | NLA_F_NESTED), half(1, 4), close_nest());
	NEW("of a wrong type", CREATE, 0, num(NHA_ID, 100), GROUP(1, 0), half(NHA_GROUP_TYPE, 2));
	NEW("of type 77", CREATE, 0, num(NHA_ID, 100), GROUP(1, 0), half(NHA_GROUP_TYPE, 77));
	{
		struct nexthop_grp g = { 1, 0, 1, 0 };
		NEW("reserved", CREATE, 0, num(NHA_ID, 100), attribute(NHA_GROUP, &g, sizeof(g)));
	}
	NEW("replace of nothing", NLM_F_REPLACE, 0, num(NHA_ID, 100), GROUP(1, 0));
	NEW("group", CREATE, 0, m->nh_protocol = 5, num(NHA_ID, 100), GROUP(1, 0, 2, 9));
	NEW("again", CREATE, 0, num(NHA_ID, 100), GROUP(1, 0));
	NEW("group of six", CREATE, 0, num(NHA_ID, 101), GROUP(20, 0, 26, 2));
	NEW("mixed", CREATE, 0, num(NHA_ID, 102), GROUP(1, 0, 20, 0));
	NEW("of a blackhole", CREATE, 0, num(NHA_ID, 103), GROUP(13, 0));
	NEW("of a group", CREATE, 0, num(NHA_ID, 104), GROUP(100, 0));
	NEW("of fdb", CREATE, 0, num(NHA_ID, 105), GROUP(30, 0, 32, 0), flag(NHA_FDB));
	NEW("any id", CREATE, 0, GROUP(40, 0));
	NEW("with flags", CREATE, 0, m->nh_flags = RTNH_F_ONLINK, num(NHA_ID, 106), GROUP(40, 0));
	NEW("one as a group", REPLACE, 0, num(NHA_ID, 1), GROUP(2, 0));
	NEW("group as one", REPLACE, 2, SIMPLE(100));
	NEW("blackhole in a group of two", REPLACE, 2, num(NHA_ID, 1), flag(NHA_BLACKHOLE));
	DUMP("groups", 0, flag(NHA_GROUPS));
	DUMP("groups of inet", 2, flag(NHA_GROUPS));
	NEW("replaced", REPLACE, 0, num(NHA_ID, 100), GROUP(2, 1, 11, 0));
	GET("replaced", num(NHA_ID, 100));
}

static void routing(void)
{
	say("-- routes\n");
	ROUTE("by an id that is not", CREATE, 2, D1, 24, num(RTA_NH_ID, 999));
	ROUTE("id and device", CREATE, 2, D1, 24, num(RTA_NH_ID, 1), num(RTA_OIF, v0));
	ROUTE("id and gateway", CREATE, 2, D1, 24, num(RTA_NH_ID, 1), attribute(RTA_GATEWAY, G2, 4));
	ROUTE("short id", CREATE, 2, D1, 24, half(RTA_NH_ID, 1));
	ROUTE("fdb", CREATE, 2, D1, 24, num(RTA_NH_ID, 30));
	ROUTE("fdb group", CREATE, 2, D1, 24, num(RTA_NH_ID, 105));
	ROUTE("host scope with gateway", CREATE, 2, D1, 24, m->rtm_scope = 254, num(RTA_NH_ID, 1));
	ROUTE("host scope, group", CREATE, 2, D1, 24, m->rtm_scope = 254, num(RTA_NH_ID, 100));
	ROUTE("link scope, onlink", CREATE, 2, D1, 24, m->rtm_scope = 253, num(RTA_NH_ID, 11));
	ROUTE("blackhole by id", CREATE, 2, D1, 24, m->rtm_type = RTN_BLACKHOLE, num(RTA_NH_ID, 1));
	ROUTE("one", CREATE, 2, D1, 24, num(RTA_NH_ID, 1));
	ROUTE("the same", CREATE, 2, D1, 24, num(RTA_NH_ID, 1));
	ROUTE("by another", CREATE, 2, D1, 24, num(RTA_NH_ID, 2));
	ROUTE("appended", NLM_F_CREATE | NLM_F_APPEND, 2, D1, 24, num(RTA_NH_ID, 2));
	ROUTE("by a group", CREATE, 2, D2, 24, num(RTA_NH_ID, 100));
	ROUTE("with a metric", CREATE, 2, D2, 24, num(RTA_NH_ID, 1), num(RTA_PRIORITY, 20));
	ROUTE("by a blackhole", CREATE, 2, D3, 24, num(RTA_NH_ID, 13));
	ROUTE("by six", CREATE, 2, D4, 24, num(RTA_NH_ID, 20));
	ROUTE("by a group of six", CREATE, 2, D4, 25, num(RTA_NH_ID, 101));
	ROUTE("by a mixed group", CREATE, 2, D4, 26, num(RTA_NH_ID, 102));
	routes("routes", 2);
	LOOK("to one", 2, D1, (void)0);
	LOOK("to one, match", 2, D1, m->rtm_flags = RTM_F_FIB_MATCH);
	LOOK("to a blackhole", 2, D3, (void)0);
	LOOK("to a blackhole, match", 2, D3, m->rtm_flags = RTM_F_FIB_MATCH);
	LOOK("by six", 2, D4 , m->rtm_flags = RTM_F_FIB_MATCH);
	ROUTE("six by none", CREATE, 10, E1, 32, num(RTA_NH_ID, 999));
	ROUTE("six by four", CREATE, 10, E1, 32, num(RTA_NH_ID, 1));
	ROUTE("six by a mixed group", CREATE, 10, E1, 32, num(RTA_NH_ID, 102));
	ROUTE("six by fdb", CREATE, 10, E1, 32, num(RTA_NH_ID, 31));
	ROUTE("six id and device", CREATE, 10, E1, 32, num(RTA_NH_ID, 20), num(RTA_OIF, v0));
	ROUTE("six from a source", CREATE, 10, E1, 32, m->rtm_src_len = 32, attribute(RTA_SRC, E2, 16), num(RTA_NH_ID, 20));
	ROUTE("six", CREATE, 10, E1, 32, num(RTA_NH_ID, 20));
	ROUTE("six, the same", CREATE, 10, E1, 32, num(RTA_NH_ID, 20));
	ROUTE("six, another", NLM_F_CREATE, 10, E1, 32, num(RTA_NH_ID, 21));
	ROUTE("six, appended", NLM_F_CREATE | NLM_F_APPEND, 10, E1, 32, num(RTA_NH_ID, 22));
	ROUTE("six, replaced", NLM_F_CREATE | NLM_F_REPLACE, 10, E1, 32, num(RTA_NH_ID, 26));
	ROUTE("six by a group", CREATE, 10, E2, 32, num(RTA_NH_ID, 101));
	ROUTE("six by a blackhole", CREATE, 10, E3, 32, num(RTA_NH_ID, 24));
	routes("routes of six", 10);
	LOOK("six to one", 10, E1, (void)0);
	LOOK("six to one, match", 10, E1, m->rtm_flags = RTM_F_FIB_MATCH);
	LOOK("six to a blackhole", 10, E3, (void)0);
	say("-- without compatibility\n");
	write_to("/proc/sys/net/ipv4/nexthop_compat_mode", "0");
	routes("routes", 2);
	routes("routes of six", 10);
	ROUTE("one more", CREATE, 2, D1, 30, num(RTA_NH_ID, 100));
	ROUTE("one more of six", CREATE, 10, E1, 64, num(RTA_NH_ID, 101));
	NEW("a replacement is not told as routes", REPLACE, 2, num(NHA_ID, 1), num(NHA_OIF, v0), GW4(G3));
	write_to("/proc/sys/net/ipv4/nexthop_compat_mode", "1");
	say("-- replacing\n");
	NEW("one", REPLACE, 2, num(NHA_ID, 1), num(NHA_OIF, v0), GW4(G2));
	NEW("by another device", REPLACE, 2, m->nh_protocol = 9, num(NHA_ID, 1), num(NHA_OIF, v1));
	NEW("by a blackhole", REPLACE, 2, num(NHA_ID, 2), flag(NHA_BLACKHOLE));
	NEW("by six", REPLACE, 10, num(NHA_ID, 1), num(NHA_OIF, v0), GW6(H2));
	NEW("six by four", REPLACE, 2, SIMPLE(20));
	NEW("six by another", REPLACE, 10, num(NHA_ID, 20), num(NHA_OIF, v0), GW6(H3));
	NEW("the group", REPLACE, 0, num(NHA_ID, 100), GROUP(11, 0));
	NEW("the group of six by four", REPLACE, 0, num(NHA_ID, 101), GROUP(11, 0));
	NEW("the group of six", REPLACE, 0, num(NHA_ID, 101), GROUP(26, 4, 20, 0));
	NEW("a blackhole by one", REPLACE, 2, num(NHA_ID, 13), num(NHA_OIF, v0), GW4(G2));
	routes("routes", 2);
	routes("routes of six", 10);
	say("-- removing\n");
	UNROUTE("by the wrong id", 2, D2, 24, num(RTA_NH_ID, 1), num(RTA_PRIORITY, 0));
	UNROUTE("by an id that is not", 2, D2, 24, num(RTA_NH_ID, 999));
	UNROUTE("by device", 2, D4, 24, num(RTA_OIF, v0));
	UNROUTE("by gateway", 2, D1, 24, attribute(RTA_GATEWAY, G2, 4));
	UNROUTE("by id", 2, D2, 24, num(RTA_NH_ID, 100));
	UNROUTE("six by the wrong id", 10, E1, 32, num(RTA_NH_ID, 20));
	UNROUTE("six by device", 10, E1, 32, num(RTA_OIF, v0));
	UNROUTE("six by gateway", 10, E2, 32, attribute(RTA_GATEWAY, H3, 16));
	UNROUTE("six by id", 10, E2, 32, num(RTA_NH_ID, 101));
	ROUTE("six by a group", CREATE, 10, E2, 32, num(RTA_NH_ID, 101));
	DEL("one of a group", num(NHA_ID, 20));
	routes("routes", 2);
	routes("routes of six", 10);
	DEL("the last of a group", num(NHA_ID, 26));
	DEL("the one of many routes", num(NHA_ID, 1));
	DEL("a group", num(NHA_ID, 100));
	DEL("a member of two", num(NHA_ID, 11));
	routes("routes", 2);
	routes("routes of six", 10);
	DUMP("what is left", 0, (void)0);
}

static void resilient(void)
{
	say("-- resilient groups\n");
	NEW("member", CREATE, 2, SIMPLE(51));
	NEW("member", CREATE, 2, num(NHA_ID, 52), num(NHA_OIF, v0), GW4(G3));
	NEW("without buckets", CREATE, 0, num(NHA_ID, 200), GROUP(51, 0, 52, 0), half(NHA_GROUP_TYPE, 1));
	NEW("no buckets", CREATE, 0, num(NHA_ID, 200), GROUP(51, 0, 52, 0), half(NHA_GROUP_TYPE, 1), open_nest(NHA_RES_GROUP | NLA_F_NESTED), half(1, 0), close_nest());
	NEW("unnested", CREATE, 0, num(NHA_ID, 200), GROUP(51, 0, 52, 0), half(NHA_GROUP_TYPE, 1), open_nest(NHA_RES_GROUP), half(1, 8), close_nest());
	NEW("short timer", CREATE, 0, num(NHA_ID, 200), GROUP(51, 0, 52, 0), half(NHA_GROUP_TYPE, 1), open_nest(NHA_RES_GROUP | NLA_F_NESTED), half(1, 8), half(2, 1), close_nest());
	NEW("eight", CREATE, 0, num(NHA_ID, 200), GROUP(51, 0, 52, 2), half(NHA_GROUP_TYPE, 1), open_nest(NHA_RES_GROUP | NLA_F_NESTED), half(1, 8), num(2, 3000), num(3, 700), close_nest());
	GET("eight", num(NHA_ID, 200));
	BUCKET("buckets", NLM_F_DUMP, (void)0);
	BUCKET("of a group", NLM_F_DUMP, num(NHA_ID, 200));
	BUCKET("of no group", NLM_F_DUMP, num(NHA_ID, 51));
	BUCKET("of another group", NLM_F_DUMP, num(NHA_ID, 0));
	BUCKET("of one that is not", NLM_F_DUMP, num(NHA_ID, 999));
	BUCKET("of a member", NLM_F_DUMP, open_nest(NHA_RES_BUCKET | NLA_F_NESTED), num(3, 51), close_nest());
	BUCKET("of a device", NLM_F_DUMP, num(NHA_OIF, v1));
	BUCKET("of member 0", NLM_F_DUMP, open_nest(NHA_RES_BUCKET | NLA_F_NESTED), num(3, 0), close_nest());
	BUCKET("one", 0, num(NHA_ID, 200), open_nest(NHA_RES_BUCKET | NLA_F_NESTED), half(1, 3), close_nest());
	BUCKET("one too far", 0, num(NHA_ID, 200), open_nest(NHA_RES_BUCKET | NLA_F_NESTED), half(1, 8), close_nest());
	BUCKET("without index", 0, num(NHA_ID, 200), open_nest(NHA_RES_BUCKET | NLA_F_NESTED), close_nest());
	BUCKET("without bucket", 0, num(NHA_ID, 200));
	BUCKET("without id", 0, open_nest(NHA_RES_BUCKET | NLA_F_NESTED), half(1, 3), close_nest());
	BUCKET("of no group", 0, num(NHA_ID, 51), open_nest(NHA_RES_BUCKET | NLA_F_NESTED), half(1, 3), close_nest());
	BUCKET("of one that is not", 0, num(NHA_ID, 999), open_nest(NHA_RES_BUCKET | NLA_F_NESTED), half(1, 3), close_nest());
	NEW("other buckets", REPLACE, 0, num(NHA_ID, 200), GROUP(51, 0, 52, 0), half(NHA_GROUP_TYPE, 1), open_nest(NHA_RES_GROUP | NLA_F_NESTED), half(1, 9), close_nest());
	NEW("as a plain group", REPLACE, 0, num(NHA_ID, 200), GROUP(51, 0, 52, 0));
	NEW("other weights", REPLACE, 0, num(NHA_ID, 200), GROUP(51, 2, 52, 0), half(NHA_GROUP_TYPE, 1), open_nest(NHA_RES_GROUP | NLA_F_NESTED), num(2, 100), close_nest());
	BUCKET("buckets", NLM_F_DUMP, (void)0);
	ROUTE("a route", CREATE, 2, D1, 28, num(RTA_NH_ID, 200));
	nap(2000);
	told(ear, "  heard ");
	DEL("a member", num(NHA_ID, 52));
	BUCKET("buckets", NLM_F_DUMP, (void)0);
	NEW("in a group", CREATE, 0, num(NHA_ID, 201), GROUP(200, 0));
	DEL("the other", num(NHA_ID, 51));
	DUMP("what is left", 0, (void)0);
}

static void devices(void)
{
	say("-- devices\n");
	NEW("one", CREATE, 2, SIMPLE(61));
	NEW("another", CREATE, 2, num(NHA_ID, 62), num(NHA_OIF, v1));
	NEW("six", CREATE, 10, num(NHA_ID, 63), num(NHA_OIF, v0), GW6(H2));
	NEW("hole", CREATE, 2, num(NHA_ID, 64), flag(NHA_BLACKHOLE));
	NEW("group", CREATE, 0, num(NHA_ID, 65), GROUP(61, 0, 62, 0));
	NEW("group", CREATE, 0, num(NHA_ID, 66), GROUP(61, 0));
	ROUTE("route", CREATE, 2, D1, 24, num(RTA_NH_ID, 61));
	ROUTE("route", CREATE, 2, D2, 24, num(RTA_NH_ID, 65));
	ROUTE("route", CREATE, 10, E1, 32, num(RTA_NH_ID, 63));
	write_to("/proc/sys/net/ipv6/conf/v0/disable_ipv6", "1");
	told(ear, "  heard ");
	DUMP("six is off", 0, (void)0);
	down("v0", 0);
	DUMP("down", 0, (void)0);
	routes("routes", 2);
	routes("routes of six", 10);
	NEW("on a device that is down", CREATE, 2, num(NHA_ID, 67), num(NHA_OIF, v0));
	NEW("on one without carrier", CREATE, 2, num(NHA_ID, 67), num(NHA_OIF, v1));
	down("v0", 1);
	NEW("six where it is off", CREATE, 10, num(NHA_ID, 68), num(NHA_OIF, v0));
	DUMP("up again", 0, (void)0);
	begin_message(RTM_DELLINK, 0, sizeof(struct ifinfomsg));
	((struct ifinfomsg *)NLMSG_DATA(&message.head))->ifi_index = v1;
	ask("device gone");
	DUMP("gone", 0, (void)0);
	T(__NR_unshare, CLONE_NEWNET);
}

int main(int argc, char **argv)
{
	sys(__NR_unshare, CLONE_NEWNET);
	netlink = sys(__NR_socket, 16, 3, 0);
	int on = 1;
	veth("v0", "v1", "\2\0\0\0\0\1");
	veth("w0", "w1", "\2\0\0\0\0\2");
	write_to("/proc/sys/net/ipv6/conf/v1/disable_ipv6", "1");
	set_up("lo", 0), set_up("v0", 0), set_up("v1", 0);
	w0 = ifindex("w0"), v0 = ifindex("v0"), v1 = ifindex("v1");
	address("v0", 2, LOCAL, 24);
	address("v0", 10, H1, 64);
	nap(3000);
	sys(__NR_setsockopt, netlink, 270, NETLINK_EXT_ACK, &on, 4);
	sys(__NR_setsockopt, netlink, 270, NETLINK_GET_STRICT_CHK, &on, 4);
	ear = sys(__NR_socket, 16, 3, 0);
	struct { unsigned short family, pad; unsigned pid, groups; } where = { 16, 0, 0, 0 };
	sys(__NR_bind, ear, &where, sizeof(where));
	for (int i = 0, kinds[] = { RTNLGRP_NEXTHOP, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE }; i < 3; i++)
		say("group %d: %r\n", kinds[i], sys(__NR_setsockopt, ear, 270, NETLINK_ADD_MEMBERSHIP, &kinds[i], 4));
	making();
	asking();
	groups();
	routing();
	resilient();
	devices();
	return 0;
}
