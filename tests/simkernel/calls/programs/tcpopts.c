/* Options of TCP and of sockets: first values, what may be set, and to what. */
/* not: i386 */
#include "tiny.h"

#define CALL(name, ...) sys(__NR_##name, __VA_ARGS__)
enum { INET = 2, STREAM = 1, DGRAM = 2, SOL_SOCKET = 1, TCP = 6 };

static void show(long fd, int level, int number)
{
	int value[4] = { 0x5a5a5a5a }, size = 4;
	long r = CALL(getsockopt, fd, level, number, value, &size);
	if (r < 0)
		say(" %r", r);
	else if (size == 4)
		say(" %d", value[0]);
	else
		say(" len %d", size);
}
static void sweep(const char *what, long fd, int level, int last)
{
	static const int values[] = { -1, 0, 1, 2, 5, 100, 1000, 40000, 70000 };
	say("-- %s\n", what);
	for (int number = 1; number <= last; number++) {
		if (level == SOL_SOCKET && (number == 4 || number == 20 || number == 21 || number == 25 || number == 26 || number == 27 || number == 32 || number == 33 || number == 36 || number == 44 || number == 49 || number >= 50))
			continue;
		if (level == TCP && (number == 11 || number == 13 || number == 14 || number == 19 || number == 22 || number == 24 || number == 26 || (number >= 28 && number <= 35)))
			continue;
		say("%d:", number);
		show(fd, level, number);
		for (int i = 0; i < 9; i++) {
			long r = CALL(setsockopt, fd, level, number, &values[i], 4);
			say(" | %d %r", values[i], r);
			if (!r)
				show(fd, level, number);
		}
		say("\n");
	}
}
int main(int argc, char **argv)
{
	long t = CALL(socket, INET, STREAM, 0), u = CALL(socket, INET, DGRAM, 0), x = CALL(socket, 1, STREAM, 0);
	int one = 1, size = 4;
	sweep("tcp", t, TCP, 42);
	sweep("tcp, socket", t, SOL_SOCKET, 49);
	t = CALL(socket, INET, STREAM, 0);
	sweep("udp, tcp", u, TCP, 3);
	sweep("udp, socket", u, SOL_SOCKET, 49);
	sweep("unix, socket", x, SOL_SOCKET, 49);
	sweep("unix, tcp", x, TCP, 2);
	say("short %r\n", CALL(setsockopt, t, TCP, 1, &one, 3));
	say("negative %r\n", CALL(setsockopt, t, TCP, 1, &one, -1));
	size = 2;
	say("get short %r", CALL(getsockopt, t, TCP, 1, &one, &size));
	say(" len %d\n", size);
	size = -1;
	say("get negative %r\n", CALL(getsockopt, t, TCP, 1, &one, &size));
	say("cubic %r\n", CALL(setsockopt, t, TCP, 13, "reno", 4));
	say("none %r\n", CALL(setsockopt, t, TCP, 13, "nonesuch", 8));
	return 0;
}
