/* Sockets that were refused and are connected again; errors that wait, and what is said before them; families and options that nobody has. not: i386 (whose calls of sockets go through one door) */
#include "tiny.h"
#include "tiny_net.h"
#include <linux/socket.h>
struct place { unsigned short family; unsigned char port[2], address[4], zero[8]; };
static struct place at(int port) { return (struct place){ 2, { port >> 8, port }, { 127, 0, 0, 1 } }; }
static int option(int fd, int level, int name) { int v = -7, n = 4; long r = sys(__NR_getsockopt, fd, level, name, &v, &n); say("get %d %d: %r %d %d\n", level, name, r, v, n); return v; }
int main(int argc, char **argv)
{
	char b[64];
	netlink = sys(__NR_socket, 16, 3, 0);
	set_up("lo", 0);
	struct place here = at(4000), nowhere = at(4999), other = at(4001);
	long l = sys(__NR_socket, 2, 1, 0), c = sys(__NR_socket, 2, 1, 0);
	other.family = 0;
	T(__NR_bind, l, &other, 16);
	memset(other.address, 0, 4);
	T(__NR_bind, l, &other, 16);
	l = sys(__NR_socket, 2, 1, 0);
	T(__NR_bind, l, &here, 16);
	T(__NR_listen, l, 4);
	for (int i = 0; i < 3; i++)
		T(__NR_connect, c, i == 1 ? &here : &nowhere, 16);
	long d = sys(__NR_accept4, l, 0, 0, 0);
	T(__NR_sendto, c, "hello", 5, 0, 0, 0);
	T(__NR_recvfrom, d, b, 64, 0, 0, 0);
	T(__NR_recvfrom, d, b, 64, 0x2000, 0, 0); /* MSG_ERRQUEUE */
	T(__NR_recvfrom, l, b, 64, 0x2000, 0, 0);
	c = sys(__NR_socket, 2, 1 | O_NONBLOCK, 0); /* the same, when nobody waits */
	T(__NR_connect, c, &nowhere, 16);
	T(__NR_sendto, c, "x", 1, 0x4000, 0, 0);
	T(__NR_connect, c, &nowhere, 16);
	option(c, 1, 4);
	option(c, 1, 4);
	T(__NR_connect, c, &here, 16);
	T(__NR_connect, c, &here, 16);
	T(__NR_connect, c, &here, 16);
	T(__NR_sendto, c, "x", 1, 0x4000, 0, 0);
	long u = sys(__NR_socket, 2, 2, 0);
	T(__NR_connect, u, &nowhere, 16);
	T(__NR_sendto, u, "x", 1, 0, 0, 0);
	nap(2);
	T(__NR_sendto, u, "x", 1, 0, 0, 0);
	T(__NR_sendto, u, "x", 1, 0, 0, 0);
	nap(2);
	memset(&nowhere, 0, 2);
	T(__NR_connect, u, &nowhere, 16);
	T(__NR_sendto, u, "x", 1, 0, 0, 0);
	nowhere.family = 10;
	T(__NR_sendto, u, "x", 1, 0, &nowhere, 16);
	nowhere = at(0);
	T(__NR_sendto, u, "x", 1, 0, &nowhere, 16);
	T(__NR_sendto, u, "x", 1, 0, &here, 16);
	T(__NR_sendto, u, "x", 1, 0, &here, 16);
	for (int name = 9; name < 13; name++)
		option(u, 17, name);
	for (int v = -2; v < 4; v++) {
		say("%d: %r\n", v, sys(__NR_setsockopt, l, 1, 74, &v, 4));
		option(l, 1, 74);
	}
	struct { void *name; int length; void *vectors; long count; void *control; long size; int flags; } m;
	memset(&m, 0, sizeof m);
	m.count = 1025;
	T(__NR_sendmsg, u, &m, 0);
	T(__NR_recvmsg, u, &m, 0);
	return 0;
}
