/* Test runs of BPF programs: many repeats end with a signal.  not: i386 not: s390x */
#include "tiny.h"
#include <linux/bpf.h>

#define SIGALRM 14
static struct bpf_insn insns[4096];
static unsigned char packet[64];
static int caught;
static void on_alarm(int sig, void *info, void *context) { caught++; }

static void arm(long us)
{
	long it[4] = { 0, 0, 0, us };
	sys(__NR_setitimer, 0, it, 0);
}

static void many(const char *name, unsigned type, unsigned repeat, long us)
{
	union bpf_attr load, run;
	memset(&load, 0, sizeof(load));
	load.prog_type = type;
	load.insns = (ulong)insns;
	load.insn_cnt = 4096;
	load.license = (ulong)"GPL";
	long fd = sys(__NR_bpf, BPF_PROG_LOAD, &load, sizeof(load));
	say("%s: load %r", name, fd < 0 ? fd : 0);
	memset(&run, 0, sizeof(run));
	run.test.prog_fd = fd;
	run.test.data_in = (ulong)packet;
	run.test.data_size_in = sizeof(packet);
	run.test.repeat = repeat;
	caught = 0;
	arm(us);
	say(" run %r", sys(__NR_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run)));
	say(" caught %d retval %d\n", caught, run.test.retval);
	arm(0);
	sys(__NR_close, fd);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 4096; i++)
		insns[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 7 };
	insns[4095] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	packet[12] = 8;
	on_signal(SIGALRM, on_alarm, 0);
	many("filter", BPF_PROG_TYPE_SOCKET_FILTER, 0xffffffff, 50000);
	many("dissector", BPF_PROG_TYPE_FLOW_DISSECTOR, 0xffffffff, 50000);
	many("xdp", BPF_PROG_TYPE_XDP, 0xffffffff, 50000);
	many("a few", BPF_PROG_TYPE_SOCKET_FILTER, 100, 900000);
	return 0;
}
