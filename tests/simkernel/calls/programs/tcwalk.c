/* tc and XDP by netlink: random walks of queueing disciplines, filters and programs of lo, with what the kernel says of errors.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include <linux/pkt_sched.h>
#include <linux/pkt_cls.h>

static unsigned state;
static unsigned dice(unsigned n) { state = state * 1103515245 + 12345; return (state >> 16) % n; }
static long progs[4], xdp[4], links[2];
static unsigned ids[4], xdp_ids[4];
static int which(unsigned *all, unsigned id) { for (int i = 0; i < 4; i++) if (all[i] == id) return i; return id ? 99 : -1; }

/* the answer, and the message with it */
static void answer(void)
{
	static char buf[4096];
	struct nlmsghdr *h = (void *)buf;
	sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	long n = sys(__NR_recvfrom, netlink, buf, sizeof(buf), 0, 0, 0);
	if (n < 0 || h->nlmsg_type != NLMSG_ERROR) {
		say("%r type %d\n", n, h->nlmsg_type);
		return;
	}
	struct nlmsgerr *e = NLMSG_DATA(h);
	say("%r", (long)e->error);
	if (h->nlmsg_flags & 0x200) { /* NLM_F_ACK_TLVS */
		int at = sizeof(*h) + 4 + (h->nlmsg_flags & 0x100 ? sizeof(struct nlmsghdr) : NLMSG_ALIGN(e->msg.nlmsg_len));
		while (at + 4 <= n) {
			struct rtattr *a = (void *)(buf + at);
			if (a->rta_len < 4)
				break;
			if (a->rta_type == 1)
				say(" '%s'", (char *)RTA_DATA(a));
			else if (a->rta_type == 2)
				say(" at %d", *(int *)RTA_DATA(a));
			else
				say(" attribute %d", a->rta_type);
			at += RTA_ALIGN(a->rta_len);
		}
	}
	say("\n");
}

static void dump(int type, unsigned parent)
{
	static char buf[16384];
	struct tcmsg *t = begin_message(type, NLM_F_DUMP, sizeof(*t));
	message.head.nlmsg_flags &= ~NLM_F_ACK;
	t->tcm_ifindex = 1, t->tcm_parent = parent;
	sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	for (int done = 0; !done;) {
		long n = sys(__NR_recvfrom, netlink, buf, sizeof(buf), 0, 0, 0);
		if (n <= 0)
			break;
		for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, n) && !done; h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
				done = 1;
				break;
			}
			struct tcmsg *t = NLMSG_DATA(h);
			if (t->tcm_ifindex != 1)
				continue;
			say("  handle %x parent %x info %x", (long)t->tcm_handle, (long)t->tcm_parent, (long)t->tcm_info);
			int left = h->nlmsg_len - NLMSG_LENGTH(sizeof(*t));
			for (struct rtattr *a = (void *)((char *)t + NLMSG_ALIGN(sizeof(*t))); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
				if (a->rta_type == TCA_KIND)
					say(" %s", (char *)RTA_DATA(a));
				else if (a->rta_type == TCA_OPTIONS && type == RTM_GETTFILTER) {
					int inner = RTA_PAYLOAD(a);
					for (struct rtattr *o = RTA_DATA(a); RTA_OK(o, inner); o = RTA_NEXT(o, inner)) {
						say(" %d", o->rta_type);
						if (o->rta_type == TCA_BPF_NAME)
							say("=%s", (char *)RTA_DATA(o));
						else if (o->rta_type == TCA_BPF_ID)
							say("=program %d", which(ids, *(unsigned *)RTA_DATA(o)));
						else if (o->rta_type != TCA_BPF_TAG)
							say("=%d", *(int *)RTA_DATA(o));
					}
				} else if (a->rta_type != TCA_STATS && a->rta_type != TCA_STATS2)
					say(" [%d:%d]", a->rta_type, a->rta_len);
			}
			say("\n");
		}
	}
}

static void shown_xdp(void)
{
	static char buf[16384];
	struct ifinfomsg *m = begin_message(RTM_GETLINK, 0, sizeof(*m));
	message.head.nlmsg_flags &= ~NLM_F_ACK;
	m->ifi_index = 1;
	sys(__NR_sendto, netlink, &message, message.head.nlmsg_len, 0, 0, 0);
	long n = sys(__NR_recvfrom, netlink, buf, sizeof(buf), 0, 0, 0);
	struct nlmsghdr *h = (void *)buf;
	if (n <= 0)
		return;
	m = NLMSG_DATA(h);
	int left = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	for (struct rtattr *a = IFLA_RTA(m); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if ((a->rta_type & 0x3fff) == IFLA_XDP) {
			int inner = RTA_PAYLOAD(a);
			say("  xdp");
			for (struct rtattr *o = RTA_DATA(a); RTA_OK(o, inner); o = RTA_NEXT(o, inner))
				if (o->rta_type == IFLA_XDP_ATTACHED)
					say(" attached %d", *(unsigned char *)RTA_DATA(o));
				else
					say(" %d=%d", o->rta_type, which(xdp_ids, *(unsigned *)RTA_DATA(o)));
			say("\n");
		}
}

static void walk(unsigned seed, int steps)
{
	struct bpf_insn code[2] = { SET(0, -1), EXIT };
	say("walk %d\n", seed);
	state = seed;
	for (int i = 0; i < 4; i++) {
		progs[i] = bpf_program(i == 3 ? BPF_PROG_TYPE_SCHED_ACT : BPF_PROG_TYPE_SCHED_CLS, code, 2);
		ids[i] = bpf_info(progs[i]).id;
		if (i == 2)
			attr.expected_attach_type = BPF_XDP_DEVMAP;
		xdp[i] = bpf_program(i == 3 ? BPF_PROG_TYPE_SOCKET_FILTER : BPF_PROG_TYPE_XDP, code, 2);
		xdp_ids[i] = bpf_info(xdp[i]).id;
	}
	links[0] = links[1] = -1;
	for (int step = 0; step < steps; step++) {
		static const unsigned parents[] = { 0xfffffff2, 0xfffffff3, 0xfffffff2, 0xfffffff3, 0xffff0000, 0xfffffff1, 0xffffffff, 0, 0xfffffff5 };
		int p = dice(4), what = dice(12);
		unsigned parent = parents[dice(4) ? dice(4) : dice(9)];
		switch (what) {
		case 0: case 1: {
			int flags = dice(2) ? NLM_F_CREATE : dice(2) ? NLM_F_CREATE | NLM_F_EXCL : dice(2) ? NLM_F_REPLACE : 0, del = dice(4) == 0;
			const char *kind = dice(4) ? "clsact" : dice(2) ? "ingress" : "nosuch";
			struct tcmsg *t = begin_message(del ? RTM_DELQDISC : RTM_NEWQDISC, flags, sizeof(*t));
			t->tcm_ifindex = dice(12) ? 1 : 77;
			t->tcm_parent = dice(6) ? 0xfffffff1 : dice(2) ? 0xffffffff : 0;
			t->tcm_handle = dice(4) ? 0xffff0000 : dice(2) ? 0 : 0x10000;
			if (dice(8))
				attribute(TCA_KIND, kind, strlen(kind) + 1);
			say("%s %s parent %x handle %x flags %x: ", del ? "delete" : "add", kind, (long)t->tcm_parent, (long)t->tcm_handle, (long)flags);
			answer();
			break;
		}
		case 2: case 3: case 4: case 5: case 6: {
			int del = dice(4) == 0, flags = dice(3) ? NLM_F_CREATE : dice(2) ? NLM_F_CREATE | NLM_F_EXCL : dice(2) ? NLM_F_REPLACE | NLM_F_CREATE : 0;
			int prio = dice(6) ? dice(3) : 7, proto = dice(3) ? 0x0300 : 0x0008, handle = dice(3), direct = 1;
			struct tcmsg *t = begin_message(del ? RTM_DELTFILTER : RTM_NEWTFILTER, flags, sizeof(*t));
			t->tcm_ifindex = dice(15) ? 1 : 77;
			t->tcm_parent = parent, t->tcm_handle = handle, t->tcm_info = prio << 16 | proto;
			const char *kind = dice(10) ? "bpf" : "nosuch";
			if (dice(10))
				attribute(TCA_KIND, kind, strlen(kind) + 1);
			open_nest(TCA_OPTIONS);
			int form = dice(8);
			if (form)
				attribute(TCA_BPF_FD, &progs[p], 4);
			if (dice(2))
				attribute(TCA_BPF_NAME, "name", 5);
			if (dice(3)) {
				direct = dice(8) ? 1 : 3;
				attribute(TCA_BPF_FLAGS, &direct, 4);
			}
			if (dice(5) == 0) {
				int class = 0x10000 + dice(3);
				attribute(TCA_BPF_CLASSID, &class, 4);
			}
			if (dice(12) == 0) {
				int gen = dice(16);
				attribute(TCA_BPF_FLAGS_GEN, &gen, 4);
			}
			close_nest();
			say("%s filter %s parent %x handle %d prio %d proto %x flags %x program %d: ", del ? "delete" : "add", kind, (long)parent, handle, prio, (long)proto, (long)flags, form ? p : -1);
			answer();
			break;
		}
		case 7:
			say("filters of %x\n", (long)parent), dump(RTM_GETTFILTER, parent);
			break;
		case 8:
			say("disciplines\n"), dump(RTM_GETQDISC, 0);
			break;
		case 9: case 10: {
			static const unsigned some[] = { 0, 0, 2, 2, 1, 4, 3, 16, 18, 8, 6, 32 };
			unsigned flags = some[dice(12)];
			int none = -1, old = dice(5), off = dice(4) == 0;
			struct ifinfomsg *m = begin_message(RTM_SETLINK, 0, sizeof(*m));
			m->ifi_index = 1;
			open_nest(IFLA_XDP | 0x8000);
			if (dice(15))
				attribute(IFLA_XDP_FD, off ? &none : (int *)&xdp[p], 4);
			if (flags || dice(2))
				attribute(IFLA_XDP_FLAGS, &flags, 4);
			if (flags & 16)
				attribute(IFLA_XDP_EXPECTED_FD, old < 4 ? (int *)&xdp[old] : &none, 4);
			close_nest();
			say("xdp %d flags %d old %d: ", off ? -1 : p, flags, flags & 16 ? old : -1);
			answer();
			shown_xdp();
			break;
		}
		default: {
			int l = dice(2);
			if (links[l] >= 0) {
				if (dice(2)) {
					int old = dice(5);
					attr.link_update.link_fd = links[l], attr.link_update.new_prog_fd = xdp[p];
					if (old < 4)
						attr.link_update.flags = 4, attr.link_update.old_prog_fd = xdp[old];
					say("update link %d to %d old %d: %r\n", l, p, old, bpf(BPF_LINK_UPDATE));
				} else {
					say("close link %d: %r\n", l, sys(__NR_close, links[l]));
					links[l] = -1;
				}
			} else {
				attr.link_create.prog_fd = xdp[p], attr.link_create.target_ifindex = dice(8) ? 1 : 77, attr.link_create.attach_type = BPF_XDP;
				attr.link_create.flags = dice(3) ? 2 : dice(5);
				say("link %d of %d flags %d: ", l, p, attr.link_create.flags);
				links[l] = bpf(BPF_LINK_CREATE);
				say("%r\n", links[l] < 0 ? links[l] : 0);
			}
			shown_xdp();
		}
		}
	}
	for (int i = 0; i < 2; i++)
		if (links[i] >= 0)
			sys(__NR_close, links[i]);
	int none = -1;
	struct ifinfomsg *m = begin_message(RTM_SETLINK, 0, sizeof(*m));
	m->ifi_index = 1;
	open_nest(IFLA_XDP | 0x8000), attribute(IFLA_XDP_FD, &none, 4), close_nest();
	answer();
	struct tcmsg *t = begin_message(RTM_DELQDISC, 0, sizeof(*t));
	t->tcm_ifindex = 1, t->tcm_parent = 0xfffffff1, t->tcm_handle = 0xffff0000;
	answer();
	for (int i = 0; i < 4; i++)
		sys(__NR_close, progs[i]), sys(__NR_close, xdp[i]);
}

int main(int argc, char **argv)
{
	int one = 1;
	sys(__NR_unshare, 0x40000000);
	netlink = sys(__NR_socket, 16, 3, 0);
	sys(__NR_setsockopt, netlink, 270, 11, &one, 4); /* NETLINK_EXT_ACK */
	sys(__NR_setsockopt, netlink, 270, 10, &one, 4); /* NETLINK_CAP_ACK */
	set_up("lo", 0);
	for (int s = 1; s <= 8; s++)
		walk(s * 7919, 100);
	return 0;
}
