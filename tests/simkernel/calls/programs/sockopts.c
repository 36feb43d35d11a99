/* Options of sockets: those of SOL_SOCKET and SOL_IP by every size, and groups of IPv4 by struct group_req. */
/* not: i386 */
/* not: s390x: values are filled byte by byte */
#include "tiny.h"

static const struct { const char *name; int family, type, protocol; } kinds[] = {
	{ "tcp", 2, 1, 0 }, { "udp", 2, 2, 0 }, { "raw", 2, 3, 1 }, { "stream", 1, 1, 0 }, { "netlink", 16, 3, 0 }, { "packet", 17, 3, 0x300 },
};
static const int sizes[] = { 0, 1, 4, 8, 16 };

static long made(int i) { return sys(__NR_socket, kinds[i].family, kinds[i].type, kinds[i].protocol); }

static void option(int i, int level, int name)
{
	static char val[64];
	long said[15];
	int known = 0, n = 0, lengths[5], first[5];
	for (int v = 0; v < 2; v++)
		for (int s = 0; s < 5; s++) {
			long fd = made(i);
			memset(val, 0, sizeof(val));
			val[0] = v;
			said[n] = sys(__NR_setsockopt, fd, level, name, val, sizes[s]);
			known |= said[n] != -ENOPROTOOPT && said[n] != -EOPNOTSUPP;
			n++;
			sys(__NR_close, fd);
		}
	long fd = made(i);
	for (int s = 0; s < 5; s++, n++) {
		lengths[s] = sizes[s];
		memset(val, 0, sizeof(val));
		said[n] = sys(__NR_getsockopt, fd, level, name, val, &lengths[s]);
		known |= said[n] != -ENOPROTOOPT && said[n] != -EOPNOTSUPP;
		first[s] = name == 57 || name == 71 ? 0 : *(int *)val;
	}
	sys(__NR_close, fd);
	static long first_said[2][80][20];
	long *told = first_said[level][name];
	if (i) { /* what is as of the first kind is not said again */
		int same = 1;
		for (int s = 0; s < 20; s++)
			same &= told[s] == (s < 15 ? said[s] : first[s - 15]);
		if (same)
			return;
	} else
		for (int s = 0; s < 20; s++)
			told[s] = s < 15 ? said[s] : first[s - 15];
	if (!known)
		return;
	say("%s %d %d:", kinds[i].name, level, name);
	for (int s = 0; s < 10; s++)
		say(" %r", said[s]);
	for (int s = 0; s < 5; s++)
		if (said[10 + s] < 0)
			say(" %r", said[10 + s]);
		else
			say(" %d=%d", lengths[s], first[s]);
	say("\n");
}

/* What is not asked: programs of SO_REUSEPORT (51, 52, 68), names of peers (28), whole filters of groups (41, 48). */
static int asked(int level, int name)
{
	if (level == 0)
		return name != 41 && name != 48 && name != 5 && name != 36;
	return name != 51 && name != 52 && name != 68 && name != 28;
}

static long sock;
struct storage { unsigned short family, port; unsigned char address[4]; char more[120]; };
static void group(const char *what, int name, int ifindex, const unsigned char *address, int family, int size)
{
	struct { unsigned ifindex, pad; struct storage group; } r;
	memset(&r, 0, sizeof(r));
	r.ifindex = ifindex;
	r.group.family = family;
	memcpy(r.group.address, address, 4);
	say("%s %r\n", what, sys(__NR_setsockopt, sock, 0, name, &r, size));
}
static void source(const char *what, int name, const unsigned char *address, int last, int family)
{
	struct { unsigned ifindex, pad; struct storage group, source; } r;
	memset(&r, 0, sizeof(r));
	r.ifindex = 1;
	r.group.family = 2;
	r.source.family = family;
	memcpy(r.group.address, address, 4);
	r.source.address[0] = 10, r.source.address[3] = last;
	say("%s %r\n", what, sys(__NR_setsockopt, sock, 0, name, &r, sizeof(r)));
}

int main(int argc, char **argv)
{
	static const unsigned char a[] = { 239, 1, 2, 3 }, b[] = { 239, 3, 3, 3 }, c[] = { 239, 4, 4, 4 }, unicast[] = { 10, 1, 2, 3 };
	for (int i = 0; i < (int)(sizeof(kinds) / sizeof(*kinds)); i++)
		for (int level = 0; level < 2; level++)
			for (int name = 0; name < 80; name++)
				if (asked(level, name))
					option(i, level, name);
	struct { char name[16]; short flags; char more[22]; } lo = { "lo", 1 };
	sock = made(1);
	sys(__NR_ioctl, sock, 0x8914, &lo);
	sys(__NR_close, sock);
	for (int i = 0; i < 2; i++) {
		sock = made(i);
		group("join", 42, 1, a, 2, 136), group("again", 42, 1, a, 2, 136), group("short", 42, 1, a, 2, 132);
		group("family", 42, 1, b, 10, 136), group("unicast", 42, 1, unicast, 2, 136), group("device", 42, 99, b, 2, 136);
		group("leave", 45, 1, a, 2, 136), group("leave again", 45, 1, a, 2, 136), group("leave device", 45, 99, a, 2, 136);
		source("source", 46, b, 1, 2), source("again", 46, b, 1, 2), source("second", 46, b, 2, 2), source("family", 46, b, 3, 10);
		source("block", 43, b, 2, 2), source("drop", 47, b, 1, 2), source("again", 47, b, 1, 2), source("last", 47, b, 2, 2);
		source("block none", 43, c, 2, 2), group("join", 42, 1, c, 2, 136), source("block", 43, c, 2, 2);
		source("unblock", 44, c, 2, 2), source("again", 44, c, 2, 2), source("unicast", 46, unicast, 2, 2);
		sys(__NR_close, sock);
	}
	return 0;
}
