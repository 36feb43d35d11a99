/* Programs of control groups in an order that whoever attaches them says, and revisions: random calls of three nested groups, what each
 * said, and who is there then.  Since 6.17, BPF_F_PREORDER since 6.15; 6.12 has both by its stable releases. */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"

enum { OVERRIDE = 1, MULTI = 2, REPLACE = 4, BEFORE = 8, AFTER = 16, ID = 32, PREORDER = 64, LINK = 1 << 13, PROGS = 5, LINKS = 6, TURNS = 220 };
struct attach { unsigned target, prog, type, flags, replace, relative; unsigned long long revision; };
struct query { unsigned target, type, flags, attach_flags; unsigned long long progs; unsigned count, pad; unsigned long long prog_flags, links, link_flags, revision; };
struct create { unsigned prog, target, type, flags, relative, pad; unsigned long long revision; };
struct update { unsigned link, prog, flags, old; };

static long prog[PROGS], links[LINKS], group[3];
static unsigned ids[PROGS], link_ids[LINKS];
static int type;
static unsigned long long seed;

static unsigned any(unsigned n) { seed = seed * 6364136223846793005ULL + 1442695040888963407ULL; return (unsigned)(seed >> 33) % n; }
static unsigned id_of(long fd)
{
	unsigned info[64];
	union bpf_attr a;
	memset(&a, 0, sizeof(a)), memset(info, 0, sizeof(info));
	a.info.bpf_fd = fd, a.info.info_len = sizeof(info), a.info.info = (ulong)info;
	return sys(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a)) < 0 ? 0 : info[1];
}
static void query(int g, int flags, int count)
{
	struct query q;
	unsigned progs[64], of[64];
	memset(&q, 0, sizeof(q)), memset(of, 0, sizeof(of));
	q.target = group[g], q.type = type, q.flags = flags, q.count = count, q.progs = (ulong)progs, q.revision = 77;
	if (!flags)
		q.prog_flags = (ulong)of;
	long ret = sys(__NR_bpf, BPF_PROG_QUERY, &q, sizeof(q));
	say(" %d:%r %x/%L ", g, ret, (long)q.attach_flags, q.revision);
	if (ret && ret != -ENOSPC)
		return;
	for (int i = 0; i < (int)q.count && i < count; i++) {
		char c = '?';
		for (int p = 0; p < PROGS; p++) if (ids[p] == progs[i]) c = 'A' + p;
		put(c);
		if (!flags && of[i] != q.attach_flags) say("(%x)", (long)of[i]);
	}
	if ((int)q.count > count) put('+');
}
static unsigned other(unsigned flags, unsigned links_too)
{
	int i;
	if (!any(8))
		return any(2) ? 0 : 7777;
	if (links_too ? any(8) : !any(8)) {
		i = any(LINKS);
		return links[i] < 0 ? 0 : flags & ID ? link_ids[i] : links[i];
	}
	i = any(PROGS);
	return flags & ID ? ids[i] : prog[i];
}
static unsigned where(void)
{
	unsigned flags = any(2) ? 0 : any(2) ? BEFORE : AFTER;
	if (!any(10)) flags |= BEFORE | AFTER;
	if (!any(3)) flags |= ID;
	if (!any(4)) flags |= LINK;
	if (!any(6)) flags |= PREORDER;
	if (!any(20)) flags |= 1 << any(16);
	return flags;
}
static void turn(void)
{
	static const unsigned ways[] = { MULTI, MULTI, MULTI, MULTI, MULTI, MULTI, MULTI, MULTI, 0, OVERRIDE, OVERRIDE | MULTI, MULTI | REPLACE };
	static const char *const names[] = { "attach", "detach", "link", "query" };
	int g = any(3), p = any(PROGS), slot = any(LINKS), op = any(10);
	unsigned long long revision = any(7) ? 0 : any(6);
	long ret;
	if (op < 4) {
		unsigned flags = ways[any(12)] | where(), beside = any(2) ? other(flags, flags & LINK) : 0;
		struct attach a = { group[g], prog[p], type, flags, flags & REPLACE ? (any(6) ? prog[any(PROGS)] : 0) : any(12) ? 0 : prog[any(PROGS)], beside, revision };
		ret = sys(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a));
		say("attach %x", (long)flags);
	} else if (op < 6) {
		unsigned flags = any(6) ? 0 : 1u << any(14);
		struct attach a = { group[g], any(8) ? prog[p] : any(2) ? 0 : group[0], type, flags, 0, any(10) ? 0 : other(0, 0), revision };
		ret = sys(__NR_bpf, BPF_PROG_DETACH, &a, sizeof(a));
		say("detach %x", (long)flags);
	} else if (op < 9 && links[slot] < 0) {
		unsigned flags = where();
		struct create c = { prog[p], group[g], type, flags, any(2) ? other(flags, flags & LINK) : 0, 0, revision };
		ret = sys(__NR_bpf, BPF_LINK_CREATE, &c, sizeof(c));
		say("link %x", (long)flags);
		if (ret >= 0)
			links[slot] = ret, link_ids[slot] = id_of(ret), ret = 0;
	} else if (op < 8) {
		struct update u = { links[slot], prog[p], any(2) ? REPLACE : 0, 0 };
		if (u.flags) u.old = prog[any(PROGS)];
		ret = sys(__NR_bpf, BPF_LINK_UPDATE, &u, sizeof(u));
		say("update");
	} else if (op == 8) {
		unsigned a[2] = { links[slot], 0 };
		ret = any(4) ? sys(__NR_close, links[slot]) : sys(__NR_bpf, BPF_LINK_DETACH, a, 4);
		if (any(4) && !ret) sys(__NR_close, links[slot]), links[slot] = -1;
		else if (!ret) links[slot] = -1;
		say("unlink");
	} else {
		say("query"), query(g, 1 << any(3), 64), query(g, 0, any(3)), ret = 0;
	}
	say(" %d %d", g, p), say(" %r ->", ret);
	query(g, 0, 64), query(2, 1, 64), say("\n");
}
int main(int argc, char **argv)
{
	struct bpf_insn code[] = { SET(0, 1), EXIT };
	sys(__NR_mkdir, "/sys/fs/cgroup/a", 0755), sys(__NR_mkdir, "/sys/fs/cgroup/a/b", 0755), sys(__NR_mkdir, "/sys/fs/cgroup/a/b/c", 0755);
	group[0] = sys(__NR_openat, AT_FDCWD, "/sys/fs/cgroup/a", O_RDONLY), group[1] = sys(__NR_openat, AT_FDCWD, "/sys/fs/cgroup/a/b", O_RDONLY);
	group[2] = sys(__NR_openat, AT_FDCWD, "/sys/fs/cgroup/a/b/c", O_RDONLY);
	for (type = 0; type < 2; type++) {
		seed = type + 1;
		for (int i = 0; i < PROGS; i++) {
			memset(&attr, 0, sizeof(attr));
			attr.prog_type = BPF_PROG_TYPE_CGROUP_SKB, attr.expected_attach_type = type, attr.insns = (ulong)code, attr.insn_cnt = 2, attr.license = (ulong)"GPL";
			prog[i] = bpf(BPF_PROG_LOAD), ids[i] = id_of(prog[i]);
		}
		for (int i = 0; i < LINKS; i++)
			links[i] = -1;
		for (int i = 0; i < TURNS; i++)
			turn();
		for (int i = 0; i < LINKS; i++)
			if (links[i] >= 0) sys(__NR_close, links[i]);
	}
	return 0;
}
