/* io_uring with IORING_SETUP_DEFER_TASKRUN: who may enter, when completions are seen, what wakes a waiter, flags of the ring, time-outs, eventfds, ends. not: s390x i386 */
#include "tiny_uring.h"
#define DEFER (IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER)
static char buf[4096];
static int pipes[2];
static void close_ring(void)
{
	sys(__NR_munmap, sq, (p.sq_off.array + p.sq_entries * 4 + 4095) & ~4095UL), sys(__NR_munmap, sqes_at, (p.sq_entries * 64 + 4095) & ~4095UL), sys(__NR_close, ring);
}
static long waiting(void) { return R(sq + p.cq_off.tail) - R(sq + p.cq_off.head); }
static long flags(void) { return R(sq + p.sq_off.flags); }
static long result;
static int stranger(void *arg) { result = enter(0, 0, arg ? IORING_ENTER_GETEVENTS : 0); if (!result) result = 77; return 0; }
static void ask_stranger(int how)
{
	static char stack[16384];
	result = 0;
	start_thread(stranger, how ? &result : 0, 0x10f00, stack + 16000);
	for (int i = 0; i < 100 && !result; i++) nap(5);
	say(" stranger %r", result);
}
int main(int argc, char **argv)
{
	static const unsigned sets[] = { IORING_SETUP_DEFER_TASKRUN, DEFER, DEFER | IORING_SETUP_COOP_TASKRUN, DEFER | IORING_SETUP_TASKRUN_FLAG, DEFER | IORING_SETUP_SQPOLL, DEFER | IORING_SETUP_R_DISABLED, DEFER | IORING_SETUP_SUBMIT_ALL, DEFER | IORING_SETUP_CQE32, DEFER | IORING_SETUP_SQE128, DEFER | IORING_SETUP_IOPOLL, DEFER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, DEFER | IORING_SETUP_SQPOLL | IORING_SETUP_TASKRUN_FLAG };
	for (unsigned i = 0; i < 12; i++) {
		memset(&p, 0, sizeof(p)), p.flags = sets[i];
		long fd = sys(__NR_io_uring_setup, 4, &p);
		say("set-up %x: %r features %x\n", (long)sets[i], fd < 0 ? fd : 0L, fd < 0 ? 0L : (long)p.features), sys(__NR_close, fd);
	}
	static const unsigned kinds[] = { 0, IORING_SETUP_COOP_TASKRUN, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, DEFER, DEFER | IORING_SETUP_TASKRUN_FLAG };
	for (int k = 0; k < 5; k++) {
		setup(8, kinds[k]);
		sys(__NR_pipe2, pipes, 0);
		say("kind %x\n", (long)kinds[k]);
		next(IORING_OP_NOP, 0, 0, 0, 0, 1);
		say(" nop: %r", enter(1, 0, 0)), say(" there %l flags %x", waiting(), flags()), queued = 0, reap("");
		next(IORING_OP_READ, pipes[0], buf, 4, -1, 2);
		say(" read: %r", enter(1, 0, 0)), say(" there %l", waiting()), queued = 0;
		sys(__NR_write, pipes[1], "abcd", 4);
		if (k != 0 && k != 1) say(" written: there %l flags %x poll %x", k < 3 ? 9L : waiting(), k < 3 ? 9L : flags(), (long)polled(ring, 1));
		if (k < 3) nap(60); /* a worker of the kernel may be at it */
		say(" enter %r", enter(0, 0, 0));
		say(" there %l", k == 3 || k == 4 ? waiting() : 9L);
		say(" events %r", enter(0, 0, IORING_ENTER_GETEVENTS)), say(" there %l flags %x poll %x", waiting(), flags(), (long)polled(ring, 1)), reap("");
		/* two requests, one wait */
		next(IORING_OP_READ, pipes[0], buf, 4, -1, 3), next(IORING_OP_POLL_ADD, pipes[0], 0, 0, 0, 4)->poll32_events = 1;
		say(" two %r", enter(2, 0, 0)), queued = 0, sys(__NR_write, pipes[1], "abcdefgh", 8);
		say(" wait %r", enter(0, 2, IORING_ENTER_GETEVENTS)), say(" there %l", waiting()), reap("");
		sys(__NR_read, pipes[0], buf, 100);
		/* what is done while it waits: a child writes */
		next(IORING_OP_READ, pipes[0], buf, 4, -1, 5);
		long pid = fork();
		if (!pid) { nap(40), sys(__NR_write, pipes[1], "wxyz", 4); leave(0); }
		say(" submit and wait %r", enter(1, 1, IORING_ENTER_GETEVENTS)), queued = 0, reap(""), wait_for(pid);
		/* time-outs of the wait */
		struct __kernel_timespec ts = { 0, 20000000 };
		struct io_uring_getevents_arg arg = { 0, 0, 0, (ulong)&ts };
		say(" patience %r", sys(__NR_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, sizeof(arg)));
		struct __kernel_timespec soon = { 0, 5000000 };
		next(IORING_OP_TIMEOUT, -1, &soon, 1, 0, 6), say(" timer %r", enter(1, 0, 0)), queued = 0, nap(20);
		say(" over: there %l", k == 3 || k == 4 ? waiting() : 9L), say(" %r", enter(0, 1, IORING_ENTER_GETEVENTS)), reap("");
		/* links */
		next(IORING_OP_NOP, 0, 0, 0, 0, 7)->flags = IOSQE_IO_LINK, next(IORING_OP_READ, pipes[0], buf, 2, -1, 8)->flags = IOSQE_IO_LINK, next(IORING_OP_NOP, 0, 0, 0, 0, 9);
		say(" chain %r", enter(3, 0, 0)), queued = 0, sys(__NR_write, pipes[1], "ab", 2), say(" events %r", enter(0, 3, IORING_ENTER_GETEVENTS)), reap("");
		/* an eventfd */
		int ev = (int)sys(__NR_eventfd2, 0, O_NONBLOCK);
		unsigned long long n = 0;
		say(" eventfd %r", reg(IORING_REGISTER_EVENTFD, &ev, 1));
		next(IORING_OP_NOP, 0, 0, 0, 0, 10), enter(1, 0, 0), queued = 0, say(" nop: %r", sys(__NR_read, ev, &n, 8));
		next(IORING_OP_READ, pipes[0], buf, 2, -1, 11), enter(1, 0, 0), queued = 0, sys(__NR_write, pipes[1], "ab", 2), nap(5);
		say(" read: %r there %l", sys(__NR_read, ev, &n, 8), k == 3 || k == 4 ? waiting() : 9L), enter(0, 1, IORING_ENTER_GETEVENTS), say(" after %r", sys(__NR_read, ev, &n, 8)), reap("");
		say(" off %r\n", reg(IORING_UNREGISTER_EVENTFD, 0, 0));
		/* others */
		ask_stranger(0), ask_stranger(1);
		pid = fork();
		if (!pid) { say(" child enters %r %r registers %r\n", enter(0, 0, 0), enter(0, 0, IORING_ENTER_GETEVENTS), reg(IORING_UNREGISTER_EVENTFD, 0, 0)); leave(0); }
		wait_for(pid);
		/* cancelling, and a request that is never done */
		next(IORING_OP_READ, pipes[0], buf, 2, -1, 12), next(IORING_OP_READ, pipes[0], buf, 2, -1, 13), enter(2, 0, 0), queued = 0;
		next(IORING_OP_ASYNC_CANCEL, -1, (void *)12, 0, 0, 14);
		say(" cancel %r", enter(1, 0, 0)), say(" there %l", k == 3 || k == 4 ? waiting() : 9L), queued = 0, say(" events %r", enter(0, 2, IORING_ENTER_GETEVENTS)), reap("");
		struct io_uring_sync_cancel_reg sc;
		memset(&sc, 0, sizeof(sc)), sc.addr = 13, sc.fd = -1, sc.timeout.tv_sec = -1, sc.timeout.tv_nsec = -1;
		say(" at once %r", reg(IORING_REGISTER_SYNC_CANCEL, &sc, 1)), say(" there %l", waiting()), enter(0, 0, IORING_ENTER_GETEVENTS), reap("");
		/* more than there is room for */
		for (int round = 0; round < 3; round++) { for (int i = 0; i < 8; i++) next(IORING_OP_NOP, 0, 0, 0, 0, 20 + round * 8 + i); say(" %r", enter(8, 0, 0)), queued = 0; }
		say(" there %l flags %x", waiting(), flags() & 2), reap(""), say(" then %r", enter(0, 0, IORING_ENTER_GETEVENTS)), reap("");
		/* a signal while it waits */
		next(IORING_OP_READ, pipes[0], buf, 2, -1, 50), enter(1, 0, 0), queued = 0;
		close_ring(), sys(__NR_close, pipes[0]), sys(__NR_close, pipes[1]);
	}
	/* disabled until somebody enables it: that one is the submitter */
	setup(4, DEFER | IORING_SETUP_R_DISABLED);
	next(IORING_OP_NOP, 0, 0, 0, 0, 1), say("disabled: enter %r", enter(1, 0, 0)), ask_stranger(0);
	say(" enable %r again %r", reg(IORING_REGISTER_ENABLE_RINGS, 0, 0), reg(IORING_REGISTER_ENABLE_RINGS, 0, 0)), say(" enter %r", enter(1, 0, 0)), queued = 0, ask_stranger(0), say(" events %r", enter(0, 1, IORING_ENTER_GETEVENTS)), reap("");
	close_ring();
	return 0;
}
