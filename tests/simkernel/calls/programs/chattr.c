/* Files that may not change, or are only added to: what chattr(1) sets, and what is refused then; programs on mounts without any.  not: i386, s390x */
#include "tiny.h"

static const char *const flags_of[] = { "none", "immutable", "append", "nodump", "noatime", "both" };
static const unsigned values[] = { 0, 0x10, 0x20, 0x40, 0x80, 0x30 };

static long set(const char *path, unsigned flags)
{
	long fd = sys(__NR_open, path, O_RDONLY, 0), ret = sys(__NR_ioctl, fd, 0x40086602, &flags);
	sys(__NR_close, fd);
	return ret;
}
static long get(const char *path)
{
	unsigned flags = 0xdead;
	long fd = sys(__NR_open, path, O_RDONLY, 0), ret = sys(__NR_ioctl, fd, 0x80086601, &flags);
	sys(__NR_close, fd);
	return ret < 0 ? ret : flags;
}
static void opened(const char *what, const char *path, int flags, int mode)
{
	long fd = sys(__NR_open, path, flags, mode);
	say("  open %s %r\n", what, fd < 0 ? fd : 0);
	if (fd >= 0)
		sys(__NR_close, fd);
}
static void attributes(const char *path)
{
	static unsigned char x[256];
	say("  statx %r", sys(__NR_statx, -100, path, 0, 0x7ff, x));
	say(" attributes %x mask %x\n", *(long *)(x + 8), *(long *)(x + 56));
	unsigned fsx[7] = { 9, 9, 9, 9, 9, 9, 9 };
	long fd = sys(__NR_open, path, O_RDONLY, 0), ret = sys(__NR_ioctl, fd, 0x801c581f, fsx);
	say("  fsxattr %r %x %x %x; ", ret, (long)fsx[0], (long)fsx[1], (long)fsx[3]);
	say("set %r\n", sys(__NR_ioctl, fd, 0x401c5820, fsx));
	sys(__NR_close, fd);
}
static void file(int i)
{
	static struct { long s, n; } times[2] = { { 1, 0 }, { 2, 0 } };
	spit("f", "hello");
	sys(__NR_mkdir, "d", 0755);
	spit("d/in", "inside");
	long w = sys(__NR_open, "f", O_RDWR, 0), a = sys(__NR_open, "f", O_RDWR | O_APPEND, 0);
	say("%s: set %r %r", flags_of[i], set("f", values[i]), set("d", values[i]));
	say(" get %x %x\n", get("f"), get("d"));
	attributes("f");
	attributes("d");
	opened("read", "f", O_RDONLY, 0), opened("write", "f", O_WRONLY, 0), opened("append", "f", O_WRONLY | O_APPEND, 0);
	opened("truncate", "f", O_WRONLY | O_APPEND | O_TRUNC, 0), opened("read and truncate", "f", O_RDONLY | O_TRUNC, 0), opened("noatime", "f", O_RDONLY | 01000000, 0);
	opened("create in", "d/new", O_RDWR | O_CREAT, 0600), opened("temporary in", "d", O_RDWR | 020200000, 0600), opened("path", "f", 010000000, 0);
	T(__NR_write, w, "x", 1), T(__NR_write, a, "x", 1), T(__NR_pwrite64, w, "x", 1, 0);
	T(__NR_ftruncate, w, 3), T(__NR_ftruncate, a, 30), T(__NR_truncate, "f", 2);
	T(__NR_fallocate, w, 0, 0, 4096), T(__NR_fallocate, w, 1, 0, 8192), T(__NR_fallocate, w, 3, 0, 4096);
	T(__NR_fcntl, w, 4, O_APPEND), T(__NR_fcntl, a, 4, 0), T(__NR_fcntl, w, 4, 04000);
	T(__NR_chmod, "f", 0640), T(__NR_chown, "f", 3, 3), T(__NR_chown, "f", -1, -1), T(__NR_utimensat, -100, "f", 0, 0), T(__NR_utimensat, -100, "f", times, 0);
	T(__NR_setxattr, "f", "trusted.a", "b", 1, 0), T(__NR_removexattr, "f", "trusted.a"), T(__NR_getxattr, "f", "trusted.a", 0, 0);
	T(__NR_link, "f", "g"), T(__NR_rename, "f", "h"), T(__NR_rename, "h", "f"), T(__NR_unlink, "g"), T(__NR_unlink, "f");
	T(__NR_unlink, "d/in"), T(__NR_mkdir, "d/sub", 0755), T(__NR_rmdir, "d/sub"), T(__NR_symlink, "x", "d/link"), T(__NR_link, "other", "d/other"), T(__NR_rename, "other", "d/other2");
	T(__NR_rename, "d", "e"), T(__NR_rename, "e", "d"), T(__NR_rmdir, "d"), T(__NR_chmod, "d", 0700), T(__NR_mknod, "d/fifo", 010600, 0);
	T(__NR_access, "f", 2), T(__NR_access, "d", 2), T(__NR_access, "f", 4);
	say("  shared map %d\n", !bad(map(0, 4096, 3, 1, w, 0)));
	T(__NR_mount, "none", "d", "tmpfs", 0, 0), T(__NR_umount2, "d", 0);
	sys(__NR_close, w), sys(__NR_close, a);
	set("f", 0), set("d", 0), set("e", 0), set("h", 0);
	const char *gone[] = { "f", "g", "h", "d/in", "d/new", "d/link", "d/other", "d/other2", "d/fifo" };
	for (int j = 0; j < 9; j++)
		sys(__NR_unlink, gone[j]);
	sys(__NR_rmdir, "d/sub"), sys(__NR_rmdir, "d");
}
int main(int argc, char **argv)
{
	sys(__NR_mkdir, "/attr", 0755);
	sys(__NR_mount, "none", "/attr", "tmpfs", 0, 0);
	sys(__NR_chdir, "/attr");
	spit("other", "other");
	for (int i = 0; i < 6; i++)
		file(i);
	spit("f", "x");
	say("unknown %r %r %r\n", set("f", 1), set("f", 0x80000), set("f", 0x4));
	T(__NR_ioctl, sys(__NR_open, "f", O_RDONLY, 0), 0x40086602, 8);
	T(__NR_ioctl, sys(__NR_open, "/dev/null", O_RDONLY, 0), 0x80086601, 8);
	T(__NR_ioctl, sys(__NR_open, "f", O_RDONLY, 0), 0x40046602, 8);
	long pid = fork();
	if (!pid) {
		sys(__NR_chown, "f", 7, 7);
		sys(__NR_setuid, 7);
		say("owner: nodump %r immutable %r append %r get %r\n", set("f", 0x40), set("f", 0x10), set("f", 0x20), get("f"));
		leave(0);
	}
	wait_for(pid);
	if (!(pid = fork())) {
		sys(__NR_setuid, 8);
		say("other: nodump %r none %r get %r\n", set("f", 0x40), set("f", 0), get("f"));
		leave(0);
	}
	wait_for(pid);
	T(__NR_mount, "none", "/attr", "tmpfs", 32 | 1, 0);
	say("read-only mount %r\n", set("/attr/f", 0x40));
	T(__NR_umount2, "/attr", 0);
	sys(__NR_mkdir, "/noexec", 0755);
	T(__NR_mount, "none", "/noexec", "tmpfs", 8, 0);
	static char page[8192];
	long self = sys(__NR_open, "/proc/self/exe", O_RDONLY, 0), n, to = sys(__NR_open, "/noexec/f", O_RDWR | O_CREAT, 0755);
	while ((n = sys(__NR_read, self, page, sizeof(page))) > 0)
		sys(__NR_write, to, page, n);
	void *p = map(0, 4096, 1, 2, to, 0);
	say("map exec %r", (long)map(0, 4096, 5, 2, to, 0));
	say(" shared %r", (long)map(0, 4096, 5, 1, to, 0));
	say(" read %d protect %r", !bad(p), sys(__NR_mprotect, p, 4096, 5));
	sys(__NR_close, to);
	char *av[] = { "x", 0 };
	say(" run %r\n", sys(__NR_execve, "/noexec/f", av, 0));
	return 0;
}
