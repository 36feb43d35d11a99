/* Dynptrs of packets: what programs get of them in test runs, and when the verifier lets go of their slices. */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"

#define KFUNC(id) I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, id)
#define PTR(r) MOV(r, 10), ADD(r, -16)
#define CLONE(r) MOV(r, 10), ADD(r, -32)
#define BUFFER(r) MOV(r, 10), ADD(r, -96)
#define JNULL(n) I(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, n, 0)
#define BYTE(d, s, o) I(BPF_LDX | BPF_MEM | BPF_B, d, s, o, 0)
#define MAKE MOV(6, 1), SET(2, 0), PTR(3), KFUNC(from)

static unsigned from, size, adjust, clone, slice, slice_rw, is_null, is_rdonly;
static char text[30000];
static unsigned char data[9000], out[9000];

static void try(const char *what, int type, int flags, int bytes, struct bpf_insn *code, int count)
{
	union bpf_attr test;

	memset(text, 0, sizeof(text));
	attr.prog_type = type, attr.prog_flags = flags, attr.insns = (ulong)code, attr.insn_cnt = count, attr.license = (ulong)"GPL";
	attr.log_level = 1, attr.log_buf = (ulong)text, attr.log_size = sizeof(text);
	long fd = bpf(BPF_PROG_LOAD);
	say("  %s: %r", what, fd < 0 ? fd : 0);
	if (fd < 0) {
		char *last = text, *line = text;
		for (char *p = text; *p; p++)
			if (*p == '\n' && p[1])
				last = line, line = p + 1;
		*line = 0;
		say(" %s", last);
		return;
	}
	for (int i = 0; i < bytes; i++)
		data[i] = i * 7 + (i >> 8);
	memset(&test, 0, sizeof(test));
	memset(out, 0, sizeof(out));
	test.test.prog_fd = fd, test.test.data_in = (ulong)data, test.test.data_size_in = bytes, test.test.data_out = (ulong)out, test.test.data_size_out = sizeof(out);
	long ret = sys(__NR_bpf, BPF_PROG_TEST_RUN, &test, sizeof(test));
	say(" run %r returns %x size %d", ret, test.test.retval, test.test.data_size_out);
	for (int i = 0; i < bytes; i++)
		if (out[i] != data[i])
			say(" %d:%x", i, out[i]);
	say("\n");
	sys(__NR_close, fd);
}
#define TRY(what, ...) do { struct bpf_insn code[] = { MAKE, __VA_ARGS__, EXIT }; try(what, type, flags, bytes, code, sizeof(code) / sizeof(*code)); } while (0)

static void all(const char *title, int type, int flags, int bytes, const char *maker)
{
	int end = bytes - 4;

	from = btf_id(maker, 12);
	say("%s of %d bytes\n", title, bytes);
	TRY("made", SET(0, 0));
	TRY("its size", PTR(1), KFUNC(size));
	TRY("null, read only", PTR(1), KFUNC(is_null), AND(0, 1), MOV(7, 0), PTR(1), KFUNC(is_rdonly), AND(0, 1), I(BPF_ALU64 | BPF_LSH | BPF_K, 7, 0, 0, 4), I(BPF_ALU64 | BPF_OR | BPF_X, 0, 7, 0, 0));
	{
		struct bpf_insn code[] = { MOV(6, 1), SET(2, 1), PTR(3), KFUNC(from), MOV(7, 0), PTR(1), KFUNC(is_null), AND(0, 1), I(BPF_ALU64 | BPF_LSH | BPF_K, 0, 0, 0, 8), I(BPF_ALU64 | BPF_ADD | BPF_X, 0, 7, 0, 0), EXIT };
		try("with flags", type, flags, bytes, code, sizeof(code) / sizeof(*code));
	}
	TRY("read", BUFFER(1), SET(2, 4), PTR(3), SET(4, 10), SET(5, 0), CALL(BPF_FUNC_dynptr_read), I(BPF_LDX | BPF_MEM | BPF_W, 0, 10, -96, 0));
	TRY("read at the end", I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -96, 0), BUFFER(1), SET(2, 4), PTR(3), SET(4, end), SET(5, 0), CALL(BPF_FUNC_dynptr_read), MOV(7, 0), I(BPF_LDX | BPF_MEM | BPF_W, 0, 10, -96, 0), I(BPF_ALU64 | BPF_ADD | BPF_X, 0, 7, 0, 0));
	TRY("read beyond", BUFFER(1), SET(2, 4), PTR(3), SET(4, end + 1), SET(5, 0), CALL(BPF_FUNC_dynptr_read));
	TRY("read with flags", BUFFER(1), SET(2, 4), PTR(3), SET(4, 0), SET(5, 1), CALL(BPF_FUNC_dynptr_read));
	TRY("write", STORE(10, 6, -96), I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -96, 0x01020304), PTR(1), SET(2, 2), BUFFER(3), SET(4, 4), SET(5, 0), CALL(BPF_FUNC_dynptr_write));
	TRY("write at the end", I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -96, 0x01020304), PTR(1), SET(2, end), BUFFER(3), SET(4, 4), SET(5, 0), CALL(BPF_FUNC_dynptr_write));
	TRY("write beyond", I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -96, 0x01020304), PTR(1), SET(2, end + 1), BUFFER(3), SET(4, 4), SET(5, 0), CALL(BPF_FUNC_dynptr_write));
	TRY("write with flags", I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -96, 0x01020304), PTR(1), SET(2, 0), BUFFER(3), SET(4, 4), SET(5, 1), CALL(BPF_FUNC_dynptr_write));
	TRY("slice", PTR(1), SET(2, 20), BUFFER(3), SET(4, 8), KFUNC(slice), JNULL(1), BYTE(0, 0, 3));
	TRY("slice without a buffer", PTR(1), SET(2, 20), SET(3, 0), SET(4, 8), KFUNC(slice), JNULL(1), BYTE(0, 0, 3));
	TRY("slice at the end", PTR(1), SET(2, end), BUFFER(3), SET(4, 4), KFUNC(slice), JNULL(1), BYTE(0, 0, 3));
	TRY("slice beyond", PTR(1), SET(2, end), BUFFER(3), SET(4, 5), KFUNC(slice), JNULL(2), BYTE(0, 0, 3), EXIT, SET(0, 77));
	TRY("slice over the page", PTR(1), SET(2, 3800), BUFFER(3), SET(4, 64), KFUNC(slice), JNULL(2), BYTE(0, 0, 60), EXIT, SET(0, 77));
	for (int at = 3500; bytes > 4096 && at < 3600; at += 9) {
		TRY("slices without a buffer", PTR(1), SET(2, at), SET(3, 0), SET(4, 16), KFUNC(slice), JNULL(2), BYTE(0, 0, 12), EXIT, SET(0, 777));
	}
	TRY("a byte too far", PTR(1), SET(2, 20), BUFFER(3), SET(4, 8), KFUNC(slice), JNULL(1), BYTE(0, 0, 8));
	TRY("written through a slice", PTR(1), SET(2, 20), BUFFER(3), SET(4, 8), KFUNC(slice), JNULL(2), I(BPF_ST | BPF_MEM | BPF_B, 0, 0, 0, 9), SET(0, 1));
	TRY("written through another", PTR(1), SET(2, 20), BUFFER(3), SET(4, 8), KFUNC(slice_rw), JNULL(2), I(BPF_ST | BPF_MEM | BPF_B, 0, 0, 0, 9), SET(0, 1));
	TRY("not looked at", PTR(1), SET(2, 20), BUFFER(3), SET(4, 8), KFUNC(slice), BYTE(0, 0, 0));
	TRY("after a write", PTR(1), SET(2, 20), BUFFER(3), SET(4, 8), KFUNC(slice), JNULL(11), MOV(7, 0), I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -104, 1), PTR(1), SET(2, 0), MOV(3, 10), ADD(3, -104), SET(4, 4), SET(5, 0), CALL(BPF_FUNC_dynptr_write), BYTE(0, 7, 0));
	TRY("its memory", PTR(1), SET(2, 0), SET(3, 4), CALL(BPF_FUNC_dynptr_data), SET(0, 0));
	TRY("adjusted", PTR(1), SET(2, 10), SET(3, 40), KFUNC(adjust), PTR(1), SET(2, 5), BUFFER(3), SET(4, 8), KFUNC(slice), JNULL(1), BYTE(0, 0, 0), MOV(7, 0), PTR(1), KFUNC(size), I(BPF_ALU64 | BPF_LSH | BPF_K, 0, 0, 0, 8), I(BPF_ALU64 | BPF_ADD | BPF_X, 0, 7, 0, 0));
	TRY("read when adjusted", PTR(1), SET(2, 10), SET(3, 40), KFUNC(adjust), BUFFER(1), SET(2, 4), PTR(3), SET(4, 26), SET(5, 0), CALL(BPF_FUNC_dynptr_read), MOV(7, 0), I(BPF_LDX | BPF_MEM | BPF_W, 0, 10, -96, 0), I(BPF_ALU64 | BPF_ADD | BPF_X, 0, 7, 0, 0));
	TRY("adjusted too far", PTR(1), SET(2, 10), SET(3, bytes + 1), KFUNC(adjust));
	TRY("adjusted backwards", PTR(1), SET(2, 10), SET(3, 9), KFUNC(adjust));
	TRY("cloned", PTR(1), CLONE(2), KFUNC(clone), PTR(1), SET(2, 10), SET(3, 40), KFUNC(adjust), CLONE(1), KFUNC(size), MOV(7, 0), PTR(1), KFUNC(size), I(BPF_ALU64 | BPF_LSH | BPF_K, 0, 0, 0, 16), I(BPF_ALU64 | BPF_ADD | BPF_X, 0, 7, 0, 0));
	TRY("a slice of the clone", PTR(1), CLONE(2), KFUNC(clone), CLONE(1), SET(2, 33), BUFFER(3), SET(4, 8), KFUNC(slice), JNULL(1), BYTE(0, 0, 1));
}

int main(int argc, char **argv)
{
	size = btf_id("bpf_dynptr_size", 12), adjust = btf_id("bpf_dynptr_adjust", 12), clone = btf_id("bpf_dynptr_clone", 12);
	slice = btf_id("bpf_dynptr_slice", 12), slice_rw = btf_id("bpf_dynptr_slice_rdwr", 12);
	is_null = btf_id("bpf_dynptr_is_null", 12), is_rdonly = btf_id("bpf_dynptr_is_rdonly", 12);
	all("a classifier", BPF_PROG_TYPE_SCHED_CLS, 0, 64, "bpf_dynptr_from_skb");
	all("a socket filter", BPF_PROG_TYPE_SOCKET_FILTER, 0, 64, "bpf_dynptr_from_skb");
	all("XDP", BPF_PROG_TYPE_XDP, 0, 64, "bpf_dynptr_from_xdp");
	all("XDP in pieces", BPF_PROG_TYPE_XDP, 1 << 5, 8000, "bpf_dynptr_from_xdp");
	all("XDP of a classifier", BPF_PROG_TYPE_SCHED_CLS, 0, 64, "bpf_dynptr_from_xdp");
	return 0;
}
