/* Programs on the ways in and out of a device: tcx since 6.6, and netkit's since 6.7, by bpf_prog_attach and by links, before and after others. */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"

enum { TCX_INGRESS = 46, TCX_EGRESS = 47, NETKIT_PRIMARY = 54, NETKIT_PEER = 55, REPLACE = 4, BEFORE = 8, AFTER = 16, ID = 32, LINK = 1 << 13 };
#define MAPFD(r, fd) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_FD, 0, fd), { 0 }
#define JNZ(n) I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, n, 0)

struct attach { unsigned target, prog, type, flags, replace, relative; unsigned long long revision; };
struct query { unsigned target, type, flags, attach_flags; unsigned long long progs; unsigned count, pad; unsigned long long prog_flags, links, link_flags, revision; };
struct link { unsigned prog, target, type, flags, relative, pad; unsigned long long revision; };
struct update { unsigned link, prog, flags, old; };
struct info { unsigned type, id, prog_id, pad, ifindex, attach_type; unsigned long long more[8]; };

static long seen;
static long prog[6], links[6];
static unsigned ids[6], link_ids[6];
static char text[4096];
static int index = 1;

/* Notes its number behind those that ran before, and answers. */
static long load(int expected, int number, int answer)
{
	struct bpf_insn code[] = {
		I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0), MOV(2, 10), ADD(2, -4), MAPFD(1, seen), CALL(BPF_FUNC_map_lookup_elem), JNZ(2), SET(0, 0), EXIT,
		LOAD(1, 0, 0), I(BPF_ALU64 | BPF_MUL | BPF_K, 1, 0, 0, 10), ADD(1, number), STORE(0, 1, 0), SET(0, answer), EXIT };
	attr.prog_type = BPF_PROG_TYPE_SCHED_CLS, attr.expected_attach_type = expected, attr.insns = (ulong)code, attr.insn_cnt = sizeof(code) / sizeof(*code), attr.license = (ulong)"GPL";
	return bpf(BPF_PROG_LOAD);
}
static void close(long fd) { sys(__NR_close, fd); }
static char letter(unsigned id)
{
	for (int i = 0; i < 6; i++) if (ids[i] && ids[i] == id) return 'A' + i;
	return '?';
}
static char number(unsigned id)
{
	for (int i = 0; i < 6; i++) if (link_ids[i] && link_ids[i] == id) return '1' + i;
	return id ? '?' : '-';
}
static long query(int type)
{
	struct query q;
	unsigned progs[8], flags[8], of_links[8], link_flags[8];
	memset(&q, 0, sizeof(q)), memset(progs, 0, sizeof(progs)), memset(of_links, 0, sizeof(of_links)), memset(flags, 0xff, sizeof(flags)), memset(link_flags, 0xff, sizeof(link_flags));
	q.target = index, q.type = type, q.count = 8, q.progs = (ulong)progs, q.prog_flags = (ulong)flags, q.links = (ulong)of_links, q.link_flags = (ulong)link_flags;
	long ret = sys(__NR_bpf, BPF_PROG_QUERY, &q, sizeof(q));
	say("  query %r count %d flags %x revision %L:", ret, q.count, (long)q.attach_flags, q.revision);
	for (unsigned i = 0; i < q.count && i < 8; i++) {
		put(' '), put(letter(progs[i])), put(number(of_links[i]));
		if (flags[i] || link_flags[i]) say("(%x %x)", (long)flags[i], (long)link_flags[i]);
	}
	say("\n");
	return ret;
}
static long attach(int p, int type, int flags, long relative, unsigned long long revision)
{
	struct attach a = { index, prog[p], type, flags, 0, relative, revision };
	return sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a));
}
static long detach(long p, int type, int flags, long relative, unsigned long long revision)
{
	struct attach a = { index, p, type, flags, 0, relative, revision };
	return sys(__NR_bpf, BPF_PROG_DETACH, &a, sizeof(a));
}
static void tell_device(long fd, unsigned device)
{
	struct info info;
	union bpf_attr a;
	memset(&a, 0, sizeof(a)), memset(&info, 0, sizeof(info));
	a.info.bpf_fd = fd, a.info.info_len = sizeof(info), a.info.info = (ulong)&info;
	long ret = sys(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a));
	say("  info %r type %d program ", ret, info.type), put(letter(info.prog_id)), say(" device %s attach type %d\n", info.ifindex == device ? "that" : info.ifindex ? "another" : "none", info.attach_type);
	char path[40] = "/proc/self/fdinfo/", *p = path + 18;
	if (fd >= 10) *p++ = '0' + fd / 10;
	*p++ = '0' + fd % 10, *p = 0;
	long n = slurp(path, text, sizeof(text));
	for (char *line = text; n > 0 && line < text + n; ) {
		char *end = line;
		while (*end && *end != '\n') end++;
		*end = 0;
		if (!memcmp(line, "ifindex:\t", 9) && line[9] != '0') memcpy(line + 9, "N", 2);
		if (memcmp(line, "pos", 3) && memcmp(line, "flags", 5) && memcmp(line, "mnt_id", 6) && memcmp(line, "ino", 3) && memcmp(line, "link_id", 7) && memcmp(line, "prog_", 5)) say("  | %s\n", line);
		line = end + 1;
	}
}
static void tell(long fd) { tell_device(fd, 1); }
static unsigned id_of_link(long fd)
{
	struct info info;
	union bpf_attr a;
	memset(&a, 0, sizeof(a)), memset(&info, 0, sizeof(info));
	a.info.bpf_fd = fd, a.info.info_len = sizeof(info), a.info.info = (ulong)&info;
	sys(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a));
	return info.id;
}
static long make(int n, int p, int type, int flags, long relative, unsigned long long revision)
{
	struct link l = { prog[p], index, type, flags, relative, 0, revision };
	long fd = sys(__NR_bpf, BPF_LINK_CREATE, &l, sizeof(l));
	if (fd >= 0) links[n] = fd, link_ids[n] = id_of_link(fd);
	return fd < 0 ? fd : 0;
}
static long update(int n, int p, int flags, long old)
{
	struct update u = { links[n], prog[p], flags, old < 0 ? 0 : prog[old] };
	return sys(__NR_bpf, BPF_LINK_UPDATE, &u, sizeof(u));
}
static void drop(int n) { close(links[n]), links[n] = -1, link_ids[n] = 0, nap(50); }
static void ran(const char *what)
{
	unsigned long long value = 0, zero = 0;
	bpf_element(BPF_MAP_LOOKUP_ELEM, seen, 0, &value), bpf_element(BPF_MAP_UPDATE_ELEM, seen, 0, &zero);
	say("%s: ran %L\n", what, value);
}
struct in_addr_ { unsigned short family, port; unsigned addr; char zero[8]; };
static long receiver, sender;
static void up(const char *name)
{
	struct { char name[16]; short flags; char rest[22]; } r;
	memset(&r, 0, sizeof(r)), memcpy(r.name, name, strlen(name)), r.flags = 0x41;
	long s = sys(__NR_socket, 2, 2, 0);
	sys(__NR_ioctl, s, 0x8914, &r), close(s);
}
static void packet(const char *what)
{
	struct in_addr_ to = { 2, 0x3905, 0x0100007f };
	char got[10];
	long sent = sys(__NR_sendto, sender, "abc", 3, 0, &to, sizeof(to)), n = sys(__NR_recvfrom, receiver, got, sizeof(got), 0x40, 0, 0);
	say("%s: sent %r received %r, ", what, sent, n), ran("programs");
}
#define SAY(...) say("%s: %r\n", #__VA_ARGS__, (long)(__VA_ARGS__))

static void by_programs(int type)
{
	SAY(attach(0, type, 0, 0, 0)), query(type);
	SAY(attach(0, type, 0, 0, 0));
	SAY(attach(1, type, 0, 0, 0)), query(type);
	SAY(attach(2, type, BEFORE, 0, 0)), query(type);
	SAY(attach(3, type, AFTER, prog[2], 0)), query(type);
	SAY(attach(4, type, BEFORE, prog[1], 3));
	SAY(attach(4, type, BEFORE, prog[1], 5)), query(type);
	packet("five");
	SAY(attach(5, type, BEFORE | AFTER, prog[1], 0));
	SAY(attach(5, type, BEFORE | ID, ids[1], 0)), query(type);
	SAY(detach(prog[5], type, AFTER, prog[1], 0));
	SAY(detach(prog[5], type, BEFORE | ID, ids[1], 0)), query(type);
	SAY(attach(5, type, AFTER | ID, 12345, 0));
	SAY(attach(5, type, AFTER, 12345, 0));
	SAY(attach(5, type, ID, ids[1], 0));
	SAY(attach(5, type, BEFORE | LINK, prog[1], 0));
	SAY(attach(5, type, REPLACE, 0, 0));
	SAY(attach(5, type, 1, 0, 0));
	SAY(attach(5, type, 2, 0, 0));
	SAY(attach(5, type, 64, 0, 0));
	SAY(attach(5, type, 0, prog[1], 0));
	struct attach a = { index, prog[5], type, REPLACE, prog[1], 0, 0 };
	say("in place of B: %r\n", sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a))), query(type);
	a.replace = prog[1], say("again: %r\n", sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a)));
	a.replace = prog[5], say("itself: %r\n", sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a)));
	a.prog = prog[1], a.flags = REPLACE | BEFORE, a.relative = prog[0], say("with a place: %r\n", sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a)));
	a.flags = REPLACE, a.relative = 0, a.revision = 77, say("of another revision: %r\n", sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a)));
	a.revision = 0, a.replace = 999, say("of nothing: %r\n", sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a)));
	SAY(detach(prog[1], type, 0, 0, 0));
	SAY(detach(0, type, 0, 0, 0));
	SAY(detach(0, type, BEFORE, 0, 0)), query(type);
	SAY(detach(0, type, AFTER, 0, 0)), query(type);
	SAY(detach(0, type, AFTER, prog[3], 0)), query(type);
	SAY(detach(0, type, BEFORE | AFTER, prog[3], 0));
	SAY(detach(prog[3], type, 0, 0, 55));
	SAY(detach(prog[3], type, REPLACE, 0, 0));
	SAY(detach(prog[3], type, 0, 0, 0)), query(type);
	SAY(detach(0, type, BEFORE, 0, 0)), query(type);
	SAY(detach(0, type, BEFORE, 0, 0)), query(type);
	SAY(detach(prog[3], type, 0, 0, 0)), query(type);
}
static void by_links(int type)
{
	SAY(make(0, 0, type, 0, 0, 0)), query(type), tell(links[0]);
	SAY(make(1, 0, type, 0, 0, 0)), query(type);
	SAY(make(1, 1, type, BEFORE, 0, 0)), query(type);
	SAY(make(2, 2, type, AFTER | LINK, links[1], 0)), query(type);
	SAY(attach(3, type, BEFORE | LINK | ID, link_ids[0], 0)), query(type);
	SAY(attach(3, type, 0, 0, 0));
	SAY(attach(0, type, 0, 0, 0));
	SAY(make(4, 3, type, 0, 0, 0));
	SAY(make(4, 4, type, BEFORE, prog[3], 0)), query(type);
	SAY(make(5, 5, type, BEFORE, prog[0], 0));
	SAY(make(5, 5, type, BEFORE | LINK, 0, 0));
	SAY(make(5, 5, type, BEFORE | LINK, prog[3], 0));
	SAY(make(5, 5, type, BEFORE | ID, ids[3], 0)), query(type);
	drop(5), query(type);
	SAY(make(5, 5, type, REPLACE, 0, 0));
	SAY(make(5, 5, type, 2, 0, 0));
	SAY(make(5, 5, type, 0, 0, 3));
	SAY(make(5, 5, type, 64, 0, 0));
	packet("of links");
	SAY(update(0, 5, 0, -1)), query(type);
	SAY(update(0, 0, REPLACE, 1));
	SAY(update(0, 0, REPLACE, 5)), query(type);
	SAY(update(0, 0, 0, -1));
	SAY(update(0, 1, 0, -1)), query(type);
	SAY(update(0, 0, 0, -1)), query(type);
	struct attach a = { index, prog[5], type, REPLACE, prog[0], 0, 0 };
	say("a program in a link's place: %r\n", sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a)));
	SAY(detach(prog[0], type, 0, 0, 0));
	SAY(detach(0, type, BEFORE, 0, 0));
	SAY(detach(0, type, AFTER, 0, 0));
	unsigned one[1] = { links[0] };
	memset(&attr, 0, sizeof(attr)), attr.link_detach.link_fd = links[0];
	say("link detached: %r\n", bpf(BPF_LINK_DETACH)), query(type), tell(links[0]);
	attr.link_detach.link_fd = links[0], say("again: %r\n", bpf(BPF_LINK_DETACH));
	SAY(update(0, 5, 0, -1));
	drop(1), query(type), drop(2), drop(4), query(type);
	SAY(detach(prog[3], type, 0, 0, 0)), query(type);
	drop(0);
}
static void refusals(int type)
{
	struct query q;
	unsigned progs[8];
	SAY(attach(0, type, 0, 0, 0)), attach(1, type, 0, 0, 0);
	for (int how = 0; how < 8; how++) {
		memset(&q, 0, sizeof(q)), q.target = how == 4 ? 55 : 1, q.type = type;
		if (how == 1 || how == 5) q.count = 1, q.progs = how == 5 ? 16 : (ulong)progs;
		q.flags = how == 2, q.attach_flags = how == 3;
		if (how == 6) q.count = 8;
		long ret = sys(__NR_bpf, BPF_PROG_QUERY, &q, how == 7 ? 40 : sizeof(q));
		say("query %d: %r count %d revision %L\n", how, ret, q.count, q.revision);
	}
	index = 55, SAY(attach(2, type, 0, 0, 0)), SAY(make(0, 2, type, 0, 0, 0)), SAY(detach(prog[0], type, 0, 0, 0)), index = 0, SAY(attach(2, type, 0, 0, 0)), index = 1;
	struct attach a = { 1, 999, type, 0, 0, 0, 0 };
	say("no program: %r\n", sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a)));
	say("detaching what is none: %r\n", sys(__NR_bpf, BPF_PROG_DETACH, &a, sizeof(a)));
	struct bpf_insn filter[] = { SET(0, 0), EXIT };
	a.prog = bpf_program(BPF_PROG_TYPE_SOCKET_FILTER, filter, 2), say("another type of program: %r", sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a)));
	say(" detached %r\n", sys(__NR_bpf, BPF_PROG_DETACH, &a, sizeof(a))), close(a.prog);
	fork() ?: (say("another user:"), sys(__NR_setuid, 1000), say(" %r", attach(2, type, 0, 0, 0)), say(" %r", make(0, 2, type, 0, 0, 0)), say(" %r", detach(prog[0], type, 0, 0, 0)), say(" %r\n", query(type)), leave(0), 0L);
	wait_for(-1);
	/* as many as there can be */
	long many[64], n = 0, last = 0;
	for (; n < 64; n++) {
		many[n] = load(0, 1, -1);
		struct attach each = { 1, many[n], type, 0, 0, 0, 0 };
		if ((last = sys(__NR_bpf, BPF_PROG_ATTACH, &each, sizeof(each))) < 0) break;
	}
	say("%l more, then %r\n", n, last);
	for (long i = 0; i <= n && i < 64; i++) detach(many[i], type, 0, 0, 0), close(many[i]);
	SAY(detach(prog[0], type, 0, 0, 0)), SAY(detach(prog[1], type, 0, 0, 0)), query(type);
}
/* What a program answers, on both ways. */
static void answers(void)
{
	static const int given[] = { -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 100, -2 };
	for (int way = TCX_INGRESS; way <= TCX_EGRESS; way++)
		for (unsigned i = 0; i < sizeof(given) / sizeof(*given); i++) {
			long one = load(way, 1, given[i]);
			struct attach a = { 1, one, way, 0, 0, 0, 0 };
			long done = sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a));
			attach(1, way, 0, 0, 0);
			say("%s %d: %r ", way == TCX_INGRESS ? "in" : "out", given[i], done), packet("packet");
			detach(one, way, 0, 0, 0), detach(prog[1], way, 0, 0, 0), close(one);
		}
}
static void expected(void)
{
	static const int types[] = { 0, TCX_INGRESS, TCX_EGRESS, NETKIT_PRIMARY, NETKIT_PEER, 45, 48, 1 };
	for (int i = 0; i < 8; i++) {
		prog[5] = load(types[i], 6, -1);
		say("loaded for %d: %r\n", types[i], prog[5] < 0 ? prog[5] : 0);
		if (prog[5] < 0) continue;
		ids[5] = bpf_info(prog[5]).id;
		SAY(attach(5, TCX_INGRESS, 0, 0, 0)), SAY(detach(prog[5], TCX_INGRESS, 0, 0, 0));
		SAY(attach(5, TCX_EGRESS, 0, 0, 0)), SAY(detach(prog[5], TCX_EGRESS, 0, 0, 0));
		SAY(make(5, 5, TCX_INGRESS, 0, 0, 0)), drop(5);
		SAY(attach(5, NETKIT_PRIMARY, 0, 0, 0)), SAY(make(5, 5, NETKIT_PEER, 0, 0, 0));
		SAY(attach(5, 45, 0, 0, 0));
		close(prog[5]);
	}
}
/* ---- netkit: pairs of devices whose programs decide ---- */
static unsigned char message[1024], answer[8192];
static int length;
static void attribute(int type, const void *data, int size)
{
	unsigned short head[2] = { size + 4, type };
	memcpy(message + length, head, 4), memcpy(message + length + 4, data, size);
	length += (size + 4 + 3) & ~3;
}
static int nest(int type) { int at = length; attribute(type, 0, 0); return at; }
static void nested(int at) { *(unsigned short *)(message + at) = length - at; }
static long netlink;
static long ask(int type, int flags)
{
	unsigned head[4] = { length, type | flags << 16, 1, 0 };
	memcpy(message, head, 16);
	long n = sys(__NR_sendto, netlink, message, length, 0, 0, 0);
	if (n < 0) return n;
	n = sys(__NR_recvfrom, netlink, answer, sizeof(answer), 0, 0, 0);
	if (n > 0 && *(unsigned short *)(answer + 4) == 2) return *(int *)(answer + 16);
	return n;
}
static void begin_link(int ifindex) { memset(message, 0, sizeof(message)), length = 32, *(int *)(message + 20) = ifindex; }
/* What is not asked for is -1. */
static long create(const char *name, const char *peer, int mode, int policy, int peer_policy, int scrub, int mac)
{
	begin_link(0);
	attribute(3, name, strlen(name) + 1);
	if (mac) attribute(1, "\2\0\0\0\0\1", 6);
	int info = nest(18);
	attribute(1, "netkit", 7);
	int data = nest(2), n;
	if (mode >= 0) attribute(5, &mode, 4);
	if (policy >= 0) attribute(3, &policy, 4);
	if (peer_policy >= 0) attribute(4, &peer_policy, 4);
	if (scrub >= 0) attribute(6, &scrub, 4);
	if (peer) {
		int other = nest(1);
		length += 16, attribute(3, peer, strlen(peer) + 1), nested(other);
	}
	nested(data), nested(info);
	return ask(16, 0x605);
}
static int number_of(const char *name)
{
	begin_link(0), attribute(3, name, strlen(name) + 1);
	long n = ask(18, 1);
	return n < 0 ? n : *(int *)(answer + 20);
}
static long change(const char *name, int type, int value)
{
	int at = number_of(name);
	begin_link(at);
	int info = nest(18);
	attribute(1, "netkit", 7);
	int data = nest(2);
	attribute(type, &value, 4), nested(data), nested(info);
	return ask(16, 5);
}
static long delete(const char *name) { begin_link(0), attribute(3, name, strlen(name) + 1); return ask(17, 5); }
static void show(const char *name)
{
	begin_link(0), attribute(3, name, strlen(name) + 1);
	long n = ask(18, 1);
	if (n < 0) { say("  %s: %r\n", name, n); return; }
	say("  %s: type %d flags %x", name, *(unsigned short *)(answer + 18), (long)*(unsigned *)(answer + 24));
	for (int at = 32; at < n; ) {
		unsigned short size = *(unsigned short *)(answer + at), type = *(unsigned short *)(answer + at + 2) & 0x3fff;
		unsigned char *data = answer + at + 4;
		if (type == 4) say(" mtu %d", *(int *)data);
		if (type == 13) say(" queue %d", *(int *)data);
		if (type == 6) say(" qdisc %s", data);
		if (type == 16) say(" state %d", *data);
		if (type == 33) say(" carrier %d", *data);
		if (type == 50) say(" min %d", *(int *)data);
		if (type == 51) say(" max %d", *(int *)data);
		if (type == 1) {
			int zero = 1;
			for (int i = 0; i < size - 4; i++) zero &= !data[i];
			say(" address %d %s", size - 4, zero ? "zero" : "set");
		}
		if (type == 18)
			for (int in = 4; in < size; ) {
				unsigned short s = *(unsigned short *)(answer + at + in), t = *(unsigned short *)(answer + at + in + 2) & 0x3fff;
				if (t == 1) say(" kind %s", answer + at + in + 4);
				if (t == 2)
					for (int x = in + 4; x < in + s; ) {
						unsigned short s2 = *(unsigned short *)(answer + at + x), t2 = *(unsigned short *)(answer + at + x + 2);
						say(" %d=%d", t2, s2 == 5 ? answer[at + x + 4] : *(int *)(answer + at + x + 4));
						x += (s2 + 3) & ~3;
					}
				in += (s + 3) & ~3;
			}
		at += (size + 3) & ~3;
	}
	say("\n");
}
static long taps[2];
static long tap(int of)
{
	struct { unsigned short family, protocol; int index; unsigned short type; unsigned char kind, size, address[8]; } a = { 17, 0x0300, of };
	long s = sys(__NR_socket, 17, 3, 0x0300);
	sys(__NR_bind, s, &a, sizeof(a));
	return s;
}
/* A frame out of one end: what the other's socket sees. */
static void frame(const char *what, int way)
{
	static const unsigned char bytes[64] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, 'h', 'i' };
	unsigned char got[100];
	for (int i = 0; i < 2; i++) while (sys(__NR_recvfrom, taps[i], got, sizeof(got), 0x40, 0, 0) > 0);
	say("  sent %r\n", sys(__NR_sendto, taps[way], bytes, sizeof(bytes), 0, 0, 0));
	long n = sys(__NR_recvfrom, taps[!way], got, sizeof(got), 0x40, 0, 0);
	say("  %s: seen %r, ", what, n), ran("programs");
}
static void netkit(void)
{
	netlink = sys(__NR_socket, 16, 3, 0);
	spit("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"), spit("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1"); /* no packets but ours */
	SAY(create("x0", "x1", -1, -1, -1, -1, 0)), show("x0"), show("x1"), SAY(delete("x0")), show("x1");
	SAY(create("x0", "x1", 0, 2, 0, 1, 1)), show("x0"), show("x1"), SAY(delete("x1")), show("x0");
	SAY(create("x0", 0, 1, -1, -1, -1, 0)), show("x0"), show("nk0"), SAY(delete("x0"));
	SAY(create("x0", "x1", 2, -1, -1, -1, 0)), SAY(create("x0", "x1", 1, 1, -1, -1, 0)), SAY(create("x0", "x1", 1, 0, 7, -1, 0)), SAY(create("x0", "x1", 1, 0, 0, 2, 0)), SAY(create("x0", "x1", 1, -1, -1, -1, 1)), SAY(create("x0", "x0", 1, -1, -1, -1, 0));
	for (int mode = 0; mode < 2; mode++) {
		int one, two;
		say("mode %d\n", mode);
		SAY(create("x0", "x1", mode, -1, 2, -1, 0));
		one = number_of("x0"), two = number_of("x1");
		SAY(change("x0", 3, 2)), show("x0"), SAY(change("x0", 3, 0)), SAY(change("x0", 4, 0)), SAY(change("x0", 4, 1)), SAY(change("x1", 3, 0)), SAY(change("x0", 5, !mode)), SAY(change("x0", 6, 0));
		taps[0] = tap(one), taps[1] = tap(two);
		frame("both down", 0), up("x0"), show("x0"), frame("one up", 0), up("x1"), show("x0"), show("x1");
		frame("there", 0), frame("and back", 1), SAY(change("x0", 4, 2)), frame("peer drops", 1), frame("there", 0);
		SAY(change("x0", 4, 0));
		index = one;
		SAY(attach(0, NETKIT_PRIMARY, 0, 0, 0)), SAY(attach(1, NETKIT_PEER, 0, 0, 0)), SAY(attach(2, NETKIT_PRIMARY, BEFORE, 0, 0)), query(NETKIT_PRIMARY), query(NETKIT_PEER);
		frame("there", 0), frame("and back", 1);
		SAY(attach(3, TCX_INGRESS, 0, 0, 0)), SAY(attach(4, TCX_EGRESS, 0, 0, 0)), frame("there by tcx", 0), frame("and back", 1), SAY(detach(prog[3], TCX_INGRESS, 0, 0, 0)), SAY(detach(prog[4], TCX_EGRESS, 0, 0, 0));
		static const int given[] = { -1, 0, 1, 2, 3, 7, 100 };
		for (int i = 0; i < 7; i++) {
			long p = load(NETKIT_PRIMARY, 7, given[i]);
			struct attach a = { one, p, NETKIT_PRIMARY, BEFORE, 0, 0, 0 };
			say("answers %d, attached %r\n", given[i], sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a))), frame("there", 0);
			detach(p, NETKIT_PRIMARY, 0, 0, 0), close(p);
		}
		SAY(change("x0", 3, 2)), frame("default is to drop, programs say nothing", 0), SAY(change("x0", 3, 0));
		index = two;
		SAY(attach(3, NETKIT_PRIMARY, 0, 0, 0)), SAY(attach(3, NETKIT_PEER, 0, 0, 0)), SAY(make(3, 3, NETKIT_PEER, 0, 0, 0)), SAY(detach(prog[1], NETKIT_PEER, 0, 0, 0)), query(NETKIT_PEER);
		index = 1, SAY(attach(3, NETKIT_PRIMARY, 0, 0, 0)), query(NETKIT_PRIMARY), index = one;
		SAY(make(3, 3, NETKIT_PRIMARY, AFTER, prog[0], 0)), tell_device(links[3], one), SAY(make(4, 4, NETKIT_PEER, 0, 0, 0)), tell_device(links[4], one), query(NETKIT_PRIMARY), query(NETKIT_PEER);
		SAY(update(3, 5, 0, -1)), query(NETKIT_PRIMARY), frame("there", 0), frame("back", 1);
		SAY(make(5, 5, TCX_INGRESS, 0, 0, 0)), tell_device(links[5], one);
		SAY(delete("x1")), tell_device(links[3], one), tell_device(links[5], one), SAY(update(3, 3, 0, -1)), query(NETKIT_PRIMARY);
		drop(3), drop(4), drop(5), close(taps[0]), close(taps[1]), index = 1;
	}
}

int main(int argc, char **argv)
{
	seen = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	for (int i = 0; i < 6; i++) prog[i] = load(0, i + 1, -1), ids[i] = prog[i] < 0 ? 0 : bpf_info(prog[i]).id, links[i] = -1;
	up("lo");
	struct in_addr_ here = { 2, 0x3905, 0x0100007f };
	receiver = sys(__NR_socket, 2, 2, 0), sender = sys(__NR_socket, 2, 2, 0);
	say("bound %r\n", sys(__NR_bind, receiver, &here, sizeof(here)));
	packet("nothing there");
	if (streq(argv[1], "programs")) by_programs(TCX_INGRESS), by_programs(TCX_EGRESS);
	if (streq(argv[1], "links")) by_links(TCX_INGRESS), by_links(TCX_EGRESS);
	if (streq(argv[1], "refusals")) refusals(TCX_INGRESS), refusals(TCX_EGRESS);
	if (streq(argv[1], "answers")) answers(), expected();
	if (streq(argv[1], "netkit")) netkit();
	return 0;
}
