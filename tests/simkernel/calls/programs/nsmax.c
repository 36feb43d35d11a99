/* How many namespaces there may be: user.max_*_namespaces, for who makes them and for each level above. */
#include "tiny.h"
static const struct { const char *name; long flag; } kinds[] = {
	{ "cgroup", 0x02000000 }, { "ipc", 0x08000000 }, { "mnt", 0x00020000 }, { "net", 0x40000000 }, { "pid", 0x20000000 }, { "time", 0x80 }, { "user", 0x10000000 }, { "uts", 0x04000000 },
};
static void write_to(const char *path, const char *text)
{
	long fd = sys(__NR_open, path, 1, 0);
	long r = fd < 0 ? fd : sys(__NR_write, fd, text, strlen(text));
	if (r < 0)
		say("%s %s: %r\n", path, text, r);
	sys(__NR_close, fd);
}
static void file(char *to, const char *name)
{
	const char *parts[] = { "/proc/sys/user/max_", name, "_namespaces" };
	for (int i = 0; i < 3; i++) {
		memcpy(to, parts[i], strlen(parts[i]) + 1);
		to += strlen(parts[i]);
	}
}
static void show(const char *path)
{
	char b[32];
	long fd = sys(__NR_open, path, 0, 0), n = sys(__NR_read, fd, b, 31);
	if (n > 0) b[n] = 0;
	say("%s %s", path, n > 0 ? b : "none\n");
	sys(__NR_close, fd);
}
/* in a child: how often it can; each is held by a descriptor */
static void tries(long flag, int count, const char *name)
{
	char path[40] = "/proc/self/ns/";
	long pid = sys(__NR_fork);
	if (!pid) {
		memcpy(path + 14, name, strlen(name) + 1);
		for (int i = 0; i < count; i++) {
			say(" %r", sys(__NR_unshare, flag));
			sys(__NR_open, path, 0, 0);
		}
		sys(__NR_exit, 0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
	say("\n");
}
int main(int argc, char **argv)
{
	char path[80];
	for (int i = 0; i < 8; i++) {
		file(path, kinds[i].name);
		char was[32];
		long fd = sys(__NR_open, path, 0, 0), n = sys(__NR_read, fd, was, 31);
		was[n > 0 ? n : 0] = 0;
		sys(__NR_close, fd);
		write_to(path, "0");
		say("%s at 0:", kinds[i].name);
		tries(kinds[i].flag, 2, kinds[i].name);
		int later = kinds[i].flag == 0x40000000 || kinds[i].flag == 0x20000000 || kinds[i].flag == 0x10000000 || kinds[i].flag == 0x08000000; /* to be gone */
		write_to(path, "2");
		say("%s at 2:", kinds[i].name);
		tries(kinds[i].flag, 4, kinds[i].name);
		if (!later) {
			say("%s at 2 again:", kinds[i].name);
			tries(kinds[i].flag, 4, kinds[i].name);
		}
		if (was[0] != '0')
			write_to(path, was);
		write_to(path, "-1");
		write_to(path, "2147483648");
	}
	write_to("/proc/sys/user/max_uts_namespaces", "0");
#if defined(__s390x__)
	say("clone %r\n", sys(__NR_clone, 0, 0x04000000 | 17, 0, 0, 0));
#else
	say("clone %r\n", sys(__NR_clone, 0x04000000 | 17, 0, 0, 0, 0));
#endif
	write_to("/proc/sys/user/max_uts_namespaces", "5");
	/* none is left over of what failed */
	write_to("/proc/sys/user/max_ipc_namespaces", "0");
	say("both:");
	tries(0x0c000000, 7, "uts");
	say("uts after:");
	tries(0x04000000, 6, "uts");
	/* in a user namespace: its own limits, and those above */
	long pid = sys(__NR_fork);
	if (!pid) {
		say("user %r\n", sys(__NR_unshare, 0x10000000));
		show("/proc/sys/user/max_uts_namespaces");
		say("inside:");
		tries(0x04000000, 6, "uts");
		write_to("/proc/sys/user/max_uts_namespaces", "2");
		show("/proc/sys/user/max_uts_namespaces");
		say("inside:");
		tries(0x04000000, 6, "uts");
		sys(__NR_exit, 0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
	show("/proc/sys/user/max_uts_namespaces");
	/* who may set them */
	pid = sys(__NR_fork);
	if (!pid) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		write_to("/proc/sys/user/max_uts_namespaces", "7");
		sys(__NR_exit, 0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
	return 0;
}
