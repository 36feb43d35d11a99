/* Queueing disciplines and their classes of a device that was never up, is up, and is down again, by netlink. */
#include "tiny.h"
#include "tiny_net.h"
#include <linux/pkt_sched.h>

static void dump(const char *what, int type, int index, unsigned parent)
{
	static char buf[16384];
	struct tcmsg *t = begin_message(type, NLM_F_DUMP, sizeof(*t));
	message.head.nlmsg_flags &= ~NLM_F_ACK;
	t->tcm_ifindex = index, t->tcm_parent = parent;
	say(" %s %d %x: %r", what, index, (long)parent, sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0));
	for (int done = 0; !done;) {
		long n = sys(__NR_recvfrom, netlink, buf, sizeof(buf), 0, 0, 0);
		if (n <= 0)
			break;
		for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, n) && !done; h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
				say(" type %d %r", h->nlmsg_type, (long)*(int *)NLMSG_DATA(h));
				done = 1;
				break;
			}
			struct tcmsg *t = NLMSG_DATA(h);
			say(" [device %d handle %x parent %x info %x", t->tcm_ifindex, (long)t->tcm_handle, (long)t->tcm_parent, (long)t->tcm_info);
			int left = h->nlmsg_len - NLMSG_LENGTH(sizeof(*t));
			for (struct rtattr *a = (void *)((char *)t + NLMSG_ALIGN(sizeof(*t))); RTA_OK(a, left); a = RTA_NEXT(a, left))
				if (a->rta_type == TCA_KIND)
					say(" %s", (char *)RTA_DATA(a));
			say("]");
		}
	}
	say("\n");
}

static void all(const char *what)
{
	static const unsigned parents[] = { 0, TC_H_ROOT, TC_H_INGRESS, 0x100000, 0x10 };
	say("%s\n", what);
	dump("disciplines", RTM_GETQDISC, 0, 0);
	dump("disciplines", RTM_GETQDISC, 1, TC_H_ROOT);
	for (int i = 0; i < 5; i++)
		dump("classes", RTM_GETTCLASS, 1, parents[i]);
	dump("classes", RTM_GETTCLASS, 0, 0);
	dump("classes", RTM_GETTCLASS, 77, 0);
}

static void up(int flags)
{
	struct ifinfomsg *info = begin_message(RTM_NEWLINK, 0, sizeof(*info));
	info->ifi_index = 1, info->ifi_change = 1, info->ifi_flags = flags;
	send_message("flags");
}

int main(int argc, char **argv)
{
	say("%r\n", sys(__NR_unshare, 0x40000000));
	netlink = sys(__NR_socket, 16, 3, 0);
	all("never up");
	up(1);
	all("up");
	up(0);
	all("down");
	return 0;
}
