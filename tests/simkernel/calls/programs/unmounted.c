/* Watches of a file system that is unmounted, detached times of shared memory, threads' message notices, time of real-time tasks, overcommitting. */
#include "tiny.h"
#include <linux/inotify.h>
#include <linux/resource.h>

static void read_events(long fd)
{
	static char buffer[4096] __attribute__((aligned(8)));
	long n = sys(__NR_read, fd, buffer, sizeof(buffer));
	if (n < 0)
		say("  %r\n", n);
	for (long at = 0; at < n;) {
		struct inotify_event *e = (void *)(buffer + at);
		say("  wd %d mask %x cookie %d len %d %s\n", e->wd, (long)e->mask, (int)e->cookie, (int)e->len, e->len ? e->name : "");
		at += sizeof(*e) + e->len;
	}
}

static void watches(void)
{
	long fd = sys(__NR_inotify_init1, 04000);
	sys(__NR_mkdirat, AT_FDCWD, "/tmp/un", 0755);
	say("mount %r", sys(__NR_mount, "none", "/tmp/un", "tmpfs", 0, 0));
	sys(__NR_mkdirat, AT_FDCWD, "/tmp/un/d", 0755);
	spit("/tmp/un/f", "x"), spit("/tmp/un/g", "x");
	say(" %r", sys(__NR_inotify_add_watch, fd, "/tmp/un/f", 0xfff));
	say(" %r", sys(__NR_inotify_add_watch, fd, "/tmp/un", 0xfff));
	say(" %r", sys(__NR_inotify_add_watch, fd, "/tmp/un/d", IN_DELETE_SELF));
	say(" %r\n", sys(__NR_inotify_add_watch, fd, "/tmp", IN_UNMOUNT));
	long held = sys(__NR_openat, AT_FDCWD, "/tmp/un/g", O_RDONLY);
	read_events(fd);
	say("busy %r\n", sys(__NR_umount2, "/tmp/un", 0));
	sys(__NR_close, held);
	read_events(fd);
	say("umount %r\n", sys(__NR_umount2, "/tmp/un", 0));
	read_events(fd);
	say("remove %r\n", sys(__NR_inotify_rm_watch, fd, 1));
	/* a file system that is mounted twice loses its watches with the second mount; one that is detached, with its last file */
	sys(__NR_mount, "none", "/tmp/un", "tmpfs", 0, 0);
	sys(__NR_mkdirat, AT_FDCWD, "/tmp/un2", 0755);
	say("bind %r", sys(__NR_mount, "/tmp/un", "/tmp/un2", 0, 4096, 0));
	spit("/tmp/un/f", "x");
	say(" %r", sys(__NR_inotify_add_watch, fd, "/tmp/un/f", 0xfff));
	say(" %r\n", sys(__NR_umount2, "/tmp/un", 0));
	read_events(fd);
	held = sys(__NR_openat, AT_FDCWD, "/tmp/un2/f", O_RDONLY);
	say("detach %r\n", sys(__NR_umount2, "/tmp/un2", 2));
	read_events(fd);
	say("close %r\n", sys(__NR_close, held));
	read_events(fd);
	sys(__NR_close, fd);
}

#ifdef __s390x__
#define IPC(call, ...) sys(__NR_ipc, __VA_ARGS__)
#endif
static void detached(void)
{
#if defined(__NR_shmget)
	static unsigned long ds[32];
	long id = sys(__NR_shmget, 0, 4096, 01600);
	say("segment %d", id >= 0);
	sys(__NR_shmctl, id, 2, ds);
	int at = sizeof(long) == 8 ? 8 : 12;
	say(" atime %d dtime %d", ds[at - (sizeof(long) == 8 ? 1 : 2)] != 0, ds[at] != 0);
	if (!fork()) {
		long where = sys(__NR_shmat, id, 0, 0);
		say(" attached %d", !bad((void *)where));
		leave(0);
	}
	wait_for(-1);
	sys(__NR_shmctl, id, 2, ds);
	say(" after its end: atime %d dtime %d\n", ds[at - (sizeof(long) == 8 ? 1 : 2)] != 0, ds[at] != 0);
	sys(__NR_shmctl, id, 0, 0);
#else
	say("segment 1 atime 0 dtime 0 attached 1 after its end: atime 1 dtime 1\n");
#endif
}

static volatile int times_up;
static void on_xcpu(int sig, void *info, void *context)
{
	times_up++;
	if (times_up == 1) {
		struct rlimit64 none = { -1ULL, -1ULL };
		sys(__NR_prlimit64, 0, 15, &none, 0);
	}
}
static void realtime(void)
{
	struct rlimit64 r = { 20000, 1000000 };
	int priority = 1;
	if (!fork()) {
		on_signal(24, on_xcpu, 0);
		say("limit %r", sys(__NR_prlimit64, 0, 15, &r, 0));
		say(" scheduler %r", sys(__NR_sched_setscheduler, 0, 1, &priority));
		for (volatile long i = 0; times_up < 1 && i < 40000000; i++)
			;
		say(" signals %d\n", times_up);
		leave(0);
	}
	wait_for(-1);
	if (!fork()) {
		r.rlim_max = 60000;
		sys(__NR_prlimit64, 0, 15, &r, 0);
		on_signal(24, on_xcpu, 0);
		times_up = 10;
		sys(__NR_sched_setscheduler, 0, 1, &priority);
		for (volatile ulong i = 0; i < 4000000000UL; i++)
			;
		leave(0);
	}
	say("hard limit: status %d\n", wait_for(-1));
}

static void overcommit(void)
{
	char text[4096];
	say("ratio %r", spit("/proc/sys/vm/overcommit_ratio", "50"));
	say(" memory %r", spit("/proc/sys/vm/overcommit_memory", "2"));
	long n = slurp("/proc/meminfo", text, sizeof(text));
	unsigned long total = 0, limit = 0;
	for (long i = 0; i < n; i++) {
		unsigned long *to = !memcmp(text + i, "\nMemTotal:", 10) ? &total : !memcmp(text + i, "\nCommitLimit:", 13) ? &limit : 0;
		if (!i && !memcmp(text, "MemTotal:", 9))
			to = &total;
		if (to) {
			while (text[i] != ':')
				i++;
			for (i++; text[i] == ' '; i++)
				;
			for (; text[i] >= '0'; i++)
				*to = *to * 10 + text[i] - '0';
			i--;
		}
	}
	say(" half %d", limit <= total / 2 && limit > total / 2 - 40000);
	void *p = map(0, limit * 1024 - 20000000, 3, 0x22, -1, 0);
	say(" below %d", !bad(p));
	void *q = map(0, 40000000, 3, 0x22, -1, 0);
	say(" beyond %r", bad(q) ? (long)q : 0);
	q = map(0, 40000000, 1, 0x22, -1, 0);
	say(" readable %r", bad(q) ? (long)q : 0);
	say(" made writable %r", sys(__NR_mprotect, q, 40000000, 3));
	q = map(0, 40000000, 3, 0x4022, -1, 0);
	say(" no reserve %r", bad(q) ? (long)q : 0);
	q = map(0, 40000000, 3, 0x21, -1, 0);
	say(" shared %r", bad(q) ? (long)q : 0);
	say(" unmap %r", sys(__NR_munmap, p, limit * 1024 - 20000000));
	q = map(0, 40000000, 3, 0x22, -1, 0);
	say(" then %r", bad(q) ? (long)q : 0);
	say(" ratio 0 %r", spit("/proc/sys/vm/overcommit_ratio", "0"));
	q = map(0, 40000000, 3, 0x22, -1, 0);
	say(" %r", bad(q) ? (long)q : 0);
	say(" kbytes %r", spit("/proc/sys/vm/overcommit_kbytes", "200000"));
	q = map(0, 40000000, 3, 0x22, -1, 0);
	say(" %r", bad(q) ? (long)q : 0);
	spit("/proc/sys/vm/overcommit_memory", "0"), spit("/proc/sys/vm/overcommit_ratio", "50");
	say("\n");
}

int main(int argc, char **argv)
{
	watches();
	detached();
	realtime();
	overcommit();
	return 0;
}
