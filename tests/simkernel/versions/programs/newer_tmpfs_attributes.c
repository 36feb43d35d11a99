#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <stdlib.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/xattr.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#define T(e) do { errno = 0; long r = (e); printf("%s = %ld %s\n", #e, r, r < 0 ? strerrorname_np(errno) : ""); } while (0)
static const char *at;
static void df(const char *path) { struct statfs s; if (statfs(path, &s)) { perror(path); return; } printf("files %ld free %ld\n", (long)s.f_files, (long)s.f_ffree); }
static char big[65536];
int main(void)
{
	char list[1000];
	setvbuf(stdout, 0, _IOLBF, 0);
	memset(big, 'x', sizeof big);
	mkdir("/t", 0755);
	T(mount("tmpfs", "/t", "tmpfs", 0, "nr_inodes=10"));
	df("/t");
	close(open("/t/a", O_CREAT | O_RDWR, 0644));
	mkdir("/t/d", 0755);
	symlink("a", "/t/l");
	df("/t");
	T(setxattr("/t/a", "user.one", "value", 5, 0));
	df("/t");
	T(getxattr("/t/a", "user.one", list, sizeof list));
	T(setxattr("/t/a", "user.one", "value", 5, XATTR_CREATE));
	T(setxattr("/t/a", "user.two", "value", 5, XATTR_REPLACE));
	T(setxattr("/t/d", "user.dir", "value", 5, 0));
	T(lsetxattr("/t/l", "user.link", "value", 5, 0));
	T(lsetxattr("/t/l", "trusted.link", "value", 5, 0));
	T(setxattr("/t/a", "user.", "value", 5, 0));
	T(setxattr("/t/a", "trusted.x", "value", 5, 0));
	df("/t");
	T(listxattr("/t/a", list, sizeof list));
	for (int size = 4000; size < 9000; size += 500) {
		printf("%d: ", size);
		T(setxattr("/t/a", "user.big", big, size, 0));
		df("/t");
	}
	/* exact border */
	T(removexattr("/t/a", "user.big"));
	df("/t");
	int low = 0, high = 65536;
	while (high - low > 1) {
		int mid = (low + high) / 2;
		int r = setxattr("/t/d", "user.b", big, mid, 0);
		if (r) high = mid; else { low = mid; removexattr("/t/d", "user.b"); }
	}
	printf("largest %d\n", low);
	T(setxattr("/t/d", "user.b", big, low, 0));
	df("/t");
	T(setxattr("/t/d", "user.b", big, low - 1, 0));
	T(setxattr("/t/d", "user.b", big, low - 200, 0));
	df("/t");
	T(setxattr("/t/a", "trusted.big", big, 20000, 0));
	df("/t");
	T(removexattr("/t/d", "user.b"));
	T(removexattr("/t/d", "user.b"));
	df("/t");
	T(setxattr("/t/d", "user.b", big, 4000, 0));
	df("/t");
	T(rmdir("/t/d"));
	df("/t");
	T(setxattr("/t/a", "user.b", big, 4500, 0));
	df("/t");
	char name[20];
	for (int i = 0; i < 12; i++) {
		sprintf(name, "/t/f%d", i);
		int fd = open(name, O_CREAT | O_RDWR, 0644);
		printf("%d %s\n", i, fd < 0 ? strerrorname_np(errno) : "made");
		if (fd >= 0) close(fd);
	}
	df("/t");
	T(setxattr("/t/a", "user.c", "1", 1, 0));
	T(mount("tmpfs", "/t", "tmpfs", MS_REMOUNT, "nr_inodes=8"));
	T(mount("tmpfs", "/t", "tmpfs", MS_REMOUNT, "nr_inodes=9"));
	T(mount("tmpfs", "/t", "tmpfs", MS_REMOUNT, "nr_inodes=12"));
	df("/t");
	T(setxattr("/t/a", "user.c", "1", 1, 0));
	df("/t");
	T(unlink("/t/a"));
	df("/t");
	T(umount("/t"));
	T(mount("tmpfs", "/t", "tmpfs", 0, "nr_inodes=0"));
	close(open("/t/a", O_CREAT | O_RDWR, 0644));
	df("/t");
	T(setxattr("/t/a", "user.b", big, 65536, 0));
	T(setxattr("/t/a", "user.c", big, 65536, 0));
	df("/t");
	T(umount("/t"));
	int fd = memfd_create("m", 0);
	T(fsetxattr(fd, "user.b", "abc", 3, 0));
	T(fsetxattr(fd, "trusted.b", "abc", 3, 0));
	T(flistxattr(fd, list, sizeof list));
	T(mount("ramfs", "/t", "ramfs", 0, ""));
	T(setxattr("/t", "user.b", "abc", 3, 0));
	T(umount("/t"));
	T(mount("tmpfs", "/t", "tmpfs", 0, "mode=1777"));
	if (setresuid(1000, 1000, 1000)) return 1;
	close(open("/t/mine", O_CREAT | O_RDWR, 0644));
	T(setxattr("/t/mine", "user.b", "abc", 3, 0));
	T(setxattr("/t/mine", "trusted.b", "abc", 3, 0));
	T(setxattr("/t", "user.b", "abc", 3, 0));
	T(getxattr("/dev/null", "user.b", "abc", 3));
	return 0;
}
