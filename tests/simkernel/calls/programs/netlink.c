/* Netlink: the loopback's link, what is refused, ports. */
/* not: i386 */
#include "tiny.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#define IFF_LOOPBACK 8
#define AF_NETLINK 16

#define CALL(name, ...) sys(__NR_##name, __VA_ARGS__)
#define SOCK(type, protocol) CALL(socket, 16, type, protocol)

static char buf[16384];
struct request { struct nlmsghdr h; struct ifinfomsg i; char more[64]; };

static void answers(long fd, long *ifindex)
{
	for (;;) {
		long n = CALL(recvfrom, fd, buf, sizeof(buf), 0x40, 0, 0);
		if (n < 0) {
			say(" | %r\n", n);
			return;
		}
		struct nlmsghdr *h = (void *)buf;
		for (; n >= (long)sizeof(*h) && n >= (long)h->nlmsg_len; n -= (h->nlmsg_len + 3) & ~3, h = (void *)((char *)h + ((h->nlmsg_len + 3) & ~3))) {
			if (h->nlmsg_type == NLMSG_ERROR)
				say(" error %r len %d flags %x", (long)*(int *)(h + 1), h->nlmsg_len, (long)h->nlmsg_flags);
			else if (h->nlmsg_type == NLMSG_DONE)
				say(" done len %d flags %x", h->nlmsg_len, (long)h->nlmsg_flags);
			else if (h->nlmsg_type == RTM_NEWLINK) {
				struct ifinfomsg *i = (void *)(h + 1);
				if (i->ifi_index != 1)
					continue;
				struct rtattr *a = (void *)(i + 1);
				long left = (char *)h + h->nlmsg_len - (char *)a;
				say(" link %d type %d loop %d flags %x", i->ifi_index, i->ifi_type, !!(i->ifi_flags & IFF_LOOPBACK), (long)h->nlmsg_flags);
				for (; left >= 4 && a->rta_len >= 4; left -= (a->rta_len + 3) & ~3, a = (void *)((char *)a + ((a->rta_len + 3) & ~3)))
					if (a->rta_type == IFLA_IFNAME)
						say(" %s", (char *)(a + 1));
					else if (a->rta_type == IFLA_MTU)
						say(" mtu %d", *(int *)(a + 1));
			} else
				say(" type %d", h->nlmsg_type);
		}
	}
}

static void ask(const char *what, long fd, int type, int flags, int index, const char *name, int size)
{
	struct request r;
	memset(&r, 0, sizeof(r));
	r.h.nlmsg_type = type, r.h.nlmsg_flags = flags, r.h.nlmsg_seq = 7;
	r.i.ifi_index = index;
	r.h.nlmsg_len = size ? size : sizeof(r.h) + sizeof(r.i);
	if (name) {
		struct rtattr *a = (void *)r.more;
		a->rta_type = IFLA_IFNAME, a->rta_len = 4 + strlen(name) + 1;
		memcpy(a + 1, name, strlen(name) + 1);
		r.h.nlmsg_len += (a->rta_len + 3) & ~3;
	}
	long sent = CALL(sendto, fd, &r, r.h.nlmsg_len < sizeof(r) ? r.h.nlmsg_len : sizeof(r), 0, 0, 0);
	say("%s: sent %d", what, sent > 0);
	answers(fd, 0);
}

int main(int argc, char **argv)
{
	struct sockaddr_nl a = { AF_NETLINK, 0, 0, 0 };
	int size = sizeof(a);
	say("stream %r\n", SOCK(1, 0));
	say("protocol %r\n", SOCK(3, 31));
	say("large %r\n", SOCK(3, 99));
	long fd = SOCK(3, 0);
	say("bind %r\n", CALL(bind, fd, &a, sizeof(a)));
	CALL(getsockname, fd, &a, &size);
	say("port is the process %d size %d\n", a.nl_pid == sys(__NR_getpid), size);
	say("again %r\n", CALL(bind, fd, &a, sizeof(a)));
	a.nl_pid = 12345;
	say("another %r\n", CALL(bind, fd, &a, sizeof(a)));
	say("short %r\n", CALL(bind, fd, &a, 4));
	a.nl_family = 2;
	say("family %r\n", CALL(bind, fd, &a, sizeof(a)));
	a.nl_family = 16, a.nl_pid = 54321;
	say("to nobody %r\n", CALL(sendto, fd, "x", 1, 0, &a, sizeof(a)));
	ask("loopback", fd, RTM_GETLINK, NLM_F_REQUEST, 1, 0, 0);
	ask("with ack", fd, RTM_GETLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0, 0);
	ask("by name", fd, RTM_GETLINK, NLM_F_REQUEST, 0, "lo", 0);
	ask("no name", fd, RTM_GETLINK, NLM_F_REQUEST, 0, "nothing0", 0);
	ask("no index", fd, RTM_GETLINK, NLM_F_REQUEST, 999, 0, 0);
	ask("neither", fd, RTM_GETLINK, NLM_F_REQUEST, 0, 0, 0);
	ask("dump", fd, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 0, 0, 0);
	ask("no request", fd, RTM_GETLINK, 0, 1, 0, 0);
	ask("unknown", fd, 200, NLM_F_REQUEST, 1, 0, 0);
	ask("control", fd, 1, NLM_F_REQUEST | NLM_F_ACK, 1, 0, 0);
	ask("too short", fd, RTM_GETLINK, NLM_F_REQUEST, 1, 0, 10);
	sys(__NR_setresuid, 1000, 1000, 1000);
	ask("unprivileged", fd, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0, 0);
	ask("may look", fd, RTM_GETLINK, NLM_F_REQUEST, 1, 0, 0);
	return 0;
}
