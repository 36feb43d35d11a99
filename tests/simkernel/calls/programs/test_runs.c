/* Test runs of BPF programs: namespaces of pids; many repeats end with a signal.  not: i386 not: s390x */
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

#define I(c, d, s, o, i) (struct bpf_insn){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i }
/* bpf_get_ns_current_pid_tgid(device, number, &info, 8): what it says if it refuses, else the pid. */
static long asked(long dev, long ino, int size)
{
	struct bpf_insn code[] = {
		I(BPF_LD | BPF_DW, 1, 0, 0, dev), I(0, 0, 0, 0, dev >> 32),
		I(BPF_LD | BPF_DW, 2, 0, 0, ino), I(0, 0, 0, 0, ino >> 32),
		I(BPF_ALU64 | BPF_MOV | BPF_X, 3, 10, 0, 0), I(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -16),
		I(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, size), I(BPF_JMP | BPF_CALL, 0, 0, 0, 120),
		I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), I(BPF_LDX | BPF_MEM | BPF_W, 0, 10, -16, 0),
		I(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr load, run;
	memset(&load, 0, sizeof(load));
	load.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	load.insns = (ulong)code;
	load.insn_cnt = sizeof(code) / sizeof(code[0]);
	load.license = (ulong)"GPL";
	long fd = sys(__NR_bpf, BPF_PROG_LOAD, &load, sizeof(load));
	if (fd < 0)
		return fd;
	memset(&run, 0, sizeof(run));
	run.test.prog_fd = fd;
	long r = sys(__NR_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run));
	sys(__NR_close, fd);
	return r ? r : (int)run.test.retval;
}

static void pids(const char *where)
{
	struct { ulong dev, ino, nlink; unsigned rest[64]; } st;
	sys(__NR_stat, "/proc/self/ns/pid", &st);
	long pid = sys(__NR_getpid), r = asked(st.dev, st.ino, 8);
	say("%s: its own pid %d", where, r == pid);
	say(" size %r", asked(st.dev, st.ino, 16));
	say(" number %r", asked(st.dev, st.ino + 1000, 8));
	say(" device %r", asked(st.dev + 1, st.ino, 8));
	say(" wide device %r\n", asked(st.dev | 1L << 40, st.ino, 8));
}

static void spaces(void)
{
	struct { ulong dev, ino, nlink; unsigned rest[64]; } st;
	pids("here");
	sys(__NR_stat, "/proc/self/ns/pid", &st);
	flush();
	long pid = sys(__NR_clone, 0x20000000 | 17, 0, 0, 0, 0);
	if (!pid) {
		pids("in a namespace");
		say("the one around it %r\n", asked(st.dev, st.ino, 8));
		flush();
		leave(0);
	}
	say("child %x\n", wait_for(pid));
}

int main(int argc, char **argv)
{
	spaces();
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
