/* Links of perf events, security hooks and programs; ids, pins, iteration; what becomes of a link whose target goes away.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/btf.h>
#include <linux/perf_event.h>

static struct bpf_insn none[] = { SET(0, 0), EXIT }, one[] = { SET(0, 1), EXIT };

static long load(int type, int attach, const struct bpf_insn *code, int count, unsigned target)
{
	attr.prog_type = type, attr.expected_attach_type = attach, attr.attach_btf_id = target;
	attr.insns = (ulong)code, attr.insn_cnt = count, attr.license = (ulong)"GPL";
	return bpf(BPF_PROG_LOAD);
}

static long create(long prog, long target, int attach, int flags)
{
	attr.link_create.prog_fd = prog, attr.link_create.target_fd = target, attr.link_create.attach_type = attach, attr.link_create.flags = flags;
	return bpf(BPF_LINK_CREATE);
}

static void path_of(char *to, const char *folder, long fd)
{
	char digits[12], *p = to + strlen(folder);
	int n = 0;
	memcpy(to, folder, strlen(folder));
	do digits[n++] = '0' + fd % 10; while (fd /= 10);
	while (n) *p++ = digits[--n];
	*p = 0;
}

/* Everything that a descriptor tells of its link; ids are shown as whether there is one. */
static void tell(long fd)
{
	static char text[2000];
	char path[64];
	path_of(path, "/proc/self/fdinfo/", fd);
	slurp(path, text, sizeof(text));
	static const char *const shown[] = { "link_type", "tp_name", "attach_type", "cgroup_id", "netns_ino", "ifindex", "target_name", 0 };
	say("    fdinfo");
	for (char *row = text; *row;) {
		char *end = row;
		while (*end && *end != '\n') end++;
		int more = *end != 0;
		*end = 0;
		for (int i = 0; shown[i]; i++)
			if (!memcmp(row, shown[i], strlen(shown[i]))) {
				char *value = row + strlen(shown[i]) + 2;
				say(" %s=%s", shown[i], (i == 3 || i == 4) ? (*value == '0' ? "0" : "some") : value);
			}
		row = end + more;
	}
	path_of(path, "/proc/self/fd/", fd);
	memset(text, 0, 100);
	sys(__NR_readlink, path, text, 99);
	struct bpf_link_info i;
	memset(&i, 0, sizeof(i));
	attr.info.bpf_fd = fd, attr.info.info = (ulong)&i, attr.info.info_len = sizeof(i);
	long ret = bpf(BPF_OBJ_GET_INFO_BY_FD);
	say("\n    %s info %r type %d id %d prog %d", text, ret, i.type, i.id != 0, i.prog_id != 0);
	if (i.type == BPF_LINK_TYPE_TRACING)
		say(" attach %d object %s function %d", i.tracing.attach_type, i.tracing.target_obj_id == 1 ? "kernel" : i.tracing.target_obj_id ? "program" : "none", i.tracing.target_btf_id != 0);
	if (i.type == BPF_LINK_TYPE_CGROUP)
		say(" attach %d group %d", i.cgroup.attach_type, i.cgroup.cgroup_id != 0);
	if (i.type == BPF_LINK_TYPE_NETNS)
		say(" attach %d namespace %d", i.netns.attach_type, i.netns.netns_ino != 0);
	if (i.type == BPF_LINK_TYPE_XDP)
		say(" device %d", i.xdp.ifindex);
	say("\n");
}

static unsigned id_of(long fd)
{
	struct bpf_link_info i;
	memset(&i, 0, sizeof(i));
	attr.info.bpf_fd = fd, attr.info.info = (ulong)&i, attr.info.info_len = sizeof(i);
	bpf(BPF_OBJ_GET_INFO_BY_FD);
	return i.id;
}

static void change(long link, long same, long other, long wrong)
{
	static const struct { const char *name; int new, old, flags; } rows[] = {
		{ "other", 1, -1, 0 }, { "same", 0, -1, 0 }, { "wrong", 2, -1, 0 }, { "old", 1, 0, 4 }, { "not the old", 1, 0, 4 },
		{ "old is none", 1, -2, 4 }, { "old unasked", 1, 1, 0 }, { "multi", 1, -1, 2 }, { "none", -2, -1, 0 } };
	long progs[] = { same, other, wrong };
	say("    update");
	for (int i = 0; i < 9; i++) {
		attr.link_update.link_fd = link, attr.link_update.flags = rows[i].flags;
		attr.link_update.new_prog_fd = rows[i].new < 0 ? 9999 : progs[rows[i].new];
		attr.link_update.old_prog_fd = rows[i].old == -1 ? 0 : rows[i].old < 0 ? 9999 : progs[rows[i].old];
		long ret = bpf(BPF_LINK_UPDATE);
		say(ret == -ENOLINK ? " %s ENOLINK" : " %s %r", rows[i].name, ret);
	}
	say("\n");
}

static void detach(long link)
{
	attr.link_detach.link_fd = link;
	say("    detach %r", bpf(BPF_LINK_DETACH));
	attr.link_detach.link_fd = link;
	say(" %r\n", bpf(BPF_LINK_DETACH));
}

/* A second descriptor by id and by pin; both of the same link, which lives as long as one of them. */
static void doors(long link)
{
	unsigned id = id_of(link);
	attr.link_id = id;
	long again = bpf(BPF_LINK_GET_FD_BY_ID);
	say("    by id %r same %d", again < 0 ? again : 0, again >= 0 && id_of(again) == id);
	attr.bpf_fd = link, attr.pathname = (ulong)"/sys/fs/bpf/link";
	say(" pin %r", bpf(BPF_OBJ_PIN));
	attr.bpf_fd = link, attr.pathname = (ulong)"/sys/fs/bpf/link";
	say(" again %r", bpf(BPF_OBJ_PIN));
	for (int flags = 0; flags < 0x20; flags += 8) {
		attr.pathname = (ulong)"/sys/fs/bpf/link", attr.file_flags = flags;
		long got = bpf(BPF_OBJ_GET);
		say(" get %r", got < 0 ? got : id_of(got) == id);
		if (got >= 0)
			sys(__NR_close, got);
	}
	say("\n");
	if (again >= 0)
		tell(again);
	sys(__NR_close, link), sys(__NR_close, again);
	attr.link_id = id;
	again = bpf(BPF_LINK_GET_FD_BY_ID);
	say("    only the pin: by id %r", again < 0 ? again : 0);
	sys(__NR_close, again);
	say(" unlink %r", sys(__NR_unlink, "/sys/fs/bpf/link"));
	nap(100);
	attr.link_id = id;
	say(" then %r\n", bpf(BPF_LINK_GET_FD_BY_ID));
}

static void exercise(const char *what, long link, long same, long other, long wrong)
{
	say("%s: %r\n", what, link < 0 ? link : 0);
	if (link < 0)
		return;
	tell(link), change(link, same, other, wrong), detach(link), tell(link), doors(link);
}

/* ---- perf events ---- */

static long number(const char *path)
{
	char text[32];
	long n = 0;
	if (slurp(path, text, sizeof(text)) < 0)
		return -1;
	for (char *c = text; *c >= '0' && *c <= '9'; c++)
		n = 10 * n + *c - '0';
	return n;
}

static long event(int type, long config, const char *name)
{
	struct perf_event_attr a;
	memset(&a, 0, sizeof(a));
	a.type = type, a.size = sizeof(a), a.config = config, a.sample_period = 1000000;
	if (name)
		a.kprobe_func = (ulong)name, a.sample_period = 1;
	return sys(__NR_perf_event_open, &a, -1, 0, -1, 0);
}

static void perf_events(long filter)
{
	static const struct { const char *name; int type, attach; } kinds[] = {
		{ "tracepoint", BPF_PROG_TYPE_TRACEPOINT, 0 }, { "kprobe", BPF_PROG_TYPE_KPROBE, 0 },
		{ "perf_event", BPF_PROG_TYPE_PERF_EVENT, 0 }, { "raw tracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT, 0 } };
	long ids[3] = { PERF_TYPE_TRACEPOINT, number("/sys/bus/event_source/devices/kprobe/type"), PERF_TYPE_SOFTWARE };
	long progs[4][2];
	for (int p = 0; p < 4; p++)
		progs[p][0] = load(kinds[p].type, 0, none, 2, 0), progs[p][1] = load(kinds[p].type, 0, one, 2, 0);
	for (int e = 0; e < 3; e++)
		for (int p = 0; p < 4; p++) {
			long fd = event(ids[e], e == 0 ? number("/sys/kernel/tracing/events/sched/sched_switch/id") : 0, e == 1 ? "do_nanosleep" : 0);
			say("%s event, %s program: event %r\n", kinds[e].name, kinds[p].name, fd < 0 ? fd : 0);
			say("  flag %r", create(progs[p][0], fd, BPF_PERF_EVENT, 1));
			say(" another type %r", create(progs[p][0], fd, BPF_TRACE_FENTRY, 0));
			say(" none %r", create(progs[p][0], fd, 0, 0));
			say(" a program as event %r", create(progs[p][0], progs[p][0], BPF_PERF_EVENT, 0));
			say(" no file %r\n", create(progs[p][0], 9999, BPF_PERF_EVENT, 0));
			long link = create(progs[p][0], fd, BPF_PERF_EVENT, 0);
			if (link >= 0) {
				long second = create(progs[p][1], fd, BPF_PERF_EVENT, 0);
				say("  a second %r", second < 0 ? second : 0);
				say(" by ioctl %r", sys(__NR_ioctl, fd, PERF_EVENT_IOC_SET_BPF, progs[p][1]));
				say(" the same by ioctl %r\n", sys(__NR_ioctl, fd, PERF_EVENT_IOC_SET_BPF, progs[p][0]));
				if (second >= 0)
					sys(__NR_close, second);
			}
			if (link >= 0 && e == p)
				sys(__NR_close, fd), fd = -1; /* the link keeps it */
			exercise("  link", link, progs[p][0], progs[p][1], filter);
			if (fd >= 0)
				sys(__NR_close, fd);
		}
	long multi = load(BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI, none, 2, 0);
	say("kprobe_multi: load %r", multi < 0 ? multi : 0);
	static const char *names[] = { "do_nanosleep", "nothing_of_the_kind" };
	for (int i = 0; i < 6; i++) {
		attr.link_create.prog_fd = i == 5 ? progs[1][0] : multi, attr.link_create.attach_type = i == 4 ? BPF_PERF_EVENT : BPF_TRACE_KPROBE_MULTI;
		attr.link_create.kprobe_multi.syms = (ulong)names, attr.link_create.kprobe_multi.cnt = i;
		attr.link_create.kprobe_multi.flags = i == 3 ? 2 : 0;
		say(" %r", bpf(BPF_LINK_CREATE));
	}
	say("\n");
}

/* ---- trampolines ---- */

/* int; struct __sk_buff *; int (struct __sk_buff *context); the functions main and sub */
static long types(void)
{
	static const char names[] = "\0int\0main\0sub\0context\0__sk_buff";
	static const unsigned rows[] = {
		1, BTF_KIND_INT << 24, 4, BTF_INT_SIGNED << 24 | 32,  /* 1 int */
		0, BTF_KIND_PTR << 24, 6,			      /* 2 */
		0, BTF_KIND_FUNC_PROTO << 24 | 1, 1, 14, 2,	      /* 3 int (void *) */
		5, BTF_KIND_FUNC << 24 | 1, 3,			      /* 4 main */
		10, BTF_KIND_FUNC << 24 | 1, 3,			      /* 5 sub */
		22, BTF_KIND_STRUCT << 24, 4,			      /* 6 struct __sk_buff */
	};
	struct btf_header header = { 0xeb9f, 1, 0, sizeof(header), 0, sizeof(rows), sizeof(rows), sizeof(names) };
	static char blob[400];
	memcpy(blob, &header, sizeof(header)), memcpy(blob + sizeof(header), rows, sizeof(rows)), memcpy(blob + sizeof(header) + sizeof(rows), names, sizeof(names));
	attr.btf = (ulong)blob, attr.btf_size = sizeof(header) + sizeof(rows) + sizeof(names);
	return bpf(BPF_BTF_LOAD);
}

static long typed(int type, int attach, const struct bpf_insn *code, int count, long btf, unsigned first, unsigned second, long on, unsigned on_id)
{
	static struct bpf_func_info functions[2];
	functions[0].insn_off = 0, functions[0].type_id = first;
	functions[1].insn_off = count - 2, functions[1].type_id = second;
	attr.prog_btf_fd = btf, attr.func_info = (ulong)functions, attr.func_info_cnt = second ? 2 : 1, attr.func_info_rec_size = sizeof(functions[0]);
	attr.attach_prog_fd = on, attr.attach_btf_id = on_id;
	return load(type, attach, code, count, on_id);
}

static void trampolines(long filter)
{
	static struct bpf_insn calls[] = { I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1), EXIT, SET(0, 2), EXIT };
	static const struct { const char *name; int type, attach; const char *function; } kinds[] = {
		{ "fentry", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, "bpf_fentry_test2" },
		{ "fexit", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, "bpf_fentry_test2" },
		{ "fmod_ret", BPF_PROG_TYPE_TRACING, BPF_MODIFY_RETURN, "bpf_modify_return_test" },
		{ "fmod_ret of a hook", BPF_PROG_TYPE_TRACING, BPF_MODIFY_RETURN, "security_file_open" },
		{ "lsm", BPF_PROG_TYPE_LSM, BPF_LSM_MAC, "bpf_lsm_file_open" } };
	for (int i = 0; i < 5; i++) {
		unsigned target = btf_id(kinds[i].function, BTF_KIND_FUNC);
		long a = load(kinds[i].type, kinds[i].attach, none, 2, target), b = load(kinds[i].type, kinds[i].attach, none, 2, target);
		say("%s: load %r\n", kinds[i].name, a < 0 ? a : 0);
		if (a < 0)
			continue;
		exercise(kinds[i].name, create(a, 0, kinds[i].attach, 0), a, b, filter);
		a = load(kinds[i].type, kinds[i].attach, none, 2, target);
		long link = create(a, 0, kinds[i].attach, 0);
		say("  twice %r", create(a, 0, kinds[i].attach, 0));
		sys(__NR_close, link), nap(50);
		link = create(a, 0, kinds[i].attach, 0);
		say(" after it is gone %r", link < 0 ? link : 0);
		say(" as perf event %r", create(b, 0, BPF_PERF_EVENT, 0));
		say(" as a group's %r\n", create(b, 0, BPF_CGROUP_DEVICE, 0));
		sys(__NR_close, link), sys(__NR_close, a), sys(__NR_close, b);
	}
	long btf = types();
	say("types %r\n", btf < 0 ? btf : 0);
	long target = typed(BPF_PROG_TYPE_SOCKET_FILTER, 0, calls, 4, btf, 4, 5, 0, 0), second = typed(BPF_PROG_TYPE_SOCKET_FILTER, 0, calls, 4, btf, 4, 5, 0, 0);
	say("programs %r %r\n", target < 0 ? target : 0, second < 0 ? second : 0);
	long a = typed(BPF_PROG_TYPE_EXT, 0, none, 2, btf, 5, 0, target, 5), b = typed(BPF_PROG_TYPE_EXT, 0, none, 2, btf, 5, 0, target, 5);
	say("extension %r\n", a < 0 ? a : 0);
	static const struct { int to, id; } places[] = { { 0, 5 }, { 1, 0 }, { 1, 4 }, { 2, 5 }, { 3, 5 }, { 1, 5 }, { 0, 0 } };
	for (int i = 0; i < 7; i++) {
		long to[] = { 0, target, filter, second };
		attr.link_create.prog_fd = a, attr.link_create.target_fd = to[places[i].to], attr.link_create.target_btf_id = places[i].id;
		long link = bpf(BPF_LINK_CREATE);
		say("extension at %d:%d: %r\n", places[i].to, places[i].id, link < 0 ? link : 0);
		if (link >= 0) {
			attr.link_create.prog_fd = b, attr.link_create.target_fd = to[places[i].to], attr.link_create.target_btf_id = places[i].id;
			say("  another there %r\n", bpf(BPF_LINK_CREATE));
			exercise("  link", link, a, b, filter);
		}
	}
	a = typed(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, none, 2, btf, 5, 0, target, 5), b = typed(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, none, 2, btf, 5, 0, target, 5);
	exercise("fentry of a program", create(a, 0, BPF_TRACE_FENTRY, 0), a, b, filter);
}

/* ---- what cannot be linked ---- */

static void refused(void)
{
	static const struct { const char *name; int type, attach; } kinds[] = {
		{ "socket filter", BPF_PROG_TYPE_SOCKET_FILTER, 0 }, { "tc", BPF_PROG_TYPE_SCHED_CLS, 0 }, { "action", BPF_PROG_TYPE_SCHED_ACT, 0 },
		{ "lwt", BPF_PROG_TYPE_LWT_IN, 0 }, { "sk_skb", BPF_PROG_TYPE_SK_SKB, BPF_SK_SKB_VERDICT }, { "sk_msg", BPF_PROG_TYPE_SK_MSG, BPF_SK_MSG_VERDICT },
		{ "reuseport", BPF_PROG_TYPE_SK_REUSEPORT, BPF_SK_REUSEPORT_SELECT }, { "syscall", BPF_PROG_TYPE_SYSCALL, 0 } };
	for (int i = 0; i < 8; i++) {
		attr.prog_flags = kinds[i].type == BPF_PROG_TYPE_SYSCALL ? BPF_F_SLEEPABLE : 0;
		long prog = load(kinds[i].type, kinds[i].attach, one, 2, 0);
		say("%s: %r:", kinds[i].name, prog < 0 ? prog : 0);
		for (int attach = 0; attach < 46; attach++) {
			long ret = create(prog, 0, attach, 0);
			if (ret != -EINVAL)
				say(" %d %r", attach, ret);
		}
		sys(__NR_close, prog);
		say("\n");
	}
}

/* ---- ids and iteration ---- */

static void ids(void)
{
	long links[4], a = load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, none, 2, 0);
	static const char *const names[] = { "sched_switch", "sched_wakeup", "sys_enter", "sys_exit" };
	for (int i = 0; i < 4; i++) {
		a = load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, none, 2, 0);
		attr.raw_tracepoint.name = (ulong)names[i], attr.raw_tracepoint.prog_fd = a;
		links[i] = bpf(BPF_RAW_TRACEPOINT_OPEN);
	}
	unsigned first = id_of(links[0]);
	sys(__NR_close, links[2]), nap(100);
	unsigned at = first - 1;
	say("ids");
	for (;;) {
		attr.start_id = at;
		long ret = sys(__NR_bpf, BPF_LINK_GET_NEXT_ID, &attr, sizeof(attr));
		at = attr.next_id;
		memset(&attr, 0, sizeof(attr));
		if (ret) { say(" %r\n", ret); break; }
		say(" +%d", at - first);
	}
	static const unsigned starts[] = { 0x7ffffffe, 0x7fffffff, 0xffffffff };
	for (int i = 0; i < 3; i++) {
		attr.start_id = starts[i];
		say("from %x: %r", (long)starts[i], bpf(BPF_LINK_GET_NEXT_ID));
		attr.link_id = starts[i];
		say(" open %r\n", bpf(BPF_LINK_GET_FD_BY_ID));
	}
	attr.start_id = first, attr.open_flags = 1;
	say("flags: next %r", bpf(BPF_LINK_GET_NEXT_ID));
	attr.link_id = first, attr.open_flags = 8;
	say(" open %r\n", bpf(BPF_LINK_GET_FD_BY_ID));
	/* the kinds and ids that the iterator meets: bpf_link.id and .type */
	struct bpf_insn code[] = { MOV(6, 1), LOAD(7, 1, 8), I(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 10, 0), I(BPF_LDX | BPF_MEM | BPF_W, 3, 7, 8, 0), I(BPF_STX | BPF_MEM | BPF_W, 10, 3, -8, 0),
		I(BPF_LDX | BPF_MEM | BPF_W, 3, 7, 12, 0), I(BPF_STX | BPF_MEM | BPF_W, 10, 3, -4, 0), LOAD(1, 6, 0), LOAD(1, 1, 0), MOV(2, 10), ADD(2, -8), SET(3, 8), CALL(BPF_FUNC_seq_write), SET(0, 0), EXIT };
	long prog = load(BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, code, 15, btf_id("bpf_iter_bpf_link", BTF_KIND_FUNC));
	long link = create(prog, 0, BPF_TRACE_ITER, 0);
	unsigned own = id_of(link);
	attr.iter_create.link_fd = link;
	long it = bpf(BPF_ITER_CREATE), got;
	struct { unsigned id, type; } row;
	say("iterated %r %r:", prog < 0 ? prog : 0, it < 0 ? it : 0);
	while ((got = sys(__NR_read, it, &row, sizeof(row))) == sizeof(row))
		if (row.id >= first)
			say(" %d%s", row.type, row.id == own ? " itself" : "");
	say(" end %r\n", got);
	exercise("the iterator's link", link, prog, prog, a);
}

/* ---- targets that go away ---- */

static void gone(void)
{
	long a = load(BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS, one, 2, 0), b = load(BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS, one, 2, 0);
	sys(__NR_mkdir, "/sys/fs/cgroup/ends", 0755);
	long group = sys(__NR_open, "/sys/fs/cgroup/ends", O_RDONLY);
	long link = create(a, group, BPF_CGROUP_INET_EGRESS, 0), other = create(b, group, BPF_CGROUP_INET_EGRESS, 0);
	say("a group: %r", sys(__NR_rmdir, "/sys/fs/cgroup/ends"));
	sys(__NR_close, group), nap(500);
	exercise(" gone", link, a, b, 9999);
	sys(__NR_close, other);

	int ends[2], word;
	sys(__NR_pipe2, ends, 0);
	long maker = fork();
	if (!maker) {
		sys(__NR_unshare, 0x40000000);
		sys(__NR_write, ends[1], "x", 1);
		nap(3000);
		leave(0);
	}
	sys(__NR_read, ends[0], &word, 1);
	char path[64];
	path_of(path, "/proc/", maker);
	memcpy(path + strlen(path), "/ns/net", 8);
	long net = sys(__NR_open, path, O_RDONLY), own = sys(__NR_open, "/proc/self/ns/net", O_RDONLY);
	long look = load(BPF_PROG_TYPE_SK_LOOKUP, BPF_SK_LOOKUP, one, 2, 0), look2 = load(BPF_PROG_TYPE_SK_LOOKUP, BPF_SK_LOOKUP, one, 2, 0);
	long flow = load(BPF_PROG_TYPE_FLOW_DISSECTOR, BPF_FLOW_DISSECTOR, none, 2, 0);
	long xdp = load(BPF_PROG_TYPE_XDP, 0, one, 2, 0), xdp2 = load(BPF_PROG_TYPE_XDP, 0, one, 2, 0);
	long in_net = create(look, net, BPF_SK_LOOKUP, 0), flows = create(flow, net, BPF_FLOW_DISSECTOR, 0);
	sys(__NR_setns, net, 0);
	long on_device = create(xdp, 1, BPF_XDP, 0);
	sys(__NR_setns, own, 0);
	sys(__NR_close, net);
	say("namespace: %r %r %r\n", in_net < 0 ? in_net : 0, flows < 0 ? flows : 0, on_device < 0 ? on_device : 0);
	tell(in_net), tell(flows), tell(on_device);
	sys(__NR_kill, maker, 9);
	wait_for(maker);
	nap(1500);
	exercise("sk_lookup in none", in_net, look, look2, flow);
	exercise("flow dissector in none", flows, flow, flow, look);
	exercise("xdp on none", on_device, xdp, xdp2, look);
}

int main(int argc, char **argv)
{
	long filter = load(BPF_PROG_TYPE_SOCKET_FILTER, 0, none, 2, 0);
	perf_events(filter);
	trampolines(filter);
	refused();
	ids();
	gone();
	return 0;
}
