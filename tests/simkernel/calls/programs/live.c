/* Test runs of XDP programs with live frames: what passes is received.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

static unsigned char packet[4096];
static long load(int action)
{
	struct bpf_insn code[] = { SET(0, action), EXIT };
	attr.prog_type = BPF_PROG_TYPE_XDP, attr.insns = (ulong)code, attr.insn_cnt = 2, attr.license = (ulong)"GPL";
	return bpf(BPF_PROG_LOAD);
}

/* every second frame passes; of those that do the last byte is counted up */
static long alternating(long notes)
{
	struct bpf_insn code[] = {
		MOV(7, 1), I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0), MOV(2, 10), ADD(2, -4), I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, notes), { 0 },
		CALL(BPF_FUNC_map_lookup_elem), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0), SET(0, 1), EXIT,
		LOAD(6, 0, 0), ADD(6, 1), STORE(0, 6, 0),
		I(BPF_STX | BPF_MEM | BPF_B, 10, 6, -8, 0), MOV(1, 7), SET(2, 44), MOV(3, 10), ADD(3, -8), SET(4, 1), CALL(BPF_FUNC_xdp_store_bytes),
		AND(6, 1), SET(0, 1), ADD(0, 0), I(BPF_ALU64 | BPF_ADD | BPF_X, 0, 6, 0, 0), EXIT,
	};
	attr.prog_type = BPF_PROG_TYPE_XDP, attr.insns = (ulong)code, attr.insn_cnt = sizeof(code) / sizeof(*code), attr.license = (ulong)"GPL";
	return bpf(BPF_PROG_LOAD);
}

static long s;
static void heard(void)
{
	unsigned char text[64];
	long got;
	nap(20);
	say("  heard");
	while ((got = sys(__NR_recvfrom, s, text, sizeof(text), 0x40, 0, 0)) >= 0)
		say(" %d:%d", (int)got, text[got - 1]);
	say("\n");
}

static union bpf_attr run;
static void begin_run(long prog, int size)
{
	memset(&run, 0, sizeof(run));
	run.test.prog_fd = prog, run.test.data_in = (ulong)packet, run.test.data_size_in = size, run.test.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
}
static void go(const char *what)
{
	long ret = sys(__NR_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run));
	say("%s: %r retval %d data %d ctx %d\n", what, ret, run.test.retval, run.test.data_size_out, run.test.ctx_size_out);
	heard();
}

int main(int argc, char **argv)
{
	static const unsigned char head[] = {
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0x45, 0, 0, 31, 0, 1, 0, 0, 64, 17, 0x7c, 0xcb, 127, 0, 0, 1, 127, 0, 0, 1, 0x10, 0, 0x20, 0, 0, 11, 0, 0, 'a', 'b', 'c',
	};
	struct { char name[16]; short flags; char rest[22]; } request = { "lo", 1 };
	struct { unsigned short f, p; unsigned a, z[2]; } in = { 2, 0x0020, 0x0100007f };
	memcpy(packet, head, sizeof(head));
	s = sys(__NR_socket, 2, 2, 0);
	sys(__NR_ioctl, s, 0x8914, &request);
	spit("/proc/sys/net/ipv4/conf/lo/route_localnet", "1"), spit("/proc/sys/net/ipv4/conf/lo/accept_local", "1");
	say("bind %r\n", sys(__NR_bind, s, &in, 16));
	static unsigned char out[4096];
	struct xdp_md in_ctx, back;
	for (int action = 0; action < 7; action++) {
		if (action == 4)
			continue; /* without a target */
		long prog = load(action);
		say("action %d\n", action);
		begin_run(prog, 45), go("one frame");
		sys(__NR_close, prog);
	}
	long prog = load(2);
	begin_run(prog, 45), run.test.repeat = 3, go("three");
	begin_run(prog, 45), run.test.repeat = 5, run.test.batch_size = 2, go("five, two at once");
	begin_run(prog, 45), run.test.batch_size = 256, go("a batch of 256");
	begin_run(prog, 45), run.test.batch_size = 257, go("a batch of 257");
	begin_run(prog, 45), run.test.flags = 0, run.test.batch_size = 1, go("a batch that is not alive");
	begin_run(prog, 45), run.test.flags |= 1, go("on a cpu");
	begin_run(prog, 45), run.test.cpu = 1, go("a cpu");
	begin_run(prog, 45), run.test.data_out = (ulong)out, run.test.data_size_out = 100, go("with room");
	begin_run(prog, 45), run.test.data_out = (ulong)out, run.test.data_size_out = 10, go("with little room");
	begin_run(prog, 13), go("short");
	begin_run(prog, 14), go("no more than a header");
	static const int sizes[] = { 3000, 3368, 3369, 3400, 3520, 3521 };
	for (int i = 0; i < 6; i++)
		begin_run(prog, sizes[i]), say("%d ", sizes[i]), go("long");
	memset(&in_ctx, 0, sizeof(in_ctx));
	in_ctx.data_end = 45, in_ctx.ingress_ifindex = 1;
	begin_run(prog, 45), run.test.ctx_in = (ulong)&in_ctx, run.test.ctx_size_in = sizeof(in_ctx), go("with a context");
	begin_run(prog, 45), run.test.ctx_in = (ulong)&in_ctx, run.test.ctx_size_in = sizeof(in_ctx), run.test.ctx_out = (ulong)&back, run.test.ctx_size_out = sizeof(back), go("and one back");
	begin_run(prog, 45), run.test.ctx_in = (ulong)&in_ctx, run.test.ctx_size_in = sizeof(in_ctx), run.test.data_out = (ulong)out, run.test.data_size_out = 100, go("and data");
	in_ctx.ingress_ifindex = 99;
	begin_run(prog, 45), run.test.ctx_in = (ulong)&in_ctx, run.test.ctx_size_in = sizeof(in_ctx), go("by a device that is not there");
	in_ctx.ingress_ifindex = 0, in_ctx.data = 4, in_ctx.data_end = 49;
	memcpy(packet + 4, head, sizeof(head));
	begin_run(prog, 49), run.test.ctx_in = (ulong)&in_ctx, run.test.ctx_size_in = sizeof(in_ctx), go("with data before it");
	memcpy(packet, head, sizeof(head));
	attr.map_type = BPF_MAP_TYPE_ARRAY, attr.key_size = 4, attr.value_size = 8, attr.max_entries = 1;
	prog = alternating(bpf(BPF_MAP_CREATE));
	begin_run(prog, 45), run.test.repeat = 7, go("every second");
	return 0;
}
