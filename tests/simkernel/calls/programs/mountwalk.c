/* not: i386 s390x */
/* The mount calls that go through descriptors: fsopen, fsconfig, fsmount, move_mount, open_tree, mount_setattr, fspick: flags, order of checks, messages of a context, propagation. */
#include "tiny.h"
#include <linux/mount.h>
#ifndef MOVE_MOUNT_SET_GROUP
#define MOVE_MOUNT_SET_GROUP 0x100
#endif
#define MOUNT_ATTR_IDMAP_ 0x00100000
static char text[32768];
static long sign(long v) { return v < 0 ? v : 0; }
static void messages(long fd)
{
	for (int i = 0; i < 6; i++) {
		char m[256];
		long n = sys(__NR_read, fd, m, 255);
		if (n < 0) { say(" [%r]", n); return; }
		m[n] = 0;
		if (n && m[n - 1] == '\n') m[n - 1] = 0;
		say(" {%s}", m);
	}
}
#define cfg(fd, cmd, key, value, aux) sys(__NR_fsconfig, fd, cmd, key, value, aux)
/* the lines of mountinfo that have a word, without numbers of mounts and devices */
static void mounts(const char *word)
{
	slurp("/proc/self/mountinfo", text, sizeof(text));
	static int seen[64];
	static int groups;
	for (char *p = text; *p;) {
		char *end = p;
		int hit = 0;
		while (*end && *end != '\n') {
			if (!memcmp(end, word, strlen(word))) hit = 1;
			end++;
		}
		char had = *end;
		*end = 0;
		if (hit) {
			int field = 0;
			char *q = p;
			say("  ");
			while (*q) {
				char *w = q;
				while (*q && *q != ' ') q++;
				char was = *q;
				*q = 0;
				if (field >= 3) {
					int n = 0;
					if (!memcmp(w, "shared:", 7)) n = 7;
					if (!memcmp(w, "master:", 7)) n = 7;
					if (!memcmp(w, "propagate_from:", 15)) n = 15;
					if (n) {
						int id = 0, at;
						for (char *d = w + n; *d; d++) id = id * 10 + *d - '0';
						for (at = 0; at < groups && seen[at] != id; at++);
						if (at == groups && groups < 64) seen[groups++] = id;
						w[n] = 0;
						say("%sg%d ", w, at);
					} else
						say("%s ", w);
				}
				field++;
				*q = was;
				while (*q == ' ') q++;
			}
			say("\n");
		}
		*end = had;
		p = had ? end + 1 : end;
	}
}

static void opening(void)
{
	static const char *const types[] = { "tmpfs", "proc", "sysfs", "cgroup2", "devpts", "mqueue", "ramfs", "bpf", "tracefs", "debugfs", "nothing", "", "tmpfs.x", "devtmpfs", "tmpfs ", "ext4", "configfs", "overlay", "fuse", "fuse.x", "selinuxfs", "nsfs", "anon_inodefs" };
	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++) {
		long fd = sys(__NR_fsopen, types[i], 0);
		say("%s: %r", types[i], sign(fd));
		if (fd >= 0) {
			say(" flag %r", cfg(fd, FSCONFIG_SET_FLAG, "nonsense", 0, 0));
			messages(fd);
			say(" string %r", cfg(fd, FSCONFIG_SET_STRING, "nonsense", "x", 0));
			messages(fd);
			say(" source %r", cfg(fd, FSCONFIG_SET_STRING, "source", "here", 0));
			say(" again %r", cfg(fd, FSCONFIG_SET_STRING, "source", "there", 0));
			messages(fd);
			say(" ro %r mount before %r\n", cfg(fd, FSCONFIG_SET_FLAG, "ro", 0, 0), sign(sys(__NR_fsmount, fd, 0, 0)));
			sys(__NR_close, fd);
		} else
			say("\n");
	}
	for (int i = 0; i < 4; i++)
		say("flags %d: %r\n", i, sign(sys(__NR_fsopen, "tmpfs", i)));
	say("null %r bad %r big flags %r\n", sys(__NR_fsopen, 0, 0), sys(__NR_fsopen, 8, 0), sys(__NR_fsopen, "tmpfs", 0x80000001));
	long fd = sys(__NR_fsopen, "tmpfs", 1);
	say("cloexec %r read %r short %r write %r lseek %r pread %r poll %d\n", sys(__NR_fcntl, fd, 1, 0), sys(__NR_read, fd, text, 10), sys(__NR_read, fd, text, 0), sys(__NR_write, fd, "x", 1), sys(__NR_lseek, fd, 0, 0), sys(__NR_pread64, fd, text, 1, 0), polled((int)fd, 5));
	sys(__NR_close, fd);
}

static void configuring(void)
{
	long fd = sys(__NR_fsopen, "tmpfs", 0);
	for (int cmd = 0; cmd < 11; cmd++) {
		say("cmd %d: none %r key %r value %r both %r aux %r all %r bad %r\n", cmd == 6 ? 99 : cmd == 7 ? 98 : cmd, cfg(fd, cmd == 6 ? 99 : cmd == 7 ? 98 : cmd, 0, 0, 0), cfg(fd, cmd == 6 || cmd == 7 ? 99 : cmd, "size", 0, 0), cfg(fd, cmd == 6 || cmd == 7 ? 99 : cmd, 0, "1m", 0),
		    cfg(fd, cmd == 6 || cmd == 7 ? 99 : cmd, "size", "1m", 0), cfg(fd, cmd == 6 || cmd == 7 ? 99 : cmd, 0, 0, 1), cfg(fd, cmd == 6 || cmd == 7 ? 99 : cmd, "size", "1m", 4), cfg(fd, cmd == 6 || cmd == 7 ? 99 : cmd, 8, 8, 0));
		messages(fd);
		say("\n");
	}
	say("fd -1 %r 1 %r\n", cfg(-1, 0, "x", 0, 0), cfg(1, 0, "x", 0, 0));
	static const struct { const char *key, *value; } strings[] = { { "size", "1m" }, { "size", "x" }, { "size", "" }, { "size", "50%" }, { "size", "50%x" }, { "size", "101%" }, { "nr_blocks", "10" }, { "nr_blocks", "ten" }, { "nr_inodes", "100" }, { "nr_inodes", "99999999999999999999" }, { "mode", "755" }, { "mode", "999" }, { "mode", "17777" }, { "uid", "0" }, { "uid", "-1" }, { "uid", "x" }, { "gid", "7" }, { "gid", "4294967295" }, { "huge", "never" }, { "huge", "always" }, { "huge", "sometimes" }, { "mpol", "local" }, { "mpol", "what" }, { "inode32", "" }, { "ro", "1" }, { "source", "a" }, { "sync", "x" }, { "noatime", "" }, { "SIZE", "1m" }, { "size ", "1m" }, { "", "x" } };
	for (unsigned i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		say("%s=%s: string %r flag %r", strings[i].key, strings[i].value, cfg(fd, FSCONFIG_SET_STRING, strings[i].key, strings[i].value, 0), cfg(fd, FSCONFIG_SET_FLAG, strings[i].key, 0, 0));
		messages(fd);
		say("\n");
	}
	static const char *const flags[] = { "ro", "rw", "sync", "async", "dirsync", "lazytime", "nolazytime", "mand", "nomand", "noatime", "nosuid", "nodev", "noexec", "relatime", "inode32", "inode64", "noswap", "posixacl", "iversion", "remount", "silent", "bind" };
	for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		say("flag %s %r", flags[i], cfg(fd, FSCONFIG_SET_FLAG, flags[i], 0, 0));
		messages(fd);
		say("\n");
	}
	say("binary %r path %r path_empty %r fd %r fd -1 %r", cfg(fd, FSCONFIG_SET_BINARY, "size", "1m", 2), cfg(fd, FSCONFIG_SET_PATH, "size", "/tmp", AT_FDCWD), cfg(fd, FSCONFIG_SET_PATH_EMPTY, "size", "", 0), cfg(fd, FSCONFIG_SET_FD, "size", 0, 0), cfg(fd, FSCONFIG_SET_FD, "size", 0, -1));
	messages(fd);
	memset(text, 'k', 5000);
	static const int lengths[] = { 254, 255, 256, 257, 300 };
	for (int i = 0; i < 5; i++) {
		text[lengths[i]] = 0;
		say("\nkey of %d %r value %r", lengths[i], cfg(fd, FSCONFIG_SET_FLAG, text, 0, 0), cfg(fd, FSCONFIG_SET_STRING, "size", text, 0));
		text[lengths[i]] = 'k';
		sys(__NR_read, fd, text + 6000, 1000), sys(__NR_read, fd, text + 6000, 1000), sys(__NR_read, fd, text + 6000, 1000);
	}
	say("\ncreate %r", cfg(fd, FSCONFIG_CMD_CREATE, 0, 0, 0));
	messages(fd);
	say(" again %r set %r reconf %r key %r\n", cfg(fd, FSCONFIG_CMD_CREATE, 0, 0, 0), cfg(fd, FSCONFIG_SET_FLAG, "ro", 0, 0), cfg(fd, FSCONFIG_CMD_RECONFIGURE, 0, 0, 0), cfg(fd, FSCONFIG_CMD_CREATE, "x", 0, 0));
	sys(__NR_close, fd);
	/* more messages than a log holds */
	fd = sys(__NR_fsopen, "tmpfs", 0);
	char key[8] = "wrong00";
	for (int i = 0; i < 12; i++)
		key[5] = '0' + i / 10, key[6] = '0' + i % 10, cfg(fd, FSCONFIG_SET_FLAG, key, 0, 0);
	char small[10];
	char big[100];
	memset(big, 0, 100);
	say("small buffer %r", sys(__NR_read, fd, small, 10));
	say(" next %r", sys(__NR_read, fd, big, 100));
	say(" %s bad buffer %r", big, sys(__NR_read, fd, 8, 100));
	messages(fd), messages(fd);
	say("\n");
	sys(__NR_close, fd);
}

static void mounting(void)
{
	static const unsigned attrs[] = { 0, 1, 2, 4, 8, 0x10, 0x20, 0x30, 0x40, 0x80, 0x100, 0x200000, 0x3f, 0xff, 0x100000 };
	for (unsigned i = 0; i < 15; i++) {
		long fd = sys(__NR_fsopen, "tmpfs", 0);
		cfg(fd, FSCONFIG_SET_STRING, "source", "walk", 0), cfg(fd, FSCONFIG_CMD_CREATE, 0, 0, 0);
		long m = sys(__NR_fsmount, fd, 0, attrs[i]);
		say("attr %x: %r", (long)attrs[i], sign(m));
		if (m >= 0) {
			say(" move %r again %r\n", sys(__NR_move_mount, m, "", AT_FDCWD, "/walk", 4), sign(sys(__NR_fsmount, fd, 0, 0)));
			mounts("/walk");
			say("  umount %r", sys(__NR_umount2, "/walk", 0));
		}
		say("\n");
		sys(__NR_close, m), sys(__NR_close, fd);
	}
	long fd = sys(__NR_fsopen, "tmpfs", 0);
	for (int i = 0; i < 5; i++)
		say("fsmount flags %d: %r fd -1 %r fd 1 %r\n", i, sign(sys(__NR_fsmount, fd, i, 0)), sys(__NR_fsmount, -1, i, 0), sys(__NR_fsmount, 1, i, 0));
	cfg(fd, FSCONFIG_CMD_CREATE, 0, 0, 0);
	long m = sys(__NR_fsmount, fd, 1, 0);
	say("cloexec %r flags %x read %r getdents %r fstat-able %d", sys(__NR_fcntl, m, 1, 0), sys(__NR_fcntl, m, 3, 0) & 0x200000, sys(__NR_read, m, text, 1), sys(__NR_getdents64, m, text, 100), sys(__NR_fchdir, m) == 0);
	say(" make in it %r link path %r\n", sign(sys(__NR_openat, m, "inside", O_CREAT | O_RDWR, 0644)), sys(__NR_readlink, "/proc/self/cwd", text, 100));
	text[20] = 0;
	sys(__NR_chdir, "/");
	for (int f = 0; f < 12; f++)
		say("move flags %x: %r\n", 1L << f, sys(__NR_move_mount, m, f == 2 ? "" : "none", AT_FDCWD, "/nowhere", 1 << f));
	say("empty from without flag %r to missing %r to a file %r from dir to file %r\n", sys(__NR_move_mount, m, "", AT_FDCWD, "/walk", 0), sys(__NR_move_mount, m, "", AT_FDCWD, "/walk/none", 4), sys(__NR_move_mount, m, "", AT_FDCWD, "/walkfile", 4), sys(__NR_move_mount, -1, "", AT_FDCWD, "/walk", 4));
	say("move a directory %r the root %r to itself %r\n", sys(__NR_move_mount, AT_FDCWD, "/walk", AT_FDCWD, "/walk2", 0), sys(__NR_move_mount, AT_FDCWD, "/", AT_FDCWD, "/walk2", 0), sys(__NR_move_mount, m, "", m, "", 0x44));
	say("put %r", sys(__NR_move_mount, m, "", AT_FDCWD, "/walk", 4));
	say(" move on %r", sys(__NR_move_mount, m, "", AT_FDCWD, "/walk2", 4));
	say(" onto its own child %r", (sys(__NR_mkdirat, AT_FDCWD, "/walk2/child", 0755), sys(__NR_move_mount, AT_FDCWD, "/walk2", AT_FDCWD, "/walk2/child", 0)));
	say(" with names %r back %r", sys(__NR_move_mount, AT_FDCWD, "/walk2", AT_FDCWD, "/walk", 0), sys(__NR_move_mount, AT_FDCWD, "/walk", AT_FDCWD, "/walk2", 0));
	say(" umount %r move the unmounted %r\n", sys(__NR_umount2, "/walk2", 2), sys(__NR_move_mount, m, "", AT_FDCWD, "/walk", 4));
	sys(__NR_close, m), sys(__NR_close, fd);
}

static long tmpfs(const char *at)
{
	return sys(__NR_mount, "walktmp", at, "tmpfs", 0, 0);
}
static void trees(void)
{
	say("mount %r\n", tmpfs("/walk"));
	sys(__NR_mkdirat, AT_FDCWD, "/walk/a", 0755), sys(__NR_mkdirat, AT_FDCWD, "/walk/b", 0755), spit("/walk/file", "x"), tmpfs("/walk/a");
	static const unsigned flags[] = { 0, 1, 0x80000, 0x8000, 0x8001, 0x100, 0x101, 0x800, 0x1000, 0x2, 0x400, 0x200, 0x80001, 0x10000, 0x8800 };
	for (int i = 0; i < 15; i++) {
		long fd = sys(__NR_open_tree, AT_FDCWD, "/walk", flags[i]);
		say("open_tree %x: %r getfl %x getfd %r file %r empty %r missing %r\n", (long)flags[i], sign(fd), fd < 0 ? 0 : sys(__NR_fcntl, fd, 3, 0), fd < 0 ? 0 : sys(__NR_fcntl, fd, 1, 0),
		    sign(sys(__NR_open_tree, AT_FDCWD, "/walk/file", flags[i])), sign(sys(__NR_open_tree, fd, "", flags[i])), sign(sys(__NR_open_tree, AT_FDCWD, "/walk/none", flags[i])));
		for (int k = 3; k < 12; k++) sys(__NR_close, k);
	}
	long fd = sys(__NR_open_tree, AT_FDCWD, "/walk", 0x8001);
	say("clone: a mount of its own %r", sys(__NR_move_mount, fd, "", AT_FDCWD, "/walk2", 4));
	mounts("/walk2");
	say("detach %r\n", sys(__NR_umount2, "/walk2", 2));
	sys(__NR_close, fd);
	fd = sys(__NR_open_tree, AT_FDCWD, "/walk/file", 1);
	say("file on a directory %r", sys(__NR_move_mount, fd, "", AT_FDCWD, "/walk2", 4));
	say(" on a file %r", sys(__NR_move_mount, fd, "", AT_FDCWD, "/walkfile", 4));
	mounts("/walkfile");
	say("umount %r\n", sys(__NR_umount2, "/walkfile", 0));
	sys(__NR_close, fd);
	/* propagation by mount_setattr */
	static const unsigned long long props[] = { 0, 1 << 20, 1 << 18, 1 << 19, 1 << 17, 3 << 18, 1 << 5, 1 << 21 };
	for (int i = 0; i < 8; i++) {
		struct mount_attr a = { 0, 0, props[i], 0 };
		say("propagation %x: %r\n", (long)props[i], sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, &a, 32));
		mounts(" /walk ");
	}
	static const unsigned long long sets[][2] = { { 1, 0 }, { 0, 1 }, { 2, 0 }, { 0xf, 0 }, { 0, 0xf }, { 0x10, 0 }, { 0x10, 0x70 }, { 0x20, 0x70 }, { 0x30, 0x70 }, { 0, 0x70 }, { 0, 0x10 }, { 0x80, 0 }, { 0, 0x80 }, { 0x200000, 0 }, { 0, 0x200000 }, { 1, 1 }, { 0x100, 0 }, { 0, 0x100 }, { 0x40000000, 0 }, { 0x100000, 0 }, { 0, 0x100000 }, { 0x20, 0 }, { 0, 0x20 } };
	for (int i = 0; i < 23; i++) {
		struct mount_attr a = { sets[i][0], sets[i][1], 0, 0 };
		say("set %x clear %x: %r\n", (long)sets[i][0], (long)sets[i][1], sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, &a, 32));
		mounts(" /walk ");
	}
	struct mount_attr a = { 1, 0, 0, 0 };
	static const long at[] = { 0, 1, 0x8000, 0x1000, 0x100, 0x800, 0x9000, 0x2 };
	for (int i = 0; i < 8; i++)
		say("at %x: %r empty %r directory inside %r fd %r\n", at[i], sys(__NR_mount_setattr, AT_FDCWD, "/walk", at[i], &a, 32), at[i] == 0x9000 ? 0L : sys(__NR_mount_setattr, AT_FDCWD, "", at[i], &a, 32), sys(__NR_mount_setattr, AT_FDCWD, "/walk/b", at[i], &a, 32), sys(__NR_mount_setattr, -1, "", at[i], &a, 32));
	mounts("/walk");
	a.attr_set = 0, a.attr_clr = 1;
	say("back %r", sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0x8000, &a, 32));
	static const long sizes[] = { 0, 8, 31, 32, 33, 40, 4096, 4097 };
	for (int i = 0; i < 8; i++) {
		memset(text, 0, 8192);
		say(" size %l %r", sizes[i], sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, text, sizes[i]));
		text[34] = 1;
		say("/%r", sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, text, sizes[i]));
	}
	say(" null %r bad %r\n", sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, 0, 32), sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, 8, 32));
	fd = sys(__NR_openat, AT_FDCWD, "/proc/self/ns/user", 0, 0);
	struct mount_attr idmap = { MOUNT_ATTR_IDMAP_, 0, 0, (unsigned long long)fd };
	say("idmap: own namespace %r", sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, &idmap, 32));
	idmap.userns_fd = 1;
	say(" stdout %r", sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, &idmap, 32));
	idmap.userns_fd = 99;
	say(" 99 %r big %r clear %r\n", sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, &idmap, 32), (idmap.userns_fd = 1ULL << 40, sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, &idmap, 32)), (idmap.attr_set = 0, idmap.attr_clr = MOUNT_ATTR_IDMAP_, sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, &idmap, 32)));
	long writer = sys(__NR_openat, AT_FDCWD, "/walk/a/w", O_CREAT | O_RDWR, 0644);
	a.attr_set = 1, a.attr_clr = 0;
	say("with a writer: the mount above %r", sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, &a, 32));
	say(" recursive %r", sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0x8000, &a, 32));
	say(" its own %r remount %r bind %r\n", sys(__NR_mount_setattr, AT_FDCWD, "/walk/a", 0, &a, 32), sys(__NR_mount, 0, "/walk/a", 0, 33, 0), sys(__NR_mount, 0, "/walk/a", 0, 33 | 4096, 0));
	mounts("/walk");
	sys(__NR_close, writer);
	say("closed %r", sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0x8000, &a, 32));
	a.attr_set = 0, a.attr_clr = 1;
	say(" back %r\n", sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0x8000, &a, 32));
	/* peers, slaves and what reaches them */
	sys(__NR_mount, 0, "/walk", 0, 1 << 20, 0);
	say("bind %r", sys(__NR_mount, "/walk", "/walk2", 0, 4096, 0));
	say(" slave %r\n", sys(__NR_mount, 0, "/walk2", 0, 1 << 19, 0));
	mounts("/walk");
	say("put below %r\n", tmpfs("/walk/b"));
	mounts("/walk");
	say("slave shared %r\n", sys(__NR_mount, 0, "/walk2", 0, 1 << 20, 0));
	mounts("/walk");
	say("umount below %r\n", sys(__NR_umount2, "/walk/b", 0));
	mounts("/walk");
	long from = sys(__NR_open_tree, AT_FDCWD, "/walk", 1), group;
	group = sys(__NR_move_mount, from, "", AT_FDCWD, "/walk3", 4);
	say("third %r private %r set group %r", group, sys(__NR_mount, 0, "/walk3", 0, 1 << 18, 0), sys(__NR_move_mount, AT_FDCWD, "/walk", AT_FDCWD, "/walk3", 0x100));
	say(" again %r from private %r other file system %r not a mount %r\n", sys(__NR_move_mount, AT_FDCWD, "/walk", AT_FDCWD, "/walk3", 0x100), sys(__NR_move_mount, AT_FDCWD, "/walk3", AT_FDCWD, "/walk2", 0x100), sys(__NR_move_mount, AT_FDCWD, "/walk", AT_FDCWD, "/proc", 0x100), sys(__NR_move_mount, AT_FDCWD, "/walk/b", AT_FDCWD, "/walk3", 0x100));
	mounts("/walk");
	say("unbindable %r clone %r\n", sys(__NR_mount, 0, "/walk3", 0, 1 << 17, 0), sign(sys(__NR_open_tree, AT_FDCWD, "/walk3", 1)));
	for (int i = 0; i < 8; i++) sys(__NR_umount2, "/walk", 2), sys(__NR_umount2, "/walk2", 2), sys(__NR_umount2, "/walk3", 2);
	mounts("/walk");
}

static void picking(void)
{
	tmpfs("/walk");
	sys(__NR_mkdirat, AT_FDCWD, "/walk/a", 0755);
	for (int f = 0; f < 7; f++)
		say("fspick %x: %r inside %r empty %r missing %r\n", f ? 1L << (f - 1) : 0L, sign(sys(__NR_fspick, AT_FDCWD, "/walk", f ? 1 << (f - 1) : 0)), sign(sys(__NR_fspick, AT_FDCWD, "/walk/a", f ? 1 << (f - 1) : 0)), sign(sys(__NR_fspick, AT_FDCWD, "", f ? 1 << (f - 1) : 0)), sign(sys(__NR_fspick, AT_FDCWD, "/none", f ? 1 << (f - 1) : 0)));
	for (int k = 3; k < 40; k++) sys(__NR_close, k);
	long fd = sys(__NR_fspick, AT_FDCWD, "/walk", 1);
	say("cloexec %r source %r", sys(__NR_fcntl, fd, 1, 0), cfg(fd, FSCONFIG_SET_STRING, "source", "other", 0));
	messages(fd);
	say(" create %r fsmount %r size %r ro %r reconfigure %r", cfg(fd, FSCONFIG_CMD_CREATE, 0, 0, 0), sign(sys(__NR_fsmount, fd, 0, 0)), cfg(fd, FSCONFIG_SET_STRING, "size", "2m", 0), cfg(fd, FSCONFIG_SET_FLAG, "ro", 0, 0), cfg(fd, FSCONFIG_CMD_RECONFIGURE, 0, 0, 0));
	messages(fd);
	mounts(" /walk ");
	say("write %r set rw %r reconfigure %r", sign(spit("/walk/x", "y")), cfg(fd, FSCONFIG_SET_FLAG, "rw", 0, 0), cfg(fd, FSCONFIG_CMD_RECONFIGURE, 0, 0, 0));
	say(" write %r", sign(spit("/walk/x", "y")));
	say(" size small %r", cfg(fd, FSCONFIG_SET_STRING, "size", "1", 0));
	say(" reconfigure %r", cfg(fd, FSCONFIG_CMD_RECONFIGURE, 0, 0, 0));
	messages(fd);
	say(" inodes %r", cfg(fd, FSCONFIG_SET_STRING, "nr_inodes", "1", 0));
	say(" reconfigure %r", cfg(fd, FSCONFIG_CMD_RECONFIGURE, 0, 0, 0));
	say(" after a failure: flag %r", cfg(fd, FSCONFIG_SET_FLAG, "ro", 0, 0));
	say(" reconfigure %r create %r", cfg(fd, FSCONFIG_CMD_RECONFIGURE, 0, 0, 0), cfg(fd, FSCONFIG_CMD_CREATE, 0, 0, 0));
	messages(fd);
	say("\n");
	mounts(" /walk ");
	sys(__NR_umount2, "/walk", 2);
}

static void unprivileged(void)
{
	tmpfs("/walk");
	long made = sys(__NR_fsopen, "tmpfs", 0);
	long pid = fork();
	if (!pid) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		struct mount_attr a = { 1, 0, 0, 0 };
		say("user: fsopen %r bad flags %r unknown %r", sys(__NR_fsopen, "tmpfs", 0), sys(__NR_fsopen, "tmpfs", 8), sys(__NR_fsopen, "none", 0));
		say(" fspick %r missing %r flags %r", sys(__NR_fspick, AT_FDCWD, "/walk", 0), sys(__NR_fspick, AT_FDCWD, "/none", 0), sys(__NR_fspick, AT_FDCWD, "/walk", 64));
		say(" open_tree %r clone %r flags %r", sign(sys(__NR_open_tree, AT_FDCWD, "/walk", 0)), sys(__NR_open_tree, AT_FDCWD, "/walk", 1), sys(__NR_open_tree, AT_FDCWD, "/walk", 2));
		say(" fsmount %r flags %r fd %r", sys(__NR_fsmount, made, 0, 0), sys(__NR_fsmount, made, 2, 0), sys(__NR_fsmount, -1, 0, 0));
		say(" move %r flags %r", sys(__NR_move_mount, AT_FDCWD, "/walk", AT_FDCWD, "/walk2", 0), sys(__NR_move_mount, AT_FDCWD, "/walk", AT_FDCWD, "/walk2", 0x400));
		say(" setattr %r size %r empty %r config %r\n", sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, &a, 32), sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, &a, 8), (a.attr_set = 0, sys(__NR_mount_setattr, AT_FDCWD, "/walk", 0, &a, 32)), cfg(made, FSCONFIG_SET_STRING, "size", "1m", 0));
		say(" create %r umount %r mount %r remount %r\n", cfg(made, FSCONFIG_CMD_CREATE, 0, 0, 0), sys(__NR_umount2, "/walk", 0), sys(__NR_mount, "x", "/walk", "tmpfs", 0, 0), sys(__NR_mount, "x", "/walk", 0, 32, 0));
		leave(0);
	}
	wait_for(pid);
	sys(__NR_umount2, "/walk", 2);
}

int main(int argc, char **argv)
{
	sys(__NR_mkdirat, AT_FDCWD, "/walk", 0755), sys(__NR_mkdirat, AT_FDCWD, "/walk2", 0755), sys(__NR_mkdirat, AT_FDCWD, "/walk3", 0755), spit("/walkfile", "");
	opening();
	configuring();
	mounting();
	trees();
	picking();
	unprivileged();
	return 0;
}
