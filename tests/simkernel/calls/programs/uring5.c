/* io_uring: all of a stream, silence, broken chains, places of pipes, addresses and buffers of sends. not: s390x i386 (cache lines and x86-64's calls) */
#include "tiny_uring.h"
#include <linux/in.h>
#include <linux/socket.h>
#define AF_UNIX 1
#define AF_INET 2
#define WAITALL 0x100
static char buf[256], more[256];
static int pipes[2];
struct msg { void *name; int namelen; struct iovec *iov; ulong iovlen; void *control; ulong controllen; unsigned flags; };

static void later(const char *what)
{
	enter(0, 1, IORING_ENTER_GETEVENTS);
	reap(what);
}

static void all_of_it(void)
{
	int pair[2];
	static struct iovec iov[2] = { { buf, 3 }, { more, 20 } };
	struct msg m = { 0, 0, iov, 2 };
	setup(16, 0);
	sys(__NR_socketpair, AF_UNIX, 1, 0, pair);
	next(IORING_OP_RECV, pair[0], buf, 10, 0, 1)->msg_flags = WAITALL;
	go("receive", 0);
	sys(__NR_write, pair[1], "four", 4);
	enter(0, 0, IORING_ENTER_GETEVENTS);
	reap("a part");
	sys(__NR_write, pair[1], "and ten", 7);
	later("the rest");
	say("%s\n", buf);
	sys(__NR_read, pair[0], buf, 1);
	next(IORING_OP_RECVMSG, pair[0], &m, 1, 0, 2)->msg_flags = WAITALL;
	next(IORING_OP_RECVMSG, pair[0], &m, 1, 0, 3)->msg_flags = WAITALL;
	sys(__NR_write, pair[1], "twelve bytes", 12);
	go("message", 0);
	sys(__NR_write, pair[1], "eleven more", 11);
	later("the rest");
	say("%s\n", more);
	sys(__NR_write, pair[1], "end", 3);
	sys(__NR_close, pair[1]);
	later("no more comes");
	sys(__NR_close, pair[0]);
	sys(__NR_socketpair, AF_UNIX, 2, 0, pair);
	sys(__NR_write, pair[1], "datagram", 8);
	next(IORING_OP_RECV, pair[0], buf, 100, 0, 4)->msg_flags = WAITALL;
	go("of a datagram", 1);
	next(IORING_OP_RECV, pair[0], buf, 100, 0, 5)->flags = IOSQE_IO_LINK;
	next(IORING_OP_NOP, -1, 0, 0, 0, 6);
	sys(__NR_write, pair[1], "datagram", 8);
	go("less than asked", 2);
	struct { ulong len; int level, type, fd; } control = { sizeof(control) - 4, 1, 1, ring };
	m.control = &control, m.controllen = sizeof(control);
	say("the ring over a socket %r\n", sys(__NR_sendmsg, pair[1], &m, 0));
	sys(__NR_close, ring);
}

/* a chain of five NOPs, which of them fails, and how each is tied to the next */
static void chain(const char *what, int bad, int how, unsigned flags)
{
	setup(16, 0);
	for (int i = 0; i < 5; i++) {
		struct io_uring_sqe *e = next(IORING_OP_NOP, -1, 0, 0, 0, i);
		if (i == bad && how == 0)
			e->opcode = 200; /* refused when it is laid down */
		if (i == bad && how == 1)
			e->opcode = IORING_OP_READ, e->fd = 99, e->len = 1;
		if (i < 4)
			e->flags = flags;
	}
	say("%s, %d fails: ", what, bad);
	go("", 1);
	queued = 5;
	go("again", 0);
	sys(__NR_close, ring);
}
static void chains(void)
{
	static struct __kernel_timespec soon = { 0, 1000000 }, far = { 5, 0 };
	static const unsigned kinds[] = { IOSQE_IO_LINK, IOSQE_IO_HARDLINK, IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS, IOSQE_IO_HARDLINK | IOSQE_CQE_SKIP_SUCCESS };
	static const char *const names[] = { "links", "hard links", "silent links", "silent hard links" };
	for (int kind = 0; kind < 4; kind++)
		for (int how = 0; how < 2; how++)
			for (int bad = 0; bad < 5; bad += 2)
				chain(names[kind], bad, how, kinds[kind]);
	setup(16, 0);
	for (int silent = 0; silent < 2; silent++) {
		unsigned skip = silent ? IOSQE_CQE_SKIP_SUCCESS : 0;
		next(IORING_OP_NOP, -1, 0, 0, 0, 1)->flags = IOSQE_IO_LINK | skip;
		next(IORING_OP_LINK_TIMEOUT, -1, &far, 1, 0, 2)->flags = IOSQE_IO_LINK | skip;
		next(IORING_OP_NOP, -1, 0, 0, 0, 3);
		go("a time-out in time", 1);
		next(IORING_OP_READ, pipes[0], buf, 1, 0, 1)->flags = IOSQE_IO_LINK | skip;
		next(IORING_OP_LINK_TIMEOUT, -1, &soon, 1, 0, 2)->flags = IOSQE_IO_LINK | skip;
		next(IORING_OP_NOP, -1, 0, 0, 0, 3);
		go("a time-out", 1);
		nap(20);
		enter(0, 0, IORING_ENTER_GETEVENTS);
		reap("then");
	}
	for (int success = 0; success < 2; success++) {
		struct io_uring_sqe *e = next(IORING_OP_TIMEOUT, -1, &soon, 1, 0, 1);
		e->flags = IOSQE_IO_LINK, e->timeout_flags = success ? IORING_TIMEOUT_ETIME_SUCCESS : 0;
		next(IORING_OP_NOP, -1, 0, 0, 0, 2);
		go("over", 2);
	}
	sys(__NR_close, ring);
}

static void splices(void)
{
	int other[2], fd = sys(__NR_open, "/tiny_uring_splice", O_CREAT | O_TRUNC | O_RDWR, 0600);
	struct io_uring_sqe *e;
	setup(16, 0);
	sys(__NR_pipe2, other, 0);
	sys(__NR_write, fd, "0123456789", 10);
	static const long long places[][2] = { { 2, -1 }, { -1, -1 }, { 2, 0 } };
	for (int i = 0; i < 3; i++) {
		e = next(IORING_OP_SPLICE, pipes[1], 0, 4, places[i][1], i), e->splice_fd_in = fd, e->splice_off_in = places[i][0];
		go("into a pipe", 1);
	}
	e = next(IORING_OP_SPLICE, fd, 0, 4, 5, 3), e->splice_fd_in = pipes[0], e->splice_off_in = 0;
	go("from a place of a pipe", 1);
	e = next(IORING_OP_SPLICE, -1, 0, 0, -1, 4), e->splice_fd_in = pipes[0], e->splice_off_in = -1;
	go("nothing to nobody", 1);
	e = next(IORING_OP_SPLICE, fd, 0, 4, -1, 5), e->splice_fd_in = pipes[0], e->splice_off_in = -1, e->splice_flags = 0x100;
	go("flags", 1);
	say("register %r\n", reg(IORING_REGISTER_FILES, pipes, 2));
	e = next(IORING_OP_TEE, other[1], 0, 3, 0, 6), e->splice_fd_in = 0, e->splice_flags = SPLICE_F_FD_IN_FIXED;
	go("tee from a registered file", 1);
	e = next(IORING_OP_TEE, 1, 0, 3, 0, 7), e->splice_fd_in = 5, e->splice_flags = SPLICE_F_FD_IN_FIXED, e->flags = IOSQE_FIXED_FILE;
	go("tee from none", 1);
	e = next(IORING_OP_SPLICE, fd, 0, 4, 12, 8), e->splice_fd_in = 0, e->splice_off_in = -1, e->splice_flags = SPLICE_F_FD_IN_FIXED;
	go("splice from a registered file", 1);
	memset(buf, 0, sizeof(buf));
	sys(__NR_lseek, fd, 0, 0);
	say("file %r", sys(__NR_read, fd, buf, 20));
	say(" %s, tee %r\n", buf, sys(__NR_read, other[0], buf, 20));
	sys(__NR_close, ring);
}

static void sends(void)
{
	struct sockaddr_in a = { AF_INET, 0, { 0 } };
	unsigned size = sizeof(a);
	struct { char name[16]; short flags; char rest[22]; } lo = { "lo", 1 }; /* struct ifreq, IFF_UP */
	struct iovec iov = { buf, 64 };
	struct io_uring_sqe *e;
	setup(16, 0);
	a.sin_addr.s_addr = 0x0100007f;
	int to = sys(__NR_socket, AF_INET, 2, 0), from = sys(__NR_socket, AF_INET, 2, 0);
	sys(__NR_ioctl, to, 0x8914, &lo); /* SIOCSIFFLAGS */
	sys(__NR_bind, to, &a, sizeof(a));
	sys(__NR_getsockname, to, &a, &size);
	say("buffers %r\n", reg(IORING_REGISTER_BUFFERS, &iov, 1));
	for (int i = 0; i < 9; i++) {
		int zero_copy = i > 2;
		e = next(zero_copy ? IORING_OP_SEND_ZC : IORING_OP_SEND, from, buf, 8, i == 1 ? 1 : (ulong)&a, i);
		e->addr_len = i == 2 ? 200 : sizeof(a);
		if (i == 4)
			e->addr2 = 1;
		if (i > 4)
			e->ioprio = 4, e->buf_index = i == 6 ? 1 : 0; /* IORING_RECVSEND_FIXED_BUF */
		if (i == 7)
			e->addr = (ulong)buf + 60;
		if (i == 8)
			e->addr = (ulong)more;
		go(zero_copy ? "zero-copy" : "send", 1);
		enter(0, 0, IORING_ENTER_GETEVENTS);
		reap("then");
	}
	sys(__NR_close, ring);
}

/* more completions than the ring has room for: the last that finds none ends the request */
static void too_many(void)
{
	setup(2, 0); /* four completions */
	next(IORING_OP_POLL_ADD, pipes[0], 0, IORING_POLL_ADD_MULTI, 0, 1)->poll32_events = POLLIN;
	go("multishot", 0);
	for (int i = 0; i < 7; i++)
		sys(__NR_write, pipes[1], "x", 1), enter(0, 0, 0);
	enter(0, 0, IORING_ENTER_GETEVENTS);
	reap("four");
	enter(0, 0, IORING_ENTER_GETEVENTS);
	reap("and");
	sys(__NR_write, pipes[1], "x", 1);
	enter(0, 0, IORING_ENTER_GETEVENTS);
	reap("then");
	sys(__NR_close, ring);
}

/* a registered socket is gone when nobody has it any more */
static void ports(void)
{
	struct sockaddr_in a = { AF_INET, 0, { 0 } };
	unsigned size = sizeof(a);
	for (int closes = 0; closes < 2; closes++) {
		int fd = sys(__NR_socket, AF_INET, 2, 0);
		setup(4, 0);
		a.sin_port = 0;
		sys(__NR_bind, fd, &a, sizeof(a));
		sys(__NR_getsockname, fd, &a, &size);
		reg(IORING_REGISTER_FILES, &fd, 1);
		sys(__NR_close, fd);
		int again = sys(__NR_socket, AF_INET, 2, 0);
		say("port %r", sys(__NR_bind, again, &a, sizeof(a)));
		if (!closes)
			reg(IORING_UNREGISTER_FILES, 0, 0);
		sys(__NR_munmap, sq, p.sq_off.array + p.sq_entries * 4);
		sys(__NR_munmap, sqes_at, p.sq_entries * 64);
		sys(__NR_close, ring);
		nap(200);
		say(" then %r\n", sys(__NR_bind, again, &a, sizeof(a)));
	}
}

/* who submits ends, and others have the instance */
static void heirs(void)
{
	static struct __kernel_timespec soon = { 0, 200000000 };
	setup(8, 0);
	long child = fork();
	if (!child) {
		next(IORING_OP_POLL_ADD, ring, 0, 0, 0, 1)->poll32_events = POLLIN;
		next(IORING_OP_POLL_ADD, pipes[0], 0, 0, 0, 2)->poll32_events = POLLPRI;
		next(IORING_OP_TIMEOUT, -1, &soon, 1, 0, 3);
		enter(3, 0, 0);
		leave(0);
	}
	wait_for(child);
	nap(20);
	enter(0, 0, IORING_ENTER_GETEVENTS);
	reap("its submitter ended");
	later("in time");
	sys(__NR_close, ring);
}

int main(int argc, char **argv)
{
	sys(__NR_pipe2, pipes, 0);
	ports();
	heirs();
	all_of_it();
	chains();
	splices();
	sends();
	too_many();
	return 0;
}
