/* A connection whose other end is not to be reached: SO_KEEPALIVE finds out; and what becomes of the FIN that nobody answers. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void loopback(int up)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	ioctl(fd, SIOCGIFFLAGS, &ifr);
	ifr.ifr_flags = up ? ifr.ifr_flags | IFF_UP : ifr.ifr_flags & ~IFF_UP;
	ioctl(fd, SIOCSIFFLAGS, &ifr);
	close(fd);
}

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

int main(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(7001), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), server, got;
	struct timespec begin, end;
	struct tcp_info info;
	socklen_t size = sizeof(info);
	char byte;

	loopback(1);
	bind(listener, (void *)&to, sizeof(to));
	printf("listener %d\n", set(listener, SOL_SOCKET, SO_KEEPALIVE, 1));
	listen(listener, 5);
	printf("idle %d %d %d\n", set(client, IPPROTO_TCP, TCP_KEEPIDLE, 2), set(client, IPPROTO_TCP, TCP_KEEPINTVL, 1), set(client, IPPROTO_TCP, TCP_KEEPCNT, 3));
	connect(client, (void *)&to, sizeof(to));
	server = accept(listener, 0, 0);
	printf("keepalive %d\n", set(client, SOL_SOCKET, SO_KEEPALIVE, 1));
	sleep(5);
	getsockopt(client, IPPROTO_TCP, TCP_INFO, &info, &size);
	printf("state %d probes %d in %d out %d\n", info.tcpi_state, info.tcpi_probes, info.tcpi_segs_in, info.tcpi_segs_out);
	getsockopt(server, IPPROTO_TCP, TCP_INFO, &info, &size);
	printf("server in %d out %d\n", info.tcpi_segs_in, info.tcpi_segs_out);
	loopback(0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	got = read(client, &byte, 1);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("read %d %s after %ld s\n", got, strerror(errno), (end.tv_sec * 10 + end.tv_nsec / 100000000 - begin.tv_sec * 10 - begin.tv_nsec / 100000000 + 5) / 10);
	got = read(client, &byte, 1);
	printf("read %d\n", got);
	size = sizeof(info);
	getsockopt(client, IPPROTO_TCP, TCP_INFO, &info, &size);
	printf("state %d\n", info.tcpi_state);
	set(server, IPPROTO_TCP, TCP_USER_TIMEOUT, 1500);
	set(server, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	printf("server idle %d\n", set(server, IPPROTO_TCP, TCP_KEEPIDLE, 1));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	got = read(server, &byte, 1);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("read %d %s %s\n", got, strerror(errno), end.tv_sec - begin.tv_sec < 4 ? "soon" : "late");
	return 0;
}
