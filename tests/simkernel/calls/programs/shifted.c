/* What a time namespace moves: timerfd, waits of futexes, /proc/PID/stat; and the last pid of a pid namespace.  not: i386 s390x */
#include "tiny.h"

#define MONOTONIC 1
#define BOOTTIME 7
#define HOUR 3600L

struct pair { long sec, ns; };
struct spec { struct pair interval, value; };
static unsigned word = 1;
struct waiter { __u64 value, address; __u32 flags, reserved; };

static long now(int clock)
{
	struct pair t;
	sys(__NR_clock_gettime, clock, &t);
	return t.sec;
}

static void alarm_at(const char *what, int clock, long when, int flags)
{
	struct spec asked = { { 1, 0 }, { when, 0 } }, told = { { 0 } };
	long fd = sys(__NR_timerfd_create, clock, 04000);
	long set = sys(__NR_timerfd_settime, fd, flags, &asked, 0);
	sys(__NR_timerfd_gettime, fd, &told);
	long ticks = 0;
	say("%s: %r left %d", what, set, (int)((told.value.sec + 60) / 60));
	say(" read %r\n", sys(__NR_read, fd, &ticks, 8) == 8 ? 0 : -EAGAIN);
	sys(__NR_close, fd);
}

static void waits(const char *what, int op, long sec)
{
	struct pair until = { sec, 500000000 };
	long before = now(MONOTONIC);
	long ret = sys(__NR_futex, &word, op, op == 13 || op == 141 ? 0 : 1, &until, 0, -1);
	say("%s: %r late %d\n", what, ret, now(MONOTONIC) - before > 10);
}

static void waits_one(const char *what, int clock, long sec)
{
	struct pair until = { sec, 500000000 };
	struct waiter one = { 1, (__u64)&word, 2, 0 };
	long before = now(MONOTONIC);
	long ret = sys(__NR_futex_waitv, &one, 1, 0, &until, clock);
	say("%s: %r late %d\n", what, ret, now(MONOTONIC) - before > 10);
}

static long field(const char *path, int which)
{
	char text[1024];
	long fd = sys(__NR_open, path, 0, 0), n = sys(__NR_read, fd, text, 1023), value = 0;
	char *at = text;
	sys(__NR_close, fd);
	text[n > 0 ? n : 0] = 0;
	for (; which > 1 && *at; at++)
		which -= *at == ' ';
	for (; *at >= '0' && *at <= '9'; at++)
		value = 10 * value + *at - '0';
	return value;
}

static void all(const char *what)
{
	say("-- %s\n", what);
	alarm_at("monotonic in an hour", MONOTONIC, now(MONOTONIC) + HOUR, 1);
	alarm_at("boottime in an hour", BOOTTIME, now(BOOTTIME) + HOUR, 1);
	alarm_at("boottime alarm in an hour", 9, now(BOOTTIME) + HOUR, 1);
	alarm_at("realtime in an hour", 0, now(0) + HOUR, 1);
	alarm_at("an hour on", MONOTONIC, HOUR, 0);
	alarm_at("before the clock began", MONOTONIC, 1, 1);
	waits("bitset", 9, now(MONOTONIC));
	waits("bitset of realtime", 9 | 256, now(0));
	waits("relative", 0, 0);
	waits_one("waitv", MONOTONIC, now(MONOTONIC));
	waits_one("waitv of realtime", 0, now(0));
	say("started %d\n", field("/proc/self/stat", 22) / 100 - now(BOOTTIME) > -100 && field("/proc/self/stat", 22) / 100 - now(BOOTTIME) <= 0);
}

static long child(void (*fn)(const char *), const char *what)
{
	long pid = sys(__NR_fork);
	if (!pid) {
		fn(what);
		sys(__NR_exit_group, 0);
	}
	return sys(__NR_wait4, pid, 0, 0, 0);
}

static void nothing(const char *what)
{
}

static void last(const char *what)
{
	say("%s: last pid %d", what, (int)field("/proc/loadavg", 5));
	child(nothing, "");
	say(" then %d\n", (int)field("/proc/loadavg", 5));
}

int main(int argc, char **argv)
{
	static const char ahead[] = "1 6048000 0\n7 777600 0", behind[] = "1 0 0\n7 0 0";
	child(all, "no namespace");
	say("unshare %r\n", sys(__NR_unshare, 0x80));
	long fd = sys(__NR_open, "/proc/self/timens_offsets", 1, 0);
	say("offsets %r\n", sys(__NR_write, fd, ahead, sizeof(ahead) - 1) > 0 ? 0 : -1);
	child(all, "ahead");
	say("unshare %r\n", sys(__NR_unshare, 0x80));
	fd = sys(__NR_open, "/proc/self/timens_offsets", 1, 0);
	say("offsets %r\n", sys(__NR_write, fd, behind, sizeof(behind) - 1) > 0 ? 0 : -1);
	child(all, "back");
	say("unshare %r\n", sys(__NR_unshare, 0x20000000));
	child(last, "inside");
	return 0;
}
