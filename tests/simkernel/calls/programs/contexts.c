/* not: i386 s390x */
/* Test runs with contexts in and out. */
#include "tiny.h"
#include <linux/bpf.h>
#include <linux/btf.h>

static long bpf(int command, union bpf_attr *attr) { return sys(__NR_bpf, command, attr, sizeof(*attr)); }

static long load(int type, int attach, const struct bpf_insn *code, int count, int flags)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.prog_type = type, a.expected_attach_type = attach, a.prog_flags = flags;
	a.insns = (ulong)code, a.insn_cnt = count, a.license = (ulong)"GPL";
	return bpf(BPF_PROG_LOAD, &a);
}

#define MOV(dst, v) { .code = 0xb7, .dst_reg = dst, .imm = v }
#define LOAD(size, dst, src, at) { .code = 0x61 | size, .dst_reg = dst, .src_reg = src, .off = at }
#define STORE(size, dst, src, at) { .code = 0x63 | size, .dst_reg = dst, .src_reg = src, .off = at }
#define ADD(dst, v) { .code = 0x07, .dst_reg = dst, .imm = v }
#define EXIT { .code = 0x95 }
#define N(code) (int)(sizeof(code) / sizeof(*code))

static unsigned char packet[256], out[4096];
static union bpf_attr run;

static void begin_run(long prog)
{
	memset(&run, 0, sizeof(run));
	memset(out, 0, sizeof(out));
	run.test.prog_fd = prog;
}

static long go(const char *what)
{
	long ret = bpf(BPF_PROG_TEST_RUN, &run);
	say("%s %r: retval %x, data %d, ctx %d\n", what, ret, (long)run.test.retval, run.test.data_size_out, run.test.ctx_size_out);
	return ret;
}

static void skb(void)
{
	static const struct bpf_insn code[] = {
		LOAD(0, 0, 1, 8), LOAD(0, 2, 1, 48), ADD(2, 5), STORE(0, 1, 2, 48), MOV(2, 77), STORE(0, 1, 2, 8), STORE(0, 1, 2, 32), EXIT,
	};
	long prog = load(BPF_PROG_TYPE_SCHED_CLS, 0, code, N(code), 0);
	struct __sk_buff in, back;
	say("classifier %s\n", prog >= 0 ? "loaded" : "refused");
	for (int at = -1; at < (int)sizeof(in) / 4; at++) { /* each word of the context alone */
		memset(&in, 0, sizeof(in));
		if (at >= 0)
			((unsigned *)&in)[at] = 1;
		begin_run(prog);
		run.test.data_in = (ulong)packet, run.test.data_size_in = 64;
		run.test.ctx_in = (ulong)&in, run.test.ctx_size_in = sizeof(in);
		run.test.ctx_out = (ulong)&back, run.test.ctx_size_out = sizeof(back);
		memset(&back, 0, sizeof(back));
		say("word %d: ", at);
		if (!go("skb"))
			say("  mark %d cb %d priority %d ifindex %d len %d wire %d segs %d tstamp %L\n", back.mark, back.cb[0], back.priority,
			    back.ifindex, back.len, back.wire_len, back.gso_segs, (long long)back.tstamp);
	}
	for (int size = 13; size < 16; size++) {
		begin_run(prog);
		run.test.data_in = (ulong)packet, run.test.data_size_in = size;
		go("short");
	}
	begin_run(prog);
	run.test.data_in = (ulong)packet, run.test.data_size_in = 64;
	run.test.data_out = (ulong)out, run.test.data_size_out = 10;
	go("little room");
	run.test.data_size_out = 0, run.test.ctx_out = (ulong)&back, run.test.ctx_size_out = 16;
	go("little context");
	begin_run(prog);
	run.test.data_in = (ulong)packet, run.test.data_size_in = 64, run.test.flags = BPF_F_TEST_RUN_ON_CPU;
	go("on a cpu");
	run.test.flags = 0, run.test.batch_size = 1;
	go("batch");
	flush();
}

static void xdp(void)
{
	static const struct bpf_insn code[] = { LOAD(0, 0, 1, 12), EXIT };
	long prog = load(BPF_PROG_TYPE_XDP, 0, code, N(code), 0);
	static const unsigned tries[][6] = { /* data_meta, data, data_end, ifindex, queue, egress */
		{ 0, 0, 64, 0, 0, 0 }, { 0, 4, 64, 0, 0, 0 }, { 4, 4, 64, 0, 0, 0 }, { 0, 2, 64, 0, 0, 0 }, { 0, 36, 64, 0, 0, 0 },
		{ 0, 32, 64, 0, 0, 0 }, { 0, 0, 63, 0, 0, 0 }, { 0, 0, 65, 0, 0, 0 }, { 0, 0, 64, 1, 0, 0 }, { 0, 0, 64, 1, 1, 0 },
		{ 0, 0, 64, 99, 0, 0 }, { 0, 0, 64, 0, 1, 0 }, { 0, 0, 64, 0, 0, 1 },
	};
	for (int i = 0; i < N(tries); i++) {
		struct xdp_md in, back;
		memcpy(&in, tries[i], sizeof(in));
		memset(&back, 0, sizeof(back));
		begin_run(prog);
		run.test.data_in = (ulong)packet, run.test.data_size_in = 64, run.test.data_out = (ulong)out, run.test.data_size_out = 100;
		run.test.ctx_in = (ulong)&in, run.test.ctx_size_in = sizeof(in);
		run.test.ctx_out = (ulong)&back, run.test.ctx_size_out = sizeof(back);
		say("%d: ", i);
		if (!go("xdp"))
			say("  meta %d data %d end %d ifindex %d\n", back.data_meta, back.data, back.data_end, back.ingress_ifindex);
	}
	begin_run(prog);
	run.test.data_in = (ulong)packet, run.test.data_size_in = 64, run.test.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
	run.test.data_out = run.test.data_size_out = 0, run.test.batch_size = 257;
	go("live frames, many at once");
	flush();
}

static void others(void)
{
	static const struct bpf_insn raw[] = { { .code = 0x79, .dst_reg = 0, .src_reg = 1, .off = 8 }, EXIT };
	static const struct bpf_insn call[] = { LOAD(0, 0, 1, 0), MOV(2, 9), STORE(0, 1, 2, 4), EXIT };
	ulong words[4] = { 3, 5, 7, 9 };
	long prog = load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, raw, N(raw), 0);
	begin_run(prog);
	go("raw tracepoint without arguments");
	run.test.ctx_in = (ulong)words, run.test.ctx_size_in = 16;
	go("with two");
	run.test.ctx_size_in = 8;
	go("with one");
	run.test.ctx_size_in = 104;
	go("with 13");
	run.test.ctx_size_in = 16, run.test.cpu = 1;
	go("on no cpu");
	run.test.flags = BPF_F_TEST_RUN_ON_CPU, run.test.cpu = 4000;
	go("on cpu 4000");
	run.test.cpu = 0;
	go("on cpu 0");
	run.test.repeat = 1;
	go("once");
	run.test.repeat = 0, run.test.data_in = (ulong)packet, run.test.data_size_in = 8;
	go("with data");
	prog = load(BPF_PROG_TYPE_SYSCALL, 0, call, N(call), BPF_F_SLEEPABLE);
	begin_run(prog);
	unsigned ctx[4] = { 42, 0, 0, 0 };
	run.test.ctx_in = (ulong)ctx, run.test.ctx_size_in = sizeof(ctx);
	go("syscall");
	say("  %d\n", ctx[1]);
	run.test.ctx_size_in = 4;
	go("too little");
	run.test.ctx_size_in = 16, run.test.ctx_out = (ulong)ctx, run.test.ctx_size_out = 16;
	go("with a way out");
	static const struct bpf_insn none[] = { MOV(0, 0), EXIT };
	static const int kinds[] = { BPF_PROG_TYPE_KPROBE, BPF_PROG_TYPE_TRACEPOINT, BPF_PROG_TYPE_PERF_EVENT, BPF_PROG_TYPE_CGROUP_SOCK,
		BPF_PROG_TYPE_SOCK_OPS, BPF_PROG_TYPE_SK_MSG, BPF_PROG_TYPE_CGROUP_DEVICE, BPF_PROG_TYPE_SK_REUSEPORT,
		BPF_PROG_TYPE_SOCKET_FILTER, BPF_PROG_TYPE_CGROUP_SKB, BPF_PROG_TYPE_LWT_IN, BPF_PROG_TYPE_LWT_XMIT, BPF_PROG_TYPE_SK_SKB,
		BPF_PROG_TYPE_FLOW_DISSECTOR, BPF_PROG_TYPE_SCHED_ACT };
	for (int i = 0; i < N(kinds); i++) {
		prog = load(kinds[i], 0, none, 2, 0);
		begin_run(prog);
		run.test.data_in = (ulong)packet, run.test.data_size_in = 64;
		run.test.data_out = (ulong)out, run.test.data_size_out = 256;
		say("type %d: ", kinds[i]);
		go("run");
	}
	flush();
}

int main(int argc, char **argv)
{
	for (int i = 0; i < (int)sizeof(packet); i++)
		packet[i] = i;
	packet[12] = 8, packet[13] = 0, packet[14] = 0x45;
	skb();
	xdp();
	others();
	return 0;
}
