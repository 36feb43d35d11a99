/* open_tree_attr (6.15): a tree by descriptor, with attributes at once. newer_trees.VERSION is what real kernels said. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct attr { uint64_t set, clear, propagation, userns; uint64_t more; };
#define RDONLY 1
#define NOSUID 2
#define NOEXEC 8
#define NOATIME 0x10

static int try(const char *what, int dfd, const char *path, unsigned flags, const void *attr, long size)
{
	struct statvfs v;
	errno = 0;
	int fd = syscall(467, dfd, path, flags, attr, size);
	if (fd < 0) { printf("%s: %s\n", what, strerrorname_np(errno)); return -1; }
	printf("%s: descriptor", what);
	if (!fstatvfs(fd, &v)) printf(" %lx", v.f_flag & 0x14cf);
	printf(" cloexec %d", fcntl(fd, F_GETFD) & 1);
	if (!fstatvfs(dfd >= 0 ? dfd : open("/tmp/t", O_PATH), &v)) printf(" there %lx\n", v.f_flag & 0x14cf);
	close(fd);
	return 0;
}
int main(void)
{
	struct attr ro = {RDONLY}, none = {0}, many = {RDONLY | NOSUID | NOEXEC}, clear = {0, RDONLY}, bad = {1UL << 40}, both = {RDONLY, RDONLY}, atime = {NOATIME, 0}, atime2 = {NOATIME, 0x70};
	struct attr shared = {0, 0, 1 << 20}, wrong = {0, 0, 3}, longer = {RDONLY, .more = 1}, idmap = {0x100000, .userns = 9999};
	setvbuf(stdout, 0, _IOLBF, 0);
	mkdir("/tmp/t", 0755);
	if (mount("none", "/tmp/t", "tmpfs", 0, 0)) return 1;
	mkdir("/tmp/t/sub", 0755);
	if (mount("none", "/tmp/t/sub", "tmpfs", 0, 0)) return 1;
	try("no attributes", AT_FDCWD, "/tmp/t", 1, 0, 0);
	try("no attributes, size", AT_FDCWD, "/tmp/t", 1, 0, 32);
	try("clone", AT_FDCWD, "/tmp/t", 1, &ro, 32);
	try("clone cloexec", AT_FDCWD, "/tmp/t", 1 | O_CLOEXEC, &many, 32);
	try("clone nothing", AT_FDCWD, "/tmp/t", 1, &none, 32);
	try("clone recursive", AT_FDCWD, "/tmp/t", 1 | 0x8000, &ro, 32);
	try("recursive", AT_FDCWD, "/tmp/t", 0x8000, &ro, 32);
	try("below", AT_FDCWD, "/tmp/t/sub/..", 1, &ro, 32);
	try("clear", AT_FDCWD, "/tmp/t", 1, &clear, 32);
	try("both", AT_FDCWD, "/tmp/t", 1, &both, 32);
	try("unknown attribute", AT_FDCWD, "/tmp/t", 1, &bad, 32);
	try("atime", AT_FDCWD, "/tmp/t", 1, &atime, 32);
	try("atime cleared", AT_FDCWD, "/tmp/t", 1, &atime2, 32);
	try("shared", AT_FDCWD, "/tmp/t", 1, &shared, 32);
	try("wrong propagation", AT_FDCWD, "/tmp/t", 1, &wrong, 32);
	try("no user namespace", AT_FDCWD, "/tmp/t", 1, &idmap, 32);
	try("short", AT_FDCWD, "/tmp/t", 1, &ro, 31);
	try("size 0", AT_FDCWD, "/tmp/t", 1, &ro, 0);
	try("longer", AT_FDCWD, "/tmp/t", 1, &clear, 40);
	try("longer with", AT_FDCWD, "/tmp/t", 1, &longer, 40);
	try("page", AT_FDCWD, "/tmp/t", 1, &ro, 4097);
	try("fault", AT_FDCWD, "/tmp/t", 1, (void *)8, 32);
	try("fault of nothing", AT_FDCWD, "/tmp/none", 1, (void *)8, 32);
	try("flags", AT_FDCWD, "/tmp/t", 1 | 0x40000, &ro, 32);
	try("flags, short", AT_FDCWD, "/tmp/t", 1 | 0x40000, &ro, 31);
	try("nothing", AT_FDCWD, "/tmp/none", 1, &ro, 32);
	try("sub", AT_FDCWD, "/tmp/t/sub", 1, &ro, 32);
	try("not a root", AT_FDCWD, "/tmp", 1, &ro, 32);
	if (!fork()) {
		if (setresuid(1000, 1000, 1000)) _exit(1);
		try("other", AT_FDCWD, "/tmp/t", 0, 0, 0);
		try("other attributes", AT_FDCWD, "/tmp/t", 0, &ro, 32);
		try("other clone", AT_FDCWD, "/tmp/t", 1, &ro, 32);
		_exit(0);
	}
	wait(0);
	try("attached, no attributes", AT_FDCWD, "/tmp/t", 0, 0, 0);
	try("attached nothing", AT_FDCWD, "/tmp/t", 0, &none, 32);
	try("attached", AT_FDCWD, "/tmp/t", 0, &ro, 32);
	umount("/tmp/t/sub"), umount("/tmp/t");
	return 0;
}
