/* POSIX access control lists: setting, refusing, listing, who may, chmod, inheritance, umask, namespaces of users. */
#include "tiny.h"

struct entry { __u16 tag, perm; __u32 id; };
struct list { __u32 version; struct entry e[12]; };
static struct list acl;
static int count;
#define ACCESS "system.posix_acl_access"
#define DEFAULT "system.posix_acl_default"
static __u16 le16(__u16 v) {
#if defined(__s390x__)
	return v << 8 | v >> 8;
#else
	return v;
#endif
}
static __u32 le32(__u32 v) {
#if defined(__s390x__)
	return le16(v) << 16 | le16(v >> 16);
#else
	return v;
#endif
}

/* "u7 U5:rw g..": tag letters u user_obj U user g group_obj G group m mask o other, a digit of permissions, an id */
static void parse(const char *text)
{
	static const char tags[] = "uUgGmo";
	count = 0;
	acl.version = le32(2);
	while (*text) {
		int tag = 0;
		for (; tags[tag] != *text; tag++)
			;
		text++;
		int perm = *text++ - '0';
		long id = -1;
		if (*text == ':')
			for (text++, id = 0; *text >= '0' && *text <= '9'; text++)
				id = id * 10 + *text - '0';
		if (*text == ' ')
			text++;
		acl.e[count].tag = le16(1 << tag), acl.e[count].perm = le16(perm), acl.e[count].id = le32(id);
		count++;
	}
}
static long set(const char *path, const char *name, const char *text)
{
	parse(text);
	return sys(__NR_setxattr, path, name, &acl, 4 + 8 * count, 0);
}
static int mode_of(const char *path)
{
	static struct { __u32 mask, blksize; __u64 attributes; __u32 nlink, uid, gid; __u16 mode; __u8 rest[300]; } x;
	long r = sys(__NR_statx, AT_FDCWD, path, 0x100, 3, &x);
	return r ? (int)r : x.mode & 07777;
}
static void octal(int mode)
{
	if (mode < 0)
		say(" %r", (long)mode);
	else
		say(" %d%d%d%d", mode >> 9 & 7, mode >> 6 & 7, mode >> 3 & 7, mode & 7);
}
static void show(const char *path, const char *name)
{
	static struct list got;
	memset(&got, 0xee, sizeof(got));
	long n = sys(__NR_getxattr, path, name, &got, sizeof(got));
	say(" [%r:", n);
	for (int i = 0; n > 0 && i < (n - 4) / 8; i++) {
		int bit = 0;
		while (le16(got.e[i].tag) >> bit > 1)
			bit++;
		char letter[2] = { "uUgGmo?"[bit], 0 };
		say(" %s%d", letter, le16(got.e[i].perm));
		if (le32(got.e[i].id) != 0xffffffff)
			say(":%d", (int)le32(got.e[i].id));
	}
	say("]");
}
static void both(const char *path)
{
	say("%s", path);
	octal(mode_of(path));
	show(path, ACCESS);
	show(path, DEFAULT);
	char names[200];
	long n = sys(__NR_listxattr, path, names, sizeof(names));
	say(" names %r", n);
	for (long i = 0; i < n; i++)
		if (!i || !names[i - 1])
			say(" %s", names + i);
	say("\n");
}

static const char *const attempts[] = {
	"u7 g5 o4", "u6 U5:1000 g4 m7 o0", "u6 g4 m2 o1", "u6 U5:1000 g4 o0", "u6 g4 U5:1000 m7 o0", "U5:1000 u6 g4 m7 o0",
	"u6 U5:1000 U7:1000 g4 m7 o0", "u6 g4 G3:7 G1:6 m7 o0", "u6 g4 m7 m7 o0", "u6 g4 m7", "u6 u6 g4 o1", "g4 o1", "u6 o1",
	"u8 g4 o1", "u6 g4 o1 o1", "u6 g4 G3:7 m0 o7", "u0 g0 o0", "u6 U5 g4 m7 o0", "",
};

/* what one who is uid:gid with these groups may do */
static void may(const char *path, int uid, int gid, int group)
{
	if (!fork()) {
#ifdef __NR_setgroups32
		__u32 groups[1] = { group };
		sys(__NR_setgroups32, group ? 1 : 0, groups);
		sys(__NR_setresgid32, gid, gid, gid);
		sys(__NR_setresuid32, uid, uid, uid);
#else
		__u32 groups[1] = { group };
		sys(__NR_setgroups, group ? 1 : 0, groups);
		sys(__NR_setresgid, gid, gid, gid);
		sys(__NR_setresuid, uid, uid, uid);
#endif
		say(" %d.%d.%d:", uid, gid, group);
		say("%s", sys(__NR_faccessat, AT_FDCWD, path, 4) ? "-" : "r");
		say("%s", sys(__NR_faccessat, AT_FDCWD, path, 2) ? "-" : "w");
		say("%s", sys(__NR_faccessat, AT_FDCWD, path, 1) ? "-" : "x");
		long fd = sys(__NR_openat, AT_FDCWD, path, O_RDWR);
		say(" %r", fd < 0 ? fd : 0);
		leave(0);
	}
	wait_for(-1);
}

static void rights(const char *text)
{
	sys(__NR_unlinkat, AT_FDCWD, "f", 0);
	spit("f", "text");
#ifdef __NR_chown32
	sys(__NR_chown32, "f", 100, 200);
#else
	sys(__NR_chown, "f", 100, 200);
#endif
	say("%s: %r", text, set("f", ACCESS, text));
	octal(mode_of("f"));
	may("f", 100, 1, 0), may("f", 101, 1, 0), may("f", 1, 200, 0), may("f", 1, 1, 200), may("f", 1, 201, 0), may("f", 1, 201, 200);
	may("f", 101, 201, 200), may("f", 1, 1, 0), may("f", 0, 0, 0);
	say("\n");
}

static void kinds(void)
{
	parse("u6 U5:1000 g4 m7 o0");
	sys(__NR_symlinkat, "f", AT_FDCWD, "link");
	sys(__NR_mknodat, AT_FDCWD, "fifo", 010644, 0);
	sys(__NR_mknodat, AT_FDCWD, "null", 020644, 0x103);
	say("link %r", sys(__NR_lsetxattr, "link", ACCESS, &acl, 44, 0));
	say(" %r", sys(__NR_lgetxattr, "link", ACCESS, &acl, 100));
	say(" %r", sys(__NR_lremovexattr, "link", ACCESS));
	say(" fifo %r %r", set("fifo", ACCESS, "u6 U5:1000 g4 m7 o0"), set("fifo", DEFAULT, "u6 U5:1000 g4 m7 o0"));
	say(" device %r", set("null", ACCESS, "u6 U5:1000 g4 m7 o0"));
	say(" proc %r", set("/proc/self/status", ACCESS, "u6 U5:1000 g4 m7 o0"));
	say(" %r", sys(__NR_getxattr, "/proc/self/status", ACCESS, &acl, 100));
	say(" sys %r", sys(__NR_getxattr, "/sys/kernel", ACCESS, &acl, 100));
	say(" dev %r\n", sys(__NR_getxattr, "/dev/null", ACCESS, &acl, 100));
	both("fifo"), both("null");
	say("other names %r", sys(__NR_setxattr, "f", "system.", &acl, 4, 0));
	say(" %r", sys(__NR_setxattr, "f", "system.posix_acl", &acl, 4, 0));
	say(" %r\n", sys(__NR_setxattr, "f", "system.posix_acl_access2", &acl, 4, 0));
}

static void bytes(void)
{
	parse("u6 U5:1000 g4 m7 o0");
	for (int n = 0; n <= 44; n += n < 4 ? 1 : 4)
		say("%d: %r ", n, sys(__NR_setxattr, "f", ACCESS, &acl, n, 0));
	acl.version = le32(1);
	say("version %r", sys(__NR_setxattr, "f", ACCESS, &acl, 44, 0));
	acl.version = le32(2), acl.e[2].tag = le16(0x40);
	say(" tag %r", sys(__NR_setxattr, "f", ACCESS, &acl, 44, 0));
	acl.e[2].tag = le16(4), acl.e[2].perm = le16(0x14);
	say(" perm %r", sys(__NR_setxattr, "f", ACCESS, &acl, 44, 0));
	acl.e[2].perm = le16(4), acl.e[2].id = le32(5);
	say(" id %r", sys(__NR_setxattr, "f", ACCESS, &acl, 44, 0));
	say(" create %r", sys(__NR_setxattr, "f", ACCESS, &acl, 44, 1));
	say(" replace %r", sys(__NR_setxattr, "f", ACCESS, &acl, 44, 2));
	say(" size %r", sys(__NR_getxattr, "f", ACCESS, 0, 0));
	say(" short %r", sys(__NR_getxattr, "f", ACCESS, &acl, 43));
	say(" fault %r\n", sys(__NR_setxattr, "f", ACCESS, 16, 44, 0));
	both("f");
	say("remove %r", sys(__NR_removexattr, "f", ACCESS));
	say(" again %r", sys(__NR_removexattr, "f", ACCESS));
	say(" default %r", sys(__NR_removexattr, "f", DEFAULT));
	say(" of a file %r", set("f", DEFAULT, "u7 g7 o7"));
	acl.version = le32(2);
	say(" nothing %r", sys(__NR_setxattr, "f", DEFAULT, &acl, 4, 0));
	say(" create %r\n", sys(__NR_setxattr, "f", ACCESS, &acl, 4, 2));
}

static void inheritance(const char *text, int umask, int mode)
{
	sys(__NR_mkdirat, AT_FDCWD, "d", 0777);
	say("%s umask %d mode %d set %r:\n", text, umask, mode, set("d", DEFAULT, text));
	sys(__NR_umask, umask);
	sys(__NR_close, sys(__NR_openat, AT_FDCWD, "d/file", O_CREAT | O_WRONLY, mode));
	sys(__NR_mkdirat, AT_FDCWD, "d/dir", mode);
	sys(__NR_mknodat, AT_FDCWD, "d/fifo", 010000 | mode, 0);
	sys(__NR_symlinkat, "file", AT_FDCWD, "d/link");
	sys(__NR_close, sys(__NR_openat, AT_FDCWD, "d/dir/deep", O_CREAT | O_WRONLY, mode));
	both("d/file"), both("d/dir"), both("d/fifo"), both("d/dir/deep");
	long fd = sys(__NR_openat, AT_FDCWD, "d", 020000000 | O_DIRECTORY | O_RDWR, mode);
#ifdef __s390x__
	fd = fd;
#endif
	char name[] = "/proc/self/fd/0";
	name[14] = '0' + fd;
	if (fd > 0) {
		say("unnamed");
		octal(mode_of(name));
		show(name, ACCESS);
		say("\n");
		sys(__NR_close, fd);
	}
	sys(__NR_umask, 022);
	sys(__NR_unlinkat, AT_FDCWD, "d/dir/deep", 0), sys(__NR_unlinkat, AT_FDCWD, "d/file", 0), sys(__NR_unlinkat, AT_FDCWD, "d/fifo", 0);
	sys(__NR_unlinkat, AT_FDCWD, "d/link", 0), sys(__NR_unlinkat, AT_FDCWD, "d/dir", 0x200);
	say("gone %r\n", sys(__NR_unlinkat, AT_FDCWD, "d", 0x200));
}

int main(int argc, char **argv)
{
	sys(__NR_mkdirat, AT_FDCWD, "/tmp/acls", 0755);
	sys(__NR_chdir, "/tmp/acls");
	sys(__NR_umask, 022);
	sys(__NR_fchmodat, AT_FDCWD, "/tmp/acls", 0755);
	spit("f", "text");
	both("f"), both(".");
	for (unsigned i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		sys(__NR_removexattr, "f", ACCESS);
		sys(__NR_fchmodat, AT_FDCWD, "f", 0644);
		say("\"%s\": %r ", attempts[i], set("f", ACCESS, attempts[i]));
		both("f");
	}
	kinds();
	bytes();
	say("-- rights\n");
	rights("u6 U5:101 g4 m7 o0"), rights("u0 U7:101 g4 m6 o7"), rights("u6 g4 G3:201 m7 o2"), rights("u6 g2 G4:201 m6 o7");
	rights("u6 U7:101 g7 m0 o4"), rights("u7 U1:101 g5 G7:201 m7 o0"), rights("u4 g6 o0"), rights("u4 U0:101 g7 m7 o7");
	say("-- modes\n");
	set("f", ACCESS, "u7 U5:101 g5 m7 o1");
	for (int mode = 0; mode < 01000; mode += 0123) {
		say("chmod %d %r ", mode, sys(__NR_fchmodat, AT_FDCWD, "f", mode));
		both("f");
	}
	set("f", ACCESS, "u7 g5 m3 o1");
	say("sgid %r", sys(__NR_fchmodat, AT_FDCWD, "f", 02755));
	say(" %r ", set("f", ACCESS, "u7 U5:101 g5 m7 o1"));
	both("f");
	say("-- inheritance\n");
	inheritance("u7 g5 o0", 022, 0666), inheritance("u7 U5:1000 g5 m7 o1", 077, 0666), inheritance("u7 U5:1000 g5 m5 o1", 0, 0777);
	inheritance("u5 g5 m7 o4", 022, 0711), inheritance("u7 U7:3 g0 G6:4 m6 o0", 022, 0600), inheritance("u0 g0 o0", 0, 0777);
	say("-- both lists\n");
	sys(__NR_mkdirat, AT_FDCWD, "d", 0777);
	say("%r %r %r ", set("d", DEFAULT, "u7 U5:1000 g5 m7 o1"), set("d", ACCESS, "u7 U5:1001 g5 m7 o1"), sys(__NR_setxattr, "d", "trusted.x", "y", 1, 0));
	both("d");
	say("bad %r ", set("d", DEFAULT, "u7 g5"));
	say("gone %r ", sys(__NR_removexattr, "d", DEFAULT));
	both("d");
	say("-- others\n");
	if (!fork()) {
#ifdef __NR_setresuid32
		sys(__NR_setresuid32, 500, 500, 500);
#else
		sys(__NR_setresuid, 500, 500, 500);
#endif
		say("set %r", set("f", ACCESS, "u7 U5:101 g5 m7 o1"));
		say(" bad %r", set("f", ACCESS, "u7 U5:101 g5 o1"));
		say(" bytes %r", sys(__NR_setxattr, "f", ACCESS, &acl, 5, 0));
		say(" default of a file %r", set("f", DEFAULT, "u7 U5:101 g5 m7 o1"));
		say(" remove %r", sys(__NR_removexattr, "f", ACCESS));
		say(" get %r\n", sys(__NR_getxattr, "f", ACCESS, &acl, 44));
		sys(__NR_unshare, 0x10000000);
		say("setgroups %r", spit("/proc/self/setgroups", "deny"));
		say(" map %r ", spit("/proc/self/uid_map", "7 500 1"));
		both("f");
		leave(0);
	}
	wait_for(-1);
	return 0;
}
