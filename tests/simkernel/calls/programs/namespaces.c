/* Namespaces of host names, System V IPC and mounts. */
#include "tiny.h"
#include <linux/ipc.h>
#include <linux/sched.h>
#include <linux/utsname.h>
#include <linux/nsfs.h>

static char before[64], after[64];
static const char *name(void)
{
	static struct new_utsname u;
	sys(__NR_uname, &u);
	return u.nodename;
}
static int same(const char *kind)
{
	char path[64] = "/proc/self/ns/";
	memcpy(path + 14, kind, strlen(kind) + 1);
	memset(after, 0, sizeof(after));
	sys(__NR_readlinkat, AT_FDCWD, path, after, sizeof(after));
	return streq(before, after);
}
static void remember(const char *kind)
{
	same(kind);
	memcpy(before, after, sizeof(before));
}
static void child(const char *what, void (*fn)(void))
{
	long pid = fork();
	if (!pid) {
		fn();
		leave(0);
	}
	say("%s: %x\n", what, (long)wait_for(pid));
}
#define OPEN(p) sys(__NR_openat, AT_FDCWD, p, O_RDONLY, 0)

static void names(void)
{
	remember("uts");
	long old = OPEN("/proc/self/ns/uts");
	say("unshare %r\n", sys(__NR_unshare, CLONE_NEWUTS));
	say("same %d\n", same("uts"));
	say("set %r\n", sys(__NR_sethostname, "inside", 6));
	say("name %s\n", name());
	static char text[100];
	slurp("/proc/sys/kernel/hostname", text, 100);
	say("file %s", text);
	say("domain %r\n", sys(__NR_setdomainname, "example", 7));
	slurp("/proc/sys/kernel/domainname", text, 100);
	say("domain %s", text);
	say("kind %x\n", sys(__NR_ioctl, old, NS_GET_NSTYPE));
	say("owner %r\n", sys(__NR_ioctl, old, NS_GET_OWNER_UID, text));
	say("no ioctl %r\n", sys(__NR_ioctl, old, 0x1234, 0));
	say("wrong kind %r\n", sys(__NR_setns, old, CLONE_NEWIPC));
	say("back %r\n", sys(__NR_setns, old, CLONE_NEWUTS));
	say("same %d name %s\n", same("uts"), name());
	say("no namespace %r closed %r\n", sys(__NR_setns, 1, 0), sys(__NR_setns, 99, 0));
}

static void by_clone(void)
{
	long pid = sys(
#ifdef __s390x__
		__NR_clone, 0, CLONE_NEWUTS | 17, 0, 0, 0);
#else
		__NR_clone, CLONE_NEWUTS | 17, 0, 0, 0, 0);
#endif
	if (!pid) {
		sys(__NR_sethostname, "cloned", 6);
		say("in clone %s\n", name());
		nap(200);
		leave(0);
	}
	nap(50);
	say("parent %s\n", name());
	long fd = sys(__NR_pidfd_open, pid, 0);
	say("by process, no flags %r\n", sys(__NR_setns, fd, 0));
	say("by process %r\n", sys(__NR_setns, fd, CLONE_NEWUTS));
	say("now %s\n", name());
	wait_for(pid);
}

static void queues(void)
{
	long q = sys(__NR_msgget, 0x55, IPC_CREAT | 0600);
	say("made %d\n", q >= 0);
	say("unshare %r\n", sys(__NR_unshare, CLONE_NEWIPC));
	say("not there %r\n", sys(__NR_msgget, 0x55, 0));
	say("fresh %r\n", sys(__NR_msgget, 0x55, IPC_CREAT | 0600));
}

static void mounts(void)
{
	sys(__NR_mkdirat, AT_FDCWD, "/tmp/m", 0755);
	say("unshare %r\n", sys(__NR_unshare, CLONE_NEWNS));
	say("mount %r\n", sys(__NR_mount, "none", "/tmp/m", "tmpfs", 0, 0));
	say("write %r\n", spit("/tmp/m/file", "x"));
}

static void refusals(void)
{
	say("flags %r\n", sys(__NR_unshare, 1));
	say("files %r fs %r\n", sys(__NR_unshare, CLONE_FILES), sys(__NR_unshare, CLONE_FS));
	say("fs and mounts %r\n", sys(
#ifdef __s390x__
		__NR_clone, 0, CLONE_NEWNS | CLONE_FS | 17, 0, 0, 0));
#else
		__NR_clone, CLONE_NEWNS | CLONE_FS | 17, 0, 0, 0, 0));
#endif
	sys(__NR_setresuid, 1000, 1000, 1000);
	say("unprivileged %r\n", sys(__NR_unshare, CLONE_NEWUTS));
	say("clone %r\n", sys(
#ifdef __s390x__
		__NR_clone, 0, CLONE_NEWUTS | 17, 0, 0, 0));
#else
		__NR_clone, CLONE_NEWUTS | 17, 0, 0, 0, 0));
#endif
	say("set %r\n", sys(__NR_sethostname, "x", 1));
}

int main(int argc, char **argv)
{
	char text[64];
	sys(__NR_sethostname, "outside", 7);
	sys(__NR_mkdirat, AT_FDCWD, "/tmp", 0777);
	child("names", names);
	say("outside %s\n", name());
	child("clone", by_clone);
	say("outside %s\n", name());
	child("queues", queues);
	say("still there %d\n", sys(__NR_msgget, 0x55, 0) >= 0);
	child("mounts", mounts);
	say("not here %r\n", slurp("/tmp/m/file", text, sizeof(text)));
	child("refusals", refusals);
	return 0;
}
