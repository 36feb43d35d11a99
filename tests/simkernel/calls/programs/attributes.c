/* Attributes of every size and type in requests over NETLINK_ROUTE: what is refused, and with which words. */
/* not: i386 */
/* not: s390x: the values are filled byte by byte, and what is shown of an answer is in the machine's order */
#include "tiny.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#define AF_INET 2
#define AF_INET6 10
#define SOL_NETLINK 270
#define MSG_DONTWAIT 0x40

static int fd, seq, shown;
static char buf[65536];
static int ask(int type, int flags, void *body, int blen, int at, int alen, int fill)
{
	struct { struct nlmsghdr h; char b[512]; } m;
	memset(&m, 0, sizeof m);
	memcpy(m.b, body, blen);
	int len = NLMSG_LENGTH(blen);
	len = NLMSG_ALIGN(len);
	if (at >= 0) {
		struct rtattr *a = (void *)((char *)&m + len);
		a->rta_type = at; a->rta_len = RTA_LENGTH(alen);
		memset(RTA_DATA(a), fill, alen);
		len += RTA_SPACE(alen);
	}
	m.h.nlmsg_len = len; m.h.nlmsg_type = type; m.h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags; m.h.nlmsg_seq = ++seq;
	if (sys(__NR_sendto, fd, &m, len, 0, 0, 0) < 0)
		return 1000;
	int got = 9999, n, count = 0;
	while ((n = sys(__NR_recvfrom, fd, buf, sizeof buf, MSG_DONTWAIT, 0, 0)) > 0) {
		for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			if (shown) for (int i = sizeof *h; i < (int)h->nlmsg_len; i++) say(" %x", (long)((unsigned char *)h)[i]);
			if (h->nlmsg_type == NLMSG_ERROR) got = ((struct nlmsgerr *)NLMSG_DATA(h))->error;
			else count++;
		}
	}
	return got == 0 ? count : got;
}
static void row(const char *name, int type, int flags, void *body, int blen, int amax)
{
	static const int lens[] = {0, 1, 2, 3, 4, 5, 8, 16};
	int none = ask(type, flags, body, blen, -1, 0, 0), said[16];
	say("%s: %d, short:", name, (long)none);
	for (int b = 0; b < blen; b += 4)
		say(" %d", (long)ask(type, flags, body, b, -1, 0, 0));
	say("\n");
	for (int a = 0; a <= amax; a++) {
		int other = 0;
		for (int i = 0; i < 16; i++) {
			said[i] = ask(type, flags, body, blen, a, lens[i & 7], i < 8);
			other |= said[i] != none;
		}
		if (!other)
			continue;
		say("%s %d:", name, (long)a);
		for (int i = 0; i < 16; i++)
			say(" %d", (long)said[i]);
		say("\n");
	}
}
static void refusal(const char *name, int type, int flags, void *body, int blen, int at, int alen, int fill)
{
	shown = 1;
	say("%s", name);
	ask(type, flags, body, blen, at, alen, fill);
	say("\n");
	shown = 0;
}
static void refusals(void)
{
	int one = 1;
	seq = 0;
	sys(__NR_setsockopt, fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof one);
	sys(__NR_setsockopt, fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof one);
	struct ifinfomsg l = {.ifi_index = 1};
	struct rtmsg r = {.rtm_family = AF_INET};
	unsigned char u[12] = {AF_INET, 0, 0, 0, 100, 0, 0, 1};
	refusal("u32", RTM_GETLINK, 0, &l, sizeof l, IFLA_MTU, 2, 0);
	refusal("string", RTM_GETLINK, 0, &l, sizeof l, IFLA_IFNAME, 20, 1);
	refusal("binary", RTM_GETLINK, 0, &l, sizeof l, IFLA_ADDRESS, 40, 1);
	refusal("reject", RTM_GETLINK, 0, &l, sizeof l, 54, 4, 1);
	refusal("least value", RTM_GETLINK, 0, &l, sizeof l, 41, 4, 0);
	refusal("least signed value", RTM_GETLINK, 0, &l, sizeof l, 49, 4, 0);
	refusal("nested", RTM_GETLINK, 0, &l, sizeof l, IFLA_LINKINFO, 2, 1);
	refusal("nul string", RTM_GETLINK, 0, &l, sizeof l, 56, 2, 1);
	refusal("u8", RTM_GETLINK, 0, &l, sizeof l, IFLA_OPERSTATE, 0, 1);
	refusal("least size", RTM_GETLINK, 0, &l, sizeof l, IFLA_MAP, 3, 1);
	refusal("u16", RTM_GETROUTE, 0, &r, sizeof r, 28, 1, 1);
	refusal("strict", RTM_GETROUTE, 0, &r, sizeof r, 30, 2, 1);
	refusal("header", RTM_GETROUTE, 0, &r, 4, -1, 0, 0);
	refusal("u64", RTM_NEWRULE, NLM_F_CREATE, u, 12, 12, 2, 1);
	refusal("goto", RTM_NEWRULE, NLM_F_CREATE, u, 12, 4, 4, 0);
	refusal("l3mdev", RTM_NEWRULE, NLM_F_CREATE, u, 12, 19, 1, 1);
}
int main(int argc, char **argv)
{
	fd = sys(__NR_socket, 16, 3, NETLINK_ROUTE);
	for (int i = 1; i < 6; i++) {
		struct ifaddrmsg a = {.ifa_family = AF_INET, .ifa_index = i};
		while (ask(RTM_DELADDR, 0, &a, sizeof a, -1, 0, 0) == 0) ;
		struct ifinfomsg d = {.ifi_index = i, .ifi_change = 1, .ifi_flags = 0};
		ask(RTM_SETLINK, 0, &d, sizeof d, -1, 0, 0);
	}
	struct rtmsg r4 = {.rtm_family = AF_INET}, r6 = {.rtm_family = AF_INET6};
	struct ifaddrmsg a4 = {.ifa_family = AF_INET, .ifa_index = 1, .ifa_prefixlen = 8}, a6 = {.ifa_family = AF_INET6, .ifa_index = 1, .ifa_prefixlen = 64};
	struct ifinfomsg l = {.ifi_index = 1}, l0 = {0};
	struct ndmsg n4 = {.ndm_family = AF_INET, .ndm_ifindex = 1}, n6 = {.ndm_family = AF_INET6, .ndm_ifindex = 1};
	struct fib_rule_hdr { unsigned char family, dst_len, src_len, tos, table, r1, r2, action; unsigned flags; } u4 = {AF_INET, .action = 1, .table = 100}, u6 = {AF_INET6, .action = 1, .table = 100};
	struct tcmsg t = {.tcm_ifindex = 1, .tcm_parent = 0xffffffff};
	row("getroute4", RTM_GETROUTE, 0, &r4, sizeof r4, 30);
	row("getroute6", RTM_GETROUTE, 0, &r6, sizeof r6, 30);
	row("delroute4", RTM_DELROUTE, 0, &r4, sizeof r4, 30);
	row("delroute6", RTM_DELROUTE, 0, &r6, sizeof r6, 30);
	row("getaddr4", RTM_GETADDR, 0, &a4, sizeof a4, 12);
	row("getaddr6", RTM_GETADDR, 0, &a6, sizeof a6, 12);
	row("deladdr4", RTM_DELADDR, 0, &a4, sizeof a4, 12);
	row("newaddr4", RTM_NEWADDR, NLM_F_REPLACE, &a4, sizeof a4, 12);
	row("newaddr6", RTM_NEWADDR, NLM_F_REPLACE, &a6, sizeof a6, 12);
	row("getlink", RTM_GETLINK, 0, &l, sizeof l, 66);
	row("setlink", RTM_SETLINK, 0, &l, sizeof l, 66);
	row("newlink", RTM_NEWLINK, NLM_F_CREATE, &l0, sizeof l0, 66);
	row("getneigh4", RTM_GETNEIGH, 0, &n4, sizeof n4, 16);
	row("newneigh4", RTM_NEWNEIGH, NLM_F_CREATE, &n4, sizeof n4, 16);
	row("newneigh6", RTM_NEWNEIGH, NLM_F_CREATE, &n6, sizeof n6, 16);
	row("delneigh4", RTM_DELNEIGH, 0, &n4, sizeof n4, 16);
	row("newrule4", RTM_NEWRULE, NLM_F_CREATE, &u4, sizeof u4, 26);
	row("newrule6", RTM_NEWRULE, NLM_F_CREATE, &u6, sizeof u6, 26);
	row("delrule4", RTM_DELRULE, 0, &u4, sizeof u4, 26);
	row("newqdisc", RTM_NEWQDISC, NLM_F_CREATE, &t, sizeof t, 16);
	row("getqdisc", RTM_GETQDISC, 0, &t, sizeof t, 16);
	row("newtclass", RTM_NEWTCLASS, NLM_F_CREATE, &t, sizeof t, 16);
	row("newtfilter", RTM_NEWTFILTER, NLM_F_CREATE, &t, sizeof t, 16);
	refusals();
	flush();
	return 0;
}
