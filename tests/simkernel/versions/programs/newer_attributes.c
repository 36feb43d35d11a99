/* Attributes of files and of tasks by calls of their own (6.8, 6.17), and uprobe (6.18). newer_attributes.VERSION is what real kernels said. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *name_of(int e)
{
	static char text[16];
	const char *name = strerrorname_np(e);
	if (!name) sprintf(text, "%d", e);
	return name ? name : text;
}
static long call(const char *what, long n, long a, long b, long c, long d, long e)
{
	errno = 0;
	long r = syscall(n, a, b, c, d, e);
	if (r < 0) printf("%s: %s\n", what, name_of(errno));
	else printf("%s: %ld\n", what, r);
	return r;
}
#define CALL(what, n, ...) CALL6(what, n, __VA_ARGS__, 0, 0, 0, 0, 0)
#define CALL6(what, n, a, b, c, d, e, ...) call(what, n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#define GET 468
#define SET 469

struct attr { uint64_t xflags; uint32_t extsize, nextents, projid, cowextsize; uint64_t more[2]; };

static void show(struct attr *a) { printf("  %lx %u %u %u %u %lx\n", a->xflags, a->extsize, a->nextents, a->projid, a->cowextsize, a->more[0]); }
static void get(const char *what, int dfd, const char *path, long size, int flags)
{
	struct attr a;
	memset(&a, 0x55, sizeof a);
	if (CALL(what, GET, dfd, path, &a, size, flags) == 0) show(&a);
}
static void set(const char *what, int dfd, const char *path, struct attr a, long size, int flags)
{
	CALL(what, SET, dfd, path, &a, size, flags);
	long now = 0;
	int fd = openat(dfd, *path ? path : ".", O_RDONLY | O_NONBLOCK);
	if (fd >= 0 && !ioctl(fd, 0x80086601, &now)) printf("  flags %lx\n", now);
	close(fd);
}
static void files(void)
{
	struct attr none = {0}, no_dump = {0x80}, no_time = {0x40}, sync = {0x20}, hash = {0x1000}, wide = {1UL << 40}, size = {0, 4096}, project = {0, 0, 0, 7}, cow = {0, 0, 0, 0, 9}, hint = {0x800, 4096}, fixed = {8};
	struct attr longer = {0x80, .more = {1}}, extents = {0, 0, 5};
	close(open("/tmp/f", O_CREAT | O_RDWR, 0600));
	(void)!symlink("/tmp/f", "/tmp/l");
	(void)!mkdir("/tmp/d", 0700);
	(void)!mkfifo("/tmp/p", 0600);
	int fd = open("/tmp/f", O_RDONLY), o = open("/tmp/f", O_PATH), dir = open("/tmp", O_RDONLY | O_DIRECTORY), pipes[2];
	get("get", AT_FDCWD, "/tmp/f", 24, 0);
	get("get longer", AT_FDCWD, "/tmp/f", 40, 0);
	get("get short", AT_FDCWD, "/tmp/f", 23, 0);
	get("get page", AT_FDCWD, "/tmp/f", 4097, 0);
	get("get nothing", AT_FDCWD, "/tmp/f", 0, 0);
	get("get below", dir, "f", 24, 0);
	get("get link", AT_FDCWD, "/tmp/l", 24, 0);
	get("get nofollow", AT_FDCWD, "/tmp/l", 24, AT_SYMLINK_NOFOLLOW);
	get("get directory", AT_FDCWD, "/tmp/d", 24, 0);
	get("get fifo", AT_FDCWD, "/tmp/p", 24, 0);
	get("get flags", AT_FDCWD, "/tmp/f", 24, 0x8000);
	get("get flag automount", AT_FDCWD, "/tmp/f", 24, AT_NO_AUTOMOUNT);
	get("get empty", fd, "", 24, AT_EMPTY_PATH);
	get("get empty O_PATH", o, "", 24, AT_EMPTY_PATH);
	get("get empty cwd", AT_FDCWD, "", 24, AT_EMPTY_PATH);
	get("get empty without", fd, "", 24, 0);
	get("get null", fd, 0, 24, AT_EMPTY_PATH);
	get("get null without", fd, 0, 24, 0);
	get("get bad fd", -1, "f", 24, 0);
	get("get bad fd empty", -1, "", 24, AT_EMPTY_PATH);
	get("get none", AT_FDCWD, "/tmp/none", 24, 0);
	get("get fault", AT_FDCWD, (char *)8, 24, 0);
	get("get proc", AT_FDCWD, "/proc/version", 24, 0);
	get("get dev", AT_FDCWD, "/dev/null", 24, 0);
	get("get sys", AT_FDCWD, "/sys/kernel", 24, 0);
	CALL("get nowhere", GET, AT_FDCWD, "/tmp/f", 8, 24, 0);
	CALL("get nowhere short", GET, AT_FDCWD, "/tmp/none", 8, 3, 0);
	if (pipe(pipes)) return;
	get("get pipe", pipes[0], "", 24, AT_EMPTY_PATH);
	set("set none", AT_FDCWD, "/tmp/f", none, 24, 0);
	set("set no dump", AT_FDCWD, "/tmp/f", no_dump, 24, 0);
	get("get no dump", AT_FDCWD, "/tmp/f", 24, 0);
	set("set no time", AT_FDCWD, "/tmp/f", no_time, 24, 0);
	get("get no time", AT_FDCWD, "/tmp/f", 24, 0);
	set("set fixed", AT_FDCWD, "/tmp/f", fixed, 24, 0);
	get("get fixed", AT_FDCWD, "/tmp/f", 24, 0);
	printf("open %d\n", open("/tmp/f", O_RDWR) < 0 ? -errno : 1);
	set("set none", AT_FDCWD, "/tmp/f", none, 24, 0);
	set("set sync", AT_FDCWD, "/tmp/f", sync, 24, 0);
	set("set directory bit", AT_FDCWD, "/tmp/d", hash, 24, 0);
	set("set wide", AT_FDCWD, "/tmp/f", wide, 24, 0);
	set("set size", AT_FDCWD, "/tmp/f", size, 24, 0);
	set("set hint", AT_FDCWD, "/tmp/f", hint, 24, 0);
	set("set project", AT_FDCWD, "/tmp/f", project, 24, 0);
	set("set cow", AT_FDCWD, "/tmp/f", cow, 24, 0);
	set("set extents", AT_FDCWD, "/tmp/f", extents, 24, 0);
	set("set longer", AT_FDCWD, "/tmp/f", no_dump, 40, 0);
	set("set longer with", AT_FDCWD, "/tmp/f", longer, 40, 0);
	set("set short", AT_FDCWD, "/tmp/f", none, 8, 0);
	set("set page", AT_FDCWD, "/tmp/f", none, 8192, 0);
	set("set flags", AT_FDCWD, "/tmp/f", none, 24, 0x10);
	set("set empty O_PATH", o, "", no_dump, 24, AT_EMPTY_PATH);
	set("set empty fd", fd, "", no_dump, 24, AT_EMPTY_PATH);
	set("set null", fd, 0 ?: "", none, 24, AT_EMPTY_PATH);
	set("set nofollow", AT_FDCWD, "/tmp/l", none, 24, AT_SYMLINK_NOFOLLOW);
	set("set fifo", AT_FDCWD, "/tmp/p", none, 24, 0);
	set("set proc", AT_FDCWD, "/proc/version", none, 24, 0);
	set("set pipe", pipes[0], "", none, 24, AT_EMPTY_PATH);
	CALL("set nowhere", SET, AT_FDCWD, "/tmp/f", 8, 24, 0);
	CALL("set nowhere none", SET, AT_FDCWD, "/tmp/none", 8, 24, 0);
	(void)!mkdir("/tmp/m", 0700);
	if (!mount("none", "/tmp/m", "tmpfs", 0, 0) && !mount(0, "/tmp/m", 0, MS_REMOUNT | MS_BIND | MS_RDONLY, 0)) {
		get("get read-only", AT_FDCWD, "/tmp/m", 24, 0);
		set("set read-only", AT_FDCWD, "/tmp/m", no_dump, 24, 0);
		umount("/tmp/m");
	}
	chmod("/tmp", 0777);
	if (!fork()) {
		close(2);
		if (setresuid(1000, 1000, 1000)) _exit(1);
		get("other get", fd, "", 24, AT_EMPTY_PATH);
		get("other get path", AT_FDCWD, "/tmp/f", 24, 0);
		CALL("other set", SET, AT_FDCWD, "/tmp/f", &no_dump, 24, 0);
		close(open("/tmp/own", O_CREAT | O_RDWR, 0600));
		CALL("own set", SET, AT_FDCWD, "/tmp/own", &no_dump, 24, 0);
		CALL("own set fixed", SET, AT_FDCWD, "/tmp/own", &fixed, 24, 0);
		CALL("own set project", SET, AT_FDCWD, "/tmp/own", &project, 24, 0);
		fflush(stdout);
		_exit(0);
	}
	wait(0);
	unlink("/tmp/f"), unlink("/tmp/l"), unlink("/tmp/p"), unlink("/tmp/own"), rmdir("/tmp/d"), rmdir("/tmp/m");
}

struct ctx { uint64_t id, flags, len, ctx_len; char text[256]; };
static void self(const char *what, int attr, uint32_t size, uint32_t flags, uint64_t id)
{
	struct ctx c[2] = {{ .id = id }};
	if (CALL(what, 459, attr, c, &size, flags) > 0)
		printf("  %lu %lu %lu %lu '%s'\n", c->id, c->flags, c->len, c->ctx_len, c->text);
	printf("  size %u\n", size);
}
static void put(const char *what, int attr, uint64_t id, uint64_t flags, long len, long ctx_len, const char *text, uint32_t size, uint32_t how)
{
	struct ctx c = {id, flags, len, ctx_len};
	strcpy(c.text, text);
	CALL(what, 460, attr, &c, size, how);
}
static void modules(void)
{
	uint32_t size = 1000;
	struct ctx c = {0};
	self("current", 100, 600, 0, 0);
	self("current exact", 100, 48, 0, 0);
	self("current small", 100, 40, 0, 0);
	self("current none", 100, 0, 0, 0);
	self("prev", 104, 600, 0, 0);
	self("exec", 101, 600, 0, 0);
	self("fscreate", 102, 600, 0, 0);
	self("sockcreate", 105, 600, 0, 0);
	self("undefined", 0, 600, 0, 0);
	self("unknown", 77, 600, 0, 0);
	self("single", 100, 600, 1, 104);
	self("single none", 100, 600, 1, 0);
	self("single capability", 100, 600, 1, 100);
	self("single selinux", 100, 600, 1, 101);
	self("single small", 100, 16, 1, 104);
	self("single tiny", 100, 33, 1, 104);
	self("flags", 100, 600, 2, 104);
	self("flags both", 100, 600, 3, 104);
	CALL("no context", 459, 100, 0, &size, 0);
	printf("  size %u\n", size);
	CALL("no context, single", 459, 100, 0, &size, 1);
	CALL("no context, exec", 459, 101, 0, &size, 0);
	CALL("no size", 459, 100, &c, 0, 0);
	CALL("bad size", 459, 100, &c, 8, 0);
	CALL("bad context", 459, 100, 8, &size, 0);
	put("set current", 100, 104, 0, 32 + 26, 26, "changeprofile unconfined", 58, 0);
	put("set current flags", 100, 104, 0, 58, 26, "changeprofile unconfined", 58, 1);
	put("set context flags", 100, 104, 1, 58, 26, "changeprofile unconfined", 58, 0);
	put("set short", 100, 104, 0, 58, 26, "changeprofile unconfined", 57, 0);
	put("set tiny", 100, 104, 0, 32, 0, "", 31, 0);
	put("set page", 100, 104, 0, 58, 26, "changeprofile unconfined", 4097, 0);
	put("set empty", 100, 104, 0, 32, 0, "", 32, 0);
	put("set lengths", 100, 104, 0, 40, 26, "changeprofile unconfined", 58, 0);
	put("set lengths less", 100, 104, 0, 58, 30, "changeprofile unconfined", 58, 0);
	put("set garbage", 100, 104, 0, 40, 8, "garbage", 40, 0);
	put("set unknown profile", 100, 104, 0, 53, 21, "changeprofile nosuch", 53, 0);
	put("set exec", 101, 104, 0, 48, 16, "exec unconfined", 48, 0);
	self("exec now", 101, 600, 0, 0);
	put("set prev", 104, 104, 0, 48, 16, "exec unconfined", 48, 0);
	put("set fscreate", 102, 104, 0, 48, 16, "exec unconfined", 48, 0);
	put("set undefined", 0, 104, 0, 48, 16, "exec unconfined", 48, 0);
	put("set selinux", 100, 101, 0, 48, 16, "exec unconfined", 48, 0);
	put("set capability", 100, 100, 0, 48, 16, "exec unconfined", 48, 0);
	put("set no module", 100, 0, 0, 48, 16, "exec unconfined", 48, 0);
	put("set overflow", 100, 104, 0, -1, -32, "exec unconfined", 48, 0);
	CALL("set nowhere", 460, 100, 8, 48, 0);
	CALL("set null", 460, 100, 0, 48, 0);
}
int main(void)
{
	setvbuf(stdout, 0, _IOLBF, 0);
	files();
	modules();
	CALL("uprobe", 336, 0);
	return 0;
}
