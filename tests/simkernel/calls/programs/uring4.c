/* What io_uring's requests wait for and in which order they are done. not: s390x i386 (cache lines and x86-64's calls) */
#include "tiny_uring.h"
#include <linux/in.h>
#include <linux/sched.h>
#include <linux/socket.h>
#define NONBLOCK 04000
#define AF_UNIX 1
#define AF_INET 2
static char buf[4096];
static int pipes[2];
static struct iovec iov = { buf, 64 };

static void later(const char *what)
{
	enter(0, 1, IORING_ENTER_GETEVENTS);
	reap(what);
}

/* files with O_NONBLOCK are waited for, but for requests that forbid it */
static void nonblocking(void)
{
	struct io_uring_sqe *e;
	setup(16, 0);
	sys(__NR_pipe2, pipes, NONBLOCK);
	next(IORING_OP_READ, pipes[0], buf, 64, 0, 1);
	next(IORING_OP_READV, pipes[0], &iov, 1, 0, 2);
	e = next(IORING_OP_READ, pipes[0], buf, 64, 0, 3), e->rw_flags = 8; /* RWF_NOWAIT */
	go("reads of an empty pipe", 0);
	sys(__NR_write, pipes[1], "one", 3);
	sys(__NR_write, pipes[1], "two", 3);
	later("written to");
	int pair[2];
	sys(__NR_socketpair, AF_UNIX, 1 | NONBLOCK, 0, pair);
	next(IORING_OP_RECV, pair[0], buf, 64, 0, 4);
	e = next(IORING_OP_RECV, pair[0], buf, 64, 0, 5), e->msg_flags = 0x40; /* MSG_DONTWAIT */
	go("receives", 0);
	sys(__NR_write, pair[1], "three", 5);
	later("sent to");
	sys(__NR_write, pair[1], "four", 4);
	e = next(IORING_OP_RECV, pair[0], buf, 64, 0, 6), e->ioprio = IORING_RECVSEND_POLL_FIRST;
	go("polls first, and there is something", 1);
	int fd = sys(__NR_open, "/tiny_uring_file", O_CREAT | O_RDWR, 0600);
	e = next(IORING_OP_READ, fd, buf, 64, 0, 7), e->rw_flags = 8;
	go("RWF_NOWAIT of a file", 0);
	sys(__NR_close, ring);
}

static void connections(void)
{
	struct sockaddr_in a = { AF_INET, 0, { 0 } };
	unsigned size = sizeof(a);
	struct { char name[16]; short flags; char rest[22]; } lo = { "lo", 1 }; /* struct ifreq, IFF_UP */
	setup(16, 0);
	a.sin_addr.s_addr = 0x0100007f;
	int listener = sys(__NR_socket, AF_INET, 1 | NONBLOCK, 0), caller = sys(__NR_socket, AF_INET, 1, 0);
	sys(__NR_ioctl, listener, 0x8914, &lo); /* SIOCSIFFLAGS */
	sys(__NR_bind, listener, &a, sizeof(a));
	sys(__NR_getsockname, listener, &a, &size);
	next(IORING_OP_CONNECT, caller, &a, 0, sizeof(a), 1);
	go("nobody listens", 1);
	sys(__NR_listen, listener, 4);
	next(IORING_OP_ACCEPT, listener, 0, 0, 0, 2);
	go("accept", 0);
	sys(__NR_close, caller);
	caller = sys(__NR_socket, AF_INET, 1, 0);
	next(IORING_OP_CONNECT, caller, &a, 0, sizeof(a), 3);
	go("connect", 2);
	int again = sys(__NR_socket, AF_INET, 1 | NONBLOCK, 0);
	next(IORING_OP_CONNECT, again, &a, 0, sizeof(a), 4);
	go("connect of a socket that never waits", 1);
	sys(__NR_close, ring);
}

/* words that are refused when a request is laid down end the call; those that are refused later do not */
static void refused(void)
{
	struct io_uring_sqe *e;
	setup(16, 0);
	for (int i = 0; i < 3; i++) {
		next(IORING_OP_NOP, -1, 0, 0, 0, 1);
		if (i == 0)
			e = next(IORING_OP_READ, 77, buf, 8, 0, 2), e->ioprio = 0xffff;
		if (i == 1)
			next(IORING_OP_READ_FIXED, pipes[0], buf, 8, 0, 2);
		if (i == 2)
			next(IORING_OP_READ, 77, buf, 8, 0, 2);
		next(IORING_OP_NOP, -1, 0, 0, 0, 3);
		go("first", 0);
		queued = 3;
		go("the rest", 0);
	}
	sys(__NR_unlink, "/tiny_uring_two"), sys(__NR_unlink, "/tiny_uring_three");
	next(IORING_OP_LINKAT, AT_FDCWD, "/tiny_uring_file", AT_FDCWD, (ulong)"/tiny_uring_two", 4);
	go("linked", 1);
	next(IORING_OP_RENAMEAT, AT_FDCWD, "tiny_uring_two", AT_FDCWD, (ulong)"tiny_uring_three", 5);
	go("renamed", 1);
	sys(__NR_close, ring);
}

/* a time-out of a request whose chain broke is told of, too */
static void chains(void)
{
	static struct __kernel_timespec soon = { 0, 60000000 }, late = { 5, 0 };
	setup(16, 0);
	next(IORING_OP_POLL_ADD, pipes[0], 0, 0, 0, 1)->flags = IOSQE_IO_LINK;
	next(IORING_OP_LINK_TIMEOUT, -1, &soon, 1, 0, 2)->flags = IOSQE_IO_LINK;
	next(IORING_OP_NOP, -1, 0, 0, 0, 3)->flags = IOSQE_IO_LINK;
	next(IORING_OP_POLL_ADD, pipes[0], 0, 0, 0, 4)->flags = IOSQE_IO_LINK;
	next(IORING_OP_LINK_TIMEOUT, -1, &late, 1, 0, 5)->flags = IOSQE_IO_LINK;
	next(IORING_OP_NOP, -1, 0, 0, 0, 6);
	go("begun", 0);
	enter(0, 6, IORING_ENTER_GETEVENTS);
	reap("broken");
	sys(__NR_close, ring);
}

/* IOSQE_IO_DRAIN: behind all that was laid down before, and all that comes after it behind it */
static void drains(void)
{
	setup(16, 0);
	next(IORING_OP_READ, pipes[0], buf, 3, 0, 1)->flags = IOSQE_IO_LINK;
	next(IORING_OP_READ, pipes[0], buf, 3, 0, 2);
	next(IORING_OP_NOP, -1, 0, 0, 0, 3)->flags = IOSQE_IO_DRAIN;
	next(IORING_OP_NOP, -1, 0, 0, 0, 4);
	go("two reads in front", 0);
	sys(__NR_write, pipes[1], "one", 3);
	later("the first");
	sys(__NR_write, pipes[1], "two", 3);
	later("the second");
	next(IORING_OP_READ, pipes[0], buf, 3, 0, 1);
	next(IORING_OP_NOP, -1, 0, 0, 0, 2)->flags = IOSQE_IO_LINK;
	next(IORING_OP_READ, pipes[0], buf, 3, 0, 3)->flags = IOSQE_IO_DRAIN;
	next(IORING_OP_NOP, -1, 0, 0, 0, 4);
	go("in the middle of a chain", 0);
	for (int i = 0; i < 2; i++) {
		sys(__NR_write, pipes[1], "one", 3);
		nap(10);
		later("written to");
	}
	sys(__NR_close, ring);
}

/* files into places that are free, and from instance to instance */
static void slots(void)
{
	int fds[4], to[2] = { pipes[0], -1 }, first;
	struct io_uring_sqe *e;
	setup(16, 0);
	next(IORING_OP_FILES_UPDATE, -1, to, 1, IORING_FILE_INDEX_ALLOC, 1);
	go("no places", 1);
	memset(fds, -1, sizeof(fds));
	say("register %r\n", reg(IORING_REGISTER_FILES, fds, 4));
	for (int i = 0; i < 5; i++) {
		to[0] = to[1] = pipes[i & 1];
		next(IORING_OP_FILES_UPDATE, -1, to, i == 4 ? 2 : 1, IORING_FILE_INDEX_ALLOC, i);
		go("a place", 1);
		say("told %d\n", to[0]);
	}
	to[0] = 99;
	next(IORING_OP_FILES_UPDATE, -1, to, 1, IORING_FILE_INDEX_ALLOC, 6);
	go("no such file", 1);
	first = ring;
	char *its_sq = sq, *its_sqes = sqes_at;
	struct io_uring_params its = p;
	setup(4, 0);
	int second = ring;
	static const long commands[] = { IORING_MSG_SEND_FD, IORING_MSG_SEND_FD, IORING_MSG_SEND_FD, IORING_MSG_SEND_FD, 7 };
	for (int i = 0; i < 5; i++) {
		ring = first, sq = its_sq, sqes_at = its_sqes, p = its, queued = 0;
		if (i == 1)
			say("register %r\n", sys(__NR_io_uring_register, second, IORING_REGISTER_FILES, fds, 4));
		e = next(IORING_OP_MSG_RING, i == 3 ? first : second, (void *)commands[i], 55, 66, i);
		e->addr3 = i == 2 ? 9 : 1, e->file_index = 2;
		go("message", 1);
		sq = map(0, its.sq_off.array + 16, 3, MAP_SHARED, second, 0);
		reap("got");
		sq = its_sq;
	}
	sys(__NR_close, first);
	sys(__NR_close, second);
}

static void zero_copies(void)
{
	struct sockaddr_in a = { AF_INET, 0, { 0 } };
	unsigned size = sizeof(a);
	setup(16, 0);
	a.sin_addr.s_addr = 0x0100007f;
	int to = sys(__NR_socket, AF_INET, 2, 0), from = sys(__NR_socket, AF_INET, 2, 0);
	sys(__NR_bind, to, &a, sizeof(a));
	sys(__NR_getsockname, to, &a, &size);
	struct { void *name; int namelen; struct iovec *iov; ulong iovlen; void *control; ulong controllen; unsigned flags; } m = { &a, sizeof(a), &iov, 1 };
	next(IORING_OP_SENDMSG_ZC, from, &m, 1, 0, 1);
	go("message", 2);
	next(IORING_OP_SENDMSG_ZC, from, &m, 1, 5, 2);
	go("with an offset", 1);
	next(IORING_OP_SENDMSG_ZC, from, &m, 1, 0, 3)->flags = IOSQE_CQE_SKIP_SUCCESS;
	go("told of in silence", 1);
	say("received %r\n", sys(__NR_read, to, buf, 100));
	sys(__NR_close, ring);
}

static long thread_said[3];
static int thread(void *unused)
{
	thread_said[0] = enter(1, 0, 0);
	thread_said[1] = enter(0, 0, IORING_ENTER_GETEVENTS);
	thread_said[2] = reg(IORING_REGISTER_FILES, pipes, 2);
	return 0;
}
static void single(unsigned flags)
{
	static char stack[16384] __attribute__((aligned(16)));
	setup(16, flags);
	next(IORING_OP_NOP, -1, 0, 0, 0, 1);
	long tid = start_thread(thread, 0, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, stack + sizeof(stack));
	while (sys(__NR_tkill, tid, 0) == 0)
		nap(1);
	say("flags %x: a thread may submit %r wait %r register %r\n", (long)flags, thread_said[0], thread_said[1], thread_said[2]);
	go("its submitter", 0);
	sys(__NR_close, ring);
}

int main(int argc, char **argv)
{
	sys(__NR_chdir, "/");
	nonblocking();
	connections();
	refused();
	chains();
	drains();
	slots();
	zero_copies();
	single(0);
	single(IORING_SETUP_SINGLE_ISSUER);
	single(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	return 0;
}
