/* Links of every kind: making, telling of, updating, detaching; iterators with every target and what they take.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

static struct bpf_insn none[] = { SET(0, 0), EXIT }, one[] = { SET(0, 1), EXIT };

static long load(int type, int attach, const struct bpf_insn *code, int count, unsigned target)
{
	attr.prog_type = type, attr.expected_attach_type = attach, attr.attach_btf_id = target;
	attr.insns = (ulong)code, attr.insn_cnt = count, attr.license = (ulong)"GPL";
	return bpf(BPF_PROG_LOAD);
}

static int starts(const char *s, const char *with) { return strlen(s) >= strlen(with) && !memcmp(s, with, strlen(with)); }

/* fdinfo without numbers that are chance */
static void fdinfo(long fd)
{
	static char text[4096];
	char path[64] = "/proc/self/fdinfo/", digits[8], *p = path + 18;
	int n = 0;
	do digits[n++] = '0' + fd % 10; while (fd /= 10);
	while (n) *p++ = digits[--n];
	*p = 0;
	slurp(path, text, sizeof(text));
	for (char *line = text; *line;) {
		char *end = line;
		while (*end && *end != '\n') end++;
		char had = *end;
		*end = 0;
		static const char *const chance[] = { "pos", "flags", "mnt_id", "ino", "link_id", "prog_id", "map_id", "target_btf_id", "target_obj_id", "cgroup_id", "netns_ino", "tid", "pid", 0 };
		int skip = 0;
		for (int i = 0; chance[i]; i++)
			if (starts(line, chance[i]))
				skip = i < 4 ? 2 : 1;
		if (skip == 1)
			for (char *c = line; *c; c++)
				if (*c >= '0' && *c <= '9') { *c = 0; break; }
		if (skip < 2)
			say("    |%s\n", line);
		line = had ? end + 1 : end;
	}
}

static void info(long fd)
{
	static struct bpf_link_info i;
	static char name[128];
	memset(&i, 0, sizeof(i)), memset(name, 0, sizeof(name));
	i.raw_tracepoint.tp_name = (ulong)name, i.raw_tracepoint.tp_name_len = sizeof(name);
	attr.info.bpf_fd = fd, attr.info.info = (ulong)&i, attr.info.info_len = sizeof(i);
	long ret = sys(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
	say("    info %r len %d type %d id %d prog %d name '%s'", ret, attr.info.info_len, i.type, i.id > 0, i.prog_id > 0, name);
	memset(&attr, 0, sizeof(attr));
	if (i.type == 1)
		say(" length %d", i.raw_tracepoint.tp_name_len);
	if (i.type == BPF_LINK_TYPE_CGROUP || i.type == BPF_LINK_TYPE_NETNS || i.type == BPF_LINK_TYPE_TRACING)
		say(" attach %d", i.type == BPF_LINK_TYPE_CGROUP ? i.cgroup.attach_type : i.type == BPF_LINK_TYPE_NETNS ? i.netns.attach_type : i.tracing.attach_type);
	if (i.type == BPF_LINK_TYPE_XDP)
		say(" ifindex %d", i.xdp.ifindex);
	say("\n");
}

static void names_too_long(long fd)
{
	static const int rooms[] = { 0, 1, 5, 11, 12, 13 };
	for (int r = 0; r < 6; r++) {
		struct bpf_link_info i;
		char name[16];
		memset(&i, 0, sizeof(i)), memset(name, 'x', sizeof(name));
		name[15] = 0;
		i.raw_tracepoint.tp_name = rooms[r] ? (ulong)name : 0, i.raw_tracepoint.tp_name_len = rooms[r];
		attr.info.bpf_fd = fd, attr.info.info = (ulong)&i, attr.info.info_len = sizeof(i);
		long ret = bpf(BPF_OBJ_GET_INFO_BY_FD);
		say("    room %d: %r '%s' length %d\n", rooms[r], ret, name, i.raw_tracepoint.tp_name_len);
	}
}

static void exercise(const char *what, long link, long same, long other, long wrong)
{
	say("%s: %r\n", what, link < 0 ? link : 0);
	if (link < 0)
		return;
	fdinfo(link), info(link);
	static const char *const names[] = { "other", "same", "wrong kind", "no program", "with an old one", "with the old one", "with a flag", "with an old one without a flag" };
	for (int i = 0; i < 8; i++) {
		attr.link_update.link_fd = link;
		attr.link_update.new_prog_fd = i == 1 ? same : i == 2 ? wrong : i == 3 ? 9999 : other;
		if (i == 4) attr.link_update.old_prog_fd = same, attr.link_update.flags = BPF_F_REPLACE, attr.link_update.new_prog_fd = same;
		if (i == 5) attr.link_update.old_prog_fd = other, attr.link_update.flags = BPF_F_REPLACE, attr.link_update.new_prog_fd = same;
		if (i == 6) attr.link_update.flags = 1;
		if (i == 7) attr.link_update.old_prog_fd = same;
		say("    update, %s: %r\n", names[i], bpf(BPF_LINK_UPDATE));
		if (i == 3) { attr.link_update.link_fd = link, attr.link_update.new_prog_fd = other; bpf(BPF_LINK_UPDATE); }
	}
	attr.link_detach.link_fd = link;
	long ret = bpf(BPF_LINK_DETACH);
	say("    detach %r", ret);
	attr.link_detach.link_fd = link;
	say(" again %r\n", bpf(BPF_LINK_DETACH));
	if (!ret) {
		fdinfo(link), info(link);
		attr.link_update.link_fd = link, attr.link_update.new_prog_fd = other;
		say("    update after that %r\n", bpf(BPF_LINK_UPDATE));
	}
	attr.iter_create.link_fd = link;
	long it = bpf(BPF_ITER_CREATE);
	if (it != -EINVAL)
		say("    iterator %r\n", it < 0 ? it : 0);
	attr.iter_create.link_fd = link, attr.iter_create.flags = 1;
	say("    iterator with a flag %r\n", bpf(BPF_ITER_CREATE));
	sys(__NR_close, link);
}

static long create(long prog, long target, int attach, int flags)
{
	attr.link_create.prog_fd = prog, attr.link_create.target_fd = target, attr.link_create.attach_type = attach, attr.link_create.flags = flags;
	return bpf(BPF_LINK_CREATE);
}

static void kinds(void)
{
	long filter = load(BPF_PROG_TYPE_SOCKET_FILTER, 0, none, 2, 0);
	long a = load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, none, 2, 0), b = load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, one, 2, 0);
	attr.raw_tracepoint.name = (ulong)"sched_switch", attr.raw_tracepoint.prog_fd = a;
	long raw = bpf(BPF_RAW_TRACEPOINT_OPEN);
	names_too_long(raw);
	exercise("raw tracepoint", raw, a, b, filter);
	unsigned target = btf_id("bpf_fentry_test1", 12);
	say("found %d\n", target > 0);
	a = load(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, none, 2, target), b = load(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, none, 2, target);
	attr.raw_tracepoint.prog_fd = a;
	exercise("fentry", bpf(BPF_RAW_TRACEPOINT_OPEN), a, b, filter);
	exercise("fentry by link_create", create(a, 0, BPF_TRACE_FENTRY, 0), a, b, filter);
	exercise("fentry, a flag", create(a, 0, BPF_TRACE_FENTRY, 1), a, b, filter);
	exercise("fentry as fexit", create(a, 0, BPF_TRACE_FEXIT, 0), a, b, filter);
	exercise("fentry at a file", create(a, 1, BPF_TRACE_FENTRY, 0), a, b, filter);
	long group = sys(__NR_open, "/sys/fs/cgroup", O_RDONLY);
	a = load(BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS, one, 2, 0), b = load(BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS, one, 2, 0);
	exercise("cgroup", create(a, group, BPF_CGROUP_INET_EGRESS, 0), a, b, filter);
	exercise("cgroup, a flag", create(a, group, BPF_CGROUP_INET_EGRESS, 2), a, b, filter);
	exercise("cgroup, as another type", create(a, group, BPF_CGROUP_INET_INGRESS, 0), a, b, filter);
	exercise("cgroup, wrong type", create(a, group, BPF_CGROUP_DEVICE, 0), a, b, filter);
	exercise("cgroup at a file", create(a, 1, BPF_CGROUP_INET_EGRESS, 0), a, b, filter);
	exercise("cgroup at nothing", create(a, 9999, BPF_CGROUP_INET_EGRESS, 0), a, b, filter);
	long net = sys(__NR_open, "/proc/self/ns/net", O_RDONLY);
	a = load(BPF_PROG_TYPE_SK_LOOKUP, BPF_SK_LOOKUP, one, 2, 0), b = load(BPF_PROG_TYPE_SK_LOOKUP, BPF_SK_LOOKUP, one, 2, 0);
	exercise("sk_lookup", create(a, net, BPF_SK_LOOKUP, 0), a, b, filter);
	exercise("sk_lookup, a flag", create(a, net, BPF_SK_LOOKUP, 1), a, b, filter);
	exercise("sk_lookup at a group", create(a, group, BPF_SK_LOOKUP, 0), a, b, filter);
	a = load(BPF_PROG_TYPE_FLOW_DISSECTOR, BPF_FLOW_DISSECTOR, none, 2, 0), b = load(BPF_PROG_TYPE_FLOW_DISSECTOR, BPF_FLOW_DISSECTOR, none, 2, 0);
	long first = create(a, net, BPF_FLOW_DISSECTOR, 0);
	exercise("flow dissector, a second", create(b, net, BPF_FLOW_DISSECTOR, 0), a, b, filter);
	exercise("flow dissector", first, a, b, filter);
	a = load(BPF_PROG_TYPE_XDP, 0, one, 2, 0), b = load(BPF_PROG_TYPE_XDP, 0, one, 2, 0);
	exercise("xdp", create(a, 1, BPF_XDP, 0), a, b, filter);
	exercise("xdp in generic mode", create(a, 1, BPF_XDP, 2), a, b, filter);
	exercise("xdp in the driver", create(a, 1, BPF_XDP, 4), a, b, filter);
	exercise("xdp, two modes", create(a, 1, BPF_XDP, 6), a, b, filter);
	exercise("xdp nowhere", create(a, 99, BPF_XDP, 0), a, b, filter);
	exercise("a filter", create(filter, 1, 0, 0), a, b, filter);
	exercise("nothing", create(9999, 1, BPF_XDP, 0), a, b, filter);
	attr.link_detach.link_fd = 1;
	say("detach of a file %r\n", bpf(BPF_LINK_DETACH));
	attr.link_update.link_fd = 1, attr.link_update.new_prog_fd = a;
	say("update of a file %r\n", bpf(BPF_LINK_UPDATE));
}

static void iterators(void)
{
	static const char *const targets[] = { "task", "task_file", "task_vma", "bpf_map", "bpf_map_elem", "bpf_sk_storage_map", "sockmap", "bpf_prog",
		"bpf_link", "tcp", "udp", "unix", "netlink", "ipv6_route", "ksym", "cgroup", "nothing" };
	struct bpf_insn code[] = { LOAD(1, 1, 0), LOAD(1, 1, 0), I(BPF_ST | BPF_MEM | BPF_H, 10, 0, -8, '\n' << 8 | 'n'), MOV(2, 10), ADD(2, -8), SET(3, 2), CALL(BPF_FUNC_seq_write), SET(0, 0), EXIT };
	static const int map_types[] = { BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_PERCPU_ARRAY, BPF_MAP_TYPE_LPM_TRIE, BPF_MAP_TYPE_SOCKMAP, BPF_MAP_TYPE_QUEUE, BPF_MAP_TYPE_LRU_HASH };
	long maps[7], group = sys(__NR_open, "/sys/fs/cgroup", O_RDONLY), it;
	for (int i = 0; i < 7; i++) {
		attr.map_type = map_types[i], attr.key_size = map_types[i] == BPF_MAP_TYPE_QUEUE ? 0 : map_types[i] == BPF_MAP_TYPE_LPM_TRIE ? 8 : 4, attr.value_size = map_types[i] == BPF_MAP_TYPE_SOCKMAP ? 4 : 8;
		attr.max_entries = 3, attr.map_flags = map_types[i] == BPF_MAP_TYPE_LPM_TRIE;
		maps[i] = bpf(BPF_MAP_CREATE);
	}
	unsigned key = 5;
	unsigned long long value = 7;
	attr.map_fd = maps[1], attr.key = (ulong)&key, attr.value = (ulong)&value;
	bpf(BPF_MAP_UPDATE_ELEM);
	static char text[60000];
	for (int t = 0; t < 17; t++) {
		char name[40] = "bpf_iter_";
		memcpy(name + 9, targets[t], strlen(targets[t]) + 1);
		unsigned id = btf_id(name, 12);
		long prog = load(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, code, 9, id);
		say("%s: load %r\n", targets[t], prog < 0 ? prog : 0);
		if (prog < 0)
			continue;
		for (int how = 0; how < 24; how++) {
			union bpf_iter_link_info with;
			memset(&with, 0, sizeof(with));
			attr.link_create.prog_fd = prog, attr.link_create.attach_type = BPF_TRACE_ITER;
			attr.link_create.iter_info = (ulong)&with, attr.link_create.iter_info_len = sizeof(with);
			if (how == 0) attr.link_create.iter_info = attr.link_create.iter_info_len = 0;
			else if (how == 1) attr.link_create.iter_info = 0;
			else if (how == 2) attr.link_create.iter_info_len = 0;
			else if (how == 3) attr.link_create.iter_info_len = 4;
			else if (how == 4) attr.link_create.iter_info_len = 4000;
			else if (how == 5) attr.link_create.flags = 1;
			else if (how == 6) attr.link_create.target_fd = 1;
			else if (how < 14) with.map.map_fd = maps[how - 7];
			else if (how < 20) {
				if (!streq(targets[t], "cgroup")) { memset(&attr, 0, sizeof(attr)); continue; }
				with.cgroup.order = how - 14, with.cgroup.cgroup_fd = how == 19 ? 1 : group;
			} else {
				if (!starts(targets[t], "task")) { memset(&attr, 0, sizeof(attr)); continue; }
				if (how == 20) with.task.tid = sys(__NR_getpid);
				if (how == 21) with.task.pid = sys(__NR_getpid);
				if (how == 22) with.task.pid = with.task.tid = sys(__NR_getpid);
				if (how == 23) with.task.pid_fd = 1;
			}
			long link = bpf(BPF_LINK_CREATE);
			say("  %d: %r", how, link < 0 ? link : 0);
			if (link < 0) {
				say("\n");
				continue;
			}
			attr.iter_create.link_fd = link;
			it = bpf(BPF_ITER_CREATE);
			say(" create %r", it < 0 ? it : 0);
			if (it >= 0) {
				long n = 0, got;
				while ((got = sys(__NR_read, it, text, sizeof(text))) > 0)
					n += got;
				say(" end %r", got);
				if (t == 4 || t == 5 || t == 6 || (how >= 20 && t != 2))
					say(" objects %d", (int)n / 2);
				say(" seek %r write %r", sys(__NR_lseek, it, 0, 0), sys(__NR_write, it, text, 1));
				say(" poll %d", polled(it, 0xffff));
				sys(__NR_close, it);
			}
			say("\n");
			if (how == 0 || how == 8 || how == 15 || how == 20)
				fdinfo(link);
			info(link);
			attr.link_update.link_fd = link, attr.link_update.new_prog_fd = prog;
			say("    update %r", bpf(BPF_LINK_UPDATE));
			attr.link_detach.link_fd = link;
			say(" detach %r\n", bpf(BPF_LINK_DETACH));
			sys(__NR_close, link);
		}
		sys(__NR_close, prog);
	}
}

int main(int argc, char **argv)
{
	kinds();
	iterators();
	return 0;
}
