/* Fresh and listening sockets: what poll(2) says of them, protocols that are none, connecting one that listens. */
#include "tiny.h"
int main(int argc, char **argv)
{
	struct { unsigned short family, port; unsigned char addr[4], zero[8]; } a = { 2, 0, { 127, 0, 0, 1 } };
	int tcp = sys(__NR_socket, 2, 1, 0), udp = sys(__NR_socket, 2, 2, 0), len = 16;
	say("negative %r", sys(__NR_socket, 2, 1, -1));
	say(" other %r\n", sys(__NR_socket, 2, 1, 17));
	say("poll tcp %x udp %x\n", (long)polled(tcp, 0x3fff), (long)polled(udp, 0x3fff));
	sys(__NR_bind, tcp, &a, 16), sys(__NR_listen, tcp, 1), sys(__NR_getsockname, tcp, &a, &len);
	say("listening %x connect %r\n", (long)polled(tcp, 0x3fff), sys(__NR_connect, tcp, &a, 16));
	return 0;
}
