/* Programs that are loaded, with the verifier's log, and run once. */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"

#define KFUNC(id) I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, id)
#define PUT(off, i) I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, off, i)

static char text[60000];

/* The log without addresses of the kernel. */
static void hide(char *log)
{
	for (; *log; log++)
		if (!memcmp(log, "0xffff888", 9))
			for (char *p = log + 9; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++)
				*p = 'x';
}

static void try(const char *what, int type, int flags, struct bpf_insn *code, int count)
{
	union bpf_attr test;
	static unsigned char data[64];

	memset(text, 0, sizeof(text));
	attr.prog_type = type, attr.prog_flags = flags, attr.insns = (ulong)code, attr.insn_cnt = count, attr.license = (ulong)"GPL";
	attr.log_level = 1, attr.log_buf = (ulong)text, attr.log_size = sizeof(text);
	long fd = bpf(BPF_PROG_LOAD);
	hide(text);
	say("%s: %r\n%s", what, fd < 0 ? fd : 0, text);
	if (fd < 0)
		return;
	memset(&test, 0, sizeof(test));
	test.test.prog_fd = fd;
	if (type != BPF_PROG_TYPE_SYSCALL)
		test.test.data_in = (ulong)data, test.test.data_size_in = sizeof(data);
	long ret = sys(__NR_bpf, BPF_PROG_TEST_RUN, &test, sizeof(test));
	say("  run %r returns %x\n", ret, test.test.retval);
	sys(__NR_close, fd);
}
#define TRY(what, ...) do { struct bpf_insn code[] = { __VA_ARGS__, EXIT }; try(what, BPF_PROG_TYPE_SCHED_CLS, 0, code, sizeof(code) / sizeof(*code)); } while (0)
