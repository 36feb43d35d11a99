/* Classic filters that load what is no byte of the packet (SKF_AD_*), by loads of each size, and offsets that are none.  not: i386 s390x */
#include "tiny.h"

struct insn { unsigned short code; unsigned char jt, jf; unsigned k; };
struct program { unsigned short len; struct insn *insns; };
static long attach(long s, struct insn *insns, int n)
{
	struct program p = { n, insns };
	return sys(__NR_setsockopt, s, 1, 26, &p, sizeof(p));
}
int main(int argc, char **argv)
{
	static const unsigned short sizes[] = { 0x20, 0x28, 0x30, 0x40, 0x48, 0x50 };
	struct sockaddr_in { unsigned short family, port; unsigned address; char zero[8]; } to = { 2, 0x3930, 0x0100007f };
	long s = sys(__NR_socket, 2, 2, 0), up[3] = { 0x6f6c, 0, 0x41 };
	sys(__NR_ioctl, s, 0x8914, up); /* lo is up */
	say("bind %r\n", sys(__NR_bind, s, &to, sizeof(to)));
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (int off = -0x1000; off < -0x1000 + 72; off += off == -0x1000 + 8 ? 1 : off < -0x1000 + 12 && off & 3 ? 3 : 4) {
			struct insn f[] = { { sizes[i], 0, 0, off }, { 0x16, 0, 0, 0 } };
			say("%x %d: %r\n", (long)sizes[i], off + 0x1000, attach(s, f, 2));
		}
	static const int others[] = { -1, -0x1001, -0x100000, -0x1ffffc, -0x200000, -0x200004, 0x7fffffff };
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct insn f[] = { { 0x28, 0, 0, others[i] }, { 0x16, 0, 0, 0 } };
		say("half a word at %d: %r\n", others[i], attach(s, f, 2));
	}
	static const struct { int off; unsigned value; } facts[] = { { 0, 0x800 }, { 4, 0 }, { 8, 1 }, { 20, 0 }, { 28, 772 }, { 36, 0 }, { 48, 0 }, { 52, 28 } };
	for (unsigned size = 0; size < 3; size++)
		for (unsigned i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
			struct insn f[] = { { sizes[size], 0, 0, facts[i].off - 0x1000 }, { 0x15, 0, 1, facts[i].value }, { 6, 0, 0, -1 }, { 6, 0, 0, 0 } };
			char got[8];
			long done = attach(s, f, 4);
			sys(__NR_sendto, s, "hi", 2, 0, &to, sizeof(to));
			say("%x of %d is %x: %r %r\n", (long)sizes[size], facts[i].off, (long)facts[i].value, done, sys(__NR_recvfrom, s, got, 8, 0x40));
		}
	return 0;
}
