/* CPUMAP: frames go up the stack from a kernel thread of the CPU, which may ask a program of its own.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include "tiny_xdp.h"

static long cpus, notes, s, out;

static long by_map(int key, int flags)
{
	struct bpf_insn code[] = { MAP(1, cpus), SET(2, key), SET(3, flags), CALL(BPF_FUNC_redirect_map), EXIT };
	return LOAD_OF(code, 0);
}
static long answering(int expected, int action)
{
	struct bpf_insn code[] = { SET(0, action), EXIT };
	return LOAD_OF(code, expected);
}
static long elsewhere(int expected, int index)
{
	struct bpf_insn code[] = { SET(1, index), SET(2, 0), CALL(BPF_FUNC_redirect), EXIT };
	return LOAD_OF(code, expected);
}
/* notes its context and CPU, and counts the last byte up */
static long looking(int length)
{
	struct bpf_insn code[] = {
		MOV(6, 1), I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0), MAP(1, notes), MOV(2, 10), ADD(2, -4), CALL(BPF_FUNC_map_lookup_elem),
		I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), EXIT, MOV(7, 0),
		LDW(1, 6, 12), STORE(7, 1, 0), LDW(1, 6, 16), STORE(7, 1, 8), CALL(BPF_FUNC_get_smp_processor_id), STORE(7, 0, 16),
		LDW(2, 6, 0), LDW(3, 6, 4), MOV(4, 3), I(BPF_ALU64 | BPF_SUB | BPF_X, 4, 2, 0, 0), STORE(7, 4, 24),
		MOV(4, 2), ADD(4, length), I(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 3, 0),
		I(BPF_LDX | BPF_MEM | BPF_B, 1, 2, length - 1, 0), ADD(1, 1), I(BPF_STX | BPF_MEM | BPF_B, 2, 1, length - 1, 0), SET(0, 2), EXIT,
	};
	return LOAD_OF(code, BPF_XDP_CPUMAP);
}

static long entry(unsigned cpu, unsigned size, int prog)
{
	struct bpf_cpumap_val value = { .qsize = size, .bpf_prog.fd = prog };
	return bpf_element(BPF_MAP_UPDATE_ELEM, cpus, cpu, &value);
}

static int idle(const char *from, const char *end) /* a thread that ends wakes once more, at some time */
{
	for (; from + 12 < end; from++)
		if (!memcmp(from, "processed=0", 11))
			return 1;
	return 0;
}

static void heard(void)
{
	unsigned char text[64];
	long got;
	nap(30);
	say("  heard");
	while ((got = sys(__NR_recvfrom, s, text, sizeof(text), 0x40, 0, 0)) >= 0)
		say(" %d:%d", (int)got, text[got - 1]);
	say("\n");
	traced(idle);
}

static void threads(void) /* those of maps */
{
	static char names[32768], path[32], comm[32];
	long dir = sys(__NR_open, "/proc", 0x10000), got;
	nap(50);
	say("  threads");
	while ((got = sys(__NR_getdents64, dir, names, sizeof(names))) > 0)
		for (long at = 0; at < got;) {
			char *name = names + at + 19;
			at += *(unsigned short *)(names + at + 16);
			if (!digit(*name))
				continue;
			memset(path, 0, sizeof(path)), memcpy(path, "/proc/", 6), memcpy(path + 6, name, strlen(name)), memcpy(path + 6 + strlen(name), "/comm", 5);
			memset(comm, 0, sizeof(comm)), slurp(path, comm, sizeof(comm));
			if (!memcmp(comm, "cpumap/", 7)) {
				comm[13] = 0;
				say(" %s", comm);
			}
		}
	sys(__NR_close, dir);
	say("\n");
}

static void attach(long prog) { xdp("lo", prog); }

static struct { unsigned short f, p; unsigned a, z[2]; } to = { 2, 0x0020, 0x0100007f };
static void sends(const char *what)
{
	say("%s: %r\n", what, sys(__NR_sendto, out, "abc", 3, 0, &to, 16));
	heard();
}

static unsigned char packet[64];
static void lives(const char *what, long prog, int repeat)
{
	union bpf_attr run;
	memset(&run, 0, sizeof(run));
	run.test.prog_fd = prog, run.test.data_in = (ulong)packet, run.test.data_size_in = 45, run.test.flags = BPF_F_TEST_XDP_LIVE_FRAMES, run.test.repeat = repeat;
	say("%s: %r\n", what, sys(__NR_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run)));
	heard();
}

int main(int argc, char **argv)
{
	static const unsigned char head[] = {
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0x45, 0, 0, 31, 0, 1, 0, 0, 64, 17, 0x7c, 0xcb, 127, 0, 0, 1, 127, 0, 0, 1, 0x10, 0, 0x20, 0, 0, 11, 0, 0, 'a', 'b', 'c',
	};
	memcpy(packet, head, sizeof(head));
	netlink = sys(__NR_socket, 16, 3, 0);
	set_up("lo", 0);
	spit("/proc/sys/net/ipv4/conf/lo/route_localnet", "1"), spit("/proc/sys/net/ipv4/conf/lo/accept_local", "1");
	s = sys(__NR_socket, 2, 2, 0), out = sys(__NR_socket, 2, 2, 0);
	sys(__NR_bind, s, &to, 16);
	notes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 64, 1, 0);
	cpus = bpf_map(BPF_MAP_TYPE_CPUMAP, 4, 8, 4, 0);
	spit("/sys/kernel/tracing/trace", "");
	spit(EVENTS "enable", "1");
	threads();
	attach(by_map(0, 0)), sends("no entry");
	attach(-1), attach(by_map(0, 2)), sends("no entry, pass");
	say("entry %r\n", entry(0, 16, 0)), threads(), sends("up by the map");
	attach(-1), attach(by_map(9, 1)), sends("beyond the map"), attach(-1), attach(by_map(0, 0));
	long look = looking(45);
	say("with a program %r\n", entry(0, 32, look)), threads(), sends("seen");
	unsigned long long v[4];
	bpf_element(BPF_MAP_LOOKUP_ELEM, notes, 0, v);
	say("  device %d queue %d cpu %d length %d\n", (int)v[0], (int)v[1], (int)v[2], (int)v[3]);
	for (int action = 0; action < 6; action++) {
		long prog = answering(BPF_XDP_CPUMAP, action);
		if (action == 4)
			continue;
		say("answer %d: %r\n", action, entry(0, 8, prog)), sends("");
	}
	say("redirect to lo %r\n", entry(0, 8, elsewhere(BPF_XDP_CPUMAP, 1)));
	attach(-1);
	long lets = answering(0, 2), back = answering(0, 3), away = elsewhere(0, 1), nobody = elsewhere(0, 99), map = by_map(0, 0);
	say("live\n");
	lives("passes", lets, 2), lives("sent back", back, 1), lives("to lo", away, 1), lives("to nobody", nobody, 1);
	say("entry %r\n", entry(0, 16, 0)), lives("by the map", map, 1), lives("three by the map", map, 3);
	say("with a program %r\n", entry(0, 16, look)), lives("by the map and its program", map, 2);
	say("that drops %r\n", entry(0, 16, answering(BPF_XDP_CPUMAP, 1))), lives("by the map and its program", map, 2);
	say("that redirects %r\n", entry(0, 16, elsewhere(BPF_XDP_CPUMAP, 1))), lives("by the map and its program", map, 2);
	say("delete %r\n", bpf_element(BPF_MAP_DELETE_ELEM, cpus, 0, 0)), threads(), lives("by an empty map", map, 1);
	say("again %r\n", entry(0, 16, 0)), threads();
	say("none %r\n", entry(0, 0, 0)), threads();
	say("again %r\n", entry(0, 16, 0));
	sys(__NR_close, cpus), sys(__NR_close, map);
	spit(EVENTS "enable", "0");
	return 0;
}
