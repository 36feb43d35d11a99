/* Pipes with O_DIRECT: each read takes one packet, packets of a page at most; rubbish in rt_sigqueueinfo(2). */
#include "tiny.h"
#include <asm/poll.h>
#include <asm/ioctls.h>
#include <linux/signal.h>

static int p[2];
static char data[300000], back[300000];

static void open_pipe(int flags)
{
	if (p[1]) {
		sys(__NR_close, p[0]);
		sys(__NR_close, p[1]);
	}
	say("pipe2 %r\n", sys(__NR_pipe2, p, flags | O_NONBLOCK));
}
static void writes(long n) { say(" write %l: %r\n", n, sys(__NR_write, p[1], data, n)); }
static void reads(long n)
{
	long got = sys(__NR_read, p[0], back, n);
	say(" read %l: %r\n", n, got);
}
static void state(void)
{
	int inside = -1;
	struct pollfd fds[2] = { { p[0], POLLIN, 0 }, { p[1], POLLOUT, 0 } };
	struct timespec_ { long a, b; } zero = { 0, 0 };
	long ret = sys(__NR_ioctl, p[0], FIONREAD, &inside);
	long ready = sys(__NR_ppoll, fds, 2, &zero, 0, 8);
	say(" inside %r %d poll %r %x %x\n", ret, inside, ready, (long)fds[0].revents, (long)fds[1].revents);
}
static void fill(long n)
{
	long count = 0, ret;
	while ((ret = sys(__NR_write, p[1], data, n)) == n)
		count++;
	say(" filled by %l: %l times, then %r\n", n, count, ret);
	state();
}
static void direct(int on) { say(" direct %d: %r\n", on, sys(__NR_fcntl, p[1], F_SETFL, O_NONBLOCK | (on ? O_DIRECT : 0))); }

int main(int argc, char **argv)
{
	say("packets\n");
	open_pipe(O_DIRECT);
	say(" flags %x %x\n", sys(__NR_fcntl, p[0], F_GETFL), sys(__NR_fcntl, p[1], F_GETFL));
	writes(3), writes(5), writes(7), state();
	reads(100), reads(2), state(), reads(0), reads(100), reads(100);
	writes(5000), state(), reads(10000), reads(10000), reads(10000);
	writes(4096), writes(8192), reads(4095), reads(4097), reads(1), reads(1);
	writes(0), state();
	say("full\n");
	fill(1), reads(10), state(), fill(4096), reads(10), writes(5000), state();
	open_pipe(O_DIRECT), fill(4096);
	open_pipe(O_DIRECT), fill(5000);
	open_pipe(O_DIRECT), writes(300000), state(), reads(300000);
	open_pipe(O_DIRECT);
	say(" size %r\n", sys(__NR_fcntl, p[1], F_SETPIPE_SZ, 8192)), fill(10), reads(100);
	say(" size %r\n", sys(__NR_fcntl, p[1], F_SETPIPE_SZ, 4096));
	reads(100), reads(100), fill(10);
	say(" size %r\n", sys(__NR_fcntl, p[1], F_SETPIPE_SZ, 16384)), fill(10);
	say(" size %r\n", sys(__NR_fcntl, p[1], F_SETPIPE_SZ, 8192));
	say("mixed\n");
	open_pipe(0);
	writes(10), direct(1), writes(20), state(), writes(30), reads(15), reads(100), reads(100);
	writes(11), direct(0), writes(12), writes(13), reads(100), reads(100), reads(100);
	writes(10), direct(1), writes(4090), writes(6), state(), reads(5000), reads(5000), reads(100);
	direct(0), writes(100), reads(50), writes(100), direct(1), writes(40), writes(50), state(), reads(1000), reads(1000);
	say("pages\n");
	open_pipe(0);
	fill(1);
	open_pipe(0), fill(100);
	open_pipe(0), fill(4095);
	open_pipe(0), fill(4096);
	open_pipe(0), fill(4097);
	open_pipe(0), fill(3000), reads(3000), state(), fill(1000), reads(4096), state(), fill(700), reads(300000), state();
	open_pipe(0), fill(2049), reads(1), state(), writes(1), reads(2048), state(), writes(2049), writes(4096), writes(4097), state();
	open_pipe(0), writes(300000), reads(100), writes(50), writes(4097), reads(3996), writes(4097), state();
	open_pipe(0), writes(3000), say(" size %r\n", sys(__NR_fcntl, p[1], F_SETPIPE_SZ, 4096)), writes(3000), writes(1096), writes(1), state();
	say("signals\n");
	char rubbish[128];
	memset(rubbish, 0xa5, 128);
	long me = sys(__NR_getpid);
	static const int numbers[] = { -1, 0, 10, 34, 64, 65, 1000 };
	on_signal(10, (void *)1, 0), on_signal(34, (void *)1, 0), on_signal(64, (void *)1, 0);
	for (int fillings = 0; fillings < 6; fillings++) {
		int code = (int[]){ 0, -1, -6, 0x80, 7, -60 }[fillings];
		memset(rubbish, fillings == 0 ? 0 : 0xa5, 128);
		for (int tail = 0; tail < 2; tail++) {
			if (tail)
				memset(rubbish + 32, 0, 96);
			memcpy(rubbish + 8, &code, 4);
			for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
				say(" code %d tail %d signal %d: %r %r %r\n", code, tail, numbers[i], sys(__NR_rt_sigqueueinfo, me, numbers[i], rubbish),
				    sys(__NR_rt_tgsigqueueinfo, me, me, numbers[i], rubbish), sys(__NR_rt_sigqueueinfo, 1, numbers[i] > 64 ? 65 : 0, rubbish));
			say(" nobody %r %r %r\n", sys(__NR_rt_sigqueueinfo, 999999, 65, rubbish), sys(__NR_rt_sigqueueinfo, 999999, 0, rubbish), sys(__NR_rt_tgsigqueueinfo, 0, 0, 65, rubbish));
		}
	}
	say(" nowhere %r %r\n", sys(__NR_rt_sigqueueinfo, me, 65, 8), sys(__NR_rt_tgsigqueueinfo, 0, 0, 65, 8));
	return 0;
}
