/* Sockets of every kind in socket maps: which may be put in, whose data is judged, and where it goes.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

#define WORD(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
struct address { unsigned short family, port; unsigned word[6]; };

static long named(int family, struct address *a)
{
	memset(a, 0, sizeof(*a));
	a->family = family;
	if (family == 2)
		a->word[0] = 0x0100007f;
	else
		a->word[4] = 0x01000000;
	return family == 2 ? 16 : 28;
}

/* Two ends that are connected: sending at [0] arrives at [1]. */
static void ends(char kind, int fd[2])
{
	struct address a, b;
	int size = sizeof(a), family = kind == 'T' || kind == 'U' ? 10 : 2, one = 1;
	long length = named(family, &a);
	if (kind == 's' || kind == 'd' || kind == 'q') {
		sys(__NR_socketpair, 1, kind == 's' ? 1 : kind == 'd' ? 2 : 5, 0, fd);
	} else if (kind == 't' || kind == 'T') {
		long listener = sys(__NR_socket, family, 1, 0);
		sys(__NR_bind, listener, &a, length);
		sys(__NR_listen, listener, 4);
		sys(__NR_getsockname, listener, &a, &size);
		fd[0] = sys(__NR_socket, family, 1, 0);
		sys(__NR_connect, fd[0], &a, length);
		fd[1] = sys(__NR_accept, listener, 0, 0);
		sys(__NR_setsockopt, fd[0], 6, 1, &one, sizeof(one));
		sys(__NR_close, listener);
	} else {
		fd[0] = sys(__NR_socket, family, 2, 0);
		fd[1] = sys(__NR_socket, family, 2, 0);
		sys(__NR_bind, fd[0], &a, length);
		named(family, &b);
		sys(__NR_bind, fd[1], &b, length);
		sys(__NR_getsockname, fd[0], &a, &size);
		sys(__NR_getsockname, fd[1], &b, &size);
		sys(__NR_connect, fd[0], &b, length);
		sys(__NR_connect, fd[1], &a, length);
	}
}

static void close_all(void)
{
	for (int n = 3; n < 24; n++)
		sys(__NR_close, n);
}

static long socket_map(int hash) { return bpf_map(hash ? BPF_MAP_TYPE_SOCKHASH : BPF_MAP_TYPE_SOCKMAP, 4, 8, 4, 0); }

static long element(int cmd, long map, unsigned key, long fd, unsigned long long flags)
{
	unsigned long long value = fd;
	attr.map_fd = map, attr.key = (ulong)&key, attr.value = cmd == BPF_MAP_DELETE_ELEM ? 0 : (ulong)&value, attr.flags = flags;
	return bpf(cmd);
}

static long attach(long map, long prog, int type)
{
	attr.target_fd = map, attr.attach_bpf_fd = prog, attr.attach_type = type;
	return bpf(BPF_PROG_ATTACH);
}

/* By the first byte: d drop, e out of the socket at 0, i into its queue, others pass; counts what it sees. */
static long verdict(long targets, long counts, int hash)
{
	struct bpf_insn code[60];
	int n = 0;
#define E(...) (code[n++] = (__VA_ARGS__))
	E(MOV(6, 1)), E(I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0)), E(MOV(2, 10)), E(ADD(2, -4));
	E(I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, counts)), E(I(0, 0, 0, 0, 0)), E(CALL(1));
	E(I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0)), E(EXIT);
	E(WORD(1, 0, 0)), E(ADD(1, 1)), E(I(BPF_STX | BPF_MEM | BPF_W, 0, 1, 0, 0));
	E(WORD(2, 6, 76)), E(WORD(3, 6, 80)), E(MOV(1, 3)), E(I(BPF_ALU64 | BPF_SUB | BPF_X, 1, 2, 0, 0)), E(I(BPF_STX | BPF_MEM | BPF_W, 0, 1, 4, 0));
	E(WORD(1, 6, 0)), E(I(BPF_STX | BPF_MEM | BPF_W, 0, 1, 8, 0));
	E(WORD(1, 6, 16)), E(I(BPF_STX | BPF_MEM | BPF_W, 0, 1, 12, 0));
	E(MOV(1, 6)), E(SET(2, 1)), E(CALL(39)), E(MOV(1, 6)), E(WORD(2, 6, 76)), E(WORD(3, 6, 80)), E(SET(0, 1)), E(MOV(4, 2)), E(ADD(4, 1));
	E(I(BPF_JMP | BPF_JLE | BPF_X, 4, 3, 1, 0)), E(EXIT), E(I(BPF_LDX | BPF_MEM | BPF_B, 5, 2, 0, 0));
	E(SET(0, 0)), E(I(BPF_JMP | BPF_JNE | BPF_K, 5, 0, 1, 'd')), E(EXIT);
	E(SET(4, 0)), E(I(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 3, 'e')), E(SET(4, 1)), E(SET(0, 1)), E(I(BPF_JMP | BPF_JNE | BPF_K, 5, 0, hash ? 6 : 5, 'i'));
	if (hash)
		E(MOV(3, 10)), E(ADD(3, -4));
	else
		E(SET(3, 0));
	E(I(BPF_LD | BPF_DW | BPF_IMM, 2, BPF_PSEUDO_MAP_FD, 0, targets)), E(I(0, 0, 0, 0, 0)), E(CALL(hash ? 72 : 52)), E(I(BPF_JMP | BPF_JA, 0, 0, 0, 0)), E(EXIT);
	return bpf_program(BPF_PROG_TYPE_SK_SKB, code, n);
}

static long constant(int type, int expected, int answer)
{
	struct bpf_insn code[] = { SET(0, answer), EXIT };
	attr.expected_attach_type = expected;
	return bpf_program(type, code, 2);
}

static void heard(const char *who, int fd)
{
	char text[64];
	int ready = polled(fd, 1);
	long n = sys(__NR_recvfrom, fd, text, sizeof(text) - 1, 0x42, 0, 0); /* MSG_DONTWAIT | MSG_PEEK */
	if (n == -EAGAIN && !ready)
		return;
	n = sys(__NR_recvfrom, fd, text, sizeof(text) - 1, 0x40, 0, 0);
	text[n > 0 ? n : 0] = 0;
	say(" %s %d %r %s", who, ready, n, text);
}

static void put_in(void)
{
	static const char *const kinds[] = {
		"tcp", "tcp bound", "tcp listening", "tcp connected", "tcp shut", "tcp6", "tcp6 listening", "udp", "udp bound", "udp connected", "udp6 bound",
		"stream", "stream listening", "stream connected", "dgram", "dgram connected", "seqpacket connected", "raw", "packet", "netlink", "ping", "pipe", "nothing", 0
	};
	for (int hash = 0; hash < 2; hash++)
		for (int k = 0; kinds[k]; k++) {
			struct address a;
			int pair[2] = { -1, -1 };
			long map = socket_map(hash), fd = -1, length = named(2, &a);
			unsigned long long cookie = 0;
			switch (k) {
			case 0: case 1: case 2: fd = sys(__NR_socket, 2, 1, 0); break;
			case 3: case 4: ends('t', pair), fd = pair[0]; break;
			case 5: case 6: fd = sys(__NR_socket, 10, 1, 0), length = named(10, &a); break;
			case 7: case 8: fd = sys(__NR_socket, 2, 2, 0); break;
			case 9: ends('u', pair), fd = pair[0]; break;
			case 10: fd = sys(__NR_socket, 10, 2, 0), length = named(10, &a); break;
			case 11: case 12: fd = sys(__NR_socket, 1, 1, 0); break;
			case 13: ends('s', pair), fd = pair[0]; break;
			case 14: fd = sys(__NR_socket, 1, 2, 0); break;
			case 15: ends('d', pair), fd = pair[0]; break;
			case 16: ends('q', pair), fd = pair[0]; break;
			case 17: fd = sys(__NR_socket, 2, 3, 253); break;
			case 18: fd = sys(__NR_socket, 17, 3, 0); break;
			case 19: fd = sys(__NR_socket, 16, 3, 0); break;
			case 20: fd = sys(__NR_socket, 2, 2, 1); break;
			case 21: sys(__NR_pipe2, pair, 0), fd = pair[0]; break;
			}
			if (k == 1 || k == 2 || k == 6 || k == 8 || k == 10)
				sys(__NR_bind, fd, &a, length);
			if (k == 12) {
				static const char name[] = "\1\0\0judged";
				sys(__NR_bind, fd, name, 9);
			}
			if (k == 2 || k == 6 || k == 12)
				sys(__NR_listen, fd, 1);
			if (k == 4)
				sys(__NR_shutdown, fd, 2);
			say("%s: %r", kinds[k], element(BPF_MAP_UPDATE_ELEM, map, 1, fd, 0));
			say(" again %r", element(BPF_MAP_UPDATE_ELEM, map, 1, fd, 0));
			say(" new %r", element(BPF_MAP_UPDATE_ELEM, map, 1, fd, BPF_NOEXIST));
			say(" there %r", element(BPF_MAP_UPDATE_ELEM, map, 2, fd, BPF_EXIST));
			say(" flags %r", element(BPF_MAP_UPDATE_ELEM, map, 1, fd, 4));
			say(" beyond %r", element(BPF_MAP_UPDATE_ELEM, map, 4, fd, 0));
			say(" found %r", bpf_element(BPF_MAP_LOOKUP_ELEM, map, 1, &cookie));
			say(" gone %r", element(BPF_MAP_DELETE_ELEM, map, 1, 0, 0));
			long v = constant(BPF_PROG_TYPE_SK_SKB, 0, 1), p = constant(BPF_PROG_TYPE_SK_SKB, 0, 1), m = constant(BPF_PROG_TYPE_SK_MSG, 0, 1);
			attach(map, m, BPF_SK_MSG_VERDICT);
			say(" messages %r", element(BPF_MAP_UPDATE_ELEM, map, 2, fd, 0));
			long other = socket_map(hash);
			attach(other, v, BPF_SK_SKB_VERDICT);
			say(" verdict %r", element(BPF_MAP_UPDATE_ELEM, other, 2, fd, 0));
			long last = socket_map(hash);
			element(BPF_MAP_DELETE_ELEM, other, 2, 0, 0);
			attach(last, v, BPF_SK_SKB_STREAM_VERDICT), attach(last, p, BPF_SK_SKB_STREAM_PARSER);
			say(" parser %r\n", element(BPF_MAP_UPDATE_ELEM, last, 2, fd, 0));
			close_all();
		}
}

static void between(char from, char to, int hash, int stream)
{
	static const char *const texts[] = { "pass", "drop", "else", "into", "pa", "ss", "it", 0 };
	long sources = socket_map(hash), targets = socket_map(hash), counts = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 16, 1, 0);
	long v = verdict(targets, counts, hash);
	int a[2], b[2];
	unsigned seen[4] = { 0 };
	ends(from, a), ends(to, b);
	say("%s", (char[]){ from, 0 });
	say("%s %s:", (char[]){ to, 0 }, hash ? "hash" : "map");
	say(" %r", v < 0 ? v : 0);
	say(" %r", attach(sources, v, stream ? BPF_SK_SKB_STREAM_VERDICT : BPF_SK_SKB_VERDICT));
	say(" %r", element(BPF_MAP_UPDATE_ELEM, sources, 0, a[1], 0));
	say(" %r", element(BPF_MAP_UPDATE_ELEM, targets, 0, b[0], 0));
	for (int i = 0; texts[i]; i++) {
		say(" | %s %r", texts[i], sys(__NR_sendto, a[0], texts[i], strlen(texts[i]), 0x4000, 0, 0));
		if (i == 4)
			continue;
		nap(20);
		heard("reader", a[1]);
		heard("target", b[0]);
		heard("peer", b[1]);
	}
	bpf_element(BPF_MAP_LOOKUP_ELEM, counts, 0, seen);
	say(" | %d times, seen %d of %d", seen[0], seen[1], seen[2]);
	say(" %x", (long)seen[3]);
	if (from != 't' && from != 'T') /* what TCP has not read then is odd */
		sys(__NR_sendto, a[0], "past", 4, 0x4000, 0, 0);
	say(" out %r", element(BPF_MAP_DELETE_ELEM, sources, 0, 0, 0));
	say(" %r", element(BPF_MAP_DELETE_ELEM, targets, 0, 0, 0));
	sys(__NR_sendto, a[0], "drop", 4, 0x4000, 0, 0);
	heard("reader", a[1]);
	say("\n");
	close_all();
}

int main(int argc, char **argv)
{
	put_in();
	static const char kinds[] = "tTuUsd";
	for (int i = 0; kinds[i]; i++)
		for (int j = 0; kinds[j]; j++)
			between(kinds[i], kinds[j], (i + j) & 1, (i + j) / 2 & 1);
	return 0;
}
