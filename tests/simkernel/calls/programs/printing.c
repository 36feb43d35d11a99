/* bpf_snprintf_btf and bpf_seq_printf_btf: types of the kernel, with every flag and with too little room.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

static struct { char text[1000]; unsigned long long data[24]; long answer; struct { unsigned long long at; unsigned type, flags; } ptr; unsigned long long flags, size, ptr_size; } noted;
static long notes;

/* hashes of addresses are chance, letters of Latin-1 are not of UTF-8 */
static void put_text(const char *c)
{
	for (; *c; c++)
		if (!memcmp(c, "0x00000000", 10) && strlen(c) >= 18 && memcmp(c + 10, "00000000", 8)) {
			say("0xHASH");
			c += 17;
		} else if (*c == (char)0xee) {
			put('~');
		} else if (*c & 0x80) {
			say("\\%x", (long)(unsigned char)*c);
		} else {
			put(*c);
		}
	flush();
}

#define AT(member) (int)offsetof(__typeof__(noted), member)
/* r6: the notes; the data's address goes into the struct btf_ptr */
#define BEGIN \
	I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0), MOV(2, 10), ADD(2, -4), I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, notes), { 0 }, \
	CALL(BPF_FUNC_map_lookup_elem), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0), SET(0, 0), EXIT, MOV(6, 0), \
	LOAD(1, 6, AT(ptr)), I(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 3, 1), MOV(1, 6), ADD(1, AT(data)), STORE(6, 1, AT(ptr)), \
	LOAD(5, 6, AT(flags))

static long printer(int size)
{
	struct bpf_insn code[] = { BEGIN, MOV(1, 6), SET(2, size), MOV(3, 6), ADD(3, AT(ptr)), SET(4, 16), CALL(BPF_FUNC_snprintf_btf), STORE(6, 0, AT(answer)), SET(0, 0), EXIT };
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, attr.insns = (ulong)code, attr.insn_cnt = sizeof(code) / sizeof(*code), attr.license = (ulong)"GPL";
	long fd = bpf(BPF_PROG_LOAD);
	if (fd < 0)
		say("load %d %r\n", size, fd);
	return fd;
}

static void print(const char *what, unsigned type, unsigned long long flags, int room, int nowhere)
{
	static long progs[3];
	static const int rooms[] = { 1000, 20, 1 };
	if (!progs[0])
		for (int i = 0; i < 3; i++)
			progs[i] = printer(rooms[i]);
	memset(noted.text, 0xee, sizeof(noted.text));
	for (int i = 0; i < 24; i++)
		noted.data[i] = 0x0102030405060708ULL * (unsigned)(i + 1);
	noted.data[1] = 0, noted.data[3] = 'A' | 'b' << 8;
	noted.ptr.at = nowhere, noted.ptr.type = type, noted.ptr.flags = 0, noted.flags = flags;
	unsigned key = 0;
	attr.map_fd = notes, attr.key = (ulong)&key, attr.value = (ulong)&noted;
	bpf(BPF_MAP_UPDATE_ELEM);
	attr.test.prog_fd = progs[room];
	long ret = bpf(BPF_PROG_TEST_RUN);
	attr.map_fd = notes, attr.key = (ulong)&key, attr.value = (ulong)&noted;
	bpf(BPF_MAP_LOOKUP_ELEM);
	say("%s flags %x room %d: %r %r ", what, (long)flags, rooms[room], ret, noted.answer);
	if (noted.text[0] != (char)0xee) {
		noted.text[sizeof(noted.text) - 1] = 0;
		put_text(noted.text);
	}
	say("\n");
}

static void sequence(unsigned type, unsigned long long flags)
{
	static unsigned target;
	static char text[9000];
	if (!target)
		target = btf_id("bpf_iter_bpf_map_elem", 12);
	struct bpf_insn code[] = {
		MOV(7, 1), LOAD(1, 7, 16), I(BPF_JMP | BPF_JNE | BPF_K, 1, 0, 2, 0), SET(0, 0), EXIT,
		BEGIN, MOV(4, 5), LOAD(1, 7, 0), LOAD(1, 1, 0), MOV(2, 6), ADD(2, AT(ptr)), SET(3, 16), CALL(BPF_FUNC_seq_printf_btf), STORE(6, 0, AT(answer)), SET(0, 0), EXIT,
	};
	attr.prog_type = BPF_PROG_TYPE_TRACING, attr.expected_attach_type = BPF_TRACE_ITER, attr.attach_btf_id = target;
	attr.insns = (ulong)code, attr.insn_cnt = sizeof(code) / sizeof(*code), attr.license = (ulong)"GPL";
	long prog = bpf(BPF_PROG_LOAD);
	noted.ptr.at = 0, noted.ptr.type = type, noted.flags = flags;
	unsigned key = 0;
	attr.map_fd = notes, attr.key = (ulong)&key, attr.value = (ulong)&noted;
	bpf(BPF_MAP_UPDATE_ELEM);
	union bpf_iter_link_info with = { .map.map_fd = notes };
	attr.link_create.prog_fd = prog, attr.link_create.attach_type = BPF_TRACE_ITER, attr.link_create.iter_info = (ulong)&with, attr.link_create.iter_info_len = sizeof(with);
	long link = bpf(BPF_LINK_CREATE);
	attr.iter_create.link_fd = link;
	long it = bpf(BPF_ITER_CREATE), n = 0, got;
	while ((got = sys(__NR_read, it, text + n, sizeof(text) - 1 - n)) > 0)
		n += got;
	text[n] = 0;
	attr.map_fd = notes, attr.key = (ulong)&key, attr.value = (ulong)&noted;
	bpf(BPF_MAP_LOOKUP_ELEM);
	say("sequence: prog %d link %r, read %r, answer %r, ", prog >= 0, link < 0 ? link : 0, got, noted.answer);
	put_text(text);
	say("\n");
	sys(__NR_close, it), sys(__NR_close, link), sys(__NR_close, prog);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int kind; } types[] = {
		{ "int", 1 }, { "char", 1 }, { "_Bool", 1 }, { "unsigned char", 1 }, { "long unsigned int", 1 }, { "short int", 1 }, { "__int128 unsigned", 1 }, { "bool", 8 }, { "u64", 8 }, { "pid_t", 8 },
		{ "timespec64", 4 }, { "list_head", 4 }, { "in6_addr", 4 }, { "sockaddr", 4 }, { "bpf_insn", 4 }, { "iphdr", 4 }, { "tcphdr", 4 }, { "ethhdr", 4 },
		{ "qstr", 4 }, { "kernel_cap_struct", 4 }, { "atomic_t", 8 }, { "pt_regs", 4 }, { "new_utsname", 4 }, { "bpf_attr", 5 }, { "bpf_map_type", 6 }, { "pid_type", 6 },
		{ "bpf_prog_type", 6 }, { "sigval", 5 }, { "file_lock_context", 4 }, { "rlimit", 4 }, { "path", 4 }, { "seqcount", 4 }, { "bpf_spin_lock", 4 }, { "thread_info", 4 },
	};
	attr.map_type = BPF_MAP_TYPE_ARRAY, attr.key_size = 4, attr.value_size = sizeof(noted), attr.max_entries = 1;
	notes = bpf(BPF_MAP_CREATE);
	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++) {
		unsigned id = btf_id(types[i].name, types[i].kind);
		say("%s %d\n", types[i].name, (int)id > 0);
		if (!id || id > 1000000)
			continue;
		for (int flags = 0; flags < 16; flags += i < 12 ? 1 : 5)
			if (types[i].kind == 1 || !(types[i].name[0] == 'l' && types[i].name[1] == 'i') || !(flags & 4) || 1)
				print(types[i].name, id, flags, 0, 0);
		print(types[i].name, id, 0, 1, 0);
		print(types[i].name, id, 1, 2, 0);
		sequence(id, 0);
		sequence(id, 1 | 8);
	}
	unsigned id = btf_id("timespec64", 4);
	print("a flag", id, 16, 0, 0);
	print("a flag", id, 1ULL << 32, 0, 0);
	print("no type", 0, 0, 0, 0);
	print("no type", 9999999, 0, 0, 0);
	print("nowhere", id, 0, 0, 1);
	print("a function", btf_id("vfs_read", 12), 0, 0, 0);
	return 0;
}
