/* sendto(2) with MSG_FASTOPEN: a connection that begins with data. */
/* not: i386: sockets are one call there */
/* not: s390x: one CPU is enough for what no CPU decides */
#include "tiny.h"

#define MSG_FASTOPEN 0x20000000
#define MSG_DONTWAIT 0x40
#define MSG_NOSIGNAL 0x4000
static unsigned char listening[16] = { 2, 0, 0, 0, 127, 0, 0, 1 }, closed[16] = { 2, 0, 0, 9, 127, 0, 0, 1 }, none[16];
static char got[64];

static void tell(const char *what, long fd, int flags, void *to, int length)
{
	int error = 0, l = 4;
	long r = sys(__NR_sendto, fd, "12345678", 8, flags | MSG_NOSIGNAL, to, length);
	sys(__NR_getsockopt, fd, 1, 4, &error, &l);
	say("%s: %r, then %d\n", what, r, error);
}

int main(int argc, char **argv)
{
	int l = 16;
	long s = sys(__NR_socket, 2, 1, 0), c, d;
	sys(__NR_bind, s, listening, 16);
	sys(__NR_getsockname, s, listening, &l);
	sys(__NR_listen, s, 9);

	c = sys(__NR_socket, 2, 1, 0);
	tell("plain, unconnected", c, 0, listening, 16);
	tell("no address", c, MSG_FASTOPEN, 0, 0);
	tell("AF_UNSPEC", c, MSG_FASTOPEN, none, 16);
	tell("half an address", c, MSG_FASTOPEN, listening, 8);
	tell("fresh", c, MSG_FASTOPEN, listening, 16);
	tell("connected, again", c, MSG_FASTOPEN, listening, 16);
	tell("connected, no address", c, MSG_FASTOPEN, 0, 0);
	tell("connected, plain", c, 0, 0, 0);
	d = sys(__NR_accept4, s, 0, 0, 0);
	nap(20);
	say("read %r\n", sys(__NR_read, d, got, sizeof got));

	c = sys(__NR_socket, 2, 1 | 04000, 0);
	tell("not blocking", c, MSG_FASTOPEN, listening, 16);
	nap(20);
	tell("a little later", c, MSG_FASTOPEN, listening, 16);
	d = sys(__NR_accept4, s, 0, 0, 0);
	nap(20);
	say("read %r\n", sys(__NR_recvfrom, d, got, sizeof got, MSG_DONTWAIT, 0, 0));

	c = sys(__NR_socket, 2, 1, 0);
	tell("nobody there", c, MSG_FASTOPEN, closed, 16);
	tell("listener", s, MSG_FASTOPEN, listening, 16);
	return 0;
}
