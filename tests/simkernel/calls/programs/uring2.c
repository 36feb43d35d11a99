/* io_uring, further: what set-up and registering refuse, files that only the ring has, updates of waits, multishot, cancelling, attributes, several rings. not: s390x (its cache lines are longer) i386 (so are its paths) */
#include "tiny_uring.h"
#include <linux/eventpoll.h>
static char buf[4096], buf2[4096];

static void close_ring(void)
{
	sys(__NR_munmap, sq, (p.sq_off.array + p.sq_entries * 4 + 4095) & ~4095UL);
	sys(__NR_munmap, sqes_at, (p.sq_entries * 64 + 4095) & ~4095UL);
	sys(__NR_close, ring);
}
static void set_ups(void)
{
	static const struct { unsigned entries, flags, cq; } rows[] = {
		{ 1, 0, 0 }, { 3, 0, 0 }, { 32768, 0, 0 }, { 32769, 0, 0 }, { 8, IORING_SETUP_CQSIZE, 0 }, { 8, IORING_SETUP_CQSIZE, 7 }, { 8, IORING_SETUP_CQSIZE, 8 }, { 8, IORING_SETUP_CQSIZE, 9 }, { 5, IORING_SETUP_CQSIZE, 6 },
		{ 8, IORING_SETUP_CQSIZE, 65537 }, { 8, IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP, 1 << 20 }, { 8, 0, 77 }, { 8, IORING_SETUP_R_DISABLED, 0 }, { 8, IORING_SETUP_SUBMIT_ALL, 0 }, { 8, IORING_SETUP_COOP_TASKRUN, 0 },
		{ 8, IORING_SETUP_TASKRUN_FLAG, 0 }, { 8, IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_COOP_TASKRUN, 0 }, { 8, IORING_SETUP_SINGLE_ISSUER, 0 }, { 8, IORING_SETUP_DEFER_TASKRUN, 0 }, { 8, IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER, 0 },
		{ 8, IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_TASKRUN_FLAG, 0 }, { 8, IORING_SETUP_SQ_AFF, 0 }, { 8, IORING_SETUP_ATTACH_WQ, 0 }, { 8, 1 << 14, 0 }, { 8, 1 << 31, 0 },
	};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct io_uring_params q;
		memset(&q, 0, sizeof(q));
		q.flags = rows[i].flags, q.cq_entries = rows[i].cq, q.sq_thread_cpu = 5, q.sq_thread_idle = 6;
		long fd = sys(__NR_io_uring_setup, rows[i].entries, &q);
		say("entries %d flags %x cq %d: %s", (int)rows[i].entries, (long)rows[i].flags, (int)rows[i].cq, fd < 0 ? error_name(-fd) : "there");
		if (fd >= 0)
			say(" %d %d flags %x array %d cqes %d", (int)q.sq_entries, (int)q.cq_entries, (long)q.flags, (int)q.sq_off.array, (int)q.cq_off.cqes);
		say("\n");
		sys(__NR_close, fd);
	}
	setup(4, 0);
	say("read %r write %r lseek %r tcgets %r\n", sys(__NR_read, ring, buf, 8), sys(__NR_write, ring, buf, 8), sys(__NR_lseek, ring, 0, 0), sys(__NR_ioctl, ring, 0x5401, buf));
	say("map private %s at odd place %s too long %s\n", bad(map(0, 4096, 3, MAP_PRIVATE, ring, 0)) ? "refused" : "there", bad(map(0, 4096, 3, MAP_SHARED, ring, 4096)) ? "refused" : "there", bad(map(0, 1 << 20, 3, MAP_SHARED, ring, 0)) ? "refused" : "there");
	say("polled %d getfl %x\n", polled(ring, POLLIN | POLLOUT), sys(__NR_fcntl, ring, F_GETFL));
	next(IORING_OP_NOP, 0, 0, 0, 0, 1);
	enter(1, 0, 0), queued = 0;
	say("polled %d\n", polled(ring, POLLIN | POLLOUT));
	reap("nop");
	for (unsigned flags = 1; flags < 64; flags <<= 1)
		say("enter flags %x: %r\n", (long)flags, enter(0, 0, flags));
	say("a wrong size of mask %r", sys(__NR_io_uring_enter, ring, 0, 0, IORING_ENTER_GETEVENTS, buf, 4));
	say(" nowhere %r", sys(__NR_io_uring_enter, ring, 0, 0, IORING_ENTER_GETEVENTS, 8, 8));
	say(" extended without events %r\n", sys(__NR_io_uring_enter, ring, 0, 0, IORING_ENTER_EXT_ARG, 8, 24));
	close_ring();
}
static void registering(void)
{
	struct iovec v[3] = { { buf, 4096 }, { 0, 0 }, { buf2, 0 } };
	int fds[4] = { 0, -1, 99, ring }, event = sys(__NR_eventfd2, 0, O_NONBLOCK);
	for (unsigned op = 0; op < 27; op++)
		say("register %d with nothing: %r\n", (int)op, reg(op, 0, 0));
	say("buffers: none %r nowhere %r too many %r", reg(0, v, 0), reg(0, (void *)8, 1), reg(0, v, 1 << 15));
	v[0].iov_len = 1UL << 31;
	say(" large %r", reg(0, v, 1));
	v[0].iov_len = 0;
	say(" empty %r", reg(0, v, 1));
	v[0] = (struct iovec){ (void *)4096, 4096 };
	say(" unmapped %r", reg(0, v, 1));
	v[0] = (struct iovec){ 0, 5 };
	say(" null with length %r", reg(0, v, 1));
	v[0] = (struct iovec){ buf, 4096 };
	say(" sparse %r", reg(0, v, 2));
	say(" unregister with arguments %r %r\n", reg(1, v, 0), reg(1, 0, 1));
	say("unregister %r\n", reg(1, 0, 0));
	fds[3] = ring;
	say("files: none %r nowhere %r bad %r itself %r too many %r", reg(2, fds, 0), reg(2, (void *)8, 1), reg(2, fds, 3), reg(2, fds + 3, 1), reg(2, fds, 1 << 21));
	say(" two %r\n", reg(2, fds, 2));
	struct io_uring_files_update up = { 0, 0, (ulong)fds };
	say("update: none %r", reg(6, &up, 0));
	up.offset = 2;
	say(" beyond %r", reg(6, &up, 1));
	up.offset = 1;
	say(" over the end %r", reg(6, &up, 2));
	up.resv = 1;
	say(" reserved %r", reg(6, &up, 1));
	up.resv = 0, up.offset = 0, up.fds = (ulong)(fds + 2);
	say(" bad %r", reg(6, &up, 1));
	fds[0] = -2, up.fds = (ulong)fds;
	say(" skip %r", reg(6, &up, 1));
	up.fds = 8;
	say(" nowhere %r\n", reg(6, &up, 1));
	struct io_uring_rsrc_register rr = { 4, IORING_RSRC_REGISTER_SPARSE };
	say("files2 again %r", reg(IORING_REGISTER_FILES2, &rr, sizeof(rr)));
	reg(3, 0, 0);
	say(" sparse %r", reg(IORING_REGISTER_FILES2, &rr, sizeof(rr)));
	say(" size %r", reg(IORING_REGISTER_FILES2, &rr, 8));
	reg(3, 0, 0);
	rr.flags = 2;
	say(" flags %r", reg(IORING_REGISTER_FILES2, &rr, sizeof(rr)));
	rr.flags = 1, rr.data = (ulong)fds;
	say(" sparse with data %r", reg(IORING_REGISTER_FILES2, &rr, sizeof(rr)));
	rr.flags = 0, rr.nr = 0;
	say(" none %r", reg(IORING_REGISTER_FILES2, &rr, sizeof(rr)));
	rr.nr = 1, fds[0] = 0;
	say(" one %r\n", reg(IORING_REGISTER_FILES2, &rr, sizeof(rr)));
	reg(3, 0, 0);
	rr = (struct io_uring_rsrc_register){ 3, IORING_RSRC_REGISTER_SPARSE };
	say("buffers2 sparse %r", reg(IORING_REGISTER_BUFFERS2, &rr, sizeof(rr)));
	struct io_uring_rsrc_update2 ru = { 1, 0, (ulong)v, 0, 1 };
	say(" update %r", reg(IORING_REGISTER_BUFFERS_UPDATE, &ru, sizeof(ru)));
	ru.offset = 3;
	say(" beyond %r", reg(IORING_REGISTER_BUFFERS_UPDATE, &ru, sizeof(ru)));
	say(" size %r\n", reg(IORING_REGISTER_BUFFERS_UPDATE, &ru, 16));
	memcpy(buf, "abcdefgh", 8);
	int fd = sys(__NR_openat, AT_FDCWD, "/tmp/uring2", O_RDWR | O_CREAT | O_TRUNC, 0600);
	next(IORING_OP_WRITE_FIXED, fd, buf, 8, 0, 1)->buf_index = 1;
	go("written from it", 1);
	next(IORING_OP_WRITE_FIXED, fd, buf, 8, 0, 2)->buf_index = 0;
	go("from an empty one", 1);
	say("unregister %r\n", reg(1, 0, 0));
	say("eventfd: two %r bad %r no eventfd %r", reg(4, &event, 2), reg(4, &fds[2], 1), reg(4, &fd, 1));
	say(" asynchronous %r then plain %r\n", reg(7, &event, 1), reg(4, &event, 1));
	reg(5, 0, 0);
	sys(__NR_close, event), sys(__NR_close, fd);
}
static void slots(void)
{
	struct io_uring_rsrc_register rr = { 4, IORING_RSRC_REGISTER_SPARSE };
	struct io_uring_sqe *e;
	int fds[2] = { 0, -1 };
	next(IORING_OP_OPENAT, AT_FDCWD, "/tmp/uring2", 0, 0, 1)->file_index = 1;
	go("no table", 1);
	reg(IORING_REGISTER_FILES2, &rr, sizeof(rr));
	e = next(IORING_OP_OPENAT, AT_FDCWD, "/tmp/uring2", 0, 0, 2), e->file_index = 2;
	go("open into 1", 1);
	next(IORING_OP_READ, 1, buf, 3, 0, 3)->flags = IOSQE_FIXED_FILE;
	go("read", 1);
	e = next(IORING_OP_OPENAT, AT_FDCWD, "/tmp/uring2", 0, 0, 4), e->file_index = 5;
	go("beyond", 1);
	e = next(IORING_OP_OPENAT, AT_FDCWD, "/tmp/uring2", 0, 0, 5), e->file_index = 1, e->open_flags = O_CLOEXEC;
	go("cloexec", 1);
	e = next(IORING_OP_OPENAT, AT_FDCWD, "/tmp/none", 0, 0, 6), e->file_index = 1;
	go("none", 1);
	e = next(IORING_OP_OPENAT, AT_FDCWD, "/tmp/uring2", 0, 0, 7), e->file_index = 2;
	go("taken", 1);
	for (int i = 0; i < 4; i++) {
		e = next(IORING_OP_OPENAT, AT_FDCWD, "/tmp/uring2", 0, 0, 8), e->file_index = IORING_FILE_INDEX_ALLOC;
		go("allocated", 1);
	}
	e = next(IORING_OP_SOCKET, 1, 0, 0, 1, 9), e->file_index = 3;
	go("a socket", 1);
	e = next(IORING_OP_SEND, 2, "x", 1, 0, 10), e->flags = IOSQE_FIXED_FILE;
	go("send", 1);
	next(IORING_OP_CLOSE, 0, 0, 0, 0, 11)->file_index = 2;
	go("close 1", 1);
	next(IORING_OP_CLOSE, 0, 0, 0, 0, 12)->file_index = 2;
	go("again", 1);
	next(IORING_OP_CLOSE, 0, 0, 0, 0, 13)->file_index = 9;
	go("beyond", 1);
	next(IORING_OP_CLOSE, 3, 0, 0, 0, 14)->file_index = 3;
	go("both", 1);
	next(IORING_OP_CLOSE, 3, 0, 0, 0, 15)->flags = IOSQE_FIXED_FILE;
	go("fixed", 1);
	next(IORING_OP_FILES_UPDATE, 0, fds, 2, 0, 16);
	go("update", 1);
	next(IORING_OP_READ, 1, buf, 3, 0, 17)->flags = IOSQE_FIXED_FILE;
	go("emptied", 1);
	struct io_uring_file_index_range range = { 1, 2, 0 };
	say("range %r", reg(IORING_REGISTER_FILE_ALLOC_RANGE, &range, 0));
	range.off = 3;
	say(" beyond %r", reg(IORING_REGISTER_FILE_ALLOC_RANGE, &range, 0));
	range.off = 1;
	say(" with a number %r\n", reg(IORING_REGISTER_FILE_ALLOC_RANGE, &range, 1));
	e = next(IORING_OP_OPENAT, AT_FDCWD, "/tmp/uring2", 0, 0, 18), e->file_index = IORING_FILE_INDEX_ALLOC;
	go("in the range", 1);
	reg(3, 0, 0);
}
static void multishot(void)
{
	struct { unsigned short family; char path[14]; } a = { 1, "\0uring2" };
	int listener = sys(__NR_socket, 1, 1, 0), c1 = sys(__NR_socket, 1, 1, 0), c2 = sys(__NR_socket, 1, 1, 0), pair[2];
	struct io_uring_sqe *e;
	sys(__NR_bind, listener, &a, 9), sys(__NR_listen, listener, 5);
	next(IORING_OP_ACCEPT, listener, 0, 0, 0, 1)->ioprio = 0x80;
	go("accept flags", 1);
	next(IORING_OP_ACCEPT, listener, 0, 0, 0, 2)->ioprio = IORING_ACCEPT_MULTISHOT;
	go("accept", 0);
	say("connect %r", sys(__NR_connect, c1, &a, 9));
	say(" %r\n", sys(__NR_connect, c2, &a, 9));
	go("accepted", 1);
	next(IORING_OP_ASYNC_CANCEL, 0, (void *)2, 0, 0, 3);
	go("cancelled", 2);
	sys(__NR_socketpair, 1, 1, 0, pair);
	next(IORING_OP_PROVIDE_BUFFERS, 3, buf, 10, 5, 4)->buf_group = 7;
	go("provided", 1);
	e = next(IORING_OP_RECV, pair[0], 0, 5, 0, 5), e->ioprio = IORING_RECV_MULTISHOT, e->flags = IOSQE_BUFFER_SELECT, e->buf_group = 7;
	go("length", 1);
	e = next(IORING_OP_RECV, pair[0], 0, 0, 0, 6), e->ioprio = IORING_RECV_MULTISHOT;
	go("no buffers", 1);
	e = next(IORING_OP_RECV, pair[0], 0, 0, 0, 7), e->ioprio = IORING_RECV_MULTISHOT, e->flags = IOSQE_BUFFER_SELECT, e->buf_group = 7;
	go("receive", 0);
	sys(__NR_write, pair[1], "one", 3);
	go("one", 1);
	sys(__NR_write, pair[1], "three", 5);
	go("two", 1);
	say("'%s' '%s'\n", buf, buf + 10);
	sys(__NR_close, pair[1]);
	go("end", 1);
	sys(__NR_close, pair[0]);
	sys(__NR_socketpair, 1, 1, 0, pair);
	next(IORING_OP_RECV, pair[0], buf, 5, 0, 8)->ioprio = IORING_RECVSEND_POLL_FIRST;
	go("poll first", 0);
	sys(__NR_write, pair[1], "12345", 5);
	go("then", 1);
	next(IORING_OP_SEND_ZC, pair[0], "x", 1, 0, 9);
	go("zero copy on unix", 1);
	next(IORING_OP_RECV, pair[0], buf, 5, 0, 10)->ioprio = 0x4000;
	go("unknown flag", 1);
	sys(__NR_close, pair[0]), sys(__NR_close, pair[1]), sys(__NR_close, c1), sys(__NR_close, c2), sys(__NR_close, listener);
	sys(__NR_close, 5), sys(__NR_close, 6);
}
static void updates(void)
{
	struct __kernel_timespec t = { 100, 0 }, soon = { 0, 20000000 }, wrong = { 0, 1000000000 };
	int pipe[2];
	struct io_uring_sqe *e;
	sys(__NR_pipe2, pipe, 0);
	next(IORING_OP_TIMEOUT, -1, &t, 1, 0, 1);
	next(IORING_OP_TIMEOUT_REMOVE, -1, (void *)1, 0, (ulong)&wrong, 2)->timeout_flags = IORING_TIMEOUT_UPDATE;
	go("wrong", 0);
	next(IORING_OP_TIMEOUT_REMOVE, -1, (void *)1, 0, (ulong)&soon, 3)->timeout_flags = IORING_TIMEOUT_UPDATE;
	go("sooner", 2);
	next(IORING_OP_TIMEOUT_REMOVE, -1, (void *)1, 0, (ulong)&soon, 4)->timeout_flags = IORING_TIMEOUT_UPDATE;
	go("gone", 1);
	next(IORING_OP_TIMEOUT_REMOVE, -1, (void *)1, 0, 0, 5)->timeout_flags = 1 << 9;
	go("unknown", 1);
	next(IORING_OP_TIMEOUT, -1, &soon, 1, 0, 6)->timeout_flags = IORING_TIMEOUT_ETIME_SUCCESS;
	go("time is success", 1);
	next(IORING_OP_TIMEOUT, -1, &soon, 1, 0, 7)->timeout_flags = IORING_TIMEOUT_BOOTTIME | IORING_TIMEOUT_REALTIME;
	go("two clocks", 1);
	next(IORING_OP_TIMEOUT, -1, &wrong, 1, 0, 8);
	go("wrong time", 1);
	next(IORING_OP_TIMEOUT, -1, (void *)8, 1, 0, 9);
	go("nowhere", 1);
	next(IORING_OP_POLL_ADD, pipe[0], 0, 0, 0, 10)->poll32_events = POLLIN;
	next(IORING_OP_POLL_REMOVE, -1, (void *)10, IORING_POLL_UPDATE_USER_DATA, 11, 12);
	go("renamed", 1);
	e = next(IORING_OP_POLL_REMOVE, -1, (void *)11, IORING_POLL_UPDATE_EVENTS, 0, 13), e->poll32_events = POLLOUT;
	go("other events", 1);
	next(IORING_OP_POLL_REMOVE, -1, (void *)77, IORING_POLL_UPDATE_USER_DATA, 11, 14);
	go("none", 1);
	next(IORING_OP_POLL_REMOVE, -1, (void *)11, 64, 0, 15);
	go("unknown", 1);
	next(IORING_OP_POLL_REMOVE, -1, (void *)11, 0, 99, 16);
	go("no update", 1);
	next(IORING_OP_ASYNC_CANCEL, pipe[0], 0, 0, 0, 17)->cancel_flags = IORING_ASYNC_CANCEL_FD;
	go("by descriptor", 2);
	for (int i = 20; i < 23; i++)
		next(IORING_OP_POLL_ADD, pipe[0], 0, 0, 0, i)->poll32_events = POLLIN;
	next(IORING_OP_ASYNC_CANCEL, pipe[0], 0, 0, 0, 24)->cancel_flags = IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_ALL;
	go("all of a descriptor", 4);
	for (int i = 20; i < 22; i++)
		next(IORING_OP_POLL_ADD, pipe[0], 0, 0, 0, i)->poll32_events = POLLIN;
	next(IORING_OP_ASYNC_CANCEL, 0, 0, 0, 0, 25)->cancel_flags = IORING_ASYNC_CANCEL_ANY;
	go("any", 3);
	next(IORING_OP_ASYNC_CANCEL, 0, 0, 0, 0, 26)->cancel_flags = 64;
	go("unknown", 1);
	next(IORING_OP_ASYNC_CANCEL, 0, 0, 0, 0, 27)->cancel_flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_FD;
	go("any and descriptor", 1);
	struct io_uring_sync_cancel_reg sc = { 0, -1, 0, { -1, -1 } };
	next(IORING_OP_POLL_ADD, pipe[0], 0, 0, 0, 28)->poll32_events = POLLIN;
	go("", 0);
	sc.addr = 28;
	say("synchronous cancel %r", reg(IORING_REGISTER_SYNC_CANCEL, &sc, 1));
	say(" again %r", reg(IORING_REGISTER_SYNC_CANCEL, &sc, 1));
	say(" two %r\n", reg(IORING_REGISTER_SYNC_CANCEL, &sc, 2));
	reap("so");
	sys(__NR_close, pipe[0]), sys(__NR_close, pipe[1]);
}
static void names(void)
{
	struct io_uring_sqe *e;
	int pipe[2], ep = sys(__NR_epoll_create1, 0), fd = sys(__NR_openat, AT_FDCWD, "/tmp/uring2", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct epoll_event ev = { EPOLLIN, 7 };
	sys(__NR_pipe2, pipe, 0);
	e = next(IORING_OP_SETXATTR, 0, "trusted.a", 3, (ulong) "val", 1), e->addr3 = (ulong) "/tmp/uring2";
	go("setxattr", 1);
	memset(buf, 0, 8);
	e = next(IORING_OP_GETXATTR, 0, "trusted.a", 10, (ulong)buf, 2), e->addr3 = (ulong) "/tmp/uring2";
	go("getxattr", 1);
	say("'%s'\n", buf);
	e = next(IORING_OP_FSETXATTR, fd, "trusted.b", 3, (ulong) "val", 3), e->xattr_flags = 2;
	go("fsetxattr replaces", 1);
	e = next(IORING_OP_FGETXATTR, fd, "trusted.a", 0, 0, 4);
	go("fgetxattr", 1);
	e = next(IORING_OP_FSETXATTR, fd, "trusted.b", 3, (ulong) "val", 5), e->xattr_flags = 9;
	go("flags", 1);
	next(IORING_OP_SYMLINKAT, AT_FDCWD, "target", 0, (ulong) "/tmp/usym", 6);
	next(IORING_OP_LINKAT, AT_FDCWD, "/tmp/uring2", AT_FDCWD, (ulong) "/tmp/ulink", 7);
	go("links", 2);
	next(IORING_OP_UNLINKAT, AT_FDCWD, "/tmp/usym", 0, 0, 8), next(IORING_OP_UNLINKAT, AT_FDCWD, "/tmp/ulink", 0, 0, 9);
	next(IORING_OP_UNLINKAT, AT_FDCWD, "/tmp/ulink", 0, 0, 10)->unlink_flags = 4;
	go("unlinks", 3);
	next(IORING_OP_EPOLL_CTL, ep, &ev, EPOLL_CTL_ADD, pipe[0], 11), next(IORING_OP_EPOLL_CTL, ep, &ev, EPOLL_CTL_ADD, pipe[0], 12), next(IORING_OP_EPOLL_CTL, ep, &ev, 9, pipe[0], 13);
	go("epoll", 3);
	next(IORING_OP_FALLOCATE, fd, (void *)100, 0, 0, 14), next(IORING_OP_FADVISE, fd, 0, 10, 0, 15)->fadvise_advice = 3, next(IORING_OP_FADVISE, fd, 0, 10, 0, 16)->fadvise_advice = 77;
	go("advice", 3);
	next(IORING_OP_MADVISE, -1, buf, 10, 0, 17)->fadvise_advice = 4, next(IORING_OP_SYNC_FILE_RANGE, fd, 0, 0, 0, 18), next(IORING_OP_SYNC_FILE_RANGE, fd, 0, 0, 0, 19)->sync_range_flags = 99;
	go("ranges", 3);
	sys(__NR_write, pipe[1], "abc", 3);
	e = next(IORING_OP_TEE, pipe[1], 0, 3, 0, 20), e->splice_fd_in = pipe[0];
	go("tee to itself", 1);
	next(IORING_OP_MSG_RING, ring, 0, 5, 66, 21);
	go("message to itself", 2);
	next(IORING_OP_MSG_RING, fd, 0, 5, 66, 22);
	go("message to a file", 1);
	next(IORING_OP_URING_CMD, fd, 0, 0, 0, 23);
	go("command", 1);
	next(IORING_OP_READ, fd, buf, 10, 0, 24)->rw_flags = 0x80;
	go("flags of reads", 1);
	next(IORING_OP_READ, fd, buf, 10, 0, 25)->ioprio = 0x7000;
	go("priority", 1);
	next(IORING_OP_READ, fd, buf, 10, 0, 26)->personality = 3;
	go("personality", 1);
	next(IORING_OP_WRITE, pipe[0], buf, 10, 0, 27), next(IORING_OP_READ, pipe[1], buf, 10, 0, 28), next(IORING_OP_READ, ep, buf, 10, 0, 29);
	go("wrong way", 3);
	sys(__NR_close, fd), sys(__NR_close, ep), sys(__NR_close, pipe[0]), sys(__NR_close, pipe[1]);
}
static void rights(void)
{
	struct io_uring_restriction r[2] = { { .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_NOP }, { .opcode = IORING_RESTRICTION_REGISTER_OP, .register_op = IORING_REGISTER_ENABLE_RINGS } };
	long id = reg(IORING_REGISTER_PERSONALITY, 0, 0);
	say("personality %r", id);
	say(" another %r", reg(IORING_REGISTER_PERSONALITY, 0, 0));
	say(" with argument %r", reg(IORING_REGISTER_PERSONALITY, buf, 0));
	next(IORING_OP_NOP, 0, 0, 0, 0, 1)->personality = id;
	go("", 1);
	say("away %r", reg(IORING_UNREGISTER_PERSONALITY, 0, id));
	say(" again %r\n", reg(IORING_UNREGISTER_PERSONALITY, 0, id));
	say("restrictions late %r\n", reg(IORING_REGISTER_RESTRICTIONS, r, 2));
	close_ring();
	setup(8, IORING_SETUP_R_DISABLED);
	say("restricted %r", reg(IORING_REGISTER_RESTRICTIONS, r, 2));
	say(" again %r", reg(IORING_REGISTER_RESTRICTIONS, r, 2));
	say(" enabled %r", reg(IORING_REGISTER_ENABLE_RINGS, 0, 0));
	say(" buffers %r probe %r\n", reg(0, buf, 1), reg(8, buf, 1));
	next(IORING_OP_NOP, 0, 0, 0, 0, 2);
	go("allowed", 1);
	next(IORING_OP_NOP, 0, 0, 0, 0, 3)->flags = IOSQE_ASYNC;
	go("flag", 1);
	next(IORING_OP_READ, 0, buf, 1, 0, 4);
	go("operation", 1);
	close_ring();
	setup(8, 0);
	struct io_uring_rsrc_update one = { -1U, 0, ring };
	say("ring's number %r", reg(IORING_REGISTER_RING_FDS, &one, 1));
	say(" is %d", (int)one.offset);
	say(" entered %r", sys(__NR_io_uring_enter, one.offset, 0, 0, IORING_ENTER_REGISTERED_RING, 0, 0));
	say(" another %r", sys(__NR_io_uring_enter, 5, 0, 0, IORING_ENTER_REGISTERED_RING, 0, 0));
	say(" far %r", sys(__NR_io_uring_enter, 16, 0, 0, IORING_ENTER_REGISTERED_RING, 0, 0));
	say(" with data %r", reg(IORING_UNREGISTER_RING_FDS, &one, 1));
	one.data = 0;
	say(" away %r", reg(IORING_UNREGISTER_RING_FDS, &one, 1));
	say(" again %r\n", sys(__NR_io_uring_enter, one.offset, 0, 0, IORING_ENTER_REGISTERED_RING, 0, 0));
	unsigned limits[2] = { 0, 0 };
	say("workers %r", reg(IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2));
	say(" bounded %s one %r\n", limits[0] ? "some" : "none", reg(IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 1));
	close_ring();
}
int main(int argc, char **argv)
{
	set_ups();
	setup(8, 0);
	registering();
	slots();
	multishot();
	updates();
	names();
	rights();
	return 0;
}
