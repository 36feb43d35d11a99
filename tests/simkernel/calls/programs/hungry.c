/* Whom the kernel kills when memory runs out: by size, and by what oom_score_adj adds. */
#include "tiny.h"

static char text[4096];

static void spare(const char *score)
{
	int fd = sys(__NR_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY);
	sys(__NR_write, fd, score, strlen(score));
	sys(__NR_close, fd);
}

/* Kilobytes of memory: the first line of /proc/meminfo */
static long total(void)
{
	long kb = 0;
	slurp("/proc/meminfo", text, sizeof(text));
	for (char *at = text; *at != '\n'; at++)
		if (*at >= '0' && *at <= '9')
			kb = kb * 10 + *at - '0';
	return kb;
}

static void eat(long kb)
{
	char *p = map(0, kb << 10, 3, 0x22, -1, 0);
	for (long at = 0; at < kb << 10; at += 4096)
		p[at] = 1;
}

/* One that has so many percent of memory and waits, or eats until the end */
static long begin_one(int percent, const char *score, int tell)
{
	long pid = fork();
	if (pid)
		return pid;
	spare(score);
	if (percent) {
		eat(total() / 100 * percent);
		sys(__NR_write, tell, "x", 1);
		for (;;)
			nap(1000);
	}
	for (;;)
		eat(1024);
}

static void round(const char *what, const char *big_score, const char *small_score)
{
	int ends[2], status = 0;
	long pid, big, small, eater;
	sys(__NR_pipe2, ends, 0);
	big = begin_one(55, big_score, ends[1]);
	sys(__NR_read, ends[0], text, 1);
	small = begin_one(10, small_score, ends[1]);
	sys(__NR_read, ends[0], text, 1);
	eater = begin_one(0, "0", ends[1]);
	pid = sys(__NR_wait4, -1, &status, 0, 0);
	say("%s: the %s goes, status %d\n", what, pid == big ? "big one" : pid == small ? "small one" : "eater", status);
	sys(__NR_kill, big, 9);
	sys(__NR_kill, small, 9);
	sys(__NR_kill, eater, 9);
	while (sys(__NR_wait4, -1, &status, 0, 0) > 0)
		;
}

int main(int argc, char **argv)
{
	spare("-1000");
	round("nobody is spared", "0", "0");
	round("the big one is spared", "-1000", "0");
	round("the small one asked for it", "0", "1000");
	round("half of its share is forgiven", "-300", "0");
	round("both are spared", "-1000", "-1000");
	return 0;
}
