/* Listeners that stop, whose connections another of the group takes over; data that comes with a SYN.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/in.h>

enum { AF_INET = 2, STREAM = 1, SOL_SOCKET = 1, REUSEPORT = 15, TCP = 6, FASTOPEN = 23, FASTOPEN_CONNECT = 30, NO_COOKIE = 34 };
#define MSG_FASTOPEN 0x20000000
#define MSG_DONTWAIT 0x40

static int port = 7100, blocks;

static void option(long fd, int level, int name, int value) { sys(__NR_setsockopt, fd, level, name, &value, 4); }

static struct sockaddr_in at(int number)
{
	struct sockaddr_in a = { AF_INET, __builtin_bswap16(number) };
	a.sin_addr.s_addr = __builtin_bswap32(0x7f000001);
	return a;
}

static long listener(int backlog)
{
	long fd = sys(__NR_socket, AF_INET, STREAM | (blocks ? 0 : 04000), 0);
	struct sockaddr_in a = at(port);
	option(fd, SOL_SOCKET, REUSEPORT, 1);
	sys(__NR_bind, fd, &a, sizeof(a));
	if (backlog)
		sys(__NR_listen, fd, backlog);
	return fd;
}

static long connected(void)
{
	long fd = sys(__NR_socket, AF_INET, STREAM, 0);
	struct sockaddr_in a = at(port);
	long ret = sys(__NR_connect, fd, &a, sizeof(a));
	return ret < 0 ? ret : fd;
}

static int accepts(long fd)
{
	int count = 0;
	for (long got; (got = sys(__NR_accept4, fd, 0, 0, 0)) >= 0; count++)
		sys(__NR_close, got);
	return count;
}

static long counter(const char *name)
{
	static char text[8000];
	slurp("/proc/net/netstat", text, sizeof(text));
	int column = 0, at_column = -1;
	char *line = text;
	for (char *word = line; *word; word++) {
		if (*word == '\n') { column = 0; continue; }
		if (word == line || word[-1] == ' ' || word[-1] == '\n') {
			if (at_column < 0 && !memcmp(word, name, strlen(name)) && (word[strlen(name)] == ' ' || word[strlen(name)] == '\n'))
				at_column = column;
			else if (at_column >= 0 && column == at_column && *word >= '0' && *word <= '9') {
				long n = 0;
				while (*word >= '0' && *word <= '9') n = 10 * n + *word++ - '0';
				return n;
			}
			column++;
		}
	}
	return -1;
}

/* how: 0 shutdown, 1 close; with another listener or without */
static void stopped(const char *migrates, int how, int others)
{
	port++;
	spit("/proc/sys/net/ipv4/tcp_migrate_req", migrates);
	long a = listener(10), b = others ? listener(0) : -1, clients[4];
	long before = counter("TCPMigrateReqSuccess"), failed = counter("TCPMigrateReqFailure");
	for (int i = 0; i < 4; i++)
		clients[i] = connected();
	nap(50);
	if (b >= 0)
		sys(__NR_listen, b, 10);
	say("migrate %s, %s, %d others: %r", migrates, how ? "close" : "shutdown", others, how ? sys(__NR_close, a) : sys(__NR_shutdown, a, 2));
	nap(50);
	say(" accepted %d by the other", b >= 0 ? accepts(b) : 0);
	char c;
	say(", a client reads %r", sys(__NR_recvfrom, clients[0], &c, 1, MSG_DONTWAIT, 0, 0));
	say(", counted %d %d\n", (int)(counter("TCPMigrateReqSuccess") - before), (int)(counter("TCPMigrateReqFailure") - failed));
	if (!how) {
		say("  accept %r poll %d", sys(__NR_accept4, a, 0, 0, 0), polled(a, 0xffff));
		say(" shutdown again %r", sys(__NR_shutdown, a, 2));
		say(" listen %r", sys(__NR_listen, a, 5));
		long client = connected();
		nap(20);
		say(" connect %r there %d\n", client < 0 ? client : 0, accepts(a) + (b >= 0 ? accepts(b) : 0));
		sys(__NR_close, client), sys(__NR_close, a);
	}
	for (int i = 0; i < 4; i++)
		sys(__NR_close, clients[i]);
	if (b >= 0)
		sys(__NR_close, b);
}

/* One that waits in accept(2) when its listener stops. */
static void sleeper(void)
{
	port++;
	blocks = 1;
	long fd = listener(5), pid = fork();
	blocks = 0;
	if (!pid) {
		nap(200);
		sys(__NR_shutdown, fd, 0);
		leave(0);
	}
	say("accept on a listener that stops: %r\n", sys(__NR_accept4, fd, 0, 0, 0));
	wait_for(pid), sys(__NR_close, fd);
}

static void early(const char *switches, int room, int how)
{
	port++;
	spit("/proc/sys/net/ipv4/tcp_fastopen", switches);
	long server = listener(5), client = sys(__NR_socket, AF_INET, STREAM, 0);
	if (room)
		option(server, TCP, FASTOPEN, room);
	struct sockaddr_in a = at(port);
	char text[20];
	memset(text, 0, sizeof(text));
	say("tcp_fastopen %s, room %d, %s: ", switches, room, how == 0 ? "sendto" : how == 1 ? "connect and write" : how == 2 ? "sendto without waiting" : "empty");
	if (how == 1) {
		option(client, TCP, FASTOPEN_CONNECT, 1);
		say("connect %r", sys(__NR_connect, client, &a, sizeof(a)));
		say(" poll %d", polled(client, 0xffff));
		nap(20);
		say(" there %d write ", polled(server, 1));
		say("%r", sys(__NR_write, client, "early data", 10));
	} else
		say("%r", sys(__NR_sendto, client, "early data", how == 3 ? 0 : 10, MSG_FASTOPEN | (how == 2 ? MSG_DONTWAIT : 0), &a, sizeof(a)));
	nap(50);
	long got = sys(__NR_accept4, server, 0, 0, 0);
	say(" accept %r", got < 0 ? got : 0);
	if (got >= 0) {
		say(" read %r", sys(__NR_recvfrom, got, text, 19, MSG_DONTWAIT, 0, 0));
		say(" '%s' answer %r", text, sys(__NR_write, got, "yes", 3));
		nap(20);
		memset(text, 0, sizeof(text));
		sys(__NR_recvfrom, client, text, 19, MSG_DONTWAIT, 0, 0);
		say(" '%s' more %r", text, sys(__NR_write, client, "more", 4));
		nap(20);
		say(" %r", sys(__NR_recvfrom, got, text, 19, MSG_DONTWAIT, 0, 0));
		sys(__NR_close, got);
	}
	say("\n");
	sys(__NR_close, client), sys(__NR_close, server);
}

int main(int argc, char **argv)
{
	for (int others = 0; others < 2; others++)
		for (int how = 0; how < 2; how++)
			stopped("0", how, others), stopped("1", how, others);
	sleeper();
	static const char *const switches[] = { "0", "5", "7", "519" };
	for (int s = 0; s < 4; s++)
		for (int room = 0; room < 2; room++)
			for (int how = 0; how < 4; how++)
				early(switches[s], room * 5, how);
	return 0;
}
