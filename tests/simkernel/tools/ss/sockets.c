/* Sockets of every kind that ss tells of, and then the command of argv[1]: ss_6_1.txt is what ss of iproute2 6.1 says on Debian's 6.1. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int stream(int port, int backlog)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (backlog ? bind(fd, (void *)&to, sizeof(to)) || listen(fd, backlog) : connect(fd, (void *)&to, sizeof(to)))
		perror("stream");
	return fd;
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(7002) };
	struct sockaddr_in6 here6 = { .sin6_family = AF_INET6, .sin6_port = htons(7004), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(7003) };
	struct sockaddr_un path = { AF_UNIX, "/tmp/ss.sock" }, name = { AF_UNIX, "\0abstract" };
	int one = 1, listener = stream(7001, 5), client = stream(7001, 0), server = accept(listener, 0, 0);
	int closed, datagram, other, pair[2];

	other = socket(AF_INET6, SOCK_STREAM, 0);
	bind(other, (void *)&any6, sizeof(any6));
	listen(other, 17);
	write(stream(7001, 0), "waiting", 7);
	write(client, "hello", 5);
	bind(socket(AF_INET, SOCK_DGRAM, 0), (void *)&any, sizeof(any));
	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	connect(datagram = socket(AF_INET, SOCK_DGRAM, 0), (void *)&any, sizeof(any));
	write(datagram, "datagram", 8);
	bind(socket(AF_INET6, SOCK_DGRAM, 0), (void *)&here6, sizeof(here6));
	unlink(path.sun_path);
	bind(other = socket(AF_UNIX, SOCK_STREAM, 0), (void *)&path, sizeof(path));
	listen(other, 9);
	connect(datagram = socket(AF_UNIX, SOCK_STREAM, 0), (void *)&path, sizeof(path));
	accept(other, 0, 0);
	write(datagram, "abc", 3);
	bind(socket(AF_UNIX, SOCK_DGRAM, 0), (void *)&name, 2 + 9);
	socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
	closed = stream(7001, 0);
	accept(listener, 0, 0);
	accept(listener, 0, 0);
	close(closed);
	socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	socket(AF_PACKET, SOCK_RAW, htons(0x88b5));
	setsockopt(client, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(server, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	usleep(100000);
	return system(argv[1]);
}
