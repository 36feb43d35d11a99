/*
 * For programs of this folder that make devices, addresses, routes and neighbours: messages of rtnetlink.
 */
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

static long netlink;
static struct { struct nlmsghdr head; char rest[512]; } message;
static struct rtattr *nest[4];
static int depth;

static void *begin_message(int type, int flags, int size)
{
	memset(&message, 0, sizeof(message));
	message.head.nlmsg_len = NLMSG_LENGTH(size);
	message.head.nlmsg_type = type;
	message.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	depth = 0;
	return NLMSG_DATA(&message.head);
}

static struct rtattr *attribute(int type, const void *data, int size)
{
	struct rtattr *a = (void *)((char *)&message + NLMSG_ALIGN(message.head.nlmsg_len));
	a->rta_type = type;
	a->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(a), data, size);
	message.head.nlmsg_len = NLMSG_ALIGN(message.head.nlmsg_len) + RTA_ALIGN(a->rta_len);
	return a;
}
static void open_nest(int type) { nest[depth++] = attribute(type, 0, 0); }
static void close_nest(void)
{
	depth--;
	nest[depth]->rta_len = (char *)&message + message.head.nlmsg_len - (char *)nest[depth];
}

static void send_message(const char *what)
{
	struct { struct nlmsghdr head; struct nlmsgerr error; char rest[1024]; } answer;
	sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	sys(__NR_recvfrom, netlink, &answer, sizeof(answer), 0, 0, 0);
	if (answer.error.error)
		say("%s: %r\n", what, (long)answer.error.error);
}

static int ifindex(const char *name)
{
	struct { char name[16]; int index; char rest[20]; } request = { "" };
	memcpy(request.name, name, strlen(name));
	return sys(__NR_ioctl, netlink, 0x8933, &request) < 0 ? 0 : request.index;
}

static void set_up(const char *name, int mtu)
{
	struct ifinfomsg *info = begin_message(RTM_NEWLINK, 0, sizeof(*info));
	info->ifi_index = ifindex(name), info->ifi_flags = info->ifi_change = 1;
	if (mtu)
		attribute(IFLA_MTU, &mtu, 4);
	send_message("up");
}

static void veth(const char *a, const char *b, const char *mac)
{
	begin_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg));
	attribute(IFLA_IFNAME, a, strlen(a) + 1);
	attribute(IFLA_ADDRESS, mac, 6);
	open_nest(IFLA_LINKINFO);
	attribute(IFLA_INFO_KIND, "veth", 5);
	open_nest(IFLA_INFO_DATA);
	open_nest(1);
	static struct ifinfomsg zero;
	memcpy((char *)&message + message.head.nlmsg_len, &zero, sizeof(zero));
	message.head.nlmsg_len += sizeof(zero);
	attribute(IFLA_IFNAME, b, strlen(b) + 1);
	close_nest(), close_nest(), close_nest();
	send_message("veth");
}

static int width(int family) { return family == 2 ? 4 : 16; }

static void address(const char *dev, int family, const void *what, int prefix)
{
	struct ifaddrmsg *m = begin_message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(*m));
	m->ifa_family = family, m->ifa_prefixlen = prefix, m->ifa_index = ifindex(dev), m->ifa_flags = IFA_F_NODAD;
	attribute(IFA_LOCAL, what, width(family));
	attribute(IFA_ADDRESS, what, width(family));
	send_message("address");
}

static void route(int family, int kind, const void *to, int prefix, const void *gate, const char *dev, int metric, int table, int mtu, const void *source)
{
	struct rtmsg *m = begin_message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof(*m));
	m->rtm_family = family, m->rtm_dst_len = prefix, m->rtm_table = table, m->rtm_protocol = RTPROT_BOOT, m->rtm_type = kind;
	m->rtm_scope = gate || family == 10 || kind != RTN_UNICAST ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
	attribute(RTA_DST, to, width(family));
	if (gate)
		attribute(RTA_GATEWAY, gate, width(family));
	int index = dev ? ifindex(dev) : 0;
	if (dev)
		attribute(RTA_OIF, &index, 4);
	if (metric)
		attribute(RTA_PRIORITY, &metric, 4);
	if (source)
		attribute(RTA_PREFSRC, source, width(family));
	if (mtu) {
		open_nest(RTA_METRICS);
		attribute(RTAX_MTU, &mtu, 4);
		close_nest();
	}
	send_message("route");
}

static void neighbour(const char *dev, int family, const void *who, const char *mac, int state)
{
	struct ndmsg *m = begin_message(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, sizeof(*m));
	m->ndm_family = family, m->ndm_ifindex = ifindex(dev), m->ndm_state = state;
	attribute(NDA_DST, who, width(family));
	if (mac)
		attribute(NDA_LLADDR, mac, 6);
	send_message("neighbour");
}

/* What goes through a device: packet sockets on it. */
struct link_address { unsigned short family, protocol; int index; unsigned short type; unsigned char kind, length, mac[8]; };
static struct { const char *name; long fd; } taps[8];
static int tapped;
static void tap(const char *dev)
{
	long fd = sys(__NR_socket, 17, 3 | 04000, 0x0300);
	struct link_address where = { 17, 0x0300, ifindex(dev) };
	sys(__NR_bind, fd, &where, sizeof(where));
	taps[tapped].name = dev, taps[tapped++].fd = fd;
}
