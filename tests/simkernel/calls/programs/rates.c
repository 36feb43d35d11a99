/* The rate of the clock: what ticks and frequencies of adjtimex(2) make of CLOCK_MONOTONIC beside CLOCK_MONOTONIC_RAW.
 * not: i386 */
#include "tiny.h"

struct timex { unsigned modes; int pad; long offset, freq, maxerror, esterror; int status, pad2; long constant, precision, tolerance, sec, usec, tick, rest[12]; };

static long long now(int clock)
{
	struct __kernel_old_timespec t;
	sys(__NR_clock_gettime, clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void together(long long *mono, long long *raw, long long *real)
{
	long long again;
	int tries = 0;
	do
		*mono = now(1), *raw = now(4), *real = now(0), again = now(1);
	while (again - *mono > 50000 && tries++ < 10000);
}
static void measure(const char *what, long long value)
{
	long long m, r, w, m2, r2, w2;
	nap(50); /* it takes up to a tick to follow */
	together(&m, &r, &w);
	nap(1000);
	together(&m2, &r2, &w2);
	long gone = (r2 - r) / 1000, more = (m2 - m - (r2 - r)), ppm = more / (gone / 1000), wall = (w2 - w - (m2 - m)) / 1000;
	say("%s %L: about %l times 500 ppm, the wall clock as well: %d\n", what, value, (ppm + (ppm < 0 ? -250 : 250)) / 500, wall > -1000 && wall < 1000);
}
static void set(unsigned modes, long freq, long tick)
{
	struct timex t;
	memset(&t, 0, sizeof(t));
	t.modes = modes, t.freq = freq, t.tick = tick;
	long ret = sys(__NR_adjtimex, &t);
	say("adjtimex %x: %d\n", (long)modes, ret >= 0);
}
int main(int argc, char **argv)
{
	measure("at first", 0);
	static const long ticks[] = { 9000, 9500, 10500, 11000, 10000 };
	for (int i = 0; i < 5; i++) {
		set(0x4000, 0, ticks[i]);
		measure("tick", ticks[i]);
	}
	static const long freqs[] = { 32768000, -32768000, 0 };
	for (int i = 0; i < 3; i++) {
		set(2, freqs[i], 0);
		measure("frequency", freqs[i]);
	}
	set(0x4002, 32768000, 10100);
	measure("both", 0);
	set(0x4002, 0, 10000);
	measure("none", 0);
	return 0;
}
