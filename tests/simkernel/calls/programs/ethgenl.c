/* The family of generic netlink that ethtool(8) asks: every question and change for lo, a veth and a dummy device, what is refused
 * and where, dumps, and what listeners hear.  not: s390x i386 (attributes are shown as bytes) */
#include "tiny.h"
#include "tiny_net.h"
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/sched.h>

static char buf[65536];
static struct { struct nlmsghdr n; struct genlmsghdr g; char a[2000]; } m;
static long fd, ear;
static int family, group, number;
static int brief; /* long values are not shown */

static void put_attr(int type, const void *value, int size)
{
	struct nlattr *a = (void *)((char *)&m + NLMSG_ALIGN(m.n.nlmsg_len));
	a->nla_type = type, a->nla_len = 4 + size;
	if (size)
		memcpy(a + 1, value, size);
	m.n.nlmsg_len = NLMSG_ALIGN(m.n.nlmsg_len) + NLA_ALIGN(4 + size);
}
static void a32(int type, unsigned v) { put_attr(type, &v, 4); }
static void a8(int type, unsigned char v) { put_attr(type, &v, 1); }
static void text(int type, const char *s) { put_attr(type, s, strlen(s) + 1); }
static struct nlattr *nests[8];
static int deep;
static void nestling(int type) { nests[deep++] = (void *)((char *)&m + NLMSG_ALIGN(m.n.nlmsg_len)); put_attr(type | NLA_F_NESTED, 0, 0); }
static void end(void) { deep--; nests[deep]->nla_len = (char *)&m + m.n.nlmsg_len - (char *)nests[deep]; }

static void start(int type, int flags, int cmd)
{
	memset(&m, 0, sizeof(m));
	m.n.nlmsg_len = 20, m.n.nlmsg_type = type, m.n.nlmsg_flags = NLM_F_REQUEST | flags;
	m.g.cmd = cmd, m.g.version = 1;
}

static void tree(char *at, int left)
{
	while (left >= 4) {
		struct nlattr *a = (void *)at;
		int n = a->nla_len - 4;
		if (n < 0)
			break;
		say(" %d", a->nla_type & NLA_TYPE_MASK);
		if (a->nla_type & NLA_F_NESTED) {
			say("{");
			tree(at + 4, n);
			say(" }");
		} else if (n > 64 && brief)
			say("/%d", n);
		else {
			int printable = n > 2 && !at[4 + n - 1];
			for (int i = 0; i < n - 1; i++)
				printable &= at[4 + i] >= 32;
			if (printable)
				say("='%s'", at + 4);
			else
				for (int i = 0; i < n; i++)
					say("%s%s%x", i ? "." : "=", (unsigned char)at[4 + i] < 16 ? "0" : "", (long)(unsigned char)at[4 + i]);
		}
		at += NLA_ALIGN(a->nla_len), left -= NLA_ALIGN(a->nla_len);
	}
}

static void told(long from, const char *prefix)
{
	long n;
	while ((n = sys(__NR_recvfrom, from, buf, sizeof(buf), 0x40, 0, 0)) > 0) {
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
					tree(body + skip, left - skip);
				}
				say("\n");
				continue;
			}
			struct genlmsghdr *g = (void *)body;
			say("%scmd %d version %d flags %x seq %d", prefix, g->cmd, g->version, (long)h->nlmsg_flags, h->nlmsg_seq);
			tree(body + 4, left - 4);
			say("\n");
		}
	}
}

static void ask(const char *what)
{
	m.n.nlmsg_seq = ++number;
	say("%d %s\n", number, what);
	long sent = sys(__NR_sendto, fd, &m, m.n.nlmsg_len, 0, 0, 0);
	if (sent < 0)
		say("  sent %r\n", sent);
	told(fd, "  ");
	told(ear, "  heard ");
}
static void header(int type, const char *name, unsigned flags)
{
	nestling(type);
	if (name)
		text(ETHTOOL_A_HEADER_DEV_NAME, name);
	if (flags)
		a32(ETHTOOL_A_HEADER_FLAGS, flags);
	end();
}
static const char *const devices[] = { "lo", "v0", "d0" };
static const char *const names[] = {
	"", "strset", "linkinfo", "linkinfo set", "linkmodes", "linkmodes set", "linkstate", "debug", "debug set", "wol", "wol set",
	"features", "features set", "privflags", "privflags set", "rings", "rings set", "channels", "channels set", "coalesce",
	"coalesce set", "pause", "pause set", "eee", "eee set", "tsinfo", "cable test", "cable test tdr", "tunnel info", "fec", "fec set",
	"module eeprom", "stats", "phc vclocks", "module", "module set", "pse", "pse set", "rss", "plca", "plca set", "plca status",
};
#define DO(what, cmd, flags, ...) do { start(family, flags, cmd); __VA_ARGS__; ask(what); } while (0)
#define ACK NLM_F_ACK

static void find(const char *name)
{
	start(16, 0, CTRL_CMD_GETFAMILY);
	text(CTRL_ATTR_FAMILY_NAME, name);
	sys(__NR_sendto, fd, &m, m.n.nlmsg_len, 0, 0, 0);
	long n = sys(__NR_recvfrom, fd, buf, sizeof(buf), 0x40, 0, 0);
	if (((struct nlmsghdr *)buf)->nlmsg_type == NLMSG_ERROR) {
		say("no such family %r\n", (long)*(int *)(buf + 16));
		leave(1);
	}
	for (char *at = buf + 20; at < buf + n; at += NLA_ALIGN(((struct nlattr *)at)->nla_len)) {
		struct nlattr *a = (void *)at;
		int type = a->nla_type & NLA_TYPE_MASK;
		if (type == CTRL_ATTR_FAMILY_ID)
			family = *(unsigned short *)(at + 4);
		else if (type == CTRL_ATTR_MCAST_GROUPS) {
			for (char *in = at + 8; in < at + a->nla_len; in += NLA_ALIGN(((struct nlattr *)in)->nla_len)) {
				struct nlattr *b = (void *)in;
				if ((b->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_MCAST_GRP_ID)
					group = *(unsigned *)(in + 4);
				else
					say("group %s\n", in + 4);
			}
		} else if (type == CTRL_ATTR_OPS) {
			say("operations");
			tree(at + 4, a->nla_len - 4);
			say("\n");
		} else {
			say("attribute %d", type);
			if (a->nla_len == 8)
				say(" %x", (long)*(unsigned *)(at + 4));
			else
				say(" %s", at + 4);
			say("\n");
		}
	}
}

static void everything(void)
{
	for (int cmd = 1; cmd <= 41; cmd++)
		for (int d = 0; d < 3; d++) {
			say("%s: %s ", devices[d], names[cmd]);
			DO("", cmd, ACK, header(cmd == 32 ? 2 : 1, devices[d], 0));
		}
	for (int cmd = 42; cmd < 45; cmd++)
		DO("beyond", cmd, ACK, header(1, "lo", 0));
	DO("command 0", 0, ACK, header(1, "lo", 0));
}

static void compact(void)
{
	say("-- compact\n");
	for (int i = 0, cmds[] = { 1, 4, 6, 7, 9, 11, 13, 15, 21, 23, 25, 29, 32 }; i < 13; i++)
		DO(names[cmds[i]], cmds[i], 0, header(1, "v0", 1));
	for (int i = 0, cmds[] = { 6, 11, 21, 25, 29 }; i < 5; i++)
		DO(names[cmds[i]], cmds[i], 0, header(1, "v0", 4));
}

static void headers(void)
{
	say("-- headers\n");
	for (int i = 0, cmds[] = { 1, 6, 11, 12, 17, 26, 28, 33 }; i < 8; i++) {
		DO("no header", cmds[i], ACK, (void)0);
		DO("empty header", cmds[i], ACK, header(1, 0, 0));
	}
	DO("unnested", 6, ACK, put_attr(1, 0, 0));
	DO("no device", 6, ACK, header(1, "nobody", 0));
	DO("long name", 6, ACK, header(1, "a name of more than sixteen", 0));
	DO("index", 6, ACK, nestling(1), a32(1, ifindex("v0")), end());
	DO("index 0", 6, ACK, nestling(1), a32(1, 0), end());
	DO("no index", 6, ACK, nestling(1), a32(1, 99), end());
	DO("negative index", 6, ACK, nestling(1), a32(1, -1), end());
	DO("short index", 6, ACK, nestling(1), a8(1, 1), end());
	DO("index and name", 6, ACK, nestling(1), a32(1, ifindex("v0")), text(2, "v0"), end());
	DO("index and another name", 6, ACK, nestling(1), a32(1, 1), text(2, "v0"), end());
	DO("no index and name", 6, ACK, nestling(1), a32(1, 99), text(2, "v0"), end());
	DO("flags", 6, ACK, header(1, "v0", 7));
	DO("wrong flags", 6, ACK, header(1, "v0", 8));
	DO("all flags", 6, ACK, header(1, "v0", -1));
	DO("stats where there are none", 11, ACK, header(1, "v0", 4));
	DO("unknown in header", 6, ACK, nestling(1), text(2, "v0"), a32(9, 1), end());
	DO("unknown behind", 6, ACK, header(1, "v0", 0), a32(9, 1));
	DO("answer's attribute", 6, ACK, header(1, "v0", 0), a8(2, 1));
	DO("attribute 0", 6, ACK, header(1, "v0", 0), a8(0, 1));
	DO("twice", 6, ACK, header(1, "v0", 0), header(1, "lo", 0));
	start(family, ACK, 6), m.n.nlmsg_len = 18, ask("short");
	start(family, ACK, 6), m.g.version = 9, header(1, "lo", 0), ask("version 9");
	start(family, ACK, 6), m.g.reserved = 9, header(1, "lo", 0), ask("reserved");
	DO("echo", 6, ACK | NLM_F_ECHO, header(1, "lo", 0));
	DO("without ack", 6, 0, header(1, "lo", 0));
}

static void dumps(void)
{
	say("-- dumps\n");
	for (int cmd = 1; cmd <= 36; cmd++) {
		say("%s: ", names[cmd]);
		DO("", cmd, NLM_F_DUMP, header(cmd == 32 ? 2 : 1, 0, 1));
	}
	DO("header", 6, NLM_F_DUMP, header(1, 0, 1));
	DO("of a device", 6, NLM_F_DUMP, header(1, "v0", 0));
	DO("without header", 6, NLM_F_DUMP, (void)0);
	DO("without header", 12, NLM_F_DUMP, (void)0);
	DO("of nobody", 6, NLM_F_DUMP, header(1, "nobody", 0));
	DO("wrong flags", 6, NLM_F_DUMP, header(1, 0, 64));
	DO("unknown", 6, NLM_F_DUMP, a32(20, 1));
}

static void strings(void)
{
	say("-- strings\n");
	brief = 0;
	DO("without a device", 1, ACK, header(1, 0, 0));
	for (int set = 0; set < 24; set++) {
		say("set %d ", set);
		DO("", 1, ACK, header(1, 0, 0), nestling(2), nestling(1), a32(1, set), end(), end());
		DO("counts of v0", 1, ACK, header(1, "v0", 0), nestling(2), nestling(1), a32(1, set), end(), end(), put_attr(3, 0, 0));
	}
	DO("two sets", 1, ACK, header(1, 0, 0), nestling(2), nestling(1), a32(1, 6), end(), nestling(1), a32(1, 5), end(), end());
	DO("no set", 1, ACK, header(1, 0, 0), nestling(2), end());
	DO("an empty set", 1, ACK, header(1, 0, 0), nestling(2), nestling(1), end(), end());
	DO("a set with a count", 1, ACK, header(1, 0, 0), nestling(2), nestling(1), a32(1, 6), a32(2, 5), end(), end());
	DO("another in sets", 1, ACK, header(1, 0, 0), nestling(2), nestling(2), a32(1, 6), end(), end());
	DO("counts with a value", 1, ACK, header(1, 0, 0), a32(3, 1));
	DO("private of lo", 1, ACK, header(1, "lo", 0), nestling(2), nestling(1), a32(1, 2), end(), end());
	DO("statistics of v0", 1, ACK, header(1, "v0", 0), nestling(2), nestling(1), a32(1, 1), end(), end());
}

static void bit(const char *name, int index, int on)
{
	nestling(1);
	if (index >= 0)
		a32(1, index);
	if (name)
		text(2, name);
	if (on)
		put_attr(3, 0, 0);
	end();
}
#define BITS(...) nestling(3), nestling(3), __VA_ARGS__, end(), end()
static unsigned words(int n, unsigned v) { static unsigned w[4]; w[0] = v; put_attr(n, w, 8); return 0; }

static void changes(void)
{
	say("-- changes\n");
	DO("features: nothing", 12, ACK, header(1, "v0", 0));
	DO("features: tso off", 12, ACK, header(1, "v0", 0), BITS(bit("tx-tcp-segmentation", -1, 0)));
	DO("features: tso off again", 12, ACK, header(1, "v0", 0), BITS(bit("tx-tcp-segmentation", -1, 0)));
	DO("features: tso on, no reply", 12, ACK, header(1, "v0", 2), BITS(bit("tx-tcp-segmentation", -1, 1)));
	DO("features: by number", 12, ACK, header(1, "v0", 0), BITS(bit(0, 16, 0)));
	DO("features: by both", 12, ACK, header(1, "v0", 1), BITS(bit("tx-tcp-segmentation", 16, 1)));
	DO("features: by both, another", 12, ACK, header(1, "v0", 0), BITS(bit("tx-tcp-segmentation", 17, 1)));
	DO("features: no such", 12, ACK, header(1, "v0", 0), BITS(bit("tx-nothing", -1, 1)));
	DO("features: beyond", 12, ACK, header(1, "v0", 0), BITS(bit(0, 64, 1)));
	DO("features: far beyond", 12, ACK, header(1, "v0", 0), BITS(bit(0, 640, 1)));
	DO("features: neither", 12, ACK, header(1, "v0", 0), BITS(bit(0, -1, 1)));
	DO("features: never changed", 12, ACK, header(1, "v0", 0), BITS(bit("tx-lockless", -1, 1)));
	DO("features: fixed", 12, ACK, header(1, "v0", 0), BITS(bit("rx-fcs", -1, 1), bit("tx-nocache-copy", -1, 1)));
	DO("features: a list", 12, ACK, header(1, "d0", 0), nestling(3), put_attr(1, 0, 0), nestling(3), bit("rx-gro", -1, 1), end(), end());
	DO("features: compact", 12, ACK, header(1, "d0", 1), nestling(3), a32(2, 64), words(4, 0x4001), words(5, 0x4009), end());
	DO("features: compact, no mask", 12, ACK, header(1, "d0", 0), nestling(3), put_attr(1, 0, 0), a32(2, 64), words(4, 0x4800), end());
	DO("features: mask and list", 12, ACK, header(1, "d0", 0), nestling(3), put_attr(1, 0, 0), a32(2, 64), words(4, 0x4800), words(5, 1), end());
	DO("features: size alone", 12, ACK, header(1, "d0", 0), nestling(3), a32(2, 64), end());
	DO("features: a value of another size", 12, ACK, header(1, "d0", 0), nestling(3), a32(2, 32), words(4, 1), words(5, 1), end());
	DO("features: bits and size", 12, ACK, header(1, "d0", 0), nestling(3), a32(2, 64), nestling(3), bit("rx-gro", -1, 1), end(), end());
	DO("features: empty set", 12, ACK, header(1, "d0", 0), nestling(3), end());
	DO("features: unnested", 12, ACK, header(1, "d0", 0), put_attr(3, 0, 0));
	DO("features: answer's part", 12, ACK, header(1, "d0", 0), nestling(2), end());
	DO("features", 11, 0, header(1, "d0", 0));
	DO("linkinfo", 3, ACK, header(1, "v0", 0), a8(2, 1));
	DO("linkmodes", 5, ACK, header(1, "v0", 0), a32(5, 100));
	DO("linkmodes, wrong", 5, ACK, header(1, "v0", 0), a8(5, 100));
	DO("debug", 8, ACK, header(1, "v0", 0), nestling(2), end());
	DO("wol", 10, ACK, header(1, "v0", 0), nestling(2), end());
	DO("privflags", 14, ACK, header(1, "v0", 0), nestling(2), nestling(3), end(), end());
	DO("privflags, nothing", 14, ACK, header(1, "v0", 0));
	DO("rings", 16, ACK, header(1, "v0", 0), a32(6, 100));
	DO("channels: one more", 18, ACK, header(1, "v0", 0), a32(6, 2));
	DO("channels: the same", 18, ACK, header(1, "v0", 0), a32(6, 1));
	DO("channels: combined", 18, ACK, header(1, "v0", 0), a32(9, 1));
	DO("channels: none", 18, ACK, header(1, "v0", 0), a32(6, 0));
	DO("channels of lo", 18, ACK, header(1, "lo", 0), a32(6, 1));
	DO("channels", 17, ACK, header(1, "v0", 0));
	DO("coalesce", 20, ACK, header(1, "v0", 0), a32(2, 1));
	DO("pause", 22, ACK, header(1, "v0", 0), a8(2, 1));
	DO("pause 2", 22, ACK, header(1, "v0", 0), a8(2, 2));
	DO("eee", 24, ACK, header(1, "v0", 0), a8(5, 1));
	DO("fec", 30, ACK, header(1, "v0", 0), a8(3, 1));
	DO("module", 35, ACK, header(1, "v0", 0), a8(2, 1));
	DO("module, wrong", 35, ACK, header(1, "v0", 0), a8(2, 9));
	DO("pse", 37, ACK, header(1, "v0", 0), a32(3, 2));
	DO("stats", 32, ACK, header(2, "v0", 0), nestling(3), nestling(3), bit("eth-phy", -1, 1), end(), end());
	DO("stats, no such", 32, ACK, header(2, "v0", 0), nestling(3), nestling(3), bit("none", -1, 1), end(), end());
	DO("stats, none", 32, ACK, header(2, "v0", 0));
	DO("eeprom", 31, ACK, header(1, "v0", 0), a32(2, 0), a32(3, 1), a8(4, 0), a8(6, 0x50));
	DO("eeprom, partial", 31, ACK, header(1, "v0", 0), a32(2, 0));
}

struct ifreq_of { char name[16]; void *data; char rest[16]; };
static long wire(const char *dev, unsigned cmd, void *data)
{
	struct ifreq_of r = { "" };
	memcpy(r.name, dev, strlen(dev));
	*(unsigned *)data = cmd, r.data = data;
	return sys(__NR_ioctl, netlink, 0x8946, &r);
}
static void show(const char *what, long ret, const unsigned char *p, int n)
{
	say("  %s %r", what, ret);
	for (int i = 4; ret >= 0 && i < n; i++)
		say("%s%x", i & 3 ? "." : " ", (long)p[i]);
	say("\n");
}
static void ioctls(void)
{
	static unsigned char data[2048];
	say("-- the other door\n");
	for (int d = 1; d < 3; d++) {
		say("%s\n", devices[d]);
		memset(data, 0, sizeof(data)), show("link", wire(devices[d], 0x0a, data), data, 8);
		memset(data, 0, sizeof(data));
		long ret = wire(devices[d], 0x03, data);
		say("  driver %r '%s' bus '%s' firmware '%s' %d %d %d %d\n", ret, (char *)data + 4, (char *)data + 100, (char *)data + 68, *(int *)(data + 176), *(int *)(data + 180), *(int *)(data + 184), *(int *)(data + 188));
		memset(data, 0, sizeof(data)), show("settings", wire(devices[d], 0x01, data), data, 44);
		memset(data, 0, sizeof(data)), show("link settings", wire(devices[d], 0x4c, data), data, 48);
		memset(data, 0, sizeof(data)), data[16] = 0, *(signed char *)(data + 8 + 8) = 3, show("link settings", wire(devices[d], 0x4c, data), data, 48);
		memset(data, 0, sizeof(data)), show("channels", wire(devices[d], 0x3c, data), data, 36);
		memset(data, 0, sizeof(data)), data[20] = data[24] = 1, show("channels set", wire(devices[d], 0x3d, data), data, 36);
		memset(data, 0, sizeof(data)), data[20] = 2, data[24] = 1, show("more channels", wire(devices[d], 0x3d, data), data, 36);
		memset(data, 0, sizeof(data)), data[24] = 1, show("no receiver", wire(devices[d], 0x3d, data), data, 36);
		memset(data, 0, sizeof(data)), data[8] = 0xff, data[9] = 3, show("sets", wire(devices[d], 0x37, data), data, 44);
		memset(data, 0, sizeof(data)), data[4] = 1;
		ret = wire(devices[d], 0x1b, data);
		say("  strings %r %d", ret, *(int *)(data + 8));
		for (int i = 0; ret >= 0 && i < *(int *)(data + 8); i++)
			say(" %s", (char *)data + 12 + 32 * i);
		memset(data, 0, sizeof(data)), data[4] = 2, show("\n  private", wire(devices[d], 0x1b, data), data, 16);
		memset(data, 0, sizeof(data));
		ret = wire(devices[d], 0x1d, data);
		say("  statistics %r %d", ret, *(int *)(data + 4));
		for (int i = 0; ret >= 0 && i < *(int *)(data + 4); i++)
			say(" %d", i ? 0 : *(int *)(data + 8));
		memset(data, 0, sizeof(data)), show("\n  times", wire(devices[d], 0x41, data), data, 44);
		memset(data, 0, sizeof(data)), show("registers", wire(devices[d], 0x04, data), data, 12);
		memset(data, 0, sizeof(data)), show("rings", wire(devices[d], 0x10, data), data, 36);
		memset(data, 0, sizeof(data)), show("coalesce", wire(devices[d], 0x0e, data), data, 36);
		memset(data, 0, sizeof(data)), show("pause", wire(devices[d], 0x12, data), data, 16);
		memset(data, 0, sizeof(data)), show("level", wire(devices[d], 0x07, data), data, 8);
		memset(data, 0, sizeof(data)), show("wake", wire(devices[d], 0x05, data), data, 20);
		memset(data, 0, sizeof(data)), show("private flags", wire(devices[d], 0x27, data), data, 8);
		memset(data, 0, sizeof(data)), data[4] = 2;
		show("features", wire(devices[d], 0x3a, data), data, 40);
		memset(data, 0, sizeof(data)), *(unsigned *)(data + 4) = 2, *(unsigned *)(data + 8) = *(unsigned *)(data + 12) = 1u << 16;
		show("feature on", wire(devices[d], 0x3b, data), data, 8);
		told(ear, "  heard ");
		*(unsigned *)(data + 12) = 0, show("feature off", wire(devices[d], 0x3b, data), data, 8);
		told(ear, "  heard ");
	}
}

static void unprivileged(void)
{
	say("-- without rights\n");
	T(__NR_setresuid, 1000, 1000, 1000);
	for (int cmd = 1; cmd <= 37; cmd++) {
		say("%s ", names[cmd]);
		DO("", cmd, ACK, header(1, "lo", 0));
	}
}

int main(int argc, char **argv)
{
	sys(__NR_unshare, CLONE_NEWNET);
	netlink = sys(__NR_socket, 16, 3, 0);
	veth("v0", "v1", "\2\0\0\0\0\1");
	begin_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg));
	attribute(IFLA_IFNAME, "d0", 3);
	open_nest(IFLA_LINKINFO), attribute(IFLA_INFO_KIND, "dummy", 6), close_nest();
	send_message("dummy");
	set_up("v0", 0), set_up("v1", 0), set_up("d0", 0);
	nap(100);
	fd = sys(__NR_socket, 16, 3, 16), ear = sys(__NR_socket, 16, 3, 16);
	int on = 1;
	find("ethtool");
	say("family %d group %d\n", family, group);
	sys(__NR_setsockopt, fd, 270, NETLINK_EXT_ACK, &on, 4);
	struct { unsigned short family, pad; unsigned pid, groups; } where = { 16, 0, 0, 0 };
	sys(__NR_bind, ear, &where, sizeof(where));
	say("monitor %r\n", sys(__NR_setsockopt, ear, 270, NETLINK_ADD_MEMBERSHIP, &group, 4));
	brief = 1;
	everything();
	compact();
	headers();
	dumps();
	changes();
	strings();
	brief = 1;
	ioctls();
	unprivileged();
	return 0;
}
