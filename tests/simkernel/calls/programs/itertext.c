/* What iterators of every target see and print: members of the objects, filters, reads in small pieces, texts that do not fit.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/btf.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/netlink.h>
#include <linux/socket.h>
#include <linux/un.h>

/*
 * A number is printed of every word: where it lies by way of the context.  "8 2480 2416:4": the pointer at 8 of the context, the
 * pointer at 2480 of that, and there four bytes at 2416; "&2976" is a place itself; behind "-" less our pid, behind "^", "~" and "!" less
 * the first id of our programs, maps and links.  Offsets are those of Debian's 6.1, which the verifier checks.
 */
static const struct target {
	const char *name;
	int object; /* its place in the context */
	const char *format, *args[12];
	const char *only[2]; /* objects of which one of these is the number that `-` stands for, or not less than that of `^~!` */
} targets[] = {
	/* pid, tgid, group_leader->pid, comm, flags, prio, static_prio, cred->uid, real_parent->comm, signal->nr_threads, exit_code */
	{ "task", 8, "pid %d of %d, leader %d, %s, flags %x, prio %d %d, uid %d, parent %s, threads %d, exit %x\n",
	  { "8 2416:4 -", "8 2420:4 -", "8 2480 2416:4 -", "8 &2976", "8 44:4", "8 108:4", "8 112:4", "8 2960 8:4", "8 2432 &2976", "8 3072 8:4", "8 2312:4" }, { "8 2420:4 -" } },
	/* pid, fd; file: f_path.dentry->d_name.name, f_flags, f_mode, f_pos, f_inode->i_mode, ->i_nlink, f_count */
	{ "task_file", 8, "pid %d, fd %d, %s, flags %x, mode %x, pos %ld, inode mode %x links %d, count %ld\n",
	  { "8 2416:4 -", "16:4", "24 24 40:8", "24 64:4", "24 68:4", "24 104:8", "24 32 0:2", "24 32 72:4", "24 56:8" }, { "8 2420:4 -" } },
	/* pid; vma: vm_flags, vm_start, vm_end, vm_pgoff, vm_file->f_path.dentry->d_name.name: of those with files */
	{ "task_vma", 8, "pid %d, flags %lx, %lx to %lx at %ld, %s\n",
	  { "8 2416:4 -", "16 32:8", "16 0:8", "16 8:8", "16 104:8", "16 112 24 40:8" }, { "8 2420:4 -" } },
	/* id, map_type, key_size, value_size, max_entries, map_flags, name, usercnt, writecnt, frozen, map_extra */
	{ "bpf_map", 8, "id +%d, type %d, key %d, value %d, entries %d, flags %x, %s, users %ld, writes %ld, frozen %d, extra %ld\n",
	  { "8 68:4 ~", "8 24:4", "8 28:4", "8 32:4", "8 36:4", "8 48:4", "8 &104", "8 136:8", "8 208:8", "8 233:1", "8 40:8" }, { "8 68:4 ~" } },
	/* aux->id, type, expected_attach_type, len, pages, aux: name, used_map_cnt, func_cnt, verified_insns, stack_depth, attach_func_name, offload_requested */
	{ "bpf_prog", 8, "id +%d, type %d, attach %d, length %d, pages %d, %s, maps %d, functions %d, verified %d, stack %d, on %s, offload %d\n",
	  { "8 56 32:4 ^", "8 4:4", "8 8:4", "8 12:4", "8 0:2", "8 56 &952", "8 56 8:4", "8 56 36:4", "8 56 928:4", "8 56 28:4", "8 56 192:8", "8 56 137:1" }, { "8 56 32:4 ^" } },
	/* id, type, prog->aux->id, prog->type, refcnt */
	{ "bpf_link", 8, "id +%d, type %d, program +%d of type %d, count %ld\n", { "8 8:4 !", "8 12:4", "8 24 56 32:4 ^", "8 24 4:4", "8 0:8" }, { "8 8:4 !" } },
	/* sk_type, skc_state, skc_family, uid, addr->len, sk_shutdown, sk_ack_backlog, sk_max_ack_backlog, peer->skc_state */
	{ "unix", 8, "type %d, state %d, family %d, uid %d, name %d bytes, shutdown %d, backlog %d of %d, peer %d\n",
	  { "8 514:2", "8 18:1", "8 16:2", "16:4", "8 776 4:4", "8 610:1", "8 552:4", "8 556:4", "8 864 18:1" } },
	/* skc_family, skc_state, skc_num, skc_dport, skc_rcv_saddr, skc_daddr, uid, skc_bound_dev_if */
	{ "tcp", 8, "family %d, state %d, port %d, to %x, from %x to %x, uid %d, bound %d\n",
	  { "8 16:2", "8 18:1", "8 14:2", "8 12:2", "8 4:4", "8 0:4", "16:4", "8 20:4" } },
	/* the same without a device, skc_refcnt, sk_rcvbuf, sk_drops */
	{ "udp", 8, "family %d, state %d, port %d, to %x, from %x to %x, uid %d, refs %d, rcvbuf %d, drops %d\n",
	  { "8 16:2", "8 18:1", "8 14:2", "8 12:2", "8 4:4", "8 0:4", "16:4", "8 128:4", "8 280:4", "8 184:4" } },
	/* sk_protocol, portid, ngroups, skc_state, flags, bound, skc_refcnt, sk_drops, sk_rcvbuf */
	{ "netlink", 8, "protocol %d, port %d, groups %d, state %d, flags %lx, bound %d, refs %d, drops %d, rcvbuf %d\n",
	  { "8 516:2", "8 784:4 -", "8 800:4", "8 18:1", "8 776:8", "8 856:1", "8 128:4", "8 184:4", "8 280:4" }, { "8 784:4 -" } },
	/* fib6_dst, fib6_metric, fib6_flags, fib6_type, fib6_protocol, fib6_nsiblings, fib6_nh->nhc_dev->name */
	{ "ipv6_route", 8, "%pI6/%d, metric %d, flags %x, type %d, protocol %d, ways %d, device %s\n",
	  { "8 &64", "8 80:4", "8 128:4", "8 84:4", "8 133:1", "8 132:1", "8 40:4", "8 &168 0 &0" } },
	/* name, type, module_name, exported, show_value */
	{ "ksym", 8, "%s type %d, module %s, exported %d, show %d\n", { "8 &53", "8 52:1", "8 &565", "8 624:4", "8 628:4" }, { "ksym" } },
	/* kn->name, level, nr_descendants, nr_dying_descendants, nr_populated_csets, freezer.e_freeze */
	{ "cgroup", 8, "%s, level %d, descendants %d, dying %d, tasks %d, frozen %d\n", { "8 248 16:8", "8 208:4", "8 216:4", "8 220:4", "8 228:4", "8 1776:4" } },
	/* key, value */
	{ "bpf_map_elem", 24, "key %d, value %d\n", { "16 0:4", "24 0:4" } },
	/* sk: skc_family, sk_type; value */
	{ "bpf_sk_storage_map", 24, "socket %d of type %d, value %d\n", { "16 16:2", "16 514:2", "24 0:4" } },
	/* key; sk: skc_family, sk_type, skc_state */
	{ "sockmap", 24, "key %d, socket %d of type %d, state %d\n", { "16 0:4", "24 16:2", "24 514:2", "24 18:1" } },
};
enum { AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10, AF_NETLINK = 16 };
#define TARGETS (int)(sizeof(targets) / sizeof(*targets))

static long pid, first_map, first_prog, first_link, formats; /* a map with one format */

/* ---- the program of a row ---- */

static struct bpf_insn code[200];
static int n;
#define EMIT(...) (code[n++] = __VA_ARGS__)

/* r8: what the words say; by r6, the context, or the two pointers of it that are known to be something: r7, r9 */
static int first, second;
static const char *emit_path(const char *at)
{
	int from = 6;
	for (int i = 0; i < 2; i++) {
		int off = i ? second : first, digits = off > 9 ? 2 : 1;
		char text[2] = { digits == 2 ? '0' + off / 10 : '0' + off, '0' + off % 10 };
		if (from == 6 && !memcmp(at, text, digits) && at[digits] == ' ')
			from = i ? 9 : 7, at += digits + 1;
	}
	while (*at && *at != ' ' && *at != '-') {
		int place = *at == '&', off = 0, size = 0;
		at += place;
		while (*at >= '0' && *at <= '9') off = 10 * off + *at++ - '0';
		if (*at == ':')
			for (at++; *at >= '0' && *at <= '9'; at++) size = 10 * size + *at - '0';
		if (place) {
			if (from != 8) EMIT(MOV(8, from));
			if (off) EMIT(ADD(8, off));
		} else
			EMIT(I(BPF_LDX | BPF_MEM | (size == 1 ? BPF_B : size == 2 ? BPF_H : size == 4 ? BPF_W : BPF_DW), 8, from, off, 0));
		from = 8;
		if (*at == ' ' && at[1] != '-' && at[1] != '^' && at[1] != '~' && at[1] != '!') at++;
		else break;
	}
	if (*at == ' ') {
		at++;
		EMIT(ADD(8, -(int)(*at == '-' ? pid : *at == '^' ? first_prog : *at == '~' ? first_map : first_link)));
	}
	return at;
}

static long program(const struct target *t)
{
	int count = 0, skip[4], skips = 0, shows[4], show = 0;
	while (count < 12 && t->args[count]) count++;
	n = 0;
	first = t->object;
	second = first == 24 || streq(t->name, "task_vma") ? 16 : streq(t->name, "task_file") ? 24 : 0;
	EMIT(MOV(6, 1)), EMIT(LOAD(7, 6, first));
	skip[skips++] = n, EMIT(I(BPF_JMP | BPF_JEQ | BPF_K, 7, 0, 0, 0));
	if (second) {
		EMIT(LOAD(9, 6, second));
		skip[skips++] = n, EMIT(I(BPF_JMP | BPF_JEQ | BPF_K, 9, 0, 0, 0));
	}
	if (streq(t->name, "task_vma")) {
		EMIT(LOAD(8, 9, 112));
		skip[skips++] = n, EMIT(I(BPF_JMP | BPF_JEQ | BPF_K, 8, 0, 0, 0));
	}
	if (t->only[0] && streq(t->only[0], "ksym")) { /* vfs_read */
		static const char name[] = "vfs_read";
		unsigned words[2];
		memcpy(words, name, 8);
		EMIT(SET(1, 0)), EMIT(STORE(10, 1, -200));
		EMIT(MOV(1, 10)), EMIT(ADD(1, -208)), EMIT(SET(2, 9)), EMIT(MOV(3, 7)), EMIT(ADD(3, 53)), EMIT(CALL(BPF_FUNC_probe_read_kernel));
		EMIT(I(BPF_LD | BPF_DW | BPF_IMM, 1, 0, 0, words[0])), EMIT(I(0, 0, 0, 0, words[1])), EMIT(LOAD(2, 10, -208));
		skip[skips++] = n, EMIT(I(BPF_JMP | BPF_JNE | BPF_X, 2, 1, 0, 0));
		EMIT(LOAD(2, 10, -200));
		skip[skips++] = n, EMIT(I(BPF_JMP | BPF_JNE | BPF_K, 2, 0, 0, 0));
	} else if (t->only[0]) {
		for (int i = 0; i < 2 && t->only[i]; i++) {
			const char *end = emit_path(t->only[i]);
			if (*end == '-') EMIT(I(BPF_ALU | BPF_MOV | BPF_X, 8, 8, 0, 0));
			shows[show++] = n, EMIT(I(BPF_JMP | (*end == '-' ? BPF_JEQ : BPF_JSGE) | BPF_K, 8, 0, 0, 0));
		}
		skip[skips++] = n, EMIT(I(BPF_JMP | BPF_JA, 0, 0, 0, 0));
	}
	for (int i = 0; i < show; i++) code[shows[i]].off = n - shows[i] - 1;
	for (int i = 0; i < count; i++)
		emit_path(t->args[i]), EMIT(STORE(10, 8, -8 * (count - i)));
	EMIT(LOAD(1, 6, 0)), EMIT(LOAD(1, 1, 0));
	EMIT(I(BPF_LD | BPF_DW | BPF_IMM, 2, BPF_PSEUDO_MAP_VALUE, 0, formats)), EMIT(I(0, 0, 0, 0, 0));
	EMIT(SET(3, (int)strlen(t->format) + 1)), EMIT(MOV(4, 10)), EMIT(ADD(4, -8 * count)), EMIT(SET(5, 8 * count)), EMIT(CALL(BPF_FUNC_seq_printf));
	for (int i = 0; i < skips; i++) code[skip[i]].off = n - skip[i] - 1;
	EMIT(SET(0, 0)), EMIT(EXIT);

	static char text[256];
	memset(text, 0, sizeof(text)), memcpy(text, t->format, strlen(t->format));
	bpf_element(BPF_MAP_UPDATE_ELEM, formats, 0, text);
	char name[40] = "bpf_iter_";
	static char log[60000];
	memcpy(name + 9, t->name, strlen(t->name) + 1);
	unsigned target = btf_id(name, BTF_KIND_FUNC);
	attr.expected_attach_type = BPF_TRACE_ITER, attr.attach_btf_id = target;
	memcpy(attr.prog_name, t->name, strlen(t->name) > 15 ? 15 : strlen(t->name));
	attr.log_level = 1, attr.log_buf = (ulong)log, attr.log_size = sizeof(log);
	long prog = bpf_program(BPF_PROG_TYPE_TRACING, code, n);
	if (prog < 0)
		say("%s\n", log);
	return prog;
}

/* ---- reading ---- */

static char whole[70000], again[70000], pieced[70000];

static long link_of(long prog, union bpf_iter_link_info *with)
{
	attr.link_create.prog_fd = prog, attr.link_create.attach_type = BPF_TRACE_ITER;
	if (with)
		attr.link_create.iter_info = (ulong)with, attr.link_create.iter_info_len = sizeof(*with);
	return bpf(BPF_LINK_CREATE);
}

static long opened(long link)
{
	attr.iter_create.link_fd = link;
	return bpf(BPF_ITER_CREATE);
}

static long all(long it, char *to, long piece)
{
	long length = 0, got = 0;
	while (length + piece < 70000 && (got = sys(__NR_read, it, to + length, piece)) > 0)
		length += got;
	to[length] = 0;
	sys(__NR_close, it);
	return got < 0 ? got : length;
}

/* lines that come in the order of a hash of addresses */
static int sorts;
static void sorted(char *text)
{
	char *lines[100];
	int count = 0;
	memcpy(again, text, strlen(text) + 1);
	for (char *at = again; *at;) {
		lines[count++] = at;
		while (*at != '\n') at++;
		*at++ = 0;
	}
	for (int i = 0; i < count; i++)
		for (int j = i + 1; j < count; j++) {
			const char *a = lines[i], *b = lines[j];
			while (*a && *a == *b) a++, b++;
			if (*a > *b) { char *t = lines[i]; lines[i] = lines[j], lines[j] = t; }
		}
	for (int i = 0; i < count; i++) {
		memcpy(text, lines[i], strlen(lines[i])), text += strlen(lines[i]);
		*text++ = '\n';
	}
}

static void show(const char *what, long prog, union bpf_iter_link_info *with)
{
	static const int pieces[] = { 1, 13, 4096 };
	long link = link_of(prog, with);
	say("%s: %r\n", what, link < 0 ? link : 0);
	if (link < 0)
		return;
	long length = all(opened(link), whole, 60000);
	if (length < 0)
		say("read %r\n", length);
	if (sorts)
		sorted(whole);
	say("%s", whole);
	for (int i = sorts ? 2 : 0; i < 3; i++) {
		long got = all(opened(link), pieced, pieces[i]);
		if (sorts)
			sorted(pieced);
		say("  in pieces of %d: %s\n", pieces[i], got < 0 ? "error" : streq(whole, pieced) ? "the same" : "other");
	}
	sys(__NR_close, link);
}

/* ---- what there is to see ---- */

static unsigned id_of(long fd, int at)
{
	unsigned info[60];
	memset(info, 0, sizeof(info));
	attr.info.bpf_fd = fd, attr.info.info = (ulong)info, attr.info.info_len = at ? 88 : 48;
	bpf(BPF_OBJ_GET_INFO_BY_FD);
	return info[1];
}

static long inet(int family, int type, int port, int listens)
{
	struct sockaddr_in6 a = { AF_INET6, __builtin_bswap16(port) };
	struct sockaddr_in b = { AF_INET, __builtin_bswap16(port) };
	long fd = sys(__NR_socket, family, type, 0);
	b.sin_addr.s_addr = __builtin_bswap32(0x7f000001);
	sys(__NR_bind, fd, family == AF_INET ? (void *)&b : (void *)&a, family == AF_INET ? sizeof(b) : sizeof(a));
	if (listens)
		sys(__NR_listen, fd, 5);
	return fd;
}

/* values of int, as such a map wants it told */
static long socket_storage(void)
{
	static const struct { struct btf_header h; unsigned types[4]; char text[5]; } btf = {
		{ 0xeb9f, 1, 0, sizeof(struct btf_header), 0, 16, 16, 5 }, { 1, BTF_KIND_INT << 24, 4, BTF_INT_SIGNED << 24 | 32 }, "\0int" };
	attr.btf = (ulong)&btf, attr.btf_size = sizeof(struct btf_header) + 21;
	long types = bpf(BPF_BTF_LOAD);
	attr.btf_fd = types, attr.btf_key_type_id = 1, attr.btf_value_type_id = 1;
	attr.map_type = BPF_MAP_TYPE_SK_STORAGE, attr.key_size = 4, attr.value_size = 4, attr.map_flags = 1;
	return bpf(BPF_MAP_CREATE);
}

static void ended(int sig, void *info, void *context) { leave(3); }

static void tasks(long *progs)
{
	int ready[2];
	sys(__NR_pipe2, ready, 0);
	long child = fork();
	if (!child) {
		on_signal(10, ended, 0);
		for (int fd = 0; fd < 3; fd++)
			sys(__NR_dup2, ready[1], fd); /* the same everywhere */
		sys(__NR_prctl, 15, "the child");
		sys(__NR_open, "/proc/version", O_RDONLY);
		sys(__NR_write, ready[1], "x", 1);
		sys(__NR_pause);
		leave(4);
	}
	char c;
	sys(__NR_read, ready[0], &c, 1);
	nap(50);
	pid = child;
	for (int t = 0; t < 3; t++) { /* each with a map of its own, which holds one text */
		formats = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 256, 1, 0);
		progs[t] = program(&targets[t]);
	}
	show("tasks", progs[0], 0);
	static const struct { const char *name; int tid, pid, fd; } ways[] = { { "tid", 1, 0, 0 }, { "pid", 0, 1, 0 }, { "pidfd", 0, 0, 1 } };
	for (int t = 0; t < 3; t++)
		for (int w = 0; w < 3; w++) {
			union bpf_iter_link_info with;
			memset(&with, 0, sizeof(with));
			long fd = sys(__NR_pidfd_open, child, 0);
			if (ways[w].tid) with.task.tid = child;
			if (ways[w].pid) with.task.pid = child;
			if (ways[w].fd) with.task.pid_fd = fd;
			say("%s by %s, ", targets[t].name, ways[w].name);
			show("of the child", progs[t], &with);
			sys(__NR_close, fd);
		}
	sys(__NR_kill, child, 10);
	nap(50);
	show("a zombie", progs[0], 0);
	union bpf_iter_link_info with;
	memset(&with, 0, sizeof(with));
	with.task.pid = child;
	show("files of a zombie", progs[1], &with);
	show("areas of a zombie", progs[2], &with);
	wait_for(child);
	show("who is gone", progs[0], &with);
	pid = sys(__NR_getpid);
}

static void groups(long prog)
{
	static const char *const paths[] = { "/sys/fs/cgroup/it", "/sys/fs/cgroup/it/a", "/sys/fs/cgroup/it/a/b", "/sys/fs/cgroup/it/c" };
	for (int i = 0; i < 4; i++)
		sys(__NR_mkdir, paths[i], 0755);
	static const char *const orders[] = { 0, "itself", "from above", "from below", "upwards" };
	for (int where = 0; where < 3; where += 2)
		for (int order = 1; order < 5; order++) {
			union bpf_iter_link_info with;
			memset(&with, 0, sizeof(with));
			with.cgroup.order = order, with.cgroup.cgroup_fd = sys(__NR_open, paths[where], O_RDONLY);
			if (order == 4 && where == 0)
				continue;
			say("from %s, ", paths[where]);
			long link = link_of(prog, &with);
			say("%s: %r\n", orders[order], link < 0 ? link : 0);
			long it = opened(link), got = sys(__NR_read, it, whole, 60000);
			whole[got < 0 ? 0 : got] = 0;
			if (order == 4) { /* the root is the machine's */
				char *end = whole;
				while (*end && !(*end == ',' && end > whole && end[-1] == '\n')) end++;
				for (char *c = whole; *c; c++) if (*c == '/' ) { *c = 0; break; }
			}
			say("%s", whole);
			say("then %r\n", sys(__NR_read, it, whole, 60000));
			sys(__NR_close, it), sys(__NR_close, link), sys(__NR_close, with.cgroup.cgroup_fd);
		}
	for (int i = 3; i >= 0; i--)
		sys(__NR_rmdir, paths[i]);
}

/* Texts that fill eight pages, and more than that. */
static void overflow(void)
{
	static const int sizes[] = { 100, 4000, 16000, 32767, 32768, 40000 };
	for (int s = 0; s < 6; s++) {
		long map = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 40000, 20, 0);
		struct bpf_insn writes[] = { LOAD(2, 1, 24), I(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 4, 0), LOAD(1, 1, 0), LOAD(1, 1, 0), SET(3, sizes[s]), CALL(BPF_FUNC_seq_write), SET(0, 0), EXIT };
		unsigned target = btf_id("bpf_iter_bpf_map_elem", BTF_KIND_FUNC);
	attr.expected_attach_type = BPF_TRACE_ITER, attr.attach_btf_id = target;
		long prog = bpf_program(BPF_PROG_TYPE_TRACING, writes, 8);
		union bpf_iter_link_info with;
		memset(&with, 0, sizeof(with));
		with.map.map_fd = map;
		long link = link_of(prog, &with), it = opened(link), got;
		say("elements of %d bytes: %r %r:", sizes[s], prog < 0 ? prog : 0, link < 0 ? link : 0);
		int reads = 0;
		while ((got = sys(__NR_read, it, whole, 60000)) > 0 && reads++ < 30)
			say(" %l", got);
		say(" %r again %r\n", got, sys(__NR_read, it, whole, 60000));
		sys(__NR_close, it), sys(__NR_close, link), sys(__NR_close, prog), sys(__NR_close, map);
	}
	/* answers of 1: the object waits for the next read */
	for (int when = 0; when < 4; when++) {
		long map = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 8, 6, 0), counts = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
		struct bpf_insn writes[] = { MOV(6, 1), LOAD(2, 6, 24), I(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 10, 0), LOAD(1, 6, 0), LOAD(1, 1, 0), SET(3, 8), CALL(BPF_FUNC_seq_write),
			I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_VALUE, 0, counts), { 0 }, LOAD(2, 1, 0), ADD(2, 1), STORE(1, 2, 0),
			I(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 2, when == 0 ? 1 : when == 1 ? 3 : when == 2 ? 6 : 99), SET(0, 0), EXIT, SET(0, 1), EXIT };
		unsigned target = btf_id("bpf_iter_bpf_map_elem", BTF_KIND_FUNC);
	attr.expected_attach_type = BPF_TRACE_ITER, attr.attach_btf_id = target;
		long prog = bpf_program(BPF_PROG_TYPE_TRACING, writes, 17);
		union bpf_iter_link_info with;
		memset(&with, 0, sizeof(with));
		with.map.map_fd = map;
		long link = link_of(prog, &with), it = opened(link);
		say("an answer of 1: %r %r:", prog < 0 ? prog : 0, link < 0 ? link : 0);
		for (int i = 0; i < 5; i++)
			say(" %r", sys(__NR_read, it, whole, 20));
		unsigned long long count = 0;
		bpf_element(BPF_MAP_LOOKUP_ELEM, counts, 0, &count);
		say(" calls %L\n", count);
		sys(__NR_close, it), sys(__NR_close, link), sys(__NR_close, prog), sys(__NR_close, map), sys(__NR_close, counts);
	}
}

int main(int argc, char **argv)
{
	long progs[TARGETS], held[20];
	if (!(sys(__NR_personality, 0xffffffff) & 0x40000)) { /* without ADDR_NO_RANDOMIZE: a flag of tasks */
		sys(__NR_personality, 0x40000);
		sys(__NR_execve, "/proc/self/exe", argv, 0);
	}
	sys(__NR_unshare, 0x40000000); /* sockets and routes are those of this namespace */
	struct { char name[16]; short flags; char more[22]; } ifr = { "lo", 1 };
	long any = sys(__NR_socket, AF_INET, 2, 0);
	sys(__NR_ioctl, any, 0x8914, &ifr);
	sys(__NR_close, any);
	nap(100);
	pid = sys(__NR_getpid);
	formats = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 256, 1, 0);
	first_map = id_of(formats, 88);
	for (int t = 0; t < TARGETS; t++) {
		progs[t] = program(&targets[t]);
		if (!t) {
			first_prog = id_of(progs[0], 88);
			long link = link_of(progs[0], 0);
			first_link = id_of(link, 0);
			held[19] = link;
		}
		say("%s: %r\n", targets[t].name, progs[t] < 0 ? progs[t] : 0);
		sys(__NR_close, progs[t]);
	}
#define OPEN(t) (progs[t] = program(&targets[t]))
	tasks(progs);
	for (int t = 0; t < TARGETS; t++)
		if (progs[t] >= 0 && t < 3)
			sys(__NR_close, progs[t]);
	long hash = bpf_map(BPF_MAP_TYPE_HASH, 4, 4, 8, 0), storage, socks = bpf_map(BPF_MAP_TYPE_SOCKMAP, 4, 4, 4, 0);
	OPEN(3), show("maps", progs[3], 0);
	OPEN(4), show("programs", progs[4], 0);
	OPEN(5), show("links", progs[5], 0);
	/* sockets */
	held[0] = inet(AF_INET, 1, 7001, 1), held[1] = inet(AF_INET6, 1, 7002, 1), held[2] = inet(AF_INET, 2, 7003, 0), held[3] = inet(AF_INET6, 2, 7004, 0);
	held[4] = inet(AF_INET, 1, 7005, 0);
	struct sockaddr_in to = { AF_INET, __builtin_bswap16(7001) };
	to.sin_addr.s_addr = __builtin_bswap32(0x7f000001);
	say("connect %r\n", sys(__NR_connect, held[4], &to, sizeof(to)));
	held[5] = sys(__NR_accept4, held[0], 0, 0, 0);
	sorts = 1;
	OPEN(7), show("tcp", progs[7], 0);
	sorts = 0;
	OPEN(8), show("udp", progs[8], 0);
	int pair[2];
	sys(__NR_socketpair, AF_UNIX, 1, 0, pair), sys(__NR_socketpair, AF_UNIX, 2, 0, pair);
	struct sockaddr_un name = { AF_UNIX, "\0iterated" };
	held[6] = sys(__NR_socket, AF_UNIX, 1, 0);
	sys(__NR_bind, held[6], &name, 2 + 9), sys(__NR_listen, held[6], 3);
	sorts = 1;
	OPEN(6), show("unix", progs[6], 0);
	sorts = 0;
	struct sockaddr_nl port = { AF_NETLINK, 0, pid, 1 };
	held[7] = sys(__NR_socket, AF_NETLINK, 3, 0);
	say("bind %r\n", sys(__NR_bind, held[7], &port, sizeof(port)));
	OPEN(9), show("netlink", progs[9], 0);
	OPEN(10), show("routes", progs[10], 0);
	OPEN(11);
	long link = link_of(progs[11], 0);
	all(opened(link), whole, 60000);
	say("symbols: %s", whole);
	OPEN(12), groups(progs[12]);
	/* elements */
	for (unsigned i = 0; i < 3; i++) { unsigned value = 10 * i; bpf_element(BPF_MAP_UPDATE_ELEM, hash, 0, &value); }
	union bpf_iter_link_info with;
	memset(&with, 0, sizeof(with));
	with.map.map_fd = hash;
	OPEN(13), show("elements", progs[13], &with);
	int fd = held[5];
	bpf_element(BPF_MAP_UPDATE_ELEM, socks, 1, &fd);
	fd = held[2];
	bpf_element(BPF_MAP_UPDATE_ELEM, socks, 3, &fd);
	with.map.map_fd = socks;
	OPEN(15), show("sockmap", progs[15], &with);
	storage = socket_storage();
	for (int i = 0; i < 6; i += 2) {
		unsigned owner = held[i], value = 100 + i;
		bpf_element(BPF_MAP_UPDATE_ELEM, storage, owner, &value);
	}
	with.map.map_fd = storage;
	sorts = 1;
	OPEN(14), show("storage", progs[14], &with);
	overflow();
	return 0;
}
