/* Programs on control groups: random walks of attaching, replacing, linking, detaching and asking over three groups, one below another.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

static unsigned state;
static unsigned dice(unsigned n) { state = state * 1103515245 + 12345; return (state >> 16) % n; }
static const struct { int prog, attach; const char *name; } kinds[] = {
	{ BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS, "ingress" },
	{ BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE, "sock" },
	{ BPF_PROG_TYPE_CGROUP_DEVICE, BPF_CGROUP_DEVICE, "device" },
	{ BPF_PROG_TYPE_CGROUP_SYSCTL, BPF_CGROUP_SYSCTL, "sysctl" },
	{ BPF_PROG_TYPE_CGROUP_SOCKOPT, BPF_CGROUP_GETSOCKOPT, "getsockopt" },
	{ BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_BIND, "bind4" },
	{ BPF_PROG_TYPE_SOCK_OPS, BPF_CGROUP_SOCK_OPS, "sock_ops" },
};
static long groups[3], progs[5], links[6];
static unsigned ids[5];

static int which(unsigned id) { for (int i = 0; i < 5; i++) if (ids[i] == id) return i; return id ? 99 : -1; }
static void show(int attach, int group, int flags)
{
	unsigned found[16], more[16];
	memset(found, 0, sizeof(found)), memset(more, 0, sizeof(more));
	attr.query.target_fd = groups[group];
	attr.query.attach_type = attach;
	attr.query.query_flags = flags;
	attr.query.prog_ids = (ulong)found;
	attr.query.prog_cnt = dice(3) ? 16 : dice(3);
	if (dice(3) == 0)
		attr.query.prog_attach_flags = (ulong)more;
	union bpf_attr kept = attr;
	long r = sys(__NR_bpf, BPF_PROG_QUERY, &attr, sizeof(attr));
	say(" [%d%s %r count %d of %d flags %d:", group, flags ? " effective" : "", r, attr.query.prog_cnt, kept.query.prog_cnt, attr.query.attach_flags);
	for (int i = 0; i < 16 && (found[i] || i == 0); i++)
		say(" %d", which(found[i]));
	for (int i = 0; i < 4; i++)
		if (more[i])
			say(" flag %d", more[i]);
	say("]");
	memset(&attr, 0, sizeof(attr));
}

static void walk(int kind, unsigned seed, int steps)
{
	int attach = kinds[kind].attach;
	struct bpf_insn code[2] = { SET(0, 1), EXIT };
	state = seed;
	say("%s %d\n", kinds[kind].name, seed);
	for (int i = 0; i < 5; i++) {
		attr.expected_attach_type = attach;
		progs[i] = bpf_program(kinds[kind].prog, code, 2);
		ids[i] = bpf_info(progs[i]).id;
	}
	for (int i = 0; i < 6; i++)
		links[i] = -1;
	for (int step = 0; step < steps; step++) {
		int g = dice(3), p = dice(5), l = dice(6), flags;
		long r;
		switch (dice(10)) {
		case 0: case 1: case 2: {
			static const int some[] = { 0, 1, 2, 2, 2, 6, 4, 3, 8, 6 };
			flags = some[dice(10)];
			int old = dice(6);
			attr.target_fd = groups[g];
			attr.attach_bpf_fd = progs[p];
			attr.attach_type = attach;
			attr.attach_flags = flags;
			if (flags & 4)
				attr.replace_bpf_fd = old < 5 ? progs[old] : 0;
			say("attach %d to %d flags %d old %d: ", p, g, flags, flags & 4 ? old : -1);
			r = bpf(BPF_PROG_ATTACH);
			break;
		}
		case 3: case 4: {
			int none = dice(4) == 0;
			attr.target_fd = groups[g];
			attr.attach_bpf_fd = none ? 0 : progs[p];
			attr.attach_type = attach;
			attr.attach_flags = dice(5) == 0 ? dice(9) : 0;
			say("detach %d of %d flags %d: ", none ? -1 : p, g, attr.attach_flags);
			r = bpf(BPF_PROG_DETACH);
			break;
		}
		case 5: case 6:
			if (links[l] >= 0) {
				say("close %d: ", l);
				r = sys(__NR_close, links[l]), links[l] = -1;
				break;
			}
			attr.link_create.prog_fd = progs[p];
			attr.link_create.target_fd = groups[g];
			attr.link_create.attach_type = attach;
			attr.link_create.flags = dice(6) == 0 ? dice(8) : 0;
			say("link %d of %d to %d flags %d: ", l, p, g, attr.link_create.flags);
			r = bpf(BPF_LINK_CREATE);
			links[l] = r;
			if (r > 0)
				r = 0;
			break;
		case 7: {
			int old = dice(6);
			attr.link_update.link_fd = links[l];
			attr.link_update.new_prog_fd = progs[p];
			attr.link_update.flags = dice(3) ? 0 : 4;
			if (old < 5 && (attr.link_update.flags || dice(4) == 0))
				attr.link_update.old_prog_fd = progs[old];
			say("update %d to %d flags %d old %d: ", l, p, attr.link_update.flags, attr.link_update.old_prog_fd ? old : -1);
			r = bpf(BPF_LINK_UPDATE);
			break;
		}
		case 8:
			attr.link_detach.link_fd = links[l];
			say("detach link %d: ", l);
			r = bpf(BPF_LINK_DETACH);
			break;
		default: {
			struct bpf_link_info info;
			memset(&info, 0, sizeof(info));
			attr.info.bpf_fd = links[l];
			attr.info.info_len = sizeof(info);
			attr.info.info = (ulong)&info;
			say("info of link %d: ", l);
			r = bpf(BPF_OBJ_GET_INFO_BY_FD);
			say("type %d program %d group %s attach %d ", info.type, which(info.prog_id), info.cgroup.cgroup_id ? "some" : "none", info.cgroup.attach_type);
		}
		}
		say("%r", r);
		show(attach, g, dice(2) ? BPF_F_QUERY_EFFECTIVE : 0);
		if (dice(3) == 0)
			show(attach, dice(3), dice(2) ? BPF_F_QUERY_EFFECTIVE : 0);
		say("\n");
	}
	for (int i = 0; i < 6; i++)
		if (links[i] >= 0)
			sys(__NR_close, links[i]);
	for (int g = 0; g < 3; g++) /* what is left goes */
		for (int i = 0; i < 30; i++) {
			attr.target_fd = groups[g], attr.attach_bpf_fd = progs[i % 5], attr.attach_type = attach;
			bpf(BPF_PROG_DETACH);
			attr.target_fd = groups[g], attr.attach_type = attach;
			bpf(BPF_PROG_DETACH);
		}
	for (int i = 0; i < 5; i++)
		sys(__NR_close, progs[i]);
}

int main(int argc, char **argv)
{
	static const char *const paths[] = { "/sys/fs/cgroup/w", "/sys/fs/cgroup/w/x", "/sys/fs/cgroup/w/x/y" };
	for (int i = 0; i < 3; i++) {
		sys(__NR_mkdir, paths[i], 0755);
		groups[i] = sys(__NR_open, paths[i], O_RDONLY | O_DIRECTORY, 0);
	}
	say("groups %r\n", groups[2] < 0 ? groups[2] : 0);
	for (int k = 0; k < 7; k++)
		for (int s = 1; s <= 3; s++)
			walk(k, 100 * k + s, 60);
	return 0;
}
