/* Routes with programs: how they are asked for, with what the kernel answers; what the programs noted and what devices sent. */
#include <linux/lwtunnel.h>

#define STW(d, o, i) I(BPF_ST | BPF_MEM | BPF_W, d, 0, o, i)
#define LDW(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define PROGRAM(type, ...) ({ struct bpf_insn code[] = { __VA_ARGS__ }; long fd = bpf_program(type, code, sizeof(code) / sizeof(*code)); if (fd < 0) say("load %r\n", fd); fd; })
enum { IN = BPF_PROG_TYPE_LWT_IN, OUT = BPF_PROG_TYPE_LWT_OUT, XMIT = BPF_PROG_TYPE_LWT_XMIT };
static long notes;

static long answers(int type, int action) { return PROGRAM(type, SET(0, action), EXIT); }

static void noted(int count)
{
	unsigned long long v[8];
	say("  noted");
	bpf_element(BPF_MAP_LOOKUP_ELEM, notes, 0, v);
	for (int i = 0; i < count; i++)
		if (v[i] >> 63)
			say(" %r", (long)v[i]);
		else
			say(" %x", (long)v[i]);
	say("\n");
	memset(v, 0, sizeof(v));
	bpf_element(BPF_MAP_UPDATE_ELEM, notes, 0, v);
}

static void ask(const char *what) /* the message, with what the kernel says beside the errno */
{
	struct { struct nlmsghdr head; struct nlmsgerr error; char rest[1024]; } answer;
	sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	sys(__NR_recvfrom, netlink, &answer, sizeof(answer), 0, 0, 0);
	say("%s: %r", what, (long)answer.error.error);
	if (answer.head.nlmsg_flags & 0x200) {
		char *at = (char *)&answer.error + sizeof(answer.error), *end = (char *)&answer + answer.head.nlmsg_len;
		if (!(answer.head.nlmsg_flags & 0x100))
			at += answer.error.msg.nlmsg_len - sizeof(struct nlmsghdr);
		while (at + 4 <= end) {
			struct rtattr *a = (void *)at;
			if (a->rta_type == 1)
				say(" \"%s\"", (char *)RTA_DATA(a));
			else if (a->rta_type == 2)
				say(" at %d", *(int *)RTA_DATA(a));
			at += RTA_ALIGN(a->rta_len);
		}
	}
	say("\n");
}

static const unsigned char *target;
static int family = 2;
static void begin_route(int type, int flags)
{
	struct rtmsg *m = begin_message(type, flags, sizeof(*m));
	m->rtm_family = family, m->rtm_dst_len = family == 2 ? 16 : 32, m->rtm_table = RT_TABLE_MAIN, m->rtm_protocol = RTPROT_BOOT, m->rtm_type = RTN_UNICAST;
	attribute(RTA_DST, target, width(family));
}
static void by(const char *dev, const void *gate)
{
	int index = ifindex(dev);
	attribute(RTA_GATEWAY, gate, width(family));
	attribute(RTA_OIF, &index, 4);
}
static void part(int kind, long fd, const char *name)
{
	unsigned number = fd;
	open_nest(kind);
	if (fd != -1)
		attribute(LWT_BPF_PROG_FD, &number, 4);
	if (name)
		attribute(LWT_BPF_PROG_NAME, name, strlen(name) + 1);
	close_nest();
}
static void encap_type(unsigned short type) { attribute(RTA_ENCAP_TYPE, &type, 2); }
#define ENCAP(...) (open_nest(RTA_ENCAP), __VA_ARGS__, close_nest(), encap_type(LWTUNNEL_ENCAP_BPF))
static const void *gate;
static void encapsulated(int flags, int kind, long prog, const char *name)
{
	begin_route(RTM_NEWROUTE, NLM_F_CREATE | flags);
	by("va", gate);
	ENCAP(part(kind, prog, name));
}
static void use(const char *what, int kind, long prog)
{
	static char name[] = "p00"; /* of equal names IPv4 keeps the first */
	if (++name[2] > '9')
		name[1]++, name[2] = '0';
	encapsulated(NLM_F_REPLACE, kind, prog, name);
	ask(what);
	sys(__NR_close, prog);
}

static void heard(int most)
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
				continue; /* what the devices say of themselves */
			say("  %s kind %d, %d: ", taps[i].name, from.kind, (int)got);
			for (int n = 0; n < got && n < most; n++)
				put("0123456789abcdef"[frame[n] >> 4]), put("0123456789abcdef"[frame[n] & 15]);
			say("\n");
		}
}
