/* socketcall(2): every call of sockets by its number, and what is refused of numbers and blocks. not: x86_64 */
#include "tiny.h"

static long words[8];
static long call(int number, long a, long b, long c, long d, long e, long f)
{
	words[0] = a, words[1] = b, words[2] = c, words[3] = d, words[4] = e, words[5] = f;
	return sys(__NR_socketcall, number, words);
}
#define C(text, ...) do { long got = call(__VA_ARGS__); say("%s: %r\n", text, got); } while (0)
struct name { unsigned short family, port; unsigned char address[12]; };
struct msg { void *name; int namelen; struct { void *base; ulong length; } *iov; ulong iovlen; void *control; ulong controllen; int flags; };
struct many { struct msg m; unsigned len; };

int main(int argc, char **argv)
{
	struct name a = { 2, 0, { 127, 0, 0, 1 } }, b;
	int size = sizeof(a), v = 1, pair[2];
	char text[64];
	struct { void *base; ulong length; } iov = { "in pieces", 9 }, in = { text, 64 };
	struct msg m = { 0, 0, (void *)&iov, 1 }, n = { 0, 0, (void *)&in, 1 };
	struct many two[2];
	struct __kernel_old_timespec t = { 0, 0 };

	for (int number = -1; number <= 22; number++)
		if (number < 1 || number > 20) {
			long got = sys(__NR_socketcall, number, words);
			say("call %d: %r\n", number, got);
		}
	for (int number = 1; number <= 20; number++) {
		long got = sys(__NR_socketcall, number, 16), other = call(number, -1, 0, 0, 0, 0, 0);
		say("call %d without a block: %r", number, got);
		say(", on no socket: %r\n", other);
	}
	long listener = call(1, 2, 1, 0, 0, 0, 0);
	say("socket: %d\n", listener > 0);
	C("a family of its own", 1, 45, 1, 0, 0, 0, 0);
	C("reuse", 14, listener, 1, 2, (long)&v, 4, 0);
	C("bind", 2, listener, (long)&a, 16, 0, 0, 0);
	C("a name", 6, listener, (long)&a, (long)&size, 0, 0, 0);
	C("listen", 4, listener, 5, 0, 0, 0, 0);
	long client = call(1, 2, 1, 0, 0, 0, 0);
	C("connect", 3, client, (long)&a, 16, 0, 0, 0);
	size = sizeof(b);
	long server = call(5, listener, (long)&b, (long)&size, 0, 0, 0);
	say("accept: %d of family %d, %d bytes\n", server > 0, b.family, size);
	C("the other's name", 7, client, (long)&b, (long)&size, 0, 0, 0);
	say("the same port: %d\n", a.port == b.port);
	C("send", 9, client, (long)"hello", 5, 0, 0, 0);
	C("recv", 10, server, (long)text, 64, 0, 0, 0);
	C("sendto", 11, client, (long)"world!", 6, 0, 0, 0);
	C("recvfrom", 12, server, (long)text, 64, 0, 0, 0);
	C("sendmsg", 16, client, (long)&m, 0, 0, 0, 0);
	C("recvmsg", 17, server, (long)&n, 0, 0, 0, 0);
	text[9] = 0;
	say("came: %s\n", text);
	C("nothing there", 10, server, (long)text, 64, 0x40, 0, 0);
	size = 4, v = 0;
	C("type", 15, client, 1, 3, (long)&v, (long)&size, 0);
	say("is %d\n", v);
	long other = call(1, 2, 1, 0, 0, 0, 0);
	size = sizeof(b);
	C("another", 3, other, (long)&a, 16, 0, 0, 0);
	long nonblocking = call(18, listener, 0, 0, 04000, 0, 0);
	say("accept4: %d flags %x\n", nonblocking > 0, sys(__NR_fcntl, nonblocking, 3, 0) & 04000);
	C("accept4 with flags of nobody", 18, listener, 0, 0, 1, 0, 0);
	C("shutdown", 13, client, 1, 0, 0, 0, 0);
	C("its end", 10, server, (long)text, 64, 0, 0, 0);
	C("shutdown how", 13, client, 7, 0, 0, 0, 0);
	C("socketpair", 8, 1, 2, 0, (long)pair, 0, 0);
	memset(two, 0, sizeof(two));
	two[0].m = m, two[1].m = m;
	C("sendmmsg", 20, pair[0], (long)two, 2, 0, 0, 0);
	say("lengths %d %d\n", two[0].len, two[1].len);
	memset(two, 0, sizeof(two));
	two[0].m = n, two[1].m = n;
	C("recvmmsg", 19, pair[1], (long)two, 2, 0, (long)&t, 0);
	say("lengths %d %d\n", two[0].len, two[1].len);
	t.tv_nsec = 1000000000;
	C("recvmmsg until no time", 19, pair[1], (long)two, 2, 0, (long)&t, 0);
	return 0;
}
