/* ioctl(SIOCETHTOOL) of the loopback: each command of ETHTOOL_*, what it takes and what it writes.  not: i386 s390x */
#include "tiny.h"
enum { /* of linux/ethtool.h */
	ETHTOOL_GRXCSUM = 0x14, ETHTOOL_SRXCSUM, ETHTOOL_GTXCSUM, ETHTOOL_STXCSUM, ETHTOOL_GSG, ETHTOOL_SSG, ETHTOOL_GSTRINGS = 0x1b, ETHTOOL_GTSO = 0x1e,
	ETHTOOL_STSO, ETHTOOL_GPERMADDR, ETHTOOL_GGSO = 0x23, ETHTOOL_SGSO, ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETHTOOL_GGRO = 0x2b, ETHTOOL_SGRO,
	ETHTOOL_GFEATURES = 0x3a, ETHTOOL_SFEATURES,
};
#define SIOCETHTOOL 0x8946

struct request { char name[16]; void *data; char rest[16]; };

static unsigned char data[6000], was[6000];
static void ask(long s, const char *dev, unsigned cmd, unsigned arg)
{
	struct request r;
	memset(&r, 0, sizeof(r));
	memcpy(r.name, dev, strlen(dev));
	memset(data, 0, sizeof(data));
	*(unsigned *)data = cmd;
	((unsigned *)data)[1] = arg;
	memcpy(was, data, sizeof(data));
	r.data = data;
	say("%s %x %x: %r", dev, (long)cmd, (long)arg, sys(__NR_ioctl, s, SIOCETHTOOL, &r));
	for (int i = 0; i < (cmd == ETHTOOL_GSTRINGS ? 12 : (int)sizeof(data)); i++)
		if (data[i] != was[i])
			say(" %d:%x", i, (long)data[i]);
	if (cmd == ETHTOOL_GSTRINGS && data[8])
		for (int i = 0; i < data[8]; i++)
			say("|%s", (char *)data + 12 + 32 * i);
	put('\n');
	flush();
}
int main(int argc, char **argv)
{
	long s = sys(__NR_socket, 2, 2, 0), u = sys(__NR_socket, 1, 1, 0), n = sys(__NR_socket, 16, 3, 0);
	struct request up = { "lo", (void *)0x41 };
	sys(__NR_ioctl, s, 0x8914, &up); /* SIOCSIFFLAGS */
	for (unsigned cmd = 0; cmd < 0x62; cmd++)
		ask(s, "lo", cmd, 0);
	ask(s, "nosuch", 1, 0), ask(s, "nosuch", 0x41, 0), ask(s, "nosuch", 0x777, 0), ask(s, "", 1, 0), ask(u, "lo", 0xa, 0), ask(n, "lo", 0xa, 0);
	for (unsigned set = 0; set < 25; set++)
		ask(s, "lo", ETHTOOL_GSTRINGS, set);
	ask(s, "lo", ETHTOOL_STSO, 1), ask(s, "lo", ETHTOOL_GTSO, 0), ask(s, "lo", ETHTOOL_STXCSUM, 0), ask(s, "lo", ETHTOOL_GTXCSUM, 0), ask(s, "lo", ETHTOOL_SSG, 0);
	ask(s, "lo", ETHTOOL_GSG, 0), ask(s, "lo", ETHTOOL_SGSO, 0), ask(s, "lo", ETHTOOL_GGSO, 0), ask(s, "lo", ETHTOOL_SGSO, 1), ask(s, "lo", ETHTOOL_SGRO, 0);
	ask(s, "lo", ETHTOOL_GGRO, 0), ask(s, "lo", ETHTOOL_SGRO, 1), ask(s, "lo", ETHTOOL_SFLAGS, 1 << 27), ask(s, "lo", ETHTOOL_GFLAGS, 0), ask(s, "lo", ETHTOOL_SFLAGS, 0);
	ask(s, "lo", ETHTOOL_SRXCSUM, 0), ask(s, "lo", ETHTOOL_GRXCSUM, 0), ask(s, "lo", ETHTOOL_GFEATURES, 1), ask(s, "lo", ETHTOOL_GFEATURES, 2), ask(s, "lo", ETHTOOL_GFEATURES, 9);
	ask(s, "lo", ETHTOOL_SFEATURES, 1), ask(s, "lo", ETHTOOL_SFEATURES, 2), ask(s, "lo", ETHTOOL_GPERMADDR, 6), ask(s, "lo", ETHTOOL_GPERMADDR, 99);
	long pid = fork();
	if (!pid) {
		sys(__NR_setresuid, 65534, 65534, 65534);
		for (unsigned cmd = 0; cmd < 0x62; cmd++)
			ask(s, "lo", cmd, 0);
		ask(s, "lo", 0x99, 0);
		leave(0);
	}
	wait_for(pid);
	return 0;
}
