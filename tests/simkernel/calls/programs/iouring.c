/* io_uring: the rings, reads and writes, polls, time-outs, links, sockets, files, buffers, registered things. not: s390x (its cache lines are longer) i386 (so are its paths) */
#include "tiny_uring.h"

static char buf[4096], buf2[4096];
static void set_up(void)
{
	struct io_uring_params q;
	memset(&q, 0, sizeof(q));
	say("refused %r", sys(__NR_io_uring_setup, 0, &q));
	say(" %r", sys(__NR_io_uring_setup, 40000, &q));
	q.flags = 1 << 20;
	say(" %r", sys(__NR_io_uring_setup, 8, &q));
	q.flags = 0, q.resv[0] = 1;
	say(" %r %r\n", sys(__NR_io_uring_setup, 8, &q), sys(__NR_io_uring_setup, 8, 8));
	setup(5, 0);
	say("entries %d %d features %x\n", (int)p.sq_entries, (int)p.cq_entries, (long)p.features & 0x1fff);
	say("sq %d %d %d %d %d %d %d\n", p.sq_off.head, p.sq_off.tail, p.sq_off.ring_mask, p.sq_off.ring_entries, p.sq_off.flags, p.sq_off.dropped, p.sq_off.array);
	say("cq %d %d %d %d %d %d %d\n", p.cq_off.head, p.cq_off.tail, p.cq_off.ring_mask, p.cq_off.ring_entries, p.cq_off.overflow, p.cq_off.cqes, p.cq_off.flags);
	say("ring %d %d %d %d\n", R(sq + p.sq_off.ring_mask), R(sq + p.sq_off.ring_entries), R(sq + p.cq_off.ring_mask), R(sq + p.cq_off.ring_entries));
	static char name[64] = "";
	char link[] = "/proc/self/fd/x";
	link[14] = '0' + ring;
	name[sys(__NR_readlinkat, AT_FDCWD, link, name, 63)] = 0;
	say("%s cloexec %r\n", name, sys(__NR_fcntl, ring, 1));
	say("enter %r %r %r", sys(__NR_io_uring_enter, ring, 0, 0, 1 << 10, 0, 0), sys(__NR_io_uring_enter, 99, 0, 0, 0, 0, 0), sys(__NR_io_uring_enter, 1, 0, 0, 0, 0, 0));
	say(" nothing %r map %s\n", enter(0, 0, 0), bad(map(0, 4096, 3, MAP_SHARED, ring, 0x20000000)) ? "refused" : "there");
	sys(__NR_close, ring);
	setup(4, IORING_SETUP_CQSIZE), setup(0x10000, IORING_SETUP_CLAMP);
	say("clamped %d %d\n", (int)p.sq_entries, (int)p.cq_entries);
	sys(__NR_close, ring);
}

static void transfers(void)
{
	int fd = sys(__NR_openat, AT_FDCWD, "/tmp/uring", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct iovec v[2] = { { buf, 3 }, { buf2, 5 } };
	next(IORING_OP_NOP, -1, 0, 0, 0, 1), next(IORING_OP_NOP, 99, 0, 0, 0, 2);
	go("nop", 2);
	next(IORING_OP_WRITE, fd, "hello world", 11, 0, 3);
	go("write", 1);
	next(IORING_OP_READV, fd, v, 2, 2, 4);
	go("readv", 1);
	say("'%s' '%s'\n", buf, buf2);
	memset(buf, 0, 16);
	next(IORING_OP_READ, fd, buf, 100, 6, 5)->flags = IOSQE_IO_LINK | IOSQE_IO_HARDLINK;
	next(IORING_OP_WRITEV, fd, v, 1, -1ULL, 6), next(IORING_OP_FSYNC, fd, 0, 0, 0, 7);
	go("three", 3);
	say("'%s' at %r\n", buf, sys(__NR_lseek, fd, 0, 1));
	next(IORING_OP_READ, 99, buf, 1, 0, 8), next(IORING_OP_READ, fd, (void *)8, 1, 0, 9), next(IORING_OP_READ, fd, buf, 1, 1000, 10);
	go("wrong", 3);
	next(200, fd, 0, 0, 0, 11), next(IORING_OP_NOP, 0, 0, 0, 0, 12);
	say("unknown %r", enter(2, 0, 1));
	reap("");
	say("left %r", enter(1, 0, 1));
	reap("");
	queued = 0;
	next(IORING_OP_NOP, 0, 0, 0, 0, 13)->flags = 0x80;
	go("flags", 1);
	next(IORING_OP_FSYNC, fd, (void *)1, 0, 0, 14);
	go("fsync with address", 1);
	next(IORING_OP_FALLOCATE, fd, (void *)100, 0, 0, 15);
	go("fallocate", 1);
	say("size %r\n", sys(__NR_lseek, fd, 0, 2));
	{
		unsigned index = R(sq + p.sq_off.tail) & R(sq + p.sq_off.ring_mask);
		next(IORING_OP_NOP, 0, 0, 0, 0, 16);
		R(sq + p.sq_off.array + 4 * index) = 77;
		go("bad index", 0);
		say("dropped %d\n", R(sq + p.sq_off.dropped));
		R(sq + p.sq_off.array + 4 * index) = index;
	}
	sys(__NR_close, fd);
}

static void waits(void)
{
	int pipe[2];
	struct __kernel_timespec t = { 0, 20000000 }, past = { 0, 0 };
	sys(__NR_pipe2, pipe, 0);
	next(IORING_OP_READ, pipe[0], buf, 10, -1ULL, 1);
	go("nothing yet", 0);
	sys(__NR_write, pipe[1], "ready", 5);
	go("read", 1);
	next(IORING_OP_POLL_ADD, pipe[0], 0, 0, 0, 2)->poll32_events = POLLIN;
	go("poll", 0);
	sys(__NR_write, pipe[1], "x", 1);
	go("polled", 1);
	next(IORING_OP_POLL_ADD, pipe[1], 0, 0, 0, 3)->poll32_events = POLLOUT;
	go("ready", 1);
	sys(__NR_read, pipe[0], buf, 1);
	next(IORING_OP_POLL_ADD, pipe[0], 0, IORING_POLL_ADD_MULTI, 0, 4)->poll32_events = POLLIN;
	go("multishot", 0);
	sys(__NR_write, pipe[1], "x", 1);
	go("once", 1);
	sys(__NR_read, pipe[0], buf, 1);
	sys(__NR_write, pipe[1], "x", 1);
	go("twice", 1);
	sys(__NR_read, pipe[0], buf, 1);
	next(IORING_OP_POLL_REMOVE, -1, (void *)4, 0, 0, 5), next(IORING_OP_POLL_REMOVE, -1, (void *)77, 0, 0, 6);
	go("removed", 3);
	next(IORING_OP_READ, pipe[0], buf, 10, -1ULL, 7), next(IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0, 8);
	go("cancel", 2);
	next(IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0, 9);
	go("cancel nothing", 1);
	next(IORING_OP_TIMEOUT, -1, &t, 1, 0, 10);
	go("timeout", 1);
	next(IORING_OP_TIMEOUT, -1, &t, 1, 1, 11), next(IORING_OP_NOP, -1, 0, 0, 0, 12);
	go("one event", 2);
	t.tv_sec = 100;
	next(IORING_OP_TIMEOUT, -1, &t, 1, 0, 13), next(IORING_OP_TIMEOUT_REMOVE, -1, (void *)13, 0, 0, 14);
	go("timeout removed", 2);
	next(IORING_OP_TIMEOUT_REMOVE, -1, (void *)13, 0, 0, 15), next(IORING_OP_TIMEOUT, -1, &t, 2, 0, 16);
	go("refused", 2);
	t.tv_sec = 0;
	next(IORING_OP_READ, pipe[0], buf, 10, -1ULL, 17)->flags = IOSQE_IO_LINK;
	next(IORING_OP_LINK_TIMEOUT, -1, &t, 1, 0, 18);
	go("linked timeout", 2);
	next(IORING_OP_TIMEOUT, -1, &past, 1, 0, 19);
	go("at once", 1);
	{
		struct io_uring_getevents_arg arg = { 0, 8, 0, (ulong)&t };
		say("patience %r", sys(__NR_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, sizeof(arg)));
		say(" %r\n", sys(__NR_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, 8));
	}
	/* seen by who only looks at the ring */
	next(IORING_OP_READ, pipe[0], buf, 10, -1ULL, 20);
	go("", 0);
	sys(__NR_write, pipe[1], "look", 4);
	while (R(sq + p.cq_off.head) == R(sq + p.cq_off.tail))
		;
	reap("seen");
	sys(__NR_close, pipe[1]);
	next(IORING_OP_READ, pipe[0], buf, 10, -1ULL, 21);
	go("end", 1);
	sys(__NR_close, pipe[0]);
}

static void links(void)
{
	int fd = sys(__NR_openat, AT_FDCWD, "/tmp/uring", O_RDWR | O_CREAT | O_TRUNC, 0600);
	next(IORING_OP_WRITE, fd, "abc", 3, 0, 1)->flags = IOSQE_IO_LINK;
	next(IORING_OP_READ, fd, buf, 3, 0, 2)->flags = IOSQE_IO_LINK;
	next(IORING_OP_NOP, 0, 0, 0, 0, 3);
	go("chain", 3);
	next(IORING_OP_READ, fd, buf, 10, 0, 4)->flags = IOSQE_IO_LINK;
	next(IORING_OP_NOP, 0, 0, 0, 0, 5)->flags = IOSQE_IO_LINK;
	next(IORING_OP_NOP, 0, 0, 0, 0, 6);
	next(IORING_OP_NOP, 0, 0, 0, 0, 7);
	go("broken by a short read", 4);
	next(IORING_OP_READ, 99, buf, 10, 0, 8)->flags = IOSQE_IO_HARDLINK;
	next(IORING_OP_NOP, 0, 0, 0, 0, 9);
	go("hard", 2);
	next(IORING_OP_NOP, 0, 0, 0, 0, 10)->flags = IOSQE_IO_LINK;
	next(200, 0, 0, 0, 0, 11);
	go("bad end", 2);
	next(IORING_OP_NOP, 0, 0, 0, 0, 12)->flags = IOSQE_CQE_SKIP_SUCCESS;
	next(IORING_OP_READ, 99, buf, 10, 0, 13)->flags = IOSQE_CQE_SKIP_SUCCESS;
	go("skipped", 1);
	next(IORING_OP_NOP, 0, 0, 0, 0, 14), next(IORING_OP_NOP, 0, 0, 0, 0, 15)->flags = IOSQE_IO_DRAIN;
	go("drain", 2);
	next(IORING_OP_NOP, 0, 0, 0, 0, 16)->flags = IOSQE_ASYNC;
	go("async", 1);
	sys(__NR_close, fd);
}

static void sockets(void)
{
	struct { unsigned short family; char path[14]; } a = { 1, "\0uring" };
	int listener = sys(__NR_socket, 1, 1, 0), client = sys(__NR_socket, 1, 1, 0), server;
	struct iovec v = { buf, 10 };
	struct { void *name; int namelen; void *iov; size_t iovlen; void *control; size_t controllen; unsigned flags; } m = { 0, 0, &v, 1 };
	sys(__NR_bind, listener, &a, 8), sys(__NR_listen, listener, 5);
	next(IORING_OP_ACCEPT, listener, 0, 0, 0, 1);
	go("accept", 0);
	next(IORING_OP_CONNECT, client, &a, 0, 8, 2);
	queued = 1;
	say("%r ", enter(1, 2, 1));
	queued = 0;
	{
		unsigned head = R(sq + p.cq_off.head);
		server = -1;
		for (int i = 0; i < 2; i++, head++) {
			struct io_uring_cqe *c = (void *)(sq + p.cq_off.cqes + 16 * (head & R(sq + p.cq_off.ring_mask)));
			if (c->user_data == 1)
				server = c->res, c->res = 0;
		}
		R(sq + p.cq_off.head) = head;
	}
	say("server %d\n", server > 2);
	next(IORING_OP_RECV, server, buf, 10, 0, 3), next(IORING_OP_SEND, client, "hello", 5, 0, 4);
	go("send", 2);
	next(IORING_OP_RECVMSG, server, &m, 1, 0, 5);
	next(IORING_OP_SENDMSG, client, &m, 1, 0, 6);
	go("messages", 2);
	next(IORING_OP_SHUTDOWN, client, 0, 1, 0, 7)->flags = IOSQE_IO_LINK;
	next(IORING_OP_RECV, server, buf, 10, 0, 8);
	go("shutdown", 2);
	next(IORING_OP_SEND, 1, "x", 1, 0, 9), next(IORING_OP_CONNECT, client, &a, 0, 8, 10), next(IORING_OP_RECV, listener, buf, 1, 0, 11);
	go("wrong", 3);
	next(IORING_OP_SOCKET, 1, 0, 0, 1, 12);
	go("socket", 1);
	next(IORING_OP_CLOSE, client, 0, 0, 0, 13), next(IORING_OP_CLOSE, 99, 0, 0, 0, 14), next(IORING_OP_CLOSE, ring, 0, 0, 0, 15);
	go("close", 3);
	sys(__NR_close, server), sys(__NR_close, listener);
}

static void files(void)
{
	static struct statx stx;
	struct { unsigned long long flags, mode, resolve; } how = { O_RDONLY };
	int pipe[2];
	next(IORING_OP_MKDIRAT, AT_FDCWD, "/tmp/udir", 0755, 0, 1)->flags = IOSQE_IO_LINK;
	next(IORING_OP_OPENAT, AT_FDCWD, "/tmp/udir/f", 0600, 0, 2)->open_flags = O_CREAT | O_RDWR;
	enter(2, 2, 1), queued = 0;
	say("made %r", sys(__NR_faccessat, AT_FDCWD, "/tmp/udir/f", 0));
	R(sq + p.cq_off.head) += 2;
	next(IORING_OP_STATX, AT_FDCWD, "/tmp/udir/f", STATX_BASIC_STATS, (ulong)&stx, 3), next(IORING_OP_OPENAT, AT_FDCWD, "/tmp/udir/none", 0, 0, 4);
	go(" statx", 2);
	say("mode %x\n", (long)stx.stx_mode);
	next(IORING_OP_RENAMEAT, AT_FDCWD, "/tmp/udir/f", AT_FDCWD, (ulong) "/tmp/udir/g", 5)->flags = IOSQE_IO_LINK;
	next(IORING_OP_UNLINKAT, AT_FDCWD, "/tmp/udir/g", 0, 0, 6)->flags = IOSQE_IO_LINK;
	next(IORING_OP_UNLINKAT, AT_FDCWD, "/tmp/udir", 0, 0, 7)->unlink_flags = 0x200;
	go("rename", 3);
	next(IORING_OP_OPENAT2, AT_FDCWD, "/tmp/nowhere", sizeof(how), (ulong)&how, 8);
	go("openat2", 1);
	sys(__NR_pipe2, pipe, 0);
	sys(__NR_write, pipe[1], "spliced", 7);
	int fd = sys(__NR_openat, AT_FDCWD, "/tmp/uring", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct io_uring_sqe *e = next(IORING_OP_SPLICE, fd, 0, 100, 0, 9);
	e->splice_fd_in = pipe[0], e->splice_off_in = -1ULL;
	go("splice", 1);
	sys(__NR_close, pipe[0]), sys(__NR_close, pipe[1]), sys(__NR_close, fd);
}

static void registered(void)
{
	int fd = sys(__NR_openat, AT_FDCWD, "/tmp/uring", O_RDWR | O_CREAT | O_TRUNC, 0600), fds[3] = { fd, -1, fd }, event = sys(__NR_eventfd2, 0, O_NONBLOCK);
	struct iovec v[2] = { { buf, 4096 }, { buf2, 100 } };
	unsigned long long count = 0;
	struct io_uring_files_update up = { 1, 0, (ulong)&fds[0] };
	static struct { struct io_uring_probe p; struct io_uring_probe_op ops[256]; } probe;
	say("buffers %r", reg(0, v, 2)), say(" again %r", reg(0, v, 2));
	say(" files %r", reg(2, fds, 3)), say(" again %r\n", reg(2, fds, 3));
	memcpy(buf, "fixed", 6);
	next(IORING_OP_WRITE_FIXED, fd, buf, 5, 0, 1)->flags = IOSQE_IO_LINK;
	next(IORING_OP_READ_FIXED, fd, buf2, 5, 0, 2)->buf_index = 1;
	next(IORING_OP_READ_FIXED, fd, buf2, 101, 0, 3)->buf_index = 1;
	next(IORING_OP_READ_FIXED, fd, buf2, 5, 0, 4)->buf_index = 7;
	go("fixed buffers", 4);
	say("'%s'\n", buf2);
	next(IORING_OP_READ, 0, buf2, 5, 0, 5)->flags = IOSQE_FIXED_FILE;
	next(IORING_OP_READ, 1, buf2, 5, 0, 6)->flags = IOSQE_FIXED_FILE;
	next(IORING_OP_READ, 9, buf2, 5, 0, 7)->flags = IOSQE_FIXED_FILE;
	go("fixed files", 3);
	say("update %r", reg(6, &up, 1));
	next(IORING_OP_READ, 1, buf2, 5, 0, 8)->flags = IOSQE_FIXED_FILE;
	go("", 1);
	say("eventfd %r", reg(4, &event, 1)), say(" again %r", reg(4, &event, 1));
	next(IORING_OP_NOP, 0, 0, 0, 0, 9), next(IORING_OP_NOP, 0, 0, 0, 0, 10);
	go("", 2);
	say("told %r", sys(__NR_read, event, &count, 8));
	say(" %d\n", count > 0);
	say("away %r", reg(1, 0, 0)), say(" %r", reg(1, 0, 0)), say(" %r", reg(3, 0, 0)), say(" %r\n", reg(5, 0, 0));
	say("probe %r", reg(8, &probe, 256)), say(" some %d", probe.p.last_op >= 45 && probe.p.ops_len == probe.p.last_op + 1);
	say(" nop %d\n", probe.ops[0].flags);
	say("unknown %r bad %r\n", reg(200, 0, 0), reg(8, 0, 1));
	/* provided buffers */
	next(IORING_OP_PROVIDE_BUFFERS, 3, buf, 10, 5, 11)->buf_group = 7;
	struct io_uring_sqe *e = next(IORING_OP_READ, fd, 0, 4, 0, 12);
	e->flags = IOSQE_BUFFER_SELECT, e->buf_group = 7;
	e = next(IORING_OP_READ, fd, 0, 4, 0, 13);
	e->flags = IOSQE_BUFFER_SELECT, e->buf_group = 8;
	go("provided", 3);
	next(IORING_OP_REMOVE_BUFFERS, 9, 0, 0, 0, 14)->buf_group = 7;
	go("removed", 1);
	sys(__NR_close, fd), sys(__NR_close, event);
}

static void overflow(void)
{
	sys(__NR_close, ring);
	setup(2, 0);
	for (int i = 0; i < 3; i++) {
		next(IORING_OP_NOP, 0, 0, 0, 0, 2 * i), next(IORING_OP_NOP, 0, 0, 0, 0, 2 * i + 1);
		say("%r ", enter(2, 0, 0));
	}
	queued = 0;
	say("overflow %d flags %x\n", R(sq + p.cq_off.overflow), (long)R(sq + p.sq_off.flags));
	reap("first");
	go("rest", 0);
	say("flags %x\n", (long)R(sq + p.sq_off.flags));
	sys(__NR_close, ring);
	setup(4, IORING_SETUP_R_DISABLED);
	say("disabled %r", enter(0, 0, 0));
	say(" enable %r", reg(12, 0, 0)), say(" again %r", reg(12, 0, 0)), say(" now %r\n", enter(0, 0, 0));
	sys(__NR_close, ring);
}

int main(int argc, char **argv)
{
	set_up();
	setup(8, 0);
	transfers();
	waits();
	links();
	sockets();
	files();
	registered();
	overflow();
	return 0;
}
