/* Walks the paths on which the kernel asks its security modules: what is asked with what, and what a refusal does.
 *
 *     lsm_walk [deny|count] [GROUP...]
 */

#include "lsm_watch.h"
#include <signal.h>
#include <stdarg.h>
#include <linux/fs.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/if_tun.h>
#include <linux/io_uring.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <grp.h>
#include <mqueue.h>
#include <sys/fsuid.h>

enum step { BEFORE, ACT, AFTER };
struct path {
	const char *group, *name;
	long (*run)(enum step);
};
#define T(group_, name_, before, act, after_) \
	static long group_##_##name_(enum step step) \
	{ \
		if (step == BEFORE) { before; return 0; } \
		if (step == AFTER) { after_; return 0; } \
		return (long)(act); \
	} \
	static const struct path path_##group_##_##name_ __attribute__((used, aligned(8), section("paths"))) = { #group_, #name_, group_##_##name_ };

static char buf[65536], small[256];
static int fd, fd2, fd3, fds[2];
static void *area;
static pid_t child;
static struct stat st;
static struct flock record_lock = { .l_type = F_WRLCK };

static void quiet(long r) { (void)r; }
#define Q(x) quiet((long)(x))

static void make(const char *name)
{
	int f = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);
	Q(write(f, "hello world", 11));
	close(f);
}

static void gone(void)
{
	unlink("f"), unlink("g"), unlink("h"), unlink("l"), rmdir("d"), rmdir("e");
}

/* A child that waits until it is killed. */
static void born(void)
{
	child = fork();
	if (!child)
		for (;;)
			pause();
}

static void dead(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, __WALL);
}

/* What a child does, that is watched, too. */
static long in_child(long (*act)(void))
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (!pid) {
		control->tgids[1] = getpid();
		long r = act();
		control->tgids[1] = 0;
		_exit(r < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status);
	return WIFEXITED(status) && !errno ? 0 : -1;
}
#define CHILD(group, name, act) static long do_##group##_##name(void) { return (long)(act); } T(group, name, , in_child(do_##group##_##name), )

T(fs, open, make("f"), fd = open("f", O_RDONLY), (close(fd), gone()))
T(fs, open_rw, make("f"), fd = open("f", O_RDWR | O_APPEND), (close(fd), gone()))
T(fs, open_trunc, make("f"), fd = open("f", O_WRONLY | O_TRUNC), (close(fd), gone()))
T(fs, open_creat, gone(), fd = open("f", O_CREAT | O_RDWR, 0640), (close(fd), gone()))
T(fs, open_creat_there, make("f"), fd = open("f", O_CREAT | O_RDWR, 0640), (close(fd), gone()))
T(fs, open_path, make("f"), fd = open("f", O_PATH), (close(fd), gone()))
T(fs, open_dir, , fd = open(".", O_DIRECTORY), close(fd))
T(fs, open_tmpfile, , fd = open(".", O_TMPFILE | O_RDWR, 0600), close(fd))
T(fs, open_missing, gone(), fd = open("f", O_RDONLY), )
T(fs, open_deep, (mkdir("d", 0755), make("d/f")), fd = open("./d/../d/f", O_RDONLY), (close(fd), unlink("d/f"), gone()))
T(fs, open_link, (make("f"), Q(symlink("f", "l"))), fd = open("l", O_RDONLY), (close(fd), gone()))
T(fs, creat_dangling, (gone(), Q(symlink("f", "l"))), fd = open("l", O_RDWR | O_CREAT, 0600), (close(fd), gone()))
T(fs, read, (make("f"), fd = open("f", O_RDONLY)), read(fd, buf, 5), (close(fd), gone()))
T(fs, pread, (make("f"), fd = open("f", O_RDONLY)), pread(fd, buf, 5, 1), (close(fd), gone()))
T(fs, readv, (make("f"), fd = open("f", O_RDONLY)), readv(fd, (struct iovec[]){ { buf, 3 }, { buf, 3 } }, 2), (close(fd), gone()))
T(fs, write, (make("f"), fd = open("f", O_WRONLY)), write(fd, buf, 5), (close(fd), gone()))
T(fs, write_suid, (make("f"), chmod("f", 06777), fd = open("f", O_WRONLY)), write(fd, buf, 5), (close(fd), gone()))
T(fs, pwritev, (make("f"), fd = open("f", O_WRONLY)), pwritev(fd, (struct iovec[]){ { buf, 3 }, { buf, 3 } }, 2, 1), (close(fd), gone()))
T(fs, lseek, (make("f"), fd = open("f", O_RDONLY)), lseek(fd, 3, SEEK_SET), (close(fd), gone()))
T(fs, close, (make("f"), fd = open("f", O_RDONLY)), close(fd), gone())
T(fs, getdents, fd = open("/sys/kernel", O_RDONLY), syscall(SYS_getdents64, fd, buf, 200), close(fd))
T(fs, stat, make("f"), stat("f", &st), gone())
T(fs, lstat, (make("f"), Q(symlink("f", "l"))), lstat("l", &st), gone())
T(fs, fstat, (make("f"), fd = open("f", O_RDONLY)), fstat(fd, &st), (close(fd), gone()))
T(fs, statx, make("f"), syscall(SYS_statx, AT_FDCWD, "f", 0, 0x7ff, buf), gone())
T(fs, access, make("f"), access("f", R_OK | W_OK), gone())
T(fs, access_f, make("f"), access("f", F_OK), gone())
T(fs, faccessat2, make("f"), syscall(SYS_faccessat2, AT_FDCWD, "f", R_OK, AT_EACCESS), gone())
T(fs, chmod, make("f"), chmod("f", 0600), gone())
T(fs, fchmod, (make("f"), fd = open("f", O_RDONLY)), fchmod(fd, 0600), (close(fd), gone()))
T(fs, chown, make("f"), chown("f", 1, 2), gone())
T(fs, chown_suid, (make("f"), chmod("f", 06755)), chown("f", 1, -1), gone())
T(fs, fchown, (make("f"), fd = open("f", O_RDONLY)), fchown(fd, -1, 5), (close(fd), gone()))
T(fs, utimes, make("f"), utimes("f", NULL), gone())
T(fs, utimensat, make("f"), utimensat(AT_FDCWD, "f", (struct timespec[]){ { 1, 2 }, { 3, 4 } }, 0), gone())
T(fs, truncate, make("f"), truncate("f", 3), gone())
T(fs, ftruncate, (make("f"), fd = open("f", O_RDWR)), ftruncate(fd, 3), (close(fd), gone()))
T(fs, fallocate, (make("f"), fd = open("f", O_RDWR)), fallocate(fd, 0, 0, 4096), (close(fd), gone()))
T(fs, fsync, (make("f"), fd = open("f", O_RDWR)), fsync(fd), (close(fd), gone()))
T(fs, mkdir, gone(), mkdir("d", 0755), gone())
T(fs, rmdir, mkdir("d", 0755), rmdir("d"), gone())
T(fs, mknod, gone(), mknod("f", S_IFIFO | 0644, 0), gone())
T(fs, mknod_chr, gone(), mknod("f", S_IFCHR | 0644, 0x103), gone())
T(fs, mknod_reg, gone(), mknod("f", S_IFREG | 0644, 0), gone())
T(fs, symlink, gone(), symlink("x", "l"), gone())
T(fs, readlink, Q(symlink("x", "l")), readlink("l", buf, 64), gone())
T(fs, link, make("f"), link("f", "g"), gone())
T(fs, rename, make("f"), rename("f", "g"), gone())
T(fs, rename_over, (make("f"), make("g")), rename("f", "g"), gone())
T(fs, rename_exchange, (make("f"), make("g")), syscall(SYS_renameat2, AT_FDCWD, "f", AT_FDCWD, "g", 2), gone())
T(fs, unlink, make("f"), unlink("f"), gone())
T(fs, setxattr, make("f"), setxattr("f", "trusted.a", "b", 1, 0), gone())
T(fs, setxattr_security, make("f"), setxattr("f", "security.a", "b", 1, 0), gone())
T(fs, fsetxattr, (make("f"), fd = open("f", O_RDWR)), fsetxattr(fd, "trusted.a", "b", 1, 0), (close(fd), gone()))
T(fs, getxattr, (make("f"), setxattr("f", "trusted.a", "b", 1, 0)), getxattr("f", "trusted.a", buf, 64), gone())
T(fs, getxattr_security, (make("f"), setxattr("f", "security.a", "b", 1, 0)), getxattr("f", "security.a", buf, 64), gone())
T(fs, listxattr, (make("f"), setxattr("f", "trusted.a", "b", 1, 0)), listxattr("f", buf, 64), gone())
T(fs, removexattr, (make("f"), setxattr("f", "trusted.a", "b", 1, 0)), removexattr("f", "trusted.a"), gone())
T(fs, chdir, mkdir("d", 0755), chdir("d"), (Q(chdir("/tmp/lsm")), gone()))
T(fs, fchdir, fd = open(".", O_RDONLY), fchdir(fd), close(fd))
T(fs, statfs, , statfs(".", (struct statfs *)buf), )
T(fs, fstatfs, fd = open(".", O_RDONLY), fstatfs(fd, (struct statfs *)buf), close(fd))
T(fs, flock, (make("f"), fd = open("f", O_RDWR)), flock(fd, LOCK_EX), (close(fd), gone()))
T(fs, setlk, (make("f"), fd = open("f", O_RDWR)), fcntl(fd, F_SETLK, &record_lock), (close(fd), gone()))
T(fs, getlk, (make("f"), fd = open("f", O_RDWR)), fcntl(fd, F_GETLK, &record_lock), (close(fd), gone()))
T(fs, setlease, (make("f"), fd = open("f", O_RDONLY)), fcntl(fd, F_SETLEASE, F_RDLCK), (close(fd), gone()))
T(fs, getfl, fd = open(".", O_RDONLY), fcntl(fd, F_GETFL, 0), close(fd))
T(fs, setfl, fd = open(".", O_RDONLY), fcntl(fd, F_SETFL, O_NONBLOCK), close(fd))
T(fs, setown, fd = open(".", O_RDONLY), fcntl(fd, F_SETOWN, 1), close(fd))
T(fs, dupfd, fd = open(".", O_RDONLY), fd2 = fcntl(fd, F_DUPFD, 50), (close(fd), close(fd2)))
T(fs, dup, fd = open(".", O_RDONLY), fd2 = dup(fd), (close(fd), close(fd2)))
T(fs, fionread, (make("f"), fd = open("f", O_RDONLY)), ioctl(fd, FIONREAD, small), (close(fd), gone()))
T(fs, fioclex, fd = open(".", O_RDONLY), ioctl(fd, FIOCLEX, 0), close(fd))
T(fs, sendfile, (make("f"), make("g"), fd = open("f", O_RDONLY), fd2 = open("g", O_WRONLY)), sendfile(fd2, fd, NULL, 5), (close(fd), close(fd2), gone()))
T(fs, copy_file_range, (make("f"), make("g"), fd = open("f", O_RDONLY), fd2 = open("g", O_WRONLY)), syscall(SYS_copy_file_range, fd, NULL, fd2, NULL, 5, 0), (close(fd), close(fd2), gone()))
T(fs, splice, (make("f"), fd = open("f", O_RDONLY), Q(pipe(fds))), splice(fd, NULL, fds[1], NULL, 5, 0), (close(fd), close(fds[0]), close(fds[1]), gone()))
T(fs, inotify_init, , fd = inotify_init(), close(fd))
T(fs, inotify_add, (make("f"), fd = inotify_init()), inotify_add_watch(fd, "f", IN_OPEN), (close(fd), gone()))
T(fs, fanotify_init, , fd = fanotify_init(FAN_CLASS_NOTIF, 0), close(fd))
T(fs, fanotify_mark, (make("f"), fd = fanotify_init(FAN_CLASS_NOTIF, 0)), fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, "f"), (close(fd), gone()))
T(fs, chroot, , chroot("/"), Q(chdir("/tmp/lsm")))
T(fs, pipe, , pipe(fds), (close(fds[0]), close(fds[1])))
T(fs, pipe_write, Q(pipe(fds)), write(fds[1], "abc", 3), (close(fds[0]), close(fds[1])))
T(fs, pipe_read, (Q(pipe(fds)), Q(write(fds[1], "abc", 3))), read(fds[0], buf, 3), (close(fds[0]), close(fds[1])))
T(fs, eventfd, , fd = eventfd(0, 0), close(fd))
T(fs, epoll_create, , fd = epoll_create1(0), close(fd))
T(fs, epoll_wait, fd = epoll_create1(0), epoll_wait(fd, (struct epoll_event *)buf, 1, 0), close(fd))
T(fs, timerfd, , fd = timerfd_create(CLOCK_MONOTONIC, 0), close(fd))
T(fs, signalfd, , fd = signalfd(-1, &(sigset_t){ 0 }, 0), close(fd))
T(fs, memfd, , fd = syscall(SYS_memfd_create, "m", 0), close(fd))
T(fs, userfaultfd, , fd = syscall(SYS_userfaultfd, 0), close(fd))
T(fs, pidfd_open, , fd = syscall(SYS_pidfd_open, getpid(), 0), close(fd))
T(fs, handle, make("f"), syscall(SYS_name_to_handle_at, AT_FDCWD, "f", (*(int *)buf = 128, buf), small, 0), gone())
T(fs, proc_stat, , fd = open("/proc/self/stat", O_RDONLY), close(fd))
T(fs, proc_read, fd = open("/proc/self/stat", O_RDONLY), read(fd, buf, 4000), close(fd))
T(fs, proc_maps, fd = open("/proc/self/maps", O_RDONLY), read(fd, buf, 4000), close(fd))
T(fs, proc_fd, fd = open("/", O_RDONLY), readlink("/proc/self/exe", buf, 100), close(fd))
T(fs, proc_environ, , fd = open("/proc/1/environ", O_RDONLY), close(fd))
T(fs, proc_attr, , fd = open("/proc/self/attr/current", O_RDWR), close(fd))
T(fs, proc_attr_read, fd = open("/proc/self/attr/current", O_RDWR), read(fd, buf, 100), close(fd))
T(fs, proc_attr_write, fd = open("/proc/self/attr/current", O_RDWR), write(fd, "nonsense", 8), close(fd))
T(fs, sysctl, , fd = open("/proc/sys/kernel/hostname", O_RDWR), close(fd))
T(fs, sysctl_write, fd = open("/proc/sys/kernel/hostname", O_RDWR), write(fd, "box\n", 4), close(fd))
T(fs, dev_null, , fd = open("/dev/null", O_RDWR), close(fd))
T(fs, ptmx, , fd = open("/dev/ptmx", O_RDWR | O_NOCTTY), close(fd))
T(fs, mem, , fd = open("/dev/mem", O_RDONLY), close(fd))

T(mm, anon, , area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), munmap(area, 8192))
T(mm, shared, , area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), munmap(area, 8192))
T(mm, noreserve, , area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), munmap(area, 8192))
T(mm, none, , area = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), munmap(area, 8192))
T(mm, fixed_low, , area = mmap((void *)0x1000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), munmap((void *)0x1000, 4096))
T(mm, file, (make("f"), fd = open("f", O_RDWR)), area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0), (munmap(area, 4096), close(fd), gone()))
T(mm, file_shared, (make("f"), fd = open("f", O_RDWR)), area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), (munmap(area, 4096), close(fd), gone()))
T(mm, mprotect, area = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), mprotect(area, 4096, PROT_READ | PROT_WRITE), munmap(area, 8192))
T(mm, mprotect_exec, area = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), mprotect(area, 8192, PROT_READ | PROT_EXEC), munmap(area, 8192))
T(mm, munmap, area = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), munmap(area, 8192), )
T(mm, mremap, area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), mremap(area, 8192, 16384, MREMAP_MAYMOVE), )
T(mm, brk, , syscall(SYS_brk, syscall(SYS_brk, 0) + 8192) , )
T(mm, mlock, , mlock(buf, 4096), munlock(buf, 4096))
T(mm, madvise, , madvise(buf, 4096, MADV_NORMAL), )
T(mm, write, area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *(int *)area = 1, munmap(area, 8192))
T(mm, vm_readv, , syscall(SYS_process_vm_readv, getpid(), &(struct iovec){ buf, 8 }, 1, &(struct iovec){ small, 8 }, 1, 0), )
T(mm, vm_readv_child, born(), syscall(SYS_process_vm_readv, child, &(struct iovec){ buf, 8 }, 1, &(struct iovec){ small, 8 }, 1, 0), dead())
T(mm, move_pages, born(), syscall(SYS_move_pages, child, 0, NULL, NULL, NULL, 0), dead())
T(mm, migrate_pages, born(), syscall(SYS_migrate_pages, child, 8, (long[]){ 1 }, (long[]){ 1 }), dead())
T(mm, swapon, , syscall(SYS_swapon, "/nothing", 0), )

static long exec_true(void) { return execl("/proc/self/exe", "lsm_walk", "true", NULL); }
static long exec_missing(void) { return execl("/nothing", "x", NULL); }
static long nothing(void) { return 0; }
T(exec, fork, , in_child(nothing), )
T(exec, exec, , in_child(exec_true), )
T(exec, exec_missing, , in_child(exec_missing), )
T(exec, fork_only, , child = fork() ? 0 : (_exit(0), 0), wait(NULL))

T(task, getpgid, , getpgid(0), )
T(task, getpgid_1, , getpgid(1), )
T(task, getsid, , getsid(1), )
T(task, setpgid, born(), setpgid(child, child), dead())
CHILD(task, setsid, setsid())
T(task, getpriority, , getpriority(PRIO_PROCESS, 0), )
T(task, setpriority, born(), setpriority(PRIO_PROCESS, child, 5), dead())
T(task, nice_lower, born(), setpriority(PRIO_PROCESS, child, -5), dead())
CHILD(task, nice, nice(3))
T(task, getscheduler, , sched_getscheduler(0), )
T(task, getparam, , sched_getparam(0, (struct sched_param *)buf), )
T(task, getattr, , syscall(SYS_sched_getattr, 0, buf, 64, 0), )
T(task, rr_interval, , sched_rr_get_interval(0, (struct timespec *)buf), )
T(task, setscheduler, born(), sched_setscheduler(child, SCHED_BATCH, &(struct sched_param){ 0 }), dead())
T(task, setscheduler_fifo, born(), sched_setscheduler(child, SCHED_FIFO, &(struct sched_param){ 1 }), dead())
T(task, getaffinity, , sched_getaffinity(0, 8, (cpu_set_t *)buf), )
T(task, setaffinity, born(), syscall(SYS_sched_setaffinity, child, 8, (long[]){ 1 }), dead())
T(task, ioprio_get, , syscall(SYS_ioprio_get, 1, 0), )
T(task, ioprio_set, born(), syscall(SYS_ioprio_set, 1, child, 2 << 13 | 4), dead())
T(task, ioprio_rt, born(), syscall(SYS_ioprio_set, 1, child, 1 << 13 | 4), dead())
T(task, getrlimit, , getrlimit(RLIMIT_NOFILE, (struct rlimit *)buf), )
T(task, setrlimit, getrlimit(RLIMIT_CORE, (struct rlimit *)small), setrlimit(RLIMIT_CORE, (struct rlimit *)small), )
T(task, prlimit, born(), prlimit(child, RLIMIT_CORE, NULL, (struct rlimit *)small), dead())
T(task, prlimit_set, born(), prlimit(child, RLIMIT_CORE, &(struct rlimit){ 0, 0 }, NULL), dead())
T(task, prlimit_raise, born(), prlimit(child, RLIMIT_NOFILE, &(struct rlimit){ 1000, 20000 }, NULL), dead())
T(task, kill_0, , kill(getpid(), 0), )
T(task, kill, born(), kill(child, SIGCONT), dead())
T(task, tgkill, born(), syscall(SYS_tgkill, child, child, SIGCONT), dead())
T(task, sigqueue, born(), sigqueue(child, SIGCONT, (union sigval){ 0 }), dead())
T(task, pidfd_signal, (born(), fd = syscall(SYS_pidfd_open, child, 0)), syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0), (close(fd), dead()))
T(task, pidfd_getfd, (born(), fd = syscall(SYS_pidfd_open, child, 0)), fd2 = syscall(SYS_pidfd_getfd, fd, 0, 0), (close(fd), close(fd2), dead()))
T(task, kcmp, born(), syscall(SYS_kcmp, getpid(), child, 0, 0, 0), dead())
T(task, wait, (born(), kill(child, SIGKILL)), waitpid(child, NULL, 0), )
T(task, prctl_name, , prctl(PR_SET_NAME, "lsm_walk", 0, 0, 0), )
T(task, prctl_dumpable, , prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), )
T(task, prctl_keepcaps, , prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0), )
CHILD(task, prctl_bound, prctl(PR_CAPBSET_DROP, 3, 0, 0, 0))
CHILD(task, prctl_securebits, prctl(PR_SET_SECUREBITS, 0, 0, 0, 0))
T(task, prctl_bound_read, , prctl(PR_CAPBSET_READ, 3, 0, 0, 0), )
CHILD(task, nnp, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
T(task, prctl_mm, , prctl(PR_SET_MM, PR_SET_MM_ARG_START, 1, 0, 0), )
T(task, arch_prctl, , syscall(SYS_arch_prctl, 0x1003, buf), )
T(task, getuid, , getuid(), )
CHILD(task, setuid, setuid(0))
CHILD(task, setuid_other, syscall(SYS_setuid, 1000))
CHILD(task, setgid, setgid(5))
CHILD(task, setreuid, setreuid(1, 2))
CHILD(task, setregid, setregid(1, 2))
CHILD(task, setresuid, setresuid(1, 2, 3))
CHILD(task, setresgid, setresgid(1, 2, 3))
CHILD(task, setfsuid, setfsuid(7))
CHILD(task, setfsgid, setfsgid(7))
CHILD(task, setgroups, setgroups(1, (gid_t[]){ 4 }))
T(task, capget, , syscall(SYS_capget, &(struct __user_cap_header_struct){ _LINUX_CAPABILITY_VERSION_3, 0 }, small), )
T(task, capget_1, , syscall(SYS_capget, &(struct __user_cap_header_struct){ _LINUX_CAPABILITY_VERSION_3, 1 }, small), )
CHILD(task, capset, syscall(SYS_capset, &(struct __user_cap_header_struct){ _LINUX_CAPABILITY_VERSION_3, 0 }, (struct __user_cap_data_struct[2]){ { 1, 1, 0 } }))
CHILD(task, unshare_user, unshare(CLONE_NEWUSER))
CHILD(task, unshare_uts, unshare(CLONE_NEWUTS))
CHILD(task, unshare_files, unshare(CLONE_FILES | CLONE_FS))
static long traceme(void) { return ptrace(PTRACE_TRACEME, 0, 0, 0); }
T(task, ptrace_traceme, , in_child(traceme), )
T(task, ptrace_attach, born(), ptrace(PTRACE_ATTACH, child, 0, 0), dead())
T(task, ptrace_seize, born(), ptrace(PTRACE_SEIZE, child, 0, 0), dead())
T(task, proc_mem, born(), (snprintf(small, 99, "/proc/%d/mem", child), fd = open(small, O_RDONLY)), (close(fd), dead()))
T(task, sigio, (Q(pipe(fds)), signal(SIGIO, SIG_IGN), fcntl(fds[0], F_SETFL, O_ASYNC), fcntl(fds[0], F_SETOWN, getpid())), write(fds[1], "a", 1), (close(fds[0]), close(fds[1])))

T(ipc, msgget, , fd = msgget(IPC_PRIVATE, 0600), msgctl(fd, IPC_RMID, NULL))
T(ipc, msgget_key, fd2 = msgget(77, IPC_CREAT | 0600), fd = msgget(77, 0400), msgctl(fd2, IPC_RMID, NULL))
T(ipc, msgsnd, fd = msgget(IPC_PRIVATE, 0600), msgsnd(fd, &(struct { long t; char x[4]; }){ 1, "abc" }, 4, 0), msgctl(fd, IPC_RMID, NULL))
T(ipc, msgrcv, (fd = msgget(IPC_PRIVATE, 0600), msgsnd(fd, &(struct { long t; char x[4]; }){ 1, "abc" }, 4, 0)), msgrcv(fd, buf, 10, 0, IPC_NOWAIT), msgctl(fd, IPC_RMID, NULL))
T(ipc, msgctl_stat, fd = msgget(IPC_PRIVATE, 0600), msgctl(fd, IPC_STAT, (struct msqid_ds *)buf), msgctl(fd, IPC_RMID, NULL))
T(ipc, msgctl_set, fd = msgget(IPC_PRIVATE, 0600), msgctl(fd, IPC_SET, (struct msqid_ds *)buf), msgctl(fd, IPC_RMID, NULL))
T(ipc, msgctl_rm, fd = msgget(IPC_PRIVATE, 0600), msgctl(fd, IPC_RMID, NULL), msgctl(fd, IPC_RMID, NULL))
T(ipc, msgctl_info, , msgctl(0, IPC_INFO, (struct msqid_ds *)buf), )
T(ipc, semget, , fd = semget(IPC_PRIVATE, 2, 0600), semctl(fd, 0, IPC_RMID))
T(ipc, semget_key, fd2 = semget(78, 2, IPC_CREAT | 0600), fd = semget(78, 2, 0400), semctl(fd2, 0, IPC_RMID))
T(ipc, semop, fd = semget(IPC_PRIVATE, 2, 0600), semop(fd, (struct sembuf[]){ { 0, 1, 0 } }, 1), semctl(fd, 0, IPC_RMID))
T(ipc, semop_zero, fd = semget(IPC_PRIVATE, 2, 0600), semop(fd, (struct sembuf[]){ { 0, 0, 0 } }, 1), semctl(fd, 0, IPC_RMID))
T(ipc, semctl_getval, fd = semget(IPC_PRIVATE, 2, 0600), semctl(fd, 0, GETVAL), semctl(fd, 0, IPC_RMID))
T(ipc, semctl_setval, fd = semget(IPC_PRIVATE, 2, 0600), semctl(fd, 0, SETVAL, 5), semctl(fd, 0, IPC_RMID))
T(ipc, semctl_stat, fd = semget(IPC_PRIVATE, 2, 0600), semctl(fd, 0, IPC_STAT, buf), semctl(fd, 0, IPC_RMID))
T(ipc, semctl_rm, fd = semget(IPC_PRIVATE, 2, 0600), semctl(fd, 0, IPC_RMID), semctl(fd, 0, IPC_RMID))
T(ipc, semctl_info, , semctl(0, 0, IPC_INFO, buf), )
T(ipc, shmget, , fd = shmget(IPC_PRIVATE, 4096, 0600), shmctl(fd, IPC_RMID, NULL))
T(ipc, shmget_key, fd2 = shmget(79, 4096, IPC_CREAT | 0600), fd = shmget(79, 4096, 0400), shmctl(fd2, IPC_RMID, NULL))
T(ipc, shmat, fd = shmget(IPC_PRIVATE, 4096, 0600), area = shmat(fd, NULL, 0), (shmdt(area), shmctl(fd, IPC_RMID, NULL)))
T(ipc, shmdt, (fd = shmget(IPC_PRIVATE, 4096, 0600), area = shmat(fd, NULL, 0)), shmdt(area), (shmdt(area), shmctl(fd, IPC_RMID, NULL)))
T(ipc, shmctl_stat, fd = shmget(IPC_PRIVATE, 4096, 0600), shmctl(fd, IPC_STAT, (struct shmid_ds *)buf), shmctl(fd, IPC_RMID, NULL))
T(ipc, shmctl_lock, fd = shmget(IPC_PRIVATE, 4096, 0600), shmctl(fd, SHM_LOCK, NULL), shmctl(fd, IPC_RMID, NULL))
T(ipc, shmctl_rm, fd = shmget(IPC_PRIVATE, 4096, 0600), shmctl(fd, IPC_RMID, NULL), shmctl(fd, IPC_RMID, NULL))
T(ipc, shmctl_info, , shmctl(0, IPC_INFO, (struct shmid_ds *)buf), )
T(ipc, mq_open, , fd = mq_open("/q", O_CREAT | O_RDWR, 0600, NULL), (mq_close(fd), mq_unlink("/q")))
T(ipc, mq_send, fd = mq_open("/q", O_CREAT | O_RDWR, 0600, NULL), mq_send(fd, "abc", 3, 1), (mq_close(fd), mq_unlink("/q")))
T(ipc, mq_receive, (fd = mq_open("/q", O_CREAT | O_RDWR, 0600, NULL), mq_send(fd, "abc", 3, 1)), mq_receive(fd, buf, 8192, NULL), (mq_close(fd), mq_unlink("/q")))
T(ipc, mq_unlink, (fd = mq_open("/q", O_CREAT | O_RDWR, 0600, NULL), mq_close(fd)), mq_unlink("/q"), mq_unlink("/q"))

#define KEY(...) syscall(SYS_keyctl, __VA_ARGS__)
#define ADD(type, name, data, size, ring) syscall(SYS_add_key, type, name, data, size, ring)
T(key, add, , fd = ADD("user", "lsm", "abc", 3, KEY_SPEC_PROCESS_KEYRING), KEY(KEYCTL_UNLINK, fd, KEY_SPEC_PROCESS_KEYRING))
T(key, add_again, fd = ADD("user", "lsm", "abc", 3, KEY_SPEC_PROCESS_KEYRING), ADD("user", "lsm", "ab", 2, KEY_SPEC_PROCESS_KEYRING), KEY(KEYCTL_UNLINK, fd, KEY_SPEC_PROCESS_KEYRING))
T(key, read, fd = ADD("user", "lsm", "abc", 3, KEY_SPEC_PROCESS_KEYRING), KEY(KEYCTL_READ, fd, buf, 10), KEY(KEYCTL_UNLINK, fd, KEY_SPEC_PROCESS_KEYRING))
T(key, describe, fd = ADD("user", "lsm", "abc", 3, KEY_SPEC_PROCESS_KEYRING), KEY(KEYCTL_DESCRIBE, fd, buf, 100), KEY(KEYCTL_UNLINK, fd, KEY_SPEC_PROCESS_KEYRING))
T(key, search, fd = ADD("user", "lsm", "abc", 3, KEY_SPEC_PROCESS_KEYRING), KEY(KEYCTL_SEARCH, KEY_SPEC_PROCESS_KEYRING, "user", "lsm", 0), KEY(KEYCTL_UNLINK, fd, KEY_SPEC_PROCESS_KEYRING))
T(key, security, fd = ADD("user", "lsm", "abc", 3, KEY_SPEC_PROCESS_KEYRING), KEY(KEYCTL_GET_SECURITY, fd, buf, 100), KEY(KEYCTL_UNLINK, fd, KEY_SPEC_PROCESS_KEYRING))
T(key, setperm, fd = ADD("user", "lsm", "abc", 3, KEY_SPEC_PROCESS_KEYRING), KEY(KEYCTL_SETPERM, fd, 0x3f3f0000), KEY(KEYCTL_UNLINK, fd, KEY_SPEC_PROCESS_KEYRING))
T(key, unlink, fd = ADD("user", "lsm", "abc", 3, KEY_SPEC_PROCESS_KEYRING), KEY(KEYCTL_UNLINK, fd, KEY_SPEC_PROCESS_KEYRING), KEY(KEYCTL_UNLINK, fd, KEY_SPEC_PROCESS_KEYRING))
T(key, request, fd = ADD("user", "lsm", "abc", 3, KEY_SPEC_PROCESS_KEYRING), syscall(SYS_request_key, "user", "lsm", NULL, 0), KEY(KEYCTL_UNLINK, fd, KEY_SPEC_PROCESS_KEYRING))
T(key, id, , KEY(KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 0), )
T(key, revoke, fd = ADD("user", "lsm", "abc", 3, KEY_SPEC_PROCESS_KEYRING), KEY(KEYCTL_REVOKE, fd), KEY(KEYCTL_UNLINK, fd, KEY_SPEC_PROCESS_KEYRING))

static long bpf(int cmd, union bpf_attr *attr) { return syscall(SYS_bpf, cmd, attr, sizeof *attr); }
static int map_make(void) { return bpf(BPF_MAP_CREATE, &(union bpf_attr){ .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 }); }
static const struct bpf_insn ret0[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT } };
static int prog_make(void) { return bpf(BPF_PROG_LOAD, &(union bpf_attr){ .prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insns = (uintptr_t)ret0, .insn_cnt = 2, .license = (uintptr_t)"GPL" }); }
static struct bpf_map_info info;
static int map_id(int f) { bpf(BPF_OBJ_GET_INFO_BY_FD, &(union bpf_attr){ .info = { .bpf_fd = f, .info_len = sizeof info, .info = (uintptr_t)&info } }); return info.id; }
T(bpf, map_create, , fd = map_make(), close(fd))
T(bpf, map_lookup, fd = map_make(), bpf(BPF_MAP_LOOKUP_ELEM, &(union bpf_attr){ .map_fd = fd, .key = (uintptr_t)(int[]){ 0 }, .value = (uintptr_t)small }), close(fd))
T(bpf, map_close, fd = map_make(), close(fd), )
T(bpf, map_info, fd = map_make(), bpf(BPF_OBJ_GET_INFO_BY_FD, &(union bpf_attr){ .info = { .bpf_fd = fd, .info_len = sizeof info, .info = (uintptr_t)&info } }), close(fd))
T(bpf, map_by_id, (fd = map_make(), map_id(fd)), fd2 = bpf(BPF_MAP_GET_FD_BY_ID, &(union bpf_attr){ .map_id = info.id }), (close(fd), close(fd2)))
T(bpf, prog_load, , fd = prog_make(), close(fd))
T(bpf, prog_run, fd = prog_make(), bpf(BPF_PROG_TEST_RUN, &(union bpf_attr){ .test = { .prog_fd = fd, .data_size_in = 64, .data_in = (uintptr_t)buf } }), close(fd))
T(bpf, pin, fd = map_make(), bpf(BPF_OBJ_PIN, &(union bpf_attr){ .pathname = (uintptr_t)"/sys/fs/bpf/pinned", .bpf_fd = fd }), (close(fd), unlink("/sys/fs/bpf/pinned")))
T(bpf, get, (fd = map_make(), bpf(BPF_OBJ_PIN, &(union bpf_attr){ .pathname = (uintptr_t)"/sys/fs/bpf/pinned", .bpf_fd = fd })), fd2 = bpf(BPF_OBJ_GET, &(union bpf_attr){ .pathname = (uintptr_t)"/sys/fs/bpf/pinned" }), (close(fd), close(fd2), unlink("/sys/fs/bpf/pinned")))

static int perf_make(int type, long config, int pid) { struct perf_event_attr a = { .type = type, .size = sizeof a, .config = config }; return syscall(SYS_perf_event_open, &a, pid, pid < 0 ? 0 : -1, -1, 0); }
T(perf, open, , fd = perf_make(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0), close(fd))
T(perf, open_cpu, , fd = perf_make(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, -1), close(fd))
T(perf, open_child, born(), fd = perf_make(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, child), (close(fd), dead()))
T(perf, read, fd = perf_make(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0), read(fd, buf, 8), close(fd))
T(perf, ioctl, fd = perf_make(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0), ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), close(fd))
T(perf, mmap, fd = perf_make(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0), area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), (munmap(area, 8192), close(fd)))
T(perf, close, fd = perf_make(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0), close(fd), )

static const struct sockaddr_un un = { AF_UNIX, "s" };
static struct sockaddr_in in = { .sin_family = AF_INET };
#define UN (const struct sockaddr *)&un, sizeof un
#define IN (const struct sockaddr *)&in, sizeof in
static void listens(void)
{
	socklen_t n = sizeof in;
	in.sin_port = 0, in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM, 0), Q(bind(fd, IN)), listen(fd, 5), getsockname(fd, (void *)&in, &n);
}
static void unlistens(void) { unlink("s"), fd = socket(AF_UNIX, SOCK_STREAM, 0), Q(bind(fd, UN)), listen(fd, 5); }
static void connected(void) { listens(), fd2 = socket(AF_INET, SOCK_STREAM, 0), Q(connect(fd2, IN)), fd3 = accept(fd, NULL, NULL); }
static void all_closed(void) { close(fd), close(fd2), close(fd3), close(fds[0]), close(fds[1]), fd = fd2 = fd3 = fds[0] = fds[1] = -1, unlink("s"); }
static void udp_pair(void) { socklen_t n = sizeof in; in.sin_port = 0, in.sin_addr.s_addr = htonl(INADDR_LOOPBACK), fd = socket(AF_INET, SOCK_DGRAM, 0), Q(bind(fd, IN)), getsockname(fd, (void *)&in, &n), fd2 = socket(AF_INET, SOCK_DGRAM, 0); }
static long pass(int s, int f)
{
	struct { struct cmsghdr h; int fd; } c = { { CMSG_LEN(4), SOL_SOCKET, SCM_RIGHTS }, f };
	struct iovec v = { "x", 1 };
	return sendmsg(s, &(struct msghdr){ .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof c }, 0);
}
static long take(int s)
{
	static char c[64];
	struct iovec v = { buf, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = c, .msg_controllen = sizeof c };
	long r = recvmsg(s, &m, 0);
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	fd3 = r >= 0 && h ? *(int *)CMSG_DATA(h) : -1;
	return r;
}
T(net, socket_unix, , fd = socket(AF_UNIX, SOCK_STREAM, 0), all_closed())
T(net, socket_tcp, , fd = socket(AF_INET, SOCK_STREAM, 0), all_closed())
T(net, socket_udp, , fd = socket(AF_INET, SOCK_DGRAM, 0), all_closed())
T(net, socket_udp6, , fd = socket(AF_INET6, SOCK_DGRAM, 0), all_closed())
T(net, socket_raw, , fd = socket(AF_INET, SOCK_RAW, 1), all_closed())
T(net, socket_packet, , fd = socket(AF_PACKET, SOCK_RAW, 0), all_closed())
T(net, socket_netlink, , fd = socket(AF_NETLINK, SOCK_RAW, 0), all_closed())
T(net, socketpair, , socketpair(AF_UNIX, SOCK_STREAM, 0, fds), all_closed())
T(net, bind_unix, (unlink("s"), fd = socket(AF_UNIX, SOCK_STREAM, 0)), bind(fd, UN), all_closed())
T(net, bind_tcp, (in.sin_port = 0, fd = socket(AF_INET, SOCK_STREAM, 0)), bind(fd, IN), all_closed())
T(net, bind_low, (in.sin_port = htons(99), fd = socket(AF_INET, SOCK_STREAM, 0)), bind(fd, IN), all_closed())
T(net, listen, (in.sin_port = 0, fd = socket(AF_INET, SOCK_STREAM, 0), Q(bind(fd, IN))), listen(fd, 5), all_closed())
T(net, connect_unix, (unlistens(), fd2 = socket(AF_UNIX, SOCK_STREAM, 0)), connect(fd2, UN), all_closed())
T(net, connect_unix_dgram, (unlink("s"), fd = socket(AF_UNIX, SOCK_DGRAM, 0), Q(bind(fd, UN)), fd2 = socket(AF_UNIX, SOCK_DGRAM, 0)), connect(fd2, UN), all_closed())
T(net, sendto_unix_dgram, (unlink("s"), fd = socket(AF_UNIX, SOCK_DGRAM, 0), Q(bind(fd, UN)), fd2 = socket(AF_UNIX, SOCK_DGRAM, 0)), sendto(fd2, "abc", 3, 0, UN), all_closed())
T(net, accept_unix, (unlistens(), fd2 = socket(AF_UNIX, SOCK_STREAM, 0), Q(connect(fd2, UN))), fd3 = accept(fd, NULL, NULL), all_closed())
T(net, connect_tcp, (listens(), fd2 = socket(AF_INET, SOCK_STREAM, 0)), connect(fd2, IN), all_closed())
T(net, accept_tcp, (listens(), fd2 = socket(AF_INET, SOCK_STREAM, 0), Q(connect(fd2, IN))), fd3 = accept(fd, NULL, NULL), all_closed())
T(net, send_tcp, connected(), send(fd2, "abc", 3, 0), all_closed())
T(net, recv_tcp, (connected(), Q(send(fd2, "abc", 3, 0))), recv(fd3, buf, 10, 0), all_closed())
T(net, write_tcp, connected(), write(fd2, "abc", 3), all_closed())
T(net, read_tcp, (connected(), Q(send(fd2, "abc", 3, 0))), read(fd3, buf, 10), all_closed())
T(net, shutdown_tcp, connected(), shutdown(fd2, SHUT_WR), all_closed())
T(net, close_tcp, connected(), close(fd2), all_closed())
T(net, sendto_udp, udp_pair(), sendto(fd2, "abc", 3, 0, IN), all_closed())
T(net, connect_udp, udp_pair(), connect(fd2, IN), all_closed())
T(net, recv_udp, (udp_pair(), Q(sendto(fd2, "abc", 3, 0, IN))), recv(fd, buf, 10, 0), all_closed())
T(net, getsockname, listens(), getsockname(fd, (void *)buf, (*(int *)small = 100, (void *)small)), all_closed())
T(net, getpeername, connected(), getpeername(fd2, (void *)buf, (*(int *)small = 100, (void *)small)), all_closed())
T(net, setsockopt, listens(), setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, (int[]){ 1 }, 4), all_closed())
T(net, setsockopt_mark, listens(), setsockopt(fd, SOL_SOCKET, SO_MARK, (int[]){ 1 }, 4), all_closed())
T(net, getsockopt, listens(), getsockopt(fd, SOL_SOCKET, SO_TYPE, buf, (*(int *)small = 4, (void *)small)), all_closed())
T(net, peersec, Q(socketpair(AF_UNIX, SOCK_STREAM, 0, fds)), getsockopt(fds[0], SOL_SOCKET, SO_PEERSEC, buf, (*(int *)small = 100, (void *)small)), all_closed())
T(net, send_unix, Q(socketpair(AF_UNIX, SOCK_STREAM, 0, fds)), send(fds[0], "abc", 3, 0), all_closed())
T(net, recv_unix, (Q(socketpair(AF_UNIX, SOCK_STREAM, 0, fds)), Q(send(fds[0], "abc", 3, 0))), recv(fds[1], buf, 10, 0), all_closed())
T(net, send_unix_dgram, Q(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds)), send(fds[0], "abc", 3, 0), all_closed())
T(net, recv_unix_dgram, (Q(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds)), Q(send(fds[0], "abc", 3, 0))), recv(fds[1], buf, 10, 0), all_closed())
T(net, pass_fd, Q(socketpair(AF_UNIX, SOCK_STREAM, 0, fds)), pass(fds[0], 0), all_closed())
T(net, take_fd, (Q(socketpair(AF_UNIX, SOCK_STREAM, 0, fds)), pass(fds[0], 0)), take(fds[1]), all_closed())
T(net, netlink_send, (fd = socket(AF_NETLINK, SOCK_RAW, 0)), send(fd, &(struct { struct nlmsghdr h; char g[16]; }){ { 32, 18, 0x301, 1, 0 }, "" }, 32, 0), all_closed())
T(net, fionread, listens(), ioctl(fd, FIONREAD, buf), all_closed())
T(net, ifconf, fd = socket(AF_INET, SOCK_DGRAM, 0), ioctl(fd, 0x8913, strcpy(buf, "lo")), all_closed())
T(net, tun_open, , fd = open("/dev/net/tun", O_RDWR), all_closed())
T(net, tun_set, fd = open("/dev/net/tun", O_RDWR), (memset(buf, 0, 64), strcpy(buf, "tun7"), *(short *)(buf + 16) = IFF_TUN, ioctl(fd, TUNSETIFF, buf)), all_closed())

T(mount, tmpfs, mkdir("d", 0755), mount("none", "d", "tmpfs", 0, "size=64k"), (umount("d"), gone()))
T(mount, missing_type, mkdir("d", 0755), mount("none", "d", "nothing", 0, NULL), gone())
T(mount, umount, (mkdir("d", 0755), mount("none", "d", "tmpfs", 0, NULL)), umount("d"), (umount("d"), gone()))
T(mount, bind, (mkdir("d", 0755), mkdir("e", 0755)), mount("d", "e", NULL, MS_BIND, NULL), (umount("e"), gone()))
T(mount, remount, (mkdir("d", 0755), mount("none", "d", "tmpfs", 0, NULL)), mount(NULL, "d", NULL, MS_REMOUNT | MS_RDONLY, NULL), (umount("d"), gone()))
T(mount, remount_bind, (mkdir("d", 0755), mount("none", "d", "tmpfs", 0, NULL)), mount(NULL, "d", NULL, MS_REMOUNT | MS_BIND | MS_NOSUID, NULL), (umount("d"), gone()))
T(mount, private, (mkdir("d", 0755), mount("none", "d", "tmpfs", 0, NULL)), mount(NULL, "d", NULL, MS_PRIVATE, NULL), (umount("d"), gone()))
T(mount, move, (mkdir("d", 0755), mkdir("e", 0755), mount("none", "d", "tmpfs", 0, NULL), mount(NULL, "d", NULL, MS_PRIVATE, NULL)), mount("d", "e", NULL, MS_MOVE, NULL), (umount("e"), umount("d"), gone()))
T(mount, fsopen, , fd = syscall(SYS_fsopen, "tmpfs", 0), close(fd))
T(mount, fsconfig, fd = syscall(SYS_fsopen, "tmpfs", 0), syscall(SYS_fsconfig, fd, 1, "size", "64k", 0), close(fd))
T(mount, fsconfig_create, fd = syscall(SYS_fsopen, "tmpfs", 0), syscall(SYS_fsconfig, fd, 6, NULL, NULL, 0), close(fd))
T(mount, fsmount, (fd = syscall(SYS_fsopen, "tmpfs", 0), syscall(SYS_fsconfig, fd, 6, NULL, NULL, 0)), fd2 = syscall(SYS_fsmount, fd, 0, 0), (close(fd), close(fd2)))
T(mount, move_mount, (mkdir("d", 0755), fd = syscall(SYS_fsopen, "tmpfs", 0), syscall(SYS_fsconfig, fd, 6, NULL, NULL, 0), fd2 = syscall(SYS_fsmount, fd, 0, 0)), syscall(SYS_move_mount, fd2, "", AT_FDCWD, "d", 4), (close(fd), close(fd2), umount("d"), gone()))
T(mount, open_tree, , fd = syscall(SYS_open_tree, AT_FDCWD, ".", 1), close(fd))
T(mount, mount_setattr, (mkdir("d", 0755), mount("none", "d", "tmpfs", 0, NULL)), syscall(SYS_mount_setattr, AT_FDCWD, "d", 0, (uint64_t[]){ 1, 0, 0, 0 }, 32), (umount("d"), gone()))
T(mount, pivot_root, , syscall(SYS_pivot_root, ".", "."), )
T(mount, proc_mounts, fd = open("/proc/self/mounts", O_RDONLY), read(fd, buf, 100), close(fd))
T(mount, quotactl, , syscall(SYS_quotactl, QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL), )
T(mount, sync, , (sync(), 0), )

T(sys, settime, , clock_settime(CLOCK_REALTIME, &(struct timespec){ 1600000000, 0 }), )
T(sys, settimeofday, , settimeofday(&(struct timeval){ 1600000000, 0 }, NULL), )
T(sys, adjtimex, , adjtimex((memset(buf, 0, 300), (struct timex *)buf)), )
T(sys, adjtime, , adjtimex((memset(buf, 0, 300), ((struct timex *)buf)->modes = ADJ_TICK, ((struct timex *)buf)->tick = 10000, (struct timex *)buf)), )
T(sys, syslog_read, , klogctl(3, buf, 10), )
T(sys, syslog_size, , klogctl(10, NULL, 0), )
T(sys, syslog_console, , klogctl(8, NULL, 1), )
T(sys, sethostname, , sethostname("box", 3), )
T(sys, setdomainname, , setdomainname("box", 3), )
T(sys, reboot, , syscall(SYS_reboot, 0, 0, 0, 0), )
T(sys, init_module, , syscall(SYS_init_module, buf, 64, ""), )
T(sys, finit_module, (make("f"), fd = open("f", O_RDONLY)), syscall(SYS_finit_module, fd, "", 0), (close(fd), gone()))
T(sys, delete_module, , syscall(SYS_delete_module, "nothing", 0), )
T(sys, kexec, , syscall(SYS_kexec_load, 0, 0, NULL, 0), )
T(sys, iopl, , syscall(SYS_iopl, 3), syscall(SYS_iopl, 0))
T(sys, ioperm, , syscall(SYS_ioperm, 0x80, 1, 1), syscall(SYS_ioperm, 0x80, 1, 0))
T(sys, acct, , syscall(SYS_acct, NULL), )
T(sys, getcwd, , syscall(SYS_getcwd, buf, 100), )
T(sys, uring, , fd = syscall(SYS_io_uring_setup, 4, (memset(buf, 0, 256), buf)), close(fd))
T(sys, uring_sqpoll, , fd = syscall(SYS_io_uring_setup, 4, (memset(buf, 0, 256), *(int *)(buf + 8) = IORING_SETUP_SQPOLL, buf)), close(fd))
T(sys, tracefs, , fd = open("/sys/kernel/tracing/README", O_RDONLY), close(fd))
T(sys, kprobe, fd = open("/sys/kernel/tracing/kprobe_events", O_WRONLY | O_APPEND), write(fd, "p:lsmk do_exit\n", 15), (Q(write(fd, "-:lsmk\n", 7)), close(fd)))
T(sys, debugfs, , fd = open("/sys/kernel/debug/sleep_time", O_RDONLY), close(fd))
T(sys, kallsyms, , fd = open("/proc/kallsyms", O_RDONLY), close(fd))
T(sys, kcore, , fd = open("/proc/kcore", O_RDONLY), close(fd))
T(sys, cgroup_mkdir, , mkdir("/sys/fs/cgroup/lsmtest", 0755), rmdir("/sys/fs/cgroup/lsmtest"))
T(sys, cgroup_move, (mkdir("/sys/fs/cgroup/lsmtest", 0755), fd = open("/sys/fs/cgroup/lsmtest/cgroup.procs", O_WRONLY)), write(fd, "0\n", 2), (close(fd), fd = open("/sys/fs/cgroup/cgroup.procs", O_WRONLY), Q(write(fd, "0\n", 2)), close(fd), rmdir("/sys/fs/cgroup/lsmtest")))

extern const struct path __start_paths[], __stop_paths[];

static void arm(int deny)
{
	control->count = 0, control->deny = deny, control->tgids[1] = 0;
	__asm__ volatile("" ::: "memory");
	control->tgids[0] = getpid();
}

static int disarm(void)
{
	control->tgids[0] = control->tgids[1] = 0, control->deny = 0;
	return control->count;
}

static void show_result(const struct path *path, const char *how, long r, int e)
{
	printf("%s %s%s: %s\n", path->group, path->name, how, r == -1 && e ? strerrorname_np(e) : "ok");
}

/* Freed later than the call that lets go of it, and by whom is chance. */
static int later(const char *name)
{
	static const char *const names[] = { "cred_free", "task_free", "inode_free_security", "sb_delete", "sb_free_security", "bpf_map_free_security", "bpf_prog_free_security", "sk_free_security", "key_free", "msg_queue_free_security", "sem_free_security", "shm_free_security", "perf_event_free" };

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return 1;
	return 0;
}

static void walk(const struct path *path, int deny)
{
	static struct event events[EVENTS];
	static char met[HOOKS];
	char how[80];

	errno = 0, path->run(BEFORE), errno = 0;
	arm(0);
	long r = path->run(ACT);
	int e = errno, n = disarm();
	memcpy(events, control->events, sizeof events);
	path->run(AFTER);
	show_result(path, "", r, e);
	memset(met, 0, sizeof met);
	for (int i = 0; i < n; i++)
		if (!later(hooks[events[i].hook - 1].name))
			show_event(&events[i]), met[events[i].hook] = hooks[events[i].hook - 1].answers;
	if (n == EVENTS)
		printf("  and more\n");
	fflush(stdout);
	for (int h = 1; deny && h <= hook_count; h++) {
		if (!met[h])
			continue;
		snprintf(how, sizeof how, " -%s", hooks[h - 1].name);
		errno = 0, path->run(BEFORE), errno = 0;
		arm(h);
		r = path->run(ACT), e = errno;
		disarm();
		path->run(AFTER);
		show_result(path, how, r, e);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "true"))
		return 0;
	umask(022);
	watch_all();
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	ioctl(s, SIOCSIFFLAGS, &(struct ifreq){ .ifr_name = "lo", .ifr_flags = IFF_UP });
	close(s);
	mkdir("/tmp/lsm", 0755);
	mount("none", "/tmp/lsm", "tmpfs", 0, NULL);
	Q(chdir("/tmp/lsm"));
	for (const struct path *path = __start_paths; path < __stop_paths; path++) {
		int chosen = argc < 3;
		for (int i = 2; i < argc; i++)
			chosen |= !strcmp(argv[i], path->group) || !strcmp(argv[i], path->name);
		if (chosen)
			walk(path, argc > 1 && !strcmp(argv[1], "deny"));
	}
	return 0;
}
