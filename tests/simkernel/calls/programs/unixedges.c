/* AF_UNIX at its edges not: i386 s390x */
#include "tiny.h"
#include <linux/socket.h>
#include <linux/un.h>
#include <linux/uio.h>
#include <asm/socket.h>
#include <asm/signal.h>
#define AF_UNIX 1
struct msg { void *name; int namelen; struct iovec *iov; ulong iovlen; void *control; ulong controllen; unsigned flags; };
struct cmsg { ulong len; int level, type; int fds[300]; };
static struct sockaddr_un a, b;
static char buf[300000];
static int len;
static void show(const char *what, long fd, int nr) { memset(&b, 0xee, sizeof(b)); len = sizeof(b); long r = sys(nr, fd, &b, &len); say("%s %r len %d family %d path", what, r, len, b.sun_family); for (int i = 0; i < len - 2 && i < 16; i++) if (b.sun_path[i] > 32 && b.sun_path[i] < 127) put(b.sun_path[i]); else say("[%d]", b.sun_path[i]); say("\n"); }
static long name(int fd, const char *path, int n) { a.sun_family = AF_UNIX; memset(a.sun_path, 0, 108); memcpy(a.sun_path, path, n); return sys(__NR_bind, fd, &a, 2 + n); }
static long conn(int fd, const char *path, int n) { a.sun_family = AF_UNIX; memset(a.sun_path, 0, 108); memcpy(a.sun_path, path, n); return sys(__NR_connect, fd, &a, 2 + n); }
static long send(int fd, int n, int flags, struct cmsg *c, int clen) { struct iovec v = { buf, n }; struct msg m = { 0, 0, &v, 1, c, clen, 0 }; return sys(__NR_sendmsg, fd, &m, flags); }
static struct cmsg c;
static void recv(const char *what, int fd, int n, int flags, int clen) { struct iovec v = { buf, n }; memset(&c, 0, sizeof(c)); struct msg m = { &b, sizeof(b), &v, 1, &c, clen, 0 }; long r = sys(__NR_recvmsg, fd, &m, flags); say("%s %r flags %x name %d clen %l", what, r, (long)m.flags, m.namelen, m.controllen); if (r >= 0 && m.controllen >= 16) say(" c %l %d %d", c.len, c.level, c.type); say("\n"); }
static int on = 1;
int main(int argc, char **argv)
{
	int p[2], s, t, u, v;
	struct { int pid, uid, gid; } cr; 
	on_signal(SIGPIPE, (void *)1, 0);
	sys(__NR_chdir, "/tmp");
	T(__NR_socket, 1, 4, 0); T(__NR_socket, 1, 3, 0); T(__NR_socket, 1, 1, 1); T(__NR_socket, 1, 1, 2); T(__NR_socket, 1, 6, 0); T(__NR_socket, 1, 1 | 0x1000, 0);
	sys(__NR_close, 3); sys(__NR_close, 4);
	say("pair %r %r %r\n", sys(__NR_socketpair, 1, 1, 0, 8), sys(__NR_socketpair, 2, 1, 0, p), sys(__NR_socketpair, 1, 2 | 0x80000 | 0x800, 1, p));
	sys(__NR_close, p[0]); sys(__NR_close, p[1]);
	s = sys(__NR_socket, 1, 1, 0); show("unnamed", s, __NR_getsockname); show("peer", s, __NR_getpeername);
	a.sun_family = 1; say("autobind %r\n", sys(__NR_bind, s, &a, 2)); len = 110; sys(__NR_getsockname, s, &b, &len); say("len %d first %d\n", len, b.sun_path[0]);
	say("bind again %r, len 1 %r, len 111 %r, family 2 %r\n", name(s, "x", 1), sys(__NR_bind, s, &a, 1), sys(__NR_bind, s, &a, 111), (a.sun_family = 2, sys(__NR_bind, s, &a, 8)));
	t = sys(__NR_socket, 1, 1, 0);
	say("abstract %r", name(t, "\0abc", 4)); show("", t, __NR_getsockname);
	u = sys(__NR_socket, 1, 1, 0);
	say("abstract shorter %r same %r\n", name(u, "\0ab", 3), name(sys(__NR_socket, 1, 1, 0), "\0abc", 4));
	v = sys(__NR_socket, 1, 1 | 0x800, 0);
	say("path no nul %r", name(v, "sock-a", 6)); show("", v, __NR_getsockname);
	say("in use %r, dir missing %r, is dir %r, empty %r\n", name(sys(__NR_socket, 1, 1, 0), "sock-a", 6), name(sys(__NR_socket, 1, 1, 0), "no/x", 4), name(sys(__NR_socket, 1, 1, 0), "/tmp", 4), name(sys(__NR_socket, 1, 1, 0), "\0", 1));
	say("connect not listening %r, no such %r, a file %r, a dir %r, dgram type %r\n", conn(s, "sock-a", 6), conn(s, "sock-b", 6), (spit("file", "x"), conn(s, "file", 4)), conn(s, "/tmp", 4), conn(sys(__NR_socket, 1, 2, 0), "sock-a", 6));
	say("listen unbound %r, bound %r, backlog -1 again %r, dgram %r\n", sys(__NR_listen, sys(__NR_socket, 1, 1, 0), 1), sys(__NR_listen, v, 0), sys(__NR_listen, v, 0), sys(__NR_listen, sys(__NR_socket, 1, 2, 0), 1));
	say("seqpacket to stream %r\n", conn(sys(__NR_socket, 1, 5|0x800, 0), "sock-a", 6));
	{ int x = sys(__NR_socket, 1, 1 | 0x800, 0), y = sys(__NR_socket, 1, 1 | 0x800, 0), z = sys(__NR_socket, 1, 1 | 0x800, 0);
	say("backlog 0: %r %r %r, poll %x %x\n", conn(x, "sock-a", 6), conn(y, "sock-a", 6), conn(z, "sock-a", 6), (long)polled(x, 0xffff), (long)polled(z, 0xffff));
	say("connect again %r, listener %r, send before accept %r\n", conn(x, "sock-a", 6), conn(v, "sock-a", 6), send(x, 5, 0, 0, 0));
	say("accept null len %r", sys(__NR_accept4, v, &b, 8, 0)); 
	len = 2; int ac = sys(__NR_accept4, v, &b, &len, 0x800); say(" accept %d len %d, bad flags %r\n", ac > 0, len, sys(__NR_accept4, v, 0, 0, 1));
	recv("first", ac, 10, 0, 0); recv("empty", ac, 10, 0, 0); recv("after", ac, 10, 0x40, 0); 
	len = 12; say("peercred %r", sys(__NR_getsockopt, x, 1, SO_PEERCRED, &cr, &len)); say(" %d %d %d len %d\n", cr.pid == (int)sys(__NR_getpid), cr.uid, cr.gid, len);
	len = 12; say("of unconnected %r", sys(__NR_getsockopt, z, 1, SO_PEERCRED, &cr, &len)); say(" %d %d %d\n", cr.pid == sys(__NR_getpid), cr.uid, cr.gid);
	len = 5; say("peergroups short %r", sys(__NR_getsockopt, x, 1, SO_PEERGROUPS, buf, &len)); say(" %d\n", len);
	sys(__NR_close, v); say("listener closed: %r, poll %x %x\n", send(y, 3, 0x4000, 0, 0), (long)polled(y, 0xffff), (long)polled(x, 0xffff)); recv("y", y, 10, 0, 0);
	sys(__NR_shutdown, x, 1); say("shut wr poll %x peer %x send %r\n", (long)polled(x, 0xffff), (long)polled(ac, 0xffff), send(x, 1, 0, 0, 0)); say("shutdown 3 %r bad %r unconnected %r\n", sys(__NR_shutdown, x, 2), sys(__NR_shutdown, x, 3), sys(__NR_shutdown, z, 2)); say("poll %x %x\n", (long)polled(x, 0xffff), (long)polled(ac, 0xffff)); }
	/* datagrams */
	sys(__NR_socketpair, 1, 2 | 0x800, 0, p);
	say("dgram 0 bytes %r", send(p[0], 0, 0, 0, 0)); recv(" recv", p[1], 10, 0, 0); recv("none", p[1], 10, 0, 0);
	send(p[0], 100, 0, 0, 0); recv("short", p[1], 10, 0, 0); send(p[0], 100, 0, 0, 0); recv("trunc", p[1], 10, 0x20, 0); send(p[0], 50, 0, 0, 0); recv("peek", p[1], 10, 0x22, 0); recv("then", p[1], 60, 0, 0);
	say("oob %r, eor %r, big %r\n", send(p[0], 1, 1, 0, 0), send(p[0], 1, 0x80, 0, 0), send(p[0], 250000, 0, 0, 0)); recv("eor", p[1], 10, 0, 0);
	{ int n = 0; while (send(p[0], 1, 0, 0, 0) == 1) n++; say("queue %d poll %x\n", n, (long)polled(p[0], 0xffff)); while (sys(__NR_read, p[1], buf, 100) > 0); }
	say("connect pair elsewhere %r, to unspec %r, then %r\n", conn(p[0], "\0abc", 4), (a.sun_family = 0, sys(__NR_connect, p[0], &a, 2)), send(p[0], 1, 0, 0, 0));
	say("other %r", send(p[1], 1, 0, 0, 0)); say(" %r\n", send(p[1], 1, 0, 0, 0)); recv("p0", p[0], 10, 0, 0);
	sys(__NR_close, p[0]); sys(__NR_close, p[1]);
	/* passing files */
	sys(__NR_socketpair, 1, 1 | 0x800, 0, p);
	c = (struct cmsg){ 16 + 4, 1, 1, { 999 } }; say("bad fd %r\n", send(p[0], 1, 0, &c, 20));
	c.fds[0] = 1; say("len short %r, clen 15 %r, odd %r\n", (c.len = 10, send(p[0], 1, 0, &c, 20)), (c.len = 20, send(p[0], 1, 0, &c, 15)), (c.len = 19, send(p[0], 1, 0, &c, 20)));
	recv("odd", p[1], 10, 0, 64);
	c = (struct cmsg){ 16 + 253 * 4, 1, 1, { 0 } }; for (int i = 0; i < 300; i++) c.fds[i] = 1; say("253 %r", send(p[0], 1, 0, &c, c.len)); c.len = 16 + 254 * 4; say(" 254 %r\n", send(p[0], 1, 0, &c, c.len)); recv("253 into 3", p[1], 10, 0x40000000, 16 + 12); sys(__NR_close, c.fds[0]); sys(__NR_close, c.fds[1]); sys(__NR_close, c.fds[2]);
	c = (struct cmsg){ 24, 1, 1, { 1, 2 } }; send(p[0], 4, 0, &c, 24); recv("into none", p[1], 10, 0, 0); 
	c = (struct cmsg){ 24, 1, 1, { 1, 2 } }; send(p[0], 4, 0, &c, 24); recv("into 16", p[1], 10, 0, 16); 
	c = (struct cmsg){ 24, 1, 1, { 1, 2 } }; send(p[0], 4, 0, &c, 24); recv("into 22", p[1], 10, 0, 22); sys(__NR_close, c.fds[0]);
	c = (struct cmsg){ 20, 1, 1, { 1 } }; send(p[0], 4, 0, &c, 20); send(p[0], 4, 0, 0, 0); recv("two sends, one with files", p[1], 20, 0, 64); recv("rest", p[1], 20, 0, 64);
	send(p[0], 4, 0, 0, 0); c = (struct cmsg){ 20, 1, 1, { 1 } }; send(p[0], 4, 0, &c, 20); recv("files second", p[1], 20, 0, 64); recv("rest", p[1], 20, 0, 64);
	c = (struct cmsg){ 20, 1, 1, { 1 } }; say("files without data %r\n", send(p[0], 0, 0, &c, 20)); recv("none", p[1], 20, 0, 64);
	c = (struct cmsg){ 28, 1, 2, { 1, 0, 0 } }; say("creds of init %r", send(p[0], 1, 0, &c, 28)); c = (struct cmsg){ 28, 1, 2, { 0x3ffffff, 0, 0 } }; say(" of nobody %r", send(p[0], 1, 0, &c, 28)); c = (struct cmsg){ 28, 1, 2, { 1, -1, 0 } }; say(" uid -1 %r", send(p[0], 1, 0, &c, 28)); c = (struct cmsg){ 24, 1, 2, { 1, 0 } }; say(" short %r level 2 %r type 9 %r\n", send(p[0], 1, 0, &c, 24), (c = (struct cmsg){ 20, 2, 1, { 1 } }, send(p[0], 1, 0, &c, 20)), (c = (struct cmsg){ 20, 1, 9, { 1 } }, send(p[0], 1, 0, &c, 20)));
	sys(__NR_setsockopt, p[1], 1, SO_PASSCRED, &on, 4); recv("creds", p[1], 20, 0, 64); say("%d %d %d\n", c.fds[0], c.fds[1], c.fds[2]); recv("rest", p[1], 20, 0, 64);
	send(p[0], 3, 0, 0, 0); recv("passcred", p[1], 20, 0, 64); say("%d\n", c.fds[0] == (int)sys(__NR_getpid)); recv("none left", p[1], 20, 0, 64);
	/* urgent byte */
	say("oob %r", send(p[0], 3, 1, 0, 0)); say(" poll %x\n", (long)polled(p[1], 0xffff)); recv("oob peek", p[1], 9, 3, 0); recv("normal", p[1], 9, 0, 0); recv("oob", p[1], 9, 1, 0); recv("oob again", p[1], 9, 1, 0);
	T(__NR_sendto, p[0], "x", 1, 0, &a, 5); T(__NR_sendto, p[0], "x", 1, 0x10000000, 0, 0); T(__NR_recvfrom, p[1], buf, 1, 0x2000, 0, 0); T(__NR_recvfrom, p[1], buf, 1, 0x40, 0, 0);
	len = 4; { int val; static const int opts[] = { SO_TYPE, SO_DOMAIN, SO_PROTOCOL, SO_ACCEPTCONN, SO_SNDBUF, SO_RCVBUF, SO_PEEK_OFF, SO_PASSSEC, SO_ERROR, SO_REUSEADDR, SO_KEEPALIVE, SO_LINGER, 81 }; for (int i = 0; i < 13; i++) { len = 4; val = -7; long r = sys(__NR_getsockopt, p[0], 1, opts[i], &val, &len); say("%d: %r %d len %d\n", opts[i], r, val, len); } }
	T(__NR_setsockopt, p[0], 1, SO_SNDBUF, &on, 3); T(__NR_setsockopt, p[0], 1, SO_SNDBUF, &on, 4); { int val = 0; len = 4; sys(__NR_getsockopt, p[0], 1, SO_SNDBUF, &val, &len); say("%d\n", val); }
	T(__NR_setsockopt, p[0], 0, 1, &on, 4); T(__NR_ioctl, p[0], 0x541b, &len); say("%d\n", len); T(__NR_ioctl, p[0], 0x5411, &len); say("%d\n", len); T(__NR_ioctl, p[0], 0x89e0, 0); T(__NR_ioctl, s, 0x541b, &len); T(__NR_ioctl, p[0], 0x8905, &len); T(__NR_ioctl, p[0], 0x8927, buf);
	return 0;
}
