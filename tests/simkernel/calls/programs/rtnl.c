/* Raw requests of rtnetlink in an empty network: dumps and what strict checking says of them, changes, errors
 * with their texts and places.  not: s390x (attributes are shown as words) */
#include "tiny.h"
#include "tiny_net.h"
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/in.h>
#include <linux/netlink.h>
#include <linux/sched.h>

static char buf[32768];
static int shown; /* attributes are told */

static void attributes(char *at, int left, int deep)
{
	while (left >= 4) {
		struct rtattr *a = (void *)at;
		int n = a->rta_len - 4, type = a->rta_type & ~NLA_F_NESTED;
		if (n < 0)
			break;
		say(" %d%s", type, a->rta_type & NLA_F_NESTED ? "n" : "");
		if (n == 1)
			say("=%x", (long)*(unsigned char *)(at + 4));
		else if (n == 2)
			say("=%x", (long)*(unsigned short *)(at + 4));
		else if (n == 4)
			say("=%x", (long)*(unsigned *)(at + 4));
		else if (n < 400)
			say("/%d", n);
		at += RTA_ALIGN(a->rta_len), left -= RTA_ALIGN(a->rta_len);
	}
}

static void answers(const char *what, int size)
{
	long n;
	int first = 1;
	say("%s:", what);
	while ((n = sys(__NR_recvfrom, netlink, buf, sizeof(buf), 0x40, 0, 0)) > 0) {
		struct nlmsghdr *h = (void *)buf;
		for (; n >= (long)sizeof(*h) && n >= (long)h->nlmsg_len; n -= NLMSG_ALIGN(h->nlmsg_len), h = (void *)((char *)h + NLMSG_ALIGN(h->nlmsg_len))) {
			char *body = (char *)h + 16;
			int left = h->nlmsg_len - 16;
			first = 0;
			if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE) {
				say(" %s %r flags %x", h->nlmsg_type == NLMSG_DONE ? "done" : "error", (long)*(int *)body, (long)h->nlmsg_flags);
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
			} else {
				say("\n  %d flags %x", h->nlmsg_type, (long)h->nlmsg_flags & ~NLM_F_DUMP_INTR);
				if (shown) {
					for (int i = 0; i < size && i < left; i++)
						say("%s%x", i & 3 ? "." : " ", (long)(unsigned char)body[i]);
					if (shown > 1)
						attributes(body + NLMSG_ALIGN(size), left - NLMSG_ALIGN(size), 0);
				}
			}
		}
	}
	say("%s\n", first ? " nothing" : "");
}

static void ask(const char *what, int size)
{
	long sent = sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	if (sent < 0)
		say("%s sent %r\n", what, sent);
	else
		answers(what, size);
}
#define ACK(set) (message.head.nlmsg_flags = NLM_F_REQUEST | (set))
#define DUMPS NLM_F_DUMP
static void strict(int on) { sys(__NR_setsockopt, netlink, 270, NETLINK_GET_STRICT_CHK, &on, 4); }

static void *request(int type, int flags, int size) { void *p = begin_message(type, 0, size); ACK(flags); return p; }

/* -- links ----------------------------------------------------------------------------------------------------------- */

static struct ifinfomsg *link(int type, int flags) { return request(type, flags, sizeof(struct ifinfomsg)); }
#define LINK(what) ask(what, sizeof(struct ifinfomsg))
static void number(int type, unsigned v) { attribute(type, &v, 4); }
static void text(int type, const char *s) { attribute(type, s, strlen(s) + 1); }

static void links(void)
{
	say("== links\n");
	shown = 2;
	link(RTM_GETLINK, DUMPS);
	LINK("dump");
	veth("va", "vb", "\2\0\0\0\0\1");
	shown = 1;
	link(RTM_GETLINK, DUMPS);
	LINK("dump");
	shown = 0;
	link(RTM_GETLINK, DUMPS), number(IFLA_EXT_MASK, 9);
	LINK("with a mask");
	request(RTM_GETLINK, DUMPS, 1);
	LINK("only a family");
	strict(1);
	request(RTM_GETLINK, DUMPS, 1);
	LINK("strict: only a family");
	link(RTM_GETLINK, DUMPS)->ifi_type = 5;
	LINK("strict: type");
	link(RTM_GETLINK, DUMPS)->ifi_index = 5;
	LINK("strict: index");
	link(RTM_GETLINK, DUMPS), text(IFLA_IFNAME, "va");
	LINK("strict: name");
	link(RTM_GETLINK, DUMPS), number(IFLA_MASTER, 77);
	LINK("strict: master");
	link(RTM_GETLINK, DUMPS), number(200, 77);
	LINK("strict: unknown");
	link(RTM_GETLINK, DUMPS), open_nest(IFLA_LINKINFO), text(IFLA_INFO_KIND, "veth"), close_nest();
	LINK("strict: kind");
	link(RTM_GETLINK, DUMPS), open_nest(IFLA_LINKINFO | NLA_F_NESTED), text(IFLA_INFO_KIND, "veth"), close_nest();
	LINK("strict: nested kind");
	link(RTM_GETLINK, 0)->ifi_index = 1;
	LINK("strict: one");
	link(RTM_GETLINK, 0)->ifi_flags = 1;
	LINK("strict: flags");
	link(RTM_GETLINK, 0), number(IFLA_MTU, 5);
	LINK("strict: mtu");
	link(RTM_GETLINK, NLM_F_ACK), text(IFLA_IFNAME, "va");
	LINK("strict: by name");
	link(RTM_GETLINK, 0), text(IFLA_IFNAME, "none");
	LINK("strict: no name");
	link(RTM_GETLINK, 0);
	LINK("strict: nothing");
	link(RTM_GETLINK, 0), number(IFLA_TARGET_NETNSID, 7);
	LINK("strict: another network");
	strict(0);
#define CHANGE(what, index, ...) do { struct ifinfomsg *m = link(RTM_NEWLINK, NLM_F_ACK); m->ifi_index = index; __VA_ARGS__; LINK(what); } while (0)
	CHANGE("nobody", 0);
	CHANGE("no such", 99);
	CHANGE("negative", -1);
	CHANGE("mtu small", ifindex("va"), number(IFLA_MTU, 60));
	CHANGE("mtu large", ifindex("va"), number(IFLA_MTU, 70000));
	CHANGE("mtu of two bytes", ifindex("va"), attribute(IFLA_MTU, "ab", 2));
	CHANGE("mtu", ifindex("va"), number(IFLA_MTU, 1400));
	CHANGE("address short", ifindex("va"), attribute(IFLA_ADDRESS, "abc", 3));
	CHANGE("address of a group", ifindex("va"), attribute(IFLA_ADDRESS, "\1\0\0\0\0\0", 6));
	CHANGE("address", ifindex("va"), attribute(IFLA_ADDRESS, "\2\0\0\0\0\7", 6));
	CHANGE("name taken", ifindex("va"), text(IFLA_IFNAME, "vb"));
	CHANGE("name with a slash", ifindex("va"), text(IFLA_IFNAME, "v/b"));
	CHANGE("name long", ifindex("va"), text(IFLA_IFNAME, "abcdefghijklmnopq"));
	CHANGE("name empty", ifindex("va"), text(IFLA_IFNAME, ""));
	CHANGE("name pattern", ifindex("va"), text(IFLA_IFNAME, "w%d"));
	CHANGE("back", ifindex("w0"), text(IFLA_IFNAME, "va"));
	CHANGE("alias", ifindex("va"), text(IFLA_IFALIAS, "an alias"));
	CHANGE("alias long", ifindex("va"), attribute(IFLA_IFALIAS, buf, 300));
	CHANGE("queue", ifindex("va"), number(IFLA_TXQLEN, 77));
	CHANGE("queue negative", ifindex("va"), number(IFLA_TXQLEN, -1));
	CHANGE("group", ifindex("va"), number(IFLA_GROUP, 3));
	CHANGE("group negative", ifindex("va"), number(IFLA_GROUP, -3));
	CHANGE("master", ifindex("va"), number(IFLA_MASTER, 1));
	CHANGE("no master", ifindex("va"), number(IFLA_MASTER, 0));
	CHANGE("no such master", ifindex("va"), number(IFLA_MASTER, 99));
	CHANGE("carrier", ifindex("va"), attribute(IFLA_CARRIER, "\0", 1));
	CHANGE("mode", ifindex("va"), attribute(IFLA_LINKMODE, "\1", 1));
	CHANGE("mode again", ifindex("va"), attribute(IFLA_LINKMODE, "\0", 1));
	CHANGE("operstate", ifindex("va"), attribute(IFLA_OPERSTATE, "\5", 1));
	CHANGE("net by pid", ifindex("va"), number(IFLA_NET_NS_PID, 99999));
	CHANGE("net by fd", ifindex("va"), number(IFLA_NET_NS_FD, 0));
	CHANGE("both nets", ifindex("va"), number(IFLA_NET_NS_PID, 1), number(IFLA_TARGET_NETNSID, 1));
	CHANGE("segments", ifindex("va"), number(IFLA_GSO_MAX_SEGS, 5));
	CHANGE("proto_down", ifindex("va"), attribute(IFLA_PROTO_DOWN, "\1", 1));
	CHANGE("kind of another", ifindex("va"), open_nest(IFLA_LINKINFO), text(IFLA_INFO_KIND, "bridge"), close_nest());
	CHANGE("kind data", ifindex("va"), open_nest(IFLA_LINKINFO), text(IFLA_INFO_KIND, "veth"), open_nest(IFLA_INFO_DATA), close_nest(), close_nest());
	CHANGE("unknown attribute", ifindex("va"), number(200, 7));
	CHANGE("lo's name", 1, text(IFLA_IFNAME, "other"));
	CHANGE("exclusively", ifindex("va"), (message.head.nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL));
	CHANGE("replace", ifindex("va"), (message.head.nlmsg_flags |= NLM_F_CREATE | NLM_F_REPLACE));
	CHANGE("flags", ifindex("va"), m->ifi_flags = 0x101, m->ifi_change = 0x101);
#define MAKE(what, ...) do { link(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL); __VA_ARGS__; LINK(what); } while (0)
	MAKE("without a kind", text(IFLA_IFNAME, "x"));
	MAKE("kind unknown", text(IFLA_IFNAME, "x"), open_nest(IFLA_LINKINFO), text(IFLA_INFO_KIND, "nothing"), close_nest());
	MAKE("kind empty", text(IFLA_IFNAME, "x"), open_nest(IFLA_LINKINFO), text(IFLA_INFO_KIND, ""), close_nest());
	MAKE("name of another", text(IFLA_IFNAME, "va"), open_nest(IFLA_LINKINFO), text(IFLA_INFO_KIND, "veth"), close_nest());
	MAKE("without a name", open_nest(IFLA_LINKINFO), text(IFLA_INFO_KIND, "veth"), close_nest());
	MAKE("with a small mtu", number(IFLA_MTU, 10), open_nest(IFLA_LINKINFO), text(IFLA_INFO_KIND, "veth"), close_nest());
	link(RTM_DELLINK, NLM_F_ACK)->ifi_index = 1;
	LINK("delete lo");
	link(RTM_DELLINK, NLM_F_ACK)->ifi_index = 99;
	LINK("delete none");
	link(RTM_DELLINK, NLM_F_ACK);
	LINK("delete nothing");
	link(RTM_DELLINK, NLM_F_ACK), number(IFLA_GROUP, 9);
	LINK("delete a group");
	link(RTM_NEWLINKPROP, NLM_F_ACK | NLM_F_CREATE)->ifi_index = ifindex("va");
	open_nest(IFLA_PROP_LIST | NLA_F_NESTED), text(IFLA_ALT_IFNAME, "another_name_of_it"), close_nest();
	LINK("another name");
	link(RTM_GETLINK, NLM_F_ACK), text(IFLA_ALT_IFNAME, "another_name_of_it");
	LINK("by it");
	shown = 2;
	link(RTM_GETLINK, 0), text(IFLA_IFNAME, "va");
	LINK("at last");
	shown = 0;
}

/* -- addresses ------------------------------------------------------------------------------------------------------- */

static struct ifaddrmsg *addr(int type, int flags, int family, int prefix, int index)
{
	struct ifaddrmsg *m = request(type, flags, sizeof(*m));
	m->ifa_family = family, m->ifa_prefixlen = prefix, m->ifa_index = index;
	return m;
}
#define ADDR(what) ask(what, sizeof(struct ifaddrmsg))
#define NEW NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL

static const char a4[4] = { 10, 1, 0, 1 }, b4[4] = { 10, 1, 0, 2 }, net4[4] = { 10, 2, 0, 0 }, far4[4] = { 10, 9, 9, 9 };
static const char a6[16] = { 0xfd, 1, [15] = 1 }, b6[16] = { 0xfd, 1, [15] = 2 }, net6[16] = { 0xfd, 2 };

static void addresses(void)
{
	int va = ifindex("va");
	struct ifa_cacheinfo life = { 10, 5, 0, 0 };
	say("== addresses\n");
	addr(RTM_NEWADDR, NEW, 2, 24, 99), attribute(IFA_LOCAL, a4, 4);
	ADDR("no device");
	addr(RTM_NEWADDR, NEW, 2, 33, va), attribute(IFA_LOCAL, a4, 4);
	ADDR("prefix");
	addr(RTM_NEWADDR, NEW, 2, 24, va);
	ADDR("no local");
	addr(RTM_NEWADDR, NEW, 2, 24, va), attribute(IFA_LOCAL, a4, 3);
	ADDR("short local");
	addr(RTM_NEWADDR, NEW, 2, 24, va), attribute(IFA_LOCAL, a4, 4), attribute(IFA_CACHEINFO, &life, sizeof(life));
	ADDR("preferred longer than valid");
	life.ifa_prefered = life.ifa_valid = 0;
	addr(RTM_NEWADDR, NEW, 2, 24, va), attribute(IFA_LOCAL, a4, 4), attribute(IFA_CACHEINFO, &life, sizeof(life));
	ADDR("valid never");
	addr(RTM_NEWADDR, NEW, 2, 24, va), attribute(IFA_LOCAL, a4, 4), text(IFA_LABEL, "elsewhere");
	ADDR("label");
	addr(RTM_NEWADDR, NEW, 2, 24, va), attribute(IFA_LOCAL, b4, 4), text(IFA_LABEL, "va:1");
	ADDR("its label");
	addr(RTM_NEWADDR, NEW, 2, 24, va), attribute(IFA_LOCAL, a4, 4);
	ADDR("again");
	addr(RTM_NEWADDR, NLM_F_ACK, 2, 24, va), attribute(IFA_LOCAL, a4, 4);
	ADDR("without replacing");
	addr(RTM_NEWADDR, NLM_F_ACK | NLM_F_REPLACE, 2, 24, va), attribute(IFA_LOCAL, a4, 4), number(IFA_RT_PRIORITY, 5);
	ADDR("replacing");
	addr(RTM_NEWADDR, NEW, 99, 24, va), attribute(IFA_LOCAL, a4, 4);
	ADDR("family");
	addr(RTM_DELADDR, NLM_F_ACK, 2, 24, va), attribute(IFA_LOCAL, far4, 4);
	ADDR("delete none");
	addr(RTM_DELADDR, NLM_F_ACK, 2, 23, va), attribute(IFA_LOCAL, a4, 4), attribute(IFA_ADDRESS, a4, 4);
	ADDR("delete another prefix");
	addr(RTM_DELADDR, NLM_F_ACK, 2, 24, 99), attribute(IFA_LOCAL, a4, 4);
	ADDR("delete without a device");
	addr(RTM_NEWADDR, NEW, 10, 64, 99), attribute(IFA_LOCAL, a6, 16);
	ADDR("6: no device");
	addr(RTM_NEWADDR, NEW, 10, 129, va), attribute(IFA_LOCAL, a6, 16);
	ADDR("6: prefix");
	addr(RTM_NEWADDR, NEW, 10, 64, va);
	ADDR("6: no local");
	addr(RTM_NEWADDR, NEW, 10, 64, va)->ifa_flags = IFA_F_NODAD, attribute(IFA_LOCAL, a6, 16);
	ADDR("6: new");
	addr(RTM_NEWADDR, NEW, 10, 64, va)->ifa_flags = IFA_F_NODAD, attribute(IFA_LOCAL, a6, 16);
	ADDR("6: again");
	life.ifa_prefered = 10, life.ifa_valid = 5;
	addr(RTM_NEWADDR, NEW, 10, 64, va), attribute(IFA_LOCAL, b6, 16), attribute(IFA_CACHEINFO, &life, sizeof(life));
	ADDR("6: preferred longer");
	addr(RTM_DELADDR, NLM_F_ACK, 10, 64, va), attribute(IFA_LOCAL, b6, 16);
	ADDR("6: delete none");
	addr(RTM_NEWADDR, NEW, 10, 64, va), attribute(IFA_LOCAL, "\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\5", 16);
	ADDR("6: a group");
	shown = 2;
	addr(RTM_GETADDR, DUMPS, 2, 0, 0);
	ADDR("dump of 4");
	shown = 0;
	request(RTM_GETADDR, DUMPS, 1);
	ADDR("dump of all");
	strict(1);
	request(RTM_GETADDR, DUMPS, 1);
	ADDR("strict: short");
	addr(RTM_GETADDR, DUMPS, 2, 24, 0);
	ADDR("strict: prefix");
	addr(RTM_GETADDR, DUMPS, 2, 0, va);
	ADDR("strict: of a device");
	addr(RTM_GETADDR, DUMPS, 2, 0, 99);
	ADDR("strict: of none");
	addr(RTM_GETADDR, DUMPS, 10, 0, 99);
	ADDR("strict: 6 of none");
	addr(RTM_GETADDR, DUMPS, 2, 0, 0), attribute(IFA_LOCAL, a4, 4);
	ADDR("strict: an attribute");
	addr(RTM_GETADDR, 0, 2, 0, va), attribute(IFA_LOCAL, a4, 4);
	ADDR("strict: get one of 4");
	addr(RTM_GETADDR, 0, 10, 0, va), attribute(IFA_LOCAL, a6, 16);
	ADDR("strict: get one of 6");
	addr(RTM_GETADDR, 0, 10, 0, va), attribute(IFA_LOCAL, b6, 16);
	ADDR("strict: get none of 6");
	addr(RTM_GETADDR, DUMPS, 10, 24, 0);
	ADDR("strict: 6 prefix");
	addr(RTM_GETADDR, DUMPS, 10, 0, 0), attribute(IFA_LOCAL, a6, 16);
	ADDR("strict: 6 attribute");
	strict(0);
}

/* -- routes, rules, neighbours ---------------------------------------------------------------------------------- */

static struct rtmsg *rt(int type, int flags, int family, int prefix)
{
	struct rtmsg *m = request(type, flags, sizeof(*m));
	m->rtm_family = family, m->rtm_dst_len = prefix;
	if (type == RTM_NEWROUTE)
		m->rtm_table = RT_TABLE_MAIN, m->rtm_protocol = RTPROT_BOOT, m->rtm_type = RTN_UNICAST;
	return m;
}
#define ROUTE(what) ask(what, sizeof(struct rtmsg))
#define R4(what, prefix, ...) do { struct rtmsg *m = rt(RTM_NEWROUTE, NEW, 2, prefix); (void)m; __VA_ARGS__; ROUTE(what); } while (0)
#define R6(what, prefix, ...) do { struct rtmsg *m = rt(RTM_NEWROUTE, NEW, 10, prefix); (void)m; __VA_ARGS__; ROUTE(what); } while (0)

static void ways(void)
{
	int va = ifindex("va");
	say("== routes\n");
	set_up("vb", 0);
	nap(3500); /* addresses of links that came up */
	R4("prefix", 33, attribute(RTA_DST, net4, 4));
	R4("bits of the host", 8, attribute(RTA_DST, net4, 4), number(RTA_OIF, va));
	R4("short", 16, attribute(RTA_DST, net4, 3), number(RTA_OIF, va));
	R4("no device", 16, attribute(RTA_DST, net4, 4), number(RTA_OIF, 99));
	R4("nothing", 16, attribute(RTA_DST, net4, 4));
	R4("far gate", 16, attribute(RTA_DST, net4, 4), attribute(RTA_GATEWAY, far4, 4));
	R4("own gate", 16, attribute(RTA_DST, net4, 4), attribute(RTA_GATEWAY, a4, 4));
	R4("narrow gate", 16, m->rtm_scope = RT_SCOPE_LINK, attribute(RTA_DST, net4, 4), attribute(RTA_GATEWAY, b4, 4));
	R4("source of a stranger", 16, m->rtm_scope = RT_SCOPE_LINK, attribute(RTA_DST, net4, 4), number(RTA_OIF, va), attribute(RTA_PREFSRC, far4, 4));
	R4("type", 16, m->rtm_type = 200, attribute(RTA_DST, net4, 4), number(RTA_OIF, va));
	R4("tos", 16, m->rtm_tos = 3, m->rtm_scope = RT_SCOPE_LINK, attribute(RTA_DST, net4, 4), number(RTA_OIF, va));
	R4("metric", 16, m->rtm_scope = RT_SCOPE_LINK, attribute(RTA_DST, net4, 4), number(RTA_OIF, va), open_nest(RTA_METRICS), number(99, 1), close_nest());
	R4("multipath", 16, attribute(RTA_DST, net4, 4), attribute(RTA_MULTIPATH, buf, 3));
	R4("encap", 16, m->rtm_scope = RT_SCOPE_LINK, attribute(RTA_DST, net4, 4), number(RTA_OIF, va), attribute(RTA_ENCAP_TYPE, "\77\0", 2), open_nest(RTA_ENCAP), close_nest());
	R4("nexthop object", 16, attribute(RTA_DST, net4, 4), number(RTA_NH_ID, 7));
	R4("both", 16, attribute(RTA_DST, net4, 4), number(RTA_NH_ID, 7), number(RTA_OIF, va));
	R4("flags", 16, m->rtm_flags = RTNH_F_DEAD, m->rtm_scope = RT_SCOPE_LINK, attribute(RTA_DST, net4, 4), number(RTA_OIF, va));
	R4("unknown", 16, m->rtm_scope = RT_SCOPE_LINK, attribute(RTA_DST, net4, 4), number(RTA_OIF, va), number(99, 1));
	R4("again", 16, m->rtm_scope = RT_SCOPE_LINK, attribute(RTA_DST, net4, 4), number(RTA_OIF, va));
	R4("blackhole with a device", 32, m->rtm_type = RTN_BLACKHOLE, attribute(RTA_DST, far4, 4), number(RTA_OIF, va));
	R4("unreachable", 32, m->rtm_type = RTN_UNREACHABLE, attribute(RTA_DST, far4, 4), number(RTA_PRIORITY, 9));
	R4("table", 16, m->rtm_scope = RT_SCOPE_LINK, attribute(RTA_DST, net4, 4), number(RTA_OIF, va), number(RTA_TABLE, 1000));
	rt(RTM_NEWROUTE, NLM_F_ACK, 2, 24), attribute(RTA_DST, net4, 4), number(RTA_OIF, va);
	ROUTE("not to be made");
	rt(RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, 2, 16)->rtm_scope = RT_SCOPE_LINK, attribute(RTA_DST, net4, 4), number(RTA_OIF, va), number(RTA_PRIORITY, 0);
	ROUTE("replaced");
	rt(RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_APPEND, 2, 16)->rtm_scope = RT_SCOPE_LINK, attribute(RTA_DST, net4, 4), number(RTA_OIF, 1);
	ROUTE("appended");
	rt(RTM_DELROUTE, NLM_F_ACK, 2, 24), attribute(RTA_DST, net4, 4);
	ROUTE("delete none");
	rt(RTM_DELROUTE, NLM_F_ACK, 2, 16)->rtm_table = 77, attribute(RTA_DST, net4, 4);
	ROUTE("delete in no table");
	rt(RTM_DELROUTE, NLM_F_ACK, 2, 16)->rtm_scope = RT_SCOPE_NOWHERE, attribute(RTA_DST, net4, 4), number(RTA_OIF, 1);
	ROUTE("delete");
	R6("6: prefix", 129, attribute(RTA_DST, net6, 16));
	R6("6: no device", 64, attribute(RTA_DST, net6, 16), number(RTA_OIF, 99));
	R6("6: nothing", 64, attribute(RTA_DST, net6, 16));
	R6("6: far gate", 64, attribute(RTA_DST, net6, 16), attribute(RTA_GATEWAY, net6, 16));
	R6("6: type", 64, m->rtm_type = 200, attribute(RTA_DST, net6, 16), number(RTA_OIF, va));
	R6("6: short", 64, attribute(RTA_DST, net6, 7), number(RTA_OIF, va));
	R6("6: new", 64, attribute(RTA_DST, net6, 16), number(RTA_OIF, va));
	R6("6: again", 64, attribute(RTA_DST, net6, 16), number(RTA_OIF, va));
	rt(RTM_DELROUTE, NLM_F_ACK, 10, 32), attribute(RTA_DST, net6, 16);
	ROUTE("6: delete none");
	shown = 2;
	rt(RTM_GETROUTE, 0, 2, 32), attribute(RTA_DST, b4, 4);
	ROUTE("way to a neighbour");
	rt(RTM_GETROUTE, 0, 2, 32)->rtm_flags = RTM_F_FIB_MATCH, attribute(RTA_DST, b4, 4);
	ROUTE("its route");
	shown = 0;
	rt(RTM_GETROUTE, 0, 2, 32), attribute(RTA_DST, "\10\10\10\10", 4);
	ROUTE("no way");
	rt(RTM_GETROUTE, 0, 2, 32), attribute(RTA_DST, far4, 4);
	ROUTE("unreachable");
	rt(RTM_GETROUTE, 0, 2, 32), attribute(RTA_DST, b4, 4), number(RTA_OIF, 99);
	ROUTE("by no device");
	rt(RTM_GETROUTE, 0, 10, 128), attribute(RTA_DST, "\x20\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	ROUTE("6: no way");
	strict(1);
	rt(RTM_GETROUTE, 0, 2, 24), attribute(RTA_DST, b4, 4);
	ROUTE("strict: a prefix");
	rt(RTM_GETROUTE, 0, 2, 32)->rtm_type = 1, attribute(RTA_DST, b4, 4);
	ROUTE("strict: a type");
	rt(RTM_GETROUTE, 0, 2, 0), number(RTA_PRIORITY, 4);
	ROUTE("strict: an attribute");
	rt(RTM_GETROUTE, DUMPS, 2, 0), number(RTA_TABLE, 1000);
	ROUTE("strict: of a table");
	rt(RTM_GETROUTE, DUMPS, 2, 0), number(RTA_TABLE, 77);
	ROUTE("strict: of no table");
	rt(RTM_GETROUTE, DUMPS, 2, 0), number(RTA_OIF, 99);
	ROUTE("strict: of no device");
	rt(RTM_GETROUTE, DUMPS, 2, 8);
	ROUTE("strict: length");
	rt(RTM_GETROUTE, DUMPS, 2, 0)->rtm_flags = 1;
	ROUTE("strict: flags");
	rt(RTM_GETROUTE, DUMPS, 2, 0), attribute(RTA_DST, b4, 4);
	ROUTE("strict: destination");
	request(RTM_GETROUTE, DUMPS, 1);
	ROUTE("strict: short");
	shown = 1;
	rt(RTM_GETROUTE, DUMPS, 2, 0);
	ROUTE("strict: dump");
	shown = 0;
	rt(RTM_GETROUTE, DUMPS, 10, 0);
	ROUTE("strict: 6 dump");
	rt(RTM_GETROUTE, DUMPS, 10, 8);
	ROUTE("strict: 6 length");
	rt(RTM_GETROUTE, DUMPS, 10, 0), number(RTA_TABLE, 77);
	ROUTE("strict: 6 of no table");
	rt(RTM_GETROUTE, 0, 10, 64), attribute(RTA_DST, a6, 16);
	ROUTE("strict: 6 a prefix");
	rt(RTM_GETROUTE, 0, 10, 128)->rtm_type = 1, attribute(RTA_DST, a6, 16);
	ROUTE("strict: 6 a type");
	rt(RTM_GETROUTE, 0, 10, 0), number(RTA_PRIORITY, 4);
	ROUTE("strict: 6 an attribute");
	strict(0);
	shown = 0;
	rt(RTM_GETROUTE, DUMPS, 99, 0);
	ROUTE("family");
}

static struct fib_rule_hdr *rule(int type, int flags, int action)
{
	struct fib_rule_hdr *m = request(type, flags, sizeof(*m));
	m->family = 2, m->action = action;
	return m;
}
#define RULE(what) ask(what, sizeof(struct fib_rule_hdr))
#define NUD(what) ask(what, sizeof(struct ndmsg))
static struct ndmsg *nd(int type, int flags, int index, int state)
{
	struct ndmsg *m = request(type, flags, sizeof(*m));
	m->ndm_family = 2, m->ndm_ifindex = index, m->ndm_state = state;
	return m;
}

static void rules(void)
{
	struct fib_rule_port_range ports = { 20, 10 };
	int va = ifindex("va");
	say("== rules\n");
	shown = 2;
	rule(RTM_GETRULE, DUMPS, 0);
	RULE("dump");
	shown = 0;
	rule(RTM_NEWRULE, NEW, 0);
	RULE("no action");
	rule(RTM_NEWRULE, NEW, 99);
	RULE("action");
	rule(RTM_NEWRULE, NEW, FR_ACT_TO_TBL)->src_len = 40, attribute(FRA_SRC, a4, 4);
	RULE("length");
	rule(RTM_NEWRULE, NEW, FR_ACT_TO_TBL)->src_len = 24;
	RULE("no source");
	rule(RTM_NEWRULE, NEW, FR_ACT_TO_TBL)->tos = 0xff;
	RULE("tos");
	rule(RTM_NEWRULE, NEW, FR_ACT_GOTO);
	RULE("goto nowhere");
	rule(RTM_NEWRULE, NEW, FR_ACT_GOTO), number(FRA_GOTO, 5), number(FRA_PRIORITY, 9);
	RULE("goto back");
	rule(RTM_NEWRULE, NEW, FR_ACT_TO_TBL), attribute(FRA_SPORT_RANGE, &ports, 4);
	RULE("ports");
	rule(RTM_NEWRULE, NEW, FR_ACT_TO_TBL), number(FRA_TABLE, 100), number(FRA_PRIORITY, 50);
	RULE("new");
	rule(RTM_NEWRULE, NEW, FR_ACT_TO_TBL), number(FRA_TABLE, 100), number(FRA_PRIORITY, 50);
	RULE("again");
	rule(RTM_NEWRULE, NEW, FR_ACT_TO_TBL), number(FRA_TABLE, 101);
	RULE("without a priority");
	rule(RTM_NEWRULE, NEW, FR_ACT_TO_TBL), number(FRA_L3MDEV, 1);
	RULE("l3mdev");
	rule(RTM_DELRULE, NLM_F_ACK, 0), number(FRA_PRIORITY, 77);
	RULE("delete none");
	rule(RTM_DELRULE, NLM_F_ACK, 0), number(FRA_PRIORITY, 50);
	RULE("delete");
	rule(RTM_DELRULE, NLM_F_ACK, 0), number(FRA_PRIORITY, 0);
	RULE("delete the first");
	strict(1);
	rule(RTM_GETRULE, DUMPS, 1);
	RULE("strict: action");
	rule(RTM_GETRULE, DUMPS, 0), number(FRA_PRIORITY, 0);
	RULE("strict: attribute");
	strict(0);
	shown = 1;
	rule(RTM_GETRULE, DUMPS, 0);
	RULE("dump");
	shown = 0;
	say("== neighbours\n");
	nd(RTM_NEWNEIGH, NEW, va, NUD_PERMANENT), attribute(NDA_DST, b4, 3), attribute(NDA_LLADDR, "\2\0\0\0\0\5", 6);
	NUD("short");
	nd(RTM_NEWNEIGH, NEW, va, NUD_PERMANENT), attribute(NDA_LLADDR, "\2\0\0\0\0\5", 6);
	NUD("nobody");
	nd(RTM_NEWNEIGH, NEW, va, NUD_PERMANENT), attribute(NDA_DST, b4, 4), attribute(NDA_LLADDR, "\2\0\0", 3);
	NUD("short address");
	nd(RTM_NEWNEIGH, NEW, 99, NUD_PERMANENT), attribute(NDA_DST, b4, 4), attribute(NDA_LLADDR, "\2\0\0\0\0\5", 6);
	NUD("no device");
	nd(RTM_NEWNEIGH, NEW, 0, NUD_PERMANENT), attribute(NDA_DST, b4, 4), attribute(NDA_LLADDR, "\2\0\0\0\0\5", 6);
	NUD("device 0");
	nd(RTM_NEWNEIGH, NEW, va, NUD_PERMANENT), attribute(NDA_DST, far4, 4), attribute(NDA_LLADDR, "\2\0\0\0\0\5", 6);
	NUD("new");
	nd(RTM_NEWNEIGH, NEW, va, NUD_PERMANENT), attribute(NDA_DST, far4, 4), attribute(NDA_LLADDR, "\2\0\0\0\0\5", 6);
	NUD("again");
	nd(RTM_NEWNEIGH, NLM_F_ACK, va, NUD_STALE), attribute(NDA_DST, "\12\5\5\5", 4), attribute(NDA_LLADDR, "\2\0\0\0\0\5", 6);
	NUD("not to be made");
	nd(RTM_GETNEIGH, 0, va, 0), attribute(NDA_DST, far4, 4);
	NUD("one");
	nd(RTM_GETNEIGH, 0, va, 0), attribute(NDA_DST, b4, 4);
	NUD("none");
	nd(RTM_GETNEIGH, 0, va, 0);
	NUD("nothing");
	nd(RTM_GETNEIGH, 0, va, 4), attribute(NDA_DST, far4, 4);
	NUD("with a state");
	nd(RTM_DELNEIGH, NLM_F_ACK, va, 0), attribute(NDA_DST, "\12\7\7\7", 4);
	NUD("delete none");
	nd(RTM_DELNEIGH, NLM_F_ACK, va, 0);
	NUD("delete nothing");
	shown = 1;
	nd(RTM_GETNEIGH, DUMPS, 0, 0);
	NUD("dump");
	shown = 0;
	strict(1);
	nd(RTM_GETNEIGH, DUMPS, va, 0);
	NUD("strict: of a device");
	nd(RTM_GETNEIGH, DUMPS, 0, 0), number(NDA_IFINDEX, va);
	NUD("strict: by attribute");
	nd(RTM_GETNEIGH, DUMPS, 0, 4);
	NUD("strict: state");
	nd(RTM_GETNEIGH, DUMPS, 0, 0), attribute(NDA_DST, far4, 4);
	NUD("strict: destination");
	strict(0);
}

/* -- how messages are put --------------------------------------------------------------------------------------------- */

static void framing(void)
{
	char two[64];
	say("== framing\n");
	link(RTM_GETLINK, 0)->ifi_index = 1;
	memcpy(two, &message, 32);
	memcpy(two + 32, &message, 32);
	sys(__NR_sendto, netlink, two, 64, 0, 0, 0);
	answers("two in one", 0);
	sys(__NR_sendto, netlink, two, 50, 0, 0, 0);
	answers("the second cut", 0);
	((struct nlmsghdr *)two)->nlmsg_len = 15;
	sys(__NR_sendto, netlink, two, 64, 0, 0, 0);
	answers("too short a length", 0);
	((struct nlmsghdr *)two)->nlmsg_len = 65;
	sys(__NR_sendto, netlink, two, 64, 0, 0, 0);
	answers("too long a length", 0);
	((struct nlmsghdr *)two)->nlmsg_len = 16;
	((struct nlmsghdr *)two)->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	sys(__NR_sendto, netlink, two, 16, 0, 0, 0);
	answers("only a head", 0);
	request(15, NLM_F_ACK, 4);
	ask("a control message", 0);
	request(199, NLM_F_ACK, 4);
	ask("beyond the last", 0);
	request(RTM_NEWSTATS, NLM_F_ACK, 4);
	ask("one without a body", 0);
	request(RTM_GETLINK, DUMPS | NLM_F_ACK, 1);
	ask("dump with ack", 0);
	request(RTM_GETLINK, DUMPS, 0);
	ask("dump of nothing", 0);
	sys(__NR_setsockopt, netlink, 270, NETLINK_CAP_ACK, &(int){ 1 }, 4);
	addr(RTM_DELADDR, NLM_F_ACK, 2, 24, 99), attribute(IFA_LOCAL, a4, 4);
	ADDR("capped");
	sys(__NR_setsockopt, netlink, 270, NETLINK_EXT_ACK, &(int){ 0 }, 4);
	addr(RTM_DELADDR, NLM_F_ACK, 2, 24, 99), attribute(IFA_LOCAL, a4, 4);
	ADDR("without words");
	sys(__NR_setsockopt, netlink, 270, NETLINK_EXT_ACK, &(int){ 1 }, 4);
}

int main(int argc, char **argv)
{
	int one = 1;
	say("alone %r\n", sys(__NR_unshare, CLONE_NEWNET));
	netlink = sys(__NR_socket, 16, 3, 0);
	sys(__NR_setsockopt, netlink, 270, NETLINK_EXT_ACK, &one, 4);
	links();
	addresses();
	ways();
	rules();
	framing();
	return 0;
}
