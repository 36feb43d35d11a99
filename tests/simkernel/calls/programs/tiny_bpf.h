/*
 * For programs of this folder that load programs of BPF: instructions, and bpf(2) with an attr that is zero again afterwards;
 * what the common commands leave open is set in attr before.
 */
#include <linux/bpf.h>

#define I(c, d, s, o, i) ((struct bpf_insn){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i })
#define MOV(d, s) I(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define SET(d, i) I(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD(d, i) I(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define AND(d, i) I(BPF_ALU64 | BPF_AND | BPF_K, d, 0, 0, i)
#define LOAD(d, s, o) I(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE(d, s, o) I(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define CALL(i) I(BPF_JMP | BPF_CALL, 0, 0, 0, i)
#define EXIT I(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static union bpf_attr attr;

static long bpf(int cmd)
{
	long result = sys(__NR_bpf, cmd, &attr, sizeof(attr));
	memset(&attr, 0, sizeof(attr));
	return result;
}

static long bpf_map(int type, int key, int value, int entries, int flags)
{
	attr.map_type = type;
	attr.key_size = key;
	attr.value_size = value;
	attr.max_entries = entries;
	attr.map_flags = flags;
	return bpf(BPF_MAP_CREATE);
}

/* Look up, update or delete one. */
static long bpf_element(int cmd, long map, unsigned key, void *value)
{
	attr.map_fd = map;
	attr.key = (ulong)&key;
	attr.value = (ulong)value;
	return bpf(cmd);
}

static long bpf_program(int type, struct bpf_insn *insns, int count)
{
	attr.prog_type = type;
	attr.insns = (ulong)insns;
	attr.insn_cnt = count;
	attr.license = (ulong)"GPL";
	return bpf(BPF_PROG_LOAD);
}

static struct bpf_prog_info bpf_info(long program)
{
	struct bpf_prog_info info;

	memset(&info, 0, sizeof(info));
	attr.info.bpf_fd = program;
	attr.info.info_len = sizeof(info);
	attr.info.info = (ulong)&info;
	bpf(BPF_OBJ_GET_INFO_BY_FD);
	return info;
}

/* The number of a type of the kernel, by name and BTF_KIND_*. */
static unsigned btf_id(const char *name, int kind)
{
	char text[64];
	memset(text, 0, sizeof(text));
	memcpy(text, name, strlen(name));
	struct bpf_insn code[40];
	int n = 0, words = (strlen(name) + 8) / 8;
	for (int i = 0; i < words; i++) {
		unsigned long long w;
		memcpy(&w, text + 8 * i, 8);
		code[n++] = I(BPF_LD | BPF_DW | BPF_IMM, 1, 0, 0, (int)w), code[n++] = I(0, 0, 0, 0, (int)(w >> 32));
		code[n++] = STORE(10, 1, -8 * words + 8 * i);
	}
	code[n++] = MOV(1, 10), code[n++] = ADD(1, -8 * words), code[n++] = SET(2, (int)strlen(name) + 1), code[n++] = SET(3, kind), code[n++] = SET(4, 0);
	code[n++] = CALL(BPF_FUNC_btf_find_by_name_kind), code[n++] = EXIT;
	attr.prog_type = BPF_PROG_TYPE_SYSCALL, attr.prog_flags = BPF_F_SLEEPABLE, attr.insns = (ulong)code, attr.insn_cnt = n, attr.license = (ulong)"GPL";
	long fd = bpf(BPF_PROG_LOAD);
	union bpf_attr run;
	memset(&run, 0, sizeof(run));
	run.test.prog_fd = fd;
	sys(__NR_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run));
	sys(__NR_close, fd);
	return run.test.retval;
}
