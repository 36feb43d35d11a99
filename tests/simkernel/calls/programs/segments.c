/* A socket filter on TCP: segments that it drops or cuts, at a listener and at a connection.  not: i386 not: s390x */
#include "tiny.h"

struct one { unsigned short code; unsigned char jt, jf; unsigned k; };
static struct { unsigned short f, p; unsigned a, z[2]; } in = { 2, 0x5000, 0x0100007f };

static void filter(long s, const struct one *code, int count)
{
	struct { unsigned short len; const void *p; } prog = { count, code };
	say("filter %r\n", sys(__NR_setsockopt, s, 1, 26, &prog, 16));
}

static long limited(void)
{
	static const long one_second[2] = { 1, 0 };
	long s = sys(__NR_socket, 2, 1, 0);
	sys(__NR_setsockopt, s, 1, 20, one_second, 16);
	sys(__NR_setsockopt, s, 1, 21, one_second, 16);
	return s;
}

int main(int argc, char **argv)
{
	struct { char name[16]; short flags; char rest[22]; } request = { "lo", 1 };
	static const struct one none[] = { { 6, 0, 0, 0 } }, all[] = { { 6, 0, 0, 0xffffffff } }, few[] = { { 6, 0, 0, 10 } }, some[] = { { 6, 0, 0, 36 } };
	char text[100];
	long s = sys(__NR_socket, 2, 1, 0), c, a, yes = 1, got;
	sys(__NR_setsockopt, s, 1, 2, &yes, 4);
	sys(__NR_ioctl, s, 0x8914, &request);
	say("bind %r\n", sys(__NR_bind, s, &in, 16));
	say("listen %r\n", sys(__NR_listen, s, 5));
	filter(s, none, 1);
	c = limited();
	say("dropped: connect %r\n", sys(__NR_connect, c, &in, 16));
	sys(__NR_close, c);
	filter(s, few, 1);
	c = limited();
	say("cut to its header: connect %r\n", sys(__NR_connect, c, &in, 16));
	a = sys(__NR_accept, s, 0, 0);
	say("accept %d\n", a > 0);
	say("send %r\n", sys(__NR_write, c, "a segment that is cut", 21));
	static const long long_time[2] = { 5, 0 }, short_time[2] = { 0, 300000 };
	sys(__NR_setsockopt, a, 1, 20, short_time, 16);
	got = sys(__NR_read, a, text, 100);
	say("the connection has its listener's: %r\n", got);
	filter(a, all, 1);
	sys(__NR_setsockopt, a, 1, 20, long_time, 16);
	got = sys(__NR_read, a, text, 100);
	say("now it hears: %r\n", got);
	sys(__NR_setsockopt, a, 1, 20, short_time, 16);
	filter(a, none, 1);
	say("send %r\n", sys(__NR_write, c, "lost", 4));
	say("nothing: %r\n", sys(__NR_read, a, text, 100));
	filter(a, all, 1);
	sys(__NR_setsockopt, a, 1, 20, long_time, 16);
	say("sent again: %r\n", sys(__NR_read, a, text, 100));
	filter(a, some, 1);
	say("detach %r\n", sys(__NR_setsockopt, a, 1, 27, &yes, 4));
	say("send %r\n", sys(__NR_write, c, "the end", 7));
	say("read %r\n", sys(__NR_read, a, text, 100));
	return 0;
}
