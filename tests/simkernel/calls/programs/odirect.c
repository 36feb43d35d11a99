/* O_DIRECT: which files take it. */
#include "tiny.h"
#define DIRECT O_DIRECT
static void open_all(const char *name)
{
	long fd = sys(__NR_openat, AT_FDCWD, name, DIRECT | O_RDONLY | O_NONBLOCK);
	say("%s: %r\n", name, fd < 0 ? fd : 0);
	if (fd >= 0)
		sys(__NR_close, fd);
}
int main(int argc, char **argv)
{
	static const char *const names[] = { "f", "l", "d", "p", "/dev/null", "/dev/zero", "/proc/version", "/proc/self/mem",
		"/sys/kernel/mm/ksm/run", "/sys/kernel/tracing/trace", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/bpf" };
	int ends[2];
	sys(__NR_mkdir, "/direct", 0755);
	say("mount %r\n", sys(__NR_mount, "t", "/direct", "tmpfs", 0, 0));
	sys(__NR_chdir, "/direct");
	sys(__NR_close, sys(__NR_openat, AT_FDCWD, "f", O_CREAT | O_RDWR, 0644));
	sys(__NR_symlink, "f", "l");
	sys(__NR_mkdir, "d", 0755);
	sys(__NR_mknod, "p", 010644, 0);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		open_all(names[i]);
	say("new %r\n", sys(__NR_openat, AT_FDCWD, "new", O_CREAT | DIRECT | O_RDWR, 0644));
	T(__NR_access, "new", 0);
	T(__NR_openat, AT_FDCWD, ".", 020200000 | DIRECT | O_RDWR, 0600);
	long reader = sys(__NR_openat, AT_FDCWD, "p", DIRECT | O_RDONLY | O_NONBLOCK);
	say("a reader %r, whom a writer finds: %r\n", reader, sys(__NR_openat, AT_FDCWD, "p", O_WRONLY | O_NONBLOCK));
	int fd = sys(__NR_openat, AT_FDCWD, "f", O_RDWR);
	T(__NR_fcntl, fd, F_SETFL, DIRECT);
	sys(__NR_pipe2, ends, 0);
	T(__NR_fcntl, ends[0], F_SETFL, DIRECT);
	return 0;
}
