/* SYN cookies of listeners that share a port: a program sends the SYN to one and the ACK to another.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

enum { TCP = 6, SAVE_SYN = 27, SAVED_SYN = 28, REUSEPORT = 15, ATTACH = 52 };
static long notes, array;

static long program(void)
{
	static struct bpf_insn code[40];
	int n = 0;
#define E(...) (code[n++] = __VA_ARGS__)
	/* the next bit of the pattern says which */
	E(MOV(6, 1)), E(I(BPF_LD | BPF_DW | BPF_IMM, 7, BPF_PSEUDO_MAP_VALUE, 0, notes)), E(I(0, 0, 0, 0, 0));
	E(LOAD(1, 7, 0)), E(MOV(2, 1)), E(AND(2, 1)), E(I(BPF_ALU64 | BPF_RSH | BPF_K, 1, 0, 0, 1)), E(STORE(7, 1, 0));
	E(I(BPF_STX | BPF_MEM | BPF_W, 10, 2, -4, 0)), E(LOAD(1, 7, 8)), E(ADD(1, 1)), E(STORE(7, 1, 8));
	E(MOV(1, 6)), E(I(BPF_LD | BPF_DW | BPF_IMM, 2, BPF_PSEUDO_MAP_FD, 0, array)), E(I(0, 0, 0, 0, 0)), E(MOV(3, 10)), E(ADD(3, -4)), E(SET(4, 0));
	E(CALL(BPF_FUNC_sk_select_reuseport)), E(STORE(7, 0, 16)), E(SET(0, 1)), E(EXIT);
	attr.expected_attach_type = BPF_SK_REUSEPORT_SELECT;
	return bpf_program(BPF_PROG_TYPE_SK_REUSEPORT, code, n);
}

static int waiting(long listener)
{
	struct pollfd p = { .fd = listener, .events = 1 };
	return sys(__NR_poll, &p, 1, 0) > 0;
}

static void connects(int family, unsigned long long pattern, const char *cookies, int reuse)
{
	unsigned short address[14] = { family };
	int size = sizeof(address), length = family == 2 ? 16 : 28, one = 1;
	unsigned long long value[3] = { pattern };
	long listeners[2];
	spit("/proc/sys/net/ipv4/tcp_syncookies", cookies);
	if (family == 2)
		address[2] = 0x7f, address[3] = 0x0100;
	else
		address[11] = 0x0100;
	for (int i = 0; i < 2; i++) {
		listeners[i] = sys(__NR_socket, family, 1, 0);
		sys(__NR_setsockopt, listeners[i], 1, REUSEPORT, &one, 4);
		sys(__NR_setsockopt, listeners[i], TCP, SAVE_SYN, &one, 4);
		long ret = sys(__NR_bind, listeners[i], address, length);
		sys(__NR_listen, listeners[i], 4);
		sys(__NR_getsockname, listeners[i], address, &size);
		if (ret < 0)
			say("bind %r ", ret);
		unsigned long long fd = listeners[i];
		attr.map_fd = array, attr.key = (ulong)&i, attr.value = (ulong)&fd;
		bpf(BPF_MAP_UPDATE_ELEM);
	}
	long prog = program();
	say("family %d pattern %d cookies %s: attach %r", family, (int)pattern, cookies, sys(__NR_setsockopt, listeners[0], 1, ATTACH, &prog, 4));
	if (!reuse) {
		sys(__NR_close, listeners[1]), listeners[1] = -1;
	}
	bpf_element(BPF_MAP_UPDATE_ELEM, notes, 0, value);
	for (int round = 0; round < 3; round++) {
		long a = sys(__NR_socket, family, 1, 0);
		sys(__NR_fcntl, a, 4, 04000);
		long ret = sys(__NR_connect, a, address, length);
		nap(50);
		struct pollfd p = { .fd = a, .events = 4 };
		sys(__NR_poll, &p, 1, 100);
		say("\n  connect %r events %x waiting %d %d", ret, (long)p.revents, waiting(listeners[0]), listeners[1] >= 0 ? waiting(listeners[1]) : -1);
		for (int i = 0; i < 2; i++)
			if (listeners[i] >= 0 && waiting(listeners[i])) {
				char saved[100];
				int room = sizeof(saved);
				long b = sys(__NR_accept, listeners[i], 0, 0);
				ret = sys(__NR_getsockopt, b, TCP, SAVED_SYN, saved, &room);
				say(" saved %r %s", ret, room > 0 ? "some" : "none");
				say(" sent %r", sys(__NR_sendto, a, "hello", 5, 0, 0, 0));
				say(" got %r", sys(__NR_recvfrom, b, saved, 100, 0, 0, 0));
				sys(__NR_close, b);
			}
		sys(__NR_close, a);
		nap(20);
	}
	bpf_element(BPF_MAP_LOOKUP_ELEM, notes, 0, value);
	say("\n  asked %d, last %r\n", (int)value[1] > 0, (long)value[2]);
	sys(__NR_close, listeners[0]), sys(__NR_close, listeners[1]), sys(__NR_close, prog);
	nap(50);
}

int main(int argc, char **argv)
{
	notes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 24, 1, 0), array = bpf_map(BPF_MAP_TYPE_REUSEPORT_SOCKARRAY, 4, 8, 4, 0);
	for (int family = 2; family < 11; family += 8) {
		connects(family, 0, "2", 1), connects(family, 2, "2", 1), connects(family, 1, "2", 1), connects(family, 0x3f, "2", 1);
		connects(family, 0, "1", 1), connects(family, 2, "1", 1), connects(family, 0x3f, "0", 1), connects(family, 0, "2", 0);
	}
	spit("/proc/sys/net/ipv4/tcp_syncookies", "1");
	flush();
	return 0;
}
