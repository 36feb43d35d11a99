/* Asynchronous I/O: contexts, reads, writes, vectors, syncs, polls, cancelling, eventfds, the ring in memory. */
#include "tiny.h"
#include <linux/aio_abi.h>

typedef unsigned long context;
static char buffer[8192];
static int events_wanted = 1;

static void prepare(struct iocb *cb, int op, long fd, void *buf, unsigned long n, long long offset)
{
	memset(cb, 0, sizeof(*cb));
	cb->aio_lio_opcode = op, cb->aio_fildes = fd, cb->aio_buf = (ulong)buf, cb->aio_nbytes = n, cb->aio_offset = offset;
	cb->aio_data = 0x1234567800000000ULL + op;
}

static long submit(context ctx, struct iocb *cb)
{
	struct iocb *list[1] = { cb };
	return sys(__NR_io_submit, ctx, 1, list);
}

static void result(context ctx, struct iocb *cb)
{
	struct io_event ev;
	struct __kernel_old_timespec none = { 0, 0 };
	memset(&ev, 0, sizeof(ev));
	long n = sys(__NR_io_getevents, ctx, 0, events_wanted, &ev, &none);
	say(" event %r", n);
	if (n > 0) {
		say(" data %d", (int)(ev.data & 0xffffffff));
		say(" same %d", ev.obj == (ulong)cb);
		say(" res %r", (long)ev.res);
		say(" res2 %L", (long long)ev.res2);
	}
	say("\n");
}

static void one(const char *what, context ctx, struct iocb *cb)
{
	say("%s: submit %r", what, submit(ctx, cb));
	result(ctx, cb);
}

static volatile int alarms;
static void on_alarm(int sig, void *info, void *context) { alarms++; }

static void contexts(void)
{
	context ctx = 1, other = 0;
	say("not null %r", sys(__NR_io_setup, 1, &ctx));
	ctx = 0;
	say(" none %r", sys(__NR_io_setup, 0, &ctx));
	say(" fault %r", sys(__NR_io_setup, 1, 0));
	say(" many %r", sys(__NR_io_setup, 65537, &ctx));
	say(" too many %r", sys(__NR_io_setup, 0x7fffffff, &ctx));
	say(" one %r", sys(__NR_io_setup, 1, &ctx));
	say(" another %r", sys(__NR_io_setup, 200, &other));
	struct { unsigned id, nr, head, tail, magic, compat, incompat, length; } *ring = (void *)ctx;
	say(" ring %d %x %d %d", (int)ring->head, (long)ring->magic, (int)ring->incompat, (int)ring->length);
	say(" tail %d\n", (int)ring->tail);
	char text[64];
	slurp("/proc/sys/fs/aio-nr", text, sizeof(text));
	say("aio-nr %s", text);
	slurp("/proc/sys/fs/aio-max-nr", text, sizeof(text));
	say("aio-max-nr %s", text);
	static char maps[16384];
	long n = slurp("/proc/self/maps", maps, sizeof(maps));
	int rings = 0;
	for (long i = 0; i + 5 < n; i++)
		rings += !memcmp(maps + i, "[aio]", 5);
	say("rings %d", rings);
	say(" destroy %r", sys(__NR_io_destroy, other));
	say(" again %r", sys(__NR_io_destroy, other));
	long pid = fork();
	if (!pid) {
		say(" child %r", sys(__NR_io_destroy, ctx));
		leave(0);
	}
	wait_for(pid);
	say(" nothing %r", sys(__NR_io_destroy, 0));
	say(" mine %r\n", sys(__NR_io_destroy, ctx));
	slurp("/proc/sys/fs/aio-nr", text, sizeof(text));
	say("aio-nr %s", text);
}

static void files(context ctx)
{
	struct iocb cb;
	struct iovec_ { void *base; ulong len; } vec[2] = { { buffer, 3 }, { buffer + 100, 5 } };
	long fd = sys(__NR_openat, AT_FDCWD, "/aio-file", O_RDWR | O_CREAT | O_TRUNC, 0644);
	long ro = sys(__NR_openat, AT_FDCWD, "/aio-file", O_RDONLY, 0);
	prepare(&cb, 1, fd, "hello world", 11, 0), one("write", ctx, &cb);
	prepare(&cb, 1, fd, "end", 3, 20), one("write further", ctx, &cb);
	prepare(&cb, 0, fd, buffer, 100, 0), one("read", ctx, &cb);
	say("bytes %s %s\n", buffer, buffer + 20);
	say("position %r\n", sys(__NR_lseek, fd, 0, 1));
	prepare(&cb, 0, fd, buffer, 100, 1000), one("beyond", ctx, &cb);
	prepare(&cb, 7, fd, vec, 2, 4), one("readv", ctx, &cb);
	prepare(&cb, 8, fd, vec, 2, 40), one("writev", ctx, &cb);
	prepare(&cb, 7, fd, vec, 5000, 4), one("readv too many", ctx, &cb);
	prepare(&cb, 2, fd, 0, 0, 0), one("fsync", ctx, &cb);
	prepare(&cb, 3, fd, 0, 0, 0), one("fdsync", ctx, &cb);
	prepare(&cb, 2, fd, buffer, 0, 0), one("fsync with a buffer", ctx, &cb);
	prepare(&cb, 1, ro, "x", 1, 0), one("write read-only", ctx, &cb);
	prepare(&cb, 0, fd, buffer, 10, -1), one("negative", ctx, &cb);
	prepare(&cb, 0, fd, (void *)8, 10, 0), one("bad memory", ctx, &cb);
	prepare(&cb, 0, 99, buffer, 10, 0), one("bad descriptor", ctx, &cb);
	prepare(&cb, 4, fd, buffer, 10, 0), one("op 4", ctx, &cb);
	prepare(&cb, 6, fd, buffer, 10, 0), one("op 6", ctx, &cb);
	prepare(&cb, 9, fd, buffer, 10, 0), one("op 9", ctx, &cb);
	prepare(&cb, 0, fd, buffer, 10, 0), cb.aio_reserved2 = 1, one("reserved", ctx, &cb);
	prepare(&cb, 0, fd, buffer, 10, 0), cb.aio_rw_flags = 0x1000, one("flags", ctx, &cb);
	prepare(&cb, 0, fd, buffer, 10, 0), cb.aio_flags = 2, cb.aio_reqprio = 7 << 13, one("priority", ctx, &cb);
	prepare(&cb, 0, fd, buffer, 10, 0), cb.aio_flags = 1, cb.aio_resfd = fd, one("no eventfd", ctx, &cb);
	prepare(&cb, 0, fd, buffer, 10, 0), cb.aio_flags = 1, cb.aio_resfd = 99, one("no descriptor", ctx, &cb);
	long dir = sys(__NR_openat, AT_FDCWD, "/", O_RDONLY, 0);
	prepare(&cb, 0, dir, buffer, 10, 0), one("directory", ctx, &cb);
	long event = sys(__NR_eventfd2, 0, 0);
	prepare(&cb, 0, fd, buffer, 10, 0), cb.aio_flags = 1, cb.aio_resfd = event, one("eventfd", ctx, &cb);
	unsigned long long count = 0;
	say("counted %r", sys(__NR_read, event, &count, 8));
	say(" %L\n", (long long)count);
}

static void polls(context ctx)
{
	struct iocb cb, second;
	int fds[2];
	struct io_event ev[4];
	sys(__NR_pipe2, fds, 0);
	prepare(&cb, 5, fds[0], (void *)1, 0, 0), one("poll", ctx, &cb);
	struct __kernel_old_timespec little = { 0, 5000000 };
	say("wait %r", sys(__NR_io_getevents, ctx, 1, 4, ev, &little));
	sys(__NR_write, fds[1], "x", 1);
	result(ctx, &cb);
	prepare(&cb, 5, fds[0], (void *)1, 0, 0), one("poll what is ready", ctx, &cb);
	prepare(&cb, 0, fds[0], buffer, 5, 0), one("read a pipe", ctx, &cb);
	prepare(&cb, 5, fds[0], (void *)0x10001, 0, 0), one("poll too much", ctx, &cb);
	prepare(&cb, 5, fds[0], (void *)1, 1, 0), one("poll with a length", ctx, &cb);
	prepare(&cb, 5, fds[0], (void *)1, 0, 0);
	say("submit %r", submit(ctx, &cb));
	say(" cancel %r", sys(__NR_io_cancel, ctx, &cb, ev));
	result(ctx, &cb);
	say("cancel again %r", sys(__NR_io_cancel, ctx, &cb, ev));
	cb.aio_key = 5;
	say(" key %r", sys(__NR_io_cancel, ctx, &cb, ev));
	say(" null %r", sys(__NR_io_cancel, ctx, 0, ev));
	cb.aio_key = 0;
	say(" context %r\n", sys(__NR_io_cancel, 0, &cb, ev));
	prepare(&cb, 5, fds[0], (void *)1, 0, 0), prepare(&second, 5, fds[0], (void *)4, 0, 0);
	struct iocb *list[3] = { &cb, &second, 0 };
	say("two and a null %r", sys(__NR_io_submit, ctx, 3, list));
	say(" negative %r", sys(__NR_io_submit, ctx, -1, list));
	say(" none %r", sys(__NR_io_submit, ctx, 0, list));
	say(" no list %r", sys(__NR_io_submit, ctx, 1, 0));
	say(" context %r\n", sys(__NR_io_submit, 0, 1, list));
	long pid = fork();
	if (!pid) {
		nap(30);
		sys(__NR_write, fds[1], "y", 1);
		leave(0);
	}
	long got = sys(__NR_io_getevents, ctx, 1, 4, ev, 0);
	say("woken %r", got);
	say(" res %r\n", (long)ev[0].res);
	wait_for(pid);
	say("min above max %r", sys(__NR_io_getevents, ctx, 5, 4, ev, 0));
	say(" negative %r", sys(__NR_io_getevents, ctx, -1, 4, ev, 0));
	say(" context %r", sys(__NR_io_getevents, 0, 1, 4, ev, 0));
	say(" zero %r", sys(__NR_io_getevents, ctx, 0, 0, ev, 0));
	say(" fault %r\n", sys(__NR_io_getevents, ctx, 0, 1, ev, (void *)8));
	on_signal(14, on_alarm, 0);
	long soon[4] = { 0, 0, 0, 20000 };
	sys(__NR_setitimer, 0, soon, 0);
	prepare(&cb, 5, fds[1], (void *)0x2000, 0, 0);
	got = sys(__NR_io_getevents, ctx, 1, 4, ev, 0);
	say("interrupted %r alarms %d\n", got, alarms);

	struct { void *mask; ulong size; } sig = { 0, 0 };
	say("pgetevents %r", sys(__NR_io_pgetevents, ctx, 0, 4, ev, &little, &sig));
	unsigned long long all = ~0ULL;
	sig.mask = &all, sig.size = 8;
	sys(__NR_setitimer, 0, soon, 0);
	struct __kernel_old_timespec longer = { 0, 50000000 };
	say(" blocked %r", sys(__NR_io_pgetevents, ctx, 1, 4, ev, &longer, &sig));
	sig.size = 4;
	say(" size %r alarms %d\n", sys(__NR_io_pgetevents, ctx, 1, 4, ev, &longer, &sig), alarms);

}

static void full(void)
{
	context ctx = 0;
	static struct iocb cbs[600];
	static struct iocb *list[600];
	static struct io_event ev[600];
	int fds[2];
	struct __kernel_old_timespec none = { 0, 0 };
	sys(__NR_pipe2, fds, 0);
	sys(__NR_io_setup, 100, &ctx);
	for (int i = 0; i < 600; i++)
		prepare(&cbs[i], 5, fds[1], (void *)4, 0, 0), cbs[i].aio_data = i, list[i] = &cbs[i];
	long taken = sys(__NR_io_submit, ctx, 600, list);
	say("some were taken %d then %r", (int)(taken >= 100 && taken < 600), sys(__NR_io_submit, ctx, 1, list));
	long got = sys(__NR_io_getevents, ctx, 0, 50, ev, &none);
	say(" got %r", got);
	say(" last %d", (int)ev[49].data);
	say(" one more %r", sys(__NR_io_submit, ctx, 1, list));
	got = sys(__NR_io_getevents, ctx, 0, 600, ev, &none);
	say(" rest %d", (int)(got == taken - 49));
	say(" destroy %r\n", sys(__NR_io_destroy, ctx));
}

int main(int argc, char **argv)
{
	context ctx = 0;
	contexts();
	say("setup %r\n", sys(__NR_io_setup, 10, &ctx));
	files(ctx);
	polls(ctx);
	full();
	return 0;
}
