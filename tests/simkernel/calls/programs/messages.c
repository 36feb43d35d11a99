/* Several messages at once, credentials, options of unix sockets. */
/* not: i386 */
#include "tiny.h"
#include <linux/socket.h>
#include <linux/uio.h>
#include <linux/net.h>

#define AF_UNIX 1
#define SOL_SOCKET 1
struct header { void *name; int namelen; struct iovec *iov; size_t iovlen; void *control; size_t controllen; unsigned flags; };
struct many { struct header h; unsigned len; };
struct cred { int pid; unsigned uid, gid; };
struct control { size_t len; int level, type; char data[24]; };
#define GENERIC(name, ...) sys(__NR_##name, __VA_ARGS__)

static void mmsg(int *p)
{
	char a[8] = { 0 }, b[8] = { 0 }, c[8] = { 0 };
	struct iovec v[3] = { { "one", 3 }, { "two2", 4 }, { "three", 5 } }, w[3] = { { a, 7 }, { b, 7 }, { c, 7 } };
	struct many m[3], r[3];
	memset(m, 0, sizeof(m));
	memset(r, 0, sizeof(r));
	for (int i = 0; i < 3; i++)
		m[i].h.iov = v + i, m[i].h.iovlen = 1, r[i].h.iov = w + i, r[i].h.iovlen = 1;
	say("sendmmsg %r", GENERIC(sendmmsg, p[0], m, 3, 0));
	say(" %d %d %d\n", m[0].len, m[1].len, m[2].len);
	say("recvmmsg %r", GENERIC(recvmmsg, p[1], r, 2, 0, 0));
	say(" %d '%s' %d '%s'\n", r[0].len, a, r[1].len, b);
	say("one left %r", GENERIC(recvmmsg, p[1], r, 3, 0x10000, 0));
	say(" %d '%s'\n", r[0].len, a);
	say("none %r\n", GENERIC(recvmmsg, p[1], r, 3, 0x40, 0));
	m[1].h.iov = (void *)16;
	say("second faults %r\n", GENERIC(sendmmsg, p[0], m, 3, 0));
	say("first faults %r\n", GENERIC(sendmmsg, p[0], m + 1, 1, 0));
	say("not a socket %r\n", GENERIC(sendmmsg, 1, m, 3, 0));
	GENERIC(recvfrom, p[1], a, 8, 0, 0, 0);
	struct __kernel_old_timespec t = { 0, 0 };
	GENERIC(sendmmsg, p[0], m, 1, 0);
	say("with a time %r\n", GENERIC(recvmmsg, p[1], r, 3, 0, &t));
}

static void send_with(int fd, void *control, size_t size)
{
	struct iovec v = { "x", 1 };
	struct header h = { 0, 0, &v, 1, control, size, 0 };
	say(" send %r", GENERIC(sendmsg, fd, &h, 0));
}

static void take_with(int fd, size_t room)
{
	char data[8], control[128];
	struct iovec v = { data, 8 };
	struct header h = { 0, 0, &v, 1, control, room, 0 };
	long got = GENERIC(recvmsg, fd, &h, 0x40);
	say(" recv %r flags %x len %l", got, (long)h.flags, (long)h.controllen);
	for (size_t at = 0; at + 16 <= h.controllen;) {
		struct control *c = (void *)(control + at);
		struct cred *who = (void *)c->data;
		say(" [%l %d %d", (long)c->len, c->level, c->type);
		if (c->type == 2 && c->len >= 28)
			say(" me %d uid %d gid %d", who->pid == sys(__NR_getpid), who->uid, who->gid);
		say("]");
		at += (c->len + 7) & ~7;
	}
	say("\n");
}

static void credentials(int *p)
{
	int one = 1, size = 12;
	struct cred who;
	struct control c = { 28, SOL_SOCKET, 2 };
	say("peercred %r", GENERIC(getsockopt, p[0], SOL_SOCKET, 17, &who, &size));
	say(" me %d uid %d gid %d size %d\n", who.pid == sys(__NR_getpid), who.uid, who.gid, size);
	size = 4;
	say("short %r", GENERIC(getsockopt, p[0], SOL_SOCKET, 17, &who, &size));
	say(" size %d\n", size);
	say("unasked");
	send_with(p[0], 0, 0);
	take_with(p[1], 128);
	say("passcred %r\n", GENERIC(setsockopt, p[1], SOL_SOCKET, 16, &one, 4));
	say("asked");
	send_with(p[0], 0, 0);
	take_with(p[1], 128);
	say("no room");
	send_with(p[0], 0, 0);
	take_with(p[1], 10);
	say("little room");
	send_with(p[0], 0, 0);
	take_with(p[1], 24);
	who.pid = sys(__NR_getpid), who.uid = 77, who.gid = 88;
	memcpy(c.data, &who, 12);
	say("claimed");
	send_with(p[0], &c, 32);
	take_with(p[1], 128);
	c.len = 20;
	say("wrong size");
	send_with(p[0], &c, 32);
	say("\n");
	c.len = 28, c.type = 9;
	say("unknown");
	send_with(p[0], &c, 32);
	say("\n");
	c.len = 20, c.type = 1;
	*(int *)c.data = 1;
	say("file too");
	send_with(p[0], &c, 24);
	take_with(p[1], 128);
	c.type = 2, c.len = 28, who.pid = 99999;
	memcpy(c.data, &who, 12);
	say("nobody");
	send_with(p[0], &c, 32);
	say("\n");
	sys(__NR_setresuid, 1000, 1000, 1000);
	who.pid = sys(__NR_getpid), who.uid = 0, who.gid = 0;
	memcpy(c.data, &who, 12);
	say("lie");
	send_with(p[0], &c, 32);
	say("\n");
}

int main(int argc, char **argv)
{
	int p[2];
	GENERIC(socketpair, AF_UNIX, 2, 0, p);
	mmsg(p);
	GENERIC(socketpair, AF_UNIX, 1, 0, p);
	credentials(p);
	return 0;
}
