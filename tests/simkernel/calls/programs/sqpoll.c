/* io_uring: the thread that takes requests of its own accord. not: s390x i386 (cache lines and x86-64's calls) */
#include "tiny_uring.h"
static char buf[64];
static int pipes[2];

static void set_up(const char *what, unsigned flags, unsigned cpu, unsigned wq_fd)
{
	struct io_uring_params q;
	memset(&q, 0, sizeof(q));
	q.flags = flags, q.sq_thread_cpu = cpu, q.wq_fd = wq_fd, q.sq_thread_idle = 7;
	long fd = sys(__NR_io_uring_setup, 4, &q);
	say("%s %x: %r", what, (long)flags, fd < 0 ? fd : 0);
	say(" idle %d cpu %d wq %d\n", (int)q.sq_thread_idle, (int)q.sq_thread_cpu, (int)q.wq_fd);
	if (fd >= 0)
		sys(__NR_close, fd);
}
static void flags(void)
{
	static const unsigned with[] = { 0, IORING_SETUP_SQ_AFF, IORING_SETUP_COOP_TASKRUN, IORING_SETUP_SINGLE_ISSUER, IORING_SETUP_R_DISABLED,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, IORING_SETUP_IOPOLL };
	for (unsigned i = 0; i < sizeof(with) / sizeof(*with); i++)
		set_up("polled", IORING_SETUP_SQPOLL | with[i], 0, 0);
	set_up("another CPU", IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF, 4000, 0);
	set_up("a CPU for nobody", IORING_SETUP_SQ_AFF, 0, 0);
	set_up("workers of no file", IORING_SETUP_ATTACH_WQ, 0, 99);
	set_up("workers of a pipe", IORING_SETUP_ATTACH_WQ, 0, pipes[0]);
	setup(4, 0);
	set_up("workers of a ring", IORING_SETUP_ATTACH_WQ, 0, ring);
	set_up("a thread that is none", IORING_SETUP_SQPOLL | IORING_SETUP_ATTACH_WQ, 0, ring);
	set_up("a thread of no file", IORING_SETUP_SQPOLL | IORING_SETUP_ATTACH_WQ, 0, 99);
	sys(__NR_close, ring);
	setup(4, IORING_SETUP_SQPOLL);
	set_up("a thread", IORING_SETUP_SQPOLL | IORING_SETUP_ATTACH_WQ, 0, ring);
	sys(__NR_close, ring);
}

static int sleeps(void) { return R(sq + p.sq_off.flags) & IORING_SQ_NEED_WAKEUP; }
static void fall_asleep(void)
{
	for (int i = 0; i < 300 && !sleeps(); i++)
		nap(10);
}
static void done(const char *what, unsigned min)
{
	say("(%r) ", enter(0, min, IORING_ENTER_GETEVENTS));
	reap(what);
}
static void set_up_polled(unsigned entries, unsigned more, unsigned idle)
{
	memset(&p, 0, sizeof(p));
	p.flags = IORING_SETUP_SQPOLL | more, p.sq_thread_idle = idle;
	ring = sys(__NR_io_uring_setup, entries, &p);
	sq = map(0, p.sq_off.array + p.sq_entries * 4, 3, MAP_SHARED, ring, 0);
	sqes_at = map(0, p.sq_entries * 64, 3, MAP_SHARED, ring, 0x10000000);
}

static void awake(void)
{
	set_up_polled(8, 0, 2000);
	for (int i = 0; i < 3; i++)
		next(IORING_OP_NOP, -1, 0, 0, 0, i);
	done("nobody submits them", 3);
	say("asleep %d\n", sleeps());
	next(IORING_OP_READ, pipes[0], buf, 5, 0, 3);
	next(IORING_OP_WRITE, pipes[1], "hello", 5, 0, 4);
	done("a read waits for a write", 2);
	say("%s\n", buf);
	next(IORING_OP_READ, 99, buf, 5, 0, 5)->flags = IOSQE_IO_LINK;
	next(IORING_OP_NOP, -1, 0, 0, 0, 6);
	done("no such file", 2);
	next(IORING_OP_NOP, -1, 0, 0, 0, 7);
	next(200, -1, 0, 0, 0, 8);
	next(IORING_OP_NOP, -1, 0, 0, 0, 9);
	done("one is refused", 3);
	say("submit %r\n", enter(5, 0, 0));
	say("wait for room %r\n", enter(3, 0, IORING_ENTER_SQ_WAIT));
	sys(__NR_close, ring);
}

static void asleep(void)
{
	set_up_polled(4, 0, 20);
	fall_asleep();
	say("asleep %d\n", sleeps());
	for (int i = 0; i < 4; i++)
		next(IORING_OP_NOP, -1, 0, 0, 0, i);
	nap(50);
	say("it does not look: %d, poll %x\n", (int)(R(sq + p.cq_off.tail)), (long)polled(ring, POLLIN | POLLOUT));
	say("woken %r\n", enter(4, 0, IORING_ENTER_SQ_WAKEUP));
	done("then", 4);
	say("poll %x\n", (long)polled(ring, POLLIN | POLLOUT));
	fall_asleep();
	for (int i = 0; i < 4; i++)
		next(IORING_OP_NOP, -1, 0, 0, 0, i);
	say("woken and waited for room %r\n", enter(4, 0, IORING_ENTER_SQ_WAKEUP | IORING_ENTER_SQ_WAIT));
	done("then", 4);
	sys(__NR_close, ring);
}

static void disabled(void)
{
	set_up_polled(4, IORING_SETUP_R_DISABLED, 2000);
	next(IORING_OP_NOP, -1, 0, 0, 0, 1);
	nap(50);
	say("disabled: %d, enter %l\n", (int)(R(sq + p.cq_off.tail)), enter(1, 0, IORING_ENTER_SQ_WAKEUP));
	say("enable %r\n", reg(IORING_REGISTER_ENABLE_RINGS, 0, 0));
	done("enabled", 1);
	sys(__NR_close, ring);
}

/* its process ends, another has the instance still */
static void orphan(void)
{
	int ready[2];
	sys(__NR_pipe2, ready, 0);
	long shared = (long)map(0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long middle = fork();
	if (!middle) {
		set_up_polled(4, 0, 2000);
		long last = fork();
		if (!last) {
			char c;
			sys(__NR_close, ready[1]);
			sys(__NR_read, ready[0], &c, 1); /* until the parent is gone */
			nap(50);
			*(volatile long *)shared = enter(0, 0, 0);
			*(volatile long *)(shared + 8) = enter(0, 0, IORING_ENTER_SQ_WAKEUP);
			leave(0);
		}
		leave(0);
	}
	sys(__NR_close, ready[1]);
	wait_for(middle);
	nap(300);
	say("orphaned %l %l\n", *(long *)shared, *(long *)(shared + 8));
}

int main(int argc, char **argv)
{
	sys(__NR_pipe2, pipes, 0);
	flags();
	awake();
	asleep();
	disabled();
	orphan();
	return 0;
}
