/* not: i386 s390x */
/* Netlink sockets: classic filters, groups, options of SOL_NETLINK, extended acknowledgements, strict checking, addresses, who may. */
#include "tiny.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/filter.h>
static long sign(long v) { return v < 0 ? v : 0; }
static char buffer[65536], msg[4096];
static long nl(int proto) { return sys(__NR_socket, 16, 3 | O_NONBLOCK, proto); }
static long opt(long s, int o, const void *v, int n) { return sys(__NR_setsockopt, s, 270, o, v, n); }
struct sa { unsigned short family, pad; unsigned pid, groups; };
static long ask(long s, int type, int flags, const void *body, int n, int claim)
{
	struct nlmsghdr *h = (void *)msg;
	memset(msg, 0, sizeof(msg));
	h->nlmsg_len = claim ? claim : 16 + n, h->nlmsg_type = type, h->nlmsg_flags = flags, h->nlmsg_seq = 5;
	memcpy(msg + 16, body, n);
	return sys(__NR_sendto, s, msg, 16 + n, 0, 0, 0);
}
static void answer(long s, const char *what)
{
	say("%s:", what);
	for (int i = 0; i < 12; i++) {
		long n = sys(__NR_recvfrom, s, buffer, sizeof(buffer), 0, 0, 0);
		if (n < 0) { say(" %r\n", n); return; }
		for (long at = 0; at < n;) {
			struct nlmsghdr *h = (void *)(buffer + at);
			say(" (%d fl %x seq %d", h->nlmsg_type, (long)h->nlmsg_flags, (int)h->nlmsg_seq);
			if (h->nlmsg_type == 2 || h->nlmsg_type == 3) {
				int e = *(int *)(buffer + at + 16);
				say(" len %d err %r", (int)h->nlmsg_len, (long)e);
				int off = h->nlmsg_type == 3 ? 20 : h->nlmsg_flags & 0x100 || !e ? 36 : 20 + (int)((*(int *)(buffer + at + 20) + 3) & ~3);
				if (h->nlmsg_flags & 0x200)
					for (long a = at + off; a < at + (long)h->nlmsg_len;) {
						struct nlattr *t = (void *)(buffer + a);
						if (!t->nla_len) break;
						if (t->nla_type == 1) say(" \"%s\"", buffer + a + 4);
						else if (t->nla_type == 2) say(" at %d", *(int *)(buffer + a + 4));
						else say(" attr %d len %d", t->nla_type & 0x3fff, t->nla_len);
						a += (t->nla_len + 3) & ~3;
					}
			}
			say(")");
			if (!h->nlmsg_len) break;
			at += (h->nlmsg_len + 3) & ~3;
		}
	}
	say("\n");
}
int main(int argc, char **argv)
{
	for (int p = -1; p < 34; p++) { long s = nl(p); if (p != 7 && p != 10 && p != 11 && p != 9 && p != 13 && p != 18 && p != 6 && p != 12 && p != 19) say("protocol %d: %r\n", p, sign(s)); sys(__NR_close, s); }
	for (int t = 0; t < 8; t++) { long s = sys(__NR_socket, 16, t, 0); say("type %d: %r\n", t, sign(s)), sys(__NR_close, s); }
	long s = nl(0);
	for (int o = 0; o < 16; o++) {
		int v = 1, got[16], len = 4;
		say("option %d: %r short %r null %r", o, opt(s, o, &v, 4), opt(s, o, &v, 2), opt(s, o, 0, 4));
		v = -1;
		say(" -1 %r", opt(s, o, &v, 4));
		v = 0;
		say(" 0 %r 3 bytes %r 8 bytes %r", opt(s, o, &v, 4), opt(s, o, &v, 3), opt(s, o, got, 8));
		memset(got, 0, 64), got[0] = 77;
		long r = sys(__NR_getsockopt, s, 270, o, got, &len);
		say(" get %r %d len %d", r, o == 9 ? 0 : got[0], len);
		len = 2, r = sys(__NR_getsockopt, s, 270, o, got, &len), say(" short %r len %d", r, len);
		len = -1, say(" -1 %r\n", sys(__NR_getsockopt, s, 270, o, got, &len));
	}
	say("wrong level %r %r\n", sys(__NR_setsockopt, s, 271, 1, buffer, 4), sys(__NR_setsockopt, s, 6, 1, buffer, 4));
	sys(__NR_close, s);
	/* groups */
	s = nl(0);
	for (int g = -1; g < 40; g++) { int v = g; say("join %d %r leave %r\n", g, opt(s, 1, &v, 4), opt(s, 2, &v, 4)); }
	static const int many[] = { 1, 2, 33 };
	for (int i = 0; i < 3; i++) opt(s, 1, &many[i], 4);
	unsigned bits[4] = { 0, 0, 0, 0 };
	int len = 16;
	long r = sys(__NR_getsockopt, s, 270, 9, bits, &len);
	say("memberships %r len %d %x %x", r, len, (long)bits[0], (long)bits[1]);
	struct sa a = { 16, 0, 0, 0 }, got;
	len = 12, sys(__NR_getsockname, s, &got, &len);
	say(" name len %d pid %d groups %x\n", len, got.pid != 0, (long)got.groups);
	for (int i = 0; i < 6; i++) {
		static const struct { int family, len, groups; unsigned pid; } binds[] = { { 16, 12, 0x11, 0 }, { 16, 11, 0, 0 }, { 2, 12, 0, 0 }, { 16, 12, -1, 0 }, { 16, 12, 1, 4321 }, { 16, 12, 0, 4321 } };
		long b = nl(0);
		a.family = binds[i].family, a.groups = binds[i].groups, a.pid = binds[i].pid;
		say("bind %d: %r", i, sys(__NR_bind, b, &a, binds[i].len));
		a.pid = 999;
		say(" again %r", sys(__NR_bind, b, &a, 12));
		len = 12, sys(__NR_getsockname, b, &got, &len), say(" groups %x pid %d", (long)got.groups, got.pid == 4321 ? 4321 : got.pid != 0);
		a.pid = 0, a.family = 16;
		say(" connect %r", sys(__NR_connect, b, &a, 12));
		len = 12, r = sys(__NR_getpeername, b, &got, &len), say(" peer %r %d", r, (int)got.pid);
		a.family = 0;
		say(" unconnect %r listen %r accept %r shutdown %r\n", sys(__NR_connect, b, &a, 12), sys(__NR_listen, b, 1), sys(__NR_accept4, b, 0, 0, 0), sys(__NR_shutdown, b, 2));
		if (i != 4) sys(__NR_close, b);
	}
	sys(__NR_close, s);
	/* answers; lo is up */
	s = nl(0);
	struct ifinfomsg up;
	memset(&up, 0, sizeof(up)), up.ifi_index = 1, up.ifi_flags = up.ifi_change = 1;
	ask(s, RTM_SETLINK, 5, &up, 16, 0), answer(s, "up"), sys(__NR_close, s), nap(50);
	struct ifinfomsg ifi;
	struct { struct ifinfomsg i; struct nlattr a; char v[60]; } big;
	for (int ext = 0; ext < 4; ext++) {
		s = nl(0);
		int one = 1;
		if (ext & 1) opt(s, 11, &one, 4);
		if (ext & 2) opt(s, 10, &one, 4);
		say("extended %d capped %d\n", ext & 1, ext >> 1);
		memset(&ifi, 0, sizeof(ifi)), memset(&big, 0, sizeof(big));
		ask(s, 3, 4, 0, 0, 0), answer(s, "done"), ask(s, 2, 5, 0, 0, 0), answer(s, "error type"), ask(s, 16 + 90, 5, &ifi, 16, 0), answer(s, "unknown type"), ask(s, 1000, 5, &ifi, 16, 0), answer(s, "beyond");
		ask(s, 18, 5, &ifi, 16, 0), answer(s, "get nothing"), ask(s, 18, 5, &ifi, 8, 0), answer(s, "short"), ask(s, 18, 1, &ifi, 16, 15), answer(s, "length 15"), ask(s, 18, 1, &ifi, 16, 100), answer(s, "length 100"), ask(s, 18, 4, &ifi, 16, 0), answer(s, "no request");
		ifi.ifi_index = 1, ask(s, 18, 1, &ifi, 16, 0), answer(s, "lo"), ask(s, 18, 5, &ifi, 16, 0), answer(s, "lo with ack");
		ifi.ifi_index = 9999, ask(s, 18, 5, &ifi, 16, 0), answer(s, "9999"), ask(s, 17, 5, &ifi, 16, 0), answer(s, "delete 9999"), ask(s, 19, 5, &ifi, 16, 0), answer(s, "change 9999");
		ifi.ifi_index = 1, ask(s, 17, 5, &ifi, 16, 0), answer(s, "delete lo");
		big.i.ifi_index = 1;
		static const struct { int type, alen, vlen; const char *v; } attrs[] = { { IFLA_MTU, 8, 4, "\x00\x00\x00\x00" }, { IFLA_MTU, 6, 4, "\x01\x01" }, { IFLA_IFNAME, 4, 4, "" }, { IFLA_IFNAME, 30, 28, "averyveryverylongnameofadevice" }, { IFLA_IFNAME, 8, 4, "a/b" }, { IFLA_MASTER, 8, 4, "\x09\x27\x00\x00" }, { 200, 8, 4, "xxxx" }, { IFLA_ADDRESS, 8, 4, "xxxx" }, { IFLA_TXQLEN, 8, 4, "\xff\xff\xff\xff" }, { IFLA_LINKINFO, 8, 4, "abcd" }, { IFLA_NET_NS_PID, 8, 4, "\xff\xff\x7f\x00" }, { IFLA_OPERSTATE, 5, 4, "\x09" }, { IFLA_MTU, 3, 4, "" }, { IFLA_GROUP, 8, 4, "\x05\x00\x00\x00" }, { IFLA_PROMISCUITY, 8, 4, "\1\0\0\0" } };
		for (unsigned i = 0; i < sizeof(attrs) / sizeof(*attrs); i++) {
			memset(big.v, 0, 60), big.a.nla_type = attrs[i].type, big.a.nla_len = attrs[i].alen, memcpy(big.v, attrs[i].v, attrs[i].vlen);
			ask(s, RTM_SETLINK, 5, &big, 20 + ((attrs[i].vlen + 3) & ~3), 0), answer(s, "attr"), ask(s, RTM_NEWLINK, 5 | 0x600, &big, 20 + ((attrs[i].vlen + 3) & ~3), 0), answer(s, " new");
		}
		sys(__NR_close, s);
	}
	/* strict */
	for (int strict = 0; strict < 2; strict++) {
		s = nl(0);
		int one = 1;
		opt(s, 11, &one, 4);
		say("strict %d: %r\n", strict, strict ? opt(s, 12, &one, 4) : 0L);
		static const int dumps[] = { RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE, RTM_GETNEIGH, RTM_GETRULE, RTM_GETNSID };
		static const char *const names[] = { "link", "addr", "route", "neigh", "rule", "nsid" };
		for (int d = 0; d < 6; d++)
			for (int c = 0; c < 5; c++) {
				char body[64];
				memset(body, 0, 64);
				int size = d == 4 || d == 2 ? 12 : d == 1 ? 8 : d == 3 ? 12 : d == 0 ? 16 : 4;
				if (c == 1) size = 1;
				if (c == 2) body[1] = 9;
				if (c == 3) body[size] = 8, body[size + 2] = 200, size += 8;
				if (c == 4) size += 3;
				ask(s, dumps[d], 0x301, body, size, 0);
				int last = -1, e = 0, fl = 0;
				char *words = "";
				for (int k = 0; k < 30; k++) {
					long n = sys(__NR_recvfrom, s, buffer, sizeof(buffer), 0, 0, 0);
					if (n < 0) break;
					for (long at = 0; at < n;) {
						struct nlmsghdr *h = (void *)(buffer + at);
						last = h->nlmsg_type, fl = h->nlmsg_flags, e = last == 2 || last == 3 ? *(int *)(buffer + at + 16) : 0;
						words = last == 2 && h->nlmsg_flags & 0x200 ? buffer + at + 20 + ((*(int *)(buffer + at + 20) + 3) & ~3) + 4 : last == 3 && h->nlmsg_flags & 0x200 ? buffer + at + 24 : "";
						at += (h->nlmsg_len + 3) & ~3;
					}
				}
				say(" %s %d: last %d fl %x %r %s\n", names[d], c, last, (long)fl, (long)e, words);
			}
		sys(__NR_close, s);
	}
	/* filters on what comes */
	struct sock_filter code[8];
	struct { unsigned short len; struct sock_filter *f; } prog = { 1, code };
	s = nl(0);
	static const struct { int code, jt, jf; unsigned k; } none = { 6, 0, 0, 0 };
	memcpy(code, &none, 0);
	code[0] = (struct sock_filter){ 6, 0, 0, 0 };
	say("filter: drop all %r", sys(__NR_setsockopt, s, 1, 26, &prog, 16));
	ifi.ifi_index = 1, ask(s, 18, 5, &ifi, 16, 0), answer(s, " lo");
	code[0].k = 20, say("cut to 20 %r", sys(__NR_setsockopt, s, 1, 26, &prog, 16)), ask(s, 18, 1, &ifi, 16, 0);
	r = sys(__NR_recvfrom, s, buffer, sizeof(buffer), 0, 0, 0), say(" got %r", r), r = sys(__NR_recvfrom, s, buffer, sizeof(buffer), 0x20, 0, 0), say(" %r\n", r);
	code[0] = (struct sock_filter){ 0x28, 0, 0, 4 }, code[1] = (struct sock_filter){ 0x15, 0, 1, 0x1000 }, code[2] = (struct sock_filter){ 6, 0, 0, 0xffff }, code[3] = (struct sock_filter){ 6, 0, 0, 0 }, prog.len = 4;
	say("by type %r", sys(__NR_setsockopt, s, 1, 26, &prog, 16)), ask(s, 18, 5, &ifi, 16, 0), answer(s, " links alone");
	static const int ancillary[] = { 0, 4, 8, 12, 16, 20, 32, 36, 40, 44, 48, 52, 56, 60, 64 };
	for (int i = 0; i < 15; i++) {
		code[0] = (struct sock_filter){ 0x20, 0, 0, -0x1000 + ancillary[i] }, code[1] = (struct sock_filter){ 6, 0, 0, 0xffff }, prog.len = 2;
		say("ancillary %d: %r", ancillary[i], sys(__NR_setsockopt, s, 1, 26, &prog, 16)), ask(s, 18, 1, &ifi, 16, 0), answer(s, " ");
	}
	code[0] = (struct sock_filter){ 0x80, 0, 0, 0 }, code[1] = (struct sock_filter){ 0x16, 0, 0, 0 };
	say("its length %r", sys(__NR_setsockopt, s, 1, 26, &prog, 16)), ask(s, 18, 1, &ifi, 16, 0), answer(s, " ");
	/* find an attribute: A type, X place */
	code[0] = (struct sock_filter){ 0, 0, 0, 32 }, code[1] = (struct sock_filter){ 1, 0, 0, IFLA_MTU }, code[2] = (struct sock_filter){ 0x20, 0, 0, -0x1000 + 12 }, code[3] = (struct sock_filter){ 0x15, 0, 1, 0 }, code[4] = (struct sock_filter){ 6, 0, 0, 0 }, code[5] = (struct sock_filter){ 6, 0, 0, 0xffff }, prog.len = 6;
	say("an attribute %r", sys(__NR_setsockopt, s, 1, 26, &prog, 16)), ask(s, 18, 1, &ifi, 16, 0), answer(s, " there");
	code[1].k = 999, say("none such %r", sys(__NR_setsockopt, s, 1, 26, &prog, 16)), ask(s, 18, 1, &ifi, 16, 0), answer(s, " gone");
	say("detach %r twice %r\n", sys(__NR_setsockopt, s, 1, 27, &prog, 4), sys(__NR_setsockopt, s, 1, 27, &prog, 4));
	/* users */
	long pid = fork();
	if (!pid) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		int one = 1;
		long u = nl(0);
		opt(u, 11, &one, 4);
		memset(&ifi, 0, sizeof(ifi)), ifi.ifi_index = 1;
		ask(u, 18, 5, &ifi, 16, 0), answer(u, "user asks"), ask(u, RTM_SETLINK, 5, &ifi, 16, 0), answer(u, "changes"), ask(u, RTM_DELLINK, 5, &ifi, 16, 0), answer(u, "deletes");
		int g = 1;
		say("joins %r all of them %r broadcast %r nsid %r\n", opt(u, 1, &g, 4), opt(u, 8, &one, 4), opt(u, 4, &one, 4), opt(u, 8, &one, 4));
		a.family = 16, a.pid = 0, a.groups = 1;
		say("sends to a group %r to a process %r", sys(__NR_sendto, u, msg, 16, 0, &a, 12), (a.groups = 0, a.pid = 77777, sys(__NR_sendto, u, msg, 16, 0, &a, 12)));
		long v = nl(2);
		say(" usersock: bind %r", (a.pid = 0, a.groups = 1, sys(__NR_bind, v, &a, 12)));
		say(" send to group %r\n", sys(__NR_sendto, v, msg, 16, 0, &a, 12));
		leave(0);
	}
	wait_for(pid);
	return 0;
}
