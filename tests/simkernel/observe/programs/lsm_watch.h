/* A program on every hook of LSM that the kernel's BTF has: writes down what a chosen process meets, and refuses what it is told to. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGS 6
#define TEXT 16
#define EVENTS 240
#define HOOKS 400

struct event {
	uint32_t hook, unused;
	uint8_t args[ARGS][TEXT];
};
struct control {
	uint32_t tgids[2], deny, count;
	uint64_t unused[6];
	struct event events[EVENTS];
};
enum { NONE, NUMBER, POINTER, CHAIN };
struct argument {
	int kind, size, sign, steps, offsets[4], string;
};
struct hook {
	const char *name;
	int id, answers, count;
	struct argument args[ARGS];
};

static struct hook hooks[HOOKS];
static int hook_count;
static struct control *control;
static const struct btf_type **types;
static const char *strings;

static const char *str(uint32_t off)
{
	return strings + off;
}

static uint32_t after(const struct btf_type *t)
{
	uint32_t n = BTF_INFO_VLEN(t->info), size = sizeof *t;

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT: case BTF_KIND_VAR: case BTF_KIND_DECL_TAG: return size + 4;
	case BTF_KIND_ARRAY: return size + sizeof(struct btf_array);
	case BTF_KIND_STRUCT: case BTF_KIND_UNION: return size + n * sizeof(struct btf_member);
	case BTF_KIND_ENUM: return size + n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64: return size + n * 12;
	case BTF_KIND_FUNC_PROTO: return size + n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC: return size + n * sizeof(struct btf_var_secinfo);
	}
	return size;
}

static const struct btf_type *bare(uint32_t id)
{
	for (;;) {
		const struct btf_type *t = id ? types[id] : NULL;
		int kind = t ? BTF_INFO_KIND(t->info) : 0;

		if (kind != BTF_KIND_TYPEDEF && kind != BTF_KIND_CONST && kind != BTF_KIND_VOLATILE && kind != BTF_KIND_RESTRICT)
			return t;
		id = t->type;
	}
}

/* What an object is known by: its members one after the other, the last one read as a number of so many bytes, or (-1) as a string. */
static const struct { const char *name; struct { const char *in, *member; } way[4]; int size; } known[] = {
	{ "inode", { { "inode", "i_mode" } }, 2 },
	{ "dentry", { { "dentry", "d_name" } }, -2 },
	{ "path", { { "path", "dentry" }, { "dentry", "d_name" } }, -2 },
	{ "file", { { "file", "f_path" }, { "dentry", "d_name" } }, -3 },
	{ "cred", { { "cred", "euid" } }, 4 },
	{ "sock", { { "sock", "__sk_common" } }, -4 },
	{ "socket", { { "socket", "type" } }, 2 },
	{ "iattr", { { "iattr", "ia_valid" } }, 4 },
	{ "super_block", { { "super_block", "s_magic" } }, 8 },
	{ "linux_binprm", { { "linux_binprm", "filename" } }, -1 },
	{ "vfsmount", { { "vfsmount", "mnt_flags" } }, 4 },
	{ "sockaddr", { { "sockaddr", "sa_family" } }, 2 },
	{ "timespec64", { { "timespec64", "tv_sec" } }, 8 },
	{ "rlimit", { { "rlimit", "rlim_cur" } }, 8 },
	{ "kern_ipc_perm", { { "kern_ipc_perm", "mode" } }, 2 },
	{ "key", { { "key", "description" } }, -1 },
	{ "bpf_map", { { "bpf_map", "map_type" } }, 4 },
	{ "perf_event_attr", { { "perf_event_attr", "type" } }, 4 },
	{ "qstr", { { "qstr", "name" } }, -1 },
	{ "task_struct", { { "task_struct", "comm" } }, -5 },
};

/* Where a member lies in bits, also one of a struct without a name; -1. */
static int member_of(const struct btf_type *t, const char *member)
{
	const struct btf_member *m = (const void *)(t + 1);

	for (uint32_t n = 0; n < BTF_INFO_VLEN(t->info); n++) {
		uint32_t bits = m[n].offset & 0xffffff;

		if (!strcmp(str(m[n].name_off), member))
			return bits;
		int deep = *str(m[n].name_off) ? -1 : member_of(bare(m[n].type), member);
		if (deep >= 0)
			return bits + deep;
	}
	return -1;
}

static int offset_of(const char *in, const char *member)
{
	static struct { const char *in, *member; int offset; } seen[64];
	static int seen_count;

	for (int i = 0; i < seen_count; i++)
		if (!strcmp(seen[i].in, in) && !strcmp(seen[i].member, member))
			return seen[i].offset;
	for (uint32_t id = 1; types[id]; id++) {
		if (BTF_INFO_KIND(types[id]->info) != BTF_KIND_STRUCT || strcmp(str(types[id]->name_off), in))
			continue;
		int bits = member_of(types[id], member);
		if (bits < 0)
			continue;
		seen[seen_count].in = in, seen[seen_count].member = member, seen[seen_count].offset = bits / 8;
		return seen[seen_count++].offset;
	}
	printf("no %s.%s\n", in, member);
	exit(1);
}

static void describe(struct argument *a, uint32_t id)
{
	const struct btf_type *t = bare(id);

	if (!t)
		return;
	int kind = BTF_INFO_KIND(t->info);
	if (kind == BTF_KIND_INT || kind == BTF_KIND_ENUM) {
		uint32_t info = kind == BTF_KIND_INT ? *(const uint32_t *)(t + 1) : 0;
		a->kind = NUMBER, a->size = t->size, a->sign = (info >> 24) & BTF_INT_SIGNED;
		return;
	}
	if (kind != BTF_KIND_PTR)
		return;
	if (!t->type || bare(t->type)) /* programs may read void *, not const void * */
		a->kind = POINTER;
	t = bare(t->type);
	if (!t)
		return;
	kind = BTF_INFO_KIND(t->info);
	if (kind != BTF_KIND_INT && kind != BTF_KIND_STRUCT && kind != BTF_KIND_UNION) {
		a->kind = NONE; /* programs may not read it */
		return;
	}
	if (kind == BTF_KIND_INT && t->size == 1) {
		a->kind = CHAIN, a->string = 1, a->steps = 1;
		return;
	}
	for (unsigned i = 0; kind == BTF_KIND_STRUCT && i < sizeof known / sizeof *known; i++) {
		if (strcmp(str(t->name_off), known[i].name))
			continue;
		a->kind = CHAIN;
		for (a->steps = 0; a->steps < 4 && known[i].way[a->steps].in; a->steps++)
			a->offsets[a->steps] = offset_of(known[i].way[a->steps].in, known[i].way[a->steps].member);
		a->size = known[i].size;
		if (a->size == -2 || a->size == -3)
			a->offsets[a->steps - 1] += offset_of("qstr", "name");
		if (a->size == -3)
			a->offsets[0] += offset_of("path", "dentry");
		if (a->size == -4)
			a->offsets[0] += offset_of("sock_common", "skc_family"), a->size = 2;
		if (a->size == -1 || a->size == -2 || a->size == -3) /* the last is a pointer to the text */
			a->steps++;
		a->string = a->size < 0;
	}
}

static void read_btf(void)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY);
	static uint8_t head[sizeof(struct btf_header)];
	const struct btf_header *h = (void *)head;

	if (fd < 0 || read(fd, head, sizeof head) != sizeof head)
		exit(printf("no BTF\n"));
	size_t size = h->hdr_len + h->str_off + h->str_len, got = 0;
	uint8_t *data = malloc(size);
	lseek(fd, 0, SEEK_SET);
	for (ssize_t n; got < size && (n = read(fd, data + got, size - got)) > 0;)
		got += n;
	close(fd);
	h = (void *)data;
	strings = (char *)data + h->hdr_len + h->str_off;
	types = calloc(h->type_len / 12 + 2, sizeof *types);
	uint8_t *at = data + h->hdr_len + h->type_off, *end = at + h->type_len;
	uint32_t id = 1;
	for (; at < end; at += after((void *)at))
		types[id++] = (void *)at;
	for (uint32_t i = 1; i < id; i++) {
		if (BTF_INFO_KIND(types[i]->info) != BTF_KIND_FUNC || strncmp(str(types[i]->name_off), "bpf_lsm_", 8))
			continue;
		struct hook *hook = &hooks[hook_count];
		const struct btf_type *proto = types[types[i]->type];
		const struct btf_param *p = (const void *)(proto + 1);
		hook->name = str(types[i]->name_off) + 8, hook->id = i, hook->answers = !!proto->type;
		hook->count = BTF_INFO_VLEN(proto->info) < ARGS ? BTF_INFO_VLEN(proto->info) : ARGS;
		for (int n = 0; n < hook->count; n++)
			describe(&hook->args[n], p[n].type);
		hook_count++;
	}
}

static struct bpf_insn code[400];
static int length;

static void put(uint8_t op, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	code[length++] = (struct bpf_insn){ .code = op, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm };
}

static void call(int helper)
{
	put(BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static void mov(int dst, int src)
{
	put(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void set(int dst, int imm)
{
	put(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
}

static void add(int dst, int imm)
{
	put(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, imm);
}

static int watch(int number, int map)
{
	struct hook *hook = &hooks[number];
	int skip[4], skips = 0;

	length = 0;
	mov(6, 1);
	put(BPF_LD | BPF_IMM | BPF_DW, 7, BPF_PSEUDO_MAP_VALUE, 0, map);
	put(0, 0, 0, 0, 0);
	call(BPF_FUNC_get_current_pid_tgid);
	put(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32);
	put(BPF_LDX | BPF_MEM | BPF_W, 1, 7, 0, 0);
	put(BPF_JMP | BPF_JEQ | BPF_X, 1, 0, 2, 0);
	put(BPF_LDX | BPF_MEM | BPF_W, 1, 7, 4, 0);
	skip[skips++] = length;
	put(BPF_JMP | BPF_JNE | BPF_X, 1, 0, 0, 0);
	put(BPF_LDX | BPF_MEM | BPF_W, 1, 7, 12, 0);
	skip[skips++] = length;
	put(BPF_JMP | BPF_JGE | BPF_K, 1, 0, 0, EVENTS);
	mov(9, 1);
	add(1, 1);
	put(BPF_STX | BPF_MEM | BPF_W, 7, 1, 12, 0);
	put(BPF_ALU64 | BPF_MUL | BPF_K, 9, 0, 0, sizeof(struct event));
	put(BPF_ALU64 | BPF_ADD | BPF_X, 9, 7, 0, 0);
	add(9, offsetof(struct control, events));
	put(BPF_ST | BPF_MEM | BPF_W, 9, 0, 0, number + 1);
	for (int n = 0; n < hook->count; n++) {
		const struct argument *a = &hook->args[n];
		int place = offsetof(struct event, args) + n * TEXT;

		if (a->kind == NONE)
			continue;
		put(BPF_LDX | BPF_MEM | BPF_DW, 3, 6, n * 8, 0);
		if (a->kind == NUMBER) {
			put(BPF_STX | BPF_MEM | BPF_DW, 9, 3, place, 0);
			continue;
		}
		put(BPF_ST | BPF_MEM | BPF_DW, 9, 0, place, 0);
		put(BPF_ST | BPF_MEM | BPF_DW, 9, 0, place + 8, 0);
		int none = length;
		put(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 0, 0);
		put(BPF_ST | BPF_MEM | BPF_DW, 9, 0, place, 1);
		for (int step = 0; a->kind == CHAIN && step < a->steps; step++) {
			int last = step == a->steps - 1;
			mov(1, last ? 9 : 10);
			add(1, last ? place : -8);
			set(2, !last ? 8 : a->string ? TEXT : a->size);
			if (a->offsets[step])
				add(3, a->offsets[step]);
			if (last)
				put(BPF_ST | BPF_MEM | BPF_DW, 9, 0, place, 0);
			call(last && a->string ? BPF_FUNC_probe_read_kernel_str : BPF_FUNC_probe_read_kernel);
			if (!last)
				put(BPF_LDX | BPF_MEM | BPF_DW, 3, 10, -8, 0);
		}
		code[none].off = length - none - 1;
	}
	put(BPF_LDX | BPF_MEM | BPF_W, 1, 7, 8, 0);
	skip[skips++] = length;
	put(BPF_JMP | BPF_JNE | BPF_K, 1, 0, 0, number + 1);
	set(0, hook->answers ? -EPERM : 0);
	put(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	while (skips--)
		code[skip[skips]].off = length - skip[skips] - 1;
	set(0, 0);
	put(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);

	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_LSM, .expected_attach_type = BPF_LSM_MAC, .insns = (uintptr_t)code, .insn_cnt = length,
		.license = (uintptr_t)"GPL", .attach_btf_id = hook->id,
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof load);
	if (fd < 0)
		return -errno;
	union bpf_attr open_ = { .raw_tracepoint = { .prog_fd = fd } };
	int link = syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &open_, sizeof open_);
	int answer = link < 0 ? -errno : link;
	close(fd);
	return answer;
}

static void watch_all(void)
{
	union bpf_attr make = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = sizeof *control, .max_entries = 1, .map_flags = BPF_F_MMAPABLE };

	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 4096, 4096 });
	read_btf();
	int map = syscall(SYS_bpf, BPF_MAP_CREATE, &make, sizeof make), refused = 0;
	control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (control == MAP_FAILED)
		exit(printf("no map: %d\n", errno));
	for (int n = 0; n < hook_count; n++) {
		int link = watch(n, map);
		if (link < 0)
			printf("%s: %s\n", hooks[n].name, strerrorname_np(-link)), refused++;
		else
			fcntl(link, F_DUPFD_CLOEXEC, 1000), close(link);
	}
	close(map);
	printf("%d hooks, %d refused\n", hook_count, refused);
}

static void show_text(const uint8_t *text)
{
	putchar('"');
	for (int i = 0; i < TEXT - 1 && text[i]; i++)
		putchar(text[i] >= ' ' && text[i] < 127 ? text[i] : '?');
	putchar('"');
}

static void show_event(const struct event *event)
{
	const struct hook *hook = &hooks[event->hook - 1];

	if (strstr(hook->name, "_alloc_security") || !strcmp(hook->name, "cred_prepare")) { /* of new memory: what lay there */
		printf("  %s\n", hook->name);
		return;
	}
	printf("  %s(", hook->name);
	for (int n = 0; n < hook->count; n++) {
		const struct argument *a = &hook->args[n];
		uint64_t value;
		memcpy(&value, event->args[n], 8);
		if (n)
			printf(", ");
		if (a->kind == NONE)
			printf("-");
		else if (a->string)
			show_text(event->args[n]);
		else if (a->kind == POINTER)
			printf(value ? "p" : "0");
		else if (a->kind == NUMBER && value > 0xfffffff && a->size == 8)
			printf("far");
		else if (a->kind == NUMBER && a->sign)
			printf("%lld", a->size == 4 ? (long long)(int32_t)value : a->size == 2 ? (int16_t)value : a->size == 1 ? (int8_t)value : (long long)value);
		else
			printf("%#llx", (unsigned long long)(a->size == 8 ? value : value & ((1ull << 8 * a->size) - 1)));
	}
	printf(")\n");
}
