/* Options of tmpfs one by one, its limits and what a remount may change, pages of long links and of reservations that fail; birth times; capabilities of files. */
#include "tiny.h"
#include <linux/mount.h>
#include <linux/stat.h>
#include <linux/xattr.h>
#include "tiny_options.h"
static char text[4096], big[8192];
static void set(long fs, int cmd, const char *key, const char *value)
{
	say("%d %s=%s: %r\n", cmd, key, value ? value : "-", sys(__NR_fsconfig, fs, cmd, key, value, 0));
	for (long n; (n = sys(__NR_read, fs, text, sizeof text - 1)) >= 0;)
		text[n] = 0, say("  [%s]\n", text);
}
static void room(const char *what)
{
	long b[32]; /* struct statfs of 64 bits, or of 32 */
	memset(b, 0, sizeof b);
	sys(__NR_statfs, "/lim", b);
#if defined(__s390x__)
	unsigned *w = (unsigned *)b;
	say("%s: %l of %l blocks, %l of %l inodes\n", what, b[2], b[1], b[5], b[4]), (void)w;
#else
	say("%s: %l of %l blocks, %l of %l inodes\n", what, b[3], b[2], b[6], b[5]);
#endif
}
static void born(const char *what, const char *path, unsigned mask)
{
	struct statx s;
	memset(&s, 0, sizeof s);
	long ret = sys(__NR_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, mask, &s);
	say("%s: %r mask %x known %x born %d\n", what, ret, (long)s.stx_mask, (long)s.stx_attributes_mask, s.stx_btime.tv_sec == s.stx_ctime.tv_sec);
}
int main(int argc, char **argv)
{
	static const char *const names[] = { "tmpfs", "ramfs", "bpf", "proc" };
	static const char *const said[][2] = {
		{ "size", "1m" }, { "size", "0x10g" }, { "size", "12%" }, { "size", "12%x" }, { "size", "x" }, { "size", "-1" }, { "size", "1mb" }, { "size", 0 }, { "nr_blocks", "4k" },
		{ "nr_blocks", "k" }, { "nr_inodes", "010" }, { "nr_inodes", "8z" }, { "mode", "0750" }, { "mode", "9" }, { "mode", "17777" }, { "uid", "5" }, { "uid", "-1" },
		{ "uid", "4294967295" }, { "gid", "0x5" }, { "gid", "z" }, { "huge", "never" }, { "huge", "often" }, { "inode64", 0 }, { "inode64", "1" }, { "ro", 0 },
		{ "hidepid", "2" }, { "hidepid", "invisible" }, { "hidepid", "9" }, { "subset", "pid" }, { "subset", "all" }, { "source", "mine" }, { "source", "again" },
	};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		long fs = sys(__NR_fsopen, names[i], 1);
		say("%s: %d\n", names[i], fs >= 0);
		for (unsigned n = 0; n < sizeof said / sizeof *said; n++)
			set(fs, said[n][1] ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, said[n][0], said[n][1]);
		sys(__NR_close, fs);
	}
	T(__NR_mkdir, "/lim", 0755);
	T(__NR_mount, "l", "/lim", "tmpfs", 0, "size=1m,nr_inodes=20,mode=700,uid=3");
	room("new");
	for (char *c = big; c < big + 200; c++)
		*c = 'l';
	T(__NR_symlink, "short", "/lim/short");
	T(__NR_symlink, big + 73, "/lim/127");
	room("127 letters");
	T(__NR_symlink, big + 72, "/lim/128");
	room("128 letters");
	long fd = sys(__NR_open, "/lim/f", O_CREAT | O_RDWR, 0755);
	say("%r\n", reserve(fd, 0, 65536));
	room("reserved");
	say("%r\n", reserve(fd, 0, 1 << 20));
	room("not all of it");
	say("%r\n", reserve(fd, 0, 2 << 20));
	T(__NR_mount, 0, "/lim", 0, 32, "size=2m");
	room("larger");
	T(__NR_mount, 0, "/lim", 0, 32, "size=16k");
	T(__NR_mount, 0, "/lim", 0, 32, "nr_inodes=2");
	T(__NR_mount, 0, "/lim", 0, 32, "nr_inodes=9");
	T(__NR_mount, 0, "/lim", 0, 32, "colour=red");
	room("after refusals");
	T(__NR_mount, 0, "/lim", 0, 32, "size=0");
	T(__NR_mount, 0, "/lim", 0, 32, "size=2m");
	T(__NR_unlink, "/lim/128");
	room("link gone");
	born("all", "/lim/f", 0xfff);
	born("basic", "/lim/f", 0x7ff);
	born("link", "/lim/127", 0x800);
	born("status", "/proc/self/status", 0xfff);
	born("null", "/dev/null", 0xfff);
	static const unsigned caps[][6] = { { 0x02000001, 0x400 }, { 0x03000000, 0x400, 0, 0, 0, 1000 }, { 0x01000000, 0x400 }, { 0x04000000 } };
	for (unsigned i = 0; i < 4; i++)
		for (int size = 0; size < 28; size += 4) {
			unsigned char v[28];
			for (int b = 0; b < 28; b++) /* little endian everywhere */
				v[b] = b < 24 ? caps[i][b / 4] >> 8 * (b % 4) : 0;
			say("%d of %d: %r\n", i, size, sys(__NR_setxattr, "/lim/f", "security.capability", v, size, 0));
		}
	static const unsigned char v2[20] = { 1, 0, 0, 2, 0, 4 };
	for (int how = 0; how < 4; how++) {
		say("%d: %r", how, sys(__NR_setxattr, "/lim/f", "security.capability", v2, 20, 0));
		say(" %r", how == 0 ? sys(__NR_write, fd, "x", 1) : how == 1 ? sys(__NR_ftruncate, fd, 9) : how == 2 ? sys(__NR_chown, "/lim/f", 5, 5) : sys(__NR_chmod, "/lim/f", 0755));
		say(" %r\n", sys(__NR_getxattr, "/lim/f", "security.capability", text, 100));
	}
	T(__NR_umount2, "/lim", 2);
	return 0;
}
