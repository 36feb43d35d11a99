/* Open files of every kind, each made by its number. */
static const char *const kind_names[] = {
	"file", "read-only", "write-only", "append", "directory", "path", "pipe read", "pipe write", "fifo", "tcp", "udp", "unix", "unix dgram", "netlink",
	"packet", "eventfd", "epoll", "timerfd", "signalfd", "inotify", "memfd", "null", "zero", "proc", "proc dir", "sys", "pidfd", "namespace", "master", "slave", "mqueue",
	"userfaultfd", "fanotify", "fscontext", "mount", "random", "full", "cgroup", "mem", "link", "tmpfile", "listening", "pair",
};
#define KINDS (int)(sizeof(kind_names) / sizeof(*kind_names))
static long open_kind(int kind)
{
	int fds[2];
	unsigned long mask = 1 << 9;
	long fd, other;
	struct { unsigned short family; char path[14]; } name = { 1, "sock" };
	switch (kind) {
	case 0: return sys(__NR_open, "text", O_RDWR, 0);
	case 1: return sys(__NR_open, "text", O_RDONLY, 0);
	case 2: return sys(__NR_open, "text", O_WRONLY, 0);
	case 3: return sys(__NR_open, "text", O_RDWR | O_APPEND, 0);
	case 4: return sys(__NR_open, ".", O_RDONLY, 0);
	case 5: return sys(__NR_open, "text", 010000000, 0);
	case 6: case 7: sys(__NR_pipe2, fds, O_NONBLOCK); sys(__NR_write, fds[1], "pipe", 4); return fds[kind - 6];
	case 8: return sys(__NR_open, "fifo", O_RDWR | O_NONBLOCK, 0);
	case 9: return sys(__NR_socket, 2, 1 | O_NONBLOCK, 0);
	case 10: return sys(__NR_socket, 2, 2 | O_NONBLOCK, 0);
	case 11: return sys(__NR_socket, 1, 1 | O_NONBLOCK, 0);
	case 12: return sys(__NR_socket, 1, 2 | O_NONBLOCK, 0);
	case 13: return sys(__NR_socket, 16, 3 | O_NONBLOCK, 0);
	case 14: return sys(__NR_socket, 17, 3 | O_NONBLOCK, 0);
	case 15: return sys(__NR_eventfd2, 3, O_NONBLOCK);
	case 16: return sys(__NR_epoll_create1, 0);
	case 17: return sys(__NR_timerfd_create, 1, O_NONBLOCK);
	case 18: return sys(__NR_signalfd4, -1, &mask, 8, O_NONBLOCK);
	case 19: return sys(__NR_inotify_init1, O_NONBLOCK);
	case 20: fd = sys(__NR_memfd_create, "mem", 2); sys(__NR_write, fd, "memory", 6); return fd;
	case 21: return sys(__NR_open, "/dev/null", O_RDWR, 0);
	case 22: return sys(__NR_open, "/dev/zero", O_RDWR, 0);
	case 23: return sys(__NR_open, "/proc/self/comm", O_RDWR, 0);
	case 24: return sys(__NR_open, "/proc/self", O_RDONLY, 0);
	case 25: return sys(__NR_open, "/proc/sys/kernel/ostype", O_RDONLY, 0);
	case 26: return sys(__NR_pidfd_open, sys(__NR_getpid), 0);
	case 27: return sys(__NR_open, "/proc/self/ns/uts", O_RDONLY, 0);
	case 28: case 29:
		fd = sys(__NR_open, "/dev/ptmx", O_RDWR | 0400 | O_NONBLOCK, 0);
		int unlock = 0;
		sys(__NR_ioctl, fd, 0x40045431, &unlock);
		if (kind == 28)
			return fd;
		return sys(__NR_ioctl, fd, 0x5441, O_RDWR | 0400 | O_NONBLOCK);
	case 30: return sys(__NR_mq_open, "queue", O_RDWR | O_CREAT | O_NONBLOCK, 0600, 0);
	case 31: return sys(__NR_userfaultfd, O_NONBLOCK);
	case 32: return sys(__NR_fanotify_init, 2, 0);
	case 33: return sys(__NR_fsopen, "tmpfs", 0);
	case 34: return sys(__NR_open_tree, -100, ".", 1);
	case 35: return sys(__NR_open, "/dev/urandom", O_RDWR, 0);
	case 36: return sys(__NR_open, "/dev/full", O_RDWR, 0);
	case 37: return sys(__NR_open, "/all/cg/cgroup.max.depth", O_RDWR, 0);
	case 38: return sys(__NR_open, "/proc/self/mem", O_RDWR, 0);
	case 39: return sys(__NR_open, "link", 010000000 | 0400000, 0);
	case 40: return sys(__NR_open, ".", 020200000 | O_RDWR, 0600);
	case 41: fd = sys(__NR_socket, 2, 1 | O_NONBLOCK, 0); sys(__NR_listen, fd, 5); return fd;
	case 42: other = sys(__NR_socketpair, 1, 1 | O_NONBLOCK, 0, fds); (void)name; sys(__NR_write, fds[1], "pair", 4); return other < 0 ? other : fds[0];
	}
	return -EINVAL;
}
static void make_kinds(void)
{
	sys(__NR_mkdir, "/dev/pts", 0755);
	sys(__NR_mount, "devpts", "/dev/pts", "devpts", 0, "mode=600,ptmxmode=666");
	sys(__NR_mkdir, "/all", 0755);
	sys(__NR_mount, "none", "/all", "tmpfs", 0, 0);
	sys(__NR_chdir, "/all");
	sys(__NR_mkdir, "cg", 0755);
	sys(__NR_mount, "none", "/all/cg", "cgroup2", 0, 0);
	spit("text", "hello, world\n");
	sys(__NR_mknod, "fifo", 010644, 0);
	sys(__NR_symlink, "text", "link");
}
/* What a child finds; a call that does not come back is ended. */
static long in_child(long (*ask)(int, int), int kind, int what)
{
	long *word = map(0, 4096, 3, 0x21, -1, 0);
	*word = 0x123456789;
	long pid = fork();
	if (!pid) {
		struct { long interval[2], value[2]; } soon = { { 0, 0 }, { 0, 100000 } };
		sys(__NR_setsid);
		sys(__NR_setitimer, 0, &soon, 0);
		*word = ask(kind, what);
		leave(0);
	}
	int status = wait_for(pid);
	long result = status ? -5000 - status : *word;
	sys(__NR_munmap, word, 4096);
	return result;
}
/* A line of what all kinds say: those that say the same are told together, the most frequent answer last as "else". */
static void line_of(const char *what, int n, long (*ask)(int, int))
{
	long said[64];
	int best = 0, most = 0;
	for (int kind = 0; kind < KINDS; kind++)
		said[kind] = in_child(ask, kind, n);
	for (int kind = 0; kind < KINDS; kind++) {
		int count = 0;
		for (int other = 0; other < KINDS; other++)
			count += said[other] == said[kind];
		if (count > most)
			best = kind, most = count;
	}
	say("%s:", what);
	for (int kind = 0; kind < KINDS; kind++) {
		int first = said[kind] != said[best];
		for (int other = 0; other < kind; other++)
			first &= said[other] != said[kind];
		if (!first)
			continue;
		say(" %r", said[kind]);
		char before = '(';
		for (int other = kind; other < KINDS; other++)
			if (said[other] == said[kind])
				say("%s%s", before == '(' ? " (" : ", ", kind_names[other]), before = ',';
		say(")");
	}
	say(" else %r\n", said[best]);
}
