/* Flags bit by bit: clone, clone3, unshare, setns, mount, prctl, policies, priorities; sockets of every family.  not: i386, s390x */
#include "tiny.h"
#include <linux/sched.h>

static long in_fork(long (*ask)(long, long), long a, long b) /* what a child's call says; a child of its own counts as 1 */
{
	long *word = map(0, 4096, 3, 0x21, -1, 0);
	*word = 0x1234;
	long pid = fork();
	if (!pid) {
		long own = sys(__NR_getpid);
		long said = ask(a, b);
		if (sys(__NR_getpid) == own && said != 0x7777)
			*word = said;
		leave(0);
	}
	int status = wait_for(pid);
	long said = status ? -5000 - status : *word;
	sys(__NR_munmap, word, 4096);
	return said;
}
static long ask_unshare(long flags, long b) { return sys(__NR_unshare, flags); }
static long ask_clone(long flags, long b)
{
	static int pidfd, tid;
	long ret = flags & 0x100 ? 0x7777 : sys(__NR_clone, flags, 0, &pidfd, &tid, 0);
	if (!ret)
		leave(0);
	if (ret > 0 && ret != 0x7777)
		wait_for(ret);
	return ret > 0 ? 1 : ret;
}
static long ask_clone3(long flags, long size)
{
	static long args[40];
	static int fd;
	args[0] = flags, args[1] = (long)&fd, args[4] = 17;
	if (size > 88)
		args[size / 8 - 1] = 0;
	long ret = flags & 0x100 ? 0x7777 : sys(__NR_clone3, args, size);
	if (!ret)
		leave(0);
	if (ret > 0 && ret != 0x7777)
		wait_for(ret);
	return ret > 0 ? 1 : ret;
}
static const char *const spaces[] = { "mnt", "uts", "ipc", "net", "pid", "user", "cgroup", "time", "pid_for_children", "time_for_children" };
static long ask_setns(long which, long flags)
{
	char path[64] = "/proc/self/ns/", *p = path + 14;
	for (const char *q = spaces[which]; *q;)
		*p++ = *q++;
	long fd = sys(__NR_open, path, O_RDONLY, 0);
	return sys(__NR_setns, fd, flags);
}
static long ask_setns_pidfd(long flags, long b) { return sys(__NR_setns, sys(__NR_pidfd_open, sys(__NR_getppid), 0), flags); }
static long ask_mount(long flags, long b)
{
	sys(__NR_unshare, 0x20000);
	return sys(__NR_mount, "none", "/bits/m", "tmpfs", flags, 0);
}
static long ask_umount(long flags, long b)
{
	sys(__NR_unshare, 0x20000);
	sys(__NR_mount, "none", "/", 0, 0x44000, 0);
	sys(__NR_mount, "none", "/bits/m", "tmpfs", 0, 0);
	return sys(__NR_umount2, "/bits/m", flags);
}
static long ask_prctl(long option, long a) { return option == 52 || option == 53 ? 0 : sys(__NR_prctl, option, a, 0, 0, 0); }
static long ask_prctl1(long option, long a) { return option == 52 || option == 53 ? 0 : sys(__NR_prctl, option, a, 1, 1, 1); }
static long ask_socket(long family, long type) { long fd = sys(__NR_socket, family, type & 15, type >> 4); return fd >= 0 ? 0 : fd; }
static long ask_policy(long policy, long priority) { int p = priority; return sys(__NR_sched_setscheduler, 0, policy, &p); }
static long ask_policy_user(long policy, long priority) { sys(__NR_setuid, 77); return ask_policy(policy, priority); }
static long ask_prio(long which, long value) { return sys(__NR_setpriority, which, 0, value); }
static long ask_prio_user(long which, long value) { sys(__NR_setuid, 77); return ask_prio(which, value); }
static long ask_ioprio(long which, long value) { return sys(__NR_ioprio_set, which, 0, value); }
static long ask_open(long flags, long b) { long fd = sys(__NR_open, b ? "/bits/d" : "/bits/f", flags, 0600); return fd >= 0 ? sys(__NR_fcntl, fd, 3) : fd; }
static long ask_mmap(long prot, long flags) { long fd = sys(__NR_open, "/bits/f", O_RDWR, 0); return bad(map(0, 4096, prot, flags, fd, 0)) ? (long)map(0, 4096, prot, flags, fd, 0) : 0; }
static long ask_anon(long prot, long flags) { void *p = map(0, 4096, prot, flags, -1, 0); return bad(p) ? (long)p : 0; }
static long ask_advise(long advice, long b) { return sys(__NR_madvise, map(0, 8192, 3, b ? 0x21 : 0x22, -1, 0), 8192, advice); }
static void row(const char *what, long (*ask)(long, long), long from, long to, long b)
{
	say("%s:", what);
	for (long i = from; i < to; i++)
		say(" %r", in_fork(ask, i, b));
	say("\n");
}
static void bits(const char *what, long (*ask)(long, long), long with, long b)
{
	say("%s:", what);
	for (int i = 0; i < 34; i++)
		say(" %r", in_fork(ask, 1L << i | with, b));
	say("\n");
}
int main(int argc, char **argv)
{
	sys(__NR_mkdir, "/bits", 0755);
	sys(__NR_mount, "none", "/bits", "tmpfs", 0, 0);
	sys(__NR_mkdir, "/bits/m", 0755), sys(__NR_mkdir, "/bits/d", 0755);
	spit("/bits/f", "file");
	bits("unshare", ask_unshare, 0, 0), bits("unshare with fs", ask_unshare, 0x200, 0), bits("unshare with user", ask_unshare, 0x10000000, 0);
	bits("clone", ask_clone, 17, 0), bits("clone with user", ask_clone, 0x10000000 | 17, 0), bits("clone with pid", ask_clone, 0x20000000 | 17, 0);
	bits("clone3", ask_clone3, 0, 64), bits("clone3 with pidfd", ask_clone3, 0x1000, 88), bits("clone3 with sighand", ask_clone3, 0x100000000L, 64);
	for (long size = 0; size < 320; size += 8)
		say("clone3 of %l %r\n", size, in_fork(ask_clone3, 0, size));
	say("clone3 of 5000 %r\n", in_fork(ask_clone3, 0, 5000));
	for (long i = 0; i < 10; i++) {
		static const long kinds[] = { 0, 0x20000, 0x4000000, 0x8000000, 0x40000000, 0x20000000, 0x10000000, 0x2000000, 0x80 };
		say("setns %s:", spaces[i]);
		for (int j = 0; j < 9; j++)
			say(" %r", in_fork(ask_setns, i, kinds[j]));
		say("\n");
	}
	bits("setns by pidfd", ask_setns_pidfd, 0, 0), bits("setns by pidfd, mnt", ask_setns_pidfd, 0x20000, 0);
	bits("mount", ask_mount, 0, 0), bits("umount", ask_umount, 0, 0), bits("umount lazily", ask_umount, 2, 0), bits("umount expire", ask_umount, 4, 0);
	for (long a = -1; a < 4; a++)
		row("prctl", ask_prctl, 0, 72, a), row("prctl with more", ask_prctl1, 0, 72, a);
	for (long type = 0; type < 12; type += type == 9 ? 2 : 1)
		row("socket", ask_socket, 0, 38, type), row("socket protocol 1", ask_socket, 0, 38, type | 16), row("socket protocol 6", ask_socket, 0, 38, type | 6 << 4), row("socket protocol 17", ask_socket, 0, 38, type | 17 << 4), row("socket protocol 255", ask_socket, 0, 38, type | 255 << 4), row("socket protocol 300", ask_socket, 0, 38, type | 300 << 4);
	static const long priorities[] = { -1, 0, 1, 50, 99, 100 };
	for (int i = 0; i < 6; i++)
		row("policy", ask_policy, -1, 9, priorities[i]), row("policy of a user", ask_policy_user, -1, 9, priorities[i]), row("policy and reset", ask_policy, 0x40000000, 0x40000009, priorities[i]);
	for (long value = -21; value < 22; value += 7)
		row("priority", ask_prio, -1, 4, value), row("priority of a user", ask_prio_user, -1, 4, value);
	for (long value = 0; value < 5; value++)
		row("ioprio", ask_ioprio, 0, 4, value << 13), row("ioprio 7", ask_ioprio, 0, 4, value << 13 | 7), row("ioprio 8", ask_ioprio, 0, 4, value << 13 | 8);
	for (long acc = 0; acc < 4; acc++)
		bits("open", ask_open, acc, 0), bits("open directory", ask_open, acc, 1);
	for (long flags = 0; flags < 4; flags++)
		row("mmap", ask_mmap, 0, 17, flags), row("mmap anonymous", ask_anon, 0, 17, flags | 32);
	bits("mmap flags", ask_anon, 0, 0x22), bits("mmap private file", ask_mmap, 1, 2);
	row("madvise", ask_advise, -1, 27, 0), row("madvise shared", ask_advise, -1, 27, 1);
	return 0;
}
