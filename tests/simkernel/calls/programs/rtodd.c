/* rtnetlink with odd arguments: what each refusal says (extack), strict checks, rules, neighbours. not: s390x i386 */
#include "tiny.h"
#include <linux/socket.h>
#include <linux/netlink.h>
#include <linux/fib_rules.h>
#include "tiny_net.h"
static struct { struct nlmsghdr head; char rest[16384]; } answer;

static void told(const char *what)
{
	sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	long n = sys(__NR_recvfrom, netlink, &answer, sizeof(answer), 0x40, 0, 0);
	say("%s:", what);
	if (n < 0) {
		say(" %r\n", n);
		return;
	}
	if (answer.head.nlmsg_type != NLMSG_ERROR && answer.head.nlmsg_type != NLMSG_DONE) {
		int count = 0, type = answer.head.nlmsg_type, multi = answer.head.nlmsg_flags;
		for (; n > 0; n = sys(__NR_recvfrom, netlink, &answer, sizeof(answer), 0x40, 0, 0))
			for (struct nlmsghdr *h = &answer.head; n >= (long)sizeof(*h) && h->nlmsg_len; n -= NLMSG_ALIGN(h->nlmsg_len), h = (void *)((char *)h + NLMSG_ALIGN(h->nlmsg_len)))
				count += h->nlmsg_type == type;
		say(" %d of type %d flags %x\n", count, type, (long)multi);
		return;
	}
	struct nlmsgerr *e = NLMSG_DATA(&answer.head);
	say(" %r flags %x", (long)e->error, (long)answer.head.nlmsg_flags);
	if (answer.head.nlmsg_type == NLMSG_DONE)
		say(" done");
	char *at = (char *)e + (answer.head.nlmsg_type == NLMSG_DONE ? 4 : answer.head.nlmsg_flags & NLM_F_CAPPED ? sizeof(*e) : sizeof(*e) - 16 + NLMSG_ALIGN(e->msg.nlmsg_len));
	char *end = (char *)&answer + n;
	if (answer.head.nlmsg_flags & NLM_F_ACK_TLVS)
		while (at + 4 <= end) {
			struct nlattr *a = (void *)at;
			if (a->nla_len < 4)
				break;
			if (a->nla_type == NLMSGERR_ATTR_MSG)
				say(" '%s'", at + 4);
			else if (a->nla_type == NLMSGERR_ATTR_OFFS)
				say(" at %d", *(int *)(at + 4));
			else
				say(" attribute %d", a->nla_type);
			at += NLA_ALIGN(a->nla_len);
		}
	say("\n");
	while (sys(__NR_recvfrom, netlink, &answer, sizeof(answer), 0x40, 0, 0) > 0)
		;
}
static void number(int type, unsigned value) { attribute(type, &value, 4); }
static const unsigned char ten[4] = { 10, 1, 2, 3 }, net[4] = { 10, 1, 2, 0 }, way[4] = { 10, 9, 9, 9 };

static struct rtmsg *new_route(int flags, int family, int prefix)
{
	struct rtmsg *m = begin_message(RTM_NEWROUTE, flags, sizeof(*m));
	m->rtm_family = family, m->rtm_dst_len = prefix, m->rtm_table = 254, m->rtm_protocol = 3, m->rtm_type = 1, m->rtm_scope = 253;
	return m;
}
static void routes(void)
{
	struct rtmsg *m;
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, net, 4), number(RTA_OIF, 1), told("route by lo");
	new_route(NLM_F_CREATE | NLM_F_EXCL, 2, 24), attribute(RTA_DST, net, 4), number(RTA_OIF, 1), told("again");
	new_route(0, 2, 25), attribute(RTA_DST, net, 4), number(RTA_OIF, 1), told("without create");
	new_route(NLM_F_REPLACE, 2, 26), attribute(RTA_DST, net, 4), number(RTA_OIF, 1), told("replace nothing");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, ten, 4), number(RTA_OIF, 1), told("host bits");
	new_route(NLM_F_CREATE, 2, 33), attribute(RTA_DST, net, 4), told("prefix 33");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, net, 3), told("short address");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, net, 4), number(RTA_OIF, 77), told("no device");
	new_route(NLM_F_CREATE, 2, 16), attribute(RTA_DST, "\12\5\0\0", 4), told("no way at all");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, net, 4), attribute(RTA_GATEWAY, way, 4), told("unreachable gateway");
	m = new_route(NLM_F_CREATE, 2, 24), m->rtm_scope = 0, attribute(RTA_DST, "\12\6\0\0", 4), attribute(RTA_GATEWAY, way, 4), number(RTA_OIF, 1), told("gateway by lo");
	m = new_route(NLM_F_CREATE, 2, 24), m->rtm_type = 13, attribute(RTA_DST, "\12\6\0\0", 4), told("type 13");
	m = new_route(NLM_F_CREATE, 2, 24), m->rtm_type = 7, m->rtm_scope = 0, attribute(RTA_DST, "\12\6\0\0", 4), told("unreachable");
	m = new_route(NLM_F_CREATE, 2, 24), m->rtm_type = 6, m->rtm_scope = 0, attribute(RTA_DST, "\12\7\0\0", 4), number(RTA_OIF, 1), told("blackhole by lo");
	m = new_route(NLM_F_CREATE, 2, 24), m->rtm_tos = 3, attribute(RTA_DST, net, 4), number(RTA_OIF, 1), told("odd tos");
	m = new_route(NLM_F_CREATE, 2, 24), m->rtm_scope = 200, attribute(RTA_DST, "\12\10\0\0", 4), number(RTA_OIF, 1), told("scope 200");
	m = new_route(NLM_F_CREATE, 2, 24), m->rtm_src_len = 8, attribute(RTA_DST, net, 4), number(RTA_OIF, 1), told("source length");
	m = new_route(NLM_F_CREATE, 2, 24), m->rtm_flags = 0x10, attribute(RTA_DST, net, 4), number(RTA_OIF, 1), told("dead");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, net, 4), number(RTA_OIF, 1), attribute(RTA_PREFSRC, ten, 4), told("source not ours");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, net, 4), number(RTA_OIF, 1), attribute(60, net, 4), told("unknown attribute");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, "\12\11\0\0", 4), number(RTA_OIF, 1), open_nest(RTA_METRICS), number(RTAX_MTU, 100), number(99, 1), close_nest(), told("metric 99");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, "\12\11\0\0", 4), number(RTA_OIF, 1), open_nest(RTA_METRICS), number(RTAX_HOPLIMIT, 300), close_nest(), told("hop limit 300");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, "\12\11\0\0", 4), number(RTA_OIF, 1), open_nest(RTA_METRICS), attribute(RTAX_CC_ALGO, "nothing", 8), close_nest(), told("no such algorithm");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, "\12\11\0\0", 4), number(RTA_OIF, 1), number(RTA_NH_ID, 9), told("next hop and device");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, "\12\11\0\0", 4), number(RTA_NH_ID, 9), told("no such next hop");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, "\12\11\0\0", 4), attribute(RTA_MULTIPATH, "", 0), told("no ways");
	new_route(NLM_F_CREATE, 2, 24), attribute(RTA_DST, "\12\11\0\0", 4), attribute(RTA_MULTIPATH, "\4\0\0\0", 4), told("short way");
	m = begin_message(RTM_DELROUTE, 0, sizeof(*m)), m->rtm_family = 2, m->rtm_dst_len = 24, m->rtm_table = 254, attribute(RTA_DST, "\12\12\0\0", 4), told("delete nothing");
	m = begin_message(RTM_DELROUTE, 0, sizeof(*m)), m->rtm_family = 2, m->rtm_dst_len = 24, m->rtm_table = 254, attribute(RTA_DST, net, 4), told("delete");
	m = begin_message(RTM_DELROUTE, 0, sizeof(*m)), m->rtm_family = 2, m->rtm_dst_len = 24, m->rtm_table = 77, attribute(RTA_DST, net, 4), told("delete of no table");
	m = begin_message(RTM_GETROUTE, 0, sizeof(*m)), m->rtm_family = 2, told("get nothing");
	m = begin_message(RTM_GETROUTE, 0, sizeof(*m)), m->rtm_family = 2, m->rtm_dst_len = 32, attribute(RTA_DST, ten, 4), told("get without way");
	m = begin_message(RTM_GETROUTE, 0, sizeof(*m)), m->rtm_family = 2, m->rtm_dst_len = 24, attribute(RTA_DST, "\177\0\0\1", 4), told("get a net");
	m = begin_message(RTM_GETROUTE, 0, sizeof(*m)), m->rtm_family = 2, m->rtm_dst_len = 32, attribute(RTA_DST, "\177\0\0\1", 4), number(RTA_OIF, 77), told("get by no device");
	m = begin_message(RTM_GETROUTE, 0, sizeof(*m)), m->rtm_family = 2, m->rtm_dst_len = 32, attribute(RTA_DST, "\177\0\0\1", 4), number(RTA_IIF, 77), told("get from no device");
	m = begin_message(RTM_GETROUTE, 0, sizeof(*m)), m->rtm_family = 2, m->rtm_dst_len = 32, m->rtm_flags = 0x1, attribute(RTA_DST, "\177\0\0\1", 4), told("get with flags");
	m = begin_message(RTM_GETROUTE, NLM_F_DUMP, sizeof(*m)), m->rtm_family = 2, m->rtm_table = 77, told("dump of no table");
	m = begin_message(RTM_GETROUTE, NLM_F_DUMP, sizeof(*m)), m->rtm_family = 2, m->rtm_dst_len = 5, told("dump with prefix");
	m = begin_message(RTM_GETROUTE, NLM_F_DUMP, sizeof(*m)), m->rtm_family = 2, attribute(RTA_DST, ten, 4), told("dump with address");
	m = begin_message(RTM_GETROUTE, NLM_F_DUMP, sizeof(*m)), m->rtm_family = 2, number(RTA_OIF, 77), told("dump by no device");
	m = begin_message(RTM_GETROUTE, NLM_F_DUMP, 4), told("short dump");
	m = begin_message(RTM_GETROUTE, NLM_F_DUMP, sizeof(*m)), m->rtm_family = 99, told("family 99");
}
static void others(void)
{
	struct ifinfomsg *i;
	struct ifaddrmsg *a;
	struct ndmsg *n;
	struct fib_rule_hdr *f;
	i = begin_message(RTM_NEWLINK, 0, sizeof(*i)), i->ifi_index = 77, told("link 77");
	i = begin_message(RTM_NEWLINK, NLM_F_CREATE, sizeof(*i)), told("link of no kind");
	begin_message(RTM_NEWLINK, NLM_F_CREATE, sizeof(*i)), open_nest(IFLA_LINKINFO), attribute(IFLA_INFO_KIND, "nothing", 8), close_nest(), told("kind nothing");
	i = begin_message(RTM_NEWLINK, NLM_F_EXCL | NLM_F_CREATE, sizeof(*i)), attribute(IFLA_IFNAME, "lo", 3), told("lo again");
	i = begin_message(RTM_NEWLINK, 0, sizeof(*i)), attribute(IFLA_IFNAME, "a name that is long", 20), told("long name");
	i = begin_message(RTM_NEWLINK, 0, sizeof(*i)), i->ifi_index = 1, attribute(IFLA_IFNAME, "a/b", 4), told("odd name");
	i = begin_message(RTM_NEWLINK, 0, sizeof(*i)), i->ifi_index = -1, told("link -1");
	i = begin_message(RTM_NEWLINK, 0, sizeof(*i)), i->ifi_index = 1, number(IFLA_MASTER, 77), told("master 77");
	i = begin_message(RTM_NEWLINK, 0, sizeof(*i)), i->ifi_index = 1, number(IFLA_NET_NS_FD, 77), told("namespace 77");
	i = begin_message(RTM_DELLINK, 0, sizeof(*i)), i->ifi_index = 1, told("delete lo");
	i = begin_message(RTM_DELLINK, 0, sizeof(*i)), told("delete nothing");
	i = begin_message(RTM_GETLINK, 0, sizeof(*i)), told("get no link");
	i = begin_message(RTM_GETLINK, 0, sizeof(*i)), i->ifi_flags = 1, i->ifi_index = 1, told("get with flags");
	i = begin_message(RTM_GETLINK, NLM_F_DUMP, sizeof(*i)), i->ifi_index = 1, told("dump of one");
	i = begin_message(RTM_GETLINK, NLM_F_DUMP, sizeof(*i)), number(IFLA_MTU, 1), told("dump by mtu");
	i = begin_message(RTM_GETLINK, NLM_F_DUMP, sizeof(*i)), attribute(IFLA_INFO_KIND, "x", 2), told("dump by kind");
	a = begin_message(RTM_NEWADDR, NLM_F_CREATE, sizeof(*a)), a->ifa_family = 2, a->ifa_prefixlen = 24, a->ifa_index = 77, attribute(IFA_LOCAL, ten, 4), told("address of 77");
	a = begin_message(RTM_NEWADDR, NLM_F_CREATE, sizeof(*a)), a->ifa_family = 2, a->ifa_prefixlen = 33, a->ifa_index = 1, attribute(IFA_LOCAL, ten, 4), told("address 33");
	a = begin_message(RTM_NEWADDR, NLM_F_CREATE, sizeof(*a)), a->ifa_family = 2, a->ifa_prefixlen = 24, a->ifa_index = 1, told("no address");
	a = begin_message(RTM_NEWADDR, NLM_F_CREATE, sizeof(*a)), a->ifa_family = 2, a->ifa_prefixlen = 24, a->ifa_index = 1, attribute(IFA_LOCAL, ten, 4), told("address");
	a = begin_message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(*a)), a->ifa_family = 2, a->ifa_prefixlen = 24, a->ifa_index = 1, attribute(IFA_LOCAL, ten, 4), told("again");
	static unsigned cache[4] = { 5, 3 };
	a = begin_message(RTM_NEWADDR, NLM_F_REPLACE, sizeof(*a)), a->ifa_family = 2, a->ifa_prefixlen = 24, a->ifa_index = 1, attribute(IFA_LOCAL, ten, 4), attribute(IFA_CACHEINFO, cache, 16), told("lives too short");
	a = begin_message(RTM_DELADDR, 0, sizeof(*a)), a->ifa_family = 2, a->ifa_prefixlen = 25, a->ifa_index = 1, attribute(IFA_LOCAL, ten, 4), told("delete 25");
	a = begin_message(RTM_DELADDR, 0, sizeof(*a)), a->ifa_family = 2, a->ifa_prefixlen = 24, a->ifa_index = 1, attribute(IFA_LOCAL, ten, 4), told("delete 24");
	a = begin_message(RTM_DELADDR, 0, sizeof(*a)), a->ifa_family = 2, a->ifa_index = 77, told("delete of 77");
	a = begin_message(RTM_GETADDR, NLM_F_DUMP, sizeof(*a)), a->ifa_family = 2, a->ifa_prefixlen = 8, told("dump 8");
	a = begin_message(RTM_GETADDR, NLM_F_DUMP, sizeof(*a)), a->ifa_family = 2, a->ifa_index = 77, told("dump of 77");
	a = begin_message(RTM_NEWADDR, NLM_F_CREATE, sizeof(*a)), a->ifa_family = 10, a->ifa_prefixlen = 129, a->ifa_index = 1, attribute(IFA_LOCAL, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16), told("address 129");
	a = begin_message(RTM_NEWADDR, NLM_F_CREATE, sizeof(*a)), a->ifa_family = 10, a->ifa_prefixlen = 64, a->ifa_index = 77, attribute(IFA_LOCAL, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16), told("address of 77");
	n = begin_message(RTM_NEWNEIGH, NLM_F_CREATE, sizeof(*n)), n->ndm_family = 2, n->ndm_ifindex = 77, attribute(NDA_DST, ten, 4), told("neighbour of 77");
	n = begin_message(RTM_NEWNEIGH, NLM_F_CREATE, sizeof(*n)), n->ndm_family = 2, n->ndm_ifindex = 1, told("neighbour nobody");
	n = begin_message(RTM_NEWNEIGH, NLM_F_CREATE, sizeof(*n)), n->ndm_family = 2, n->ndm_ifindex = 1, attribute(NDA_DST, ten, 3), told("short neighbour");
	n = begin_message(RTM_NEWNEIGH, NLM_F_CREATE, sizeof(*n)), n->ndm_family = 2, n->ndm_ifindex = 1, attribute(NDA_DST, ten, 4), attribute(NDA_LLADDR, ten, 4), told("short link address");
	n = begin_message(RTM_NEWNEIGH, 0, sizeof(*n)), n->ndm_family = 2, n->ndm_ifindex = 1, attribute(NDA_DST, ten, 4), told("without create");
	n = begin_message(RTM_NEWNEIGH, 0, sizeof(*n)), n->ndm_family = 99, n->ndm_ifindex = 1, attribute(NDA_DST, ten, 4), told("neighbour 99");
	n = begin_message(RTM_DELNEIGH, 0, sizeof(*n)), n->ndm_family = 2, n->ndm_ifindex = 1, attribute(NDA_DST, ten, 4), told("delete nobody");
	n = begin_message(RTM_DELNEIGH, 0, sizeof(*n)), n->ndm_family = 2, n->ndm_ifindex = 1, told("delete without address");
	n = begin_message(RTM_GETNEIGH, 0, sizeof(*n)), n->ndm_family = 2, n->ndm_ifindex = 1, attribute(NDA_DST, ten, 4), told("get nobody");
	n = begin_message(RTM_GETNEIGH, 0, sizeof(*n)), n->ndm_family = 2, attribute(NDA_DST, ten, 4), told("get of no device");
	n = begin_message(RTM_GETNEIGH, 0, sizeof(*n)), n->ndm_family = 2, n->ndm_state = 2, told("get by state");
	n = begin_message(RTM_GETNEIGH, NLM_F_DUMP, sizeof(*n)), n->ndm_family = 2, n->ndm_state = 2, told("dump by state");
	n = begin_message(RTM_GETNEIGH, NLM_F_DUMP, sizeof(*n)), n->ndm_family = 2, attribute(NDA_DST, ten, 4), told("dump by address");
	f = begin_message(RTM_NEWRULE, NLM_F_CREATE, sizeof(*f)), f->family = 2, f->action = 1, number(FRA_PRIORITY, 500), told("rule to no table");
	f = begin_message(RTM_NEWRULE, NLM_F_CREATE, sizeof(*f)), f->family = 2, f->action = 1, f->table = 100, number(FRA_PRIORITY, 500), told("rule");
	f = begin_message(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, sizeof(*f)), f->family = 2, f->action = 1, f->table = 100, number(FRA_PRIORITY, 500), told("again");
	f = begin_message(RTM_NEWRULE, NLM_F_CREATE, sizeof(*f)), f->family = 2, f->action = 2, number(FRA_GOTO, 400), number(FRA_PRIORITY, 501), told("back");
	f = begin_message(RTM_NEWRULE, NLM_F_CREATE, sizeof(*f)), f->family = 2, f->action = 2, number(FRA_PRIORITY, 501), told("to nowhere");
	f = begin_message(RTM_NEWRULE, NLM_F_CREATE, sizeof(*f)), f->family = 2, f->action = 1, f->table = 100, f->dst_len = 40, attribute(FRA_DST, ten, 4), told("rule 40");
	f = begin_message(RTM_NEWRULE, NLM_F_CREATE, sizeof(*f)), f->family = 2, f->action = 1, f->table = 100, f->src_len = 8, told("rule without source");
	f = begin_message(RTM_NEWRULE, NLM_F_CREATE, sizeof(*f)), f->family = 2, f->action = 1, f->table = 100, f->tos = 3, told("rule tos 3");
	f = begin_message(RTM_NEWRULE, NLM_F_CREATE, sizeof(*f)), f->family = 2, f->action = 99, f->table = 100, number(FRA_PRIORITY, 502), told("rule 99");
	f = begin_message(RTM_DELRULE, 0, sizeof(*f)), f->family = 2, number(FRA_PRIORITY, 777), told("delete no rule");
	f = begin_message(RTM_DELRULE, 0, sizeof(*f)), f->family = 2, number(FRA_PRIORITY, 0), told("delete the first");
	f = begin_message(RTM_DELRULE, 0, sizeof(*f)), f->family = 2, number(FRA_PRIORITY, 500), told("delete rule");
	f = begin_message(RTM_GETRULE, NLM_F_DUMP, sizeof(*f)), f->family = 2, f->table = 5, told("dump of a table");
	f = begin_message(RTM_GETRULE, NLM_F_DUMP, sizeof(*f)), f->family = 99, told("rules 99");
	begin_message(15, 0, 4), told("type 15"), begin_message(200, 0, 16), told("type 200"), begin_message(RTM_GETLINK, NLM_F_DUMP, 0), told("no body"), begin_message(RTM_NEWROUTE, 0, 2), told("route of two bytes");
}
int main(int argc, char **argv)
{
	struct { char name[16]; short flags; char rest[22]; } up = { "lo", 0x49, "" };
	int on = 1;
	sys(__NR_alarm, 60);
	T(__NR_unshare, 0x40000000);
	netlink = sys(__NR_socket, 16, 3, 0);
	long s = sys(__NR_socket, 2, 2, 0);
	sys(__NR_ioctl, s, 0x8914, &up);
	say("extack %r\n", sys(__NR_setsockopt, netlink, 270, NETLINK_EXT_ACK, &on, 4));
	for (int strict = 0; strict < 2; strict++) {
		say("strict %d %r\n", strict, sys(__NR_setsockopt, netlink, 270, NETLINK_GET_STRICT_CHK, &strict, 4));
		routes(), others();
	}
	return 0;
}
