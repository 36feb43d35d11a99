/* The harness of programs about io_uring: an instance, requests laid down, completions in the order of their numbers. */
#include "tiny.h"
#include <linux/io_uring.h>
#include <linux/mman.h>
#include <linux/stat.h>
#include <linux/uio.h>
#define R(p) (*(volatile unsigned *)(p))
static int ring;
static struct io_uring_params p;
static char *sq, *sqes_at;
static unsigned queued;

static long enter(unsigned submit, unsigned min, unsigned flags) { return sys(__NR_io_uring_enter, ring, submit, min, flags, 0, 0); }
static long reg(unsigned op, void *arg, unsigned n) { return sys(__NR_io_uring_register, ring, op, arg, n); }

static void setup(unsigned entries, unsigned flags)
{
	memset(&p, 0, sizeof(p));
	p.flags = flags;
	ring = sys(__NR_io_uring_setup, entries, &p);
	if (ring < 0) {
		say("setup %r\n", (long)ring);
		return;
	}
	sq = map(0, p.sq_off.array + p.sq_entries * 4, 3, MAP_SHARED, ring, 0);
	sqes_at = map(0, p.sq_entries * 64, 3, MAP_SHARED, ring, 0x10000000);
	queued = 0;
}

static struct io_uring_sqe *next(int op, int fd, const void *addr, unsigned len, unsigned long long off, int data)
{
	unsigned tail = R(sq + p.sq_off.tail), index = tail & R(sq + p.sq_off.ring_mask);
	struct io_uring_sqe *e = (void *)(sqes_at + 64 * index);
	memset(e, 0, 64);
	e->opcode = op, e->fd = fd, e->addr = (ulong)addr, e->len = len, e->off = off, e->user_data = data;
	R(sq + p.sq_off.array + 4 * index) = index;
	R(sq + p.sq_off.tail) = tail + 1;
	queued++;
	return e;
}

static void reap(const char *what)
{
	struct io_uring_cqe all[64];
	int n = 0;
	say("%s:", what);
	for (;;) {
		unsigned head = R(sq + p.cq_off.head);
		if (head == R(sq + p.cq_off.tail) || n == 64)
			break;
		all[n++] = *(struct io_uring_cqe *)(sq + p.cq_off.cqes + 16 * (head & R(sq + p.cq_off.ring_mask)));
		R(sq + p.cq_off.head) = head + 1;
	}
	for (int i = 0; i < n; i++) { /* in the order of their numbers: workers end when they do */
		int least = 0;
		for (int j = 1; j < n; j++)
			if (all[j].user_data < all[least].user_data)
				least = j;
		say(" [%d %r", (int)all[least].user_data, (long)all[least].res);
		if (all[least].flags)
			say(" flags %x", (long)all[least].flags);
		say("]");
		all[least].user_data = ~0ULL;
	}
	say("\n");
}

static void go(const char *what, unsigned min)
{
	long n = enter(queued, min, IORING_ENTER_GETEVENTS);
	say("(%r) ", n);
	queued = 0;
	reap(what);
}
