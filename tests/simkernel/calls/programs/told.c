/* Options that are read with more than their value: TCP_ZEROCOPY_RECEIVE, by size and state, and NETLINK_LIST_MEMBERSHIPS. */
/* not: i386: sockets are one call there */
/* not: s390x: one CPU is enough for what no CPU decides */
#include "tiny.h"

struct zc { unsigned long long address; unsigned length, skip, inq; int err; unsigned long long copybuf; int copylen; unsigned flags; unsigned long long ctl, ctllen; unsigned msg_flags, reserved; };
static char buf[16384] __attribute__((aligned(4096))), room[200];

static void ask(const char *what, long fd, struct zc *z, int len)
{
	memset(room, 0, sizeof room);
	memcpy(room, z, sizeof *z);
	long r = sys(__NR_getsockopt, fd, 6, 35, room, &len);
	struct zc *o = (void *)room;
	say("%s: %r len %d length %d skip %d inq %d err %d copied %d msg_flags %d\n", what, r, len, o->length, o->skip, o->inq, o->err, o->copylen, o->msg_flags);
}

static void zerocopy(void)
{
	unsigned char a[16] = { 0 };
	*(unsigned short *)a = 2;
	a[4] = 127, a[7] = 1;
	int l = 16;
	struct zc z;
	memset(&z, 0, sizeof z);
	long s = sys(__NR_socket, 2, 1, 0), c = sys(__NR_socket, 2, 1, 0), d;
	static const int lens[] = { -1, 0, 8, 11, 12, 16, 20, 24, 32, 36, 40, 48, 56, 60, 64, 72 };
	for (int i = 0; i < 16; i++)
		ask("closed", s, &z, lens[i]);
	sys(__NR_bind, s, a, 16);
	sys(__NR_getsockname, s, a, &l);
	sys(__NR_listen, s, 3);
	ask("listening", s, &z, 64);
	sys(__NR_connect, c, a, 16);
	d = sys(__NR_accept4, s, 0, 0, 0);
	ask("connected", d, &z, 64);
	z.address = 12345, ask("unaligned", d, &z, 64), z.address = 0;
	z.reserved = 1, ask("reserved", d, &z, 64), z.reserved = 0;
	z.msg_flags = 1, ask("msg_flags 1", d, &z, 64);
	z.msg_flags = 2, ask("msg_flags 2", d, &z, 64), z.msg_flags = 0;
	z.length = 4096, z.inq = 77, z.err = 5, ask("inputs", d, &z, 64), z.inq = z.err = 0;
	sys(__NR_write, c, buf, 100), nap(20);
	for (int i = 4; i < 16; i++)
		ask("100 bytes", d, &z, lens[i]);
	z.copybuf = (ulong)buf, z.copylen = 50, ask("copy 50 of 100", d, &z, 64);
	z.copylen = 100, ask("copy 100", d, &z, 64), ask("copy of nothing", d, &z, 64);
	z.copylen = 0, z.copybuf = 0;
	sys(__NR_write, c, buf, 5000), nap(20);
	ask("5000 bytes at 0", d, &z, 64);
	z.address = 4096, ask("5000 bytes at a page", d, &z, 64);
	z.address = (ulong)buf, ask("5000 bytes at memory", d, &z, 64);
	z.copybuf = (ulong)buf, z.copylen = 8192, ask("copy 5000", d, &z, 64);
	z.copybuf = z.copylen = z.address = 0;
	sys(__NR_write, c, buf, 10), sys(__NR_close, c), nap(20);
	ask("10 bytes and end", d, &z, 64);
	sys(__NR_read, d, buf, 100);
	ask("end", d, &z, 64);
}

static void memberships(int protocol)
{
	long fd = sys(__NR_socket, 16, 3, protocol);
	int one = 1;
	for (int step = 0; step < 3; step++) {
		for (int size = 0; size <= 16; size += size < 8 ? 1 : 4) {
			unsigned char got[16];
			int len = size;
			memset(got, 0xee, sizeof got);
			long r = sys(__NR_getsockopt, fd, 270, 9, size ? got : 0, &len);
			say("protocol %d step %d room %d: %r len %d", protocol, step, size, r, len);
			for (int i = 0; i < 8; i++)
				say(" %x", got[i]);
			say("\n");
		}
		sys(__NR_setsockopt, fd, 270, step + 1, &one, 4);
	}
}

int main(int argc, char **argv)
{
	zerocopy();
	memberships(0);
	memberships(15);
	return 0;
}
