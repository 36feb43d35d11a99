/* Capabilities of files: their three forms, whose root they are for, what user namespaces see of them, and PR_SET_NO_NEW_PRIVS. */
#include "tiny.h"
#include <linux/prctl.h>

#define CAP "security.capability"
static unsigned raw[8];
static char bytes[65536];
struct header { unsigned version; int pid; };
struct data { unsigned effective, permitted, inheritable; };

static void mine(void)
{
	struct header h = { 0x20080522, 0 };
	struct data d[2];
	sys(__NR_capget, &h, d);
	say("    caps %x %x ambient %r ids %d %d\n", (long)d[0].effective, (long)d[0].permitted,
	    sys(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 10, 0, 0), sys(__NR_getuid), sys(__NR_geteuid));
}
static unsigned le(unsigned v)
{
#ifdef __s390x__
	return __builtin_bswap32(v);
#else
	return v;
#endif
}
static void set(unsigned magic, unsigned permitted, unsigned inheritable, unsigned root, int size)
{
	memset(raw, 0, sizeof raw);
	raw[0] = le(magic), raw[1] = le(permitted), raw[2] = le(inheritable), raw[5] = le(root);
	say("  set %x of %d bytes root %d: %r\n", (long)magic, size, root, sys(__NR_setxattr, "/m/p", CAP, raw, size, 0));
}
static void get(void)
{
	memset(raw, 0xee, sizeof raw);
	long n = sys(__NR_getxattr, "/m/p", CAP, raw, sizeof raw);
	say("  get %r", n);
	for (int i = 0; i < n / 4; i++)
		say(" %x", (long)le(raw[i]));
	say(" size %r\n", sys(__NR_getxattr, "/m/p", CAP, 0, 0));
}
static void run(int uid, int alone)
{
	char *args[] = { "/m/p", "show", 0 }, *env[] = { 0 };
	long pid = fork();
	if (!pid) {
		if (uid)
			sys(__NR_setresgid, uid, uid, uid), sys(__NR_setresuid, uid, uid, uid);
		if (alone)
			sys(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		say("    exec %r\n", sys(__NR_execve, args[0], args, env));
		leave(0);
	}
	wait_for(pid);
}
static void runs(void) { run(1000, 0), run(1000, 1), run(0, 0); }

static void in_namespace(const char *map)
{
	int ready[2], go[2];
	char c;
	sys(__NR_pipe2, ready, 0), sys(__NR_pipe2, go, 0);
	long pid = fork();
	if (!pid) {
		say(" namespace: %r\n", sys(__NR_unshare, 0x10000000));
		sys(__NR_write, ready[1], "x", 1), sys(__NR_read, go[0], &c, 1);
		sys(__NR_setresgid, 0, 0, 0), sys(__NR_setresuid, 0, 0, 0);
		get();
		run(0, 0), run(1, 0);
		set(0x02000001, 0x400, 0, 0, 20), get();
		set(0x03000001, 0x400, 0, 1, 24), get();
		set(0x03000001, 0x400, 0, 77, 24), get();
		leave(0);
	}
	sys(__NR_read, ready[0], &c, 1);
	char path[64] = "/proc/", *at = path + 6;
	for (long n = pid, d = 100000; d; d /= 10)
		if (n >= d)
			*at++ = '0' + n / d % 10;
	memcpy(at, "/uid_map", 9);
	spit(path, map);
	memcpy(at, "/gid_map", 9);
	spit(path, map);
	sys(__NR_write, go[1], "x", 1);
	wait_for(pid);
	get();
	runs();
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		mine();
		return 0;
	}
	T(__NR_mkdir, "/m", 0755);
	T(__NR_mount, "m", "/m", "tmpfs", 0, 0);
	long from = sys(__NR_openat, AT_FDCWD, "/proc/self/exe", 0, 0), to = sys(__NR_openat, AT_FDCWD, "/m/p", 0102, 0755), n;
	while ((n = sys(__NR_read, from, bytes, sizeof bytes)) > 0)
		sys(__NR_write, to, bytes, n);
	sys(__NR_close, from), sys(__NR_close, to);
	get(), runs();
	set(0x01000001, 0x400, 0, 0, 12), get();
	set(0x02000001, 0x400, 0, 0, 20), get(), runs();
	set(0x02000000, 0x400, 0, 0, 20), get(), runs();
	set(0x02000000, 0x400, 0, 0, 24), get();
	set(0x03000001, 0x400, 0, 0, 20), get();
	set(0x03000001, 0x400, 0, 0, 24), get(), runs();
	set(0x03000001, 0x400, 0, 1000, 24), get(), runs();
	set(0x03000001, 0x400, 0, -1, 24), get();
	set(0x04000001, 0x400, 0, 0, 24), get();
	set(0x0300ff03, 0x400, 0, 1000, 24), get();
	T(__NR_chown, "/m/p", 1000, 1000);
	set(0x03000001, 0x400, 0, 1000, 24);
	in_namespace("0 1000 50");
	set(0x02000001, 0x400, 0, 0, 20);
	in_namespace("0 1000 50");
	set(0x03000001, 0x400, 0, 1005, 24);
	in_namespace("0 1000 50");
	return 0;
}
