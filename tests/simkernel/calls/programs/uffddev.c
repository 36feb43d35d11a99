/* /dev/userfaultfd: the device that makes userfaultfds for whoever may open it. not: s390x i386 */
#include "tiny.h"
#include <linux/mman.h>
#include <linux/ioctl.h>
#include <linux/userfaultfd.h>
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif
#include <asm/stat.h>
#include <asm/ioctls.h>

static void what(const char *name, long fd)
{
	char path[32] = "/proc/self/fd/", to[64];
	long n = strlen(path);
	if (fd >= 10)
		path[n++] = '0' + fd / 10;
	path[n++] = '0' + fd % 10, path[n] = 0;
	n = sys(__NR_readlinkat, AT_FDCWD, path, to, 63);
	to[n < 0 ? 0 : n] = 0;
	say("%s: %s flags %r fd %r\n", name, to, sys(__NR_fcntl, fd, F_GETFL), sys(__NR_fcntl, fd, F_GETFD));
}

static void as_user(void)
{
	struct uffdio_api api = { 0xAA, 0, 0 };
	sys(__NR_setresuid, 1000, 1000, 1000);
	say("user: call %r of user mode only %s\n", sys(__NR_userfaultfd, 0), sys(__NR_userfaultfd, UFFD_USER_MODE_ONLY) >= 0 ? "yes" : "no");
	say("user: open %r\n", sys(__NR_openat, AT_FDCWD, "/dev/userfaultfd", O_RDWR, 0));
	long fd = sys(__NR_ioctl, 3, USERFAULTFD_IOC_NEW, 0);
	say("user: by an open device %s api %r\n", fd > 0 ? "yes" : error_name(-fd), sys(__NR_ioctl, fd, UFFDIO_API, &api));
	leave(0);
}

int main(int argc, char **argv)
{
	struct stat st;
	struct uffdio_api api = { 0xAA, 0, 0 };
	static char text[512];
	long fd = sys(__NR_openat, AT_FDCWD, "/dev/userfaultfd", O_RDWR | O_CLOEXEC, 0), made;
	say("open %r\n", fd);
	sys(__NR_fstat, fd, &st);
	say("mode %x major %d minor %d\n", (long)st.st_mode, (int)(st.st_rdev >> 8 & 0xfff), (int)(st.st_rdev & 0xff));
	what("device", fd);
	say("read %r write %r seek %r poll %x map %r\n", sys(__NR_read, fd, text, 32), sys(__NR_write, fd, text, 32), sys(__NR_lseek, fd, 5, 1), (long)polled(fd, POLLIN | POLLOUT),
	    (long)map(0, 4096, 1, MAP_PRIVATE, fd, 0));
	say("pread %r truncate %r readonly %r\n", sys(__NR_pread64, fd, text, 4, 0), sys(__NR_ftruncate, fd, 0), sys(__NR_openat, AT_FDCWD, "/dev/userfaultfd", O_RDONLY, 0));
	say("api on the device %r\n", sys(__NR_ioctl, fd, UFFDIO_API, &api));
	say("FIONREAD %r TCGETS %r FIONBIO %r\n", sys(__NR_ioctl, fd, FIONREAD, text), sys(__NR_ioctl, fd, TCGETS, text), sys(__NR_ioctl, fd, FIONBIO, text));
	static const long flags[] = { 0, O_CLOEXEC, O_NONBLOCK, O_CLOEXEC | O_NONBLOCK, 1, 2, 3, O_CLOEXEC | 1, 4, O_APPEND, 0x100000000, -1 };
	for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		made = sys(__NR_ioctl, fd, USERFAULTFD_IOC_NEW, flags[i]);
		say("new %x: %s\n", flags[i], made < 0 ? error_name(-made) : "made");
		if (made >= 0) {
			what(" it", made);
			api.api = 0xAA, api.features = 0;
			say(" api %r again %r ioctls %x\n", sys(__NR_ioctl, made, UFFDIO_API, &api), sys(__NR_ioctl, made, UFFDIO_API, &api), (long)api.ioctls);
			sys(__NR_close, made);
		}
	}
	for (int n = 1; n < 4; n++)
		say("command %d: %r\n", n, sys(__NR_ioctl, fd, _IO(0xAA, n), 0));
	say("by number with 64 bits: %r\n", sys(__NR_ioctl, fd, _IOWR(0xAA, 0, long), 0));
	slurp("/proc/misc", text, 512);
	for (char *line = text; *line;) {
		char *end = line;
		while (*end && *end != '\n')
			end++;
		*end = 0;
		if (end - line > 11 && streq(end - 11, "userfaultfd"))
			say("%s\n", line);
		line = end + 1;
	}
	say("uevent %r\n%s", slurp("/sys/devices/virtual/misc/userfaultfd/uevent", text, 512), text);
	say("dev %r %s", slurp("/sys/class/misc/userfaultfd/dev", text, 512), text);
	long pid = fork();
	if (!pid)
		as_user();
	say("child %x\n", (long)wait_for(pid));
	spit("/proc/sys/vm/unprivileged_userfaultfd", "1");
	pid = fork();
	if (!pid) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		made = sys(__NR_userfaultfd, 0);
		say("allowed: %s\n", made < 0 ? error_name(-made) : "made");
		leave(0);
	}
	wait_for(pid);
	spit("/proc/sys/vm/unprivileged_userfaultfd", "0");
	return 0;
}
