/* SYN cookies of listeners by programs: who may be asked, when one is made, which come back.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

#define WORD(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)

static struct {
	unsigned char tuple[40], ip[40], tcp[64];
	unsigned tuple_size, ip_size, tcp_size, check;
	unsigned long long answer;
} ask;

static long table;

static long program(void)
{
	static struct bpf_insn code[100];
	int n = 0;
#define E(...) (code[n++] = (__VA_ARGS__))
#define SIZE(r, o) E(WORD(r, 7, o)), E(AND(r, 63)), E(ADD(r, 1))
	E(MOV(6, 1)), E(I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0)), E(MOV(2, 10)), E(ADD(2, -4));
	E(I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, table)), E(I(0, 0, 0, 0, 0)), E(CALL(1)), E(I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0)), E(EXIT);
	E(MOV(7, 0)), E(MOV(1, 6)), E(MOV(2, 7)), SIZE(3, 144), E(SET(4, -1)), E(SET(5, 0)), E(CALL(BPF_FUNC_skc_lookup_tcp));
	E(I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 3, 0)), E(SET(1, 1)), E(STORE(7, 1, 160)), E(EXIT), E(MOV(8, 0));
	for (int check = 0; check < 2; check++) {
		E(MOV(1, 8)), E(MOV(2, 7)), E(ADD(2, 40)), SIZE(3, 148), E(MOV(4, 7)), E(ADD(4, 80)), SIZE(5, 152);
		if (!check)
			E(WORD(0, 7, 156)), E(I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0)), E(CALL(BPF_FUNC_tcp_gen_syncookie)), E(I(BPF_JMP | BPF_JA, 0, 0, 12, 0));
		else
			E(CALL(BPF_FUNC_tcp_check_syncookie));
	}
	E(STORE(7, 0, 160)), E(MOV(1, 8)), E(CALL(BPF_FUNC_sk_release)), E(SET(0, 0)), E(EXIT);
	return bpf_program(BPF_PROG_TYPE_SCHED_CLS, code, n);
}

static long prog;

static unsigned long long asked(void)
{
	static unsigned char packet[64];
	bpf_element(BPF_MAP_UPDATE_ELEM, table, 0, &ask);
	attr.test.prog_fd = prog, attr.test.data_in = (ulong)packet, attr.test.data_size_in = sizeof(packet), attr.test.repeat = 1;
	long error = bpf(BPF_PROG_TEST_RUN);
	if (error)
		say(" run %r", error);
	bpf_element(BPF_MAP_LOOKUP_ELEM, table, 0, &ask);
	return ask.answer;
}

static void told(const char *what)
{
	unsigned long long n = asked();
	if ((long long)n < 0 || n == 1)
		say(" %s %s", what, n == 1 ? "nobody" : error_name(-(int)n));
	else
		say(" %s %d", what, (int)(n >> 32));
}

/* Headers of a segment to a port, over IPv4 or IPv6. */
static void segment(int six, unsigned short port, int flags, int mss)
{
	memset(&ask, 0, sizeof(ask));
	ask.tuple_size = (six ? 36 : 12) - 1, ask.ip_size = (six ? 40 : 20) - 1;
	ask.ip[0] = six ? 0x60 : 0x45;
	unsigned char *from = ask.ip + (six ? 8 : 12), *to = ask.ip + (six ? 24 : 16);
	if (six)
		from[15] = to[15] = 1;
	else
		from[0] = to[0] = 127, from[3] = to[3] = 1;
	memcpy(ask.tuple, from, six ? 32 : 8);
	unsigned char *ports = ask.tuple + (six ? 32 : 8);
	ports[0] = 0x12, ports[1] = 0x34;
	memcpy(ports + 2, &port, 2);
	memcpy(ask.tcp, ports, 4);
	ask.tcp[7] = 9;
	ask.tcp[12] = mss ? 0x60 : 0x50, ask.tcp[13] = flags;
	ask.tcp_size = (mss ? 24 : 20) - 1;
	if (mss)
		ask.tcp[20] = 2, ask.tcp[21] = 4, ask.tcp[22] = mss >> 8, ask.tcp[23] = mss;
}

static void answered(unsigned cookie, int age)
{
	ask.tcp[13] = 0x10, ask.tcp[12] = 0x50, ask.tcp_size = 19;
	ask.tcp[7] = 10;
	cookie += 1 + age;
	for (int i = 0; i < 4; i++)
		ask.tcp[8 + i] = cookie >> 8 * (3 - i);
	ask.check = 1;
}

static unsigned short listening(int six, int backlog, int only, int type, int listens)
{
	unsigned short address[14] = { six ? 10 : 2 };
	int size = sizeof(address);
	if (!six)
		address[2] = 0x7f, address[3] = 0x0100;
	long fd = sys(__NR_socket, address[0], type, 0);
	sys(__NR_setsockopt, fd, 41, 26, &only, 4);
	sys(__NR_bind, fd, address, six ? 28 : 16);
	if (listens)
		sys(__NR_listen, fd, backlog);
	sys(__NR_getsockname, fd, address, &size);
	return address[1];
}

int main(int argc, char **argv)
{
	table = bpf_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(ask), 1, 0);
	prog = program();
	say("program %r\n", prog < 0 ? prog : 0);
	for (int mode = 0; mode < 3; mode++)
		for (int six = 0; six < 2; six++)
			for (int backlog = 0; backlog < 4; backlog += 3) {
				static const int sizes[] = { 0, 100, 536, 1200, 1220, 1300, 1440, 1460, 9000, 65495 };
				spit("/proc/sys/net/ipv4/tcp_syncookies", mode == 0 ? "0" : mode == 1 ? "1" : "2");
				unsigned short port = listening(six, backlog, 0, 1, 1);
				say("mode %d IPv%d", mode, six ? 6 : 4);
				say(" backlog %d:", backlog);
				segment(six, port, 0x10, 0), answered(5, 0), told("none given");
				segment(six, port, 2, 0);
				unsigned cookie = (unsigned)asked();
				for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
					segment(six, port, 2, sizes[i]), told("made");
				segment(six, port, 2, 0), answered(cookie, 0), told("back");
				segment(six, port, 2, 0), answered(cookie, 1), told("another");
				segment(six, port, 2, 0), answered(cookie, 0), ask.tcp[7] = 11, told("another number");
				segment(six, port, 2, 0), answered(cookie, 0), ask.tcp[13] = 0x12, told("with SYN");
				segment(six, port, 2, 0), answered(cookie, 0), ask.tcp[13] = 0x14, told("with RST");
				segment(six, port, 2, 0), answered(cookie, 0), ask.tcp[13] = 0, told("without ACK");
				segment(six, port, 2, 0), answered(cookie, 0), ask.ip_size--, told("short");
				segment(six, port, 2, 0), answered(cookie, 0), ask.tcp_size--, told("shorter");
				segment(six, port, 2, 0), answered(cookie, 0), ask.ip[0] = 0x55, told("version 5");
				segment(six, port, 2, 0), answered(cookie, 0), ask.ip[0] = six ? 0x45 : 0x60, told("other version");
				segment(six, port, 2, 0), ask.ip_size--, told("| short");
				segment(six, port, 2, 0), ask.tcp_size--, told("shorter");
				segment(six, port, 2, 0), ask.tcp_size++, told("longer");
				segment(six, port, 2, 0), ask.tcp[12] = 0x40, told("wrong");
				segment(six, port, 2, 0), ask.ip[0] = 0x55, told("version 5");
				segment(six, port, 2, 0), ask.ip[0] = six ? 0x45 : 0x60, told("other version");
				segment(six, port, 0x12, 0), told("SYN-ACK");
				segment(six, port, 3, 0), told("SYN-FIN");
				segment(six, port, 6, 0), told("SYN-RST");
				segment(six, port, 0xca, 0), told("SYN with more");
				segment(six, port, 0, 0), told("nothing");
				segment(six, port + 1, 2, 0), told("nobody");
				say("\n");
				for (int fd = 5; fd < 10; fd++)
					sys(__NR_close, fd);
			}
	say("both versions:");
	unsigned short port = listening(1, 0, 0, 1, 1);
	segment(0, port, 2, 0), told("made"), say("\n");
	say("IPv6 alone:");
	port = listening(1, 0, 1, 1, 1);
	segment(1, port, 2, 0), ask.ip[0] = 0x45, told("made");
	segment(1, port, 2, 0), answered(1, 0), ask.ip[0] = 0x45, told("back"), say("\n");
	return 0;
}
