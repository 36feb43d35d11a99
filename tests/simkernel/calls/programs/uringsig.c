/* io_uring: signals of what its workers do go nowhere. not: s390x i386 (cache lines and x86-64's calls) */
#include "tiny_uring.h"
static char buf[256];
static int pipes[2];
#define MASK(n) (1ULL << ((n) - 1))
static void tell(const char *what)
{
	unsigned long long set = 0;
	sys(__NR_rt_sigpending, &set, 8);
	say("%s: pending %x\n", what, (long)set);
}
int main(int argc, char **argv)
{
	unsigned long long all = MASK(25) | MASK(13); /* SIGXFSZ, SIGPIPE */
	unsigned long limit[2] = { 10, 10 };
	struct iovec iov = { buf, 64 };
	setup(16, 0);
	sys(__NR_rt_sigprocmask, 0, &all, 0, 8);
	int fd = sys(__NR_open, "/tiny_uring_size", O_CREAT | O_TRUNC | O_RDWR, 0600);
	sys(__NR_setrlimit, 1, limit);
	next(IORING_OP_FALLOCATE, fd, (void *)20, 0, 0, 1);
	go("fallocate", 1);
	tell("fallocate");
	next(IORING_OP_WRITE, fd, buf, 20, 0, 2);
	go("a write", 1);
	next(IORING_OP_WRITE, fd, buf, 20, 20, 3);
	go("a write behind the limit", 1);
	next(IORING_OP_WRITEV, fd, &iov, 1, 20, 4);
	go("a vector", 1);
	tell("writes");
	sys(__NR_pipe2, pipes, 0);
	next(IORING_OP_SPLICE, fd, 0, 20, 20, 5)->splice_fd_in = pipes[0];
	sys(__NR_write, pipes[1], "spliced", 7);
	((struct io_uring_sqe *)sqes_at)[4].splice_off_in = -1ULL;
	go("a splice", 1);
	tell("splice");
	sys(__NR_close, pipes[0]);
	next(IORING_OP_WRITE, pipes[1], buf, 5, 0, 6);
	go("a pipe without readers", 1);
	next(IORING_OP_WRITE, pipes[1], buf, 5, 0, 7)->flags = IOSQE_ASYNC;
	go("by a worker", 1);
	tell("pipe");
	sys(__NR_pipe2, pipes, 04000);
	sys(__NR_close, pipes[0]);
	next(IORING_OP_WRITE, pipes[1], buf, 5, 0, 8);
	go("without waiting", 1);
	tell("pipe with O_NONBLOCK");
	int pair[2];
	sys(__NR_socketpair, 1, 1, 0, pair);
	sys(__NR_close, pair[0]);
	next(IORING_OP_WRITE, pair[1], buf, 5, 0, 9);
	go("a socket", 1);
	tell("socket");
	next(IORING_OP_SEND, pair[1], buf, 5, 0, 10);
	go("a send", 1);
	tell("send");
	say("write %r\n", sys(__NR_pwrite64, fd, buf, 20, 20));
	tell("its own");
	return 0;
}
