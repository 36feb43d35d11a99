/* In which order setsockopt(2) looks at its level, its option, the length and the value. not: s390x i386 (which reads through another door) */
#include "tiny.h"
#include <linux/socket.h>
#ifndef __NR_setsockopt
#define __NR_setsockopt 366
#endif
int main(int argc, char **argv)
{
	static const struct { const char *name; int family, type, protocol; } kinds[] = {
		{ "udp", 2, 2, 0 }, { "tcp", 2, 1, 0 }, { "udp6", 10, 2, 0 }, { "tcp6", 10, 1, 0 }, { "raw", 2, 3, 1 }, { "unix", 1, 1, 0 }, { "unix dgram", 1, 2, 0 },
		{ "netlink", 16, 3, 0 }, { "packet", 17, 3, 0 },
	};
	static const int levels[] = { 0, 1, 6, 17, 41, 58, 255, 263, 270, 999, -1 };
	static const int options[] = { 1, 2, 9, 12, 13, 30, 900, -1 };
	for (unsigned kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++) {
		int fd = sys(__NR_socket, kinds[kind].family, kinds[kind].type, kinds[kind].protocol);
		for (unsigned level = 0; level < sizeof(levels) / sizeof(*levels); level++) {
			if (kinds[kind].family == 17 && levels[level] == 263)
				continue; /* packet rings are not there */
			say("%s level %d:", kinds[kind].name, levels[level]);
			for (unsigned option = 0; option < sizeof(options) / sizeof(*options); option++) {
				say(" %d", options[option]);
				say(" %r", sys(__NR_setsockopt, fd, levels[level], options[option], 8, 4)); /* nowhere */
				say(" %r", sys(__NR_setsockopt, fd, levels[level], options[option], 8, 1));
				say(" %r", sys(__NR_setsockopt, fd, levels[level], options[option], 8, 0));
				say(" %r;", sys(__NR_setsockopt, fd, levels[level], options[option], 8, -1));
			}
			say("\n");
		}
		sys(__NR_close, fd);
	}
	return 0;
}
