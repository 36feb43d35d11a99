/* statmount(2), listmount(2): what is told of mounts, to whom, into how much room.  newer_mounts.VERSION is what real kernels said. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *name_of(int e)
{
	static const struct { int number; const char *name; } names[] = {
		{EPERM, "EPERM"}, {ENOENT, "ENOENT"}, {E2BIG, "E2BIG"}, {EBADF, "EBADF"}, {EAGAIN, "EAGAIN"}, {ENOMEM, "ENOMEM"},
		{EFAULT, "EFAULT"}, {EEXIST, "EEXIST"}, {ENOTDIR, "ENOTDIR"}, {EINVAL, "EINVAL"}, {ENOSYS, "ENOSYS"}, {ENODATA, "ENODATA"},
		{ERANGE, "ERANGE"}, {EOPNOTSUPP, "EOPNOTSUPP"}, {EOVERFLOW, "EOVERFLOW"}, {ENOTTY, "ENOTTY"}, {EACCES, "EACCES"}, {ENXIO, "ENXIO"},
		{ESPIPE, "ESPIPE"}, {ENAMETOOLONG, "ENAMETOOLONG"}, {ESRCH, "ESRCH"}, {EMFILE, "EMFILE"}, {ENODEV, "ENODEV"},
	};
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].number == e) return names[i].name;
	return "?";
}
static const char *said(long r)
{
	static char text[40];
	if (r < 0) return name_of(errno);
	sprintf(text, "%ld", r);
	return text;
}
struct req { uint32_t size; uint32_t fd; uint64_t mnt_id, param, ns_id; char more[40]; };
struct sm {
	uint32_t size, mnt_opts; uint64_t mask; uint32_t major, minor; uint64_t magic; uint32_t sb_flags, fs_type; uint64_t id, parent;
	uint32_t old_id, old_parent; uint64_t attr, propagation, peer_group, master, from; uint32_t root, point; uint64_t ns; uint32_t subtype, source, opt_num, opt_array, opt_sec_num, opt_sec_array;
	uint64_t supported; uint32_t uid_num, uid, gid_num, gid; uint64_t spare[43]; char str[];
};
static struct req req;
static union { struct sm sm; char bytes[8192]; } out;
static long statmount(uint64_t id, uint64_t mask, size_t size, unsigned flags)
{
	memset(&out, 0xee, sizeof(out));
	req.mnt_id = id, req.param = mask;
	errno = 0;
	return syscall(457, &req, &out, size, flags);
}
static uint64_t ids[64], seen[64];
static int number;
/* ids of mounts are numbers of the boot: by their order here */
static int rank(uint64_t id)
{
	for (int i = 0; i < number; i++)
		if (seen[i] == id) return i;
	seen[number] = id;
	return number++;
}
static uint64_t unique(const char *path)
{
	static char buf[512];
	long r = syscall(332, AT_FDCWD, path, 0, 0x4000, buf);
	uint32_t mask; uint64_t id;
	memcpy(&mask, buf, 4), memcpy(&id, buf + 144, 8);
	return r < 0 || !(mask & 0x4000) ? 0 : id;
}
static const char *str(uint32_t at) { return at < 7000 ? out.sm.str + at : "beyond"; }
static void show(const char *what, uint64_t id, uint64_t mask)
{
	long r = statmount(id, mask, sizeof(out), 0);
	printf("%s mask %lx: %s\n", what, (long)mask, said(r));
	if (r < 0) return;
	uint64_t m = out.sm.mask;
	printf("  size %u mask %lx\n", out.sm.size, (long)m);
	if (m & 1) printf("  dev %u:%d magic %lx sb flags %x\n", out.sm.major, out.sm.minor != 0, (long)out.sm.magic, out.sm.sb_flags);
	if (m & 2) printf("  id %d parent %d old %d %d attr %lx propagation %lx group %d master %lu\n", rank(out.sm.id), rank(out.sm.parent), out.sm.old_id != 0, out.sm.old_parent != 0,
			(long)out.sm.attr, (long)out.sm.propagation, out.sm.peer_group != 0, (long)out.sm.master);
	if (m & 4) printf("  from %lu\n", (long)out.sm.from);
	if (m & 8) printf("  root %s\n", str(out.sm.root));
	if (m & 16) printf("  point %s\n", str(out.sm.point));
	if (m & 32) printf("  type %s\n", str(out.sm.fs_type));
	if (m & 64) printf("  ns %d\n", out.sm.ns != 0);
	if (m & 128) printf("  options %s\n", str(out.sm.mnt_opts));
	if (m & 256) printf("  subtype %s\n", str(out.sm.subtype));
	if (m & 512) printf("  source %s\n", str(out.sm.source));
	if (m & 1024) printf("  options in an array: %u %s\n", out.sm.opt_num, str(out.sm.opt_array));
	if (m & 2048) printf("  of security: %u %s\n", out.sm.opt_sec_num, str(out.sm.opt_sec_array));
	if (m & 4096) printf("  supported %lx\n", (long)out.sm.supported);
	if (m & 8192) printf("  uids %u\n", out.sm.uid_num);
	if (m & 16384) printf("  gids %u\n", out.sm.gid_num);
}
static long listmount(uint64_t id, uint64_t last, size_t n, unsigned flags)
{
	memset(ids, 0, sizeof(ids));
	req.mnt_id = id, req.param = last;
	errno = 0;
	return syscall(458, &req, ids, n, flags);
}
static void list(const char *what, uint64_t id, uint64_t last, size_t n, unsigned flags)
{
	long r = listmount(id, last, n, flags);
	printf("%s: %s", what, said(r));
	for (int i = 0; i < r && i < 64; i++) printf(" %d", rank(ids[i]));
	printf("\n");
}
static void fresh(unsigned size) { memset(&req, 0, sizeof(req)), req.size = size; }

static void mounts(void)
{
	unshare(CLONE_NEWNS);
	printf("private %s\n", said(mount(0, "/", 0, MS_REC | MS_PRIVATE, 0)));
	mkdir("/tmp/sm", 0755);
	printf("tmpfs %s\n", said(mount("some source", "/tmp/sm", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,mode=700")));
	mkdir("/tmp/sm/a", 0755), mkdir("/tmp/sm/b c", 0755), mkdir("/tmp/sm/d", 0755);
	printf("bind %s\n", said(mount("/tmp/sm/a", "/tmp/sm/b c", 0, MS_BIND, 0)));
	printf("read-only bind %s\n", said(mount(0, "/tmp/sm/b c", 0, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NODEV | MS_NOATIME, 0)));
	printf("another %s\n", said(mount("other", "/tmp/sm/d", "tmpfs", MS_RDONLY | MS_STRICTATIME | MS_SYNCHRONOUS, 0)));
	printf("shared %s\n", said(mount(0, "/tmp/sm", 0, MS_SHARED, 0)));
	printf("slave %s\n", said(mount(0, "/tmp/sm/d", 0, MS_SHARED, 0)));
	printf("slave %s\n", said(mount(0, "/tmp/sm/d", 0, MS_SLAVE, 0)));
	printf("unbindable %s\n", said(mount(0, "/tmp/sm/b c", 0, MS_UNBINDABLE, 0)));
	uint64_t top = unique("/tmp/sm"), bind = unique("/tmp/sm/b c"), other = unique("/tmp/sm/d"), root = unique("/");
	printf("ids %d, in order %d %d, high %d\n", top != 0, bind > top, other > bind, top >> 31 != 0);
	rank(root), rank(top), rank(bind), rank(other);
	fresh(24);
	static const uint64_t masks[] = { 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 0x7f, 0xffff, ~0ULL };
	for (unsigned i = 0; i < sizeof(masks) / sizeof(*masks); i++) show("tmpfs", top, masks[i]);
	show("bind", bind, 0xfff), show("other", other, 0xfff);
	list("children", top, 0, 64, 0), list("of a leaf", other, 0, 64, 0);
	list("two at most", top, 0, 1, 0), list("after", top, ids[0], 64, 0), list("after the last", top, other, 64, 0), list("none", top, 0, 0, 0);
	list("backwards", top, 0, 64, 1), list("backwards from", top, other, 64, 1), list("flags 2", top, 0, 64, 2);
	long all = listmount(-1ULL, 0, 64, 0);
	printf("of the root: %d\n", all > 3);
	list("id 0", 0, 0, 64, 0), list("no such", 0x123456789ULL, 0, 64, 0), list("old id", 20, 0, 64, 0), list("too many", top, 0, 1ULL << 60, 0);
	list("param is no mount", top, 77, 64, 0);
	errno = 0, printf("list nowhere: %s\n", said(syscall(458, 16L, ids, 64L, 0L)));
	req.mnt_id = top, req.param = 0;
	errno = 0, printf("list to nowhere: %s\n", said(syscall(458, &req, 16L, 64L, 0L)));
	errno = 0, printf("stat nowhere: %s\n", said(syscall(457, 16L, &out, 8192L, 0L)));
	req.param = 1;
	errno = 0, printf("stat to nowhere: %s\n", said(syscall(457, &req, 16L, 8192L, 0L)));
	printf("flags: %s\n", said(statmount(top, 1, sizeof(out), 1)));
	printf("no such: %s\n", said(statmount(0x123456789ULL, 1, sizeof(out), 0)));
	printf("old id: %s\n", said(statmount(20, 1, sizeof(out), 0)));
	static const size_t sizes[] = { 0, 1, 8, 24, 100, 511, 512, 513, 514, 516, 517, 518, 519, 520, 525, 526, 527, 528, 529, 530 };
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		long r = statmount(top, 1, sizes[i], 0);
		printf("room %zu: %s", sizes[i], said(r));
		if (r >= 0) printf(" size %x mask %lx", out.sm.size, (long)out.sm.mask);
		r = statmount(top, 0x30, sizes[i], 0);
		printf(", with strings %s", said(r));
		if (r >= 0) printf(" size %u %s %s", out.sm.size, str(out.sm.point), str(out.sm.fs_type));
		printf("\n");
	}
	for (unsigned size = 0; size < 64; size += 4) {
		fresh(size);
		printf("request of %u: %s", size, said(statmount(top, 2, sizeof(out), 0)));
		printf(" %s\n", said(listmount(top, 0, 64, 0)));
	}
	fresh(5000), printf("of 5000: %s\n", said(statmount(top, 2, sizeof(out), 0)));
	fresh(24), req.fd = 7, printf("fd 7 in 24: %s %s\n", said(statmount(top, 2, sizeof(out), 0)), said(listmount(top, 0, 64, 0)));
	fresh(32), req.fd = 7, printf("fd 7 in 32: %s %s\n", said(statmount(top, 2, sizeof(out), 0)), said(listmount(top, 0, 64, 0)));
	fresh(64), req.more[30] = 1, printf("more than is known: %s %s\n", said(statmount(top, 2, sizeof(out), 0)), said(listmount(top, 0, 64, 0)));
	fresh(24), show("tmpfs", top, 64);
	uint64_t ns = out.sm.ns;
	fresh(32), req.ns_id = ns, printf("own namespace: %s", said(statmount(top, 2, sizeof(out), 0))), printf(" %s\n", said(listmount(top, 0, 64, 0)));
	fresh(32), req.ns_id = ns + 1000, printf("no namespace: %s", said(statmount(top, 2, sizeof(out), 0))), printf(" %s\n", said(listmount(top, 0, 64, 0)));
	fresh(24);
	/* who may */
	mkdir("/tmp/jail", 0755), mkdir("/tmp/jail/in", 0755), mount("jail", "/tmp/jail/in", "tmpfs", 0, 0);
	uint64_t in = unique("/tmp/jail/in");
	rank(in);
	for (int user = 0; user < 2; user++) {
		fflush(stdout);
		if (!fork()) {
			chroot("/tmp/jail"), chdir("/");
			if (user) setuid(1000);
			printf("within a root, user %d\n", user);
			show("inside", in, 0x1b), show("outside", top, 0x1b);
			list("inside", in, 0, 64, 0), list("outside", top, 0, 64, 0), list("root", -1ULL, 0, 64, 0);
			fflush(stdout), _exit(0);
		}
		wait(0);
	}
	fflush(stdout);
	if (!fork()) {
		setuid(1000);
		printf("another user\n");
		show("tmpfs", top, 0x1b), list("root's children", top, 0, 64, 0);
		fflush(stdout), _exit(0);
	}
	wait(0);
	printf("gone: %s", said(umount2("/tmp/sm/b c", 0)));
	printf(" %s", said(statmount(bind, 1, sizeof(out), 0)));
	printf(" %s\n", said(listmount(bind, 0, 64, 0)));
}

int main(void)
{
	mounts();
	return 0;
}
