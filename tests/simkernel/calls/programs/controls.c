/* Control messages and unix sockets: files and credentials in passing, halves that are shut, backlogs, names, peeks, ends;
 * what a datagram tells of its way, and errors that are queued.  not: s390x (addresses are shown as words) */
#include "tiny.h"
#include <linux/errqueue.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ipv6.h>
#include <linux/net_tstamp.h>
#include <linux/socket.h>
#include <linux/sockios.h>
#include <linux/stat.h>
#include <linux/uio.h>
#include <linux/un.h>
#include <linux/sched.h>
#include <asm/ioctls.h>
#include <asm/socket.h>

enum { UNIX = 1, INET = 2, INET6 = 10, STREAM = 1, DGRAM = 2, SEQPACKET = 5, NONBLOCK = 04000 };
enum { OOB = 1, PEEK = 2, CTRUNC = 8, TRUNC = 0x20, DONTWAIT = 0x40, EOR = 0x80, WAITALL = 0x100, ERRQUEUE = 0x2000, NOSIGNAL = 0x4000, CLOEXEC = 0x40000000 };
struct header { void *name; int namelen; struct iovec *iov; size_t iovlen; void *control; size_t controllen; unsigned flags; };
struct control { size_t len; int level, type; };
#define ALIGNED(n) (((n) + sizeof(long) - 1) & ~(sizeof(long) - 1))
#define HEAD ALIGNED(sizeof(struct control))
#define close(fd) sys(__NR_close, fd)
#define send(fd, p, n, f) sys(__NR_sendto, fd, p, n, f, 0, 0)
#define recv(fd, p, n, f) sys(__NR_recvfrom, fd, p, n, f, 0, 0)

static char control[2048];
static size_t controls;
static void *put_control(int level, int type, size_t len)
{
	struct control *c = (void *)(control + controls);
	c->len = HEAD + len, c->level = level, c->type = type;
	controls += HEAD + ALIGNED(len);
	return (char *)c + HEAD;
}
static long send_all(int fd, const char *data, int size, int flags)
{
	struct iovec v = { (void *)data, size };
	struct header h = { 0, 0, &v, 1, control, controls, 0 };
	long ret = sys(__NR_sendmsg, fd, &h, flags);
	controls = 0;
	return ret;
}
static long send_fds(int fd, const char *data, int size, int n, const int *fds)
{
	memcpy(put_control(1, 1, 4 * n), fds, 4 * n);
	return send_all(fd, data, size, DONTWAIT);
}
/* receive and tell of everything */
static void take(const char *what, int fd, int size, int room, int flags)
{
	static char data[256], in[1024], name[128];
	struct iovec v = { data, size };
	struct header h = { name, sizeof(name), &v, 1, in, room, 0 };
	long got = sys(__NR_recvmsg, fd, &h, DONTWAIT | flags);
	say("%s: %r", what, got);
	if (got >= 0) {
		say(" <");
		for (int i = 0; i < got && i < size && i < 16; i++)
			put(data[i] ? data[i] : '.');
		say("> flags %x name %d", (long)h.flags, h.namelen);
		for (size_t at = 0; at + sizeof(struct control) <= h.controllen;) {
			struct control *c = (void *)(in + at);
			int *p = (void *)(in + at + HEAD), n = (c->len - HEAD) / 4;
			say(" [%d %d:", c->level, c->type);
			if (c->level == 1 && c->type == 1) {
				say(" %d files", n);
				for (int i = 0; i < n; i++)
					say(" %s%s", sys(__NR_fcntl, p[i], F_GETFD) & 1 ? "x" : "", sys(__NR_fcntl, p[i], F_GETFL) & O_PATH ? "path" : ""), close(p[i]);
			} else if (c->level == 1 && c->type == 2)
				say(" %s %d %d", p[0] == sys(__NR_getpid) ? "me" : p[0] ? "other" : "0", p[1], p[2]);
			else if (c->level == 1)
				say(" %s", p[0] || p[1] ? "time" : "none");
			else
				for (int i = 0; i < n && i < 12; i++)
					say(" %x", (long)(unsigned)p[i]);
			say("]");
			if (!c->len)
				break;
			at += ALIGNED(c->len);
		}
	}
	say("\n");
}
static void pair(int *p, int type) { int q[2] = { -1, -1 }; sys(__NR_socketpair, UNIX, type, 0, q); p[0] = q[0], p[1] = q[1]; }
static void both(int *p) { close(p[0]), close(p[1]); }
static void opt(int fd, int level, int name, int value) { long r = sys(__NR_setsockopt, fd, level, name, &value, 4); if (r) say("option %d %d %r\n", level, name, r); }

/* -- files and credentials ------------------------------------------------------------------------------------- */

static void rights(int type)
{
	int p[2], fds[300], q[2];
	say("== rights %d\n", type);
	pair(p, type);
	for (int i = 0; i < 300; i++)
		fds[i] = 0;
	fds[0] = p[0], fds[1] = 1, fds[2] = sys(__NR_openat, AT_FDCWD, "/", O_PATH, 0);
	say("three %r\n", send_fds(p[0], "abc", 3, 3, fds));
	take("three", p[1], 10, 1024, 0);
	say("three %r\n", send_fds(p[0], "abc", 3, 3, fds));
	take("close on exec", p[1], 10, 1024, CLOEXEC);
	for (int more = -4; more <= 16; more += 4) {
		send_fds(p[0], "abc", 3, 3, fds);
		take("little room", p[1], 10, HEAD + more, 0);
	}
	send_fds(p[0], "abc", 3, 1, fds);
	take("peek", p[1], 2, 1024, PEEK);
	take("part", p[1], 2, 1024, 0);
	take("rest", p[1], 2, 1024, 0);
	fds[5] = 999;
	say("253 %r", send_fds(p[0], "a", 1, 253, fds + 6));
	say(" 254 %r", send_fds(p[0], "a", 1, 254, fds + 6));
	say(" bad %r\n", send_fds(p[0], "a", 1, 6, fds));
	recv(p[1], control + 1024, 10, DONTWAIT);
	say("none %r\n", send_fds(p[0], "n", 1, 0, fds));
	take("none", p[1], 10, 1024, 0);
	say("no data %r\n", send_fds(p[0], "", 0, 1, fds));
	take("no data", p[1], 10, 1024, 0);
	send(p[0], "1", 1, 0);
	send_fds(p[0], "2", 1, 1, fds);
	send(p[0], "3", 1, 0);
	send_fds(p[0], "4", 1, 2, fds);
	take("mixed", p[1], 10, 1024, 0);
	take("mixed", p[1], 10, 1024, 0);
	take("mixed", p[1], 10, 1024, 0);
	take("mixed", p[1], 10, 1024, 0);
	memcpy(put_control(1, 1, 4), fds, 4);
	memcpy(put_control(1, 1, 8), fds, 8);
	say("two lists %r\n", send_all(p[0], "ab", 2, 0));
	take("two lists", p[1], 10, 1024, 0);
	/* what is no control message */
	put_control(1, 1, 4);
	((struct control *)control)->len = 4;
	say("short %r", send_all(p[0], "a", 1, 0));
	put_control(1, 1, 4);
	((struct control *)control)->len = 4000;
	say(" long %r", send_all(p[0], "a", 1, 0));
	put_control(0, 2, 4);
	say(" other level %r", send_all(p[0], "a", 1, 0));
	put_control(1, 3, 4);
	say(" unknown %r", send_all(p[0], "a", 1, 0));
	put_control(1, 2, 8);
	say(" short credentials %r", send_all(p[0], "a", 1, 0));
	controls = 3;
	say(" three bytes %r\n", send_all(p[0], "a", 1, 0));
	while (recv(p[1], control + 1024, 100, DONTWAIT) > 0)
		;
	{
		int *c = put_control(1, 2, 12);
		c[0] = sys(__NR_getpid), c[1] = 5, c[2] = 6;
		memcpy(put_control(1, 1, 4), fds, 4);
		say("both %r\n", send_all(p[0], "both", 4, 0));
	}
	opt(p[1], 1, SO_PASSCRED, 1);
	take("both", p[1], 10, 1024, 0);
	send(p[0], "me", 2, 0);
	if (!fork()) { send(p[0], "child", 5, 0); leave(0); }
	wait_for(-1);
	take("mine", p[1], 10, 1024, 0);
	take("child's", p[1], 10, 1024, 0);
	take("nothing", p[1], 10, 1024, 0);
	/* sockets that hold each other */
	pair(q, type);
	say("cycle %r", send_fds(p[0], "a", 1, 2, q));
	say(" %r", send_fds(q[0], "b", 1, 2, p));
	both(q);
	both(p);
	close(fds[2]);
	say(" closed\n");
	opt(1, 1, SO_PASSCRED, 1);
}

/* -- streams, records, datagrams ------------------------------------------------------------------------------------ */

static void poll_of(const char *what, int fd) { say("%s %x ", what, (long)polled(fd, 0x2000 | POLLIN | POLLOUT | POLLPRI)); }

static void halves(int type)
{
	int p[2], n = -1;
	char buf[16];
	say("== halves %d\n", type);
	pair(p, type);
	say("how 3 %r", sys(__NR_shutdown, p[0], 3));
	say(" -1 %r\n", sys(__NR_shutdown, p[0], -1));
	send(p[0], "left", 4, 0);
	say("shut writing %r", sys(__NR_shutdown, p[0], 1));
	say(" again %r\n", sys(__NR_shutdown, p[0], 1));
	poll_of("poll", p[0]);
	poll_of("other", p[1]);
	say("send %r", send(p[0], "x", 1, NOSIGNAL));
	say(" recv %r\n", recv(p[1], buf, 16, 0));
	say("recv %r", recv(p[1], buf, 16, DONTWAIT));
	say(" back %r\n", send(p[1], "back", 4, 0));
	say("shut reading %r", sys(__NR_shutdown, p[0], 0));
	say(" recv %r", recv(p[0], buf, 16, DONTWAIT));
	say(" then %r", recv(p[0], buf, 16, DONTWAIT));
	say(" other sends %r\n", send(p[1], "x", 1, NOSIGNAL));
	poll_of("poll", p[0]);
	poll_of("other", p[1]);
	say("\n");
	both(p);
	pair(p, type);
	send(p[0], "unread", 6, 0);
	close(p[1]);
	poll_of("peer gone", p[0]);
	say("recv %r", recv(p[0], buf, 16, DONTWAIT));
	say(" then %r", recv(p[0], buf, 16, DONTWAIT));
	say(" send %r", send(p[0], "x", 1, NOSIGNAL));
	sys(__NR_getsockopt, p[0], 1, SO_ERROR, &n, &(int){ 4 });
	say(" error %d", n);
	say(" shutdown %r", sys(__NR_shutdown, p[0], 2));
	say(" peername %r\n", sys(__NR_getpeername, p[0], control, &(int){ 100 }));
	close(p[0]);
	pair(p, type);
	on_signal(13, (void *)1, 0);
	close(p[1]);
	say("ended first: recv %r", recv(p[0], buf, 16, DONTWAIT));
	say(" write %r", sys(__NR_write, p[0], "x", 1));
	poll_of(" poll", p[0]);
	say("\n");
	close(p[0]);
	on_signal(13, 0, 0);
	/* records */
	pair(p, type);
	send(p[0], "first", 5, 0);
	send(p[0], "", 0, 0);
	send(p[0], "second", 6, EOR);
	sys(__NR_ioctl, p[1], SIOCINQ, &n);
	say("inq %d", n);
	sys(__NR_ioctl, p[0], SIOCOUTQ, &n);
	say(" outq %s\n", n > 11 ? "more" : "11");
	take("peek", p[1], 3, 0, PEEK);
	take("short", p[1], 3, 0, 0);
	take("next", p[1], 10, 0, 0);
	take("next", p[1], 10, 0, TRUNC);
	take("next", p[1], 3, 0, TRUNC);
	take("oob", p[1], 3, 0, OOB);
	say("send oob %r", send(p[0], "o", 1, OOB | DONTWAIT));
	say(" flags %r", send(p[0], "o", 1, 0x8000000));
	say(" nothing %r\n", recv(p[1], buf, 0, DONTWAIT));
	say("errqueue %r\n", recv(p[1], buf, 4, ERRQUEUE | DONTWAIT));
	both(p);
	/* peeking further on */
	pair(p, type);
	n = -5;
	sys(__NR_getsockopt, p[1], 1, SO_PEEK_OFF, &n, &(int){ 4 });
	say("peek_off %d", n);
	opt(p[1], 1, SO_PEEK_OFF, 1);
	send(p[0], "abcd", 4, 0);
	send(p[0], "efgh", 4, 0);
	say("\n");
	take("from 1", p[1], 2, 0, PEEK);
	take("on", p[1], 2, 0, PEEK);
	take("on", p[1], 8, 0, PEEK);
	take("read", p[1], 3, 0, 0);
	take("on", p[1], 8, 0, PEEK);
	sys(__NR_getsockopt, p[1], 1, SO_PEEK_OFF, &n, &(int){ 4 });
	say("peek_off %d\n", n);
	both(p);
}

/* -- names -------------------------------------------------------------------------------------------------------- */

static struct sockaddr_un address;
static int named(const char *path, int n) /* its length; n: of the name, or 0: the text's with its end */
{
	memset(&address, 0, sizeof(address));
	address.sun_family = UNIX;
	memcpy(address.sun_path, path, n ? n : strlen(path) + 1);
	return 2 + (n ? n : (int)strlen(path) + 1);
}
#define BIND(fd, ...) ({ int l_ = named(__VA_ARGS__); sys(__NR_bind, fd, &address, l_); })
#define CONNECT(fd, ...) ({ int l_ = named(__VA_ARGS__); sys(__NR_connect, fd, &address, l_); })
static void name_of(const char *what, long (*ask)(int, void *, int *), int fd, int room)
{
	struct sockaddr_un a;
	memset(&a, 'z', sizeof(a));
	long ret = ask(fd, &a, &room);
	say("%s %r length %d family %d <", what, ret, room, a.sun_family);
	for (int i = 0; i < room - 2 && i < 20; i++)
		put(a.sun_path[i] ? a.sun_path[i] : '.');
	say(">\n");
}
static long sockname(int fd, void *p, int *n) { return sys(__NR_getsockname, fd, p, n); }
static long peername(int fd, void *p, int *n) { return sys(__NR_getpeername, fd, p, n); }
#define SOCKET(type) ((int)sys(__NR_socket, UNIX, type, 0))

static void names(void)
{
	int a = SOCKET(STREAM), b = SOCKET(STREAM), c, d = SOCKET(DGRAM), n;
	struct statx st;
	static char longest[120];
	say("== names\n");
	name_of("unbound", sockname, a, 110);
	name_of("not connected", peername, a, 110);
	say("bind empty %r", sys(__NR_bind, a, &address, 0));
	named("x", 0);
	address.sun_family = INET;
	say(" family %r", sys(__NR_bind, a, &address, 10));
	say(" of one byte %r", sys(__NR_bind, a, &address, 1));
	say(" two %r", sys(__NR_bind, a, &address, 2));
	address.sun_family = UNIX;
	say(" too long %r", sys(__NR_bind, a, &address, 111));
	say(" nowhere %r\n", sys(__NR_bind, a, 8, 10));
	say("auto %r", sys(__NR_bind, a, &address, 2));
	n = 110;
	sys(__NR_getsockname, a, &address, &n);
	say(" %d", n);
	say(" %d", address.sun_path[0]);
	say(" again %r\n", BIND(a, "other", 0));
	say("abstract %r", BIND(b, "\0one", 4));
	say(" same %r", BIND(SOCKET(STREAM), "\0one", 4));
	say(" of another type %r", BIND(d, "\0one", 4));
	say(" longer %r\n", ({ int t = SOCKET(STREAM); long r = BIND(t, "\0one\0", 5); close(t); r; }));
	name_of("abstract", sockname, b, 110);
	name_of("cut", sockname, b, 4);
	name_of("none", sockname, b, 0);
	name_of("negative", sockname, b, -1);
	c = SOCKET(STREAM);
	say("not listening %r", CONNECT(c, "\0one", 4));
	say(" listen %r", sys(__NR_listen, b, 1));
	say(" again %r", sys(__NR_listen, b, 1));
	say(" unbound %r", sys(__NR_listen, c, 1));
	say(" datagram %r", sys(__NR_listen, d, 1));
	say(" other type %r", CONNECT(d, "\0one", 4));
	say(" self %r\n", CONNECT(b, "\0one", 4));
	say("connect %r", CONNECT(c, "\0one", 4));
	say(" again %r", CONNECT(c, "\0one", 4));
	say(" bind %r\n", BIND(c, "\0two", 4));
	name_of("peer", peername, c, 110);
	name_of("own", sockname, c, 110);
	int e[5];
	for (int i = 0; i < 4; i++) {
		e[i] = SOCKET(STREAM | NONBLOCK);
		say("%d %r ", i, CONNECT(e[i], "\0one", 4));
	}
	poll_of("waiting", e[3]);
	poll_of("listener", b);
	n = 110;
	int f = sys(__NR_accept4, b, &address, &n, 0x80000);
	say("accepted %d length %d family %d ", f > 2, n, address.sun_family);
	say("then %r\n", CONNECT(e[3], "\0one", 4));
	say("accept flags %r", sys(__NR_accept4, b, 0, 0, 1));
	say(" of a connected %r", sys(__NR_accept4, c, 0, 0, 0));
	say(" of a datagram %r\n", sys(__NR_accept4, d, 0, 0, 0));
	name_of("accepted", sockname, f, 110);
	name_of("its peer", peername, f, 110);
	say("send before accept %r", send(e[0], "early", 5, 0));
	close(b);
	say(" after the listener %r", send(e[0], "early", 5, NOSIGNAL));
	say(" recv %r", recv(e[0], longest, 5, DONTWAIT));
	poll_of(" poll", e[0]);
	say("refused %r\n", CONNECT(SOCKET(STREAM), "\0one", 4));
	take("data of the accepted", f, 10, 0, 0);
	/* files */
	b = SOCKET(STREAM);
	say("path %r", BIND(b, "/tmp/s", 0));
	say(" again %r", BIND(SOCKET(STREAM), "/tmp/s", 0));
	sys(__NR_statx, AT_FDCWD, "/tmp/s", 0, 0x7ff, &st);
	say(" mode %x", (long)st.stx_mode);
	say(" open %r", sys(__NR_openat, AT_FDCWD, "/tmp/s", O_RDWR, 0));
	say(" no such %r", CONNECT(SOCKET(STREAM), "/tmp/none", 0));
	say(" a file %r", CONNECT(SOCKET(STREAM), "/tmp", 0));
	say(" a directory's %r\n", BIND(SOCKET(STREAM), "/tmp/none/s", 0));
	name_of("path", sockname, b, 110);
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "/tmp/", 5);
	say("108 %r", BIND(SOCKET(STREAM), longest, 108));
	sys(__NR_listen, b, 5);
	sys(__NR_fchmodat, AT_FDCWD, "/tmp/s", 0600);
	if (!fork()) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		say(" other's %r", CONNECT(SOCKET(STREAM), "/tmp/s", 0));
		leave(0);
	}
	wait_for(-1);
	sys(__NR_unlinkat, AT_FDCWD, "/tmp/s", 0);
	say(" unlinked %r\n", CONNECT(SOCKET(STREAM), "/tmp/s", 0));
	/* datagrams */
	int x = SOCKET(DGRAM), y = SOCKET(DGRAM | NONBLOCK), z = SOCKET(DGRAM | NONBLOCK);
	BIND(x, "\0x", 2);
	BIND(y, "\0y", 2);
	say("send %r", send(y, "a", 1, 0));
	named("\0x", 2);
	say(" to %r", sys(__NR_sendto, y, "named", 5, 0, &address, 4));
	say(" unnamed %r", sys(__NR_sendto, z, "unnamed", 7, 0, &address, 4));
	named("\0none", 5);
	say(" nobody %r", sys(__NR_sendto, z, "a", 1, 0, &address, 7));
	named("\0one", 4);
	say(" gone %r\n", sys(__NR_sendto, z, "a", 1, 0, &address, 6));
	take("named", x, 10, 0, 0);
	take("unnamed", x, 10, 0, 0);
	say("connect %r", CONNECT(x, "\0y", 2));
	named("\0x", 2);
	say(" stranger %r", sys(__NR_sendto, z, "a", 1, 0, &address, 4));
	say(" stranger connects %r", CONNECT(z, "\0x", 2));
	say(" friend %r", (named("\0x", 2), sys(__NR_sendto, y, "a", 1, 0, &address, 4)));
	address.sun_family = 0;
	say(" dissolved %r", sys(__NR_connect, x, &address, 2));
	say(" stranger %r\n", (named("\0x", 2), sys(__NR_sendto, z, "a", 1, 0, &address, 4)));
	CONNECT(z, "\0x", 2);
	for (n = 0; n < 100 && send(z, "fill", 4, 0) == 4; n++) ;
	say("queue takes %d", n);
	say(" then %r", send(z, "fill", 4, 0));
	poll_of(" poll", z);
	say("empty %r", send(z, "", 0, 0));
	close(x);
	say(" closed %r", send(z, "fill", 4, 0));
	say(" again %r", send(z, "fill", 4, 0));
	poll_of(" poll", z);
	say("not connected %r\n", send(y, "a", 1, 0));
	{
		int pp[2];
		char *much = map(0, 1 << 20, 3, 0x22, -1, 0);
		pair(pp, DGRAM);
		say("too big %r then %r\n", send(pp[0], much, 1 << 20, 0), send(pp[0], much, 100000, DONTWAIT));
	}
	say("stream to a name %r", sys(__NR_sendto, SOCKET(STREAM), "a", 1, 0, &address, 4));
	say(" connected with one %r\n", sys(__NR_sendto, e[0], "a", 1, 0, &address, 4));
	say("kinds: raw %r rdm %r packet %r protocol 1 %r 2 %r pair of inet %r\n", sys(__NR_fcntl, SOCKET(3), F_GETFD), (long)SOCKET(4), (long)SOCKET(10), ({ long r = sys(__NR_socket, UNIX, STREAM, 1); r > 0 ? 0 : r; }),
	    sys(__NR_socket, UNIX, STREAM, 2), sys(__NR_socketpair, INET, STREAM, 0, control));
}

/* -- the way of a datagram ------------------------------------------------------------------------------------------ */

static void way4(void)
{
	struct sockaddr_in to = { INET, 0, { 0 } }, from = { INET, 0, { 0 } };
	int r = sys(__NR_socket, INET, DGRAM | NONBLOCK, 0), s = sys(__NR_socket, INET, DGRAM | NONBLOCK, 0), n = 16, one;
	unsigned char local[4] = { 127, 0, 0, 1 }, local2[4] = { 127, 0, 0, 2 };
	struct in_pktinfo *info;
	say("== way\n");
	to.sin_port = 0x3930; /* of no matter */
	sys(__NR_bind, r, &to, sizeof(to));
	memcpy(&to.sin_addr, local, 4);
	opt(r, 0, IP_PKTINFO, 1), opt(r, 0, IP_RECVTTL, 1), opt(r, 0, IP_RECVTOS, 1), opt(r, 0, IP_RECVORIGDSTADDR, 1), opt(r, 0, IP_RECVOPTS, 1);
#define TO(what) say("%s %r\n", what, ({ struct iovec v = { "data", 4 }; struct header h = { &to, sizeof(to), &v, 1, control, controls, 0 }; long q = sys(__NR_sendmsg, s, &h, 0); controls = 0; q; }))
	to.sin_port = to.sin_port;
	TO("plain");
	take("plain", r, 10, 1024, 0);
	*(int *)put_control(0, IP_TTL, 4) = 9;
	*(int *)put_control(0, IP_TOS, 4) = 0x10;
	TO("ttl and tos");
	take("ttl and tos", r, 10, 1024, 0);
	*(char *)put_control(0, IP_TOS, 1) = 0x20;
	TO("tos of a byte");
	take("tos of a byte", r, 10, 1024, 0);
	*(int *)put_control(0, IP_TTL, 4) = 0;
	TO("ttl 0");
	*(int *)put_control(0, IP_TTL, 4) = 256;
	TO("ttl 256");
	put_control(0, IP_TTL, 1);
	TO("ttl of a byte");
	*(int *)put_control(0, IP_TOS, 4) = 256;
	TO("tos 256");
	put_control(0, IP_PKTINFO, 4);
	TO("short pktinfo");
	put_control(0, 99, 4);
	TO("unknown");
	put_control(1, 99, 4);
	TO("unknown of sockets");
	*(int *)put_control(1, SO_MARK, 4) = 5;
	TO("mark");
	take("mark", r, 10, 1024, 0);
	info = put_control(0, IP_PKTINFO, sizeof(*info));
	memset(info, 0, sizeof(*info));
	memcpy(&info->ipi_spec_dst, local2, 4);
	TO("from another");
	take("from another", r, 10, 1024, 0);
	info = put_control(0, IP_PKTINFO, sizeof(*info));
	memset(info, 0, sizeof(*info));
	info->ipi_ifindex = 99;
	TO("through nothing");
	info = put_control(0, IP_PKTINFO, sizeof(*info));
	memset(info, 0, sizeof(*info));
	memcpy(&info->ipi_spec_dst, "\10\10\10\10", 4);
	TO("from a stranger");
	take("nothing", r, 10, 1024, 0);
	opt(r, 0, IP_PKTINFO, 0), opt(r, 0, IP_RECVTTL, 0), opt(r, 0, IP_RECVTOS, 0), opt(r, 0, IP_RECVORIGDSTADDR, 0);
	opt(r, 1, 29, 1) /* SO_TIMESTAMP */;
	TO("timestamp");
	take("timestamp", r, 10, 1024, 0);
	opt(r, 1, 35, 1);
	TO("timestampns");
	take("timestampns", r, 10, 1024, 0);
	opt(r, 1, 35, 0);
	opt(r, 1, SO_RXQ_OVFL, 1);
	TO("overflow");
	take("overflow", r, 10, 1024, 0);
	opt(r, 1, SO_RXQ_OVFL, 0);
	take("cut", (TO("cut"), r), 2, 4, 0);
	take("cut tells", (TO("cut"), r), 2, 4, TRUNC);
	take("peeked", (TO("peek"), r), 2, 4, TRUNC | PEEK);
	sys(__NR_ioctl, r, SIOCINQ, &one);
	say("inq %d\n", one);
	take("taken", r, 10, 64, 0);
	/* errors that come back */
	opt(s, 0, IP_RECVERR, 1);
	close(r);
	TO("to nobody");
	nap(20);
	poll_of("poll", s);
	n = 4;
	sys(__NR_getsockopt, s, 1, SO_ERROR, &one, &n);
	say("error %d\n", one);
	take("queued", s, 10, 1024, ERRQUEUE);
	take("no more", s, 10, 1024, ERRQUEUE);
	TO("again");
	nap(20);
	TO("then");
	take("read", s, 10, 1024, 0);
	take("little room", s, 2, HEAD + 4, ERRQUEUE);
	take("and", s, 10, 1024, ERRQUEUE);
	opt(s, 0, IP_RECVERR, 0);
	TO("unasked");
	nap(20);
	TO("unasked");
	take("unasked", s, 10, 1024, ERRQUEUE);
	sys(__NR_connect, s, &to, sizeof(to));
	say("connected send %r", send(s, "a", 1, 0));
	nap(20);
	say(" then %r", send(s, "a", 1, 0));
	say(" then %r", recv(s, control, 4, DONTWAIT));
	n = 16;
	say(" own name %r", sys(__NR_getsockname, s, &from, &n));
	say(" port %d\n", from.sin_port != 0);
}

static void way6(void)
{
	struct sockaddr_in6 to;
	int r = sys(__NR_socket, INET6, DGRAM | NONBLOCK, 0), s = sys(__NR_socket, INET6, DGRAM | NONBLOCK, 0);
	struct in6_pktinfo *info;
	memset(&to, 0, sizeof(to));
	to.sin6_family = INET6, to.sin6_port = 0x3a30;
	say("== way6\n");
	say("bind %r\n", sys(__NR_bind, r, &to, sizeof(to)));
	to.sin6_addr.in6_u.u6_addr8[15] = 1;
	opt(r, 41, IPV6_RECVPKTINFO, 1), opt(r, 41, IPV6_RECVHOPLIMIT, 1), opt(r, 41, IPV6_RECVTCLASS, 1), opt(r, 41, IPV6_RECVORIGDSTADDR, 1);
	TO("plain");
	take("plain", r, 10, 1024, 0);
	*(int *)put_control(41, IPV6_HOPLIMIT, 4) = 7;
	*(int *)put_control(41, IPV6_TCLASS, 4) = 0x20;
	TO("limit and class");
	take("limit and class", r, 10, 1024, 0);
	*(int *)put_control(41, IPV6_HOPLIMIT, 4) = 256;
	TO("limit 256");
	*(int *)put_control(41, IPV6_HOPLIMIT, 4) = -1;
	TO("limit -1");
	take("limit -1", r, 10, 1024, 0);
	*(int *)put_control(41, IPV6_TCLASS, 4) = 256;
	TO("class 256");
	put_control(41, 99, 4);
	TO("unknown");
	*(int *)put_control(41, IPV6_DONTFRAG, 4) = 1;
	TO("do not fragment");
	take("it", r, 10, 1024, 0);
	info = put_control(41, IPV6_PKTINFO, sizeof(*info));
	memset(info, 0, sizeof(*info));
	info->ipi6_ifindex = 1;
	TO("by lo");
	take("by lo", r, 10, 1024, 0);
	info = put_control(41, IPV6_PKTINFO, sizeof(*info));
	memset(info, 0, sizeof(*info));
	info->ipi6_ifindex = 77;
	TO("by nothing");
	info = put_control(41, IPV6_PKTINFO, sizeof(*info));
	memset(info, 3, sizeof(*info));
	info->ipi6_ifindex = 0;
	TO("a stranger's");
	opt(s, 41, IPV6_RECVERR, 1);
	close(r);
	TO("to nobody");
	nap(20);
	take("queued", s, 10, 1024, ERRQUEUE);
}

int main(int argc, char **argv)
{
	sys(__NR_mkdirat, AT_FDCWD, "/tmp", 0777);
	{
		struct { char name[16]; short flags; char more[22]; } up = { "lo", 1 };
		sys(__NR_ioctl, sys(__NR_socket, INET, DGRAM, 0), SIOCSIFFLAGS, &up);
	}
	rights(STREAM);
	rights(DGRAM);
	rights(SEQPACKET);
	halves(STREAM);
	halves(SEQPACKET);
	halves(DGRAM);
	names();
	way4();
	way6();
	return 0;
}
