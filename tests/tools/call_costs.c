/* What system calls cost, in ns: the least of some rounds.  gcc -O1 -static -w; `call_costs [CALLS]`, on a real machine and inside (simkernel/kernel/call_costs.py). */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <time.h>
#include <sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <linux/netlink.h>

static int N = 300;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

#define B(name, ...) do { \
	long best = 1L << 60; \
	for (int r = 0; r < R; r++) { \
		long t = now(); \
		for (int i = 0; i < N; i++) { __VA_ARGS__; } \
		t = now() - t; \
		if (t < best) \
			best = t; \
	} \
	printf("%s %ld\n", name, best / N); \
} while (0)

static void h(int s) {}

int main(int argc, char **argv)
{
	int R = 5, fd, p[2], sv[2];
	char buf[4096]; struct stat st; struct timespec ts = {0, 0}; struct rusage ru; struct tms tm; struct utsname un;
	if (argc > 1) { N = atoi(argv[1]); R = 1; }
	setvbuf(stdout, 0, _IOLBF, 0);
	mkdir("/dev/shm/costs", 0755); if (chdir("/dev/shm/costs")) return 1;
	B("getpid", syscall(SYS_getpid));
	B("times", times(&tm));
	B("getrusage", getrusage(0, &ru));
	B("uname", uname(&un));
	B("sched_yield", sched_yield());
	B("umask", umask(022));
	B("getcwd", syscall(SYS_getcwd, buf, 4096));
	B("sched_getaffinity", syscall(SYS_sched_getaffinity, 0, 128, buf));
	B("kill0", kill(getpid(), 0));
	B("prctl", syscall(SYS_prctl, 3, 0,0,0,0));
	B("getpriority", getpriority(0, 0));
	B("getpgid", getpgid(0));
	sigset_t set; sigemptyset(&set);
	B("rt_sigprocmask", sigprocmask(0, &set, 0));
	struct sigaction sa = { .sa_handler = h };
	B("rt_sigaction", sigaction(SIGUSR1, &sa, 0));
	B("kill+handler", kill(getpid(), SIGUSR1));
	fd = open("a", O_CREAT | O_RDWR, 0644); write(fd, buf, 4096);
	B("open+close", close(open("a", O_RDWR)));
	B("creat+close+unlink", close(open("b", O_CREAT | O_RDWR, 0644)); unlink("b"));
	B("unlink-none", unlink("b"));
	B("rename-none", rename("b", "c"));
	B("rename", rename(i & 1 ? "d" : "a", i & 1 ? "a" : "d"));
	B("mkdir+rmdir", mkdir("e", 0755); rmdir("e"));
	B("link+unlink", link("a", "f"); unlink("f"));
	B("symlink+unlink", symlink("a", "f"); unlink("f"));
	B("chmod", chmod("a", 0644));
	B("chown", chown("a", 0, 0));
	B("utimensat", utimensat(AT_FDCWD, "a", 0, 0));
	B("access", access("a", 0));
	B("fstat", fstat(fd, &st));
	B("statx", syscall(SYS_statx, AT_FDCWD, "a", 0, 0x7ff, buf));
	B("statfs", syscall(SYS_statfs, "a", buf));
	B("ftruncate", ftruncate(fd, 100));
	B("fsync", fsync(fd));
	B("fallocate", fallocate(fd, 0, 0, 4096));
	B("pread", pread(fd, buf, 100, 0));
	B("pwrite", pwrite(fd, buf, 100, 0));
	struct iovec v = { buf, 100 };
	B("writev+lseek", writev(fd, &v, 1); lseek(fd, 0, 0));
	int dir = open(".", O_RDONLY);
	B("getdents64", lseek(dir, 0, 0); syscall(SYS_getdents64, dir, buf, 4096));
	B("fcntl-getfl", fcntl(fd, F_GETFL));
	B("dup+close", close(dup(fd)));
	struct flock fl = { F_WRLCK, SEEK_SET, 0, 10 }, fu = { F_UNLCK, SEEK_SET, 0, 10 };
	B("setlk+unlck", fcntl(fd, F_SETLK, &fl); fcntl(fd, F_SETLK, &fu));
	B("flock+unlock", flock(fd, LOCK_EX); flock(fd, LOCK_UN));
	B("ioctl-fionread", ioctl(fd, FIONREAD, buf));
	B("pipe+close", pipe(p); close(p[0]); close(p[1]));
	pipe(p);
	B("pipe-write+read", write(p[1], buf, 1); read(p[0], buf, 1));
	struct pollfd pf = { p[0], POLLIN };
	B("poll", poll(&pf, 1, 0));
	fd_set fs;
	B("select", FD_ZERO(&fs); FD_SET(p[0], &fs);
	struct timeval tv = {0,0}; select(p[0] + 1, &fs, 0, 0, &tv));
	int ep = epoll_create1(0);
	struct epoll_event ev = { EPOLLIN };
	B("epoll_ctl add+del", epoll_ctl(ep, 1, p[0], &ev); epoll_ctl(ep, 2, p[0], &ev));
	B("epoll_wait", epoll_wait(ep, &ev, 1, 0));
	B("epoll_create+close", close(epoll_create1(0)));
	B("eventfd+close", close(eventfd(0, 0)));
	B("timerfd+close", close(timerfd_create(1, 0)));
	int tf = timerfd_create(1, 0);
	struct itimerspec its = { {0,0}, {100,0} };
	B("timerfd_settime", timerfd_settime(tf, 0, &its, 0));
	B("timerfd_gettime", timerfd_gettime(tf, &its));
	struct itimerval iv = { {0,0},{100,0} };
	B("setitimer", setitimer(0, &iv, 0));
	timer_t tid;
	B("timer_create+delete", syscall(SYS_timer_create, 1, 0, &tid); syscall(SYS_timer_delete, *(int *)&tid));
	B("socket-unix+close", close(socket(AF_UNIX, SOCK_DGRAM, 0)));
	B("socket-udp+close", close(socket(AF_INET, SOCK_DGRAM, 0)));
	B("socket-tcp+close", close(socket(AF_INET, SOCK_STREAM, 0)));
	B("socket-netlink+close", close(socket(AF_NETLINK, SOCK_RAW, 4)));
	B("socketpair+close", socketpair(AF_UNIX, SOCK_DGRAM, 0, sv); close(sv[0]); close(sv[1]));
	socketpair(AF_UNIX, SOCK_DGRAM, 0, sv);
	B("send+recv unix", send(sv[0], buf, 10, 0); recv(sv[1], buf, 10, 0));
	struct msghdr mh = { .msg_iov = &v, .msg_iovlen = 1 };
	B("sendmsg+recvmsg unix", sendmsg(sv[0], &mh, 0); recvmsg(sv[1], &mh, 0));
	struct sockaddr_un un1 = { AF_UNIX, "sock" };
	B("socket+bind+close+unlink", int s = socket(AF_UNIX, SOCK_DGRAM, 0); bind(s, (void *)&un1, sizeof un1); close(s); unlink("sock"));
	int o = 1;
	B("setsockopt", setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &o, 4));
	socklen_t ol = 4;
	B("getsockopt", getsockopt(sv[0], SOL_SOCKET, SO_TYPE, &o, &ol));
	socklen_t al = sizeof un1;
	B("getsockname", getsockname(sv[0], (void *)&un1, &al));
	int nl = socket(AF_NETLINK, SOCK_RAW, 4);
	static struct { struct nlmsghdr n; char r[24]; } rq = { { sizeof rq, 20, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 }, { AF_UNIX, 0, 0, 0, -1, -1, -1, -1 } };
	B("unix_diag dump", send(nl, &rq, sizeof rq, 0); while (recv(nl, buf, 4096, 0) > 0) { struct nlmsghdr *n = (void *)buf; if (n->nlmsg_type == 3 || n->nlmsg_type == 2) break; });
	int in = inotify_init();
	B("inotify add+rm", int w = inotify_add_watch(in, "a", IN_MODIFY); inotify_rm_watch(in, w));
	int se = semget(IPC_PRIVATE, 1, 0600);
	B("semctl-getval", semctl(se, 0, GETVAL));
	struct sembuf up = {0, 1, 0}, down = {0, -1, 0};
	B("semop up+down", semop(se, &up, 1); semop(se, &down, 1));
	semctl(se, 0, IPC_RMID);
	int mq = msgget(IPC_PRIVATE, 0600);
	static struct { long t; char b[10]; } m = { 1 };
	B("msgsnd+msgrcv", msgsnd(mq, &m, 10, 0); msgrcv(mq, &m, 10, 0, 0));
	msgctl(mq, IPC_RMID, 0);
	B("shmget+rmid", int s = shmget(IPC_PRIVATE, 4096, 0600); shmctl(s, IPC_RMID, 0));
	int sh = shmget(IPC_PRIVATE, 4096, 0600);
	B("shmat+shmdt", shmdt(shmat(sh, 0, 0)));
	shmctl(sh, IPC_RMID, 0);
	B("add_key", syscall(SYS_add_key, "user", "k", "foo", 3, -2));
	int key = syscall(SYS_add_key, "user", "k", "foo", 3, -2);
	B("keyctl-read", syscall(SYS_keyctl, 11, key, buf, 4));
	B("mmap+munmap", munmap(mmap(0, 65536, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 65536));
	char *mm = mmap(0, 65536, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	B("mprotect", mprotect(mm, 65536, i & 1 ? 3 : 1));
	B("madvise", madvise(mm, 65536, MADV_DONTNEED));
	B("brk", syscall(SYS_brk, 0));
	B("mincore", mincore(mm, 65536, (void *)buf));
	B("msync", msync(mm, 65536, MS_ASYNC));
	B("mlock+munlock", mlock(mm, 4096); munlock(mm, 4096));
	B("memfd+close", close(memfd_create("m", 0)));
	mm[0] = 1;
	B("futex-wake", syscall(SYS_futex, mm, 1, 1));
	B("futex-wait-eagain", syscall(SYS_futex, mm, 0, 99, 0));
	B("splice", int n = write(p[1], buf, 100); splice(p[0], 0, fd, 0, 100, 0); lseek(fd, 0, 0));
	B("sendfile", lseek(fd, 0, 0); sendfile(p[1], fd, 0, 10); read(p[0], buf, 10));
	if (N > 1000) N = 1000; if (N > 20 && R == 1) N = 20;
	B("fork+wait", int c = fork(); if (!c) _exit(0); waitpid(c, 0, 0));
	B("vfork+wait", int c = vfork(); if (!c) _exit(0); waitpid(c, 0, 0));
	return 0;
}
