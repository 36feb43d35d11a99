/*
 * For programs of this folder that load programs of BPF: instructions, and bpf(2) with an attr that is zero again afterwards.
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
