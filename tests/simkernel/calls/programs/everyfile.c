/* Calls on descriptors, each on a file of every kind.  not: i386, s390x */
#include "tiny.h"
#include "everyfile.h"
static char buf[4096];
static struct call { const char *what; int n; long a[6]; } calls[] = {
#define FD -77
#define BUF -78
#define C(name, ...) { #name " " #__VA_ARGS__, __NR_##name, { __VA_ARGS__ } }
	C(read, FD, 0, 0), C(read, FD, BUF, 1), C(read, FD, BUF, 8), C(read, FD, BUF, 4096), C(read, FD, 8, 8),
	C(write, FD, 0, 0), C(write, FD, BUF, 1), C(write, FD, BUF, 8), C(write, FD, 8, 8),
	C(pread64, FD, BUF, 8, 0), C(pread64, FD, BUF, 8, -1), C(pread64, FD, BUF, 0, 0), C(pread64, FD, BUF, 8, 1000),
	C(pwrite64, FD, BUF, 8, 0), C(pwrite64, FD, BUF, 8, -1), C(pwrite64, FD, BUF, 0, 0),
	C(readv, FD, 0, 0), C(readv, FD, BUF, 1), C(readv, FD, BUF, 2000), C(writev, FD, 0, 0), C(writev, FD, BUF, 1),
	C(preadv2, FD, BUF, 1, 0, 0, 1), C(preadv2, FD, BUF, 1, -1, 0, 8), C(preadv2, FD, BUF, 1, 0, 0, 32), C(pwritev2, FD, BUF, 1, 0, 0, 16), C(pwritev2, FD, BUF, 1, 0, 0, 2),
	C(lseek, FD, 0, 0), C(lseek, FD, 5, 0), C(lseek, FD, -1, 0), C(lseek, FD, 0, 1), C(lseek, FD, 0, 2), C(lseek, FD, -1, 2), C(lseek, FD, 0, 3), C(lseek, FD, 0, 4), C(lseek, FD, 100, 3), C(lseek, FD, 0, 5),
	C(ftruncate, FD, 0), C(ftruncate, FD, -1), C(fallocate, FD, 0, 0, 4096), C(fallocate, FD, 0, 0, 0), C(fallocate, FD, 1, 0, 4096), C(fallocate, FD, 3, 0, 4096), C(fallocate, FD, 16, 0, 4096), C(fallocate, FD, 8, 0, 4096), C(fallocate, FD, 32, 0, 4096), C(fallocate, FD, 0, -1, 4096),
	C(fsync, FD), C(fdatasync, FD), C(syncfs, FD), C(sync_file_range, FD, 0, 0, 0), C(sync_file_range, FD, 0, 0, 8), C(sync_file_range, FD, -1, 0, 1), C(fadvise64, FD, 0, 0, 0), C(fadvise64, FD, 0, 0, 9), C(fadvise64, FD, 0, -1, 0), C(readahead, FD, 0, 10),
	C(fchmod, FD, 0600), C(fchown, FD, -1, -1), C(fchown, FD, 5, 5), C(futimesat, FD, 0, 0), C(utimensat, FD, 0, 0, 0), C(utimensat, FD, 0, 0, 0x1000), C(fchdir, FD), C(getdents64, FD, BUF, 4096), C(getdents, FD, BUF, 4096), C(getdents64, FD, BUF, 8),
	C(fstatfs, FD, BUF), C(fgetxattr, FD, BUF + 3, BUF, 10), C(flistxattr, FD, 0, 0), C(fsetxattr, FD, BUF + 2, BUF, 1, 0), C(fremovexattr, FD, BUF + 2), C(fsetxattr, FD, BUF + 3, BUF, 1, 0),
	C(flock, FD, 1), C(flock, FD, 6), C(flock, FD, 8), C(fcntl, FD, 0, 50), C(fcntl, FD, 1), C(fcntl, FD, 2, 1), C(fcntl, FD, 3), C(fcntl, FD, 4, 04000), C(fcntl, FD, 4, 040000), C(fcntl, FD, 4, 020000), C(fcntl, FD, 5, BUF), C(fcntl, FD, 6, BUF), C(fcntl, FD, 8, 1), C(fcntl, FD, 9), C(fcntl, FD, 10, 10), C(fcntl, FD, 11),
	C(fcntl, FD, 15, BUF), C(fcntl, FD, 16, BUF), C(fcntl, FD, 36, BUF), C(fcntl, FD, 37, BUF), C(fcntl, FD, 1024, 0), C(fcntl, FD, 1024, 1), C(fcntl, FD, 1024, 2), C(fcntl, FD, 1025), C(fcntl, FD, 1026, 1), C(fcntl, FD, 1030, 50), C(fcntl, FD, 1031, 8192), C(fcntl, FD, 1032), C(fcntl, FD, 1033, 1), C(fcntl, FD, 1034), C(fcntl, FD, 1035, BUF), C(fcntl, FD, 1036, BUF), C(fcntl, FD, 1037, BUF), C(fcntl, FD, 99),
	C(mmap, 0, 4096, 1, 1, FD, 0), C(mmap, 0, 4096, 3, 1, FD, 0), C(mmap, 0, 4096, 3, 2, FD, 0), C(mmap, 0, 4096, 5, 2, FD, 0), C(mmap, 0, 4096, 1, 3, FD, 0), C(mmap, 0, 4096, 1, 1, FD, 100),
	C(ioctl, FD, 0x541b, BUF), C(ioctl, FD, 0x5421, BUF), C(ioctl, FD, 0x5452, BUF), C(ioctl, FD, 0x5451), C(ioctl, FD, 0x5450), C(ioctl, FD, 0x5460, BUF), C(ioctl, FD, 2, BUF), C(ioctl, FD, 1, BUF), C(ioctl, FD, 0x80086601, BUF), C(ioctl, FD, 0x40086602, BUF), C(ioctl, FD, 0xc0045877, BUF), C(ioctl, FD, 0x5401, BUF), C(ioctl, FD, 0x540f, BUF), C(ioctl, FD, 0x5413, BUF), C(ioctl, FD, 0x1260), C(ioctl, FD, 0x40049409, 3), C(ioctl, FD, 0xc020660b, BUF), C(ioctl, FD, 0xb703), C(ioctl, FD, 0x5411, BUF), C(ioctl, FD, 0x8904, BUF), C(ioctl, FD, 0x801c581f, BUF), C(ioctl, FD, 0x9999, BUF),
	C(bind, FD, BUF, 16), C(listen, FD, 5), C(getsockname, FD, BUF, BUF + 4), C(getpeername, FD, BUF, BUF + 4), C(shutdown, FD, 2), C(shutdown, FD, 3), C(accept, FD, 0, 0), C(connect, FD, BUF, 16), C(recvfrom, FD, BUF, 8, 64, 0, 0), C(sendto, FD, BUF, 8, 64, 0, 0), C(getsockopt, FD, 1, 3, BUF, BUF + 4),
	C(epoll_ctl, FD, 1, 0, BUF), C(epoll_wait, FD, BUF, 1, 0), C(timerfd_gettime, FD, BUF), C(inotify_rm_watch, FD, 1), C(inotify_add_watch, FD, BUF + 3, 1), C(signalfd4, FD, BUF, 8, 0), C(setns, FD, 0), C(pidfd_send_signal, FD, 0, 0, 0), C(pidfd_getfd, FD, 0, 0), C(process_madvise, FD, BUF, 0, 4, 0),
	C(openat, FD, BUF + 3, 0, 0), C(openat, FD, BUF + 5, 0, 0), C(newfstatat, FD, BUF + 5, BUF, 0x1000), C(newfstatat, FD, BUF + 5, BUF, 0), C(statx, FD, BUF + 5, 0x1000, 0x7ff, BUF), C(readlinkat, FD, BUF + 5, BUF, 10), C(faccessat2, FD, BUF + 5, 4, 0x1000), C(mkdirat, FD, BUF + 3, 0755), C(unlinkat, FD, BUF + 3, 0), C(linkat, FD, BUF + 5, -100, BUF + 3, 0x1000), C(fchmodat, FD, BUF + 3, 0600), C(execveat, FD, BUF + 5, 0, 0, 0x1000), C(name_to_handle_at, FD, BUF + 5, BUF, BUF, 0x1000), C(move_mount, FD, BUF + 5, -100, BUF + 3, 4), C(fsmount, FD, 0, 0), C(fsconfig, FD, 6, 0, 0, 0), C(fspick, FD, BUF + 5, 8), C(open_tree, FD, BUF + 5, 0x1000), C(mount_setattr, FD, BUF + 5, 0x1000, BUF, 32),
	C(mq_notify, FD, 0), C(mq_getsetattr, FD, 0, BUF), C(mq_timedreceive, FD, BUF, 1, 0, 0), C(fanotify_mark, FD, 1, 2, -100, BUF + 3), C(vmsplice, FD, BUF + 6, 1, 2), C(tee, FD, FD, 8, 2), C(copy_file_range, FD, 0, FD, 0, 1, 0), C(io_uring_enter, FD, 0, 0, 0, 0, 0), C(io_uring_register, FD, 1, 0, 0), C(finit_module, FD, BUF, 0), C(landlock_restrict_self, FD, 0), C(landlock_add_rule, FD, 1, BUF, 0), C(bpf, 6, FD, 0), C(dup2, FD, 200), C(dup3, FD, 200, 1), C(dup3, FD, 200, 0), C(dup3, FD, FD, 0), C(close, FD), C(close_range, FD, FD, 4), C(kcmp, 0, 0, 0, FD, FD),
};
static long ask(int kind, int i)
{
	struct call c = calls[i];
	long fd = open_kind(kind);
	if (fd < 0)
		return fd;
	sys(__NR_dup2, fd, 100);
	sys(__NR_close, fd);
	memset(buf, 0, sizeof(buf));
	static char text[] = "text", xattr[] = "user.x", none[] = "trusted.none";
	static struct { void *p; long n; } iov = { buf, 8 };
	static int length = 16;
	(void)none, (void)xattr;
	if (c.n == __NR_readv || c.n == __NR_writev || c.n == __NR_preadv2 || c.n == __NR_pwritev2)
		memcpy(buf, &(struct { void *p; long n; }){ buf + 100, 8 }, 16);
	if (c.n == __NR_fcntl && c.a[1] < 1000)
		((short *)buf)[0] = 0;
	for (int a = 0; a < 6; a++)
		switch (c.a[a]) {
		case FD: c.a[a] = 100; break;
		case BUF: c.a[a] = (long)buf; break;
		case BUF + 2: c.a[a] = (long)"trusted.x"; break;
		case BUF + 3: c.a[a] = (long)(c.n == __NR_fgetxattr || c.n == __NR_fsetxattr ? "user.x" : text); break;
		case BUF + 4: length = 16; c.a[a] = (long)&length; break;
		case BUF + 5: c.a[a] = (long)""; break;
		case BUF + 6: c.a[a] = (long)&iov; break;
		}
	long said = call6(c.n, c.a[0], c.a[1], c.a[2], c.a[3], c.a[4], c.a[5]);
	return said > 1000000 ? 1000000 : said;
}
int main(int argc, char **argv)
{
	make_kinds();
	for (int i = 0; i < (int)(sizeof(calls) / sizeof(*calls)); i++)
		line_of(calls[i].what, i, ask);
	long fd = sys(__NR_open, ".", O_RDONLY, 0), n = sys(__NR_getdents64, fd, buf, sizeof(buf));
	for (long at = 0; at < n; at += *(unsigned short *)(buf + at + 16))
		say("%s ", buf + at + 19);
	say("\n");
	return 0;
}
