/* A context of asynchronous I/O is called by where its ring lies; places in the ring are given out by the batch. */
#include "tiny.h"
#include <linux/aio_abi.h>

typedef unsigned long context;
struct ring { unsigned id, nr, head, tail, magic, compat, incompat, length; };
static char buffer[4096];
static struct iocb cbs[600];
static struct iocb *list[600];
static struct io_event ev[600];
static struct __kernel_old_timespec none = { 0, 0 };
#ifdef __NR_mmap2
#define MMAP __NR_mmap2
#else
#define MMAP __NR_mmap
#endif

static ulong place(ulong size)
{
#ifdef __s390x__
	ulong args[6] = { 0, size, 0, 0x22, -1, 0 };
	return sys(MMAP, args);
#else
	return sys(MMAP, 0, size, 0, 0x22, -1, 0);
#endif
}

static void reads(long fd, int n)
{
	memset(cbs, 0, sizeof(cbs));
	for (int i = 0; i < n; i++) {
		cbs[i].aio_lio_opcode = 0, cbs[i].aio_fildes = fd, cbs[i].aio_buf = (ulong)buffer, cbs[i].aio_nbytes = 16;
		list[i] = &cbs[i];
	}
}

static void moves(long fd)
{
	context ctx = 0;
	say("setup %r", sys(__NR_io_setup, 10, &ctx));
	struct ring *r = (void *)ctx;
	ulong size = r->length + r->nr * sizeof(struct io_event), to = place(size);
	say(" move %d", sys(__NR_mremap, ctx, size, size, 3, to) == (long)to);
	reads(fd, 1);
	say(" old name %r", sys(__NR_io_destroy, ctx));
	say(" submit %r", sys(__NR_io_submit, to, 1, list));
	r = (void *)to;
	say(" ring %d %d", r->head, r->tail);
	ulong next = place(size);
	say(" again %d", sys(__NR_mremap, to, size, size, 3, next) == (long)next);
	say(" got %r", sys(__NR_io_getevents, next, 1, 1, ev, 0));
	say(" grow %r", sys(__NR_mremap, next, size, size + 4096, 1, 0));
	say(" destroy %r", sys(__NR_io_destroy, next));
	say(" gone %r\n", sys(__NR_mremap, next, size, size, 1, 0));
}

static void batches(long fd, int asked, int by_hand)
{
	context ctx = 0;
	sys(__NR_io_setup, asked, &ctx);
	volatile struct ring *r = (void *)ctx;
	say("asked %d events %d:", asked, r->nr);
	reads(fd, 600);
	for (int turn = 0; turn < 6; turn++) {
		say(" %r", sys(__NR_io_submit, ctx, turn < 3 ? 600 : 10, list));
		if (by_hand)
			r->head = r->tail;
		else if (turn & 1)
			say(" read %r", sys(__NR_io_getevents, ctx, 0, 7 + 40 * turn, ev, &none));
	}
	cbs[0].aio_fildes = 77;
	say(" bad %r", sys(__NR_io_submit, ctx, 1, list));
	say(" %r\n", sys(__NR_io_destroy, ctx));
}

static void heirs(void)
{
	context ctx = 0;
	say("setup %r", sys(__NR_io_setup, 200, &ctx));
	struct ring *r = (void *)ctx;
	ulong size = r->length + r->nr * sizeof(struct io_event), to = place(size);
	long child = fork();
	if (!child) {
		say(" child moves %r", sys(__NR_mremap, ctx, size, size, 3, to));
		say(" has %r\n", sys(__NR_io_getevents, ctx, 0, 1, ev, &none));
		sys(__NR_exit_group, 0);
	}
	say("status %x parent has %r", wait_for(child), sys(__NR_io_getevents, ctx, 0, 1, ev, &none));
	say(" moves a page %d", sys(__NR_mremap, ctx, 4096, 4096, 3, to) == (long)to);
	say(" old name %r new %r", sys(__NR_io_getevents, ctx, 0, 1, ev, &none), sys(__NR_io_getevents, to, 0, 1, ev, &none));
	say(" destroy %r", sys(__NR_io_destroy, to));
	say(" what is left moves %r", sys(__NR_mremap, ctx + 4096, 4096, 4096, 3, to));
	say(" or shrinks %d\n", sys(__NR_mremap, ctx + 4096, 8192, 4096, 0, 0) == (long)(ctx + 4096));
}

int main(int argc, char **argv)
{
	long fd = sys(__NR_openat, AT_FDCWD, "/aio-ring", O_RDWR | O_CREAT | O_TRUNC, 0644);
	sys(__NR_write, fd, buffer, sizeof(buffer));
	moves(fd);
	int sizes[5] = { 1, 32, 63, 64, 200 };
	for (int i = 0; i < 5; i++)
		batches(fd, sizes[i], 0), batches(fd, sizes[i], 1);
	heirs();
	return 0;
}
