/* io_uring's larger entries, rings of buffers, tags, polled instances, messages into provided buffers. not: s390x i386 (its cache lines are longer) */
#include "tiny_uring.h"
#include <linux/socket.h>
static char buf[4096], buf2[4096], area[4 * 4096] __attribute__((aligned(4096)));
static struct { int fd; struct io_uring_params p; char *rings, *sqes; unsigned sqe, cqe; } w;

/* -- entries of 128 and 32 bytes, by hand -- */
static void wide(unsigned entries, unsigned flags)
{
	memset(&w, 0, sizeof(w));
	w.p.flags = flags;
	w.fd = sys(__NR_io_uring_setup, entries, &w.p);
	say("setup flags %x: ", (long)flags);
	if (w.fd < 0) {
		say("%r\n", (long)w.fd);
		return;
	}
	w.sqe = flags & IORING_SETUP_SQE128 ? 128 : 64, w.cqe = flags & IORING_SETUP_CQE32 ? 32 : 16;
	w.rings = map(0, 16384, 3, MAP_SHARED, w.fd, 0), w.sqes = map(0, w.p.sq_entries * w.sqe, 3, MAP_SHARED, w.fd, 0x10000000);
	say("%d %d array %d cqes %d\n", (int)w.p.sq_entries, (int)w.p.cq_entries, (int)w.p.sq_off.array, (int)w.p.cq_off.cqes);
}
static void lay(int op, int data)
{
	unsigned tail = R(w.rings + w.p.sq_off.tail), index = tail & R(w.rings + w.p.sq_off.ring_mask);
	struct io_uring_sqe *e = (void *)(w.sqes + w.sqe * index);
	memset(e, 0, w.sqe);
	e->opcode = op, e->user_data = data, e->fd = -1;
	R(w.rings + w.p.sq_off.array + 4 * index) = index;
	R(w.rings + w.p.sq_off.tail) = tail + 1;
}
static void take(void)
{
	for (;;) {
		unsigned head = R(w.rings + w.p.cq_off.head);
		if (head == R(w.rings + w.p.cq_off.tail))
			break;
		struct io_uring_cqe *c = (void *)(w.rings + w.p.cq_off.cqes + w.cqe * (head & R(w.rings + w.p.cq_off.ring_mask)));
		say(" [%d %r %x", (int)c->user_data, (long)c->res, (long)c->flags);
		if (w.cqe == 32)
			say(" %L %L", (long long)c->big_cqe[0], (long long)c->big_cqe[1]);
		say("]");
		R(w.rings + w.p.cq_off.head) = head + 1;
	}
	say("\n");
}
static void larger(void)
{
	static const unsigned flags[] = { 0, IORING_SETUP_SQE128, IORING_SETUP_CQE32, IORING_SETUP_SQE128 | IORING_SETUP_CQE32 };
	for (unsigned i = 0; i < 4; i++) {
		wide(4, flags[i]);
		if (w.fd < 0)
			continue;
		lay(IORING_OP_URING_CMD, 4);
		for (int n = 1; n < 4; n++)
			lay(IORING_OP_NOP, n);
		say("(%r)", sys(__NR_io_uring_enter, w.fd, 4, 4, IORING_ENTER_GETEVENTS, 0, 0));
		for (int round = 0; round < 2; round++) { /* more than the ring of completions has room for */
			for (int n = 0; n < 4; n++)
				lay(IORING_OP_NOP, 10 + 4 * round + n);
			say("(%r)", sys(__NR_io_uring_enter, w.fd, 4, 0, 0, 0, 0));
		}
		say(" flags %x", (long)R(w.rings + w.p.sq_off.flags));
		take();
		say("(%r)", sys(__NR_io_uring_enter, w.fd, 0, 1, IORING_ENTER_GETEVENTS, 0, 0));
		say(" flags %x", (long)R(w.rings + w.p.sq_off.flags));
		take();
		sys(__NR_close, w.fd);
	}
	wide(8, IORING_SETUP_SQE128);
	say("map all of the requests %s", bad(map(0, 1024, 3, MAP_SHARED, w.fd, 0x10000000)) ? "refused" : "there");
	say(" one page more %s\n", bad(map(0, 8192, 3, MAP_SHARED, w.fd, 0x10000000)) ? "refused" : "there");
	sys(__NR_close, w.fd);
}

/* -- behind the end of what is shown -- */
static void beyond(void)
{
	setup(8, 0);
	for (int which = 0; which < 2; which++) {
		char *at = map(0, 65536, 3, MAP_SHARED, ring, which ? 0x10000000 : 0);
		int status = 0;
		for (int page = 0; page < 16; page += 15) {
			flush();
			long pid = sys(__NR_fork);
			if (!pid) {
				*(volatile char *)(at + 4096 * page);
				sys(__NR_exit_group, 3);
			}
			sys(__NR_wait4, pid, &status, 0, 0);
			say("%s page %d: status %x\n", which ? "requests" : "rings", page, (long)status);
		}
	}
	sys(__NR_close, ring);
}

/* -- polled -- */
static void polled_ones(void)
{
	setup(8, IORING_SETUP_IOPOLL);
	if (ring < 0)
		return;
	int file = sys(__NR_openat, -100, "/tmp/uring3", O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int op = 0; op < 50; op++) {
		next(op, file, 0, 0, 0, op)->buf_index = 0;
		long n = enter(queued, 0, 0);
		queued = 0;
		say("%r", n);
		reap("");
	}
	say("nothing to wait for: %r\n", enter(0, 1, IORING_ENTER_GETEVENTS));
	sys(__NR_close, file), sys(__NR_close, ring);
}

/* -- rings of buffers -- */
static void offered(struct io_uring_buf_ring *br, unsigned mask, int at, void *addr, unsigned len, int bid)
{
	struct io_uring_buf *b = &br->bufs[at & mask];
	b->addr = (ulong)addr, b->len = len, b->bid = bid;
	*(volatile __u16 *)&br->tail = at + 1;
}
static long ring_of(void *at, unsigned entries, int group, int pad)
{
	struct io_uring_buf_reg r;
	memset(&r, 0, sizeof(r));
	r.ring_addr = (ulong)at, r.ring_entries = entries, r.bgid = group, r.pad = pad;
	return reg(IORING_REGISTER_PBUF_RING, &r, 1);
}
static long no_ring(int group)
{
	struct io_uring_buf_reg r;
	memset(&r, 0, sizeof(r));
	r.bgid = group;
	return reg(IORING_UNREGISTER_PBUF_RING, &r, 1);
}
static void select_into(int op, int fd, unsigned len, int data, int group)
{
	struct io_uring_sqe *e = next(op, fd, 0, len, 0, data);
	e->flags = IOSQE_BUFFER_SELECT, e->buf_group = group;
}
static void buffer_rings(void)
{
	struct io_uring_buf_reg r;
	struct io_uring_buf_ring *br = (void *)area;
	int pipes[2], pair[2];
	memset(&r, 0, sizeof(r));
	setup(8, 0);
	say("register: no argument %r none %r two %r nowhere %r", reg(22, 0, 1), reg(22, &r, 0), reg(22, &r, 2), reg(22, (void *)8, 1));
	say(" null %r odd %r three %r none %r 65536 %r pad %r unmapped %r", ring_of(0, 8, 1, 0), ring_of(area + 16, 8, 1, 0), ring_of(area, 3, 1, 0), ring_of(area, 0, 1, 0), ring_of(area, 65536, 1, 0), ring_of(area, 8, 1, 1), ring_of((void *)4096, 8, 1, 0));
	say(" there %r", ring_of(area, 8, 1, 0));
	say(" again %r", ring_of(area + 4096, 8, 1, 0));
	say(" far group %r\n", ring_of(area + 4096, 8, 700, 0));
	sys(__NR_socketpair, 1, 1, 0, pipes);
	sys(__NR_socketpair, 1, 1, 0, pair);
	select_into(IORING_OP_RECV, pipes[0], 16, 1, 1);
	go("nothing offered, nothing there", 0);
	sys(__NR_write, pipes[1], "abcdefgh", 8);
	for (int i = 0; i < 3; i++)
		offered(br, 7, i, buf + 16 * i, i == 1 ? 2 : 16, 40 + i);
	select_into(IORING_OP_RECV, pipes[0], 3, 2, 1);
	select_into(IORING_OP_RECV, pipes[0], 0, 3, 1);
	select_into(IORING_OP_RECV, pipes[0], 100, 4, 1);
	select_into(IORING_OP_RECV, pipes[0], 100, 5, 1);
	go("three", 4);
	say("%s %s %s\n", buf, buf + 16, buf + 32);
	offered(br, 7, 3, buf + 48, 16, 65535);
	select_into(IORING_OP_RECV, pipes[0], 100, 5, 1);
	go("nothing to read", 0);
	sys(__NR_write, pipes[1], "ij", 2);
	enter(0, 1, IORING_ENTER_GETEVENTS);
	reap("one more");
	/* what a stream says, one buffer after the other */
	for (int i = 4; i < 7; i++)
		offered(br, 7, i, buf2 + 8 * i, 4, i);
	next(IORING_OP_RECV, pair[0], 0, 0, 0, 6)->flags = IOSQE_BUFFER_SELECT;
	((struct io_uring_sqe *)(sqes_at + 64 * ((R(sq + p.sq_off.tail) - 1) & 7)))->buf_group = 1;
	((struct io_uring_sqe *)(sqes_at + 64 * ((R(sq + p.sq_off.tail) - 1) & 7)))->ioprio = IORING_RECV_MULTISHOT;
	go("multishot", 0);
	sys(__NR_write, pair[1], "0123456789", 10);
	enter(0, 3, IORING_ENTER_GETEVENTS);
	reap("in pieces");
	select_into(IORING_OP_RECV, pipes[0], 8, 7, 9);
	go("no such group", 0);
	next(IORING_OP_PROVIDE_BUFFERS, 2, buf, 16, 0, 8)->buf_group = 1;
	next(IORING_OP_REMOVE_BUFFERS, 2, 0, 0, 0, 9)->buf_group = 1;
	next(IORING_OP_PROVIDE_BUFFERS, 2, buf, 16, 0, 10)->buf_group = 2;
	go("provided into the ring, removed, another group", 3);
	say("a ring over provided ones %r", ring_of(area + 4096, 8, 2, 0));
	say(" unregister: none %r", no_ring(3));
	say(" provided %r", no_ring(2));
	r.pad = 1;
	say(" pad %r", reg(23, &r, 1));
	say(" two %r null %r", reg(23, &r, 2), reg(23, 0, 1));
	say(" there %r", no_ring(1));
	say(" again %r\n", no_ring(1));
	next(IORING_OP_REMOVE_BUFFERS, 5, 0, 0, 0, 11)->buf_group = 2;
	go("removed", 1);
	say("a ring where provided ones were %r\n", ring_of(area + 4096, 8, 2, 0));
	sys(__NR_close, ring);
}

/* -- tags -- */
static void tags(void)
{
	__u64 numbers[3] = { 101, 0, 103 };
	int fds[3] = { 1, 1, 1 }, minus = -1;
	struct iovec v[2] = { { buf, 4096 }, { buf2, 4096 } };
	struct io_uring_rsrc_register r;
	struct io_uring_rsrc_update2 u;
	setup(8, 0);
	memset(&r, 0, sizeof(r));
	r.nr = 3, r.data = (ulong)fds, r.tags = (ulong)numbers;
	fds[2] = -1;
	say("a tag of nothing %r", reg(IORING_REGISTER_FILES2, &r, sizeof(r)));
	fds[2] = 1, r.tags = 8;
	say(" tags nowhere %r", reg(IORING_REGISTER_FILES2, &r, sizeof(r)));
	r.tags = (ulong)numbers;
	say(" files %r", reg(IORING_REGISTER_FILES2, &r, sizeof(r)));
	reap("");
	memset(&u, 0, sizeof(u));
	__u64 fresh = 104;
	u.data = (ulong)&minus, u.tags = (ulong)&fresh, u.nr = 1;
	say("a tag of what goes %r", reg(IORING_REGISTER_FILES_UPDATE2, &u, sizeof(u)));
	minus = -2;
	say(" of what stays %r", reg(IORING_REGISTER_FILES_UPDATE2, &u, sizeof(u)));
	minus = 2;
	say(" of another %r", reg(IORING_REGISTER_FILES_UPDATE2, &u, sizeof(u)));
	reap("");
	enter(0, 1, IORING_ENTER_GETEVENTS);
	reap("the old one's");
	next(IORING_OP_CLOSE, 0, 0, 0, 0, 1)->file_index = 1;
	go("close", 2);
	say("unregister %r", reg(IORING_UNREGISTER_FILES, 0, 0));
	reap("");
	numbers[0] = 0, numbers[1] = 202, numbers[2] = 203;
	memset(&r, 0, sizeof(r));
	r.nr = 2, r.data = (ulong)v, r.tags = (ulong)numbers;
	say("buffers %r", reg(IORING_REGISTER_BUFFERS2, &r, sizeof(r)));
	v[0].iov_base = 0, v[0].iov_len = 0, u.data = (ulong)v, u.offset = 1, fresh = 204;
	say(" a tag of nothing %r", reg(IORING_REGISTER_BUFFERS_UPDATE, &u, sizeof(u)));
	v[0].iov_base = buf, v[0].iov_len = 100;
	say(" of something %r", reg(IORING_REGISTER_BUFFERS_UPDATE, &u, sizeof(u)));
	enter(0, 1, IORING_ENTER_GETEVENTS);
	reap("");
	say("unregister %r", reg(IORING_UNREGISTER_BUFFERS, 0, 0));
	reap("");
	sys(__NR_close, ring);
}

/* -- messages into provided buffers -- */
static void messages(void)
{
	struct { void *name; int namelen; struct iovec *iov; ulong iovlen; void *control; ulong controllen; unsigned flags; } m;
	struct iovec v[2] = { { buf, 8 }, { buf2, 8 } };
	int pair[2];
	struct io_uring_sqe *e;
	setup(8, 0);
	memset(buf, 0, 256), memset(&m, 0, sizeof(m));
	sys(__NR_socketpair, 1, 2, 0, pair);
	next(IORING_OP_PROVIDE_BUFFERS, 4, area, 64, 0, 1)->buf_group = 5;
	go("provide", 1);
	m.iov = v, m.iovlen = 2;
	e = next(IORING_OP_RECVMSG, pair[0], &m, 1, 0, 2), e->flags = IOSQE_BUFFER_SELECT, e->buf_group = 5;
	go("two pieces", 1);
	m.iovlen = 1, m.namelen = 20;
	e = next(IORING_OP_RECVMSG, pair[0], &m, 1, 0, 3), e->flags = IOSQE_BUFFER_SELECT, e->buf_group = 5;
	go("one piece", 0);
	sys(__NR_write, pair[1], "message one", 11);
	enter(0, 1, IORING_ENTER_GETEVENTS);
	reap("came");
	say("%s name %d flags %x\n", area, m.namelen, (long)m.flags);
	m.iovlen = 0;
	e = next(IORING_OP_RECVMSG, pair[0], &m, 1, 0, 4), e->flags = IOSQE_BUFFER_SELECT, e->buf_group = 5;
	sys(__NR_write, pair[1], "message two", 11);
	go("no piece", 1);
	m.namelen = 4, m.controllen = 8, m.name = 0, m.control = 0;
	e = next(IORING_OP_RECVMSG, pair[0], &m, 1, 0, 5), e->flags = IOSQE_BUFFER_SELECT, e->buf_group = 5, e->ioprio = IORING_RECV_MULTISHOT;
	go("multishot", 0);
	sys(__NR_write, pair[1], "message three", 13);
	enter(0, 1, IORING_ENTER_GETEVENTS);
	reap("came");
	struct io_uring_recvmsg_out *out = (void *)(area + 128);
	say("name %d control %d payload %d flags %x: %s\n", (int)out->namelen, (int)out->controllen, (int)out->payloadlen, (long)out->flags, (char *)(out + 1) + 4 + 8);
	sys(__NR_close, ring);
}
int main(int argc, char **argv)
{
	larger();
	beyond();
	polled_ones();
	buffer_rings();
	tags();
	messages();
	return 0;
}
