/* Generic netlink: the controller and what it says of itself. */
#include "tiny.h"
#include <linux/genetlink.h>
#include <linux/netlink.h>
static int fd;
static char buf[16384];

static void send(int type, int flags, int cmd, int attr, const void *value, int size)
{
	static struct { struct nlmsghdr n; struct genlmsghdr g; char a[64]; } m;
	struct nlattr *a = (void *)m.a;
	memset(&m, 0, sizeof(m));
	m.n.nlmsg_len = 20, m.n.nlmsg_type = type, m.n.nlmsg_flags = NLM_F_REQUEST | flags, m.n.nlmsg_seq = 7;
	m.g.cmd = cmd, m.g.version = 1;
	if (attr) {
		a->nla_len = 4 + size, a->nla_type = attr;
		memcpy(a + 1, value, size);
		m.n.nlmsg_len += (4 + size + 3) & ~3;
	}
	say("sent %r:", sys(__NR_sendto, fd, &m, m.n.nlmsg_len, 0, 0, 0));
}

static void show_attributes(char *at, int left, int depth)
{
	while (left >= 4) {
		struct nlattr *a = (void *)at;
		int type = a->nla_type & 0x3fff, size = a->nla_len - 4;
		say(" %d", type);
		if (depth == 0 && type == CTRL_ATTR_FAMILY_NAME)
			say("=%s", at + 4);
		else if (depth == 0 && (type == CTRL_ATTR_OPS || type == CTRL_ATTR_MCAST_GROUPS))
			say("("), show_attributes(at + 4, size, 1), say(")");
		else if (depth == 1)
			say("["), show_attributes(at + 4, size, 2), say("]");
		else if (size == 2)
			say("=%d", *(unsigned short *)(at + 4));
		else if (size == 4)
			say("=%x", (long)*(unsigned *)(at + 4));
		else
			say("=%s", at + 4);
		at += (a->nla_len + 3) & ~3, left -= (a->nla_len + 3) & ~3;
	}
}

static void receive(const char *only)
{
	long n, i;
	for (int done = 0; !done;) {
		n = sys(__NR_recvfrom, fd, buf, sizeof(buf), 0x40, 0, 0);
		if (n < 0) {
			say(" %r", n);
			break;
		}
		for (i = 0; i < n;) {
			struct nlmsghdr *h = (void *)(buf + i);
			if (h->nlmsg_type == NLMSG_ERROR)
				say(" error %r", (long)*(int *)(h + 1));
			else if (h->nlmsg_type == NLMSG_DONE)
				say(" done"), done = 1;
			else {
				struct genlmsghdr *g = (void *)(h + 1);
				struct nlattr *a = (void *)(g + 1);
				if (!only || streq((char *)(a + 1), only)) {
					say(" type %d flags %x cmd %d version %d {", h->nlmsg_type, (long)h->nlmsg_flags, g->cmd, g->version);
					show_attributes((char *)a, h->nlmsg_len - 20, 0);
					say(" }");
				}
			}
			i += (h->nlmsg_len + 3) & ~3;
		}
	}
	say("\n");
}

int main(int argc, char **argv)
{
	unsigned short id = 16, none = 999;
	fd = sys(__NR_socket, 16, 3, 16);
	say("socket %d\n", fd > 2);
	send(16, 0, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, "nlctrl", 7), receive(0);
	send(16, 0, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, &id, 2), receive(0);
	send(16, NLM_F_ACK, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, &id, 2), receive(0);
	send(16, 0, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, "no such one", 12), receive(0);
	send(16, 0, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, &none, 2), receive(0);
	send(16, 0, CTRL_CMD_GETFAMILY, 0, 0, 0), receive(0);
	send(16, 0, 77, CTRL_ATTR_FAMILY_ID, &id, 2), receive(0);
	send(16, 0, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, "a name that is much too long", 29), receive(0);
	send(15, 0, 1, 0, 0, 0), receive(0);
	send(998, 0, 1, 0, 0, 0), receive(0);
	send(16, NLM_F_ACK, CTRL_CMD_NEWFAMILY, 0, 0, 0), receive(0);
	send(16, NLM_F_DUMP, CTRL_CMD_GETFAMILY, 0, 0, 0), receive("nlctrl");
	return 0;
}
