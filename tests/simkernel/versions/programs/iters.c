/* Iterators that programs open: tasks, areas of memory, control groups, their tasks, bits; what they give, in which order. */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"
#include <linux/btf.h>
#include <linux/stat.h>
#include <linux/sched.h>

#define KFUNC(id) I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, id)
#define PUT(off, i) I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, off, i)
#define MAPFD(r, fd) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_FD, 0, fd), { 0 }
#define MAPVAL(r, fd) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_VALUE, 0, fd), { 0 }
#define J(op, r, i, n) I(BPF_JMP | op | BPF_K, r, 0, n, i)
#define GO(n) I(BPF_JMP | BPF_JA, 0, 0, n, 0)
#define LOADW(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
enum { MOST = 500 };
static struct { unsigned long long count, result, in, rows[MOST][2]; } out;
static long slots;
static char log[30000], btf[8 << 20];

/* Where a member of a structure is, through unnamed ones. */
static const struct btf_type *types[200000];
static int ntypes;
static const char *strings;
static void read_btf(void)
{
	struct btf_header *head = (void *)btf;
	long n = slurp("/sys/kernel/btf/vmlinux", btf, sizeof(btf));
	if (n < 0)
		say("no BTF %r\n", n);
	strings = btf + head->hdr_len + head->str_off;
	char *p = btf + head->hdr_len + head->type_off, *end = p + head->type_len;
	for (ntypes = 1; p < end; ntypes++) {
		const struct btf_type *t = types[ntypes] = (void *)p;
		int v = t->info & 0xffff;
		static const char more[] = { [1] = 4, [14] = 4, [17] = 4 };
		p += sizeof(*t);
		switch (t->info >> 24 & 31) {
		case BTF_KIND_INT: case BTF_KIND_VAR: case BTF_KIND_DECL_TAG: p += 4; break;
		case BTF_KIND_ARRAY: p += 12; break;
		case BTF_KIND_STRUCT: case BTF_KIND_UNION: case BTF_KIND_DATASEC: case BTF_KIND_ENUM64: p += 12 * v; break;
		case BTF_KIND_ENUM: case BTF_KIND_FUNC_PROTO: p += 8 * v; break;
		}
	}
}
static int member(const struct btf_type *t, const char *name)
{
	const struct btf_member *m = (void *)(t + 1);
	for (int i = 0; i < (t->info & 0xffff); i++, m++) {
		int off = (t->info >> 31 ? m->offset & 0xffffff : m->offset) / 8;
		const struct btf_type *in = types[m->type];
		int kind = in->info >> 24 & 31;
		if (streq(strings + m->name_off, name))
			return off;
		if (!strings[m->name_off] && (kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION)) {
			int found = member(in, name);
			if (found >= 0)
				return off + found;
		}
	}
	return -1;
}
static int offset(const char *type, const char *name)
{
	for (int i = 1; i < ntypes; i++) {
		int kind = types[i]->info >> 24 & 31;
		if (kind == BTF_KIND_STRUCT && streq(strings + types[i]->name_off, type))
			return member(types[i], name);
	}
	return -1;
}
static int function(const char *name)
{
	for (int i = 1; i < ntypes; i++)
		if ((types[i]->info >> 24 & 31) == BTF_KIND_FUNC && streq(strings + types[i]->name_off, name))
			return i;
	return 0;
}

static long run(const char *what, struct bpf_insn *code, int n, unsigned long long in)
{
	union bpf_attr test;
	memset(log, 0, sizeof(log));
	attr.prog_type = BPF_PROG_TYPE_SYSCALL, attr.prog_flags = BPF_F_SLEEPABLE, attr.insns = (ulong)code, attr.insn_cnt = n, attr.license = (ulong)"GPL";
	attr.log_level = 1, attr.log_buf = (ulong)log, attr.log_size = sizeof(log);
	long fd = bpf(BPF_PROG_LOAD);
	if (fd < 0) {
		int last = strlen(log), lines = 0;
		while (last && lines < 4) if (log[--last] == '\n') lines++;
		say("%s: %r %s\n", what, fd, log + last);
		return fd;
	}
	memset(&out, 0, sizeof(out)), out.in = in;
	bpf_element(BPF_MAP_UPDATE_ELEM, slots, 0, &out);
	memset(&test, 0, sizeof(test));
	test.test.prog_fd = fd;
	long err = sys(__NR_bpf, BPF_PROG_TEST_RUN, &test, sizeof(test));
	bpf_element(BPF_MAP_LOOKUP_ELEM, slots, 0, &out);
	say("%s: %r, returns %d, opened %d\n", what, err, test.test.retval, (int)out.result);
	sys(__NR_close, fd);
	return err;
}
#define RUN(what, in, ...) ({ struct bpf_insn code[] = { __VA_ARGS__ }; run(what, code, sizeof(code) / sizeof(*code), in); })
/* r9 = the map's value; the iterator lies at r10 - 64; arguments 2 and 3 are set before NEW */
#define BEGIN MAPVAL(9, slots)
#define NEW(f) MOV(1, 10), ADD(1, -64), KFUNC(f), STORE(9, 0, 8)
#define NEXT(f) MOV(1, 10), ADD(1, -64), KFUNC(f)
#define DONE(f) MOV(1, 10), ADD(1, -64), KFUNC(f)
/* one turn: r0 is what the iterator gave */
#define LOOP(next, destroy, a, b) NEXT(next), J(BPF_JEQ, 0, 0, 12), a, b, LOAD(1, 9, 0), J(BPF_JGE, 1, MOST, 7), MOV(2, 1), ADD(2, 1), STORE(9, 2, 0), \
	I(BPF_ALU64 | BPF_LSH | BPF_K, 1, 0, 0, 4), I(BPF_ALU64 | BPF_ADD | BPF_X, 1, 9, 0, 0), STORE(1, 7, 24), STORE(1, 8, 32), GO(-16), DONE(destroy)

static int kid[6], ready[2];
static int thread(void *p)
{
	*(volatile int *)p = sys(__NR_gettid);
	for (;;) nap(1000);
}
static const char *who(int pid)
{
	static const char *const names[] = { "one", "two", "three", "its thread", "its second thread" };
	if (pid == (int)sys(__NR_getpid)) return "main";
	for (int i = 0; i < 5; i++) if (kid[i] == pid) return names[i];
	return 0;
}
static void family(void)
{
	for (int i = 0; i < (int)out.count; i++) {
		const char *a = who(out.rows[i][0]), *b = who(out.rows[i][1]);
		if (a || b)
			say("  %s of %s\n", a ? a : "?", b ? b : "?");
	}
}
static char *groups[] = { "/sys/fs/cgroup/K", "/sys/fs/cgroup/K/a", "/sys/fs/cgroup/K/a/c", "/sys/fs/cgroup/K/b", "/sys/fs/cgroup/K/b/d", "/sys/fs/cgroup" };
static unsigned long long ids[6];
static void tree(void)
{
	for (int i = 0; i < (int)out.count; i++)
		for (int j = 0; j < 6; j++)
			if (ids[j] == out.rows[i][0])
				say("  %s\n", j == 5 ? "the root" : groups[j] + 14);
}
static void enter(const char *group, const char *file, int pid)
{
	char path[80], number[12], *p = number + 11;
	memcpy(path, group, strlen(group)), memcpy(path + strlen(group), file, strlen(file) + 1);
	*p = 0;
	do *--p = '0' + pid % 10; while (pid /= 10);
	long err = spit(path, p);
	if (err < 0)
		say("enter %s: %r\n", path, err);
}

int main(int argc, char **argv)
{
	static volatile int shared[16];
	static char stacks[2][8192];
	volatile int *ids_of = map(0, 4096, 3, 0x21, -1, 0);
	slots = bpf_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(out), 1, 0);
	read_btf();
	int pid = offset("task_struct", "pid"), tgid = offset("task_struct", "tgid"), start = offset("vm_area_struct", "vm_start"), end = offset("vm_area_struct", "vm_end");
	int cgroup = offset("cgroup_subsys_state", "cgroup"), kn = offset("cgroup", "kn"), id = offset("kernfs_node", "id"), self = offset("cgroup", "self");
	say("members %d %d %d %d %d %d %d self %d\n", pid > 0, tgid > 0, start >= 0, end > 0, cgroup >= 0, kn > 0, id > 0, self);
	for (int i = 0; i < 3; i++) {
		kid[i] = fork();
		if (!kid[i]) {
			if (i == 2)
				for (int j = 0; j < 2; j++) {
					start_thread(thread, (void *)&ids_of[j], CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, stacks[j] + 8192);
					while (!ids_of[j]) nap(1);
				}
			ids_of[2 + i] = 1;
			for (;;) nap(1000);
		}
	}
	while (!ids_of[2] || !ids_of[3] || !ids_of[4]) nap(1);
	kid[3] = ids_of[0], kid[4] = ids_of[1];

	unsigned lock = function("bpf_rcu_read_lock"), unlock = function("bpf_rcu_read_unlock"), by_pid = function("bpf_task_from_pid"), put_task = function("bpf_task_release");
	unsigned t_new = function("bpf_iter_task_new"), t_next = function("bpf_iter_task_next"), t_end = function("bpf_iter_task_destroy");
	unsigned v_new = function("bpf_iter_task_vma_new"), v_next = function("bpf_iter_task_vma_next"), v_end = function("bpf_iter_task_vma_destroy");
	unsigned c_new = function("bpf_iter_css_new"), c_next = function("bpf_iter_css_next"), c_end = function("bpf_iter_css_destroy");
	unsigned ct_new = function("bpf_iter_css_task_new"), ct_next = function("bpf_iter_css_task_next"), ct_end = function("bpf_iter_css_task_destroy");
	unsigned b_new = function("bpf_iter_bits_new"), b_next = function("bpf_iter_bits_next"), b_end = function("bpf_iter_bits_destroy");
	unsigned by_id = function("bpf_cgroup_from_id"), put_group = function("bpf_cgroup_release");

#define TASKS(what, flags) do { RUN(what, 0, BEGIN, KFUNC(lock), SET(2, 0), SET(3, flags), NEW(t_new), LOOP(t_next, t_end, LOADW(7, 0, pid), LOADW(8, 0, tgid)), KFUNC(unlock), LOAD(0, 9, 8), EXIT); family(); } while (0)
#define TASKS_OF(what, who, flags) do { RUN(what, who, BEGIN, LOAD(1, 9, 16), KFUNC(by_pid), J(BPF_JNE, 0, 0, 1), EXIT, MOV(6, 0), KFUNC(lock), MOV(2, 6), SET(3, flags), NEW(t_new), LOOP(t_next, t_end, LOADW(7, 0, pid), LOADW(8, 0, tgid)), KFUNC(unlock), MOV(1, 6), KFUNC(put_task), LOAD(0, 9, 8), EXIT); family(); } while (0)
	TASKS("processes", 0);
	TASKS("threads", 1);
	TASKS("threads of nobody", 2);
	TASKS_OF("threads of three", kid[2], 2);
	TASKS_OF("threads of its thread", kid[3], 2);
	TASKS_OF("threads of one", kid[0], 2);
	TASKS_OF("threads from three on", kid[2], 1);
	TASKS_OF("processes from its second thread on", kid[4], 0);
	TASKS_OF("with a flag that is none", kid[0], 3);
	TASKS_OF("with a flag far off", kid[0], 1 << 20);

#define VMAS(what, who, from, fromhigh) do { RUN(what, who, BEGIN, LOAD(1, 9, 16), KFUNC(by_pid), J(BPF_JNE, 0, 0, 1), EXIT, MOV(6, 0), MOV(2, 6), I(BPF_LD | BPF_DW | BPF_IMM, 3, 0, 0, (int)(from)), I(0, 0, 0, 0, fromhigh), NEW(v_new), LOOP(v_next, v_end, LOAD(7, 0, start), LOAD(8, 0, end)), MOV(1, 6), KFUNC(put_task), LOAD(0, 9, 8), EXIT); \
	int mine = 0, sorted = 1; for (int i = 0; i < (int)out.count; i++) { mine |= (ulong)main >= out.rows[i][0] && (ulong)main < out.rows[i][1]; sorted &= !i || out.rows[i][0] >= out.rows[i - 1][1]; } \
	say("  areas %d, with the text %d, in order %d, stack %d\n", out.count > 3 ? 4 : (int)out.count, mine, sorted, out.count && (ulong)&mine - 65536 < out.rows[out.count - 1][1]); } while (0)
	VMAS("areas", kid[0], 0, 0);
	VMAS("areas behind the text", kid[0], 0x600000, 0);
	VMAS("areas in the text", kid[0], (long)main, 0);
	VMAS("areas beyond all", kid[0], -4096, 0x7fff);
	VMAS("areas of a kernel thread", 2, 0, 0);

	for (int i = 0; i < 6; i++) {
		struct { unsigned a[64]; } st;
		if (i < 5)
			sys(__NR_mkdir, groups[i], 0755);
		memset(&st, 0, sizeof(st));
		sys(__NR_stat, groups[i], &st);
		ids[i] = ((unsigned long long *)&st)[1];
	}
	enter(groups[1], "/cgroup.procs", kid[0]), enter(groups[1], "/cgroup.procs", kid[2]), enter(groups[4], "/cgroup.procs", kid[1]);
	enter(groups[1], "/cgroup.procs", sys(__NR_getpid));
#define GROUP LOAD(1, 9, 16), KFUNC(by_id), J(BPF_JNE, 0, 0, 1), EXIT, MOV(6, 0)
#define CSS(what, which, flags) do { RUN(what, ids[which], BEGIN, GROUP, KFUNC(lock), MOV(2, 6), ADD(2, self), SET(3, flags), NEW(c_new), \
	NEXT(c_next), J(BPF_JEQ, 0, 0, 12), LOAD(7, 0, cgroup), LOAD(7, 7, kn), LOAD(7, 7, id), LOAD(1, 9, 0), J(BPF_JGE, 1, MOST, 6), MOV(2, 1), ADD(2, 1), STORE(9, 2, 0), I(BPF_ALU64 | BPF_LSH | BPF_K, 1, 0, 0, 4), I(BPF_ALU64 | BPF_ADD | BPF_X, 1, 9, 0, 0), STORE(1, 7, 24), GO(-16), DONE(c_end), \
	KFUNC(unlock), MOV(1, 6), KFUNC(put_group), LOAD(0, 9, 8), EXIT); tree(); } while (0)
	CSS("groups before their groups", 0, 2);
	CSS("groups behind their groups", 0, 3);
	CSS("groups upwards", 2, 4);
	CSS("one group", 0, 1);
	CSS("no order", 0, 0);
	CSS("an order that is none", 0, 5);
	CSS("a group without groups", 4, 2);
	CSS("a group without groups, behind", 4, 3);
	CSS("the root upwards", 5, 4);
#define CSS_TASKS(what, which, flags) do { RUN(what, ids[which], BEGIN, GROUP, MOV(2, 6), ADD(2, self), SET(3, flags), NEW(ct_new), LOOP(ct_next, ct_end, LOADW(7, 0, pid), LOADW(8, 0, tgid)), MOV(1, 6), KFUNC(put_group), LOAD(0, 9, 8), EXIT); family(); } while (0)
	CSS_TASKS("threads of a group", 1, 0);
	CSS_TASKS("processes of a group", 1, 1);
	CSS_TASKS("threads of threaded groups", 1, 2);
	CSS_TASKS("processes of threaded groups", 1, 3);
	CSS_TASKS("a flag that is none", 1, 4);
	CSS_TASKS("of a group below", 4, 0);
	CSS_TASKS("of an empty group", 0, 0);

#define BITS(what, words, a, b, c) do { RUN(what, 0, BEGIN, PUT(-24, a), PUT(-16, b), PUT(-8, c), MOV(2, 10), ADD(2, -24), SET(3, words), NEW(b_new), LOOP(b_next, b_end, LOADW(7, 0, 0), SET(8, 0)), LOAD(0, 9, 8), EXIT); \
	for (int i = 0; i < (int)out.count && i < 80; i++) say(" %d", (int)out.rows[i][0]); say(" (%d)\n", (int)out.count); } while (0)
	BITS("bits", 1, 0x80000005, 0, 0);
	BITS("bits of three words", 3, 1, 2, -1);
	BITS("no bits", 2, 0, 0, -1);
	BITS("no words", 0, 1, 1, 1);
	for (int i = 0; i < 3; i++)
		sys(__NR_kill, kid[i], 9), wait_for(kid[i]);
	return 0;
}
